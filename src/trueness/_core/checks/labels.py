"""Which label is positive, and are there two?"""

from __future__ import annotations

from collections.abc import Sequence
from numbers import Number
from typing import Any

import numpy as np
from numpy.typing import NDArray

from trueness._core.checks.errors import InputError
from trueness._core.checks.words import listing, nearest, plain

Array = NDArray[Any]


def label_pair(found: Sequence[Any], positive: Any, what: str) -> tuple[Any, Any]:
    """Which label value is negative and which is positive?

    ``found`` are the distinct values that are not missing. A value that does not occur
    is None.
    """
    if positive is None:
        return _default_pair(found, what)
    others = [v for v in found if not _same(v, positive)]
    if len(others) > 1:
        raise InputError(
            f"{what} must have two values, positive={positive!r} and one other; "
            f"found {listing(found)}.{_type_hint(found, positive)}"
        )
    return (others[0] if others else None), positive


def _same(value: Any, positive: Any) -> bool:
    # 1 == True is meant (0/1 and bool are the same labels), 1 == "1" is not
    return bool(value == positive)


def _type_hint(found: Sequence[Any], positive: Any) -> str:
    alike = [v for v in found if str(plain(v)) == str(plain(positive))]
    if alike and not any(_same(v, positive) for v in found):
        return f" Pass positive={plain(alike[0])!r} without turning it into text."
    return nearest(positive, [v for v in found if isinstance(v, str)])


def _default_pair(found: Sequence[Any], what: str) -> tuple[Any, Any]:
    numbers = [v for v in found if isinstance(v, (Number, np.generic))]
    values = set(numbers) if len(numbers) == len(found) else {"text"}
    for negative in (0, -1):
        if values <= {negative, 1}:
            return negative, 1
    if len(found) > 2:
        raise InputError(_too_many_labels(found, what))
    example = plain(found[-1])
    raise InputError(
        f"{what} holds {listing(found)}: say which one counts as positive, "
        f"for example positive={example!r}. (Only 0/1, False/True and -1/1 need no "
        f"such word.)"
    )


def _too_many_labels(found: Sequence[Any], what: str) -> str:
    message = f"{what} must have two values; found {len(found)}: {listing(found)}."
    fractions = [
        v for v in found if isinstance(v, (float, np.floating)) and not v.is_integer()
    ]
    if fractions:
        return (
            f"{message} These look like scores: are the labels and the scores "
            f"swapped? Type tally(y_true, y_score)."
        )
    return f"{message} For one class against the rest pass y_true == {found[-1]!r}."


def two_classes(values: object) -> Array:
    """Pass on the two classes of a forest."""
    labels = np.asarray(values)
    if labels.shape == (2,):
        return labels
    raise InputError(
        f"classes must be the two classes of the forest; found {values!r}. "
        f"Type classes=forest.classes_."
    )


def class_of(value: object, known: Sequence[Any], what: str) -> None:
    """Stop when a value is not one of the classes."""
    if not any(_same(k, value) for k in known):
        raise InputError(
            f"{what} must be one of the classes {listing(known)}; found {value!r}."
        )


def labels_with_cases(y: object) -> None:
    """Stop when cases come without labels."""
    if y is None:
        raise InputError(
            "Cases need their labels: pass X and y, or neither of them for the counts "
            "that the tree keeps."
        )


def binary_target(kind: str, classes: Array) -> None:
    """Stop when a target does not have two classes, in scikit-learn's words."""
    if kind != "binary":
        raise InputError(
            f"Only binary classification is supported. The type of the target is "
            f"{kind}."
        )
    if classes.size < 2:
        raise InputError(
            f"Two classes are needed; y has one class only, {listing(classes)}."
        )
