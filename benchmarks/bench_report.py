"""The report as one file, and one figure as a page, in chromium.

The figure holds the ROC curves of the five classifiers of the West Nile sample, the
report these and everything else. "opened" is the time from the start of navigation to
the first frame drawn after loading, the fastest of several, interleaved. The large
report is about 10^6 cases, 20 classifiers, 30 groups; "written" is how long that took.
"""

from __future__ import annotations

import shutil
import tempfile
import time
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

import trueness

SCORES = ["logistic", "forest", "boosting", "neighbours", "adaboost"]
ROUNDS = 7


class Row(NamedTuple):
    page: str
    written_s: float
    kilobytes: int
    opened_ms: int
    shows_figures_without_scripts: str
    policy: str


def whole_report(path: Path) -> None:
    data = pd.read_csv(trueness.samples.path("west_nile"))
    trueness.report(trueness.panel(data, label="virus", scores=SCORES), path)


def one_figure(path: Path) -> None:
    data = pd.read_csv(trueness.samples.path("west_nile"))
    panel = trueness.panel(data, label="virus", scores=SCORES)
    trueness.plots.save(trueness.plots.roc.figure_data(panel), path)


def large(path: Path, n: int = 10**6) -> None:
    rng = np.random.default_rng(0)
    y = (rng.random(n) < 0.1).astype(int)
    common = rng.normal(size=n) + 1.5 * y - 2
    columns = {
        f"model {k}": 1 / (1 + np.exp(-common - rng.normal(size=n) * (0.5 + k / 20)))
        for k in range(20)
    }
    groups = trueness.panel(y, columns, by=rng.integers(0, 30, n))
    trueness.report(trueness.panel(y, columns), path, groups=groups)


PAGES = {
    "trueness report (all figures)": whole_report,
    "ROC curves with read-outs (one figure)": one_figure,
    "trueness report, 10^6 cases, 20 classifiers, 30 groups": large,
}


def written(folder: Path) -> dict[str, tuple[Path, float]]:
    """Write every page, and measure how long that takes."""
    made = {}
    for k, (name, write) in enumerate(PAGES.items()):
        start = time.perf_counter()
        write(folder / f"{k}.html")
        made[name] = folder / f"{k}.html", time.perf_counter() - start
    return made


def opened(browser: Any, path: Path, scripts: bool = True) -> tuple[float, bool]:
    context = browser.new_context(offline=True, java_script_enabled=scripts)
    page = context.new_page()
    page.goto(path.as_uri())
    drawn = page.locator("svg path, canvas").count() > 2
    if not scripts:
        context.close()
        return 0.0, drawn
    page.wait_for_selector("svg, canvas")
    frame = "() => new Promise(f => requestAnimationFrame(() => f(performance.now())))"
    ms = page.evaluate(frame)
    context.close()
    return ms, drawn


def rows():
    from playwright.sync_api import sync_playwright

    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=shutil.which("chromium"), args=["--no-sandbox"]
        )
        made = written(Path(folder))
        files = {name: path for name, (path, _) in made.items()}
        times = {name: [] for name in files}
        for _ in range(ROUNDS):
            for name, path in files.items():
                times[name].append(opened(browser, path)[0])
        for name, path in files.items():
            static = opened(browser, path, scripts=False)[1]
            ours = "Content-Security-Policy" in path.read_text(encoding="utf-8")
            yield Row(
                name,
                round(made[name][1], 1),
                path.stat().st_size // 1000,
                round(min(times[name])),
                "yes" if static else "no",
                "default-src 'none', hashes" if ours else "none",
            )
        browser.close()
