"""How do new scores get back to the rows of a file?"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any

import typer

from karat import _checks
from karat._checks import InputError
from karat.cli._source import Source
from karat.storage import replacing

Output = Annotated[
    Path | None,
    typer.Option(
        "--output", "-o", help="Write the rows with the new column (.parquet or .csv)."
    ),
]
ENDINGS = (".parquet", ".csv")


def check_output(output: Path | None, source: Source, column: str) -> None:
    """Stop before the work, not after it, when the rows cannot be written."""
    if output is None:
        return
    _checks.choice(output.suffix.lower(), ENDINGS, "the ending of --output")
    if column in source.types:
        raise InputError(
            f"--column must be a new name; this file has a column {column!r} already. "
            f"Type --column another_name."
        )


def write_rows(
    source: Source, column: str, score: Callable[[Any], Any], output: Path
) -> None:
    """Write all rows of a file with one more column, all or nothing.

    ``score`` makes the column from the table, so that rows cannot get out of step.
    """
    import pyarrow as pa
    import pyarrow.csv
    import pyarrow.parquet

    table = source.read()
    table = table.append_column(column, pa.array(score(table)))
    with replacing(output) as temporary:
        if output.suffix.lower() == ".csv":
            pyarrow.csv.write_csv(table, temporary)
        else:
            pyarrow.parquet.write_table(table, temporary)
