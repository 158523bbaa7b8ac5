"""How does a column of any library become a NumPy array?

Lists, arrays, masked arrays and Series of every library that Narwhals knows end here as
one kind of array, with one meaning: a missing value is NaN in numbers and None
elsewhere, a Decimal is the nearest float64, text is text. Narwhals is imported when a
frame or a Series arrives, so plain arrays need NumPy alone.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from trueness._core.arrays import Array
from trueness._core.checks import columns as _columns
from trueness._core.checks.errors import InputError


def is_frame(data: Any) -> bool:
    """Is this a frame and not a column? Decided without importing Narwhals."""
    # asked of the type: naming the columns of a lazy frame can cost a query
    return hasattr(type(data), "columns") or hasattr(type(data), "column_names")


def on_device(x: Any) -> bool:
    """Is this an array on a CUDA device? Decided without importing anything."""
    name = type(x).__module__.partition(".")[0]
    return name == "cupy" or (name == "torch" and bool(getattr(x, "is_cuda", False)))


def _from_tensor(values: Any) -> Any:
    """Read a tensor of the host; NumPy has no bfloat16, whose values are float32s."""
    values = values.detach()
    return np.asarray(values.float() if "bfloat16" in str(values.dtype) else values)


def column(values: Any, what: str) -> Array:
    """Turn a list, an array or a Series of any library into a NumPy array."""
    if isinstance(values, np.ma.MaskedArray):
        return _masked(values, what)
    if isinstance(values, np.ndarray):
        return _columns.one_dimensional(values, what)
    if isinstance(values, (list, tuple, range)):
        return _columns.one_dimensional(_from_list(values, what), what)
    if isinstance(values, (str, bytes)) or not hasattr(values, "__len__"):
        raise InputError(
            f"{what} must be a column of values; found {type(values).__name__}."
        )
    if is_frame(values):
        raise InputError(
            f"{what} must be one column; found a frame. Type frame['name'], or "
            f'trueness.tally(frame, label="y", score="p").'
        )
    if type(values).__module__.partition(".")[0] == "torch":
        return _columns.one_dimensional(_from_tensor(values), what)
    return _columns.one_dimensional(_from_series(values, what), what)


def _masked(values: Any, what: str) -> Array:
    objects = values.data.astype(object)
    objects[np.ma.getmaskarray(values)] = None
    return _columns.one_dimensional(objects, what)


def _from_list(values: Any, what: str) -> Array:
    # mixed lists must not be turned into text: [1, None], ["a", 1]
    kinds = {type(v) for v in values}
    if len(kinds) > 1 and not kinds <= {int, float, bool}:
        mixed = np.empty(len(values), dtype=object)
        mixed[:] = list(values)
        return mixed
    return _columns.as_array(values, what)


def _from_series(values: Any, what: str) -> Any:
    import narwhals as nw

    try:
        # without its name: Polars takes "^p.*$" for a pattern
        series = nw.from_native(values, series_only=True).alias("values")
    except TypeError:
        return np.asarray(values)
    gaps = bool(series.is_null().any())
    # engines round decimals to floats each in their own way, and hold times in their
    # own units: Python decides
    exact = not (isinstance(series.dtype, nw.Decimal) or series.dtype.is_temporal())
    if exact and not gaps:
        return series.to_numpy()
    if exact and series.dtype.is_numeric():
        return series.cast(nw.Float64).fill_null(np.nan).to_numpy()
    return _from_list(series.to_list(), what)


def several_columns(scores: Any) -> Any:
    """Give a mapping from name to column for a frame, a table or a list of columns.

    The columns of an array and of a list are called C1, C2, ...; anything else is left
    as it is.
    """
    if is_frame(scores):
        import narwhals as nw

        if hasattr(type(scores), "iloc"):  # pandas allows a name twice, or a number
            _columns.distinct_names(list(map(str, scores.columns)))
            scores = scores.rename(columns=str)
        frame: Any = nw.from_native(scores)
        return {str(k): frame[k].to_native() for k in frame.columns}
    if isinstance(scores, (list, tuple)) and scores and np.ndim(scores[0]) == 1:
        return {f"C{k + 1}": column for k, column in enumerate(scores)}
    if isinstance(scores, Mapping) or len(getattr(scores, "shape", ())) != 2:
        return scores
    if on_device(scores):
        return {f"C{k + 1}": scores[:, k] for k in range(scores.shape[1])}
    return {f"C{k + 1}": x for k, x in enumerate(np.asarray(scores).T)}
