"""Scorers of scikit-learn: a metric at its best threshold, under constraints."""

from __future__ import annotations

import math
from collections.abc import Iterable
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.metrics import make_scorer

from trueness._core.arrays import Floats
from trueness._core.checks.errors import Infeasible
from trueness.estimators.classifiers import tally_of
from trueness.metrics.algebra import Constraint, Metric
from trueness.metrics.grammar import constraints as check_constraints
from trueness.metrics.grammar import metric as read_metric
from trueness.threshold.operating_point import best_threshold


def metric_scorer(
    metric: str | Metric,
    *,
    subject_to: str | Constraint | Iterable[str | Constraint] = (),
    prevalence: float | None = None,
    response_method: str | tuple[str, ...] = ("decision_function", "predict_proba"),
) -> Any:
    """Scorer of scikit-learn: the best value of a metric under constraints.

    "Recall at a precision of 0.9" is ``metric_scorer("recall", subject_to="precision >=
    0.9")``. The threshold is chosen on the same fold that it is evaluated on, which is
    right for comparing models, but optimistic as a forecast.

    Parameters
    ----------
    metric
        Any metric of Trueness, or text. A metric for which lower is better is
        minimised: scikit-learn then receives its negative, as with its own losses.
    subject_to
        Constraints. A fold in which no threshold meets them gets the worst possible
        value of the metric, so that a search can go on.
    prevalence, response_method
        The prevalence where the model is used, if it differs from that in the data;
        which outputs of the model are used as scores.

    Examples
    --------
    >>> from sklearn.datasets import make_classification
    >>> from sklearn.linear_model import LogisticRegression
    >>> from sklearn.model_selection import cross_val_score
    >>> X, y = make_classification(400, random_state=0)
    >>> scoring = metric_scorer("recall", subject_to="precision >= 0.9")
    >>> cross_val_score(LogisticRegression(), X, y, scoring=scoring, cv=3).shape
    (3,)
    """
    objective = read_metric(metric)
    check_constraints(subject_to)
    score_function = partial(
        _best_value, metric=objective, subject_to=subject_to, prevalence=prevalence
    )

    return make_scorer(
        score_function,
        response_method=response_method,
        greater_is_better=objective.direction != "lower",
    )


def _best_value(
    y_true: ArrayLike,
    y_score: Floats,
    *,
    metric: Metric,
    subject_to: str | Constraint | Iterable[str | Constraint],
    prevalence: float | None,
) -> float:
    """Return the value at the best threshold, or the worst possible one."""
    labels = np.asarray(y_true)
    # scikit-learn hands over the score of the larger label
    larger_label = np.unique(labels)[-1]
    tally = tally_of(labels, y_score, larger_label).with_design(prevalence=prevalence)

    lower_is_better = metric.direction == "lower"

    try:
        if lower_is_better:
            return float(
                best_threshold(tally, minimize=metric, subject_to=subject_to).value
            )
        return float(
            best_threshold(tally, maximize=metric, subject_to=subject_to).value
        )
    except Infeasible:
        worst = metric.range[1] if lower_is_better else metric.range[0]
        return float(worst) if math.isfinite(worst) else math.nan
