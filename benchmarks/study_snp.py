"""The SNP anomaly: is a prevalence seven times higher at another cut dependence?

Keith, Davey, Boyd (2012) cut three scores of 541,094 SNPs at about 1000 positives each
and again at about 5000, and found a prevalence six times higher. Both tables together
have 14 degrees of freedom. With one prevalence for both, 13 parameters are independent
errors with rates of their own at each cut, or one set of sensitivities and negatives
whose three scores have a common factor. A third explanation is that there is no
positive at all: the loadings of the factor are fitted at the first cut and kept at
every other, where only the number of positives of each test is known, and the model of
independent errors is fitted to what that predicts. The second table is not printed: it
is the one that agrees with the published sums and with the lower half of Table 4.
"""

from __future__ import annotations

import csv
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import numpy as np
from scipy.optimize import least_squares, minimize, minimize_scalar
from scipy.special import expit, ndtr, ndtri

import trueness

DATA = Path(__file__).parents[1] / "examples" / "no_gold"
ROWS = np.array(
    [[1, 1, 1], [1, 1, 0], [1, 0, 1], [0, 1, 1],
     [1, 0, 0], [0, 1, 0], [0, 0, 1], [0, 0, 0]], dtype=float,
)  # fmt: skip
CUTS = (200, 500, 1000, 2000, 5000, 10_000, 20_000)
# Table 4, about 5000 positives, and the sums in the text
SENSITIVITY = (0.065, 0.079, 0.123, 0.439, 0.510, 0.601, 0.850, 0.918, 0.930)
SPECIFICITY = (0.987, 0.991, 0.994, 0.986)  # of C2 or C3, C1 or C3, C1 or C2, any
SUMS = np.array([5008, 5362, 5018])
NODES = np.linspace(-8, 8, 801)
WEIGHTS = np.exp(-(NODES**2) / 2) / np.exp(-(NODES**2) / 2).sum()


class Row(NamedTuple):
    positives: str
    explanation: str
    prevalence: float
    loadings: str
    deviance: float | None
    degrees_of_freedom: int
    expected: str  # patterns 111 110 101 011 100 010 001


def table(name: str) -> np.ndarray:
    with (DATA / f"{name}.csv").open() as file:
        found = {
            tuple(map(float, r[:3])): int(r[3]) for r in list(csv.reader(file))[1:]
        }
    return np.array([found[tuple(row)] for row in ROWS])


def mixed(phi: float, alpha: np.ndarray, beta: np.ndarray) -> np.ndarray:
    a, b = (np.prod(np.where(ROWS == 1, r, 1 - r), axis=1) for r in (alpha, beta))
    return phi * a + (1 - phi) * b


def second_table(n: int) -> np.ndarray:
    """Which table has the published sums and the lower half of Table 4?"""

    def rates(t: np.ndarray) -> tuple[float, np.ndarray, np.ndarray]:
        phi, alpha = np.exp(t[3]), expit(t[:3])
        return phi, alpha, (SUMS / n - phi * alpha) / (1 - phi)

    def misfit(t: np.ndarray) -> np.ndarray:
        _, (a, b, c), beta = rates(t)
        both = np.array([a * b * c, b * c, a * c, a * b])
        two = both[1:].sum() - 2 * both[0]
        any_of = [1 - (1 - b) * (1 - c), 1 - (1 - a) * (1 - c), 1 - (1 - a) * (1 - b)]
        every = 1 - (1 - a) * (1 - b) * (1 - c)
        p, q, r = 1 - beta
        spec = np.array([q * r, p * r, p * q, p * q * r]) - SPECIFICITY
        return np.r_[np.r_[both, two, any_of, every] - SENSITIVITY, spec] / 0.0005

    count = np.rint(n * mixed(*rates(least_squares(misfit, [1.5, 0.1, -1.7, -4.7]).x)))
    count[-1] = n - count[:-1].sum()
    return count.astype(int)


def factor(places: np.ndarray, loadings: np.ndarray) -> np.ndarray:
    """Give the chance of each pattern: scores above their places, one common factor."""
    at = (loadings * NODES[:, None] - places) / np.sqrt(1 - loadings**2)
    p, q = ndtr(at), ndtr(-at)
    return np.array([WEIGHTS @ np.prod(np.where(x == 1, p, q), axis=1) for x in ROWS])


def fit_factor(count: np.ndarray) -> tuple[np.ndarray, np.ndarray, float]:
    n = count.sum()
    places = ndtri(1 - ROWS.T @ count / n)

    def height(t: np.ndarray) -> float:
        return -float(count @ np.log(factor(t[3:], 0.9999 * np.tanh(t[:3]))))

    found = minimize(
        height, np.r_[1.1, 1.1, 0.5, places], method="Nelder-Mead",
        options={"maxiter": 3000, "maxfev": 3000, "xatol": 1e-5, "fatol": 1e-5},
    )  # fmt: skip
    saturated = float(count @ np.log(count / n))
    return 0.9999 * np.tanh(found.x[:3]), found.x[3:], 2 * (found.fun + saturated)


def prevalence(count: np.ndarray) -> float:
    p = trueness.Panel(["C1", "C2", "C3"], ROWS, unknown=np.rint(count).astype(int))
    post = trueness.latent_class(p, dependence="none")
    return float(f"{post.prevalence.value:.3g}")


def deviance_at(phi: float, count: np.ndarray) -> float:
    """How badly do independent errors fit with this prevalence?"""
    sums, n = ROWS.T @ count / count.sum(), count.sum()

    def height(t: np.ndarray) -> float:
        p = mixed(phi, expit(t[:3]), expit(t[3:]))
        return -float(count @ np.log(p)) / n

    start = np.r_[np.full(3, -1.0), np.log(sums)]
    found = min(
        (minimize(height, start + s, method="BFGS") for s in (0, [1, 1, -1, 0, 0, 0])),
        key=lambda f: f.fun,
    )
    return 2 * (n * found.fun + float(count @ np.log(count / n)))


def fit_both(tables: list[np.ndarray]) -> tuple[float, np.ndarray, float]:
    """Fit one prevalence, one set of sensitivities and one factor to both tables."""
    n = tables[0].sum()
    saturated = sum(float(c @ np.log(c / n)) for c in tables)

    def deviance(t: np.ndarray) -> float:
        phi, loadings, alpha = np.exp(t[0]), 0.999 * np.tanh(t[1:4]), expit(t[4:7])
        a = np.prod(np.where(ROWS == 1, alpha, 1 - alpha), axis=1)
        p = [phi * a + (1 - phi) * factor(at, loadings) for at in (t[7:10], t[10:])]
        return 2 * (
            saturated
            - sum(float(c @ np.log(q)) for c, q in zip(tables, p, strict=True))
        )

    places = [ndtri(1 - ROWS.T @ c / n) for c in tables]
    start = np.r_[np.log(1e-4), 1.5, 1.1, 0.5, 1.0, 1.0, 1.0, *places]
    found = minimize(lambda t: deviance(t) / 100, start, method="BFGS")
    return (
        float(f"{np.exp(found.x[0]):.2g}"),
        0.999 * np.tanh(found.x[1:4]),
        100 * found.fun,
    )


def patterns(expected: np.ndarray) -> str:
    return " ".join(f"{c:.0f}" for c in expected[:-1])


def rows() -> Iterator[Row]:
    first = table("snp1000_reconstructed")
    n = first.sum()
    second = second_table(n)
    named = {"1000": first, "5000": second}
    for cut, count in named.items():
        yield Row(
            cut, "independent errors", prevalence(count), "", 0.0, 0, patterns(count)
        )

    def both(log_phi: float) -> float:
        return sum(deviance_at(np.exp(log_phi), c) for c in named.values())

    common = minimize_scalar(
        both, bounds=(-6.7, -4.5), method="bounded", options={"xatol": 0.005}
    )
    yield Row(
        "both", "independent errors, one prevalence",
        float(f"{np.exp(common.x):.2g}"), "",
        round(float(common.fun), 1), 1, "",
    )  # fmt: skip
    phi, loadings, deviance = fit_both([first, second])
    yield Row(
        "both", "common factor, one prevalence", phi,
        " ".join(f"{x:.2f}" for x in loadings), round(deviance, 1), 1, "",
    )  # fmt: skip
    fits = {cut: fit_factor(count) for cut, count in named.items()}
    for cut, (loadings, places, deviance) in fits.items():
        expected = n * factor(places, loadings)
        yield Row(
            cut, "no positives, common factor", prevalence(expected),
            " ".join(f"{x:.2f}" for x in loadings), round(deviance, 1), 1,
            patterns(expected),
        )  # fmt: skip
    loadings, share = fits["1000"][0], ROWS.T @ first / first.sum() / 1000
    for cut in CUTS:
        sums = (ROWS.T @ second) / n if cut == 5000 else cut * share
        expected = n * factor(ndtri(1 - sums), loadings)
        yield Row(
            str(cut), "the factor of the first cut", prevalence(expected),
            " ".join(f"{x:.2f}" for x in loadings), None, 0, patterns(expected),
        )  # fmt: skip
