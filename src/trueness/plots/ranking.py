"""Which trade-offs does a classifier offer, as a picture?"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import altair as alt
import numpy as np
from scipy.special import ndtri

from trueness.counts.answers import of_counts
from trueness.counts.values import Tally
from trueness.plots._lines import (
    POINTS,
    Axis,
    Source,
    bands,
    finished,
    lines,
    named,
    straight,
)
from trueness.ranking import curves
from trueness.ranking.auc_intervals import auc
from trueness.ranking.bands import precision_recall_band, roc_band

FPR = Axis("fpr", "False positive rate")
TPR = Axis("tpr", "True positive rate (recall)")
RECALL = Axis("recall", "Recall (true positive rate)")
PRECISION = Axis("precision", "Precision")
FLAGGED = Axis("flagged_rate", "Share of all cases flagged")


@of_counts
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
        Most points a curve is drawn with; see :func:`trueness.simplify`.
    """
    tallies = {_with_auc(name, t): t for name, t in named(x).items()}
    layers = [
        straight([(0, 0), (1, 1)], FPR, TPR),
        *_bands(tallies, band, roc_band, FPR, TPR),
        _curves(tallies, curves.roc, FPR, TPR, points),
    ]
    return finished(layers, "ROC curve", tallies, title)


@of_counts
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
        Most points a curve is drawn with; see :func:`trueness.simplify`.
    """
    tallies = named(x)

    def curve(t: Tally) -> Any:
        return curves.precision_recall(t, prevalence=prevalence)

    def around(t: Tally, kind: str) -> Any:
        return precision_recall_band(t, kind=kind, prevalence=prevalence)

    shares = {prevalence or t.prevalence for t in tallies.values()}
    layers = [
        *(straight([(0, p), (1, p)], RECALL, PRECISION) for p in sorted(shares)),
        *_bands(tallies, band, around, RECALL, PRECISION),
        _curves(tallies, curve, RECALL, PRECISION, points),
    ]
    return finished(layers, "Precision-recall curve", tallies, title)


# rates of 0 and 1 are infinite on probit axes: they are drawn at this one
_LEAST = 1e-4
_RATES = (0.001, 0.01, 0.05, 0.2, 0.5, 0.8, 0.95, 0.99, 0.999)


@of_counts
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
    drawn = {}
    for name, t in tallies.items():
        few = curves.simplify(curves.det(t), points=points)
        rates = (np.clip(r, _LEAST, 1 - _LEAST) for r in (few.fpr, few.fnr))
        drawn[name] = dict(
            zip(("x", "y", "cut"), (*map(ndtri, rates), few.threshold), strict=True)
        )
    axes = _probit(alt.X, across), _probit(alt.Y, up)
    chance = straight([(-end, end), (end, -end)], across, up, axes)
    return finished(
        [chance, lines(drawn, across, up, axes)], "DET curve", tallies, title
    )


def _probit(kind: Any, axis: Axis) -> Any:
    marks = alt.Axis(
        values=[float(ndtri(r)) for r in _RATES],
        labelOverlap=False,
        labelFlush=False,
        labelFontSize=9,
        # Vega has no normal distribution: the labels are looked up
        labelExpr=" : ".join(
            f"abs(datum.value - {float(ndtri(r)):.6f}) < 1e-4 ? '{r:g}'" for r in _RATES
        )
        + " : ''",
    )
    scale = alt.Scale(domain=[axis.low, axis.high], nice=False)
    return kind(f"{axis.name}:Q", title=axis.title, scale=scale, axis=marks)


@of_counts
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

    layers = [
        straight([(0, 0), (1, 1)], FLAGGED, RECALL),
        _curves(tallies, curve, FLAGGED, RECALL, points),
    ]
    return finished(layers, "Cumulative gain", tallies, title)


@of_counts
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
    layers = [
        straight([(0, 1), (1, 1)], FLAGGED, lift),
        _curves(tallies, curve, FLAGGED, lift, points),
    ]
    return finished(layers, "Lift", tallies, title)


def _with_auc(name: str, t: Tally) -> str:
    a = auc(t)
    return f"{name}: AUC {a.value:.3f} ({a.low:.3f} to {a.high:.3f})"


def _curves(
    tallies: dict[str, Tally], curve: Callable[..., Any], x: Axis, y: Axis, points: int
) -> Any:
    drawn = {}
    for name, t in tallies.items():
        few = curves.simplify(curve(t), points=points)
        drawn[name] = {
            x.name: getattr(few, x.name),
            y.name: getattr(few, y.name),
            "cut": few.threshold,
        }
    return lines(drawn, x, y)


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
    found = {name: band(t, kind=kind) for name, t in tallies.items()}
    columns = {
        name: {k: getattr(b, k) for k in (x.name, "low", "high")}
        for name, b in found.items()
    }
    return [bands(columns, x, y)]
