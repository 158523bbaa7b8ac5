"""Which leaves can be trusted? The answer as a record, in rows, words and a figure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, final

import numpy as np

from trueness._core.arrays import Array, Floats, Ints
from trueness._core.figures import Intervals
from trueness._core.html import html_table
from trueness._core.numbers import chance, counted, p_is
from trueness._core.records import Record, brief, shown
from trueness.trees.levels import TreeLevels


@final
@dataclass(frozen=True, repr=False)
class LeafReport(Record):
    r"""Which leaves can be trusted, and how many more cases do the others need?

    Attributes
    ----------
    node : array (J,)
        The leaves.
    n : array (J,)
        Labelled cases of each.
    majority : array (J,)
        "positive", "negative" or "tie".
    mle, emle, blend : array (J,)
        Estimates of the larger class probability; see :func:`trueness.top_probability`.
    low, high : array (J,)
        Interval of the larger class probability.
    confidence, utility : array (J,)
        P(C) and P(U) of the leaf with its n cases, at the estimate ``method``; where
        all cases agree, at (n + 1) / (n + 2), so that no number of cases gives
        certainty.
    confidence_low, confidence_high : array (J,)
        P(C) at the ends of the interval.
    verdict : array (J,)
        "contradicted": most of these cases are not of the class that the tree predicts
        (only for cases that the tree was not grown on). "trust": P(C) reaches
        ``wanted``. "thin": it does not, or all cases agree but are so few that tosses
        of a coin could agree as well. "coin toss": the counts do not distinguish this
        leaf from tosses of a coin, :math:`(\mathrm{pos}-\mathrm{neg})^2 \le n`.
    more : array (J,)
        How many more cases the leaf needs for P(C) to reach ``wanted``, if its estimate
        is right; infinite in a tie, NaN without a case. A leaf whose cases all agree
        has an estimate of 1, with which P(C) would be 1 from two cases on: it
        therefore needs so many cases that as many tosses of a coin would rarely all
        agree, :math:`2^{-n} \le 1 -` ``wanted``.
    tree : TreeLevels
        P(C) and P(U) of the whole tree, whose leaves get their cases at random.
    wanted, level : float
        Wanted level of confidence, and level of the intervals.
    method : str
        Estimate behind the levels.
    note : str
        On which cases the leaves were counted, when that is known.
    predicted : array (J,)
        What the tree itself predicts in each leaf, when there is such a tree.
    p_value : array (J,)
        The probability that a leaf in which the true share of the predicted class is
        one half or more would show so few cases of it: exact and one-sided,
        :math:`\sum_{i \le k} \binom{n}{i} 2^{-n}` with k cases of that class. It is for
        each leaf by itself; NaN where nothing was predicted or no case is labelled.
    rule : array (J,) of str
        Which cases fall into each leaf, in words, when there is a tree.
    classes : array (2,)
        What the negative and the positive class are called, when that is known.

    Notes
    -----
    Contradicted leaves come first, the smallest p-value at the top; all others follow
    in their order. A single case always agrees with itself, so it carries no
    information about the share of the majority: the levels of a leaf with one case are
    those of a coin toss, whatever the estimate. Where n > 1 cases agree, the estimate
    is 1, with which P(C) would be 1 from two cases on; the levels are then those of
    Laplace's share, (n + 1) / (n + 2), which reaches 0.95 with the fifth case.
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
        rows = leaf_rows(self, 40)
        lines = [text_table(leaf_head(self), rows)]
        if self.node.size > 40:
            lines.append(f"... {self.node.size - 40:,} more leaves")
        return "\n".join([*lines, *_foot(self)])

    def _repr_html_(self) -> str:
        foot = "".join(f"<p>{line}</p>" for line in _foot(self))
        return (
            html_table(tuple(leaf_head(self)), [*map(tuple, leaf_rows(self, 100))])
            + foot
        )


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
    fields = {"probability": r.method}
    columns = {name: getattr(r, fields.get(name, name)) for name in names}
    rows = zip(*(np.asarray(c).tolist() for c in columns.values()), strict=True)
    return [dict(zip(columns, row, strict=True)) for row in rows]


def leaf_rows(r: LeafReport, most: int | None = None) -> list[list[Any]]:
    """Give a row for each leaf, under :func:`leaf_head`; its rule where it is known."""
    return [
        [
            str(row["node"]),
            row["n"],
            _class_name(r, row["majority"]),
            f"{row['probability']:.3f} ({row['low']:.3f} to {row['high']:.3f})",
            chance(row["confidence"], 4),
            chance(row["utility"], 4),
            _verdict_words(r, j),
            _lacks(row["more"]),
            *([row["rule"]] if "rule" in row else []),
        ]
        for j, row in enumerate(leaf_numbers(r)[:most])
    ]


def leaf_head(r: LeafReport) -> list[str]:
    """Name the columns of :func:`leaf_rows`."""
    head = ["leaf", "cases", "majority", "share of majority", "P(C)", "P(U)", "verdict",
            "cases needed"]  # fmt: skip
    return [*head, *([] if r.rule is None else ["rule"])]


def _class_name(r: LeafReport, majority: str) -> str:
    if r.classes is None or majority == "tie":
        return majority
    return str(r.classes[1 if majority == "positive" else 0])


def _verdict_words(r: LeafReport, j: int) -> str:
    if r.verdict[j] != "contradicted" or r.predicted is None or r.p_value is None:
        return str(r.verdict[j])
    return f"contradicted: predicts {r.predicted[j]}, {p_is(r.p_value[j])}"


def _lacks(more: float) -> str:
    if not np.isfinite(more):
        return "never enough"
    return f"{more:,.0f}" if more else ""


def _foot(r: LeafReport) -> list[str]:
    trusted = int((r.verdict == "trust").sum())
    line = (
        f"tree of {r.tree.n:,} cases: P(C) {chance(r.tree.confidence, 3)}, "
        f"P(U) {chance(r.tree.utility, 3)}; {trusted} of {r.node.size} leaves "
        f"trusted at {r.wanted:g}"
    )
    return [line, r.note] if r.note else [line]


def leaf_sentences(r: LeafReport) -> list[str]:
    """Say how many leaves can be trusted, and what the columns mean."""
    trusted = int((r.verdict == "trust").sum())
    return [
        f"{trusted} of {counted(r.node.size, 'leaf', 'leaves')} can be trusted: with "
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
