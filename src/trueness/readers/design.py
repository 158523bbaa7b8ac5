"""Who read which case by which treatment?

All designs (fully crossed, cases or readers nested) are one table: a row per reader and
treatment, a column per case, NaN where a case was not read.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from trueness._core.arrays import Array, Floats
from trueness._core.checks import columns as _column_checks
from trueness._core.checks.errors import InputError, NotEnoughCases
from trueness._core.checks.words import listing, places
from trueness._core.data_types import Frame, LabelValue
from trueness._core.imports import HigherFunction

# columns of a frame by name, and a column as an array
COLUMNS_OF: HigherFunction[Callable[[object, list[str]], dict[str, Array]]] = (
    HigherFunction("columns_of")
)
# the columns of the roles that were not named, by their usual names
FIND_READINGS: HigherFunction[Callable[[Any, Mapping[str, Any]], dict[str, Any]]] = (
    HigherFunction("find_readings")
)
COLUMN: HigherFunction[Callable[[Any, str], Array]] = HigherFunction("column")

# what the columns of the data hold; the first three name the levels of the design
ROLES = ("reader", "treatment", "case", "label", "score")
# a column that need not be there: which cases belong together
CLUSTER = "cluster"


class Readings(NamedTuple):
    """One row per treatment and reader, one column per case."""

    treatments: tuple[str, ...]
    readers: tuple[str, ...]
    treatment: Array  # of each row
    reader: Array  # of each row
    positive: Array  # of each case
    score: Floats  # (rows, cases), NaN where not read
    n_without_score: int = 0  # readings that were left out
    cluster: Array | None = None  # of each case; None where each is its own

    @property
    def class_sizes(self) -> tuple[int, int]:
        """Return the numbers of positive and of negative cases."""
        n_pos = int(self.positive.sum())
        return n_pos, self.positive.size - n_pos

    @property
    def numbers_of_units(self) -> tuple[int, int]:
        """Return the numbers of units with a positive, and with a negative.

        Units are clusters, or cases where there are none.
        """
        if self.cluster is None:
            return self.class_sizes
        with_positive = np.unique(self.cluster[self.positive]).size
        with_negative = np.unique(self.cluster[~self.positive]).size
        return with_positive, with_negative

    @property
    def was_read(self) -> Array:
        """Return, for each row and case, whether there is a score."""
        return ~np.isnan(self.score)

    @property
    def nested_readers(self) -> bool:
        """Return whether every reader uses one treatment only."""
        # each row is another pair of reader and treatment
        return len(self.treatments) > 1 and np.bincount(self.reader).max() == 1

    @property
    def design(self) -> str:
        """Return the design in words."""
        if self.was_read.all() and not self.nested_readers:
            return "fully crossed"

        parts = []

        if self.nested_readers:
            parts.append("readers nested within treatments")
        if self._cases_nested_within(self.treatment):
            parts.append("cases nested within treatments")
        if self._cases_nested_within(self.reader):
            parts.append("cases nested within readers")
        if 1 < self.groups < np.bincount(self.treatment).max():
            parts.append(f"{self.groups} groups of readers with cases of their own")

        return ", ".join(parts) or "partly crossed"

    def _cases_nested_within(self, factor: Array) -> bool:
        """Return whether every case was read at only one level of the factor."""
        levels = np.unique(factor)
        read_at_level = np.array(
            [self.was_read[factor == level].any(axis=0) for level in levels]
        )
        return len(levels) > 1 and bool((read_at_level.sum(axis=0) <= 1).all())

    @property
    def groups(self) -> int:
        """Return the number of groups of readers that have no case in common.

        Where treatments differ, it is the largest of their numbers.
        """
        from scipy.sparse.csgraph import connected_components

        was_read = self.was_read.astype(np.int64)
        numbers = []
        for treatment in range(len(self.treatments)):
            # readers are linked where they have read a case in common
            rows = was_read[self.treatment == treatment]
            number, _ = connected_components(rows @ rows.T > 0)
            numbers.append(int(number))

        return max(numbers)

    @property
    def shares_evenly(self) -> bool:
        """Return whether all pairs of treatments share similar numbers of cases.

        Similar: the smallest number is at least half of the largest.
        """
        # (treatments, cases): which cases were read with a treatment
        read_with = np.array(
            [
                self.was_read[self.treatment == treatment].any(axis=0)
                for treatment in range(len(self.treatments))
            ],
            dtype=np.int64,
        )
        # the number of common cases of each pair of treatments
        common = (read_with @ read_with.T)[np.triu_indices(len(read_with), 1)]
        return common.size < 2 or bool(2 * common.min() >= common.max())

    def of_treatments(self, treatments: Sequence[int]) -> Readings:
        """Return the readings with these treatments, and the cases read with them."""
        # rows of these treatments, and cases that some of them read
        rows = np.isin(self.treatment, treatments)
        cases = ~np.isnan(self.score[rows]).all(axis=0)
        readers, reader = np.unique(self.reader[rows], return_inverse=True)

        return Readings(
            treatments=tuple(self.treatments[treatment] for treatment in treatments),
            readers=tuple(self.readers[number] for number in readers),
            treatment=np.searchsorted(treatments, self.treatment[rows]),
            reader=reader,
            positive=self.positive[cases],
            score=self.score[np.ix_(rows, cases)],
            cluster=None if self.cluster is None else self.cluster[cases],
        )


def collect_readings(data: Frame | None, arguments: Mapping[str, Any]) -> Readings:
    """Return the readings of a study.

    ``arguments`` has the columns by role, and ``positive``. A role without an entry is
    the name of its column.
    """
    columns = _columns_by_role(data, arguments)
    _check_equal_lengths(columns)
    columns, n_without_score = _without_unread(columns)
    _check_complete(columns)

    label = _read_labels(columns["label"], arguments.get("positive"))
    readers, reader = _levels(columns["reader"])
    treatments, treatment = _levels(columns["treatment"])
    cases, case = _levels(columns["case"])
    positive = _label_of_each_case(cases, case, label)

    # a row of the table is a pair of treatment and reader that occurs
    pairs, row = np.unique(treatment * readers.size + reader, return_inverse=True)
    repeated = _repeated_cells(row * cases.size + case)
    if repeated.size:
        first = repeated[0]
        _refuse_repeated_reading(
            reader=readers[reader[first]],
            case=cases[case[first]],
            treatment=treatments[treatment[first]],
            others=repeated.size - 1,
        )

    # an empty cell is a case that was not read
    score = np.full((pairs.size, cases.size), np.nan)
    score[row, case] = columns["score"]
    readings = Readings(
        treatments=tuple(str(name) for name in treatments),
        readers=tuple(str(name) for name in readers),
        treatment=pairs // readers.size,
        reader=pairs % readers.size,
        positive=positive,
        score=score,
        n_without_score=n_without_score,
        cluster=_cluster_of_each_case(cases, case, columns.get(CLUSTER)),
    )
    _check_both_classes_read(readings)

    return readings


def _columns_by_role(
    data: Frame | None, arguments: Mapping[str, Any]
) -> dict[str, Array]:
    """Return the columns by role: named columns of the data, or arrays."""
    sources = FIND_READINGS.load()(data, arguments)
    if arguments.get(CLUSTER) is not None:
        sources[CLUSTER] = arguments[CLUSTER]
    names = [source for source in sources.values() if isinstance(source, str)]
    columns_of_data = COLUMNS_OF.load()(data, names) if names else {}
    as_array = COLUMN.load()

    columns = {}
    for role, source in sources.items():
        values = columns_of_data[source] if isinstance(source, str) else source
        columns[role] = np.asarray(as_array(values, role))

    return columns


def _check_equal_lengths(columns: Mapping[str, Array]) -> None:
    """Raise an error for columns of different lengths."""
    if len({len(values) for values in columns.values()}) == 1:
        return

    sizes = ", ".join(f"{role} {len(values):,}" for role, values in columns.items())
    raise InputError(
        f"Every reading needs one value in each column; found {sizes}. Columns must "
        "have the same length."
    )


def _without_unread(columns: Mapping[str, Array]) -> tuple[dict[str, Array], int]:
    """Return the readings with a score, and the number of those without one."""
    score = _column_checks.numeric_scores(columns["score"], "score").astype(np.float64)
    _column_checks.finite_scores(score, "score", allow_nan=True)
    was_read = ~np.isnan(score)
    if not was_read.any():
        raise NotEnoughCases("reader_study needs readings; these data have none.")

    read_columns = {role: values[was_read] for role, values in columns.items()}
    read_columns["score"] = score[was_read]
    return read_columns, int((~was_read).sum())


def _check_complete(columns: Mapping[str, Array]) -> None:
    """Raise an error for readings without a reader, treatment, case or label."""
    for role in [role for role in columns if role != "score"]:
        missing = _column_checks.missing(columns[role])
        if missing.any():
            raise InputError(
                f"Every reading needs a {role}; missing at {places(missing)}. Leave "
                f"these readings out, or complete them.",
                option=role,
            )


def _levels(values: Array) -> tuple[Array, Array]:
    """Return the sorted levels of a factor, and the index of each reading's level."""
    levels, level_of_value = np.unique(_as_people_sort(values), return_inverse=True)
    return levels, level_of_value


def _as_people_sort(values: Array) -> Array:
    """Return values that sort in natural order: numbers by size, others as text."""
    if values.dtype.kind in "biuf":
        return values

    text = values.astype(str)
    try:
        whole_numbers = text.astype(np.int64)
    except ValueError:
        return text

    # "01" and "1" are two names
    is_canonical = (whole_numbers.astype(str) == text).all()
    return whole_numbers if is_canonical else text


def _read_labels(values: Array, positive: LabelValue) -> Array:
    """Return which readings are of a positive case."""
    if positive is not None:
        is_positive = np.asarray(values == positive)
        if not is_positive.any():
            # without conversion: 1 and "1" are two labels
            labels = list(dict.fromkeys(values.tolist()))
            raise InputError(
                f"No case has the label {positive!r}; there are {listing(labels, 5)}.",
                option="positive",
            )
        return is_positive

    values = _as_people_sort(values)
    labels = np.unique(values).tolist()
    if not set(labels) <= {0, 1}:
        raise InputError(
            f"Labels must be 0 and 1; found {listing(labels, 5)}. Which one is "
            "positive?",
            option="positive",
            choices=labels,
        )

    return np.asarray(values == 1)


def _label_of_each_case(cases: Array, case: Array, label: Array) -> Array:
    """Return which cases are positive; all readings of a case must agree on it."""
    positive = np.zeros(cases.size, dtype=bool)
    positive[case] = label
    # the last reading of a case was kept: any other must agree with it
    contradicted = positive[case] != label
    if contradicted.any():
        first = cases[case[contradicted][0]]
        raise InputError(
            f"Every case has one label; case {first} has both. Is it the right column "
            "of cases? If names such as 1.1 and 1.10 were read as numbers, read them "
            "as text."
        )

    return positive


def _cluster_of_each_case(
    cases: Array, case: Array, cluster: Array | None
) -> Array | None:
    """Return the cluster of each case; None where each case is one of its own."""
    if cluster is None:
        return None

    _, cluster_of_reading = _levels(cluster)
    of_case = np.zeros(cases.size, dtype=np.int64)
    of_case[case] = cluster_of_reading
    # the last reading of a case was kept: any other must agree with it
    contradicted = of_case[case] != cluster_of_reading
    if contradicted.any():
        first = cases[case[contradicted][0]]
        raise InputError(
            f"Every case belongs to one cluster; case {first} has readings in two. "
            "Use different case names in different clusters.",
            option="cluster",
        )

    return of_case


def _repeated_cells(cell: Array) -> Array:
    """Return the first reading of each cell that has several readings."""
    _, first, count = np.unique(cell, return_index=True, return_counts=True)
    return np.asarray(first[count > 1])


def _refuse_repeated_reading(
    *, reader: LabelValue, case: LabelValue, treatment: LabelValue, others: int
) -> None:
    """Raise an error for a reader who read a case more than once with a treatment."""
    like_that = f", and {others:,} more are like that" if others else ""
    raise InputError(
        f"Each reader may read a case once per treatment; reader {reader} has read "
        f"case {case} more often with treatment {treatment}{like_that}. Keep one of "
        "these readings. If names such as 1.1 and 1.10 were read as numbers, read "
        "them as text."
    )


def _check_both_classes_read(readings: Readings) -> None:
    """Raise an error for a reader with fewer than two cases of a class."""
    for row, was_read in enumerate(readings.was_read):
        n_pos = (was_read & readings.positive).sum()
        n_neg = (was_read & ~readings.positive).sum()
        if min(n_pos, n_neg) < 2:
            reader = readings.readers[readings.reader[row]]
            treatment = readings.treatments[readings.treatment[row]]
            raise NotEnoughCases(
                f"Each reader needs two positive and two negative cases per treatment; "
                f"reader {reader} has {n_pos} and {n_neg} with treatment {treatment}."
            )
