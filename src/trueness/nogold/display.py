"""What do answers without a gold standard show and say, in figures and in words?"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from trueness._core.checks.errors import NotEnoughCases
from trueness._core.figures import (
    Axis,
    Crosses,
    Curves,
    Intervals,
    Line,
    Matrix,
    guide,
    intervals,
)
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
from trueness.counts.values import Panel
from trueness.nogold.combinations import Combination
from trueness.nogold.label_plans import plan_labels
from trueness.nogold.rate import Rate
from trueness.nogold.rate_comparison import RateComparison
from trueness.nogold.verdicts import Judge

MOST_PAIRS = 10  # differences that are said in words; a table has all

UNSURE = (
    "These verdicts alone do not determine the rates, and so not which system is "
    "better; label some cases."
)
FALSE_PASS = Axis("fpr", "Wrong answers that pass (1 \N{MINUS SIGN} specificity)")
TRUE_PASS = Axis("tpr", "Right answers that pass (sensitivity)")
# widths of the interval that are tried, and how much of the rate is shown around it
WIDTHS, AROUND = np.geomspace(0.6, 0.01, 40), 0.25
RAW, CORRECTED = "raw", "corrected"


def raw_rate(found: Rate) -> float:
    """Give the share of yes among all verdicts; NaN where all judges give grades."""
    said = [
        share
        for name, share in found.naive.items()
        if name not in found.judges or not _grades(found.judges[name])
    ]
    return float(np.mean(said)) if said else float("nan")


def _grades(judge: Judge) -> bool:
    """Does this judge give grades, not yes and no?"""
    return judge.sensitivity.method == "graded"


def rates_figure(rates: Mapping[str, Rate]) -> Intervals:
    """How far is the raw rate of each system from the corrected one?"""
    raw = np.array([raw_rate(r) for r in rates.values()])
    made = intervals("Raw and corrected rate", "Pass rate", rates)
    return replace(made, keys=("system", CORRECTED), marks={RAW: raw})


def judges_figure(found: Rate) -> Crosses:
    """How good is each judge? Its place in the ROC plane, with intervals."""
    if not found.identified:
        raise NotEnoughCases(
            "Without labels verdicts do not determine how good the judges are, so they "
            "have no place in the ROC plane. Label some cases."
        )
    named = {n: j for n, j in found.judges.items() if not _grades(j)}
    if not named:
        raise NotEnoughCases(
            "The ROC plane shows judges that say yes or no; all of these give grades."
        )
    each = [(j.sensitivity, j.specificity) for j in named.values()]
    ends = np.array([[(e.value, e.low, e.high) for e in both] for both in each])
    up, across = ends[:, 0], 1 - ends[:, 1, [0, 2, 1]]
    chance = guide(FALSE_PASS, TRUE_PASS, [0, 1], [0, 1])
    axes = (FALSE_PASS, TRUE_PASS)
    return Crosses("Judges", *axes, tuple(named), across, up, (chance,))


def errors_figure(panel: Panel) -> Matrix:
    """Which judges err together? Correlations of their errors in labelled cases."""
    # deviations from the mean of the own class: what is left of the agreement of two
    # judges when the truth is known; NaN where a judge never errs
    size = len(panel.names)
    out = np.full((size, size), np.nan)
    for j in range(size):
        for k in range(size):
            seen = ~np.isnan(panel.rows[:, [j, k]]).any(axis=1)
            x = panel.rows[seen][:, [j, k]]
            x = x / np.maximum(np.abs(x).max(axis=0, initial=0.0), 1.0)  # 1e300 squared
            cov = np.zeros((2, 2))
            for count in (panel.pos[seen], panel.neg[seen]):
                if count.sum():
                    off = x - count @ x / count.sum()
                    cov += (off * count[:, None]).T @ off
            scale = float(np.sqrt(cov[0, 0] * cov[1, 1]))
            if scale > 0:
                out[j, k] = cov[0, 1] / scale
    label = "Correlation of errors"
    return Matrix("Which errors go together", label, panel.names, out)


def labels_figure(found: Rate, panel: Panel) -> Curves:
    """How narrow would the interval of the rate be with more labels at random?"""
    most = min(panel.n, max(200, 4 * found.labels))
    number, width = [], []
    for w in WIDTHS:
        try:
            n = plan_labels(panel, width=float(w), level=found.level).labels
        except NotEnoughCases:  # not even if all cases were labelled
            break
        if n >= 10:
            number.append(n)
            width.append(w)
        if n > most:
            break
    if len(number) < 2:
        raise NotEnoughCases("There are too few cases to plan more labels.")
    half = np.array(width) / 2
    x = Axis("labels", "Labels at random", 0.0, float(most))
    low, high = max(0.0, found.value - AROUND), min(1.0, found.value + AROUND)
    y = Axis("rate", "Pass rate", low, high)
    flat = np.full(half.size, found.value)
    ends = {"low": np.maximum(flat - half, 0), "high": np.minimum(flat + half, 1)}
    line = Line(
        "rate with its expected interval",
        {"labels": np.array(number, float), "rate": flat, **ends},
    )
    now = guide(x, y, [found.labels] * 2, [low, high])
    return Curves("Interval by number of labels", x, y, (line,), (line,), (now,))


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
    return [[s, raw_rate(r), cell(r), r.labels, r.cases] for s, r in rates.items()]


def judge_rows(r: Rate) -> list[list[object]]:
    """Give what each judge says, and how good it is."""
    return [
        [n, r.naive[n], *map(cell, (j.sensitivity, j.specificity))]
        for n, j in r.judges.items()
    ]


def cell(e: Estimate | Rate) -> Any:
    """Pass on an estimate, or the interval of what votes alone do not determine."""
    if np.isfinite(e.value) or np.isnan(e.low):
        return e
    return f"{percent(e.low)} to {percent(e.high)}"


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
