"""How good is each test or judge, and how common is the condition, without the truth?

Tests and scores without any label, and verdicts of judges of which some have one.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from trueness._core.checks.errors import InputError
from trueness._core.figures import intervals
from trueness._core.names import told_apart
from trueness._core.numbers import MINUS, counted, number_of, percent, points, spelt
from trueness._core.records import Estimate, shown
from trueness.counts.resampling import Seed
from trueness.counts.values import Panel, Tally
from trueness.ensembles.without_labels import (
    DOUBTFUL_MISFIT,
    Agreement,
    agreement,
)
from trueness.findings.notes import TITLES, note, said, when
from trueness.findings.records import (
    Figure,
    Finding,
    Page,
    Table,
    Tile,
    fields_of,
    figure,
    finding,
    table,
)
from trueness.findings.subject import NAME, possible
from trueness.findings.systems import difference_sentences, rate_sentences
from trueness.inference.estimates import estimate_from_interval
from trueness.nogold import figures
from trueness.nogold.combinations import Combination, best_combination
from trueness.nogold.figures import raw_rate
from trueness.nogold.fitting import latent_class
from trueness.nogold.posterior import LatentPosterior
from trueness.nogold.rate import Rate
from trueness.nogold.rate_comparison import PER_PAIR, RateComparison

ALL = "all"  # the name of the only system
_CRITERIA = {"product": "product", "squares": "sum of squares", "sum": "sum",
             "min": "minimum"}  # fmt: skip
_BOTH = ("sensitivity", "specificity")
HOW = {
    "random": "at random",
    "by verdict": "by the verdicts of the judges",
    "by truth": "by their true label",
}
_RULE = ("criterion", "formula", "sensitivity", "specificity", "probability_best")
_COUNTED = ("cases", "labels")
_RATE = ("effective_judges", "labelled", "labels", "cases", "identified", "independent")
IF_INDEPENDENT = "if errors were independent"
JUDGE_HEAD = ("judge", "raw", "sensitivity", "specificity")


def without_labels(
    data: Panel | Tally,
    *,
    title: str,
    facts: tuple[tuple[str, str], ...],
    level: float = 0.95,
    rng: Seed = 0,
) -> Page:
    """Report on tests or scores for which no case has a label."""
    if not isinstance(data, Panel) or len(data.names) < 2:
        raise InputError(
            "Without any label a report needs several classifiers on the same cases, "
            "or a calibration map that tells how probable each label is; found one "
            "score. Name more scores, or fit a map to labelled cases.",
            option="unlabelled",
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
            section = how_good_scores(data, agreed)
            tiles = _score_tiles(agreed)
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
    # two tests of one population do not determine it even then: that is the prior
    beside = alone if alone is not None and alone.identified else None
    for post, more in ((found, ""), (beside, ", if independent")):
        for word in _BOTH if post is not None else ():
            head.append(f"{word}{more}")
            columns.append([_cell(getattr(post, word)[n]) for n in panel.names])
    tables = [table("Tests", head, zip(*columns, strict=True))]
    common = ["The first table has the prevalence of each population."]
    if several:
        rows = [(g, _cell(found.prevalence[g])) for g in found.populations]
        tables.insert(0, table("Prevalence", (by, "prevalence"), rows))
    else:
        common = [_credible(found.prevalence)]
    if alone is not None and not several:
        code = "if independent" if alone.identified else "from the prior"
        tests = counted(len(texts), "test")
        common.append(str(note(code, share=alone.prevalence, tests=tests)))
    told = {"rule": shown(rule.formula, 300), **fields_of(rule, *_BOTH)}
    best = [str(note("best rule of votes" if found.open else "best rule", **told))]
    if rule.criterion in _CRITERIA:
        what = f"{_CRITERIA[rule.criterion]} of sensitivity and specificity"
        best.append(f"It has the highest {what}.")
    counts = f"{counted(panel.n, 'case')}, {counted(len(texts), 'test')}"
    some = panel.n_pos + panel.n_neg
    unknown = f"{counts}; it is not known which cases have the condition."
    if some:
        known = f"for {number_of(some)} it is known whether they have the condition"
        unknown = f"{counts}; {known}."
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
        figures=_accuracy_figures(found, texts),
    )


def _accuracy_figures(
    found: LatentPosterior, texts: Sequence[str]
) -> tuple[Figure, ...]:
    """Draw sensitivities and specificities; both answers where votes leave two."""
    alone = found.independent if found.open else None
    if found.open and (alone is None or not alone.identified):
        return ()  # that is the prior

    figures = []
    for word in _BOTH:
        named = dict(zip(texts, getattr(found, word).values(), strict=True))
        data = intervals(word.capitalize(), word, named)
        note_below = ""
        if alone is not None:
            values = [e.value for e in getattr(alone, word).values()]
            data = replace(data, marks={IF_INDEPENDENT: np.array(values)})
            note_below = str(note("two answers"))
        figures.append(Figure(data, word.capitalize(), of="test", note=note_below))
    return tuple(figures)


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


def _credible(e: Estimate) -> str:
    """Say what a posterior says of the prevalence; of an open one the interval."""
    return str(note("votes alone" if np.isnan(e.value) else "credible", e=e))


def _cell(e: Estimate | Rate) -> Any:
    """Pass on an estimate, or the interval of what votes alone do not determine."""
    if np.isfinite(e.value) or np.isnan(e.low):
        return e
    return f"{percent(e.low)} to {percent(e.high)}"


def _tile(name: str, e: Estimate) -> Tile:
    span = f"{percent(e.low)} to {percent(e.high)}"
    if np.isnan(e.value):
        return Tile(name, span, "not determined by the verdicts alone")
    return Tile(name, percent(e.value), span)


def _test_tiles(found: LatentPosterior, rule: Combination) -> list[Tile]:
    """Show what is known: without labels intervals, and what independence gives."""
    known = _rule_numbers(rule, found.open)
    tiles = [_tile("prevalence", found.prevalence)]
    alone = found.independent if found.open else None
    if alone is not None and alone.identified:
        tiles.append(_tile("if errors were independent", alone.prevalence))
    tiles.append(Tile("best rule", shown(rule.formula, 60), ""))
    return [*tiles, *(_tile(f"its {word}", known[word]) for word in _BOTH)]


def _score_tiles(agreed: Agreement) -> list[Tile]:
    """Show that ranks determine nothing, and what independence would give."""
    tiles = [_tile("prevalence", agreed.prevalence)]
    alone = agreed.independent
    if alone is not None and not contradicts_independence(agreed):
        best = _best_by_auc(alone.auc)
        area = alone.auc[best]
        span = f"{area.low:.3f} to {area.high:.3f}"
        whose = f"AUC of {shown(best, 40)}, {IF_INDEPENDENT}"
        tiles.append(_tile(IF_INDEPENDENT, alone.prevalence))
        tiles.append(Tile(whose, f"{area.value:.3f}", span))
    return tiles


def _best_by_auc(areas: Mapping[str, Estimate]) -> str:
    """Return the name with the largest AUC."""
    return max(areas, key=lambda name: areas[name].value)


def contradicts_independence(agreed: Agreement) -> bool:
    """Do the scores contradict errors that are independent within the classes?"""
    return (agreed.independent or agreed).misfit < DOUBTFUL_MISFIT


def how_good_scores(panel: Panel, found: Agreement) -> Finding:
    """Say that ranks alone do not tell, and what independent errors would mean."""
    alone = found.independent or found
    if contradicts_independence(found):
        # no number is shown that rests on what the scores refute
        return finding(
            "agreement",
            {"agreement": found},
            key="nogold",
            answer=(note("unlabelled only", n=panel.n), note("ranks contradict")),
            notes=(
                note("independent errors"),
                note("contradicted independence", p=alone.misfit),
            ),
        )
    texts = told_apart(list(panel.names), NAME)
    areas = dict(zip(texts, (alone.auc[name] for name in panel.names), strict=True))
    best = _best_by_auc(areas)
    check = "cannot check" if np.isnan(alone.misfit) else "checked"
    forest = intervals("AUC without labels", "AUC", areas)
    return finding(
        "agreement",
        {"agreement": found},
        key="nogold",
        answer=(
            note("unlabelled only", n=panel.n),
            note("ranks alone", share=alone.prevalence),
            note("agreed", best=best, auc=areas[best]),
        ),
        notes=(note("independent errors"), note(check, p=alone.misfit)),
        tables=(
            table(
                "AUC, from agreement alone",
                ("classifier", f"AUC, {IF_INDEPENDENT}"),
                areas.items(),
            ),
        ),
        figures=(Figure(forest, f"AUC, {IF_INDEPENDENT}"),),
    )


def pass_rates(
    rates: Mapping[str, Rate],
    compared: RateComparison | None = None,
    plans: Mapping[str, Mapping[str, Any]] | None = None,
) -> Finding:
    """Say the corrected rate of each system, which is better, and what to label next.

    ``plans`` holds, for each system, the labels to get ``next`` and those ``needed``.
    """
    several, plans, first = len(rates) > 1, plans or {}, next(iter(rates.values()))
    texts = dict(zip(rates, told_apart(list(rates), NAME), strict=True))
    words = {
        s: rate_sentences(r, texts[s] if several else "") for s, r in rates.items()
    }
    named = {texts[s]: r for s, r in rates.items()}
    pairs = range(len(compared.first)) if compared else ()
    between = difference_sentences(compared) if compared else []
    more = compared.notes if compared else ()
    cases, labels = (sum(getattr(r, k) for r in rates.values()) for k in _COUNTED)
    counts = (
        f"{counted(cases, 'answer')}, {counted(len(first.naive), 'judge')}; "
        f"{counted(labels, 'label')}"
        f"{f', chosen {HOW[first.labelled]}' if labels else ''}."
    )
    chosen = {r.labelled for r in rates.values()}
    also = chosen & {"random", "by verdict"}
    how = ' --labelled "by verdict"' if "by verdict" in chosen else ""
    planned, to_label = _planned(plans)
    data = figures.rates_figure(named)
    mind = _rate_notes(named, more)
    if not labels:  # the answer says it
        mind = [n for n in mind if not n.startswith(("There are no", "Not identified"))]
    return finding(
        "judged" if several else "judges",
        {
            "systems": {
                s: _rate_numbers(r, words[s], plans.get(s, {}))
                for s, r in rates.items()
            },
            "differences": [
                {name: getattr(compared, name)[k] for name in PER_PAIR} for k in pairs
            ],
            "notes": list(more),
            "sentences": between,
        },
        key="systems",
        answer=said([counts, *map(" ".join, words.values()), *between, *planned]),
        notes=(*said(mind), *when(also, "also", how=how)),
        tables=(*_rate_tables(named, compared), *to_label),
        figures=(figure(data.what, data, of="system"),) if several else (),
    )


def _rate_notes(named: Mapping[str, Rate], more: Sequence[str]) -> list[str]:
    """Give what must be known, once; what is true of one system only with its name."""
    every = [set(r.notes) for r in named.values()]
    common, known = set.intersection(*every), set.union(*every)
    first = [n for r in named.values() for n in r.notes if n in common]
    own = [
        f"{shown(s)}: {n[:1].lower()}{n[1:]}"
        for s, r in named.items()
        for n in r.notes
        if n not in common
    ]
    new = (n for n in more if n not in known)
    return list(dict.fromkeys([*first, *own, *new]))


def _judge_rows(r: Rate) -> list[list[Any]]:
    """Give what each judge says, and how good it is."""
    return [
        [n, r.naive[n], *map(_cell, (j.sensitivity, j.specificity))]
        for n, j in r.judges.items()
    ]


def _rate_numbers(
    r: Rate, words: list[str], plan: Mapping[str, Any]
) -> dict[str, object]:
    return {
        "rate": estimate_from_interval(r.value, r.low, r.high, r.level),
        "raw": raw_rate(r),
        "naive": dict(r.naive),
        "judges": dict(r.judges),
        **fields_of(r, *_RATE, "notes"),
        "sentences": words,
        **dict.fromkeys(("next", "needed")),
        **plan,
    }


def _rate_tables(
    named: Mapping[str, Rate], compared: RateComparison | None
) -> list[Table]:
    """Give the rate of each system where there are several, judges, and differences."""
    several, (first, *_) = len(named) > 1, named.values()
    own = [[s, *row] for s, r in named.items() for row in _judge_rows(r)]
    head = ["system", *JUDGE_HEAD]
    if not several:
        head, own = head[1:], [row[1:] for row in own]
    tables = [table("Judges", head, own)]
    if several:
        rows = [[s, raw_rate(r), _cell(r), r.labels, r.cases] for s, r in named.items()]
        head = ["system", "raw", "corrected", "labels", "answers"]
        tables.insert(0, table("Systems", head, rows))
    if (c := compared) is not None:
        pairs = [
            (
                f" {MINUS} ".join(shown(str(x[k]), NAME) for x in (c.first, c.second)),
                estimate_from_interval(
                    c.difference[k], c.low[k], c.high[k], first.level
                ),
                float(c.probability[k]),
                float(c.adjusted_p_value[k]),
            )
            for k in range(len(c.first))
        ]
        of = ("pair", "difference", "P(first is better)", "p (adjusted)")
        title = "Differences of the corrected rates"
        tables.append(table(title, of, pairs, brief=False))
    return tables


def _planned(plans: Mapping[str, Mapping[str, Any]]) -> tuple[list[str], list[Table]]:
    """Say how many labels are needed, and which cases to label next."""
    lines, tables = [], []
    for s, plan in plans.items():
        whose = "" if s == ALL else f"{shown(s)}: "
        if n := plan.get("needed"):
            told = {"n": n.labels, "half": 50 * n.width, "without": n.without_judges}
            lines.append(f"{whose}{note('labels needed', **told)}")
        if p := plan.get("next"):
            to_label = p.labels.tolist()
            now, then = (points(w, p.width_now) for w in (p.width_now, p.width_then))
            told = {"n": counted(sum(to_label), "more label"), "now": now, "then": then}
            lines.append(f"{whose}{note('more labels', **told)}")
            each = zip(map(str, p.pattern), to_label, strict=True)
            head = ("verdicts in this order", "to label")
            tables.append(table("To label", head, each))
    return lines, tables


def judged(
    rates: Mapping[str, Rate],
    panels: Mapping[str, Panel],
    compared: RateComparison | None = None,
    *,
    title: str = "",
    source: str = "",
) -> Page:
    """Report on judged answers of one system or several.

    Parameters as in :func:`trueness.reports.write_judges`.
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
    worth, raw, tiles = r.effective_judges, raw_rate(r), []
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
    value, low, high = (points(v, r.high - r.low) for v in (r.value, r.low, r.high))
    if not r.identified:
        return Tile(name, f"{low} to {high} %", "not determined without labels")
    return Tile(name, f"{value} %", f"{low} to {high} %")


def _judges(r: Rate, panel: Panel, system: str, number: int) -> Finding:
    rows = [
        (f"{k} {shown(name, NAME)}", *numbers)
        for k, (name, *numbers) in enumerate(_judge_rows(r), 1)
    ]
    how = "averaged" if r.labelled in ("random", "by verdict") else r.labelled
    on = f" on {system}" if system else ""
    return finding(
        "judges of",
        {"rate": r},
        key=f"judges{number}",
        told={"on": on, "how": note(f"labelled {how}")},
        answer=said(rate_sentences(r, system)[2:]),
        figures=_figures(r, panel),
        tables=(table("Judges", JUDGE_HEAD, rows),),
        caveat=" ".join(r.notes[1:]),
    )


def _figures(r: Rate, panel: Panel) -> tuple[Figure, ...]:
    """Draw what can be drawn: without labels no errors are known."""

    def judges() -> Figure:
        return figure("Judges in the ROC plane", figures.judges_figure(r), of="judge")

    def errors() -> Figure:
        told = {"labels": counted(r.labels, "labelled case")}
        return figure(
            "Which judges make the same errors?", figures.errors_figure(panel), told
        )

    def by_labels() -> Figure:
        data = figures.labels_figure(r, panel)
        told = {"level": r.level, "labels": counted(r.labels, "label")}
        order = tuple(line.name for line in data.lines)
        return figure(
            "How much would more labels narrow the interval?", data, told, order=order
        )

    made: list[Callable[[], Figure]] = [judges]
    made += [errors] if r.labels and len(panel.names) > 1 else []
    made += [by_labels] if r.labels and r.labelled != "by truth" else []
    return tuple(f for f in map(possible, made) if f is not None)
