"""Where should the threshold be?"""

from __future__ import annotations

import inspect
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any

import typer

import trueness
from trueness._core.checks.errors import InputError
from trueness._core.numbers import counted
from trueness._core.progress import progress
from trueness.cli._app import WORDS
from trueness.cli._columns import Request, count_tally
from trueness.cli._command import ONE_SCORE, command
from trueness.cli._outputs import save_fitted
from trueness.cli._shell import CommandAnswer, about, answered, each_group, say, show
from trueness.counts.values import Tally
from trueness.findings.cut import CutQuestion, find_cut, with_groups
from trueness.findings.how_good import alike
from trueness.metrics.definitions import COUNTS, METRIC_FAMILIES, METRICS
from trueness.threshold.operating_point import OperatingPoint
from trueness.threshold.rule import Rule


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


def rule_typed(text: str | None) -> float | Rule | None:
    """Read a threshold, or a rule that was saved."""
    if text is None:
        return None
    try:
        return float(text)
    except ValueError:
        if not Path(text).is_file():
            raise InputError(
                "--at must be a threshold, or a file with a rule that --save of "
                f"threshold has written; found {text!r}."
            ) from None
    rule = Rule.load(text)
    return rule if rule.groups or rule.defers else rule.cuts()[1]


@command(ONE_SCORE, ranges=True)
def threshold(
    request: Request,
    maximize: str | None = None,
    minimize: str | None = None,
    subject_to: list[str] | None = None,
    at: str | None = None,
    validate: bool = False,
    guarantee: float | None = None,
    save: Path | None = None,
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

    --at RULE: Evaluate this threshold, or a rule saved by --save, and choose none.
    --validate: Estimate what to expect on new cases (bootstrap).
    --guarantee SHARE: Confidence with which the constraints must hold on new cases.
    --save FILE: Save the rule that was chosen; --at and trueness sql --rule read it.

    Example: trueness threshold sample:west_nile --label virus --score boosting \
--maximize f1 --subject-to "recall >= 0.8" --validate
    """
    q = CutQuestion(
        maximize, minimize, tuple(subject_to or ()), rule_typed(at), validate,
        guarantee, request.prevalences, request.level, request.seed,
    )  # fmt: skip
    by, score = request.chosen.by, request.chosen.scores[0]
    with progress("Counting", unit=""):
        t = count_tally(request, score)
        groups = count_tally(request, score, by=True) if by else {}
    limits = " ".join(filter(None, (maximize, minimize, *q.bounds)))
    if t.n_unknown and "flagged" in limits:
        say(
            "The limit on flagged cases counts cases with a label only; "
            f"{counted(t.n_unknown, 'case has', 'cases have')} none."
        )
    with progress("Looking for the best threshold", unit=""):
        found, choice = find_cut(t, q, {str(g): part for g, part in groups.items()})
        if not q.for_groups:
            parts = each_group(groups, lambda part: find_cut(part, q).finding)
            found = with_groups(found, parts, str(by))
    found = replace(found, notes=(*found.notes, *alike(request.chosen.cluster or "")))
    save_fitted(choice.rule, save)
    return answered(
        "threshold",
        found,
        chart=None if q.for_groups else lambda: _chart(t, q, choice),
        about=about(request, t),
    )


def _chart(t: Tally, q: CutQuestion, choice: Any) -> Any:
    """Draw what was chosen."""
    if isinstance(choice, OperatingPoint):
        return trueness.plots.operating_point(t, **q.given)
    if q.at is not None:
        return trueness.plots.roc(t)
    two = choice.rule.defers or q.two
    return (trueness.plots.zones if two else trueness.plots.guaranteed_cut)(t, choice)
