r"""What do the ranks of a case among a reference panel say, if errors are correlated?

Rank 1 is the highest output. One sort a column gives a table to rank new outputs by,
the mid-ranks of the reference, and those within each class. For classifiers that err
together each rank becomes a normal score z, and generalised least squares weighs them:
with S the mean of the covariances of both classes,

.. math:: L = (m_1 - m_0)^T S^{-1} \left(z - \frac{m_1 + m_0}{2}\right).

For normal classes no other weights have a higher AUC (Su and Liu 1993,
doi:10.1080/01621459.1993.10476417). S is shrunk towards equal correlations, as far as
its sampling error asks for (Ledoit and Wolf 2004; Schäfer and Strimmer 2005).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, final

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import ndtri

from trueness._core.arrays import Array, Floats, Ints, begins_run, threads
from trueness._core.checks import cases as _cases
from trueness._core.checks import options as _options
from trueness._core.checks.errors import InputError, NotEnoughCases
from trueness._core.checks.words import listing
from trueness._core.figures import Matrix
from trueness.calibration.field_rules import (
    check_correlation,
    check_covariance,
    check_finite,
    check_probabilities,
    check_reference,
    check_shape,
)
from trueness.calibration.maps import Map, register
from trueness.calibration.parametric import Platt, platt
from trueness.counts.values import Panel, Tally
from trueness.fermi.distribution import rank_scores

# below this, sorting outputs before they are looked up costs more than it saves
_MANY = 1 << 12
_POOLED = 4096


class RankedColumn:
    """One column of a panel, sorted; rows without ``cases`` do not count.

    ``score`` and ``cases`` (d,) are distinct outputs, ascending, and how many reference
    cases have each; ``order`` (m',) the rows with an output, ascending, and ``group``
    which entry of ``score`` each of them has.
    """

    def __init__(self, column: Floats, cases: Ints) -> None:
        column = np.ascontiguousarray(column)
        self.order = _ascending(column)
        value = column[self.order]
        is_new = begins_run(value)
        self.distinct = bool(is_new.all())  # has every row an output of its own?

        # where each row is one case, counting needs no weights
        row_cases = None if (cases == 1).all() else cases[self.order]
        if self.distinct:
            self.score = value
            self.group = np.arange(self.order.size)
            self.cases = np.ones(self.order.size, np.int64)
            if row_cases is not None:
                self.cases = row_cases
        else:
            self.score = value[is_new]
            self.group = np.cumsum(is_new) - 1
            self.cases = np.bincount(self.group, row_cases).astype(np.int64)

    def midranks(self, out: Floats) -> None:
        """Write the rank of each row among the reference; NaN where it is missing."""
        if self.order.size < out.size:
            out[:] = np.nan
        level = _level_ranks(self.cases)
        out[self.order] = level if self.distinct else level[self.group]

    def ranks_within(self, cases: Ints, place: Ints, out: Floats) -> None:
        """Write the ranks of the rows that have ``cases``, among these alone.

        ``place`` says where in ``out`` each row of the panel goes, -1 for nowhere.
        """
        destination = place[self.order]
        is_counted = destination >= 0
        destination = destination[is_counted]
        row_cases = cases[self.order[is_counted]]
        out[:] = np.nan
        if self.distinct:
            out[destination] = _level_ranks(row_cases)
            return
        group = self.group[is_counted]
        level_cases = np.bincount(group, row_cases, self.score.size)
        out[destination] = _level_ranks(level_cases)[group]

    @property
    def median(self) -> float:
        """Return the middle output of the reference cases; 0 where there is none."""
        cumulative = np.cumsum(self.cases)
        if not cumulative.size or not cumulative[-1]:
            return 0.0
        total = cumulative[-1]
        low, high = np.searchsorted(2 * cumulative, [total, total + 1])
        return float(self.score[low] / 2 + self.score[high] / 2)  # 1e308 has no sum


def rank_columns(rows: Floats, cases: Ints) -> list[RankedColumn]:
    """Sort every column; rows without ``cases`` do not count in the reference."""
    return _parallel(lambda column: RankedColumn(column, cases), rows.T, len(rows))


def rank_table(columns: Sequence[RankedColumn], size: int) -> Floats:
    """Lay the mid-ranks of all columns side by side, (m, K)."""
    return _side_by_side(lambda c, out: c.midranks(out), columns, size)


def rows_of(rows: object, names: Sequence[str]) -> Floats:
    """Return rows of outputs (m, K), one column a classifier; NaN is missing.

    Of a frame, or a mapping from name to column, the columns are taken by name.
    """
    if isinstance(rows, Mapping) or hasattr(type(rows), "columns"):
        rows = _columns_by_name(rows, names)
    value = np.asarray(rows)
    if value.dtype.kind not in "biuf":
        raise InputError(f"rows must be numbers; found {value.dtype}.")
    if value.ndim != 2 or value.shape[1] != len(names):
        raise InputError(
            f"rows must have a column for each of {listing(names, 12)}, shape (m, "
            f"{len(names)}); found shape {value.shape}."
        )
    return value.astype(np.float64, copy=False)


def _columns_by_name(table: Any, names: Sequence[str]) -> Array:
    """Take the columns of a frame or a mapping by name, (m, K)."""
    columns = tuple(getattr(table, "columns", table))
    lacking = [name for name in names if name not in columns]
    if lacking:
        raise InputError(
            f"rows need the columns {listing(names, 12)}; found none called "
            f"{listing(lacking, 12)}."
        )
    return np.column_stack([table[name] for name in names])


def reference_of(
    columns: Sequence[RankedColumn],
) -> tuple[tuple[Floats, ...], tuple[Floats, ...]]:
    """Return scores and cases, the fields of a map that new outputs are ranked by."""
    scores = tuple(column.score for column in columns)
    cases = tuple(column.cases.astype(np.float64) for column in columns)
    return scores, cases


def rank_rows(rows: Floats, scores: Sequence[Floats], cases: Sequence[Array]) -> Floats:
    """Rank new rows (m, K) against a reference, column by column; NaN stays NaN.

    A new output has rank = above + tied/2 + 1/2, as ``fermi.midranks`` says.
    """

    def work(item: tuple[Floats, Floats, Array], out: Floats) -> None:
        output, score, count = item
        upto = np.cumsum(count[::-1])
        if output.size < _MANY or np.isnan(output).any():
            out[:] = rank_scores(output, score, upto)
            return
        # ascending outputs are looked up eight times faster than mixed ones
        output = np.ascontiguousarray(output)
        order = _ascending(output)
        out[order] = rank_scores(output[order], score, upto)

    items = list(zip(rows.T, scores, cases, strict=True))
    return _side_by_side(work, items, len(rows))


def _level_ranks(cases: Array) -> Floats:
    """Return the mid-rank of ascending levels that hold so many cases each."""
    above = cases.sum() - np.cumsum(cases)
    return np.asarray(above + (cases + 1) / 2)


def _ascending(values: Floats) -> Ints:
    """Return the places of numbers in ascending order, without those that are missing.

    The bits of a float, turned for negative ones, are in its order. Their last bits
    make room for the place, so that keys alone are sorted, which is faster than an
    argsort. Numbers that differ in those bits only are put right afterwards: what is
    nearly in order is sorted in one pass.
    """
    missing = int(np.isnan(values).sum())
    if missing or values.size < _MANY:
        return np.argsort(values)[: values.size - missing]  # NaN comes last

    bits = values.view(np.uint64)
    sign_bit = np.uint64(1 << 63)
    place_bits = np.uint64((1 << (values.size - 1).bit_length()) - 1)
    key = np.where(bits < sign_bit, bits | sign_bit, ~bits)
    key &= ~place_bits
    key |= np.arange(values.size, dtype=np.uint64)
    key.sort()
    key &= place_bits

    order = key.view(np.int64)
    in_order = values[order]
    if (in_order[1:] < in_order[:-1]).any():
        order = order[np.argsort(in_order, kind="stable")]
    return order


def _side_by_side(
    work: Callable[[Any, Floats], None], items: Sequence[Any], size: int
) -> Floats:
    """Let each item write its column of a table, each in one stretch of memory."""
    table = np.empty((size, len(items)), order="F")
    pairs = list(zip(items, table.T, strict=True))
    _parallel(lambda pair: work(*pair), pairs, size)
    return table


def _parallel(work: Callable[[Any], Any], items: Any, size: int) -> list[Any]:
    """Do the same work on every column, several at a time if they are long."""
    items = list(items)
    workers = min(threads(), len(items))
    if workers < 2 or size < _MANY:
        return list(map(work, items))
    # sorting, searching and copying release the GIL
    with ThreadPoolExecutor(workers) as pool:
        return list(pool.map(work, items))


def _rank_correlation(columns: Sequence[RankedColumn], cases: Ints) -> Floats:
    """How strongly do the ranks of pairs correlate among these cases? (Spearman)

    Each pair is compared where both gave output; the mean rank is that of the column.
    NaN where a column has one value only, or a pair fewer than three common cases.
    """
    counted = np.flatnonzero(cases)
    place = np.full(cases.size, -1)
    place[counted] = np.arange(counted.size)
    weight = cases[counted].astype(np.float64)

    def write_centered_ranks(column: RankedColumn, out: Floats) -> None:
        column.ranks_within(cases, place, out)
        # ranks 1 to n have the mean (n + 1) / 2, ties or not
        out -= (weight[~np.isnan(out)].sum() + 1) / 2

    ranks = _side_by_side(write_centered_ranks, columns, counted.size)
    is_seen = ~np.isnan(ranks)
    if is_seen.all():
        products = _weighted_products(ranks, weight)
        squares = np.diag(products)[:, None]
        common_cases = np.asarray(weight.sum())
    else:
        ranks = np.nan_to_num(ranks)
        products = _weighted_products(ranks, weight)
        # sums over the cases that a column has in common with each other one
        seen = is_seen.astype(np.float64)
        squares = (ranks**2 * weight[:, None]).T @ seen
        common_cases = seen.T @ (seen * weight[:, None])

    with np.errstate(invalid="ignore", divide="ignore"):
        ratio = products / np.sqrt(squares * squares.T)
    correlation = np.where(common_cases > 2, ratio, np.nan)
    varies = np.isfinite(np.diag(correlation))
    correlation[varies, varies] = 1.0
    return np.clip(correlation, -1, 1)


def _weighted_products(columns: Floats, weight: Floats) -> Floats:
    """Return the sums of products of all pairs of columns, (K, K)."""
    if (weight == 1).all():
        return np.asarray(columns.T @ columns)
    return np.asarray(columns.T @ (columns * weight[:, None]))


class RankReference:
    """What do the labelled cases of a panel say of each classifier?

    ``ranks`` (m, K) are mid-ranks among those with output, whose ``n``, ``n_pos`` and
    ``auc`` (K,) are given; ``correlation`` is Spearman's, mean of both classes.
    """

    def __init__(self, panel: Panel, what: str, *, correlation: bool = True) -> None:
        _cases.both_classes(panel, what)
        panel = panel.labelled()
        self.names = panel.names
        self.neg = panel.neg
        self.pos = panel.pos
        self.prevalence = float(self.pos.sum() / (self.pos.sum() + self.neg.sum()))
        self.columns = rank_columns(panel.rows, self.neg + self.pos)
        self.ranks = rank_table(self.columns, len(panel.rows))
        self.n_pos, pos_mean = _class_means(self.ranks, self.pos)
        n_neg, neg_mean = _class_means(self.ranks, self.neg)
        lacks_class = (n_neg == 0) | (self.n_pos == 0)
        if lacks_class.any():
            lacking = [panel.names[k] for k in np.flatnonzero(lacks_class)]
            raise NotEnoughCases(
                f"{what} needs, of every classifier, outputs for a positive and a "
                f"negative case; {listing(lacking)} has none for one class. Leave it "
                "out."
            )
        self.n = self.n_pos + n_neg
        self.auc = (neg_mean - pos_mean) / self.n + 0.5  # eq. (31)
        self.correlation: Floats = np.full((len(self.names),) * 2, np.nan)
        if correlation and len(self.names) > 1:
            in_positives = _rank_correlation(self.columns, self.pos)
            in_negatives = _rank_correlation(self.columns, self.neg)
            self.correlation = (in_positives + in_negatives) / 2


def _class_means(value: Floats, cases: Array) -> tuple[Floats, Floats]:
    """Return the number of cases with a value, and the mean value, by column."""
    weight = cases.astype(np.float64)
    seen = ~np.isnan(value)
    count = weight @ seen.astype(np.float64)
    total = weight @ np.where(seen, value, 0.0)
    return count, total / np.maximum(count, 1.0)


class RankMap(Map):
    """What do the ranks of a case say together, as a log-likelihood ratio L?"""

    names: tuple[str, ...]
    auc: Floats
    prevalence: float
    correlation: Floats
    calibrator: Map
    scores: tuple[Floats, ...]
    cases: tuple[Floats, ...]

    def __post_init__(self) -> None:
        super().__post_init__()
        size = len(self.names)
        check_reference(self.names, self.scores, self.cases)
        check_correlation(self.correlation, size)
        for name, values in vars(self).items():
            if isinstance(values, np.ndarray) and values.ndim == 1:
                check_shape(name, values, (size,))
                check_finite(name, *values.tolist())
        _options.fraction(self.prevalence, "prevalence")
        check_probabilities("auc", self.auc)

    def ranks(self, rows: ArrayLike) -> Floats:
        """Which rank has each output among the reference? NaN where it is missing."""
        return rank_rows(rows_of(rows, self.names), self.scores, self.cases)

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


@final
@register("fidel-correlated")
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
        super().__post_init__()
        check_covariance(self.covariance, len(self.names))
        _options.fraction(self.shrinkage, "shrinkage", ends="[]")

    def __call__(self, rows: ArrayLike) -> Floats:
        """Return L for each row; above 0 the ranks are evidence for positive."""
        reference_sizes = np.array([count.sum() for count in self.cases])
        scores = normal_scores(self.ranks(rows), reference_sizes)
        return discriminate(scores, self.mean_pos, self.mean_neg, self.covariance)

    @property
    def weights(self) -> Floats:
        """How much weight does each classifier have, when none is missing?"""
        difference = self.mean_pos - self.mean_neg
        weights = np.linalg.solve(self.covariance, difference)
        return np.asarray(weights, dtype=np.float64)


def correlated_fidel(reference: RankReference, prevalence: float) -> CorrelatedFiDEL:
    """Fit the combination that allows for dependence; see :func:`trueness.fidel`."""
    scores = normal_scores(reference.ranks, reference.n)
    _, mean_pos = _class_means(scores, reference.pos)
    _, mean_neg = _class_means(scores, reference.neg)
    covariance, sampling_error = _covariance_within_classes(
        scores, reference, mean_pos, mean_neg
    )

    standard_deviation = np.sqrt(np.diag(covariance))
    # a constant classifier does not vary, and its means do not differ either
    standard_deviation = np.where(standard_deviation > 0, standard_deviation, 1.0)
    scale = np.outer(standard_deviation, standard_deviation)
    correlation = np.clip(covariance / scale, -1, 1)
    shrunk_correlation, shrinkage = _shrink(correlation, sampling_error)
    covariance = shrunk_correlation * scale

    log_likelihood_ratio = discriminate(scores, mean_pos, mean_neg, covariance)
    reference_scores, reference_cases = reference_of(reference.columns)
    return CorrelatedFiDEL(
        names=reference.names,
        auc=reference.auc,
        prevalence=prevalence,
        mean_pos=mean_pos,
        mean_neg=mean_neg,
        covariance=covariance,
        shrinkage=shrinkage,
        correlation=reference.correlation,
        calibrator=calibrator_of(log_likelihood_ratio, reference, prevalence),
        scores=reference_scores,
        cases=reference_cases,
    )


def _covariance_within_classes(
    scores: Floats, reference: RankReference, mean_pos: Floats, mean_neg: Floats
) -> tuple[Floats, Floats]:
    """Return the mean covariance of both classes, and its sampling error, (K, K).

    Pooling would let the larger class decide (Su and Liu 1993).
    """
    seen = ~np.isnan(scores)
    number = scores.shape[1]
    covariance = np.zeros((number, number))
    sampling_error = np.zeros((number, number))
    for mean, cases in ((mean_pos, reference.pos), (mean_neg, reference.neg)):
        deviation = np.where(seen, scores - mean, 0.0)
        products = deviation.T @ (deviation * cases[:, None])
        common_cases = (seen * cases[:, None].astype(np.float64)).T @ seen
        covariance += products / np.maximum(common_cases - 1, 1) / 2
        sampling_error += 0.25 / np.maximum(common_cases, 1.0)
    return covariance, sampling_error


def calibrator_of(
    log_likelihood_ratio: Floats, reference: RankReference, prevalence: float
) -> Map:
    """Fit a logistic curve in L to the labels, carried to the prevalence of use."""
    labelled = Tally(log_likelihood_ratio, reference.neg, reference.pos)
    if len(labelled) > 8 * _POOLED:  # two numbers do not need a million rows
        labelled = _pool_neighbours(labelled)
    fitted = platt(labelled)
    log_odds_of_use = math.log(prevalence / (1 - prevalence))
    log_odds_here = math.log(reference.prevalence / (1 - reference.prevalence))
    shift = log_odds_of_use - log_odds_here
    return Platt(fitted.intercept + shift, fitted.slope, targets=fitted.targets)


def _pool_neighbours(tally: Tally) -> Tally:
    """Merge neighbouring scores into some thousand groups, each at its mean."""
    start = np.arange(0, len(tally), -(-len(tally) // _POOLED))
    neg = np.add.reduceat(tally.neg, start)
    pos = np.add.reduceat(tally.pos, start)
    sum_of_scores = np.add.reduceat(tally.score * (tally.neg + tally.pos), start)
    return Tally(sum_of_scores / (neg + pos), neg, pos)


def normal_scores(ranks: Floats, n: Floats) -> Floats:
    """Turn ranks among n cases into quantiles of the normal distribution."""
    return np.asarray(-ndtri(ranks / (n + 1)))


def discriminate(
    z: Floats, mean_pos: Floats, mean_neg: Floats, covariance: Floats
) -> Floats:
    """Return the log-likelihood ratio of each row from the outputs that it has."""
    total = np.zeros(len(z))
    seen = ~np.isnan(z)
    for pattern in np.unique(seen, axis=0):
        if not pattern.any():
            continue
        rows = (seen == pattern).all(axis=1)
        difference = (mean_pos - mean_neg)[pattern]
        # rows that lack the same outputs share one system
        weight = np.linalg.solve(covariance[np.ix_(pattern, pattern)], difference)
        middle = (mean_pos + mean_neg)[pattern] / 2
        total[rows] = (z[rows][:, pattern] - middle) @ weight
    return total


def _shrink(correlation: Floats, sampling_error: Floats) -> tuple[Floats, float]:
    """Move correlations towards their mean as far as chance explains their variance.

    Return them and the shrinkage, from 0 (as they are) to 1 (all of them equal).
    """
    number = len(correlation)
    if number == 1:
        return np.ones((1, 1)), 0.0
    pairs = np.triu_indices(number, 1)
    r = correlation[pairs]
    # Schafer and Strimmer (2005): the variance of a correlation is (1 - r^2)^2 / n
    variance_by_chance = float(((1 - r**2) ** 2 * sampling_error[pairs]).sum())
    variance = float(((r - r.mean()) ** 2).sum())
    shrinkage = 1.0
    if variance > 0:
        shrinkage = min(1.0, variance_by_chance / variance)
    shrunk = shrinkage * r.mean() + (1 - shrinkage) * correlation
    np.fill_diagonal(shrunk, 1.0)

    # copies of a classifier make the matrix singular: one case's worth of independence
    ridge = min(float(sampling_error.max()), 0.5)
    value, vector = np.linalg.eigh((1 - ridge) * shrunk)
    regular = (vector * np.maximum(value, 0.0)) @ vector.T + ridge * np.eye(number)
    return regular, shrinkage


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
    sum_of_squares = float(d @ d)
    largest_square = float((d**2).max(initial=0.0))
    denominator = float(d.sum()) ** 2 - sum_of_squares
    if denominator <= 0 or largest_square == 0:
        return 1.0
    c = (sum_of_squares**2 / largest_square - sum_of_squares) / denominator
    return 6 / math.pi * math.asin(min(c, 1.0) / 2)
