"""The workbench at 10^6 rows and five classifiers: 200 moves of the threshold.

A Parquet file of continuous scores, so that every row is a step of the slider. "server"
is the time of a look-up by the server's own clock (Server-Timing), "client" as another
process sees it; "screen" the time in chromium from the
event of the slider to the first frame that shows the new numbers. "busy" are moves
while the sections with their bootstraps are still being worked out.
"""

from __future__ import annotations

import http.client
import json
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import urlencode, urlsplit

import numpy as np
import pyarrow as pa
import pyarrow.parquet

ROWS, MODELS, MOVES = 10**6, 5, 200


class Row(NamedTuple):
    what: str
    moves: int
    median_ms: float
    p95_ms: float
    slowest_ms: float


def file(path: Path, n: int = ROWS) -> None:
    rng = np.random.default_rng(0)
    y = (rng.random(n) < 0.1).astype(np.int8)
    common = rng.normal(size=n) + 1.5 * y - 2
    columns = {
        f"model {k}": 1 / (1 + np.exp(-common - rng.normal(size=n) * (0.5 + k / 5)))
        for k in range(MODELS)
    }
    pa.parquet.write_table(pa.table({"y": y, **columns}), path)


def start(path: Path) -> tuple[subprocess.Popen[str], str]:
    words = [sys.executable, "-m", "trueness", "app", str(path), "--no-browser"]
    process = subprocess.Popen(words, stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    return process, process.stdout.readline().strip()


def row(what: str, seconds: list[float]) -> Row:
    ms = 1000 * np.array(seconds)
    ends = (float(np.percentile(ms, q)) for q in (50, 95, 100))
    return Row(what, ms.size, *(round(v, 1) for v in ends))


class Client:
    """One connection that is kept, as a browser keeps it."""

    def __init__(self, address: str) -> None:
        parts = urlsplit(address)
        token = parts.fragment.removeprefix("token=")
        self.line = http.client.HTTPConnection(parts.netloc)
        self.head = {"X-Trueness-Session": token}
        _, answer = self.ask("/session")
        self.head = {"X-Trueness-Session": json.loads(answer)["secret"]}

    took = 0.0

    def ask(self, path: str, method: str = "POST", **query: Any) -> tuple[int, bytes]:
        self.line.request(method, f"{path}?{urlencode(query, doseq=True)}",
                          headers=self.head)  # fmt: skip
        answer = self.line.getresponse()
        self.took = float(answer.headers.get("server-timing", "=0").split("=")[1]) / 1e3
        return answer.status, answer.read()

    def wait(self, path: str, **query: Any) -> bytes:
        while (found := self.ask(path, **query))[0] == 202:
            time.sleep(0.2)
        assert found[0] == 200, found[1][:500]
        return found[1]


QUERY: dict[str, Any] = {
    "file": "given", "kind": "scores", "label": "y", "count": "-",
    "column": [f"model {k}" for k in range(MODELS)],
}  # fmt: skip


def on_server(client: Client, busy: bool) -> Iterator[Row]:
    rng, times, inside = np.random.default_rng(1), [], []
    for step in rng.integers(0, ROWS, MOVES):
        if busy:  # sections are asked for meanwhile, as a page does
            client.ask("/section/comparison", **QUERY)
            client.ask("/section/threshold", **QUERY)
        begun = time.perf_counter()
        status, body = client.ask("/at", **QUERY, model=int(step) % MODELS, at=step)
        times.append(time.perf_counter() - begun)
        inside.append(client.took)
        assert status == 200
        assert json.loads(body)["at"] == step
    how = ", busy" if busy else ""
    yield row(f"server{how}", inside)
    yield row(f"client{how}", times)


MOVE = """(steps) => new Promise((done) => {
  const slider = document.querySelector('#threshold'), times = [];
  const shown = document.querySelector('[data-value=flagged]');
  const next = () => {
    if (!steps.length) { done(times); return; }
    const begun = performance.now();
    const seen = new MutationObserver(() => {
      seen.disconnect();
      requestAnimationFrame(() => {
        times.push((performance.now() - begun) / 1000);
        setTimeout(next, 5);
      });
    });
    seen.observe(shown, { childList: true, characterData: true, subtree: true });
    slider.value = String(steps.pop());
    slider.dispatchEvent(new Event('input'));
  };
  next();
})"""


def on_screen(address: str) -> list[float]:
    from playwright.sync_api import sync_playwright

    flags = ["--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage"]
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=shutil.which("chromium"), args=flags
        )
        page = browser.new_page(viewport={"width": 1600, "height": 1000})
        page.goto(address)
        while page.evaluate("() => document.querySelectorAll('[aria-busy]').length"):
            time.sleep(0.5)
        steps = np.random.default_rng(2).integers(0, ROWS, MOVES).tolist()
        times: list[float] = page.evaluate(MOVE, steps)
        browser.close()
    return times


def rows() -> Iterator[Row]:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "million.parquet"
        file(path)
        process, address = start(path)
        try:
            client = Client(address)
            begun = time.perf_counter()
            client.wait("/section/threshold", **QUERY, quick=1)
            first = time.perf_counter() - begun
            yield Row("first figures, from counting on", 1, *[round(1000 * first)] * 3)
            yield from on_server(client, busy=True)
            for key in ("threshold", "summary", "comparison", "ensembles"):
                client.wait(f"/section/{key}", **QUERY)
            yield from on_server(client, busy=False)
            yield row("screen", on_screen(address))
        finally:
            process.terminate()
            process.wait()
