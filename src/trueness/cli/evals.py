"""How often do systems pass, when the verdict is the truth?"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer

import trueness
from trueness._core.checks.errors import InputError
from trueness._core.checks.options import fraction
from trueness._core.checks.words import listing
from trueness._core.progress import progress
from trueness.cli._command import command
from trueness.cli._options import Level
from trueness.cli._shell import CommandAnswer, answered, say
from trueness.cli.report import command_line
from trueness.counts.design import PLAIN
from trueness.data.eval_rows import (
    attempts,
    columns_of_evals,
    read_evals,
    rows_of_evals,
)
from trueness.data.verdict_logs import SYSTEM, VerdictLog
from trueness.evals.attempts import Attempts
from trueness.evals.ranks import leaderboard
from trueness.findings.systems import evals_page, how_often

Logs = Annotated[
    list[str],
    typer.Argument(
        help="Logs of Inspect, promptfoo, DeepEval or the lm-evaluation-harness, or "
        "tables with a row per attempt; several are compared.",
        metavar="LOG...",
        show_default=False,
    ),
]


@command()
def evals(
    log: Logs,
    passed: str | None = None,
    item: str | None = None,
    system: str | None = None,
    cluster: str | None = None,
    by: str | None = None,
    pass_at: list[int] | None = None,
    pass_hat: list[int] | None = None,
    threshold: float | None = None,
    missing: str = "drop",
    output: Path | None = None,
    level: Level = 0.95,
) -> CommandAnswer:
    """How often do systems pass? pass@k, paired tests, leaderboards, from logs.

    --passed COLUMN: Column, or scorer of a log, that says whether an attempt passed.
    --item COLUMN: Column with the items; of a log it is known.
    --system COLUMN: Column with the systems; of a log it is known.
    --cluster COLUMN: Column that says which items belong together.
    --by COLUMN: Column with groups of items, such as task: also a rate for each.
    --pass-at NUMBER: Also how often one of so many attempts passes; repeat it.
    --pass-hat NUMBER: Also how often all of so many attempts pass; repeat it.
    --threshold: Grade from which on an attempt passes, if verdicts are grades.
    --missing HOW: Attempts without a verdict: drop, or fail.
    --output, -o FILE: Write a report with figures to this HTML file.

    Example: trueness evals sample:judges --item pair --passed truth --by kind
    """
    fraction(level, "--level")
    words: dict[str, Any] = {"item": item, "passed": passed, "system": system}
    words |= {"cluster": cluster, "threshold": threshold, "missing": missing}
    with progress("Counting", unit=""):
        logs = {place: read_evals(_place(place)) for place in log}
        _named(logs, item, passed)
        runs = _runs(logs, words)
        groups = {} if by is None else _groups(logs, words, by)
    with progress("Comparing", unit=""):
        found = how_often(
            runs,
            pass_at=pass_at or (),
            pass_hat=pass_hat or (),
            groups=groups,
            by=by or "",
            level=level,
        )
    if output is not None:
        from trueness.report.page import write_page  # Jinja2 is loaded when needed

        page = evals_page(found, ", ".join(log), command_line())
        say(f"{write_page(page, output)}.")
    drawn = next(iter(found.numbers["systems"].values()))
    if len(runs) > 1:
        drawn = leaderboard(runs, level=level)
    return answered(
        "evals",
        found,
        chart=lambda: trueness.plots.pass_rates(drawn),
        about=about_attempts(log, words | {"by": by}, list(runs.values())),
    )


def about_attempts(
    logs: list[str], words: Mapping[str, Any], parts: list[Attempts]
) -> dict[str, Any]:
    """Say which files and columns, and how many attempts, an answer is about."""
    passed, tried = (sum(int(getattr(a, k).sum()) for a in parts)
                     for k in ("passed", "tried"))  # fmt: skip
    missing = sum(a.missing for a in parts)
    columns = {"label": words["passed"], "scores": [], "count": None, "weight": None}
    return {
        "file": ", ".join(logs),
        "columns": columns | {k: words[k] for k in ("cluster", "by")},
        "design": asdict(PLAIN),
        "positive": None,
        "cases": {
            "n": tried + missing,
            "negative": tried - passed,
            "positive": passed,
            "unknown": missing,
        },
    }


def _named(logs: Mapping[str, Any], item: str | None, passed: str | None) -> None:
    """Stop at a table of which nobody said what its columns hold."""
    for place, data in logs.items():
        if not isinstance(data, VerdictLog) and None in (item, passed):
            raise InputError(
                f"{place} is a table. Say which columns hold the items and the "
                f"verdicts: --item NAME --passed NAME. It has "
                f"{listing(list(columns_of_evals(data)), 12)}."
            )


def _place(place: str) -> str | os.PathLike[str]:
    if not place.startswith("sample:"):
        return place
    return trueness.samples.path(place.removeprefix("sample:"))


def _runs(logs: Mapping[str, Any], words: Mapping[str, Any]) -> dict[str, Attempts]:
    """Count every log; each is a system of its own unless it names several."""
    out: dict[str, Attempts] = {}
    for place, data in logs.items():
        found = attempts(data, **words)
        several = found if isinstance(found, dict) else {_name(place, logs): found}
        for name, a in several.items():  # shards of one system add up
            out[name] = out[name] + a if name in out else a
    return out


def _name(place: str, logs: Mapping[str, Any]) -> str:
    """Name a log of one system: by what it says itself, or by its file."""
    if len(logs) == 1:
        return ""
    own = [
        tuple(dict.fromkeys(map(str, log.columns[SYSTEM])))
        if isinstance(log, VerdictLog)
        else ()
        for log in logs.values()
    ]
    if all(len(names) == 1 and names[0] for names in own) and len({*own}) == len(own):
        return own[list(logs).index(place)][0]
    stems = [Path(x).stem for x in logs]
    return Path(place).stem if len(set(stems)) == len(stems) else place


def _groups(
    logs: Mapping[str, Any], words: Mapping[str, Any], by: str
) -> dict[str, dict[str, Attempts]]:
    """Count the attempts at the items of each group."""
    columns = {place: columns_of_evals(data) for place, data in logs.items()}
    for place, held in columns.items():
        if by not in held:
            raise InputError(
                f"{place} has no column {by!r}. It has {listing(list(held), 12)}."
            )
    text = {
        place: np.array([str(v) for v in held[by]]) for place, held in columns.items()
    }
    every = dict.fromkeys(v for values in text.values() for v in values.tolist())
    parts = {
        g: {p: rows_of_evals(d, text[p] == g) for p, d in logs.items() if g in text[p]}
        for g in every
    }
    return {g: _runs(part, words) for g, part in parts.items()}
