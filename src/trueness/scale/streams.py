"""How is a stream of predictions counted, so that nothing is lost or counted twice?

The counts so far and the names of the batches in them are replaced together, in one
step of the file system: a killed process leaves the state before or after a batch.
"""

from __future__ import annotations

import hashlib
import os
import re
import time
from contextlib import suppress
from dataclasses import asdict, dataclass
from functools import reduce
from glob import glob
from itertools import count
from operator import add
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias, final

import numpy as np

from trueness._core.arrays import Array
from trueness._core.checks import options as _options
from trueness._core.checks.errors import InputError
from trueness._core.checks.words import listing
from trueness._core.data_types import Frame, LabelValue
from trueness._core.files import alone, as_written
from trueness._core.records import Record
from trueness.counts.cases import COUNTS, SQUARES, columns_by_cell
from trueness.counts.design import ARGUMENTS, PLAIN
from trueness.counts.values import Tally
from trueness.data.engines import label_values
from trueness.data.files import scan
from trueness.data.frames import tally
from trueness.data.storage import read_columns, tally_of_columns, write_columns

# rows, or what was counted elsewhere, by window
_Batch: TypeAlias = Frame | Tally | dict[str, Tally]


@final
@dataclass(frozen=True, repr=False)
class StreamUpdate(Record):
    """Files that an update of a stream counted, skipped and failed to read.

    Attributes
    ----------
    counted, already_counted : tuple of str, int
        Files that were counted now, and how many were counted before.
    failed : dict of str to str
        Files that could not be read, and why; they are tried again next time.
    """

    counted: tuple[str, ...]
    already_counted: int
    failed: dict[str, str]


@final
@dataclass(frozen=True)
class Stream:
    """Counts of all batches so far, kept in a file.

    Parameters
    ----------
    path
        The file that keeps the counts; it is created with the first batch.
    label, score, positive
        The columns of the batches, as in :func:`tally`.
    by
        A column whose values are windows (days, sites, versions): :meth:`windows` then
        returns a tally for each, and :meth:`forget` drops one.
    at_most
        The largest number of rows that a window keeps; see :func:`tally`.
    weight, cluster
        The columns of weights and of clusters, as in :func:`tally`.
    sampling, prevalence, unlabelled
        The sampling design, as in :func:`tally`; the same for all batches.

    Examples
    --------
    >>> import os, tempfile, pandas as pd
    >>> batch = pd.DataFrame({"y": [1, 0], "p": [0.9, 0.2]})
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     s = Stream(os.path.join(folder, "counts.parquet"), label="y", score="p")
    ...     s.add("batch 1", batch), s.add("batch 1", batch), s.tally().n
    (True, False, 2)
    """

    path: str | os.PathLike[str]
    label: str | None = None
    score: str = "score"
    positive: LabelValue = None
    by: str | None = None
    at_most: int | None = None
    weight: str | None = None
    cluster: str | None = None
    sampling: str | None = None
    prevalence: float | None = None
    unlabelled: str | None = None

    def add(self, batch: str, rows: _Batch) -> bool:
        """Count a batch; return False if a batch of this name was counted before.

        ``rows`` is a frame, eager or lazy, or a tally or a mapping of window to tally
        counted elsewhere.
        """
        name = _fingerprint(batch)

        with alone(self.path):
            state = self._read()
            if name in state.batches:
                return False

            labels = self._labels_with(state.labels, rows)
            windows = state.windows
            for window, counts in self._windows_of(rows).items():
                total = windows.get(window, Tally()) + counts
                if self.at_most is not None:
                    total = total.bin(self.at_most)
                windows[window] = total

            self._write(_StreamState(windows, {*state.batches, name}, labels))

        return True

    def add_files(self, pattern: str) -> StreamUpdate:
        """Count the files of a pattern that are new; the name of a file is its batch.

        The name starts at the first part of the path that has a wildcard in the
        pattern: ``day=1/a.csv`` for ``in/day=*/*.csv``; a folder means its files. A
        file that cannot be read, perhaps because it is still being written, is left for
        the next round.
        """
        counted = []
        failed = {}
        already_counted = 0
        for name, file in _files(pattern):
            if _fingerprint(name) in self._read().batches:
                already_counted += 1
                continue
            try:
                self.add(name, scan(file))
                counted.append(file)
            except InputError as err:
                failed[file] = str(err)

        return StreamUpdate(tuple(counted), already_counted, failed)

    def follow(
        self, pattern: str, *, every: float = 10.0, rounds: int | None = None
    ) -> StreamUpdate:
        """Count new files again and again, until interrupted; return the last round.

        It waits ``every`` seconds between rounds; Ctrl-C can end it at any time.
        """
        every = _options.positive_number(every, "every")
        last_round = StreamUpdate((), 0, {})
        with suppress(KeyboardInterrupt):
            for number in count():
                if number == rounds:
                    break
                time.sleep(every if number else 0)
                last_round = self.add_files(pattern)

        return last_round

    def tally(self) -> Tally:
        """Return the sum of the counts of all windows."""
        return sum(self._read().windows.values(), Tally())

    def windows(self) -> dict[str, Tally]:
        """Return the counts of each window."""
        return dict(sorted(self._read().windows.items()))

    def window(
        self,
        *,
        last: int | None = None,
        since: str | None = None,
        until: str | None = None,
    ) -> Tally:
        """Return the sum of the counts of some windows.

        These are the ``last`` windows in the order of their names, or those named from
        ``since`` up to ``until``, both included.
        """
        windows = self.windows()
        last_name = max(windows, default="") if until is None else until
        names = [name for name in windows if (since or "") <= name <= last_name]
        if last is not None:
            names = names[-_options.whole_number(last, "last", at_least=1) :]
        return sum((windows[name] for name in names), Tally())

    def batches(self) -> int:
        """Return the number of batches in the counts."""
        return len(self._read().batches)

    def forget(self, window: str) -> None:
        """Drop a window; its batches stay known, so that they are not counted again."""
        with alone(self.path):
            state = self._read()
            _options.choice(window, list(state.windows), "window")
            del state.windows[window]
            self._write(state)

    def _windows_of(self, rows: _Batch) -> dict[str, Tally]:
        """Return the tallies of these rows by window; "" if there are no windows."""
        if isinstance(rows, Tally):
            return {"": rows}
        if isinstance(rows, dict):
            return {str(name): t for name, t in rows.items()}

        roles = ("label", "score", "positive", "weight", "cluster", "by", *ARGUMENTS)
        counts = tally(rows, **{role: getattr(self, role) for role in roles})

        if self.by is None:
            return {"": counts}
        return {str(name): t for name, t in counts.items()}

    def _labels_with(self, known: list[Any], rows: _Batch) -> list[Any]:
        """Return the labels seen so far; raise an error if there are three."""
        if self.label is None or isinstance(rows, (Tally, dict)):
            return known

        values = label_values(rows, self.label)
        # as JSON holds them: a date and the like as text
        as_stored = [v if isinstance(v, (int, float, str)) else str(v) for v in values]
        labels = [*known, *(v for v in as_stored if v not in known)]
        if len(labels) > 2:
            raise InputError(
                f"The label {self.label!r} must have two values over all batches; "
                f"earlier ones had {listing(known)}, this one has {listing(values)}. "
                "This batch was not counted."
            )

        return labels

    def _read(self) -> _StreamState:
        """Return the state in the file; an empty one if there is no file."""
        if not Path(self.path).exists():
            return _StreamState({}, set(), [])

        windows = {}
        with as_written(self.path, "a stream"):
            columns, description = read_columns(self.path, "stream")
            for number, name in enumerate(description["windows"]):
                rows = columns["window"] == number
                of_window = {key: column[rows] for key, column in columns.items()}
                windows[name] = tally_of_columns(of_window, description)
            return _StreamState(
                windows, set(description["batches"]), description.get("labels", [])
            )

    def _write(self, state: _StreamState) -> None:
        """Replace the file by this state."""
        tallies = list(state.windows.values())
        tables = [
            columns_by_cell(t, {"score": t.score, "high": t.high}) for t in tallies
        ]
        columns = _join_tables(tables)
        sizes = [len(table["score"]) for table in tables]
        columns["window"] = np.repeat(np.arange(len(tallies)), sizes)
        designs = [t.design for t in tallies if t.n] or [PLAIN]
        description: dict[str, Any] = {
            "kind": "stream",
            "windows": list(state.windows),
            "batches": sorted(state.batches),
            "labels": state.labels,
            "design": asdict(reduce(add, designs)),
        }
        write_columns(columns, description, self.path)


class _StreamState(NamedTuple):
    """Tallies by window, names of the batches, and the labels seen."""

    windows: dict[str, Tally]
    batches: set[str]
    labels: list[Any]


def _join_tables(tables: list[dict[str, Array]]) -> dict[str, Array]:
    """Return the columns of all windows joined; all have clusters, or none."""
    if not tables:
        return {}
    if any(SQUARES[0] in table for table in tables):
        tables = [_with_squares(table) for table in tables]

    names_with_rows = {frozenset(table) for table in tables if len(table["score"])}
    if len(names_with_rows) > 1:
        raise InputError(
            "All batches of a stream must have clusters, or none. This batch was not "
            "counted."
        )

    # a window without a row may lack the columns of the others
    common_names = set(tables[0]).intersection(*names_with_rows)

    return {
        name: np.concatenate([table[name] for table in tables if name in table])
        for name in tables[0]
        if name in common_names
    }


def _with_squares(table: dict[str, Array]) -> dict[str, Array]:
    """Return the table with squares of weights; unweighted cases have weight one."""
    missing = {
        squares: table[counts]
        for squares, counts in zip(SQUARES, COUNTS, strict=True)
        if squares not in table
    }
    return table | missing


def _files(pattern: str) -> list[tuple[str, str]]:
    """Return the files of a pattern, each with its name from the first wildcard on."""
    before_wildcard = re.split(r"[*?\[]", pattern, maxsplit=1)[0]
    root = os.path.dirname(before_wildcard) or "."
    matches = glob(pattern, recursive=True)
    for folder in [match for match in matches if os.path.isdir(match)]:
        matches += glob(os.path.join(folder, "**", "*"), recursive=True)

    files = sorted({os.path.normpath(f) for f in matches if os.path.isfile(f)})
    return [(os.path.relpath(file, root), file) for file in files]


def _fingerprint(batch: str) -> str:
    """Return the digest under which a batch is remembered."""
    if not isinstance(batch, str) or not batch:
        raise InputError(
            f"A batch must have a name of its own, as text; found {batch!r}.",
            option="batch",
        )
    return hashlib.blake2b(batch.encode(), digest_size=12).hexdigest()
