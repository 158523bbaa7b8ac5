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
        (tables[:1], 2, "Choose --item from q, ok, task."),
        ((*tables[:1], "--passed", "ok"), 2, "Choose --item from q, ok, task."),
        ((*named, "--pass-at", 9), 3, "Ask for 3 or less"),
        ((*named, "--by", "nothing"), 2, "no column 'nothing'"),
        ((tmp_path / "none.csv",), 2, "none.csv"),
    ):
        result = run(*words)
        assert result.exit_code == code
        assert sentence in result.stderr


def attempts_file(path, passed, systems="ab", items=30):
    """Write a row per item and system; ``passed`` says the verdict on each."""
    lines = ["item,system,passed,note"]
    for system in systems:
        lines += [f"{k},{system},{passed(system, k)},x" for k in range(items)]
    path.write_text("\n".join(lines) + "\n")
    return path


COLUMNS = ("--item", "item", "--passed", "passed")


class TestSeveralSystems:
    def test_are_not_pooled_unsaid(self, tmp_path):
        path = attempts_file(tmp_path / "a.csv", lambda s, k: int(k % 3 > 0), "wxyz")

        result = run(path, *COLUMNS)

        assert result.exit_code == 2
        assert "names 4 systems" in result.stderr
        assert "Type --system system." in result.stderr

    def test_are_not_pooled_by_a_contract(self, tmp_path):
        path = attempts_file(tmp_path / "a.csv", lambda s, k: int(k % 3 > 0), "wxyz")
        contract = tmp_path / "quality.toml"
        head = 'label = "passed"\nkey = "item"\n'
        contract.write_text(f'{head}[[require]]\nmetric = "pass_rate"\nat_least = 0.1')

        result = shell.run("check", contract, path)

        assert result.exit_code == 2
        assert (
            "A contract is about one system; the log holds w, x, y, z" in result.stderr
        )

    def test_one_system_in_a_column_is_no_several(self, tmp_path):
        path = attempts_file(tmp_path / "a.csv", lambda s, k: int(k % 3 > 0), "w")

        assert shell.answer("evals", path, *COLUMNS)["cases"]["n"] == 30

    def test_with_equal_rates_tie(self, tmp_path):
        path = attempts_file(tmp_path / "a.csv", lambda s, k: int((k + ord(s)) % 5 > 0))

        result = run(path, *COLUMNS, "--system", "system")

        assert "A tie: a and b share the highest pass rate, 80 %" in result.stdout
        assert "has the highest pass rate" not in result.stdout

    def test_lose_no_attempt_unsaid(self, tmp_path):
        path = attempts_file(
            tmp_path / "a.csv",
            lambda s, k: "" if s == "b" and k < 4 else int(k % 3 > 0),
        )
        words = (*COLUMNS, "--system", "system")

        result = run(path, *words)

        assert "Left out without a verdict: a 0, b 4." in result.stdout
        assert "set missing_scores to 'fail'." in result.stdout
        assert run(path, *words, "--missing-scores", "fail").exit_code == 0


class TestLogsWithSeveralVerdicts:
    def promptfoo(self, path, components):
        """Write results of promptfoo; ``components`` says which rows have some."""
        results = []
        for k in range(10):
            row = {"testIdx": k, "provider": "m", "success": k % 2 == 0}
            if components(k):
                part = {"pass": True, "assertion": {"type": "equals"}}
                row["gradingResult"] = {"componentResults": [part]}
            results.append(row)
        path.write_text(json.dumps({"evalId": "e", "results": {"results": results}}))
        return path

    def test_success_is_the_verdict_where_no_assertion_is_graded(self, tmp_path):
        path = self.promptfoo(tmp_path / "log.json", lambda k: False)

        found = shell.answer("evals", path)

        assert found["cases"]["positive"] == 5

    def test_success_is_offered_where_some_are(self, tmp_path):
        path = self.promptfoo(tmp_path / "log.json", lambda k: k < 5)

        result = run(path)

        assert "'equals', 'success'. Type --passed" in result.stderr
        assert (
            shell.answer("evals", path, "--passed", "success")["cases"]["positive"] == 5
        )

    def test_two_filters_of_lm_eval_need_a_name(self, tmp_path):
        path = tmp_path / "samples_gsm8k_2026-01-01T00.jsonl"
        filters = ("strict", "flexible")
        head = {"doc": {}, "filtered_resps": [], "metrics": ["exact_match"]}
        lines = [
            json.dumps({"doc_id": k, **head, "filter": f, "exact_match": k % 2})
            for k in range(10)
            for f in filters
        ]
        path.write_text("\n".join(lines))

        result = run(path)

        assert result.exit_code == 2
        assert "Type --passed 'exact_match (strict)'" in result.stderr
        chosen = ("--passed", "exact_match (strict)")
        assert shell.answer("evals", path, *chosen)["cases"]["positive"] == 5
