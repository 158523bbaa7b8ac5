"""Which column is the probability of the negative class, beside that of the positive?

``predict_proba`` gives both: ``prob_0`` and ``prob_1``, or ``p_benign`` and
``p_malignant``. They add up to 1 in each row, and are one score.
"""

from __future__ import annotations

import re
from typing import Any

import numpy as np

from trueness._core.checks.errors import InputError
from trueness._core.data_types import LabelValue
from trueness.data import cleaning
from trueness.data.data_tables import REAL, DataTable

_NEGATIVE_WORDS = cleaning.NO | {"0"}
_POSITIVE_WORDS = cleaning.YES | {"1"}


def complements_of_positive(
    table: DataTable, label: str | None, positive: LabelValue
) -> list[str]:
    """Return the columns of the negative class, one for each pair of columns.

    Both columns have one name but for one word, which names the class; or they have
    the names of the classes.
    """
    # a label that is no column is refused where it is read
    if label is None or label not in table.kinds:
        return []

    columns = _columns_by_stem(table, label)
    if columns.keys() == {""} and len(columns[""]) < 2:
        return []

    classes = table.distinct(label, 2)
    words_of_classes = _class_words(classes, positive)
    if words_of_classes is None:
        return []

    complements = []
    negative_words, positive_words = words_of_classes
    for stem, columns_by_word in columns.items():
        negative = [
            column for word, column in columns_by_word.items() if word in negative_words
        ]
        positives = [
            column for word, column in columns_by_word.items() if word in positive_words
        ]
        # names without a stem stand beside those of other columns
        other_columns = len(columns_by_word) - 2 if stem else 0
        is_pair = len(negative) == len(positives) == 1 and other_columns == 0
        if is_pair and negative and table.add_up_to_one(negative[0], positives[0]):
            complements.append(negative[0])

    return list(dict.fromkeys(complements))


def _columns_by_stem(table: DataTable, label: str | None) -> dict[str, dict[str, str]]:
    """Return columns of fractions by all but one word of their names.

    ``P(yes)`` and ``P(no)`` have one stem, ``churn_0_scores`` and ``churn_1_scores``
    another. The empty stem has all columns, by their whole names.
    """
    columns: dict[str, dict[str, str]] = {"": {}}
    for column, kind in table.kinds.items():
        if kind != REAL or column == label:
            continue

        columns[""][cleaning.normal_form(column)] = column
        name_words = re.findall(r"[^\W\d_]+|\d+", column.lower())
        for place, word in enumerate(name_words):
            stem_words = [*name_words[:place], "*", *name_words[place + 1 :]]
            if len(stem_words) > 1:
                columns.setdefault(" ".join(stem_words), {})[word] = column

    # a stem has the two columns of two classes; the empty one has all columns
    return {
        stem: members
        for stem, members in columns.items()
        if not stem or len(members) == 2
    }


def _class_words(
    classes: list[Any], positive: LabelValue
) -> tuple[frozenset[str], frozenset[str]] | None:
    """Return the words for the negative and for the positive class, if it is known."""
    try:
        # the remarks are dropped: counting reads the labels again, and repeats them
        with cleaning.collected_remarks():
            values = np.array(classes, dtype=object)
            positive_class = cleaning.read_label_column(
                values, positive, "label"
            ).positive
    except InputError:
        return None

    negative_classes = [value for value in classes if value != positive_class]
    if len(classes) != 2 or len(negative_classes) != 1:
        return None

    negative = _word_of(negative_classes[0])
    positive_word = _word_of(positive_class)
    if {negative, positive_word} & _POSITIVE_WORDS and positive_word in _NEGATIVE_WORDS:
        # the class that is usually negative was named as the positive one
        return _POSITIVE_WORDS | {negative}, _NEGATIVE_WORDS | {positive_word}

    return _NEGATIVE_WORDS | {negative}, _POSITIVE_WORDS | {positive_word}


def _word_of(value: LabelValue) -> str:
    """Return a class as the name of a column would end: 1.0 as 1."""
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    if isinstance(value, (bool, np.bool_)):
        value = int(value)
    return cleaning.normal_form(value)
