"""Fig. 4A of Kim et al. 2021: FiDEL against the best of its classifiers."""

import json
from pathlib import Path

import trueness


def chart():
    points = json.loads(Path(__file__).with_suffix(".json").read_text())
    m, best, fidel = zip(*points["copies together"], strict=True)
    return trueness.plots.identity(
        best,
        fidel,
        x_title="AUC of the best of M classifiers",
        y_title="AUC of FiDEL",
        colour=m,
        colour_title="M",
        title="West Nile, 200 subsets of M classifiers, one split",
    )
