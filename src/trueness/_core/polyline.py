"""Which few points draw the same line?"""

from __future__ import annotations

import heapq
from typing import Any

import numpy as np

from trueness._core.arrays import Array, Floats

# above this many points a first thinning, with a known error, saves the long search
_MANY = 50_000
_THIN = 1e-4


def few_points(x: Floats, y: Floats, most: int, allowed: float) -> Array:
    """Which points keep a line within ``allowed`` of itself, ``most`` of them?

    Points are added where the line is farthest from its simplification, until both
    wishes are met.

    References
    ----------
    Douglas, Peucker (1973), Cartographica 10:112, doi:10.3138/FM57-6770-U75U-7727

    Examples
    --------
    >>> few_points(np.arange(4.0), np.array([0.0, 1.0, 2.0, 0.0]), 100, 0.01)
    array([0, 2, 3])
    """
    return _farthest_first(x, y, _thinned(x, y, allowed), most, allowed)


def _thinned(x: Floats, y: Floats, allowed: float) -> Array:
    """Give the points to choose from: all, or one for each short stretch."""
    step = min(_THIN, allowed / 4) if allowed else _THIN
    if x.size <= _MANY:
        return np.arange(x.size)
    length = np.abs(np.diff(x)) + np.abs(np.diff(y))
    stretch = np.floor(np.cumsum(length) / step)
    new = np.flatnonzero(np.diff(stretch, prepend=-1.0) > 0)
    return np.unique(np.concatenate([[0], new, new + 1, [x.size - 1]]))


def _farthest_first(
    x: Floats, y: Floats, among: Array, most: int, allowed: float
) -> Array:
    """Split the stretch with the largest error until few or good enough."""
    px, py = x[among], y[among]
    kept, last = {0, among.size - 1}, among.size - 1
    heap = [_worst(px, py, 0, last)] if last > 0 else []
    # a thinned curve is good enough a little earlier: the rest is measured at the end
    goal = allowed if among.size == x.size else allowed / 2
    while heap and len(kept) < most and -heap[0][0] > goal:
        _, first, middle, end = heapq.heappop(heap)
        kept.add(middle)
        for part in ((first, middle), (middle, end)):
            if part[1] - part[0] > 1:
                heapq.heappush(heap, _worst(px, py, *part))
    chosen: Array = among[np.array(sorted(kept))]
    return chosen


def _worst(x: Floats, y: Floats, first: int, last: int) -> tuple[float, int, int, int]:
    """Give (minus) the largest distance from a chord, and where it is."""
    inside = slice(first, last + 1)
    away = _distance(x[inside], y[inside], (x[first], y[first]), (x[last], y[last]))
    at = int(np.argmax(away))
    # squares of distances near 1e-16 are rounding, not shape
    size = float(away[at]) if away[at] > 1e-15 else 0.0
    return -size, first, first + at, last


def _distance(x: Floats, y: Floats, start: Any, end: Any) -> Floats:
    """How far are points from the straight line between two ends?"""
    dx, dy = end[0] - start[0], end[1] - start[1]
    square = dx * dx + dy * dy
    ax, ay = x - start[0], y - start[1]
    with np.errstate(invalid="ignore", divide="ignore"):
        along = np.clip((ax * dx + ay * dy) / square, 0.0, 1.0)
    along = np.where(square > 0, along, 0.0)
    return np.asarray(np.hypot(ax - along * dx, ay - along * dy))


def largest_distance(x: Floats, y: Floats, kept: Array) -> float:
    """How far is any point from the chord that replaced it?"""
    chord = np.repeat(np.arange(kept.size - 1), np.diff(kept))
    at = np.arange(chord.size)
    start, end = kept[chord], kept[chord + 1]
    away = _distance(x[at], y[at], (x[start], y[start]), (x[end], y[end]))
    largest = float(away.max(initial=0.0))
    return largest if largest > 1e-15 else 0.0
