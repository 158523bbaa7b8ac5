"""Binormal ROC and PR curves: the content of Figs. 5b, 5a and 8 of Sameni (2025)."""

import matplotlib.pyplot as plt
import numpy as np

from trueness.ranking import binormal

GRID = np.unique(np.concatenate([np.geomspace(1e-5, 1e-2, 60), np.linspace(0, 1, 201)]))


def panel(ax, curves, labels, title):
    for name, (across, up) in curves.items():
        ax.plot(across, up, label=name)
    ax.set(xlabel=labels[0], ylabel=labels[1], xlim=(0, 1), ylim=(0, 1), title=title)
    ax.legend(loc="lower right")


def chart():
    by_b = {f"b = {b:g}": (GRID, binormal(1, b).tpr(GRID)) for b in (0, 1, 2, 3)}
    by_alpha = {
        f"alpha = {a:g}": (GRID, binormal(a, 0.8).tpr(GRID)) for a in (0.5, 1, 1.5, 2)
    }
    recall = GRID[1:]
    by_prevalence = {
        f"prevalence {p:g}": (recall, binormal(1, 1.5).precision(recall, p))
        for p in (0.1, 0.3, 0.5, 0.7, 0.9)
    }
    rates = ("False positive rate", "True positive rate")
    with plt.style.context("trueness.plots.theme"):
        _, axes = plt.subplots(1, 3, figsize=(7.2, 2.6), layout="constrained")
        panel(axes[0], by_b, rates, "alpha = 1")
        panel(axes[1], by_alpha, rates, "b = 0.8")
        panel(axes[2], by_prevalence, ("Recall", "Precision"), "alpha = 1, b = 1.5")
    return axes[0]
