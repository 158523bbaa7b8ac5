"""How good are tests and judges, and how common is what they look for?

A wide table has a row per answer and a column per judge; a long one a row per verdict.
Logs are read by ``data/verdict_logs.py``. Labels may come from a file of their own.
The workbench reads verdicts here too: ``as_wide`` makes a wide table of any kind,
``data_of_judges`` says which columns of it are meant.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Annotated, Any, final

import typer

import trueness
from trueness._core.checks.errors import InputError, NotEnoughCases
from trueness._core.checks.options import choice
from trueness._core.progress import progress
from trueness.cli import _shell as shell
from trueness.cli import options
from trueness.cli._columns import FileData, choose_columns, count_panel, with_verdicts
from trueness.cli._file_data import refuse_design, say_what_was_taken
from trueness.cli._source import (
    Source,
    existing_column,
    in_memory,
    is_local,
    memory_engine,
    names_of,
    open_source,
)
from trueness.counts.values import Panel
from trueness.data.column_roles import Guess, label_of_judged, not_found, votes_among
from trueness.data.data_tables import DataTable
from trueness.data.engines import quoted, reading, text_in_sql
from trueness.data.verdict_logs import CLUSTER, ITEM, SYSTEM, is_log, read_verdicts
from trueness.findings.request import Request
from trueness.findings.without_labels import ONLY_SYSTEM, judges_page, pass_rates
from trueness.nogold.label_plans import plan_labels
from trueness.nogold.rate import Rate, prevalence
from trueness.nogold.rate_comparison import RateComparison, compare_prevalence
from trueness.nogold.verdicts import LABELLED

MAX_JUDGES = 30  # of a table with a row per verdict
_ITEM_NUMBER = "trueness_item"


@final
@dataclass(frozen=True)
class WideTable:
    """Verdicts as a table with a row per answer, and what its columns are."""

    source: Source
    judges: tuple[str, ...]
    item: str | None
    system: str | None


def open_verdicts(
    file: str, threads: int | None = None
) -> tuple[Source, tuple[str, ...]]:
    """Open a table, or a log with the names of its judges."""
    if not (is_local(file) and is_log(file)):
        return open_source(file, threads=threads), ()

    import pyarrow as pa

    log = read_verdicts(file)
    columns = {
        name: pa.array(values.tolist(), from_pandas=True)
        for name, values in log.columns.items()
    }
    return Source(file, in_memory(pa.table(columns))), log.judges


def column_in_log(source: Source, name: str) -> str | None:
    """Name a column of a log: the item always, the system if there are several."""
    if name == ITEM:
        return ITEM
    return SYSTEM if len(source.distinct(SYSTEM, 2)) > 1 else None


def repeats_column_of_log(source: Source, judges_of_log: tuple[str, ...]) -> str | None:
    """Name the column that says which answers are repeats of an item, of a log."""
    return CLUSTER if judges_of_log and CLUSTER in source.types else None


def as_wide_table(
    source: Source,
    judges_of_log: tuple[str, ...],
    *,
    judge: Sequence[str] | None,
    verdict: str | None,
    item: str | None,
    system: str | None,
    label: str | None,
    labels: str | None = None,
) -> WideTable:
    """Return verdicts as a table with a row per answer and a column per judge."""
    if judges_of_log:
        item = item or column_in_log(source, "item")
        system = system or column_in_log(source, "system")

    existing_column(source, item, "--item")
    existing_column(source, system, "--system")
    judges = tuple(judge or judges_of_log)

    if verdict is not None:
        existing_column(source, verdict, "--verdict")
        if len(judges) != 1 or item is None:
            raise InputError(
                "A table with one row per verdict needs a column of items and one "
                "column with the names of the judges.",
                option="item" if item is None else "judge",
                example="COLUMN",
            )

        source, judges = pivot_verdicts(
            source,
            judge=str(existing_column(source, judges[0], "--judge")),
            verdict=verdict,
            item=item,
            system=system,
            label=None if labels else existing_column(source, label, "--label"),
        )

    if labels is not None:
        if item is None or label is None:
            raise InputError(
                "A file of labels needs the column of the items and of the labels.",
                option="item" if item is None else "label",
                example="COLUMN",
            )
        source = with_labels(source, labels, item=item, system=system, label=label)

    return WideTable(source, judges, item, system)


def data_of_judges(
    wide: WideTable,
    *,
    label: str | None,
    positive: str | None,
    count: str | None,
    cluster: str | None,
    level: float,
    seed: int,
) -> FileData:
    """Return the columns of verdicts and labels, and the value that means yes."""
    source = wide.source
    system = wide.system
    existing_column(source, label, "--label")
    existing_column(source, cluster, "--cluster")

    if system is not None:
        missing_and_all = f"count_if({quoted(system)} IS NULL), count(*)"
        ((rows_without_system, rows),) = source.rows.aggregate(
            missing_and_all
        ).fetchall()
        if rows_without_system:
            raise InputError(
                f"system must name a system for every answer; column {system!r} is "
                f"empty in {rows_without_system:,} of {rows:,} rows.",
                option="system",
            )

    if label is not None and source.types[label] != "VARCHAR":
        positive = positive if _is_value(source, label, positive) else None

    request = choose_columns(
        source,
        Request(
            label=label,
            scores=wide.judges,
            positive=positive if label is not None else None,
            count=count,
            by=system,
            cluster=cluster,
            level=level,
            rng=seed,
        ),
        option="judge",
        guess=guess_judges,
        needs_label=False,
    )
    say_what_was_taken(source, request, "judge")

    return FileData(source, request, source.rows)


def word_for_yes(data: FileData, yes: str | None) -> str | None:
    """Return the word for yes if it is a verdict; None if only labels have it."""
    source = data.source
    label = data.request.label
    are_words = any(source.types[name] == "VARCHAR" for name in data.request.scores)
    if are_words or label is None or not _is_value(source, label, yes):
        return yes
    return None


def _is_value(source: Source, label: str, positive: str | None) -> bool:
    """Return whether a label of numbers or truth values has this word for yes."""
    return positive is not None and any(
        str(value).lower() == positive.lower() for value in source.distinct(label, 2)
    )


def _guess_of_verdicts(question: str, option: str, least: int) -> Guess:
    """Take every other column when all of them hold 0 and 1 only."""

    def guess(table: DataTable, taken: set[str | None]) -> tuple[str, ...]:
        votes = votes_among(table, taken)
        if len(votes) >= least:
            return votes
        raise not_found(question, table, option)

    return guess


guess_judges = _guess_of_verdicts(
    "Which columns hold the judges' verdicts?", "judge", 1
)
guess_votes = _guess_of_verdicts("Which columns hold the verdicts?", "vote", 2)


def _check_one_label_each(source: Source, keys: Sequence[str], label: str) -> None:
    """Raise an error where the rows of one answer have different labels."""
    by = ", ".join(map(quoted, keys))
    counts = f"{by}, count(DISTINCT {quoted(label)}) AS trueness_n"
    answers_with_several = source.rows.aggregate(counts, by).filter("trueness_n > 1")
    for item, *_ in answers_with_several.limit(1).fetchall():
        raise InputError(
            f"Item {item!r} has different labels in column {label!r}. All "
            "verdicts on one answer must have the same label."
        )


def pivot_verdicts(
    source: Source,
    *,
    judge: str,
    verdict: str,
    item: str,
    system: str | None,
    label: str | None,
) -> tuple[Source, tuple[str, ...]]:
    """Return a table with a row per answer and a column per judge, and the judges.

    The table that it is made from has a row per verdict.
    """
    names = [str(name) for name in source.distinct(judge, MAX_JUDGES)]
    if len(names) > MAX_JUDGES:
        raise InputError(
            f"The column of the judges may name up to {MAX_JUDGES} of them; {judge!r} "
            f"has more: {names_of(names, 3)}. Does that column hold the items?",
            option="judge",
        )

    keys = [item] if system is None else [item, system]
    _check_each_case_once(source, [*keys, judge], "verdict")

    if label is not None:
        _check_one_label_each(source, keys, label)

    names_of_columns = [name for name in names if name in (*keys, label)]
    if names_of_columns:
        raise InputError(
            f"The judge {names_of_columns[0]!r} has the name of a column. Rename that "
            "column."
        )

    with reading():
        rows = source.rows.aggregate(*wide_sql(names, judge, verdict, keys, label))
        return Source(source.name, in_memory(rows.to_arrow_table())), tuple(names)


def wide_sql(
    names: Sequence[str], judge: str, verdict: str, keys: Sequence[str],
    label: str | None,
) -> tuple[str, str]:  # fmt: skip
    """Write the columns of a wide table, and by what a long one is grouped for it."""
    cells = [
        f"max(CASE WHEN CAST({quoted(judge)} AS VARCHAR) = {text_in_sql(n)} THEN "
        f"{quoted(verdict)} END) AS {quoted(n)}"
        for n in names
    ]

    if label is not None:
        cells.append(f"max({quoted(label)}) AS {quoted(label)}")

    by = ", ".join(map(quoted, keys))
    return f"{by}, {', '.join(cells)}", by


def first_repeated_case(source: Source, keys: Sequence[str]) -> tuple[Any, ...] | None:
    """Which case occurs twice? Its keys and how often; None when all occur once."""
    by = ", ".join(map(quoted, keys))
    counts_of_cases = source.rows.aggregate(f"{by}, count(*) AS trueness_n", by)
    rows = counts_of_cases.filter("trueness_n > 1").limit(1).fetchall()
    return tuple(rows[0]) if rows else None


def _check_each_case_once(source: Source, keys: Sequence[str], row_kind: str) -> None:
    """Raise an error where a case occurs twice: it is open which one is meant."""
    repeated = first_repeated_case(source, keys)
    if repeated is not None:
        *case, number = repeated
        place = ", ".join(
            f"{column} {value!r}" for column, value in zip(keys, case, strict=True)
        )
        raise InputError(
            f"There are {number} rows for {place} in {source.name}; expected one "
            f"{row_kind}. If the rows are different answers, name the column of items "
            "or systems.",
            option="item",
        )


def with_labels(
    source: Source, file: str, *, item: str, system: str | None, label: str
) -> Source:
    """Join labels from another file, by item and where it has them by system."""
    labels_source = open_source(file)
    keys = [str(existing_column(labels_source, item, "--item"))]

    if system is not None and system in labels_source.types:
        keys.append(system)

    existing_column(labels_source, label, "--label")
    _check_each_case_once(labels_source, keys, "label")

    if label in source.types:
        raise InputError(
            f"Both {source.name} and {file} have a column {label!r}. Leave out "
            f"--labels, or rename one of them."
        )

    existing_column(source, item, "--item")
    # as text: one file may have numbers where the other has words
    key_names = []
    keys_as_text = []
    for number, key in enumerate(keys):
        key_names.append(f"k{number}")
        keys_as_text.append(f"CAST({quoted(key)} AS VARCHAR) AS k{number}")

    key_columns = ", ".join(keys_as_text)
    joined_by = ", ".join(key_names)

    memory = memory_engine().cursor()
    answers_table = source.rows.project(f"*, {key_columns}").to_arrow_table()
    labels_table = labels_source.rows.project(
        f"{key_columns}, {quoted(label)}"
    ).to_arrow_table()
    answers = memory.from_arrow(answers_table)
    labels = memory.from_arrow(labels_table)

    with reading():
        if not labels.join(answers, joined_by, how="semi").limit(1).fetchall():
            raise InputError(
                f"No {item} of {file} is one of {source.name}. Do both files name "
                "their items in the same way?"
            )

        columns = ", ".join(quoted(name) for name in (*source.types, label))
        rows = answers.join(labels, joined_by, how="left").project(columns)
        return Source(source.name, in_memory(rows.to_arrow_table()))


def judge_command(
    file: options.File,
    judge: Annotated[
        list[str] | None,
        options.column(
            "--judge",
            help="Column with the verdicts of a judge, 0 and 1 or grades; repeat it "
            "for each. With --verdict, the column with the names of the judges.",
        ),
    ] = None,
    label: options.Label = None,
    labelled: Annotated[
        str | None,
        typer.Option(
            "--labelled",
            metavar="HOW",
            help='How the labelled cases were chosen: random, "by verdict" or "by '
            'truth".',
        ),
    ] = None,
    system: Annotated[
        str | None,
        options.column("--system", help="Column with the systems to compare."),
    ] = None,
    item: Annotated[
        str | None,
        options.column("--item", help="Column with the items that were answered."),
    ] = None,
    cluster: Annotated[
        str | None,
        options.column(
            "--cluster",
            help="Column with the item of repeated answers (epochs, attempts); not "
            "needed for a log.",
        ),
    ] = None,
    verdict: Annotated[
        str | None,
        options.column(
            "--verdict",
            help="Column with the verdicts, in a table with one row per verdict.",
        ),
    ] = None,
    yes: options.Yes = None,
    abstain: Annotated[
        list[str] | None,
        typer.Option(
            "--abstain",
            metavar="VALUE",
            help="Verdict that counts as missing, such as unsure; repeat it for "
            "several.",
        ),
    ] = None,
    labels: Annotated[
        str | None,
        typer.Option(
            "--labels", metavar="FILE", help="File with the labels, joined by --item."
        ),
    ] = None,
    next: Annotated[
        int,
        typer.Option(
            "--next",
            metavar="NUMBER",
            help="List this number of cases to label next.",
        ),
    ] = 0,
    half_width: Annotated[
        float | None,
        options.number(
            "--half-width",
            metavar="WIDTH",
            help=(
                "Wanted half-width of the interval; answers how many labels are needed."
            ),
        ),
    ] = None,
    output: options.ReportFile = None,
    positive: options.Positive = None,
    count: options.Count = None,
    weight: Annotated[str | None, options.unsupported("--weight")] = None,
    sampling: Annotated[str | None, options.unsupported("--sampling")] = None,
    prevalence: Annotated[str | None, options.unsupported("--prevalence")] = None,
    level: options.Level = 0.95,
    seed: options.Seed = 0,
    json: options.Json = False,
    plot: options.Plot = None,
    quiet: options.Quiet = False,
    debug: options.Debug = False,
) -> shell.CommandAnswer:
    r"""What is the true pass rate if judges make errors? Reads tables and logs.

    Example:
    trueness judge sample:judges --judge skywork_gemma_27b \
        --judge internlm2_20b --label human --labelled random
    """
    refuse_design(
        "judge",
        "prevalence",
        {"weight": weight, "sampling": sampling, "prevalence": prevalence},
    )

    if labelled is not None:
        choice(labelled, LABELLED, "--labelled")

    with progress("Reading", unit=""):
        source, judges_of_log = open_verdicts(file)

        if label is None and labels is None and not judge:
            label = _label_of_some_cases(source)

        cluster = cluster or repeats_column_of_log(source, judges_of_log)
        wide = as_wide_table(
            source,
            judges_of_log,
            judge=judge,
            verdict=verdict,
            item=item,
            system=system,
            label=label,
            labels=labels,
        )
        data = data_of_judges(
            wide,
            label=label,
            positive=positive or yes,
            count=count,
            cluster=cluster,
            level=level,
            seed=seed,
        )
        data = with_verdicts(data, word_for_yes(data, yes), abstain or ())
        panel = count_panel(data)
        systems = count_panel(data, by=True) if data.request.by else {}

    panels = {
        str(name): panel_of_system for name, panel_of_system in systems.items()
    } or {ONLY_SYSTEM: panel}

    with progress("Estimating the pass rate", unit=""):
        rates = rates_of(panels, labelled, level, seed)
        comparison = compare_systems(data, panels, rates, wide.item, labelled)
        plans = {
            name: _label_plans(rate, panels[name], next, half_width)
            for name, rate in rates.items()
        }

    if output is not None:
        page = judges_page(rates, panels, comparison, source=wide.source.name)
        shell.write_report(page, output)

    return shell.command_answer(
        pass_rates(rates, comparison, plans),
        chart=lambda: _chart(rates),
        about=shell.about(data, panel),
    )


def _label_of_some_cases(source: Source) -> str | None:
    """Return the column of the labels of some cases; say so where there is one."""
    label = label_of_judged(source.table)
    if label is not None:
        shell.say(f"Using label {names_of([label])}, which is empty in most rows.")
    return label


def _label_plans(
    rate: Rate, panel: Panel, number: int, half_width: float | None
) -> dict[str, Any]:
    """Say which cases to label next, and how many labels an interval takes."""
    plans: dict[str, Any] = {}
    if number:
        plans["next"] = rate.label_next(number)

    if half_width is not None:
        plans["needed"] = plan_labels(
            panel.without_clusters(), half_width=half_width, level=rate.level
        )

    return plans


def _chart(rates: Mapping[str, Rate]) -> Any:
    if len(rates) > 1:
        return trueness.plots.judge_rates.figure_data(rates)
    return trueness.plots.judge_plane.figure_data(*rates.values())


def rates_of(
    panels: Mapping[str, Panel], labelled: str | None, level: float, seed: int
) -> dict[str, Rate]:
    """Return the true rate of each system that has enough labels or judges."""

    def rate(panel: Panel) -> Rate:
        return prevalence(panel, labelled=labelled, level=level, rng=seed)

    if len(panels) == 1:
        return {system: rate(panel) for system, panel in panels.items()}

    rates = {
        system: rate_of_system
        for system, rate_of_system in shell.answer_each_group(panels, rate).items()
        if rate_of_system is not None
    }
    if not rates:
        raise NotEnoughCases("None of the systems has enough labels or judges.")
    return rates


def compare_systems(
    data: FileData,
    panels: Mapping[str, Panel],
    rates: Mapping[str, Rate],
    item: str | None,
    labelled: str | None,
) -> RateComparison | None:
    """Compare the systems, item by item where the items are named."""
    request = data.request
    panels_compared = {system: panels[system] for system in rates}
    if len(panels_compared) < 2:
        return None

    paired = item is not None and _can_be_paired(data, item)
    if item is not None and paired:
        number = f"dense_rank() OVER (ORDER BY {quoted(item)}) AS {_ITEM_NUMBER}"
        numbered = FileData(
            data.source,
            replace(request, scores=(*request.scores, _ITEM_NUMBER)),
            data.rows.project(f"*, {number}"),
        )
        by_system = count_panel(numbered, by=True)
        panels_compared = {
            str(system): panel
            for system, panel in by_system.items()
            if str(system) in panels_compared
        }

    comparison: RateComparison = compare_prevalence(
        panels_compared,
        item=_ITEM_NUMBER if paired else None,
        labelled=labelled,
        level=request.level,
        rng=request.rng,
    )

    return comparison


def _can_be_paired(data: FileData, item: str) -> bool:
    """Return whether each item occurs once in a system, with labels in all of them."""
    request = data.request
    # repeats of an item are no pairs
    if (
        request.label is None
        or request.count is not None
        or request.cluster is not None
    ):
        return False

    if first_repeated_case(data.source, (item, str(request.by))) is not None:
        shell.say(
            f"Some items of column {item!r} occur several times in a system, so the "
            "comparison is unpaired."
        )
        return False

    return True
