"""How often do systems pass, and do readers do better with one treatment?"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer

import trueness
from trueness._core.checks.errors import InputError
from trueness._core.checks.words import listing
from trueness._core.progress import progress
from trueness.cli import _shell as shell
from trueness.cli._columns import Request
from trueness.cli._command import ONE_SCORE, command
from trueness.cli._source import sample_path
from trueness.counts.values import Tally
from trueness.data.eval_rows import (
    columns_of_evals,
    names_of_evals,
    read_evals,
    rows_of_evals,
)
from trueness.data.verdict_logs import SYSTEM, VerdictLog
from trueness.evals.attempts import Attempts
from trueness.findings.systems import compared_by_readers, evals_page, how_often
from trueness.readers.covariances import COVARIANCES

Logs = Annotated[
    list[str],
    typer.Argument(
        help="Logs of Inspect, promptfoo, DeepEval or the lm-evaluation-harness, or "
        "tables with a row per attempt; several are compared.",
        metavar="LOG...",
        show_default=False,
    ),
]


@command(like=trueness.attempts)
def evals_command(
    log: Logs,
    by: str | None = None,
    pass_at: list[int] | None = None,
    pass_hat: list[int] | None = None,
    output: Path | None = None,
    level: float = 0.95,
    **words: Any,
) -> shell.CommandAnswer:
    """How often do systems pass? pass@k, paired tests, leaderboards, from logs.

    --passed COLUMN: Column, or scorer of a log, that says whether an attempt passed.
    --item COLUMN: Column with the items; of a log it is known.
    --system COLUMN: Column with the systems; of a log it is known.
    --cluster COLUMN: Column that says which items belong together.
    --by COLUMN: Column with groups of items, such as task: also a rate for each.
    --pass-at NUMBER: Also how often one of so many attempts passes; takes several.
    --pass-hat NUMBER: Also how often all of so many attempts pass; takes several.
    --threshold: Grade from which on an attempt passes, if verdicts are grades.
    --missing-scores HOW: Attempts without a verdict: drop, or fail.
    --output, -o FILE: Write a report with figures to this HTML file.

    Example: trueness evals sample:judges --item pair --passed truth --by kind
    """
    with progress("Counting", unit=""):
        logs = {place: read_evals(sample_path(place)) for place in log}
        _named(logs, words["item"], words["passed"])
        runs = _runs(logs, words)
        parts = parts_of(logs, by or "", columns_named(words))
        groups = {g: _runs(part, words) for g, part in parts.items()}
    asked: Any = {"pass_at": pass_at or (), "pass_hat": pass_hat or (), "by": by or ""}
    with progress("Comparing", unit=""):
        found = how_often(runs, groups=groups, level=level, **asked)
    shell.write_report(evals_page(found, ", ".join(log)), output)
    one = next(iter(found.numbers["systems"].values()))
    return shell.answered(
        found,
        chart=lambda: trueness.plots.pass_rates(
            trueness.leaderboard(runs, level=level) if len(runs) > 1 else one
        ),
        about=about_attempts(log, words | {"by": by}, list(runs.values())),
    )


def about_attempts(
    logs: list[str], words: Mapping[str, Any], parts: list[Attempts]
) -> dict[str, Any]:
    """Say which files and columns, and how many attempts, an answer is about."""
    passed, tried = (
        sum(int(getattr(a, k).sum()) for a in parts) for k in ("passed", "tried")
    )
    missing = sum(a.missing for a in parts)
    columns = {"label": words["passed"], "scores": [], "count": None, "weight": None}
    columns |= {k: words[k] for k in ("cluster", "by")}
    cases = (tried + missing, tried - passed, passed, missing)
    return shell.about_cases(", ".join(logs), columns, *cases)


def _named(logs: Mapping[str, Any], item: str | None, passed: str | None) -> None:
    """Stop at a table of which nobody said what its columns hold."""
    for place, data in logs.items():
        if not isinstance(data, VerdictLog) and None in (item, passed):
            raise InputError(
                f"{place} is a table. Say which columns hold the items and the "
                f"verdicts: --item NAME --passed NAME. It has "
                f"{listing(names_of_evals(data), 12)}."
            )


def _runs(logs: Mapping[str, Any], words: Mapping[str, Any]) -> dict[str, Attempts]:
    """Count every log; each is a system of its own unless it names several."""
    out: dict[str, Attempts] = {}
    for place, data in logs.items():
        found = trueness.attempts(data, **words)
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


def columns_named(words: Mapping[str, Any]) -> list[str]:
    """Which columns does a count of attempts need?"""
    roles = ("item", "passed", "system", "cluster")
    return [words[role] for role in roles if words.get(role)]


def parts_of(
    logs: Mapping[str, Any], by: str, names: Sequence[str]
) -> dict[str, dict[str, Any]]:
    """Divide logs by the values of a column: from value to the rows of each log.

    ``names`` are the columns that the rows of a table keep.
    """
    text = {}
    for place, data in logs.items() if by else ():
        held = names_of_evals(data)
        if by not in held:
            raise InputError(
                f"{place} has no column {by!r}. It has {listing(held, 12)}."
            )
        text[place] = np.array([str(v) for v in columns_of_evals(data, [by])[by]])
    every = dict.fromkeys(v for values in text.values() for v in values.tolist())
    return {
        g: {
            p: rows_of_evals(d, text[p] == g, names)
            for p, d in logs.items()
            if g in text[p]
        }
        for g in every
    }


@command(
    ONE_SCORE,
    like=trueness.reader_study,
    without=("seed", "count", "by"),
    cannot="reader_study",
    methods=COVARIANCES,
)
def readers_command(
    request: Request,
    reader: str = "reader",
    treatment: str = "treatment",
    case: str = "case",
    metric: str = "auc",
    **words: Any,
) -> shell.CommandAnswer:
    """Do readers do better with one treatment? Multi-reader multi-case studies.

    --reader COLUMN: Column with the readers.
    --treatment COLUMN: Column with the treatments.
    --case COLUMN: Column with the cases.
    --metric: auc, or a metric at a threshold: recall, specificity, ...
    --threshold: The threshold of such a metric.
    --fixed WHAT: What is taken as fixed, not as a sample: readers, or cases.
    --covariance: How the covariances are estimated: {methods} (one-shot variance).
    --pairs: Where some treatments share more cases or have more readers than others:
        own variance of each pair, or pooled as in MRMCaov.
    --margin: Largest loss that would not matter (for non-inferiority).
    --reference: Limits and tests by student (with Hillis' degrees of freedom), logit
        (tests against a margin keep their level near 1), or behrens-fisher (keeps its
        level with two to four readers).

    Example: trueness readers sample:readers --label truth --score rating
    """
    chosen = request.chosen
    words |= {"reader": reader, "treatment": treatment, "case": case, "metric": metric}
    words |= {"label": chosen.label, "score": chosen.scores[0], "level": request.level}
    with progress("Comparing", unit=""):
        columns = (reader, treatment, case, str(chosen.label), chosen.scores[0])
        rows = request.source.only(columns).to_arrow_table()
        found = trueness.reader_study(rows, positive=chosen.positive, **words)
    return shell.answered(
        compared_by_readers(found),
        counted=Tally([0.0], neg=[found.n_neg], pos=[found.n_pos]),
        chart=lambda: trueness.plots.reader_results(found),
    )
