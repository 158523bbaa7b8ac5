"""Write the page "How do we know?" from the vectors: python docs/how_do_we_know.py.

``tests/outside/test_vectors.py`` compares the page with what this would write.
"""

import math
import sys
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE.parent / "tests"))

from outside.answers import SUITES, answers_of, read_suite  # noqa: E402

PAGE = HERE / "how_do_we_know.md"
# differences below this are the rounding of floats, and depend on the machine
_ROUNDING = 1e-11
_INTRODUCTION = """\
# How do we know?

Others compute the same quantities, and nobody here wrote their programs. Their numbers
are stored under `tests/outside`, with source, version, licence and the script that made
them. One test compares them with ours on every change.

The worst difference is relative, rounded up to a power of ten. "Printed digits" means
that the source prints few digits, and all of them agree.

| Suite | Version | Numbers | What was compared | Worst difference |
| --- | --- | --- | --- | --- |
"""
_DIFFERENCES = """
## Where we differ on purpose
"""
_MORE = """
## What else is checked

- scikit-learn's own tests of its metrics run with our functions in place of theirs.
  Of the 2,284 tests of version 1.9.1 that run, 3 differ, for the two reasons that
  `tests/outside/sklearn_plugin.py` gives; 8,672 numbers and curves are ours.
- What people type to other libraries is typed to Trueness in
  `tests/outside/test_typed_by_others.py`, and the answers agree.
- `benchmarks/mutants.py` changes one operator or constant at a time in the code of
  metrics, inference, counts and ranking. Of a hundred such mutants (seed 2026) the
  tests of their own room noticed 59, of 30 later ones (seed 61) 25, and of 60 (seed
  4711) 46. Tests were written for the others; nine of them change no answer.
- [Confidence intervals](maths/inference.md) shows by simulation how often intervals
  cover the truth.
- `tests/test_laws.py` holds the laws that every answer obeys, such as merging counts.

## Check it yourself

```sh
python -m pytest tests/outside
Rscript tests/outside/pROC/make.R      # makes the vectors of pROC anew
python docs/how_do_we_know.py          # writes this page
```
"""


def page() -> str:
    """What should the page say today?"""
    folders = sorted(SUITES, key=lambda folder: _name(read_suite(folder)).lower())
    suites = [read_suite(folder) for folder in folders]
    rows = [_row(folder) for folder in folders]
    total = sum(len(suite["vectors"]) for suite in suites)
    differences = [
        f"- **{_name(suite)}.** {sentence}\n"
        for suite in suites
        for sentence in suite["differs"]
    ]
    return (
        _INTRODUCTION
        + "".join(rows)
        + f"\nThese are {total} numbers of {len(suites)} suites.\n"
        + _DIFFERENCES
        + "\n"
        + "".join(differences)
        + _MORE
    )


def _row(folder: str) -> str:
    suite = read_suite(folder)
    cells = (
        _name(suite),
        suite["version"],
        str(len(suite["vectors"])),
        suite["compared"],
        _worst_difference(folder),
    )
    return f"| {' | '.join(cells)} |\n"


def _name(suite: dict[str, Any]) -> str:
    return "R" if suite["suite"] == "stats" else str(suite["suite"])


def _worst_difference(folder: str) -> str:
    """The largest relative difference from the numbers that are known in full."""
    differences = [
        abs(ours - vector["number"]) / (abs(vector["number"]) or 1.0)
        for vector, ours in answers_of(folder)
        if not _printed(vector)
    ]
    if not differences:
        return "printed digits"

    worst = max(*differences, _ROUNDING)
    return f"1e{math.ceil(math.log10(worst) - 1e-9)}"


def _printed(vector: dict[str, Any]) -> bool:
    """Did the source round the number to the digits that are compared?"""
    decimals = repr(vector["number"]).split("e")[0].strip("-").replace(".", "")
    return len(decimals.strip("0")) <= vector["digits"]


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
