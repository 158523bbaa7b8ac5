"""Measures that a profession asks for by name: the same numbers as in Python."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import trueness
from shell import answer, run

RNG = np.random.default_rng(60)
N = 400
LABEL = RNG.random(N) < 0.4
SCORE = 1 / (1 + np.exp(-RNG.normal(1.5 * LABEL - 0.7)))


@pytest.fixture(autouse=True)
def in_folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    tests = {
        "y": LABEL.astype(int),
        "p": SCORE,
        "a": (RNG.random(N) < np.where(LABEL, 0.85, 0.2)).astype(int),
        "b": (RNG.random(N) < np.where(LABEL, 0.75, 0.15)).astype(int),
    }
    pd.DataFrame(tests).to_csv("cases.csv", index=False)


def read(name):
    return pd.read_csv("cases.csv")[name].to_numpy()


def test_scorecard_has_gini_ks_and_psi():
    shifted = pd.DataFrame({"p": np.clip(SCORE + 0.05, 0, 1)})
    shifted.to_csv("older.csv", index=False)
    words = ("--label", "y", "--score", "p", "--reference", "older.csv")
    found = answer("scorecard", "cases.csv", *words)["result"]

    y, p = read("y"), read("p")
    measures = found["measures"]
    assert measures["gini"]["value"] == pytest.approx(trueness.gini(y, p).value)
    assert measures["ks"]["low"] == pytest.approx(trueness.ks(y, p).ks.low)
    psi = trueness.psi(pd.read_csv("older.csv")["p"], p).psi
    assert found["psi"]["psi"]["value"] == pytest.approx(psi.value)
    assert found["deciles"]["gain"] == pytest.approx(trueness.decile_table(y, p).gain)


def test_a_decision_curve_has_net_interventions_avoided():
    words = ("--label", "y", "--score", "p", "--show", "0.2", "--show", "0.5")
    found = answer("curve", "cases.csv", *words)["result"]["curve"]

    curve = trueness.decision_curve(read("y"), read("p"), threshold=[0.2, 0.5])
    avoided = curve.interventions_avoided
    assert found["interventions_avoided"] == pytest.approx(avoided)


def test_a_grade_has_its_jeffreys_test():
    counted = {
        "pd": [0.05, 0.05, 0.01, 0.01],
        "y": [1, 0, 1, 0],
        "n": [10, 110, 3, 197],
    }
    pd.DataFrame(counted).to_csv("grades.csv", index=False)
    words = ("--label", "y", "--score", "pd", "--count", "n", "--jeffreys")

    found = answer("scorecard", "grades.csv", *words)

    # the numbers of the docstring of jeffreys_test
    assert found["result"]["grades"]["p_value"] == pytest.approx(
        [0.0556, 0.2196], abs=5e-5
    )
    assert "A small p-value means that the PD is too low" in " ".join(
        found["sentences"]
    )


def test_many_distinct_scores_are_no_grades():
    words = ("--label", "y", "--score", "p", "--jeffreys")

    refused = run("scorecard", "cases.csv", *words)

    assert refused.exit_code == 2
    assert "400 distinct scores" in refused.output


def test_a_scorecard_of_each_group():
    words = ("--label", "y", "--score", "p", "--by", "a")

    found = answer("scorecard", "cases.csv", *words)["result"]["groups"]

    chosen = read("a") == 1
    gini = trueness.gini(read("y")[chosen], read("p")[chosen])
    assert set(found) == {"0", "1"}
    assert found["1"]["measures"]["gini"]["low"] == pytest.approx(gini.low)


@pytest.mark.parametrize("kind", ["decision", "risk-coverage"])
def test_a_curve_of_each_group(kind):
    words = ("--label", "y", "--score", "p", "--kind", kind, "--show", "0.5")

    found = answer("curve", "cases.csv", *words, "--by", "a")["result"]["groups"]

    chosen = read("a") == 0
    pd.read_csv("cases.csv")[chosen].to_csv("part.csv", index=False)
    part = answer("curve", "part.csv", *words)["result"]
    assert found["0"]["curve"] == part["curve"]


def test_a_group_of_one_class_has_no_curve():
    rows = pd.read_csv("cases.csv")
    rows["group"] = np.where(rows["y"] == 1, "sick", "well")
    rows.loc[:100, "group"] = "mixed"
    rows.to_csv("cases.csv", index=False)
    words = ("cases.csv", "--label", "y", "--score", "p", "--by", "group")

    curve = run("curve", *words)
    scorecard = answer("scorecard", *words)["result"]["groups"]

    assert curve.exit_code == 0, curve.output
    assert "gini" not in scorecard["sick"]["measures"]
    assert "gini" in scorecard["mixed"]["measures"]


def test_risk_and_coverage_are_drawn():
    words = ("--label", "y", "--score", "p", "--kind", "risk-coverage")
    result = run("curve", "cases.csv", *words, "--plot", "risk.svg")

    assert result.exit_code == 0, result.output
    assert "AURC" in result.output
    with open("risk.svg", encoding="utf-8") as file:
        assert "Coverage" in file.read()


@pytest.mark.parametrize("method", ["leisenring", "kosinski"])
def test_predictive_values_are_compared_by_named_tests(method):
    words = ("--label", "y", "--score", "a", "--score", "b", "--metric", "precision")
    found = answer("compare", "cases.csv", *words, "--method", method)["result"]

    panel = trueness.panel(read("y"), {name: read(name) for name in "ab"})
    compared = trueness.compare_metric(panel, "precision", method=method)
    assert found["pairs"][0]["p_value"] == pytest.approx(compared.pairs[0].p_value)


def test_relative_sensitivity_is_a_ratio():
    words = ("--label", "y", "--score", "a", "--score", "b", "--metric", "recall")
    found = answer("compare", "cases.csv", *words, "--effect", "ratio")["result"]

    panel = trueness.panel(read("y"), {name: read(name) for name in "ab"})
    ratio = trueness.compare_metric(panel, "recall", effect="ratio").pairs[0].ratio
    assert found["pairs"][0]["ratio"]["value"] == pytest.approx(ratio.value)
    assert found["pairs"][0]["ratio"]["high"] == pytest.approx(ratio.high)


def test_scores_are_compared_at_a_threshold():
    words = ("--label", "y", "--score", "p", "--score", "a", "--metric", "recall")

    without = run("compare", "cases.csv", *words)
    found = answer("compare", "cases.csv", *words, "--at", "0.5")["result"]

    assert without.exit_code == 2
    assert "--at 0.5" in without.output
    recall = trueness.at_threshold(read("y"), read("p"), threshold=0.5)["recall"]
    assert found["values"]["p"]["value"] == pytest.approx(recall.value)


@pytest.mark.parametrize("weights", [None, "quadratic"])
def test_raters_agree_as_in_scikit_learn(weights):
    metrics = pytest.importorskip("sklearn.metrics")
    first = RNG.integers(1, 6, 200)
    second = np.clip(first + RNG.integers(-1, 2, 200), 1, 5)
    pd.DataFrame({"r1": first, "r2": second}).to_csv("ratings.csv", index=False)
    words = ["--rater", "r1", "--rater", "r2", "--method", "cohen"]
    if weights:
        words += ["--weights", weights]

    found = answer("agree", "ratings.csv", *words)["result"]

    kappa = metrics.cohen_kappa_score(first, second, weights=weights)
    assert found["agreement"]["value"] == pytest.approx(kappa)
    assert found["percent"]["value"] == pytest.approx((first == second).mean())


def test_head_to_head_counts_ties_half():
    verdicts = ["A"] * 8 + ["B"] + ["tie"] * 2
    duels = pd.DataFrame({"first": "A", "second": "B", "winner": verdicts})
    duels.to_csv("duels.csv", index=False)

    found = answer("evals", "duels.csv", "--winner", "winner")["result"]["pairs"][0]

    assert found["win_rate"]["value"] == pytest.approx(9 / 11)
    assert found["p_value"] == pytest.approx(2 * 10 / 2**9)


def test_a_horizon_gives_labels_and_weights():
    time = RNG.exponential(5, N)
    censoring = RNG.uniform(1, 12, N)
    rows = {
        "years": np.minimum(time, censoring),
        "died": (time <= censoring).astype(int),
        "risk": SCORE,
    }
    pd.DataFrame(rows).to_csv("cohort.csv", index=False)
    words = ("--horizon", "5", "--time", "years", "--event", "died")

    found = answer("evaluate", "cohort.csv", "--score", "risk", *words)

    labels = trueness.at_horizon(rows["years"], rows["died"], 5)
    area = trueness.auc(labels.label, SCORE, weight=labels.weight)
    shown = found["result"]["scores"]["risk"]["auc"]
    assert shown["value"] == pytest.approx(area.value)
    assert found["file"] == "cohort.csv"
    assert "censored before" in found["sentences"][0]


def test_indeterminate_results_are_read_three_ways():
    counts = [(1, 1, 80), (1, 0.5, 10), (1, 0, 10), (0, 1, 5), (0, 0.5, 15), (0, 0, 80)]
    rows = [(y, result) for y, result, n in counts for _ in range(n)]
    pd.DataFrame(rows, columns=["y", "r"]).to_csv("three.csv", index=False)
    words = ("--label", "y", "--score", "r", "--indeterminate", "0.5:1")

    found = answer("evaluate", "three.csv", *words)["result"]

    recalls = [
        found[reading]["recall"]["value"]
        for reading in ("as_positive", "as_negative", "left_out")
    ]
    assert recalls == pytest.approx([0.9, 0.8, 80 / 90])
    assert found["indeterminate"] == [10, 15]


def test_indeterminate_results_may_be_words():
    results = ("positive", "inconclusive", "negative")
    counts = {"sick": (80, 10, 10), "healthy": (5, 15, 80)}
    rows = [
        (truth, result)
        for truth, by_result in counts.items()
        for result, cases in zip(results, by_result, strict=True)
        for _ in range(cases)
    ]
    pd.DataFrame(rows, columns=["truth", "assay"]).to_csv("words.csv", index=False)
    words = ("--label", "truth", "--score", "assay", "--indeterminate", "inconclusive")

    found = answer("evaluate", "words.csv", *words)["result"]

    assert found["positive"] == [80, 5]
    assert found["indeterminate"] == [10, 15]
    assert found["as_negative"]["recall"]["value"] == pytest.approx(0.8)


def test_indeterminate_results_need_two_ends():
    words = ("--label", "y", "--score", "p", "--indeterminate", "0.5")
    result = run("evaluate", "cases.csv", *words)

    assert result.exit_code == 2
    assert "--indeterminate 0.5:1" in result.output


def test_a_report_has_the_measures_by_name():
    result = run("report", "cases.csv", "--label", "y", "--score", "p", "-o", "r.html")

    assert result.exit_code == 0, result.output
    with open("r.html", encoding="utf-8") as file:
        text = file.read()
    gini = trueness.gini(read("y"), read("p")).value
    assert "Gini (2 AUC - 1)" in text
    assert f"{gini:.3f}" in text
    assert "net interventions avoided" in text
    assert "risk (error rate)" in text
    assert "Jeffreys test" not in text  # too many scores for rating grades


def test_a_report_of_grades_has_the_jeffreys_test():
    rows = pd.read_csv("cases.csv").round({"p": 1})
    rows.to_csv("grades.csv", index=False)

    result = run("report", "grades.csv", "--label", "y", "--score", "p", "-o", "r.html")

    assert result.exit_code == 0, result.output
    with open("r.html", encoding="utf-8") as file:
        assert "Jeffreys test of each grade" in file.read()


def test_groups_at_a_threshold_have_impact_ratios():
    rows = pd.read_csv("cases.csv")
    rows["group"] = np.where(np.arange(N) % 2, "u", "v")
    rows.to_csv("groups.csv", index=False)
    words = ("--label", "y", "--score", "p", "--by", "group", "--at", "0.5")

    found = answer("evaluate", "groups.csv", *words)["result"]["impact"]["p"]

    flagged = (rows["p"] >= 0.5).groupby(rows["group"]).mean()
    ratio = found["pairs"][0]["ratio"]["value"]
    assert ratio == pytest.approx(flagged.min() / flagged.max())
