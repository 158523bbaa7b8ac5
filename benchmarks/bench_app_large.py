"""The workbench on a Parquet file of 2 GB: counted where it lies, in bounded memory.

1.3*10^8 rows with two continuous scores, made by DuckDB. The server is started with the
path, so nothing is uploaded. "peak" is the largest resident memory of the server that
was seen, from /proc, twenty times a second; "stopped" the time from Stop, in the middle
of counting, until the job is over; "told" how many different states of progress a page
that asks four times a second heard.
"""

from __future__ import annotations

import json
import tempfile
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import duckdb
import numpy as np
from bench_app import Client, start

ROWS, MOVES = 130_000_000, 200
QUERY: dict[str, Any] = {
    "file": "given", "kind": "scores", "label": "y", "count": "-", "column": ["p", "q"],
    "tab": "bench",
}  # fmt: skip


ALL = ("ranking", "scale", "calibration", "calibrated", "planning", "zones")


class Row(NamedTuple):
    what: str
    value: float
    unit: str


def file(path: Path, n: int = ROWS) -> None:
    """Write labels and the scores of two classifiers, normal within each class."""
    config: Any = {"memory_limit": "1GB", "preserve_insertion_order": False}
    normal = "sqrt(-2*ln(1-random()))*cos(2*pi()*random())"
    with duckdb.connect(config=config) as engine:
        label, moved = "(u < 0.1)::INT", "1/(1+exp(-{}-{}*(u < 0.1)::INT))"
        scores = f"{moved.format('g', 1.2)} AS p, {moved.format('.6*g-.8*h', 1.5)} AS q"
        drawn = f"random() AS u, {normal} AS g, {normal} AS h"
        cases = f"SELECT {drawn} FROM range({n})"  # noqa: S608
        query = f"SELECT {label}::TINYINT AS y, {scores} FROM ({cases})"  # noqa: S608
        engine.sql(query).write_parquet(str(path))


class Memory:
    """Looks at the resident memory of a process until it is told to end."""

    def __init__(self, process: int) -> None:
        self.peak, self._over = 0.0, threading.Event()
        self._place = Path(f"/proc/{process}/status")
        threading.Thread(target=self._look, daemon=True).start()

    def _look(self) -> None:
        while not self._over.wait(0.05):
            words = self._place.read_text().split()
            self.peak = max(self.peak, int(words[words.index("VmRSS:") + 1]) / 2**20)

    def end(self) -> float:
        """Give the largest, in GB."""
        self._over.set()
        return self.peak


def counted(client: Client) -> tuple[float, int]:
    """Wait for the first figures: the seconds, and what was told meanwhile."""
    begun, told = time.perf_counter(), set()
    again = {"again": 1}  # it was stopped before
    while True:
        status, body = client.ask("/section/threshold", **QUERY, quick=1, **again)
        again = {}
        if status != 202:
            assert b'id="threshold"' in body, body[:500]
            return time.perf_counter() - begun, len(told)
        told.add(json.dumps(json.loads(body)))
        time.sleep(0.25)


def stopped(client: Client) -> float:
    """Ask for the same, and stop it after two seconds; until the lane is free."""
    client.ask("/section/threshold", **QUERY, quick=1)
    time.sleep(2)
    begun = time.perf_counter()
    client.ask("/stop/threshold", "POST", **QUERY)
    client.wait("/section/summary", file="sample:west_nile", quick=1)
    return time.perf_counter() - begun


def rows(path: Path | None = None) -> Iterator[Row]:
    with tempfile.TemporaryDirectory() as folder:
        if path is None:
            path = Path(folder) / "large.parquet"
            file(path)
        yield Row("file", round(path.stat().st_size / 2**30, 2), "GB")
        begun = time.perf_counter()
        process, address = start(path)
        memory, client = Memory(process.pid), Client(address)
        try:
            client.ask("/look", file="given", label="y")
            shown = time.perf_counter() - begun
            yield Row("start, first rows on the page", round(shown, 1), "s")
            yield Row("stopped, and the next one done", round(stopped(client), 1), "s")
            seconds, told = counted(client)
            yield Row("two scores counted, first figures", round(seconds, 1), "s")
            yield Row("told", told, "states of progress")
            client.wait("/section/threshold", **QUERY)
            for key in ALL:
                client.wait(f"/section/{key}", **QUERY)
            yield Row("all sections", round(time.perf_counter() - begun, 1), "s")
            took = []
            for step in np.random.default_rng(1).integers(0, 100_000, MOVES):
                client.ask("/at", **QUERY, model=int(step) % 2, at=step)
                took.append(1000 * client.took)
            yield Row("a move, 95 %", round(float(np.percentile(took, 95)), 1), "ms")
            yield Row("peak", round(memory.end(), 2), "GB")
        finally:
            process.terminate()
            process.wait()
