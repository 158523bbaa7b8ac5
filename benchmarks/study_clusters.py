"""Do intervals of clustered cases hold the truth, with few and unequal clusters?

    python benchmarks/study_clusters.py [SAMPLES] [CLUSTERS ...] [fresh]
    python benchmarks/study_clusters.py agreement | speed

Clusters share a part of their scores (intra-cluster correlation), and the scores of
two classifiers are alike. Numbers of cases: "eight" each, "thirty" each, "uniform" from
1 to 20, "wide" from 1 to 30, "lognormal", and "third", where one cluster has a third of
all. Classes:
"mixed" with the same share of positives in all clusters, "differ" (shares from a beta
distribution), "apart" (one class in each cluster), "half" (one class in half of the
clusters). Share of 95 % intervals that hold the truth, and share of p-values below 5 %
for two classifiers that are equally good. ``agreement`` compares the error with that of
the cluster bootstrap, ``speed`` counts a million rows in 10^5 clusters.
"""

from __future__ import annotations

import sys
from itertools import product
from time import perf_counter
from typing import NamedTuple

import numpy as np
from scipy.special import expit, logit, ndtr, ndtri

import trueness


class Design(NamedTuple):
    """What is simulated; ``cut`` is the threshold's place between the two means."""

    sizes: str
    classes: str
    alike: float
    area: float
    share: float
    cut: float


DESIGNS = (
    Design("eight", "differ", 0.0, 0.76, 0.35, 0.6),
    Design("lognormal", "mixed", 0.2, 0.88, 0.3, 0.5),
    Design("uniform", "mixed", 0.9, 0.8, 0.45, 0.6),
    Design("third", "apart", 0.4, 0.82, 0.5, 0.5),
    Design("lognormal", "half", 0.7, 0.72, 0.4, 0.4),
    Design("third", "mixed", 0.9, 0.7, 0.25, 0.7),
    Design("thirty", "apart", 0.6, 0.9, 0.5, 0.6),
    Design("third", "differ", 0.5, 0.94, 0.2, 0.5),
)
FRESH = (
    Design("wide", "differ", 0.1, 0.78, 0.4, 0.5),
    Design("wide", "apart", 0.3, 0.85, 0.35, 0.6),
    Design("wide", "half", 0.6, 0.7, 0.3, 0.5),
    Design("wide", "mixed", 0.4, 0.92, 0.15, 0.6),
    Design("lognormal", "differ", 0.6, 0.8, 0.5, 0.4),
    Design("eight", "apart", 0.2, 0.75, 0.45, 0.7),
    Design("third", "half", 0.3, 0.88, 0.4, 0.5),
    Design("third", "mixed", 0.9, 0.7, 0.25, 0.7),
)
PAIRED = ("recall", "precision", "f1", "mcc")
SHOWN = ("recall", "specificity", "precision", "npv", "f1", "mcc", "lift",
         "lr_positive", "lr_negative", "diagnostic_odds_ratio")  # fmt: skip


def sizes(rng: np.random.Generator, m: int, kind: str) -> np.ndarray:
    if kind in ("eight", "thirty"):
        return np.full(m, 8 if kind == "eight" else 30)
    if kind in ("uniform", "wide"):
        return rng.integers(1, 21 if kind == "uniform" else 31, m)
    if kind == "lognormal":
        return np.clip(np.round(6 * np.exp(rng.normal(size=m))), 1, 300).astype(int)
    some = rng.integers(2, 12, m - 1)
    return np.append(some, max(2, some.sum() // 2))


def drawn(rng: np.random.Generator, m: int, d: Design):
    """Draw labels, two scores and clusters; two clusters at least have each class."""
    cluster = np.repeat(np.arange(m), sizes(rng, m, d.sizes))
    pure = (rng.random(m) < d.share).astype(float)
    share = {
        "mixed": np.full(m, d.share),
        "differ": rng.beta(2 * d.share, 2 - 2 * d.share, m),
        "apart": pure,
        "half": np.where(rng.random(m) < 0.5, pure, d.share),
    }[d.classes]
    y = (rng.random(cluster.size) < share[cluster]).astype(int)
    shared, own = rng.normal(size=(2, m)), rng.normal(size=(2, cluster.size))
    for x in (shared, own):
        x[1] = 0.6 * x[0] + 0.8 * x[1]
    noise = np.sqrt(d.alike) * shared[:, cluster] + np.sqrt(1 - d.alike) * own
    if min(np.unique(cluster[y == k]).size for k in (0, 1)) < 2:
        return drawn(rng, m, d)
    return y, *(y * np.sqrt(2) * ndtri(d.area) + noise), cluster


def held(found, truth: float) -> float:
    """Say whether an interval holds the truth; NaN where there is none."""
    return float(found.low <= truth <= found.high) if found.low == found.low else np.nan


def asked(y, a, b, cluster, d: Design, truth, cut: float) -> dict[str, float]:
    """Which intervals hold the truth, and which p-values are below 5 %?"""
    words = {"cluster": cluster}
    both = {"a": a, "b": b}
    areas = trueness.compare_auc(y, both, **words)
    out = {"AUC": held(areas.values[0], d.area)}
    at = trueness.at_threshold(y, a, cut, metrics=list(truth), **words)
    out |= {k: held(e, truth[k]) for k, e in at.metrics.items()}
    step = np.sqrt(2) * ndtri(d.area)
    try:
        true = expit(step * a - step**2 / 2 + logit(d.share))
        line = trueness.calibration_line(y, true, **words)
        out |= {"slope": held(line.slope, 1), "intercept": held(line.intercept, 0)}
    except trueness.NotEnoughCases:  # a likelihood without a maximum
        out |= {"slope": np.nan, "intercept": np.nan}
    out["two AUCs"] = areas.pairs[0].p_value < 0.05
    for name in PAIRED:
        two = trueness.compare_metric(y, both, metric=name, thresholds=cut, **words)
        p = two.pairs[0].p_value
        out[f"two {name}"] = p < 0.05 if p == p else np.nan
    return out


def rows(designs: tuple[Design, ...], samples: int, numbers: list[int]):
    for m, (k, d) in product(numbers, enumerate(designs)):
        rng = np.random.default_rng([2026, m, k])
        cut = d.cut * np.sqrt(2) * ndtri(d.area)
        tpr, fpr = ndtr(np.sqrt(2) * ndtri(d.area) - cut), ndtr(-cut)
        cells = (d.share * tpr, (1 - d.share) * fpr,
                 d.share * (1 - tpr), (1 - d.share) * (1 - fpr))  # fmt: skip
        truth = {name: float(metric(trueness.Confusion(*cells)))
                 for name, metric in trueness.METRICS.items()
                 if name != "flagged"}  # fmt: skip
        each = [asked(*drawn(rng, m, d), d, truth, cut) for _ in range(samples)]
        share = {k: np.nanmean([one[k] for one in each]) for k in each[0]}
        least = min(truth, key=lambda name: share[name])
        names = ("AUC", *SHOWN, "slope", "intercept", "two AUCs",
                 *(f"two {name}" for name in PAIRED))  # fmt: skip
        yield (m, *d, *(f"{share[name]:.3f}" for name in names),
               f"{least} {share[least]:.3f}")  # fmt: skip


def agreement(m: int = 200) -> None:
    """Print the errors by formula and by the cluster bootstrap."""
    for design in DESIGNS:
        y, a, _, cluster = drawn(np.random.default_rng(1), m, design)
        parts = trueness.tally(y, a, by=cluster)
        drawn_again = trueness.cluster_bootstrap(parts, trueness.auc, replicates=1000)
        formula = trueness.auc(y, a, cluster=cluster)
        print(*design, f"{formula.sd:.4f} {drawn_again.sd:.4f}", flush=True)


def speed() -> None:
    """Time a million rows in 10^5 clusters."""
    rng = np.random.default_rng(0)
    n = 10**6
    y, cluster = rng.integers(0, 2, n), rng.integers(0, 10**5, n)
    scores = {k: y + rng.normal(size=n) for k in "ab"}
    for name, ask in {
        "auc": lambda: trueness.auc(y, scores["a"], cluster=cluster),
        "compare_auc": lambda: trueness.compare_auc(y, scores, cluster=cluster),
        "at_threshold": lambda: trueness.at_threshold(
            y, scores["a"], 0.5, cluster=cluster
        ),
    }.items():
        start = perf_counter()
        ask()
        print(f"{name}: {perf_counter() - start:.2f} s", flush=True)


def main() -> None:
    words = sys.argv[1:]
    if words[:1] in (["agreement"], ["speed"]):
        (agreement if words[0] == "agreement" else speed)()
        return
    designs = FRESH if "fresh" in words else DESIGNS
    samples, *numbers = [int(w) for w in words if w != "fresh"] or [300]
    for row in rows(designs, samples, numbers or [5, 10, 20, 50]):
        print("| " + " | ".join(map(str, row)) + " |", flush=True)


if __name__ == "__main__":
    main()
