"""How is a CSV file read as a colleague sends it?

In any encoding, with a note below the table, names that stand twice, decimal commas and
a total at the end. What DuckDB would misread is put right in a copy, and told.
"""

from __future__ import annotations

import codecs
import csv
import io
import os
import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from trueness._core.checks import options as _options
from trueness._core.checks.errors import InputError
from trueness._core.checks.words import listing
from trueness._core.files import temporary_folder
from trueness._core.imports import required
from trueness._core.numbers import counted
from trueness.data.cleaning import MISSING, THOUSANDS, TOTALS, folded, tell
from trueness.data.engines import quoted, text_in_sql

SAMPLE = 1_000_000  # rows from which DuckDB guesses the types of text files
_LOOKED_AT = 1 << 27  # bytes of text files that are looked at before they are counted
_HEADER_LINES = 6  # in which a second header is looked for
_SEPARATOR = re.compile(r"sep=(.)\r?\n")  # the line that Excel reads
_NUMBERED = re.compile(r"(.+)_\d+$")
# whole numbers and numbers with a decimal comma
_COMMA = re.compile(r"[+-]?\d*(,\d+)?([eE][+-]?\d+)?")

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection, DuckDBPyRelation
Reader = Callable[..., "DuckDBPyRelation"]


def read_csv(
    connection: DuckDBPyConnection,
    files: Sequence[str],
    types: Mapping[str, str] | None,
    decimal: str | None,
) -> DuckDBPyRelation:
    """Open CSV files as rows of DuckDB; a file that had to be put right is loaded."""
    if decimal is not None:
        _options.choice(decimal, (".", ","), "decimal")
    mended = _mended(files)
    encoding = _encoding(files) if mended is None else None
    read = csv_reader(connection, files if mended is None else mended, encoding)
    column_types = dict(types or {})

    def opened(sign: str | None) -> DuckDBPyRelation:
        words = {"decimal_separator": text_in_sql(sign or ".")}
        words |= _types_in_sql(column_types)
        rows = read(**words)
        if len(rows.columns) == 1 and (apart := re.search("[;,\t|]", rows.columns[0])):
            # lines of different lengths; DuckDB takes all of them for one column
            given = {"delim": text_in_sql(apart[0]), "null_padding": "true"}
            padded = read(**words, **given)
            if len(padded.columns) == rows.columns[0].count(apart[0]) + 1:
                tell(["Lines with fewer fields than the first were filled up."])
                return padded
            if odd := _odd_line(files):
                raise InputError(f"{odd} Mend that line.")
        return rows

    duckdb = required("duckdb", "files")
    try:
        rows = opened(decimal)
        if zoned := [c for c in _with_time_zone(rows) if c not in column_types]:
            column_types |= dict.fromkeys(zoned, "VARCHAR")
            rows = opened(decimal)
        guessed = [c for c in rows.columns if c not in (types or {})]
        if decimal is None and _has_decimal_commas(rows, guessed):
            rows = opened(",")
            tell(["The comma was read as the decimal sign."], warn=False)
        rows = _cases(_named_once(read, rows), files)
        if mended is not None:  # the copies go
            rows.to_table("_trueness_copy")
            rows = connection.table("_trueness_copy")
            for file in mended:
                Path(file).unlink()
    except duckdb.InvalidInputException as err:
        if "dialect" not in str(err):
            raise
        if odd := _odd_line(files):
            raise InputError(f"{odd} Mend that line.") from err
        raise InputError(
            f"{listing(files)} cannot be read as CSV: the lines have different numbers "
            f"of fields, or a name or a text holds a line break or a lone quotation "
            f"mark. Mend those lines, rename the column, or save the table as Parquet."
        ) from err
    return rows


def _types_in_sql(types: Mapping[str, str]) -> dict[str, str]:
    """Write the types of columns as a setting of the reader."""
    pairs = [f"{text_in_sql(str(k))}: {text_in_sql(str(v))}" for k, v in types.items()]
    return {"types": f"{{{', '.join(pairs)}}}"} if pairs else {}


def _with_time_zone(rows: DuckDBPyRelation) -> list[str]:
    """Which columns hold times with a time zone? They are kept as they are written."""
    kinds = zip(rows.columns, map(str, rows.types), strict=True)
    return [column for column, kind in kinds if kind.endswith("WITH TIME ZONE")]


def csv_reader(
    connection: DuckDBPyConnection, files: Sequence[str], encoding: str | None
) -> Reader:
    """Read CSV files by SQL: the method of the same name finds other headers in a list.

    Values of settings are written as they stand in SQL.
    """
    usual = {"sample_size": str(SAMPLE), "union_by_name": str(len(files) > 1).lower()}
    usual["comment"] = "''"  # a row that begins with #N/A is no comment
    usual |= {"encoding": text_in_sql(encoding)} if encoding else {}

    def read(some: Sequence[str] = files, **settings: str) -> DuckDBPyRelation:
        words = "".join(f", {name}={v}" for name, v in (usual | settings).items())
        places = ", ".join(map(text_in_sql, some))
        return connection.sql(f"FROM read_csv([{places}]{words})")

    return read


def _encoding(files: Sequence[str]) -> str | None:
    """How are the letters of files written that are too large for a copy?"""
    for file in files:
        if os.path.isfile(file) and not file.endswith((".gz", ".zst")):
            with open(file, "rb") as stream:
                name = _encoding_of(stream.read(_LOOKED_AT), file)
            if name != "utf-8":
                return "utf-16" if name.startswith("utf-16") else "latin-1"
    return None


def _encoding_of(head: bytes, file: str) -> str:
    """Name the encoding; bytes that are no UTF-8 are taken for Windows-1252."""
    if head.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        return "utf-16"
    some = head[:4000]
    zeros = some[::2].count(0), some[1::2].count(0)  # of letters of two bytes
    if max(zeros) > len(some) // 5 and min(zeros) < max(zeros) // 4:
        return "utf-16-be" if zeros[0] > zeros[1] else "utf-16-le"
    try:  # the last letter may have been cut
        codecs.getincrementaldecoder("utf-8")().decode(head)
    except UnicodeDecodeError:
        called = "Latin-1 (Windows-1252)"
        tell([f"{os.path.basename(file)} was read as {called}, since it is no UTF-8."])
        return "cp1252"
    return "utf-8"


def _mended(files: Sequence[str]) -> list[str] | None:
    """Write copies that DuckDB reads rightly; None where the files are fine."""
    texts: dict[str, str] = {}
    left, changed = _LOOKED_AT, False
    for file in files:
        raw = _unpacked(file, left + 1) if os.path.isfile(file) else None
        if raw is None or (left := left - len(raw)) < 0:
            return None
        if not raw.strip():
            raise InputError(f"{file} is empty. Is it the right file?")
        name = _encoding_of(raw, file)
        lenient = "replace" if name == "cp1252" else "ignore"
        text = raw.decode(name, lenient).lstrip("\ufeff")
        texts[file] = _one_header(_table_of(text))
        changed = changed or name != "utf-8" or len(texts[file]) < len(text)
    if not changed:
        return None
    folder = temporary_folder()
    copies = [folder / f"{k}.csv" for k in range(len(texts))]
    for copy, text in zip(copies, texts.values(), strict=True):
        copy.write_text(text, encoding="utf-8", newline="")
    return [*map(str, copies)]


def decoded(file: str) -> str:
    """Give the text of a file that is not compressed, without marks of its encoding."""
    raw = Path(file).read_bytes()
    return raw.decode(_encoding_of(raw, file), "replace").lstrip("\ufeff")


def separators(text: str) -> list[str]:
    """Which signs could separate the fields of a text, the likeliest first?"""
    head = text[:100_000]
    return sorted((s for s in ";,\t|" if s in head), key=lambda s: -head.count(s))


def _unpacked(file: str, most: int) -> bytes | None:
    """Give the bytes of a file, unpacked as far as that; None where it is broken."""
    packed = file.endswith((".gz", ".zst"))
    arrow = required("pyarrow", "files") if packed else None
    try:
        with arrow.input_stream(file) if arrow else open(file, "rb") as stream:
            return bytes(stream.read(most))
    except OSError:  # DuckDB says what is wrong with it
        return None


def _odd_line(files: Sequence[str]) -> str:
    """Say which line has more fields than the first one and most others."""
    for file in filter(os.path.isfile, files):
        text = (_unpacked(file, _LOOKED_AT) or b"").decode("utf-8", errors="replace")
        if not (apart := re.search("[;,\t|]", text.partition("\n")[0])):
            continue
        lines = csv.reader(io.StringIO(text, newline=""), delimiter=apart[0])
        with suppress(csv.Error):  # a field without an end
            sizes = [(len(row), lines.line_num) for row in lines]
            usual = sizes[0][0]
            if 2 * sum(n == usual for n, _ in sizes) > len(sizes):
                for n, at in sizes:
                    if n > usual:
                        said = f"Line {at:,} of {file} has {n} fields, and the first"
                        return f"{said} has {usual}."
    return ""


def _table_of(text: str) -> str:
    """Leave out what is no line of the table: above it, below it, and NUL signs."""
    if "\0" in text:
        tell([f"{counted(text.count(chr(0)), 'NUL sign')} left out."])
        text = text.replace("\0", "")
    if named := _SEPARATOR.match(text):
        text = text[named.end() :]
    some = text[:100_000].splitlines()[:200]
    signs = Counter(sign for line in some for sign in ";,\t|" if sign in line)
    sign = named[1] if named else max(signs, key=lambda s: signs[s], default=None)
    if sign is None or signs[sign] < len(some) // 2:
        return text
    end = len(text)
    while end:
        start = max(text.rfind("\n", 0, end - 1), text.rfind("\r", 0, end - 1)) + 1
        if sign in text[start:end]:
            break
        end = start
    note = text[end:].strip()
    # a line break between quotation marks is part of a field
    if not note or text.count('"', 0, end) % 2:
        return text
    first, *more = note.splitlines()
    lines = f"the last {len(more) + 1} lines" if more else "the last line"
    tell([f"Left out {lines}, which are no rows: {first[:60]!r}."])
    return text[:end]


def _one_header(text: str) -> str:
    """Leave out a second line of names or units, or a line of titles above the names.

    The second line is no case where it has words, in columns in which all of the next
    lines have a number.
    """
    lines = text[:100_000].splitlines(keepends=True)[:_HEADER_LINES]
    head = "".join(lines)
    sign = next(iter(separators(head)), None)
    if sign is None or len(lines) < _HEADER_LINES or '"' in head:
        return text
    first, second, *others = [
        [field.strip() for field in line.rstrip("\r\n").split(sign)] for line in lines
    ]
    if any(len(row) != len(first) for row in (second, *others)):
        return text
    numeric = [
        k for k in range(len(first)) if all(_is_number(row[k]) for row in others)
    ]
    no_number = not any(_is_number(field) for field in (*first, *second))
    no_missing = not any(folded(second[k]) in MISSING for k in numeric)
    if not numeric or not no_number or not no_missing:
        return text
    # titles above several columns leave cells empty, or repeat themselves
    titles = len({field for field in first if field}) < len(first)
    names = len(set(second)) == len(second) and all(second)
    gone = 0 if titles and names else 1
    tell([f"Left out line {gone + 1}, a second header: {lines[gone].strip()[:60]!r}."])
    start = sum(map(len, lines[:gone]))
    return text[:start] + text[start + len(lines[gone]) :]


def _is_number(field: str) -> bool:
    """Is a field a number, in any way that people write one?"""
    plain = field.strip("%\u20ac$ ").replace(" ", "").lower()
    return bool(re.fullmatch(r"[+-]?[\d.,']*\d[\d.,']*(e[+-]?\d+)?", plain))


def _cases(rows: DuckDBPyRelation, files: Sequence[str]) -> DuckDBPyRelation:
    """Leave out rows that are no cases: empty ones, and totals."""
    here = [os.path.getsize(f) for f in files if os.path.isfile(f)]
    if len(here) < len(files) or sum(here) > _LOOKED_AT:
        return rows
    kinds = dict(zip(rows.columns, map(str, rows.types), strict=True))
    words = {c: f"lower(trim({quoted(c)}))" for c, k in kinds.items() if k == "VARCHAR"}
    gone = [
        f"coalesce({words[c]}, '') = ''" if c in words else f"{quoted(c)} IS NULL"
        for c in kinds
    ]
    empty, partly = (f"({word.join(gone)})" for word in (" AND ", " OR "))
    totals = ", ".join(map(text_in_sql, sorted(TOTALS)))
    total = " OR ".join(
        f"coalesce(rtrim({w}, ':. '), '') IN ({totals})" for w in words.values()
    )
    total = f"({total or 'false'})"
    asked = (empty, total, f"{total} AND {partly}")
    found = rows.aggregate(", ".join(f"count(*) FILTER ({x})" for x in asked))
    blank, sums, lacking = found.fetchall()[0]
    if blank:
        tell([f"{counted(blank, 'empty row')} left out."])
        rows = rows.filter(f"NOT {empty}")
    if sums == 1 or 0 < sums == lacking:  # others are a value like any other
        row = "The row of a total was" if sums == 1 else f"{sums} rows of totals were"
        tell([f"{row} left out."])
        rows = rows.filter(f"NOT {total}")
    return rows


def _named_once(read: Reader, rows: DuckDBPyRelation) -> DuckDBPyRelation:
    """Trim the names of columns; number those that a header has twice.

    DuckDB would number the second one only, and take the first for what was meant.
    """
    names = [" ".join(n.split()) for n in rows.columns]
    lower = Counter(n.lower() for n in names)
    if any((m := _NUMBERED.match(n)) and m[1].lower() in lower for n in names):
        first = read(header="false", all_varchar="true").limit(1).fetchall()[0]
        written = [str(v or "").strip() for v in first]
        times, seen = Counter(v.lower() for v in written), Counter[str]()
        for k, v in enumerate(written if len(written) == len(names) else ()):
            seen[v.lower()] += 1
            if v and times[v.lower()] > 1:
                names[k] = f"{v} ({seen[v.lower()]})"
    if names == rows.columns or len(set(names)) < len(names):
        return rows
    pairs = zip(rows.columns, names, strict=True)
    return rows.select(", ".join(f"{quoted(a)} AS {quoted(b)}" for a, b in pairs))


def _has_decimal_commas(rows: DuckDBPyRelation, names: Sequence[str]) -> bool:
    """Does some column of text hold numbers with a decimal comma, and nothing else?"""
    kinds = dict(zip(rows.columns, map(str, rows.types), strict=True))
    text = [quoted(n) for n in names if kinds[n] == "VARCHAR"]
    if not text:
        return False
    some = rows.select(", ".join(text)).limit(1000).fetchall()

    def has_them(values: Sequence[str]) -> bool:
        sure = any("," in v and not THOUSANDS.fullmatch(v) for v in values)
        return sure and all(v and _COMMA.fullmatch(v) for v in values)

    columns = ([v.strip() for v in c if v is not None] for c in zip(*some, strict=True))
    return any(map(has_them, columns))
