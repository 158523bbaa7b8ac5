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

import numpy as np
from scipy.special import expit, gammaincc

from trueness._core.arrays import Array, Floats
from trueness._core.progress import stop_if_requested
from trueness.counts.values import Panel
from trueness.ensembles.ranks import RankedColumn, rank_columns, rank_table

# rows that the covariance of the moments is estimated from: more add nothing to it
_ROWS = 1 << 16
_STEPS = 60


class Ranked:
    """Centred ranks x (m, K), 0 where missing, with their mask and weights."""

    def __init__(self, panel: Panel) -> None:
        cases = panel.neg + panel.pos + panel.unknown
        self.cases = cases.astype(np.float64)
        self.n = panel.n
        self.columns = rank_columns(panel.rows, cases)
        stop_if_requested()
        self.size = np.array([max(float(c.cases.sum()), 2.0) for c in self.columns])
        rank = rank_table(self.columns, len(panel.rows))
        self.seen = ~np.isnan(rank)
        self.x = np.where(self.seen, 0.5 - (rank - 0.5) / self.size, 0.0)


class Moments:
    """The moments of ranks, and the parameters that are nearest to them.

    ``found`` are the mean products of the pairs (i, j), then the sum over triples with
    weights ``w``; ``whiten`` turns a deviation from them into one whose square is J.
    ``patterns`` (p, K) say which outputs are there together, in the shares ``share``.
    ``value`` are the parameters, the logit of the prevalence and then D, of which those
    ``held`` are given, and ``distance`` is their J; none is larger than ``most``: a
    case of each class, and AUCs from 0 to 1.
    """

    def __init__(self, ranked: Ranked, prevalence: float | None) -> None:
        weight, self.n = ranked.cases / ranked.cases.sum(), ranked.n
        self.i, self.j = np.triu_indices(ranked.x.shape[1], 1)
        seen = ranked.seen.astype(np.float64)
        common = np.maximum((seen * weight[:, None]).T @ seen, 1e-300)
        together = (ranked.x * weight[:, None]).T @ ranked.x / common
        v = _rank_one(together)
        # any fixed weights of the triples will do; these give most where v is the truth
        self.w = v / np.abs(v).max() if v.any() else np.ones(v.size)
        stop_if_requested()
        third = _triples(ranked.x * self.w)
        self.found = np.append(together[self.i, self.j], weight @ third)
        self.patterns, which = np.unique(seen, axis=0, return_inverse=True)
        self.share = np.bincount(which.reshape(-1), weight).astype(np.float64)
        rows, moved = self._influence(ranked, weight, common[self.i, self.j], third)
        spread = (moved * (weight[rows] / weight[rows].sum())[:, None]).T @ moved
        # a root of the inverse covariance of the moments
        spread, var = spread / self.n, np.diag(spread) / self.n
        scale = np.sqrt(np.where(var > 0, var, 1.0))
        # few cases for so many moments: correlations are drawn towards none
        less = min(1.0, 2 * len(spread) / self.n)
        matrix = (1 - less) * spread / np.outer(scale, scale)
        np.fill_diagonal(matrix, 1.0)
        value, vector = np.linalg.eigh(matrix)
        self.whiten = (vector / np.sqrt(np.maximum(value, 1e-6))).T / scale
        self.most = np.append(math.log(max(self.n - 1, 2)), np.full(v.size, 0.5))
        third_of_v = float(self.share @ _triples(self.patterns * self.w * v))
        start = _start(v, float(self.found[-1]), third_of_v)
        # a classifier that says one thing to all has an AUC of 1/2
        flat = [1 + k for k, c in enumerate(ranked.columns) if c.score.size < 2]
        start[flat], self.held = 0.0, {*flat}
        if prevalence is not None:
            start[0] = math.log(prevalence / (1 - prevalence))
            self.held |= {0}
        self.free = [k for k in range(start.size) if k not in self.held]
        self.value, self.distance = self._nearest(start, self.free)

    def _influence(
        self, ranked: Ranked, weight: Floats, common: Floats, third: Floats
    ) -> tuple[Array, Floats]:
        r"""How does each case move the moments? Some rows, and (rows, moments).

        A case counts by its own product, and by the ranks of all others, which it
        moves: with U the rank share of classifier i, by
        :math:`\mathrm{E}[(1(U' \ge u) - U') x_j']`, as in the variance of Spearman's
        correlation. Without this part the intervals would be too wide.
        """
        i, j, m = self.i, self.j, len(weight)
        at = np.arange(m) if m <= _ROWS else np.linspace(0, m - 1, _ROWS).astype(int)
        x, seen = ranked.x[at], ranked.seen[at]
        both = seen[:, i] & seen[:, j]
        out = np.empty((at.size, i.size + 1))
        out[:, :-1] = (x[:, i] * x[:, j] - self.found[:-1]) * both / common
        out[:, -1] = third[at] - self.found[-1]
        # for the third moment: the products of all pairs that leave a classifier out
        beside = _pairs_beside(ranked.x * self.w) * self.w
        for c, column in enumerate(ranked.columns):
            stop_if_requested()
            of_c = np.flatnonzero((i == c) | (j == c))
            others = np.where(i[of_c] == c, j[of_c], i[of_c])
            part = np.column_stack([ranked.x[:, others], beside[:, c]])
            part *= weight[:, None]
            # the case stands before some others: their rank shares rise by a little
            moved = _above(column, part)[at] - ranked.x[:, c] @ part
            out[:, of_c] += moved[:, :-1] / common[of_c] * seen[:, [c]]
            out[:, -1] += moved[:, -1] * seen[:, c]
        return at, out

    def _residual(self, value: Floats) -> tuple[Floats, Floats]:
        """How far are moments of these parameters from those found? By them, too."""
        rho, d, i, j = float(expit(value[0])), value[1:], self.i, self.j
        k, skew = rho * (1 - rho), 1 - 2 * rho
        at, product = np.arange(i.size), d[i] * d[j]
        u = self.patterns * (self.w * d)
        total = float(self.share @ _triples(u))
        by = np.zeros((i.size + 1, value.size))
        # by the logit of rho, which moves rho by rho (1 - rho)
        by[:, 0] = np.append(k * skew * product, k * (1 - 6 * k) * total)
        by[at, 1 + i], by[at, 1 + j] = k * d[j], k * d[i]
        beside = self.share @ (_pairs_beside(u) * self.patterns)
        by[-1, 1:] = k * skew * beside * self.w
        mean = np.append(k * product, k * skew * total)
        return self.whiten @ (mean - self.found), self.whiten @ by

    def _nearest(self, start: Floats, free: list[int]) -> tuple[Floats, float]:
        """Find parameters nearest to the data by Levenberg and Marquardt's steps."""
        value, damping = np.clip(start, -self.most, self.most), 1e-3
        gap, by = self._residual(value)
        distance = float(gap @ gap)
        for _ in range(_STEPS):
            stop_if_requested()
            gradient = by.T @ gap
            # at a limit that the step would leave, a parameter stays
            out = (np.abs(value) >= self.most) & (gradient * value < 0)
            go = np.array([k for k in free if not out[k]], dtype=int)
            # Gauss and Newton, with a ridge that grows where a step led up
            square = by[:, go].T @ by[:, go]
            square[np.diag_indices(go.size)] *= 1 + damping
            square[np.diag_indices(go.size)] += 1e-12
            new = value.copy()
            new[go] -= np.linalg.solve(square, gradient[go])
            new = np.clip(new, -self.most, self.most)
            new_gap, new_by = self._residual(new)
            ahead = float(new_gap @ new_gap)
            if ahead > distance:
                damping *= 4
                if damping > 1e10:
                    break
                continue
            damping = max(damping / 5, 1e-9)
            done = distance - ahead <= 1e-7 * (1 + ahead)
            value, gap, by, distance = new, new_gap, new_by, ahead
            if done:
                break
        return value, distance

    def standard_errors(self) -> Floats:
        """How far do the estimates vary, where the agreement is beyond doubt?"""
        by = self._residual(self.value)[1][:, self.free]
        out = np.zeros(self.value.size)
        out[self.free] = np.sqrt(np.maximum(np.diag(np.linalg.pinv(by.T @ by)), 0.0))
        return out

    def chance_of_misfit(self) -> float:
        """How likely are moments as far from the model as these, if it is the truth?"""
        freedom = self.found.size - len(self.free)
        if freedom < 1 or not self.found.any():
            return math.nan
        return float(gammaincc(freedom / 2, self.distance / 2))

    def chance_of_nothing(self) -> float:
        """How likely are moments as large as these, if no two classifiers agree?"""
        gap = self.whiten @ self.found
        return float(gammaincc(gap.size / 2, float(gap @ gap) / 2))

    def interval(self, at: int, quantile: float) -> tuple[float, float]:
        """Between which values of a parameter is J within ``quantile`` of its least?"""
        here, others = float(self.value[at]), [k for k in self.free if k != at]

        def solve(x: float, start: Floats) -> tuple[float, Floats]:
            start = start.copy()
            start[at] = x
            value, distance = self._nearest(start, others)
            # all signs turned, with 1 - rho, is the same fit: most beat chance
            turned = value[1:].sum() < 0
            return math.inf if turned else distance - self.distance, value

        def end(limit: float) -> float:
            """Walk from the estimate towards a limit until J is too large."""
            inner, outer, near, low = here, limit, self.value, 0.0
            rise, _ = solve(limit, near)
            if rise <= quantile:
                return limit
            z, high = math.sqrt(quantile), math.sqrt(min(rise, 1e6))
            while abs(outer - inner) > 1e-4 * max(1.0, abs(limit)):
                # sqrt(J) is nearly straight: aim at z, but always cut off a tenth
                part = min(max((z - low) / (high - low), 0.1), 0.9)
                x = inner + part * (outer - inner)
                rise, value = solve(x, near)
                root = math.sqrt(min(max(rise, 0.0), 1e6))
                if root <= z:
                    inner, near, low = x, value, root
                else:
                    outer, high = x, root
            return (inner + outer) / 2

        if at in self.held:
            return here, here
        limit = float(self.most[at])
        return end(-limit), end(limit)


def _triples(u: Floats) -> Floats:
    """Sum u_i u_j u_k over the triples i < j < k of each row."""
    # Newton: the third elementary symmetric polynomial from sums of powers
    a, b, c = u.sum(axis=1), (u**2).sum(axis=1), (u**3).sum(axis=1)
    return np.asarray((a**3 - 3 * a * b + 2 * c) / 6)


def _pairs_beside(u: Floats) -> Floats:
    """Sum u_j u_k over the pairs j < k that leave out i, for each i of each row."""
    total, square = u.sum(axis=1, keepdims=True), (u**2).sum(axis=1, keepdims=True)
    return np.asarray(((total - u) ** 2 - (square - u**2)) / 2)


def _rank_one(together: Floats) -> Floats:
    """Which v has v_i v_j nearest to the covariances off the diagonal?"""
    c = together.copy()
    np.fill_diagonal(c, 0.0)
    value, vector = np.linalg.eigh(c + np.diag(np.abs(c).max(axis=1)))
    v = vector[:, -1] * math.sqrt(max(value[-1], 0.0))
    for _ in range(2000):
        before = v.copy()
        # least squares for one entry, the others held, until nothing moves
        for i in range(len(v)):
            square = float(v @ v) - v[i] ** 2
            v[i] = c[i] @ v / square if square > 0 else 0.0
        if np.abs(v - before).max() <= 1e-13 * np.abs(v).max(initial=1e-300):
            break
    # the common sign: most classifiers are better than chance
    return np.asarray(-v if v.sum() < 0 else v)


def _start(v: Floats, third: float, expected: float) -> Floats:
    """Solve the moments for the parameters, each in turn."""
    # with v_i v_j the covariances, the third moments are s v_i v_j v_k where
    # s = (1 - 2 rho) / sqrt(rho (1 - rho)), and D = v sqrt(4 + s^2)
    # without agreement there is no third moment either: half and half
    s = third / expected if expected > 0 else 0.0
    scale = math.sqrt(4 + s * s)
    rho = min(max((1 - s / scale) / 2, 1e-12), 1 - 1e-12)
    return np.append(math.log(rho / (1 - rho)), np.clip(v * scale, -0.5, 0.5))


def _above(column: RankedColumn, part: Floats) -> Floats:
    """Sum ``part`` over rows above each, its own level by half, less half of all."""
    levels = np.zeros((column.score.size, part.shape[1]))
    np.add.at(levels, column.group, part[column.order])
    total = levels.sum(axis=0)
    out = np.zeros(part.shape)
    upto = np.cumsum(levels, axis=0) - levels / 2
    out[column.order] = (total / 2 - upto)[column.group]
    return out
