"""How does a model selection of scikit-learn score by any metric of Trueness?"""

from __future__ import annotations

import math
from collections.abc import Iterable
from functools import partial
from typing import Any

import numpy as np
from sklearn.metrics import make_scorer

from trueness._core.checks.errors import Infeasible
from trueness.estimators._common import tally_of
from trueness.metrics.algebra import Constraint, Metric
from trueness.metrics.grammar import constraints as read_constraints
from trueness.metrics.grammar import metric as read_metric
from trueness.threshold.operating_point import best_threshold

_RESPONSES = ("decision_function", "predict_proba")


def metric_scorer(
    metric: str | Metric,
    *,
    subject_to: str | Constraint | Iterable[str | Constraint] = (),
    prevalence: float | None = None,
    response_method: str | tuple[str, ...] = _RESPONSES,
) -> Any:
    """How good is a model at its best threshold under constraints, as a scorer?

    "Recall at a precision of 0.9" is ``metric_scorer("recall", subject_to="precision >=
    0.9")``: every distinct threshold of the test fold is tried, and the best value
    among those that meet the constraints is the score.

    Parameters
    ----------
    metric
        Any metric of Trueness, or text. A metric that is better when lower is
        minimised; scikit-learn then gets its negative, as with its own losses.
    subject_to
        Constraints.
    prevalence
        The share of positives where the model is used, if it differs from that in the
        data.
    response_method
        Which outputs of the model are taken as scores.

    Returns
    -------
    scorer
        For ``scoring=`` of ``cross_val_score``, ``GridSearchCV`` and the like. A fold
        in which no threshold meets the constraints gets the worst possible value of the
        metric, so that a search can go on.

    Notes
    -----
    The threshold is chosen on the same fold that it is evaluated on. This is right for
    comparing models, but optimistic as a forecast. :class:`ThresholdClassifier` inside
    a cross-validation gives a value without this optimism.

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
    chosen = read_metric(metric)
    read_constraints(subject_to)
    function = partial(
        _best_value, metric=chosen, subject_to=subject_to, prevalence=prevalence
    )
    return make_scorer(
        function,
        response_method=response_method,
        greater_is_better=chosen.direction != "lower",
    )


def _best_value(
    y_true: Any, y_score: Any, metric: Metric, subject_to: Any, prevalence: float | None
) -> float:
    y = np.asarray(y_true)
    # scikit-learn hands over the score of the larger label
    t = tally_of(y, y_score, y.max()).with_design(prevalence=prevalence)
    lower = metric.direction == "lower"
    aim: dict[str, Any] = {"minimize": metric} if lower else {"maximize": metric}
    try:
        found = best_threshold(t, subject_to=subject_to, **aim)
        return float(found.value)
    except Infeasible:
        worst = metric.range[1] if lower else metric.range[0]
        return float(worst) if math.isfinite(worst) else math.nan
