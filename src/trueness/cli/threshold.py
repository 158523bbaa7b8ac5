"""Where should the threshold be?"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Annotated, Any

import typer

import trueness
from trueness._core.checks import options as _options
from trueness._core.checks.cases import both_classes
from trueness._core.checks.errors import InputError
from trueness._core.numbers import counted
from trueness._core.progress import progress
from trueness.cli import _shell as shell
from trueness.cli import options
from trueness.cli._columns import FileData, count_tally
from trueness.cli._command import TYPED_WORDS
from trueness.cli._file_data import (
    ONE_SCORE_OR_NO_LABEL,
    open_data,
    refuse_without_labels,
)
from trueness.cli._missing_scores import naming_rows_without_score
from trueness.counts.expected_labels import PROCESS
from trueness.counts.values import Tally
from trueness.findings.cut import find_cut, with_groups
from trueness.findings.notes import note_if
from trueness.findings.records import Finding
from trueness.findings.request import SWEEP, Request
from trueness.findings.subject import has_no_labels
from trueness.metrics.definitions import COUNTS, METRIC_FAMILIES, METRICS
from trueness.threshold.constraints import DEFAULT_OBJECTIVE
from trueness.threshold.expected_constraints import NEW_CASES, THESE_CASES
from trueness.threshold.operating_point import METHODS, OperatingPoint
from trueness.threshold.rule import Rule


def _list_metrics(ctx: typer.Context, wanted: bool) -> None:
    """Print what can be maximised, minimised and constrained, and end."""
    if not wanted:
        return

    meanings = {
        name: definition.question for name, definition in {**METRICS, **COUNTS}.items()
    }
    for name, family in METRIC_FAMILIES.items():
        names = inspect.signature(family).parameters
        parameters = ", ".join(f"{parameter}=" for parameter in names)
        documentation = (family.__doc__ or "").strip()
        meanings[f"{name}({parameters})"] = documentation.splitlines()[0]

    answer = shell.CommandAnswer(
        result={"metrics": meanings},
        parts=[f"{name:23} {meaning}" for name, meaning in meanings.items()],
        command="threshold",
    )
    # the option ends the parsing, so the other words are not yet read
    shell.show(answer, as_json="--json" in ctx.meta[TYPED_WORDS])
    raise typer.Exit


def threshold_command(
    file: options.File,
    label: options.Label = None,
    score: options.Score = None,
    maximize: options.Maximize = None,
    minimize: options.Minimize = None,
    subject_to: options.SubjectTo = None,
    cost_fp: options.CostFp = None,
    cost_fn: options.CostFn = None,
    at: Annotated[
        str | None,
        typer.Option(
            "--at",
            metavar="RULE",
            help=(
                "Evaluate this threshold, or a rule that --save wrote, instead of "
                "choosing one."
            ),
        ),
    ] = None,
    method: Annotated[
        str,
        typer.Option(
            "--method",
            metavar="NAME",
            help=f"How to search: {', '.join(METHODS)}. milp solves a 0-1 integer "
            "linear program and reports the solver's proof.",
        ),
    ] = SWEEP,
    auc: Annotated[
        float | None,
        options.number(
            "--auc",
            help="Without labels: the AUC, known from elsewhere. With --prevalence "
            "it gives the probability of a positive at each rank (Fermi-Dirac, Kim "
            "et al. 2021).",
        ),
    ] = None,
    validate: Annotated[
        bool,
        typer.Option(
            "--validate", help="Estimate the performance on new cases (bootstrap)."
        ),
    ] = False,
    guarantee: options.Guarantee = None,
    save: Annotated[
        Path | None,
        typer.Option(
            "--save",
            metavar="FILE",
            help="Save the rule that was chosen; --at and trueness sql --rule read it.",
            rich_help_panel=options.OUTPUT,
        ),
    ] = None,
    list_metrics: Annotated[
        bool,
        typer.Option(
            "--list-metrics",
            help="List every metric and count, and exit.",
            is_eager=True,
            callback=_list_metrics,
        ),
    ] = False,
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
) -> shell.CommandAnswer:
    r"""Where should the threshold be? Finds the exact optimum under constraints.

    A cost of deferred cases, --minimize "cost(fp=1, fn=10, defer=0.3)", asks
    for two thresholds. A constraint on groups, --by site with --subject-to
    "recall_gap <= 0.02", asks for one in each group.

    Example:
    trueness threshold sample:west_nile --label virus --score boosting \
        --maximize f1 --subject-to "recall >= 0.8" --validate
    """
    data = open_data(
        ONE_SCORE_OR_NO_LABEL,
        file=file,
        label=label,
        columns=[score] if score else (),
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
        takes_range=True,
        level=level,
        seed=seed,
    )

    if guarantee is not None:
        _options.fraction(guarantee, "--guarantee")

    cost = options.read_cost(cost_fp, cost_fn)
    if cost is not None:
        if maximize is not None or minimize is not None:
            raise InputError(
                "Costs are an objective. Leave them out, or the other objective.",
                option="cost_fp",
            )
        minimize = f"cost(fp={cost['fp']:g}, fn={cost['fn']:g})"

    request = replace(
        data.request,
        maximize=maximize,
        minimize=minimize,
        subject_to=tuple(subject_to or ()),
        at=read_rule(at),
        auc=auc,
        validate=validate,
        guarantee=guarantee,
        method=_options.choice(method, METHODS, "--method"),
    )
    data = replace(data, request=request)
    with naming_rows_without_score(data):
        return _choose_threshold(data, save)


def _choose_threshold(data: FileData, save: Path | None) -> shell.CommandAnswer:
    """Choose the threshold of all cases, and that of each group."""
    request = data.request
    with progress("Counting", unit=""):
        tally = count_tally(data, request.scores[0])
        groups: dict[Any, Tally] = {}
        if request.by:
            groups = count_tally(data, request.scores[0], by=True)

    unlabelled = has_no_labels(tally)
    if unlabelled:
        if request.label is not None:
            # a column of labels was named, and it is empty
            both_classes(tally, "threshold")
        refuse_without_labels(
            {
                "by": request.by,
                "validate": request.validate,
                "guarantee": request.guarantee,
            }
        )

    _say_that_flagged_are_labelled(tally, request)

    with progress("Looking for the best threshold", unit=""):
        by_name = {
            str(group): tally_of_group for group, tally_of_group in groups.items()
        }
        finding, choice = find_cut(tally, request, by_name)
        if not request.for_groups:
            of_groups = shell.answer_each_group(
                groups, lambda tally_of_group: find_cut(tally_of_group, request)[0]
            )
            finding = with_groups(finding, of_groups, str(request.by))

    note_on_clusters = note_if(request.cluster, "clusters", cluster=request.cluster)
    finding = replace(finding, notes=(*finding.notes, *note_on_clusters))
    rule = choice if isinstance(choice, Rule) else choice.rule
    shell.save_fitted(rule, save)

    chart: Callable[[], Any] | None = None
    if not request.for_groups and not unlabelled:
        # drawn on demand
        chart = partial(_chart, tally, request, choice, finding)

    return shell.command_answer(finding, about=shell.about(data, tally), chart=chart)


def _say_that_flagged_are_labelled(tally: Tally, request: Request) -> None:
    """Mention that a constraint on flagged cases leaves cases without a label out."""
    objectives = (request.maximize, request.minimize, *request.subject_to)
    names_flagged = any("flagged" in str(text) for text in objectives if text)
    some_have_labels = bool(tally.n_unknown) and not has_no_labels(tally)
    if some_have_labels and names_flagged and not tally.labels_expected:
        shell.say(
            "The constraint on flagged cases counts labelled cases only; "
            f"{counted(tally.n_unknown, 'case has', 'cases have')} none."
        )


def _chart(tally: Tally, request: Request, choice: Any, finding: Finding) -> Any:
    """Return the figure of the chosen threshold or thresholds, or of a given one."""
    plots = trueness.plots

    if isinstance(choice, OperatingPoint):
        goal = request.goal_as_stated
        on_new_cases = request.method == SWEEP and finding.numbers["validation"]
        return plots.operating_point.figure_data(
            tally,
            maximize=goal.maximize or DEFAULT_OBJECTIVE,
            minimize=goal.minimize,
            subject_to=goal.subject_to,
            prevalences=request.prevalences,
            constraints_on=NEW_CASES if on_new_cases else THESE_CASES,
            rng=request.rng,
        )

    if request.at is not None:
        return plots.roc.figure_data(tally)
    if choice.rule.defers or request.pair_goal is not None:
        return plots.zones.figure_data(tally, choice)
    return plots.guaranteed_threshold.figure_data(tally, choice)


def read_rule(text: str | None) -> float | Rule | None:
    """Return a threshold that was typed, or the rule of a file that was saved.

    A rule of one threshold for all cases is that threshold.
    """
    if text is None:
        return None

    try:
        return float(text)
    except ValueError:
        pass  # no number: then it names a file

    if not Path(text).is_file():
        raise InputError(
            "The threshold must be a number, or the file of a saved rule; found "
            f"{text!r}.",
            option="at",
            example=0.5,
        )

    rule = Rule.load(text)
    if rule.groups or rule.defers:
        return rule

    _, threshold = rule.cuts()
    return threshold
