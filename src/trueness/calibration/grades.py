"""Jeffreys test per rating grade: is the probability of each grade high enough?"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import final

import numpy as np
from numpy.typing import ArrayLike

from trueness._core.arrays import Array, Floats
from trueness._core.checks import options as _options
from trueness._core.records import Answer
from trueness.calibration.forecasts import check_probabilities
from trueness.counts.answers import of_tally
from trueness.counts.values import Tally
from trueness.inference.verification import unlabelled_notes

# Jeffreys' prior of a proportion is Beta(1/2, 1/2)
_PRIOR = 0.5


@final
@dataclass(frozen=True, repr=False)
class GradeTests(Answer):
    """Observed rates of rating grades against their probabilities of default (PD).

    Attributes
    ----------
    pd : array
        Probability of each grade, highest first.
    n, n_pos : array
        Its cases, and its positives (defaults).
    rate, rate_low, rate_high : array
        Observed rate, with Jeffreys' credible interval.
    p_value : array
        Posterior probability that the true rate is at most the PD. A small value says
        that the PD is too low. Among many grades, one is small by chance.
    portfolio_p_value : float
        The same for all cases, against their mean PD.
    """

    pd: Floats
    n: Array
    n_pos: Array
    rate: Floats
    rate_low: Floats
    rate_high: Floats
    p_value: Floats
    portfolio_p_value: float
    notes: tuple[str, ...] = field(default=(), kw_only=True)


@of_tally
def jeffreys_test(data: Tally, *, level: float = 0.95) -> GradeTests:
    r"""Jeffreys test of each rating grade, as the ECB's validation reports have it.

    Does a grade have more defaults than its probability of default (PD) says?

    .. math:: p = P(\theta \le \mathrm{PD}), \qquad
              \theta \sim \mathrm{Beta}(D + \tfrac12,\, N - D + \tfrac12)

    for D defaults of N cases. Each distinct score is the PD of a grade.

    Notes
    -----
    Defaults are assumed to be independent given the grade; if they are correlated, as
    in a crisis, the p-value is too small.

    References
    ----------
    European Central Bank (2019), "Instructions for reporting the validation results of
    internal models". Brown, Cai, DasGupta (2001), doi:10.1214/ss/1009213286 (interval)

    Examples
    --------
    >>> grades = Tally([0.05, 0.01], pos=[10, 3], neg=[110, 197])
    >>> jeffreys_test(grades).p_value.round(4)
    array([0.0556, 0.2196])
    """
    from scipy.special import betainc, betaincinv

    level = _options.fraction(level, "level")
    check_probabilities(data, "jeffreys_test")
    notes = unlabelled_notes(data)
    grades = data.labelled()

    cases = grades.pos + grades.neg
    # the posterior is a beta distribution with half a case of each kind added
    posterior_positives = grades.pos + _PRIOR
    posterior_negatives = grades.neg + _PRIOR
    p_value = _floats(betainc(posterior_positives, posterior_negatives, grades.score))

    mean_pd = float(grades.score @ cases) / grades.n
    portfolio = betainc(grades.n_pos + _PRIOR, grades.n_neg + _PRIOR, mean_pd)
    tail = (1 - level) / 2
    low = _floats(betaincinv(posterior_positives, posterior_negatives, tail))
    high = _floats(betaincinv(posterior_positives, posterior_negatives, 1 - tail))
    return GradeTests(
        pd=grades.score,
        n=cases,
        n_pos=grades.pos,
        rate=grades.pos / cases,
        # Brown, Cai and DasGupta (2001): without a case of a kind, the interval ends
        # where the scale does
        rate_low=np.where(grades.pos > 0, low, 0.0),
        rate_high=np.where(grades.neg > 0, high, 1.0),
        p_value=p_value,
        portfolio_p_value=float(portfolio),
        notes=notes,
    )


def _floats(values: ArrayLike) -> Floats:
    """Return values as double precision, which SciPy's types leave open."""
    return np.asarray(values, np.float64)
