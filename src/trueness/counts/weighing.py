"""How are weighted cases added up as fast as cases are counted?

A sort of keys alone is three times as fast as one that says where each key came from.
So the place of a case is made part of its key: the upper bits hold the score, the lower
ones the place. Scores that differ only in bits for which there was no room (few, if
any) are put in order afterwards.
"""

from __future__ import annotations

import numpy as np

from trueness._core.arrays import Array, Floats, begins_run, blocks
from trueness.counts.sorting import (
    FLOATS_AS_BITS,
    HashTable,
    Packing,
    few_distinct,
    in_spans,
    merge_counts,
    sort_in_place,
)


def weigh_scores(score: Array, code: Array, weight: Array) -> tuple[Array, ...]:
    """Which weights, and squares of weights, has each distinct score, highest first?

    ``score`` is float32 or float64 and finite; ``code`` is 0 for negatives, 1 for
    positives, 2 for unknowns; weights are numbers of any type. Gives the scores and six
    columns. Cases of weight zero are none.
    """
    if not weight.min(initial=1.0) > 0:
        some = weight > 0
        score, code, weight = score[some], code[some], weight[some]
    table = few_distinct(score)
    if table is not None:
        return _weigh_hashed(score, code, weight, HashTable(table))
    return _weigh_in_parts(score, code, weight)


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
    order, value = descending(score)
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


def descending(score: Array) -> tuple[Array, Floats]:
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


def _weigh_hashed(
    score: Array, code: Array, weight: Array, table: HashTable
) -> tuple[Array, ...]:
    """Add up the weights of few distinct scores without a sort."""
    done = in_spans(score.size, lambda at: _weigh_span(score, code, weight, table, at))
    sums = np.sum([s for s, _ in done], axis=0)
    missed = np.concatenate([m for _, m in done])
    value = table.key.view(score.dtype).astype(np.float64)
    found = [(value, *(s[k::3] for s in sums for k in range(3)))]
    if missed.size:
        found.append(_weigh_in_parts(score[missed], code[missed], weight[missed]))
    return merge_counts(found)


def _weigh_span(
    score: Array, code: Array, weight: Array, table: HashTable, span: slice
) -> tuple[Array, Array]:
    """Give sums and squares at 3 * row + code, and where scores are not found."""
    bits, zero = FLOATS_AS_BITS[score.dtype][0], score.dtype.type(0)
    sums = np.zeros((2, 3 * table.key.size))
    missed = [np.zeros(0, dtype=np.int64)]
    for part in blocks(span.stop - span.start):
        b = slice(span.start + part.start, span.start + part.stop)
        row, hit = table.find((score[b] + zero).view(bits))
        cell, w = 3 * row + code[b], weight[b].astype(np.float64, copy=False)
        if not hit.all():
            missed.append(np.flatnonzero(~hit) + b.start)
            cell, w = cell[hit], w[hit]
        sums[0] += np.bincount(cell, w, minlength=sums.shape[1])
        sums[1] += np.bincount(cell, w * w, minlength=sums.shape[1])
    return sums, np.concatenate(missed)
