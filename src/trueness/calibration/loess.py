"""Local quadratic regression of the labels on the score, as R's ``loess`` does it.

Degree 2, tricube weights, ``surface="direct"``, no robust steps.
"""

from __future__ import annotations

import numpy as np

from trueness._core.arrays import Array, Floats, blocks

# the most points at which the curve is fitted; between them it is straight
MAX_POINTS = 400
# entries of a table of distances: 8 MiB
_MAX_ENTRIES = 1 << 20


def loess_curve(score: Floats, pos: Array, cases: Floats, span: float) -> Floats:
    """Return the smooth proportion of positives at each score."""
    points = score
    if score.size > MAX_POINTS:
        evenly_spaced = np.linspace(0, score.size - 1, MAX_POINTS).astype(int)
        points = score[np.unique(evenly_spaced)]

    proportion = pos / cases
    # a block of points at a time, since each point needs its distance to every score
    step = max(1, _MAX_ENTRIES // max(score.size, 1))
    fitted = [
        _local_weights(score, cases, points[block], span) @ proportion
        for block in blocks(points.size, step)
    ]
    return np.interp(score, points, np.concatenate(fitted))


def _local_weights(
    score: Floats, weight: Floats, points: Floats, span: float
) -> Floats:
    """Return the weight of each score in the fitted value at each point (points, m)."""
    offset = score - points[:, None]
    width = _local_width(np.abs(offset), weight, span)
    # distances in units of the width; those beyond it are set to 1, with weight 0
    relative_offset = np.where(np.abs(offset) < width, offset, width) / width
    tricube = weight * np.clip(1 - np.abs(relative_offset) ** 3, 0, None) ** 3

    # the fitted value is the constant of a parabola around the point, by least squares
    powers = np.stack(
        [
            np.ones_like(relative_offset),
            relative_offset,
            relative_offset * relative_offset,
        ],
        axis=2,
    )
    weighted_powers = (tricube[:, :, None] * powers).transpose(0, 2, 1)
    # fewer than three scores do not determine a parabola: the smallest coefficients
    inverse = np.linalg.pinv(weighted_powers @ powers, rcond=1e-9, hermitian=True)
    return np.asarray((inverse[:, :1] @ weighted_powers)[:, 0])


def _local_width(distance: Floats, weight: Floats, span: float) -> Floats:
    """Return the distance from each point that contains the span (points, 1)."""
    # a tolerance, so that rounding does not remove a case from the span
    cases_in_span = max(1.0, np.floor(span * weight.sum() + 1e-5))
    order = np.argsort(distance, axis=1)
    cases_within = np.cumsum(weight[order], axis=1)
    # and another one, so that rounding of the sums does not add a score
    reaches_span = cases_within >= cases_in_span - 1e-9
    farthest = np.argmax(reaches_span, axis=1)
    points = np.arange(distance.shape[0])
    width = distance[points, order[points, farthest]]

    # where the span lies at the point itself, the width is that to the next score
    nearest_other = np.where(distance == 0, np.inf, distance).min(1)
    width = np.where(width > 0, width, nearest_other)
    # without another score any width will do
    has_width = np.isfinite(width) & (width > 0)
    return np.where(has_width, width, 1.0)[:, None]
