"""Do intervals and bands of the ranking hold what they promise? By simulation

    python benchmarks/study_ranking.py [SAMPLES] [PART ...]

Parts: precision (average precision in a cohort), few (one to three positives: average
precision and partial areas), band (the whole precision-recall curve), length (how far
it is from the data, in standard errors), missing (labels missing at random given the
score), missing-curves (the curves, and bands without the unlabelled cases),
missing-bands (bands of all cases), differ (size and power of the test that labelled and
unlabelled cases differ), h (the H-measure), plan (power and width that plans promise).
Every line is one design: the share of samples whose interval holds the truth, and its
mean width. Written to results/ranking.json, and shown in docs/maths/ranking.md.
"""

from __future__ import annotations

import json
import sys
import warnings
from collections.abc import Callable, Iterator
from datetime import date
from pathlib import Path
from typing import Any

import numpy as np
from scipy.integrate import quad
from scipy.special import ndtr, ndtri
from scipy.stats import beta

import trueness
from trueness.ranking.likelihood_bands import divergence

HERE = Path(__file__).parent
Line = dict[str, Any]


def normal(
    rng: np.random.Generator, y: np.ndarray, area: float, spread: float
) -> np.ndarray:
    """Normal scores with this AUC; positives spread ``spread`` times as wide."""
    shift = np.sqrt(1 + spread**2) * ndtri(area)
    return rng.normal(size=y.size) * np.where(y, spread, 1.0) + shift * y


def cohort(rng: np.random.Generator, n: int, share: float) -> np.ndarray:
    """Draw labels as they come, until both classes are there."""
    while True:
        y = (rng.random(n) < share).astype(int)
        if 0 < y.sum() < n:
            return y


def covered(found: list[Any], true: float) -> Line:
    low, high = np.array([(e.low, e.high) for e in found]).T
    return {
        "coverage": round(float(np.mean((low <= true) & (true <= high))), 3),
        "too high": round(float(np.mean(low > true)), 3),
        "too low": round(float(np.mean(high < true)), 3),
        "width": round(float(np.mean(high - low)), 3),
    }


def true_precision(area: float, spread: float, share: float) -> float:
    z = ndtri((np.arange(200_000) + 0.5) / 200_000)
    x = np.sqrt(1 + spread**2) * ndtri(area) + spread * z
    tpr, fpr = ndtr(-z), ndtr(-x)
    return float(np.mean(share * tpr / (share * tpr + (1 - share) * fpr)))


def precision(samples: int) -> Iterator[Line]:
    rng = np.random.default_rng(10)
    designs = [(50, 0.2, 0.7, 1.0), (100, 0.1, 0.8, 1.0), (100, 0.1, 0.95, 1.0)]
    designs += [(200, 0.5, 0.7, 1.0), (200, 0.5, 0.95, 1.0), (300, 0.03, 0.6, 1.0)]
    designs += [(500, 0.02, 0.8, 1.0), (500, 0.02, 0.95, 1.5), (1000, 0.05, 0.8, 1.0)]
    for n, share, area, spread in designs:
        true = true_precision(area, spread, share)
        found, known = [], []
        for _ in range(samples):
            y = cohort(rng, n, share)
            t = trueness.tally(y, normal(rng, y, area, spread))
            found.append(trueness.average_precision(t))
            known.append(trueness.average_precision(t, prevalence=share))
        line = {"n": n, "prevalence": share, "AUC": area, "spread": spread}
        fixed = covered(known, true)["coverage"]
        yield {**line, "AP": round(true, 3), **covered(found, true), "known": fixed}


def few(samples: int) -> Iterator[Line]:
    rng = np.random.default_rng(2027)
    for n_pos in (1, 2, 3, 4, 5):
        for n_neg, area, spread, to in (
            (40, 0.75, 1.0, 0.2), (25, 0.9, 1.5, 0.3), (150, 0.85, 1.0, 0.1),
        ):  # fmt: skip
            share = n_pos / (n_pos + n_neg)
            y = np.repeat([1, 0], [n_pos, n_neg])
            aps, areas = [], []
            for _ in range(samples):
                t = trueness.tally(y, normal(rng, y, area, spread))
                aps.append(trueness.average_precision(t, prevalence=share))
                areas.append(trueness.partial_auc(t, fpr=(0, to)))
            shift, true = np.hypot(1, spread) * ndtri(area), (area, spread, share)
            inside = quad(lambda f, d=shift, s=spread: ndtr((d + ndtri(f)) / s), 0, to)[
                0
            ]
            line = {"positives": n_pos, "negatives": n_neg, "AUC": area}
            yield {**line, "of": "AP", **covered(aps, true_precision(*true))}
            yield {**line, "of": "partial AUC", **covered(areas, inside)}


BANDS = (
    # cases, prevalence, AUC, law, scores per standard deviation of the negatives (0: no
    # ties), share of positives by design (0: a cohort)
    (50, 0.3, 0.8, "normal", 0, 0), (50, 0.6, 0.9, "exponential", 0, 0),
    (80, 0.2, 0.75, "mixture", 3, 0), (150, 0.05, 0.9, "exponential", 0, 0),
    (200, 0.4, 0.85, "normal 0.7", 5, 0), (250, 0.1, 0.7, "exponential", 0, 0),
    (400, 0.02, 0.9, "normal", 0, 0), (400, 0.6, 0.65, "normal 1.5", 2, 0),
    (700, 0.04, 0.8, "mixture", 0, 0), (700, 0.25, 0.8, "normal", 1, 0),
    (1500, 0.02, 0.8, "exponential", 0, 0), (2000, 0.1, 0.75, "mixture", 0, 0),
    (2000, 0.35, 0.9, "normal 1.3", 0, 0), (120, 0.1, 0.85, "exponential", 0, 0.4),
    (600, 0.3, 0.75, "mixture", 2, 0.5), (1200, 0.02, 0.9, "normal", 0, 0.25),
    (300, 0.03, 0.85, "normal", 2, 0),
)  # fmt: skip
TAIL = np.geomspace(1e-12, 0.5, 4000)
FPR = np.concatenate([[0.0], TAIL, 1 - TAIL[-2::-1], [1.0]])


def rates(law: str, area: float) -> np.ndarray:
    """Give the true positive rates at ``FPR``; in a mixture 30 % are like negatives."""
    if law == "exponential":
        return FPR ** ((1 - area) / area)
    if law == "mixture":
        shift = np.sqrt(2) * ndtri((area - 0.15) / 0.7)
        return 0.7 * ndtr(shift + ndtri(FPR)) + 0.3 * FPR
    spread = float(law.removeprefix("normal") or 1)
    return ndtr((np.sqrt(1 + spread**2) * ndtri(area) + ndtri(FPR)) / spread)


def band(samples: int) -> Iterator[Line]:
    """Give how often bands hold the whole curve, of precision and recall and ROC."""
    for k, (n, share, area, law, levels, design) in enumerate(BANDS):
        rng, tpr = np.random.default_rng([2027, k]), rates(law, area)
        fpr = ndtr(-np.arange(12, -12, -1 / levels)) if levels else FPR
        corner = np.interp(fpr, FPR, tpr)
        how = {"prevalence": share, "sampling": "case-control"} if design else {}
        held, width = [], []
        for i in range(samples):
            y = np.arange(n) < n * design if design else cohort(rng, n, share)
            u = rng.random(n)
            s = -ndtri(np.clip(np.where(y, np.interp(u, tpr, FPR), u), 1e-300, 1))
            t = trueness.tally(y * 1, np.floor(s * levels) / levels if levels else s)
            pr = trueness.precision_recall_band(t, **how)
            roc = trueness.roc_band(t, rng=i, replicates=300)
            alarms = (1 - share) * np.interp(pr.recall, corner, fpr)
            purity = share * pr.recall / (share * pr.recall + alarms)
            both = (pr, purity), (roc, np.interp(roc.fpr, fpr, corner))
            held.append(
                [np.all((b.low <= v + 1e-9) & (v <= b.high + 1e-9)) for b, v in both]
            )
            width.append([np.mean(b.high - b.low) for b, _ in both])
        (one, two), (wide, other) = (np.mean(x, axis=0).round(3) for x in (held, width))
        yield {
            "n": n, "prevalence": share, "AUC": area, "law": law, "levels": levels,
            "positives by design": design, "precision-recall": one, "width": wide,
            "ROC": two, "its width": other,
        }  # fmt: skip


def length(samples: int) -> Iterator[Line]:
    """How far from the data is the true curve? What ``kappa`` was fitted to."""
    recall = np.linspace(0, 1, 102)[1:]
    for n_pos, times in [(5, 10), (15, 30), (50, 1), (50, 30), (150, 1), (150, 10)]:
        for random in (True, False):
            rng, n = np.random.default_rng(n_pos), n_pos * (times + 1)
            share, far = 1 / (times + 1), []
            fpr = ndtr(-np.sqrt(2) * ndtri(0.8) - ndtri(1 - recall))
            for _ in range(samples):
                y = cohort(rng, n, share) if random else np.arange(n) < n_pos
                s = normal(rng, y, 0.8, 1.0)
                pos, neg = np.sort(s[y == 1])[::-1], np.sort(s[y == 0])
                fp = neg.size - np.searchsorted(neg, pos)
                low, high = np.append(0, fp)[:, None], np.append(fp, neg.size)[:, None]
                ratio = (1 - share) / share if random else neg.size / pos.size
                seen = np.clip(ratio * fpr * pos.size, low, high)
                cases = seen + pos.size if random else neg.size
                q = ratio * fpr / (1 + ratio * fpr) if random else fpr
                found = np.arange(pos.size + 1)[:, None] / pos.size
                lost = pos.size * divergence(found, recall)
                lost = lost + cases * divergence(seen / cases, q)
                far.append(np.sqrt(2 * lost.min(axis=0).max()))
            ends = np.quantile(far, [0.8, 0.9, 0.95, 0.99]).round(2).tolist()
            yield {"positives": n_pos, "n": n, "cohort": random, "quantiles": ends}


MISSING = (
    # cases, prevalence, AUC, slope of the chance of a label, threshold
    (200, 0.3, 0.76, 1.0, 0.5), (400, 0.2, 0.8, 2.0, 0.5), (400, 0.2, 0.9, 1.0, 0.5),
    (1000, 0.1, 0.76, 1.0, 0.5), (2000, 0.3, 0.7, 2.0, 0.5),
    (600, 0.3, 0.8, -1.0, 0.5), (300, 0.4, 0.72, 1.5, 0.3), (150, 0.25, 0.85, 0.7, 0.6),
    (800, 0.08, 0.83, 1.2, 1.0),
)  # fmt: skip
AT_RANDOM = {"unlabelled": "missing at random"}


def partly_labelled(
    rng: np.random.Generator, samples: int, n: int, share: float, area: float,
    steep: float,
) -> Iterator[trueness.Tally]:  # fmt: skip
    """Draw cohorts whose cases are labelled with a chance that depends on the score."""
    for _ in range(samples):
        y = cohort(rng, n, share)
        s = normal(rng, y, area, 1.0)
        seen = rng.random(n) < 1 / (1 + np.exp(-steep * (s - 0.5)))
        if len(set(y[seen])) == 2:
            yield trueness.tally(np.where(seen, y, np.nan), s)


def missing(samples: int) -> Iterator[Line]:
    rng = np.random.default_rng(17)
    for n, share, area, steep, cut in MISSING:
        out: dict[str, list[Any]] = {
            k: [] for k in ("left out", "AUC", "recall", "spec")
        }
        shift = np.sqrt(2) * ndtri(area)
        for t in partly_labelled(rng, samples, n, share, area, steep):
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", trueness.DoubtfulAssumption)
                out["left out"].append(trueness.auc(t))
            out["AUC"].append(trueness.auc(t, **AT_RANDOM))
            at = trueness.rates(t, cut, **AT_RANDOM)
            out["recall"].append(at.recall)
            out["spec"].append(at.specificity)
        truth = {"left out": area, "AUC": area}
        truth |= {"recall": float(ndtr(shift - cut)), "spec": float(ndtr(cut))}
        line = {"n": n, "prevalence": share, "AUC": area, "slope": steep}
        for name, found in out.items():
            mean = round(float(np.mean([e.value for e in found])), 3)
            true = round(truth[name], 3)
            yield {
                **line,
                "of": name,
                "truth": true,
                "mean": mean,
                **covered(found, truth[name]),
            }


def hold(roc: Any, pr: Any, share: float, shift: float) -> list[bool]:
    """Do the bands hold the whole curves of all cases?"""
    alarms = (1 - share) * ndtr(-shift - ndtri(1 - pr.recall))
    precision = share * pr.recall / (share * pr.recall + alarms)
    return [
        bool(np.all((band.low <= true + 1e-9) & (true <= band.high + 1e-9)))
        for band, true in ((roc, ndtr(shift + ndtri(roc.fpr))), (pr, precision))
    ]


def missing_bands(samples: int) -> Iterator[Line]:
    """How often do bands for labels missing at random hold the whole curve?"""
    rng = np.random.default_rng(23)
    for n, share, area, steep, _ in MISSING:
        held, wide, shift = [], [], np.sqrt(2) * ndtri(area)
        for k, t in enumerate(partly_labelled(rng, samples, n, share, area, steep)):
            asked = {**AT_RANDOM, "rng": k, "replicates": 200}
            roc = trueness.roc_band(t, **asked)
            pr = trueness.precision_recall_band(t, **asked)
            held.append(hold(roc, pr, share, shift))
            wide.append([np.mean(b.high - b.low) for b in (roc, pr)])
        names = "ROC band", "PR band", "ROC width", "PR width"
        means = np.concatenate([np.mean(held, axis=0), np.mean(wide, axis=0)]).round(3)
        yield {
            "n": n, "prevalence": share, "AUC": area, "slope": steep,
            **dict(zip(names, means.tolist(), strict=True)),
        }  # fmt: skip


def missing_curves(samples: int) -> Iterator[Line]:
    """Where are the curves, labels missing; how often do bands of the others hold?"""
    rng = np.random.default_rng(19)
    for n, share, area, steep, _ in MISSING[:5]:
        shift, places = np.sqrt(2) * ndtri(area), []
        for k, t in enumerate(partly_labelled(rng, samples, n, share, area, steep)):
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", trueness.DoubtfulAssumption)
                place = [
                    at
                    for how in ({}, AT_RANDOM)
                    for curve in [trueness.roc(t, **how)]
                    for pr in [trueness.precision_recall(t, **how)]
                    for at in (
                        np.interp(0.2, curve.fpr, curve.tpr),
                        np.interp(0.5, pr.recall, pr.precision),
                    )
                ]
            roc = trueness.roc_band(t, rng=k, replicates=200)
            pr = trueness.precision_recall_band(t)
            places.append(place + hold(roc, pr, share, shift))
        true = 0.5 * share / (0.5 * share + (1 - share) * float(ndtr(-shift)))
        names = "tpr left out", "precision left out", "tpr", "precision"
        names += "ROC band left out", "PR band left out"
        yield {
            "n": n, "prevalence": share, "AUC": area, "slope": steep,
            "true tpr at 0.2": round(float(ndtr(shift + ndtri(0.2))), 3),
            "true precision at 0.5": round(true, 3),
            **dict(zip(names, np.mean(places, axis=0).round(3).tolist(), strict=True)),
        }  # fmt: skip


def differ(samples: int) -> Iterator[Line]:
    from trueness.ranking.verification import difference

    rng = np.random.default_rng(71)
    how: dict[str, Callable[[np.ndarray], np.ndarray]] = {
        "by lot": lambda s: np.full(s.shape, 0.5),
        "higher scores": lambda s: 1 / (1 + np.exp(-s)),
        "extreme scores": lambda s: np.where(np.abs(s) > 1, 0.8, 0.4),
    }
    for n in (20, 60, 200):
        for name, chance in how.items():
            for ties in (False, True):
                p = []
                for _ in range(2 * samples):
                    s = rng.normal(size=n)
                    s = np.round(s) if ties else s
                    seen = rng.random(n) < chance(s)
                    y = np.where(seen, rng.random(n) < 0.5, np.nan)
                    p.append(
                        difference(trueness.tally(y, s)) if 0 < seen.sum() < n else 1
                    )
                found = round(float(np.mean(np.array(p) < 0.05)), 3)
                yield {"n": n, "labelled": name, "ties": ties, "p below 0.05": found}


def true_h(
    area: float, spread: float, share: float, shapes: tuple[float, float]
) -> float:
    x = np.linspace(-8, 8 + 6 * spread, 4001)
    shift = np.sqrt(1 + spread**2) * ndtri(area)
    fpr, fnr = ndtr(-x), ndtr((x - shift) / spread)
    c = (np.arange(2000) + 0.5) / 2000
    w = beta.pdf(c, *shapes) / 2000
    best = [(k * (1 - share) * fpr + (1 - k) * share * fnr).min() for k in c]
    loss = np.minimum(best, np.minimum(c * (1 - share), (1 - c) * share))
    return float(1 - w @ loss / (w @ np.minimum(c * (1 - share), (1 - c) * share)))


def h(samples: int) -> Iterator[Line]:
    rng = np.random.default_rng(18)
    for n, share, area, spread in [
        (100, 0.3, 0.8, 1.0),
        (100, 0.3, 0.6, 1.0),
        (200, 0.1, 0.8, 1.0),
        (200, 0.1, 0.95, 1.0),
        (500, 0.5, 0.7, 1.0),
        (1000, 0.05, 0.9, 1.0),
        (1000, 0.3, 0.8, 1.0),
        (60, 0.5, 0.9, 1.0),
    ]:
        for name, shapes in (("default", None), ("(2, 2)", (2.0, 2.0))):
            true = true_h(area, spread, share, shapes or (1 + share, 2 - share))
            found = []
            for k in range(max(100, samples // 2)):
                y = cohort(rng, n, share)
                t = trueness.tally(y, normal(rng, y, area, spread))
                found.append(
                    trueness.h_measure(t, severity=shapes, rng=k, replicates=150)
                )
            mean = round(float(np.mean([e.value for e in found])), 3)
            line = {"n": n, "prevalence": share, "AUC": area, "severity": name}
            yield {**line, "H": round(true, 3), "mean": mean, **covered(found, true)}


def plan(samples: int) -> Iterator[Line]:
    """Give what plans promise, and what new samples of that size show."""
    rng = np.random.default_rng(2)

    def shown(what: str, asked: Line, found: Any, ask: Callable[[], Any]) -> Line:
        answers = [ask() for _ in range(samples)]
        null = found.null if found.null == found.null else 0.5
        out = np.mean([not e.low <= null <= e.high for e in answers])
        half = np.mean([(e.high - e.low) / 2 for e in answers])
        return {
            "plan": what, **asked, "n": found.n,
            "power promised": round(found.power, 3),
            "power found": round(float(out), 3),
            "half width promised": round(found.half_width, 4),
            "half width": round(float(half), 4),
        }  # fmt: skip

    areas: list[Line] = [
        {"auc": 0.9, "null": 0.5, "prevalence": 0.5, "power": 0.8},
        {"auc": 0.8, "null": 0.7, "prevalence": 0.2, "power": 0.9},
        {"auc": 0.95, "null": 0.85, "prevalence": 0.1, "power": 0.8},
        {"auc": 0.85, "null": 0.75, "prevalence": 0.3, "power": 0.8,
         "method": "delong"},
        {"auc": 0.8, "null": 0.65, "prevalence": 0.1, "power": 0.8,
         "sampling": "cohort"},
        {"auc": 0.75, "prevalence": 0.5, "half_width": 0.05},
        {"auc": 0.93, "prevalence": 0.15, "half_width": 0.04},
    ]  # fmt: skip
    for asked in areas:
        found = trueness.plan_auc(**asked)
        method, random = found.method, found.sampling == "cohort"

        def one(p: Any = found, method: str = method, random: bool = random) -> Any:
            y = np.repeat([1, 0], [p.n_pos, p.n_neg])
            y = cohort(rng, p.n, p.prevalence) if random else y
            s = normal(rng, y, p.auc, 1.0)
            return trueness.auc(trueness.tally(y, s), method=method)

        yield shown("AUC", asked, found, one)
    for rate, asked in (
        ("recall", {"value": 0.9, "prevalence": 0.1, "null": 0.8, "power": 0.8}),
        ("specificity", {"value": 0.95, "prevalence": 0.4, "half_width": 0.03}),
        ("precision", {"value": 0.6, "recall": 0.8, "prevalence": 0.1,
                       "half_width": 0.1}),
        ("recall", {"value": 0.85, "prevalence": 0.25, "null": 0.7, "power": 0.9}),
        ("recall", {"value": 0.7, "prevalence": 0.05, "half_width": 0.06}),
        ("recall", {"value": 0.97, "prevalence": 0.5, "half_width": 0.03}),
        ("specificity", {"value": 0.98, "prevalence": 0.1, "null": 0.95,
                         "power": 0.8}),
        ("precision", {"value": 0.8, "recall": 0.6, "prevalence": 0.3, "null": 0.65,
                       "power": 0.85}),
        ("precision", {"value": 0.3, "recall": 0.9, "prevalence": 0.02,
                       "half_width": 0.05}),
    ):  # fmt: skip
        plan = trueness.plan_rate(rate, **asked)
        share, tpr = asked["prevalence"], asked.get("recall", asked["value"])
        fpr = 1 - asked["value"]
        if rate == "precision":
            fpr = share * tpr * (1 / asked["value"] - 1) / (1 - share)
        tpr = 0.8 if rate == "specificity" else tpr

        def cut(p: Any = plan, at: tuple[float, ...] = (share, tpr, fpr)) -> Any:
            y = cohort(rng, p.n, at[0])
            flag = rng.random(y.size) < np.where(y == 1, at[1], at[2])
            return trueness.at_threshold(y, flag * 1.0, 0.5, metrics=[p.rate])[p.rate]

        yield shown(rate, asked, plan, cut)
    for asked in (
        {"first": 0.88, "second": 0.8, "prevalence": 0.4, "power": 0.8,
         "correlation": 0.6},
        {"first": 0.92, "second": 0.78, "prevalence": 0.08, "power": 0.8,
         "correlation": 0.7},
        {"first": 0.83, "second": 0.7, "prevalence": 0.15, "power": 0.9,
         "correlation": 0.3},
        {"first": 0.8, "second": 0.8, "prevalence": 0.2, "half_width": 0.1},
    ):  # fmt: skip
        p = trueness.plan_auc_difference(**asked)

        def pair(p: Any = p, asked: Line = asked) -> Any:
            y = np.repeat([1, 0], [p.n_pos, p.n_neg])
            z, rho = rng.normal(size=(2, y.size)), asked.get("correlation", 0.5)
            z[1] = rho * z[0] + np.sqrt(1 - rho**2) * z[1]
            shift = np.sqrt(2) * ndtri([asked["first"], asked["second"]])
            s = z + shift[:, None] * y
            found = trueness.compare_auc(y, {"a": s[0], "b": s[1]})
            return found.pairs[0].difference

        yield shown("difference", asked, p, pair)


PARTS: dict[str, Callable[[int], Iterator[Line]]] = {
    "precision": precision,
    "few": few,
    "band": band,
    "length": length,
    "missing": missing,
    "missing-curves": missing_curves,
    "missing-bands": missing_bands,
    "differ": differ,
    "h": h,
    "plan": plan,
}


def main() -> None:
    words = sys.argv[1:]
    samples = next((int(w) for w in words if w.isdigit()), 400)
    path = HERE / "results" / "ranking.json"
    kept = json.loads(path.read_text())["parts"] if path.exists() else {}
    for name in [w for w in words if w in PARTS] or PARTS:
        kept[name] = []
        for line in PARTS[name](samples):
            kept[name].append(line)
            print(name, *line.values(), flush=True)
    result = {
        "title": "Intervals and bands of the ranking, by simulation",
        "date": date.today().isoformat(),
        "samples": samples,
        "parts": kept,
    }
    path.write_text(json.dumps(result, indent=0) + "\n")


if __name__ == "__main__":
    main()
