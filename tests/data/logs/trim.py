"""Leave out what no reader needs and what says where a log was made.

python trim.py IN.json OUT.json: events and tracebacks of Inspect, token counts and
versions of the machine of promptfoo go; everything else stays as it was written.
"""

import json
import sys

GONE = {
    "events",
    "traceback",
    "traceback_ansi",
    "tokenUsage",
    "tokensUsed",
    "events_data",
}
GONE |= {"platform", "arch", "nodeVersion", "metrics", "attachments"}


def less(value):
    if isinstance(value, dict):
        return {k: less(v) for k, v in value.items() if k not in GONE}
    return [less(v) for v in value] if isinstance(value, list) else value


with open(sys.argv[1]) as file:
    held = less(json.load(file))
with open(sys.argv[2], "w") as file:
    json.dump(held, file, indent=1)
    file.write("\n")
