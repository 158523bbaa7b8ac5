"""Which leaves of a tree, or segments of a population, can be trusted?"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

import trueness
from trueness._core.checks.errors import InputError
from trueness._core.progress import progress
from trueness.cli._columns import Request, naming
from trueness.cli._command import Columns, command
from trueness.cli._fields import LEAVES, TREE, fields_of
from trueness.cli._options import Node, Rule
from trueness.cli._shell import CommandAnswer, about, each_group, table
from trueness.cli._source import Source, groups_of, unnamed
from trueness.cli._verdicts import known
from trueness.data import frames
from trueness.data.engines import quoted
from trueness.trees.leaf_counts import Leaves
from trueness.trees.leaf_report import (
    LeafReport,
    leaf_head,
    leaf_numbers,
    leaf_rows,
    leaf_sentences,
)

NODE_NAMES = ("leaf", "node", "segment")


def guess_node(source: Source, taken: set[str | None]) -> tuple[str, ...]:
    """Take the column of the leaves when there is no doubt."""
    free = [c for c in source.types if c not in taken]
    by_name = [c for c in free if c.lower() in NODE_NAMES]
    if len(by_name) == 1 or len(free) == 1:
        return tuple(by_name or free)
    raise unnamed("Which column holds the leaves?", source, "--node NAME")


@command(Columns("node", Node, guess_node), without=("seed",), cannot="leaves")
def leaves(
    request: Request, rule: Rule = None, confidence: float = 0.95
) -> CommandAnswer:
    """Can this leaf be trusted? Confidence and utility of every leaf of a tree.

    --confidence: Probability P(C) from which a leaf is trusted.

    Example: trueness leaves sample:leaves --node leaf --label virus --count n
    """

    def judged(held: Leaves) -> LeafReport:
        found = held.report(confidence=confidence, level=request.level)
        return with_rules(found, request, rule)

    with progress("Counting", unit=""):
        held = _count(request, request.rows)
        by = request.chosen.by
        parted = groups_of(request.rows, by) if by else ()
        groups = {g: _count(request, rows) for g, rows in parted}
        found = judged(held)
        by_group = each_group(groups, judged)
    parts: list[Any] = [
        f"{held!r}.",
        table(leaf_head(found), leaf_rows(found)),
        *leaf_sentences(found),
    ]
    for group, one in by_group.items():
        parts += (
            [f"{request.chosen.by} {group}:", table(leaf_head(one), leaf_rows(one))]
            if one
            else []
        )
    return CommandAnswer(
        "leaves",
        _result(found) | {"groups": {g: r and _result(r) for g, r in by_group.items()}},
        parts,
        chart=lambda: trueness.plots.leaf_shares(found),
        about=about(request, held),
    )


def _count(request: Request, rows: Any) -> Leaves:
    chosen = request.chosen
    with naming(chosen):
        return frames.leaves(rows, node=chosen.scores[0], **chosen.words)


def with_rules(found: LeafReport, request: Request, rule: str | None) -> LeafReport:
    """Add the rule that the file has for each leaf, the same in all of its rows."""
    if rule is None:
        return found
    source, node = request.source, request.chosen.scores[0]
    known(source, rule, "--rule")
    of_leaf, text = quoted(node), f"CAST({quoted(rule)} AS VARCHAR)"
    counts = f"min({text}), count(DISTINCT {text})"
    rows = source.rows.aggregate(f"{of_leaf}, {counts}", of_leaf).fetchall()
    for name, _, many in rows:
        if many > 1:
            raise InputError(
                f"--rule must say the same in all rows of a leaf; column {rule!r} has "
                f"{many:,} rules for leaf {str(name)!r}."
            )
    rules = {name: said for name, said, _ in rows}
    said = [rules.get(n) for n in found.node.tolist()]
    texts = np.array(["" if r is None else str(r) for r in said], dtype=object)
    return replace(found, rule=texts)


def _result(r: LeafReport) -> dict[str, Any]:
    return {
        "leaves": leaf_numbers(r),
        "tree": fields_of(r.tree, TREE),
        **fields_of(r, LEAVES),
    }
