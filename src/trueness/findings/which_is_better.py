"""Which is better, is it better everywhere, and would they be better together?"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from itertools import combinations

import numpy as np

from trueness._core.checks.cases import several_classifiers
from trueness._core.checks.options import choice
from trueness._core.figures import intervals
from trueness._core.numbers import MINUS, p_value
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
from trueness.findings.how_good import cases_note, turned
from trueness.findings.notes import Note, note, said, when
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
from trueness.metrics.grammar import text_of

LEAST = 0.001  # a difference of recall that can be read
MOST_PAIRS = 45  # whole curves of more pairs are not compared: ten classifiers
MOST_ROWS = 100_000  # what resamples or ranks every case is asked of so many
DOMINANCE = (
    *("verdict", "p_value", "p_better", "p_worse", "range_better", "range_worse"),
    *("fpr_better", "fpr_worse", "surely_better", "surely_worse", "margin"),
)
Pairs = dict[tuple[str, str], dominance.Dominance]


def which_is_better(s: Subject, metric: str = "") -> Finding:
    """Compare all classifiers on the same cases, at all thresholds and at the best.

    Tests, which have no threshold, are compared by ``metric``, or by sensitivity and
    specificity.
    """
    if are_tests(s.data):
        counted = cases_note(_panel(s))
        return which_test_is_better(s, cases_note=counted, metric=metric)
    panel, level = _panel(s), s.request.level
    best, text = s.best.key, {m.key: m.name for m in s.models}
    keys = [n for n in panel.names if n in text]
    found = compare_auc(panel[keys], level=level)
    few, drawn = fewer(panel, s.request.rng)
    curves: Pairs = {}
    if len(few.rows) <= MOST_ROWS:  # fewer() draws from independent cases only
        pairs = list(combinations(keys, 2))
        if len(pairs) > MOST_PAIRS:  # of many, those of the best one
            pairs = [pair for pair in pairs if best in pair]
        curves = dominance.dominance_of_pairs(
            few, pairs, level=level, rng=s.request.rng
        )
    named = {f"{text[p.first]} {MINUS} {text[p.second]}": p for p in found.pairs}
    rows = [
        (name, p.shown, p_value(p.p_value), p_value(p.p_adjusted))
        for name, p in named.items()
    ]
    head = ("pair", "difference of AUC", "p-value", "adjusted (Holm)")
    own = _differences_from_best(found, best, text)
    return finding(
        "comparison",
        {
            "auc": dict(zip(found.names, found.values, strict=True)),
            "pairs": found.pairs,
            "all_equal": fields_of(found, "p_value"),
            "method": found.method,
            "dominance": [
                {"first": a, "second": b, **fields_of(d, *DOMINANCE)}
                for (a, b), d in curves.items()
            ],
        },
        answer=(cases_note(panel), *_verdict(s, found)),
        notes=(
            *s.alike,
            *(n for m in s.models for n in turned(m.name, m.auc)),
            *_curve_notes(text, curves, best),
            *when(not curves, "no curves", most=MOST_ROWS),
            *when(curves and drawn, "drawn", what="Curves were compared", drawn=drawn),
            *said(found.notes),
        ),
        tables=(_each(s), table("Differences of the AUC", head, rows)),
        figures=tuple(_figures(own, text, curves)),
    )


def _differences_from_best(
    found: Comparison, best: str, text: Mapping[str, str]
) -> dict[str, Estimate]:
    """Return the AUC of the best classifier minus that of each other one."""
    differences = {}
    for pair in found.pairs:
        if pair.first == best:
            differences[f"{text[best]} {MINUS} {text[pair.second]}"] = pair.difference
        elif pair.second == best:
            e = pair.difference
            turned_round = replace(e, value=-e.value, low=-e.high, high=-e.low)
            differences[f"{text[best]} {MINUS} {text[pair.first]}"] = turned_round
    return differences


def _panel(s: Subject) -> Panel:
    """Give the classifiers on the same cases."""
    several_classifiers(s.data, "compare_auc")
    refuse(s.data, "compare")  # labelled cases alone would have other AUCs
    assert isinstance(s.data, Panel)  # noqa: S101 - several are
    return s.data


def fewer(panel: Panel, rng: Seed, most: int = 0) -> tuple[Panel, str]:
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


def _verdict(s: Subject, found: Comparison) -> tuple[Note, Note]:
    """Say who is best, by what, and whether that is sure."""
    best, second, *_ = s.models
    pair = next(p for p in found.pairs if {p.first, p.second} == {best.key, second.key})
    better = pair.difference.value * (1 if pair.first == best.key else -1)
    code, several = "not better", len(found.pairs)
    if pair.p_adjusted < 1 - s.request.level and better:
        code = "better" if better > 0 else "better in use"
    sure = note(
        code,
        best=best.name,
        second=second.name,
        p=pair.p_adjusted,
        adjusted=f", allowing for {several} comparisons" if several > 1 else "",
    )
    by_goal = s.request.stated_goal and s.request.at is None
    what = "the objective" if by_goal else "AUC"
    alike = [m.name for m in s.models if m.auc.value == best.auc.value]
    if len(alike) > 1 and not by_goal:
        return note("best alike", names=alike, what=what), sure
    return note("best", name=best.name, what=what), sure


def _each(s: Subject) -> Table:
    """Give the AUC of each, and its best threshold with what it is worth there."""
    if s.request.at is not None:
        rows = [(m.name, m.auc) for m in s.models]
        return table("Each classifier", ("classifier", "AUC"), rows)
    more = [(m.name, m.auc, m.point.value, cut_of(m.point)) for m in s.models]
    goal = f"{text_of(s.request.objective.name)} at its best"
    limits = " and ".join(map(repr, s.request.constraints))
    caption = "Each classifier, and its own best threshold"
    caption += f", subject to {limits}" if limits else ""
    return table(caption, ("classifier", "AUC", goal, "threshold"), more)


def _curve_notes(text: Mapping[str, str], curves: Pairs, best: str) -> list[Note]:
    """Say how the curve of the best one lies to the others."""
    found: dict[str, list[str]] = {}
    for (a, b), d in curves.items():
        if best in (a, b):
            first = "dominates" if a == best else "is dominated"
            code = {"equal": "curves equal", "crosses": "curves cross"}.get(
                d.verdict, "curve above" if d.verdict == first else "curve below"
            )
            found.setdefault(code, []).append(text[b if a == best else a])
    lines = [note(c, best=text[best], others=names) for c, names in found.items()]
    if len(curves) == 1:
        ((a, b), d), *_ = curves.items()
        most, other = (d.margin, b) if a == best else (d.margin_first, a)
        if most >= LEAST and d.verdict != "equal":
            excluded = {"level": d.level, "other": text[other], "most": most}
            lines.append(note("nowhere better", **excluded))
    return lines


def _figures(
    differences: Mapping[str, Estimate], text: Mapping[str, str], curves: Pairs
) -> list[Figure]:
    """Draw the differences of the best one; the table has all pairs."""
    forest = intervals("Differences", "difference of the AUC", differences, zero=0.0)
    many = len(differences) > 1
    not_adjusted = (
        "Intervals are not adjusted for multiple comparisons; the p-values are."
    )
    pictures = [Figure(forest, "Differences", not_adjusted if many else "", of="pair")]
    for (a, b), difference in list(curves.items())[:1]:
        name = f"{text[a]} {MINUS} {text[b]}"
        pictures.append(
            figure(
                "Better everywhere?",
                dominance.difference_figure(difference, name),
                {"first": text[a], "second": text[b], "level": difference.level},
                order=(name,),
                folded=many,
            )
        )
    return pictures


def in_each_group(
    whole: Finding, parts: Mapping[str, Finding | None], by: str
) -> Finding:
    """Add what was found in each group."""
    if not parts:
        return replace(whole, numbers=whole.numbers | {"groups": {}})
    rows = [(g, *row) for g, f in parts.items() if f for row in f.tables[-1].rows]
    groups = {g: f and f.numbers for g, f in parts.items()}
    made = table(f"In each {by}", (by, *whole.tables[-1].head), rows)
    return in_groups(whole, groups, made)


def better_together(s: Subject) -> Finding:
    """Compare ways to combine the classifiers, on cases they were not fitted on."""
    panel = _panel(s)
    if s.request.combiner:
        choice(s.request.combiner, list(COMBINERS), "combiner")
    few, drawn = fewer(panel, s.request.rng)
    # in the order of the data, so that the same cases share a fold as elsewhere
    kept = few[[n for n in few.names if n in {m.key for m in s.models}]]
    found = compare_combiners(kept, level=s.request.level, rng=s.request.rng)
    return combined(s, found, s.request.combiner, drawn)


def combined(
    s: Subject, found: CombinerComparison, method: str = "", drawn: str = ""
) -> Finding:
    """Say what the best combination, or the one named, adds to the best classifier."""
    fitted = {k: e for k, e in found.auc.items() if k != found.against}
    method = method or found.best()
    best = max(s.models, key=lambda m: m.auc.value)
    gains = {k: found.gain[k][best.key] for k in fitted}
    order = sorted(fitted, key=lambda k: -fitted[k].value)
    forest = intervals("Combined", "AUC on new cases", {k: fitted[k] for k in order})
    rows = [
        *((k, found.auc[k], gains[k]) for k in order),
        *((f"{m.name} alone", m.auc, "") for m in s.models),
    ]
    head = ("combiner", "AUC", f"gain over {best.name}")
    gain = gains[method]  # the interval that is shown decides
    word = "better" if gain.low > 0 else "worse" if gain.high < 0 else "open"
    return finding(
        "ensembles",
        {
            "method": method,
            "out_of_sample": {
                k: {
                    "auc": found.auc[k],
                    "gain": gains[k],
                    "gain_over_each": found.gain[k],
                    "p_value": found.p_value[k],
                }
                for k in fitted
            },
            "alone": {m.key: m.auc for m in s.models},
            "alone_in_folds": {m.key: found.alone[m.key] for m in s.models},
            "against": best.key,
            "folds": found.folds,
        },
        answer=(
            cases_note(s.cases),
            note(f"together {word}", method=method, best=best.name, gain=gain),
        ),
        notes=when(drawn, "drawn", what="Combinations were compared", drawn=drawn),
        tables=(
            table("Combiners on cases not used for fitting, fold by fold", head, rows),
        ),
        figures=(Figure(forest, "Combined", of="combiner", folded=True),),
        told={"folds": found.folds},
    )
