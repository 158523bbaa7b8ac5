"""Do predictions meet what was agreed, and do they still, today?"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from trueness._core.checks.errors import InputError
from trueness._core.checks.options import choice
from trueness._core.files import alone, replacing
from trueness.cli._columns import Chosen, Request, choose, one_score
from trueness.cli._command import command
from trueness.cli._predictions import cases_of, predictions, with_scores
from trueness.cli._shell import CommandAnswer, about, answered, say
from trueness.cli._source import open_source
from trueness.cli.evals import about_attempts, parts_of
from trueness.data.eval_rows import attempts, read_evals
from trueness.data.frames import panel, tally
from trueness.findings.how_good import cases_note
from trueness.findings.notes import Note, note
from trueness.findings.trust import requirements, still_good
from trueness.monitoring.checking import Evidence, check_all
from trueness.monitoring.contracts import Contract, first_contract, read_contract
from trueness.monitoring.kinds import KINDS
from trueness.monitoring.measures import of_attempts
from trueness.monitoring.questions import load_watch
from trueness.monitoring.questions import watch as new_watch
from trueness.monitoring.verdicts import Check, fact


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

    def chart() -> Any:
        from trueness.plots.monitoring import verdict_lines  # Altair, when it draws

        return verdict_lines(found)

    made = requirements(found, counted, undecided or asked.undecided)
    code = made.numbers["exit_code"]
    return answered("check", made, chart=chart, about=told, code=code,
                    contract=contract)  # fmt: skip


def _write(path: Path, text: str) -> None:
    with replacing(path) as temporary:
        Path(temporary).write_text(text, encoding="utf-8")
    say(f"Written to {path}.")


Checked = tuple[Check, Note, dict[str, Any]]


def _checked(asked: Contract, file: str, baseline: str | None) -> Checked:
    p = predictions(asked, file)
    count = cases_of(p, asked.key, baseline)
    whole = count(None)
    t = whole.tally
    groups = {by: count(by) for by in dict.fromkeys(r.by for r in p.required) if by}
    gone = "missing_scores"
    found = check_all(
        whole,
        tuple(r for r in p.required if r.metric != gone),
        facts=[fact(r, "", p.missing, t.n) for r in p.required if r.metric == gone],
        groups=groups,
        level=asked.level,
        adjust=asked.adjust,
    )
    chosen = Chosen(
        p.label,
        (p.score,),
        asked.count,
        next(iter(groups), None),
        asked.positive,
        cluster=asked.cluster,
        weight=asked.weight,
    )
    request = Request(p.source, chosen, p.rows, asked.level, 0)
    return found, cases_note(t), about(request, t)


def _checked_log(asked: Contract, file: str, baseline: str | None) -> Checked:
    """Check the attempts of a log, or of a table with a row per attempt."""
    words = {"item": asked.key, "passed": asked.label, "cluster": asked.cluster}
    data = {"the log": read_evals(file)}
    data |= {"the baseline": read_evals(baseline)} if baseline else {}

    def counted(part: dict[str, Any]) -> Evidence:
        return Evidence.of(*(_attempts(d, words) for d in part.values()))

    whole = counted(data)
    groups = {
        by: {g: counted(part) for g, part in parts_of(data, by).items()}
        for by in dict.fromkeys(r.by for r in asked.requirements if r.by)
    }
    found = check_all(
        whole, asked.requirements, groups=groups, level=asked.level, adjust=asked.adjust
    )
    told = about_attempts([file], words | {"by": None}, [whole.tally])
    return found, note("said", text=f"{whole.tally}."), told


def _attempts(data: Any, words: dict[str, Any]) -> Any:
    found = attempts(data, **words)
    if isinstance(found, dict):
        raise InputError(
            f"A contract is about one system; the log holds {', '.join(found)}. Give "
            "the log of one of them, and that of another as --baseline."
        )
    return found


def _first(file: str, path: Path, *, label: Any, score: Any, positive: Any) -> str:
    """Write a first contract with what these data can prove."""
    source, named = open_source(file), [] if score is None else [score]
    words = {"option": "score", "guess": one_score, "positive": positive}
    chosen = choose(source, scores=named, label=label, **words)
    columns = chosen.label or "label", chosen.scores[0]
    rows, missing = with_scores(source, columns[1])
    t = tally(rows, label=chosen.label, score=columns[1], positive=chosen.positive)
    if path.exists():
        raise InputError(f"{path} exists already. Choose another file with -o.")
    _write(path, first_contract(t, *columns, positive=chosen.positive, missing=missing))
    return str(path)


@command(cannot="watch")
def watch(
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
    threshold: float | None = None,
    at_least: float | None = None,
    at_most: float | None = None,
    baseline: str | None = None,
    margin: float = 0.0,
    near: float | None = None,
    judge: list[str] | None = None,
    by: str | None = None,
    false_alarms: str | None = None,
    restart: bool = False,
    name: str | None = None,
    positive: str | None = None,
) -> CommandAnswer:
    """Is it still good? Monitors new batches; finds a change whenever it begins.

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
    bound: dict[str, Any] = {"threshold": threshold, "near": near}
    bound |= {"at_least": at_least, "at_most": at_most}
    source = open_source(file)
    with alone(state):  # two jobs at once must not lose what the other one counted
        held = None
        if state.exists():
            if any(x is not None for x in (metric, baseline, false_alarms,
                                           *bound.values())):  # fmt: skip
                raise InputError(
                    f"{state} holds a watch already; leave out --metric and its bound, "
                    "or name another file."
                )
            held = load_watch(state)
            if restart:
                held.restart()
            judge, by = judge or list(held.judges), by or held.by
            kept = held.columns  # said once, when the watch began
            label, score = label or kept.get("label"), score or kept.get("score")
            positive = kept.get("positive") if positive is None else positive
        judges = judge or []
        # what needs no labels is not asked for them, nor who watches already
        labels = metric not in KINDS or KINDS[metric].labels
        chosen = choose(
            source,
            option="judge" if judges else "score",
            scores=judges or ([] if score is None else [score]),
            guess=one_score,
            label=label,
            positive=positive,
            by=by,
            needs_label=labels and metric is not None and not judges,
        )
        columns = {"positive": chosen.positive, "label": chosen.label}
        columns |= {"scores": judges} if judges else {"score": chosen.scores[0]}
        if held is None:
            if metric is None:
                raise InputError(
                    f"There is no watch in {state} yet. To begin one, add --metric "
                    f"recall --threshold 0.3 --at-least 0.9, for example."
                )
            if baseline is not None:
                bound["baseline"] = tally(open_source(baseline).rows, **columns)
            bound |= {"margin": margin, "judges": judges or None, "by": by}
            if false_alarms is not None:
                bound["false_alarms"] = false_alarms
            held = new_watch(metric, **bound)
        count: Any = panel if judges else tally
        t = count(source.rows, **columns)
        parts = t if by is None else count(source.rows, by=by, **columns)
        looks, earlier = held.looks, held.same_cases(parts)
        if name is None and earlier not in (None, source.name):
            raise InputError(
                f"{source.name} has exactly the cases of the batch {earlier!r}, which "
                "was counted before. If these are other cases, add --name with a name "
                "of their own."
            )
        held.update(parts, name=name or source.name)
        held.keep_columns(**columns)
        held.save(state)

    def chart() -> Any:
        from trueness.plots.monitoring import sequence  # Altair is loaded when it draws

        return sequence(held)

    return answered(
        "watch",
        still_good(held, cases_note(t), held.looks > looks),
        chart=chart,
        about=about(Request(source, chosen, source.rows, 0.95, 0), t),
        code=4 if held.alarm else 0,
    )
