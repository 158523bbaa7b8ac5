"""Which leaves of a tree, or segments of a population, can be trusted?"""

from __future__ import annotations

from typing import Annotated, Any

import numpy as np
import typer

from trueness._core.checks.errors import InputError
from trueness._core.doors import door
from trueness._core.numbers import counted
from trueness._core.progress import progress
from trueness.cli._columns import Request, naming
from trueness.cli._command import Columns, command
from trueness.cli._options import Node
from trueness.cli._shell import Answer, about, each_group, table
from trueness.cli._source import Source, groups_of, names_of
from trueness.data import frames
from trueness.trees.leaf_counts import LeafReport, Leaves

NODE_NAMES = ("leaf", "node", "segment")


def guess_node(source: Source, taken: set[str | None]) -> tuple[str, ...]:
    """Take the column of the leaves when there is no doubt."""
    free = [c for c in source.types if c not in taken]
    by_name = [c for c in free if c.lower() in NODE_NAMES]
    if len(by_name) == 1 or len(free) == 1:
        return tuple(by_name or free)
    raise InputError(
        f"Which column holds the leaves? Type --node NAME. This file has the columns "
        f"{names_of(source.types)}."
    )


@command(Columns("node", Node, guess_node), without=("seed",))
def leaves(
    request: Request,
    confidence: Annotated[
        float, typer.Option(help="Probability P(C) from which a leaf is trusted.")
    ] = 0.95,
) -> Answer:
    """Can this leaf be trusted? Confidence and utility of every leaf of a tree.

    Example: trueness leaves sample:leaves --node leaf --label virus --count n
    """

    def judged(held: Leaves) -> LeafReport:
        return held.report(confidence=confidence, level=request.level)

    with progress("Counting", unit=""):
        held = _count(request, request.rows)
        groups = _by_group(request) if request.chosen.by else {}
        found = judged(held)
        by_group = each_group(groups, judged)
    parts = [f"{held!r}.", _table(found), *_sentences(found)]
    for group, one in by_group.items():
        parts += [f"{request.chosen.by} {group}:", _table(one)] if one else []
    return Answer(
        "leaves",
        _result(found) | {"groups": {g: r and _result(r) for g, r in by_group.items()}},
        parts,
        chart=lambda: door("plots").leaf_shares(found),
        about=about(request, held),
    )


def _count(request: Request, rows: Any) -> Leaves:
    chosen = request.chosen
    with naming(chosen):
        return frames.leaves(
            rows,
            node=chosen.scores[0],
            label=chosen.label,
            positive=chosen.positive,
            count=chosen.count,
        )


def _by_group(request: Request) -> dict[Any, Leaves]:
    parts = groups_of(request.rows, str(request.chosen.by))
    return {g: _count(request, rows) for g, rows in parts}


def _rows(r: LeafReport) -> list[dict[str, Any]]:
    return [
        {
            "node": r.node[j],
            "n": int(r.n[j]),
            "majority": str(r.majority[j]),
            "probability": float(getattr(r, r.method)[j]),
            "low": float(r.low[j]),
            "high": float(r.high[j]),
            "confidence": float(r.confidence[j]),
            "utility": float(r.utility[j]),
            "verdict": str(r.verdict[j]),
            "more": float(r.more[j]),
        }
        for j in range(r.node.size)
    ]


def _result(r: LeafReport) -> dict[str, Any]:
    return {
        "leaves": _rows(r),
        "tree": {
            "n": r.tree.n,
            "confidence": r.tree.confidence,
            "utility": r.tree.utility,
        },
        "wanted": r.wanted,
        "level": r.level,
        "method": r.method,
    }


def _table(r: LeafReport) -> Any:
    head = ["leaf", "cases", "majority", "its share", "P(C)", "P(U)", "verdict",
            "cases needed"]  # fmt: skip
    rows = [
        [
            str(row["node"]),
            row["n"],
            row["majority"],
            f"{row['probability']:.3f} ({row['low']:.3f} to {row['high']:.3f})",
            f"{row['confidence']:.4f}",
            f"{row['utility']:.4f}",
            row["verdict"],
            _lacks(row["more"]),
        ]
        for row in _rows(r)
    ]
    return table(head, rows)


def _lacks(more: float) -> str:
    if not np.isfinite(more):
        return "never enough"
    return f"{more:,.0f}" if more else ""


def _sentences(r: LeafReport) -> list[str]:
    trusted = int((r.verdict == "trust").sum())
    return [
        f"{trusted} of {counted(r.node.size, 'leaf', 'leaves')} can be trusted: with "
        "so many cases, the majority seen is the true majority with a probability P(C) "
        f"of {r.wanted:g} or more. P(U) is the probability that a new case has the "
        f"label of the majority. 'Cases needed' is how many more cases a leaf needs.",
        f"The whole tree: P(C) {r.tree.confidence:.4f}, P(U) {r.tree.utility:.4f}.",
    ]
