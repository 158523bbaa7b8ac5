"""How many cases do I need?"""

from __future__ import annotations

from typing import Annotated

import typer

import trueness
from trueness._core.checks.errors import InputError
from trueness._core.checks.options import choice, fraction
from trueness._core.numbers import level_text, percent
from trueness.cli._app import Careful
from trueness.cli._command import command
from trueness.cli._options import Level, option
from trueness.cli._shell import CommandAnswer
from trueness.ranking.plan_samples import MODELS
from trueness.ranking.planning import plan_auc, plan_auc_difference, plan_rate
from trueness.trees.levels import confidence_level, plan_leaf, utility_level

plan = typer.Typer(help="How many cases do I need? Sample sizes.", no_args_is_help=True)

Share = Annotated[float, option("--prevalence: Share of positives.")]
HalfWidth = Annotated[
    float | None, option("--half-width: Wanted half-width of the interval.")
]
Null = Annotated[
    float | None,
    option("--null: Value from which it should be shown to differ (null hypothesis)."),
]
Power = Annotated[
    float | None,
    option("--power: Wanted power of that test (0.9 by default with --null)."),
]


@plan.command(name="auc", cls=Careful)
@command()
def plan_for_auc(
    auc: float,
    prevalence: Share = 0.5,
    half_width: HalfWidth = None,
    null: Null = None,
    power: Power = None,
    model: Annotated[
        str, option(f"--model: Model of the scores: {', '.join(MODELS)}.")
    ] = "binormal",
    sampling: str = "case-control",
    level: Level = 0.95,
) -> CommandAnswer:
    """How many cases are needed to know an AUC well enough?

    --auc: The AUC that you expect.
    --sampling: case-control: the number of positives is fixed; cohort: random.

    Example: trueness plan auc --auc 0.8 --prevalence 0.1 --half-width 0.03
    """
    if (half_width is None) == (null is None):
        raise InputError(
            "A plan needs a goal. Type --half-width 0.03 for a narrow interval, or "
            "--null 0.75 --power 0.9 for a test."
        )
    fraction(level, "--level")
    choice(model, MODELS, "--model")
    choice(sampling, ("cohort", "case-control"), "--sampling")
    found = plan_auc(
        auc=auc,
        prevalence=prevalence,
        half_width=half_width,
        null=null,
        power=power,
        level=level,
        model=model,
        sampling=sampling,
    )
    words = f"{found.n:,} cases, {found.n_pos:,} of them positive."
    if half_width is not None:
        words += (
            f" Then the {level_text(level)} confidence interval of an AUC of {auc:g} "
            f"is about ±{found.half_width:.3g}."
        )
    else:
        words += (
            f" Then an AUC of {auc:g} is shown to differ from {null:g} with a power of "
            f"{percent(found.power)}."
        )
    return CommandAnswer(
        "plan auc",
        {"plan": found},
        [words],
        chart=lambda: trueness.plots.sample_size(found),
    )


@plan.command(name="difference", cls=Careful)
@command()
def plan_for_difference(
    first: float,
    second: float,
    correlation: float = 0.5,
    prevalence: Share = 0.5,
    half_width: HalfWidth = None,
    power: float | None = None,
    level: Level = 0.95,
) -> CommandAnswer:
    """How many cases are needed to show that two AUCs on the same cases differ?

    --first: One AUC that you expect.
    --second: The other, on the same cases.
    --correlation: Correlation of the two scores within a class.
    --power: Wanted power of the paired test (0.9).

    Example: trueness plan difference --first 0.85 --second 0.8 --power 0.8
    """
    found = plan_auc_difference(
        first=first,
        second=second,
        correlation=correlation,
        prevalence=prevalence,
        half_width=half_width,
        power=power,
        level=level,
    )
    words = (
        f"{found.n:,} cases, {found.n_pos:,} of them positive. Then the "
        f"{level_text(level)} confidence interval of the difference is about "
        f"±{found.half_width:.3g}, and the paired test has a power of "
        f"{percent(found.power)}."
    )
    return CommandAnswer("plan difference", {"plan": found}, [words])


@plan.command(name="rate", cls=Careful)
@command()
def plan_for_rate(
    rate: str,
    value: float,
    prevalence: Share = 0.5,
    recall: float | None = None,
    half_width: HalfWidth = None,
    null: Null = None,
    power: Power = None,
    level: Level = 0.95,
) -> CommandAnswer:
    """How many cases are needed to know recall, specificity or precision well enough?

    --rate: Which rate: recall, specificity or precision.
    --value: The rate that you expect.
    --recall: For precision: the recall that you expect.

    Example: trueness plan rate --rate recall --value 0.9 --prevalence 0.1 --null 0.8
    """
    found = plan_rate(
        rate,
        value=value,
        prevalence=prevalence,
        recall=recall,
        half_width=half_width,
        null=null,
        power=power,
        level=level,
    )
    words = (
        f"{found.n:,} cases, of which about {found.counted:,} count for {rate}. Then "
        f"its {level_text(level)} confidence interval is about ±{found.half_width:.3g}"
    )
    words += "." if null is None else f", with a power of {percent(found.power)}."
    return CommandAnswer("plan rate", {"plan": found}, [words])


@plan.command(cls=Careful)
@command()
def leaf(
    p: float, confidence: float | None = None, utility: float | None = None
) -> CommandAnswer:
    """How many cases does a leaf need to be trusted?

    --p: Share of the larger class in the leaf.
    --confidence: Wanted level of confidence P(C).
    --utility: Wanted level of utility P(U).

    Example: trueness plan leaf --p 0.75 --confidence 0.95
    """
    if confidence is None and utility is None:
        raise InputError(
            "A plan needs a goal. Type --confidence 0.95, or --utility 0.7."
        )
    n = plan_leaf(p, confidence=confidence, utility=utility)
    reached = {
        "confidence": float(confidence_level(n, p)),
        "utility": float(utility_level(n, p)),
    }
    words = (
        f"{n:,} cases. Then the majority seen is the true majority with a probability "
        f"P(C) of {reached['confidence']:.4g}, and a new case has its label with a "
        f"probability P(U) of {reached['utility']:.4g}."
    )
    asked = {"p": p, "confidence": confidence, "utility": utility}
    shown = "utility" if confidence is None else "confidence"
    sizes = range(1, min(2 * n, 400) + 1) if n <= 200 else range(1, 2 * n, n // 100)
    return CommandAnswer(
        "plan leaf",
        {"n": n, "asked": asked, "reached": reached},
        [words],
        chart=lambda: trueness.plots.levels_by_n(
            {f"p = {p:g}": ([1], [p])}, sizes, level=shown
        ),
    )
