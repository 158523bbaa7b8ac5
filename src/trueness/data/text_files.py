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
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from trueness._core.checks import options as _options
from trueness._core.checks.errors import InputError
from trueness._core.checks.words import listing
from trueness._core.files import temporary_folder
from trueness._core.imports import required
from trueness._core.numbers import counted
from trueness.data.cleaning import MISSING, THOUSANDS, TOTALS, normal_form, tell
from trueness.data.engines import quoted, text_in_sql

# rows from which DuckDB guesses the types of text files
SAMPLE_ROWS = 1_000_000
# text files up to this size are looked at before they are counted
_MAX_BYTES_LOOKED_AT = 1 << 27
# separators in a line of three columns: in a table of two, one may well be empty
_MIN_SEPARATORS = 2
# where a second header is looked for
_HEADER_LINES = 6
_HEAD_CHARACTERS = 100_000
_SEPARATORS = ";,\t|"
_ANY_SEPARATOR = re.compile("[;,\t|]")
# the line by which Excel learns the separator
_SEPARATOR_LINE = re.compile(r"sep=(.)\r?\n")
# a field between spaces, or between quotation marks
_SPACED_FIELD = re.compile(r'"[^"]*"|[^\s"]+')
# what DuckDB makes of a name that a header has twice
_NUMBERED_NAME = re.compile(r"(.+)_\d+$")
# [mg/l], (years)
_UNIT = re.compile(r"\[.*\]|\(.*\)")
# whole numbers and numbers with a decimal comma
_DECIMAL_COMMA = re.compile(r"[+-]?\d*(,\d+)?([eE][+-]?\d+)?")

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

    copies = _corrected_copies(files)
    if copies is None:
        read = csv_reader(connection, files, _encoding(files))
    else:
        read = csv_reader(connection, copies, None)

    duckdb = required("duckdb", "files")

    try:
        rows = _open_rows(read, files, types or {}, decimal)
        rows = _without_empty_rows_and_totals(_with_distinct_names(read, rows), files)
        if copies is not None:
            rows.to_table("_trueness_copy")
            rows = connection.table("_trueness_copy")
            for copy in copies:
                Path(copy).unlink()
    except duckdb.InvalidInputException as err:
        if "dialect" not in str(err):
            raise
        _stop_at_odd_line(files, err)
        raise InputError(
            f"{listing(files)} cannot be read as CSV: lines differ in their number of "
            "fields, or a value holds a line break or a lone quotation mark. Correct "
            "those lines, or save the table as Parquet."
        ) from err

    return rows


def _open_rows(
    read: Reader, files: Sequence[str], types: Mapping[str, str], decimal: str | None
) -> DuckDBPyRelation:
    """Open the rows with the decimal sign that their numbers have."""
    rows = _open_with_decimal(read, files, types, decimal)

    # times with a zone are kept as they are written
    as_text = [name for name in _columns_with_time_zone(rows) if name not in types]
    column_types = {**types, **dict.fromkeys(as_text, "VARCHAR")}
    if as_text:
        rows = _open_with_decimal(read, files, column_types, decimal)

    guessed = [name for name in rows.columns if name not in types]
    if decimal is None and _has_decimal_commas(rows, guessed):
        rows = _open_with_decimal(read, files, column_types, ",")
        tell(["The comma was read as the decimal sign."], warn=False)

    return rows


def _open_with_decimal(
    read: Reader, files: Sequence[str], types: Mapping[str, str], decimal: str | None
) -> DuckDBPyRelation:
    """Open the rows with a decimal sign; lines that are too short are filled up."""
    settings = {"decimal_separator": text_in_sql(decimal or ".")}
    settings |= _types_in_sql(types)
    rows = read(**settings)
    if len(rows.columns) != 1:
        return rows

    only_name = rows.columns[0]
    separator = _ANY_SEPARATOR.search(only_name)
    if separator is None:
        return rows

    # lines of different lengths: DuckDB took all of their fields for one column
    settings["delim"] = text_in_sql(separator[0])
    settings["null_padding"] = "true"
    padded = read(**settings)
    if len(padded.columns) == only_name.count(separator[0]) + 1:
        tell(
            ["Lines with fewer fields than the header were padded with missing values."]
        )
        return padded

    _stop_at_odd_line(files)
    return rows


def _types_in_sql(types: Mapping[str, str]) -> dict[str, str]:
    """Write the types of columns as a setting of the reader."""
    pairs = [f"{text_in_sql(str(k))}: {text_in_sql(str(v))}" for k, v in types.items()]
    return {"types": f"{{{', '.join(pairs)}}}"} if pairs else {}


def _type_names(rows: DuckDBPyRelation) -> dict[str, str]:
    """Return the type of each column as DuckDB writes it."""
    names = [str(column_type) for column_type in rows.types]
    return dict(zip(rows.columns, names, strict=True))


def _columns_with_time_zone(rows: DuckDBPyRelation) -> list[str]:
    """Return the columns that hold times with a time zone."""
    types = _type_names(rows)
    return [name for name in types if types[name].endswith("WITH TIME ZONE")]


def csv_reader(
    connection: DuckDBPyConnection, files: Sequence[str], encoding: str | None
) -> Reader:
    """Read CSV files by SQL: the method of the same name finds other headers in a list.

    Values of settings are written as they stand in SQL.
    """
    usual = {
        "sample_size": str(SAMPLE_ROWS),
        "union_by_name": str(len(files) > 1).lower(),
        # a row that begins with #N/A is no comment
        "comment": "''",
    }
    if encoding:
        usual["encoding"] = text_in_sql(encoding)

    def read(some: Sequence[str] = files, **settings: str) -> DuckDBPyRelation:
        all_settings = usual | settings
        if (
            not encoding
            and settings.keys() <= {"decimal_separator"}
            and _is_large(some)
        ):
            dialect = _dialect(connection, some[0], all_settings)
            all_settings = dialect or all_settings

        places = ", ".join(map(text_in_sql, some))
        return connection.sql(f"FROM read_csv([{places}]{_in_sql(all_settings)})")

    return read


def _in_sql(settings: Mapping[str, str]) -> str:
    """Write settings as arguments that follow the first one."""
    return "".join(f", {name}={value}" for name, value in settings.items())


def _is_large(files: Sequence[str]) -> bool:
    """Return whether this is one file, too large to be loaded, that is asked often."""
    is_one_file = len(files) == 1 and os.path.isfile(files[0])
    return is_one_file and os.path.getsize(files[0]) > _MAX_BYTES_LOOKED_AT


_NO_SIGN = "(empty)"  # so DuckDB writes that there is no such sign


def _dialect(
    connection: DuckDBPyConnection, file: str, settings: Mapping[str, str]
) -> dict[str, str] | None:
    """Return settings that say how a file is written, as DuckDB finds it out.

    It would find out anew for each question, from a million rows. None where it cannot.
    """
    fixed = {name: settings[name] for name in settings if name != "union_by_name"}
    place = f"sniff_csv({text_in_sql(file)}{_in_sql(fixed)})"

    try:
        rows = connection.sql(f"FROM {place}")
        (values,) = rows.fetchall()
    except required("duckdb", "files").Error:
        return None  # opening the file says what is wrong

    sniffed = dict(zip(rows.columns, values, strict=True))
    types = {column["name"]: column["type"] for column in sniffed["Columns"]}
    if len(types) < len(sniffed["Columns"]):
        return None  # two columns have one name

    signs = {
        "delim": sniffed["Delimiter"],
        "quote": sniffed["Quote"],
        "escape": sniffed["Escape"],
        "new_line": sniffed["NewLineDelimiter"],
    }
    formats = {
        "dateformat": sniffed["DateFormat"],
        "timestampformat": sniffed["TimestampFormat"],
    }

    return {
        **fixed,
        "auto_detect": "false",
        "skip": str(sniffed["SkipRows"]),
        "header": str(sniffed["HasHeader"]).lower(),
        "columns": _types_in_sql(types)["types"],
        **{k: text_in_sql("" if v == _NO_SIGN else v) for k, v in signs.items()},
        **{k: text_in_sql(v) for k, v in formats.items() if v},
    }


def _encoding(files: Sequence[str]) -> str | None:
    """Return the encoding of files that are too large for a copy; None is UTF-8."""
    for file in files:
        if not os.path.isfile(file) or file.endswith((".gz", ".zst")):
            continue
        with open(file, "rb") as stream:
            name = _encoding_of(stream.read(_MAX_BYTES_LOOKED_AT), file)
        if name.startswith("utf-16"):
            return "utf-16"
        if name != "utf-8":
            return "latin-1"

    return None


def _encoding_of(head: bytes, file: str) -> str:
    """Return the encoding; bytes that are no UTF-8 are taken for Windows-1252."""
    if head.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        return "utf-16"

    # without a mark: of letters of two bytes one is zero nearly always
    beginning = head[:4000]
    even_zeros = beginning[::2].count(0)
    odd_zeros = beginning[1::2].count(0)
    further_bytes = max(even_zeros, odd_zeros)
    fewer = min(even_zeros, odd_zeros)
    if further_bytes > len(beginning) // 5 and fewer < further_bytes // 4:
        return "utf-16-be" if even_zeros > odd_zeros else "utf-16-le"

    try:
        # the last letter may have been cut
        codecs.getincrementaldecoder("utf-8")().decode(head)
    except UnicodeDecodeError:
        called = "Latin-1 (Windows-1252)"
        tell([f"{os.path.basename(file)} was read as {called}, since it is not UTF-8."])
        return "cp1252"

    return "utf-8"


def _corrected_copies(files: Sequence[str]) -> list[str] | None:
    """Write copies that DuckDB reads rightly; None where the files are fine.

    Files that are too large to look at, or elsewhere, are taken as they are.
    """
    texts = []
    bytes_left = _MAX_BYTES_LOOKED_AT
    changed = False

    for file in files:
        raw = _unpacked(file, bytes_left + 1) if os.path.isfile(file) else None
        if raw is None or len(raw) > bytes_left:
            return None

        bytes_left -= len(raw)
        if not raw.strip():
            raise InputError(f"{file} is empty. Is it the right file?")

        encoding = _encoding_of(raw, file)
        errors = "replace" if encoding == "cp1252" else "ignore"
        text = raw.decode(encoding, errors).lstrip("\ufeff")
        corrected = _without_repeated_header(_only_table(text))
        corrected = _with_one_header(corrected)
        corrected = _with_tabs_for_spaces(corrected)
        texts.append(corrected)

        if encoding != "utf-8" or corrected != text:
            changed = True

    if not changed:
        return None

    folder = temporary_folder()
    copies = []
    for number, text in enumerate(texts):
        copy = folder / f"{number}.csv"
        copy.write_text(text, encoding="utf-8", newline="")
        copies.append(str(copy))

    return copies


def decoded(file: str) -> str:
    """Return the text of an uncompressed file, without the mark of its encoding."""
    raw = Path(file).read_bytes()
    return raw.decode(_encoding_of(raw, file), "replace").lstrip("\ufeff")


def separators(text: str) -> list[str]:
    """Return the signs that may separate the fields of a text, the likeliest first."""
    head = text[:_HEAD_CHARACTERS]
    present = [sign for sign in _SEPARATORS if sign in head]
    return sorted(present, key=head.count, reverse=True)


def _unpacked(file: str, max_bytes: int) -> bytes | None:
    """Return the bytes of a file, unpacked as far as that; None where it is broken."""
    packed = file.endswith((".gz", ".zst"))
    arrow = required("pyarrow", "files") if packed else None

    try:
        with arrow.input_stream(file) if arrow else open(file, "rb") as stream:
            return bytes(stream.read(max_bytes))
    except OSError:  # DuckDB says what is wrong with it
        return None


def _stop_at_odd_line(files: Sequence[str], cause: Exception | None = None) -> None:
    """Raise an error for a line with more fields than the first and most others."""
    for file in files:
        if not os.path.isfile(file):
            continue

        raw = _unpacked(file, _MAX_BYTES_LOOKED_AT) or b""
        text = raw.decode("utf-8", errors="replace")
        separator = _ANY_SEPARATOR.search(text.partition("\n")[0])
        if separator is None:
            continue

        odd = _longer_line(text, separator[0])
        if odd is not None:
            raise InputError(
                f"Line {odd.number:,} of {file} has {odd.fields} fields, and the "
                f"first has {odd.usual_fields}. Correct that line."
            ) from cause


class OddLine(NamedTuple):
    """A line with more fields than the first."""

    number: int
    fields: int
    usual_fields: int


def _longer_line(text: str, separator: str) -> OddLine | None:
    """Return the first line that is longer than the first one and most others."""
    rows = csv.reader(io.StringIO(text, newline=""), delimiter=separator)
    try:
        sizes = [(len(row), rows.line_num) for row in rows]
    except csv.Error:
        # a field without an end
        return None

    usual_fields, _ = sizes[0]
    as_long = sum(fields == usual_fields for fields, _ in sizes)
    if 2 * as_long <= len(sizes):
        return None

    for fields, number in sizes:
        if fields > usual_fields:
            return OddLine(number, fields, usual_fields)

    return None


def _only_table(text: str) -> str:
    """Return the text of the table, without lines above and below it and NUL signs."""
    if "\0" in text:
        tell([f"{counted(text.count(chr(0)), 'NUL sign')} left out."])
        text = text.replace("\0", "")

    separator_line = _SEPARATOR_LINE.match(text)
    if separator_line:
        text = text[separator_line.end() :]

    lines = text[:_HEAD_CHARACTERS].splitlines()[:200]
    lines_with = Counter(s for line in lines for s in _SEPARATORS if s in line)
    if separator_line:
        separator = separator_line[1]
    elif lines_with:
        separator = max(lines_with, key=lambda sign: lines_with[sign])
    else:
        return text

    if lines_with[separator] < len(lines) // 2:
        return text
    return _without_last_lines(text, separator)


def _without_last_lines(text: str, separator: str) -> str:
    """Return the text without last lines of one field, such as notes.

    A spreadsheet writes the separators of the empty cells beside a note.
    """
    has_several_columns = text.partition("\n")[0].count(separator) >= _MIN_SEPARATORS
    end = len(text)
    while end:
        line_feed = text.rfind("\n", 0, end - 1)
        carriage_return = text.rfind("\r", 0, end - 1)
        start = max(line_feed, carriage_return) + 1
        last_line = text[start:end]
        is_sentence = has_several_columns and _is_sentence_alone(last_line, separator)
        if separator in last_line and not is_sentence:
            break
        end = start

    note = text[end:].strip(f" \r\n{separator}")
    # a line break between quotation marks is part of a field
    inside_field = text.count('"', 0, end) % 2 == 1
    if not note or inside_field:
        return text

    first, *more = note.splitlines()
    lines = f"the last {len(more) + 1} lines" if more else "the last line"
    tell([f"Left out {lines}, which are not rows of data: {first[:60]!r}."])

    return text[:end]


def _is_sentence_alone(line: str, separator: str) -> bool:
    """Return whether the first field has several words, and the others are empty.

    An empty line is one, too; a single word may name a case without a result.
    """
    first, *others = [field.strip(' "\r\n') for field in line.split(separator)]
    return not any(others) and (not first or len(first.split()) > 1)


def _without_repeated_header(text: str) -> str:
    """Leave out later lines that are the header once more, as of pages put together.

    The line of units below the header is repeated with it.
    """
    header = text.partition("\n")[0].rstrip("\r")
    has_names = _ANY_SEPARATOR.search(header) and not any(
        map(_is_number, _ANY_SEPARATOR.split(header))
    )
    if not has_names or f"\n{header}" not in text:
        return text

    first, *others = text.splitlines(keepends=True)
    second = others[0].strip() if others else ""
    # a line with numbers is a case, and not one of units
    second_has_units = not any(map(_is_number, _ANY_SEPARATOR.split(second)))
    rows = []
    numbers: list[int] = []
    for number, line in enumerate(others, 2):
        is_header = line.rstrip("\r\n") == header
        follows_header = bool(numbers) and numbers[-1] == number - 1
        repeats_units = second_has_units and number > 3 and line.strip() == second
        if is_header or (follows_header and repeats_units):
            numbers.append(number)
        else:
            rows.append(line)

    if numbers:
        repeated = f"{counted(len(numbers), 'line')} left out: the header once more"
        tell([f"{repeated}, first in line {numbers[0]:,}."])
    return "".join([first, *rows])


def _with_one_header(text: str) -> str:
    """Return the text with one header, without a second one or a line of titles above.

    The second line is no case where it has words, in columns in which all of the next
    lines have a number.
    """
    lines = text[:_HEAD_CHARACTERS].splitlines(keepends=True)[:_HEADER_LINES]
    head = "".join(lines)
    likely_separators = separators(head)
    # in quotes a line may end within a field
    if not likely_separators or len(lines) < _HEADER_LINES or '"' in head:
        return text

    rows = []
    for line in lines:
        fields = line.rstrip("\r\n").split(likely_separators[0])
        rows.append([field.strip() for field in fields])

    upper, lower, *data_rows = rows
    if any(len(row) != len(upper) for row in rows):
        return text
    if not _are_two_headers(upper, lower, data_rows):
        return text

    # titles above several columns leave cells empty, or repeat themselves
    distinct_titles = {field for field in upper if field}
    upper_is_titles = len(distinct_titles) < len(upper)
    # pandas leaves the cell above the names of the rows empty
    lower_is_names = len(set(lower)) == len(lower) and all(lower[1:])
    left_out = 0 if upper_is_titles and lower_is_names else 1

    shown = lines[left_out].strip()[:60]
    tell([f"Left out line {left_out + 1}, a second header: {shown!r}."])
    start = sum(len(line) for line in lines[:left_out])
    return text[:start] + text[start + len(lines[left_out]) :]


def _are_two_headers(
    upper: Sequence[str], lower: Sequence[str], data_rows: Sequence[Sequence[str]]
) -> bool:
    """Return whether two lines have words where all of the next have numbers."""
    if any(_is_number(field) for field in (*upper, *lower)):
        return False

    numeric = []
    for column in range(len(upper)):
        if all(_is_number(row[column]) for row in data_rows):
            numeric.append(column)

    # a missing value in the second line makes it a case, unless the others are units
    is_missing = [
        normal_form(field) in MISSING and bool(above)
        for field, above in zip(lower, upper, strict=True)
    ]
    are_units = all(
        missing or not field or _UNIT.fullmatch(field)
        for field, missing in zip(lower, is_missing, strict=True)
    )
    has_missing = any(is_missing[column] for column in numeric)
    return bool(numeric) and (not has_missing or (are_units and not all(is_missing)))


def _with_tabs_for_spaces(text: str) -> str:
    """Write a table whose columns are set apart by spaces with tabs between them.

    DuckDB would take such a line for one number with spaces between its thousands.
    R writes one name fewer than columns: the first column has the names of the rows.
    """
    header = text[:_HEAD_CHARACTERS].partition("\n")[0]
    if _ANY_SEPARATOR.search(header) or len(header.split()) < 2:
        return text

    rows = [_SPACED_FIELD.findall(line) for line in text.splitlines()]
    rows = [row for row in rows if row]
    names, *cases = rows
    sizes = {len(row) for row in cases}
    if sizes == {len(names) + 1}:
        names = ["row", *names]
    if sizes != {len(names)} or any("\t" in field for row in rows for field in row):
        return text

    tell([f"Spaces were read as the separator of {len(names)} columns."], warn=False)
    return "".join("\t".join(row) + "\n" for row in [names, *cases])


def _is_number(field: str) -> bool:
    """Return whether a field is a number, in any way that people write one."""
    plain = field.strip("%\u20ac$ ").replace(" ", "").lower()
    return bool(re.fullmatch(r"[+-]?[\d.,']*\d[\d.,']*(e[+-]?\d+)?", plain))


def _without_empty_rows_and_totals(
    rows: DuckDBPyRelation, files: Sequence[str]
) -> DuckDBPyRelation:
    """Return rows without empty ones and totals, which are no cases."""
    sizes = [os.path.getsize(file) for file in files if os.path.isfile(file)]
    if len(sizes) < len(files) or sum(sizes) > _MAX_BYTES_LOOKED_AT:
        return rows

    conditions = _RowConditions.of(_type_names(rows))
    numbers = rows.aggregate(
        f"count(*) FILTER ({conditions.empty}), "
        f"count(*) FILTER ({conditions.total}), "
        f"count(*) FILTER ({conditions.total} AND {conditions.incomplete})"
    )
    empty_rows, totals, incomplete_totals = numbers.fetchall()[0]
    if empty_rows:
        tell([f"{counted(empty_rows, 'empty row')} left out."])
        rows = rows.filter(f"NOT {conditions.empty}")

    # several complete rows with such a word have it as a value like any other
    if totals == 1 or 0 < totals == incomplete_totals:
        which = (
            "The row of a total was" if totals == 1 else f"{totals} rows of totals were"
        )
        tell([f"{which} left out."])
        rows = rows.filter(f"NOT {conditions.total}")

    return rows


class _RowConditions(NamedTuple):
    """SQL that tells rows that are no cases."""

    empty: str  # nothing in any column
    incomplete: str  # nothing in some column
    total: str  # a word such as "total" in some column

    @classmethod
    def of(cls, types: Mapping[str, str]) -> _RowConditions:
        """Write the conditions for columns of these types."""
        is_empty = []
        is_total = []
        totals = ", ".join(text_in_sql(word) for word in sorted(TOTALS))

        for name, column_type in types.items():
            if column_type != "VARCHAR":
                is_empty.append(f"{quoted(name)} IS NULL")
                continue
            word = f"lower(trim({quoted(name)}))"
            is_empty.append(f"coalesce({word}, '') = ''")
            is_total.append(f"coalesce(rtrim({word}, ':. '), '') IN ({totals})")

        return cls(
            empty=f"({' AND '.join(is_empty)})",
            incomplete=f"({' OR '.join(is_empty)})",
            total=f"({' OR '.join(is_total) or 'false'})",
        )


def _with_distinct_names(read: Reader, rows: DuckDBPyRelation) -> DuckDBPyRelation:
    """Trim the names of columns; number those that a header has twice.

    DuckDB would number the second one only, and take the first for what was meant.
    """
    names = [" ".join(name.split()) for name in rows.columns]
    if _may_be_numbered(names):
        header = read(header="false", all_varchar="true").limit(1).fetchall()[0]
        written = [str(value or "").strip() for value in header]
        if len(written) == len(names):
            names = _number_repeated(names, written)

    if names == rows.columns or len(set(names)) < len(names):
        return rows

    renamed = []
    for old_name, new_name in zip(rows.columns, names, strict=True):
        renamed.append(f"{quoted(old_name)} AS {quoted(new_name)}")
    return rows.select(", ".join(renamed))


def _may_be_numbered(names: Sequence[str]) -> bool:
    """Return whether "p_1" stands beside "p", as DuckDB writes a repeated name."""
    lower_names = {name.lower() for name in names}
    for name in names:
        match = _NUMBERED_NAME.match(name)
        if match and match[1].lower() in lower_names:
            return True
    return False


def _number_repeated(names: Sequence[str], written: Sequence[str]) -> list[str]:
    """Return names in which those that were written several times are numbered."""
    times = Counter(word.lower() for word in written)
    names_so_far: Counter[str] = Counter()

    distinct = []
    for name, word in zip(names, written, strict=True):
        names_so_far[word.lower()] += 1
        repeated = word and times[word.lower()] > 1
        distinct.append(f"{word} ({names_so_far[word.lower()]})" if repeated else name)

    return distinct


def _has_decimal_commas(rows: DuckDBPyRelation, names: Sequence[str]) -> bool:
    """Return whether a column of text holds nothing but numbers with decimal commas."""
    types = _type_names(rows)
    text_columns = [quoted(name) for name in names if types[name] == "VARCHAR"]
    if not text_columns:
        return False

    head = rows.select(", ".join(text_columns)).limit(1000).fetchall()
    for column in zip(*head, strict=True):
        texts = [text.strip() for text in column if text is not None]
        if all(text and _DECIMAL_COMMA.fullmatch(text) for text in texts):
            # 1,234 alone may be a thousand
            beyond_doubt = [text for text in texts if not THOUSANDS.fullmatch(text)]
            if any("," in text for text in beyond_doubt):
                return True

    return False
