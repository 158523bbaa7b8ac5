"""Which leaves of a tree, or segments of a population, can be trusted?"""

from __future__ import annotations

from typing import Annotated, Any

import numpy as np
import typer

from karat import frames
from karat._checks import InputError, listing
from karat._progress import progress
from karat.cli._shell import (
    Answer,
    Count,
    Debug,
    File,
    Json,
    Label,
    Level,
    Positive,
    opened,
    show,
    table,
)
from karat.cli._source import Source, naming
from karat.trees import LeafReport

NODE_NAMES = ("leaf", "node", "segment")


def leaves(
    file: File,
    node: Annotated[str | None, typer.Option(help="Column with the leaves.")] = None,
    label: Label = None,
    positive: Positive = None,
    count: Count = None,
    confidence: Annotated[
        float, typer.Option(help="How sure a trusted leaf must be of its majority.")
    ] = 0.95,
    level: Level = 0.95,
    json: Json = False,
    debug: Debug = False,
) -> None:
    """Can this leaf be trusted? Confidence and utility of every leaf of a tree.

    Example: karat leaves sample:leaves --node leaf --label virus --count n
    """
    wanted = [node] if node else []
    source, chosen = opened(
        file,
        label=label,
        scores=wanted,
        positive=positive,
        count=count,
        guess=guess_node,
    )
    with progress("Counting"), naming(chosen):
        counted = frames.leaves(
            source.rows,
            node=chosen.scores[0],
            label=chosen.label,
            positive=chosen.positive,
            count=chosen.count,
        )
    found = counted.report(confidence=confidence, level=level)
    about = {
        "file": source.name,
        "columns": {
            "node": chosen.scores[0],
            "label": chosen.label,
            "count": chosen.count,
        },
        "positive": chosen.positive,
    }
    parts = [f"{counted!r}.", _table(found), *_sentences(found)]
    show(Answer("leaves", _result(found), parts, about=about), json)


def guess_node(source: Source, taken: set[str | None]) -> tuple[str, ...]:
    """Take the column of the leaves when there is no doubt."""
    free = [c for c in source.types if c not in taken]
    by_name = [c for c in free if c.lower() in NODE_NAMES]
    if len(by_name) == 1 or len(free) == 1:
        return tuple(by_name or free)
    raise InputError(
        f"Which column holds the leaves? Type --node NAME; this file has "
        f"{listing(source.types, 12)}."
    )


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
    head = ["leaf", "n", "majority", "its share", "P(C)", "P(U)", "verdict", "lacks"]
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
    return table("", head, rows)


def _lacks(more: float) -> str:
    if not np.isfinite(more):
        return "no end"
    return f"{more:,.0f}" if more else ""


def _sentences(r: LeafReport) -> list[str]:
    trusted = int((r.verdict == "trust").sum())
    return [
        f"{trusted} of {r.node.size} leaves can be trusted: with their number of cases "
        f"the majority is the right one with a probability P(C) of {r.wanted:g} or "
        f"more. P(U) is how often a new case then has that label; 'lacks' how many "
        f"more cases it takes.",
        f"The whole tree: P(C) {r.tree.confidence:.4f}, P(U) {r.tree.utility:.4f}.",
    ]
