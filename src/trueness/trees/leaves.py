"""Which leaves of a tree can be trusted?

``Leaves`` counts the cases of each leaf, as a tally counts those of each score: it is
all that is asked about a tree, a segmentation or a categorical covariate.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
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
from trueness._core.figures import Intervals, html_table
from trueness._core.numbers import chance, counted, p_is
from trueness._core.records import Record, brief, native_frame, shown
from trueness.counts.cases import (
    COUNTS,
    Cases,
    Squares,
    align_counts,
    count_columns,
    counts_by_name,
    describe,
    same_arrays,
    set_fields,
)
from trueness.counts.clusters import Clusters
from trueness.counts.design import PLAIN, Design
from trueness.counts.values import Tally
from trueness.trees.levels import (
    TOP_METHODS,
    TreeLevels,
    confidence_level,
    majority_interval,
    plan_leaf,
    top_or_half,
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
        set_fields(self, ("node", *COUNTS), [distinct[some], *counts[some].T])

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
        counts = map(np.concatenate, zip(*align_counts(self, other), strict=True))
        return Leaves(np.concatenate([self.node, other.node]), *counts)

    def __radd__(self, other: int) -> Leaves:
        """Let ``sum(parts)`` start from 0."""
        return self if other == 0 else NotImplemented

    def __eq__(self, other: object) -> bool:
        """Do both describe the same cases?"""
        if not isinstance(other, Leaves):
            return NotImplemented
        return same_arrays((self.node, *self.counts), (other.node, *other.counts))

    __hash__ = None

    def tally(self, *, method: str = "mle") -> Tally:
        """Score each leaf by its estimated probability of a positive.

        "mle" is the share of positives, "emle" and "blend" move it towards 1/2. A leaf
        without a labelled case gets 1/2, as does a single case under "emle".
        """
        return Tally(self.scores(method=method), self.neg, self.pos, self.unknown)

    def scores(self, *, method: str = "mle") -> Floats:
        """Give each leaf's estimated probability of a positive, as in ``tally``."""
        n = self.neg + self.pos
        top = top_or_half(self.pos, n, method)
        if method == "mle":  # 1 - (1 - share) would not be the share to the last digit
            return np.where(n > 0, self.pos / np.maximum(n, 1), 0.5)
        return np.where(self.pos >= self.neg, top, 1 - top)

    def report(
        self,
        *,
        confidence: float = 0.95,
        level: float = 0.95,
        method: str = "blend",
        empty: str | float = "coin",
    ) -> LeafReport:
        """Which leaves can be trusted? See :class:`LeafReport`.

        A trusted leaf reaches this ``confidence``; ``level`` is that of the intervals.
        The levels use the estimate ``method`` ("mle", "emle" or "blend") of the larger
        class probability; an ``empty`` leaf counts in those of the whole tree as in
        :func:`trueness.trees.tree_levels`.
        """
        wanted = _options.fraction(confidence, "confidence")
        level = _options.fraction(level, "level")
        _options.choice(method, TOP_METHODS, "method")
        n = self.neg + self.pos
        total = int(n.sum())
        if total == 0:
            raise NotEnoughCases(
                f"A report on leaves needs labelled cases; found none among "
                f"{self.n:,} cases in {len(self):,} leaves."
            )
        low, high = majority_interval(self.pos, n, level)
        made = {k: f(self.pos, n) for k, f in TOP_METHODS.items()}
        # Laplace's rule of succession, where the cases cannot show that others exist
        agree = (self.pos == n) | (self.neg == n)
        p = np.where(agree, (n + 1) / (n + 2), made[method])
        # the levels take 1/2 where there is no estimate: a leaf without a case, or with
        # a single one, which is a majority of 1 whatever the truth is
        p = np.where(np.isnan(made[method]) | (n == 1), 0.5, p)
        coin = ((2 * self.pos - n) ** 2 <= n) & (n != 1)
        sides = [self.pos > self.neg, self.pos < self.neg]
        more = _more_cases(agree, n, made[method], wanted)
        majority = np.select(sides, ["positive", "negative"], "tie")
        verdict = np.select([coin, more == 0], ["coin toss", "trust"], "thin")
        sure = (confidence_level(n, x) for x in (p, low, high))
        each: Any = (*made.values(), low, high, *sure, utility_level(n, p))
        tree = tree_levels(total, n / total, p, empty)
        known: Any = (self.node, n, majority, *each, verdict, more, tree)
        return LeafReport(*(*known, wanted, level, method))

    def to_frame(self, backend: str | None = None) -> Any:
        """Give a frame with columns node, neg, pos, unknown."""
        return native_frame({"node": self.node, **counts_by_name(self)}, backend)

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


def beside_prediction(
    r: LeafReport, leaves: Leaves, predicted: Array, positive: object, fresh: bool
) -> LeafReport:
    """Put leaves first that contradict what a tree, not grown on them, predicts."""
    n = leaves.neg + leaves.pos
    agree = np.where(predicted == positive, leaves.pos, leaves.neg)
    p_value = np.where(n > 0, at_least(n - agree, n, 0.5), np.nan)
    against = (2 * agree < n) & fresh
    verdict = np.where(against, "contradicted", r.verdict)
    order = np.lexsort((np.where(against, p_value, 0.0), ~against))
    known: Any = {f.name: getattr(r, f.name) for f in fields(r) if f.name != "classes"}
    known |= {"predicted": predicted, "p_value": p_value, "verdict": verdict}
    columns = (k for k, v in known.items() if isinstance(v, np.ndarray))
    return replace(r, **{k: known[k][order] for k in columns})


def _more_cases(agree: Array, n: Ints, p: Floats, wanted: float) -> Floats:
    """How many cases does each leaf lack?"""

    def needed(p: float) -> float:
        try:
            return 1.0 if math.isnan(p) else float(plan_leaf(p, confidence=wanted))
        except NotEnoughCases:  # p = 1/2: no number of cases finds a majority
            return math.inf

    distinct, at = np.unique(p, return_inverse=True)
    least = np.array([needed(value) for value in distinct])[at]
    # all alike: a coin does that once in 2**(n - 1) times, for either class
    least = np.where(agree, np.maximum(least, math.ceil(-math.log2(1 - wanted))), least)
    return np.where(n == 0, np.nan, np.maximum(least - n, 0.0))


@final
@dataclass(frozen=True, repr=False)
class LeafReport(Record):
    r"""Which leaves can be trusted, and how many more cases do the others need?

    Attributes
    ----------
    node, n, majority : array (J,)
        The leaves, their labelled cases, and "positive", "negative" or "tie".
    mle, emle, blend, low, high : array (J,)
        Estimates of the larger class probability, see
        :func:`trueness.top_probability`, and its interval.
    confidence, utility : array (J,)
        P(C) and P(U) of the leaf with its n cases, at the estimate ``method``; where
        all cases agree, at (n + 1) / (n + 2), and for a single case at 1/2.
    confidence_low, confidence_high : array (J,)
        P(C) at the ends of the interval.
    verdict, more : array (J,)
        "contradicted": most of these cases are not of the class that the tree predicts
        (only for cases that the tree was not grown on). "trust": P(C) reaches
        ``wanted``. "thin": it does not, or all cases agree but are so few that tosses
        of a coin could agree as well, :math:`2^{-n} > 1 -` ``wanted``. "coin toss": the
        counts do not differ from a coin's, :math:`(\mathrm{pos}-\mathrm{neg})^2 \le n`.
        How many more cases the leaf needs, if its estimate is right; infinite in a tie,
        NaN without a case.
    tree : TreeLevels
        P(C) and P(U) of the whole tree, whose leaves get their cases at random.
    wanted, level, method, note
        Wanted level of confidence, level of the intervals, estimate behind the levels,
        and on which cases the leaves were counted.
    predicted, rule, p_value : array (J,)
        What a tree itself predicts in each leaf, which cases fall into it, and the
        exact one-sided probability that a leaf in which the predicted class has half of
        the cases or more would show so few of it.
    classes : array (2,)
        What the negative and the positive class are called, when that is known.
    """

    node: Array
    n: Ints
    majority: Array
    mle: Floats
    emle: Floats
    blend: Floats
    low: Floats
    high: Floats
    confidence: Floats
    confidence_low: Floats
    confidence_high: Floats
    utility: Floats
    verdict: Array
    more: Floats
    tree: TreeLevels
    wanted: float
    level: float
    method: str
    note: str = ""
    predicted: Array | None = None
    p_value: Floats | None = None
    rule: Array | None = None
    classes: Array | None = None

    def __repr__(self) -> str:
        """Write one line a leaf, the first forty, and one for the tree."""
        lines = [text_table(*leaf_table(self, 40))]
        if self.node.size > 40:
            lines.append(f"... {self.node.size - 40:,} more leaves")
        return "\n".join([*lines, *_foot(self)])

    def _repr_html_(self) -> str:
        foot = "".join(f"<p>{line}</p>" for line in _foot(self))
        return html_table(*leaf_table(self, 100)) + foot


def text_table(head: Sequence[str], rows: Sequence[Sequence[Any]]) -> str:
    """Write columns of equal width for a terminal."""
    table = [head, *([brief(cell) for cell in row] for row in rows)]
    widths = [max(map(len, column)) for column in zip(*table, strict=True)]
    lines = (
        "  ".join(c.ljust(w) for c, w in zip(row, widths, strict=True)).rstrip()
        for row in table
    )
    return "\n".join(lines)


def leaf_numbers(r: LeafReport) -> list[dict[str, Any]]:
    """Give the numbers of each leaf, for programs."""
    names = ["node", "n", "majority", "probability", "low", "high", "confidence"]
    names += ["utility", "verdict", "more", *(["rule"] if r.rule is not None else [])]
    own = [r.method if name == "probability" else name for name in names]
    rows = zip(*(np.asarray(getattr(r, k)).tolist() for k in own), strict=True)
    return [dict(zip(names, row, strict=True)) for row in rows]


def leaf_table(
    r: LeafReport, most: int | None = None
) -> tuple[list[str], list[list[Any]]]:
    """Name the columns, and give a row for each leaf; its rule where it is known."""
    head = ["leaf", "cases", "majority", "share of majority", "P(C)", "P(U)", "verdict"]
    head += ["cases needed", *(["rule"] if r.rule is not None else [])]
    rows = []
    for j, row in enumerate(leaf_numbers(r)[:most]):
        majority, verdict, more = row["majority"], row["verdict"], row["more"]
        if r.classes is not None and majority != "tie":
            majority = str(r.classes[int(majority == "positive")])
        if verdict == "contradicted" and r.predicted is not None:
            p_value = np.nan if r.p_value is None else r.p_value[j]
            verdict += f": predicts {r.predicted[j]}, {p_is(p_value)}"
        enough = f"{more:,.0f}" if np.isfinite(more) else "never enough"
        cells = [str(row["node"]), row["n"], majority]
        cells += [f"{row['probability']:.3f} ({row['low']:.3f} to {row['high']:.3f})"]
        cells += [chance(row["confidence"], 4), chance(row["utility"], 4), verdict]
        cells += [enough if more else "", *([row["rule"]] if "rule" in row else [])]
        rows.append(cells)
    return head, rows


def _foot(r: LeafReport) -> list[str]:
    line = (
        f"tree of {r.tree.n:,} cases: P(C) {chance(r.tree.confidence, 3)}, "
        f"P(U) {chance(r.tree.utility, 3)}; {(r.verdict == 'trust').sum()} of "
        f"{r.node.size} leaves trusted at {r.wanted:g}"
    )
    return [line, r.note] if r.note else [line]


def leaf_sentences(r: LeafReport) -> list[str]:
    """Say how many leaves can be trusted, and what the columns mean."""
    return [
        f"{(r.verdict == 'trust').sum()} of "
        f"{counted(r.node.size, 'leaf', 'leaves')} can be trusted. With "
        "so many cases, the majority seen is the true majority with a probability "
        f"P(C) of {r.wanted:g} or more. P(U) is the probability that a new case has "
        "the label of the majority. A leaf is 'thin' when it has too few cases; "
        "'cases needed' is how many more it needs.",
        f"The whole tree: P(C) {chance(r.tree.confidence, 4)}, "
        f"P(U) {chance(r.tree.utility, 4)}.",
    ]


def leaf_figure(r: LeafReport) -> Intervals:
    """How large is the majority of each leaf, and how sure is it?"""
    return Intervals(
        "Share of the majority",
        "share of the majority",
        tuple(shown(node, 30) for node in r.node.tolist()),
        getattr(r, r.method),
        r.low,
        r.high,
        keys=("leaf", "share"),
        more={"confidence": r.confidence, "cases": r.n, "verdict": r.verdict},
    )
