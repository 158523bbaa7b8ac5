"""Results of comparisons, with p-values adjusted for the number of pairs."""

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
from trueness._core.numbers import p_is
from trueness._core.records import Estimate, Record, native_frame
from trueness.counts.cases import Cases
from trueness.inference.differences import (
    NamedDifference,
    TestedDifference,
    two_sided_p_value,
)
from trueness.inference.estimates import estimate_from_interval, interval_notes

SAME = "the same output in every case"  # the method of a pair, in place of an interval


@final
@dataclass(frozen=True, repr=False)
class Pair(Record):
    """Comparison of two classifiers: difference, interval and p-values.

    Attributes
    ----------
    first, second : str
        Their names.
    difference : Estimate
        First minus second.
    statistic : float
        The test statistic: normal, Student's or Tango's score, as ``difference.method``
        says.
    p_value, p_adjusted : float
        Two-sided p-value (1 for identical scores); and adjusted for the number of pairs
        (Holm).
    margin : float
        Largest loss that counts as no worse. Without a margin it is NaN, as are the
        fields below.
    p_noninferior, p_noninferior_second : float
        One-sided: could the first be worse than the second by more than ``margin``, or
        the second worse than the first?
    p_equivalent : float
        Could they differ by more than ``margin`` either way? The larger of the two.
    ratio : Estimate or None
        The first value divided by the second, if requested (``effect="ratio"``).
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
    ratio: Estimate | None = None

    def __repr__(self) -> str:
        """Write the pair in one line."""
        text = (
            f"{self.first} - {self.second}: {self.shown}, {p_is(self.p_value)} "
            f"(adjusted {p_is(self.p_adjusted)})"
        )
        if self.ratio is not None:
            text += f"; {self.ratio}"
        if math.isnan(self.margin):
            return text

        return (
            f"{text}; not worse by {self.margin:g}: {p_is(self.p_noninferior)}, "
            f"equivalent: {p_is(self.p_equivalent)}"
        )

    __str__ = __repr__

    @property
    def shown(self) -> Estimate | str:
        """Return the difference, or for two copies the text that they are the same."""
        return SAME if self.difference.method == SAME else self.difference


@final
@dataclass(frozen=True, repr=False)
class Comparison(Record):
    """Differences between classifiers, pair by pair.

    Attributes
    ----------
    names, values : tuple of str, tuple of Estimate
        The classifiers, and the AUC (or metric) of each.
    pairs : tuple of Pair
        Every pair, in the order of the names.
    p_value : float
        For "all are equal": the smallest adjusted p-value of a pair (Holm 1979).
    paired, measure : bool, str
        Whether the cases are the same, and what is compared.
    """

    names: tuple[str, ...]
    values: tuple[Estimate, ...]
    pairs: tuple[Pair, ...]
    p_value: float
    paired: bool
    measure: str
    notes: tuple[str, ...] = field(default=(), kw_only=True)

    def __repr__(self) -> str:
        """Write a line for each classifier and for each pair."""
        lines = [f"Comparison ({self.measure}, {'' if self.paired else 'un'}paired)"]
        for name, value in zip(self.names, self.values, strict=True):
            first_line, _, _ = repr(value).partition("\n")  # notes stand below
            lines.append(f"  {name}: {first_line}")

        lines += [f"  {pair}" for pair in self.pairs]
        if len(self.pairs) > 1:
            lines.append(f"  all equal? {p_is(self.p_value)} (Holm)")
        return "\n".join([*lines, *(f"  Note: {note}" for note in self.notes)])

    def to_frame(self, backend: str | None = None) -> Any:
        """Return a table with one row per pair."""
        tests = ["p_value", "p_adjusted"]
        if any(pair.margin > 0 for pair in self.pairs):
            tests += ["p_noninferior", "p_equivalent"]

        columns: dict[str, list[Any]] = {
            "first": [pair.first for pair in self.pairs],
            "second": [pair.second for pair in self.pairs],
            "difference": [pair.difference.value for pair in self.pairs],
            "low": [pair.difference.low for pair in self.pairs],
            "high": [pair.difference.high for pair in self.pairs],
        }
        for test in tests:
            columns[test] = [getattr(pair, test) for pair in self.pairs]
        return native_frame(columns, backend)


def holm(p_values: Sequence[float]) -> list[float]:
    """Return p-values adjusted for the number of tests (Holm 1979).

    >>> holm([0.01, 0.04, 0.03])
    [0.03, 0.06, 0.06]
    """
    unadjusted = np.asarray(p_values, dtype=np.float64)
    order = np.argsort(unadjusted, kind="stable")

    # the smallest of m p-values times m, the next times m - 1, ...
    multiplied = unadjusted[order] * np.arange(unadjusted.size, 0, -1)
    # a hypothesis is rejected only if all with smaller p-values are
    stepwise = np.maximum.accumulate(multiplied)

    adjusted = np.empty_like(unadjusted)
    adjusted[order] = np.minimum(1.0, stepwise)
    return [float(p_value) for p_value in adjusted]


def adjust_for_pairs(pairs: Sequence[Pair]) -> tuple[Pair, ...]:
    """Return pairs with p-values adjusted for the number of pairs."""
    adjusted_p_values = holm([pair.p_value for pair in pairs])
    return tuple(
        replace(pair, p_adjusted=p_value)
        for pair, p_value in zip(pairs, adjusted_p_values, strict=True)
    )


def read_margin(margin: float | None) -> float:
    """Return a margin between 0 and 1, or NaN if there is none."""
    return math.nan if margin is None else _options.fraction(margin, "margin")


def pair_from_difference(
    first: str,
    second: str,
    difference: TestedDifference,
    method: str,
    level: float,
    margin: float,
) -> Pair:
    """Return a pair: a difference with its tests, against zero and the margin."""
    if not math.isfinite(difference.value):
        return _undefined_pair(first, second, difference.value, method, level, margin)

    low, high = difference.interval(level)
    estimate = estimate_from_interval(
        difference.value, low, high, level, method, difference.standard_error
    )
    p_value = two_sided_p_value(difference)
    pair = Pair(
        first=first,
        second=second,
        difference=estimate,
        statistic=difference.statistic,
        p_value=p_value,
        p_adjusted=p_value,
        margin=margin,
    )
    if math.isnan(margin):
        return pair

    # one-sided tests of a loss of the margin, one for each direction
    p_first_worse = difference.p_value_above(-margin)
    p_second_worse = 1 - difference.p_value_above(margin)
    # two one-sided tests (Schuirmann 1987): both must reject
    return replace(
        pair,
        p_noninferior=p_first_worse,
        p_noninferior_second=p_second_worse,
        p_equivalent=max(p_first_worse, p_second_worse),
    )


def _undefined_pair(
    first: str, second: str, value: float, method: str, level: float, margin: float
) -> Pair:
    """Return a pair whose difference is undefined, as of a ratio 0 / 0."""
    return Pair(
        first=first,
        second=second,
        difference=estimate_from_interval(value, math.nan, math.nan, level, method),
        statistic=math.nan,
        p_value=math.nan,
        p_adjusted=math.nan,
        margin=margin,
    )


def compare_pairs(
    values: Mapping[str, Estimate],
    contrast: Callable[[int, int], NamedDifference],
    *,
    margin: float | None = None,
    pairs: Sequence[tuple[int, int]] | None = None,
    paired: bool,
    measure: str,
    cases: Sequence[Cases] = (),
    notes: Sequence[str] = (),
) -> Comparison:
    """Return the comparison of all pairs, or of those named.

    The p-value of "all are equal" is the smallest one after Holm's adjustment, so it
    never contradicts the pairs.
    """
    names = tuple(values)
    estimates = tuple(values.values())
    level = estimates[0].level
    tested_margin = read_margin(margin)

    tested_pairs = []
    for i, j in pairs or combinations(range(len(names)), 2):
        difference = contrast(i, j)
        pair = pair_from_difference(
            names[i], names[j], difference, difference.method, level, tested_margin
        )
        tested_pairs.append(pair)

    adjusted_pairs = adjust_for_pairs(tested_pairs)
    return Comparison(
        names,
        estimates,
        adjusted_pairs,
        smallest_p_value(adjusted_pairs),
        paired,
        measure,
        notes=(*notes, *_notes(values, cases)),
    )


def smallest_p_value(pairs: Sequence[Pair]) -> float:
    """Return Holm's p-value of "all are equal": the smallest adjusted one."""
    p_values = [pair.p_adjusted for pair in pairs if not math.isnan(pair.p_adjusted)]
    return min(p_values, default=math.nan)


# with fewer cases of a class even large differences are missed
_FEW_CASES = 10


def _notes(values: Mapping[str, Estimate], cases: Sequence[Cases]) -> tuple[str, ...]:
    """Return notes on undefined values, few cases, and the intervals."""
    return (
        *_notes_on_undefined_values(values),
        *_notes_on_few_cases(cases),
        *_first_interval_notes(cases),
    )


def _notes_on_undefined_values(values: Mapping[str, Estimate]) -> list[str]:
    """Return a note on classifiers whose value is undefined."""
    undefined = [
        name for name, estimate in values.items() if not math.isfinite(estimate.value)
    ]
    if not undefined:
        return []

    statistic = next(iter(values.values())).name or "The number"
    return [
        f"{statistic} of {listing(undefined)} is undefined here (its denominator is "
        "0), and so are its differences."
    ]


def _notes_on_few_cases(cases: Sequence[Cases]) -> list[str]:
    """Return a note if the smallest class has too few cases for a comparison."""
    class_sizes = []
    for counts in cases:
        # weighted cases count by their effective number (Kish 1965)
        negatives, positives = counts.equal_cases
        class_sizes += [(negatives, "negative"), (positives, "positive")]

    # the smallest class that has cases at all
    present = [class_size for class_size in class_sizes if class_size[0] > 0]
    fewest, label = min(present, default=(_FEW_CASES, ""))
    if fewest >= _FEW_CASES:
        return []

    return [
        f"With {fewest:.3g} {label} case{'s' if fewest > 1 else ''} only a very large "
        "difference can be distinguished from chance; collect more "
        f"{label} cases."
    ]


def _first_interval_notes(cases: Sequence[Cases]) -> tuple[str, ...]:
    """Return the notes on intervals of the first cases that have any."""
    for counts in cases:
        notes = interval_notes(counts)
        if notes:
            return notes
    return ()


def pairs_figure(comparison: Comparison, minus: str = "-") -> Intervals:
    """Return the figure of all differences with their intervals."""
    differences = {
        f"{pair.first} {minus} {pair.second}": pair.difference
        for pair in comparison.pairs
    }
    return intervals(
        "Differences",
        "Difference",
        differences,
        zero=0.0,
        keys=("pair", "difference"),
        p=np.array([pair.p_adjusted for pair in comparison.pairs]),
    )
