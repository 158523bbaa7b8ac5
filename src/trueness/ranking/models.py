r"""What if the scores of both classes were normal, or followed another model?

Up to a monotone re-scoring a binormal curve has two parameters,

.. math:: \alpha = \sigma_n / \sigma_p, \qquad b = (\mu_p - \mu_n) / \sigma_p,
          \qquad (40)

and everything in closed form. Sameni (2025), section 8.3, with its equation numbers.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable
from dataclasses import dataclass, replace
from statistics import NormalDist
from typing import Any, Protocol, final

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import ndtr, ndtri

from trueness._core.arrays import Array, Floats
from trueness._core.checks import cases as _cases
from trueness._core.checks import columns as _columns
from trueness._core.checks import options as _options
from trueness._core.checks.errors import NotConvergedWarning, NotEnoughCases
from trueness._core.records import Answer, Estimate, Record
from trueness.counts.answers import of_tally
from trueness.counts.placements import grouped, runs
from trueness.counts.values import Tally
from trueness.inference.estimates import estimate_from_variance
from trueness.inference.intervals import Ends
from trueness.inference.roc_intervals import placement_variances
from trueness.inference.variance import VarianceEstimate
from trueness.ranking.areas import auc_variance_from_placements
from trueness.ranking.curves import precision_at


class _Leaks(Protocol):
    def __call__(self, u: ArrayLike, /) -> Any: ...
    def inverse(self, v: ArrayLike, /) -> Any: ...


class Through:
    """What follows from a leakage function: of the data, or of a binormal model."""

    __slots__ = ()

    def miss_rate(self: _Leaks, specificity: ArrayLike) -> Any:
        """Which share of the positives is missed at this specificity? Eq. (14)."""
        return self(specificity)

    def tpr(self: _Leaks, fpr: ArrayLike) -> Any:
        """Which true positive rate is reached at this false positive rate? Eq. (13)."""
        return 1 - self(1 - _columns.probabilities(fpr, "fpr"))

    def fpr(self: _Leaks, tpr: ArrayLike) -> Any:
        """Which false positive rate does this true positive rate cost? Eq. (15)."""
        return 1 - self.inverse(1 - _columns.probabilities(tpr, "tpr"))

    def precision(self: _Leaks, recall: ArrayLike, prevalence: float) -> Any:
        """Which precision is left at this recall (NaN: none flagged)? Eq. (21)."""
        recall = _columns.probabilities(recall, "recall")
        share = _options.fraction(prevalence, "prevalence")
        return precision_at(1 - self.inverse(1 - recall), recall, share)

    def accuracy(self: _Leaks, specificity: ArrayLike, prevalence: float) -> Any:
        """Which share of all cases is right at this specificity?"""
        # Differs from the text after eq. (22), which says that accuracy is not a
        # function of G: at a given specificity it is.
        u = _columns.probabilities(specificity, "specificity")
        share = _options.fraction(prevalence, "prevalence")
        return share * (1 - self(u)) + (1 - share) * u

    def f_beta(
        self: _Leaks, specificity: ArrayLike, prevalence: float, beta: float = 1.0
    ) -> Any:
        """How good are precision and recall together at this specificity?"""
        # Differs from eqs. (25) and (26): there the last term has a factor
        # beta^2 / tpr that does not follow from eq. (23).
        u = _columns.probabilities(specificity, "specificity")
        share = _options.fraction(prevalence, "prevalence")
        square = _options.positive_number(beta, "beta") ** 2
        tpr, odds = 1 - self(u), (1 - share) / share
        return (1 + square) * tpr / (tpr + square + odds * (1 - u))


@final
@dataclass(frozen=True, repr=False)
class Binormal(Record, Through):
    """What follows when the scores of both classes are normal?

    A call ``G(u)`` gives the leakage function, as :class:`Leakage` does.

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
        r"""Give G(u) = Phi(alpha Phi^-1(u) - b), eq. (43)."""
        return ndtr(self.alpha * ndtri(_columns.probabilities(u, "u")) - self.b)

    def inverse(self, v: ArrayLike) -> Any:
        """Give the specificity at which a share v of the positives is missed."""
        return ndtr((ndtri(_columns.probabilities(v, "v")) + self.b) / self.alpha)

    def density(self, u: ArrayLike) -> Any:
        """Give g(u), the ratio of the densities at the u-quantile of the negatives."""
        z = ndtri(_columns.probabilities(u, "u"))
        with np.errstate(invalid="ignore", over="ignore"):
            w = self.alpha * z - self.b
            return self.alpha * np.exp((z - w) * (z + w) / 2)


def binormal(alpha: float, b: float) -> Binormal:
    r"""What follows when the scores of both classes are normal?

    .. math:: G(u) = \Phi(\alpha \Phi^{-1}(u) - b), \qquad
              \mathrm{AUC} = \Phi\!\left(\frac{b}{\sqrt{1 + \alpha^2}}\right)

    Parameters
    ----------
    alpha, b
        Standard deviation of the negatives' scores, and distance of the means, both
        over the standard deviation of the positives' scores.

    Examples
    --------
    >>> G = binormal(alpha=1, b=0)  # the random classifier: G(u) = u
    >>> float(G(0.25)), G.auc, G.kl_pos_to_neg
    (0.25, 0.5, 0.0)
    """
    alpha = _options.positive_number(alpha, "alpha")
    b = _options.real_number(b, "b")
    z, log = b / math.hypot(1, alpha), math.log(alpha)
    with np.errstate(over="ignore"):  # beyond the largest float it is infinite
        square, shift = np.float64(alpha) ** 2, np.float64(b) ** 2
        inverse, ratio = np.float64(alpha) ** -2, (np.float64(b) / alpha) ** 2
        # eq. (49) with eq. (35): ln(alpha) + (1 + b^2) / (2 alpha^2) - 1/2
        to_neg = float(log + (inverse + ratio) / 2 - 0.5)
        to_pos = float((square + shift) / 2 - log - 0.5)
    return Binormal(alpha, b, float(ndtr(z)), float(ndtr(-z)), to_neg, to_pos)


@final
@dataclass(frozen=True, repr=False)
class BinormalFit(Answer):
    """Which binormal curve fits best, how sure are we, and does it fit?

    Attributes
    ----------
    curve : Binormal
        The fitted curve.
    alpha, b, auc : Estimate
        Parameters and area with intervals.
    correlation, log_likelihood : float
        Of the estimates of alpha and b; at its maximum.
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
_BINS = 400
_STEPS = 200
_INF = math.inf


@of_tally
def fit_binormal(data: Tally, *, level: float = 0.95) -> BinormalFit:
    """Which binormal curve fits these counts best?

    Maximum likelihood over alpha, b and the thresholds between neighbouring scores, so
    only the order of the scores matters (Dorfman and Alf 1969,
    doi:10.1016/0022-2496(69)90019-4; Metz, Herman and Shen 1998). Intervals are normal,
    of alpha on the log scale, of the AUC on the probit scale. More than 400 runs of
    cases of one class are grouped.

    Examples
    --------
    >>> t = Tally([4, 3, 2, 1], pos=[40, 30, 20, 10], neg=[10, 20, 30, 40])
    >>> fit = fit_binormal(t)  # mirrored classes: equal spread
    >>> round(fit.curve.alpha, 6), fit.converged
    (1.0, True)
    """
    t = data.labelled()
    _cases.both_classes(t, "fit_binormal")
    level = _options.fraction(level, "level")
    neg, pos = (c[::-1] for c in runs(t))  # from the lowest score up
    neg, pos = (c.astype(np.float64) for c in grouped(neg, pos, _BINS))
    if neg.size < 4:
        raise NotEnoughCases(
            "fit_binormal needs classes that overlap at several scores; here one or "
            f"two thresholds describe all {t.n_pos:,} positives and {t.n_neg:,} "
            "negatives. trueness.auc gives the area without a model."
        )
    try:
        alpha, b, covariance, height, converged, steps = _maximize(neg, pos)
    except np.linalg.LinAlgError:
        raise NotEnoughCases(
            f"fit_binormal found no best curve: with {t.n_pos:,} positives and "
            f"{t.n_neg:,} negatives in this order the likelihood increases without "
            "bound. trueness.auc gives the area without a model."
        ) from None
    if not converged:
        warnings.warn(
            f"fit_binormal stopped after {steps} steps; the classes may "
            f"hardly overlap. Its field converged says so too.",
            NotConvergedWarning,
            stacklevel=2,
        )

    def sure(value: float, variance: float, ends: Ends) -> Estimate:
        found = estimate_from_variance(
            value, VarianceEstimate(float(variance), math.inf, 0.0), ends, level
        )
        return replace(found, method="maximum likelihood")

    spread, curve, anywhere = np.diag(covariance), binormal(alpha, b), (-_INF, _INF)
    # delta method on the probit scale, where the AUC is b / sqrt(1 + alpha^2)
    root = math.sqrt(1 + alpha**2)
    slope = np.array([-b * alpha / root**3, 1 / root])
    probit = sure(b / root, slope @ covariance @ slope, anywhere)
    low, high = (float(ndtr(z)) for z in (probit.low, probit.high))
    sd = float(_phi(np.array(probit.value))) * probit.se
    return BinormalFit(
        curve,
        sure(alpha, spread[0], (0.0, _INF)),
        sure(b, spread[1], anywhere),
        replace(probit, value=curve.auc, low=low, high=high, se=sd),
        float(covariance[0, 1] / math.sqrt(spread[0] * spread[1])),
        height,
        *_goodness(t),
        converged,
        steps,
    )


def separation(auc: float) -> float:
    """How far apart are two unit normals with this AUC?"""
    return math.sqrt(2) * NormalDist().inv_cdf(auc)


# beyond this the likelihood has no maximum: one class is a point in the other's tail
_FAR = 1e6


def _maximize(
    neg: Floats, pos: Floats
) -> tuple[float, float, Floats, float, bool, int]:
    """Climb by Fisher scoring, halving steps that go down or disorder the cuts.

    Gives alpha, b, their covariance, the height, whether it converged and in how many
    steps; an error of LinAlg where the climb has no end: the information becomes
    singular, or alpha or b leave all bounds.
    """
    alpha, b, cuts = _start(neg, pos)
    height = _log_likelihood(alpha, b, cuts, neg, pos)
    converged, step = False, 0
    while step < _STEPS and not converged:
        step += 1
        move, _ = _scoring_step(alpha, b, cuts, neg, pos)
        # no step changes alpha by more than a factor e
        largest = max(1.0, abs(move[0]) / alpha)
        for halving in range(40):
            part = 0.5**halving / largest
            new = (
                alpha * math.exp(part * move[0] / alpha),
                b + part * move[1],
                cuts + part * move[2:],
            )
            reached = _log_likelihood(*new, neg, pos)
            if reached >= height - 1e-12 * abs(height):
                break
        gain, height = reached - height, reached
        alpha, b, cuts = new
        if not (1 / _FAR < alpha < _FAR and abs(b) < _FAR):
            raise np.linalg.LinAlgError("out of all bounds")
        small = abs(move[0]) / alpha < 1e-9 and abs(move[1]) < 1e-9 * (1 + abs(b))
        converged = small or 0 <= gain < 1e-13 * (1 + abs(height))
    _, covariance = _scoring_step(alpha, b, cuts, neg, pos)
    if not (np.linalg.eigvalsh(covariance) > 0).all():
        raise np.linalg.LinAlgError("no maximum")
    return alpha, b, covariance, height, converged, step


def _start(neg: Floats, pos: Floats) -> tuple[float, float, Floats]:
    """Begin with a line through the probits of the two cumulative shares."""
    # half a case and a trace of rank keep the cuts finite and in order
    order = 1e-6 * np.arange(1, neg.size) / neg.size
    x = (np.cumsum(neg)[:-1] + 0.5 + order) / (neg.sum() + 1 + 1e-6)
    y = (np.cumsum(pos)[:-1] + 0.5) / (pos.sum() + 1)
    # among 10^16 cases half a case is lost to rounding, and the share is 1
    x, y = (ndtri(np.clip(share, 1e-16, 1 - 1e-16)) for share in (x, y))
    spread = float(np.var(x))
    slope = float(np.mean((x - x.mean()) * (y - y.mean()))) / spread if spread else 1.0
    slope = min(max(slope, 0.2), 5.0)
    b = slope * float(x.mean()) - float(y.mean())
    # a cut between the place that negatives and the place that positives give it
    return slope, b, (x + (y + b) / slope) / 2


def _edges(alpha: float, b: float, cuts: Floats) -> tuple[Floats, Floats]:
    z = np.concatenate([[-np.inf], cuts, [np.inf]])
    return z, alpha * z - b


def _log_likelihood(
    alpha: float, b: float, cuts: Floats, neg: Floats, pos: Floats
) -> float:
    if cuts.size > 1 and not (np.diff(cuts) > 0).all():
        return -math.inf
    z, w = _edges(alpha, b, cuts)
    p, q = _interval(z), _interval(w)
    with np.errstate(divide="ignore", invalid="ignore"):
        total = np.where(neg > 0, neg * np.log(p), 0.0)
        total = total + np.where(pos > 0, pos * np.log(q), 0.0)
    return float(total.sum())


def _interval(z: Floats) -> Floats:
    """Give normal probabilities between neighbours, exact in both tails."""
    low, high = z[:-1], z[1:]
    # in the upper tail both values of Phi are near 1, and their difference is lost
    flip = low > 0
    return np.asarray(np.where(flip, ndtr(-low) - ndtr(-high), ndtr(high) - ndtr(low)))


def _scoring_step(
    alpha: float, b: float, cuts: Floats, neg: Floats, pos: Floats
) -> tuple[Floats, Floats]:
    """Solve information * step = score; also the covariance of (alpha, b).

    The information of the cuts is tridiagonal, so they are eliminated first.
    """
    from scipy.linalg import solveh_banded

    z, w = _edges(alpha, b, cuts)
    p, q = (np.maximum(_interval(e), 1e-300) for e in (z, w))
    dz, dw = _phi(cuts), _phi(w[1:-1])
    # derivatives of the bins by alpha and b: differences at their two edges
    by = np.stack([np.diff(e, prepend=0.0, append=0.0) for e in (cuts * dw, -dw)])
    band = np.zeros((2, cuts.size))
    with np.errstate(over="ignore", invalid="ignore"):
        # a cut is the upper edge of one bin and the lower edge of the next
        for height, part, n in ((dz, p, neg.sum()), (alpha * dw, q, pos.sum())):
            band[1] += n * height**2 * (1 / part[:-1] + 1 / part[1:])
            band[0, 1:] -= n * height[1:] * height[:-1] / part[1:-1]
        border = pos.sum() * np.stack([_by_cut(alpha * dw, row / q) for row in by])
        slope = np.concatenate([by @ (pos / q), _by_cut(dz, neg / p)])
        slope[2:] += _by_cut(alpha * dw, pos / q)
        corner = pos.sum() * (by / q) @ by.T
    if not all(np.isfinite(x).all() for x in (band, border, slope, corner)):
        raise np.linalg.LinAlgError("very many cases where there should be none")
    solved = solveh_banded(band, np.column_stack([border.T, slope[2:]]))
    # Schur complement: what is left of the information of (alpha, b) without the cuts
    schur = corner - border @ solved[:, :2]
    covariance = np.linalg.inv(schur)
    two = covariance @ (slope[:2] - border @ solved[:, 2])
    return np.concatenate([two, solved[:, 2] - solved[:, :2] @ two]), covariance


def _phi(z: Floats) -> Floats:
    return np.asarray(np.exp(-z * z / 2) / math.sqrt(2 * math.pi))


def _by_cut(height: Floats, weight: Floats) -> Floats:
    """Differentiate sum(weight * bin) by each cut: it raises one bin, lowers one."""
    return np.asarray(height * (weight[:-1] - weight[1:]))


def _goodness(t: Tally) -> tuple[float, int, float]:
    """Compare a few groups of scores with free shares: a likelihood-ratio test."""
    from scipy.special import chdtrc

    # ten groups, fewer where a group would hold under five cases of a class
    groups = min(10, max(4, min(t.n_pos, t.n_neg) // 5))
    neg, pos = grouped(t.neg[::-1], t.pos[::-1], groups)
    df = neg.size - 3
    if df < 1:
        return math.nan, 0, math.nan
    neg, pos = neg.astype(np.float64), pos.astype(np.float64)
    free = sum(float(np.sum(c[c > 0] * np.log(c[c > 0] / c.sum()))) for c in (neg, pos))
    try:
        statistic = max(0.0, 2 * (free - _maximize(neg, pos)[3]))
    except np.linalg.LinAlgError:
        return math.nan, 0, math.nan
    return statistic, df, float(chdtrc(df, statistic))


def _fermi(n: int, n_pos: int, auc: float) -> Any:
    from trueness.fermi.distribution import fermi_dirac  # an AUC does without it

    return fermi_dirac(n=n, n_pos=n_pos, auc=auc)


def _fermi_spread(area: float, pos: int, neg: int) -> tuple[float, float]:
    fd = _fermi(pos + neg, pos, area)
    return fd.p100 - area**2, fd.p110 - area**2


def _fermi_scores(rng: np.random.Generator, label: Array, area: float) -> Floats:
    """Put each case at a rank by its class; cases at one rank are in random order."""
    n, share = label.shape[-1], float(label.mean())
    n_pos = min(max(round(n * share), 1), n - 1)
    p = _fermi(n, n_pos, area).probability(np.arange(1, n + 1))
    u = rng.random(label.shape)
    ranks = [np.searchsorted(np.cumsum(q) / q.sum(), u) for q in (1 - p, p)]
    return np.where(label, -ranks[1], -ranks[0]) + rng.random(label.shape)


# how far placements of both classes spread (of an AUC, positives, negatives), and how
# scores are drawn (of labels and an AUC)
MODELS: dict[str, tuple[Callable[..., tuple[float, float]], Callable[..., Floats]]] = {
    "binormal": (
        lambda a, *_: (joint_excess(a, a, 0.5),) * 2,
        lambda rng, label, a: rng.normal(size=label.shape) + separation(a) * label,
    ),
    "hanley-mcneil": (
        lambda a, *_: placement_variances(a),
        lambda rng, label, a: (
            rng.exponential(size=label.shape) * np.where(label, a / (1 - a), 1.0)
        ),
    ),
    "fermi-dirac": (_fermi_spread, _fermi_scores),
}


def model_variance(model: str, area: float, pos: int, neg: int) -> float:
    """How far does the AUC of a model vary between samples? Kim et al., eq. 18."""
    return float(
        auc_variance_from_placements(area, *MODELS[model][0](area, pos, neg), pos, neg)
    )


def joint_excess(a: float, b: float, rho: float) -> float:
    """Phi_2(h, k; rho) - a b by quadrature over rho (Plackett's identity).

    At rho = 1/2 it is how far placements of normal scores spread, or spread together.
    """
    h, k = float(ndtri(a)), float(ndtri(b))
    x, w = np.polynomial.legendre.leggauss(40)
    # d Phi_2 / d rho is the density; rho = sin(angle) takes away its pole at 1
    angle = math.asin(rho) * (x + 1) / 2
    s = np.sin(angle)
    inside = np.exp(-(h * h - 2 * h * k * s + k * k) / (2 * np.cos(angle) ** 2))
    return float(w @ inside) * math.asin(rho) / 2 / (2 * math.pi)
