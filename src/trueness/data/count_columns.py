"""Which column says how many cases each row of a table represents?"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from trueness.data.column_names import names_of
from trueness.data.data_tables import WHOLE, DataTable

COUNT_NAMES = ("n", "count", "counts", "cases", "freq", "frequency")
_MOST_VERDICTS = 3  # yes, no, and no result


def count_column(
    table: DataTable,
    label: str | None,
    scores: Sequence[str],
    used_columns: Iterable[Any],
) -> str | None:
    """Return the column that says how many cases each row of a table of counts has.

    Such a table has a column with the name of a count. No two of its rows agree in
    label and scores, and at least half of the scores come with both labels. Without
    labels its rows are patterns of verdicts, each of which is there once.
    """
    used_columns = {label, *scores, *used_columns}
    counts = [
        column
        for column in table.kinds
        if column not in used_columns
        and column.lower() in COUNT_NAMES
        and table.kinds[column] == WHOLE
    ]
    if len(counts) != 1 or not scores:
        return None
    if label is None:
        return counts[0] if _are_patterns_of_verdicts(table, scores) else None

    rows, different_cases = table.different_rows((label, *scores))
    _, different_scores = table.different_rows(scores)
    with_both_labels = different_cases - different_scores
    is_table_of_counts = rows == different_cases
    is_table_of_counts &= 2 * with_both_labels >= different_scores

    return counts[0] if is_table_of_counts else None


def _are_patterns_of_verdicts(table: DataTable, votes: Sequence[str]) -> bool:
    """Return whether each row is another pattern of the verdicts of several tests."""
    rows, different_patterns = table.different_rows(votes)
    _, number_of_values = table.value_counts(votes)
    are_verdicts = max(number_of_values.values()) <= _MOST_VERDICTS
    return len(votes) > 1 and are_verdicts and rows == different_patterns


def count_remark(count: str | None, label: str | None) -> tuple[str, ...]:
    """Return a remark on the column of numbers of cases, if there is one."""
    if count is None:
        return ()
    same = "verdicts" if label is None else "label and scores"
    return (
        f"Column {names_of([count])} says how many cases each row represents: no two "
        f"rows have the same {same}.",
    )
