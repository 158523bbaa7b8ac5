"""Contracts on the logs of evaluations: CI stops on a fall and not on noise."""

from __future__ import annotations

import json

import numpy as np
import pytest
from typer.testing import CliRunner

import trueness
from trueness import Attempts, InputError
from trueness.cli._app import app


def made(passed, tried=1):
    n = len(passed)
    return Attempts([f"q{k:04}" for k in range(n)], passed, [tried] * n)


def test_a_rate_holds_fails_or_cannot_be_told():
    a = made([1] * 90 + [0] * 10)
    found = trueness.check(
        a, ["pass_rate >= 0.8", "pass_rate >= 0.97", "pass_rate >= 0.88"]
    )
    assert [v.verdict for v in found.verdicts] == ["holds", "fails", "cannot tell yet"]


def test_k_of_n_attempts():
    a = made([5] * 80 + [2] * 20, tried=5)
    found = trueness.check(
        a, ["pass_hat_k(k=3) >= 0.6", "pass_at_k(2) >= 0.99"], adjust="none"
    )
    one, two = found.verdicts
    assert one.value == trueness.pass_hat_k(a, 3).value
    assert one.low == trueness.pass_hat_k(a, 3, level=0.9).low
    assert two.value == trueness.pass_at_k(a, 2).value
    assert one.verdict == "holds"


def test_not_worse_than_a_baseline_is_paired_by_item():
    rng = np.random.default_rng(0)
    easy = rng.beta(2, 2, 400)
    old, new = rng.binomial(3, easy), rng.binomial(3, np.clip(easy + 0.02, 0, 1))
    asked = {"metric": "pass_rate", "not_worse_than": "baseline", "margin": 0.05}
    found = trueness.check(made(new, 3), asked, baseline=made(old, 3))
    assert found.verdict == "holds"
    fallen = made(rng.binomial(3, np.clip(easy - 0.2, 0, 1)), 3)
    assert trueness.check(fallen, asked, baseline=made(old, 3)).verdict == "fails"


def test_scores_and_attempts_are_not_mixed_up():
    a, t = made([1, 0, 1]), trueness.Tally([1, 0], pos=[3, 1], neg=[1, 3])
    with pytest.raises(InputError, match="pass_rate, pass_at_k"):
        trueness.check(a, "auc >= 0.8")
    with pytest.raises(InputError, match="needs attempts at items"):
        trueness.check(t, "pass_rate >= 0.8")
    with pytest.raises(InputError, match="pass_hat_k"):
        trueness.check(a, "pass_hat_k >= 0.8")


@pytest.fixture
def logs(tmp_path):
    rng = np.random.default_rng(1)
    for name, share in (("old", 0.9), ("new", 0.6)):
        samples = [
            {
                "id": k,
                "epoch": 1,
                "scores": {"match": {"value": "IC"[int(rng.random() < share)]}},
                "metadata": {"topic": "ab"[k % 2]},
            }
            for k in range(150)
        ]
        held = {"eval": {"model": name, "task": "t"}, "status": "success", "plan": {}}
        text = json.dumps(held | {"samples": samples})
        (tmp_path / f"{name}.json").write_text(text)
    return tmp_path


def test_the_gate_stops_a_fall(logs):
    contract = logs / "evals.toml"
    contract.write_text(
        '[[require]]\nmetric = "pass_rate"\nat_least = 0.5\n'
        '[[require]]\nmetric = "pass_rate"\nnot_worse_than = "baseline"\n'
        'margin = 0.05\n[[require]]\nmetric = "pass_rate"\nat_least = 0.3\n'
        'by = "metadata.topic"\n'
    )
    words = ["check", str(contract), str(logs / "new.json")]
    result = CliRunner().invoke(app, [*words, "--baseline", str(logs / "old.json")])
    assert result.exit_code == 4, result.output
    assert "pass_rate not worse than baseline" in result.stdout
    assert "metadata.topic=a" in result.stdout
    old = str(logs / "old.json")
    words = ["check", str(contract), old, "--baseline", old, "--json"]
    result = CliRunner().invoke(app, words)
    found = json.loads(result.stdout)
    assert found["cases"]["n"] == 150
    assert result.exit_code in (0, 5)
