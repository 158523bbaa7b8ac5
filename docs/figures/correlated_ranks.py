"""Classifiers that err together: the simulation behind Figs S1 and S2."""

import json
from pathlib import Path

import trueness

RESULTS = Path(__file__).parents[2] / "benchmarks" / "results" / "correlation.json"
NAMES = {
    "correlated": "FiDEL, correlated",
    "fidel": "FiDEL",
    "wisdom_of_crowds": "wisdom of crowds",
    "best_single": "best single",
}


def chart():
    rows = [r for r in json.loads(RESULTS.read_text())["rows"] if r["m"] == 7]
    aucs = {word: [r[key] for r in rows] for key, word in NAMES.items()}
    return trueness.plots.combiner_lines(
        [r["r"] for r in rows],
        aucs,
        x_title="rank correlation within the classes",
        title="Seven classifiers with AUCs from 0.55 to 0.75",
    )
