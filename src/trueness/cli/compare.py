"""Which is better, and is one better everywhere?"""

from __future__ import annotations

from itertools import combinations
from typing import Any

import trueness
from trueness._core.numbers import p_value
from trueness._core.progress import progress
from trueness._core.records import shown
from trueness.cli._columns import Request, count_panel
from trueness.cli._command import TWO_SCORES, command
from trueness.cli._fields import DOMINANCE, OMNIBUS, fields_of
from trueness.cli._shell import (
    CommandAnswer,
    about,
    alike_sentence,
    cases_sentence,
    each_group,
    table,
)
from trueness.cli._words import noted
from trueness.comparison.dominance import (
    Dominance,
    dominance_of_pairs,
    dominance_sentence,
)
from trueness.comparison.paired import compare_auc
from trueness.comparison.results import Comparison, omnibus_sentence, pair_sentences
from trueness.counts.values import Panel

MOST_PAIRS = 45  # dominance of more pairs is not shown: ten classifiers
Pairs = dict[tuple[str, str], Dominance]


@command(TWO_SCORES)
def compare(request: Request) -> CommandAnswer:
    """Which score is better, and is it better everywhere? Paired tests, dominance.

    Example: trueness compare sample:west_nile --label virus --score boosting \
--score logistic
    """
    with progress("Counting", unit=""):
        panel = count_panel(request)
        held = count_panel(request, by=True) if request.chosen.by else {}
        groups = {str(g): part for g, part in held.items()}
    with progress("Comparing", unit=""):
        found = compare_auc(panel, level=request.level)
        better = _dominance(panel, request)
        by_group = each_group(
            groups, lambda part: compare_auc(part, level=request.level)
        )
        result = _result(found, better)
        result["groups"] = {
            g: f and _result(f, _dominance(groups[g], request))
            for g, f in by_group.items()
        }
    parts: list[Any] = [cases_sentence(panel), *_tables(found), *sentences(found)]
    parts += [dominance_sentence(d, shown(a), shown(b)) for (a, b), d in better.items()]
    parts += alike_sentence(request)
    if not better:
        parts.append(
            f"Whole curves are compared for up to {MOST_PAIRS} pairs; name fewer "
            f"scores to see which curve is above."
        )
    return CommandAnswer(
        "compare",
        result,
        [*parts, *_group_table(request, by_group)],
        chart=lambda: trueness.plots.roc(panel),
        about=about(request, panel),
    )


def _dominance(panel: Panel, request: Request) -> Pairs:
    """Request of every pair whether one is better everywhere."""
    pairs = list(combinations(panel.names, 2))
    if len(pairs) > MOST_PAIRS:
        return {}
    return dominance_of_pairs(panel, pairs, level=request.level, rng=request.seed)


def sentences(found: Comparison) -> list[str]:
    """Say which differences are statistically significant."""
    lines = [omnibus_sentence(found)] if len(found.names) > 2 else []
    return [
        *lines,
        *pair_sentences(found, [shown(n) for n in found.names]),
        *noted(found.notes),
    ]


def _tables(found: Comparison) -> list[Any]:
    values = [[n, v] for n, v in zip(found.names, found.values, strict=True)]
    pairs = [
        [f"{shown(p.first, 30)} - {shown(p.second, 30)}", p.difference,
         p_value(p.p_value), p_value(p.p_adjusted)]
        for p in found.pairs
    ]  # fmt: skip
    return [
        table(["score", "AUC"], values),
        table(["pair", "difference of AUC", "p-value", "adjusted (Holm)"], pairs),
    ]


def _group_table(request: Request, groups: dict[str, Comparison | None]) -> list[Any]:
    rows = [
        [group, f"{shown(p.first, 30)} - {shown(p.second, 30)}", p.difference,
         p_value(p.p_adjusted)]
        for group, found in groups.items()
        if found
        for p in found.pairs
    ]  # fmt: skip
    head = [str(request.chosen.by), "pair", "difference of AUC", "adjusted p (Holm)"]
    return [table(head, rows)] if rows else []


def _result(found: Comparison, better: Pairs) -> dict[str, Any]:
    return {
        "auc": dict(zip(found.names, found.values, strict=True)),
        "pairs": found.pairs,
        "omnibus": fields_of(found, OMNIBUS),
        "method": found.method,
        "dominance": [
            {"first": a, "second": b, **fields_of(d, DOMINANCE)}
            for (a, b), d in better.items()
        ],
    }
