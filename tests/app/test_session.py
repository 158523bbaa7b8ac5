"""The answers of the workbench are the library's; guesses, problems, moves, files."""

import io
import json
import os
import re
import shlex
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from urllib.parse import urlencode

import duckdb
import numpy as np
import pandas as pd
import pytest
from markupsafe import escape
from typer.testing import CliRunner

import trueness
from app.conftest import running
from trueness._core.numbers import percent
from trueness.app import counting, jobs, session
from trueness.calibration.maps import map_from_json
from trueness.cli import app
from trueness.findings.notes import say
from trueness.findings.page import page_about
from trueness.findings.request import Request
from trueness.metrics import grammar
from trueness.threshold.sentences import (
    group_sentences,
    prevalence_sentences,
    zone_sentences,
)

DATA = {"file": "given", "kind": "scores", "label": "y", "column": ["a", "b"],
        "count": "-", "weight": "-"}  # fmt: skip


def models(served, **query):
    """Ask for the section with the slider, and read what the slider is told."""
    text = served.section("threshold", quick=1, **query)
    return json.loads(re.search(r'id="data">(.*?)</script>', text, re.S)[1])["models"]


# what is asked of the threshold on the page, and of the library
WISHES = [
    ({}, {"maximize": "youden"}),
    (
        {"goal": "minimize", "objective": "fpr", "subject_to": ["recall >= 0.8"]},
        {"minimize": "fpr", "subject_to": "recall >= 0.8"},
    ),
    (
        {"cost_fp": 1, "cost_fn": 7, "prevalence": 0.1},
        {"minimize": trueness.cost(fp=1, fn=7), "prevalence": 0.1},
    ),
]


def advised_threshold(tally, arguments):
    """Return what the page advises: with constraints, what keeps them on new cases."""
    if "subject_to" in arguments:
        validation = trueness.validate_threshold(
            tally, **arguments, constraints_on="new cases"
        )
        return validation.choice.threshold
    return trueness.best_threshold(tally, **arguments).threshold


@pytest.mark.parametrize(("fields", "arguments"), WISHES)
def test_every_distinct_score_is_a_step_of_the_slider(served, panel, fields, arguments):
    for model in models(served, **DATA, **fields):
        cuts = trueness.thresholds(panel[model["key"]])

        assert model["size"] == len(cuts)
        for step in range(0, model["size"], 7):
            if step == model["start"]:
                continue
            query = {**DATA, **fields, "model": model["index"], "at": step}
            threshold = served.json("/at", **query)["values"]["threshold"]
            assert threshold == (None if np.isinf(cuts[step]) else cuts[step])


@pytest.mark.parametrize(("fields", "arguments"), WISHES)
def test_the_slider_starts_at_the_advised_threshold(served, panel, fields, arguments):
    for model in models(served, **DATA, **fields):
        query = {**DATA, **fields, "model": model["index"], "at": model["start"]}

        start = served.json("/at", **query)

        threshold = advised_threshold(panel[model["key"]], arguments)
        assert start["values"]["threshold"] == threshold
        if "subject_to" in fields:
            assert start["meets"] == [True]


@pytest.mark.parametrize(("fields", "arguments"), WISHES)
def test_numbers_of_a_step_are_those_of_the_library(served, panel, fields, arguments):
    prevalence = fields.get("prevalence", panel.prevalence)

    for model in models(served, **DATA, **fields):
        counts = trueness.sweep(panel[model["key"]])
        for step in {model["start"], *range(0, model["size"], 7)}:
            query = {**DATA, **fields, "model": model["index"], "at": step}
            values = served.json("/at", **query)["values"]

            assert (values["tp"], values["fp"]) == (counts.tp[step], counts.fp[step])
            # as shown, in per cent
            recall = float(trueness.recall(counts[step]))
            assert percent(values["recall"]) == percent(recall)
            if step > 0:  # above all scores there is no precision
                in_use = counts[step].at_prevalence(prevalence)
                precision = float(trueness.precision(in_use))
                assert percent(values["precision"]) == percent(precision)


@pytest.mark.parametrize(
    ("query", "told"),
    [
        (
            {"objective": "recal", "subject_to": ["recall >= 0.9", "fpr <"]},
            {"objective": "Did you mean", "subject_to_1": "position 6"},
        ),
        (
            {"prevalence": "1.5", "cost_fp": "-1", "level": "x"},
            {"prevalence": "", "cost_fp": "A cost must be", "level": "not a number"},
        ),
        ({"cost_fp": 1}, {"cost_fn": "Both costs are needed, or none."}),
        ({"subject_to": "recall_gap <= 0.1"}, {"subject_to_0": "one under Groups."}),
        ({"prevalence": "0.5:0.1"}, {"prevalence": ""}),
        ({"combine": "magic"}, {"combine": "none of"}),
    ],
)  # fmt: skip
def test_errors_are_told_as_one_types(served, query, told):
    problems = served.json("/check", **DATA, **query)["problems"]
    assert problems.keys() == told.keys()
    for name, words in told.items():
        assert words in problems[name]


def test_what_cannot_be_met_is_told_at_its_field(served):
    def unmet(*limits):
        found = served.json("/check", **DATA, subject_to=limits, unmet=1)
        assert found["problems"] == {}
        return found["unmet"]

    # counts, also where the section is remembered and its counts are not
    served.json("/at", **DATA, model=models(served, **DATA)[0]["index"], at=0)
    limits = ["precision >= 0.3", "recall >= 0.99", "fpr <= 0.01"]
    assert list(unmet(*limits)) == ["subject_to_2"]
    assert "cannot be met together" in unmet(*limits)["subject_to_2"]
    assert unmet(*limits[:2]) == {}
    assert list(unmet("defer <= -1")) == ["subject_to_0"]


def test_guesses_are_made_and_problems_named_where_they_are(tmp_path):
    path = tmp_path / "odd.csv"
    path.write_text("first,second,word\n1,2,x\n2,1,y\n3,5,x\n")
    with running(path) as server:
        page = server.ask("/look?file=given").text
        told = re.search(r'data-problem="label" role="alert">([^<]*)<', page)[1]
        assert told.startswith("Which column holds the labels?")
        assert told.endswith("Choose one under Label.")
        assert "--" not in told
        some = {"file": "given", "label": "word", "column": "first"}
        assert '<option value="x"' in server.get("/look", **some).text
        text = server.section("summary", **some)
        assert 'role="alert"' in text
        assert "Positive value" in text
        good = server.section("summary", **some, positive="x")
        assert "only 1 negative case" in good
        page = server.ask("/look?file=given&label=nobody").text
        assert "no column &#39;nobody&#39;" in page


def counted(server, **query):
    """Ask for the counts until they are there."""
    for _ in range(400):
        answer = server.ask(f"/count?{urlencode(query, doseq=True)}")
        if answer.status != 202:
            return json.loads(answer.text)
        time.sleep(0.05)
    raise AssertionError("the counts never came")


def test_scores_that_are_missing_are_told_once(tmp_path):
    path = tmp_path / "gaps.csv"
    path.write_text("y,a,b\n" + "1,0.9,0.8\n0,,0.3\n1,0.4,0.5\n0,0.2,0.6\n" * 5)
    for column in (["a", "b"], ["a"]):
        with running(path) as server:
            problems = counted(server, **DATA | {"column": column})["problems"]
            dropped = DATA | {"column": column, "missing_scores": "drop"}
            section = server.section("threshold", quick=1, **dropped)
            taken = server.json("/check", **dropped)["taken"]
        assert list(problems) == ["missing_scores"]
        assert "under Cases without a score" in problems["missing_scores"]
        assert "--" not in problems["missing_scores"]
        assert 'id="data"' in section
        assert "--missing-scores drop" in taken["command"]
        assert "missing_scores='drop'" in taken["python"]


COUNTED = "y,p,n\n1,0.9,5\n0,0.4,7\n1,0.4,2\n"


@pytest.mark.parametrize(
    ("text", "asked", "field", "cases"),
    [
        (COUNTED, {}, ("count", "n"), 14),
        (COUNTED, {"count": "-"}, ("count", "-"), 3),
        *(
            (f"y,p,{name}\n1,0.9,{w}\n0,0.4,2\n", {"column": "p"}, ("weight", is_), n)
            for name, w, is_, n in (("weight", 1.5, "weight", 3.5), ("w", 1.5, "-", 2),
                                    ("weight", -1.5, "-", 2), ("weight", "a", "-", 2))
        ),
    ],
)  # fmt: skip
def test_counts_and_weights_are_guessed_and_can_be_taken_back(
    tmp_path, text, asked, field, cases
):
    path = tmp_path / "counted.csv"
    path.write_text(text)
    with running(path) as server:
        page = server.get("/look", file="given", **asked).text
        chosen = page.partition(f'<select id="{field[0]}"')[2].partition("</select>")[0]
        assert f'<option value="{field[1]}" selected>' in chosen
        # the address that is written asks for the same
        (query,) = re.findall('data-query="([^"]*)"', page)
        query = query.replace("&amp;", "&")
        assert query in server.ask(f"/look?{query}").text.replace("&amp;", "&")
        facts = server.section("summary", file="given", quick=1, **asked)
        said = re.search(r"<dt>(?:total weight|cases).*?</dt><dd>([\d.,]+)", facts)
        assert float(said[1]) == cases


@pytest.fixture(scope="module")
def weighted(small, tmp_path_factory):
    """Give the same cases, each with a weight and with the patient it is of."""
    frame = pd.read_csv(small)
    frame["patient"] = np.arange(len(frame)) // 4
    frame["weight"] = np.round(np.random.default_rng(4).uniform(0.2, 3, len(frame)), 2)
    path = tmp_path_factory.mktemp("weighted") / "weighted.csv"
    frame.to_csv(path, index=False)
    with running(path) as server:
        yield server, frame


def test_weights_are_counted(weighted):
    server, frame = weighted
    want = trueness.panel(frame, label="y", scores=["a", "b"], weight="weight")
    for model in models(server, file="given"):  # weights are none of the scores
        c = trueness.sweep(want[model["key"]])
        at = 3 if model["start"] != 3 else 17
        asked = {"file": "given", "model": model["index"], "at": at}
        found = server.json("/at", **asked)["values"]
        assert found["tp"] == pytest.approx(c.tp[at], rel=1e-4)
        assert found["fp"] == pytest.approx(c.fp[at], rel=1e-4)


def test_what_takes_no_weights_says_so(weighted, monkeypatch):
    server, _ = weighted
    for key in ("ensembles", "calibrated"):
        text = server.section(key, file="given", cluster="patient")
        assert "does not take weights" in text
        assert "Leave the weights out" in text
    query = {"file": "given", "kind": "leaves", "column": "site"}
    assert server.json("/check", **query)["taken"]
    query["weight"] = "weight"
    problems = server.json("/check", **query)["problems"]
    assert problems["weight"].startswith("Weight is for cases with labels")
    assert 'id="weight"' in server.get("/look", **query).text  # to be taken back
    monkeypatch.setattr(counting, "MAX_EXACT_ROWS", 100)
    text = server.section("summary", file="given", label="y", column="a")
    assert "which take no weights or clusters; found 400 rows" in text


def test_lines_with_a_design_give_the_same(weighted, elsewhere):
    server, frame = weighted
    design = {"weight": "weight", "cluster": "patient", "prevalence": 0.1}
    query = {"file": "given", "by": "site", "classifier": "b", "calibrate": "beta"}
    lines = elsewhere(server, **query, **design)
    page, _, spoken = lines.same_report(said=False)
    assert "clusters</dt><dd>100" in page
    assert "for a prevalence of</dt><dd>10.0\N{NO-BREAK SPACE}%" in page
    t = trueness.tally(frame, label="y", score="b", **design)
    assert repr(trueness.auc(t)) in spoken
    taken = map_from_json(lines.taken("map.json"))
    lines.typed("calibrate")
    saved = trueness.load_map("map.json")
    # weights are added up in another order for several scores
    np.testing.assert_allclose(taken(t.score), saved(t.score), rtol=1e-12)


@pytest.fixture(scope="module")
def verified(tmp_path_factory):
    """Two tests in words beside the truth, which is called disease."""
    rng = np.random.default_rng(11)
    sick = np.arange(300) % 4 == 0
    columns = {"disease": sick.astype(int)}
    for name, sensitivity in (("culture", 0.85), ("swab", 0.7)):
        positive = rng.random(300) < np.where(sick, sensitivity, 0.1)
        columns[name] = np.where(positive, "pos", "neg")
    path = tmp_path_factory.mktemp("verified") / "verified.csv"
    pd.DataFrame(columns).to_csv(path, index=False)
    return path


def test_tests_with_labels_have_no_threshold(verified):
    with pytest.warns(trueness.CleanedWarning):
        answer = trueness.evaluate(pd.read_csv(verified))
    with running(verified) as server:
        page = server.get("/look", file="given").text
        section = server.section("verified", file="given")

    assert '<option value="verified" selected>' in page
    assert 'data-section="threshold"' not in page
    assert f"{answer.numbers['tests']['swab']['sensitivity'].value:.3f}" in section
    assert "sensitivity of culture" in section
    assert "AUC" not in section


def test_tests_of_numbers_beside_their_truth_are_not_taken_for_unlabelled(
    tmp_path, elsewhere
):
    path = tmp_path / "numbers.csv"
    path.write_text("disease,t1,t2\n" + "1,1,0\n0,0,0\n1,1,1\n0,1,0\n" * 20)
    with running(path) as server:
        page = server.get("/look", file="given").text
        section = server.section("verified", file="given")
        score = server.get("/look", file="given", kind="scores", column="t1").text
        elsewhere(server, file="given").same_report()

    assert '<option value="verified" selected>' in page
    assert "The specificity of t2 is 50.0 points higher" in section
    assert '<option value="verified" selected>' in score


def test_scores_without_labels_say_what_they_tell(tmp_path):
    path = tmp_path / "new.csv"
    path.write_text("case,prob\n" + "".join(f"{k},{k / 97:.4f}\n" for k in range(90)))
    with running(path) as server:
        page = server.get("/look", file="given").text
        section = server.section("alone", file="given")
        lines = server.json("/check", file="given")["taken"]
        refused = server.ask("/take/report.html?file=given")

    assert '<option value="alone" selected>' in page
    assert "cannot be measured" in section
    assert lines["command"] == f"trueness evaluate {path} --score prob"
    assert refused.status == 404


def test_a_covariate_called_like_a_count_counts_nothing(tmp_path):
    path = tmp_path / "covariate.csv"
    rows = [f"{k % 3 == 0:d},{k / 50:.2f},{k % 4}" for k in range(50)]
    path.write_text("y,p,cases\n" + "\n".join([*rows, rows[0]]) + "\n")
    with running(path) as server:
        page = server.get("/look", file="given").text
        facts = server.section("summary", file="given", quick=1)

    chosen = page.partition('<select id="count"')[2].partition("</select>")[0]
    assert '<option value="-" selected>' in chosen
    assert "<dd>51</dd>" in facts
    assert "choose it under Count" in facts


def test_tests_without_labels(served):
    hiv = served.section("nogold", file="sample:hiv")
    found = trueness.panel(
        pd.read_csv(trueness.samples.path("hiv")),
        scores=["V1", "V2", "V3", "V4"],
        count="count",
    )
    alone = trueness.latent_class(found, rng=0, dependence="none")
    for words in (f"{alone.sensitivity['V2'].value:.3f}", "make the same errors",
                  "not determined by the verdicts", "best combination"):  # fmt: skip
        assert words in hiv
    made = served.json("/check", file="sample:hiv")["taken"]
    compile(made["python"], "lines", "exec")
    assert made["command"].startswith("trueness report sample:hiv --vote V1 --vote V2")


@pytest.mark.slow
def test_lines_of_tests_give_the_same(served, elsewhere):
    elsewhere(served, file="sample:hiv").same_report(said=False)


JUDGES = {"file": "sample:judges", "kind": "judges", "label": "human",
          "column": ["skywork_gemma_27b", "internlm2_20b"]}  # fmt: skip


def test_judges_with_some_labels(served, elsewhere):
    # neither the labels nor how they came are guessed
    asked = served.json("/check", **JUDGES)
    assert asked["taken"] is None
    assert asked["problems"]["labelled"].endswith(
        "Choose one under How the labelled cases were chosen."
    )
    without = {k: v for k, v in JUDGES.items() if k != "label"}
    assert "label" in served.json("/check", **without)["problems"]
    frame = pd.read_csv(trueness.samples.path("judges"))
    panel = trueness.panel(frame, label="human", scores=JUDGES["column"])
    for how in ("random", "by truth"):
        rate = trueness.prevalence(panel, labelled=how)
        text = served.section("judges", **JUDGES, labelled=how)
        assert f"{100 * rate.value:.0f}" in re.sub(r"<[^>]*>", " ", text)
        assert f"({how})" in text
    _, _, spoken = elsewhere(served, **JUDGES, labelled="random").same_report()
    assert repr(trueness.prevalence(panel, labelled="random")) in spoken


def test_judges_without_a_column_of_counts(served):
    # the form says so by a dash, once a file was looked at
    unsaid = served.section("judges", **JUDGES, labelled="random")
    said = served.section("judges", **JUDGES, labelled="random", count="-")

    assert said == unsaid


LONG = {"file": "given", "kind": "judges", "label": "human", "verdict": "said",
        "column": "judge", "item": "item", "system": "system", "positive": "yes",
        "yes": "pass", "labelled": "random"}  # fmt: skip


def test_several_systems_in_a_table_with_a_row_per_verdict(verdicts, elsewhere):
    with running(verdicts) as server:
        for name in ("column", "item"):
            some = {k: v for k, v in LONG.items() if k != name}
            assert list(server.json("/check", **some)["problems"]) == [name]
        text = server.section("judges", **LONG)
        assert "Differences of the corrected rates" in text
        _, said, _ = elsewhere(server, **LONG).same_report()
    assert set(said["result"]["systems"]) == {"A", "it's B"}


def test_the_log_of_an_evaluation_is_read(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    log = Path(__file__).parents[1] / "data" / "logs" / "inspect.eval"
    judges = trueness.read_verdicts(log).judges
    started: list[str] = []
    monkeypatch.setattr(
        "trueness.app.server.serve", lambda file, **_: started.append(file)
    )
    result = CliRunner().invoke(app, ["app", str(log), "--no-browser"])
    assert result.exit_code == 0, result.stderr
    assert started == [str(log)]
    with running() as server:
        where = server.upload("run.eval", log.read_bytes())[1]["address"]
        word = where.rpartition("=")[2]
        assert '<option value="systems" selected>' in server.ask(where).text
        text = server.section("systems", file=word)
        assert "10 items and 10 attempts" in text
        page = server.ask(f"{where}&kind=judges").text
        for judge in judges:
            assert f'name="column" value="{judge}"' in page
        query = {"file": word, "label": "-", "kind": "judges"}
        made = server.json("/check", **query)
        assert made["problems"] == {}
        told = server.section("judges", **query)
    (tmp_path / "run.eval").write_bytes(log.read_bytes())
    words = shlex.split(made["taken"]["command"])
    named = [w for k, w in enumerate(words) if words[k - 1] == "--judge"]
    assert named == [*judges]
    result = CliRunner().invoke(app, words[1:])
    assert result.exit_code == 3  # two judges and no label: both say the same
    sentence = "the rate cannot be determined from 2 judges"
    assert sentence in told
    assert sentence in result.stderr


def test_attempts_of_systems_are_ranked_and_the_lines_give_the_same(elsewhere, rng):
    chances = {"alpha": 0.8, "beta": 0.7, "gamma": 0.3}
    rows = [f"t{i},{m},{int(rng.random() < p)}" for m, p in chances.items()
            for i in range(60)]  # fmt: skip
    Path("runs.csv").write_text("\n".join(["task_id,model,passed", *rows]))
    names = {"item": "task_id", "passed": "passed", "system": "model"}
    board = trueness.leaderboard(trueness.attempts(trueness.scan("runs.csv"), **names))
    with running("runs.csv") as server:
        page = server.ask("/look?file=given").text
        for chosen in ("systems", *names.values()):
            assert f'<option value="{chosen}" selected>' in page
        assert "group" in page.partition("could be")[2]  # what look says of columns
        told = server.section("systems", file="given")
        for name, rate in zip(board.names, board.rates, strict=True):
            assert name in told
            assert f"{rate.value:.3f} ({rate.low:.3f} to {rate.high:.3f})" in told
        missing = server.json("/check", file="given", kind="systems", item="nowhere")
        assert "nowhere" in missing["problems"]["item"]
        lines = elsewhere(server, file="given")
        assert "Which system is better?" in lines.taken("report.html")
        assert f"{board.rates[0].value:.3f}" in lines.typed()
        assert repr(board) in lines.spoken()


def test_what_was_cleaned_is_said_once(tmp_path):
    lines = ["sick;risk", *["ja;61,5 %", " Nein;3 %", "nein;8 %", "JA;40 %"] * 6]
    path = tmp_path / "sent.csv"
    path.write_text("\n".join(lines), encoding="utf-8")
    with running(str(path)) as server:
        told = server.section("summary", file="given", quick="1")
    assert told.count("Cleaned:") == 1
    assert "decimal comma" in told


@pytest.fixture
def leaves_with_rules(tmp_path, monkeypatch):
    """Write leaves with rules to a file; return the rule of each leaf."""
    monkeypatch.chdir(tmp_path)
    frame = pd.read_csv(trueness.samples.path("leaves"))
    rules = {leaf: f"age > {leaf} & <b>{leaf}</b>" for leaf in frame.leaf.unique()}
    frame["rule"] = frame.leaf.map(rules)
    frame["mixed"] = np.arange(len(frame)).astype(str)
    frame.to_csv("leaves.csv", index=False)
    return rules


def test_leaves_are_shown_with_the_rule_that_the_file_has(leaves_with_rules):
    frame = pd.read_csv("leaves.csv")
    report = trueness.leaves(frame, node="leaf", label="virus", count="n").report()

    with running("leaves.csv") as server:
        section = server.section("leaves", file="given")
        without_rules = server.section("leaves", file="given", rule="-")

    rows = dict(re.findall(r"<tr><t[hd][^>]*>(\d+)<.*?(age [^<]*)<", section))
    assert rows == {str(n): str(escape(rule)) for n, rule in leaves_with_rules.items()}
    assert f"{report.confidence[4]:.4f}" in section
    assert "age" not in without_rules


def test_a_column_that_is_no_rule_of_leaves_is_refused(leaves_with_rules):
    with running("leaves.csv") as server:
        mixed = server.section("leaves", file="given", rule="mixed")
        missing = server.json("/check", file="given", rule="nobody")

    assert "rule must be the same in all rows of a leaf" in mixed
    assert "no column" in missing["problems"]["rule"]


def test_lines_about_leaves_give_the_same_rules(leaves_with_rules, elsewhere):
    with running("leaves.csv") as server:
        lines = elsewhere(server, file="given")

    answer = json.loads(lines.typed("command", "--json"))["result"]["leaves"]
    assert {int(leaf["node"]): leaf["rule"] for leaf in answer} == leaves_with_rules
    spoken = lines.spoken()
    assert all(rule in spoken for rule in leaves_with_rules.values())


def test_groups_comparison_and_planning_are_sections_of_the_report(served, panel):
    text = served.section("groups", **DATA, by="site")
    assert "north" in text
    assert ">Does it hold" not in text  # the title stands on the page
    assert "DeLong" in served.section("comparison", **DATA)
    wide = served.section("planning", **DATA, half_width=0.01, classifier="a")
    plan = trueness.plan_auc(
        auc=trueness.auc(panel["a"]).value, prevalence=0.4, half_width=0.01
    )
    assert f"{plan.n:,}" in wide
    beta = served.section("calibrated", **DATA, calibrate="beta", classifier="b")
    gain = trueness.calibration_gain(panel["b"], method="beta", rng=0)
    assert f"{gain.cross_fitted:.4g}"[:5] in beta


def test_another_combiner_and_its_file(served, panel, elsewhere):
    found = trueness.compare_combiners(panel, rng=0)
    for chosen in ("", "mean-score"):
        text = served.section("ensembles", **DATA, combine=chosen)
        assert "A combination is not shown to be better" in text
        assert f"{found.auc[chosen or 'fidel'].value:.3f}" in text
        lines = elsewhere(served, **DATA, combine=chosen)
        mine = lines.taken("combiner.json")
        lines.typed("combine")
        assert Path("combiner.json").read_text() == mine
    Path("combiner.json").unlink()
    lines.spoken()
    assert Path("combiner.json").read_text() == mine
    alone = {**DATA, "column": "a"}
    assert served.json("/check", **alone)["taken"]["combine"] == ""
    assert served.ask(f"/take/combiner.json?{urlencode(alone)}").status == 404


def test_two_cuts_groups_a_range_of_prevalences_and_the_map(
    served, panel, small, elsewhere
):
    limit, one = "recall >= 0.5", panel["b"]
    query = {**DATA, "column": "b", "prevalence": "0.2:0.6", "by": "site",
             "subject_to": ["defer <= 0.2", "recall_gap <= 0.1", limit],
             "cost_fp": 1, "cost_fn": 4, "calibrate": "platt", "half_width": 0.03,
             "classifier": "b"}  # fmt: skip
    goal = {"minimize": "cost(fp=1, fn=4)"}
    zones = trueness.best_thresholds(one, **goal, subject_to=["defer <= 0.2", limit])
    point = trueness.best_threshold(
        one, **goal, subject_to=limit, prevalences=(0.2, 0.6)
    )
    by = trueness.tally(pd.read_csv(small), label="y", score="b", by="site")
    cuts = trueness.group_thresholds(
        by, **goal, subject_to=[limit, "recall_gap <= 0.1"]
    )
    for key, said in {
        "zones": zone_sentences(zones),
        "prevalence": prevalence_sentences(point),
        "group-cuts": group_sentences(cuts),
    }.items():
        assert escape(said[0]) in served.section(key, **query)
        # where nobody asked, the page says how one would
        assert "data-asks" in served.section(key, **DATA, by="site")
    lines = elsewhere(served, **query)
    page, _, spoken = lines.same_report()
    for found in (zones, cuts, point):
        assert repr(found) in spoken
    assert "Does it hold in every group?" in page
    assert "calibrated by the method platt" in page
    made = Path("map.json").read_text()
    lines.typed("calibrate")
    assert made == Path("map.json").read_text() == lines.taken("map.json")


@pytest.mark.parametrize("kind", ["csv", "parquet"])
def test_flagged_rows_are_those_that_reach_the_threshold(served, small, kind):
    query = {**DATA, "cut": 0.623, "classifier": "b"}
    body = served.get(f"/take/flagged.{kind}", **query).body
    frame = pd.read_csv(small)
    read = pd.read_csv if kind == "csv" else pd.read_parquet
    found, want = (
        x.sort_values(["a", "b", "y", "site"], ignore_index=True)
        for x in (read(io.BytesIO(body)), frame[frame.b >= 0.623])
    )
    pd.testing.assert_frame_equal(found, want, check_dtype=False)
    assert 0 < len(want) < len(frame)


def test_figures_are_files_of_their_own(served):
    text = served.get("/take/threshold-0.svg", **DATA).text
    assert text.startswith("<svg xmlns=")
    assert "var(--" not in text
    assert '<rect width="360" height="364" fill="#ffffff"/>' in text
    names = re.findall(r'<text class="name" x="92" y="\d+">([^<]*)</text>', text)
    assert names == ["a", "b"]
    assert served.get("/take/ranking-1.png", **DATA).body[1:4] == b"PNG"
    assert served.ask("/take/ranking-9.svg?file=given").status == 404


NAMES = ["-x", "it's \"q\" $(touch pwned) `touch pwned`", "*", "<script>x</script>",
         '"; DROP TABLE x; --', "--score", "new\nline", "\u00fcn\u00ef",
         "a,b"]  # fmt: skip


@pytest.fixture
def hostile(elsewhere):
    """Names that mean something to a shell, to SQL, to HTML or to Python."""
    rng, y = np.random.default_rng(0), np.arange(80) % 2
    frame = pd.DataFrame({n: np.round(rng.random(80) + y / 2, 2) for n in NAMES})
    frame["it is 'y'"] = y
    name = "-[1]*? 'a' \"b\" $(touch pwned);\n<b>.csv"
    frame.to_csv(name, index=False)
    with running(name) as server:
        yield server, frame


def test_hostile_names_are_text_everywhere(hostile, elsewhere):
    server, frame = hostile
    query = {"file": "given", "label": "it is 'y'", "column": NAMES[:6]}
    page = server.get("/look", **query).text
    for text in (page, server.section("threshold", quick=1, **query)):
        assert not re.search("<script>x|<b>", text)
    lines = elsewhere(server, **query | {"column": NAMES[:2], "classifier": NAMES[1]})
    lines.same_report(said=False)
    flagged = server.json("/at", **lines.query, at=3)["flagged"]
    cut = float(flagged.rpartition(">= ")[2].rstrip("')"))
    rows = eval(flagged, {"trueness": trueness}).df()  # noqa: S307
    assert len(rows) == (frame[NAMES[1]] >= cut).sum()
    one = query | {"column": NAMES[4]}
    assert server.get("/take/flagged.csv", **one, cut=0.5).body
    assert not Path("pwned").exists()


@pytest.mark.slow
def test_hostile_names_come_through_a_real_shell(hostile, elsewhere, tmp_path):
    server, _ = hostile
    query = {"file": "given", "label": "it is 'y'", "column": NAMES[:2],
             "classifier": NAMES[1]}  # fmt: skip
    lines = elsewhere(server, **query)
    mine = {n: lines.taken(n) for n in ("report.html", "map.json", "combiner.json")}
    program = tmp_path / "trueness"
    program.write_text(
        f'#!/bin/sh\nexec {shlex.quote(sys.executable)} -m trueness "$@"\n'
    )
    program.chmod(0o755)
    source = str(Path(trueness.__file__).parents[1])
    environment = {**os.environ, "PYTHONPATH": source,
                   "PATH": f"{tmp_path}{os.pathsep}{os.environ['PATH']}"}  # fmt: skip
    script = "\n".join(lines.lines[k] for k in ("command", "calibrate", "combine"))
    subprocess.run(["bash", "-ec", script], env=environment, check=True)
    for file, text in mine.items():
        found = Path(file).read_text(encoding="utf-8")
        if file == "report.html":
            assert found == text
        else:
            assert type(map_from_json(found)) is type(map_from_json(text))
    assert not Path("pwned").exists()


def test_a_large_file_is_counted_in_bins_with_bounded_memory(small, monkeypatch):
    monkeypatch.setattr(counting, "MAX_EXACT_ROWS", 100)
    monkeypatch.setattr(counting, "MAX_BINS", 50)
    with running(small) as server:
        page = server.ask("/look?file=given").text
        assert 'data-section="scale"' in page
        assert 'data-section="comparison"' not in page
        assert "bins" in server.section("scale", **DATA)
        assert {m["size"] for m in models(server, **DATA)} <= set(range(10, 60))
        assert "AUC" in server.section("summary", **DATA)
        assert server.get("/take/report.html", file="given").body


def test_a_database_with_several_tables(tmp_path):
    path = tmp_path / "preds.duckdb"
    with duckdb.connect(str(path)) as base:
        rows = "SELECT i % 2 AS y, random() AS p FROM range(50) t(i)"
        base.execute("CREATE TABLE one AS " + rows)
        base.execute("CREATE TABLE two AS " + rows)
    with running(path) as server:
        assert f"{path}::two" in server.ask("/").text
        made = server.json("/check", file="given::two")["taken"]
    words = shlex.split(made["command"])
    assert words[2] == f"{path}::two"
    result = CliRunner().invoke(app, ["evaluate", words[2]])
    assert result.exit_code == 0, result.stderr
    assert "::two')" in made["python"]


def test_a_step_of_the_slider_reads_each_text_of_its_request_once(served, monkeypatch):
    goal = {"goal": "minimize", "objective": "fpr", "subject_to": ["recall >= 0.8"]}
    query = {**DATA, **goal, "prevalence": "0.3"}
    model = models(served, **query)[0]["index"]
    texts = []
    read_text = grammar._text
    monkeypatch.setattr(
        grammar, "_text", lambda text, what: texts.append(text) or read_text(text, what)
    )

    served.json("/at", **query, model=model, at=3)

    assert sorted(texts) == ["fpr", "recall >= 0.8"]


def test_many_questions_at_once_are_all_answered(small):
    questions = [
        f"/look?file={file}&kind={kind}&label={label}&level=0.{90 + k}"
        for k in range(2)
        for file in ("given", "sample:judges")
        for kind in ("scores", "judges", "tests", "leaves")
        for label in ("y", "human")
    ]
    with running(small) as server, ThreadPoolExecutor(16) as pool:
        answers = list(pool.map(server.ask, questions))
    assert [a.text for a in answers if a.status != 200] == []


def test_a_look_up_waits_for_nobody(small, monkeypatch):
    go_on = threading.Event()
    begun = threading.Semaphore(0)

    def wait(f):
        begun.release()
        go_on.wait(60)

    monkeypatch.setitem(session.QUESTIONS, "comparison", wait)
    with running(small) as server:
        models(server, **DATA)  # counts
        for more in ({}, {"quick": 1}):  # both lanes have work that does not end
            server.ask(f"/section/comparison?{urlencode(DATA | more, doseq=True)}")
            assert begun.acquire(timeout=60)
        found = server.json("/at", **DATA, at=7)
        assert not go_on.is_set()
        go_on.set()
    assert found["values"]["threshold"] is not None


def endless():
    from trueness._core.progress import steps

    for _ in steps(range(10**9), "Bootstrap"):
        time.sleep(0.001)


def test_jobs_tell_how_far_they_are_and_can_be_stopped(one_lane):
    job = one_lane.find_or_begin("long", endless, "tab", 0)
    while job.progress()["words"] != "Bootstrap":
        time.sleep(0.01)
    assert 0 <= job.progress()["fraction"] < 1
    one_lane.stop("long")
    assert job.state == "stopped"
    # the lane is free again, and a job that fails is told
    for make, told in ((lambda: 1 / 0, "ZeroDivisionError"), (lambda: "7", "7")):
        job = one_lane.find_or_begin(told, make, "tab", 0)
        assert job.finished.wait(10)
        assert told in job.result


def test_a_job_that_nobody_waits_for_is_stopped(one_lane, monkeypatch):
    monkeypatch.setattr(jobs, "ABANDONED_AFTER_S", 0.2)
    job = one_lane.find_or_begin("long", endless, "tab", 0)
    assert job.finished.wait(10)
    assert job.state == "stopped"


def test_a_tab_that_asks_something_else_gives_up_what_it_asked_before(one_lane):
    first = one_lane.find_or_begin("old", endless, "tab", 0, topic="summary")
    one_lane.find_or_begin("old", endless, "other tab", 0, topic="summary")
    second = one_lane.find_or_begin("new", lambda: 3, "tab", 0, topic="summary")
    assert first.state != "stopped"  # the other tab still waits
    one_lane.find_or_begin("newer", lambda: 4, "other tab", 0, topic="summary")
    assert first.state == "stopped"
    assert second.finished.wait(10)
    assert second.result == 3
    again = one_lane.find_or_begin("old", lambda: 5, "tab", 0, topic="summary")
    assert again.finished.wait(10)
    assert again.result == 5  # what was given up is worked out anew


def test_the_summary_says_from_the_start_what_the_report_says(served, small):
    """No section is opened before."""
    query = {**DATA, "by": "site", "subject_to": "recall >= 0.7"}
    summary = served.section("summary", **query)
    counted = trueness.panel(pd.read_csv(small), label="y", scores=["a", "b"])
    groups = trueness.panel(pd.read_csv(small), label="y", scores=["a", "b"], by="site")

    page = page_about(counted, Request(subject_to=("recall >= 0.7",)), groups=groups)

    for _, notes in page.answers:
        for note in notes:
            assert escape(say(note, "page")) in summary
    assert escape(say(page.headline, "page")) in summary


def test_the_page_takes_a_guarantee(served):
    query = {**DATA, "subject_to": "recall >= 0.7", "guarantee": 0.9}
    summary = served.section("summary", **query)
    taken = served.json("/check", **query)["taken"]
    assert "With 90 % confidence, recall" in summary
    assert "--guarantee 0.9" in taken["command"]
    assert "guaranteed_threshold" in taken["python"]
