"""How is a question of the page answered? Counts once, sections when asked, look-ups.

A file with its columns is counted once (``Counted``). Sections are those of the report;
a move of the threshold is a look-up in the running counts of every distinct score.
"""

from __future__ import annotations

import json
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, cast, final

import duckdb
import numpy as np

from trueness._core.arrays import Array
from trueness._core.checks.errors import Infeasible, InputError
from trueness._core.numbers import percent
from trueness._core.progress import progress
from trueness.app.address import FIELDS, WITHOUT, Asked, page_text, wide_table
from trueness.app.files import is_unread
from trueness.calibration.calibrators import calibrate
from trueness.calibration.maps import map_to_json
from trueness.cli._columns import FileData, count_panel, with_verdicts
from trueness.cli._shell import CommandAnswer, about, answered, completed, envelope
from trueness.cli.check import with_scores
from trueness.cli.judge import compared_of, for_verdicts, rates_of
from trueness.cli.leaves import with_rules
from trueness.cli.report import report_result, report_words
from trueness.counts.values import Panel, Tally
from trueness.data import frames
from trueness.data.cleaning import listening, tell
from trueness.data.engines import quoted, reading
from trueness.data.eval_rows import attempts
from trueness.ensembles.combiners import COMBINERS
from trueness.ensembles.crossfit import compare_combiners
from trueness.findings import trust
from trueness.findings import without_labels as nogold
from trueness.findings.memory import Answers, Memory, Model, ScoreWithBands
from trueness.findings.page import QUESTIONS, answers, facts_of, page_about, tiles
from trueness.findings.records import Finding, Page
from trueness.findings.request import REPLICATES, Request, without_column_names
from trueness.findings.slider_steps import Steps, columns, every_step, met, short
from trueness.findings.subject import (
    Subject,
    check_request,
    subject,
    tallies_of,
)
from trueness.findings.systems import evals_page, how_often
from trueness.inference.verification import without_unlabelled_warning
from trueness.nogold.rate import Rate
from trueness.nogold.rate_comparison import RateComparison
from trueness.reports import render
from trueness.threshold.zones import best_thresholds

REPORT, MAP, COMBINER = "report.html", "map.json", "combiner.json"
FILES = (REPORT, "report.json", MAP, COMBINER)  # that can be taken away
KEPT = 3  # files, with their columns, whose counts stay in memory
MOST_ROWS = 3_000_000  # of more rows each score is counted in bins of its own
BINS = 200_000
SEED = 0
# sections that no objective changes, and what else they depend on beside the level:
# they are worked out once
STEADY = {
    "ranking": (),
    "comparison": (),
    "ensembles": ("combine",),
    "calibration": (),
    "calibrated": ("calibrate", "classifier"),
    "planning": ("half_width", "classifier"),
}


@final
@dataclass(frozen=True)
class SectionKey:
    """What a section, or a file, depends on beside the counts."""

    key: str
    prevalence: float | None = None
    details: tuple[Hashable, ...] = ()


@final
@dataclass(frozen=True)
class PageMemory:
    """What only the page asks of the counts, each worked out once."""

    half_width: Answers[None, float] = field(default_factory=Answers)
    every_step: Answers[str, Steps] = field(default_factory=Answers)
    sections: Answers[SectionKey, Finding | None] = field(default_factory=Answers)
    at_prevalence: Answers[float, Counted] = field(default_factory=Answers)


@final
@dataclass(frozen=True)
class Counted:
    """A file, counted: its classifiers, its groups, and what was found so far."""

    file_data: FileData
    data: Any  # Panel, tallies by name, or Leaves
    groups: Mapping[Any, Panel | Tally] | None = None
    cleaned: Sequence[str] = ()  # how values were read, in sentences
    item: str | None = None  # the column that names what was judged
    memory: Memory = field(default_factory=Memory)
    page_memory: PageMemory = field(default_factory=lambda: PageMemory())

    @property
    def first(self) -> Panel | Tally:
        """Give something that knows how many cases there are."""
        each = self.data.values() if isinstance(self.data, dict) else (self.data,)
        return cast("Panel | Tally", next(iter(each)))


def count(asked: Asked) -> Counted:
    """Count the chosen columns, where they lie."""
    file, chosen, kind = asked.file, asked.chosen, asked.kind
    assert chosen is not None  # noqa: S101 - nobody asks before it is clear what is meant
    large = file.rows > MOST_ROWS
    item: str | None = None
    for word, instead in WITHOUT.items():
        if large and getattr(chosen, word) is not None:
            raise InputError(
                f"Of more than {MOST_ROWS:,} rows scores are counted in bins, and "
                "cases with weights or clusters are not put into bins; found "
                f"{file.rows:,} rows. Choose {instead!r} under {FIELDS[word]}, or open "
                "fewer rows."
            )
    with listening() as cleaned, file.held(), progress("Counting", unit=""):
        source, names = file.source, list(dict.fromkeys(chosen.columns))
        if kind == "judges":
            source, _, item, _ = wide_table(asked)
        if kind in ("judges", "systems"):
            rows = source.rows
        elif large:  # a small file may hold very many rows, which stay where they lie
            rows = source.rows.select(", ".join(map(quoted, names)))
        else:
            rows = source.only(names)
        file_data = FileData(source, asked.request, rows)
        data: Any
        groups: Any = None
        words, first = chosen.counting, chosen.scores[0]
        if kind == "systems":
            data = attempts(rows, item=asked.item, passed=first, system=chosen.by)
            data = data if isinstance(data, dict) else {"": data}
        elif kind == "leaves":
            data = frames.leaves(rows, node=first, **words)
        elif kind == "scores" and large:  # each by itself: memory is bounded
            if chosen.by is not None and len(chosen.scores) == 1:
                groups = {"score": first, "by": chosen.by, "at_most": BINS // 10}
                groups = frames.tally(_with_score(file_data, first), **groups, **words)
            each = {"at_most": BINS, **words}
            data = {
                s: frames.tally(_with_score(file_data, s), score=s, **each)
                for s in chosen.scores
            }
        else:
            if kind != "scores":
                judges = kind == "judges"
                yes = for_verdicts(file_data, asked.yes) if judges else asked.yes
                file_data = with_verdicts(file_data, yes)
            groups = count_panel(file_data, by=True) if chosen.by else None
            data = count_panel(file_data)
            several = kind == "scores" and isinstance(data, Panel)
            for name in data.names if several and np.isnan(data.rows).any() else ():
                _ = data[name]  # says what is missing: here, and not in every section
    return Counted(file_data, data, groups, cleaned=cleaned, item=item)


def _with_score(data: FileData, score: str) -> Any:
    """Give the rows that are counted: where it was asked for, those with a score."""
    if data.request.missing_scores != "drop":
        return data.rows
    found, gone = with_scores(replace(data.source, rows=data.rows), score)
    if gone:
        tell([f"{percent(gone)} of the rows have no {score} and are left out."])
    return found


def meant(counted: Counted, prevalence: float | None) -> Counted:
    """Say for which share of positives answers are wanted, and keep them apart."""
    if prevalence is None:
        return counted

    def of_population() -> Counted:
        design = {"prevalence": prevalence}
        return replace(
            counted,
            data=frames.designed(counted.data, design),
            groups=counted.groups and frames.designed(counted.groups, design),
            memory=Memory(),
            page_memory=PageMemory(),
        )

    return counted.page_memory.at_prevalence.once(prevalence, of_population)


def request_of(counted: Counted, asked: Asked, quick: bool = False) -> Request:
    """Return what is asked of the counts, checked as the report checks it."""
    request = replace(
        without_column_names(asked.request),
        half_width=asked.half_width or _half_width(counted),
        classifier=asked.classifier if asked.classifier in asked.columns else "",
        replicates=0 if quick else REPLICATES,
    )
    return check_request(request, counted.first)


def _half_width(counted: Counted) -> float:
    """Ask first for an interval two thirds as wide, in round numbers."""

    def third_of_interval() -> float:
        area = subject(counted.data, memory=counted.memory).best.auc
        rounded = float(f"{(area.high - area.low) / 3:.1g}")
        return float(np.clip(rounded, 0.001, 0.2))

    return counted.page_memory.half_width.once(None, third_of_interval)


def findings(counted: Counted, asked: Asked, quick: bool = False) -> Subject:
    """Give what sections may ask; what no objective changes is shared."""
    request = request_of(counted, asked, quick)
    if quick:  # bands that are there already are not taken away
        counted.memory.reuse_bands(
            of_full_look=replace(request, replicates=REPLICATES).precision,
            for_first_look=request.precision,
            scores=asked.columns,
        )
    return Subject(
        counted.data,
        request,
        counted.groups,
        memory=counted.memory,
        # who opens that section takes the groups for a sample of sites
        sites=counted.groups,
    )


def depends(asked: Asked, key: str) -> SectionKey:
    """What does a section, or a file, depend on beside the counts?"""
    if key == "count":
        return SectionKey(key)
    if key in STEADY:
        details = tuple(getattr(asked, name) for name in ("level", *STEADY[key]))
        return SectionKey(key, asked.one_share, details)

    request = asked.request
    if key not in FILES:  # sections about calibration and others are steady
        request = replace(
            request, calibrator="", half_width=None, classifier="", combiner=""
        )
    return SectionKey(key, asked.one_share, (repr(request),))


@without_unlabelled_warning()
def section(counted: Counted, asked: Asked, key: str) -> Finding | None:
    """Work out one section of the report; its headline is said in the summary too."""
    answer = QUESTIONS[key](findings(counted, asked))
    counted.page_memory.sections.keep(depends(asked, key), answer)
    return answer


@without_unlabelled_warning()
def summary(counted: Counted, asked: Asked, quick: bool) -> Page:
    """Give the head of the report: tiles, and plain words from what is known.

    The sentences that other sections add are those of sections that are done.
    """
    f = findings(counted, asked, quick)
    if not quick:
        _ = f.checked
    sections = counted.page_memory.sections
    sections_done = {key: sections.get(depends(asked, key)) for key in QUESTIONS}
    return Page(
        "", facts_of(counted.first, ""), tiles(f), answers(f, sections_done), ()
    )


def unmet(counted: Counted, asked: Asked) -> dict[str, str]:
    """Which constraint cannot be met together with those before it, and why?"""
    some, last = asked, {}
    for k in range(len(asked.subject_to), 0, -1):
        some = replace(asked, subject_to=asked.subject_to[:k])
        try:  # is there a threshold, or a pair of them, that keeps so many?
            f = findings(counted, some, quick=True)
            best = f.models[0]
            goal = f.request.pair_goal
            if goal is not None:
                best_thresholds(
                    best.tally,
                    maximize=goal.maximize,
                    minimize=goal.minimize,
                    subject_to=goal.subject_to,
                )
        except (Infeasible, InputError) as err:
            last = {f"subject_to_{k - 1}": page_text(err)}
        else:
            break
    return last


@without_unlabelled_warning()
def operating(
    counted: Counted, asked: Asked, quick: bool
) -> tuple[Finding, dict[str, Any]]:
    """Give the section with the slider, of which every distinct score is a step."""
    f = findings(counted, asked, quick)
    made = QUESTIONS["threshold"](f)
    assert made is not None  # noqa: S101 - there is always a threshold
    models: list[dict[str, Any]] = []
    for k, m in enumerate(f.models):
        steps = _steps(counted, m)
        start, size = steps.at_or_above(m.point.threshold), len(steps.threshold)
        named = {"name": m.name, "key": m.key, "index": k}
        models.append(named | {"start": start, "size": size})
    return made, {
        "models": models,
        "constraints": [repr(c) for c in f.request.constraints],
        "now": look_up(counted, asked, 0, models[0]["start"])["values"],
    }


def _steps(counted: Counted, model: Model) -> Steps:
    """Return every distinct score of a classifier as a step."""
    return counted.page_memory.every_step.once(
        model.key, lambda: every_step(model.tally, model.name)
    )


def look_up(counted: Counted, asked: Asked, model: int, at: int) -> dict[str, Any]:
    """Give every number of the page at one step of one classifier."""
    f = findings(counted, asked, quick=True)
    m = f.models[min(max(model, 0), len(f.models) - 1)]
    steps = _steps(counted, m)
    at = min(max(at, 0), len(steps.threshold) - 1)
    chosen = at == steps.at_or_above(m.point.threshold)
    s = steps.pick(at, m.point.threshold if chosen else None)
    found = columns(s, f.request.costs, _probability(counted, f, m, s.threshold))
    held = [bool(met(c, s.confusion)[0]) for c in f.request.constraints]
    values = {k: short(k, v)[0] for k, v in found.items()}
    return {"values": values, "meets": held, "at": at}


def _probability(counted: Counted, f: Subject, m: Model, cut: Array) -> Any:
    """Give the share of positives at a threshold, where the curve is known by now."""
    for replicates in (REPLICATES, 0):
        precision = replace(f.request, replicates=replicates).precision
        meaning = counted.memory.meanings.get(ScoreWithBands(m.key, precision))
        if meaning is not None:
            return meaning.probability(cut)
    return None if not m.is_probability else np.full(cut.shape, np.nan)


def rates(
    counted: Counted, asked: Asked
) -> tuple[dict[str, Rate], dict[str, Panel], RateComparison | None]:
    """What is the true rate of each system, of which counts, and which is better?"""
    file_data, how = counted.file_data, asked.labelled
    panels: dict[str, Any] = {str(s): p for s, p in (counted.groups or {}).items()}
    panels = panels or {nogold.ALL: counted.data}
    found = rates_of(panels, how, asked.level, SEED)
    compared = compared_of(file_data, panels, found, counted.item, how)
    return found, {s: panels[s] for s in found}, compared


def whole_page(counted: Counted, asked: Asked, source: str = "") -> Page:
    """Answer about judges, systems, or tests whose truth nobody knows."""
    if asked.kind == "judges":
        return nogold.judged(*rates(counted, asked), source=source)
    if asked.kind == "systems":  # how often each passes, and which rank it can have
        return evals_page(how_often(counted.data, level=asked.level), source)
    words: Any = {"level": asked.level, "rng": SEED}
    facts = facts_of(counted.data, "")
    return nogold.without_labels(counted.data, title="", facts=facts, **words)


def trusted_leaves(counted: Counted, asked: Asked) -> Finding:
    """Say which leaves can be trusted."""
    found = counted.data.report(level=asked.level)
    return trust.which_leaves(with_rules(found, counted.file_data, asked.named("rule")))


# what a person takes away


def combines(asked: Asked) -> bool:
    """Are there several classifiers, on independent whole cases?"""
    whole = not (asked.named("weight") or asked.named("cluster"))
    return asked.kind == "scores" and len(asked.columns) > 1 and whole


def file_made(counted: Counted, asked: Asked, name: str) -> bytes:
    """Write a file of ``FILES``: what the command, or its ``--save``, writes."""
    data, how, made = counted.data, asked.combine, None
    if name == MAP:
        made = calibrate(tallies_of(data)[asked.score], method=asked.calibrate)
    elif name == COMBINER:
        how = how or compare_combiners(data, level=asked.level, rng=SEED).best()
        made = COMBINERS[how](data)
    if made is not None:
        score = asked.score if name == MAP else None
        return f"{map_to_json(made, score)}\n".encode()
    page = _report(counted, asked)
    return render(page).encode() if name == REPORT else _json(counted, asked, page)


def _report(counted: Counted, asked: Asked) -> Page:
    """Make the report that the command makes."""
    source = counted.file_data.source.name
    if asked.kind in ("judges", "systems"):
        return whole_page(counted, asked, source)
    if asked.kind == "tests":
        request = Request(level=asked.level, rng=SEED)
        return page_about(counted.data, request, source=source)
    return page_about(counted.data, asked.request, source=source, groups=counted.groups)


def _json(counted: Counted, asked: Asked, page: Page) -> bytes:
    """Write what ``trueness report --json``, or ``judge --json``, writes."""
    if asked.kind == "judges":
        found, _, compared = rates(counted, asked)
        about_data = about(counted.file_data, counted.first)
        answer = answered(nogold.pass_rates(found, compared), about=about_data)
        answer = completed(answer, "judge")
    else:
        answer = CommandAnswer(
            result=report_result(page, Path(REPORT), len(render(page).encode())),
            parts=report_words(page),
            about=about(counted.file_data, counted.first),
        )
        answer = completed(answer, "report")
    return (json.dumps(envelope(answer), indent=2, allow_nan=False) + "\n").encode()


def flagged_rows(counted: Counted, score: str, cut: float, target: Path) -> None:
    """Write the rows whose score reaches the threshold to a file.

    All columns are there but those that are never read: lists, structures and bytes.
    """
    at_least = duckdb.ColumnExpression(score) >= duckdb.ConstantExpression(cut)
    source = counted.file_data.source
    columns = [c for c, kind in source.types.items() if not is_unread(kind)]
    with reading():
        rows = source.rows.filter(at_least).select(", ".join(map(quoted, columns)))
        write = rows.write_parquet if target.suffix == ".parquet" else rows.write_csv
        write(str(target))
