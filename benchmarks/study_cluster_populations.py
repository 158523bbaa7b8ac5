"""Do intervals of clusters drawn from a finite population hold its truth?

    python benchmarks/study_cluster_populations.py PART KIND SEED DESIGNS SAMPLES \
[CLUSTERS ...]

PART is pairs, metrics, auc, line or bands; KIND is plain, weighted (chances by cluster,
by case, by both or by class) or tied (the weight of a cluster goes with its scores).
Designs are drawn at random: clusters of 5, 12 or 25 cases on average (equal, Poisson,
log-normal, Pareto or two sizes), truth within clusters, with shares that differ, or
between them. 4,000 clusters are the population, from which samples are drawn with
replacement; its truths are added up, without a formula. Two classifiers share a part
of their errors; the second is as good, or a quarter nearer to chance.
"""

from __future__ import annotations

import sys
from typing import NamedTuple

import numpy as np
from scipy.special import expit, logit, ndtri

import trueness
from trueness._core.logistic import fit_logistic

KINDS = {"plain": 0, "weighted": 1, "tied": 2}
METRICS = ("recall", "specificity", "precision", "npv", "accuracy", "f1")
PAIRED = ("recall", "specificity", "precision", "npv", "f1", "mcc", "kappa")
MANY = 4000  # clusters of the population


class Design(NamedTuple):
    """What is simulated."""

    m: int
    sizes: str
    mean: int
    alike: float  # intra-cluster correlation of the scores
    label: str
    share: float
    area: float
    second: float
    shared: float  # correlation of the errors of both classifiers
    cut: float
    apart: float  # of what a cluster shares, the part that differs by class
    tail: str
    goes_by_size: float  # correlation of a cluster's size and its scores
    by: str = ""
    spread: float = 0.0
    goes: float = 0.0


def designs(seed: int, m: int, kind: str, number: int) -> list[Design]:
    rng = np.random.default_rng([seed, m, KINDS[kind] % 2])

    def one(*of):
        return of[rng.integers(len(of))]

    made = []
    for _ in range(number):
        area = one(0.65, 0.75, 0.85, 0.92, 0.97)
        d = Design(
            m,
            one("equal", "poisson", "lognormal", "pareto", "two"),
            one(5, 12, 25),
            one(0.05, 0.2, 0.4, 0.8),
            one("within", "within", "beta", "between"),
            one(0.1, 0.2, 0.4, 0.6),
            area,
            one(area, 0.5 + 0.75 * (area - 0.5)),
            one(0.3, 0.6, 0.9),
            one(0.3, 0.5, 0.7),
            one(0.0, 0.0, 0.5),
            one("normal", "t4", "skew"),
            one(0.0, 0.0, 0.5),
        )
        if kind == "weighted":
            by = one("cluster", "case", "both", "cluster", "case", "class")
            spread, goes = one(0.5, 1.0, 1.5, 2.0), one(0, 0, 0.3, -0.3, 0.6, -0.6)
            d = d._replace(by=by, spread=spread, goes=goes, goes_by_size=0.0)
        made.append(d)
    if kind == "tied":
        rng = np.random.default_rng([seed, m, 2])
        for k, d in enumerate(made):
            spread, goes = one(1.0, 1.5, 2.0), one(-0.7, -0.5, 0.5, 0.7)
            new = {"alike": one(0.2, 0.4, 0.8), "goes_by_size": 0.0}
            made[k] = d._replace(by="cluster", spread=spread, goes=goes, **new)
    return made


class Population(NamedTuple):
    """Cases in the order of their clusters, and the chances of both."""

    start: np.ndarray
    y: np.ndarray
    scores: np.ndarray
    chance: np.ndarray  # of a cluster
    kept: np.ndarray  # chance of a case, given its cluster
    cut: float


def sizes(rng: np.random.Generator, d: Design) -> np.ndarray:
    if d.sizes == "equal":
        return np.full(MANY, d.mean)
    if d.sizes == "poisson":
        return 1 + rng.poisson(d.mean - 1, MANY)
    if d.sizes == "lognormal":
        size = np.exp(rng.normal(size=MANY)) * d.mean / np.exp(0.5)
    elif d.sizes == "pareto":
        size = rng.random(MANY) ** (-1 / 1.6) * d.mean / (1.6 / 0.6)
    else:
        size = np.where(rng.random(MANY) < 0.2, 3.5 * d.mean, 0.4 * d.mean)
    return np.clip(np.round(size), 1, 40 * d.mean).astype(int)


def noise(rng: np.random.Generator, n: int, tail: str) -> np.ndarray:
    if tail == "normal":
        return rng.normal(size=n)
    if tail == "t4":
        return rng.standard_t(4, size=n) / np.sqrt(2)
    return (rng.gamma(2.0, size=n) - 2) / np.sqrt(2)


def population(d: Design, seed: int) -> Population:
    rng = np.random.default_rng([seed, 1])

    def mixed(x, part, other):
        return part * x + np.sqrt(1 - part**2) * other

    n, effect = sizes(rng, d), rng.normal(size=MANY)
    if d.goes_by_size:
        order = mixed(effect, d.goes_by_size, rng.normal(size=MANY))
        n = np.sort(n)[np.argsort(np.argsort(order))]
    code = np.repeat(np.arange(MANY), n)
    share = np.full(MANY, d.share)
    if d.label == "beta":  # an intra-cluster correlation of .3
        share = rng.beta(7 / 3 * d.share, 7 / 3 * (1 - d.share), MANY)
    elif d.label == "between":
        share = (rng.random(MANY) < d.share).astype(float)
    y = (rng.random(code.size) < share[code]).astype(float)
    both = [effect, mixed(effect, d.shared, rng.normal(size=MANY))]
    own = [noise(rng, code.size, d.tail)]
    own.append(mixed(own[0], d.shared, noise(rng, code.size, d.tail)))
    of_class = rng.normal(size=(2, MANY))
    of_class[1] = mixed(of_class[0], d.shared, of_class[1])
    scores = []
    for k, area in enumerate((d.area, d.second)):
        side = np.where(y > 0, 1, -1) * of_class[k][code]
        alike = np.sqrt(1 - d.apart) * both[k][code] + np.sqrt(d.apart) * side
        rest = np.sqrt(1 - d.alike) * own[k]
        scores.append(y * np.sqrt(2) * ndtri(area) + np.sqrt(d.alike) * alike + rest)
    sigma = np.sqrt(np.log(1 + d.spread**2))
    part = sigma / np.sqrt(2) if d.by == "both" else sigma

    def chances(mark, asked):
        if d.by not in asked:
            return np.ones(mark.size)
        log = part * mixed(mark, d.goes, rng.normal(size=mark.size))
        return np.exp(-np.clip(log, -3 * sigma, 3 * sigma))

    chance = chances(effect, ("cluster", "both"))
    kept = chances(own[0], ("case", "both"))
    if d.by in ("case", "both"):
        kept = np.minimum(kept / np.quantile(kept, 0.9), 1)
    elif d.by == "class":
        kept = np.where(y > 0, 1.0, 0.2)
    cut = d.cut * np.sqrt(2) * ndtri(d.area)
    start = np.append(0, np.cumsum(n))
    return Population(start, y, np.array(scores), chance / chance.sum(), kept, cut)


def drawn(rng: np.random.Generator, p: Population, d: Design):
    """Draw labels, scores and the words cluster= and weight=; two clusters a class."""
    chosen = rng.choice(MANY, d.m, p=p.chance)
    at = [np.arange(*p.start[c : c + 2]) for c in chosen]
    code, at = np.repeat(np.arange(d.m), [a.size for a in at]), np.concatenate(at)
    take = rng.random(at.size) < p.kept[at]
    code, at = code[take], at[take]
    y = p.y[at].astype(int)
    if min(np.unique(code[y == k]).size for k in (0, 1)) < 2:
        return drawn(rng, p, d)
    weight = 1 / (p.chance[chosen][code] * p.kept[at]) / MANY
    words = {"cluster": code} | ({"weight": weight} if d.by else {})
    return y, p.scores[:, at], words


def cells(p: Population, k: int) -> trueness.Confusion:
    y, flag = p.y > 0, p.scores[k] >= p.cut
    parts = (y & flag, ~y & flag, y & ~flag, ~y & ~flag)
    return trueness.Confusion(*(float(x.mean()) for x in parts))


def held(found, truth: float) -> float:
    return float(found.low <= truth <= found.high) if found.low == found.low else np.nan


def pairs(p: Population, d: Design):
    gap = {n: trueness.METRICS[n](cells(p, 0)) - trueness.METRICS[n](cells(p, 1))
           for n in PAIRED}  # fmt: skip

    def ask(y, s, words):
        two, out = {"a": s[0], "b": s[1]}, {}
        for n in PAIRED:
            found = trueness.compare_metric(y, two, metric=n, thresholds=p.cut, **words)
            out[f"two {n}"] = held(found.pairs[0].difference, gap[n])
        return out

    return ask


def metrics(p: Population, d: Design):
    truth = {n: float(trueness.METRICS[n](cells(p, 0))) for n in METRICS}

    def ask(y, s, words):
        at = trueness.at_threshold(y, s[0], p.cut, metrics=list(METRICS), **words)
        return {n: held(e, truth[n]) for n, e in at.metrics.items()}

    return ask


def areas(p: Population, d: Design):
    truth = [trueness.auc(p.y.astype(int), s).value for s in p.scores]

    def ask(y, s, words):
        two = trueness.compare_auc(y, {"a": s[0], "b": s[1]}, **words)
        gap = two.pairs[0].difference
        return {"AUC": held(two.values[0], truth[0]),
                "two AUCs": held(gap, truth[0] - truth[1])}  # fmt: skip

    return ask


def line(p: Population, d: Design):
    step = np.sqrt(2) * ndtri(d.area)

    def odds(s):
        return np.clip(step * s - step**2 / 2 + logit(d.share), -20, 20)

    x = odds(p.scores[0])
    slope = fit_logistic([x], p.y, 1 - p.y).coefficients[1]
    shift = fit_logistic([], p.y, 1 - p.y, offset=x).coefficients[0]

    def ask(y, s, words):
        try:
            found = trueness.calibration_line(y, expit(odds(s[0])), **words)
        except trueness.NotEnoughCases:  # a likelihood without a maximum
            return {"slope": np.nan, "intercept": np.nan}
        ends = held(found.slope, slope), held(found.intercept, shift)
        return dict(zip(("slope", "intercept"), ends, strict=True))

    return ask


def bands(p: Population, d: Design):
    y = p.y > 0
    neg, pos = np.sort(p.scores[0][~y]), np.sort(p.scores[0][y])

    def inside(band, grid, curve):
        ok = (band.low - 1e-9 <= curve) & (curve <= band.high + 1e-9)
        return float(ok[(grid > 0) & (grid < 1)].all())

    def ask(y, s, words):
        asked = words | {"points": 21, "replicates": 200}
        roc = trueness.roc_band(y, s[0], **asked)
        pr = trueness.precision_recall_band(y, s[0], **asked)
        tpr = 1 - np.searchsorted(pos, np.quantile(neg, 1 - roc.fpr)) / pos.size
        fp = neg.size - np.searchsorted(neg, np.quantile(pos, 1 - pr.recall))
        tp = pr.recall * pos.size
        held_pr = inside(pr, pr.recall, tp / (tp + fp))
        return {"ROC band": inside(roc, roc.fpr, tpr), "precision-recall band": held_pr}

    return ask


PARTS = {"pairs": pairs, "metrics": metrics, "auc": areas, "line": line, "bands": bands}


def main() -> None:
    part, kind, *numbers = sys.argv[1:]
    seed, number, samples, *clusters = map(int, numbers)
    print(
        "| clusters | answer | designs | least | mean | most | below .93 | above .97 |"
    )
    print("| --- " * 8 + "|")
    for m in clusters or [10, 20, 50, 100]:
        found = []
        for k, d in enumerate(designs(seed, m, kind, number)):
            p = population(d, seed * 1000 + m * 10 + KINDS[kind] * 50000 + k * 17)
            rng, ask = np.random.default_rng([seed, m, k]), PARTS[part](p, d)
            each = [ask(*drawn(rng, p, d)) for _ in range(samples)]
            found.append({n: np.nanmean([e[n] for e in each]) for n in each[0]})
        for n in found[0]:
            x = np.array([one[n] for one in found])
            told = (f"{f(x):.3f}" for f in (np.min, np.mean, np.max))
            ends = int((x < 0.93).sum()), int((x > 0.97).sum())
            print("|", " | ".join(map(str, (m, n, number, *told, *ends))), "|")


if __name__ == "__main__":
    main()
