"""How far can a chosen threshold be trusted?

A threshold that was chosen because it looked best on some cases looks worse on others.
``validate_threshold`` chooses again and again on resampled cases, and evaluates each
choice on the cases that were left out (``repetition.py``).
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from functools import partial
from statistics import NormalDist
from typing import Any, NamedTuple, final

import numpy as np

from trueness._core.arrays import Array, Floats
from trueness._core.checks import cases as _cases
from trueness._core.checks import options as _options
from trueness._core.records import Answer, Estimate
from trueness.counts.answers import of_tally
from trueness.counts.design import CASE_CONTROL
from trueness.counts.resampling import Seed
from trueness.counts.values import Tally
from trueness.inference.notes import notes_of
from trueness.metrics.algebra import Constraint, Metric, depends_on_prevalence
from trueness.metrics.confusion import Confusion, sweep
from trueness.metrics.definitions import METRICS
from trueness.metrics.grammar import constraints as read_constraints
from trueness.threshold.cuts import most_balanced
from trueness.threshold.operating_point import (
    ConstraintLike,
    OperatingPoint,
    best_threshold,
    read_objective,
)
from trueness.threshold.prevalence import (
    Prevalences,
    Share,
    best_of,
    cuts_in_use,
    share_in_use,
)
from trueness.threshold.repetition import (
    Again,
    Sides,
    cells_at,
    chosen_again,
    chosen_sides,
    counts_between,
    rehearse,
    sample_counts,
    sample_space,
    scaled,
    spread,
    trusted,
    without_optimism,
)


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
        What to expect of each metric on new cases: its value on the cases left out,
        with an interval that allows for the choice. (``point.metrics`` has those of
        the sample, which are optimistic.)
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


@of_tally
def validate_threshold(
    data: Tally,
    maximize: str | Metric = "accuracy",
    subject_to: ConstraintLike | Iterable[ConstraintLike] = (),
    *,
    minimize: str | Metric | None = None,
    prevalences: Prevalences = None,
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
    data
        Scores and labels of one classifier, both classes present.
    maximize, minimize, subject_to, prevalences
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
    Every case enters a sample a Poisson(1) number of times, independently, and every
    cluster as a whole; those with zero are left out. For counted data the numbers are
    drawn for a whole cell at once. Metrics that count cases (``flagged``, ``cost``) are
    scaled to as many cases as the tally has. Counts are added before the metric is
    taken because the mean of a ratio over few cases is biased. A sample holds 63 % of
    the cases, so the correction is a little too cautious; Efron's .632 mixture is still
    optimistic, by about twice as much (measured in ``benchmarks/study_optimism.py``).

    Intervals are those of :func:`estimate` around the corrected value. Their variance
    is that of the metric at the threshold taken as fixed, or, where it is larger, what
    the choice adds to it: the variance, over the samples, of the metric of the repeated
    choice in its sample less the same among all cases (Efron 1983). The time per sample
    is O(m) or O(n), whichever is less.

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
    point = best_threshold(
        data, maximize, subject_to, minimize=minimize, prevalences=prevalences
    )
    _cases.both_classes(data, "validate_threshold")
    level = _options.fraction(level, "level")
    replicates = _options.whole_number(replicates, "replicates", at_least=2)
    shown, objective = read_objective(maximize, minimize)
    bounds = read_constraints(subject_to)
    share, t = share_in_use(data, prevalences), data.labelled()
    task = _Task(t, sweep(t), shown, objective, bounds, share)
    lacking = f"no threshold met the constraints or {shown.name} was undefined"
    choose = partial(_choose, task, sample_space(t))
    generator = _options.generator(rng)
    runs = rehearse(t, choose, replicates, generator, "validate_threshold", lacking)
    left = [task.table(runs.left, s) for s in task.ends]
    total = runs.left.sum(axis=0)
    pooled = float(_worst([task.table(total, s) for s in task.ends], task))
    rule = chosen_sides(t, [point.threshold])
    fair, expect = (
        without_optimism(rule, runs),
        partial(_expected, task, rule, runs, level),
    )
    corrected = expect(shown, total, pooled)
    return Validation(
        point=point,
        threshold=spread(point.threshold, runs.chosen, level),
        thresholds=runs.chosen,
        value=point.value,
        corrected=corrected,
        optimism=point.value - pooled,
        in_bag=runs.inside,
        out_of_bag=_worst(left, task),
        metrics={
            name: expect(m, fair, value)
            for name, m in _shown_metrics(task).items()
            if math.isfinite(value := float(m(task.table(fair, task.share))))
        }
        | {shown.name: corrected},
        holds={repr(c): float(np.mean([c(x) for x in left])) for c in bounds},
        failed=1 - len(runs.left) / replicates,
        prevalence=_words(task),
        notes=_notes(task),
    )


class _Task(NamedTuple):
    tally: Tally
    whole: Confusion  # at every cut
    shown: Metric
    objective: Metric
    constraints: tuple[Constraint, ...]
    share: Share | None

    @property
    def smallest(self) -> bool:
        """Is the objective minimised?"""
        return self.objective is not self.shown

    @property
    def ends(self) -> tuple[Share | None, ...]:
        """Which prevalences have to be told apart?"""
        return (None,) if self.share is None else self.share.ends

    def table(self, counts: Array, share: Share | float | None) -> Confusion:
        """Scale counts (..., 4) to as many cases as the tally has, as in use."""
        c = Confusion(*np.moveaxis(scaled(counts, self.tally.n), -1, 0))
        return c.at_prevalence(share.value if isinstance(share, Share) else share)

    def measure(self, m: Metric, share: Share | None, counts: Array) -> Any:
        """Give a metric for such counts."""
        return m(self.table(counts, share))


def _shown_metrics(task: _Task) -> dict[str, Metric]:
    named = {m.name: m for m in METRICS.values()}
    for m in (task.shown, *(c.metric for c in task.constraints)):
        named.setdefault(m.name, m)
    if task.tally.design.sampling == CASE_CONTROL and task.share is None:
        return {k: m for k, m in named.items() if not depends_on_prevalence(m)}
    return named


def _expected(
    task: _Task,
    rule: Sides,
    runs: Again,
    level: float,
    m: Metric,
    counts: Array,
    value: float,
) -> Estimate:
    """Give limits of a metric of corrected counts, for every prevalence of a range."""
    more, found = _doubt(task, rule, m), []
    for measure in (partial(task.measure, m, s) for s in task.ends):
        here = float(measure(counts))
        found.append(trusted(rule, runs, measure, m.range, here, level, more))
    low, high = min(e.low for e in found), max(e.high for e in found)
    sd = max(e.sd for e in found)
    return Estimate(value, low, high, level, "bootstrap", sd, name=m.name)


def _doubt(task: _Task, rule: Sides, m: Metric) -> float:
    """Which variance does a metric have from that of an estimated prevalence?"""
    s = task.share
    if s is None or s.level is None:
        return 0.0
    low, high = (float(m(task.table(rule.cells(), p))) for p in (s.low, s.high))
    half = (high - low) / 2
    return (half / NormalDist().inv_cdf((1 + s.level) / 2)) ** 2


def _words(task: _Task) -> str:
    if task.share is not None:
        return task.share.words()
    return f"{task.tally.prevalence:.4g}, that of the sample"


def _notes(task: _Task) -> tuple[str, ...]:
    notes = ["The cases are assumed to be like those in use."]
    if task.tally.clusters is None:
        notes = [
            "The cases are assumed to be independent and like those in use; if some "
            "belong together (of one person, one site), say so with cluster=."
        ]
    if task.share is None:
        notes.append(
            "The prevalence is that of the sample; if it differs in use, pass "
            "prevalence=."
        )
    elif task.share.is_range:
        notes.append("Values are the worst over the range of prevalences.")
    return (*notes, *notes_of(task.tally))


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
    threshold, row = chosen_again(task.tally, at, pos, neg)
    return Again(
        threshold,
        counts_between([row], pos_out, neg_out),
        cells_at(seen, [at]),
        cells_at(task.whole, [row]),
        float(_worst([c.used[at] for c in cuts], task)),
    )


def _worst(found: Iterable[Confusion], task: _Task) -> Any:
    """What is the objective where the prevalence is least favourable?"""
    values = np.array([task.shown(c) for c in found])
    return values.max(axis=0) if task.smallest else values.min(axis=0)
