"""Do the intervals of calibration errors hold the truth, whatever the curve?

    python benchmarks/study_calibration_errors.py LIST [SAMPLES] [SEED] [FIRST] [LAST]

Lists of designs, each with its own kinds of scores and shapes of curves, many of
which no polynomial of the log-odds follows: jumps, plateaus, waves, one wrong segment.
Rules were set on "known", and two of them mended after five rows of "fresh" had fallen
out (E50 of floors and a jump, the largest distance of a cap and of thirds); "unseen"
was only measured.
A population is 4,000 quantiles of the scores, so that every truth is a sum: the mean
distance, that of 15 equal bins, the root mean square, quantiles, the smooth error;
the largest distance is that of the scores in the sample.

One row a design, as a table of the documentation: the share of samples whose 95 %
interval holds the truth, and the median widths of plain, E50 and E90.
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable, Iterator

import numpy as np
from scipy.stats import beta, binom, norm

import trueness
from trueness.calibration.errors import smooth_error

QUANTILES = (np.arange(4000) + 0.5) / 4000
Curve = Callable[[np.ndarray], np.ndarray]


def logistic(x):
    return 1 / (1 + np.exp(-x))


def logit(p):
    p = np.clip(p, 1e-9, 1 - 1e-9)
    return np.log(p) - np.log1p(-p)


SCORES: dict[str, Curve] = {
    "even": lambda q: q,
    "ends": lambda q: beta.ppf(q, 0.5, 0.5),
    "normal": lambda q: logistic(1.5 * norm.ppf(q) - 1),
    "rare": lambda q: beta.ppf(q, 0.8, 8),
    "rarest": lambda q: beta.ppf(q, 0.5, 40),
    "frequent": lambda q: beta.ppf(q, 9, 1),
    "extreme": lambda q: np.clip(logistic(4 * norm.ppf(q)), 1e-4, 1 - 1e-4),
    "tenths": lambda q: binom.ppf(q, 10, beta.ppf(np.sqrt(q), 2, 2)) / 10,
    "trees": lambda q: binom.ppf(np.random.default_rng(7).permutation(q), 25, q) / 25,
}
SHAPES: dict[str, Curve] = {
    "calibrated": lambda p: p,
    "overconfident": lambda p: logistic(0.6 * logit(p)),
    "underconfident": lambda p: logistic(1.6 * logit(p)),
    "asymmetric": lambda p: logistic(np.where(p < 0.5, 0.5, 1.3) * logit(p)),
    "segment": lambda p: np.where((p > 0.6) & (p < 0.8), p - 0.25, p),
    "step": lambda p: np.where(p < np.median(p), 0.25, 0.6),
    "plateau": lambda p: np.clip(p, 0.3, 0.6),
    "wave": lambda p: np.clip(p + 0.1 * np.sin(4 * np.pi * p), 0, 1),
    "waves": lambda p: np.clip(p + 0.08 * np.sin(10 * np.pi * p), 0, 1),
    "label noise": lambda p: 0.1 + 0.8 * p,
    "three jumps": lambda p: np.clip(
        p + 0.08 * np.where((4 * p).astype(int) % 2, 1, -1), 0, 1
    ),
    "too high": lambda p: 0.5 * p,
    "too low": lambda p: 1 - 0.6 * (1 - p),
    "nearly": lambda p: logistic(0.9 * logit(p) - 0.1),
    "square": lambda p: p**2,
}
DESIGNS = (
    ("even", "overconfident", 100),
    ("even", "step", 300),
    ("even", "segment", 1000),
    ("even", "segment", 10000),
    ("even", "wave", 300),
    ("even", "wave", 3000),
    ("even", "waves", 1000),
    ("even", "waves", 10000),
    ("even", "three jumps", 500),
    ("even", "three jumps", 2000),
    ("even", "three jumps", 20000),
    ("even", "plateau", 1000),
    ("even", "calibrated", 1000),
    ("ends", "asymmetric", 300),
    ("ends", "asymmetric", 3000),
    ("ends", "label noise", 400),
    ("ends", "label noise", 5000),
    ("ends", "underconfident", 200),
    ("normal", "plateau", 500),
    ("normal", "nearly", 500),
    ("normal", "nearly", 5000),
    ("normal", "segment", 3000),
    ("normal", "square", 200),
    ("rare", "too high", 300),
    ("rare", "overconfident", 2000),
    ("rare", "label noise", 1000),
    ("rare", "calibrated", 400),
    ("rarest", "too high", 1000),
    ("rarest", "overconfident", 5000),
    ("rarest", "square", 10000),
    ("frequent", "too low", 300),
    ("frequent", "square", 1000),
    ("frequent", "overconfident", 200),
    ("extreme", "overconfident", 300),
    ("extreme", "label noise", 2000),
    ("extreme", "calibrated", 1000),
    ("tenths", "overconfident", 200),
    ("tenths", "three jumps", 1000),
    ("tenths", "step", 5000),
    ("trees", "overconfident", 300),
    ("trees", "segment", 2000),
    ("trees", "wave", 1000),
)


def rank(p: np.ndarray) -> np.ndarray:
    """Give the share of scores below, ties counting half."""
    ranked = np.sort(p)
    ends = (np.searchsorted(ranked, p, side) for side in ("left", "right"))
    return sum(ends) / 2 / p.size


def moved(away: Callable[[np.ndarray], np.ndarray]) -> Curve:
    """Move the log-odds by a function of the rank."""
    return lambda p: logistic(logit(p) + away(rank(p)))


def humps(q: np.ndarray) -> np.ndarray:
    low, high = beta.ppf(q, 2, 18), beta.ppf(q, 12, 4)
    mixed = np.sort(np.concatenate([np.repeat(low, 7), np.repeat(high, 3)]))
    return mixed[5::10]


LEVELS = np.array([0.02, 0.05, 0.1, 0.2, 0.35, 0.6, 0.85])
FRESH_SCORES: dict[str, Curve] = {
    "low": lambda q: beta.ppf(q, 2, 5),
    "five per cent": lambda q: beta.ppf(q, 1.2, 20),
    "high": lambda q: beta.ppf(q, 5, 2),
    "two humps": humps,
    "narrow": lambda q: 0.1 + 0.5 * q,
    "hundredths": lambda q: np.clip(np.round(beta.ppf(q, 1.5, 4), 2), 0.01, 0.99),
    "seven": lambda q: LEVELS[np.searchsorted([0.2, 0.35, 0.5, 0.65, 0.8, 0.92], q)],
    "fiftieths": lambda q: np.clip(
        binom.ppf(np.random.default_rng(3).permutation(q), 50, beta.ppf(q, 0.7, 0.9))
        / 50,
        0.01,
        0.99,
    ),
}
FRESH_SHAPES: dict[str, Curve] = {
    "calibrated": lambda p: p,
    "probit": lambda p: norm.cdf(0.7 * norm.ppf(p)),
    "bent": lambda p: logistic(0.8 * logit(p) - 0.12 * logit(p) ** 2),
    "cap": lambda p: np.minimum(p, np.quantile(p, 0.6)),
    "floor": lambda p: np.maximum(p, np.quantile(p, 0.5)),
    "lowest third": lambda p: np.where(rank(p) < 1 / 3, 0.3 * p, p),
    "highest seventh": lambda p: np.where(rank(p) > 6 / 7, 0.6 * p, p),
    "thirds": lambda p: np.quantile(p, [0.3, 0.5, 0.8])[(2.999 * rank(p)).astype(int)],
    "saw": moved(lambda q: 1.6 * ((3 * q) % 1) - 0.8),
    "cosine": moved(lambda q: 0.7 * np.cos(6 * np.pi * q)),
    "falling middle": lambda p: np.where(
        np.abs(rank(p) - 0.5) < 0.25, np.quantile(p, 1 - rank(p)), p
    ),
    "spike": moved(lambda q: -2.0 * (np.abs(q - 0.7) < 0.06)),
    "jump": moved(lambda q: np.where(q < 0.55, -0.6, 0.6)),
}
FRESH = (
    ("low", "calibrated", 400),
    ("low", "probit", 150),
    ("low", "bent", 1500),
    ("low", "cap", 800),
    ("low", "highest seventh", 4000),
    ("low", "saw", 2500),
    ("low", "cosine", 10000),
    ("five per cent", "calibrated", 1000),
    ("five per cent", "floor", 3000),
    ("five per cent", "jump", 6000),
    ("five per cent", "probit", 500),
    ("five per cent", "spike", 10000),
    ("high", "probit", 400),
    ("high", "thirds", 300),
    ("high", "thirds", 3000),
    ("high", "falling middle", 1000),
    ("high", "falling middle", 8000),
    ("high", "bent", 250),
    ("two humps", "lowest third", 1000),
    ("two humps", "jump", 500),
    ("two humps", "spike", 3000),
    ("two humps", "cosine", 700),
    ("two humps", "probit", 6000),
    ("narrow", "calibrated", 200),
    ("narrow", "saw", 600),
    ("narrow", "saw", 10000),
    ("narrow", "floor", 300),
    ("narrow", "floor", 5000),
    ("narrow", "jump", 1500),
    ("hundredths", "cap", 200),
    ("hundredths", "highest seventh", 1200),
    ("hundredths", "cosine", 4000),
    ("hundredths", "thirds", 100),
    ("seven", "calibrated", 300),
    ("seven", "jump", 700),
    ("seven", "thirds", 5000),
    ("fiftieths", "probit", 150),
    ("fiftieths", "lowest third", 2000),
    ("fiftieths", "saw", 900),
    ("fiftieths", "spike", 6000),
)
UNSEEN_SCORES: dict[str, Curve] = {
    "centre": lambda q: beta.ppf(q, 3, 3),
    "rare": lambda q: beta.ppf(q, 0.5, 6),
    "twentieths": lambda q: np.clip(np.round(20 * beta.ppf(q, 2, 3)), 1, 19) / 20,
}
UNSEEN_SHAPES: dict[str, Curve] = {
    "power": lambda p: p**1.4,
    "two levels": lambda p: np.quantile(p, np.where(rank(p) < 0.6, 0.25, 0.85)),
    "zigzag": moved(lambda q: 1.5 * np.abs(2 * ((2 * q) % 1) - 1) - 0.75),
    "middle fifth": lambda p: np.where(np.abs(rank(p) - 0.5) < 0.1, 0.4 * p, p),
    "highest eighth": lambda p: np.where(rank(p) > 7 / 8, 0.5 * p, p),
}
UNSEEN = (
    ("centre", "power", 300),
    ("centre", "two levels", 1000),
    ("centre", "zigzag", 5000),
    ("centre", "middle fifth", 2000),
    ("rare", "power", 2000),
    ("rare", "zigzag", 8000),
    ("rare", "highest eighth", 4000),
    ("twentieths", "two levels", 200),
    ("twentieths", "zigzag", 1500),
    ("twentieths", "middle fifth", 6000),
)
LISTS = {
    "known": (SCORES, SHAPES, DESIGNS),
    "fresh": (FRESH_SCORES, FRESH_SHAPES, FRESH),
    "unseen": (UNSEEN_SCORES, UNSEEN_SHAPES, UNSEEN),
}
NUMBERS = ["plain", "binned", "debiased", "rms", "smooth"]
NUMBERS += ["ICI", "E50", "E90", "largest"]


def population(which: str, scores: str, shape: str) -> tuple[np.ndarray, np.ndarray]:
    """Give the scores of a design and their shares of positives."""
    p = np.sort(LISTS[which][0][scores](QUANTILES))
    return p, LISTS[which][1][shape](p)


def drawn(p: np.ndarray, f: np.ndarray, n: int, rng) -> trueness.Tally:
    at = rng.integers(p.size, size=n)
    return trueness.tally(rng.random(n) < f[at], p[at], positive=True)


def truths(p: np.ndarray, f: np.ndarray) -> dict[str, float]:
    """Give the errors of the population, on single scores and in 15 equal bins."""
    away = np.abs(f - p)
    many = 10.0**6
    parts = np.unique(np.searchsorted(p, p[:: p.size // 15 + 1]))
    binned = float(np.abs(np.add.reduceat(f - p, parts)).sum() / p.size)
    e50, e90 = np.quantile(away, [0.5, 0.9])
    mean = float(away.mean())
    return {
        "plain": mean,
        "binned": binned,
        "debiased": mean,
        "rms": float(np.sqrt((away**2).mean())),
        "smooth": smooth_error(p, many * f, many * (1 - f)),
        "ici": mean,
        "e50": float(e50),
        "e90": float(e90),
    }


def intervals(t: trueness.Tally, rng, replicates: int = 60) -> dict[str, object]:
    e = trueness.calibration_error(t, replicates=replicates, rng=rng)
    i = trueness.calibration_index(t, replicates=replicates, rng=rng)
    found = {"plain": e.plain, "binned": e.plain, "debiased": e.debiased}
    found |= {"rms": e.rms, "smooth": e.smooth}
    return found | {"ici": i.ici, "e50": i.e50, "e90": i.e90, "largest": i.largest}


def row(which: str, design: tuple[str, str, int], samples: int, seed: int) -> str:
    scores, shape, n = design
    p, f = population(which, scores, shape)
    true = truths(p, f)
    rng = np.random.default_rng([seed, n, *map(ord, scores + shape)])
    held, widths = [], []
    for _ in range(samples):
        t = drawn(p, f, n, rng)
        found = intervals(t, rng)
        # the largest distance is that of the scores which were met
        true["largest"] = float(np.abs(f - p)[np.searchsorted(p, t.score)].max())
        held.append([x.low - 1e-9 <= true[k] <= x.high for k, x in found.items()])
        widths.append([found[k].high - found[k].low for k in ("plain", "e50", "e90")])
    cells = [f"{x:.2f}" for x in np.mean(held, axis=0)]
    cells += [f"{x:.3f}" for x in np.median(widths, axis=0)]
    start = [scores, shape, f"{n:,}", f"{f.mean():.2f}", f"{true['plain']:.3f}"]
    return "| " + " | ".join([*start, *cells]) + " |"


def table(which: str, samples: int, seed: int, first: int, last: int) -> Iterator[str]:
    names = ["scores", "curve", "cases", "positive", "error", *NUMBERS]
    names += ["plain, width", "E50", "E90"]
    yield "| " + " | ".join(names) + " |"
    yield "|---|---" + "|---:" * (len(names) - 2) + "|"
    for design in LISTS[which][2][first:last]:
        yield row(which, design, samples, seed)


if __name__ == "__main__":
    warnings.simplefilter("error")
    asked = [int(x) for x in sys.argv[2:6]]
    for line in table(sys.argv[1], *asked, *(100, 1, 0, 99)[len(asked) :]):
        print(line, flush=True)
