"""How likely is one Beta variable the larger of two, and how is such a pair drawn?

``order_mass`` integrates. ``ordered_betas`` throws away pairs in the wrong order, as
long as that ends soon. When nearly all pairs are in the wrong order, the first is drawn
by itself, from

    x^(a-1) (1-x)^(b-1) P(Y <= x)

on a grid of its logit, and then the second below it, by the inverse of its distribution
function. (Votes that always disagree are such a case: the order constraint is then
nearly a contradiction.)
"""

from __future__ import annotations

import numpy as np
from scipy.special import betainc, betaincinv, betaln, expit

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


def order_mass(a: Array, b: Array, c: Array, d: Array) -> Floats:
    """How likely is Beta(a, b) at least as large as Beta(c, d), independently?

    The trapezoid rule on the logit scale, which converges exponentially there.

    >>> float(order_mass(*map(np.array, ([1.0], [1.0], [1.0], [1.0])))[0])
    0.5
    """
    a, b, c, d = np.broadcast_arrays(*(np.asarray(x, np.float64) for x in (a, b, c, d)))
    # integrate over the narrower of both: the step must resolve it
    a, b, c, d = (x[..., None] for x in _narrower_first(a, b, c, d)[1])
    below, above = log_sigmoids(_logits(a, b))
    density = np.exp(a * below + b * above - betaln(a, b))
    # most of the range is for tails of priors; elsewhere there is nothing to integrate
    here = density > 1e-18 * density.max(axis=-1, keepdims=True)
    c, d = (np.broadcast_to(x, here.shape)[here] for x in (c, d))
    part = np.zeros(here.shape)
    part[here] = density[here] * betainc(c, d, np.exp(below[here]))
    # the same rule applied to 1 takes out what rounding adds
    return np.asarray(part.sum(axis=-1) / density.sum(axis=-1))


def _narrower_first(
    a: Floats, b: Floats, c: Floats, d: Floats
) -> tuple[Array, list[Floats]]:
    """Put the narrower of both first, and say where: X >= Y is 1 - Y >= 1 - X."""
    turn = 1 / c + 1 / d < 1 / a + 1 / b
    mirror = ((a, d), (b, c), (c, b), (d, a))
    return turn, [np.where(turn, v, u) for u, v in mirror]


def _logits(a: Floats, b: Floats) -> Floats:
    """Give logits around Beta(a, b), 40 standard deviations each way."""
    step = 0.4 * np.sqrt(1 / a + 1 / b)
    return np.asarray(np.log(a / b) + step * np.arange(-COARSE, COARSE + 1))


def log_sigmoids(x: Array) -> tuple[Floats, Floats]:
    """Give the logs of p = 1 / (1 + exp(-x)) and of 1 - p, without loss."""
    less = np.log1p(np.exp(-np.abs(x)))
    return np.minimum(x, 0) - less, -np.maximum(x, 0) - less


def _by_grid(
    a: Floats, b: Floats, c: Floats, d: Floats, *, rng: Rng
) -> tuple[Floats, Floats]:
    """Draw from the grid, once for all draws with the same parameters."""
    turn, kinds = _narrower_first(a, b, c, d)
    distinct, at = np.unique(np.column_stack(kinds), axis=0, return_inverse=True)
    x, y = np.empty((2, a.size))
    for i, kind in enumerate(distinct):
        here = np.flatnonzero(at.ravel() == i)
        x[here], y[here] = _below(*kind, n=here.size, rng=rng)
    return np.where(turn, 1 - y, x), np.where(turn, 1 - x, y)


def _below(
    a: Floats, b: Floats, c: Floats, d: Floats, *, n: int, rng: Rng
) -> tuple[Floats, Floats]:
    logit = _logits(a, b)
    height = _height(logit, a, b, c, d)
    good = np.flatnonzero(height > height.max() - 40)
    step = logit[1] - logit[0]
    grid = np.linspace(logit[good[0]] - step, logit[good[-1]] + step, FINE)
    height = _height(grid, a, b, c, d)
    density = np.exp(height - height.max())
    mass = np.r_[0, np.cumsum(density[1:] + density[:-1])]
    # within a step the density is taken as flat: steps are a hundredth of its width
    x = expit(np.interp(rng.random(n), mass / mass[-1], grid))
    return x, np.minimum(betaincinv(c, d, rng.random(n) * betainc(c, d, x)), x)


def _height(logit: Floats, a: Floats, b: Floats, c: Floats, d: Floats) -> Floats:
    """Give the log density of the first, in its logit."""
    below, above = log_sigmoids(logit)
    with np.errstate(divide="ignore"):
        return np.asarray(a * below + b * above + np.log(betainc(c, d, np.exp(below))))
