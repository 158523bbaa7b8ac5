"""Precision-recall curves by b, alpha, both and prevalence: Fig. 7 of Sameni (2025)."""

import matplotlib.pyplot as plt
import numpy as np

from trueness.ranking import binormal

RECALL = np.linspace(0.005, 1, 300)
# (prevalence, pairs of alpha and b); the pairs of panel (c) are our own
PANELS = {
    "(a) alpha = 1, prevalence 0.2": (0.2, [(1.0, b) for b in (0.0, 1.0, 2.0, 3.0)]),
    "(b) b = 0.8, prevalence 0.1": (0.1, [(a, 0.8) for a in (0.5, 1.0, 1.5, 2.0)]),
    "(c) both, prevalence 0.3": (
        0.3,
        [(0.5, 0.5), (1.0, 1.0), (1.5, 2.0), (2.0, 3.0)],
    ),
}


def chart():
    with plt.style.context("trueness.plots.theme"):
        _, axes = plt.subplots(1, 3, figsize=(7.2, 2.7), layout="constrained")
        for ax, (title, (prevalence, pairs)) in zip(axes, PANELS.items(), strict=True):
            for alpha, b in pairs:
                precision = binormal(alpha, b).precision(RECALL, prevalence)
                ax.plot(RECALL, precision, label=f"alpha {alpha:g}, b {b:g}")
            ax.axhline(prevalence, color="grey", linestyle=":")
            ax.set(xlabel="Recall", xlim=(0, 1), ylim=(0, 1.01))
            ax.set_title(title, fontsize="small")
            ax.legend(fontsize="x-small")
        axes[0].set_ylabel("Precision")
    return axes[0]
