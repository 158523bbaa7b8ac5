"""Do predictions meet what was agreed, and do they still, today?"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any

import typer

import trueness
from trueness._core.checks.errors import InputError, NotEnoughCases
from trueness._core.checks.options import choice
from trueness._core.checks.words import nearest
from trueness._core.files import alone
from trueness._core.numbers import percent
from trueness.cli._columns import Chosen, Request, choose
from trueness.cli._command import command
from trueness.cli._long_files import long_file_of
from trueness.cli._shell import CommandAnswer, about, answered, say, write_text
from trueness.cli._source import Source, known, open_source
from trueness.cli.evals import about_attempts, columns_named, parts_of
from trueness.counts.design import WORDS as DESIGN
from trueness.counts.values import Panel, Tally
from trueness.data.column_roles import one_score
from trueness.data.engines import quoted
from trueness.data.eval_rows import attempts, read_evals, system_column
from trueness.data.frames import panel, tally
from trueness.data.storage import are_counts, count_columns_of
from trueness.findings.how_good import cases_note
from trueness.findings.notes import Note, note
from trueness.findings.trust import requirements, still_good
from trueness.monitoring.checking import Evidence, check_all, first_contract
from trueness.monitoring.detectors import KINDS
from trueness.monitoring.questions import load_watch
from trueness.monitoring.questions import watch as new_watch
from trueness.monitoring.requirements import Contract, read_contract
from trueness.monitoring.verdicts import Check, of_attempts
from trueness.monitoring.watching import Watch

_BASELINE, _LABEL = "trueness_baseline", "trueness_label"
_BESIDE = ("positive", "count", "weight", "cluster")
Checked = tuple[Check, Note, dict[str, Any]]


def asked_of(contract: Contract, file: str) -> tuple[Request, float]:
    """Open the file that a contract is about; give the share without a score, too."""
    source = open_source(file)
    words = {w: getattr(contract, w) for w in ("label", "score", *_BESIDE, *DESIGN)}
    judged = [r.judges[0] for r in contract.requirements if r.judges]
    if words["score"] is None and len(judged) == len(contract.requirements):
        words["score"] = judged[0]  # a rate from judges has no score
    if holds_counts(source.rows, words["label"]):
        design = {word: words[word] for word in DESIGN}
        by = next((r.by for r in contract.requirements if r.by), None)
        score = count_columns_of(source.types)["score"]
        chosen = Chosen(None, (score,), by=by, **design)
        return Request(source, chosen, source.rows, contract.level, 0), 0.0
    for name in ("label", "score"):
        if words[name] is None:
            raise InputError(
                f'{contract.path} must name the column: add {name} = "NAME". '
                f"{source.name} has {', '.join(source.types)}."
            )
    for name in ("label", "score", "weight", "cluster"):
        known(source, words[name], name)
    score = words.pop("score")
    rows, missing = with_scores(source, score)
    by = next((r.by for r in contract.requirements if r.by), None)
    chosen = Chosen(scores=(score,), by=by, **words)
    if long_file := long_file_of(source, chosen):
        raise InputError(
            f'{long_file} Add cluster = "{long_file.case}" to {contract.path}.',
            option="cluster",
            example=long_file.case,
        )
    return Request(source, chosen, rows, contract.level, 0), missing


def holds_counts(rows: Any, label: str | None) -> bool:
    """Are these counts, and not cases with a label of this name?"""
    return are_counts(rows.columns) and label not in rows.columns


def _tally_of(rows: Any, words: dict[str, Any]) -> Any:
    """Count cases; counts have no columns to be named but that of their groups."""
    if not holds_counts(rows, words.get("label")):
        return tally(rows, **words)
    said = {w: v for w, v in words.items() if w in ("by", *DESIGN)}
    return tally(rows, **said)


def with_scores(source: Source, score: str) -> tuple[Any, float]:
    """Give the rows that have a score, and the share of those that have none."""
    name = quoted(score)
    gone = f"{name} IS NULL"
    if source.types[score] in ("DOUBLE", "FLOAT"):
        gone = f"({gone} OR isnan({name}))"
    counts = source.rows.aggregate(f"count(*) AS n, count_if({gone}) AS lost")
    ((n, lost),) = counts.fetchall()
    return source.rows.filter(f"NOT {gone}") if lost else source.rows, lost / n


def evidence_of(
    contract: Contract, file: str, baseline: str | None
) -> tuple[Request, Callable[[str | None], Any]]:
    """Give what is asked, and a function that counts all cases or those of groups.

    Each baseline that is a column is counted beside the score; one in a file of its
    own on the same cases where a key joins the files, otherwise by itself.
    """
    request, missing = asked_of(contract, file)
    source, words, rows = request.source, request.chosen.words, request.rows
    (score,) = request.chosen.scores
    named = (r.not_worse_than for r in contract.requirements)
    pairs = {n: (rows, [score, n]) for n in named if n and n in source.types}
    old = None if baseline is None else _baseline(request, contract.key, baseline)
    if baseline is None:
        _stop_without(contract, source)
    elif contract.key:
        pairs["baseline"] = old, [score, _BASELINE]
        old = None

    def count(by: str | None) -> Any:
        own = {"score": score, "by": known(source, by, "by"), **words}
        tallies = tally(rows, **own)
        other = None if old is None else _tally_of(old, own)
        panels: dict[str, Any] = {
            n: panel(x, both, by=by, **words) for n, (x, both) in pairs.items()
        }
        if by is None:
            for r in contract.requirements:  # judges that a requirement asks for
                if r.judges:
                    named = [known(source, j, "judges") for j in r.judges]
                    panels[",".join(named)] = panel(rows, named, **words)
            return Evidence(tallies, panels, other, missing=missing)
        return {
            str(g): Evidence(
                t,
                {name: parts[g] for name, parts in panels.items() if g in parts},
                None if other is None else other.get(g),
                str(g),
            )
            for g, t in tallies.items()
        }

    return request, count


def _stop_without(contract: Contract, source: Source) -> None:
    """Stop at a requirement that compares with what is not there."""
    for r in contract.requirements:
        if r.not_worse_than and r.not_worse_than not in source.types:
            near = nearest(r.not_worse_than, list(source.types))
            raise InputError(
                f"{r} needs a baseline. Type --baseline last_release.parquet, or "
                f"name a column of {source.name} with its scores.{near}"
            )


def _baseline(request: Request, key: str | None, file: str) -> Any:
    """Give the rows of the baseline; with a key both files, joined case by case."""
    other, (score,) = open_source(file), request.chosen.scores
    if holds_counts(other.rows, request.chosen.label):
        return other.rows
    if request.chosen.label is None:
        raise InputError(
            f"{request.source.name} holds counts, and {other.name} does not. Give "
            "counts of both, or the rows of both."
        )
    old, lost = with_scores(other, known(other, score, "score"))
    if lost:
        say(
            f"{percent(lost)} of the rows of {other.name} have no score; they are left "
            "out."
        )
    if key is None:
        known(other, request.chosen.label, "label")
        return old
    return _joined(request, key, replace(other, rows=old))


def _joined(request: Request, key: str, other: Source) -> Any:
    """Put the baseline's score beside the candidate's, case by case."""
    source, label = request.source, str(request.chosen.label)
    name, rows, old = quoted(key), request.rows, other.rows
    for one in (source, other):
        known(one, key, "key")
        counts = f"count({name}) - count(DISTINCT {name}) AS twice"
        ((twice,),) = one.rows.aggregate(counts).fetchall()
        if twice:  # joined, they would count as more cases
            raise InputError(
                f"{one.name}: {twice:,} rows repeat a value of the key {key!r}, so "
                f"that cases cannot be paired. Name a key that each case has once, or "
                f"leave key out of the contract."
            )
    if source.types[key] != other.types[key]:  # 7 and "7" name the same case
        as_text = f"* REPLACE (CAST({name} AS VARCHAR) AS {name})"
        rows, old = rows.project(as_text), old.project(as_text)
    said = quoted(label) if label in other.types else "NULL"
    (score,) = request.chosen.scores
    wanted = f"{name}, {quoted(score)} AS {_BASELINE}, {said} AS {_LABEL}"
    here = rows.to_arrow_table()
    both = here.join(old.project(wanted).to_arrow_table(), key)
    both = both.filter(both[_BASELINE].is_valid())
    if not both.num_rows:
        raise NotEnoughCases(
            f"No case of {source.name} has a baseline score: the values of {key!r} "
            f"in {other.name} are others. Leave key out of the contract for an "
            f"unpaired comparison."
        )
    if both.num_rows < here.num_rows:
        say(
            f"{here.num_rows - both.num_rows:,} of {here.num_rows:,} rows have no "
            f"baseline score with the same {key!r}; the comparison leaves them out."
        )
    pairs = zip(both[label].to_pylist(), both[_LABEL].to_pylist(), strict=True)
    differ = sum(a != b for a, b in pairs if a is not None and b is not None)
    if differ and source.types[label] == other.types.get(label):
        raise InputError(
            f"{differ:,} of {both.num_rows:,} cases have another {label!r} in "
            f"{other.name} than in {source.name}. Is {key!r} the key of the cases?"
        )
    return both


@command()
def check_command(
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
    later: dict[str, Any] = {"baseline": baseline, "undecided": undecided}
    later |= {"junit": junit, "markdown": markdown}
    for name, given in (later if init else first | {"output": output}).items():
        if given is not None:  # it would be ignored
            raise InputError(
                f"--{name} does not go with --init, which only writes a contract."
                if init
                else f"--{name} goes with --init; a check reads it in the contract."
            )
    if init:
        file = contract if file is None else file
        contract = _first(file, output or Path("quality.toml"), **first)
    if file is None:
        raise InputError(
            "A check needs a contract and predictions. Type trueness check "
            "quality.toml predictions.parquet."
        )
    asked = read_contract(contract)
    if undecided is not None:
        choice(undecided, ("report", "pass", "fail"), "--undecided")
    of_log = any(of_attempts(r.metric) for r in asked.requirements)
    found, counted, told = (_checked_log if of_log else _checked)(asked, file, baseline)
    if junit is not None:
        _write(junit, found.to_junit())
    if markdown is not None:
        _write(markdown, found.to_markdown())

    made = requirements(found, counted, undecided or asked.undecided)
    return answered(
        made,
        chart=lambda: trueness.plots.answers.verdict_lines(found),
        about=told,
        code=made.numbers["exit_code"],
        contract=contract,
    )


def _write(path: Path, text: str) -> None:
    write_text(path, text.rstrip("\n"))
    say(f"Written to {path}.")


def _checked(asked: Contract, file: str, baseline: str | None) -> Checked:
    request, count = evidence_of(asked, file, baseline)
    whole = count(None)
    named = dict.fromkeys(r.by for r in asked.requirements if r.by)
    found = _judged(asked, whole, {by: count(by) for by in named})
    return found, cases_note(whole.tally), about(request, whole.tally)


def _judged(asked: Contract, whole: Evidence, groups: dict[str, Any]) -> Check:
    words: dict[str, Any] = {"level": asked.level, "adjust": asked.adjust}
    return check_all(whole, asked.requirements, groups=groups, **words)


def _checked_log(asked: Contract, file: str, baseline: str | None) -> Checked:
    """Check the attempts of a log, or of a table with a row per attempt."""
    words: dict[str, Any] = {"item": asked.key, "passed": asked.label}
    words["cluster"] = asked.cluster
    data = {"the log": read_evals(file)}
    data |= {"the baseline": read_evals(baseline)} if baseline else {}

    def counted(part: dict[str, Any]) -> Evidence:
        found = [attempts(d, **words, system=system_column(d)) for d in part.values()]
        found = [_only_system(a) for a in found]
        for several in found:
            if isinstance(several, dict):
                raise InputError(
                    "A contract is about one system; the log holds "
                    f"{', '.join(several)}. Give the log of one of them, and that of "
                    "another as --baseline."
                )
        return Evidence.of(*found)

    whole = counted(data)
    systems = (system_column(d) for d in data.values())
    names = [*columns_named(words), *(s for s in systems if s)]
    groups = {
        by: {g: counted(part) for g, part in parts_of(data, by, names).items()}
        for by in dict.fromkeys(r.by for r in asked.requirements if r.by)
    }
    found = _judged(asked, whole, groups)
    told = about_attempts([file], words | {"by": None}, [whole.tally])
    return found, note("said", text=f"{whole.tally}."), told


def _only_system(found: Any) -> Any:
    """Give the attempts of the one system that a table names; several stay several."""
    if isinstance(found, dict) and len(found) == 1:
        return next(iter(found.values()))
    return found


def _first(
    file: str, path: Path, *, label: str | None, score: str | None, positive: str | None
) -> str:
    """Write a first contract with what these data can prove."""
    source, named = open_source(file), [] if score is None else [score]
    words: dict[str, Any] = {"label": label, "positive": positive}
    chosen = choose(source, option="score", scores=named, guess=one_score, **words)
    columns = chosen.label or "label", chosen.scores[0]
    rows, missing = with_scores(source, columns[1])
    t = tally(rows, label=chosen.label, score=columns[1], positive=chosen.positive)
    if path.exists():
        raise InputError(f"{path} exists already. Choose another file with -o.")
    _write(path, first_contract(t, *columns, positive=chosen.positive, missing=missing))
    return str(path)


@command(like=new_watch, without=("level",), cannot="watch")
def watch_command(
    state: Annotated[
        Path,
        typer.Argument(
            help="The state of the watch: a .json or .parquet file.", metavar="STATE"
        ),
    ],
    file: Annotated[str, typer.Argument(help="The new batch.", metavar="FILE")],
    label: str | None = None,
    score: str | None = None,
    metric: str | None = None,
    baseline: str | None = None,
    judge: list[str] | None = None,
    false_alarms: str | None = None,
    restart: bool = False,
    name: str | None = None,
    positive: str | None = None,
    **words: Any,
) -> CommandAnswer:
    """Is it still good? Monitors new batches; finds a change whenever it begins.

    The answer names the cases that count, those that the metric is about: for recall
    the positives, for precision the flagged cases, for auc blocks of eight cases.

    --metric: For a new watch: recall, auc, brier, calibration, scores, ...
    --threshold: For a new watch: a case is flagged from this score on.
    --at-least: For a new watch: the metric must be this or more.
    --at-most: For a new watch: the metric must be this or less.
    --baseline FILE: For a new watch: earlier predictions as a baseline.
    --margin: For a new watch: how much worse than the baseline is allowed.
    --near: For a new watch: calibration of scores near this value.
    --judge COLUMN: For prevalence: column with verdicts; repeat it for each.
    --false-alarms: For a new watch: how rare they are ("one in 20 years").
    --restart: After a repair: forget the alarm before this batch is counted.
    --name: Name of the batch (by default the name of the file).

    Example: trueness watch state.json sample:west_nile --label virus --score boosting
    --metric auc --at-least 0.7
    """
    by, margin = words.pop("by"), words.pop("margin")
    words |= {"metric": metric, "baseline": baseline, "false_alarms": false_alarms}
    asked = {k: v for k, v in words.items() if v is not None}
    source = open_source(file)
    with alone(state):  # two jobs at once must not lose what the other one counted
        held = _continued(state, asked, restart) if state.exists() else None
        kept = held.columns if held else {}  # said once, when the watch began
        if held is not None:
            judge, by = judge or list(held.judges), by or held.by
        judges, score = judge or [], score or kept.get("score")
        # what needs no labels is not asked for them, nor who watches already
        labels = metric not in KINDS or KINDS[metric].labels
        chosen = choose(
            source,
            option="judge" if judges else "score",
            scores=judges or ([] if score is None else [score]),
            guess=one_score,
            label=label or kept.get("label"),
            positive=kept.get("positive") if positive is None else positive,
            by=by,
            needs_label=labels and metric is not None and not judges,
        )
        columns = {"positive": chosen.positive, "label": chosen.label}
        columns |= {"scores": judges} if judges else {"score": chosen.scores[0]}
        if held is None:
            asked |= {"margin": margin, "judges": judges or None, "by": by}
            held = _begun(state, asked, columns)
        count: Any = panel if judges else tally
        t = count(source.rows, **columns)
        parts = t if by is None else count(source.rows, by=by, **columns)
        looks = held.looks
        _stop_twice(held, parts, source.name if name is None else None)
        held.update(parts, name=name or source.name)
        plain = (str, int, float)  # they need not be named again
        held.columns.update({k: v for k, v in columns.items() if isinstance(v, plain)})
        held.save(state)

    return answered(
        still_good(held, cases_note(t), held.looks > looks),
        chart=lambda: trueness.plots.answers.sequence(held),
        about=about(Request(source, chosen, source.rows, 0.95, 0), t),
        code=4 if held.alarm else 0,
    )


def _continued(state: Path, asked: dict[str, Any], restart: bool) -> Watch:
    """Go on with the watch of a file, which asks nothing new."""
    if asked:
        raise InputError(
            f"{state} holds a watch already; leave out --metric and its bound, or "
            "name another file."
        )
    held = load_watch(state)
    return held.restart() if restart else held


def _stop_twice(held: Watch, parts: Tally | Panel, file: str | None) -> None:
    """Stop at cases that were counted before, under another name."""
    earlier = held.same_cases(parts)
    if file is not None and earlier not in (None, file):
        raise InputError(
            f"{file} has exactly the cases of the batch {earlier!r}, which was counted "
            "before. If these are other cases, add --name with a name of their own."
        )


def _begun(state: Path, asked: dict[str, Any], columns: dict[str, Any]) -> Watch:
    """Begin a watch; its baseline is a file with the same columns."""
    if "metric" not in asked:
        raise InputError(
            f"There is no watch in {state} yet. To begin one, add --metric recall "
            "--threshold 0.3 --at-least 0.9, for example."
        )
    if "baseline" in asked:
        asked["baseline"] = tally(open_source(asked["baseline"]).rows, **columns)
    return new_watch(asked.pop("metric"), **asked)
