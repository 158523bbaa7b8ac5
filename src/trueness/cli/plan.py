"""How many cases do I need? Sample sizes, before there are any data."""

from __future__ import annotations

import inspect
from typing import Annotated

import typer

import trueness
from trueness._core.checks.errors import InputError
from trueness.cli import options
from trueness.cli._app import COMMANDS
from trueness.cli._command import ShellCommand
from trueness.cli._help import ShellGroup
from trueness.cli._shell import CommandAnswer, command_answer
from trueness.findings.trust import label_plan_finding, leaf_plan_finding, plan_finding
from trueness.nogold.label_plans import plan_labels
from trueness.ranking.models import MODELS
from trueness.ranking.planning import plan_auc, plan_auc_difference, plan_rate
from trueness.trees.levels import plan_leaf

labels_before_data = inspect.unwrap(plan_labels)
plan_command = typer.Typer(
    cls=ShellGroup, help=COMMANDS["plan"].help, no_args_is_help=True
)

Prevalence = Annotated[
    float,
    options.number("--prevalence", metavar="FRACTION", help="Proportion of positives."),
]


@plan_command.command(name="auc", cls=ShellCommand)
def plan_auc_command(
    auc: Annotated[float, options.number("--auc", help="Expected AUC.")],
    prevalence: Prevalence = 0.5,
    half_width: Annotated[
        float | None,
        options.number(
            "--half-width",
            metavar="WIDTH",
            help="Wanted half-width of the interval of the AUC.",
        ),
    ] = None,
    null: options.Null = None,
    power: options.Power = None,
    model: Annotated[
        str,
        typer.Option(
            "--model",
            metavar="NAME",
            help=f"Model of the scores: {', '.join(MODELS)}.",
        ),
    ] = "binormal",
    sampling: Annotated[
        str,
        typer.Option(
            "--sampling",
            metavar="HOW",
            help=(
                "case-control fixes the number of positives; in a cohort it is random."
            ),
        ),
    ] = "case-control",
    level: options.Level = 0.95,
    json: options.Json = False,
    plot: options.Plot = None,
    quiet: options.Quiet = False,
    debug: options.Debug = False,
) -> CommandAnswer:
    """How many cases are needed to know an AUC well enough?

    Example:
    trueness plan auc --auc 0.8 --prevalence 0.1 --half-width 0.03
    """
    if (half_width is None) == (null is None):
        raise InputError(
            "A plan needs a goal: the half-width of an interval, or a null value with "
            "the power of a test.",
            option="half_width",
            example=0.03,
        )

    plan = plan_auc(
        auc=auc,
        prevalence=prevalence,
        half_width=half_width,
        null=null,
        power=power,
        level=level,
        model=model,
        sampling=sampling,
    )

    return command_answer(
        plan_finding(plan, f"an AUC of {auc:g}"),
        chart=lambda: trueness.plots.sample_size.figure_data(plan),
    )


@plan_command.command(name="difference", cls=ShellCommand)
def plan_difference_command(
    first: Annotated[
        float, options.number("--first", help="Expected AUC of one classifier.")
    ],
    second: Annotated[
        float,
        options.number(
            "--second", help="Expected AUC of the second one, on the same cases."
        ),
    ],
    correlation: Annotated[
        float,
        options.number(
            "--correlation", help="Correlation of the two scores within a class."
        ),
    ] = 0.5,
    prevalence: Prevalence = 0.5,
    half_width: Annotated[
        float | None,
        options.number(
            "--half-width",
            metavar="WIDTH",
            help="Wanted half-width of the interval of the difference.",
        ),
    ] = None,
    power: options.Power = None,
    level: options.Level = 0.95,
    json: options.Json = False,
    quiet: options.Quiet = False,
    debug: options.Debug = False,
) -> CommandAnswer:
    """How many cases are needed to show that two AUCs on the same cases differ?

    Example:
    trueness plan difference --first 0.85 --second 0.8 --power 0.8
    """
    plan = plan_auc_difference(
        first=first,
        second=second,
        correlation=correlation,
        prevalence=prevalence,
        half_width=half_width,
        power=power,
        level=level,
    )

    return command_answer(plan_finding(plan, "the difference"))


@plan_command.command(name="rate", cls=ShellCommand)
def plan_rate_command(
    rate: Annotated[
        str,
        typer.Option(
            "--rate",
            metavar="NAME",
            help="Which rate: recall, specificity or precision.",
        ),
    ],
    value: Annotated[float, options.number("--value", help="Expected rate.")],
    prevalence: Prevalence = 0.5,
    recall: Annotated[
        float | None,
        options.number("--recall", help="For precision: the expected recall."),
    ] = None,
    half_width: Annotated[
        float | None,
        options.number(
            "--half-width",
            metavar="WIDTH",
            help="Wanted half-width of the interval of the rate.",
        ),
    ] = None,
    null: options.Null = None,
    power: options.Power = None,
    level: options.Level = 0.95,
    json: options.Json = False,
    quiet: options.Quiet = False,
    debug: options.Debug = False,
) -> CommandAnswer:
    """How many cases are needed to know recall, specificity or precision well enough?

    Example:
    trueness plan rate --rate recall --value 0.9 --prevalence 0.1 --null 0.8
    """
    plan = plan_rate(
        rate,
        value=value,
        prevalence=prevalence,
        recall=recall,
        half_width=half_width,
        null=null,
        power=power,
        level=level,
    )

    return command_answer(plan_finding(plan, f"a {rate} of {value:g}"))


@plan_command.command(name="labels", cls=ShellCommand)
def plan_labels_command(
    half_width: Annotated[
        float,
        options.number(
            "--half-width", metavar="WIDTH", help="Wanted half-width of the interval."
        ),
    ],
    prevalence: Annotated[
        float | None,
        options.number(
            "--prevalence",
            metavar="FRACTION",
            help="Expected pass rate.",
        ),
    ] = None,
    judges: Annotated[
        int,
        typer.Option("--judges", metavar="NUMBER", help="Number of judges."),
    ] = 1,
    sensitivity: Annotated[
        float,
        options.number(
            "--sensitivity",
            help="Sensitivity of a judge: proportion of right answers that it passes.",
        ),
    ] = 0.85,
    specificity: Annotated[
        float,
        options.number(
            "--specificity",
            help="Specificity of a judge: proportion of wrong answers that it fails.",
        ),
    ] = 0.85,
    correlation: Annotated[
        float,
        options.number(
            "--correlation", help="Correlation of the errors of two judges."
        ),
    ] = 0.0,
    cases: Annotated[
        int,
        typer.Option("--cases", metavar="NUMBER", help="Number of cases."),
    ] = 2000,
    level: options.Level = 0.95,
    json: options.Json = False,
    quiet: options.Quiet = False,
    debug: options.Debug = False,
) -> CommandAnswer:
    """How many labels does a pass rate need that judges with errors give?

    Example:
    trueness plan labels --half-width 0.05 --prevalence 0.7 --judges 3
    """
    plan = labels_before_data(
        half_width=half_width,
        prevalence=prevalence,
        judges=judges,
        sensitivity=sensitivity,
        specificity=specificity,
        correlation=correlation,
        cases=cases,
        level=level,
    )

    return command_answer(label_plan_finding(plan))


@plan_command.command(name="leaf", cls=ShellCommand)
def plan_leaf_command(
    p: Annotated[
        float,
        options.number("--p", help="Proportion of the larger class in the leaf."),
    ],
    confidence: Annotated[
        float | None,
        options.number(
            "--confidence",
            metavar="FRACTION",
            help="Wanted level of confidence P(C).",
        ),
    ] = None,
    utility: Annotated[
        float | None,
        options.number(
            "--utility", metavar="FRACTION", help="Wanted level of utility P(U)."
        ),
    ] = None,
    json: options.Json = False,
    plot: options.Plot = None,
    quiet: options.Quiet = False,
    debug: options.Debug = False,
) -> CommandAnswer:
    """How many cases does a leaf need to be trusted?

    Example:
    trueness plan leaf --p 0.75 --confidence 0.95
    """
    if confidence is None and utility is None:
        raise InputError(
            "A plan needs a goal: a level of confidence or of utility.",
            option="confidence",
            example=0.95,
        )

    n = plan_leaf(p, confidence=confidence, utility=utility)
    level_drawn = "utility" if confidence is None else "confidence"

    return command_answer(
        leaf_plan_finding(n, p=p, confidence=confidence, utility=utility),
        chart=lambda: trueness.plots.levels_by_sample_size.figure_data(
            {f"p = {p:g}": ([1], [p])}, _sizes_to_draw(n), level=level_drawn
        ),
    )


def _sizes_to_draw(n: int) -> range:
    """Return numbers of cases up to twice those needed, some 200 at most."""
    if n <= 200:
        return range(1, min(2 * n, 400) + 1)
    return range(1, 2 * n, n // 100)
