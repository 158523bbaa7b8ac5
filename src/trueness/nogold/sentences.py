"""What do answers without a gold standard say, in words?"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from trueness._core.numbers import (
    counted,
    level_text,
    listed,
    p_is,
    percent,
    points,
    spelt,
)
from trueness._core.records import Estimate, shown
from trueness.nogold.combinations.best import Combination
from trueness.nogold.figures import raw_rate
from trueness.nogold.rate import Rate
from trueness.nogold.rate_comparison import RateComparison

MOST_PAIRS = 10  # differences that are said in words; a table has all

UNSURE = (
    "These verdicts alone do not determine the rates, and so not which system is "
    "better; label some cases."
)


def combination_sentence(rule: Combination, *, known: bool = True) -> str:
    """Say which rule is best, and how good it is."""
    if not known:
        return (
            f"The best combination by these votes is: {shown(rule.formula, 300)}; its "
            f"sensitivity lies between {percent(rule.sensitivity.low)} and "
            f"{percent(rule.sensitivity.high)}, its specificity between "
            f"{percent(rule.specificity.low)} and {percent(rule.specificity.high)}."
        )
    return (
        f"The best combination is: {shown(rule.formula, 300)}. It finds "
        f"{percent(rule.sensitivity.value)} of those who have the condition "
        f"(sensitivity) and clears {percent(rule.specificity.value)} of those who do "
        "not (specificity)."
    )


def credible_sentence(what: str, e: Estimate) -> str:
    """Say what a posterior says of one number; of an open one only the interval."""
    if np.isnan(e.value):
        return (
            f"{what} is not determined by votes alone. If tests may make the same "
            f"errors, it lies between {percent(e.low)} and {percent(e.high)} with a "
            f"probability of {level_text(e.level)}."
        )
    return (
        f"{what} is about {percent(e.value)}; with a probability of "
        f"{level_text(e.level)} it lies between {percent(e.low)} and {percent(e.high)}."
    )


def rate_sentences(r: Rate, system: str = "") -> list[str]:
    """Say the raw and the corrected rate, and what the judges are worth, for a paper.

    ``system`` is whose rate it is, where there are several.
    """
    width, several = r.high - r.low, len(r.naive) > 1
    head = f"{shown(system)}: the" if system else "The"
    whose = "judges'" if several else "judge's"
    raw = raw_rate(r)
    first = f"{head} raw pass rate is {points(raw, width)} %."
    it = "it"
    if not np.isfinite(raw):  # grades are calibrated by the labels, not cut
        means = [f"{v:.3g} by {shown(n)}" for n, v in r.naive.items()]
        first, it = f"{head} mean grade is {listed(means)}.", "the pass rate"
    value = (
        f"{points(r.value, width)} % ({level_text(r.level)} interval "
        f"{points(r.low, width)} to {points(r.high, width)})"
    )
    lines = [
        first,
        f"Corrected for the {whose} errors {it} is {value}."
        if r.identified
        else _open(r),
    ]
    worth = r.effective_judges.value
    if several and np.isfinite(worth):
        lines.append(
            f"The {spelt(len(r.naive))} judges are worth {worth:.1f} independent "
            f"{'one' if f'{worth:.1f}' == '1.0' else 'ones'}."
        )
    return lines


def _open(r: Rate) -> str:
    """Say that votes alone do not answer, how far they go, and what to do."""
    width, alone, beside = r.high - r.low, r.independent, ""
    if alone is not None:
        beside = (
            f"; if their errors were independent, it would be "
            f"{points(alone.value, alone.high - alone.low)} % "
            f"({points(alone.low, width)} to {points(alone.high, width)})"
        )
    return (
        "These verdicts alone do not determine the true rate: if judges may make the "
        f"same errors, it lies between {points(r.low, width)} and "
        f"{points(r.high, width)} % ({level_text(r.level)} interval){beside}. Label "
        "some cases."
    )


def difference_sentences(c: RateComparison) -> list[str]:
    """Say which systems differ, the clearest differences first."""
    order = np.argsort(c.adjusted_p_value, kind="stable")
    level = next(iter(c.rates.values())).level
    if not c.identified:
        return [UNSURE]
    lines = [_difference_sentence(c, int(k), level) for k in order[:MOST_PAIRS]]
    if order.size > MOST_PAIRS:
        lines.append(
            f"The other {counted(order.size - MOST_PAIRS, 'pair')}: see below."
        )
    return lines


def _difference_sentence(c: RateComparison, k: int, level: float) -> str:
    first, second = shown(str(c.first[k])), shown(str(c.second[k]))
    ends = np.array([c.difference[k], c.low[k], c.high[k]])
    if ends[0] < 0:
        first, second, ends = second, first, -ends[[0, 2, 1]]
    said = [points(float(v), float(ends[2] - ends[1])) for v in ends]
    span = f"{level_text(level)} interval {said[1]} to {said[2]}"
    many = ", adjusted for all pairs" if len(c.first) > 1 else ""
    sure = f"{p_is(float(c.adjusted_p_value[k]))}{many}"
    if c.adjusted_p_value[k] < 1 - level:
        return (
            f"The pass rate of {first} is {said[0]} points higher than that of "
            f"{second} ({span}; {sure})."
        )
    return (
        f"These cases do not show whether {first} or {second} has the higher pass "
        f"rate: {first} is {said[0]} points higher ({span}; {sure})."
    )


SYSTEM_HEAD = ("system", "raw", "corrected", "labels", "answers")
JUDGE_HEAD = ("judge", "raw", "sensitivity", "specificity")


def system_rows(rates: Mapping[str, Rate]) -> list[list[object]]:
    """Give the rate of each system, raw and corrected."""
    return [
        [s, raw_rate(r), r if r.identified else _span(r), r.labels, r.cases]
        for s, r in rates.items()
    ]


def judge_rows(r: Rate) -> list[list[object]]:
    """Give what each judge says, and how good it is."""
    return [
        [n, r.naive[n], *map(_cell, (j.sensitivity, j.specificity))]
        for n, j in r.judges.items()
    ]


def _span(e: Estimate | Rate) -> str:
    """Write the interval alone, of what votes alone do not determine."""
    return f"{percent(e.low)} to {percent(e.high)}"


def _cell(e: Estimate) -> Any:
    return _span(e) if np.isnan(e.value) and np.isfinite(e.low) else e


def rate_notes(rates: Mapping[str, Rate], more: Sequence[str] = ()) -> list[str]:
    """Give what must be known, once; what is true of one system only with its name."""
    if len(rates) == 1:
        return list(dict.fromkeys([*next(iter(rates.values())).notes, *more]))
    common = set.intersection(*(set(r.notes) for r in rates.values()))
    said = [n for r in rates.values() for n in r.notes if n in common]
    own = [
        f"{shown(s)}: {n[:1].lower()}{n[1:]}"
        for s, r in rates.items()
        for n in r.notes
        if n not in common
    ]
    known = {n for r in rates.values() for n in r.notes}
    return [*dict.fromkeys(said), *own, *(n for n in more if n not in known)]


def label_sentence(width_now: float, width_then: float, labels: Sequence[int]) -> str:
    """Say what more labels would bring."""
    return (
        f"The interval is {points(width_now, width_now)} points wide; with "
        f"{counted(int(sum(labels)), 'more label')} as below it would be about "
        f"{points(width_then, width_now)}."
    )
