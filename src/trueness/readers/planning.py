"""How many readers and cases does a new study need?"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import final

import numpy as np

from trueness._core.arrays import Array, Floats
from trueness._core.checks import options as _options
from trueness._core.checks.errors import InputError
from trueness._core.checks.words import described, is_several
from trueness._core.numbers import percent
from trueness._core.records import Record
from trueness._core.solvers import smallest
from trueness.readers.analysis import ReaderStudy


@final
@dataclass(frozen=True, repr=False)
class ReaderPlan(Record):
    """How many readers and cases does a new study need?

    Attributes
    ----------
    readers, cases : array
        Numbers of readers, and the cases needed with each, at the share of positives of
        the pilot study, of all readers together; 0 where no number of cases is enough.
    power, assurance : array
        Power reached with them, if the variance components are those of the pilot;
        power to be expected: the mean over what the variance of readers, or of their
        interplay with treatments, may be after this pilot.
    difference : float
        The difference that is to be detected; with a margin, the sum of both.
    target, level : float
        The power asked for, and the level of the test (95 % for a test of 5 %).
    """

    readers: Array
    cases: Array
    power: Floats
    assurance: Floats
    difference: float
    target: float
    level: float
    notes: tuple[str, ...]


MOST_CASES = 100_000


def plan_readers(
    data: ReaderStudy,
    *,
    difference: float | None = None,
    margin: float | None = None,
    power: float = 0.8,
    level: float = 0.95,
    readers: int | Sequence[int] | None = None,
    cases: int | None = None,
    groups: int | None = None,
) -> ReaderPlan:
    """How many readers and cases does a new study need?

    The share of positives and the design of the pilot study are kept (Hillis,
    Obuchowski and Berbaum 2011, doi:10.1016/j.acra.2010.09.007; of groups Obuchowski,
    Gallas and Hillis 2012, doi:10.1016/j.acra.2012.09.012).

    Parameters
    ----------
    data
        A study of at least two treatments, with the variance components.
    difference
        The difference of two treatments that is to be detected; with ``margin`` the
        true difference (0 when None).
    margin
        Plan a test of non-inferiority with this margin instead.
    power, level
        Power asked for; level of the test (0.95: 5 % two-sided, 2.5 % for a margin).
    readers
        Number of readers, or several; 3 to 15 when None. Where readers are nested
        within treatments, those of one treatment.
    cases
        Number of cases of the whole study, if it is fixed: the answer is then the power
        that it gives.
    groups
        Into how many groups, each with cases of its own, the readers are divided (a
        split plot); as many as in the pilot study when None.
    """
    target = _options.fraction(power, "power")
    level = _options.fraction(level, "level")
    gap = _gap(difference, margin)
    if not isinstance(data, ReaderStudy):
        raise InputError(
            f"plan_readers needs a study, the answer of trueness.reader_study; found "
            f"{described(data)}."
        )
    power_of, alone, may_be = _powers(data, gap, level)
    few = range(3, 16) if readers is None else readers
    asked = list(few) if is_several(few) else [few]
    chosen = [_options.whole_number(j, "readers", at_least=2) for j in asked]
    if not chosen:
        raise InputError("readers must be a number or several; found none.")
    made = [_groups(data, groups, j) for j in chosen]
    need, reached, expected = [], [], []
    for j, g in zip(chosen, made, strict=True):
        if cases is not None:
            need.append(_options.whole_number(cases, "cases", at_least=4))
        elif power_of(alone, MOST_CASES, j, g) < target:  # very many are too few
            need.append(0)
        else:
            enough = lambda n, j=j, g=g: power_of(alone, n, j, g) >= target  # noqa: E731
            need.append(smallest(enough, start=4 * g))
        n = need[-1] or MOST_CASES
        reached.append(power_of(alone, n, j, g))
        expected.append(float(np.mean([power_of(v, n, j, g) for v in may_be])))
    notes = _notes(data, need, chosen, made)
    a, b, c, d = (np.array(v) for v in (chosen, need, reached, expected))
    return ReaderPlan(a, b, c, d, gap, target, level, notes)


def _gap(difference: float | None, margin: float | None) -> float:
    """How far is the truth from what is to be excluded?"""
    if difference is None and margin is None:
        raise InputError(
            "plan_readers needs the difference to be found. Type difference=0.05, or "
            "margin=0.05 for a test of non-inferiority."
        )
    gap = 0.0 if difference is None else _options.real_number(difference, "difference")
    gap = abs(gap) if margin is None else gap + _options.fraction(margin, "margin")
    if gap <= 0:
        raise InputError(f"The difference must be above 0; found {gap:g}.")
    return gap


def _powers(
    study: ReaderStudy, gap: float, level: float
) -> tuple[Callable[[float, float, int, int], float], float, Floats]:
    """Give the power of a study, by the pilot, and what varies between its readers.

    The power is a function of the variance of readers (or of their interplay with
    treatments), cases, readers and groups. Of that variance come the estimate, and
    equally likely values that stand for all, as the pilot's mean square varies too.
    """
    from scipy.special import chdtri, fdtri, ncfdtr

    each = np.isfinite(study.results).sum(axis=1)
    if len(study.treatments) < 2 or each.min() < 2:
        raise InputError(
            f"plan_readers needs a study of at least two treatments, with two "
            f"readers each; found {len(study.treatments)} and {each.min()}."
        )
    c, readers, size = study.components, float(each.mean()), _of_a_group(study)
    # Cov2 and Cov3 are means over all pairs, and 0 for readers of two groups
    in_common = (readers - 1) / (size - 1) if size > 1 else 0.0
    within = in_common * max(c.cov2 - c.cov3, 0.0)
    # the error variance, less what a reader has in common over treatments; and what
    # errors in common take off a mean square, of two readers who share their cases
    own, less = c.variance - c.cov1, within
    nested = math.isnan(c.ms_interaction)
    square, errors = c.ms_interaction, own - max(c.cov2 - c.cov3, 0.0)
    freedom = (len(each) - 1) * (readers - 1)
    if nested:
        own, less = c.variance, in_common * c.cov2
        square, errors = c.ms_reader, c.variance - c.cov2
        freedom = float(each.sum() - len(each))
    alone = max(square - errors, 0.0)  # Hillis et al. (2011)
    if alone <= 0 and own <= 0:
        raise InputError(
            "In this study neither readers nor cases vary, so it does not show "
            "how many of them a new one needs. Plan from another study."
        )

    def power(alone: float, cases: float, j: int, groups: int) -> float:
        # errors are those of a group's cases
        shrink = (study.n_pos + study.n_neg) / study.groups * groups / cases
        pairs = (j / groups - 1) / (j - 1)
        # More readers average out what is peculiar to a reader, more cases what is
        # peculiar to the cases; Cov2 - Cov3, which the cases do to all readers of a
        # treatment alike, is averaged by cases alone, the interplay by readers alone.
        inner = alone + shrink * max(own - pairs * less, 0.0)
        total = inner + j * shrink * pairs * within
        if total <= 0:
            return 1.0
        # As in the analysis, only the mean square of the interplay, whose mean is
        # ``inner``, is uncertain (Hillis 2007); beyond 10^6 the F test is a normal one.
        free = (1 + nested) * (j - 1.0) * (total / inner) ** 2 if inner > 0 else 1e6
        limit = float(fdtri(1.0, min(free, 1e6), level))
        return 1 - float(ncfdtr(1.0, min(free, 1e6), j * gap**2 / 2 / total, limit))

    squares = square * freedom / chdtri(freedom, (np.arange(40) + 0.5) / 40)
    return power, alone, np.maximum(squares - errors, 0.0)


def _of_a_group(study: ReaderStudy) -> float:
    """How many readers has a group? 1 where each reader has cases of their own."""
    return float(np.isfinite(study.results).sum(axis=1).mean()) / study.groups


def _groups(study: ReaderStudy, asked: int | None, readers: int) -> int:
    """Into how many groups with cases of their own do the new readers fall?"""
    alone = _of_a_group(study) == 1
    if asked is None:
        return readers if alone else min(study.groups, readers)
    groups = _options.whole_number(asked, "groups", at_least=1)
    if groups > readers:
        raise InputError(
            f"{readers} readers cannot be divided into {groups} groups. Type a smaller "
            f"number of groups, or more readers."
        )
    if alone and groups < readers:
        raise InputError(
            "No two readers of this study share a case, so it does not show how alike "
            "their errors on the same cases are. Leave groups= out: each reader then "
            "has cases of their own."
        )
    return groups


def _notes(
    study: ReaderStudy, need: list[int], readers: list[int], groups: list[int]
) -> tuple[str, ...]:
    n, own, split = study.n_pos + study.n_neg, groups == readers, max(groups) > 1
    numbers = " or ".join(sorted({str(g) for g in groups}))
    crossed = study.design == "fully crossed"
    said = {
        f"The variance components are those of {len(study.readers)} readers and {n} "
        f"cases ({percent(study.n_pos / n)} positive), so they are uncertain if these "
        "are few. The assurance is the power to be expected when that is "
        "counted.": True,
        "Every reader has cases of their own; the cases are those of all readers "
        "together.": own,
        f"The readers of the new study are divided into {numbers} groups of equal "
        "size, each with cases of its own; the cases are those of all groups.": split
        and not own,
        f"The new study is assumed to be {study.design} in the same way.": not (
            crossed or split or own
        ),
        "The readers are those of each treatment.": "readers nested" in study.design,
        "The plan takes readers and cases as random; the analysis of that study took "
        f"them as: {study.assumed}.": study.assumed != "random readers, random cases",
        "With so few readers no number of cases is enough where 0 is shown: the "
        "readers differ too much in what a treatment does for them.": 0 in need,
    }
    return tuple(text for text, holds in said.items() if holds)
