"""Precision-recall curves by prevalence: Fig. 8 of Sameni (2025)."""

import matplotlib.pyplot as plt
import numpy as np

from trueness.ranking import binormal

RECALL = np.linspace(0.005, 1, 300)
PREVALENCES = (0.1, 0.3, 0.5, 0.7, 0.9)
# b and alpha of the figure are not printed: these are our own
PAIRS = [(1.0, 1.0), (1.0, 2.0), (2.0, 1.0)]


def chart():
    with plt.style.context("trueness.plots.theme"):
        _, axes = plt.subplots(1, 3, figsize=(7.2, 2.7), layout="constrained")
        for ax, (alpha, b) in zip(axes, PAIRS, strict=True):
            for prevalence in PREVALENCES:
                precision = binormal(alpha, b).precision(RECALL, prevalence)
                ax.plot(RECALL, precision, label=f"prevalence {prevalence:g}")
            ax.set(xlabel="Recall", xlim=(0, 1), ylim=(0, 1.01))
            ax.set_title(f"alpha = {alpha:g}, b = {b:g}")
        axes[0].set_ylabel("Precision")
        axes[0].legend(loc="lower left", fontsize="x-small")
    return axes[0]
