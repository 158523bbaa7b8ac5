"""How are floats put in order as whole numbers?

The bits of a float, read as a signed integer, are in the order of the floats as long as
they are positive; of negative ones all bits but the sign are turned over. Equal scores
have equal keys (-0.0 becomes 0.0 first), so that sorting and counting keys is sorting
and counting scores, exactly.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from trueness._core.arrays import Floats
from trueness._core.checks.errors import InputError
from trueness.gpu.arrays import Library

# float type -> integer type of the same size
KEYS = {"float16": "int16", "bfloat16": "int16", "float32": "int32", "float64": "int64"}
_BITS = {"int16": 16, "int32": 32, "int64": 64}


def float_name(x: Any) -> str:
    """Which type of float is it? Whole numbers and bools are refused."""
    name = str(x.dtype).removeprefix("torch.")
    if name not in KEYS:
        raise InputError(
            f"Scores on a device must be float16, bfloat16, float32 or float64; found "
            f"{name}. Type scores.float()."
        )
    return name


def keys_of(lib: Library, scores: Any, kind: str) -> Any:
    """Give the keys of scores."""
    return _turned(lib.bits(scores + 0.0, KEYS[kind]), kind)  # -0.0 + 0.0 is 0.0


def _turned(bits: Any, kind: str) -> Any:
    """Turn over all bits but the sign of negative numbers; twice is nothing."""
    size = _BITS[KEYS[kind]]
    # the sign, shifted along, is a mask of ones or of zeros
    return bits ^ ((bits >> (size - 1)) & (2 ** (size - 1) - 1))


def ends(kind: str) -> tuple[int, int]:
    """Between which keys lie the finite scores?"""
    largest = {
        "float16": 0x7BFF,
        "bfloat16": 0x7F7F,
        "float32": 0x7F7FFFFF,
        "float64": 0x7FEFFFFFFFFFFFFF,
    }[kind]
    return -largest - 1, largest


def scores_of(keys: Any, kind: str) -> Floats:
    """Give back the scores of keys on the host, as float64."""
    bits = _turned(np.asarray(keys).astype(KEYS[kind]), kind)
    if kind == "bfloat16":  # the upper half of a float32
        bits, kind = bits.astype(np.int32) << 16, "float32"
    return np.asarray(bits.view(kind), dtype=np.float64)


def floats_of(lib: Library, keys: Any, kind: str) -> Any:
    """Give back the scores of keys on the device, as float64."""
    return lib.cast(lib.bits(_turned(keys, kind), kind), "float64")


def key_at_least(threshold: float, kind: str) -> int:
    """Which key has the smallest score that is not below a threshold?

    The threshold is a float64; between two scores of a narrower type it means the upper
    one.
    """
    wide = np.array([threshold], dtype=np.float64)
    if kind == "bfloat16":
        low, high = ends(kind)  # NumPy has no such type, but a table of it is short
        at = np.searchsorted(scores_of(np.arange(low, high), kind), threshold)
        return low + int(at)
    with np.errstate(over="ignore"):
        near = wide.astype(kind)
    if near[0] < wide[0]:
        near = np.nextafter(near, np.array(np.inf, dtype=kind))
    bits = (near + np.array(0, dtype=kind)).view(KEYS[kind])
    return int(_turned(bits, kind)[0])
