"""``--weight``: the commands say the numbers that Python says."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

import trueness
from trueness.cli import app


def run(*words):
    return CliRunner().invoke(app, [str(w) for w in words])


@pytest.fixture
def rows(tmp_path):
    rng = np.random.default_rng(0)
    p = rng.beta(1, 2, 200).round(2).clip(0.01, 0.99)
    frame = pd.DataFrame({"y": (rng.random(200) < p).astype(int), "p": p})
    frame["q"] = (p + 0.1 * rng.normal(size=200)).clip(0.01, 0.99)
    frame["w"] = rng.exponential(size=200)
    frame.to_csv(tmp_path / "rows.csv", index=False)
    return tmp_path / "rows.csv", frame


def test_evaluate_and_compare(rows):
    path, frame = rows
    words = ("-l", "y", "-s", "p", "-s", "q", "--weight", "w")
    found = run("evaluate", path, *words, "--json")
    assert found.exit_code == 0, found.stderr
    data = json.loads(found.stdout)
    want = trueness.auc(frame, label="y", score="p", weight="w")
    assert data["result"]["scores"]["p"]["auc"]["low"] == pytest.approx(want.low)
    assert data["columns"]["weight"] == "w"
    assert data["cases"]["n"] == pytest.approx(frame["w"].sum())
    text = run("compare", path, *words)
    assert text.exit_code == 0, text.stderr
    assert "Weighted cases, total weight" in text.stdout
    both = trueness.panel(frame, label="y", scores=["p", "q"], weight="w")
    found = json.loads(run("compare", path, *words, "--json").stdout)["result"]
    want = trueness.dominates(both, "p", "q", rng=0)
    assert found["dominance"][0]["p_value"] == pytest.approx(want.p_value)
    frame["site"] = np.arange(200) % 17
    frame.to_csv(path, index=False)
    found = run("evaluate", path, *words, "--cluster", "site", "--json")
    data = json.loads(found.stdout)
    want = trueness.auc(frame, label="y", score="p", weight="w", cluster="site")
    assert data["result"]["scores"]["p"]["auc"]["low"] == pytest.approx(want.low)
    assert run("compare", path, *words, "--cluster", "site").exit_code == 0


@pytest.mark.parametrize("more", [(), ("--weight", "w")], ids=["cases", "weights"])
def test_metrics_at_a_threshold_allow_for_clusters(rows, more):
    path, frame = rows
    frame["site"] = np.arange(200) % 17
    frame.to_csv(path, index=False)
    words = ("-l", "y", "-s", "p", "--at", "0.5", "--cluster", "site", *more)
    found = json.loads(run("evaluate", path, *words, "--json").stdout)["result"]
    weight = {"weight": "w"} if more else {}
    asked = {"label": "y", "score": "p", "threshold": 0.5, **weight}
    want = trueness.at_threshold(frame, cluster="site", **asked).metrics
    assert want["recall"].low != trueness.at_threshold(frame, **asked)["recall"].low
    for name, e in found["at"]["p"]["metrics"].items():
        assert e["low"] == pytest.approx(want[name].low, nan_ok=True)
    said = " ".join(run("evaluate", path, *words).stdout.split())
    assert "of the AUC and of the metrics at the threshold allow for cases that" in said
    other = run("evaluate", path, *words, "--prevalence", "0.1")
    said = " ".join((other.stdout + other.stderr).split())
    wanted = (
        "weights already say"
        if more
        else "The interval of the AUC allows for cases that"
    )
    assert wanted in said


@pytest.mark.parametrize("more", [(), ("--weight", "w")], ids=["cases", "weights"])
def test_a_given_threshold_allows_for_clusters(rows, more):
    path, frame = rows
    frame["site"] = np.arange(200) % 17
    frame.to_csv(path, index=False)
    words = ("-l", "y", "-s", "p", "--cluster", "site", *more)
    found = run("threshold", path, *words, "--at", "0.5", "--json")
    assert found.exit_code == 0, found.stderr
    weight = {"weight": "w"} if more else {}
    asked = {"label": "y", "score": "p", "threshold": 0.5, **weight}
    want = trueness.at_threshold(frame, cluster="site", **asked).metrics
    for name, e in json.loads(found.stdout)["result"]["estimates"].items():
        assert e["low"] == pytest.approx(want[name].low, nan_ok=True)
    said = run("threshold", path, *words, "--at", "0.5").stdout
    assert "They allow for cases that share a value of site." in said
    for other in ((), ("--at", "0.5", "--prevalence", "0.1")):
        refused = run("threshold", path, *words, *other)
        assert refused.exit_code == 2
        assert "Type --at NUMBER, and" in " ".join(refused.stderr.split())


def test_threshold_and_calibrate(rows):
    path, frame = rows
    words = ("-l", "y", "-s", "p", "--weight", "w")
    found = run("threshold", path, *words, "--maximize", "f1", "--json")
    assert found.exit_code == 0, found.stderr
    want = trueness.best_threshold(frame, "f1", label="y", score="p", weight="w")
    assert json.loads(found.stdout)["result"]["value"] == pytest.approx(want.value)
    found = run("threshold", path, *words, "--validate")
    assert found.exit_code == 0, found.stderr
    assert "If the choice were repeated" in found.stdout
    refused = run(
        "threshold",
        path,
        *words,
        "--subject-to",
        "recall >= 0.5",
        "--guarantee",
        "0.95",
    )
    assert refused.exit_code == 2
    assert "needs whole cases" in refused.stderr
    assert "weight=" not in refused.stderr
    found = run("calibrate", path, *words, "--method", "beta")
    assert found.exit_code == 0, found.stderr
    assert "not cross-fitted" in found.stdout
    refused = run("evaluate", path, "-l", "y", "-s", "p", "--weight", "z")
    assert "--weight must name a column" in refused.stderr


def test_report(rows, tmp_path):
    path, frame = rows
    page = tmp_path / "report.html"
    words = ("-l", "y", "-s", "p", "-s", "q", "--weight", "w", "-o", page)
    found = run("report", path, *words)
    assert found.exit_code == 0, found.stderr
    text = page.read_text()
    assert "weights of cases" in text
    assert "Cases are weighted" in text
    assert "Which curve is above?" in text
    a = trueness.auc(frame, label="y", score="p", weight="w")
    assert f"{a.value:.3f}" in text
