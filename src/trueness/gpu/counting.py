"""How many cases of each class showed each score, counted on the device?

``device_tally`` gives a ``Tally`` on the host where scores are few (16-bit floats have
at most 65,536, rounded ones few), bins with limits for ``at_most=``, and otherwise a
``DeviceTally``: the sorted keys of each class, which stay where they are.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, final

import numpy as np

from trueness._core.arrays import Ints
from trueness._core.checks import options as _options
from trueness._core.checks.columns import label_pair
from trueness._core.checks.errors import InputError
from trueness.counts.values import Tally
from trueness.gpu.arrays import Library, library_of, same_device
from trueness.gpu.keys import KEYS, ends, float_name, key_at_least, scores_of
from trueness.gpu.split import split_keys

# up to so many distinct scores the tally comes to the host
FEW = 2**17
# needles of one search: 128 MB of places, whatever the number of cases
CHUNK = 2**24


@final
@dataclass(frozen=True, eq=False, repr=False)
class DeviceTally:
    """Which scores did the positives, negatives and unknowns show, on a device?

    Made by :func:`trueness.tally` of arrays on a CUDA device with many distinct scores.

    Attributes
    ----------
    pos, neg, unknown : array on the device
        Sorted keys of the scores, ascending; see ``gpu/keys.py``.
    kind : str
        The type of the scores.
    """

    lib: Library
    pos: Any
    neg: Any
    unknown: Any
    kind: str

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
    def _parts(self) -> list[Any]:
        return [p for p in (self.neg, self.pos, self.unknown) if p is not None]

    def to_host(self) -> Tally:
        """Copy the keys to the host and count them there."""
        counted = [_distinct(self.lib.host(part)) for part in self._parts]
        return _host_tally(counted, self.kind)

    def coarse(self, at_most: int) -> Tally:
        """Count into at most so many bins of equal size; only the bins are copied."""
        at_most = _options.whole_number(at_most, "at_most", at_least=1)
        lib = self.lib
        every = lib.sort(lib.xp.concatenate(self._parts))
        n = lib.size(every)
        step = -(-n // at_most)
        heads = lib.host(every[::step])
        starts = np.unique(heads)  # a score never stands in two bins
        wanted = lib.xp.asarray(starts, device=every.device)
        first = lib.host(lib.places(every, wanted, "left"))
        stop = np.append(first[1:], n)
        last = every[lib.xp.asarray(stop - 1, device=every.device)]
        low, high = (scores_of(k, self.kind) for k in (starts, lib.host(last)))
        counts = [self._per_bin(part, wanted) for part in (self.neg, self.pos)]
        counts.append(self._per_bin(self.unknown, wanted))
        turned = [np.ascontiguousarray(c[::-1]) for c in counts]
        return Tally._of_bins(low[::-1].copy(), high[::-1].copy(), turned)

    def _per_bin(self, part: Any, starts: Any) -> Ints:
        if part is None:
            return np.zeros(self.lib.size(starts), dtype=np.int64)
        lib = self.lib
        at = lib.host(lib.places(part, starts, "left"))
        return np.diff(np.append(at, lib.size(part))).astype(np.int64)

    def flagged(self, threshold: float) -> tuple[int, int]:
        """How many positives and negatives have at least this score?"""
        key = self.lib.xp.asarray(
            [key_at_least(threshold, self.kind)],
            dtype=self.lib.dtype(KEYS[self.kind]),
            device=self.pos.device,
        )
        below = [int(self.lib.places(p, key, "left")[0]) for p in (self.pos, self.neg)]
        return self.n_pos - below[0], self.n_neg - below[1]


def device_tally(
    y_true: Any, y_score: Any, positive: Any = None, at_most: int | None = None
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
    is_pos, known = _labels(lib, y_true, y_score, positive)
    pos, neg, unknown = split_keys(lib, y_score, is_pos, known, kind)
    if KEYS[kind] == "int16":
        parts = [_counted(lib, p) for p in (neg, pos, unknown) if p is not None]
        _check_finite(parts, kind)
        t = _host_tally(parts, kind)
        return t if at_most is None else t.coarse(at_most)
    rest = None if unknown is None else lib.sort(unknown)
    found = DeviceTally(lib, lib.sort(pos), lib.sort(neg), rest, kind)
    _check_ends(found)
    if at_most is not None:
        return found.coarse(at_most)
    return _few(found) or found


def _labels(lib: Library, y: Any, s: Any, positive: Any) -> tuple[Any, Any]:
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


def _counted(lib: Library, keys: Any) -> tuple[Any, Ints]:
    """Count 16-bit keys on the device."""
    shifted = lib.cast(keys, "int32") + 2**15
    counts = lib.host(lib.counts(shifted, 2**16)).astype(np.int64)
    at = np.flatnonzero(counts)
    return at - 2**15, counts[at]


def _distinct(keys: Any) -> tuple[Any, Ints]:
    found, counts = np.unique(keys, return_counts=True)
    return found, counts.astype(np.int64)


def _host_tally(parts: list[tuple[Any, Ints]], kind: str) -> Tally:
    """Join the counts of negatives, positives and unknowns."""
    every = [np.zeros(sum(k.size for k, _ in parts), dtype=np.int64) for _ in range(3)]
    keys = np.concatenate([k for k, _ in parts])
    start = 0
    for column, (k, counts) in zip(every, parts, strict=False):
        column[start : start + k.size] = counts
        start += k.size
    return Tally(scores_of(keys, kind), *every)


def _few(x: DeviceTally) -> Tally | None:
    """Bring the tally to the host if there are few distinct scores."""
    counted = []
    for part in x._parts:
        if not x.lib.size(part):
            counted.append((np.zeros(0, dtype=np.int64), np.zeros(0, dtype=np.int64)))
            continue
        # keys picked at equal distances show most continuous scores at once
        picked = part[:: max(1, x.lib.size(part) // (4 * FEW))]
        if int((picked[1:] != picked[:-1]).sum()) >= FEW:
            return None
        new = part[1:] != part[:-1]
        if int(new.sum()) >= FEW:
            return None
        at = np.append(0, x.lib.host(x.lib.where(new)) + 1)
        index = x.lib.xp.asarray(at, device=part.device)
        counts = np.diff(np.append(at, x.lib.size(part))).astype(np.int64)
        counted.append((x.lib.host(part[index]), counts))
    return _host_tally(counted, x.kind)


def _check_ends(x: DeviceTally) -> None:
    low, high = ends(x.kind)
    for part in x._parts:
        if x.lib.size(part) and (int(part[0]) < low or int(part[-1]) > high):
            bad = int((part < low).sum() + (part > high).sum())
            _refuse(bad)


def _check_finite(parts: list[tuple[Any, Ints]], kind: str) -> None:
    low, high = ends(kind)
    bad = sum(int(c[(k < low) | (k > high)].sum()) for k, c in parts)
    if bad:
        _refuse(bad)


def _refuse(bad: int) -> None:
    raise InputError(
        f"y_score must be finite; found NaN or infinite scores in {bad:,} cases. "
        f"Remove these cases or give them a score yourself."
    )
