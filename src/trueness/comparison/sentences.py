"""What do comparisons say, in words?"""

from __future__ import annotations

from collections.abc import Sequence

from trueness._core.numbers import level_text, p_is
from trueness.comparison.dominance import Dominance
from trueness.comparison.results import Comparison, Pair, wald_words


def dominance_sentence(d: Dominance, first: str, second: str) -> str:
    """Say how the ROC curves lie, where one is better, and what is excluded."""
    if d.verdict == "equal":
        return f"{first} and {second} have the same ROC curve."
    upper, lower = (first, second) if d.verdict == "dominates" else (second, first)
    lies = f"The curve of {upper} is above that of {lower} at every false positive rate"
    if d.verdict == "crosses":
        lies = f"The curves of {first} and {second} cross"
    # what is excluded matters most of the one that is not known to be better
    other, most = second, d.margin
    if d.p_worse < min(d.p_better, 1 - d.level):
        other, most = first, d.margin_first
    return (
        f"{lies}; {_evidence(d, first, second)}. With {level_text(d.level)} confidence "
        f"{other} is nowhere better by more than {most:.2g} in recall."
    )


def _evidence(d: Dominance, first: str, second: str) -> str:
    """Say in which range each is significantly better."""
    sides = ((first, d.p_better, d.range_better), (second, d.p_worse, d.range_worse))
    sure = [
        f"{name} is significantly better, most clearly {_at(place)} ({p_is(p)})"
        for name, p, place in sides
        if p < 1 - d.level
    ]
    if sure:
        return ", and ".join(sure)
    least = p_is(min(d.p_better, d.p_worse))
    return f"neither is significantly better in any range ({least})"


def _at(place: tuple[float, ...]) -> str:
    low, high = place[0], place[-1]
    if (low, high) == (0.0, 1.0):
        return "over all false positive rates together"
    if low == high:
        return f"at a false positive rate of {low:.2g}"
    return f"at false positive rates from {low:.2g} to {high:.2g}"


def omnibus_sentence(found: Comparison) -> str:
    """Say whether all classifiers could be equal."""
    if len(found.names) < 3:
        return f"Test that both AUCs are equal: {p_is(found.p_value)}."
    return (
        f"Test that all {len(found.names)} AUCs are equal: {p_is(found.p_value)}"
        f"{wald_words(found)}."
    )


def significant(found: Comparison) -> list[Pair]:
    """Which pairs differ, allowing for the number of pairs?"""
    level = found.values[0].level
    return [p for p in found.pairs if p.p_adjusted < 1 - level]


def pair_sentences(found: Comparison, names: Sequence[str]) -> list[str]:
    """Say which classifiers rank significantly better; ``names`` are those shown."""
    text = dict(zip(found.names, names, strict=True))
    lines = []
    for p in significant(found):
        first, second = text[p.first], text[p.second]
        if p.difference.value < 0:
            first, second = second, first
        lines.append(
            f"{first} ranks significantly better than {second} ({p_is(p.p_adjusted)})."
        )
    return lines or ["No difference is statistically significant."]
