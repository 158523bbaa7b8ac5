"""All the cases that a binned tally may stand for, one after the other."""

from itertools import product

import numpy as np

from trueness import Tally
from trueness.counts.values import tally_of_bins


def levels(pos, neg):
    """Every way to put cases of a bin on one or more scores: [(pos, neg), ...]."""
    if pos == neg == 0:
        yield []
        return
    for p in range(pos + 1):
        for n in range(neg + 1):
            if p + n:
                for rest in levels(pos - p, neg - n):
                    yield [(p, n), *rest]


def random_bins(rng, most=3, bins=3, unknowns=False):
    """A binned tally of a few small bins, some of a single score."""
    ends = np.sort(rng.choice(np.arange(1, 40), 2 * bins, replace=False)) / 40
    low, high = ends[0::2][::-1].copy(), ends[1::2][::-1].copy()
    closed = rng.random(bins) < 0.25
    closed[rng.integers(bins)] = False
    high[closed] = low[closed]
    pos, neg = rng.integers(0, most, bins), rng.integers(0, most, bins)
    pos[rng.integers(bins)] += 1
    neg[rng.integers(bins)] += 1
    unknown = rng.integers(0, 2, bins) * unknowns
    some = (pos + neg + unknown > 0) | ~closed
    pos[some & (pos + neg + unknown == 0)] = 1
    counts = [c[some] for c in (neg, pos, unknown)]
    return tally_of_bins(low[some], high[some], counts)


def arrangements(t, rng, most=None):
    """The tallies that this one may stand for; scores are spread inside each bin."""
    ways = []
    for low, high, p, n in zip(t.score, t.high, t.pos, t.neg, strict=True):
        every = [[(p, n)]] if low == high else list(levels(int(p), int(n)))
        ways.append([way for way in every if way])
    total = int(np.prod([len(w) for w in ways]))
    if most is None or total <= most:
        chosen = product(*ways)
    else:
        chosen = ([w[rng.integers(len(w))] for w in ways] for _ in range(most))
    for combination in chosen:
        yield _spread(t, combination, rng)


def _spread(t, combination, rng):
    rows = []
    for low, high, way in zip(t.score, t.high, combination, strict=True):
        inside = np.sort(rng.random(len(way)))
        inside = inside if rng.random() < 0.3 else np.linspace(0, 1, len(way))
        if len(way) == 1:
            inside = rng.choice([0.0, 1.0, 0.4], 1)
        # clipped: rounding must not leave the bin
        scores = np.clip(high - (high - low) * inside, low, high)
        rows += [(s, p, n) for s, (p, n) in zip(scores, way, strict=True)]
    score, pos, neg = zip(*rows, strict=True)
    return Tally(score, neg, pos)


def curve_span(bounds, x):
    """What a curve of straight lines may be at x; jumps hold all between their ends."""
    left = np.searchsorted(bounds.x, x - 1e-12, side="left")
    right = np.searchsorted(bounds.x, x + 1e-12, side="right")
    low, high = bounds.low[left:right], bounds.high[left:right]
    if left == right:  # inside a stretch
        part = slice(max(left - 1, 0), right + 1)
        at = bounds.x[part]
        low, high = (np.interp(x, at, v[part]) for v in (bounds.low, bounds.high))
    return np.min(low) - 1e-12, np.max(high) + 1e-12
