"""A shell without labels: what scores alone tell, and what they do not."""

from __future__ import annotations

import csv

import numpy as np
import pytest

import trueness
from shell import answer, run

NAMES = ("a", "b", "c", "d")


@pytest.fixture(scope="module")
def scores():
    rng = np.random.default_rng(1)
    label = rng.random(1500) < 0.3
    distances = (2.0, 1.6, 1.2, 1.0)
    columns = [label * d + rng.normal(size=1500) for d in distances]
    return {n: 1 / (1 + np.exp(-c)) for n, c in zip(NAMES, columns, strict=True)}


@pytest.fixture(autouse=True)
def in_folder(scores, tmp_path, monkeypatch):
    with open(tmp_path / "new.csv", "w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(["case", *NAMES])
        rows = zip(*scores.values(), strict=True)
        writer.writerows((f"c{k}", *row) for k, row in enumerate(rows))
    monkeypatch.chdir(tmp_path)


def sentences(*words):
    return " ".join(answer(*words)["sentences"])


def test_evaluate_says_what_agreement_tells_and_what_is_not_measured(scores):
    found = answer("evaluate", "new.csv")
    told = " ".join(found["sentences"])

    agreed = trueness.agreement(trueness.panel(None, scores)).independent
    shown = found["result"]["agreement"]["independent"]["auc"]["a"]["value"]
    assert shown == pytest.approx(agreed.auc["a"].value)
    assert "cannot be measured" in told
    assert "If errors were independent" in told


def test_python_gives_the_same_answer(scores):
    found = answer("evaluate", "new.csv")

    in_python = trueness.evaluate(trueness.panel(None, scores))

    agreed = in_python.numbers["agreement"].independent.auc["b"].value
    in_shell = found["result"]["agreement"]["independent"]["auc"]["b"]["value"]
    assert in_shell == pytest.approx(agreed)


def test_evaluate_of_one_score_counts_flagged_cases(scores):
    found = answer("evaluate", "new.csv", "--score", "a", "--at", "0.7")

    flagged = found["result"]["flagged_rate"]["a"]
    assert flagged["value"] == pytest.approx((scores["a"] >= 0.7).mean())
    assert flagged["low"] < flagged["value"] < flagged["high"]


def test_a_capacity_gives_a_threshold(scores):
    words = ("threshold", "new.csv", "--score", "a", "--subject-to", "flagged <= 100")
    found = answer(*words)

    cut = found["result"]["threshold"]
    assert (scores["a"] >= cut).sum() == 100
    assert "is not known how many" in " ".join(found["sentences"])


def test_a_known_auc_and_prevalence_give_a_threshold(scores):
    words = ("--score", "a", "--auc", "0.9", "--prevalence", "0.3", "--maximize", "f1")
    found = answer("threshold", "new.csv", *words)

    point = trueness.best_threshold(
        trueness.tally(None, scores["a"], prevalence=0.3),
        maximize="f1",
        method="fermi-dirac",
        auc=0.9,
    )
    assert found["result"]["threshold"] == point.threshold
    assert found["result"]["metrics"]["f1"] == pytest.approx(point.value)


def test_a_given_threshold_flags_a_proportion(scores):
    found = answer("threshold", "new.csv", "--score", "a", "--at", "0.7")

    flagged = found["result"]["estimates"]["flagged_rate"]["value"]
    assert flagged == pytest.approx((scores["a"] >= 0.7).mean())


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (("threshold", "new.csv", "--score", "a"), "flagged <= 500"),
        (("threshold", "new.csv", "-s", "a", "--auc", "0.9"), "--prevalence 0.1"),
        (("combine", "new.csv", "--method", "best-single"), "needs labels"),
        (("report", "new.csv", "--score", "a"), "calibration map"),
        (("evaluate", "new.csv", "--target", "these cases"), "map.json"),
        (("evaluate", "new.csv", "--by", "case"), "The option --by needs labels"),
        (("report", "new.csv", "--at", "0.5"), "The option --at needs labels"),
    ],
)
def test_what_cannot_be_answered_is_said(words, sentence):
    result = run(*words)

    assert result.exit_code == 2
    assert sentence in result.output


def test_scores_are_combined_and_written(scores):
    found = answer("combine", "new.csv", "-o", "combined.csv")

    assert found["result"]["method"] == "fidel"
    with open("combined.csv", encoding="utf-8") as file:
        combined = [float(row["combined"]) for row in csv.DictReader(file)]
    blind = trueness.fidel(trueness.panel(None, scores), labels="none")
    expected = blind(np.column_stack([scores[name] for name in NAMES]))
    assert combined == pytest.approx(expected)


def test_scores_that_contradict_independence_show_no_auc():
    with open("alike.csv", "w", encoding="utf-8") as file:
        rng = np.random.default_rng(2)
        common = rng.normal(size=2000)
        file.write("case,a,b,c,d\n")
        for k in range(2000):
            x = common[k] + 0.3 * rng.normal(size=2)
            u = rng.normal() + 0.3 * rng.normal(size=2)
            values = 1 / (1 + np.exp(-np.concatenate([x, u])))
            file.write(",".join([f"c{k}", *map(str, values)]) + "\n")

    found = answer("evaluate", "alike.csv")

    told = " ".join(found["sentences"])
    assert "contradict independent errors" in told
    assert "would rank best" not in told
    assert answer("combine", "alike.csv")["result"]["method"] == "wisdom-of-crowds"


def test_a_report_on_several_scores_is_written():
    result = run("report", "new.csv", "-o", "report.html")

    assert result.exit_code == 0, result.output
    assert "If errors were independent" in result.output


def test_a_column_that_could_hold_labels_is_asked_for():
    with open("two.csv", "w", encoding="utf-8") as file:
        file.write("p,u,v\n0.1,0,1\n0.9,1,1\n0.4,0,0\n")

    result = run("evaluate", "two.csv")

    assert result.exit_code == 2
    assert "Which column holds the labels?" in result.output


def test_scores_with_thresholds_are_tests_and_post_test_is_written(scores):
    words = ("--score", "a", "--score", "b", "--score", "c")
    cut = ("--at", "0.6", "--at", "a=0.7", "--draws", "200", "--dependence", "none")
    found = answer("nogold", "new.csv", *words, *cut, "-o", "post.csv")

    panel = trueness.panel(None, {name: scores[name] for name in "abc"})
    votes = panel.vote({"a": 0.7, "b": 0.6, "c": 0.6})
    posterior = trueness.latent_class(votes, draws=200, dependence="none")
    prevalence = found["result"]["prevalence"]["value"]
    assert prevalence == pytest.approx(posterior.prevalence.value)

    with open("post.csv", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    first = [scores["a"][0] >= 0.7, scores["b"][0] >= 0.6, scores["c"][0] >= 0.6]
    expected = posterior.probability(np.array([first], float))[0]
    assert float(rows[0]["post_test"]) == pytest.approx(expected)


@pytest.mark.parametrize(
    "words",
    [
        ("--score", "a", "--score", "b"),
        ("--score", "a", "--score", "b", "--at", "a=0.5"),
        ("--score", "a", "--score", "b", "--at", "q=0.5", "--at", "0.5"),
        ("--score", "a", "--score", "b", "--at", "much"),
        ("--vote", "a", "--vote", "b", "--at", "0.5"),
    ],
)
def test_each_score_needs_a_threshold(words):
    result = run("nogold", "new.csv", *words)

    assert result.exit_code == 2
    assert "hreshold" in result.output
