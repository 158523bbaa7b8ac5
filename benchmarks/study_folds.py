"""How often do limits of a cross-validation hold the truth?

    python benchmarks/study_folds.py --samples 300 --cases 100 400 2000 --repeats 10

Cases with normal features and logistic labels; the truth of a model is its value on
100,000 fresh cases. Printed for each model and number of cases: how often the limits
hold the mean of the fold models (AUC, accuracy, Brier score), how often those of nested
cross-validation hold the refitted model, and how often two equally good models differ.
"""

from __future__ import annotations

import argparse
import warnings

import numpy as np
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import StratifiedKFold
from sklearn.neighbors import KNeighborsClassifier

import trueness

FEATURES, SLOPES = 20, np.r_[np.full(5, 0.6), np.zeros(15)]
MODELS = {
    "logistic": lambda: LogisticRegression(max_iter=300),
    "forest": lambda: RandomForestClassifier(50, random_state=0),
    "neighbours": lambda: KNeighborsClassifier(15),
}
METRICS = ("auc", "accuracy", "brier")


def draw(rng: np.random.Generator, n: int) -> tuple[np.ndarray, np.ndarray]:
    """Draw features and labels."""
    x = rng.normal(size=(n, FEATURES))
    return x, (rng.random(n) < 1 / (1 + np.exp(-x @ SLOPES))).astype(int)


def truth(model, x: np.ndarray, y: np.ndarray) -> dict[str, float]:
    """Measure a fitted model on fresh cases."""
    p = model.predict_proba(x)[:, 1]
    t = trueness.tally(y, p)
    return {
        "auc": trueness.auc(t).value,
        "accuracy": float(np.mean((p >= 0.5) == y)),
        "brier": float(np.mean((p - y) ** 2)),
    }


def study(name: str, n: int, samples: int, repeats: int) -> str:
    """Draw the event, and count."""
    rng, make = np.random.default_rng(n), MODELS[name]
    fresh = draw(rng, 100_000 if name == "logistic" else 10_000)
    held = {m: 0 for m in METRICS}
    refitted = dict(held)
    for k in range(samples):
        x, y = draw(rng, n)
        found = trueness.cross_validate(
            make(), x, y, metrics=METRICS, repeats=repeats, rng=k
        )
        parts = [
            truth(make().fit(x[train], y[train]), *fresh)
            for train, _ in StratifiedKFold(5).split(x, y)
        ]
        whole = truth(make().fit(x, y), *fresh)
        for m in METRICS:
            e, mean = found.values[m], np.mean([p[m] for p in parts])
            held[m] += e.low <= mean <= e.high
            if found.refitted is not None:
                e = found.refitted[m]
                refitted[m] += e.low <= whole[m] <= e.high
    cells = [held[m] / samples for m in METRICS]
    cells += [refitted[m] / samples for m in METRICS] if repeats else []
    return f"| {name} | {n} | " + " | ".join(f"{v:.3f}" for v in cells) + " |"


def main() -> None:
    """Print a row for each model and number of cases."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--samples", type=int, default=300)
    parser.add_argument("--repeats", type=int, default=0)
    parser.add_argument("--cases", type=int, nargs="+", default=[100, 400, 2000])
    parser.add_argument("--models", nargs="+", default=list(MODELS))
    asked = parser.parse_args()
    warnings.simplefilter("ignore")
    print("| model | cases | AUC | accuracy | Brier | refitted: AUC | acc. | Brier |")
    print("|---|---|---|---|---|---|---|---|")
    for name in asked.models:
        for n in asked.cases:
            print(study(name, n, asked.samples, asked.repeats), flush=True)


if __name__ == "__main__":
    main()
