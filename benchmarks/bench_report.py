"""The report as one file: its own SVG against Vega embedded by Altair, in chromium.

Altair's page holds the ROC curves of the five classifiers of the West Nile sample, the
report these and everything else. "opened" is the time from the start of navigation to
the first frame drawn after loading, the fastest of several, interleaved.
"""

from __future__ import annotations

import shutil
import tempfile
from pathlib import Path
from typing import Any, NamedTuple

import pandas as pd

import karat

SCORES = ["logistic", "forest", "boosting", "neighbours", "adaboost"]
ROUNDS = 7


class Row(NamedTuple):
    page: str
    kilobytes: int
    opened_ms: int
    shows_figures_without_scripts: str
    policy: str


def pages(folder: Path) -> dict[str, Path]:
    data = pd.read_csv(karat.samples.path("west_nile"))
    panel = karat.panel(data, label="virus", scores=SCORES)
    ours, theirs = folder / "karat.html", folder / "vega.html"
    karat.report.write(panel, ours)
    karat.plots.roc(panel).save(str(theirs), format="html", inline=True)
    return {
        "karat report (all figures)": ours,
        "Altair, inline Vega (one figure)": theirs,
    }


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
        files = pages(Path(folder))
        times = {name: [] for name in files}
        for _ in range(ROUNDS):
            for name, path in files.items():
                times[name].append(opened(browser, path)[0])
        for name, path in files.items():
            static = opened(browser, path, scripts=False)[1]
            ours = "Content-Security-Policy" in path.read_text(encoding="utf-8")
            yield Row(
                name,
                path.stat().st_size // 1000,
                round(min(times[name])),
                "yes" if static else "no",
                "default-src 'none', hashes" if ours else "none",
            )
        browser.close()
