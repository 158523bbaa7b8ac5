"""What do new rows score, by a map that was fitted before?"""

from __future__ import annotations

from typing import Annotated, Any

import typer

from trueness._core.checks.errors import InputError
from trueness._core.checks.words import listing
from trueness.calibration.maps import Map, load_map
from trueness.cli._columns import one_score
from trueness.cli._command import command
from trueness.cli._options import File, Rows
from trueness.cli._outputs import check_rows, check_targets, write_rows
from trueness.cli._shell import CommandAnswer
from trueness.cli._source import Source, names_of, open_source
from trueness.scale.application import apply as apply_map
from trueness.scale.application import inputs_of

Fitted = Annotated[
    str,
    typer.Argument(
        help="What --save of calibrate or combine has written.",
        metavar="MAP",
        show_default=False,
    ),
]


@command()
def apply(
    map: Fitted,
    file: File,
    output: Rows = None,
    score: str | None = None,
    column: str | None = None,
) -> CommandAnswer:
    """What are the scores of new rows? Applies a map saved by calibrate or combine.

    --score, -s COLUMN: Column with the scores.
    --column: Name of the new column.

    Example: trueness apply map.json sample:west_nile --score adaboost \
-o calibrated.parquet
    """
    if output is None:
        raise InputError(
            "No output file was named. Type -o FILE.parquet or -o FILE.csv."
        )
    check_targets(file, {"output": output})
    fitted = load_map(map)
    source = open_source(file, ordered=True)
    names = _columns(fitted, source, score)
    new = column or (f"{names[0]}_calibrated" if len(names) == 1 else "combined")
    check_rows(output, source, new)
    one = names[0] if inputs_of(fitted) is None else None
    rows = 0

    def scored(table: Any) -> Any:
        nonlocal rows
        rows = table.num_rows
        return apply_map(table.select(names), fitted, one, name=new)[new]

    write_rows(source, new, scored, output)
    kind = type(fitted).__name__
    result: dict[str, Any] = {"map": kind, "file": source.name, "output": str(output)}
    result |= {"scores": names, "column": new, "rows": rows}
    return CommandAnswer(
        "apply", result, [f"{rows:,} rows scored by {kind} from {names_of(names)}."]
    )


def _columns(fitted: Map, source: Source, score: str | None) -> list[str]:
    """Which columns does the map read? Those it was fitted on, or the one named."""
    several = inputs_of(fitted)
    if several is None:
        names = [score] if score else list(one_score(source, set()))
    elif score is not None:
        raise InputError(
            f"This map reads the columns {listing(several)}; leave out --score."
        )
    else:
        names = list(several)
    lacking = [n for n in names if n not in source.types]
    if lacking:
        raise InputError(
            f"{source.name} must have the columns {names_of(names)}; it lacks "
            f"{names_of(lacking)}, and has {names_of(source.types)}."
        )
    return names
