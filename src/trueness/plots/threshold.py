"""Where is a classifier cut, what is allowed, and what is given up, as a picture?"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Unpack

import numpy as np

from trueness._core.arrays import Array
from trueness._core.checks import cases as _cases
from trueness._core.figures import (
    POINTS,
    Axis,
    Curves,
    Line,
    Panels,
    TitledFigure,
    guide,
    score_bands,
    span,
)
from trueness._core.numbers import cut_text, percent
from trueness.counts.resampling import Seed
from trueness.counts.values import Tally
from trueness.metrics.algebra import Constraint, Metric
from trueness.metrics.confusion import Confusion, sweep
from trueness.metrics.grammar import constraints as read_constraints
from trueness.metrics.grammar import metric as read_metric
from trueness.plots._pictures import (
    ONE,
    Shown,
    Source,
    Style,
    named,
    picture,
    picture_of,
)
from trueness.ranking.figures import (
    FPR,
    TPR,
    curve_figure,
    risk_coverage_figure,
    score_figure,
)
from trueness.ranking.risk_coverage import risk_coverage as risk_coverage_of
from trueness.threshold.constraints import DEFAULT_OBJECTIVE, ConstraintLike
from trueness.threshold.cost_figures import cost_curve_figure, decision_figure, region
from trueness.threshold.cuts import all_cuts, values_of
from trueness.threshold.expected_constraints import THESE_CASES
from trueness.threshold.fronts import pareto as pareto_front
from trueness.threshold.guarantees import GuaranteedThreshold
from trueness.threshold.operating_point import best_threshold
from trueness.threshold.prevalences import Prevalences
from trueness.threshold.rule import DEFERRED, Rule, RuleOrThreshold, rule_of
from trueness.threshold.validation import validate_threshold

ROC = "ROC curve"


@picture_of
def operating_point(
    data: Tally,
    maximize: str | Metric = DEFAULT_OBJECTIVE,
    subject_to: ConstraintLike | Iterable[ConstraintLike] = (),
    *,
    prevalences: Prevalences = None,
    minimize: str | Metric | None = None,
    constraints_on: str = THESE_CASES,
    rng: Seed = 0,
    **style: Unpack[Style],
) -> Shown:
    """ROC points that constraints allow, and the best threshold among them.

    The plane of Sameni (2025), Fig. 4. The shaded region has all pairs of rates that
    meet every constraint at the stated prevalence. The curve is the ROC curve, the
    point the threshold of :func:`trueness.best_threshold`. The broken line joins pairs
    of rates with the same value of the objective. Parameters as in
    :func:`trueness.best_threshold`, and ``constraints_on`` as in
    :func:`trueness.validate_threshold`.
    """
    point = best_threshold(
        data, maximize, subject_to, minimize=minimize, prevalences=prevalences
    )
    if constraints_on != THESE_CASES:
        validation = validate_threshold(
            data,
            None if minimize is not None else maximize,
            subject_to,
            minimize=minimize,
            prevalences=prevalences,
            constraints_on=constraints_on,
            rng=rng,
        )
        point = validation.choice

    _cases.both_classes(data, "operating_point")
    constraints = read_constraints(subject_to)
    objective = read_metric(maximize if minimize is None else minimize)
    as_good = Constraint(objective, ">=" if minimize is None else "<=", point.value)

    figure = _plane(data, constraints, point.prevalence)
    figure = _with_line_of_equal_value(
        figure,
        as_good,
        n=data.n_pos + data.n_neg,
        prevalence=point.prevalence,
    )

    readings = {"cut": np.array(point.threshold), "value": np.array(point.value)}
    figure = _with_points(figure, data, "best threshold", point.confusion, readings)

    conditions = ", ".join([point.objective, *map(repr, constraints)])
    about = (
        f"ROC plane: {conditions}; threshold "
        f"{cut_text(point.threshold)}, value {point.value:.4g}"
    )

    return TitledFigure(figure, description=about)


@picture
def guaranteed_threshold(
    t: Tally, guarantee: GuaranteedThreshold, **style: Unpack[Style]
) -> Shown:
    """ROC points that guaranteed constraints allow, and the threshold among them.

    Parameters
    ----------
    t
        The counts that it was computed from.
    """
    labelled = t.labelled()
    constraints = read_constraints([proof.constraint for proof in guarantee.proofs])
    flagged_rows = np.searchsorted(-labelled.score, -guarantee.threshold, side="right")
    counts = sweep(labelled)[int(flagged_rows)]

    figure = _plane(labelled, constraints, labelled.prevalence)
    figure = _with_points(figure, labelled, "guaranteed threshold", counts)
    conditions = " and ".join(map(repr, constraints))
    about = f"ROC plane with the threshold at which {conditions} can be guaranteed."

    return TitledFigure(figure, description=about)


def _plane(t: Tally, constraints: Sequence[Constraint], prevalence: float) -> Curves:
    """Return the ROC curve over the region that the constraints allow, if any."""
    figure = curve_figure("roc", {ROC: t})
    if not constraints:
        return figure

    n = t.n_pos + t.n_neg
    strips = region(constraints, "roc", n * prevalence, n * (1 - prevalence))
    bands = tuple(
        Line("allowed", {"fpr": fpr, "low": low, "high": high})
        for fpr, low, high in strips
    )

    return replace(figure, bands=bands)


def _with_line_of_equal_value(
    figure: Curves, objective: Constraint, *, n: float, prevalence: float
) -> Curves:
    """Add the line that joins the rates with the same value of the objective.

    It is the edge of the region in which the objective is at least as good.
    """
    strips = region((objective,), "roc", n * prevalence, n * (1 - prevalence))
    no_points = np.empty(0)
    fpr = np.concatenate([no_points, *(strip[0] for strip in strips)])
    low = np.concatenate([no_points, *(strip[1] for strip in strips)])
    high = np.concatenate([no_points, *(strip[2] for strip in strips)])

    # where the region fills the whole height it has no edge
    has_edge = (low > 0) | (high < 1)
    edge = np.where(low > 0, low, high)
    line = guide(FPR, TPR, fpr[has_edge], edge[has_edge], "same value")

    return replace(figure, guides=(*figure.guides, line))


def _with_points(
    figure: Curves,
    t: Tally,
    name: str,
    counts: Confusion,
    readings: Mapping[str, Array] | None = None,
) -> Curves:
    """Add the points of these counts, with numbers that are read off at them."""
    columns = {"fpr": counts.fp / t.n_neg, "tpr": counts.tp / t.n_pos}
    columns |= readings or {}
    points = Line(name, {key: np.atleast_1d(values) for key, values in columns.items()})
    return replace(figure, dots=(points,))


@picture_of
def pareto(
    data: Tally,
    metrics: Iterable[str | Metric] = (),
    *,
    maximize: Iterable[str | Metric] = (),
    minimize: Iterable[str | Metric] = (),
    subject_to: ConstraintLike | Iterable[ConstraintLike] = (),
    **style: Unpack[Style],
) -> Shown:
    """Pareto front of metrics: how much of one is lost for another?

    With more than two metrics the first is drawn against each of the others.
    Parameters as in :func:`trueness.pareto`.
    """
    front = pareto_front(
        data, metrics, maximize=maximize, minimize=minimize, subject_to=subject_to
    )
    cuts = all_cuts(data, data.design.prevalence, "pareto")
    cuts_drawn = _thinned_places(len(cuts.score) + 1)
    points_drawn = _thinned_places(len(front))
    at_all_cuts = {
        name: values_of(cuts, read_metric(name))[cuts_drawn] for name in front.values
    }
    # the front is few points, or thinned to few
    on_front = {name: values[points_drawn] for name, values in front.values.items()}

    first_metric, *other_metrics = front.values
    # the line goes from left to right
    order = np.argsort(on_front[first_metric], kind="stable")
    description = "Pareto front of " + ", ".join(front.values)

    panels = []
    for metric in other_metrics:
        x = span("x", first_metric, at_all_cuts[first_metric], on_front[first_metric])
        y = span("y", metric, at_all_cuts[metric], on_front[metric])
        front_line = Line(
            "Pareto front",
            {
                "x": on_front[first_metric][order],
                "y": on_front[metric][order],
                "cut": front.threshold[points_drawn][order],
            },
        )
        all_thresholds = guide(
            x, y, at_all_cuts[first_metric], at_all_cuts[metric], "all thresholds"
        )
        panels.append(
            Curves(
                description,
                x,
                y,
                lines=(front_line,),
                guides=(all_thresholds,),
                dots=(front_line,),
            )
        )

    if len(panels) == 1:
        return TitledFigure(panels[0], description=description)
    return Panels(description, tuple(panels), columns=min(len(panels), 2))


@picture_of
def pareto_plane(
    data: Tally,
    metrics: Iterable[str | Metric] = (),
    *,
    maximize: Iterable[str | Metric] = (),
    minimize: Iterable[str | Metric] = (),
    subject_to: ConstraintLike | Iterable[ConstraintLike] = (),
    **style: Unpack[Style],
) -> Shown:
    """Points of the ROC curve that are candidates in the allowed region.

    The thresholds of the Pareto front in the plane of :func:`operating_point`.
    Parameters as in :func:`trueness.pareto`.
    """
    front = pareto_front(
        data, metrics, maximize=maximize, minimize=minimize, subject_to=subject_to
    )
    _cases.both_classes(data, "pareto_plane")
    points_drawn = _thinned_places(len(front))
    readings = {"cut": front.threshold[points_drawn]}

    for name, values in front.values.items():
        readings[name] = values[points_drawn]

    figure = _plane(data, read_constraints(subject_to), front.prevalence)
    counts = front.confusion[points_drawn]
    figure = _with_points(figure, data, "Pareto front", counts, readings)
    about = "ROC plane with the Pareto front of " + ", ".join(front.values)

    return TitledFigure(figure, description=about)


def _thinned_places(size: int) -> Array:
    """Choose at most ``POINTS`` of so many, both ends among them."""
    return np.unique(np.linspace(0, size - 1, min(size, POINTS)).round().astype(int))


@picture_of
def cost_curve(data: Source, *, level: float = 0.95, **style: Unpack[Style]) -> Shown:
    """Cost curve: how low can the cost of errors be, for every weight of the two kinds?

    The dashed line is the better of "flag all" and "flag none".
    """
    return cost_curve_figure(named(data), level=level)


@picture_of
def decision_curve(
    data: Source,
    *,
    level: float = 0.95,
    standardised: bool = False,
    **style: Unpack[Style],
) -> Shown:
    """Net benefit of models, of acting always, and of acting never.

    Parameters
    ----------
    standardised
        Divide by the prevalence, so that 1 is the best possible.
    """
    tallies = named(data)
    if list(tallies) == [ONE]:
        tallies = {"act on the score": tallies[ONE]}
    return decision_figure(tallies, level=level, standardised=standardised)


@picture_of
def risk_coverage(
    data: Tally,
    *,
    threshold: float = 0.5,
    level: float = 0.95,
    **style: Unpack[Style],
) -> Shown:
    """Risk-coverage curve: how often are the most confident cases wrong?

    Parameters
    ----------
    threshold
        The threshold; the most confident cases are farthest from it.
    """
    curve = risk_coverage_of(data, threshold=threshold, level=level)
    return risk_coverage_figure(curve)


@picture
def zones(t: Tally, answer: RuleOrThreshold, **style: Unpack[Style]) -> Shown:
    """Scores of the two classes, over the zones of one or two thresholds.

    Parameters
    ----------
    t
        The counts.
    answer
        A :class:`trueness.Rule`, or the result of :func:`trueness.best_thresholds` or
        :func:`trueness.guaranteed_threshold`.
    """
    rule = rule_of(answer)
    labelled = t.labelled()
    figure = score_bands(score_figure({ONE: labelled}))
    if isinstance(figure, Panels):
        raise TypeError("one classifier has one histogram")
    if rule.defers:
        return _three_zones(labelled, rule, figure)
    return _two_zones(labelled, rule, figure)


def _two_zones(t: Tally, rule: Rule, figure: Curves) -> TitledFigure:
    """Mark one threshold: nobody is left to a person."""
    threshold = rule.cuts()[1]
    text = cut_text(threshold)
    place = float(np.clip(threshold, figure.x.low, figure.x.high))
    cases = t.pos + t.neg
    flagged = percent(float(cases[t.score >= threshold].sum() / cases.sum()))
    marked = replace(
        figure,
        rules=((f"positive from {text} \N{RIGHTWARDS ARROW}", place),),
        rule_sides=("right" if _has_room_on_the_right(place, figure.x) else "left",),
    )

    about = (
        f"Scores of both classes: negative below {text}, positive at {text} or more, "
        f"{flagged} of the cases."
    )

    return TitledFigure(marked, description=about)


def _has_room_on_the_right(place: float, x: Axis) -> bool:
    return place < x.low + 0.7 * (x.high - x.low)


def _three_zones(t: Tally, rule: Rule, figure: Curves) -> TitledFigure:
    """Mark two thresholds, and the zone between them that is left to a person."""
    lower, upper = rule.cuts()
    negative_below = f"negative below {cut_text(lower)}"
    positive_from = f"positive from {cut_text(upper)}"
    left, right = np.clip([lower, upper], figure.x.low, figure.x.high)
    between = {
        "score": np.array([left, right]),
        "low": np.full(2, figure.y.low),
        "high": np.full(2, figure.y.high),
    }

    # a name stands inside of its zone where there is room for it
    name_width = 0.25 * (figure.x.high - figure.x.low)
    room_on_the_left = left - figure.x.low
    room_on_the_right = figure.x.high - right
    marked = replace(
        figure,
        guides=(Line("left to a person", between),),
        rules=(
            (f"\N{LEFTWARDS ARROW} {negative_below}", float(left)),
            (f"{positive_from} \N{RIGHTWARDS ARROW}", float(right)),
        ),
        rule_sides=(
            "left" if room_on_the_left > name_width else "right",
            "right" if room_on_the_right > name_width else "left",
        ),
    )

    decided = rule.verdicts(t)
    cases = decided.pos + decided.neg
    deferred = cases[decided.score == DEFERRED].sum() / cases.sum()
    about = (
        f"Scores of both classes: {negative_below}, positive at {cut_text(upper)} or "
        f"more, {percent(float(deferred))} of the cases between."
    )

    return TitledFigure(marked, description=about)
