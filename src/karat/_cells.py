"""How are scores summed up in cells, so that what is lost is known?

A cell is an interval of scores with its counts; ``low`` and ``high`` are the smallest
and the largest score in it. Cells never overlap, so the order between cells is that of
the scores, and only the order within a cell is lost.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from karat._numerics import Array, Floats, Ints

Cells = tuple[Floats, Floats, list[Ints]]


def merge_cells(low: Floats, high: Floats, counts: Sequence[Ints]) -> Cells:
    """Join cells that overlap, highest first; cells without a case are dropped.

    >>> low, high = np.array([0.1, 0.5, 0.3]), np.array([0.2, 0.9, 0.5])
    >>> merge_cells(low, high, [np.array([1, 2, 3])])
    (array([0.3, 0.1]), array([0.9, 0.2]), [array([5, 1])])
    """
    some = np.add.reduce([c != 0 for c in counts], axis=0).astype(bool)
    order = np.flatnonzero(some)[np.argsort(-high[some], kind="stable")]
    low, high = low[order], high[order]
    # a cell starts anew when it ends below everything before it
    reach = np.minimum.accumulate(low)
    start = np.flatnonzero(np.concatenate([[True], high[1:] < reach[:-1]])[: low.size])
    if start.size == 0:
        return low, high, [c[order] for c in counts]
    columns = [np.add.reduceat(c[order], start) for c in counts]
    return np.minimum.reduceat(low, start), high[start], columns


def equal_depth(cases: Ints, at_most: int) -> Ints:
    """Where does each cell start, when rows are put into cells of about equal size?

    At most ``at_most`` cells, of neighbouring rows; a row is never divided.

    >>> equal_depth(np.array([1, 1, 5, 1, 1]), 3)
    array([0, 3])
    """
    before = np.cumsum(cases) - cases
    # in floating point: the product of two large counts may leave int64
    cell = np.floor(before / max(int(cases.sum()), 1) * at_most)
    return np.flatnonzero(np.diff(cell, prepend=-1))


def joined(start: Ints, low: Floats, high: Floats, counts: Sequence[Array]) -> Cells:
    """Put neighbouring rows, highest first, into the cells that start there."""
    if start.size == 0:
        return low, high, list(counts)
    last = np.append(start[1:], low.size) - 1
    return low[last], high[start], [np.add.reduceat(c, start) for c in counts]
