"""Is it still good? New batches are monitored, and a change is found."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Annotated, Any, final

import typer

import trueness
from trueness._core.checks.errors import InputError
from trueness._core.files import alone
from trueness.cli import options
from trueness.cli._columns import FileData, choose_columns, invert_scores, pivot_of
from trueness.cli._file_data import refuse_design, say_what_was_inverted
from trueness.cli._shell import CommandAnswer, about, command_answer
from trueness.cli._source import Source, open_source
from trueness.counts.values import Panel, Tally
from trueness.data.column_roles import one_score
from trueness.data.frames import panel, tally
from trueness.findings.how_good import cases_note
from trueness.findings.request import Request
from trueness.findings.trust import watch_finding
from trueness.monitoring.detectors import KINDS
from trueness.monitoring.questions import load_watch
from trueness.monitoring.questions import watch as new_watch
from trueness.monitoring.watching import Watch

ALARM_EXIT_CODE = 4  # exit code
FALSE_ALARMS = "one in 20 years"  # where nothing was typed, as in trueness.watch


@final
@dataclass(frozen=True)
class NewWatch:
    """What a new watch is about; None where it was left open."""

    metric: str | None
    threshold: float | None
    at_least: float | None
    at_most: float | None
    near: float | None
    baseline: str | None  # a file of earlier predictions
    false_alarms: str | None

    @property
    def is_asked_for(self) -> bool:
        """Return whether any of this was typed."""
        bounds = (self.threshold, self.at_least, self.at_most, self.near)
        others = (self.metric, self.baseline, self.false_alarms)
        return any(value is not None for value in (*bounds, *others))


@final
@dataclass(frozen=True)
class BatchColumns:
    """Which columns of a batch are counted."""

    label: str | None
    positive: Any
    scores: tuple[str, ...]
    judges: tuple[str, ...] = field(default=())  # in place of scores
    pivot: float | None = None  # of scores that are turned round: s becomes pivot - s

    def count(self, rows: Any, by: str | None = None) -> Any:
        """Count a batch; with ``by`` each of its groups."""
        if self.judges:
            return panel(
                rows,
                label=self.label,
                scores=list(self.judges),
                positive=self.positive,
                by=by,
            )

        counts = tally(
            rows,
            label=self.label,
            score=self.scores[0],
            positive=self.positive,
            by=by,
        )
        return counts if self.pivot is None else invert_scores(counts, self.pivot)

    @property
    def to_remember(self) -> dict[str, str | int | float]:
        """What need not be typed again for the next batch."""
        names: dict[str, Any] = {
            "positive": self.positive,
            "label": self.label,
            "pivot": self.pivot,
        }

        if not self.judges:
            names["score"] = self.scores[0]

        plain_types = (str, int, float)
        return {k: v for k, v in names.items() if isinstance(v, plain_types)}


def watch_command(
    state: Annotated[
        Path,
        typer.Argument(
            help="File that keeps the state of the watch (.json or .parquet).",
            metavar="STATE",
        ),
    ],
    file: Annotated[str, typer.Argument(help="The new batch.", metavar="FILE")],
    label: options.Label = None,
    score: options.Score = None,
    metric: Annotated[
        str | None,
        typer.Option(
            "--metric",
            metavar="METRIC",
            help="For a new watch: recall, auc, brier, calibration, scores, ...",
        ),
    ] = None,
    threshold: Annotated[
        float | None,
        options.number(
            "--threshold",
            help=(
                "For a new watch: threshold; cases with this score or more are flagged."
            ),
        ),
    ] = None,
    at_least: Annotated[
        float | None,
        options.number(
            "--at-least", help="For a new watch: lower bound of the metric."
        ),
    ] = None,
    at_most: Annotated[
        float | None,
        options.number("--at-most", help="For a new watch: upper bound of the metric."),
    ] = None,
    baseline: Annotated[
        str | None,
        typer.Option(
            "--baseline",
            metavar="FILE",
            help="For a new watch: earlier predictions as a baseline.",
        ),
    ] = None,
    margin: Annotated[
        float,
        options.number(
            "--margin",
            help="For a new watch: how much worse than the baseline is allowed.",
        ),
    ] = 0.0,
    near: Annotated[
        float | None,
        options.number(
            "--near", help="For a new watch: calibration of scores near this value."
        ),
    ] = None,
    judge: Annotated[
        list[str] | None,
        options.column(
            "--judge",
            help="For prevalence: column with verdicts; repeat it for each.",
        ),
    ] = None,
    false_alarms: Annotated[
        str | None,
        typer.Option(
            "--false-alarms",
            metavar="RATE",
            help='For a new watch: rate of false alarms ("one in 20 years").',
        ),
    ] = None,
    restart: Annotated[
        bool,
        typer.Option(
            "--restart",
            help="After a repair: reset the alarm before this batch is counted.",
        ),
    ] = False,
    name: Annotated[
        str | None,
        typer.Option(
            "--name",
            metavar="NAME",
            help="Name of the batch (by default the name of the file).",
        ),
    ] = None,
    positive: options.Positive = None,
    by: options.By = None,
    invert: options.Invert = False,
    weight: Annotated[str | None, options.unsupported("--weight")] = None,
    cluster: Annotated[str | None, options.unsupported("--cluster")] = None,
    json: options.Json = False,
    plot: options.Plot = None,
    quiet: options.Quiet = False,
    debug: options.Debug = False,
) -> CommandAnswer:
    r"""Is it still good? Monitors new batches for drift, at any number of looks.

    The answer names the cases that count, those that the metric is about: for
    recall the positives, for precision the flagged cases, for auc blocks of
    eight cases.

    Example:
    trueness watch state.json sample:west_nile --label virus --score boosting \
        --metric auc --at-least 0.7
    """
    refuse_design("watch", "watch", {"weight": weight, "cluster": cluster})
    new_watch = NewWatch(
        metric=metric,
        threshold=threshold,
        at_least=at_least,
        at_most=at_most,
        near=near,
        baseline=baseline,
        false_alarms=false_alarms,
    )

    source = open_source(file)

    with alone(state):  # two jobs at once must not lose what the other one counted
        watch = _continue_watch(state, new_watch, restart) if state.exists() else None
        if watch is not None:
            judge = judge or list(watch.judges)
            by = by or watch.by

        request = _choose_columns(
            source, watch, metric, label, score, positive, judge, by
        )
        columns = BatchColumns(
            label=request.label,
            positive=request.positive,
            scores=request.scores,
            judges=tuple(judge or ()),
        )
        columns = _invert_if_needed(columns, watch, source, invert)

        if watch is None:
            watch = _begin_watch(state, new_watch, columns, margin, by)

        counts = columns.count(source.rows)
        batch = counts if by is None else columns.count(source.rows, by=by)
        batches_before = watch.looks
        _refuse_counted_twice(watch, batch, source.name if name is None else None)
        watch.update(batch, name=name or source.name)
        watch.columns.update(columns.to_remember)
        watch.save(state)

    return command_answer(
        watch_finding(watch, cases_note(counts), watch.looks > batches_before),
        chart=lambda: trueness.plots.watch_history.figure_data(watch),
        about=about(FileData(source, request, source.rows), counts),
        code=ALARM_EXIT_CODE if watch.alarm else 0,
    )


def _choose_columns(
    source: Source,
    watch: Watch | None,
    metric: str | None,
    label: str | None,
    score: str | None,
    positive: str | None,
    judges: list[str] | None,
    by: str | None,
) -> Request:
    """Choose the columns of a batch: those named, or those of earlier batches."""
    columns_before = watch.columns if watch else {}
    score = score or columns_before.get("score")
    # labels are guessed only for a new watch, and for a metric that needs them
    metric_needs_labels = metric not in KINDS or KINDS[metric].labels

    return choose_columns(
        source,
        Request(
            label=label or columns_before.get("label"),
            scores=tuple(judges or ([] if score is None else [score])),
            positive=columns_before.get("positive") if positive is None else positive,
            by=by,
        ),
        option="judge" if judges else "score",
        guess=one_score,
        needs_label=metric_needs_labels and metric is not None and not judges,
    )


def _invert_if_needed(
    columns: BatchColumns, watch: Watch | None, source: Source, invert: bool
) -> BatchColumns:
    """Turn scores round where that was typed, or where earlier batches were turned.

    All batches are turned alike, whatever the range of their scores.
    """
    pivot = watch.columns.get("pivot") if watch else None

    if invert and columns.judges:
        raise InputError("Verdicts of judges cannot be reversed.", option="invert")

    if invert and watch is not None and pivot is None:
        raise InputError(
            "Earlier batches of this watch were counted without reversing scores. "
            "Begin a new watch for reversed scores.",
            option="invert",
        )

    if invert and pivot is None:
        pivot = pivot_of(columns.count(source.rows).score)
    if pivot is None:
        return columns

    say_what_was_inverted()
    return replace(columns, pivot=float(pivot))


def _continue_watch(state: Path, new_watch: NewWatch, restarts: bool) -> Watch:
    """Go on with the watch of a file, which asks nothing new."""
    if new_watch.is_asked_for:
        raise InputError(
            f"{state} already holds a watch. Leave out the metric and its bound, or "
            "name another file.",
            option="metric",
        )

    watch = load_watch(state)
    return watch.restart() if restarts else watch


def _begin_watch(
    state: Path,
    request: NewWatch,
    columns: BatchColumns,
    margin: float,
    by: str | None,
) -> Watch:
    """Begin a watch; its baseline is a file with the same columns."""
    if request.metric is None:
        raise InputError(
            f"There is no watch in {state} yet. To begin one, add --metric recall "
            "--threshold 0.3 --at-least 0.9, for example.",
            option="metric",
        )

    earlier = None
    if request.baseline is not None:
        earlier = columns.count(open_source(request.baseline).rows)

    return new_watch(
        request.metric,
        threshold=request.threshold,
        at_least=request.at_least,
        at_most=request.at_most,
        near=request.near,
        baseline=earlier,
        margin=margin,
        judges=columns.judges or None,
        by=by,
        false_alarms=request.false_alarms or FALSE_ALARMS,
    )


def _refuse_counted_twice(watch: Watch, batch: Tally | Panel, file: str | None) -> None:
    """Raise an error for cases that were counted before, under another name."""
    earlier = watch.same_cases(batch)
    if file is not None and earlier not in (None, file):
        raise InputError(
            f"{file} has exactly the cases of the batch {earlier!r}, which was counted "
            "before. If these are other cases, add --name with a name of their own."
        )
