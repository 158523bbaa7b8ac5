r"""How are classifiers combined that err together?

Each rank becomes a normal score z, and generalised least squares weighs them: with S
the mean of the covariances of both classes,

.. math:: L = (m_1 - m_0)^T S^{-1} \left(z - \frac{m_1 + m_0}{2}\right).

For normal classes no other weights have a higher AUC (Su and Liu 1993,
doi:10.1080/01621459.1993.10476417). S is shrunk towards equal correlations, as far as
its sampling error asks for (Ledoit and Wolf 2004; Schäfer and Strimmer 2005).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, final

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import ndtri

from trueness._core.arrays import Array, Floats, Ints
from trueness._core.checks import cases as _cases
from trueness._core.checks import options as _options
from trueness._core.checks.errors import InputError, NotEnoughCases
from trueness._core.checks.words import listing
from trueness._core.figures import Matrix
from trueness.calibration.maps import Map, freeze, register
from trueness.calibration.parametric import Platt, platt
from trueness.counts.values import Panel, Tally
from trueness.ensembles.rank_tables import (
    RankedColumn,
    rank_columns,
    rank_correlation,
    rank_rows,
    rank_table,
    reference_of,
    rows_of,
)

_POOLED = 4096


@final
@dataclass(frozen=True)
class Reference:
    """What do the labelled cases of a panel say of each classifier?

    ``ranks`` (m, K) are mid-ranks among those with output, whose ``n``, ``n_pos`` and
    ``auc`` (K,) are given; ``correlation`` is Spearman's, mean of both classes.
    """

    names: tuple[str, ...]
    columns: list[RankedColumn]
    ranks: Floats
    neg: Ints
    pos: Ints
    n: Floats
    n_pos: Floats
    auc: Floats
    correlation: Floats

    @property
    def prevalence(self) -> float:
        """Which share of the labelled cases is positive?"""
        return float(self.pos.sum() / (self.pos.sum() + self.neg.sum()))


def read_reference(panel: Panel, what: str, *, correlation: bool = True) -> Reference:
    """Rank the labelled cases of a panel in every column."""
    _cases.both_classes(panel, what)
    panel = panel.labelled()
    neg, pos = panel.neg, panel.pos
    columns = rank_columns(panel.rows, neg + pos)
    ranks = rank_table(columns)
    n_pos, pos_mean = _class_means(ranks, pos)
    n_neg, neg_mean = _class_means(ranks, neg)
    pairs = zip(panel.names, n_neg, n_pos, strict=True)
    if short := [name for name, a, b in pairs if not (a and b)]:
        raise NotEnoughCases(
            f"{what} needs, of every classifier, outputs for a positive and a negative "
            f"case; {listing(short)} has none for one class. Leave it out."
        )
    n = n_pos + n_neg
    k = len(panel.names)
    within = np.full((k, k), np.nan)
    if correlation and k > 1:
        within = (rank_correlation(columns, pos) + rank_correlation(columns, neg)) / 2
    auc = (neg_mean - pos_mean) / n + 0.5  # eq. (31)
    return Reference(panel.names, columns, ranks, neg, pos, n, n_pos, auc, within)


def _class_means(value: Floats, cases: Array) -> tuple[Floats, Floats]:
    """Give the number of cases with a value, and the mean value, by column."""
    weight, seen = cases.astype(np.float64), ~np.isnan(value)
    count = weight @ seen.astype(np.float64)
    return count, weight @ np.where(seen, value, 0.0) / np.maximum(count, 1.0)


class RankMap(Map):
    """What do the ranks of a case say together, as a log-likelihood ratio L?"""

    names: tuple[str, ...]
    correlation: Floats
    calibrator: Map
    scores: tuple[Floats, ...]
    cases: tuple[Floats, ...]

    def ranks(self, rows: ArrayLike) -> Floats:
        """Which rank has each output among the reference? NaN where it is missing."""
        value = rows_of(rows, self.names)
        return rank_rows(value, self.scores, self.cases)

    def predict(self, rows: ArrayLike) -> Array:
        """Which rows are positive: those with L > 0?"""
        return self(rows) > 0

    def probability(self, rows: ArrayLike) -> Floats:
        """How likely is each row positive?"""
        return self.calibrator(self(rows))

    @property
    def mean_correlation(self) -> float:
        """How large is the rank correlation within classes, mean over pairs?"""
        pairs = self.correlation[np.triu_indices(len(self.correlation), 1)]
        return float(np.nanmean(pairs)) if np.isfinite(pairs).any() else math.nan


@register("fidel-correlated")
@final
@dataclass(frozen=True, repr=False, eq=False)
class CorrelatedFiDEL(RankMap):
    """How strong is the evidence of all ranks of a case, if errors are correlated?

    Called with rows (m, K) it gives their log-likelihood ratio L. A missing output is
    left out: the others are weighted as if they were the whole panel. Made by
    ``trueness.fidel(panel, method="correlated")``; attributes beyond those of
    :class:`trueness.records.FiDEL`:

    Attributes
    ----------
    mean_pos, mean_neg, covariance : array (K,), (K,), (K, K)
        Mean normal score of each class, and the covariance within the classes.
    shrinkage : float
        From 0 (as found) to 1 (all pairs equally correlated).
    """

    names: tuple[str, ...]
    auc: Floats
    prevalence: float
    mean_pos: Floats
    mean_neg: Floats
    covariance: Floats
    shrinkage: float
    correlation: Floats
    calibrator: Map
    scores: tuple[Floats, ...]
    cases: tuple[Floats, ...]

    def __post_init__(self) -> None:
        freeze(self, "auc", "mean_pos", "mean_neg", "covariance", "correlation")

    def __call__(self, rows: ArrayLike) -> Floats:
        """Give L for each row; above 0 the ranks are evidence for positive."""
        n = np.array([c.sum() for c in self.cases])
        z = normal_scores(self.ranks(rows), n)
        return discriminate(z, self.mean_pos, self.mean_neg, self.covariance)

    @property
    def weights(self) -> Floats:
        """How much weight does each classifier have, when none is missing?"""
        apart = self.mean_pos - self.mean_neg
        return np.asarray(np.linalg.solve(self.covariance, apart), dtype=np.float64)


def correlated_fidel(
    reference: Reference, prevalence: float | None = None
) -> CorrelatedFiDEL:
    """Fit the combination that allows for dependence; see :func:`trueness.fidel`."""
    rho = reference.prevalence if prevalence is None else prevalence
    z = normal_scores(reference.ranks, reference.n)
    _, mean_pos = _class_means(z, reference.pos)
    _, mean_neg = _class_means(z, reference.neg)
    covariance, shrinkage = _shrunk_covariance(z, reference, mean_pos, mean_neg)
    total = discriminate(z, mean_pos, mean_neg, covariance)
    known = (reference.names, reference.auc, rho, mean_pos, mean_neg, covariance)
    made = (shrinkage, reference.correlation, calibrator_of(total, reference, rho))
    return CorrelatedFiDEL(*known, *made, *reference_of(reference.columns))


def calibrator_of(total: Floats, reference: Reference, rho: float) -> Map:
    """Fit a logistic curve in L to the labels, carried to the prevalence of use."""
    fitted = platt(_pooled(Tally(total, reference.neg, reference.pos)))
    old = reference.prevalence
    shift = math.log(rho / (1 - rho)) - math.log(old / (1 - old))
    return Platt(fitted.intercept + shift, fitted.slope, targets=fitted.targets)


def _pooled(t: Tally) -> Tally:
    """Put neighbouring scores together: two numbers do not need a million rows."""
    if len(t) <= 8 * _POOLED:
        return t
    start = np.arange(0, len(t), -(-len(t) // _POOLED))
    neg, pos = np.add.reduceat(t.neg, start), np.add.reduceat(t.pos, start)
    weighed = np.add.reduceat(t.score * (t.neg + t.pos), start)
    return Tally(weighed / (neg + pos), neg, pos)


def normal_scores(ranks: Floats, n: Floats) -> Floats:
    """Turn ranks among n cases into quantiles of the normal distribution."""
    return np.asarray(-ndtri(ranks / (n + 1)))


def discriminate(
    z: Floats, mean_pos: Floats, mean_neg: Floats, covariance: Floats
) -> Floats:
    """Give the log-likelihood ratio of each row from the outputs that it has."""
    total = np.zeros(len(z))
    seen = ~np.isnan(z)
    for pattern in np.unique(seen, axis=0):
        if not pattern.any():
            continue
        rows = (seen == pattern).all(axis=1)
        up = (mean_pos - mean_neg)[pattern]
        # rows that lack the same outputs share one system
        weight = np.linalg.solve(covariance[np.ix_(pattern, pattern)], up)
        middle = (mean_pos + mean_neg)[pattern] / 2
        total[rows] = (z[rows][:, pattern] - middle) @ weight
    return total


def _shrunk_covariance(
    z: Floats, reference: Reference, mean_pos: Floats, mean_neg: Floats
) -> tuple[Floats, float]:
    """Average the covariances of both classes, then shrink their correlations."""
    # pooling would let the larger class decide: Su and Liu (1993)
    seen = ~np.isnan(z)
    covariance, error = np.zeros((2, z.shape[1], z.shape[1]))
    for mean, count in ((mean_pos, reference.pos), (mean_neg, reference.neg)):
        away = np.where(seen, z - mean, 0.0)
        common = (seen * count[:, None].astype(np.float64)).T @ seen
        covariance += away.T @ (away * count[:, None]) / np.maximum(common - 1, 1) / 2
        error += 0.25 / np.maximum(common, 1.0)
    sd = np.sqrt(np.diag(covariance))
    # a constant classifier has no spread, and its means do not differ either
    sd = np.where(sd > 0, sd, 1.0)
    found = np.clip(covariance / np.outer(sd, sd), -1, 1)
    matrix, share = _shrink(found, error)
    return matrix * np.outer(sd, sd), share


def _shrink(found: Floats, error: Floats) -> tuple[Floats, float]:
    """Move correlations towards their mean as far as chance explains their spread."""
    k = len(found)
    if k == 1:
        return np.ones((1, 1)), 0.0
    pairs = np.triu_indices(k, 1)
    r = found[pairs]
    # Schafer and Strimmer (2005): the variance of a correlation is (1 - r^2)^2 / n
    chance = float(((1 - r**2) ** 2 * error[pairs]).sum())
    spread = float(((r - r.mean()) ** 2).sum())
    share = min(1.0, chance / spread) if spread > 0 else 1.0
    matrix = share * r.mean() + (1 - share) * found
    np.fill_diagonal(matrix, 1.0)
    # copies of a classifier make the matrix singular: one case's worth of independence
    ridge = min(float(error.max()), 0.5)
    value, vector = np.linalg.eigh((1 - ridge) * matrix)
    matrix = (vector * np.maximum(value, 0.0)) @ vector.T + ridge * np.eye(k)
    return matrix, share


def rank_correlation_figure(f: RankMap) -> Matrix:
    """How alike do the classifiers err? Spearman's correlation within the classes."""
    what = "Spearman's rank correlation within the classes, mean of both, by pair"
    return Matrix(what, "rank correlation", f.names, f.correlation)


def _separations(auc: ArrayLike) -> Any:
    """How far apart are the classes, in standard deviations of a normal score?"""
    return math.sqrt(2) * ndtri(np.clip(auc, 1e-6, 1 - 1e-6))


def independent_loses(auc: ArrayLike, correlation: Floats) -> bool:
    r"""Is FiDEL expected to rank worse than its best classifier?

    With normal scores d apart and correlations C, FiDEL's classes are
    :math:`d^T d / \sqrt{d^T C d}` apart, those of the best :math:`\max |d|`.
    """
    d = _separations(auc)
    # of normal scores, Pearson's correlation from Spearman's
    pearson = 2 * np.sin(np.pi / 6 * np.nan_to_num(correlation))
    np.fill_diagonal(pearson, 1.0)
    error = max(float(d @ pearson @ d), 0.0)
    return float(d @ d) < (1 - 1e-9) * float(np.abs(d).max()) * math.sqrt(error)


def crossing(auc: ArrayLike) -> float:
    r"""Above which rank correlation is FiDEL worse than its best classifier?

    If all pairs of classifiers have the rank correlation r (Spearman) within the
    classes, FiDEL is as good as the best of them when

    .. math:: c = \frac{(\sum d_i^2)^2 / \max d_i^2 - \sum d_i^2}
                       {(\sum d_i)^2 - \sum d_i^2}, \qquad
              r = \frac{6}{\pi} \arcsin\frac c2, \qquad d_i = \sqrt2\,\Phi^{-1}(A_i).

    and 1 where FiDEL is never worse.

    Examples
    --------
    >>> [round(crossing(np.linspace(0.55, 0.75, m)), 2) for m in (2, 4, 7, 10)]
    [0.09, 0.33, 0.38, 0.4]
    """
    d = _separations(_options.grid(auc, "auc"))
    if not d.size:
        raise InputError("crossing needs the AUCs of classifiers; found none.")
    squares, top = float(d @ d), float((d**2).max(initial=0.0))
    over = float(d.sum()) ** 2 - squares
    if over <= 0 or top == 0:
        return 1.0
    c = (squares**2 / top - squares) / over
    return 6 / math.pi * math.asin(min(c, 1.0) / 2)
