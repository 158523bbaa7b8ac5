r"""Between which isotonic curves does the exact reliability diagram lie?

The value of an isotonic curve at a score is the largest, over all starts at or below,
of the smallest mean of labels, over all ends at or above: the max-min formula
(Robertson, Wright and Dykstra 1988, section 1.4). It is largest when below and in the
bin the positives come last, and above it first: then only ends of bins matter. The
smallest value is the largest of the mirrored cases.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from trueness._core.arrays import Array, Floats
from trueness.counts.values import Tally

_MOST_BINS = 4096  # more bins are merged: the cost grows with their square


class IsotonicBounds(NamedTuple):
    """The bins in ascending order, and the range of the curve in each."""

    score: Floats
    score_high: Floats
    low: Floats
    high: Floats


def isotonic_bounds(t: Tally) -> IsotonicBounds:
    """Return the smallest and the largest value of the isotonic curve in each bin."""
    t = t.bin(_MOST_BINS)
    is_bin = t.high > t.score
    high = _largest_values(t.pos[::-1], t.neg[::-1], is_bin[::-1])
    # for the smallest values, exchange the classes and reverse the order
    mirrored = _largest_values(t.neg, t.pos, is_bin)

    return IsotonicBounds(
        score=t.score[::-1],
        score_high=t.high[::-1],
        low=1 - mirrored[::-1],
        high=high,
    )


def _largest_values(pos: Array, neg: Array, is_bin: Array) -> Floats:
    """Return the largest isotonic value in each bin, in ascending order of score.

    The max-min formula: the largest, over starts, of the smallest mean over ends.
    """
    cases = np.cumsum(pos + neg)
    positives = np.cumsum(pos)
    cases_below = cases - (pos + neg)
    positives_below = positives - pos

    largest = np.zeros(pos.size)
    for k in range(pos.size):
        # positives of a bin come last: a mean starts below it or after its negatives
        starts = [cases_below[k]]
        if is_bin[k] and pos[k] and neg[k]:
            starts.append(cases_below[k] + neg[k])

        for start in starts:
            # the mean up to each end, then the smallest of the means from there on
            means = (positives[k:] - positives_below[k]) / (cases[k:] - start)
            smallest_mean = np.minimum.accumulate(means[::-1])[::-1]
            np.maximum(largest[k:], smallest_mean, out=largest[k:])

    return largest
