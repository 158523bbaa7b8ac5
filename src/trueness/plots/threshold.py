"""Where is a classifier cut, what is allowed, and what is given up, as a picture?"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
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
from trueness.ranking.figures import FPR, TPR, curve_figure, score_figure
from trueness.threshold.constraints import DEFAULT_OBJECTIVE, ConstraintLike
from trueness.threshold.cost_figures import cost_curve_figure, decision_figure, region
from trueness.threshold.cuts import all_cuts, values_of
from trueness.threshold.fronts import pareto as pareto_front
from trueness.threshold.guarantees import GuaranteedThreshold
from trueness.threshold.operating_point import best_threshold
from trueness.threshold.prevalences import Prevalences
from trueness.threshold.rule import DEFERRED, Rule, rule_of

ROC = "ROC curve"


@picture_of
def operating_point(
    data: Tally,
    maximize: str | Metric = DEFAULT_OBJECTIVE,
    subject_to: ConstraintLike | Iterable[ConstraintLike] = (),
    *,
    prevalences: Prevalences = None,
    minimize: str | Metric | None = None,
    **look: Unpack[Style],
) -> Shown:
    """Which ROC points do the constraints allow, and where is the best threshold?

    The plane of Sameni (2025), Fig. 4: the shaded region holds all pairs of rates that
    meet every constraint, at the prevalence of use; the curve is the ROC curve of the
    classifier, the point is the threshold of :func:`trueness.best_threshold`, and the
    broken line joins the pairs of rates with the same value of the objective.
    Parameters as in :func:`trueness.best_threshold`.
    """
    point = best_threshold(
        data, maximize, subject_to, minimize=minimize, prevalences=prevalences
    )
    _cases.both_classes(data, "operating_point")
    bounds = read_constraints(subject_to)
    shown = read_metric(maximize if minimize is None else minimize)
    worth = Constraint(shown, ">=" if minimize is None else "<=", point.value)
    at = {"cut": np.array(point.threshold), "value": np.array(point.value)}
    place = Line("best threshold", at)
    figure = _plane(data, bounds, point.prevalence, place, point.confusion, worth)
    about = (
        f"ROC plane: {', '.join([point.objective, *map(repr, bounds)])}; threshold "
        f"{cut_text(point.threshold)}, value {point.value:.4g}"
    )
    return TitledFigure(figure, description=about)


@picture
def guaranteed_cut(
    t: Tally, found: GuaranteedThreshold, **look: Unpack[Style]
) -> Shown:
    """Which ROC points do guaranteed constraints allow, and where is the threshold?

    Parameters
    ----------
    t
        The counts that it was found for.
    """
    t = t.labelled()
    asked = read_constraints([proof.constraint for proof in found.proofs])
    c = sweep(t)[int(np.searchsorted(-t.score, -found.threshold, side="right"))]
    place = Line("guaranteed threshold", {})
    figure = _plane(t, asked, t.prevalence, place, c)
    words = "ROC plane with the threshold at which " + " and ".join(map(repr, asked))
    return TitledFigure(figure, description=f"{words} can be guaranteed.")


def _plane(
    t: Tally,
    bounds: Sequence[Constraint],
    prevalence: float,
    dots: Line,
    c: Confusion,
    worth: Constraint | None = None,
) -> Curves:
    """Show the ROC curve, dots on it, and what the constraints allow; all if none.

    The rates at which ``worth`` is what it is at the dot are joined.
    """
    n = t.n_pos + t.n_neg
    share = n * prevalence, n * (1 - prevalence)
    strips = region(bounds, "roc", *share) if bounds else []
    bands = tuple(
        Line("allowed", dict(zip(("fpr", "low", "high"), strip, strict=True)))
        for strip in strips
    )
    figure = curve_figure("roc", {ROC: t})
    guides = figure.guides
    if worth is not None:
        strips = region((worth,), "roc", *share)
        fpr, low, high = (
            np.concatenate([np.empty(0), *(s[k] for s in strips)]) for k in range(3)
        )
        inside, up = (low > 0) | (high < 1), np.where(low > 0, low, high)
        same = guide(FPR, TPR, fpr[inside], up[inside], "same value")
        guides = (*guides, same)
    place = {"fpr": c.fp / t.n_neg, "tpr": c.tp / t.n_pos, **dots.columns}
    place = {k: np.atleast_1d(v) for k, v in place.items()}
    return replace(figure, bands=bands, guides=guides, dots=(Line(dots.name, place),))


@picture_of
def pareto(
    data: Tally,
    metrics: Iterable[str | Metric] = (),
    *,
    maximize: Iterable[str | Metric] = (),
    minimize: Iterable[str | Metric] = (),
    subject_to: ConstraintLike | Iterable[ConstraintLike] = (),
    **look: Unpack[Style],
) -> Shown:
    """How much of one metric is lost for another? All thresholds and the Pareto front.

    With more than two metrics the first is drawn against each of the others.
    Parameters as in :func:`trueness.pareto`.
    """
    front = pareto_front(
        data, metrics, maximize=maximize, minimize=minimize, subject_to=subject_to
    )
    cuts = all_cuts(data, data.design.prevalence, "pareto")
    keep, some = _thinned(len(cuts.score) + 1), _thinned(len(front))
    every = {k: values_of(cuts, read_metric(k))[keep] for k in front.values}
    best = {k: v[some] for k, v in front.values.items()}
    first, *others = front.values
    what = "Pareto front of " + ", ".join(front.values)
    parts = []
    for other in others:
        x, y = (span(a, k, every[k], best[k]) for a, k in (("x", first), ("y", other)))
        order = np.argsort(best[first], kind="stable")
        columns = {"x": best[first], "y": best[other], "cut": front.threshold[some]}
        line = Line("Pareto front", {k: v[order] for k, v in columns.items()})
        grey = guide(x, y, every[first], every[other], "all thresholds")
        parts.append(Curves(what, x, y, (line,), guides=(grey,), dots=(line,)))
    if len(parts) == 1:
        return TitledFigure(parts[0], description=what)
    return Panels(what, tuple(parts), columns=min(len(parts), 2))


@picture_of
def pareto_plane(
    data: Tally,
    metrics: Iterable[str | Metric] = (),
    *,
    maximize: Iterable[str | Metric] = (),
    minimize: Iterable[str | Metric] = (),
    subject_to: ConstraintLike | Iterable[ConstraintLike] = (),
    **look: Unpack[Style],
) -> Shown:
    """Which points of the ROC curve are worth considering, in the allowed region?

    The thresholds of the Pareto front in the plane of :func:`operating_point`.
    Parameters as in :func:`trueness.pareto`.
    """
    front = pareto_front(
        data, metrics, maximize=maximize, minimize=minimize, subject_to=subject_to
    )
    _cases.both_classes(data, "pareto_plane")
    some = _thinned(len(front))
    every = {"cut": front.threshold, **front.values}
    place = Line("Pareto front", {k: v[some] for k, v in every.items()})
    bounds, best = read_constraints(subject_to), front.confusion[some]
    figure = _plane(data, bounds, front.prevalence, place, best)
    about = "ROC plane with the Pareto front of " + ", ".join(front.values)
    return TitledFigure(figure, description=about)


def _thinned(size: int) -> Array:
    """Choose at most ``POINTS`` of so many, both ends among them."""
    return np.unique(np.linspace(0, size - 1, min(size, POINTS)).round().astype(int))


@picture_of
def cost_curve(data: Source, *, level: float = 0.95, **look: Unpack[Style]) -> Shown:
    """How low can the cost of errors be, for every weight of the two kinds? A chart.

    The dashed line is the better of "flag all" and "flag none".
    """
    return cost_curve_figure(named(data), level=level)


@picture_of
def decision_curve(
    data: Source,
    *,
    level: float = 0.95,
    standardised: bool = False,
    **look: Unpack[Style],
) -> Shown:
    """What is the net benefit of the models, of acting always, and of acting never?

    Parameters
    ----------
    standardised
        Divide by the prevalence, so that 1 is the best possible.
    """
    tallies = named(data)
    if list(tallies) == [ONE]:
        tallies = {"act on the score": tallies[ONE]}
    return decision_figure(tallies, level=level, standardised=standardised)


@picture
def zones(t: Tally, found: object, **look: Unpack[Style]) -> Shown:
    """Scores of the two classes, over the zones of one or two thresholds.

    Parameters
    ----------
    t
        The counts.
    found
        A :class:`trueness.Rule`, or an answer that holds one, such as that of
        :func:`trueness.best_thresholds` or :func:`trueness.guaranteed_threshold`.
    """
    rule = rule_of(found)
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
        f"Scores of both classes: negative below {text}, positive from {text} on, "
        f"{flagged} of the cases."
    )
    return TitledFigure(marked, description=about)


def _has_room_on_the_right(place: float, x: Axis) -> bool:
    return place < x.low + 0.7 * (x.high - x.low)


def _three_zones(t: Tally, rule: Rule, figure: Curves) -> TitledFigure:
    """Mark two thresholds, and the zone between them that is left to a person."""
    x, y = figure.x, figure.y
    lower, upper = (cut_text(cut) for cut in rule.cuts())
    ends = np.clip(rule.cuts(), x.low, x.high)
    between = {"score": ends, "low": np.full(2, y.low), "high": np.full(2, y.high)}
    # a name stands inside of its zone where there is room for it
    left_zone, right_zone = ends[0] - x.low, x.high - ends[1]
    wide = 0.25 * (x.high - x.low)
    names = (
        f"\N{LEFTWARDS ARROW} negative below {lower}",
        f"positive from {upper} \N{RIGHTWARDS ARROW}",
    )
    sides = (
        "left" if left_zone > wide else "right",
        "right" if right_zone > wide else "left",
    )
    marked = replace(
        figure,
        guides=(Line("left to a person", between),),
        rules=((names[0], float(ends[0])), (names[1], float(ends[1]))),
        rule_sides=sides,
    )
    decided = rule.verdicts(t)
    cases = decided.pos + decided.neg
    deferred = cases[decided.score == DEFERRED].sum() / cases.sum()
    about = (
        f"Scores of both classes: negative below {lower}, positive from {upper} on, "
        f"{percent(float(deferred))} of the cases between."
    )
    return TitledFigure(marked, description=about)
