"""FiDEL as a scikit-learn classifier."""

import numpy as np
import pandas as pd
import pytest
from joblib import parallel_config
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.datasets import make_classification
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.linear_model import LogisticRegression, RidgeClassifier
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import GridSearchCV, KFold
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier
from sklearn.utils.estimator_checks import parametrize_with_checks

import trueness
from trueness.estimators import FiDELClassifier

quiet = pytest.mark.filterwarnings("ignore::trueness.DoubtfulAssumptionWarning")


def base():
    return [
        ("line", LogisticRegression()),
        ("tree", DecisionTreeClassifier(max_depth=4, random_state=0)),
        ("bayes", GaussianNB()),
        ("ridge", RidgeClassifier()),  # has no predict_proba
    ]


@pytest.fixture(scope="module")
def data():
    X, y = make_classification(
        2400, 12, n_informative=6, weights=[0.7], flip_y=0.1, random_state=3
    )
    return X[:1600], y[:1600], X[1600:], y[1600:]


@pytest.mark.filterwarnings("ignore")
@parametrize_with_checks(
    [
        FiDELClassifier(
            [("lda", LinearDiscriminantAnalysis()), ("bayes", GaussianNB())],
            random_state=0,
            **words,
        )
        for words in ({}, {"partition": "same", "method": "correlated"})
    ]
)
def test_scikit_learn_checks(estimator, check):
    check(estimator)


@quiet
@pytest.mark.parametrize("partition", ["disjoint", "same"])
@pytest.mark.parametrize("method", ["independent", "correlated"])
def test_it_ranks_new_cases_well(data, partition, method):
    X, y, new, truth = data
    model = FiDELClassifier(base(), partition=partition, method=method, random_state=0)
    p = model.fit(X, y).predict_proba(new)
    assert p.sum(axis=1) == pytest.approx(1)
    singles = [
        roc_auc_score(truth, trueness.estimators.fidel._scores_of_model(m, new))
        for m in model.estimators_
    ]
    assert roc_auc_score(truth, p[:, 1]) > max(singles) - 0.02
    assert p[:, 1].mean() == pytest.approx(truth.mean(), abs=0.06)
    assert list(model.predict(new)) == list(model.classes_[p.argmax(axis=1)])


@quiet
def test_disjoint_parts_are_never_judged_on_their_own(data):
    X, y, _, _ = data
    model = FiDELClassifier([*base(), ("knn", KNeighborsClassifier(1))], random_state=1)
    model.fit(X, y)
    # a neighbour that is the case itself has an AUC of 1 on its own part
    assert model.combiner_.auc[-1] < 0.95
    assert model.combiner_.names == ("line", "tree", "bayes", "ridge", "knn")
    seen = model.combiner_.cases[-1].sum()
    assert seen == pytest.approx(len(y) * 4 / 5, abs=2)


@quiet
def test_groups_stay_together():
    rng = np.random.default_rng(0)
    group = np.repeat(np.arange(300), 4)
    truth = rng.integers(0, 2, 300)
    X = np.repeat(rng.normal(size=(300, 5)), 4, axis=0)
    y = np.repeat(truth, 4)  # labels that cannot be known, but copies that leak
    models = [(f"knn{k}", KNeighborsClassifier(1)) for k in range(3)]
    loose = FiDELClassifier(models, random_state=0).fit(X, y)
    tight = FiDELClassifier(models, random_state=0).fit(X, y, groups=group)
    assert loose.combiner_.auc.min() > 0.7
    assert np.abs(tight.combiner_.auc - 0.5).max() < 0.1


@quiet
def test_labels_of_any_kind_frames_pipelines_and_search(data):
    X, y, new, _ = data
    words = np.where(y == 1, "yes", "no")
    frame = pd.DataFrame(X, columns=[f"f{k}" for k in range(X.shape[1])])
    model = make_pipeline(StandardScaler(), FiDELClassifier(base(), random_state=0))
    assert set(model.fit(frame, words).predict(frame[:20])) <= {"yes", "no"}
    search = GridSearchCV(
        FiDELClassifier(base(), random_state=0),
        {"tree__max_depth": [1, 5], "partition": ["disjoint", "same"]},
        cv=2,
        scoring="roc_auc",
    ).fit(X, y)
    assert search.best_params_["tree__max_depth"] in (1, 5)
    twin = clone(search.best_estimator_).fit(X, y)
    known = search.best_estimator_.predict_proba(new)
    assert twin.predict_proba(new) == pytest.approx(known)
    assert twin.set_params(bayes=LogisticRegression()).estimators[2][0] == "bayes"


@pytest.fixture
def few(data):
    """The first 400 cases, for tests that need no precision."""
    X, y, new, _ = data
    return X[:400], y[:400], new


def test_jobs_do_not_move_probabilities(few):
    X, y, new = few

    one_job = FiDELClassifier(base(), cv=6, random_state=0).fit(X, y)
    with parallel_config("threading"):  # processes take seconds to start
        two_jobs = FiDELClassifier(base(), cv=6, random_state=0, n_jobs=2).fit(X, y)

    assert one_job.predict_proba(new) == pytest.approx(two_jobs.predict_proba(new))


def test_models_without_a_name_are_named_after_their_class(few):
    X, y, _ = few
    models = [model for _, model in base()]
    equal_models = [DecisionTreeClassifier(max_depth=2)] * 3

    of_different = FiDELClassifier(models, random_state=0).fit(X, y)
    of_equal = FiDELClassifier(equal_models, random_state=0).fit(X, y)

    assert of_different.combiner_.names[0] == "logisticregression"
    assert "decisiontreeclassifier-2" in of_equal.named_estimators_


def test_a_splitter_makes_the_parts(few):
    X, y, new = few

    model = FiDELClassifier(base(), cv=KFold(4)).fit(X, y)

    assert model.predict(new).shape == (800,)


def test_a_higher_prevalence_predicts_more_positives(few):
    X, y, new = few

    as_in_sample = FiDELClassifier(base(), cv=6, random_state=0).fit(X, y)
    half = FiDELClassifier(base(), cv=6, prevalence=0.5, random_state=0).fit(X, y)

    assert half.predict(new).mean() > as_in_sample.predict(new).mean()


class OnlyPredicts(ClassifierMixin, BaseEstimator):
    """Says yes above the mean of the first feature, and nothing more."""

    def fit(self, X, y):
        self.classes_ = np.unique(y)
        self.at_ = X[:, 0].mean()
        self.up_ = y[X[:, 0] > self.at_].mean() > y.mean()
        return self

    def predict(self, X):
        return self.classes_[((X[:, 0] > self.at_) == self.up_).astype(int)]


@quiet
def test_classifiers_that_only_predict(data):
    X, y, new, _ = data
    model = FiDELClassifier([*base(), ("plain", OnlyPredicts())], random_state=0)
    model.fit(X, y)
    assert set(model.combiner_.scores[-1]) == {0.0, 1.0}
    assert np.isfinite(model.decision_function(new)).all()


def test_a_warning_passes_through():
    X, y = make_classification(2000, 6, n_informative=4, random_state=0)
    stumps = [(f"stump{k}", DecisionTreeClassifier(max_depth=1)) for k in range(6)]
    good = ("good", KNeighborsClassifier(20))
    model = FiDELClassifier([*stumps, good], partition="same", random_state=0)
    with pytest.warns(trueness.DoubtfulAssumptionWarning):
        model.fit(X, y)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"partition": "own"}, "partition must be one of"),
        ({"estimators": []}, "must be a list of"),
        ({"estimators": [("a", 3)]}, "must be a list of"),
        ({"cv": 1}, "cv must be a whole number, 2 or more"),
        ({"y": np.ones(60)}, "one class only"),
        ({"y": np.arange(60) % 3}, "Only binary classification"),
        ({"y": np.arange(60) == 9}, "2 cases of each class"),
    ],
)
def test_errors(change, message):
    X, y = make_classification(60, random_state=0)
    arguments = {"estimators": base(), "random_state": 0, "y": y} | change
    y = arguments.pop("y")
    with pytest.raises(ValueError, match=message):
        FiDELClassifier(**arguments).fit(X, y)
