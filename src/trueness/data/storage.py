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
from collections.abc import Iterable, Mapping
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
from trueness.calibration.maps import map_from_json, map_to_json
from trueness.counts.bins import merge_bins
from trueness.counts.cases import COUNTS, SQUARES, assign_clusters, columns_by_cell
from trueness.counts.design import PLAIN
from trueness.counts.design import WORDS as DESIGN
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
    """Are these the columns of counts, in capitals or not?"""
    return {str(n).lower() for n in names} >= {"score", *COUNTS}


def count_columns_of(names: Iterable[str]) -> dict[str, str]:
    """Which column has which name of the format?"""
    found: dict[str, str] = {}
    for name in names:
        key = name.lower()
        if key in found:
            raise InputError(
                f"Counts need one column {key!r}; found {found[key]!r} and {name!r}. "
                f"Leave one of them out."
            )
        if key in COLUMNS:
            found[key] = name
    return found


def tally_of_counts(columns: Mapping[str, Array]) -> Tally:
    """Make a tally of rows in any order: bins that overlap are joined."""
    refused = columns.get("refused", np.zeros(0, np.int64))
    if lost := int(_whole(refused, "refused").sum()):
        raise InputError(
            f"The query could not count {lost:,} rows: labels are neither 0 nor 1, or "
            f"weights or counts are missing or negative. For other labels than 0 and 1 "
            f"say which is positive when you write the query; leave the other rows out "
            f"by a view."
        )
    counts = counts_in(columns)
    low, high = _ends(columns, np.add.reduce(counts[:3]))
    made = tally_of_bins(*merge_bins(low, high, counts))
    if "cluster" in columns:
        assign_clusters(made, rows_of(made, low), columns["cluster"], counts)
    return made.with_design(**_read_design(_design_in(columns)))


def counts_in(columns: Mapping[str, Array]) -> list[Array]:
    """Read the counts; of weighted cases the sums of weights, then of squares."""
    weighted = any(k in columns for k in SQUARES)
    kinds = (*COUNTS, *SQUARES) if weighted else COUNTS
    lacking = [k for k in kinds if k not in columns]
    if lacking:
        raise InputError(f"Counts need the columns {listing(kinds)}; there is no "
                         f"{listing(lacking)}.")  # fmt: skip
    read = _weights if weighted else _whole
    counts = [read(columns[k], k) for k in kinds]
    for kind, sums, squares in zip(COUNTS, counts, counts[3:], strict=False):
        with np.errstate(over="ignore"):
            more = squares > sums**2 * (1 + 1e-6)  # as no weights have; but rounding
        if more.any():
            raise InputError(
                f"The squares of weights add up to no more than the square of their "
                f"sum; in {int(more.sum()):,} rows {kind}_squares are more."
            )
    return counts


def _design_in(columns: Mapping[str, Array]) -> dict[str, Any]:
    """Read how the cases came, where columns say it: the same in every row."""
    said: dict[str, Any] = {}
    for word in DESIGN:
        values = columns.get(word, np.zeros(0))
        if word == "prevalence" and values.dtype.kind in "OU":
            texts = [v if isinstance(v, str) else str(v or "") for v in values]
            values = np.array([float(v) if v else np.nan for v in texts])
        given = {plain(v) for v in values[~_columns.missing(values)]} - {""}
        if len(given) > 1:
            raise InputError(
                f"{word} must be the same in every row of counts; found "
                f"{listing(sorted(given, key=str))}. Name the column of the groups.",
                option="by",
                example="COLUMN",
            )
        if given:
            said[word] = given.pop()
    return said


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


def _whole(values: Array, name: str) -> Array:
    """Read counts, which engines also send as decimals."""
    if values.dtype.kind == "O":
        exact = all(isinstance(v, (int, Decimal)) and v % 1 == 0 for v in values)
        if exact and all(abs(v) < 2**63 for v in values):
            values = values.astype(np.int64)
        else:
            values = _columns.numeric_scores(values, name)
    return _columns.whole_counts(values, name)


def _weights(values: Array, name: str) -> Array:
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
    columns, design = tally.named_columns, _design(tally)
    match _options.file_path(path, "Tally.write").suffix.lower():
        case ".csv":
            said = {k: v for k, v in design.get("design", {}).items() if v}
            rows = zip(*(v.tolist() for v in columns.values()), strict=True)
            table = [[*columns, *said], *([*r, *said.values()] for r in rows)]
            with (
                replacing(path) as temporary,
                temporary.open("w", encoding="utf-8", newline="") as file,
            ):
                csv.writer(file).writerows(table)
        case ".json":
            about = {"trueness": "counts", "version": VERSION, **design}
            about["columns"] = {k: v.tolist() for k, v in columns.items()}
            with replacing(path) as temporary:
                temporary.write_text(json.dumps(about) + "\n", encoding="utf-8")
        case _:
            write_columns(columns, {"kind": "tally", **design}, path)


def write_panel(panel: Panel, path: str | os.PathLike[str]) -> None:
    """Write a panel; see :meth:`trueness.Panel.write`."""
    # columns are numbered: a classifier may be called "neg"
    columns = {f"output_{k}": column for k, column in enumerate(panel.rows.T)}
    about = {"kind": "panel", "names": list(panel.names), **_design(panel)}
    write_columns(columns_by_cell(panel, columns), about, path)


def _design(x: Tally | Panel) -> dict[str, Any]:
    """Return the sampling design as JSON; a map of expected labels as its text."""
    if x.design == PLAIN:
        return {}
    words = {word: getattr(x.design, word) for word in DESIGN}
    if isinstance(words["unlabelled"], ExpectedLabels):
        labels = words["unlabelled"]
        text = {"map": map_to_json(labels.map), "target": labels.target}
        words["unlabelled"] = json.dumps(text)
    if isinstance(words["unlabelled"], LabelSample):
        words["unlabelled"] = json.dumps(_text_of_sample(words["unlabelled"]))
    return {"design": words}


def _text_of_sample(sample: LabelSample) -> dict[str, Any]:
    """Return how labels were drawn, as JSON."""
    return {
        "edges": sample.edges.tolist(),
        "sizes": sample.sizes.tolist(),
        "target": sample.target,
        "map": None if sample.map is None else map_to_json(sample.map),
    }


def _read_design(words: Mapping[str, Any]) -> dict[str, Any]:
    """Return the design that a file holds, with the map that it was written with."""
    unlabelled = words.get("unlabelled")
    if not isinstance(unlabelled, str) or not unlabelled.startswith("{"):
        return dict(words)
    text = json.loads(unlabelled)
    if "edges" in text:
        label_map = None if text["map"] is None else map_from_json(text["map"])
        sample = LabelSample(text["edges"], text["sizes"], text["target"], label_map)
        return {**words, "unlabelled": sample}
    labels = ExpectedLabels(map_from_json(text["map"]), text["target"])
    return {**words, "unlabelled": labels}


def read_tally(path: str | os.PathLike[str]) -> Tally:
    """Which tally does this file hold?

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
        if place.suffix.lower() == ".json":
            about = json.loads(place.read_text(encoding="utf-8"))
            if about.get("trueness", "counts") != "counts":
                raise ValueError(f"it is a {about['trueness']!r}")
            columns = {k: _exact(v) for k, v in about["columns"].items()}
            _known_version(about, place)
            return _recognised(columns, place).with_design(**_words(about))
        if place.suffix.lower() != ".csv":
            return tally_of_columns(*read_columns(path, "tally"))
        with place.open(encoding="utf-8-sig", newline="") as file:
            head, *rows = [r for r in csv.reader(file) if r] or [[]]
        if any(len(r) != len(head) for r in rows):
            raise InputError(f"{place} has lines of different numbers of fields.")
        texts = zip(*rows, strict=True) if rows else (() for _ in head)
        columns = {k: _read(k, v) for k, v in zip(head, texts, strict=True)}
        return _recognised(columns, place)


def _recognised(columns: dict[str, Any], place: Path) -> Tally:
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


def _read(name: str, texts: tuple[str, ...]) -> Any:
    """Read a column of text: whole numbers, numbers, or names."""
    names = name.lower() == "cluster"  # 7 and 007 are two, and one may be called nan
    for kind in (int,) if names else (int, float):
        with suppress(ValueError):
            values = [kind(t) for t in texts]
            if not names or tuple(map(str, values)) == texts:
                return _exact(values)
    return np.array(texts)


def _exact(values: list[Any]) -> Any:
    """Give an array; whole numbers that 64 bits cannot hold stay as they are."""
    if all(type(v) is int for v in values):
        wide = any(abs(v) >= 2**63 for v in values)
        return np.array(values, object if wide else np.int64)
    return np.array(values, object if any(v is None for v in values) else None)


def tally_of_columns(columns: dict[str, Any], about: dict[str, Any]) -> Tally:
    """Make the tally again whose ``named_columns`` these are."""
    return tally_of_counts(columns).with_design(**_words(about))


def _words(about: dict[str, Any]) -> dict[str, Any]:
    """Give what a file says of the design; words of later versions are left out."""
    said = about.get("design") or {}
    return _read_design({k: said.get(k) for k in DESIGN})


def read_panel(path: str | os.PathLike[str]) -> Panel:
    """Which panel does this file hold?

    Parameters
    ----------
    path
        A file written by :meth:`Panel.write`.
    """
    with as_written(path, "a panel"):
        columns, about = read_columns(path, "panel")
        names = _columns.distinct_names(about["names"], "names")
        outputs = ((columns[f"output_{k}"], n) for k, n in enumerate(names))
        rows = np.column_stack([read_output(c, n, gone=True) for c, n in outputs])
        if len(names) != sum(k.startswith("output_") for k in columns):
            raise ValueError("it has not one name for each output")
        counts = counts_in(columns)
        made = panel_of_rows(tuple(names), *merge_rows(rows, counts))
        if "cluster" in columns:
            held = find_rows(rows, made.rows)
            assign_clusters(made, held, columns["cluster"], counts)
        return made.with_design(**_read_design(about.get("design", {})))


def write_columns(
    columns: dict[str, Any], about: dict[str, Any], path: str | os.PathLike[str]
) -> None:
    """Write named columns and what they are, all or nothing."""
    pa, pq = required("pyarrow", "files"), required("pyarrow.parquet", "files")

    metadata = {_KEY: json.dumps({"version": VERSION, **about}).encode()}
    with replacing(path) as temporary:
        table = pa.table({k: np.ascontiguousarray(v) for k, v in columns.items()})
        with temporary.open("wb") as file:  # PyArrow cannot open every name itself
            pq.write_table(table.replace_schema_metadata(metadata), file)


def read_columns(
    path: str | os.PathLike[str], kind: str
) -> tuple[dict[str, Any], dict[str, Any]]:
    """Read what ``write_columns`` wrote, if it is of this kind."""
    pa, pq = required("pyarrow", "files"), required("pyarrow.parquet", "files")

    path = _options.file_path(path, f"read_{kind}")
    if not path.is_file():
        raise InputError(f"There is no file {path} to read a {kind} from.")
    try:
        # a file of Arrow's: its threads let go of one of Python's when Python is gone
        with pa.OSFile(os.fspath(path), "rb") as file:
            held = pq.ParquetFile(file)
            _not_swollen(path, held.metadata.num_rows * 8 * len(held.schema_arrow))
            texts = [f.name for f in held.schema_arrow if pa.types.is_string(f.type)]
            file.seek(0)
            table = pq.read_table(file, partitioning=None, read_dictionary=texts)
        letters = 0  # of the longest text of each column, which holds each text once
        for column in table.columns:
            once = [c.dictionary for c in column.chunks if hasattr(c, "dictionary")]
            sizes = (len(str(v)) for words in once for v in words.to_pylist())
            letters += max(sizes, default=0)
        _not_swollen(path, table.num_rows * letters)
    except (pa.ArrowInvalid, OSError) as err:
        raise InputError(
            f"{os.fspath(path)} must be a Parquet file written by {kind}.write; it "
            f"cannot be read: {err}"
        ) from None
    names, metadata = table.column_names, table.schema.metadata or {}
    counts = kind == "tally" and are_counts(names)  # of whoever wrote it
    named = count_columns_of(names) if counts else {n: n for n in names}
    about = {} if counts and _KEY not in metadata else _about(metadata, path, kind)
    return {k: table[name].to_numpy() for k, name in named.items()}, about


def _not_swollen(path: Path, size: int) -> None:
    """Stop before a small file takes all memory: the same value may stand often."""
    if size > max(_LARGE, _SWOLLEN * path.stat().st_size):
        raise InputError(
            f"{path} unpacks to {size >> 20:,} MB, more than {_SWOLLEN} times its own "
            f"size, which no file of counts does. Is it the right file?"
        )


def _known_version(about: Mapping[str, Any], path: Path) -> None:
    version = about.get("version", VERSION)
    if type(version) is not int or version < 1:
        raise ValueError(f"version {version!r} is none")
    if version > VERSION:
        raise InputError(
            f"{path} has format {about['version']}; this Trueness reads up to "
            f"{VERSION}. Upgrade it (pip install -U trueness)."
        )


def _about(metadata: Mapping[bytes, bytes], path: Path, kind: str) -> dict[str, Any]:
    if _KEY not in metadata:
        raise InputError(
            f"{path} does not hold counts that Trueness wrote. Predictions are read "
            "into a frame and counted.",
            example=PythonCode(f'trueness.{kind}(frame, label="y", ...)'),
        )
    about: dict[str, Any] = json.loads(metadata[_KEY])
    _known_version(about, path)
    known = ("tally", "panel", "stream", "watch")
    _options.choice(about["kind"], known, "the kind in the file")
    if about["kind"] != kind:
        verb = "load" if about["kind"] == "watch" else "read"
        raise InputError(
            f"{path} holds a {about['kind']}.",
            example=PythonCode(f"trueness.{verb}_{about['kind']}(path)"),
        )
    return about
