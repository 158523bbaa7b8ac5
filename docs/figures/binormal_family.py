"""Binormal ROC and PR curves: the content of Figs. 5b, 5a and 8 of Sameni (2025)."""

import altair as alt
import numpy as np

from trueness.plots._altair import frame, styled
from trueness.ranking import binormal

GRID = np.unique(np.concatenate([np.geomspace(1e-5, 1e-2, 60), np.linspace(0, 1, 201)]))


def panel(curves, x, y, title):
    columns = {"curve": [], x: [], y: []}
    for name, (across, up) in curves.items():
        columns["curve"] += [name] * across.size
        columns[x] += across.tolist()
        columns[y] += up.tolist()
    scale = alt.Scale(domain=[0, 1], nice=False)
    return (
        alt.Chart(frame(columns))
        .mark_line(interpolate="linear")
        .encode(
            x=alt.X(f"{x}:Q", scale=scale),
            y=alt.Y(f"{y}:Q", scale=scale),
            color=alt.Color("curve:N", title=None, legend=alt.Legend(orient="bottom")),
        )
        .properties(width=230, height=230, title=title)
    )


def chart():
    by_b = {f"b = {b:g}": (GRID, binormal(1, b).tpr(GRID)) for b in (0, 1, 2, 3)}
    by_alpha = {
        f"alpha = {a:g}": (GRID, binormal(a, 0.8).tpr(GRID)) for a in (0.5, 1, 1.5, 2)
    }
    recall = GRID[1:]
    by_share = {
        f"prevalence {p:g}": (
            recall,
            binormal(1, 1.5).precision(recall, p),
        )
        for p in (0.1, 0.3, 0.5, 0.7, 0.9)
    }
    both = alt.hconcat(
        panel(by_b, "fpr", "tpr", "alpha = 1"),
        panel(by_alpha, "fpr", "tpr", "b = 0.8"),
        panel(by_share, "recall", "precision", "alpha = 1, b = 1.5"),
    ).resolve_scale(color="independent")
    return styled(both, "", "Binormal ROC and precision-recall curves")
