"""Cases to train and to test on: models are fitted, and their scores are counted."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from sklearn.base import clone
from sklearn.model_selection import StratifiedGroupKFold, StratifiedKFold, check_cv
from sklearn.utils.metaestimators import _safe_split

from trueness._core.arrays import Array, Floats
from trueness._core.checks.errors import InputError
from trueness.counts.values import Panel, Tally
from trueness.data.frames import panel as count_panel
from trueness.data.frames import tally as count_tally
from trueness.estimators.classifiers import scores_of


class Split(NamedTuple):
    """The cases of one fold: to train on, and to test on."""

    train: Array
    test: Array


@dataclass(frozen=True)
class TrainingData:
    """Cases with labels, and what is known of their sampling design.

    ``cluster`` and ``weight`` have an entry for each case, or are None.
    """

    X: Any
    labels: Array
    positive: Any
    cluster: Array | None
    weight: Array | None

    def fit(self, model: Any, train: Array) -> Any:
        """Return a copy of a model, trained on some of the cases."""
        copy = clone(model)
        rows, labels = _safe_split(copy, self.X, self.labels, train)
        if self.weight is None:
            return copy.fit(rows, labels)
        return copy.fit(rows, labels, sample_weight=self.weight[train])

    def score(self, model: Any, response: str, split: Split) -> Floats:
        """Return the scores of the cases to test on, by a model that was trained."""
        rows, _ = _safe_split(model, self.X, None, split.test, split.train)
        scores: Floats = scores_of(model, rows, response, self.positive)
        return scores

    def count_tally(self, score: Floats, cases: Array) -> Tally:
        """Count the scores of one model."""
        tally: Tally = count_tally(
            self.labels[cases],
            score,
            positive=self.positive,
            cluster=_entries_of_cases(self.cluster, cases),
            weight=_entries_of_cases(self.weight, cases),
        )
        return tally

    def count_panel(self, scores: Mapping[str, Floats], cases: Array) -> Panel:
        """Count the scores of several models on the same cases."""
        panel: Panel = count_panel(
            self.labels[cases],
            scores,
            positive=self.positive,
            cluster=_entries_of_cases(self.cluster, cases),
            weight=_entries_of_cases(self.weight, cases),
        )
        return panel

    def splits(self, cv: Any, seed: int | None = None) -> list[Split]:
        """Return folds that hold each case once; shuffled where there is a seed."""
        if isinstance(cv, (int, np.integer)) and not isinstance(cv, bool):
            kind = StratifiedKFold if self.cluster is None else StratifiedGroupKFold
            cv = kind(int(cv), shuffle=seed is not None, random_state=seed)

        splitter = check_cv(cv, self.labels, classifier=True)

        with warnings.catch_warnings():
            # folds that ignore clusters are refused later
            warnings.filterwarnings("ignore", "The groups parameter is ignored")
            pairs = splitter.split(self.X, self.labels, self.cluster)
            splits = [Split(train, test) for train, test in pairs]

        test_cases = np.sort(np.concatenate([split.test for split in splits]))
        each_case_once = np.array_equal(test_cases, np.arange(len(self.labels)))
        if len(splits) < 2 or not each_case_once:
            raise InputError(
                "cross_validate needs folds that hold each case once, such as KFold "
                "or StratifiedGroupKFold. For repeated cross-validation, set repeats.",
                option="cv",
                example=5,
            )

        return splits


def _entries_of_cases(column: Array | None, cases: Array) -> Array | None:
    return None if column is None else column[cases]
