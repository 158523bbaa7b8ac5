"""Do these predictions meet what was agreed?"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer

from trueness._core.checks.errors import InputError
from trueness._core.checks.options import choice
from trueness._core.files import replacing
from trueness.cli._columns import Chosen, Request, choose, one_score
from trueness.cli._command import command
from trueness.cli._fields import fields_of
from trueness.cli._predictions import (
    cases_of,
    predictions,
    with_scores,
)
from trueness.cli._shell import CommandAnswer, about, cases_sentence, say, table
from trueness.cli._source import open_source
from trueness.cli._words import noted
from trueness.cli.evals import about_attempts
from trueness.data.eval_rows import (
    attempts,
    columns_of_evals,
    read_evals,
    rows_of_evals,
)
from trueness.data.frames import tally
from trueness.monitoring.checking import Evidence, check_all
from trueness.monitoring.contracts import Contract, first_contract, read_contract
from trueness.monitoring.measures import of_attempts
from trueness.monitoring.verdicts import FAILS, HOLDS, OPEN, Check, fact

CODES = {HOLDS: 0, FAILS: 4, OPEN: 5}
_SAID = {
    HOLDS: "Every requirement holds.",
    FAILS: "At least one requirement fails.",
    OPEN: "No requirement fails, but not all can be decided with these cases.",
}


@command()
def check(
    contract: Annotated[
        str, typer.Argument(help="The contract (TOML); with --init, the predictions.")
    ],
    file: Annotated[
        str | None, typer.Argument(help="The predictions.", metavar="FILE")
    ] = None,
    baseline: str | None = None,
    undecided: str | None = None,
    junit: Path | None = None,
    markdown: Path | None = None,
    init: bool = False,
    output: Path | None = None,
    label: str | None = None,
    score: str | None = None,
    positive: str | None = None,
) -> CommandAnswer:
    """Do these predictions meet the requirements? For CI; allows for sampling error.

    --baseline FILE: Predictions of the baseline, which these must not be worse than.
    --undecided: What cannot be decided yet: report it (exit 5), pass or fail.
    --junit FILE: Write the verdicts as JUnit XML, which build servers read.
    --markdown FILE: Write the verdicts as Markdown, for a pull request.
    --init: Write a first contract from the data.
    --output, -o FILE: The file that --init writes (by default quality.toml).
    --label COLUMN: For --init: column with the labels.
    --score COLUMN: For --init: column with the scores.
    --positive: For --init: label that counts as positive.

    Example: trueness check --init sample:west_nile --label virus --score boosting
    """
    first: dict[str, Any] = {"label": label, "score": score, "positive": positive}
    first["output"] = output
    later: dict[str, Any] = {"baseline": baseline, "undecided": undecided}
    later |= {"junit": junit, "markdown": markdown}
    _fitting(later if init else first, init)
    if init:
        return _first(contract if file is None else file, **first)
    if file is None:
        raise InputError(
            "A check needs a contract and predictions. Type trueness check "
            "quality.toml predictions.parquet."
        )
    asked = read_contract(contract)
    if undecided is not None:
        choice(undecided, ("report", "pass", "fail"), "--undecided")
    found, counted = _checked(asked, file, baseline)
    if junit is not None:
        _write(junit, found.to_junit())
    if markdown is not None:
        _write(markdown, found.to_markdown())
    return _answer(found, counted, undecided or asked.undecided, contract)


def _fitting(others: dict[str, Any], init: bool) -> None:
    """Stop at options of the other use, which would be ignored."""
    for name, given in others.items():
        if given is not None:
            raise InputError(
                f"--{name} does not go with --init, which only writes a contract."
                if init
                else f"--{name} goes with --init; a check reads it in the contract."
            )


def _write(path: Path, text: str) -> None:
    with replacing(path) as temporary:
        Path(temporary).write_text(text, encoding="utf-8")
    say(f"Written to {path}.")


def _answer(
    found: Check, counted: dict[str, Any], undecided: str, contract: str
) -> CommandAnswer:
    rows = [
        [v.verdict, v.name, f"{v.value:.4g}", v.span or "exact"]
        for v in found.ordered()
    ]
    word = found.verdict
    if word == OPEN and undecided != "report":
        word = HOLDS if undecided == "pass" else FAILS
    code = CODES[word]
    head = ["verdict", "requirement", "measured", "limits"]
    parts: list[Any] = [
        counted.pop("sentence"),
        table(head, rows, most=120),  # a requirement is read to its end
        *(v.reason for v in found.ordered() if v.verdict != HOLDS),
        *noted(found.notes),
        f"{_SAID[found.verdict]} Exit code {code}.",
    ]
    result = {
        "verdict": found.verdict,
        "exit_code": code,
        "contract": contract,
        **fields_of(found, ("level", "adjust", "verdicts", "notes")),
    }

    def chart() -> Any:
        from trueness.plots.monitoring import (
            verdict_lines,  # Altair is loaded when it draws
        )

        return verdict_lines(found)

    return CommandAnswer("check", result, parts, chart, counted, code)


def _checked(
    asked: Contract, file: str, baseline: str | None
) -> tuple[Check, dict[str, Any]]:
    if any(of_attempts(r.metric) for r in asked.requirements):
        return _checked_log(asked, file, baseline)
    p = predictions(asked, file)
    count = cases_of(p, asked.key, baseline)
    whole = count(None)
    t = whole.tally
    groups = {by: count(by) for by in dict.fromkeys(r.by for r in p.required) if by}
    facts = [
        fact(r, "", p.missing, t.n)
        for r in asked.requirements
        if r.metric == "missing_scores"
    ]
    found = check_all(
        whole,
        tuple(r for r in p.required if r.metric != "missing_scores"),
        facts=facts,
        groups=groups,
        level=asked.level,
        adjust=asked.adjust,
    )
    by = next(iter(groups), None)
    chosen = Chosen(p.label, (p.score,), asked.count, by, asked.positive)
    chosen = replace(chosen, cluster=asked.cluster, weight=asked.weight)
    request = Request(p.source, chosen, p.rows, asked.level, 0)
    return found, {**about(request, t), "sentence": cases_sentence(t)}


def _checked_log(
    asked: Contract, file: str, baseline: str | None
) -> tuple[Check, dict[str, Any]]:
    """Check the attempts of a log, or of a table with a row per attempt."""
    words = {"item": asked.key, "passed": asked.label, "cluster": asked.cluster}
    data = {"": read_evals(file), "baseline": baseline and read_evals(baseline)}
    whole = Evidence.of(*(_attempts(d, words) for d in data.values()))
    groups: dict[str, dict[str, Evidence]] = {}
    for by in dict.fromkeys(r.by for r in asked.requirements if r.by):
        text = {k: _text(d, by) for k, d in data.items() if d is not None}
        for group in dict.fromkeys(text[""]):
            parts = [
                rows_of_evals(d, np.array(text[k]) == group) if d is not None else None
                for k, d in data.items()
            ]
            held = Evidence.of(*(_attempts(part, words) for part in parts))
            groups.setdefault(by, {})[group] = held
    found = check_all(
        whole, asked.requirements, groups=groups, level=asked.level, adjust=asked.adjust
    )
    told = about_attempts([file], words | {"by": None}, [whole.tally])
    return found, {**told, "sentence": f"{whole.tally}."}


def _attempts(data: Any, words: dict[str, Any]) -> Any:
    if data is None:
        return None
    found = attempts(data, **words)
    if isinstance(found, dict):
        raise InputError(
            f"A contract is about one system; the log holds {', '.join(found)}. Give "
            "the log of one of them, and that of another as --baseline."
        )
    return found


def _text(data: Any, by: str) -> list[str]:
    columns = columns_of_evals(data)
    if by not in columns:
        raise InputError(f"The log has no column {by!r}: {', '.join(columns)}.")
    return [str(v) for v in columns[by]]


def _first(
    file: str, *, label: Any, score: Any, positive: Any, output: Path | None
) -> CommandAnswer:
    """Write a first contract with what these data can prove."""
    source, path = open_source(file), output or Path("quality.toml")
    chosen = choose(
        source,
        option="score",
        scores=[] if score is None else [score],
        guess=one_score,
        label=label,
        positive=positive,
    )
    named = chosen.label or "label", chosen.scores[0]
    rows, missing = with_scores(source, named[1])
    t = tally(rows, label=chosen.label, score=named[1], positive=chosen.positive)
    if path.exists():
        raise InputError(f"{path} exists already. Choose another file with -o.")
    _write(path, first_contract(t, *named, positive=chosen.positive, missing=missing))
    found, counted = _checked(read_contract(path), file, None)
    return _answer(found, counted, "report", str(path))
