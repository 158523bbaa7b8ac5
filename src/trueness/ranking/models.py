r"""What if the scores of both classes were normal, or followed another model?

Up to a monotone function of the scores, a binormal curve has two parameters,

.. math:: \alpha = \sigma_n / \sigma_p, \qquad b = (\mu_p - \mu_n) / \sigma_p,
          \qquad (40)

and closed forms for all that follows. Sameni (2025), section 8.3, with its equation
numbers.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from statistics import NormalDist
from typing import Any, NamedTuple, Protocol, final

import numpy as np
from numpy.typing import ArrayLike

from trueness._core import special
from trueness._core.arrays import Array, Floats
from trueness._core.checks import cases as _cases
from trueness._core.checks import columns as _columns
from trueness._core.checks import options as _options
from trueness._core.checks.errors import NotConvergedWarning, NotEnoughCases
from trueness._core.records import Answer, Estimate, Record
from trueness._core.warn import warn_user
from trueness.counts.answers import of_tally
from trueness.counts.placements import group_counts, runs
from trueness.counts.values import Tally
from trueness.inference.estimates import estimate_from_variance
from trueness.inference.intervals import Ends
from trueness.inference.roc_intervals import placement_variances
from trueness.inference.variance import VarianceEstimate
from trueness.ranking.areas import auc_variance_from_placements
from trueness.ranking.curves import precision_at


class _HasLeakage(Protocol):
    """A leakage function G and its inverse."""

    def __call__(self, u: ArrayLike, /) -> Any: ...
    def inverse(self, v: ArrayLike, /) -> Any: ...


class Through:
    """Rates that follow from a leakage function, of data or of a binormal model."""

    __slots__ = ()

    def miss_rate(self: _HasLeakage, specificity: ArrayLike) -> Any:
        """Return the proportion of positives missed at this specificity, eq. (14)."""
        return self(specificity)

    def tpr(self: _HasLeakage, fpr: ArrayLike) -> Any:
        """Return the true positive rate at this false positive rate, eq. (13)."""
        return 1 - self(1 - _columns.probabilities(fpr, "fpr"))

    def fpr(self: _HasLeakage, tpr: ArrayLike) -> Any:
        """Return the false positive rate at this true positive rate, eq. (15)."""
        return 1 - self.inverse(1 - _columns.probabilities(tpr, "tpr"))

    def precision(self: _HasLeakage, recall: ArrayLike, prevalence: float) -> Any:
        """Return the precision at this recall, eq. (21); NaN if none are flagged."""
        recall = _columns.probabilities(recall, "recall")
        prevalence = _options.fraction(prevalence, "prevalence")
        fpr = 1 - self.inverse(1 - recall)
        return precision_at(fpr, recall, prevalence)

    def accuracy(self: _HasLeakage, specificity: ArrayLike, prevalence: float) -> Any:
        """Return the proportion of cases classified correctly at this specificity."""
        # Differs from the text after eq. (22), which says that accuracy is not a
        # function of G: at a given specificity it is.
        specificity = _columns.probabilities(specificity, "specificity")
        prevalence = _options.fraction(prevalence, "prevalence")
        tpr = 1 - self(specificity)
        return prevalence * tpr + (1 - prevalence) * specificity

    def f_beta(
        self: _HasLeakage, specificity: ArrayLike, prevalence: float, beta: float = 1.0
    ) -> Any:
        """Return F-beta, of precision and recall, at this specificity."""
        # Differs from eqs. (25) and (26): there the last term has a factor
        # beta^2 / tpr that does not follow from eq. (23).
        specificity = _columns.probabilities(specificity, "specificity")
        prevalence = _options.fraction(prevalence, "prevalence")
        beta_squared = _options.positive_number(beta, "beta") ** 2
        tpr = 1 - self(specificity)
        odds = (1 - prevalence) / prevalence
        denominator = tpr + beta_squared + odds * (1 - specificity)
        return (1 + beta_squared) * tpr / denominator


@final
@dataclass(frozen=True, repr=False)
class Binormal(Record, Through):
    """Binormal ROC curve: the scores of both classes are normal.

    A call ``G(u)`` returns the leakage function, as :class:`Leakage` does.

    Attributes
    ----------
    alpha, b : float
        Its two parameters: see :func:`binormal`.
    auc, area : float
        Area under the ROC curve, eq. (44), and under G, 1 - AUC.
    kl_pos_to_neg, kl_neg_to_pos : float
        Kullback-Leibler divergences in nats, of the positives' scores from the
        negatives' and the reverse, eq. (49).
    """

    alpha: float
    b: float
    auc: float
    area: float
    kl_pos_to_neg: float
    kl_neg_to_pos: float

    def __call__(self, u: ArrayLike) -> Any:
        """Return G(u) = Phi(alpha Phi^-1(u) - b), eq. (43)."""
        return special.ndtr(
            self.alpha * special.ndtri(_columns.probabilities(u, "u")) - self.b
        )

    def inverse(self, v: ArrayLike) -> Any:
        """Return the specificity at which a proportion v of positives is missed."""
        return special.ndtr(
            (special.ndtri(_columns.probabilities(v, "v")) + self.b) / self.alpha
        )

    def density(self, u: ArrayLike) -> Any:
        """Return g(u): the ratio of densities at the u-quantile of the negatives."""
        # the u-quantile, standardized among negatives and among positives
        z_negative = special.ndtri(_columns.probabilities(u, "u"))
        with np.errstate(invalid="ignore", over="ignore"):
            z_positive = self.alpha * z_negative - self.b
            difference = z_negative - z_positive
            # as a product: the difference of two large squares would lose digits
            exponent = difference * (z_negative + z_positive) / 2
            return self.alpha * np.exp(exponent)


def binormal(alpha: float, b: float) -> Binormal:
    r"""Binormal ROC curve of two parameters, with its AUC and divergences.

    What are ROC curve and AUC if the scores of both classes are normal?

    .. math:: G(u) = \Phi(\alpha \Phi^{-1}(u) - b), \qquad
              \mathrm{AUC} = \Phi\!\left(\frac{b}{\sqrt{1 + \alpha^2}}\right)

    Parameters
    ----------
    alpha, b
        Standard deviation of the negatives' scores, and distance of the means, both
        divided by the standard deviation of the positives' scores.

    Examples
    --------
    >>> G = binormal(alpha=1, b=0)  # the random classifier: G(u) = u
    >>> float(G(0.25)), G.auc, G.kl_pos_to_neg
    (0.25, 0.5, 0.0)
    """
    alpha = _options.positive_number(alpha, "alpha")
    b = _options.real_number(b, "b")
    probit_of_auc = b / math.hypot(1, alpha)
    log_alpha = math.log(alpha)
    with np.errstate(over="ignore"):  # beyond the largest float it is infinite
        alpha_squared = np.float64(alpha) ** 2
        b_squared = np.float64(b) ** 2
        # eq. (49) with eq. (35): ln(alpha) + (1 + b^2) / (2 alpha^2) - 1/2
        inverse_squared = np.float64(alpha) ** -2
        ratio_squared = (np.float64(b) / alpha) ** 2
        pos_to_neg = float(log_alpha + (inverse_squared + ratio_squared) / 2 - 0.5)
        neg_to_pos = float((alpha_squared + b_squared) / 2 - log_alpha - 0.5)

    return Binormal(
        alpha=alpha,
        b=b,
        auc=float(special.ndtr(probit_of_auc)),
        area=float(special.ndtr(-probit_of_auc)),
        kl_pos_to_neg=pos_to_neg,
        kl_neg_to_pos=neg_to_pos,
    )


@final
@dataclass(frozen=True, repr=False)
class BinormalFit(Answer):
    """Binormal curve fitted to counts, with intervals and a test of the fit.

    Attributes
    ----------
    curve : Binormal
        The fitted curve.
    alpha, b, auc : Estimate
        Parameters and area with intervals.
    correlation, log_likelihood : float
        Correlation of the estimates of alpha and b; the log likelihood at its maximum.
    statistic, df, p_value : float
        Likelihood-ratio test of the fit on at most ten groups of scores; a small
        p-value says that the curve is not binormal. NaN with fewer than four groups.
    converged, iterations : bool, int
        Did the iteration converge, and in how many steps?
    """

    curve: Binormal
    alpha: Estimate
    b: Estimate
    auc: Estimate
    correlation: float
    log_likelihood: float
    statistic: float
    df: int
    p_value: float
    converged: bool
    iterations: int


# more bins than this change the estimates by less than a thousandth of their error
_MAX_BINS = 400
_MAX_STEPS = 200


@of_tally
def fit_binormal(data: Tally, *, level: float = 0.95) -> BinormalFit:
    """Binormal ROC curve by maximum likelihood, with confidence intervals.

    Which binormal curve fits these counts best?

    Maximum likelihood over alpha, b and the thresholds between neighbouring scores, so
    only the order of the scores matters (Dorfman and Alf 1969,
    doi:10.1016/0022-2496(69)90019-4; Metz, Herman and Shen 1998). Intervals are normal:
    for alpha on the log scale, for the AUC on the probit scale. Beyond 400 runs of
    consecutive cases of one class, scores are grouped.

    Examples
    --------
    >>> t = Tally([4, 3, 2, 1], pos=[40, 30, 20, 10], neg=[10, 20, 30, 40])
    >>> fit = fit_binormal(t)  # mirrored classes: equal variance
    >>> round(fit.curve.alpha, 6), fit.converged
    (1.0, True)
    """
    labelled = data.labelled()
    _cases.both_classes(labelled, "fit_binormal")
    level = _options.fraction(level, "level")
    neg, pos = _bins_of_scores(labelled)
    if neg.size < 4:
        raise NotEnoughCases(
            "A binormal fit needs classes that overlap at several scores; here one or "
            f"two thresholds describe all {labelled.n_pos:,} positives and "
            f"{labelled.n_neg:,} negatives. The empirical AUC needs no model."
        )

    try:
        maximum = _maximize_likelihood(neg, pos)
    except np.linalg.LinAlgError:
        raise NotEnoughCases(
            f"The binormal fit did not converge: with {labelled.n_pos:,} positives "
            f"and {labelled.n_neg:,} negatives in this order the likelihood increases "
            "without bound. The empirical AUC needs no model."
        ) from None

    if not maximum.converged:
        warn_user(
            f"fit_binormal stopped after {maximum.steps} steps; the classes may "
            "hardly overlap. See its field converged.",
            NotConvergedWarning,
        )

    alpha = maximum.parameters.alpha
    b = maximum.parameters.b
    curve = binormal(alpha, b)
    var_alpha, var_b = np.diag(maximum.covariance)
    fit_test = _test_fit(labelled)
    return BinormalFit(
        curve=curve,
        alpha=_normal_estimate(alpha, var_alpha, (0.0, math.inf), level),
        b=_normal_estimate(b, var_b, (-math.inf, math.inf), level),
        auc=_auc_of_fit(curve, maximum.covariance, level),
        correlation=float(maximum.covariance[0, 1] / math.sqrt(var_alpha * var_b)),
        log_likelihood=maximum.log_likelihood,
        statistic=fit_test.statistic,
        df=fit_test.df,
        p_value=fit_test.p_value,
        converged=maximum.converged,
        iterations=maximum.steps,
    )


def _bins_of_scores(t: Tally) -> tuple[Floats, Floats]:
    """Return negatives and positives in bins of scores, the lowest score first."""
    neg_runs, pos_runs = runs(t)
    neg, pos = group_counts(neg_runs[::-1], pos_runs[::-1], _MAX_BINS)
    return neg.astype(np.float64), pos.astype(np.float64)


def _normal_estimate(
    value: float, variance: float, ends: Ends, level: float
) -> Estimate:
    """Return a maximum likelihood estimate with a normal interval."""
    variance_estimate = VarianceEstimate(float(variance), math.inf, 0.0)
    estimate = estimate_from_variance(value, variance_estimate, ends, level)
    return replace(estimate, method="maximum likelihood")


def _auc_of_fit(curve: Binormal, covariance: Floats, level: float) -> Estimate:
    """Return the AUC of a fitted curve, with an interval on the probit scale."""
    # delta method on the probit scale, where the AUC is b / sqrt(1 + alpha^2)
    root = math.sqrt(1 + curve.alpha**2)
    gradient = np.array([-curve.b * curve.alpha / root**3, 1 / root])
    variance = gradient @ covariance @ gradient
    probit = _normal_estimate(curve.b / root, variance, (-math.inf, math.inf), level)
    # delta method back from the probit scale
    density = float(_normal_density(np.array(probit.value)))
    return replace(
        probit,
        value=curve.auc,
        low=float(special.ndtr(probit.low)),
        high=float(special.ndtr(probit.high)),
        se=density * probit.se,
    )


def separation(auc: float) -> float:
    """Return the distance of two standard normal distributions with this AUC."""
    return math.sqrt(2) * NormalDist().inv_cdf(auc)


class _BinormalParameters(NamedTuple):
    """Parameters of the likelihood: alpha, b, and the cuts between the bins."""

    alpha: float
    b: float
    cuts: Floats


class _BinormalMaximum(NamedTuple):
    """Where the likelihood is largest."""

    parameters: _BinormalParameters
    covariance: Floats  # of alpha and b
    log_likelihood: float
    converged: bool
    steps: int


# beyond this value of alpha or b the likelihood has no maximum
_LARGEST_PARAMETER = 1e6


def _maximize_likelihood(neg: Floats, pos: Floats) -> _BinormalMaximum:
    """Return the maximum of the likelihood, by Fisher scoring.

    Raises LinAlgError if there is no maximum: the information becomes singular, or
    alpha or b grow without bound.
    """
    parameters = _start(neg, pos)
    log_likelihood = _log_likelihood(parameters, neg, pos)
    converged = False
    number_of_steps = 0
    while number_of_steps < _MAX_STEPS and not converged:
        number_of_steps += 1
        # Fisher scoring (Dorfman and Alf 1969)
        step, _ = _scoring_step(parameters, neg, pos)
        parameters, new_log_likelihood = _move_upwards(
            parameters, step, log_likelihood, neg, pos
        )
        gain = new_log_likelihood - log_likelihood
        log_likelihood = new_log_likelihood
        _check_bounds(parameters)

        negligible_gain = 0 <= gain < 1e-13 * (1 + abs(log_likelihood))
        converged = _is_small(step, parameters) or negligible_gain

    _, covariance = _scoring_step(parameters, neg, pos)
    if not (np.linalg.eigvalsh(covariance) > 0).all():
        raise np.linalg.LinAlgError("no maximum")
    return _BinormalMaximum(
        parameters, covariance, log_likelihood, converged, number_of_steps
    )


def _move_upwards(
    parameters: _BinormalParameters,
    move: Floats,
    log_likelihood: float,
    neg: Floats,
    pos: Floats,
) -> tuple[_BinormalParameters, float]:
    """Return parameters after a step, halved until the likelihood does not fall.

    Cuts that are out of order have a likelihood of zero.
    """
    alpha, b, cuts = parameters
    # no step changes alpha by more than a factor e
    relative_step = max(1.0, abs(move[0]) / alpha)
    for halvings in range(40):
        factor = 0.5**halvings / relative_step
        moved = _BinormalParameters(
            alpha=alpha * math.exp(factor * move[0] / alpha),
            b=b + factor * move[1],
            cuts=cuts + factor * move[2:],
        )
        new_log_likelihood = _log_likelihood(moved, neg, pos)
        # near the maximum it falls by rounding alone
        if new_log_likelihood >= log_likelihood - 1e-12 * abs(log_likelihood):
            break

    return moved, new_log_likelihood


def _check_bounds(parameters: _BinormalParameters) -> None:
    """Stop where alpha or b grow without bound."""
    alpha_bounded = 1 / _LARGEST_PARAMETER < parameters.alpha < _LARGEST_PARAMETER
    if not (alpha_bounded and abs(parameters.b) < _LARGEST_PARAMETER):
        raise np.linalg.LinAlgError("out of all bounds")


def _is_small(move: Floats, parameters: _BinormalParameters) -> bool:
    """Return whether a step is too small to change alpha and b.

    A billionth of them is far below their standard errors.
    """
    small_in_alpha = abs(move[0]) / parameters.alpha < 1e-9
    small_in_b = abs(move[1]) < 1e-9 * (1 + abs(parameters.b))
    return bool(small_in_alpha and small_in_b)


def _start(neg: Floats, pos: Floats) -> _BinormalParameters:
    """Return starting values, by a line through the probits of both distributions."""
    # half a case keeps the cuts finite, a tiny trend keeps them in order
    trend = 1e-6 * np.arange(1, neg.size) / neg.size
    below_neg = (np.cumsum(neg)[:-1] + 0.5 + trend) / (neg.sum() + 1 + 1e-6)
    below_pos = (np.cumsum(pos)[:-1] + 0.5) / (pos.sum() + 1)
    probit_neg = _finite_probit(below_neg)
    probit_pos = _finite_probit(below_pos)

    # least squares: the slope of the positives' probits by those of the negatives
    variance = float(np.var(probit_neg))
    slope = 1.0
    if variance:
        deviations_neg = probit_neg - probit_neg.mean()
        deviations_pos = probit_pos - probit_pos.mean()
        slope = float(np.mean(deviations_neg * deviations_pos)) / variance

    # a start that is extreme would converge slowly
    alpha = min(max(slope, 0.2), 5.0)
    b = alpha * float(probit_neg.mean()) - float(probit_pos.mean())
    # the mean of the cuts from the negatives and of those from the positives
    cuts = (probit_neg + (probit_pos + b) / alpha) / 2
    return _BinormalParameters(alpha, b, cuts)


def _finite_probit(proportion: Floats) -> Floats:
    """Return normal quantiles, finite even where proportions round to 0 or 1."""
    return np.asarray(special.ndtri(np.clip(proportion, 1e-16, 1 - 1e-16)))


def _edges(parameters: _BinormalParameters) -> tuple[Floats, Floats]:
    """Return the edges of the bins, standardized among negatives and positives."""
    edges_neg = np.concatenate([[-np.inf], parameters.cuts, [np.inf]])
    edges_pos = parameters.alpha * edges_neg - parameters.b
    return edges_neg, edges_pos


def _log_likelihood(parameters: _BinormalParameters, neg: Floats, pos: Floats) -> float:
    """Return the log likelihood; minus infinity where the cuts are out of order."""
    cuts = parameters.cuts
    if cuts.size > 1 and not (np.diff(cuts) > 0).all():
        return -math.inf

    edges_neg, edges_pos = _edges(parameters)
    prob_neg = _interval_probabilities(edges_neg)
    prob_pos = _interval_probabilities(edges_pos)
    # bins without a case of a class may have no probability
    with np.errstate(divide="ignore", invalid="ignore"):
        terms_neg = np.where(neg > 0, neg * np.log(prob_neg), 0.0)
        terms_pos = np.where(pos > 0, pos * np.log(prob_pos), 0.0)

    return float((terms_neg + terms_pos).sum())


def _interval_probabilities(edges: Floats) -> Floats:
    """Return normal probabilities between neighbouring edges, exact in both tails."""
    low = edges[:-1]
    high = edges[1:]
    # in the upper tail both values of Phi are near 1, and their difference is lost
    upper_tails = special.ndtr(-low) - special.ndtr(-high)
    lower_tails = special.ndtr(high) - special.ndtr(low)
    return np.asarray(np.where(low > 0, upper_tails, lower_tails))


def _scoring_step(
    parameters: _BinormalParameters, neg: Floats, pos: Floats
) -> tuple[Floats, Floats]:
    """Return the step of Fisher scoring, and the covariance of (alpha, b).

    The step solves information * step = score.

    The information of the cuts is tridiagonal, so they are eliminated first.
    """
    from scipy.linalg import solveh_banded

    alpha = parameters.alpha
    cuts = parameters.cuts
    n_neg = neg.sum()
    n_pos = pos.sum()
    edges_neg, edges_pos = _edges(parameters)
    prob_neg = np.maximum(_interval_probabilities(edges_neg), 1e-300)
    prob_pos = np.maximum(_interval_probabilities(edges_pos), 1e-300)

    # derivatives of the probabilities of the bins: by each cut, and by alpha and b, as
    # differences between both edges of a bin
    density_neg = _normal_density(cuts)
    density_pos = _normal_density(edges_pos[1:-1])
    slope_pos = alpha * density_pos
    by_alpha = np.diff(cuts * density_pos, prepend=0.0, append=0.0)
    by_b = np.diff(-density_pos, prepend=0.0, append=0.0)
    by_curve = np.stack([by_alpha, by_b])

    with np.errstate(over="ignore", invalid="ignore"):
        cut_information = _cut_information(density_neg, prob_neg, n_neg)
        cut_information += _cut_information(slope_pos, prob_pos, n_pos)
        cross_information = n_pos * np.stack(
            [_sum_by_cut(slope_pos, row / prob_pos) for row in by_curve]
        )
        curve_information = n_pos * (by_curve / prob_pos) @ by_curve.T
        curve_score = by_curve @ (pos / prob_pos)
        cut_score = _sum_by_cut(density_neg, neg / prob_neg)
        cut_score = cut_score + _sum_by_cut(slope_pos, pos / prob_pos)

    parts = (
        cut_information,
        cross_information,
        curve_information,
        curve_score,
        cut_score,
    )
    if not all(np.isfinite(derivatives).all() for derivatives in parts):
        raise np.linalg.LinAlgError("very many cases where none are expected")

    solved = solveh_banded(
        cut_information, np.column_stack([cross_information.T, cut_score])
    )
    cuts_by_curve = solved[:, :2]
    cuts_alone = solved[:, 2]
    # Schur complement: the information of (alpha, b) with the cuts eliminated
    schur = curve_information - cross_information @ cuts_by_curve
    covariance = np.linalg.inv(schur)
    curve_step = covariance @ (curve_score - cross_information @ cuts_alone)
    cut_step = cuts_alone - cuts_by_curve @ curve_step
    return np.concatenate([curve_step, cut_step]), covariance


def _cut_information(slope: Floats, probability: Floats, n: float) -> Floats:
    """Return the information of the cuts from one class, as an upper band.

    A cut is the upper edge of one bin and the lower edge of the next.
    """
    band = np.zeros((2, slope.size))
    band[1] = n * slope**2 * (1 / probability[:-1] + 1 / probability[1:])
    band[0, 1:] = -(n * slope[1:] * slope[:-1] / probability[1:-1])
    return band


def _normal_density(z: Floats) -> Floats:
    """Return the density of the standard normal distribution."""
    return np.asarray(np.exp(-z * z / 2) / math.sqrt(2 * math.pi))


def _sum_by_cut(slope: Floats, weight: Floats) -> Floats:
    """Return the derivative of sum(weight * probability of bin) by each cut.

    A cut that rises enlarges the bin below it, and shrinks the one above.
    """
    return np.asarray(slope * (weight[:-1] - weight[1:]))


class _FitTest(NamedTuple):
    """Likelihood-ratio test of the fit; NaN where there are too few groups."""

    statistic: float
    df: int
    p_value: float


def _test_fit(t: Tally) -> _FitTest:
    """Return the likelihood ratio test of the fit, on a few groups of scores."""
    from scipy.special import chdtrc

    # ten groups, or fewer, so that each has about five cases of a class
    n_groups = min(10, max(4, min(t.n_pos, t.n_neg) // 5))
    neg, pos = group_counts(t.neg[::-1], t.pos[::-1], n_groups)
    undefined = _FitTest(math.nan, 0, math.nan)
    # two classes of n - 1 free proportions, less n - 1 cuts, alpha and b
    df = neg.size - 3
    if df < 1:
        return undefined

    neg = neg.astype(np.float64)
    pos = pos.astype(np.float64)
    try:
        fitted = _maximize_likelihood(neg, pos).log_likelihood
    except np.linalg.LinAlgError:
        return undefined

    saturated = _multinomial_log_likelihood(neg) + _multinomial_log_likelihood(pos)
    statistic = max(0.0, 2 * (saturated - fitted))
    return _FitTest(statistic, df, float(chdtrc(df, statistic)))


def _multinomial_log_likelihood(counts: Floats) -> float:
    """Return the log likelihood of counts at their own proportions."""
    filled = counts[counts > 0]
    return float(np.sum(filled * np.log(filled / counts.sum())))


class ScoreModel(NamedTuple):
    """A distribution of scores with a given AUC.

    ``placement_variances`` is a function of the AUC and the numbers of positives and
    negatives; ``draw`` returns scores for labels.
    """

    placement_variances: Callable[[float, int, int], tuple[float, float]]
    draw: Callable[[np.random.Generator, Array, float], Floats]


def _binormal_variances(area: float, pos: int, neg: int) -> tuple[float, float]:
    """Return the variances of placements of normal scores with equal variances."""
    variance = joint_excess(area, area, 0.5)
    return variance, variance


def _draw_binormal(rng: np.random.Generator, label: Array, area: float) -> Floats:
    """Draw normal scores with equal variances."""
    return np.asarray(rng.normal(size=label.shape) + separation(area) * label)


def _exponential_variances(area: float, pos: int, neg: int) -> tuple[float, float]:
    """Return the variances of placements of exponential scores (Hanley, McNeil)."""
    return placement_variances(area)


def _draw_exponential(rng: np.random.Generator, label: Array, area: float) -> Floats:
    """Draw exponential scores; the mean of the positives follows from the AUC."""
    means = np.where(label, area / (1 - area), 1.0)
    return np.asarray(rng.exponential(size=label.shape) * means)


def _fermi(n: int, n_pos: int, auc: float) -> Any:
    """Return the Fermi-Dirac distribution of ranks."""
    from trueness.fermi.distribution import fermi_dirac  # an AUC does without it

    return fermi_dirac(n=n, n_pos=n_pos, auc=auc)


def _fermi_variances(area: float, pos: int, neg: int) -> tuple[float, float]:
    """Return the variances of placements of the Fermi-Dirac distribution."""
    distribution = _fermi(pos + neg, pos, area)
    return distribution.p100 - area**2, distribution.p110 - area**2


def _draw_fermi(rng: np.random.Generator, label: Array, area: float) -> Floats:
    """Return scores from ranks that are drawn for each class.

    Cases at the same rank are in random order.
    """
    n = label.shape[-1]
    n_pos = min(max(round(n * float(label.mean())), 1), n - 1)
    probability = _fermi(n, n_pos, area).probability(np.arange(1, n + 1))
    # ranks by inversion of the distribution function of their class
    uniform = rng.random(label.shape)
    rank_if_negative = np.searchsorted(_cumulative(1 - probability), uniform)
    rank_if_positive = np.searchsorted(_cumulative(probability), uniform)
    scores = np.where(label, -rank_if_positive, -rank_if_negative)
    # below 1, so that only cases at one rank change places
    return np.asarray(scores + rng.random(label.shape))


def _cumulative(probability: Floats) -> Floats:
    """Return the distribution function of ranks."""
    return np.asarray(np.cumsum(probability) / probability.sum())


MODELS: dict[str, ScoreModel] = {
    "binormal": ScoreModel(_binormal_variances, _draw_binormal),
    "hanley-mcneil": ScoreModel(_exponential_variances, _draw_exponential),
    "fermi-dirac": ScoreModel(_fermi_variances, _draw_fermi),
}


def model_variance(model: str, area: float, pos: int, neg: int) -> float:
    """Return the variance of the AUC between samples (Kim et al. 2021, eq. 18)."""
    variance_of_positives, variance_of_negatives = MODELS[model].placement_variances(
        area, pos, neg
    )
    return float(
        auc_variance_from_placements(
            area, variance_of_positives, variance_of_negatives, pos, neg
        )
    )


def joint_excess(a: float, b: float, rho: float) -> float:
    """Return Phi_2(h, k; rho) - a b by quadrature over rho (Plackett's identity).

    h and k are the normal quantiles of a and b. At rho = 1/2 it is the variance of
    placements of normal scores, or their covariance.
    """
    h = float(special.ndtri(a))
    k = float(special.ndtri(b))
    nodes, weights = np.polynomial.legendre.leggauss(40)
    # d Phi_2 / d rho is the density; with rho = sin(angle) it has no pole at 1
    angle = math.asin(rho) * (nodes + 1) / 2
    sine = np.sin(angle)
    # from (-1, 1) of the nodes to the angles between 0 and asin(rho)
    density = np.exp(-(h * h - 2 * h * k * sine + k * k) / (2 * np.cos(angle) ** 2))
    return float(weights @ density) * math.asin(rho) / 2 / (2 * math.pi)
