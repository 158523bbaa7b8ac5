"""Where do I cut?"""

from __future__ import annotations

from typing import Annotated, Any

import numpy as np
import typer

from karat import operating
from karat._checks import InputError
from karat._doors import door
from karat._progress import progress
from karat.cli._shell import (
    Answer,
    Count,
    Debug,
    File,
    Json,
    Label,
    Level,
    Maximize,
    Minimize,
    Plot,
    Positive,
    Prevalence,
    Score,
    Seed,
    SubjectTo,
    about,
    cases_sentence,
    opened,
    show,
    table,
)
from karat.cli._source import count_tally
from karat.confusion import METRICS, Confusion
from karat.counts import Tally
from karat.guarantees import GuaranteedThreshold, guaranteed_threshold
from karat.operating import OperatingPoint
from karat.validation import Validation, validate_threshold

SHOWN = ("recall", "specificity", "precision", "npv", "accuracy", "f1", "mcc")


def threshold(
    file: File,
    label: Label = None,
    score: Score = None,
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
        typer.Option(help="Make the one constraint hold with this confidence."),
    ] = None,
    level: Level = 0.95,
    seed: Seed = 0,
    positive: Positive = None,
    count: Count = None,
    json: Json = False,
    plot: Plot = None,
    debug: Debug = False,
) -> None:
    """Where do I cut? The exact best threshold under constraints.

    Example: karat threshold sample:west_nile --label virus --score boosting \
--maximize f1 --subject-to "recall >= 0.8" --validate
    """
    scores = [score] if score else []
    source, chosen = opened(
        file, label=label, scores=scores, positive=positive, count=count
    )
    with progress("Counting"):
        t = count_tally(source, chosen, chosen.scores[0])
    wanted: dict[str, Any] = {
        "maximize": maximize or "accuracy",
        "subject_to": subject_to or (),
        "prevalence": prevalence,
        "minimize": minimize,
    }
    if guarantee is not None:
        promised = _promise(t, subject_to or [], guarantee, seed)
        parts: list[Any] = [cases_sentence(t), _promise_sentence(promised)]
        parts.append(_matrix(promised.confusion))
        result = {"guarantee": promised}
        head = about(source, chosen, t)
        show(Answer("guarantee", result, parts, about=head), json)
        return
    with progress("Validating"):
        point = operating.best_threshold(t, **wanted)
        checked = None
        if validate:
            checked = validate_threshold(t, **wanted, level=level, rng=seed)
    parts = [cases_sentence(t), *_sentences(point), _matrix(point.confusion)]
    parts += _checked_parts(checked) if checked else [_metrics_table(point.confusion)]
    answer = Answer(
        "threshold",
        _result(point, checked),
        parts,
        chart=lambda: door("plots").operating_point(t, **wanted),
        about=about(source, chosen, t),
    )
    show(answer, json, plot)


def _result(point: OperatingPoint, checked: Validation | None) -> dict[str, Any]:
    return {
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
        "validation": checked
        and {
            "threshold": checked.threshold,
            "corrected": checked.corrected,
            "optimism": checked.optimism,
            "metrics": checked.metrics,
            "holds": checked.holds,
            "failed": checked.failed,
        },
    }


def _promise(
    t: Tally, given: list[str], confidence: float, seed: int
) -> GuaranteedThreshold:
    if len(given) != 1:
        raise InputError(
            f"--guarantee is about one constraint; found {len(given)}. Type "
            f'--subject-to "recall >= 0.9" --guarantee 0.95.'
        )
    return guaranteed_threshold(t, given[0], confidence=confidence, rng=seed)


def _promise_sentence(g: GuaranteedThreshold) -> str:
    return (
        f"Flag a case when its score is {g.threshold:.6g} or more. Then {g.constraint} "
        f"holds in the population with a confidence of {g.confidence:g}; in these "
        f"cases the value is {g.value:.4g}, with a one-sided limit of {g.bound:.4g}."
    )


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
        lines.append(f"{more} other cut(s) are as good; --json lists them.")
    return lines


def _matrix(c: Confusion) -> Any:
    rows = [
        ["positive", int(c.tp), int(c.fn)],
        ["negative", int(c.fp), int(c.tn)],
    ]
    return table("", ["cases", "flagged", "not flagged"], rows)


def _metrics_table(c: Confusion) -> Any:
    values = metrics_at(c)
    return table("", ["metric", "value"], [[name, values[name]] for name in SHOWN])


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
    return [table("", ["metric", "value"], rows), *lines]
