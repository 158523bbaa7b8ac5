"""Would they be better together?"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer

from karat._checks import InputError, choice
from karat._doors import door
from karat._progress import progress
from karat.cli._rows import Output, check_output, write_rows
from karat.cli._shell import (
    Answer,
    Count,
    Debug,
    File,
    Json,
    Label,
    Level,
    Plot,
    Positive,
    Scores,
    Seed,
    about,
    cases_sentence,
    opened,
    say,
    show,
    table,
)
from karat.cli._source import count_panel
from karat.counts import Panel
from karat.crossfit import CombinerComparison, compare_combiners
from karat.ensembles import COMBINERS
from karat.inference import auc


def combine(
    file: File,
    label: Label = None,
    score: Scores = None,
    method: Annotated[
        str | None,
        typer.Option(help=f"One of {', '.join(COMBINERS)}; default: the best one."),
    ] = None,
    output: Output = None,
    column: Annotated[str, typer.Option(help="Name of the new column.")] = "combined",
    save: Annotated[
        Path | None, typer.Option(help="Keep the fitted combiner in this JSON file.")
    ] = None,
    positive: Positive = None,
    count: Count = None,
    level: Level = 0.95,
    seed: Seed = 0,
    json: Json = False,
    plot: Plot = None,
    debug: Debug = False,
) -> None:
    """Would they be better together? Compares ways to combine scores, applies one.

    Example: karat combine sample:west_nile --label virus --score boosting \
--score logistic --score forest -o combined.parquet
    """
    source, chosen = opened(
        file,
        ordered=output is not None,
        label=label,
        scores=score or [],
        positive=positive,
        count=count,
        several=True,
    )
    if len(chosen.scores) < 2:
        raise InputError("Two scores or more can be combined; type --score for each.")
    if method is not None:
        choice(method, list(COMBINERS), "--method")
    check_output(output, source, column)
    with progress("Counting"):
        panel = count_panel(source, chosen)
    with progress("Combining"):
        compared = compare_combiners(panel, level=level, rng=seed)
        method = method or _best(compared)
        fitted = COMBINERS[method](panel)
    if save is not None:
        fitted.save_map(save)
        say(f"Combiner written to {save}.")
    if output is not None:
        with progress("Writing"):
            write_rows(source, column, lambda t: _score(fitted, t, panel), output)
        say(f"Rows with column {column!r} written to {output}.")
    answer = Answer(
        "combine",
        {
            "method": method,
            "column": column,
            "out_of_sample": {
                name: {"auc": compared.auc[name], "gain": compared.difference[name]}
                for name in compared.auc
            },
            "against": compared.against,
            "folds": compared.folds,
            "single": {s: auc(panel.observed(s)[s], level=level) for s in panel.names},
        },
        [cases_sentence(panel), *_parts(compared, method)],
        chart=lambda: door("plots").combiners(compared),
        about=about(source, chosen, panel),
    )
    show(answer, json, plot)


def _best(compared: CombinerComparison) -> str:
    return max(compared.auc, key=lambda name: compared.auc[name].value)


def _score(fitted: Any, rows: Any, panel: Panel) -> Any:
    columns = [rows[n].to_numpy(zero_copy_only=False) for n in panel.names]
    return fitted(np.column_stack(columns).astype(np.float64))


def _parts(compared: CombinerComparison, method: str) -> list[Any]:
    rows = [[n, v, compared.difference[n]] for n, v in compared.auc.items()]
    gain = compared.difference[method]
    if method == compared.against:
        verdict = "Nothing beats the best single score; use that."
    elif gain.low > 0:
        verdict = f"{method} beats the best single score, beyond chance."
    elif gain.high < 0:
        verdict = f"{method} is worse than the best single score."
    else:
        verdict = f"{method} and the best single score cannot be told apart."
    return [
        table("", ["combiner", "AUC", f"gain over {compared.against}"], rows),
        f"AUC of cases that the combiner was not fitted on, {compared.folds} folds.",
        verdict,
    ]
