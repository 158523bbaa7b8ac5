"""Which cases should be labelled next, and how many labels does an answer take?"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, final

import numpy as np
from scipy.special import betaln, ndtri

from trueness._core.arrays import Array, Floats
from trueness._core.checks import options as _options
from trueness._core.checks.errors import InputError, NotEnoughCases
from trueness._core.numbers import counted
from trueness._core.progress import stop_if_requested
from trueness._core.records import Record
from trueness._core.solvers import smallest
from trueness.counts.answers import of_panel
from trueness.counts.values import Panel
from trueness.nogold.model import pattern_word
from trueness.nogold.verdicts import (
    SLOPE,
    Verdicts,
    graded,
    mode_and_information,
    panel_of_verdicts,
    probabilities,
    verdicts_of,
)

MOST_JUDGES = 10_000  # that a plan takes


@final
@dataclass(frozen=True, repr=False)
class LabelPlan(Record):
    """Which cases should be labelled next, and how much would that narrow the interval?

    Attributes
    ----------
    pattern : array of str
        Verdicts of the cases, in the order of the judges, such as "101"; "." is a
        missing one. With grades "gpt=0.25, claude=3".
    labels : array
        How many of them to label.
    width_now, width_then : float
        Width of the interval of the rate, now and expected afterwards.
    """

    pattern: Array
    labels: Array
    width_now: float
    width_then: float


def plan_next(panel: Panel, width: float, labels: int) -> LabelPlan:
    """Allocate labels after Neyman, and say what the interval would be."""
    v = verdicts_of(panel)
    left = np.asarray(panel.unknown, float)
    if left.sum() < labels:
        raise NotEnoughCases(
            f"There are {left.sum():,.0f} cases without a label; {labels:,} were asked "
            f"for."
        )
    p = _given_votes(v)
    doubt = left * np.sqrt(p * (1 - p) + 1 / (v.pos + v.neg + 4))
    new = np.zeros(doubt.size)
    for _ in range(labels):
        stop_if_requested()
        # Sainte-Lague: the next label goes to the largest claim per label given
        claim = np.where(new < left, doubt / (new + 0.5), -1.0)
        new[int(np.argmax(claim))] += 1
    now, then = (
        standard_error(p, v.x, v.total, v.pos + v.neg + more)
        for more in (np.zeros(p.size), new)
    )
    at = np.flatnonzero(new)[np.argsort(-new[new > 0], kind="stable")]
    names = [pattern_word(row) for row in panel.rows[at]]
    if graded(panel.rows).any():  # "repr" tells a number from its neighbours
        names = [
            ", ".join(
                f"{n}={'.' if np.isnan(g) else repr(float(g)).removesuffix('.0')}"
                for n, g in zip(panel.names, row, strict=True)
            )
            for row in panel.rows[at]
        ]
    return LabelPlan(np.array(names), new[at].astype(int), width, width * then / now)


def _given_votes(v: Verdicts) -> Floats:
    """How likely is a case of each pattern positive, by the labels that there are?"""
    return np.asarray(probabilities(mode_and_information(v)[0][None], v.x)[0])


def standard_error(p: Floats, x: Floats, total: Floats, known: Floats) -> float:
    """What is the standard error of the rate with so many labels of each pattern?"""
    z = np.column_stack([np.ones(len(p)), x])
    w = total / total.sum()
    spread = p * (1 - p)
    information = (z * (known * spread)[:, None]).T @ z
    information += np.diag(np.r_[0.25, np.full(x.shape[1], 1 / SLOPE**2)])
    g = z.T @ (w * spread)
    between = w @ (p - w @ p) ** 2 / total.sum()
    return float(np.sqrt(g @ np.linalg.solve(information, g) + between))


@final
@dataclass(frozen=True, repr=False)
class LabelNumber(Record):
    """How many labels does an interval of this width need?

    Attributes
    ----------
    labels : int
        Number of labels, for cases chosen at random.
    width : float
        Expected width of the interval with them.
    without_judges : int
        Number of labels that would be needed without any judge.
    notes : tuple of str
        What was assumed.
    """

    labels: int
    width: float
    without_judges: int
    notes: tuple[str, ...]


@of_panel
def plan_labels(
    data: Any = None,
    *,
    half_width: float,
    prevalence: float | None = None,
    judges: int = 1,
    sensitivity: float = 0.85,
    specificity: float = 0.85,
    correlation: float = 0.0,
    cases: int = 2000,
    level: float = 0.95,
) -> LabelNumber:
    """How many labels of random cases does an interval of this width need?

    Parameters
    ----------
    data
        Verdicts with some labels: their judges are taken as they are. Without a panel,
        the arguments below describe the expected judges.
    half_width
        Wanted half width of the interval: 0.05 for plus or minus 5 percentage points.
    prevalence
        The rate that is expected.
    judges, sensitivity, specificity, correlation
        Number of judges, their sensitivity and specificity, and the correlation of
        their errors.
    cases
        How many cases there will be.

    Examples
    --------
    Without judges 0.25 * (2 * 1.96 / 0.1)^2 = 384.2, so 385 labels, at a rate of 1/2.

    >>> plan_labels(half_width=0.05, prevalence=0.5, cases=10**6).without_judges
    385
    """
    half_width = _options.fraction(half_width, "half_width")
    if half_width >= 0.5:
        raise InputError(
            f"half_width must lie below 0.5, as a rate lies between 0 and 1; found "
            f"{half_width:g}. It is 0.05 for plus or minus 5 points."
        )
    width = 2 * half_width
    level = _options.fraction(level, "level")
    z = float(ndtri((1 + level) / 2))
    if data is None:
        p, x, total, note = _expected(
            prevalence, judges, sensitivity, specificity, correlation, cases
        )
    else:
        for name, value, usual in (
            ("prevalence", prevalence, None),
            ("judges", judges, 1),
            ("sensitivity", sensitivity, 0.85),
            ("specificity", specificity, 0.85),
            ("correlation", correlation, 0),
            ("cases", cases, 2000),
        ):
            if value is not None and _options.real_number(value, name) != usual:
                raise InputError(
                    f"{name} is for a plan before there are data: the judges and "
                    f"cases come from the panel here. Leave out {name}."
                )
        v = verdicts_of(panel_of_verdicts(data))
        p, x, total, known = _given_votes(v), v.x, v.total, int((v.pos + v.neg).sum())
        if not known:
            raise NotEnoughCases(
                "plan_labels needs a few labels to know how good these judges are; "
                "found none. Label some, or give prevalence, sensitivity and "
                "specificity without data."
            )
        said = f"{counted(known, 'label')} say."
        note = f"The judges are assumed to be as accurate as {said}"
    share = total / total.sum()
    least = 2 * z * standard_error(p, x, total, total)
    if least > width:
        raise NotEnoughCases(
            f"With all of {total.sum():,.0f} cases labelled the interval is still "
            f"plus or minus {least / 2:.3f}, more than {half_width:g}. Take more "
            "cases, or accept a wider interval."
        )
    most = int(total.sum())

    def reached(n: int) -> float:
        return 2 * z * standard_error(p, x, total, min(n, most) * share)

    labels = smallest(lambda n: reached(n) <= width)
    rate = float(share @ p)
    alone = int(np.ceil(rate * (1 - rate) * (2 * z / width) ** 2))
    return LabelNumber(labels, reached(labels), alone, (note,))


def _expected(
    rate: float | None,
    judges: int,
    sensitivity: float,
    specificity: float,
    correlation: float,
    cases: int,
) -> tuple[Floats, Floats, Floats, str]:
    """Write down the table that is expected of such judges."""
    if not 0 <= _options.real_number(correlation, "correlation") < 1:
        raise InputError(
            f"correlation must lie between 0 and 1 (not 1 itself); found {correlation}."
        )
    rate = 0.5 if rate is None else _options.fraction(rate, "prevalence")
    judges = _options.whole_number(judges, "judges", at_least=1, at_most=MOST_JUDGES)
    cases = _options.whole_number(cases, "cases", at_least=2)
    accuracy = [
        _options.fraction(v, w)
        for v, w in ((sensitivity, "sensitivity"), (specificity, "specificity"))
    ]
    # judges are alike, so that a case counts by its number of yes; over the root of
    # their number, all slopes together have the prior that each of them has
    a, b = (_right_votes(q, correlation, judges) for q in accuracy)
    a, b, yes = rate * a, (1 - rate) * b[::-1], np.arange(judges + 1.0)
    total = a + b
    x = ((yes - total @ yes / total.sum()) / np.sqrt(judges))[:, None]
    note = (
        f"Expected: a rate of {rate:g}, {counted(judges, 'judge')} with sensitivity "
        f"{sensitivity:g}, specificity {specificity:g} and an error correlation of "
        f"{correlation:g}, {cases:,} cases."
    )
    return a / np.maximum(total, 1e-300), x, cases * total, note


def _right_votes(accuracy: float, correlation: float, k: int) -> Floats:
    """How likely are 0 to k right votes of k judges that are alike? (k + 1,)

    The beta-binomial distribution, whose errors correlate by 1 / (1 + a + b).
    """
    j = np.arange(k + 1)
    log_p = -betaln(j + 1, k - j + 1) - np.log(k + 1)
    if correlation == 0:
        log_p = log_p + j * np.log(accuracy) + (k - j) * np.log1p(-accuracy)
    else:
        size = 1 / correlation - 1
        a, b = accuracy * size, (1 - accuracy) * size
        log_p = log_p + betaln(j + a, k - j + b) - betaln(a, b)
    return np.asarray(np.exp(log_p))
