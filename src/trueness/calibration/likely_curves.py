r"""Which true errors of calibration go with what was seen?

Noise enlarges every calibration error: a bin, or a smoother, takes some of it for a
departure from the score. So intervals do not start from the error that was seen but
from a smooth curve of the share of positives with few parameters,

.. math:: \mathrm{logit}\, f(p) = \mathrm{logit}\, p + \sum_{k \le K} \gamma_k B_k(p),

with polynomials :math:`B_k` in the log-odds and K chosen by Akaike's criterion.

- A mean absolute error is the mean of :math:`s(p) (y - p)` with s the sign of
  :math:`f(p) - p`. The curve is needed for the signs only, and those in doubt are where
  the error is smallest; given the signs, it is a mean over cases and has its interval.
- Any other error :math:`\theta(\gamma)` takes the values that it has on the ellipsoid
  :math:`(\gamma - \hat\gamma)^T V^{-1} (\gamma - \hat\gamma) = z^2`: the profile
  interval, :math:`\hat\theta \pm z\,\mathrm{sd}` where the error is nearly linear, and
  right where it is not. What other scores would change is added in squares.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from statistics import NormalDist
from typing import NamedTuple

import numpy as np

from trueness._core.arrays import Array, Floats
from trueness._core.records import Estimate
from trueness.calibration.drawn_labels import by_chance, pooled
from trueness.calibration.fixed_shares import FixedShare, class_sandwich
from trueness.calibration.logistic import fit_logistic
from trueness.calibration.mean_losses import mean_estimate
from trueness.calibration.monotone import equal_mass

Rows = tuple[Floats, Array, Array]
Errors = Callable[[Floats, Array, Array], tuple[float, ...]]
# the errors of scores, cases and their true shares of positives
Truth = Callable[[Floats, Array, Floats], tuple[float, ...]]
# of a mean absolute error the signs of rows for its lower and for its upper end; of
# another error nothing
Signs = Callable[[Floats, Array, Floats], Sequence[tuple[Floats, Floats] | None]]
METHOD = "likely curves"
_DEGREES, _MANY = 6, 50
# pairs of directions in which the ellipsoid is looked at, besides each error's own
# gradient, which is where the ends of a nearly linear error lie; draws of other scores
_DIRECTIONS, _SCORES = 40, 60
_PARTS = 20  # of the cases, in which a curve may be contradicted
_CLIP = 1e-6  # log-odds of scores of 0 and 1


class LikelyCurves(NamedTuple):
    """Likely curves: log-odds ``base + basis @ (centre + root @ u)``, u standard."""

    base: Floats
    basis: Floats
    centre: Floats
    root: Floats

    def at(self, u: Floats) -> Floats:
        """Give the share of positives at each row, for one u (k,)."""
        odds = self.base + self.basis @ (self.centre + self.root @ u)
        return np.asarray(1 / (1 + np.exp(-np.clip(odds, -40, 40))))

    @property
    def middle(self) -> Floats:
        """Give the most likely one."""
        return self.at(np.zeros(self.centre.size))


def likely_curve(rows: Rows, fixed: FixedShare | None = None) -> LikelyCurves:
    """Fit the polynomial whose degree Akaike's criterion prefers.

    It is a cubic at least where each class has 50 cases, else a straight line. One
    calibrated case is spread over the rows, so that separated classes have a finite
    curve too.
    """
    score, pos, neg = rows
    cases = np.asarray(pos + neg, dtype=np.float64)
    spread = cases / cases.sum()
    up, down = pos + spread * score, neg + spread * (1 - score)
    p = np.clip(score, _CLIP, 1 - _CLIP)
    base = np.log(p) - np.log1p(-p)
    basis = _polynomials(base, spread)
    # an S-shaped curve that is missed costs more than a bend that is not needed
    many = min(float(pos.sum()), float(neg.sum())) >= _MANY
    most = basis.shape[1]
    fits = [
        fit_logistic(list(basis[:, 1:k].T), up, down, offset=base)
        for k in range(min(4 if many else 2, most), most + 1)
    ]
    fit = max(fits, key=lambda f: f.log_likelihood - f.coefficients.size)
    columns = basis[:, : fit.coefficients.size]
    shares = LikelyCurves(
        base, columns, fit.coefficients, np.zeros((columns.shape[1],) * 2)
    )
    covariance = fit.covariance
    if fixed is not None:  # each class has its own spread, and the share none
        f = shares.middle
        counts = pos / fixed.weights[0], neg / fixed.weights[1]
        meat = class_sandwich(fixed, columns, (1 - f, -f), counts)
        covariance = covariance @ meat @ covariance
    return shares._replace(root=_root(covariance))


def _polynomials(x: Floats, weight: Floats) -> Floats:
    """Give 1 and orthogonal polynomials of x (m, k), as many as x has values for."""
    mean = weight @ x
    spread = math.sqrt(weight @ (x - mean) ** 2)
    degree = min(_DEGREES, np.unique(x).size - 1) if spread > 0 else 0
    powers = np.vander((x - mean) / (spread or 1.0), degree + 1, increasing=True)
    root = np.sqrt(weight)[:, None]
    basis = np.linalg.qr(powers * root)[0] / root
    basis[:, 0] = 1.0
    return np.asarray(basis)


def _root(covariance: Floats) -> Floats:
    values, vectors = np.linalg.eigh((covariance + covariance.T) / 2)
    return np.asarray(vectors * np.sqrt(np.maximum(values, 0.0)))


def error_estimates(
    values: Sequence[float],
    rows: Rows,
    statistic: Errors,
    truth: Truth,
    signs: Signs,
    level: float,
    replicates: int,
    rng: np.random.Generator,
    fixed: FixedShare | None = None,
) -> list[Estimate]:
    """Give the intervals of errors between 0 and 1 that noise enlarges.

    ``statistic`` gives the errors of a sample, ``truth`` those of true shares. An
    interval starts at 0 unless the error is above what calibrated scores show.
    """
    rows = pooled(*rows)
    score, pos, neg = rows
    seen = np.array(statistic(*rows))
    chance = by_chance(*rows, statistic, level, replicates, rng, fixed)
    curve = likely_curve(rows, fixed)
    ends, added = profiles(curve, score, pos + neg, truth, level, rng)
    for j, both in enumerate(signs(score, pos + neg, curve.middle)):
        if both is not None:
            sides = both[0], seen_sides(rows, curve.middle, both[1])
            low, high = (signed_mean(rows, sign, level, fixed) for sign in sides)
            ends[:, j] = low.low - added[j], high.high
    ends[0] = np.where(seen <= chance, 0.0, np.clip(ends[0], 0.0, 1.0))
    return [
        Estimate(v, min(low, v), max(min(high, 1.0), v), level, METHOD)
        for v, low, high in zip(values, *ends.tolist(), strict=True)
    ]


def seen_sides(rows: Rows, shares: Floats, sign: Floats) -> Floats:
    """Correct the signs where the cases contradict the curve.

    A curve of few parameters cannot jump. In a twentieth of the cases whose positives
    lie on the other side of the scores, and more than two standard errors off the
    curve, the side is the one that was seen: the error can only become larger.
    """
    score, pos, neg = rows
    cases = pos + neg
    start = equal_mass(cases, _PARTS)
    off, gap = (np.add.reduceat(pos - cases * p, start) for p in (shares, score))
    noise = np.sqrt(np.add.reduceat(cases * shares * (1 - shares), start))
    other = np.add.reduceat(cases * sign, start) * gap < 0
    turned = other & (np.abs(off) > 2 * noise)
    parts = np.diff(start, append=score.size)
    return np.where(np.repeat(turned, parts), np.repeat(np.sign(gap), parts), sign)


def signed_mean(
    rows: Rows, sign: Floats, level: float, fixed: FixedShare | None
) -> Estimate:
    """How large is the mean of s (y - p), and between which values may it lie?"""
    score, pos, neg = rows
    losses = -sign * score, sign * (1 - score)
    if fixed is None:
        return mean_estimate(losses, neg, pos, level, 1.0, -1.0)
    counts = pos / fixed.weights[0], neg / fixed.weights[1]
    return fixed.mean(losses, counts, level, 1.0)


def profiles(
    curve: LikelyCurves,
    score: Floats,
    cases: Array,
    truth: Truth,
    level: float,
    rng: np.random.Generator,
) -> tuple[Floats, Floats]:
    """Between which values do errors lie on the ellipsoid of likely curves? (2, j)

    And what does noise of the curve add to each: a curve of k parameters departs from
    the scores even where the true one does not. Lower ends are less by that much.
    """

    def errors(us: Floats) -> Floats:
        return np.array([truth(score, cases, curve.at(u)) for u in us])

    k, z = curve.centre.size, NormalDist().inv_cdf((1 + level) / 2)
    steps = np.eye(k) / 2
    middle = errors(np.zeros((1, k)))[0]
    slopes = (errors(steps) - errors(-steps)).T
    noise = rng.standard_normal((_DIRECTIONS, k))
    added = errors(np.concatenate([noise, -noise])).mean(axis=0) - middle
    ways = np.concatenate([noise, slopes])
    length = np.linalg.norm(ways, axis=1, keepdims=True)
    ways = z * ways / np.where(length > 0, length, 1.0)
    around = errors(np.concatenate([ways, -ways]))
    other = z * _other_scores(curve.middle, score, cases, truth, rng)
    low = middle - np.hypot(np.minimum(around.min(axis=0) - middle, 0), other)
    high = middle + np.hypot(np.maximum(around.max(axis=0) - middle, 0), other)
    added = np.maximum(added, 0.0)
    return np.stack([low - added, high]), added


def _other_scores(
    shares: Floats,
    score: Floats,
    cases: Array,
    truth: Truth,
    rng: np.random.Generator,
) -> Floats:
    """How much do errors of one curve vary between samples of scores?"""
    n = float(cases.sum())
    # no more than NumPy can draw; of weighed cases, the nearest whole number
    whole = round(min(max(n, 1.0), 2.0**53))
    drawn = rng.multinomial(whole, cases / n, size=_SCORES)
    found = [truth(score, counts, shares) for counts in drawn]
    return np.asarray(np.std(found, axis=0, ddof=1))
