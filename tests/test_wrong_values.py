"""Wrong values end with a sentence, never with an error of a library below."""

import os
import subprocess
import sys

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

import trueness
from trueness import InputError
from trueness.monitoring.contracts import read_contract

LABELS = [0, 1, 0, 1, 1, 0] * 5
SCORES = np.linspace(0, 1, 30)
TALLY = trueness.tally(LABELS, SCORES)
TWICE = pa.table(
    [pa.array(LABELS), pa.array(SCORES), pa.array(SCORES)], ["y", "p", "p"]
)
SPAN = np.timedelta64(1, "s")

CALLS = {
    "a span as level": (lambda: trueness.auc(TALLY, level=SPAN), "level"),
    "a span as cut": (lambda: trueness.at_threshold(TALLY, SPAN), "threshold"),
    "a series": (lambda: trueness.look(pd.Series([1, 2])), "A frame is needed"),
    "too many cases": (
        lambda: trueness.simulate_tally(2**31, 5, auc=0.8),
        "up to 100,000,000",
    ),
    "a name twice": (lambda: trueness.look(TWICE), "'p'"),
    "a name twice, counted": (
        lambda: trueness.tally(TWICE, label="y", score="p"),
        "'p'",
    ),
}


@pytest.mark.parametrize("name", CALLS)
def test_wrong_values_are_told(name):
    call, words = CALLS[name]

    with pytest.raises(InputError, match=words) as told:
        call()

    assert "Array" not in str(told.value)


@pytest.mark.parametrize("types", ["DOUBLE", ["DOUBLE"], 3])
def test_types_of_columns_are_a_mapping(tmp_path, types):
    (tmp_path / "a.csv").write_text("y,p\n1,0.5\n0,0.2\n")

    with pytest.raises(InputError, match="mapping from column to type") as told:
        trueness.scan(tmp_path / "a.csv", types=types)

    assert told.value.option == "types"


def test_a_cluster_may_be_called_infinity():
    counts = trueness.tally([0, 1], [0.1, 0.9], cluster=[1.0, np.inf])

    assert counts.n == 2


def test_a_contract_that_is_nested_too_deep_is_told(tmp_path):
    path = tmp_path / "contract.toml"
    path.write_text(f"a = {'[' * 3000}{']' * 3000}")

    with pytest.raises(InputError, match="nested too deeply"):
        read_contract(path)


@pytest.mark.parametrize("seconds", ["abc", "1e300", "nan"])
def test_the_day_of_a_build_is_a_number(tmp_path, monkeypatch, seconds):
    monkeypatch.setenv("SOURCE_DATE_EPOCH", seconds)

    with pytest.raises(InputError, match="SOURCE_DATE_EPOCH must be"):
        trueness.report(TALLY, tmp_path / "report.html")


def test_a_column_of_attempts_is_named_by_a_text():
    rows = {"task": ["x", "y"], "ok": [1, 0]}

    with pytest.raises(InputError, match="item must be the name of one column") as err:
        trueness.attempts(rows, item=["task"], passed="ok")

    assert err.value.option == "item"


def test_the_shell_refuses_a_build_time_that_is_no_number():
    wrong = {**os.environ, "SOURCE_DATE_EPOCH": "abc"}

    ended = subprocess.run(
        [sys.executable, "-m", "trueness", "--version"],
        env=wrong, capture_output=True, text=True, check=False,
    )  # fmt: skip

    assert ended.returncode == 2
    assert ended.stderr == (
        "SOURCE_DATE_EPOCH must be a number of seconds since 1970; found 'abc'.\n"
    )
