"""2x2 tables of studies, as papers print them: study, tp, fp, fn, tn."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from trueness._core.arrays import Array, Ints
from trueness._core.checks.errors import InputError
from trueness._core.checks.words import listing
from trueness._core.records import shown
from trueness.counts.values import Tally
from trueness.data.engines import columns_of
from trueness.data.files import scan

CELLS = ("tp", "fp", "fn", "tn")
# how papers and other programs name the column of studies
_STUDY_NAMES = ("study", "site", "names", "name", "author", "id")


@dataclass(frozen=True)
class StudyTables:
    """The tables of studies, and what else is known of each.

    Attributes
    ----------
    tables
        From study to counts, with the score 1 for a positive verdict and 0 otherwise.
    covariates
        From the name of every other column to its entry for each study.
    """

    tables: dict[str, Tally]
    covariates: dict[str, dict[str, object]]


def read_studies(data: Any) -> dict[str, Tally]:
    """2x2 tables of studies or sites, for :func:`across_sites` and :func:`summary_roc`.

    The answer has one tally per study.

    Parameters
    ----------
    data
        A file (CSV, Parquet) or a frame with a row for each study and the columns
        ``tp``, ``fp``, ``fn`` and ``tn``, in any order, in lower or upper case. The
        column ``study`` names them; without one they are numbered.

    Returns
    -------
    dict
        From study to counts, with the score 1 for a positive verdict and 0 otherwise.

    Examples
    --------
    >>> rows = {"study": ["A"], "tp": [9], "fp": [2], "fn": [1], "tn": [18]}
    >>> read_studies(rows)["A"]
    Tally: 30 cases (20 negative, 10 positive, 0 unknown), 2 distinct scores from 0 to 1
    """
    return study_tables(data).tables


def study_tables(data: Any) -> StudyTables:
    """Return the tables of studies, with all other columns as covariates."""
    frame = scan(data) if isinstance(data, (str, os.PathLike)) else data
    columns = columns_of(frame)
    names_in_small_letters = {name.lower(): name for name in columns}
    missing = [cell for cell in CELLS if cell not in names_in_small_letters]

    if missing:
        raise InputError(
            "Tables of studies need the columns tp, fp, fn and tn; there is no "
            f"{listing(missing)}. Found {listing(columns)}."
        )

    cells = {
        cell: _whole_numbers(columns[names_in_small_letters[cell]], cell)
        for cell in CELLS
    }
    study_column = next(
        (
            names_in_small_letters[n]
            for n in _STUDY_NAMES
            if n in names_in_small_letters
        ),
        None,
    )

    number = cells["tp"].size
    names = _study_names(columns, study_column, number)
    tables = {name: _table(cells, row) for row, name in enumerate(names)}

    used = {names_in_small_letters[cell] for cell in CELLS} | {study_column}
    covariates = {
        column: dict(zip(names, entries.tolist(), strict=True))
        for column, entries in columns.items()
        if column not in used
    }

    return StudyTables(tables, covariates)


def has_study_tables(names: Any) -> bool:
    """Return whether columns of these names hold 2x2 tables."""
    return set(CELLS) <= {str(name).lower() for name in names}


def _table(cells: Mapping[str, Ints], row: int) -> Tally:
    """Return the counts of one study."""
    return Tally(
        [1.0, 0.0],
        neg=[cells["fp"][row], cells["tn"][row]],
        pos=[cells["tp"][row], cells["fn"][row]],
    )


def _whole_numbers(entries: Array, name: str) -> Ints:
    """Return a column of counts."""
    try:
        numbers = np.asarray(entries, dtype=np.float64)
    except (TypeError, ValueError):
        raise InputError(
            f"Column {name!r} must hold whole numbers; found "
            f"{shown(entries[0])!r} in its first row.",
            option=name,
        ) from None

    wrong = np.flatnonzero(~(np.isfinite(numbers) & (numbers >= 0)))
    if not wrong.size:
        wrong = np.flatnonzero(numbers != np.floor(numbers))

    if wrong.size:
        row = int(wrong[0])
        raise InputError(
            f"Column {name!r} must hold whole numbers of cases; found "
            f"{shown(entries[row])!r} in row {row + 1:,}.",
            option=name,
        )

    return numbers.astype(np.int64)


def _study_names(
    columns: Mapping[str, Array], study_column: str | None, number: int
) -> list[str]:
    """Return a distinct name for each study."""
    if study_column is None:
        return [str(row + 1) for row in range(number)]

    names = [str(name).strip() for name in columns[study_column].tolist()]
    repeated = sorted({name for name in names if names.count(name) > 1})
    if repeated:
        raise InputError(
            f"Each study must have a name of its own; found several rows of "
            f"{listing(repeated)}.",
            option=study_column,
        )

    return names
