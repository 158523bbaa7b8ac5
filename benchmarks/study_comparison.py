"""Do the tests of this library keep their level, and do their intervals cover?

    python benchmarks/study_comparison.py [PART] [SAMPLES]

PART is one of pairs, unpaired, all-equal, many-equal, partial, metrics, margins,
paired-margins, curves, cluster-bands; prints a table for docs/maths/comparison.md or
clusters.md.
Samples come from normal scores of classifiers that are equally good and share part of
their noise;
"wide": their positives spread differently (standard deviations 1 to 2), so that their
curves cross though their areas are equal.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator

import numpy as np
from scipy.special import ndtr, ndtri

import trueness
from trueness import Panel
from trueness.comparison.redraws import drawn_estimate, sided_p
from trueness.counts.resampling import replicates
from trueness.ranking.partial_areas import _area_inside

SEED = 20261115


def panels(
    rng: np.random.Generator,
    samples: int,
    cases: tuple[int, int],
    classifiers: int,
    auc: float,
    *,
    rho: float = 0.5,
    wide: bool = False,
    gain: float = 0.0,
) -> Iterator[Panel]:
    """Draw panels of equally good classifiers; ``gain`` makes the first half better."""
    y = np.repeat([1, 0], cases)
    spread = np.linspace(1, 2, classifiers) if wide else np.ones(classifiers)
    area = np.full(classifiers, auc)
    area[: classifiers // 2] += gain
    shift = np.sqrt(1 + spread**2) * ndtri(area)
    for _ in range(samples):
        shared = rng.normal(size=(y.size, 1)) * np.sqrt(rho)
        z = shared + rng.normal(size=(y.size, classifiers)) * np.sqrt(1 - rho)
        s = np.where(y[:, None] == 1, z * spread + shift, z)
        yield trueness.panel(y, {f"c{k}": s[:, k] for k in range(classifiers)})


def normal_p(statistic: float) -> float:
    return 2 * float(ndtr(-abs(statistic)))


def rejected(p: list[float]) -> str:
    return f"{np.mean(np.array(p) < 0.05):.3f}"


def pairs(samples: int) -> Iterator[list[str]]:
    """Type I error of the test of two, DeLong's with normal quantiles beside it."""
    yield ["positives", "negatives", "shape", "AUC 0.6", "AUC 0.75", "AUC 0.9"]
    rng = np.random.default_rng(SEED)
    for cases in ((2, 20), (2, 100), (3, 30), (5, 30), (5, 100), (10, 30), (50, 100)):
        for wide in (False, True):
            row = [str(cases[0]), str(cases[1]), "wide" if wide else "equal"]
            for auc in (0.6, 0.75, 0.9):
                ours, z, inside = [], [], []
                for p in panels(rng, samples, cases, 2, auc, wide=wide):
                    pair = trueness.compare_auc(p).pairs[0]
                    ours.append(pair.p_value)
                    known = pair.difference.sd > 0
                    z.append(normal_p(pair.statistic) if known else 1.0)
                    inside.append(pair.difference.low <= 0 <= pair.difference.high)
                row.append(f"{rejected(ours)} / {rejected(z)}")
            yield row


def unpaired(samples: int) -> Iterator[list[str]]:
    """Type I error with different cases, and power of large ones."""
    yield ["first", "second", "AUC 0.6", "AUC 0.75", "AUC 0.9", "0.75 against 0.9"]
    rng = np.random.default_rng(SEED)
    sizes = [((2, 20), (2, 20)), ((3, 30), (30, 30)), ((5, 100), (50, 50))]
    for one, two in [*sizes, ((100, 100), (100, 100))]:
        row = [f"{one[0]} + {one[1]}", f"{two[0]} + {two[1]}"]
        for a, b in ((0.6, 0.6), (0.75, 0.75), (0.9, 0.9), (0.75, 0.9)):
            ours, z = [], []
            some = panels(rng, samples, one, 2, a)
            others = panels(rng, samples, two, 2, b)
            for p, q in zip(some, others, strict=True):
                pair = trueness.compare_auc(p["c0"], q["c0"]).pairs[0]
                ours.append(pair.p_value)
                z.append(normal_p(pair.statistic) if pair.difference.sd > 0 else 1.0)
            row.append(f"{rejected(ours)} / {rejected(z)}")
        yield row


Sizes = tuple[tuple[int, tuple[int, int]], ...]
SOME: Sizes = (
    (3, (2, 30)), (3, (10, 30)), (5, (5, 30)), (8, (10, 30)), (10, (10, 30)),
    (10, (20, 40)), (10, (50, 150)), (4, (100, 100)),
)  # fmt: skip
MANY: Sizes = (
    (8, (10, 30)), (9, (10, 30)), (10, (10, 30)), (10, (5, 30)), (10, (3, 30)),
    (10, (2, 30)),
)  # fmt: skip


def all_equal(samples: int, sizes: Sizes = SOME) -> Iterator[list[str]]:
    """Type I error and power of the omnibus test, chi-squared beside it."""
    from scipy.special import chdtrc

    yield ["classifiers", "cases", "AUC 0.6", "AUC 0.75", "AUC 0.9", "half 0.15 better"]
    rng = np.random.default_rng(SEED)
    for k, cases in sizes:
        row = [str(k), f"{cases[0]} + {cases[1]}"]
        for auc, gain in ((0.6, 0.0), (0.75, 0.0), (0.9, 0.0), (0.7, 0.15)):
            found = [
                trueness.compare_auc(p)
                for p in panels(rng, samples, cases, k, auc, gain=gain)
            ]
            wald = [float(chdtrc(f.df, f.statistic)) if f.df else 1.0 for f in found]
            row.append(f"{rejected([f.p_value for f in found])} / {rejected(wald)}")
        yield row


def partial(samples: int) -> Iterator[list[str]]:
    """Type I error of the bootstrap of two partial areas to a false positive rate.

    As ``compare_statistic`` draws and decides, for all replicates at once.
    """
    yield ["cases", "to", "AUC 0.8", "AUC 0.9", "AUC 0.95"]
    for cases in ((30, 30), (60, 60), (30, 120), (200, 200)):
        for to in (0.1, 0.2):
            row = ["{} + {}".format(*cases), str(to)]
            for auc in (0.8, 0.9, 0.95):
                rng = np.random.default_rng([*cases, int(100 * auc), int(100 * to)])
                drawn = enumerate(panels(rng, samples, cases, 2, auc))
                row.append(rejected([same_area(p, to, k) for k, p in drawn]))
            yield row


def same_area(p: Panel, to: float, seed: int) -> float:
    """Give the p-value of equal areas up to a false positive rate, from 500 redraws."""
    _, areas = _area_inside((0, to), None, corrected=False)
    order = np.argsort(-p.rows, axis=0).T

    def gap(neg: np.ndarray, pos: np.ndarray) -> np.ndarray:
        one, two = (areas(neg[:, o], pos[:, o]) for o in order)
        return one - two

    gaps = np.concatenate([gap(*counts) for counts in replicates(p, 500, seed)])
    value = float(gap(p.neg[None], p.pos[None])[0])
    return sided_p(drawn_estimate(value, gaps, 0.95, "bootstrap"), gaps)[1]


def metrics(samples: int) -> Iterator[list[str]]:
    """Coverage of metrics and their differences at a cut, and type I error."""
    yield ["metric", "cases", "value", "difference", "type I error"]
    rng = np.random.default_rng(SEED)
    truth_panel = next(panels(rng, 1, (400_000, 600_000), 2, 0.85))
    for name in ("recall", "precision", "f1", "mcc"):
        truth = trueness.compare_metric(
            truth_panel, name, thresholds=0.7, method="bootstrap", replicates=100
        ).values[0].value  # fmt: skip
        for n in (12, 30, 100, 400):
            held, equal, p = [], [], []
            for _ in range(samples):
                n_pos = min(max(int(rng.binomial(n, 0.4)), 1), n - 1)
                drawn = next(panels(rng, 1, (n_pos, n - n_pos), 2, 0.85))
                found = trueness.compare_metric(
                    drawn, name, thresholds=0.7, method="bootstrap", replicates=1000,
                    rng=rng,
                )  # fmt: skip
                v, pair = found.values[0], found.pairs[0]
                held.append(v.low <= truth <= v.high)
                equal.append(pair.difference.low <= 0 <= pair.difference.high)
                p.append(pair.p_value)
            row = [f"{np.mean(held):.3f}", f"{np.mean(equal):.3f}", rejected(p)]
            yield [name, str(n), *row]


def margins(samples: int) -> Iterator[list[str]]:
    """Type I error of non-inferiority: the first is worse by exactly the margin."""
    yield ["of", "cases", "margin", "p below 0.05"]
    rng = np.random.default_rng(SEED)
    for cases, auc, margin in (
        ((10, 100), 0.75, 0.1), ((20, 40), 0.8, 0.05), ((60, 120), 0.85, 0.05),
        ((100, 100), 0.9, 0.03),
    ):  # fmt: skip
        p = [
            trueness.compare_auc(drawn, margin=margin).pairs[0].p_noninferior
            for drawn in panels(rng, samples, cases, 2, auc, gain=-margin)
        ]
        yield ["AUC", "{} + {}".format(*cases), str(margin), rejected(p)]


METRICS = (
    "recall", "specificity", "accuracy", "precision", "f1", "balanced_accuracy", "mcc",
    "kappa",
)  # fmt: skip


def confused(share: float, tpr: float, fpr: float) -> trueness.Confusion:
    """Give the shares of the four kinds of cases."""
    pos, neg = share, 1 - share
    return trueness.Confusion(
        pos * tpr, neg * fpr, pos * (1 - tpr), neg * (1 - fpr)
    )  # fmt: skip


def worse_by(name: str, share: float, rates: tuple[float, float], margin: float,
             way: float) -> tuple[float, float] | None:  # fmt: skip
    """Give rates at which a metric is less by the margin; ``way`` is the recall's."""
    metric = trueness.metric(name)

    def at(x: float) -> tuple[float, float]:
        return rates[0] * (1 - x * way), rates[1] + x * (1 - way) * (1 - rates[1])

    bound = float(metric(confused(share, *rates))) - margin
    low, high = 0.0, 0.98
    if float(metric(confused(share, *at(high)))) > bound:
        return None
    for _ in range(50):
        x = (low + high) / 2
        above = float(metric(confused(share, *at(x)))) > bound
        low, high = (x, high) if above else (low, x)
    return at(low)


def votes_of(rates: tuple[float, float], rho: float) -> np.ndarray:
    """Give the shares of both, the first, the second and none flagged of a class."""
    x, y = ndtri(np.array(rates))
    u = (np.arange(4000) + 0.5) / 4000
    # given the normal variable of the first, that of the second is normal again
    both = np.mean(ndtr((y - rho * ndtri(u * ndtr(x))) / np.sqrt(1 - rho**2)))
    both *= rates[0]
    one, two = rates[0] - both, rates[1] - both
    return np.maximum([both, one, two, 1 - both - one - two], 0.0)


def paired_margins(samples: int) -> Iterator[list[str]]:
    """Type I error of metrics at the margin, and of no difference; random designs."""
    yield ["metric", "cases", "positives", "correlation", "margin", "rates",
           "not worse", "no difference"]  # fmt: skip
    rng = np.random.default_rng(SEED + 1)
    rows = np.array([[1.0, 1.0], [1.0, 0.0], [0.0, 1.0], [0.0, 0.0]])
    for name in METRICS:
        done = 0
        while done < 6:
            n = int(np.exp(rng.uniform(np.log(50), np.log(1000))))
            share, rho = rng.uniform(0.05, 0.5), rng.choice([0.0, 0.3, 0.6, 0.9])
            margin = rng.uniform(0.02, 0.15)
            rates = rng.uniform(0.5, 0.97), rng.uniform(0.02, 0.4)
            way = {"recall": 1.0, "specificity": 0.0}.get(name, rng.choice([0, 0.5, 1]))
            worse = worse_by(name, share, rates, margin, way)
            if worse is None or worse[0] < 0.05 or worse[1] > 0.95:
                continue
            done += 1
            found = []
            for first in (worse, rates):
                law = [votes_of(r, rho) for r in zip(first, rates, strict=True)]
                cells = np.concatenate([share * law[0], (1 - share) * law[1]])
                p = []
                for c in rng.multinomial(n, cells / cells.sum(), samples):
                    drawn = Panel(["a", "b"], rows, pos=c[:4], neg=c[4:])
                    pair = trueness.compare_metric(
                        drawn, name, margin=margin, method="bootstrap", rng=rng,
                        replicates=1000,
                    ).pairs[0]  # fmt: skip
                    p.append(pair.p_noninferior if first is worse else pair.p_value)
                found.append(rejected(p))
            yield [name, str(n), f"{share:.2f}", f"{rho:g}", f"{margin:.2f}",
                   f"{rates[0]:.2f}, {rates[1]:.2f}", *found]  # fmt: skip


def curves(samples: int) -> Iterator[list[str]]:
    """Better somewhere: level and power beside DeLong's; does the margin hold?"""
    yield ["cases", "AUCs", "shape", "p_better", "p_worse", "DeLong", "margin holds"]
    rng = np.random.default_rng(SEED)
    f = np.linspace(0, 1, 20_001)[1:-1]
    for cases, auc, gain, wide, rho in (
        ((10, 40), 0.75, 0.0, False, 0.5), ((30, 30), 0.8, 0.0, False, 0.5),
        ((100, 100), 0.8, 0.0, False, 0.5), ((200, 200), 0.95, 0.0, False, 0.5),
        ((50, 50), 0.78, 0.1, False, 0.5), ((200, 200), 0.8, 0.05, False, 0.5),
        ((100, 100), 0.8, 0.0, True, 0.5), ((400, 400), 0.8, 0.0, True, 0.5),
        ((15, 60), 0.7, 0.0, False, 0.3), ((25, 25), 0.65, 0.0, False, 0.0),
        ((60, 40), 0.85, 0.0, False, 0.7), ((150, 150), 0.9, 0.0, False, 0.5),
        ((80, 80), 0.75, 0.1, False, 0.5), ((120, 180), 0.74, 0.06, False, 0.8),
        ((150, 150), 0.8, 0.0, True, 0.5),
    ):  # fmt: skip
        found, z = [], []
        for k, p in enumerate(
            panels(rng, samples, cases, 2, auc, wide=wide, gain=gain, rho=rho)
        ):
            found.append(trueness.dominates(p, rng=k, replicates=400))
            z.append(trueness.compare_auc(p).pairs[0].p_value)
        spread = np.array([1, 2]) if wide else np.ones(2)
        shift = np.sqrt(1 + spread**2) * ndtri([auc + gain, auc])
        a, b = ndtr((shift + ndtri(f)[:, None]) / spread).T
        held = np.mean([d.margin >= (b - a).max() for d in found])
        yield [
            f"{cases[0]} + {cases[1]}",
            f"{auc + gain:g}, {auc:g}",
            "cross" if wide else "equal",
            rejected([d.p_better for d in found]),
            rejected([d.p_worse for d in found]),
            rejected(z),
            f"{held:.3f}",
        ]


def cluster_bands(samples: int) -> Iterator[list[str]]:
    """Coverage of whole bands, a sensitivity and the calibration line by clusters."""
    yield ["clusters", "alike", "ROC", "PR", "sensitivity", "slope", "intercept"]
    shift = np.sqrt(2) * ndtri(0.8)

    def line(rng: np.random.Generator, c: np.ndarray, alike: float) -> tuple:
        common = rng.normal(size=(2, c.max() + 1))[:, c]
        x = rng.normal(size=c.size) + 0.7 * common[0]
        y = rng.random(c.size) < 1 / (1 + np.exp(-x - alike * common[1]))
        return y.astype(int), 1 / (1 + np.exp(-x))

    for m in (5, 10, 25, 60):
        for alike in (0.3, 0.7):
            rng = np.random.default_rng(SEED + m)
            many = line(rng, np.arange(10**6), alike)
            truth = trueness.calibration_line(*many)
            held = []
            while len(held) < samples:
                c = np.repeat(np.arange(m), rng.integers(2, 10, m))
                y = (rng.random(c.size) < rng.beta(1, 1, m)[c]).astype(int)
                common = np.sqrt(alike) * rng.normal(size=m)[c]
                s = common + np.sqrt(1 - alike) * rng.normal(size=c.size) + shift * y
                asked = {"cluster": c, "replicates": 120, "points": 21, "rng": rng}
                try:
                    roc = trueness.roc_band(y, s, **asked)
                    pr = trueness.precision_recall_band(y, s, **asked)
                    found = trueness.at_threshold(y, s, 0.6, cluster=c)["recall"]
                    at = trueness.calibration_line(*line(rng, c, alike), cluster=c)
                except trueness.NotEnoughCases:
                    continue
                tpr = ndtr(shift + ndtri(roc.fpr))
                odds = pr.recall / ndtr(ndtri(pr.recall) - shift)
                inside = [
                    (roc.low <= tpr + 1e-9).all() and (tpr <= roc.high + 1e-9).all(),
                    np.all((pr.low - 1e-9 <= odds / (1 + odds))
                           & (odds / (1 + odds) <= pr.high + 1e-9)),
                    found.low <= ndtr(shift - 0.6) <= found.high,
                    at.slope.low <= truth.slope.value <= at.slope.high,
                    at.intercept.low <= truth.intercept.value <= at.intercept.high,
                ]  # fmt: skip
                held.append(inside)
            yield [str(m), f"{alike:g}", *(f"{v:.3f}" for v in np.mean(held, axis=0))]


PARTS = {
    "cluster-bands": (cluster_bands, 100),
    "pairs": (pairs, 1000),
    "unpaired": (unpaired, 500),
    "all-equal": (all_equal, 500),
    "many-equal": (lambda samples: all_equal(samples, MANY), 500),
    "partial": (partial, 400),
    "metrics": (metrics, 500),
    "margins": (margins, 500),
    "paired-margins": (paired_margins, 600),
    "curves": (curves, 400),
}


def main(part: str, samples: int | None = None) -> None:
    study, usual = PARTS[part]
    for k, row in enumerate(study(samples or usual)):
        print("|", " | ".join(row), "|", flush=True)
        if k == 0:
            print("|", " | ".join("---" for _ in row), "|")


if __name__ == "__main__":
    words = sys.argv[1:]
    number = int(words[1]) if len(words) > 1 else None
    for name in [words[0]] if words else PARTS:
        print(f"\n{name}\n")
        main(name, number)
