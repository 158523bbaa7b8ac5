"""How good is each test, when nobody knows the truth?"""

from __future__ import annotations

import warnings
from typing import Annotated, Any

import typer

from karat import frames
from karat._checks import InputError, listing
from karat._doors import door
from karat._progress import progress
from karat._records import shown
from karat.cli._shell import (
    Answer,
    Count,
    Debug,
    File,
    Json,
    Label,
    Level,
    Plot,
    Positive,
    Seed,
    about,
    opened,
    say,
    show,
    table,
)
from karat.cli._source import Source, naming
from karat.dependence import Dependence, conditional_dependence
from karat.latent import LatentPosterior, latent_class
from karat.logic import Combination, best_combination
from karat.report.nogold import err_together


def nogold(
    file: File,
    vote: Annotated[
        list[str] | None, typer.Option(help="Column with a test's verdicts, 0 or 1.")
    ] = None,
    count: Count = None,
    label: Label = None,
    positive: Positive = None,
    criterion: Annotated[
        str,
        typer.Option(
            help="What the best combination is best in: product, squares, sum or min "
            'of sensitivity and specificity, or a metric such as "cost(fp=1, fn=5)".'
        ),
    ] = "product",
    level: Level = 0.95,
    seed: Seed = 0,
    json: Json = False,
    plot: Plot = None,
    debug: Debug = False,
) -> None:
    """How good is each test, and how common is the condition, without any truth?

    Example: karat nogold sample:hiv --vote V1 --vote V2 --vote V3 --vote V4 \
--count count
    """
    source, chosen = opened(
        file,
        label=label,
        scores=vote or [],
        positive=positive,
        count=count,
        needs_label=False,
        guess=guess_votes,
    )
    with progress("Counting"), naming(chosen):
        panel = frames.panel(
            source.rows,
            label=chosen.label,
            scores=list(chosen.scores),
            positive=chosen.positive,
            count=chosen.count,
        )
    with progress("Sampling"), warnings.catch_warnings(record=True) as raised:
        warnings.simplefilter("always")
        found = latent_class(panel, rng=seed, level=level)
        best = best_combination(found, criterion=criterion)
        joint = conditional_dependence(found, rng=seed)
    for warning in raised:
        say(f"Warning: {warning.message}")
    answer = Answer(
        "nogold",
        _result(found, best, joint),
        [*_parts(found, best, panel), err_together(joint)],
        chart=lambda: door("plots").posterior_densities(found),
        about=about(source, chosen, panel),
    )
    show(answer, json, plot)


def guess_votes(source: Source, taken: set[str | None]) -> tuple[str, ...]:
    """Take every other column when all of them hold 0 and 1 only."""
    free = [c for c in source.types if c not in taken]
    if len(free) >= 2 and all(_is_vote(source, c) for c in free):
        return tuple(free)
    raise InputError(
        f"Which columns hold the verdicts? Type --vote NAME for each; this file has "
        f"{listing(source.types, 12)}."
    )


def _is_vote(source: Source, column: str) -> bool:
    return set(source.distinct(column, 2)) <= {0, 1}


def _result(
    found: LatentPosterior, best: Combination, joint: Dependence
) -> dict[str, Any]:
    return {
        "prevalence": found.prevalence,
        "tests": {
            name: {
                "sensitivity": found.sensitivity[name],
                "specificity": found.specificity[name],
            }
            for name in found.names
        },
        "identified": found.identified,
        "notes": found.notes,
        "dependence": [
            {
                "first": str(joint.first[i]),
                "second": str(joint.second[i]),
                "residual": joint.residual[i],
                "p_value": joint.p_value[i],
                "score_p_value": joint.score_p_value[i],
            }
            for i in range(len(joint.first))
        ],
        "combination": {
            "criterion": best.criterion,
            "formula": best.formula,
            "sensitivity": best.sensitivity,
            "specificity": best.specificity,
            "probability_best": best.probability_best,
        },
    }


def _parts(found: LatentPosterior, best: Combination, panel: Any) -> list[Any]:
    rows = [[n, found.sensitivity[n], found.specificity[n]] for n in found.names]
    parts: list[Any] = [
        f"{panel.n:,} cases, {len(found.names)} tests.",
        f"How common is the condition? {found.prevalence}",
        table("", ["test", "sensitivity", "specificity"], rows),
        f"Best combination ({best.criterion}): {shown(best.formula, 300)}",
        f"  sensitivity {best.sensitivity}",
        f"  specificity {best.specificity}",
    ]
    return [*parts, *(f"Note: {note}" for note in found.notes)]
