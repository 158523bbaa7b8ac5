"""Which is better, is it better everywhere, and would they be better together?"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from itertools import combinations
from typing import Any

import numpy as np

from trueness._core.checks.cases import several_classifiers
from trueness._core.checks.options import choice
from trueness._core.figures import Intervals, intervals
from trueness._core.numbers import MINUS, level_text, p_value
from trueness._core.records import Estimate
from trueness.comparison.dominance import (
    Dominance,
    difference_figure,
    dominance_of_pairs,
)
from trueness.comparison.paired import compare_auc
from trueness.comparison.results import Comparison
from trueness.counts.answers import refuse
from trueness.counts.cases import with_fields
from trueness.counts.values import Panel
from trueness.ensembles.combiners import COMBINERS
from trueness.ensembles.crossfit import CombinerComparison, compare_combiners
from trueness.findings.how_good import cases_note
from trueness.findings.notes import TITLES, Note, note, when
from trueness.findings.records import Figure, Finding, Table, said, table
from trueness.findings.subject import Model, Subject, cut_of

LEAST = 0.001  # a difference of recall that can be read
MOST_PAIRS = 45  # whole curves of more pairs are not compared: ten classifiers
MOST_ROWS = 100_000  # what resamples or ranks every case is asked of so many
DOMINANCE = (
    *("verdict", "p_value", "p_better", "p_worse", "range_better", "range_worse"),
    *("fpr_better", "fpr_worse", "surely_better", "surely_worse", "margin"),
)
Pairs = dict[tuple[str, str], Dominance]


def of_several(s: Subject, ask: Callable[[Subject], Finding]) -> Finding | None:
    """Ask where there are several classifiers on the same cases."""
    if not isinstance(s.data, Panel) or len(s.data.names) < 2:
        return None
    return ask(s)


def which_is_better(s: Subject) -> Finding:
    """Compare all classifiers on the same cases, at all thresholds and at the best."""
    panel = _panel(s)
    keys = [n for n in panel.names if n in {m.key for m in s.models}]
    found = compare_auc(panel[keys], level=s.asked.level)
    few, drawn = fewer(panel, s.asked.rng)
    curves = dominance(few, keys, s)
    text = {m.key: m.name for m in s.models}
    return Finding(
        TITLES["comparison"],
        numbers_of(found, curves),
        answer=(cases_note(panel), *_verdict(s, found)),
        notes=(
            *when(s.cluster, "clusters", cluster=s.cluster),
            *_curve_notes(text, curves, s.best.key),
            *_left_out(curves, drawn),
            *said(found.notes),
        ),
        tables=(_each(s), _differences(found, text)),
        figures=tuple(_figures(found, text, curves, s.best.key)),
        method="AUC: DeLong's test, on the same cases (DeLong et al. 1988, "
        "doi:10.2307/2531595); p-values are adjusted for the number of pairs (Holm "
        "1979). Whole curves: the largest difference over ranges of false positive "
        "rates, corrected for their number; simultaneous bootstrap band of the "
        "difference (dominance: Sameni 2025, eq. 27).",
        caveat="A difference that is statistically significant can still be too small "
        "to matter. Look at the false positive rates that you would use.",
        key="comparison",
    )


def _panel(s: Subject) -> Panel:
    """Give the classifiers on the same cases."""
    several_classifiers(s.data, "compare_auc")
    refuse(s.data, "compare")  # labelled cases alone would have other AUCs
    assert isinstance(s.data, Panel)  # noqa: S101 - several are
    return s.data


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


def dominance(panel: Panel, keys: Sequence[str], s: Subject) -> Pairs:
    """Ask of every pair whether one is better everywhere; of many, the best ones."""
    pairs = list(combinations(keys, 2))
    if len(panel.rows) > MOST_ROWS:  # fewer() draws from independent cases only
        return {}
    if len(pairs) > MOST_PAIRS:
        pairs = [pair for pair in pairs if s.best.key in pair]
    return dominance_of_pairs(panel, pairs, level=s.asked.level, rng=s.asked.rng)


def numbers_of(found: Comparison, curves: Pairs) -> dict[str, Any]:
    """Give the numbers of a comparison."""
    return {
        "auc": dict(zip(found.names, found.values, strict=True)),
        "pairs": found.pairs,
        "omnibus": {k: getattr(found, k) for k in ("statistic", "df", "p_value")},
        "method": found.method,
        "dominance": [
            {"first": a, "second": b, **{k: getattr(d, k) for k in DOMINANCE}}
            for (a, b), d in curves.items()
        ],
    }


def _verdict(s: Subject, found: Comparison) -> tuple[Note, ...]:
    """Say who is best, by what, and whether that is sure."""
    best, second = s.models[0], s.models[1]
    level = s.asked.level
    pair = next(p for p in found.pairs if {p.first, p.second} == {best.key, second.key})
    difference = pair.difference.value * (1 if pair.first == best.key else -1)
    sure = pair.p_adjusted < 1 - level
    code = "better" if sure and difference > 0 else "not better"
    if sure and difference < 0:
        code = "better in use"
    several = len(found.pairs) > 1
    said_so = note(
        code,
        best=best.name,
        second=second.name,
        p=pair.p_adjusted,
        adjusted=f", allowing for {len(found.pairs)} comparisons" if several else "",
    )
    by_goal = s.asked.stated and s.asked.at is None
    what = "the objective" if by_goal else "AUC"
    return (note("best", name=best.name, what=what), said_so)


def _each(s: Subject) -> Table:
    """Give the AUC of each, and its best threshold with what it is worth there."""
    a = s.asked
    what = a.objective.name
    rows: list[tuple[Any, ...]]
    if a.at is not None:
        rows = [(m.name, m.auc) for m in s.models]
        return table("Each classifier", ("classifier", "AUC"), rows)
    rows = [(m.name, m.auc, m.point.value, cut_of(m.point)) for m in s.models]
    head = ("classifier", "AUC", f"{what} at its best", "threshold")
    return table("Each classifier, and its own best threshold", head, rows)


def _differences(found: Comparison, text: Mapping[str, str]) -> Table:
    rows = [
        (f"{text[p.first]} {MINUS} {text[p.second]}", p.difference,
         p_value(p.p_value), p_value(p.p_adjusted))
        for p in found.pairs
    ]  # fmt: skip
    head = ("pair", "difference of AUC", "p-value", "adjusted (Holm)")
    return table("Differences of the AUC", head, rows)


def _curve_notes(text: Mapping[str, str], curves: Pairs, best: str) -> list[Note]:
    """Say how the curve of the best one lies to the others."""
    found: dict[str, list[str]] = {}
    for (a, b), d in curves.items():
        if best in (a, b):
            first = "dominates" if a == best else "dominated"
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


def _left_out(curves: Pairs, drawn: str) -> list[Note]:
    if not curves:
        return [note("no curves", most=MOST_ROWS)]
    return [note("drawn", what="Curves were compared", drawn=drawn)] if drawn else []


def _figures(
    found: Comparison, text: Mapping[str, str], curves: Pairs, best: str
) -> list[Figure]:
    named = {  # of the best one; the table has all pairs
        f"{text[p.first]} {MINUS} {text[p.second]}": p.difference
        for p in found.pairs
        if best in (p.first, p.second)
    }
    forest = intervals("Differences", "difference of the AUC", named, zero=0.0)
    note_ = "Intervals are not adjusted for multiple comparisons; the p-values are."
    made = [Figure(forest, "Differences", note_ if len(named) > 1 else "", of="pair")]
    for (a, b), d in list(curves.items())[:1]:
        name = f"{text[a]} {MINUS} {text[b]}"
        made.append(
            Figure(
                difference_figure(d, name),
                "Better everywhere?",
                f"True positive rate of {text[a]} minus that of {text[b]}. With "
                f"{level_text(d.level)} confidence the whole true difference lies in "
                "the band.",
                order=(name,),
                folded=len(named) > 1,
            )
        )
    return made


def in_each_group(
    whole: Finding, parts: Mapping[str, Finding | None], by: str
) -> Finding:
    """Add what was found in each group."""
    if not parts:
        return replace(whole, numbers=whole.numbers | {"groups": {}})
    rows = [(g, *row) for g, f in parts.items() if f for row in f.tables[-1].rows]
    groups = {g: f and f.numbers for g, f in parts.items()}
    made = table(f"In each {by}", (by, *whole.tables[-1].head), rows)
    numbers = whole.numbers | {"groups": groups}
    return replace(whole, numbers=numbers, tables=(*whole.tables, made))


def better_together(s: Subject) -> Finding:
    """Compare ways to combine the classifiers, on cases they were not fitted on."""
    panel = _panel(s)
    if s.asked.combiner:
        choice(s.asked.combiner, list(COMBINERS), "combiner")
    few, drawn = fewer(panel, s.asked.rng)
    # in the order of the data, so that the same cases share a fold as elsewhere
    kept = few[[n for n in few.names if n in {m.key for m in s.models}]]
    found = compare_combiners(kept, level=s.asked.level, rng=s.asked.rng)
    return combined(s, found, s.asked.combiner, drawn)


def combined(
    s: Subject, found: CombinerComparison, method: str = "", drawn: str = ""
) -> Finding:
    """Say what the best combination, or the one named, adds to the best classifier."""
    fitted = {k: e for k, e in found.auc.items() if k != found.against}
    method = method or found.best()
    single = {m.key: m for m in s.models}
    best = max(s.models, key=lambda m: m.auc.value)
    gain = {k: found.gain[k][best.key] for k in fitted}
    order = sorted(fitted, key=lambda k: -fitted[k].value)
    rows = [
        *((k, found.auc[k], gain[k]) for k in order),
        *((f"{m.name} alone", m.auc, "") for m in s.models),
    ]
    return Finding(
        TITLES["ensembles"],
        {
            "method": method,
            "out_of_sample": {
                k: {
                    "auc": found.auc[k],
                    "gain": gain[k],
                    "gain_over_each": found.gain[k],
                    "p_value": found.p_value[k],
                }
                for k in fitted
            },
            "alone": {k: m.auc for k, m in single.items()},
            "against": best.key,
            "folds": found.folds,
        },
        answer=(cases_note(s.cases), _together(method, gain[method], best)),
        notes=tuple(
            [note("drawn", what="Combinations were compared", drawn=drawn)]
            if drawn
            else []
        ),
        tables=(
            table(
                "AUC on cases that were not used for fitting",
                ("combiner", "AUC", f"gain over {best.name}"),
                rows,
            ),
        ),
        figures=(
            Figure(_forest(fitted, order), "Combined", of="combiner", folded=True),
        ),
        method=f"Cross-fitting with {found.folds} folds: every case is scored by a "
        "combiner that has not seen it. FiDEL: Kim et al. 2021, "
        "doi:10.1073/pnas.2100761118; intervals by DeLong's method.",
        caveat="Classifiers that make the same errors gain little from each other. The "
        "intervals do not include the variation of the fits themselves.",
        key="ensembles",
    )


def _forest(fitted: Mapping[str, Estimate], order: Sequence[str]) -> Intervals:
    return intervals("Combined", "AUC on new cases", {k: fitted[k] for k in order})


def _together(method: str, gain: Estimate, best: Model) -> Note:
    """Decide by the interval that is shown."""
    code = "together open"
    if gain.low > 0:
        code = "together better"
    elif gain.high < 0:
        code = "together worse"
    return note(code, method=method, best=best.name, gain=gain)
