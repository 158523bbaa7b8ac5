"""Score densities, a threshold and four areas: Fig. 1 of Sameni (2025)."""

import matplotlib.pyplot as plt
import numpy as np
from scipy.stats import norm

NEGATIVES = norm(0.0, 1.0)
POSITIVES = norm(1.5, 1.2)
THRESHOLD = 0.7


def chart():
    score = np.linspace(-3.5, 5.5, 500)
    flagged = score >= THRESHOLD
    areas = {
        "true negatives": (NEGATIVES, ~flagged, "C0", 0.15),
        "false positives": (NEGATIVES, flagged, "C0", 0.5),
        "false negatives": (POSITIVES, ~flagged, "C1", 0.5),
        "true positives": (POSITIVES, flagged, "C1", 0.15),
    }
    with plt.style.context("trueness.plots.theme"):
        _, ax = plt.subplots(figsize=(5.2, 3.0), layout="constrained")
        for name, (scores, side, colour, alpha) in areas.items():
            density = scores.pdf(score)
            ax.fill_between(
                score, density, where=side, color=colour, alpha=alpha, label=name
            )
        ax.plot(score, NEGATIVES.pdf(score), color="C0")
        ax.plot(score, POSITIVES.pdf(score), color="C1")
        ax.axvline(THRESHOLD, color="black", linestyle="--")
        ax.annotate("threshold", (THRESHOLD, 0.41), xytext=(4, 0),
                    textcoords="offset points")  # fmt: skip
        ax.set(xlabel="Score", ylabel="Density", ylim=(0, 0.45))
        ax.legend()
    return ax
