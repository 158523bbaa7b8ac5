"""Which numbers may the fields of a map hold?

Each record checks its own fields when it is made, whether a fit made it or a file. A
file that was edited or damaged is then refused instead of changing predictions.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from trueness._core.arrays import Floats
from trueness._core.checks.errors import InputError


def check_finite(name: str, *values: float) -> None:
    """Stop unless every number is finite."""
    for value in values:
        if not math.isfinite(value):
            raise InputError(f"{name} must be a finite number; found {value!r}.")


def check_ends(low: float, high: float, *, scale: str = "identity") -> None:
    """Stop unless the ends are in order, and the scale is defined between them."""
    if not low < high:
        raise InputError(f"low must be below high; found {low!r} and {high!r}.")
    if scale != "identity" and math.isfinite(low) and not low > 0:
        raise InputError(f"low must be above 0 on this scale; found {low!r}.")
    if scale != "identity" and math.isfinite(high) and not high < 1:
        raise InputError(f"high must be below 1 on this scale; found {high!r}.")


def check_ascending(name: str, values: Floats, *, strictly: bool = True) -> None:
    """Stop unless this is one array of finite numbers in ascending order."""
    if values.ndim != 1 or not np.isfinite(values).all():
        raise InputError(f"{name} must be one array of finite numbers.")
    # compared, not subtracted: differences of large numbers overflow
    falls = values[1:] < values[:-1]
    repeats = values[1:] == values[:-1]
    if falls.any() or (strictly and repeats.any()):
        raise InputError(f"{name} must be in ascending order.")


def check_probabilities(name: str, values: Floats) -> None:
    """Stop unless all numbers lie between 0 and 1."""
    if not ((values >= 0) & (values <= 1)).all():
        raise InputError(f"{name} must lie between 0 and 1.")


def check_counts(name: str, values: Floats, size: int) -> None:
    """Stop unless these are ``size`` numbers of cases, none negative."""
    if values.shape != (size,):
        raise InputError(f"{name} must be one number for each score.")
    if not (np.isfinite(values) & (values >= 0)).all():
        raise InputError(f"{name} must be finite and not negative.")


def check_reference(
    names: Sequence[str], scores: Sequence[Floats], cases: Sequence[Floats]
) -> None:
    """Stop unless every classifier has ascending scores and their numbers of cases."""
    check_names(names)
    if not len(names) == len(scores) == len(cases):
        raise InputError(
            f"Each of the {len(names)} classifiers needs its scores and its cases; "
            f"found {len(scores)} and {len(cases)}."
        )

    for name, score, count in zip(names, scores, cases, strict=True):
        check_ascending(f"scores of {name!r}", score)
        check_counts(f"cases of {name!r}", count, score.size)


def check_names(names: Sequence[str]) -> None:
    """Stop unless every classifier has a name of its own."""
    if not names or len(set(names)) < len(names):
        raise InputError("Each classifier needs a name of its own.")


def check_shape(name: str, values: Floats, shape: tuple[int, ...]) -> None:
    """Stop unless an array has this shape."""
    if values.shape != shape:
        raise InputError(f"{name} must have the shape {shape}; found {values.shape}.")


def check_correlation(values: Floats, size: int) -> None:
    """Stop unless this is a correlation matrix; NaN where a pair is not known."""
    check_shape("correlation", values, (size, size))
    known_values = values[~np.isnan(values)]
    # a correlation of 1 may be computed as a little more
    if (np.abs(known_values) > 1 + 1e-9).any():
        raise InputError("correlation must lie between -1 and 1.")
    if not np.allclose(values, values.T, equal_nan=True):
        raise InputError("correlation must be symmetric.")


def check_covariance(values: Floats, size: int) -> None:
    """Stop unless this is a covariance matrix."""
    check_shape("covariance", values, (size, size))
    if not np.isfinite(values).all() or not np.allclose(values, values.T):
        raise InputError("covariance must be finite and symmetric.")
    smallest = np.linalg.eigvalsh(values)[0]
    # the eigenvalue 0 of a singular matrix is computed with an error of either sign
    if smallest < -1e-9 * max(1.0, float(np.abs(values).max())):
        raise InputError("covariance must not have negative eigenvalues.")
