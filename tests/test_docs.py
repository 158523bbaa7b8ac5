"""The documentation is true: its code runs, and every public name is in it."""

import doctest
import os
import re
import runpy
import shlex
import shutil
import sys
from pathlib import Path

import matplotlib.pyplot as plt
import pandas as pd
import pytest
from typer.testing import CliRunner

import trueness
from trueness.cli import app
from trueness.metrics import definitions

ROOT = Path(__file__).parents[1]
PAGES = sorted(
    [ROOT / "README.md", *(ROOT / "docs").rglob("*.md")],
    key=lambda p: str(p.relative_to(ROOT)),
)
PAGES = [p for p in PAGES if not {"_build", "_generated"} & set(p.parts)]
FENCE = re.compile(r"^```(python|pycon)\n(.*?)^```", re.MULTILINE | re.DOTALL)
RUNNER = doctest.DocTestRunner(
    verbose=False,  # or -v of pytest is taken for its own
    optionflags=doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE,
)


def code_blocks(page):
    return FENCE.findall(page.read_text(encoding="utf-8"))


@pytest.mark.parametrize(
    "page",
    [
        # as notebooks do, pages other than the first take seconds
        pytest.param(p, marks=[pytest.mark.slow] if p.parent != ROOT else [])
        for p in [*PAGES, ROOT / "paper" / "paper.md"]
        if code_blocks(p)
    ],
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


def test_the_paper_prints_the_numbers_of_today():
    text = (ROOT / "paper" / "paper.md").read_text(encoding="utf-8")
    traps = pd.read_csv(trueness.samples.path("west_nile"))

    columns = {"label": "virus", "scores": ["boosting", "logistic"]}

    pair = trueness.compare_auc(traps, **columns).pairs[0]
    areas = trueness.auc(trueness.panel(traps, **columns))

    for estimate in (*areas.values(), pair.difference):
        value, low, high = estimate.value, estimate.low, estimate.high
        interval = rf"{value:.3f} \((95 % interval )?{low:.3f} to {high:.3f}"
        assert re.search(interval, text), estimate

    assert f"p = {pair.p_value:.4f}" in text


def test_the_calls_of_the_gpu_page_run_on_the_host():
    """The same lines with tensors of the host in place of the device."""
    torch = pytest.importorskip("torch")
    page = (ROOT / "docs" / "howto" / "gpu.md").read_text(encoding="utf-8")
    block = re.search(r"^```\{code-block\} python\n(.*?)^```", page, re.M | re.S)[1]
    scores = torch.linspace(0, 1, 200)
    names = {
        "labels": [k % 3 == 0 or k > 150 for k in range(200)],
        "model": lambda _: scores,
        "x": None,
        "r": scores.flip(0),
    }

    exec(block.replace("cuda", "cpu"), names)  # noqa: S102 - our own page

    assert names["trueness"].auc(names["y"], names["s"]).value > 0.5


def test_the_readme_shows_the_two_commands():
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    for command in ("make demo", "make test"):
        assert command in text
        target = command.split()[1]
        assert f"\n{target}:" in (ROOT / "Makefile").read_text()


@pytest.mark.parametrize("name", ["README.md", "docs/index.md"])
def test_the_first_pages_show_what_is_printed(name):
    """Type python docs/readme.py when this fails."""
    sys.path.insert(0, str(ROOT / "docs"))
    import readme

    assert readme.shown(ROOT / name) == readme.printed()


@pytest.mark.parametrize("name", trueness.__all__)
def test_public_names_say_what_they_answer(name):
    value = getattr(trueness, name)
    if callable(value) and not isinstance(value, trueness.records.Metric):
        assert (value.__doc__ or "").strip()


def test_the_table_of_contents_is_complete():
    metrics = {
        *definitions.METRICS,
        *definitions.METRIC_FAMILIES,
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
        # the demo takes a minute, and the workbench never ends
        if line.startswith("trueness ") and line.split()[1] not in ("demo", "app")
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


FIGURES = sorted((ROOT / "docs" / "figures").glob("*.py"))


@pytest.mark.slow
@pytest.mark.parametrize("path", FIGURES, ids=lambda path: path.stem)
def test_a_figure_of_the_pages_is_drawn(path, tmp_path, monkeypatch):
    monkeypatch.syspath_prepend(str(path.parent))

    axes = runpy.run_path(str(path))["chart"]()

    axes.figure.savefig(tmp_path / "figure.svg")
    plt.close(axes.figure)

    assert (tmp_path / "figure.svg").stat().st_size > 1000


def test_no_command_of_the_pages_is_cut_by_a_line_break():
    """The test above runs single lines, so that a command must be one."""
    assert [line for line in LINES if line.endswith("\\")] == []


def imports_between(rooms):
    """Return (room, imported room) of every import statement between two rooms."""
    source = Path(trueness.__file__).parent
    imports = set()
    for path in source.glob("*/**/*.py"):
        room = path.relative_to(source).parts[0]
        text = path.read_text(encoding="utf-8")
        names = re.findall(r"^\s*(?:from|import) trueness\.(\w+)", text, re.MULTILINE)
        names += re.findall(r"^\s*from trueness import (\w+)", text, re.MULTILINE)
        imports |= {(room, name) for name in names if name in rooms - {room}}
    return imports


def transitive_closure(rooms, arrows):
    """Return the rooms that can be reached from each room along the arrows."""
    reached = {room: {room} for room in rooms}
    for _ in rooms:
        for room, other in arrows:
            reached[room] |= reached[other]
    return reached


def test_the_picture_of_the_house_shows_the_imports():
    house = runpy.run_path(str(ROOT / "docs" / "house.py"))
    picture = house["svg"]()
    rooms = {
        path.name
        for path in Path(trueness.__file__).parent.iterdir()
        if (path / "__init__.py").exists()
    }

    arrows = set(re.findall(r'data-from="(\w+)" data-to="(\w+)"', picture))
    imports = imports_between(rooms)

    assert set(re.findall(r">(\w+)</text>", picture)) == rooms
    assert arrows <= imports
    rooms_below = transitive_closure(rooms, arrows)
    for room, other in imports:
        assert other in rooms_below[room]
        assert room not in rooms_below[other], f"a circle: {room} and {other}"


def test_the_flows_walk_through_modules_that_are_there():
    text = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
    named = set(re.findall(r"`(trueness[\w/]*(?:\.py|/))`", text))

    assert len(named) > 15

    for name in named:
        assert (ROOT / "src" / name).exists(), name


# rooms that answer no question of their own: their words are on the pages of others
SILENT = {"_core", "counts", "findings", "inference", "metrics", "plots", "cli"}
# rooms whose answers need no proof beyond the counts of the others
PLAIN = {"data", "estimators", "gpu", "reports", "app"}


def test_every_room_has_pages_under_its_word():
    rooms = {p.parent.name for p in (ROOT / "src" / "trueness").glob("*/__init__.py")}

    assert rooms > SILENT | PLAIN

    house = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
    table = "".join(re.findall(r"^\|.*\|$", house, re.MULTILINE))
    for room in rooms:
        assert f"`{room}`" in table, room
        assert (ROOT / "tests" / room).is_dir(), room
    for room in rooms - SILENT:
        assert (ROOT / "docs" / "howto" / f"{room}.md").exists(), room
    for room in rooms - SILENT - PLAIN:
        assert (ROOT / "docs" / "maths" / f"{room}.md").exists(), room


def test_formulas_need_no_network():
    settings = (ROOT / "docs" / "conf.py").read_text(encoding="utf-8")

    assert "mathjax" not in settings

    convert = pytest.importorskip("latex2mathml.converter").convert
    for page in PAGES:
        text = page.read_text(encoding="utf-8")
        text = re.sub(r"```.*?```|`[^`\n]*`", "", text, flags=re.DOTALL)
        for formula in re.findall(r"\$\$(.+?)\$\$|\$([^$\n]+)\$", text, re.DOTALL):
            assert "<math" in convert(formula[0] or formula[1])
