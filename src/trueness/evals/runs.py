"""Which of several runs is better, which rank can each have, what would show it?

Runs are paired by item, whose difficulty is then no part of a difference. With one
attempt at each item this is McNemar's comparison, exact; otherwise Student's.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from statistics import NormalDist
from string import ascii_lowercase
from typing import Any, final

import numpy as np

from trueness._core.arrays import Array, Ints
from trueness._core.checks import options as _options
from trueness._core.checks.errors import InputError, NotEnoughCases
from trueness._core.figures import Intervals, intervals
from trueness._core.numbers import counted, level_text, percent
from trueness._core.records import Estimate, Record, as_precise, shown
from trueness.comparison.at_threshold import compare_metric
from trueness.comparison.results import Comparison, adjusted, together
from trueness.counts.values import Panel
from trueness.evals.attempts import (
    Attempts,
    estimated,
    item_values,
    systems,
    without_verdict,
)
from trueness.inference.differences import Difference
from trueness.inference.variance import variance_between_units

FEW = 10  # with fewer items only very large differences can be seen


def compare_runs(
    data: Mapping[str, Attempts],
    *,
    reference: str | None = None,
    margin: float | None = None,
    level: float = 0.95,
) -> Comparison:
    r"""Which run passes more often, on the same items, and could it be chance?

    Parameters
    ----------
    data
        A mapping from the name of a system to its attempts. Items that some run has not
        tried are left out, with a note.
    reference
        The run that all others are compared with; every pair when None.
    margin
        How much less a pass rate may be and still count as no worse, for example 0.02;
        adds tests of non-inferiority and of equivalence to every pair.
    level
        Confidence level of the intervals.

    Notes
    -----
    With one attempt per item and no clusters the p-value is McNemar's exact one and the
    interval Tango's (:func:`compare_metric`); otherwise Student's interval of the mean
    difference (Miller 2024, arXiv:2411.00640).

    Examples
    --------
    >>> a = Attempts(list("stuvwxyz"), passed=[1] * 8, tried=[1] * 8)
    >>> b = Attempts(list("stuvwxyz"), passed=[1, 1] + [0] * 6, tried=[1] * 8)
    >>> compare_runs({"a": a, "b": b}).pairs[0].p_value  # 2 / 2**6
    0.03125
    """
    level = _options.fraction(level, "level")
    found = systems(data, "compare_runs", least=2)
    if reference is not None:
        _options.choice(reference, found, "reference")
    shared, notes = same_items(found)
    plain = all(a.cluster is None and (a.tried == 1).all() for a in shared.values())
    answer = (_of_votes if plain else _of_means)(shared, margin, level)
    number = min(a.units[0] for a in shared.values())
    if number < FEW:
        few = f"With {counted(number, 'item')} only a very large difference can be "
        notes = (*notes, f"{few}distinguished from chance.")
    if any(a.missing for a in found.values()):
        each = ", ".join(f"{shown(s)} {a.missing:,}" for s, a in found.items())
        notes = (*notes, without_verdict(each))
    if reference is not None:
        pairs = [p for p in answer.pairs if reference in (p.first, p.second)]
        answer = replace(answer, pairs=adjusted(pairs))
    return replace(answer, method="pass rate", notes=notes)


def same_items(
    runs: Mapping[str, Attempts],
) -> tuple[dict[str, Attempts], tuple[str, ...]]:
    """Keep the items that every run has tried, and say how many are left out."""
    known = [set(a.item) for a in runs.values()]
    shared, every = set.intersection(*known), set.union(*known)
    if not shared:
        raise NotEnoughCases(
            "No item was tried by all runs, so they cannot be compared item by item. "
            "Do the runs name their items alike?"
        )
    if len(shared) == len(every):
        return dict(runs), ()
    note = (
        f"{counted(len(every) - len(shared), 'item')} of {len(every):,} "
        f"{'is' if len(every) - len(shared) == 1 else 'are'} left out: not every run "
        "tried them."
    )
    return {s: a.of_items(shared) for s, a in runs.items()}, (note,)


def _of_votes(
    runs: Mapping[str, Attempts], margin: float | None, level: float
) -> Comparison:
    """Compare runs of one attempt per item: each item is a case, each run a vote."""
    votes = np.column_stack([a.passed for a in runs.values()]).astype(float)
    rows, number = np.unique(votes, axis=0, return_counts=True)
    panel = Panel(list(runs), rows, pos=number, neg=np.zeros_like(number))
    found = compare_metric(
        panel, "recall", thresholds=1.0, method="mcnemar", margin=margin, level=level
    )
    values = tuple(replace(v, name="pass rate") for v in found.values)
    return replace(found, values=values)


def _of_means(
    runs: Mapping[str, Attempts], margin: float | None, level: float
) -> Comparison:
    """Compare runs of several attempts, or of clusters, by the means of their items."""
    found = {s: item_values(a) for s, a in runs.items()}
    grouped = (a for a in runs.values() if a.cluster is not None)
    codes = next((a.codes() for a in grouped), None)
    columns = [each for _, each in found.values()]

    def contrast(i: int, j: int) -> Difference:
        d = columns[i] - columns[j]
        value = float(d.mean())
        return Difference(value, variance_between_units((d - value) / d.size, codes))

    values = {s: estimated(runs[s], *found[s], level, "pass rate") for s in runs}
    return together(values, contrast, margin=margin, paired=True, method="pass rate")


@final
@dataclass(frozen=True, repr=False)
class ItemPlan(Record):
    """How many items are enough, and would more attempts help?

    Attributes
    ----------
    items, attempts : int
        Items that it takes, with so many attempts at each by each system.
    difference, half_width : float
        What is to be seen: the difference between two systems, or the half width of
        the interval of one rate; NaN where it is not the question.
    power, level : float
        The chance to see it (NaN for a half width), and the confidence level.
    between, within : float
        Variance between items, and of one attempt at an item; NaN where the pilot has
        one attempt per item, so that they cannot be distinguished.
    by_attempts : mapping from int to int
        Items that it takes with other numbers of attempts.
    """

    items: int
    attempts: int
    difference: float
    half_width: float
    power: float
    level: float
    between: float
    within: float
    by_attempts: Mapping[int, int]
    notes: tuple[str, ...] = field(default=(), kw_only=True)

    def __repr__(self) -> str:
        """Say how many items it takes, and what more attempts would save."""
        return "\n".join([self.sentence, *(f"  Note: {n}" for n in self.notes)])

    @property
    def sentence(self) -> str:
        """Say it in words."""
        if math.isnan(self.half_width):
            goal = (
                f"see a difference of {percent(self.difference)} with a power of "
                f"{percent(self.power)}"
            )
        else:
            goal = f"know the pass rate to within {percent(self.half_width)}"
        text = f"It takes {counted(self.items, 'item')} to {goal}, with "
        text += f"{counted(self.attempts, 'attempt')} at each."
        other = [f"{n:,} with {k}" for k, n in self.by_attempts.items()]
        return text + (f" Items by attempts: {', '.join(other)}." if other else "")


def plan_items(
    data: Attempts | Mapping[str, Attempts],
    *,
    difference: float | None = None,
    half_width: float | None = None,
    attempts: int | None = None,
    power: float = 0.8,
    level: float = 0.95,
) -> ItemPlan:
    r"""How many items distinguish two systems: more items, or more attempts?

    .. math:: m = \frac{(z_{1-\alpha/2} + z_{\mathrm{power}})^2}{\delta^2}
              \Bigl(\sigma_b^2 + \frac{\sigma_w^2}{n}\Bigr)

    Parameters
    ----------
    data
        Attempts of two systems at the same items, or, for ``half_width``, of one.
    difference
        The difference between the pass rates that is to be seen, for example 0.03.
    half_width
        Instead: how far the limits of one pass rate may be from it.
    attempts
        Attempts at each item; those of the pilot when None.
    power
        The chance that the difference will be significant.
    level
        Confidence level of the later interval.

    Notes
    -----
    :math:`\sigma_b^2` is the variance between items of the difference (or the rate) and
    :math:`\sigma_w^2` that of one attempt; more attempts reduce the second part only
    (Miller 2024, arXiv:2411.00640, sec. 5).

    Examples
    --------
    >>> a = Attempts(["w", "x", "y", "z"], passed=[2, 2, 0, 0], tried=[2] * 4)
    >>> plan_items(a, half_width=0.1, attempts=1).items  # 1.96**2 / 0.1**2 / 3
    129
    """
    level, power = _options.fraction(level, "level"), _options.fraction(power, "power")
    if (difference is None) == (half_width is None):
        raise InputError(
            "plan_items needs difference= (of two systems) or half_width= (of one). "
            "Type trueness.plan_items(pilot, difference=0.03)."
        )
    z = NormalDist().inv_cdf((1 + level) / 2)
    if difference is not None:
        goal = _options.fraction(difference, "difference")
        z += NormalDist().inv_cdf(power)
        found = systems(data, "plan_items", least=2)
        if len(found) > 2:
            raise InputError(
                f"plan_items compares two systems; found {len(found)}. Type "
                'trueness.plan_items({"A": a, "B": b}, difference=0.03).'
            )
        runs = list(same_items(found)[0].values())
    else:
        goal = _options.fraction(half_width, "half_width")
        runs = list(systems(data, "plan_items").values())[:1]
    own = max(int(np.median(a.tried)) for a in runs)
    n = _options.whole_number(
        own if attempts is None else attempts, "attempts", at_least=1
    )
    total, between, within = _variances(runs)
    known = math.isfinite(within)

    def take(k: int) -> int:
        variance = between + within / k if known else total
        return max(2, math.ceil(z * z * variance / goal**2 - 1e-9))

    if not known and n != own:
        raise NotEnoughCases(
            "A pilot with one attempt per item does not show how much attempts at an "
            f"item differ. Try its items twice or more, or type attempts={own}."
        )
    others = {k: take(k) for k in (1, 2, 5, 10, 20) if k != n} if known else {}
    notes = () if len(runs[0]) >= 30 else (
        f"The pilot has {counted(len(runs[0]), 'item')}: the plan is a rough one.",
    )  # fmt: skip
    asked = (
        (goal, math.nan, power) if half_width is None else (math.nan, goal, math.nan)
    )
    return ItemPlan(take(n), n, *asked, level, between, within, others, notes=notes)


def _variances(runs: Sequence[Attempts]) -> tuple[float, float, float]:
    """Give the variance of items, its part between them, and that of one attempt.

    The parts are NaN where some item has one attempt.
    """
    rates = [a.passed / a.tried for a in runs]
    d = rates[0] - rates[1] if len(rates) > 1 else rates[0]
    if d.size < 2:
        raise NotEnoughCases("plan_items needs a pilot of two or more items.")
    total = float(d.var(ddof=1))
    if any((a.tried < 2).any() for a in runs):
        return total, math.nan, math.nan
    # c (n - c) / (n (n - 1)) is unbiased for the variance of one attempt
    one = [
        r * (1 - r) * a.tried / (a.tried - 1) for r, a in zip(rates, runs, strict=True)
    ]
    share = sum(float((v / a.tried).mean()) for v, a in zip(one, runs, strict=True))
    return total, max(total - share, 0.0), sum(float(v.mean()) for v in one)


@final
@dataclass(frozen=True, repr=False)
class Leaderboard(Record):
    """How good is each system, and which ranks can it have?

    Attributes
    ----------
    names, rates : tuple of str, tuple of Estimate
        The systems, the highest pass rate first, and their pass rates.
    best_rank, worst_rank : array of int
        The ranks that each may have; all of these sets hold together with the
        confidence level.
    groups : tuple of str
        Systems that share a letter cannot be distinguished.
    comparison, level : Comparison, float
        Every pair, on which ranks and groups rest; the confidence level.
    """

    names: tuple[str, ...]
    rates: tuple[Estimate, ...]
    best_rank: Ints
    worst_rank: Ints
    groups: tuple[str, ...]
    comparison: Comparison
    level: float
    notes: tuple[str, ...] = field(default=(), kw_only=True)

    def __repr__(self) -> str:
        """Write a line for each system."""
        wide = max(len(shown(n)) for n in self.names)
        lines = [
            f"Leaderboard ({level_text(self.level)} confidence: intervals one by one, "
            "ranks together)"
        ]
        for k, (name, e) in enumerate(zip(self.names, self.rates, strict=True)):
            value, low, high = as_precise(e.value, e.low, e.high)
            lines.append(
                f"  {self.ranks(k):>7}  {shown(name):<{wide}}  {value} "
                f"({low} to {high})  {self.groups[k]}"
            )
        return "\n".join([*lines, *(f"  Note: {n}" for n in self.notes)])

    def ranks(self, k: int) -> str:
        """Write the ranks that the k-th system may have."""
        best, worst = int(self.best_rank[k]), int(self.worst_rank[k])
        return str(best) if best == worst else f"{best} to {worst}"

    def columns(self) -> dict[str, Any]:
        """Give a table with one row per system."""
        ends = ("value", "low", "high")
        return {
            "system": list(self.names),
            **{k: np.array([getattr(e, k) for e in self.rates]) for k in ends},
            "best_rank": self.best_rank,
            "worst_rank": self.worst_rank,
            "group": list(self.groups),
        }


def leaderboard(data: Mapping[str, Attempts], *, level: float = 0.95) -> Leaderboard:
    r"""Which rank can each system have?

    Parameters
    ----------
    data
        A mapping from the name of a system to its attempts at the same items.
    level
        Confidence level of the intervals, and of all ranks together.

    Notes
    -----
    A system is behind all that are significantly better and before all that are
    significantly worse, by the Holm-adjusted comparisons of every pair
    (:func:`compare_runs`). As no pair is wrong with the confidence level, no set of
    ranks is (Mogstad et al. 2024, Rev. Econ. Stud. 91:476). Letters show the same
    (Piepho 2004): systems that share one do not differ significantly.

    Examples
    --------
    >>> items = [str(k) for k in range(40)]
    >>> runs = {"a": [1] * 40, "b": [1] * 39 + [0], "c": [0] * 40}
    >>> runs = {s: Attempts(items, passed=p, tried=[1] * 40) for s, p in runs.items()}
    >>> leaderboard(runs).worst_rank
    array([2, 2, 3])
    """
    found = compare_runs(systems(data, "leaderboard", least=2), level=level)
    order = sorted(range(len(found.names)), key=lambda k: -found.values[k].value)
    place = {found.names[k]: at for at, k in enumerate(order)}
    better = np.zeros((len(order), len(order)), bool)  # by row than which, by column
    for pair in found.pairs:
        if pair.p_adjusted <= 1 - level:
            i, j = place[pair.first], place[pair.second]
            better[(i, j) if pair.difference.value > 0 else (j, i)] = True
    return Leaderboard(
        tuple(found.names[k] for k in order),
        tuple(found.values[k] for k in order),
        1 + better.sum(axis=0),
        len(order) - better.sum(axis=1),
        _letters(better | better.T),
        found,
        level,
        notes=found.notes,
    )


def _letters(apart: Array) -> tuple[str, ...]:
    """Give letters that exactly the systems share which do not differ (Piepho 2004).

    Begin with one letter for all; a pair that differs splits every letter that both
    have; a letter whose systems all share another one is absorbed.
    """
    sets: list[frozenset[int]] = [frozenset(range(len(apart)))]
    for i, j in zip(*np.nonzero(np.triu(apart)), strict=True):
        split = [s - {k} for s in sets if {i, j} <= s for k in (int(i), int(j))]
        sets = [s for s in sets if not {i, j} <= s]
        for s in split:
            if not any(s <= other for other in sets):
                sets = [*(other for other in sets if not other < s), s]
    sets.sort(key=lambda s: sorted(s))
    names = [_name(k) for k in range(len(sets))]
    return tuple(
        " ".join(n for n, s in zip(names, sets, strict=True) if k in s)
        for k in range(len(apart))
    )


def _name(k: int) -> str:
    return (_name(k // 26 - 1) if k >= 26 else "") + ascii_lowercase[k % 26]


def rates_figure(found: Leaderboard | Mapping[str, Estimate]) -> Intervals:
    """Put rates under one another; those of a leaderboard with their ranks."""
    if not isinstance(found, Leaderboard):
        return intervals("Pass rates", "Pass rate", found, keys=("what", "rate"))
    named = {
        f"{n} ({found.ranks(k)})": e
        for k, (n, e) in enumerate(zip(found.names, found.rates, strict=True))
    }
    return intervals("Pass rates", "Pass rate", named, keys=("system (ranks)", "rate"))
