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
from trueness._core.names import distinguishable_names
from trueness._core.numbers import MINUS, counted, number_of, percent, points
from trueness._core.records import Estimate, shown
from trueness.counts.resampling import Seed
from trueness.counts.values import Panel, Tally
from trueness.ensembles.without_labels import (
    DOUBTFUL_MISFIT,
    Agreement,
    agreement,
)
from trueness.findings.notes import TITLES, as_notes, note, note_if
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
from trueness.findings.subject import NAME, answer_or_none
from trueness.findings.systems import difference_sentences, rate_sentences
from trueness.inference.estimates import estimate_from_interval
from trueness.nogold import figures
from trueness.nogold.combinations import Combination, best_combination
from trueness.nogold.figures import raw_rate
from trueness.nogold.fitting import latent_class
from trueness.nogold.posterior import LatentPosterior
from trueness.nogold.rate import Rate
from trueness.nogold.rate_comparison import PER_PAIR, RateComparison

ONLY_SYSTEM = "all"  # the name of the only system
_CRITERIA = {"product": "product", "squares": "sum of squares", "sum": "sum",
             "min": "minimum"}  # fmt: skip
_RATES_OF_TEST = ("sensitivity", "specificity")
HOW_LABELS_WERE_CHOSEN = {
    "random": "at random",
    "by verdict": "by the verdicts of the judges",
    "by truth": "by their true label",
}
_RULE_FIELDS = (
    "criterion",
    "formula",
    "sensitivity",
    "specificity",
    "probability_best",
)
_RATE_FIELDS = (
    "effective_judges",
    "labelled",
    "labels",
    "cases",
    "identified",
    "independent",
)
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
    """Return a report on tests or scores for which no case has a label."""
    if not isinstance(data, Panel) or len(data.names) < 2:
        raise InputError(
            "Without any label a report needs several classifiers on the same cases, "
            "or a calibration map; found one score. Name more scores, or fit a map to "
            "labelled cases.",
            option="unlabelled",
        )

    with warnings.catch_warnings(record=True) as caught_warnings:
        warnings.simplefilter("always")
        are_tests = np.isin(data.rows[~np.isnan(data.rows)], (0.0, 1.0)).all()
        if are_tests:
            posterior = latent_class(data, rng=rng, level=level)
            rule = best_combination(posterior)
            section = how_good_tests(data, posterior, rule)
            tiles = _test_tiles(posterior, rule)
            question = "How good are these tests?"
        else:
            agreement_of_scores = agreement(data, level=level)
            section = how_good_scores(data, agreement_of_scores)
            tiles = _score_tiles(agreement_of_scores)
            question = "How good are these classifiers?"

    _, note_on_prevalence, *notes_on_quality = section.answer
    remarks = as_notes(str(warning.message) for warning in caught_warnings)
    needs_labels = not are_tests or posterior.open
    answers = (
        ("How common is the condition?", (note_on_prevalence,)),
        ("How good are they?", tuple(notes_on_quality)),
        ("What should you do?", note_if(needs_labels, "verify")),
        ("What should you keep in mind?", (*remarks, *section.notes)),
    )

    # the first screen has the answer and the notes
    section = replace(section, answer=(), notes=())
    # the prevalence comes last, since it has a tile, too
    sentences = (*notes_on_quality, note_on_prevalence)
    return Page(
        title or question,
        facts,
        tuple(tiles),
        answers,
        (section,),
        question=f"{question.removesuffix('?')}, where no case has a label?",
        headline=sentences[0],
        lead=sentences[1:],
    )


def how_good_tests(
    panel: Panel, posterior: LatentPosterior, rule: Combination, by: str = "population"
) -> Finding:
    """Say how good each test is, how common the condition, and which rule is best."""
    texts = distinguishable_names(list(panel.names), NAME)
    tables = [_table_of_tests(panel, posterior, texts)]

    if len(posterior.populations) > 1:
        rows = [
            (population, _cell(posterior.prevalence[population]))
            for population in posterior.populations
        ]
        tables.insert(0, table("Prevalence", (by, "prevalence"), rows))

    numbers_if_independent = None
    if posterior.independent is not None:
        numbers_if_independent = _posterior_numbers(posterior.independent)

    return finding(
        "nogold",
        {
            **_posterior_numbers(posterior),
            **fields_of(
                posterior, "dependence", "identified", "log_bayes_factor", "notes"
            ),
            "independent": numbers_if_independent,
            "combination": _rule_numbers(rule, posterior.open),
        },
        answer=as_notes(
            [
                _sentence_on_cases(panel, len(texts)),
                _sentence_on_prevalence(posterior, len(texts)),
                *_sentences_on_rule(rule, posterior.open),
            ]
        ),
        notes=as_notes(posterior.notes),
        tables=tuple(tables),
        figures=_accuracy_figures(posterior, texts),
    )


def _table_of_tests(
    panel: Panel, posterior: LatentPosterior, shown_names: Sequence[str]
) -> Table:
    """Return sensitivity and specificity; where votes leave them open, both answers."""
    posteriors = {"": posterior}
    if_independent = posterior.independent if posterior.open else None
    # two tests of one population do not determine it even then: that is the prior
    if if_independent is not None and if_independent.identified:
        posteriors[", if independent"] = if_independent

    columns: dict[str, list[Any]] = {"test": list(shown_names)}
    for assumption, answer in posteriors.items():
        for measure in _RATES_OF_TEST:
            estimate_of = getattr(answer, measure)
            cells = [_cell(estimate_of[name]) for name in panel.names]
            columns[f"{measure}{assumption}"] = cells

    return table("Tests", list(columns), zip(*columns.values(), strict=True))


def _sentence_on_cases(panel: Panel, tests: int) -> str:
    """Say how many cases and tests there are, and of how many the truth is known."""
    counts = f"{counted(panel.n, 'case')}, {counted(tests, 'test')}"
    labelled = panel.n_pos + panel.n_neg
    if not labelled:
        return f"{counts}; it is not known which cases have the condition."

    return (
        f"{counts}; for {number_of(labelled)} it is known whether they have the "
        "condition."
    )


def _sentence_on_prevalence(posterior: LatentPosterior, tests: int) -> str:
    """Say how common the condition is, also if errors were independent."""
    if len(posterior.populations) > 1:
        return "The first table has the prevalence of each population."

    sentence = _prevalence_text(posterior.prevalence)
    if_independent = posterior.independent if posterior.open else None
    if if_independent is None:
        return sentence

    code = "if independent" if if_independent.identified else "from the prior"
    beside = note(code, share=if_independent.prevalence, tests=counted(tests, "test"))
    return f"{sentence} {beside}"


def _sentences_on_rule(rule: Combination, is_open: bool) -> list[str]:
    """Say which rule is best, and by what."""
    best = note(
        "best rule of votes" if is_open else "best rule",
        rule=shown(rule.formula, 300),
        **fields_of(rule, *_RATES_OF_TEST),
    )

    if rule.criterion not in _CRITERIA:
        return [str(best)]

    criterion = f"{_CRITERIA[rule.criterion]} of sensitivity and specificity"
    return [str(best), f"It has the highest {criterion}."]


def _accuracy_figures(
    posterior: LatentPosterior, texts: Sequence[str]
) -> tuple[Figure, ...]:
    """Draw sensitivities and specificities; both answers where votes leave two."""
    if_independent = posterior.independent if posterior.open else None
    if posterior.open and (if_independent is None or not if_independent.identified):
        return ()  # that is the prior

    figures = []
    for rate_name in _RATES_OF_TEST:
        estimates = dict(
            zip(texts, getattr(posterior, rate_name).values(), strict=True)
        )
        data = intervals(rate_name.capitalize(), rate_name, estimates)
        note_below = ""
        if if_independent is not None:
            values = [
                estimate.value
                for estimate in getattr(if_independent, rate_name).values()
            ]
            data = replace(data, marks={IF_INDEPENDENT: np.array(values)})
            note_below = str(note("two answers"))
        figures.append(Figure(data, rate_name.capitalize(), of="test", note=note_below))

    return tuple(figures)


def _posterior_numbers(posterior: LatentPosterior) -> dict[str, Any]:
    """Return prevalence, sensitivities and specificities."""
    tests = {}
    for name in posterior.names:
        tests[name] = {
            measure: getattr(posterior, measure)[name] for measure in _RATES_OF_TEST
        }

    prevalence = posterior.prevalence
    groups = {}
    if len(posterior.populations) > 1:
        # each population has its own
        for population in posterior.populations:
            groups[population] = {"prevalence": prevalence[population]}
        prevalence = None

    return {"prevalence": prevalence, "tests": tests, "groups": groups}


def _rule_numbers(rule: Combination, is_open: bool) -> dict[str, Any]:
    """Return the numbers of a rule; of votes alone an interval is all there is."""
    numbers = fields_of(rule, *_RULE_FIELDS, "gap")
    if is_open:
        for rate_name in _RATES_OF_TEST:
            numbers[rate_name] = replace(numbers[rate_name], value=np.nan)
    return numbers


def _prevalence_text(estimate: Estimate) -> str:
    """Say what a posterior says of the prevalence; of an open one the interval."""
    return str(
        note("votes alone" if np.isnan(estimate.value) else "credible", e=estimate)
    )


def _cell(estimate: Estimate | Rate) -> Any:
    """Pass on an estimate, or the interval of what votes alone do not determine."""
    if np.isfinite(estimate.value) or np.isnan(estimate.low):
        return estimate
    return f"{percent(estimate.low)} to {percent(estimate.high)}"


def _tile(name: str, estimate: Estimate) -> Tile:
    """Show an estimate, or the interval of what votes alone do not determine."""
    span = f"{percent(estimate.low)} to {percent(estimate.high)}"
    if np.isnan(estimate.value):
        return Tile(name, span, "not determined by the verdicts alone")
    return Tile(name, percent(estimate.value), span)


def _test_tiles(posterior: LatentPosterior, rule: Combination) -> list[Tile]:
    """Show what is known: without labels intervals, and what independence gives."""
    rule_numbers = _rule_numbers(rule, posterior.open)
    tiles = [_tile("prevalence", posterior.prevalence)]
    if_independent = posterior.independent if posterior.open else None
    if if_independent is not None and if_independent.identified:
        tiles.append(_tile("if errors were independent", if_independent.prevalence))

    tiles.append(Tile("best rule", shown(rule.formula, 60), ""))
    return [
        *tiles,
        *(
            _tile(f"its {rate_name}", rule_numbers[rate_name])
            for rate_name in _RATES_OF_TEST
        ),
    ]


def _score_tiles(agreement: Agreement) -> list[Tile]:
    """Show that ranks determine nothing, and what independence would give."""
    tiles = [_tile("prevalence", agreement.prevalence)]
    if_independent = agreement.independent
    if if_independent is not None and not contradicts_independence(agreement):
        best = _best_by_auc(if_independent.auc)
        area = if_independent.auc[best]
        span = f"{area.low:.3f} to {area.high:.3f}"
        title = f"AUC of {shown(best, 40)}, {IF_INDEPENDENT}"
        tiles.append(_tile(IF_INDEPENDENT, if_independent.prevalence))
        tiles.append(Tile(title, f"{area.value:.3f}", span))

    return tiles


def _best_by_auc(areas: Mapping[str, Estimate]) -> str:
    """Return the name with the largest AUC."""
    return max(areas, key=lambda name: areas[name].value)


def contradicts_independence(agreement: Agreement) -> bool:
    """Return whether the scores contradict errors independent within the classes."""
    return (agreement.independent or agreement).misfit < DOUBTFUL_MISFIT


def how_good_scores(panel: Panel, agreement: Agreement) -> Finding:
    """Say that ranks alone do not tell, and what independent errors would mean."""
    if_independent = agreement.independent or agreement

    if contradicts_independence(agreement):
        # no number is shown that rests on what the scores refute
        return finding(
            "agreement",
            {"agreement": agreement},
            key="nogold",
            answer=(note("unlabelled only", n=panel.n), note("ranks contradict")),
            notes=(
                note("independent errors"),
                note("contradicted independence", p=if_independent.misfit),
            ),
        )

    texts = distinguishable_names(list(panel.names), NAME)
    areas = dict(
        zip(texts, (if_independent.auc[name] for name in panel.names), strict=True)
    )
    best = _best_by_auc(areas)
    check_code = "cannot check" if np.isnan(if_independent.misfit) else "checked"
    forest = intervals("AUC without labels", "AUC", areas)

    return finding(
        "agreement",
        {"agreement": agreement},
        key="nogold",
        answer=(
            note("unlabelled only", n=panel.n),
            note("ranks alone", share=if_independent.prevalence),
            note("agreed", best=best, auc=areas[best]),
        ),
        notes=(note("independent errors"), note(check_code, p=if_independent.misfit)),
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
    comparison: RateComparison | None = None,
    plans: Mapping[str, Mapping[str, Any]] | None = None,
) -> Finding:
    """Say the corrected rate of each system, which is better, and what to label next.

    ``plans`` holds, for each system, the labels to get ``next`` and those ``needed``.
    """
    several = len(rates) > 1
    plans = plans or {}
    name_of = dict(zip(rates, distinguishable_names(list(rates), NAME), strict=True))
    rate_of_name = {name_of[system]: rate for system, rate in rates.items()}

    numbers = {}
    sentences = []
    for system, rate in rates.items():
        of_system = rate_sentences(rate, name_of[system] if several else "")
        numbers[system] = _rate_numbers(rate, of_system, plans.get(system, {}))
        sentences.append(" ".join(of_system))

    differences: list[dict[str, Any]] = []
    sentences_of_differences: list[str] = []
    notes_of_comparison: Sequence[str] = ()
    if comparison:
        for pair in range(len(comparison.first)):
            values = {name: getattr(comparison, name)[pair] for name in PER_PAIR}
            differences.append(values)
        sentences_of_differences = difference_sentences(comparison)
        notes_of_comparison = comparison.notes

    plan_sentences, tables_of_labels = _what_to_label(plans)
    notes = _rate_notes(rate_of_name, notes_of_comparison)
    if not any(rate.labels for rate in rates.values()):
        # the answer says so already
        said_already = ("There are no", "Not identified")
        notes = [
            sentence for sentence in notes if not sentence.startswith(said_already)
        ]

    choices = {rate.labelled for rate in rates.values()}
    option = ' --labelled "by verdict"' if "by verdict" in choices else ""
    forest = figures.rates_figure(rate_of_name)

    return finding(
        "judged" if several else "judges",
        {
            "systems": numbers,
            "differences": differences,
            "notes": list(notes_of_comparison),
            "sentences": sentences_of_differences,
        },
        key="systems",
        answer=as_notes(
            [
                _sentence_on_answers(rates),
                *sentences,
                *sentences_of_differences,
                *plan_sentences,
            ]
        ),
        notes=(
            *as_notes(notes),
            *note_if(choices & {"random", "by verdict"}, "also", how=option),
        ),
        tables=(*_rate_tables(rate_of_name, comparison), *tables_of_labels),
        figures=(figure(forest.what, forest, of="system"),) if several else (),
    )


def _sentence_on_answers(rates: Mapping[str, Rate]) -> str:
    """Say how many answers, judges and labels there are, and how they were chosen."""
    first_rate = next(iter(rates.values()))
    number_of_judges = len(first_rate.naive)
    answers = sum(rate.cases for rate in rates.values())
    labels = sum(rate.labels for rate in rates.values())
    sampling = (
        f", chosen {HOW_LABELS_WERE_CHOSEN[first_rate.labelled]}" if labels else ""
    )

    return (
        f"{counted(answers, 'answer')}, {counted(number_of_judges, 'judge')}; "
        f"{counted(labels, 'label')}{sampling}."
    )


def _rate_notes(
    rates: Mapping[str, Rate], notes_of_comparison: Sequence[str]
) -> list[str]:
    """Return what must be known, once; what is true of one system with its name."""
    notes_of_each = [set(rate.notes) for rate in rates.values()]
    common = set.intersection(*notes_of_each)
    of_any = set.union(*notes_of_each)

    of_all = []
    of_one = []
    for system, rate in rates.items():
        for sentence in rate.notes:
            if sentence in common:
                of_all.append(sentence)
            else:
                continued = f"{sentence[:1].lower()}{sentence[1:]}"
                of_one.append(f"{shown(system)}: {continued}")

    of_comparison = [note for note in notes_of_comparison if note not in of_any]
    return list(dict.fromkeys([*of_all, *of_one, *of_comparison]))


def _judge_rows(rate: Rate) -> list[list[Any]]:
    """Return what each judge says, and how good it is."""
    return [
        [name, rate.naive[name], *map(_cell, (judge.sensitivity, judge.specificity))]
        for name, judge in rate.judges.items()
    ]


def _rate_numbers(
    rate: Rate, sentences: list[str], plan: Mapping[str, Any]
) -> dict[str, object]:
    """Return the numbers of one system: its rates, its judges, and what to label."""
    return {
        "rate": estimate_from_interval(rate.value, rate.low, rate.high, rate.level),
        "raw": raw_rate(rate),
        "naive": dict(rate.naive),
        "judges": dict(rate.judges),
        **fields_of(rate, *_RATE_FIELDS, "notes"),
        "sentences": sentences,
        **dict.fromkeys(("next", "needed")),
        **plan,
    }


def _rate_tables(
    rate_of_system: Mapping[str, Rate], comparison: RateComparison | None
) -> list[Table]:
    """Return the rates of several systems, the judges, and the differences."""
    if len(rate_of_system) == 1:
        (rate,) = rate_of_system.values()
        tables = [table("Judges", JUDGE_HEAD, _judge_rows(rate))]
    else:
        system_rows = [
            [system, raw_rate(rate), _cell(rate), rate.labels, rate.cases]
            for system, rate in rate_of_system.items()
        ]
        judge_rows = [
            [system, *row]
            for system, rate in rate_of_system.items()
            for row in _judge_rows(rate)
        ]

        head = ["system", "raw", "corrected", "labels", "answers"]
        tables = [
            table("Systems", head, system_rows),
            table("Judges", ["system", *JUDGE_HEAD], judge_rows),
        ]

    if comparison is not None:
        level = next(iter(rate_of_system.values())).level
        tables.append(_table_of_differences(comparison, level))

    return tables


def _table_of_differences(comparison: RateComparison, level: float) -> Table:
    """Return the differences of the corrected rates of all pairs."""
    rows = []
    for k in range(len(comparison.first)):
        first = shown(str(comparison.first[k]), NAME)
        second = shown(str(comparison.second[k]), NAME)
        rows.append(
            (
                f"{first} {MINUS} {second}",
                estimate_from_interval(
                    comparison.difference[k],
                    comparison.low[k],
                    comparison.high[k],
                    level,
                ),
                float(comparison.probability[k]),
                float(comparison.p_adjusted[k]),
            )
        )

    head = ("pair", "difference", "P(first is better)", "p (adjusted)")
    return table("Differences of the corrected rates", head, rows, brief=False)


def _what_to_label(
    plans: Mapping[str, Mapping[str, Any]],
) -> tuple[list[str], list[Table]]:
    """Say how many labels are needed, and which cases to label next."""
    lines = []
    tables = []
    for system, plan in plans.items():
        prefix = "" if system == ONLY_SYSTEM else f"{shown(system)}: "
        needed = plan.get("needed")
        if needed:
            sentence = note(
                "labels needed",
                n=needed.labels,
                half=100 * needed.half_width,
                without=needed.without_judges,
            )
            lines.append(f"{prefix}{sentence}")

        next_labels = plan.get("next")
        if next_labels:
            numbers = next_labels.labels.tolist()
            current_width = next_labels.current_width
            sentence = note(
                "more labels",
                n=counted(sum(numbers), "more label"),
                now=points(current_width, current_width),
                then=points(next_labels.expected_width, current_width),
            )
            lines.append(f"{prefix}{sentence}")
            rows = zip(map(str, next_labels.pattern), numbers, strict=True)
            head = ("verdicts in this order", "to label")
            tables.append(table("To label", head, rows))

    return lines, tables


def judges_page(
    rates: Mapping[str, Rate],
    panels: Mapping[str, Panel],
    comparison: RateComparison | None = None,
    *,
    title: str = "",
    source: str = "",
) -> Page:
    """Report on judged answers of one system or several.

    Parameters as in :func:`trueness.reports.write_judges`.
    """
    several = len(rates) > 1
    finding = pass_rates(rates, comparison)
    name_of = dict(zip(rates, distinguishable_names(list(rates), NAME), strict=True))

    first_rate = next(iter(rates.values()))
    cases = sum(rate.cases for rate in rates.values())
    labels = sum(rate.labels for rate in rates.values())
    facts = [
        ("answers", f"{cases:,}"),
        ("judges", f"{len(first_rate.naive):,}"),
        ("labels", f"{labels:,} ({first_rate.labelled})"),
    ]

    if source:
        facts.append(("file", shown(source, 120)))

    sections = []

    if several:
        # the first screen has the sentences
        sections.append(replace(finding, answer=(), notes=()))

    for system, rate in rates.items():
        shown_system = name_of[system] if several else ""
        sections.append(_judges(rate, panels[system], shown_system, len(sections)))

    # the sentences on differences are the last ones of the answer
    split = len(finding.answer) - len(finding.numbers["sentences"])
    answers = (
        (TITLES["judges"], finding.answer[1:split]),
        ("Which is better?", finding.answer[split:]),
        (
            "What should you keep in mind?",
            tuple(n for n in finding.notes if n.code != "also"),
        ),
    )

    return Page(
        title or TITLES["judges"],
        tuple(facts),
        _tiles(rates, name_of),
        answers,
        tuple(sections),
    )


def _tiles(rates: Mapping[str, Rate], name_of: Mapping[str, str]) -> tuple[Tile, ...]:
    """Return the rates of several systems, or the rates and the judges of one."""
    if len(rates) > 1:
        shown_systems = list(rates)[:6]
        return tuple(
            _rate_tile(name_of[system], rates[system]) for system in shown_systems
        )

    (rate,) = rates.values()
    tiles = []
    raw = raw_rate(rate)
    if np.isfinite(raw):
        text = f"{points(raw, rate.high - rate.low)} %"
        tiles.append(Tile("raw pass rate", text, "what judges say"))

    tiles.append(_rate_tile("corrected", rate))
    effective = rate.effective_judges
    if np.isfinite(effective.value) and len(rate.naive) > 1:
        interval = f"{effective.low:.1f} to {effective.high:.1f}"
        detail = f"of {len(rate.naive)} judges ({interval})"
        tiles.append(Tile("effective number", f"{effective.value:.1f}", detail))

    return tuple(tiles)


def _rate_tile(name: str, rate: Rate) -> Tile:
    """Show a corrected rate; without labels only its interval."""
    width = rate.high - rate.low
    interval = f"{points(rate.low, width)} to {points(rate.high, width)} %"
    if not rate.identified:
        return Tile(name, interval, "not determined without labels")
    return Tile(name, f"{points(rate.value, width)} %", interval)


def _judges(rate: Rate, panel: Panel, system: str, number: int) -> Finding:
    """Return the judges of one system, numbered as in the figures."""
    rows = []
    for judge, (name, *values) in enumerate(_judge_rows(rate), start=1):
        rows.append((f"{judge} {shown(name, NAME)}", *values))

    labelled = rate.labelled
    if labelled in ("random", "by verdict"):
        labelled = "averaged"
    on_system = f" on {system}" if system else ""

    return finding(
        "judges of",
        {"rate": rate},
        key=f"judges{number}",
        title_values={"on": on_system, "how": note(f"labelled {labelled}")},
        answer=as_notes(rate_sentences(rate, system)[2:]),
        figures=_figures(rate, panel),
        tables=(table("Judges", JUDGE_HEAD, rows),),
        caveat=" ".join(rate.notes[1:]),
    )


def _figures(rate: Rate, panel: Panel) -> tuple[Figure, ...]:
    """Draw what can be drawn: without labels no errors are known."""

    def judges() -> Figure:
        return figure(
            "Judges in the ROC plane", figures.judges_figure(rate), of="judge"
        )

    def errors() -> Figure:
        return figure(
            "Which judges make the same errors?",
            figures.errors_figure(panel),
            {"labels": counted(rate.labels, "labelled case")},
        )

    def by_labels() -> Figure:
        data = figures.labels_figure(rate, panel)
        return figure(
            "How much would more labels narrow the interval?",
            data,
            {"level": rate.level, "labels": counted(rate.labels, "label")},
            order=tuple(line.name for line in data.lines),
        )

    drawings: list[Callable[[], Figure]] = [judges]
    if rate.labels and len(panel.names) > 1:
        drawings.append(errors)
    if rate.labels and rate.labelled != "by truth":
        drawings.append(by_labels)

    return tuple(
        drawing for drawing in map(answer_or_none, drawings) if drawing is not None
    )
