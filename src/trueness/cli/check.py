"""Do predictions meet what was agreed, and do they still, today?"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, Any, final

import typer

from trueness._core.checks.errors import InputError, NotEnoughCases
from trueness._core.checks.options import choice
from trueness._core.checks.words import nearest
from trueness._core.files import alone, replacing
from trueness._core.numbers import percent
from trueness.cli._columns import Chosen, Request, choose, one_score
from trueness.cli._command import command
from trueness.cli._shell import CommandAnswer, about, answered, say
from trueness.cli._source import Source, known, open_source
from trueness.cli.evals import about_attempts, parts_of
from trueness.counts.design import WORDS as DESIGN
from trueness.data.count_tables import are_counts, count_columns_of
from trueness.data.engines import quoted
from trueness.data.eval_rows import attempts, read_evals
from trueness.data.frames import panel, tally
from trueness.findings.how_good import cases_note
from trueness.findings.notes import Note, note
from trueness.findings.trust import requirements, still_good
from trueness.monitoring.checking import Evidence, check_all, first_contract
from trueness.monitoring.detectors import KINDS
from trueness.monitoring.measures import of_attempts
from trueness.monitoring.questions import load_watch
from trueness.monitoring.questions import watch as new_watch
from trueness.monitoring.requirements import Contract, Requirement, read_contract
from trueness.monitoring.verdicts import Check

_BASELINE, _LABEL = "trueness_baseline", "trueness_label"
Checked = tuple[Check, Note, dict[str, Any]]


@final
@dataclass(frozen=True)
class Predictions:
    """The rows of a file that have a score, and the columns that a contract names.

    ``columns`` are those that counting takes beside the score (without a label the file
    holds counts), ``missing`` is the share of the rows without a score.
    """

    source: Source
    rows: Any
    score: str
    columns: dict[str, Any]
    required: tuple[Requirement, ...]
    missing: float

    @property
    def label(self) -> Any:
        """Name the column of the labels."""
        return self.columns["label"]

    def panel(self, scores: list[str], rows: Any = None, by: str | None = None) -> Any:
        """Count several columns together, in each group of a column too."""
        rows = self.rows if rows is None else rows
        return panel(rows, scores, by=by, **self.columns)


def predictions(asked: Contract, file: str) -> Predictions:
    """Open the file that a contract is about."""
    source = open_source(file)
    judged = [r.judges[0] for r in asked.requirements if r.judges]
    if asked.score is None and len(judged) == len(asked.requirements):
        asked = replace(asked, score=judged[0])  # a rate from judges has no score
    for name in ("label", "score"):
        if getattr(asked, name) is None:
            raise InputError(
                f'{asked.path} must name the column: add {name} = "NAME". '
                f"{source.name} has {', '.join(source.types)}."
            )
    if are_counts(source.types) and asked.label not in source.types:
        score = count_columns_of(source.types)["score"]
        held = (source, source.rows, score, {"label": None})
        return Predictions(*held, asked.requirements, 0.0)
    label, score = (
        known(source, str(getattr(asked, name)), name) for name in ("label", "score")
    )
    rows, missing = with_scores(source, score)
    columns = {"label": label, "positive": asked.positive, "count": asked.count}
    beside = {w: known(source, getattr(asked, w), w) for w in ("weight", "cluster")}
    beside |= {word: getattr(asked, word) for word in DESIGN}
    columns |= {word: said for word, said in beside.items() if said is not None}
    return Predictions(source, rows, score, columns, asked.requirements, missing)


def with_scores(source: Source, score: str) -> tuple[Any, float]:
    """Give the rows that have a score, and the share of those that have none."""
    name = quoted(score)
    gone = f"{name} IS NULL"
    if source.types[score] in ("DOUBLE", "FLOAT"):
        gone = f"({gone} OR isnan({name}))"
    counts = source.rows.aggregate(f"count(*) AS n, count_if({gone}) AS lost")
    ((n, lost),) = counts.fetchall()
    return source.rows.filter(f"NOT {gone}") if lost else source.rows, lost / n


def cases_of(
    p: Predictions, key: str | None, file: str | None
) -> Callable[[str | None], Any]:
    """Give a function that counts all cases, or those of each group of a column.

    Each baseline that is a column is counted beside the score; one in a file of its
    own on the same cases where a key joins the files, otherwise by itself.
    """
    both, old = _baseline(p, key, file)
    named = (r.not_worse_than for r in p.required)
    beside = [name for name in named if name and name in p.source.types]
    paired = [([p.score, name], name, None) for name in beside]
    if both is not None:
        paired.append(([p.score, _BASELINE], "baseline", both))

    def count(by: str | None) -> Any:
        words = {"score": p.score, "by": known(p.source, by, "by"), **p.columns}
        tallies = tally(p.rows, **words)
        panels = {name: p.panel(scores, rows, by) for scores, name, rows in paired}
        other: Any = None if old is None else tally(old, **words)
        if by is None:
            for r in p.required:  # judges that a requirement asks for
                if r.judges:
                    named = [known(p.source, j, "judges") for j in r.judges]
                    panels[",".join(named)] = p.panel(named)
            return Evidence(tallies, panels, other, missing=p.missing)
        return {
            str(g): Evidence(
                t,
                {name: parts[g] for name, parts in panels.items() if g in parts},
                None if other is None else other.get(g),
                str(g),
            )
            for g, t in tallies.items()
        }

    return count


def _baseline(p: Predictions, key: str | None, file: str | None) -> tuple[Any, Any]:
    """Give the rows of both files joined by their key, or those of the baseline."""
    if file is None:
        for r in p.required:
            if r.not_worse_than and r.not_worse_than not in p.source.types:
                near = nearest(r.not_worse_than, list(p.source.types))
                raise InputError(
                    f"{r} needs a baseline. Type --baseline last_release.parquet, or "
                    f"name a column of {p.source.name} with its scores.{near}"
                )
        return None, None
    other = open_source(file)
    old, lost = with_scores(other, known(other, p.score, "score"))
    if lost:
        say(
            f"{percent(lost)} of the rows of {other.name} have no score; they are left "
            "out."
        )
    if key:
        return _joined(p, key, other, old), None
    known(other, p.label, "label")
    return None, old


def _joined(p: Predictions, key: str, other: Source, old: Any) -> Any:
    """Put the baseline's score beside the candidate's, case by case."""
    name, rows = quoted(key), p.rows
    for one in (p.source, other):
        known(one, key, "key")
        counts = f"count({name}) - count(DISTINCT {name}) AS twice"
        ((twice,),) = one.rows.aggregate(counts).fetchall()
        if twice:  # joined, they would count as more cases
            raise InputError(
                f"{one.name}: {twice:,} rows repeat a value of the key {key!r}, so "
                f"that cases cannot be paired. Name a key that each case has once, or "
                f"leave key out of the contract."
            )
    if p.source.types[key] != other.types[key]:  # 7 and "7" name the same case
        as_text = f"* REPLACE (CAST({name} AS VARCHAR) AS {name})"
        rows, old = rows.project(as_text), old.project(as_text)
    said = quoted(p.label) if p.label in other.types else "NULL"
    wanted = f"{name}, {quoted(p.score)} AS {_BASELINE}, {said} AS {_LABEL}"
    here = rows.to_arrow_table()
    both = here.join(old.project(wanted).to_arrow_table(), key)
    both = both.filter(both[_BASELINE].is_valid())
    if not both.num_rows:
        raise NotEnoughCases(
            f"No case of {p.source.name} has a baseline score: the values of {key!r} "
            f"in {other.name} are others. Leave key out of the contract for an "
            f"unpaired comparison."
        )
    if both.num_rows < here.num_rows:
        say(
            f"{here.num_rows - both.num_rows:,} of {here.num_rows:,} rows have no "
            f"baseline score with the same {key!r}; the comparison leaves them out."
        )
    pairs = zip(both[p.label].to_pylist(), both[_LABEL].to_pylist(), strict=True)
    differ = sum(a != b for a, b in pairs if a is not None and b is not None)
    if differ and p.source.types[p.label] == other.types.get(p.label):
        raise InputError(
            f"{differ:,} of {both.num_rows:,} cases have another {p.label!r} in "
            f"{other.name} than in {p.source.name}. Is {key!r} the key of the cases?"
        )
    return both


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
        from trueness.plots.answers import verdict_lines  # Altair, when it draws

        return verdict_lines(found)

    made = requirements(found, counted, undecided or asked.undecided)
    return answered(
        "check",
        made,
        chart=chart,
        about=told,
        code=made.numbers["exit_code"],
        contract=contract,
    )


def _write(path: Path, text: str) -> None:
    with replacing(path) as temporary:
        Path(temporary).write_text(text, encoding="utf-8")
    say(f"Written to {path}.")


def _checked(asked: Contract, file: str, baseline: str | None) -> Checked:
    p = predictions(asked, file)
    count = cases_of(p, asked.key, baseline)
    whole = count(None)
    t = whole.tally
    groups = {by: count(by) for by in dict.fromkeys(r.by for r in p.required) if by}
    found = check_all(
        whole, p.required, groups=groups, level=asked.level, adjust=asked.adjust
    )
    words = {k: getattr(asked, k) for k in ("count", "positive", "cluster", "weight")}
    chosen = Chosen(p.label, (p.score,), by=next(iter(groups), None), **words)
    request = Request(p.source, chosen, p.rows, asked.level, 0)
    return found, cases_note(t), about(request, t)


def _checked_log(asked: Contract, file: str, baseline: str | None) -> Checked:
    """Check the attempts of a log, or of a table with a row per attempt."""
    words: dict[str, Any] = {"item": asked.key, "passed": asked.label}
    words["cluster"] = asked.cluster
    data = {"the log": read_evals(file)}
    data |= {"the baseline": read_evals(baseline)} if baseline else {}

    def counted(part: dict[str, Any]) -> Evidence:
        found = [attempts(d, **words) for d in part.values()]
        for several in found:
            if isinstance(several, dict):
                raise InputError(
                    "A contract is about one system; the log holds "
                    f"{', '.join(several)}. Give the log of one of them, and that of "
                    "another as --baseline."
                )
        return Evidence.of(*found)

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
        plain = (str, int, float)  # they need not be named again
        held.columns.update({k: v for k, v in columns.items() if isinstance(v, plain)})
        held.save(state)

    def chart() -> Any:
        from trueness.plots.answers import sequence  # Altair is loaded when it draws

        return sequence(held)

    return answered(
        "watch",
        still_good(held, cases_note(t), held.looks > looks),
        chart=chart,
        about=about(Request(source, chosen, source.rows, 0.95, 0), t),
        code=4 if held.alarm else 0,
    )
