"""Is it still good, today?"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from trueness._core.checks.errors import InputError
from trueness._core.files import alone
from trueness.cli._columns import Request, choose, one_score
from trueness.cli._command import command
from trueness.cli._fields import fields_of
from trueness.cli._options import By, Label, Positive
from trueness.cli._shell import CommandAnswer, about, cases_sentence, table
from trueness.cli._source import open_source
from trueness.data.frames import panel, tally
from trueness.monitoring.kinds import KINDS
from trueness.monitoring.questions import load_watch
from trueness.monitoring.questions import watch as new_watch


@command(cannot="watch")
def watch(
    state: Annotated[
        Path,
        typer.Argument(
            help="The state of the watch: a .json or .parquet file.", metavar="STATE"
        ),
    ],
    file: Annotated[str, typer.Argument(help="The new batch.", metavar="FILE")],
    label: Label = None,
    score: str | None = None,
    metric: str | None = None,
    threshold: float | None = None,
    at_least: float | None = None,
    at_most: float | None = None,
    baseline: str | None = None,
    margin: float = 0.0,
    near: float | None = None,
    judge: list[str] | None = None,
    by: By = None,
    false_alarms: str | None = None,
    restart: bool = False,
    name: str | None = None,
    positive: Positive = None,
) -> CommandAnswer:
    """Is it still good? Monitors new batches; finds a change whenever it begins.

    --score, -s COLUMN: Column with the scores.
    --metric: For a new watch: recall, auc, brier, calibration, scores, ...
    --threshold: For a new watch: a case is flagged from this score on.
    --at-least: For a new watch: the metric must be this or more.
    --at-most: For a new watch: the metric must be this or less.
    --baseline FILE: For a new watch: earlier predictions as a baseline.
    --margin: For a new watch: how much worse than the baseline is allowed.
    --near: For a new watch: calibration of scores near this value.
    --judge COLUMN: For prevalence: column with verdicts; repeat it for each.
    --false-alarms: For a new watch: how rare they are ("one in 20 years").
    --restart: After a repair: forget the alarm before this batch is counted.
    --name: Name of the batch (by default the name of the file).

    Example: trueness watch state.json sample:west_nile --label virus --score boosting
    --metric auc --at-least 0.7
    """
    bound: dict[str, Any] = {"threshold": threshold, "near": near}
    bound |= {"at_least": at_least, "at_most": at_most}
    source = open_source(file)
    with alone(state):  # two jobs at once must not lose what the other one counted
        held = None
        if state.exists():
            held = _held(state, (metric, baseline, false_alarms, *bound.values()))
            if restart:
                held.restart()
            judge, by = judge or list(held.judges), by or held.by
            kept = held.columns  # said once, when the watch began
            label, score = label or kept.get("label"), score or kept.get("score")
            positive = kept.get("positive") if positive is None else positive
        judges = judge or []
        # what needs no labels is not asked for them, nor who watches already
        labels = metric not in KINDS or KINDS[metric].labels
        guessed = metric is not None and labels and not judges
        chosen = choose(
            source,
            option="judge" if judges else "score",
            scores=judges or ([] if score is None else [score]),
            guess=one_score,
            label=label,
            positive=positive,
            by=by,
            needs_label=guessed,
        )
        columns = {"positive": chosen.positive, "label": chosen.label}
        columns |= {"scores": judges} if judges else {"score": chosen.scores[0]}
        if held is None:
            if metric is None:
                raise InputError(
                    f"There is no watch in {state} yet. To begin one, add --metric "
                    f"recall --threshold 0.3 --at-least 0.9, for example."
                )
            if baseline is not None:
                bound["baseline"] = tally(open_source(baseline).rows, **columns)
            bound |= {"margin": margin, "judges": judges or None, "by": by}
            if false_alarms is not None:
                bound["false_alarms"] = false_alarms
            held = new_watch(metric, **bound)
        count: Any = panel if judges else tally
        t = count(source.rows, **columns)
        parts = t if by is None else count(source.rows, by=by, **columns)
        looks = held.looks
        if name is None:
            _not_a_copy(held.same_cases(parts), source.name)
        held.update(parts, name=name or source.name)
        held.keep_columns(**columns)
        held.save(state)
    request = Request(source, chosen, source.rows, 0.95, 0)
    return _answer(held, looks, about(request, t), cases_sentence(t))


def _held(state: Path, begin: tuple[Any, ...]) -> Any:
    """Load a watch that was begun, to which nothing may be said anew."""
    if any(given is not None for given in begin):
        raise InputError(
            f"{state} holds a watch already; leave out --metric and its bound, or "
            f"name another file."
        )
    return load_watch(state)


def _not_a_copy(earlier: str | None, name: str) -> None:
    if earlier not in (None, name):
        raise InputError(
            f"{name} has exactly the cases of the batch {earlier!r}, which was counted "
            f"before. If these are other cases, add --name with a name of their own."
        )


def _answer(held: Any, before: int, said: dict[str, Any], cases: str) -> CommandAnswer:
    counted = held.looks > before
    parts: list[Any] = [cases]
    if not counted:
        parts.append("This batch was counted before, so nothing changed.")
    said_now = held.sentence()
    parts.append(f"{held.what}: {said_now}")
    names, ends = ("alarm", "since", "evidence"), ("value", "low", "high")
    result = fields_of(held, (*names, "looks"))
    result |= fields_of(held, ends)
    result["change"] = held.change
    result["groups"] = {
        g: fields_of(w, (*names, *ends, "change")) for g, w in held.groups.items()
    }
    if held.groups:
        rows = [
            [g, "alarm" if w.alarm else "no alarm", w.value, w.low, w.high]
            for g, w in held.groups.items()
        ]
        parts.append(table(["group", "", "value", "from", "to"], rows))
    result |= {"watching": held.what, "counted": counted, "sentence": said_now}

    def chart() -> Any:
        from trueness.plots.monitoring import sequence  # Altair is loaded when it draws

        return sequence(held)

    return CommandAnswer("watch", result, parts, chart, said, 4 if held.alarm else 0)
