"""Which leaves can be trusted, in rows and sentences?"""

from __future__ import annotations

from typing import Any

import numpy as np

from trueness._core.numbers import chance, counted
from trueness.trees.leaf_counts import LeafReport

HEAD = ("leaf", "cases", "majority", "share of majority", "P(C)", "P(U)", "verdict",
        "cases needed")  # fmt: skip


def leaf_numbers(r: LeafReport) -> list[dict[str, Any]]:
    """Give the numbers of each leaf, for programs."""
    names = ["node", "n", "majority", "probability", "low", "high", "confidence"]
    names += ["utility", "verdict", "more", *(["rule"] if r.rule is not None else [])]
    fields = {"probability": r.method}
    columns = {name: getattr(r, fields.get(name, name)) for name in names}
    rows = zip(*(c.tolist() for c in columns.values()), strict=True)
    return [dict(zip(columns, row, strict=True)) for row in rows]


def leaf_rows(r: LeafReport) -> list[list[Any]]:
    """Give a row for each leaf, under ``HEAD``; its rule too, where it is known."""
    return [
        [
            str(row["node"]),
            row["n"],
            row["majority"],
            f"{row['probability']:.3f} ({row['low']:.3f} to {row['high']:.3f})",
            chance(row["confidence"], 4),
            chance(row["utility"], 4),
            row["verdict"],
            _lacks(row["more"]),
            *([row["rule"]] if "rule" in row else []),
        ]
        for row in leaf_numbers(r)
    ]


def leaf_head(r: LeafReport) -> list[str]:
    """Name the columns of :func:`leaf_rows`."""
    return [*HEAD, *([] if r.rule is None else ["rule"])]


def _lacks(more: float) -> str:
    if not np.isfinite(more):
        return "never enough"
    return f"{more:,.0f}" if more else ""


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
