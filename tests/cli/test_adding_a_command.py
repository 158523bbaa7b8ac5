"""A command is added as the documentation says: a function and a row of the table."""

import json
import sys
import types
from pathlib import Path

import pytest

import trueness
from shell import run
from trueness.cli._app import COMMANDS, CommandEntry

PAGE = Path(__file__).parents[2] / "docs" / "architecture.md"


def code_of_the_example():
    _, _, section = PAGE.read_text(encoding="utf-8").partition("## Adding a command")
    _, _, begun = section.partition("```python\n")
    return begun.partition("```")[0]


@pytest.fixture
def ties(monkeypatch):
    """Add the command of the page, for one test."""
    module = types.ModuleType("trueness.cli.ties")
    exec(compile(code_of_the_example(), "ties.py", "exec"), vars(module))  # noqa: S102 - our own page
    monkeypatch.setitem(sys.modules, "trueness.cli.ties", module)
    entry = CommandEntry(
        module="ties", help="How many pairs of cases share a score?", panel="Start here"
    )
    monkeypatch.setitem(COMMANDS, "ties", entry)


def test_it_is_listed_with_its_help(ties):
    assert "How many pairs of cases share a score?" in run("--help").stdout
    assert "--score" in run("ties", "--help").stdout


def test_it_answers_with_text_and_json(ties, tmp_path):
    file = tmp_path / "cases.csv"
    file.write_text("y,p\n1,0.9\n1,0.5\n0,0.5\n0,0.1\n")

    answer = json.loads(run("ties", file, "--label", "y", "--json").stdout)

    assert answer["schema"] == "trueness/ties/1"
    assert answer["trueness"] == trueness.__version__
    assert answer["result"] == {"tied": 0.25}  # one of four pairs, by hand
    assert "25.0 % of the pairs share a score." in run("ties", file).stdout


def test_its_errors_are_sentences_with_an_exit_code(ties):
    result = run("ties", "nowhere.csv")

    assert result.exit_code == 2
    assert result.stderr.startswith("Error: There is no file nowhere.csv.")
