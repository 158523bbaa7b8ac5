"""Which few words do PyTorch and CuPy have in common?

The array API standard covers most of what is needed; sorting without an index, counting
and looking at the bits of a float are not in it. ``Library`` holds those for both. Keys
of PyTorch tensors on a CUDA device are sorted by CuPy where it is installed, without a
copy: PyTorch has no sort of keys alone.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from trueness._core.checks.errors import InputError


class Library(NamedTuple):
    """One array library: "torch", "cupy", or "numpy" to test the rest by."""

    name: str
    xp: Any

    def dtype(self, name: str) -> Any:
        """Give a data type by its name."""
        return getattr(self.xp, name)

    def cast(self, x: Any, name: str) -> Any:
        """Convert the values."""
        kind = self.dtype(name)
        return x.to(kind) if self.name == "torch" else x.astype(kind)

    def bits(self, x: Any, name: str) -> Any:
        """Look at the same bits as another type of the same size."""
        return x.view(self.dtype(name))

    def size(self, x: Any) -> int:
        """How many entries?"""
        return int(x.numel()) if self.name == "torch" else int(x.size)

    def sort(self, keys: Any) -> Any:
        """Sort ascending, keys only."""
        if self.name != "torch":
            return self.xp.sort(keys)
        if keys.is_cuda:
            cupy = _cupy()
            if cupy is not None:
                view = cupy.from_dlpack(keys)
                view.sort()  # in place, so the tensor is sorted
                return keys
        return keys.sort().values

    def places(self, ordered: Any, wanted: Any, side: str) -> Any:
        """At which places would the wanted keys stand in the ordered ones?"""
        if self.name != "torch":
            return self.xp.searchsorted(ordered, wanted, side=side)
        cupy = _cupy() if ordered.is_cuda else None
        if cupy is None:
            return self.xp.searchsorted(ordered, wanted, right=side == "right")
        # many times as fast as PyTorch's where the wanted keys are in order, too
        found = cupy.searchsorted(
            cupy.from_dlpack(ordered), cupy.from_dlpack(wanted), side=side
        )
        return self.xp.from_dlpack(found)

    def counts(self, x: Any, size: int) -> Any:
        """How often does each of 0 to size - 1 occur?"""
        return self.xp.bincount(x, minlength=size)

    def where(self, mask: Any) -> Any:
        """At which places is it true?"""
        found = mask.nonzero()
        return found.reshape(-1) if self.name == "torch" else found[0]

    def host(self, x: Any) -> Any:
        """Copy to the host."""
        if self.name == "torch":
            return x.cpu().numpy()
        return x.get() if self.name == "cupy" else np.asarray(x)


def _cupy() -> Any:
    try:
        import cupy
    except ImportError:
        return None
    return cupy


def library_of(x: Any) -> Library | None:
    """Which library does this array belong to? None if it is not of a device."""
    name = type(x).__module__.partition(".")[0]
    if name == "torch":
        import torch

        return Library("torch", torch)
    if name == "cupy":
        return Library("cupy", _cupy())
    return None


def same_device(y: Any, s: Any) -> None:
    """Refuse labels and scores on different devices."""
    places = [str(getattr(a, "device", "the host")) for a in (y, s)]
    if type(y) is not type(s) or places[0] != places[1]:
        raise InputError(
            f"Labels and scores must be arrays of one library on one device; found "
            f"{type(y).__name__} on {places[0]} and {type(s).__name__} on {places[1]}. "
            f"Type y.to(s.device)."
        )
