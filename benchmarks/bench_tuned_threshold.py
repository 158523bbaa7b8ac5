"""Best threshold against scikit-learn's TunedThresholdClassifierCV: value and time.

Both choose on the same scores of a model that is fitted already; the value is that of
the metric at the chosen threshold on these cases. scikit-learn searches a grid of 100
thresholds by default; with ``thresholds=scores`` it may try every one.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from side_by_side import fastest
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.frozen import FrozenEstimator
from sklearn.metrics import f1_score, make_scorer, matthews_corrcoef
from sklearn.model_selection import TunedThresholdClassifierCV

import trueness

SCORERS = {"f1": f1_score, "mcc": matthews_corrcoef}


class Row(NamedTuple):
    metric: str
    cases: int
    positives: str
    sklearn_value: str
    trueness_value: str
    lost: str
    sklearn_s: str
    trueness_s: str
    ratio: str


class Scores(ClassifierMixin, BaseEstimator):
    """A model whose only feature is its probability."""

    def fit(self, X, y):
        self.classes_ = np.unique(y)
        return self

    def predict_proba(self, X):
        return np.column_stack([1 - X[:, 0], X[:, 0]])

    def predict(self, X):
        return (X[:, 0] >= 0.5).astype(int)


def rows():
    for share, n in ((0.005, 10**5), (0.05, 10**5), (0.3, 10**4), (0.3, 10**5)):
        rng = np.random.default_rng(int(1000 * share) + n)
        y = (rng.random(n) < share).astype(int)
        x = rng.normal(size=n) + 2 * y
        odds = share / (1 - share) * np.exp(2 * x - 2)
        X = (odds / (1 + odds))[:, None]
        model = FrozenEstimator(Scores().fit(X, y))
        for name, function in SCORERS.items():
            tuned = TunedThresholdClassifierCV(
                model, scoring=make_scorer(function), cv="prefit", refit=False
            )
            took = fastest(
                {
                    "sklearn": lambda tuned=tuned, X=X, y=y: tuned.fit(X, y),
                    "trueness": lambda name=name, X=X, y=y: trueness.best_threshold(
                        trueness.tally(y, X[:, 0]), name
                    ),
                },
                turns=2,
            )
            theirs = function(y, X[:, 0] >= tuned.fit(X, y).best_threshold_)
            best = trueness.best_threshold(trueness.tally(y, X[:, 0]), name)
            ours = function(y, X[:, 0] >= best.threshold)
            assert ours >= theirs
            yield Row(
                name,
                n,
                f"{100 * share:g} %",
                f"{theirs:.5f}",
                f"{ours:.5f}",
                f"{ours - theirs:.5f}",
                f"{took['sklearn']:.3f}",
                f"{took['trueness']:.4f}",
                f"{took['sklearn'] / took['trueness']:.0f}",
            )
