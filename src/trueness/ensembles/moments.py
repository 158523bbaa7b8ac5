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
from dataclasses import dataclass
from typing import NamedTuple, final

import numpy as np
from scipy.special import expit, gammaincc

from trueness._core.arrays import Array, Floats
from trueness.counts.values import Panel
from trueness.ensembles.rank_tables import RankedColumn, rank_columns, rank_table

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
        self.size = np.array([max(float(c.cases.sum()), 2.0) for c in self.columns])
        rank = rank_table(self.columns)
        self.seen = ~np.isnan(rank)
        self.x = np.where(self.seen, 0.5 - (rank - 0.5) / self.size, 0.0)


@final
@dataclass(frozen=True)
class Moments:
    """The moments of the data, and how their distance from a model is measured.

    ``found`` are the mean products of the pairs (i, j), then the sum over triples with
    weights ``w``; ``whiten`` turns a deviation from them into one whose square is J.
    ``patterns`` (p, K) say which outputs are there together, in the shares ``share``;
    ``start`` are parameters near the data.
    """

    found: Floats
    whiten: Floats
    i: Array
    j: Array
    w: Floats
    patterns: Floats
    share: Floats
    start: Floats
    n: int


class Solution(NamedTuple):
    """Parameters (logit of the prevalence, then D) and their distance J."""

    value: Floats
    distance: float


def moments(ranked: Ranked) -> Moments:
    """Which moments have the ranks, and how sure are they?"""
    weight = ranked.cases / ranked.cases.sum()
    i, j = np.triu_indices(ranked.x.shape[1], 1)
    seen = ranked.seen.astype(np.float64)
    common = np.maximum((seen * weight[:, None]).T @ seen, 1e-300)
    together = (ranked.x * weight[:, None]).T @ ranked.x / common
    v = rank_one(together)
    # any fixed weights of the triples will do; these give the most where v is the truth
    w = v / np.abs(v).max() if v.any() else np.ones(v.size)
    third = triples(ranked.x * w)
    found = np.append(together[i, j], weight @ third)
    rows, moved = _influence(ranked, weight, common[i, j], found, third, w, (i, j))
    spread = (moved * (weight[rows] / weight[rows].sum())[:, None]).T @ moved
    patterns, which = np.unique(seen, axis=0, return_inverse=True)
    share = np.bincount(which.reshape(-1), weight).astype(np.float64)
    start = _start(v, float(found[-1]), float(share @ triples(patterns * (w * v))))
    whiten = _whitener(spread / ranked.n, ranked.n)
    return Moments(found, whiten, i, j, w, patterns, share, start, ranked.n)


def triples(u: Floats) -> Floats:
    """Sum u_i u_j u_k over the triples i < j < k of each row."""
    # Newton: the third elementary symmetric polynomial from sums of powers
    a, b, c = u.sum(axis=1), (u**2).sum(axis=1), (u**3).sum(axis=1)
    return np.asarray((a**3 - 3 * a * b + 2 * c) / 6)


def pairs_beside(u: Floats) -> Floats:
    """Sum u_j u_k over the pairs j < k that leave out i, for each i of each row."""
    total, square = u.sum(axis=1, keepdims=True), (u**2).sum(axis=1, keepdims=True)
    return np.asarray(((total - u) ** 2 - (square - u**2)) / 2)


def rank_one(together: Floats) -> Floats:
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


def _influence(
    ranked: Ranked,
    weight: Floats,
    common: Floats,
    found: Floats,
    third: Floats,
    w: Floats,
    pairs: tuple[Array, Array],
) -> tuple[Array, Floats]:
    r"""How does each case move the moments? Some rows, and (rows, moments).

    A case counts by its own product, and by the ranks of all others, which it moves:
    with U the rank share of classifier i, by
    :math:`\mathrm{E}[(1(U' \ge u) - U') x_j']`, as in the variance of Spearman's
    correlation. Without this part the intervals would be too wide.
    """
    i, j = pairs
    m = len(weight)
    at = np.arange(m) if m <= _ROWS else np.linspace(0, m - 1, _ROWS).astype(int)
    x, seen = ranked.x[at], ranked.seen[at]
    out = np.empty((at.size, i.size + 1))
    out[:, :-1] = (x[:, i] * x[:, j] - found[:-1]) * (seen[:, i] & seen[:, j]) / common
    out[:, -1] = third[at] - found[-1]
    # for the third moment: the products of all pairs that leave a classifier out
    beside = pairs_beside(ranked.x * w) * w
    for c, column in enumerate(ranked.columns):
        of_c = np.flatnonzero((i == c) | (j == c))
        others = np.where(i[of_c] == c, j[of_c], i[of_c])
        part = np.column_stack([ranked.x[:, others], beside[:, c]]) * weight[:, None]
        # the case stands before some others: their rank shares rise by a little
        moved = _above(column, part)[at] - ranked.x[:, c] @ part
        out[:, of_c] += moved[:, :-1] / common[of_c] * seen[:, [c]]
        out[:, -1] += moved[:, -1] * seen[:, c]
    return at, out


def _above(column: RankedColumn, part: Floats) -> Floats:
    """Sum ``part`` over rows above each, its own level by half, less half of all."""
    levels = np.zeros((column.score.size, part.shape[1]))
    np.add.at(levels, column.group, part[column.order])
    total = levels.sum(axis=0)
    out = np.zeros(part.shape)
    upto = np.cumsum(levels, axis=0) - levels / 2
    out[column.order] = (total / 2 - upto)[column.group]
    return out


def _whitener(spread: Floats, n: int) -> Floats:
    """Give a root of the inverse covariance, shrunk where cases are few for it."""
    size = len(spread)
    var = np.diag(spread)
    scale = np.sqrt(np.where(var > 0, var, 1.0))
    # few cases for so many moments: correlations are drawn towards none
    share = min(1.0, 2 * size / n)
    matrix = (1 - share) * spread / np.outer(scale, scale)
    np.fill_diagonal(matrix, 1.0)
    value, vector = np.linalg.eigh(matrix)
    return np.asarray((vector / np.sqrt(np.maximum(value, 1e-6))).T / scale)


def expected(m: Moments, value: Floats) -> tuple[Floats, Floats]:
    """Which moments do these parameters have, and how do they follow them?"""
    rho, d = float(expit(value[0])), value[1:]
    k, skew = rho * (1 - rho), 1 - 2 * rho
    at, product = np.arange(m.i.size), d[m.i] * d[m.j]
    u = m.patterns * (m.w * d)
    total = float(m.share @ triples(u))
    by = np.zeros((m.i.size + 1, value.size))
    # by the logit of rho, which moves rho by rho (1 - rho)
    by[:, 0] = np.append(k * skew * product, k * (1 - 6 * k) * total)
    by[at, 1 + m.i], by[at, 1 + m.j] = k * d[m.j], k * d[m.i]
    by[-1, 1:] = k * skew * (m.share @ (pairs_beside(u) * m.patterns)) * m.w
    return np.append(k * product, k * skew * total), by


def farthest(m: Moments) -> Floats:
    """How large can the parameters be? A case of each class, and AUCs from 0 to 1."""
    return np.append(math.log(max(m.n - 1, 2)), np.full(m.start.size - 1, 0.5))


def nearest(m: Moments, start: Floats, held: frozenset[int]) -> Solution:
    """Find parameters nearest to the data by Levenberg and Marquardt's steps."""
    free = np.array([k for k in range(start.size) if k not in held], dtype=int)
    most = farthest(m)
    value, damping = np.clip(start, -most, most), 1e-3
    gap, by = _residual(m, value)
    distance = float(gap @ gap)
    for _ in range(_STEPS):
        gradient = by.T @ gap
        # at a limit that the step would leave, a parameter stays
        out = (np.abs(value) >= most) & (gradient * value < 0)
        go = free[~out[free]]
        # Gauss and Newton, with a ridge that grows where a step led up
        square = by[:, go].T @ by[:, go]
        square[np.diag_indices(go.size)] *= 1 + damping
        square[np.diag_indices(go.size)] += 1e-12
        new = value.copy()
        new[go] -= np.linalg.solve(square, gradient[go])
        new = np.clip(new, -most, most)
        new_gap, new_by = _residual(m, new)
        ahead = float(new_gap @ new_gap)
        if ahead > distance:
            damping *= 4
            if damping > 1e10:
                break
            continue
        damping, done = max(damping / 5, 1e-9), distance - ahead <= 1e-7 * (1 + ahead)
        value, gap, by, distance = new, new_gap, new_by, ahead
        if done:
            break
    return Solution(value, distance)


def _residual(m: Moments, value: Floats) -> tuple[Floats, Floats]:
    mean, by = expected(m, value)
    return m.whiten @ (mean - m.found), m.whiten @ by


def standard_errors(m: Moments, best: Solution, held: frozenset[int]) -> Floats:
    """How far do the estimates vary, where the agreement is beyond doubt?"""
    free = [k for k in range(best.value.size) if k not in held]
    by = _residual(m, best.value)[1][:, free]
    out = np.zeros(best.value.size)
    out[free] = np.sqrt(np.maximum(np.diag(np.linalg.pinv(by.T @ by)), 0.0))
    return out


def chance_of_misfit(m: Moments, best: Solution, held: frozenset[int]) -> float:
    """How likely are moments as far from the model as these, if it is the truth?"""
    freedom = m.found.size - (best.value.size - len(held))
    if freedom < 1 or not m.found.any():
        return math.nan
    return float(gammaincc(freedom / 2, best.distance / 2))


def chance_of_nothing(m: Moments) -> float:
    """How likely are moments as large as these, if no two classifiers agree?"""
    gap = m.whiten @ m.found
    return float(gammaincc(gap.size / 2, float(gap @ gap) / 2))


def interval(
    m: Moments, best: Solution, at: int, quantile: float, held: frozenset[int]
) -> tuple[float, float]:
    """Between which values of a parameter is J within ``quantile`` of its smallest?"""

    def solve(x: float, start: Floats) -> tuple[float, Floats]:
        start = start.copy()
        start[at] = x
        s = nearest(m, start, held | {at})
        # all signs turned, with 1 - rho, is the same fit: most are better than chance
        turned = s.value[1:].sum() < 0
        return math.inf if turned else s.distance - best.distance, s.value

    def end(limit: float) -> float:
        """Walk from the estimate towards a limit until J is too large."""
        inner, outer, near, low = float(best.value[at]), limit, best.value, 0.0
        rise, _ = solve(limit, near)
        if rise <= quantile:
            return limit
        z, high = math.sqrt(quantile), math.sqrt(min(rise, 1e6))
        while abs(outer - inner) > 1e-4 * max(1.0, abs(limit)):
            # sqrt(J) is nearly straight: aim at z, but always cut off a tenth
            x = inner + min(max((z - low) / (high - low), 0.1), 0.9) * (outer - inner)
            rise, value = solve(x, near)
            root = math.sqrt(min(max(rise, 0.0), 1e6))
            if root <= z:
                inner, near, low = x, value, root
            else:
                outer, high = x, root
        return (inner + outer) / 2

    if at in held:
        return float(best.value[at]), float(best.value[at])
    limit = float(farthest(m)[at])
    return end(-limit), end(limit)
