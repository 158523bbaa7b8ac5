"""Which probability belongs to a rank?

Calibrators that use the order of the scores alone: any increasing re-scoring gives the
same probabilities. New scores are ranked against the cases of the fit.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import final

import numpy as np

from trueness._core.arrays import Array, Floats
from trueness._core.checks import cases as _cases
from trueness.calibration.formulas import (
    Chain,
    Formula,
    Linear,
    Logistic,
    StepFunction,
    just_above,
    sigmoid,
)
from trueness.calibration.maps import Map, freeze, register
from trueness.counts.placements import twice_wins
from trueness.counts.values import Tally
from trueness.ranking.gaussian import separation

_POOLED, _GRID = 4096, 1001
# of b and ln alpha: beyond them no finite sample can tell
_BOUNDS = (np.array([-20.0, -3.0]), np.array([20.0, 3.0]))


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

    b and alpha maximise the likelihood of the labels given the ranks (of more than
    32,768 rows, pooled to 4,096). Between the scores that were seen the hidden scale is
    interpolated, beyond them constant. Unless alpha = 1 the probability is not
    monotone. Where a threshold separates the classes, alpha is 1 and the AUC as if half
    a pair were in the wrong order.

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
    """Maximise the likelihood of the labels given the ranks, by Fisher scoring."""
    pos, neg = t.pos[::-1], t.neg[::-1]
    if pos.size > 8 * _POOLED:
        start = np.arange(0, pos.size, -(-pos.size // _POOLED))
        pos, neg = np.add.reduceat(pos, start), np.add.reduceat(neg, start)
    problem = (_shares(pos + neg), pos / t.n, neg / t.n, t.prevalence)
    here = np.array([separation(softened_auc(t)), 0.0])
    if twice_wins(t) in (0, 2 * t.n_pos * t.n_neg):
        return float(here[0]), 1.0
    loss, gradient, information = _binormal_loss(here, *problem)
    # how far the last steps could be trusted: with 10^12 cases against five, the full
    # step is wrong by powers of ten, and each would be halved twenty times again
    reach = math.inf
    for _ in range(100):
        step = np.linalg.lstsq(information, -gradient, rcond=1e-12)[0]
        step = step * min(1.0, reach / max(float(np.abs(step).max()), 1e-300))
        new = np.clip(here + step, *_BOUNDS)
        ahead = _binormal_loss(new, *problem)
        # a step that leads up is halved
        while ahead[0] > loss and np.abs(step).max() > 1e-9:
            step = step / 2
            new = np.clip(here + step, *_BOUNDS)
            ahead = _binormal_loss(new, *problem)
        reach = 4 * float(np.abs(step).max())
        if ahead[0] > loss:
            break
        moved = float(np.abs(new - here).max())
        here, (loss, gradient, information) = new, ahead
        if moved < 1e-8:
            break
    return float(here[0]), math.exp(here[1])


def _binormal_loss(
    parameters: Floats, share: Floats, pos: Floats, neg: Floats, rho: float
) -> tuple[float, Floats, Floats]:
    """Give the log loss at (b, ln alpha), its gradient and the information."""
    mean, sd = float(parameters[0]), math.exp(parameters[1])
    z = _hidden(share, mean, sd, rho)
    x = (z - mean) / sd
    eta = math.log(rho / (1 - rho) / sd) + (z * z - x * x) / 2
    p = sigmoid(eta)
    # the share below z stays, so z moves with the parameters: dz/db = p
    slope = z - x / sd
    by = np.stack([x / sd + slope * p, x * x - 1 + slope * p * sd * x])
    loss = pos @ np.logaddexp(0, -eta) + neg @ np.logaddexp(0, eta)
    weight = (pos + neg) * p * (1 - p)
    gradient = np.einsum("ki,i->k", by, p * (pos + neg) - pos)
    return float(loss), gradient, np.einsum("ki,li->kl", by * weight, by)


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
