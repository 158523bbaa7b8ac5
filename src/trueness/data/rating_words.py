"""Ratings that are words become numbers of categories, the same for all raters."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from trueness._core.arrays import Array
from trueness._core.checks.words import listing
from trueness.data.cleaning import (
    has_text,
    is_missing_word,
    meaning,
    normal_form,
    tell,
)


def coded_ratings(raters: Mapping[str, Any]) -> dict[str, Any]:
    """Return ratings in which every word is the number of its category.

    Categories are in alphabetical order, which a warning says: only the distances of
    weighted kappa depend on it. Numbers, and pairs such as yes and no, are left alone.
    """
    columns = {name: np.asarray(values) for name, values in raters.items()}
    all_words: list[Any] = []
    for values in columns.values():
        if has_text(values):
            all_words += values.tolist()

    present = [word for word in all_words if not _is_missing(word)]
    if not present or meaning(present) in ("labels", "numbers"):
        return dict(raters)

    spelling = {normal_form(word): str(word).strip() for word in present}
    categories = sorted(spelling)
    number_of = {category: k for k, category in enumerate(categories)}
    tell(
        [
            f"Ratings in words: {listing(spelling[c] for c in categories)} in "
            "alphabetical order. Weights need categories in their own order, as "
            "numbers."
        ]
    )

    return {
        name: _numbers_of_words(values, number_of) if has_text(values) else values
        for name, values in columns.items()
    }


def _is_missing(word: object) -> bool:
    """Return whether a rating is missing: nothing, NaN, or a word for it."""
    return word is None or word != word or is_missing_word(str(word))


def _numbers_of_words(values: Array, number_of: Mapping[str, int]) -> Array:
    """Return the number of the category of each word, NaN where it is missing."""
    return np.array(
        [
            np.nan if _is_missing(word) else number_of[normal_form(word)]
            for word in values.tolist()
        ],
        dtype=np.float64,
    )
