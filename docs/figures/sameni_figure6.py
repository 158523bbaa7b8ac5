"""The binormal ROC family: Fig. 6 of Sameni (2025)."""

import matplotlib.pyplot as plt
import numpy as np

from trueness.ranking import binormal

RATE = np.unique(np.concatenate([np.geomspace(1e-5, 1e-2, 60), np.linspace(0, 1, 201)]))
# the pairs of the figure are not printed: these are our own
ALPHAS = (0.5, 1.0, 2.0)
SHIFTS = (-1.0, 0.0, 1.0, 2.0)


def chart():
    with plt.style.context("trueness.plots.theme"):
        _, axes = plt.subplots(1, 3, figsize=(7.2, 2.7), layout="constrained")
        for ax, alpha in zip(axes, ALPHAS, strict=True):
            for b in SHIFTS:
                ax.plot(RATE, binormal(alpha, b).tpr(RATE), label=f"b = {b:g}")
            ax.plot([0, 1], [0, 1], color="grey", linestyle=":")
            ax.set(xlabel="u", xlim=(0, 1), ylim=(0, 1.01), title=f"alpha = {alpha:g}")
        axes[0].set_ylabel("H(u)")
        axes[0].legend(loc="lower right", fontsize="x-small")
    return axes[0]
