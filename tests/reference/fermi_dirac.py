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


def literal(low, high, a, beta, c0):
    """Sums of P, s P, P Q, s P Q, s^2 P Q over ranks low..high; s = r - c0."""
    total = [mp.mpf(0)] * 5
    for r in range(low, high + 1):
        s = mp.mpf(r) - c0
        p = 1 / (1 + mp.exp(beta * s - a))
        q = 1 / (1 + mp.exp(a - beta * s))
        for k, term in enumerate((p, s * p, p * q, s * p * q, s * s * p * q)):
            total[k] += term
    return total


def counted(low, high, c0):
    """The same sums where P is 1."""
    n = max(high - low + 1, 0)
    first = mp.mpf(n) * (low + high) / 2 - n * c0
    return [mp.mpf(n), first, mp.mpf(0), mp.mpf(0), mp.mpf(0)]


def power_integrals(x0, x1):
    """Integrals of u^k sigma(-u) for k = 0, 1 over (x0, x1)."""

    def zero(u):  # -log(1 + e^-u)
        return -mp.log1p(mp.exp(-u)) if u > 0 else u - mp.log1p(mp.exp(u))

    def one(u):
        if u > 0:
            return -u * mp.log1p(mp.exp(-u)) + mp.polylog(2, -mp.exp(-u))
        reflected = -(mp.pi**2) / 6 - u * u / 2 - mp.polylog(2, -mp.exp(u))
        return -u * (mp.log1p(mp.exp(u)) - u) + reflected

    return zero(x1) - zero(x0), one(x1) - one(x0)


def smooth(low, high, a, beta, c0):
    """The five sums by the midpoint Euler-Maclaurin formula."""
    s0, s1 = mp.mpf(low) - c0 - mp.mpf(1) / 2, mp.mpf(high) - c0 + mp.mpf(1) / 2

    def value(a, beta):
        x0, x1 = beta * s0 - a, beta * s1 - a
        i0, i1 = power_integrals(x0, x1)
        zero, first = i0 / beta, (i1 + a * i0) / beta**2
        for k in range(1, 7):
            size = (mp.mpf(2) ** (1 - 2 * k) - 1) * mp.bernoulli(2 * k)
            size /= mp.factorial(2 * k)
            for s, sign in ((s1, 1), (s0, -1)):
                d = sigma_derivatives(a - beta * s, 2 * k - 1)
                up = (-beta) ** (2 * k - 1) * d[2 * k - 1]
                down = (-beta) ** (2 * k - 2) * d[2 * k - 2]
                zero += sign * size * up
                first += sign * size * (s * up + (2 * k - 1) * down)
        return zero, first

    h = mp.mpf(10) ** (-mp.mp.dps // 3)
    p, sp = value(a, beta)
    pa, spa = value(a + h, beta)
    spb = value(a, beta * (1 + h))[1]
    # the derivatives only steer Newton's method
    return [p, sp, (pa - p) / h, (spa - sp) / h, -(spb - sp) / (beta * h)]


def sigma_derivatives(x, most):
    """sigma and its derivatives at x, by the polynomials in sigma."""
    p, out, poly = 1 / (1 + mp.exp(-x)), [], {1: mp.mpf(1)}
    for _ in range(most + 1):
        out.append(sum(c * p**k for k, c in poly.items()))
        grown = {}
        for k, c in poly.items():
            grown[k] = grown.get(k, 0) + k * c
            grown[k + 1] = grown.get(k + 1, 0) - k * c
        poly = grown
    return out


def sums(n, a, beta, c0):
    if n <= 10_000:
        return literal(1, n, a, beta, c0)
    mu, reach = c0 + a / beta, mp.mpf(180) / beta
    low = int(max(mp.mpf(1), mp.floor(mu - reach)))
    high = int(min(mp.mpf(n), mp.ceil(mu + reach)))
    inner = literal if beta > 0.05 else smooth
    parts = (counted(1, low - 1, c0), inner(low, high, a, beta, c0))
    return [x + y for x, y in zip(*parts, strict=True)]


def solve(n, n_pos, auc):
    """Give beta and the logit at the rank c0 = n_pos + 1/2 (or the middle)."""
    big_n, n1, area = mp.mpf(n), mp.mpf(n_pos), mp.mpf(auc)
    beta, llr, c0 = map(mp.mpf, solver.solve(n, n_pos, auc))
    a = mp.log(n1 / (big_n - n1)) + llr
    goal = n1 * (big_n + 1) / 2 + n1 * (big_n - n1) * (mp.mpf(1) / 2 - area) - n1 * c0
    for _ in range(12):
        p, sp, v, sv, ssv = sums(n, a, beta, c0)
        f, g = p - n1, sp - goal
        det = sv * sv - v * ssv
        step_a, step_b = (f * ssv - sv * g) / det, (sv * f - v * g) / det
        a, beta = a + step_a, beta + step_b
        if abs(step_b) < abs(beta) * mp.mpf(10) ** -40:
            return beta, a, c0
    raise RuntimeError(f"no solution for {n, n_pos, auc}")


def grid():
    aucs = (0.5 + 1e-9, 0.55, 0.7, 0.75, 0.76, 0.9, 0.99, 1 - 1e-6, 1 - 1e-9, 1 - 1e-15)
    for n in (2, 3, 4, 5, 10, 101, 1000):
        for n_pos, auc in product(sorted({1, 2, n // 3, n // 2, n - 1}), aucs):
            if 0 < n_pos < n:
                yield n, n_pos, auc
    for n in (2047, 2049, 4096, 5001):
        yield from product((n,), (1, n // 10, n - 1), (0.5 + 1e-9, 0.8, 0.99, 1 - 1e-9))
    for n in (10**6, 10**9 - 1, 10**9):
        yield from product((n,), (1, 7, n // 1000, n // 10, n // 2, n - 1), aucs)
    yield from [(n, n_pos, 1e-300) for n, n_pos in ((2, 1), (50, 20), (1000, 10))]


def main():
    rows = []
    for n, n_pos, auc in grid():
        mp.mp.dps = 700 if auc < 1e-100 else 100
        beta, a, c0 = solve(n, n_pos, auc)
        text = [mp.nstr(x, 30) for x in (beta, a)]
        rows.append([n, n_pos, auc.hex(), *text, float(c0)])
        print(rows[-1], flush=True)
    path = Path(__file__).with_suffix(".json")
    head = ["n", "n_pos", "auc", "beta", "logit", "rank"]
    path.write_text(
        json.dumps({"columns": head, "rows": rows}).replace("], [", "],\n[") + "\n"
    )


if __name__ == "__main__":
    main()
