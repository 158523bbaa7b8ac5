"""Which calibrator has the lowest log loss and Brier score out of sample?

    python benchmarks/run.py calibration

Seven data sets (West Nile with copies of a record kept together, scikit-learn's data
and generators), five model families, validation sets of 50 to 5000 cases, 20 repeats.
Each repeat trains on one part, calibrates on the second, measures on the third. Scores
are kept in ``_data/calibration`` so that the calibrators can be compared again without
training. Log loss clips probabilities at 2^-52 (as scikit-learn does): a calibrator
that says 0 or 1 and errs pays 36 a case.

``excess_percent`` is how far the mean log loss is above that of the best single method
of the cell (a data set, a model, a size), in percent of the latter. Intervals (95 %)
are paired over the repeats. Repeats of a real data set share its cases, so their
variance is widened as Nadeau and Bengio (2003) do, by 1/R + 1/2 in place of 1/R (half
as many cases to measure as to train and calibrate). All cells: study_calibration.csv.
"""

from __future__ import annotations

import csv
import os
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

import trueness

HERE = Path(__file__).parent
CACHE = HERE / "_data" / "calibration"
SHARED = Path(os.environ.get("TRUENESS_SHARED", HERE.parent.parent / "shared"))
WEST_NILE = SHARED / "data" / "west_nile.csv.bz2"
SIZES = (50, 200, 1000, 5000)
REPEATS = 20
EPS = 2.0**-52


class Parts(NamedTuple):
    """Features and labels of three parts: to train, to calibrate, to measure."""

    train: tuple[np.ndarray, np.ndarray]
    validation: tuple[np.ndarray, np.ndarray]
    test: tuple[np.ndarray, np.ndarray]


def split(x: np.ndarray, y: np.ndarray, sizes: tuple[int, int], rng: Any) -> Parts:
    order = rng.permutation(len(y))
    x, y = x[order], y[order]
    a, b = sizes[0], sum(sizes)
    return Parts((x[:a], y[:a]), (x[a:b], y[a:b]), (x[b:], y[b:]))


def west_nile(rng: Any) -> Parts:
    import pandas as pd

    frame = pd.read_csv(WEST_NILE)
    y = (frame.pop("y") == "Yes").to_numpy().astype(int)
    x = frame.to_numpy(dtype=float)
    # copies of a record stay together: a third of the distinct records to each part
    _, group = np.unique(x, axis=0, return_inverse=True)
    part = rng.permutation(np.arange(group.max() + 1) % 3)[group]
    shuffled = rng.permutation(len(y))
    chosen = [shuffled[part[shuffled] == k] for k in range(3)]
    return Parts(*((x[i], y[i]) for i in chosen))


def breast_cancer(rng: Any) -> Parts:
    from sklearn.datasets import load_breast_cancer

    data = load_breast_cancer()
    return split(data.data, 1 - data.target, (170, 200), rng)


def diabetes(rng: Any) -> Parts:
    from sklearn.datasets import load_diabetes

    data = load_diabetes()
    return split(data.data, (data.target > 140).astype(int), (120, 200), rng)


def digits(rng: Any) -> Parts:
    from sklearn.datasets import load_digits

    data = load_digits()
    x = data.data + rng.normal(scale=6, size=data.data.shape)
    return split(x, (data.target % 2).astype(int), (500, 300), rng)


def hastie(rng: Any) -> Parts:
    from sklearn.datasets import make_hastie_10_2

    x, y = make_hastie_10_2(12_000, random_state=int(rng.integers(2**31)))
    return split(x, (y > 0).astype(int), (1000, 5000), rng)


def rare(rng: Any) -> Parts:
    from sklearn.datasets import make_classification

    x, y = make_classification(
        12_000,
        n_features=20,
        n_informative=6,
        n_clusters_per_class=3,
        weights=[0.95],
        flip_y=0.02,
        class_sep=1.2,
        random_state=int(rng.integers(2**31)),
    )
    return split(x, y, (1000, 5000), rng)


def friedman(rng: Any) -> Parts:
    from sklearn.datasets import make_friedman1

    x, z = make_friedman1(12_000, random_state=int(rng.integers(2**31)))
    y = rng.random(z.size) < 1 / (1 + np.exp(-(z - 16) / 2))
    return split(x, y.astype(int), (1000, 5000), rng)


DATA: dict[str, Callable[[Any], Parts]] = {
    "west nile": west_nile,
    "breast cancer": breast_cancer,
    "diabetes": diabetes,
    "digits": digits,
    "hastie": hastie,
    "rare": rare,
    "friedman": friedman,
}
GENERATED = ("hastie", "rare", "friedman")


def models() -> dict[str, Any]:
    from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
    from sklearn.linear_model import LogisticRegression
    from sklearn.naive_bayes import GaussianNB
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler
    from sklearn.svm import LinearSVC

    return {
        "logistic": make_pipeline(StandardScaler(), LogisticRegression(max_iter=300)),
        "bayes": make_pipeline(StandardScaler(), GaussianNB()),
        "forest": RandomForestClassifier(100, random_state=0),
        "boosting": HistGradientBoostingClassifier(random_state=0),
        "svm": make_pipeline(StandardScaler(), LinearSVC(max_iter=3000)),
    }


def predict(model: Any, x: np.ndarray) -> np.ndarray:
    if hasattr(model, "predict_proba"):
        return model.predict_proba(x)[:, 1]
    return model.decision_function(x)


def scores(data: str, model: str, repeat: int) -> dict[str, np.ndarray]:
    """Train and score, or read what was kept."""
    path = CACHE / f"{data}_{model}_{repeat}.npz".replace(" ", "-")
    if not path.exists():
        parts = DATA[data](np.random.default_rng([repeat, len(data)]))
        fitted = models()[model].fit(*parts.train)
        CACHE.mkdir(parents=True, exist_ok=True)
        kept = {}
        for name in ("validation", "test"):
            x, y = getattr(parts, name)
            kept |= {f"{name}_score": predict(fitted, x), f"{name}_label": y}
        np.savez_compressed(path, **kept)
    return dict(np.load(path))


def prepare() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # convergence of the models is not at stake
        for repeat in range(REPEATS):
            for data in DATA:
                for model in models():
                    scores(data, model, repeat)


def methods() -> dict[str, Callable[[Any], Any]]:
    def fit(method: str, **options: Any) -> Callable[[Any], Any]:
        return lambda t: trueness.calibrate(t, method=method, **options)

    return {
        **{name: fit(name) for name in trueness.CALIBRATORS},
        "platt, smoothed": fit("platt", targets="smoothed"),
        "platt, logit": fit("platt", scale="logit"),
        "none": as_is,
    }


def as_is(t: Any) -> Callable[[np.ndarray], np.ndarray]:
    if t.score.min() < 0 or t.score.max() > 1:
        raise trueness.InputError("no probabilities")
    return lambda s: s


def losses(probability: np.ndarray, t: Any) -> tuple[float, float]:
    """Give log loss and Brier score."""
    p = np.clip(probability, EPS, 1 - EPS)
    log = -(t.pos @ np.log(p) + t.neg @ np.log1p(-p)) / t.n
    square = (t.pos @ (1 - p) ** 2 + t.neg @ p**2) / t.n
    return float(log), float(square)


def measure(data: str, model: str) -> dict[tuple[int, str], dict[int, Any]]:
    """Give both losses of every method for each size and repeat."""
    out: dict[tuple[int, str], dict[int, Any]] = {}
    for repeat in range(REPEATS):
        kept = scores(data, model, repeat)
        test = trueness.tally(kept["test_label"], kept["test_score"])
        y, s = kept["validation_label"], kept["validation_score"]
        for size in (n for n in SIZES if n <= y.size):
            if not 0 < y[:size].sum() < size:
                continue  # one class alone cannot calibrate
            t = trueness.tally(y[:size], s[:size])
            for name, fit in methods().items():
                try:
                    found = losses(fit(t)(test.score), test)
                except trueness.InputError:
                    continue  # scores of this model are not on that method's scale
                out.setdefault((size, name), {})[repeat] = found
    return out


class Cell(NamedTuple):
    """One method in one cell, against the method with the lowest mean loss there."""

    data: str
    model: str
    size: int
    method: str
    log_loss: float
    brier: float
    excess_percent: float
    low: float
    high: float
    best: str
    repeats: int


def cells(data: str, model: str) -> Iterator[Cell]:
    from scipy.stats import t as student

    found = measure(data, model)
    for size in sorted({n for n, _ in found}):
        here = {m: r for (n, m), r in found.items() if n == size}
        mean = {m: np.mean(list(r.values()), axis=0) for m, r in here.items()}
        best = min((m for m in here if m != "auto"), key=lambda m: mean[m][0])
        for name, runs in here.items():
            gap = np.array([runs[k][0] - here[best][k][0] for k in runs])
            # test and calibration parts of a real data set overlap between repeats
            overlap = 0 if data in GENERATED else 1
            spread = np.sqrt(gap.var(ddof=1) * (1 / gap.size + overlap / 2))
            half = student.ppf(0.975, gap.size - 1) * spread
            ends = np.array([gap.mean(), gap.mean() - half, gap.mean() + half])
            percent = 100 * ends / mean[best][0]
            yield Cell(
                *(data, model, size, name, *(float(x) for x in mean[name])),
                *(float(x) for x in percent),
                *(best, gap.size),
            )


class Row(NamedTuple):
    size: int
    method: str
    cells: int
    mean_excess_percent: float
    worst_excess_percent: float
    worst_cell: str
    significantly_over_1_percent: int
    mean_brier: float


def rows() -> Iterator[Row]:
    prepare()
    table = [c for d in DATA for m in models() for c in cells(d, m)]
    write_cells(table)
    for size in SIZES:
        for name in methods():
            here = [c for c in table if (c.size, c.method) == (size, name)]
            worst = max(here, key=lambda c: c.excess_percent)
            yield Row(
                size,
                name,
                len(here),
                round(float(np.mean([c.excess_percent for c in here])), 2),
                round(worst.excess_percent, 1),
                f"{worst.data}, {worst.model}",
                sum(c.low > 1 for c in here),
                round(float(np.mean([c.brier for c in here])), 4),
            )


def write_cells(table: list[Cell]) -> None:
    """Keep every cell, for the figure of the documentation and for whoever doubts."""
    path = HERE / "results" / "study_calibration.csv"
    path.parent.mkdir(exist_ok=True)
    with path.open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(Cell._fields)
        for c in table:
            writer.writerow([f"{v:.5g}" if isinstance(v, float) else v for v in c])
