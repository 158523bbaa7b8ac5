"""What does a score mean, as a probability?"""

from __future__ import annotations

import json as json_text
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer

from karat import calibration, maps
from karat._doors import door
from karat._progress import progress
from karat._records import Estimate
from karat.cli._rows import Output, check_output, write_rows
from karat.cli._shell import (
    Answer,
    Count,
    Debug,
    File,
    Json,
    Label,
    Plot,
    Positive,
    Score,
    about,
    cases_sentence,
    opened,
    say,
    show,
    table,
)
from karat.cli._source import count_tally
from karat.counts import Tally
from karat.maps import Map
from karat.scoring import brier


def calibrate(
    file: File,
    label: Label = None,
    score: Score = None,
    method: Annotated[
        str, typer.Option(help=f"One of {', '.join(calibration.CALIBRATORS)}.")
    ] = "auto",
    output: Output = None,
    column: Annotated[str | None, typer.Option(help="Name of the new column.")] = None,
    save: Annotated[
        Path | None, typer.Option(help="Keep the fitted map in this JSON file.")
    ] = None,
    positive: Positive = None,
    count: Count = None,
    json: Json = False,
    plot: Plot = None,
    debug: Debug = False,
) -> None:
    """What does a score mean, as a probability? Fits a map and applies it.

    Example: karat calibrate sample:west_nile --label virus --score adaboost \
-o calibrated.parquet --save map.json
    """
    scores = [score] if score else []
    source, chosen = opened(
        file,
        ordered=output is not None,
        label=label,
        scores=scores,
        positive=positive,
        count=count,
    )
    name = chosen.scores[0]
    column = column or f"{name}_calibrated"
    check_output(output, source, column)
    with progress("Fitting"):
        t = count_tally(source, chosen, name)
        fitted = calibration.calibrate(t, method=method)
    if save is not None:
        fitted.save_map(save)
        say(f"Map written to {save}.")
    if output is not None:
        with progress("Writing"):
            write_rows(
                source, column, lambda rows: fitted(_numbers(rows[name])), output
            )
        say(f"Rows with column {column!r} written to {output}.")
    result, parts = _answer(t, fitted, method, column)
    answer = Answer(
        "calibrate",
        result,
        parts,
        chart=lambda: door("plots").reliability(t.map(fitted)),
        about=about(source, chosen, t),
    )
    show(answer, json, plot)


def _numbers(column: Any) -> Any:
    return np.asarray(column.to_numpy(zero_copy_only=False), dtype=np.float64)


def _answer(
    t: Tally, fitted: Map, method: str, column: str
) -> tuple[dict[str, Any], list[Any]]:
    shares = np.linspace(0, 1, 6)
    picked = t.score[((len(t) - 1) * shares).round().astype(int)]
    meaning = [
        [float(s), float(p)] for s, p in zip(picked, fitted(picked), strict=True)
    ]
    after = brier(t.map(fitted))
    parts = [
        cases_sentence(t),
        f"Fitted by {method}. What a score means, as a probability:",
        table("", ["score", "probability"], meaning),
        *_gain(t, after.value),
    ]
    content = json_text.loads(maps.map_to_json(fitted))
    result = {
        "method": method,
        "column": column,
        "map": content,
        "brier": Estimate(
            after.value, after.low, after.high, after.level, after.method
        ),
    }
    return result, parts


def _gain(t: Tally, after: float) -> list[str]:
    if t.score[-1] < 0 or t.score[0] > 1:
        return [f"Brier score of these cases afterwards: {after:.4g}."]
    return [
        f"Brier score of these cases: {brier(t).value:.4g} before, {after:.4g} after. "
        "The map was fitted on them, so that flatters a little."
    ]
