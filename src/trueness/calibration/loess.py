"""Local quadratic regression of the labels on the score, as R's ``loess`` does it.

Degree 2, tricube weights, ``surface="direct"``, no robust steps.
"""

from __future__ import annotations

import numpy as np

from trueness._core.arrays import Array, Floats

# the curve is fitted at so many points, and straight between them
MAX_POINTS = 400
# entries of a table of distances: 8 MiB
_MAX_ENTRIES = 1 << 20


def loess_curve(score: Floats, pos: Array, cases: Floats, span: float) -> Floats:
    """Return the smooth proportion of positives at each score."""
    points = score
    if score.size > MAX_POINTS:
        evenly = np.linspace(0, score.size - 1, MAX_POINTS).astype(int)
        points = score[np.unique(evenly)]

    proportion = pos / cases
    # a block of points at a time: the table of distances has a column for each score
    step = max(1, _MAX_ENTRIES // max(score.size, 1))
    blocks = [
        _local_weights(score, cases, points[k : k + step], span) @ proportion
        for k in range(0, points.size, step)
    ]
    return np.interp(score, points, np.concatenate(blocks))


def _local_weights(x: Floats, weight: Floats, points: Floats, span: float) -> Floats:
    """Return what each x weighs in the local regression at each point."""
    offset = x - points[:, None]
    width = _local_width(np.abs(offset), weight, span)
    # distances in widths; what lies beyond the width is put on its edge, and weighs 0
    u = np.where(np.abs(offset) < width, offset, width) / width
    tricube = weight * np.clip(1 - np.abs(u) ** 3, 0, None) ** 3

    # a parabola by weighted least squares: its value at the point is its constant
    powers = np.stack([np.ones_like(u), u, u * u], axis=2)
    weighted_powers = (tricube[:, :, None] * powers).transpose(0, 2, 1)
    # fewer than three scores within reach leave the curve open: the flattest one
    inverse = np.linalg.pinv(weighted_powers @ powers, rcond=1e-9, hermitian=True)
    return np.asarray((inverse[:, :1] @ weighted_powers)[:, 0])


def _local_width(distance: Floats, weight: Floats, span: float) -> Floats:
    """Return the distance within which the span of cases lies: (points, 1)."""
    # rounding must not take a case from a span of whole cases
    wanted_cases = max(1.0, np.floor(span * weight.sum() + 1e-5))
    order = np.argsort(distance, axis=1)
    cases_within = np.cumsum(weight[order], axis=1)
    # nor ask for one score more, where a running sum of weights was rounded down
    reaches_span = cases_within >= wanted_cases - 1e-9
    farthest = np.argmax(reaches_span, axis=1)
    points = np.arange(distance.shape[0])
    width = distance[points, order[points, farthest]]

    # a width of nothing: all that count are at the point itself
    nearest_other = np.where(distance == 0, np.inf, distance).min(1)
    width = np.where(width > 0, width, nearest_other)
    # and where there is no other score any width does
    has_width = np.isfinite(width) & (width > 0)
    return np.where(has_width, width, 1.0)[:, None]
