"""Do tests of calibration keep their level at a given share of positives?

    python benchmarks/study_calibration_share.py [SAMPLES SEED CURVE FIRST LAST]

A population of 40,000 scores has a known chance of a positive at each; positives and
negatives are drawn apart, as many as a design wants, and tested at the share of the
population. One row a design: the share of samples with a p-value of at most .05, for
CURVE "calibrated" the size, for "over" (too extreme), "shift" and "jump" the power.
"""

from __future__ import annotations

import sys

import numpy as np
from scipy.special import expit, logit

import trueness

METHODS = ("spiegelhalter", "cox", "isotonic")
CASES = 40_000
# law of the scores, about which share, positives and negatives
DESIGNS = (
    ("beta", 0.1, 10, 40),
    ("humps", 0.3, 10, 40),
    ("hundredths", 0.05, 25, 25),
    ("six", 0.5, 5, 45),
    ("tight", 0.2, 25, 25),
    ("heavy tails", 0.02, 20, 80),
    ("beta", 0.5, 3, 97),
    ("humps", 0.01, 50, 50),
    ("six", 0.1, 30, 70),
    ("hundredths", 0.3, 20, 180),
    ("beta", 0.02, 100, 100),
    ("tight", 0.4, 10, 190),
    ("heavy tails", 0.3, 40, 160),
    ("humps", 0.5, 10, 990),
    ("beta", 0.1, 100, 900),
    ("heavy tails", 0.01, 500, 500),
    ("hundredths", 0.2, 150, 850),
    ("six", 0.02, 300, 700),
)
SIX = (-2, -1, -0.3, 0.4, 1.2, 2.2), (0.2, 0.25, 0.2, 0.2, 0.1, 0.05)


def humps(share: float, rng) -> np.ndarray:
    low = rng.random(CASES) < 0.75
    z = rng.normal(size=CASES)
    return expit(logit(share) + np.where(low, 0.4 * z - 1, 0.7 * z + 1.6))


def hundredths(share: float, rng) -> np.ndarray:
    p = rng.beta(6 * share + 0.2, 6 * (1 - share) + 0.2, CASES)
    return np.clip(p.round(2), 0.01, 0.99)


def heavy_tails(share: float, rng) -> np.ndarray:
    return expit(logit(share) + np.clip(0.5 * rng.standard_t(2, CASES), -6, 4))


LAWS = {
    "beta": lambda share, rng: rng.beta(3 * share, 3 * (1 - share), CASES),
    "tight": lambda share, rng: rng.beta(40 * share, 40 * (1 - share), CASES),
    "humps": humps,
    "hundredths": hundredths,
    "six": lambda share, rng: rng.choice(
        expit(logit(share) + np.array(SIX[0])), CASES, p=SIX[1]
    ),
    "heavy tails": heavy_tails,
}
CURVES = {
    "calibrated": lambda p: p,
    "over": lambda p: expit(0.45 * logit(p.mean()) + 0.5 * logit(p)),
    "shift": lambda p: expit(logit(p) + 0.6),
    "jump": lambda p: np.clip(
        p + np.where(p > np.median(p), 0.5, -0.5) * np.minimum(p, 1 - p), 0, 1
    ),
}


def rejected(design, curve: str, samples: int, seed: int) -> tuple[float, list[float]]:
    """Give the true share, and how often each test rejects."""
    law, about, n_pos, n_neg = design
    rng = np.random.default_rng([seed, n_pos, n_neg, *map(ord, law)])
    p = np.clip(LAWS[law](about, rng), 1e-5, 1 - 1e-5)
    chance = CURVES[curve](p)
    share, y = float(chance.mean()), np.repeat([1, 0], [n_pos, n_neg])
    found = []
    for _ in range(samples):
        pos = rng.choice(p, n_pos, p=chance / chance.sum())
        neg = rng.choice(p, n_neg, p=(1 - chance) / (1 - chance).sum())
        t = trueness.tally(y, np.concatenate([pos, neg]))
        asked = {"prevalence": share, "replicates": 99, "rng": rng}
        tests = (trueness.calibration_test(t, method=m, **asked) for m in METHODS)
        found.append([test.p_value <= 0.05 for test in tests])
    return share, np.mean(found, axis=0).tolist()


if __name__ == "__main__":
    defaults = ["100", "1", "calibrated", "0", "99"]
    samples, seed, curve, first, last = sys.argv[1:] + defaults[len(sys.argv) - 1 :]
    for design in DESIGNS[int(first) : int(last)]:
        share, found = rejected(design, curve, int(samples), int(seed))
        cells = " | ".join(f"{x:.3f}" for x in found)
        about = f"{design[0]} | {share:.3f} | {design[2]} + {design[3]}"
        print(f"| {about} | {cells} |", flush=True)
