"""A verdict on calibration within a margin, and what is said without memory."""

import duckdb
import numpy as np
import pandas as pd
import pytest

import trueness
from shell import answer, run
from trueness._core.progress import heard_by
from trueness.cli import evaluate
from trueness.cli._file_data import SCORES, open_data
from trueness.cli._source import _fits_in_memory, open_source
from trueness.cli.look import look_command


@pytest.fixture
def scored_file(tmp_path):
    rng = np.random.default_rng(0)
    probability = rng.beta(2, 2, size=600).round(3)
    label = (rng.random(600) < probability).astype(int)
    path = tmp_path / "scored.csv"
    frame = pd.DataFrame({"y": label, "p": probability, "wide": probability * 3})
    frame.to_csv(path, index=False)
    return path


@pytest.mark.parametrize("command", ["evaluate", "calibrate"])
def test_the_verdict_is_that_of_python(command, scored_file):
    columns = {"label": "y", "score": "p"}
    expected = trueness.calibration_verdict(
        pd.read_csv(scored_file), margin=0.1, **columns
    )

    result = answer(command, scored_file, "-l", "y", "-s", "p", "--margin", "10%")

    verdict = result["result"]["calibration"]["p"]
    assert verdict["verdict"] == expected.verdict
    assert verdict["margin"] == 0.1
    assert verdict["bound"] == pytest.approx(expected.bound)
    assert set(expected.sentences) <= set(result["sentences"])


@pytest.mark.parametrize("command", ["evaluate", "calibrate"])
def test_without_a_margin_there_is_no_verdict(command, scored_file):
    result = answer(command, scored_file, "-l", "y", "-s", "p")

    assert "calibration" not in result["result"]


def test_scores_outside_0_to_1_have_no_margin(scored_file):
    result = run("evaluate", scored_file, "-l", "y", "-s", "wide", "--margin", "0.1")

    assert result.exit_code == 2
    assert "A margin is for scores between 0 and 1" in result.stderr


def test_a_report_takes_the_margin(scored_file, tmp_path):
    columns = ("report", scored_file, "-l", "y", "-s", "p")
    strict, lenient = tmp_path / "strict.html", tmp_path / "lenient.html"

    run(*columns, "--margin", "0.001", "-o", strict)
    run(*columns, "--margin", "0.2", "-o", lenient)

    assert "there are too few cases to confirm it" in strict.read_text()
    assert "there are too few cases to confirm it" not in lenient.read_text()


@pytest.mark.parametrize(
    "error", [duckdb.OutOfMemoryException("Out of Memory Error: no"), MemoryError()]
)
def test_too_little_memory_is_said_in_a_sentence(error, scored_file, monkeypatch):
    def fail(*_, **__):
        raise error

    monkeypatch.setattr(evaluate, "count_tally", fail)

    result = run("evaluate", scored_file, "-l", "y", "-s", "p")

    assert result.exit_code == 2
    assert result.stderr.startswith("Error: There is not enough memory")
    assert "Out of Memory Error" not in result.stderr


def test_a_small_text_file_is_read_once(scored_file):
    source = open_source(str(scored_file))

    scored_file.write_text("y,p,wide\n1,0.5,1.5\n")

    assert source.rows.aggregate("count(*)").fetchall() == [(600,)]


@pytest.mark.parametrize(("ending", "fits"), [(".csv", True), (".csv.gz", False)])
def test_what_is_unpacked_counts_for_memory(ending, fits, tmp_path):
    path = tmp_path / f"cases{ending}"
    with path.open("wb") as file:
        file.truncate(1 << 25)

    assert _fits_in_memory(path) == fits


class Display:
    """A display that remembers what it was told of."""

    def __init__(self):
        self.tasks = []

    def add_task(self, what, **options):
        self.tasks.append(what)

    def advance(self, task, number):
        pass

    def refresh(self):
        pass

    def remove_task(self, task):
        pass


def test_progress_is_shown_while_a_file_is_opened(scored_file):
    display = Display()

    with heard_by(display):
        open_data(SCORES, file=str(scored_file), label="y", columns=["p"])

    assert display.tasks[:2] == ["Reading the file", "Opening the file"]


def test_progress_is_shown_while_a_file_is_looked_at(scored_file):
    display = Display()

    with heard_by(display):
        look_command(str(scored_file))

    assert display.tasks[:2] == ["Looking at the file", "Opening the file"]
