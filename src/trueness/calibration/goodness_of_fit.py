"""Could the differences between scores and labels be chance? Tests by their names.

Each test is an entry of ``CALIBRATION_TESTS``, with notes on its limitations.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from statistics import NormalDist
from types import MappingProxyType
from typing import NamedTuple, final

import numpy as np

from trueness._core.arrays import Array
from trueness._core.checks import options as _options
from trueness._core.checks.errors import NotEnoughCases
from trueness._core.records import Answer
from trueness._core.solvers import fit_logistic, isotonic_curve
from trueness.calibration.forecasts import Forecasts, equal_mass_bins, pool_rows
from trueness.calibration.lines import LineFit, log_odds, obstacle_to_line
from trueness.calibration.residuals import TestResult, residuals_from_scores
from trueness.counts.answers import of_tally, refuse
from trueness.counts.resampling import Seed
from trueness.counts.values import Tally
from trueness.inference.estimates import interval_notes
from trueness.inference.verification import unlabelled_notes

_NO_TEST = TestResult(math.nan, math.nan)
# as many as Hosmer and Lemeshow's deciles of risk
MAX_BINS = 10
# Cochran (1954): the chi-squared law needs some five expected cases
MIN_VARIANCE_OF_BIN = 5.0


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

    def __repr__(self) -> str:
        """Name the test, then write the statistic and the p-value."""
        fields = super().__repr__()
        return fields.replace("CalibrationTest", f"CalibrationTest ({self.method})", 1)


@of_tally
def calibration_test(
    data: Tally,
    *,
    method: str = "joint",
    bins: int = 10,
    parameters: int = 0,
    replicates: int = 999,
    rng: Seed = 0,
) -> CalibrationTest:
    """Test of the hypothesis that the scores are calibrated, by a published method.

    Are these data consistent with calibrated scores?

    Parameters
    ----------
    method
        "joint", the test of :func:`calibration_verdict`, doubles the smaller p-value of
        "cox" and "bins" (Bonferroni); its statistic is that p-value. "spiegelhalter"
        (1986, doi:10.1002/sim.4780050506) compares the Brier score with its
        expectation; it cannot detect errors that cancel. "cox" tests slope 1 and
        intercept 0 jointly (likelihood ratio). "bins" is Pearson's test of bins with
        equal variances of at least 5 (Cochran 1954); it detects errors at any score.
        "isotonic" compares the MCB part of the Brier score with that of labels drawn
        from the scores (Monte Carlo, exact at any sample size). "hosmer-lemeshow"
        (1980, doi:10.1080/03610928008827941) compares the positives in bins with the
        sum of their scores, to reproduce published numbers. "bins" and
        "hosmer-lemeshow" allow for designs as Rao and Scott (1981) do.
    bins
        Largest number of bins of "bins", and the number of bins of equally many cases
        of "hosmer-lemeshow".
    parameters
        Number of model parameters that were fitted on these same cases.
        "hosmer-lemeshow" subtracts it from the degrees of freedom (R's ``hoslem.test``:
        2).

    Examples
    --------
    Spiegelhalter's z by hand: (4 - 2) 0.6 / sqrt(10 0.36 0.16).

    >>> t = Tally([0.2], neg=[6], pos=[4])
    >>> calibration_test(t, method="spiegelhalter").statistic
    1.58...
    """
    method = _options.choice(method, CALIBRATION_TESTS, "method")
    test = CALIBRATION_TESTS[method]
    settings = TestSettings(
        bins=_options.whole_number(bins, "bins", at_least=2),
        parameters=_options.whole_number(parameters, "parameters"),
        replicates=_options.whole_number(replicates, "replicates", at_least=19),
        rng=_options.generator(rng),
    )
    forecasts = Forecasts(data, "calibration_test")
    if method == "isotonic":
        design_arguments = ("weight", "cluster", "sampling", "prevalence")
        reasons = dict.fromkeys(design_arguments, _DRAWS_LABELS)
        refuse(data, "The isotonic test", reasons, option="method", example="bins")

    notes = (*test.notes, *unlabelled_notes(data), *interval_notes(data))
    if forecasts.refuted_certainties:  # an impossible event has happened
        return CalibrationTest(math.inf, 0.0, method, notes)

    result = test.run(forecasts, settings)
    return CalibrationTest(
        float(result.statistic), float(result.p_value), method, notes
    )


_DRAWS_LABELS = "It simulates labels case by case. Use the method bins instead."


class TestSettings(NamedTuple):
    """The options of a test."""

    bins: int
    parameters: int
    replicates: int
    rng: np.random.Generator


def _spiegelhalter(forecasts: Forecasts, settings: TestSettings) -> TestResult:
    r"""Return Spiegelhalter's z: the Brier score against its expectation (1986).

    .. math:: z = \frac{\sum_i (y_i - p_i)(1 - 2 p_i)}
                       {\sqrt{\sum_i (1 - 2 p_i)^2 p_i (1 - p_i)}}
    """
    from scipy.special import stdtr

    p = forecasts.score
    case_weight = 1 - 2 * p
    gap = float((forecasts.pos - forecasts.cases * p) @ case_weight)

    if forecasts.is_simple_sample:
        variance = float(forecasts.cases @ (case_weight**2 * p * (1 - p)))
        if not variance > 0:
            return _NO_TEST
        z = gap / math.sqrt(variance)
        return TestResult(z, 2 * NormalDist().cdf(-abs(z)))

    # other designs: an estimated variance, hence Student's distribution
    estimate = forecasts.variance_of_sum(-case_weight * p, case_weight * (1 - p))
    z = math.nan
    if estimate.variance > 0:
        z = gap / estimate.standard_error
    return TestResult(z, float(2 * stdtr(estimate.degrees_of_freedom, -abs(z))))


def cox_test(forecasts: Forecasts) -> TestResult:
    """Return the likelihood ratio test of slope 1 and intercept 0.

    For designs other than a simple sample, Wald's test.
    """
    if not forecasts.is_simple_sample:
        obstacle = obstacle_to_line(forecasts)
        if obstacle:
            raise NotEnoughCases(
                f"Cox's test of such cases needs {obstacle}",
                option="method",
                example="spiegelhalter",
            )
        return LineFit(forecasts.sample).test_of_ideal()

    # scores of 0 and 1 agreed with the labels, and add nothing to either likelihood
    inner = (forecasts.score > 0) & (forecasts.score < 1)
    if not inner.any():
        return _NO_TEST

    logit = log_odds(forecasts.score[inner])
    pos = forecasts.pos[inner]
    neg = forecasts.neg[inner]

    # a single score has no slope
    has_slope = logit.size > 1
    columns = [logit] if has_slope else []
    fitted_likelihood = fit_logistic(columns, pos, neg, offset=logit).log_likelihood
    # ideal line: log p for each positive, log(1 - p) for each negative
    loss_of_positives = pos @ np.logaddexp(0.0, -logit)
    loss_of_negatives = neg @ np.logaddexp(0.0, logit)
    ideal_likelihood = -float(loss_of_positives + loss_of_negatives)

    # rounding may put the maximum just below the likelihood of the ideal line
    statistic = max(2 * (fitted_likelihood - ideal_likelihood), 0.0)
    # the upper tail of chi-squared with two degrees of freedom, or with one
    if has_slope:
        return TestResult(statistic, math.exp(-statistic / 2))
    return TestResult(statistic, math.erfc(math.sqrt(statistic / 2)))


def _cox(forecasts: Forecasts, settings: TestSettings) -> TestResult:
    return cox_test(forecasts)


def _bins(forecasts: Forecasts, settings: TestSettings) -> TestResult:
    return pearson_test(forecasts, variance_bins(forecasts, settings.bins))


def variance_bins(forecasts: Forecasts, bins: int = MAX_BINS) -> Array:
    """Return the first rows of bins in which calibrated labels have equal variance.

    With variances of at least 5 the chi-squared law holds (Cochran 1954).
    """
    variance = forecasts.cases * forecasts.score * (1 - forecasts.score)
    total = float(variance.sum())
    if not total > 0:
        return np.array([0])
    # fewer bins where the variance is too small for ten of them
    max_bins = int(total / MIN_VARIANCE_OF_BIN)
    return equal_mass_bins(variance, max(min(bins, max_bins), 1))


def pearson_test(forecasts: Forecasts, start: Array) -> TestResult:
    """Return Pearson's test of bins.

    For designs other than a simple sample, with Rao and Scott's correction (1981).
    """
    from scipy.special import chdtrc

    case_variance = forecasts.score * (1 - forecasts.score)
    variance = np.add.reduceat(forecasts.cases * case_variance, start)
    if not forecasts.is_simple_sample:
        total = np.add.reduceat(forecasts.cases, start)
        residuals = residuals_from_scores(forecasts, start)
        return residuals.chi_square_test(variance / total**2, parameters=0)

    # a bin whose scores are 0 or 1 has no variance, and its labels agreed
    informative = variance > 0
    if not informative.any():
        return _NO_TEST

    # observed less expected positives of each bin
    residual = np.add.reduceat(forecasts.pos - forecasts.cases * forecasts.score, start)
    statistic = float((residual[informative] ** 2 / variance[informative]).sum())
    return TestResult(statistic, float(chdtrc(int(informative.sum()), statistic)))


class JointTest(NamedTuple):
    """The joint p-value of two tests, the smaller of both, and the bins of one."""

    p_value: float
    smallest: float
    start: Array


def joint_test(forecasts: Forecasts) -> JointTest:
    """Return Cox's test of a line and Pearson's of bins, joined by Bonferroni."""
    start = variance_bins(forecasts)
    if forecasts.refuted_certainties:  # an impossible event has happened
        return JointTest(0.0, 0.0, start)

    p_values = [pearson_test(forecasts, start).p_value]
    if forecasts.is_simple_sample or not obstacle_to_line(forecasts):
        p_values.append(cox_test(forecasts).p_value)
    defined = [p_value for p_value in p_values if not math.isnan(p_value)]
    if not defined:
        return JointTest(math.nan, math.nan, start)

    smallest = min(defined)
    # Bonferroni: as many times the smallest as there are tests
    return JointTest(min(1.0, len(defined) * smallest), smallest, start)


def _joint(forecasts: Forecasts, settings: TestSettings) -> TestResult:
    test = joint_test(forecasts)
    return TestResult(test.smallest, test.p_value)


def _hosmer_lemeshow(forecasts: Forecasts, settings: TestSettings) -> TestResult:
    """Return Hosmer and Lemeshow's statistic, with Rao and Scott's correction."""
    from scipy.special import gammaincc

    start = equal_mass_bins(forecasts.cases, settings.bins)
    observed = np.add.reduceat(forecasts.pos, start)
    total = np.add.reduceat(forecasts.cases, start)
    expected = np.add.reduceat(forecasts.cases * forecasts.score, start)
    # that of a binomial with the mean score of the bin
    variance = expected * (1 - expected / total)
    if not forecasts.is_simple_sample:
        residuals = residuals_from_scores(forecasts, start)
        return residuals.chi_square_test(variance / total**2, settings.parameters)

    # a bin whose scores are 0 or 1 has no variance, and its labels agreed
    informative = variance > 0
    degrees_of_freedom = int(informative.sum()) - settings.parameters
    if degrees_of_freedom < 1:
        return _NO_TEST

    squares = (observed - expected)[informative] ** 2
    statistic = float((squares / variance[informative]).sum())
    return TestResult(
        statistic, float(gammaincc(degrees_of_freedom / 2, statistic / 2))
    )


def _isotonic(forecasts: Forecasts, settings: TestSettings) -> TestResult:
    """Return the test of MCB (Brier score) against labels drawn from the scores."""
    score, pos, neg = pool_rows(forecasts.score, forecasts.pos, forecasts.neg)
    cases = pos + neg

    def miscalibration(positives: Array) -> float:
        fitted = isotonic_curve(positives, cases - positives)
        # sum of (score-y)^2 - (fitted-y)^2 over the cases
        gain = (score - fitted) * ((score + fitted) * cases - 2 * positives)
        return float(gain.sum() / cases.sum())

    observed = miscalibration(pos)
    shape = (settings.replicates, score.size)
    # labels drawn with the scores as their probabilities
    drawn_positives = settings.rng.binomial(cases, score, shape)
    simulated = np.array([miscalibration(positives) for positives in drawn_positives])
    # equal values may differ by rounding
    at_least_observed = int((simulated >= observed * (1 - 1e-12)).sum())
    # the observed sample counts as one of the simulated ones (Barnard 1963)
    p_value = (1 + at_least_observed) / (1 + settings.replicates)
    return TestResult(observed, p_value)


class NamedTest(NamedTuple):
    """A test, and notes on its limitations."""

    run: Callable[[Forecasts, TestSettings], TestResult]
    notes: tuple[str, ...] = ()


CALIBRATION_TESTS: Mapping[str, NamedTest] = MappingProxyType(
    {
        "joint": NamedTest(_joint),
        "spiegelhalter": NamedTest(
            _spiegelhalter,
            ("The test does not detect errors that cancel in the Brier score.",),
        ),
        "cox": NamedTest(
            _cox,
            (
                "The chi-squared approximation needs about 30 cases in the rarer "
                "class; with fewer the p-value is too small. The method isotonic has "
                "an exact p-value.",
            ),
        ),
        "bins": NamedTest(_bins),
        "isotonic": NamedTest(_isotonic),
        "hosmer-lemeshow": NamedTest(
            _hosmer_lemeshow,
            (
                "The result depends on the number of bins, and misses errors within "
                "a bin. Each bin should expect five cases of each class. Very large "
                "samples reject any model.",
            ),
        ),
    }
)
