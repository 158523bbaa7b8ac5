"""Which smooth curve turns scores into probabilities? Two or three parameters.

Where a threshold separates the classes perfectly, a steeper curve is always more
likely; then Platt's targets are used instead of 0 and 1, as ``targets`` says.
"""

from __future__ import annotations

import math
import warnings
from dataclasses import field
from itertools import product

import numpy as np
from scipy.special import ndtr

from trueness._core.arrays import Floats
from trueness._core.checks import columns as _columns
from trueness._core.checks import options as _options
from trueness._core.checks.errors import (
    InputError,
    NotConvergedWarning,
    NotEnoughCases,
)
from trueness._core.solvers import LogisticFit, are_separated, fit_logistic
from trueness.calibration.field_rules import (
    check_ascending,
    check_counts,
    check_ends,
    check_finite,
    check_shape,
)
from trueness.calibration.logistic_errors import (
    LogisticCurve,
    logistic_error_draws,
    logistic_error_variance,
    logistic_reference,
)
from trueness.calibration.maps import TRANSFORMS, Formula, Map, just_above, register
from trueness.counts.expected_labels import Reference
from trueness.counts.placements import twice_wins
from trueness.counts.values import Tally
from trueness.fermi.solver import solve
from trueness.ranking.models import fit_binormal, separation

_EPS = 2.0**-52
_SCALES = ("identity", "logit")
_TARGETS = ("labels", "smoothed")
# the grid of the hidden scale of the binormal map, and Newton's steps from its cells
_GRID_CELLS = 1000
_NEWTON_STEPS = 4


@register("platt")
class Platt(Map):
    """``logit p = intercept + slope f(score)``, with f "identity" or "logit".

    Scores beyond ``low`` and ``high`` are taken as these (see :func:`open_ends`).
    """

    intercept: float
    slope: float
    scale: str = "identity"
    targets: str = "labels"
    low: float = -math.inf
    high: float = math.inf
    _reference: Reference | None = field(default=None, compare=False)

    def __post_init__(self) -> None:
        _options.choice(self.scale, _SCALES, "scale")
        _options.choice(self.targets, _TARGETS, "targets")
        check_finite("intercept", self.intercept)
        check_finite("slope", self.slope)
        check_ends(self.low, self.high, scale=self.scale)

    @property
    def expression(self) -> Formula:
        """Return the logistic curve."""
        terms = ((self.slope, self.scale),)
        return (("logistic", self.intercept, terms, self.low, self.high),)

    def error_variance(self, score: Floats, by_log_odds: Floats) -> float:
        """Return the variance of a value that is due to the error of the curve."""
        columns = [self._transform(score)]
        return logistic_error_variance(self.reference, columns, by_log_odds)

    def error_draws(
        self, score: Floats, n_draws: int, rng: np.random.Generator
    ) -> Floats | None:
        """Return errors (n_draws, m) of the log odds at these scores."""
        columns = [self._transform(score)]
        return logistic_error_draws(self.reference, columns, n_draws, rng)

    def _transform(self, score: Floats) -> Floats:
        """Return the scores on the scale of the curve, within its ends."""
        return TRANSFORMS[self.scale](np.clip(score, self.low, self.high))


@register("beta")
class Beta(Map):
    """Ratio of two beta densities: ``logit p = c + a ln s - b ln(1 - s)``."""

    a: float
    b: float
    c: float
    targets: str = "labels"
    low: float = _EPS
    high: float = 1 - _EPS

    def __post_init__(self) -> None:
        _options.choice(self.targets, _TARGETS, "targets")
        check_finite("a", self.a)
        check_finite("b", self.b)
        check_finite("c", self.c)
        if self.a < 0 or self.b < 0:
            raise InputError(
                f"a and b must be 0 or more; found {self.a!r} and {self.b!r}."
            )

        check_finite("low", self.low)
        check_finite("high", self.high)
        check_ends(self.low, self.high, scale="log")

    @property
    def expression(self) -> Formula:
        """Return the logistic curve in ln s and ln(1 - s)."""
        terms = ((self.a, "log"), (-self.b, "log1m"))
        return (("logistic", self.c, terms, self.low, self.high),)


@register("temperature")
class Temperature(Map):
    """One factor on the log-odds: ``logit p = logit(s) / temperature``.

    Infinite where scores are of no use (p = 1/2); log-odds have ``scale`` "identity".
    """

    temperature: float
    scale: str = "logit"
    targets: str = "labels"
    low: float = -math.inf
    high: float = math.inf

    def __post_init__(self) -> None:
        _options.choice(self.scale, _SCALES, "scale")
        _options.choice(self.targets, _TARGETS, "targets")
        if not self.temperature > 0:
            raise InputError(
                f"temperature must be above 0; found {self.temperature!r}."
            )
        check_ends(self.low, self.high, scale=self.scale)

    @property
    def expression(self) -> Formula:
        """Return the logistic curve without an intercept."""
        terms = ((1 / self.temperature, self.scale),)
        return (("logistic", 0.0, terms, self.low, self.high),)


def platt(t: Tally, *, targets: str = "auto", scale: str = "identity") -> Platt:
    """Platt scaling: the logistic curve in the score that fits the labels best.

    ``targets`` "labels" is maximum likelihood; "smoothed" replaces 1 and 0 by
    (n_pos + 1)/(n_pos + 2) and 1/(n_neg + 2) (Platt 1999, section 2.2; scikit-learn);
    "auto" is "labels" unless the classes are separated. ``scale`` is "identity" (Platt)
    or "logit": logistic recalibration (Cox 1958, doi:10.1093/biomet/45.3-4.562).

    >>> c = platt(Tally([1, 2, 3], neg=[3, 2, 1], pos=[1, 2, 3]))
    >>> round(c.slope / math.log(3), 9)  # log-odds rise by ln 9 over 2 steps
    1.0
    """
    _options.choice(scale, _SCALES, "scale")
    columns, (low, high) = _regressors(t, (scale,), "platt")
    is_separated = are_separated(columns[0], t.pos, t.neg)
    targets = _choose_targets(targets, is_separated)

    fit = _fit(columns, t, targets)
    intercept, slope = fit.coefficients.tolist()
    curve = LogisticCurve(columns, fit.coefficients, fit.covariance)
    reference = logistic_reference(t, curve)
    return Platt(intercept, slope, scale, targets, low, high, reference)


def beta(t: Tally, *, targets: str = "auto") -> Beta:
    r"""Beta calibration: the ratio of beta densities that fits the labels best.

    .. math:: \mathrm{logit}\, p = c + a \ln s - b \ln(1 - s), \qquad a, b \ge 0

    Scores that are calibrated already are left alone (a = b = 1, c = 0). Kull, Silva
    Filho and Flach (2017), doi:10.1214/17-EJS1338SI, eq. (7). Differs from algorithm 1:
    every face of the constraint is fitted and the most likely one taken.

    >>> beta(Tally([0.2, 0.8], neg=[80, 20], pos=[20, 80]))([0.2, 0.8]).round(6)
    array([0.2, 0.8])
    """
    (log, log1m), (low, high) = _regressors(t, ("log", "log1m"), "beta")
    targets = _choose_targets(targets, are_separated(log, t.pos, t.neg))

    likelihoods = []
    maps = []
    # slopes a, b >= 0: the maximum lies inside, or on a face where one or both are 0
    for use_a, use_b in product((True, False), repeat=2):
        columns = []
        if use_a:
            columns.append(log)
        if use_b:
            columns.append(-log1m)

        fit = _fit(columns, t, targets)
        c, *slopes = fit.coefficients.tolist()
        a = slopes[0] if use_a else 0.0
        b = slopes[-1] if use_b else 0.0
        if a >= 0 and b >= 0 and fit.converged:
            likelihoods.append(fit.log_likelihood)
            maps.append(Beta(a, b, c, targets, low, high))

    return maps[likelihoods.index(max(likelihoods))]


def temperature(
    t: Tally, *, targets: str = "auto", scale: str = "logit"
) -> Temperature:
    """Temperature scaling: the factor by which the log-odds are too large.

    The threshold 1/2 stays where it is, so a wrong prevalence is not corrected (Guo
    et al. 2017, arXiv:1706.04599). Scores that are log-odds have ``scale="identity"``.

    >>> round(temperature(Tally([0.9, 0.1], neg=[1, 3], pos=[3, 1])).temperature, 6)
    2.0
    """
    _options.choice(scale, _SCALES, "scale")
    columns, (low, high) = _regressors(t, (scale,), "temperature")
    is_separated = are_separated(columns[0], t.pos, t.neg, only_cut=0.0)
    targets = _choose_targets(targets, is_separated)

    fit = _fit(columns, t, targets, intercept=False)
    slope = max(float(fit.coefficients[1]), 0.0)
    factor = 1 / slope if slope else math.inf
    return Temperature(factor, scale, targets, low, high)


def _regressors(
    t: Tally, names: tuple[str, ...], method: str
) -> tuple[list[Floats], tuple[float, float]]:
    """Return columns of transformed scores, and the ends where scores are clipped."""
    if names == ("identity",):
        return [TRANSFORMS["identity"](t.score)], (-math.inf, math.inf)

    remedy = "The method platt takes scores on another scale."
    if method == "temperature":
        remedy = (
            "Set scale to identity for log-odds, or use the method platt for other "
            "scores."
        )

    _columns.unit_scores(t.score, f"The method {method!r}", remedy)
    low, high = open_ends(t.score)
    score = np.clip(t.score, low, high)
    return [TRANSFORMS[name](score) for name in names], (low, high)


def open_ends(score: Floats) -> tuple[float, float]:
    """Return ends above 0 and below 1, between which scores have a logit.

    A score of exactly 0 becomes half the smallest score above 0 (and 1 likewise): a
    forest of 100 trees that says 0 means "below 1/100", not "never".
    """
    distance_from_0 = _EPS
    distance_from_1 = _EPS
    inner = score[(score > 0) & (score < 1)]
    if inner.size and score.min() == 0:
        distance_from_0 = max(_EPS, float(inner.min()) / 2)
    if inner.size and score.max() == 1:
        distance_from_1 = max(_EPS, float(1 - inner.max()) / 2)
    return distance_from_0, 1 - distance_from_1


def _choose_targets(targets: str, is_separated: bool) -> str:
    """Return "labels", or "smoothed" where classes are separated perfectly."""
    _options.choice(targets, ("labels", "smoothed", "auto"), "targets")
    if targets == "labels" and is_separated:
        raise NotEnoughCases(
            "Maximum likelihood needs classes that overlap; here one threshold "
            "separates them perfectly.",
            option="targets",
            choices=("auto", "smoothed"),
        )
    if targets == "auto":
        return "smoothed" if is_separated else "labels"
    return targets


def _fit(
    columns: list[Floats], t: Tally, targets: str, intercept: bool = True
) -> LogisticFit:
    """Return a logistic regression on the labels, or on Platt's targets."""
    pos = t.pos
    neg = t.neg
    if targets == "smoothed":  # Platt (1999), section 2.2
        n_neg, n_pos = t.equal_cases
        target_of_positive = (n_pos + 1) / (n_pos + 2)
        target_of_negative = 1 / (n_neg + 2)
        # a case counts as both labels, with its target as the part of a positive
        pos = t.pos * target_of_positive + t.neg * target_of_negative
        neg = t.pos * (1 - target_of_positive) + t.neg * (1 - target_of_negative)

    return fit_logistic(columns, pos, neg, intercept=intercept)


@register("fermi-dirac")
class FermiDiracMap(Map):
    """``logit p = height - beta (rank - centre)`` among ``cases`` of each ``score``."""

    score: Floats
    cases: Floats
    beta: float
    centre: float
    height: float

    def __post_init__(self) -> None:
        super().__post_init__()
        check_ascending("score", self.score)
        check_counts("cases", self.cases, self.score.size)
        check_finite("beta", self.beta)
        check_finite("centre", self.centre)
        check_finite("height", self.height)

    @property
    def expression(self) -> Formula:
        """Return the table of ranks, then the logistic curve in the rank."""
        # each row has two edges: its score, and the next float above it
        edges = np.stack([self.score, just_above(self.score)], axis=1).ravel()
        # the ranks between two rows, and at each row, where ties share the mean rank
        after = np.cumsum(self.cases[::-1])[::-1] + 0.5
        row = np.stack([after - self.cases / 2, after - self.cases], axis=1)
        rank = np.concatenate([after[:1], row.ravel()])
        curve = (self.height, ((-self.beta, "identity"),), -math.inf, math.inf)
        return ("table", edges, rank - self.centre), ("logistic", *curve)


def fermi_dirac_map(t: Tally) -> FermiDiracMap:
    """Fermi-Dirac map: the probability of a rank, from AUC and prevalence alone.

    ``logit p = beta (mu - rank)`` with beta and mu of :func:`trueness.fermi_dirac` (Kim
    et al. 2021, eq. 5, doi:10.1073/pnas.2100761118). It needs few cases, and is off by
    up to 0.3 where prevalence is low and AUC high.

    >>> float(fermi_dirac_map(Tally([1, 2, 3], neg=[3, 2, 1], pos=[1, 2, 3]))(2.0))
    0.5
    """
    beta, log_likelihood_ratio, centre = solve(t.n, t.n_pos, _softened_auc(t))
    height = math.log(t.n_pos / t.n_neg) + log_likelihood_ratio
    cases = (t.neg + t.pos)[::-1].astype(np.float64)
    return FermiDiracMap(t.score[::-1], cases, beta, centre, height)


@register("binormal")
class BinormalMap(Map):
    """Two normal classes on a hidden scale, in the order of the scores.

    ``hidden`` are the values of ``score`` on the scale on which negatives are standard
    normal and positives have this ``mean`` and ``sd``.
    """

    score: Floats
    hidden: Floats
    mean: float
    sd: float
    prevalence: float

    def __post_init__(self) -> None:
        super().__post_init__()
        check_ascending("score", self.score)
        check_ascending("hidden", self.hidden, strictly=False)
        check_shape("hidden", self.hidden, self.score.shape)
        check_finite("mean", self.mean)
        check_finite("sd", self.sd)
        if self.sd <= 0:
            raise InputError(f"sd must be above 0; found {self.sd!r}.")

        _options.fraction(self.prevalence, "prevalence")

    @property
    def expression(self) -> Formula:
        """Return straight lines to the hidden scale, then the likelihood ratio."""
        odds = self.prevalence / (1 - self.prevalence)
        precision = self.sd**-2
        # log of the ratio of the two normal densities, by powers of z
        constant = math.log(odds / self.sd) - self.mean**2 * precision / 2
        terms = ((self.mean * precision, "identity"), ((1 - precision) / 2, "square"))
        curve = ("logistic", constant, terms, -math.inf, math.inf)
        return ("lines", self.score, self.hidden), curve


def binormal(t: Tally) -> BinormalMap:
    """Binormal map: two normal distributions on a hidden scale explain the labels.

    They are those of ``fit_binormal`` (Dorfman and Alf 1969). A case lies where the
    mixture of both reaches its mid-rank; the hidden scale is interpolated between
    scores, and constant beyond them. Unless alpha = 1, the probability is not
    monotone. Where no curve is best, alpha is 1, and an AUC of 1 is treated as if half
    a pair were in the wrong order.

    >>> t = Tally([1, 2, 3, 4], neg=[40, 30, 20, 10], pos=[10, 20, 30, 40])
    >>> c = binormal(t)
    >>> round(float(c(4.0) + c(1.0)), 4), round(c.sd, 3)
    (1.0, 1.0)
    """
    mean, sd = _normal_of_positives(t)
    cases = (t.pos + t.neg)[::-1]
    # the proportion of the cases below each row, its own cases counted half
    rank = np.asarray((np.cumsum(cases) - cases / 2) / cases.sum())
    hidden = _mixture_quantiles(rank, mean, sd, t.prevalence)
    return BinormalMap(t.score[::-1], hidden, mean, sd, t.prevalence)


def _normal_of_positives(t: Tally) -> tuple[float, float]:
    """Return the mean and standard deviation of positives; negatives are N(0, 1)."""
    try:
        with warnings.catch_warnings():
            # a curve that has nearly converged is good enough
            warnings.simplefilter("ignore", NotConvergedWarning)
            curve = fit_binormal(t).curve
    except NotEnoughCases:
        # no curve is best: take equal variances and this AUC
        return separation(_softened_auc(t)), 1.0

    return curve.b / curve.alpha, 1 / curve.alpha


def _mixture_quantiles(
    rank: Floats, mean: float, sd: float, prevalence: float
) -> Floats:
    """Return the quantiles of a mixture of two normals at these ranks, by Newton steps.

    Negatives are standard normal, positives have this ``mean`` and ``sd``. A quantile
    is z, and x is its standardized value among positives.
    """
    rho = prevalence
    # beyond nine standard deviations, ranks round to 0 or 1
    lowest = min(-9.0, mean - 9 * sd)
    highest = max(9.0, mean + 9 * sd)
    grid = np.linspace(lowest, highest, _GRID_CELLS + 1)
    distribution = (1 - rho) * ndtr(grid) + rho * ndtr((grid - mean) / sd)
    cell = np.clip(np.searchsorted(distribution, rank), 1, _GRID_CELLS)
    cell_start = grid[cell - 1]
    cell_end = grid[cell]

    # straight between grid points, then Newton's steps
    z = np.interp(rank, distribution, grid)
    for _ in range(_NEWTON_STEPS):
        x = (z - mean) / sd
        excess = (1 - rho) * ndtr(z) + rho * ndtr(x) - rank
        # the density times the square root of 2 pi
        density = (1 - rho) * np.exp(-z * z / 2) + rho / sd * np.exp(-x * x / 2)
        step = excess * math.sqrt(2 * math.pi) / np.maximum(density, 1e-300)
        # between well separated classes the density may be 0: stay in the cell
        z = np.clip(z - step, cell_start, cell_end)

    return z


def _softened_auc(t: Tally) -> float:
    """Return the AUC, but at least half a pair away from 0 and 1."""
    pairs = t.n_pos * t.n_neg
    area = twice_wins(t) / (2 * pairs)
    # a single pair counts by a quarter, so that the AUC is 3/4 or 1/4
    half_pair = 0.5 / pairs if pairs > 1 else 0.25
    return float(min(max(area, half_pair), 1 - half_pair, math.nextafter(1, 0)))
