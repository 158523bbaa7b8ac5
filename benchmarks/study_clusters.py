"""Do intervals of clustered cases hold the truth, with few and unequal clusters?

    python benchmarks/study_clusters.py [SAMPLES] [CLUSTERS ...] [fresh]
    python benchmarks/study_clusters.py metrics [SAMPLES] [CLUSTERS ...]
    python benchmarks/study_clusters.py random PART SEED DESIGNS SAMPLES [CLUSTERS ...]
    python benchmarks/study_clusters.py rare [SAMPLES]
    python benchmarks/study_clusters.py agreement | speed

Clusters share a part of their scores (intra-cluster correlation), and the scores of
two classifiers are alike. Numbers of cases: "eight" each, "thirty" each, "uniform" from
1 to 20, "wide" from 1 to 30, "poisson", "geometric", "lognormal", "pareto", and
"third", where one cluster has a third of all. Classes: "mixed" with the same share of
positives in all clusters, "differ" (shares from a beta distribution), "apart" (one
class in each cluster), "half" (one class in half of the clusters). Share of 95 %
intervals that hold the truth, and share of p-values below 5 %
for two classifiers that are equally good. ``metrics``: the metrics that cover least and
most. ``random``: designs are drawn; PART is auc, near (AUCs of .9 to .995), metrics,
pairs, line or bands, with "-weights" after it for weighted cases: by case or by
cluster, with coefficients of variation of .5 to 2, of which half go with the scores.
``rare``: few clusters are wholly positive; samples that show none of them, and others.
``agreement`` compares the error with that of the cluster bootstrap, ``speed`` counts a
million rows in 10^5 clusters.
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
    second: float | None = None  # the AUC of the second classifier; None: as good
    by: str = ""  # what is weighted: a "case" or a "cluster"
    spread: float = 0.0  # coefficient of variation of the weights
    goes: float = 0.0  # correlation of log weight and score, or what a cluster shares

    @property
    def sigma(self) -> float:
        return float(np.sqrt(np.log(1 + self.spread**2)))

    def steps(self) -> np.ndarray:
        """How far apart are the classes, by each classifier?"""
        areas = [self.area, self.area if self.second is None else self.second]
        return np.sqrt(2) * ndtri(areas)

    def lifts(self) -> np.ndarray:
        """By how much are scores of the population higher than those of samples?"""
        own = self.alike if self.by == "cluster" else 1 - self.alike
        return self.goes * self.sigma * np.sqrt(own) * np.array([1, 0.6])

    def truths(self, k: int = 0) -> dict[str, float]:
        """Give the metrics of the population, of the first or second classifier."""
        cut = self.cut * self.steps()[0] - self.lifts()[k]
        tpr, fpr = ndtr(self.steps()[k] - cut), ndtr(-cut)
        cells = (self.share * tpr, (1 - self.share) * fpr,
                 self.share * (1 - tpr), (1 - self.share) * (1 - fpr))  # fmt: skip
        return {name: float(metric(trueness.Confusion(*cells)))
                for name, metric in trueness.METRICS.items()
                if name != "flagged"}  # fmt: skip


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
OTHERS = (
    Design("wide", "mixed", 0.0, 0.8, 0.3, 0.5),
    Design("wide", "differ", 0.3, 0.85, 0.3, 0.5),
    Design("wide", "apart", 0.6, 0.8, 0.5, 0.5),
    Design("wide", "half", 0.2, 0.75, 0.2, 0.7),
    Design("geometric", "differ", 0.6, 0.9, 0.4, 0.4),
    Design("lognormal", "apart", 0.3, 0.75, 0.4, 0.6),
    Design("third", "mixed", 0.9, 0.7, 0.25, 0.7),
    Design("third", "apart", 0.4, 0.82, 0.5, 0.5),
)
PAIRED = ("recall", "precision", "f1", "mcc")
SHOWN = ("recall", "specificity", "precision", "npv", "f1", "mcc", "lift",
         "lr_positive", "lr_negative", "diagnostic_odds_ratio")  # fmt: skip


def sizes(rng: np.random.Generator, m: int, kind: str) -> np.ndarray:
    if kind in ("eight", "thirty"):
        return np.full(m, 8 if kind == "eight" else 30)
    if kind in ("uniform", "wide"):
        return rng.integers(1, 21 if kind == "uniform" else 31, m)
    if kind == "poisson":
        return 1 + rng.poisson(7, m)
    if kind == "geometric":
        return rng.geometric(0.1, m)
    if kind in ("lognormal", "pareto"):
        tail = 6 * np.exp(rng.normal(size=m)), 3 * rng.random(m) ** (-1 / 1.5)
        return np.clip(np.round(tail[kind == "pareto"]), 1, 300).astype(int)
    some = rng.integers(2, 12, m - 1)
    return np.append(some, max(2, some.sum() // 2))


def drawn(rng: np.random.Generator, m: int, d: Design):
    """Draw labels, two scores, clusters and weights; each class has two clusters."""
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
    scores = y * d.steps()[:, None] + noise
    mark = shared[0][cluster] if d.by == "cluster" else own[0]
    other = (
        rng.normal(size=m)[cluster] if d.by == "cluster" else rng.normal(size=y.size)
    )
    weight = np.exp(d.sigma * (d.goes * mark + np.sqrt(1 - d.goes**2) * other))
    return y, *scores, cluster, weight


def held(found, truth: float) -> float:
    """Say whether an interval holds the truth; NaN where there is none."""
    return float(found.low <= truth <= found.high) if found.low == found.low else np.nan


def words(cluster, weight, d: Design) -> dict:
    return {"cluster": cluster} | ({"weight": weight} if d.by else {})


def areas(y, a, b, cluster, weight, d: Design) -> dict[str, float]:
    two = trueness.compare_auc(y, {"a": a, "b": b}, **words(cluster, weight, d))
    truth = ndtr(d.steps() / np.sqrt(2))
    return {"AUC": held(two.values[0], truth[0]),
            "two AUCs": held(two.pairs[0].difference, truth[0] - truth[1])}  # fmt: skip


def metrics(y, a, b, cluster, weight, d: Design) -> dict[str, float]:
    cut, truth = d.cut * d.steps()[0], d.truths()
    at = trueness.at_threshold(
        y, a, cut, metrics=list(truth), **words(cluster, weight, d)
    )
    return {k: held(e, truth[k]) for k, e in at.metrics.items()}


def line(y, a, b, cluster, weight, d: Design) -> dict[str, float]:
    step, lift = d.steps()[0], d.lifts()[0]
    true = expit(step * (a - lift) - step**2 / 2 + logit(d.share))
    try:
        found = trueness.calibration_line(y, true, **words(cluster, weight, d))
    except trueness.NotEnoughCases:  # a likelihood without a maximum
        return {"slope": np.nan, "intercept": np.nan}
    return {"slope": held(found.slope, 1), "intercept": held(found.intercept, 0)}


def pairs(y, a, b, cluster, weight, d: Design) -> dict[str, float]:
    out, both, cut = {}, {"a": a, "b": b}, d.cut * d.steps()[0]
    for name in PAIRED:
        two = trueness.compare_metric(
            y, both, metric=name, thresholds=cut, **words(cluster, weight, d)
        )
        gap = d.truths(0)[name] - d.truths(1)[name]
        out[f"two {name}"] = held(two.pairs[0].difference, gap)
    return out


def bands(y, a, b, cluster, weight, d: Design) -> dict[str, float]:
    """Say whether whole bands hold the curve, at 21 points."""
    asked = words(cluster, weight, d) | {"points": 21, "replicates": 200}
    roc = trueness.roc_band(y, a, **asked)
    pr = trueness.precision_recall_band(y, a, **asked)
    step = d.steps()[0]
    odds = d.share / (1 - d.share) * pr.recall / ndtr(ndtri(pr.recall) - step)
    return {
        "ROC band": inside(roc, ndtr(step + ndtri(roc.fpr))),
        "precision-recall band": inside(pr, odds / (1 + odds)),
    }


def inside(band, curve) -> float:
    above, below = curve >= band.low - 1e-9, curve <= band.high + 1e-9
    return float((above & below).all())


PARTS = {"auc": areas, "near": areas, "metrics": metrics, "pairs": pairs, "line": line,
         "bands": bands}  # fmt: skip


def shares(part, d: Design, m: int, samples: int, seed: list[int]) -> dict[str, float]:
    """Which shares of the intervals of many samples hold the truth?"""
    rng = np.random.default_rng(seed)
    each = [part(*drawn(rng, m, d), d) for _ in range(samples)]
    return {k: float(np.nanmean([one[k] for one in each])) for k in each[0]}


def rows(designs: tuple[Design, ...], samples: int, numbers: list[int]):
    for m, (k, d) in product(numbers, enumerate(designs)):
        share: dict[str, float] = {}
        for part in (areas, metrics, line, pairs):
            share |= shares(part, d, m, samples, [2026, m, k])
        least = min(d.truths(), key=lambda name: share[name])
        two = ("two AUCs", *(f"two {name}" for name in PAIRED))
        names = ("AUC", *SHOWN, "slope", "intercept")
        yield (m, *d[:6], *(f"{share[name]:.3f}" for name in names),
               *(f"{1 - share[name]:.3f}" for name in two),
               f"{least} {share[least]:.3f}")  # fmt: skip


def extremes(samples: int, numbers: list[int]):
    """Give the three metrics that cover least, and the one that covers most."""
    for m, (k, d) in product(numbers, enumerate(OTHERS)):
        share = shares(metrics, d, m, samples, [18, m, k])
        named = [f"{n.replace('_', ' ')} {share[n]:.3f}"
                 for n in sorted(share, key=share.__getitem__)]  # fmt: skip
        yield m, *d[:6], ", ".join(named[:3]), named[-1]


def random_design(rng: np.random.Generator, part: str) -> Design:
    def one(*of):
        return of[rng.integers(len(of))]

    area = one(0.6, 0.7, 0.8, 0.9, 0.95, 0.99)
    if part.startswith("near"):
        area = one(0.9, 0.95, 0.97, 0.99, 0.995)
    d = Design(
        one("eight", "thirty", "poisson", "wide", "geometric", "lognormal", "pareto"),
        one("mixed", "differ", "apart", "half"),
        one(0.0, 0.1, 0.3, 0.5, 0.8),
        area,
        one(0.2, 0.3, 0.5, 0.7),
        one(0.3, 0.5, 0.7),
        one(None, round(0.5 + 0.8 * (area - 0.5), 3)),
    )
    if part.endswith("weights"):
        kind = one("case", "cluster"), one(0.5, 1.0, 2.0), one(0.0, 0.0, 0.3, 0.6)
        d = d._replace(**dict(zip(("by", "spread", "goes"), kind, strict=True)))
    return d


def at_random(part: str, seed: int, designs: int, samples: int, numbers: list[int]):
    """Sum up many designs: what covers least, on average and most, and how often."""
    asked = PARTS[part.removesuffix("-weights")]
    yield ("clusters", "answer", "designs", "least", "mean", "most", "below .93",
           "above .97", "design that is covered least")  # fmt: skip
    for m in numbers:
        rng = np.random.default_rng([seed, m])
        some = [random_design(rng, part) for _ in range(designs)]
        found = [shares(asked, d, m, samples, [seed, m, k]) for k, d in enumerate(some)]
        for name in found[0]:
            x = np.array([one[name] for one in found])
            low = some[int(np.nanargmin(x))]
            yield (m, name.replace("_", " "), designs,
                   *(f"{f(x):.3f}" for f in (np.nanmin, np.nanmean, np.nanmax)),
                   int((x < 0.93).sum()), int((x > 0.97).sum()),
                   " ".join(map(str, (*low[:6], *filter(None, low[6:])))))  # fmt: skip


def rare(samples: int):
    """Tell samples without a wholly positive cluster from others."""
    yield ("clusters", "share", "metric", "samples without", "covered", "others")
    for m, share in product((20, 50), (0.1, 0.2)):
        d = Design("thirty", "half", 0.0, 0.9, share, 0.4)
        rng = np.random.default_rng([5, m, int(10 * share)])
        without, each = [], []
        for _ in range(samples):
            sample = drawn(rng, m, d)
            of = np.bincount(sample[3], sample[0]) / np.bincount(sample[3])
            without.append(not (of == 1).any())
            each.append(metrics(*sample, d))
        none = np.array(without)
        for name in ("precision", "f1", "npv", "recall"):
            x = np.array([one[name] for one in each])
            yield (m, share, name, f"{none.mean():.3f}", f"{x[none].mean():.3f}",
                   f"{x[~none].mean():.3f}")  # fmt: skip


def agreement(m: int = 200) -> None:
    """Print the errors by formula and by the cluster bootstrap."""
    for design in DESIGNS:
        y, a, _, cluster, _ = drawn(np.random.default_rng(1), m, design)
        parts = trueness.tally(y, a, by=cluster)
        drawn_again = trueness.cluster_bootstrap(parts, trueness.auc, replicates=1000)
        formula = trueness.auc(y, a, cluster=cluster)
        print(*design[:6], f"{formula.sd:.4f} {drawn_again.sd:.4f}", flush=True)


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
    numbers = [int(w) for w in words if w.isdigit()]
    if words[:1] == ["random"]:
        seed, designs, samples, *some = numbers
        table = at_random(words[1], seed, designs, samples, some or [5, 10, 20, 50])
    elif words[:1] == ["rare"]:
        table = rare(*(numbers or [1000]))
    elif words[:1] == ["metrics"]:
        samples, *some = numbers or [400]
        table = extremes(samples, some or [5, 10, 20])
    else:
        samples, *some = numbers or [300]
        designs = FRESH if "fresh" in words else DESIGNS
        table = rows(designs, samples, some or [5, 10, 20, 50])
    for row in table:
        print("| " + " | ".join(map(str, row)) + " |", flush=True)


if __name__ == "__main__":
    main()
