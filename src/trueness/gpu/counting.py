"""How many cases of each class showed each score, counted on the device?

``device_tally`` gives a ``Tally`` on the host where scores are few (16-bit floats have
at most 65,536, rounded ones few), bins with limits for ``at_most=``, and otherwise a
``DeviceTally``: the sorted keys of each class, which stay where they are.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, final

import numpy as np

from trueness._core.arrays import Ints
from trueness._core.checks import options as _options
from trueness._core.checks.columns import label_pair
from trueness._core.checks.errors import InputError
from trueness.counts.design import AT_RANDOM, PLAIN, Design
from trueness.counts.values import Tally, tally_of_bins
from trueness.gpu.arrays import Library, library_of, same_device
from trueness.gpu.keys import KEYS, ends, float_name, key_at_least, keys_of, scores_of
from trueness.gpu.merging import CHUNK
from trueness.gpu.split import sorted_keys

# up to so many distinct scores the tally comes to the host
FEW = 2**17


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
    design: Design = PLAIN

    def with_design(self, **words: Any) -> DeviceTally:
        """Say how the cases came; see :meth:`trueness.Tally.with_design`."""
        design = self.design.with_words(words)
        if design.unlabelled == AT_RANDOM:
            raise InputError(
                'unlabelled="missing at random" needs counts on the host. Type '
                "at_most=100_000 for bins, or tally(y, s).to_host()."
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
                f"A DeviceTally adds to another of the same type of score, "
                f"{self.kind}; found {getattr(other, 'kind', type(other).__name__)}. "
                f"Tallies of the host add to any: type .to_host() or .coarse(100_000)."
            )
        same_device(self.pos, other.pos)
        sides = zip(
            (self.pos, self.neg, self.unknown),
            (other.pos, other.neg, other.unknown),
            strict=True,
        )
        parts = [[x for x in pair if x is not None] for pair in sides]
        join, sort = self.lib.xp.concat, self.lib.sort
        pos, neg, rest = (sort(join(x)) if x else None for x in parts)
        design = self.design + other.design
        return DeviceTally(self.lib, pos, neg, rest, self.kind, design)

    def coarse(self, at_most: int) -> Tally:
        """Count into at most so many bins; only the bins are copied.

        A bin ends where either class has seen so many cases, so that none holds more
        than two shares of all of them, unless they have one and the same score; a score
        never stands in two bins.
        """
        at_most = _options.whole_number(at_most, "at_most", at_least=1)
        step = -(-self.n // at_most) + len(self.parts)
        heads = [self.lib.host(part[::step]) for part in self.parts]
        lowest = min(h[0] for h in heads if h.size)
        # a score that more than fills a bin has one of its own: it ends there, too
        heavy = [h[1:][h[1:] == h[:-1]] + 1 for h in heads]
        starts = np.unique(np.concatenate([[lowest], *(h[1:] for h in heads), *heavy]))
        return self._bins(starts.astype(heads[0].dtype))

    def between(self, low: float, high: float) -> DeviceTally:
        """Give the cases with scores from low to high, without a copy."""
        first = key_at_least(low, self.kind)
        after = key_at_least(float(np.nextafter(high, np.inf)), self.kind)
        ends = self._key_array([first, after])

        def inside(part: Any) -> Any:
            if part is None:
                return None
            start, stop = self.lib.host(self.lib.places(part, ends, "left")).tolist()
            return part[start:stop]

        pos, neg, rest = (inside(x) for x in (self.pos, self.neg, self.unknown))
        return DeviceTally(self.lib, pos, neg, rest, self.kind, self.design)

    def _key_array(self, keys: Any) -> Any:
        kind = self.lib.dtype(KEYS[self.kind])
        return self.lib.xp.asarray(keys, dtype=kind, device=self.neg.device)

    def _bins(self, starts: Any) -> Tally:
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
    is_pos, known = read_labels(lib, y_true, y_score, positive)
    if KEYS[kind] == "int16":
        t = _counted(lib, y_score, is_pos, known, kind)
        return t if at_most is None else t.coarse(at_most)
    found = DeviceTally(lib, *sorted_keys(lib, y_score, is_pos, known, kind), kind)
    found.finite()
    if at_most is not None:
        return found.coarse(at_most)
    return _few(found) or found


def read_labels(lib: Library, y: Any, s: Any, positive: Any) -> tuple[Any, Any]:
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


def _counted(lib: Library, scores: Any, is_pos: Any, known: Any, kind: str) -> Tally:
    """Count 16-bit scores on the device: each class has 2^16 places."""
    total = np.zeros(3 * 2**16, dtype=np.int64)
    for start in range(0, lib.size(scores), CHUNK):
        part = slice(start, start + CHUNK)
        # negatives in the first 2^16 places, then positives, then unknowns
        place = lib.cast(keys_of(lib, scores[part], kind), "int64") + 2**15
        place += 2**16 * lib.cast(is_pos[part], "int64")
        if known is not None:
            place = lib.xp.where(known[part], place, place % 2**16 + 2**17)
        total += lib.host(lib.xp.bincount(place, minlength=total.size))
    parts = []
    for counts in total.reshape(3, -1):
        at = np.flatnonzero(counts)
        parts.append((at - 2**15, counts[at]))
    low, high = ends(kind)
    bad = sum(int(c[(k < low) | (k > high)].sum()) for k, c in parts)
    if bad:
        _refuse(bad)
    return _host_tally(parts, kind)


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
    for part in x.parts:
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
        (at,) = x.lib.xp.nonzero(new)
        at = np.append(0, x.lib.host(at) + 1)
        counts = np.diff(np.append(at, x.lib.size(part))).astype(np.int64)
        counted.append((x.lib.host(x.lib.picked(part, at)), counts))
    return _host_tally(counted, x.kind)


def _refuse(bad: int) -> None:
    raise InputError(
        f"y_score must be finite; found NaN or infinite scores in {bad:,} cases. "
        f"Remove these cases or give them a score yourself."
    )
