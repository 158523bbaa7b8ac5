"""How are scores counted that arrive in batches and do not fit into memory twice?

A score becomes an integer key in the order of the scores, as wide as the score itself
(4 bytes for float32, 8 for float64), and its label chooses the pile: nothing else is
kept of a case. Full blocks of keys are sorted in the background while the next batch is
read. A block in which scores repeat is folded into distinct keys with their counts, so
that few distinct scores take little memory however many cases there are. At the end the
sorted runs are merged range by range.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from trueness._core.arrays import Array, Floats, Ints, begins_run, threads

_BLOCK = 1 << 21
_RANGE = 1 << 18  # keys merged at once
_FOLDED_AT_MOST = 16  # folded runs of a pile before they are merged into one
_BITS: dict[Any, tuple[Any, Any]] = {
    np.dtype(np.float32): (np.uint32, np.int32),
    np.dtype(np.float64): (np.uint64, np.int64),
}


def to_keys(score: Array) -> Array:
    """Give integers that ascend as the finite scores descend; -0.0 is 0.0.

    >>> to_keys(np.array([2.0, 1.0, 0.0, -0.0, -1.0])).argsort(kind="stable").tolist()
    [0, 1, 2, 3, 4]
    """
    unsigned, signed = _BITS[score.dtype]
    bits = (score + score.dtype.type(0)).view(signed)
    # the bits of a positive float ascend with it, those of a negative one descend:
    # turning all but the sign of the positive ones round makes both descend
    flip = bits >> (8 * score.dtype.itemsize - 1)
    np.invert(flip, out=flip)
    flip &= np.iinfo(signed).max
    bits ^= flip
    return np.asarray(bits.view(unsigned))


def from_keys(keys: Array, dtype: Any) -> Floats:
    """Give the scores of keys, as float64."""
    _, signed = _BITS[np.dtype(dtype)]
    bits = keys.view(signed)
    last = 8 * np.dtype(dtype).itemsize - 1
    flip = ~(bits >> last) & np.iinfo(signed).max
    return np.asarray((bits ^ flip).view(dtype), dtype=np.float64)


class SortedRun(NamedTuple):
    """Sorted keys; with counts when they are distinct, None when each is one case."""

    keys: Array
    counts: Array | None


class KeyCounter:
    """How many cases of each pile showed each score, when scores come in batches?

    ``add`` takes finite scores of one dtype, float32 or float64; a pile is any name,
    such as a label. ``result`` gives the distinct scores, highest first, and the counts
    of each pile.
    """

    def __init__(self, dtype: Any) -> None:
        self._dtype = np.dtype(dtype)
        self._pool = ThreadPoolExecutor(threads())
        self._blocks: dict[Hashable, tuple[Array, int]] = {}
        self._runs: dict[Hashable, list[Future[SortedRun]]] = {}

    def close(self) -> None:
        """Stop the sorting threads."""
        self._pool.shutdown(cancel_futures=True)

    def add(self, score: Array, pile: Hashable) -> None:
        """Count these cases onto a pile."""
        keys = to_keys(score)
        while keys.size:
            block, used = self._block(pile)
            part = keys[: block.size - used]
            block[used : used + part.size] = part
            self._blocks[pile] = block, used + part.size
            keys = keys[part.size :]

    def _block(self, pile: Hashable) -> tuple[Array, int]:
        """Give the pile's block with room left, and how much of it is used."""
        block, used = self._blocks.get(pile, (None, 0))
        if block is None or used == block.size:
            if block is not None:
                self._store(pile, block)
            block, used = np.empty(_BLOCK, dtype=_BITS[self._dtype][0]), 0
        return block, used

    def _store(self, pile: Hashable, block: Array) -> None:
        runs = self._runs.setdefault(pile, [])
        runs.append(self._pool.submit(_sorted_run, block))
        if len(runs) % _FOLDED_AT_MOST == 0:
            folded = [r for r in runs if r.result().counts is not None]
            if len(folded) > 1:
                whole = [r.result() for r in folded]
                merged = self._pool.submit(lambda: SortedRun(*_merge(whole)))
                runs[:] = [r for r in runs if r not in folded] + [merged]

    def result(self) -> tuple[Floats, dict[Hashable, Ints]]:
        """Give the distinct scores, highest first, and a column of counts per pile."""
        for pile, (block, used) in self._blocks.items():
            self._store(pile, block[:used])
        self._blocks = {}
        piles = {p: [r.result() for r in runs] for p, runs in self._runs.items()}
        self._runs = {}
        pieces = _merge_ranges(piles, self._pool)
        del piles  # the runs are as large as the data: gone before the columns grow
        return _columns(pieces, self._dtype, self._pool)


def _sorted_run(block: Array) -> SortedRun:
    block.sort()
    new = begins_run(block)
    # 4 bytes a count: folding pays when a key stands for two cases or more
    if 2 * int(new.sum()) > block.size:
        return SortedRun(block, None)
    start = np.flatnonzero(new)
    return SortedRun(block[start], np.diff(start, append=block.size).astype(np.uint32))


def _merge(runs: Sequence[SortedRun]) -> tuple[Array, Array]:
    """Merge sorted runs into distinct keys and their counts."""
    keys = np.concatenate([r.keys for r in runs])
    if all(r.counts is None for r in runs):
        keys.sort(kind="stable")  # NumPy's timsort: merges sorted runs in linear time
        start = np.flatnonzero(begins_run(keys))
        return keys[start], np.diff(start, append=keys.size)
    counts = np.concatenate(
        [np.ones(r.keys.size) if r.counts is None else r.counts for r in runs],
        dtype=np.int64,
        casting="unsafe",
    )
    order = np.argsort(keys, kind="stable")
    keys = keys[order]
    start = np.flatnonzero(begins_run(keys))
    total = np.add.reduceat(counts[order], start) if start.size else counts
    return keys[start], total


Piece = tuple[Array, dict[Hashable, Array]]


def _merge_ranges(
    piles: Mapping[Hashable, list[SortedRun]], pool: ThreadPoolExecutor
) -> list[Piece]:
    if not piles:
        return []
    edges = _edges([r.keys for runs in piles.values() for r in runs])

    def piece(ends: tuple[Any, Any]) -> Piece:
        cut = {p: [_between(r, *ends) for r in runs] for p, runs in piles.items()}
        return _join({p: _merge(runs) for p, runs in cut.items()})

    return list(pool.map(piece, pairwise(edges)))


def _edges(keys: list[Array]) -> list[Any]:
    """Cut the keys into ranges of about ``_RANGE``; None is the open end."""
    step = _RANGE // 64
    sample = np.sort(np.concatenate([k[::step] for k in keys]))
    return [None, *np.unique(sample[64::64]), None]


def _between(run: SortedRun, low: Any, high: Any) -> SortedRun:
    """Give the part of a run with low <= key < high."""
    a = 0 if low is None else int(np.searchsorted(run.keys, low))
    b = run.keys.size if high is None else int(np.searchsorted(run.keys, high))
    return SortedRun(run.keys[a:b], None if run.counts is None else run.counts[a:b])


def _join(piles: Mapping[Hashable, tuple[Array, Array]]) -> Piece:
    """Give the keys of all piles once, with the counts of each pile."""
    keys = np.concatenate([own for own, _ in piles.values()])
    order = np.argsort(keys, kind="stable")
    ordered = keys[order]
    new = begins_run(ordered)
    distinct = ordered[new]
    row = np.empty(keys.size, dtype=np.int32)
    row[order] = np.cumsum(new, dtype=np.int32)
    row -= 1
    columns, at = {}, 0
    for pile, (own, counts) in piles.items():
        # waiting pieces are as long as the answer: most counts fit into one byte
        narrow = np.min_scalar_type(int(counts.max(initial=0)))
        column = np.zeros(distinct.size, dtype=narrow)
        column[row[at : at + own.size]] = counts
        at += own.size
        columns[pile] = column
    return distinct, columns


def _columns(
    pieces: list[Piece], dtype: Any, pool: ThreadPoolExecutor
) -> tuple[Floats, dict[Hashable, Ints]]:
    ends = np.cumsum([0, *(keys.size for keys, _ in pieces)]).tolist()
    score = np.empty(ends[-1])
    names = {pile for _, found in pieces for pile in found}
    piles = {pile: np.zeros(ends[-1], dtype=np.int64) for pile in names}

    def fill(piece: Piece, first: int, stop: int) -> None:
        keys, found = piece
        score[first:stop] = from_keys(keys, dtype)
        for pile, count in found.items():
            piles[pile][first:stop] = count

    # in parallel: most of the time goes into the first touch of new memory
    list(pool.map(fill, pieces, ends[:-1], ends[1:]))
    return score, piles
