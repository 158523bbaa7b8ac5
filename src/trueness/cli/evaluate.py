"""What is in this file, how good is each score, and where should the threshold be?"""

from __future__ import annotations

import inspect
import shlex
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any

import typer

import trueness
from trueness._core.checks.errors import InputError
from trueness._core.checks.options import fraction
from trueness._core.numbers import counted
from trueness._core.progress import progress
from trueness.cli import _shell as shell
from trueness.cli._app import WORDS
from trueness.cli._columns import Request, classes_of, count_classes, count_tally
from trueness.cli._command import ONE_SCORE, SCORES, File, command
from trueness.cli._source import open_source
from trueness.data.engines import quoted
from trueness.data.first_look import look as look_at
from trueness.data.multiclass import multiclass_auc
from trueness.findings.cut import find_cut, with_groups
from trueness.findings.how_good import how_good
from trueness.findings.notes import when
from trueness.findings.records import table
from trueness.findings.subject import Wanted, subject
from trueness.metrics.definitions import COUNTS, METRIC_FAMILIES, METRICS
from trueness.scale.queries import DIALECTS
from trueness.scale.queries import sql as write_query
from trueness.threshold.operating_point import OperatingPoint
from trueness.threshold.rule import Rule


@command()
def look_command(file: File, decimal: str | None = None) -> shell.CommandAnswer:
    """What is in this file, and what can be asked of it? Nothing is sent anywhere.

    Example: trueness look sample:west_nile
    """
    found = look_at(open_source(file, ordered=True, decimal=decimal).rows)
    rows = [
        [c.name, c.kind, c.distinct, c.missing, ", ".join(c.could_be)]
        for c in found.columns
    ]
    head = ["column", "holds", "values", "missing", "could be"]
    remarks = [f"{c.name}: {' '.join(c.remarks)}" for c in found.columns if c.remarks]
    typed = {}
    for q in found.questions:  # the command that answers it
        words = ["trueness", q.command, file]
        for name, value in q.columns.items():
            one_of = {"nogold": "vote", "judge": "judge"}.get(q.command, "score")
            option = {"scores": one_of}.get(name, name).replace("_", "-")
            for one in value if isinstance(value, list) else [value]:
                words += [f"--{option}", str(one)]
        typed[q.question] = shlex.join(words)
    asked: Any = "No question fits these columns as they are."
    if typed:
        asked = table("Questions", ["question", "type"], typed.items(), most=400)
    questions = [{"question": q, "type": text} for q, text in typed.items()]
    return shell.CommandAnswer(
        {"rows": found.rows, "columns": found.columns, "questions": questions},
        [table("Columns", head, rows), *remarks, asked],
        about={"file": file},
    )


@command(like=write_query, dialects=DIALECTS)
def sql_command(
    dialect: str | None = None,
    table: str | None = None,
    score: str | None = None,
    positive: str | None = None,
    map: str | None = None,
    rule: str | None = None,
    **words: Any,
) -> shell.CommandAnswer:
    """Which query counts a table where it is? Its result is read by every command.

    Save the result as CSV or Parquet; trueness evaluate counts.csv and all other
    commands about one score recognise it by its columns.

    --dialect NAME: {dialects}.
    --table NAME: Table, as the dialect writes it.
    --positive VALUE: Label that counts as positive; all others are negative. A number,
        true for a column of booleans, or a text; '1' between quotes is a text.
    --by COLUMN: Column with groups.
    --bins NUMBER: Bins of about equal size in place of distinct scores.
    --map FILE: Do not count; apply this map, saved by calibrate, to every row.
    --rule FILE: Do not count; apply this rule, a threshold that was saved.

    Example: trueness sql --dialect snowflake --table preds --label y --score p
    """
    for name, value in {"dialect": dialect, "table": table, "score": score}.items():
        if value is None:
            raise InputError(
                f"Type --{name} NAME. A query needs the dialect, the table and the "
                "column of the scores: trueness sql --dialect "
                f"{next(iter(DIALECTS))} --table preds --label y --score p."
            )
    if map is not None and rule is not None:
        raise InputError("--map and --rule make a query each. Type one of them.")
    read = trueness.load_map(map) if map else Rule.load(rule) if rule else None
    words |= {"score": score, "positive": _value(positive), "apply": read}
    query = write_query(str(table), dialect=str(dialect), **words)
    return shell.CommandAnswer({"dialect": dialect, "query": query}, [query])


def _value(text: str | None) -> Any:
    """Read a label as SQL would: a number, true or false, or a text."""
    if text is None or text.lower() in ("true", "false"):
        return None if text is None else text.lower() == "true"
    if len(text) > 1 and text[0] == text[-1] == "'":
        return text[1:-1]
    try:
        return float(text)
    except ValueError:
        return text


MOST_ROWS = 5_000_000  # for which all classes together are asked


@command(SCORES)
def evaluate_command(request: Request, at: float | None = None) -> shell.CommandAnswer:
    """How good is each score? AUC, average precision and Brier score, with intervals.

    A label with more than two classes is answered class by class, when there is a score
    for each of them.

    --at SCORE: Threshold in use: also every metric there.

    Example: trueness evaluate sample:west_nile --label virus --score boosting
    """
    c, classes = request.chosen, classes_of(request)
    by = c.by if not classes else None
    with progress("Counting", unit=""):
        if classes:
            tallies = count_classes(request, classes)
        else:
            tallies = {s: count_tally(request, s) for s in c.scores}
        parts = {s: count_tally(request, s, by=True) for s in c.scores} if by else {}
    # from group to the counts of each score
    groups = {
        str(g): {s: parts[s][g] for s in parts} for g in next(iter(parts.values()), {})
    }
    s = subject(
        tallies,
        groups=groups or None,
        by=str(by),
        cluster=c.cluster or "",
        level=request.level,
        at=at,
        classes=bool(classes),
    )
    drawn = {
        group if len(tallies) == 1 else f"{score}, {group}": t
        for group, found in groups.items()
        for score, t in found.items()
        if t.n_pos and t.n_neg
    }
    together, whole = None, c.count or c.weight or c.cluster
    if classes and not whole and len(request.rows) <= MOST_ROWS:
        names = [str(c.label), *classes.values()]
        rows = request.rows.project(", ".join(map(quoted, names))).fetchnumpy()
        truth = [None if v is None else str(v) for v in rows[names[0]].tolist()]
        scores = {str(k): rows[column] for k, column in classes.items()}
        together = multiclass_auc(truth, scores, level=request.level)
    return shell.answered(
        how_good(s, together),
        counted=next(iter(tallies.values())),
        chart=lambda: trueness.plots.roc(drawn or tallies),
    )


def _list_metrics(ctx: typer.Context, asked: bool) -> None:
    """Print what can be maximised, minimised and bounded, and end."""
    if not asked:
        return
    known = {name: m.question for name, m in {**METRICS, **COUNTS}.items()}
    for name, family in METRIC_FAMILIES.items():
        given = ", ".join(f"{k}=" for k in inspect.signature(family).parameters)
        known[f"{name}({given})"] = (family.__doc__ or "").strip().splitlines()[0]
    lines: list[Any] = [f"{name:23} {question}" for name, question in known.items()]
    answer = shell.CommandAnswer({"metrics": known}, lines, command="threshold")
    shell.show(answer, as_json="--json" in ctx.meta[WORDS])
    raise typer.Exit


def rule_typed(text: str | None) -> float | Rule | None:
    """Read a threshold, or a rule that was saved."""
    if text is None:
        return None
    try:
        return float(text)
    except ValueError:
        if not Path(text).is_file():
            raise InputError(
                "--at must be a threshold, or a file with a rule that --save of "
                f"threshold has written; found {text!r}."
            ) from None
    rule = Rule.load(text)
    return rule if rule.groups or rule.defers else rule.cuts()[1]


@command(ONE_SCORE, ranges=True)
def threshold_command(
    request: Request,
    maximize: str | None = None,
    minimize: str | None = None,
    subject_to: list[str] | None = None,
    at: str | None = None,
    validate: bool = False,
    guarantee: float | None = None,
    save: Path | None = None,
    list_metrics: Annotated[
        bool,
        typer.Option(
            "--list-metrics",
            help="Show every metric and count that can be named, and end.",
            is_eager=True,
            callback=_list_metrics,
        ),
    ] = False,
) -> shell.CommandAnswer:
    """Where should the threshold be? The exact best one under constraints.

    A price for deferred cases, --minimize "cost(fp=1, fn=10, defer=0.3)", asks for two
    thresholds; a limit on groups, --by site --subject-to "recall_gap <= 0.02", for one
    in each group.

    --at RULE: Evaluate this threshold, or a rule saved by --save, and choose none.
    --validate: Estimate what to expect on new cases (bootstrap).
    --guarantee SHARE: Confidence with which the constraints must hold on new cases.
    --save FILE: Save the rule that was chosen; --at and trueness sql --rule read it.

    Example: trueness threshold sample:west_nile --label virus --score boosting \
--maximize f1 --subject-to "recall >= 0.8" --validate
    """
    q = Wanted(
        maximize, minimize, tuple(subject_to or ()), None, rule_typed(at),
        request.prevalences, validate, guarantee, request.level, request.seed,
    )  # fmt: skip
    if guarantee is not None:
        fraction(guarantee, "--guarantee")
    by, score = request.chosen.by, request.chosen.scores[0]
    with progress("Counting", unit=""):
        t = count_tally(request, score)
        groups = count_tally(request, score, by=True) if by else {}
    limits = " ".join(filter(None, (maximize, minimize, *(subject_to or ()))))
    if t.n_unknown and "flagged" in limits:
        shell.say(
            "The limit on flagged cases counts cases with a label only; "
            f"{counted(t.n_unknown, 'case has', 'cases have')} none."
        )
    with progress("Looking for the best threshold", unit=""):
        found, choice = find_cut(t, q, {str(g): part for g, part in groups.items()})
        if not q.for_groups:
            parts = shell.each_group(groups, lambda part: find_cut(part, q)[0])
            found = with_groups(found, parts, str(by))

    def chart() -> Any:
        if isinstance(choice, OperatingPoint):
            return trueness.plots.operating_point(t, **q.given)
        if q.at is not None:
            return trueness.plots.roc(t)
        two, plots = choice.rule.defers or q.two is not None, trueness.plots
        return (plots.zones if two else plots.guaranteed_cut)(t, choice)

    cluster = request.chosen.cluster
    alike = when(cluster, "clusters", cluster=cluster)
    found = replace(found, notes=(*found.notes, *alike))
    shell.save_fitted(choice.rule, save)
    return shell.answered(found, counted=t, chart=None if q.for_groups else chart)
