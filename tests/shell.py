"""Run the command line: in this process, or as a program of its own."""

import json
import os
import re
import sys
from pathlib import Path

from typer.testing import CliRunner

import trueness
from trueness.cli import app

SOURCE = Path(trueness.__file__).parents[1]
ENVIRONMENT = {**os.environ, "PYTHONPATH": str(SOURCE), "COLUMNS": "100"}
PYTHON = re.compile(  # what nobody types in a shell
    r"(?<![-\w])\w+=[\"'\d\[{]|trueness\.\w+\(|\btally\(|panel\.|y_true|y_score"
)
TRUENESS = [sys.executable, "-m", "trueness"]


def run(*words, text=None):
    return CliRunner().invoke(app, [str(w) for w in words], input=text)


def answer(*words, text=None):
    """Run with --json: nothing but JSON on standard output."""
    result = run(*words, "--json", text=text)
    assert result.exit_code == 0, result.stderr
    return json.loads(result.stdout)
