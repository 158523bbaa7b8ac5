"""Is this a table of counts, and which tally does it hold?

The format of counts (``docs/counts.md``): a row is a score, or a bin from ``score`` to
``high``, with its ``neg``, ``pos`` and ``unknown``; of weighted cases also the sums of
squared weights, of clustered ones the ``cluster``. A table is recognised by these
names, in capitals or not: warehouses write them as they like. What a query could not
count it puts into ``refused``, which is an error here.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from decimal import Decimal
from typing import Any

import numpy as np

from trueness._core.arrays import Array, Floats
from trueness._core.checks import columns as _columns
from trueness._core.checks.errors import InputError
from trueness._core.checks.words import listing, plain
from trueness.counts.cases import COUNTS, SQUARES, put_in_clusters
from trueness.counts.design import WORDS as DESIGN
from trueness.counts.rows import merge_bins
from trueness.counts.values import Tally, rows_of, tally_of_bins

COLUMNS = ("score", "high", "cluster", *COUNTS, *SQUARES, "refused", *DESIGN)
_NEEDED = {"score", *COUNTS}


def are_counts(names: Iterable[str]) -> bool:
    """Are these the columns of counts?

    >>> are_counts(["SCORE", "NEG", "POS", "UNKNOWN", "SITE"])
    True
    """
    return {str(n).lower() for n in names} >= _NEEDED


def count_columns_of(names: Iterable[str]) -> dict[str, str]:
    """Which column has which name of the format?"""
    found: dict[str, str] = {}
    for name in names:
        if name.lower() in COLUMNS:
            if name.lower() in found:
                raise InputError(
                    f"Counts need one column {name.lower()!r}; found "
                    f"{found[name.lower()]!r} and {name!r}. Leave one of them out."
                )
            found[name.lower()] = name
    return found


def tally_of_counts(columns: Mapping[str, Array]) -> Tally:
    """Make the tally that columns of counts hold, rows in any order.

    Rows of the same score are added up, bins that overlap are joined.
    """
    refused = columns.get("refused", np.zeros(0, np.int64))
    if lost := int(_whole(refused, "refused").sum()):
        raise InputError(
            f"The query could not count {lost:,} rows: labels are neither 0 nor 1, or "
            f"weights or counts are missing or negative. For other labels than 0 and 1 "
            f"say which is positive when you write the query; leave the other rows out "
            f"by a view."
        )
    counts = counts_in(columns)
    low, high = _ends(columns, np.add.reduce(counts[:3]))
    made = tally_of_bins(*merge_bins(low, high, counts))
    if "cluster" in columns:
        put_in_clusters(made, rows_of(made, low), columns["cluster"], counts)
    return made.with_design(**_design(columns))


def counts_in(columns: Mapping[str, Array]) -> list[Array]:
    """Read the counts; of weighted cases the sums of weights, then of squares."""
    weighted = any(k in columns for k in SQUARES)
    kinds = (*COUNTS, *SQUARES) if weighted else COUNTS
    lacking = [k for k in kinds if k not in columns]
    if lacking:
        raise InputError(f"Counts need the columns {listing(kinds)}; there is no "
                         f"{listing(lacking)}.")  # fmt: skip
    read = _weights if weighted else _whole
    counts = [read(columns[k], k) for k in kinds]
    for kind, sums, squares in zip(COUNTS, counts, counts[3:], strict=False):
        with np.errstate(over="ignore"):
            more = squares > sums**2 * (1 + 1e-6)  # as no weights have; but rounding
        if more.any():
            raise InputError(
                f"The squares of weights add up to no more than the square of their "
                f"sum; in {int(more.sum()):,} rows {kind}_squares are more."
            )
    return counts


def _design(columns: Mapping[str, Array]) -> dict[str, Any]:
    """Read how the cases came, where columns say it: the same in every row."""
    said: dict[str, Any] = {}
    for word in DESIGN:
        values = columns.get(word, np.zeros(0))
        if word == "prevalence" and values.dtype.kind in "OU":
            texts = [v if isinstance(v, str) else str(v or "") for v in values]
            values = np.array([float(v) if v else np.nan for v in texts])
        given = {plain(v) for v in values[~_columns.missing(values)]} - {""}
        if len(given) > 1:
            raise InputError(
                f"{word} must be the same in every row of counts; found "
                f"{listing(sorted(given, key=str))}. Tell the groups apart by by=."
            )
        if given:
            said[word] = given.pop()
    return said


def _ends(columns: Mapping[str, Array], cases: Array) -> tuple[Floats, Floats]:
    """Read from where to where each row goes."""
    ends = []
    for name in ("score", "high") if "high" in columns else ("score",):
        value = _columns.numeric_scores(columns[name], name).astype(np.float64)
        ends.append(_columns.finite_scores(value, name, cases=cases) + 0.0)
    low, high = ends[0], ends[-1]
    if (high < low).any():
        raise InputError(
            f"A bin goes from score up to high; in {int((high < low).sum()):,} rows "
            f"high is less than score."
        )
    return low, high


def _whole(values: Array, name: str) -> Array:
    """Read counts, which engines also send as decimals."""
    if values.dtype.kind == "O":
        exact = all(isinstance(v, (int, Decimal)) and v % 1 == 0 for v in values)
        small = exact and all(abs(v) < 2**63 for v in values)
        as_numbers = _columns.numeric_scores
        values = values.astype(np.int64) if small else as_numbers(values, name)
    return _columns.whole_counts(values, name)


def _weights(values: Array, name: str) -> Array:
    number = _columns.numeric_scores(values, name).astype(np.float64)
    fine = (number >= 0) & (number < np.inf)
    if not fine.all():
        raise InputError(
            f"{name} must be sums of weights or of their squares, finite and zero or "
            f"more; found {listing(number[~fine])}."
        )
    return number
