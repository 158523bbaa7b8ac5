"""Which is better, is it better everywhere, does it hold in every group?"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from trueness._core.figures import intervals
from trueness._core.names import told_apart
from trueness._core.numbers import MINUS, cut_text, level_text, p_is, p_value, percent
from trueness._core.records import Estimate
from trueness.comparison.dominance import (
    Dominance,
    difference_figure,
    dominance_of_pairs,
    dominance_sentence,
)
from trueness.comparison.paired import compare_auc
from trueness.comparison.results import Comparison, omnibus_sentence
from trueness.counts.cases import with_fields
from trueness.counts.values import Panel, Tally
from trueness.metrics.definitions import METRICS
from trueness.ranking.areas import auc
from trueness.report import svg
from trueness.report._parts import Figure, Grid, Section, grid, possible
from trueness.report.inputs import NAME, REPLICATES, Model, ReportOptions
from trueness.threshold.at_cut import confusion

MOST_PAIRS = 20  # the best classifier is held against so many others, curve by curve
MOST_ROWS = 100_000  # what resamples or ranks every case is asked of so many


def section(panel: Panel, models: Sequence[Model], options: ReportOptions) -> Section:
    """Compare all classifiers on the same cases."""
    names = [m.key for m in models]
    found = compare_auc(panel[names], level=options.level)
    text = {m.key: m.name for m in models}
    named = {f"{text[p.first]} {MINUS} {text[p.second]}": p for p in found.pairs}
    rows = [
        (name, p.difference, p_value(p.p_value), p_value(p.p_adjusted))
        for name, p in named.items()
    ]
    few, drawn = fewer(panel, options.rng)
    asked = _dominance(few, models, options)
    differences = {name: p.difference for name, p in named.items()}
    forest = intervals("Differences", "difference of the AUC", differences, zero=0.0)
    return Section(
        "comparison",
        words=(omnibus_sentence(found), *_left_out(models, drawn, asked)),
        figures=(
            svg.forest(
                forest,
                of="pair",
                note="Intervals are not adjusted for multiple comparisons; the "
                "p-values in the table are.",
            ),
            *_difference(asked),
        ),
        tables=(
            grid(
                "Differences of the AUC",
                ("pair", "difference", "p-value", "adjusted (Holm)"),
                rows,
            ),
            *_above(asked),
        ),
        method=(
            "DeLong's test, on the same cases (DeLong et al. 1988, "
            "doi:10.2307/2531595); p-values are adjusted for the number of pairs (Holm "
            "1979). Better in some range: the largest difference over ranges of "
            "false positive rates, corrected for their number. Nowhere better by more "
            "than: the worst one-sided bound over all rates. Band: simultaneous "
            "bootstrap band of the difference of both curves (dominance: Sameni 2025, "
            "eq. 27)."
        ),
        caveat=(
            "A difference that is statistically significant can still be too small to "
            "matter. 'Everywhere' means at every false positive rate; look at the "
            "rates that you would use."
        ),
        headline=_headline(found, models),
    )


def _above(asked: Sequence[tuple[tuple[str, str], Dominance]]) -> list[Grid]:
    rows = [(f"{a}, {b}", dominance_sentence(d, a, b)) for (a, b), d in asked]
    return [grid("Which curve is above?", ("pair", "result"), rows)] if rows else []


def fewer(panel: Panel, rng: Any, most: int = 0) -> tuple[Panel, str]:
    """Draw cases from a panel with very many rows; also the words that say so."""
    labelled, most = panel.labelled(), most or MOST_ROWS
    if not labelled.single_cases or len(labelled.rows) <= most:
        return labelled, ""
    counts = np.concatenate([labelled.neg, labelled.pos])
    generator, n = np.random.default_rng(rng), int(counts.sum())
    if n < 10**9:  # as far as NumPy draws without putting back
        some = generator.multivariate_hypergeometric(counts, most)
    else:
        some = generator.multinomial(most, counts / n)
    neg, pos = some.reshape(2, -1)
    kept = neg + pos > 0
    drawn = Panel(labelled.names, labelled.rows[kept], neg=neg[kept], pos=pos[kept])
    drawn = with_fields(drawn, design=labelled.design)
    return drawn, f"{most:,} of the {n:,} cases, drawn at random"


def _left_out(
    models: Sequence[Model], drawn: str, asked: Sequence[object]
) -> list[str]:
    """Say what was left out, where there is very much."""
    lines = []
    if not asked:
        lines.append(
            "Whole curves of cases with weights or clusters are compared for up to "
            f"{MOST_ROWS:,} rows."
        )
    elif len(models) - 1 > MOST_PAIRS:
        lines.append(
            f"Whole curves are compared between {models[0].name} and the {MOST_PAIRS} "
            "next best only."
        )
    if drawn:
        lines.append(f"Curves were compared on {drawn}; the AUCs on all of them.")
    return lines


def _headline(found: Comparison, models: Sequence[Model]) -> str:
    best, second = models[0], models[1]
    pair = next(p for p in found.pairs if {p.first, p.second} == {best.key, second.key})
    p = p_is(pair.p_adjusted)
    if pair.p_adjusted < 1 - best.auc.level:
        return f"{best.name} ranks significantly better than {second.name} ({p})."
    return f"{best.name} and {second.name} do not differ significantly ({p})."


def _dominance(
    panel: Panel, models: Sequence[Model], options: ReportOptions
) -> list[tuple[tuple[str, str], Dominance]]:
    best = models[0]
    if len(panel.rows) > MOST_ROWS:  # fewer() draws from independent cases only
        return []
    others = models[1 : MOST_PAIRS + 1]
    found = dominance_of_pairs(
        panel,
        [(best.key, m.key) for m in others],
        level=options.level,
        rng=options.rng,
        replicates=REPLICATES,
    )
    return [((best.name, m.name), found[best.key, m.key]) for m in others]


def _difference(asked: Sequence[tuple[tuple[str, str], Dominance]]) -> list[Figure]:
    """Draw the difference of the two best curves with its band."""
    if not asked:
        return []
    (first, second), d = asked[0]
    note = (
        f"True positive rate of {first} minus that of {second}; with "
        f"{level_text(d.level)} confidence the whole true difference lies in the band."
    )
    name = f"{first} {MINUS} {second}"
    figure = difference_figure(d, name)
    return [svg.curves(figure, [name], title="Better everywhere?", note=note)]


def groups(
    by: Mapping[Any, Panel | Tally], best: Model, options: ReportOptions
) -> Section | None:
    """Measure the best classifier in each group, at the same threshold."""
    tallies = {str(g): column(x, best.key) for g, x in by.items()}
    both = {g: t for g, t in tallies.items() if t.n_pos and t.n_neg}
    if len(both) < 2:
        return None
    texts = dict(zip(tallies, told_apart(list(tallies), NAME), strict=True))
    values = {g: auc(t, level=options.level) for g, t in both.items()}
    rows = [
        (texts[g], t.n, t.n_pos, values.get(g), *_at(t, best.point.threshold))
        for g, t in tallies.items()
    ]
    head = ("group", "cases", "positive", "AUC", "flagged", "recall (sensitivity)",
            "false positive rate", "precision (PPV)")  # fmt: skip
    test = possible(lambda: compare_auc(both, level=options.level))
    words = _of_groups(best, values, texts, test)
    named = {texts[g]: v for g, v in values.items()}
    at = cut_text(best.point.threshold, best.point.interval)
    return Section(
        "groups",
        words=(words, f"The threshold is the same in all, {at}."),
        figures=(svg.forest(intervals("AUC by group", "AUC", named), of="group"),),
        tables=(grid(f"{best.name}, by group", head, rows),),
        method=(
            "The groups hold different cases, so the test is unpaired (DeLong et al. "
            "1988, doi:10.2307/2531595); groups with one class only have no AUC."
        ),
        caveat=(
            "An AUC that is lower in each group than in all cases together is no "
            "error: part of the ranking then distinguishes the groups. Many groups "
            "mean many small samples."
        ),
        headline=words,
    )


def column(x: Panel | Tally, key: str) -> Tally:
    """Give one classifier of a panel; a tally has only one."""
    return x if isinstance(x, Tally) else x[key]


def _at(t: Tally, threshold: float) -> tuple[str, ...]:
    c = confusion(t, threshold).at_prevalence(t.design.prevalence)
    asked = (
        METRICS[name](c) for name in ("flagged_rate", "recall", "fpr", "precision")
    )
    return tuple(percent(float(v)) for v in asked)


def _of_groups(
    best: Model,
    values: Mapping[str, Estimate],
    texts: Mapping[str, str],
    test: Comparison | None,
) -> str:
    low, high = (f(values, key=lambda g: values[g].value) for f in (min, max))
    line = (
        f"The AUC of {best.name} ranges from {values[low].value:.3f} ({texts[low]}) to "
        f"{values[high].value:.3f} ({texts[high]})"
    )
    if test is None:
        return f"{line}."
    sure = test.p_value < 1 - values[high].level
    could = "statistically significant" if sure else "not statistically significant"
    return f"{line}; the difference is {could} ({p_is(test.p_value)})."
