r"""How far can a chosen rule be trusted?

A threshold that was chosen because it looked best on some cases looks worse on others.
``validate_threshold`` makes the whole choice again on bootstrap samples: one cut, two
cuts with deferred cases, or a cut for each group. What a repeated choice gains in its
own sample over the cases that the sample left out is what the choice makes of chance
(Efron 1983): its mean is taken off the shares that the chosen rule shows, and how far
the choices vary goes into the limits of the engine.

All that a measure sees of a rule is how many positives and negatives are on each of its
sides, group by group: *cells*, an array (..., groups, sides, 2).
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import partial, reduce
from itertools import product
from statistics import NormalDist
from typing import Any, NamedTuple, final

import numpy as np

from trueness._core.arrays import Array, Floats, Ints
from trueness._core.checks import cases as _cases
from trueness._core.checks import options as _options
from trueness._core.checks.errors import NotEnoughCases
from trueness._core.progress import progress
from trueness._core.records import Answer, Estimate, brief
from trueness.counts.design import CASE_CONTROL
from trueness.counts.placements import coarser, group_starts
from trueness.counts.resampling import Seed, draw, whole_draws
from trueness.counts.values import Tally
from trueness.inference.differences import apart
from trueness.inference.limits import around, limited, notes_of, percentiles
from trueness.inference.sample import Influence
from trueness.inference.spread import Spread
from trueness.inference.spread import spread as spread_of
from trueness.metrics.algebra import Metric, depends_on_prevalence
from trueness.metrics.confusion import Confusion
from trueness.metrics.definitions import METRICS
from trueness.metrics.grammar import BOUNDS, one_or_more
from trueness.threshold.at_cut import together
from trueness.threshold.cuts import ROUNDING, make_cuts, thresholds_of, unit_of
from trueness.threshold.group_cuts import GroupQuestion, group_thresholds
from trueness.threshold.limits import (
    GROUPS,
    SIDES,
    ConstraintLike,
    Limit,
    asks_for_groups,
    asks_for_two_cuts,
    read_limits,
    read_objective,
)
from trueness.threshold.operating_point import best_threshold
from trueness.threshold.prevalence import Prevalences, Share, share_in_use
from trueness.threshold.prevalence import prevalences as shares_in
from trueness.threshold.zones import best_thresholds, choose_pair, fewest_deferred

# rows that a choice is repeated on: neighbouring scores are joined, since where exactly
# a repeated choice lies between them moves its value by far less than chance does
_ROWS = 1000
_ROWS_OF_SEARCHES = 200  # where each sample needs a search of its own


@final
@dataclass(frozen=True, repr=False)
class Validation(Answer):
    """How good will a chosen rule be on new cases?

    Attributes
    ----------
    choice : OperatingPoint, Zones or GroupThresholds
        The choice made from all cases.
    thresholds : dict of str to Estimate
        Each chosen threshold and the interval in which repeated choices lie:
        "threshold", or "lower" and "upper", or one for each group.
    value : float
        The objective in the sample, where the rule was chosen.
    corrected : Estimate
        What to expect of the choice on new cases, with an interval for the objective of
        the chosen rule in the population.
    optimism : float
        ``value - corrected.value``: the optimism of the sample (negative when an
        objective is minimised).
    in_bag, out_of_bag : array
        The objective of each repeated choice on its own cases, and on those left out.
    metrics : dict of str to Estimate
        What to expect of each metric on new cases, with an interval that allows for the
        choice.
    holds : dict of str to float
        How often each constraint, met where a choice was repeated, held on the cases
        left out.
    failed : float
        The share of samples in which nothing met the constraints, or the objective was
        undefined.
    prevalence : str
        The share of positives that every number is for.
    notes : tuple of str
        What to keep in mind.
    """

    choice: Any
    thresholds: dict[str, Estimate]
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

    @property
    def threshold(self) -> Estimate:
        """Give the chosen threshold (the upper one of two) with its interval."""
        return next(iter(self.thresholds.values()))


@together(asks_for_groups)
def validate_threshold(
    data: Tally | Mapping[Any, Tally],
    maximize: str | Metric | None = None,
    subject_to: ConstraintLike | Iterable[ConstraintLike] = (),
    *,
    minimize: str | Metric | None = None,
    prevalences: Prevalences = None,
    replicates: int = 1000,
    level: float = 0.95,
    rng: Seed = 0,
) -> Validation:
    r"""What can be expected of a chosen rule on new cases?

    The choice of :func:`best_threshold` is repeated on bootstrap samples; where the
    words speak of deferred cases, or of one side, that of :func:`best_thresholds`;
    where they limit differences between groups, that of :func:`group_thresholds`.

    Parameters
    ----------
    data
        Scores and labels of one classifier, both classes present; of groups a mapping
        from name to tally, or data with ``by=``.
    maximize, minimize, subject_to, prevalences
        As in :func:`best_threshold`, :func:`best_thresholds`,
        :func:`group_thresholds`. The uncertainty of an estimated prevalence goes into
        the intervals; for a range they hold whichever prevalence of it is true.
    replicates
        How many bootstrap samples; a fifth of that where each needs a search of its
        own, for two thresholds or groups.

    Notes
    -----
    With :math:`p` the shares of each class on the sides of the chosen rule, and
    :math:`p_b, q_b` those of the b-th repeated choice among the cases that were drawn
    and among those left out, every metric is that of the shares

    .. math:: p - (1 - e^{-1})\,\frac1B \sum_b (p_b - q_b)

    in which the cases left out are added up over all samples: the .632 estimator (Efron
    1983; a sample holds 63 % of the cases). Intervals are those of :func:`estimate`
    around that value. Their variance is that of the metric with the rule taken as
    fixed, or, where it is larger, the variance of the metric of the repeated choices in
    their samples less the same among all cases. Whole clusters are drawn; the weighted
    cases of a row as equal ones. Beyond 1,000 distinct scores, neighbouring ones are
    joined before the choice is repeated, so that the time hardly depends on the number
    of cases.

    References
    ----------
    Efron 1983, J. Am. Stat. Assoc. 78:316, doi:10.2307/2288636.

    Examples
    --------
    >>> t = Tally([4, 3, 2, 1], pos=[40, 30, 20, 10], neg=[10, 20, 30, 40])
    >>> v = validate_threshold(t, "accuracy", rng=1)
    >>> v.value, v.corrected.low < 0.7 < v.corrected.high
    (0.7, True)
    """
    level = _options.fraction(level, "level")
    number = _options.whole_number(replicates, "replicates", at_least=2)
    words = one_or_more(subject_to, BOUNDS, '["recall >= 0.9"]')
    goal = read_objective(maximize, minimize)
    aim: dict[str, Any] = {"minimize": minimize, "subject_to": words}
    aim |= {} if maximize is None else {"maximize": maximize}
    if isinstance(data, Mapping):
        task = _of_groups(data, aim, goal)
    else:
        _cases.both_classes(data, "validate_threshold")
        if asks_for_two_cuts([*words, maximize, minimize]):
            task = _of_zones(data, aim, goal)
        else:
            task = _of_one_cut(data, aim, goal, prevalences)
    number = number if task.rows == _ROWS else max(2, number // 5)
    runs = _repeated(task, number, _options.generator(rng))
    return _judged(task, runs, level)


Measure = Callable[[Array], Any]  # of cells
Goal = tuple[Metric, Metric]  # as it was asked for, and what to maximise


class _Task(NamedTuple):
    """A choice that can be made again, and what is measured of it."""

    choice: Any
    tallies: dict[str, Tally]  # one of all cases, or one of each group
    names: tuple[str, ...]  # of the cuts of a group, the highest first
    # places of the cuts (samples, groups, cuts), given the running counts of each
    # group; -1 where nothing can be chosen
    choose: Callable[[list[Confusion]], Ints]
    goal: Goal
    measured: dict[str, Limit]  # the objective is one of them
    bounds: tuple[Limit, ...]
    share: Share | None
    prevalence: str
    note: str
    rows: int = _ROWS

    @property
    def ends(self) -> list[float | None]:
        """At which prevalences is everything measured?"""
        return [None] if self.share is None else [s.value for s in self.share.ends]

    def measure(self, what: Limit, prevalence: float | None) -> Measure:
        """Measure cells, scaled to the cases of each group and to a prevalence."""
        sizes = np.array([t.n_pos + t.n_neg for t in self.tallies.values()])
        n = sizes[:, None, None].astype(np.float64)

        def measured(cells: Array) -> Any:
            if prevalence is None:
                total = cells.sum(axis=(-2, -1), keepdims=True)
                return what.of(cells * (n / np.where(total > 0, total, 1)))
            total = cells.sum(axis=-2, keepdims=True)
            parts = n * np.array([prevalence, 1 - prevalence])
            return what.of(cells * (parts / np.where(total > 0, total, 1)))

        return measured

    def value(self, name: str, cells: Array) -> Any:
        """Give a measure in use; of the objective the worst in a range."""
        what, (shown, objective) = self.measured[name], self.goal
        if name == shown.name:
            values = [self.measure(what, p)(cells) for p in self.ends]
            return (
                np.min(values, axis=0) if objective is shown else np.max(values, axis=0)
            )
        return self.measure(what, None if self.share is None else self.share.value)(
            cells
        )

    def doubt(self, name: str, cells: Floats) -> float:
        """Give the variance that an estimated prevalence adds to a measure."""
        s = self.share
        if s is None or s.level is None:
            return 0.0
        ends = (
            float(self.measure(self.measured[name], p)(cells)) for p in (s.low, s.high)
        )
        reach = 2 * NormalDist().inv_cdf((1 + s.level) / 2)
        return ((next(ends) - next(ends)) / reach) ** 2


def _quantities(metrics: Iterable[Metric], bounds: Iterable[Limit]) -> dict[str, Limit]:
    plain = {m.name: Limit(m >= 0) for m in metrics}
    return (
        plain
        | {k.name: k for k in bounds if k.where}
        | {k.name: Limit(k.metric >= 0) for k in bounds if not k.where}
    )


def _of_one_cut(data: Tally, aim: Any, goal: Goal, prevalences: Prevalences) -> _Task:
    point = best_threshold(data, prevalences=prevalences, **aim)
    t, share = data.labelled(), share_in_use(data, prevalences)
    bounds = read_limits(aim["subject_to"], SIDES)
    wanted = _quantities((*METRICS.values(), goal[0]), bounds)
    if t.design.sampling == CASE_CONTROL and share is None:
        wanted = {
            k: x for k, x in wanted.items() if not depends_on_prevalence(x.metric)
        }
    kept = [goal[0], *(k.metric for k in bounds)]
    looked_at = [None] if share is None else shares_in(share, kept).tolist()
    words = f"{t.prevalence:.4g}, that of the sample"
    note = (
        "The prevalence is that of the sample; if it differs in use, pass prevalence=."
    )
    if share is not None:
        words = share.words()
        note = "Values are the worst over the range of prevalences."
        note = note if share.is_range else ""
    return _Task(
        choice=point,
        tallies={"": t},
        names=("threshold",),
        choose=partial(_best_cut, goal[1], bounds, looked_at),
        goal=goal,
        measured=wanted,
        bounds=bounds,
        share=share,
        prevalence=words,
        note=note,
    )


def _best_cut(
    objective: Metric,
    bounds: Sequence[Limit],
    shares: Sequence[float | None],
    running: list[Confusion],
) -> Ints:
    """Choose the best cut of each sample, the worst of all prevalences counting."""
    (seen,) = running
    value: Any = np.inf
    allowed: Any = True
    for p in shares:
        used = seen.at_prevalence(p)
        value = np.minimum(value, objective(used))  # undefined is never best
        for k in bounds:
            allowed = allowed & np.asarray(k.asked(used))
    value = np.where(allowed & ~np.isnan(value), value, -np.inf)
    top = value.max(axis=1, keepdims=True)
    with np.errstate(invalid="ignore"):  # all may be -inf
        near = value >= top - ROUNDING * np.abs(top)
    # of equally good ones, as best_threshold takes them
    at = np.argmin(np.where(near, np.abs(used.fp - used.fn), np.inf), axis=1)
    return np.where(top[:, 0] > -np.inf, at, -1)[:, None, None]


# what is shown of two cuts besides objective and constraints
_OF_ZONES = ("defer", "precision above", "npv below", "recall above", "fpr above")


def _of_zones(data: Tally, aim: Any, goal: Goal) -> _Task:
    zones = best_thresholds(data, **aim)
    p, bounds = data.design.prevalence, read_limits(aim["subject_to"], SIDES)
    always = read_limits([f"{name} >= 0" for name in _OF_ZONES], SIDES)

    def choose(running: list[Confusion]) -> Ints:
        return np.array([_best_pair(goal[1], bounds, p, c) for c in _each(running[0])])

    return _Task(
        choice=zones,
        tallies={"": data.labelled()},
        names=("upper", "lower"),
        choose=choose,
        goal=goal,
        measured=_quantities((), (*always, *bounds)) | _quantities(goal[:1], ()),
        bounds=bounds,
        share=share_in_use(data),
        prevalence=f"{zones.prevalence:.4g}",
        note="What a person decides about the deferred cases is not included.",
        rows=_ROWS_OF_SEARCHES,
    )


def _each(c: Confusion) -> Iterable[Confusion]:
    """Give the samples one by one."""
    return (c[k] for k in range(len(c.tp)))


def _best_pair(
    objective: Metric, bounds: tuple[Limit, ...], p: float | None, seen: Confusion
) -> list[list[int]]:
    if not (seen.fn[0] > 0 and seen.tn[0] > 0):
        return [[-1, -1]]
    cuts = make_cuts(np.arange(seen.tp.size - 1, 0, -1.0), seen, p)
    found, _ = choose_pair(cuts, objective, bounds)
    if found is None:
        return [[-1, -1]]
    flagged = seen.tp + seen.fp
    # rows without a case of the sample repeat a cut: the first of them is meant
    pair = fewest_deferred(cuts, found)
    return [[int(np.searchsorted(flagged, flagged[k])) for k in pair]]


def _of_groups(data: Mapping[Any, Tally], aim: Any, goal: Goal) -> _Task:
    found = group_thresholds(data, **aim)
    tallies = {str(name): t.labelled() for name, t in data.items()}
    bounds = read_limits(aim["subject_to"], GROUPS)
    unit = unit_of(c for t in tallies.values() for c in (t.pos, t.neg))

    def choose(running: list[Confusion]) -> Ints:
        samples = zip(*map(_each, running), strict=True)
        return np.array([_best_groups(goal[1], bounds, unit, s) for s in samples])

    return _Task(
        choice=found,
        tallies=tallies,
        names=("",),
        choose=choose,
        goal=goal,
        measured=_quantities((*METRICS.values(), goal[0]), bounds),
        bounds=bounds,
        share=None,
        prevalence="that of the sample",
        note="Each group was drawn by itself, with as many cases as it has.",
        rows=_ROWS_OF_SEARCHES,
    )


def _best_groups(
    objective: Metric, bounds: Any, unit: Fraction, seen: Sequence[Confusion]
) -> list[list[int]]:
    score = (np.arange(c.tp.size - 1, 0, -1.0) for c in seen)
    cuts = [make_cuts(x, c, None, unit=unit) for x, c in zip(score, seen, strict=True)]
    until = time.monotonic() + 1.0
    found = GroupQuestion(cuts, bounds).optimum(objective, until)[0].cuts
    return [[-1]] * len(cuts) if found is None else [[k] for k in found]


class _Runs(NamedTuple):
    """Choices that were made again, and the cells (samples, groups, sides, 2) of each.

    ``bag`` are those of its sample, ``out`` of the cases left out, ``whole`` of all.
    """

    places: Ints  # of the cuts in their tallies (samples, groups, cuts)
    bag: Floats
    out: Floats
    whole: Floats
    tried: int


_CHUNK = 64  # samples that are looked at together: they stay in the processor's cache


def _repeated(task: _Task, number: int, rng: np.random.Generator) -> _Runs:
    """Repeat a choice on bootstrap samples."""
    few = [_joined(t, task.rows) for t in task.tallies.values()]
    whole = [_running(t.pos[None], t.neg[None]) for t, _ in few]
    drawn = [_Draw(t) for t, _ in few]
    parts: list[list[Array]] = []
    with progress("Bootstrap", number, "samples") as went_by:
        for start in range(0, number, _CHUNK):
            some = min(_CHUNK, number - start)
            both = [draw(some, rng) for draw in drawn]
            bag, out = ([_running(*x[k]) for x in both] for k in (0, 1))
            at = task.choose(bag)
            good = (at >= 0).all(axis=(1, 2))
            kinds = (bag, out, [_repeat(c, some) for c in whole])
            found: list[list[Any]] = [
                [before[at[good, g]] for g, (_, before) in enumerate(few)]
            ]
            for kind in kinds:
                found.append([_cells(c, at[good, g], good) for g, c in enumerate(kind)])
            parts.append([np.stack(x, axis=1) for x in found])
            went_by(some)
    places, *cells = (np.concatenate(x) for x in zip(*parts, strict=True))
    runs = _Runs(places, cells[0], cells[1], cells[2], number)
    missing = number - len(runs.places)
    if 2 * missing > number:
        pos, neg = (sum(getattr(t, k) for t in task.tallies.values())
                    for k in ("n_pos", "n_neg"))  # fmt: skip
        raise NotEnoughCases(
            f"validate_threshold needs a choice in most bootstrap samples; in "
            f"{missing:,} of {number:,} no threshold met the constraints or "
            f"{task.goal[0].name} was undefined. Loosen the constraints, or collect "
            f"more than {brief(pos)} positives and {brief(neg)} negatives."
        )
    return runs


class _Draw:
    """Draws samples of a tally: positives and negatives drawn, and those left out.

    Of N equal cases of a row, of which B were drawn, :math:`N (1 - 1/N)^B` are left out
    on average; that mean stands for them.
    """

    def __init__(self, t: Tally) -> None:
        self.rows, self.clusters = len(t), t.grouped
        self.fixed = t.design.fixed_classes
        if self.clusters is not None:
            from scipy.sparse import csr_array

            c, shape = self.clusters, (self.clusters.number, len(t))
            self.tables = [csr_array((k, (c.code, c.row)), shape=shape)
                           for k in (c.counts[1], c.counts[0])]  # fmt: skip
            return
        pairs = (t.pos, t.squares[1]), (t.neg, t.squares[0])
        kinds = [whole_draws(w.astype(float), q.astype(float)) for w, q in pairs]
        self.weight = [weight for _, weight in kinds]
        self.cases = [np.where(weight > 0, n, 0) for n, weight in kinds]

    def __call__(self, number: int, rng: np.random.Generator) -> Any:
        """Give (positives, negatives) of the sample, and of what it left out."""
        if self.clusters is not None:
            many = self.clusters.number
            times = rng.multinomial(many, np.full(many, 1 / many), size=number)
            return [[often @ table for table in self.tables]
                    for often in (times, (times == 0).astype(np.int64))]  # fmt: skip
        if self.fixed:
            taken = [draw(n, number, rng) for n in self.cases]
        else:
            taken = np.split(draw(np.concatenate(self.cases), number, rng), 2, axis=1)
        both = list(zip(self.cases, taken, self.weight, strict=True))
        left = [n * np.power(1 - 1 / np.maximum(n, 1), b) * w for n, b, w in both]
        return [[b * w for _, b, w in both], left]


def _repeat(c: Confusion, number: int) -> Confusion:
    return Confusion(*(np.broadcast_to(x, (number, x.shape[1])) for x in c.cells))


def _joined(t: Tally, most: int) -> tuple[Tally, Ints]:
    """Join neighbouring rows; give, too, the place of each cut in the tally."""
    few = coarser(t, most)
    if few is t:
        return t, np.arange(len(t) + 1)
    start = group_starts(t.neg / t.n_neg + t.pos / t.n_pos, most)
    return few, np.append(start, len(t))


def _running(pos: Array, neg: Array) -> Confusion:
    """Count right and wrong cases at all cuts of some samples."""
    tp, fp = (np.pad(np.cumsum(x, axis=1), ((0, 0), (1, 0))) for x in (pos, neg))
    return Confusion(tp, fp, tp[:, -1:] - tp, fp[:, -1:] - fp)


def _cells(c: Confusion, at: Ints, which: Any) -> Floats:
    """Count positives and negatives flagged, deferred and cleared in some samples."""
    at = at if at.shape[1] == 2 else np.repeat(at, 2, axis=1)  # one cut defers nothing
    sides = []
    for x in (c.tp[which], c.fp[which]):
        ends = np.take_along_axis(x, at, axis=1)
        sides.append(np.diff(ends, axis=1, prepend=0, append=x[:, -1:]))
    return np.stack(sides, axis=-1).astype(np.float64)


def _judged(task: _Task, runs: _Runs, level: float) -> Validation:
    rule, shown = task.choice.rule, task.goal[0].name
    rows = [
        rule.verdicts({name: t} if rule.groups else t)
        for name, t in task.tallies.items()
    ]
    cells = np.array([[[x[t.score == kind].sum() for x in (t.pos, t.neg)]
                       for kind in (1.0, 0.5, 0.0)] for t in rows], float)  # fmt: skip
    fair = _without_optimism(cells, runs)
    metrics = {
        name: _expected(task, name, rows, cells, fair, runs, level)
        for name in task.measured
        if math.isfinite(float(task.value(name, fair)))
    }
    if shown not in metrics:
        raise NotEnoughCases(
            f"validate_threshold needs cases on which {shown} is defined; the cases "
            "that samples left out are too few."
        )
    first = next(iter(task.tallies.values()))
    held = {
        str(k): np.all(
            [k.kept(task.measure(k, p)(runs.out)) for p in task.ends], axis=0
        )
        for k in task.bounds
    }
    return Validation(
        choice=task.choice,
        thresholds=_thresholds(task, runs, level),
        value=task.choice.value,
        corrected=metrics[shown],
        optimism=task.choice.value - metrics[shown].value,
        in_bag=np.asarray(task.value(shown, runs.bag)),
        out_of_bag=np.asarray(task.value(shown, runs.out)),
        metrics=metrics,
        holds={name: float(np.mean(kept)) for name, kept in held.items()},
        failed=1 - len(runs.places) / runs.tried,
        prevalence=task.prevalence,
        notes=(
            "The cases are assumed to be like those in use"
            + ("." if first.clusters is not None else ", and independent; if some are "
               "of one person or one site, say so with cluster=."),
            *([task.note] if task.note else []),
            *notes_of(first),
        ),
    )  # fmt: skip


def _thresholds(task: _Task, runs: _Runs, level: float) -> dict[str, Estimate]:
    """Give each chosen threshold, and the interval in which repeated choices lie."""
    found = {}
    for g, (group, t) in enumerate(task.tallies.items()):
        chosen = task.choice.rule.cuts(group)[::-1]
        for k, name in enumerate(task.names):
            at = runs.places[:, g, k]
            here = float((t.score >= chosen[k]).sum())
            # places have an order and no gaps, also where nothing is flagged
            e = percentiles(here, at.astype(np.float64), level)
            high, low = thresholds_of(
                t.score, np.rint([e.low, e.high]).astype(np.int64)
            )
            sd = _deviation(thresholds_of(t.score, at))
            found[name or group] = around(chosen[k], low, high, level, "bootstrap", sd)
    return found


def _deviation(values: Floats) -> float:
    """Give the standard deviation of those that are finite, also beyond 1e154."""
    values = values[np.isfinite(values)]
    size = float(np.abs(values).max(initial=0.0))
    return (
        size * float((values / size).std(ddof=1))
        if values.size > 1 and size
        else math.nan
    )


def _shares(cells: Floats) -> Floats:
    """Give cells as shares of their class and group."""
    with np.errstate(invalid="ignore"):  # a sample may have none of a class
        return np.asarray(cells / cells.sum(axis=-2, keepdims=True))


_DISTINCT = 1 - math.exp(-1)  # the share of the cases that a sample holds


def _without_optimism(cells: Floats, runs: _Runs) -> Floats:
    """Count the cases on each side as they would be without the choice.

    The share of a class on a side is that of the population, plus chance, plus what the
    choice made of chance. The repeated choices, judged by their samples and by the
    cases left out, show such a difference; .632 of its mean is taken off, as in Efron's
    .632 estimator, since a sample has fewer distinct cases and chooses worse. Cases
    left out are added up first: the mean of a ratio of few cases is biased.
    """
    gain = np.nanmean(_shares(runs.bag), axis=0) - _shares(runs.out.sum(axis=0))
    shares = np.maximum(_shares(cells) - _DISTINCT * gain, 0)
    sizes = cells.sum(axis=-2, keepdims=True)
    return np.asarray(shares / shares.sum(axis=-2, keepdims=True) * sizes)


def _expected(
    task: _Task,
    name: str,
    rows: list[Tally],
    cells: Floats,
    fair: Floats,
    runs: _Runs,
    level: float,
) -> Estimate:
    """Give a corrected value and limits that allow for the choice."""
    found, what = [], task.measured[name]
    for measure in (task.measure(what, p) for p in task.ends):
        value = float(measure(fair))
        ends = _corner_values(measure, cells, what.range, len(task.names))
        s = _spread(measure, rows, cells)
        more = _of_choices(measure, runs, ends)
        if ends[0] > -math.inf and ends[1] == math.inf:
            # limits are made on the logarithmic scale, and so is the variance
            away = float(measure(cells)) - ends[0]
            fixed = s.variance / away**2 if away else 0.0
            variance = max(fixed, more) * (value - ends[0]) ** 2
        else:
            variance = max(s.variance, more)
        s = s._replace(variance=variance + task.doubt(name, cells))
        found.append(limited(value, s, ends, level))
    low, high = min(e.low for e in found), max(e.high for e in found)
    sd = max(e.sd for e in found)
    value = float(task.value(name, fair))
    return around(value, low, high, level, "bootstrap", sd, name=name)


def _of_choices(measure: Measure, runs: _Runs, ends: tuple[float, float]) -> float:
    """How far does what a repeated choice gains in its sample vary?"""
    with np.errstate(divide="ignore", invalid="ignore"):  # odds may be infinite
        inside, out = (np.asarray(measure(x), float) for x in (runs.bag, runs.whole))
        if ends[0] > -math.inf and ends[1] == math.inf:
            inside, out = np.log(inside - ends[0]), np.log(out - ends[0])
        gain = inside - out
    gain = gain[np.isfinite(gain)]
    return float(gain.var(ddof=1)) if gain.size > 1 else 0.0


def _spread(measure: Measure, rows: list[Tally], cells: Floats) -> Spread:
    """How far does a measure vary, the rule taken as fixed? By its slopes by cells."""
    # central differences, a millionth of each count away
    step = (1e-6 * np.diag(cells.ravel())).reshape(-1, *cells.shape)
    up, down = (np.asarray(measure(cells + d), np.float64) for d in (step, -step))
    with np.errstate(divide="ignore", invalid="ignore"):
        slope = (up - down) / (2e-6 * cells.ravel())
    slope = np.where(np.isfinite(slope), slope, 0.0).reshape(cells.shape)
    each = []
    for t, by in zip(rows, slope, strict=True):
        pos, neg = by[np.rint(2 - 2 * t.score).astype(np.int64)].T
        s = spread_of(t, Influence(neg, pos), by_class=t.design.fixed_classes)
        each.append(s if s.variance >= 0 else s._replace(variance=0.0))
    return reduce(apart, each)


def _corner_values(
    measure: Measure, cells: Floats, ends: tuple[float, float], cuts: int
) -> tuple[float, float]:
    """Between which values does a measure lie? A count or a cost has no other end.

    Sums of counts are largest, and smallest, where each class is on one side.
    """
    if np.isfinite(ends).all():
        return ends
    corners = list(product((0, 2) if cuts == 1 else (0, 1, 2), repeat=2))
    tables = np.zeros((len(corners), *cells.shape))
    for table, pair in zip(tables, corners, strict=True):
        for kind, side in enumerate(pair):
            table[:, side, kind] = cells[..., kind].sum(axis=-1)
    values = np.asarray(measure(tables), np.float64)
    known = values[~np.isnan(values)]
    if not known.size:
        return ends
    least, most = max(ends[0], float(known.min())), min(ends[1], float(known.max()))
    return (least, most) if least < most else ends
