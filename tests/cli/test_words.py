"""What people see: plain words, no retired ones, no Python in a shell."""

import bz2
import json
import re
import subprocess
import sys
from pathlib import Path

import pandas as pd
import pytest

import trueness
from retired import RETIRED
from shell import PYTHON, SOURCE, answer, run
from trueness.cli import COMMANDS

ROWS = "y,p,q\n" + "1,0.9,0.7\n1,0.8,0.9\n0,0.5,0.1\n1,0.5,0.6\n0,0.2,0.3\n" * 4


@pytest.fixture
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("data.csv").write_text(ROWS)
    votes = ["positive", "negative", "positive", "negative", "negative"] * 8
    other = ["positive", "negative", "negative", "negative", "positive"] * 8
    pd.DataFrame({"a": votes, "b": other, "c": votes}).to_csv("votes.csv", index=False)
    return tmp_path


def test_the_foot_of_a_report_has_date_and_version_and_no_flag_stands_in_it(
    here, monkeypatch
):
    words = ["report", "data.csv", "-l", "y", "-s", "p", "-o", "a b.html"]
    monkeypatch.setattr(sys, "argv", ["trueness", *words])
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "1700000000")
    assert run(*words).exit_code == 0
    foot = Path("a b.html").read_text().partition("<footer>")[2]
    assert "2023-11-14" in foot
    assert f"Trueness {trueness.__version__}" in foot
    page = Path("a b.html").read_text()
    # a report goes to people who type nothing
    assert "--" not in re.sub(
        r"<(style|script).*?</\1>|<svg.*?</svg>", "", page, flags=re.S
    )
    assert "No costs were given" in page


def test_verdicts_may_be_words(here):
    words = ["nogold", "votes.csv", "--vote", "a", "--vote", "b", "--vote", "c"]
    result = run(*words)
    assert result.exit_code == 2
    assert "or --yes positive" in result.stderr
    result = run(*words, "--yes", "positve")
    assert result.exit_code == 2
    assert "no test has the verdict 'positve'" in result.stderr
    result = run(*words, "--yes", "positive", "--draws", "300", "--json")
    assert result.exit_code == 0, result.stderr
    frame = (pd.read_csv("votes.csv") == "positive").astype(int)
    frame.to_csv("votes.csv", index=False)
    assert run(*words, "--draws", "300", "--json").stdout == result.stdout
    frame.astype(str).replace({"1": "x", "0": "y"}).to_csv("votes.csv", index=False)
    report = ["report", *words[1:], "-o", "r.html", "--yes", "x"]
    assert run(*report).exit_code == 0


def test_yes_and_no_may_be_read_as_truth_values(here):
    frame = pd.read_csv("votes.csv") == "positive"
    frame.replace({True: "yes", False: "no"}).to_csv("votes.csv", index=False)
    words = ["nogold", "votes.csv", "--vote", "a", "--vote", "b", "--draws", "300"]
    assert answer(*words, "--yes", "yes") == answer(*words)


def test_a_pipe_is_read_like_a_file(here):
    line = f"{sys.executable} -m trueness evaluate <(cat data.csv) -l y -s p"
    done = subprocess.run(
        ["bash", "-c", line],
        env={"PYTHONPATH": str(SOURCE), "PATH": "/usr/bin:/bin"},
        capture_output=True,
        text=True,
    )
    assert done.stdout == run("evaluate", "data.csv", "-l", "y", "-s", "p").stdout


def test_what_is_no_data_is_never_suggested(here):
    Path("fraud.xlsx").write_bytes(b"PK")
    Path("fraud.json").write_text('{"format": "trueness map", "version": 1}')
    Path("fraud.txt").write_text("Notes on fraud\n")
    Path("fraud.py").write_text("import fraud\n")
    Path("fraud.parquet").write_bytes(b"")
    Path("fraud.d").mkdir()
    assert "Did you mean" not in run("evaluate", "fraud.cvs").stderr
    Path("fraud.csv").write_text(ROWS)
    assert "Did you mean 'fraud.csv'?" in run("evaluate", "fraud.cvs").stderr


def test_a_comma_that_could_be_either_is_asked_for(here):
    text = "y;p\n1;1,234\n0;1,100\n1;2,500\n0;1,000\n"
    Path("data.csv").write_text(text)
    words = ("evaluate", "data.csv", "-l", "y", "-s", "p", "--json")
    assert "--decimal ," in run(*words).stderr
    told = json.loads(run(*words, "--decimal", ",").stdout)
    Path("points.csv").write_text(text.replace(",", "."))
    points = json.loads(run("evaluate", "points.csv", *words[2:]).stdout)
    assert told["result"] == points["result"]
    piped = run("evaluate", "-", *words[2:], "--decimal", ",", text=text)
    assert json.loads(piped.stdout)["result"] == points["result"]
    assert "decimal must be" in run(*words, "--decimal", ";").stderr


def test_quiet_says_the_answer_and_nothing_else(here):
    loud = run("evaluate", "data.csv", "-s", "p")
    assert "Using label 'y'" in loud.stderr
    quiet = run("evaluate", "data.csv", "-s", "p", "--quiet")
    assert (quiet.stdout, quiet.stderr) == (loud.stdout, "")
    wrong = run("evaluate", "data.csv", "-s", "nix", "-q")
    assert wrong.exit_code == 2
    assert wrong.stderr.startswith("Error: ")


def test_every_command_has_help_in_plain_words():
    for name in [*COMMANDS, "plan auc", "plan leaf"]:
        text = run(*name.split(), "--help").stdout
        for word, better in RETIRED.items():
            assert not re.search(rf"\b{word}\b", text), f"{name}: {better}"


def test_a_threshold_of_my_own_is_evaluated(here):
    words = ["threshold", "data.csv", "-l", "y", "-s", "p", "--at", "0.5"]
    found = json.loads(run(*words, "--json").stdout)["result"]
    assert (found["threshold"], found["method"]) == (0.5, "given")
    assert found["confusion"] == {"tp": 12, "fp": 4, "fn": 0, "tn": 4}
    expected = trueness.at_threshold(
        pd.read_csv("data.csv"), label="y", score="p", threshold=0.5
    )
    assert found["estimates"]["precision"]["low"] == expected["precision"].low
    assert "0.75" in run(*words).stdout
    wrong = run(*words, "--maximize", "f1")
    assert wrong.exit_code == 2
    assert "With a given threshold" in wrong.stderr


def test_a_requirement_is_read_to_its_end(here):
    long = "a_long_name_of_a_column_with_scores"
    frame = pd.read_csv("data.csv").rename(columns={"q": long})
    frame.to_csv("data.csv", index=False)
    rule = f"metric = 'auc'\nnot_worse_than = '{long}'\nmargin = 0.123456\n"
    Path("quality.toml").write_text(f"label = 'y'\nscore = 'p'\n[[require]]\n{rule}")
    text = run("check", "quality.toml", "data.csv").stdout
    assert f"auc not worse than {long} by more than 0.123456" in text


def test_notes_of_an_answer_speak_the_language_of_the_shell(here):
    words = "nogold votes.csv --vote a --vote b --yes positive --draws 300"
    told = answer(*words.split())
    notes = [*told["sentences"], *told["result"]["notes"]]
    assert any("Not identified" in note for note in notes)
    assert not any(PYTHON.search(note) for note in notes)


VOTES = "a,b,c,human\n" + "1,1,0,1\n1,0,1,\n0,0,0,\n0,0,0,0\n0,1,0,\n" * 30
MISSING = ROWS.replace("0.8,", ",")
NUMBERED = "key,y,p\n" + "".join(f"{k},{k % 2},0.{k % 7 + 1}\n" for k in range(30))
WORD = "y,a\n" + "0,0.2\n" * 9 + "1,0.5\n" * 10 + "1,bad\n"
GRADES = "y,p\n" + "0,0.1\n1,0.3\n3,0.7\n" * 5
FLOATS = "sick,p\n" + "1.0,0.7\n0.0,0.2\n1.0,0.2\n0.0,0.1\n" * 5 + ",0.4\n"
RARE = "y,p\n1,0.3\n" + "0,0.9\n0,0.1\n" * 20
GERMAN = "y;p\n" + "yes;0,9\nno;0,2\nno;0,5\n" * 5
EQUAL = ROWS.replace("\n", ",2\n").replace("q,2", "q,w", 1)
# a file, what is asked of it, and words that are said; "not:" before those that are not
ADVICE = {
    "nothing flagged": (RARE, "threshold --maximize accuracy --validate", "At this "
                        "threshold nothing is flagged|not:expect|not:on new cases"),
    "a comma": (GERMAN, "evaluate", "Cleaned: The comma was read as the decimal sign. "
                "Column 'y': 'yes', 'no' read as true and false."),
    "strict": (GERMAN, "evaluate --strict", "With --strict nothing is cleaned"),
    "equal weights": (EQUAL, "evaluate -l y -s p --weight w", "weight of 40|not:carry"),
    "per cent": (ROWS, "evaluate -l y -s p --level 90%", "90 % confidence"),
    "no labels": (VOTES, "judge --judge a --judge b --judge c", "These verdicts alone "
                  "do not determine|not:Not identified|not:There are no labels"),
    "labels to plan": ("", "plan labels --half-width 5% --judges 3",
                       "random labels estimates the rate to within|3 judges"),
    "some labels": (VOTES, "nogold --draws 300 --label human", "for 60 it is known"),
    "labels of a few": (VOTES, "judge", "Using label 'human'|Choose --labelled "
                        "from random|not:--dependence"),
    "votes": (VOTES, "nogold --draws 300", "type --label human|set dependence"),
    "few": (ROWS[:56], "combine -l y -s p -s q", "need 5 cases|not:--folds"),
    "missing": (MISSING, "compare -l y -s p -s q", "no score for 4 of 20 cases|"
                "Type --missing-scores drop"),
    "percent": (ROWS, "threshold -l y -s p --subject-to recall>=90", "0.9 for 90 %"),
    "counts": ("y,p,n\n0,0.1,30\n1,0.9,20\n", "evaluate", "says how many cases a row "
               "represents, type --count n."),
    "flagged": (ROWS.replace("1,0.8", ",0.8"), "threshold -l y -s p --subject-to "
                "flagged<=9", "counts labelled cases only; 4 cases have none"),
    "one class": ("y,p\n1,0.5\n1,0.7\n", "evaluate -l y -s p", "at least one positive"),
    "together": (ROWS, "threshold -l y -s p --subject-to recall>=1 --subject-to fpr<=0",
                 "2 constraints cannot be met together"),
    "f0.5": (ROWS, "threshold -l y -s p --maximize f0.5", "when its score is"),
    "rows": (ROWS.replace("0.2,", "odd,"), "evaluate -l y -s p", "4 of 20 cases, such"),
    "groups": (ROWS.replace(",0.3", ","), "evaluate -l y -s p --cluster q",
               "missing in 4 of 20 cases"),
    "look at missing": (MISSING, "look", "evaluate {} --label y --score p "
                        "--missing-scores drop"),
    "look at votes": (VOTES, "look", "judge {} --judge a --judge b --judge c --label "
                      "human --labelled random"),
    "look at cases": ("y,p,q,w,patient\n1,0.9,0.8,1,a\n0,0.5,0.6,2,b\n1,0.2,0.3,1,a\n"
                      "0,0.1,0.4,2,c\n",
                      "look", "compare {} --label y --score p --score q --weight w "
                      "--cluster patient|not:combine"),
    "look at readings": ("reader,treatment,case,case2,truth,rating\n"
                         "1,a,1,1.5,0,1\n1,b,2,2.5,1,2\n",
                         "look", "readers {} --label truth --score rating"),
    "look at numbers": (NUMBERED, "look",
                        "evaluate {} --label y --score p|not:--score key"),
    "look at systems": ("system,task,passed\nx,1,0\ny,2,1\nx,2,1\n", "look",
                        "evals {} --item task --passed passed --system system"),
    "look at a word": (WORD, "look", "text in 1 of 20 rows ('bad' in row 20)"),
    "a word": (WORD, "evaluate", "Column 'a' has text in 1 of 20 rows ('bad')"),
    "a grade": (GRADES, "evaluate -l y -s p --positive 3", "the positive 3 and one"),
    "1.0 and 0.0": (FLOATS, "evaluate", "Using label 'sick' and score 'p'"),
    "look at attempts": ("model,task,correct\nx,1,0\ny,2,1\nx,2,1\n", "look",
                         "evals {} --item task --passed correct --system model"),
}  # fmt: skip


@pytest.mark.parametrize("name", ADVICE)
def test_advice_can_be_followed(name, here):
    text, line, said = ADVICE[name]
    Path("file.csv").write_text(text)
    command, *words = line.split()
    result = run(command, *(["file.csv"] if command != "plan" else []), *words)
    told = re.sub(" *\n", "\n", result.stdout + result.stderr)
    for part in said.format("file.csv", "file.csv").split("|"):
        assert (part.removeprefix("not:") in told) != part.startswith("not:"), told


def test_bzip2_is_read(here):
    Path("data.csv.bz2").write_bytes(bz2.compress(ROWS.encode()))
    words = ("-l", "y", "-s", "p")
    found, plain = (run("evaluate", f, *words) for f in ("data.csv.bz2", "data.csv"))
    assert found.stdout == plain.stdout
