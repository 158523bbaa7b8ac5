"""The commands declare and verify, and counts of declarations in other commands."""

import json
import re

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

import trueness
from trueness.cli import app


@pytest.fixture
def folder(tmp_path, monkeypatch):
    rng = np.random.default_rng(1)
    label = rng.random(3000) < 0.3
    frame = pd.DataFrame(
        {
            "y": label.astype(int),
            "p": 1 / (1 + np.exp(-rng.normal(2 * label - 1.5, 1))),
            "site": rng.choice(["A", "B", "C"], 3000),
        }
    )
    frame.to_parquet(tmp_path / "preds.parquet")
    frame.iloc[:1500].to_parquet(tmp_path / "a.parquet")
    frame.iloc[1500:].to_parquet(tmp_path / "b.parquet")
    frame.loc[:39, "p"] = np.nan
    frame.to_parquet(tmp_path / "gaps.parquet")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def run(*words):
    return CliRunner().invoke(app, list(map(str, words)))


COLUMNS = ("--label", "y", "--score", "p")


def test_declare_writes_a_page_that_verify_accepts(folder):
    declared = run(
        "declare", "preds.parquet", *COLUMNS, "--at", 0.3, "--by", "site",
        "--claim", "recall >= 0.5 at 0.3", "--unit", "patient",
    )  # fmt: skip
    verified = run("verify", "declaration.html", "--data", "preds.parquet")

    assert declared.exit_code == 0, declared.stderr
    assert "Every bin has at least 5 positives" in declared.stdout
    assert verified.exit_code == 0, verified.stdout + verified.stderr
    assert "statements follow from the counts" in verified.stdout


def test_claims_name_their_column(folder):
    claim = "recall >= 0.3 at 0.3 in every site"

    declared = run(
        "declare", "preds.parquet", *COLUMNS, "--claim", claim, "-o", "d.json"
    )

    assert declared.exit_code == 0, declared.stderr
    content = json.loads((folder / "d.json").read_text())
    groups = [verdict["group"] for verdict in content["claims"][0]["verdicts"]]
    assert sorted(groups) == ["site=A", "site=B", "site=C"]


@pytest.mark.parametrize(
    ("claim", "code"), [("auc >= 0.99", 4), ("auc >= 0.5", 0), ("forged", 4)]
)
def test_exit_codes_of_verify(folder, claim, code):
    text = "auc >= 0.5" if claim == "forged" else claim
    run("declare", "preds.parquet", *COLUMNS, "--claim", text, "-o", "d.json")
    if claim == "forged":
        written = (folder / "d.json").read_text()
        (folder / "d.json").write_text(
            re.sub(r'"pos": \[\s*\d+', '"pos": [999', written)
        )

    assert run("verify", "d.json").exit_code == code


def test_what_is_no_declaration_ends_with_a_sentence(folder):
    (folder / "no.json").write_text("{}")

    answer = run("verify", "no.json")

    assert answer.exit_code == 2
    assert "must be" in answer.stderr


def test_every_command_reads_the_counts_of_a_declaration(folder):
    run("declare", "preds.parquet", *COLUMNS, "--at", 0.3, "--by", "site")

    for words in (
        ("evaluate", "declaration.html"),
        ("threshold", "declaration.html"),
        ("evaluate", "declaration.html::site", "--by", "site"),
        ("calibrate", "declaration.html"),
    ):
        answer = run(*words)
        assert answer.exit_code == 0, answer.stderr

    counts = trueness.tally(trueness.scan(folder / "declaration.html"))
    assert counts.n == 3000


def test_declarations_of_two_sites_are_added(folder):
    run("declare", "a.parquet", *COLUMNS, "--at", 0.3, "-o", "a.html")
    run(
        "declare", "b.parquet", *COLUMNS, "--at", 0.3, "--edges", "a.html",
        "-o", "b.html",
    )  # fmt: skip

    answer = run("evaluate", "a.html", "b.html", "--at", 0.3, "--json")

    assert answer.exit_code == 0, answer.stderr
    result = json.loads(answer.stdout)["result"]
    together = trueness.tally(pd.read_parquet("preds.parquet"), label="y", score="p")
    recall = trueness.at_threshold(together, 0.3).metrics["recall"]
    (at,) = result["at"].values()
    assert at["metrics"]["recall"]["value"] == pytest.approx(recall.value)
    (scores,) = result["scores"].values()
    low, high = scores["auc"]["bounds"]
    assert low <= trueness.auc(together).value <= high
    assert high - low < 0.05


def test_rows_without_a_score_are_in_the_flow(folder):
    answer = run(
        "declare", "gaps.parquet", *COLUMNS, "--missing-scores", "drop", "-o", "d.json"
    )

    assert answer.exit_code == 0, answer.stderr
    flow = json.loads((folder / "d.json").read_text())["flow"]
    assert flow["rows"] == 3000
    assert sum(flow["without_score"].values()) == 40


def test_a_report_carries_its_evidence(folder):
    written = run(
        "report", "preds.parquet", *COLUMNS, "--evidence", "-o", "report.html"
    )
    plain = run("report", "preds.parquet", *COLUMNS, "-o", "plain.html")

    assert written.exit_code == plain.exit_code == 0, written.stderr
    assert run("evaluate", "report.html").exit_code == 0
    assert run("verify", "report.html").exit_code == 0
    assert run("evaluate", "plain.html").exit_code == 2


def test_a_log_of_an_evaluation_is_declared(folder):
    rows = pd.DataFrame(
        {"item": np.repeat(np.arange(40), 3), "ok": np.arange(120) % 3 < 2}
    )
    rows.to_csv("log.csv", index=False)

    written = run(
        "evals", "log.csv", "--item", "item", "--passed", "ok",
        "--declaration", "entry.html",
    )  # fmt: skip

    assert written.exit_code == 0, written.stderr
    assert run("verify", "entry.html", "--data", "log.csv").exit_code == 0
    assert run("evaluate", "entry.html").exit_code == 2
