"""What does a comparison say, and what are its p-values worth together?"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import combinations
from typing import Any, final

import numpy as np

from trueness._core.checks import options as _options
from trueness._core.checks.words import listing
from trueness._core.figures import Intervals, intervals
from trueness._core.numbers import p_is, p_value
from trueness._core.records import Estimate, Record, native_frame
from trueness.counts.cases import Cases
from trueness.inference.differences import (
    NamedDifference,
    TestedDifference,
    two_sided_p_value,
)
from trueness.inference.estimates import estimate_from_interval, interval_notes

SAME = "the same output in every case"  # of a pair, in place of its limits


@final
@dataclass(frozen=True, repr=False)
class Pair(Record):
    """Which of two classifiers is better, and could the difference be chance?

    Attributes
    ----------
    first, second : str
        Their names.
    difference : Estimate
        First minus second.
    statistic : float
        The difference in standard errors; it has the p-value of the test. Normal,
        Student's or Tango's score, as ``difference.method`` says.
    p_value, p_adjusted : float
        Two-sided (1 when one is a copy of the other); for the number of pairs (Holm).
    margin : float
        By how much less a value may be and still count as no worse; NaN without one,
        as all that follow.
    p_noninferior, p_noninferior_second : float
        One-sided: could the first be worse than the second by more than ``margin``, or
        the second worse than the first?
    p_equivalent : float
        Could they differ by more than ``margin`` either way? The larger of the two.
    """

    first: str
    second: str
    difference: Estimate
    statistic: float
    p_value: float
    p_adjusted: float
    margin: float = math.nan
    p_noninferior: float = math.nan
    p_noninferior_second: float = math.nan
    p_equivalent: float = math.nan

    def __repr__(self) -> str:
        """Write the pair in one line."""
        text = (
            f"{self.first} - {self.second}: {self.shown}, {p_is(self.p_value)} "
            f"(adjusted {p_value(self.p_adjusted)})"
        )
        if math.isnan(self.margin):
            return text
        return (
            f"{text}; not worse by {self.margin:g}: {p_is(self.p_noninferior)}, "
            f"equivalent: {p_is(self.p_equivalent)}"
        )

    __str__ = __repr__

    @property
    def shown(self) -> Estimate | str:
        """Give the difference, or say that there is none: of two copies."""
        return SAME if self.difference.method == SAME else self.difference


@final
@dataclass(frozen=True, repr=False)
class Comparison(Record):
    """Which of several classifiers are better than others?

    Attributes
    ----------
    names, values : tuple of str, tuple of Estimate
        The classifiers, and the AUC (or metric) of each.
    pairs : tuple of Pair
        Every pair, in the order of the names.
    p_value : float
        Of "all are equal": the smallest adjusted p-value of a pair (Holm 1979).
    paired, method : bool, str
        Were they seen on the same cases, and how were they compared?
    """

    names: tuple[str, ...]
    values: tuple[Estimate, ...]
    pairs: tuple[Pair, ...]
    p_value: float
    paired: bool
    method: str
    notes: tuple[str, ...] = field(default=(), kw_only=True)

    def __repr__(self) -> str:
        """Write a line for each classifier and for each pair."""
        lines = [f"Comparison ({self.method}, {'' if self.paired else 'un'}paired)"]
        each = (repr(v).partition("\n")[0] for v in self.values)  # notes stand below
        lines += [f"  {n}: {v}" for n, v in zip(self.names, each, strict=True)]
        lines += [f"  {pair}" for pair in self.pairs]
        if len(self.pairs) > 1:
            lines.append(f"  all equal? {p_is(self.p_value)} (Holm)")
        return "\n".join([*lines, *(f"  Note: {note}" for note in self.notes)])

    def to_frame(self, backend: str | None = None) -> Any:
        """Give a table with one row per pair."""
        tests = ["p_value", "p_adjusted"]
        if any(p.margin > 0 for p in self.pairs):
            tests += ["p_noninferior", "p_equivalent"]
        columns = {k: [getattr(p, k) for p in self.pairs] for k in ("first", "second")}
        for name, end in (("difference", "value"), ("low", "low"), ("high", "high")):
            columns[name] = [getattr(p.difference, end) for p in self.pairs]
        columns |= {k: [getattr(p, k) for p in self.pairs] for k in tests}
        return native_frame(columns, backend)


def holm(p_values: Sequence[float]) -> list[float]:
    """What are p-values worth when several questions are asked at once? (Holm 1979)

    >>> holm([0.01, 0.04, 0.03])
    [0.03, 0.06, 0.06]
    """
    p = np.asarray(p_values, dtype=np.float64)
    order = np.argsort(p, kind="stable")
    stepped = p[order] * np.arange(p.size, 0, -1)
    adjusted = np.empty_like(p)
    adjusted[order] = np.minimum(1.0, np.maximum.accumulate(stepped))
    return [float(v) for v in adjusted]


def adjusted(pairs: Sequence[Pair]) -> tuple[Pair, ...]:
    """Give pairs the p-values that allow for their number."""
    p = holm([pair.p_value for pair in pairs])
    return tuple(replace(pair, p_adjusted=a) for pair, a in zip(pairs, p, strict=True))


def asked_margin(margin: float | None) -> float:
    """Pass on a margin between 0 and 1, or NaN when none was asked for."""
    return math.nan if margin is None else _options.fraction(margin, "margin")


def judged(
    first: str,
    second: str,
    c: TestedDifference,
    method: str,
    level: float,
    margin: float,
) -> Pair:
    """Put a difference and its tests, against zero and the margin, into a pair."""
    unknown = math.nan
    if not math.isfinite(c.value):  # of an undefined ratio nothing is known
        difference = estimate_from_interval(c.value, unknown, unknown, level, method)
        return Pair(first, second, difference, unknown, unknown, unknown, margin)
    difference, p = (
        estimate_from_interval(
            c.value, *c.interval(level), level, method, c.standard_error
        ),
        two_sided_p_value(c),
    )
    pair = Pair(first, second, difference, c.statistic, p, p, margin)
    if math.isnan(margin):
        return pair
    worse, better = c.p_value_above(-margin), 1 - c.p_value_above(margin)
    both = max(worse, better)
    return replace(
        pair, p_noninferior=worse, p_noninferior_second=better, p_equivalent=both
    )


def together(
    values: Mapping[str, Estimate],
    contrast: Callable[[int, int], NamedDifference],
    *,
    margin: float | None = None,
    pairs: Sequence[tuple[int, int]] | None = None,
    paired: bool,
    method: str,
    cases: Sequence[Cases] = (),
    notes: Sequence[str] = (),
) -> Comparison:
    """Return the comparison of all pairs, or of those named.

    Whether all are equal is answered by Holm's method: they are not if any pair differs
    after the adjustment. So no answer contradicts the pairs.
    """
    names = tuple(values)
    estimates = tuple(values.values())
    level = estimates[0].level
    tested_margin = asked_margin(margin)

    tested_pairs = []
    for i, j in pairs or combinations(range(len(names)), 2):
        difference = contrast(i, j)
        pair = judged(
            names[i], names[j], difference, difference.method, level, tested_margin
        )
        tested_pairs.append(pair)
    adjusted_pairs = adjusted(tested_pairs)

    return Comparison(
        names,
        estimates,
        adjusted_pairs,
        smallest_p_value(adjusted_pairs),
        paired,
        method,
        notes=(*notes, *_notes(values, cases)),
    )


def smallest_p_value(pairs: Sequence[Pair]) -> float:
    """Return Holm's p-value of "all are equal": the smallest adjusted one."""
    p_values = [pair.p_adjusted for pair in pairs if not math.isnan(pair.p_adjusted)]
    return min(p_values, default=math.nan)


_FEW = 10  # with fewer cases of a class even large differences are missed


def _notes(values: Mapping[str, Estimate], cases: Sequence[Cases]) -> tuple[str, ...]:
    """Say what is undefined, where few cases tell little, and what limits assume."""
    found = []
    gone = [name for name, e in values.items() if not math.isfinite(e.value)]
    if gone:
        what = next(iter(values.values())).name or "The number"
        found.append(
            f"{what} of {listing(gone)} is not defined by these cases (its denominator "
            "is 0), so that its differences cannot be judged."
        )
    words = "negative", "positive"
    numbers = (pair for x in cases for pair in zip(x.equal_cases, words, strict=True))
    n, name = min((pair for pair in numbers if pair[0] > 0), default=(_FEW, ""))
    if n < _FEW:
        found.append(
            f"With {n:.3g} {name} case{'s' if n > 1 else ''} only a very large "
            "difference can be distinguished from chance; collect more "
            f"{name} cases."
        )
    return *found, *next(filter(None, map(interval_notes, cases)), ())


def pairs_figure(found: Comparison, minus: str = "-") -> Intervals:
    """Which classifiers differ, and by how much? All differences with intervals."""
    named = {f"{p.first} {minus} {p.second}": p.difference for p in found.pairs}
    p, keys = np.array([p.p_adjusted for p in found.pairs]), ("pair", "difference")
    return intervals("Differences", "Difference", named, zero=0.0, keys=keys, p=p)
