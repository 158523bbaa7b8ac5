"""Which rank can each system have? A leaderboard that says where it does not know."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, final

import numpy as np

from trueness._core.arrays import Array, Ints
from trueness._core.figures import Intervals, intervals
from trueness._core.numbers import level_text
from trueness._core.records import Estimate, Record, as_precise, shown
from trueness.comparison.results import Comparison
from trueness.evals.attempts import Attempts
from trueness.evals.runs import compare_runs


@final
@dataclass(frozen=True, repr=False)
class Leaderboard(Record):
    """How good is each system, and which ranks can it have?

    Attributes
    ----------
    names : tuple of str
        The systems, the highest pass rate first.
    rates : tuple of Estimate
        Their pass rates.
    best_rank, worst_rank : array of int
        The ranks that each may have; all of these sets hold together with the
        confidence level.
    groups : tuple of str
        Systems that share a letter cannot be distinguished.
    comparison : Comparison
        Every pair, on which ranks and groups rest.
    level : float
        Confidence level.
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
        return {
            "system": list(self.names),
            "value": np.array([e.value for e in self.rates]),
            "low": np.array([e.low for e in self.rates]),
            "high": np.array([e.high for e in self.rates]),
            "best_rank": self.best_rank,
            "worst_rank": self.worst_rank,
            "group": list(self.groups),
        }


def leaderboard(runs: Mapping[str, Attempts], *, level: float = 0.95) -> Leaderboard:
    r"""Which rank can each system have?

    Parameters
    ----------
    runs
        A mapping from the name of a system to its attempts at the same items.
    level
        Confidence level of the intervals, and of all ranks together.

    Notes
    -----
    A system is behind all that are significantly better and before all that are
    significantly worse, by the Holm-adjusted comparisons of every pair
    (:func:`compare_runs`): its ranks are

    .. math:: 1 + \#\{k : k \text{ better}\}, \ldots,
              K - \#\{k : k \text{ worse}\}.

    As no pair is wrong with the confidence level, no set of ranks is. Letters show the
    same: systems that share one do not differ significantly.

    References
    ----------
    Mogstad, Romano, Shaikh, Wilhelm (2024), Rev. Econ. Stud. 91:476;
    Holm (1979), Scand. J. Stat. 6:65; Piepho (2004), J. Comput. Graph. Stat. 13:456

    Examples
    --------
    >>> items = [str(k) for k in range(40)]
    >>> runs = {"a": [1] * 40, "b": [1] * 39 + [0], "c": [0] * 40}
    >>> runs = {s: Attempts(items, passed=p, tried=[1] * 40) for s, p in runs.items()}
    >>> leaderboard(runs).worst_rank
    array([2, 2, 3])
    """
    found = compare_runs(runs, level=level)
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


def _name(k: int, letters: Sequence[str] = "abcdefghijklmnopqrstuvwxyz") -> str:
    return letters[k] if k < len(letters) else _name(k // 26 - 1) + letters[k % 26]


def rates_figure(found: Leaderboard | Mapping[str, Estimate]) -> Intervals:
    """Put rates under one another; those of a leaderboard with their ranks."""
    if not isinstance(found, Leaderboard):
        return intervals("Pass rates", "Pass rate", found, keys=("what", "rate"))
    named = {
        f"{n} ({found.ranks(k)})": e
        for k, (n, e) in enumerate(zip(found.names, found.rates, strict=True))
    }
    return intervals("Pass rates", "Pass rate", named, keys=("system (ranks)", "rate"))
