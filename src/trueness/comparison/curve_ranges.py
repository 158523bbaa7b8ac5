"""Where is one ROC curve of a sample above another? Exact.

Curves are straight between their corners, so that they cross at corners or within one
straight piece. ``ranges_by_fpr`` compares true positive rates at a false positive rate,
``ranges_by_recall`` the precision at a recall.
"""

from __future__ import annotations

import numpy as np

from trueness._core.arrays import Floats
from trueness.counts.values import Tally
from trueness.ranking.bands import running_proportions
from trueness.ranking.geometry import chord

Ranges = tuple[tuple[float, float], ...]  # from low to high
RocCorners = tuple[Floats, Floats]  # rising false and true positive rates

# curves are sums of proportions: smaller differences are rounding
ROUNDING = 1e-12


def roc_corners(tally: Tally) -> RocCorners:
    """Return the ROC curve from (0, 0), with one corner for each row."""
    return running_proportions(tally.neg), running_proportions(tally.pos)


def ranges_by_fpr(first: Tally, second: Tally) -> tuple[Ranges, Ranges]:
    """Return the false positive rates where the first curve is higher, and lower."""
    return _ranges(roc_corners(first), roc_corners(second))


def ranges_by_recall(first: Tally, second: Tally) -> tuple[Ranges, Ranges]:
    """Return the recalls where the first has the higher, and the lower, precision.

    Precision is higher where the false positive rate at a recall is lower.
    """
    better, worse = _ranges(_specificity_curve(first), _specificity_curve(second))
    return _recall_ranges(better), _recall_ranges(worse)


def _specificity_curve(tally: Tally) -> RocCorners:
    """Return the specificity over the miss rate, rising."""
    fpr, recall = roc_corners(tally)
    # read from the last corner back, both coordinates rise again
    return 1 - recall[::-1], 1 - fpr[::-1]


def _recall_ranges(miss_rates: Ranges) -> Ranges:
    """Return the ranges of recall of ranges of miss rates."""
    return tuple((1 - high, 1 - low) for low, high in reversed(miss_rates))


def _ranges(first: RocCorners, second: RocCorners) -> tuple[Ranges, Ranges]:
    """Return where the first of two rising curves is higher, and lower; exact."""
    # a stable sort is fast on two parts that are in order
    knots = np.sort(np.concatenate([first[0], second[0]]), kind="stable")
    # knots that differ by rounding are merged
    knots = knots[np.concatenate([[True], np.diff(knots) > ROUNDING])]

    # between knots both curves are straight, so their two ends decide
    starts = knots[:-1]
    stops = knots[1:]
    after_start = _limit(first, starts, "right") - _limit(second, starts, "right")
    before_end = _limit(first, stops, "left") - _limit(second, stops, "left")
    return (
        _positive_ranges(knots, after_start, before_end),
        _positive_ranges(knots, -after_start, -before_end),
    )


def _limit(curve: RocCorners, positions: Floats, side: str) -> Floats:
    """Return the limits of a curve at positions, from the left or from the right."""
    x, y = curve
    if side == "right":
        # on a vertical step, the upper corner is the one that the curve leaves from
        left_knot = np.searchsorted(x, positions + ROUNDING, side="right") - 1
        right_knot = np.minimum(left_knot + 1, x.size - 1)
    else:
        # and the lower corner is the one that it arrives at
        right_knot = np.searchsorted(x, positions - ROUNDING, side="left")
        left_knot = np.maximum(right_knot - 1, 0)

    return np.asarray(chord(x, y, left_knot, right_knot, positions))


def _positive_ranges(knots: Floats, after_start: Floats, before_end: Floats) -> Ranges:
    """Return where a difference that is straight between knots is above zero."""
    is_positive = np.maximum(after_start, before_end) > ROUNDING
    if not is_positive.any():
        return ()

    low = knots[:-1][is_positive]
    high = knots[1:][is_positive]
    at_low = after_start[is_positive]
    at_high = before_end[is_positive]

    # where the sign changes within a piece, its range ends at the crossing
    # 1 where nothing falls: such a piece has no crossing, and is not divided by 0
    fall = np.where(at_low == at_high, 1.0, at_low - at_high)
    crossing = low + (high - low) * at_low / fall
    low = np.where(at_low < -ROUNDING, crossing, low)
    high = np.where(at_high < -ROUNDING, crossing, high)

    # merge neighbouring pieces
    last_of_range = np.flatnonzero(low[1:] > high[:-1] + ROUNDING)
    range_starts = low[np.append(0, last_of_range + 1)]
    range_ends = high[np.append(last_of_range, low.size - 1)]
    return tuple(zip(range_starts.tolist(), range_ends.tolist(), strict=True))
