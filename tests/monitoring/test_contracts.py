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

import shell
import trueness
from trueness import InputError
from trueness.monitoring.contracts import Contract, first_contract, read_contract
from trueness.monitoring.fields import CHOICES, FIELDS
from trueness.monitoring.requirements import KNOWN, Requirement

ROOT = Path(__file__).parents[2]
HEAD = 'label = "y"\nscore = "p"\n'
AUC = '\n[[require]]\nmetric = "auc"\nat_least = 0.7\n'
BETTER = '[[require]]\nmetric = "auc"\nnot_worse_than = "baseline"\nmargin = 0.02\n'


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
    return frame


def run(*words):
    return shell.run("check", *words)


def contract(text, name="q.toml"):
    Path(name).write_text(text)
    return name


def output_of(text, *words, code, file="new.parquet"):
    """Give what a contract says of a file, in words; with this exit code."""
    done = run(contract(text), file, *words)
    assert done.exit_code == code, done.stdout + done.stderr
    return done.stdout + done.stderr


def verdicts(text, *words, file="new.parquet"):
    done = run(contract(text), file, "--json", *words)
    return json.loads(done.stdout)["result"]["verdicts"]


def test_exit_codes(folder):
    assert "Every requirement holds" in output_of(HEAD + AUC, code=0)

    output_of(HEAD + AUC.replace("0.7", "0.97"), code=4)
    near = f"{trueness.auc(folder.y, folder.p).value - 0.002:.4f}"
    open_ = HEAD + AUC.replace("0.7", near)
    assert "more such cases would decide it" in output_of(open_, code=5)

    for word, code in (("pass", 0), ("fail", 4), ("maybe", 2)):
        output_of(open_, "--undecided", word, code=code)
    pd.DataFrame({"y": [1, 1], "p": [0.1, 0.2]}).to_csv("few.csv", index=False)
    output_of(HEAD + AUC, code=3, file="few.csv")
    folder[(folder.site == "north") | (folder.y == 0)].to_parquet("none.parquet")
    one_class = output_of(HEAD + AUC + 'by = "site"\n', code=3, file="none.parquet")
    assert "In site = south: auc needs at least one positive" in one_class


PARTIAL = HEAD + AUC.replace("auc", "partial_auc")
MISTAKES = {
    "label = 3\n" + AUC: r"line 1: label must be the name of a column",
    HEAD
    + "levle = 1\n"
    + AUC: r"line 3: there is no key 'levle'. Did you mean 'level'",
    HEAD + "level = 2\n" + AUC: r"line 3: level must be between 0.5 and 1",
    HEAD + "level = 0.3\n" + AUC: r"line 3: level must be between 0.5 and 1",
    HEAD + 'adjust = "bonferoni"\n' + AUC: r"line 3: adjust must be one of 'holm'",
    HEAD + AUC.replace("auc", "acu"): r"line 5\): There is no metric 'acu'. Did you",
    HEAD + AUC.replace("0.7", '"0.7"'): r"line 6\): at_least must be a finite number",
    HEAD + AUC.replace("at_least", "at_lest"): r"line 6\): A requirement has no field",
    HEAD + AUC.replace("0.7", "70"): r"the bound 70 is .* Write 0.7 for 70 %",
    HEAD + AUC + "at_most = 0.5\n": r"line 7\): auc cannot be at_least 0.7 and at_most",
    HEAD + AUC + AUC.replace("at_least = 0.7", "at_most = 0.6"): (
        r"requirement 2 \(line 8\): auc <= 0.6 contradicts requirement 1, auc >= 0.7"
    ),
    HEAD + AUC + "margin = 0.1\n": r"line 7\): margin goes with not_worse_than",
    HEAD + AUC + "fpr = [0, 0.1]\n": r"line 7\): fpr goes with partial_auc",
    PARTIAL + 'fpr = ["a", "b"]\n': r"line 7\): fpr must be two numbers",
    PARTIAL + "fpr = [0.3, 0.1]\n": r"line 7\): fpr must rise",
    HEAD + AUC.replace("at_least = 0.7", 'by = "site"\ngap_at_most = 10'): (
        r"line 7\): gap_at_most must be between 0 and 1.* Write 0.1 for 10 %"
    ),
    HEAD + AUC.replace("at_least = 0.7", 'not_worse_than = "old"\nmargin = 2'): (
        r"line 7\): margin must be between 0 and 1"
    ),
    HEAD + AUC.replace("auc", "positives").replace("at_least", "gap_at_most"): (
        "gap_at_most does not apply to positives, which is counted"
    ),
    HEAD + AUC.replace("[[require]]", "[require]"): r"line 4: write \[\[require\]\]",
    HEAD: "holds no requirement",
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
    for more, parts in (
        ('not_worse_than = "old"\nmargin = 0.1\n', 2),
        ('by = "site"\ngap_at_most = 0.9\n', 3),
    ):
        output_of(HEAD + strict + more, code=4)
        assert len(verdicts(HEAD + AUC + more)) == parts


def test_what_was_probably_not_meant_is_said(folder):
    twice = output_of(HEAD + AUC + AUC, code=0)
    assert "auc >= 0.7 was required 2 times; it counts once." in twice

    cut = HEAD + AUC.replace("auc", "recall") + "threshold = 30\n"
    assert "no score reaches the threshold 30" in output_of(cut, code=4)

    output_of("\ufeff" + HEAD + AUC.replace('"auc"', '" auc "'), code=0)


def test_a_saved_rule_is_found_beside_the_contract(folder):
    Path("sub").mkdir()
    trueness.Rule({"north": 0.5, "south": 0.4}).save("sub/rule.json")
    cut = AUC.replace("auc", "recall").replace("0.7", "0.3") + 'by = "site"\n'
    text = HEAD + cut + 'threshold = "rule.json"\n'
    done = run(contract(text, "sub/q.toml"), "new.parquet", "--json")
    result = {v["group"]: v for v in json.loads(done.stdout)["result"]["verdicts"]}
    flagged = folder.p >= np.where(folder.site == "north", 0.5, 0.4)

    want = flagged[folder.y == 1].groupby(folder.site).mean()

    for site in ("north", "south"):
        assert result[f"site={site}"]["value"] == pytest.approx(want[site])
    assert "There is no file rule.json" in output_of(text, code=2)


def test_columns_that_are_not_there(folder):
    wrong = output_of(HEAD.replace('"p"', '"pp"') + AUC, code=2)
    assert "has no column 'pp'" in wrong
    assert 'add label = "NAME"' in output_of(AUC, code=2)
    assert run("nothing.toml", "new.parquet").exit_code == 2


def test_groups_baselines_and_outputs(folder):
    text = (
        HEAD
        + 'key = "id"\n'
        + '[[require]]\nmetric = "recall"\nthreshold = 0.3\nat_least = 0.5\n'
        + 'by = "site"\n'
        + BETTER.replace("baseline", "old")
        + BETTER
        + '[[require]]\nmetric = "missing_scores"\nat_most = 0.1\n'
    )
    last = ("--baseline", "last.parquet")
    output_of(text, *last, "--junit", "o.xml", "--markdown", "o.md", code=0)

    assert Path("o.xml").read_text().startswith("<?xml")
    assert "## Quality: holds" in Path("o.md").read_text()

    result = verdicts(text, *last)
    assert {v["group"] for v in result} == {"", "site=north", "site=south"}

    # the baseline of another file is joined by its key: the same numbers as the column
    column, joined = (v for v in result if "not worse" in v["requirement"])
    for k in ("value", "low"):
        assert joined[k] == pytest.approx(column[k], abs=1e-12)

    in_groups = text.replace("margin = 0.02", 'margin = 0.1\nby = "site"')
    result = verdicts(in_groups, *last)
    assert sum("not worse" in v["requirement"] for v in result) == 4

    without_key = text.replace('key = "id"\n', "")
    result = verdicts(without_key, *last)
    assert sum("unpaired" in v["reason"] for v in result) == 1


def test_baselines_that_do_not_fit(folder):
    keyed = HEAD + 'key = "id"\n' + BETTER.replace("0.02", "0.1")
    last = pd.read_parquet("last.parquet")
    assert "Type --baseline" in output_of(keyed, code=2)

    without_scores = last.assign(p=last.p.where(last.id >= 80))
    for frame, code, message in (
        (last.iloc[:0], 2, "has no rows"),
        (last.iloc[:700], 0, "100 of 800 rows have no baseline score"),
        (pd.concat([last, last.iloc[:3]]), 2, "3 rows repeat a value of the key 'id'"),
        (last.drop(columns="id"), 2, "has no column 'id'"),
        (last.assign(id=last.id + 5000), 3, "No case of new.parquet has a baseline"),
        (last.assign(id="a" + last.id.astype(str)), 3, "No case of new.parquet has"),
        (last.assign(id=last.id.astype(str)), 0, "Every requirement holds"),
        (last.assign(y=1 - last.y), 2, "800 of 800 cases have a different 'y'"),
        (without_scores, 0, "80 of 800 rows have no baseline score"),
    ):
        frame.to_parquet("b.parquet")
        assert message in output_of(keyed, "--baseline", "b.parquet", code=code)

    unpaired = keyed.replace('key = "id"\n', "")
    output = output_of(unpaired, "--baseline", "b.parquet", code=0)
    assert "10.0 % of the rows of b.parquet have no score" in output

    output = output_of(unpaired.replace('"baseline"', '"odl"'), code=2)
    assert "Did you mean 'old'?" in output


def test_options_of_the_other_use_are_refused(folder):
    assert "goes with --init" in output_of(HEAD + AUC, "--label", "y", code=2)
    done = run("--init", "new.parquet", "--junit", "o.xml")
    assert done.exit_code == 2
    assert "--junit does not go with --init" in done.stderr


@pytest.mark.parametrize(
    "odd", ["none", "text", "constant", "reversed", "gaps", "perfect"]
)
def test_a_first_contract_holds_of_its_data_even_of_odd_ones(odd, folder):
    p = folder.p
    y = folder.y
    changed = {
        "none": {},
        "text": {"y": np.where(y == 1, 'si"ck', "well")},
        "constant": {"p": 0.5},
        "reversed": {"p": 1 - p},
        "gaps": {"p": p.where(folder.id % 7 > 0), "y": y.where(folder.id % 5 > 0)},
        "perfect": {"p": y * 0.8},
    }
    folder.assign(**changed[odd]).to_parquet("odd.parquet")
    words = ["--positive", 'si"ck'] if odd == "text" else []
    words = ["--init", "odd.parquet", "--label", "y", "--score", "p", *words]
    done = run(*words)

    assert done.exit_code == 0, done.stderr
    assert run("quality.toml", "odd.parquet").exit_code == 0

    text = Path("quality.toml").read_text()
    assert ("missing_scores" in text) == (odd == "gaps")
    if odd == "gaps":
        fewer = text.replace("at_most = 0.1", "at_most = 0.0")
        assert "0.14375 in this file" in output_of(fewer, code=4, file="odd.parquet")
    assert ("# The threshold" in text) == (odd not in ("constant", "reversed"))
    assert run(*words).exit_code == 2  # it exists already

    held = tomllib.loads(first_contract(trueness.tally(y, p), "y", 'a"b\x7f'))
    assert held["score"] == 'a"b\x7f'


def test_new_samples_of_the_same_model_prove_a_first_contract():
    """In 19 of 20, so in at least 52 of 60 (4 standard errors below would be 50)."""
    rng = np.random.default_rng(3)
    proved = 0

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
    for name, choices in CHOICES.items():
        assert schema["properties"][name]["enum"] == list(choices)

    required = schema["properties"]["require"]["items"]["properties"]
    assert set(required) == set(FIELDS) == {f.name for f in fields(Requirement)}
    listed = required["metric"]["anyOf"][0]["enum"]
    assert set(listed) == {*KNOWN, *trueness.METRICS}
    assert len(listed) == len(set(listed))

    for bound in (0.8, "80%"):
        good = {"label": "y", "require": [{"metric": "auc", "at_least": bound}]}
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
    told = 'echo "$# $2 $3 $5" > "$RUNNER_TEMP/said"'
    stub = f"trueness() {{ {told}; {written}; return {code}; }}\n"
    done = subprocess.run(["bash", "-e", "-c", stub + script], env=env, check=False)

    assert done.returncode == code
    assert f"verdict={verdict}\nexit-code={code}\n" in Path(env[names[0]]).read_text()

    summary = Path(env[names[1]]).read_text()
    assert summary.startswith("## Quality: " + ("new" if verdict != "error" else "not"))
    assert (tmp_path / "said").read_text() == "11 a b.toml p.csv l.csv\n"
