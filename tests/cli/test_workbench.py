"""The command that starts the workbench: what it refuses, and without its libraries."""

import sys

import pytest
from typer.testing import CliRunner

from trueness.cli import app


def run(*words):
    return CliRunner().invoke(app, ["app", *words])


@pytest.mark.parametrize("host", ["0.0.0.0", "192.168.1.2", "::", "example.org"])  # noqa: S104
def test_other_machines_are_let_in_only_by_who_knows(host):
    result = run("--host", host, "--no-browser")
    assert result.exit_code == 2
    assert "--i-know" in result.stderr
    assert "other machines" in result.stderr


def test_without_the_extra_it_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "uvicorn", None)
    result = run("--no-browser")
    assert result.exit_code == 2, result.output
    assert 'pip install "trueness[app]"' in result.stderr


def test_a_file_that_is_not_there_is_told_before_anything_begins():
    result = run("nowhere.csv", "--no-browser")
    assert result.exit_code == 2
    assert "There is no file nowhere.csv" in result.stderr
