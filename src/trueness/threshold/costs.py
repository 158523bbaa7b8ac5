"""What do errors cost, what is it worth to act on the scores, and how is it drawn?"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import final

import numpy as np
from numpy.typing import ArrayLike

from trueness._core.arrays import Array, Floats, Ints
from trueness._core.checks import cases as _cases
from trueness._core.checks import columns as _columns
from trueness._core.checks import options as _options
from trueness._core.figures import POINTS, Axis, Curves, Line, few_points, guide
from trueness._core.records import Answer, Estimate
from trueness._core.solvers import concave_corners
from trueness.counts.answers import of_tally
from trueness.counts.placements import coarser, corners
from trueness.counts.resampling import Seed, replicates
from trueness.counts.values import Tally, rescored
from trueness.inference.estimates import evaluate_measure
from trueness.inference.sample import apply_design, check_prevalence_known
from trueness.metrics.algebra import Constraint, Metric, Ratio
from trueness.metrics.confusion import Confusion, sweep, thresholds
from trueness.metrics.definitions import METRICS, net_benefit
from trueness.metrics.intervals import Cut, estimate_at, meant_by_rows, metric_measure
from trueness.threshold.cuts import thresholds_of


@final
@dataclass(frozen=True, repr=False)
class CostCurve(Answer):
    """How low can the cost of errors be, for every weight of the two kinds?

    Attributes
    ----------
    weight : array (n,)
        The share of the largest possible cost that is due to missed positives, Holte's
        probability cost function PC(+).
    cost, low, high : array (n,)
        The smallest cost, as a share of the largest possible one, and its interval.
    trivial : array (n,)
        The cost of the better of "flag all" and "flag none".
    threshold, recall, fpr : array (n,)
        The threshold with the smallest cost at each weight, and its rates.
    """

    weight: Floats
    cost: Floats
    low: Floats
    high: Floats
    trivial: Floats
    threshold: Floats
    recall: Floats
    fpr: Floats
    level: float


@of_tally
def cost_curve(
    data: Tally,
    *,
    at: ArrayLike | None = None,
    level: float = 0.95,
    rng: Seed = 0,
) -> CostCurve:
    r"""How low can the cost of errors be, whatever the prevalence and costs are?

    .. math:: C(w) = \min_\tau\; w\,\mathrm{FNR}(\tau) + (1 - w)\,\mathrm{FPR}(\tau),
        \qquad w = \frac{\pi c_{fn}}{\pi c_{fn} + (1 - \pi) c_{fp}}

    Parameters
    ----------
    data
        Scores and labels of one classifier, both classes present.
    at
        The weights w at which to evaluate, between 0 and 1; by default 0, 0.01, ..., 1.

    Notes
    -----
    The interval is for the cost of the chosen threshold in the population, and allows
    for the choice (200 bootstrap samples, Efron 1983). Of several thresholds with equal
    cost the one that flags the fewest cases is given.

    References
    ----------
    Drummond, Holte 2006, Mach. Learn. 65:95, doi:10.1007/s10994-006-8199-5.
    Efron 1983, J. Am. Stat. Assoc. 78:316, doi:10.2307/2288636.

    Examples
    --------
    >>> t = Tally([0.9, 0.7, 0.5, 0.2], pos=[2, 1, 1, 0], neg=[0, 1, 2, 3])
    >>> cost_curve(t, at=[0.5]).cost  # 0.5 * 1/4 + 0.5 * 1/6 at 0.7
    array([0.20833333])
    """
    _cases.one_classifier(data, "cost_curve")
    _cases.both_classes(data, "cost_curve")
    level = _options.fraction(level, "level")
    w = _options.grid(np.arange(101) / 100 if at is None else at, "at")
    t, c = data.labelled(), sweep(data)
    best = _cheapest(c.tp, c.fp, w)
    tp, fp = c.tp[best], c.fp[best]
    miss, alarm = 1 - tp / t.n_pos, fp / t.n_neg
    cost = w * miss + (1 - w) * alarm
    sure = _cut_rows(t, np.where(best > 0, t.score[np.maximum(best, 1) - 1], np.inf))
    found = [
        estimate_at(cut, replace(v * METRICS["fnr"] + (1 - v) * METRICS["fpr"],
                              range=(0.0, 1.0)), level)
        for v, cut in zip(w.tolist(), sure, strict=True)
    ]  # fmt: skip
    low, high, sd = np.array([(e.low, e.high, e.se) for e in found]).reshape(-1, 3).T
    gain, varies = _choice_of_cost(t, w, rng)
    # where the choice varies more than the cost at a fixed threshold
    times = np.maximum(np.divide(varies, sd, out=np.ones(w.size), where=sd > 0), 1.0)
    return CostCurve(
        weight=w,
        cost=cost,
        low=np.clip(cost + gain - times * (cost - low), 0, cost),
        high=np.clip(cost + gain + times * (high - cost), cost, 1),
        trivial=np.minimum(w, 1 - w),
        threshold=thresholds_of(t.score, best),
        recall=tp / t.n_pos,
        fpr=alarm,
        level=level,
    )


def _cut_rows(t: Tally, cuts: Floats) -> list[Cut]:
    """Cut a tally at several thresholds; rows between two of them are one."""
    places = np.unique(cuts)
    if not meant_by_rows(t):  # otherwise the chance of a label goes with the score
        t = rescored(t, np.searchsorted(places, t.score, side="right"))
        cuts = np.asarray(np.searchsorted(places, cuts) + 1.0, np.float64)
    sample = apply_design(t)
    return [Cut(sample, sample.observed.score >= cut) for cut in cuts]


def _cheapest(tp: Array, fp: Array, w: Floats) -> Ints:
    """Which cut has the smallest cost at each weight?"""
    # w TPR - (1 - w) FPR is linear, so that it is largest at a corner of the hull
    at = concave_corners(np.diff(tp), np.diff(fp))
    gain = tp[at] / tp[-1], fp[at] / fp[-1]
    worth = w[:, None] * gain[0] - (1 - w)[:, None] * gain[1]
    return np.asarray(at[np.argmax(worth, axis=1)], dtype=np.int64)


_REPEATED = 200  # samples in which the cheapest threshold is chosen again
_ROWS = 1000  # corners of the curve that are resampled


def _choice_of_cost(t: Tally, w: Floats, rng: Seed) -> tuple[Floats, Floats]:
    """How much cheaper does the choice look than it is, and how far does that vary?"""

    def running(count: Array) -> Floats:
        total = np.concatenate([[0], np.cumsum(count)])
        return np.asarray(total / total[-1])

    few = coarser(corners(t), _ROWS)
    tpr, fpr = running(few.pos), running(few.neg)
    lead = []
    for blocks in replicates(few, _REPEATED, rng):
        for n, p in zip(*blocks, strict=True):
            if n.any() and p.any():
                seen = running(p), running(n)
                at = _cheapest(*seen, w)
                more = w * (tpr[at] - seen[0][at]) + (1 - w) * (seen[1][at] - fpr[at])
                lead.append(more)
    return -np.mean(lead, axis=0), np.std(lead, axis=0)


@final
@dataclass(frozen=True, repr=False)
class DecisionCurve(Answer):
    """What is the net benefit of acting on the scores, at every threshold?

    Attributes
    ----------
    threshold : array (n,)
        The probability at which one would act.
    net_benefit, low, high : array (n,)
        True positives per case, minus false positives per case weighted by the odds of
        the threshold, and its interval.
    treat_all, treat_all_low, treat_all_high, treat_none : array (n,)
        Net benefit of acting always, and its interval; of acting never: zero.
    standardised, standardised_low, standardised_high : array (n,)
        Net benefit as a share of the largest possible one, the prevalence.
    """

    threshold: Floats
    net_benefit: Floats
    low: Floats
    high: Floats
    treat_all: Floats
    treat_all_low: Floats
    treat_all_high: Floats
    treat_none: Floats
    standardised: Floats
    standardised_low: Floats
    standardised_high: Floats
    prevalence: float
    level: float
    sampling: str = "cohort"


@of_tally
def decision_curve(
    data: Tally,
    *,
    threshold: ArrayLike | None = None,
    level: float = 0.95,
) -> DecisionCurve:
    r"""What is the net benefit of acting when the score reaches a probability?

    .. math:: NB(p) = \pi\,\mathrm{TPR}(p) - (1 - \pi)\,\frac{p}{1 - p}\,\mathrm{FPR}(p)

    Parameters
    ----------
    data
        Scores that are probabilities, and labels, both classes present.
    threshold
        The probabilities p at which one might act, from 0 to below 1; by default 0.01,
        0.02, ..., 0.99.

    Notes
    -----
    The net benefit is that of the scores as they are, calibrated or not: calibrate them
    first (``t.map(trueness.calibrate(t))``). Intervals combine those of the shares of
    true and false positives by Zou and Donner's method.

    References
    ----------
    Vickers, Elkin 2006, Med. Decis. Making 26:565, doi:10.1177/0272989X06295361.
    Kerr et al. 2016, J. Clin. Oncol. 34:2534, doi:10.1200/JCO.2015.65.5654.
    Zou, Donner 2008, Stat. Med. 27:1693, doi:10.1002/sim.3095.

    Examples
    --------
    >>> t = Tally([0.9, 0.7, 0.5, 0.2], pos=[2, 1, 1, 0], neg=[0, 1, 2, 3])
    >>> decision_curve(t, threshold=[0.6]).net_benefit  # 3/10 - 1/10 * 0.6/0.4
    array([0.15])
    """
    _cases.one_classifier(data, "decision_curve")
    _cases.both_classes(data, "decision_curve")
    _columns.unit_scores(data.score, "decision_curve", _CALIBRATE)
    level = _options.fraction(level, "level")
    every = np.arange(1, 100) / 100
    p = _options.grid(every if threshold is None else threshold, "threshold",
                      below_one=True)  # fmt: skip
    check_prevalence_known(data, "The net benefit")
    known, cuts, odds = data.design.prevalence, _cut_rows(data, p), p / (1 - p)
    x = cuts[0].sample
    all_flagged = Cut(x, np.ones(len(x.observed), dtype=bool))
    here = estimate_at(all_flagged, METRICS["precision"], level)
    share, ends = here.value, np.array([here.low, here.high])
    if known is not None:
        share, ends = known, np.full(2, known)
    found = [
        _benefit(cut, o, share, known is not None, level)
        for cut, o in zip(cuts, odds.tolist(), strict=True)
    ]
    benefit, low, high, whole, whole_low, whole_high = np.array(found).T
    least, most = (end - (1 - end) * odds for end in ends)
    return DecisionCurve(
        threshold=p,
        net_benefit=benefit,
        low=low,
        high=high,
        treat_all=share - (1 - share) * odds,
        treat_all_low=least,
        treat_all_high=most,
        treat_none=np.zeros(p.size),
        standardised=whole,
        standardised_low=whole_low,
        standardised_high=whole_high,
        prevalence=share,
        level=level,
        sampling=data.design.sampling,
    )


_CALIBRATE = "Turn them into probabilities first: t.map(trueness.calibrate(t))."


def _benefit(
    cut: Cut, odds: float, share: float, known: bool, level: float
) -> tuple[float, ...]:
    """Give the net benefit and its limits, then the same as a share of the largest."""
    m = net_benefit(odds)
    if known:  # the classes are separate samples
        rates = [estimate_at(cut, METRICS[k], level) for k in ("recall", "fpr")]
        plain = _joined(cut, m, (share, -(1 - share) * odds), rates)
        # of a prevalence of 1e-320 nothing is a part that a number holds
        most = float(np.finfo(float).max) / 4
        return (*plain, *(min(max(v / share, -most), most) for v in plain))
    plain = _joined(cut, m, (1.0, -odds), [estimate_at(cut, k, level)
                                           for k in (_TRUE, _FALSE)])  # fmt: skip
    part = replace(m, ratio=Ratio((1, -odds, 0, 0), (1, 0, 1, 0)))
    rates = [estimate_at(cut, METRICS["recall"], level),
             _odds(estimate_at(cut, _ALARMS, level))]  # fmt: skip
    return (*plain, *_joined(cut, part, (1.0, -odds), rates))


_CASES = (1, 1, 1, 1)
_TRUE = Metric("tp / n", ratio=Ratio((1, 0, 0, 0), _CASES))
_FALSE = Metric("fp / n", ratio=Ratio((0, 1, 0, 0), _CASES))
# false positives beside the positives: given their sum, a binomial number
_ALARMS = Metric("fp / (fp + p)", ratio=Ratio((0, 1, 0, 0), (1, 1, 1, 0)))


def _odds(e: Estimate) -> Estimate:
    """Turn a share into its odds."""
    # a limit may round to 1, whose odds no number holds
    rest = [max(1 - v, float(np.finfo(float).epsneg)) for v in (e.value, e.low, e.high)]
    value, low, high = ((1 - r) / r for r in rest)
    return replace(e, value=value, low=low, high=high, se=e.se / rest[0] ** 2)


def _joined(
    cut: Cut, m: Metric, weights: tuple[float, float], rates: list[Estimate]
) -> tuple[float, float, float]:
    """Give a weighted sum of two rates, and limits by Zou and Donner (2008)."""
    found = evaluate_measure(cut.sample, partial(metric_measure, m, cut.flags))
    a, b = (w * e.se for w, e in zip(weights, rates, strict=True))
    alike = 0.0
    if a * b:
        alike = (found.variance_estimate.variance - a * a - b * b) / (2 * abs(a * b))
        alike = min(max(alike, -1.0), 1.0)
    ends = []
    for upper in (False, True):
        # a negative weight turns an interval round
        x, y = (
            w * ((e.high if upper == (w > 0) else e.low) - e.value)
            for w, e in zip(weights, rates, strict=True)
        )
        ends.append(math.sqrt(max(x * x + y * y + 2 * alike * x * y, 0.0)))
    return found.value, found.value - ends[0], found.value + ends[1]


WEIGHT = Axis("weight", "Weight of missed positives (prevalence and costs)")
COST = Axis("cost", "Cost (share of the largest possible)", 0.0, 0.5)
ACT = Axis("p", "Threshold probability")
FLAGGED = Axis("flagged_rate", "Share of all cases flagged")
UNSEEN = 2e-4  # of the height of a figure: lines may be off by so much
Tallies = Mapping[str, Tally]


def cost_curve_figure(
    tallies: Tallies, *, level: float = 0.95, at: Floats | None = None
) -> Curves:
    """What do errors cost at best, for every weight of the two kinds?"""
    found = {name: cost_curve(t, level=level, at=at) for name, t in tallies.items()}
    lines = tuple(
        Line(name, {"weight": c.weight, "cost": c.cost, "low": c.low, "high": c.high,
                    "trivial": c.trivial, "cut": c.threshold})
        for name, c in found.items()
    )  # fmt: skip
    trivial = guide(WEIGHT, COST, [0, 0.5, 1], [0, 0.5, 0])
    return Curves("Cost curve", WEIGHT, COST, lines, lines, (trivial,))


def price_figure(tallies: Tallies, fp: float, fn: float) -> Curves:
    """What do the errors cost per case, against how many cases are flagged?"""
    lines = []
    for name, t in tallies.items():
        c, n = sweep(t), t.n_pos + t.n_neg
        flagged = np.asarray((c.tp + c.fp) / n)
        cost = np.asarray((fp * c.fp + fn * c.fn) / n)
        top = float(cost.max()) or 1.0
        some = few_points(flagged, cost / top, POINTS, UNSEEN)
        columns = {"flagged_rate": flagged[some], "cost": cost[some]}
        lines.append(Line(name, {**columns, "cut": thresholds(t)[some]}))
    top = max(float(line["cost"].max()) for line in lines) * 1.05 or 1.0
    return Curves("Cost", FLAGGED, Axis("cost", "Cost per case", 0, top), tuple(lines))


def decision_figure(
    tallies: Tallies,
    *,
    level: float = 0.95,
    standardised: bool = False,
    at: Mapping[str, Floats] | None = None,
) -> Curves:
    """What is it worth to act on the scores, always, or never?"""
    found = {
        name: decision_curve(t, threshold=None if at is None else at[name], level=level)
        for name, t in tallies.items()
    }
    lines = tuple(Line(n, _columns_of(d, standardised)) for n, d in found.items())
    always = {
        d.prevalence: (d.threshold, d.treat_all / (d.prevalence if standardised else 1))
        for d in found.values()
    }
    ceiling = max(
        *(float(line["high"].max()) for line in lines),
        *(float(v.max()) for _, v in always.values()),
    )
    what = "Standardised net benefit" if standardised else "Net benefit"
    # far below zero nothing is to be learned: acting never is better
    y = Axis("y", what, -ceiling / 4, 1.05 * ceiling)
    p = next(iter(found.values())).threshold
    others = [guide(ACT, y, at_p, v, "act always") for at_p, v in always.values()]
    others.append(guide(ACT, y, p, 0 * p, "act never"))
    return Curves(what, ACT, y, lines, lines, tuple(others))


def _columns_of(d: DecisionCurve, standardised: bool) -> dict[str, Array]:
    keys = ("standardised", "standardised_low", "standardised_high")
    keys = keys if standardised else ("net_benefit", "low", "high")
    y, low, high = (getattr(d, k) for k in keys)
    return {"p": d.threshold, "y": y, "low": low, "high": high, "cut": d.threshold}


# a point of a plane, as true and false positives of so many of each class
PLANES: dict[str, Callable[[Array, Array, float, float], tuple[Array, Array]]] = {
    "roc": lambda x, y, pos, neg: (y * pos, x * neg),
    "precision_recall": lambda x, y, pos, _: (
        x * pos,
        x * pos * (1 - y) / np.maximum(y, 1e-9),
    ),
    "gain": lambda x, y, pos, neg: (y * pos, x * (pos + neg) - y * pos),
}
# points of a plane at which constraints are asked: finer than a pixel
ACROSS, UP = 241, 961
Strip = tuple[Floats, Floats, Floats]  # where, from, to


def region(
    constraints: Sequence[Constraint],
    plane: str,
    n_pos: float,
    n_neg: float,
    *,
    met: bool = True,
) -> list[Strip]:
    """Where in a plane are all constraints met, or not all of them, as strips?"""
    x, y = np.linspace(0, 1, ACROSS)[:, None], np.linspace(0, 1, UP)[None, :]
    tp, fp = np.broadcast_arrays(*PLANES[plane](x, y, n_pos, n_neg))
    c = Confusion(tp, fp, n_pos - tp, n_neg - fp)
    held = np.ones((ACROSS, UP), dtype=bool)
    for constraint in constraints:
        held &= np.asarray(constraint(c), dtype=bool)
    # points that no cut of so many cases can reach belong to neither region
    possible = (fp >= 0) & (fp <= n_neg * (1 + 1e-12))
    marked = (held if met else ~held) & possible
    # marked stretches of neighbouring columns are joined, as long as they are alike
    done: list[list[tuple[float, ...]]] = []
    growing: list[list[tuple[float, ...]]] = []
    for k, column in enumerate(marked):
        change = np.diff(np.concatenate([[0], column.astype(np.int8), [0]]))
        ends = np.flatnonzero(change).reshape(-1, 2) - [0, 1]
        if len(ends) != len(growing):
            done += growing
            growing = [[] for _ in ends]
        for strip, (low, high) in zip(growing, ends / (UP - 1), strict=True):
            strip.append((k / (ACROSS - 1), float(low), float(high)))
    columns = (np.array(strip).T for strip in done + growing)
    return [(where, low, high) for where, low, high in columns]
