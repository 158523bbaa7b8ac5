"""What do errors cost, and what is it worth to act on the scores?

``cost_curve`` shows the smallest cost for every price of the two kinds of error,
``decision_curve`` the net benefit of acting on scores that are probabilities.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple, final

import numpy as np
from numpy.typing import ArrayLike

from trueness._core.arrays import Array, Floats, Ints
from trueness._core.binomial import wilson
from trueness._core.checks import cases as _cases
from trueness._core.checks import columns as _columns
from trueness._core.checks import options as _options
from trueness._core.isotonic import concave_corners
from trueness._core.records import Answer
from trueness.counts.answers import of_tally
from trueness.counts.resampling import Seed, replicates
from trueness.counts.values import Tally
from trueness.counts.weights import equal_cases, heaviest, sizes, student_factor
from trueness.metrics.confusion import sweep
from trueness.ranking.bands import few_rows, running_shares
from trueness.threshold.cuts import thresholds_of


@final
@dataclass(frozen=True, repr=False)
class CostCurve(Answer):
    """How low can the cost of errors be, for every weight of the two kinds?

    Attributes
    ----------
    weight : array (n,)
        The share of the largest possible cost that is due to missed positives:
        prevalence * cost of a miss, over that plus (1 - prevalence) * cost of a false
        alarm. Holte's probability cost function PC(+).
    cost, low, high : array (n,)
        The smallest cost, as a share of the largest possible one, and its interval.
    trivial : array (n,)
        The cost of the better of "flag all" and "flag none".
    threshold : array (n,)
        The threshold with the smallest cost at each weight.
    recall, fpr : array (n,)
        Recall (sensitivity) and false positive rate at that threshold.
    level : float
        Confidence level of the intervals.
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


@of_tally(weights=True)
def cost_curve(
    t: Tally,
    *,
    weight: ArrayLike | None = None,
    level: float = 0.95,
    rng: Seed = 0,
) -> CostCurve:
    r"""How low can the cost of errors be, whatever the prevalence and costs are?

    .. math:: C(w) = \min_\tau\; w\,\mathrm{FNR}(\tau) + (1 - w)\,\mathrm{FPR}(\tau),
        \qquad w = \frac{\pi c_{fn}}{\pi c_{fn} + (1 - \pi) c_{fp}}

    Every combination of prevalence and costs is one value of w, so the curve can be
    read at the weight that applies in use, which may differ from that of the sample.

    Parameters
    ----------
    t
        Scores and labels of one classifier, both classes present.
    weight
        Where to evaluate, between 0 and 1; by default 0, 0.01, ..., 1. (Weights of
        cases are given to :func:`tally`, or by ``sample_weight=``.)
    level
        Confidence level of the intervals.
    rng
        Seed or generator of the samples in which the choice is repeated.

    Notes
    -----
    The interval is for the cost of the chosen threshold in the population. Wilson
    intervals of both rates are combined by Zou and Donner's method, moved by the
    optimism of the choice and widened where the choice varies: the threshold is chosen
    again in 200 bootstrap samples and its cost there is compared with that among all
    cases (Efron 1983), as in :func:`validate_threshold`. Of several thresholds with
    equal cost the one that flags the fewest cases is given. The time is O(m) for m
    distinct scores.

    References
    ----------
    Drummond, Holte 2006, Mach. Learn. 65:95, doi:10.1007/s10994-006-8199-5.
    Efron 1983, J. Am. Stat. Assoc. 78:316, doi:10.2307/2288636.
    Zou, Donner 2008, Stat. Med. 27:1693, doi:10.1002/sim.3095.

    Examples
    --------
    >>> t = Tally([0.9, 0.7, 0.5, 0.2], pos=[2, 1, 1, 0], neg=[0, 1, 2, 3])
    >>> cost_curve(t, weight=[0.5]).cost  # 0.5 * 1/4 + 0.5 * 1/6 at 0.7
    array([0.20833333])
    """
    _cases.one_classifier(t, "cost_curve")
    _cases.both_classes(t, "cost_curve")
    level = _options.fraction(level, "level")
    every = np.arange(101) / 100
    place = "weight (a place on the curve; weights of cases are sample_weight=)"
    w = _options.grid(every if weight is None else weight, place)
    c, score = sweep(t), t.labelled().score
    at = _cheapest(c.tp, c.fp, w)
    tp, fp = c.tp[at], c.fp[at]
    miss, alarm = 1 - tp / t.n_pos, fp / t.n_neg
    cost = w * miss + (1 - w) * alarm
    sure = Certainty(t, score[np.maximum(at, 1) - 1], at > 0, level)
    rates = sure.rate("fn", "pos"), sure.rate("fp", "neg")
    below, above = _spread((w, 1 - w), rates, np.zeros(w.size))
    gain, times = _choice_of_cost(t, w, rng)
    return CostCurve(
        weight=w,
        cost=cost,
        low=np.clip(cost + gain - times * below, 0, cost),
        high=np.clip(cost + gain + times * above, cost, 1),
        trivial=np.minimum(w, 1 - w),
        threshold=thresholds_of(score, at),
        recall=tp / t.n_pos,
        fpr=alarm,
        level=level,
    )


def _cheapest(tp: Array, fp: Array, w: Floats) -> Ints:
    """Which cut has the smallest cost at each weight?

    Only corners of the convex hull of the ROC curve can.
    """
    # w TPR - (1 - w) FPR is linear, so that it is largest at a corner of the hull
    at = concave_corners(np.diff(tp), np.diff(fp))
    gain = tp[at] / tp[-1], fp[at] / fp[-1]
    worth = w[:, None] * gain[0] - (1 - w)[:, None] * gain[1]
    return np.asarray(at[np.argmax(worth, axis=1)], dtype=np.int64)


def _choice_of_cost(t: Tally, w: Floats, rng: Seed) -> tuple[Floats, Floats]:
    """How much cheaper does the choice look than it is, and how much wider is a limit?

    A cost that was chosen in a sample, less its cost among all cases, is what the
    choice makes of chance: its mean is the optimism. Where it varies more than two
    binomial rates do, limits are wider by the ratio of the standard deviations.
    """
    counts = few_rows(t)
    tp, fp = (running_shares(c) for c in (counts.pos, counts.neg))
    n_pos, n_neg = (e.number for e in sizes(t))
    lead, varies = [], []
    for neg, pos in replicates(counts, _REPEATED, rng):
        for n, p in zip(neg, pos, strict=True):
            if not (n.any() and p.any()):
                continue
            seen = running_shares(p), running_shares(n)
            at = _cheapest(*seen, w)
            there, alarm = tp[at], fp[at]
            lead.append(w * (there - seen[0][at]) + (1 - w) * (seen[1][at] - alarm))
            varies.append(
                w**2 * there * (1 - there) / n_pos
                + (1 - w) ** 2 * alarm * (1 - alarm) / n_neg
            )
    chance = np.mean(varies, axis=0)
    with np.errstate(divide="ignore", invalid="ignore"):
        ratio = np.where(chance > 0, np.var(lead, axis=0) / chance, 1.0)
    return -np.mean(lead, axis=0), np.sqrt(np.maximum(ratio, 1.0))


_REPEATED = 200  # samples in which the cheapest threshold is chosen again


class WilsonShare(NamedTuple):
    """A share and the ends of Wilson's interval of it."""

    value: Array
    low: Array
    high: Array


class Certainty:
    """How sure are the shares of cells at some cuts, of cases or of weights?

    A share of weights has Wilson's interval of as many equal cases as would vary as
    much, with Student's quantile.
    """

    def __init__(self, t: Tally, cut: Floats, some: Array, level: float) -> None:
        t = t.labelled()
        at = np.where(some, t.score.size - np.searchsorted(t.score[::-1], cut), 0)
        neg2, pos2, _ = t.squares
        running = [np.append(0, np.cumsum(c)) for c in (t.pos, t.neg, pos2, neg2)]
        tp, fp, tp2, fp2 = (c[at] for c in running)
        p, n, p2, n2 = (c[-1] for c in running)
        self.t, self.level = t, level
        self.cells = {
            "tp": (tp, tp2), "fp": (fp, fp2), "fn": (p - tp, p2 - tp2),
            "pos": (p, p2), "neg": (n, n2), "all": (p + n, p2 + n2),
            "fp + pos": (fp + p, fp2 + p2),
        }  # fmt: skip

    def rate(self, part: str, whole: str) -> WilsonShare:
        """Give the share of one cell in another."""
        (y, y2), (n, n2) = self.cells[part], self.cells[whole]
        if not self.t.weighted:
            return WilsonShare(y / n, *wilson(y, n, self.level))
        share = np.clip(y / n, 0, 1)
        cases = equal_cases(share, n, y2, np.maximum(n2 - y2, 0), heaviest(self.t))
        df = min(e.df for e in sizes(self.t))
        wider = np.where((share > 0) & (share < 1), student_factor(df, self.level), 1.0)
        cases = cases / wider**2
        return WilsonShare(share, *wilson(share * cases, cases, self.level))


def _spread(
    weights: tuple[Any, Any], rates: tuple[WilsonShare, WilsonShare], correlation: Array
) -> tuple[Floats, Floats]:
    """How far do the ends of the interval of a weighted sum of two rates lie away?

    Zou and Donner (2008): the distances of the ends of both intervals add like standard
    deviations. A negative weight turns an interval round.
    """
    down, up = [], []
    for weight, (rate, low, high) in zip(weights, rates, strict=True):
        ends = weight * (rate - low), weight * (high - rate)
        turned = np.asarray(weight) < 0
        down.append(np.where(turned, -ends[1], ends[0]))
        up.append(np.where(turned, -ends[0], ends[1]))
    # distances are positive; a negative weight also turns the correlation round
    sign = np.sign(np.asarray(weights[0]) * np.asarray(weights[1]))
    return _joined(down, sign * correlation), _joined(up, sign * correlation)


def _joined(parts: list[Array], correlation: Array) -> Floats:
    a, b = parts
    # rounding can leave a tiny negative number at a correlation of -1
    return np.asarray(np.sqrt(np.maximum(a * a + b * b + 2 * correlation * a * b, 0.0)))


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
    treat_all, treat_all_low, treat_all_high : array (n,)
        Net benefit of acting always, and its interval.
    treat_none : array (n,)
        Net benefit of acting never: zero.
    standardised, standardised_low, standardised_high : array (n,)
        Net benefit as a share of the largest possible one, the prevalence.
    prevalence : float
        The share of positives in use.
    level : float
        Confidence level of the intervals.
    sampling : str
        How the cases were sampled: "cohort" or "case-control".
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


@of_tally(weights=True)
def decision_curve(
    t: Tally,
    *,
    threshold: ArrayLike | None = None,
    prevalence: float | None = None,
    level: float = 0.95,
    sampling: str = "cohort",
) -> DecisionCurve:
    r"""What is the net benefit of acting when the score reaches a probability?

    .. math:: NB(p) = \pi\,\mathrm{TPR}(p) - (1 - \pi)\,\frac{p}{1 - p}\,\mathrm{FPR}(p)

    Parameters
    ----------
    t
        Scores that are probabilities, and labels, both classes present.
    threshold
        The probabilities p at which one might act, from 0 to below 1; by default 0.01,
        0.02, ..., 0.99.
    prevalence
        The share of positives in use, taken as known; by default that of the tally.
    level
        Confidence level of the intervals.
    sampling
        ``"cohort"``: the cases were taken as they came, so that the number of positives
        is random. ``"case-control"``: the number of cases of each class was fixed by
        design; ``prevalence`` is then needed.

    Notes
    -----
    The net benefit is that of the scores as they are, calibrated or not: calibrate them
    first (``t.map(trueness.calibrate(t))``). Intervals combine Wilson intervals of the
    shares of true and false positives by Zou and Donner's method: with the prevalence
    of the tally the shares are those of one multinomial sample, so that the prevalence
    is uncertain too; with a given prevalence the classes are separate samples.

    The standardised net benefit of a cohort is :math:`\mathrm{TPR} - o\,FP/P` with the
    odds o. Given P, the two terms are independent. The first is binomial; the second is
    o times the odds of the share :math:`FP / (FP + P)`, which is binomial given the
    sum. Their Wilson intervals are combined by the same method (coverage:
    ``benchmarks/study_net_benefit.py``).

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
    _cases.one_classifier(t, "decision_curve")
    _cases.both_classes(t, "decision_curve")
    _columns.unit_scores(t.score, "decision_curve", _CALIBRATE)
    level = _options.fraction(level, "level")
    every = np.arange(1, 100) / 100
    p = _options.grid(every if threshold is None else threshold, "threshold",
                      below_one=True)  # fmt: skip
    _options.sampling(sampling, prevalence, "The net benefit")
    share = t.prevalence
    if prevalence is not None:
        share = _options.fraction(prevalence, "prevalence")
    sure = Certainty(t, p, np.ones(p.size, dtype=bool), level)
    (tp, _), (fp, _) = sure.cells["tp"], sure.cells["fp"]
    odds = p / (1 - p)
    benefit = share * tp / t.n_pos - (1 - share) * odds * fp / t.n_neg
    if prevalence is None:
        below, above = _spread_all(sure, odds)
        part = _standardised_spread(sure, odds)
        _, *ends = sure.rate("pos", "all")
    else:
        below, above = _class_spread(sure, share, odds)
        part = _over(below, share), _over(above, share)
        ends = [np.array(share)] * 2
    whole = _over(benefit, share)
    return DecisionCurve(
        threshold=p,
        net_benefit=benefit,
        low=benefit - below,
        high=benefit + above,
        treat_all=share - (1 - share) * odds,
        treat_all_low=ends[0] - (1 - ends[0]) * odds,
        treat_all_high=ends[1] - (1 - ends[1]) * odds,
        treat_none=np.zeros(p.size),
        standardised=whole,
        standardised_low=whole - part[0],
        standardised_high=whole + part[1],
        prevalence=share,
        level=level,
        sampling=sampling,
    )


def _over(part: Any, share: float) -> Floats:
    # of a prevalence of 1e-320 nothing is a part that a number holds
    largest = np.finfo(float).max
    with np.errstate(over="ignore"):
        return np.clip(np.asarray(part) / share, -largest / 4, largest / 4)


_CALIBRATE = "Turn them into probabilities first: t.map(trueness.calibrate(t))."


def _class_spread(sure: Certainty, share: float, odds: Floats) -> tuple[Floats, Floats]:
    """The classes are separate samples: independent rates."""
    weights = share, -(1 - share) * odds
    rates = sure.rate("tp", "pos"), sure.rate("fp", "neg")
    return _spread(weights, rates, np.zeros(odds.size))


def _standardised_spread(sure: Certainty, odds: Floats) -> tuple[Floats, Floats]:
    """One sample of all cases, as a share of its positives: TPR - odds * FP / P."""
    found, low, high = sure.rate("tp", "pos")
    # given FP + P, FP is binomial with the share whose odds are FP / P
    # (a limit may round to 1, whose odds no number holds)
    end = np.finfo(float).epsneg
    rates = sure.rate("fp", "fp + pos")
    alarms, few, many = (q / np.maximum(1 - q, end) for q in rates)
    below = _joined([found - low, odds * (many - alarms)], np.zeros(odds.size))
    above = _joined([high - found, odds * (alarms - few)], np.zeros(odds.size))
    return below, above


def _spread_all(sure: Certainty, odds: Floats) -> tuple[Floats, Floats]:
    """One sample of all cases: shares of true and false positives exclude each other.

    Their correlation is that of two cells of a multinomial.
    """
    rates = sure.rate("tp", "all"), sure.rate("fp", "all")
    a, b = (r.value for r in rates)
    with np.errstate(divide="ignore", invalid="ignore"):
        correlation = -np.sqrt(a * b / ((1 - a) * (1 - b)))
    correlation = np.nan_to_num(correlation, nan=0.0)
    return _spread((1.0, -odds), rates, correlation)
