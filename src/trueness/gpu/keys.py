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
KEYS = {
    "float16": "int16",
    "bfloat16": "int16",
    "float32": "int32",
    "float64": "int64",
}
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
    name = KEYS[kind]
    bits = lib.bits(scores + 0.0, name)  # -0.0 + 0.0 is 0.0
    turned = 2 ** (_BITS[name] - 1) - 1
    return bits ^ ((bits >> (_BITS[name] - 1)) & turned)


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
    name = KEYS[kind]
    turned = 2 ** (_BITS[name] - 1) - 1
    whole = np.asarray(keys).astype(name)
    bits = whole ^ ((whole >> (_BITS[name] - 1)) & np.array(turned, dtype=name))
    if kind == "bfloat16":  # the upper half of a float32
        bits, kind = bits.astype(np.int32) << 16, "float32"
    return np.asarray(bits.view(kind), dtype=np.float64)


def floats_of(lib: Library, keys: Any, kind: str) -> Any:
    """Give back the scores of keys on the device, as float64."""
    bits = _BITS[KEYS[kind]]
    turned = keys ^ ((keys >> (bits - 1)) & (2 ** (bits - 1) - 1))
    return lib.cast(lib.bits(turned, kind), "float64")


def key_at_least(threshold: float, kind: str) -> int:
    """Which key has the smallest score that is not below a threshold?

    The threshold is a float64; between two scores of a narrower type it means the upper
    one.
    """
    wide = np.array([threshold], dtype=np.float64)
    if kind == "bfloat16":
        low, high = ends(kind)
        while low < high:  # 16 halvings
            middle = (low + high) // 2
            above = scores_of(np.array([middle]), kind)[0] >= threshold
            low, high = (low, middle) if above else (middle + 1, high)
        return low
    with np.errstate(over="ignore"):
        near = wide.astype(kind)
    if near[0] < wide[0]:
        near = np.nextafter(near, np.array(np.inf, dtype=kind))
    name = KEYS[kind]
    bits = (near + np.array(0, dtype=kind)).view(name)
    turned = np.array(2 ** (_BITS[name] - 1) - 1, dtype=name)
    return int((bits ^ ((bits >> (_BITS[name] - 1)) & turned))[0])
