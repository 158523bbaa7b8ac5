"""What prevalence is found where there is no positive at all? From the SNP study."""

import json
from pathlib import Path

import altair as alt

from trueness.plots._altair import COLOURS, frame, styled

RESULTS = Path(__file__).parents[2] / "benchmarks" / "results" / "snp.json"
KINDS = {
    "independent errors": "found in the data",
    "the factor of the first cut": "found without any positive",
}


def chart():
    rows = json.loads(RESULTS.read_text())["rows"]
    rows = [r for r in rows if r["explanation"] in KINDS]
    columns = {
        "positives": [int(r["positives"]) for r in rows],
        "prevalence": [r["prevalence"] for r in rows],
        "of": [KINDS[r["explanation"]] for r in rows],
    }
    base = alt.Chart(frame(columns)).encode(
        x=alt.X(
            "positives:Q",
            title="Positives of each test",
            scale=alt.Scale(type="log", domain=[150, 25_000], nice=False),
            axis=alt.Axis(values=[200, 500, 1000, 2000, 5000, 10_000, 20_000]),
        ),
        y=alt.Y(
            "prevalence:Q",
            title="Prevalence by independent errors",
            scale=alt.Scale(type="log", domain=[0.0004, 0.06], nice=False),
            axis=alt.Axis(values=[0.0005, 0.001, 0.002, 0.005, 0.01, 0.02, 0.05]),
        ),
        color=alt.Color(
            "of:N",
            title=None,
            scale=alt.Scale(
                domain=list(KINDS.values()), range=[COLOURS[1], COLOURS[0]]
            ),
            legend=alt.Legend(orient="bottom"),
        ),
    )
    line = base.mark_line(point=True).transform_filter(
        alt.datum.of == "found without any positive"
    )
    points = base.mark_point(filled=True, size=120).transform_filter(
        alt.datum.of == "found in the data"
    )
    return styled(
        line + points, "", "Prevalence by cut, in the data and without positives"
    )
