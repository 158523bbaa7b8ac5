"""The answers of the workbench are the library's; guesses, problems, moves, files."""

import http.client
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
from contextlib import redirect_stdout
from pathlib import Path
from urllib.parse import urlencode

import numpy as np
import pandas as pd
import pytest
from markupsafe import escape
from starlette.datastructures import QueryParams
from typer.testing import CliRunner

import trueness
from app.conftest import running
from trueness.app import address as questions
from trueness.app import jobs, session
from trueness.app.pages import query_of
from trueness.app.server import Workbench
from trueness.calibration.maps import map_from_json
from trueness.cli import app
from trueness.findings import notes
from trueness.findings.notes import note
from trueness.findings.records import Finding
from trueness.threshold.sentences import (
    group_sentences,
    prevalence_sentences,
    zone_sentences,
)

DATA = {"file": "given", "kind": "scores", "label": "y", "column": ["a", "b"],
        "count": "-", "weight": "-"}  # fmt: skip


@pytest.fixture(scope="module")
def panel(small):
    frame = pd.read_csv(small)
    return trueness.panel(frame, label="y", scores=["a", "b"])


def models(served, **more):
    """Ask for the section with the slider, and read what the slider is told."""
    text = served.section("threshold", quick=1, **DATA, **more)
    found = json.loads(re.search(r'id="data">(.*?)</script>', text, re.S)[1])["models"]
    assert found
    return found


def test_every_distinct_score_is_a_step_and_the_numbers_are_the_librarys(served, panel):
    for model in models(served):
        t = panel[model["key"]]
        assert model["size"] == len(t) + 1
        cuts = trueness.thresholds(t)
        c = trueness.sweep(t)
        for at in range(0, model["size"], 7):
            found = served.json("/at", **DATA, model=model["index"], at=at)["values"]
            if at == model["start"]:
                continue
            want = None if np.isinf(cuts[at]) else cuts[at]
            assert found["threshold"] == want
            assert found["tp"] == c.tp[at]
            assert found["fp"] == c.fp[at]
            recall = float(trueness.recall(c[at]))
            assert found["recall"] == pytest.approx(recall, abs=5.1e-5)  # as shown


def test_the_chosen_threshold_is_the_librarys_best_under_constraints(served, panel):
    wanted = {"goal": "minimize", "objective": "fpr", "subject_to": ["recall >= 0.8"]}
    for model in models(served, **wanted):
        best = trueness.best_threshold(
            panel[model["key"]], minimize="fpr", subject_to="recall >= 0.8"
        )
        query = {**DATA, **wanted, "model": model["index"], "at": model["start"]}
        found = served.json("/at", **query)
        assert found["values"]["threshold"] == best.threshold
        assert found["values"]["tp"] == best.confusion.tp
        assert found["meets"] == [True]


def test_costs_and_prevalence_choose_too(served, panel):
    wanted = {"cost_fp": 1, "cost_fn": 7, "prevalence": 0.1}
    model = models(served, **wanted)[0]
    best = trueness.best_threshold(
        panel[model["key"]], minimize=trueness.cost(fp=1, fn=7), prevalence=0.1
    )
    query = {**DATA, **wanted, "model": 0, "at": model["start"]}
    found = served.json("/at", **query)["values"]
    assert found["threshold"] == best.threshold
    for share, said in ({}, False), ({"prevalence": 0.1}, True):
        page = taken(served, "report.html", **share)
        assert ("for a prevalence of</dt><dd>10.0 %" in page) is said
    used = best.confusion.at_prevalence(0.1)
    assert found["precision"] == pytest.approx(
        float(trueness.precision(used)), rel=1e-4
    )


def test_errors_are_told_as_one_types(served):
    query = {**DATA, "objective": "recal", "subject_to": ["recall >= 0.9", "fpr <"]}
    problems = served.json("/check", **query)["problems"]
    assert "Did you mean" in problems["objective"]
    assert "position 6" in problems["subject_to_1"]
    assert "subject_to_0" not in problems
    wrong = {"prevalence": "1.5", "cost_fp": "-1", "level": "x"}
    problems = served.json("/check", **DATA, **wrong)["problems"]
    assert {"prevalence", "cost_fp", "level"} <= problems.keys()
    one = served.json("/check", **DATA, cost_fp=1)["problems"]
    assert one == {"cost_fn": "Both costs are needed, or none."}


def test_guesses_are_made_and_problems_named_where_they_are(tmp_path):
    path = tmp_path / "odd.csv"
    path.write_text("first,second,word\n1,2,x\n2,1,y\n3,5,x\n")
    with running(path) as server:
        page = server.ask("/look?file=given").text
        told = re.search(r'data-problem="label" role="alert">([^<]*)<', page)[1]
        assert told.startswith("Which column holds the labels? Choose it under Label.")
        assert "--" not in told
        page = server.ask("/look?file=given&label=word&column=first").text
        assert '<option value="x"' in page
        text = server.section("summary", file="given", label="word", column="first")
        assert 'role="alert"' in text
        assert "Positive value" in text
        good = server.section(
            "summary", file="given", label="word", column="first", positive="x"
        )
        assert "only 1 negative case" in good
        page = server.ask("/look?file=given&label=nobody").text
        assert "no column &#39;nobody&#39;" in page


def test_counts_are_guessed_and_can_be_taken_back(tmp_path):
    path = tmp_path / "counted.csv"
    path.write_text("y,p,n\n1,0.9,5\n0,0.4,7\n1,0.4,2\n")
    workbench = Workbench(str(path))
    file = workbench.files.get("given")
    full, chosen = questions.complete(file, questions.read(QueryParams("file=given")))
    assert (chosen.count, full.count) == ("n", "n")
    assert workbench.bench.count(file, full, chosen).first.n == 14
    again, chosen = questions.complete(
        file, questions.read(QueryParams("file=given&count=-"))
    )
    assert chosen.count is None
    assert workbench.bench.count(file, again, chosen).first.n == 3
    # the address that is written asks for the same
    assert questions.read(QueryParams(query_of(again))).data == again.data
    workbench.close()


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


def test_weights_are_guessed_counted_and_can_be_taken_back(weighted):
    server, frame = weighted
    want = trueness.panel(frame, label="y", scores=["a", "b"], weight="weight")
    guessed = {"file": "given"}  # the column of weights is none of the scores
    text = server.section("threshold", quick=1, **guessed)
    told = json.loads(re.search(r'id="data">(.*?)</script>', text, re.S)[1])["models"]
    for model in told:
        c = trueness.sweep(want[model["key"]])
        assert model["size"] == len(c.tp)
        for at in (3, 17, 40):
            query = {**guessed, "model": model["index"], "at": at}
            found = server.json("/at", **query)["values"]
            if at != model["start"]:
                assert found["tp"] == pytest.approx(c.tp[at], rel=1e-4)
                assert found["fp"] == pytest.approx(c.fp[at], rel=1e-4)
    text = server.section("ranking", **guessed)
    assert f"{trueness.auc(want['a']).value:.3f}" in text
    plain = trueness.panel(frame, label="y", scores=["a", "b"])
    text = server.section("ranking", **DATA)
    assert f"{trueness.auc(plain['a']).value:.3f}" in text
    page = server.ask("/look?file=given").text
    assert '<option value="weight" selected>' in page


def test_what_takes_no_weights_says_so(weighted, monkeypatch):
    server, _ = weighted
    for key in ("ensembles", "calibrated"):
        text = server.section(key, file="given", cluster="patient")
        assert "does not take weights" in text
        assert "Leave Weight out" in text
    query = {"file": "given", "kind": "leaves", "column": "site"}
    assert server.json("/check", **query)["taken"]
    problems = server.json("/check", **query, weight="weight")["problems"]
    assert problems["weight"].startswith("Weight is for scores with labels; leaves")
    page = server.ask(f"/look?{urlencode({**query, 'weight': 'weight'})}").text
    assert 'id="weight"' in page  # there it can be taken back
    monkeypatch.setattr(session, "MOST_ROWS", 100)
    text = server.section("summary", file="given", label="y", column="a")
    assert "are not put into bins; found 400 rows" in text


def test_a_column_that_cannot_hold_weights_is_not_guessed(tmp_path):
    for name, value in (("weight", -1.5), ("weight", "heavy"), ("w", 2.0)):
        path = tmp_path / "odd.csv"
        path.write_text(f"y,p,{name}\n1,0.9,{value}\n0,0.4,{value}\n")
        workbench = Workbench(str(path))
        asked = questions.read(QueryParams("file=given&column=p"))
        full, chosen = questions.complete(workbench.files.get("given"), asked)
        assert (full.weight, chosen.weight) == ("-", None)
        workbench.close()


@pytest.mark.parametrize(
    "design",
    [
        {"weight": "weight"},
        {"weight": "weight", "cluster": "patient", "prevalence": 0.1},
    ],
    ids=["weights", "clusters"],
)
def test_lines_with_a_design_give_the_same(weighted, design, tmp_path, monkeypatch):
    server, frame = weighted
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "1700000000")
    monkeypatch.chdir(tmp_path)
    query = {"file": "given", "by": "site", "classifier": "b", "calibrate": "beta"}
    query |= design
    made = server.json("/check", **query)["taken"]
    page = server.ask(f"/take/report.html?{urlencode(query)}").text
    words = shlex.split(made["command"])
    monkeypatch.setattr("sys.argv", words)
    result = CliRunner().invoke(app, words[1:])
    assert result.exit_code == 0, result.stderr
    assert (tmp_path / "report.html").read_text(encoding="utf-8") == page
    told = "clusters</dt><dd>100" if "cluster" in design else "total weight of"
    assert told in page
    t = trueness.tally(frame, label="y", score="b", **design)
    with redirect_stdout(io.StringIO()) as spoken:
        exec(compile(made["python"], "lines", "exec"), {})  # noqa: S102
    assert repr(trueness.auc(t)) in spoken.getvalue()
    result = CliRunner().invoke(app, shlex.split(made["calibrate"])[1:])
    assert result.exit_code == 0, result.stderr
    (tmp_path / "taken.json").write_text(
        server.ask(f"/take/map.json?{urlencode(query)}").text
    )
    mine, saved = (trueness.load_map(tmp_path / f"{n}.json") for n in ("taken", "map"))
    # weights are added up in another order for several scores
    np.testing.assert_allclose(mine(t.score), saved(t.score), rtol=1e-12)


def test_tests_without_labels_and_leaves(served):
    hiv = served.section("nogold", file="sample:hiv")
    found = trueness.panel(
        pd.read_csv(trueness.samples.path("hiv")),
        scores=["V1", "V2", "V3", "V4"],
        count="count",
    )
    alone = trueness.latent_class(found, rng=0, dependence="none")
    assert f"{alone.sensitivity['V2'].value:.3f}" in hiv
    assert "not determined by votes alone" in hiv
    assert "make the same errors" in hiv
    assert "best combination" in hiv
    text = served.section("leaves", file="sample:leaves")
    rows = trueness.leaves(
        pd.read_csv(trueness.samples.path("leaves")),
        node="leaf", label="virus", count="n",
    ).report()  # fmt: skip
    assert f"{rows.confidence[4]:.4f}" in text


JUDGES = {"file": "sample:judges", "kind": "judges", "label": "human",
          "column": ["skywork_gemma_27b", "internlm2_20b"]}  # fmt: skip


def test_judges_with_some_labels(served, tmp_path, monkeypatch):
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "1700000000")
    monkeypatch.chdir(tmp_path)
    # neither the labels nor how they came are guessed
    asked = served.json("/check", **JUDGES)
    assert asked["taken"] is None
    assert asked["problems"]["labelled"].endswith(
        "Choose it under How the labelled cases were chosen."
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
    query = {**JUDGES, "labelled": "random"}
    made = served.json("/check", **query)["taken"]
    page, said = (
        served.ask(f"/take/{name}?{urlencode(query, doseq=True)}").text
        for name in ("report.html", "report.json")
    )
    words = shlex.split(made["command"])
    monkeypatch.setattr("sys.argv", words)
    result = CliRunner().invoke(app, [*words[1:], "--json"])
    assert result.exit_code == 0, result.stderr
    assert (tmp_path / "report.html").read_text(encoding="utf-8") == page
    assert json.loads(result.stdout) == json.loads(said)
    with redirect_stdout(io.StringIO()) as spoken:
        exec(compile(made["python"], "lines", "exec"), {})  # noqa: S102
    assert repr(trueness.prevalence(panel, labelled="random")) in spoken.getvalue()


@pytest.fixture(scope="module")
def verdicts(tmp_path_factory):
    """Answers of two systems, judged by two judges; people looked at some."""
    rng, rows = np.random.default_rng(1), []
    for system, share in (("A", 0.7), ("it's B", 0.6)):
        for k in range(120):
            truth, seen = rng.random() < share, rng.random() < 0.5
            label = ("yes" if truth else "no") if seen else None
            for judge in ("j1", "it's j2"):
                said = truth if rng.random() < 0.85 else not truth
                word = "pass" if said else "fail"
                rows.append((f"q{k:03d}", system, judge, word, label))
    columns = ["item", "system", "judge", "said", "human"]
    path = tmp_path_factory.mktemp("judged") / "long.csv"
    pd.DataFrame(rows, columns=columns).to_csv(path, index=False)
    return path


LONG = {"file": "given", "kind": "judges", "label": "human", "verdict": "said",
        "column": "judge", "item": "item", "system": "system", "positive": "yes",
        "yes": "pass", "labelled": "random"}  # fmt: skip


def test_several_systems_in_a_table_with_a_row_per_verdict(
    verdicts, tmp_path, monkeypatch
):
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "1700000000")
    monkeypatch.chdir(tmp_path)
    address = urlencode(LONG)
    with running(verdicts) as server:
        for name in ("column", "item"):
            some = {k: v for k, v in LONG.items() if k != name}
            assert list(server.json("/check", **some)["problems"]) == [name]
        text = server.section("judges", **LONG)
        assert "Differences of the corrected rates" in text
        made = server.json("/check", **LONG)["taken"]
        page = server.ask(f"/take/report.html?{address}").text
        said = json.loads(server.ask(f"/take/report.json?{address}").text)
    words = shlex.split(made["command"])
    monkeypatch.setattr("sys.argv", words)
    result = CliRunner().invoke(app, [*words[1:], "--json"])
    assert result.exit_code == 0, result.stderr
    assert json.loads(result.stdout) == said
    assert set(said["result"]["systems"]) == {"A", "it's B"}
    assert (tmp_path / "report.html").read_text(encoding="utf-8") == page
    (tmp_path / "report.html").unlink()
    with redirect_stdout(io.StringIO()):
        exec(compile(made["python"], "lines", "exec"), {})  # noqa: S102
    mine = (tmp_path / "report.html").read_text(encoding="utf-8")
    assert mine == re.sub(r" with <code>.*?</code>", "", page, flags=re.S)


def test_the_log_of_an_evaluation_is_read(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    log = Path(__file__).parents[1] / "data" / "logs" / "inspect.eval"
    found = trueness.read_verdicts(log)
    started: list[str] = []
    monkeypatch.setattr(
        "trueness.app.server.serve", lambda file, **_: started.append(file)
    )
    result = CliRunner().invoke(app, ["app", str(log), "--no-browser"])
    assert result.exit_code == 0, result.stderr
    assert started == [str(log)]
    with running() as server:
        answer = server.ask("/upload?name=run.eval", "POST", log.read_bytes())
        where = json.loads(answer.text)["address"]
        log_page = server.ask(where).text
        assert '<option value="systems" selected>' in log_page
        assert "10 items and 10 attempts" in server.section(
            "systems", file=where.rpartition("=")[2]
        )
        page = server.ask(f"{where}&kind=judges").text
        for judge in found.judges:
            assert f'name="column" value="{judge}"' in page
        query = {"file": where.rpartition("=")[2], "label": "-", "kind": "judges"}
        made = server.json("/check", **query)
        assert made["problems"] == {}
        told = server.section("judges", **query)
    (tmp_path / "run.eval").write_bytes(log.read_bytes())
    words = shlex.split(made["taken"]["command"])
    assert [w for k, w in enumerate(words) if words[k - 1] == "--judge"] == [
        *found.judges
    ]
    result = CliRunner().invoke(app, words[1:])
    assert result.exit_code == 3  # two judges and no label: both say the same
    sentence = "the rate cannot be determined from 2 judges"
    assert sentence in told
    assert sentence in result.stderr


def test_attempts_of_systems_are_ranked_and_the_lines_give_the_same(
    tmp_path, monkeypatch, rng
):
    monkeypatch.chdir(tmp_path)
    chances = {"alpha": 0.8, "beta": 0.7, "gamma": 0.3}
    rows = [f"t{i},{m},{int(rng.random() < p)}" for m, p in chances.items()
            for i in range(60)]  # fmt: skip
    path = tmp_path / "runs.csv"
    path.write_text("\n".join(["task_id,model,passed", *rows]), encoding="utf-8")
    runs = trueness.attempts(
        trueness.scan(path), item="task_id", passed="passed", system="model"
    )
    board = trueness.leaderboard(runs)
    with running("runs.csv") as server:
        page = server.ask("/look?file=given").text
        for chosen in ("systems", "passed", "task_id", "model"):
            assert f'<option value="{chosen}" selected>' in page
        assert "group" in page.partition("could be")[2]  # what look says of columns
        told = server.section("systems", file="given")
        for name, rate in zip(board.names, board.rates, strict=True):
            assert name in told
            assert f"{rate.value:.3f} ({rate.low:.3f} to {rate.high:.3f})" in told
        taken = server.json("/check", file="given")["taken"]
        report = server.ask("/take/report.html?file=given")
        assert "Which system is better?" in report.text
        missing = server.json("/check", file="given", kind="systems", item="nowhere")
        assert "nowhere" in missing["problems"]["item"]
    result = CliRunner().invoke(app, shlex.split(taken["command"])[1:])
    assert result.exit_code == 0, result.stderr
    assert f"{board.rates[0].value:.3f}" in result.stdout
    out = subprocess.run(
        [sys.executable, "-c", taken["python"]], capture_output=True, text=True
    )
    assert out.returncode == 0, out.stderr
    assert all(name in out.stdout for name in runs)


def test_what_was_cleaned_is_said_once(tmp_path):
    lines = ["sick;risk", *["ja;61,5 %", " Nein;3 %", "nein;8 %", "JA;40 %"] * 6]
    path = tmp_path / "sent.csv"
    path.write_text("\n".join(lines), encoding="utf-8")
    with running(str(path)) as server:
        told = server.section("summary", file="given", quick="1")
    assert told.count("Cleaned:") == 1
    assert "decimal comma" in told


def test_leaves_are_shown_with_the_rule_that_the_file_has(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    frame = pd.read_csv(trueness.samples.path("leaves"))
    words = {n: f"age > {n} & <b>{n}</b>" for n in frame.leaf.unique()}
    frame["rule"] = frame.leaf.map(words)
    frame["mixed"] = np.arange(len(frame)).astype(str)
    frame.to_csv("leaves.csv", index=False)
    with running(tmp_path / "leaves.csv") as server:
        text = server.section("leaves", file="given")  # its column is called rule
        found = dict(re.findall(r"<tr><t[hd][^>]*>(\d+)<.*?(age [^<]*)<", text))
        assert found == {
            str(n): f"age &gt; {n} &amp; &lt;b&gt;{n}&lt;/b&gt;" for n in words
        }
        assert "age" not in server.section("leaves", file="given", rule="-")
        text = server.section("leaves", file="given", rule="mixed")
        assert "Rule must say the same in all rows of a leaf" in text
        problems = server.json("/check", file="given", rule="nobody")["problems"]
        assert "no column" in problems["rule"]
        made = server.json("/check", file="given")["taken"]
    result = CliRunner().invoke(app, [*shlex.split(made["command"])[1:], "--json"])
    assert result.exit_code == 0, result.stderr
    told = json.loads(result.stdout)["result"]["leaves"]
    assert {int(x["node"]): x["rule"] for x in told} == words
    with redirect_stdout(io.StringIO()) as spoken:
        exec(compile(made["python"], "lines", "exec"), {})  # noqa: S102
    assert all(w in spoken.getvalue() for w in words.values())


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


def lines(served, **more):
    return served.json("/check", **DATA, **more)["taken"]


WANTED = {
    "subject_to": ["recall >= 0.7", "fpr <= 0.6"],
    "cost_fp": 1,
    "cost_fn": 4,
    "by": "site",
    "calibrate": "platt",
    "half_width": 0.03,
    "classifier": "b",
}


def test_the_report_is_that_of_the_command_which_is_shown(
    served, small, tmp_path, monkeypatch
):
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "1700000000")
    command = lines(served, **WANTED)["command"]
    page = taken(served, "report.html", **WANTED)
    said = json.loads(taken(served, "report.json", **WANTED))
    words = shlex.split(command)
    assert words[:3] == ["trueness", "report", str(small)]
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("sys.argv", words)
    result = CliRunner().invoke(app, [*words[1:], "--json"])
    assert result.exit_code == 0, result.stderr
    assert (tmp_path / "report.html").read_text(encoding="utf-8") == page
    assert json.loads(result.stdout) == said


def taken(served, name, **more):
    answer = served.ask(f"/take/{name}?{urlencode({**DATA, **more}, doseq=True)}")
    assert answer.status == 200, answer.text
    assert f'filename="{name}"' in answer.headers["content-disposition"]
    return answer.text


def test_the_python_lines_give_the_same(served, panel, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    code = lines(served, **WANTED)["python"]
    spoken = io.StringIO()
    with redirect_stdout(spoken):
        exec(compile(code, "lines", "exec"), {"__name__": "lines"})  # noqa: S102
    best = trueness.best_threshold(
        panel["b"],
        minimize="cost(fp=1, fn=4)",
        subject_to=["recall >= 0.7", "fpr <= 0.6"],
    )
    assert repr(best) in spoken.getvalue()
    text = (tmp_path / "report.html").read_text(encoding="utf-8")
    assert "Does it hold in every group?" in text
    assert "calibrated by the method platt" in text


@pytest.mark.parametrize("file", ["sample:hiv", "sample:leaves"])
def test_lines_of_tests_and_leaves_run(served, file, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    made = served.json("/check", file=file)["taken"]
    result = CliRunner().invoke(app, shlex.split(made["command"])[1:])
    assert result.exit_code == 0, result.stderr
    with redirect_stdout(io.StringIO()) as spoken:
        exec(compile(made["python"], "lines", "exec"), {})  # noqa: S102
    assert spoken.getvalue()


def test_the_map_and_its_command(served, panel, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    text = taken(served, "map.json", calibrate="beta", classifier="b")
    line = lines(served, calibrate="beta", classifier="b")["calibrate"]
    result = CliRunner().invoke(app, shlex.split(line)[1:])
    assert result.exit_code == 0, result.stderr
    saved = trueness.load_map(tmp_path / "map.json")
    (tmp_path / "taken.json").write_text(text)
    mine = trueness.load_map(tmp_path / "taken.json")
    np.testing.assert_array_equal(mine(panel["b"].score), saved(panel["b"].score))


def test_another_combiner_and_its_file(served, panel, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    found = trueness.compare_combiners(panel, rng=0)
    for chosen in ("", "mean-score"):
        text = served.section("ensembles", **DATA, combine=chosen)
        assert "A combination is not shown to be better" in text
        assert f"{found.auc[chosen or 'fidel'].value:.3f}" in text
        mine = taken(served, "combiner.json", combine=chosen)
        made = lines(served, combine=chosen)
        result = CliRunner().invoke(app, shlex.split(made["combine"])[1:])
        assert result.exit_code == 0, result.stderr
        assert (tmp_path / "combiner.json").read_text() == mine
        (tmp_path / "combiner.json").unlink()
        with redirect_stdout(io.StringIO()):
            exec(compile(made["python"], "lines", "exec"), {})  # noqa: S102
        assert (tmp_path / "combiner.json").read_text() == mine
        assert (tmp_path / "map.json").read_text() == taken(served, "map.json")
    assert "combine" in served.json("/check", **DATA, combine="magic")["problems"]
    alone = {**DATA, "column": "a"}
    assert served.json("/check", **alone)["taken"]["combine"] == ""
    assert served.ask(f"/take/combiner.json?{urlencode(alone)}").status == 404


ALL_OF_IT = {
    "subject_to": ["defer <= 0.2", "recall_gap <= 0.1", "recall >= 0.5"],
    "prevalence": "0.2:0.6",
    "by": "site",
    "classifier": "a",
}


def test_two_cuts_groups_and_a_range_of_prevalences(
    served, panel, small, tmp_path, monkeypatch
):
    one, limit = panel["a"], "recall >= 0.5"
    zones = trueness.best_thresholds(
        one, minimize="cost(fp=1, fn=1.5)", subject_to=["defer <= 0.2", limit]
    )
    text = served.section("zones", **DATA, **ALL_OF_IT)
    assert escape(zone_sentences(zones)[0]) in text
    point = trueness.best_threshold(
        one, "youden", subject_to=limit, prevalences=(0.2, 0.6)
    )
    text = served.section("prevalence", **DATA, **ALL_OF_IT)
    assert escape(prevalence_sentences(point)[0]) in text
    by = trueness.tally(pd.read_csv(small), label="y", score="a", by="site")
    cuts = trueness.group_thresholds(
        by, maximize="youden", subject_to=[limit, "recall_gap <= 0.1"]
    )
    text = served.section("group-cuts", **DATA, **ALL_OF_IT)
    assert escape(group_sentences(cuts)[0]) in text
    # where nobody asked, the page says how one would
    for key in ("zones", "prevalence", "group-cuts"):
        assert "data-asks" in served.section(key, **DATA, by="site")
    # and all of it is in the report, by the command and by Python
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "1700000000")
    monkeypatch.chdir(tmp_path)
    made, page = lines(served, **ALL_OF_IT), taken(served, "report.html", **ALL_OF_IT)
    words = shlex.split(made["command"])
    monkeypatch.setattr("sys.argv", words)
    result = CliRunner().invoke(app, words[1:])
    assert result.exit_code == 0, result.stderr
    assert (tmp_path / "report.html").read_text(encoding="utf-8") == page
    with redirect_stdout(io.StringIO()) as spoken:
        exec(compile(made["python"], "lines", "exec"), {})  # noqa: S102
    for found in (zones, cuts, point):
        assert repr(found) in spoken.getvalue()
    assert (tmp_path / "report.html").read_text(encoding="utf-8").count("<h2") == (
        page.count("<h2")
    )


def test_what_cannot_be_met_is_told_at_its_field(served):
    # counts, also where the section is remembered and its counts are not
    served.json("/at", **DATA, model=models(served)[0]["index"], at=0)
    limits = ["precision >= 0.3", "recall >= 0.99", "fpr <= 0.01"]
    found = served.json("/check", **DATA, subject_to=limits, unmet=1)
    assert found["problems"] == {}
    assert list(found["unmet"]) == ["subject_to_2"]
    assert "cannot be met together" in found["unmet"]["subject_to_2"]
    assert served.json("/check", **DATA, subject_to=limits[:2], unmet=1)["unmet"] == {}
    told = served.json("/check", **DATA, subject_to="defer <= -1", unmet=1)
    assert "subject_to_0" in told["unmet"]
    told = served.json("/check", **DATA, subject_to="recall_gap <= 0.1")["problems"]
    assert told["subject_to_0"].endswith("Choose it under Groups.")
    told = served.json("/check", **DATA, prevalence="0.5:0.1")["problems"]
    assert "prevalence" in told


@pytest.mark.parametrize("kind", ["csv", "parquet"])
def test_flagged_rows_are_those_that_reach_the_threshold(served, small, kind, tmp_path):
    query = urlencode({**DATA, "cut": 0.623, "classifier": "b"}, doseq=True)
    line = http.client.HTTPConnection(served.host, served.port)
    cookie = {"Cookie": f"trueness_{served.port}={served.token}"}
    line.request("GET", f"/take/flagged.{kind}?{query}", headers=cookie)
    body = line.getresponse().read()
    line.close()
    frame = pd.read_csv(small)
    read = pd.read_csv if kind == "csv" else pd.read_parquet
    found = read(io.BytesIO(body)).sort_values(["a", "b", "y", "site"])
    want = frame[frame.b >= 0.623].sort_values(["a", "b", "y", "site"])
    pd.testing.assert_frame_equal(
        found.reset_index(drop=True), want.reset_index(drop=True), check_dtype=False
    )
    assert 0 < len(want) < len(frame)


def test_figures_are_files_of_their_own(served):
    text = taken(served, "threshold-0.svg")
    assert text.startswith("<svg xmlns=")
    assert "var(--" not in text
    assert '<rect width="360" height="364" fill="#ffffff"/>' in text
    names = re.findall(r'<text class="name" x="92" y="\d+">([^<]*)</text>', text)
    assert names == ["a", "b"]
    assert taken(served, "ranking-1.png")[1:4] == "PNG"
    assert served.ask("/take/ranking-9.svg?file=given").status == 404


def test_hostile_columns_are_text_everywhere(tmp_path):
    names = ['"; DROP TABLE x; --', "<img src=x onerror=alert(1)>", "--score", "a'b"]
    rng = np.random.default_rng(0)
    y = np.arange(60) % 2
    frame = pd.DataFrame({n: np.round(rng.random(60) + y, 2) for n in names})
    frame["label"] = y
    path = tmp_path / "<b>hostile' name.csv"
    frame.to_csv(path, index=False)
    with running(path) as server:
        query = {"file": "given", "column": names, "label": "label"}
        page = server.ask("/look?file=given").text
        assert "<img" not in page
        assert "<b>" not in page
        text = server.section("threshold", quick=1, **query)
        assert "<img" not in text
        made = server.json("/check", **query)["taken"]
        words = shlex.split(made["command"])
        result = CliRunner().invoke(app, [*words[1:-1], str(tmp_path / "report.html")])
        assert result.exit_code == 0, result.stderr
        flagged = server.ask(
            "/take/flagged.csv?file=given&label=label&cut=0.5"
            "&column=%22%3B+DROP+TABLE+x%3B+--"
        )
        assert flagged.status == 200


NAMES = ["-x", "it's \"q\" $(touch pwned) `touch pwned`", "*", "<script>x</script>",
         "new\nline", "\u00fcn\u00ef", "a,b"]  # fmt: skip


def test_hostile_names_come_through_a_real_shell(tmp_path, monkeypatch):
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "1700000000")
    monkeypatch.chdir(tmp_path)
    rng, y = np.random.default_rng(0), np.arange(80) % 2
    frame = pd.DataFrame({n: np.round(rng.random(80) + y / 2, 2) for n in NAMES})
    frame["it is 'y'"] = y
    name = "-[1]*? 'a' \"b\" $(touch pwned);\n<b>.csv"
    frame.to_csv(name, index=False)
    query = {"file": "given", "label": "it is 'y'", "column": NAMES[:2],
             "classifier": NAMES[1]}  # fmt: skip
    with running(name) as server:
        made = server.json("/check", **query)["taken"]
        address = urlencode(query, doseq=True)
        page = server.ask(f"/take/report.html?{address}").text
        mine = {n: server.ask(f"/take/{n}?{address}").text
                for n in ("map.json", "combiner.json")}  # fmt: skip
        flagged = server.json("/at", **query, at=3)["flagged"]
    (tmp_path / "trueness").write_text(
        f'#!/bin/sh\nexec {shlex.quote(sys.executable)} -m trueness "$@"\n'
    )
    (tmp_path / "trueness").chmod(0o755)
    source = str(Path(trueness.__file__).parents[1])
    environment = {**os.environ, "PYTHONPATH": source,
                   "PATH": f"{tmp_path}{os.pathsep}{os.environ['PATH']}"}  # fmt: skip
    script = "\n".join(made[k] for k in ("command", "calibrate", "combine"))
    subprocess.run(["bash", "-ec", script], env=environment, check=True)
    assert (tmp_path / "report.html").read_text(encoding="utf-8") == page
    for file, text in mine.items():
        ours, theirs = (map_from_json(t)
                        for t in (text, (tmp_path / file).read_text()))  # fmt: skip
        assert type(ours) is type(theirs)
    with redirect_stdout(io.StringIO()):
        exec(compile(made["python"], "lines", "exec"), {})  # noqa: S102
    cut = float(flagged.rpartition(">= ")[2].rstrip("')"))
    rows = eval(flagged, {"trueness": trueness}).df()  # noqa: S307
    assert len(rows) == (frame[NAMES[1]] >= cut).sum()
    assert not (tmp_path / "pwned").exists()


def test_a_large_file_is_counted_in_bins_with_bounded_memory(small, monkeypatch, panel):
    monkeypatch.setattr(session, "MOST_ROWS", 100)
    monkeypatch.setattr(session, "BINS", 50)
    with running(small) as server:
        page = server.ask("/look?file=given").text
        assert 'data-section="scale"' in page
        assert 'data-section="comparison"' not in page
        text = server.section("scale", **DATA)
        assert "bins" in text
        found = models(server)
        assert {m["size"] for m in found} <= set(range(10, 60))
        assert "AUC" in server.section("summary", **DATA)
        report = server.ask("/take/report.html?file=given")
        assert report.status == 200


def test_a_database_with_several_tables(tmp_path):
    import duckdb

    path = tmp_path / "preds.duckdb"
    with duckdb.connect(str(path)) as base:
        rows = "SELECT i % 2 AS y, random() AS p FROM range(50) t(i)"
        base.execute("CREATE TABLE one AS " + rows)
        base.execute("CREATE TABLE two AS " + rows)
    with running(path) as server:
        page = server.ask("/").text
        assert f"{path}::two" in page
        made = server.json("/check", file="given::two")["taken"]
        words = shlex.split(made["command"])
        assert words[2] == f"{path}::two"
        result = CliRunner().invoke(app, ["evaluate", words[2]])
        assert result.exit_code == 0, result.stderr
        assert "table='two'" in made["python"]


def test_jobs_tell_how_far_they_are_and_can_be_stopped():
    all_jobs = jobs.Jobs(lanes=1)
    begun = threading.Event()

    def endless():
        from trueness._core.progress import steps

        for _ in steps(range(10**9), "Bootstrap"):
            begun.set()
            time.sleep(0.001)

    job = all_jobs.ask("long", endless, "tab", 0)
    assert begun.wait(10)
    time.sleep(0.05)
    assert job.progress()["words"] == "Bootstrap"
    assert 0 <= job.progress()["share"] < 1
    all_jobs.stop("long")
    assert job.state == "stopped"
    # the lane is free again, and a job that fails is told
    next_one = all_jobs.ask("next", lambda: 1 / 0, "tab", 0)
    assert next_one.finished.wait(10)
    assert "ZeroDivisionError" in next_one.result
    last = all_jobs.ask("last", lambda: 7, "tab", 0)
    assert last.finished.wait(10)
    assert last.result == 7
    all_jobs.close()


def test_a_job_that_nobody_waits_for_is_stopped(monkeypatch):
    monkeypatch.setattr(jobs, "PATIENCE", 0.2)
    all_jobs = jobs.Jobs(lanes=1)
    job = all_jobs.ask("long", lambda: time.sleep(0.01) or endless_loop(), "tab", 0)
    assert job.finished.wait(10)
    assert job.state == "stopped"
    all_jobs.close()


def endless_loop():
    while True:
        time.sleep(0.001)


def test_many_questions_at_once_are_all_answered(small):
    kinds = ["scores", "judges", "tests", "leaves"]
    questions_of = [
        f"/look?file={file}&kind={kind}&label={label}&level=0.{90 + k}"
        for k in range(4)
        for file in ("given", "sample:judges")
        for kind in kinds
        for label in ("y", "human")
    ]
    with running(small) as server, ThreadPoolExecutor(16) as pool:
        answers = list(pool.map(server.ask, questions_of))
    assert [a.text for a in answers if a.status != 200] == []


def test_few_counts_stay_in_memory(small):
    workbench = Workbench(str(small))
    file = workbench.files.get("given")
    for columns in ("a", "b", "a&column=b"):
        for label in ("y",):
            query = QueryParams(f"file=given&label={label}&column={columns}")
            full, chosen = questions.complete(file, questions.read(query))
            workbench.bench.count(file, full, chosen)
    query = QueryParams("file=given&label=y&column=a&by=site")
    full, chosen = questions.complete(file, questions.read(query))
    workbench.bench.count(file, full, chosen)
    assert len(workbench.bench._counted) == session.KEPT
    workbench.close()


@pytest.mark.parametrize("place", ["*.csv", "folder"])
def test_patterns_and_folders_are_opened(small, tmp_path, place):
    folder = tmp_path / "folder"
    folder.mkdir()
    for name in ("one.csv", "two.csv"):
        (folder / name).write_bytes(small.read_bytes())
    where = folder if place == "folder" else folder / place
    with running(where) as server:
        assert "800" in server.section("summary", **DATA)


def test_a_look_up_waits_for_nobody(small, monkeypatch):
    go_on = threading.Event()
    begun = threading.Semaphore(0)

    def wait(f):
        begun.release()
        go_on.wait(60)

    monkeypatch.setitem(session.QUESTIONS, "comparison", wait)
    with running(small) as server:
        models(server)  # counts
        for more in ({}, {"quick": 1}):  # both lanes have work that does not end
            server.ask(f"/section/comparison?{urlencode(DATA | more, doseq=True)}")
            assert begun.acquire(timeout=60)
        found = server.json("/at", **DATA, at=7)
        assert not go_on.is_set()
        go_on.set()
    assert found["values"]["threshold"] is not None


def test_a_section_of_the_report_is_in_the_workbench(small, panel, monkeypatch):
    title = "How many were there?"

    def new(s):
        answer = (note("said", text=f"Just {s.data.n}."),)
        return Finding(title, {}, answer, key="many")

    monkeypatch.setitem(session.QUESTIONS, "many", new)
    monkeypatch.setitem(notes.TITLES, "many", title)
    page = trueness.report.html(panel)
    with running(small) as server:
        look = server.ask(f"/look?{urlencode(DATA, doseq=True)}").text
        shown = server.section("many", **DATA)
    assert title in page
    assert title in look
    assert f"Just {panel.n}." in page
    assert f"Just {panel.n}." in shown


def test_a_tab_that_asks_something_else_gives_up_what_it_asked_before():
    all_jobs = jobs.Jobs(lanes=1)
    first = all_jobs.ask("old", endless_loop, "tab", 0, topic="summary")
    all_jobs.ask("old", endless_loop, "other tab", 0, topic="summary")
    second = all_jobs.ask("new", lambda: 3, "tab", 0, topic="summary")
    assert first.state != "stopped"  # the other tab still waits
    all_jobs.ask("newer", lambda: 4, "other tab", 0, topic="summary")
    assert first.state == "stopped"
    assert second.finished.wait(10)
    assert second.result == 3
    all_jobs.close()
