"""Ctrl-C in the first moments of the program, and of another one."""

import subprocess
import sys

import pytest

from shell import ENVIRONMENT

INTERRUPTED_WHILE_IMPORTING = """
import os, signal, sys
sys.argv = [{name!r}, "--help"]
import trueness
os.kill(os.getpid(), signal.SIGINT)
"""


def interrupted(name):
    """Interrupt a program of this name right after its first import."""
    return subprocess.run(
        [sys.executable, "-c", INTERRUPTED_WHILE_IMPORTING.format(name=name)],
        env=ENVIRONMENT,
        capture_output=True,
        text=True,
    )


@pytest.mark.parametrize("name", ["/usr/bin/trueness", "trueness", "trueness.exe"])
def test_ends_the_program_without_a_traceback(name):
    ended = interrupted(name)

    assert (ended.returncode, ended.stderr) == (130, "")


def test_is_left_to_another_program():
    ended = interrupted("study.py")

    assert "KeyboardInterrupt" in ended.stderr


def test_leaves_an_answer_that_was_given():
    script = (
        "import os, signal, sys\n"
        "sys.argv = ['trueness', '--version']\n"
        "from trueness.cli._start import main\n"
        "try:\n"
        "    main()\n"
        "finally:\n"
        "    os.kill(os.getpid(), signal.SIGINT)\n"
    )
    ended = subprocess.run(
        [sys.executable, "-c", script], env=ENVIRONMENT, capture_output=True, text=True
    )

    assert ended.returncode == 0, ended.stderr
    assert ended.stdout.startswith("trueness ")
