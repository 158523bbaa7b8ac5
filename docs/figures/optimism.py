"""Bias of the in-sample value of a chosen threshold, and of its corrections."""

import json
from pathlib import Path

import matplotlib.pyplot as plt

STORED = Path(__file__).parents[2] / "benchmarks" / "results" / "optimism.json"
NAMES = {
    "in_sample": "in the sample",
    "mixture_632": "0.632 mixture",
    "in_minus_out": "in-bag minus out-of-bag",
    "corrected": "corrected (out-of-bag counts)",
}


def chart():
    rows = json.loads(STORED.read_text())["rows"]
    places = range(len(rows))
    with plt.style.context("trueness.plots.theme"):
        _, ax = plt.subplots(figsize=(5.2, 2.8), layout="constrained")
        ax.axvline(0, color="0.5", linestyle="--", linewidth=1)
        for (key, name), marker in zip(NAMES.items(), "os^D", strict=True):
            bias = [float(row[key]) for row in rows]
            ax.plot(bias, places, marker, label=name)
        ax.set_yticks(places, [f"{r['metric']}, n={r['cases']}" for r in rows])
        ax.invert_yaxis()
        ax.set_xlabel("Bias against the population")
        ax.legend(loc="upper left", bbox_to_anchor=(0, -0.2), ncols=2, frameon=False)
    return ax
