"""Do intervals hold the truth of a population whose cases are drawn unequally?

    python benchmarks/study_weights_population.py [SAMPLES]
    python benchmarks/study_weights_population.py cut [SAMPLES]
    python benchmarks/study_weights_population.py auc [SAMPLES]

An independent look at ``study_weights.py``: a population of a million cases with
scores of heavy tails, whose truths are added up case by case without the package. Cases
are drawn with replacement, with chances that are known and unequal: by a size of their
own (``size``), falling or rising with the score, by class, by class and size, or as a
case-control study whose controls are a stratified sample (strata by the second score,
without replacement). Each is weighted by one over its chance. Share of 95 % intervals
that hold the truth: of areas, losses and the difference of two areas, or (``cut``) of
metrics at a threshold. ``auc`` looks at one area in other populations, too, by the
score interval as it is and without its allowance for heavier cases.
"""

from __future__ import annotations

import sys

import numpy as np
from scipy.special import expit
from scipy.stats import rankdata

import trueness
from trueness.ranking.auc_intervals import AucQuestion, score_interval

# prevalence, separations of the two scores, chance by, spread of the chances
DESIGNS = [
    (0.20, (1.6, 1.2), "size", 0.7),
    (0.12, (2.2, 2.2), "size", 2.2),
    (0.35, (1.2, 1.5), "falling", 0.7),
    (0.25, (2.0, 1.4), "falling", 1.6),
    (0.30, (1.5, 1.5), "rising", 1.2),
    (0.15, (1.8, 1.3), "class", 1.5),
    (0.10, (2.4, 1.9), "class and size", 1.6),
    (0.08, (1.9, 1.9), "case-control", 1.0),
]
SIZES = 100, 300, 1000
CUT = 1.2
# law of the scores, prevalence, separation, chance by, spread of the chances
AUC_DESIGNS = [
    ("logistic", 0.50, 1.0, "rising", 0.6),
    ("normal", 0.20, 2.2, "rising", 1.0),
    ("gumbel", 0.40, 1.5, "rising", 1.4),
    ("logistic", 0.30, 3.0, "falling", 1.2),
    ("normal", 0.15, 1.3, "falling", 0.8),
    ("normal", 0.30, 1.0, "size", 0.5),
    ("gumbel", 0.30, 1.6, "size", 1.5),
    ("normal", 0.10, 1.5, "class", 2.0),
    ("logistic", 0.10, 2.5, "class and size", 1.0),
    ("normal", 0.25, 1.5, "rising by half", 1.5),
    ("gumbel", 0.25, 1.2, "falling by half", 1.5),
    ("normal", 0.30, 1.4, "steps", 1.0),
]
AREAS = "AUC", "two AUCs", "AP", "partial AUC", "Brier", "log loss"
METRICS = ("youden", "mcc", "kappa", "markedness", "lr_negative", "lr_positive", "lift",
           "f1", "recall", "precision", "npv", "accuracy")  # fmt: skip


def population(design: tuple, seed: int):
    """Make a million cases: labels, two scores, and the chance of a draw."""
    prevalence, shift, by, spread = design
    rng, m = np.random.default_rng(seed), 10**6
    y = (rng.random(m) < prevalence).astype(int)
    shared = rng.standard_t(5, m)
    a, b = (0.6 * shared + 0.8 * rng.standard_t(5, m) + d * y for d in shift)
    size = np.clip(rng.normal(size=m), -2.5, 2.5)
    sigma = np.sqrt(np.log(1 + spread**2))
    mark = {"falling": np.clip(a, -2, 2.5), "rising": -np.clip(a, -2, 2.5)}
    chance = np.exp(-sigma * mark.get(by, size if "size" in by else 0 * size))
    if "class" in by:
        chance *= np.where(y == 1, 1 + 3 * spread, 1.0)
    return y, a, b, chance


def ranked(design: tuple, seed: int):
    """Make a million cases with one score each, in other ways."""
    law, prevalence, shift, by, spread = design
    rng, m = np.random.default_rng(seed), 10**6
    y = (rng.random(m) < prevalence).astype(int)
    a = getattr(rng, law)(size=m) + shift * y
    noise = np.clip(rng.normal(size=m), -2.5, 2.5)
    mark = 0 * a if by in ("class", "steps") else noise
    if "ing" in by:  # rising and falling go with the score, in part or in all
        mark = np.clip(a, *np.quantile(a, (0.005, 0.995)))
        mark = (mark - mark.mean()) / mark.std() * (1 if "falling" in by else -1)
        mark = 0.7 * (mark + noise) if "half" in by else mark
    chance = np.exp(-np.sqrt(np.log(1 + spread**2)) * mark)
    if "class" in by:
        chance *= np.where(y == 1, 1 + 3 * spread, 1.0)
    if by == "steps":
        chance = np.array([0.2, 1, 0.4])[np.digitize(a, (0.0, 1.5))]
    return y, a, a, chance


def one_area(samples: int) -> None:
    """How often does the interval of one AUC hold it, and how wide is it?"""
    head = "scores", "AUC", "chance by", "CV", "cases", "covers", "without", "width"
    print("| " + " | ".join(head) + " |\n|" + " --- |" * len(head))
    both = [("t", *d[:1], d[1][0], *d[2:]) for d in DESIGNS] + AUC_DESIGNS
    for k, design in enumerate(both):
        own = k < len(DESIGNS)
        cases = population(DESIGNS[k], 180 + k) if own else ranked(design, 180 + k)
        draw = sampler(design[1:], cases)
        truth = area(*cases[:2])
        for n in SIZES:
            rng, found, varied = np.random.default_rng(700 + k), [], []
            for _ in range(samples):
                at, w = draw(rng, n)
                if not cases[0][at].any():  # no positive: no AUC
                    continue
                varied.append(w.std() / w.mean())
                t = trueness.tally(cases[0][at], cases[1][at], weight=w)
                q = AucQuestion.of(t, 0.95, 0, 0)
                bare = tuple(m._replace(low=0.0, high=0.0) for m in q.missed)
                ends = (score_interval(x)[:2] for x in (q, q._replace(missed=bare)))
                found.append([x for low, high in ends
                              for x in (low <= truth <= high, high - low)])  # fmt: skip
            new, width, old, narrow = np.mean(found, axis=0)
            what = f"{design[0]} | {truth:.3f} | {design[3]} | {np.mean(varied):.1f}"
            print(f"| {what} | {n} | {new:.3f} | {old:.3f} | {width / narrow:.2f} |",
                  flush=True)  # fmt: skip


def area(y, s) -> float:
    n_pos, n_neg = y.sum(), (1 - y).sum()
    return (rankdata(s)[y == 1].sum() - n_pos * (n_pos + 1) / 2) / n_pos / n_neg


def truths(y, a, b) -> dict[str, float]:
    """Add up what is true of the population, without the package."""
    n_pos, n_neg = y.sum(), (1 - y).sum()
    down = y[np.argsort(-a)]
    tp, fp = np.cumsum(down), np.cumsum(1 - down)
    # under the steps up to a false positive rate of .2; scores are distinct
    width = (1 - down) * (fp <= 0.2 * n_neg)
    p = expit(0.9 * a - 1)
    cells = [(v & (y == k)).sum() for v in (a >= CUT, a < CUT) for k in (1, 0)]
    c = trueness.Confusion(*np.array(cells, dtype=np.float64))
    return {
        "AUC": area(y, a),
        "two AUCs": area(y, a) - area(y, b),
        "AP": (down * tp / (tp + fp)).sum() / n_pos,
        "partial AUC": (width * tp).sum() / n_pos / n_neg,
        "Brier": np.mean((p - y) ** 2),
        "log loss": -np.mean(np.log(np.where(y == 1, p, 1 - p))),
    } | {name: float(trueness.METRICS[name](c)) for name in METRICS}


def sampler(design: tuple, cases):
    """Give a function from a generator and a number to a weighted sample."""
    y, _, b, chance = cases
    whole = np.cumsum(chance)
    strata = [y == 1, *((y == 0) & (b >= lo) & (b < hi) for lo, hi in
                        ((1.5, np.inf), (0.5, 1.5), (-np.inf, 0.5)))]  # fmt: skip
    strata = [np.flatnonzero(s) for s in strata]

    def draw(rng: np.random.Generator, n: int):
        if design[2] == "case-control":  # a third cases, the rest a sample of strata
            counts = n // 3, n // 4, n // 4, n - n // 3 - 2 * (n // 4)
            at = [rng.choice(s, k, replace=False, shuffle=False)
                  for s, k in zip(strata, counts, strict=True)]  # fmt: skip
            each = [s.size / k for s, k in zip(strata, counts, strict=True)]
            return np.concatenate(at), np.repeat(each, counts)
        at = np.searchsorted(whole, rng.random(n) * whole[-1])
        return at, 1 / chance[at]

    return draw


def held(y, a, b, w, truth: dict[str, float], cut: bool) -> list[bool]:
    """Does each interval of one sample hold the truth?"""
    t = trueness.tally(y, a, weight=w)
    if cut:
        found = trueness.at_threshold(t, CUT, metrics=METRICS)
    else:
        p = trueness.tally(y, expit(0.9 * a - 1), weight=w)
        pair = trueness.compare_auc(y, {"a": a, "b": b}, weight=w).pairs[0]
        found = {
            "AUC": trueness.auc(t),
            "two AUCs": pair.difference,
            "AP": trueness.average_precision(t),
            "partial AUC": trueness.partial_auc(t, fpr=(0, 0.2)),
            "Brier": trueness.brier(p, replicates=20),
            "log loss": trueness.log_loss(p, replicates=20),
        }
    names = METRICS if cut else AREAS
    return [found[k].low <= truth[k] <= found[k].high for k in names]


def main() -> None:
    cut, alone = (sys.argv[1:2] == [word] for word in ("cut", "auc"))
    words = sys.argv[2:] if cut or alone else sys.argv[1:]
    samples = int(words[0]) if words else 400
    if alone:
        return one_area(samples)
    head = ("prevalence", "chance by", "CV", "cases", *(METRICS if cut else AREAS))
    print("| " + " | ".join(head) + " |\n|" + " --- |" * len(head))
    for k, design in enumerate(DESIGNS):
        cases = population(design, 60 + k)
        truth, draw = truths(*cases[:3]), sampler(design, cases)
        for n in SIZES:
            rng, found, varied = np.random.default_rng(70 + k), [], []
            for _ in range(samples):
                at, w = draw(rng, n)
                varied.append(w.std() / w.mean())
                found.append(held(*(x[at] for x in cases[:3]), w, truth, cut))
            shares = " | ".join(f"{x:.3f}" for x in np.mean(found, axis=0))
            what = f"{design[0]} | {design[2]} | {np.mean(varied):.1f} | {n}"
            print(f"| {what} | {shares} |", flush=True)


if __name__ == "__main__":
    main()
