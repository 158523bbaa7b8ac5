"""Which trade-offs does a classifier offer, as a picture?"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import altair as alt
import numpy as np
from scipy.special import ndtri

from karat import curves
from karat._checks import InputError
from karat.bands import precision_recall_band, roc_band
from karat.counts import Panel, Tally
from karat.inference import auc
from karat.plots._theme import GREY, frame, styled

POINTS = 400
LABEL = 420
Source = Tally | Panel | Mapping[Any, Tally]


class Axis(NamedTuple):
    """What an axis shows: its column, its title and its range."""

    name: str
    title: str
    low: float = 0.0
    high: float = 1.0


FPR = Axis("fpr", "False positive rate")
TPR = Axis("tpr", "True positive rate (recall)")
RECALL = Axis("recall", "Recall (true positive rate)")
PRECISION = Axis("precision", "Precision")
FLAGGED = Axis("flagged_rate", "Share of all cases flagged")


def roc(
    x: Source, *, band: str | None = None, title: str = "", points: int = POINTS
) -> Any:
    """Which true positive rate costs which false positive rate? A chart.

    Parameters
    ----------
    x
        A tally, a panel, or a mapping from name to tally.
    band
        ``"simultaneous"`` or ``"pointwise"``: also draw the 95 % band.
    title
        Shown above the figure.
    points
        Most points a curve is drawn with; see :func:`karat.simplify`.
    """
    tallies = {_with_auc(name, t): t for name, t in named(x).items()}
    lines = _lines(tallies, curves.roc, FPR, TPR, points)
    around = _bands(tallies, band, roc_band, FPR, TPR)
    chance = straight([(0, 0), (1, 1)], FPR, TPR)
    return _finished([chance, *around, lines], "ROC curve", tallies, title)


def precision_recall(
    x: Source,
    *,
    prevalence: float | None = None,
    band: str | None = None,
    title: str = "",
    points: int = POINTS,
) -> Any:
    """Which precision is left at which recall? A chart.

    Parameters
    ----------
    x
        A tally, a panel, or a mapping from name to tally.
    prevalence
        Share of positives for which precision is shown; that of each sample when None.
    band
        ``"simultaneous"`` or ``"pointwise"``: also draw the 95 % band.
    title
        Shown above the figure.
    points
        Most points a curve is drawn with; see :func:`karat.simplify`.
    """
    tallies = named(x)

    def curve(t: Tally) -> Any:
        return curves.precision_recall(t, prevalence=prevalence)

    def around(t: Tally, kind: str) -> Any:
        return precision_recall_band(t, kind=kind, prevalence=prevalence)

    lines = _lines(tallies, curve, RECALL, PRECISION, points)
    bands = _bands(tallies, band, around, RECALL, PRECISION)
    level = float(np.mean([curve(t).prevalence for t in tallies.values()]))
    chance = straight([(0, level), (1, level)], RECALL, PRECISION)
    return _finished([chance, *bands, lines], "Precision-recall curve", tallies, title)


# rates of 0 and 1 are infinite on probit axes: they are drawn at this one
_LEAST = 1e-4
_RATES = (0.001, 0.01, 0.05, 0.2, 0.5, 0.8, 0.95, 0.99, 0.999)


def det(x: Source, *, title: str = "", points: int = POINTS) -> Any:
    """Which miss rate is traded for which false alarm rate, on probit axes? A chart.

    Parameters
    ----------
    x
        A tally, a panel, or a mapping from name to tally.
    title
        Shown above the figure.
    points
        Most points a curve is drawn with.
    """
    tallies = named(x)
    end = float(ndtri(0.999))
    across = Axis("x", "False positive rate", -end, end)
    up = Axis("y", "Miss rate (false negative rate)", -end, end)
    columns: dict[str, list[Any]] = _empty(across, up)
    for name, t in tallies.items():
        curve = curves.simplify(curves.det(t), points=points)
        rates = (np.clip(r, _LEAST, 1 - _LEAST) for r in (curve.fpr, curve.fnr))
        _extend(columns, name, *(ndtri(r) for r in rates), curve.threshold)
    chart = _drawn(columns, across, up, probit=True)
    chance = straight([(-end, end), (end, -end)], across, up)
    return _finished([chance, chart], "DET curve", tallies, title)


def gain_curve(
    x: Source,
    *,
    prevalence: float | None = None,
    title: str = "",
    points: int = POINTS,
) -> Any:
    """Which share of the positives is among the cases with the highest scores?

    Parameters
    ----------
    x
        A tally, a panel, or a mapping from name to tally.
    prevalence
        Share of positives where the classifier will be used; that of each sample when
        None.
    title
        Shown above the figure.
    points
        Most points a curve is drawn with.
    """
    tallies = named(x)

    def curve(t: Tally) -> Any:
        return curves.gain_curve(t, prevalence=prevalence)

    lines = _lines(tallies, curve, FLAGGED, RECALL, points)
    chance = straight([(0, 0), (1, 1)], FLAGGED, RECALL)
    return _finished([chance, lines], "Cumulative gain", tallies, title)


def lift_curve(
    x: Source,
    *,
    prevalence: float | None = None,
    title: str = "",
    points: int = POINTS,
) -> Any:
    """How many times more frequent are positives among the cases flagged?

    Parameters
    ----------
    x
        A tally, a panel, or a mapping from name to tally.
    prevalence
        Share of positives where the classifier will be used; that of each sample when
        None.
    title
        Shown above the figure.
    points
        Most points a curve is drawn with.
    """
    tallies = named(x)

    def curve(t: Tally) -> Any:
        return curves.lift_curve(t, prevalence=prevalence)

    top = max(float(curve(t).lift.max()) for t in tallies.values())
    lift = Axis("lift", "Lift", 0.0, top)
    lines = _lines(tallies, curve, FLAGGED, lift, points)
    chance = straight([(0, 1), (1, 1)], FLAGGED, lift)
    return _finished([chance, lines], "Lift", tallies, title)


def named(x: Source) -> dict[str, Tally]:
    """Give every classifier of a tally, a panel or a mapping a name."""
    if isinstance(x, Tally):
        return {"classifier": x}
    if isinstance(x, Panel):
        return {name: x[name] for name in x.names}
    if isinstance(x, Mapping) and x:
        return {str(name): t for name, t in x.items()}
    raise InputError(
        f"A figure needs a tally, a panel or a mapping from name to tally; found "
        f"{type(x).__name__}. Type karat.tally(y_true, y_score)."
    )


def _with_auc(name: str, t: Tally) -> str:
    a = auc(t)
    return f"{name}: AUC {a.value:.3f} ({a.low:.3f} to {a.high:.3f})"


def _lines(
    tallies: dict[str, Tally], curve: Callable[..., Any], x: Axis, y: Axis, points: int
) -> Any:
    columns = _empty(x, y)
    for name, t in tallies.items():
        few = curves.simplify(curve(t), points=points)
        values = getattr(few, x.name), getattr(few, y.name), few.threshold
        _extend(columns, name, *values)
    return _drawn(columns, x, y)


def _bands(
    tallies: dict[str, Tally],
    kind: str | None,
    band: Callable[..., Any],
    x: Axis,
    y: Axis,
) -> list[Any]:
    """Draw the band of each curve, or nothing."""
    if kind is None:
        return []
    columns: dict[str, list[Any]] = {k: [] for k in ("curve", x.name, "low", "high")}
    for name, t in tallies.items():
        found = band(t, kind=kind)
        columns["curve"] += [name] * found.low.size
        for key in (x.name, "low", "high"):
            columns[key] += getattr(found, key).tolist()
    return [
        alt.Chart(frame(columns))
        .mark_area(opacity=0.2)
        .encode(
            x=_position(alt.X, x),
            y=alt.Y("low:Q", title=y.title),
            y2=alt.Y2("high"),
            color=_colour(columns["curve"]),
        )
    ]


def _drawn(
    columns: dict[str, list[Any]], x: Axis, y: Axis, probit: bool = False
) -> Any:
    return (
        alt.Chart(frame(columns))
        .mark_line(interpolate="linear", clip=True)
        .encode(
            x=_position(alt.X, x, probit),
            y=_position(alt.Y, y, probit),
            color=_colour(columns["curve"]),
            order=alt.Order("at:Q"),
            tooltip=_tips(curve="Curve", cut="Threshold", **{x.name: x.title})
            + _tips(**{y.name: y.title}),
        )
    )


def _position(kind: Any, axis: Axis, probit: bool = False) -> Any:
    scale = alt.Scale(domain=[axis.low, axis.high], nice=False)
    if not probit:
        return kind(f"{axis.name}:Q", title=axis.title, scale=scale)
    marks = alt.Axis(
        values=[float(ndtri(r)) for r in _RATES],
        # Vega has no normal distribution: the labels are looked up
        labelExpr=" : ".join(
            f"abs(datum.value - {float(ndtri(r)):.6f}) < 1e-4 ? '{r:g}'" for r in _RATES
        )
        + " : ''",
    )
    return kind(f"{axis.name}:Q", title=axis.title, scale=scale, axis=marks)


def _empty(x: Axis, y: Axis) -> dict[str, list[Any]]:
    return {name: [] for name in ("curve", "at", x.name, y.name, "cut")}


def _extend(columns: dict[str, list[Any]], name: str, *values: Any) -> None:
    """Add a curve to the columns of the figure: its name, its order, its values."""
    keys = list(columns)
    columns[keys[0]] += [name] * len(values[0])
    columns[keys[1]] += range(len(values[0]))
    for key, column in zip(keys[2:], values, strict=True):
        columns[key] += column.tolist()


def _colour(names: list[str]) -> Any:
    legend = alt.Legend(orient="bottom", direction="vertical", labelLimit=LABEL)
    return alt.Color(
        "curve:N",
        title=None,
        sort=list(dict.fromkeys(names)),
        legend=None if set(names) == {"classifier"} else legend,
    )


def _tips(**names: str) -> list[Any]:
    return [
        alt.Tooltip(k, title=title, type="nominal")
        if k == "curve"
        else alt.Tooltip(k, title=title, type="quantitative", format=".4g")
        for k, title in names.items()
    ]


def straight(points: list[tuple[float, float]], x: Axis, y: Axis) -> Any:
    """Draw what chance would give, as a broken grey line."""
    columns = {x.name: [p[0] for p in points], y.name: [p[1] for p in points]}
    return (
        alt.Chart(frame(columns))
        .mark_line(color=GREY, strokeDash=[4, 4], strokeWidth=1)
        .encode(x=alt.X(f"{x.name}:Q"), y=alt.Y(f"{y.name}:Q"))
    )


def _finished(layers: list[Any], what: str, names: Any, title: str) -> Any:
    return styled(alt.layer(*layers), title, f"{what} of {', '.join(names)}")
