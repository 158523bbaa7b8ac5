"""The command line as a newcomer uses it: files, columns, errors, pipes."""

import json
import re
import subprocess
import sys

import pandas as pd
import pytest

import trueness
from shell import ENVIRONMENT, PYTHON, answer, run
from trueness._core.processor import slow_avx512


@pytest.fixture
def small(tmp_path):
    """Eleven pairs of twelve in the right order."""
    path = tmp_path / "small.csv"
    path.write_text(
        "y,p,who\n1,0.9,a\n1,0.8,b\n0,0.5,a\n1,0.5,b\n0,0.2,a\n0,0.1,b\n0,0,a\n"
    )
    return path


def test_evaluate_by_hand(small, tmp_path):
    found = answer("evaluate", small, "--label", "y", "--score", "p")
    assert found["schema"] == "trueness/evaluate/1"
    assert found["cases"] == {
        "n": 7, "negative": 4, "positive": 3, "unknown": 0
    }  # fmt: skip
    assert found["result"]["scores"]["p"]["auc"]["value"] == 11.5 / 12
    found = answer("evaluate", small, "--label", "y", "--score", "p", "--by", "who")
    assert found["result"]["groups"]["p"]["a"]["auc"]["value"] == 1
    counted = tmp_path / "counted.parquet"
    frame = pd.read_csv(small).drop(columns="who")
    frame.value_counts().rename("n").reset_index().to_parquet(counted)
    again = answer("evaluate", counted, "-l", "y", "-s", "p", "--count", "n")
    assert again["cases"]["n"] == 7


@pytest.mark.parametrize("ending", ["csv.gz", "tsv", "parquet", "jsonl", "json"])
def test_every_file_format_gives_the_same(small, tmp_path, ending):
    frame = pd.read_csv(small)
    path = tmp_path / f"same.{ending}"
    if ending == "parquet":
        frame.to_parquet(path)
    elif "json" in ending:
        frame.to_json(path, orient="records", lines=ending == "jsonl")
    else:
        frame.to_csv(path, index=False, sep="\t" if ending == "tsv" else ",")
    found = answer("evaluate", path, "-l", "y", "-s", "p")
    assert found["result"]["scores"]["p"]["auc"]["value"] == 11.5 / 12


def test_columns_are_taken_only_without_doubt_and_it_says_so(small, tmp_path):
    result = run("evaluate", small)
    assert result.exit_code == 0
    assert "Using label 'y' and score 'p': no other column fits" in result.stderr
    two = tmp_path / "two.csv"
    two.write_text("a,b,p\n1,0,0.5\n0,1,0.25\n")
    result = run("evaluate", two, "--score", "p")
    assert result.exit_code == 2
    assert "Choose --label from a, b, p." in result.stderr
    result = run("evaluate", two, "--label", "a")
    assert result.exit_code == 0
    other = tmp_path / "other.csv"
    other.write_text("y,p,weight\n1,0.5,7.5\n0,0.25,3.5\n")
    result = run("evaluate", other, "--label", "y")
    assert result.exit_code == 0  # the name p leaves no doubt
    assert "Using score 'p'" in result.stderr


@pytest.mark.parametrize(
    ("neg", "pos", "typed"),
    [(0, 1, "1"), (0, 1, "1.0"), ("bored", "ill", "ill"), ("no", "yes", "yes"),
     ("2020-01-01", "2020-01-02", "2020-01-02")],
)  # fmt: skip
def test_the_positive_label_is_typed_as_it_is_written(neg, pos, typed, tmp_path):
    path = tmp_path / "text.csv"
    path.write_text(f"y,p\n{pos},0.9\n{neg},0.1\n{neg},0.2\n,0.7\n")
    found = answer("evaluate", path, "-l", "y", "-s", "p", "--positive", typed)
    assert found["cases"] == {"n": 4, "negative": 2, "positive": 1, "unknown": 1}
    assert found["result"]["scores"]["p"]["auc"]["value"] == 1


# what is typed, and the sentence that is said
WEST = "sample:west_nile -l virus"
ERRORS = {
    "evaluate nowhere.csv": "There is no file nowhere.csv.",
    "evaluate sample:west_nile -l viruss": "label must name a column, .*'viruss'.* "
    "Did you mean 'virus'?",
    f"evaluate {WEST} -s bosting": "score must name a column, .* 'boosting'?",
    "evaluate sample:west_nil": "sample must be one of.*Did you mean 'west_nile'?",
    f"evaluate {WEST} --level 95": "level must lie in .0, 1.; found 95. Type "
    "--level 0.95",
    f"evaluate {WEST} --positive yes": "positive must be a value of column 'virus', "
    "which holds numbers",
    f"report {WEST} -s forest --cost-fp 1": "Both costs are needed",
    f"report {WEST} -s forest -o x.pdf": "-o x.html.* print it to a PDF",
    f"threshold {WEST} -s forest --at nowhere": "the file of a saved rule",
    f"threshold {WEST} -s forest --prevalence x": "must be a proportion such as 0.01",
    f"threshold {WEST} -s forest --maximize recal": "Did you mean 'recall'?",
    f"threshold {WEST} -s forest --guarantee 0.95": "needs a constraint",
    f"combine {WEST} -s forest -s logistic --method fidell": "Did you mean 'fidel'",
    f"combine {WEST} -s forest": "needs 2 columns or more",
    "plan leaf --p 0.75": "Type --confidence 0.95",
    "report sample:hiv --vote V1 --vote V2 --by V3": "Tests without labels have no",
    "report sample:hiv --vote V1 --vote V2 --score V4": "Votes are for tests without",
    f"evaluate {WEST} --label virus": "--label may be given once",
    f"evaluate {WEST} --level 0.9 --level=0.95": "--level may be given once",
    "leaves sample:leaves --node a --node b": "--node may be given once",
    "plan auc --auc 0.8 --auc 0.9 --half-width 0.1": "--auc may be given once",
    "plan auc --auc 1.8 --half-width 0.1": "auc must lie in",
    f"evaluate {WEST} --prevalence 0.01:0.05": "needs one prevalence",
    f"evaluate {WEST} --unlabelled ignored": "unlabelled must be",
    f"evaluate {WEST} --weight z": "weight must name a column",
    f"threshold {WEST} -s forest --prevalence 5": "prevalence must",
    f"threshold {WEST} -s forest --subject-to recall>=.5 --guarantee 95": "guarantee",
    f"calibrate {WEST} -s forest --method plat": "Did you mean 'platt'",
    f"calibrate {WEST} -s forest --folds 1": "folds must",
    f"nogold {WEST} --vote forest --vote logistic": "0 and 1",
}


@pytest.mark.parametrize("line", ERRORS)
def test_errors_are_sentences_without_a_trace(line):
    result = run(*line.split())
    assert result.exit_code == 2
    assert result.stdout == ""
    assert re.search(ERRORS[line], " ".join(result.stderr.split()))
    assert "Traceback" not in result.stderr
    assert not PYTHON.search(result.stderr.replace("--level=0.95", "")), result.stderr


@pytest.mark.parametrize(
    ("name", "says"),
    [("", "There are no files with '.parquet'"), ("x.pkl", "is a pickle"),
     ("x.parquet", "cannot be read")],
)  # fmt: skip
def test_folders_and_broken_files(name, says, tmp_path):
    if name:
        (tmp_path / name).write_bytes(b"PAR1 but no more")
    result = run("evaluate", tmp_path / name)
    assert result.exit_code == 2
    assert says in " ".join(result.stderr.split())


def test_debug_shows_the_trace(small):
    result = run("evaluate", small, "-l", "nothing", "--debug")
    assert isinstance(result.exception, trueness.InputError)


def test_a_cut_for_each_group_two_cuts_and_a_range(small, tmp_path):
    words = ["threshold", small, "-l", "y", "-s", "p"]
    found = answer(*words, "--by", "who", "--subject-to", "recall_gap <= 0.5")
    cuts = found["result"]["group_cuts"]
    assert cuts["proved"] is True
    assert set(found["result"]["groups"]) == set(cuts["thresholds"]) == {"a", "b"}
    lone = run(*words, "--subject-to", "recall_gap <= 0.5")
    assert "need groups. Type --by COLUMN" in lone.stderr
    two = answer(*words, "--minimize", "cost(fp=1, fn=1, defer=0.2)")["result"]
    assert two["zones"]["lower"] < two["zones"]["upper"]
    wide = answer(*words, "--maximize", "f1", "--prevalence", "0.1:0.3")["result"]
    assert wide["prevalence"] in (0.1, 0.3)  # the worst of the range
    listed = run("threshold", "--list-metrics")
    assert listed.exit_code == 0
    assert "deferred" in listed.stdout
    told = json.loads(run("threshold", "--list-metrics", "--json").stdout)["result"]
    assert told["metrics"]["recall"].startswith("What proportion of the positives")


def test_a_rule_is_saved_and_evaluated(small, tmp_path):
    words, rule = ["threshold", small, "-l", "y", "-s", "p"], tmp_path / "rule.json"
    two = ("--minimize", "cost(fp=1, fn=1, defer=0.2)")
    zones = answer(*words, *two, "--save", rule)["result"]["zones"]
    found = answer(*words, "--at", rule)["result"]
    want = trueness.at_threshold(
        pd.read_csv(small), label="y", score="p", threshold=trueness.Rule.load(rule)
    )
    assert found["threshold"] == zones["upper"]
    assert found["metrics"]["defer"] == want.metrics["defer"].value
    assert "leaves" in run(*words, "--at", rule).stdout
    answer(*words, "--maximize", "f1", "--save", rule)
    one = answer(*words, "--at", rule)["result"]
    assert one["confusion"] == answer(*words, "--maximize", "f1")["result"]["confusion"]


def test_threshold_by_hand(small):
    words = ["threshold", small, "-l", "y", "-s", "p", "--maximize", "recall"]
    found = answer(*words, "--subject-to", "fpr <= 0")["result"]
    assert found["confusion"] == {"tp": 2, "fp": 0, "fn": 1, "tn": 4}
    assert found["score_range"] == [0.5, 0.8]
    assert found["binding"] == ["fpr <= 0"]
    assert found["metrics"]["recall"] == pytest.approx(2 / 3)
    result = run(*words, "--subject-to", "fpr <= 0", "--subject-to", "recall >= 0.9")
    assert result.exit_code == 3
    assert "cannot be met" in result.stderr


def test_a_cut_can_be_guaranteed(tmp_path):
    words = ["threshold", "sample:west_nile", "-l", "virus", "-s", "boosting"]
    asked = ["--subject-to", "recall >= 0.8", "--guarantee", "0.95"]
    plot = tmp_path / "cut.html"
    found = answer(*words, *asked, "--plot", plot)["result"]
    assert "recall &gt;= 0.8" in plot.read_text()
    t = trueness.tally(
        pd.read_csv(trueness.samples.path("west_nile")), label="virus", score="boosting"
    )
    expected = trueness.guaranteed_threshold(t, "recall >= 0.8", level=0.95, rng=0)
    assert found["threshold"] == expected.threshold
    assert found["confusion"]["tp"] == expected.confusion.tp
    assert found["guarantee"]["proofs"][0]["bound"] == expected.bound
    both = answer(*words, *asked, "--subject-to", "fpr <= 0.5", "--maximize", "f1")
    best = trueness.guaranteed_threshold(
        t, ["recall >= 0.8", "fpr <= 0.5"], maximize="f1", level=0.95, rng=0
    )
    assert both["result"]["threshold"] == best.threshold
    assert "includes its own validation" in run(*words, *asked, "--validate").stderr


def test_calibrate_writes_rows_in_order_and_a_map_that_can_be_loaded(small, tmp_path):
    rows, kept = tmp_path / "rows.csv", tmp_path / "map.json"
    words = ["calibrate", small, "-l", "y", "-s", "p", "--method", "isotonic"]
    answer(*words, "-o", rows, "--save", kept)
    frame = pd.read_csv(rows)
    assert list(frame.columns) == ["y", "p", "who", "p_calibrated"]
    assert frame["p"].tolist() == [0.9, 0.8, 0.5, 0.5, 0.2, 0.1, 0]
    assert frame["p_calibrated"].tolist() == [1, 1, 0.5, 0.5, 0, 0, 0]
    assert trueness.load_map(kept)([0.5]).tolist() == [0.5]
    result = run(*words, "-o", tmp_path / "again.csv", "--column", "who")
    assert result.exit_code == 2
    assert "already has a column 'who'" in " ".join(result.stderr.split())
    assert not (tmp_path / "again.csv").exists()
    result = run(*words, "-o", tmp_path / "rows.xlsx")
    assert "the ending of --output must be one of" in result.stderr


def test_compare_by_hand_and_draws(small, tmp_path):
    path = tmp_path / "two.csv"
    frame = pd.read_csv(small)
    frame.assign(q=frame["p"] * 2, r=1 - frame["p"]).to_csv(path, index=False)
    plot = tmp_path / "curves.svg"
    words = ["compare", path, "-l", "y", "-s", "p", "-s", "q"]
    found = answer(*words, "--plot", plot)["result"]
    assert found["pairs"][0]["p_value"] == 1
    assert found["pairs"][0]["difference"]["value"] == 0
    assert found["dominance"][0]["verdict"] == "equal"
    assert plot.read_text().startswith("<svg")
    assert run("compare", small, "-l", "y", "-s", "p").exit_code == 2
    other = answer("compare", path, "-l", "y", "-s", "p", "-s", "r")["result"]
    assert other["auc"]["r"]["value"] == pytest.approx(0.5 / 12)
    assert other["dominance"][0]["verdict"] == "dominates"


def test_combine_writes_rows_and_a_combiner(tmp_path):
    rows, kept = tmp_path / "rows.parquet", tmp_path / "combiner.json"
    words = ["combine", "sample:west_nile", "-l", "virus", "-s", "forest"]
    found = answer(*words, "-s", "logistic", "--method", "fidel", "-o", rows, "--save",
                   kept)["result"]  # fmt: skip
    assert found["method"] == "fidel"
    assert set(found["out_of_sample"]) == {*trueness.COMBINERS} - {"best-single"}
    frame = pd.read_parquet(rows)
    again = trueness.load_map(kept)(frame[["forest", "logistic"]].to_numpy())
    assert frame["combined"].tolist() == again.tolist()
    combined = trueness.auc(frame, label="virus", score="combined").value
    assert combined > found["alone"]["forest"]["value"]
    fidel, best = found["out_of_sample"]["fidel"], found["reference"]
    apart = fidel["auc"]["value"] - found["alone_in_folds"][best]["value"]
    assert apart == pytest.approx(fidel["gain"]["value"], abs=1e-12)


def test_demo_says_what_was_found_and_where_the_files_are(tmp_path):
    result = run("demo", "-o", tmp_path / "out", "--json")
    assert result.exit_code == 0, result.stderr
    told = json.loads(result.stdout)
    words = " ".join(told["sentences"])
    assert "8,610 mosquito traps" in words
    assert told["result"]["steps"][0]["title"] == "What should you do?"
    files = sorted(p.name for p in (tmp_path / "out").iterdir())
    assert files == ["report.html", "roc.svg"]
    for name in files:
        assert name in words


def test_sorts_are_chosen_before_numpy_is_loaded():
    info = "vendor_id : {}\ncpu family : {}\nflags : sse avx2 {}"
    assert slow_avx512(info.format("AuthenticAMD", 25, "avx512f"))
    assert not slow_avx512(info.format("AuthenticAMD", 25, ""))  # Zen 3
    assert not slow_avx512(info.format("AuthenticAMD", 26, "avx512f"))  # Zen 5
    assert not slow_avx512(info.format("GenuineIntel", 25, "avx512f"))
    code = "import trueness.cli._start, sys; print('numpy' in sys.modules)"
    loaded = subprocess.run(
        [sys.executable, "-c", code], env=ENVIRONMENT, capture_output=True, text=True
    )
    assert loaded.stdout == "False\n"


def test_columns_that_are_passed_on_stay_as_they_were_written(tmp_path):
    path, out = tmp_path / "c.csv", tmp_path / "out.csv"
    rows = ["01/02/2024,yes,1.10,0.25,0", '02/02/2024,no,"a, b",0.5,1'] * 6
    path.write_text("\n".join(["day,kept,text,p,y", *rows, ""]))
    assert run("calibrate", path, "-l", "y", "-s", "p", "-o", out).exit_code == 0
    written = out.read_text().splitlines()
    assert written[0] == "day,kept,text,p,y,p_calibrated"
    assert [line.rpartition(",")[0] for line in written[1:]] == rows


APP = {
    "--host 0.0.0.0": "other machines reach .* --allow-remote",
    "--host ::": "other machines reach .* --allow-remote",
    "nowhere.csv": "There is no file nowhere.csv",
    "": r'pip install "trueness\[app\]"',
}


@pytest.mark.parametrize("line", APP)
def test_the_workbench_begins_only_where_it_can(line, monkeypatch):
    if not line:
        monkeypatch.setitem(sys.modules, "uvicorn", None)
    result = run("app", *line.split(), "--no-browser")
    assert result.exit_code == 2, result.output
    assert re.search(APP[line], " ".join(result.stderr.split()))


def test_a_number_that_is_none_is_named(small):
    result = run("evaluate", small, "--label", "y", "--score", "p", "--at", "high")

    assert result.exit_code == 2
    assert "'high' is not a number. Type one such as" in result.stderr
