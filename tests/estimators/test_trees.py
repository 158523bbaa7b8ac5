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


@pytest.fixture
def flipped(tree, cancer):
    """The report on cases whose labels were turned round."""
    return leaf_report(tree, cancer["X_test"], 1 - cancer["y_test"])


def test_flipped_labels_contradict_the_tree(tree, cancer, flipped):
    report = leaf_report(tree, cancer["X_test"], cancer["y_test"])

    contradicts = flipped.verdict == "contradicted"

    # every leaf but the ties and those that contradicted the tree before
    without_tie = set(report.node[report.majority != "tie"])
    contradicted_before = set(report.node[report.verdict == "contradicted"])
    assert set(flipped.node[contradicts]) == without_tie - contradicted_before


def test_leaves_that_contradict_come_first_by_their_p_value(flipped):
    contradicts = flipped.verdict == "contradicted"

    assert (np.diff(contradicts.astype(int)) <= 0).all()
    assert (np.diff(flipped.p_value[contradicts]) >= 0).all()


def test_p_values_of_leaves_are_binomial_tests(tree, cancer, flipped):
    labels = 1 - cancer["y_test"]
    nodes = tree.apply(cancer["X_test"])

    for row, node in enumerate(flipped.node):
        labels_in_leaf = labels[nodes == node]
        as_predicted = int((labels_in_leaf == flipped.predicted[row]).sum())
        slow = binomtest(as_predicted, labels_in_leaf.size, alternative="less")
        assert flipped.p_value[row] == pytest.approx(slow.pvalue, rel=1e-9)


def test_a_report_asks_whether_the_labels_are_swapped(tree, cancer, flipped):
    report = leaf_report(tree, cancer["X_test"], cancer["y_test"])

    assert "Are the labels swapped" in flipped.note
    assert "Are the labels swapped" not in report.note
    prediction = f"contradicted: predicts {flipped.predicted[0]}, p = "
    assert prediction in repr(flipped)


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


@pytest.fixture
def named_cancer(cancer):
    """Cases with names of their features and words for their labels."""

    def frame(rows):
        return pd.DataFrame(rows).rename(columns=lambda k: f"feature {k}")

    def words(labels):
        return np.where(labels == 1, "benign", "malignant")

    return {
        "X": frame(cancer["X"]),
        "y": words(cancer["y"]),
        "X_test": frame(cancer["X_test"]),
        "y_test": words(cancer["y_test"]),
    }


def test_a_fitted_pipeline_is_its_last_step_on_transformed_cases(named_cancer):
    tree = DecisionTreeClassifier(max_depth=2, random_state=0)
    model = make_pipeline(StandardScaler(), tree)
    model.fit(named_cancer["X"], named_cancer["y"])
    scaled = model[:-1].transform(named_cancer["X_test"])

    report = leaf_report(model, named_cancer["X_test"], named_cancer["y_test"])
    by_steps = leaf_report(model[-1], scaled, named_cancer["y_test"])

    assert report.node.tolist() == by_steps.node.tolist()
    assert report.confidence.tolist() == by_steps.confidence.tolist()
    assert report.classes.tolist() == ["benign", "malignant"]
    assert " benign " in repr(report)


@pytest.mark.parametrize("first_steps", [[], [StandardScaler()]], ids=len)
def test_rules_of_a_pipeline_name_the_features(named_cancer, first_steps):
    tree = DecisionTreeClassifier(max_depth=2, random_state=0)
    model = make_pipeline(*first_steps, tree)
    model.fit(named_cancer["X"], named_cancer["y"])

    report = leaf_report(model, named_cancer["X_test"], named_cancer["y_test"])

    assert "feature " in report.rule[0]


def test_a_pipeline_that_ends_in_no_tree_is_refused():
    model = make_pipeline(LogisticRegression()).fit([[0], [1]], [0, 1])

    with pytest.raises(InputError, match="found LogisticRegression"):
        leaf_report(model)


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


@pytest.fixture
def forest(cancer):
    """A forest whose labels are words, which its trees know as 0 and 1."""
    forest = RandomForestClassifier(3, max_depth=3, random_state=0)
    return forest.fit(cancer["X"], np.array(["no", "yes"])[cancer["y"]])


@pytest.fixture
def labels_of_test(cancer):
    return np.array(["no", "yes"])[cancer["y_test"]]


def test_a_tree_of_a_forest_is_reported_with_the_labels_of_the_forest(
    forest, cancer, labels_of_test
):
    tree = forest.estimators_[0]

    report = leaf_report(tree, cancer["X_test"], labels_of_test)
    with_classes = leaf_report(
        tree, cancer["X_test"], labels_of_test, classes=forest.classes_
    )

    counts = count(tree, cancer["X_test"], cancer["y_test"])
    assert report.confidence.tolist() == counts.report().confidence.tolist()
    assert report.predicted.tolist() == with_classes.predicted.tolist()
    assert set(report.predicted) == {"no", "yes"}


def test_a_tree_of_a_forest_needs_cases_of_both_classes(forest, cancer):
    tree = forest.estimators_[0]

    with pytest.raises(InputError, match="grown with sample_weight"):
        leaf_report(tree)
    with pytest.raises(InputError, match=r"classes=forest.classes_"):
        leaf_report(tree, cancer["X_test"][:2], ["yes", "yes"])


def test_the_training_cases_of_a_forest_are_known_to_each_tree(forest, cancer):
    labels = np.array(["no", "yes"])[cancer["y"]]

    for tree in forest.estimators_:
        with pytest.warns(OptimisticWarning):
            leaf_report(tree, cancer["X"], labels)


def test_a_tree_of_a_forest_is_pruned(forest, cancer, labels_of_test):
    tree = forest.estimators_[0]

    pruned = prune(tree, cancer["X_test"], labels_of_test, classes=forest.classes_)

    assert pruned.get_n_leaves() <= tree.get_n_leaves()


@pytest.fixture
def grown(cancer):
    return DecisionTreeClassifier(random_state=0).fit(cancer["X"], cancer["y"])


def test_pruning_makes_a_smaller_tree_and_leaves_the_first_as_it_was(cancer, grown):
    leaves_before = grown.get_n_leaves()

    pruned = prune(grown, cancer["X_test"], cancer["y_test"])

    assert grown.get_n_leaves() == leaves_before
    assert leaves_before > pruned.get_n_leaves() > 1
    assert pruned.tree_.max_depth == pruned.get_depth() < grown.get_depth()


def test_a_pruned_tree_is_a_whole_tree_of_scikit_learn(cancer, grown):
    pruned = prune(grown, cancer["X_test"], cancer["y_test"])
    arrays = pruned.tree_

    nodes = pruned.apply(cancer["X"])

    assert set(nodes) == set(np.flatnonzero(arrays.children_left < 0))
    assert arrays.node_count == 2 * pruned.get_n_leaves() - 1
    assert export_text(pruned).count("class:") == pruned.get_n_leaves()
    path = pruned.decision_path(cancer["X"])
    assert path.shape == (len(cancer["y"]), arrays.node_count)


def test_leaves_of_a_pruned_tree_keep_the_proportions_of_its_training(cancer, grown):
    pruned = prune(grown, cancer["X_test"], cancer["y_test"])

    nodes = pruned.apply(cancer["X"])

    for node in np.unique(nodes):
        proportion = cancer["y"][nodes == node].mean()
        assert pruned.tree_.value[node, 0, 1] == pytest.approx(proportion)


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
