"""Which file, which columns?

A source is opened without reading its rows, and counted where it is. Columns that were
not named are taken only when there is no doubt.
"""

from __future__ import annotations

import re
import shutil
import sys
import tempfile
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from difflib import get_close_matches
from pathlib import Path
from typing import Any, final

import duckdb

from trueness import samples
from trueness._core.checks import columns as _columns
from trueness._core.checks import options as _options
from trueness._core.checks.errors import InputError
from trueness._core.checks.words import nearest
from trueness._core.records import shown
from trueness.data.engines import quoted, reading
from trueness.data.files import scan
from trueness.data.frames import panel, tally

SAMPLE = "sample:"
_IN_MEMORY = 1 << 27  # bytes of a file that is read once, and not once a score
_SHEETS = (".xlsx", ".xls", ".xlsm", ".ods", ".numbers")
LABEL_NAMES = ("label", "y", "y_true", "target", "truth", "outcome")
SCORE_NAMES = ("score", "y_score", "p", "prob", "probability", "prediction")
COUNT_NAMES = ("n", "count", "counts", "cases", "freq", "frequency")
_TEXT = re.compile(r"\.(csv|tsv|txt)(\.gz|\.zst)?$")
_WHOLE = ("TINYINT", "SMALLINT", "INTEGER", "BIGINT", "HUGEINT")
_WHOLE_TYPES = (*_WHOLE, *(f"U{t}" for t in _WHOLE))
_TRUE, _FALSE = ("true", "yes", "t", "1"), ("false", "no", "f", "0")
_REAL_TYPES = ("FLOAT", "DOUBLE", "DECIMAL")


@final
@dataclass(frozen=True)
class Source:
    """A file that DuckDB can read, with the names and types of its columns."""

    name: str
    rows: Any
    types: dict[str, str]

    def read(self) -> Any:
        """Give all rows, as an Arrow table."""
        return self.rows.to_arrow_table()

    @property
    def is_text(self) -> bool:
        """Is it one CSV file, whose columns could be kept as they are written?"""
        return Path(self.path).is_file() and bool(_TEXT.search(self.path.lower()))

    @property
    def path(self) -> str:
        """Where is it? A sample has a file too."""
        if self.name.startswith(SAMPLE):
            return str(samples.path(self.name.removeprefix(SAMPLE)))
        return self.name

    def as_text(self) -> Any:
        """Give all rows as they are written, as an Arrow table of text."""
        types = dict.fromkeys(self.types, "VARCHAR")
        return scan(self.path, types=types, keep_order=True).to_arrow_table()

    def distinct(self, column: str, most: int) -> list[Any]:
        """Which values does a column have? Missing ones do not count."""
        found = self.rows.select(quoted(column)).distinct().limit(most + 1).fetchall()
        return sorted((v for (v,) in found if v is not None), key=str)

    def only(self, columns: Iterable[str]) -> Any:
        """Give some columns; those of a text file that is not large are read now.

        It would be read again for each score otherwise.
        """
        rows = self.rows.select(", ".join(map(quoted, dict.fromkeys(columns))))
        path = Path(self.name)
        if not path.is_file() or path.stat().st_size > _IN_MEMORY:
            return rows
        with reading():
            return duckdb.from_arrow(rows.to_arrow_table())


def groups_of(rows: Any, column: str) -> Iterator[tuple[Any, Any]]:
    """Give each value of a column with its rows."""
    values = rows.select(quoted(column)).distinct().fetchall()
    for (value,) in sorted(values, key=str):
        same = duckdb.SQLExpression(quoted(column)) == duckdb.ConstantExpression(value)
        yield value, rows.filter(same)


@final
@dataclass(frozen=True)
class Chosen:
    """Which columns a command works on, and which of them nobody named."""

    label: str | None
    scores: tuple[str, ...]
    count: str | None = None
    by: str | None = None
    positive: Any = None
    took: tuple[str, ...] = field(default=())


@final
@dataclass(frozen=True)
class Ask:
    """What a command is asked about: a file, its columns, a level and a seed."""

    source: Source
    chosen: Chosen
    rows: Any  # the chosen columns
    level: float
    seed: int


Guess = Callable[[Source, set[str | None]], tuple[str, ...]]


def open_source(file: str, ordered: bool = False) -> Source:
    """Open a file, a pattern of files, a sample (``sample:west_nile``) or ``-``."""
    if file == "-":
        return _describe("standard input", _standard_input())
    sample = file.startswith(SAMPLE)
    where = str(samples.path(file.removeprefix(SAMPLE))) if sample else file
    try:
        return _describe(file, _scan(where, ordered))
    except InputError as err:
        if "not utf-8 encoded" not in str(err):
            raise
        raise InputError(
            f"{file} must be UTF-8; it has another encoding. Type iconv -f latin1 -t "
            f"utf-8 {file} > utf8.csv, if that is its encoding, and take utf8.csv."
        ) from err


def is_there(file: str) -> bool:
    """Does this name a sample, or files that exist?"""
    return file.startswith(SAMPLE) or (is_local(file) and Path(file).exists())


def is_local(file: str) -> bool:
    """Does this name files here, and neither a sample, an address nor a stream?"""
    return file != "-" and "://" not in file and not file.startswith(SAMPLE)


def _describe(name: str, rows: Any) -> Source:
    with reading():
        some = rows.limit(1).fetchall()
    if not some:
        raise InputError(f"{name} has no rows, only {names_of(rows.columns)}.")
    types = dict(zip(rows.columns, map(str, rows.types), strict=True))
    return Source(name, rows, types)


def _standard_input() -> Any:
    """Spool standard input: the types of a CSV are found by reading it twice."""
    with tempfile.TemporaryDirectory(prefix="trueness-") as folder:
        path = Path(folder) / "input.csv"
        with path.open("wb") as file:
            shutil.copyfileobj(sys.stdin.buffer, file)
        _not_empty(path, "standard input")
        rows = scan(path, keep_order=True).to_arrow_table()
    return duckdb.from_arrow(rows)


def _scan(file: str, ordered: bool) -> Any:
    path = Path(file)
    if "://" not in file and not path.exists() and not any(c in file for c in "*?["):
        _exists(path)
    if path.suffix.lower() in _SHEETS:
        raise InputError(
            f"{file} is a spreadsheet; Trueness reads CSV, Parquet and JSON lines. "
            f"Save the sheet as CSV (UTF-8) first."
        )
    if path.is_file():
        _not_empty(path, file)
    return scan(file, keep_order=ordered)


def _exists(path: Path) -> None:
    if path.exists():
        return
    folder = path.parent
    # without their endings: they make all names alike
    stems = {p.stem: p.name for p in folder.iterdir()} if folder.is_dir() else {}
    near = get_close_matches(path.stem, stems, n=1)
    hint = f" Did you mean {stems[near[0]]!r}?" if near else ""
    raise InputError(
        f"There is no file {path}.{hint} To try Trueness on data that it brings along, "
        f"type {SAMPLE}west_nile."
    )


def _not_empty(path: Path, name: str) -> None:
    if path.stat().st_size == 0:
        raise InputError(f"{name} is empty: a header and rows were needed.")


def choose(
    source: Source,
    *,
    option: str,
    scores: Sequence[str],
    guess: Guess,
    label: str | None,
    positive: str | None = None,
    count: str | None = None,
    by: str | None = None,
    needs_label: bool = True,
) -> Chosen:
    """Which columns are meant? Those not named are taken when there is no doubt."""
    names = list(source.types)
    for what, name in (("--label", label), ("--count", count), ("--by", by)):
        if name is not None:
            _named(name, names, what)
    for name in _columns.distinct_names(list(scores), f"--{option}"):
        _named(name, names, f"--{option}")
    took = []
    if label is None and needs_label:
        label = _guess_label(source, {*scores, count, by})
        took.append(f"label {names_of([label])}")
    if not scores:
        scores = guess(source, {label, count, by})
        many = "s" if len(scores) > 1 else ""
        took.append(f"{option}{many} {names_of(scores)}")
    value = _positive(source, label, positive)
    return Chosen(label, tuple(scores), count, by, value, tuple(took))


def looks_counted(source: Source, chosen: Chosen) -> str | None:
    """Which column, that nobody named, looks like numbers of cases?"""
    used = {chosen.label, *chosen.scores, chosen.by}
    free = (c for c, kind in source.types.items() if kind in _WHOLE_TYPES)
    like = [c for c in free if c.lower() in COUNT_NAMES and c not in used]
    return like[0] if like and chosen.count is None else None


def names_of(columns: Iterable[str], most: int = 12) -> str:
    """Write names of columns, which may be long, for people."""
    names = list(columns)
    quoted = ", ".join(f"'{shown(name, 40)}'" for name in names[:most])
    more = len(names) - most
    return f"{quoted} and {more} more" if more > 0 else quoted


def _named(name: str, names: list[str], what: str) -> None:
    if name not in names:
        raise InputError(
            f"{what} {name!r} must name a column; this file has "
            f"{names_of(names)}.{nearest(name, names)}"
        )


def _guess_label(source: Source, taken: set[str | None]) -> str:
    free = [c for c in source.types if c not in taken]
    by_name = [c for c in free if c.lower() in LABEL_NAMES]
    if len(by_name) == 1:
        return by_name[0]
    binary = [c for c in free if _holds_labels(source, c)]
    if len(binary) == 1 and not by_name:
        return binary[0]
    raise InputError(
        f"Which column holds the labels? Type --label NAME; this file has "
        f"{names_of(source.types)}."
    )


def _holds_labels(source: Source, column: str) -> bool:
    kind = source.types[column]
    if kind == "BOOLEAN":
        return True
    return kind in _WHOLE_TYPES and source.distinct(column, 2) in ([0, 1], [-1, 1])


def one_score(source: Source, taken: set[str | None]) -> tuple[str, ...]:
    """Take the one column that can be the score."""
    real, by_name = _candidates(source, taken)
    if len(real) == 1 or len(by_name) == 1:
        return tuple(real if len(real) == 1 else by_name)
    raise InputError(
        f"Which column is the score? Type --score NAME; this file has "
        f"{names_of(source.types)}."
    )


def several_scores(source: Source, taken: set[str | None]) -> tuple[str, ...]:
    """Take every column of fractions, when all of them lie between 0 and 1."""
    real, by_name = _candidates(source, taken)
    if real and (len(real) == 1 or _all_probabilities(source, real)):
        return tuple(real)
    if len(by_name) == 1:
        return tuple(by_name)
    raise InputError(
        f"Which columns hold the scores? Type --score NAME for each; this file has "
        f"{names_of(source.types)}."
    )


def _candidates(source: Source, taken: set[str | None]) -> tuple[list[str], list[str]]:
    """Give the free columns of fractions, and those that are called like a score."""
    free = [c for c in source.types if c not in taken]
    real = [c for c in free if source.types[c].startswith(_REAL_TYPES)]
    return real, [c for c in free if c.lower() in SCORE_NAMES]


def _all_probabilities(source: Source, columns: list[str]) -> bool:
    ends = ", ".join(f"min({quoted(c)}), max({quoted(c)})" for c in columns)
    values = source.rows.aggregate(ends).fetchall()[0]
    return all(v is not None and 0 <= v <= 1 for v in values)


def _positive(source: Source, label: str | None, text: str | None) -> Any:
    """Give the positive label the type of its column: "1" is a number there."""
    if text is None or label is None:
        return None
    kind = source.types[label]
    if kind == "BOOLEAN":  # DuckDB reads yes and no as such, too
        _options.choice(text.lower(), (*_TRUE, *_FALSE), "--positive")
        return text.lower() in _TRUE
    if kind in _WHOLE_TYPES or kind.startswith(_REAL_TYPES):
        try:
            return float(text)
        except ValueError:
            raise InputError(
                f"--positive must be a value of column {label!r}, which holds numbers; "
                f"found {text!r}."
            ) from None
    return text


def count_tally(ask: Ask, score: str, by: bool = False) -> Any:
    """Count one score: a Tally, or one for each group."""
    return _count(tally, ask, by, score=score)


def count_panel(ask: Ask, by: bool = False) -> Any:
    """Count all scores together: a Panel, or one for each group."""
    return _count(panel, ask, by, scores=list(ask.chosen.scores))


def _count(how: Callable[..., Any], ask: Ask, by: bool, **columns: Any) -> Any:
    chosen = ask.chosen
    with naming(chosen):
        return how(
            ask.rows,
            label=chosen.label,
            positive=chosen.positive,
            count=chosen.count,
            by=chosen.by if by else None,
            **columns,
        )


@contextmanager
def naming(chosen: Chosen) -> Iterator[None]:
    """Say the library's sentences with the words of the command line."""
    try:
        yield
    except InputError as err:
        words = re.sub(r"\b(label|scores?|count|by|positive)=", _option, str(err))
        rest = r"For one class against the rest pass y_true == (.*)\."
        words = re.sub(
            rest, r"Make a column that is 1 for \1 and 0 for the rest.", words
        )
        raise type(err)(words.replace("y_true", f"--label {chosen.label!r}")) from None


def _option(match: re.Match[str]) -> str:
    return f"--{match[1].removesuffix('s')} "
