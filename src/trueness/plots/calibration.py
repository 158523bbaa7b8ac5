"""Do probabilities mean what they say, as a picture?"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from trueness._core.checks import cases as _cases
from trueness._core.checks.errors import InputError
from trueness._core.figures import Axis, Bars, Line
from trueness._core.numbers import level_text
from trueness.calibration.maps import Map
from trueness.calibration.monotone import equal_mass
from trueness.calibration.proper_scores import ProperScore
from trueness.calibration.reliability_curve import (
    SCORE,
    SHARE,
    Reliability,
    probability_bars,
    reliability_figure,
)
from trueness.calibration.reliability_curve import reliability as corp
from trueness.counts.answers import of_counts
from trueness.counts.values import Tally
from trueness.plots._altair import ONE, position, straight
from trueness.plots._source import Source, drawn, named
from trueness.plots._theme import COLOURS, GREY, SIZE, alt, frame, stacked, styled

PROBABILITY = Axis("probability", "Probability")


@of_counts
def reliability(
    data: Source,
    *,
    level: float = 0.95,
    replicates: int = 500,
    rng: Any = 0,
    title: str = "",
    ax: Any = None,
) -> Any:
    """Which share of the cases with a score of p is positive? A chart.

    The curve is the isotonic regression of the labels on the scores (CORP), with its
    confidence band in colour. For one classifier, a grey consistency band is added:
    where the curve leaves it, chance does not explain the distance from the diagonal.
    Below the plot, bars show how many negatives and positives have each score.

    Parameters
    ----------
    data
        A tally, a panel, or a mapping from name to tally: labelled cases whose scores
        are probabilities.
    level, replicates, rng
        As in :func:`trueness.reliability`.
    title, ax
        As in :func:`trueness.plots.roc`.
    """
    found = {
        name: corp(t, level=level, replicates=replicates, rng=rng)
        for name, t in named(data).items()
    }
    if ax is not None or not isinstance(data, Tally):
        return drawn(reliability_figure(found), title, ax)
    r = found[ONE]
    bars = probability_bars(ONE, data.labelled())
    chart = alt.vconcat(_share(r), _scores(bars), spacing=4)
    about = (
        f"Reliability diagram of {r.n:,} cases: share of positives against score, "
        f"with {level_text(level)} consistency and confidence bands"
    )
    return styled(chart, title, about)


def _share(r: Reliability) -> Any:
    """Draw the curve of one classifier over both of its bands."""
    kinds = (("consistency", GREY, 0.25), ("confidence", COLOURS[0], 0.2))
    layers, x = [], Axis("score", "")
    for kind, colour, opacity in kinds:
        figure = reliability_figure({ONE: r}, kind)
        layers.append(_band(figure.bands[0], colour, opacity))
    across = position(alt.X, x).title(None)
    tips = [
        alt.Tooltip(f"{a.name}:Q", title=a.title, format=".4g") for a in (SCORE, SHARE)
    ]
    curve = (
        alt.Chart(frame(dict(figure.lines[0].columns)), width=SIZE, height=SIZE)
        .mark_line(color=COLOURS[0])
        .encode(x=across, y=position(alt.Y, SHARE), tooltip=tips)
    )
    return alt.layer(
        *layers, straight(figure.guides[0], SCORE, SHARE).encode(x=across), curve
    )


def _band(band: Line, colour: str, opacity: float) -> Any:
    low = Axis("low", SHARE.title)
    area = alt.Chart(frame(dict(band.columns))).mark_area(color=colour, opacity=opacity)
    return area.encode(
        x=position(alt.X, SCORE).title(None), y=position(alt.Y, low), y2="high:Q"
    )


def _scores(bars: Bars) -> Any:
    """Draw how many negatives and positives have which score, one on the other."""
    low, high = bars.edges[:-1], bars.edges[1:]
    neg, pos = bars.neg[ONE], bars.pos[ONE]
    columns = {
        "low": [*low, *low],
        "high": [*high, *high],
        "label": ["negative"] * neg.size + ["positive"] * pos.size,
        "cases": [*neg, *pos],
        "base": [*(0 * neg), *neg],
        "top": [*neg, *(neg + pos)],
    }
    return (
        alt.Chart(frame(columns), width=SIZE, height=SIZE / 5)
        .mark_rect(stroke="white", strokeWidth=0.5)
        .encode(
            x=position(alt.X, Axis("low", SCORE.title)),
            x2="high:Q",
            y=alt.Y("base:Q", title="Cases"),
            y2="top:Q",
            tooltip=["label:N", "low:Q", "high:Q", "cases:Q"],
            color=alt.Color(
                "label:N",
                title=None,
                scale=alt.Scale(
                    domain=["negative", "positive"], range=[COLOURS[5], COLOURS[1]]
                ),
                legend=alt.Legend(orient="bottom"),
            ),
        )
    )


def calibration_maps(
    maps: Mapping[str, Map], t: Tally, *, bins: int = 12, title: str = ""
) -> Any:
    """Which probability does each map give a score? A chart.

    Parameters
    ----------
    maps
        Fitted maps by name, for example of several methods.
    t
        Labelled cases on the same scale; their shares of positives in bins of equally
        many cases are drawn as dots.
    bins
        Number of dots.
    title
        Shown above the figure.
    """
    if not isinstance(maps, Mapping) or not maps:
        raise InputError(
            "calibration_maps needs a mapping from name to map; type "
            'calibration_maps({"platt": trueness.calibrate(t, method="platt")}, t).'
        )
    _cases.some_labels(t, "calibration_maps")
    t = t.labelled()
    grid = np.linspace(t.score[-1], t.score[0], 400)
    curves = stacked(
        {"score": grid, "probability": c(grid), "method": name}
        for name, c in maps.items()
    )
    x = alt.X("score:Q", title="Score", scale=alt.Scale(zero=False, nice=False))
    lines = alt.Chart(curves).mark_line()
    lines = lines.encode(
        x=x,
        y=position(alt.Y, PROBABILITY),
        color=alt.Color("method:N", title=None, sort=list(maps)),
    )
    about = f"Probability against score by {', '.join(maps)}"
    return styled(alt.layer(_dots(t, bins, x), lines), title, about)


def _dots(t: Tally, bins: int, x: Any) -> Any:
    cases = t.neg + t.pos
    start = equal_mass(cases, bins)
    total = np.add.reduceat(cases, start)
    columns = {
        "score": np.add.reduceat(t.score * cases, start) / total,
        "probability": np.add.reduceat(t.pos, start) / total,
    }
    points = alt.Chart(frame(columns)).mark_point(color=GREY, filled=True, opacity=0.7)
    return points.encode(x=x, y=position(alt.Y, PROBABILITY))


def decomposition(scores: Mapping[str, ProperScore], *, title: str = "") -> Any:
    """Which classifier discriminates better, and which is calibrated better? A chart.

    Each classifier is a dot: discrimination to the right, miscalibration upwards. Lines
    connect points of equal mean loss, which is lowest at the lower right.

    Parameters
    ----------
    scores
        Results of :func:`trueness.brier` or :func:`trueness.log_loss` by name, on the
        same cases (their uncertainty is the same).
    title
        Shown above the figure.
    """
    names = list(scores)
    mcb = [float(s.mcb) for s in scores.values()]
    dsc = [float(s.dsc) for s in scores.values()]
    columns = {"name": names, "mcb": mcb, "dsc": dsc}
    columns["loss"] = [s.value for s in scores.values()]
    right, top = (1.15 * max([*v, 1e-9]) for v in (dsc, mcb))
    few = alt.Axis(tickCount=5, format=".2~g")
    x = position(alt.X, Axis("dsc", "Discrimination (DSC)", 0.0, right)).axis(few)
    y = position(alt.Y, Axis("mcb", "Miscalibration (MCB)", 0.0, top)).axis(few)
    base = alt.Chart(frame(columns)).encode(x=x, y=y)
    # dots may lie on one another: names beside them would not be read
    legend, scale = alt.Legend(orient="bottom", columns=3), alt.Scale(domain=names)
    dots = base.mark_point(filled=True, size=80, opacity=0.9).encode(
        color=alt.Color("name:N", title=None, scale=scale, legend=legend),
        shape=alt.Shape("name:N", title=None, scale=scale, legend=legend),
        tooltip=["name:N", *(f"{k}:Q" for k in ("loss", "mcb", "dsc"))],
    )
    about = f"Miscalibration against discrimination of {', '.join(names)}"
    return styled(alt.layer(_equal_loss((right, top), x, y), dots), title, about)


def _equal_loss(most: tuple[float, float], x: Any, y: Any) -> Any:
    """Draw lines mcb - dsc = constant."""
    lines = []
    for k, shift in enumerate(np.linspace(-most[0], most[1], 9)):
        ends = max(0.0, -shift), min(most[0], most[1] - shift)
        lines.append({"dsc": ends, "mcb": [v + shift for v in ends], "line": [k, k]})
    return (
        alt.Chart(stacked(lines))
        .mark_line(color=GREY, strokeWidth=0.5, strokeDash=[2, 3])
        .encode(x=x, y=y, detail="line:N")
    )
