r"""Which beta and mu meet Eqs 3 and 4 of the Fermi-Dirac paper, to the last digits?

With c = r - (N+1)/2 the conditions are

.. math:: \sum_r \sigma(a - \beta c_r) = N_1, \qquad
          \sum_r c_r \sigma(a - \beta c_r) = N_1 N_0 (1/2 - A).

Both are rewritten as sums of positive terms, so that nothing cancels: around the middle
rank when the AUC is near 1/2 (``_from_middle``), around the step at rank N1 + 1/2 when
it is near 1 (``_from_step``). A sum over many ranks is one over few nodes: Gauss
quadrature on panels a few widths of the step long, with the Euler-Maclaurin terms at
the ends folded into the weights (``unit_sums``). So the cost does not grow with N.

Kim et al. 2021, doi:10.1073/pnas.2100761118.
"""

from __future__ import annotations

import math
from functools import cache, cached_property
from typing import Any

import numpy as np
from numpy.polynomial import legendre
from scipy.special import expit

from trueness._core.arrays import Floats, blocks

# more ranks than this are summed by quadrature: beta is below 0.05 then, and the first
# Euler-Maclaurin term that is left out is below 1e-15
_MANY = 2048
# beyond this many widths of the step a term is below 1e-19 of the largest
_REACH = 45.0
_NODES = 16
# a window wider than this has beta < 0.0014: the second Euler-Maclaurin term is 1e-14
_WIDE = 1 << 16


# beta, llr and centre of eq. 5 as logit P(r) = logit(rho) + llr - beta (r - centre)
Solution = tuple[float, float, float]


def line(rank: Any, height: float, beta: float, centre: float) -> Any:
    """Give height - beta (r - centre), a step where beta is infinite.

    Written around the centre: beta (mu - r) would lose digits where mu is far away.
    """
    away = rank - centre
    if math.isfinite(beta):
        return height - beta * away
    steep = np.copysign(np.inf, -math.copysign(1, beta) * away)
    return np.where(away == 0, height, steep)[()]


def solve(n: int, n_pos: float, auc: float) -> Solution:
    """Find the one solution for 0 < n_pos < n and 0 <= auc <= 1.

    ``n_pos`` may be a fraction (an expected number); an AUC beyond what N ranks can
    then hold is taken as the largest that they can, with infinite beta.
    """
    if auc < 0.5:  # AUC -> 1 - AUC reverses the ranks: P(r) -> P(N + 1 - r)
        beta, llr, centre = _better_than_chance(n, n_pos, 0.5 - auc, auc)
        return -beta, llr, n + 1 - centre
    # both differences are exact in floating point for auc >= 1/2
    return _better_than_chance(n, n_pos, auc - 0.5, 1 - auc)


def _better_than_chance(n: int, n_pos: float, above: float, below: float) -> Solution:
    if n_pos > n / 2:  # rho -> 1 - rho turns P(r) into 1 - P(N + 1 - r)
        beta, llr, centre = _better_than_chance(n, n - n_pos, above, below)
        return beta, -llr, n + 1 - centre
    if above == 0:
        return 0.0, 0.0, (n + 1) / 2
    if above <= 0.25:
        return _from_middle(n, n_pos, above)
    whole, base = math.floor(n_pos), _logit(n_pos, n)
    part = n_pos - whole
    # what is left of N1 N0 (1 - A) when the fraction of a case is placed best
    room = n_pos * (n - n_pos) * below - part * (1 - part) / 2
    if room > 0:
        return _from_step(n, n_pos, below, room)
    # every positive first: beta is infinite, the logit at the centre that of part
    if part == 0:
        return math.inf, -base, whole + 0.5
    return math.inf, math.log(part / (1 - part)) - base, whole + 1.0


def _logit(n_pos: float, n: int) -> float:
    return math.log(n_pos / (n - n_pos))


def _from_middle(n: int, n_pos: float, above: float) -> Solution:
    r"""Solve for delta = a - logit(rho) and beta, with t = beta c, c > 0.

    .. math:: N (\sigma(a) - \rho) = \tanh(a/2) \sum_{c>0}
              \frac{\cosh t - 1}{\cosh a + \cosh t}, \qquad
              \sum_{c>0} \frac{c \sinh t}{\cosh a + \cosh t} = N_1 N_0 (A - 1/2)
    """
    rho, base = n_pos / n, _logit(n_pos, n)
    goal = math.log(n_pos) + math.log(n - n_pos) + math.log(above)
    # the weak limit with the exact factor N^2 / (N^2 - 1)
    theta = math.log(12 * above * n) - math.log(n) * 2 - math.log1p(-1 / n**2)
    delta = 0.0
    odd = n % 2
    for _ in range(60):
        beta = math.exp(theta)
        c, w = unit_sums(0.5 if odd else 0.0, n // 2, beta, math.inf)
        t, a = beta * c, base + delta
        sinh, cosh1 = np.sinh(t), 2 * np.sinh(t / 2) ** 2
        q = 1 / (math.cosh(a) + 1 + cosh1)
        half, wq = math.tanh(a / 2), w * q
        # the two sums above; _a and _b mark derivatives by a and by beta
        spread = float(wq @ cosh1)
        spread_a = -math.sinh(a) * float((wq * q) @ cosh1)
        spread_b = (math.cosh(a) + 1) * float((wq * q) @ (c * sinh))
        moment = float(wq @ (c * sinh))
        moment_a = -math.sinh(a) * float((wq * q) @ (c * sinh))
        moment_b = float(wq @ (c * c * (1 + cosh1 - sinh * sinh * q)))
        up = rho * math.expm1(delta)
        above_rho = (1 - rho) * up / (1 + up)  # sigma(a) - rho without the difference
        f1_a = (1 - half * half) / 2 * (0.5 - spread / n) - half * spread_a / n
        value = above_rho - half * spread / n, math.log(moment) - goal
        by_first = f1_a, -beta * half * spread_b / n
        by_second = moment_a / moment, beta * moment_b / moment
        moves = _newton(value, (*by_first, *by_second), 1.0)
        delta, theta = delta + moves[0], theta + moves[1]
        if abs(moves[1]) < 1e-12 and abs(moves[0]) <= 1e-12 * abs(delta):
            break
    return math.exp(theta), delta, (n + 1) / 2


def _from_step(n: int, n_pos: float, below: float, room: float) -> Solution:
    r"""Solve for alpha and beta in logit P = alpha - beta s, s = r - k - 1/2.

    With k = floor(N1), f = N1 - k, misses A (positives expected behind the step) and B
    (negatives before it)

    .. math:: A = B + f, \qquad B + \sum_{s>0} (s - \tfrac12) P
              + \sum_{s<0} (|s| - \tfrac12) (1 - P)
              = N_1 N_0 (1 - \mathrm{AUC}) - f (1 - f) / 2
    """
    whole = math.floor(n_pos)
    part = n_pos - whole
    # Differs from the paper's strong limit by pi/2: beta^2 = pi^2 / (6 N1 N0 (1 - A));
    # few misses in all go as exp(-beta/2), few positives as a truncated exponential
    beta = -2 * math.log(room)
    if room >= 0.3:
        beta = min(math.pi / math.sqrt(6 * room), 1 / (below * n))
    # Eq. 6, shifted by half a rank and written around the step
    ratio = math.expm1(-beta * n_pos) / math.expm1(-beta * (n - n_pos))
    alpha = beta * part + math.log(ratio)
    if part and beta > 3:
        alpha = beta / 2 + math.log(part / (1 - part))
    theta, goal = math.log(beta), math.log(room)
    for _ in range(200):
        beta = math.exp(theta)
        behind = _Tail(alpha, beta, n - whole)
        before = _Tail(-alpha, beta, whole)
        # one common scale for both tails
        top = max(behind.log_scale, before.log_scale)
        x, y = math.exp(behind.log_scale - top), math.exp(before.log_scale - top)
        f = part * math.exp(min(700.0, -top)) if part else 0.0
        # both equations in logarithms; _a and _b mark derivatives by alpha and by beta
        late, early = x * behind.p0, y * before.p0 + f
        r1 = math.log(late) - math.log(early)
        r1_a = x * behind.v0 / late + y * before.v0 / early
        r1_b = -x * behind.v0s / late + y * before.v0s / early
        moved = x * behind.p1 + y * (before.p1 + before.p0)
        moved_a = x * behind.v1 - y * (before.v1 + before.v0)
        moved_b = -x * behind.v1s - y * (before.v1s + before.v0s)
        r2 = math.log(moved) + top - goal
        rows = (r1_a, beta * r1_b, moved_a / moved, beta * moved_b / moved)
        moves = _newton((r1, r2), rows, 2.0 + beta)
        alpha, theta = alpha + moves[0], theta + moves[1]
        if abs(moves[1]) < 1e-12 and abs(moves[0]) < 1e-12 * (1 + abs(alpha)):
            break
    return math.exp(theta), alpha - _logit(n_pos, n), whole + 0.5


class _Tail:
    """Sums over s = 1/2, 3/2, ... (count of them) of sigma(alpha - beta s)."""

    def __init__(self, alpha: float, beta: float, count: int) -> None:
        s, w = unit_sums(0.0, count, beta, max(alpha, 0.0) + _REACH)
        s1 = s - 0.5
        # scaled by its largest term, which may be below the smallest float
        self.log_scale = min(0.0, alpha - beta / 2)
        scale = math.exp(min(700.0, -self.log_scale)) if count else 1.0
        if -self.log_scale > 700:
            p = np.exp(alpha - beta * s - self.log_scale)
            v = p
        else:
            p = expit(alpha - beta * s) * scale
            v = p * expit(beta * s - alpha)
        wp, wv = w * p, w * v
        self.p0, self.p1 = float(wp.sum()), float(wp @ s1)
        # derivatives: by alpha, by -beta
        self.v0, self.v0s = float(wv.sum()), float(wv @ s)
        self.v1, self.v1s = float(wv @ s1), float((wv * s) @ s1)


def _newton(
    value: tuple[float, float], rows: tuple[float, ...], most: float
) -> tuple[float, float]:
    """Give the Newton step of (a, log beta), kept within ``most`` and 1."""
    aa, ab, ba, bb = rows
    # Cramer's rule; equations and unknowns are two
    det = aa * bb - ab * ba
    first = -(value[0] * bb - value[1] * ab) / det
    second = -(aa * value[1] - ba * value[0]) / det
    return max(-most, min(most, first)), max(-1.0, min(1.0, second))


def unit_sums(
    start: float, count: int, beta: float, reach: float
) -> tuple[Floats, Floats]:
    """Give nodes and weights of the sum over start + 1/2, start + 3/2, ... .

    It holds for functions that vary on the scale 1/beta and are negligible beyond
    ``reach`` of these scales.
    """
    ranks = math.ceil(min(float(count), reach / beta))
    if ranks <= _MANY:
        s: Floats = np.arange(ranks, dtype=np.float64) + (start + 0.5)
        return s, np.ones(s.size)
    return _panels(start, start + ranks, beta, reaches_end=ranks == count)


def _panels(
    low: float, high: float, beta: float, *, reaches_end: bool
) -> tuple[Floats, Floats]:
    x, w, left, right = _rule()
    edges = _edges(low, high, beta)
    half = np.diff(edges)[:, None] / 2
    nodes = (edges[:-1, None] + half) + half * x
    weights = half * w
    # sum over midpoints = integral - [f'] / 24 + 7 [f'''] / 5760
    for k, size in ((0, -1 / 24), (1, 7 / 5760)):
        weights[0] -= size * left[k] / half[0] ** (2 * k + 1)
        if reaches_end:
            weights[-1] += size * right[k] / half[-1] ** (2 * k + 1)
    return nodes.ravel(), weights.ravel()


def _edges(low: float, high: float, beta: float) -> Floats:
    """Panels four widths of the step long, the first and the last one width."""
    span = (high - low) * beta
    if span <= 2:
        return np.array([low, high])
    inner = max(1, math.ceil((span - 2) / 4))
    middle = np.linspace(low + 1 / beta, high - 1 / beta, inner + 1)
    return np.concatenate([[low], middle, [high]])


@cache
def _rule() -> tuple[Any, ...]:
    """Gauss-Legendre nodes and weights, and f', f''' at both ends from the nodes."""
    x, w = legendre.leggauss(_NODES)
    # values at the nodes -> Legendre coefficients, by the discrete orthogonality
    degree, basis = np.arange(_NODES), np.eye(_NODES)
    to_series = (legendre.legvander(x, _NODES - 1) * w[:, None]).T
    to_series *= (2 * degree[:, None] + 1) / 2
    left, right = (
        [legendre.legval(end, legendre.legder(basis, k)) @ to_series for k in (1, 3)]
        for end in (-1.0, 1.0)
    )
    return x, w, left, right


class PartitionSums:
    """Sums of P(r) and 1 - P(r) of one Fermi-Dirac distribution, up to any rank.

    Far from the step every probability is 0 or 1 to the last digit, so sums run over a
    window of ranks. A wide window has a slow beta, and Euler-Maclaurin gives the sum
    from the integral, which is a logarithm.
    """

    def __init__(self, n: int, n_pos: float, auc: float, solution: Solution) -> None:
        self.n, self.n_pos, self.auc = n, n_pos, auc
        self.beta, llr, self.centre = solution
        self.height = _logit(n_pos, n) + llr

    def logit(self, rank: Any) -> Any:
        """Give the log-odds of being positive at a rank."""
        return line(rank, self.height, self.beta, self.centre)

    @cached_property
    def window(self) -> tuple[int, int]:
        """Give the first and last rank where the probability is not 0 or 1."""
        slope = abs(self.beta)
        if slope * self.n < 1e-3:
            return 1, self.n
        middle = self.centre + self.height / self.beta
        reach = _REACH / slope
        low = math.floor(min(max(middle - reach, 1), self.n))
        return low, math.ceil(max(min(middle + reach, self.n), low))

    @property
    def is_wide(self) -> bool:
        """Are there more such ranks than are summed one by one?"""
        return self.window[1] - self.window[0] >= _WIDE

    @cached_property
    def _running(self) -> tuple[Floats, Floats]:
        """Running sums of P and 1 - P over the window, from 0."""
        low, high = self.window
        x = self.logit(np.arange(low, high + 1.0))
        return tuple(np.concatenate([[0.0], np.cumsum(expit(s * x))]) for s in (1, -1))  # type: ignore[return-value]

    def head(self, k: Floats, *, positive: bool = True) -> Any:
        """Sum P (or 1 - P) over the ranks 1 to k."""
        low, high = self.window
        rises = (self.beta < 0) == positive  # then the sum is 0 before the window
        inside = np.clip(k, low - 1, high)
        if self.is_wide:
            # midpoint Euler-Maclaurin: sum = integral - [f'] / 24
            sign, start, end = 1 if positive else -1, low - 0.5, inside + 0.5
            slope = self._slope(end, sign) - self._slope(start, sign)
            part = self._integral(start, end, sign) - slope / 24
        else:
            part = self._running[0 if positive else 1][(inside - low + 1).astype(int)]
        outside = np.maximum(k - high, 0) if rises else np.minimum(k, low - 1)
        return part + outside

    def _slope(self, rank: Any, sign: int) -> Any:
        p = expit(self.logit(rank))
        return -sign * self.beta * p * (1 - p)

    def _integral(self, start: Any, end: Any, sign: int) -> Any:
        """Integrate P (or 1 - P) over ranks, accurately for beta near 0 too."""
        slope = abs(self.beta) or 1e-290
        x, y = sign * self.logit(start), sign * self.logit(end)
        low, rise = np.minimum(x, y), np.abs(self.beta) * (end - start)
        rise = np.where(rise == 0, slope * (end - start), rise)
        with np.errstate(over="ignore"):
            # log(1 + e^(x + d)) - log(1 + e^x) without the difference
            near = np.log1p(expit(low) * np.expm1(np.minimum(rise, 40.0)))
        far = np.logaddexp(0, low + rise) - np.logaddexp(0, low)
        return np.where(rise < 40, near, far) / slope

    @cached_property
    def variances(self) -> tuple[float, float]:
        """Give P110 - AUC^2 and P100 - AUC^2, ties of a rank with itself counting 1/2.

        They are variances: of F1 over the negatives and of F0 over the positives.
        Taken so, they keep their digits where both terms are near 1.
        """
        if self.beta < 0:  # reversing the ranks turns F into 1 - F
            mirror = -self.beta, 0.0, self.n + 1 - self.centre
            sums = PartitionSums(self.n, self.n_pos, 1 - self.auc, mirror)
            sums.height = self.height
            return sums._variances(self.auc)
        return self._variances(1 - self.auc)

    def _variances(self, miss: float) -> tuple[float, float]:
        low, high = self.window
        n_neg = self.n - self.n_pos
        p1, p0, w, late, early = self._misses()
        # late / N1 = 1 - F1, early / N0 = 1 - F0; their means are 1 - AUC (FD9)
        over_neg = float((w * p0) @ (late / self.n_pos - miss) ** 2)
        over_pos = float((w * p1) @ (early / n_neg - miss) ** 2)
        over_neg += miss**2 * (self.n - high)
        over_pos += miss**2 * (low - 1)
        return over_neg / n_neg, over_pos / self.n_pos

    def _misses(self) -> tuple[Floats, ...]:
        """At nodes in the window: P1, P0, weight, positives after, negatives before."""
        low, high = self.window
        if not self.is_wide:
            x = self.logit(np.arange(low, high + 1.0))
            p1, p0 = expit(x), expit(-x)
            # ties of a rank with itself count one half
            late = np.cumsum(p1[::-1])[::-1] - p1 / 2
            return p1, p0, np.ones(p1.size), late, np.cumsum(p0) - p0 / 2
        scale = max(abs(self.beta), 1e-290)
        rank, w = unit_sums(low - 1.0, high - low + 1, scale, math.inf)
        rank, start, end = rank + 0.5, low - 0.5, high + 0.5
        x = self.logit(rank)
        # a trapezoid end (weight 1/2) adds f'/12, a midpoint end takes f'/24 away
        late = self._integral(rank, end, 1) - self._slope(rank, 1) / 12
        late -= self._slope(end, 1) / 24
        early = self._integral(start, rank, -1) + self._slope(rank, -1) / 12
        early += self._slope(start, -1) / 24
        return expit(x), expit(-x), w, late, early

    def auprc(self, *, step: int) -> float:
        """Mean of Prec(k) Prec(k + step) over thresholds, as an area (Eqs 33, 34)."""
        total = 0.0
        first = 1.0 - step  # Eq. 33 starts at k = 0, where Prec(0) is Prec(1)
        for b in blocks(self.n, 1 << 16):
            k = np.arange(b.start + first, b.stop + first)
            here, there = (np.maximum(x, 1.0) for x in (k, k + step))
            total += float(self.head(here) / here @ (self.head(there) / there))
        rho = self.n_pos / self.n
        return rho / 2 * (1 + total / self.n / rho**2)
