"""Four constraints in the ROC plane (Sameni 2025, Fig. 4)."""

import matplotlib.pyplot as plt
import numpy as np

import trueness

PANELS = {
    "Capacity: at most 15 % flagged": ("recall", ["flagged_rate <= 0.15"]),
    "Capacity: 30 to 45 % flagged": (
        "precision",
        ["flagged_rate >= 0.3", "flagged_rate <= 0.45"],
    ),
    "Bounded risk: fp + 3 fn <= 800": ("recall", ["cost(fp=1, fn=3) <= 800"]),
    "Precision and recall": ("f1", ["precision >= 0.5", "recall >= 0.6"]),
    "Recall and cost, weighted": (
        "0.5*recall + 0.5*(1 - cost_rate(fp=1, fn=1))",
        [],
    ),
}
FRONT = ("recall", "precision")


def chart():
    rng = np.random.default_rng(1)
    y = rng.random(2000) < 0.25
    t = trueness.tally(y, rng.normal(size=2000) + 1.4 * y)
    with plt.style.context("trueness.plots.theme"):
        _, axes = plt.subplots(2, 3, figsize=(7.2, 5), layout="constrained")
        for ax, (title, asked) in zip(axes.flat, PANELS.items(), strict=False):
            trueness.plots.operating_point(t, *asked, ax=ax, title=title)
        front = {"subject_to": "precision >= 0.6", "title": "Recall and precision"}
        trueness.plots.pareto_plane(t, FRONT, ax=axes.flat[-1], **front)
        for ax in axes.flat:  # one legend is enough
            if ax is not axes[1, 0]:
                ax.get_legend().remove()
    return axes.flat[0]
