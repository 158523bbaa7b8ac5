"""Which arithmetic turns a score into a new one, so that any engine can do it?

The five forms of a fitted map as data, so that NumPy (:func:`evaluate`) and a query
engine compute the same thing.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import final

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import expit

from trueness._core.arrays import Floats, blocks
from trueness._core.checks.errors import InputError
from trueness._core.records import Record


@final
@dataclass(frozen=True, repr=False)
class Logistic(Record):
    """``1 / (1 + exp(-(intercept + sum_k coefficient_k f_k(s'))))``.

    ``s'`` is the score clipped to ``[low, high]``, ``f_k`` is one of ``TRANSFORMS``.
    """

    intercept: float
    terms: tuple[tuple[float, str], ...]
    low: float = -np.inf
    high: float = np.inf


@final
@dataclass(frozen=True, repr=False, eq=False)
class StepFunction(Record):
    """A table of steps: ``values[number of edges <= score]``, one more than edges."""

    edges: Floats
    values: Floats


@final
@dataclass(frozen=True, repr=False, eq=False)
class Linear(Record):
    """Straight lines between points, ``x`` ascending, constant beyond the ends."""

    x: Floats
    y: Floats


@final
@dataclass(frozen=True, repr=False)
class PriorShift(Record):
    """Another prevalence by Bayes' rule: ``p pos / (p pos + (1 - p) neg)``."""

    pos: float
    neg: float


@final
@dataclass(frozen=True, repr=False)
class Chain(Record):
    """One formula after another, the first one first."""

    parts: tuple[Formula, ...]


Formula = Logistic | StepFunction | Linear | PriorShift | Chain

# functions of one score that a Logistic may hold; all of them exist in SQL
TRANSFORMS: dict[str, Callable[[Floats], Floats]] = {
    "identity": lambda s: s,
    "square": lambda s: s * s,
    "log": np.log,
    "log1m": lambda s: np.log1p(-s),
    "logit": lambda s: np.log(s) - np.log1p(-s),
}


def direction(formula: Formula) -> int | None:
    """Does it never fall (1) or never rise (-1)? None where that is not known."""
    match formula:
        case Logistic(_, terms):
            return _common(
                int(_RISING[n] * np.sign(c)) if n in _RISING else None for c, n in terms
            )
        case StepFunction(_, values) | Linear(_, values):
            return _common(np.unique(np.sign(np.diff(values))).astype(int).tolist())
        case PriorShift(pos, neg):
            return 1 if min(pos, neg) >= 0 else None
        case Chain(parts):
            ways = [direction(p) for p in parts]
            return None if None in ways else math.prod(ways)  # type: ignore[arg-type]


# functions of one score, and whether they rise; a square does neither
_RISING = {"identity": 1, "log": 1, "log1m": -1, "logit": 1}


def _common(signs: Iterable[int | None]) -> int | None:
    """Give the one direction that all parts have; 0 is flat and goes with both."""
    found = set(signs) - {0}
    if None in found or len(found) > 1:
        return None
    return found.pop() if found else 1


def evaluate(formula: Formula, score: ArrayLike) -> Floats:
    """Which number does this formula give each score? NaN stays NaN.

    >>> steps = StepFunction(np.array([0.5]), np.array([0.1, 0.8]))
    >>> evaluate(steps, [0.4, 0.5, np.nan])
    array([0.1, 0.8, nan])
    """
    try:
        value = np.asarray(score, dtype=np.float64)
    except (TypeError, ValueError):
        raise InputError(
            f"A map needs scores, numbers in one array; found {type(score).__name__}. "
            f"Type map([0.2, 0.7])."
        ) from None
    flat = value.reshape(-1)
    if isinstance(formula, Linear):  # np.interp walks fastest through all at once
        return _lines(formula, flat).reshape(value.shape)
    out = np.empty_like(flat)
    for b in blocks(flat.size):
        out[b] = _block(formula, flat[b])
    return out.reshape(value.shape)


def _block(formula: Formula, s: Floats) -> Floats:
    match formula:
        case Logistic(intercept, terms, low, high):
            s = np.clip(s, low, high)
            total = np.full(s.shape, intercept)
            with np.errstate(over="ignore"):  # log-odds beyond 1e308: p is 0 or 1
                for coefficient, name in terms:
                    total += coefficient * TRANSFORMS[name](s)
            return np.asarray(expit(total))
        case StepFunction(edges, values):
            found = values[np.searchsorted(edges, s, side="right")]
            return np.where(np.isnan(s), np.nan, found)
        case Linear():
            return _lines(formula, s)
        case PriorShift(pos, neg):
            return s * pos / (s * pos + (1 - s) * neg)
        case Chain(parts):
            for part in parts:
                s = _block(part, s)
            return s


def _lines(formula: Linear, s: Floats) -> Floats:
    out = np.interp(s, formula.x, formula.y)
    if formula.x.size == 1:  # np.interp then forgets that NaN stays NaN
        out = np.where(np.isnan(s), np.nan, out)
    # between neighbouring or subnormal scores a line is too steep for a float
    wild = ~np.isfinite(out) & ~np.isnan(s)
    if wild.any():
        at = np.searchsorted(formula.x, s[wild])
        out[wild] = formula.y[np.minimum(at, formula.y.size - 1)]
    return np.asarray(out)


def just_above(edges: Floats) -> Floats:
    """Give the next float, so that "edge < score" is "that <= score"."""
    with np.errstate(over="ignore"):  # nothing is above the largest float
        return np.asarray(np.nextafter(edges, np.inf))
