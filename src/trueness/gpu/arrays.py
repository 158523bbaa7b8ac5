"""Which words do PyTorch and CuPy have in common?

``array-api-compat`` gives both the words of the array API standard. What the standard
lacks is here: the bits of a float, counting, and what is fast on a CUDA device. Keys of
PyTorch tensors are sorted and searched by CuPy where it is installed, without a copy,
in PyTorch's memory, where they are many: PyTorch has no sort of keys alone.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np

from trueness._core.checks.errors import InputError

# below so many keys launches decide the time, and PyTorch's own calls launch less
MANY = 2**24


class Library(NamedTuple):
    """One array library: its name, "torch" or "cupy", and its namespace."""

    name: str
    xp: Any

    def dtype(self, name: str) -> Any:
        """Give a data type by its name."""
        return getattr(self.xp, name)

    def cast(self, x: Any, name: str) -> Any:
        """Convert the values."""
        return self.xp.astype(x, self.dtype(name))

    def bits(self, x: Any, name: str) -> Any:
        """Look at the same bits as another type of the same size."""
        return x.view(self.dtype(name))

    def size(self, x: Any) -> int:
        """How many entries?"""
        return int(np.prod(x.shape, dtype=np.int64))

    def sort(self, keys: Any) -> Any:
        """Sort ascending, keys only; many of them in place."""
        if not self._by_cupy(keys):
            return self.xp.sort(keys)
        with _beside(keys) as cupy:
            cupy.from_dlpack(keys).sort()
        return keys

    def places(self, ordered: Any, wanted: Any, side: str) -> Any:
        """At which places would the wanted keys stand in the ordered ones?"""
        if not self._by_cupy(ordered):
            return self.xp.searchsorted(ordered, wanted, side=side)
        with _beside(ordered) as cupy:
            both = (cupy.from_dlpack(x) for x in (ordered, wanted))
            return self.xp.from_dlpack(cupy.searchsorted(*both, side=side))

    def picked(self, x: Any, at: Any) -> Any:
        """Give the entries at some places."""
        return x[self.xp.asarray(at, device=x.device)]

    def host(self, x: Any) -> Any:
        """Copy to the host."""
        if self.name == "torch":
            return x.cpu().numpy()
        return x.get()

    def _by_cupy(self, x: Any) -> bool:
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
def _beside(x: Any) -> Iterator[Any]:
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


def library_of(x: Any) -> Library | None:
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


def same_device(y: Any, s: Any) -> None:
    """Refuse labels and scores on different devices."""
    places = [str(getattr(a, "device", "the host")) for a in (y, s)]
    if type(y) is not type(s) or places[0] != places[1]:
        raise InputError(
            f"Labels and scores must be arrays of one library on one device; found "
            f"{type(y).__name__} on {places[0]} and {type(s).__name__} on {places[1]}. "
            f"Type y.to(s.device)."
        )
