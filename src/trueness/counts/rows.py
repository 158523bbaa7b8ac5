"""Which rows of outputs are the same, and how many cases do they hold together?"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from trueness._core.arrays import Array, Floats, Ints


def merge_rows(rows: Floats, counts: Sequence[Ints]) -> tuple[Array, ...]:
    """Add up equal rows, in descending order, NaN last; drop rows without a case."""
    codes = _vote_codes(rows)
    if codes is not None and sum(int(c.sum()) for c in counts) < 1 << 53:
        return _merge_votes(codes, rows.shape[1], counts)
    order = _descending(rows)
    rows = rows[order]
    start = np.flatnonzero(_differs(rows))
    total = [
        np.add.reduceat(c[order], start) if start.size else c[order] for c in counts
    ]
    some = np.add.reduce([t != 0 for t in total], axis=0).astype(bool)
    return rows[start][some], *(t[some] for t in total)


def _vote_codes(rows: Floats) -> Array | None:
    """Number rows of 1, 0 and NaN in base 3, so that ascending is descending rows."""
    if rows.shape[1] > 10 or not _is_vote(rows[:1]).all():
        return None
    code = np.zeros(len(rows), dtype=np.uint16)  # 3**10 < 2**16
    for column in rows.T:
        if not _is_vote(column).all():
            return None
        code *= np.uint16(3)
        code += np.uint16(1) - (column == 1) + np.isnan(column)
    return code


def _is_vote(values: Array) -> NDArray[np.bool_]:
    return np.asarray((values == 0) | (values == 1) | np.isnan(values))


def _merge_votes(
    codes: Array, voters: int, counts: Sequence[Ints]
) -> tuple[Array, ...]:
    # bincount adds in float64, which is exact below 2**53
    total = [
        np.bincount(codes, weights=c, minlength=3**voters).astype(c.dtype)
        for c in counts
    ]
    code = np.flatnonzero(np.add.reduce(total))
    digits = code[:, None] // 3 ** np.arange(voters - 1, -1, -1) % 3
    return np.array([1.0, 0.0, np.nan])[digits], *(t[code] for t in total)


def _descending(rows: Floats) -> Array:
    """Order rows from the highest down; later columns only break ties of the first."""
    order = np.argsort(-rows[:, 0], kind="stable")
    tied = ~_differs(rows[order, :1])
    tied[:-1] |= tied[1:]
    at = np.flatnonzero(tied)
    if at.size and rows.shape[1] > 1:
        part = order[at]
        order[at] = part[np.lexsort(-rows[part].T[::-1])]
    return order


def _differs(rows: Floats) -> NDArray[np.bool_]:
    """Which rows differ from the one before? NaN equals NaN."""
    new = np.zeros(len(rows), dtype=bool)
    new[:1] = True
    for column in rows.T:
        a, b = column[1:], column[:-1]
        new[1:] |= (a != b) & ~(np.isnan(a) & np.isnan(b))
        if new.all():  # the usual case of continuous scores
            break
    return new


def find_rows(rows: Floats, among: Floats) -> Ints:
    """Where does each row stand among distinct ones? NaN equals NaN; -1: nowhere."""
    both = np.concatenate([among, rows])
    both = np.where(np.isnan(both), np.inf, both)  # outputs are finite
    code = np.unique(both, axis=0, return_inverse=True)[1].reshape(-1)
    place = np.full(code.max(initial=-1) + 1, -1)
    place[code[: len(among)]] = np.arange(len(among))
    return place[code[len(among) :]]
