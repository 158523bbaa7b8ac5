"""How often do the limits hold the truth? One study for every measure and design.

    python benchmarks/coverage.py --measure auc --design clusters --samples 2000
    python benchmarks/coverage.py --all --out benchmarks/coverage.csv

A sample of the design is drawn and counted, the library is asked for the measure, and
its interval holds the true value or not. ``--measure`` and ``--design`` take names, or
parts of names, with commas between them. Cells that the file holds already, with as
many samples, are not run again.

Scores of both classes are normal with a standard deviation of one (of positives ``sd``)
and then turned into the probabilities that a calibrated classifier would give, so that
every measure has a meaning. Weights and clusters leave the shape of both classes as it
is, so the truth of a measure is its value on a fine grid of the two densities: no
formula is needed, and no second simulation. Of two classifiers the second has an AUC
that is less by .04.
"""

from __future__ import annotations

import argparse
import csv
import math
import os
import time
import warnings
import zlib
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from scipy.special import expit, ndtr, ndtri

import trueness
from trueness.metrics.intervals import estimates

AT_RANDOM = {"unlabelled": "missing at random"}
CASE_CONTROL = {"sampling": "case-control", "prevalence": 0.1}
# of the noise of two classifiers in one case
ALIKE = 0.6


@dataclass(frozen=True)
class Design:
    """How are the cases drawn, and how well does the classifier rank them?"""

    n: int = 300
    auc: float = 0.8
    prevalence: float = 0.3
    cv: float = 0.0  # coefficient of variation of the weights
    with_score: float = 0.0  # correlation of their logarithm with the score
    clusters: int = 0  # of ten cases on average, drawn as wholes
    icc: float = 0.3  # correlation of scores, and of labels, within a cluster
    sd: float = 1.0  # standard deviation of the scores of positives
    words: dict[str, Any] = field(default_factory=dict)

    @property
    def means(self) -> tuple[float, float]:
        """Return the mean of the positives, by both classifiers."""
        root = math.sqrt(1 + self.sd**2)
        return root * ndtri(self.auc), root * ndtri(self.auc - 0.04)

    def chance(self, x: Any, mean: float) -> Any:
        """Turn a normal score into the probability of being positive."""
        odds = math.log(self.prevalence / (1 - self.prevalence))
        return expit(odds + mean * x - mean**2 / 2)

    @property
    def cut(self) -> float:
        """Flag cases nearer to the mean of the positives than to that of the others."""
        return float(self.chance(0.6 * self.means[0], self.means[0]))


class Data(NamedTuple):
    """A sample: labels, the scores of two classifiers, the words of its design."""

    y: Any
    scores: list[Any]
    words: dict[str, Any]


def draw(d: Design, rng: np.random.Generator) -> Data:
    """Draw a sample of a design."""
    words = dict(d.words)
    n, cluster = d.n, None
    if d.clusters:
        # sizes of one to many: a geometric number of cases, ten on average
        size = rng.geometric(0.1, d.clusters)
        cluster, n = np.repeat(np.arange(d.clusters), size), int(size.sum())
        words["cluster"] = cluster
    y = labels(d, n, cluster, rng)
    shared, own = (noise(d, n, cluster, rng) for _ in range(2))
    second = ALIKE * shared + math.sqrt(1 - ALIKE**2) * own
    if d.cv:
        words["weight"] = weights(d, shared, cluster, rng)
    positive = y
    if d.words == AT_RANDOM:
        # high scores are verified more often
        known = rng.random(n) < 0.2 + 0.8 * ndtr(shared + d.means[0] * y - 0.5)
        y = np.where(known, y, np.nan)
    scale = np.where(positive == 1, d.sd, 1.0)
    scores = zip((shared, second), d.means, strict=True)
    return Data(y, [d.chance(scale * x + m * positive, m) for x, m in scores], words)


def labels(d: Design, n: int, cluster: Any, rng: np.random.Generator) -> Any:
    """Give labels: by design, by lot, or alike within a cluster."""
    if d.words == CASE_CONTROL:
        return (np.arange(n) < n // 2).astype(float)
    if cluster is None:
        return (rng.random(n) < d.prevalence).astype(float)
    # a threshold on a normal variable that cases of a cluster share in part
    return (noise(d, n, cluster, rng) < ndtri(d.prevalence)).astype(float)


def noise(d: Design, n: int, cluster: Any, rng: np.random.Generator) -> Any:
    """Give normal values of spread one, alike within a cluster."""
    alone = rng.normal(size=n)
    if cluster is None:
        return alone
    together = rng.normal(size=d.clusters)[cluster]
    return math.sqrt(d.icc) * together + math.sqrt(1 - d.icc) * alone


def weights(d: Design, x: Any, cluster: Any, rng: np.random.Generator) -> Any:
    """Give log-normal weights of mean one, which may go with the score, or clusters."""
    sigma, rho = math.sqrt(math.log1p(d.cv**2)), d.with_score
    z = rng.normal(size=x.size if cluster is None else d.clusters)
    if cluster is not None:
        z = z[cluster]
    z = rho * x + math.sqrt(1 - rho**2) * z
    return np.exp(sigma * z - sigma**2 / 2)


def population(d: Design, which: int) -> trueness.Tally:
    """Count the population of a design, on a fine grid of normal scores.

    Weights exp(s z) of normal z that goes with x by r move every density of x by r s.
    """
    moved = d.with_score * math.sqrt(math.log1p(d.cv**2)) * (1.0, ALIKE)[which]
    mean = d.means[which]
    x = np.linspace(min(-6, mean - 6 * d.sd), mean + 6 * d.sd + moved, 20_001)
    pos = np.exp(-(((x - moved * d.sd - mean) / d.sd) ** 2) / 2)
    neg = np.exp(-((x - moved) ** 2) / 2)
    odds = d.prevalence / (1 - d.prevalence)
    weight = np.append(pos / pos.sum() * odds, neg / neg.sum())
    score = np.tile(d.chance(x, mean), 2)
    return trueness.tally(np.repeat([1, 0], x.size), score, weight=weight)


def truth(name: str, d: Design) -> float:
    """Give the value of a measure in the population."""
    one = name.removesuffix("_difference")
    values = [MEASURES[one](population(d, k), d.cut).value for k in (0, 1)]
    return float(values[0] - values[1] if one != name else values[0])


def limits(name: str, data: Data, cut: float) -> tuple[float, float]:
    """Give the interval of a measure in a sample, NaN where it has none."""
    y, (first, second), words = data
    try:
        if name.endswith("_difference"):
            x: Any = trueness.panel(y, {"a": first, "b": second}, **words)
        else:
            x = trueness.tally(y, first, **words)
        found = MEASURES[name](x, cut)
    except (trueness.NotEnoughCases, trueness.InputError):
        return math.nan, math.nan
    return found.low, found.high


# the outcome of a sample: held, the interval below the truth, above it, no answer
HELD, BELOW, ABOVE, NONE = range(4)


def sampled(design: str, truths: dict[str, float], first: int, number: int) -> Any:
    """Draw samples; count outcomes and add up widths, measure by measure."""
    d = DESIGNS[design]
    outcome, width = np.zeros((len(truths), 4), int), np.zeros(len(truths))
    for k in range(first, first + number):
        # every measure of a design sees the same samples, in whichever run
        data = draw(d, np.random.default_rng([zlib.crc32(design.encode()), k]))
        for j, (name, true) in enumerate(truths.items()):
            low, high = limits(name, data, d.cut)
            kind = BELOW if high < true else ABOVE if low > true else HELD
            outcome[j, NONE if math.isnan(low) else kind] += 1
            width[j] += 0.0 if math.isnan(low) else high - low
    return outcome, width


def study(design: str, measures: list[str], samples: int, pool: Any) -> list[list[Any]]:
    """Give the rows of a design."""
    part = max(1, samples // (4 * (os.cpu_count() or 1)))
    truths = {m: truth(m, DESIGNS[design]) for m in measures}
    # a log loss may be infinite: scores that round to 1 are then wrong for some cases
    truths = {m: value for m, value in truths.items() if math.isfinite(value)}
    jobs = [
        pool.submit(sampled, design, truths, k, min(part, samples - k))
        for k in range(0, samples, part)
    ]
    outcome, width = map(sum, zip(*(job.result() for job in jobs), strict=True))
    rows = []
    for (name, true), counts, wide in zip(truths.items(), outcome, width, strict=True):
        some = int(counts[:NONE].sum())
        shares = [f"{c / some:.4f}" if some else "" for c in counts[:NONE]]
        mean = f"{wide / some:.5f}" if some else ""
        rows.append([design, name, samples, f"{true:.6f}", *shares, mean, counts[NONE]])
    return rows


COLUMNS = "design measure samples truth coverage below above width none"


def chosen(words: str, names: Any) -> list[str]:
    """Choose by name, or by a part of it."""
    found = []
    for word in words.split(","):
        found += [word] if word in names else [n for n in names if word in n]
    return list(dict.fromkeys(found))


def main() -> None:
    """Read what is asked, run what is missing, write the file after every design."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    for name in ("--measure", "--design"):
        parser.add_argument(name, default="", help="names, or parts of names")
    parser.add_argument("--samples", type=int, default=1000)
    parser.add_argument("--all", action="store_true", help="all measures and designs")
    parser.add_argument("--out", type=Path, help="a CSV file; goes on where it ended")
    asked = parser.parse_args()
    measures, designs = chosen(asked.measure, MEASURES), chosen(asked.design, DESIGNS)
    if not (asked.all or asked.measure or asked.design):
        parser.error("say --measure, --design or --all")
    rows: dict[tuple[str, str], list[Any]] = {}
    if asked.out and asked.out.exists():
        rows = {(r[0], r[1]): r for r in list(csv.reader(asked.out.open()))[1:]}
    quiet = partial(warnings.simplefilter, "ignore")
    quiet()
    with ProcessPoolExecutor(initializer=quiet) as pool:
        for design in designs:
            start = time.perf_counter()
            done = {m for (d, m), row in rows.items()
                    if d == design and int(row[2]) >= asked.samples}  # fmt: skip
            left = [m for m in measures if m not in done]
            for row in study(design, left, asked.samples, pool) if left else ():
                rows[row[0], row[1]] = row
                print(*row, sep="\t")
            print(f"{design}: {time.perf_counter() - start:.0f} s", flush=True)
            if asked.out:
                kept = [rows.get((d, m)) for d in DESIGNS for m in MEASURES]
                lines = [COLUMNS.split(), *filter(None, kept)]
                with asked.out.open("w", newline="") as file:
                    csv.writer(file, lineterminator="\n").writerows(lines)


def at_cut(name: str) -> Callable[[Any, float], Any]:
    """Ask for a metric of the flagged cases."""
    return lambda t, cut: estimates(t, cut, [trueness.METRICS[name]])[name]


def paired(name: str, p: trueness.Panel, cut: float) -> Any:
    """Ask by how much a metric of the flagged cases differs."""
    return trueness.compare_metric(p, name, thresholds=cut).pairs[0].difference


METRICS = "recall specificity precision npv f1 youden mcc accuracy"
# those that end with "_difference" are asked of two classifiers
MEASURES: dict[str, Callable[[Any, float], Any]] = {
    "auc": lambda t, cut: trueness.auc(t),
    "average_precision": lambda t, cut: trueness.average_precision(t),
    "partial_auc": lambda t, cut: trueness.partial_auc(t, fpr=(0, 0.2)),
    **{name: at_cut(name) for name in METRICS.split()},
    "brier": lambda t, cut: trueness.brier(t),
    "log_loss": lambda t, cut: trueness.log_loss(t),
    "calibration_slope": lambda t, cut: trueness.calibration_line(t).slope,
    "calibration_intercept": lambda t, cut: trueness.calibration_line(t).intercept,
    "auc_difference": lambda p, cut: trueness.compare_auc(p).pairs[0].difference,
    "recall_difference": partial(paired, "recall"),
    "f1_difference": partial(paired, "f1"),
}

DESIGNS = {
    **{
        f"plain n={n} prevalence={p}": Design(n=n, prevalence=p)
        for n, p in ((100, 0.1), (100, 0.5), (300, 0.1), (300, 0.3), (1000, 0.05))
    },
    **{
        f"plain n={n} AUC={a}": Design(n=n, auc=a)
        for n in (100, 300)
        for a in (0.95, 0.98)
    },
    **{
        f"rare n={n} prevalence={p} AUC={a}": Design(n=n, prevalence=p, auc=a)
        for n, p, a in (
            (1000, 0.01, 0.95),
            (1000, 0.02, 0.95),
            (1000, 0.02, 0.98),
            (1000, 0.05, 0.95),
            (1000, 0.05, 0.99),
            (5000, 0.01, 0.99),
        )
    },
    "rare n=1000 prevalence=0.02 sd=2": Design(1000, 0.9, 0.02, sd=2.0),
    "rare n=1000 prevalence=0.05 sd=0.5": Design(1000, 0.9, 0.05, sd=0.5),
    "rare weights CV=1": Design(1000, 0.95, 0.02, cv=1.0),
    "rare clusters 100": Design(1000, 0.95, 0.05, clusters=100),
    "weights CV=0.5": Design(cv=0.5),
    "weights CV=1": Design(cv=1.0),
    "weights CV=0.5 with the score": Design(cv=0.5, with_score=0.5),
    "weights CV=1 with the score": Design(cv=1.0, with_score=0.5),
    "clusters 15": Design(clusters=15),
    "clusters 30": Design(clusters=30),
    "clusters 15 with weights": Design(clusters=15, cv=0.5),
    "clusters 30 with weights": Design(clusters=30, cv=0.5),
    "case-control 50+50": Design(n=100, prevalence=0.1, words=CASE_CONTROL),
    "case-control 150+150": Design(prevalence=0.1, words=CASE_CONTROL),
    "labels at random n=300": Design(words=AT_RANDOM),
    "labels at random n=1000": Design(n=1000, words=AT_RANDOM),
}

if __name__ == "__main__":
    main()
