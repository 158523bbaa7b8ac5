"""Take the pictures of the workbench that the pages and the README show.

    python docs/pictures.py

Starts ``trueness app`` on the samples and photographs it in chromium.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
# name: sample, what is asked of it, section to look at, width
NARROW = "&subject_to=recall+%3E%3D+0.8"
PICTURES = {
    "app": ("sample:west_nile", NARROW, "threshold", 1440),
    "app_words": ("sample:west_nile", "", "", 1440),
    "app_tests": ("sample:hiv", "", "", 1440),
}
HEIGHT = 900


def main() -> None:
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        flags = ["--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage"]
        browser = playwright.chromium.launch(
            executable_path=shutil.which("chromium"), args=flags
        )
        for name, wanted in PICTURES.items():
            take(browser, HERE / f"{name}.png", *wanted)
        browser.close()


def take(
    browser: Any, path: Path, sample: str, asked: str, section: str, width: int
) -> None:
    words = [sys.executable, "-m", "trueness", "app", sample, "--no-browser"]
    pipe = subprocess.PIPE
    with subprocess.Popen(words, stdout=pipe, text=True) as server:  # noqa: S603
        assert server.stdout is not None  # noqa: S101
        address = server.stdout.readline().strip()
        page = browser.new_page(viewport={"width": width, "height": HEIGHT})
        # the token stands behind the query
        place, _, token = address.partition("#")
        page.goto(f"{place}{asked}#{token}")
        page.wait_for_selector("header.brand")
        while page.evaluate("() => document.querySelectorAll('[aria-busy]').length"):
            time.sleep(0.2)
        if section:
            page.locator(f"#{section}-section").evaluate("e => e.scrollIntoView()")
            page.locator("#objective").evaluate(
                "e => e.closest('details').scrollIntoView({ block: 'nearest' })"
            )
        page.screenshot(path=path)
        page.close()
        server.terminate()


if __name__ == "__main__":
    main()
