"""What kinds of array are there, and how are long ones walked through?"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from trueness._core.progress import stop_if_requested

Array = NDArray[Any]
Ints = NDArray[np.int64]
Floats = NDArray[np.float64]

T = TypeVar("T")

BLOCK = 1 << 14
# with fewer blocks, starting a thread costs more than it saves
_BLOCKS_PER_THREAD = 8


def blocks(size: int, step: int = BLOCK) -> Iterator[slice]:
    """Walk through ``size`` entries in slices that stay in the cache."""
    for start in range(0, size, step):
        stop_if_requested()
        yield slice(start, min(start + step, size))


def map_blocks(compute: Callable[[slice], T], size: int) -> list[T]:
    """Return what a function returns of each block, in order; of many, in threads.

    NumPy computes without Python's lock. Whoever adds up the answers in their order
    gets the same digits from any number of threads.
    """
    if 0 < size <= BLOCK:
        stop_if_requested()
        return [compute(slice(0, size))]

    every_block = list(blocks(size))
    workers = len(every_block) // _BLOCKS_PER_THREAD
    if workers < 2 or (workers := min(workers, threads())) < 2:
        return [compute(block) for block in every_block]

    def compute_all(neighbours: list[slice]) -> list[T]:
        return [compute(block) for block in neighbours]

    # rounded up
    per_thread = -(-len(every_block) // workers)
    blocks_of_threads = [
        every_block[start : start + per_thread]
        for start in range(0, len(every_block), per_thread)
    ]
    with ThreadPoolExecutor(workers) as pool:
        computed = list(pool.map(compute_all, blocks_of_threads))
    return [answer for answers in computed for answer in answers]


def begins_run(values: Array) -> NDArray[np.bool_]:
    """Return which entries differ from the one before; the first one does."""
    begins = np.ones(values.size, dtype=bool)
    np.not_equal(values[1:], values[:-1], out=begins[1:])
    return begins


def order_keys(bits: Any) -> Any:
    """Return whole numbers in the order of the floats that have these bits.

    ``bits`` are signed, in an array of any library. Those of a positive float ascend
    with it, those of a negative one descend: all but their sign are turned over. What
    is turned over twice is as it was.

    >>> order_keys(np.array([-2.0, -1.0, 0.0, 1.0]).view(np.int64)).argsort()
    array([0, 1, 2, 3])
    """
    width = 8 * bits.itemsize
    # the sign, shifted along, is a mask of ones or of zeros
    keys = bits >> (width - 1)
    keys &= 2 ** (width - 1) - 1
    keys ^= bits
    return keys


def threads() -> int:
    """Return how many threads this process may use for sorting."""
    if hasattr(os, "sched_getaffinity"):
        return min(len(os.sched_getaffinity(0)), 8)
    return min(os.cpu_count() or 1, 8)


# eight bytes that cannot be written to: every entry of ``no_cases``
_ZERO = np.int64(0).tobytes()


def no_cases(size: int) -> Ints:
    """Return a column of zeros that takes no memory, for counts that are all zero."""
    return np.ndarray(size, np.int64, buffer=_ZERO, strides=(0,))
