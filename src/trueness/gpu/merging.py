r"""Where does each key of one class stand among the keys of the other, all added up?

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

from typing import Any, NamedTuple

from trueness.gpu.arrays import Library, Tensor
from trueness.gpu.kernels import kernels_for

# keys of one search without a kernel: 128 MB of places, whatever the number of cases
CHUNK = 2**24
_BLOCK = 512


class Sums(NamedTuple):
    """The four sums over the keys of the first class, and their sum of precisions.

    ``precision`` is the sum over the keys of TP / (TP + odds FP) when all keys from
    there on are flagged, if it was asked for.
    """

    m: int
    n: int
    v: int
    squares: int
    odd: int
    ties: int
    precision: float

    @property
    def first_square(self) -> float:
        """Give the sum of squares of the v about their mean."""
        # whole numbers up to one division: nothing cancels
        return (self.m * self.squares - self.v**2) / self.m

    @property
    def second_square(self) -> float:
        """Give the sum of squares of the w about their mean."""
        m, n = self.m, self.n
        squares = 4 * n * m * m - 2 * self.odd - self.ties
        return (n * squares - (2 * m * n - self.v) ** 2) / n


def sums_of(lib: Library, a: Tensor, b: Tensor, odds: float | None = None) -> Sums:
    """Add up where the sorted keys a stand among the sorted keys b."""
    if kernels_for(a) and lib.size(a):
        return _by_kernel(lib, a, b, odds)
    m, n = lib.size(a), lib.size(b)
    found, precision = [0] * 4, 0.0
    for start in range(0, m, CHUNK):
        part = a[start : start + CHUNK]
        left, right = (lib.places(b, part, side) for side in ("left", "right"))
        earlier = lib.places(a, part, "left")
        i = start + lib.xp.arange(lib.size(part), device=a.device)
        v, ties, rank = left + right, right - left, 2 * (i - earlier) + 1
        columns = [v, *_product(v, v), *_product(v, 2 * i + 1), *_product(ties, rank)]
        whole = _totals(lib, lib.xp.stack(columns, axis=1))
        found = [s + t for s, t in zip(found, _joined(whole), strict=True)]
        if odds is not None:
            tp, fp = (lib.cast(x, "float64") for x in (m - earlier, n - left))
            precision += float(lib.xp.sum(tp / (tp + odds * fp)))
    v, squares, odd, ties = found
    return Sums(m, n, v, squares, odd, ties, precision)


def _by_kernel(lib: Library, a: Tensor, b: Tensor, odds: float | None) -> Sums:
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
    return Sums(m, n, v, squares, odd, ties, total)


def _product(x: Tensor, y: Tensor) -> tuple[Any, Any]:
    """Give 2^16 times one plus the other: x times y, below 2^44 and 2^33."""
    return (y >> 16) * x, (y & 0xFFFF) * x


def _joined(whole: list[int]) -> list[int]:
    """Put the halves of products together, behind one number without."""
    halves = zip(whole[1::2], whole[2::2], strict=True)
    return [whole[0], *((upper << 16) + lower for upper, lower in halves)]


def _totals(lib: Library, table: Tensor) -> list[int]:
    """Add up each column of whole numbers; the sums may be beyond 64 bits."""
    xp = lib.xp
    halves = [xp.sum(part, axis=0) for part in (table >> 32, table & 0xFFFFFFFF)]
    return [(a << 32) + b for a, b in lib.host(xp.stack(halves)).T.tolist()]


class Area(NamedTuple):
    """The AUC, and sums of powers of the placement values about it.

    Of negatives, then of positives; ``wins`` counts pairs won twice and ties once.
    """

    wins: int
    value: float
    n: tuple[int, int]
    two: tuple[float, float]
    four: tuple[float, float]


def area_of(lib: Library, neg: Tensor, pos: Tensor) -> Area:
    """Give what the AUC and its interval need: the placement values of both classes."""
    n = n_neg, n_pos = lib.size(neg), lib.size(pos)
    flipped = n_pos > n_neg  # the smaller class is looked up in the larger
    pair = (neg, pos) if flipped else (pos, neg)
    # on their way before the first wait for the device
    powers = [_powers(lib, *each) for each in ((neg, pos), (pos, neg))]
    s = sums_of(lib, *pair)
    wins = 2 * n_pos * n_neg - s.v if flipped else s.v
    squares = s.first_square, s.second_square
    down, up = squares if flipped else squares[::-1]
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
    v = (
        lib.cast(twice_below(lib, keys, others), "float64") / (2 * lib.size(others))
        - 0.5
    )
    return lib.xp.stack([lib.xp.mean(p) for p in (v, v * v, v**3, v**4)])


def twice_below(lib: Library, keys: Tensor, others: Tensor) -> Any:
    """Give twice the number of the sorted others below each key, ties once."""
    return lib.places(others, keys, "left") + lib.places(others, keys, "right")


def _fourth(moments: list[float]) -> float:
    """Give the fourth moment about the mean."""
    m, two, three, four = moments
    return four - 4 * m * three + 6 * m**2 * two - 3 * m**4
