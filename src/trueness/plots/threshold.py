"""Where is a classifier cut, what is allowed, and what is given up, as a picture?"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from trueness._core.arrays import Array
from trueness._core.checks import cases as _cases
from trueness._core.figures import POINTS
from trueness._core.numbers import cut_text
from trueness.counts.answers import of_counts
from trueness.counts.values import Tally
from trueness.metrics.algebra import Constraint, Metric
from trueness.metrics.confusion import sweep
from trueness.metrics.grammar import constraints as read_constraints
from trueness.metrics.grammar import metric as read_metric
from trueness.plots._altair import ONE
from trueness.plots._source import Source, drawn, named
from trueness.plots._theme import COLOURS, GREY, alt, frame, styled
from trueness.ranking.curves import roc as roc_curve
from trueness.ranking.curves import simplify
from trueness.threshold.cuts import all_cuts, values_of
from trueness.threshold.figures import (
    cost_curve_figure,
    decision_figure,
    feasible_region,
)
from trueness.threshold.fronts import pareto as pareto_front
from trueness.threshold.guarantees import GuaranteedThreshold
from trueness.threshold.operating_point import (
    DEFAULT,
    ConstraintLike,
    best_threshold,
)


@of_counts
def operating_point(
    data: Tally,
    maximize: str | Metric = DEFAULT,
    subject_to: ConstraintLike | Iterable[ConstraintLike] = (),
    *,
    prevalences: Any = None,
    minimize: str | Metric | None = None,
    title: str = "",
) -> Any:
    """Which ROC points do the constraints allow, and where is the best threshold?

    The plane of Sameni (2025), Fig. 4: the shaded region holds all pairs of rates that
    meet every constraint, at the prevalence of use; the curve is the ROC curve of the
    classifier, the point is the threshold of :func:`trueness.best_threshold`, and the
    thin line joins the pairs of rates with the same value of the objective.

    Parameters
    ----------
    data
        Scores and labels of one classifier.
    maximize, minimize, subject_to, prevalences
        As in :func:`trueness.best_threshold`.
    """
    _cases.one_classifier(data, "operating_point")
    asked: Any = {"subject_to": subject_to, "prevalences": prevalences}
    point = best_threshold(data, maximize, minimize=minimize, **asked)
    _cases.both_classes(data, "operating_point")
    bounds = read_constraints(subject_to)
    c = point.confusion
    place = {
        "fpr": [c.fp / data.n_neg],
        "tpr": [c.tp / data.n_pos],
        "cut": [point.threshold],
    }
    place["value"] = [point.value]
    tips = [alt.Tooltip(f"{k}:Q", format=".4g") for k in place]
    shown = read_metric(maximize if minimize is None else minimize)
    worth = Constraint(shown, ">=" if minimize is None else "<=", point.value)
    layers = [
        *_region(data, bounds, point.prevalence),
        _diagonal(),
        _equal_worth(data, worth, point.prevalence),
        _roc_line(data),
        _dots(place, 110).encode(tooltip=tips),
    ]
    about = (
        f"ROC plane: {point.objective}"
        + "".join(f", {b!r}" for b in bounds)
        + f"; threshold {cut_text(point.threshold)}, value {point.value:.4g}"
    )
    return styled(alt.layer(*layers), title, about)


def guaranteed_cut(t: Tally, found: GuaranteedThreshold, *, title: str = "") -> Any:
    """Which ROC points do guaranteed constraints allow, and where is the threshold?

    Parameters
    ----------
    t
        The counts.
    found
        What :func:`trueness.guaranteed_threshold` gave for them.
    title
        Printed above.
    """
    t = t.labelled()
    asked = read_constraints([proof.constraint for proof in found.proofs])
    c = sweep(t)[int(np.searchsorted(-t.score, -found.threshold, side="right"))]
    place = {"fpr": [c.fp / t.n_neg], "tpr": [c.tp / t.n_pos]}
    region, dot = _region(t, asked, t.prevalence), _dots(place, 110)
    layers = [*region, _diagonal(), _roc_line(t), dot]
    words = "ROC plane with the threshold at which " + " and ".join(map(repr, asked))
    return styled(alt.layer(*layers), title, f"{words} can be guaranteed.")


def _plane(columns: Mapping[str, Any], up: str = "tpr") -> Any:
    """Lay columns on the ROC plane; what marks them is for who calls."""
    unit = alt.Scale(domain=[0, 1], nice=False)
    return alt.Chart(frame(dict(columns))).encode(
        x=alt.X("fpr:Q", title="False positive rate", scale=unit),
        y=alt.Y(f"{up}:Q", title="True positive rate (recall)", scale=unit),
    )


def _dots(columns: Mapping[str, Any], size: int) -> Any:
    mark: Any = {"color": COLOURS[1], "filled": True, "size": size, "opacity": 1}
    return _plane(columns).mark_point(**mark)


def _diagonal() -> Any:
    ends = {"fpr": [0, 1], "tpr": [0, 1]}
    return _plane(ends).mark_line(color=GREY, strokeDash=[4, 4], strokeWidth=1)


def _roc_line(t: Tally) -> Any:
    curve = simplify(roc_curve(t), points=POINTS)
    columns = {"fpr": curve.fpr, "tpr": curve.tpr, "cut": curve.threshold}
    order = alt.Order("cut:Q", sort="descending")
    return _plane(columns).mark_line(color=COLOURS[0]).encode(order=order)


def _equal_worth(t: Tally, worth: Constraint, prevalence: float) -> Any:
    """Join the rates at which the objective is what it is at the best cut."""
    region = feasible_region((worth,), prevalence, t.n_pos + t.n_neg)
    ends = zip(region["fpr"], region["low"], region["high"], strict=True)
    edge = [(u, low or high) for u, low, high in ends if low > 0 or high < 1]
    columns = {"fpr": [u for u, _ in edge], "tpr": [v for _, v in edge]}
    return _plane(columns).mark_line(color=COLOURS[1], strokeWidth=1, opacity=0.8)


def _region(t: Tally, bounds: tuple[Constraint, ...], prevalence: float) -> list[Any]:
    """Shade what is allowed, column by column; nothing when all is."""
    if not bounds:
        return []
    data = feasible_region(bounds, prevalence, t.n_pos + t.n_neg)
    area = _plane(data, "low").mark_area(color=COLOURS[2], opacity=0.22, line=False)
    return [area.encode(y2="high:Q", detail="part:N")]


@of_counts
def pareto(
    data: Tally,
    metrics: Iterable[str | Metric] = (),
    *,
    maximize: Iterable[str | Metric] = (),
    minimize: Iterable[str | Metric] = (),
    subject_to: ConstraintLike | Iterable[ConstraintLike] = (),
    title: str = "",
) -> Any:
    """How much of one metric is lost for another? All thresholds and the Pareto front.

    With more than two metrics the first is drawn against each of the others.
    Parameters as in :func:`trueness.pareto`.
    """
    asked: dict[str, Any] = {"maximize": maximize, "minimize": minimize}
    front = pareto_front(data, metrics, subject_to=subject_to, **asked)
    names = list(front.values)
    cuts = all_cuts(data, data.design.prevalence, "pareto")
    keep = _thinned(len(cuts.score) + 1)
    every = {name: values_of(cuts, read_metric(name))[keep] for name in names}
    some = _thinned(len(front))
    best = {name: front.values[name][some] for name in names}
    best["cut"] = front.threshold[some]
    charts = [_pair(names[0], other, every, best) for other in names[1:]]
    about = "Pareto front of " + ", ".join(names)
    chart = charts[0] if len(charts) == 1 else alt.hconcat(*charts)
    return styled(chart, title, about)


@of_counts
def pareto_plane(
    data: Tally,
    metrics: Iterable[str | Metric] = (),
    *,
    maximize: Iterable[str | Metric] = (),
    minimize: Iterable[str | Metric] = (),
    subject_to: ConstraintLike | Iterable[ConstraintLike] = (),
    title: str = "",
) -> Any:
    """Which points of the ROC curve are worth considering, in the allowed region?

    The thresholds of the Pareto front in the plane of :func:`operating_point`.
    Parameters as in :func:`trueness.pareto`.
    """
    asked: dict[str, Any] = {"maximize": maximize, "minimize": minimize}
    front = pareto_front(data, metrics, subject_to=subject_to, **asked)
    _cases.both_classes(data, "pareto_plane")
    some = _thinned(len(front))
    columns = {
        "fpr": front.confusion.fp[some] / data.n_neg,
        "tpr": front.confusion.tp[some] / data.n_pos,
        "cut": front.threshold[some],
    }
    titles = {"cut": "threshold"}
    # names such as "0.5*f1 + 0.5*recall" are data, not paths into it
    for k, (name, values) in enumerate(front.values.items()):
        columns[f"m{k}"], titles[f"m{k}"] = values[some], name
    dots = _dots(columns, 26).encode(tooltip=_tips(titles))
    region = _region(data, read_constraints(subject_to), front.prevalence)
    about = "ROC plane with the Pareto front of " + ", ".join(front.values)
    layers = [*region, _diagonal(), _roc_line(data), dots]
    return styled(alt.layer(*layers), title, about)


def _thinned(size: int) -> Array:
    """Choose at most ``POINTS`` of so many, both ends among them."""
    return np.unique(np.linspace(0, size - 1, min(size, POINTS)).round().astype(int))


def _tips(titles: Mapping[str, str]) -> list[Any]:
    return [alt.Tooltip(f"{k}:Q", title=t, format=".4g") for k, t in titles.items()]


def _pair(x: str, y: str, every: dict[str, Any], best: dict[str, Any]) -> Any:
    grey = {"x": every[x], "y": every[y]}
    axes: Any = {
        "x": alt.X("x:Q", title=x, scale=alt.Scale(zero=False)),
        "y": alt.Y("y:Q", title=y, scale=alt.Scale(zero=False)),
    }
    all_cuts_layer = (
        alt.Chart(frame(grey)).mark_point(color=GREY, size=12, opacity=0.4)
    ).encode(**axes)
    front = {"x": best[x], "y": best[y], "cut": best["cut"]}
    tips = _tips({"x": x, "y": y, "cut": "threshold"})
    line = alt.Chart(frame(front)).encode(**axes, order=alt.Order("x:Q"), tooltip=tips)
    return alt.layer(
        all_cuts_layer,
        line.mark_line(color=COLOURS[0], interpolate="linear"),
        line.mark_point(color=COLOURS[0], filled=True, size=22, opacity=1),
    )


@of_counts
def cost_curve(
    data: Source, *, level: float = 0.95, title: str = "", ax: Any = None
) -> Any:
    """How low can the cost of errors be, for every weight of the two kinds? A chart.

    The dashed line is the better of "flag all" and "flag none".

    Parameters
    ----------
    level
        Confidence level of the bands.
    data, title, ax
        As in :func:`trueness.plots.roc`.
    """
    return drawn(cost_curve_figure(named(data), level=level), title, ax)


@of_counts
def decision_curve(
    data: Source,
    *,
    level: float = 0.95,
    standardised: bool = False,
    title: str = "",
    ax: Any = None,
) -> Any:
    """What is the net benefit of the models, of acting always, and of acting never?

    Parameters
    ----------
    data
        A tally, a panel, or a mapping from name to tally; scores are probabilities.
    level
        Confidence level of the bands.
    standardised
        Divide by the prevalence, so that 1 is the best possible.
    title, ax
        As in :func:`trueness.plots.roc`.
    """
    tallies = named(data)
    if list(tallies) == [ONE]:
        tallies = {"act on the score": tallies[ONE]}
    figure = decision_figure(tallies, level=level, standardised=standardised)
    return drawn(figure, title, ax)
