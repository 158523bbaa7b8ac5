"""How is FiDEL trained and used as a scikit-learn classifier?"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, Self, cast

import numpy as np
from sklearn.base import ClassifierMixin, MetaEstimatorMixin, clone
from sklearn.model_selection import StratifiedGroupKFold, StratifiedKFold
from sklearn.utils import Bunch, _safe_indexing, check_random_state, get_tags
from sklearn.utils.metaestimators import _BaseComposition
from sklearn.utils.parallel import Parallel, delayed
from sklearn.utils.validation import check_consistent_length, check_is_fitted, indexable

from trueness._core.arrays import Floats, Ints
from trueness._core.checks import options as _options
from trueness._core.checks.errors import InputError
from trueness._core.data_types import Column, Features
from trueness.counts.values import Panel
from trueness.ensembles.combiners import fidel
from trueness.estimators.classifiers import two_labels
from trueness.estimators.model_types import (
    FoldsOrSplitter,
    NamedClassifiers,
    RandomState,
    Splitter,
)

if TYPE_CHECKING:
    from trueness.calibration.parametric import Platt


class FiDELClassifier(
    ClassifierMixin,  # type: ignore[misc]
    MetaEstimatorMixin,  # type: ignore[misc]
    _BaseComposition,  # type: ignore[misc]
):
    """Classifiers trained separately and combined by the ranks of their scores.

    The rank of a new case among cases that a classifier has not seen is evidence for
    its class. This evidence is added up over the classifiers (:func:`trueness.fidel`).

    Parameters
    ----------
    estimators : list of (name, classifier)
        The base classifiers, with ``decision_function``, ``predict_proba`` or at least
        ``predict``. In a plain list they are named after their Python classes.
    partition : {"disjoint", "same"}
        "disjoint": each classifier is trained on its own stratified part and ranked on
        the others, as in the paper. Classifiers trained on different cases make more
        independent errors. "same": all are cross-fitted on the same folds, then trained
        on all cases.
    cv : int or splitter, optional
        Number of parts (or folds), or a scikit-learn splitter whose test sets are the
        parts. By default as many as classifiers for "disjoint", 5 for "same".
    method, prevalence
        As in :func:`trueness.fidel`. With a prevalence of 0.5 the label is that of
        FiDEL's own rule.
    n_jobs, random_state
        Classifiers that are trained at the same time; seed of the division into parts.

    Attributes
    ----------
    classes_, estimators_, named_estimators_
        The labels, of which the second is positive, and the fitted base classifiers.
    combiner_ : trueness.records.FiDEL or trueness.records.CorrelatedFiDEL
        The fitted map, with ``auc`` and ``correlation`` of the classifiers.

    Notes
    -----
    ``predict`` is the likelier label; ``combiner_.predict`` is Kim et al.'s rule L > 0
    (eq. 26). If a class has fewer cases than there are parts, classifiers share parts.

    Examples
    --------
    >>> from sklearn.datasets import make_classification
    >>> from sklearn.linear_model import LogisticRegression
    >>> from sklearn.tree import DecisionTreeClassifier
    >>> X, y = make_classification(400, random_state=0)
    >>> base = [("line", LogisticRegression()), ("tree", DecisionTreeClassifier())]
    >>> FiDELClassifier(base, random_state=0).fit(X, y).predict_proba(X[:3]).shape
    (3, 2)
    """

    def __init__(
        self,
        estimators: NamedClassifiers,
        *,
        partition: str = "disjoint",
        cv: FoldsOrSplitter = None,
        method: str = "independent",
        prevalence: float | None = None,
        n_jobs: int | None = None,
        random_state: RandomState = None,
    ) -> None:
        self.estimators = estimators
        self.partition = partition
        self.cv = cv
        self.method = method
        self.prevalence = prevalence
        self.n_jobs = n_jobs
        self.random_state = random_state

    def fit(self, X: Features, y: Column, groups: Column | None = None) -> Self:  # noqa: N803
        """Train the base classifiers and learn how to combine them.

        Cases of one of the ``groups`` (copies of a record) stay in one part.
        """
        _options.choice(self.partition, ("disjoint", "same"), "partition")
        names, models = _names_and_models(self.estimators)
        column, self.classes_ = two_labels(y, type(self).__name__)
        check_consistent_length(X, column)
        label = np.searchsorted(self.classes_, column)
        (rows,) = indexable(X)

        cases_of_parts = self._cases_of_parts(rows, label, groups, len(models))
        if self.partition == "disjoint":
            trained_models, scores = self._train_on_parts(
                models, rows, label, cases_of_parts
            )
        else:
            trained_models, scores = self._cross_fit(
                models, rows, label, cases_of_parts
            )

        self.estimators_ = trained_models
        self.named_estimators_ = Bunch(**dict(zip(names, trained_models, strict=True)))
        panel = Panel(names, scores, neg=1 - label, pos=label)
        self.combiner_ = fidel(panel, method=self.method, prevalence=self.prevalence)

        self.n_features_in_ = getattr(
            trained_models[0], "n_features_in_", np.shape(rows)[1]
        )
        if hasattr(trained_models[0], "feature_names_in_"):
            self.feature_names_in_ = trained_models[0].feature_names_in_

        return self

    def _train_on_parts(
        self, models: list[Any], rows: Features, label: Ints, cases_of_parts: list[Ints]
    ) -> tuple[list[Any], Floats]:
        """Return models trained on a part each, and their scores of all other cases."""
        part_of_model = [
            cases_of_parts[number % len(cases_of_parts)]
            for number in range(len(models))
        ]
        trained_models = self._train_models(
            rows, label, zip(models, part_of_model, strict=True)
        )
        scores = np.column_stack(
            [_scores_of_model(model, rows) for model in trained_models]
        )
        for column, cases in enumerate(part_of_model):
            # a model is never judged on the cases that it was shown
            scores[cases, column] = np.nan

        return trained_models, scores

    def _cross_fit(
        self, models: list[Any], rows: Features, label: Ints, cases_of_parts: list[Ints]
    ) -> tuple[list[Any], Floats]:
        """Return models trained on all cases, and cross-fitted scores.

        Each part is scored by models that were trained on the others.
        """
        all_cases = np.arange(len(label))
        scores = np.full((len(label), len(models)), np.nan)
        for cases in cases_of_parts:
            other_cases = np.setdiff1d(all_cases, cases)
            trained_on_others = self._train_models(
                rows, label, [(model, other_cases) for model in models]
            )
            rows_of_part = _safe_indexing(rows, cases)
            for column, model in enumerate(trained_on_others):
                scores[cases, column] = _scores_of_model(model, rows_of_part)

        trained = self._train_models(
            rows, label, [(model, all_cases) for model in models]
        )
        return trained, scores

    def _cases_of_parts(
        self, rows: Features, label: Ints, groups: Column | None, models: int
    ) -> list[Ints]:
        """Return the cases of each part: of a splitter, or stratified by class."""
        folds = self.cv
        if isinstance(folds, Splitter):
            return [test for _, test in folds.split(rows, label, groups)]

        if folds is None:
            # disjoint parts suffice for all models, so that each has one of its own
            folds = max(2, models) if self.partition == "disjoint" else 5

        folds = _options.whole_number(folds, "cv", at_least=2)
        cases_by_class = np.bincount(label)
        # each part needs a case of each class
        possible_folds = min(folds, int(cases_by_class.min()))
        if possible_folds < 2:
            raise ValueError(
                f"FiDELClassifier needs at least 2 cases of each class; found "
                f"{label.size} sample(s), {cases_by_class.tolist()} by class."
            )

        seed = check_random_state(self.random_state).randint(2**31)
        stratified = StratifiedKFold if groups is None else StratifiedGroupKFold
        splitter = stratified(possible_folds, shuffle=True, random_state=seed)
        splits = splitter.split(np.zeros(len(label)), label, groups)

        return [test for _, test in splits]

    def _train_models(
        self, rows: Features, label: Ints, pairs: Iterable[tuple[Any, Ints]]
    ) -> list[Any]:
        """Return the models of the pairs, each trained on its part of the cases."""
        target = self.classes_[label]
        jobs = (
            delayed(_fit_on_part)(clone(model), rows, target, cases)
            for model, cases in pairs
        )
        return list(Parallel(n_jobs=self.n_jobs)(jobs))

    def decision_function(self, X: Features) -> Any:  # noqa: N803
        """How strongly does each case look positive? The logit of its probability."""
        check_is_fitted(self, "combiner_")
        outputs = np.column_stack(
            [_scores_of_model(model, X) for model in self.estimators_]
        )
        # a logistic curve in the log likelihood ratio
        calibrator = cast("Platt", self.combiner_.calibrator)
        return calibrator.intercept + calibrator.slope * self.combiner_(outputs)

    def predict_proba(self, X: Features) -> Any:  # noqa: N803
        """How likely is each of the two labels for each case?"""
        p = 1 / (1 + np.exp(-self.decision_function(X)))
        return np.column_stack([1 - p, p])

    def predict(self, X: Features) -> Any:  # noqa: N803
        """Which label is the likelier?"""
        positive = self.decision_function(X) > 0
        return self.classes_[positive.astype(int)]

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Return the parameters, with those of the base classifiers by name."""
        return dict(self._get_params(attr="estimators", deep=deep))

    def set_params(self, **params: Any) -> Self:
        """Set parameters, also ``name`` and ``name__parameter`` of base classifiers."""
        self._set_params(attr="estimators", **params)
        return self

    def __sklearn_tags__(self) -> Any:
        """Tell scikit-learn what can be passed."""
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class = False
        model_tags = [
            get_tags(model).input_tags
            for model in _names_and_models(self.estimators)[1]
        ]
        tags.input_tags.sparse = all(i.sparse for i in model_tags)
        tags.input_tags.allow_nan = all(i.allow_nan for i in model_tags)
        return tags


def _names_and_models(estimators: NamedClassifiers) -> tuple[list[str], list[Any]]:
    """Return names and models; a model without a name is named after its class."""
    entries = list(estimators) if isinstance(estimators, (list, tuple)) else []

    own_names = []
    models = []
    for entry in entries:
        is_pair = isinstance(entry, tuple) and len(entry) == 2
        own_names.append(entry[0] if is_pair else None)
        models.append(entry[1] if is_pair else entry)

    if not models or not all(hasattr(model, "fit") for model in models):
        raise InputError(
            'estimators must be a list of (name, classifier), such as [("line", '
            f"LogisticRegression())]; found {estimators!r}.",
            option="estimators",
        )

    class_names = _number_duplicates([type(model).__name__.lower() for model in models])
    names = [
        own_name or class_name
        for own_name, class_name in zip(own_names, class_names, strict=True)
    ]

    return names, models


def _number_duplicates(names: list[str]) -> list[str]:
    """Return names that differ: those that occur twice get their number."""
    numbered = []
    for index, name in enumerate(names):
        occurrence = names[: index + 1].count(name)
        is_only_one = names.count(name) == 1
        numbered.append(name if is_only_one else f"{name}-{occurrence}")
    return numbered


def _fit_on_part(model: Any, rows: Features, y: Column, cases: Ints) -> Any:
    return model.fit(_safe_indexing(rows, cases), _safe_indexing(y, cases))


def _scores_of_model(model: Any, rows: Features) -> Any:
    """Return one score a case, higher for the second class.

    Rounded to 32 binary digits, since the same case must tie with itself: a model's
    output differs in its last bits with the size of the batch; without this a case of
    the reference, scored again alone, would move by half a rank.
    """
    if hasattr(model, "decision_function"):
        score = model.decision_function(rows)
    elif hasattr(model, "predict_proba"):
        score = np.asarray(model.predict_proba(rows))[:, 1]
    else:
        return (model.predict(rows) == model.classes_[1]).astype(np.float64)

    mantissa, exponent = np.frexp(np.asarray(score, dtype=np.float64))
    return np.ldexp(np.round(mantissa * 2.0**32), exponent - 32)
