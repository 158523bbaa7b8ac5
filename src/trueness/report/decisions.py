"""Two cuts, a cut for each group, another prevalence, several classifiers: sections."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from trueness._core.checks.errors import Infeasible, InputError
from trueness._core.names import told_apart
from trueness._core.numbers import percent
from trueness.counts.cases import with_fields
from trueness.counts.values import Panel, Tally
from trueness.ranking.figures import score_figure
from trueness.report import svg
from trueness.report._parts import Figure, Section, grid, where_possible
from trueness.report.comparison import column, fewer
from trueness.report.inputs import NAME, Model, ReportOptions
from trueness.threshold import sentences
from trueness.threshold.decisions import best_decision
from trueness.threshold.figures import (
    decision_choice_figure,
    gap_price_figure,
    prevalence_figure,
)
from trueness.threshold.gap_prices import gap_price
from trueness.threshold.group_cuts import group_thresholds
from trueness.threshold.operating_point import best_threshold
from trueness.threshold.zone_validation import validate_thresholds

REPLICATES = 200  # of choices that are repeated here
MOST_ROWS = 20_000  # distinct outputs for which several classifiers are chosen anew
STEPS = np.array([0.01, 0.02, 0.05, 0.1, 0.2])  # of a limit whose price is drawn


@where_possible
def two_cuts(best: Model, options: ReportOptions) -> Section | None:
    """Say where yes and no end, when the question spoke of deferred cases."""
    if options.two is None:
        return None
    found = validate_thresholds(
        best.tally,
        **options.two,
        replicates=REPLICATES,
        level=options.level,
        rng=options.rng,
    )
    z = found.zones
    words = sentences.zone_sentences(z)
    rows = [[*row, row[1] + row[2]] for row in sentences.zone_rows(z)]
    metrics = [(name, e) for name, e in found.metrics.items()]
    scores = score_figure({best.name: best.tally.labelled()})
    figure = svg.bars(
        replace(scores, what="Scores and deferred cases"),
        note="Solid: positives. Dashed outline: negatives. Shaded: cases left to a "
        "person.",
        now=(z.lower, z.upper),
    )
    return Section(
        "zones",
        words=(*words, sentences.zone_check(found)),
        headline=words[0],
        figures=(figure,),
        tables=(
            grid("Cases in each zone", ("zone", "positive", "negative", "all"), rows),
            grid("On new cases", ("metric", "value"), metrics),
        ),
        method=(
            "All pairs of thresholds are compared exactly (Chow 1970, "
            "doi:10.1109/TIT.1970.1054406, is the case without constraints); what to "
            "expect on new cases comes from a bootstrap in which each choice is "
            "evaluated on the cases left out."
        ),
        caveat=(
            "These numbers do not include what a person decides about the deferred "
            "cases: each of them has the stated cost, whatever the decision."
        ),
    )


@where_possible
def prevalences(best: Model, options: ReportOptions) -> Section | None:
    """Say where to cut at the prevalence of use, or within its range."""
    if options.range is None:
        return None
    point = best_threshold(
        best.tally, **options.choice, **options.limits, prevalences=options.range
    )
    words, figures, tables = sentences.prevalence_sentences(point), [], []
    if point.robust is not None:
        data = prevalence_figure(point)
        figures = [_alone(data, "The best threshold for each prevalence")]
        few = np.unique(np.linspace(0, len(point.robust.path_value) - 1, 7).astype(int))
        r = point.robust
        rows = [(percent(float(r.path_prevalence[k])), float(r.path_threshold[k]),
                 float(r.path_value[k])) for k in few]  # fmt: skip
        head = ("prevalence", "best threshold", data.what and options.objective.name)
        tables = [grid("If the prevalence were known", head, rows)]
    else:
        rows = [(name, e) for name, e in point.metrics.items()]  # type: ignore[misc]
        tables = [grid("At this prevalence", ("metric", "value"), rows)]
    return Section(
        "prevalence",
        words=tuple(words),
        headline=words[0],
        figures=tuple(figures),
        tables=tuple(tables),
        method=(
            "Recall and false positive rate of every threshold are taken from these "
            "cases, the prevalence is the one asked about; for a range, the least "
            "favourable prevalence counts."
        ),
        caveat=(
            "Where positives are rarer they may also be of another kind; then recall "
            "and false positive rate change too, which this calculation cannot allow "
            "for."
        ),
    )


def group_cuts(
    by: Mapping[Any, Panel | Tally], best: Model, options: ReportOptions
) -> Section | None:
    """Find a threshold for each group, when the question limited their differences."""
    if not options.between:
        return None
    names = told_apart([str(g) for g in by], NAME)
    groups = {g: column(x, best.key) for g, x in zip(names, by.values(), strict=True)}
    groups = {g: t for g, t in groups.items() if t.n_pos and t.n_neg}
    if len(groups) < 2:
        raise InputError(
            "Limits on differences between groups need two groups with positives and "
            "negatives."
        )
    limits = [*map(repr, options.subject_to), *options.between]
    g = group_thresholds(
        groups, **options.choice, subject_to=limits, level=options.level
    )
    words = sentences.group_sentences(g)
    return Section(
        "group-cuts",
        words=(*words, *g.notes),
        headline=words[0],
        figures=tuple(_prices(groups, g.gaps, options)),
        tables=(grid("Thresholds", sentences.GROUP_HEAD, sentences.group_rows(g)),),
        method=(
            "The best thresholds, one for each group, by branch and bound in whole "
            "numbers, with a proof that none are better (Hardt et al. 2016 randomise "
            "instead). Intervals of differences take the thresholds as fixed."
        ),
        caveat=(
            "Equal rates are one idea of fairness among several that exclude each "
            "other; which one is right is not a question of statistics."
        ),
    )


def _prices(
    groups: dict[str, Tally], gaps: Mapping[str, Any], options: ReportOptions
) -> list[Figure]:
    """Draw what each limit costs, the other limits kept."""
    found = []
    for name in gaps:
        others = [b for b in options.between if not b.strip().startswith(name)]
        price = gap_price(
            groups,
            name,
            at=1 - STEPS if name.endswith("_ratio") else STEPS,
            **options.choice,
            subject_to=[*map(repr, options.subject_to), *others],
            time_limit=10.0,
        )
        if np.isfinite(price.value).sum() > 1:
            figure = gap_price_figure(price)
            note = "The best value under each limit."
            found.append(_alone(figure, f"The price of {name}", note))
    return found


@where_possible
def classifiers(
    panel: Panel, models: Sequence[Model], options: ReportOptions
) -> Section | None:
    """Say which classifier should decide, with the optimism of choosing corrected."""
    if options.at is not None:
        return None
    few, drawn = fewer(panel, options.rng, MOST_ROWS)
    kept = with_fields(
        few[[m.key for m in models]], names=tuple(m.name for m in models)
    )
    asked: dict[str, Any] = {**options.choice, "subject_to": options.subject_to}
    asked |= {"level": options.level, "rng": options.rng, "replicates": REPLICATES}
    try:
        d = best_decision(kept, **asked)
    except (Infeasible, InputError):  # missing outputs, or nobody keeps the constraints
        return None
    words = sentences.decision_sentences(d)
    rows = [(k, v, percent(d.chosen[k])) for k, v in d.values.items()]
    head = ("classifier", options.objective.name, "chosen again")
    return Section(
        "decision",
        words=(*words, *([f"Based on {drawn}."] if drawn else [])),
        headline=words[0],
        figures=(svg.forest(decision_choice_figure(d), of="classifier"),),
        tables=(grid("Each at its own best threshold", head, rows),),
        method=(
            "Both choices, of the classifier and of its threshold, are repeated on "
            "bootstrap samples and evaluated on the cases left out (Efron 1983, "
            "doi:10.2307/2288636)."
        ),
        caveat="The one with the best AUC need not be the best at one threshold.",
    )


def _alone(figure: Any, title: str, note: str = "") -> Figure:
    """Draw curves that belong to no classifier of the page."""
    named = ", ".join(g.name for g in figure.guides if g.name)
    note = note or (f"Dashed: {named}." if named else "")
    return svg.curves(figure, [x.name for x in figure.lines], title=title, note=note)
