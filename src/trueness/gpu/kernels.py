"""Which kernels run on a CUDA device, where Triton is installed?

Each does in one pass over memory what array operations do in many; ``split`` and
``arrays`` say what, and do the same without them. Compiled when first used.
"""

# Triton reads these functions as they stand: its types are no Python types
# mypy: disable-error-code="no-untyped-def,untyped-decorator,unused-ignore"
# ruff: noqa: N803

from __future__ import annotations

from functools import lru_cache
from types import SimpleNamespace
from typing import Any


def kernels_for(x: object) -> Any:
    """Give the kernels for a PyTorch tensor on a CUDA device, if Triton is there."""
    return _kernels() if getattr(x, "is_cuda", False) else None


@lru_cache(maxsize=1)
def _kernels() -> SimpleNamespace | None:  # noqa: C901 - compiled as one text
    try:
        import triton
        import triton.language as tl
    except ImportError:
        return None

    @triton.jit
    def count(classes, out, n, BLOCK: tl.constexpr):
        # negatives and positives of a block; PyTorch's sum would make a wide copy
        at = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
        kind = tl.load(classes + at, mask=at < n, other=2).to(tl.int32)
        tl.atomic_add(out, tl.sum((kind == 0).to(tl.int64), 0))
        tl.atomic_add(out + 1, tl.sum((kind == 1).to(tl.int64), 0))

    @triton.jit
    def count_bits(bits, classes, out, n, COPIES: tl.constexpr, BLOCK: tl.constexpr):
        # 16-bit scores: one place for each key and class; blocks write to different
        # copies, since many cases of few scores would wait for each other
        out += (tl.program_id(0) % COPIES) * 0x30000
        at = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
        inside = at < n
        x = tl.load(bits + at, mask=inside, other=0).to(tl.int32)
        x = tl.where(x == -0x8000, 0, x)  # -0.0 is 0.0
        key = x ^ ((x >> 15) & 0x7FFF)
        kind = tl.load(classes + at, mask=inside, other=0).to(tl.int32)
        tl.atomic_add(out + kind * 0x10000 + key + 0x8000, 1, mask=inside)

    @triton.jit
    def split(
        scores, classes, pivot, pos, neg, filled, n, n_pos, n_neg,
        BITS: tl.constexpr, BLOCK: tl.constexpr,
    ):  # fmt: skip
        # A block of cases. Each class fills its keys from both ends, low ones from the
        # front and high ones from the back; four counts travel in one 64-bit number.
        at = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
        inside = at < n
        value = tl.load(scores + at, mask=inside, other=0.0) + 0.0
        kind = tl.load(classes + at, mask=inside, other=2).to(tl.int32)
        if BITS == 32:
            bits = value.to(tl.int32, bitcast=True)
            key = bits ^ ((bits >> 31) & 0x7FFFFFFF)
        else:
            bits = value.to(tl.int64, bitcast=True)
            key = bits ^ ((bits >> 63) & 0x7FFFFFFFFFFFFFFF)
        low = key < tl.load(pivot)
        is_pos, is_neg = kind == 1, kind == 0
        slot = tl.where(is_pos, 0, 32) + tl.where(low, 0, 16)
        one = tl.where(is_pos | is_neg, 1, 0).to(tl.int64) << slot.to(tl.int64)
        total, upto = tl.sum(one, 0), tl.cumsum(one, 0)
        rank = ((upto >> slot.to(tl.int64)) & 0xFFFF) - 1
        a = tl.atomic_add(filled, total & 0xFFFF)
        b = tl.atomic_add(filled + 1, (total >> 16) & 0xFFFF)
        c = tl.atomic_add(filled + 2, (total >> 32) & 0xFFFF)
        d = tl.atomic_add(filled + 3, (total >> 48) & 0xFFFF)
        tl.store(pos + tl.where(low, a + rank, n_pos - 1 - b - rank), key, mask=is_pos)
        tl.store(neg + tl.where(low, c + rank, n_neg - 1 - d - rank), key, mask=is_neg)

    @triton.jit
    def place(base, key, low, high, steps, RIGHT: tl.constexpr):
        # places of sorted keys, halving [low, high] as often as the widest needs
        while steps > 0:
            open_ = low < high
            middle = (low + high) >> 1
            x = tl.load(base + middle, mask=open_, other=0)
            below = (x <= key) if RIGHT else (x < key)
            low = tl.where(open_ & below, middle + 1, low)
            high = tl.where(open_ & (below == 0), middle, high)
            steps = steps >> 1
        return low

    @triton.jit
    def sums(
        a, b, low, high, start, out, precision, m, n, odds,
        PRECISE: tl.constexpr, WIDE: tl.constexpr, BLOCK: tl.constexpr,
    ):  # fmt: skip
        # A block of sorted keys of one class. Its places among the other class lie
        # between low and high; out gets the whole-number sums of arrays.sums_of.
        block = tl.program_id(0).to(tl.int64)
        k = tl.arange(0, BLOCK)
        at = block * BLOCK + k
        inside = at < m
        key = tl.load(a + at, mask=inside, other=0)
        first = tl.load(low + block)
        width = tl.load(high + block) - first
        own = tl.load(start + block)
        back = block * BLOCK - own  # how far the ties of the first key reach back
        zero = tl.zeros([BLOCK], dtype=tl.int64 if WIDE else tl.int32)
        to = tl.where(inside, width, 0).to(zero.dtype)
        left = place(b + first, key, zero, to, width, False)
        right = place(b + first, key, left, to, width, True)
        ties = tl.where(inside, (right - left).to(tl.int64), 0)
        earlier = at
        if PRECISE or tl.max(ties, 0) > 0:
            upto = tl.where(inside, back + k, 0).to(zero.dtype)
            earlier = own + place(a + own, key, zero, upto, back + BLOCK, False).to(
                tl.int64
            )
        rank = tl.where(inside, 2 * (at - earlier) + 1, 0)
        v = tl.where(inside, 2 * first + left.to(tl.int64) + right.to(tl.int64), 0)
        upper, lower = v >> 16, v & 0xFFFF
        to = out + block * 7
        tl.store(to, tl.sum(v, 0))
        tl.store(to + 1, tl.sum(upper * upper, 0))
        tl.store(to + 2, tl.sum(upper * lower, 0))
        tl.store(to + 3, tl.sum(lower * lower, 0))
        tl.store(to + 4, tl.sum((2 * k.to(tl.int64) + 1) * v, 0))
        tl.store(to + 5, tl.sum((ties >> 16) * rank, 0))
        tl.store(to + 6, tl.sum((ties & 0xFFFF) * rank, 0))
        if PRECISE:
            found = (m - earlier).to(tl.float64)
            false = (n - first - left.to(tl.int64)).to(tl.float64)
            share = found / (found + tl.load(odds) * false)
            tl.store(precision + block, tl.sum(tl.where(inside, share, 0.0), 0))

    @triton.jit
    def drawn(steps, at, seed, STEPS: tl.constexpr):
        # how often a case is drawn: Poisson with mean 1, by inversion; steps are 2^32
        # times its distribution function
        u = tl.randint(seed, at).to(tl.uint32, bitcast=True).to(tl.int64)
        w = tl.zeros(u.shape, dtype=tl.int32)
        for k in tl.static_range(STEPS):
            w += (u >= tl.load(steps + k)).to(tl.int32)
        return w

    @triton.jit
    def weights(out, steps, n, seed, STEPS: tl.constexpr, BLOCK: tl.constexpr):
        at = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
        tl.store(out + at, drawn(steps, at, seed, STEPS), mask=at < n)

    @triton.jit
    def wins(
        upto, left, right, steps, out, n, seed, STEPS: tl.constexpr, BLOCK: tl.constexpr
    ):
        # the drawn positives of a block, and twice the drawn negatives below them
        at = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
        inside = at < n
        w = tl.where(inside, drawn(steps, at, seed, STEPS), 0).to(tl.int64)
        # upto[k] are the negatives drawn of the first k + 1
        below = tl.load(left + at, mask=inside, other=0)
        with_ties = tl.load(right + at, mask=inside, other=0)
        v = tl.load(upto + below - 1, mask=inside & (below > 0), other=0).to(tl.int64)
        v += tl.load(upto + with_ties - 1, mask=inside & (with_ties > 0), other=0)
        tl.atomic_add(out, tl.sum(w * v, 0))
        tl.atomic_add(out + 1, tl.sum(w, 0))

    return SimpleNamespace(
        count=count, count_bits=count_bits, split=split, sums=sums, weights=weights,
        wins=wins,
    )  # fmt: skip
