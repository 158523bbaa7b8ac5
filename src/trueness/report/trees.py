"""Which leaves of a tree can be trusted? A section of its own."""

from __future__ import annotations

from trueness._core.figures import intervals
from trueness._core.records import Estimate
from trueness.report import svg
from trueness.report._parts import Section, grid
from trueness.trees.leaf_counts import LeafReport
from trueness.trees.sentences import leaf_head, leaf_numbers, leaf_rows, leaf_sentences


def section(r: LeafReport) -> Section:
    """Show every leaf with its levels of confidence and utility."""
    shares = {
        str(row["node"]): Estimate(row["probability"], row["low"], row["high"])
        for row in leaf_numbers(r)
    }
    figure = intervals("Share of the majority", "share of the majority", shares)
    return Section(
        "leaves",
        "Which leaves can be trusted?",
        words=(*leaf_sentences(r), *([r.note] if r.note else [])),
        figures=(svg.forest(figure, of="leaf"),),
        tables=(grid("Leaves", leaf_head(r), leaf_rows(r)),),
        method=(
            "P(C) and P(U): levels of confidence and utility of a leaf with as many "
            "cases as it has, at an estimate of the share of its majority from which "
            "the bias was removed."
        ),
        caveat=(
            "Leaves that were grown on these cases look surer than they are; count "
            "them on cases that the tree has not seen."
        ),
    )
