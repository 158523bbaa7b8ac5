"""Which probability belongs to a rank?

Calibrators that use the order of the scores alone: any increasing re-scoring gives the
same probabilities. New scores are ranked against the cases of the fit.
"""

from __future__ import annotations

import math
import warnings
from dataclasses import dataclass
from typing import final

import numpy as np

from trueness._core.arrays import Array, Floats
from trueness._core.checks import cases as _cases
from trueness._core.checks.errors import NotConverged, NotEnoughCases
from trueness.calibration.formulas import (
    Chain,
    Formula,
    Linear,
    Logistic,
    StepFunction,
    just_above,
)
from trueness.calibration.maps import Map, freeze, register
from trueness.counts.placements import twice_wins
from trueness.counts.values import Tally
from trueness.ranking.gaussian import fit_binormal, separation

_GRID = 1001


@register("fermi-dirac")
@final
@dataclass(frozen=True, repr=False, eq=False)
class FermiDiracMap(Map):
    """``logit p = height - beta (rank - centre)`` among ``cases`` of each ``score``."""

    score: Floats
    cases: Floats
    beta: float
    centre: float
    height: float

    def __post_init__(self) -> None:
        freeze(self, "score", "cases")

    @property
    def expression(self) -> Formula:
        """Give the table of ranks, then the logistic curve in the rank."""
        edges = np.stack([self.score, just_above(self.score)], axis=1).ravel()
        # below a row, at it and above it: how many are before, and half a rank
        after = np.cumsum(self.cases[::-1])[::-1] + 0.5
        row = np.stack([after - self.cases / 2, after - self.cases], axis=1)
        rank = np.concatenate([after[:1], row.ravel()])
        curve = Logistic(self.height, ((-self.beta, "identity"),))
        return Chain((StepFunction(edges, rank - self.centre), curve))


def fermi_dirac_map(t: Tally) -> FermiDiracMap:
    r"""Which probability has a rank, if nothing but AUC and prevalence is known?

    .. math:: \mathrm{logit}\, p = \beta (\mu - r)

    with beta and mu from :func:`trueness.fermi_dirac` (Kim et al. 2021, eq. 5,
    doi:10.1073/pnas.2100761118). A new score has the mid-rank of its row, or between
    two rows as many cases before it as score higher, and half a rank. Two numbers are
    fitted, so it needs few cases; it is off by up to 0.3 where prevalence is low and
    AUC high.

    >>> import trueness
    >>> t = Tally([1, 2, 3], neg=[3, 2, 1], pos=[1, 2, 3])
    >>> bool(fermi_dirac_map(t)(3.0) == trueness.fermi_dirac(t).probability(2.5))
    True
    """
    _cases.both_classes(t, "calibrate(method='fermi-dirac')")
    t = t.labelled()
    from trueness.fermi.distribution import fermi_dirac  # loads SciPy

    fd = fermi_dirac(n=t.n, n_pos=t.n_pos, auc=softened_auc(t))
    beta, llr, centre = fd.solution
    height = math.log(t.n_pos / t.n_neg) + llr
    cases = (t.neg + t.pos)[::-1].astype(np.float64)
    return FermiDiracMap(t.score[::-1], cases, beta, centre, height)


@register("binormal")
@final
@dataclass(frozen=True, repr=False, eq=False)
class BinormalMap(Map):
    """Normal classes on a hidden scale that the scores follow in order.

    ``hidden`` is where ``score``, ascending, lies on the scale on which negatives are
    standard normal and positives have this ``mean`` and ``sd``.
    """

    score: Floats
    hidden: Floats
    mean: float
    sd: float
    prevalence: float

    def __post_init__(self) -> None:
        freeze(self, "score", "hidden")

    @property
    def expression(self) -> Formula:
        """Give straight lines to the hidden scale, then the likelihood ratio."""
        odds = self.prevalence / (1 - self.prevalence)
        precision = self.sd**-2
        # log of the ratio of the two normal densities, by powers of z
        constant = math.log(odds / self.sd) - self.mean**2 * precision / 2
        terms = ((self.mean * precision, "identity"), ((1 - precision) / 2, "square"))
        return Chain((Linear(self.score, self.hidden), Logistic(constant, terms)))


def binormal(t: Tally) -> BinormalMap:
    r"""Which two normal distributions on a hidden scale explain the labels by rank?

    Negatives are standard normal on the hidden scale, positives have mean b and
    standard deviation alpha. A case with a share u of the cases below it (by mid-rank)
    is at z, where

    .. math:: (1-\rho)\,\Phi(z) + \rho\,\Phi((z-b)/\alpha) = u, \qquad
              \mathrm{logit}\, p = \mathrm{logit}\,\rho - \ln\alpha
              + \tfrac12 z^2 - \tfrac12 (z-b)^2/\alpha^2

    b and alpha are those of ``fit_binormal`` (maximum likelihood: Dorfman and Alf
    1969). Between the scores that were seen the hidden scale is interpolated,
    beyond them constant. Unless alpha = 1 the probability is not monotone. Where there
    is no best curve, because a threshold separates the classes or nearly so, alpha is
    1, and an AUC of 1 is taken as if half a pair were in the wrong order.

    >>> t = Tally([1, 2, 3, 4], neg=[40, 30, 20, 10], pos=[10, 20, 30, 40])
    >>> c = binormal(t)
    >>> round(float(c(4.0) + c(1.0)), 4), round(c.sd, 3)
    (1.0, 1.0)
    """
    _cases.both_classes(t, "calibrate(method='binormal')")
    t = t.labelled()
    mean, sd = _fit_binormal(t)
    hidden = _hidden(_shares((t.pos + t.neg)[::-1]), mean, sd, t.prevalence)
    return BinormalMap(t.score[::-1], hidden, mean, sd, t.prevalence)


def _fit_binormal(t: Tally) -> tuple[float, float]:
    """Give mean and standard deviation of positives, where negatives have 0 and 1."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", NotConverged)  # the best curve so far
            curve = fit_binormal(t).curve
    except NotEnoughCases:  # no best curve: that of equal spread with this AUC
        return separation(softened_auc(t)), 1.0
    return curve.b / curve.alpha, 1 / curve.alpha


def _shares(cases: Array) -> Floats:
    """Which share of the cases is below each row, its own cases counted half?"""
    return np.asarray((np.cumsum(cases) - cases / 2) / cases.sum())


def _hidden(share: Floats, mean: float, sd: float, rho: float) -> Floats:
    """Where does the mixture of both normals reach these shares?"""
    from scipy.special import ndtr

    ends = (min(-9.0, mean - 9 * sd), max(9.0, mean + 9 * sd))
    grid = np.linspace(*ends, _GRID)
    cdf = (1 - rho) * ndtr(grid) + rho * ndtr((grid - mean) / sd)
    at = np.clip(np.searchsorted(cdf, share), 1, _GRID - 1)
    low, high = grid[at - 1], grid[at]
    z = np.interp(share, cdf, grid)
    for _ in range(4):
        x = (z - mean) / sd
        height = (1 - rho) * ndtr(z) + rho * ndtr(x) - share
        density = (1 - rho) * np.exp(-z * z / 2) + rho / sd * np.exp(-x * x / 2)
        step = height * math.sqrt(2 * math.pi) / np.maximum(density, 1e-300)
        # in the gap between well separated classes the density is nil: stay in the cell
        z = np.clip(z - step, low, high)
    return z


def softened_auc(t: Tally) -> float:
    """Give the AUC, never 1 or 0: half a pair is turned round where all agree."""
    pairs = t.n_pos * t.n_neg
    area, half = twice_wins(t) / (2 * pairs), 0.5 / pairs if pairs > 1 else 0.25
    return float(min(max(area, half), 1 - half, math.nextafter(1, 0)))
