r"""How are scores put in order on a device, and where do those of a class stand?

``array-api-compat`` gives both the words of the array API standard; what it lacks is
here. Many keys of PyTorch tensors are sorted and searched by CuPy where it is
installed, without a copy: PyTorch has no sort of keys alone.

A score's key are its bits as a signed integer, which is in the order of the floats as
long as they are positive; of negative ones all bits but the sign are turned over. Equal
scores have equal keys (-0.0 becomes 0.0 first), so that sorting and counting keys is
sorting and counting scores, exactly.

For sorted keys :math:`a_0 \le \dots \le a_{m-1}` of one class and n keys b of the
other, let :math:`v_i` be twice the number of b below :math:`a_i`, ties once. Four sums
of whole numbers hold all that the AUC and both of DeLong's variances need:

.. math:: \sum v_i, \qquad \sum v_i^2, \qquad \sum (2i + 1) v_i, \qquad
          T = \sum t_i (2k_i + 1),

with :math:`t_i` the b tied with :math:`a_i`, and :math:`k_i` the place of
:math:`a_i` among the a that are tied with it. The placements w of the b among the a
need no search of their own: a square is a sum of odd numbers, and of two numbers c, d
:math:`(c + d)^2 = 2c^2 + 2d^2 - (c - d)^2`, so that

.. math:: \sum w_j = 2mn - \sum v_i, \qquad
          \sum w_j^2 = 4nm^2 - 2 \sum (2i + 1) v_i - T.

Every sum is exact, beyond 64 bits too, and so is what is made of them until the last
division. Fourth powers about the mean, which only say how well the variance is known,
are added up as floats.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np

from trueness._core.arrays import Array, Floats, Ints
from trueness._core.checks.errors import InputError, PythonCode
from trueness.gpu.kernels import kernels_for

# keys of one search without a kernel: 128 MB of places, whatever the number of cases
CHUNK = 2**24
_BLOCK = 512
# below so many keys launches decide the time, and PyTorch's own calls launch less
MANY = 2**24


Tensor = Any  # an array of PyTorch or CuPy


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
            "Arrays on a device need array-api-compat, which is not installed (pip "
            "install 'trueness[gpu]')."
        ) from None
    return Library(name, array_namespace(x))


def same_device(y: object, s: object) -> None:
    """Refuse labels and scores on different devices."""
    places = [str(getattr(a, "device", "the host")) for a in (y, s)]
    if type(y) is not type(s) or places[0] != places[1]:
        raise InputError(
            "Labels and scores must be arrays of one library on one device; found "
            f"{type(y).__name__} on {places[0]} and {type(s).__name__} on {places[1]}.",
            example=PythonCode("y.to(s.device)"),
        )


# float type -> integer type of the same size
KEYS = {"float16": "int16", "bfloat16": "int16", "float32": "int32", "float64": "int64"}
# the key of the largest finite score
_LARGEST = {
    "float16": 0x7BFF,
    "bfloat16": 0x7F7F,
    "float32": 0x7F7FFFFF,
    "float64": 0x7FEFFFFFFFFFFFFF,
}


def float_name(x: Tensor) -> str:
    """Which type of float is it? Whole numbers and bools are refused."""
    name = str(x.dtype).removeprefix("torch.")
    if name not in KEYS:
        raise InputError(
            "Scores on a device must be float16, bfloat16, float32 or float64; found "
            f"{name}.",
            example=PythonCode("scores.float()"),
        )
    return name


def keys_of(lib: Library, scores: Tensor, kind: str) -> Any:
    """Give the keys of scores."""
    return _turned(lib.bits(scores + 0.0, KEYS[kind]), kind)  # -0.0 + 0.0 is 0.0


def _turned(bits: Tensor | Array, kind: str) -> Any:
    """Turn over all bits but the sign of negative numbers; twice is nothing."""
    size = int(KEYS[kind].removeprefix("int"))
    # the sign, shifted along, is a mask of ones or of zeros
    return bits ^ ((bits >> (size - 1)) & (2 ** (size - 1) - 1))


def ends(kind: str) -> tuple[int, int]:
    """Between which keys lie the finite scores?"""
    return -_LARGEST[kind] - 1, _LARGEST[kind]


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
    """Which key has the smallest score that is not below a threshold?"""
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


def sums_of(
    lib: Library, a: Tensor, b: Tensor, odds: float | None = None
) -> tuple[int, float, float, float]:
    """Add up where the sorted keys a stand among the sorted keys b.

    Gives the sum of the v, the sums of squares of the v and of the w about their means,
    and, where odds are given, the sum of TP / (TP + odds FP) when all keys from each a
    on are flagged.
    """
    m, n = lib.size(a), lib.size(b)
    add_up = _by_kernel if kernels_for(a) and m else _by_chunks
    v, squares, odd, ties, precision = add_up(lib, a, b, odds)
    # whole numbers up to one division: nothing cancels
    first = (m * squares - v**2) / m
    second = (n * (4 * n * m * m - 2 * odd - ties) - (2 * m * n - v) ** 2) / n
    return v, first, second, precision


def _by_chunks(lib: Library, a: Tensor, b: Tensor, odds: float | None) -> Any:
    m, n = lib.size(a), lib.size(b)
    found, precision = [0] * 4, 0.0
    for start in range(0, m, CHUNK):
        part = a[start : start + CHUNK]
        left, right = (lib.places(b, part, side) for side in ("left", "right"))
        earlier = lib.places(a, part, "left")
        i = start + lib.xp.arange(lib.size(part), device=a.device)
        v, ties, rank = left + right, right - left, 2 * (i - earlier) + 1
        columns = [v, *_product(v, v), *_product(v, 2 * i + 1), *_product(ties, rank)]
        v, *halves = _totals(lib, lib.xp.stack(columns, axis=1))
        pairs = zip(halves[::2], halves[1::2], strict=True)
        whole = [v, *((upper << 16) + lower for upper, lower in pairs)]
        found = [s + t for s, t in zip(found, whole, strict=True)]
        if odds is not None:
            tp, fp = (lib.cast(x, "float64") for x in (m - earlier, n - left))
            precision += float(lib.xp.sum(tp / (tp + odds * fp)))
    return *found, precision


def _by_kernel(lib: Library, a: Tensor, b: Tensor, odds: float | None) -> Any:
    torch, m, n = lib.xp, lib.size(a), lib.size(b)
    blocks = (m + _BLOCK - 1) // _BLOCK
    heads = a[::_BLOCK].contiguous()
    tails = torch.cat([a[_BLOCK - 1 :: _BLOCK], a[-1:]])[:blocks].contiguous()
    low, high = lib.places(b, heads, "left"), lib.places(b, tails, "right")
    start = lib.places(a, heads, "left")
    out = a.new_empty((blocks, 7), dtype=torch.int64)
    precision = a.new_empty(blocks, dtype=torch.float64)
    with torch.cuda.device(a.device):
        kernels_for(a).sums[(blocks,)](
            *(a, b, low, high, start, out, precision, m, n),
            precision.new_full((1,), odds or 1.0),  # a number would become a float32
            PRECISE=odds is not None,
            WIDE=max(m, n) >= 2**30,
            BLOCK=_BLOCK,
            num_warps=4,
        )
    # 2i + 1 = 2 * (first of the block) + (2k + 1)
    first = 2 * _BLOCK * torch.arange(blocks, device=a.device)
    table = torch.cat([out, torch.stack(_product(out[:, 0], first), 1)], 1)
    v, *parts, inner, upper, lower, far, near = _totals(lib, table)
    squares = (parts[0] << 32) + (parts[1] << 17) + parts[2]
    odd, ties = (far << 16) + near + inner, (upper << 16) + lower
    total = float(precision.sum()) if odds is not None else 0.0
    return v, squares, odd, ties, total


def _product(x: Tensor, y: Tensor) -> tuple[Any, Any]:
    """Give 2^16 times one plus the other: x times y, below 2^44 and 2^33."""
    return (y >> 16) * x, (y & 0xFFFF) * x


def _totals(lib: Library, table: Tensor) -> list[int]:
    """Add up each column of whole numbers; the sums may be beyond 64 bits."""
    xp = lib.xp
    halves = [xp.sum(part, axis=0) for part in (table >> 32, table & 0xFFFFFFFF)]
    return [(a << 32) + b for a, b in lib.host(xp.stack(halves)).T.tolist()]


class Area(NamedTuple):
    """The AUC, and sums of powers of the placement values about it."""

    wins: int  # pairs won twice, ties once
    value: float
    n: tuple[int, int]  # of negatives, then of positives, as all that follow
    two: tuple[float, float]
    four: tuple[float, float]


def area_of(lib: Library, neg: Tensor, pos: Tensor) -> Area:
    """Give what the AUC and its interval need: the placement values of both classes."""
    n = n_neg, n_pos = lib.size(neg), lib.size(pos)
    flipped = n_pos > n_neg  # the smaller class is looked up in the larger
    pair = (neg, pos) if flipped else (pos, neg)
    # on their way before the first wait for the device
    powers = [_powers(lib, *each) for each in ((neg, pos), (pos, neg))]
    v, first, second, _ = sums_of(lib, *pair)
    wins = 2 * n_pos * n_neg - v if flipped else v
    down, up = (first, second) if flipped else (second, first)
    two = down / (2 * n_pos) ** 2, up / (2 * n_neg) ** 2
    below, above = map(_fourth, lib.host(lib.xp.stack(powers)).tolist())
    return Area(
        wins, wins / (2 * n_pos * n_neg), n, two, (n_neg * below, n_pos * above)
    )


# more cases of a class are not needed to know its fourth power: then 1 / df is below
# a millionth, and a part of it that is known to a thousandth moves no digit of a limit
_ENOUGH = 2**22


def _powers(lib: Library, keys: Tensor, others: Tensor) -> Any:
    """Give the means of the placement values about 1/2 and of their powers to 4."""
    step = -(-lib.size(keys) // _ENOUGH)
    keys = keys if step == 1 else lib.xp.asarray(keys[::step], copy=True)
    v = lib.cast(twice_below(lib, keys, others), "float64")
    v = v / (2 * lib.size(others)) - 0.5
    return lib.xp.stack([lib.xp.mean(p) for p in (v, v * v, v**3, v**4)])


def twice_below(lib: Library, keys: Tensor, others: Tensor) -> Any:
    """Give twice the number of the sorted others below each key, ties once."""
    return lib.places(others, keys, "left") + lib.places(others, keys, "right")


def _fourth(moments: list[float]) -> float:
    """Give the fourth moment about the mean."""
    m, two, three, four = moments
    return four - 4 * m * three + 6 * m**2 * two - 3 * m**4
