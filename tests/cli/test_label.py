"""A shell without labels: a map of expected labels, and cases to label next."""

from __future__ import annotations

import csv
import json

import numpy as np
import pytest

import trueness
from shell import answer, run

SCORES = ("--score", "p", "--unlabelled", "map.json")


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    path = tmp_path_factory.mktemp("label")
    rng = np.random.default_rng(0)
    x = rng.standard_normal(3000)
    p = 1 / (1 + np.exp(1.5 - 2 * x))
    y = (rng.random(3000) < p).astype(int)
    trueness.calibrate(y[:1000], p[:1000], method="pooled-bins").save(path / "map.json")
    with open(path / "today.csv", "w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(["case", "p"])
        writer.writerows((f"c{k}", value) for k, value in enumerate(p[1000:]))
    return path


@pytest.fixture(autouse=True)
def in_folder(folder, monkeypatch):
    monkeypatch.chdir(folder)


def test_shell_and_python_give_the_same_auc(folder):
    found = answer("evaluate", "today.csv", *SCORES)

    with open(folder / "today.csv", encoding="utf-8") as file:
        p = [float(row["p"]) for row in csv.DictReader(file)]
    label_map = trueness.load_map(folder / "map.json")
    area = trueness.auc(None, p, unlabelled=label_map)
    text = json.dumps(found)
    assert repr(area.value)[:12] in text
    assert found["design"]["unlabelled"]["map"] == "PooledBins"


def test_cases_to_label_are_written_with_their_strata(folder):
    result = run("label", "today.csv", *SCORES, "--next", "200", "-o", "to_label.csv")
    assert result.exit_code == 0, result.output

    with open(folder / "to_label.csv", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == 200
    assert {"case", "p", "stratum", "probability"} == set(rows[0])


def test_a_report_is_written(folder):
    run(
        "report",
        "today.csv",
        "--score",
        "p",
        "--unlabelled",
        "map.json",
        "-o",
        "r.html",
    )

    assert "expected labels" in (folder / "r.html").read_text(encoding="utf-8")


def test_a_logistic_curve_stands_beside_pooled_bins(folder):
    rng = np.random.default_rng(4)
    x = rng.standard_normal(3000)
    label = (rng.random(3000) < 1 / (1 + np.exp(1.5 - 2 * x))).astype(int)
    straight = 1 / (1 + np.exp(1.5 - 2 * x))
    curved = np.where(x < 0, 0.02 * straight, straight)  # a jump in the log odds
    with open(folder / "reference.csv", "w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(["y", "p", "q"])
        writer.writerows(zip(label, straight, curved, strict=True))

    words = ("calibrate", "reference.csv", "--label", "y", "--method", "pooled-bins")
    fits = " ".join(answer(*words, "--score", "p")["sentences"])
    differs = " ".join(answer(*words, "--score", "q")["sentences"])

    assert "A logistic curve (Platt) also fits these cases" in fits
    assert "A logistic curve (Platt) does not fit these cases" in differs


def test_the_target_is_the_process_or_these_very_cases(folder):
    process = answer("evaluate", "today.csv", *SCORES)
    these = answer("evaluate", "today.csv", *SCORES, "--target", "these cases")

    assert process["design"]["unlabelled"]["target"] == "process"
    assert these["design"]["unlabelled"]["target"] == "these cases"
    areas = [found["result"]["scores"]["p"]["auc"] for found in (process, these)]
    assert areas[0]["value"] == areas[1]["value"]
    assert areas[0]["low"] != areas[1]["low"]
    assert "these very cases" in " ".join(these["sentences"])
