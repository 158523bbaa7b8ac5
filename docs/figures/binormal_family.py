"""Binormal ROC and PR curves: the content of Figs. 5b, 5a and 8 of Sameni (2025)."""

import matplotlib.pyplot as plt

from trueness import plots
from trueness.ranking import binormal

PREVALENCES = (0.1, 0.3, 0.5, 0.7, 0.9)


def chart():
    by_b = {f"b = {b:g}": binormal(1, b) for b in (0, 1, 2, 3)}
    by_alpha = {f"alpha = {a:g}": binormal(a, 0.8) for a in (0.5, 1, 1.5, 2)}
    with plt.style.context("trueness.plots.theme"):
        _, axes = plt.subplots(1, 3, figsize=(7.2, 3.6), layout="constrained")
        plots.roc(by_b, ax=axes[0], title="alpha = 1")
        plots.roc(by_alpha, ax=axes[1], title="b = 0.8")
        plots.precision_recall(
            binormal(1, 1.5),
            prevalences=PREVALENCES,
            ax=axes[2],
            title="alpha = 1, b = 1.5",
        )
    return axes[0]
