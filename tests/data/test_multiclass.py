"""More than two classes, by reduction to two."""

import itertools

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.metrics import roc_auc_score

import trueness
from trueness import InputError, NotEnoughCases


def cases(rng, n=80, c=4, digits=2):
    y = rng.integers(0, c, n)
    y[: 2 * c] = np.tile(np.arange(c), 2)
    z = rng.normal(size=(n, c))
    z[np.arange(n), y] += 1
    p = np.exp(z) / np.exp(z).sum(axis=1, keepdims=True)
    p = p.round(digits)  # with ties
    return y, p / p.sum(axis=1, keepdims=True)


def test_hand_and_till_by_counting(rng):
    y, p = cases(rng, n=30, c=3, digits=1)
    total = []
    for a, b in itertools.permutations(range(3), 2):
        one, other = p[y == a, a][:, None], p[y == b, a]
        total.append((one > other).mean() + (one == other).mean() / 2)
    found = trueness.multiclass_auc(y, p)
    assert found.value == pytest.approx(np.mean(total), abs=1e-14)


@pytest.mark.parametrize(
    ("average", "theirs"),
    [
        ("hand-till", {"multi_class": "ovo", "average": "macro"}),
        ("macro", {"multi_class": "ovr", "average": "macro"}),
        ("weighted", {"multi_class": "ovr", "average": "weighted"}),
    ],
)
def test_values_of_scikit_learn_and_an_interval_around_them(rng, average, theirs):
    y, p = cases(rng, n=60)
    found = trueness.multiclass_auc(y, p, average=average)
    assert found.value == pytest.approx(roc_auc_score(y, p, **theirs), abs=1e-12)
    assert 0 <= found.low < found.value < found.high <= 1
    wide = trueness.multiclass_auc(y, p, average=average, level=0.99)
    assert wide.low < found.low
    # the standard error is that of the jackknife, to a few percent
    keep = ~np.eye(y.size, dtype=bool)
    without = [
        trueness.multiclass_auc(y[k], p[k], average=average, classes=range(4)).value
        for k in keep
    ]
    jackknife = np.sqrt((y.size - 1) * np.var(without))
    assert found.se == pytest.approx(jackknife, rel=0.08)


def test_two_classes_perfect_and_useless_scores(rng):
    y, p = cases(rng, c=2)
    one = trueness.auc(y, p[:, 1])
    for average in ("hand-till", "macro", "weighted"):
        found = trueness.multiclass_auc(y, p, average=average)
        assert found.value == pytest.approx(one.value, abs=1e-14)
    y = np.repeat([0, 1, 2], 10)
    best = trueness.multiclass_auc(y, np.eye(3)[y])
    assert (best.value, best.high) == (1.0, 1.0)
    assert 0.5 < best.low < 0.95
    flat = trueness.multiclass_auc(y, np.full((30, 3), 1 / 3))
    assert flat.value == 0.5
    assert flat.low < 0.4 < 0.6 < flat.high


def test_one_against_the_rest_in_every_form(rng):
    y, p = cases(rng)
    names = np.array(["a", "b", "c", "d"])
    found = trueness.one_vs_rest(names[y], p, classes=names)
    for k, name in enumerate(names.tolist()):
        assert found[name] == trueness.tally(y == k, p[:, k])
    assert trueness.one_vs_rest(names[y], p) == found
    columns = dict(zip(names.tolist(), p.T, strict=True))
    assert trueness.one_vs_rest(names[y], columns) == found
    assert trueness.one_vs_rest(names[y], pd.DataFrame(columns)) == found
    frame = {"y": names[y], **columns}
    for made in (pd.DataFrame(frame), pl.DataFrame(frame), pl.LazyFrame(frame)):
        assert trueness.one_vs_rest(made, names.tolist(), label="y") == found
    areas = trueness.auc(found)
    assert areas["b"].value == trueness.auc(y == 1, p[:, 1]).value
    gone = names[y].astype(object)
    gone[:3] = None
    assert trueness.one_vs_rest(gone, p)["a"].n_unknown == 3


def test_top_labels(rng):
    y, p = cases(rng)
    found = trueness.top_label(y, p)
    top = p.argmax(axis=1)
    for k, t in found.items():
        assert t == trueness.tally(y[top == k] == k, p[top == k, k])
    assert sum(found.values()).n == y.size
    assert set(trueness.calibration_error(found)) == set(found)


def test_what_is_refused_in_words(rng):
    y, p = cases(rng)
    for make, words in (
        (lambda: trueness.one_vs_rest(y, p[:, 0]), "one column of scores per class"),
        (lambda: trueness.one_vs_rest(y, p[:, :3]), "one class for each of the 3"),
        (lambda: trueness.one_vs_rest(y, p, classes=[0, 1, 2, 5]), "found also 3"),
        (lambda: trueness.multiclass_auc(y, p, average="micro"), "average must be"),
        (lambda: trueness.one_vs_rest(pd.DataFrame({"y": y})), "Name the columns"),
    ):
        with pytest.raises(InputError, match=words):
            make()
    y[y == 3] = 2
    with pytest.raises(NotEnoughCases, match="at least two cases of each class; 3 has"):
        trueness.multiclass_auc(y, p, classes=range(4))
