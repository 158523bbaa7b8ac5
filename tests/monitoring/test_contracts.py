"""Contracts: every kind of mistake with its line, the schema, the command line."""

import json
import os
import subprocess
import textwrap
import tomllib
from dataclasses import fields
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

import trueness
from trueness import InputError
from trueness.cli import app
from trueness.monitoring.contracts import (
    CHOICES,
    Contract,
    first_contract,
    read_contract,
)
from trueness.monitoring.requirements import FIELDS, KNOWN, Requirement

ROOT = Path(__file__).parents[2]
HEAD = 'label = "y"\nscore = "p"\n'
AUC = '\n[[require]]\nmetric = "auc"\nat_least = 0.7\n'


@pytest.fixture
def folder(tmp_path, monkeypatch):
    rng = np.random.default_rng(5)
    y = (rng.random(800) < 0.3).astype(int)
    p = 1 / (1 + np.exp(-(rng.normal(size=800) + 1.6 * y - 1)))
    old = np.clip(p + 0.08 * rng.normal(size=800), 0, 1)
    frame = pd.DataFrame({"y": y, "p": p, "old": old, "id": np.arange(800)})
    frame["site"] = np.where(rng.random(800) < 0.5, "north", "south")
    frame.to_parquet(tmp_path / "new.parquet")
    shuffled = frame.sample(frac=1, random_state=1)
    shuffled.assign(p=shuffled.old).to_parquet(tmp_path / "last.parquet")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def run(*words):
    return CliRunner().invoke(app, ["check", *words])


def contract(text, name="q.toml"):
    Path(name).write_text(text)
    return name


def test_it_holds_and_exits_0(folder):
    done = run(contract(HEAD + AUC), "new.parquet")
    assert done.exit_code == 0, done.stderr
    assert "Every requirement holds" in done.stdout


def test_exit_codes_of_what_fails_and_of_what_cannot_be_told(folder):
    strict = contract(HEAD + AUC.replace("0.7", "0.97"))
    assert run(strict, "new.parquet").exit_code == 4
    t = trueness.tally(pd.read_parquet("new.parquet"), label="y", score="p")
    near = f"{trueness.auc(t).value - 0.002:.4f}"
    open_ = contract(HEAD + AUC.replace("0.7", near))
    done = run(open_, "new.parquet")
    assert done.exit_code == 5
    assert "more such cases would be enough to decide" in done.stdout
    assert run(open_, "new.parquet", "--undecided", "pass").exit_code == 0
    assert run(open_, "new.parquet", "--undecided", "fail").exit_code == 4
    assert run(open_, "new.parquet", "--undecided", "maybe").exit_code == 2


def test_too_few_cases_are_exit_3(folder):
    pd.DataFrame({"y": [1, 1], "p": [0.1, 0.2]}).to_csv("few.csv", index=False)
    assert run(contract(HEAD + AUC), "few.csv").exit_code == 3


MISTAKES = {
    "label = 3\n" + AUC: r"line 1: label must be the name of a column",
    HEAD
    + "levle = 0.9\n"
    + AUC: r"line 3: there is no key 'levle'. Did you mean 'level'",
    HEAD + "level = 2\n" + AUC: r"line 3: level must be between 0.5 and 1",
    HEAD + "level = 0.3\n" + AUC: r"line 3: level must be between 0.5 and 1",
    HEAD + 'adjust = "bonferoni"\n' + AUC: r"line 3: adjust must be one of 'holm'",
    HEAD
    + AUC.replace('"auc"', '"acu"'): r"line 5\): There is no metric 'acu'. Did you",
    HEAD + AUC.replace("0.7", '"0.7"'): r"line 6\): at_least must be a finite number",
    HEAD + AUC.replace("at_least", "at_lest"): r"line 6\): A requirement has no field",
    HEAD + AUC.replace("0.7", "70"): r"the bound 70 is .* Write 0.7 for 70 %",
    HEAD + AUC + "at_most = 0.5\n": r"line 6\): auc cannot be at_least 0.7 and at_most",
    HEAD + AUC + AUC.replace("at_least", "at_most").replace("0.7", "0.6"): (
        r"requirement 2 \(line 8\): auc <= 0.6 contradicts requirement 1, auc >= 0.7"
    ),
    HEAD + AUC + "margin = 0.1\n": r"line 7\): margin goes with not_worse_than",
    HEAD + AUC + "fpr = [0, 0.1]\n": r"line 7\): fpr goes with partial_auc",
    HEAD
    + AUC.replace("auc", "partial_auc")
    + 'fpr = ["a", "b"]\n': r"line 7\): fpr must be two numbers",
    HEAD
    + AUC.replace("auc", "partial_auc")
    + "fpr = [0.3, 0.1]\n": r"line 7\): fpr must rise",
    HEAD + AUC.replace("at_least = 0.7", 'by = "site"\ngap_at_most = 10'): (
        r"line 7\): gap_at_most must be between 0 and 1.* Write 0.1 for 10 %"
    ),
    HEAD + AUC.replace("at_least = 0.7", 'not_worse_than = "old"\nmargin = 2'): (
        r"line 7\): margin must be between 0 and 1"
    ),
    HEAD + AUC.replace("auc", "positives").replace("at_least", "gap_at_most"): (
        "gap_at_most does not go with positives, which is counted"
    ),
    HEAD + AUC.replace("[[require]]", "[require]"): r"line 4: write \[\[require\]\]",
    HEAD: "requires nothing",
    HEAD + "[[require]\n": "is not TOML",
}


@pytest.mark.parametrize("text", MISTAKES)
def test_every_mistake_is_named_with_its_line(text, folder):
    path = contract(text)
    with pytest.raises(InputError, match=MISTAKES[text]):
        read_contract(path)
    assert run(path, "new.parquet").exit_code == 2


def test_every_part_of_a_requirement_is_judged(folder):
    """A bound beside a gap or a baseline was once passed over."""
    strict = AUC.replace("0.7", "0.99")
    for more in ('not_worse_than = "old"\nmargin = 0.1\n', 'by = "site"\n'):
        gap = "gap_at_most = 0.9\n" if "by" in more else ""
        assert run(contract(HEAD + strict + more + gap), "new.parquet").exit_code == 4
        held = run(contract(HEAD + AUC + more + gap), "new.parquet", "--json")
        found = json.loads(held.stdout)["result"]["verdicts"]
        assert len(found) == (3 if gap else 2)
        assert held.exit_code == 0


def test_what_was_probably_not_meant_is_said(folder):
    done = run(contract(HEAD + AUC + AUC), "new.parquet")
    assert done.exit_code == 0
    assert "auc >= 0.7 was required 2 times; it counts once." in done.stdout
    cut = AUC.replace("auc", "recall") + "threshold = 30\n"
    done = run(contract(HEAD + cut), "new.parquet")
    assert done.exit_code == 4
    assert "no score reaches the threshold 30" in done.stdout
    mark = contract("\ufeff" + HEAD + AUC.replace('"auc"', '" auc "'))
    assert run(mark, "new.parquet").exit_code == 0


def test_a_saved_rule_is_found_beside_the_contract(folder):
    (folder / "sub").mkdir()
    trueness.Rule({"north": 0.5, "south": 0.4}).save("sub/rule.json")
    cut = AUC.replace("auc", "recall").replace("0.7", "0.3") + 'by = "site"\n'
    text = HEAD + cut + 'threshold = "rule.json"\n'
    done = run(contract(text, "sub/q.toml"), "new.parquet", "--json")
    found = {v["group"]: v for v in json.loads(done.stdout)["result"]["verdicts"]}
    d = pd.read_parquet("new.parquet")
    flagged = (d.p >= np.where(d.site == "north", 0.5, 0.4))[d.y == 1]
    for site in ("north", "south"):
        want = flagged[d.site == site].mean()
        assert found[f"site={site}"]["value"] == pytest.approx(want)
    done = run(contract(text), "new.parquet")
    assert done.exit_code == 2
    assert "There is no file rule.json" in done.stderr


def test_a_group_without_positives_is_named(folder):
    frame = pd.read_parquet("new.parquet")
    frame[(frame.site == "north") | (frame.y == 0)].to_parquet("none.parquet")
    done = run(contract(HEAD + AUC + 'by = "site"\n'), "none.parquet")
    assert done.exit_code == 3
    assert "In site = south: auc needs at least one positive" in done.stderr


def test_columns_that_are_not_there(folder):
    done = run(contract(HEAD.replace('"p"', '"pp"') + AUC), "new.parquet")
    assert done.exit_code == 2
    assert "has no column 'pp'" in done.stderr
    done = run(contract(AUC), "new.parquet")
    assert 'add label = "NAME"' in done.stderr
    assert run("nothing.toml", "new.parquet").exit_code == 2


def test_groups_baselines_and_outputs(folder):
    text = (
        HEAD
        + 'key = "id"\n'
        + '[[require]]\nmetric = "recall"\nthreshold = 0.3\nat_least = 0.5\n'
        + 'by = "site"\n'
        + '[[require]]\nmetric = "auc"\nnot_worse_than = "old"\nmargin = 0.02\n'
        + '[[require]]\nmetric = "auc"\nnot_worse_than = "baseline"\nmargin = 0.02\n'
        + '[[require]]\nmetric = "missing_scores"\nat_most = 0.1\n'
    )
    words = ["--json", "--junit", "o.xml", "--markdown", "o.md"]
    done = run(contract(text), "new.parquet", "--baseline", "last.parquet", *words)
    assert done.exit_code == 0, done.stdout + done.stderr
    found = json.loads(done.stdout)["result"]["verdicts"]
    assert {v["group"] for v in found} == {"", "site=north", "site=south"}
    # the baseline of another file is joined by its key: the same numbers as the column
    column, joined = (v for v in found if "not worse" in v["requirement"])
    assert joined["value"] == pytest.approx(column["value"], abs=1e-12)
    assert joined["low"] == pytest.approx(column["low"], abs=1e-12)
    assert Path("o.xml").read_text().startswith("<?xml")
    assert "## Quality: holds" in Path("o.md").read_text()
    by = contract(text.replace("margin = 0.02", 'margin = 0.1\nby = "site"'), "by.toml")
    done = run(by, "new.parquet", "--baseline", "last.parquet", "--json")
    found = json.loads(done.stdout)["result"]["verdicts"]
    assert sum("not worse" in v["requirement"] for v in found) == 4
    alone = contract(text.replace('key = "id"\n', ""))
    apart = run(alone, "new.parquet", "--baseline", "last.parquet", "--json")
    reasons = [v["reason"] for v in json.loads(apart.stdout)["result"]["verdicts"]]
    assert sum("unpaired" in r for r in reasons) == 1


def test_a_baseline_is_paired_case_by_case_or_not_at_all(folder):
    better = '[[require]]\nmetric = "auc"\nnot_worse_than = "baseline"\nmargin = 0.02\n'
    path = contract(HEAD + 'key = "id"\n' + better)
    none = run(path, "new.parquet")
    assert none.exit_code == 2
    assert "Type --baseline" in none.stderr
    last = pd.read_parquet("last.parquet")
    last.iloc[:700].to_parquet("some.parquet")
    done = run(path, "new.parquet", "--baseline", "some.parquet")
    assert "100 of 800 rows have no baseline score" in done.stderr
    pd.concat([last, last.iloc[:3]]).to_parquet("twice.parquet")
    twice = run(path, "new.parquet", "--baseline", "twice.parquet")
    assert twice.exit_code == 2
    assert "3 rows repeat a value of the key 'id'" in twice.stderr


def test_baselines_that_do_not_fit(folder):
    better = '[[require]]\nmetric = "auc"\nnot_worse_than = "baseline"\nmargin = 0.1\n'
    path, last = (
        contract(HEAD + 'key = "id"\n' + better),
        pd.read_parquet("last.parquet"),
    )

    def against(frame, code, words, contract=path):
        frame.to_parquet("b.parquet")
        done = run(contract, "new.parquet", "--baseline", "b.parquet")
        assert done.exit_code == code, done.stderr
        assert words in done.stderr + done.stdout

    against(last.iloc[:0], 2, "has no rows")
    against(last.drop(columns="id"), 2, "has no column 'id'")
    against(last.assign(id=last.id + 5000), 3, "No case of new.parquet has a baseline")
    against(last.assign(id="a" + last.id.astype(str)), 3, "No case of new.parquet has")
    against(last.assign(id=last.id.astype(str)), 0, "Every requirement holds")
    against(last.assign(y=1 - last.y), 2, "800 of 800 cases have another 'y'")
    gone = last.assign(p=last.p.where(last.id >= 80))
    against(gone, 0, "80 of 800 rows have no baseline score")
    apart = contract(HEAD + better, "apart.toml")
    against(gone, 0, "10.0 % of the rows of b.parquet have no score", apart)
    none = run(
        contract(HEAD + better.replace('"baseline"', '"odl"'), "n.toml"), "new.parquet"
    )
    assert "Did you mean 'old'?" in none.stderr


def test_options_of_the_other_use_are_refused(folder):
    q = contract(HEAD + AUC)
    assert "goes with --init" in run(q, "new.parquet", "--label", "y").stderr
    done = run("--init", "new.parquet", "--junit", "o.xml")
    assert done.exit_code == 2
    assert "--junit does not go with --init" in done.stderr


@pytest.mark.parametrize("odd", ["text", "constant", "reversed", "gaps", "perfect"])
def test_a_first_contract_of_odd_data_holds(odd, folder):
    frame = pd.read_parquet("new.parquet")
    p, y = frame.p, frame.y
    changed = {
        "text": {"y": np.where(y == 1, 'si"ck', "well")},
        "constant": {"p": 0.5},
        "reversed": {"p": 1 - p},
        "gaps": {"p": p.where(frame.id % 7 > 0), "y": y.where(frame.id % 5 > 0)},
        "perfect": {"p": y * 0.8},
    }
    frame.assign(**changed[odd]).to_parquet("odd.parquet")
    words = ["--positive", 'si"ck'] if odd == "text" else []
    done = run("--init", "odd.parquet", "--label", "y", "--score", "p", *words)
    assert done.exit_code == 0, done.stderr
    assert run("quality.toml", "odd.parquet").exit_code == 0
    text = Path("quality.toml").read_text()
    assert ("missing_scores" in text) == (odd == "gaps")
    assert ("threshold" in text) == (odd not in ("constant", "reversed"))


def test_missing_scores_are_counted_and_left_out(folder):
    frame = pd.read_parquet("new.parquet")
    frame.loc[:79, "p"] = np.nan
    frame.to_parquet("gaps.parquet")
    rule = '\n[[require]]\nmetric = "missing_scores"\nat_most = 0.05\n'
    done = run(contract(HEAD + AUC + rule), "gaps.parquet")
    assert done.exit_code == 4
    assert "0.1 in this file" in done.stdout


def test_init_writes_a_contract_that_its_data_meet(folder):
    done = run(
        "--init", "new.parquet", "--label", "y", "--score", "p", "-o", "first.toml"
    )
    assert done.exit_code == 0, done.stderr
    assert run("first.toml", "new.parquet").exit_code == 0
    again = run(
        "--init", "new.parquet", "--label", "y", "--score", "p", "-o", "first.toml"
    )
    assert again.exit_code == 2
    t = trueness.tally(pd.read_parquet("new.parquet"), label="y", score="p")
    assert 'score = "a\\"b"' in first_contract(t, "y", 'a"b')
    assert "# The threshold" in Path("first.toml").read_text()


def test_new_samples_of_the_same_model_prove_a_first_contract():
    """In 19 of 20, so in at least 52 of 60 (4 standard errors below would be 50)."""
    rng, proved = np.random.default_rng(3), 0

    def sample():
        y = (rng.random(400) < 0.3).astype(int)
        return trueness.tally(y, rng.normal(size=400) + 1.5 * y, positive=1)

    for _ in range(60):
        rules = tomllib.loads(first_contract(sample(), "y", "p"))["require"]
        proved += trueness.check(sample(), rules).verdict == "holds"
    assert proved >= 52


def test_the_schema_has_every_key_and_every_metric():
    jsonschema = pytest.importorskip("jsonschema")
    schema = json.loads((ROOT / "docs" / "contract.schema.json").read_text())
    jsonschema.Draft202012Validator.check_schema(schema)
    keys = {f.name for f in fields(Contract)} - {"requirements", "path"}
    assert set(schema["properties"]) == {*keys, "require"}
    for name, words in CHOICES.items():
        assert schema["properties"][name]["enum"] == list(words)
    required = schema["properties"]["require"]["items"]["properties"]
    assert set(required) == set(FIELDS) == {f.name for f in fields(Requirement)}
    known = required["metric"]["anyOf"][0]["enum"]
    assert known == [*KNOWN, *trueness.METRICS]
    good = {"label": "y", "require": [{"metric": "auc", "at_least": 0.8}]}
    jsonschema.validate(good, schema)
    for bad in ({"require": []}, {**good, "lable": "y"}, {"require": [{"metric": 3}]}):
        with pytest.raises(jsonschema.ValidationError):
            jsonschema.validate(bad, schema)


@pytest.mark.parametrize(
    ("code", "verdict"),
    [(0, "holds"), (4, "fails"), (5, "cannot tell yet"), (2, "error"), (3, "error")],
)
def test_the_action_passes_on_what_the_command_says(code, verdict, tmp_path):
    """Its shell script, with a command that only writes a summary and ends so."""
    text = (ROOT / "action.yml").read_text()
    script = textwrap.dedent(text[text.rindex("run: |") + len("run: |") :])
    names = ("GITHUB_OUTPUT", "GITHUB_STEP_SUMMARY")
    env = {k: str(tmp_path / k) for k in names} | {"RUNNER_TEMP": str(tmp_path)}
    env |= {"CONTRACT": "a b.toml", "PREDICTIONS": "p.csv", "BASELINE": "l.csv"}
    env |= {"UNDECIDED": "report", "PATH": os.environ["PATH"]}
    (tmp_path / "trueness-check.md").write_text("of an earlier step")
    written = 'echo "## Quality: new" > "${@: -1}"' if code in (0, 4, 5) else ":"
    said = 'echo "$# $2 $3 $5" > "$RUNNER_TEMP/said"'
    stub = f"trueness() {{ {said}; {written}; return {code}; }}\n"
    done = subprocess.run(["bash", "-e", "-c", stub + script], env=env, check=False)
    assert done.returncode == code
    assert f"verdict={verdict}\nexit-code={code}\n" in Path(env[names[0]]).read_text()
    summary = Path(env[names[1]]).read_text()
    assert summary.startswith("## Quality: " + ("new" if verdict != "error" else "not"))
    assert (tmp_path / "said").read_text() == "11 a b.toml p.csv l.csv\n"
