"""How often does each case come in a table, and does its label stay the same?

``count_repeats`` counts columns in memory; a ``RelationTable`` asks DuckDB for the same
numbers. ``long_tables`` decides by them.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import final

import numpy as np

from trueness._core.arrays import Array, Ints
from trueness._core.checks import columns as _columns


@final
@dataclass(frozen=True)
class RepeatedCases:
    """Rows, cases and labels of a table in which cases may come several times.

    Rows without a name of the case, or of the part of it, do not count.
    """

    rows: int
    cases: int
    pairs: int  # different pairs of case and part
    labelled_cases: int
    case_labels: int  # different pairs of case and label
    cases_of_labels: tuple[int, ...]  # how many cases have each label


def count_repeats(case: Array, rows: Array, label: Array) -> RepeatedCases:
    """Return the repeated cases of three columns, and whether their labels agree."""
    named = ~_columns.missing(case) & ~_columns.missing(rows)
    case_code = codes_of(case[named])
    part_code = codes_of(rows[named])
    known = ~_columns.missing(label[named])
    labelled_case = case_code[known]
    label_code = codes_of(label[named][known])
    pairs_with_label = _different_pairs(labelled_case, label_code)

    return RepeatedCases(
        rows=int(named.sum()),
        cases=_number_of_codes(case_code),
        pairs=len(_different_pairs(case_code, part_code)),
        labelled_cases=len(np.unique(labelled_case)),
        case_labels=len(pairs_with_label),
        cases_of_labels=tuple(np.bincount(pairs_with_label[:, 1]).tolist()),
    )


def codes_of(values: Array) -> Ints:
    """Return the number of each value among the distinct values, of any type."""
    if values.dtype.kind in "iufb":
        return np.unique(values, return_inverse=True)[1].astype(np.int64)
    numbers: dict[object, int] = {}
    codes = [numbers.setdefault(value, len(numbers)) for value in values.tolist()]
    return np.array(codes, dtype=np.int64)


def number_of_values(values: Array) -> int:
    """Return how many distinct values a column has."""
    return _number_of_codes(codes_of(values))


def _number_of_codes(codes: Ints) -> int:
    return int(codes.max(initial=-1)) + 1


def _different_pairs(first: Ints, second: Ints) -> Ints:
    """Return the different pairs of two columns of codes, a row for each."""
    width = _number_of_codes(second)
    pair = np.unique(first * max(width, 1) + second)
    return np.column_stack(np.divmod(pair, max(width, 1)))
