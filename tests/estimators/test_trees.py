"""scikit-learn's trees: reported, pruned, grown with confidence."""

import warnings

import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer
from sklearn.ensemble import RandomForestClassifier
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import train_test_split
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor, export_text
from sklearn.utils.estimator_checks import parametrize_with_checks

import trueness
from trueness import InputError, Leaves, Optimistic
from trueness.estimators import ConfidentTree, leaf_report, prune


@pytest.fixture(scope="module")
def cancer():
    data = load_breast_cancer()
    parts = train_test_split(data.data, data.target, test_size=0.4, random_state=3)
    return dict(zip(("X", "X_test", "y", "y_test"), parts, strict=True))


@pytest.fixture(scope="module")
def tree(cancer):
    return DecisionTreeClassifier(max_depth=4, random_state=0).fit(
        cancer["X"], cancer["y"]
    )


def count(tree, X, y):
    nodes = tree.apply(X)
    names = np.unique(nodes)
    return Leaves(
        names,
        [int(((nodes == k) & (y == 0)).sum()) for k in names],
        [int(((nodes == k) & (y == 1)).sum()) for k in names],
    )


def test_fresh_cases_are_counted_as_they_fall(tree, cancer):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = leaf_report(tree, cancer["X_test"], cancer["y_test"])
    known = count(tree, cancer["X_test"], cancer["y_test"]).report()
    assert found.node.tolist() == known.node.tolist()
    assert found.confidence.tolist() == known.confidence.tolist()
    assert found.verdict.tolist() == known.verdict.tolist()
    assert "not those the tree was grown on" in found.note
    for node, label in zip(found.node, found.predicted, strict=True):
        inside = tree.apply(cancer["X"]) == node
        assert (tree.predict(cancer["X"][inside]) == label).all()
    assert found.note in repr(found)


def test_the_cases_it_was_grown_on_are_noticed(tree, cancer):
    with pytest.warns(Optimistic, match="Pass cases that were kept apart"):
        given = leaf_report(tree, cancer["X"], cancer["y"])
    with pytest.warns(Optimistic, match="levels are too high"):
        kept = leaf_report(tree)
    assert given.confidence.tolist() == kept.confidence.tolist()
    assert kept.n.sum() == len(cancer["y"])
    assert given.note == kept.note
    shuffled = np.random.default_rng(0).permutation(len(cancer["y"]))
    with pytest.warns(Optimistic):
        leaf_report(tree, cancer["X"][shuffled], cancer["y"][shuffled])


def test_positive_may_be_either_class(tree, cancer):
    one = leaf_report(tree, cancer["X_test"], cancer["y_test"], positive=1)
    zero = leaf_report(tree, cancer["X_test"], cancer["y_test"], positive=0)
    assert one.confidence.tolist() == zero.confidence.tolist()
    turned = {"positive": "negative", "negative": "positive", "tie": "tie"}
    assert [turned[m] for m in one.majority] == zero.majority.tolist()
    with pytest.warns(Optimistic):
        assert leaf_report(tree, positive=0).majority.tolist() == [
            turned[m] for m in _silent(tree).majority
        ]


def _silent(tree):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return leaf_report(tree)


def test_text_labels_and_missing_ones(cancer):
    names = np.array(["no", "yes"])
    tree = DecisionTreeClassifier(max_depth=2, random_state=0)
    tree.fit(cancer["X"], names[cancer["y"]])
    y = names[cancer["y_test"]].astype(object)
    y[:5] = None
    found = leaf_report(tree, cancer["X_test"], y)
    assert found.n.sum() == len(y) - 5
    assert set(found.predicted) <= {"no", "yes"}


def test_one_tree_of_a_forest(cancer):
    names = np.array(["no", "yes"])
    forest = RandomForestClassifier(3, max_depth=3, random_state=0)
    forest.fit(cancer["X"], names[cancer["y"]])
    one, y = forest.estimators_[0], names[cancer["y_test"]]
    found = leaf_report(one, cancer["X_test"], y)
    same = leaf_report(one, cancer["X_test"], y, classes=forest.classes_)
    known = count(one, cancer["X_test"], cancer["y_test"]).report()
    assert found.confidence.tolist() == known.confidence.tolist()
    assert found.predicted.tolist() == same.predicted.tolist()
    assert set(found.predicted) == {"no", "yes"}
    with pytest.raises(InputError, match="grown with sample_weight"):
        leaf_report(one)
    with pytest.raises(InputError, match=r"classes=forest.classes_"):
        leaf_report(one, cancer["X_test"][:2], ["yes", "yes"])
    for tree in forest.estimators_:
        with pytest.warns(Optimistic):
            leaf_report(tree, cancer["X"], names[cancer["y"]])
    pruned = prune(one, cancer["X_test"], y, classes=forest.classes_)
    assert pruned.get_n_leaves() <= one.get_n_leaves()


def test_pruned_tree_is_a_tree(cancer):
    full = DecisionTreeClassifier(random_state=0).fit(cancer["X"], cancer["y"])
    before = full.get_n_leaves()
    pruned = prune(full, cancer["X_test"], cancer["y_test"])
    assert full.get_n_leaves() == before > pruned.get_n_leaves() > 1
    nodes = pruned.apply(cancer["X"])
    low = pruned.tree_
    assert set(nodes) == set(np.flatnonzero(low.children_left < 0))
    assert low.node_count == 2 * pruned.get_n_leaves() - 1
    assert low.max_depth == pruned.get_depth() < full.get_depth()
    assert export_text(pruned).count("class:") == pruned.get_n_leaves()
    for k in np.unique(nodes):  # the shares are those of the cases it was grown on
        share = cancer["y"][nodes == k].mean()
        assert low.value[k, 0, 1] == pytest.approx(share)
    path = pruned.decision_path(cancer["X"])
    assert path.shape == (len(cancer["y"]), low.node_count)


def test_pruned_leaves_are_those_of_the_rule(cancer):
    full = DecisionTreeClassifier(random_state=0).fit(cancer["X"], cancer["y"])
    pruned = prune(full, cancer["X_test"], cancer["y_test"], confidence=0.9)
    found = count(pruned, cancer["X_test"], cancer["y_test"])
    deep = count(full, cancer["X_test"], cancer["y_test"])
    assert int(found.pos.sum()) == int(deep.pos.sum())
    again = prune(pruned, cancer["X_test"], cancer["y_test"], confidence=0.9)
    assert again.get_n_leaves() == pruned.get_n_leaves()


def test_noise_is_pruned(rng):
    X, y = rng.normal(size=(600, 4)), rng.integers(0, 2, 600)
    full = DecisionTreeClassifier(random_state=0).fit(X[:300], y[:300])
    assert full.get_n_leaves() > 40
    assert prune(full, X[300:], y[300:]).get_n_leaves() < full.get_n_leaves() / 2
    lone = prune(full, X[300:], y[300:], confidence=0.999)
    assert lone.get_n_leaves() == 1
    assert len(set(lone.predict(X))) == 1


def test_confident_tree(cancer):
    model = ConfidentTree(random_state=1).fit(cancer["X"], cancer["y"])
    assert 1 < model.get_n_leaves() < model.grown_leaves_
    assert model.score(cancer["X_test"], cancer["y_test"]) > 0.88
    p = model.predict_proba(cancer["X_test"])
    assert p.sum(axis=1) == pytest.approx(1)
    leaf = model.apply(cancer["X_test"])
    known = count(model.estimator_, cancer["X"], cancer["y"])
    assert model.leaves_ == known
    assert p[:, 1] == pytest.approx(
        known.scores(method="blend")[np.searchsorted(known.node, leaf)]
    )
    assert model.report_.n.sum() == round(0.3 * len(cancer["y"]))
    assert model.get_depth() == model.estimator_.get_depth()
    again = ConfidentTree(random_state=1).fit(cancer["X"], cancer["y"])
    assert (again.predict_proba(cancer["X_test"]) == p).all()


def test_report_on_a_confident_tree(cancer):
    model = ConfidentTree(random_state=1).fit(cancer["X"], cancer["y"])
    fresh = leaf_report(model, cancer["X_test"], cancer["y_test"])
    for node, label in zip(fresh.node, fresh.predicted, strict=True):
        inside = model.apply(cancer["X_test"]) == node
        assert (model.predict(cancer["X_test"][inside]) == label).all()
    with pytest.warns(Optimistic):
        leaf_report(model, cancer["X"], cancer["y"])


def test_its_tree_may_be_chosen(cancer):
    names = np.array(["benign", "malignant"])
    base = DecisionTreeClassifier(max_depth=2, random_state=0)
    model = ConfidentTree(base, holdout=0, confidence=0).fit(
        cancer["X"], names[cancer["y"]]
    )
    assert model.get_depth() <= 2
    assert set(model.predict(cancer["X_test"])) == set(names)
    assert not hasattr(base, "tree_")


def test_one_class_left_to_grow_on():
    X = np.arange(6.0)[:, None]
    for seed in range(10):
        model = ConfidentTree(holdout=0.5, random_state=seed).fit(X, [0, 0, 0, 0, 0, 1])
        assert model.predict(X).shape == (6,)


@parametrize_with_checks([ConfidentTree(random_state=0)])
def test_it_is_an_estimator(estimator, check):
    check(estimator)


@pytest.mark.parametrize(
    ("model", "message"),
    [
        (DecisionTreeClassifier(), "without a tree_. Call fit first"),
        (RandomForestClassifier(2).fit([[0], [1]], [0, 1]), r"forest.estimators_\[0\]"),
        (DecisionTreeRegressor().fit([[0], [1]], [0, 1]), "has a regression tree"),
        (DecisionTreeClassifier().fit([[0], [1], [2]], [0, 1, 2]), "has 3 classes"),
    ],
)
def test_other_models_are_refused(model, message):
    with pytest.raises(InputError, match=message):
        leaf_report(model)


def test_wrong_input_is_answered_by_a_sentence(tree, cancer):
    X, y = cancer["X_test"], cancer["y_test"]
    with pytest.raises(InputError, match="Cases need their labels"):
        leaf_report(tree, X)
    with pytest.raises(InputError, match=r"one of the classes 0, 1; found 'yes'"):
        leaf_report(tree, X, y, positive="yes")
    with pytest.raises(InputError, match="must hold the classes of the tree, 0, 1"):
        leaf_report(tree, X, y + 5)
    with pytest.raises(InputError, match=r"Type classes=forest\.classes_"):
        leaf_report(tree, X, y, classes=[1, 2, 3])
    with pytest.raises(InputError, match=r"holdout must lie in \[0, 1\)"):
        ConfidentTree(holdout=1.0).fit(X, y)
    with pytest.raises(InputError, match="one class only"):
        ConfidentTree().fit(X, np.zeros(len(X), int))
    with pytest.raises(NotFittedError):
        ConfidentTree().predict(X)
    assert trueness.estimators.prune is prune
