"""ROC curve, leakage function and the area: Fig. 3 of Sameni (2025)."""

import matplotlib.pyplot as plt
import numpy as np

from trueness.ranking import binormal


def chart():
    curve = binormal(1 / 1.2, 1.5 / 1.2)
    rate = np.linspace(0, 1, 500)
    with plt.style.context("trueness.plots.theme"):
        _, ax = plt.subplots(figsize=(3.6, 3.6), layout="constrained")
        ax.plot(rate, curve.tpr(rate), color="C0", label="ROC curve, 1 - G(1 - x)")
        ax.fill_between(
            rate, curve.tpr(rate), color="C0", alpha=0.12,
            label=f"AUROC {curve.auc:.3f}",
        )  # fmt: skip
        ax.plot(rate, curve(rate), color="C1", label="leakage G(x)")
        ax.fill_between(
            rate, curve(rate), color="C1", alpha=0.3,
            label=f"area under G {curve.area:.3f}",
        )  # fmt: skip
        ax.plot([0, 1], [0, 1], color="grey", linestyle=":", label="random classifier")
        ax.set(xlabel="x, false positive rate", ylabel="y", xlim=(0, 1), ylim=(0, 1.01))
        ax.legend(loc="center right", fontsize="small")
    return ax
