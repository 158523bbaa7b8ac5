"""What do covariances and third moments of ranks leave open about classifiers?

The estimate has the smallest distance J = g' Omega^-1 g between the moments that AUCs
and prevalence lead to expect and those of the data (generalised method of moments,
Hansen 1982, doi:10.2307/1912775). The interval of a parameter holds the values at
which the smallest J, over all other parameters, exceeds that of the estimate by no more
than a quantile of chi-square (Newey and West 1987, doi:10.2307/2526578): where
classifiers hardly agree, it is as wide as it has to be.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from scipy.special import expit, gammaincc

from trueness._core.arrays import Array, Floats
from trueness._core.progress import stop_if_requested
from trueness.counts.values import Panel
from trueness.ensembles.ranked_columns import RankedColumn, rank_panel

# rows that the covariance of the moments is estimated from: more add nothing to it
MAX_COVARIANCE_ROWS = 1 << 16
MAX_STEPS = 60  # of Levenberg and Marquardt
MAX_SWEEPS = 2000  # over the entries of a rank-one matrix
TINY = 1e-300  # in place of a denominator of 0
MAX_RISE = 1e6  # of J: beyond, its root is not needed to find the end of an interval


class RankedPanel:
    """Centred ranks of a panel: the proportion of cases below, minus its mean.

    Attributes
    ----------
    names : tuple of str
        The classifiers.
    cases, n : array (m,), int
        How many cases each row stands for, and all of them.
    columns, reference_sizes : list of RankedColumn, array (K,)
        Each column sorted, and how many cases have an output there (2 at least).
    centred_ranks, seen : array (m, K)
        x, which is 0 where an output is missing, and where there is one.
    """

    def __init__(self, panel: Panel) -> None:
        cases = panel.neg + panel.pos + panel.unknown
        self.names = panel.names
        self.cases = cases.astype(np.float64)
        self.n = panel.n
        self.columns, rank, _ = rank_panel(panel.rows, cases)
        self.reference_sizes = np.array(
            [max(float(column.cases.sum()), 2.0) for column in self.columns]
        )

        self.seen = ~np.isnan(rank)
        centred = 0.5 - (rank - 0.5) / self.reference_sizes
        self.centred_ranks = np.where(self.seen, centred, 0.0)


class RankMoments:
    """The moments of ranks, and the parameters that are nearest to them.

    Attributes
    ----------
    first, second : array (P,)
        The pairs (i, j) of classifiers, i < j.
    observed : array (P + 1,)
        The mean products of the pairs, then the sum over triples with
        ``triple_weights``.
    whitening : array
        Turns a deviation from the observed moments into one whose square is J.
    patterns, proportions : array (p, K), (p,)
        Which outputs are there together, and in which proportion of the cases.
    value, distance : array (K + 1,), float
        The logit of the prevalence and then D = AUC - 1/2, and their J.
    fixed, free : set of int, list of int
        Which parameters are known, and which are estimated.
    bound : array (K + 1,)
        No parameter is larger: a case of each class, and AUCs from 0 to 1.
    """

    def __init__(self, ranked: RankedPanel, prevalence: float | None) -> None:
        self.n = ranked.n
        self.first, self.second = np.triu_indices(len(ranked.names), 1)
        weight = ranked.cases / ranked.cases.sum()
        seen = ranked.seen.astype(np.float64)

        # second moments: over the cases that both classifiers of a pair have seen
        common = np.maximum((seen * weight[:, None]).T @ seen, TINY)
        weighted_ranks = ranked.centred_ranks * weight[:, None]
        covariances = weighted_ranks.T @ ranked.centred_ranks / common
        of_pairs = covariances[self.first, self.second]

        # the third moment tells a rare class from a frequent one
        loadings = _rank_one_loadings(covariances)
        self.triple_weights = _triple_weights(loadings)
        triples = _triple_products(ranked.centred_ranks * self.triple_weights)
        self.observed = np.append(of_pairs, weight @ triples)

        self.patterns, pattern = np.unique(seen, axis=0, return_inverse=True)
        proportions = np.bincount(pattern.reshape(-1), weight)
        self.proportions = proportions.astype(np.float64)

        common_to_pair = common[self.first, self.second]
        covariance = self._covariance(ranked, weight, common_to_pair, triples)
        self.whitening = _inverse_root(covariance, self.n)
        self._fit(ranked, loadings, prevalence)

    def _fit(
        self, ranked: RankedPanel, loadings: Floats, prevalence: float | None
    ) -> None:
        """Set the parameters nearest to the moments; known ones stay fixed."""
        logit_bound = math.log(max(self.n - 1, 2))
        self.bound = np.append(logit_bound, np.full(loadings.size, 0.5))

        expected_products = _triple_products(
            self.patterns * self.triple_weights * loadings
        )
        expected_triple = float(self.proportions @ expected_products)
        start = _start(loadings, float(self.observed[-1]), expected_triple)

        self.fixed: set[int] = set()
        for parameter, column in enumerate(ranked.columns, start=1):
            # a classifier that says one thing to all has an AUC of 1/2
            if column.score.size < 2:
                start[parameter] = 0.0
                self.fixed.add(parameter)

        if prevalence is not None:
            start[0] = math.log(prevalence / (1 - prevalence))
            self.fixed.add(0)

        self.free = [k for k in range(start.size) if k not in self.fixed]
        self.value, self.distance = self._nearest(start, self.free)

    def _covariance(
        self, ranked: RankedPanel, weight: Floats, common: Floats, triples: Floats
    ) -> Floats:
        """Return the covariance of what single cases add to the moments.

        ``common`` is the proportion of cases that each pair has in common, ``triples``
        what each row adds to the sum over triples.
        """
        rows = _spaced_rows(len(weight))
        influence = self._influence_of_products(ranked, rows, common, triples)

        # for the third moment: the products of all pairs that leave a classifier out
        triple_ranks = ranked.centred_ranks * self.triple_weights
        other_pairs = _pair_products_without(triple_ranks) * self.triple_weights

        for k in range(len(ranked.names)):
            stop_if_requested()
            pairs = np.flatnonzero((self.first == k) | (self.second == k))
            through_ranks = self._influence_through_ranks(
                ranked, weight, k, pairs, other_pairs[:, k]
            )[rows]

            has_output = ranked.seen[rows, k]
            of_pairs = through_ranks[:, :-1] / common[pairs] * has_output[:, None]
            influence[:, pairs] += of_pairs
            influence[:, -1] += through_ranks[:, -1] * has_output

        row_weight = weight[rows] / weight[rows].sum()
        return np.asarray((influence * row_weight[:, None]).T @ influence)

    def _influence_of_products(
        self, ranked: RankedPanel, rows: Array, common: Floats, triples: Floats
    ) -> Floats:
        """Return how far cases move the moments by their own products."""
        ranks = ranked.centred_ranks[rows]
        has_output = ranked.seen[rows]
        has_both = has_output[:, self.first] & has_output[:, self.second]
        products = ranks[:, self.first] * ranks[:, self.second]

        influence = np.empty((rows.size, self.observed.size))
        # a case moves a mean by its deviation, over the proportion of cases that count
        influence[:, :-1] = (products - self.observed[:-1]) * has_both / common
        influence[:, -1] = triples[rows] - self.observed[-1]
        return influence

    def _influence_through_ranks(
        self,
        ranked: RankedPanel,
        weight: Floats,
        k: int,
        pairs: Array,
        other_pairs: Floats,
    ) -> Floats:
        r"""Return how cases move the moments through ranks of others, (m, pairs + 1).

        With U the rank of another case in classifier k, as a proportion, by
        :math:`\mathrm{E}[(1(U' \ge u) - U') x_j']`, as in the variance of Spearman's
        correlation. Without this part the intervals would be too wide.
        """
        first = self.first[pairs]
        second = self.second[pairs]
        partners = np.where(first == k, second, first)
        factors = np.column_stack([ranked.centred_ranks[:, partners], other_pairs])
        factors *= weight[:, None]
        # the case ranks above some others, whose ranks fall a little
        moved = _sum_above(ranked.columns[k], factors)
        return np.asarray(moved - ranked.centred_ranks[:, k] @ factors)

    def _residual(self, value: Floats) -> tuple[Floats, Floats]:
        """Return the whitened deviation of expected moments, and its derivatives.

        Of a mixture in which classifier i moves positives by D_i: the mean product of
        two is rho (1 - rho) D_i D_j, that of three has the skewness 1 - 2 rho, too.
        """
        rho = float(expit(value[0]))
        distances = value[1:]  # D = AUC - 1/2
        variance = rho * (1 - rho)
        skewness = 1 - 2 * rho

        pair_products = distances[self.first] * distances[self.second]
        weighted_distances = self.patterns * (self.triple_weights * distances)
        triple = float(self.proportions @ _triple_products(weighted_distances))
        expected = np.append(variance * pair_products, variance * skewness * triple)

        slopes = np.zeros((self.first.size + 1, value.size))
        # by the logit of rho, which moves rho by rho (1 - rho)
        slopes[:, 0] = np.append(
            variance * skewness * pair_products,
            variance * (1 - 6 * variance) * triple,
        )

        # by each distance: of a product, what is left of it
        pair = np.arange(self.first.size)
        slopes[pair, 1 + self.first] = variance * distances[self.second]
        slopes[pair, 1 + self.second] = variance * distances[self.first]
        other_products = _pair_products_without(weighted_distances) * self.patterns
        triple_slopes = self.proportions @ other_products
        slopes[-1, 1:] = variance * skewness * triple_slopes * self.triple_weights

        return self.whitening @ (expected - self.observed), self.whitening @ slopes

    def _nearest(self, start: Floats, free: list[int]) -> tuple[Floats, float]:
        """Return the parameters nearest to the data, by Levenberg and Marquardt."""
        value = np.clip(start, -self.bound, self.bound)
        residual, slopes = self._residual(value)
        distance = float(residual @ residual)
        damping = 1e-3

        for _ in range(MAX_STEPS):
            stop_if_requested()
            candidate = self._damped_step(value, residual, slopes, free, damping)
            new_residual, new_slopes = self._residual(candidate)
            new_distance = float(new_residual @ new_residual)
            if new_distance > distance:
                # a step that raises the distance is tried again, shorter (Marquardt
                # 1963)
                damping *= 4
                if damping > 1e10:
                    break
                continue

            damping = max(damping / 5, 1e-9)
            settled = distance - new_distance <= 1e-7 * (1 + new_distance)
            value = candidate
            residual = new_residual
            slopes = new_slopes
            distance = new_distance
            if settled:
                break

        return value, distance

    def _damped_step(
        self,
        value: Floats,
        residual: Floats,
        slopes: Floats,
        free: list[int],
        damping: float,
    ) -> Floats:
        """Return Gauss and Newton's next value, with a ridge, within the bounds."""
        gradient = slopes.T @ residual
        # at a bound that the step would leave, a parameter stays
        leaves_bound = (np.abs(value) >= self.bound) & (gradient * value < 0)
        moving = np.array([k for k in free if not leaves_bound[k]], dtype=int)
        # S'S with a ridge: Marquardt's relative one, and a tiny absolute one
        square = slopes[:, moving].T @ slopes[:, moving]
        square[np.diag_indices(moving.size)] *= 1 + damping
        square[np.diag_indices(moving.size)] += 1e-12

        candidate = value.copy()
        candidate[moving] -= np.linalg.solve(square, gradient[moving])
        return np.clip(candidate, -self.bound, self.bound)

    def standard_errors(self) -> Floats:
        """Return the standard errors of the parameters, if the agreement is real."""
        _, slopes = self._residual(self.value)
        slopes = slopes[:, self.free]
        # the whitened slopes have unit errors: (S'S)^-1
        variances = np.diag(np.linalg.pinv(slopes.T @ slopes))
        errors = np.zeros(self.value.size)
        errors[self.free] = np.sqrt(np.maximum(variances, 0.0))
        return errors

    def p_value_of_misfit(self) -> float:
        """Return the p-value of the model, by the distance of the moments from it."""
        degrees_of_freedom = self.observed.size - len(self.free)
        if degrees_of_freedom < 1 or not self.observed.any():
            return math.nan
        return float(gammaincc(degrees_of_freedom / 2, self.distance / 2))

    def p_value_of_no_agreement(self) -> float:
        """Return the p-value of no agreement between any two classifiers."""
        residual = self.whitening @ self.observed
        return float(gammaincc(residual.size / 2, float(residual @ residual) / 2))

    def interval(self, parameter: int, quantile: float) -> tuple[float, float]:
        """Return the interval of a parameter in which J rises by up to ``quantile``."""
        estimate = float(self.value[parameter])
        if parameter in self.fixed:
            return estimate, estimate
        bound = float(self.bound[parameter])
        low = self._end_of_interval(parameter, -bound, quantile)
        high = self._end_of_interval(parameter, bound, quantile)
        return low, high

    def _end_of_interval(self, parameter: int, bound: float, quantile: float) -> float:
        """Return where J has risen by ``quantile`` between the estimate and a bound."""
        at_bound = self._profile(parameter, bound, self.value)
        if at_bound.rise <= quantile:
            return bound

        target = math.sqrt(quantile)
        inner = float(self.value[parameter])
        outer = bound
        nearest = self.value
        root_inner = 0.0
        root_outer = math.sqrt(min(at_bound.rise, MAX_RISE))
        while abs(outer - inner) > 1e-4 * max(1.0, abs(bound)):
            # sqrt(J) is nearly straight: aim at the target, but always cut off a tenth
            part = (target - root_inner) / (root_outer - root_inner)
            part = min(max(part, 0.1), 0.9)
            middle = inner + part * (outer - inner)
            profile = self._profile(parameter, middle, nearest)
            root = math.sqrt(min(max(profile.rise, 0.0), MAX_RISE))
            if root <= target:
                inner = middle
                nearest = profile.value
                root_inner = root
            else:
                outer = middle
                root_outer = root

        return (inner + outer) / 2

    def _profile(self, parameter: int, value: float, start: Floats) -> _Profile:
        """Hold one parameter at a value, and find the others nearest to the data."""
        start = start.copy()
        start[parameter] = value
        others = [k for k in self.free if k != parameter]
        nearest, distance = self._nearest(start, others)
        # with all signs turned and 1 - rho the fit is the same: keep the one in which
        # most classifiers beat chance
        if nearest[1:].sum() < 0:
            return _Profile(math.inf, nearest)
        return _Profile(distance - self.distance, nearest)


class _Profile(NamedTuple):
    """The rise of J above its minimum, and the parameters there."""

    rise: float
    value: Floats


def _triple_weights(loadings: Floats) -> Floats:
    """Return the weights of classifiers in the sum over triples.

    Any fixed weights will do; these give most where the rank-one matrix is the truth.
    """
    if not loadings.any():
        return np.ones(loadings.size)
    return np.asarray(loadings / np.abs(loadings).max())


def _spaced_rows(n_rows: int) -> Array:
    """Return all rows, or as many of them as a covariance needs."""
    if n_rows <= MAX_COVARIANCE_ROWS:
        return np.arange(n_rows)
    return np.linspace(0, n_rows - 1, MAX_COVARIANCE_ROWS).astype(int)


def _inverse_root(covariance: Floats, n: int) -> Floats:
    """Return a root of the inverse covariance of the mean moments of n cases."""
    variances = np.diag(covariance) / n
    covariance = covariance / n
    scale = np.sqrt(np.where(variances > 0, variances, 1.0))

    # few cases for so many moments: correlations are drawn towards none
    shrinkage = min(1.0, 2 * len(covariance) / n)
    correlation = (1 - shrinkage) * covariance / np.outer(scale, scale)
    np.fill_diagonal(correlation, 1.0)

    eigenvalues, eigenvectors = np.linalg.eigh(correlation)
    # rows are eigenvectors over the root of their eigenvalue: R'R is the inverse
    root = (eigenvectors / np.sqrt(np.maximum(eigenvalues, 1e-6))).T
    return np.asarray(root / scale)


def _triple_products(u: Floats) -> Floats:
    """Sum u_i u_j u_k over the triples i < j < k of each row."""
    # Newton: the third elementary symmetric polynomial from sums of powers
    sums = u.sum(axis=1)
    squares = (u**2).sum(axis=1)
    cubes = (u**3).sum(axis=1)
    # e_3 = (p_1^3 - 3 p_1 p_2 + 2 p_3) / 6
    return np.asarray((sums**3 - 3 * sums * squares + 2 * cubes) / 6)


def _pair_products_without(u: Floats) -> Floats:
    """Sum u_j u_k over the pairs j < k that leave out i, for each i of each row."""
    sums = u.sum(axis=1, keepdims=True)
    squares = (u**2).sum(axis=1, keepdims=True)
    # ((sum)^2 - sum of squares) / 2, without the own term
    return np.asarray(((sums - u) ** 2 - (squares - u**2)) / 2)


def _rank_one_loadings(covariances: Floats) -> Floats:
    """Return v with v_i v_j nearest to the covariances off the diagonal."""
    off_diagonal = covariances.copy()
    np.fill_diagonal(off_diagonal, 0.0)
    # in place of the unknown diagonal, the largest entry of each row
    largest = np.diag(np.abs(off_diagonal).max(axis=1))
    eigenvalues, eigenvectors = np.linalg.eigh(off_diagonal + largest)
    v = eigenvectors[:, -1] * math.sqrt(max(eigenvalues[-1], 0.0))

    for _ in range(MAX_SWEEPS):
        before = v.copy()
        # least squares for one entry, the others held, until nothing moves
        for i in range(len(v)):
            squares_of_others = float(v @ v) - v[i] ** 2
            if squares_of_others > 0:
                v[i] = off_diagonal[i] @ v / squares_of_others
            else:
                v[i] = 0.0
        if np.abs(v - before).max() <= 1e-13 * np.abs(v).max(initial=1e-300):
            break

    # the common sign: most classifiers are better than chance
    if v.sum() < 0:
        return np.asarray(-v)
    return np.asarray(v)


def _start(loadings: Floats, third_moment: float, expected_third: float) -> Floats:
    """Return parameters to start from: the moments solved for one after the other."""
    # with v_i v_j the covariances, the third moments are s v_i v_j v_k where
    # s = (1 - 2 rho) / sqrt(rho (1 - rho)), and D = v sqrt(4 + s^2)
    # without agreement there is no third moment either: half and half
    scaled_skewness = 0.0
    if expected_third > 0:
        scaled_skewness = third_moment / expected_third
    scale = math.sqrt(4 + scaled_skewness * scaled_skewness)
    rho = min(max((1 - scaled_skewness / scale) / 2, 1e-12), 1 - 1e-12)
    logit = math.log(rho / (1 - rho))
    return np.append(logit, np.clip(loadings * scale, -0.5, 0.5))


def _sum_above(column: RankedColumn, values: Floats) -> Floats:
    """Return sums of ``values`` over the rows above each row, less half the total.

    Rows with the same score count by half.
    """
    # (distinct scores, columns): sums over the rows of each score
    levels = np.zeros((column.score.size, values.shape[1]))
    np.add.at(levels, column.group, values[column.order])
    total = levels.sum(axis=0)
    below = np.cumsum(levels, axis=0) - levels / 2
    sums = np.zeros(values.shape)
    sums[column.order] = (total / 2 - below)[column.group]
    return sums
