"""FiDEL on the West Nile file: the paper's protocol, with copies and without.

The file holds 21,260 rows, of which 8,475 are distinct: each trap record is repeated.
22 stratified partitions; 21 classifiers, each trained on a partition of its own; AUC
and prevalence from the other training partitions; the last partition is the test set.
Three ways: the file as it is, distinct rows only, and copies kept in one partition.
For M = 3 to 10, 200 random subsets of M classifiers a split. Kim et al. 2021, Fig. 4.

    WEST_NILE=path/to/west_nile.csv.bz2 python benchmarks/run.py west_nile
"""

from __future__ import annotations

import os
import warnings
from typing import NamedTuple

import numpy as np
import pandas as pd
from sklearn.base import clone
from sklearn.discriminant_analysis import (
    LinearDiscriminantAnalysis,
    QuadraticDiscriminantAnalysis,
)
from sklearn.ensemble import (
    AdaBoostClassifier,
    BaggingClassifier,
    ExtraTreesClassifier,
    GradientBoostingClassifier,
    HistGradientBoostingClassifier,
    RandomForestClassifier,
)
from sklearn.linear_model import (
    LogisticRegression,
    RidgeClassifier,
    SGDClassifier,
)
from sklearn.model_selection import StratifiedGroupKFold, StratifiedKFold
from sklearn.naive_bayes import BernoulliNB, GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC, LinearSVC
from sklearn.tree import DecisionTreeClassifier, ExtraTreeClassifier

import trueness
from trueness.ensembles.correlated import discriminate, normal_scores
from trueness.ensembles.ranked_columns import rank_rows

PARTITIONS, SUBSETS = 22, 200
SIZES = range(3, 11)
WAYS = ("as it is", "distinct rows", "copies together")


def classifiers():
    seed = {"random_state": 0}
    scaled = [
        LogisticRegression(max_iter=300),
        LogisticRegression(C=0.01, max_iter=300),
        RidgeClassifier(alpha=10.0),
        SGDClassifier(loss="log_loss", alpha=1e-2, **seed),
        LinearSVC(C=0.01, **seed),
        SVC(**seed),
        KNeighborsClassifier(10),
        KNeighborsClassifier(50),
        MLPClassifier((20,), max_iter=80, **seed),
        LinearDiscriminantAnalysis(solver="lsqr", shrinkage="auto"),
    ]
    plain = [
        QuadraticDiscriminantAnalysis(solver="eigen", shrinkage=0.3),
        GaussianNB(),
        BernoulliNB(),
        DecisionTreeClassifier(max_depth=4, **seed),
        ExtraTreeClassifier(min_samples_leaf=10, **seed),
        RandomForestClassifier(100, min_samples_leaf=3, **seed),
        ExtraTreesClassifier(100, min_samples_leaf=3, **seed),
        AdaBoostClassifier(n_estimators=40, **seed),
        GradientBoostingClassifier(n_estimators=40, **seed),
        HistGradientBoostingClassifier(max_iter=40, **seed),
        BaggingClassifier(n_estimators=30, **seed),
    ]
    return [make_pipeline(StandardScaler(), c) for c in scaled] + plain


class Split(NamedTuple):
    """Mean AUCs over the subsets of one split."""

    way: str
    split: int
    m: int
    best: float
    wisdom_of_crowds: float
    fidel: float
    correlated: float
    fidel_wins: float
    correlation: float


class Row(NamedTuple):
    """Means over the splits; differences with their standard deviation over splits."""

    way: str
    m: int
    best: float
    wisdom_of_crowds: float
    fidel: float
    correlated: float
    fidel_minus_best: float
    sd_over_splits: float
    fidel_minus_crowds: float
    sd_of_that: float
    correlated_minus_fidel: float
    sd_of_this: float
    fidel_beats_best: float
    rank_correlation: float
    splits: int


def data(way):
    path = os.environ.get("WEST_NILE", "west_nile.csv.bz2")
    table = pd.read_csv(path, skip_blank_lines=True)
    features = table.columns[table.columns != "y"]
    group = table.groupby(list(features), sort=False).ngroup().to_numpy()
    if way == "distinct rows":
        keep = np.unique(group, return_index=True)[1]
        table, group = table.iloc[keep], group[keep]
    x = table[features].to_numpy(np.float64)
    return x, (table["y"] == "Yes").to_numpy().astype(int), group


def partitions(x, y, group, way, seed):
    if way == "copies together":
        split = StratifiedGroupKFold(PARTITIONS, shuffle=True, random_state=seed)
        parts = [test for _, test in split.split(x, y, group)]
    else:
        split = StratifiedKFold(PARTITIONS, shuffle=True, random_state=seed)
        parts = [test for _, test in split.split(x, y)]
    return parts[:-1], parts[-1]


def score(model, x):
    if hasattr(model, "predict_proba"):
        return model.predict_proba(x)[:, 1]
    return model.decision_function(x)


def panels(x, y, group, way, seed):
    """The reference panel, each classifier missing on its own partition; the test."""
    train, test = partitions(x, y, group, way, seed)
    models = [
        clone(c).fit(x[part], y[part])
        for c, part in zip(classifiers(), train, strict=True)
    ]
    rows = np.concatenate(train)
    own = np.repeat(np.arange(len(train)), [part.size for part in train])
    outputs = np.column_stack([score(m, x[rows]) for m in models])
    outputs[np.arange(rows.size), own] = np.nan
    names = [f"{k:02d}" for k in range(len(models))]
    reference = trueness.Panel(names, outputs, 1 - y[rows], y[rows])
    tested = np.column_stack([score(m, x[test]) for m in models])
    return reference, tested, y[test]


def auc(y, s):
    return trueness.auc(trueness.tally(y, s)).value


def compare(reference, tested, y, rng):
    """AUCs on the test set over random subsets, for each number of classifiers."""
    plain = trueness.fidel(reference)
    aware = trueness.fidel(reference, method="correlated")
    terms = plain.terms(tested)
    ranks = rank_rows(tested, plain.scores, plain.cases)
    z = normal_scores(ranks, np.array([c.sum() for c in plain.cases]))
    single = np.array([auc(y, tested[:, k]) for k in range(tested.shape[1])])
    for m in SIZES:
        found = []
        for _ in range(SUBSETS):
            at = rng.choice(tested.shape[1], m, replace=False)
            block = aware.covariance[np.ix_(at, at)]
            weighed = discriminate(
                z[:, at], aware.mean_pos[at], aware.mean_neg[at], block
            )
            crowd = -ranks[:, at].mean(axis=1)
            each = (crowd, terms[:, at].sum(axis=1), weighed)
            found.append([single[at].max(), *(auc(y, s) for s in each)])
        yield m, np.array(found), plain.mean_correlation


def each_split(splits):
    warnings.simplefilter("ignore")
    for split in range(splits):
        for way in WAYS:
            x, y, group = data(way)
            reference, tested, label = panels(x, y, group, way, split)
            rng = np.random.default_rng(split)
            for m, found, r in compare(reference, tested, label, rng):
                mean = [round(float(v), 4) for v in found.mean(axis=0)]
                wins = round(float((found[:, 2] > found[:, 0]).mean()), 3)
                yield Split(way, split, m, *mean, wins, round(r, 3))


def summary(found):
    """Average over splits, way by way and M by M."""
    table = pd.DataFrame(found)
    table["gain"] = table.fidel - table.best
    table["over_crowds"] = table.fidel - table.wisdom_of_crowds
    table["aware"] = table.correlated - table.fidel
    for way in WAYS:
        for m in SIZES:
            part = table[(table.way == way) & (table.m == m)]
            mean, sd = part.mean(numeric_only=True), part.std(numeric_only=True)
            pairs = [(mean[k], sd[k]) for k in ("gain", "over_crowds", "aware")]
            aucs = ("best", "wisdom_of_crowds", "fidel", "correlated")
            numbers = [mean[k] for k in aucs] + [v for pair in pairs for v in pair]
            numbers += [mean.fidel_wins, mean.correlation]
            yield Row(way, m, *(round(float(v), 4) for v in numbers), len(part))


def rows():
    found = list(each_split(int(os.environ.get("SPLITS", "12"))))
    yield from summary(found)


def points(way="copies together", sizes=(3, 5, 7), seed=0):
    """Best and FiDEL of every subset in one split, for Fig. 4A."""
    warnings.simplefilter("ignore")
    x, y, group = data(way)
    reference, tested, label = panels(x, y, group, way, seed)
    for m, found, _ in compare(reference, tested, label, np.random.default_rng(seed)):
        if m in sizes:
            yield from ((m, round(b, 4), round(f, 4)) for b, _, f, _ in found.tolist())
