"""How far can a chosen threshold be trusted?

A threshold that was chosen because it looked best on some cases looks worse on others.
``validate_threshold`` chooses again and again on resampled cases, and evaluates each
choice on the cases that were left out.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, NamedTuple, final

import numpy as np

from trueness._core.arrays import Array, Floats, Ints
from trueness._core.binomial import wilson
from trueness._core.checks import cases as _cases
from trueness._core.checks import options as _options
from trueness._core.checks.errors import NotEnoughCases
from trueness._core.progress import steps
from trueness._core.records import Answer, Estimate
from trueness.counts.answers import of_tally
from trueness.counts.resampling import Seed, multiplicities
from trueness.counts.values import Tally
from trueness.metrics.algebra import Constraint, Metric
from trueness.metrics.confusion import Confusion
from trueness.metrics.definitions import METRICS
from trueness.metrics.grammar import constraints as read_constraints
from trueness.threshold.cuts import (
    Cuts,
    best_cuts,
    make_cuts,
    most_balanced,
    threshold_of,
)
from trueness.threshold.operating_point import (
    Bound,
    OperatingPoint,
    best_threshold,
    pose,
    read_objective,
)


@final
@dataclass(frozen=True, repr=False)
class Validation(Answer):
    """What remains of a chosen threshold on other cases?

    Attributes
    ----------
    point : OperatingPoint
        The choice made from all cases.
    threshold : Estimate
        The chosen threshold and the interval in which repeated choices lie.
    thresholds : array
        The repeated choices.
    value : float
        The objective in the sample, where the threshold was chosen.
    corrected : float
        What to expect of the choice on other cases.
    optimism : float
        ``value - corrected``: by how much the sample flatters (negative when an
        objective is minimised).
    in_bag, out_of_bag : array
        The objective of each repeated choice on its own cases, and on those left out.
    metrics : dict of str to Estimate
        Each metric that is defined at the chosen threshold, taken as fixed, with its
        interval.
    holds : dict of str to float
        How often each constraint, met where the choice was made, held on the cases left
        out.
    failed : float
        The share of resamples in which no threshold met the constraints, or the
        objective was undefined.
    """

    point: OperatingPoint
    threshold: Estimate
    thresholds: Floats
    value: float
    corrected: float
    optimism: float
    in_bag: Floats
    out_of_bag: Floats
    metrics: dict[str, Estimate]
    holds: dict[str, float]
    failed: float


@of_tally
def validate_threshold(
    t: Tally,
    maximize: str | Metric = "accuracy",
    subject_to: Bound | Iterable[Bound] = (),
    prevalence: float | None = None,
    *,
    minimize: str | Metric | None = None,
    replicates: int = 2000,
    level: float = 0.95,
    rng: Seed = 0,
) -> Validation:
    r"""How much of what a chosen threshold promises remains on other cases?

    The choice of :func:`best_threshold` is repeated on bootstrap samples, each time
    evaluated on the cases the sample left out, whose counts are added up:

    .. math:: \text{corrected} = f\Big(\sum_b TP_b, \sum_b FP_b, \sum_b FN_b,
        \sum_b TN_b\Big) \quad\text{out of bag}

    Parameters
    ----------
    t
        Scores and labels of one classifier, both classes present.
    maximize, minimize, subject_to, prevalence
        As in :func:`best_threshold`.
    replicates
        How many bootstrap samples.
    level
        Confidence level of the intervals.
    rng
        Seed or generator.

    Notes
    -----
    Every case enters a sample a Poisson(1) number of times, independently; those with
    zero are left out. On counts this is drawn for whole cells at once. Metrics that
    count cases (``flagged``, ``cost``) are scaled to as many cases as the tally has.
    Counts are added before the metric is taken because the mean of a ratio over few
    cases is biased. A sample holds 63 % of the cases, so the correction is a little
    too cautious; Efron's .632 mixture still flatters, by about twice as much (measured
    in ``benchmarks/study_optimism.py``).

    Intervals at the chosen threshold: Wilson for shares of counted cases; otherwise
    quantiles over Jeffreys posteriors of recall and false positive rate (and of the
    prevalence, unless it is given). O(m) or O(n), whichever is less, a sample.

    References
    ----------
    Efron, Tibshirani 1997, J. Am. Stat. Assoc. 92:548, doi:10.2307/2965703.
    Chamandy et al. 2012, Estimating uncertainty for massive data streams, Google.

    Examples
    --------
    >>> t = Tally([4, 3, 2, 1], pos=[40, 30, 20, 10], neg=[10, 20, 30, 40])
    >>> v = validate_threshold(t, rng=1)
    >>> v.value, v.metrics["recall"]
    (0.7, 0.700 (95 % CI 0.604 to 0.781, wilson method))
    """
    point = best_threshold(
        t, maximize, subject_to, "sweep", prevalence, minimize=minimize
    )
    _cases.both_classes(t, "validate_threshold")
    level = _options.fraction(level, "level")
    replicates = _options.whole_number(replicates, "replicates", at_least=2)
    rng = _options.generator(rng)
    shown, objective = read_objective(maximize, minimize)
    bounds = read_constraints(subject_to)
    task = _Task(t.labelled(), shown, objective, bounds, prevalence)
    runs = [run for run in _repeat(task, replicates, rng) if run is not None]
    if 2 * len(runs) < replicates:
        raise NotEnoughCases(
            f"validate_threshold needs a choice in most bootstrap samples; in "
            f"{replicates - len(runs):,} of {replicates:,} no threshold met the "
            f"constraints or {shown.name} was undefined. Loosen the constraints, or "
            f"collect more than {t.n_pos:,} positives and {t.n_neg:,} negatives."
        )
    left = _left_out(task, np.array([r.left for r in runs]))
    pooled = _left_out(task, np.array([r.left for r in runs]).sum(axis=0))
    corrected = float(shown(pooled))
    cuts = np.array([r.threshold for r in runs])
    return Validation(
        point=point,
        threshold=_spread(point.threshold, cuts, level),
        thresholds=cuts,
        value=point.value,
        corrected=corrected,
        optimism=point.value - corrected,
        in_bag=np.array([r.inside for r in runs]),
        out_of_bag=np.asarray(shown(left), dtype=np.float64),
        metrics=_at_the_point(task, point, level, rng),
        holds={repr(c): float(np.mean(c(left))) for c in bounds},
        failed=1 - len(runs) / replicates,
    )


class _Task(NamedTuple):
    tally: Tally
    shown: Metric
    objective: Metric
    constraints: tuple[Constraint, ...]
    prevalence: float | None


class _Run(NamedTuple):
    threshold: float
    inside: float
    left: tuple[int, ...]  # tp, fp, fn, tn of the cases left out


def _spread(value: float, values: Floats, level: float) -> Estimate:
    # +inf is a threshold too: quantiles must not take means of neighbours
    ends = np.quantile(values, [(1 - level) / 2, (1 + level) / 2], method="nearest")
    finite = values[np.isfinite(values)]
    power = int(np.frexp(np.abs(finite).max(initial=0.0))[1])  # 1e300 has no square
    sd = float(np.ldexp(finite, -power).std(ddof=1)) if finite.size > 1 else math.nan
    sd = float(np.ldexp(sd, power))
    return Estimate(value, float(ends[0]), float(ends[1]), level, "bootstrap", sd)


def _repeat(task: _Task, replicates: int, rng: np.random.Generator) -> Any:
    """Choose on each sample and evaluate on what it left out."""
    draw = Resample(task.tally)
    # one place for the counts of all samples: fresh memory costs more than the sums
    space = np.zeros((4, len(task.tally) + 1), dtype=np.int64)
    for _ in steps(range(replicates), "Bootstrap", unit="samples"):
        yield _run(task, space, *draw(rng))


def _run(
    task: _Task, space: Ints, pos: Array, neg: Array, pos_out: Array, neg_out: Array
) -> _Run | None:
    score = task.tally.score
    cuts = _sample_cuts(score, space, pos, neg, task.prevalence)
    if cuts is None:
        return None
    problem = pose(cuts, task.objective, task.constraints)
    best = best_cuts(cuts, task.objective, problem.allowed)
    if not best.size:
        return None
    at = most_balanced(cuts, best)
    threshold = _sample_threshold(score, at, pos[at:] + neg[at:])
    # how many rows of the whole tally are flagged
    k = int(score.size - np.searchsorted(score[::-1], threshold, side="left"))
    tp, fp = int(pos_out[:k].sum()), int(neg_out[:k].sum())
    left = (tp, fp, int(pos_out.sum()) - tp, int(neg_out.sum()) - fp)
    return _Run(threshold, float(task.shown(cuts.used[at])), left)


def _sample_cuts(
    score: Floats, space: Ints, pos: Array, neg: Array, prevalence: float | None
) -> Cuts | None:
    """Count a sample at all cuts of the tally.

    A row that the sample has no case of repeats the cut before it.
    """
    tp, fp, fn, tn = space
    np.cumsum(pos, out=tp[1:], dtype=np.int64)
    np.cumsum(neg, out=fp[1:], dtype=np.int64)
    if not (tp[-1] + fp[-1]) or (prevalence is not None and not (tp[-1] and fp[-1])):
        return None
    np.subtract(tp[-1], tp, out=fn)
    np.subtract(fp[-1], fp, out=tn)
    return make_cuts(score, Confusion(tp, fp, fn, tn), prevalence)


def _sample_threshold(score: Floats, at: int, below: Array) -> float:
    """Give the threshold of a cut, between two scores that the sample has.

    Of cuts that repeat each other the first is taken, so the score above is one of the
    sample; ``below`` counts its cases at the scores from there on.
    """
    near = [score[at - 1]] if at else []
    lower = int(np.argmax(below > 0)) if below.size else 0
    if below.size and below[lower]:
        near.append(score[at + lower])
    return threshold_of(np.array(near), min(at, 1))


def _left_out(task: _Task, counts: Ints) -> Confusion:
    """Scale counts (..., 4) of cases left out to as many as the tally has."""
    times = task.tally.n / np.maximum(counts.sum(axis=-1, keepdims=True), 1)
    c = Confusion(*np.moveaxis(counts * times, -1, 0))
    return c if task.prevalence is None else c.at_prevalence(task.prevalence)


class Resample:
    """Which cases enter a bootstrap sample, and which are left out?

    Each case is taken a Poisson(1) number of times. Calling gives, for every row of the
    tally, the positives and negatives taken and the positives and negatives left out.
    """

    def __init__(self, t: Tally) -> None:
        self.cells = np.column_stack([t.pos, t.neg])
        self.n, self.rows = t.n_pos + t.n_neg, len(t)
        # a round of binomials costs about as much a cell as some tens of cases
        self.by_case = self.n < 40 * self.rows
        if self.by_case:
            classes = np.tile([True, False], self.rows)
            self.is_pos = np.repeat(classes, self.cells.ravel())
            ends = np.cumsum(self.cells.sum(axis=1))
            self.starts = np.concatenate([[0], ends[:-1]])

    def __call__(self, rng: np.random.Generator) -> tuple[Array, ...]:
        """Draw one sample."""
        return self._cases(rng) if self.by_case else self._cells(rng)

    def _cases(self, rng: np.random.Generator) -> tuple[Array, ...]:
        """Say for each case how often it is taken."""
        times = multiplicities(self.n, rng)
        out = times == 0
        pos, pos_out = times * self.is_pos, out & self.is_pos
        parts = (pos, times - pos, pos_out, out & ~self.is_pos)
        if self.rows == self.n:
            return parts
        return tuple(np.add.reduceat(p, self.starts, dtype=np.int64) for p in parts)

    def _cells(self, rng: np.random.Generator) -> tuple[Array, ...]:
        """Say for each cell how many cases are taken 0, 1, 2, ... times."""
        left, bag = self.cells, np.zeros_like(self.cells)
        out = left
        k = 0
        while left.any():
            taken = rng.binomial(left, _exactly(k))
            left = left - taken
            bag = bag + k * taken
            out = taken if k == 0 else out
            k += 1
        return (*bag.T, *out.T)


def _exactly(k: int) -> float:
    """How likely is a Poisson(1) number k, given that it is at least k?"""
    # 1 / sum of k!/(k+j)!: nothing cancels, however far out
    total = term = 1.0
    j = k
    while term > 1e-17 * total:
        j += 1
        term /= j
        total += term
    return 1 / total


def _at_the_point(
    task: _Task, point: OperatingPoint, level: float, rng: np.random.Generator
) -> dict[str, Estimate]:
    """Give every metric at the chosen cut with an interval."""
    named = {m.name: m for m in METRICS.values()}
    for m in (task.shown, *(c.metric for c in task.constraints)):
        named.setdefault(m.name, m)
    c = point.confusion
    used = c if task.prevalence is None else c.at_prevalence(task.prevalence)
    drawn = _posterior(c, task.prevalence, rng)
    found = {}
    for name, m in named.items():
        value = float(m(used))
        if is_share(m, task.prevalence):
            found[name] = _wilson(m, c, value, level)
        elif math.isfinite(value):
            found[name] = _quantiles(m, drawn, value, level)
    return found


def is_share(m: Metric, prevalence: float | None) -> bool:
    """Is the metric a share of counted cases, and so binomial?

    At another prevalence than that of the tally only shares within a class are.
    """
    if m.ratio is None or m.ratio.under is None:
        return False
    over, under = m.ratio.over, m.ratio.under
    pairs = list(zip(over, under, strict=True))
    counted = all(u in (0, 1) and o in (0, 1) and o <= u for o, u in pairs)
    one_class = under in ((1, 0, 1, 0), (0, 1, 0, 1))
    return counted and (prevalence is None or one_class)


def share_counts(m: Metric, c: Confusion) -> tuple[Any, Any]:
    """Give the cases counted, and out of how many."""
    assert m.ratio is not None  # noqa: S101 - is_share was asked before
    assert m.ratio.under is not None  # noqa: S101
    counts = (c.tp, c.fp, c.fn, c.tn)
    y = sum(n for n, w in zip(counts, m.ratio.over, strict=True) if w)
    of = sum(n for n, w in zip(counts, m.ratio.under, strict=True) if w)
    return y, of


def _wilson(m: Metric, c: Confusion, value: float, level: float) -> Estimate:
    low, high = wilson(*share_counts(m, c), level)
    return Estimate(value, float(low), float(high), level, "wilson")


def _posterior(
    c: Confusion, prevalence: float | None, rng: np.random.Generator, draws: int = 4000
) -> Confusion:
    """Draw confusion matrices that agree with the counts, from Jeffreys posteriors."""
    half = 0.5
    recall = rng.beta(c.tp + half, c.fn + half, draws)
    fpr = rng.beta(c.fp + half, c.tn + half, draws)
    pos, neg = int(c.tp + c.fn), int(c.fp + c.tn)
    share: Any = prevalence
    if prevalence is None:
        share = rng.beta(pos + half, neg + half, draws)
    p, q = (pos + neg) * share, (pos + neg) * (1 - share)
    return Confusion(recall * p, fpr * q, (1 - recall) * p, (1 - fpr) * q)


def _quantiles(m: Metric, drawn: Confusion, value: float, level: float) -> Estimate:
    values = np.asarray(m(drawn))
    low, high = np.quantile(values, [(1 - level) / 2, (1 + level) / 2])
    # a value at the end of its range, such as F1 = 1, belongs to its interval
    return Estimate(
        value,
        min(float(low), value),
        max(float(high), value),
        level,
        "jeffreys",
        float(values.std()),
    )
