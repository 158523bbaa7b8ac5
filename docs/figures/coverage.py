"""How often do the 95 % intervals of the AUC hold the truth? From the study."""

import json
from pathlib import Path

import altair as alt

from trueness.plots._theme import GREY, frame, styled

SCALE = alt.Scale(domain=[0.4, 1], zero=False, nice=False)
RESULTS = Path(__file__).parents[2] / "benchmarks" / "results" / "coverage.json"


def chart():
    cells = json.loads(RESULTS.read_text())["cells"]
    names = ["score", "logit-delong", "delong", "hanley-mcneil", "fermi-dirac"]
    names += ["bca", "bootstrap"]
    columns = {
        "method": [c["method"] for c in cells],
        "coverage": [c["coverage"] for c in cells],
        "AUC": [str(c["auc"]) for c in cells],
    }
    points = (
        alt.Chart(frame(columns))
        .mark_tick(thickness=2, opacity=0.6)
        .encode(
            x=alt.X(
                "coverage:Q",
                title="Coverage in a cell of the study",
                scale=SCALE,
            ),
            y=alt.Y("method:N", title=None, sort=names),
            color=alt.Color("AUC:N"),
        )
        .properties(height=220)
    )
    goal = (
        alt.Chart(frame({"x": [0.95]}))
        .mark_rule(color=GREY, strokeDash=[4, 4])
        .encode(x=alt.X("x:Q", scale=SCALE))
    )
    return styled(alt.layer(goal, points), "", "Coverage of intervals by method")
