"""A word of another library or profession: the shell says which command to type."""

import shlex

import pytest

from shell import PYTHON, run
from trueness._core.not_computed import NEAREST
from trueness._core.synonyms import CALLS
from trueness.cli import COMMANDS
from trueness.cli._app import load
from trueness.cli._command import OPTIONS_OF_OTHERS
from trueness.cli._synonyms import COMMAND_OF_CALL, command_for

ANSWERS = [*CALLS, *NEAREST]
CALLS_AND_FUNCTIONS = {*ANSWERS, *(call.partition("(")[0] for call in ANSWERS)}


def options_of(command):
    return {name for option in command.params for name in option.opts}


@pytest.mark.parametrize(
    ("word", "command"),
    [
        ("gini", "trueness scorecard FILE"),
        ("Kolmogorov-Smirnov", "trueness scorecard FILE"),
        ("mcnemar", "--method mcnemar"),
        ("four_fifths", "--by COLUMN"),
        ("ipcw", "--horizon 5"),
        ("balanced-accuracy", "--at 0.5"),
        ("informedness", "--at 0.5"),
        ("conformal", "--guarantee"),
        ("isotonic", "--method isotonic"),
    ],
)
def test_a_word_of_a_profession_is_told_its_command(word, command, monkeypatch):
    monkeypatch.setenv("COLUMNS", "300")

    result = run(word, "cases.csv")

    assert result.exit_code == 2
    assert f"There is no command '{word}'." in result.stderr
    assert command in result.stderr
    assert not PYTHON.search(result.stderr)


def test_a_misspelt_command_is_still_suggested():
    assert "'evaluate'" in run("evaluat", "cases.csv").stderr


def test_what_is_not_computed_names_the_nearest_command(monkeypatch):
    monkeypatch.setenv("COLUMNS", "300")

    refused = run("froc", "cases.csv").stderr

    assert "It is not part of Trueness; the nearest is: trueness readers" in refused


def test_a_word_without_an_answer_leads_to_the_list_of_commands(monkeypatch):
    monkeypatch.setenv("COLUMNS", "300")

    assert "type: trueness --help" in run("permutation_importance").stderr


def test_a_file_in_place_of_a_command_is_looked_at(tmp_path, monkeypatch):
    monkeypatch.setenv("COLUMNS", "300")
    monkeypatch.chdir(tmp_path)
    (tmp_path / "cases.csv").write_text("y,p\n0,0.1\n1,0.9\n")

    assert "type: trueness look cases.csv" in run("cases.csv").stderr


def test_no_word_of_the_table_hides_a_command():
    for name in COMMANDS:
        assert run(name, "--help").exit_code == 0


def test_every_entry_belongs_to_a_call_of_the_one_table():
    assert set(COMMAND_OF_CALL) <= CALLS_AND_FUNCTIONS


@pytest.mark.parametrize("line", sorted(set(COMMAND_OF_CALL.values())))
def test_what_to_type_has_a_command_and_its_options(line):
    name, *words = shlex.split(line)
    command = load(name)
    if name == "plan":
        command = command.commands[words[0]]

    typed = {word for word in words if word.startswith("-")}

    assert typed <= options_of(command)


def test_a_word_without_a_command_has_no_answer():
    assert command_for("save") is None
    assert command_for("nonsense") is None


@pytest.mark.parametrize("name", sorted(OPTIONS_OF_OTHERS))
def test_an_option_of_another_tool_names_ours(name):
    ours = OPTIONS_OF_OTHERS[name].split()[0]
    commands = [c for c in ("evaluate", "threshold") if ours in options_of(load(c))]

    result = run(commands[0], "sample:west_nile", name, "1")

    assert result.exit_code == 2
    said = " ".join(result.stderr.replace("\u2502", " ").split())
    assert f"There is no option {name}. Type {OPTIONS_OF_OTHERS[name]}." in said


def test_an_option_that_is_refused_is_not_proposed(tmp_path):
    path = tmp_path / "cases.csv"
    rows = [f"{k // 2},{k % 3 == 0:d},{k % 7},{k % 5}" for k in range(60)]
    path.write_text("patient,y,score_a,score_b\n" + "\n".join(rows))

    assert "--cluster" in run("compare", path).stderr
    assert "--cluster" not in run("combine", path).stderr
