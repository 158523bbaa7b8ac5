r"""Could the deviations from calibrated scores be chance? Tests of that hypothesis."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from statistics import NormalDist
from types import MappingProxyType
from typing import Any, final

import numpy as np

from trueness._core.arrays import Array, Floats
from trueness._core.checks import options as _options
from trueness._core.checks.errors import InputError
from trueness._core.isotonic import pool_violators
from trueness._core.records import Answer
from trueness.calibration.drawn_labels import chance_draws, pooled, probability_rows
from trueness.calibration.fixed_shares import (
    FixedShare,
    class_sandwich,
    fixed_share,
    noted,
    weighed,
)
from trueness.calibration.logistic import fit_logistic
from trueness.calibration.monotone import equal_mass
from trueness.calibration.slope import coefficients_vary, log_odds
from trueness.counts.answers import of_tally
from trueness.counts.values import Tally


@final
@dataclass(frozen=True, repr=False)
class CalibrationTest(Answer):
    """A test of the hypothesis that each score is the probability of a positive.

    Attributes
    ----------
    statistic : float
        What was compared with its distribution under the hypothesis.
    p_value : float
        How often calibrated scores give at least that. Small values are evidence
        against calibration.
    method : str
        Name of the test.
    notes : tuple of str
        What the test cannot see or depends on.
    """

    statistic: float
    p_value: float
    method: str
    notes: tuple[str, ...] = ()


@of_tally(
    weights="Its statistics are those of independent cases of equal weight. "
    "calibration_line, brier and reliability take weights."
)
def calibration_test(
    t: Tally,
    *,
    method: str = "spiegelhalter",
    prevalence: float | None = None,
    sampling: str = "cohort",
    bins: int = 10,
    parameters: int = 0,
    replicates: int = 999,
    rng: Any = 0,
) -> CalibrationTest:
    r"""Are these data consistent with calibrated scores?

    Parameters
    ----------
    t
        Labelled cases whose scores are probabilities.
    method
        "spiegelhalter" compares the Brier score with its expectation (1986; a normal
        statistic; it cannot detect errors that cancel), "cox" tests for slope 1 and
        intercept 0 at once (likelihood ratio, chi-squared with 2 degrees of freedom),
        "isotonic" compares the miscalibration MCB of the Brier score with that of
        labels drawn from the scores (Monte Carlo; exact level at any sample size; it
        can detect every monotone departure), "hosmer-lemeshow" compares the number of
        positives in bins of equally many cases with the sum of their scores (to
        reproduce published numbers).
    prevalence
        Share of positives where the probabilities are used: the cases are weighted to
        this share, which is treated as known. By default it is the share among the
        cases.
    sampling
        How the cases were sampled: ``"cohort"`` or ``"case-control"``, which needs
        ``prevalence`` (see :func:`trueness.brier`).
    bins
        Number of bins of "hosmer-lemeshow".
    parameters
        How many parameters of the model were fitted on these same cases: the degrees of
        freedom of "hosmer-lemeshow" are the number of bins minus this number. Use 0 for
        cases that the model has not seen; R's ``hoslem.test`` uses 2.
    replicates
        Number of draws of "isotonic".
    rng
        Seed or NumPy generator of "isotonic".

    Notes
    -----
    Spiegelhalter's statistic is :math:`\sum (y-p)(1-2p) / \sqrt{\sum (1-2p)^2 p(1-p)}`.
    It is NaN where all scores are 0, 1/2 or 1, which carry no information for it.
    Hosmer and Lemeshow's is
    :math:`\sum_b (O_b - E_b)^2 / (n_b \bar p_b (1 - \bar p_b))`, chi-squared; another
    number of bins gives another answer, and errors that cancel within a bin go
    undetected.

    References
    ----------
    D. J. Spiegelhalter, Probabilistic prediction in patient management and clinical
    trials, Statistics in Medicine 5 (1986) 421, doi:10.1002/sim.4780050506. D. W.
    Hosmer, S. Lemeshow, Communications in Statistics A 9 (1980) 1043,
    doi:10.1080/03610928008827941.

    Examples
    --------
    Ten cases at 0.2, four of them positive: (4 - 2) 0.6 / sqrt(10 0.36 0.16).

    >>> calibration_test(Tally([0.2], neg=[6], pos=[4])).statistic
    1.58...
    """
    test = CALIBRATION_TESTS[_options.choice(method, CALIBRATION_TESTS, "method")]
    replicates = _options.whole_number(replicates, "replicates", at_least=19)
    bins = _options.whole_number(bins, "bins", at_least=2)
    parameters = _options.whole_number(parameters, "parameters")
    fixed = fixed_share(t, sampling, prevalence, "calibration_test")
    rows = probability_rows(t, "calibration_test")
    score, pos, neg = rows
    notes = _NOTES.get(method, ()) + noted(fixed)
    generator = _options.generator(rng)
    if pos[score == 0].any() or neg[score == 1].any():
        # what was impossible has happened
        return CalibrationTest(math.inf, 0.0, method, notes)
    if fixed is not None:
        statistic, p_value = _weighed_test(method, fixed, rows, replicates, generator)
    elif method == "hosmer-lemeshow":
        statistic, p_value = _hosmer_lemeshow(*rows, bins, parameters)
        notes += _sparse(*rows, bins)
    else:
        statistic, p_value = test(*rows, replicates, generator)
    return CalibrationTest(float(statistic), float(p_value), method, notes)


def _weighed_test(
    method: str, fixed: FixedShare, rows: Any, replicates: int, rng: Any
) -> tuple[float, float]:
    """Test cases that are weighed to a share of positives, each class by itself."""
    p, pos, neg = rows
    up, down = weighed(fixed, pos, neg)
    if method == "hosmer-lemeshow":
        raise InputError(
            "Hosmer and Lemeshow's test takes cases as they came, not weighed to "
            'prevalence=. Type method="isotonic" or method="cox".'
        )
    if method == "isotonic":
        return _isotonic(p, up, down, replicates, rng, fixed)
    if method == "cox":
        logit = log_odds(p)
        design = np.stack([np.ones(p.size), logit], axis=1)
        free = fit_logistic([logit], up, down).coefficients
        away = free - np.array([0.0, 1.0])
        variance = coefficients_vary(fixed, design, design @ free, pos, neg)
        wald = float(away @ np.linalg.pinv(variance, hermitian=True) @ away)
        return wald, math.exp(-wald / 2)
    column = (1 - 2 * p)[:, None]
    spread = float(class_sandwich(fixed, column, (1 - p, -p), (pos, neg))[0, 0])
    if spread == 0:
        return math.nan, math.nan
    z = float((up - (up + down) * p) @ (1 - 2 * p)) / math.sqrt(spread)
    return z, 2 * NormalDist().cdf(-abs(z))


def _hosmer_lemeshow(
    p: Floats, pos: Array, neg: Array, bins: int, parameters: int
) -> tuple[float, float]:
    from scipy.special import gammaincc

    cases = pos + neg
    start = equal_mass(cases, bins)
    total, seen, mean = (np.add.reduceat(x, start) for x in (cases, pos, cases * p))
    spread = mean * (1 - mean / total)
    told = spread > 0  # bins of scores 0 or 1, which were right, tell nothing
    freedom = int(told.sum()) - parameters
    if freedom < 1:
        return math.nan, math.nan
    statistic = float(((seen - mean)[told] ** 2 / spread[told]).sum())
    return statistic, float(gammaincc(freedom / 2, statistic / 2))


def _sparse(p: Floats, pos: Array, neg: Array, bins: int) -> tuple[str, ...]:
    """Say that bins expect too few cases of a class for the chi-squared law."""
    cases = pos + neg
    start = equal_mass(cases, bins)
    total, mean = (np.add.reduceat(x, start) for x in (cases, cases * p))
    few = int((np.minimum(mean, total - mean) < 1).sum())
    if few <= _SPARSE * start.size:
        return ()
    return (
        f"{few} of {start.size} bins expect less than one positive or less than one "
        "negative, so the p-value is too small: calibrated scores are rejected at the "
        '5 % level in 7 to 12 % of samples. Use fewer bins or method="isotonic".',
    )


def _spiegelhalter(
    p: Floats, pos: Array, neg: Array, replicates: int, rng: Any
) -> tuple[float, float]:
    cases = pos + neg
    spread = float(cases @ ((1 - 2 * p) ** 2 * p * (1 - p)))
    if spread == 0:
        return math.nan, math.nan
    z = float((pos - cases * p) @ (1 - 2 * p)) / math.sqrt(spread)
    return z, 2 * NormalDist().cdf(-abs(z))


def _cox(
    p: Floats, pos: Array, neg: Array, replicates: int, rng: Any
) -> tuple[float, float]:
    # scores of 0 and 1 were right: they add nothing to either likelihood
    inner = (p > 0) & (p < 1)
    p, pos, neg = p[inner], pos[inner], neg[inner]
    if not p.size:
        return math.nan, math.nan
    logit = log_odds(p)
    free = fit_logistic([logit], pos, neg).log_likelihood
    fixed = float(pos @ np.log(p) + neg @ np.log1p(-p))
    statistic = max(0.0, 2 * (free - fixed))
    freedom = 2 if p.size > 1 else 1
    tail = (
        math.exp(-statistic / 2)
        if freedom == 2
        else math.erfc(math.sqrt(statistic / 2))
    )
    return statistic, tail


def _isotonic(
    p: Floats,
    pos: Array,
    neg: Array,
    replicates: int,
    rng: Any,
    draws: FixedShare | None = None,
) -> tuple[float, float]:
    p, pos, neg = pooled(p, pos, neg)
    (seen,) = _mcb(p, pos, neg)
    drawn = chance_draws(p, pos, neg, _mcb, replicates, rng, draws)
    # rounding must not part what is equal
    beyond = sum(x >= seen * (1 - 1e-12) for (x,) in drawn)
    return seen, (1 + beyond) / (1 + replicates)


def _mcb(p: Floats, pos: Array, neg: Array) -> tuple[float]:
    """Give the gain of isotonic recalibration in Brier score."""
    share, start = pool_violators(pos, neg)
    fitted, cases = np.repeat(share, np.diff(start)), pos + neg
    # sum of (p-y)^2 - (fitted-y)^2 over the cases
    gain = (p - fitted) * ((p + fitted) * cases - 2 * pos)
    return (float(gain.sum() / cases.sum()),)


# with a fifth of such bins, 5.5 % of calibrated samples are rejected; with a third, 7 %
_SPARSE = 0.2
_Test = Callable[..., tuple[float, float]]


CALIBRATION_TESTS: Mapping[str, _Test] = MappingProxyType(
    {
        "spiegelhalter": _spiegelhalter,
        "cox": _cox,
        "isotonic": _isotonic,
        "hosmer-lemeshow": _hosmer_lemeshow,
    }
)


_NOTES = {
    "spiegelhalter": (
        "The test does not detect errors that cancel in the Brier score.",
    ),
    "hosmer-lemeshow": (
        "The result depends on the number of bins, errors within a bin are not "
        "detected, and with very many cases any model is rejected.",
    ),
}
