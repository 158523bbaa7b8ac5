"""What does a combination of classifiers look like, and the answer to its price?"""

from __future__ import annotations

from dataclasses import dataclass
from typing import final

import numpy as np
from numpy.typing import ArrayLike

from trueness._core.arrays import Floats
from trueness._core.records import Estimate, Record, brief, shown
from trueness.calibration.maps import Map, freeze, register
from trueness.nogold import _checks as _votes


@register("combination")
@final
@dataclass(frozen=True, repr=False, eq=False)
class LogicMap(Map):
    """1 for the vote patterns in ``cells``, else 0; for ``panel.combine``."""

    names: tuple[str, ...]
    cells: Floats  # (patterns, K); the name that it has in files

    def __post_init__(self) -> None:
        freeze(self, "cells")

    def __call__(self, rows: ArrayLike) -> Floats:
        """Give 1 or 0 for each row of votes."""
        value = _votes.complete_votes(rows, self.names)
        power = 2.0 ** np.arange(len(self.names))
        patterns = self.cells.reshape(-1, len(self.names))
        return np.isin(value @ power, patterns @ power).astype(np.float64)


@final
@dataclass(frozen=True, repr=False)
class Combination(Record):
    """A logical combination of classifiers, and how good it is.

    Attributes
    ----------
    formula : str
        The combination in words, such as "C1 or (C2 and C3)".
    sensitivity, specificity : Estimate
        Of the combination, used as one classifier.
    criterion, score : str, Estimate
        What was optimised, and its posterior.
    probability_best : float
        Share of draws in which no other combination is better (the paper's
        probability; by product and minimum of more than four, none that was found).
    rule : str
        "expected" (best on average) or "most often" (best in most draws).
    most_often, most_often_probability, winners : str, float, int
        The combination that is best in most draws, in which share of them, and how many
        combinations are best in some draw.
    gap : float
        How much better, at most, another combination could be on average; 0 is exact
        (to rounding, 1e-13).
    code : int
        The paper's 2^K-bit code; its tables print ``number``, code + 1.
    patterns, names : tuple of tuples of int, tuple of str
        The vote patterns that are flagged, in the order of the names of classifiers.
    """

    formula: str
    sensitivity: Estimate
    specificity: Estimate
    criterion: str
    score: Estimate
    probability_best: float
    rule: str
    most_often: str
    most_often_probability: float
    winners: int
    gap: float
    code: int
    patterns: tuple[tuple[int, ...], ...]
    names: tuple[str, ...]

    @property
    def exact(self) -> bool:
        """Is it certain that no other combination is better on average?"""
        return self.gap == 0

    def __repr__(self) -> str:
        """Say what it is, how good, and how sure that is."""
        sure = "exact" if self.exact else f"up to {self.gap:.2g} could be missing"
        sure = f"best on average, {sure}" if self.rule == "expected" else "most often"
        often = shown(self.most_often, 120)
        return (
            f"Combination: {shown(self.formula, 300)}\n"
            f"  flags {len(self.patterns):,} of {2 ** len(self.names):,} vote patterns"
            f"\n  sensitivity: {self.sensitivity}\n  specificity: {self.specificity}\n"
            f"  {self.criterion}: {self.score} ({sure})\n"
            f"  best in {brief(self.probability_best)} of the draws; most often best: "
            f"{often} ({brief(self.most_often_probability)}, {self.winners:,} winners)"
        )

    @property
    def number(self) -> int:
        """Under which number do the paper's tables list it?"""
        return self.code + 1

    @property
    def bits(self) -> str:
        """Give the paper's code as it is written: bit 0 on the right."""
        return format(self.code, f"0{2 ** len(self.names)}b")

    @property
    def map(self) -> LogicMap:
        """Give the combination as a function of votes, for ``panel.combine``."""
        return LogicMap(self.names, np.array(self.patterns, dtype=np.float64))


@final
@dataclass(frozen=True, repr=False)
class CostRule(Record):
    """Which patterns should be flagged, and what does that cost?

    Attributes
    ----------
    formula, threshold : str, float
        The patterns whose post-test probability exceeds fp / (fp + fn), in words.
    cost : Estimate
        Of a case, in expectation.
    alternatives : mapping from name to Estimate
        The cost of each single classifier, of flagging none and of flagging all.
    combination : Combination
        The same rule, with its sensitivity, specificity and map.
    """

    formula: str
    threshold: float
    cost: Estimate
    alternatives: dict[str, Estimate]
    combination: Combination
