"""How do cuts for groups compare with fairlearn's ThresholdOptimizer?

    python benchmarks/study_peers.py

Needs fairlearn, which Trueness does not: run it in an environment of its own. Accuracy
under a limit on the recall gap; fairlearn makes the recalls equal by randomised cuts,
its accuracy and gap are expectations over its coin, on the same cases.
"""

from __future__ import annotations

import time

import numpy as np

import trueness


def draw(rng, groups, n):
    y, x, who = [], [], []
    for g in range(groups):
        label = rng.random(n) < rng.uniform(0.1, 0.4)
        y.append(label)
        x.append(rng.normal(size=n) + rng.uniform(0.8, 2.0) * label)
        who.append(np.full(n, g))
    return np.concatenate(y).astype(int), np.concatenate(x), np.concatenate(who)


def groups():
    from fairlearn.postprocessing import ThresholdOptimizer
    from sklearn.base import BaseEstimator

    class Score(BaseEstimator):
        """A fitted model whose prediction is its only column."""

        def __sklearn_is_fitted__(self):
            return True

        def fit(self, x, y):
            return self

        def predict(self, x):
            return np.asarray(x)[:, 0]

    print("| groups | cases each | who | accuracy | recall gap | seconds |")
    print("| --- | --- | --- | --- | --- | --- |")
    for count, n in ((2, 1000), (2, 100_000), (5, 10_000), (30, 2_000)):
        y, x, who = draw(np.random.default_rng(count), count, n)
        tallies = {
            str(g): trueness.tally(y[who == g], x[who == g]) for g in range(count)
        }
        for bound in (0.001, 0.02):
            start = time.perf_counter()
            g = trueness.group_thresholds(
                tallies, subject_to=f"recall_gap <= {bound}", time_limit=60
            )
            seconds = time.perf_counter() - start
            gap = g.gaps["recall_gap"].value
            proof = "proved" if g.proved else f"at most {g.bound:.5f}"
            print(
                f"| {count} | {n:,} | group_thresholds, gap <= {bound} ({proof}) | "
                f"{g.value:.5f} | {gap:.4f} | {seconds:.2f} |",
                flush=True,
            )
        start = time.perf_counter()
        peer = ThresholdOptimizer(
            estimator=Score(),
            constraints="true_positive_rate_parity",
            objective="accuracy_score",
            prefit=True,
            predict_method="predict",
        )
        peer.fit(x[:, None], y, sensitive_features=who)
        seconds = time.perf_counter() - start
        p = peer._pmf_predict(x[:, None], sensitive_features=who)[:, 1]
        accuracy = float(np.where(y == 1, p, 1 - p).mean())
        recall = [p[(who == g) & (y == 1)].mean() for g in range(count)]
        print(
            f"| {count} | {n:,} | fairlearn, randomised | {accuracy:.5f} | "
            f"{max(recall) - min(recall):.4f} | {seconds:.2f} |",
            flush=True,
        )


if __name__ == "__main__":
    groups()
