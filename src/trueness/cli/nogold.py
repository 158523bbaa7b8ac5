"""How good is each test, when nobody knows the truth?"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from functools import partial
from typing import Annotated, Any

import typer

from trueness._core.checks.errors import InputError
from trueness._core.doors import door
from trueness._core.progress import progress
from trueness._core.records import Estimate, shown
from trueness.cli._command import Columns, command
from trueness.cli._options import Votes
from trueness.cli._shell import Answer, about, say, table
from trueness.cli._source import Ask, Source, count_panel, names_of
from trueness.nogold.combinations.best import best_combination
from trueness.nogold.combinations.records import Combination
from trueness.nogold.dependence import Dependence, conditional_dependence
from trueness.nogold.posterior import LatentPosterior, latent_class


def guess_votes(source: Source, taken: set[str | None]) -> tuple[str, ...]:
    """Take every other column when all of them hold 0 and 1 only."""
    free = [c for c in source.types if c not in taken]
    if len(free) >= 2 and all(_is_vote(source, c) for c in free):
        return tuple(free)
    raise InputError(
        f"Which columns hold the verdicts? Type --vote NAME for each; this file has "
        f"{names_of(source.types)}."
    )


def _is_vote(source: Source, column: str) -> bool:
    return set(source.distinct(column, 2)) <= {0, 1}


VOTES = Columns("vote", Votes, guess_votes, least=2, needs_label=False)


@command(VOTES)
def nogold(
    ask: Ask,
    criterion: Annotated[
        str,
        typer.Option(
            help="What the best combination is best in: product, squares, sum or min "
            'of sensitivity and specificity, or a metric such as "cost(fp=1, fn=5)".'
        ),
    ] = "product",
    dependence: Annotated[
        str, typer.Option(help='May tests err together? "none" or "random effect".')
    ] = "none",
    draws: Annotated[
        int, typer.Option(help="Effective draws from the posterior.")
    ] = 10_000,
) -> Answer:
    """How good is each test, and how common is the condition, without any truth?

    Example: trueness nogold sample:hiv --vote V1 --vote V2 --vote V3 --vote V4 \
--count count
    """
    from trueness.report.nogold import err_together

    with progress("Counting", unit=""):
        panel = count_panel(ask)
        populations = count_panel(ask, by=True) if ask.chosen.by else {}
    data = {str(g): p for g, p in populations.items()} or panel
    found, best, joint = _answered(
        ask,
        partial(
            latent_class,
            data,
            rng=ask.seed,
            level=ask.level,
            draws=draws,
            dependence=dependence,
        ),
        criterion,
    )
    return Answer(
        "nogold",
        _result(found, best, joint),
        [*_parts(ask, found, best, panel), err_together(joint)],
        chart=lambda: door("plots").posterior_densities(found),
        about=about(ask, panel),
    )


def _answered(
    ask: Ask, sample: Callable[[], LatentPosterior], criterion: str
) -> tuple[LatentPosterior, Combination, Dependence]:
    """Sample, then ask the draws; warnings are said, not shown as a trace."""
    with warnings.catch_warnings(record=True) as raised:
        warnings.simplefilter("always")
        with progress("Without a gold standard", 3, "questions") as answered:
            found = sample()
            answered(1)
            best = best_combination(found, criterion=criterion)
            answered(1)
            joint = conditional_dependence(found, rng=ask.seed)
            answered(1)
    for warning in raised:
        say(f"Warning: {warning.message}")
    return found, best, joint


def _prevalences(found: LatentPosterior) -> dict[str, Estimate]:
    """Give the prevalence of each population, where there are several."""
    several = len(found.populations) > 1
    return {g: found.prevalence[g] for g in found.populations} if several else {}


def _result(
    found: LatentPosterior, best: Combination, joint: Dependence
) -> dict[str, Any]:
    groups = _prevalences(found)
    return {
        "prevalence": None if groups else found.prevalence,
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
            "gap": best.gap,
        },
        "groups": {g: {"prevalence": p} for g, p in groups.items()},
    }


def _parts(
    ask: Ask, found: LatentPosterior, best: Combination, panel: Any
) -> list[Any]:
    rows = [[n, found.sensitivity[n], found.specificity[n]] for n in found.names]
    groups = _prevalences(found)
    common: list[Any] = [f"How common is the condition? {found.prevalence}"]
    if groups:
        head = [str(ask.chosen.by), "prevalence"]
        common = ["How common is the condition in each population?"]
        common.append(table(head, [[g, p] for g, p in groups.items()]))
    return [
        f"{panel.n:,} cases, {len(found.names)} tests.",
        *common,
        table(["test", "sensitivity", "specificity"], rows),
        f"Best combination ({best.criterion}): {shown(best.formula, 300)}",
        f"  sensitivity {best.sensitivity}",
        f"  specificity {best.specificity}",
        *(f"Note: {note}" for note in found.notes),
    ]
