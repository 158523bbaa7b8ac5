"""What does a comparison say, and what are its p-values worth together?

``Pair`` and ``Comparison`` are what every comparison of this room answers with;
``holm`` allows for the number of pairs.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any, final

import numpy as np

from trueness._core.doors import door
from trueness._core.numbers import counted, p_is, p_value
from trueness._core.records import Estimate, Record
from trueness.comparison.contrasts import Equality, Test


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
        Difference over its standard error (z), or what ``method`` says.
    p_value : float
        Two-sided p-value; 1 when one classifier is a copy of the other.
    p_adjusted : float
        Adjusted for the number of pairs (Holm).
    margin : float
        By how much less a value may be and still count as no worse; NaN when no margin
        was given.
    p_noninferior, p_noninferior_second : float
        One-sided: could the first be worse than the second by more than ``margin``, or
        the second worse than the first? NaN without a margin.
    p_equivalent : float
        Could they differ by more than ``margin`` either way? The larger of the two
        p-values of non-inferiority.
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
            f"{self.first} - {self.second}: {self.difference}, {p_is(self.p_value)} "
            f"(adjusted {p_value(self.p_adjusted)})"
        )
        if math.isnan(self.margin):
            return text
        return (
            f"{text}; not worse by {self.margin:g}: {p_is(self.p_noninferior)}, "
            f"equivalent: {p_is(self.p_equivalent)}"
        )

    __str__ = __repr__


@final
@dataclass(frozen=True, repr=False)
class Comparison(Record):
    """Which of several classifiers are better than others?

    Attributes
    ----------
    names : tuple of str
        The classifiers.
    values : tuple of Estimate
        The AUC (or metric) of each.
    pairs : tuple of Pair
        Every pair, in the order of the names.
    statistic, df, p_value : float
        Omnibus test that all are equal: Wald's statistic, the number of contrasts that
        vary, and the p-value, which allows for few cases; 1 when all are copies.
    paired : bool
        Were they seen on the same cases?
    method : str
        How they were compared.
    notes : tuple of str
        What to keep in mind; empty when there is nothing.
    """

    names: tuple[str, ...]
    values: tuple[Estimate, ...]
    pairs: tuple[Pair, ...]
    statistic: float
    df: int
    p_value: float
    paired: bool
    method: str
    notes: tuple[str, ...] = field(default=(), kw_only=True)

    def __repr__(self) -> str:
        """Write a line for each classifier and for each pair."""
        lines = [f"Comparison ({self.method}, {'' if self.paired else 'un'}paired)"]
        lines += [f"  {n}: {v}" for n, v in zip(self.names, self.values, strict=True)]
        lines += [f"  {pair}" for pair in self.pairs]
        lines.append(f"  all equal? {p_is(self.p_value)}{wald_words(self)}")
        return "\n".join([*lines, *(f"  Note: {note}" for note in self.notes)])

    def to_frame(self, backend: str | None = None) -> Any:
        """Give a table with one row per pair."""
        columns: dict[str, list[Any]] = {
            "first": [p.first for p in self.pairs],
            "second": [p.second for p in self.pairs],
            "difference": [p.difference.value for p in self.pairs],
            "low": [p.difference.low for p in self.pairs],
            "high": [p.difference.high for p in self.pairs],
            "p_value": [p.p_value for p in self.pairs],
            "p_adjusted": [p.p_adjusted for p in self.pairs],
        }
        if any(p.margin > 0 for p in self.pairs):
            columns["p_noninferior"] = [p.p_noninferior for p in self.pairs]
            columns["p_equivalent"] = [p.p_equivalent for p in self.pairs]
        return door("data.frames").native_frame(columns, backend)


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


def judged(
    first: str, second: str, estimate: Estimate, test: Test | None, margin: float
) -> Pair:
    """Put a difference and its tests, against zero and the margin, into a pair.

    Copies need no test: they do not differ.
    """
    score, p = (0.0, 1.0) if test is None else (test.score, test.two_sided())
    pair = Pair(first, second, estimate, score, p, p)
    if math.isnan(margin):
        return pair
    if test is None:
        return with_margin(pair, margin, 0.0, 0.0)
    return with_margin(pair, margin, test.above(-margin), 1 - test.above(margin))


def with_margin(pair: Pair, margin: float, worse: float, better: float) -> Pair:
    """Add the p-values of a loss, or a gain, of more than the margin."""
    return replace(
        pair,
        margin=margin,
        p_noninferior=worse,
        p_noninferior_second=better,
        p_equivalent=max(worse, better),
    )


def compared(
    names: tuple[str, ...],
    values: tuple[Estimate, ...],
    pairs: Sequence[Pair],
    same: Equality,
    *,
    paired: bool,
    method: str,
    notes: tuple[str, ...] = (),
) -> Comparison:
    """Put pairs, adjusted for their number, and the test of all together."""
    done = adjusted(pairs)
    # pairs that differ without variance, adjusted, say it all
    p = min(p.p_adjusted for p in done) if same.p_value is None else same.p_value
    found = (names, values, done, same.statistic, same.df, p, paired, method)
    return Comparison(*found, notes=notes)


def wald_words(found: Comparison) -> str:
    """Say what the overall test rests on; outputs without spread have no statistic."""
    if not found.df:
        return ""
    free = counted(found.df, "degree") + " of freedom"
    return f" (Wald statistic {found.statistic:.4g} on {free})"
