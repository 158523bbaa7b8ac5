"""Four constraints in the ROC plane (Sameni 2025, Fig. 4)."""

import altair as alt
import numpy as np

import trueness
from trueness.plots._altair import styled

PANELS = {
    "Capacity: at most 15 % flagged": ("recall", ["flagged_rate <= 0.15"]),
    "Capacity: between 30 and 45 %": (
        "precision",
        ["flagged_rate >= 0.3", "flagged_rate <= 0.45"],
    ),
    "Bounded risk: fp + 3 fn at most 800": ("recall", ["cost(fp=1, fn=3) <= 800"]),
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
    panels = []
    figures = {
        title: trueness.plots.operating_point(t, maximize, bounds)
        for title, (maximize, bounds) in PANELS.items()
    }
    figures["Front of recall and precision"] = trueness.plots.pareto_plane(
        t, FRONT, subject_to="precision >= 0.6"
    )
    for title, panel in figures.items():
        panel = panel.properties(title=title, width=210, height=210)
        panel.config = alt.Undefined  # the look belongs to the whole figure
        panels.append(panel)
    about = "ROC curve with the region that each constraint allows and the best cut"
    return styled(alt.concat(*panels, columns=3), description=about)
