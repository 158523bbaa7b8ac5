"""Calibrator: checks of scikit-learn, pipelines, frozen models, folds."""

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.datasets import make_classification
from sklearn.ensemble import RandomForestClassifier
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.metrics import brier_score_loss, log_loss
from sklearn.model_selection import (
    GridSearchCV,
    GroupKFold,
    KFold,
    cross_val_predict,
    cross_val_score,
)
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC
from sklearn.utils.estimator_checks import parametrize_with_checks

import trueness
from trueness.estimators import Calibrator


@pytest.fixture(scope="module")
def data():
    return make_classification(600, n_informative=4, flip_y=0.1, random_state=0)


@parametrize_with_checks([Calibrator(LinearSVC(), method="isotonic")])
@pytest.mark.filterwarnings("ignore")
def test_scikit_learn_accepts_it(estimator, check):
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
    ("model", "message"),
    [
        (Calibrator(method="magic"), "method must be one of"),
        (Calibrator(response_method="predict"), "response_method must be one of"),
        (Calibrator(LinearSVC(), response_method="predict_proba"), "no predict_proba"),
        (Calibrator(LinearRegression()), "no predict_proba and no decision_func"),
    ],
)
def test_words(data, model, message):
    with pytest.raises(trueness.InputError, match=message):
        model.fit(*data)


def test_words_of_labels_and_what_is_scored(data):
    x, y = data
    with pytest.raises(trueness.InputError, match="Only binary classification"):
        Calibrator().fit(x, np.arange(len(y)) % 3)
    with pytest.raises(trueness.InputError, match="found one class: 1"):
        Calibrator().fit(x, np.ones(len(y)))
    margins = Calibrator(method="platt", response_method="decision_function").fit(x, y)
    assert margins.tally_.score.min() < 0
    c = Calibrator(GaussianNB(), method="histogram", options={"bins": 4}).fit(x, y)
    assert c.map_.probability.size == 4
