"""Which leaves of a tree can be trusted?

``Leaves`` counts the cases of each leaf, as a tally counts those of each score: it is
all that is asked about a tree, a segmentation or a categorical covariate. Where the
leaves come from (a frame, a scikit-learn tree) is the business of the doors.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, fields, replace
from typing import Any, final

import numpy as np
from numpy.typing import ArrayLike

from trueness._core.arrays import Array, Floats, Ints
from trueness._core.binomial import at_least
from trueness._core.checks import options as _options
from trueness._core.checks.columns import missing, one_dimensional
from trueness._core.checks.errors import InputError, NotEnoughCases
from trueness._core.checks.words import listing, places
from trueness._core.frames import native_frame
from trueness._core.html import html_table
from trueness._core.records import brief
from trueness.counts.cases import (
    COUNTS,
    Cases,
    Squares,
    alike,
    by_name,
    count_columns,
    describe,
    fill,
    same,
)
from trueness.counts.design import PLAIN, Design
from trueness.counts.rows import Clusters
from trueness.counts.values import Tally
from trueness.trees.entropic import TOP_METHODS, majority_interval
from trueness.trees.leaf_report import LeafReport
from trueness.trees.levels import (
    confidence_level,
    plan_leaf,
    tree_levels,
    utility_level,
)


@final
@dataclass(frozen=True, eq=False, repr=False)
class Leaves(Cases):
    """How many negatives, positives and unknowns fell into each leaf?

    Made by :func:`trueness.leaves`; the constructor takes leaves that are counted
    already, in any order. ``a + b`` counts the cases of both.

    Attributes
    ----------
    node : array (J,)
        Names or numbers of the leaves, distinct, in their order.
    neg, pos, unknown : array (J,) of int64
        Cases of that leaf that are negative, positive and without a label.

    Examples
    --------
    >>> golf = Leaves(["sunny", "rainy", "overcast"], neg=[2, 3, 0], pos=[3, 2, 4])
    >>> golf.node.tolist(), golf.pos.tolist(), golf.n
    (['overcast', 'rainy', 'sunny'], [4, 2, 3], 14)
    """

    node: Array
    neg: Ints
    pos: Ints
    unknown: Ints
    _squares: Squares | None = None
    clusters: Clusters | None = None
    design: Design = PLAIN

    def __init__(
        self,
        node: ArrayLike = (),
        neg: ArrayLike | None = None,
        pos: ArrayLike | None = None,
        unknown: ArrayLike | None = None,
    ) -> None:
        names = _leaf_names(np.atleast_1d(np.asarray(node)))
        columns = count_columns(names.size, "node", neg=neg, pos=pos, unknown=unknown)
        distinct, at = np.unique(names, return_inverse=True)
        counts = np.zeros((distinct.size, 3), np.int64)
        np.add.at(counts, at, np.column_stack(columns))
        some = counts.any(axis=1)  # a leaf without a case is none
        fill(self, ("node", *COUNTS), [distinct[some], *counts[some].T])

    def __len__(self) -> int:
        """How many leaves?"""
        return int(self.node.size)

    def __add__(self, other: Leaves) -> Leaves:
        """Count the cases of both."""
        if not isinstance(other, Leaves):
            return NotImplemented
        if not len(self) or not len(other):
            return self if len(self) else other
        if (self.node.dtype.kind == "U") != (other.node.dtype.kind == "U"):
            raise InputError(
                f"Leaves can be added when their nodes are of one kind; found "
                f"{listing(self.node[:1])} and {listing(other.node[:1])}. Turn both "
                f"into text."
            )
        counts = [
            np.concatenate(pair) for pair in zip(*alike(self, other), strict=True)
        ]
        return Leaves(np.concatenate([self.node, other.node]), *counts)

    def __radd__(self, other: int) -> Leaves:
        """Let ``sum(parts)`` start from 0."""
        return self if other == 0 else NotImplemented

    def __eq__(self, other: object) -> bool:
        """Do both describe the same cases?"""
        if not isinstance(other, Leaves):
            return NotImplemented
        return same((self.node, *self.counts), (other.node, *other.counts))

    __hash__ = None

    def tally(self, *, method: str = "mle") -> Tally:
        """Score each leaf by its estimated probability of a positive.

        ``method`` is one of :func:`trueness.top_probability`: "mle" is the share of
        positives, "emle" and "blend" move it towards 1/2. A leaf without a labelled
        case gets 1/2, and so does a leaf with a single case under "emle".
        """
        return Tally(self.scores(method=method), self.neg, self.pos, self.unknown)

    def scores(self, *, method: str = "mle") -> Floats:
        """Give each leaf's estimated probability of a positive, as in ``tally``."""
        _options.choice(method, TOP_METHODS, "method")
        n = self.neg + self.pos
        top = TOP_METHODS[method](self.pos, n)
        score = np.where(self.pos >= self.neg, top, 1 - top)
        if method == "mle":  # 1 - (1 - share) would not be the share to the last digit
            score = np.divide(self.pos, n, out=np.full(n.shape, np.nan), where=n > 0)
        return np.where(np.isnan(score), 0.5, score)

    def report(
        self,
        *,
        confidence: float = 0.95,
        level: float = 0.95,
        method: str = "blend",
        empty: str | float = "coin",
    ) -> LeafReport:
        """Which leaves can be trusted? See :class:`LeafReport`.

        Parameters
        ----------
        confidence
            Level of confidence that a trusted leaf must reach.
        level
            Confidence level of the intervals.
        method
            Which estimate of the larger class probability the levels use: "mle",
            "emle" or "blend".
        empty
            How an empty leaf counts in the levels of the whole tree, as in
            :func:`trueness.trees.tree_levels`.
        """
        wanted = _options.fraction(confidence, "confidence")
        level = _options.fraction(level, "level")
        _options.choice(method, TOP_METHODS, "method")
        return _leaf_report(self, wanted, level, method, empty)

    def to_frame(self, backend: str | None = None) -> Any:
        """Give a frame with columns node, neg, pos, unknown."""
        columns = {"node": self.node, **by_name(self)}
        return native_frame(columns, backend)

    def __repr__(self) -> str:
        """Say what was counted, in one line."""
        return f"Leaves: {describe(self)} in {len(self):,} leaves"

    def _repr_html_(self) -> str:
        rows = list(zip(self.node, *self.counts, strict=True))
        shown = [tuple(brief(v) for v in row) for row in rows[:10]]
        note = f"<p>{len(rows) - 10:,} more leaves</p>" if len(rows) > 10 else ""
        return f"<p>{self!r}</p>{html_table(('node', *COUNTS), shown)}{note}"


def _leaf_names(values: Array) -> Array:
    """Pass on names of leaves that can be sorted: all numbers, or all text."""
    names = one_dimensional(values, "node")
    gone = missing(names)
    if gone.any():
        raise InputError(
            f"node must name a leaf for every case; missing at {places(gone)}. Give "
            "these cases a leaf of their own."
        )
    if names.dtype.kind != "O":
        return names
    kinds = sorted({type(v).__name__ for v in names})
    if len(kinds) > 1:
        raise InputError(
            f"node must hold names of one kind; found {listing(kinds)}. "
            f"Turn them all into text."
        )
    return np.array(names.tolist()) if names.size else names.astype(str)


def _leaf_report(
    leaves: Leaves, wanted: float, level: float, method: str, empty: str | float
) -> LeafReport:
    neg, pos = leaves.neg, leaves.pos
    n = neg + pos
    total = int(n.sum())
    if total == 0:
        raise NotEnoughCases(
            f"A report on leaves needs labelled cases; found none among {leaves.n:,} "
            f"cases in {len(leaves):,} leaves."
        )
    low, high = majority_interval(pos, n, level)
    made = {name: f(pos, n) for name, f in TOP_METHODS.items()}
    # Laplace's rule of succession, where the cases cannot show that there are others
    p = np.where((pos == n) | (neg == n), (n + 1) / (n + 2), made[method])
    # the levels take 1/2 where there is no estimate: a leaf without a case, or with a
    # single one, which is a majority of 1 whatever the truth is
    p = np.where(np.isnan(made[method]) | (n == 1), 0.5, p)
    coin = ((2 * pos - n) ** 2 <= n) & (n != 1)
    more = _more_cases(pos, n, made[method], wanted)
    return LeafReport(
        node=leaves.node,
        n=n,
        majority=np.select([pos > neg, pos < neg], ["positive", "negative"], "tie"),
        mle=made["mle"],
        emle=made["emle"],
        blend=made["blend"],
        low=low,
        high=high,
        confidence=confidence_level(n, p),
        confidence_low=confidence_level(n, low),
        confidence_high=confidence_level(n, high),
        utility=utility_level(n, p),
        verdict=np.select([coin, more == 0], ["coin toss", "trust"], "thin"),
        more=more,
        tree=tree_levels(total, n / total, p, empty),
        wanted=wanted,
        level=level,
        method=method,
    )


def beside_prediction(
    r: LeafReport, leaves: Leaves, predicted: Array, positive: Any, fresh: bool
) -> LeafReport:
    """Say which leaves contradict what a tree predicts there, and put them first.

    Only of ``fresh`` cases, which the tree was not grown on.
    """
    n = leaves.neg + leaves.pos
    agree = np.where(predicted == positive, leaves.pos, leaves.neg)
    p_value = np.where(n > 0, at_least(n - agree, n, 0.5), np.nan)
    against = (2 * agree < n) & fresh
    r = replace(
        r,
        predicted=predicted,
        p_value=p_value,
        verdict=np.where(against, "contradicted", r.verdict),
    )
    order = np.lexsort((np.where(against, p_value, 0.0), ~against))
    columns = {
        f.name: getattr(r, f.name)[order]
        for f in fields(r)
        if f.name != "classes" and isinstance(getattr(r, f.name), np.ndarray)
    }
    return replace(r, **columns)


def _more_cases(pos: Ints, n: Ints, p: Floats, wanted: float) -> Floats:
    """How many cases does each leaf lack?"""
    distinct, at = np.unique(p, return_inverse=True)
    needed = np.array([_needed(value, wanted) for value in distinct])[at]
    # all alike: a coin does that once in 2**(n - 1) times, for either class
    alike = math.ceil(-math.log2(1 - wanted))
    needed = np.where((pos == 0) | (pos == n), np.maximum(needed, alike), needed)
    return np.where(n == 0, np.nan, np.maximum(needed - n, 0.0))


def _needed(p: float, wanted: float) -> float:
    if math.isnan(p):
        return 1.0
    try:
        return float(plan_leaf(p, confidence=wanted))
    except NotEnoughCases:  # p = 1/2: no number of cases finds a majority
        return math.inf
