r"""Which values of a parameter do the votes allow, without a prior?

All those at which the votes are not much less likely than at the maximum, when every
other parameter may adapt,

.. math:: \bigl\{t :\ 2\,\bigl[\max_\theta \ell(\theta)
   - \max_{\theta_i = t} \ell(\theta)\bigr] \le \chi^2_{1,\, \mathrm{level}}\bigr\}

(Venzon, Moolgavkar 1988, Appl. Stat. 37:87, doi:10.2307/2347496). Unlike an interval of
standard errors it exists everywhere: at a most likely value of 0 or 1 it has one free
end, and where the data cannot determine a parameter it holds all values that explain
them equally well.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.optimize import minimize
from scipy.special import chdtri, expit

from trueness._core.arrays import Array, Floats
from trueness.nogold.model import Independent

LIMIT = 25.0  # logit of a probability that is 0 or 1 for any number of cases
STEPS = 60  # narrowings of an interval of logits, at most
CLOSE = 1e-3  # logits between the ends of the last one
ENOUGH = 1e-13  # change of the log likelihood, per case, at which a climb ends
# what it costs to interchange the classes, in cases per unit of accuracy squared: so
# much that a search which leaves the side of the maximum turns back
FORBIDDEN = 100.0


def gradient(model: Independent, theta: Floats) -> Floats:
    """Differentiate the log likelihood: expected counts minus fitted ones."""
    hidden = model.patterns.unknown * model.latent_share(theta)
    yes, no = (np.hstack(part) for part in model.patterns.completed(hidden))
    return np.asarray(yes - expit(theta) * (yes + no))


def climb(
    model: Independent,
    theta: Floats,
    free: Array | None = None,
    tolerance: float = 1e-16,
) -> Floats:
    """Search the maximum from here by a quasi-Newton method, with the exact slope.

    What is not ``free`` stays where it is. Without labels a model and its mirror image,
    with the classes interchanged, are equally likely; a penalty keeps the search on the
    side where the classifiers, taken together, are no worse than chance.
    """
    n = model.patterns.total.sum()
    free = np.ones(theta.size, bool) if free is None else free
    mirrored = not (model.patterns.pos.any() or model.patterns.neg.any())

    def down(part: Floats) -> tuple[float, Floats]:
        at = np.where(free, 0.0, theta)
        at[free] = part
        value, slope = model.log_likelihood(at[None])[0], gradient(model, at[None])[0]
        if mirrored:
            cost, turn = _worse_than_chance(model, at)
            value, slope = value - n * cost, slope - n * turn
        return -float(value) / n, -slope[free] / n

    found: Any = minimize(
        down,
        theta[free],
        jac=True,
        method="L-BFGS-B",
        bounds=[(-LIMIT, LIMIT)] * int(free.sum()),
        options={"maxiter": 5000, "maxfun": 20_000, "ftol": tolerance, "gtol": 1e-11},
    )
    out = theta.copy()
    out[free] = found.x
    return out


def _worse_than_chance(model: Independent, theta: Floats) -> tuple[float, Floats]:
    """Give the penalty on a negative sum of Youden's indices, and its slope."""
    phi, alpha, beta = (expit(part[0]) for part in model.split(theta[None]))
    short = min(float((alpha - beta).sum()), 0.0)
    slope = [np.zeros(phi.size), alpha * (1 - alpha), -beta * (1 - beta)]
    return FORBIDDEN * short**2, 2 * FORBIDDEN * short * np.concatenate(slope)


def intervals(
    model: Independent, theta: Floats, error: Floats, level: float
) -> tuple[Floats, Floats]:
    """Give the ends of the interval of every coordinate, as logits.

    ``error`` is where to look first: standard errors, NaN where there are none.
    """
    drop = float(chdtri(1, 1 - level))
    step = np.clip(np.nan_to_num(error, nan=1.0) * np.sqrt(drop), 0.01, 4.0)
    ends = [
        [_end(model, theta, i, side * step[i], drop) for i in range(theta.size)]
        for side in (-1, 1)
    ]
    return np.array(ends[0]), np.array(ends[1])


def _end(model: Independent, theta: Floats, i: int, step: float, drop: float) -> float:
    """How far may one coordinate go before the deviance rises by ``drop``?"""
    top = float(model.log_likelihood(theta[None])[0])

    def held(at: float, *starts: Floats) -> tuple[Floats, float]:
        """Climb with the coordinate held; give the root of what the deviance rose."""
        points = [np.where(np.arange(theta.size) == i, at, start) for start in starts]
        points = [climb(model, p, np.arange(theta.size) != i, ENOUGH) for p in points]
        height = model.log_likelihood(np.array(points))
        best = int(height.argmax())
        return points[best], float(np.sqrt(max(2 * (top - height[best]), 0.0)))

    goal = float(np.sqrt(drop))
    inside, rise, before = theta, 0.0, float(theta[i])
    while True:  # outwards in growing steps, until the end has been passed
        at = float(np.clip(before + step, -LIMIT, LIMIT))
        outside, above = held(at, inside)
        if above > goal:
            break
        if abs(at) == LIMIT:
            return float(np.sign(step) * np.inf)
        inside, rise, before, step = outside, above, at, 2 * step
    for _ in range(STEPS):
        if abs(at - before) < CLOSE:
            break
        # the root of the deviance is nearly a straight line, but not at 0 and 1
        share = np.clip((goal - rise) / (above - rise), 0.1, 0.9)
        middle = before + float(share) * (at - before)
        point, found = held(middle, inside)
        if found > goal:  # a climb from the other end may find a higher place
            point, found = held(middle, point, outside)
        if found > goal:
            outside, above, at = point, found, middle
        else:
            inside, rise, before = point, found, middle
    return (before + at) / 2
