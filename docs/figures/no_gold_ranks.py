"""Are the posteriors calibrated? Ranks of the truth among the draws, from the study."""

import json
from pathlib import Path

import altair as alt
import numpy as np

from trueness.plots._theme import COLOURS, GREY, frame, styled

RESULTS = Path(__file__).parents[2] / "benchmarks" / "results" / "no_gold.json"
TRUTH = "prior, K=3, N=500"


def chart():
    rows = json.loads(RESULTS.read_text())["rows"]
    rows = [r for r in rows if r["truth"] == TRUTH]
    count = np.array([[int(c) for c in r["ranks"].split()] for r in rows])
    bins = count.shape[1]
    columns = {
        "parameter": np.repeat([r["parameter"] for r in rows], bins),
        "rank": np.tile((np.arange(bins) + 0.5) / bins, len(rows)),
        "repeats": count.ravel(),
    }
    mean = rows[0]["repeats"] / bins
    noise = 1.96 * np.sqrt(mean * (1 - 1 / bins))
    columns |= {k: np.full(count.size, mean + s * noise) for k, s in
                (("low", -1), ("high", 1))}  # fmt: skip
    base = alt.Chart().properties(width=170, height=80)
    bars = base.mark_bar(color=COLOURS[0], size=6).encode(
        x=alt.X("rank:Q", title=None, scale=alt.Scale(domain=[0, 1])),
        y=alt.Y("repeats:Q", title=None),
    )
    band = base.mark_area(color=GREY, opacity=0.35).encode(
        x="rank:Q", y="low:Q", y2="high:Q"
    )
    facets = alt.layer(band, bars, data=frame(columns)).facet(
        facet=alt.Facet("parameter:N", title=None), columns=3
    )
    return styled(facets, "", "Ranks of the truth, with 95 % of chance in grey")
