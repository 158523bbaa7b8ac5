"""How are millions of scores counted without sorting them twice?

The whole of Trueness asks for one thing here: distinct scores, highest first, with the
number of negatives and positives at each (``count_scores``). Three ideas make it fast.

* The bits of a float are an integer in the order of its magnitude. After the empty
  range below the smallest magnitude is cut out, the signed order fits into 63 bits, and
  the label takes the last one: score and label are sorted by one keys-only ``np.sort``
  (argsort costs three times as much).
* ``np.sort`` and ``np.partition`` release the GIL, so the halves are sorted at once.
* Few distinct scores need no sort: they are counted in a hash table whose keys come
  from a sample, and every hit is checked for equality, so the count stays exact.

Long arrays are walked in blocks that stay in the cache.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from trueness._core.arrays import Array, Floats, Ints, begins_run, blocks, threads
from trueness._core.progress import stop_if_requested

Counted = tuple[Floats, Ints, Ints]

# below this, starting threads or probing for ties costs more than it saves
_SMALL = 1 << 16
FLOATS_AS_BITS: dict[Any, tuple[Any, int, int]] = {
    np.dtype(np.float64): (np.uint64, 0x7FFFFFFFFFFFFFFF, 0x7FF0000000000000),
    np.dtype(np.float32): (np.uint32, 0x7FFFFFFF, 0x7F800000),
}


class NotFinite(Exception):  # noqa: N818 - never leaves the package
    """A NaN or an infinity was met while packing."""


def count_scores(score: Array, is_pos: Callable[[slice], Array]) -> Counted:
    """How many negatives and positives has each distinct score, highest first?

    ``score`` is float32 or float64; ``is_pos`` gives the labels of a slice as bools, so
    that no column of labels is ever copied whole. Raises ``NotFinite``.
    """
    if score.size < _SMALL >> 5:
        return _count_plainly(score, is_pos)
    table = None if score.size < _SMALL else _few_distinct(score)
    if table is None:
        return _count_sorted(score, is_pos)
    found, at, label = _hashed(score, is_pos, table, 2)
    rest = [_count_sorted(score[at], lambda b: label[b])] if at.size else []
    value, neg, pos = merge_counts([found, *rest])
    return value, neg, pos


def _count_sorted(score: Array, is_pos: Callable[[slice], Array]) -> Counted:
    packing = Packing(score)
    if not packing.fits:
        return _count_plainly(score, is_pos)
    buffer = np.empty(score.size, dtype=np.float64)
    # the keys are laid into the memory that will hold the scores; narrow ones take the
    # second half: unpacking writes from the front and never overtakes what it reads
    keys: Array = buffer.view(packing.key)[-score.size :] if score.size else buffer
    for b in blocks(score.size):
        keys[b] = packing.pack(score[b], is_pos(b))
    sort_in_place(keys)
    return _unpack(keys, buffer, packing)


class Packing:
    """How do a score and its label become one integer, and back?

    With magnitude bits g, the order number of a score is z = (g - least) + 1, zero for
    a score of zero; key = 2 (top - z) + label for scores >= 0 and 2 (top + z) + label
    below zero, so that ascending keys are descending scores.
    """

    def __init__(self, score: Array) -> None:
        self.dtype = score.dtype
        self.bits, self.mask, too_large = FLOATS_AS_BITS[score.dtype]
        least, most, used, self.signed = self.mask, 0, 0, False
        for b in blocks(score.size):
            bits = np.ascontiguousarray(score[b]).view(self.bits)
            magnitude = bits & self.bits(self.mask)
            most = max(most, int(magnitude.max()))
            used |= int(np.bitwise_or.reduce(magnitude))
            # zero is kept out of "least": it wraps around to the largest number
            least = min(least, int((magnitude - self.bits(1)).min()) + 1)
            self.signed = self.signed or bool((bits > self.bits(self.mask)).any())
        if most >= too_large:
            raise NotFinite
        # scores that came from fewer digits end in zeros that all share
        self.shift = (used & -used).bit_length() - 1 if used else 0
        self.least = (least >> self.shift) if used else 1
        self.top = ((most >> self.shift) - self.least + 1) if used else 0
        largest = 4 * self.top + 3 if self.signed else 2 * self.top + 1
        self.fits = largest < 1 << 64
        self.key = np.uint32 if largest < 1 << 32 else np.uint64

    def pack(self, score: Array, label: Array) -> Array:
        """Write score and label as one whole number, highest score first."""
        bits = np.ascontiguousarray(score).view(self.bits)
        magnitude = bits & self.bits(self.mask)
        z = (magnitude >> self.bits(self.shift)) - self.bits(self.least - 1)
        z = z.astype(self.key, copy=False)
        if self.least > 1:  # a zero went below zero and wrapped around: put it back
            z = np.where(magnitude == 0, self.key(0), z)
        top = self.key(self.top)
        if self.signed:
            below = bits > self.bits(self.mask)
            z = np.where(below, top + z, top - z)
        else:
            z = top - z
        return np.asarray((z << self.key(1)) | label)

    def unpack(self, z: Array) -> Array:
        """Turn keys without their label bit back into scores."""
        top = self.key(self.top)
        below = z > top  # never, where no score is below zero
        z = np.where(below, z - top, top - z) if self.signed else top - z
        magnitude = z.astype(self.bits) + self.bits(self.least - 1)
        magnitude = np.where(z == 0, self.bits(0), magnitude << self.bits(self.shift))
        if self.signed:
            sign = self.bits(1) << self.bits(8 * self.dtype.itemsize - 1)
            magnitude |= np.where(below, sign, self.bits(0))
        return np.asarray(magnitude).view(self.dtype)


def sort_in_place(keys: Array, workers: int = 0) -> None:
    """Sort, with the parts of a partition in parallel threads."""
    if keys.size < _SMALL or (workers := workers or threads()) < 2:
        keys.sort()
        return
    half, left = keys.size // 2, workers // 2
    keys.partition(half)
    with ThreadPoolExecutor(1) as pool:
        other = pool.submit(sort_in_place, keys[:half], left)
        sort_in_place(keys[half:], workers - left)
        other.result()


def _unpack(keys: Array, buffer: Floats, packing: Packing) -> Counted:
    """Count the runs of equal scores in sorted keys; the scores replace the keys."""
    m = sum(int(_ends(keys, b).sum()) for b in blocks(keys.size))
    neg, pos = np.empty(m, np.int64), np.empty(m, np.int64)
    all_distinct = m == keys.size
    row = positives = 0
    for b in blocks(keys.size):
        last = _ends(keys, b)
        key = keys[b].copy()
        label = key & packing.key(1)
        if all_distinct:
            out = b
            pos[b] = label
            np.subtract(1, pos[b], out=neg[b])
        else:
            at = np.flatnonzero(last)
            out = slice(row, row + at.size)
            pos[out] = np.cumsum(label, dtype=np.int64)[at] + positives
            neg[out] = at + (b.start + 1)
            row, key = out.stop, key[at]
            positives += int(label.sum())
        buffer[out] = packing.unpack(key >> packing.key(1))
    if not all_distinct:
        _running_to_counts(neg, pos)
    # a view may waste up to half of the buffer, a copy would need half as much more
    return (buffer[:m] if 2 * m > buffer.size else buffer[:m].copy()), neg, pos


def _running_to_counts(cases: Ints, pos: Ints) -> None:
    for column in (cases, pos):
        # from the back, so that each block still sees its predecessor's total
        for b in reversed(list(blocks(column.size))):
            before = column[b.start - 1] if b.start else 0
            column[b] = np.diff(column[b], prepend=before)
    cases -= pos


def _ends(keys: Array, b: slice) -> NDArray[np.bool_]:
    """Which entries of this block are the last of their score?"""
    z = keys[b.start : b.stop + 1] >> keys.dtype.type(1)
    last = np.ones(b.stop - b.start, dtype=bool)
    np.not_equal(z[1:], z[:-1], out=last[: z.size - 1])
    return last


def _count_plainly(score: Array, is_pos: Callable[[slice], Array]) -> Counted:
    """Count few scores, or such as span over 1000 binary orders of both signs."""
    if not np.isfinite(score).all():
        raise NotFinite
    value, row = np.unique(score.astype(np.float64) + 0.0, return_inverse=True)
    label = is_pos(slice(0, score.size)).astype(bool)
    pos = np.bincount(row[label], minlength=value.size)
    cases = np.bincount(row, minlength=value.size)
    return value[::-1].copy(), (cases - pos)[::-1].copy(), pos[::-1].copy()


def _few_distinct(score: Array) -> Array | None:
    """Give the distinct bits seen in a sample, if there are few."""
    size = min(score.size // 16, 1 << 16)
    sample = np.ascontiguousarray(score[:: score.size // size]) + score.dtype.type(0)
    bits = FLOATS_AS_BITS[score.dtype][0]
    distinct = np.unique(sample.view(bits))
    if not np.isfinite(sample).all() or distinct.size > sample.size // 4:
        return None
    return distinct


class HashTable:
    """Which row of the table holds this score?

    Multiplicative hashing with the multiplier, of a fixed few, that loses the fewest
    keys to collisions. A lost or unseen score is reported as absent, never miscounted.
    """

    def __init__(self, keys: Array) -> None:
        self.slots = min(max(12, 2 * int(keys.size).bit_length()), 20)
        wide = keys.astype(np.uint64)
        trials = [self._place(wide, np.uint64(m)) for m in _MULTIPLIERS]
        best = int(np.argmax([kept.size for kept, _ in trials]))
        self.multiplier = np.uint64(_MULTIPLIERS[best])
        kept, at = trials[best]
        self.row = np.zeros(1 << self.slots, dtype=np.intp)
        self.row[at] = np.arange(kept.size)
        self.key = kept.astype(keys.dtype)

    def _place(self, wide: Array, multiplier: np.uint64) -> tuple[Array, Array]:
        at, first = np.unique(self._slot(wide, multiplier), return_index=True)
        return wide[first], at

    def _slot(self, wide: Array, multiplier: np.uint64) -> Array:
        return ((wide * multiplier) >> np.uint64(64 - self.slots)).view(np.int64)

    def find(self, bits: Array) -> tuple[Array, Array]:
        """Give the row of each score, and whether it is there."""
        wide = bits if bits.dtype == np.uint64 else bits.astype(np.uint64)
        row = self.row.take(self._slot(wide, self.multiplier))
        return row, self.key.take(row) == bits


# odd 64-bit constants of common hash functions (Knuth, Steele, Stafford, xxHash)
_MULTIPLIERS = (
    0x9E3779B97F4A7C15,
    0xBF58476D1CE4E5B9,
    0x94D049BB133111EB,
    0xC2B2AE3D27D4EB4F,
)


def _hashed(
    score: Array,
    code: Callable[[slice], Array],
    distinct: Array,
    kinds: int,
    weight: Array | None = None,
) -> tuple[tuple[Array, ...], Array, Array]:
    """Count cases of few distinct scores, or add up weights and squares, unsorted.

    ``code`` gives the kind of each case of a slice, of so many kinds. Gives the scores
    with their columns, and the places and codes of the cases that have other scores.
    """
    table = HashTable(distinct)
    bits, zero = FLOATS_AS_BITS[score.dtype][0], score.dtype.type(0)
    number, cells = (np.int64, 1) if weight is None else (np.float64, 2)

    def work(span: slice) -> tuple[Array, Array, Array]:
        sums = np.zeros((cells, kinds * table.key.size), dtype=number)
        missed, codes = [np.zeros(0, dtype=np.int64)], [code(slice(0, 0))]
        for part in blocks(span.stop - span.start):
            b = slice(span.start + part.start, span.start + part.stop)
            row, hit = table.find((score[b] + zero).view(bits))
            kind = code(b)
            some: Any = slice(None)
            if not hit.all():
                missed.append(np.flatnonzero(~hit) + b.start)
                codes.append(kind[~hit])
                some = hit
            cell = (kinds * row + kind)[some]
            if weight is None:
                sums[0] += np.bincount(cell, minlength=sums.shape[1])
                continue
            w = weight[b].astype(np.float64, copy=False)[some]
            for total, value in zip(sums, (w, w * w), strict=True):
                total += np.bincount(cell, value, total.size)
        return sums, np.concatenate(missed), np.concatenate(codes)

    # the same with each of a few equal parts, all at once
    parts = max(1, min(threads(), score.size // _SMALL))
    edges = np.linspace(0, score.size, parts + 1).astype(int)
    with ThreadPoolExecutor(parts) as pool:
        done = list(pool.map(work, [slice(a, b) for a, b in pairwise(edges)]))
    sums, missed, codes = zip(*done, strict=True)
    columns = (s[k::kinds] for s in np.sum(sums, axis=0) for k in range(kinds))
    found = (table.key.view(score.dtype).astype(np.float64), *columns)
    return found, np.concatenate(missed), np.concatenate(codes)


def merge_counts(parts: Sequence[tuple[Array, ...]]) -> tuple[Any, ...]:
    """Add up columns of counts (score, count, count, ...), highest score first.

    Rows without a case are dropped. The scores must be finite, without -0.0.
    """
    stop_if_requested()
    joined = len(parts) > 1
    score, *columns = (
        map(np.concatenate, zip(*parts, strict=True)) if joined else parts[0]
    )
    if (score[1:] > score[:-1]).any():  # a map that keeps the order needs no sort
        order = np.argsort(-score, kind="stable")
        score, *columns = (c[order] for c in (score, *columns))
    start = np.flatnonzero(begins_run(score))
    if start.size:
        columns = [np.add.reduceat(c, start) for c in columns]
    score = score[start]
    some = np.zeros(score.size, dtype=bool)
    for column in columns:
        some |= column != 0
    if not some.all():
        score, columns = score[some], [c[some] for c in columns]
    return (score, *columns)


def weigh_scores(score: Array, code: Array, weight: Array) -> tuple[Array, ...]:
    """Which weights, and squares of weights, has each distinct score, highest first?

    ``score`` is float32 or float64 and finite; ``code`` is 0 for negatives, 1 for
    positives, 2 for unknowns; weights are numbers of any type. Gives the scores and six
    columns. Cases of weight zero are none.
    """
    if not weight.min(initial=1.0) > 0:
        some = weight > 0
        score, code, weight = score[some], code[some], weight[some]
    table = None if score.size < _SMALL else _few_distinct(score)
    if table is None:
        return _weigh_in_parts(score, code, weight)
    found, at, kind = _hashed(score, lambda b: code[b], table, 3, weight)
    rest = [_weigh_in_parts(score[at], kind, weight[at])] if at.size else []
    return merge_counts([found, *rest])


# cases whose scores, labels and weights stay in the cache while they are put in order
_PART = 1 << 20


def _weigh_in_parts(score: Array, code: Array, weight: Array) -> tuple[Array, ...]:
    """Deal cases into ranges of scores, highest first, and weigh each range.

    Weights are looked up in the order of the scores: in a million of them that is four
    times as fast as in ten million. The parts follow one another, so nothing is merged.
    """
    parts = min(-(-score.size // _PART), 256)
    if parts < 2:
        return _weigh_sorted(score, code, weight)
    some = np.sort(score[:: max(1, score.size // 4096)])[::-1]
    limits = some[np.arange(1, parts) * some.size // parts]
    part = np.zeros(score.size, dtype=np.uint8)
    for b in blocks(score.size):
        own, values = part[b], score[b]
        for x in limits:
            own += values < x
    # NumPy sorts bytes by counting them: each part is read from front to back
    order = np.argsort(part, kind="stable")
    edges = np.cumsum(np.bincount(part, minlength=parts))[:-1]
    done = [
        _weigh_sorted(score.take(at), code.take(at), weight.take(at))
        for at in np.split(order, edges)
    ]
    return tuple(np.concatenate(column) for column in zip(*done, strict=True))


def _weigh_sorted(score: Array, code: Array, weight: Array) -> tuple[Array, ...]:
    """Put cases in order and add up those of the same score and class."""
    order, value = _descending(score)
    new = begins_run(value)
    value, m = value[new], int(new.sum())
    cell = np.cumsum(new) - 1
    cell += (m * np.arange(3)).take(code.take(order))
    w = weight.take(order).astype(np.float64, copy=False)
    sums = (np.bincount(cell, x, 3 * m).reshape(3, m) for x in (w, w * w))
    return value, *(column for each in sums for column in each)


_NO_LABEL = np.zeros(1, dtype=bool)
# beyond, looking up halves of keys in their order costs more than sorting whole ones
_CACHED = 1 << 21


def _descending(score: Array) -> tuple[Array, Floats]:
    """In which order do finite scores fall, and what are they? Ties stay in place."""
    n = score.size
    room = 64 - max(n - 1, 1).bit_length()
    packing = Packing(score) if n else None
    if packing is None or not packing.fits:
        order = np.argsort(-score, kind="stable")
        return order, score[order].astype(np.float64) + 0.0
    top = 2 * packing.top if packing.signed else packing.top
    if top < 1 << 32 and n <= _CACHED:
        order = _short_order(score, packing)
        value = np.empty(n)
        for b in blocks(n):
            np.add(score.take(order[b]), 0.0, out=value[b])
        return order, value
    lost = max(top.bit_length() - room, 0)
    place = np.uint64(64 - room)
    keys = np.empty(n, dtype=np.uint64)
    for b in blocks(n):
        z = packing.pack(score[b], _NO_LABEL)
        # the last bit is that of a label, which is none
        z = z.astype(np.uint64, copy=False) >> np.uint64(lost + 1)
        z <<= place
        z |= np.arange(b.start, b.stop, dtype=np.uint64)
        keys[b] = z
    sort_in_place(keys)
    value, low = np.empty(n), (np.uint64(1) << place) - np.uint64(1)
    order = np.empty(n, dtype=np.int64)
    for b in blocks(n):
        np.bitwise_and(keys[b], low, out=order[b].view(np.uint64))
        np.add(score.take(order[b]), 0.0, out=value[b])
    if lost and (value[1:] > value[:-1]).any():
        _mend(order, value, keys >> place)
    return order, value


def _short_order(score: Array, packing: Packing) -> Array:
    """Sort keys of 32 bits by their lower half, then by their upper one.

    NumPy sorts 16 bits by counting them, and keeps the order of equal ones.
    """
    halves = np.empty((2, score.size), dtype=np.uint16)
    for b in blocks(score.size):
        z = packing.pack(score[b], _NO_LABEL) >> packing.key(1)
        halves[0, b], halves[1, b] = z & packing.key(0xFFFF), z >> packing.key(16)
    order = np.argsort(halves[0], kind="stable")
    return order.take(np.argsort(halves[1].take(order), kind="stable"))


def _mend(order: Array, value: Floats, prefix: Array) -> None:
    """Put scores in order whose upper bits are the same."""
    same = prefix[1:] == prefix[:-1]
    member = np.append(same, False) | np.append(False, same)
    at = np.flatnonzero(member)
    part = np.lexsort((-value[at], prefix[at]))
    order[at], value[at] = order[at][part], value[at][part]
