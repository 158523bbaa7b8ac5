r"""Solution of Eqs 3 and 4 of the Fermi-Dirac paper for beta and mu, to all digits.

With c = r - (N+1)/2 the conditions are

.. math:: \sum_r \sigma(a - \beta c_r) = N_1, \qquad
          \sum_r c_r \sigma(a - \beta c_r) = N_1 N_0 (1/2 - A).

Both are rewritten as sums of positive terms, so that nothing cancels: around the middle
rank when the AUC is near 1/2 (``_solve_around_middle``), around the step at rank
N1 + 1/2 when it is near 1 (``_solve_around_step``). Newton's steps in (a, log beta)
then reach the last digits. The cost does not grow with N (``quadrature``).

Letters are the paper's: N cases, N1 positives and N0 negatives among them, A the AUC,
rho = N1 / N the prevalence. Kim et al. 2021, doi:10.1073/pnas.2100761118.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
from scipy.special import expit

from trueness.fermi.quadrature import sum_over_ranks

# beyond this many widths of the step a term is below 1e-19 of the largest
NEGLIGIBLE_BEYOND = 45.0
# exp(700) is the largest round power that a float holds
_LARGEST_EXPONENT = 700.0
_RELATIVE_PRECISION = 1e-12
# far more Newton steps than are needed: they end the loop where rounding never settles
_MAX_STEPS_AROUND_MIDDLE = 60
_MAX_STEPS_AROUND_STEP = 200
# at an AUC this far from 1/2 both ways of solving keep their digits
_NEAR_CHANCE = 0.25


class RankLine(NamedTuple):
    """Eq. 5 as logit P(r) = logit(rho) + log_likelihood_ratio - beta (r - centre).

    The second field is the logarithm of P(r | 1) / P(r | 0) at the rank ``centre``.
    """

    beta: float
    log_likelihood_ratio: float
    centre: float


def line(rank: Any, height: float, beta: float, centre: float) -> Any:
    """Return height - beta (r - centre), a step where beta is infinite.

    Written around the centre: beta (mu - r) would lose digits where mu is far away.
    """
    distance = rank - centre
    if math.isfinite(beta):
        return height - beta * distance

    step = np.copysign(np.inf, -math.copysign(1, beta) * distance)
    return np.where(distance == 0, height, step)[()]


def logit_of_prevalence(n_pos: float, n: int) -> float:
    """Return the log-odds of n_pos positives among n cases."""
    return math.log(n_pos / (n - n_pos))


def solve(n: int, n_pos: float, auc: float) -> RankLine:
    """Return the one solution for 0 < n_pos < n and 0 <= auc <= 1.

    ``n_pos`` may be a fraction (an expected number); an AUC beyond what N ranks can
    then hold is taken as the largest that they can, with infinite beta.
    """
    if auc < 0.5:
        # AUC -> 1 - AUC reverses the ranks: P(r) -> P(N + 1 - r)
        mirrored = _solve_better_than_chance(n, n_pos, excess=0.5 - auc, miss=auc)
        beta, log_ratio, centre = mirrored
        return RankLine(-beta, log_ratio, n + 1 - centre)

    # both differences are exact in floating point for auc >= 1/2
    return _solve_better_than_chance(n, n_pos, excess=auc - 0.5, miss=1 - auc)


def _solve_better_than_chance(
    n: int, n_pos: float, *, excess: float, miss: float
) -> RankLine:
    """Return the solution for an AUC of 1/2 + ``excess`` = 1 - ``miss``."""
    if n_pos > n / 2:
        # rho -> 1 - rho turns P(r) into 1 - P(N + 1 - r)
        swapped = _solve_better_than_chance(n, n - n_pos, excess=excess, miss=miss)
        beta, log_ratio, centre = swapped
        return RankLine(beta, -log_ratio, n + 1 - centre)

    if excess == 0:
        return RankLine(0.0, 0.0, (n + 1) / 2)

    if excess <= _NEAR_CHANCE:
        return _solve_around_middle(n, n_pos, excess)

    fraction = n_pos - math.floor(n_pos)
    # what is left of N1 N0 (1 - A) when the fraction of a case is placed best
    room = n_pos * (n - n_pos) * miss - fraction * (1 - fraction) / 2
    if room > 0:
        return _solve_around_step(n, n_pos, miss, room)

    return _all_positives_first(n, n_pos)


def _all_positives_first(n: int, n_pos: float) -> RankLine:
    """Return the step of a perfect AUC: beta is infinite.

    A fraction of a positive stands at the rank behind the whole ones, which is the
    centre then, and has the logit of that fraction.
    """
    whole_positives = math.floor(n_pos)
    fraction = n_pos - whole_positives
    logit_rho = logit_of_prevalence(n_pos, n)

    if fraction == 0:
        return RankLine(math.inf, -logit_rho, whole_positives + 0.5)

    logit_fraction = math.log(fraction / (1 - fraction))
    return RankLine(math.inf, logit_fraction - logit_rho, whole_positives + 1.0)


def _solve_around_middle(n: int, n_pos: float, excess: float) -> RankLine:
    r"""Solve for delta = a - logit(rho) and beta, with t = beta c, c > 0.

    .. math:: N (\sigma(a) - \rho) = \tanh(a/2) \sum_{c>0}
              \frac{\cosh t - 1}{\cosh a + \cosh t}, \qquad
              \sum_{c>0} \frac{c \sinh t}{\cosh a + \cosh t} = N_1 N_0 (A - 1/2)
    """
    log_moment = math.log(n_pos) + math.log(n - n_pos) + math.log(excess)
    # the weak limit of the paper, with the exact factor N^2 / (N^2 - 1)
    log_beta = math.log(12 * excess * n) - math.log(n) * 2 - math.log1p(-1 / n**2)
    delta = 0.0

    for _ in range(_MAX_STEPS_AROUND_MIDDLE):
        equations = _equations_around_middle(
            n, n_pos, delta=delta, beta=math.exp(log_beta), log_moment=log_moment
        )
        move, log_move = _newton_step(equations, largest_move=1.0)
        delta = delta + move
        log_beta = log_beta + log_move
        # both unknowns to twelve digits
        settled = abs(move) <= _RELATIVE_PRECISION * abs(delta)
        if settled and abs(log_move) < _RELATIVE_PRECISION:
            break

    return RankLine(math.exp(log_beta), delta, (n + 1) / 2)


class _Equations(NamedTuple):
    """Two equations that shall be zero, and their slopes by a and by log beta."""

    first: float
    second: float
    first_by_a: float
    first_by_log_beta: float
    second_by_a: float
    second_by_log_beta: float


def _equations_around_middle(
    n: int, n_pos: float, *, delta: float, beta: float, log_moment: float
) -> _Equations:
    """Return both equations of ``_solve_around_middle``, the second in logarithms."""
    rho = n_pos / n
    a = logit_of_prevalence(n_pos, n) + delta
    # the middle rank of an odd number has c = 0 and adds nothing to either sum
    start = 0.5 if n % 2 else 0.0
    c, weight = sum_over_ranks(start, n // 2, beta)

    t = beta * c
    sinh = np.sinh(t)
    # cosh t - 1 without the difference, for small t
    cosh_less_1 = 2 * np.sinh(t / 2) ** 2
    q = 1 / (math.cosh(a) + 1 + cosh_less_1)  # 1 / (cosh a + cosh t)
    weighted_q = weight * q
    weighted_q2 = weighted_q * q

    # the sum of the first equation, and its slopes
    spread = float(weighted_q @ cosh_less_1)
    spread_by_a = -math.sinh(a) * float(weighted_q2 @ cosh_less_1)
    spread_by_beta = (math.cosh(a) + 1) * float(weighted_q2 @ (c * sinh))

    # the sum of the second equation, and its slopes
    moment = float(weighted_q @ (c * sinh))
    moment_by_a = -math.sinh(a) * float(weighted_q2 @ (c * sinh))
    moment_by_beta = float(weighted_q @ (c * c * (1 + cosh_less_1 - sinh * sinh * q)))

    # sigma(a) - rho without the difference of two numbers that may be close
    odds_factor = rho * math.expm1(delta)
    excess_over_rho = (1 - rho) * odds_factor / (1 + odds_factor)
    tanh = math.tanh(a / 2)

    return _Equations(
        first=excess_over_rho - tanh * spread / n,
        second=math.log(moment) - log_moment,
        first_by_a=(1 - tanh * tanh) / 2 * (0.5 - spread / n) - tanh * spread_by_a / n,
        first_by_log_beta=-beta * tanh * spread_by_beta / n,
        second_by_a=moment_by_a / moment,
        second_by_log_beta=beta * moment_by_beta / moment,
    )


def _solve_around_step(n: int, n_pos: float, miss: float, room: float) -> RankLine:
    r"""Solve for alpha and beta in logit P = alpha - beta s, s = r - k - 1/2.

    With k = floor(N1), f = N1 - k, misses A (positives expected behind the step) and B
    (negatives before it)

    .. math:: A = B + f, \qquad B + \sum_{s>0} (s - \tfrac12) P
              + \sum_{s<0} (|s| - \tfrac12) (1 - P)
              = N_1 N_0 (1 - \mathrm{AUC}) - f (1 - f) / 2

    The right side is ``room``.
    """
    beta = _first_beta_around_step(n, miss, room)
    alpha = _first_alpha_around_step(n, n_pos, beta)
    log_beta = math.log(beta)  # solved for, so that beta stays above zero

    for _ in range(_MAX_STEPS_AROUND_STEP):
        beta = math.exp(log_beta)
        equations = _equations_around_step(
            n, n_pos, alpha=alpha, beta=beta, log_room=math.log(room)
        )
        move, log_move = _newton_step(equations, largest_move=2.0 + beta)
        alpha = alpha + move
        log_beta = log_beta + log_move
        settled = abs(move) < _RELATIVE_PRECISION * (1 + abs(alpha))
        if settled and abs(log_move) < _RELATIVE_PRECISION:
            break

    log_ratio = alpha - logit_of_prevalence(n_pos, n)
    return RankLine(math.exp(log_beta), log_ratio, math.floor(n_pos) + 0.5)


def _first_beta_around_step(n: int, miss: float, room: float) -> float:
    """Return a first guess of beta, from the strong limit of the paper.

    Differs from the paper's strong limit by pi/2: beta^2 = pi^2 / (6 N1 N0 (1 - A)).
    Few misses in all go as exp(-beta/2), few positives as a truncated exponential.
    """
    if room >= 0.3:
        return min(math.pi / math.sqrt(6 * room), 1 / (miss * n))
    return -2 * math.log(room)


def _first_alpha_around_step(n: int, n_pos: float, beta: float) -> float:
    """Return a first guess of alpha: Eq. 6, shifted by half a rank, around the step."""
    fraction = n_pos - math.floor(n_pos)
    if fraction and beta > 3:
        return beta / 2 + math.log(fraction / (1 - fraction))

    ratio = math.expm1(-beta * n_pos) / math.expm1(-beta * (n - n_pos))
    return beta * fraction + math.log(ratio)


def _equations_around_step(
    n: int, n_pos: float, *, alpha: float, beta: float, log_room: float
) -> _Equations:
    """Return both equations of ``_solve_around_step``, in logarithms."""
    whole_positives = math.floor(n_pos)
    fraction = n_pos - whole_positives
    # positives behind the step, and negatives before it, as tails of one form
    behind = _sum_tail(alpha, beta, n - whole_positives)
    before = _sum_tail(-alpha, beta, whole_positives)

    # one common scale for both tails
    log_scale = max(behind.log_scale, before.log_scale)
    x = math.exp(behind.log_scale - log_scale)
    y = math.exp(before.log_scale - log_scale)
    f = 0.0
    if fraction:
        f = fraction * math.exp(min(_LARGEST_EXPONENT, -log_scale))

    # A = B + f
    late = x * behind.total
    early = y * before.total + f
    late_by_alpha = x * behind.slope
    early_by_alpha = y * before.slope

    # B and the distances of the misses from the step
    distance = x * behind.moment + y * (before.moment + before.total)
    distance_by_alpha = x * behind.slope_moment - y * (
        before.slope_moment + before.slope
    )
    distance_by_beta = -x * behind.slope_moment_s - y * (
        before.slope_moment_s + before.slope_s
    )

    return _Equations(
        first=math.log(late) - math.log(early),
        second=math.log(distance) + log_scale - log_room,
        first_by_a=late_by_alpha / late + early_by_alpha / early,
        first_by_log_beta=beta
        * (-x * behind.slope_s / late + y * before.slope_s / early),
        second_by_a=distance_by_alpha / distance,
        second_by_log_beta=beta * distance_by_beta / distance,
    )


class _TailSums(NamedTuple):
    """Sums over s = 1/2, 3/2, ... of p = sigma(alpha - beta s), over exp(log_scale).

    ``moment`` weights each term by s - 1/2. ``slope`` and ``slope_moment`` are the same
    sums of v = p (1 - p), the slope by alpha; ``slope_s`` and ``slope_moment_s`` those
    of v s, the slope by -beta.
    """

    log_scale: float
    total: float
    moment: float
    slope: float
    slope_moment: float
    slope_s: float
    slope_moment_s: float


def _sum_tail(alpha: float, beta: float, count: int) -> _TailSums:
    """Return the sums over ``count`` ranks behind the step."""
    reach = max(alpha, 0.0) + NEGLIGIBLE_BEYOND
    s, weight = sum_over_ranks(0.0, count, beta, reach)
    distance = s - 0.5

    # scaled by its largest term, which may be below the smallest float
    log_scale = min(0.0, alpha - beta / 2)
    if -log_scale > _LARGEST_EXPONENT:
        p = np.exp(alpha - beta * s - log_scale)
        v = p
    else:
        scale = math.exp(min(_LARGEST_EXPONENT, -log_scale)) if count else 1.0
        p = expit(alpha - beta * s) * scale
        v = p * expit(beta * s - alpha)

    weighted_p = weight * p
    weighted_v = weight * v
    return _TailSums(
        log_scale,
        total=float(weighted_p.sum()),
        moment=float(weighted_p @ distance),
        slope=float(weighted_v.sum()),
        slope_moment=float(weighted_v @ distance),
        slope_s=float(weighted_v @ s),
        slope_moment_s=float((weighted_v * s) @ distance),
    )


def _newton_step(equations: _Equations, largest_move: float) -> tuple[float, float]:
    """Return the Newton step of (a, log beta), kept within ``largest_move`` and 1."""
    first = equations.first
    second = equations.second
    first_by_a = equations.first_by_a
    second_by_a = equations.second_by_a
    first_by_log_beta = equations.first_by_log_beta
    second_by_log_beta = equations.second_by_log_beta

    # Cramer's rule; equations and unknowns are two
    determinant = first_by_a * second_by_log_beta - first_by_log_beta * second_by_a
    move = -(first * second_by_log_beta - second * first_by_log_beta) / determinant
    log_move = -(first_by_a * second - second_by_a * first) / determinant

    move = max(-largest_move, min(largest_move, move))
    # the equations are nearly linear only near the root: beta changes by a factor of e
    # at most
    log_move = max(-1.0, min(1.0, log_move))
    return move, log_move
