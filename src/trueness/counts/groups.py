"""Which cases belong to a group of several columns?

Counts by sex and race are those of each pair of values, which no two groups share, so
that their sum is the whole. Each column alone is a sum of them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar, final

import numpy as np

from trueness._core.arrays import Array, Ints
from trueness._core.checks.columns import group_members
from trueness._core.checks.errors import InputError, PythonCode
from trueness._core.checks.words import plain

Counts = TypeVar("Counts", bound=Any)


@final
@dataclass(frozen=True)
class Group:
    """Cases with these values in these columns: ``sex=f, race=b``."""

    columns: tuple[str, ...]
    values: tuple[Any, ...]

    def __str__(self) -> str:
        pairs = zip(self.columns, self.values, strict=True)
        return ", ".join(f"{column}={value}" for column, value in pairs)

    def __repr__(self) -> str:
        """Write it as people read it: it is the key of a mapping."""
        return repr(str(self))


def intersections(
    names: Sequence[str], columns: Sequence[Array]
) -> tuple[Ints, list[Group]]:
    """Number the group of each case; give the groups that occur, by their numbers."""
    codes = []
    values = []
    for name, column in zip(names, columns, strict=True):
        distinct, code = group_members(column, f"by {name!r}")
        values.append(distinct)
        codes.append(code)
    rows, member = np.unique(np.column_stack(codes), axis=0, return_inverse=True)
    groups = []
    for row in rows:
        pair = tuple(plain(v[k]) for v, k in zip(values, row, strict=True))
        groups.append(Group(tuple(names), pair))
    return member.reshape(-1), groups


def each_column_alone(groups: Mapping[Any, Counts]) -> dict[Any, Counts]:
    """Add up groups of several columns for each column; nothing of other groups."""
    alone: dict[Any, Counts] = {}
    several = all(isinstance(g, Group) and len(g.columns) > 1 for g in groups)
    columns = next(iter(groups)).columns if several and groups else ()
    for k, column in enumerate(columns):
        for group, counts in groups.items():
            margin = Group((column,), (group.values[k],))
            alone[margin] = alone[margin] + counts if margin in alone else counts
    return alone


def with_each_column(groups: Mapping[Any, Counts]) -> dict[Any, Counts]:
    """Give each column alone, then the groups; those of several columns by text."""
    every = {**each_column_alone(groups), **groups}
    return {str(g) if isinstance(g, Group) else g: x for g, x in every.items()}


def design_of_group(words: Mapping[str, Any], group: object) -> dict[str, Any]:
    """Return the design of one group: a map of expected labels is one of a group."""
    unlabelled = words.get("unlabelled")
    if unlabelled is None or isinstance(unlabelled, str):
        return dict(words)
    if isinstance(unlabelled, Mapping) and group in unlabelled:
        return {**words, "unlabelled": unlabelled[group]}
    raise InputError(
        "Each group needs a calibration map of its own, since P(label | score) may "
        f"differ between groups; there is none for {group!r}.",
        option="unlabelled",
        example=PythonCode('{"first group": map_1, "second group": map_2}'),
    )
