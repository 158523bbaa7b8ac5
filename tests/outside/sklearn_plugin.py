"""A pytest plugin: scikit-learn's own tests of its metrics, answered by Trueness.

``pytest -p outside.sklearn_plugin --pyargs sklearn.metrics.tests`` runs them. Each
function below stands in place of scikit-learn's. That is called first, so arguments are
checked, and errors and warnings given, as its tests expect. Where the call is binary,
the number that is returned is ours.
"""

from __future__ import annotations

import functools
import inspect
import math
import warnings
from collections import Counter
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import sklearn.metrics
from sklearn.metrics import _classification, _ranking
from sklearn.utils.multiclass import type_of_target

import trueness

_INFINITE = "a certain, wrong probability has an infinite log loss; theirs is clipped"
_LAST_BIT = "one of two calls is answered by us, and the test compares the last bit"
# tests whose expectation is not ours, by the end of their name, with the reason
EXPECTED_DIFFERENCES = {
    "test_log_loss_eps[float64]": _INFINITE,
    "test_log_loss_eps[float32]": _INFINITE,
    "test_log_loss_eps[float16]": _INFINITE,
    "test_format_invariance_with_1d_vectors[log_loss]": _INFINITE,
    "test_metrics_dataframe_series[log_loss-pandas]": _INFINITE,
    "test_metrics_dataframe_series[log_loss-polars]": _INFINITE,
    "test_classification_invariance_string_vs_numbers_labels[cohen_kappa_score]": (
        _LAST_BIT
    ),
}

ANSWERED: Counter[str] = Counter()

# what scikit-learn calls each metric of labels, and our name of it
METRICS_OF_LABELS = {
    "accuracy_score": "accuracy",
    "balanced_accuracy_score": "balanced_accuracy",
    "precision_score": "precision",
    "recall_score": "recall",
    "f1_score": "f1",
    "jaccard_score": "jaccard",
    "matthews_corrcoef": "mcc",
    "cohen_kappa_score": "kappa",
    "fbeta_score": "f_beta",
}
MEASURES_OF_SCORES: dict[str, Callable[..., Any]] = {
    "roc_auc_score": trueness.auc,
    "average_precision_score": trueness.average_precision,
    "brier_score_loss": trueness.brier,
    "log_loss": trueness.log_loss,
}
# arguments that change the question into one that we do not answer, unless they are
# as they stand here
PLAIN_ARGUMENTS: dict[str, tuple[Any, ...]] = {
    "adjusted": (False,),
    "labels": (None,),
    "multi_class": ("raise",),
    "normalize": (True,),
    "scale_by_half": ("auto", True),
    "weights": (None,),
}


class NotBinaryError(Exception):
    """The call is not about two classes, or asks for something else."""


def positive_cases(y_true: Any, pos_label: Any) -> np.ndarray:
    """Return which cases are positive, of labels with exactly two values."""
    if not isinstance(y_true, (list, np.ndarray)):
        raise NotBinaryError
    labels = np.asarray(y_true)
    if labels.ndim != 1 or type_of_target(labels) != "binary":
        raise NotBinaryError
    classes = np.unique(labels)
    if len(classes) != 2:
        raise NotBinaryError

    # scikit-learn's rule: the larger label is positive
    positive = classes[1] if pos_label is None else pos_label
    if positive not in classes.tolist():
        raise NotBinaryError
    return np.asarray(labels == positive, dtype=int)


def check_plain(arguments: dict[str, Any]) -> None:
    """Raise if an argument asks for more than the plain binary number."""
    for name, plain in PLAIN_ARGUMENTS.items():
        value = arguments.get(name, plain[0])
        if not isinstance(value, (bool, str, type(None))) or value not in plain:
            raise NotBinaryError


def answer_of_scores(name: str, arguments: dict[str, Any]) -> float:
    label, score, *_ = arguments.values()
    positive = positive_cases(label, arguments.get("pos_label"))
    if score is None:
        raise NotBinaryError
    score = np.asarray(score, dtype=float)
    if score.ndim != 1 or not np.isfinite(score).all():
        raise NotBinaryError

    weight = arguments.get("sample_weight")
    max_fpr = arguments.get("max_fpr")
    if max_fpr is not None and max_fpr != 1:
        estimate = trueness.partial_auc(
            positive, score, max_fpr=max_fpr, corrected=True, weight=weight
        )
    else:
        estimate = MEASURES_OF_SCORES[name](positive, score, weight=weight)
    return float(estimate.value)


def answer_of_labels(name: str, arguments: dict[str, Any]) -> float:
    if arguments.get("average", "binary") != "binary":
        raise NotBinaryError
    label, predicted, *_ = arguments.values()
    pos_label = arguments.get("pos_label")
    positive = positive_cases(label, pos_label)
    classes = np.unique(np.asarray(label))
    predicted = np.asarray(predicted)
    if predicted.ndim != 1 or not np.isin(predicted, classes).all():
        raise NotBinaryError

    flagged = predicted == (classes[1] if pos_label is None else pos_label)
    metric = METRICS_OF_LABELS[name]
    if metric == "f_beta":
        metric = f"f_beta({arguments['beta']})"
    record = trueness.at_threshold(
        positive,
        flagged.astype(float),
        threshold=1.0,
        metrics=[metric],
        weight=arguments.get("sample_weight"),
    )
    return float(record[metric].value)


def in_place_of(theirs: Callable[..., Any]) -> Callable[..., Any]:
    """Return a function with the same signature, whose binary answers are ours."""
    name = theirs.__name__
    signature = inspect.signature(theirs)
    answer = answer_of_labels if name in METRICS_OF_LABELS else answer_of_scores

    @functools.wraps(theirs)
    def replaced(*args: Any, **options: Any) -> Any:
        number = theirs(*args, **options)
        bound = signature.bind(*args, **options)
        bound.apply_defaults()
        try:
            check_plain(bound.arguments)
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                ours = answer(name, bound.arguments)
        except NotBinaryError:
            return number

        if math.isnan(ours):
            # an undefined ratio: scikit-learn lets the caller choose what to say
            return number
        ANSWERED[name] += 1
        return ours

    return replaced


def pytest_configure(config: pytest.Config) -> None:
    """Replace the functions before the tests import them."""
    for name in (*METRICS_OF_LABELS, *MEASURES_OF_SCORES):
        replacement = in_place_of(getattr(sklearn.metrics, name))
        for module in (sklearn.metrics, _classification, _ranking):
            if hasattr(module, name):
                setattr(module, name, replacement)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark the expected differences, each with its reason."""
    for item in items:
        for ending, reason in EXPECTED_DIFFERENCES.items():
            if item.nodeid.endswith(ending):
                item.add_marker(pytest.mark.xfail(reason=reason))


def pytest_terminal_summary(terminalreporter: Any) -> None:
    """Say how often we answered."""
    terminalreporter.write_line(f"answered by Trueness: {sum(ANSWERED.values())}")
    for name, calls in sorted(ANSWERED.items()):
        terminalreporter.write_line(f"    {name} {calls}")
