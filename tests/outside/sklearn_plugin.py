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

_LAST_BIT = "one of two calls is answered by us, and the test compares the last bit"
# tests whose expectation is not ours, by the end of their name, with the reason
EXPECTED_DIFFERENCES = {
    "test_confusion_matrix_dtype": "a weight is a float64, and theirs is 2**64 - 1",
    "test_multilabel_hamming_loss": _LAST_BIT,
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
# what they return as one less a metric
LOSSES_OF_LABELS = {"hamming_loss": "accuracy", "zero_one_loss": "accuracy"}
MEASURES_OF_SCORES: dict[str, Callable[..., Any]] = {
    "roc_auc_score": trueness.auc,
    "average_precision_score": trueness.average_precision,
    "brier_score_loss": trueness.brier,
    "log_loss": trueness.log_loss,
}
# curves of scores: our function of the same cases, and our names of what they return
CURVES: dict[str, tuple[Callable[..., Any], str, str]] = {
    "roc_curve": (trueness.roc, "fpr", "tpr"),
    "precision_recall_curve": (trueness.precision_recall, "precision", "recall"),
    "det_curve": (trueness.det, "fpr", "fnr"),
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
    elif name == "log_loss":
        # they clip at the precision of the scores that were passed
        precision = _float_type(arguments["y_pred"])
        clip = float(np.finfo(precision).eps)
        estimate = trueness.log_loss(positive, score, weight=weight, clip=clip)
    else:
        estimate = MEASURES_OF_SCORES[name](positive, score, weight=weight)
    return float(estimate.value)


def _float_type(scores: Any) -> Any:
    dtype = np.asarray(scores).dtype
    return dtype if dtype.kind == "f" else np.float64


def answer_of_curve(name: str, arguments: dict[str, Any], theirs: Any) -> Any:
    """Return our points of a curve at each of their thresholds."""
    label, score, *_ = arguments.values()
    positive = positive_cases(label, arguments.get("pos_label"))
    score = np.asarray(score, dtype=float)
    if score.ndim != 1 or not np.isfinite(score).all():
        raise NotBinaryError
    function, first, second = CURVES[name]
    curve = function(positive, score, weight=arguments.get("sample_weight"))

    *points, thresholds = theirs
    if name == "precision_recall_curve":
        # their last point has no threshold, and is (1, 0) by definition
        points = [column[:-1] for column in points]
    # thresholds of a curve fall: the last one that is not below theirs
    place = np.searchsorted(-curve.threshold, -np.asarray(thresholds), side="right") - 1
    if (curve.threshold[place] != thresholds).any():
        raise NotBinaryError
    ours = [getattr(curve, axis)[place] for axis in (first, second)]
    if any(np.isnan(column).any() for column in ours):
        raise NotBinaryError
    if name == "precision_recall_curve":
        ours = [np.append(ours[0], 1.0), np.append(ours[1], 0.0)]
    return (*ours, thresholds)


def answer_of_confusion_matrix(
    name: str, arguments: dict[str, Any], theirs: Any
) -> Any:
    """Return our four counts in their order."""
    if arguments.get("normalize") is not None or arguments.get("labels") is not None:
        raise NotBinaryError
    label, predicted, *_ = arguments.values()
    positive = positive_cases(label, None)
    classes = np.unique(np.asarray(label))
    predicted = np.asarray(predicted)
    if predicted.ndim != 1 or not np.isin(predicted, classes).all():
        raise NotBinaryError
    tally = trueness.tally(
        positive,
        (predicted == classes[1]).astype(float),
        weight=arguments.get("sample_weight"),
    )
    counts = trueness.confusion(tally, 1.0)
    matrix = [[counts.tn, counts.fp], [counts.fn, counts.tp]]
    return np.asarray(matrix, dtype=theirs.dtype)


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
    metric = METRICS_OF_LABELS.get(name) or LOSSES_OF_LABELS[name]
    if metric == "f_beta":
        metric = f"f_beta({arguments['beta']})"
    record = trueness.at_threshold(
        positive,
        flagged.astype(float),
        threshold=1.0,
        metrics=[metric],
        weight=arguments.get("sample_weight"),
    )
    value = float(record[metric].value)
    return 1 - value if name in LOSSES_OF_LABELS else value


def in_place_of(theirs: Callable[..., Any]) -> Callable[..., Any]:
    """Return a function with the same signature, whose binary answers are ours."""
    name = theirs.__name__
    signature = inspect.signature(theirs)
    of_labels = name in METRICS_OF_LABELS or name in LOSSES_OF_LABELS
    answer = answer_of_labels if of_labels else answer_of_scores

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


def array_in_place_of(
    theirs: Callable[..., Any], answer: Callable[..., Any]
) -> Callable[..., Any]:
    """Return a function whose arrays are ours, where the call is binary."""
    name = theirs.__name__
    signature = inspect.signature(theirs)

    @functools.wraps(theirs)
    def replaced(*args: Any, **options: Any) -> Any:
        arrays = theirs(*args, **options)
        bound = signature.bind(*args, **options)
        bound.apply_defaults()
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                ours = answer(name, bound.arguments, arrays)
        except (NotBinaryError, trueness.InputError):
            # a class without a case has no curve here
            return arrays
        ANSWERED[name] += 1
        return ours

    return replaced


def pytest_configure(config: pytest.Config) -> None:
    """Replace the functions before the tests import them."""
    replacements = {
        name: in_place_of(getattr(sklearn.metrics, name))
        for name in (*METRICS_OF_LABELS, *LOSSES_OF_LABELS, *MEASURES_OF_SCORES)
    }
    for name in CURVES:
        replacements[name] = array_in_place_of(
            getattr(sklearn.metrics, name), answer_of_curve
        )
    replacements["confusion_matrix"] = array_in_place_of(
        sklearn.metrics.confusion_matrix, answer_of_confusion_matrix
    )
    for name, replacement in replacements.items():
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
