"""How does scikit-learn get probabilities that mean what they say, or the best cut?

The training cases are scored by cross-validation, each by a model that did not see it;
on these scores a map is fitted, or a threshold chosen, and the model is then trained on
all cases.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin, MetaEstimatorMixin, clone
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import check_cv, cross_val_predict
from sklearn.utils import Bunch, get_tags
from sklearn.utils.metadata_routing import (
    MetadataRouter,
    MethodMapping,
    _routing_enabled,
    process_routing,
)
from sklearn.utils.multiclass import check_classification_targets, type_of_target
from sklearn.utils.validation import (
    assert_all_finite,
    check_is_fitted,
    column_or_1d,
    indexable,
)

from trueness._core.arrays import Array, Floats
from trueness._core.checks import columns as _columns
from trueness._core.checks import options as _options
from trueness._core.checks.errors import InputError
from trueness._core.checks.words import listing
from trueness._core.data_types import Column, Features, LabelValue
from trueness.calibration.calibrators import calibrate, calibrator_name
from trueness.counts.counting import count_tally, read_labels
from trueness.counts.values import Tally
from trueness.data.cleaning import read_label_column
from trueness.estimators.model_types import Classifier, FoldsOrSplitter
from trueness.metrics.algebra import Constraint, Metric
from trueness.threshold.constraints import DEFAULT_OBJECTIVE
from trueness.threshold.guarantees import GuaranteedThreshold, guaranteed_threshold
from trueness.threshold.operating_point import best_threshold
from trueness.threshold.rule import Rule, rule_of

RESPONSES = ("auto", "predict_proba", "decision_function")


class Wrapper(ClassifierMixin, MetaEstimatorMixin, BaseEstimator):  # type: ignore[misc]
    """A classifier of two classes around a model, logistic regression by default."""

    estimator: Any
    n_jobs: int | None

    def _model_to_train(self) -> Any:
        return LogisticRegression() if self.estimator is None else self.estimator

    def _copy_feature_names(self) -> None:
        """Know the features that the fitted model knows."""
        for name in ("n_features_in_", "feature_names_in_"):
            if hasattr(self.estimator_, name):
                setattr(self, name, getattr(self.estimator_, name))

    def _out_of_fold_scores(
        self,
        rows: Features,
        y: Column,
        folds: list[Any],
        response: str,
        params: Mapping[str, object] | None = None,
    ) -> Any:
        """Score each case by a model that did not see it."""
        test_cases = np.concatenate([test for _, test in folds])
        if not np.array_equal(np.sort(test_cases), np.arange(len(test_cases))):
            raise InputError(
                "cv must score each case once; some cases are in no test fold, or in "
                "several. Use KFold or StratifiedKFold.",
                option="cv",
                example=5,
            )

        score = cross_val_predict(
            clone(self._model_to_train()),
            rows,
            y,
            cv=folds,
            method=response,
            n_jobs=self.n_jobs,
            params=params,
        )

        return score[:, 1] if score.ndim == 2 else score

    def __sklearn_tags__(self) -> Any:
        """Tell scikit-learn what can be passed: what the model takes."""
        tags = super().__sklearn_tags__()
        inner = get_tags(self._model_to_train()).input_tags
        tags.classifier_tags.multi_class = False
        tags.input_tags.sparse = inner.sparse
        tags.input_tags.pairwise = inner.pairwise
        tags.input_tags.allow_nan = inner.allow_nan

        return tags


class Calibrator(Wrapper):
    """A classifier with calibrated probabilities, by cross-validation.

    A map of :func:`trueness.calibrate` is fitted on scores from cross-validation.

    Parameters
    ----------
    estimator
        A binary classifier with ``predict_proba`` or ``decision_function``; default
        logistic regression. Pass a trained model as ``FrozenEstimator(model)``; the
        cases of ``fit`` then only calibrate it.
    method, options
        A name from ``trueness.CALIBRATORS``, and its options, such as ``{"bins": 20}``.
    cv
        Number of stratified folds, or any splitter of scikit-learn that scores each
        case once (``GroupKFold`` with ``groups=`` keeps copies of a record together).
    response_method
        Which output is taken: "predict_proba", "decision_function", or "auto" for the
        first of these that the model has.
    n_jobs
        Folds that are trained at the same time.

    Attributes
    ----------
    estimator_, classes_
        The model trained on all cases; the labels, of which the second is positive.
    map_, tally_
        From score to probability; the cross-validated scores that it was fitted on.
    training_probability_ : array (n,)
        A probability for each training case, from a model and a map that were both
        fitted without it. To evaluate on the training data use these, never
        ``predict_proba``.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.naive_bayes import GaussianNB
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> c = Calibrator(GaussianNB(), method="isotonic").fit(X, y)
    >>> c.predict_proba(X[:2]).shape
    (2, 2)
    """

    def __init__(
        self,
        estimator: Classifier | None = None,
        *,
        method: str = "auto",
        cv: FoldsOrSplitter = 5,
        response_method: str = "auto",
        options: Mapping[str, Any] | None = None,
        n_jobs: int | None = None,
    ) -> None:
        self.estimator = estimator
        self.method = method
        self.cv = cv
        self.response_method = response_method
        self.options = options
        self.n_jobs = n_jobs

    def fit(self, X: Features, y: Column, *, groups: Column | None = None) -> Self:  # noqa: N803
        """Train, score by cross-validation and calibrate.

        ``groups`` are for a splitter that keeps those of one group in one fold.
        """
        calibrator_name(self.method)
        _options.choice(self.response_method, RESPONSES, "response_method")
        label, self.classes_ = two_labels(y, type(self).__name__)

        # a splitter may shuffle: one list of folds serves the models and the maps
        folds = list(check_cv(self.cv, label, classifier=True).split(X, label, groups))
        base = self._model_to_train()
        response = response_of(base, self.response_method, "calibrate")
        score = self._out_of_fold_scores(X, label, folds, response)

        self.estimator_ = clone(base).fit(X, label)
        self.tally_ = tally_of(label, score, self.classes_[1])
        self.map_ = self._map(self.tally_)
        self._training = (label, score, [test for _, test in folds])
        self._copy_feature_names()

        return self

    def _map(self, tally: Tally) -> Any:
        return calibrate(tally, method=self.method, **(self.options or {}))

    @property
    def training_probability_(self) -> Floats:
        """Probabilities of training cases, by models and maps fitted without them."""
        check_is_fitted(self)
        label, score, folds = self._training
        probability = np.full(len(label), np.nan)

        for test in folds:
            is_other = np.ones(len(label), dtype=bool)
            is_other[test] = False
            others = tally_of(label[is_other], score[is_other], self.classes_[1])
            probability[test] = self._map(others)(score[test])

        return probability

    def predict_proba(self, X: Features) -> Floats:  # noqa: N803
        """Return the probabilities of both classes, in the order of ``classes_``."""
        check_is_fitted(self)
        response = response_of(self.estimator_, self.response_method, "calibrate")
        p = self.map_(scores_of(self.estimator_, X, response))
        return np.stack([1 - p, p], axis=1)

    def predict(self, X: Features) -> Any:  # noqa: N803
        """Return the more probable class; the first where both are equally likely."""
        check_is_fitted(self)
        return self.classes_[np.argmax(self.predict_proba(X), axis=1)]


class ThresholdClassifier(Wrapper):
    """A classifier at the threshold where a metric is best and constraints are met.

    Every distinct threshold of scores from cross-validation is tried, and the best one
    that meets the constraints is taken (:func:`trueness.best_threshold`).

    Parameters
    ----------
    estimator, response_method, n_jobs
        As in :class:`Calibrator`. A trained model can also be passed with
        ``cv="prefit"``. The cases of ``fit`` then only choose the threshold, and should
        be cases that the model was not trained on.
    maximize, minimize, subject_to
        One objective, a metric or text such as ``"0.7*accuracy + 0.3*recall"``, and
        constraints, ``["recall >= 0.9"]``.
    rule
        A :class:`trueness.Rule` that was chosen before; ``fit`` then only trains the
        model. ``predict`` needs a rule with one threshold, ``decide`` takes any.
    guarantee
        Choose the threshold by :func:`trueness.guaranteed_threshold`: the constraints
        hold in the population with this confidence. True means 0.95.
    cv
        Number of stratified folds, a splitter of scikit-learn that scores each case
        once, or "prefit".
    pos_label
        The class that counts as positive; by default the second one.

    Attributes
    ----------
    threshold_, rule_
        The threshold that a positive score reaches; and the same as a rule, which can
        be saved and written as SQL.
    operating_point_ : OperatingPoint or GuaranteedThreshold
        The record of the choice; None if the rule was passed.
    tally_, estimator_, classes_
        The scores that the threshold was chosen on, the model trained on all cases, and
        the labels.

    Notes
    -----
    ``trueness.validate_threshold(c.tally_, ...)`` says by how much the value in
    ``operating_point_`` is optimistic. A guarantee is strict for a model that did not
    see the cases (``cv="prefit"``). ``sample_weight`` is passed to the model; the
    threshold is chosen on unweighted cases, without those whose weight is zero.

    Examples
    --------
    >>> from sklearn.datasets import make_classification
    >>> X, y = make_classification(400, weights=[0.8], random_state=0)
    >>> c = ThresholdClassifier(maximize="precision", subject_to=["recall >= 0.9"])
    >>> c.fit(X, y).operating_point_.constraints["recall >= 0.9"] >= 0.9
    True
    """

    def __init__(
        self,
        estimator: Classifier | None = None,
        *,
        maximize: str | Metric = "f1",
        minimize: str | Metric | None = None,
        subject_to: str | Constraint | Iterable[str | Constraint] = (),
        rule: Rule | None = None,
        guarantee: bool | float = False,
        cv: FoldsOrSplitter = 5,
        pos_label: LabelValue = None,
        response_method: str = "auto",
        n_jobs: int | None = None,
    ) -> None:
        self.estimator = estimator
        self.maximize = maximize
        self.minimize = minimize
        self.subject_to = subject_to
        self.rule = rule
        self.guarantee = guarantee
        self.cv = cv
        self.pos_label = pos_label
        self.response_method = response_method
        self.n_jobs = n_jobs

    def fit(self, X: Features, y: Column, **params: Any) -> Self:  # noqa: N803
        """Train, score by cross-validation and choose the threshold.

        ``groups`` go to the splitter, all other parameters to ``fit`` of the model;
        with metadata routing enabled, each goes where it was requested.
        """
        _options.choice(self.response_method, RESPONSES, "response_method")
        label, self.classes_ = two_labels(y, type(self).__name__)
        if self.pos_label is not None:
            class_of(self.pos_label, self.classes_.tolist(), "pos_label")

        X, label = indexable(X, label)  # noqa: N806 - the name of scikit-learn
        has_weight = _cases_with_weight(label, params.get("sample_weight", 1.0))

        routed = self._routed(params)
        if isinstance(self.cv, str):
            _options.choice(self.cv, ("prefit",), "cv")
            self.estimator_ = self._model_to_train()
            score = self._score_of_positive(self.estimator_, X)
        else:
            score = self._train(X, label, routed)

        # a rule that was passed is used as it is; else the threshold is chosen here
        self.operating_point_ = None
        if self.rule is None:
            self.tally_ = tally_of(
                label[has_weight], score[has_weight], self._positive_class()
            )
            self.operating_point_ = self._at_usual_cut(self._choose())

        self.rule_ = rule_of(self.rule or self.operating_point_)
        self.threshold_ = np.nan
        if not (self.rule_.groups or self.rule_.defers):
            self.threshold_ = self.rule_.cuts()[1]

        self._copy_feature_names()
        return self

    def _train(self, rows: Features, label: Array, routed: Any) -> Any:
        """Train the model on all cases, and return their scores of cross-validation.

        Without a threshold to choose no case needs a score: the scores are None.
        """
        base = self._model_to_train()
        splitter = check_cv(self.cv, label, classifier=True)
        folds = list(splitter.split(rows, label, **routed.splitter.split))
        response = response_of(base, self.response_method, "cut")
        fit_params = dict(routed.estimator.fit)

        score: Floats | None = None
        if self.rule is None:
            score = self._out_of_fold_scores(rows, label, folds, response, fit_params)
            score = self._towards_positive(score, response)

        self.estimator_ = clone(base).fit(rows, label, **fit_params)
        return score

    def _routed(self, params: Mapping[str, Any]) -> Any:
        """Return which parameters go to the splitter, and which to the model."""
        if _routing_enabled():
            return process_routing(self, "fit", **params)

        for_splitter = {}
        for_model = {}
        for name, value in params.items():
            if name == "groups":
                for_splitter[name] = value
            else:
                for_model[name] = value

        return Bunch(estimator=Bunch(fit=for_model), splitter=Bunch(split=for_splitter))

    def _positive_class(self) -> Any:
        return self.classes_[1] if self.pos_label is None else self.pos_label

    def _score_of_positive(self, model: Classifier, rows: Features) -> Any:
        """Return one score per case, higher for the positive class."""
        response = response_of(model, self.response_method, "cut")
        return self._towards_positive(scores_of(model, rows, response), response)

    def _towards_positive(self, score: Floats, response: str) -> Any:
        """Turn scores of the second class round where the first one is positive."""
        if self._positive_class() == self.classes_[1]:
            return score
        if response == "predict_proba":
            return 1 - score
        return -score

    def _choose(self) -> Any:
        """Return the best threshold, or the best that keeps a guarantee."""
        maximize = self.maximize if self.minimize is None else None

        if self.guarantee is False:
            return best_threshold(
                self.tally_,
                DEFAULT_OBJECTIVE if maximize is None else maximize,
                self.subject_to,
                minimize=self.minimize,
            )

        level = 0.95 if self.guarantee is True else self.guarantee

        return guaranteed_threshold(
            self.tally_,
            self.subject_to,
            level=_options.fraction(level, "guarantee"),
            maximize=maximize,
            minimize=self.minimize,
        )

    def _at_usual_cut(self, point: Any) -> Any:
        """Take 1/2, or 0 of a decision function, where that is as good as the best.

        Every threshold of an interval flags the same of these cases; the usual one
        then agrees with what the model itself predicts of new ones.
        """
        response = response_of(self.estimator_, self.response_method, "cut")
        usual_cut = 0.5 if response == "predict_proba" else 0.0
        if getattr(point, "lower_range", None):
            return point

        for low, high in getattr(point, "score_ranges", (point.score_range,)):
            if not low < usual_cut <= high:
                continue
            if isinstance(point, GuaranteedThreshold):
                return replace(point, score_range=(low, high), rule=Rule(usual_cut))
            return replace(point, score_range=(low, high), threshold=usual_cut)

        return point

    def decide(self, X: Features, group: Column | None = None) -> Floats:  # noqa: N803
        """What does the rule say of each case? 1 is flagged, 0 is not, NaN is deferred.

        ``group`` has the group of each case, for a rule that names groups.
        """
        check_is_fitted(self, "rule_")
        return self.rule_.decide(self._score_of_positive(self.estimator_, X), group)

    def predict(self, X: Features) -> Any:  # noqa: N803
        """Return the positive class where the score reaches the threshold."""
        check_is_fitted(self, "threshold_")

        if np.isnan(self.threshold_):
            raise InputError(
                f"predict needs one threshold for all cases; found {self.rule_!r}. "
                "Call decide(X), which leaves deferred cases open, or decide(X, group)."
            )

        return self.classes_[(self.decision_function(X) > 0).astype(int)]

    def decision_function(self, X: Features) -> Floats:  # noqa: N803
        """How far is each case from the threshold? Above zero means ``classes_[1]``.

        The probabilities of the model, which do not depend on the threshold, are in
        ``estimator_.predict_proba``.
        """
        check_is_fitted(self, "threshold_")
        margin = self._score_of_positive(self.estimator_, X) - self.threshold_
        # a score at the threshold is flagged: it must not look undecided
        margin = np.where(margin == 0, np.finfo(np.float64).tiny, margin)
        return margin if self._positive_class() == self.classes_[1] else -margin

    def get_metadata_routing(self) -> MetadataRouter:
        """Say to which method each part of the metadata goes."""
        fit = MethodMapping().add(caller="fit", callee="fit")
        split = MethodMapping().add(caller="fit", callee="split")
        router = MetadataRouter(owner=self)
        router.add(estimator=self._model_to_train(), method_mapping=fit)
        splitter = check_cv(5 if isinstance(self.cv, str) else self.cv)
        return router.add(splitter=splitter, method_mapping=split)


def _cases_with_weight(label: Array, sample_weight: Column | float) -> Array:
    """Return which cases count: those that were given a weight of zero do not."""
    weight = _columns.as_floats(sample_weight, "sample_weight")
    if weight.ndim:
        _columns.same_length(y=label, sample_weight=weight)

    has_weight = np.broadcast_to(weight != 0, (len(label),))
    if np.unique(label[has_weight]).size < 2:
        raise InputError(
            "sample_weight leaves cases of one class only; ThresholdClassifier "
            "needs two classes to choose a threshold."
        )

    return has_weight


def two_labels(y: Column | None, name: str) -> tuple[Array, Array]:
    """Return the labels as a column, and the two classes in their order."""
    if y is None:
        raise InputError(
            f"This {name} estimator requires y to be passed, but the target y is None."
        )

    labels: Array = column_or_1d(y, warn=True)
    if labels.dtype.kind == "f":
        assert_all_finite(labels, input_name="y")

    check_classification_targets(labels)
    classes = np.unique(labels)
    if len(classes) > 2:
        raise InputError(
            f"Only binary classification is supported. The type of the target is "
            f"{type_of_target(labels)}: found {len(classes)} classes."
        )

    if len(classes) < 2:
        raise InputError(
            f"{name} needs two classes, and y has one class only; found one class: "
            f"{listing(classes)}."
        )

    return labels, classes


def response_of(estimator: Classifier, wanted: str, purpose: str) -> str:
    """Which output of a model is its score: the wanted one, or the first it has."""
    outputs = RESPONSES[1:]
    available = [output for output in outputs if hasattr(estimator, output)]
    if wanted in available:
        return wanted
    if wanted == "auto" and available:
        return available[0]

    missing = [output for output in outputs if output not in available]
    raise InputError(
        f"{type(estimator).__name__} has no {' and no '.join(missing)}: "
        f"a score is needed to {purpose}."
    )


def scores_of(
    model: Any, rows: Features, response: str, positive: LabelValue = None
) -> Any:
    """Return one score a case, higher for the positive class; the second when None."""
    score = np.asarray(getattr(model, response)(rows))
    return score_of(score, positive is None or model.classes_[1] == positive)


def score_of(response: Array, second: bool) -> Array:
    """Return the score of the second class, or of the first one, from a response."""
    if response.ndim == 2:
        return response[:, int(second)]
    return response if second else -response


def positive_label(y: Column, given: LabelValue = None, word: str = "positive") -> Any:
    """Which label is positive? The one given, or the one that ``tally`` understands."""
    try:
        return read_label_column(np.asarray(y), given, "y").positive
    except InputError as err:
        renamed = word if err.option == "positive" else err.option
        raise err.rephrased(option=renamed) from None


def tally_of(y: Array, score: Array, positive: LabelValue) -> Tally:
    """Count scores and labels."""
    return count_tally(
        np.asarray(score), read_labels(y, positive), argument="the scores"
    )


def class_of(value: LabelValue, classes: Sequence[Any], what: str) -> None:
    """Raise an error when a value is not one of the classes."""
    if not any(bool(k == value) for k in classes):
        raise InputError(
            f"{what} must be one of the classes {listing(classes)}; found {value!r}."
        )
