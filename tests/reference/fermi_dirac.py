"""Make fermi_dirac.json: beta and the logit at a rank, to 30 digits, by mpmath.

    python tests/reference/fermi_dirac.py

Equations 3 and 4 of Kim et al. 2021 are solved by Newton's method in 80 digits or more.
The solution is unique (the maximum of a strictly concave entropy), so where Newton
starts does not matter. Up to 10^4 ranks the sums are literal. Beyond, terms that are 0
or 1 to 75 digits are counted, and the rest is summed literally for beta > 0.05, else by
Euler-Maclaurin to the 12th order, with the integrals as logarithm and dilogarithm.
"""

import json
from itertools import product
from pathlib import Path

import mpmath as mp

from trueness.fermi import solver

# steps of Newton's method, and the digits of beta at which it has converged
MAX_STEPS = 12
CONVERGED_DIGITS = 40

# beyond so many ranks the sums are no longer literal
MAX_LITERAL_RANKS = 10_000

# beyond so many units of temperature from mu, P is 0 or 1 to 75 digits
REACH = 180

# Euler-Maclaurin: the number of correction terms
CORRECTIONS = 6


def literal_sums(low, high, a, beta, c0):
    """Sums of P, s P, P Q, s P Q, s^2 P Q over ranks low..high; s = r - c0."""
    total = [mp.mpf(0)] * 5
    for rank in range(low, high + 1):
        s = mp.mpf(rank) - c0
        p = 1 / (1 + mp.exp(beta * s - a))
        q = 1 / (1 + mp.exp(a - beta * s))
        for k, term in enumerate((p, s * p, p * q, s * p * q, s * s * p * q)):
            total[k] += term
    return total


def sums_of_ones(low, high, c0):
    """The same sums where P is 1."""
    n = max(high - low + 1, 0)
    sum_of_s = mp.mpf(n) * (low + high) / 2 - n * c0
    return [mp.mpf(n), sum_of_s, mp.mpf(0), mp.mpf(0), mp.mpf(0)]


def power_integrals(start, stop):
    """Integrals of u^k sigma(-u) for k = 0, 1 over (start, stop)."""

    def antiderivative_0(u):  # -log(1 + e^-u)
        return -mp.log1p(mp.exp(-u)) if u > 0 else u - mp.log1p(mp.exp(u))

    def antiderivative_1(u):
        if u > 0:
            return -u * mp.log1p(mp.exp(-u)) + mp.polylog(2, -mp.exp(-u))
        reflected = -(mp.pi**2) / 6 - u * u / 2 - mp.polylog(2, -mp.exp(u))
        return -u * (mp.log1p(mp.exp(u)) - u) + reflected

    return (
        antiderivative_0(stop) - antiderivative_0(start),
        antiderivative_1(stop) - antiderivative_1(start),
    )


def euler_maclaurin(start, stop, a, beta):
    """Sums of P and of s P by the midpoint formula, from start to stop in s.

    The integrals, and at both ends the odd derivatives of P and of s P.
    """
    integral_0, integral_1 = power_integrals(beta * start - a, beta * stop - a)
    sum_p = integral_0 / beta
    sum_sp = (integral_1 + a * integral_0) / beta**2

    for k in range(1, CORRECTIONS + 1):
        order = 2 * k - 1
        coefficient = (mp.mpf(2) ** -order - 1) * mp.bernoulli(2 * k)
        coefficient /= mp.factorial(2 * k)
        for s, sign in ((stop, 1), (start, -1)):
            derivatives = sigma_derivatives(a - beta * s, order)
            of_p = (-beta) ** order * derivatives[order]
            lower_of_p = (-beta) ** (order - 1) * derivatives[order - 1]
            # Leibniz: the derivative of s P
            of_sp = s * of_p + order * lower_of_p
            sum_p += sign * coefficient * of_p
            sum_sp += sign * coefficient * of_sp
    return sum_p, sum_sp


def smooth_sums(low, high, a, beta, c0):
    """The five sums by the midpoint Euler-Maclaurin formula."""
    start = mp.mpf(low) - c0 - mp.mpf(1) / 2
    stop = mp.mpf(high) - c0 + mp.mpf(1) / 2
    step = mp.mpf(10) ** (-mp.mp.dps // 3)

    sum_p, sum_sp = euler_maclaurin(start, stop, a, beta)
    p_beyond_a, sp_beyond_a = euler_maclaurin(start, stop, a + step, beta)
    _, sp_beyond_beta = euler_maclaurin(start, stop, a, beta * (1 + step))

    # the derivatives only steer Newton's method
    sum_pq = (p_beyond_a - sum_p) / step
    sum_spq = (sp_beyond_a - sum_sp) / step
    sum_sspq = -(sp_beyond_beta - sum_sp) / (beta * step)
    return [sum_p, sum_sp, sum_pq, sum_spq, sum_sspq]


def sigma_derivatives(x, order):
    """sigma and its derivatives at x up to an order, by the polynomials in sigma."""
    sigma = 1 / (1 + mp.exp(-x))
    derivatives = []
    polynomial = {1: mp.mpf(1)}  # coefficients by power
    for _ in range(order + 1):
        derivatives.append(sum(c * sigma**k for k, c in polynomial.items()))

        # the derivative of sigma^k is k sigma^k (1 - sigma)
        derivative = {}
        for k, c in polynomial.items():
            derivative[k] = derivative.get(k, 0) + k * c
            derivative[k + 1] = derivative.get(k + 1, 0) - k * c
        polynomial = derivative
    return derivatives


def sums(n, a, beta, c0):
    """The five sums over all ranks."""
    if n <= MAX_LITERAL_RANKS:
        return literal_sums(1, n, a, beta, c0)

    mu = c0 + a / beta
    reach = mp.mpf(REACH) / beta
    low = int(max(mp.mpf(1), mp.floor(mu - reach)))
    high = int(min(mp.mpf(n), mp.ceil(mu + reach)))
    sums_between = literal_sums if beta > 0.05 else smooth_sums

    of_ones = sums_of_ones(1, low - 1, c0)
    between = sums_between(low, high, a, beta, c0)
    return [x + y for x, y in zip(of_ones, between, strict=True)]


def solve(n, n_pos, auc):
    """Give beta and the logit at the rank c0 = n_pos + 1/2 (or the middle)."""
    beta, log_likelihood_ratio, c0 = map(mp.mpf, solver.solve(n, n_pos, auc))
    positives = mp.mpf(n_pos)
    negatives = mp.mpf(n) - positives
    a = mp.log(positives / negatives) + log_likelihood_ratio

    # eq. 4: the sum of the ranks of positives, here of s = r - c0
    won_over_half = positives * negatives * (mp.mpf(1) / 2 - mp.mpf(auc))
    rank_sum = positives * (mp.mpf(n) + 1) / 2 + won_over_half
    goal = rank_sum - positives * c0

    for _ in range(MAX_STEPS):
        sum_p, sum_sp, sum_pq, sum_spq, sum_sspq = sums(n, a, beta, c0)
        excess_p = sum_p - positives
        excess_sp = sum_sp - goal

        # the Jacobian by (a, beta) is [[PQ, -s PQ], [s PQ, -s^2 PQ]]
        determinant = sum_spq**2 - sum_pq * sum_sspq
        step_a = (excess_p * sum_sspq - sum_spq * excess_sp) / determinant
        step_beta = (sum_spq * excess_p - sum_pq * excess_sp) / determinant
        a += step_a
        beta += step_beta
        if abs(step_beta) < abs(beta) * mp.mpf(10) ** -CONVERGED_DIGITS:
            return beta, a, c0
    raise RuntimeError(f"no solution for {n, n_pos, auc}")


# small, middle and large AUC, and those at which a solver loses digits
AUCS = (0.5 + 1e-9, 0.55, 0.7, 0.75, 0.76, 0.9, 0.99, 1 - 1e-6, 1 - 1e-9, 1 - 1e-15)


def grid():
    """Every number of cases, of positives, and AUC that is solved."""
    for n in (2, 3, 4, 5, 10, 101, 1000):
        numbers_of_positives = sorted({1, 2, n // 3, n // 2, n - 1})
        for n_pos, auc in product(numbers_of_positives, AUCS):
            if 0 < n_pos < n:
                yield n, n_pos, auc

    for n in (2047, 2049, 4096, 5001):
        yield from product([n], (1, n // 10, n - 1), (0.5 + 1e-9, 0.8, 0.99, 1 - 1e-9))

    for n in (10**6, 10**9 - 1, 10**9):
        numbers_of_positives = (1, 7, n // 1000, n // 10, n // 2, n - 1)
        yield from product([n], numbers_of_positives, AUCS)

    for n, n_pos in ((2, 1), (50, 20), (1000, 10)):
        yield n, n_pos, 1e-300


def main():
    rows = []
    for n, n_pos, auc in grid():
        mp.mp.dps = 700 if auc < 1e-100 else 100
        beta, a, c0 = solve(n, n_pos, auc)
        digits = [mp.nstr(x, 30) for x in (beta, a)]
        rows.append([n, n_pos, auc.hex(), *digits, float(c0)])
        print(rows[-1], flush=True)
    path = Path(__file__).with_suffix(".json")
    columns = ["n", "n_pos", "auc", "beta", "logit", "rank"]
    text = json.dumps({"columns": columns, "rows": rows})
    path.write_text(text.replace("], [", "],\n[") + "\n")


if __name__ == "__main__":
    main()
