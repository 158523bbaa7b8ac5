"""Do intervals of clustered cases hold the truth, with few and unequal clusters?

    python benchmarks/study_clusters.py [SAMPLES] [CLUSTERS ...]
    python benchmarks/study_clusters.py agreement | speed

Clusters share a part of their scores (intra-cluster correlation), have 8 cases each or
very unequal numbers (log-normal, 1 to 200), and hold both classes or one only. Normal
scores one unit apart, 40 % positives. Share of 95 % intervals that hold the true AUC
and the true recall at 1/2, and share of p-values below 5 % for two classifiers that are
equally good. ``agreement`` compares the error with that of the cluster bootstrap,
``speed`` counts a million rows in 10^5 clusters.
"""

from __future__ import annotations

import sys
from itertools import product
from time import perf_counter

import numpy as np
from scipy.special import ndtr

import trueness

AUC, RECALL = float(ndtr(1 / np.sqrt(2))), float(ndtr(0.5))
HEAD = ("clusters", "sizes", "classes", "correlation", "AUC", "recall", "two AUCs")
DESIGNS = list(product(("equal", "unequal"), ("mixed", "apart"), (0.0, 0.4, 0.8)))


def drawn(rng: np.random.Generator, m: int, sizes: str, classes: str, alike: float):
    """Draw labels, two scores and clusters; two clusters at least have each class."""
    number = np.full(m, 8)
    if sizes == "unequal":
        number = np.clip(np.round(4 * np.exp(1.2 * rng.normal(size=m))), 1, 200)
    cluster = np.repeat(np.arange(m), number.astype(int))
    y = (rng.random(cluster.size) < 0.4).astype(int)
    if classes == "apart":
        y = np.isin(cluster, rng.permutation(m)[: max(2, round(0.4 * m))]).astype(int)
    shared, own = rng.normal(size=(2, m)), rng.normal(size=(2, cluster.size))
    score = y + np.sqrt(alike) * shared[:, cluster] + np.sqrt(1 - alike) * own
    if min(np.unique(cluster[y == k]).size for k in (0, 1)) < 2:
        return drawn(rng, m, sizes, classes, alike)
    return y, *score, cluster


def rows(samples: int, numbers: list[int]):
    for m, design in product(numbers, DESIGNS):
        rng = np.random.default_rng(9)
        held, found, rejected = 0, 0, 0
        for _ in range(samples):
            y, a, b, cluster = drawn(rng, m, *design)
            pair = trueness.compare_auc(y, {"a": a, "b": b}, cluster=cluster)
            held += pair.values[0].low <= AUC <= pair.values[0].high
            rejected += pair.pairs[0].p_value < 0.05
            words = {"metrics": ["recall"], "cluster": cluster}
            recall = trueness.at_threshold(y, a, 0.5, **words)["recall"]
            found += recall.low <= RECALL <= recall.high
        shares = (f"{x / samples:.3f}" for x in (held, found, rejected))
        yield m, *design, *shares


def agreement(m: int = 200) -> None:
    """Print the errors by formula and by the cluster bootstrap."""
    for design in DESIGNS:
        y, a, _, cluster = drawn(np.random.default_rng(1), m, *design)
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
    samples, *numbers = [int(w) for w in words] or [300]
    print("| " + " | ".join(HEAD) + " |")
    print("|" + " --- |" * len(HEAD))
    for row in rows(samples, numbers or [5, 10, 20, 50, 200]):
        print("| " + " | ".join(map(str, row)) + " |", flush=True)


if __name__ == "__main__":
    main()
