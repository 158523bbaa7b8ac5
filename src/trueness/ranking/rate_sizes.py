"""How many cases are needed to know a rate at a cut well enough?

Width and power of Wilson's interval are sums over the binomial law; in a cohort the
number of cases that the rate is a share of is random too.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import final

import numpy as np

from trueness._core.binomial import binomial_pmf, bulk, wilson
from trueness._core.checks import options as _options
from trueness._core.checks.errors import InputError
from trueness._core.records import Record
from trueness._core.search import smallest
from trueness.ranking.sample_sizes import Reach, asked_goal


@final
@dataclass(frozen=True, repr=False)
class RatePlan(Record):
    """How many cases are needed to estimate a rate at a threshold?

    Attributes
    ----------
    n : int
        Cases in all.
    counted : int
        Cases in the denominator of the rate (in a cohort: their expected number).
    half_width : float
        Half the mean width of Wilson's interval.
    power : float
        Probability that the interval excludes ``null``; NaN when no ``null`` was given.
    rate : str
        Which rate.
    value, null, prevalence, level : float
        The values that were given.
    sampling : str
        Is the denominator of the rate fixed by design, or random?
    """

    n: int
    counted: int
    half_width: float
    power: float
    rate: str
    value: float
    null: float
    prevalence: float
    level: float
    sampling: str


def plan_rate(
    rate: str,
    *,
    value: float,
    prevalence: float = 0.5,
    recall: float | None = None,
    half_width: float | None = None,
    null: float | None = None,
    power: float | None = None,
    level: float = 0.95,
    sampling: str = "cohort",
) -> RatePlan:
    """How many cases are needed to estimate recall, specificity or precision?

    Parameters
    ----------
    rate
        ``"recall"`` (sensitivity), ``"specificity"`` or ``"precision"`` (PPV).
    value
        The rate that is expected.
    prevalence
        Share of positives among the cases.
    recall
        For precision only: the recall that is expected, from which the number of
        flagged cases follows.
    half_width, null, power, level
        As in :func:`plan_auc`, of this rate.
    sampling
        ``"cohort"``: cases as they come, so that the denominator of the rate is random.
        ``"case-control"``: the denominator is fixed.

    Notes
    -----
    The interval is Wilson's, which :func:`rates` reports. Width and power are exact
    sums over the binomial distribution; they also hold for more than n cases, apart
    from the steps of that distribution. The number of flagged cases cannot be fixed by
    design, so precision is planned for a cohort.

    Examples
    --------
    >>> plan = plan_rate("recall", value=0.9, prevalence=0.1, half_width=0.05)
    >>> plan.half_width <= 0.05, plan.n > plan.counted
    (True, True)
    """
    _options.choice(rate, ("recall", "sensitivity", "specificity", "precision"), "rate")
    _options.choice(sampling, ("cohort", "case-control"), "sampling")
    expected = _options.fraction(value, "value")
    share = _options.fraction(prevalence, "prevalence")
    level = _options.fraction(level, "level")
    part = _part(rate, expected, share, recall)
    goal, base = asked_goal("plan_rate", expected, half_width, null, power, level)
    random = sampling == "cohort" or rate == "precision"

    def enough(n: int) -> bool:
        reach = _rate_reach(n, part, expected, base, level, random)
        return reach.half_width <= goal if null is None else reach.power >= goal

    n = smallest(enough, start=4, what="plan_rate")
    if null is not None:  # the power climbs in steps: it must hold from here on
        while not all(enough(k) for k in range(n, n + 4)):
            n += 1
    reach = _rate_reach(n, part, expected, base, level, random)
    counted = max(1, round(n * part))
    asked = (rate, expected, base, share, level, "cohort" if random else sampling)
    return RatePlan(n, counted, reach.half_width, reach.power, *asked)


def _part(rate: str, value: float, share: float, recall: object) -> float:
    """Which part of all cases is the rate a share of?"""
    if rate == "precision":
        if recall is None:
            raise InputError(
                "plan_rate of precision needs the recall that is expected, which says "
                "how many cases will be flagged. Type recall=0.8."
            )
        flagged = share * _options.fraction(recall, "recall") / value
        if flagged >= 1:
            raise InputError(
                f"A precision of {value:g} at this recall and prevalence would flag "
                f"more cases than there are. Is one of them too high?"
            )
        return flagged
    return 1 - share if rate == "specificity" else share


def _rate_reach(
    n: int, part: float, value: float, null: float, level: float, random: bool
) -> Reach:
    """Sum over all counts: mean half width, and the chance to exclude the null."""
    sizes, weight = np.array([max(1, round(n * part))]), np.ones(1)
    if random:
        spread = 9 * math.sqrt(n * part * (1 - part)) + 9
        first, last = max(0, int(n * part - spread)), min(n, int(n * part + spread) + 1)
        # many sizes differ little: forty of them carry the mean
        sizes = np.unique(np.linspace(first, last, min(last - first + 1, 41)).round())
        weight = binomial_pmf(sizes, n, part)
        weight = weight / weight.sum()
    # over all counts that matter: the width, and whether the null lies outside
    half = power = 0.0
    for size, w in zip(sizes, weight, strict=True):
        low, high = bulk(int(size), np.array([value]))
        y = np.arange(int(low[0]), int(high[0]) + 1)
        p = binomial_pmf(y, size, value)
        low, high = wilson(y, size, level)
        half += float(w * (p @ (high - low)) / 2)
        power += float(w * p[(null < low) | (null > high)].sum())
    return Reach(math.nan if math.isnan(null) else power, half)
