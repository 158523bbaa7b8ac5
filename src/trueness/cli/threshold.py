"""Where should the threshold be?"""

from __future__ import annotations

import inspect
from dataclasses import replace
from typing import Annotated, Any

import typer

import trueness
from trueness._core.checks.errors import InputError
from trueness._core.numbers import counted
from trueness._core.progress import progress
from trueness.cli._app import WORDS
from trueness.cli._columns import Request, count_tally, one_score
from trueness.cli._command import Columns, command
from trueness.cli._options import Maximize, Minimize, Scores, SubjectTo
from trueness.cli._shell import CommandAnswer, about, answered, each_group, say, show
from trueness.counts.values import Tally
from trueness.findings.cut import (
    CutQuestion,
    find_cut,
    find_cuts_of_groups,
    with_groups,
)
from trueness.findings.notes import note
from trueness.metrics.definitions import COUNTS, METRIC_FAMILIES, METRICS
from trueness.threshold.group_cuts import asks_for_groups
from trueness.threshold.operating_point import OperatingPoint
from trueness.threshold.zones import Zones, asks_for_two_cuts


def _list_metrics(ctx: typer.Context, asked: bool) -> None:
    """Print what can be maximised, minimised and bounded, and end."""
    if not asked:
        return
    known = {name: m.question for name, m in {**METRICS, **COUNTS}.items()}
    for name, family in METRIC_FAMILIES.items():
        given = ", ".join(f"{k}=" for k in inspect.signature(family).parameters)
        known[f"{name}({given})"] = (family.__doc__ or "").strip().splitlines()[0]
    lines: list[Any] = [f"{name:23} {question}" for name, question in known.items()]
    answer = CommandAnswer("threshold", {"metrics": known}, lines)
    show(answer, as_json="--json" in ctx.meta[WORDS])
    raise typer.Exit


@command(Columns("score", Scores, one_score), ranges=True)
def threshold(
    request: Request,
    maximize: Maximize = None,
    minimize: Minimize = None,
    subject_to: SubjectTo = None,
    at: float | None = None,
    validate: bool = False,
    guarantee: float | None = None,
    list_metrics: Annotated[
        bool,
        typer.Option(
            "--list-metrics",
            help="Show every metric and count that can be named, and end.",
            is_eager=True,
            callback=_list_metrics,
        ),
    ] = False,
) -> CommandAnswer:
    """Where should the threshold be? The exact best one under constraints.

    A price for deferred cases, --minimize "cost(fp=1, fn=10, defer=0.3)", asks for two
    thresholds; a limit on groups, --by site --subject-to "recall_gap <= 0.02", for one
    in each group.

    --at: Evaluate this threshold instead of looking for the best.
    --validate: Estimate what to expect on new cases (bootstrap).
    --guarantee: Confidence with which the constraints must hold on new cases.

    Example: trueness threshold sample:west_nile --label virus --score boosting \
--maximize f1 --subject-to "recall >= 0.8" --validate
    """
    score, *others = request.chosen.scores
    if others:
        raise InputError(
            f"A threshold is for one score; found {1 + len(others)}. Name one --score; "
            "trueness compare says which is better."
        )
    q = CutQuestion(
        maximize, minimize, tuple(subject_to or ()), at, validate, guarantee,
        request.prevalences, request.level, request.seed,
    )  # fmt: skip
    by = request.chosen.by
    with progress("Counting", unit=""):
        t = count_tally(request, score)
        groups = count_tally(request, score, by=True) if by else {}
    if t.n_unknown and "flagged" in " ".join(
        filter(None, (maximize, minimize, *q.bounds))
    ):
        say(
            "The limit on flagged cases counts cases with a label only; "
            f"{counted(t.n_unknown, 'case has', 'cases have')} none."
        )
    with progress("Looking for the best threshold", unit=""):
        if asks_for_groups(q.bounds):
            named = {str(g): part for g, part in groups.items()}
            found, choice = find_cuts_of_groups(t, named, q)
        else:
            found, choice = find_cut(t, q)
            parts = each_group(groups, lambda part: find_cut(part, q).finding)
            found = with_groups(found, parts, str(by))
    if request.chosen.cluster:
        alike = note("clusters", cluster=request.chosen.cluster)
        found = replace(found, notes=(*found.notes, alike))
    return answered(
        "threshold",
        found,
        chart=None if asks_for_groups(q.bounds) else lambda: _chart(t, q, choice),
        about=about(request, t),
    )


def _chart(t: Tally, q: CutQuestion, choice: Any) -> Any:
    """Draw what was chosen."""
    if isinstance(choice, OperatingPoint):
        return trueness.plots.operating_point(t, **q.given)
    if choice is None:
        return trueness.plots.roc(t)
    two = isinstance(choice, Zones) or asks_for_two_cuts([*q.bounds])
    return (trueness.plots.zones if two else trueness.plots.guaranteed_cut)(t, choice)
