"""Make what the README and the first page show, from the programs of today.

    python docs/readme.py

The first table is what the first command prints, and ``report.png`` is the
top of the report as a browser draws it. ``tests/test_docs.py`` compares the table.
"""

import re
import shlex
import shutil
import sys
import tempfile
from pathlib import Path

from typer.testing import CliRunner

from trueness.cli import app

HERE = Path(__file__).parent
README = HERE.parent / "README.md"
FIRST_PAGES = (README, HERE / "index.md")
_SHOWN = re.compile(r"^```text\n(.*?)^```", re.MULTILINE | re.DOTALL)
_WIDTH, _HEIGHT = 1280, 1500


def command(start: str) -> list[str]:
    """Which words follow ``trueness`` in the line of the README that starts so?"""
    text = README.read_text(encoding="utf-8")
    line = re.search(rf"`?trueness ({start} [^`\n]*)", text)
    if line is None:
        raise ValueError(f"The README has no command trueness {start}.")
    return shlex.split(line[1], comments=True)


def printed() -> str:
    """What does the first command of the README print, down to its table?"""
    text = CliRunner().invoke(app, command("evaluate")).stdout
    return "\n\n".join(text.split("\n\n")[:2]) + "\n"


def shown(page: Path) -> str:
    """Which output does a page show first?"""
    found = _SHOWN.search(page.read_text(encoding="utf-8"))
    return "" if found is None else found[1]


def draw(path: Path) -> None:
    """Take a picture of the top of the report that the README's command writes."""
    from playwright.sync_api import sync_playwright

    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        page = Path(folder) / "report.html"
        CliRunner().invoke(app, [*command("report")[:-1], str(page)])
        found = shutil.which("chromium") or shutil.which("google-chrome")
        browser = playwright.chromium.launch(
            executable_path=found, args=["--no-sandbox"]
        )
        tab = browser.new_page(viewport={"width": _WIDTH, "height": _HEIGHT})
        tab.goto(page.as_uri())
        tab.wait_for_timeout(1500)
        tab.screenshot(path=str(path))
        browser.close()


if __name__ == "__main__":
    for first_page in FIRST_PAGES:
        text = first_page.read_text(encoding="utf-8")
        text = text.replace(shown(first_page), printed(), 1)
        first_page.write_text(text, encoding="utf-8")
    draw(HERE / "report.png")
    sys.stdout.write("Both pages and docs/report.png show what is printed today.\n")
