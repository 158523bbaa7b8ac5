"""How many cases are needed to know an AUC well enough?"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from statistics import NormalDist
from typing import final

from trueness._core.checks import options as _options
from trueness._core.checks.errors import InputError
from trueness._core.records import Record
from trueness.fermi.distribution import fermi_dirac
from trueness.ranking.auc_intervals import exponential_spread


@final
@dataclass(frozen=True, repr=False)
class Plan(Record):
    """How many cases are needed?

    Attributes
    ----------
    n, n_pos, n_neg : int
        Cases in all, positive and negative.
    sd : float
        Standard error that the AUC will have.
    half_width : float
        Half the width that its interval will have.
    power : float
        Chance to find the difference from ``null``; NaN when none was given.
    auc, null, prevalence, level : float
        What was asked.
    method : str
        The model of the scores that gives the variance.
    """

    n: int
    n_pos: int
    n_neg: int
    sd: float
    half_width: float
    power: float
    auc: float
    null: float
    prevalence: float
    level: float
    method: str


def plan_auc(
    *,
    auc: float,
    prevalence: float = 0.5,
    half_width: float | None = None,
    null: float | None = None,
    power: float | None = None,
    level: float = 0.95,
    method: str = "binormal",
) -> Plan:
    r"""How many cases are needed to know an AUC well enough?

    .. math:: z\,\sigma(n) \le h \qquad\text{or}\qquad
              \Phi\!\left(\frac{|A - A_0|}{\sigma(n)} - z\right) \ge \text{power}

    Parameters
    ----------
    auc
        The AUC that is expected.
    prevalence
        Share of positives among the cases that will be collected.
    half_width
        Wanted half width of the interval.
    null, power
        Instead: wanted power of the two-sided test against this AUC (0.9 when only
        ``null`` is given).
    level
        Confidence level of the interval; the test has level 1 - ``level``.
    method
        Where the variance comes from, one of ``VARIANCES``: ``"binormal"`` (equal
        spread, exact integrals; default), ``"hanley-mcneil"`` (exponential scores;
        larger when positives are rare) or ``"fermi-dirac"``.

    Returns
    -------
    Plan
        The smallest n that is enough; the positives are n times the prevalence,
        rounded, at least two.

    Notes
    -----
    The variance is the exact one of an AUC of n_pos and n_neg cases, eq. 18 of Kim et
    al. (2021), under the model. The test is the one that will be made, with the error
    estimated from the data (DeLong), so the variance at ``auc`` and not at ``null``
    counts. A simulation of both promises is in the tests. The formula of Obuchowski and
    McClish that other packages use takes a variance that depends on neither sample size
    ratio nor model in this way, and is off.

    References
    ----------
    Hanley, McNeil (1982), Radiology 143:29, doi:10.1148/radiology.143.1.7063747

    Examples
    --------
    >>> plan = plan_auc(auc=0.8, prevalence=0.5, half_width=0.05)
    >>> plan.n_pos == plan.n_neg, plan.half_width <= 0.05
    (True, True)
    """
    area = _options.fraction(auc, "auc")
    share = _options.fraction(prevalence, "prevalence")
    level = _options.fraction(level, "level")
    _options.choice(method, VARIANCES, "method")
    z = NormalDist().inv_cdf((1 + level) / 2)
    largest, base = _largest_sd(area, half_width, null, power, z)
    n = _smallest(lambda k: _sd(area, share, k, method) <= largest)
    n_pos, n_neg = _split(n, share)
    sd = _sd(area, share, n, method)
    reached = math.nan
    if null is not None:
        reached = NormalDist().cdf(abs(area - base) / sd - z)
    return Plan(n, n_pos, n_neg, sd, z * sd, reached, area, base, share, level, method)


def _largest_sd(
    area: float, half_width: object, null: object, power: object, z: float
) -> tuple[float, float]:
    """Which standard error is just small enough?"""
    if (half_width is None) == (null is None) or (power is not None and null is None):
        raise InputError(
            "plan_auc needs one goal: half_width=0.03, or null=0.75 with power=0.9."
        )
    if null is None:
        return _options.fraction(half_width, "half_width") / z, math.nan
    base = _options.fraction(null, "null", ends="[]")
    if base == area:
        raise InputError(
            f"plan_auc needs null to differ from auc; both are {area:g}. No number of "
            f"cases tells them apart."
        )
    goal = 0.9 if power is None else _options.fraction(power, "power")
    distance = z + NormalDist().inv_cdf(goal)
    if distance <= 0:
        raise InputError(
            f"power={goal:g} is below the level of the test; any sample has more."
        )
    return abs(area - base) / distance, base


def _split(n: int, share: float) -> tuple[int, int]:
    pos = min(max(2, round(n * share)), n - 2)
    return pos, n - pos


def _sd(area: float, share: float, n: int, method: str) -> float:
    pos, neg = _split(n, share)
    return math.sqrt(VARIANCES[method](area, pos, neg))


def _smallest(enough: Callable[[int], bool]) -> int:
    """Find the smallest sample by doubling, then halving the gap."""
    high = 4
    while not enough(high):
        high *= 2
        if high > 2**50:
            raise InputError("plan_auc found no sample size below 10^15; ask for less.")
    low = high // 2
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if enough(middle) else (middle, high)
    return high


def _variance(area: float, pos_var: float, neg_var: float, pos: int, neg: int) -> float:
    """Kim et al. (2021), eq. 18."""
    total = area * (1 - area) + (pos - 1) * neg_var + (neg - 1) * pos_var
    return total / pos / neg


def _binormal(area: float, pos: int, neg: int) -> float:
    r"""Both spreads are P(two of three) - A^2 of normals with correlation 1/2.

    Phi_2(h, h; 1/2) = A - 2 T(h, 1/sqrt(3)) with Owen's T and h = Phi^-1(A).
    """
    from scipy.special import ndtri, owens_t

    spread = area - 2 * float(owens_t(float(ndtri(area)), 1 / math.sqrt(3))) - area**2
    return _variance(area, spread, spread, pos, neg)


def _hanley_mcneil(area: float, pos: int, neg: int) -> float:
    return _variance(area, *exponential_spread(area), pos, neg)


def _fermi_dirac(area: float, pos: int, neg: int) -> float:
    return fermi_dirac(n=pos + neg, n_pos=pos, auc=area).auc_se ** 2


VARIANCES: dict[str, Callable[[float, int, int], float]] = {
    "binormal": _binormal,
    "hanley-mcneil": _hanley_mcneil,
    "fermi-dirac": _fermi_dirac,
}
