"""How do files and databases become a frame that is counted where it is?

Through DuckDB: nothing is loaded, and memory is bounded.
"""

from __future__ import annotations

import bz2
import json
import os
import re
import shutil
import sqlite3
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing, suppress
from glob import glob
from pathlib import Path
from typing import TYPE_CHECKING, Any
from uuid import uuid4
from zipfile import BadZipFile, ZipFile

from trueness._core.checks import options as _options
from trueness._core.checks.errors import InputError, PythonCode
from trueness._core.checks.words import described, is_several, listing, nearest
from trueness._core.files import process_folder, temporary_folder
from trueness._core.imports import HigherFunction, required
from trueness._core.progress import progress
from trueness.counts.design import ARGUMENTS as DESIGN
from trueness.data.engines import (
    CONNECTIONS,
    first_lines,
    quoted,
    reading,
    text_in_sql,
    without_password,
)
from trueness.data.nested_columns import (
    holds_pandas_json,
    in_memory,
    in_plain_columns,
    read_pandas_json,
)
from trueness.data.spreadsheets import is_spreadsheet, sheet_as_csv
from trueness.data.storage import are_counts
from trueness.data.text_files import SAMPLE_ROWS, csv_reader, read_csv

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection, DuckDBPyRelation

Source = str | os.PathLike[str]

# the counts of declarations
DECLARED_COUNTS: HigherFunction[Callable[[Sequence[str], str | None], Any]] = (
    HigherFunction("declared_counts")
)
_PAGE_ENDINGS = (".html", ".htm")
# the beginning of the data of a declaration, without its spaces
_BEGINNING_OF_DECLARATION = b'{"trueness":"declaration"'
_COMPRESSED_ENDINGS = (".gz", ".zst", ".bz2")
_KIND_OF_ENDING = {
    **dict.fromkeys((".parquet", ".pq"), "parquet"),
    **dict.fromkeys((".csv", ".tsv", ".txt", ".tab", ".dat"), "csv"),
    **dict.fromkeys((".json", ".jsonl", ".ndjson"), "json"),
    **dict.fromkeys((".feather", ".arrow", ".ipc"), "arrow"),
}
_PICKLE = (
    "is a pickle, which can run any program when it is opened; Trueness opens none. "
    "Save the table as Parquet, or pass the frame."
)
_FOREIGN = "is a file of {}. Read it as a frame and pass that, or save it as CSV."
# formats that are not read, and what to do instead
_OTHER_FORMATS = {
    **dict.fromkeys((".pkl", ".pickle", ".joblib"), _PICKLE),
    ".dta": _FOREIGN.format("Stata"),
    ".sav": _FOREIGN.format("SPSS"),
    **dict.fromkeys((".sas7bdat", ".xpt"), _FOREIGN.format("SAS")),
    **dict.fromkeys((".rds", ".rda", ".rdata"), _FOREIGN.format("R")),
    **dict.fromkeys((".npy", ".npz"), _FOREIGN.format("NumPy")),
}
_DATABASE_OF_ENDING = {
    **dict.fromkeys((".duckdb", ".db"), "duckdb"),
    **dict.fromkeys((".sqlite", ".sqlite3"), "sqlite"),
    **dict.fromkeys(("postgres", "postgresql"), "postgres"),
    "mysql": "mysql",
}
_TABLES_AND_VIEWS = ("table", "view")
# what is not a local file of these kinds needs an extension of DuckDB
_EXTENSIONS = {
    **dict.fromkeys(("http", "https", "s3", "s3a", "s3n", "gcs", "gs", "r2"), "httpfs"),
    **dict.fromkeys(("az", "azure", "abfss"), "azure"),
    "hf": "httpfs",
}


def scan(
    path: Source | Sequence[Source],
    *,
    table: str | None = None,
    types: Mapping[str, str] | None = None,
    union_by_name: bool = False,
    decimal: str | None = None,
    settings: Mapping[str, Any] | None = None,
) -> Any:
    r"""Files or a table of predictions, opened without loading them.

    Parameters
    ----------
    path
        A file, a glob such as ``"preds/*.parquet"``, a directory, or a list of these.
        Also an address (``s3://``, ``https://``, ``postgres://``, ``mysql://``) or a
        database file (``.duckdb``, ``.sqlite``). Files are Parquet, Arrow, CSV
        or JSON, the latter two also compressed (``.gz``, ``.zst``, ``.bz2``); a ZIP
        archive of one file; or a spreadsheet (``.xlsx``, ``.ods``), such as
        ``"preds.xlsx::Sheet2"``. From a declaration, or a report with its evidence, the
        counts are read.
    table
        The table of a database; or pass ``"preds.duckdb::table"`` as the path.
    types
        Types of CSV columns that were guessed wrong: ``{"p": "DOUBLE"}``.
    union_by_name
        By default files with different columns or types are an error. True converts
        them to common types, and fills a column that a file lacks with missing values.
    decimal
        The decimal separator of CSV files, "." or ",". None reads 0,5 as one half only
        where no other reading is possible.
    settings
        Settings of DuckDB, by their names there: ``memory_limit`` ("1GB" when it is not
        given; the rest goes to ``temp_directory``), ``threads``, ``s3_region``,
        ``extension_directory``, ``preserve_insertion_order`` to write rows back, ...

    Returns
    -------
    duckdb.DuckDBPyRelation
        Its methods, such as ``.filter("p > 0")``, narrow it down.

    Examples
    --------
    >>> import tempfile, trueness
    >>> from pathlib import Path
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder, "preds.csv")
    ...     _ = path.write_text("y,p\n1,0.9\n0,0.4\n1,0.4\n")
    ...     trueness.tally(trueness.scan(path), label="y", score="p")
    Tally: 3 cases (1 negative, 2 positive, 0 unknown),
    2 distinct scores from 0.4 to 0.9
    """
    places, table = _places(path, table)
    if _are_declarations(places):
        return DECLARED_COUNTS.load()(places, table)

    _check_mappings(settings, types)
    settings_as_text = {name: str(value) for name, value in (settings or {}).items()}
    connection = _connect(places, settings_as_text)
    # how a long text is written is found out by reading it
    with reading(), progress("Opening the file", unit=""):
        for name, value in settings_as_text.items():
            # DuckDB refuses a name that it does not know
            if not name.replace("_", "").isalnum():
                raise InputError(
                    f"settings has no name of DuckDB in it: {name!r}.",
                    option="settings",
                )
            connection.execute(f"SET {name} = {text_in_sql(value)}")

        if len(places) == 1 and _kind_of_database(places[0]):
            return _open_table(connection, places[0], table)

        if table is not None:
            raise InputError(
                f"{places[0]} has no table {table!r}: it is not a database "
                f"({listing(_DATABASE_OF_ENDING, 9)})."
            )

        return _open_files(connection, places, types, union_by_name, decimal)


def _places(
    path: Source | Sequence[Source], table: str | None
) -> tuple[list[str], str | None]:
    """Return the names of files, unpacked and as CSV, and the table that is named.

    A table may stand behind the name of a database or a spreadsheet: "a.xlsx::Sheet2".
    """
    sources: list[Any] = list(path) if is_several(path) else [path]
    for source in sources:
        _options.file_path(source, "scan")

    places = [os.fsdecode(source) for source in sources]
    if not places:
        raise InputError("scan needs at least one file; found an empty list.")

    is_single = len(places) == 1
    if is_single and "::" in places[0] and not os.path.isfile(places[0]):
        places[0], _, table = places[0].rpartition("::")

    places = [_unpack(place) for place in places]
    if is_single and is_spreadsheet(places[0]) and os.path.isfile(places[0]):
        return [sheet_as_csv(places[0], table)], None
    return places, table


def _check_mappings(
    settings: Mapping[str, Any] | None, types: Mapping[str, str] | None
) -> None:
    """Raise an error unless settings and types are mappings, if there are any."""
    if settings is not None and not isinstance(settings, Mapping):
        raise InputError(
            "settings must be a mapping from name to value; found "
            f"{described(settings)}.",
            option="settings",
            example=PythonCode('{"s3_region": "eu-central-1"}'),
        )

    if types is not None and not isinstance(types, Mapping):
        raise InputError(
            f"types must be a mapping from column to type; found {described(types)}.",
            option="types",
            example=PythonCode('{"p": "DOUBLE"}'),
        )


def _are_declarations(places: Sequence[str]) -> bool:
    """Return whether these are pages or data of declarations, which hold counts."""
    files = [file for place in places for file in files_of_place(place)]
    return bool(files) and all(_is_declaration(file) for file in files)


def _is_declaration(file: str) -> bool:
    """Return whether this is a page, or JSON that begins as a declaration does."""
    ending = Path(file).suffix.lower()
    if ending in _PAGE_ENDINGS:
        return os.path.isfile(file)
    if ending != ".json" or not os.path.isfile(file):
        return False

    beginning = b"".join(_first_bytes(file, 200).split())
    return beginning.startswith(_BEGINNING_OF_DECLARATION)


def _connect(places: Sequence[str], settings: Mapping[str, str]) -> DuckDBPyConnection:
    """Return a new connection, with the extensions that these places need."""
    duckdb = required("duckdb", "files")
    # needed before an extension can be loaded; the others may belong to an extension
    settings_of_extensions = ("extension_directory", "custom_extension_repository")
    config: dict[str, Any] = {
        "memory_limit": "1GB",
        "preserve_insertion_order": False,  # counts know no order
        "autoinstall_known_extensions": False,  # no network without being asked
        # of this connection alone; DuckDB makes it when memory does not suffice
        "temp_directory": str(process_folder() / f"duckdb-{uuid4().hex}"),
        **{k: settings[k] for k in settings_of_extensions if k in settings},
    }

    with reading():
        connection: DuckDBPyConnection = duckdb.connect(":memory:", config=config)
        # DuckDB's own bar, which is drawn into files and pipes too; it must be on all
        # the same: without it DuckDB does not hear Ctrl-C. In a notebook it asks for
        # ipywidgets, although nothing is drawn
        with suppress(duckdb.InvalidInputException):
            connection.execute("SET enable_progress_bar = true")
            connection.execute("SET enable_progress_bar_print = false")

        if "threads" in settings:
            with suppress(duckdb.CatalogException):  # DuckDB 1 has none for reading
                connection.execute("SET async_threads = 1")

        CONNECTIONS.add(connection)

    for place in places:
        scheme = place.split("://")[0].lower() if "://" in place else ""
        extension = _kind_of_database(place) or _EXTENSIONS.get(scheme, "duckdb")
        if extension != "duckdb":
            _load_extension(connection, extension, place)

    return connection


def _load_extension(connection: DuckDBPyConnection, name: str, place: str) -> None:
    """Load an extension of DuckDB; the error of a missing one says how to get it."""
    import duckdb

    try:
        connection.load_extension(name)
        return
    except duckdb.Error:
        if "://" not in place:  # a file: nobody asked for a network
            csv = f"{os.path.splitext(os.path.basename(place))[0]}_table.csv"
            query = "'SELECT * FROM table'"
            raise InputError(
                f"{place} is a {name} database; reading it needs a DuckDB extension, "
                "which is not installed, and Trueness downloads none by itself. "
                "Write the table to a CSV file: "
                f"sqlite3 -header -csv {place} {query} > {csv}. Or "
                f"fetch the extension once: duckdb -c 'INSTALL {name}'."
            ) from None

    try:  # an address was given: DuckDB may fetch what it needs
        connection.install_extension(name)
        connection.load_extension(name)
    except duckdb.Error as err:
        ((platform,),) = connection.execute("PRAGMA platform").fetchall()
        raise InputError(
            f"{without_password(place)} needs the extension {name} of DuckDB, which "
            f"cannot be loaded here: {first_lines(err, 200)} Where there is a network "
            f"run INSTALL {name} in DuckDB; without one put {name}.duckdb_extension of "
            f"DuckDB {duckdb.__version__} for {platform} into "
            f"FOLDER/v{duckdb.__version__}/{platform}, where FOLDER is "
            "~/.duckdb/extensions, or another one.",
            example=PythonCode('scan(..., settings={"extension_directory": FOLDER})'),
        ) from None


def _open_files(
    connection: DuckDBPyConnection,
    places: list[str],
    types: Mapping[str, str] | None,
    union_by_name: bool,
    decimal: str | None,
) -> DuckDBPyRelation:
    """Return files of one kind as one relation."""
    files = [file for place in places for file in _data_files(place)]
    kind = _one_kind(files)

    for file in files:
        _check_first_bytes(file, kind)

    if kind == "arrow":
        return _read_arrow(connection, files)

    unpacked = [_without_bzip2(file) for file in files]
    files = [_literal(file) for file in unpacked]

    if types is not None and kind != "csv":
        raise InputError(
            f"Types of columns are for CSV files; {files[0]} has its own types.",
            option="types",
        )

    if len(files) > 1 and not union_by_name:
        _check_same_columns(connection, files, kind)
    if kind == "csv":
        return read_csv(connection, files, types, decimal)
    if kind == "json":
        return _read_json(connection, files, unpacked[0])
    return _read_parquet(connection, files, union_by_name)


def _one_kind(files: Sequence[str]) -> str:
    """Return the one kind of all files; raise an error for several kinds, or none."""
    kinds = {file: _kind_of_file(file) for file in files}
    of_no_kind = [file for file, kind in kinds.items() if kind is None]
    one_of_each_kind = list({kind: file for file, kind in kinds.items()}.values())
    if of_no_kind or len(one_of_each_kind) > 1:
        wrong = of_no_kind or one_of_each_kind
        ending = os.path.splitext(wrong[0])[1].lower()
        if ending in _OTHER_FORMATS:
            raise InputError(f"{wrong[0]} {_OTHER_FORMATS[ending]}")
        raise InputError(
            f"scan needs files of one kind, {listing(_KIND_OF_ENDING, 9)}, perhaps "
            f"with {' or '.join(_COMPRESSED_ENDINGS)}; found {listing(wrong)}."
        )

    return str(kinds[files[0]])


def _check_first_bytes(file: str, kind: str) -> None:
    """Raise an error for Parquet that is called otherwise, or the other way round."""
    head = _first_bytes(file)
    is_named_parquet = kind == "parquet"
    if not head or head.startswith(b"PAR") == is_named_parquet:
        return

    ending = "Parquet" if is_named_parquet else "text"
    contents = "none" if is_named_parquet else "Parquet"
    raise InputError(
        f"{file} has the ending of {ending}, but its content is {contents}. Is the "
        "file complete? Rename it to match its content."
    )


def _check_same_columns(
    connection: DuckDBPyConnection, files: list[str], kind: str
) -> None:
    """Raise an error for differing columns or types: a cast could change scores."""
    if kind == "parquet":
        rows = connection.execute(
            "SELECT file_name, list(name || ' ' || coalesce(logical_type, type)) "
            "FROM parquet_schema($files) WHERE type IS NOT NULL GROUP BY file_name",
            {"files": files},
        ).fetchall()
        columns = {name: set(columns_of_file) for name, columns_of_file in rows}
    elif kind == "json":
        names = [connection.read_json(file, sample_size=1000).columns for file in files]
        columns = dict(zip(files, map(set, names), strict=True))
    else:
        reader = csv_reader(connection, files, None)
        columns = {
            file: set(reader([file], sample_size="1000").columns) for file in files
        }

    # the columns of most files are right, those of the others odd
    files_by_columns = Counter(
        frozenset(columns_of_file) for columns_of_file in columns.values()
    )
    ((usual_columns, _),) = files_by_columns.most_common(1)
    odd_files = sorted(
        name
        for name, columns_of_file in columns.items()
        if columns_of_file != usual_columns
    )
    if odd_files:
        differences = sorted(columns[odd_files[0]] ^ usual_columns)
        raise InputError(
            f"All files must have the same columns; {len(odd_files)} of {len(columns)} "
            f"differ, first {odd_files[0]}, in {listing(differences)}. "
            "They can be combined by column name, with common types.",
            example=PythonCode("trueness.scan(..., union_by_name=True)"),
        )


def _unpack(place: str) -> str:
    """Return a copy of the one file of a ZIP archive; any other file as it is."""
    if not place.lower().endswith(".zip") or not os.path.isfile(place):
        return place

    try:
        with ZipFile(place) as archive:
            files = [
                entry
                for entry in archive.infolist()
                if not entry.is_dir() and not entry.filename.startswith("__MACOSX/")
            ]
            if len(files) != 1:
                raise InputError(
                    f"{place} must hold one file; it holds {len(files)}: "
                    f"{listing([entry.filename for entry in files], 5)}. Unpack it, "
                    "and name the file.",
                    option="file",
                )
            copy = temporary_folder() / f"unpacked {Path(files[0].filename).name}"
            with archive.open(files[0]) as packed, copy.open("wb") as unpacked:
                shutil.copyfileobj(packed, unpacked)
    except (BadZipFile, RuntimeError) as error:  # damaged, or with a password
        raise InputError(f"{place} cannot be unpacked: {error}.") from None

    return str(copy)


def _without_bzip2(file: str) -> str:
    """Return an unpacked copy of a bzip2 file, which DuckDB cannot read."""
    if not file.lower().endswith(".bz2") or "://" in file:
        return file
    copy = temporary_folder() / f"unpacked {os.path.basename(file)[:-4]}"
    with reading(), bz2.open(file) as packed, copy.open("wb") as unpacked:
        shutil.copyfileobj(packed, unpacked)
    return str(copy)


def _literal(file: str) -> str:
    """Return the name of a file so that DuckDB reads no pattern or home in it."""
    if "://" in file:
        return file
    if file.startswith("~"):  # else it would mean a home
        file = os.path.join(".", file)
    return re.sub(r"[*?\[]", r"[\g<0>]", file)


def files_of_place(place: str) -> list[str]:
    """Return the files that a name stands for: one, a pattern, or all of a folder."""
    if os.path.isdir(place):
        return sorted(str(path) for path in Path(place).rglob("*") if path.is_file())
    return [place] if os.path.exists(place) else sorted(glob(place, recursive=True))


def _data_files(place: str) -> list[str]:
    """Return the files of data that this name stands for."""
    if "://" in place:
        return [place]

    files = files_of_place(place)
    if not os.path.isdir(place):
        if not files:
            raise InputError(f"There is no file {place}. Is the folder right?")
        return files

    # Spark and others leave _SUCCESS, .crc and the like beside the data
    data_files = [
        file
        for file in files
        if os.path.basename(file)[0] not in "._" and _kind_of_file(file)
    ]
    if not data_files:
        raise InputError(
            f"There are no files with {listing(_KIND_OF_ENDING, 9)} in {place}."
        )
    return data_files


def _kind_of_file(name: str) -> str | None:
    """Return the kind of a file by its ending; None where it has no known one."""
    path = name.split("?")[0] if "://" in name else name
    stem, suffix = os.path.splitext(path.lower())
    if suffix in _COMPRESSED_ENDINGS:
        suffix = os.path.splitext(stem)[1]
    return _KIND_OF_ENDING.get(suffix)


def _read_parquet(
    connection: DuckDBPyConnection, files: list[str], union_by_name: bool
) -> DuckDBPyRelation:
    """Return the rows of Parquet files; counts have the sampling design beside them."""
    # folders named day=2026-11-15 are a column, as Hive and Spark write them
    folders = all("=" in os.path.basename(os.path.dirname(file)) for file in files)
    rows = connection.read_parquet(
        files, union_by_name=union_by_name, hive_partitioning=folders
    )
    if len(files) == 1 and are_counts(rows.columns):
        key = "SELECT decode(value) FROM parquet_kv_metadata($file) WHERE key = $key"
        parameters = {"file": files[0], "key": b"trueness"}
        for (metadata,) in connection.execute(key, parameters).fetchall():
            rows = rows.project(
                f"*{_design_columns(json.loads(metadata).get('design'))}"
            )
        return rows

    return in_plain_columns(rows)


def _read_arrow(connection: DuckDBPyConnection, files: list[str]) -> DuckDBPyRelation:
    """Return the rows of files of Arrow, also called Feather."""
    datasets = required("pyarrow.dataset", "files")
    try:
        rows = datasets.dataset(files, format="ipc")
    except (OSError, ValueError) as error:
        raise InputError(f"{files[0]} is no file of Arrow: {error}.") from None
    return in_plain_columns(connection.from_arrow(rows))


def _read_json(
    connection: DuckDBPyConnection, files: list[str], file: str
) -> DuckDBPyRelation:
    """Return the rows of JSON lines; counts have the sampling design beside them.

    ``file`` is the first of the files, by the name that it has on this machine.
    """
    read: Any = connection.read_json  # several files are more than its types say
    rows: DuckDBPyRelation = read(files, sample_size=SAMPLE_ROWS, union_by_name=True)
    types: dict[str, Any] = dict(zip(rows.columns, rows.types, strict=True))
    if len(files) == 1 and holds_pandas_json(types):
        columns_of_pandas = read_pandas_json(file)
        if columns_of_pandas is not None:
            return in_memory(connection, columns_of_pandas)

    if len(files) > 1 or not str(types.get("columns", "")).startswith("STRUCT"):
        return in_plain_columns(rows)

    names = [name for name, _ in types["columns"].children]
    if not are_counts(names):
        return in_plain_columns(rows)

    # a file in the format of counts: one object with the columns and the design
    design: dict[str, Any] = {}
    if "design" in types:
        design = rows.select("design").fetchall()[0][0]

    columns = []
    for name in names:
        columns.append(f"unnest(columns.{quoted(name)}) AS {quoted(name)}")
    return rows.project(", ".join(columns)).project(f"*{_design_columns(design)}")


def _design_columns(design: Mapping[str, Any] | None) -> str:
    """Return columns of SQL for the sampling design of counts."""
    stated = {
        name: value
        for name, value in (design or {}).items()
        if name in DESIGN and value is not None
    }
    return "".join(
        f", {text_in_sql(str(value))} AS {name}" for name, value in stated.items()
    )


def _kind_of_database(place: str) -> str | None:
    """Return the kind of a database; None when it is a file of data."""
    if _first_bytes(place).startswith(b"SQLite format 3"):  # whatever it is called
        return "sqlite"
    scheme = place.split("://")[0] if "://" in place else ""
    return _DATABASE_OF_ENDING.get(scheme) or _DATABASE_OF_ENDING.get(
        os.path.splitext(place)[1]
    )


def is_data(path: Path) -> bool:
    """Return whether this file holds data to be read, and is no saved map or note."""
    head = _first_bytes(str(path), 400)
    ending = path.suffix.lower()
    if ending == ".txt":
        return any(sign in head.partition(b"\n")[0] for sign in b",;|\t")

    # what Trueness has written itself names its format at the beginning
    is_our_own = b'"format"' in head or b'"trueness"' in head
    holds_counts = b'"trueness": "counts"' in head
    is_readable = bool(_kind_of_file(path.name)) or ending in _DATABASE_OF_ENDING

    return is_readable and bool(head) and (not is_our_own or holds_counts)


def _first_bytes(place: str, size: int = 16) -> bytes:
    """Return the first bytes of a file on this machine; nothing of any other place."""
    if not os.path.isfile(place):
        return b""
    with reading(), open(place, "rb") as file:
        return file.read(size)


def _open_table(
    connection: DuckDBPyConnection, place: str, table: str | None
) -> DuckDBPyRelation:
    """Return the rows of a table of a database."""
    if "://" not in place and not os.path.exists(place):
        raise InputError(f"There is no database {place}.")

    tables = _tables(connection, place)
    if table is None and len(tables) == 1:
        (table,) = tables

    if table not in tables:
        raise InputError(
            f"Name a table, as in {without_password(place)}::TABLE; found {table!r}, "
            f"and it has {listing(tables, 12) or 'no tables'}."
            f"{nearest(table, list(tables))}"
        )

    _refuse_generated_columns(connection, place, tables[table])
    path = ".".join(map(quoted, tables[table]))
    return connection.sql(f"SELECT * FROM source.{path}")  # noqa: S608 - quoted above


def _refuse_generated_columns(
    connection: DuckDBPyConnection, place: str, table: tuple[str, str]
) -> None:
    """Raise an error for generated columns: each is a program that reading runs.

    It may use all memory, and may return other values the next time.
    """
    schema, name = table
    has_generated_columns = False
    if _kind_of_database(place) == "duckdb":
        definition = connection.execute(
            "SELECT sql FROM duckdb_tables() WHERE database_name = 'source' "
            "AND schema_name = $schema AND table_name = $name",
            {"schema": schema, "name": name},
        ).fetchall()
        # DuckDB writes every definition anew, in these words
        has_generated_columns = any(
            "GENERATED ALWAYS AS" in str(sql) for (sql,) in definition
        )
    elif _kind_of_database(place) == "sqlite":
        has_generated_columns = _has_generated_columns(place, name)

    if has_generated_columns:
        raise InputError(
            f"Table {name!r} of {place} has generated columns, which are computed "
            f"whenever they are read. Store its values in another table: CREATE TABLE "
            f"stored AS FROM {quoted(name)}."
        )


def _has_generated_columns(place: str, table: str) -> bool:
    """Return whether a table of SQLite has columns that are computed."""
    address = f"{Path(place).absolute().as_uri()}?mode=ro"
    with closing(sqlite3.connect(address, uri=True)) as database:
        columns = database.execute(f"PRAGMA table_xinfo({quoted(table)})").fetchall()
    # the last entry is 2 or 3 for virtual and stored generated columns
    return any(column[-1] in (2, 3) for column in columns)


def tables_of(place: str, kinds: Sequence[str] = _TABLES_AND_VIEWS) -> list[str]:
    """Return the names of tables and views; no names where it is no database."""
    if not _kind_of_database(place) or (
        "://" not in place and not os.path.exists(place)
    ):
        return []
    connection = _connect([place], {})
    with reading():
        return list(_tables(connection, place, kinds))


def _tables(
    connection: DuckDBPyConnection, place: str, kinds: Sequence[str] = _TABLES_AND_VIEWS
) -> dict[str, tuple[str, str]]:
    """Open a database for reading; return the schema and name of each table."""
    engine = _kind_of_database(place)
    type_option = "" if engine == "duckdb" else f", TYPE {engine}"
    connection.execute(
        f"ATTACH {text_in_sql(place)} AS source (READ_ONLY{type_option})"
    )

    if engine == "duckdb":  # a view of it could read any file here, or a variable
        connection.execute("SET python_enable_replacements = false")
        connection.execute("SET enable_external_access = false")
        connection.execute("SET lock_configuration = true")

    rows = connection.execute(
        "SELECT schema_name, table_name, 'table' FROM duckdb_tables() "
        "WHERE database_name = 'source' UNION ALL "
        "SELECT schema_name, view_name, 'view' FROM duckdb_views() "
        "WHERE database_name = 'source' AND NOT internal"
    ).fetchall()

    return {
        (f"{schema}.{name}" if schema not in ("main", "public") else name): (
            schema,
            name,
        )
        for schema, name, kind in rows
        if kind in kinds
        and schema not in ("information_schema", "pg_catalog", "pg_toast")
    }
