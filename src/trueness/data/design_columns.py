"""Which columns may say how the cases were drawn, though nobody named them?

Clusters, weights, numbers of cases, and the cases by which a model was trained. None
of them is used unasked: an answer mentions it, with the argument that states it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import NamedTuple

from trueness.data import cleaning
from trueness.data.column_names import plain_name, words_of
from trueness.data.column_roles import MAX_READINGS, WEIGHT_NAMES, FoundColumns
from trueness.data.count_columns import COUNT_NAMES
from trueness.data.data_tables import REAL, TEXT, WHOLE, DataTable

CLUSTER_NAMES = (
    *("patient", "patient_id", "subject", "subject_id", "person", "person_id"),
    *("household", "household_id", "cluster", "cluster_id", "user", "user_id"),
    *("participant", "participant_id", "customer_id", "animal", "animal_id", "mrn"),
    # of surveys, and of CDISC
    *("psu", "usubjid", "subjid"),
)
# of a column that says which cases trained a model, and what it calls them
_SPLIT_WORDS = frozenset(
    {
        *("split", "set", "subset", "partition", "dataset", "sample", "part", "fold"),
        *("role", "usage", "cohort", "phase", "trainset", "traintest"),
    }
)
_TRAINING_PARTS = frozenset(
    {"train", "training", "trn", "learn", "learning", "derivation", "development"}
)
# a name that a score of the first row may have become
_NUMBER_WITH_DECIMALS = re.compile(r"-?\d*\.\d+")


def with_remarks_on_unused(
    table: DataTable, roles: FoundColumns, taken: Iterable[str | None]
) -> FoundColumns:
    """Remark on columns that may be numbers of cases or weights, and were not used."""
    used = {roles.label, *roles.scores, *taken, roles.count}
    counts = [
        column
        for column in table.kinds
        if column not in used
        and column.lower() in COUNT_NAMES
        and table.kinds[column] == WHOLE
    ]
    remarks = [
        f"Every row counts as one case. If column {column!r} holds numbers of cases, "
        f'type count="{column}".'
        for column in counts[:1]
    ]
    for unused in design_columns(table, used):
        remarks.append(f'{unused.meaning}, type {unused.option}="{unused.column}".')
    for score in roles.scores:
        if _NUMBER_WITH_DECIMALS.fullmatch(score):
            remarks.append(
                f"A column is called {score!r}: if that is a score, the first row was "
                "read as names of columns."
            )
            break
    return replace(roles, unused=tuple(remarks))


class DesignColumn(NamedTuple):
    """What a column may say of the cases, and the argument by which it is stated."""

    meaning: str
    option: str
    column: str


def design_columns(table: DataTable, taken: set[str | None]) -> list[DesignColumn]:
    """Return the columns that may hold clusters, weights or cases for training."""
    free = [column for column in table.kinds if column not in taken]
    return [
        *_training_cases(table, free),
        *_clusters(table, free),
        *_weights(table, free),
    ]


def _training_cases(table: DataTable, columns: Sequence[str]) -> list[DesignColumn]:
    """Return the column that sets the cases apart by which a model was trained."""
    for column in columns:
        if table.kinds[column] != TEXT or not words_of(column) & _SPLIT_WORDS:
            continue
        parts = [str(part) for part in table.distinct(column, MAX_READINGS)]
        trained = [
            part for part in parts if cleaning.normal_form(part) in _TRAINING_PARTS
        ]
        if trained and 2 <= len(parts) <= MAX_READINGS:
            meaning = (
                f"Column {column!r} marks cases as {trained[0]!r}. Scores look too "
                "good on the cases that trained a model. For an answer about each part"
            )
            return [DesignColumn(meaning, "by", column)]
    return []


def _clusters(table: DataTable, columns: Sequence[str]) -> list[DesignColumn]:
    """Return the first column of patients, if some of them have several rows."""
    for column in columns:
        if plain_name(column) in CLUSTER_NAMES:
            rows, different = table.value_counts([column])
            # of a large file the values are counted approximately
            if not 1 < different[column] < 0.95 * rows:
                return []
            meaning = (
                "Every case counts as independent. If cases with the same value of "
                f"{column!r} belong together"
            )
            return [DesignColumn(meaning, "cluster", column)]
    return []


def _weights(table: DataTable, columns: Sequence[str]) -> list[DesignColumn]:
    """Return the first column of numbers that is called like weights."""
    for column in columns:
        if column.lower() in WEIGHT_NAMES and table.kinds[column] in (WHOLE, REAL):
            meaning = (
                f"Every case has the same weight. If column {column!r} holds weights"
            )
            return [DesignColumn(meaning, "weight", column)]
    return []
