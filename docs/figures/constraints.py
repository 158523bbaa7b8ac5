"""Four constraints in the ROC plane (Sameni 2025, Fig. 4)."""

import altair as alt
import numpy as np

import karat
from karat.plots._theme import styled

PANELS = {
    "Capacity: at most 15 % flagged": ("recall", ["flagged_rate <= 0.15"]),
    "Capacity: between 30 and 45 %": (
        "precision",
        ["flagged_rate >= 0.3", "flagged_rate <= 0.45"],
    ),
    "Bounded risk: fp + 3 fn at most 800": ("recall", ["cost(fp=1, fn=3) <= 800"]),
    "Precision and recall": ("f1", ["precision >= 0.5", "recall >= 0.6"]),
}


def chart():
    rng = np.random.default_rng(1)
    y = rng.random(2000) < 0.25
    t = karat.tally(y, rng.normal(size=2000) + 1.4 * y)
    panels = []
    for title, (maximize, bounds) in PANELS.items():
        panel = karat.plots.operating_point(t, maximize, bounds)
        panel = panel.properties(title=title, width=240, height=240)
        panel.config = alt.Undefined  # the look belongs to the whole figure
        panels.append(panel)
    about = "ROC curve with the region that each constraint allows and the best cut"
    return styled(alt.concat(*panels, columns=2), description=about)
