"""How good is each score?"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Annotated, Any

import typer

import trueness
from trueness._core.checks.cases import both_classes
from trueness._core.checks.errors import InputError
from trueness._core.checks.options import choice, whole_number
from trueness._core.checks.words import listing
from trueness._core.progress import progress
from trueness._core.records import Estimate
from trueness.cli import options
from trueness.cli._columns import (
    FileData,
    classes_of,
    count_classes,
    count_panel,
    count_tally,
    read_number,
    read_share,
)
from trueness.cli._file_data import (
    SCORES_OR_NO_LABEL,
    open_data,
    refuse_without_labels,
)
from trueness.cli._horizons import LABEL, WEIGHT, label_follow_up
from trueness.cli._missing_scores import naming_rows_without_score
from trueness.cli._shell import CommandAnswer, about, command_answer
from trueness.counts.expected_labels import PROCESS
from trueness.counts.values import Tally
from trueness.data.cleaning import INDETERMINATE, normal_form
from trueness.data.engines import quoted
from trueness.data.row_counts import INDETERMINATE_SCORE
from trueness.findings.how_good import how_good
from trueness.findings.request import Request
from trueness.findings.subject import has_no_labels, subject
from trueness.metrics.confusion import Confusion
from trueness.metrics.intervals import METHODS, WILSON_METHOD
from trueness.threshold.rule import Rule

MAX_ROWS_OF_CLASSES = 5_000_000  # of which all classes are evaluated together


def _cell(name: str, meaning: str) -> Any:
    return typer.Option(
        f"--{name}",
        metavar="NUMBER",
        help=f"Without a file: {meaning}.",
        rich_help_panel="2x2 table",
    )


def evaluate_command(
    file: options.OptionalFile = None,
    more_files: options.MoreFiles = None,
    label: options.Label = None,
    score: options.Scores = None,
    at: Annotated[
        float | None,
        options.number(
            "--at", metavar="SCORE", help="Threshold in use: adds every metric there."
        ),
    ] = None,
    margin: options.Margin = None,
    tp: Annotated[int | None, _cell("tp", "true positives")] = None,
    fp: Annotated[int | None, _cell("fp", "false positives")] = None,
    fn: Annotated[int | None, _cell("fn", "false negatives")] = None,
    tn: Annotated[int | None, _cell("tn", "true negatives")] = None,
    method: Annotated[
        str,
        typer.Option(
            "--method",
            metavar="NAME",
            help="Confidence intervals of a test's proportions: wilson, or exact "
            "(Clopper-Pearson, as in epiR).",
        ),
    ] = WILSON_METHOD,
    indeterminate: Annotated[
        str | None,
        typer.Option(
            "--indeterminate",
            metavar="LOW:HIGH|WORD",
            help="For one test: results from LOW up to HIGH, or a word such as "
            "inconclusive, are indeterminate. The 3x2 table counts them as positive, "
            "as negative, and leaves them out.",
        ),
    ] = None,
    horizon: Annotated[
        float | None,
        options.number(
            "--horizon",
            help="Time of interest, where follow-up was censored: labels and weights "
            "come from --time and --event.",
            panel="Follow-up",
        ),
    ] = None,
    time: Annotated[
        str | None,
        options.column(
            "--time",
            help="Column with the time to the event or to censoring.",
            panel="Follow-up",
        ),
    ] = None,
    event: Annotated[
        str | None,
        options.column(
            "--event",
            help="Column that is 1 at an event, 0 where a case was censored.",
            panel="Follow-up",
        ),
    ] = None,
    positive: options.Positive = None,
    count: options.Count = None,
    by: options.By = None,
    decimal: options.Decimal = None,
    missing_scores: options.MissingScores = None,
    invert: options.Invert = False,
    strict: options.Strict = False,
    weight: options.Weight = None,
    cluster: options.Cluster = None,
    sampling: options.Sampling = None,
    prevalence: options.Prevalence = None,
    unlabelled: options.Unlabelled = None,
    target: options.Target = PROCESS,
    level: options.Level = 0.95,
    seed: options.Seed = 0,
    json: options.Json = False,
    plot: options.Plot = None,
    quiet: options.Quiet = False,
    debug: options.Debug = False,
) -> CommandAnswer:
    """How good is each score? AUC, average precision and Brier score, with intervals.

    A label with more than two classes is answered class by class, when there is a score
    for each of them. Tests, whose results are 0 and 1 or a known pair of words, get
    sensitivity, specificity, predictive values and likelihood ratios. So do four
    counts, --tp 815 --fp 115 --fn 208 --tn 327.

    Example:
    trueness evaluate sample:west_nile --label virus --score boosting
    """
    choice(method, METHODS, "--method")
    cells = {"tp": tp, "fp": fp, "fn": fn, "tn": tn}
    if any(cell is not None for cell in cells.values()):
        return _evaluate_table(cells, file, level, method, read_share(prevalence))

    if file is None:
        raise InputError(
            "Which file holds the predictions? Type trueness evaluate predictions.csv, "
            "or four counts: --tp 815 --fp 115 --fn 208 --tn 327."
        )

    follow_up = None
    files = [file, *(more_files or ())]
    if horizon is not None:
        _check_follow_up(files, label=label, weight=weight, count=count)
        follow_up = label_follow_up(file, time=time, event=event, horizon=horizon)
        files = [follow_up.file]
        label = LABEL
        weight = WEIGHT

    data = open_data(
        SCORES_OR_NO_LABEL,
        file=files,
        label=label,
        columns=score or (),
        positive=positive,
        count=count,
        by=by,
        decimal=decimal,
        missing_scores=missing_scores,
        invert=invert,
        strict=strict,
        weight=weight,
        cluster=cluster,
        sampling=sampling,
        prevalence=prevalence,
        unlabelled=unlabelled,
        target=target,
        level=level,
        seed=seed,
    )
    with naming_rows_without_score(data):
        if indeterminate is not None:
            return _evaluate_indeterminate(data, indeterminate)
        answer = _evaluate(data, threshold=at, margin=margin, method=method)

    if follow_up is None:
        return answer

    return replace(
        answer,
        parts=[follow_up.sentence, *answer.parts],
        about=answer.about | {"file": file},
    )


def _check_follow_up(
    files: list[str], *, label: str | None, weight: str | None, count: str | None
) -> None:
    """Raise an error where a horizon stands beside what it decides itself."""
    if label or weight or count or len(files) > 1:
        raise InputError(
            "With a horizon, labels and weights come from the follow-up in one file. "
            "Leave out the label, the weight, the count and other files.",
            option="horizon",
        )


def _evaluate_indeterminate(data: FileData, text: str) -> CommandAnswer:
    """Show the 3x2 table of a test, and its metrics by each reading."""
    if normal_form(text) in INDETERMINATE:
        # words are read as 1, 0 and this
        lower = INDETERMINATE_SCORE
        upper = 1.0
    else:
        lower, upper = _read_range(text)

    if len(data.request.scores) != 1 or not lower < upper:
        raise InputError(
            "Indeterminate results are those of one test, from a lower value up to a "
            'higher one, or a word such as "inconclusive"; found '
            f"{text!r}.",
            option="indeterminate",
            example="0.5:1",
        )

    from trueness.findings.verdict_tables import with_indeterminate_results

    tally = count_tally(data, data.request.scores[0])
    rule = Rule(upper, lower=lower)
    finding = with_indeterminate_results(tally, rule, data.request.level)

    return command_answer(finding, about=about(data, tally))


def _read_range(text: str) -> tuple[float, float]:
    """Read two numbers with a colon between them; NaN where there are none."""
    try:
        lower, upper = map(read_number, text.split(":"))
    except ValueError:
        return math.nan, math.nan
    return lower, upper


def _evaluate_table(
    cells: dict[str, int | None],
    file: str | None,
    level: float,
    method: str,
    prevalence: float | tuple[float, float] | None,
) -> CommandAnswer:
    """Evaluate the four counts of a test."""
    missing = [f"--{name}" for name, cell in cells.items() if cell is None]
    if missing or file is not None:
        what_is_wrong = (
            f"{listing(missing)} is missing" if missing else f"found {file}, too"
        )
        raise InputError(
            "A 2x2 table needs --tp, --fp, --fn and --tn, and no file; "
            f"{what_is_wrong}.",
            option="tp",
        )

    for name, cell in cells.items():
        whole_number(cell, f"--{name}", at_least=0)

    table = Confusion(**{name: int(cell or 0) for name, cell in cells.items()})
    design = {} if prevalence is None else {"prevalence": prevalence}
    finding = trueness.evaluate(
        table.with_design(**design), level=level, method=method, name="The test"
    )

    return command_answer(finding, about={"table": cells})


def _evaluate(
    data: FileData,
    *,
    threshold: float | None,
    margin: float | None,
    method: str,
) -> CommandAnswer:
    """Evaluate each score, or each class against the rest."""
    score_of_class = classes_of(data)
    groups: dict[str, dict[str, Tally]] = {}

    with progress("Counting", unit=""):
        if score_of_class:
            tallies = count_classes(data, score_of_class)
        else:
            tallies = {score: count_tally(data, score) for score in data.request.scores}
            groups = _count_groups(data)

    request = replace(
        data.request, at=threshold, margin=margin, classes=bool(score_of_class)
    )
    first_tally = next(iter(tallies.values()))
    if has_no_labels(first_tally):
        if request.label is not None:
            # a column of labels was named, and it is empty
            both_classes(first_tally, "evaluate")
        refuse_without_labels({"by": request.by, "margin": margin})
        return _evaluate_without_labels(data, request)

    classifiers = subject(tallies, request, groups=groups or None)
    curves = _curves_of_groups(groups) or tallies
    findings = [
        how_good(classifiers, _auc_of_all_classes(data, score_of_class), method=method)
    ]

    if margin is not None:
        from trueness.findings.what_scores_mean import calibration_as_it_is

        findings.append(calibration_as_it_is(tallies, request))

    return command_answer(
        *findings,
        about=about(data, next(iter(tallies.values()))),
        chart=lambda: trueness.plots.roc.figure_data(curves),
    )


def _evaluate_without_labels(data: FileData, request: Request) -> CommandAnswer:
    """Say what scores on the same cases tell when no case has a label."""
    panel = count_panel(data)
    return command_answer(how_good(subject(panel, request)), about=about(data, panel))


def _count_groups(data: FileData) -> dict[str, dict[str, Tally]]:
    """Count each score in each group: from group to score to counts."""
    if data.request.by is None:
        return {}

    groups: dict[str, dict[str, Tally]] = {}
    for score in data.request.scores:
        for group, tally in count_tally(data, score, by=True).items():
            groups.setdefault(str(group), {})[score] = tally

    return groups


def _curves_of_groups(groups: dict[str, dict[str, Tally]]) -> dict[str, Tally]:
    """Return the groups that have both classes, by the names of their curves."""
    curves = {}
    for group, tallies in groups.items():
        for score, tally in tallies.items():
            name = group if len(tallies) == 1 else f"{score}, {group}"
            if tally.n_pos and tally.n_neg:
                curves[name] = tally

    return curves


def _auc_of_all_classes(
    data: FileData, score_of_class: dict[Any, str]
) -> Estimate | None:
    """AUC over all classes, where the rows are plain cases and not too many."""
    request = data.request
    plain_cases = request.count is request.weight is request.cluster is None
    if not score_of_class or not plain_cases or len(data.rows) > MAX_ROWS_OF_CLASSES:
        return None

    from trueness.data.multiclass import multiclass_auc

    label = str(request.label)
    names = [label, *score_of_class.values()]
    rows = data.rows.project(", ".join(map(quoted, names))).fetchnumpy()

    # classes are named by text, whatever the type of the label
    classes = []
    for value in rows[label].tolist():
        classes.append(None if value is None else str(value))
    scores = {str(name): rows[column] for name, column in score_of_class.items()}
    return multiclass_auc(classes, scores, level=request.level)
