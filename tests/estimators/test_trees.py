"""scikit-learn's trees: reported, pruned, grown with confidence."""

import warnings

import numpy as np
import pandas as pd
import pytest
from scipy.stats import binomtest
from sklearn.datasets import load_breast_cancer
from sklearn.ensemble import RandomForestClassifier
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor, export_text
from sklearn.utils.estimator_checks import parametrize_with_checks

from trueness import InputError, Leaves, OptimisticWarning
from trueness.estimators import ConfidentTree, leaf_report, prune


@pytest.fixture(scope="module")
def cancer():
    data = load_breast_cancer()
    parts = train_test_split(data.data, data.target, test_size=0.4, random_state=3)
    return dict(zip(("X", "X_test", "y", "y_test"), parts, strict=True))


@pytest.fixture(scope="module")
def tree(cancer):
    model = DecisionTreeClassifier(max_depth=4, random_state=0)
    return model.fit(cancer["X"], cancer["y"])


def count(tree, X, y):
    nodes = tree.apply(X)
    names = np.unique(nodes)
    counts = [[int(((nodes == k) & (y == c)).sum()) for k in names] for c in (0, 1)]
    return Leaves(names, *counts)


def test_fresh_cases_are_counted_as_they_fall(tree, cancer):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = leaf_report(tree, cancer["X_test"], cancer["y_test"])
    known = count(tree, cancer["X_test"], cancer["y_test"]).report()
    order = np.argsort(found.node)
    assert found.node[order].tolist() == known.node.tolist()
    assert found.confidence[order].tolist() == known.confidence.tolist()
    agree = found.verdict[order] != "contradicted"
    assert found.verdict[order][agree].tolist() == known.verdict[agree].tolist()
    assert "not used to grow the tree" in found.note
    for node, label in zip(found.node, found.predicted, strict=True):
        inside = tree.apply(cancer["X"]) == node
        assert (tree.predict(cancer["X"][inside]) == label).all()
    assert found.note in repr(found)


def test_flipped_labels_contradict_the_tree(tree, cancer):
    X, y = cancer["X_test"], cancer["y_test"]
    found, turned = leaf_report(tree, X, y), leaf_report(tree, X, 1 - y)
    against = turned.verdict == "contradicted"
    # every leaf but the ties and those that spoke against the tree before
    decided = {k for k, m in zip(found.node, found.majority, strict=True) if m != "tie"}
    before = set(found.node[found.verdict == "contradicted"])
    assert set(turned.node[against]) == decided - before
    assert (np.diff(against.astype(int)) <= 0).all()  # first in the list
    assert (np.diff(turned.p_value[against]) >= 0).all()
    nodes = tree.apply(X)
    for node, label, p in zip(
        turned.node, turned.predicted, turned.p_value, strict=True
    ):
        inside = (1 - y)[nodes == node]
        slow = binomtest(int((inside == label).sum()), inside.size, alternative="less")
        assert p == pytest.approx(slow.pvalue, rel=1e-9)
    assert "Are the labels swapped" in turned.note
    assert "wrong way round" not in found.note
    assert f"contradicted: predicts {turned.predicted[0]}, p = " in repr(turned)


def test_rules_say_where_each_case_goes(tree, cancer):
    found = leaf_report(tree, cancer["X_test"], cancer["y_test"])
    nodes = tree.apply(cancer["X_test"])
    columns = {f"x{k}": c for k, c in enumerate(cancer["X_test"].T)}
    for node, rule in zip(found.node, found.rule, strict=True):
        inside = np.ones(nodes.size, dtype=bool)
        for part in rule.split(" and "):
            words = part.split(" ")
            if len(words) == 5:  # low < x <= high
                inside &= columns[words[2]] > float(words[0])
                words = words[2:]
            column, cut = columns[words[0]], float(words[2])
            inside &= column <= cut if words[1] == "<=" else column > cut
        # a rule is written with four digits: a case on the edge may be on either side
        assert np.mean(inside != (nodes == node)) < 0.02
    assert "all cases" not in found.rule


def test_a_fitted_pipeline_with_names(cancer):
    frame = pd.DataFrame(cancer["X"]).rename(columns=lambda k: f"feature {k}")
    test = pd.DataFrame(cancer["X_test"]).rename(columns=lambda k: f"feature {k}")
    labels, fresh = (
        np.where(cancer[k] == 1, "benign", "malignant") for k in ("y", "y_test")
    )
    inner = DecisionTreeClassifier(max_depth=2, random_state=0)
    model = make_pipeline(StandardScaler(), inner).fit(frame, labels)
    found = leaf_report(model, test, fresh)
    alone = leaf_report(model[-1], model[:-1].transform(test), fresh)
    assert found.node.tolist() == alone.node.tolist()
    assert found.confidence.tolist() == alone.confidence.tolist()
    assert "feature " in found.rule[0]
    assert found.classes.tolist() == ["benign", "malignant"]
    assert " benign " in repr(found)
    bare = make_pipeline(inner).fit(frame, labels)
    assert "feature " in leaf_report(bare, test, fresh).rule[0]
    with pytest.raises(InputError, match="found LogisticRegression"):
        leaf_report(make_pipeline(LogisticRegression()).fit([[0], [1]], [0, 1]))


def test_the_cases_it_was_grown_on_are_noticed(tree, cancer):
    with pytest.warns(OptimisticWarning, match="Pass cases that were held out"):
        given = leaf_report(tree, cancer["X"], cancer["y"])
    with pytest.warns(OptimisticWarning, match="levels are too high"):
        kept = leaf_report(tree)
    assert given.confidence.tolist() == kept.confidence.tolist()
    assert kept.n.sum() == len(cancer["y"])
    assert given.note == kept.note
    shuffled = np.random.default_rng(0).permutation(len(cancer["y"]))
    with pytest.warns(OptimisticWarning):
        leaf_report(tree, cancer["X"][shuffled], cancer["y"][shuffled])


def test_positive_may_be_either_class(tree, cancer):
    cases = cancer["X_test"], cancer["y_test"]
    one, zero = (leaf_report(tree, *cases, positive=k) for k in (1, 0))
    assert one.confidence.tolist() == zero.confidence.tolist()
    turned = {"positive": "negative", "negative": "positive", "tie": "tie"}
    assert [turned[m] for m in one.majority] == zero.majority.tolist()
    assert one.classes.tolist() == zero.classes.tolist()[::-1]


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
        with pytest.warns(OptimisticWarning):
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


def test_noise_is_pruned(rng):
    X, y = rng.normal(size=(600, 4)), rng.integers(0, 2, 600)
    full = DecisionTreeClassifier(random_state=0).fit(X[:300], y[:300])
    assert prune(full, X[300:], y[300:]).get_n_leaves() < full.get_n_leaves() / 2
    lone = prune(full, X[300:], y[300:], confidence=0.999)
    assert (lone.get_n_leaves(), len(set(lone.predict(X)))) == (1, 1)


@pytest.fixture(scope="module")
def confident(cancer):
    return ConfidentTree(random_state=1).fit(cancer["X"], cancer["y"])


def test_a_confident_tree_is_smaller_and_good(confident, cancer):
    assert 1 < confident.get_n_leaves() < confident.grown_leaves_
    assert confident.get_depth() == confident.estimator_.get_depth()
    assert confident.score(cancer["X_test"], cancer["y_test"]) > 0.88


def test_probabilities_of_a_confident_tree_are_those_of_its_leaves(confident, cancer):
    probability = confident.predict_proba(cancer["X_test"])

    leaves = count(confident.estimator_, cancer["X"], cancer["y"])
    assert confident.leaves_ == leaves
    place = np.searchsorted(leaves.node, confident.apply(cancer["X_test"]))
    assert probability[:, 1] == pytest.approx(leaves.scores(method="blend")[place])
    assert probability.sum(axis=1) == pytest.approx(1)


def test_a_confident_tree_reports_on_the_cases_held_out(confident, cancer):
    assert confident.report_.n.sum() == round(0.3 * len(cancer["y"]))


def test_a_seed_grows_the_same_tree(confident, cancer):
    again = ConfidentTree(random_state=1).fit(cancer["X"], cancer["y"])

    probability = confident.predict_proba(cancer["X_test"])
    assert (again.predict_proba(cancer["X_test"]) == probability).all()


def test_a_confident_tree_takes_another_tree_and_labels_in_words(cancer):
    shallow = DecisionTreeClassifier(max_depth=2, random_state=0)
    label = np.array(["benign", "malignant"])[cancer["y"]]

    model = ConfidentTree(shallow, holdout=0, confidence=0).fit(cancer["X"], label)

    assert model.get_depth() <= 2
    assert set(model.predict(cancer["X_test"])) == set(label)


def test_a_report_on_fresh_cases_has_the_classes_that_are_predicted(confident, cancer):
    fresh = leaf_report(confident, cancer["X_test"], cancer["y_test"])

    leaf = confident.apply(cancer["X_test"])
    predicted = confident.predict(cancer["X_test"])
    for node, label in zip(fresh.node, fresh.predicted, strict=True):
        assert (predicted[leaf == node] == label).all()


def test_a_report_on_the_training_cases_warns(confident, cancer):
    with pytest.warns(OptimisticWarning):
        leaf_report(confident, cancer["X"], cancer["y"])


def test_one_class_left_to_grow_on():
    X = np.arange(6.0)[:, None]
    for seed in range(10):
        model = ConfidentTree(holdout=0.5, random_state=seed).fit(X, [0, 0, 0, 0, 0, 1])
        assert model.predict(X).shape == (6,)


@parametrize_with_checks([ConfidentTree(random_state=0)])
def test_it_is_an_estimator(estimator, check):
    check(estimator)


def of(model, size=None):
    """Report a model that is fitted first."""
    return lambda _, X, y: leaf_report(model.fit(X[:size], y[:size] if size else y))


WRONG = {
    "Call fit first": lambda m, X, y: leaf_report(DecisionTreeClassifier()),
    r"forest.estimators_\[0\]": of(RandomForestClassifier(2)),
    "has a regression tree": of(DecisionTreeRegressor()),
    "has 3 classes": lambda m, X, y: of(DecisionTreeClassifier(), 3)(m, X, [0, 1, 2]),
    "Cases need their labels": lambda m, X, y: leaf_report(m, X),
    "0, 1; found 'yes'": lambda m, X, y: leaf_report(m, X, y, positive="yes"),
    "the classes of the tree, 0, 1": lambda m, X, y: leaf_report(m, X, y + 5),
    r"Type classes=forest\.": lambda m, X, y: leaf_report(m, X, y, classes=[1]),
    "holdout must lie in": lambda m, X, y: ConfidentTree(holdout=1.0).fit(X, y),
    "one class only": lambda m, X, y: ConfidentTree().fit(X, y * 0),
    "not fitted": lambda m, X, y: ConfidentTree().predict(X),
}


@pytest.mark.parametrize("message", WRONG)
def test_wrong_input_is_answered_by_a_sentence(tree, cancer, message):
    with pytest.raises((InputError, NotFittedError), match=message):
        WRONG[message](tree, cancer["X_test"], cancer["y_test"])
