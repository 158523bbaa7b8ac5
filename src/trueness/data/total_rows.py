"""Is the last row of a frame a total, which is no case?

A total of a CSV file is left out when the file is opened (``text_files``); frames and
mappings bring theirs along.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from trueness._core.checks.words import described
from trueness.data.cleaning import TOTALS, normal_form, tell
from trueness.data.engines import is_lazy, open_frame, with_text_names


def without_total_row(data: Any, label: str | None = None) -> Any:
    """Return data without the last row, where a word in it says that it is a total.

    A total in the column of the labels is read with the labels.
    """
    if isinstance(data, Mapping):
        return _mapping_without_total(data, label)

    opened = open_frame(data)
    if is_lazy(opened) or len(opened) < 2:
        return data

    # by columns: pandas would bring a row to one type, and refuses whole numbers
    # above 2**53 beside decimals
    named = open_frame(with_text_names(data, {})[0])
    last_row = {name: named[name][-1] for name in named.columns}
    if not _says_total(last_row, label):
        return data
    return opened.head(len(opened) - 1).to_native()


def _mapping_without_total(data: Mapping[Any, Any], label: str | None) -> Any:
    """Return columns of one length without a total in their last row."""
    if not data or any(np.ndim(column) != 1 for column in data.values()):
        return data

    sizes = {len(column) for column in data.values()}
    if len(sizes) != 1 or min(sizes) < 2:
        return data

    (size,) = sizes
    last_row = {name: column[size - 1] for name, column in data.items()}
    if not _says_total(last_row, label):
        return data
    return {name: column[: size - 1] for name, column in data.items()}


def _says_total(row: Mapping[Any, Any], label: str | None) -> bool:
    """Return whether a word of a row, outside the labels, says that it is a total."""
    for name, cell in row.items():
        if name != label and isinstance(cell, str) and normal_form(cell) in TOTALS:
            tell([f"The last row was left out: {described(cell)} is a total."])
            return True
    return False
