"""How many cases of each class showed each score, counted on the device?

``device_tally`` gives a ``Tally`` on the host where scores are few (16-bit floats have
at most 65,536, rounded ones few), bins with limits for ``at_most=``, and otherwise a
``DeviceTally``: the sorted keys of each class, which stay where they are.

On a CUDA device one kernel reads scores and labels once and puts the key of each with
those of its class, low ones at the front, high ones at the back. The halves of many
keys are sorted one after the other: the copy that a fast sort needs is one of a half.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, final

import numpy as np
from numpy.typing import ArrayLike

from trueness._core.arrays import Array, Ints
from trueness._core.checks import options as _options
from trueness._core.checks.columns import label_pair
from trueness._core.checks.errors import InputError, PythonCode
from trueness._core.imports import HigherFunction
from trueness.counts.design import LEFT_OUT, PLAIN, Design
from trueness.counts.values import Tally, tally_of_bins, tally_of_rows
from trueness.gpu.arrays import (
    CHUNK,
    KEYS,
    MANY,
    Library,
    Tensor,
    ends,
    float_name,
    key_at_least,
    keys_of,
    library_of,
    same_device,
    scores_of,
)
from trueness.gpu.kernels import kernels_for

# up to so many distinct scores the tally comes to the host
FEW = 2**17
_BLOCK, _COPIES = 4096, 32
_SPLIT, _SAMPLE = 2048, 4096

# the passes over a device read this module
ANSWER_ON_DEVICE: HigherFunction[Callable[..., Any]] = HigherFunction(
    "answer_on_device"
)


@final
@dataclass(frozen=True, eq=False, repr=False)
class DeviceTally:
    """Which scores did the cases show, as sorted keys that stay on a device?"""

    lib: Library
    pos: Any
    neg: Any
    unknown: Any
    kind: str
    design: Design = PLAIN

    def answer_analysis(
        self,
        analysis: Callable[..., Any],
        rest: tuple[Any, ...],
        options: dict[str, Any],
    ) -> Any:
        """Answer on the device, or from bins with bounds."""
        return ANSWER_ON_DEVICE.load()(analysis, self, rest, options)

    def with_design(self, **words: object) -> DeviceTally:
        """Say how the cases came; see :meth:`trueness.Tally.with_design`."""
        design = self.design.with_words(words)
        if design.unlabelled != LEFT_OUT:
            raise InputError(
                "Labels that are missing at random need counts on the host, or bins.",
                example=PythonCode(
                    "at_most=100_000 for bins, or tally(y, s).to_host()"
                ),
            )
        return replace(self, design=design)

    @property
    def n_pos(self) -> int:
        """How many positive cases?"""
        return self.lib.size(self.pos)

    @property
    def n_neg(self) -> int:
        """How many negative cases?"""
        return self.lib.size(self.neg)

    @property
    def n_unknown(self) -> int:
        """How many cases without a label?"""
        return 0 if self.unknown is None else self.lib.size(self.unknown)

    @property
    def n(self) -> int:
        """How many cases?"""
        return self.n_pos + self.n_neg + self.n_unknown

    def __repr__(self) -> str:
        """Say what was counted, in one line."""
        return (
            f"DeviceTally: {self.n:,} cases ({self.n_neg:,} negative, {self.n_pos:,} "
            f"positive, {self.n_unknown:,} unknown), {self.kind} scores on "
            f"{self.pos.device}"
        )

    @property
    def parts(self) -> list[Any]:
        """The sorted keys of negatives, positives and, if any, unknowns."""
        return [p for p in (self.neg, self.pos, self.unknown) if p is not None]

    def finite(self) -> DeviceTally:
        """Pass on the tally unless a score is NaN or infinite."""
        parts = [part for part in self.parts if self.lib.size(part)]
        low, high = ends(self.kind)
        found = [end for part in parts for end in (part[0], part[-1])]
        keys = self.lib.host(self.lib.xp.stack(found)) if parts else np.zeros(0)
        if ((keys < low) | (keys > high)).any():
            _refuse(sum(int(((p < low) | (p > high)).sum()) for p in parts))
        return self

    def to_host(self) -> Tally:
        """Copy the keys to the host and count them there."""
        counted = [_distinct(self.lib.host(part)) for part in self.parts]
        return self.designed(_host_tally(counted, self.kind))

    def designed(self, t: Tally) -> Tally:
        """Say of counts on the host how these cases came."""
        return t.with_design(
            sampling=self.design.sampling, prevalence=self.design.prevalence
        )

    def __add__(self, other: DeviceTally) -> DeviceTally:
        """Count the cases of both, which are on one device."""
        if type(other) is not DeviceTally or other.kind != self.kind:
            raise InputError(
                "A DeviceTally adds to another of the same type of score, "
                f"{self.kind}; found {getattr(other, 'kind', type(other).__name__)}. "
                "Tallies of the host add to any.",
                example=PythonCode(".to_host() or .bin(100_000)"),
            )
        same_device(self.pos, other.pos)

        def joined(*keys: Tensor | None) -> Any:
            found = [x for x in keys if x is not None]
            return self.lib.sort(self.lib.xp.concat(found)) if found else None

        sides = ("pos", "neg", "unknown")
        both = {k: joined(getattr(self, k), getattr(other, k)) for k in sides}
        return replace(self, **both, design=self.design + other.design)

    def bin(self, at_most: int, begin: Sequence[float] = ()) -> Tally:
        """Count into at most so many bins, of which one begins at each of ``begin``.

        None holds more than two shares of all cases, unless they have one score; a
        score never stands in two bins. Only the bins are copied.
        """
        at_most = _options.whole_number(at_most, "at_most", at_least=1)
        step = -(-self.n // at_most) + len(self.parts)
        heads = [self.lib.host(part[::step]) for part in self.parts]
        lowest = min(h[0] for h in heads if h.size)
        # a score that more than fills a bin has one of its own: it ends there, too
        heavy = [h[1:][h[1:] == h[:-1]] + 1 for h in heads]
        # an empty list would be one of floats, which do not hold every key
        first = [lowest, *(key_at_least(low, self.kind) for low in begin)]
        starts = np.unique(np.concatenate([first, *(h[1:] for h in heads), *heavy]))
        return self._bins(starts.astype(heads[0].dtype))

    def between(self, ranges: Sequence[tuple[float, float]]) -> DeviceTally:
        """Give the cases with scores in these ranges, ends included."""
        sides = [
            e for a, b in sorted(ranges) for e in (a, float(np.nextafter(b, np.inf)))
        ]
        ends = self._key_array([key_at_least(end, self.kind) for end in sides])

        def inside(part: Tensor) -> Any:
            at = self.lib.host(self.lib.places(part, ends, "left")).reshape(-1, 2)
            return self.lib.xp.concat([part[start:stop] for start, stop in at.tolist()])

        rest = None if self.unknown is None else inside(self.unknown)
        return replace(self, pos=inside(self.pos), neg=inside(self.neg), unknown=rest)

    def _key_array(self, keys: ArrayLike) -> Any:
        kind = self.lib.dtype(KEYS[self.kind])
        return self.lib.xp.asarray(keys, dtype=kind, device=self.neg.device)

    def _bins(self, starts: Array) -> Tally:
        """Count into bins that begin at these keys; the first is the lowest."""
        wanted, counts, last = self._key_array(starts), [], []
        for part in self.parts:
            at = self.lib.host(self.lib.places(part, wanted, "left"))
            stop = np.append(at[1:], self.lib.size(part))
            counts.append((stop - at).astype(np.int64))
            if self.lib.size(part):
                end = self.lib.host(self.lib.picked(part, np.maximum(stop - 1, 0)))
                last.append(np.where(stop > at, end, starts))
        while len(counts) < 3:
            counts.append(np.zeros(starts.size, dtype=np.int64))
        high = np.max(last, axis=0)
        low, high = (scores_of(k, self.kind)[::-1].copy() for k in (starts, high))
        turned = [np.ascontiguousarray(c[::-1]) for c in counts]
        return self.designed(tally_of_bins(low, high, turned))

    def flagged(self, threshold: float) -> tuple[int, int]:
        """How many positives and negatives have at least this score?"""
        key = self._key_array([key_at_least(threshold, self.kind)])
        below = [int(self.lib.places(p, key, "left")[0]) for p in (self.pos, self.neg)]
        return self.n_pos - below[0], self.n_neg - below[1]


def device_tally(
    y_true: Tensor | None,
    y_score: Tensor,
    positive: object = None,
    at_most: int | None = None,
) -> Tally | DeviceTally:
    """Count labels and scores where they are; the answer of ``tally`` for a device."""
    lib = library_of(y_score)
    if lib is None:
        raise InputError(
            f"Scores on a device must be a PyTorch or CuPy array; found "
            f"{type(y_score).__name__}."
        )
    if lib.name == "torch":
        y_score = y_score.detach()
    kind = float_name(y_score)
    y_score = y_score.reshape(-1)
    is_pos, known = read_labels(lib, y_true, y_score, positive)
    if KEYS[kind] == "int16" or lib.size(y_score) <= FEW:
        count = _counted if KEYS[kind] == "int16" else _copied
        t = _host_tally(count(lib, y_score, is_pos, known, kind), kind)
        return t if at_most is None else t.bin(at_most)
    found = DeviceTally(lib, *sorted_keys(lib, y_score, is_pos, known, kind), kind)
    found.finite()
    if at_most is not None:
        return found.bin(at_most)
    return _few(found) or found


def read_labels(
    lib: Library, y: Tensor | None, s: Tensor, positive: object
) -> tuple[Any, Any]:
    """Which cases are positive, and which have a label? NaN is none."""
    if y is None:
        nothing = lib.xp.zeros(lib.size(s), dtype=lib.dtype("bool"), device=s.device)
        return nothing, nothing
    same_device(y, s)
    y = y.reshape(-1)
    if lib.size(y) != lib.size(s):
        raise InputError(
            f"y_true and y_score must have the same length; found {lib.size(y):,} and "
            f"{lib.size(s):,}."
        )
    if str(y.dtype).endswith("bool"):
        return (y if positive in (None, True, 1) else ~y), None
    known = None
    if "float" in str(y.dtype):
        missing = y != y
        if bool(missing.any()):
            known = ~missing
    ones = y == 1
    if positive in (None, 1) and bool(lib.xp.all(ones | (y == 0) | (y != y))):
        return ones, known
    labelled = y if known is None else y[known]
    if not lib.size(labelled):
        return known, known
    pair = sorted({float(labelled.min()), float(labelled.max())})
    others = (labelled != pair[0]) & (labelled != pair[-1])
    if bool(others.any()):
        pair = [pair[0], float(labelled[others][0]), pair[-1]]
    plain = [int(v) if v == int(v) else v for v in pair]
    _, chosen = label_pair(plain, positive, "y_true")
    return y == chosen, known


def _counted(
    lib: Library, scores: Tensor, is_pos: Tensor, known: Tensor | None, kind: str
) -> list[tuple[Any, Ints]]:
    """Count 16-bit scores on the device: each class has 2^16 places."""
    if kernels_for(scores):
        total = _count_bits(lib, scores, classes_of(lib, is_pos, known))
    else:
        total = np.zeros(3 * 2**16, dtype=np.int64)
        for start in range(0, lib.size(scores), CHUNK):
            part = slice(start, start + CHUNK)
            # negatives in the first 2^16 places, then positives, then unknowns
            place = lib.cast(keys_of(lib, scores[part], kind), "int64") + 2**15
            place += 2**16 * lib.cast(is_pos[part], "int64")
            if known is not None:
                place = lib.xp.where(known[part], place, place % 2**16 + 2**17)
            total += lib.host(lib.xp.bincount(place, minlength=total.size))
    seen = (np.flatnonzero(counts) for counts in total.reshape(3, -1))
    return [(at - 2**15, total[k * 2**16 + at]) for k, at in enumerate(seen)]


def _count_bits(lib: Library, scores: Tensor, classes: Tensor) -> Ints:
    torch, n = lib.xp, lib.size(scores)
    total = scores.new_zeros((_COPIES, 3 * 2**16), dtype=torch.int64)
    bits = scores.contiguous().view(torch.int16)
    with torch.cuda.device(scores.device):
        kernels_for(scores).count_bits[(-(-n // _BLOCK),)](
            bits, classes, total, n, COPIES=_COPIES, BLOCK=_BLOCK
        )
    return np.asarray(lib.host(total.sum(0)))


def _copied(
    lib: Library, scores: Tensor, is_pos: Tensor, known: Tensor | None, kind: str
) -> list[tuple[Any, Ints]]:
    """Count on the host: copying few cases takes less time than to count them here."""
    keys, pos = lib.host(keys_of(lib, scores, kind)), lib.host(is_pos)
    if known is None:
        return [_distinct(keys[~pos]), _distinct(keys[pos])]
    labelled = lib.host(known)
    sides = (labelled & ~pos, labelled & pos, ~labelled)
    return [_distinct(keys[side]) for side in sides]


def _distinct(keys: Array) -> tuple[Any, Ints]:
    found, counts = np.unique(keys, return_counts=True)
    return found, counts.astype(np.int64)


def _host_tally(parts: list[tuple[Any, Ints]], kind: str) -> Tally:
    """Join the counts of negatives, positives and unknowns, of finite scores."""
    low, high = ends(kind)
    bad = sum(int(c[(k < low) | (k > high)].sum()) for k, c in parts)
    if bad:
        _refuse(bad)
    keys, at = np.unique(np.concatenate([k for k, _ in parts]), return_inverse=True)
    columns = np.zeros((3, keys.size), dtype=np.int64)
    stops = np.cumsum([k.size for k, _ in parts])[:-1]
    for column, places, (_, counts) in zip(
        columns, np.split(at, stops), parts, strict=False
    ):
        column[places] = counts
    return tally_of_rows(scores_of(keys[::-1], kind), *columns[:, ::-1])


def _few(x: DeviceTally) -> Tally | None:
    """Bring the tally to the host if there are few distinct scores."""
    # keys picked at equal distances show most continuous scores at once
    pick = max(1, max(map(x.lib.size, x.parts)) // (4 * FEW))
    for step in sorted({pick, 1}, reverse=True):
        picked = [part[::step] for part in x.parts]
        new = [x.lib.xp.sum(p[1:] != p[:-1]) for p in picked]
        if x.lib.host(x.lib.xp.stack(new)).max() >= FEW:
            return None
    return _host_tally([_runs(x.lib, part) for part in x.parts], x.kind)


def _runs(lib: Library, part: Tensor) -> tuple[Any, Ints]:
    """Give the distinct ones of sorted keys, and how often each is there."""
    (at,) = lib.xp.nonzero(part[1:] != part[:-1])
    at = np.append(0, lib.host(at) + 1)[: lib.size(part)]
    counts = np.diff(np.append(at, lib.size(part))).astype(np.int64)
    return lib.host(lib.picked(part, at)), counts


def _refuse(bad: int) -> None:
    raise InputError(
        f"y_score must be finite; found NaN or infinite scores in {bad:,} cases. "
        f"Remove these cases or give them a score yourself."
    )


def sorted_keys(
    lib: Library, scores: Tensor, positive: Tensor, known: Tensor | None, kind: str
) -> tuple[Any, Any, Any]:
    """Give the sorted keys of positives, negatives and, if not all known, unknowns."""
    rest = None
    if known is not None:
        rest = lib.sort(keys_of(lib, scores[~known], kind))
    if kernels_for(scores):
        pos, neg = _split(lib, scores, positive, known, kind)
        return pos, neg, rest
    keys = keys_of(lib, scores, kind)
    chosen = ~positive if known is None else ~positive & known
    return lib.sort(keys[positive]), lib.sort(keys[chosen]), rest


def classes_of(lib: Library, positive: Tensor, known: Tensor | None) -> Any:
    """Give 0 for a negative case, 1 for a positive one, 2 for one without a label."""
    classes = positive.view(lib.xp.int8)
    if known is None:
        return classes
    return lib.xp.where(known, classes, classes.new_full((), 2))


def _split(
    lib: Library, scores: Tensor, positive: Tensor, known: Tensor | None, kind: str
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
        kernels.split[(-(-n // _SPLIT),)](
            *(scores, classes, pivot, pos, neg, filled, n, n_pos, n_neg),
            BITS=8 * scores.element_size(),
            BLOCK=_SPLIT,
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
