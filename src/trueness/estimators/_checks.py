"""Are this tree, these classes and this target ones that can be judged?"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from trueness._core.arrays import Array
from trueness._core.checks.errors import InputError
from trueness._core.checks.words import listing


def base_estimators(estimators: object) -> None:
    """Stop when a list of (name, classifier) is something else."""
    listed = isinstance(estimators, (list, tuple)) and len(estimators) > 0
    if not listed or not all(
        hasattr(e[1] if isinstance(e, tuple) and len(e) == 2 else e, "fit")
        for e in estimators  # type: ignore[attr-defined]
    ):
        raise InputError(
            'estimators must be a list of (name, classifier), such as [("line", '
            f"LogisticRegression())]; found {estimators!r}."
        )


def class_of(value: object, known: Sequence[Any], what: str) -> None:
    """Stop when a value is not one of the classes."""
    if not any(bool(k == value) for k in known):
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


def two_classes(values: object) -> Array:
    """Pass on the two classes of a forest."""
    labels = np.asarray(values)
    if labels.shape == (2,):
        return labels
    raise InputError(
        f"classes must be the two classes of the forest; found {values!r}. "
        f"Type classes=forest.classes_."
    )
