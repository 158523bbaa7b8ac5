"""How are scores summed up in bins, so that what is lost is known?

A bin is an interval of scores with its counts; ``low`` and ``high`` are the smallest
and the largest score in it. Bins never overlap, so the order between bins is that of
the scores, and only the order within a bin is lost.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from trueness._core.arrays import Array, Floats, Ints
from trueness._core.checks.errors import InputError

Bins = tuple[Floats, Floats, list[Ints]]
BINS_FORGOTTEN = (
    "The bins of this binned tally are lost, and answers will have no limits, "
    "because the function may rise and fall within a bin. If it never does, type "
    "tally.map(f, monotone=True)."
)


def merge_bins(low: Floats, high: Floats, counts: Sequence[Ints]) -> Bins:
    """Join bins that overlap, highest first; bins without a case are dropped.

    >>> low, high = np.array([0.1, 0.5, 0.3]), np.array([0.2, 0.9, 0.5])
    >>> merge_bins(low, high, [np.array([1, 2, 3])])
    (array([0.3, 0.1]), array([0.9, 0.2]), [array([5, 1])])
    """
    some = np.add.reduce([c != 0 for c in counts], axis=0).astype(bool)
    order = np.flatnonzero(some)[np.argsort(-high[some], kind="stable")]
    low, high = low[order], high[order]
    # a bin starts anew when it ends below everything before it
    reach = np.minimum.accumulate(low)
    start = np.flatnonzero(np.concatenate([[True], high[1:] < reach[:-1]])[: low.size])
    if start.size == 0:
        return low, high, [c[order] for c in counts]
    columns = [np.add.reduceat(c[order], start) for c in counts]
    return np.minimum.reduceat(low, start), high[start], columns


def equal_depth(cases: Ints, at_most: int) -> Ints:
    """Where does each bin start, when rows are put into bins of about equal size?

    At most ``at_most`` bins, of neighbouring rows; a row is never divided.

    >>> equal_depth(np.array([1, 1, 5, 1, 1]), 3)
    array([0, 3])
    """
    before = np.cumsum(cases) - cases
    # in floating point: the product of two large counts may leave int64
    bin = np.floor(before / (cases.sum() or 1) * at_most)
    return np.flatnonzero(np.diff(bin, prepend=-1))


def no_small(counts: Sequence[Array], at_least: int) -> Ints:
    """Where does each bin start, when no count in it may be small, but zero?

    A bin ends as soon as it can; what is left at the end joins the bins before it. Of
    weights and squares, Kish's number of equal cases is at most that of the cases.

    >>> no_small([np.array([0, 1, 3, 9]), np.array([6, 0, 2, 0])], 2)
    array([0, 1, 3])
    """
    upto = [np.cumsum(c) for c in counts]

    def fine(first: int, last: int) -> bool:
        sums = [u[last] - (u[first - 1] if first else 0) for u in upto]
        if len(sums) > 3:  # rounding neither makes a case nor takes one away
            each = zip(sums[:3], sums[3:], upto[:3], strict=True)
            sums = [
                w * w / q * (1 + _ROUNDING) if w > _ROUNDING * u[-1] else 0
                for w, q, u in each
            ]
        return all(n == 0 or n >= at_least for n in sums)

    size, start, first = len(counts[0]), [], 0
    for last in range(size):
        if fine(first, last):
            start.append(first)
            first = last + 1
    while first < size and start and not fine(start[-1], size - 1):
        start.pop()
    if first < size and not start:
        raise InputError(
            f"Counts can be shared when each kind of cases, negative, positive or "
            f"unknown, has none or at least {at_least}; this tally has fewer of one "
            f"of them. Choose a smaller at_least=, or leave these cases out."
        )
    return np.array(start, np.int64)


def joined(start: Ints, low: Floats, high: Floats, counts: Sequence[Array]) -> Bins:
    """Put neighbouring rows, highest first, into the bins that start there."""
    if start.size == 0:
        return low, high, list(counts)
    last = np.append(start[1:], low.size) - 1
    return low[last], high[start], [np.add.reduceat(c, start) for c in counts]


def taken_out(whole: Bins, part: Bins) -> Bins:
    """Take the cases of ``part`` out of the rows of ``whole`` that hold their scores.

    >>> low, cases = np.array([0.5, 0.1]), [np.array([3, 2])]
    >>> taken_out((low, low, cases), (low[:1], low[:1], [np.array([3])]))
    (array([0.1]), array([0.1]), [array([2])])
    """
    low, high, counts = whole
    at = np.searchsorted(-low, -part[0])
    row = np.minimum(at, max(low.size - 1, 0))
    stray = np.ones(at.size, dtype=bool)
    if low.size:
        stray = (at == low.size) | (part[0] < low[row]) | (part[1] > high[row])
    left = less(counts, row[~stray], [c[~stray] for c in part[2]])
    short = np.add.reduce([c < 0 for c in left], axis=0).astype(bool)
    if stray.any() or short.any():
        raise InputError(_not_there(part, stray, low[short]))
    some = np.add.reduce([c != 0 for c in left], axis=0).astype(bool)
    return low[some], high[some], [c[some] for c in left]


def less(columns: Sequence[Array], at: Ints, part: Sequence[Array]) -> list[Array]:
    """Subtract counts, or weights, of a part from those of the rows ``at``.

    Sums of weights are not exact, so a rest that rounding can explain is none.
    """
    left = []
    for whole, gone in zip(columns, part, strict=True):
        rest = whole.copy()
        np.subtract.at(rest, at, gone)
        if rest.dtype.kind == "f":
            rest[np.abs(rest) <= _ROUNDING * whole] = 0.0
        left.append(rest)
    return left


# far above the rounding of a sum of millions, far below any weight that matters
_ROUNDING = 1e-9


def _not_there(part: Bins, stray: Array, short: Floats) -> str:
    wide = bool((part[1] > part[0])[stray].any())
    why = " (or its bins are wider than those it is taken from)" if wide else ""
    first = part[0][stray][0] if stray.any() else short[0]
    return (
        f"a - b takes out cases that + put in; b has more cases than a at "
        f"{int(stray.sum()) + short.size:,} scores, first {first:.6g}{why}. Is b the "
        f"part and a the whole?"
    )


def turned_bins(ends: Floats, counts: Sequence[Ints]) -> Bins:
    """Give the bins after a monotone function of the scores.

    ``ends`` holds its values at the lower ends, then at the upper ones.
    """
    ends = ends.reshape(2, -1)
    steps = np.diff(ends[::-1].T.ravel())
    if (steps > 0).any() and (steps < 0).any():
        raise InputError(
            "monotone=True was given for a function that rises and falls: the ends "
            "of the bins are no longer in order. Leave it out."
        )
    return merge_bins(ends.min(axis=0), ends.max(axis=0), counts)
