"""Where do I cut?"""

from __future__ import annotations

from functools import partial
from typing import Annotated, Any, NamedTuple

import numpy as np
import typer

from trueness._core.checks.errors import InputError
from trueness._core.doors import door
from trueness._core.progress import progress
from trueness.cli._command import ONE_SCORE, command
from trueness.cli._options import Maximize, Minimize, Prevalence, SubjectTo
from trueness.cli._shell import Answer, about, cases_sentence, each_group, say, table
from trueness.cli._source import Ask, count_tally
from trueness.counts.values import Tally
from trueness.metrics.confusion import Confusion, sweep
from trueness.metrics.definitions import METRICS
from trueness.threshold import operating_point as operating
from trueness.threshold.guarantees import GuaranteedThreshold, guaranteed_threshold
from trueness.threshold.operating_point import OperatingPoint
from trueness.threshold.validation import Validation, validate_threshold

SHOWN = ("recall", "specificity", "precision", "npv", "accuracy", "f1", "mcc")


class _Cut(NamedTuple):
    """What was found: for programs, for people, and as a figure."""

    result: dict[str, Any]
    parts: list[Any]
    chart: Any


@command(ONE_SCORE)
def threshold(
    ask: Ask,
    maximize: Maximize = None,
    minimize: Minimize = None,
    subject_to: SubjectTo = None,
    prevalence: Prevalence = None,
    validate: Annotated[
        bool,
        typer.Option("--validate", help="Say what remains of it on other cases."),
    ] = False,
    guarantee: Annotated[
        float | None,
        typer.Option(help="Make the constraints hold with this confidence."),
    ] = None,
) -> Answer:
    """Where do I cut? The exact best threshold under constraints.

    Example: trueness threshold sample:west_nile --label virus --score boosting \
--maximize f1 --subject-to "recall >= 0.8" --validate
    """
    wanted = {"maximize": maximize, "minimize": minimize}
    bounds = subject_to or []
    if guarantee is None:
        wanted["maximize"] = maximize or "accuracy"
        given = wanted | {"subject_to": bounds, "prevalence": prevalence}
        find = partial(_best, given, ask, validate)
    else:
        _fits_a_guarantee(bounds, prevalence, validate)
        find = partial(_promised, wanted, bounds, guarantee, ask)
    score = ask.chosen.scores[0]
    with progress("Counting", unit=""):
        t = count_tally(ask, score)
        groups = count_tally(ask, score, by=True) if ask.chosen.by else {}
    if t.n_unknown and "flagged" in " ".join([*bounds, maximize or "", minimize or ""]):
        say(f"flagged counts cases with a label only; {t.n_unknown:,} have none.")
    with progress("Looking for the best cut", unit=""):
        found = find(t)
        by_group = each_group(groups, lambda part: find(part).result)
    return Answer(
        "threshold",
        found.result | {"groups": by_group},
        [cases_sentence(t), *found.parts, *_group_table(ask, by_group)],
        found.chart,
        about(ask, t),
    )


def _best(wanted: dict[str, Any], ask: Ask, validate: bool, t: Tally) -> _Cut:
    point = operating.best_threshold(t, **wanted)
    checked = None
    if validate:
        checked = validate_threshold(t, **wanted, level=ask.level, rng=ask.seed)
    parts = [*_sentences(point), _matrix(point.confusion)]
    parts += _checked_parts(checked) if checked else [_metrics_table(point.confusion)]
    result = {
        "threshold": point.threshold,
        "interval": point.interval,
        "objective": point.objective,
        "value": point.value,
        "constraints": point.constraints,
        "binding": point.binding,
        "intervals": point.intervals,
        "confusion": point.confusion,
        "metrics": metrics_at(point.confusion),
        "prevalence": point.prevalence,
        "method": point.method,
        "validation": checked and _validation(checked),
        "guarantee": None,
    }
    return _Cut(result, parts, lambda: door("plots").operating_point(t, **wanted))


def _validation(v: Validation) -> dict[str, Any]:
    return {
        "threshold": v.threshold,
        "corrected": v.corrected,
        "optimism": v.optimism,
        "metrics": v.metrics,
        "holds": v.holds,
        "failed": v.failed,
    }


def _fits_a_guarantee(
    bounds: list[str], prevalence: float | None, validate: bool
) -> None:
    """Stop at what a guarantee cannot be about, rather than leave it out silently."""
    if not bounds:
        raise InputError(
            "--guarantee is about constraints; found none. Type "
            '--subject-to "recall >= 0.9" --guarantee 0.95.'
        )
    if prevalence is not None:
        raise InputError(
            "--guarantee is about the population that the cases were drawn from; leave "
            "out --prevalence. (Recall, fpr and other rates of one class do not depend "
            "on it.)"
        )
    if validate:
        raise InputError(
            "--guarantee comes with its own proof; leave out --validate, or ask for it "
            "without --guarantee."
        )


def _promised(
    wanted: dict[str, Any], bounds: list[str], confidence: float, ask: Ask, t: Tally
) -> _Cut:
    g = guaranteed_threshold(t, bounds, confidence=confidence, **wanted, rng=ask.seed)
    c = _at(t, g.threshold)
    goal = next((f"{k} {v}" for k, v in wanted.items() if v is not None), None)
    result = {
        "threshold": g.threshold,
        "interval": g.interval,
        "objective": goal,
        "value": None,
        "constraints": {p.constraint.split()[0]: p.value for p in g.proofs},
        "binding": [],
        "intervals": [g.interval],
        "confusion": c,
        "metrics": metrics_at(c),
        "prevalence": t.prevalence,
        "method": g.method,
        "validation": None,
        "guarantee": {"confidence": g.confidence, "proofs": g.proofs},
    }
    parts = [*_promise_sentences(g), _matrix(c), _metrics_table(c)]
    return _Cut(result, parts, lambda: door("plots").guaranteed_cut(t, g))


def _at(t: Tally, threshold: float) -> Confusion:
    """Count at one threshold."""
    return sweep(t)[int(np.searchsorted(-t.score, -threshold, side="right"))]


def _promise_sentences(g: GuaranteedThreshold) -> list[str]:
    lines = [
        f"Flag a case when its score is {g.threshold:.6g} or more. With a confidence "
        f"of {g.confidence:g} the population then has {g.constraint}."
    ]
    lines += [
        f"{p.constraint}: {p.value:.4g} in the {p.cases:,} cases that tell, with a "
        f"one-sided limit of {p.bound:.4g}."
        for p in g.proofs
    ]
    return lines


def metrics_at(c: Confusion) -> dict[str, float]:
    """Give every metric at one cut."""
    return {name: float(m(c)) for name, m in METRICS.items()}


def _sentences(point: OperatingPoint) -> list[str]:
    low, high = point.interval
    lines = []
    if np.isposinf(point.threshold):
        lines.append("Flag nothing: no cut is better than that.")
    else:
        lines.append(
            f"Flag a case when its score is {point.threshold:.6g} or more. Every "
            f"threshold above {low:.6g}, up to {high:.6g}, makes the same cut."
        )
    what = point.objective.partition(" ")[2]
    lines.append(f"There {what} is {point.value:.4g}.")
    if point.binding:
        lines.append(f"What stops it from being better: {', '.join(point.binding)}.")
    more = len(point.intervals) - 1
    if more > 0:
        other = "one other cut is" if more == 1 else f"{more:,} other cuts are"
        lines.append(f"{other.capitalize()} as good; --json lists all.")
    return lines


def _matrix(c: Confusion) -> Any:
    rows = [
        ["positive", int(c.tp), int(c.fn)],
        ["negative", int(c.fp), int(c.tn)],
    ]
    return table(["cases", "flagged", "not flagged"], rows)


def _metrics_table(c: Confusion) -> Any:
    values = metrics_at(c)
    return table(["metric", "value"], [[name, values[name]] for name in SHOWN])


def _checked_parts(v: Validation) -> list[Any]:
    rows = [[n, v.metrics[n]] for n in SHOWN if n in v.metrics]
    lines = [
        f"On other cases expect {v.corrected:.4g} in place of {v.value:.4g}: the cut "
        f"was chosen where it is judged.",
        f"Repeated choices of the threshold lie between {v.threshold.low:.4g} and "
        f"{v.threshold.high:.4g}.",
    ]
    lines += [
        f"{name} held in {100 * share:.0f}% of the samples left out."
        for name, share in v.holds.items()
    ]
    return [table(["metric", "value"], rows), *lines]


def _group_table(ask: Ask, groups: dict[str, dict[str, Any] | None]) -> list[Any]:
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
        f"The best cut for each {ask.chosen.by} alone:",
        table([str(ask.chosen.by), *head], rows),
    ]
