"""Do these predictions meet what was agreed?"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any

import typer

from trueness._core.checks.errors import InputError, NotEnoughCases
from trueness._core.checks.options import choice
from trueness._core.checks.words import nearest
from trueness._core.doors import door
from trueness._core.numbers import percent
from trueness.cli._columns import Chosen, Request, choose, one_score
from trueness.cli._command import command
from trueness.cli._shell import CommandAnswer, about, cases_sentence, say, table
from trueness.cli._source import Source, open_source
from trueness.cli._words import noted
from trueness.counts.values import Panel, Tally, panel_of_rows
from trueness.data.engines import quoted
from trueness.data.frames import panel, tally
from trueness.data.storage import replacing
from trueness.gates.checking import check_all
from trueness.gates.contracts import Contract, first_contract, read_contract
from trueness.gates.requirements import Requirement
from trueness.gates.verdicts import FAILS, HOLDS, OPEN, Check, fact
from trueness.ranking.clusters import CLUSTER

_NUMBER = "trueness_cluster"
CODES = {HOLDS: 0, FAILS: 4, OPEN: 5}


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
    first = {"label": label, "score": score, "positive": positive, "output": output}
    later = {"baseline": baseline, "undecided": undecided, "junit": junit}
    later["markdown"] = markdown
    _fitting(later if init else first, init)
    if init:
        words = label, score, positive
        return _first(contract if file is None else file, *words, output)
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
        [
            v.verdict,
            v.name,
            f"{v.value:.4g}",
            "exact" if v.low == v.high else f"{v.low:.4g} to {v.high:.4g}",
        ]
        for v in found.ordered()
    ]
    parts: list[Any] = [counted.pop("sentence")]
    head = ["verdict", "requirement", "measured", "limits"]
    parts.append(table(head, rows, most=120))  # a requirement is read to its end
    parts += [v.reason for v in found.ordered() if v.verdict != HOLDS]
    parts += noted(found.notes)
    word = found.verdict
    if word == OPEN and undecided != "report":
        word = HOLDS if undecided == "pass" else FAILS
    code = CODES[word]
    parts.append(_ending(found.verdict, code))
    result = {
        "verdict": found.verdict,
        "exit_code": code,
        "contract": contract,
        "level": found.level,
        "adjust": found.adjust,
        "verdicts": list(found.verdicts),
        "notes": list(found.notes),
    }
    chart = lambda: door("plots.gates").verdict_lines(found)  # noqa: E731
    return CommandAnswer("check", result, parts, chart, counted, code)


def _ending(verdict: str, code: int) -> str:
    said = {
        HOLDS: "Every requirement holds.",
        FAILS: "At least one requirement fails.",
        OPEN: "No requirement fails, but not all can be decided with these cases.",
    }
    return f"{said[verdict]} Exit code {code}."


def _checked(
    asked: Contract, file: str, baseline: str | None
) -> tuple[Check, dict[str, Any]]:
    source = open_source(file)
    label, score = _columns(asked, source)
    rows, missing = _without_missing(source, score)
    options = {"label": label, "positive": asked.positive, "count": asked.count}
    if asked.weight is not None:
        options["weight"] = _known(source, asked.weight, "weight")
    t = tally(rows, score=score, **options)
    groups = {
        by: tally(rows, score=score, by=_known(source, by, "by"), **options)
        for by in dict.fromkeys(r.by for r in asked.requirements if r.by)
    }
    kept = tuple(r for r in asked.requirements if r.metric != "missing_scores")
    facts = [
        fact(r, "", missing, t.n)
        for r in asked.requirements
        if r.metric == "missing_scores"
    ]
    other, paired = _baseline(asked, source, rows, score, baseline, options)
    panels = {
        **_panels(kept, source, rows, score, options),
        **({"baseline": paired} if paired is not None else {}),
    }
    found = check_all(
        t,
        kept,
        facts=facts,
        panels=panels,
        clusters=_clusters(asked, source, rows, score, options),
        baseline=other,
        groups=groups,
        level=asked.level,
        adjust=asked.adjust,
    )
    scores = (score,)
    chosen = Chosen(
        label, scores, asked.count, next(iter(groups), None), asked.positive
    )
    request = Request(source, chosen, rows, asked.level, 0)
    return found, {**about(request, t), "sentence": cases_sentence(t)}


def _columns(asked: Contract, source: Source) -> tuple[str, str]:
    judged = [r.judges[0] for r in asked.requirements if r.judges]
    if asked.score is None and len(judged) == len(asked.requirements):
        asked = replace(asked, score=judged[0])  # a rate from judges has no score
    if asked.label is None or asked.score is None:
        gone = "label" if asked.label is None else "score"
        raise InputError(
            f'{asked.path} must name the column: add {gone} = "NAME". {source.name} '
            f"has {', '.join(source.types)}."
        )
    return _known(source, asked.label, "label"), _known(source, asked.score, "score")


def _known(source: Source, name: str, what: str) -> str:
    if name not in source.types:
        raise InputError(
            f"{source.name} has no column {name!r} for {what}."
            f"{nearest(name, list(source.types))} It has {', '.join(source.types)}."
        )
    return name


def _without_missing(source: Source, score: str) -> tuple[Any, float]:
    """Give the rows that have a score, and the share of those that have none."""
    name = quoted(score)
    gone = f"{name} IS NULL"
    if source.types[score] in ("DOUBLE", "FLOAT"):
        gone = f"({gone} OR isnan({name}))"
    counts = source.rows.aggregate(f"count(*) AS n, count_if({gone}) AS lost")
    ((n, lost),) = counts.fetchall()
    return source.rows.filter(f"NOT {gone}") if lost else source.rows, lost / n


def _panels(
    kept: tuple[Requirement, ...],
    source: Source,
    rows: Any,
    score: str,
    options: dict[str, Any],
) -> dict[str, Panel]:
    """Give a panel for each baseline that is a column, and for judges."""
    found: dict[str, Panel] = {}
    for r in kept:
        if r.not_worse_than and r.not_worse_than in source.types:
            found[r.not_worse_than] = panel(rows, [score, r.not_worse_than], **options)
        if r.judges:
            named = [_known(source, j, "judges") for j in r.judges]
            found[",".join(named)] = panel(rows, named, **options)
    return found


def _clusters(
    asked: Contract, source: Source, rows: Any, score: str, options: dict[str, Any]
) -> dict[str, Any]:
    """Count with the number of the cluster as one more output."""
    if asked.cluster is None:
        return {}
    name = _known(source, asked.cluster, "cluster")
    rows = rows.project(f"*, dense_rank() OVER (ORDER BY {quoted(name)}) AS {_NUMBER}")

    def tied(scores: list[str], by: str | None = None) -> Any:
        held = panel(rows, [*scores, _NUMBER], by=by, **options)
        parts = held if isinstance(held, dict) else {None: held}
        made = {
            g: panel_of_rows((*scores, CLUSTER), p.rows, *p.counts)
            for g, p in parts.items()
        }
        return made if by is not None else made[None]

    found = {"": tied([score])}
    for r in asked.requirements:
        if r.by:
            found |= {f"{r.by}={g}": p for g, p in tied([score], r.by).items()}
        if r.not_worse_than and r.not_worse_than in source.types:
            found[r.not_worse_than] = tied([score, r.not_worse_than])
    return found


def _baseline(
    asked: Contract,
    source: Source,
    rows: Any,
    score: str,
    file: str | None,
    options: dict[str, Any],
) -> tuple[Tally | None, Panel | None]:
    """Count the baseline: on the same cases where a key joins the files."""
    if file is None:
        for r in asked.requirements:
            if r.not_worse_than and r.not_worse_than not in source.types:
                near = nearest(r.not_worse_than, list(source.types))
                raise InputError(
                    f"{r} needs a baseline. Type --baseline last_release.parquet, or "
                    f"name a column of {source.name} with its scores.{near}"
                )
        return None, None
    other = open_source(file)
    old, lost = _without_missing(other, _known(other, score, "score"))
    if lost:
        say(
            f"{percent(lost)} of the rows of {other.name} have no score; they are left "
            "out."
        )
    if asked.key:
        return None, _joined(asked.key, source, rows, other, old, score, options)
    label = {**options, "label": _known(other, str(options["label"]), "label")}
    return tally(old, score=score, **label), None


def _joined(
    key: str,
    source: Source,
    rows: Any,
    other: Source,
    old: Any,
    score: str,
    options: dict[str, Any],
) -> Panel:
    """Put the baseline's score beside the candidate's, case by case."""
    for one in (source, other):
        _once(one, _known(one, key, "key"))
    name, label = quoted(key), str(options["label"])
    if source.types[key] != other.types[key]:  # 7 and "7" name the same case
        as_text = f"* REPLACE (CAST({name} AS VARCHAR) AS {name})"
        rows, old = rows.project(as_text), old.project(as_text)
    said = quoted(label) if label in other.types else "NULL"
    wanted = f"{name}, {quoted(score)} AS trueness_baseline, {said} AS trueness_label"
    here = rows.to_arrow_table()
    both = here.join(old.project(wanted).to_arrow_table(), key)
    both = both.filter(both["trueness_baseline"].is_valid())
    if not both.num_rows:
        raise NotEnoughCases(
            f"No case of {source.name} has a baseline score: the values of {key!r} in "
            f"{other.name} are others. Leave key out of the contract for an unpaired "
            f"comparison."
        )
    if both.num_rows < here.num_rows:
        say(
            f"{here.num_rows - both.num_rows:,} of {here.num_rows:,} rows have no "
            f"baseline score with the same {key!r}; the comparison leaves them out."
        )
    pairs = zip(
        both[label].to_pylist(), both["trueness_label"].to_pylist(), strict=True
    )
    if source.types[label] == other.types.get(label):
        differ = sum(a != b for a, b in pairs if a is not None and b is not None)
        if differ:
            raise InputError(
                f"{differ:,} of {both.num_rows:,} cases have another {label!r} in "
                f"{other.name} than in {source.name}. Is {key!r} the key of the cases?"
            )
    made: Panel = panel(both, [score, "trueness_baseline"], **options)
    return made


def _once(source: Source, key: str) -> None:
    """Stop where two rows have one key: joined, they would count as more cases."""
    named = quoted(key)
    rows = source.rows.aggregate(f"count({named}) AS n, count(DISTINCT {named}) AS d")
    n, distinct = rows.fetchall()[0]
    if n != distinct:
        raise InputError(
            f"{source.name}: {n - distinct:,} rows repeat a value of the key "
            f"{key!r}, so that cases cannot be paired. Name a key that each case has "
            f"once, or leave key out of the contract."
        )


def _first(
    file: str,
    label: str | None,
    score: str | None,
    positive: str | None,
    output: Path | None,
) -> CommandAnswer:
    """Write a first contract with what these data can prove."""
    source, path = open_source(file), output or Path("quality.toml")
    scores = [] if score is None else [score]
    chosen = choose(
        source,
        option="score",
        scores=scores,
        guess=one_score,
        label=label,
        positive=positive,
    )
    named = str(chosen.label), chosen.scores[0]
    rows, missing = _without_missing(source, named[1])
    t = tally(rows, label=named[0], score=named[1], positive=chosen.positive)
    if path.exists():
        raise InputError(f"{path} exists already. Choose another file with -o.")
    _write(path, first_contract(t, *named, positive=chosen.positive, missing=missing))
    found, counted = _checked(read_contract(path), file, None)
    return _answer(found, counted, "report", str(path))
