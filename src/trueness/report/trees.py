"""Which leaves of a tree can be trusted? A section of its own."""

from __future__ import annotations

from trueness.report import svg
from trueness.report._parts import Section, grid
from trueness.trees.figures import leaf_figure
from trueness.trees.leaf_counts import LeafReport
from trueness.trees.sentences import leaf_head, leaf_rows, leaf_sentences


def section(r: LeafReport) -> Section:
    """Show every leaf with its levels of confidence and utility."""
    return Section(
        "leaves",
        "Which leaves can be trusted?",
        words=(*leaf_sentences(r), *([r.note] if r.note else [])),
        figures=(svg.forest(leaf_figure(r), of="leaf"),),
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
