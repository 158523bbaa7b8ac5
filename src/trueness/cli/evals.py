"""How often do systems pass? Logs of evaluations, and tables of attempts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, Any, final

import numpy as np
import typer

import trueness
from trueness._core.checks.errors import InputError
from trueness._core.checks.words import listing
from trueness._core.progress import progress
from trueness.cli import _shell as shell
from trueness.cli import options
from trueness.cli._source import existing_column, open_source, sample_path
from trueness.data.eval_rows import (
    columns_of_evals,
    names_of_evals,
    read_evals,
    rows_of_evals,
)
from trueness.data.named_roles import (
    ITEM_NAMES,
    column_called,
    find_attempts,
    find_winners,
    read_winners,
    table_of,
)
from trueness.data.verdict_logs import SYSTEM, VerdictLog, is_log
from trueness.evals.attempts import Attempts
from trueness.evals.wins import head_to_head
from trueness.findings.systems import evals_page, how_often
from trueness.findings.verdict_tables import who_wins


@final
@dataclass(frozen=True)
class AttemptColumns:
    """Which columns hold attempts, and when an attempt passes."""

    item: str | None = None
    passed: str | None = None
    system: str | None = None
    cluster: str | None = None
    threshold: float | None = None  # grade from which on an attempt passes
    missing_scores: str = "drop"  # attempts without a verdict

    @property
    def names(self) -> list[str]:
        """Return the columns that were named."""
        columns = (self.item, self.passed, self.system, self.cluster)
        return [name for name in columns if name is not None]

    def count(self, data: Any) -> Any:
        """Count the attempts of a log or a table; of each system, if it has several."""
        return trueness.attempts(
            data,
            item=self.item,
            passed=self.passed,
            system=self.system,
            cluster=self.cluster,
            threshold=self.threshold,
            missing_scores=self.missing_scores,
        )


Logs = Annotated[
    list[str],
    typer.Argument(
        help="Logs of Inspect, promptfoo, DeepEval or the lm-evaluation-harness, or "
        "tables with a row per attempt; several are compared.",
        metavar="LOG...",
        show_default=False,
    ),
]


def evals_command(
    log: Logs,
    item: Annotated[
        str | None,
        options.column("--item", help="Column with the items; not needed for a log."),
    ] = None,
    passed: Annotated[
        str | None,
        options.column(
            "--passed",
            help="Column, or scorer of a log, with the verdict on each attempt.",
        ),
    ] = None,
    system: Annotated[
        str | None,
        options.column(
            "--system", help="Column with the systems; not needed for a log."
        ),
    ] = None,
    cluster: Annotated[
        str | None,
        options.column("--cluster", help="Column with clusters of related items."),
    ] = None,
    by: Annotated[
        str | None,
        options.column(
            "--by",
            help="Column with groups of items, such as task: adds a rate for each.",
        ),
    ] = None,
    pass_at: Annotated[
        list[int] | None,
        typer.Option(
            "--pass-at",
            metavar="NUMBER",
            help="Adds pass@k: at least one of k attempts passes; takes several k.",
        ),
    ] = None,
    pass_hat: Annotated[
        list[int] | None,
        typer.Option(
            "--pass-hat",
            metavar="NUMBER",
            help="Adds pass^k: all of k attempts pass; takes several k.",
        ),
    ] = None,
    threshold: Annotated[
        float | None,
        options.number(
            "--threshold",
            help="Lowest grade that counts as passed, if verdicts are grades.",
        ),
    ] = None,
    missing_scores: Annotated[
        str,
        typer.Option(
            "--missing-scores",
            metavar="HOW",
            help=(
                "Attempts without a verdict: drop them, or count them as failed (fail)."
            ),
        ),
    ] = "drop",
    winner: Annotated[
        str | None,
        options.column(
            "--winner",
            help="Head to head: column with the system that won, or the word for a "
            "tie. --first and --second name the columns of both systems.",
            panel="Head to head",
        ),
    ] = None,
    first: Annotated[
        str | None,
        options.column("--first", help="The first system.", panel="Head to head"),
    ] = None,
    second: Annotated[
        str | None,
        options.column("--second", help="The second system.", panel="Head to head"),
    ] = None,
    tie: Annotated[
        str,
        typer.Option(
            "--tie",
            metavar="WORD",
            help="The word for a tie.",
            rich_help_panel="Head to head",
        ),
    ] = "tie",
    declaration: Annotated[
        Path | None,
        typer.Option(
            "--declaration",
            metavar="FILE",
            help="Declare the numbers of one system, with the counts that prove them, "
            "to this .html, .json or .md.",
            rich_help_panel=options.OUTPUT,
        ),
    ] = None,
    output: options.ReportFile = None,
    level: options.Level = 0.95,
    json: options.Json = False,
    plot: options.Plot = None,
    quiet: options.Quiet = False,
    debug: options.Debug = False,
) -> shell.CommandAnswer:
    """How often do systems pass? pass@k, paired tests, leaderboards, from logs.

    For head-to-head verdicts, --winner COLUMN: win rates with ties, and the sign test.

    Example:
    trueness evals sample:judges --item pair --passed truth --by kind
    """
    if winner is not None or (item is None and _holds_winners(log)):
        return _head_to_head(log, first, second, winner, tie, level)

    columns = AttemptColumns(
        item=item,
        passed=passed,
        system=system,
        cluster=cluster,
        threshold=threshold,
        missing_scores=missing_scores,
    )

    with progress("Counting", unit=""):
        logs = {place: read_evals(sample_path(place)) for place in log}
        columns = _with_columns_found(logs, columns)
        runs = _count_runs(logs, columns)
        logs_of_group = logs_by_value(logs, by or "", columns.names)
        groups = {
            group: _count_runs(log_of_group, columns)
            for group, log_of_group in logs_of_group.items()
        }

    with progress("Comparing", unit=""):
        finding = how_often(
            runs,
            groups=groups,
            level=level,
            pass_at=pass_at or (),
            pass_hat=pass_hat or (),
            by=by or "",
        )

    if declaration is not None:
        _declare(runs, log, declaration, level)

    shell.write_report(evals_page(finding, ", ".join(log)), output)

    return shell.command_answer(
        finding,
        chart=lambda: _chart(runs, finding.numbers["systems"], level),
        about=about_attempts(log, columns, list(runs.values()), by=by),
    )


def _holds_winners(log: Sequence[str]) -> bool:
    """Return whether this is one table of verdicts head to head, not of attempts."""
    if len(log) != 1 or is_log(sample_path(log[0])):
        return False
    columns = open_source(log[0]).types
    return find_winners(columns) is not None and not column_called(columns, ITEM_NAMES)


def _head_to_head(
    log: list[str],
    first: str | None,
    second: str | None,
    winner: str | None,
    tie: str,
    level: float,
) -> shell.CommandAnswer:
    """Return how systems compare by verdicts on pairs of answers."""
    if len(log) != 1:
        raise InputError(
            f"Head-to-head verdicts must be in one file; found {listing(log)}.",
            option="winner",
        )

    source = open_source(log[0])
    roles = find_winners(source.types, winner)
    if roles is None:  # asked for by a table that has one
        raise InputError("Which column names the winner?", option="winner")

    typed_names = {"winner": winner, "first": first, "second": second}
    for role, name in typed_names.items():
        if name is not None:
            existing_column(source, name, f"--{role}")
            roles = replace(roles, **{role: name})

    columns = {role: getattr(roles, role) for role in typed_names}
    firsts, seconds, winners = read_winners(source.rows, roles)
    result = head_to_head(firsts, seconds, winners, tie=tie, level=level)
    cases = len(winners)
    about_answer = shell.about_cases(source.name, columns, cases, 0, 0, cases)

    return shell.command_answer(who_wins(result, level), about=about_answer)


def _declare(
    runs: Mapping[str, Attempts], log: Sequence[str], path: Path, level: float
) -> None:
    """Write the declaration of the one system that a log is about."""
    if len(runs) != 1 or len(log) != 1:
        raise InputError(
            f"A declaration is about one system; found {listing(runs)}. Name the log "
            "of one system.",
            option="declaration",
        )

    ((system, attempts),) = runs.items()
    trueness.declare(
        attempts, path, title=system, source=sample_path(log[0]), level=level
    )
    shell.say(f"Declaration written to {path}.")


def _chart(runs: Mapping[str, Attempts], rates: Mapping[str, Any], level: float) -> Any:
    """Draw the leaderboard, or the pass rate of a single system."""
    if len(runs) > 1:
        return trueness.plots.pass_rates.figure_data(
            trueness.leaderboard(runs, level=level)
        )
    return trueness.plots.pass_rates.figure_data(next(iter(rates.values())))


def about_attempts(
    logs: list[str],
    columns: AttemptColumns,
    attempts: Sequence[Attempts],
    by: str | None = None,
) -> dict[str, Any]:
    """Return which files and columns, and how many attempts, an answer is about."""
    passed = sum(
        int(attempts_of_system.passed.sum()) for attempts_of_system in attempts
    )
    tried = sum(int(attempts_of_system.tried.sum()) for attempts_of_system in attempts)
    missing = sum(attempts_of_system.missing for attempts_of_system in attempts)

    return shell.about_cases(
        ", ".join(logs),
        {
            "label": columns.passed,
            "scores": [],
            "count": None,
            "weight": None,
            "cluster": columns.cluster,
            "by": by,
        },
        n=tried + missing,
        neg=tried - passed,
        pos=passed,
        unknown=missing,
    )


def _with_columns_found(
    logs: Mapping[str, Any], columns: AttemptColumns
) -> AttemptColumns:
    """Return the columns, completed by usual names; raise an error if in doubt."""
    for place, data in logs.items():
        unnamed = columns.item is None or columns.passed is None
        if not unnamed or isinstance(data, VerdictLog):
            continue

        roles = find_attempts(
            table_of(data),
            item=columns.item,
            passed=columns.passed,
            system=columns.system,
        )
        if roles is None:
            raise InputError(
                f"{place} is a table. Which columns hold the items and the verdicts?",
                option="item" if columns.item is None else "passed",
                choices=names_of_evals(data),
            )

        shell.say(roles.remark)
        columns = replace(
            columns, item=roles.item, passed=roles.passed, system=roles.system
        )

    return columns


def _count_runs(
    logs: Mapping[str, Any], columns: AttemptColumns
) -> dict[str, Attempts]:
    """Count every log; each is a system of its own unless it names several."""
    runs: dict[str, Attempts] = {}
    for place, data in logs.items():
        by_system = columns.count(data)
        if not isinstance(by_system, dict):
            by_system = {_system_name(place, logs): by_system}
        for name, attempts in by_system.items():
            # shards of one system add up
            runs[name] = runs[name] + attempts if name in runs else attempts

    return runs


def _system_name(place: str, logs: Mapping[str, Any]) -> str:
    """Return the name of a log of one system: its own, or that of its file."""
    if len(logs) == 1:
        return ""

    systems = {file: _systems_named(log) for file, log in logs.items()}
    each_names_one = all(len(names) == 1 and names[0] for names in systems.values())
    all_differ = len(set(systems.values())) == len(logs)
    if each_names_one and all_differ:
        return systems[place][0]

    stems = {Path(file).stem for file in logs}
    if len(stems) == len(logs):
        return Path(place).stem
    return place


def _systems_named(log: Any) -> tuple[str, ...]:
    """Return the systems that a log names; none for a table."""
    if not isinstance(log, VerdictLog):
        return ()
    return tuple(dict.fromkeys(map(str, log.columns[SYSTEM])))


def logs_by_value(
    logs: Mapping[str, Any], by: str, names: Sequence[str]
) -> dict[str, dict[str, Any]]:
    """Return, for each value of a column, the rows of each log that have it.

    ``names`` are the columns that the rows of a table keep.
    """
    if not by:
        return {}

    logs_of_value: dict[str, dict[str, Any]] = {}
    for place, data in logs.items():
        column_names = names_of_evals(data)
        if by not in column_names:
            raise InputError(
                f"{place} has no column {by!r}. It has {listing(column_names, 12)}.",
                option="by",
                choices=column_names,
            )

        column = columns_of_evals(data, [by])[by]
        values = np.array([str(value) for value in column])
        # in the order in which they first occur
        for value in dict.fromkeys(values.tolist()):
            rows = rows_of_evals(data, values == value, names)
            logs_of_value.setdefault(value, {})[place] = rows

    return logs_of_value
