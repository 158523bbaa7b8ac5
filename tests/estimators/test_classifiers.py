"""Calibrator and ThresholdClassifier: scikit-learn's rules, and scores out of fold."""

import pickle

import numpy as np
import pytest
from sklearn import config_context
from sklearn.base import clone
from sklearn.datasets import make_classification
from sklearn.ensemble import RandomForestClassifier
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.metrics import brier_score_loss, f1_score, log_loss, make_scorer
from sklearn.model_selection import (
    GridSearchCV,
    GroupKFold,
    KFold,
    StratifiedKFold,
    cross_val_predict,
    cross_val_score,
)
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC
from sklearn.utils.estimator_checks import parametrize_with_checks

import trueness
from trueness import InputError
from trueness.estimators import Calibrator, ThresholdClassifier, metric_scorer


@pytest.fixture(scope="module")
def cases():
    return make_classification(500, 6, weights=[0.75], flip_y=0.15, random_state=2)


@pytest.fixture(scope="module")
def data():
    return make_classification(600, n_informative=4, flip_y=0.1, random_state=0)


@pytest.mark.filterwarnings("ignore")
@parametrize_with_checks(
    [
        Calibrator(LinearSVC(), method="isotonic"),
        ThresholdClassifier(),
        ThresholdClassifier(LinearSVC(), maximize="accuracy", cv=3),
    ]
)
def test_scikit_learn_checks(estimator, check):
    check(estimator)


@pytest.mark.parametrize("method", ["auto", "isotonic"])
def test_it_calibrates_naive_bayes(data, method):
    x, y = data
    raw = GaussianNB().fit(x[:400], y[:400]).predict_proba(x[400:])[:, 1]
    c = Calibrator(GaussianNB(), method=method).fit(x[:400], y[:400])
    p = c.predict_proba(x[400:])
    np.testing.assert_allclose(p.sum(axis=1), 1)
    assert brier_score_loss(y[400:], p[:, 1]) < brier_score_loss(y[400:], raw)


def test_the_map_is_fitted_on_scores_of_models_that_did_not_see_the_case(data):
    x, y = data
    folds = KFold(4)
    forest = RandomForestClassifier(20, random_state=0)
    c = Calibrator(forest, method="platt", cv=folds).fit(x, y)
    score = cross_val_predict(forest, x, y, cv=folds, method="predict_proba")[:, 1]
    assert c.tally_ == trueness.tally(y, score)
    assert c.map_ == trueness.calibrate(c.tally_, method="platt")


def test_training_probabilities_come_from_maps_that_did_not_see_the_case(data):
    x, y = data
    folds = list(KFold(4).split(x))
    c = Calibrator(GaussianNB(), method="isotonic", cv=folds).fit(x, y)
    score = cross_val_predict(GaussianNB(), x, y, cv=folds, method="predict_proba")
    for rest, test in folds:
        others = trueness.tally(y[rest], score[rest, 1])
        by_hand = trueness.calibrate(others, method="isotonic")(score[test, 1])
        np.testing.assert_array_equal(c.training_probability_[test], by_hand)


def test_a_frozen_model_is_not_trained_again(data):
    x, y = data
    model = make_pipeline(StandardScaler(), LogisticRegression()).fit(x[:300], y[:300])
    c = Calibrator(FrozenEstimator(model), method="platt").fit(x[300:], y[300:])
    score = model.predict_proba(x[300:])[:, 1]
    assert c.tally_ == trueness.tally(y[300:], score)
    known = trueness.calibrate(c.tally_, method="platt")(score)
    np.testing.assert_allclose(c.predict_proba(x[300:])[:, 1], known)


def test_in_a_pipeline_with_text_labels_and_a_search(data):
    x, y = data
    words = np.where(y == 1, "yes", "no")
    pipe = make_pipeline(StandardScaler(), Calibrator(GaussianNB(), method="platt"))
    pipe.fit(x, words)
    assert pipe.classes_.tolist() == ["no", "yes"]
    assert set(pipe.predict(x)) == {"no", "yes"}
    assert cross_val_score(pipe, x, words, cv=3).mean() > 0.6
    grid = {"calibrator__method": ["platt", "beta"]}
    search = GridSearchCV(pipe, grid, scoring="neg_log_loss", cv=3).fit(x, words)
    assert search.best_params_["calibrator__method"] in ("platt", "beta")
    assert log_loss(words, pipe.predict_proba(x)) < 1


def test_groups_stay_together(data):
    x, y = data
    x, y = np.repeat(x, 2, axis=0), np.repeat(y, 2)
    groups = np.repeat(np.arange(len(x) // 2), 2)
    forest = RandomForestClassifier(10, random_state=0)
    c = Calibrator(forest, method="platt", cv=GroupKFold(3))
    apart = clone(c).set_params(cv=KFold(3, shuffle=True, random_state=0)).fit(x, y)
    together = c.fit(x, y, groups=groups)
    # copies that leak make a forest look better than it is
    assert trueness.auc(together.tally_).value < trueness.auc(apart.tally_).value


@pytest.mark.parametrize(
    ("model", "label", "message"),
    [
        (Calibrator(method="magic"), None, "method must be one of"),
        (Calibrator(response_method="predict"), None, "response_method must be one of"),
        (
            Calibrator(LinearSVC(), response_method="predict_proba"),
            None,
            "no predict_proba",
        ),
        (Calibrator(LinearRegression()), None, "no predict_proba and no decision_func"),
        (Calibrator(), np.arange(600) % 3, "Only binary classification"),
        (Calibrator(), np.ones(600), "found one class: 1"),
        (ThresholdClassifier(pos_label="x"), None, "pos_label must be one of"),
        (ThresholdClassifier(cv="fitted"), None, "cv must be one of.*prefit"),
        (ThresholdClassifier(subject_to="recall >= 2"), None, "recall"),
    ],
)
def test_wrong_input_is_answered_by_a_sentence(data, model, label, message):
    with pytest.raises(InputError, match=message):
        model.fit(data[0], data[1] if label is None else label)


def test_margins_and_options_of_the_map(data):
    margins = Calibrator(method="platt", response_method="decision_function").fit(*data)
    assert margins.tally_.score.min() < 0
    c = Calibrator(GaussianNB(), method="histogram", options={"bins": 4}).fit(*data)
    assert c.map_.probability.size == 4


def test_the_cut_is_the_best_of_all_scores_out_of_fold(cases):
    X, y = cases
    model = ThresholdClassifier(LogisticRegression(), maximize="f1", cv=4).fit(X, y)
    score = cross_val_predict(
        LogisticRegression(), X, y, cv=StratifiedKFold(4), method="predict_proba"
    )[:, 1]
    by_hand = max(f1_score(y, score >= s) for s in np.unique(score))
    assert model.operating_point_.value == pytest.approx(by_hand, abs=1e-12)
    flagged = model.estimator_.predict_proba(X)[:, 1] >= model.threshold_
    assert (model.predict(X) == flagged).all()
    assert model.tally_ == trueness.tally(y, score)


def with_enough_recall(**parameters):
    """Return a classifier that maximises precision where recall is 0.9 or more."""
    return ThresholdClassifier(
        maximize="precision", subject_to=["recall >= 0.9"], **parameters
    )


def test_a_constraint_is_kept_on_the_cases_of_the_fit(cases):
    X, y = cases

    model = with_enough_recall().fit(X, y)

    counts = model.operating_point_.confusion
    assert counts.tp / (counts.tp + counts.fn) >= 0.9


def test_a_surer_guarantee_has_a_lower_threshold(cases):
    X, y = cases

    expected = with_enough_recall().fit(X, y)
    guaranteed = with_enough_recall(guarantee=True).fit(X, y)
    surer = with_enough_recall(guarantee=0.999).fit(X, y)

    point = guaranteed.operating_point_
    assert isinstance(point, trueness.records.GuaranteedThreshold)
    assert point.level == 0.95
    assert surer.threshold_ <= guaranteed.threshold_ <= expected.threshold_


def test_either_class_can_be_the_positive_one(cases):
    X, y = cases
    names = np.array(["no", "yes"])[y]

    model = with_enough_recall(pos_label="no").fit(X, names)

    counts = model.operating_point_.confusion
    assert counts.tp + counts.fn == (names == "no").sum()
    score_of_no = model.estimator_.predict_proba(X)[:, 0]
    is_flagged = model.predict(X) == "no"
    assert (is_flagged == (score_of_no >= model.threshold_)).all()


def test_costs_are_an_objective(cases):
    X, y = cases
    cost = trueness.cost(fp=1, fn=5)

    model = ThresholdClassifier(minimize=cost).fit(X, y)

    best = trueness.best_threshold(model.tally_, minimize=cost)
    assert model.operating_point_.value == best.value


def test_a_fitted_model_is_only_cut(cases):
    X, y = cases
    trained = LogisticRegression().fit(X[:250], y[:250])
    one = ThresholdClassifier(trained, cv="prefit").fit(X[250:], y[250:])
    two = ThresholdClassifier(FrozenEstimator(trained)).fit(X[250:], y[250:])
    score = trained.predict_proba(X[250:])[:, 1]
    best = trueness.best_threshold(trueness.tally(y[250:], score), maximize="f1")
    assert one.threshold_ == two.threshold_ == best.threshold
    assert one.estimator_ is trained


def test_it_travels_and_sits_in_searches(cases):
    X, y = cases
    model = ThresholdClassifier(make_pipeline(StandardScaler(), LogisticRegression()))
    same = pickle.loads(pickle.dumps(clone(model).fit(X, y)))  # noqa: S301
    assert (same.predict(X) == model.fit(X, y).predict(X)).all()
    grid = {"estimator__logisticregression__C": [0.1, 1.0], "maximize": ["f1", "tpr"]}
    search = GridSearchCV(model, grid, cv=3).fit(X, y)
    assert 0.5 < search.best_score_ <= 1


def test_metadata_is_routed(cases):
    X, y = cases
    groups = np.arange(500) // 5
    plain = ThresholdClassifier(cv=GroupKFold(4)).fit(X, y, groups=groups)
    with config_context(enable_metadata_routing=True):
        inner = LogisticRegression().set_fit_request(sample_weight=True)
        model = ThresholdClassifier(inner, cv=GroupKFold(4))
        weight = np.where(y == 1, 5.0, 1.0)
        model.fit(X, y, groups=groups, sample_weight=weight)
        other = LogisticRegression().fit(X, y, sample_weight=weight)
    np.testing.assert_allclose(model.estimator_.coef_, other.coef_)
    assert plain.threshold_ != model.threshold_


def test_scorers(cases):
    X, y = cases
    model = LogisticRegression().fit(X, y)
    t = trueness.tally(y, model.decision_function(X))
    scorer = metric_scorer("recall", subject_to="precision >= 0.7")
    best = trueness.best_threshold(t, "recall", subject_to="precision >= 0.7")
    assert scorer(model, X, y) == best.value
    area = make_scorer(trueness.auc, response_method="predict_proba")
    for scoring in (scorer, area):
        found = cross_val_score(LogisticRegression(), X, y, scoring=scoring, cv=3)
        assert ((found > 0) & (found <= 1)).all()
    assert metric_scorer("fpr")(model, X, y) <= 0
    assert metric_scorer("recall", subject_to="precision > 1")(model, X, y) == 0
    pickle.loads(pickle.dumps(scorer))  # noqa: S301


def test_a_rule_that_was_chosen_before():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(200, 2)), rng.integers(0, 2, 200)
    fitted = ThresholdClassifier(rule=trueness.Rule(0.52)).fit(X, y)
    p = fitted.estimator_.predict_proba(X)[:, 1]
    assert (fitted.predict(X) == (p >= 0.52)).all()
    assert fitted.operating_point_ is None
    unsure = ThresholdClassifier(rule=trueness.Rule(0.52, lower=0.48)).fit(X, y)
    assert np.array_equal(np.isnan(unsure.decide(X)), (p >= 0.48) & (p < 0.52))
    with pytest.raises(trueness.InputError, match="needs one threshold for all cases"):
        unsure.predict(X)
