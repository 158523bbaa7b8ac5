"""Where do I cut?"""

from __future__ import annotations

from typing import Any

import numpy as np

from karat import operating
from karat.cli._shell import (
    Answer,
    Count,
    Debug,
    File,
    Json,
    Label,
    Maximize,
    Minimize,
    Positive,
    Prevalence,
    Score,
    SubjectTo,
    about,
    cases_sentence,
    opened,
    show,
    table,
    working,
)
from karat.cli._source import count_tally
from karat.confusion import METRICS, Confusion

SHOWN = ("recall", "specificity", "precision", "npv", "accuracy", "f1", "mcc")


def threshold(
    file: File,
    label: Label = None,
    score: Score = None,
    maximize: Maximize = None,
    minimize: Minimize = None,
    subject_to: SubjectTo = None,
    prevalence: Prevalence = None,
    positive: Positive = None,
    count: Count = None,
    json: Json = False,
    debug: Debug = False,
) -> None:
    """Where do I cut? The exact best threshold under constraints.

    Example: karat threshold sample:west_nile --label virus --score boosting \
--maximize f1 --subject-to "recall >= 0.8"
    """
    scores = [score] if score else []
    source, chosen = opened(
        file, label=label, scores=scores, positive=positive, count=count
    )
    with working("Counting"):
        t = count_tally(source, chosen, chosen.scores[0])
    point = operating.best_threshold(
        t,
        maximize or "accuracy",
        subject_to or (),
        prevalence=prevalence,
        minimize=minimize,
    )
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
    }
    parts = [cases_sentence(t), *_sentences(point), *_tables(point)]
    show(Answer("threshold", result, parts, about=about(source, chosen, t)), json)


def metrics_at(c: Confusion) -> dict[str, float]:
    """Give every metric at one cut."""
    return {name: float(m(c)) for name, m in METRICS.items()}


def _sentences(point: Any) -> list[str]:
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


def _tables(point: Any) -> list[Any]:
    c = point.confusion
    matrix = [
        ["positive", int(c.tp), int(c.fn)],
        ["negative", int(c.fp), int(c.tn)],
    ]
    values = metrics_at(c)
    rows = [[name, values[name]] for name in SHOWN]
    return [
        table("", ["cases", "flagged", "not flagged"], matrix),
        table("", ["metric", "value"], rows),
    ]
