"""Shells complete commands, options and the columns of the file, for real."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from shell import SOURCE

START = (
    "import sys; sys.argv[0] = 'trueness'; "
    "from trueness.cli import _start; _start.main()"
)
ASK = """
COMP_WORDS=("$@"); COMP_CWORD=$(( $# - 1 ))
_trueness_completion trueness "${@: -1}" ""
echo "${COMPREPLY[*]}"
"""
# what is typed so far, and what a shell must offer
LINES = {
    "trueness eva": ["evaluate", "evals"],
    "trueness evaluate --le": ["--level"],
    "trueness evaluate data.csv --label ": ["truth", "p", "two words"],
    "trueness evaluate data.csv --label truth --score t": ["truth", "two words"],
    "trueness nogold sample:hiv --vote ": ["V1", "V2", "V3", "V4", "count"],
    "trueness evaluate nowhere.csv --label ": [],
}
FEW = dict(list(LINES.items())[:3])


@pytest.fixture
def environment(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("data.csv").write_text("truth,p,two words\n1,0.5,1\n0,0.25,0\n")
    program = tmp_path / "trueness"
    program.write_text(f'#!/bin/sh\nexec {sys.executable} -c "{START}" "$@"\n')
    program.chmod(0o755)
    path = f"{tmp_path}:{os.environ['PATH']}"
    return {**os.environ, "PYTHONPATH": str(SOURCE), "PATH": path, "HOME": "."}


def output(command, environment):
    done = subprocess.run(
        command, env=environment, capture_output=True, text=True, check=True
    )
    return [line for line in done.stdout.splitlines() if line]


def words(line):
    return [*line.split(), ""] if line.endswith(" ") else line.split()


@pytest.mark.slow
def test_bash(environment):
    script = output(["bash", "-c", "trueness --show-completion; exit"], environment)
    assert script[-1] == "complete -o default -F _trueness_completion trueness"
    for line, expected in LINES.items():
        ask = "\n".join([*script, 'IFS="|"', ASK])
        # the script sets IFS inside its function only
        found = output(["bash", "-c", ask, "bash", *words(line)], environment)
        assert found == (["|".join(expected)] if expected else []), line


def test_fish(environment):
    if shutil.which("fish") is None:
        pytest.skip("no fish on this machine: apt-get install fish")
    line = {**environment, "_TRUENESS_COMPLETE": "source_fish"}
    script = "\n".join(output(["trueness"], line))
    for typed, expected in FEW.items():
        asked = f"{script}\ncomplete -C '{typed}'"
        found = output(["fish", "--no-config", "-c", asked], environment)
        offered = {text.split("\t")[0].replace("\\ ", " ") for text in found}
        assert set(expected) <= offered, typed


@pytest.mark.slow
def test_zsh(environment):
    """What zsh asks, and what it is answered."""
    for typed, expected in FEW.items():
        asked = {"_TRUENESS_COMPLETE": "complete_zsh", "_TYPER_COMPLETE_ARGS": typed}
        found = " ".join(output(["trueness"], environment | asked))
        for word in expected:
            assert f'"{word}"' in found.replace("\\", ""), typed
