"""Whole numbers that stand for scores on a device, in the same order.

The key of a score is its bits as a signed integer, which is in the order of the floats
as long as they are positive; of negative ones all bits but the sign are turned over.
Equal scores have equal keys (-0.0 becomes 0.0 first), so that sorting and counting keys
is sorting and counting scores, exactly.

``array-api-compat`` gives PyTorch and CuPy the words of the array API standard; what
the standard lacks is in ``Library``.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from trueness._core.arrays import Array, Floats, order_keys
from trueness._core.checks.errors import InputError, PythonCode
from trueness._core.data_types import SupportsArray

Tensor = Any  # an array of PyTorch or CuPy


class Library(NamedTuple):
    """One array library: its name, "torch" or "cupy", and its namespace."""

    name: str
    xp: Any

    def dtype(self, name: str) -> Any:
        """Return a data type by its name."""
        return getattr(self.xp, name)

    def cast(self, values: Tensor, name: str) -> Tensor:
        """Return the same values as another type, which may be the same array."""
        return self.xp.astype(values, self.dtype(name), copy=False)

    def bits(self, values: Tensor, name: str) -> Tensor:
        """Return the same bits as another type of the same size."""
        return values.view(self.dtype(name))

    def size(self, values: Tensor) -> int:
        """Return the number of entries."""
        return math.prod(values.shape)

    def sort_with_order(self, values: Tensor) -> tuple[Tensor, Tensor]:
        """Return the sorted values, and the place where each of them was."""
        if self.name == "torch":
            # PyTorch gives both at once
            ordered, order = values.sort()
            return ordered, order
        order = self.xp.argsort(values)
        return values[order], order

    def sorted_counts(self, values: Tensor) -> tuple[Tensor, Tensor]:
        """Return the distinct values, ascending, and how often each of them occurs."""
        # the standard leaves the order open, both libraries sort
        if self.name == "torch":
            # without the standard's look for NaN, which whole numbers do not have
            distinct, counts = values.unique(return_counts=True)
        else:
            distinct, counts = self.xp.unique_counts(values)
        return distinct, counts

    def ends(self, values: Tensor) -> tuple[float, float]:
        """Return the smallest and the largest value; NaN if any value is NaN."""
        if self.name == "torch":
            # PyTorch reads the values once for both
            ends = self.xp.stack(values.aminmax())
        else:
            ends = self.xp.stack([self.xp.min(values), self.xp.max(values)])

        smallest, largest = ends.tolist()
        return smallest, largest

    def running_sums(self, rows: Tensor) -> Tensor:
        """Return the running sum of each row of whole numbers."""
        # row by row: a library may give a row of a table to one processor alone
        return self.xp.stack([self.xp.cumulative_sum(row) for row in rows])

    def differences(self, running_sums: Tensor) -> Tensor:
        """Return the terms of the running sums in the rows."""
        terms = running_sums[:, 1:] - running_sums[:, :-1]
        return self.xp.concat([running_sums[:, :1], terms], axis=1)

    def host(self, values: Tensor) -> Array:
        """Return a copy on the host."""
        copied: Array = values.cpu().numpy() if self.name == "torch" else values.get()
        return copied


def library_of(x: object) -> Library | None:
    """Return the library that an array belongs to, or None if it is of no device."""
    name = type(x).__module__.partition(".")[0]
    if name not in ("torch", "cupy"):
        return None

    try:
        from array_api_compat import array_namespace
    except ImportError:
        raise InputError(
            "Arrays on a device need array-api-compat, which is not installed (pip "
            "install 'trueness[gpu]')."
        ) from None

    return Library(name, array_namespace(x))


def check_same_device(labels: SupportsArray, scores: SupportsArray) -> None:
    """Raise an error for labels and scores on different devices."""
    of_labels = str(getattr(labels, "device", "the host"))
    of_scores = str(getattr(scores, "device", "the host"))
    if type(labels) is not type(scores) or of_labels != of_scores:
        raise InputError(
            "Labels and scores must be arrays of one library on one device; found "
            f"{type(labels).__name__} on {of_labels} and {type(scores).__name__} on "
            f"{of_scores}.",
            example=PythonCode("y.to(s.device)"),
        )


# the integer type of the same size as a type of float
KEY_TYPES = {
    "float16": "int16",
    "bfloat16": "int16",
    "float32": "int32",
    "float64": "int64",
}
_LARGEST_FINITE_KEY = {
    "float16": 0x7BFF,
    "bfloat16": 0x7F7F,
    "float32": 0x7F7FFFFF,
    "float64": 0x7FEFFFFFFFFFFFFF,
}


def float_type(scores: Tensor) -> str:
    """Return the name of the type of float; whole numbers and bools are refused."""
    name = str(scores.dtype).removeprefix("torch.")
    if name not in KEY_TYPES:
        raise InputError(
            "Scores on a device must be float16, bfloat16, float32 or float64; found "
            f"{name}.",
            example=PythonCode("scores.float()"),
        )

    return name


def keys_of(
    library: Library, scores: Tensor, kind: str, *, lowest: float = -math.inf
) -> Tensor:
    """Return the keys of scores on their device.

    Where the lowest score is known and positive, as of most probabilities, the bits
    are the keys, and no pass over the scores is needed.
    """
    if lowest > 0:
        return library.bits(scores, KEY_TYPES[kind])
    without_negative_zero = scores + 0.0
    bits = library.bits(without_negative_zero, KEY_TYPES[kind])
    return bits if lowest == 0 else order_keys(bits)


def finite_keys(kind: str) -> tuple[int, int]:
    """Return the keys of the smallest and of the largest finite score."""
    largest = _LARGEST_FINITE_KEY[kind]
    return -largest - 1, largest


def scores_on_host(keys: Array, kind: str) -> Floats:
    """Return the scores of keys on the host, as float64."""
    bits = order_keys(np.asarray(keys).astype(KEY_TYPES[kind]))
    if kind == "bfloat16":
        # NumPy has no such type: it is the upper half of a float32
        wide = bits.astype(np.int32) << 16
        return np.asarray(wide.view(np.float32), dtype=np.float64)
    return np.asarray(bits.view(kind), dtype=np.float64)


def scores_on_device(library: Library, keys: Tensor, kind: str) -> Tensor:
    """Return the scores of keys on their device, as float64."""
    scores = library.bits(order_keys(keys), kind)
    return library.cast(scores, "float64")


def key_at_least(threshold: float, kind: str) -> int:
    """Return the key of the smallest score that is not below a threshold."""
    if kind == "bfloat16":
        # NumPy has no such type, but a table of it is short
        lowest, highest = finite_keys(kind)
        table = scores_on_host(np.arange(lowest, highest), kind)
        return lowest + int(np.searchsorted(table, threshold))

    with np.errstate(over="ignore"):
        nearest = np.array([threshold], dtype=np.float64).astype(kind)

    if float(nearest[0]) < threshold:
        nearest = np.nextafter(nearest, np.array(np.inf, dtype=kind))

    without_negative_zero = nearest + np.array(0, dtype=kind)
    return int(order_keys(without_negative_zero.view(KEY_TYPES[kind]))[0])
