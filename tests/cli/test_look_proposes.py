"""What ``look`` proposes can be typed as it stands, and answers."""

import shlex

import numpy as np
import pandas as pd
import pytest

from shell import answer, run

RNG = np.random.default_rng(9)
CASES = 150
Y = (np.arange(CASES) % 3 == 0).astype(int)
P = np.round(1 / (1 + np.exp(-RNG.normal(Y, 1))), 3)
Q = np.round(1 / (1 + np.exp(-RNG.normal(Y / 2, 1))), 3)


def noisy(right):
    return np.where(RNG.random(CASES) < right, Y, 1 - Y)


FILES = {
    "one score": {"id": np.arange(CASES), "age": RNG.integers(20, 90, CASES),
                  "outcome": Y, "risk": P},
    "two scores": {"y": Y, "a": P, "b": Q},
    "tests with the truth": {"truth": Y, "ct": noisy(0.9), "mri": noisy(0.8)},
    "tests in words": {"disease": Y, "ct": np.where(noisy(0.9), "pos", "neg")},
    "tests without the truth": {name: noisy(0.85) for name in ("t1", "t2", "t3")},
    "readings": {"gold": Y, "reader_score": 1 + Y + RNG.integers(0, 4, CASES)},
    "leaves": {"leaf": np.arange(CASES) % 5, "y": Y},
    "a score without labels": {"id": np.arange(CASES), "risk": P},
    "scores without labels": {"a": P, "b": Q, "c": np.round(P * Q, 4)},
}  # fmt: skip
FIRST = {
    "one score": "evaluate",
    "two scores": "evaluate",
    "tests with the truth": "evaluate",
    "tests in words": "evaluate",
    "tests without the truth": "nogold",
    "readings": "evaluate",
    "leaves": "leaves",
    "a score without labels": "threshold",
    "scores without labels": "evaluate",
}


@pytest.mark.parametrize("name", FILES)
def test_the_first_proposal_answers(tmp_path, name):
    path = tmp_path / "cases.csv"
    pd.DataFrame(FILES[name]).to_csv(path, index=False)

    questions = answer("look", path)["result"]["questions"]
    words = shlex.split(questions[0]["type"])[1:]
    if words[0] == "nogold":
        words += ["--draws", "100"]

    assert words[0] == FIRST[name]
    result = run(*words)
    assert result.exit_code == 0, result.stderr


def test_the_truth_is_no_test(tmp_path):
    path = tmp_path / "cases.csv"
    pd.DataFrame(FILES["tests with the truth"]).to_csv(path, index=False)

    (first, second) = answer("look", path)["result"]["questions"]

    assert "--label truth" in first["type"]
    assert "--score truth" not in first["type"]
    assert second["question"] == "Which test is better?"


@pytest.mark.parametrize("name", ["a score without labels", "scores without labels"])
def test_every_proposal_without_labels_answers(tmp_path, name):
    path = tmp_path / "cases.csv"
    pd.DataFrame(FILES[name]).to_csv(path, index=False)

    found = answer("look", path)

    for question in found["result"]["questions"]:
        result = run(*shlex.split(question["type"])[1:])
        assert result.exit_code == 0, result.stderr
    assert "--unlabelled map.json" in " ".join(found["sentences"])


def test_groups_and_two_columns_of_labels_are_not_denied():
    """The table says "label"; the sentence below it said that there was none."""
    result = run("look", "sample:golf")

    assert result.exit_code == 0
    text = " ".join(result.stdout.split())
    assert "No column looks like labels" not in text
    assert "trueness leaves FILE --label COLUMN --node COLUMN" in text


def proposals(path):
    return [
        question["type"] for question in answer("look", path)["result"]["questions"]
    ]


def test_a_log_is_shown_to_people(tmp_path):
    path = tmp_path / "results.json"
    path.write_text('{"evalId": "e", "results": {"results": []}}')

    result = run("look", path)

    assert result.exit_code == 0, result.stderr
    assert "trueness evals" in result.stdout


def test_a_log_is_refused_with_what_to_type(tmp_path):
    path = tmp_path / "results.json"
    path.write_text('{"evalId": "e", "results": {"results": []}}')

    result = run("evaluate", path)

    assert result.exit_code == 2
    assert f"Type trueness evals {path}, or trueness judge" in result.stderr


def test_the_positive_class_is_left_open(tmp_path):
    path = tmp_path / "cases.csv"
    frame = pd.DataFrame({"diagnosis": np.where(Y, "M", "B"), "score": P})
    frame.to_csv(path, index=False)

    typed = proposals(path)

    assert all("--positive 'B|M'" in line for line in typed)
    assert not any("--by" in line for line in typed)


def test_columns_of_readers_may_have_other_names(tmp_path):
    path = tmp_path / "cases.csv"
    grid = [(r, m, c) for r in "AB" for m in ("CT", "MR") for c in range(20)]
    frame = pd.DataFrame(grid, columns=["Reader", "modality", "PatientID"])
    frame["lesion"] = frame["PatientID"] % 2
    frame["rating"] = 1 + frame["lesion"] + RNG.integers(0, 4, len(frame))
    frame.to_csv(path, index=False)

    (line,) = proposals(path)

    assert line.startswith("trueness readers")
    assert run(*shlex.split(line)[1:]).exit_code == 0


def test_a_judge_with_few_labels_beside_a_constant(tmp_path):
    path = tmp_path / "cases.csv"
    human = np.where(np.arange(CASES) < 40, Y.astype(object), None)
    frame = pd.DataFrame({"output": 4, "judge": noisy(0.9), "human": human})
    frame.to_csv(path, index=False)

    (line, *_) = proposals(path)

    assert "trueness judge" in line
    assert "--label human" in line


def test_columns_of_the_design_are_mentioned(tmp_path):
    path = tmp_path / "cases.csv"
    frame = pd.DataFrame({"y": Y, "score": P, "patient": np.arange(CASES) // 3})
    frame["split"] = np.where(RNG.random(CASES) < 0.5, "train", "test")
    frame.to_csv(path, index=False)

    said = run("evaluate", path).stderr

    assert "type --cluster patient." in said
    assert "type --by split." in said


def test_rows_that_are_no_cases_have_their_commands(tmp_path):
    tables = tmp_path / "tables.csv"
    tables.write_text("TP,FP,FN,TN\n815,115,208,327\n")
    attempts = tmp_path / "attempts.csv"
    frame = pd.DataFrame({"item": np.arange(CASES) // 2, "passed": Y})
    frame.assign(model=["a", "b"] * (CASES // 2)).to_csv(attempts, index=False)

    assert "trueness evaluate --tp" in run("evaluate", tables).stderr
    assert "type trueness evals" in run("compare", attempts).stderr
