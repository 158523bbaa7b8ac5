"""What did the judges say? Reads the logs of programs that run evaluations.

A format is one function, from what a file holds to rows: which item, which system, what
each judge said, and what else was noted of the case, where a label may be. ``FORMATS``
lists them with the keys by which a file is recognised.
"""

from __future__ import annotations

import json
import os
import re
import struct
import zipfile
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from typing import Any, NamedTuple, final

import numpy as np

from trueness._core.arrays import Array
from trueness._core.checks import options as _options
from trueness._core.checks.errors import InputError, NotEnoughCases, PythonCode
from trueness._core.files import as_written
from trueness._core.imports import required
from trueness._core.numbers import counted
from trueness._core.records import native_frame
from trueness.data.files import meant_by

ITEM, SYSTEM, TASK, CLUSTER = "item", "system", "task", "cluster"
# bytes that a log may unpack to, and values in its JSON: what is more is no log
MOST_BYTES = 2**29
MOST_VALUES = 10_000_000
_ENDINGS = (".eval", ".json", ".jsonl")
_LOCAL = 30  # bytes of the head of an entry of a ZIP file, before its name
_LONG = 200  # letters of a note that can be a label or a group
# what Inspect's own metrics make of its letters
_LETTERS = {"C": 1.0, "I": 0.0, "P": 0.5, "N": 0.0}
_WORDS = {"yes": 1.0, "true": 1.0, "no": 0.0, "false": 0.0}


class Row(NamedTuple):
    """One answer: of what and whom, what judges said, what else was noted."""

    item: str
    system: str
    said: Mapping[str, Any]
    noted: Mapping[str, Any]
    again: int = 1  # which epoch, repeat or attempt of the item it is


@final
@dataclass(frozen=True)
class VerdictLog:
    """What judges said of the answers of systems, one row per answer.

    Attributes
    ----------
    format : str
        Which program wrote it.
    judges : tuple of str
        The columns that hold verdicts: 1 is yes, 0 is no, a value between them is a
        grade, and NaN means that there is no verdict.
    columns : mapping from str to array
        ``item``, ``system``, one column per judge, and what else was recorded about a
        case, such as ``metadata.human``. Where items were answered several times
        (epochs, repeats), ``cluster`` is the item that each answer is of.
    """

    format: str
    judges: tuple[str, ...]
    columns: Mapping[str, Array]

    def __repr__(self) -> str:
        rows, systems = len(self.columns[ITEM]), set(self.columns[SYSTEM].tolist())
        return (
            f"VerdictLog of {self.format}: {counted(rows, 'answer')} of "
            f"{counted(len(systems), 'system')}, judged by {', '.join(self.judges)}"
        )

    def to_frame(self, backend: str | None = None) -> Any:
        """Give the rows as a frame; ``backend`` is pandas, polars, pyarrow or dict."""
        return native_frame({k: v.tolist() for k, v in self.columns.items()}, backend)


def read_verdicts(path: str | os.PathLike[str]) -> VerdictLog:
    """What did the judges say, in the log of an evaluation?

    Parameters
    ----------
    path
        A log of Inspect (``.eval`` or ``.json``), the results of promptfoo or DeepEval
        (``.json``), samples of the lm-evaluation-harness (``.jsonl``); a folder or a
        pattern such as ``"logs/*.eval"`` of these, all of one program.

    Notes
    -----
    Inspect: C is 1, I and N are 0, P is one half, as in its own metrics; a sample that
    failed has no verdicts. promptfoo: a judge is named after the ``metric`` of its
    assertion or, without one, after its type; ratings given by hand are in the column
    ``human``. DeepEval: the verdict is whether the metric reached its threshold.
    lm-evaluation-harness: the system is the folder of the file, since the samples do
    not name it.
    """
    place = os.fspath(_options.file_path(path, "read_verdicts"))
    files = meant_by(place)
    if os.path.isdir(place):
        files = [file for file in files if Path(file).suffix in _ENDINGS]
    if not files:
        raise InputError(f"There is no log {place}. Is the folder right?")
    known = {f: kind for f in files if (kind := log_format(f))}
    kinds = sorted({*known.values()})
    if len(kinds) != 1:
        found = f"logs of {' and '.join(kinds)}" if kinds else "none of these"
        raise InputError(
            f"read_verdicts needs logs of one of {', '.join(FORMATS)}; found {found} "
            f"in {os.fspath(path)}. Other tables of verdicts are opened as frames.",
            example=PythonCode("trueness.scan(path)"),
        )
    rows: list[Row] = []
    for file, kind in known.items():
        with as_written(file, f"a log of {kind}"):
            rows += FORMATS[kind][1](file)
    if len({r.noted.get(TASK) for r in rows}) > 1:  # each counts its own from the start
        rows = [r._replace(item=f"{r.noted.get(TASK)} {r.item}") for r in rows]
    return _table(kinds[0], rows, os.fspath(path))


def is_log(place: str) -> bool:
    """Is this a log that is known here, or a folder or a pattern with one in it?"""
    return any(log_format(file) is not None for file in meant_by(place))


def log_format(file: str) -> str | None:
    """Which program wrote this file? None when it is no log that is known here."""
    path = Path(file)
    if not path.is_file() or path.suffix.lower() not in _ENDINGS:
        return None
    if path.suffix.lower() == ".eval":
        return "Inspect"
    held = _first_object(path)
    for name, (known, _) in FORMATS.items():
        if any(held.keys() >= {*keys.split()} for keys in known):
            return name
    return None


def _first_object(path: Path) -> dict[str, Any]:
    """Read the one object of a JSON file, or that of the first line; else nothing."""
    with path.open(encoding="utf-8", errors="replace") as file:
        first, second = file.readline(), file.readline()
    if not first.lstrip().startswith("{"):
        return {}
    found = _parsed(first)
    if not isinstance(found, dict) and path.suffix.lower() == ".json" and second:
        found = _parsed(path.read_text(encoding="utf-8", errors="replace"))
    return found if isinstance(found, dict) else {}


def _parsed(text: str | bytes) -> Any:
    raw = text.encode() if isinstance(text, str) else text
    # each value follows a bracket or a comma; in memory it takes 20 times its letters
    if sum(map(raw.count, (b"[", b"{", b","))) > MOST_VALUES:
        raise InputError(
            f"This JSON holds more than {MOST_VALUES:,} values, which no log of an "
            "evaluation does. A table is read from JSON lines, Parquet or CSV."
        )
    try:
        return json.loads(text)
    except ValueError:
        return None
    except RecursionError:
        raise InputError(
            "This JSON is nested thousands of levels deep, which no log of an "
            "evaluation is. Is it the right file?"
        ) from None


def _json(file: str) -> Any:
    found = _parsed(Path(file).read_text(encoding="utf-8", errors="replace"))
    if found is None:
        raise InputError(f"{file} is incomplete: its JSON ends too early.")
    return found


def _table(kind: str, rows: list[Row], source: str) -> VerdictLog:
    """Put rows under one another; what one of them lacks is missing."""
    judges = tuple(dict.fromkeys(j for r in rows for j in r.said))
    if not judges:
        raise NotEnoughCases(
            f"{source} has {counted(len(rows), 'answer')} and no verdict. Did the "
            f"judges run?"
        )
    again = [f" (epoch {r.again})" if r.again > 1 else "" for r in rows]
    items = [r.item + more for r, more in zip(rows, again, strict=True)]
    columns: dict[str, Array] = {ITEM: np.array(items, object)}
    columns[SYSTEM] = np.array([r.system for r in rows], object)
    if any(again):  # repeats of an item are not independent
        columns[CLUSTER] = np.array([r.item for r in rows], object)
    names = [f"{j} (judge)" if j in (ITEM, SYSTEM, CLUSTER) else j for j in judges]
    for name, judge in zip(names, judges, strict=True):
        columns[name] = _column([_verdict(r.said.get(judge)) for r in rows])
    for name in dict.fromkeys(k for r in rows for k in r.noted):
        # a note never takes the place of a verdict
        key = f"{name} (noted)" if name in columns else name
        columns[key] = _column([r.noted.get(name) for r in rows])
    return VerdictLog(kind, tuple(names), columns)


def _column(values: list[Any]) -> Array:
    """Make numbers of numbers; everything else stays text."""
    if all(v is None or isinstance(v, (bool, int, float)) for v in values):
        with suppress(OverflowError):  # a whole number beyond every float stays text
            return np.array([np.nan if v is None else float(v) for v in values])
    return np.array([None if v is None else str(v) for v in values], object)


def _verdict(value: object) -> object:
    """Make a number of a verdict; words that are not known stay words."""
    if isinstance(value, str):
        return _LETTERS.get(value, _WORDS.get(value.lower(), value))
    return value


def _plain(noted: object, prefix: str) -> dict[str, Any]:
    """Keep of what was noted the single values; texts and lists are not columns."""
    if not isinstance(noted, Mapping):
        return {}
    return {
        f"{prefix}{k}": v
        for k, v in noted.items()
        if isinstance(v, (bool, int, float, str)) and len(str(v)) <= _LONG
    }


def _inspect(file: str) -> Iterator[Row]:
    """Read a log of Inspect: eval.model, and id, epoch, scores, metadata of samples."""
    if file.lower().endswith(".eval"):
        head, samples = _eval(file)
    else:
        held = _json(file)
        head, samples = held.get("eval") or {}, held.get("samples") or []
    system = str(head.get("model") or "")
    for s in samples:
        said: dict[str, Any] = {}
        for name, score in (s.get("scores") or {}).items():
            value = score.get("value") if isinstance(score, Mapping) else score
            if isinstance(value, Mapping):  # one scorer with several results
                said |= {f"{name}.{k}": v for k, v in value.items()}
            elif not isinstance(value, list):
                said[name] = value
        noted = {TASK: head.get("task"), **_plain(s.get("metadata"), "metadata.")}
        again = int(s.get("epoch") or 1)
        yield Row(str(s.get("id")), system, said, noted, again)


def _eval(file: str) -> tuple[dict[str, Any], list[Any]]:
    """Read head and samples of a ``.eval``: a ZIP file of JSON, often by Zstandard."""
    try:
        with zipfile.ZipFile(file) as held:
            names = set(held.namelist())
            # a run that was stopped has no header, but what it was started with
            heads = [n for n in ("header.json", "_journal/start.json") if n in names]
            if not heads:
                raise InputError(f"{file} is not a log of Inspect: it has no header.")
            if "summaries.json" in names:
                about, found = _entries(held, [heads[0], "summaries.json"])
            else:
                each = sorted(n for n in names if n.startswith("samples/"))
                about, *found = _entries(held, [heads[0], *each])
            return about["eval"], found
    except zipfile.BadZipFile:
        raise InputError(
            f"{file} is not a log of Inspect, or it was cut off: an .eval file is a "
            "ZIP file. A run that was stopped is recovered by: inspect log recover "
            f"{file}."
        ) from None


def _entries(held: zipfile.ZipFile, names: Iterable[str]) -> Iterator[Any]:
    """Read entries of a ZIP file; the limit counts what comes out of all of them."""
    left = MOST_BYTES
    for name in names:
        says = held.getinfo(name).file_size
        if says <= left:  # read no further than it says: it may hold more
            text = _unpacked(held, name, says)
        left -= says
        if left < 0:
            raise InputError(
                f"{held.filename} unpacks to more than {MOST_BYTES >> 20:,} MB, which "
                f"no log of an evaluation does ({name}). Is it the right file?"
            )
        found = _parsed(text)
        if found is None:
            raise InputError(
                f"{held.filename} is incomplete: {name} is not whole JSON."
            )
        yield found


def _unpacked(held: zipfile.ZipFile, name: str, most: int) -> bytes:
    try:
        with held.open(name) as file:
            return file.read(most)
    except NotImplementedError:  # Zstandard, which Python knows from 3.14 on
        arrow, info = required("pyarrow", "files"), held.getinfo(name)
    with open(str(held.filename), "rb") as file:
        file.seek(info.header_offset)
        lengths = struct.unpack("<HH", file.read(_LOCAL)[26:])  # of name and extra
        file.seek(sum(lengths), os.SEEK_CUR)
        packed = file.read(info.compress_size)
    stream = arrow.CompressedInputStream(arrow.BufferReader(packed), "zstd")
    return bytes(stream.read(most))


def _promptfoo(file: str) -> Iterator[Row]:
    """Read results of promptfoo: results.results, with the grade of each assertion."""
    held = _json(file)["results"]
    results = held.get("results", []) if isinstance(held, Mapping) else held
    prompts = {_prompt(r) for r in results}
    unexplained = any(_components(r) == [] and "success" in r for r in results)
    for r in results:
        system = r.get("provider") or ""
        if not isinstance(system, str):
            system = str(system.get("label") or system.get("id") or "")
        if len(prompts) > 1:
            system = f"{system}, {_prompt(r)}"
        said: dict[str, Any] = _assertions(_components(r))
        if unexplained:  # the verdict on the whole is one that all rows have
            said.setdefault("success", _success(r))
        noted = _plain(r.get("vars"), "vars.")
        noted |= _plain((r.get("testCase") or {}).get("metadata"), "metadata.")
        again = int(r.get("repeatIndex") or 0) + 1
        yield Row(str(r.get("testIdx")), system, said, noted, again)


def _components(result: Mapping[str, Any]) -> list[Any]:
    """Give the grades of single assertions; a row may have none."""
    return (result.get("gradingResult") or {}).get("componentResults") or []


_FAILED_TO_RUN = 2  # promptfoo's reason of a row that was not graded


def _success(result: Mapping[str, Any]) -> float | None:
    """Did the whole row pass? None where it could not be run."""
    if result.get("failureReason") == _FAILED_TO_RUN or "success" not in result:
        return None
    return float(bool(result["success"]))


def _prompt(result: Mapping[str, Any]) -> str:
    prompt = result.get("prompt") or {}
    label = prompt.get("label") if isinstance(prompt, Mapping) else prompt
    return str(label or result.get("promptIdx"))


def _assertions(parts: Iterable[Any]) -> dict[str, float]:
    """Give each assertion a name that is its own: two of a type are numbered."""
    said: dict[str, float] = {}
    for part in parts:
        if not isinstance(part, Mapping) or "pass" not in part:
            continue
        about = part.get("assertion") or {}
        kind, grader = about.get("type") or "assertion", about.get("provider")
        kind = f"{kind} ({grader})" if isinstance(grader, str) else kind
        first = name = str(about.get("metric") or kind)
        for number in count(2):
            if name not in said:
                break
            name = f"{first} {number}"
        said[name] = float(bool(part["pass"]))
    return said


def _deepeval(file: str) -> Iterator[Row]:
    """Read a test run of DeepEval: the metrics of each test case."""
    held = _json(file)
    held = held.get("testRunData", held)
    about = held.get("hyperparameters") or {}
    system = str(held.get("identifier") or about.get("model") or "")
    cases = held.get("testCases") or held.get("test_results") or []
    for k, case in enumerate(cases):
        judged = case.get("metricsData") or case.get("metrics_data") or []
        said = {
            str(m.get("name")): None if m.get("error") else m.get("success")
            for m in judged
        }
        places = ("metadata", "additionalMetadata", "additional_metadata")
        noted = next((case[k] for k in places if case.get(k)), None)
        item = str(case.get("name") or case.get("order", k))
        yield Row(item, system, said, _plain(noted, "metadata."))


_SAMPLES = re.compile(r"samples_(.+)_\d{4}-\d\d-\d\dT")


def _lm_eval(file: str) -> Iterator[Row]:
    """Read samples of the lm-evaluation-harness: a line per document and filter."""
    system, named = Path(file).parent.name, _SAMPLES.match(Path(file).name)
    task = named[1] if named else Path(file).stem
    samples = []
    with open(file, encoding="utf-8") as lines:
        for k, text in enumerate(lines, 1):
            samples.append(_parsed(text))
            if not isinstance(samples[-1], dict):
                raise InputError(f"{file}, line {k}: this is not a sample in JSON.")
    filters = {s.get("filter") for s in samples}
    by_document: dict[Any, tuple[dict[str, Any], dict[str, Any]]] = {}
    for s in samples:
        said, _ = by_document.setdefault(
            s.get("doc_id"), ({}, {TASK: task, **_plain(s.get("doc"), "doc.")})
        )
        for name in s.get("metrics") or []:
            if isinstance(s.get(name), (bool, int, float)):
                key = f"{name} ({s.get('filter')})" if len(filters) > 1 else name
                said[key] = s[name]
    for document, (said, noted) in by_document.items():
        yield Row(str(document), system, said, noted)


# by which keys is a format recognised, and how is a file of it read?
FORMATS: dict[str, tuple[tuple[str, ...], Callable[[str], Iterator[Row]]]] = {
    "Inspect": (("eval status plan",), _inspect),
    "promptfoo": (("evalId results", "results shareableUrl"), _promptfoo),
    "DeepEval": (("testCases metricsScores", "testRunData", "test_results"), _deepeval),
    "lm-evaluation-harness": (("doc_id doc filtered_resps",), _lm_eval),
}
