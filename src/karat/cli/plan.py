"""How many cases do I need?"""

from __future__ import annotations

from typing import Annotated

import typer

from karat._checks import InputError
from karat.cli._shell import Answer, Debug, Json, guarded, show
from karat.levels import confidence_level, plan_leaf, utility_level

plan = typer.Typer(help="How many cases do I need? Sample sizes.", no_args_is_help=True)


@plan.command()
@guarded
def leaf(
    p: Annotated[float, typer.Option(help="Share of the larger class in the leaf.")],
    confidence: Annotated[
        float | None, typer.Option(help="Wanted level of confidence P(C).")
    ] = None,
    utility: Annotated[
        float | None, typer.Option(help="Wanted level of utility P(U).")
    ] = None,
    json: Json = False,
    debug: Debug = False,
) -> None:
    """How many cases does a leaf need to be trusted?

    Example: karat plan leaf --p 0.75 --confidence 0.95
    """
    if confidence is None and utility is None:
        raise InputError("What is wanted? Type --confidence 0.95, or --utility 0.7.")
    n = plan_leaf(p, confidence=confidence, utility=utility)
    reached = {
        "confidence": float(confidence_level(n, p)),
        "utility": float(utility_level(n, p)),
    }
    words = [
        f"{n:,} cases. Then the majority of the leaf is the right one with a "
        f"probability of {reached['confidence']:.4g}, and a new case has its label "
        f"with a probability of {reached['utility']:.4g}."
    ]
    asked = {"p": p, "confidence": confidence, "utility": utility}
    result = {"n": n, "asked": asked, "reached": reached}
    show(Answer("plan leaf", result, [*words]), json)
