"""Counts of attempts: merging, reading, saving, and what is refused."""

from __future__ import annotations

import json

import numpy as np
import pytest

import trueness
from trueness import Attempts, InputError, NotEnoughCases

ROWS = {
    "task": ["x", "x", "y", "y", "z", None],
    "ok": [True, False, True, True, None, True],
    "model": ["m", "m", "m", "m", "m", "m"],
    "repo": ["r", "r", "r", "r", "s", "s"],
}


def few(**more):
    rows = {k: v[:4] for k, v in ROWS.items()}
    return trueness.attempts(rows, item="task", passed="ok", **more)


def test_rows_are_counted_by_item():
    a = few()
    assert a.item.tolist() == ["x", "y"]
    assert (a.passed.tolist(), a.tried.tolist(), a.missing) == ([1, 2], [2, 2], 0)


def test_shards_merge_exactly_in_any_order():
    rng = np.random.default_rng(1)
    n = 3000
    rows = {"i": rng.integers(0, 200, n), "p": rng.integers(0, 2, n)}
    rows["c"] = rows["i"] // 7

    def count(at):
        part = {k: v[at] for k, v in rows.items()}
        return trueness.attempts(part, item="i", passed="p", cluster="c")

    parts = [count(at) for at in np.array_split(rng.permutation(n), 5)]
    whole = count(np.arange(n))
    assert sum(parts[1:], start=parts[0]) == whole
    assert sum(parts[::-1][1:], start=parts[-1]) == whole


@pytest.mark.parametrize(
    ("passed", "expected"),
    [
        (["pass", "FAIL", " Passed ", "failed"], [2, 2]),
        (["C", "I", "I", "I"], [1, 3]),
        ([1.0, 0.0, 1.0, 1.0], [3, 1]),
        (["yes", "no", "", "no"], [1, 2]),
    ],
)
def test_verdicts_in_words_and_numbers(passed, expected):
    a = trueness.attempts(
        {"i": [1, 2, 3, 4], "p": passed}, item="i", passed="p", missing="drop"
    )
    wins = int(a.passed.sum())
    assert [wins, int(a.tried.sum()) - wins] == expected


def test_missing_verdicts_are_left_out_or_failed():
    rows = {k: v[:5] for k, v in ROWS.items()}
    dropped = trueness.attempts(rows, item="task", passed="ok")
    assert (len(dropped), dropped.missing) == (2, 1)
    assert any("no verdict" in n for n in trueness.pass_rate(dropped).notes)
    failed = trueness.attempts(rows, item="task", passed="ok", missing="fail")
    assert (len(failed), failed.missing) == (3, 0)
    assert failed.passed.tolist() == [1, 2, 0]


def test_grades_need_a_threshold():
    rows = {"i": [1, 2, 3], "p": [0.2, 0.5, 1.0]}
    with pytest.raises(InputError, match=r"grades, such as 0\.2.*threshold=0\.5"):
        trueness.attempts(rows, item="i", passed="p")
    a = trueness.attempts(rows, item="i", passed="p", threshold=0.5)
    assert a.passed.tolist() == [0, 1, 1]


def test_systems_make_a_dict():
    rows = {"i": [1, 1, 2, 2], "p": [1, 0, 1, 1], "s": ["a", "b", "a", "b"]}
    found = trueness.attempts(rows, item="i", passed="p", system="s")
    assert {k: a.passed.tolist() for k, a in found.items()} == {
        "a": [1, 1],
        "b": [0, 1],
    }


def test_frames_of_every_kind(tmp_path):
    import pandas as pd
    import polars as pl

    rows = {k: v[:4] for k, v in ROWS.items()}
    expected = trueness.attempts(rows, item="task", passed="ok")
    file = tmp_path / "runs.csv"
    pd.DataFrame(rows).to_csv(file, index=False)
    for frame in (pd.DataFrame(rows), pl.DataFrame(rows), pl.LazyFrame(rows), file):
        assert trueness.attempts(frame, item="task", passed="ok") == expected


def test_a_file_holds_them(tmp_path):
    a, file = few(cluster="repo"), tmp_path / "a.json"
    a.write(file)
    assert trueness.read_attempts(file) == a


@pytest.mark.parametrize(
    "change",
    [
        {"schema": "other"},
        {"passed": [9, 9]},
        {"passed": [0.5, 1]},
        {"item": "xy"},
        {"cluster": 3},
        {"tried": [0, 1]},
        {"missing": "many"},
        {"passed": [1]},
        {"passed": [[1, 2], [3]]},
        {"tried": [2**70, 1]},
        {"missing": True},
        {"missing": 10**400},
        {"item": [1, None]},
        {"cluster": [["a"], {}]},
    ],
)
def test_a_forged_file_gets_a_sentence(tmp_path, change):
    file = tmp_path / "a.json"
    few().write(file)
    file.write_text(json.dumps(json.loads(file.read_text()) | change))
    with pytest.raises(InputError):
        trueness.read_attempts(file)


def test_no_file_and_no_json(tmp_path):
    with pytest.raises(InputError, match="There is no file"):
        trueness.read_attempts(tmp_path / "none.json")
    (tmp_path / "a.json").write_text("{" * 9)
    with pytest.raises(InputError, match="not a file of attempts"):
        trueness.read_attempts(tmp_path / "a.json")


def test_wrong_calls_are_taught():
    with pytest.raises(InputError, match="needs the columns of the items"):
        trueness.attempts({"a": [1]})
    with pytest.raises(InputError, match="has no value in row 2"):
        trueness.attempts({"i": ["a", None], "p": [1, 1]}, item="i", passed="p")
    with pytest.raises(InputError, match="found 'maybe'"):
        trueness.attempts({"i": ["a"], "p": ["maybe"]}, item="i", passed="p")
    rows = {"i": ["a", "a"], "p": [1, 1], "c": [1, 2]}
    with pytest.raises(InputError, match="several clusters"):
        trueness.attempts(rows, item="i", passed="p", cluster="c")
    with pytest.raises(NotEnoughCases, match="Did the scorer run"):
        trueness.attempts({"i": ["a"], "p": [None]}, item="i", passed="p")
    with pytest.raises(InputError, match="Each item must stand once"):
        Attempts(["a", "a"], passed=[1, 1], tried=[1, 1])
    one, other = (
        Attempts(["a", "b"], passed=[1, 1], tried=[1, 1], cluster=[c, c]) for c in "cd"
    )
    with pytest.raises(InputError, match="cluster 'c' and to 'd'"):
        one + other


def test_repeats_in_logs_are_attempts_at_one_item(tmp_path):
    samples = [
        {"id": f"q{k}", "epoch": e, "scores": {"match": {"value": "CI"[(k + e) % 2]}}}
        for k in range(4)
        for e in (1, 2, 3)
    ]
    held = {"eval": {"model": "m", "task": "t"}, "status": "success", "plan": {}}
    (tmp_path / "log.json").write_text(json.dumps(held | {"samples": samples}))
    a = trueness.attempts(tmp_path / "log.json")
    assert a.item.tolist() == ["q0", "q1", "q2", "q3"]
    assert (a.tried.tolist(), a.passed.tolist()) == ([3] * 4, [1, 2, 1, 2])
