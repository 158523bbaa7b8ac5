"""How does a scikit-learn classifier get probabilities that mean what they say?"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Self

import numpy as np
from sklearn.base import clone
from sklearn.model_selection import check_cv
from sklearn.utils.validation import check_is_fitted

from trueness._core.arrays import Floats
from trueness._core.checks import options as _options
from trueness.calibration.calibrators import calibrate, calibrator_name
from trueness.counts.values import Tally
from trueness.estimators._common import (
    RESPONSES,
    Wrapper,
    response_of,
    scores_of,
    tally_of,
    two_labels,
)


class Calibrator(Wrapper):
    """How does a classifier get probabilities that mean what they say?

    The training cases are scored by cross-validation, each by a model that did not see
    it; on these scores a map of :func:`trueness.calibrate` is fitted. The model itself
    is then trained on all cases. No case enters the map with a score from a model that
    was trained on it.

    Parameters
    ----------
    estimator
        A binary classifier with ``predict_proba`` or ``decision_function``; default
        logistic regression. A model that is trained already goes in as
        ``FrozenEstimator(model)``; all cases of ``fit`` then only calibrate it.
    method
        A name from ``trueness.CALIBRATORS``.
    cv
        Number of stratified folds, or any splitter of scikit-learn that scores each
        case once (``GroupKFold`` with ``groups=`` keeps copies of a record together).
    response_method
        Which output is calibrated: "predict_proba", "decision_function", or "auto" for
        the first of these that the model has.
    options
        Options of the method, for example ``{"bins": 20}``.
    n_jobs
        Folds that are trained at the same time.

    Attributes
    ----------
    estimator_ : estimator
        The model trained on all cases.
    map_ : trueness.records.Map
        From its score to the probability of ``classes_[1]``.
    tally_ : trueness.Tally
        The cross-validated scores that the map was fitted on.
    training_probability_ : array (n,)
        A probability for each training case, by a model and a map that were both fitted
        without it. Use these, never ``predict_proba``, to evaluate on the training
        data. (The maps are fitted when this attribute is read.)
    classes_ : array (2,)
        The labels; the second is the positive one.

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
        estimator: Any = None,
        *,
        method: str = "auto",
        cv: Any = 5,
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

    def fit(self, X: Any, y: Any, *, groups: Any = None) -> Self:  # noqa: N803
        """Train, score by cross-validation and calibrate.

        Parameters
        ----------
        X, y
            Training cases and their labels, which have two different values.
        groups
            Cases of one group stay in one fold; needs a splitter that looks at groups.
        """
        calibrator_name(self.method)
        _options.choice(self.response_method, RESPONSES, "response_method")
        y, self.classes_ = two_labels(y, type(self).__name__)
        # a splitter may shuffle: one list of folds serves the models and the maps
        folds = list(check_cv(self.cv, y, classifier=True).split(X, y, groups))
        base = self._base()
        score = self._out_of_fold(X, y, folds, self._response(base))
        self.estimator_ = clone(base).fit(X, y)
        self.tally_ = tally_of(y, score, self.classes_[1])
        self.map_ = self._map(self.tally_)
        self._training = (y, score, [test for _, test in folds])
        self._take_features()
        return self

    def _response(self, estimator: Any) -> str:
        return response_of(estimator, self.response_method, "calibrate")

    def _map(self, tally: Tally) -> Any:
        return calibrate(tally, method=self.method, **(self.options or {}))

    @property
    def training_probability_(self) -> Floats:
        """Probabilities of training cases, by models and maps fitted without them."""
        check_is_fitted(self)
        y, score, folds = self._training
        out = np.full(len(y), np.nan)
        for test in folds:
            rest = np.ones(len(y), dtype=bool)
            rest[test] = False
            others = tally_of(y[rest], score[rest], self.classes_[1])
            out[test] = self._map(others)(score[test])
        return out

    def predict_proba(self, X: Any) -> Floats:  # noqa: N803
        """Give the probabilities of both classes, in the order of ``classes_``."""
        check_is_fitted(self)
        p = self.map_(scores_of(self.estimator_, X, self._response(self.estimator_)))
        return np.stack([1 - p, p], axis=1)

    def predict(self, X: Any) -> Any:  # noqa: N803
        """Give the more probable class; the first where both are equally likely."""
        check_is_fitted(self)
        return self.classes_[np.argmax(self.predict_proba(X), axis=1)]
