"""Fig. 4B of Kim et al. 2021, copies of a record kept in one partition."""

import json
from pathlib import Path

import trueness

RESULTS = Path(__file__).parents[2] / "benchmarks" / "results" / "west_nile.json"
NAMES = {
    "correlated": "FiDEL, correlated",
    "fidel": "FiDEL",
    "wisdom_of_crowds": "wisdom of crowds",
    "best": "best single",
}


def chart():
    rows = json.loads(RESULTS.read_text())["rows"]
    rows = [r for r in rows if r["way"] == "copies together"]
    aucs = {word: [r[key] for r in rows] for key, word in NAMES.items()}
    return trueness.plots.combiner_lines(
        [r["m"] for r in rows],
        aucs,
        x_title="classifiers combined",
        title="West Nile, mean of 12 splits and 200 subsets each",
    )
