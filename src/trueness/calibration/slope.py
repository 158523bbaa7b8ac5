"""Are the probabilities too extreme or too high, and could that be chance?

The calibration slope and intercept, and tests of deviations along that line or others.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from statistics import NormalDist
from types import MappingProxyType
from typing import Any, final

import numpy as np

from trueness._core.arrays import Array, Floats
from trueness._core.checks import cases as _cases
from trueness._core.checks import options as _options
from trueness._core.checks.errors import NotEnoughCases
from trueness._core.records import Answer, Estimate
from trueness._core.solvers import (
    coefficient_influence,
    fit_logistic,
    isotonic_curve,
    separated,
)
from trueness.calibration.forecasts import Forecasts, binned, equal_mass, pooled, varied
from trueness.counts.answers import of_tally, refuse
from trueness.counts.resampling import Seed
from trueness.counts.values import Tally
from trueness.inference.limits import infer, notes_of
from trueness.inference.sample import Measured, Sample
from trueness.inference.verification import remarks

_EPS = 2.0**-52
_EVERYWHERE = (-math.inf, math.inf)


@final
@dataclass(frozen=True, repr=False)
class CalibrationLine(Answer):
    """Calibration slope and intercept.

    Attributes
    ----------
    slope : Estimate
        Below 1 the scores are too extreme, above 1 too timid.
    intercept : Estimate
        Log-odds by which the scores are too low (above 0) or too high on the whole, the
        slope being held at 1 ("calibration in the large").
    clipped : int
        Labelled cases with a score of exactly 0 or 1, taken as 2^-52 from it.
    """

    slope: Estimate
    intercept: Estimate
    clipped: int
    notes: tuple[str, ...] = ()


@of_tally
def calibration_line(data: Tally, *, level: float = 0.95) -> CalibrationLine:
    r"""Are the probabilities too extreme, or too high overall?

    .. math:: \mathrm{logit}\, P(y=1) = a + b\, \mathrm{logit}(p)

    The slope is b with a free; the intercept is a with b = 1 (Cox 1958,
    doi:10.1093/biomet/45.3-4.562; Van Calster et al. 2019,
    doi:10.1186/s12916-019-1466-7). The variance is the sandwich estimator (Huber 1967;
    Binder 1983).

    Examples
    --------
    The scores have log-odds of -ln 9 and ln 9, where the true ones are -ln 3 and ln 3.

    >>> line = calibration_line(Tally([0.1, 0.9], neg=[30, 10], pos=[10, 30]))
    >>> round(line.slope.value, 6), round(abs(line.intercept.value), 6)
    (0.5, 0.0)
    """
    _cases.both_classes(data, "calibration_line")
    if why := no_line(Forecasts(data, "calibration_line")):
        raise NotEnoughCases(f"A calibration slope needs {why}")
    slope, intercept = (infer(data, m, level=level) for m in (_slope, _shift))
    known = data.labelled()
    clipped = int((known.neg + known.pos)[np.isin(known.score, (0, 1))].sum())
    notes = (*remarks(data), *slope.notes)
    slope, intercept = replace(slope, notes=()), replace(intercept, notes=())
    return CalibrationLine(slope, intercept, clipped, notes)


def no_line(s: Forecasts) -> str:
    """Say what a slope needs that these cases have not."""
    logit = log_odds(s.score)
    if logit[0] == logit[-1]:
        return f"two different scores; all cases have {s.score[0]:g}."
    if not s.pos.any() or not s.neg.any() or separated(logit, s.pos, s.neg):
        return (
            "classes that overlap; here one threshold separates them perfectly, so the "
            "slope would be infinite."
        )
    return ""


def _slope(t: Tally) -> Measured:
    beta, by_neg, by_pos = _coefficients(t, 1)
    return Measured(float(beta[1]), by_neg[:, 1], by_pos[:, 1], _EVERYWHERE)


def _shift(t: Tally) -> Measured:
    logit = log_odds(t.score)
    (value, *_), *_ = fit_logistic([], t.pos[::-1], t.neg[::-1], offset=logit[::-1])
    value = float(value)
    ones = np.ones((logit.size, 1))
    unit, p = coefficient_influence(ones, value + logit, t.pos + t.neg)
    return Measured(value, -unit[:, 0] * p, unit[:, 0] * (1 - p), _EVERYWHERE)


def _coefficients(t: Tally, degree: int) -> tuple[Floats, Floats, Floats]:
    """Fit a polynomial in the log-odds: coefficients and influences (m, degree + 1)."""
    columns = [log_odds(t.score) ** k for k in range(1, degree + 1)]
    beta, *_ = fit_logistic([c[::-1] for c in columns], t.pos[::-1], t.neg[::-1])
    design = np.stack([np.ones(len(t)), *columns], axis=1)
    unit, p = coefficient_influence(design, design @ beta, t.pos + t.neg)
    return beta, -unit * p[:, None], unit * (1 - p)[:, None]


def log_odds(score: Floats) -> Floats:
    """Give the logit of probabilities, 0 and 1 taken as 2^-52 from themselves."""
    p = np.clip(score, _EPS, 1 - _EPS)
    return np.asarray(np.log(p) - np.log1p(-p))


class LineFit:
    """Intercept and slope, both free, their covariance and its degrees of freedom."""

    def __init__(self, sample: Sample) -> None:
        self.beta, by_neg, by_pos = _coefficients(sample.counts, 1)
        first, second, both = (
            varied(sample, by_neg @ along, by_pos @ along)
            for along in np.array([[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]])
        )
        cross = (both.variance - first.variance - second.variance) / 2
        self.covariance = np.array([[first.variance, cross], [cross, second.variance]])
        self.df = min(first.df, second.df)

    def ideal(self) -> tuple[float, float]:
        """How far is the ideal line from this one? Wald's statistic and its p-value."""
        from scipy.special import chdtrc, fdtrc

        if not np.isfinite(self.covariance).all():  # a single case of a class
            return math.nan, math.nan
        gap = self.beta - np.array([0.0, 1.0])
        square = float(gap @ np.linalg.pinv(self.covariance, hermitian=True) @ gap)
        if math.isinf(self.df):
            return square, float(chdtrc(2, square))
        rest = max(self.df - 1, 1.0)
        return square, float(fdtrc(2, rest, square * rest / (2 * self.df)))

    def lines(self, level: float) -> Floats:
        """Give lines (r, 2) that fill the confidence ellipse (Scheffe 1953)."""
        from scipy.special import fdtri

        rest = max(self.df - 1, 1.0)
        reach = math.sqrt(2 * self.df / rest * float(fdtri(2, rest, level)))
        values, axes = np.linalg.eigh(self.covariance)
        angle = np.linspace(0, 2 * np.pi, 48, endpoint=False)
        circle = np.stack([np.cos(angle), np.sin(angle)], axis=1)
        disc = np.concatenate([r * circle for r in (0.25, 0.5, 0.75, 1.0)])
        gap = (disc * reach * np.sqrt(np.maximum(values, 0.0))) @ axes.T
        return np.concatenate([self.beta[None], self.beta + gap])


def bent(sample: Sample) -> float:
    """How likely is a line at least so bent, if it is straight? The p-value."""
    from scipy.special import stdtr

    beta, by_neg, by_pos = _coefficients(sample.counts, 2)
    s = varied(sample, by_neg[:, 2], by_pos[:, 2])
    return float(2 * stdtr(s.df, -abs(beta[2]) / s.sd)) if s.variance > 0 else 1.0


@final
@dataclass(frozen=True, repr=False)
class CalibrationTest(Answer):
    """A test of the hypothesis that each score is the probability of a positive.

    Attributes
    ----------
    statistic, p_value : float
        What was compared with its distribution under the hypothesis, and how often
        calibrated scores give at least that.
    """

    statistic: float
    p_value: float
    method: str
    notes: tuple[str, ...] = ()


@of_tally
def calibration_test(
    data: Tally,
    *,
    method: str = "spiegelhalter",
    bins: int = 10,
    parameters: int = 0,
    replicates: int = 999,
    rng: Seed = 0,
) -> CalibrationTest:
    """Are these data consistent with calibrated scores?

    Parameters
    ----------
    method
        "spiegelhalter" (1986, doi:10.1002/sim.4780050506) compares the Brier score with
        its expectation (it cannot detect errors that cancel), "cox" tests for slope 1
        and intercept 0 at once (likelihood ratio), "bins" compares the mean squared
        residual of bins with that of calibrated scores, and sees errors anywhere,
        "isotonic" compares the part MCB of the Brier score with that of labels drawn
        from the scores (Monte Carlo, exact at any sample size), "hosmer-lemeshow"
        (1980, doi:10.1080/03610928008827941; of designs Rao and Scott 1981) compares
        the number of positives in bins with the sum of their scores (to reproduce
        published numbers).
    bins
        Number of bins, of equally many cases, of "bins" and "hosmer-lemeshow".
    parameters
        How many parameters of the model were fitted on these same cases, which
        "hosmer-lemeshow" takes off the degrees of freedom (R's ``hoslem.test``: 2).

    Examples
    --------
    Ten cases at 0.2, four of them positive: (4 - 2) 0.6 / sqrt(10 0.36 0.16).

    >>> calibration_test(Tally([0.2], neg=[6], pos=[4])).statistic
    1.58...
    """
    test, said = CALIBRATION_TESTS[_options.choice(method, CALIBRATION_TESTS, "method")]
    options = {
        "bins": _options.whole_number(bins, "bins", at_least=2),
        "parameters": _options.whole_number(parameters, "parameters"),
        "replicates": _options.whole_number(replicates, "replicates", at_least=19),
        "rng": _options.generator(rng),
    }
    s = Forecasts(data, "calibration_test")
    if method == "isotonic":
        words = ("weight", "cluster", "sampling", "prevalence")
        refuse(data, 'method="isotonic"', dict.fromkeys(words, _DRAWS_LABELS))
    notes = (*said, *remarks(data), *notes_of(data))
    if s.pos[s.score == 0].any() or s.neg[s.score == 1].any():
        # what was impossible has happened
        return CalibrationTest(math.inf, 0.0, method, notes)
    statistic, p_value = test(s, **options)
    return CalibrationTest(float(statistic), float(p_value), method, notes)


def _spiegelhalter(s: Forecasts, **_: Any) -> tuple[float, float]:
    from scipy.special import stdtr

    p, column = s.score, 1 - 2 * s.score
    gap = float((s.pos - s.cases * p) @ column)
    if s.plain:
        variance = float(s.cases @ (column**2 * p * (1 - p)))
        z = gap / math.sqrt(variance) if variance > 0 else math.nan
        return z, 2 * NormalDist().cdf(-abs(z)) if variance > 0 else math.nan
    found = s.spread(-column * p, column * (1 - p))
    z = gap / found.sd if found.variance > 0 else math.nan
    return z, float(2 * stdtr(found.df, -abs(z)))


def _cox(s: Forecasts, **_: Any) -> tuple[float, float]:
    if not s.plain:
        if why := no_line(s):
            raise NotEnoughCases(
                f'Cox\'s test of such cases needs {why} Type method="spiegelhalter".'
            )
        return LineFit(s.sample).ideal()
    # scores of 0 and 1 were right: they add nothing to either likelihood
    inner = (s.score > 0) & (s.score < 1)
    if not inner.any():
        return math.nan, math.nan
    odds, pos, neg = log_odds(s.score[inner]), s.pos[inner], s.neg[inner]
    columns = [odds] if odds.size > 1 else []
    likelihood = fit_logistic(columns, pos, neg, offset=odds)[2]
    start = -(pos @ np.logaddexp(0.0, -odds) + neg @ np.logaddexp(0.0, odds))
    statistic = max(2 * (likelihood - float(start)), 0.0)
    if not columns:
        return statistic, math.erfc(math.sqrt(statistic / 2))
    return statistic, math.exp(-statistic / 2)


def _hosmer_lemeshow(
    s: Forecasts, *, bins: int, parameters: int, **_: Any
) -> tuple[float, float]:
    from scipy.special import gammaincc

    start = equal_mass(s.cases, bins)
    columns = (s.pos, s.cases, s.cases * s.score)
    seen, total, mean = (np.add.reduceat(x, start) for x in columns)
    variance = mean * (1 - mean / total)
    if not s.plain:
        return binned(s, start).chi_square(variance / total**2, parameters)
    told = variance > 0  # bins of scores 0 or 1, which were right, tell nothing
    freedom = int(told.sum()) - parameters
    if freedom < 1:
        return math.nan, math.nan
    statistic = float(((seen - mean)[told] ** 2 / variance[told]).sum())
    return statistic, float(gammaincc(freedom / 2, statistic / 2))


def _isotonic(
    s: Forecasts, *, replicates: int, rng: np.random.Generator, **_: Any
) -> tuple[float, float]:
    score, pos, neg = pooled(s.score, s.pos, s.neg)
    seen, cases = _mcb(score, pos, neg), pos + neg
    drawn = rng.binomial(cases, score, (replicates, score.size))
    found = np.array([_mcb(score, up, cases - up) for up in drawn])
    # rounding must not part what is equal
    beyond = int((found >= seen * (1 - 1e-12)).sum())
    return seen, (1 + beyond) / (1 + replicates)


def _mcb(p: Floats, pos: Array, neg: Array) -> float:
    """Give the gain of isotonic recalibration in Brier score."""
    fitted, cases = isotonic_curve(pos, neg), pos + neg
    # sum of (p-y)^2 - (fitted-y)^2 over the cases
    gain = (p - fitted) * ((p + fitted) * cases - 2 * pos)
    return float(gain.sum() / cases.sum())


_DRAWS_LABELS = 'It draws labels of single cases from the scores. Type method="bins".'
# each test, and what it cannot see or depends on
CALIBRATION_TESTS: Mapping[
    str, tuple[Callable[..., tuple[float, float]], tuple[str, ...]]
] = MappingProxyType({
    "spiegelhalter": (_spiegelhalter, (
        "The test does not detect errors that cancel in the Brier score.",
    )),
    "cox": (_cox, (
        "The chi-squared law needs some thirty cases of the rarer class; with fewer "
        'the p-value is too small. Type method="isotonic" for an exact one.',
    )),
    "bins": (lambda s, bins, **_: binned(s, equal_mass(s.cases, bins)).test, ()),
    "isotonic": (_isotonic, ()),
    "hosmer-lemeshow": (_hosmer_lemeshow, (
        "The result depends on the number of bins, errors within a bin are not "
        "detected, bins should expect five cases of each class, and with very many "
        "cases any model is rejected.",
    )),
})  # fmt: skip
