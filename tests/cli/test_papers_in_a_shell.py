"""What the five papers do, in a shell."""

import json
import shlex
from pathlib import Path

import pandas as pd
import pytest
from typer.testing import CliRunner

import trueness
from trueness.cli import app

PAGE = Path(__file__).parents[2] / "docs" / "tutorials" / "five_papers.md"


def test_the_lines_of_the_tutorial_run_one_after_the_other(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    block = PAGE.read_text(encoding="utf-8").split("```bash\n")[1].split("```")[0]
    for line in block.splitlines():
        result = CliRunner().invoke(app, shlex.split(line)[1:])
        assert result.exit_code == 0, f"{line}: {result.stderr}"


def run(*words):
    result = CliRunner().invoke(app, [*map(str, words), "--json"])
    assert result.exit_code == 0, result.stderr
    return json.loads(result.stdout)


def result_of(*words):
    answer = run(*words)
    return answer.get("result", answer)


def test_fermi_gives_beta_mu_and_the_probability_of_a_rank():
    answer = result_of(
        "fermi", "--n", 100, "--positives", 50, "--auc", 0.9, "--rank", 1
    )
    law = trueness.fermi_dirac(n=100, n_pos=50, auc=0.9)
    assert answer["beta"] == pytest.approx(law.beta)
    assert (answer["mu"], answer["rank_threshold"]) == (50.5, 50.5)
    assert answer["ranks"][0]["probability"] == pytest.approx(law.probability(1))


def test_fidel_with_known_aucs_needs_no_label(tmp_path):
    known = {"boosting": 0.85, "logistic": 0.8}
    aucs = [w for k, v in known.items() for w in ("--auc", f"{k}={v}")]
    rows = tmp_path / "rows.csv"
    run("fermi", "--file", "sample:west_nile", *aucs, "--prevalence", 0.05, "-o", rows)

    traps = pd.read_csv(trueness.samples.path("west_nile"))
    panel = trueness.panel(traps, scores=[*known])
    expected = trueness.fidel(panel, auc=known, prevalence=0.05)
    scores = expected(traps[[*known]].to_numpy())
    assert pd.read_csv(rows)["fidel"].to_numpy() == pytest.approx(scores)


@pytest.mark.parametrize("words", [["--auc", "0.9"], ["--auc", "a=0.9"]])
def test_fidel_says_what_it_needs(words):
    words = ["fermi", "--file", "sample:west_nile", "--prevalence", "0.1", *words]
    result = CliRunner().invoke(app, words)
    assert result.exit_code == 2
    assert "--auc" in result.stderr


def test_threshold_by_a_program_has_a_certificate():
    words = ["--label", "virus", "--score", "boosting", "--maximize", "accuracy"]
    swept = result_of("threshold", "sample:west_nile", *words)
    solved = result_of("threshold", "sample:west_nile", *words, "--method", "milp")
    assert solved["value"] == pytest.approx(swept["value"])
    assert solved["certificate"]["solver"] == "HiGHS"


def test_a_saved_rule_is_applied(tmp_path):
    rule, rows = tmp_path / "rule.json", tmp_path / "rows.csv"
    words = ["--label", "virus", "--score", "boosting", "--save", rule]
    threshold = result_of("threshold", "sample:west_nile", *words)["threshold"]
    run("apply", rule, "sample:west_nile", "--score", "boosting", "-o", rows)
    scored = pd.read_csv(rows)
    expected = (scored["boosting"] >= threshold).astype(float)
    assert scored["boosting_flagged"].equals(expected)


FLU = ["sample:swine_flu", "--vote", "NPA_C1", "--vote", "NS_C2", "--count", "count"]
FLU += ["--dependence", "none"]


def test_nogold_shows_every_combination_and_the_paper_s_choice():
    words = ["--combinations", "--criterion", "min", "--method", "most often"]
    answer = result_of("nogold", *FLU, *words)
    assert len(answer["combinations"]) == 16
    assert answer["combinations"][7]["formula"] == "NPA_C1 or NS_C2"
    assert "NPA_C1" in json.dumps(answer)


def test_nogold_writes_post_test_probabilities_under_a_prior(tmp_path):
    rows = tmp_path / "rows.csv"
    run("nogold", *FLU, "--prior", "prevalence=2,8", "-o", rows)
    votes = pd.read_csv(trueness.samples.path("swine_flu"))
    panel = trueness.panel(votes, scores=["NPA_C1", "NS_C2"], count="count")
    post = trueness.latent_class(
        panel, prior={"prevalence": (2, 8)}, dependence="none", rng=0
    )
    written = pd.read_csv(rows)
    expected = post.probability(written[["NPA_C1", "NS_C2"]].to_numpy())
    assert written["post_test"].to_numpy() == pytest.approx(expected)


GOLF = ["sample:golf", "--node", "Outlook", "--label", "Play Golf"]


def test_leaves_write_scores_and_a_map_that_is_applied(tmp_path):
    rows, saved, again = (tmp_path / n for n in ("rows.csv", "map.json", "again.csv"))
    run("leaves", *GOLF, "-o", rows, "--save", saved)
    run("apply", saved, "sample:golf", "--column", "again", "-o", again)
    written = pd.read_csv(rows)["leaf_score"]
    assert written.tolist() == pd.read_csv(again)["again"].tolist()
    assert written[0] == pytest.approx(0.44)  # rainy


def test_leaves_compare_splits():
    words = ["--split", "Humidity", "--split", "Temp", "--split", "Windy"]
    splits = result_of("leaves", *GOLF, *words)["splits"]
    assert splits[0]["name"] == "Humidity"
    assert {s["name"] for s in splits} > {"Outlook", "Temp", "Windy"}


def test_look_proposes_leaves():
    answer = result_of("look", "sample:leaves")
    assert any("trueness leaves" in q["type"] for q in answer["questions"])
