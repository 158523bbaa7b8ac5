r"""Bias and error of estimators of the larger class probability, and of both levels.

A leaf of n cases whose larger class has the probability p shows a majority of
:math:`\max(Y, n - Y)` cases, with the entropic binomial distribution. An estimator is a
function of that majority, so that its mean over all samples is a finite sum: bias and
mean squared error are exact. Zhang (2024), doi:10.3390/stats7040071, section 2.5,
simulates them (Tables 9 and 16 to 19).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, final

import numpy as np

from trueness._core.arrays import Floats, Ints
from trueness._core.checks import options as _options
from trueness._core.checks.errors import NotEnoughCases
from trueness._core.records import Record
from trueness.trees.levels import (
    TOP_METHODS,
    confidence_level,
    entropic_binomial,
    utility_level,
)


def _probability(n: int, p: Any) -> Any:
    return p


# what is estimated: the probability itself, or a level at it
QUANTITIES: dict[str, Callable[[int, Any], Any]] = {
    "probability": _probability,
    "confidence": confidence_level,
    "utility": utility_level,
}


@final
@dataclass(frozen=True, repr=False)
class EstimatorError(Record):
    """Exact bias and error of an estimator, over all samples of one leaf.

    Attributes
    ----------
    bias, mean_squared_error, standard_deviation : float
        Mean of the estimate minus the truth; mean squared difference; and standard
        deviation over samples.
    mean, truth : float
        Mean of the estimate, and the true value.
    quantity, method, n, p
        The estimated quantity, the method, the number of cases, and the true larger
        probability.
    """

    bias: float
    mean_squared_error: float
    standard_deviation: float
    mean: float
    truth: float
    quantity: str
    method: str
    n: int
    p: float


def estimator_error(
    n: int, p: float, *, method: str = "blend", quantity: str = "probability"
) -> EstimatorError:
    r"""Bias and mean squared error of an estimate from one leaf, exactly.

    How far is the estimate off, on average over all samples?

    .. math:: \mathrm{bias} = \sum_y P(Y_\vee = y)\, f(\hat p(y)) - f(p)

    with the entropic binomial distribution of the majority (Zhang 2024, eq. 2), and f
    the identity, P(C) or P(U).

    Parameters
    ----------
    n
        Cases in the leaf, at least 2.
    p
        True probability of one class; the larger of ``p`` and ``1 - p`` is used.
    method
        "mle", "emle" or "blend", as in :func:`trueness.top_probability`.
    quantity
        "probability" (Tables 16 and 17), "confidence" (18) or "utility" (19).

    Notes
    -----
    Differs from Tables 9, 18 and 19, which leave out the half of a tie.

    Examples
    --------
    Two cases: a majority of 2 with probability 1/2 at p = 1/2, so that the proportion
    has the mean 3/4.

    >>> round(estimator_error(2, 0.5, method="mle").bias, 12)
    0.25
    """
    n = _options.whole_number(n, "n")
    p = _options.fraction(p, "p", ends="[]")
    _options.choice(method, TOP_METHODS, "method")
    _options.choice(quantity, QUANTITIES, "quantity")

    if n < 2:
        raise NotEnoughCases(
            f"Bias and error need a leaf with at least two cases; found {n}. A single "
            "case is always its own majority.",
            option="n",
            example=2,
        )

    law = entropic_binomial(n, p)
    # every size that a majority of n can have
    majority: Ints = np.arange((n + 1) // 2, n + 1)
    mass: Floats = law.pmf(majority)

    probability = TOP_METHODS[method](majority, np.full_like(majority, n))
    estimate = QUANTITIES[quantity](n, probability)

    truth = float(QUANTITIES[quantity](n, law.p))
    # expectations over the sizes of the majority
    mean = float(mass @ estimate)
    variance = float(mass @ (estimate - mean) ** 2)
    bias = mean - truth

    return EstimatorError(
        bias=bias,
        mean_squared_error=variance + bias**2,
        standard_deviation=math.sqrt(variance),
        mean=mean,
        truth=truth,
        quantity=quantity,
        method=method,
        n=n,
        p=law.p,
    )
