"""Which is better, and is one better everywhere?"""

from __future__ import annotations

from itertools import combinations
from typing import Any

from trueness._core.doors import door
from trueness._core.progress import progress, steps
from trueness._core.records import shown
from trueness.cli._command import TWO_SCORES, command
from trueness.cli._shell import Answer, about, cases_sentence, each_group, table
from trueness.cli._source import Ask, count_panel
from trueness.comparison.aucs import compare_auc
from trueness.comparison.dominance import Dominance, dominates
from trueness.comparison.results import Comparison
from trueness.counts.values import Panel

MOST_PAIRS = 45  # dominance of more pairs is not shown: ten classifiers
Pairs = dict[tuple[str, str], Dominance]


@command(TWO_SCORES)
def compare(ask: Ask) -> Answer:
    """Which score is better, and is it better everywhere? Paired tests, dominance.

    Example: trueness compare sample:west_nile --label virus --score boosting \
--score logistic
    """
    from trueness.report.comparison import dominance_sentence

    with progress("Counting", unit=""):
        panel = count_panel(ask)
        groups = count_panel(ask, by=True) if ask.chosen.by else {}
    with progress("Comparing", unit=""):
        found = compare_auc(panel, level=ask.level)
        better = _dominance(panel, ask)
        by_group = each_group(groups, lambda part: compare_auc(part, level=ask.level))
        result = _result(found, better)
        result["groups"] = {
            g: f and _result(f, _dominance(groups_by_name(groups)[g], ask))
            for g, f in by_group.items()
        }
    parts: list[Any] = [cases_sentence(panel), *_tables(found), *sentences(found)]
    parts += [dominance_sentence(shown(a), shown(b), d) for (a, b), d in better.items()]
    if not better:
        parts.append(
            f"Whether one is better everywhere is asked of up to {MOST_PAIRS} pairs; "
            f"name fewer scores."
        )
    return Answer(
        "compare",
        result,
        [*parts, *_group_table(ask, by_group)],
        chart=lambda: door("plots").roc(panel),
        about=about(ask, panel),
    )


def groups_by_name(groups: dict[Any, Panel]) -> dict[str, Panel]:
    """Name groups as they are shown."""
    return {str(g): part for g, part in groups.items()}


def _dominance(panel: Panel, ask: Ask) -> Pairs:
    """Ask of every pair whether one is better everywhere."""
    pairs = list(combinations(panel.names, 2))
    if len(pairs) > MOST_PAIRS:
        return {}
    return {
        (a, b): dominates(panel, a, b, level=ask.level, rng=ask.seed)
        for a, b in steps(pairs, "Is one better everywhere?", unit="pairs")
    }


def sentences(found: Comparison) -> list[str]:
    """Say which differences are more than chance."""
    level = found.values[0].level
    sure = [p for p in found.pairs if p.p_adjusted < 1 - level]
    lines = []
    if len(found.names) > 2:
        lines.append(
            f"Are all equal? p = {found.p_value:.3g} (Wald statistic "
            f"{found.statistic:.4g} on {found.df} degrees of freedom)."
        )
    if not sure:
        lines.append("No difference is larger than chance would make it.")
    for p in sure:
        first, second = shown(p.first), shown(p.second)
        if p.difference.value < 0:
            first, second = second, first
        lines.append(f"{first} ranks better than {second}, beyond chance.")
    return [*lines, *found.notes]


def _tables(found: Comparison) -> list[Any]:
    values = [[n, v] for n, v in zip(found.names, found.values, strict=True)]
    pairs = [
        [f"{shown(p.first, 30)} - {shown(p.second, 30)}", p.difference, p.p_value,
         p.p_adjusted]
        for p in found.pairs
    ]  # fmt: skip
    return [
        table(["score", "AUC"], values),
        table(["difference", "AUC", "p", "p (Holm)"], pairs),
    ]


def _group_table(ask: Ask, groups: dict[str, Comparison | None]) -> list[Any]:
    rows = [
        [group, f"{shown(p.first, 30)} - {shown(p.second, 30)}", p.difference,
         p.p_adjusted]
        for group, found in groups.items()
        if found
        for p in found.pairs
    ]  # fmt: skip
    head = [str(ask.chosen.by), "difference", "AUC", "p (Holm)"]
    return [table(head, rows)] if rows else []


def _result(found: Comparison, better: Pairs) -> dict[str, Any]:
    return {
        "auc": dict(zip(found.names, found.values, strict=True)),
        "pairs": found.pairs,
        "omnibus": {
            "statistic": found.statistic,
            "df": found.df,
            "p_value": found.p_value,
        },
        "method": found.method,
        "dominance": [
            {
                "first": a,
                "second": b,
                "verdict": d.verdict,
                "p_value": d.p_value,
                "p_better": d.p_better,
                "p_worse": d.p_worse,
                "range_better": d.range_better,
                "range_worse": d.range_worse,
                "fpr_better": d.fpr_better,
                "fpr_worse": d.fpr_worse,
                "surely_better": d.surely_better,
                "surely_worse": d.surely_worse,
                "margin": d.margin,
            }
            for (a, b), d in better.items()
        ],
    }
