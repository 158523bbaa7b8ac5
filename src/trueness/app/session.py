"""Answers of the page: sections when they are asked for, look-ups, files.

A file with its columns is counted once (``counting``). Sections are those of the
report; a move of the threshold is a look-up in the running counts of every score.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Hashable, Mapping
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import duckdb
import numpy as np

from trueness._core.arrays import Array
from trueness._core.checks.errors import Infeasible, InputError
from trueness.app.address import Address, column_or_none, page_text
from trueness.app.counting import FileCounts, SectionKey, SubjectKey
from trueness.app.files import is_never_read
from trueness.calibration.calibrators import calibrate
from trueness.calibration.maps import map_to_json
from trueness.cli._shell import (
    CommandAnswer,
    about,
    command_answer,
    complete_answer,
    envelope,
)
from trueness.cli.judge import compare_systems, rates_of
from trueness.cli.leaves import with_rules
from trueness.cli.report import report_result, report_words
from trueness.counts.values import Panel
from trueness.data.engines import quoted, reading
from trueness.ensembles.combiners import COMBINERS
from trueness.ensembles.crossfit import compare_combiners
from trueness.findings import trust
from trueness.findings import without_labels as nogold
from trueness.findings.memory import Model, ScoreWithBands
from trueness.findings.page import (
    MIND,
    QUESTIONS,
    SUMMARISED,
    answers,
    facts_of,
    opening,
    page_about,
    tiles,
)
from trueness.findings.records import Finding, Page
from trueness.findings.request import REPLICATES, Request, without_column_names
from trueness.findings.scores_alone import how_good_alone
from trueness.findings.slider_steps import (
    Steps,
    columns,
    constraint_holds,
    round_for_page,
    steps_at_every_score,
)
from trueness.findings.subject import (
    Subject,
    answer_or_none,
    check_request,
    subject,
    tallies_of,
)
from trueness.findings.systems import evals_page, how_often
from trueness.findings.where_to_cut import prevalence_of_rates
from trueness.inference.verification import without_unlabelled_warning
from trueness.nogold.rate import Rate
from trueness.nogold.rate_comparison import RateComparison
from trueness.reports import render
from trueness.threshold.zones import best_thresholds

REPORT, MAP, COMBINER = "report.html", "map.json", "combiner.json"
FILES = (REPORT, "report.json", MAP, COMBINER)  # that can be taken away
SEED = 0
# sections that no objective changes, and what else they depend on beside the level:
# they are worked out once
STEADY_SECTIONS: Mapping[str, Callable[[Request], tuple[Hashable, ...]]] = {
    "ranking": lambda _: (),
    "comparison": lambda _: (),
    "ensembles": lambda analysis_options: (analysis_options.combiner,),
    "calibration": lambda _: (),
    "calibrated": lambda analysis_options: (
        analysis_options.calibrator,
        analysis_options.classifier,
    ),
    "planning": lambda analysis_options: (
        analysis_options.half_width,
        analysis_options.classifier,
    ),
}


def request_of(counts: FileCounts, address: Address, quick: bool = False) -> Request:
    """Return what is asked of the counts, checked as the report checks it."""
    analysis_options = address.analysis_options
    request = replace(
        without_column_names(address.request),
        half_width=analysis_options.half_width or _half_width(counts),
        classifier=analysis_options.classifier
        if analysis_options.classifier in address.columns
        else "",
        replicates=0 if quick else REPLICATES,
    )

    return check_request(request, counts.cases)


def _half_width(counts: FileCounts) -> float:
    """Return the half-width to plan for first: two thirds of the present one."""

    def third_of_interval() -> float:
        """Return a third of the interval of the best AUC, rounded to one digit."""
        area = subject(counts.data, memory=counts.memory).best.auc
        rounded = float(f"{(area.high - area.low) / 3:.1g}")
        return float(np.clip(rounded, 0.001, 0.2))

    return counts.page_memory.half_width.get_or_compute(None, third_of_interval)


def subject_of_page(
    counts: FileCounts, address: Address, quick: bool = False
) -> Subject:
    """Return the counts with the request of the page, which sections answer.

    The request is read and checked once, however often the slider moves. Answers that
    no objective changes are shared with other requests about the same counts.
    """

    def make_subject() -> Subject:
        return Subject(
            counts.data,
            request_of(counts, address, quick),
            counts.groups,
            memory=counts.memory,
            # the section on sites takes the groups for a sample of sites
            sites=counts.groups,
        )

    key = SubjectKey(address.request_text, quick)
    page_subject = counts.page_memory.subjects.get_or_compute(key, make_subject)
    if quick:  # a first look draws no bands, but shows those that are known
        request = page_subject.request
        counts.memory.reuse_bands(
            of_full_look=replace(request, replicates=REPLICATES).precision,
            for_first_look=request.precision,
            scores=address.columns,
        )

    return page_subject


def section_key(address: Address, key: str) -> SectionKey:
    """Return what a section, or a file, depends on beside the counts."""
    if key == "count":
        return SectionKey(key)

    analysis_options = address.analysis_options
    if key in STEADY_SECTIONS:
        details = (analysis_options.level, *STEADY_SECTIONS[key](analysis_options))
        return SectionKey(key, address.prevalence, details)
    if key in FILES:
        return SectionKey(key, address.prevalence, (address.request_text,))

    # sections about calibration and others are steady
    request = replace(
        address.request, calibrator="", half_width=None, classifier="", combiner=""
    )
    return SectionKey(key, address.prevalence, (repr(request),))


# ---- sections


@without_unlabelled_warning()
def section(counts: FileCounts, address: Address, key: str) -> Finding | None:
    """Work out one section of the report; its headline is said in the summary too."""
    answer = QUESTIONS[key](subject_of_page(counts, address))
    counts.page_memory.sections.keep(section_key(address, key), answer)
    return answer


@without_unlabelled_warning()
def summary(counts: FileCounts, address: Address, quick: bool) -> Page:
    """Return the head of the report: tiles, and the sentences of its first screen.

    A first look has the sentences of sections that are done, and waits for none.
    """
    subject = subject_of_page(counts, address, quick)
    known = counts.page_memory.sections

    sections: dict[str, Finding | None] = {}
    for key in SUMMARISED:
        if quick:
            sections[key] = known.get(section_key(address, key))
        else:
            work_out = partial(_section_if_possible, counts, address, key)
            sections[key] = known.get_or_compute(section_key(address, key), work_out)

    headline, lead = opening(subject, sections)

    return Page(
        "",
        facts_of(counts.cases, ""),
        tiles(subject),
        answers(subject, sections),
        (),
        headline=headline,
        lead=lead,
    )


def _section_if_possible(
    counts: FileCounts, address: Address, key: str
) -> Finding | None:
    """Work out a section; None where it says itself why there is none."""
    try:
        return answer_or_none(lambda: QUESTIONS[key](subject_of_page(counts, address)))
    except InputError:
        return None


def unmet_constraint(counts: FileCounts, address: Address) -> dict[str, str]:
    """Return what is wrong with the first constraint that cannot be met, by its field.

    It cannot be met together with those before it. Empty where all can be met.
    """
    constraints = address.analysis_options.subject_to
    problem: dict[str, str] = {}

    # with fewer and fewer constraints, until those that are left can be met
    for number in range(len(constraints), 0, -1):
        analysis_options = replace(
            address.analysis_options, subject_to=constraints[:number]
        )
        try:
            _check_feasible(counts, replace(address, analysis_options=analysis_options))
        except (Infeasible, InputError) as err:
            problem = {f"subject_to_{number - 1}": page_text(err)}
        else:
            break

    return problem


def _check_feasible(counts: FileCounts, address: Address) -> None:
    """Raise an error unless a threshold, or a pair of them, meets the constraints."""
    subject = subject_of_page(counts, address, quick=True)
    best = subject.models[0]
    goal = subject.request.pair_goal
    if goal is not None:
        best_thresholds(
            best.tally,
            maximize=goal.maximize,
            minimize=goal.minimize,
            subject_to=goal.subject_to,
        )


@without_unlabelled_warning()
def operating(
    counts: FileCounts, address: Address, quick: bool
) -> tuple[Finding, dict[str, Any]]:
    """Return the section with the slider, of which every distinct score is a step."""
    subject = subject_of_page(counts, address, quick)
    answer = QUESTIONS["threshold"](subject)
    assert answer is not None  # noqa: S101 - there is always a threshold

    models: list[dict[str, Any]] = []
    for index, model in enumerate(subject.models):
        steps = _steps(counts, model)
        models.append(
            {
                "name": model.name,
                "key": model.key,
                "index": index,
                "auc": f"{model.auc.value:.3f}",
                "start": steps.at_or_above(model.point.threshold),
                "size": len(steps.threshold),
            }
        )

    slider = {
        "models": models,
        "constraints": [repr(constraint) for constraint in subject.request.constraints],
        "prevalence": prevalence_of_rates(subject),
        "now": look_up(counts, address, 0, models[0]["start"])["values"],
    }

    return answer, slider


def _steps(counts: FileCounts, model: Model) -> Steps:
    """Return every distinct score of a classifier as a step."""
    return counts.page_memory.every_step.get_or_compute(
        model.key, lambda: steps_at_every_score(model.tally, model.name)
    )


def look_up(
    counts: FileCounts, address: Address, model_index: int, step_index: int
) -> dict[str, Any]:
    """Return every number of the page at one step of one classifier."""
    subject = subject_of_page(counts, address, quick=True)
    last_model = len(subject.models) - 1
    model = subject.models[min(max(model_index, 0), last_model)]
    steps = _steps(counts, model)
    last_step = len(steps.threshold) - 1
    place = min(max(step_index, 0), last_step)

    # the chosen threshold may lie between two scores
    threshold = None
    if place == steps.at_or_above(model.point.threshold):
        threshold = model.point.threshold
    step = steps.single_step(place, threshold)

    probability = _probability(counts, subject, model, step.threshold)
    values = {}
    numbers = columns(step, subject.request.costs, probability)
    for name, values_at_step in numbers.items():
        values[name] = round_for_page(name, values_at_step)[0]

    meets = []
    for constraint in subject.request.constraints:
        meets.append(bool(constraint_holds(constraint, step.confusion)[0]))

    return {"values": values, "meets": meets, "at": place}


def _probability(
    counts: FileCounts, subject: Subject, model: Model, threshold: Array
) -> Array | None:
    """Proportion of positives at a threshold, where the curve is known by now."""
    for replicates in (REPLICATES, 0):
        precision = replace(subject.request, replicates=replicates).precision
        meaning = counts.memory.meanings.get(ScoreWithBands(model.key, precision))
        if meaning is not None:
            return meaning.probability(threshold)

    if not model.is_probability:
        return None
    return np.full(threshold.shape, np.nan)


# ---- whole pages


class JudgedSystems(NamedTuple):
    """True rates of systems, their counts, and how the systems compare."""

    rates: dict[str, Rate]
    panels: dict[str, Panel]
    comparison: RateComparison | None


def judged_systems(counts: FileCounts, address: Address) -> JudgedSystems:
    """Return the true rate of each system, its counts, and how the systems compare."""
    labelled = address.data.verdicts.labelled
    groups: Mapping[Any, Any] = counts.groups or {nogold.ONLY_SYSTEM: counts.data}
    panels = {str(system): panel for system, panel in groups.items()}
    rates = rates_of(panels, labelled, address.analysis_options.level, SEED)
    comparison = compare_systems(
        replace(counts.file_data, request=address.request),
        panels,
        rates,
        counts.item,
        labelled,
    )

    judged_panels = {system: panels[system] for system in rates}
    return JudgedSystems(rates, judged_panels, comparison)


def whole_page(counts: FileCounts, address: Address, source: str = "") -> Page:
    """Answer about judges, systems, tests, or scores without labels."""
    level = address.analysis_options.level

    if address.kind == "verified":
        return page_about(
            counts.data, address.request, source=source, groups=counts.groups
        )

    if address.kind == "alone":
        return _scores_alone(counts, level)

    if address.kind == "judges":
        judged = judged_systems(counts, address)
        return nogold.judges_page(
            judged.rates, judged.panels, judged.comparison, source=source
        )

    if address.kind == "systems":  # how often each passes, and which rank it can have
        return evals_page(how_often(counts.data, level=level), source)

    return nogold.without_labels(
        counts.data,
        title="",
        facts=facts_of(counts.data, ""),
        level=level,
        rng=SEED,
    )


def _scores_alone(counts: FileCounts, level: float) -> Page:
    """Say what scores tell when no case has a label, and what they cannot."""
    request = Request(level=level, rng=SEED)
    answer = how_good_alone(Subject(counts.data, request, memory=counts.memory))
    answers_by_question = (("How good are they?", answer.answer), (MIND, answer.notes))
    section = replace(answer, answer=(), notes=())
    return Page("", facts_of(counts.cases, ""), (), answers_by_question, (section,))


def trusted_leaves(counts: FileCounts, address: Address) -> Finding:
    """Say which leaves can be trusted."""
    report = counts.data.report(level=address.analysis_options.level)
    rule = column_or_none(address.data.verdicts.rule)
    return trust.which_leaves(with_rules(report, counts.file_data, rule))


# ---- what a person takes away


def can_combine(address: Address) -> bool:
    """Return whether there are several classifiers, on independent whole cases."""
    several = address.kind == "scores" and len(address.columns) > 1
    return several and not address.data.design_columns


def file_contents(counts: FileCounts, address: Address, name: str) -> bytes:
    """Write a file of ``FILES``: what the command, or its ``--save``, writes."""
    analysis_options = address.analysis_options

    if name == MAP:
        tally = tallies_of(counts.data)[address.score]
        calibration_map = calibrate(tally, method=analysis_options.calibrator)
        return f"{map_to_json(calibration_map, address.score)}\n".encode()

    if name == COMBINER:
        method = analysis_options.combiner
        if not method:
            comparison = compare_combiners(
                counts.data, level=analysis_options.level, rng=SEED
            )
            method = comparison.best()
        combiner = COMBINERS[method](counts.data)
        return f"{map_to_json(combiner, None)}\n".encode()

    page = _report_page(counts, address)

    if name == REPORT:
        return render(page).encode()
    return _json_file(counts, address, page)


def _report_page(counts: FileCounts, address: Address) -> Page:
    """Make the report that the command makes."""
    source = counts.file_data.source.name

    if address.kind in ("judges", "systems"):
        return whole_page(counts, address, source)

    if address.kind == "tests":
        request = Request(level=address.analysis_options.level, rng=SEED)
        return page_about(counts.data, request, source=source)

    return page_about(counts.data, address.request, source=source, groups=counts.groups)


def _json_file(counts: FileCounts, address: Address, page: Page) -> bytes:
    """Write what ``trueness report --json``, or ``judge --json``, writes."""
    about_data = about(counts.file_data, counts.cases)

    if address.kind == "judges":
        judged = judged_systems(counts, address)
        finding = nogold.pass_rates(judged.rates, judged.comparison)
        answer = complete_answer(command_answer(finding, about=about_data), "judge")
    else:
        size = len(render(page).encode())
        answer = CommandAnswer(
            result=report_result(page, Path(REPORT), size),
            parts=report_words(page),
            about=about_data,
        )
        answer = complete_answer(answer, "report")

    return (json.dumps(envelope(answer), indent=2, allow_nan=False) + "\n").encode()


def flagged_rows(counts: FileCounts, score: str, cut: float, target: Path) -> None:
    """Write the rows whose score reaches the threshold to a file.

    All columns are there but those that are never read: lists, structures and bytes.
    """
    reaches_cut = duckdb.ColumnExpression(score) >= duckdb.ConstantExpression(cut)
    source = counts.file_data.source
    columns = []
    for name, kind in source.types.items():
        if not is_never_read(kind):
            columns.append(quoted(name))

    with reading():
        rows = source.rows.filter(reaches_cut).select(", ".join(columns))
        if target.suffix == ".parquet":
            rows.write_parquet(str(target))
        else:
            rows.write_csv(str(target))
