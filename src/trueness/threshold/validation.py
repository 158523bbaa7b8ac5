"""How far can a chosen threshold be trusted?

A threshold that was chosen because it looked best on some cases looks worse on others.
``validate_threshold`` chooses again and again on resampled cases, and evaluates each
choice on the cases that were left out.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import partial
from itertools import pairwise
from typing import Any, NamedTuple, final

import numpy as np

from trueness._core.arrays import Array, Floats, Ints
from trueness._core.checks import cases as _cases
from trueness._core.checks import options as _options
from trueness._core.checks.errors import NotEnoughCases
from trueness._core.progress import steps
from trueness._core.records import Answer, Estimate, brief
from trueness.counts.answers import of_tally
from trueness.counts.resampling import Seed, multiplicities
from trueness.counts.values import Panel, Tally
from trueness.counts.weights import remark, whole_draws
from trueness.metrics.algebra import Constraint, Metric, depends_on_prevalence
from trueness.metrics.confusion import Confusion
from trueness.metrics.definitions import METRICS
from trueness.metrics.grammar import constraints as read_constraints
from trueness.metrics.intervals import Weighed
from trueness.threshold.cuts import most_balanced, threshold_of
from trueness.threshold.operating_point import (
    ConstraintLike,
    OperatingPoint,
    best_threshold,
    read_objective,
)
from trueness.threshold.prevalence import (
    PrevalenceLike,
    Share,
    read_prevalence,
)
from trueness.threshold.robust import best_of, cuts_in_use

DRAWS = 4000  # from the posterior, for every interval


@final
@dataclass(frozen=True, repr=False)
class Validation(Answer):
    """How good will a chosen threshold be on new cases?

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
    corrected : Estimate
        What to expect of the choice on new cases, with an interval for the objective of
        the chosen rule in the population.
    optimism : float
        ``value - corrected.value``: the optimism of the sample (negative when an
        objective is minimised).
    in_bag, out_of_bag : array
        The objective of each repeated choice on its own cases, and on those left out.
    metrics : dict of str to Estimate
        Each metric that is defined at the chosen threshold: its value in the sample,
        and an interval of its value in the population that allows for the choice.
    holds : dict of str to float
        How often each constraint, met where the choice was made, held on the cases left
        out.
    failed : float
        The share of resamples in which no threshold met the constraints, or the
        objective was undefined.
    prevalence : str
        The share of positives that every number is for.
    notes : tuple of str
        What to keep in mind.
    """

    point: OperatingPoint
    threshold: Estimate
    thresholds: Floats
    value: float
    corrected: Estimate
    optimism: float
    in_bag: Floats
    out_of_bag: Floats
    metrics: dict[str, Estimate]
    holds: dict[str, float]
    failed: float
    prevalence: str = ""
    notes: tuple[str, ...] = ()


@of_tally(weights=True)
def validate_threshold(
    t: Tally,
    maximize: str | Metric = "accuracy",
    subject_to: ConstraintLike | Iterable[ConstraintLike] = (),
    prevalence: PrevalenceLike = None,
    *,
    minimize: str | Metric | None = None,
    sampling: str = "cohort",
    replicates: int = 2000,
    level: float = 0.95,
    rng: Seed = 0,
) -> Validation:
    r"""What can be expected of a chosen threshold on new cases?

    The choice of :func:`best_threshold` is repeated on bootstrap samples, each time
    evaluated on the cases the sample left out, whose counts are added up:

    .. math:: \text{corrected} = f\Big(\sum_b TP_b, \sum_b FP_b, \sum_b FN_b,
        \sum_b TN_b\Big) \quad\text{out of bag}

    Parameters
    ----------
    t
        Scores and labels of one classifier, both classes present.
    maximize, minimize, subject_to, prevalence, sampling
        As in :func:`best_threshold`. The uncertainty of an estimated prevalence goes
        into the intervals; for a range they hold whichever prevalence of it is true.
    replicates
        How many bootstrap samples.
    level
        Confidence level of the intervals.
    rng
        Seed or generator.

    Notes
    -----
    Every case enters a sample a Poisson(1) number of times, independently; those with
    zero are left out. For counted data the numbers are drawn for a whole cell at once.
    Metrics that count cases (``flagged``, ``cost``) are scaled to as many cases as the
    tally has. Counts are added before the metric is taken because the mean of a ratio
    over few cases is biased. A sample holds 63 % of the cases, so the correction is a
    little too cautious; Efron's .632 mixture is still optimistic, by about twice as
    much (measured in ``benchmarks/study_optimism.py``).

    Intervals allow for the choice. Recall and the false positive rate at the chosen
    threshold are corrected, each by its own optimism: the mean, over the samples, of
    the rate of the repeated choice in its sample less its rate among all cases (Efron
    1983). The corrected rates get Jeffreys posteriors with as many cases as the class
    has, or with fewer when that difference varies more than a binomial count would. The
    prevalence is drawn too, unless it is given. All metrics are then quantiles of the
    same draws. These intervals covered the metric of the chosen rule in the population
    in 92 to 98 % of samples; intervals that take the threshold as fixed covered it in
    79 to 97 % (``benchmarks/study_validation.py``). The time per sample is O(m) or
    O(n), whichever is less.

    References
    ----------
    Efron 1983, J. Am. Stat. Assoc. 78:316, doi:10.2307/2288636.
    Efron, Tibshirani 1997, J. Am. Stat. Assoc. 92:548, doi:10.2307/2965703.
    Chamandy et al. 2012, Estimating uncertainty for massive data streams, Google.

    Examples
    --------
    >>> t = Tally([4, 3, 2, 1], pos=[40, 30, 20, 10], neg=[10, 20, 30, 40])
    >>> v = validate_threshold(t, rng=1)
    >>> v.value, v.corrected.low < 0.7 < v.corrected.high
    (0.7, True)
    """
    share = read_prevalence(prevalence)
    point = best_threshold(
        t, maximize, subject_to, "sweep", share, minimize=minimize, sampling=sampling
    )
    _cases.both_classes(t, "validate_threshold")
    level = _options.fraction(level, "level")
    replicates = _options.whole_number(replicates, "replicates", at_least=2)
    rng = _options.generator(rng)
    shown, objective = read_objective(maximize, minimize)
    bounds = read_constraints(subject_to)
    task = _Task(t.labelled(), shown, objective, bounds, share, sampling)
    lacking = f"no threshold met the constraints or {shown.name} was undefined"
    choose = partial(_choose, task, sample_space(task.tally))
    runs = rehearse(task.tally, choose, replicates, rng, "validate_threshold", lacking)
    left = _left_out(task, runs.left)
    pooled = float(_worst(_left_out(task, runs.left.sum(axis=0)), task))
    worth = class_sizes(point.confusion, point.weighed, level)
    draws = [rate_draws(point.confusion, runs, s, rng, worth) for s in task.ends]
    return Validation(
        point=point,
        threshold=spread(point.threshold, runs.chosen, level),
        thresholds=runs.chosen,
        value=point.value,
        corrected=_quantiles(shown, draws, pooled, level),
        optimism=point.value - pooled,
        in_bag=runs.inside,
        out_of_bag=_worst(left, task),
        metrics=_at_the_point(task, point, draws, level),
        holds={repr(c): float(np.mean([c(x) for x in left])) for c in bounds},
        failed=1 - len(runs.left) / replicates,
        prevalence=_words(task),
        notes=_notes(task),
    )


class _Task(NamedTuple):
    tally: Tally
    shown: Metric
    objective: Metric
    constraints: tuple[Constraint, ...]
    share: Share | None
    sampling: str

    @property
    def smallest(self) -> bool:
        """Is the objective minimised?"""
        return self.objective is not self.shown

    @property
    def ends(self) -> tuple[Share | None, ...]:
        """Which prevalences have to be told apart?"""
        return (None,) if self.share is None else self.share.ends


class Again(NamedTuple):
    """A choice that was made again; arrays of them, with a row for each sample.

    ``chosen`` is what was chosen, ``left`` counts the cases that the sample left out
    (true and false positives and so on), ``bag`` and ``whole`` are rates of the
    classes, in the sample and of all cases; ``inside`` is the objective in the sample.
    """

    chosen: Any
    left: Any
    bag: Any
    whole: Any
    inside: Any = math.nan


def rehearse(
    x: Tally | Panel,
    choose: Callable[..., Again | None],
    replicates: int,
    rng: np.random.Generator,
    what: str,
    lacking: str,
) -> Again:
    """Repeat a choice on bootstrap samples, and judge it by what each left out.

    ``choose`` is given the positives and negatives of each row in the sample, and those
    that it left out; None when nothing can be chosen, which most samples must not say.
    """
    draw = Resample(x)
    each = steps(range(replicates), "Bootstrap", unit="samples")
    runs = [run for run in (choose(*draw(rng)) for _ in each) if run is not None]
    if 2 * len(runs) < replicates:
        raise NotEnoughCases(
            f"{what} needs a choice in most bootstrap samples; in "
            f"{replicates - len(runs):,} of {replicates:,} {lacking}. Loosen the "
            f"constraints, or collect more than {brief(x.n_pos)} positives and "
            f"{brief(x.n_neg)} negatives."
        )
    return Again(*map(np.array, zip(*runs, strict=True)))


def _words(task: _Task) -> str:
    if task.share is not None:
        return task.share.words()
    return f"{task.tally.prevalence:.4g}, that of the sample"


def _notes(task: _Task) -> tuple[str, ...]:
    notes = [
        "The cases are assumed to be independent and like those in use; repeated "
        "measurements of one person make the intervals too narrow."
    ]
    if task.share is None:
        notes.append(
            "The prevalence is that of the sample; if it differs in use, pass "
            "prevalence=."
        )
    elif task.share.is_range:
        notes.append("Values are the worst over the range of prevalences.")
    return (*notes, *remark(task.tally))


def spread(value: float, values: Floats, level: float) -> Estimate:
    """Give a threshold with the interval in which repeated choices lie."""
    # +inf is a threshold too: quantiles must not take means of neighbours
    ends = np.quantile(values, [(1 - level) / 2, (1 + level) / 2], method="nearest")
    finite = values[np.isfinite(values)]
    power = int(np.frexp(np.abs(finite).max(initial=0.0))[1])  # 1e300 has no square
    sd = float(np.ldexp(finite, -power).std(ddof=1)) if finite.size > 1 else math.nan
    sd = float(np.ldexp(sd, power))
    low, high = min(value, float(ends[0])), max(value, float(ends[1]))
    return Estimate(value, low, high, level, "bootstrap", sd)


def sample_space(t: Tally) -> Array:
    """Make one place for the counts of all samples: fresh memory costs time."""
    return np.zeros((4, len(t) + 1), dtype=t.pos.dtype)


def _choose(
    task: _Task, space: Array, pos: Array, neg: Array, pos_out: Array, neg_out: Array
) -> Again | None:
    seen = sample_counts(space, pos, neg, both=task.share is not None)
    if seen is None:
        return None
    metrics = (task.shown, *(c.metric for c in task.constraints))
    cuts = cuts_in_use(task.tally.score, seen, task.share, metrics)
    best = best_of(cuts, task.objective, task.constraints)
    if not best.size:
        return None
    at = most_balanced(cuts[0], best)
    again = chosen_again(task.tally, seen, at, pos, neg)
    inside = float(_worst([c.used[at] for c in cuts], task))
    left = counts_between([again.row], pos_out, neg_out)
    return Again(again.threshold, left, again.bag, again.whole, inside)


def counts_between(rows: list[int], pos: Array, neg: Array) -> list[Any]:
    """Count positives and negatives of the rows before, between and behind cuts."""
    parts = [slice(*ends) for ends in pairwise([0, *rows, None])]
    return [n[part].sum().item() for part in parts for n in (pos, neg)]


class CutAgain(NamedTuple):
    """A cut that was chosen again: its threshold, and how many rows it flags.

    ``bag`` and ``whole`` are recall and fpr there, in the sample and of all cases.
    """

    threshold: float
    row: int
    bag: list[float]
    whole: list[float]


def chosen_again(
    t: Tally, seen: Confusion, at: int, pos: Array, neg: Array
) -> CutAgain:
    """Carry a cut of a sample over to the tally that it was drawn from."""
    threshold = _sample_threshold(t.score, at, pos[at:] + neg[at:])
    k = int(t.score.size - np.searchsorted(t.score[::-1], threshold, side="left"))
    bag = [
        float(c[at]) / float(c[-1]) if c[-1] else math.nan for c in (seen.tp, seen.fp)
    ]
    whole = [float(t.pos[:k].sum() / t.n_pos), float(t.neg[:k].sum() / t.n_neg)]
    return CutAgain(threshold, k, bag, whole)


def _worst(found: Iterable[Confusion], task: _Task) -> Any:
    """What is the objective where the prevalence is least favourable?"""
    values = np.array([task.shown(c) for c in found])
    return values.max(axis=0) if task.smallest else values.min(axis=0)


def sample_counts(
    space: Array, pos: Array, neg: Array, *, both: bool
) -> Confusion | None:
    """Count a sample at all cuts of the tally; None where it has too few classes.

    A row that the sample has no case of repeats the cut before it.
    """
    tp, fp, fn, tn = space
    np.cumsum(pos, out=tp[1:], dtype=tp.dtype)
    np.cumsum(neg, out=fp[1:], dtype=fp.dtype)
    if not (tp[-1] + fp[-1]) or (both and not (tp[-1] and fp[-1])):
        return None
    np.subtract(tp[-1], tp, out=fn)
    np.subtract(fp[-1], fp, out=tn)
    return Confusion(tp, fp, fn, tn)


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


def _left_out(task: _Task, counts: Array) -> list[Confusion]:
    """Scale counts (..., 4) of cases left out to as many as the tally has."""
    total = counts.sum(axis=-1, keepdims=True)
    times = task.tally.n / np.where(total > 0, total, 1)
    c = Confusion(*np.moveaxis(counts * times, -1, 0))
    return [_in_use(c, share) for share in task.ends]


class Resample:
    """Which cases enter a bootstrap sample, and which are left out?

    Each case is taken a Poisson(1) number of times. Calling gives, for every row of the
    tally, the positives and negatives taken and the positives and negatives left out;
    of weighted cases their weights, the cases of a row being taken for equal ones.
    """

    def __init__(self, t: Tally | Panel) -> None:
        self.cells, self.weight = whole_cells(t)
        self.n, self.rows = int(self.cells.sum()), len(t.pos)
        # a round of binomials costs about as much a cell as some tens of cases
        self.by_case = self.n < 40 * self.rows
        if self.by_case:
            classes = np.tile([True, False], self.rows)
            self.is_pos = np.repeat(classes, self.cells.ravel())
            ends = np.cumsum(self.cells.sum(axis=1))
            self.starts = np.concatenate([[0], ends[:-1]])

    def __call__(self, rng: np.random.Generator) -> tuple[Array, ...]:
        """Draw one sample."""
        drawn = self._cases(rng) if self.by_case else self._cells(rng)
        if self.weight is None:
            return drawn
        pos, neg = self.weight.T
        return tuple(n * w for n, w in zip(drawn, (pos, neg, pos, neg), strict=True))

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
        bag, out = poisson_cells(self.cells, rng)
        return (*bag.T, *out.T)


def whole_cells(t: Tally | Panel) -> tuple[Ints, Floats | None]:
    """How many positives and negatives has each row, and what does each weigh?"""
    if not t.weighted:
        return np.column_stack([t.pos, t.neg]), None
    neg, pos, _ = t.squares
    number, weight = zip(whole_draws(t.pos, pos), whole_draws(t.neg, neg), strict=True)
    heavy = np.column_stack(weight)
    return np.where(heavy > 0, np.column_stack(number), 0), heavy


def poisson_cells(cells: Ints, rng: np.random.Generator) -> tuple[Ints, Ints]:
    """Take each case of each cell a Poisson(1) number of times: taken, left out.

    How many cases are taken 0, 1, 2, ... times: each is a binomial number of the cases
    that are taken at least so often.
    """
    left, bag, k = cells, np.zeros_like(cells), 0
    out = cells
    while left.any():
        taken = rng.binomial(left, _exactly(k))
        left, bag = left - taken, bag + k * taken
        out = taken if k == 0 else out
        k += 1
    return bag, out


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
    task: _Task, point: OperatingPoint, draws: list[Confusion], level: float
) -> dict[str, Estimate]:
    """Give every metric at the chosen cut with an interval."""
    named = {m.name: m for m in METRICS.values()}
    for m in (task.shown, *(c.metric for c in task.constraints)):
        named.setdefault(m.name, m)
    unknown = task.sampling == "case-control" and task.share is None
    found = {}
    for name, m in named.items():
        if unknown and depends_on_prevalence(m):
            continue
        value = float(m(_in_use(point.confusion, task.share)))
        if math.isfinite(value):
            found[name] = _quantiles(m, draws, value, level)
    return found


def _in_use(c: Confusion, share: Share | None) -> Confusion:
    return c if share is None else c.at_prevalence(share.value)


def rate_draws(
    c: Confusion,
    runs: Again,
    share: Share | float | None,
    rng: np.random.Generator,
    worth: ClassSizes,
) -> Confusion:
    """Draw confusion matrices of the chosen rule in the population.

    ``runs`` have recall and fpr of the repeated choices; ``worth`` says as how many
    cases those of the rule count.
    """
    rates, n = [], c.tp + c.fp + c.fn + c.tn
    seen = c.tp / (c.tp + c.fn), c.fp / (c.fp + c.tn)
    for k, (rate, cases) in enumerate(zip(seen, worth[:2], strict=True)):
        rate, cases = without_optimism(float(rate), cases, runs, k)
        # Jeffreys' prior: half a case of each kind
        rates.append(rng.beta(rate * cases + 0.5, (1 - rate) * cases + 0.5, size=DRAWS))
    part: Any = share.draw(rng, DRAWS) if isinstance(share, Share) else share
    if part is None:
        part = worth.draw_share(float((c.tp + c.fn) / n), rng)
    recall, fpr = rates
    return Confusion.of_rates(recall, fpr, part, n)


class ClassSizes(NamedTuple):
    """As how many equal cases do positives, negatives and all cases count?"""

    pos: float
    neg: float
    every: float

    def draw_share(self, share: float, rng: np.random.Generator) -> Floats:
        """Draw shares of positives that could have given this one (Jeffreys)."""
        n = self.every
        return rng.beta(share * n + 0.5, (1 - share) * n + 0.5, DRAWS)


def class_sizes(c: Confusion, weighed: Weighed | None, level: float) -> ClassSizes:
    """As how many cases do those at a cut count? Weighted ones as fewer."""
    tp, fp, fn, tn = (float(x) for x in c.cells)
    if weighed is None:
        return ClassSizes(tp + fn, fp + tn, tp + fp + fn + tn)
    sides = [([0], [2]), ([1], [3]), ([0, 2], [1, 3])]
    return ClassSizes(*(weighed.cases(c, yes, no, level) for yes, no in sides))


def without_optimism(rate: float, n: float, runs: Again, k: int) -> tuple[float, float]:
    """Which rate is left of a chosen cut, and how many of n cases is it worth?

    The rate of a class in the sample is its rate in the population, plus chance, plus
    what the choice made of chance. The repeated choices, judged by their samples
    (``bag``) and by all cases (``whole``), show the same difference; its mean is taken
    off, and where it varies more than the binomial law says, the class counts as fewer
    cases.
    """
    whole, lead = runs.whole[:, k], runs.bag[:, k] - runs.whole[:, k]
    lead = lead[np.isfinite(lead)]
    shift = float(lead.mean()) if lead.size else 0.0
    binomial = float((whole * (1 - whole)).mean()) / n
    times = max(1.0, float(lead.var()) / binomial) if binomial else 1.0
    return min(max(rate - shift, 0.0), 1.0), n / times


def _quantiles(
    m: Metric, draws: list[Confusion], value: float, level: float
) -> Estimate:
    """Give an interval that holds for every prevalence that was drawn for."""
    found = [interval_of_draws(m(drawn), value, level) for drawn in draws]
    low, high = min(e.low for e in found), max(e.high for e in found)
    sd = max(e.sd for e in found)
    return Estimate(value, low, high, level, found[0].method, sd)


def interval_of_draws(values: Any, value: float, level: float) -> Estimate:
    """Give quantiles of draws; the value of the sample belongs to its interval."""
    values = np.asarray(values)
    with np.errstate(invalid="ignore"):  # an odds ratio may be infinite
        sd = float(np.nanstd(values))
    low, high = np.nanquantile(values, [(1 - level) / 2, (1 + level) / 2]).tolist()
    ends = min(low, value), max(high, value)
    return Estimate(value, *ends, level, "corrected jeffreys", sd)
