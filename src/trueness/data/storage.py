"""Is this a table of counts, which tally does it hold, and how is it kept on disk?

The format of counts (``docs/counts.md``): a row is a score, or a bin from ``score`` to
``high``, with its ``neg``, ``pos`` and ``unknown``; of weighted cases also the sums of
squared weights, of clustered ones the ``cluster``. A table is recognised by these
names, in capitals or not: warehouses write them as they like. What a query could not
count it puts into ``refused``, which is an error here. A file is Parquet with versioned
metadata, or for a tally CSV or JSON, written all or nothing.
"""

from __future__ import annotations

import csv
import json
import os
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np

from trueness._core.arrays import Array, Floats
from trueness._core.checks import columns as _columns
from trueness._core.checks import options as _options
from trueness._core.checks.errors import InputError, PythonCode
from trueness._core.checks.words import listing, plain
from trueness._core.files import as_written, replacing
from trueness._core.imports import required
from trueness.counts.bins import merge_bins
from trueness.counts.cases import COUNTS, SQUARES, assign_clusters, columns_by_cell
from trueness.counts.design import ARGUMENTS as DESIGN
from trueness.counts.design import PLAIN
from trueness.counts.expected_labels import ExpectedLabels, LabelSample
from trueness.counts.rows import find_rows, merge_rows
from trueness.counts.values import (
    Panel,
    Tally,
    panel_of_rows,
    read_output,
    rows_of,
    tally_of_bins,
)

COLUMNS = ("score", "high", "cluster", *COUNTS, *SQUARES, "refused", *DESIGN)
VERSION = 1
_KEY = b"trueness"
# bytes that any file may unpack to, and how many times its size a larger one may
_LARGE, _SWOLLEN = 2**28, 100


def are_counts(names: Iterable[str]) -> bool:
    """Return whether these are the columns of counts, in capitals or not."""
    return {str(n).lower() for n in names} >= {"score", *COUNTS}


def count_columns_of(names: Iterable[str]) -> dict[str, str]:
    """Return the column of each name of the format."""
    name_of: dict[str, str] = {}
    for name in names:
        key = name.lower()
        if key in name_of:
            raise InputError(
                f"Counts need one column {key!r}; found {name_of[key]!r} and {name!r}. "
                f"Leave one of them out."
            )
        if key in COLUMNS:
            name_of[key] = name

    return name_of


def tally_of_counts(columns: Mapping[str, Array]) -> Tally:
    """Return a tally of rows in any order; bins that overlap are merged."""
    refused = columns.get("refused", np.zeros(0, np.int64))
    if lost := int(_read_whole_counts(refused, "refused").sum()):
        raise InputError(
            f"The query could not count {lost:,} rows: labels are neither 0 nor 1, or "
            "weights or counts are missing or negative. Name the positive label when "
            "you write the query, or exclude these rows in a view."
        )

    counts = counts_in(columns)
    low, high = _ends(columns, np.add.reduce(counts[:3]))
    tally = tally_of_bins(*merge_bins(low, high, counts))

    if "cluster" in columns:
        assign_clusters(tally, rows_of(tally, low), columns["cluster"], counts)

    return tally.with_design(**_read_design(_design_in(columns)))


def counts_in(columns: Mapping[str, Array]) -> list[Array]:
    """Read the counts; of weighted cases the sums of weights, then of squares."""
    weighted = any(name in columns for name in SQUARES)
    names = (*COUNTS, *SQUARES) if weighted else COUNTS
    lacking = [name for name in names if name not in columns]
    if lacking:
        raise InputError(
            f"Counts need the columns {listing(names)}; there is no {listing(lacking)}."
        )

    read = _weights if weighted else _read_whole_counts
    counts = [read(columns[name], name) for name in names]

    if weighted:
        _check_squares(counts)

    return counts


def _check_squares(counts: Sequence[Array]) -> None:
    """Raise an error for sums of squares that no weights have, up to rounding."""
    number = len(COUNTS)
    for name, sums, squares in zip(
        COUNTS, counts[:number], counts[number:], strict=True
    ):
        with np.errstate(over="ignore"):
            is_more = squares > sums**2 * (1 + 1e-6)
        if is_more.any():
            raise InputError(
                "Sums of squared weights must not exceed the squared sum of weights; "
                f"in {int(is_more.sum()):,} rows {name}_squares are larger."
            )


def _design_in(columns: Mapping[str, Array]) -> dict[str, Any]:
    """Read the sampling design, where columns say it: the same in every row."""
    design: dict[str, Any] = {}
    for word in DESIGN:
        if word not in columns:
            continue

        values = columns[word]
        if word == "prevalence" and values.dtype.kind in "OU":
            values = _numbers_of_texts(values)

        distinct = {plain(value) for value in values[~_columns.missing(values)]} - {""}
        if len(distinct) > 1:
            raise InputError(
                f"{word} must be the same in every row of counts; found "
                f"{listing(sorted(distinct, key=str))}. Name the column of the groups.",
                option="by",
                example="COLUMN",
            )

        if distinct:
            design[word] = distinct.pop()

    return design


def _numbers_of_texts(values: Array) -> Floats:
    """Read texts as numbers; an empty one is missing."""
    texts = [value if isinstance(value, str) else str(value or "") for value in values]
    return np.array([float(text) if text else np.nan for text in texts])


def _ends(columns: Mapping[str, Array], cases: Array) -> tuple[Floats, Floats]:
    """Read from where to where each row goes."""

    def read(name: str) -> Floats:
        value = _columns.numeric_scores(columns[name], name).astype(np.float64)
        return _columns.finite_scores(value, name, cases=cases) + 0.0

    low = read("score")
    high = read("high") if "high" in columns else low
    if (high < low).any():
        raise InputError(
            f"A bin goes from score up to high; in {int((high < low).sum()):,} rows "
            f"high is less than score."
        )

    return low, high


def _read_whole_counts(values: Array, name: str) -> Array:
    """Read counts, which engines also send as decimals."""
    if values.dtype.kind == "O":
        exact = all(isinstance(v, (int, Decimal)) and v % 1 == 0 for v in values)
        if exact and all(abs(v) < 2**63 for v in values):
            values = values.astype(np.int64)
        else:
            values = _columns.numeric_scores(values, name)
    return _columns.whole_counts(values, name)


def _weights(values: Array, name: str) -> Array:
    """Return sums of weights or of squares, which are finite and not negative."""
    number = _columns.numeric_scores(values, name).astype(np.float64)
    fine = (number >= 0) & (number < np.inf)
    if not fine.all():
        raise InputError(
            f"{name} must be sums of weights or of their squares, finite and zero or "
            f"more; found {listing(number[~fine])}."
        )

    return number


def write_tally(tally: Tally, path: str | os.PathLike[str]) -> None:
    """Write a tally; see :meth:`trueness.Tally.write`."""
    columns = tally.named_columns
    design = _design(tally)
    ending = _options.file_path(path, "Tally.write").suffix.lower()
    if ending == ".csv":
        _write_csv(columns, design.get("design", {}), path)
    elif ending == ".json":
        content = {
            "trueness": "counts",
            "version": VERSION,
            **design,
            "columns": {name: column.tolist() for name, column in columns.items()},
        }
        with replacing(path) as temporary:
            temporary.write_text(json.dumps(content) + "\n", encoding="utf-8")
    else:
        write_columns(columns, {"kind": "tally", **design}, path)


def _write_csv(
    columns: Mapping[str, Array],
    design: Mapping[str, Any],
    path: str | os.PathLike[str],
) -> None:
    """Write columns, and beside them in every row what the design says."""
    stated = {argument: value for argument, value in design.items() if value}
    lists = [column.tolist() for column in columns.values()]

    with (
        replacing(path) as temporary,
        temporary.open("w", encoding="utf-8", newline="") as file,
    ):
        writer = csv.writer(file)
        writer.writerow([*columns, *stated])
        for row in zip(*lists, strict=True):
            writer.writerow([*row, *stated.values()])


def write_panel(panel: Panel, path: str | os.PathLike[str]) -> None:
    """Write a panel; see :meth:`trueness.Panel.write`."""
    # columns are numbered: a classifier may be called "neg"
    columns = {f"output_{k}": column for k, column in enumerate(panel.rows.T)}
    description = {"kind": "panel", "names": list(panel.names), **_design(panel)}
    write_columns(columns_by_cell(panel, columns), description, path)


def _design(x: Tally | Panel) -> dict[str, Any]:
    """Return the sampling design as JSON; a map of expected labels as its text."""
    if x.design == PLAIN:
        return {}

    design = {argument: getattr(x.design, argument) for argument in DESIGN}
    unlabelled = x.design.unlabelled
    if isinstance(unlabelled, ExpectedLabels):
        text = {"map": _json_of_map(unlabelled.map), "target": unlabelled.target}
        design["unlabelled"] = json.dumps(text)
    if isinstance(unlabelled, LabelSample):
        design["unlabelled"] = json.dumps(_text_of_sample(unlabelled))

    return {"design": design}


def _text_of_sample(sample: LabelSample) -> dict[str, Any]:
    """Return how labels were drawn, as JSON."""
    return {
        "edges": sample.edges.tolist(),
        "sizes": sample.sizes.tolist(),
        "target": sample.target,
        "map": None if sample.map is None else _json_of_map(sample.map),
    }


def _json_of_map(label_map: Any) -> str:
    """Write the map of expected labels, which few files have."""
    # here, so that other files are read without the room of calibration
    from trueness.calibration.maps import map_to_json

    return map_to_json(label_map)


def _map_of_json(text: str) -> Any:
    """Read the map of expected labels."""
    from trueness.calibration.maps import map_from_json

    return map_from_json(text)


def _read_design(fields: Mapping[str, Any]) -> dict[str, Any]:
    """Return the design that a file holds, with the map that it was written with."""
    unlabelled = fields.get("unlabelled")
    if not isinstance(unlabelled, str) or not unlabelled.startswith("{"):
        return dict(fields)

    text = json.loads(unlabelled)
    if "edges" in text:
        label_map = None if text["map"] is None else _map_of_json(text["map"])
        sample = LabelSample(text["edges"], text["sizes"], text["target"], label_map)
        return {**fields, "unlabelled": sample}

    labels = ExpectedLabels(_map_of_json(text["map"]), text["target"])
    return {**fields, "unlabelled": labels}


def read_tally(path: str | os.PathLike[str]) -> Tally:
    """Read a tally from a file of counts.

    Parameters
    ----------
    path
        A file written by :meth:`Tally.write`, or by anything else in the format of
        ``docs/counts.md``: Parquet, CSV or JSON, such as the result of :func:`sql`.

    Examples
    --------
    >>> import tempfile, os
    >>> t = Tally([0.9, 0.1], pos=[1, 0], neg=[0, 2])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     t.write(os.path.join(folder, "t.parquet"))
    ...     read_tally(os.path.join(folder, "t.parquet")) == t
    True
    """
    place = _options.file_path(path, "read_tally")
    if not place.is_file():
        raise InputError(f"There is no file {place} to read a tally from.")

    with as_written(place, "counts as docs/counts.md says"):
        match place.suffix.lower():
            case ".json":
                return _tally_of_json(place)
            case ".csv":
                return _counts_by_column_names(_columns_of_csv(place), place)
            case _:
                return tally_of_columns(*read_columns(path, "tally"))


def _tally_of_json(place: Path) -> Tally:
    """Read counts and their design from JSON."""
    content = json.loads(place.read_text(encoding="utf-8"))
    if content.get("trueness", "counts") != "counts":
        raise ValueError(f"it is a {content['trueness']!r}")
    columns = {name: _exact(values) for name, values in content["columns"].items()}
    _check_version(content, place)
    return _counts_by_column_names(columns, place).with_design(
        **_design_of_file(content)
    )


def _columns_of_csv(place: Path) -> dict[str, Array]:
    """Read the columns of a CSV file; each is numbers or names."""
    with place.open(encoding="utf-8-sig", newline="") as file:
        lines = [line for line in csv.reader(file) if line]
    if not lines:
        return {}

    names, *rows = lines
    if any(len(row) != len(names) for row in rows):
        raise InputError(f"{place} has lines of different numbers of fields.")

    columns = {}
    for position, name in enumerate(names):
        columns[name] = _read_column(name, tuple(row[position] for row in rows))
    return columns


def _counts_by_column_names(columns: dict[str, Any], place: Path) -> Tally:
    """Return the counts of a file that names its columns as the format does."""
    if not are_counts(columns):
        raise InputError(
            f"{place} must have the columns score, neg, pos and unknown; it has "
            f"{listing(columns, 12)}. Predictions are counted first.",
            example=PythonCode(
                'trueness.tally(trueness.scan(...), label="y", score="p")'
            ),
        )

    return tally_of_counts(
        {k: columns[name] for k, name in count_columns_of(columns).items()}
    )


def _read_column(name: str, texts: tuple[str, ...]) -> Array:
    """Read a column of text: whole numbers, numbers, or names."""
    with suppress(ValueError):
        whole = [int(text) for text in texts]
        # clusters 7 and 007 are two, so these stay names
        if name.lower() != "cluster" or tuple(map(str, whole)) == texts:
            return _exact(whole)

    if name.lower() != "cluster":  # which may be called nan
        with suppress(ValueError):
            return _exact([float(text) for text in texts])

    return np.array(texts)


def _exact(values: list[Any]) -> Array:
    """Return an array; whole numbers that 64 bits cannot hold stay as they are."""
    if all(type(value) is int for value in values):
        if any(abs(value) >= 2**63 for value in values):
            return np.array(values, object)
        return np.array(values, np.int64)

    # None would become NaN, or the text "None"
    if any(value is None for value in values):
        return np.array(values, object)
    return np.array(values)


def tally_of_columns(columns: dict[str, Any], description: dict[str, Any]) -> Tally:
    """Return the tally whose ``named_columns`` these are."""
    return tally_of_counts(columns).with_design(**_design_of_file(description))


def _design_of_file(description: dict[str, Any]) -> dict[str, Any]:
    """Return the design that a file states, without arguments of later versions."""
    stated = description.get("design") or {}
    return _read_design({argument: stated.get(argument) for argument in DESIGN})


def read_panel(path: str | os.PathLike[str]) -> Panel:
    """Read a panel from a file of :meth:`Panel.write`.

    Parameters
    ----------
    path
        A file written by :meth:`Panel.write`.
    """
    with as_written(path, "a panel"):
        columns, content = read_columns(path, "panel")
        names = _columns.distinct_names(content["names"], "names")
        outputs = [name for name in columns if name.startswith("output_")]
        rows = np.column_stack(
            [
                read_output(columns[f"output_{number}"], name, allow_missing=True)
                for number, name in enumerate(names)
            ]
        )

        if len(names) != len(outputs):
            raise ValueError("the number of names differs from the number of outputs")

        counts = counts_in(columns)
        panel = panel_of_rows(tuple(names), *merge_rows(rows, counts))
        if "cluster" in columns:
            row_of_each = find_rows(rows, panel.rows)
            assign_clusters(panel, row_of_each, columns["cluster"], counts)

        return panel.with_design(**_read_design(content.get("design", {})))


def write_columns(
    columns: dict[str, Any], description: dict[str, Any], path: str | os.PathLike[str]
) -> None:
    """Write named columns and what they are, all or nothing."""
    pa = required("pyarrow", "files")
    pq = required("pyarrow.parquet", "files")

    metadata = {_KEY: json.dumps({"version": VERSION, **description}).encode()}

    with replacing(path) as temporary:
        table = pa.table(
            {name: np.ascontiguousarray(values) for name, values in columns.items()}
        )
        # PyArrow cannot open every name itself
        with temporary.open("wb") as file:
            pq.write_table(table.replace_schema_metadata(metadata), file)


def read_columns(
    path: str | os.PathLike[str], kind: str
) -> tuple[dict[str, Any], dict[str, Any]]:
    """Read what ``write_columns`` wrote, if it is of this kind."""
    pa = required("pyarrow", "files")

    path = _options.file_path(path, f"read_{kind}")
    if not path.is_file():
        raise InputError(f"There is no file {path} to read a {kind} from.")

    try:
        table = _read_parquet(path)
    except (pa.ArrowInvalid, OSError) as err:
        raise InputError(
            f"{os.fspath(path)} must be a Parquet file written by {kind}.write; it "
            f"cannot be read: {err}"
        ) from None

    names = table.column_names
    metadata = table.schema.metadata or {}
    # counts are read of whoever wrote them
    if kind == "tally" and are_counts(names):
        place_of = count_columns_of(names)
        description = (
            _read_description(metadata, path, kind) if _KEY in metadata else {}
        )
    else:
        place_of = {name: name for name in names}
        description = _read_description(metadata, path, kind)

    return {
        name: table[place].to_numpy() for name, place in place_of.items()
    }, description


def _read_parquet(path: Path) -> Any:
    """Read a table of PyArrow, and stop before it takes all memory."""
    pa = required("pyarrow", "files")
    pq = required("pyarrow.parquet", "files")

    # a file of Arrow's: its threads let go of one of Python's when Python is gone
    with pa.OSFile(os.fspath(path), "rb") as file:
        parquet = pq.ParquetFile(file)
        schema = parquet.schema_arrow
        _check_unpacked_size(path, parquet.metadata.num_rows * 8 * len(schema))
        texts = [field.name for field in schema if pa.types.is_string(field.type)]
        file.seek(0)
        table = pq.read_table(file, partitioning=None, read_dictionary=texts)

    _check_unpacked_size(path, table.num_rows * _longest_texts(table))
    return table


def _longest_texts(table: Any) -> int:
    """Return the letters of the longest text of each column, added up."""
    letters = 0
    for column in table.columns:
        # a dictionary holds each text once
        dictionaries = [
            chunk.dictionary for chunk in column.chunks if hasattr(chunk, "dictionary")
        ]
        sizes = [len(str(text)) for texts in dictionaries for text in texts.to_pylist()]
        letters += max(sizes, default=0)

    return letters


def _check_unpacked_size(path: Path, size: int) -> None:
    """Raise an error before a small file of one repeated value takes all memory."""
    if size > max(_LARGE, _SWOLLEN * path.stat().st_size):
        raise InputError(
            f"{path} unpacks to {size >> 20:,} MB, more than {_SWOLLEN} times its "
            "size, which is implausible for counts. Is it the right file?"
        )


def _check_version(description: Mapping[str, Any], path: Path) -> None:
    """Raise an error for a format that is newer than this library."""
    version = description.get("version", VERSION)
    if type(version) is not int or version < 1:
        raise ValueError(f"version {version!r} is none")

    if version > VERSION:
        raise InputError(
            f"{path} has format {description['version']}; this Trueness reads up to "
            f"{VERSION}. Upgrade it (pip install -U trueness)."
        )


def _read_description(
    metadata: Mapping[bytes, bytes], path: Path, kind: str
) -> dict[str, Any]:
    """Return what a file says of itself; raise an error if it is not of this kind."""
    if _KEY not in metadata:
        raise InputError(
            f"{path} does not hold counts that Trueness wrote. Predictions are read "
            "into a frame and counted.",
            example=PythonCode(f'trueness.{kind}(frame, label="y", ...)'),
        )

    description: dict[str, Any] = json.loads(metadata[_KEY])
    _check_version(description, path)
    kinds = ("tally", "panel", "stream", "watch")
    _options.choice(description["kind"], kinds, "the kind in the file")

    if description["kind"] != kind:
        verb = "load" if description["kind"] == "watch" else "read"
        raise InputError(
            f"{path} holds a {description['kind']}.",
            example=PythonCode(f"trueness.{verb}_{description['kind']}(path)"),
        )

    return description
