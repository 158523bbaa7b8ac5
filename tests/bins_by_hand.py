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
    for pos_on_top in range(pos + 1):
        for neg_on_top in range(neg + 1):
            if pos_on_top + neg_on_top:
                for below in levels(pos - pos_on_top, neg - neg_on_top):
                    yield [(pos_on_top, neg_on_top), *below]


def random_bins(rng, most=3, bins=3, unknowns=False):
    """A binned tally of a few small bins, some of a single score."""
    ends = np.sort(rng.choice(np.arange(1, 40), 2 * bins, replace=False)) / 40
    low = ends[0::2][::-1].copy()
    high = ends[1::2][::-1].copy()
    is_single = rng.random(bins) < 0.25
    is_single[rng.integers(bins)] = False
    high[is_single] = low[is_single]

    pos = rng.integers(0, most, bins)
    neg = rng.integers(0, most, bins)
    pos[rng.integers(bins)] += 1
    neg[rng.integers(bins)] += 1
    unknown = rng.integers(0, 2, bins) * unknowns

    # a single score without cases is no bin; a wide bin gets a positive
    is_empty = pos + neg + unknown == 0
    pos[is_empty & ~is_single] = 1
    bin_exists = ~is_empty | ~is_single
    counts = [column[bin_exists] for column in (neg, pos, unknown)]
    return tally_of_bins(low[bin_exists], high[bin_exists], counts)


def arrangements(t, rng, most=None):
    """The tallies that this one may stand for; scores are spread inside each bin."""
    ways_of_bins = []
    for low, high, pos, neg in zip(t.score, t.high, t.pos, t.neg, strict=True):
        ways = [[(pos, neg)]] if low == high else list(levels(int(pos), int(neg)))
        ways_of_bins.append([way for way in ways if way])

    total = int(np.prod([len(ways) for ways in ways_of_bins]))
    if most is None or total <= most:
        combinations = product(*ways_of_bins)
    else:
        combinations = (
            [ways[rng.integers(len(ways))] for ways in ways_of_bins]
            for _ in range(most)
        )
    for combination in combinations:
        yield _spread(t, combination, rng)


def _spread(t, combination, rng):
    """Put the cases of each bin on scores inside of it."""
    rows = []
    for low, high, way in zip(t.score, t.high, combination, strict=True):
        depth = np.sort(rng.random(len(way)))  # below the top of the bin, as a part
        if rng.random() >= 0.3:
            depth = np.linspace(0, 1, len(way))
        if len(way) == 1:
            depth = rng.choice([0.0, 1.0, 0.4], 1)

        # clipped: rounding must not leave the bin
        scores = np.clip(high - (high - low) * depth, low, high)
        rows += [
            (score, pos, neg) for score, (pos, neg) in zip(scores, way, strict=True)
        ]
    score, pos, neg = zip(*rows, strict=True)
    return Tally(score, neg, pos)


def curve_span(bounds, x):
    """Return the smallest and the largest value of a curve of straight lines at x.

    At a jump it may be anything between the ends.
    """
    left = np.searchsorted(bounds.x, x - 1e-12, side="left")
    right = np.searchsorted(bounds.x, x + 1e-12, side="right")
    low = bounds.low[left:right]
    high = bounds.high[left:right]
    if left == right:
        # between two corners
        around = slice(max(left - 1, 0), right + 1)
        low = np.interp(x, bounds.x[around], bounds.low[around])
        high = np.interp(x, bounds.x[around], bounds.high[around])
    return np.min(low) - 1e-12, np.max(high) + 1e-12
