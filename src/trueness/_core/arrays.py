"""What kinds of array are there, and how are long ones walked through?"""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from trueness._core.progress import stop_if_requested

Array = NDArray[Any]
Ints = NDArray[np.int64]
Floats = NDArray[np.float64]

BLOCK = 1 << 14


def blocks(size: int, step: int = BLOCK) -> Iterator[slice]:
    """Walk through ``size`` entries in slices that stay in the cache."""
    for start in range(0, size, step):
        stop_if_requested()
        yield slice(start, min(start + step, size))


def begins_run(values: Array) -> NDArray[np.bool_]:
    """Which entries differ from the one before? The first does."""
    new = np.ones(values.size, dtype=bool)
    np.not_equal(values[1:], values[:-1], out=new[1:])
    return new


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
    """How many threads may this process use for sorting?"""
    if hasattr(os, "sched_getaffinity"):
        return min(len(os.sched_getaffinity(0)), 8)
    return min(os.cpu_count() or 1, 8)


def no_cases(size: int) -> Ints:
    """Give a column of zeros that takes no memory, for counts that are all zero."""
    return np.broadcast_to(np.int64(0), size)
