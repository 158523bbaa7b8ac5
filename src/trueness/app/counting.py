"""Counts of a file for the page: made once, where its rows lie.

``count`` returns the classifiers of a file, counted, with a memory of what was worked
out of them. Of many rows each score is counted in bins, so that memory is bounded.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, cast, final

import numpy as np

from trueness._core.checks.errors import InputError
from trueness._core.numbers import percent
from trueness._core.progress import progress
from trueness.app.address import CHOICE_WITHOUT_COLUMN, FIELDS, KINDS, DataChoice
from trueness.app.files import DataFile
from trueness.app.guessed_columns import wide_table
from trueness.cli._columns import (
    FileData,
    count_panel,
    unnamed_count_column,
    with_verdicts,
)
from trueness.cli.check import with_scores
from trueness.cli.judge import word_for_yes
from trueness.counts.values import Panel, Tally
from trueness.data import frames
from trueness.data.cleaning import collected_remarks, tell
from trueness.data.engines import quoted
from trueness.data.eval_rows import attempts
from trueness.data.row_counts import state_design
from trueness.findings.memory import Memory, RememberedAnswers
from trueness.findings.records import Finding
from trueness.findings.request import Request
from trueness.findings.slider_steps import Steps
from trueness.findings.subject import Subject

MAX_COUNTED_FILES = 3  # with their columns: their counts stay in memory
MAX_EXACT_ROWS = 3_000_000  # of more rows each score is counted in bins of its own
MAX_BINS = 200_000


@final
@dataclass(frozen=True)
class SectionKey:
    """What a section, or a file, depends on beside the counts."""

    key: str
    prevalence: float | None = None
    details: tuple[Hashable, ...] = ()


@final
@dataclass(frozen=True)
class SubjectKey:
    """What is asked of the counts, and whether it is a first look."""

    request_text: str
    quick: bool


@final
@dataclass(frozen=True)
class PageMemory:
    """What only the page asks of the counts, each worked out once."""

    subjects: RememberedAnswers[SubjectKey, Subject] = field(
        default_factory=RememberedAnswers
    )
    half_width: RememberedAnswers[None, float] = field(
        default_factory=RememberedAnswers
    )
    every_step: RememberedAnswers[str, Steps] = field(default_factory=RememberedAnswers)
    sections: RememberedAnswers[SectionKey, Finding | None] = field(
        default_factory=RememberedAnswers
    )
    at_prevalence: RememberedAnswers[float, FileCounts] = field(
        default_factory=RememberedAnswers
    )


@final
@dataclass(frozen=True)
class FileCounts:
    """A file, counted: its classifiers, its groups, and what was worked out so far."""

    file_data: FileData
    data: Any  # Panel, tallies by name, or Leaves
    groups: Mapping[Any, Panel | Tally] | None = None
    cleaning_remarks: Sequence[str] = ()  # how values were read, in sentences
    item: str | None = None  # the column that names what was judged
    memory: Memory = field(default_factory=Memory)
    page_memory: PageMemory = field(default_factory=lambda: PageMemory())

    @property
    def cases(self) -> Panel | Tally:
        """Something that knows how many cases there are."""
        if isinstance(self.data, dict):
            return cast("Panel | Tally", next(iter(self.data.values())))
        return cast("Panel | Tally", self.data)


def count(data: DataChoice, chosen_columns: Request) -> FileCounts:
    """Return the counts of the chosen columns, made where the rows lie."""
    file = data.file
    in_bins = file.rows > MAX_EXACT_ROWS
    if in_bins:
        _refuse_design_in_bins(file, chosen_columns)

    with (
        collected_remarks() as cleaning_remarks,
        file.locked(),
        progress("Counting", unit=""),
    ):
        if data.kind == "judges":
            counts = _count_judges(data, chosen_columns)
        elif data.kind == "systems":
            counts = _count_attempts(data, chosen_columns)
        else:
            file_data = FileData(
                file.source, chosen_columns, _rows_of(file, chosen_columns, in_bins)
            )
            counts = _count_table(data, file_data, in_bins)

    return replace(
        counts,
        cleaning_remarks=[*cleaning_remarks, *_unused_count(data, chosen_columns)],
    )


def _unused_count(data: DataChoice, chosen_columns: Request) -> list[str]:
    """Return a remark on a column that is called like a count, and is not one."""
    column = unnamed_count_column(data.file.source, chosen_columns)
    if column is None or not KINDS[data.kind].has_labels:
        return []

    return [
        f"Every row counts as one case; if column {column!r} holds numbers of cases, "
        f"choose it under {FIELDS['count']}."
    ]


def _refuse_design_in_bins(file: DataFile, chosen_columns: Request) -> None:
    """Raise an error for weights and clusters where scores are counted in bins."""
    design = {"weight": chosen_columns.weight, "cluster": chosen_columns.cluster}
    for name, column in design.items():
        if column is not None:
            raise InputError(
                f"Files above {MAX_EXACT_ROWS:,} rows are counted in bins, which take "
                f"no weights or clusters; found {file.rows:,} rows. Choose "
                f"{CHOICE_WITHOUT_COLUMN[name]!r} under {FIELDS[name]}, or open fewer "
                "rows."
            )


def _rows_of(file: DataFile, chosen_columns: Request, in_bins: bool) -> Any:
    """Return the rows, with the chosen columns only."""
    names = list(dict.fromkeys(chosen_columns.columns))
    if in_bins:
        # a small file may hold very many rows, which stay where they lie
        return file.source.rows.select(", ".join(map(quoted, names)))
    return file.source.only(names)


def _count_judges(data: DataChoice, chosen_columns: Request) -> FileCounts:
    """Return the verdicts of judges, of each system if there are several."""
    wide = wide_table(data)
    file_data = FileData(wide.source, chosen_columns, wide.source.rows)
    yes = word_for_yes(file_data, data.verdicts.yes)
    counts = _count_panels(with_verdicts(file_data, yes))
    return replace(counts, item=wide.item)


def _count_attempts(data: DataChoice, chosen_columns: Request) -> FileCounts:
    """Return how often each system passed each item."""
    rows = data.file.source.rows
    by_system = attempts(
        rows,
        item=data.verdicts.item,
        passed=chosen_columns.scores[0],
        system=chosen_columns.by,
    )
    if not isinstance(by_system, dict):
        by_system = {"": by_system}

    return FileCounts(FileData(data.file.source, chosen_columns, rows), by_system)


def _count_table(data: DataChoice, file_data: FileData, in_bins: bool) -> FileCounts:
    """Return the counts of leaves, tests or scores."""
    chosen_columns = file_data.request
    if data.kind == "leaves":
        leaves = frames.leaves(
            file_data.rows, node=chosen_columns.scores[0], **chosen_columns.counting
        )
        return FileCounts(file_data, leaves)
    if data.kind == "tests":
        return _count_panels(with_verdicts(file_data, data.verdicts.yes))
    if in_bins:
        return _count_in_bins(file_data)

    counts = _count_panels(file_data)
    _check_all_scored(counts.data)

    return counts


def _count_panels(file_data: FileData) -> FileCounts:
    """Return the counts of all scores together, and in each group if there are any."""
    groups = None
    if file_data.request.by:
        groups = count_panel(file_data, by=True)
    return FileCounts(file_data, count_panel(file_data), groups)


def _check_all_scored(data: Panel | Tally) -> None:
    """Raise an error if a score misses cases: once here, not in every section."""
    if isinstance(data, Panel) and np.isnan(data.rows).any():
        for name in data.names:
            # a panel refuses to hand out a column with missing scores, and says why
            _ = data[name]


def _count_in_bins(file_data: FileData) -> FileCounts:
    """Return tallies of each score by itself, in bins, so that memory is bounded."""
    chosen_columns = file_data.request
    groups = None
    if chosen_columns.by is not None and len(chosen_columns.scores) == 1:
        groups = frames.tally(
            _rows_with_score(file_data, chosen_columns.scores[0]),
            score=chosen_columns.scores[0],
            by=chosen_columns.by,
            at_most=MAX_BINS // 10,  # each group has bins of its own
            **chosen_columns.counting,
        )

    tallies = {
        score: frames.tally(
            _rows_with_score(file_data, score),
            score=score,
            at_most=MAX_BINS,
            **chosen_columns.counting,
        )
        for score in chosen_columns.scores
    }

    return FileCounts(file_data, tallies, groups)


def _rows_with_score(data: FileData, score: str) -> Any:
    """Return the rows that are counted: where it was asked for, those with a score."""
    if data.request.missing_scores != "drop":
        return data.rows

    rows_with_score, proportion_left_out = with_scores(
        replace(data.source, rows=data.rows), score
    )
    if proportion_left_out:
        tell(
            [
                f"{percent(proportion_left_out)} of the rows have no {score} and are "
                "left out."
            ]
        )

    return rows_with_score


def at_prevalence(counts: FileCounts, prevalence: float | None) -> FileCounts:
    """Return the counts as those of a population with this prevalence.

    They have a memory of their own, and are made once for each prevalence.
    """
    if prevalence is None:
        return counts

    def counts_in_population() -> FileCounts:
        """Return the counts with this prevalence, and nothing worked out of them."""
        design = {"prevalence": prevalence}
        return replace(
            counts,
            data=state_design(counts.data, design),
            groups=counts.groups and state_design(counts.groups, design),
            memory=Memory(),
            page_memory=PageMemory(),
        )

    return counts.page_memory.at_prevalence.get_or_compute(
        prevalence, counts_in_population
    )
