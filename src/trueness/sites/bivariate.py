r"""Sensitivity and specificity of several sites or studies together.

The bivariate model: the log odds of both vary between sites, with a correlation,

.. math:: \begin{pmatrix}\mathrm{logit}\,Se_i\\ \mathrm{logit}\,Sp_i\end{pmatrix}
          \sim N(\mu, \Sigma)

``method="normal"`` takes the observed log odds as normal (Reitsma et al. 2005), by
restricted maximum likelihood. ``method="binomial"`` keeps the counts as they are, as
binomial (Chu and Cole 2006), by Laplace's approximation of the likelihood.

References
----------
Reitsma et al. (2005), doi:10.1016/j.jclinepi.2005.02.022; Chu, Cole (2006),
doi:10.1016/j.jclinepi.2006.06.011; Harbord et al. (2007),
doi:10.1093/biostatistics/kxl004; Rutter, Gatsonis (2001), doi:10.1002/sim.942
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from trueness._core.arrays import Floats

# sensitivity first, specificity second, everywhere in this module
_PAIR = 2
# a smaller standard deviation on the log odds scale counts as zero
_NO_VARIATION = 1e-5


@dataclass(frozen=True)
class StudyCounts:
    """Cells of 2x2 tables, one entry for each study."""

    true_positives: Floats
    false_positives: Floats
    false_negatives: Floats
    true_negatives: Floats

    @property
    def correct(self) -> Floats:
        """Return the correct verdicts of positives and of negatives, shape (k, 2)."""
        return np.column_stack([self.true_positives, self.true_negatives])

    @property
    def wrong(self) -> Floats:
        """Return the wrong verdicts of positives and of negatives, shape (k, 2)."""
        return np.column_stack([self.false_negatives, self.false_positives])

    @property
    def lacks_a_kind(self) -> bool:
        """Return whether all studies lack correct, or wrong, verdicts of a class."""
        totals = np.concatenate([self.correct.sum(axis=0), self.wrong.sum(axis=0)])
        return bool((totals == 0).any())

    @property
    def has_zero_cell(self) -> bool:
        """Return whether a cell is empty."""
        return bool((self.correct == 0).any() or (self.wrong == 0).any())


@dataclass(frozen=True)
class BivariateFit:
    """A fitted bivariate model, on the log odds scale.

    Attributes
    ----------
    mean : array (2,)
        Of sensitivity and specificity.
    covariance : array (2, 2)
        Of the mean.
    between : array (2, 2)
        The covariance between sites.
    log_likelihood : float
        Restricted, of the normal model.
    converged : bool
    """

    mean: Floats
    covariance: Floats
    between: Floats
    log_likelihood: float
    converged: bool

    @property
    def deviations(self) -> Floats:
        """Return the standard deviations between sites."""
        return np.sqrt(np.diag(self.between))

    @property
    def correlation(self) -> float:
        """Return the correlation between sites; NaN where one does not vary."""
        if self.deviations.min() < _NO_VARIATION:
            return math.nan
        return float(self.between[0, 1]) / float(np.prod(self.deviations))


def fit_normal(counts: StudyCounts) -> BivariateFit:
    """Return the model of Reitsma et al. (2005), by restricted maximum likelihood.

    If a cell of any study is empty, half a case is added to each cell of all studies,
    as R's mada does.
    """
    added = 0.5 if counts.has_zero_cell else 0.0
    correct = counts.correct + added
    wrong = counts.wrong + added
    values = np.log(correct / wrong)
    variances = 1 / correct + 1 / wrong

    def deviance(root: Floats) -> tuple[float, Floats]:
        return _restricted_deviance(_lower_triangle(root), values, variances)

    # moments: the variance of the values less that within studies
    start = np.sqrt(
        np.maximum(values.var(axis=0, ddof=1) - variances.mean(axis=0), 0.01)
    )
    root, converged = _minimise_from(
        [_root_entries(start, correlation) for correlation in (-0.5, 0.0, 0.5)],
        deviance,
    )
    factor = _lower_triangle(root)
    mean, covariance = _generalised_mean(factor, values, variances)
    studies = values.shape[0]
    # the constant of a restricted likelihood: 2 k values less two means
    constant = (_PAIR * studies - _PAIR) * math.log(2 * math.pi)
    value, _ = deviance(root)

    return BivariateFit(
        mean=mean,
        covariance=covariance,
        between=factor @ factor.T,
        log_likelihood=-0.5 * (value + constant),
        converged=converged,
    )


def _root_entries(deviations: Floats, correlation: float) -> Floats:
    """Return the entries of a lower triangular root of a covariance."""
    first, second = deviations
    remaining = math.sqrt(1 - correlation**2)
    return np.array([first, correlation * second, remaining * second])


def _lower_triangle(entries: Floats) -> Floats:
    """Return the root L of a covariance L L' from its three entries."""
    return np.array([[entries[0], 0.0], [entries[1], entries[2]]])


def _precisions(factor: Floats, variances: Floats) -> Floats:
    """Return the inverse covariance of the values of each study, (k, 2, 2)."""
    total = np.repeat((factor @ factor.T)[None], variances.shape[0], axis=0)
    total[:, 0, 0] += variances[:, 0]
    total[:, 1, 1] += variances[:, 1]
    return np.asarray(np.linalg.inv(total))


def _generalised_mean(
    factor: Floats, values: Floats, variances: Floats
) -> tuple[Floats, Floats]:
    """Return the mean by generalised least squares, and its covariance."""
    precisions = _precisions(factor, variances)
    covariance = np.linalg.inv(precisions.sum(axis=0))
    # i: studies, a and b: sensitivity and specificity
    mean = covariance @ np.einsum("iab,ib->a", precisions, values)
    return mean, covariance


def _restricted_deviance(
    factor: Floats, values: Floats, variances: Floats
) -> tuple[float, Floats]:
    """Return minus twice the restricted log-likelihood, and its slopes by the root."""
    precisions = _precisions(factor, variances)
    mean, covariance = _generalised_mean(factor, values, variances)
    weighted_residuals = np.einsum("iab,ib->ia", precisions, values - mean)

    squares = float((weighted_residuals * (values - mean)).sum())
    _, log_precisions = np.linalg.slogdet(precisions)
    _, log_covariance = np.linalg.slogdet(covariance)
    deviance = squares - float(log_precisions.sum()) - float(log_covariance)

    # by the covariance between sites: tr P minus the squares of weighted residuals
    by_covariance = (
        precisions.sum(axis=0)
        - np.einsum("iab,bc,icd->ad", precisions, covariance, precisions)
        - weighted_residuals.T @ weighted_residuals
    )
    by_factor = 2 * by_covariance @ factor
    slopes = np.array([by_factor[0, 0], by_factor[1, 0], by_factor[1, 1]])

    return deviance, slopes


def _minimise_from(
    starts: list[Floats], function: Callable[[Floats], tuple[float, Floats]]
) -> tuple[Floats, bool]:
    """Return the lowest minimum that is reached from several starts."""
    from scipy.optimize import minimize

    results = [
        minimize(function, start, jac=True, method="BFGS", options={"gtol": 1e-10})
        for start in starts
    ]
    best = min(results, key=lambda result: float(result.fun))
    # rounding may stop the search before its tolerance, where the slope is near zero
    converged = bool(np.abs(best.jac).max() < 1e-4 * max(1.0, abs(float(best.fun))))

    return np.asarray(best.x), converged


def fit_binomial(counts: StudyCounts) -> BivariateFit:
    """Return the model of Chu and Cole (2006), by Laplace's approximation.

    Maximum likelihood, as ``glmer`` of R's lme4 with ``nAGQ=1``. The covariance of the
    mean is from the observed information of all parameters.
    """
    modes = _ConditionalModes(counts.correct, counts.wrong)

    def deviance(parameters: Floats) -> float:
        return -2 * modes.log_likelihood(
            parameters[:_PAIR], _lower_triangle(parameters[_PAIR:])
        )

    def deviance_with_slopes(parameters: Floats) -> tuple[float, Floats]:
        return deviance(parameters), _central_slopes(deviance, parameters)

    # the search starts from the normal model, and without its correlation
    first = fit_normal(counts)
    root = np.linalg.cholesky(first.between + 1e-4 * np.eye(_PAIR))
    entries = np.array([root[0, 0], root[1, 0], root[1, 1]])
    uncorrelated = np.array([entries[0], 0.0, math.hypot(entries[1], entries[2])])
    parameters, converged = _minimise_from(
        [
            np.concatenate([first.mean, entries]),
            np.concatenate([first.mean, uncorrelated]),
        ],
        deviance_with_slopes,
    )
    factor = _lower_triangle(parameters[_PAIR:])

    return BivariateFit(
        mean=parameters[:_PAIR],
        covariance=_covariance_of_mean(deviance, parameters),
        between=factor @ factor.T,
        log_likelihood=-0.5 * deviance(parameters),
        converged=converged,
    )


@dataclass(frozen=True)
class _ConditionalModes:
    """Laplace's approximation: a normal density about the mode of each study."""

    correct: Floats
    wrong: Floats

    def log_likelihood(self, mean: Floats, factor: Floats) -> float:
        """Return the log-likelihood of all studies, with the binomial coefficients."""
        from scipy.special import gammaln

        cases = self.correct + self.wrong
        spherical = self._modes(mean, factor)
        log_odds = mean + spherical @ factor.T
        # x log p + (n - x) log(1 - p)
        log_densities = self.correct * log_odds - cases * np.logaddexp(0.0, log_odds)
        coefficients = (
            gammaln(cases + 1) - gammaln(self.correct + 1) - gammaln(self.wrong + 1)
        )
        # Laplace: minus half the log determinant of the information at the mode
        information = self._information(log_odds, factor)
        _, log_information = np.linalg.slogdet(information)

        return float(
            log_densities.sum()
            + coefficients.sum()
            - 0.5 * (spherical**2).sum()
            - 0.5 * log_information.sum()
        )

    def _modes(self, mean: Floats, factor: Floats) -> Floats:
        """Return the modes of the spherical effects u of each study; b = L u."""
        effects = np.zeros_like(self.correct)
        for _ in range(100):
            log_odds = mean + effects @ factor.T
            slopes = self._residuals(log_odds) @ factor - effects
            information = self._information(log_odds, factor)
            # Newton's step of each study
            steps = np.linalg.solve(information, slopes[..., None])[..., 0]
            # the log density is concave, but a long step may pass the mode
            longest = np.abs(steps @ factor.T).max(axis=1, keepdims=True)
            effects = effects + steps / np.maximum(longest / 2, 1.0)

            if np.abs(steps).max() < 1e-12:
                break

        return effects

    def _residuals(self, log_odds: Floats) -> Floats:
        """Return correct verdicts minus the expected ones."""
        from scipy.special import expit

        return np.asarray(self.correct - (self.correct + self.wrong) * expit(log_odds))

    def _information(self, log_odds: Floats, factor: Floats) -> Floats:
        """Return L'W L + 1 of each study, (k, 2, 2)."""
        from scipy.special import expit

        probability = expit(log_odds)
        weights = (self.correct + self.wrong) * probability * (1 - probability)
        # i: studies, b: sensitivity and specificity
        squares = np.einsum("ba,ib,bc->iac", factor, weights, factor)
        return np.asarray(squares + np.eye(_PAIR))


# steps of central differences: they balance the error of truncation and of rounding
_SLOPE_STEP = 1e-5
_CURVATURE_STEP = 1e-3


def _central_slopes(function: Callable[[Floats], float], place: Floats) -> Floats:
    """Return the slopes of a function by central differences."""
    steps = _SLOPE_STEP * np.eye(place.size)
    return np.array(
        [
            (function(place + step) - function(place - step)) / (2 * _SLOPE_STEP)
            for step in steps
        ]
    )


def _covariance_of_mean(
    deviance: Callable[[Floats], float], parameters: Floats
) -> Floats:
    """Return the covariance of the mean from the curvature of the deviance."""
    curvature = _curvature(deviance, parameters)
    eigenvalues = np.linalg.eigvalsh(curvature)
    if eigenvalues[0] > 1e-8 * eigenvalues[-1]:
        return np.asarray(np.linalg.inv(curvature / 2)[:_PAIR, :_PAIR])
    # a variance at zero has no curvature: use that by the mean alone
    return np.asarray(np.linalg.inv(curvature[:_PAIR, :_PAIR] / 2))


def _curvature(function: Callable[[Floats], float], place: Floats) -> Floats:
    """Return second derivatives by central differences of fourth order."""

    def mixed_difference(along: Floats, across: Floats, step: float) -> float:
        return (
            function(place + step * (along + across))
            - function(place + step * (along - across))
            - function(place - step * (along - across))
            + function(place - step * (along + across))
        ) / (4 * step**2)

    directions = np.eye(place.size)
    curvature = np.zeros((place.size, place.size))
    for row, along in enumerate(directions):
        for column, across in enumerate(directions[: row + 1]):
            # Richardson extrapolation: the error in the square of the step cancels
            fine = mixed_difference(along, across, _CURVATURE_STEP)
            coarse = mixed_difference(along, across, 2 * _CURVATURE_STEP)
            curvature[row, column] = (4 * fine - coarse) / 3
            curvature[column, row] = curvature[row, column]

    return curvature


FITS: dict[str, Callable[[StudyCounts], BivariateFit]] = {
    "binomial": fit_binomial,
    "normal": fit_normal,
}
