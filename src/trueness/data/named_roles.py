"""Which columns hold items, verdicts, systems, leaves or sites? Their names tell.

Labels and scores are found by their values too (``column_roles``). A role of this
module is taken only where one column alone has one of its usual names.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple, final

import numpy as np

from trueness._core.arrays import Array
from trueness._core.checks import columns as _columns
from trueness._core.checks.errors import InputError
from trueness._core.checks.words import listing
from trueness._core.imports import is_of_library
from trueness.data.cleaning import normal_form
from trueness.data.column_names import names_of, plain_name
from trueness.data.column_roles import LABEL_NAMES, NODE_NAMES, find_label, tests_among
from trueness.data.columns import is_frame
from trueness.data.count_columns import count_column, count_remark
from trueness.data.data_tables import TEXT, WHOLE, DataTable
from trueness.data.engines import column_names, columns_of
from trueness.data.frame_tables import FrameTable
from trueness.data.study_tables import has_study_tables

ITEM_NAMES = (
    *("item", "item_id", "task", "task_id", "question", "question_id", "problem"),
    *("problem_id", "prompt", "prompt_id", "sample_id", "example_id", "doc_id"),
)
PASSED_NAMES = (
    *("passed", "pass", "correct", "is_correct", "success", "resolved", "solved"),
    *("ok", "verdict"),
)
SYSTEM_NAMES = (
    *("system", "system_name", "model", "model_name", "model_id", "llm", "agent"),
    "agent_name",
)
SITE_NAMES = ("site", "site_id", "centre", "center", "hospital", "clinic", "study")
WINNER_NAMES = ("winner", "preference", "preferred", "better")
# columns of a study of readers
READING_NAMES = {
    "reader": ("reader", "reader_id", "radiologist", "pathologist", "observer"),
    "treatment": ("treatment", "modality", "technique"),
    "case": ("case", "case_id", "patient", "patient_id", "image", "image_id"),
    "label": LABEL_NAMES,
    "score": ("score", "rating", "reading", "confidence"),
}
# columns of the two systems that were compared
PAIRS_OF_SYSTEMS = (
    ("first", "second"),
    ("model_a", "model_b"),
    ("system_a", "system_b"),
    ("model_1", "model_2"),
    ("system_1", "system_2"),
    ("a", "b"),
)


class AttemptRoles(NamedTuple):
    """The columns of attempts, and a remark on those that nobody named."""

    item: str
    passed: str
    system: str | None
    remark: str


@final
@dataclass(frozen=True)
class LeafRoles:
    """The columns of leaves and labels, and remarks on those that nobody named."""

    node: str
    label: str
    count: str | None
    remarks: tuple[str, ...]


@final
@dataclass(frozen=True)
class WinnerRoles:
    """The columns of verdicts head to head; systems are None where none names them."""

    winner: str
    first: str | None
    second: str | None


def table_of(data: Any) -> DataTable:
    """Look at a frame or a mapping; a file is asked by its engine."""
    if is_of_library(data, "duckdb", "DuckDBPyRelation"):
        from trueness.data.relation_tables import RelationTable

        return RelationTable(data)
    return FrameTable(data)


def column_called(columns: Iterable[str], names: Collection[str]) -> str | None:
    """Return the one column with one of these names; None where it is not one."""
    called_so = [column for column in columns if plain_name(column) in names]
    return called_so[0] if len(called_so) == 1 else None


def find_attempts(
    table: DataTable,
    *,
    item: str | None = None,
    passed: str | None = None,
    system: str | None = None,
) -> AttemptRoles | None:
    """Return the columns of items, verdicts and systems; None where there is doubt."""
    columns = list(table.kinds)
    if system is None:
        others = [column for column in columns if column not in (item, passed)]
        system = column_called(others, SYSTEM_NAMES)
    if item is None:
        others = [column for column in columns if column not in (passed, system)]
        item = _item_column(table, others)

    if passed is None:
        others = [column for column in columns if column not in (item, system)]
        passed = column_called(others, PASSED_NAMES)
        verdicts = tests_among(table, {item, system})
        if passed is None and len(verdicts) == 1:
            passed = verdicts[0]

    if item is None or passed is None:
        return None

    named = [f"item {names_of([item])}", f"verdict {names_of([passed])}"]
    if system is not None:
        named.append(f"system {names_of([system])}")
    return AttemptRoles(item, passed, system, f"Using {', '.join(named)}: by name.")


def _item_column(table: DataTable, columns: Collection[str]) -> str | None:
    """Return the column of items by its name, unless another tells rows apart better.

    A task may be an item, or the benchmark to which items belong.
    """
    item = column_called(columns, ITEM_NAMES)
    names = [c for c in columns if table.kinds[c] in (TEXT, WHOLE)]
    if item is None or item not in names:
        return item

    _, number_of_values = table.value_counts(names)
    # a large file has its values counted approximately
    most_values = 1.1 * number_of_values[item]
    is_finest = all(number_of_values[name] <= most_values for name in names)
    return item if is_finest else None


def find_leaves(table: DataTable) -> LeafRoles | None:
    """Return the columns of leaves, labels and counts; None where there is doubt."""
    node = column_called(table.kinds, NODE_NAMES)
    if node is None:
        return None

    try:
        label = find_label(table, {node})
    except InputError:
        return None

    count = count_column(table, label, [node], ())
    using = f"Using label {names_of([label])} and node {names_of([node])}: by name."
    return LeafRoles(node, label, count, (using, *count_remark(count, label)))


def find_winners(
    columns: Collection[str], winner: str | None = None
) -> WinnerRoles | None:
    """Return the columns of verdicts head to head; None where there are none."""
    winner = winner or column_called(columns, WINNER_NAMES)
    if winner is None:
        return None

    by_name = {plain_name(column): column for column in columns}
    for first, second in PAIRS_OF_SYSTEMS:
        if first in by_name and second in by_name:
            return WinnerRoles(winner, by_name[first], by_name[second])
    return WinnerRoles(winner, None, None)


def find_readings(data: Any, named: Mapping[str, Any]) -> dict[str, Any]:
    """Return the columns of a study of readers by role; of those not named, by name."""
    columns: Collection[str] = () if data is None else column_names(data)

    roles = {}
    for role, names in READING_NAMES.items():
        by_name = role if role in columns else column_called(columns, names)
        by_name = by_name or role
        roles[role] = by_name if named.get(role) is None else named[role]
    return roles


def site_column(data: Any) -> str | None:
    """Return the column of the sites of data that hold a row for each case, or None."""
    is_table = is_frame(data) or is_of_library(data, "duckdb", "DuckDBPyRelation")
    if not is_table and not _is_mapping_of_columns(data):
        return None

    columns = column_names(data)
    return None if has_study_tables(columns) else column_called(columns, SITE_NAMES)


def _is_mapping_of_columns(data: Any) -> bool:
    """Return whether this is a mapping of columns, and not of counts or estimates."""
    if not isinstance(data, Mapping) or not data:
        return False
    are_our_own = [
        type(values).__module__.startswith("trueness.") for values in data.values()
    ]
    return not any(are_our_own) and all(
        hasattr(values, "__len__") for values in data.values()
    )


def read_winners(data: Any, roles: WinnerRoles | None = None) -> tuple[Any, Any, Array]:
    """Return the two systems of each verdict, and the winners, from what holds them.

    A column of winners alone names both systems. "model_a" as a winner is the system
    in the column of that name, as Chatbot Arena writes it. ``roles``: the columns of a
    table, by default by their names.
    """
    is_table = is_frame(data) or isinstance(data, Mapping)
    if not is_table and not is_of_library(data, "duckdb", "DuckDBPyRelation"):
        winners = np.asarray(data, dtype=object).ravel()
        return (*_two_systems(winners), winners)

    names = column_names(data)
    roles = find_winners(names) if roles is None else roles
    if roles is None:
        raise InputError(
            "head_to_head needs the two systems and the winner of each item.",
            option="winner",
            choices=tuple(names),
        )

    needed = {roles.winner, roles.first, roles.second} - {None}
    columns = columns_of(data, sorted(map(str, needed)))
    winners = np.array(columns[roles.winner], dtype=object)
    if roles.first is None or roles.second is None:
        return (*_two_systems(winners), winners)

    for column in (roles.first, roles.second):
        is_column_name = winners == column
        winners[is_column_name] = columns[column][is_column_name]
    return columns[roles.first], columns[roles.second], winners


def _two_systems(winners: Array) -> tuple[str, str]:
    """Return the two systems that winners name, in the order of their names."""
    missing = _columns.missing(winners)
    names = {str(name) for name in winners[~missing].tolist()}
    systems = sorted(name for name in names if not is_tie(name))
    if len(systems) != 2:
        raise InputError(
            f"A column of winners alone must name two systems; found "
            f"{listing(systems, 6) or 'none'}. Pass the columns of both systems too.",
            option="winner",
        )
    return systems[0], systems[1]


def is_tie(word: object) -> bool:
    """Return whether this is a word for a tie: tie, Tie, tie (bothbad), draw."""
    return normal_form(word).startswith(("tie", "draw"))
