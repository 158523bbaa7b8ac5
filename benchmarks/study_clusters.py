"""Do intervals of clustered cases hold the truth, with few and unequal clusters?

    python benchmarks/study_clusters.py [SAMPLES] [CLUSTERS ...]
    python benchmarks/study_clusters.py prevalence [SAMPLES]
    python benchmarks/study_clusters.py agreement | speed

Clusters share a part of their scores (intra-cluster correlation), have 8 cases each or
very unequal numbers (log-normal, 1 to 200), and hold both classes or one only. Normal
scores one unit apart, 40 % positives. Share of 95 % intervals that hold the true AUC
and the true recall at 1/2, and share of p-values below 5 % for two classifiers that are
equally good. ``prevalence``: shares of positives differ between clusters, also in step
with what the scores of a cluster share. ``agreement`` compares the error with that of
the cluster bootstrap, ``speed`` counts a million rows in 10^5 clusters.
"""

from __future__ import annotations

import sys
from itertools import product
from time import perf_counter

import numpy as np
from scipy.special import expit, ndtr

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


UNEQUAL = [("differ", 0.0, "geometric"), ("differ", 0.5, "geometric"),
           ("with level", 0.3, "four"), ("same", 0.9, "geometric"),
           ("differ", 0.3, "one large")]  # fmt: skip


def uneven(rng: np.random.Generator, m: int, positives: str, alike: float, cases: str):
    """Draw labels whose share differs between clusters, two scores, and clusters."""
    number = {
        "four": np.full(m, 4),
        "geometric": rng.geometric(0.12, m),
        "one large": np.append(max(20, 2 * m), rng.integers(1, 8, m - 1)),
    }[cases]
    cluster = np.repeat(np.arange(m), number)
    shared, other = rng.normal(size=(2, m)), rng.normal(size=m)
    mark = {"differ": other, "with level": shared[0], "same": np.zeros(m)}[positives]
    share = expit(-0.6 + 1.2 * mark)
    y = (rng.random(cluster.size) < share[cluster]).astype(int)
    own = rng.normal(size=(2, cluster.size))
    a, b = 0.9 * y + np.sqrt(alike) * shared[:, cluster] + np.sqrt(1 - alike) * own
    if min(np.unique(cluster[y == k]).size for k in (0, 1)) < 2:
        return uneven(rng, m, positives, alike, cases)
    return y, a, b, cluster


def asked(y, a, b, cluster) -> tuple[list, list[float]]:
    """Give AUC, recall, precision and slope, and p-values of two AUCs and recalls."""
    words = {"cluster": cluster}
    both = {"a": a, "b": b}
    areas = trueness.compare_auc(y, both, **words)
    at = trueness.at_threshold(y, a, 0.6, metrics=["recall", "precision"], **words)
    line = trueness.calibration_line(y, expit(a - 0.9), **words)
    two = trueness.compare_metric(y, both, metric="recall", thresholds=0.6, **words)
    found = [areas.values[0], at["recall"], at["precision"], line.slope]
    return found, [areas.pairs[0].p_value, two.pairs[0].p_value]


def prevalence(samples: int) -> None:
    """Print coverage where shares of positives differ between clusters."""
    for design in UNEQUAL:
        y, a, *_ = uneven(np.random.default_rng(1), 200_000, *design)
        at = trueness.at_threshold(y, a, 0.6, metrics=["recall", "precision"])
        line = trueness.calibration_line(y, expit(a - 0.9))
        truth = [trueness.auc(y, a), at["recall"], at["precision"], line.slope]
        for m in (5, 10, 30, 100):
            rng, found = np.random.default_rng(77 + m), []
            for _ in range(samples):
                try:
                    ends, p = asked(*uneven(rng, m, *design))
                except trueness.NotEnoughCases:  # a likelihood without a maximum
                    continue
                pairs = zip(ends, truth, strict=True)
                held = [e.low <= t.value <= e.high for e, t in pairs]
                found.append([*held, *(x < 0.05 for x in p)])
            shares = (f"{x:.3f}" for x in np.mean(found, axis=0))
            print("|", " | ".join(map(str, (m, *design, *shares))), "|", flush=True)


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
    if words[:1] == ["prevalence"]:
        prevalence(int(words[1]) if len(words) > 1 else 220)
        return
    samples, *numbers = [int(w) for w in words] or [300]
    print("| " + " | ".join(HEAD) + " |")
    print("|" + " --- |" * len(HEAD))
    for row in rows(samples, numbers or [5, 10, 20, 50, 200]):
        print("| " + " | ".join(map(str, row)) + " |", flush=True)


if __name__ == "__main__":
    main()
