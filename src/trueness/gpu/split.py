"""How are keys split by label in one pass?

Choosing the positives, then the negatives, reads everything several times. On a CUDA
device one Triton kernel reads scores and labels once, makes the keys, and appends each
to the keys of its class; the order within a class does not matter, since it is sorted
next. Without Triton, and on the CPU, boolean masks do the same.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any

from trueness.gpu.arrays import Library
from trueness.gpu.keys import KEYS, keys_of

_BLOCK = 4096


def split_keys(
    lib: Library, scores: Any, positive: Any, known: Any, kind: str
) -> tuple[Any, Any, Any]:
    """Give the keys of the positive, the negative and the unknown cases, in no order.

    ``positive`` is bool; ``known`` is bool, or None when every case has a label.
    """
    if known is not None:
        keys = keys_of(lib, scores, kind)
        return keys[positive & known], keys[~positive & known], keys[~known]
    kernel = _kernel() if lib.name == "torch" and scores.is_cuda else None
    if kernel is not None and KEYS[kind] == "int32":
        return (*_split_once(lib, kernel, scores, positive), None)
    keys = keys_of(lib, scores, kind)
    return keys[positive], keys[~positive], None


def _split_once(
    lib: Library, kernel: Any, scores: Any, positive: Any
) -> tuple[Any, Any]:
    torch = lib.xp
    n_pos = int(positive.sum())
    n = lib.size(scores)
    pos = torch.empty(n_pos, dtype=torch.int32, device=scores.device)
    neg = torch.empty(n - n_pos, dtype=torch.int32, device=scores.device)
    filled = torch.zeros(2, dtype=torch.int64, device=scores.device)
    flags = positive.view(torch.int8)
    with torch.cuda.device(scores.device):
        kernel[((n + _BLOCK - 1) // _BLOCK,)](
            scores, flags, pos, neg, filled, n, BLOCK=_BLOCK, num_warps=8
        )
    return pos, neg


@lru_cache(maxsize=1)
def _kernel() -> Any:
    try:
        import triton
        import triton.language as tl
    except ImportError:
        return None

    @triton.jit  # type: ignore[untyped-decorator,unused-ignore]
    def split(scores, flags, pos, neg, filled, n, BLOCK: tl.constexpr):  # type: ignore[no-untyped-def]  # noqa: N803
        # one block of cases; each class reserves room with one atomic addition
        at = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
        inside = at < n
        value = tl.load(scores + at, mask=inside, other=0.0) + 0.0
        flag = tl.load(flags + at, mask=inside, other=0).to(tl.int32)
        bits = value.to(tl.int32, bitcast=True)
        key = bits ^ ((bits >> 31) & 0x7FFFFFFF)
        is_pos = tl.where(inside & (flag != 0), 1, 0)
        is_neg = tl.where(inside & (flag == 0), 1, 0)
        up, down = tl.cumsum(is_pos, 0), tl.cumsum(is_neg, 0)
        start_pos = tl.atomic_add(filled, tl.sum(is_pos, 0).to(tl.int64))
        start_neg = tl.atomic_add(filled + 1, tl.sum(is_neg, 0).to(tl.int64))
        tl.store(pos + start_pos + up - 1, key, mask=is_pos == 1)
        tl.store(neg + start_neg + down - 1, key, mask=is_neg == 1)

    return split
