r"""Which curves of the share of positives go with what was seen?

Bins and smoothers take noise for a departure from the score. A likely curve does so
less: it is the calibration line, which has two parameters, and departs from it only as
far as the cases demand,

.. math:: \mathrm{logit}\, f(p) = \mathrm{logit}\, p + a + b\,\mathrm{logit}\, p + d(p),

with d constant within parts of equal information and normal, of standard deviation
:math:`\tau` and with a correlation that falls with the distance of two parts. How large
departures are, how far they reach and whether they are rough or smooth is not chosen:
each possibility, the line alone with :math:`\tau = 0` among them, counts as much as its
restricted likelihood says (the likelihood of what a line cannot take up). Jumps, waves
and plateaus are found in this way where there are cases enough to show them, and
calibration lines stay nearly lines.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from trueness._core.arrays import Floats
from trueness._core.logistic import fit_logistic
from trueness.calibration.forecasts import Forecasts
from trueness.calibration.monotone import equal_mass

_CLIP = 1e-6  # log-odds of scores of 0 and 1
# departures: in how many parts, each with the information of 20 cases of probability
# one half; how far they reach, as a share of all information (rough ones fall like
# exp(-x), smooth ones like exp(-x^2)); their standard deviations, in log-odds
_PARTS, _INFORMATION = 40, 5.0
_ROUGH, _SMOOTH = (0.02, 0.1, 0.4), (0.15, 0.5)
_SIZES = (0.1, 0.2, 0.4, 0.8, 1.6)
_LINE = (0, 0.0)  # no departures, whatever their reach
# possibilities that are less likely than the best by this factor are left out
_UNLIKELY = math.exp(-3.0)
_PASSES = 20


class LikelyCurve(NamedTuple):
    """Log-odds ``base + basis @ beta`` with the prior precision of beta."""

    base: Floats
    basis: Floats
    beta: Floats
    precision: Floats

    def at(self, beta: Floats) -> Floats:
        """Give the share of positives at each row, for each beta (..., k)."""
        return np.asarray(1 / (1 + np.exp(-self.odds(beta))))

    def odds(self, beta: Floats) -> Floats:
        """Give the log-odds, of which exp is a number."""
        return np.clip(self.base + beta @ self.basis.T, -40, 40)


class LikelyCurves(NamedTuple):
    """Most likely curves, the covariance of each one's beta, and their weights.

    ``line`` is the probability that there is no departure from the calibration line, if
    that was as likely as not before the cases were seen.
    """

    curves: tuple[LikelyCurve, ...]
    covariances: tuple[Floats, ...]
    weights: tuple[float, ...]
    line: float

    @property
    def middle(self) -> Floats:
        """Give the mean of the curves: the share of positives at each row."""
        pairs = zip(self.curves, self.weights, strict=True)
        return np.asarray(sum(w * c.at(c.beta) for c, w in pairs))

    def drawn(self, number: int, rng: np.random.Generator) -> Floats:
        """Draw about so many curves (d, m), each with another on its other side."""
        found = []
        for c, covariance, weight in zip(*self[:3], strict=True):
            values, vectors = np.linalg.eigh((covariance + covariance.T) / 2)
            root = vectors * np.sqrt(np.maximum(values, 0.0))
            u = rng.standard_normal((math.ceil(weight * number / 2), c.beta.size))
            away = u @ root.T
            found.append(c.at(c.beta + np.concatenate([away, -away])))
        return np.concatenate(found)


def likely_curves(s: Forecasts) -> LikelyCurves:
    """Fit the calibration line and its possible departures.

    One calibrated case is spread over the rows, so that separated classes have a finite
    curve too.
    """
    cases = np.asarray(s.cases, dtype=np.float64)
    up = s.pos + cases / cases.sum() * s.score
    cases = cases + cases / cases.sum()
    alone, possible = _departures(_line(s.score, up, cases), up, cases)
    curves, covariances, weights = [], [], []
    for start, weight in possible:
        curve, covariance = _most_likely(start, up, cases)
        if s.fixed is not None:  # each class has its own spread, and the share none
            meat = s.class_sandwich(curve.basis, curve.at(curve.beta))
            covariance = covariance @ (meat + curve.precision) @ covariance
        curves.append(curve)
        covariances.append(covariance)
        weights.append(weight)
    return LikelyCurves(tuple(curves), tuple(covariances), tuple(weights), alone)


def _line(score: Floats, up: Floats, cases: Floats) -> LikelyCurve:
    """Fit intercept and slope of the log-odds, the slope as far as scores differ."""
    p = np.clip(score, _CLIP, 1 - _CLIP)
    base = np.log(p) - np.log1p(-p)
    away = base - cases @ base / cases.sum()
    spread = math.sqrt(cases @ away**2 / cases.sum())
    columns = [away / spread] if spread > 1e-9 else []
    beta = fit_logistic(columns, up, cases - up, offset=base).coefficients
    basis = np.stack([np.ones(base.size), *columns], axis=1)
    return LikelyCurve(base, basis, beta, np.zeros((beta.size, beta.size)))


def _departures(
    line: LikelyCurve, up: Floats, cases: Floats
) -> tuple[float, list[tuple[LikelyCurve, float]]]:
    """How likely is the line alone? And give likely curves, with their weights."""
    k, f = line.beta.size, line.at(line.beta)
    weight = np.maximum(cases * f * (1 - f), 1e-9)
    parts = int(min(_PARTS, weight.sum() / _INFORMATION))
    start = equal_mass(weight, max(parts, 1))
    if start.size <= k + 1:
        return 0.5, [(line, 1.0)]  # so few cases cannot tell
    inside = np.add.reduceat(weight, start)
    place = (np.cumsum(inside) - inside / 2) / inside.sum()
    apart = np.abs(place[:, None] - place)
    kernels = [np.exp(-apart / reach) for reach in _ROUGH]
    kernels += [np.exp(-((apart / reach) ** 2)) for reach in _SMOOTH]
    columns = np.add.reduceat(line.basis * weight[:, None], start) / inside[:, None]
    off = np.add.reduceat(up - cases * f, start)
    likely = _restricted(off, inside, columns, kernels)
    others = (sum(likely.values()) - likely[_LINE]) / (len(likely) - 1)
    kept = {j: x for j, x in likely.items() if x > _UNLIKELY}
    steps = np.repeat(np.eye(start.size), np.diff(start, append=f.size), axis=0)
    basis = np.concatenate([line.basis, steps], axis=1)
    beta = np.concatenate([line.beta, np.zeros(start.size)])
    found = []
    for (j, size), x in kept.items():
        curve = line
        if size > 0:
            precision = np.zeros((beta.size, beta.size))
            # smooth kernels of many parts are singular but for a little
            kernel = kernels[j] + 1e-8 * np.eye(start.size)
            precision[k:, k:] = np.linalg.inv(kernel) / size**2
            curve = LikelyCurve(line.base, basis, beta, precision)
        found.append((curve, x / sum(kept.values())))
    return likely[_LINE] / (likely[_LINE] + others), found


def _restricted(
    off: Floats, inside: Floats, columns: Floats, kernels: list[Floats]
) -> dict[tuple[int, float], float]:
    r"""How likely are a kernel and a size of departures? The best one is 1.

    The residuals of parts, over the root of their information, less what the line takes
    up, are :math:`z \sim N(0, I + \tau^2 R)`; the eigenvalues of R give every size.
    """
    root = np.sqrt(inside)[:, None]
    rest = np.linalg.qr(columns * root, mode="complete")[0][:, columns.shape[1] :]
    z = rest.T @ (off / root[:, 0])
    found = {_LINE: -float(z @ z) / 2}
    sizes = np.array(_SIZES)[:, None]
    for j, kernel in enumerate(kernels):
        values, vectors = np.linalg.eigh((root * rest).T @ kernel @ (root * rest))
        v = 1 + sizes**2 * np.maximum(values, 0.0)
        value = -((vectors.T @ z) ** 2 / v + np.log(v)).sum(axis=1) / 2
        found |= {(j, s): float(x) for s, x in zip(_SIZES, value, strict=True)}
    best = max(found.values())
    return {k: math.exp(x - best) for k, x in found.items()}


def _most_likely(
    start: LikelyCurve, up: Floats, cases: Floats
) -> tuple[LikelyCurve, Floats]:
    """Climb to the most likely beta by Newton's method, and give its covariance."""

    def height(beta: Floats) -> float:
        odds = start.odds(beta)
        likelihood = up @ odds - cases @ np.logaddexp(0.0, odds)
        return float(likelihood - beta @ start.precision @ beta / 2)

    beta = start.beta
    value = height(beta)
    for _ in range(_PASSES):
        f = start.at(beta)
        weight = np.maximum(cases * f * (1 - f), 1e-12)
        information = (start.basis * weight[:, None]).T @ start.basis + start.precision
        slope = (up - cases * f) @ start.basis - start.precision @ beta
        step = _solved(information, slope)
        while (ahead := height(beta + step)) < value - 1e-9 * (1 + abs(value)):
            step = step / 2
        beta, value = beta + step, ahead
        if np.abs(step).max() < 1e-4:  # far below the standard error of any step
            break
    covariance = np.linalg.pinv(information, hermitian=True)
    return start._replace(beta=beta), np.asarray(covariance, dtype=np.float64)


def _solved(information: Floats, slope: Floats) -> Floats:
    """Give the step; where scores are too few for one, the shortest of all."""
    try:
        step = np.linalg.solve(information, slope)
    except np.linalg.LinAlgError:
        step = np.full(slope.size, np.inf)
    if not np.abs(step).max() < 1e3:  # a thousand log-odds are no step
        step = np.linalg.lstsq(information, slope, rcond=1e-13)[0]
    return np.asarray(step, dtype=np.float64)
