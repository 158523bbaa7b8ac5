"""Which words do PyTorch and CuPy have in common, and how are floats put in order?

``array-api-compat`` gives both the words of the array API standard; what it lacks is
here. Many keys of PyTorch tensors are sorted and searched by CuPy where it is
installed, without a copy: PyTorch has no sort of keys alone.

A score's key are its bits as a signed integer, which is in the order of the floats as
long as they are positive; of negative ones all bits but the sign are turned over. Equal
scores have equal keys (-0.0 becomes 0.0 first), so that sorting and counting keys is
sorting and counting scores, exactly.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from functools import lru_cache
from typing import Any, NamedTuple, Protocol

import numpy as np

from trueness._core.arrays import Array, Floats, Ints
from trueness._core.checks.errors import InputError

# below so many keys launches decide the time, and PyTorch's own calls launch less
MANY = 2**24


class Tensor(Protocol):
    """An array of PyTorch or CuPy."""

    def __getattr__(self, name: str) -> Any: ...
    def __getitem__(self, at: object) -> Any: ...
    def __eq__(self, other: object) -> Any: ...
    def __ne__(self, other: object) -> Any: ...
    def __lt__(self, other: object) -> Any: ...
    def __gt__(self, other: object) -> Any: ...
    def __add__(self, other: object) -> Any: ...
    def __mul__(self, other: object) -> Any: ...
    def __xor__(self, other: object) -> Any: ...
    def __and__(self, other: object) -> Any: ...
    def __rshift__(self, other: object) -> Any: ...
    def __invert__(self) -> Any: ...


class Library(NamedTuple):
    """One array library: its name, "torch" or "cupy", and its namespace."""

    name: str
    xp: Any

    def dtype(self, name: str) -> Any:
        """Give a data type by its name."""
        return getattr(self.xp, name)

    def cast(self, x: Tensor, name: str) -> Any:
        """Convert the values."""
        return self.xp.astype(x, self.dtype(name))

    def bits(self, x: Tensor, name: str) -> Any:
        """Look at the same bits as another type of the same size."""
        return x.view(self.dtype(name))

    def size(self, x: Tensor) -> int:
        """How many entries?"""
        return int(np.prod(x.shape, dtype=np.int64))

    def sort(self, keys: Tensor) -> Any:
        """Sort ascending, keys only; many of them in place."""
        if not self._by_cupy(keys):
            return self.xp.sort(keys)
        with _beside(keys) as cupy:
            cupy.from_dlpack(keys).sort()
        return keys

    def places(self, ordered: Tensor, wanted: Tensor, side: str) -> Any:
        """At which places would the wanted keys stand in the ordered ones?"""
        if not self._by_cupy(ordered):
            return self.xp.searchsorted(ordered, wanted, side=side)
        with _beside(ordered) as cupy:
            both = (cupy.from_dlpack(x) for x in (ordered, wanted))
            return self.xp.from_dlpack(cupy.searchsorted(*both, side=side))

    def picked(self, x: Tensor, at: Ints) -> Any:
        """Give the entries at some places."""
        return x[self.xp.asarray(at, device=x.device)]

    def host(self, x: Tensor) -> Any:
        """Copy to the host."""
        return x.cpu().numpy() if self.name == "torch" else x.get()

    def _by_cupy(self, x: Tensor) -> bool:
        large = self.name == "torch" and x.is_cuda and self.size(x) >= MANY
        return large and _cupy() is not None


@lru_cache(maxsize=1)
def _cupy() -> Any:
    try:
        import cupy
    except ImportError:
        return None
    return cupy


@contextmanager
def _beside(x: Tensor) -> Iterator[Any]:
    """Let CuPy work on the device, the stream and in the memory of PyTorch."""
    import torch

    cupy = _cupy()
    stream = torch.cuda.current_stream(x.device).cuda_stream
    with (
        cupy.cuda.Device(x.device.index),
        cupy.cuda.ExternalStream(stream, x.device.index),
        cupy.cuda.using_allocator(_shared_memory()),
    ):
        yield cupy


@lru_cache(maxsize=1)
def _shared_memory() -> Any:
    """Take memory for CuPy from PyTorch, so that one pool serves both."""
    import torch

    give_back: Any = torch.cuda.caching_allocator_delete

    def take(size: int, device: int) -> int:
        return int(torch.cuda.caching_allocator_alloc(size, device))

    def give(pointer: int, device: int) -> None:
        give_back(pointer)

    return _cupy().cuda.PythonFunctionAllocator(take, give).malloc


def library_of(x: object) -> Library | None:
    """Which library does this array belong to? None if it is not of a device."""
    name = type(x).__module__.partition(".")[0]
    if name not in ("torch", "cupy"):
        return None
    try:
        from array_api_compat import array_namespace
    except ImportError:
        raise InputError(
            "Arrays on a device need array-api-compat. Type "
            "pip install 'trueness[gpu]'."
        ) from None
    return Library(name, array_namespace(x))


def same_device(y: object, s: object) -> None:
    """Refuse labels and scores on different devices."""
    places = [str(getattr(a, "device", "the host")) for a in (y, s)]
    if type(y) is not type(s) or places[0] != places[1]:
        raise InputError(
            f"Labels and scores must be arrays of one library on one device; found "
            f"{type(y).__name__} on {places[0]} and {type(s).__name__} on {places[1]}. "
            f"Type y.to(s.device)."
        )


# float type -> integer type of the same size
KEYS = {"float16": "int16", "bfloat16": "int16", "float32": "int32", "float64": "int64"}
_BITS = {"int16": 16, "int32": 32, "int64": 64}


def float_name(x: Tensor) -> str:
    """Which type of float is it? Whole numbers and bools are refused."""
    name = str(x.dtype).removeprefix("torch.")
    if name not in KEYS:
        raise InputError(
            f"Scores on a device must be float16, bfloat16, float32 or float64; found "
            f"{name}. Type scores.float()."
        )
    return name


def keys_of(lib: Library, scores: Tensor, kind: str) -> Any:
    """Give the keys of scores."""
    return _turned(lib.bits(scores + 0.0, KEYS[kind]), kind)  # -0.0 + 0.0 is 0.0


def _turned(bits: Tensor | Array, kind: str) -> Any:
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


def scores_of(keys: Array, kind: str) -> Floats:
    """Give back the scores of keys on the host, as float64."""
    bits = _turned(np.asarray(keys).astype(KEYS[kind]), kind)
    if kind == "bfloat16":  # the upper half of a float32
        bits, kind = bits.astype(np.int32) << 16, "float32"
    return np.asarray(bits.view(kind), dtype=np.float64)


def floats_of(lib: Library, keys: Tensor, kind: str) -> Any:
    """Give back the scores of keys on the device, as float64."""
    return lib.cast(lib.bits(_turned(keys, kind), kind), "float64")


def key_at_least(threshold: float, kind: str) -> int:
    """Which key has the smallest score that is not below a threshold?

    Between two scores of a narrower type than float64 it means the upper one.
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
