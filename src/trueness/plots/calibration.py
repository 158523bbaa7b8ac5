"""Do probabilities mean what they say, as a picture?"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from trueness._core.checks import cases as _cases
from trueness._core.checks.errors import InputError
from trueness._core.figures import Axis, Bars, Line
from trueness._core.numbers import level_text
from trueness.calibration.maps import Map
from trueness.calibration.proper_scores import ProperScore
from trueness.calibration.reliability_curve import (
    SCORE,
    SHARE,
    Reliability,
    decomposition_figure,
    map_figure,
    probability_bars,
    reliability_figure,
)
from trueness.calibration.reliability_curve import reliability as corp
from trueness.counts.answers import of_counts
from trueness.counts.values import Tally
from trueness.plots._altair import ONE, position, straight
from trueness.plots._source import Source, drawn, named
from trueness.plots._theme import COLOURS, GREY, SIZE, alt, frame, styled


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
    maps: Mapping[str, Map],
    t: Tally,
    *,
    bins: int = 12,
    title: str = "",
    ax: Any = None,
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
    title, ax
        As in :func:`trueness.plots.roc`.
    """
    if not isinstance(maps, Mapping) or not maps:
        raise InputError(
            "calibration_maps needs a mapping from name to map; type "
            'calibration_maps({"platt": trueness.calibrate(t, method="platt")}, t).'
        )
    _cases.some_labels(t, "calibration_maps")
    return drawn(map_figure(maps, t.labelled(), bins), title, ax)


def decomposition(
    scores: Mapping[str, ProperScore], *, title: str = "", ax: Any = None
) -> Any:
    """Which classifier discriminates better, and which is calibrated better? A chart.

    Each classifier is a dot: discrimination to the right, miscalibration upwards. Lines
    connect points of equal mean loss, which is lowest at the lower right.

    Parameters
    ----------
    scores
        Results of :func:`trueness.brier` or :func:`trueness.log_loss` by name, on the
        same cases (their uncertainty is the same).
    title, ax
        As in :func:`trueness.plots.roc`.
    """
    return drawn(decomposition_figure(scores), title, ax)
