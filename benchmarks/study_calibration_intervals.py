"""Do proper scores, their parts and the reliability band cover? Do tests keep level?

    python benchmarks/study_calibration_intervals.py PART [SAMPLES SEED FIRST LAST]

Designs are those of the list "fresh" of ``study_calibration_errors.py``: a population
of 4,000 scores with a known share of positives at each, so that every truth is a sum.

Parts: "scores" (Brier score and log loss with their parts MCB and DSC), "fixed" (the
same of a case-control sample, at its true share), "band" (confidence band of the
reliability curve, counted at the scores of the sample), "tests" (how often the tests of
calibration reject at the 5 % level). One row a design: the share of samples whose 95 %
interval holds the truth, or that are rejected.
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Iterator

import numpy as np
from study_calibration_errors import drawn, population

import trueness
from trueness._core.isotonic import pool_violators

Design = tuple[np.ndarray, np.ndarray]
GRID = (
    ("low", "calibrated", 50),
    ("low", "calibrated", 2000),
    ("low", "probit", 150),
    ("low", "bent", 1500),
    ("low", "cap", 400),
    ("low", "highest seventh", 4000),
    ("five per cent", "calibrated", 300),
    ("five per cent", "calibrated", 3000),
    ("five per cent", "floor", 1000),
    ("five per cent", "jump", 5000),
    ("five per cent", "probit", 200),
    ("high", "calibrated", 120),
    ("high", "thirds", 250),
    ("high", "falling middle", 1000),
    ("high", "bent", 60),
    ("two humps", "jump", 500),
    ("two humps", "probit", 5000),
    ("narrow", "calibrated", 800),
    ("narrow", "floor", 150),
    ("narrow", "jump", 1500),
    ("narrow", "saw", 600),
    ("hundredths", "cap", 200),
    ("hundredths", "thirds", 2000),
    ("seven", "calibrated", 300),
    ("seven", "jump", 100),
    ("seven", "thirds", 4000),
    ("fiftieths", "probit", 400),
    ("fiftieths", "lowest third", 1500),
)
NAMES = {
    "scores": ["Brier", "MCB", "DSC", "log loss", "MCB, log", "DSC, log"],
    "band": ["all", "lowest tenth", "highest tenth"],
    "tests": ["spiegelhalter", "cox", "isotonic", "hosmer-lemeshow"],
}
NAMES["fixed"] = NAMES["scores"]


def draw_fixed(p: np.ndarray, f: np.ndarray, n: int, rng) -> trueness.Tally:
    """Draw as many positives as negatives."""
    yes = rng.choice(p.size, n // 2, p=f / f.sum())
    no = rng.choice(p.size, n // 2, p=(1 - f) / (1 - f).sum())
    return trueness.tally(np.repeat([1, 0], n // 2), p[np.concatenate([yes, no])])


def entropy(share: np.ndarray) -> np.ndarray:
    return -(share * np.log(share) + (1 - share) * np.log1p(-share))


def true_scores(d: Design) -> list[float]:
    """Give both losses and their parts: recalibration is that of the population."""
    p, f = d
    group = np.unique(p, return_inverse=True)[1]
    share, start = pool_violators(np.bincount(group, f), np.bincount(group, 1 - f))
    best = np.repeat(share, np.diff(start))[group]
    rho = f.mean()
    square = float((f * (1 - p) ** 2 + (1 - f) * p**2).mean())
    left = float((best * (1 - best)).mean())
    log = float(-(f * np.log(p) + (1 - f) * np.log1p(-p)).mean())
    rest, whole = float(entropy(best).mean()), float(entropy(rho))
    parts = [square, square - left, rho * (1 - rho) - left]
    return [*parts, log, log - rest, whole - rest]


def scores(t, rng, d: Design, **asked) -> list[bool]:
    found = []
    for score in (trueness.brier, trueness.log_loss):
        e = score(t, replicates=200, rng=rng, **asked)
        found += [e, e.mcb, e.dsc]
    pairs = zip(found, true_scores(d), strict=True)
    return [e.low - 1e-9 <= true <= e.high for e, true in pairs]


def fixed(t, rng, d: Design) -> list[bool]:
    asked = {"prevalence": float(d[1].mean()), "sampling": "case-control"}
    return scores(t, rng, d, **asked)


def band(t, rng, d: Design) -> list[float]:
    r = trueness.reliability(t, replicates=200, rng=rng)
    at = np.interp(r.score, *d)
    held = (r.confidence_low <= at) & (at <= r.confidence_high)
    low, high = np.quantile(np.repeat(t.score, t.n_rows), [0.1, 0.9])
    parts = [np.ones(at.size, bool), r.score <= low, r.score >= high]
    return [float(held[x].mean()) for x in parts]


def tests(t, rng, d: Design) -> list[bool]:
    found = []
    for method in NAMES["tests"]:
        test = trueness.calibration_test(t, method=method, replicates=199, rng=rng)
        found.append(test.p_value <= 0.05)
    return found


PARTS = {"scores": scores, "fixed": fixed, "band": band, "tests": tests}


def table(
    part: str, samples: int, seed: int, first: int, last: int
) -> Iterator[list[str]]:
    yield ["scores", "curve", "cases", "positive", *NAMES[part]]
    yield ["---", "---", "---:", "---:", *["---:"] * len(NAMES[part])]
    for scores, shape, n in GRID[first:last]:
        d = population("fresh", scores, shape)
        rng = np.random.default_rng([seed, n, *map(ord, scores + shape)])
        make = draw_fixed if part == "fixed" else drawn
        found = [PARTS[part](make(*d, n, rng), rng, d) for _ in range(samples)]
        cells = [f"{x:.2f}" for x in np.nanmean(found, axis=0)]
        yield [scores, shape, f"{n:,}", f"{d[1].mean():.2f}", *cells]


if __name__ == "__main__":
    warnings.simplefilter("error")
    asked = [int(x) for x in sys.argv[2:6]]
    for row in table(sys.argv[1], *asked, *(100, 1, 0, 99)[len(asked) :]):
        print("| " + " | ".join(row) + " |", flush=True)
