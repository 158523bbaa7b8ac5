"""`trueness evals` on tables and logs, as people type it."""

from __future__ import annotations

import json

import numpy as np
import pytest

import shell
import trueness


def run(*words):
    return shell.run("evals", *words)


@pytest.fixture
def tables(tmp_path):
    rng = np.random.default_rng(0)
    easy = rng.beta(2, 2, 60)
    files = []
    for name, gain in (("old", 0.0), ("new", 0.3)):
        lines = ["q,ok,task"]
        for i, p in enumerate(easy):
            for _ in range(3):
                ok = int(rng.random() < min(1, p + gain))
                lines.append(f"q{i},{ok},{'math' if i % 2 else 'law'}")
        files.append(tmp_path / f"{name}.csv")
        files[-1].write_text("\n".join(lines))
    return files


def test_one_table_says_what_python_says(tables):
    result = run(
        tables[0], "--item", "q", "--passed", "ok", "--pass-at", 1, 2, "--json"
    )
    numbers = json.loads(result.stdout)["result"]["systems"][""]
    a = trueness.attempts(tables[0], item="q", passed="ok")
    assert numbers["pass rate"]["low"] == trueness.pass_rate(a).low
    assert numbers["pass@2"]["high"] == trueness.pass_at_k(a, 2).high


def test_several_are_compared_and_ranked(tables, tmp_path):
    words = ("--item", "q", "--passed", "ok", "--by", "task", "-o", tmp_path / "r.html")
    result = run(*tables, *words, "--plot", tmp_path / "b.svg")
    assert result.exit_code == 0, result.stderr
    assert "new has the highest pass rate" in result.stdout
    assert "significantly better than every other system" in result.stdout
    assert "old - new" in result.stdout
    assert "law" in result.stdout
    assert "new" in (tmp_path / "r.html").read_text()
    assert "<svg" in (tmp_path / "b.svg").read_text()


def test_a_log_needs_no_columns(tmp_path):
    samples = [
        {"id": k, "epoch": e, "scores": {"match": {"value": "CI"[k * e % 3 == 1]}}}
        for k in range(20)
        for e in (1, 2)
    ]
    held = {"eval": {"model": "m", "task": "t"}, "status": "success", "plan": {}}
    (tmp_path / "log.json").write_text(json.dumps(held | {"samples": samples}))
    result = run(tmp_path / "log.json", "--pass-hat", 2)
    assert result.exit_code == 0, result.stderr
    assert "20 items and 40 attempts" in result.stdout
    assert "trueness judge" in result.stdout


def test_wrong_lines_are_taught(tables, tmp_path):
    named = (tables[0], "--item", "q", "--passed", "ok")
    for words, code, sentence in (
        (tables[:1], 2, "--item NAME --passed NAME"),
        ((*named, "--pass-at", 9), 3, "Ask for 3 or less"),
        ((*named, "--by", "nothing"), 2, "no column 'nothing'"),
        ((tmp_path / "none.csv",), 2, "none.csv"),
    ):
        result = run(*words)
        assert result.exit_code == code
        assert sentence in result.stderr
