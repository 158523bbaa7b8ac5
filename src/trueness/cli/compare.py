"""Which is better, would they be together, and what does a score mean?"""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer

import trueness
from trueness._core.arrays import Floats
from trueness._core.checks.errors import InputError
from trueness._core.checks.options import choice, whole_number
from trueness._core.checks.words import listing
from trueness._core.numbers import counted
from trueness._core.progress import progress
from trueness.calibration.calibrators import CALIBRATORS
from trueness.calibration.maps import Map, known_scores, load_map, map_to_json
from trueness.cli import _shell as shell
from trueness.cli._columns import Request, count_panel, count_tally
from trueness.cli._command import ONE_SCORE, TWO_SCORES, File, command
from trueness.cli._shell import CommandAnswer, answered
from trueness.cli._source import Source, known, names_of, open_source
from trueness.counts.values import Panel
from trueness.data.column_roles import one_score
from trueness.ensembles.combiners import COMBINERS
from trueness.findings.records import Finding
from trueness.findings.subject import Subject, subject
from trueness.findings.what_scores_mean import what_a_map_changes
from trueness.findings.which_is_better import (
    better_together,
    in_each_group,
    which_is_better,
)
from trueness.scale.application import apply as apply_map
from trueness.scale.application import inputs_of


def _asked(
    request: Request, ask: Callable[[Subject], Finding], **more: str
) -> tuple[Panel, Finding]:
    """Count the scores together, and ask of all cases and of each group."""
    by = request.chosen.by
    words: dict[str, Any] = {"level": request.level, "rng": request.seed, **more}
    with progress("Counting", unit=""):
        panel = count_panel(request)
        groups = count_panel(request, by=True) if by else {}
    with progress("Comparing", unit=""):
        found = ask(subject(panel, **words, cluster=request.chosen.cluster or ""))
        parts = shell.each_group(groups, lambda part: ask(subject(part, **words)))
    return panel, in_each_group(found, parts, str(by))


@command(TWO_SCORES)
def compare_command(request: Request) -> CommandAnswer:
    """Which score is better, and is it better everywhere? Paired tests, dominance.

    Example: trueness compare sample:west_nile --label virus --score boosting \
--score logistic
    """
    panel, found = _asked(request, which_is_better)
    return answered(found, counted=panel, chart=lambda: trueness.plots.roc(panel))


@command(TWO_SCORES, cannot="compare_combiners", methods=COMBINERS)
def combine_command(
    request: Request,
    method: str | None = None,
    output: Path | None = None,
    column: str = "combined",
    save: Path | None = None,
) -> CommandAnswer:
    """Would they be better together? Compares ways to combine scores, applies one.

    --method NAME: One of {methods}; by default the best one.

    Example: trueness combine sample:west_nile --label virus --score boosting \
--score logistic --score forest -o combined.parquet
    """
    if method is not None:
        choice(method, list(COMBINERS), "--method")
    shell.check_rows(output, request.source, column)
    panel, found = _asked(request, better_together, combiner=method or "")
    fitted = COMBINERS[found.numbers["method"]](panel)
    shell.save_fitted(fitted, save)
    _write(request.source, fitted, list(panel.names), column, output)
    sure = {"level": request.level, "rng": request.seed}

    def chart() -> Any:
        return trueness.plots.combiners(trueness.compare_combiners(panel, **sure))

    return answered(found, counted=panel, chart=chart, column=column)


@command(ONE_SCORE, methods=CALIBRATORS)
def calibrate_command(
    request: Request,
    method: str = "auto",
    folds: int = 5,
    output: Path | None = None,
    column: str | None = None,
    save: Path | None = None,
) -> CommandAnswer:
    """What does a score mean as a probability? Fits a map and applies it.

    --method NAME: One of {methods}.
    --folds NUMBER: Folds of the cross-fitting, which checks the map on new cases.

    Example: trueness calibrate sample:west_nile --label virus --score adaboost \
-o calibrated.parquet --save map.json
    """
    name = request.chosen.scores[0]
    column = column or f"{name}_calibrated"
    whole_number(folds, "--folds", at_least=2)
    shell.check_rows(output, request.source, column)
    with progress("Fitting", unit=""):
        t = count_tally(request, name)
        groups = count_tally(request, name, by=True) if request.chosen.by else {}
        fitted = trueness.calibrate(t, method=method)
        sure = {"level": request.level, "rng": request.seed, "folds": folds}
        by = str(request.chosen.by)
        found, after = what_a_map_changes(t, fitted, method, name, groups, by, **sure)
    shell.save_fitted(fitted, save, name)
    _write(request.source, fitted, [name], column, output)
    return answered(
        *found,
        counted=t,
        chart=lambda: trueness.plots.reliability(after),
        method=method,
        column=column,
        map=json.loads(map_to_json(fitted)),
    )


@command()
def apply_command(
    map: Annotated[
        str,
        typer.Argument(
            help="What --save of calibrate or combine has written.",
            metavar="MAP",
            show_default=False,
        ),
    ],
    file: File,
    output: Path | None = None,
    score: str | None = None,
    column: str | None = None,
) -> CommandAnswer:
    """What are the scores of new rows? Applies a map saved by calibrate or combine.

    Example: trueness apply map.json sample:west_nile --score adaboost \
-o calibrated.parquet
    """
    if output is None:
        raise InputError(
            "No output file was named. Type -o FILE.parquet or -o FILE.csv."
        )
    fitted = load_map(map)
    source = open_source(file, ordered=True)
    several = inputs_of(fitted)  # those it was fitted on, or the one named
    own = json.loads(Path(map).read_text(encoding="utf-8")).get("score")
    if several is not None and score is not None:
        raise InputError(
            f"This map reads the columns {listing(several)}; leave out --score."
        )
    one = score or (own if own in source.types else None)
    inputs = several or ([one] if one else one_score(source.table, set(), named=False))
    what = f"This map of {listing(inputs)}" if several else "This map"
    names = [known(source, name, what) for name in inputs]
    new = column or (f"{names[0]}_calibrated" if len(names) == 1 else "combined")
    shell.check_rows(output, source, new)
    if several is None and score is None:
        why = "the map was fitted on it" if one else "no other column fits"
        shell.say(f"Using score {names_of(names)}: {why}.")
    rows, lost, said = _write(source, fitted, names, new, output)
    kind = type(fitted).__name__
    result: dict[str, Any] = {"map": kind, "file": source.name, "output": str(output)}
    result |= {"scores": names, "column": new, "rows": rows}
    text = f"{rows - lost:,} rows scored by {kind} from {listing(names)}."
    return CommandAnswer(result, [text, *said])


def _write(
    source: Source, fitted: Map, names: list[str], new: str, output: Path | None
) -> tuple[int, int, list[str]]:
    """Write all rows with their new score: how many, how many without, and remarks."""
    said, lost, one = [], 0, names[0] if inputs_of(fitted) is None else None

    def scored(rows: Any) -> Floats:
        nonlocal lost
        made = apply_map(rows.select(names), fitted, one, name=new)[new].to_numpy()
        if lost := int(np.isnan(made).sum()):
            said.append(f"{counted(lost, 'row has', 'rows have')} no score.")
        x = np.column_stack(
            [rows[n].to_numpy(zero_copy_only=False).astype(np.float64) for n in names]
        )
        gaps = np.isnan(x).sum(axis=1)
        if one is None and (some := int(((gaps > 0) & (gaps < len(names))).sum())):
            lack = counted(some, "row lacks", "rows lack")
            said.append(f"{lack} a score; the others were combined.")
        if one is None and (none := int((gaps == len(names)).sum())):
            said.append(f"{counted(none, 'row has', 'rows have')} no score at all.")
        if one is not None:
            ends = [known_scores(fitted.expression)]
        else:  # those that rank have seen some scores
            ends = [(s[0], s[-1]) for s in getattr(fitted, "scores", ()) if s.size]
        for name, (low, high), values in zip(names, ends, x.T, strict=False):
            if beyond := int(((values < low - 1e-9) | (values > high + 1e-9)).sum()):
                of = f" of {name!r}" if one is None else ""
                lies = counted(beyond, f"score{of} lies", f"scores{of} lie")
                span = f"{round(low, 6):g} to {round(high, 6):g}"
                said.append(f"{lies} outside {span}, where the map is constant.")
        return np.asarray(made, np.float64)

    rows = shell.write_rows(source, new, scored, output)
    return rows, lost, said
