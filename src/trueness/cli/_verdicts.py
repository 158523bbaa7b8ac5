"""Which verdicts does a file hold? Wide tables, long ones and logs become one kind.

A wide table has a row per answer and a column per judge; a long one a row per verdict.
Logs are read by ``data/verdict_logs.py``. Labels may come from a file of their own.
The command ``judge`` and the workbench read verdicts here: ``as_wide`` makes a wide
table of any kind, ``request_of`` says which columns of it are meant.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import duckdb

from trueness._core.checks.errors import InputError
from trueness.cli._columns import Request, choose, votes_among
from trueness.cli._shell import say
from trueness.cli._source import (
    Source,
    in_memory,
    is_local,
    known,
    names_of,
    open_source,
    unnamed,
)
from trueness.data.engines import quoted, reading, text_in_sql
from trueness.data.verdict_logs import CLUSTER, ITEM, SYSTEM, is_log, read_verdicts

MOST_JUDGES = 30


def open_verdicts(
    file: str, threads: int | None = None
) -> tuple[Source, tuple[str, ...]]:
    """Open a table, or a log with the names of its judges."""
    if not (is_local(file) and is_log(file)):
        return open_source(file, threads=threads), ()
    import pyarrow as pa

    log = read_verdicts(file)
    columns = {
        k: pa.array(v.tolist(), from_pandas=True) for k, v in log.columns.items()
    }
    return Source(file, in_memory(pa.table(columns))), log.judges


def in_log(source: Source, name: str) -> str | None:
    """Name a column of a log: the item always, the system if there are several."""
    if name == ITEM:
        return ITEM
    return SYSTEM if len(source.distinct(SYSTEM, 2)) > 1 else None


def repeats_in_log(source: Source, of_log: tuple[str, ...]) -> str | None:
    """Name the column that says which answers are repeats of an item, of a log."""
    return CLUSTER if of_log and CLUSTER in source.types else None


def as_wide(
    source: Source,
    of_log: tuple[str, ...],
    judge: Sequence[str] | None,
    verdict: str | None,
    item: str | None,
    system: str | None,
    label: str | None,
    labels: str | None = None,
) -> tuple[Source, tuple[str, ...], str | None, str | None]:
    """Make a wide table: a row per answer, a column per judge; name them, too."""
    if of_log:
        item = item or in_log(source, "item")
        system = system or in_log(source, "system")
    known(source, item, "--item")
    known(source, system, "--system")
    named = tuple(judge or of_log)
    if verdict is not None:
        known(source, verdict, "--verdict")
        if len(named) != 1 or item is None:
            raise InputError(
                "--verdict is for a table with a row per verdict, which needs --item "
                "COLUMN and one --judge COLUMN with the names of the judges."
            )
        source, named = widened(
            source,
            judge=str(known(source, named[0], "--judge")),
            verdict=verdict,
            item=item,
            system=system,
            label=None if labels else known(source, label, "--label"),
        )
    if labels is not None:
        if item is None or label is None:
            raise InputError("--labels needs --item COLUMN and --label COLUMN.")
        source = with_labels(source, labels, item=item, system=system, label=label)
    return source, named, item, system


def request_of(
    source: Source,
    named: tuple[str, ...],
    label: str | None,
    positive: str | None,
    count: str | None,
    system: str | None,
    level: float,
    seed: int,
    cluster: str | None = None,
) -> Request:
    """Which columns hold verdicts and labels, and which value means yes?"""
    known(source, label, "--label")
    known(source, cluster, "--cluster")
    if system is not None:
        gone = f"count_if({quoted(system)} IS NULL), count(*)"
        ((lost, n),) = source.rows.aggregate(gone).fetchall()
        if lost:
            raise InputError(
                f"--system must name a system for every answer; column {system!r} is "
                f"empty in {lost:,} of {n:,} rows."
            )
    if label is not None and source.types[label] != "VARCHAR":
        positive = positive if _is_value(source, label, positive) else None
    chosen = choose(
        source,
        option="judge",
        scores=named,
        guess=guess_judges,
        label=label,
        positive=positive if label is not None else None,
        count=count,
        by=system,
        cluster=cluster,
        needs_label=False,
    )
    if chosen.guessed:
        say(f"Using {' and '.join(chosen.guessed)}: no other column fits.")
    return Request(source, chosen, source.rows, level, seed)


def for_verdicts(request: Request, yes: str | None) -> str | None:
    """Is the word for yes one of the verdicts, or of the labels only?"""
    source, chosen = request.source, request.chosen
    words = any(source.types[c] == "VARCHAR" for c in chosen.scores)
    if words or chosen.label is None or not _is_value(source, chosen.label, yes):
        return yes
    return None


def _is_value(source: Source, label: str, positive: str | None) -> bool:
    """Is the word for yes a value of a label that holds numbers or truth values?"""
    return positive is not None and any(
        str(v).lower() == positive.lower() for v in source.distinct(label, 2)
    )


def guess_judges(source: Source, taken: set[str | None]) -> tuple[str, ...]:
    """Take every other column when all of them hold 0 and 1 only."""
    if found := votes_among(source, taken):
        return found
    question = "Which columns hold the verdicts of judges?"
    raise unnamed(question, source, "--judge NAME for each")


def widened(
    source: Source, *, judge: str, verdict: str, item: str, system: str | None,
    label: str | None,
) -> tuple[Source, tuple[str, ...]]:  # fmt: skip
    """Make a row per answer of a row per verdict; give the names of the judges, too."""
    names = [str(n) for n in source.distinct(judge, MOST_JUDGES)]
    if len(names) > MOST_JUDGES:
        raise InputError(
            "--judge names the column of the judges, of which there may be "
            f"{MOST_JUDGES}; {judge!r} has more: {names_of(names, 3)}. Does that "
            "column hold the items?"
        )
    keys = [item] if system is None else [item, system]
    _once(source, [*keys, judge], "verdict")
    if label is not None:
        by = ", ".join(map(quoted, keys))
        counts = f"{by}, count(DISTINCT {quoted(label)}) AS trueness_n"
        differ = source.rows.aggregate(counts, by).filter("trueness_n > 1").limit(1)
        for item_, *_ in differ.fetchall():
            raise InputError(
                f"Item {item_!r} has different labels in column {label!r} in rows of "
                f"different judges. A label belongs to the answer, not to the verdict."
            )
    clash = [n for n in names if n in (*keys, label)]
    if clash:
        raise InputError(
            f"The judge {clash[0]!r} has the name of a column. Rename that column."
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


def first_twice(source: Source, keys: Sequence[str]) -> tuple[Any, ...] | None:
    """Which case occurs twice? Its keys and how often; None when all occur once."""
    by = ", ".join(map(quoted, keys))
    twice = source.rows.aggregate(f"{by}, count(*) AS trueness_n", by)
    found = twice.filter("trueness_n > 1").limit(1).fetchall()
    return tuple(found[0]) if found else None


def _once(source: Source, keys: Sequence[str], what: str) -> None:
    """Stop where a case occurs twice: nobody knows which of both is meant."""
    found = first_twice(source, keys)
    if found is not None:
        *case, number = found
        where = ", ".join(f"{k} {v!r}" for k, v in zip(keys, case, strict=True))
        raise InputError(
            f"There are {number} rows for {where} in {source.name}; one {what} was "
            f"expected. If rows are different answers, name them with --item or "
            f"--system."
        )


def with_labels(
    source: Source, file: str, *, item: str, system: str | None, label: str
) -> Source:
    """Join labels from another file, by item and where it has them by system."""
    other = open_source(file)
    keys = [str(known(other, item, "--item"))]
    if system is not None and system in other.types:
        keys.append(system)
    known(other, label, "--label")
    _once(other, keys, "label")
    if label in source.types:
        raise InputError(
            f"Both {source.name} and {file} have a column {label!r}. Leave out "
            f"--labels, or rename one of them."
        )
    known(source, item, "--item")
    text = ", ".join(
        f"CAST({quoted(k)} AS VARCHAR) AS k{i}" for i, k in enumerate(keys)
    )
    left = source.rows.project(f"*, {text}").set_alias("l")
    memory = duckdb.cursor()
    right = memory.from_arrow(
        other.rows.project(f"{text}, {quoted(label)}").to_arrow_table()
    )
    left = memory.from_arrow(left.to_arrow_table())
    on = ", ".join(f"k{i}" for i in range(len(keys)))
    with reading():
        matched = (
            right.join(left, on, how="semi").aggregate("count(*)").fetchall()[0][0]
        )
        if not matched:
            raise InputError(
                f"No {item} of {file} is one of {source.name}. Do both files use the "
                "same names for items?"
            )
        rows = left.join(right, on, how="left")
        columns = ", ".join(quoted(c) for c in (*source.types, label))
        return Source(source.name, in_memory(rows.project(columns).to_arrow_table()))


def numbered(rows: Any, item: str, name: str) -> Any:
    """Add the number of each item, so that systems can be compared item by item."""
    return rows.project(f"*, dense_rank() OVER (ORDER BY {quoted(item)}) AS {name}")
