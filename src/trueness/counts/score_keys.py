"""Scores as whole numbers: how a score and its label become one key that sorts.

The bits of a float, read as an integer, are in the order of its magnitude. Without the
empty range below the smallest magnitude, the signed order fits into 63 bits, and the
label takes the last bit. So one ``np.sort`` of keys sorts scores with their labels, in
a third of the time of an argsort. It releases the GIL, so parts are sorted in parallel.
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from functools import reduce
from operator import or_
from typing import Any, NamedTuple

import numpy as np

from trueness._core.arrays import Array, Floats, blocks, map_blocks, threads
from trueness._core.processor import has_slow_sort

# below this many keys, starting threads costs more than it saves
_MIN_FOR_THREADS = 1 << 16


class FloatLayout(NamedTuple):
    """The parts of a float in its bits."""

    bits: Any  # the unsigned integer of the same width
    magnitude: int  # all bits but the sign
    infinity: int  # the magnitude of an infinity; that of a NaN is larger


FLOAT_LAYOUTS = {
    np.dtype(np.float64): FloatLayout(
        np.uint64, magnitude=0x7FFFFFFFFFFFFFFF, infinity=0x7FF0000000000000
    ),
    np.dtype(np.float32): FloatLayout(
        np.uint32, magnitude=0x7FFFFFFF, infinity=0x7F800000
    ),
}


class NotFinite(Exception):  # noqa: N818 - never leaves the package
    """A NaN or an infinity was met while packing."""


class Packing:
    """How a score and its label become one integer, and back.

    With magnitude bits g, a score is z = (g - least) + 1 steps from zero, and a score
    of zero is z = 0 steps. The key is 2 (top - z) + label for scores >= 0 and
    2 (top + z) + label below zero, so that ascending keys are descending scores.

    Attributes
    ----------
    fits : bool
        Do all keys fit into 64 bits? If not, nothing can be packed.
    key_type
        The type of the keys: ``np.uint32`` where that is enough, else ``np.uint64``.
    largest_place : int
        The largest key without its label bit.
    """

    def __init__(self, score: Array) -> None:
        self._dtype = score.dtype
        self._layout = FLOAT_LAYOUTS[score.dtype]
        extent = _extent_of_bits(score, self._layout)
        if extent.largest >= self._layout.infinity:
            raise NotFinite

        self._signed = extent.any_sign
        # as of most probabilities: their bits are in the order of the scores
        self._above_zero = extent.all_above_zero
        self._largest = extent.largest
        if extent.bits_used == 0:  # every score is zero
            self._shift = 0
            self._least = 1
            self._top = 0
        else:
            # scores with few digits end in zero bits that all share: cut them off
            lowest_bit_used = extent.bits_used & -extent.bits_used
            self._shift = lowest_bit_used.bit_length() - 1
            self._least = extent.smallest >> self._shift
            self._top = (extent.largest >> self._shift) - self._least + 1

        self.largest_place = 2 * self._top if self._signed else self._top
        largest_key = 2 * self.largest_place + (3 if self._signed else 1)
        self.fits = largest_key < 1 << 64
        self.key_type = np.uint32 if largest_key < 1 << 32 else np.uint64

    def pack(self, score: Array, label: Array) -> Array:
        """Return score and label as one whole number each, highest score first."""
        bits_type = self._layout.bits
        bits = np.ascontiguousarray(score).view(bits_type)
        if self._above_zero:
            return self._pack_above_zero(bits, label)

        magnitude = bits & bits_type(self._layout.magnitude)
        steps = (magnitude >> bits_type(self._shift)) - bits_type(self._least - 1)
        steps = steps.astype(self.key_type, copy=False)
        if self._least > 1 and not magnitude.all():
            # the subtraction made zeros wrap around
            steps = np.where(magnitude == 0, self.key_type(0), steps)

        top = self.key_type(self._top)
        if self._signed:
            below_zero = bits > bits_type(self._layout.magnitude)
            place = np.where(below_zero, top + steps, top - steps)
        else:
            place = top - steps

        return np.asarray((place << self.key_type(1)) | label)

    def _pack_above_zero(self, bits: Array, label: Array) -> Array:
        """Return keys of scores above zero, by how far they are below the largest."""
        below_largest = self._layout.bits(self._largest) - bits
        if self._shift:
            below_largest >>= self._layout.bits(self._shift)
        keys = below_largest.astype(self.key_type, copy=False)
        # the label is the last bit
        keys <<= self.key_type(1)
        keys |= label
        return np.asarray(keys)

    def unpack(self, place: Array) -> Array:
        """Return the scores of keys without their label bit."""
        bits_type = self._layout.bits
        if self._above_zero:
            bits = place.astype(bits_type)
            if self._shift:
                bits <<= bits_type(self._shift)
            np.subtract(bits_type(self._largest), bits, out=bits)
            return np.asarray(bits.view(self._dtype))

        top = self.key_type(self._top)
        below_zero = None
        if self._signed:
            below_zero = place > top
            steps = np.where(below_zero, place - top, top - place)
        else:
            steps = top - place

        magnitude = steps.astype(bits_type) + bits_type(self._least - 1)
        magnitude <<= bits_type(self._shift)
        if not steps.all():
            magnitude[steps == 0] = 0
        if below_zero is not None:
            sign_bit = bits_type(1) << bits_type(8 * self._dtype.itemsize - 1)
            magnitude |= np.where(below_zero, sign_bit, bits_type(0))

        return np.asarray(magnitude.view(self._dtype))


class _BitExtent(NamedTuple):
    """The range of magnitudes of a column of scores, and the bits in use."""

    smallest: int  # magnitude, zeros left out
    largest: int  # magnitude
    bits_used: int  # bits that are set in any magnitude
    any_sign: bool  # is any sign bit set?
    all_above_zero: bool


def _extent_of_bits(score: Array, layout: FloatLayout) -> _BitExtent:
    """Return the range of magnitudes and the bits in use, in one pass."""
    magnitude_mask = layout.bits(layout.magnitude)
    one = layout.bits(1)

    def extent_of_block(block: slice) -> _BitExtent:
        """Return the extent of magnitudes of a block, and which bits it uses."""
        bits = np.ascontiguousarray(score[block]).view(layout.bits)
        lowest = int(bits.min())
        highest = int(bits.max())
        # the sign is the highest bit, above the bits of the magnitude
        any_sign = highest > layout.magnitude
        if lowest > 0 and not any_sign:
            return _BitExtent(
                smallest=lowest,
                largest=highest,
                bits_used=int(np.bitwise_or.reduce(bits)),
                any_sign=False,
                all_above_zero=True,
            )

        magnitude = bits & magnitude_mask
        return _BitExtent(
            # zero less one wraps around to the largest number, so zeros are left out
            smallest=int((magnitude - one).min()) + 1,
            largest=int(magnitude.max()),
            bits_used=int(np.bitwise_or.reduce(magnitude)),
            any_sign=any_sign,
            all_above_zero=False,
        )

    extents = map_blocks(extent_of_block, score.size)
    return _BitExtent(
        smallest=min((extent.smallest for extent in extents), default=layout.magnitude),
        largest=max((extent.largest for extent in extents), default=0),
        bits_used=reduce(or_, (extent.bits_used for extent in extents), 0),
        any_sign=any(extent.any_sign for extent in extents),
        all_above_zero=all(extent.all_above_zero for extent in extents),
    )


def sort_in_place(keys: Array, workers: int | None = None) -> None:
    """Sort keys in place, in parallel threads where there are many."""
    if workers is None:
        workers = threads()
    if keys.dtype == np.uint64 and has_slow_sort():
        _sort_parts_by_buckets(keys, workers)
    else:
        _sort_parts_of_partition(keys, workers)


def _sort_parts_of_partition(keys: Array, workers: int) -> None:
    """Sort keys by NumPy, both halves of a partition in parallel threads."""
    if keys.size < _MIN_FOR_THREADS or workers < 2:
        keys.sort()
        return

    middle = keys.size // 2
    workers_of_lower = workers // 2
    # no key of the lower half is above one of the upper half
    keys.partition(middle)
    with ThreadPoolExecutor(1) as pool:
        lower_half = pool.submit(
            _sort_parts_of_partition, keys[:middle], workers_of_lower
        )
        _sort_parts_of_partition(keys[middle:], workers - workers_of_lower)
        lower_half.result()


# so many keys stay in the cache together with their order
_MAX_CACHED = 1 << 19
_BUCKETS = 1 << 16
_SAMPLE = 1 << 10


# below this many keys a thread costs more than it saves
_MIN_BUCKETED_BY_THREAD = 1 << 17


def _sort_parts_by_buckets(keys: Array, workers: int) -> None:
    """Sort by buckets, neighbouring parts in parallel threads, and merge the parts.

    Where NumPy's sort is slow, its partition is too: it would take as long as the
    buckets of both halves.
    """
    workers = max(min(workers, keys.size // _MIN_BUCKETED_BY_THREAD), 1)
    # rounded up
    keys_per_worker = -(-keys.size // workers)
    parts = [keys[part] for part in blocks(keys.size, max(keys_per_worker, 1))]
    if workers < 2:
        for part in parts:
            _sort_cached_parts(part)
        return

    with ThreadPoolExecutor(workers) as pool:
        list(pool.map(_sort_cached_parts, parts))
    keys.sort(kind="stable")  # merges the parts


def _sort_cached_parts(keys: Array) -> None:
    """Sort keys by buckets, part by part in the cache, and merge the parts."""
    for part in blocks(keys.size, _MAX_CACHED):
        _sort_by_buckets(keys[part])
    if keys.size > _MAX_CACHED:
        keys.sort(kind="stable")


def _sort_by_buckets(keys: Array) -> None:
    """Sort keys by their leading 16 bits, then within each bucket.

    NumPy sorts 16 bits by counting them, and its merge sort is fast on what is nearly
    in order. Together they take half as long as its AVX-512 sort on AMD.
    """
    sample = np.sort(keys[:: max(1, keys.size // _SAMPLE)])
    # a few very large keys share the last bucket: scaled to them, all other keys would
    # share the first one
    large = int(sample[-1 - sample.size // 64])
    shift = max(large.bit_length() - 16, 0)
    bucket = np.minimum(keys >> np.uint64(shift), np.uint64(_BUCKETS - 1))

    order = np.argsort(bucket.astype(np.uint16), kind="stable")
    keys[:] = keys.take(order)
    keys.sort(kind="stable")


_NO_LABEL = np.zeros(1, dtype=bool)
# above this number of keys, sorting whole keys costs less than sorting their halves
_MAX_HALVED = 1 << 21
_HALVED_BITS = 32


def descending_order(score: Array, workers: int | None = None) -> tuple[Array, Floats]:
    """Return the order of finite scores from the highest down, and the sorted scores.

    Ties keep their order. ``workers`` is the number of threads, by default all.
    """
    packing = Packing(score) if score.size else None
    if packing is None or not packing.fits:
        order = np.argsort(-score, kind="stable")
        return order, score[order].astype(np.float64) + 0.0

    is_short = packing.largest_place.bit_length() <= _HALVED_BITS
    if score.size <= _MAX_HALVED and (is_short or has_slow_sort()):
        return _order_by_halves(score, packing)

    return _order_by_positions(score, packing, workers)


def _order_by_halves(score: Array, packing: Packing) -> tuple[Array, Floats]:
    """Return the order by the leading 32 bits of keys, sorted in two halves.

    NumPy sorts 16 bits by counting them, and keeps the order of equal ones: first the
    lower half is sorted, then the upper. Scores that differ only in later bits are put
    in order afterwards.
    """
    bits_left_out = max(packing.largest_place.bit_length() - _HALVED_BITS, 0)
    # one more bit, since the last one holds the label
    shift = packing.key_type(bits_left_out + 1)
    lower = np.empty(score.size, dtype=np.uint16)
    upper = np.empty(score.size, dtype=np.uint16)
    for block in blocks(score.size):
        leading = packing.pack(score[block], _NO_LABEL) >> shift
        lower[block] = leading & packing.key_type(0xFFFF)
        upper[block] = leading >> packing.key_type(16)

    order = np.argsort(lower, kind="stable")
    order = order.take(np.argsort(upper.take(order), kind="stable"))
    value = np.empty(score.size)
    for block in blocks(score.size):
        np.add(score.take(order[block]), 0.0, out=value[block])

    if bits_left_out and (value[1:] > value[:-1]).any():
        leading = (upper.astype(np.uint32) << np.uint32(16)) | lower
        _sort_within_prefixes(order, value, leading.take(order))
    return order, value


def _order_by_positions(
    score: Array, packing: Packing, workers: int | None = None
) -> tuple[Array, Floats]:
    """Return the order by keys that hold a score and, in the lower bits, its position.

    Where both do not fit into 64 bits, the last bits of the score are left out. Scores
    that differ only in these are put in order afterwards.
    """
    n = score.size
    position_bits = max(n - 1, 1).bit_length()
    score_bits = packing.largest_place.bit_length()
    bits_left_out = max(score_bits + position_bits - 64, 0)
    shift = np.uint64(position_bits)

    # each key is the leading bits of the score, then the position
    keys = np.empty(n, dtype=np.uint64)
    for block in blocks(n):
        place = packing.pack(score[block], _NO_LABEL)
        # one more bit, since the last one holds the label
        place = place.astype(np.uint64, copy=False) >> np.uint64(bits_left_out + 1)
        place <<= shift
        place |= np.arange(block.start, block.stop, dtype=np.uint64)
        keys[block] = place

    sort_in_place(keys, workers)

    # the sorted positions are the order
    position_mask = (np.uint64(1) << shift) - np.uint64(1)
    order = np.empty(n, dtype=np.int64)
    value = np.empty(n)
    for block in blocks(n):
        np.bitwise_and(keys[block], position_mask, out=order[block].view(np.uint64))
        np.add(score.take(order[block]), 0.0, out=value[block])

    if bits_left_out and (value[1:] > value[:-1]).any():
        _sort_within_prefixes(order, value, keys >> shift)
    return order, value


def _sort_within_prefixes(order: Array, value: Floats, prefix: Array) -> None:
    """Sort scores whose leading bits are equal, and their order, in place."""
    # keys are sorted by prefix: equal prefixes are neighbours
    same_as_next = prefix[1:] == prefix[:-1]
    shares_prefix = np.append(same_as_next, False) | np.append(False, same_as_next)
    shared = np.flatnonzero(shares_prefix)
    # lexsort takes its last key first: by prefix, then from the highest score
    sorted_shared = shared[np.lexsort((-value[shared], prefix[shared]))]
    order[shared] = order[sorted_shared]
    value[shared] = value[sorted_shared]
