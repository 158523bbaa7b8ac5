r"""Between which isotonic curves does the exact reliability diagram lie?

The value of an isotonic curve at a score is the largest, over all starts at or below,
of the smallest mean of labels, over all ends at or above. It is largest when below and
in the bin the positives come last, and above it first: then only ends of bins matter.
The smallest value is the largest of the mirrored cases.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from trueness._core.arrays import Floats
from trueness.counts.values import Tally

_MOST_BINS = 4096  # more are joined


class IsotonicBounds(NamedTuple):
    """The bins in ascending order, and the range of the curve in each."""

    score: Floats
    score_high: Floats
    low: Floats
    high: Floats


def isotonic_bounds(t: Tally) -> IsotonicBounds:
    """Return the smallest and the largest value of the isotonic curve in each bin."""
    t = t.bin(_MOST_BINS)
    is_bin = (t.high > t.score)[::-1].tolist()
    pos = t.pos[::-1].tolist()
    neg = t.neg[::-1].tolist()
    high = _largest_values(pos, neg, is_bin)
    # the classes change places, and the order of the scores turns round
    mirrored = _largest_values(neg[::-1], pos[::-1], is_bin[::-1])
    return IsotonicBounds(
        score=t.score[::-1],
        score_high=t.high[::-1],
        low=1 - mirrored[::-1],
        high=high,
    )


class _Point(NamedTuple):
    """How many cases, and how many positives, there are so far."""

    cases: int
    positives: int


def _largest_values(
    pos: Sequence[int], neg: Sequence[int], is_bin: Sequence[bool]
) -> Floats:
    """Return the largest isotonic value in each bin, in ascending order of score.

    It is the slope of the line that the hulls before and behind it have in common.
    """
    nodes = [_Point(0, 0)]
    for p, n in zip(pos, neg, strict=True):
        before = nodes[-1]
        nodes.append(_Point(before.cases + p + n, before.positives + p))

    # the starts that each bin can choose from: all before, and its own corner
    starts: list[_Point] = []
    last_start = []
    for k, (p, n) in enumerate(zip(pos, neg, strict=True)):
        node = nodes[k]
        starts.append(node)
        if is_bin[k] and p and n:
            starts.append(_Point(node.cases + n, node.positives))
        last_start.append(len(starts) - 1)

    previous_start = _previous_corners(starts)
    next_node = _next_corners(nodes)
    slopes = [
        _slope_of_bridge(starts, previous_start, start, nodes, next_node, k + 1)
        for k, start in enumerate(last_start)
    ]
    return np.array(slopes)


def _turn(a: _Point, b: _Point, c: _Point) -> int:
    """Return a positive number where a, b, c turn left; in whole numbers."""
    return (b.cases - a.cases) * (c.positives - a.positives) - (
        b.positives - a.positives
    ) * (c.cases - a.cases)


def _previous_corners(points: list[_Point]) -> list[int]:
    """Return the corner before each point on the lower hull that ends there, or -1."""
    previous = [-1]
    for k in range(1, len(points)):
        corner = k - 1
        # a corner above the line from the one before it to the new point is none
        while (
            previous[corner] >= 0
            and _turn(points[previous[corner]], points[corner], points[k]) <= 0
        ):
            corner = previous[corner]
        previous.append(corner)
    return previous


def _next_corners(points: list[_Point]) -> list[int]:
    """Return the corner behind each point on the lower hull that starts there, or -1.

    It is the one before the point on the mirrored hull.
    """
    all_cases = points[-1].cases
    mirrored = [_Point(all_cases - p.cases, p.positives) for p in reversed(points)]
    last = len(points) - 1
    return [
        -1 if corner < 0 else last - corner
        for corner in reversed(_previous_corners(mirrored))
    ]


def _slope_of_bridge(
    starts: list[_Point],
    previous_start: list[int],
    start: int,
    nodes: list[_Point],
    next_node: list[int],
    end: int,
) -> float:
    """Return the slope of the line below both hulls, from hull to hull."""
    moved = True
    while moved:
        moved = False
        while (
            next_node[end] >= 0
            and _turn(starts[start], nodes[end], nodes[next_node[end]]) <= 0
        ):
            end = next_node[end]
            moved = True
        while (
            previous_start[start] >= 0
            and _turn(starts[previous_start[start]], starts[start], nodes[end]) <= 0
        ):
            start = previous_start[start]
            moved = True

    # no corner of either hull lies below this line any more
    rise = nodes[end].positives - starts[start].positives
    run = nodes[end].cases - starts[start].cases
    return rise / run
