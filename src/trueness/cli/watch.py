"""Is it still good, today?"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from trueness._core.checks.errors import InputError
from trueness._core.doors import door
from trueness.cli._columns import Request, choose, one_score
from trueness.cli._command import command
from trueness.cli._options import Label, Positive
from trueness.cli._shell import Answer, about, cases_sentence
from trueness.cli._source import open_source
from trueness.data.frames import tally
from trueness.watches.watching import Watch, load_watch
from trueness.watches.watching import watch as new_watch


@command()
def watch(
    state: Annotated[
        Path,
        typer.Argument(help="The state of the watch: a JSON file.", metavar="STATE"),
    ],
    file: Annotated[str, typer.Argument(help="The new batch.", metavar="FILE")],
    label: Label = None,
    score: Annotated[
        str | None, typer.Option("--score", "-s", help="Column with the scores.")
    ] = None,
    metric: Annotated[
        str | None,
        typer.Option(help="To begin: recall, auc, brier, calibration, scores, ..."),
    ] = None,
    threshold: Annotated[
        float | None, typer.Option(help="To begin: scores from here on are flagged.")
    ] = None,
    at_least: Annotated[
        float | None, typer.Option(help="To begin: it must be this or more.")
    ] = None,
    at_most: Annotated[
        float | None, typer.Option(help="To begin: it must be this or less.")
    ] = None,
    baseline: Annotated[
        str | None,
        typer.Option(
            metavar="FILE", help="To begin: earlier predictions as a baseline."
        ),
    ] = None,
    margin: Annotated[
        float,
        typer.Option(help="To begin: how much worse than the baseline is allowed."),
    ] = 0.0,
    near: Annotated[
        float | None, typer.Option(help="To begin: calibration of scores near this.")
    ] = None,
    name: Annotated[
        str | None, typer.Option(help="Name of the batch; else that of the file.")
    ] = None,
    positive: Positive = None,
) -> Answer:
    """Is it still good? Looks at a new batch, and raises an alarm that looking often
    does not set off.

    Example: trueness watch state.json sample:west_nile --label virus --score boosting
    --metric auc --at-least 0.7
    """
    begin = (metric, threshold, at_least, at_most, near, baseline)
    source = open_source(file)
    scores = [] if score is None else [score]
    needs = not (metric in ("scores", "flagged_share") and label is None)
    chosen = choose(
        source,
        option="score",
        scores=scores,
        guess=one_score,
        label=label,
        positive=positive,
        needs_label=needs and label is None and metric is not None,
    )
    columns: dict[str, Any] = {"score": chosen.scores[0], "positive": chosen.positive}
    if chosen.label is not None:
        columns["label"] = chosen.label
    if state.exists():
        if any(given is not None for given in begin):
            raise InputError(
                f"{state} holds a watch already; leave out --metric and its bound, or "
                f"name another file."
            )
        held = load_watch(state)
    else:
        if metric is None:
            raise InputError(
                f"There is no watch in {state} yet. To begin one, add --metric recall "
                f"--threshold 0.3 --at-least 0.9, for example."
            )
        old = None
        if baseline is not None:
            old = tally(open_source(baseline).rows, **columns)
        held = new_watch(
            metric,
            threshold=threshold,
            at_least=at_least,
            at_most=at_most,
            near=near,
            baseline=old,
            margin=margin,
        )
    t = tally(source.rows, **columns)
    before = held.looks
    held.update(t, name=name or source.name)
    held.save(state)
    request = Request(source, chosen, source.rows, 0.95, 0)
    return _answer(held, before, about(request, t), cases_sentence(t))


def _answer(held: Watch, before: int, said: dict[str, Any], cases: str) -> Answer:
    counted = held.looks > before
    parts: list[Any] = [cases]
    if not counted:
        parts.append("This batch was counted before, so nothing changed.")
    said_now = held.sentence()
    parts.append(f"{held.what}: {said_now}")
    names = ("alarm", "since", "value", "low", "high", "evidence", "looks")
    result = {name: getattr(held, name) for name in names}
    result |= {"watching": held.what, "counted": counted, "sentence": said_now}
    chart = lambda: door("plots.watches").sequence(held)  # noqa: E731
    return Answer("watch", result, parts, chart, said, 4 if held.alarm else 0)
