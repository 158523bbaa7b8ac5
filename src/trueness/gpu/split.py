"""How are keys split by label in one pass, and sorted in little memory?

Choosing the positives, then the negatives, reads everything several times. On a CUDA
device one kernel reads scores and labels once, makes the keys, and puts each with those
of its class: low ones at the front, high ones at the back, parted by the median of a
sample. The halves of many keys are then sorted one after the other, so that the second
copy of the keys that a fast sort needs is one of a half. Without Triton, boolean masks
do the same.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from trueness.gpu.arrays import MANY, Library
from trueness.gpu.kernels import kernels_for
from trueness.gpu.keys import KEYS, keys_of

_BLOCK = 2048
_SAMPLE = 4096


class Split(NamedTuple):
    """Sorted keys of the positive, the negative and the unknown cases."""

    pos: Any
    neg: Any
    unknown: Any


def sorted_keys(
    lib: Library, scores: Any, positive: Any, known: Any, kind: str
) -> Split:
    """Give the sorted keys of each class.

    ``positive`` is bool; ``known`` is bool, or None when every case has a label.
    """
    rest = None
    if known is not None:
        rest = lib.sort(keys_of(lib, scores[~known], kind))
    if kernels_for(scores):
        pos, neg = _by_kernel(lib, scores, positive, known, kind)
        return Split(pos, neg, rest)
    keys = keys_of(lib, scores, kind)
    chosen = ~positive if known is None else ~positive & known
    return Split(lib.sort(keys[positive]), lib.sort(keys[chosen]), rest)


def classes_of(lib: Library, positive: Any, known: Any) -> Any:
    """Give 0 for a negative case, 1 for a positive one, 2 for one without a label."""
    classes = positive.view(lib.xp.int8)
    if known is None:
        return classes
    return lib.xp.where(known, classes, classes.new_full((), 2))


def _by_kernel(
    lib: Library, scores: Any, positive: Any, known: Any, kind: str
) -> tuple[Any, Any]:
    torch, n, kernels = lib.xp, lib.size(scores), kernels_for(scores)
    classes = classes_of(lib, positive, known)
    sizes, filled = (scores.new_zeros(k, dtype=torch.int64) for k in (2, 4))
    with torch.cuda.device(scores.device):
        kernels.count[(-(-n // 2**16),)](classes, sizes, n, BLOCK=2**16, num_warps=16)
        n_neg, n_pos = sizes.tolist()
        name = lib.dtype(KEYS[kind])
        pos, neg = (scores.new_empty(size, dtype=name) for size in (n_pos, n_neg))
        if n < MANY:  # each class is sorted as a whole, wherever it is parted
            pivot = filled[0]
        else:
            pivot = keys_of(lib, scores[:: n // _SAMPLE], kind).median()
        kernels.split[(-(-n // _BLOCK),)](
            *(scores, classes, pivot, pos, neg, filled, n, n_pos, n_neg),
            BITS=8 * scores.element_size(),
            BLOCK=_BLOCK,
            num_warps=8,
        )
    if n < MANY:
        return lib.sort(pos), lib.sort(neg)
    low_pos, _, low_neg, _ = filled.tolist()
    for keys, low in ((pos, low_pos), (neg, low_neg)):
        for half in (keys[:low], keys[low:]):
            ordered = lib.sort(half)
            if ordered is not half:  # not sorted in place
                half.copy_(ordered)
    return pos, neg
