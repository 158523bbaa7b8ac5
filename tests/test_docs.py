"""The documentation is true: its code runs, and every public name is in it."""

import doctest
import os
import re
import shlex
import shutil
from pathlib import Path

import pandas as pd
import pytest
from typer.testing import CliRunner

import trueness
from trueness.cli import app

ROOT = Path(__file__).parents[1]
PAGES = sorted(
    [ROOT / "README.md", *(ROOT / "docs").rglob("*.md")],
    key=lambda p: str(p.relative_to(ROOT)),
)
PAGES = [p for p in PAGES if not {"_build", "_generated"} & set(p.parts)]
FENCE = re.compile(r"^```(python|pycon)\n(.*?)^```", re.MULTILINE | re.DOTALL)
RUNNER = doctest.DocTestRunner(
    optionflags=doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
)


def code_blocks(page):
    return FENCE.findall(page.read_text(encoding="utf-8"))


@pytest.mark.parametrize(
    "page",
    [p for p in PAGES if code_blocks(p)],
    ids=lambda p: str(p.relative_to(ROOT)),
)
def test_code_of_the_pages_runs(page, tmp_path, monkeypatch):
    for data in (ROOT / "examples").iterdir():
        if data.suffix in (".csv", ".gz", ".parquet"):
            shutil.copy(data, tmp_path)
        elif data.is_dir():
            shutil.copytree(data, tmp_path / data.name)
    monkeypatch.chdir(tmp_path)
    names = {"__name__": "page"}
    for kind, text in code_blocks(page):
        if kind == "python":
            exec(compile(text, page.name, "exec"), names)  # noqa: S102 - our own pages
        else:
            test = doctest.DocTestParser().get_doctest(text, names, page.name, None, 0)
            report = []
            RUNNER.run(test, out=report.append, clear_globs=False)
            assert not report, "".join(report)
            names |= test.globs
    os.chdir(ROOT)


def test_the_readme_shows_the_two_commands():
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    for command in ("make demo", "make test"):
        assert command in text
        target = command.split()[1]
        assert f"\n{target}:" in (ROOT / "Makefile").read_text()


@pytest.mark.parametrize("name", trueness.__all__)
def test_public_names_say_what_they_answer(name):
    value = getattr(trueness, name)
    if callable(value) and not isinstance(value, trueness.Metric):
        assert value.__doc__
        assert value.__doc__.strip()


def test_the_table_of_contents_is_complete():
    metrics = {
        *trueness.metrics.definitions.METRICS,
        *trueness.metrics.definitions.METRIC_FAMILIES,
    }
    words = set(re.findall(r"\w+", trueness.__doc__))
    assert not set(trueness.__all__) - metrics - words


def test_links_of_the_pages_lead_somewhere():
    for page in PAGES:
        text = page.read_text(encoding="utf-8")
        for target in re.findall(r"\]\(([^)#\s]+)", text):
            if "://" in target or "_generated" in target:
                continue
            assert (page.parent / target).exists(), f"{page.name} links to {target}"


SHELL = re.compile(r"^```sh\n(.*?)^```", re.MULTILINE | re.DOTALL)
LINES = sorted(
    {
        line
        for page in PAGES
        for block in SHELL.findall(page.read_text(encoding="utf-8"))
        for line in block.splitlines()
        if line.startswith("trueness ") and line != "trueness demo"
    }
)


@pytest.mark.parametrize("line", LINES)
def test_shell_lines_of_the_pages_run(line, tmp_path, monkeypatch):
    names = {"virus": "y", "boosting": "a", "logistic": "b"}
    frame = pd.read_csv(trueness.samples.path("west_nile")).rename(columns=names)
    frame.to_csv(tmp_path / "predictions.csv", index=False)
    frame.to_parquet(tmp_path / "predictions.parquet")
    monkeypatch.chdir(tmp_path)
    result = CliRunner().invoke(app, shlex.split(line)[1:])
    assert result.exit_code == 0, result.stderr
