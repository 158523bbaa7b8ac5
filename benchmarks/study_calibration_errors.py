"""Do the intervals of calibration errors hold the truth, whatever the curve?

    python benchmarks/study_calibration_errors.py [SAMPLES] [SEED] [FIRST] [LAST]

Scores of nine kinds (even, at the ends, normal log-odds, rare, rarest, frequent,
extreme, tenths, the votes of 25 trees) and curves of fifteen shapes, many of which no
polynomial of the log-odds follows: jumps, plateaus, waves, one wrong segment. A
population is 4,000 quantiles of the scores, so that every truth is a sum: the mean
distance, that of 15 equal bins, the root mean square, quantiles, the smooth error.

One row a design, as a table of the documentation: the share of samples whose 95 %
interval holds the truth, and the median width of the plain one.
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
NUMBERS = ["plain", "binned", "debiased", "rms", "smooth", "ICI", "E50", "E90"]


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
    return found | {"ici": i.ici, "e50": i.e50, "e90": i.e90}


def row(design: tuple[str, str, int], samples: int, seed: int) -> str:
    scores, shape, n = design
    p = np.sort(SCORES[scores](QUANTILES))
    f = SHAPES[shape](p)
    true = truths(p, f)
    rng = np.random.default_rng([seed, n, *map(ord, scores + shape)])
    held, widths = [], []
    for _ in range(samples):
        at = rng.integers(p.size, size=n)
        t = trueness.tally(rng.random(n) < f[at], p[at], positive=True)
        found = intervals(t, rng)
        held.append([x.low - 1e-9 <= true[k] <= x.high for k, x in found.items()])
        widths.append(found["plain"].high - found["plain"].low)
    cells = [f"{x:.2f}" for x in np.mean(held, axis=0)]
    start = [scores, shape, f"{n:,}", f"{f.mean():.2f}", f"{true['plain']:.3f}"]
    width = f"{np.median(widths):.3f}"
    return "| " + " | ".join([*start, *cells, width]) + " |"


def table(samples: int, seed: int, first: int, last: int) -> Iterator[str]:
    names = ["scores", "curve", "cases", "positive", "error", *NUMBERS, "width"]
    yield "| " + " | ".join(names) + " |"
    yield "|---|---" + "|---:" * (len(names) - 2) + "|"
    for design in DESIGNS[first:last]:
        yield row(design, samples, seed)


if __name__ == "__main__":
    warnings.simplefilter("error")
    asked = [int(x) for x in sys.argv[1:5]]
    for line in table(*asked, *(200, 1, 0, len(DESIGNS))[len(asked) :]):
        print(line, flush=True)
