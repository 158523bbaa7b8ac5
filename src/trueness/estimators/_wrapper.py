"""What do the estimators that wrap a model share?"""

from __future__ import annotations

from typing import Any

from sklearn.base import BaseEstimator, ClassifierMixin, MetaEstimatorMixin
from sklearn.linear_model import LogisticRegression
from sklearn.utils import get_tags


class Wrapper(ClassifierMixin, MetaEstimatorMixin, BaseEstimator):  # type: ignore[misc]
    """A classifier of two classes around a model, logistic regression by default."""

    estimator: Any

    def _base(self) -> Any:
        return LogisticRegression() if self.estimator is None else self.estimator

    def _take_features(self) -> None:
        """Know the features that the fitted model knows."""
        for name in ("n_features_in_", "feature_names_in_"):
            if hasattr(self.estimator_, name):
                setattr(self, name, getattr(self.estimator_, name))

    def __sklearn_tags__(self) -> Any:
        """Tell scikit-learn what can be passed: what the model takes."""
        tags = super().__sklearn_tags__()
        inner = get_tags(self._base()).input_tags
        tags.classifier_tags.multi_class = False
        tags.input_tags.sparse = inner.sparse
        tags.input_tags.pairwise = inner.pairwise
        tags.input_tags.allow_nan = inner.allow_nan
        return tags
