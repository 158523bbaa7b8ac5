"""Do the intervals of proper scores, their parts and calibration errors cover?

    python benchmarks/study_calibration_intervals.py PART [SAMPLES] [SEED]

Scores on a grid with a known share of positives at each, so that every truth is a sum.
Where scores lie: "flat" (0 to 1), "ends" (near 0 and 1), "few" (five values), "rare"
(beta(0.4, 10): 4 % on average), "rarest" (beta(0.3, 15): 2 %). What they are worth:
"calibrated", "high" (0.4 p is true), "low" (1 - 0.4 (1 - p)), "overdone" and "timid"
(half and twice the log-odds), "shifted" (log-odds + 1), "step" (0.25 below the middle,
0.6 above).

Parts: "scores" (Brier score, log loss, MCB, DSC, UNC), "band" (confidence band of the
reliability curve, counted at the scores of the sample), "fixed" (a case-control sample
at its true share), "parts" and "fixed parts" (MCB and DSC of Brier score and log loss,
normal log-odds, single scores and eight ties). One row a design and size: the share of
samples whose 95 % interval holds the truth. Errors are in study_calibration_errors.py.
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable, Iterator
from itertools import product

import numpy as np
from scipy.stats import norm

import trueness

GRID = (np.arange(100) + 0.5) / 100
SIZES = (50, 200, 1000)
Design = tuple[np.ndarray, np.ndarray, np.ndarray]


def logistic(x):
    return 1 / (1 + np.exp(-x))


def beta_mass(a: float, b: float) -> np.ndarray:
    mass = GRID ** (a - 1) * (1 - GRID) ** (b - 1)
    return mass / mass.sum()


PLACES: dict[str, tuple[np.ndarray, np.ndarray]] = {
    "flat": (GRID, beta_mass(1, 1)),
    "ends": (GRID, beta_mass(0.5, 0.5)),
    "few": (np.array([0.1, 0.3, 0.5, 0.7, 0.9]), np.array([0.3, 0.2, 0.2, 0.2, 0.1])),
    "rare": (GRID, beta_mass(0.4, 10)),
    "rarest": (GRID / 4, beta_mass(0.3, 4)),
}
WORTH: dict[str, Callable[[np.ndarray], np.ndarray]] = {
    "calibrated": lambda p: p,
    "high": lambda p: 0.4 * p,
    "low": lambda p: 1 - 0.4 * (1 - p),
    "overdone": lambda p: logistic(np.log(p / (1 - p)) / 2),
    "timid": lambda p: logistic(2 * np.log(p / (1 - p))),
    "shifted": lambda p: logistic(np.log(p / (1 - p)) + 1),
    "step": lambda p: np.where(p < np.median(p), 0.25, 0.6),
}
DESIGNS = (
    *(("flat", w) for w in WORTH),
    *(("ends", w) for w in ("calibrated", "overdone", "high")),
    *(("few", w) for w in ("calibrated", "high", "overdone", "shifted")),
    *(("rare", w) for w in ("calibrated", "high", "shifted")),
    *(("rarest", w) for w in ("calibrated", "shifted")),
)


def design(place: str, worth: str) -> Design:
    score, mass = PLACES[place]
    return score, mass, WORTH[worth](score)


def draw(rng, n: int, d: Design) -> trueness.Tally:
    score, mass, share = d
    at = rng.choice(score.size, n, p=mass)
    return trueness.tally(rng.random(n) < share[at], score[at], positive=True)


def draw_fixed(rng, n: int, d: Design) -> trueness.Tally:
    """Draw as many positives as negatives."""
    score, mass, share = d
    rho = float(mass @ share)
    yes = rng.choice(score.size, n // 2, p=mass * share / rho)
    no = rng.choice(score.size, n // 2, p=mass * (1 - share) / (1 - rho))
    label = np.repeat([1, 0], n // 2)
    return trueness.tally(label, score[np.concatenate([yes, no])])


def true_scores(d: Design) -> dict[str, float]:
    score, mass, share = d
    rho, left = float(mass @ share), float(mass @ (share * (1 - share)))
    brier = float(mass @ (share * (1 - score) ** 2 + (1 - share) * score**2))
    log = -float(mass @ (share * np.log(score) + (1 - share) * np.log1p(-score)))
    unc = rho * (1 - rho)
    # isotonic recalibration of a share that falls nowhere is the share itself
    best = -float(mass @ (share * np.log(share) + (1 - share) * np.log1p(-share)))
    whole = -(rho * np.log(rho) + (1 - rho) * np.log1p(-rho))
    found = {"brier": brier, "mcb": brier - left, "dsc": unc - left, "unc": unc}
    return found | {"log": log, "log mcb": log - best, "log dsc": whole - best}


def scores(t, rng, d: Design, **asked) -> dict[str, bool]:
    true = true_scores(d)
    b = trueness.brier(t, replicates=200, rng=rng, **asked)
    log = trueness.log_loss(t, replicates=20, rng=rng, **asked)
    found = {"brier": b, "log": log, "mcb": b.mcb, "dsc": b.dsc, "unc": b.unc}
    return {k: e.low <= true[k] <= e.high for k, e in found.items()}


def band(t, rng, d: Design) -> dict[str, float]:
    r = trueness.reliability(t, replicates=200, rng=rng)
    at = np.interp(r.score, d[0], d[2])
    low, high = r.confidence_low, r.confidence_high
    inner = (r.score > 0.1) & (r.score < 0.9)
    held = (low <= at) & (at <= high)
    return {
        "points": float(held.mean()),
        "inner": float(held[inner].mean()) if inner.any() else np.nan,
    }


def fixed(t, rng, d: Design) -> dict[str, bool]:
    rho = float(d[1] @ d[2])
    return scores(t, rng, d, prevalence=rho, sampling="case-control")


QUANTILES = norm.ppf((np.arange(2000) + 0.5) / 2000)
CENTRES = {0.05: -3.6, 0.2: -1.8, 0.5: 0.0}  # share of positives of calibrated scores
BENDS: dict[str, Callable[[np.ndarray], np.ndarray]] = {
    "calibrated": lambda p: p,
    "overconfident": lambda p: logistic(0.6 * np.log(p / (1 - p))),
    "too high": lambda p: logistic(np.log(p / (1 - p)) - 0.8),
    "plateau": lambda p: np.clip(p, *np.quantile(p, [0.3, 0.8])),
}
GROUPS = {"single": 2000, "ties": 8}  # distinct scores


def parts(samples: int, seed: int, fixed: bool = False) -> Iterator[tuple[object, ...]]:
    """Give MCB and DSC of both losses, of a cohort or of a case-control sample."""
    for groups, share, bend, n in product(GROUPS, CENTRES, BENDS, (100, 500, 5000)):
        rng = np.random.default_rng([seed, n, int(100 * share), *map(ord, bend)])
        p = logistic(CENTRES[share] + 1.4 * QUANTILES)
        p = p.reshape(GROUPS[groups], -1).mean(axis=1)
        d = p, np.full(p.size, 1 / p.size), BENDS[bend](p)
        true, asked = true_scores(d), {}
        if fixed:
            asked = {"prevalence": float(d[2].mean()), "sampling": "case-control"}
        held = []
        for _ in range(samples):
            t = (draw_fixed if fixed else draw)(rng, n, d)
            b = trueness.brier(t, replicates=200, rng=rng, **asked)
            e = trueness.log_loss(t, replicates=200, rng=rng, **asked)
            found = {"mcb": b.mcb, "dsc": b.dsc, "log mcb": e.mcb, "log dsc": e.dsc}
            held.append([x.low - 1e-9 <= true[k] <= x.high for k, x in found.items()])
        cells = [f"{x:.2f}" for x in np.mean(held, axis=0)]
        start = groups, bend, f"{d[2].mean():.2f}", f"{n:,}"
        yield ("| " + " | ".join([*start, *cells]) + " |",)


PARTS = {"scores": scores, "band": band, "fixed": fixed}


def rows(part: str, samples: int, seed: int) -> Iterator[tuple[object, ...]]:
    warnings.simplefilter("error")
    if part in ("parts", "fixed parts"):
        yield from parts(samples, seed, part == "fixed parts")
        return
    for place, worth in DESIGNS:
        d = design(place, worth)
        for n in SIZES:
            rng = np.random.default_rng([seed, n])
            make = draw_fixed if part == "fixed" else draw
            found = [PARTS[part](make(rng, n, d), rng, d) for _ in range(samples)]
            held = {
                k: round(float(np.nanmean([f[k] for f in found])), 3) for k in found[0]
            }
            yield place, worth, n, round(float(d[1] @ d[2]), 3), *held.items()


if __name__ == "__main__":
    what = sys.argv[1]
    for row in rows(
        what, *map(int, [*sys.argv[2:4], *("100", "1")[len(sys.argv) - 2 :]])
    ):
        print(*row, flush=True)
