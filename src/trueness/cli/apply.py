"""What are the scores of new rows? A saved map is applied to all rows of a file."""

from __future__ import annotations

import json as json_text
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, final

import numpy as np
import typer

from trueness._core.arrays import Floats
from trueness._core.checks.errors import InputError
from trueness._core.checks.words import listing
from trueness._core.numbers import counted
from trueness.calibration.maps import Map, known_scores, load_map
from trueness.cli import _shell as shell
from trueness.cli import options
from trueness.cli._source import Source, existing_column, names_of, open_source
from trueness.data.column_roles import one_score
from trueness.scale.application import apply as apply_map
from trueness.scale.application import inputs_of
from trueness.threshold.rule import Rule

if TYPE_CHECKING:
    import pyarrow

SCORE_TOLERANCE = 1e-9  # a score may lie so far outside the range of a map


def apply_command(
    map: Annotated[
        str,
        typer.Argument(
            help="File written by --save of calibrate, combine, leaves or threshold.",
            metavar="MAP",
            show_default=False,
        ),
    ],
    file: options.File,
    output: options.RowsFile = None,
    score: options.Score = None,
    column: options.NewColumn = None,
    json: options.Json = False,
    plot: options.Plot = None,
    quiet: options.Quiet = False,
    debug: options.Debug = False,
) -> shell.CommandAnswer:
    r"""Score new rows with a map that calibrate or combine saved.

    Example:
    trueness apply map.json sample:west_nile --score adaboost \
        -o calibrated.parquet
    """
    if output is None:
        raise InputError(
            "No output file was named. Type -o FILE.parquet or -o FILE.csv.",
            option="output",
        )

    source = open_source(file, ordered=True)

    if _is_rule(map):
        return _apply_rule(Rule.load(map), source, score, column, output)

    loaded_map = load_map(map)
    names = _columns_of_map(map, loaded_map, source, score)
    new_column = column or _default_name(names)
    shell.check_rows(output, source, new_column)

    written_rows = write_scored_rows(source, loaded_map, names, new_column, output)
    kind = type(loaded_map).__name__
    rows_scored = written_rows.rows - written_rows.rows_without_score

    return shell.CommandAnswer(
        result={
            "map": kind,
            "file": source.name,
            "output": str(output),
            "scores": names,
            "column": new_column,
            "rows": written_rows.rows,
        },
        parts=[
            f"{rows_scored:,} rows scored by {kind} from {listing(names)}.",
            *written_rows.remarks,
        ],
    )


def _is_rule(file: str) -> bool:
    """Say whether a file holds a rule, which threshold --save has written."""
    try:
        content = json_text.loads(Path(file).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return False  # load_map says what is wrong with it
    return isinstance(content, dict) and content.get("trueness") == "rule"


def _apply_rule(
    rule: Rule, source: Source, score: str | None, column: str | None, output: Path
) -> shell.CommandAnswer:
    """Write all rows with what a rule decides: 1 is flagged, 0 is not."""
    if rule.groups:
        raise InputError(
            "A rule for groups needs the group of each row. Use the command sql.",
            option="map",
        )

    if score is None:
        names = list(one_score(source.table, set(), by_name=False))
        shell.say(f"Using score {names_of(names)}: no other column fits.")
    else:
        names = [existing_column(source, score, "This rule")]

    new_column = column or f"{names[0]}_flagged"
    shell.check_rows(output, source, new_column)
    flagged = 0

    def decisions(rows: pyarrow.Table) -> Floats:
        nonlocal flagged
        verdicts = rule.decide(_as_floats(rows[names[0]]))
        flagged = int((verdicts == 1).sum())
        return verdicts

    rows = shell.write_rows(source, new_column, decisions, output)

    return shell.CommandAnswer(
        result={
            "map": "Rule",
            "file": source.name,
            "output": str(output),
            "scores": names,
            "column": new_column,
            "rows": rows,
            "flagged": flagged,
        },
        parts=[f"{flagged:,} of {rows:,} rows are flagged by {names[0]}: {rule!r}."],
    )


def _columns_of_map(
    map_file: str, loaded_map: Map, source: Source, score: str | None
) -> list[str]:
    """Return the columns that a map reads: those it was fitted on, or the one named."""
    input_names = inputs_of(loaded_map)
    if input_names is not None:
        if score is not None:
            raise InputError(
                f"This map reads the columns {listing(input_names)}; leave the score "
                "out.",
                option="score",
            )
        described_map = f"This map of {listing(input_names)}"
        return [existing_column(source, name, described_map) for name in input_names]

    if score is not None:
        return [existing_column(source, score, "This map")]

    # nobody named a score: that of the fit, or the only one that it could be
    content = json_text.loads(Path(map_file).read_text(encoding="utf-8"))
    if content.get("score") in source.types:
        names = [content["score"]]
        reason = "the map was fitted on it"
    else:
        names = list(one_score(source.table, set(), by_name=False))
        reason = "no other column fits"

    shell.say(f"Using score {names_of(names)}: {reason}.")
    return names


def _default_name(scores: Sequence[str]) -> str:
    return f"{scores[0]}_calibrated" if len(scores) == 1 else "combined"


@final
@dataclass(frozen=True)
class WrittenRows:
    """How many rows were written, how many have no score, and remarks on them."""

    rows: int
    rows_without_score: int
    remarks: tuple[str, ...]


def write_scored_rows(
    source: Source, loaded_map: Map, names: list[str], new_column: str, output: Path
) -> WrittenRows:
    """Write all rows of a file with the score that a map gives them."""
    score = names[0] if inputs_of(loaded_map) is None else None
    remarks: list[str] = []
    rows_without_score = 0

    def new_scores(rows: pyarrow.Table) -> Floats:
        """Return the scores of a table of rows, and note what is missing in them."""
        # called by write_rows with the table it writes, so that rows stay in step
        nonlocal rows_without_score
        applied = apply_map(rows.select(names), loaded_map, score, name=new_column)
        scores = np.asarray(applied[new_column].to_numpy(), np.float64)

        if loaded_map.reads_names:  # leaves, which are looked up
            return scores

        inputs = np.column_stack([_as_floats(rows[name]) for name in names])

        rows_without_score = int(np.isnan(scores).sum())
        if rows_without_score:
            rows_have = counted(rows_without_score, "row has", "rows have")
            remarks.append(f"{rows_have} no score.")
        if score is None:
            remarks.extend(_remarks_on_missing(inputs))

        remarks.extend(_remarks_on_range(loaded_map, names, inputs, score))
        return scores

    rows = shell.write_rows(source, new_column, new_scores, output)
    return WrittenRows(rows, rows_without_score, tuple(remarks))


def _as_floats(column: pyarrow.ChunkedArray) -> Floats:
    """Return a column of Arrow as numbers, NaN where one is missing."""
    values: Floats = column.to_numpy(zero_copy_only=False).astype(np.float64)
    return values


def _remarks_on_missing(inputs: Floats) -> Iterator[str]:
    """Say in how many rows some, or all, of the combined scores are missing."""
    missing = np.isnan(inputs).sum(axis=1)
    partly = int(((missing > 0) & (missing < inputs.shape[1])).sum())
    if partly:
        rows_lack = counted(partly, "row lacks", "rows lack")
        yield f"{rows_lack} a score; the others were combined."

    entirely = int((missing == inputs.shape[1]).sum())
    if entirely:
        yield f"{counted(entirely, 'row has', 'rows have')} no score at all."


def _remarks_on_range(
    loaded_map: Any, names: Sequence[str], inputs: Floats, score: str | None
) -> Iterator[str]:
    """Say how many scores lie outside of those that the map was fitted on."""
    if score is not None:
        ranges = [known_scores(loaded_map.expression)]
    else:  # combiners that rank have kept the scores they were fitted on
        fitted_scores = getattr(loaded_map, "scores", ())
        ranges = [(scores[0], scores[-1]) for scores in fitted_scores if scores.size]

    for name, (low, high), values in zip(names, ranges, inputs.T, strict=False):
        is_outside = (values < low - SCORE_TOLERANCE) | (
            values > high + SCORE_TOLERANCE
        )
        outside = int(is_outside.sum())
        if outside:
            which = f" of {name!r}" if score is None else ""
            scores_lie = counted(outside, f"score{which} lies", f"scores{which} lie")
            fitted_range = f"{round(low, 6):g} to {round(high, 6):g}"
            yield f"{scores_lie} outside {fitted_range}, where the map is constant."
