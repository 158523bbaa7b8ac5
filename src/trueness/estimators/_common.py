"""How are labels read, and cases scored and counted?"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from sklearn.utils.multiclass import check_classification_targets, type_of_target
from sklearn.utils.validation import assert_all_finite, column_or_1d

from trueness._core.arrays import Array
from trueness._core.checks.errors import InputError
from trueness._core.checks.words import listing
from trueness.counts.counting import count_tally, read_labels
from trueness.counts.values import Tally
from trueness.data.cleaning import read_label_column

RESPONSES = ("auto", "predict_proba", "decision_function")


def two_labels(y: object, name: str) -> tuple[Array, Array]:
    """Give the labels as a column, and the two classes in their order."""
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


def response_of(estimator: object, asked: str, purpose: str) -> str:
    """Which output of a model is its score: the one asked for, or the first it has."""
    known = [r for r in RESPONSES[1:] if hasattr(estimator, r)]
    if asked in known:
        return asked
    if asked != "auto" or not known:
        raise InputError(
            f"{type(estimator).__name__} has no "
            f"{' and no '.join(r for r in RESPONSES[1:] if r not in known)}: "
            f"a score is needed to {purpose}."
        )
    return known[0]


def scores_of(model: Any, rows: object, response: str, positive: object = None) -> Any:
    """Give one score per case, higher for the positive class; the second when None."""
    score = np.asarray(getattr(model, response)(rows))
    return score_of(score, positive is None or model.classes_[1] == positive)


def score_of(response: Array, second: bool) -> Array:
    """Give the score of the second class, or of the first one, from a response."""
    if response.ndim == 2:
        return response[:, int(second)]
    return response if second else -response


def positive_label(y: object, given: object = None, word: str = "positive") -> Any:
    """Which label is positive? The one given, or the one that ``tally`` understands."""
    try:
        return read_label_column(np.asarray(y), given, "y").positive
    except InputError as err:
        raise InputError(str(err).replace("positive=", f"{word}=")) from None


def tally_of(y: Array, score: Array, positive: object) -> Tally:
    """Count scores and labels."""
    return count_tally(np.asarray(score), read_labels(y, positive), what="the scores")


def class_of(value: object, known: Sequence[Any], what: str) -> None:
    """Stop when a value is not one of the classes."""
    if not any(bool(k == value) for k in known):
        raise InputError(
            f"{what} must be one of the classes {listing(known)}; found {value!r}."
        )


def keep(estimator: object, given: Mapping[str, Any]) -> None:
    """Keep what was given to ``__init__`` as it is, which scikit-learn asks for."""
    for name in given.keys() - {"self"}:
        setattr(estimator, name, given[name])
