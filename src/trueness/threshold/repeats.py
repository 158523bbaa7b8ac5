"""What is chosen when the choice of a rule is made again on bootstrap samples?

A choice is a function that takes the running counts of some samples, a confusion matrix
(samples, cuts) for each group, and gives the places of its cuts (samples, groups,
cuts); -1 where nothing can be chosen.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Sequence
from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from trueness._core.arrays import Array, Floats, Ints
from trueness._core.progress import progress
from trueness.counts.placements import coarser, group_starts
from trueness.counts.resampling import draw, whole_draws
from trueness.counts.values import Tally
from trueness.metrics.algebra import Metric
from trueness.metrics.confusion import Confusion
from trueness.threshold.cuts import ROUNDING, Cuts, make_cuts
from trueness.threshold.group_cuts import best_for_groups
from trueness.threshold.limits import Limit
from trueness.threshold.zones import choose_pair, fewest_deferred

Bounds = tuple[Limit, ...]
Choice = Callable[[list[Confusion]], Ints]
_CHUNK = 64  # samples that are looked at together: they stay in the processor's cache


def choose_cut(
    goal: Metric, bounds: Bounds, shares: Sequence[float | None], seen: list[Confusion]
) -> Ints:
    """Choose the best cut of each sample, the worst of all prevalences counting."""
    value, allowed = np.asarray(np.inf), np.asarray(True)
    for used in map(seen[0].at_prevalence, shares):
        value = np.minimum(value, goal(used))  # undefined is never best
        for k in bounds:
            allowed = allowed & k.asked(used)
    value = np.where(allowed & ~np.isnan(value), value, -np.inf)
    top = value.max(axis=1, keepdims=True)
    with np.errstate(invalid="ignore"):  # all may be -inf
        near = value >= top - ROUNDING * np.abs(top)
    # of equally good ones, as best_threshold takes them
    at = np.argmin(np.where(near, np.abs(used.fp - used.fn), np.inf), axis=1)
    return np.where(top[:, 0] > -np.inf, at, -1)[:, None, None]


def choose_zones(
    goal: Metric, bounds: Bounds, share: float | None, seen: list[Confusion]
) -> Ints:
    """Choose the best two cuts of each sample."""

    def best(c: Confusion) -> list[int]:
        found = None
        if c.fn[0] > 0 and c.tn[0] > 0:
            cuts = _numbered(c, share)
            found = choose_pair(cuts, goal, bounds)[0]
        if found is None:
            return [-1, -1]
        flagged = c.tp + c.fp
        # rows without a case of the sample repeat a cut: the first of them is meant
        pair = fewest_deferred(cuts, found)
        return [int(np.searchsorted(flagged, flagged[k])) for k in pair]

    return np.array([[best(c)] for c in _each(seen[0])])


def choose_groups(
    goal: Metric, bounds: Bounds, unit: Fraction, seen: list[Confusion]
) -> Ints:
    """Choose the best cuts of all groups in each sample."""
    found = []
    for each in zip(*map(_each, seen), strict=True):
        cuts = [_numbered(c, None, unit) for c in each]
        at = best_for_groups(cuts, bounds, goal, time.monotonic() + 1.0)[0]
        found.append([[k] for k in at or [-1] * len(seen)])
    return np.array(found)


def _each(c: Confusion) -> Iterable[Confusion]:
    return (c[k] for k in range(len(c.tp)))


def _numbered(c: Confusion, share: float | None, unit: Fraction | None = None) -> Cuts:
    """Let the places of the cuts be their scores."""
    return make_cuts(np.arange(c.tp.size - 1, 0, -1.0), c, share, unit=unit)


class Repeats(NamedTuple):
    """Choices that were made again, and the cells (samples, groups, sides, 2) of each.

    ``bag`` are those of its sample, ``out`` of the cases left out, ``whole`` of all.
    """

    places: Ints  # of the cuts in their tallies (samples, groups, cuts)
    bag: Floats
    out: Floats
    whole: Floats


def repeat(
    tallies: Iterable[Tally],
    choose: Choice,
    number: int,
    rng: np.random.Generator,
    rows: int,
) -> Repeats:
    """Repeat a choice on samples of each tally, joined to so many rows."""
    joined = [_joined(t, rows) for t in tallies]
    draws = [_drawn(t) for t, _ in joined]
    whole = [(t.pos[None], t.neg[None]) for t, _ in joined]
    parts: list[list[Array]] = []
    with progress("Bootstrap", number, "samples") as went_by:
        for start in range(0, number, _CHUNK):
            some = min(_CHUNK, number - start)
            both = [one(some, rng) for one in draws]
            all_ = [[np.repeat(x, some, axis=0) for x in pair] for pair in whole]
            kinds = ([x[0] for x in both], [x[1] for x in both], all_)
            running = [[_running(*pair) for pair in kind] for kind in kinds]
            at = choose(running[0])
            good = np.asarray((at >= 0).all(axis=(1, 2)))
            places = [before[at[good, g]] for g, (_, before) in enumerate(joined)]
            found: list[list[Any]] = [places]
            found += [[_cells(c, at[good, g], good) for g, c in enumerate(kind)]
                      for kind in running]  # fmt: skip
            parts.append([np.stack(x, axis=1) for x in found])
            went_by(some)
    return Repeats(*(np.concatenate(x) for x in zip(*parts, strict=True)))


def _joined(t: Tally, most: int) -> tuple[Tally, Ints]:
    """Join neighbouring rows; give, too, the place of each cut in the tally."""
    few = coarser(t, most)
    if few is t:
        return t, np.arange(len(t) + 1)
    start = group_starts(t.neg / t.n_neg + t.pos / t.n_pos, most)
    return few, np.append(start, len(t))


def _drawn(t: Tally) -> Callable[[int, np.random.Generator], list[list[Array]]]:
    """Draw samples: positives and negatives of each, and those that it left out.

    Of N equal cases of a row, of which B were drawn, :math:`N (1 - 1/N)^B` are left out
    on average; that mean stands for them. A cluster is drawn like one case.
    """
    pairs = (t.pos, t.squares[1]), (t.neg, t.squares[0])
    kinds = [whole_draws(w.astype(float), q.astype(float)) for w, q in pairs]
    units = [np.where(weight > 0, n, 0) for n, weight in kinds]
    tables: Any = None
    if (c := t.grouped) is not None:
        from scipy.sparse import csr_array

        units, shape = [np.ones(c.number, dtype=np.int64)], (c.number, len(t))
        tables = [csr_array((k, (c.code, c.row)), shape=shape)
                  for k in (c.counts[1], c.counts[0])]  # fmt: skip

    def in_rows(units: list[Array]) -> list[Array]:
        if tables is not None:
            return [units[0] @ table for table in tables]
        return [n * weight for n, (_, weight) in zip(units, kinds, strict=True)]

    def one(number: int, rng: np.random.Generator) -> list[list[Array]]:
        if t.design.fixed_classes:
            taken = [draw(n, number, rng) for n in units]
        else:
            every = draw(np.concatenate(units), number, rng)
            taken = np.split(every, len(units), axis=1)
        left = [n * np.power(1 - 1 / np.maximum(n, 1), b)
                for n, b in zip(units, taken, strict=True)]  # fmt: skip
        return [in_rows(taken), in_rows(left)]

    return one


def _running(pos: Array, neg: Array) -> Confusion:
    """Count right and wrong cases at all cuts of some samples."""
    tp, fp = (np.pad(np.cumsum(x, axis=1), ((0, 0), (1, 0))) for x in (pos, neg))
    return Confusion(tp, fp, tp[:, -1:] - tp, fp[:, -1:] - fp)


def _cells(c: Confusion, at: Ints, which: NDArray[np.bool_]) -> Floats:
    """Count positives and negatives flagged, deferred and cleared in some samples."""
    at = at if at.shape[1] == 2 else np.repeat(at, 2, axis=1)  # one cut defers nothing
    sides = []
    for x in (c.tp[which], c.fp[which]):
        ends = np.take_along_axis(x, at, axis=1)
        sides.append(np.diff(ends, axis=1, prepend=0, append=x[:, -1:]))
    return np.stack(sides, axis=-1).astype(np.float64)
