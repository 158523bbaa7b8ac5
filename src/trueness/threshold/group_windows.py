"""Which cuts of a group have metrics between two values?

Constraints that compare groups leave each group a *window*: the cuts at which every
compared metric lies between a smallest and a largest value.
"""

from __future__ import annotations

import numpy as np

from trueness._core.arrays import Floats, Ints
from trueness.threshold.maximum_tree import MaximumTree

# windows are wider by some units in the last place: different quotients of counts up to
# 10^6 are further apart, and what is found is checked in fractions
WINDOW_TOLERANCE = 1e-15


class GroupCuts:
    """The allowed cuts of one group, with their counts and the compared metrics.

    Along a metric that only rises, or only falls, from cut to cut a window is a range
    of cuts. By any other metric the cuts are sorted, and a window is a range of that
    order.
    """

    def __init__(self, tp: Ints, fp: Ints, compared: list[Floats]) -> None:
        self.tp = tp
        self.fp = fp
        self.points = np.stack([tp, fp]).astype(np.float64)
        self.size = tp.size
        self.compared = compared

        self._directions = [_direction(values) for values in compared]
        self._sorted_values: list[Floats] = []
        # the orders of the metrics that neither only rise nor only fall
        self.orders: list[Ints] = []
        for values, direction in zip(compared, self._directions, strict=True):
            if direction:
                self._sorted_values.append(values[::direction])
            else:
                order = np.argsort(values, kind="stable")
                self._sorted_values.append(values[order])
                self.orders.append(order)

    def trees(self, values: Floats) -> list[MaximumTree]:
        """Return trees of values of the cuts, one for each order of the cuts."""
        reordered = [MaximumTree(values[order]) for order in self.orders]
        return [MaximumTree(values), *reordered]

    def ranges(self, low: Floats, high: Floats) -> list[tuple[Ints, Ints]]:
        """Return the ranges of many windows (windows, metrics): first and stop.

        First the range of cuts by all metrics that only rise or fall, then the range
        in the order of each other metric.
        """
        first = np.zeros(len(low), np.int64)
        stop = np.full(len(low), self.size)
        other_ranges = []
        for metric, values in enumerate(self._sorted_values):
            start = np.searchsorted(values, _lowered(low[:, metric]), "left")
            end = np.searchsorted(values, _raised(high[:, metric]), "right")
            direction = self._directions[metric]
            if direction == 0:
                other_ranges.append((start, end))
                continue
            if direction < 0:
                # the values were sorted from the last cut to the first
                first_of_reversed = self.size - end
                end = self.size - start
                start = first_of_reversed
            first = np.maximum(first, start)
            stop = np.minimum(stop, end)

        return [(first, stop), *other_ranges]

    def inside(self, low: Floats, high: Floats) -> Ints:
        """Return the cuts of one window (metrics,)."""
        (first, stop), *other_ranges = self.ranges(low[None], high[None])
        # the cuts in the windows of all metrics
        cuts = np.arange(first[0], stop[0])
        for order, (start, end) in zip(self.orders, other_ranges, strict=True):
            in_range = order[start[0] : end[0]]
            cuts = np.intersect1d(cuts, in_range, assume_unique=True)
        return cuts


def _direction(values: Floats) -> int:
    """Return 1 if the values only rise, -1 if they only fall, otherwise 0."""
    if (values[1:] >= values[:-1]).all():
        return 1
    if (values[1:] <= values[:-1]).all():
        return -1
    return 0


def _lowered(values: Floats) -> Floats:
    return values - WINDOW_TOLERANCE * (1 + abs(values))


def _raised(values: Floats) -> Floats:
    return values + WINDOW_TOLERANCE * (1 + abs(values))
