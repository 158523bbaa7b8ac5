"""How good is each test, when nobody knows the truth?"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import trueness
from trueness._core.numbers import counted, level_text, percent
from trueness._core.progress import progress
from trueness._core.records import Estimate, shown
from trueness.cli._columns import Request, count_panel, votes_among, with_verdicts
from trueness.cli._command import Columns, command
from trueness.cli._fields import COMBINATION, fields_of
from trueness.cli._options import Votes, Yes
from trueness.cli._shell import CommandAnswer, about, table
from trueness.cli._source import Source, unnamed
from trueness.cli._words import noted
from trueness.nogold.combinations.best import Combination, best_combination
from trueness.nogold.fitting import latent_class
from trueness.nogold.posterior import LatentPosterior


def guess_votes(source: Source, taken: set[str | None]) -> tuple[str, ...]:
    """Take every other column when all of them hold 0 and 1 only."""
    found = votes_among(source, taken)
    if len(found) >= 2:
        return found
    question = "Which columns hold the verdicts?"
    raise unnamed(question, source, "--vote NAME for each")


VOTES = Columns("vote", Votes, guess_votes, least=2, needs_label=False)


@command(VOTES, without=("unlabelled",), cannot="latent_class")
def nogold(
    request: Request,
    yes: Yes = None,
    criterion: str = "product",
    dependence: str = "shared",
    labelled: str = "random",
    draws: int = 10_000,
) -> CommandAnswer:
    """How good is each test, and how common is the condition, if the truth is unknown?

    --criterion: Criterion of the best combination: product, squares, sum or min of
        sensitivity and specificity, or a metric such as "cost(fp=1, fn=5)".
    --dependence: May tests make the same errors ("shared")? Then verdicts alone give
        wide intervals. "none" takes for granted that they do not.
    --labelled HOW: If some cases have a label, how they were chosen: random or "by
        verdict". Labels then answer, with the same rate as trueness judge.
    --draws: Effective number of posterior draws.

    Example: trueness nogold sample:hiv --vote V1 --vote V2 --vote V3 --vote V4 \
--count count
    """
    with progress("Counting", unit=""):
        request = with_verdicts(request, yes)
        panel = count_panel(request)
        populations = count_panel(request, by=True) if request.chosen.by else {}
    data = {str(g): p for g, p in populations.items()} or panel
    with progress("Without a gold standard", 2, "questions") as answered:
        found = latent_class(
            data,
            rng=request.seed,
            level=request.level,
            draws=draws,
            dependence=dependence,
            labelled=labelled,
        )
        answered(1)
        best = best_combination(found, criterion=criterion)
        answered(1)
    return CommandAnswer(
        "nogold",
        _result(found, best),
        _parts(request, found, best, panel),
        chart=lambda: trueness.plots.posterior_densities(found),
        about=about(request, panel),
    )


def _prevalences(found: LatentPosterior) -> dict[str, Estimate]:
    """Give the prevalence of each population, where there are several."""
    several = len(found.populations) > 1
    return {g: found.prevalence[g] for g in found.populations} if several else {}


def _answer(found: LatentPosterior) -> dict[str, Any]:
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
        "groups": {g: {"prevalence": p} for g, p in groups.items()},
    }


def _result(found: LatentPosterior, best: Combination) -> dict[str, Any]:
    alone, rule = found.independent, fields_of(best, COMBINATION)
    if found.open:  # an interval is all that there is
        for word in ("sensitivity", "specificity"):
            rule[word] = replace(rule[word], value=math.nan)
    return {
        **_answer(found),
        **fields_of(found, ("dependence", "identified", "log_bayes_factor", "notes")),
        "independent": None if alone is None else _answer(alone),
        "combination": rule,
    }


def _parts(
    request: Request, found: LatentPosterior, best: Combination, panel: Any
) -> list[Any]:
    groups, alone = _prevalences(found), found.independent
    head, each = ["test", "sensitivity", "specificity"], [found]
    if found.open and alone is not None:
        head = [
            "test",
            *(f"{w}{k}" for k in ("", ", if independent") for w in head[1:]),
        ]
        each.append(alone)
    rows = [
        [
            n,
            *(
                _cell(x[n])
                for post in each
                for x in (post.sensitivity, post.specificity)
            ),
        ]
        for n in found.names
    ]
    common: list[Any] = [f"Prevalence of the condition: {_rate(found)}."]
    if groups:
        common = ["Prevalence of the condition in each population:"]
        names = [str(request.chosen.by), "prevalence"]
        common.append(table(names, [[g, _cell(p)] for g, p in groups.items()]))
    return [
        f"{counted(panel.n, 'case')}, {counted(len(found.names), 'test')}.",
        *common,
        table(head, rows),
        f"Best combination ({_CRITERIA.get(best.criterion, best.criterion)}): "
        f"{shown(best.formula, 300)}.",
        f"  Sensitivity {_interval(best.sensitivity, found.open)}.",
        f"  Specificity {_interval(best.specificity, found.open)}.",
        *(f"Note: {note}" for note in noted(found.notes)),
    ]


def _rate(found: LatentPosterior) -> str:
    """Say the prevalence; where votes do not determine it, as far as they go."""
    if len(found.populations) > 1:
        return ""
    said = _interval(found.prevalence, found.open)
    if not found.open or found.independent is None:
        return said
    alone = _interval(found.independent.prevalence, False)
    return f"not determined; {said} if tests may share errors, {alone} if they do not"


def _cell(e: Estimate) -> Any:
    return f"{percent(e.low)} to {percent(e.high)}" if math.isnan(e.value) else e


_CRITERIA = {
    "product": "highest product of sensitivity and specificity",
    "squares": "highest sum of squares of sensitivity and specificity",
    "sum": "highest sum of sensitivity and specificity",
    "min": "highest minimum of sensitivity and specificity",
}


def _interval(e: Estimate, unknown: bool) -> str:
    span = f"{percent(e.low)} to {percent(e.high)}"
    if unknown:
        return f"{span} ({level_text(e.level)} credible interval)"
    return f"{percent(e.value)} ({level_text(e.level)} credible interval {span})"
