"""Do predictions meet what was agreed?"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any, NamedTuple

import typer

import trueness
from trueness._core.checks.errors import InputError, NotEnoughCases
from trueness._core.checks.options import choice
from trueness._core.checks.words import listing, nearest
from trueness._core.numbers import percent
from trueness.cli import options
from trueness.cli._columns import FileData, choose_columns, invert_scores, pivot_of
from trueness.cli._file_data import say_what_was_inverted, say_what_was_taken
from trueness.cli._long_files import long_file_of
from trueness.cli._shell import CommandAnswer, about, command_answer, say, write_text
from trueness.cli._source import Source, existing_column, open_source
from trueness.cli.evals import AttemptColumns, about_attempts, logs_by_value
from trueness.counts.design import ARGUMENTS as DESIGN
from trueness.counts.values import Panel
from trueness.data.column_roles import is_test, one_score
from trueness.data.engines import quoted
from trueness.data.eval_rows import read_evals, system_column
from trueness.data.frames import panel, tally
from trueness.data.storage import are_counts, count_columns_of
from trueness.findings.how_good import cases_note
from trueness.findings.notes import Note, note
from trueness.findings.request import Request
from trueness.findings.trust import requirements
from trueness.monitoring.checking import check_all
from trueness.monitoring.claims import Evidence
from trueness.monitoring.contracts import Contract, first_contract, read_contract
from trueness.monitoring.measures import of_attempts
from trueness.monitoring.requirements import requirement as read_requirement
from trueness.monitoring.requirements import requirement_of_test
from trueness.monitoring.verdicts import Check

# columns of the baseline beside those of the candidate
_BASELINE_COLUMN = "trueness_baseline"
_LABEL_COLUMN = "trueness_label"


class FileCheck(NamedTuple):
    """The check of a file, a note on its cases, and what the answer is about."""

    check: Check
    counts_note: Note
    about: dict[str, Any]


class ContractOnFile(NamedTuple):
    """A contract, what it is called, and the file of predictions to check by it."""

    contract: Contract
    name: str
    predictions: str


def open_contract_data(contract: Contract, file: str) -> tuple[FileData, float]:
    """Open the file of a contract; return the proportion without a score, too."""
    source = open_source(file)
    request = _request_of(contract)
    if holds_counts(source.rows, request.label):
        score = count_columns_of(source.types)["score"]
        of_counts = Request(
            scores=(score,),
            by=request.by,
            sampling=request.sampling,
            prevalence=request.prevalence,
            unlabelled=request.unlabelled,
            level=request.level,
        )

        return FileData(source, of_counts, source.rows), 0.0

    score_column = request.scores[0] if request.scores else None
    for option, name in (("label", request.label), ("score", score_column)):
        if name is None:
            raise InputError(
                f'{contract.path} must name the column: add {option} = "NAME". '
                f"{source.name} has {', '.join(source.types)}.",
                option=option,
                choices=source.types,
            )

    existing_column(source, request.label, "label")
    existing_column(source, score_column, "score")
    existing_column(source, request.weight, "weight")
    existing_column(source, request.cluster, "cluster")
    rows, missing = with_scores(source, str(score_column))

    if long_file := long_file_of(source, request):
        raise InputError(
            f'{long_file} Add cluster = "{long_file.case}" to {contract.path}.',
            option="cluster",
            example=long_file.case,
        )

    return FileData(source, request, rows), missing


def _request_of(contract: Contract) -> Request:
    """Return the columns, the design and the level that a contract names."""
    score = contract.score
    judged_columns = [
        requirement.judges[0]
        for requirement in contract.requirements
        if requirement.judges
    ]
    if score is None and len(judged_columns) == len(contract.requirements):
        score = judged_columns[0]  # a rate from judges has no score

    return Request(
        label=contract.label,
        scores=() if score is None else (score,),
        positive=contract.positive,
        count=contract.count,
        by=next(
            (requirement.by for requirement in contract.requirements if requirement.by),
            None,
        ),
        weight=contract.weight,
        cluster=contract.cluster,
        sampling=contract.sampling,
        prevalence=contract.prevalence,
        unlabelled=contract.unlabelled,
        level=contract.level,
    )


def holds_counts(rows: Any, label: str | None) -> bool:
    """Return whether these are counts, and not cases with a label of this name."""
    return are_counts(rows.columns) and label not in rows.columns


def _count_baseline(
    rows: Any, *, score: str, by: str | None, counting: dict[str, Any]
) -> Any:
    """Return the counts of a baseline; a table of counts has columns of its own."""
    if not holds_counts(rows, counting.get("label")):
        return tally(rows, score=score, by=by, **counting)
    design = {name: value for name, value in counting.items() if name in DESIGN}
    return tally(rows, by=by, **design)


def with_scores(source: Source, score: str) -> tuple[Any, float]:
    """Return the rows that have a score, and the proportion of those that have none."""
    column = quoted(score)
    is_missing = f"{column} IS NULL"
    if source.types[score] in ("DOUBLE", "FLOAT"):
        is_missing = f"({is_missing} OR isnan({column}))"

    counts = source.rows.aggregate(f"count(*) AS n, count_if({is_missing}) AS missing")
    ((n, n_missing),) = counts.fetchall()
    if not n_missing:
        return source.rows, 0.0
    return source.rows.filter(f"NOT {is_missing}"), n_missing / n


def evidence_of(
    contract: Contract, file: str, baseline: str | None, invert: bool = False
) -> tuple[FileData, Callable[[str | None], Any]]:
    """Return the data, and a function that counts all cases or those of groups.

    Each baseline that is a column is counted beside the score; one in a file of its
    own on the same cases where a key joins the files, otherwise by itself. With
    ``invert`` all scores are turned round.
    """
    data, missing = open_contract_data(contract, file)
    pivot = None
    if invert:
        say_what_was_inverted()
    counting = data.request.counting
    (score,) = data.request.scores

    # the rows and the two scores of each paired comparison, by its baseline
    pairs = {
        requirement.not_worse_than: (data.rows, [score, requirement.not_worse_than])
        for requirement in contract.requirements
        if requirement.not_worse_than in data.source.types
    }
    unpaired_rows = None
    if baseline is None:
        _check_baselines_are_columns(contract, data.source)
    elif contract.key:
        joined_rows = _baseline_rows(data, contract.key, baseline)
        pairs["baseline"] = (joined_rows, [score, _BASELINE_COLUMN])
    else:
        unpaired_rows = _baseline_rows(data, None, baseline)

    if invert:  # groups and a baseline are turned as all cases are
        pivot = pivot_of(tally(data.rows, score=score, **counting).score)

    def turned(counts: Any, pivot: float | None = pivot) -> Any:
        return invert_scores(counts, pivot) if invert else counts

    def count(by: str | None) -> Any:
        """Return the evidence on all cases, or on each group of a column."""
        existing_column(data.source, by, "by")
        tallies = turned(tally(data.rows, score=score, by=by, **counting))
        baselines = None
        if unpaired_rows is not None:
            baselines = turned(
                _count_baseline(unpaired_rows, score=score, by=by, counting=counting)
            )

        panels: dict[str, Any] = {
            name: turned(panel(rows, both_scores, by=by, **counting), None)
            for name, (rows, both_scores) in pairs.items()
        }

        if by is not None:
            return _evidence_of_groups(tallies, panels, baselines)

        panels |= _count_judges(contract, data)
        return Evidence(tallies, panels, baselines, missing=missing)

    return data, count


def _count_judges(contract: Contract, data: FileData) -> dict[str, Panel]:
    """Return a panel of the judges that a requirement names, by their joined names."""
    panels: dict[str, Panel] = {}
    for requirement in contract.requirements:
        if requirement.judges:
            judges = [
                existing_column(data.source, judge, "judges")
                for judge in requirement.judges
            ]
            verdicts = panel(data.rows, judges, **data.request.counting)
            panels[",".join(judges)] = verdicts

    return panels


def _evidence_of_groups(
    tallies: Mapping[Any, Any],
    panels: Mapping[str, Mapping[Any, Any]],
    baselines: Mapping[Any, Any] | None,
) -> dict[str, Evidence]:
    """Return the evidence of each group: its cases, panels and baseline."""
    evidence = {}
    for group, group_tally in tallies.items():
        group_panels = {
            name: by_group[group]
            for name, by_group in panels.items()
            if group in by_group
        }
        evidence[str(group)] = Evidence(
            tally=group_tally,
            panels=group_panels,
            baseline=None if baselines is None else baselines.get(group),
            group=str(group),
        )

    return evidence


def _check_baselines_are_columns(contract: Contract, source: Source) -> None:
    """Raise an error for a requirement that compares with what is not there."""
    for requirement in contract.requirements:
        name = requirement.not_worse_than
        if name and name not in source.types:
            near = nearest(name, list(source.types))
            raise InputError(
                f"{requirement} needs a baseline: another file, or a column of "
                f"{source.name} with its scores.{near}",
                option="baseline",
                example="last_release.parquet",
            )


def _baseline_rows(data: FileData, key: str | None, file: str) -> Any:
    """Return the rows of the baseline; with a key both files, joined case by case."""
    baseline = open_source(file)
    (score,) = data.request.scores
    if holds_counts(baseline.rows, data.request.label):
        return baseline.rows

    if data.request.label is None:
        raise InputError(
            f"{data.source.name} holds counts, and {baseline.name} does not. Give "
            "counts of both, or the rows of both."
        )

    rows_with_score, proportion_left_out = with_scores(
        baseline, existing_column(baseline, score, "score")
    )
    if proportion_left_out:
        say(
            f"{percent(proportion_left_out)} of the rows of {baseline.name} have no "
            "score; these rows are left out."
        )

    if key is None:
        existing_column(baseline, data.request.label, "label")
        return rows_with_score

    return _join_by_key(data, key, replace(baseline, rows=rows_with_score))


def _join_by_key(data: FileData, key: str, baseline: Source) -> Any:
    """Put the baseline's score beside the candidate's, case by case."""
    source = data.source
    label = str(data.request.label)
    (score,) = data.request.scores
    _check_key_is_unique(source, key)
    _check_key_is_unique(baseline, key)

    new_rows = data.rows
    old_rows = baseline.rows
    if source.types[key] != baseline.types[key]:
        # 7 and "7" name the same case
        key_as_text = f"* REPLACE (CAST({quoted(key)} AS VARCHAR) AS {quoted(key)})"
        new_rows = new_rows.project(key_as_text)
        old_rows = old_rows.project(key_as_text)

    old_label = quoted(label) if label in baseline.types else "NULL"
    old_columns = ", ".join(
        (
            quoted(key),
            f"{quoted(score)} AS {_BASELINE_COLUMN}",
            f"{old_label} AS {_LABEL_COLUMN}",
        )
    )
    candidate = new_rows.to_arrow_table()
    pairs = candidate.join(old_rows.project(old_columns).to_arrow_table(), key)
    pairs = pairs.filter(pairs[_BASELINE_COLUMN].is_valid())

    if not pairs.num_rows:
        raise NotEnoughCases(
            f"No case of {source.name} has a baseline score: no value of {key!r} in "
            f"{baseline.name} matches. For an unpaired comparison, leave key out of "
            "the contract."
        )

    n_unmatched = candidate.num_rows - pairs.num_rows
    if n_unmatched:
        say(
            f"{n_unmatched:,} of {candidate.num_rows:,} rows have no "
            f"baseline score with the same {key!r}; the comparison leaves them out."
        )

    n_differing = _differing_labels(pairs, label)
    if n_differing and source.types[label] == baseline.types.get(label):
        raise InputError(
            f"{n_differing:,} of {pairs.num_rows:,} cases have a different {label!r} "
            f"in {baseline.name} than in {source.name}. Is {key!r} the key of the "
            "cases?"
        )

    return pairs


def _check_key_is_unique(source: Source, key: str) -> None:
    """Stop where two rows have the same key: joined, they would be more cases."""
    name = quoted(existing_column(source, key, "key"))
    repeats = f"count({name}) - count(DISTINCT {name}) AS repeats"
    ((n_repeats,),) = source.rows.aggregate(repeats).fetchall()
    if n_repeats:
        raise InputError(
            f"{source.name}: {n_repeats:,} rows repeat a value of the key {key!r}, so "
            "cases cannot be paired. Name a key that is unique to each case, or "
            "leave key out of the contract."
        )


def _differing_labels(joined: Any, label: str) -> int:
    """Return the number of cases whose labels are known in both files and differ."""
    new_labels = joined[label].to_pylist()
    old_labels = joined[_LABEL_COLUMN].to_pylist()

    return sum(
        new != old
        for new, old in zip(new_labels, old_labels, strict=True)
        if new is not None and old is not None
    )


def check_command(
    contract: Annotated[
        str,
        typer.Argument(
            help='The contract (TOML), or a requirement such as "auc >= 0.7". With '
            "--init: the predictions.",
            metavar="CONTRACT",
        ),
    ],
    file: Annotated[
        str | None, typer.Argument(help="The predictions.", metavar="FILE")
    ] = None,
    more: Annotated[
        list[str] | None,
        typer.Argument(help="More requirements.", metavar="REQUIREMENT"),
    ] = None,
    baseline: Annotated[
        str | None,
        typer.Option(
            "--baseline",
            metavar="FILE",
            help=(
                'Predictions of the baseline, for requirements such as "not worse '
                'than".'
            ),
        ),
    ] = None,
    undecided: Annotated[
        str | None,
        typer.Option(
            "--undecided",
            metavar="HOW",
            help="If a requirement is undecided: report it (exit 5), pass or fail.",
        ),
    ] = None,
    junit: Annotated[
        Path | None,
        typer.Option(
            "--junit",
            metavar="FILE",
            help="Write the verdicts as JUnit XML, for build servers.",
            rich_help_panel=options.OUTPUT,
        ),
    ] = None,
    markdown: Annotated[
        Path | None,
        typer.Option(
            "--markdown",
            metavar="FILE",
            help="Write the verdicts as Markdown, for a pull request.",
            rich_help_panel=options.OUTPUT,
        ),
    ] = None,
    init: Annotated[
        bool, typer.Option("--init", help="Write a first contract from the data.")
    ] = False,
    output: Annotated[
        Path | None,
        typer.Option(
            "--output",
            "-o",
            metavar="FILE",
            help="The file that --init writes (by default quality.toml).",
            rich_help_panel=options.OUTPUT,
        ),
    ] = None,
    label: Annotated[
        str | None,
        options.column(
            "--label", help="Column with the labels; a contract has its own."
        ),
    ] = None,
    score: Annotated[
        str | None,
        options.column(
            "--score", help="Column with the scores; a contract has its own."
        ),
    ] = None,
    positive: Annotated[
        str | None,
        typer.Option(
            "--positive",
            metavar="VALUE",
            help="Label that counts as positive; a contract has its own.",
        ),
    ] = None,
    invert: options.Invert = False,
    json: options.Json = False,
    plot: options.Plot = None,
    quiet: options.Quiet = False,
    debug: options.Debug = False,
) -> CommandAnswer:
    """Do these predictions meet the requirements? For CI; allows for sampling error.

    Requirements are sentences, or stand in a contract, which --init writes.

    Example:
    trueness check sample:west_nile "auc >= 0.7" --score boosting
    """
    arguments = [argument for argument in (contract, file, *(more or [])) if argument]
    sentences = [argument for argument in arguments if _is_requirement(argument)]
    if sentences and init:
        raise InputError(
            "The first contract gets its requirements from the data; leave yours out.",
            option="init",
        )

    if sentences:
        predictions = _predictions_among(arguments, sentences)
        task = ContractOnFile(
            _contract_of_sentences(sentences, predictions, label, score, positive),
            "; ".join(sentences),
            predictions,
        )
    elif init:
        _refuse_options(
            "does not go with --init, which only writes a contract.",
            {
                "baseline": baseline,
                "undecided": undecided,
                "junit": junit,
                "markdown": markdown,
                "invert": invert or None,
            },
        )
        path = output or Path("quality.toml")
        predictions = _predictions_of_first_contract(arguments)
        _write_first_contract(predictions, path, label, score, positive)
        task = ContractOnFile(read_contract(str(path)), str(path), predictions)
    else:
        _refuse_many(arguments)
        _refuse_options(
            "goes with --init or a requirement; a check reads it in the contract.",
            {"label": label, "score": score, "positive": positive, "output": output},
        )
        name, predictions = _contract_and_predictions(arguments)
        task = ContractOnFile(read_contract(name), name, predictions)

    if undecided is not None:
        choice(undecided, ("report", "pass", "fail"), "--undecided")

    check, counts_note, about_data = _check_file(
        task.contract, task.predictions, baseline, invert
    )

    if junit is not None:
        _write(junit, check.to_junit())
    if markdown is not None:
        _write(markdown, check.to_markdown())

    finding = requirements(check, counts_note, undecided or task.contract.undecided)

    return command_answer(
        finding,
        chart=lambda: trueness.plots.check_verdicts.figure_data(check),
        about=about_data,
        code=finding.numbers["exit_code"],
        contract=task.name,
    )


def _refuse_many(arguments: Sequence[str]) -> None:
    """Raise an error for more than a contract and a file of predictions."""
    if len(arguments) > 2:
        raise InputError(
            "A check needs one contract and one file of predictions, or requirements "
            f'such as "auc >= 0.7"; found {listing(arguments)}.'
        )


def _contract_and_predictions(arguments: Sequence[str]) -> tuple[str, str]:
    """Return the contract and the predictions, which may stand in either order."""
    if len(arguments) < 2:
        raise InputError(
            "A check needs a contract and predictions. Type trueness check "
            "quality.toml predictions.parquet."
        )

    first, second = arguments
    return (second, first) if _is_contract(second) else (first, second)


def _predictions_of_first_contract(arguments: Sequence[str]) -> str:
    """Return the predictions that a first contract is written from."""
    _refuse_many(arguments)
    return (
        arguments[0] if len(arguments) == 1 else _contract_and_predictions(arguments)[1]
    )


def _is_requirement(argument: str) -> bool:
    """Return whether this is a sentence such as "auc >= 0.7", and no file."""
    return any(sign in argument for sign in "<>") and not Path(argument).exists()


def _is_contract(argument: str) -> bool:
    """Return whether this is the name of a contract."""
    return Path(argument).suffix.lower() == ".toml"


def _predictions_among(arguments: Sequence[str], sentences: Sequence[str]) -> str:
    """Return the one file among the arguments, beside the requirements."""
    files = [argument for argument in arguments if argument not in sentences]
    if len(files) != 1 or _is_contract(files[0]):
        raise InputError(
            "Requirements need one file of predictions; found "
            f"{listing(files) or 'none'}. Type trueness check predictions.csv "
            f'"{sentences[0]}".'
        )

    return files[0]


def _contract_of_sentences(
    sentences: Sequence[str],
    file: str,
    label: str | None,
    score: str | None,
    positive: str | None,
) -> Contract:
    """Return the requirements that were typed; the columns are named, or found."""
    source = open_source(file)
    are_of_attempts = any(sentence.startswith("pass_") for sentence in sentences)
    if are_counts(source.types) or are_of_attempts:
        typed_requirements = tuple(map(read_requirement, sentences))
        return Contract(
            typed_requirements, label=label, score=score, path="requirements"
        )

    request = _choose_score(source, label, score, positive)
    say_what_was_taken(source, request, "score")
    column = request.scores[0]
    read = read_requirement
    if is_test(source.table, column):
        read = requirement_of_test

    return Contract(
        tuple(read(sentence) for sentence in sentences),
        label=request.label,
        score=column,
        positive=request.positive,
        path="requirements",
    )


def _choose_score(
    source: Source, label: str | None, score: str | None, positive: str | None
) -> Request:
    """Return the columns of labels and scores: those named, or those found."""
    columns_named = Request(
        label=label, scores=() if score is None else (score,), positive=positive
    )
    return choose_columns(source, columns_named, option="score", guess=one_score)


def _refuse_options(reason: str, typed_options: Mapping[str, object]) -> None:
    """Raise an error for an option that was typed and would be ignored."""
    for name, value in typed_options.items():
        if value is not None:
            raise InputError(f"--{name} {reason}", option=name)


def _write(path: Path, text: str) -> None:
    """Write a text to a file, and say so."""
    write_text(path, text.rstrip("\n"))
    say(f"Written to {path}.")


def _check_file(
    contract: Contract, file: str, baseline: str | None, invert: bool
) -> FileCheck:
    """Return the check of a file: of attempts where metrics are theirs, or scores."""
    if any(of_attempts(requirement.metric) for requirement in contract.requirements):
        _refuse_options(
            "is for scores; attempts have none.", {"invert": invert or None}
        )
        return _check_log(contract, file, baseline)
    return _check_predictions(contract, file, baseline, invert)


def _check_predictions(
    contract: Contract, file: str, baseline: str | None, invert: bool
) -> FileCheck:
    """Return the check of the predictions of a file: of all cases, and of groups."""
    data, count = evidence_of(contract, file, baseline, invert)
    evidence = count(None)
    columns_of_groups = dict.fromkeys(
        requirement.by for requirement in contract.requirements if requirement.by
    )
    groups = {by: count(by) for by in columns_of_groups}
    check = _check_evidence(contract, evidence, groups)
    about_data = about(data, evidence.tally)
    return FileCheck(check, cases_note(evidence.tally), about_data)


def _check_evidence(
    contract: Contract, evidence: Evidence, groups: dict[str, Any]
) -> Check:
    """Return the verdict on each requirement of a contract."""
    return check_all(
        evidence,
        contract.requirements,
        groups=groups,
        level=contract.level,
        adjust=contract.adjust,
    )


def _check_log(contract: Contract, file: str, baseline: str | None) -> FileCheck:
    """Return the check of the attempts of a log, or of a table of attempts."""
    columns = AttemptColumns(
        item=contract.key, passed=contract.label, cluster=contract.cluster
    )
    logs = {"the log": read_evals(file)}

    if baseline:
        logs["the baseline"] = read_evals(baseline)

    evidence = _count_log(logs, columns)
    columns_of_systems = [system_column(log) for log in logs.values()]
    names = [*columns.names, *filter(None, columns_of_systems)]

    groups: dict[str, dict[str, Evidence]] = {}
    for requirement in contract.requirements:
        by = requirement.by
        if by and by not in groups:
            groups[by] = {
                group: _count_log(log_of_group, columns)
                for group, log_of_group in logs_by_value(logs, by, names).items()
            }

    check = _check_evidence(contract, evidence, groups)
    about_data = about_attempts([file], columns, [evidence.tally])

    counts_note = note("said", text=f"{evidence.tally}.")
    return FileCheck(check, counts_note, about_data)


def _count_log(logs: dict[str, Any], columns: AttemptColumns) -> Evidence:
    """Count the attempts of the one system of a log, and those of its baseline."""
    counts = []
    for log in logs.values():
        attempts = replace(columns, system=system_column(log)).count(log)
        attempts = _only_system(attempts)
        if isinstance(attempts, dict):
            raise InputError(
                "A contract is about one system; the log holds "
                f"{', '.join(attempts)}. Give the log of one of them, and that of "
                "another as --baseline."
            )

        counts.append(attempts)

    return Evidence.of(*counts)


def _only_system(attempts: Any) -> Any:
    """Return the attempts of the one system in a table; several stay several."""
    if isinstance(attempts, dict) and len(attempts) == 1:
        return next(iter(attempts.values()))
    return attempts


def _write_first_contract(
    file: str, path: Path, label: str | None, score: str | None, positive: str | None
) -> None:
    """Write a first contract with what these data can prove."""
    source = open_source(file)
    request = _choose_score(source, label, score, positive)
    score_column = request.scores[0]
    rows, missing = with_scores(source, score_column)
    counts = tally(
        rows, label=request.label, score=score_column, positive=request.positive
    )

    if path.exists():
        raise InputError(
            f"{path} exists already. Choose another file with -o.", option="output"
        )

    text = first_contract(
        counts,
        request.label or "label",
        score_column,
        positive=request.positive,
        missing=missing,
    )
    _write(path, text)
