"""Where does the true curve lie? Pointwise, or as a whole.

Curves are redrawn in the way that the cases came: cases, weights or whole clusters, and
where labels are missing at random, without one too.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, field
from statistics import NormalDist
from typing import final

import numpy as np
from scipy.special import expit, log_expit, logit, ndtr, xlogy

from trueness._core.arrays import Array, Floats
from trueness._core.binomial import divergence
from trueness._core.checks import cases as _cases
from trueness._core.checks import options as _options
from trueness._core.records import TwoAxes
from trueness._core.solvers import bisect
from trueness.counts.answers import of_tally, refuse, words_of
from trueness.counts.design import AT_RANDOM
from trueness.counts.placements import coarser, corners
from trueness.counts.resampling import Seed
from trueness.counts.resampling import replicates as redraws
from trueness.counts.values import Tally, tally_of_rows
from trueness.inference.estimates import (
    estimate_from_variance,
    evaluate_measure,
    interval_notes,
)
from trueness.inference.intervals import student_quantile
from trueness.inference.sample import (
    MeasuredValue,
    Sample,
    apply_design,
    check_prevalence_known,
)
from trueness.inference.variance import Influence
from trueness.inference.verification import impute_labels, unlabelled_notes
from trueness.ranking.areas import SINGLE_CASES, auc_measure
from trueness.ranking.curves import precision_at


@final
@dataclass(frozen=True, repr=False)
class Band(TwoAxes):
    """Where does the true curve lie?

    Attributes
    ----------
    axes : tuple of str
        Which two rates it has, as attributes: a grid of ``fpr`` with ``tpr``, or of
        ``recall`` with ``precision``, of the sample.
    low, high : array
        The lower and upper end of the band.
    kind : {"simultaneous", "pointwise"}
        Does it hold for the whole curve, or for each point alone?
    prevalence : float
        Share of positives for which a precision holds.
    """

    low: Floats
    high: Floats
    level: float
    kind: str
    method: str
    prevalence: float = math.nan
    notes: tuple[str, ...] = field(default=(), kw_only=True)


@of_tally
def roc_band(
    data: Tally,
    *,
    band: str = "simultaneous",
    level: float = 0.95,
    points: int = 101,
    rng: Seed = 0,
    replicates: int = 1000,
) -> Band:
    r"""Where does the true ROC curve lie?

    .. math:: \widehat{\mathrm{tpr}}(f) \pm c\,\hat\sigma(f), \qquad
              P\Big(\max_f |\mathrm{tpr}^*(f) - \widehat{\mathrm{tpr}}(f)|
              / \hat\sigma(f) \le c\Big) = \text{level}

    Campbell (1994), Stat. Med. 13:499; Agresti, Coull (1998); of weights Rubin (1981).

    Parameters
    ----------
    band
        ``"simultaneous"``: the whole curve lies inside with this confidence.
        ``"pointwise"``: each single point does.
    points
        How many false positive rates the grid has, from 0 to 1.

    Examples
    --------
    >>> band = roc_band(Tally([2, 1], pos=[8, 2], neg=[2, 8]), points=3, rng=1)
    >>> bool((band.low <= band.tpr).all() and (band.tpr <= band.high).all())
    True
    """
    _cases.both_classes(data, "roc_band")
    data, level = _checked(data, band, level)
    notes = (*unlabelled_notes(data), *interval_notes(data))
    grid = np.linspace(0, 1, _options.whole_number(points, "points", at_least=3))
    cases = _Redrawn(data, False, replicates, rng)
    value = roc_height(cases.counts.neg, cases.counts.pos, grid)
    drawn = np.array([roc_height(neg, pos, grid) for neg, pos in cases.draws()])
    worth_pos, worth_neg, wider = _worth(cases.sample, level)
    least = rate_variance(value, cases.alike(grid, worth_pos))
    error = np.sqrt(np.maximum(drawn.var(axis=0), least))
    c = critical(np.abs(drawn - value) / error, level, band) * wider
    # two negatives to both sides, rising with fpr, and ending at 0 and 1
    half, side = c * error, 2 / worth_neg
    low = np.maximum.accumulate(np.clip(value - half, 0, 1))
    high = np.minimum.accumulate(np.clip(value + half, 0, 1)[::-1])[::-1]
    low = np.where(grid >= side, np.interp(grid - side, grid, low), 0.0)
    high = np.interp(grid + side, grid, high)
    made = low, high, level, band, "bootstrap"
    return Band(("fpr", "tpr"), grid, value, *made, notes=notes)


@of_tally
def precision_recall_band(
    data: Tally,
    *,
    band: str = "simultaneous",
    method: str | None = None,
    level: float = 0.95,
    points: int = 101,
    rng: Seed = 0,
    replicates: int = 1000,
) -> Band:
    """Where does the true precision-recall curve lie?

    With ``prevalence=`` precision (PPV) is that of another share of positives, taken as
    known; otherwise the share of positives is uncertain too.

    Parameters
    ----------
    method
        ``"likelihood"``: precisions at which the counts are likely (the default;
        Claeskens et al. 2003, doi:10.2307/3316066; Naiman 1986). ``"bootstrap"``:
        wider; the default for weights, clusters and labels missing at random.
    band, level, points, rng, replicates
        As in :func:`roc_band`. Only the bootstrap draws.

    Examples
    --------
    >>> t = Tally([2, 1], pos=[8, 2], neg=[2, 8])
    >>> band = precision_recall_band(t, points=3, rng=1)
    >>> band.precision.round(3).tolist()  # at recall 1/3, 2/3, 1
    [0.8, 0.8, 0.5]
    """
    _cases.both_classes(data, "precision_recall_band")
    check_prevalence_known(data, "precision_recall_band")
    data, level = _checked(data, band, level)
    if method is None:
        method = "bootstrap" if {*words_of(data)} & {*SINGLE_CASES} else "likelihood"
    _options.choice(method, ("likelihood", "bootstrap"), "method")
    if method == "likelihood":
        refuse(data, f"method={method!r}", SINGLE_CASES)
    notes = (*unlabelled_notes(data), *interval_notes(data))
    points = _options.whole_number(points, "points", at_least=3)
    recall = np.linspace(0, 1, points + 1)[1:]
    random = not data.design.fixed_classes
    cases = _Redrawn(data, random, replicates, rng)
    neg, pos = cases.counts.neg, cases.counts.pos
    share = data.design.prevalence
    if share is None:
        share = pos.sum().item() / (pos.sum() + neg.sum()).item()
    fpr = _alarm_rate(neg, pos, recall)
    value = precision_at(fpr, recall, share)
    if method == "likelihood":
        t = cases.sample.observed
        few, many = _likely_alarms(t, recall, random, level, band)
        odds = (1 - share) / share * t.n_pos / t.n_neg
        alarms = odds * many, odds * few
    else:
        alarms = _likely_draws(cases, fpr, recall, level, band)
    low, high = (recall / (recall + a) for a in alarms)
    low, high = np.minimum(low, value), np.maximum(high, value)
    made = low, high, level, band, method, share
    return Band(("recall", "precision"), recall, value, *made, notes=notes)


def _checked(t: Tally, kind: str, level: float) -> tuple[Tally, float]:
    """Check what was asked; clusters of one case are none."""
    _options.choice(kind, ("simultaneous", "pointwise"), "band")
    if t.clusters is not None and t.grouped is None:
        t = t.without_clusters()
    return t, _options.fraction(level, "level")


def _likely_alarms(
    t: Tally, recall: Floats, cohort: bool, level: float, kind: str
) -> tuple[Floats, Floats]:
    """How many false alarms for each positive, fewest and most, are likely here?"""
    # the empirical likelihood ratio of Claeskens et al. (2003), least over thresholds:
    # P K(TP/P, r) + n K(FP/n, q), with n = N and q = a P / N when both classes have
    # fixed sizes; in a cohort FP is binomial given FP + P, with q = a / (1 + a)
    tp, fp = (np.append(0.0, np.cumsum(c)) for c in (t.pos, t.neg))
    # straight lines of tied cases are points of the curve too
    steps = np.linspace(0, 1, 100 + 4 * math.isqrt(int(t.n_pos)))
    between = np.setdiff1d(np.concatenate([steps, recall]) * t.n_pos, tp)
    found, alarms = np.append(tp, between), np.append(fp, np.interp(between, tp, fp))
    n_pos, n_neg = float(t.n_pos), float(t.n_neg)
    room = _distance(n_pos, recall.size, level, kind) ** 2 / 2
    left = room - n_pos * divergence((found / n_pos)[:, None], recall)
    row, column = np.nonzero(left >= 0)
    cases = alarms[row] + n_pos if cohort else np.full(row.size, n_neg)
    share, left = alarms[row] / cases, left[row, column] / cases
    ends = [np.ones(recall.size), np.zeros(recall.size)]
    np.minimum.at(ends[0], column, _end(share, left, -1))
    np.maximum.at(ends[1], column, _end(share, left, 1))
    if cohort:
        # a limit may round to 1, whose odds no number holds
        few, many = (q / np.maximum(1 - q, np.finfo(float).epsneg) for q in ends)
    else:
        few, many = (q * (n_neg / n_pos) for q in ends)
    # the true number rises with recall, so that what holds at one holds beside it
    most = np.minimum.accumulate(many[::-1])[::-1]
    return np.maximum.accumulate(few), most


def _end(share: Floats, left: Floats, side: int) -> Floats:
    """Solve K(share, q) = left for the q above (side 1) or below (side -1)."""
    # in log odds u of q K is convex: from outside Newton's steps come closer and do not
    # pass the root; logarithms are taken of u, since q itself may round to 0 or 1
    seen = (left > 1e-12) & (share < 1 if side > 0 else share > 0)
    p, room = share[seen], left[seen]
    lost = xlogy(p, p) + xlogy(1 - p, 1 - p) - room
    wide = np.sqrt(2 * room * np.maximum(p * (1 - p), room)) + 2 * room
    u = logit(np.clip(p + side * wide, 1e-15, 1 - 1e-15))
    for _ in range(30):
        over = lost - p * log_expit(u) - (1 - p) * log_expit(-u)
        u = u - over / (expit(u) - p)
    out = share.copy()
    out[seen] = expit(u)
    return out


def _distance(n_pos: float, places: int, level: float, kind: str) -> float:
    """How far, in standard errors, are curves still likely? (Naiman 1986)"""
    if kind == "pointwise":
        return NormalDist().inv_cdf((1 + level) / 2)
    number = max(2, round(min(places, n_pos)))
    # the angle between neighbours is the arc cosine of their correlation, which of
    # shares of the same positives is sqrt(r(1-r') / [r'(1-r)]) for r < r'
    odds = np.arange(1, number) / np.arange(number - 1, 0, -1)
    kappa = float(np.arccos(np.sqrt(odds[:-1] / odds[1:])).sum())

    def too_near(c: float) -> bool:
        beyond = 2 * ndtr(-c) + kappa / math.pi * math.exp(-c * c / 2)
        return bool(beyond > 1 - level)

    return float(bisect(too_near, 0.0, 40.0))


def _likely_draws(
    cases: _Redrawn, fpr: Floats, recall: Floats, level: float, kind: str
) -> tuple[Floats, Floats]:
    """Between which numbers of false alarms per positive, most first, is the truth?"""
    # the odds of precision are r P / F, so the band is one of log((F + 1/2) / P), which
    # rises with r; its variance is at least that of two independent counts
    n_neg, n_pos = cases.counts.n_neg, cases.counts.n_pos
    worth_pos, worth_neg, wider = _worth(cases.sample, level)
    # weights are counted in units of an equal negative, of which half a one is added
    unit = n_neg / worth_neg
    centre = np.log(n_neg * fpr / unit + 0.5) - math.log(n_pos / unit)

    def alarms(neg: Array, pos: Array) -> Floats:
        number = neg.sum() / unit * _alarm_rate(neg, pos, recall)
        return np.asarray(np.log(number + 0.5) - math.log(pos.sum() / unit))

    drawn = np.array([alarms(neg, pos) for neg, pos in cases.draws()])
    least = 1 / (worth_neg * fpr + 1) + (1 / (worth_pos + 1) if cases.random else 0.0)
    error = np.sqrt(np.maximum(drawn.var(axis=0), least))
    half = critical(np.abs(drawn - centre) / error, level, kind) * error * wider
    low = np.maximum.accumulate(centre - half)
    high = np.minimum.accumulate((centre + half)[::-1])[::-1]
    # a sample does not resolve a recall below a positive or two; at the end all
    # negatives are false alarms
    side = 2 / worth_pos
    low = np.where(recall >= side, np.interp(recall - side, recall, low), -np.inf)
    high = np.where(recall + side < 1, np.interp(recall + side, recall, high), np.inf)
    share = n_pos / (n_pos + n_neg)
    if cases.random:  # as small as it may be
        m = evaluate_measure(cases.sample, _share_of_positives)
        share = estimate_from_variance(
            m.value, m.variance_estimate, m.ends, (1 + level) / 2
        ).low
    all_of_them = (1 - share) / share
    added = 0.5 * unit / n_pos
    most = np.minimum(np.exp(high) - added, all_of_them)
    return most, np.maximum(np.exp(low) - added, 0.0)


def _share_of_positives(t: Tally) -> MeasuredValue:
    n, one = t.n_pos + t.n_neg, np.ones(len(t))
    share = t.n_pos / n
    return MeasuredValue(share, Influence(-share / n * one, (1 - share) / n * one))


# rows beyond this are joined to neighbours before resampling: a change below 1/1000
_ROWS = 1000


class _Redrawn:
    """Counts in few rows, and others that could have been drawn.

    ``random`` says whether the share of positives varies; ``counts`` are at the
    prevalence that is meant.
    """

    def __init__(self, t: Tally, random: bool, replicates: int, rng: Seed) -> None:
        number = _options.whole_number(replicates, "replicates", at_least=100)
        self.random, d = random, t.design
        at_random = d.unlabelled == AT_RANDOM and t.n_unknown > 0
        few = coarser(t if at_random else corners(t), _ROWS).without_design()
        self.sample = apply_design(few.with_design(unlabelled=d.unlabelled))
        scaled = few.with_design(unlabelled=d.unlabelled, prevalence=d.prevalence)
        self.counts = apply_design(scaled).target_counts
        at_random = self.sample.imputation is not None
        # cases without a label may be of either class: all are drawn together
        ask = {"stratified": not (random or at_random), "unknown": at_random}
        self._blocks = redraws(self.sample.observed, number, rng, **ask)

    def draws(self) -> Iterator[tuple[Floats, Floats]]:
        """Redraw the negatives and positives of each row, one sample after another."""
        at_random = self.sample.imputation is not None
        for block in self._blocks:
            for columns in zip(*block, strict=True):
                neg, pos = self._completed(columns) if at_random else columns
                n_neg, n_pos = float(neg.sum()), float(pos.sum())
                if not (n_neg and n_pos):
                    continue
                if not self.random:  # what is given does not vary
                    neg = neg * (self.counts.n_neg / n_neg)
                    pos = pos * (self.counts.n_pos / n_pos)
                yield neg, pos

    def alike(self, fpr: Floats, number: float) -> float | Floats:
        """Count positives like those at the cut: few with a label stand for many."""
        if self.sample.imputation is None:
            return number
        x, at = self.sample.imputation.expected, self.sample.imputation.bins
        t = self.sample.observed
        cases = (x.neg + x.pos, t.neg + t.pos)
        expected, known = (np.bincount(at, c) for c in cases)
        rate = running_shares(self.counts.neg)[1:]
        each = np.interp(fpr, rate, (expected / known)[at])
        return np.minimum(number, x.n_pos / each)

    def _completed(self, columns: tuple[Array, ...]) -> tuple[Floats, Floats]:
        """Give each drawn case without a label its chance of being positive."""
        t = self.sample.observed
        made = np.zeros((2, len(t)))
        if columns[0].any() and columns[1].any():
            at = np.flatnonzero(np.add.reduce(columns))
            some = [c[at] for c in columns]
            drawn = tally_of_rows(t.score[at], *[*some, *some][: len(t.counts)])
            x = impute_labels(drawn).expected
            made[:, at] = x.neg, x.pos
        return made[0], made[1]


def _worth(x: Sample[Tally], level: float) -> tuple[float, float, float]:
    """As how many equal cases do positives and negatives count, and how unsure is that?

    Kish's numbers over the design effect; by how much few cases make limits wider.
    """
    s = evaluate_measure(x, auc_measure).variance_estimate
    wider = student_quantile(s.degrees_of_freedom, level) / NormalDist().inv_cdf(
        (1 + level) / 2
    )
    if x.imputation is None:
        alone = apply_design(x.observed.without_clusters())
        neg, pos = x.observed.equal_cases
    else:
        alone = apply_design(x.target_counts)
        pos, neg = x.target_counts.n_pos, x.target_counts.n_neg
    if not s.variance > 0:  # nothing varied: what was drawn may be all alike
        return min(pos, s.units), min(neg, s.units), wider
    effect = max(
        s.variance / evaluate_measure(alone, auc_measure).variance_estimate.variance,
        1.0,
    )
    return max(pos / effect, 1.0), max(neg / effect, 1.0), wider


def running_shares(count: Array) -> Floats:
    """Which share of the cases is in the first 0, 1, 2, ... rows?"""
    total = np.append(0, np.cumsum(count))
    return np.asarray(total / total[-1])


def height(x: Floats, y: Floats, at: Floats) -> Floats:
    """Read a rising curve of corners (x, y); at a jump the upper value."""
    # interp takes the last of equal corners just to the right of them
    return np.asarray(np.interp(np.minimum(at + 1e-12, 1.0), x, y))


def roc_height(neg: Array, pos: Array, fpr: Floats) -> Floats:
    """Which true positive rate do these counts reach at each false positive rate?"""
    return height(running_shares(neg), running_shares(pos), fpr)


def _alarm_rate(neg: Array, pos: Array, recall: Floats) -> Floats:
    """Which false positive rate does each recall cost? Read from the lowest score."""
    return 1 - roc_height(pos[::-1], neg[::-1], 1 - recall)


def rate_variance(rate: Floats, n: float | Floats) -> Floats:
    """How uncertain is a rate, also at 0 and 1? Two successes and failures added."""
    middle = (n * rate + 2) / (n + 4)
    return np.asarray(middle * (1 - middle) / (n + 4))


def critical(scaled: Floats, level: float, kind: str) -> float:
    """How many errors wide must the band be?"""
    alone = NormalDist().inv_cdf((1 + level) / 2)
    if kind == "pointwise":
        return alone
    # where no error was seen no redrawn curve varies: a band by their quantile alone
    # would have no height
    return max(alone, float(np.quantile(scaled.max(axis=1), level)))
