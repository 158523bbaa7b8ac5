"""Which is better, is it better everywhere, would they be better together?"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from trueness._core.records import shown
from trueness.comparison.aucs import compare_auc
from trueness.comparison.dominance import Dominance, dominates
from trueness.comparison.results import Comparison
from trueness.counts.values import Panel
from trueness.ensembles.crossfit import CombinerComparison, compare_combiners
from trueness.report import estimates, svg
from trueness.report._parts import (
    Figure,
    Section,
    chance,
    confidence,
    grid,
    p_is,
    possible,
)
from trueness.report.inputs import REPLICATES, Model, Wishes

MINUS = "\N{MINUS SIGN}"
MOST_PAIRS = 20  # the best classifier is held against so many others, curve by curve
MOST_ROWS = 100_000  # what resamples or ranks every case is asked of so many


def comparison(
    panel: Panel, models: Sequence[Model], wishes: Wishes
) -> tuple[Section, str]:
    """Compare all classifiers on the same cases; also one sentence for the summary."""
    found = compare_auc(panel[[m.key for m in models]], level=wishes.level)
    text = {m.key: m.name for m in models}
    pairs = [
        (f"{text[p.first]} {MINUS} {text[p.second]}", p.difference, chance(p.p_value),
         chance(p.p_adjusted))
        for p in found.pairs
    ]  # fmt: skip
    few, drawn = fewer(panel, wishes.rng)
    asked = _dominance(few, models, wishes)
    section = Section(
        "comparison",
        "Which is better?",
        words=(_omnibus(found), *_limits(models, drawn)),
        figures=(_figure(found, text), *_difference_figures(asked)),
        tables=(
            grid(
                "Differences of the AUC",
                ("pair", "difference", "p-value", "adjusted (Holm)"),
                pairs,
            ),
            grid(
                "Better everywhere?",
                ("pair", "which curve is above"),
                [(f"{a}, {b}", dominance_sentence(a, b, d)) for (a, b), d in asked],
            ),
        ),
        method=(
            "DeLong's test, on the same cases (DeLong et al. 1988, "
            "doi:10.2307/2531595); p-values of all pairs are adjusted (Holm 1979). "
            "Better in some range: the largest difference over ranges of false "
            "positive rates, corrected for their number. Nowhere better by more than: "
            "the worst one-sided bound over all rates. Band: simultaneous bootstrap "
            "band of the difference of both curves (dominance: Sameni 2025, eq. 27)."
        ),
        caveat=(
            "A difference that is beyond chance can still be too small to matter. "
            "'Everywhere' means every false positive rate; look at the rates that you "
            "would use."
        ),
    )
    return section, _headline(found, models)


def fewer(panel: Panel, rng: Any) -> tuple[Panel, str]:
    """Draw cases from a panel with very many rows; also the words that say so."""
    labelled = panel.labelled()
    if len(labelled.rows) <= MOST_ROWS:
        return labelled, ""
    cells = np.concatenate([labelled.neg, labelled.pos])
    generator, n = np.random.default_rng(rng), int(cells.sum())
    if n < 10**9:  # as far as NumPy draws without putting back
        some = generator.multivariate_hypergeometric(cells, MOST_ROWS)
    else:
        some = generator.multinomial(MOST_ROWS, cells / n)
    neg, pos = some.reshape(2, -1)
    kept = neg + pos > 0
    drawn = Panel(labelled.names, labelled.rows[kept], neg=neg[kept], pos=pos[kept])
    return drawn, f"{MOST_ROWS:,} of the {n:,} cases, drawn at random"


def _limits(models: Sequence[Model], drawn: str) -> list[str]:
    """Say what was left out, where there is very much."""
    lines = []
    if len(models) - 1 > MOST_PAIRS:
        lines.append(
            f"Curve by curve, {models[0].name} is held against the {MOST_PAIRS} next "
            "best."
        )
    if drawn:
        lines.append(f"Curves were compared on {drawn}; the AUCs on all of them.")
    return lines


def _omnibus(found: Comparison) -> str:
    if len(found.names) < 3:
        return f"Are both equal? {p_is(found.p_value)}."
    return f"Are all equal? {p_is(found.p_value)} (one test for all)."


def _headline(found: Comparison, models: Sequence[Model]) -> str:
    best, second = models[0], models[1]
    pair = next(p for p in found.pairs if {p.first, p.second} == {best.key, second.key})
    if pair.p_adjusted < 1 - best.auc.level:
        return f"{best.name} ranks better than {second.name}, beyond chance."
    return (
        f"{best.name} and {second.name} cannot be told apart with these cases "
        f"({p_is(pair.p_adjusted)})."
    )


def _figure(found: Comparison, text: dict[str, str]) -> Figure:
    names = [(text[p.first], text[p.second]) for p in found.pairs]
    return estimates.figure(
        "Differences",
        [f"{a} {MINUS} {b}" for a, b in names],
        [p.difference for p in found.pairs],
        "difference of the AUC",
        of="pair",
        note="An interval that keeps away from 0 is a difference beyond chance, if it "
        "is the only one asked about; the table allows for their number.",
        short=[f"{shown(a, 15)} {MINUS} {shown(b, 15)}" for a, b in names],
        zero=True,
    )


def _dominance(
    panel: Panel, models: Sequence[Model], wishes: Wishes
) -> list[tuple[tuple[str, str], Dominance]]:
    best = models[0]
    asked: dict[str, Any] = {"level": wishes.level, "rng": wishes.rng}
    return [
        (
            (best.name, m.name),
            dominates(panel, best.key, m.key, replicates=REPLICATES, **asked),
        )
        for m in models[1 : MOST_PAIRS + 1]
    ]


def dominance_sentence(first: str, second: str, d: Dominance) -> str:
    """Say how the curves lie, where one is better beyond chance, what is excluded."""
    if d.verdict == "equal":
        return f"{first} and {second} have the same ROC curve."
    upper, lower = (first, second) if d.verdict == "dominates" else (second, first)
    lies = (
        f"The ROC curves of {first} and {second} cross"
        if d.verdict == "crosses"
        else f"{upper} lies above {lower} at every false positive rate"
    )
    margin = (
        f"with {confidence(d.level)} confidence {second} is nowhere better by more "
        f"than {d.margin:.2g} in recall"
    )
    return f"{lies}. {_evidence(first, second, d)}; {margin}."


def _evidence(first: str, second: str, d: Dominance) -> str:
    """Say in which range each is better, if it is more than chance."""
    sides = (
        (first, d.p_better, d.range_better),
        (second, d.p_worse, d.range_worse),
    )
    sure = [
        f"{name} is better beyond chance, most clearly {_at(at)} ({p_is(p)})"
        for name, p, at in sides
        if p < 1 - d.level
    ]
    if sure:
        return " and ".join(sure)
    least = min(d.p_better, d.p_worse)
    return f"No range shows a difference beyond chance ({p_is(least)})"


def _at(place: tuple[float, ...]) -> str:
    if place == (0.0, 1.0):
        return "over all false positive rates together"
    return f"at {_ranges((place,))}"


def _ranges(found: Any) -> str:
    text = ", ".join(
        f"{low:.2g}" if low == high else f"{low:.2g} to {high:.2g}"
        for low, high in found[:3]
    )
    more = f" and {len(found) - 3} more" if len(found) > 3 else ""
    many = len(found) > 1 or found[0][0] != found[0][1]
    where = "false positive rates" if many else "a false positive rate of"
    return f"{where} {text}{more}"


def _difference_figures(
    asked: Sequence[tuple[tuple[str, str], Dominance]],
) -> list[Figure]:
    """Draw the difference of the two best curves with its band."""
    if not asked:
        return []
    (first, second), d = asked[0]
    reach = max(0.01, float(abs(d.low).max()), float(abs(d.high).max())) * 1.05
    span = (-reach, reach)
    axes = svg.Axes("false positive rate", "difference of the recalls", y=span)
    marks = [
        svg.line(axes, [0, 1], [0, 0], "chance"),
        svg.area(axes, d.fpr, d.low, d.high, "band c0"),
        svg.line(axes, d.fpr, d.difference, "c0"),
    ]
    note = (
        f"Recall of {first} minus recall of {second}; with {confidence(d.level)} "
        "confidence the whole true difference lies in the band."
    )
    rows = [
        (float(x), float(v), float(low), float(high))
        for x, v, low, high in zip(
            d.fpr[::10], d.difference[::10], d.low[::10], d.high[::10], strict=True
        )
    ]
    head = ("false positive rate", "difference", "from", "to")
    drawn = svg.drawing(axes, marks, note)
    return [Figure("Better everywhere?", drawn, note, grid(note, head, rows))]


def combination(
    panel: Panel, models: Sequence[Model], wishes: Wishes
) -> tuple[Section, str] | None:
    """Compare ways to combine the classifiers, on cases they were not fitted on."""
    few, drawn = fewer(panel, wishes.rng)
    kept = few[[m.key for m in models]]
    found = possible(
        lambda: compare_combiners(kept, level=wishes.level, rng=wishes.rng)
    )
    if found is None:
        return None
    names = sorted(found.auc, key=lambda name: -found.auc[name].value)
    values = [found.auc[n] for n in names]
    rows = [(n, found.auc[n], found.difference[n]) for n in names]
    head = ("combiner", "AUC", f"gain over {found.against}")
    words = _verdict(found, names[0])
    section = Section(
        "combination",
        "Would they be better together?",
        words=(words, *([f"Asked of {drawn}."] if drawn else [])),
        figures=(
            estimates.figure(
                "Combined", names, values, "AUC out of sample", of="combiner"
            ),
        ),
        tables=(grid("Out of sample", head, rows),),
        method=(
            f"Cross-fitted in {found.folds} folds: every case is scored by a combiner "
            "that has not seen it. FiDEL: Kim et al. 2021, "
            "doi:10.1073/pnas.2100761118; intervals by DeLong."
        ),
        caveat=(
            "Classifiers that make the same errors gain little from each other. The "
            "intervals do not hold the variation of the fits themselves."
        ),
    )
    return section, words


def _verdict(found: CombinerComparison, best: str) -> str:
    gain = found.difference[best]
    if best == found.against:
        return "No combination beats the best single classifier."
    if gain.low > 0:
        return (
            f"Together they are better: {best} gains {gain.value:.3f} AUC over the "
            "best single classifier, beyond chance."
        )
    return (
        f"The best combination, {best}, cannot be told apart from the best single "
        f"classifier (gain {gain.value:.3f}, from {gain.low:.3f} to {gain.high:.3f})."
    )
