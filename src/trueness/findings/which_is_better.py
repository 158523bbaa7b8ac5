"""Which is better, is it better everywhere, and would they be better together?"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import combinations
from typing import Any

import numpy as np

from trueness._core.checks.cases import several_classifiers
from trueness._core.checks.options import choice
from trueness._core.figures import intervals
from trueness._core.numbers import MINUS, level_text, p_value
from trueness._core.records import Estimate
from trueness.comparison import dominance
from trueness.comparison.paired import compare_auc
from trueness.comparison.results import Comparison
from trueness.counts.answers import refuse
from trueness.counts.cases import with_fields
from trueness.counts.resampling import Seed
from trueness.counts.values import Panel
from trueness.ensembles.combiners import COMBINERS
from trueness.ensembles.crossfit import CombinerComparison, compare_combiners
from trueness.findings.diagnostic_tests import are_tests, which_test_is_better
from trueness.findings.how_good import cases_note, reversed_notes
from trueness.findings.memory import Model
from trueness.findings.notes import Note, as_notes, note, note_if
from trueness.findings.records import (
    Figure,
    Finding,
    Table,
    fields_of,
    figure,
    finding,
    in_groups,
    table,
)
from trueness.findings.subject import Subject, cut_of
from trueness.metrics.algebra import Metric
from trueness.metrics.grammar import text_of

MIN_SHOWN_MARGIN = 0.001  # a difference of recall that can be read
MOST_PAIRS = 45  # whole curves of more pairs are not compared: ten classifiers
MOST_ROWS = 100_000  # what resamples or ranks every case is asked of so many
DOMINANCE = (
    *("verdict", "p_value", "p_better", "p_worse", "range_better", "range_worse"),
    *(
        "fpr_better",
        "fpr_worse",
        "significantly_better",
        "significantly_worse",
        "margin",
    ),
)
Pairs = dict[tuple[str, str], dominance.Dominance]


def which_is_better(subject: Subject, metric: str = "") -> Finding:
    """Return how all classifiers compare on the same cases.

    Tests, which have no threshold, are compared by ``metric``, or by sensitivity and
    specificity.
    """
    panel = _panel_to_compare(subject)

    if are_tests(subject.data):
        return which_test_is_better(
            subject, cases_note=cases_note(panel), metric=metric
        )

    best = subject.best.key
    shown_names = {model.key: model.name for model in subject.models}
    keys = [name for name in panel.names if name in shown_names]

    areas = compare_auc(panel[keys], level=subject.request.level)
    curves, sampling_remark = _compare_curves(subject, panel, keys)
    dominance = []
    for (first_name, second_name), comparison in curves.items():
        pair_of_names = {"first": first_name, "second": second_name}
        dominance.append({**pair_of_names, **fields_of(comparison, *DOMINANCE)})

    rows = []
    for pair in areas.pairs:
        name = f"{shown_names[pair.first]} {MINUS} {shown_names[pair.second]}"
        row = (name, pair.shown, p_value(pair.p_value), p_value(pair.p_adjusted))
        rows.append(row)

    head = ("pair", "difference of AUC", "p-value", "adjusted (Holm)")
    differences_of_best = _differences_from_best(areas, best, shown_names)
    notes = [*subject.cluster_notes]
    for model in subject.models:
        notes += reversed_notes(model.name, model.auc)

    notes += _curve_notes(shown_names, curves, best)
    notes += note_if(not curves, "no curves", most=MOST_ROWS)

    if curves and sampling_remark:
        notes.append(note("drawn", what="Curves were compared", drawn=sampling_remark))

    notes += as_notes(areas.notes)

    return finding(
        "comparison",
        {
            "auc": dict(zip(areas.names, areas.values, strict=True)),
            "pairs": areas.pairs,
            "all_equal": fields_of(areas, "p_value"),
            "measure": areas.measure,
            "dominance": dominance,
        },
        answer=(cases_note(panel), *_verdict(subject, areas)),
        notes=tuple(notes),
        tables=(
            _classifier_table(subject),
            table("Differences of the AUC", head, rows),
        ),
        figures=tuple(_figures(differences_of_best, shown_names, curves)),
    )


def _differences_from_best(
    areas: Comparison, best: str, shown_names: Mapping[str, str]
) -> dict[str, Estimate]:
    """Return the AUC of the best classifier minus that of each other one.

    The next best stands first, as in the ranking.
    """
    differences = {}
    for pair in areas.pairs:
        if pair.first == best:
            differences[f"{shown_names[best]} {MINUS} {shown_names[pair.second]}"] = (
                pair.difference
            )
        elif pair.second == best:
            estimate = pair.difference
            turned_round = replace(
                estimate, value=-estimate.value, low=-estimate.high, high=-estimate.low
            )
            differences[f"{shown_names[best]} {MINUS} {shown_names[pair.first]}"] = (
                turned_round
            )

    return dict(sorted(differences.items(), key=lambda pair: pair[1].value))


def _compare_curves(
    subject: Subject, panel: Panel, keys: Sequence[str]
) -> tuple[Pairs, str]:
    """Return the comparison of the ROC curves of pairs, and a remark on the sample.

    Of many pairs those of the best classifier; none of very many dependent cases.
    """
    sample, sampling_remark = sample_of_panel(panel, subject.request.rng)
    # dependent cases are not drawn from, and stay as many as they are
    if len(sample.rows) > MOST_ROWS:
        return {}, sampling_remark

    pairs = list(combinations(keys, 2))
    if len(pairs) > MOST_PAIRS:
        pairs = [pair for pair in pairs if subject.best.key in pair]

    curves = dominance.dominance_of_pairs(
        sample, pairs, level=subject.request.level, rng=subject.request.rng
    )
    return curves, sampling_remark


def _panel_to_compare(subject: Subject) -> Panel:
    """Return the classifiers on the same cases."""
    several_classifiers(subject.data, "compare_auc")
    refuse(subject.data, "compare")  # labelled cases alone would have other AUCs
    assert isinstance(subject.data, Panel)  # noqa: S101 - several are
    return subject.data


def sample_of_panel(panel: Panel, rng: Seed) -> tuple[Panel, str]:
    """Return a random sample of a panel with very many rows, and a remark on it."""
    labelled = panel.labelled()
    if not labelled.single_cases or len(labelled.rows) <= MOST_ROWS:
        return labelled, ""

    generator = np.random.default_rng(rng)
    counts = np.concatenate([labelled.neg, labelled.pos])
    total = int(counts.sum())
    if total < 10**9:  # as far as NumPy draws without putting back
        counts_drawn = generator.multivariate_hypergeometric(counts, MOST_ROWS)
    else:
        counts_drawn = generator.multinomial(MOST_ROWS, counts / total)

    neg, pos = counts_drawn.reshape(2, -1)
    has_cases = neg + pos > 0
    sample = Panel(
        labelled.names,
        labelled.rows[has_cases],
        neg=neg[has_cases],
        pos=pos[has_cases],
    )
    sample = with_fields(sample, design=labelled.design)

    return sample, f"{MOST_ROWS:,} of the {total:,} cases, drawn at random"


def _verdict(subject: Subject, areas: Comparison) -> tuple[Note, Note]:
    """Say who is best, by what, and whether that is sure."""
    best, second, *_ = subject.models
    tied_names = [
        model.name for model in subject.models if model.auc.value == best.auc.value
    ]

    if subject.request.stated_goal and subject.request.at is None:
        best_note = note("best", name=best.name, what="the objective")
    elif len(tied_names) > 1:
        best_note = note("best alike", names=tied_names, what="AUC")
    else:
        best_note = note("best", name=best.name, what="AUC")

    keys = {best.key, second.key}
    (pair,) = [pair for pair in areas.pairs if {pair.first, pair.second} == keys]
    advantage_of_best = pair.difference.value
    if pair.first != best.key:
        advantage_of_best = -advantage_of_best

    code = "not better"
    if pair.p_adjusted < 1 - subject.request.level and advantage_of_best:
        # the best by an objective may have the lower AUC
        code = "better" if advantage_of_best > 0 else "better in use"

    number_of_pairs = len(areas.pairs)
    adjusted = ""
    if number_of_pairs > 1:
        adjusted = f", allowing for {number_of_pairs} comparisons"

    significance = note(
        code,
        best=best.name,
        second=second.name,
        p=pair.p_adjusted,
        adjusted=adjusted,
    )

    return best_note, significance


def _classifier_table(subject: Subject) -> Table:
    """Return the AUC of each, and its best threshold with the objective there."""
    if subject.request.at is not None:
        rows = [(model.name, model.auc) for model in subject.models]
        return table("Each classifier", ("classifier", "AUC"), rows)

    objective = subject.request.objective
    goal = f"{text_of(objective.name)} there"
    caption = "Each classifier, and its own best threshold"
    constraints = " and ".join(map(repr, subject.request.constraints))
    if constraints:
        where = "on new cases"
        if subject.request.guarantee is not None:
            where = f"with {level_text(subject.request.guarantee)} confidence"
        caption += f", subject to {constraints} {where}"

    rows_of_thresholds = [
        (
            model.name,
            model.auc,
            cut_of(model.point),
            _value_there(model, objective),
        )
        for model in subject.models
    ]
    return table(caption, ("classifier", "AUC", "threshold", goal), rows_of_thresholds)


def _value_there(model: Model, objective: Metric) -> float:
    """Return the objective at the threshold; a guaranteed one does not bring it."""
    if not math.isnan(model.point.value):
        return model.point.value

    prevalence = model.tally.design.prevalence
    return float(objective(model.point.confusion.at_prevalence(prevalence)))


def _curve_notes(
    shown_names: Mapping[str, str], curves: Pairs, best: str
) -> list[Note]:
    """Return how the ROC curve of the best classifier lies to the others."""
    others_of_code: dict[str, list[str]] = {}
    for (first, second), difference in curves.items():
        if best == first:
            code = _code_of_curves(difference.verdict, above="dominates")
            others_of_code.setdefault(code, []).append(shown_names[second])
        elif best == second:
            code = _code_of_curves(difference.verdict, above="is dominated")
            others_of_code.setdefault(code, []).append(shown_names[first])

    lines = [
        note(code, best=shown_names[best], others=names)
        for code, names in others_of_code.items()
    ]
    if len(curves) == 1:
        lines += _note_on_margin(shown_names, curves, best)

    return lines


def _code_of_curves(verdict: str, *, above: str) -> str:
    """Return the note on two curves; ``above`` is the verdict if the best one wins."""
    if verdict == "equal":
        return "curves equal"
    if verdict == "crosses":
        return "curves cross"
    return "curve above" if verdict == above else "curve below"


def _note_on_margin(
    shown_names: Mapping[str, str], curves: Pairs, best: str
) -> tuple[Note, ...]:
    """Return by how much the other one of two curves could be better anywhere."""
    ((first, second), difference), *_ = curves.items()
    margin = difference.margin
    other = second

    if best != first:
        margin = difference.margin_first
        other = first

    return note_if(
        margin >= MIN_SHOWN_MARGIN and difference.verdict != "equal",
        "nowhere better",
        level=difference.level,
        other=shown_names[other],
        most=margin,
    )


def _figures(
    differences: Mapping[str, Estimate], shown_names: Mapping[str, str], curves: Pairs
) -> list[Figure]:
    """Return the figures of differences, and of the first pair of curves.

    The table has all pairs.
    """
    forest = intervals("Differences", "difference of the AUC", differences, zero=0.0)
    several = len(differences) > 1
    not_adjusted = (
        "Intervals are not adjusted for multiple comparisons; the p-values are."
    )
    pictures = [
        Figure(forest, "Differences", not_adjusted if several else "", of="pair")
    ]

    if curves:
        (first, second), difference = next(iter(curves.items()))
        name_of_pair = f"{shown_names[first]} {MINUS} {shown_names[second]}"
        pictures.append(
            figure(
                "Better everywhere?",
                dominance.difference_figure(difference, name_of_pair),
                {
                    "first": shown_names[first],
                    "second": shown_names[second],
                    "level": difference.level,
                },
                order=(name_of_pair,),
                folded=several,
            )
        )

    return pictures


def in_each_group(
    of_all_cases: Finding, of_groups: Mapping[str, Finding | None], column: str
) -> Finding:
    """Return an answer with the differences in each group that a column makes.

    A group without an answer, with too few cases, is None.
    """
    if not of_groups:
        return replace(of_all_cases, numbers=of_all_cases.numbers | {"groups": {}})

    rows = []
    numbers: dict[str, Any] = {}
    for group, answer in of_groups.items():
        numbers[group] = None
        if answer is not None:
            numbers[group] = answer.numbers
            # the last table is that of the differences
            rows += [(group, *row) for row in answer.tables[-1].rows]

    head = (column, *of_all_cases.tables[-1].head)
    return in_groups(of_all_cases, numbers, table(f"In each {column}", head, rows))


def better_together(subject: Subject) -> Finding:
    """Return how ways to combine classifiers rank cases they were not fitted on."""
    panel = _panel_to_compare(subject)
    if subject.request.combiner:
        choice(subject.request.combiner, list(COMBINERS), "combiner")

    sample, sampling_remark = sample_of_panel(panel, subject.request.rng)
    # in the order of the data, so that the same cases share a fold as elsewhere
    keys = {model.key for model in subject.models}
    names = [name for name in sample.names if name in keys]
    comparison = compare_combiners(
        sample[names], level=subject.request.level, rng=subject.request.rng
    )

    return combination_finding(
        subject, comparison, subject.request.combiner, sampling_remark
    )


def combination_finding(
    subject: Subject,
    comparison: CombinerComparison,
    method: str = "",
    sampling_remark: str = "",
) -> Finding:
    """Say what the best combination, or the one named, adds to the best classifier."""
    method = method or comparison.best()
    best = max(subject.models, key=lambda model: model.auc.value)

    # the combiner that all are compared with is no combination of its own
    areas = {}
    for name, area in comparison.auc.items():
        if name != comparison.reference:
            areas[name] = area

    gains = {}
    out_of_sample = {}
    for name, area in areas.items():
        gains[name] = comparison.gain[name][best.key]
        out_of_sample[name] = {
            "auc": area,
            "gain": gains[name],
            "gain_over_each": comparison.gain[name],
            "p_value": comparison.p_value[name],
        }

    best_first = sorted(areas, key=lambda name: -areas[name].value)
    rows: list[tuple[Any, ...]] = []
    for name in best_first:
        rows.append((name, areas[name], gains[name]))
    for model in subject.models:
        rows.append((f"{model.name} alone", model.auc, ""))

    head = ("combiner", "AUC", f"gain over {best.name}")
    forest = intervals(
        "Combined", "AUC on new cases", {name: areas[name] for name in best_first}
    )

    # the interval that is shown decides
    gain = gains[method]
    verdict = "open"
    if gain.low > 0:
        verdict = "better"
    elif gain.high < 0:
        verdict = "worse"

    return finding(
        "ensembles",
        {
            "method": method,
            "out_of_sample": out_of_sample,
            "alone": {model.key: model.auc for model in subject.models},
            "alone_in_folds": {
                m.key: comparison.single_over_folds[m.key] for m in subject.models
            },
            "reference": best.key,
            "folds": comparison.folds,
        },
        answer=(
            cases_note(subject.cases),
            note(f"together {verdict}", method=method, best=best.name, gain=gain),
        ),
        notes=note_if(
            sampling_remark,
            "drawn",
            what="Combinations were compared",
            drawn=sampling_remark,
        ),
        tables=(
            table("Combiners on cases not used for fitting, fold by fold", head, rows),
        ),
        figures=(Figure(forest, "Combined", of="combiner", folded=True),),
        title_values={"folds": comparison.folds},
    )
