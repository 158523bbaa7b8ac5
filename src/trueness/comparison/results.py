"""What does a comparison say, and what are its p-values worth together?

``Pair`` and ``Comparison`` are what every comparison of this room answers with;
``holm`` and ``omnibus`` allow for the number of questions.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, final

import numpy as np

from trueness._core.arrays import Floats
from trueness._core.doors import door
from trueness._core.records import Estimate, Record


@final
@dataclass(frozen=True, repr=False)
class Pair(Record):
    """Which of two classifiers is better, and could the difference be chance?

    Attributes
    ----------
    first, second : str
        Their names.
    difference : Estimate
        First minus second.
    statistic : float
        Difference over its standard error (z), or what ``method`` says.
    p_value : float
        Two-sided; 1 for copies.
    p_adjusted : float
        Adjusted for the number of pairs (Holm).
    """

    first: str
    second: str
    difference: Estimate
    statistic: float
    p_value: float
    p_adjusted: float

    def __repr__(self) -> str:
        """Write the pair in one line."""
        return (
            f"{self.first} - {self.second}: {self.difference}, p = {self.p_value:.3g} "
            f"(adjusted {self.p_adjusted:.3g})"
        )

    __str__ = __repr__


@final
@dataclass(frozen=True, repr=False)
class Comparison(Record):
    """Which of several classifiers are better than others?

    Attributes
    ----------
    names : tuple of str
        The classifiers.
    values : tuple of Estimate
        The AUC (or metric) of each.
    pairs : tuple of Pair
        Every pair, in the order of the names.
    statistic, df, p_value : float
        Omnibus test that all are equal: chi-squared and its degrees of freedom; p = 1
        when all are copies.
    paired : bool
        Were they seen on the same cases?
    method : str
        How they were compared.
    """

    names: tuple[str, ...]
    values: tuple[Estimate, ...]
    pairs: tuple[Pair, ...]
    statistic: float
    df: int
    p_value: float
    paired: bool
    method: str

    def __repr__(self) -> str:
        """One line a classifier and one a pair."""
        lines = [f"Comparison ({self.method}, {'' if self.paired else 'un'}paired)"]
        lines += [f"  {n}: {v}" for n, v in zip(self.names, self.values, strict=True)]
        lines += [f"  {pair}" for pair in self.pairs]
        lines.append(
            f"  all equal? chi-squared {self.statistic:.4g} on {self.df}, "
            f"p = {self.p_value:.3g}"
        )
        return "\n".join(lines)

    def to_frame(self, backend: str = "pandas") -> Any:
        """Give a table with one row a pair."""
        columns: dict[str, list[Any]] = {
            "first": [p.first for p in self.pairs],
            "second": [p.second for p in self.pairs],
            "difference": [p.difference.value for p in self.pairs],
            "low": [p.difference.low for p in self.pairs],
            "high": [p.difference.high for p in self.pairs],
            "p_value": [p.p_value for p in self.pairs],
            "p_adjusted": [p.p_adjusted for p in self.pairs],
        }
        return door("data.frames").native_frame(columns, backend)


def holm(p_values: Sequence[float]) -> list[float]:
    """What are p-values worth when several questions are asked at once? (Holm 1979)

    >>> holm([0.01, 0.04, 0.03])
    [0.03, 0.06, 0.06]
    """
    p = np.asarray(p_values, dtype=np.float64)
    order = np.argsort(p, kind="stable")
    stepped = p[order] * np.arange(p.size, 0, -1)
    adjusted = np.empty_like(p)
    adjusted[order] = np.minimum(1.0, np.maximum.accumulate(stepped))
    return [float(v) for v in adjusted]


def omnibus(value: Floats, covariance: Floats) -> tuple[float, int]:
    """Test that all values are equal: contrasts to the last one, by pseudo-inverse."""
    k = value.size
    contrast = np.column_stack([np.eye(k - 1), -np.ones(k - 1)])
    size, vector = np.linalg.eigh(contrast @ covariance @ contrast.T)
    # copies make the covariance singular; what is left of them is rounding
    keep = size > 1e-10 * max(np.trace(covariance), 1e-300)
    score = (vector.T @ (contrast @ value))[keep] / np.sqrt(size[keep])
    return float(score @ score), int(keep.sum())


def chi2_tail(statistic: float, df: int) -> float:
    """How likely is a chi-squared value this large? 1 without degrees of freedom."""
    from scipy.special import chdtrc

    return float(chdtrc(df, statistic)) if df else 1.0
