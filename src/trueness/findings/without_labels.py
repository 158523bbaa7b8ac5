"""How good is each test or judge, and how common is the condition, without the truth?

Tests and scores without any label, and verdicts of judges of which some have one.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from trueness._core.checks.errors import InputError
from trueness._core.figures import intervals
from trueness._core.names import told_apart
from trueness._core.numbers import MINUS, counted, level_text, percent, points, spelt
from trueness._core.records import Estimate, shown
from trueness.counts.values import Panel
from trueness.ensembles.without_labels import Agreement, agreement
from trueness.findings.notes import TITLES, note, said, when
from trueness.findings.records import (
    Figure,
    Finding,
    Page,
    Table,
    Tile,
    fields_of,
    finding,
    table,
)
from trueness.findings.subject import NAME, possible
from trueness.findings.words import for_readers
from trueness.inference.limits import around
from trueness.nogold import figures, sentences
from trueness.nogold.combinations.best import Combination, best_combination
from trueness.nogold.fitting import latent_class
from trueness.nogold.posterior import LatentPosterior
from trueness.nogold.rate import Rate
from trueness.nogold.rate_comparison import PER_PAIR, RateComparison

ALL = "all"  # the name of the only system
_QU = "(Qu, Tan and Kutner 1996, doi:10.2307/2533043)"
_LATENT = (
    f"Latent class model: given the truth, tests may share errors by a normal effect "
    f"of each class {_QU}, or make them independently (Keith, Davey and Boyd 2012, "
    "doi:10.1186/1471-2105-13-179); uniform priors with sensitivity at least 1 - "
    "specificity. The intervals are posterior (credible) intervals."
)
_AGREE = (
    "If classifiers make their errors independently, the covariance of their ranks "
    "determines their AUCs and the prevalence (after Kim et al. 2021, "
    "doi:10.1073/pnas.2100761118)."
)
_AVERAGED = (
    "The labels say how likely an answer is right given its verdicts, and all cases "
    "say how common each pattern of verdicts is; the rate is the average. Nothing is "
    "assumed about the errors of the judges."
)
_RATED = {
    "random": _AVERAGED,
    "by verdict": _AVERAGED,
    "by truth": "The labelled cases say how often each class passes; the rate is that "
    "of a mixture of both that passes as often as the other cases (after Rogan and "
    "Gladen 1978, doi:10.1093/oxfordjournals.aje.a112510).",
    "none": "There are no labels, so verdicts alone do not determine the rate: the "
    f"interval is that of a latent class model whose judges may share errors {_QU}.",
}
_CRITERIA = {"product": "product", "squares": "sum of squares", "sum": "sum",
             "min": "minimum"}  # fmt: skip
_BOTH = ("sensitivity", "specificity")
HOW = {
    "random": "at random",
    "by verdict": "by the verdicts of the judges",
    "by truth": "by their true label",
}
_RULE = ("criterion", "formula", "sensitivity", "specificity", "probability_best")
_RATE = ("effective_judges", "labelled", "labels", "cases", "identified", "independent")


def without_labels(
    data: Any,
    *,
    title: str,
    facts: Any,
    level: float = 0.95,
    rng: Any = 0,
) -> Page:
    """Report on tests or scores for which no case has a label."""
    if not isinstance(data, Panel) or len(data.names) < 2:
        raise InputError(
            "Without any label a report needs several classifiers on the same cases; "
            "found one. Name the column of the labels, or more classifiers."
        )
    with warnings.catch_warnings(record=True) as raised:
        warnings.simplefilter("always")
        votes = np.isin(data.rows[~np.isnan(data.rows)], (0.0, 1.0)).all()
        if votes:
            posterior = latent_class(data, rng=rng, level=level)
            rule = best_combination(posterior)
            section = how_good_tests(data, posterior, rule)
            tiles = _test_tiles(posterior, rule)
        else:
            agreed = agreement(data, level=level)
            section = _how_good_scores(data, agreed)
            best = max(agreed.auc, key=lambda name: agreed.auc[name].value)
            e, whose = agreed.auc[best], f"AUC of {shown(best, 40)}"
            area = Tile(whose, f"{e.value:.3f}", f"{e.low:.3f} to {e.high:.3f}")
            tiles = [_tile("prevalence", agreed.prevalence), area]
    _, common, *good = section.answer
    mind = (*said(str(w.message) for w in raised), *section.notes)
    answers = (
        ("How common is the condition?", (common,)),
        ("How good are they?", tuple(good)),
        ("What should you do?", when(not votes or posterior.open, "verify")),
        ("What should you keep in mind?", mind),
    )
    title = title or "How good are these tests?"
    section = replace(section, answer=(), notes=())  # the first screen has them
    return Page(title, facts, tuple(tiles), answers, (section,))


def how_good_tests(
    panel: Panel, found: LatentPosterior, rule: Combination, by: str = "population"
) -> Finding:
    """Say how good each test is, how common the condition, and which rule is best."""
    texts = told_apart(list(panel.names), NAME)
    alone = found.independent if found.open else None
    several = len(found.populations) > 1
    head, columns = ["test"], [list[Any](texts)]
    for post, more in ((found, ""), (alone, ", if independent")):
        for word in _BOTH if post is not None else ():
            head.append(f"{word}{more}")
            columns.append([_cell(getattr(post, word)[n]) for n in panel.names])
    tables = [table("Tests", head, zip(*columns, strict=True))]
    common = ["The first table has the prevalence of each population."]
    if several:
        rows = [(g, _cell(found.prevalence[g])) for g in found.populations]
        tables.insert(0, table("Prevalence", (by, "prevalence"), rows))
    else:
        common = [sentences.credible_sentence("The prevalence", found.prevalence)]
    if alone is not None and not several:
        common.append(str(note("if independent", share=alone.prevalence)))
    best = [sentences.combination_sentence(rule, known=not found.open)]
    if rule.criterion in _CRITERIA:
        what = f"{_CRITERIA[rule.criterion]} of sensitivity and specificity"
        best.append(f"It has the highest {what}.")
    drawn = []
    for word in _BOTH:
        named = dict(zip(texts, getattr(alone or found, word).values(), strict=True))
        title = f"{word.capitalize()}{', if errors were independent' if alone else ''}"
        data = intervals(word.capitalize(), word, named)
        drawn.append(Figure(data, title, of="test"))
    counts = f"{counted(panel.n, 'case')}, {counted(len(texts), 'test')}"
    unknown = f"{counts}; it is not known which cases have the condition."
    other = found.independent
    return finding(
        "nogold",
        {
            **_posterior_numbers(found),
            **fields_of(found, "dependence", "identified", "log_bayes_factor", "notes"),
            "independent": other and _posterior_numbers(other),
            "combination": _rule_numbers(rule, found.open),
        },
        answer=said([unknown, " ".join(common), *best]),
        notes=said(found.notes),
        tables=tuple(tables),
        figures=tuple(drawn),
        method=_LATENT,
    )


def _posterior_numbers(found: LatentPosterior) -> dict[str, Any]:
    several = len(found.populations) > 1
    groups = found.populations if several else ()
    tests = {n: {k: getattr(found, k)[n] for k in _BOTH} for n in found.names}
    return {
        "prevalence": None if several else found.prevalence,
        "tests": tests,
        "groups": {g: {"prevalence": found.prevalence[g]} for g in groups},
    }


def _rule_numbers(rule: Combination, unknown: bool) -> dict[str, Any]:
    found = fields_of(rule, *_RULE, "gap")
    if unknown:  # an interval is all that there is
        found |= {word: replace(found[word], value=np.nan) for word in _BOTH}
    return found


def _cell(e: Estimate) -> Any:
    return f"{percent(e.low)} to {percent(e.high)}" if np.isnan(e.value) else e


def _tile(name: str, e: Estimate) -> Tile:
    span = f"{percent(e.low)} to {percent(e.high)}"
    if np.isnan(e.value):
        return Tile(name, span, "not determined by votes alone")
    return Tile(name, percent(e.value), span)


def _test_tiles(found: LatentPosterior, rule: Combination) -> list[Tile]:
    """Show what is known: without labels intervals, and what independence gives."""
    known = _rule_numbers(rule, found.open)
    tiles = [_tile("prevalence", found.prevalence)]
    if found.open and found.independent is not None:
        e = found.independent.prevalence
        tiles.append(_tile("if errors were independent", e))
    tiles.append(Tile("best rule", shown(rule.formula, 60), ""))
    return [*tiles, *(_tile(f"its {word}", known[word]) for word in _BOTH)]


def _how_good_scores(panel: Panel, found: Agreement) -> Finding:
    texts = told_apart(list(panel.names), NAME)
    named = dict(zip(texts, (found.auc[n] for n in panel.names), strict=True))
    best = max(named, key=lambda n: named[n].value)
    forest = intervals("AUC without labels", "AUC", named)
    code = "cannot check" if np.isnan(found.misfit) else "checked"
    return Finding(
        "How good is each classifier?",
        {"agreement": found},
        (
            note("unlabelled only", n=panel.n),
            *said([sentences.credible_sentence("The prevalence", found.prevalence)]),
            note("agreed", best=best, auc=named[best]),
        ),
        (note("independent errors"), note(code, p=found.misfit)),
        (table("AUC, from agreement alone", ("classifier", "AUC"), named.items()),),
        (Figure(forest, "AUC without labels"),),
        method=_AGREE,
        key="nogold",
    )


def pass_rates(
    rates: Mapping[str, Rate],
    compared: RateComparison | None = None,
    plans: Mapping[str, Mapping[str, Any]] | None = None,
) -> Finding:
    """Say the corrected rate of each system, which is better, and what to label next.

    ``plans`` holds, for each system, the labels to get ``next`` and those ``needed``.
    """
    several, plans = len(rates) > 1, plans or {}
    first, more = next(iter(rates.values())), compared.notes if compared else ()
    texts = dict(zip(rates, told_apart(list(rates), NAME), strict=True))
    words = {
        s: sentences.rate_sentences(r, texts[s] if several else "")
        for s, r in rates.items()
    }
    between = sentences.difference_sentences(compared) if compared else []
    named = {texts[s]: r for s, r in rates.items()}
    judges = [
        [*([s] if several else []), *row]
        for s, r in named.items()
        for row in sentences.judge_rows(r)
    ]
    head = [*(["system"] if several else []), *sentences.JUDGE_HEAD]
    tables, drawn = [table("Judges", head, judges)], tuple[Figure, ...]()
    if several:
        rows = sentences.system_rows(named)
        tables.insert(0, table("Systems", sentences.SYSTEM_HEAD, rows))
        data = figures.rates_figure(named)
        seen = "Dot and line: corrected, with its interval. Diamond: raw."
        drawn = (Figure(data, data.what, seen, of="system"),)
    if compared is not None:
        tables.append(_pairs(compared, first.level))
    planned = []
    for s, plan in plans.items():
        whose = "" if s == ALL else f"{shown(s)}: "
        if n := plan.get("needed"):
            needed = {
                "n": n.labels,
                "width": 100 * n.width,
                "without": n.without_judges,
            }
            planned.append(f"{whose}{note('labels needed', **needed)}")
        if p := plan.get("next"):
            to_label = p.labels.tolist()
            made = sentences.label_sentence(p.width_now, p.width_then, to_label)
            planned.append(f"{whose}{made}")
            each = zip(map(str, p.pattern), to_label, strict=True)
            tables.append(
                table("To label", ("verdicts in this order", "to label"), each)
            )
    cases = sum(r.cases for r in rates.values())
    labels = sum(r.labels for r in rates.values())
    counts = (
        f"{counted(cases, 'answer')}, {counted(len(first.naive), 'judge')}; "
        f"{counted(labels, 'label')}"
        f"{f', chosen {HOW[first.labelled]}' if labels else ''}."
    )
    also = any(r.labelled in ("random", "by verdict") for r in rates.values())
    return Finding(
        TITLES["systems" if several else "judges"],
        {
            "systems": {
                s: {
                    "rate": around(r.value, r.low, r.high, r.level),
                    "raw": figures.raw_rate(r),
                    "naive": dict(r.naive),
                    "judges": dict(r.judges),
                    **fields_of(r, *_RATE, "notes"),
                    "sentences": words[s],
                    **dict.fromkeys(("next", "needed")),
                    **plans.get(s, {}),
                }
                for s, r in rates.items()
            },
            "differences": [
                {name: getattr(compared, name)[k] for name in PER_PAIR}
                for k in range(len(compared.first) if compared else 0)
            ],
            "notes": list(more),
            "sentences": between,
        },
        said([counts, *(" ".join(x) for x in words.values()), *between, *planned]),
        (*said(sentences.rate_notes(named, more)), *when(also, "also")),
        tuple(tables),
        drawn,
        key="systems",
        caveat="Intervals that overlap do not say that systems are equal; the table of "
        "differences does the comparison.",
    )


def _pairs(c: RateComparison, level: float) -> Table:
    rows = [
        (
            f"{shown(str(c.first[k]), NAME)} {MINUS} {shown(str(c.second[k]), NAME)}",
            around(c.difference[k], c.low[k], c.high[k], level),
            float(c.probability[k]),
            float(c.adjusted_p_value[k]),
        )
        for k in range(len(c.first))
    ]
    head = ("pair", "difference", "P(first is better)", "p (adjusted)")
    return table("Differences of the corrected rates", head, rows, brief=False)


def judged(
    rates: Mapping[str, Rate],
    panels: Mapping[str, Panel],
    compared: RateComparison | None = None,
    *,
    title: str = "",
    source: str = "",
) -> Page:
    """Report on judged answers of one system or several.

    Parameters as in :func:`trueness.report.write_judges`.
    """
    several, found = len(rates) > 1, pass_rates(rates, compared)
    texts = dict(zip(rates, told_apart(list(rates), NAME), strict=True))
    first = next(iter(rates.values()))
    facts = [
        ("answers", f"{sum(r.cases for r in rates.values()):,}"),
        ("judges", f"{len(first.naive):,}"),
        ("labels", f"{sum(r.labels for r in rates.values()):,} ({first.labelled})"),
        *([("file", shown(source, 120))] if source else []),
    ]
    sections = [replace(found, answer=(), notes=())] if several else []
    for s, r in rates.items():
        whose = texts[s] if several else ""
        sections.append(_judges(r, panels[s], whose, len(sections)))
    split = len(found.answer) - len(found.numbers["sentences"])
    mind = tuple(n for n in found.notes if n.code != "also")
    answers = (
        (TITLES["judges"], found.answer[1:split]),
        ("Which is better?", found.answer[split:]),
        ("What should you keep in mind?", mind),
    )
    title, tiles = title or TITLES["judges"], _tiles(rates, texts)
    return Page(title, tuple(facts), tiles, answers, tuple(sections))


def _tiles(rates: Mapping[str, Rate], texts: Mapping[str, str]) -> tuple[Tile, ...]:
    if len(rates) > 1:
        return tuple(_rate_tile(texts[s], r) for s, r in list(rates.items())[:6])
    (r,) = rates.values()
    worth, raw, tiles = r.effective_judges, figures.raw_rate(r), []
    if np.isfinite(raw):
        text = f"{points(raw, r.high - r.low)} %"
        tiles.append(Tile("raw pass rate", text, "what judges say"))
    tiles.append(_rate_tile("corrected", r))
    if np.isfinite(worth.value) and len(r.naive) > 1:
        detail = f"independent judges ({worth.low:.1f} to {worth.high:.1f})"
        name = f"{spelt(len(r.naive))} judges are worth"
        tiles.append(Tile(name, f"{worth.value:.1f}", detail))
    return tuple(tiles)


def _rate_tile(name: str, r: Rate) -> Tile:
    width = r.high - r.low
    ends = f"{points(r.low, width)} to {points(r.high, width)} %"
    if not r.identified:
        return Tile(name, ends, "not determined without labels")
    return Tile(name, f"{points(r.value, width)} %", ends)


def _judges(r: Rate, panel: Panel, system: str, number: int) -> Finding:
    rows = [
        (f"{k} {shown(name, NAME)}", *numbers)
        for k, (name, *numbers) in enumerate(sentences.judge_rows(r), 1)
    ]
    on = f" on {system}" if system else ""
    return Finding(
        f"How good are the judges{on}?",
        {"rate": r},
        answer=said(sentences.rate_sentences(r, system)[2:]),
        figures=_figures(r, panel),
        tables=(table("Judges", sentences.JUDGE_HEAD, rows),),
        key=f"judges{number}",
        method=_RATED[r.labelled],
        caveat=for_readers(" ".join(r.notes[1:])),
    )


def _figures(r: Rate, panel: Panel) -> tuple[Figure, ...]:
    """Draw what can be drawn: without labels no errors are known."""
    made: list[Callable[[], Figure]] = [
        lambda: Figure(
            figures.judges_figure(r),
            "Judges in the ROC plane",
            "The numbers are those of the table; on the broken line a judge says "
            "nothing.",
            of="judge",
        )
    ]
    if r.labels and len(panel.names) > 1:
        made.append(
            lambda: Figure(
                figures.errors_figure(panel),
                "Which errors go together?",
                "Correlation of the errors of each pair of judges, by number, in "
                f"{counted(r.labels, 'labelled case')}: 0 independent, 1 the same.",
            )
        )

    def by_labels() -> Figure:
        data = figures.labels_figure(r, panel)
        seen = (
            f"The {level_text(r.level)} interval that is expected with so many labels "
            f"at random; the broken line is where you are "
            f"({counted(r.labels, 'label')})."
        )
        order = tuple(line.name for line in data.lines)
        return Figure(data, "What would more labels bring?", seen, order=order)

    made += [by_labels] if r.labels and r.labelled != "by truth" else []
    return tuple(f for f in map(possible, made) if f is not None)
