"""What do the figures of leaves show? Numbers without ink."""

from __future__ import annotations

from trueness._core.figures import Intervals
from trueness._core.records import shown
from trueness.trees.leaf_counts import LeafReport


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
