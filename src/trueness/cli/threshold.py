"""Where should the threshold be?"""

from __future__ import annotations

import inspect
from functools import partial
from typing import Annotated, Any

import numpy as np
import typer

from trueness._core.checks.cases import both_classes
from trueness._core.checks.errors import InputError
from trueness._core.checks.options import choice
from trueness._core.checks.options import sampling as fits_sampling
from trueness._core.doors import door
from trueness._core.numbers import (
    counted,
    level_text,
    number_of,
    percent,
    written,
)
from trueness._core.progress import progress
from trueness._core.records import Estimate
from trueness.cli import _zones
from trueness.cli._app import WORDS
from trueness.cli._columns import Request, count_panel, count_tally, one_score
from trueness.cli._command import Columns, command
from trueness.cli._fields import VALIDATION, fields_of
from trueness.cli._options import (
    Maximize,
    Minimize,
    PrevalenceRange,
    Sampling,
    Scores,
    SubjectTo,
    read_share,
)
from trueness.cli._shell import (
    CommandAnswer,
    about,
    cases_sentence,
    each_group,
    say,
    show,
    table,
)
from trueness.cli._words import noted
from trueness.cli._zones import Cut, at_cut, every_key
from trueness.counts.values import Tally
from trueness.metrics.confusion import Confusion
from trueness.metrics.definitions import COUNTS, METRIC_FAMILIES, METRICS
from trueness.metrics.words import cases_of, is_share, text_of
from trueness.threshold import operating_point as operating
from trueness.threshold.at_cut import AtThreshold, at_threshold, confusion
from trueness.threshold.group_limits import asks_for_groups
from trueness.threshold.guarantees import (
    GuaranteedThreshold,
    Proof,
    guaranteed_threshold,
)
from trueness.threshold.operating_point import DEFAULT, OperatingPoint
from trueness.threshold.sentences import limiting, met, objective_of
from trueness.threshold.validation import Validation, validate_threshold
from trueness.threshold.zones import asks_for_two_cuts

SHOWN = ("recall", "specificity", "precision", "npv", "accuracy", "f1", "mcc")


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


@command(Columns("score", Scores, one_score))
def threshold(
    request: Request,
    maximize: Maximize = None,
    minimize: Minimize = None,
    subject_to: SubjectTo = None,
    prevalence: PrevalenceRange = None,
    sampling: Sampling = "cohort",
    at: float | None = None,
    validate: bool = False,
    guarantee: float | None = None,
    mixture: bool = False,
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
    in each group; several --score for the one that should decide.

    --at: Evaluate this threshold instead of looking for the best.
    --validate: Estimate what to expect on new cases (bootstrap).
    --guarantee: Confidence with which the constraints must hold on new cases.
    --mixture: With several scores: also the best mixture of two thresholds.

    Example: trueness threshold sample:west_nile --label virus --score boosting \
--maximize f1 --subject-to "recall >= 0.8" --validate
    """
    share = read_share(prevalence)
    choice(sampling, ("cohort", "case-control"), "--sampling")
    wanted: dict[str, Any] = {"maximize": maximize, "minimize": minimize}
    bounds = subject_to or []
    if at is not None:
        _only_at(maximize, minimize, bounds, validate, guarantee)
        find = partial(_given, at, _one_share(share), sampling, request)
    elif guarantee is None:
        two = asks_for_two_cuts([*bounds, maximize, minimize])
        wanted = _objective(maximize, minimize, two)
        given = wanted | {"subject_to": bounds, "prevalence": share}
        if two:
            fits_sampling(sampling, share, "This threshold")
            find = partial(_zones.two_cuts, given, request, validate)
        else:
            find = partial(_best, given | {"sampling": sampling}, request, validate)
    else:
        _fits_a_guarantee(bounds, validate)
        fits_sampling(sampling, share, "This threshold")
        asked = (bounds, guarantee, share, request)
        find = partial(_promised, wanted, *asked)
        if asks_for_two_cuts([*bounds]):
            find = partial(_zones.two_promised_cuts, *asked)
    if len(request.chosen.scores) > 1:
        _one_question(at, validate, guarantee, request.chosen.by, wanted, bounds)
        fits_sampling(sampling, share, "This threshold")
        given = wanted | {"subject_to": bounds, "prevalence": _one_share(share)}
        return _among(request, given, mixture)
    score = request.chosen.scores[0]
    with progress("Counting", unit=""):
        t = count_tally(request, score)
        groups = count_tally(request, score, by=True) if request.chosen.by else {}
    if t.n_unknown and "flagged" in " ".join([*bounds, maximize or "", minimize or ""]):
        say(
            f"The limit on flagged cases counts cases with a label only; "
            f"{counted(t.n_unknown, 'case has', 'cases have')} none."
        )
    if asks_for_groups(bounds):
        return _by_groups(request, t, groups, wanted, bounds)
    with progress("Looking for the best threshold", unit=""):
        found = find(t)
        by_group = each_group(groups, lambda part: find(part).result)
    return CommandAnswer(
        "threshold",
        found.result | {"groups": by_group},
        [cases_sentence(t), *found.parts, *_group_table(request, by_group)],
        found.chart,
        about(request, t),
    )


def _one_question(
    at: Any, validate: Any, guarantee: Any, by: Any, wanted: Any, bounds: list[str]
) -> None:
    """Stop at what several classifiers at once cannot be asked."""
    two = asks_for_two_cuts([*wanted.values(), *bounds])
    if at is not None or validate or guarantee is not None or by or two:
        raise InputError(
            "Several --score ask which of them should decide, and that answer is "
            "always validated. Leave out --at, --validate, --guarantee, --by and "
            "deferred cases, or name one --score."
        )


def _among(request: Request, given: dict[str, Any], mixture: bool) -> CommandAnswer:
    """Say which classifier should decide, and its cut."""
    with progress("Counting", unit=""):
        p = count_panel(request)
    result, parts, chart = _zones.among_several(p, given, mixture, request)
    parts = [cases_sentence(p), *parts, _matrix(result["confusion"])]
    result["groups"] = {}
    return CommandAnswer("threshold", result, parts, chart, about(request, p))


def _objective(maximize: str | None, minimize: str | None, two: bool) -> dict[str, Any]:
    """Give what was asked for, or what is meant when nothing was."""
    if maximize is not None and minimize is not None:
        return {"maximize": maximize, "minimize": minimize}
    if minimize is not None or (two and maximize is None):
        return {"minimize": minimize or "defer"}
    return {"maximize": maximize or DEFAULT}


def _by_groups(
    request: Request,
    t: Tally,
    groups: dict[str, Tally],
    wanted: dict[str, Any],
    bounds: list[str],
) -> CommandAnswer:
    """Say where each group is cut."""
    if not groups:
        raise InputError(
            "Limits on differences between groups need groups. Type --by COLUMN."
        )
    with progress("Looking for the best thresholds", unit=""):
        result, parts, chart = _zones.cuts_of_groups(groups, wanted, bounds, request)
    cuts = result["group_cuts"]
    result["groups"] = {
        name: every_key(
            threshold=cuts["thresholds"][str(name)],
            interval=cuts["intervals"][str(name)],
            confusion=cuts["confusions"][str(name)],
        )
        for name in groups
    }
    words = [cases_sentence(t), *parts]
    return CommandAnswer("threshold", result, words, chart, about(request, t))


def _one_share(share: float | tuple[float, float] | None) -> float | None:
    if isinstance(share, tuple):
        raise InputError(
            "--at evaluates one threshold for one prevalence. Type --prevalence 0.01."
        )
    return share


def _best(wanted: dict[str, Any], request: Request, validate: bool, t: Tally) -> Cut:
    point = operating.best_threshold(t, **wanted)
    checked = None
    if validate:
        checked = validate_threshold(t, **wanted, level=request.level, rng=request.seed)
    # of a range the numbers are for the prevalence where the threshold is worst
    used = None if wanted["prevalence"] is None else point.prevalence
    found = _estimates(t, point.threshold, used, request, wanted["sampling"])
    parts = [*_sentences(point), _matrix(point.confusion)]
    parts += _checked_parts(checked) if checked else [_metrics_table(found)]
    parts += _for_prevalence(used, t)
    result = _zones.point_numbers(point, found)
    result["validation"] = checked and fields_of(checked, VALIDATION)
    if point.robust is not None:
        return Cut(result, parts, lambda: door("plots").prevalence_path(point))
    drawn = {k: v for k, v in wanted.items() if k != "sampling"}
    return Cut(result, parts, lambda: door("plots").operating_point(t, **drawn))


def _given(
    at: float, prevalence: float | None, sampling: str, request: Request, t: Tally
) -> Cut:
    """Evaluate a threshold that was chosen beforehand."""
    both_classes(t, "threshold")
    c, found = confusion(t, at), _estimates(t, at, prevalence, request, sampling)
    share = t.prevalence if prevalence is None else prevalence
    result = at_cut(c, found, threshold=at, prevalence=share, method="given")
    parts = [
        f"Flagging every case with a score of {at:g} or more:",
        _matrix(c),
        _metrics_table(found),
        f"In parentheses: {level_text(request.level)} confidence intervals, if the "
        "threshold was chosen beforehand and not on these cases.",
        *_for_prevalence(prevalence, t),
    ]
    return Cut(result, parts, lambda: door("plots").roc(t))


def _estimates(
    t: Tally,
    threshold: float,
    prevalence: float | None,
    request: Request,
    sampling: str = "cohort",
) -> dict[str, Estimate]:
    """Give every metric at a threshold, all of them for one prevalence."""
    asked: dict[str, Any] = {"prevalence": prevalence, "level": request.level}
    asked["sampling"] = sampling
    found: AtThreshold = at_threshold(t, threshold, **asked, rng=request.seed)
    return found.metrics


def _for_prevalence(prevalence: float | None, t: Tally) -> list[str]:
    if prevalence is None:
        return []
    return [
        f"All metrics are for a prevalence of {percent(prevalence)}; the counts are "
        f"those of the file, where it is {percent(t.prevalence)}."
    ]


def _only_at(*others: Any) -> None:
    if any(others):
        raise InputError(
            "--at evaluates one threshold, so there is nothing to choose. Leave out "
            "--maximize, --minimize, --subject-to, --validate and --guarantee."
        )


def _fits_a_guarantee(bounds: list[str], validate: bool) -> None:
    """Stop at what a guarantee cannot be about, rather than leave it out silently."""
    if not bounds:
        raise InputError(
            "--guarantee needs a constraint, and found none. Type "
            '--subject-to "recall >= 0.9" --guarantee 0.95.'
        )
    if validate:
        raise InputError(
            "--guarantee comes with its own proof, so leave out --validate, or use it "
            "without --guarantee."
        )


def _promised(
    wanted: dict[str, Any],
    bounds: list[str],
    confidence: float,
    share: Any,
    request: Request,
    t: Tally,
) -> Cut:
    g = guaranteed_threshold(
        t, bounds, confidence=confidence, **wanted, prevalence=share, rng=request.seed
    )
    c, found = confusion(t, g.threshold), _estimates(t, g.threshold, None, request)
    goal = next((f"{k} {v}" for k, v in wanted.items() if v is not None), None)
    result = at_cut(
        c,
        found,
        **fields_of(g, ("threshold", "interval", "method")),
        objective=goal,
        constraints={p.constraint.split()[0]: p.value for p in g.proofs},
        binding=[],
        intervals=[g.interval],
        prevalence=t.prevalence,
        notes=(),
        guarantee=fields_of(g, ("confidence", "proofs")),
    )
    parts = [*_promise_sentences(g), _matrix(c), _metrics_table(found)]
    return Cut(result, parts, lambda: door("plots").guaranteed_cut(t, g))


def _promise_sentences(g: GuaranteedThreshold) -> list[str]:
    lines = [
        f"Flag a case when its score is {g.threshold:.6g} or more. With "
        f"{level_text(g.confidence)} confidence the population has {g.constraint}."
    ]
    return lines + [_proof_sentence(p) for p in g.proofs]


def _proof_sentence(p: Proof) -> str:
    name, sign, _ = p.constraint.split(maxsplit=2)
    text = text_of(name)
    value, bound = (
        percent(v) if is_share(name) else written(v) for v in (p.value, p.bound)
    )
    side = "upper" if sign.startswith("<") else "lower"
    return (
        f"{text[:1].upper()}{text[1:]} {value} in {counted(p.cases, *cases_of(name))}; "
        f"{level_text(p.confidence)} {side} bound {bound}."
    )


def _sentences(point: OperatingPoint) -> list[str]:
    low, high = point.interval
    lines = []
    if np.isposinf(point.threshold):
        lines.append("Flag nothing: no threshold is better than that.")
    else:
        lines.append(
            f"Flag a case when its score is {point.threshold:.6g} or more. All "
            f"thresholds above {low:.6g} and up to {high:.6g} flag the same cases."
        )
    lines.append(
        f"At this threshold {objective_of(point.objective)} is {written(point.value)}, "
        f"at a prevalence of {percent(point.prevalence)}."
    )
    lines += noted(point.notes)
    lines += limiting(point)
    more = len(point.intervals) - 1
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
        f"{v.threshold.low:.4g} and {v.threshold.high:.4g} "
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
