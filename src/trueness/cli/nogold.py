"""How good is each test, when nobody knows the truth?"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from trueness._core.doors import door
from trueness._core.numbers import counted, level_text, percent
from trueness._core.progress import progress
from trueness._core.records import Estimate, shown
from trueness.cli._columns import Request, count_panel, votes_among, with_verdicts
from trueness.cli._command import Columns, command
from trueness.cli._fields import COMBINATION, DEPENDENCE, fields_of
from trueness.cli._options import Votes, Yes
from trueness.cli._shell import CommandAnswer, about, table
from trueness.cli._source import Source, unnamed
from trueness.cli._words import noted
from trueness.nogold.combinations.best import best_combination
from trueness.nogold.combinations.records import Combination
from trueness.nogold.dependence import Dependence, conditional_dependence
from trueness.nogold.fitting import latent_class
from trueness.nogold.posterior import LatentPosterior
from trueness.nogold.sentences import dependence_sentence


def guess_votes(source: Source, taken: set[str | None]) -> tuple[str, ...]:
    """Take every other column when all of them hold 0 and 1 only."""
    found = votes_among(source, taken)
    if len(found) >= 2:
        return found
    question = "Which columns hold the verdicts?"
    raise unnamed(question, source, "--vote NAME for each")


VOTES = Columns("vote", Votes, guess_votes, least=2, needs_label=False)


@command(VOTES, without=("weight",))
def nogold(
    request: Request,
    yes: Yes = None,
    criterion: str = "product",
    dependence: str = "auto",
    draws: int = 10_000,
) -> CommandAnswer:
    """How good is each test, and how common is the condition, if the truth is unknown?

    --criterion: Criterion of the best combination: product, squares, sum or min of
        sensitivity and specificity, or a metric such as "cost(fp=1, fn=5)".
    --dependence: May tests make the same errors? "auto" tests it, and allows for it
        where they do; "none" assumes that they do not; "random effect", "pairs" and
        "easy and hard" are models in which they do.
    --draws: Effective number of posterior draws.

    Example: trueness nogold sample:hiv --vote V1 --vote V2 --vote V3 --vote V4 \
--count count
    """
    with progress("Counting", unit=""):
        request = with_verdicts(request, yes)
        panel = count_panel(request)
        populations = count_panel(request, by=True) if request.chosen.by else {}
    data = {str(g): p for g, p in populations.items()} or panel
    found, best, joint = _answered(
        request,
        partial(
            latent_class,
            data,
            rng=request.seed,
            level=request.level,
            draws=draws,
            dependence=dependence,
        ),
        criterion,
    )
    return CommandAnswer(
        "nogold",
        _result(found, best, joint),
        [*_parts(request, found, best, panel), dependence_sentence(joint, found)],
        chart=lambda: door("plots").posterior_densities(found),
        about=about(request, panel),
    )


def _answered(
    request: Request, sample: Callable[[], LatentPosterior], criterion: str
) -> tuple[LatentPosterior, Combination, Dependence]:
    """Sample, then ask the draws."""
    with progress("Without a gold standard", 3, "questions") as answered:
        found = sample()
        answered(1)
        best = best_combination(found, criterion=criterion)
        answered(1)
        joint = conditional_dependence(found, rng=request.seed)
        answered(1)
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
        **fields_of(found, ("identified", "notes")),
        "dependence": [
            fields_of(joint, DEPENDENCE, row=i) for i in range(len(joint.first))
        ],
        "combination": fields_of(best, COMBINATION),
        "groups": {g: {"prevalence": p} for g, p in groups.items()},
    }


def _parts(
    request: Request, found: LatentPosterior, best: Combination, panel: Any
) -> list[Any]:
    rows = [[n, found.sensitivity[n], found.specificity[n]] for n in found.names]
    groups = _prevalences(found)
    common: list[Any] = []
    if not groups:
        common = [f"Prevalence of the condition: {_interval(found.prevalence)}."]
    else:
        head = [str(request.chosen.by), "prevalence"]
        common = ["Prevalence of the condition in each population:"]
        common.append(table(head, [[g, p] for g, p in groups.items()]))
    return [
        f"{counted(panel.n, 'case')}, {counted(len(found.names), 'test')}.",
        *common,
        table(["test", "sensitivity", "specificity"], rows),
        f"Best combination ({_CRITERIA.get(best.criterion, best.criterion)}): "
        f"{shown(best.formula, 300)}.",
        f"  Sensitivity {_interval(best.sensitivity)}.",
        f"  Specificity {_interval(best.specificity)}.",
        *(f"Note: {note}" for note in noted(found.notes)),
    ]


_CRITERIA = {
    "product": "highest product of sensitivity and specificity",
    "squares": "highest sum of squares of sensitivity and specificity",
    "sum": "highest sum of sensitivity and specificity",
    "min": "highest minimum of sensitivity and specificity",
}


def _interval(e: Estimate) -> str:
    span = f"{percent(e.low)} to {percent(e.high)}"
    return f"{percent(e.value)} ({level_text(e.level)} credible interval {span})"
