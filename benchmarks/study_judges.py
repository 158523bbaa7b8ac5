"""The true rate behind judges: coverage and width beside other programs

For every design verdicts are simulated (sensitivity .75 to .9, specificity .7 to .85,
errors correlated by a common normal variable), some cases are labelled, and 95 %
intervals of the rate are counted that hold the truth. Others take one judge, so that
several are given to them as their majority. Lee et al. (2025, arXiv:2511.21140) is
their formula: Rogan and Gladen with the delta method on adjusted counts. Peers that are
not installed are left out: ``pip install ppi-python judgy truescore``.
"""

from __future__ import annotations

import sys
from collections.abc import Callable

import numpy as np
from scipy.special import ndtri

import trueness

SENS = np.array([0.85, 0.9, 0.8, 0.85, 0.75])
SPEC = np.array([0.8, 0.75, 0.85, 0.7, 0.8])
CASES, LEVEL = 2000, 0.95
WORDS = {"random": "random", "verdict": "by verdict", "truth": "by truth"}


def verdicts(
    rng: np.random.Generator, y: np.ndarray, judges: int, rho: float
) -> np.ndarray:
    own = rng.standard_normal((y.size, judges))
    common = rng.standard_normal((y.size, 1))
    z = np.sqrt(rho) * common + np.sqrt(1 - rho) * own
    cut = np.where(y[:, None], ndtri(SENS[:judges]), ndtri(1 - SPEC[:judges]))
    return (z < cut).astype(float)


def design(
    rng: np.random.Generator,
    judges: int,
    labels: int,
    rate: float,
    rho: float,
    how: str,
) -> tuple[np.ndarray, np.ndarray]:
    """Give verdicts, and labels with NaN where there is none."""
    y = rng.random(CASES) < rate
    if how == "truth":
        y = np.r_[y, np.arange(labels) % 2 == 0]
    x = verdicts(rng, y, judges, rho)
    order = rng.permutation(CASES)
    if how == "truth":
        order = np.arange(CASES, y.size)
    if how == "verdict":
        yes = x[order].mean(axis=1) > 0.5
        order = np.r_[order[yes][: labels // 2], order[~yes][: labels // 2]]
    known = np.full(y.size, np.nan)
    known[order[:labels]] = y[order[:labels]]
    return x, known


def ours(x: np.ndarray, y: np.ndarray, how: str) -> tuple[float, float]:
    panel = trueness.panel(y, {f"J{k}": column for k, column in enumerate(x.T)})
    r = trueness.prevalence(panel, labelled=WORDS[how])
    return r.low, r.high


def _one(x: np.ndarray, y: np.ndarray) -> tuple[np.ndarray, ...]:
    vote = (x.mean(axis=1) > 0.5).astype(float)
    known = ~np.isnan(y)
    return vote[known], y[known], vote[~known]


def ppi(x: np.ndarray, y: np.ndarray, how: str) -> tuple[float, float]:
    from ppi_py import ppi_mean_ci

    seen, label, rest = _one(x, y)
    low, high = ppi_mean_ci(label, seen, rest, alpha=1 - LEVEL)
    return float(np.ravel(low)[0]), float(np.ravel(high)[0])


def judgy(x: np.ndarray, y: np.ndarray, how: str) -> tuple[float, float]:
    from judgy import estimate_success_rate

    seen, label, rest = _one(x, y)
    return estimate_success_rate(label, seen, rest, bootstrap_iterations=500)[1:]


def truescore(x: np.ndarray, y: np.ndarray, how: str) -> tuple[float, float]:
    from truescore import ppi_estimate, rogan_gladen_estimate

    vote = (x.mean(axis=1) > 0.5).astype(float)
    known = np.flatnonzero(~np.isnan(y))
    f = rogan_gladen_estimate if how == "truth" else ppi_estimate
    e = f(vote, y[known], gold_index=known)
    return e.low, e.high


def lee(x: np.ndarray, y: np.ndarray, how: str) -> tuple[float, float]:
    """Rogan and Gladen with a delta-method interval on counts with two added."""
    seen, label, rest = _one(x, y)
    z = float(ndtri((1 + LEVEL) / 2))
    n, m1, m0 = rest.size, (label == 1).sum(), (label == 0).sum()
    p = (rest.sum() + z**2 / 2) / (n + z**2)
    q1 = (seen[label == 1].sum() + 1) / (m1 + 2)
    q0 = (1 - seen[label == 0]).sum() + 1
    q0 = q0 / (m0 + 2)
    j = q1 + q0 - 1
    theta = (p + q0 - 1) / j
    v0, v1 = q0 * (1 - q0) / (m0 + 2), q1 * (1 - q1) / (m1 + 2)
    shift = 2 * z**2 * (theta * v1 - (1 - theta) * v0)
    var = p * (1 - p) / (n + z**2) + (1 - theta) ** 2 * v0 + theta**2 * v1
    half = z * np.sqrt(var) / j
    low, high = np.clip([theta + shift - half, theta + shift + half], 0, 1)
    return float(low), float(high)


METHODS: dict[str, Callable[..., tuple[float, float]]] = {
    "trueness": ours,
    "ppi-python": ppi,
    "truescore": truescore,
    "judgy": judgy,
    "Lee et al.": lee,
}


def main(repeats: int = 300) -> None:
    print("| labels | judges | n | rate | latent corr. | " + " | ".join(METHODS) + " |")
    print("| --- " * (5 + len(METHODS)) + "|")
    for how in WORDS:
        for judges, rho in ((1, 0.0), (3, 0.0), (3, 0.6), (5, 0.6)):
            for labels, rate in ((50, 0.5), (50, 0.95), (100, 0.8), (200, 0.97)):
                rng = np.random.default_rng(labels + judges)
                ends: dict[str, list[tuple[float, float]]] = {m: [] for m in METHODS}
                for _ in range(repeats):
                    x, y = design(rng, judges, labels, rate, rho, how)
                    for name, f in METHODS.items():
                        try:
                            ends[name].append(f(x, y, how))
                        except ImportError:
                            pass
                        except (ValueError, RuntimeError):  # no answer
                            ends[name].append((np.nan, np.nan))
                cells = []
                for found in ends.values():
                    a = np.array(found).reshape(-1, 2)
                    held = ((a[:, 0] <= rate) & (rate <= a[:, 1])).mean()
                    width = np.nanmean(a[:, 1] - a[:, 0])
                    cells.append(f"{held:.2f} ({width:.3f})" if len(a) else "-")
                row = (how, judges, labels, rate, rho, *cells)
                print("| " + " | ".join(map(str, row)) + " |", flush=True)


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
