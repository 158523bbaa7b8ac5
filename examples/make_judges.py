"""Make judges.csv from the rewards that five reward models gave in JudgeBench.

python make_judges.py judgebench_pairs.csv

The source has, for 350 pairs of answers, which one is right (truth is 1 when it is the
first), and the rewards of both by each model. A judge's verdict is 1 when it gives the
first answer the higher reward. ``human`` is the truth of 60 pairs drawn at random, and
empty for the others, as if somebody had checked those.
"""

import csv
import random
import sys

JUDGES = (
    "grm_gemma_2b",
    "skywork_gemma_27b",
    "skywork_llama_8b",
    "internlm2_20b",
    "internlm2_7b",
)
KINDS = {"mmlu": "knowledge", "livebench-r": "reasoning", "livebench-m": "mathematics"}
KINDS |= {"livecodebench": "coding"}
LABELS, SEED = 60, 16

with open(sys.argv[1], newline="") as file:
    pairs = list(csv.DictReader(file))
drawn = random.Random(SEED).sample(range(len(pairs)), LABELS)  # noqa: S311 - no secret
checked = set(drawn)
with open("judges.csv", "w", newline="") as file:
    out = csv.writer(file, lineterminator="\n")
    out.writerow(["pair", "kind", *JUDGES, "human", "truth"])
    for k, p in enumerate(pairs):
        kind = next(
            word for start, word in KINDS.items() if p["source"].startswith(start)
        )
        said = [int(float(p[f"{j}_a"]) > float(p[f"{j}_b"])) for j in JUDGES]
        human = p["truth"] if k in checked else ""
        out.writerow([p["pair"], kind, *said, human, p["truth"]])
