"""Do intervals of weighted cases hold the truth of the population?

    python benchmarks/study_weights.py [SAMPLES]
    python benchmarks/study_weights.py bands [SAMPLES]
    python benchmarks/study_weights.py validate [SAMPLES]
    python benchmarks/study_weights.py fresh [SAMPLES]
    python benchmarks/study_weights.py fresh parts [SAMPLES]
    python benchmarks/study_weights.py pairs [SAMPLES]
    python benchmarks/study_weights.py random [SAMPLES]
    python benchmarks/study_weights.py unseen [SAMPLES]
    python benchmarks/study_weights.py several [SAMPLES]
    python benchmarks/study_weights.py speed [CASES]
    python benchmarks/study_weights.py lazy [CASES]

Cases of an endless population (30 % positives, normal scores one unit apart; the true
probability of each case is its second score) are drawn with unequal chances, which go
with the score, with something else, with both, or with the class, and are weighted by
one over the chance. The weights of a sample have the coefficient of variation shown.
Share of 95 % intervals that hold the truth; for comparisons of two classifiers that are
equally good, share of p-values below 5 %. ``bands``: whole ROC and precision-recall
bands, and the mean over their grids of pointwise ones, of the band of the reliability
curve (a quarter of the samples) and of the decision curve at six thresholds.
``validate``: a threshold chosen for F1, and what ``validate_threshold`` says of it.
``fresh``: another population, with other chances; ``parts``: there the log loss, the
parts of the Brier score and the reliability curve of scores that are too extreme and
too high, two equally good classifiers, and the partial AUC. ``pairs``: differences of
metrics of two classifiers at a threshold, equally good or not, of cases drawn with
replacement or each by itself (Poisson), as scores and as votes. ``random``: the same of
24 designs drawn at random; ``unseen``: of 24 others, looked at once. ``several``: the
overall test of three and of five that are equally good.
"""

from __future__ import annotations

import sys
from time import process_time

import numpy as np
from scipy.special import expit, logit, ndtr, ndtri

import trueness

FRESH = sys.argv[1:2] == ["fresh"]  # another population, with other chances
PREVALENCE, SHIFT, CUT = (0.15, 1.5, 1.0) if FRESH else (0.3, 1.0, 0.8)
DESIGNS = [("other", 1), ("other", 2), ("both", 1), ("both", 2), ("score", 1),
           ("score", 2), ("class", 2)]  # fmt: skip
if FRESH:
    DESIGNS = [("other", 0.5), ("score", 0.5), ("other", 1.2), ("score", 1.2),
               ("class", 1), ("both", 1.8), ("other", 2.2)]  # fmt: skip
HEAD = ("chance by", "CV", "cases", "AUC", "AP", "partial AUC", "recall", "precision",
        "F1", "Brier", "net benefit", "two AUCs")  # fmt: skip


def drawn(rng: np.random.Generator, design: str, spread: float, n: int):
    """Draw labels, scores of two classifiers and weights."""
    parts = []
    while sum(p[0].size for p in parts) < n:
        m = 5 * n + 200
        y = (rng.random(m) < PREVALENCE).astype(int)
        a, b = (rng.normal(size=m) + SHIFT * y for _ in range(2))
        other = rng.normal(size=m)
        mark = {"other": other, "both": 0.7 * (a + other), "score": a, "class": a}
        sigma = np.sqrt(np.log(1 + spread**2))
        chance = np.exp(-sigma * np.minimum(mark[design], 2.5))
        if design == "class":
            chance = np.where(y == 1, 1.0, 1 / (1 + 6 * spread))
        chance /= chance.max()
        some = rng.random(m) < chance
        parts.append([x[some] for x in (y, a, b, 1 / chance)])
    return [np.concatenate(c)[:n] for c in zip(*parts, strict=True)]


def probability(score):
    """What the first score means: the log-odds are linear in it."""
    odds = np.log(PREVALENCE / (1 - PREVALENCE))
    return expit(odds + SHIFT * (score - SHIFT / 2))


def truths() -> dict[str, float]:
    """Give the numbers of the population, by a fine grid of scores."""
    s = np.linspace(-8, 9, 400_001)
    step = s[1] - s[0]
    pos, neg = (np.exp(-((s - m) ** 2) / 2) / np.sqrt(2 * np.pi) for m in (SHIFT, 0))
    tpr, fpr = ndtr(SHIFT - CUT), ndtr(-CUT)
    hits, alarms = PREVALENCE * tpr, (1 - PREVALENCE) * fpr
    above = PREVALENCE * ndtr(SHIFT - s), (1 - PREVALENCE) * ndtr(-s)
    grid = np.linspace(0, 0.2, 20_001)[1:]
    p = probability(s)
    loss = PREVALENCE * pos * (1 - p) ** 2 + (1 - PREVALENCE) * neg * p**2
    act = np.log(0.4 / 0.6) - np.log(PREVALENCE / (1 - PREVALENCE))
    act = act / SHIFT + SHIFT / 2
    return {
        "AUC": float(ndtr(SHIFT / np.sqrt(2))),
        "AP": float((pos * above[0] / (above[0] + above[1])).sum() * step),
        "partial AUC": float(ndtr(SHIFT + ndtri(grid)).mean() * 0.2),
        "recall": float(tpr),
        "precision": float(hits / (hits + alarms)),
        "F1": float(2 * hits / (hits + alarms + PREVALENCE)),
        "Brier": float(loss.sum() * step),
        "net benefit": float(
            PREVALENCE * ndtr(SHIFT - act) - (1 - PREVALENCE) * ndtr(-act) * 0.4 / 0.6
        ),
    }


def asked(y, a, w) -> dict[str, tuple[float, float]]:
    """Give the intervals of one sample."""
    t, p = trueness.tally(y, a, weight=w), trueness.tally(y, probability(a), weight=w)
    at = trueness.at_threshold(t, CUT, metrics=["recall", "precision", "f1"])
    curve = trueness.decision_curve(p, threshold=[0.4])
    found = {
        "AUC": trueness.auc(t),
        "AP": trueness.average_precision(t),
        "partial AUC": trueness.partial_auc(t, fpr=(0, 0.2), replicates=200),
        "recall": at["recall"],
        "precision": at["precision"],
        "F1": at["f1"],
        "Brier": trueness.brier(p, replicates=20),
    }
    ends = {k: (e.low, e.high) for k, e in found.items()}
    return ends | {"net benefit": (float(curve.low[0]), float(curve.high[0]))}


def rows(samples: int = 200, sizes=(200, 1000)):
    truth = truths()
    for design, spread in DESIGNS:
        for n in sizes:
            rng = np.random.default_rng(8 if FRESH else 7)
            held, rejected, varied = dict.fromkeys(truth, 0), 0, 0.0
            for _ in range(samples):
                y, a, b, w = drawn(rng, design, spread, n)
                varied += w.std() / w.mean() / samples
                for k, (low, high) in asked(y, a, w).items():
                    held[k] += low <= truth[k] <= high
                pair = trueness.compare_auc(y, {"a": a, "b": b}, weight=w).pairs[0]
                rejected += pair.p_value < 0.05
            shares = [f"{held[k] / samples:.3f}" for k in truth]
            yield (design, f"{varied:.1f}", n, *shares, f"{rejected / samples:.3f}")


def within(low, high, truth) -> np.ndarray:
    """Which of these limits hold the truth?"""
    return (low <= truth + 1e-12) & (truth <= high + 1e-12)


def band_shares(y, a, w, slow: bool) -> list[float]:
    """Which shares of the bands of one sample hold the true curves?"""
    t, p = trueness.tally(y, a, weight=w), trueness.tally(y, probability(a), weight=w)
    found = []
    for kind in ("simultaneous", "pointwise"):
        words = {"kind": kind, "replicates": 200}
        roc, pr = (
            trueness.roc_band(t, **words),
            trueness.precision_recall_band(t, **words),
        )
        tpr = ndtr(SHIFT + ndtri(roc.fpr))
        fpr = ndtr(ndtri(pr.recall) - SHIFT)
        hits = PREVALENCE * pr.recall
        inner = (pr.recall > 0.02) & (pr.recall < 1)
        precision = np.divide(hits, hits + (1 - PREVALENCE) * fpr, where=inner)
        for held in (
            within(roc.low, roc.high, tpr),
            within(pr.low, pr.high, precision)[inner],
        ):
            found.append(float(held.all() if kind == "simultaneous" else held.mean()))
    at = np.array([0.1, 0.2, 0.3, 0.4, 0.5, 0.6])
    cut = np.log(at / (1 - at)) - np.log(PREVALENCE / (1 - PREVALENCE)) + SHIFT**2 / 2
    worth = PREVALENCE * ndtr(SHIFT - cut / SHIFT)
    worth -= (1 - PREVALENCE) * ndtr(-cut / SHIFT) * at / (1 - at)
    curve = trueness.decision_curve(p, threshold=at)
    found.append(float(within(curve.low, curve.high, worth).mean()))
    if not slow:
        return [*found, np.nan]
    r = trueness.reliability(p, replicates=200)
    held = within(r.confidence_low, r.confidence_high, r.score)  # calibrated
    return [*found, float(held[(r.score > 0.1) & (r.score < 0.7)].mean())]


def bands(samples: int) -> None:
    head = ("chance by", "CV", "cases", "ROC band", "precision-recall band",
            "ROC, pointwise", "precision-recall, pointwise", "net benefit",
            "reliability")  # fmt: skip
    print("| " + " | ".join(head) + " |\n|" + " --- |" * len(head))
    for design in ("other", "score"):
        for spread in (0.5, 1, 2):
            for n in (1000, 5000):
                rng, found, varied = np.random.default_rng(3), [], []
                for k in range(samples):
                    y, a, _, w = drawn(rng, design, spread, n)
                    varied.append(w.std() / w.mean())
                    found.append(band_shares(y, a, w, slow=k % 4 == 0))
                shares = " | ".join(f"{x:.3f}" for x in np.nanmean(found, axis=0))
                cv = f"{np.mean(varied):.1f}"
                print(f"| {design} | {cv} | {n} | {shares} |", flush=True)


def extreme(p):
    """Make calibrated probabilities too extreme and too high."""
    return expit(1.4 * logit(p) + 0.3)


def part_truths() -> dict[str, float]:
    """Give log loss and parts of the Brier score of ``extreme`` in the population."""
    s = np.linspace(-8, 9, 400_001)
    pos, neg = (np.exp(-((s - m) ** 2) / 2) / np.sqrt(2 * np.pi) for m in (SHIFT, 0))
    mass = (PREVALENCE * pos + (1 - PREVALENCE) * neg) * (s[1] - s[0])
    p, q = probability(s), extreme(probability(s))
    return {
        "log loss": float(-(mass * (p * np.log(q) + (1 - p) * np.log1p(-q))).sum()),
        "MCB": float((mass * (p - q) ** 2).sum()),
        "DSC": float((mass * (p - PREVALENCE) ** 2).sum()),
        "partial AUC": truths()["partial AUC"],
        "two recalls": 0.0,
        "two F1": 0.0,
    }


def part_ends(y, a, b, w) -> tuple[dict[str, tuple[float, float]], float]:
    """Give intervals of one sample, and the share of the curve that its band holds."""
    q = trueness.tally(y, extreme(probability(a)), weight=w)
    votes = {"a": a >= CUT, "b": b >= CUT}
    brier = trueness.brier(q, replicates=200)
    found = {
        "log loss": trueness.log_loss(q, replicates=20),
        "MCB": brier.mcb,
        "DSC": brier.dsc,
        "partial AUC": trueness.partial_auc(
            trueness.tally(y, a, weight=w), fpr=(0, 0.2), replicates=200
        ),
    }
    for name, metric in (("two recalls", "recall"), ("two F1", "f1")):
        pair = trueness.compare_metric(y, votes, metric, weight=w).pairs[0]
        found[name] = pair.difference
    r = trueness.reliability(q, replicates=200)
    held = within(
        r.confidence_low, r.confidence_high, expit((logit(r.score) - 0.3) / 1.4)
    )
    inner = (r.score > 0.1) & (r.score < 0.7)
    return {k: (e.low, e.high) for k, e in found.items()}, float(held[inner].mean())


def parts(samples: int) -> None:
    truth = part_truths()
    head = ("chance by", "CV", "cases", *truth, "reliability")
    print("| " + " | ".join(head) + " |\n|" + " --- |" * len(head))
    for design, spread in DESIGNS:
        for n in (300, 1000):
            rng, held, varied = np.random.default_rng(9), [], 0.0
            for _ in range(samples):
                sample = drawn(rng, design, spread, n)
                varied += sample[3].std() / sample[3].mean() / samples
                ends, band = part_ends(*sample)
                held.append([*(ends[k][0] <= x <= ends[k][1] for k, x in truth.items()),
                             band])  # fmt: skip
            shares = " | ".join(f"{x:.3f}" for x in np.nanmean(held, axis=0))
            print(f"| {design} | {varied:.1f} | {n} | {shares} |", flush=True)


# prevalence, separations, correlation, chance by, spread, cases, threshold, Poisson?
PAIRS = [
    (0.05, (2.0, 2.0), 0.5, "other", 1.0, 600, 1.6, True),
    (0.08, (1.7, 1.7), 0.3, "score", 0.8, 400, 1.3, False),
    (0.1, (1.8, 1.2), 0.4, "other", 2.0, 500, 1.2, True),
    (0.15, (1.5, 1.5), 0.0, "gap", 1.5, 300, 1.0, False),
    (0.2, (1.2, 1.2), 0.7, "score", 1.5, 800, 0.9, True),
    (0.25, (1.6, 1.0), 0.2, "class", 1.0, 150, 0.9, False),
    (0.3, (1.0, 1.0), 0.5, "both", 2.0, 250, 0.6, True),
    (0.35, (1.4, 1.4), 0.0, "other", 2.5, 2000, 0.7, False),
    (0.4, (0.8, 1.3), 0.6, "both", 1.2, 1000, 0.5, True),
    (0.5, (1.2, 1.2), 0.3, "other", 1.5, 100, 0.6, False),
    (0.5, (1.5, 0.9), 0.5, "gap", 1.0, 200, 0.5, True),
    (0.12, (1.4, 1.4), 0.8, "other", 2.0, 1500, 1.1, False),
]
PAIR_METRICS = ("f1", "mcc", "kappa", "precision", "recall", "markedness", "lift")


def pair_drawn(rng: np.random.Generator, design: tuple):
    """Draw labels, scores of two or more classifiers and weights of one sample."""
    prevalence, shift, together, by, spread, n, _, poisson = design
    m = 40 * n if poisson else 5 * n
    sigma, parts = np.sqrt(np.log(1 + spread**2)), []
    while sum(p[0].size for p in parts) < n:
        y = (rng.random(m) < prevalence).astype(int)
        shared, own = rng.normal(size=m), rng.normal(size=(len(shift), m))
        scores = [
            np.sqrt(together) * shared + np.sqrt(1 - together) * own[k] + shift[k] * y
            for k in range(len(shift))
        ]
        a, b = scores[:2]
        other = rng.normal(size=m)
        marks = {"other": other, "both": 0.7 * (a + other), "score": a, "gap": a - b}
        if by == "class":
            chance = np.where(y == 1, 1.0, 1 / (1 + 6 * spread))
        else:  # between the chances of marks of -2 and 2.5
            chance = np.exp(-sigma * (np.clip(marks[by], -2, 2.5) + 2))
        # Poisson: n cases are expected of a population of 40 n, or of as many as can be
        rate = min(1.0, n / chance.sum()) if poisson else 1.0
        some = rng.random(m) < rate * chance
        parts.append([x[some] for x in (y, *scores, 1 / chance)])
        if poisson:
            break
    most = None if poisson else n
    return [np.concatenate(c)[:most] for c in zip(*parts, strict=True)]


def pair_truth(design: tuple, name: str) -> float:
    """Give the difference of a metric in the population."""
    prevalence, shift, *_, cut, _ = design
    tpr, fpr = ndtr(np.subtract(shift, cut)), np.repeat(ndtr(-cut), 2)
    c = trueness.Confusion(
        tp=prevalence * tpr,
        fp=(1 - prevalence) * fpr,
        fn=prevalence * (1 - tpr),
        tn=(1 - prevalence) * (1 - fpr),
    )
    a, b = trueness.metric(name)(c)
    return float(a - b)


def pair_found(design: tuple, form: str, sample) -> list[bool]:
    """Is the truth held, by each metric, and is p at most 5 %?"""
    y, a, b, w = sample
    cut, given = design[6], {"a": a, "b": b}
    if form == "votes":
        given = {n: (x >= cut) * (cut + 1) for n, x in given.items()}
    p = trueness.panel(y, given, weight=w)
    held, small = [], []
    for m in PAIR_METRICS:
        c = trueness.compare_metric(p, m, thresholds=cut).pairs[0]
        truth = pair_truth(design, m)
        held.append(not (c.difference.low > truth or c.difference.high < truth))
        small.append(c.p_value <= 0.05)
    return held + small


# seed, kinds of chances, numbers of cases, seed of the samples
RANDOM = {
    "random": (1, ("gap", "gap", "other", "score", "both", "class"),
               (100, 150, 200, 300, 500, 800), 1000),
    "unseen": (77, ("gap", "other", "score", "gap", "both", "class"),
               (100, 150, 250, 400, 700), 77000),
}  # fmt: skip


def random_pairs(which: str = "random") -> list[tuple]:
    """Draw 24 designs at random, a third of them by the difference of the scores."""
    seed, kinds, sizes, _ = RANDOM[which]
    rng, found = np.random.default_rng(seed), []
    for k in range(24):
        prevalence, shift = round(rng.uniform(0.06, 0.5), 2), rng.uniform(0.8, 1.9)
        shift = round(shift, 1)
        equal = rng.random() < 0.6
        other = shift if equal else round(shift - rng.uniform(0.2, 0.6), 1)
        together, spread = (
            round(rng.uniform(0, 0.8), 1),
            round(rng.uniform(0.6, 2.2), 1),
        )
        n = int(rng.choice(sizes))
        cut, poisson = round(rng.uniform(0.4, 1.2), 1), bool(rng.random() < 0.5)
        by = kinds[k % len(kinds)]
        design = prevalence, (shift, other), together, by, spread, n, cut, poisson
        found.append(design)
    return found


def pairs(
    samples: int, chosen: list[int], designs=PAIRS, seed=700, forms=("scores", "votes")
) -> None:
    head = ("prevalence", "chance by", "CV", "cases", "form", *PAIR_METRICS, "p")
    print("| " + " | ".join(head) + " |\n|" + " --- |" * len(head))
    for k in chosen or range(len(designs)):
        design, rng = designs[k], np.random.default_rng(seed + k)
        drawn = [pair_drawn(rng, design) for _ in range(samples)]
        cv = np.mean([w.std() / w.mean() for *_, w in drawn])
        for form in forms:
            found = np.mean([pair_found(design, form, x) for x in drawn], axis=0)
            held, small = np.split(found, 2)
            shares = " | ".join(f"{x:.3f}" for x in held)
            most = f"{small.max():.3f}" if design[1][0] == design[1][1] else ""
            what = f"{design[0]} | {design[3]} | {cv:.1f} | {design[5]} | {form}"
            print(f"| {what} | {shares} | {most} |", flush=True)


# the same of several classifiers that are equally good, without their number
SEVERAL = [
    (0.3, 1.2, 0.3, "other", 1.0, 100, 0.7, False),
    (0.4, 1.0, 0.6, "score", 1.5, 200, 0.6, False),
    (0.15, 1.6, 0.5, "other", 2.2, 300, 1.0, True),
    (0.25, 1.3, 0.0, "both", 1.5, 500, 0.8, False),
    (0.2, 1.5, 0.4, "class", 1.0, 300, 0.9, True),
    (0.5, 1.1, 0.5, "gap", 1.0, 400, 0.5, False),
    (0.1, 1.7, 0.2, "score", 0.8, 1000, 1.2, True),
    (0.3, 1.2, 0.7, "other", 2.5, 2000, 0.6, False),
]


def several(samples: int, chosen: list[int]) -> None:
    """How often does the overall test reject equally good classifiers?"""
    head = ("prevalence", "chance by", "CV", "cases", "classifiers", *PAIR_METRICS)
    print("| " + " | ".join(head) + " |\n|" + " --- |" * len(head))
    for k in chosen or range(len(SEVERAL)):
        for many in (3, 5):
            prevalence, shift, *rest = SEVERAL[k]
            design, rng = (prevalence, (shift,) * many, *rest), 900 + k
            rng, small, varied = np.random.default_rng(rng), [], []
            for _ in range(samples):
                y, *scores, w = pair_drawn(rng, design)
                varied.append(w.std() / w.mean())
                p = trueness.panel(
                    y, dict(zip("abcde", scores, strict=False)), weight=w
                )
                small.append([
                    trueness.compare_metric(p, m, thresholds=design[6]).p_value <= 0.05
                    for m in PAIR_METRICS
                ])  # fmt: skip
            shares = " | ".join(f"{x:.3f}" for x in np.mean(small, axis=0))
            what = f"{prevalence} | {design[3]} | {np.mean(varied):.1f} | {design[5]}"
            print(f"| {what} | {many} | {shares} |", flush=True)


def validate(samples: int) -> None:
    for design, spread, n in (("other", 1, 200), ("other", 2, 200), ("score", 1, 200),
                              ("class", 2, 200), ("other", 2, 1000)):  # fmt: skip
        rng, held = np.random.default_rng(5), []
        for _ in range(samples):
            y, a, _, w = drawn(rng, design, spread, n)
            t = trueness.tally(y, a, weight=w)
            v = trueness.validate_threshold(t, "f1", replicates=150)
            tpr, fpr = ndtr(SHIFT - v.point.threshold), ndtr(-v.point.threshold)
            hits, alarms = PREVALENCE * tpr, (1 - PREVALENCE) * fpr
            truth = {
                "f1": 2 * hits / (hits + alarms + PREVALENCE),
                "recall": tpr,
                "precision": hits / (hits + alarms),
                "fpr": fpr,
            }
            found = {**v.metrics, "f1": v.corrected}
            held.append([found[k].low <= x <= found[k].high for k, x in truth.items()])
        print("|", design, spread, n, np.mean(held, axis=0).round(3), "|", flush=True)


def speed(n: int) -> None:
    """Print how many times longer it takes to weigh than to count."""
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, n)
    a, w = rng.normal(size=n) + y, rng.exponential(size=n)
    weights = (w, w.astype(np.float32), rng.integers(1, 5, n))
    for name, score in {
        "float64": a,
        "float32": a.astype(np.float32),
        "float32, probabilities": expit(a).astype(np.float32),
        "two digits": np.round(a, 2),
        "whole numbers": np.round(100 * a).astype(np.int64),
    }.items():
        plain = fastest(trueness.tally, y, score)
        ratios = [fastest(trueness.tally, y, score, weight=v) / plain for v in weights]
        print(name, f"{plain:.3f} s", *(f"{r:.2f}" for r in ratios), flush=True)


def lazy(n: int) -> None:
    """Print the same for Parquet files, opened lazily."""
    from tempfile import TemporaryDirectory

    import duckdb
    import polars as pl

    rng = np.random.default_rng(0)
    y = (rng.random(n) < 0.5).astype(np.int8)
    a, w = rng.normal(size=n) + y, rng.exponential(size=n)
    for name, score in {"two digits": np.round(a, 2), "float32": np.float32(a)}.items():
        with TemporaryDirectory() as folder:
            path = f"{folder}/rows.parquet"
            pl.DataFrame({"y": y, "s": score, "w": w}).write_parquet(path)
            for engine in (pl.scan_parquet, duckdb.read_parquet):
                columns = {"label": "y", "score": "s"}
                plain = fastest(trueness.tally, engine(path), **columns)
                weighed = fastest(trueness.tally, engine(path), **columns, weight="w")
                print(engine.__module__, name, f"{weighed / plain:.2f}", flush=True)


def fastest(f, *args, **words) -> float:
    """Give the least processor time of five calls."""
    found = []
    for _ in range(5):
        start = process_time()
        f(*args, **words)
        found.append(process_time() - start)
    return min(found)


def main() -> None:
    if sys.argv[1:2] in (["speed"], ["lazy"]):
        cases = int(float(sys.argv[2])) if len(sys.argv) > 2 else 10**6
        (speed if sys.argv[1] == "speed" else lazy)(cases)
        return
    if sys.argv[1:2] == ["bands"]:
        bands(int(sys.argv[2]) if len(sys.argv) > 2 else 200)
        return
    if sys.argv[1:2] in (["pairs"], ["random"], ["unseen"], ["several"]):
        samples = int(sys.argv[2]) if len(sys.argv) > 2 else 400
        chosen = [int(k) for k in sys.argv[3:]]
        if sys.argv[1] in RANDOM:
            designs, seed = random_pairs(sys.argv[1]), RANDOM[sys.argv[1]][-1]
            pairs(samples, chosen, designs, seed, ("scores",))
        else:
            (pairs if sys.argv[1] == "pairs" else several)(samples, chosen)
        return
    if sys.argv[1:2] == ["validate"]:
        validate(int(sys.argv[2]) if len(sys.argv) > 2 else 120)
        return
    if sys.argv[1:3] == ["fresh", "parts"]:
        parts(int(sys.argv[3]) if len(sys.argv) > 3 else 150)
        return
    words = sys.argv[2:] if FRESH else sys.argv[1:]
    samples = int(words[0]) if words else 200
    print("| " + " | ".join(HEAD) + " |")
    print("|" + " --- |" * len(HEAD))
    for row in rows(samples, (300,) if FRESH else (200, 1000)):
        print("| " + " | ".join(map(str, row)) + " |", flush=True)


if __name__ == "__main__":
    main()
