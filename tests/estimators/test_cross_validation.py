"""Cross-validation: folds are averaged, compared and drawn, and never pooled."""

from __future__ import annotations

import matplotlib as mpl
import numpy as np
import pytest
from sklearn.datasets import make_classification
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import RocCurveDisplay, brier_score_loss, roc_auc_score
from sklearn.model_selection import (
    GroupKFold,
    ShuffleSplit,
    StratifiedKFold,
    cross_validate,
)
from sklearn.naive_bayes import GaussianNB
from sklearn.svm import LinearSVC

import trueness
from trueness import InputError, NotEnoughCases
from trueness.estimators import (
    CalibrationDisplay,
    PrecisionRecallDisplay,
    RocDisplay,
    ThresholdDisplay,
)

mpl.use("Agg")


@pytest.fixture(scope="module")
def data():
    return make_classification(400, 12, n_informative=4, flip_y=0.2, random_state=3)


@pytest.fixture(scope="module")
def two(data):
    models = {"lr": LogisticRegression(max_iter=500), "nb": GaussianNB()}
    return trueness.cross_validate(models, *data)


def by_fold(model, X, y, score):
    found = []
    for train, test in StratifiedKFold(5).split(X, y):
        p = model.fit(X[train], y[train]).predict_proba(X[test])[:, 1]
        found.append(score(y[test], p))
    return np.mean(found)


def test_values_are_means_over_the_folds(data):
    found = trueness.cross_validate(LogisticRegression(max_iter=500), *data)
    model = LogisticRegression(max_iter=500)
    for name, score in {
        "auc": roc_auc_score,
        "brier": brier_score_loss,
        "accuracy": lambda y, p: np.mean((p >= 0.5) == y),
    }.items():
        known = by_fold(model, *data, score)
        assert found.values[name].value == pytest.approx(known)
    assert "refitted on all cases" in found.notes[0]


def test_variance_is_that_of_independent_folds(data):
    found = trueness.cross_validate(GaussianNB(), *data, metrics="auc")
    each = [trueness.auc(t, method="delong").se for t in found.folds]
    assert found.values["auc"].se == pytest.approx(np.sqrt(np.square(each).sum()) / 5)


def test_areas_of_folds_are_means_over_the_folds(two):
    expected = two.values["lr"]["auc"]

    assert trueness.auc(two.folds)["lr"] == expected
    assert trueness.auc(two)["lr"] == expected


def test_differences_over_folds_have_the_error_of_their_mean(two):
    (pair,) = trueness.compare_auc(two.folds).pairs

    difference = two.values["lr"]["auc"].value - two.values["nb"]["auc"].value
    errors = [trueness.compare_auc(f).pairs[0].difference.se for f in two.folds]
    assert pair.difference.value == pytest.approx(difference)
    assert pair.difference.se == pytest.approx(np.sqrt(np.square(errors).sum()) / 5)


def test_questions_that_folds_cannot_answer_are_refused(two):
    with pytest.raises(InputError, match="does not take folds"):
        trueness.roc(two.folds["lr"])
    with pytest.raises(InputError, match="auc takes only the level; found 'method'"):
        trueness.auc(two.folds["lr"], method="delong")
    with pytest.raises(InputError, match="report does not take folds"):
        trueness.report(two, "page.html")


@pytest.mark.parametrize("metric", ["auc", "accuracy", "brier"])
def test_a_plan_says_how_many_cases_tell_two_models_apart(two, metric):
    """n ((z + z) sd / d)^2, with the paired difference of these folds."""
    plan = two.plan(metric, power=0.8)
    values = [two.values[m][metric].value for m in ("lr", "nb")]
    assert plan.value == pytest.approx(values[0] - values[1])
    if metric == "auc":
        d = trueness.compare_auc(two.folds).pairs[0].difference
        assert plan.n == np.ceil(400 * ((1.959964 + 0.841621) * d.se / d.value) ** 2)
        assert plan.se == pytest.approx(d.se * np.sqrt(400 / plan.n))
    assert plan.power == pytest.approx(0.8, abs=0.01)
    assert plan.n == plan.n_pos + plan.n_neg


def test_a_threshold_is_tested_where_it_was_not_chosen(two):
    folds = two.folds["lr"]
    point = trueness.best_threshold(folds, "accuracy")
    assert (
        point.threshold == trueness.best_threshold(folds.pooled(), "accuracy").threshold
    )
    v = trueness.validate_threshold(folds, "accuracy")
    right = []
    for k, part in enumerate(folds):
        first, *others = [p for j, p in enumerate(folds) if j != k]
        cut = trueness.best_threshold(sum(others, start=first), "accuracy").threshold
        right.append(trueness.at_threshold(part, cut)["accuracy"].value)
    assert v.corrected.value == pytest.approx(np.mean(right))
    assert v.metrics["accuracy"].value == v.corrected.value
    each = trueness.validate_threshold(two.folds, "accuracy")
    assert each["lr"].corrected == v.corrected
    assert trueness.calibrate(folds, method="platt")(0.3) == pytest.approx(
        trueness.calibrate(folds.pooled(), method="platt")(0.3)
    )


def test_nested_is_wider_and_about_the_refitted_model(data):
    found = trueness.cross_validate(
        LogisticRegression(max_iter=500), *data, metrics="auc", repeats=3
    )
    refitted, folds = found.refitted["auc"], found.values["auc"]
    assert refitted.high - refitted.low >= 0.95 * (folds.high - folds.low)
    assert "refitted on all cases" in repr(found)


def test_clusters_stay_in_one_fold(data):
    X, y = data
    cluster = np.arange(400) // 8
    found = trueness.cross_validate(GaussianNB(), X, y, cluster=cluster)
    assert all(p.clusters is not None for p in found.folds)
    words = {"cluster": cluster, "cv": StratifiedKFold(5, shuffle=True)}
    with pytest.raises(InputError, match="share cluster"):
        trueness.cross_validate(GaussianNB(), X, y, **words)
    words["cv"] = GroupKFold(5)
    by_group = trueness.cross_validate(GaussianNB(), X, y, **words)
    assert len(by_group.folds) == 5
    with pytest.raises(InputError, match="needs two models"):
        by_group.plan()


def test_weights_train_and_test(data):
    X, y = data
    w = np.where(X[:, 0] > 0, 2.0, 1.0)
    found = trueness.cross_validate(GaussianNB(), X, y, sample_weight=w, metrics="auc")
    expected = []
    for train, test in StratifiedKFold(5).split(X, y):
        model = GaussianNB().fit(X[train], y[train], sample_weight=w[train])
        p = model.predict_proba(X[test])[:, 1]
        expected.append(roc_auc_score(y[test], p, sample_weight=w[test]))
    assert found.values["auc"].value == pytest.approx(np.mean(expected))


def test_wrong_folds_get_a_sentence(data):
    X, y = data
    with pytest.raises(InputError, match="hold each case once"):
        trueness.cross_validate(GaussianNB(), X, y, cv=ShuffleSplit(3))
    empty = trueness.Tally([1, 0], pos=[0, 0], neg=[2, 1])
    with pytest.raises(NotEnoughCases, match="has no positives"):
        trueness.records.Folds([empty, empty])
    with pytest.raises(InputError, match="two or more tallies"):
        trueness.records.Folds([trueness.Tally([1, 0], pos=[1, 0], neg=[0, 1])])


DISPLAYS = [RocDisplay, PrecisionRecallDisplay, CalibrationDisplay, ThresholdDisplay]


@pytest.fixture
def closing_figures():
    """Close the figures of matplotlib that a test has drawn."""
    import matplotlib.pyplot as plt

    yield
    plt.close("all")


@pytest.fixture(scope="module")
def fitted_lr(data):
    features, label = data
    return LogisticRegression(max_iter=500).fit(features[:200], label[:200])


@pytest.mark.usefixtures("closing_figures")
@pytest.mark.parametrize("display", DISPLAYS)
def test_a_display_of_predictions_is_that_of_the_estimator(display, data, fitted_lr):
    features, label = data
    score = fitted_lr.predict_proba(features[200:])[:, 1]

    drawn = display.from_predictions(label[200:], score, name="lr", despine=True)
    of_model = display.from_estimator(
        fitted_lr, features[200:], label[200:], ax=drawn.ax_
    )

    assert np.array_equal(drawn.curves[0][1], of_model.curves[0][1])
    assert drawn.prevalence_pos_label == label[200:].mean()


@pytest.mark.usefixtures("closing_figures")
@pytest.mark.parametrize("display", DISPLAYS)
def test_a_display_has_its_artists_as_scikit_learn_does(display, data, fitted_lr):
    features, label = data

    drawn = display.from_estimator(fitted_lr, features[200:], label[200:])

    assert drawn.band_ is not None
    assert drawn.line_.axes is drawn.ax_
    assert drawn.figure_ is drawn.ax_.figure


@pytest.mark.usefixtures("closing_figures")
@pytest.mark.parametrize("display", DISPLAYS)
def test_a_display_draws_the_folds_of_scikit_learn(display, data, tmp_path):
    features, label = data
    results = cross_validate(
        GaussianNB(), features, label, cv=4, return_estimator=True, return_indices=True
    )

    folds = display.from_cv_results(results, features, label)

    assert len(folds.line_) == 4
    folds.figure_.savefig(tmp_path / "f.png")

    # the same with labels in words
    words = np.array(["cat", "dog"])
    for model in results["estimator"]:
        model.classes_ = words
    named = display.from_cv_results(results, features, words[label], pos_label="dog")
    assert np.array_equal(named.curves[0][1], folds.curves[0][1])


@pytest.mark.parametrize("display", DISPLAYS)
def test_a_display_needs_models_and_folds(display):
    with pytest.raises(InputError, match="return_indices=True"):
        display.from_cv_results({}, None, None)


@pytest.mark.usefixtures("closing_figures")
@pytest.mark.parametrize("display", DISPLAYS)
def test_a_display_draws_our_own_folds(display, data):
    results = trueness.cross_validate(GaussianNB(), *data, cv=4)

    assert len(display.from_cv_results(results).curves) == 4


@pytest.mark.parametrize("display", DISPLAYS)
def test_a_display_draws_one_model(display, two):
    with pytest.raises(InputError, match="draws one model; found 'lr', 'nb'"):
        display.from_cv_results(two)


@pytest.mark.filterwarnings("ignore:Labels")
@pytest.mark.parametrize("model", [GaussianNB(), LinearSVC()])
def test_words_are_cross_validated_as_numbers_are(data, model):
    features, label = data
    words = np.where(label == 1, "sick", "well")  # the positive one is the first class
    options = {"metrics": ("auc", "recall"), "cv": 3}

    of_numbers = trueness.cross_validate(model, features, label, **options)
    of_words = trueness.cross_validate(model, features, words, **options)
    turned = trueness.cross_validate(model, features, words, positive="well", **options)

    area = of_numbers["auc"].value
    recall = of_numbers["recall"].value
    assert of_words["auc"].value == pytest.approx(area, abs=1e-3)
    assert of_words["recall"].value == pytest.approx(recall, abs=0.01)
    assert turned["recall"].value != of_words["recall"].value


@pytest.mark.filterwarnings("ignore:Labels")
@pytest.mark.parametrize("model", [GaussianNB(), LinearSVC()])
def test_words_are_drawn_as_numbers_are(data, model):
    features, label = data
    words = np.where(label == 1, "sick", "well")

    of_words = PrecisionRecallDisplay.from_estimator(
        model.fit(features, words), features, words
    )
    of_numbers = PrecisionRecallDisplay.from_estimator(
        model.fit(features, label), features, label
    )

    expected = of_numbers.average_precision.value
    assert of_words.average_precision.value == pytest.approx(expected, abs=1e-3)


def test_words_that_are_no_pair_need_a_positive_one(data):
    features, label = data
    words = np.where(label == 1, "ab", "cd")

    with pytest.raises(InputError, match="positive="):
        trueness.cross_validate(GaussianNB(), features, words)


def test_a_display_says_the_interval(data):
    X, y = data
    score = GaussianNB().fit(X[:200], y[:200]).predict_proba(X[200:])[:, 1]
    shown = RocDisplay.from_predictions(y[200:], score)
    e = trueness.auc(y[200:], score)
    assert shown.roc_auc == e
    theirs = RocCurveDisplay.from_predictions(y[200:], score, drop_intermediate=False)
    assert np.trapezoid(shown.tpr, shown.fpr) == pytest.approx(theirs.roc_auc)
    assert set(shown.fpr) == set(theirs.fpr)
    with pytest.raises(AttributeError, match="has no attribute 'recall'"):
        _ = shown.recall
    assert f"AUC = {e.value:.3f}" in shown.line_.get_label()
    assert shown.chance_level_ is not None


def test_a_metric_and_the_trained_models_are_found_by_name(data):
    X, y = data
    both = trueness.cross_validate(
        {"a": LogisticRegression(), "b": GaussianNB()}, X, y, metrics=["auc", "recall"]
    )
    alone = trueness.cross_validate(LogisticRegression(), X, y, metrics="auc")

    assert alone["auc"] == both["a"]["auc"]
    assert [type(model) for model in both.estimators["b"]] == [GaussianNB] * 5
    first_fold = next(iter(alone.folds))
    scores = np.unique(alone.estimators[0].predict_proba(X)[:, 1])
    assert np.isin(first_fold.score, scores).all()
    with pytest.raises(KeyError, match="there are 'auc'"):
        alone["recall"]
