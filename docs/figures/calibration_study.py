"""Log loss of each calibrator above the best one, by size of the validation set."""

import csv
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np

STORED = Path(__file__).parents[2] / "benchmarks" / "results" / "study_calibration.csv"
SIZES = (50, 200, 1000, 5000)
FLOOR = 0.05


def excess(rows, method, size=None):
    """Return per cent of log loss above the best calibrator, one a data set."""
    return [
        max(float(row["excess_percent"]), FLOOR)
        for row in rows
        if row["method"] == method and (size is None or int(row["size"]) == size)
    ]


def chart():
    with STORED.open() as file:
        rows = [row for row in csv.DictReader(file) if row["method"] != "none"]
    methods = sorted(
        {row["method"] for row in rows},
        key=lambda method: np.mean(np.power(excess(rows, method), 0.2)),
    )
    with plt.style.context("trueness.plots.theme"):
        _, axes = plt.subplots(
            1, len(SIZES), figsize=(7.2, 2.8), sharey=True, layout="constrained"
        )
        for ax, size in zip(axes, SIZES, strict=True):
            for place, method in enumerate(methods):
                values = excess(rows, method, size)
                colour = "#c14f00" if method == "auto" else "#2447c4"
                places = [place] * len(values)
                ax.plot(values, places, "|", markersize=8, alpha=0.6, color=colour)
            ax.set_xscale("log")
            ax.set_title(f"{size:,} cases")
        axes[0].set_yticks(range(len(methods)), methods)
        axes[0].invert_yaxis()
        axes[0].figure.supxlabel("Log loss above the best, %", fontsize=8)
    return axes[0]
