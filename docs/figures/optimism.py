"""Bias of the in-sample value of a chosen threshold, and of its corrections."""

import json
from pathlib import Path

import altair as alt

from trueness.plots._altair import GREY, frame, styled

STORED = Path(__file__).parents[2] / "benchmarks" / "results" / "optimism.json"
NAMES = {
    "in_sample": "in the sample",
    "mixture_632": "0.632 mixture",
    "in_minus_out": "in-bag minus out-of-bag",
    "corrected": "corrected (out-of-bag counts)",
}


def chart():
    rows = json.loads(STORED.read_text())["rows"]
    columns = {"case": [], "method": [], "bias": []}
    for row in rows:
        for key, name in NAMES.items():
            columns["case"].append(f"{row['metric']}, n={row['cases']}")
            columns["method"].append(name)
            columns["bias"].append(float(row[key]))
    names = alt.Scale(domain=list(NAMES.values()))
    legend = alt.Legend(orient="bottom", columns=2, labelLimit=240)
    points = (
        alt.Chart(frame(columns))
        .mark_point(filled=True, size=70, opacity=1)
        .encode(
            x=alt.X("bias:Q", title="Bias against the population"),
            y=alt.Y("case:N", title=None, sort=None),
            color=alt.Color("method:N", scale=names, legend=legend, title=" "),
            shape=alt.Shape("method:N", scale=names, legend=legend, title=" "),
        )
    )
    zero = (
        alt.Chart(frame({"bias": [0]}))
        .mark_rule(color=GREY, strokeDash=[4, 4])
        .encode(x="bias:Q")
    )
    about = "Bias of the in-sample value, of three corrections, for five situations"
    return styled(alt.layer(zero, points), description=about)
