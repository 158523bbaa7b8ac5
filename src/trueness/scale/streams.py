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
from typing import Any, final

import numpy as np

from trueness._core.checks import options as _options
from trueness._core.checks.errors import InputError
from trueness._core.checks.words import listing
from trueness._core.files import alone, as_written
from trueness._core.records import Record
from trueness.counts.cases import COUNTS, SQUARES, columns_by_cell
from trueness.counts.design import PLAIN, WORDS
from trueness.counts.values import Tally
from trueness.data.engines import label_values
from trueness.data.files import scan
from trueness.data.frames import tally
from trueness.data.storage import read_columns, tally_of_columns, write_columns


@final
@dataclass(frozen=True, repr=False)
class Folded(Record):
    """What did a round over the incoming files do?

    Attributes
    ----------
    counted, known : tuple of str, int
        Files that were counted now, and how many were counted before.
    failed : dict of str to str
        Files that could not be read, and why; they are tried again next time.
    """

    counted: tuple[str, ...]
    known: int
    failed: dict[str, str]


@final
@dataclass(frozen=True)
class Stream:
    """Which counts have come in so far?

    Parameters
    ----------
    path
        The file that keeps the counts; it is created with the first batch.
    label, score, positive
        The columns of the batches, as in :func:`tally`.
    by
        A column whose values are windows (days, sites, versions): :meth:`windows` then
        gives a tally for each, and :meth:`forget` drops one.
    at_most
        The largest number of rows that a window keeps; see :func:`tally`.
    weight, cluster
        The columns of weights and of clusters, as in :func:`tally`.
    sampling, prevalence, unlabelled
        How the cases came, as in :func:`tally`; all batches must have come alike.

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
    positive: Any = None
    by: str | None = None
    at_most: int | None = None
    weight: str | None = None
    cluster: str | None = None
    sampling: str | None = None
    prevalence: float | None = None
    unlabelled: str | None = None

    def add(self, batch: str, rows: object) -> bool:
        """Count a batch; False if a batch of this name is in the counts already.

        ``rows`` is a frame, eager or lazy, or a tally or a mapping of window to tally
        counted elsewhere.
        """
        name = _fingerprint(batch)
        with alone(self.path):
            windows, batches, labels = self._state()
            if name in batches:
                return False
            labels = self._labels_with(labels, rows)
            for window, t in self._windows_of(rows).items():
                total = windows.get(window, Tally()) + t
                windows[window] = (
                    total if self.at_most is None else total.bin(self.at_most)
                )
            self._write(windows, {*batches, name}, labels)
        return True

    def fold(self, pattern: str) -> Folded:
        """Count the files of a pattern that are new; the name of a file is its batch.

        The name starts at the first part of the path that has a wildcard in the
        pattern: ``day=1/a.csv`` for ``in/day=*/*.csv``; a folder means its files. A
        file that cannot be read, perhaps because it is still being written, is left for
        the next round.
        """
        counted, failed, known = [], {}, 0
        for name, file in _files(pattern):
            if _fingerprint(name) in self._state()[1]:
                known += 1
                continue
            try:
                self.add(name, scan(file))
                counted.append(file)
            except InputError as err:
                failed[file] = str(err)
        return Folded(tuple(counted), known, failed)

    def follow(
        self, pattern: str, *, every: float = 10.0, rounds: int | None = None
    ) -> Folded:
        """Count new files again and again, until interrupted; gives the last round.

        It waits ``every`` seconds between rounds; Ctrl-C can end it at any time.
        """
        every = _options.positive_number(every, "every")
        last = Folded((), 0, {})
        with suppress(KeyboardInterrupt):
            for done in count():
                if done == rounds:
                    break
                time.sleep(every if done else 0)
                last = self.fold(pattern)
        return last

    def tally(self) -> Tally:
        """Give the counts of all windows together."""
        return sum(self._state()[0].values(), Tally())

    def windows(self) -> dict[str, Tally]:
        """Give the counts of each window."""
        return dict(sorted(self._state()[0].items()))

    def window(
        self,
        *,
        last: int | None = None,
        since: str | None = None,
        until: str | None = None,
    ) -> Tally:
        """Give the counts of some windows together.

        These are the ``last`` windows in the order of their names, or those named from
        ``since`` up to ``until``, both included.
        """
        found = self.windows()
        last_name = max(found, default="") if until is None else until
        names = [name for name in found if (since or "") <= name <= last_name]
        if last is not None:
            names = names[-_options.whole_number(last, "last", at_least=1) :]
        return sum((found[name] for name in names), Tally())

    def batches(self) -> int:
        """How many batches are in the counts?"""
        return len(self._state()[1])

    def forget(self, window: str) -> None:
        """Drop a window; its batches stay known, so that they are not counted again."""
        with alone(self.path):
            windows, batches, labels = self._state()
            _options.choice(window, list(windows), "window")
            del windows[window]
            self._write(windows, batches, labels)

    def _windows_of(self, rows: object) -> dict[str, Tally]:
        if isinstance(rows, Tally):
            return {"": rows}
        if isinstance(rows, dict):
            return {str(k): t for k, t in rows.items()}
        roles = ("label", "score", "positive", "weight", "cluster", "by", *WORDS)
        found: Any = tally(rows, **{word: getattr(self, word) for word in roles})
        return {"": found} if self.by is None else {str(k): t for k, t in found.items()}

    def _labels_with(self, known: list[Any], rows: object) -> list[Any]:
        """Add the labels of a batch to those seen so far; stop at a third one."""
        if self.label is None or isinstance(rows, (Tally, dict)):
            return known
        found = label_values(rows, self.label)
        # as a file of JSON gives them back; a date and the like as text
        plainly = [v if isinstance(v, (int, float, str)) else str(v) for v in found]
        both = [*known, *(v for v in plainly if v not in known)]
        if len(both) > 2:
            raise InputError(
                f"The label {self.label!r} must have two values over all batches; "
                f"earlier ones had {listing(known)}, this one has {listing(found)}. "
                f"Nothing of it was counted."
            )
        return both

    def _state(self) -> tuple[dict[str, Tally], set[str], list[Any]]:
        if not Path(self.path).exists():
            return {}, set(), []
        windows = {}
        with as_written(self.path, "a stream"):
            columns, about = read_columns(self.path, "stream")
            for k, name in enumerate(about["windows"]):
                at = columns["window"] == k
                own = {k: c[at] for k, c in columns.items()}
                windows[name] = tally_of_columns(own, about)
            return windows, set(about["batches"]), about.get("labels", [])

    def _write(
        self, windows: dict[str, Tally], batches: set[str], labels: list[Any]
    ) -> None:
        parts = list(windows.values())
        tables = [columns_by_cell(t, {"score": t.score, "high": t.high}) for t in parts]
        if any(SQUARES[0] in c for c in tables):  # a case is one of weight one
            for c in tables:
                for square, count in zip(SQUARES, COUNTS, strict=True):
                    c.setdefault(square, c[count])
        some = {frozenset(c) for c in tables if len(c["score"])}
        if len(some) > 1:
            raise InputError(
                "All batches of a stream must have clusters, or none, since each case "
                "belongs to one. Nothing of this batch was counted."
            )
        kept = [k for k in (tables or [{}])[0] if all(k in keys for keys in some)]
        columns = {k: np.concatenate([c[k] for c in tables if k in c]) for k in kept}
        sizes = [len(c["score"]) for c in tables]
        columns["window"] = np.repeat(np.arange(len(parts)), sizes)
        about: dict[str, Any] = {"kind": "stream", "windows": list(windows)}
        about |= {"batches": sorted(batches), "labels": labels}
        designs = [t.design for t in parts if t.n] or [PLAIN]
        about["design"] = asdict(reduce(add, designs))
        write_columns(columns, about, self.path)


def _files(pattern: str) -> list[tuple[str, str]]:
    """Give each file of a pattern and the name it has from where the pattern opens."""
    fixed = re.split(r"[*?\[]", pattern, maxsplit=1)[0]
    root = os.path.dirname(fixed) or "."
    met = glob(pattern, recursive=True)
    inside = [os.path.join(m, "**", "*") for m in met if os.path.isdir(m)]
    met += [f for p in inside for f in glob(p, recursive=True)]
    files = sorted({os.path.normpath(f) for f in met if os.path.isfile(f)})
    return [(os.path.relpath(f, root), f) for f in files]


def _fingerprint(batch: str) -> str:
    """Give the short name under which a batch is remembered."""
    if not isinstance(batch, str) or not batch:
        raise InputError(
            f"A batch must have a name of its own, as text; found {batch!r}."
        )
    return hashlib.blake2b(batch.encode(), digest_size=12).hexdigest()
