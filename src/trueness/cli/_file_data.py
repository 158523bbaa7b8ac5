"""Which data is a command asked about? The file is opened, its columns are chosen.

``open_data`` turns the options that commands share into a :class:`FileData`. It says
on standard error which columns were taken that nobody named.
"""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import final

import numpy as np

from trueness._core.checks.errors import InputError, UnsupportedDesign
from trueness._core.checks.words import listing
from trueness._core.progress import progress
from trueness._core.records import shown
from trueness.cli import _shell as shell
from trueness.cli._columns import (
    FileData,
    choose_columns,
    read_share,
    refuse_cleaned,
    unnamed_count_column,
)
from trueness.cli._long_files import refuse_long_file
from trueness.cli._source import WHOLE_TYPES, Source, is_local, open_source
from trueness.counts.answers import refusal
from trueness.counts.design import CANNOT
from trueness.counts.expected_labels import PROCESS, ExpectedLabels, LabelSample
from trueness.data.cleaning import collected_remarks, tell
from trueness.data.column_roles import (
    Guess,
    has_no_label,
    label_of_some,
    one_score,
    several_scores,
)
from trueness.data.count_columns import count_column, count_remark
from trueness.data.design_columns import design_columns
from trueness.data.storage import are_counts, count_columns_of
from trueness.data.verdict_logs import refuse_log
from trueness.findings.request import Request

MAX_COLUMNS_NAMED = 12  # columns that are named in a sentence


@final
@dataclass(frozen=True)
class ColumnRule:
    """Which columns a command works on beside the labels, and what if unnamed."""

    option: str  # that names them
    guess: Guess
    least: int = 1
    needs_label: bool = True
    answers_without: bool = False  # something, if no column could hold labels
    rows_are_cases: bool = True  # else a case may have several rows


ONE_SCORE = ColumnRule("score", one_score)
SCORES = ColumnRule("score", several_scores)
TWO_SCORES = ColumnRule("score", several_scores, least=2)
# for commands that answer something without labels, too
ONE_SCORE_OR_NO_LABEL = replace(ONE_SCORE, answers_without=True)
SCORES_OR_NO_LABEL = replace(SCORES, answers_without=True)
TWO_SCORES_OR_NO_LABEL = replace(TWO_SCORES, answers_without=True)


def open_data(
    rule: ColumnRule,
    *,
    file: str | Sequence[str],
    label: str | None,
    columns: Sequence[str],
    positive: str | None = None,
    count: str | None = None,
    by: str | None = None,
    decimal: str | None = None,
    missing_scores: str | None = None,
    invert: bool = False,
    strict: bool = False,
    weight: str | None = None,
    cluster: str | None = None,
    sampling: str | None = None,
    prevalence: str | None = None,
    unlabelled: str | None = None,
    target: str = PROCESS,
    takes_range: bool = False,
    keep_order: bool = False,
    level: float = 0.95,
    seed: int = 0,
) -> FileData:
    """Open the file and choose its columns; say which ones nobody had named.

    Several files are read as one.
    ``columns`` are those of the option of the rule. ``takes_range``: the prevalence
    may be a range. ``keep_order``: the rows will be written back.
    """
    expected_labels = _read_expected_labels(unlabelled, target)
    if label is None and not columns:
        _refuse_log(file)

    with collected_remarks() as cleaning_remarks:
        with progress("Reading the file", unit=""):
            source = open_source(file, ordered=keep_order, decimal=decimal)
            fixed_prevalence, prevalence_range = _read_prevalence(
                prevalence, takes_range
            )
            other_columns = {*columns, count, weight, cluster, by}
            label_found = label is not None or not has_no_label(
                source.table, other_columns
            )
            request = choose_columns(
                source,
                Request(
                    label=label,
                    scores=tuple(columns),
                    positive=positive,
                    count=count,
                    by=by,
                    missing_scores=missing_scores,
                    decimal=decimal,
                    strict=strict,
                    invert=invert,
                    weight=weight,
                    cluster=cluster,
                    sampling=sampling,
                    prevalence=fixed_prevalence,
                    unlabelled=expected_labels or unlabelled,
                    prevalences=prevalence_range,
                    level=level,
                    rng=seed,
                ),
                option=rule.option,
                guess=rule.guess,
                needs_label=(
                    rule.needs_label
                    and expected_labels is None
                    and (label_found or not rule.answers_without)
                ),
            )

        if rule.rows_are_cases:
            request = _with_counts(source, request)

        say_what_was_taken(source, request, rule.option)
        if invert:
            say_what_was_inverted()

        if request.label is not None and request.positive is None:
            tell(source.as_truth(request.label))

        request = _with_strata(source, request)

    if strict:
        refuse_cleaned(cleaning_remarks)

    tell(cleaning_remarks)

    if rule.rows_are_cases:
        refuse_long_file(source, request, compares=rule.least > 1)

    if len(request.scores) < rule.least:
        raise InputError(
            f"This command needs {rule.least} columns or more; found "
            f"{listing(request.scores)}.",
            option=rule.option,
            choices=source.types,
        )

    rows = source.only(_columns_to_read(source, request))
    return FileData(source, request, rows)


def _refuse_log(file: str | Sequence[str]) -> None:
    """Raise an error for the log of an evaluation, with the commands that read one."""
    files = [file] if isinstance(file, str) else file
    for place in filter(is_local, files):
        try:
            refuse_log(place, "This command")
        except InputError as error:
            typed = shlex.quote(place)
            raise InputError(
                f"{error.message} Type trueness evals {typed}, or trueness judge "
                f"{typed}."
            ) from None


def say_what_was_inverted() -> None:
    """Say how scores were turned round."""
    shell.say(
        "Every score was reversed: fractions became 1 minus the score, other scores "
        "their negative. Thresholds apply to the reversed scores."
    )


def _read_expected_labels(unlabelled: str | None, target: str) -> ExpectedLabels | None:
    """Return the expected labels of a saved map, where a file of one was named."""
    if unlabelled is not None and unlabelled.endswith(".json"):
        # few files have expected labels: others do without the room of calibration
        from trueness.calibration.maps import load_map

        return ExpectedLabels(load_map(unlabelled), target=target)

    if target != PROCESS:
        raise InputError(
            "A target is for expected labels, which need a map that was fitted to "
            "labelled cases.",
            option="unlabelled",
            example="map.json",
        )

    return None


def _with_strata(source: Source, request: Request) -> Request:
    """Read labels that came back from ``trueness label`` as a stratified sample."""
    drawn = {"stratum", "probability"} <= set(source.types)
    is_plain = request.unlabelled is None and request.weight is None
    if not (drawn and is_plain and request.label) or len(request.scores) != 1:
        return request

    columns = (request.scores[0], "stratum", "probability")
    rows = source.only(columns).fetchnumpy()
    shell.say(
        "The columns stratum and probability show a stratified sample; the analysis "
        "allows for it."
    )
    sample = LabelSample.from_drawn_cases(
        np.asarray(rows[request.scores[0]]),
        np.asarray(rows["stratum"]),
        np.asarray(rows["probability"]),
    )

    return replace(request, unlabelled=sample)


def _read_prevalence(
    text: str | None, takes_range: bool
) -> tuple[float | None, tuple[float, float] | None]:
    """Return one prevalence, or a range where the command takes one."""
    prevalence = read_share(text)
    if not isinstance(prevalence, tuple):
        return prevalence, None

    if not takes_range:
        raise InputError(
            "This command needs one prevalence; found a range.",
            option="prevalence",
            example=f"{prevalence[0]:g}",
        )

    return None, prevalence


def _columns_to_read(source: Source, request: Request) -> tuple[str, ...]:
    """Return the chosen columns; of a file of counts also those that hold them."""
    if request.label is None and are_counts(source.types):
        return (*request.columns, *count_columns_of(source.types).values())
    return request.columns


def _with_counts(source: Source, request: Request) -> Request:
    """Take the numbers of cases of a table of counts; mention a column that may be."""
    unused = unnamed_count_column(source, request)
    if unused is None:
        return request

    taken = (request.by, request.weight, request.cluster)
    count = count_column(source.table, request.label, request.scores, taken)
    if count is not None:
        for remark in count_remark(count, request.label):
            shell.say(remark)
        return replace(request, count=count)

    shell.say(
        f"Every row counts as one case. If column {unused!r} says how many cases a "
        f"row represents, type --count {unused}."
    )

    return request


def say_what_was_taken(source: Source, request: Request, option: str) -> None:
    """Say which columns were taken unasked, and why the others were not."""
    if request.missing_scores not in (None, "drop", "refuse"):
        raise InputError(
            f"missing_scores must be drop or refuse; found {request.missing_scores!r}.",
            option="missing_scores",
            choices=("drop", "refuse"),
        )

    if not request.remarks:
        return

    shell.say(" ".join(request.remarks))
    others = [
        f"'{shown(name, 40)}' ({_why_not_a_score(source, name)})"
        for name in source.types
        if name not in request.columns
    ]
    if others:
        ellipsis = ", ..." if len(others) > MAX_COLUMNS_NAMED else ""
        shell.say(f"Not used: {', '.join(others[:MAX_COLUMNS_NAMED])}{ellipsis}.")

    if option == "score" and request.label is not None:
        # a column of counts is mentioned where it is looked for
        for unused in design_columns(source.table, {*request.columns}):
            typed = f"--{unused.option} {shlex.quote(unused.column)}"
            if shell.has_option(unused.option):
                shell.say(f"{unused.meaning}, type {typed}.")

    label = label_of_some(source.table) if option in ("vote", "judge") else None
    if label and label not in request.columns:
        shell.say(
            f"Column {label!r} is empty in most rows. If it holds labels, type --label "
            f"{label}."
        )


def _why_not_a_score(source: Source, name: str) -> str:
    """Return in a word or two why a column was not taken as a score."""
    kind = source.types[name]
    if kind == "VARCHAR":
        meanings = {"numbers": "numbers", "missing": "empty"}
        return meanings.get(source.reads_as(name), "words")

    if kind.startswith(("DATE", "TIME")):
        return "dates"
    return "whole numbers" if kind in WHOLE_TYPES else "not asked for"


def refuse_without_labels(typed: Mapping[str, object]) -> None:
    """Raise an error for an option that needs labels, where no case has one.

    ``typed`` has the values of such options by their names.
    """
    for option, value in typed.items():
        if value:
            name = option.replace("_", "-")
            raise InputError(
                f"The option --{name} needs labels, and no case has one. Leave it "
                "out, or name the column of labels.",
                option=option,
            )


def refuse_design(command: str, analysis: str, typed: Mapping[str, str | None]) -> None:
    """Raise an error for a part of the design that an analysis cannot use, with why.

    ``typed`` has the values of the options that the command has for this answer only.
    """
    for option, reason in CANNOT[analysis].items():
        if typed.get(option) is not None:
            raise UnsupportedDesign(refusal(command, option, reason), option=option)
