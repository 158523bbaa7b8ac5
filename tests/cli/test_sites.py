"""`trueness sites` on 2x2 tables of papers, and on files with a column of sites."""

import numpy as np
import pandas as pd
import pytest

import shell
import trueness


def run(*words):
    return shell.run("sites", *words)


def answer(*words):
    return shell.answer("sites", *words)["result"]


@pytest.fixture
def predictions(tmp_path):
    rng = np.random.default_rng(0)
    label = (rng.random(900) < 0.4).astype(int)
    site = rng.integers(0, 6, 900)
    frame = pd.DataFrame(
        {
            "y": label,
            "p": np.round(rng.normal(size=900) + label * (1 + 0.1 * site), 3),
            "hospital": [f"H{k}" for k in site],
            "year": 2010 + site,
        }
    )
    path = tmp_path / "predictions.csv"
    frame.to_csv(path, index=False)
    return path


def test_tables_of_papers_say_what_python_says():
    result = answer("sample:studies")

    studies = trueness.read_studies(trueness.samples.path("studies"))
    summary = trueness.summary_roc(studies)
    assert result["sensitivity"]["value"] == pytest.approx(summary.sensitivity.value)
    recall = trueness.across_sites(studies, "recall")
    assert result["measures"]["recall"]["prediction"]["low"] == pytest.approx(
        recall.prediction.low
    )


def test_a_covariate_of_the_tables_explains():
    result = answer("sample:studies", "--metric", "recall", "--covariate", "patients")

    effect = result["covariate"]
    assert effect["p_value"] < 0.001
    assert 0.3 < effect["explained"] < 0.9


def test_cases_with_a_column_of_sites(predictions):
    result = answer(predictions, "--site", "hospital", "--label", "y", "--score", "p")

    frame = pd.read_csv(predictions)
    expected = trueness.across_sites(
        frame, "auc", label="y", score="p", site="hospital"
    )
    assert result["prediction"]["low"] == pytest.approx(expected.prediction.low)
    assert set(result["sites"]) == {f"H{k}" for k in range(6)}


def test_a_covariate_of_the_cases_has_one_value_for_each_site(predictions):
    words = ("--site", "hospital", "--label", "y", "--score", "p")

    assert answer(predictions, *words, "--covariate", "year")["covariate"]
    wrong = run(predictions, *words, "--covariate", "p")
    assert "one value per site" in wrong.stderr


def test_people_read_the_prediction_first():
    result = run("sample:studies", "--metric", "specificity")

    first = result.stdout.splitlines()[0]
    assert first.startswith("At the next site the specificity will lie between")


def test_few_tables_have_values_and_no_promise(tmp_path):
    path = tmp_path / "few.csv"
    path.write_text("study,tp,fp,fn,tn\nA,9,2,1,18\nB,8,3,2,17\nC,7,1,3,19\n")

    result = run(path)

    assert result.exit_code == 0, result.stderr
    assert "too few to estimate the variance between sites" in result.stdout
    assert "prediction" not in result.stdout


@pytest.mark.parametrize(
    ("words", "error"),
    [
        (("sample:studies", "--site", "study"), "Leave the column of sites out"),
        (("sample:west_nile",), "Which column names the sites?"),
        (("sample:studies", "--covariate", "device"), "no column 'device'"),
        (("sample:studies", "--prediction", "bayes"), "prediction"),
    ],
)
def test_errors_say_what_to_type(words, error):
    result = run(*words)

    assert result.exit_code == 2
    assert error in result.stderr
