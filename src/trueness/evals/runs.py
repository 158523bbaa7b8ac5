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
from typing import Any, NamedTuple, final

import numpy as np

from trueness._core.arrays import Array, Ints
from trueness._core.checks import options as _options
from trueness._core.checks.errors import InputError, NotEnoughCases, PythonCode
from trueness._core.figures import Intervals, intervals
from trueness._core.numbers import counted, level_text, percent
from trueness._core.records import Estimate, Record, as_precise, shown
from trueness.comparison.at_threshold import compare_metric
from trueness.comparison.results import Comparison, adjust_for_pairs, compare_pairs
from trueness.counts.values import Panel
from trueness.evals.attempts import (
    Attempts,
    attempts_by_system,
    estimate_rate,
    item_values,
    without_verdict,
)
from trueness.inference.differences import Difference
from trueness.inference.variance import variance_between_units

# with fewer items only very large differences can be seen
FEW_ITEMS = 10
# a pilot with fewer items makes a rough plan
FEW_PILOT_ITEMS = 30
# a plan also says how many items these numbers of attempts need
OTHER_ATTEMPTS = (1, 2, 5, 10, 20)


def compare_runs(
    data: Mapping[str, Attempts],
    *,
    reference: str | None = None,
    margin: float | None = None,
    level: float = 0.95,
) -> Comparison:
    r"""Differences of pass rates on the same items, with tests.

    Which run passes more often, and could it be chance?

    Parameters
    ----------
    data
        A mapping from the name of a system to its attempts. Items that a run has not
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
    With one attempt per item and no clusters, the p-value is McNemar's exact one
    and the interval Tango's (:func:`compare_metric`). Otherwise it is Student's
    interval of the mean difference (Miller 2024, arXiv:2411.00640).

    Examples
    --------
    >>> a = Attempts(list("stuvwxyz"), passed=[1] * 8, tried=[1] * 8)
    >>> b = Attempts(list("stuvwxyz"), passed=[1, 1] + [0] * 6, tried=[1] * 8)
    >>> compare_runs({"a": a, "b": b}).pairs[0].p_value  # 2 / 2**6
    0.03125
    """
    level = _options.fraction(level, "level")
    runs = attempts_by_system(data, "compare_runs", at_least=2)
    if reference is not None:
        _options.choice(reference, runs, "reference")

    shared, notes = same_items(runs)
    if all(_is_one_attempt_per_item(run) for run in shared.values()):
        comparison = _compare_votes(shared, margin, level)
    else:
        comparison = _compare_means(shared, margin, level)

    if reference is not None:
        pairs = [
            pair for pair in comparison.pairs if reference in (pair.first, pair.second)
        ]
        comparison = replace(comparison, pairs=adjust_for_pairs(pairs))

    # clusters of items where there are any
    fewest = min(run.units[0] for run in shared.values())
    if fewest < FEW_ITEMS:
        notes.append(
            f"With {counted(fewest, 'item')} only a very large difference can be "
            "distinguished from chance."
        )

    if any(run.missing for run in runs.values()):
        missing = ", ".join(
            f"{shown(system)} {run.missing:,}" for system, run in runs.items()
        )
        notes.append(without_verdict(missing))

    return replace(comparison, measure="pass rate", notes=tuple(notes))


def _is_one_attempt_per_item(run: Attempts) -> bool:
    """Return whether each item was tried once and items are not clustered."""
    return run.cluster is None and bool((run.tried == 1).all())


def same_items(
    runs: Mapping[str, Attempts],
) -> tuple[dict[str, Attempts], list[str]]:
    """Return the runs at the items that all of them tried, and a note on the others."""
    items_of_runs = [set(run.item) for run in runs.values()]
    shared = set.intersection(*items_of_runs)
    all_items = set.union(*items_of_runs)

    if not shared:
        raise NotEnoughCases(
            "No item was tried by all runs, so they cannot be compared item by item. "
            "Do the runs use the same item names?"
        )

    n_left_out = len(all_items) - len(shared)
    if n_left_out == 0:
        return dict(runs), []

    verb = "is" if n_left_out == 1 else "are"
    note = (
        f"{counted(n_left_out, 'item')} of {len(all_items):,} {verb} left out: not "
        "every run tried them."
    )

    return {system: run.select_items(shared) for system, run in runs.items()}, [note]


def _compare_votes(
    runs: Mapping[str, Attempts], margin: float | None, level: float
) -> Comparison:
    """Return the comparison of runs with one attempt per item, by paired tests."""
    votes = np.column_stack([run.passed for run in runs.values()]).astype(float)
    rows, counts = np.unique(votes, axis=0, return_counts=True)
    panel = Panel(list(runs), rows, pos=counts, neg=np.zeros_like(counts))
    # each item is a positive case and each run a vote, so that the pass rate is recall
    comparison = compare_metric(
        panel, "recall", thresholds=1.0, method="mcnemar", margin=margin, level=level
    )
    values = tuple(replace(rate, name="pass rate") for rate in comparison.values)

    return replace(comparison, values=values)


def _compare_means(
    runs: Mapping[str, Attempts], margin: float | None, level: float
) -> Comparison:
    """Return the comparison of runs by the mean over items of their pass rates."""
    values_of_runs = {system: item_values(run) for system, run in runs.items()}
    columns = [values.values for values in values_of_runs.values()]
    clustered = [run for run in runs.values() if run.cluster is not None]
    # all runs are of the same items, and so of the same clusters
    cluster_codes = clustered[0].codes() if clustered else None

    def difference(first: int, second: int) -> Difference:
        differences = columns[first] - columns[second]
        mean = float(differences.mean())
        deviations = (differences - mean) / differences.size
        return Difference(mean, variance_between_units(deviations, cluster_codes))

    rates = {
        system: estimate_rate(run, values_of_runs[system], level, "pass rate")
        for system, run in runs.items()
    }

    return compare_pairs(
        rates, difference, margin=margin, paired=True, measure="pass rate"
    )


# more items than any evaluation has: a plan beyond it is a slip of the decimal point
MAX_ITEMS = 10**12


@final
@dataclass(frozen=True, repr=False)
class ItemPlan(Record):
    """Items that an evaluation needs, for several numbers of attempts.

    Attributes
    ----------
    items, attempts : int
        Number of items needed, with this number of attempts at each by each system.
    difference, half_width : float
        The difference to detect, or the half-width of the interval of one rate; NaN
        where it is not planned for.
    power, level : float
        The power (NaN for a half-width), and the confidence level.
    between, within : float
        Variance between items, and of one attempt at an item; NaN where the pilot has
        one attempt per item, so that they cannot be distinguished.
    by_attempts : mapping from int to int
        Numbers of items needed with other numbers of attempts.
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
        """Return the sentence and the notes."""
        notes = [f"  Note: {note}" for note in self.notes]
        return "\n".join([self.sentence, *notes])

    @property
    def sentence(self) -> str:
        """Return in words how many items the goal needs."""
        if math.isnan(self.half_width):
            goal = (
                f"detect a difference of {percent(self.difference)} with a power of "
                f"{percent(self.power)}"
            )
        else:
            goal = f"estimate the pass rate to within {percent(self.half_width)}"

        text = (
            f"It takes {counted(self.items, 'item')} to {goal}, with "
            f"{counted(self.attempts, 'attempt')} at each."
        )
        if self.by_attempts:
            others = [f"{items:,} with {k}" for k, items in self.by_attempts.items()]
            text += f" Items by attempts: {', '.join(others)}."

        return text


def plan_items(
    data: Attempts | Mapping[str, Attempts],
    *,
    difference: float | None = None,
    half_width: float | None = None,
    attempts: int | None = None,
    power: float = 0.8,
    level: float = 0.95,
) -> ItemPlan:
    r"""Number of items for the power of a comparison, or the width of an interval.

    How many items distinguish two systems: more items, or more attempts?

    .. math:: m = \frac{(z_{1-\alpha/2} + z_{\mathrm{power}})^2}{\delta^2}
              \Bigl(\sigma_b^2 + \frac{\sigma_w^2}{n}\Bigr)

    Parameters
    ----------
    data
        Attempts of two systems at the same items, or, for ``half_width``, of one.
    difference
        The difference between the pass rates to detect, for example 0.03.
    half_width
        Instead: half the width of the interval of one pass rate.
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
    level = _options.fraction(level, "level")
    power = _options.fraction(power, "power")

    if (difference is None) == (half_width is None):
        raise InputError(
            "plan_items needs one goal: a difference (of two systems) or a half_width "
            "(of one).",
            option="difference",
            example=0.03,
        )

    z = NormalDist().inv_cdf((1 + level) / 2)
    if difference is not None:
        goal = _options.fraction(difference, "difference")
        z += NormalDist().inv_cdf(power)
        runs = _two_runs(data)
    else:
        goal = _options.fraction(half_width, "half_width")
        runs = list(attempts_by_system(data, "plan_items").values())[:1]

    usual_attempts = max(int(np.median(run.tried)) for run in runs)
    n_attempts = _options.whole_number(
        usual_attempts if attempts is None else attempts, "attempts", at_least=1
    )
    variances = _item_variances(runs)
    if not variances.separable and n_attempts != usual_attempts:
        raise NotEnoughCases(
            "A pilot with one attempt per item does not show how much attempts at an "
            "item vary. Try its items twice or more, or set attempts.",
            option="attempts",
            example=usual_attempts,
        )

    other_attempts = [k for k in OTHER_ATTEMPTS if k != n_attempts]

    return ItemPlan(
        items=_items_for(goal, z, variances, n_attempts),
        attempts=n_attempts,
        difference=math.nan if difference is None else goal,
        half_width=math.nan if half_width is None else goal,
        power=math.nan if difference is None else power,
        level=level,
        between=variances.between,
        within=variances.within,
        by_attempts={
            k: _items_for(goal, z, variances, k)
            for k in other_attempts
            if variances.separable
        },
        notes=_pilot_notes(len(runs[0])),
    )


def _two_runs(data: Attempts | Mapping[str, Attempts]) -> list[Attempts]:
    """Return the attempts of two systems at the items that both have tried."""
    runs = attempts_by_system(data, "plan_items", at_least=2)
    if len(runs) > 2:
        raise InputError(
            f"A difference is planned for two systems; found {len(runs)}.",
            example=PythonCode(
                'trueness.plan_items({"A": a, "B": b}, difference=0.03)'
            ),
        )

    shared, _ = same_items(runs)
    return list(shared.values())


class ItemVariances(NamedTuple):
    """Variance of a rate, or of a difference, at one item.

    The parts are NaN where some item has one attempt.
    """

    total: float
    between: float  # between items
    within: float  # of one attempt at an item

    @property
    def separable(self) -> bool:
        """Return whether both parts are known."""
        return math.isfinite(self.within)


def _items_for(goal: float, z: float, variances: ItemVariances, attempts: int) -> int:
    """Return the items for which z standard errors are at most the goal."""
    variance = variances.total
    if variances.separable:
        variance = variances.between + variances.within / attempts

    # divided twice: the square of a tiny goal would be zero
    items = z * z * variance / goal / goal
    if not items < MAX_ITEMS:
        raise InputError(
            f"The goal {goal:g} would need more than {MAX_ITEMS:,} items. Choose a "
            "larger difference or half-width.",
            option="difference",
        )

    # a number that is whole except for rounding errors is not rounded up
    return max(2, math.ceil(items - 1e-9))


def _item_variances(runs: Sequence[Attempts]) -> ItemVariances:
    """Return the variance between items of a rate, or of a difference of two."""
    rates = [run.passed / run.tried for run in runs]
    values = rates[0] - rates[1] if len(rates) > 1 else rates[0]
    if values.size < 2:
        raise NotEnoughCases("plan_items needs a pilot of two or more items.")

    # between items, with the part that attempts add to each rate
    total = float(values.var(ddof=1))
    if any((run.tried < 2).any() for run in runs):
        return ItemVariances(total, math.nan, math.nan)

    within = 0.0
    part_within = 0.0  # what the attempts add to the variance of the rates

    for rate, run in zip(rates, runs, strict=True):
        # c (n - c) / (n (n - 1)) is unbiased for the variance of one attempt
        one_attempt = rate * (1 - rate) * run.tried / (run.tried - 1)
        within += float(one_attempt.mean())
        part_within += float((one_attempt / run.tried).mean())

    return ItemVariances(total, max(total - part_within, 0.0), within)


def _pilot_notes(n_items: int) -> tuple[str, ...]:
    """Return a note if the pilot is small."""
    if n_items >= FEW_PILOT_ITEMS:
        return ()
    return (f"The pilot has {counted(n_items, 'item')}, so this plan is rough.",)


@final
@dataclass(frozen=True, repr=False)
class Leaderboard(Record):
    """Pass rates of several systems, with the ranks that each can have.

    Attributes
    ----------
    names, rates : tuple of str, tuple of Estimate
        The systems, the highest pass rate first, and their pass rates.
    best_rank, worst_rank : array of int
        The best and worst rank that each may have; all hold jointly with the confidence
        level.
    groups : tuple of str
        Systems that share a letter cannot be distinguished.
    comparison, level : Comparison, float
        Comparison of every pair, from which ranks and groups follow; the confidence
        level.
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
        """Return a table with a line for each system, and the notes."""
        width = max(len(shown(name)) for name in self.names)
        lines = [
            f"Leaderboard ({level_text(self.level)} confidence: intervals one by one, "
            "ranks together)"
        ]
        for k, name in enumerate(self.names):
            rate = self.rates[k]
            value, low, high = as_precise(rate.value, rate.low, rate.high)
            lines.append(
                f"  {self.ranks(k):>7}  {shown(name):<{width}}  {value} "
                f"({low} to {high})  {self.groups[k]}"
            )

        for note in self.notes:
            lines.append(f"  Note: {note}")

        return "\n".join(lines)

    def ranks(self, k: int) -> str:
        """Return the ranks that the k-th system may have, as text."""
        best = int(self.best_rank[k])
        worst = int(self.worst_rank[k])
        return str(best) if best == worst else f"{best} to {worst}"

    def columns(self) -> dict[str, Any]:
        """Return a table with one row per system."""
        return {
            "system": list(self.names),
            "value": np.array([rate.value for rate in self.rates]),
            "low": np.array([rate.low for rate in self.rates]),
            "high": np.array([rate.high for rate in self.rates]),
            "best_rank": self.best_rank,
            "worst_rank": self.worst_rank,
            "group": list(self.groups),
        }


def leaderboard(data: Mapping[str, Attempts], *, level: float = 0.95) -> Leaderboard:
    r"""Pass rates of several systems, with confidence sets of their ranks.

    Which rank can each system have?

    Parameters
    ----------
    data
        A mapping from the name of a system to its attempts at the same items.
    level
        Confidence level of the intervals, and of all ranks jointly.

    Notes
    -----
    A system is behind all that are significantly better and before all that are
    significantly worse, by the Holm-adjusted comparisons of every pair
    (:func:`compare_runs`). All pairs are right jointly with the confidence level, and
    so are all sets of ranks (Mogstad et al. 2024, Rev. Econ. Stud. 91:476). Letters
    show the same (Piepho 2004): systems that share one do not differ significantly.

    Examples
    --------
    >>> items = [str(k) for k in range(40)]
    >>> runs = {"a": [1] * 40, "b": [1] * 39 + [0], "c": [0] * 40}
    >>> runs = {s: Attempts(items, passed=p, tried=[1] * 40) for s, p in runs.items()}
    >>> leaderboard(runs).worst_rank
    array([2, 2, 3])
    """
    runs = attempts_by_system(data, "leaderboard", at_least=2)
    comparison = compare_runs(runs, level=level)

    rates = dict(zip(comparison.names, comparison.values, strict=True))
    names = sorted(rates, key=lambda name: -rates[name].value)
    is_better = _significantly_better(names, comparison, level)

    return Leaderboard(
        names=tuple(names),
        rates=tuple(rates[name] for name in names),
        # every significantly better system takes a rank above this one
        best_rank=1 + is_better.sum(axis=0),
        worst_rank=len(names) - is_better.sum(axis=1),
        groups=_letters(is_better | is_better.T),
        comparison=comparison,
        level=level,
        notes=comparison.notes,
    )


def _significantly_better(
    names: Sequence[str], comparison: Comparison, level: float
) -> Array:
    """Return whether each system (row) is significantly better than each (column)."""
    position = {name: number for number, name in enumerate(names)}
    is_better = np.zeros((len(names), len(names)), bool)
    for pair in comparison.pairs:
        if pair.p_adjusted <= 1 - level:
            first = position[pair.first]
            second = position[pair.second]
            # row beats column
            if pair.difference.value > 0:
                is_better[first, second] = True
            else:
                is_better[second, first] = True

    return is_better


def _letters(differs: Array) -> tuple[str, ...]:
    """Return the letters of each system, by the algorithm of Piepho (2004).

    Two systems share a letter exactly if they do not differ. Begin with one letter for
    all. A pair that differs splits every letter that both have. A letter whose systems
    all share another letter is dropped.
    """
    groups: list[frozenset[int]] = [frozenset(range(len(differs)))]
    for first, second in np.argwhere(np.triu(differs)).tolist():
        pair = {first, second}
        split = [group for group in groups if pair <= group]
        groups = [group for group in groups if not pair <= group]
        # each half of a split letter lacks one of the pair
        for group in split:
            groups = _absorb(groups, group - {first})
            groups = _absorb(groups, group - {second})

    groups.sort(key=sorted)
    letters = [_letter(k) for k in range(len(groups))]
    letters_of_systems = []
    for system in range(len(differs)):
        own_letters = [letters[k] for k, group in enumerate(groups) if system in group]
        letters_of_systems.append(" ".join(own_letters))

    return tuple(letters_of_systems)


def _absorb(
    groups: list[frozenset[int]], following: frozenset[int]
) -> list[frozenset[int]]:
    """Return the groups with one more; no group is part of another one."""
    if any(following <= group for group in groups):
        return groups
    return [*(group for group in groups if not group < following), following]


def _letter(k: int) -> str:
    """Return the k-th letter: a to z, then aa, ab, ..."""
    before = _letter(k // 26 - 1) if k >= 26 else ""
    return before + ascii_lowercase[k % 26]


def rates_figure(rates: Leaderboard | Mapping[str, Estimate]) -> Intervals:
    """Return the figure of pass rates; those of a leaderboard with their ranks."""
    if not isinstance(rates, Leaderboard):
        return intervals("Pass rates", "Pass rate", rates, keys=("what", "rate"))

    by_name = {
        f"{name} ({rates.ranks(k)})": rates.rates[k]
        for k, name in enumerate(rates.names)
    }
    keys = ("system (ranks)", "rate")
    return intervals("Pass rates", "Pass rate", by_name, keys=keys)
