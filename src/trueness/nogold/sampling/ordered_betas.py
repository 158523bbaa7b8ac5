"""How are two Beta variables drawn of which the first is the larger?

By throwing away pairs in the wrong order, as long as that ends soon. When nearly all
pairs are in the wrong order, the first is drawn by itself, from

    x^(a-1) (1-x)^(b-1) P(Y <= x)

on a grid of its logit, and then the second below it, by the inverse of its distribution
function. (Votes that always disagree are such a case: the order constraint is then
nearly a contradiction.)
"""

from __future__ import annotations

import numpy as np
from scipy.special import betainc, betaincinv, expit

from trueness._core.arrays import Array, Floats

Rng = np.random.Generator
# rounds in which pairs in the wrong order are drawn again
TRIES = 20
COARSE, FINE = 100, 400


def ordered_betas(
    a: Array, b: Array, c: Array, d: Array, *, rng: Rng | int
) -> tuple[Floats, Floats]:
    """Draw X of Beta(a, b) and Y of Beta(c, d), given that X >= Y.

    >>> x, y = ordered_betas(*np.array([[1.0], [900.0], [900.0], [1.0]]), rng=0)
    >>> bool(x[0] >= y[0])
    True
    """
    rng = np.random.default_rng(rng)
    a, b, c, d = np.broadcast_arrays(*(np.asarray(v, np.float64) for v in (a, b, c, d)))
    x, y = rng.beta(a, b), rng.beta(c, d)
    wrong = x < y
    for _ in range(TRIES):
        if not wrong.any():
            return x, y
        x[wrong], y[wrong] = rng.beta(a[wrong], b[wrong]), rng.beta(c[wrong], d[wrong])
        wrong &= x < y
    x[wrong], y[wrong] = _by_grid(*(v[wrong] for v in (a, b, c, d)), rng=rng)
    return x, y


def _by_grid(
    a: Floats, b: Floats, c: Floats, d: Floats, *, rng: Rng
) -> tuple[Floats, Floats]:
    """Draw from the grid, once for all draws with the same parameters."""
    # the narrower of both is drawn first; X >= Y is 1 - Y >= 1 - X
    turn = 1 / c + 1 / d < 1 / a + 1 / b
    kinds = np.column_stack(
        [np.where(turn, v, u) for u, v in ((a, d), (b, c), (c, b), (d, a))]
    )
    distinct, at = np.unique(kinds, axis=0, return_inverse=True)
    x, y = np.empty((2, a.size))
    for i, kind in enumerate(distinct):
        here = np.flatnonzero(at.ravel() == i)
        x[here], y[here] = _below(*kind, n=here.size, rng=rng)
    return np.where(turn, 1 - y, x), np.where(turn, 1 - x, y)


def _below(
    a: float, b: float, c: float, d: float, *, n: int, rng: Rng
) -> tuple[Floats, Floats]:
    step = 0.4 * np.sqrt(1 / a + 1 / b)
    logit = np.log(a / b) + step * np.arange(-COARSE, COARSE + 1)
    height = _height(logit, a, b, c, d)
    good = np.flatnonzero(height > height.max() - 40)
    grid = np.linspace(logit[good[0]] - step, logit[good[-1]] + step, FINE)
    height = _height(grid, a, b, c, d)
    density = np.exp(height - height.max())
    mass = np.r_[0, np.cumsum(density[1:] + density[:-1])]
    # within a step the density is taken as flat: steps are a hundredth of its width
    x = expit(np.interp(rng.random(n), mass / mass[-1], grid))
    return x, np.minimum(betaincinv(c, d, rng.random(n) * betainc(c, d, x)), x)


def _height(logit: Floats, a: float, b: float, c: float, d: float) -> Floats:
    """Give the log density of the first, in its logit."""
    less = np.log1p(np.exp(-np.abs(logit)))
    below, above = np.minimum(logit, 0) - less, -np.maximum(logit, 0) - less
    with np.errstate(divide="ignore"):
        return np.asarray(a * below + b * above + np.log(betainc(c, d, np.exp(below))))
