"""How the cases came, said in a shell: the commands say the numbers Python says."""

from __future__ import annotations

import shlex

import numpy as np
import pandas as pd
import pytest

import shell
import trueness

LABEL = {"label": "y", "score": "p"}
# the words of the shell, and those of Python
WORDS = {
    "weight": ("--weight w", {"weight": "w"}),
    "cluster": ("--cluster site", {"cluster": "site"}),
    "both": ("--weight w --cluster site", {"weight": "w", "cluster": "site"}),
    "prevalence": ("--prevalence 0.1", {"prevalence": 0.1}),
    "case-control": (
        "--sampling case-control --prevalence 0.1 --cluster site",
        {"sampling": "case-control", "prevalence": 0.1, "cluster": "site"},
    ),
    "at random": (
        "--unlabelled 'missing at random'",
        {"unlabelled": "missing at random"},
    ),
}
CLUSTERED = "The intervals allow for correlation among cases with the same site."


def split(words):
    return [part for w in words for part in shlex.split(str(w))]


def run(*words):
    return shell.run(*split(words))


def told(*words):
    return shell.answer(*split(words))


@pytest.fixture(scope="module")
def rows(tmp_path_factory):
    rng = np.random.default_rng(0)
    p = rng.beta(1, 2, 200).round(2).clip(0.01, 0.99)
    frame = pd.DataFrame({"y": (rng.random(200) < p).astype(float), "p": p})
    frame["q"] = (p + 0.1 * rng.normal(size=200)).clip(0.01, 0.99)
    frame["w"] = rng.exponential(size=200)
    frame["site"] = np.arange(200) % 17
    frame["g"] = np.where(np.arange(200) % 2, "a", "b")
    frame.loc[rng.random(200) < 0.1, "y"] = np.nan
    frame["kind"] = np.array(["low", "mid", "top"])[np.arange(200) % 3]
    for k in ("low", "mid", "top"):
        frame[f"p_{k}"] = np.round(
            0.3 * (frame["kind"] == k) + 0.7 * rng.random(200), 2
        )
    path = tmp_path_factory.mktemp("design") / "rows.csv"
    frame.to_csv(path, index=False)
    return path, frame


def same(found, want):
    for key in ("value", "low", "high"):
        assert found[key] == pytest.approx(getattr(want, key), nan_ok=True)


MEASURES_OF_SCORES = ("auc", "average_precision", "brier")
EVALUATE = "-l y -s p --by g --at 0.5"


@pytest.mark.parametrize("words", WORDS)
def test_evaluate_has_the_measures_of_python(words, rows):
    path, frame = rows
    typed, design = WORDS[words]

    result = told("evaluate", path, EVALUATE, typed)["result"]

    group_a = frame[frame["g"] == "a"]
    for name in MEASURES_OF_SCORES:
        measure = getattr(trueness, name)
        same(result["scores"]["p"][name], measure(frame, **LABEL, **design))
        in_group = result["groups"]["p"]["a"][name]
        same(in_group, measure(group_a, **LABEL, **design))


@pytest.mark.parametrize("words", WORDS)
def test_evaluate_has_the_metrics_of_python_at_a_threshold(words, rows):
    path, frame = rows
    typed, design = WORDS[words]

    result = told("evaluate", path, EVALUATE, typed)["result"]

    expected = trueness.at_threshold(frame, **LABEL, **design, threshold=0.5).metrics
    for name, estimate in result["at"]["p"]["metrics"].items():
        same(estimate, expected[name])


@pytest.mark.parametrize("words", WORDS)
def test_evaluate_says_which_design_it_was_given(words, rows):
    path, _ = rows
    typed, design = WORDS[words]

    content = told("evaluate", path, EVALUATE, typed)

    assert content["columns"]["weight"] == design.get("weight")
    assert content["columns"]["cluster"] == design.get("cluster")
    assert content["design"]["prevalence"] == design.get("prevalence")


@pytest.mark.parametrize("words", WORDS)
def test_evaluate_says_what_clusters_and_weights_mean(words, rows):
    path, _ = rows
    typed, design = WORDS[words]

    output = " ".join(run("evaluate", path, EVALUATE, typed).stdout.split())

    assert output.count(CLUSTERED) == ("cluster" in design)
    assert ("Cases with a total weight of" in output) == ("weight" in design)


@pytest.mark.parametrize("words", [w for w in WORDS if w != "at random"])
def test_compare_says_what_python_says(words, rows):
    path, frame = rows
    typed, design = WORDS[words]
    line = ("compare", path, "-l y -s p -s q", typed)

    result = told(*line)["result"]

    panel = trueness.panel(frame, label="y", scores=["p", "q"], **design)
    (pair,) = trueness.compare_auc(panel).pairs
    same(result["pairs"][0]["difference"], pair.difference)
    dominance = trueness.dominates(panel, "p", "q", rng=0)
    assert result["dominance"][0]["p_value"] == pytest.approx(dominance.p_value)
    assert run(*line).stdout.count(CLUSTERED) == ("cluster" in design)


@pytest.mark.parametrize("words", WORDS)
def test_threshold_says_what_python_says(words, rows):
    path, frame = rows
    typed, given = WORDS[words]
    line = ("threshold", path, "-l y -s p", typed)
    found = told(*line, "--at 0.5")["result"]
    want = trueness.at_threshold(frame, **LABEL, **given, threshold=0.5).metrics
    for name, e in found["estimates"].items():
        same(e, want[name])
    found = told(*line, "--maximize f1")["result"]
    want = trueness.best_threshold(frame, "f1", **LABEL, **given)
    assert found["value"] == pytest.approx(want.value)
    assert found["threshold"] == want.threshold
    assert run(*line).stdout.count(CLUSTERED) == ("cluster" in given)


def test_a_choice_is_validated_by_clusters(rows):
    path, frame = rows
    line = ("threshold", path, "-l y -s p --maximize f1 --cluster site --validate")
    found = told(*line)["result"]["validation"]
    want = trueness.validate_threshold(frame, "f1", **LABEL, cluster="site", rng=0)
    same(found["corrected"], want.corrected)
    said = run(*line).stdout
    assert "If the choice were repeated" in said
    assert said.count(CLUSTERED) == 1


def test_classes_may_have_weights_and_clusters(rows):
    path, frame = rows
    words = "--label kind --score p_low --score p_mid --score p_top"
    found = told("evaluate", path, words, "--weight w --cluster site")["result"]
    one = trueness.auc(frame["kind"] == "mid", frame["p_mid"], weight=frame["w"],
                       cluster=frame["site"])  # fmt: skip
    same(found["scores"]["mid"]["auc"], one)
    assert found["multiclass_auc"] is None
    assert told("evaluate", path, words)["result"]["multiclass_auc"]


GUARANTEE = "threshold {} -l y -s p --subject-to 'recall >= 0.5' --guarantee 0.95"
SEVERAL = "-s p -s q"
# what a command cannot use: the line, and what the sentence says
REFUSED = {
    "guarantee": (f"{GUARANTEE} --cluster site", "A guarantee does not take clusters"),
    "guarantee, weights": (
        f"{GUARANTEE} --weight w",
        "the column of their number as count",
    ),
    "validate": (
        "threshold {} -l y -s p --validate --unlabelled 'missing at random'",
        "A validation does not take labels that are missing at random",
    ),
    "compare": (
        f"compare {{}} -l y {SEVERAL} --unlabelled 'missing at random'",
        "compare does not take",
    ),
    "combine": (f"combine {{}} -l y {SEVERAL} --cluster site", "combine does not take"),
    "nogold": ("nogold {} --vote y --vote g --cluster site", "nogold does not take"),
    "nogold, prevalence": (
        "nogold {} --vote y --vote g --prevalence 0.1",
        "as they were sampled",
    ),
    "judge": ("judge {} --judge y --weight w", "judge does not take weights"),
    "leaves": ("leaves {} -l y --node site --weight w", "leaves does not take"),
    "readers": ("readers {} -l y -s p --weight w", "readers does not take"),
    "shares": (
        "threshold {} -l y -s p --sampling case-control --maximize precision",
        "--prevalence 0.01",
    ),
    "watch": ("watch s.json {} -l y -s p --cluster site", "watch does not take"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_a_word_that_cannot_be_used_is_refused_in_one_sentence(name, rows):
    line, says = REFUSED[name]
    found = run(line.format(rows[0]))
    said = " ".join(found.stderr.split())
    assert found.exit_code == 2, said
    assert says in said
    assert "= out" not in said
    assert " Leave " in said or name == "shares"


@pytest.mark.parametrize("words", ["weight", "cluster"])
def test_calibrate_says_why_a_map_is_not_cross_fitted(words, rows):
    found = run("calibrate", rows[0], "-l y -s p --method beta", WORDS[words][0])
    assert found.exit_code == 0, found.stderr
    assert "performance of the map on new cases is not known" in found.stdout
    assert f"Leave the {words}s out" in found.stdout
