"""Where should the threshold be?"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from functools import partial
from typing import Annotated, Any

import numpy as np
import typer

import trueness
from trueness._core.checks.cases import both_classes
from trueness._core.checks.errors import InputError
from trueness._core.numbers import (
    counted,
    cut_text,
    cut_texts,
    level_text,
    number_of,
    percent,
    written,
)
from trueness._core.progress import progress
from trueness._core.records import Estimate
from trueness.cli import _zones
from trueness.cli._app import WORDS
from trueness.cli._columns import (
    Request,
    count_tally,
    one_score,
)
from trueness.cli._command import Columns, command
from trueness.cli._fields import VALIDATION, fields_of
from trueness.cli._options import (
    Maximize,
    Minimize,
    Scores,
    SubjectTo,
)
from trueness.cli._shell import (
    CommandAnswer,
    about,
    alike_sentence,
    cases_sentence,
    each_group,
    say,
    show,
    table,
)
from trueness.cli._words import noted
from trueness.cli._zones import CutFound, CutQuestion, at_cut, every_key
from trueness.counts.values import Tally
from trueness.metrics.confusion import Confusion
from trueness.metrics.definitions import COUNTS, METRIC_FAMILIES, METRICS, SHOWN
from trueness.metrics.grammar import cases_of, is_share, text_of
from trueness.threshold import operating_point as operating
from trueness.threshold.at_cut import at_threshold, confusion
from trueness.threshold.group_cuts import asks_for_groups
from trueness.threshold.guarantees import (
    GuaranteedThreshold,
    Proof,
    guaranteed_threshold,
)
from trueness.threshold.operating_point import OperatingPoint
from trueness.threshold.sentences import limiting, met, objective_of
from trueness.threshold.validation import Validation, validate_threshold
from trueness.threshold.zones import asks_for_two_cuts


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
    q = CutQuestion(
        request,
        maximize,
        minimize,
        subject_to or [],
        at,
        validate,
        guarantee,
    )
    find = _finder(q)
    score, *others = request.chosen.scores
    if others:
        raise InputError(
            f"A threshold is for one score; found {1 + len(others)}. Name one --score; "
            "trueness compare says which is better."
        )
    with progress("Counting", unit=""):
        t = count_tally(request, score)
        groups = count_tally(request, score, by=True) if request.chosen.by else {}
    if t.n_unknown and "flagged" in " ".join(filter(None, q.asked)):
        say(
            f"The limit on flagged cases counts cases with a label only; "
            f"{counted(t.n_unknown, 'case has', 'cases have')} none."
        )
    if asks_for_groups(q.bounds):
        return _by_groups(q, t, groups)
    with progress("Looking for the best threshold", unit=""):
        found = find(t)
        by_group = each_group(groups, lambda part: find(part).result)
    return CommandAnswer(
        "threshold",
        found.result | {"groups": by_group},
        [
            cases_sentence(t),
            *found.parts,
            *alike_sentence(request),
            *_group_table(request, by_group),
        ],
        found.chart,
        about(request, t),
    )


def _finder(q: CutQuestion) -> Callable[[Tally], CutFound]:
    """How is the question answered? Stops at what does not go together."""
    if q.at is not None:
        if any((q.maximize, q.minimize, q.bounds, q.validate, q.guarantee)):
            raise InputError(
                "--at evaluates one threshold, so there is nothing to choose. Leave "
                "out --maximize, --minimize, --subject-to, --validate and --guarantee."
            )
        q.no_range()
        return partial(_given, q, q.at)
    if q.guarantee is not None:
        _fits_a_guarantee(q)
        two = asks_for_two_cuts([*q.bounds])
        return partial(_zones.two_promised_cuts if two else _promised, q)
    if q.two:
        return partial(_zones.two_cuts, q)
    return partial(_best, q)


def _by_groups(q: CutQuestion, t: Tally, groups: dict[str, Tally]) -> CommandAnswer:
    """Say where each group is cut."""
    if not groups:
        raise InputError(
            "Limits on differences between groups need groups. Type --by COLUMN."
        )
    with progress("Looking for the best thresholds", unit=""):
        result, parts, chart = _zones.cuts_of_groups(q, groups)
    cuts = result["group_cuts"]
    result["groups"] = {
        name: every_key(
            threshold=cuts["thresholds"][str(name)],
            score_range=cuts["score_ranges"][str(name)],
            confusion=cuts["confusions"][str(name)],
        )
        for name in groups
    }
    words = [cases_sentence(t), *parts, *alike_sentence(q.request)]
    return CommandAnswer("threshold", result, words, chart, about(q.request, t))


def _best(q: CutQuestion, t: Tally) -> CutFound:
    point = operating.best_threshold(t, **q.given)
    checked = validate_threshold(t, **q.given, **q.sure) if q.validate else None
    if q.request.prevalences is not None:
        # of a range the numbers are for the prevalence where the threshold is worst
        t = t.with_design(prevalence=point.prevalence)
    found = at_threshold(t, point.threshold, level=q.request.level).metrics
    parts = [*_sentences(point), _matrix(point.confusion)]
    parts += _checked_parts(checked) if checked else [_metrics_table(found)]
    parts += _for_prevalence(t)
    result = _zones.point_numbers(point, found)
    result["validation"] = checked and fields_of(checked, VALIDATION)
    return CutFound(result, parts, lambda: trueness.plots.operating_point(t, **q.given))


def _given(q: CutQuestion, at: float, t: Tally) -> CutFound:
    """Evaluate a threshold that was chosen beforehand."""
    both_classes(t, "threshold")
    c, estimates = confusion(t, at), at_threshold(t, at, level=q.request.level)
    found, notes = estimates.metrics, estimates.notes
    share = t.design.prevalence
    share = t.prevalence if share is None else share
    given = {"threshold": at, "prevalence": share, "method": "given", "notes": notes}
    result = at_cut(c, found, **given)
    parts = [
        f"Flagging every case with a score of {cut_text(at)} or more:",
        _matrix(c),
        _metrics_table(found),
        f"In parentheses: {level_text(q.request.level)} confidence intervals, if the "
        "threshold was chosen beforehand and not on these cases.",
        *_for_prevalence(t),
        *noted(notes),
    ]
    return CutFound(result, parts, lambda: trueness.plots.roc(t))


def _for_prevalence(t: Tally) -> list[str]:
    if t.design.prevalence is None:
        return []
    return [
        f"All metrics are for a prevalence of {percent(t.design.prevalence)}; the "
        f"counts are those of the file, where it is {percent(t.prevalence)}."
    ]


def _fits_a_guarantee(q: CutQuestion) -> None:
    """Stop at what a guarantee cannot be about, rather than leave it out silently."""
    if not q.bounds:
        raise InputError(
            "--guarantee needs a constraint, and found none. Type "
            '--subject-to "recall >= 0.9" --guarantee 0.95.'
        )
    if q.validate:
        raise InputError(
            "--guarantee comes with its own proof, so leave out --validate, or use it "
            "without --guarantee."
        )


def _promised(q: CutQuestion, t: Tally) -> CutFound:
    g = guaranteed_threshold(t, **q.wanted, **q.promise)
    # a guarantee speaks of the cases as they came
    came = t.without_design()
    found = at_threshold(came, g.threshold, level=q.request.level).metrics
    c = confusion(t, g.threshold)
    goal = next((f"{k} {v}" for k, v in q.wanted.items() if v is not None), None)
    result = at_cut(
        c,
        found,
        **fields_of(g, ("threshold", "score_range", "method")),
        objective=goal,
        constraints={p.constraint.split()[0]: p.value for p in g.proofs},
        binding=[],
        score_ranges=[g.score_range],
        prevalence=t.prevalence,
        notes=g.notes,
        guarantee=fields_of(g, ("level", "proofs")),
    )
    parts = [
        *_promise_sentences(g),
        _matrix(c),
        _metrics_table(found),
        f"In parentheses: two-sided {level_text(q.request.level)} confidence intervals "
        "of each metric by itself; the guarantee rests on the one-sided bound above.",
    ]
    return CutFound(result, parts, lambda: trueness.plots.guaranteed_cut(t, g))


def _promise_sentences(g: GuaranteedThreshold) -> list[str]:
    lines = [
        f"Flag a case when its score is {cut_text(g.threshold)} or "
        f"more. With {level_text(g.level)} confidence the population has "
        f"{g.constraint}."
    ]
    return [*lines, *(_proof_sentence(p) for p in g.proofs), *noted(g.notes)]


def _proof_sentence(p: Proof) -> str:
    name, sign, _ = p.constraint.split(maxsplit=2)
    text = text_of(name)
    value, bound = (
        percent(v) if is_share(name) else written(v) for v in (p.value, p.bound)
    )
    side = "upper" if sign.startswith("<") else "lower"
    return (
        f"{text[:1].upper()}{text[1:]} {value} in {counted(p.cases, *cases_of(name))}; "
        f"one-sided {level_text(p.level)} {side} bound {bound}."
    )


def _prevalence_of(point: OperatingPoint) -> str:
    """End the sentence with the prevalence that a value is for, where there is one."""
    if point.sampling == "case-control":
        return "."
    return f", at a prevalence of {percent(point.prevalence)}."


def _sentences(point: OperatingPoint) -> list[str]:
    at, low, high = cut_texts(point.threshold, point.score_range)
    lines = []
    if np.isposinf(point.threshold):
        lines.append("Flag nothing: no threshold is better than that.")
    else:
        lines.append(
            f"Flag a case when its score is {at} or more. All thresholds above {low} "
            f"and up to {high} flag the same cases."
        )
    lines.append(
        f"At this threshold {objective_of(point.objective)} is {written(point.value)}"
        + _prevalence_of(point)
    )
    lines += noted(point.notes)
    lines += limiting(point)
    more = len(point.score_ranges) - 1
    if more > 0:
        are = counted(more, "other threshold is", "other thresholds are")
        lines.append(f"{are} as good; --json lists all.")
    return lines


def _matrix(c: Confusion) -> Any:
    rows = [
        ["positive", number_of(float(c.tp)), number_of(float(c.fn))],
        ["negative", number_of(float(c.fp)), number_of(float(c.tn))],
    ]
    return table(["cases", "flagged", "not flagged"], rows)


def _metrics_table(found: dict[str, Estimate]) -> Any:
    rows = [[text_of(name), found[name]] for name in SHOWN if name in found]
    return table(["metric", "value"], rows)


def _checked_parts(v: Validation) -> list[Any]:
    rows = [[text_of(n), v.metrics[n]] for n in SHOWN if n in v.metrics]
    e = v.corrected
    lines = [
        f"The threshold was tuned on the same data, so its results are optimistic. On "
        f"new cases expect {written(e.value)} ({level_text(e.level)} interval "
        f"{written(e.low)} to {written(e.high)}) instead of {written(v.value)}. The "
        f"intervals allow for the choice.",
        f"If the choice were repeated on similar data, the threshold would lie between "
        f"{cut_text(v.threshold.low)} and {cut_text(v.threshold.high)} "
        f"({level_text(v.threshold.level)} interval).",
    ]
    return [table(["metric", "value"], rows), *lines, *met(v)]


def _group_table(
    request: Request, groups: dict[str, dict[str, Any] | None]
) -> list[Any]:
    """Lay out where each group would be cut if it were alone."""
    if not groups:
        return []
    rows = [
        [name, r["threshold"], r["value"], r["metrics"]["recall"],
         r["metrics"]["precision"], int(r["confusion"].tp + r["confusion"].fp)]
        if r else [name, *[None] * 5]
        for name, r in groups.items()
    ]  # fmt: skip
    head = ["threshold", "objective", "recall", "precision", "flagged"]
    return [
        f"The best threshold for each {request.chosen.by} alone:",
        table([str(request.chosen.by), *head], rows),
    ]
