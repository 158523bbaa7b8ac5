r"""How far from calibrated are the probabilities, and could that be chance?

Three kinds of answer: the calibration slope and intercept (two numbers with a meaning),
tests of the hypothesis that the scores are the probabilities, and the expected
calibration error, which is popular and not worth much (see :func:`calibration_error`).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from statistics import NormalDist
from types import MappingProxyType
from typing import Any, final

import numpy as np

from trueness._core.arrays import Array, Floats
from trueness._core.checks import cases as _cases
from trueness._core.checks import options as _options
from trueness._core.checks.errors import InputError, NotEnoughCases
from trueness._core.isotonic import pool_violators
from trueness._core.records import Answer, Estimate
from trueness.calibration.fixed_shares import (
    FixedShare,
    class_sandwich,
    fixed_share,
    noted,
    weighed,
)
from trueness.calibration.logistic import fit_logistic, separated
from trueness.calibration.monotone import equal_mass
from trueness.calibration.proper_scores import (
    chance_draws,
    error_estimates,
    pooled,
    probability_rows,
)
from trueness.counts.answers import of_tally
from trueness.counts.values import Tally
from trueness.counts.weights import linearised
from trueness.ranking.auc_intervals import student_quantile
from trueness.ranking.clusters import Clusters, cluster_freedom, clusters

_EPS = 2.0**-52
# halvings and cells of the smooth error, of the value and of draws
_FINE, _COARSE = (40, 4096), (12, 512)


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
        Labelled cases with a score of exactly 0 or 1, which has no logit; they were
        taken as 2^-52 from it, and weigh heavily.
    notes : tuple of str
        Whether cases were weighed to another share of positives.
    """

    slope: Estimate
    intercept: Estimate
    clipped: int
    notes: tuple[str, ...] = ()


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


@final
@dataclass(frozen=True, repr=False)
class CalibrationError(Answer):
    """The expected calibration error in four versions, and what calibrated scores get.

    Attributes
    ----------
    plain : Estimate
        Mean absolute difference of score and share of positives over the bins.
    debiased : Estimate
        The same less the part that noise in the bins adds on average.
    rms : Estimate
        Root mean square difference over the bins, its square being unbiased.
    smooth : Estimate
        Smooth calibration error: no bins, a kernel that chooses its own width.
    bins : int
        How many bins hold cases.
    binning : str
        "equal mass" (equally many cases in each; ties stay together) or "equal width".
    chance : float
        The plain error that perfectly calibrated scores would have on average here.
    warning : str
        What the number is worth.
    notes : tuple of str
        Whether cases were weighed to another share of positives.
    """

    plain: Estimate
    debiased: Estimate
    rms: Estimate
    smooth: Estimate
    bins: int
    chance: float
    warning: str
    binning: str = "equal mass"
    notes: tuple[str, ...] = ()


@of_tally(weights=True)
def calibration_line(
    t: Tally,
    *,
    prevalence: float | None = None,
    sampling: str = "cohort",
    level: float = 0.95,
    cluster: Any = None,
) -> CalibrationLine:
    r"""Are the probabilities too extreme, or too high overall?

    .. math:: \mathrm{logit}\, P(y=1) = a + b\, \mathrm{logit}(p)

    The slope is b with a free; the intercept is a with b = 1.

    Parameters
    ----------
    t
        Labelled cases whose scores are probabilities.
    prevalence
        Share of positives where the probabilities are used: the cases are weighted to
        this share, which is treated as known. By default it is the share among the
        cases.
    sampling
        How the cases were sampled: ``"cohort"`` or ``"case-control"``, which needs
        ``prevalence`` (see :func:`trueness.brier`).
    level
        Confidence level of the (Wald) intervals. For weighted cases they use the
        linearised variance (the sandwich estimator of survey samples) and Student's
        quantile.
    cluster
        Which cases belong together (patients, sites): a column of the data, or a
        mapping from cluster to tally. The variance is then that of the estimates with
        one cluster left out at a time (one Newton step each), with Student's quantile.

    References
    ----------
    D. R. Cox (1958), doi:10.1093/biomet/45.3-4.562. B. Van Calster et al., Calibration:
    the Achilles heel of predictive analytics, BMC Medicine 17 (2019) 230,
    doi:10.1186/s12916-019-1466-7.

    Examples
    --------
    The scores have log-odds of -ln 9 and ln 9, where the true ones are -ln 3 and ln 3.

    >>> line = calibration_line(Tally([0.1, 0.9], neg=[30, 10], pos=[10, 30]))
    >>> round(line.slope.value, 6), round(abs(line.intercept.value), 6)
    (0.5, 0.0)
    """
    together = None if cluster is None else clusters(cluster, "calibration_line")
    t = t if together is None else together.tally(0)
    _cases.both_classes(t, "calibration_line")
    fixed = fixed_share(t, sampling, prevalence, "calibration_line")
    if fixed is not None and together is not None:
        raise InputError(
            "calibration_line takes cluster= or prevalence=, not both; leave one out."
        )
    score, pos, neg = probability_rows(t, "calibration_line")
    level = _options.fraction(level, "level")
    logit = log_odds(score)
    if logit[0] == logit[-1]:
        raise NotEnoughCases(
            "A calibration slope needs two different scores; all cases have "
            f"{score[0]:g}."
        )
    if separated(logit, pos, neg):
        raise NotEnoughCases(
            "A calibration slope needs classes that overlap; here one threshold "
            "separates them perfectly, so the slope would be infinite."
        )
    free = fit_logistic([logit], *weighed(fixed, pos, neg))
    moved = fit_logistic([], *weighed(fixed, pos, neg), offset=logit)
    edge = (score == 0) | (score == 1)
    found = (free.coefficients, moved.coefficients[0])
    if together is not None:
        slope, shift = _left_out(together, *found, level)
    elif fixed is not None:
        slope, shift = _by_class(fixed, (logit, pos, neg), *found, level)
    elif t.weighted:
        logit = log_odds(t.labelled().score)
        both = np.stack([np.ones(logit.size), logit], axis=1)
        b, a = found
        slope = _sandwich(t, both, both @ b, float(b[1]), level)
        shift = _sandwich(t, both[:, :1], a + logit, float(a), level)
    else:
        slope = _wald(free.coefficients[1], free.covariance[1, 1], level)
        shift = _wald(moved.coefficients[0], moved.covariance[0, 0], level)
    return CalibrationLine(slope, shift, int((pos + neg)[edge].sum()), noted(fixed))


def _by_class(
    fixed: FixedShare,
    rows: tuple[Floats, Array, Array],
    free: Floats,
    shift: float,
    level: float,
) -> tuple[Estimate, Estimate]:
    """Give slope and intercept the intervals of cases that were weighed by class."""
    both = np.stack([np.ones(rows[0].size), rows[0]], axis=1)
    t = float(student_quantile(min(fixed.n_pos, fixed.n_neg) - 1.0, level))
    out = []
    for value, design, eta in (
        (free[1], both, both @ free),
        (shift, both[:, :1], shift + rows[0]),
    ):
        sd = math.sqrt(_coefficients_vary(fixed, design, eta, rows[1], rows[2])[-1, -1])
        ends = float(value) - t * sd, float(value) + t * sd
        out.append(Estimate(float(value), *ends, level, "share given", sd))
    return out[0], out[1]


def _coefficients_vary(
    fixed: FixedShare, design: Floats, eta: Floats, pos: Array, neg: Array
) -> Floats:
    """Give the sandwich variance of logistic coefficients, each class by itself."""
    p = 1 / (1 + np.exp(-np.clip(eta, -700, 700)))
    up, down = weighed(fixed, pos, neg)
    weight = ((up + down) * p * (1 - p))[:, None]
    bread = np.linalg.pinv((design * weight).T @ design, hermitian=True)
    return np.asarray(
        bread @ class_sandwich(fixed, design, (1 - p, -p), (pos, neg)) @ bread
    )


def _sandwich(
    t: Tally, design: Floats, eta: Floats, value: float, level: float
) -> Estimate:
    r"""Give the last coefficient the linearised interval of weighted cases.

    The influence of a case of weight w is :math:`w\, I^{-1} x (y - p)`, with the
    information I of all weights (Binder 1983).
    """
    t = t.labelled()
    p = 1 / (1 + np.exp(-np.clip(eta, -700, 700)))
    information = (design.T * ((t.pos + t.neg) * p * (1 - p))) @ design
    unit = design @ np.linalg.pinv(information)[-1]
    neg, pos, _ = t.squares
    parts = [(unit * (1 - p), t.pos, pos), (-unit * p, t.neg, neg)]
    spread = linearised(parts, together=True)
    sd = math.sqrt(spread.variance)
    half = float(student_quantile(max(spread.df, 1.0), level)) * sd
    return Estimate(value, value - half, value + half, level, "linearised", sd)


def _left_out(
    c: Clusters, free: Floats, shift: float, level: float
) -> tuple[Estimate, Estimate]:
    """Give slope and intercept the intervals that clusters leave (jackknife).

    Without cluster c, whose score is U_c and whose information is I_c, a Newton step
    from the estimate of all moves it by (I - I_c)^-1 U_c, which is CR3 of sandwich
    variances: it does not shrink with few clusters, as the plain sandwich does.
    """
    logit = log_odds(c.rows[:, 0])
    both = np.stack([np.ones(logit.size), logit], axis=1)
    slope = _moved(c, both, both @ free)[:, 1]
    fixed = _moved(c, both[:, :1], shift + logit)[:, 0]
    made = []
    for value, part in ((float(free[1]), slope), (float(shift), fixed)):
        half = float(student_quantile(cluster_freedom(part - part.mean()), level))
        sd = math.sqrt((c.m - 1) / c.m * float(np.sum((part - part.mean()) ** 2)))
        ends = value - half * sd, value + half * sd
        made.append(Estimate(value, *ends, level, "clusters", sd))
    return made[0], made[1]


def _moved(c: Clusters, design: Floats, eta: Floats) -> Floats:
    """By how much does leaving out each cluster move the coefficients? (m, k)"""
    cases = c.neg + c.pos
    p = 1 / (1 + np.exp(-np.clip(eta, -700, 700)))
    k = design.shape[1]
    score = np.stack(
        [np.bincount(c.code, (c.pos - cases * p) * x, c.m) for x in design.T], axis=1
    )
    weight = cases * p * (1 - p)
    information = np.empty((c.m, k, k))
    for i in range(k):
        for j in range(k):
            part = weight * design[:, i] * design[:, j]
            information[:, i, j] = np.bincount(c.code, part, c.m)
    # one Newton step from the estimate, with the information of the others
    rest = information.sum(axis=0) - information
    return np.asarray((np.linalg.pinv(rest) @ score[:, :, None])[:, :, 0])


def log_odds(score: Floats) -> Floats:
    """Give the logit of probabilities, 0 and 1 taken as 2^-52 from themselves."""
    p = np.clip(score, _EPS, 1 - _EPS)
    return np.asarray(np.log(p) - np.log1p(-p))


def _wald(value: float, variance: float, level: float) -> Estimate:
    sd = math.sqrt(variance)
    half = NormalDist().inv_cdf((1 + level) / 2) * sd
    value = float(value)
    return Estimate(value, value - half, value + half, level, "wald", sd)


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
        variance = _coefficients_vary(fixed, design, design @ free, pos, neg)
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


@of_tally(
    weights="The error that chance gives is known for cases of equal weight. "
    "calibration_line, brier and reliability take weights."
)
def calibration_error(
    t: Tally,
    *,
    bins: int = 15,
    binning: str = "equal mass",
    prevalence: float | None = None,
    sampling: str = "cohort",
    level: float = 0.95,
    replicates: int = 500,
    rng: Any = 0,
) -> CalibrationError:
    r"""How far is the share of positives from the score, on average (ECE)?

    .. math:: \mathrm{ECE} = \sum_b \frac{n_b}{n} |\bar y_b - \bar p_b|

    Parameters
    ----------
    t
        Labelled cases whose scores are probabilities.
    bins
        Number of bins.
    binning
        "equal mass": equally many cases in each bin, so that no bin is nearly empty.
        "equal width": (0, 1/bins], (1/bins, 2/bins], ... as in Guo et al. (2017), to
        reproduce published numbers.
    prevalence
        Share of positives where the probabilities are used: the cases are weighted to
        this share, which is treated as known. By default it is the share among the
        cases.
    sampling
        How the cases were sampled: ``"cohort"`` or ``"case-control"``, which needs
        ``prevalence`` (see :func:`trueness.brier`).
    level
        Confidence level of the intervals. An interval contains the true errors under
        which the observed one would not be unusual; it starts at 0 unless the observed
        error is larger than calibrated scores would give.
    replicates
        Samples drawn for the intervals.
    rng
        Seed or NumPy generator.

    Notes
    -----
    How to interpret it: the plain error is not 0 even for calibrated scores, which on
    average have the value given as ``chance``, which grows with the number of bins and
    falls with the number of cases, so two errors can be compared only at the same n,
    prevalence and bins. A classifier that gives every case the prevalence has no
    calibration error and no use. Prefer :func:`trueness.brier` with its parts,
    :func:`trueness.reliability` and :func:`calibration_test`.

    ``debiased`` subtracts :math:`E|N(d_b, s_b^2)| - |d_b|` in each bin, the bias of an
    absolute value under normal noise (Kumar, Liang and Ma 2019, section 4.2, for the
    absolute error). ``rms`` is the root of
    :math:`\sum_b \frac{n_b}{n} [(\bar y_b-\bar p_b)^2 - \bar y_b(1-\bar y_b)/(n_b-1)]`,
    which is unbiased (Bröcker 2012; Kumar et al., eq. 5), or 0 where that is negative.
    ``smooth`` is the smooth calibration error of Błasiok and Nakkiran (2023): with the
    residuals smoothed by a Gaussian of width sigma, reflected at 0 and 1, the sigma at
    which the mean absolute residual equals sigma (their section 4).

    References
    ----------
    A. Kumar, P. Liang, T. Ma, Verified uncertainty calibration, NeurIPS 2019,
    arXiv:1909.10155. J. Błasiok, P. Nakkiran, Smooth ECE, ICLR 2024, arXiv:2309.12236.

    Examples
    --------
    At score 0.2 the share of positives is 0.3, at score 0.8 it is 0.9: each is off by
    0.1.

    >>> e = calibration_error(Tally([0.2, 0.8], neg=[7, 1], pos=[3, 9]))
    >>> round(e.plain.value, 12), e.bins
    (0.1, 2)
    """
    fixed = fixed_share(t, sampling, prevalence, "calibration_error")
    score, *counts = probability_rows(t, "calibration_error")
    pos, neg = weighed(fixed, counts[0], counts[1])
    bins = _options.whole_number(bins, "bins", at_least=1)
    level = _options.fraction(level, "level")
    replicates = _options.whole_number(replicates, "replicates", at_least=20)
    generator = _options.generator(rng)
    place = BINNINGS[_options.choice(binning, BINNINGS, "binning")]
    # draws need fewer digits
    statistic = partial(_errors, place=partial(place, bins=bins), fine=_COARSE)
    values = statistic(score, pos, neg, fine=_FINE)
    start = place(score, pos + neg, bins=bins)
    chance = _chance(score, pos + neg, start)
    truth = partial(statistic, noisy=False)
    plain, debiased, rms, smooth = error_estimates(
        values, (score, pos, neg), statistic, truth, level, replicates, generator, fixed
    )
    warning = (
        "By chance, even perfectly calibrated scores would have a plain error of "
        f"{chance:.3g} here. The error depends on the number of cases and on the "
        f"{start.size} bins, and says nothing about discrimination."
    )
    return CalibrationError(
        *(plain, debiased, rms, smooth, int(start.size), chance, warning, binning),
        notes=noted(fixed),
    )


def _errors(
    score: Floats,
    pos: Array,
    neg: Array,
    *,
    place: Callable[[Floats, Array], Array],
    fine: tuple[int, int],
    noisy: bool = True,
) -> tuple[float, float, float, float]:
    cases = pos + neg
    start = place(score, cases)
    total = np.add.reduceat(cases, start)
    weight = total / total.sum()
    share = np.add.reduceat(pos, start) / total
    gap = share - np.add.reduceat(score * cases, start) / total
    plain = float(weight @ np.abs(gap))
    # a bin of one case has no variance of its own: its share says nothing
    noise = share * (1 - share) / np.maximum(total - 1, 1) * noisy
    debiased = max(0.0, plain - float(weight @ (folded_mean(gap, noise) - abs(gap))))
    square = float(weight @ (gap**2 - noise))
    smooth = smooth_error(score, pos, neg, *fine)
    return plain, debiased, math.sqrt(max(0.0, square)), smooth


def _by_mass(score: Floats, cases: Array, *, bins: int) -> Array:
    return equal_mass(cases, bins)


def _by_width(score: Floats, cases: Array, *, bins: int) -> Array:
    """Where do the rows of each bin (k/bins, (k+1)/bins] start? Empty ones are none."""
    number = np.searchsorted(np.arange(1, bins) / bins, score, side="left")
    return np.flatnonzero(np.diff(number, prepend=-1))


# how cases are put into bins: a function from rows to where the bins start
BINNINGS: Mapping[str, Callable[..., Array]] = MappingProxyType(
    {"equal mass": _by_mass, "equal width": _by_width}
)


def folded_mean(mean: Floats, variance: Floats) -> Floats:
    """Give E|X| of normal X.

    >>> folded_mean(np.array([0.0, 3.0]), np.array([1.0, 0.0])).round(6)
    array([0.797885, 3.      ])
    """
    from scipy.special import ndtr

    sd = np.sqrt(variance)
    x = np.divide(mean, sd, out=np.full_like(mean, np.inf), where=sd > 0)
    x = np.where(sd > 0, x, np.copysign(np.inf, mean))
    density = math.sqrt(2 / math.pi) * sd * np.exp(-x * x / 2)
    return np.asarray(density + mean * (1 - 2 * ndtr(-x)))


def _chance(score: Floats, cases: Array, start: Array) -> float:
    """Give the expected plain error of calibrated scores, by the normal law."""
    total = np.add.reduceat(cases, start).astype(np.float64)  # squares overflow int64
    variance = np.add.reduceat(cases * score * (1 - score), start) / total**2
    return float(total @ folded_mean(np.zeros(start.size), variance) / total.sum())


def smooth_error(
    score: Floats, pos: Array, neg: Array, halvings: int = 40, cells: int = 4096
) -> float:
    """Give the smooth calibration error (Błasiok and Nakkiran 2023).

    The Gaussian reflected at 0 and 1 is the heat kernel there, so smoothing damps each
    term of a cosine series on its own.
    """
    from scipy.fft import dct

    cases = pos + neg
    place = np.clip((score * cells).astype(int), 0, cells - 1)
    residual = np.bincount(place, pos - cases * score, cells) / cases.sum()
    series = dct(residual, type=2, norm="ortho")
    low, high = 1e-4, 1.0
    if _smoothed(series, low) <= low:
        return _smoothed(series, low)
    for _ in range(halvings):  # the error falls as the width grows: halve the interval
        middle = math.sqrt(low * high)
        if _smoothed(series, middle) > middle:
            low = middle
        else:
            high = middle
    return high


def _smoothed(series: Floats, width: float) -> float:
    from scipy.fft import idct

    damping = np.exp(-((np.pi * width * np.arange(series.size)) ** 2) / 2)
    return float(np.abs(idct(series * damping, type=2, norm="ortho")).sum())


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
