"""Which cases belong to a group of several columns?

Counts by sex and race are counts of each pair of values. These groups do not overlap,
so their sum is the whole, and the counts of each column alone are sums of them.
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
from trueness._core.data_types import LabelValue

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
    """Return the group number of each case, and the list of groups.

    A group is a combination of values of the columns that occurs.
    """
    distinct_of_column = []
    code_of_column = []
    for name, column in zip(names, columns, strict=True):
        distinct, code = group_members(column, f"by {name!r}")
        distinct_of_column.append(distinct)
        code_of_column.append(code)

    # each distinct row of codes is a group
    codes = np.column_stack(code_of_column)
    distinct_codes, member = np.unique(codes, axis=0, return_inverse=True)
    groups = []
    for row in distinct_codes:
        values = [
            plain(distinct[code])
            for distinct, code in zip(distinct_of_column, row, strict=True)
        ]
        groups.append(Group(tuple(names), tuple(values)))

    return member.reshape(-1), groups


def each_column_alone(groups: Mapping[Any, Counts]) -> dict[Any, Counts]:
    """Return the sums of groups over all columns but one, for each column.

    An empty dict unless all are groups of several columns.
    """
    have_several_columns = all(
        isinstance(group, Group) and len(group.columns) > 1 for group in groups
    )
    if not groups or not have_several_columns:
        return {}

    margins: dict[Any, Counts] = {}
    for k, column in enumerate(next(iter(groups)).columns):
        for group, counts in groups.items():
            # groups with the same value in this column are added up
            margin = Group((column,), (group.values[k],))
            if margin in margins:
                margins[margin] = margins[margin] + counts
            else:
                margins[margin] = counts

    return margins


def with_each_column(groups: Mapping[Any, Counts]) -> dict[Any, Counts]:
    """Return counts by each column alone, then by the groups; their keys are text."""
    counts_by_group = {**each_column_alone(groups), **groups}
    return {
        str(group) if isinstance(group, Group) else group: counts
        for group, counts in counts_by_group.items()
    }


def design_of_group(design: Mapping[str, Any], group: LabelValue) -> dict[str, Any]:
    """Return the design arguments of one group, with its own map of labels."""
    unlabelled = design.get("unlabelled")
    if unlabelled is None or isinstance(unlabelled, str):
        return dict(design)
    if isinstance(unlabelled, Mapping) and group in unlabelled:
        return {**design, "unlabelled": unlabelled[group]}

    raise InputError(
        "Each group needs a calibration map of its own, since P(label | score) may "
        f"differ between groups; there is none for {group!r}.",
        option="unlabelled",
        example=PythonCode('{"first group": map_1, "second group": map_2}'),
    )
