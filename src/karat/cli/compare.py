"""Which is better, and is one better everywhere?"""

from __future__ import annotations

from itertools import combinations
from typing import Any

from karat._checks import InputError
from karat._doors import door
from karat._progress import progress
from karat._records import shown
from karat.cli._shell import (
    Answer,
    Count,
    Debug,
    File,
    Json,
    Label,
    Level,
    Plot,
    Positive,
    Scores,
    Seed,
    about,
    cases_sentence,
    opened,
    show,
    table,
)
from karat.cli._source import count_panel
from karat.comparison import Comparison, compare_auc
from karat.counts import Panel
from karat.dominance import Dominance, dominates
from karat.report.versus import dominance_sentence

MOST_PAIRS = 45  # dominance of more pairs is not shown: ten classifiers


def compare(
    file: File,
    label: Label = None,
    score: Scores = None,
    positive: Positive = None,
    count: Count = None,
    level: Level = 0.95,
    seed: Seed = 0,
    json: Json = False,
    plot: Plot = None,
    debug: Debug = False,
) -> None:
    """Which score is better, and is it better everywhere? Paired tests, dominance.

    Example: karat compare sample:west_nile --label virus --score boosting \
--score logistic
    """
    source, chosen = opened(
        file,
        label=label,
        scores=score or [],
        positive=positive,
        count=count,
        several=True,
    )
    if len(chosen.scores) < 2:
        raise InputError(
            f"A comparison needs two scores or more; found {chosen.scores[0]!r}. Type "
            f"--score NAME for each."
        )
    with progress("Counting"):
        panel = count_panel(source, chosen)
    with progress("Comparing"):
        found = compare_auc(panel, level=level)
        better = dominance_of(panel, level, seed)
    parts: list[Any] = [cases_sentence(panel), *_tables(found), *sentences(found)]
    parts += [
        dominance_sentence(shown(pair[0]), shown(pair[1]), d)
        for pair, d in better.items()
    ]
    answer = Answer(
        "compare",
        _result(found, better),
        parts,
        chart=lambda: door("plots").roc(panel),
        about=about(source, chosen, panel),
    )
    show(answer, json, plot)


def dominance_of(
    panel: Panel, level: float, seed: Any
) -> dict[tuple[str, str], Dominance]:
    """Ask of every pair whether one is better everywhere."""
    pairs = list(combinations(panel.names, 2))
    if len(pairs) > MOST_PAIRS:
        return {}
    return {(a, b): dominates(panel, a, b, level=level, rng=seed) for a, b in pairs}


def sentences(found: Comparison) -> list[str]:
    """Say which differences are more than chance."""
    level = found.values[0].level
    sure = [p for p in found.pairs if p.p_adjusted < 1 - level]
    lines = []
    if len(found.names) > 2:
        lines.append(
            f"Are all equal? p = {found.p_value:.3g} (chi-squared "
            f"{found.statistic:.4g} on {found.df} degrees of freedom)."
        )
    if not sure:
        lines.append("No difference is larger than chance would make it.")
    for p in sure:
        first, second = shown(p.first), shown(p.second)
        if p.difference.value < 0:
            first, second = second, first
        lines.append(f"{first} ranks better than {second}.")
    return lines


def _tables(found: Comparison) -> list[Any]:
    values = [[n, v] for n, v in zip(found.names, found.values, strict=True)]
    pairs = [
        [f"{p.first} - {p.second}", p.difference, p.p_value, p.p_adjusted]
        for p in found.pairs
    ]
    return [
        table("", ["score", "AUC"], values),
        table("", ["difference", "AUC", "p", "p (Holm)"], pairs),
    ]


def _result(
    found: Comparison, better: dict[tuple[str, str], Dominance]
) -> dict[str, Any]:
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
                "fpr_better": d.fpr_better,
                "fpr_worse": d.fpr_worse,
                "surely_better": d.surely_better,
                "surely_worse": d.surely_worse,
                "margin": d.margin,
            }
            for (a, b), d in better.items()
        ],
    }
