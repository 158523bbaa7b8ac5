"""How many readers and cases does a new study need?"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple, final

import numpy as np

from trueness._core.arrays import Array, Floats
from trueness._core.checks import options as _options
from trueness._core.checks.errors import InputError, PythonCode
from trueness._core.checks.words import described, is_several
from trueness._core.numbers import percent
from trueness._core.records import Record
from trueness._core.solvers import smallest
from trueness.readers.analysis import ReaderStudy


@final
@dataclass(frozen=True, repr=False)
class ReaderPlan(Record):
    """Readers and cases that a new study needs, with its power.

    Attributes
    ----------
    readers, cases : array
        Numbers of readers, and the total number of cases needed with each; 0 where no
        number is enough. The prevalence is that of the pilot study.
    power, assurance : array
        Power if the variance components are those of the pilot; and expected power,
        averaged over the uncertainty of the reader variance, or of its interaction with
        treatments.
    difference : float
        The difference that is to be detected; with a margin, the sum of both.
    required_power, level : float
        The required power, and the level of the test (95 % for a test of 5 %).
    """

    readers: Array
    cases: Array
    power: Floats
    assurance: Floats
    difference: float
    required_power: float
    level: float
    notes: tuple[str, ...]


# the largest number of cases that is tried
MOST_CASES = 100_000
# numbers of readers that are planned for by default
USUAL_READERS = range(3, 16)


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
    """Sample size of a reader study: readers and cases for a power.

    How many readers and cases does a new study need?

    The plan has the prevalence and the design of the pilot study (Hillis, Obuchowski
    and Berbaum 2011, doi:10.1016/j.acra.2010.09.007; for groups Obuchowski, Gallas and
    Hillis 2012, doi:10.1016/j.acra.2012.09.012).

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
        Required power; level of the test (0.95: 5 % two-sided, 2.5 % for a margin).
    readers
        Number of readers, or several; 3 to 15 when None. With readers nested within
        treatments, the readers of one treatment.
    cases
        Number of cases of the whole study, if it is fixed: the result is then the
        power.
    groups
        Number of groups of readers, each with its own cases (a split plot); as in the
        pilot study when None.
    """
    target = _options.fraction(power, "power")
    level = _options.fraction(level, "level")
    detectable = _detectable_difference(difference, margin)

    if not isinstance(data, ReaderStudy):
        raise InputError(
            f"plan_readers needs a study that was analysed; found {described(data)}.",
            example=PythonCode(
                "trueness.plan_readers(trueness.reader_study(...), difference=0.05)"
            ),
        )

    pilot = _read_pilot(data)
    estimated_variance = _reader_variance(pilot)
    likely_variances = _likely_reader_variances(pilot)

    reader_numbers = _reader_numbers(readers)
    group_numbers = [_group_number(data, groups, number) for number in reader_numbers]
    case_numbers = []
    powers = []
    assurances = []
    for n_readers, n_groups in zip(reader_numbers, group_numbers, strict=True):
        test = _PlannedTest(pilot, detectable, level, n_readers, n_groups)

        if cases is None:
            n_cases = _cases_for_power(test, estimated_variance, target)
        else:
            n_cases = _options.whole_number(cases, "cases", at_least=4)

        # where no number of cases is enough, show the power of the largest
        n_cases_of_power = n_cases or MOST_CASES
        expected = [
            test.power(variance, n_cases_of_power) for variance in likely_variances
        ]
        case_numbers.append(n_cases)
        powers.append(test.power(estimated_variance, n_cases_of_power))
        assurances.append(float(np.mean(expected)))

    return ReaderPlan(
        readers=np.array(reader_numbers),
        cases=np.array(case_numbers),
        power=np.array(powers),
        assurance=np.array(assurances),
        difference=detectable,
        required_power=target,
        level=level,
        notes=_notes(data, case_numbers, reader_numbers, group_numbers),
    )


def _reader_numbers(readers: int | Sequence[int] | None) -> list[int]:
    """Return the numbers of readers to plan for."""
    numbers = USUAL_READERS if readers is None else readers
    several = list(numbers) if is_several(numbers) else [numbers]
    checked = [
        _options.whole_number(number, "readers", at_least=2) for number in several
    ]
    if not checked:
        raise InputError(
            "readers must be a number or several; found none.", option="readers"
        )
    return checked


def _detectable_difference(difference: float | None, margin: float | None) -> float:
    """Return the distance from the true difference to the one to be excluded."""
    if difference is None and margin is None:
        raise InputError(
            "A plan needs the difference to detect, or a margin for a test of "
            "non-inferiority.",
            option="difference",
            example=0.05,
        )

    distance = 0.0
    if difference is not None:
        distance = _options.real_number(difference, "difference")

    if margin is None:
        distance = abs(distance)
    else:
        distance = distance + _options.fraction(margin, "margin")

    if distance <= 0:
        raise InputError(
            f"The difference must be above 0; found {distance:g}.", option="difference"
        )
    return distance


class _Pilot(NamedTuple):
    """The variances of a pilot study, which a new one is assumed to have."""

    mean_square: float  # of the interaction, or of nested readers
    mean_square_df: float
    errors_in_mean_square: float  # the error variance in this mean square
    own_error: float  # the error variance, less Cov1 where readers are crossed
    shared_error: float  # its covariance for two readers who share their cases
    case_variance: float  # Cov2 - Cov3 of two readers who share their cases
    cases_per_group: float
    nested: bool


def _read_pilot(study: ReaderStudy) -> _Pilot:
    """Return the variances of a pilot study (Hillis et al. 2011)."""
    readers_per_treatment = np.isfinite(study.results).sum(axis=1)
    n_treatments = len(study.treatments)
    if n_treatments < 2 or readers_per_treatment.min() < 2:
        raise InputError(
            f"plan_readers needs a study of at least two treatments, with two readers "
            f"each; found {n_treatments} and {readers_per_treatment.min()}."
        )

    components = study.components
    n_readers = float(readers_per_treatment.mean())
    group_size = _readers_per_group(study)
    # Cov2 and Cov3 are means over all pairs of readers, and 0 for pairs of two groups
    pairs_per_common_pair = (
        (n_readers - 1) / (group_size - 1) if group_size > 1 else 0.0
    )
    due_to_cases = max(components.cov2 - components.cov3, 0.0)
    case_variance = pairs_per_common_pair * due_to_cases
    cases_per_group = (study.n_pos + study.n_neg) / study.groups

    nested = math.isnan(components.ms_interaction)
    if nested:
        pilot = _Pilot(
            mean_square=components.ms_reader,
            mean_square_df=float(readers_per_treatment.sum() - n_treatments),
            errors_in_mean_square=components.error_variance - components.cov2,
            own_error=components.error_variance,
            shared_error=pairs_per_common_pair * components.cov2,
            case_variance=case_variance,
            cases_per_group=cases_per_group,
            nested=True,
        )
    else:
        own_error = components.error_variance - components.cov1
        pilot = _Pilot(
            mean_square=components.ms_interaction,
            mean_square_df=(n_treatments - 1) * (n_readers - 1),
            errors_in_mean_square=own_error - due_to_cases,
            own_error=own_error,
            shared_error=case_variance,
            case_variance=case_variance,
            cases_per_group=cases_per_group,
            nested=False,
        )

    if _reader_variance(pilot) <= 0 and pilot.own_error <= 0:
        raise InputError(
            "In this study neither readers nor cases vary, so it does not show "
            "how many of them a new one needs. Plan from another study."
        )

    return pilot


def _reader_variance(pilot: _Pilot) -> float:
    """Return the variance of readers, or of their interaction, free of errors."""
    return max(pilot.mean_square - pilot.errors_in_mean_square, 0.0)


def _likely_reader_variances(pilot: _Pilot) -> Floats:
    """Return equally likely values of this variance, given the mean square."""
    from scipy.special import chdtri

    df = pilot.mean_square_df
    # forty quantiles in the middle of equal parts
    probabilities = (np.arange(40) + 0.5) / 40
    mean_squares = pilot.mean_square * df / chdtri(df, probabilities)
    return np.asarray(np.maximum(mean_squares - pilot.errors_in_mean_square, 0.0))


# beyond so many degrees of freedom the F test is a normal one
_MAX_DF = 1e6


class _PlannedTest(NamedTuple):
    """The F test of two treatments in a new study with so many readers and groups."""

    pilot: _Pilot
    difference: float
    level: float
    n_readers: int
    n_groups: int

    def power(self, reader_variance: float, n_cases: float) -> float:
        """Return the power, if readers (or their interaction) vary by this much."""
        from scipy.special import fdtri, ncfdtr

        pilot = self.pilot
        n_readers = self.n_readers
        # the errors of a group come from its own cases
        error_ratio = pilot.cases_per_group * self.n_groups / n_cases
        # the probability that two readers are in the same group
        same_group = (n_readers / self.n_groups - 1) / (n_readers - 1)

        # Errors of single readers average out over readers and cases. The interaction
        # averages out over readers only. Cov2 - Cov3, the error that cases cause for
        # all readers of a treatment, averages out over cases only.
        own_error = max(pilot.own_error - same_group * pilot.shared_error, 0.0)
        mean_square = reader_variance + error_ratio * own_error
        due_to_cases = n_readers * error_ratio * same_group * pilot.case_variance
        variance = mean_square + due_to_cases
        if variance <= 0:
            return 1.0

        df = min(self._degrees_of_freedom(mean_square, variance), _MAX_DF)
        critical_value = float(fdtri(1.0, df, self.level))
        # of two treatments, whose means lie half the difference from their mean
        noncentrality = n_readers * self.difference**2 / 2 / variance
        return 1 - float(ncfdtr(1.0, df, noncentrality, critical_value))

    def _degrees_of_freedom(self, mean_square: float, variance: float) -> float:
        """Return Hillis' degrees of freedom (2007): only the mean square varies."""
        if not mean_square > 0:
            return _MAX_DF
        mean_square_df = self.n_readers - 1.0
        if self.pilot.nested:
            mean_square_df = 2 * (self.n_readers - 1.0)
        # Satterthwaite's approximation: the mean square is the only random part
        return mean_square_df * (variance / mean_square) ** 2


def _cases_for_power(test: _PlannedTest, reader_variance: float, target: float) -> int:
    """Return the smallest number of cases with this power; 0 where none is enough."""
    if test.power(reader_variance, MOST_CASES) < target:
        return 0
    return smallest(
        lambda n_cases: test.power(reader_variance, n_cases) >= target,
        start=4 * test.n_groups,
    )


def _readers_per_group(study: ReaderStudy) -> float:
    """Return the number of readers in a group of readers who share their cases."""
    readers_per_treatment = np.isfinite(study.results).sum(axis=1)
    return float(readers_per_treatment.mean()) / study.groups


def _group_number(study: ReaderStudy, groups: int | None, n_readers: int) -> int:
    """Return the number of groups of readers in the new study.

    Each group has cases of its own.
    """
    no_common_cases = _readers_per_group(study) == 1

    if groups is None:
        return n_readers if no_common_cases else min(study.groups, n_readers)

    number = _options.whole_number(groups, "groups", at_least=1)
    if number > n_readers:
        raise InputError(
            f"{n_readers} readers cannot be divided into {number} groups. Choose fewer "
            "groups, or more readers.",
            option="groups",
        )

    if no_common_cases and number < n_readers:
        raise InputError(
            "No two readers of this study share a case, so the correlation of their "
            "errors cannot be estimated. Leave groups out; each reader then has "
            "separate cases.",
            option="groups",
        )

    return number


def _notes(
    study: ReaderStudy,
    case_numbers: list[int],
    reader_numbers: list[int],
    group_numbers: list[int],
) -> tuple[str, ...]:
    """Return notes on a plan."""
    n_cases = study.n_pos + study.n_neg
    notes = [
        f"The variance components are those of {len(study.readers)} readers and "
        f"{n_cases} cases ({percent(study.n_pos / n_cases)} positive), and are "
        "uncertain if these are few. The assurance is the expected power, allowing "
        "for this uncertainty."
    ]
    notes += _notes_on_design(study, reader_numbers, group_numbers)

    if study.random_effects != "random readers, random cases":
        notes.append(
            "The plan treats readers and cases as random; that study was analysed "
            f"with: {study.random_effects}."
        )

    if 0 in case_numbers:
        notes.append(
            "A 0 means that no number of cases is enough: with so few readers the "
            "treatment effect varies too much between them."
        )

    return tuple(notes)


def _notes_on_design(
    study: ReaderStudy, reader_numbers: list[int], group_numbers: list[int]
) -> list[str]:
    """Return notes on the design of the new study."""
    notes = []

    if group_numbers == reader_numbers:
        notes.append(
            "Every reader has cases of their own; the cases are those of all readers "
            "together."
        )
    elif max(group_numbers) > 1:
        numbers = " or ".join(sorted({str(number) for number in group_numbers}))
        notes.append(
            f"The readers of the new study are divided into {numbers} groups of equal "
            "size, each with its own cases. The plan counts the cases of all groups."
        )
    elif study.design != "fully crossed":
        notes.append(f"The new study is assumed to be {study.design} in the same way.")

    if "readers nested" in study.design:
        notes.append("The readers are those of each treatment.")

    return notes
