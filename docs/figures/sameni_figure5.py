"""Binormal ROC curves by b, by alpha and by both: Fig. 5 of Sameni (2025)."""

import matplotlib.pyplot as plt
import numpy as np

from trueness.ranking import binormal

RATE = np.unique(np.concatenate([np.geomspace(1e-5, 1e-2, 60), np.linspace(0, 1, 201)]))
# the pairs of panel (c) are not printed: these are our own
PANELS = {
    "(a) alpha = 1": [(1.0, b) for b in (0.0, 1.0, 2.0, 3.0)],
    "(b) b = 0.8": [(alpha, 0.8) for alpha in (0.5, 1.0, 1.5, 2.0)],
    "(c) both": [(0.5, 0.5), (1.0, 1.0), (1.5, 2.0), (2.0, 3.0)],
}


def chart():
    with plt.style.context("trueness.plots.theme"):
        _, axes = plt.subplots(1, 3, figsize=(7.2, 2.7), layout="constrained")
        for ax, (title, pairs) in zip(axes, PANELS.items(), strict=True):
            for alpha, b in pairs:
                label = f"alpha {alpha:g}, b {b:g}"
                ax.plot(RATE, binormal(alpha, b).tpr(RATE), label=label)
            ax.set(xlabel="False positive rate", xlim=(0, 1), ylim=(0, 1.01))
            ax.set_title(title)
            ax.legend(loc="lower right", fontsize="x-small")
        axes[0].set_ylabel("True positive rate")
    return axes[0]
