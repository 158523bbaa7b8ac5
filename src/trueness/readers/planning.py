r"""How many readers and cases does a new study need?

From the variance components of a study, the power of a new one with J readers and c
cases (Hillis, Obuchowski, Berbaum 2011): errors shrink with the number of cases, the
interplay of readers and treatments does not.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import final

import numpy as np

from trueness._core.arrays import Array, Floats
from trueness._core.checks import options as _options
from trueness._core.checks.errors import InputError
from trueness._core.checks.words import described
from trueness._core.numbers import percent
from trueness._core.records import Record
from trueness._core.search import smallest
from trueness.readers.analysis import ReaderStudy


@final
@dataclass(frozen=True, repr=False)
class ReaderPlan(Record):
    """How many readers and cases does a new study need?

    Attributes
    ----------
    readers : array
        Numbers of readers.
    cases : array
        Cases needed with each number of readers, at the share of positives of the pilot
        study, of all readers together; 0 where no number of cases is enough.
    power : array
        Power reached with them.
    difference : float
        The difference that is to be detected; with a margin, the sum of both.
    target, level : float
        The power asked for, and the level of the test (95 % for a test of 5 %).
    notes : tuple of str
        What the plan rests on.
    """

    readers: Array
    cases: Array
    power: Floats
    difference: float
    target: float
    level: float
    notes: tuple[str, ...]


MOST_CASES = 100_000


def plan_readers(
    study: ReaderStudy,
    *,
    difference: float | None = None,
    margin: float | None = None,
    power: float = 0.8,
    level: float = 0.95,
    readers: int | Sequence[int] | None = None,
    cases: int | None = None,
) -> ReaderPlan:
    r"""How many readers and cases does a new study need?

    .. math:: \lambda = \frac{J d^2 / 2}{\sigma_{TR}^2 + \frac{c_*}{c} [\sigma^2 -
              \mathrm{Cov}_1 + (J - 1) \max(\mathrm{Cov}_2 - \mathrm{Cov}_3, 0)]}

    Parameters
    ----------
    study
        A study of at least two treatments, with the variance components.
    difference
        The difference of two treatments that is to be detected; with ``margin`` the
        true difference (0 when None).
    margin
        Plan a test of non-inferiority with this margin instead.
    power, level
        Power asked for; level of the test (0.95: 5 % two-sided, 2.5 % for a margin).
    readers
        Number of readers, or several; 3 to 15 when None.
    cases
        Number of cases of the whole study, if it is fixed: the answer is then the power
        that it gives.

    Returns
    -------
    ReaderPlan
        Cases for each number of readers, and the power.

    Notes
    -----
    :math:`c_*` are the cases of the pilot study, whose share of positives and whose
    design are kept: where every reader has cases of their own, both :math:`c` and
    :math:`c_*` are the cases of one reader. Readers and cases are random. The
    F test has 1 and :math:`(J-1) D^2 / I^2` degrees of freedom, with D the denominator
    above and I the part of it that does not grow with J. A plan is as uncertain as the
    variance components, and those of few readers are uncertain.

    References
    ----------
    Hillis, Obuchowski, Berbaum (2011), Acad. Radiol. 18:129,
    doi:10.1016/j.acra.2010.09.007
    """
    target = _options.fraction(power, "power")
    level = _options.fraction(level, "level")
    gap = _gap(difference, margin)
    if not isinstance(study, ReaderStudy):
        raise InputError(
            f"plan_readers needs a study, the answer of trueness.reader_study; found "
            f"{described(study)}."
        )
    if len(study.treatments) < 2 or math.isnan(study.components.ms_interaction):
        raise InputError(
            "plan_readers needs a study in which every reader used at least two "
            "treatments."
        )
    few = range(3, 16) if readers is None else np.atleast_1d(np.asarray(readers))
    chosen = np.array([_options.whole_number(int(j), "readers", at_least=2)
                       for j in few])  # fmt: skip
    need = np.array(
        [_cases_needed(study, gap, int(j), target, level) for j in chosen]
        if cases is None
        else [_options.whole_number(cases, "cases", at_least=4)] * len(chosen)
    )
    reached = np.array(
        [reader_power(study, gap, int(j), int(c) or MOST_CASES, level)
         for j, c in zip(chosen, need, strict=True)]
    )  # fmt: skip
    notes = _notes(study, need, gap)
    return ReaderPlan(chosen, need, reached, gap, target, level, notes)


def _gap(difference: float | None, margin: float | None) -> float:
    """How far is the truth from what is to be excluded?"""
    if difference is None and margin is None:
        raise InputError(
            "plan_readers needs the difference to be found. Type difference=0.05, or "
            "margin=0.05 for a test of non-inferiority."
        )
    gap = 0.0 if difference is None else _options.real_number(difference, "difference")
    if margin is None:
        gap = abs(gap)
    else:
        gap += _options.fraction(margin, "margin")
    if gap <= 0:
        raise InputError(f"The difference must be above 0; found {gap:g}.")
    return gap


def reader_power(
    study: ReaderStudy, gap: float, readers: int, cases: int, level: float
) -> float:
    """Which share of such studies would find the difference?"""
    from scipy.special import fdtri, ncfdtr

    c = study.components
    shrink = (study.n_pos + study.n_neg) / cases
    if _own_cases(study):  # errors are those of a reader's own share of the cases
        shrink *= readers / len(study.readers)
    # More readers average out what is peculiar to a reader, more cases what is peculiar
    # to the cases; Cov2 - Cov3, which the cases do to all readers of a treatment alike,
    # is averaged by cases alone, and the interplay by readers alone.
    between = max(c.cov2 - c.cov3, 0.0)
    alone = c.interaction + shrink * max(c.variance - c.cov1 - between, 0.0)
    total = alone + readers * shrink * between
    if total <= 0:
        return 1.0
    # As in the analysis, only the mean square of the interplay, whose mean is
    # ``alone``, is uncertain (Hillis 2007); beyond 10^6 the F test is a normal one.
    free = (readers - 1.0) * total**2 / alone**2 if alone > 0 else 1e6
    limit = float(fdtri(1.0, min(free, 1e6), level))
    noncentral = readers * gap**2 / 2 / total
    return 1 - float(ncfdtr(1.0, min(free, 1e6), noncentral, limit))


def _own_cases(study: ReaderStudy) -> bool:
    """Does every reader have cases of their own?"""
    return "cases nested within readers" in study.design


def _cases_needed(
    study: ReaderStudy, gap: float, readers: int, target: float, level: float
) -> int:
    """Search the smallest number; 0 when even very many are too few."""

    def enough(cases: int) -> bool:
        return reader_power(study, gap, readers, cases, level) >= target

    least = 4 * (readers if _own_cases(study) else 1)
    return smallest(enough, start=least) if enough(MOST_CASES) else 0


def _notes(study: ReaderStudy, need: Array, gap: float) -> tuple[str, ...]:
    share = study.n_pos / (study.n_pos + study.n_neg)
    notes = [
        f"The variance components are those of {len(study.readers)} readers and "
        f"{study.n_pos + study.n_neg} cases ({percent(share)} positive), so they are "
        "uncertain if these are few."
    ]
    if _own_cases(study):
        notes.append(
            "Every reader has cases of their own, as in that study; the cases are "
            "those of all readers together."
        )
    elif study.design != "fully crossed":
        notes.append(f"The new study is assumed to be {study.design} in the same way.")
    if study.assumed != "random readers, random cases":
        notes.append(
            f"The plan takes readers and cases as random; the analysis of that study "
            f"took them as: {study.assumed}."
        )
    if (need == 0).any() and not math.isnan(gap):
        notes.append(
            "With so few readers no number of cases is enough where 0 is shown: the "
            "readers differ too much in what a treatment does for them."
        )
    return tuple(notes)
