"""``trueness judge``: wide and long tables, words, logs, sentences for a paper."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import shell
import trueness

LOGS = Path(__file__).parents[1] / "data" / "logs"
ASK = ("--label", "human", "--labelled", "random")
GPT = ("--judge", "gpt", "--judge", "claude")


def run(*words):
    return shell.run("judge", *words)


def answer(*words):
    return shell.answer("judge", *words)["result"]


@pytest.fixture(scope="module")
def table():
    rng = np.random.default_rng(3)
    n = 600
    good = rng.random(n) < 0.75
    frame = pd.DataFrame({"id": np.arange(n) // 2, "model": np.arange(n) % 2})
    frame["model"] = frame["model"].map({0: "old", 1: "new"})
    for name, sens, spec in (("gpt", 0.9, 0.7), ("claude", 0.85, 0.8)):
        u = rng.random(n)
        frame[name] = np.where(good, u < sens, u > spec).astype(int)
    frame["human"] = np.where(np.arange(n) % 4 < 2, good.astype(float), np.nan)
    frame.loc[200:, "human"] = np.nan
    return frame


@pytest.fixture
def here(table, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    table.to_csv("verdicts.csv", index=False)
    return tmp_path


def test_the_sentences_of_the_issue(here, table):
    found = run("verdicts.csv", *GPT, *ASK)
    assert found.exit_code == 0, found.stderr
    p = trueness.panel(table, label="human", scores=["gpt", "claude"])
    r = trueness.prevalence(p, labelled="random")
    ends = [f"{100 * v:.0f}" for v in (r.value, r.low, r.high)]
    raw = 100 * np.mean(table[["gpt", "claude"]].to_numpy())
    assert (
        f"The raw pass rate is {raw:.0f} %. Corrected for the judges' errors, it is "
        f"{ends[0]} % (95 % credible interval {ends[1]} to {ends[2]}). The two judges "
        "carry as much information as "
        f"{r.effective_judges.value:.1f} independent ones." in found.stdout
    )
    assert "600 answers, 2 judges; 100 labels, chosen at random." in found.stdout
    assert "trueness nogold gives the same rate" in found.stdout
    by_verdict = run("verdicts.csv", *GPT, *ASK[:3], "by verdict").stdout
    assert 'trueness nogold --labelled "by verdict" gives the same' in by_verdict


def test_every_way_to_write_the_same_verdicts(here, table):
    """Wide and long, numbers and words, CSV, Parquet and JSON lines."""
    expected = answer("verdicts.csv", *GPT, *ASK)["systems"]["all"]["rate"]
    table.to_parquet("v.parquet")
    table.to_json("v.jsonl", orient="records", lines=True)
    words = table.assign(
        **{c: table[c].map({1: "pass", 0: "fail"}) for c in ("gpt", "claude")},
        human=table["human"].map({1.0: "pass", 0.0: "fail"}),
    )
    words.to_csv("words.csv", index=False)
    words["case"] = np.arange(len(words))
    long = words.melt(["case", "human"], ["gpt", "claude"], "who", "said")
    long.sample(frac=1, random_state=0).to_csv("long.csv", index=False)
    keys = words[["case", "human"]].dropna()
    keys.to_csv("labels.csv", index=False)
    words.drop(columns="human").to_csv("bare.csv", index=False)
    asked = [
        ("v.parquet", *GPT),
        ("v.jsonl", *GPT),
        ("words.csv", *GPT, "--yes", "pass"),
        ("long.csv", "--judge", "who", "--verdict", "said", "--item", "case", "--yes",
         "pass"),
        ("bare.csv", *GPT, "--yes", "pass", "--labels", "labels.csv", "--item", "case"),
    ]  # fmt: skip
    for words_ in asked:
        found = answer(*words_, *ASK)["systems"]["all"]["rate"]
        # the order of the judges may differ, and with it the draws
        assert found["value"] == pytest.approx(expected["value"], abs=0.004), words_
        assert found["low"] == pytest.approx(expected["low"], abs=0.008)


def test_systems_that_answered_the_same_items_are_compared_in_pairs(here, table):
    """Item by item, as compare_prevalence does with panels that number the items."""
    found = answer("verdicts.csv", *GPT, *ASK, "--system", "model", "--item", "id")
    panels = {
        s: trueness.panel(part, label="human", scores=["gpt", "claude", "id"])
        for s, part in table.groupby("model")
    }
    c = trueness.compare_prevalence(panels, labelled="random", item="id")
    (d,) = found["differences"]
    assert set(found["systems"]) == {"new", "old"}
    assert (d["low"], d["high"]) == pytest.approx((c.low[0], c.high[0]), abs=0.005)
    twice = pd.concat([table, table[:2]])
    twice.to_csv("twice.csv", index=False)
    said = run("twice.csv", *GPT, *ASK, "--system", "model", "--item", "id")
    assert "occur several times" in said.stderr


def test_words_for_no_verdict_are_missing(here, table):
    said = table["gpt"].map({1: "pass", 0: "fail"})
    said.iloc[::10] = "unsure"
    table.assign(gpt=said).to_csv("unsure.csv", index=False)
    ask = ("unsure.csv", "--judge", "gpt", *ASK, "--yes", "pass")
    refused = run(*ask)
    assert refused.exit_code == 2
    assert "'fail', 'pass', 'unsure'" in refused.stderr
    found = answer(*ask, "--abstain", "unsure")["systems"]["all"]
    kept = said[said != "unsure"]
    assert found["naive"]["gpt"] == pytest.approx((kept == "pass").mean())


@pytest.mark.parametrize(
    ("file", "label", "more"),
    [
        ("inspect.eval", "metadata.human", ("--positive", "pass")),
        ("inspect.json", "metadata.human", ("--yes", "pass")),
        ("promptfoo.json", "metadata.human", ("--yes", "pass")),
        ("deepeval.json", "metadata.human", ()),
        ("dummy", "doc.human", ()),
    ],
)
def test_logs_are_read_directly(file, label, more):
    found = run(LOGS / file, "--label", label, "--labelled", "random", *more)
    assert found.exit_code == 0, found.stderr
    assert "raw pass rate is" in found.stdout


def test_a_report_with_all_figures(here):
    found = run("verdicts.csv", *GPT, *ASK, "--system", "model", "-o", "r.html")
    assert found.exit_code == 0, found.stderr
    page = Path("r.html").read_text()
    for title in (
        "Raw and corrected rate",
        "make the same errors?",
        "would more labels narrow",
    ):
        assert title in page
    assert page.count("Judges in the ROC plane</h3>") == 2  # one for each system
    assert "labelled=" not in page  # the page does not speak Python
    assert "label_next" not in page


LONG = "--judge who --verdict said --item id"
RANDOM = "--label human --labelled random"
WRONG = {
    "verdicts.csv GPT --label human": "Choose --labelled from random",
    "verdicts.csv GPT --label human --labelled any": "by verdict",
    f"verdicts.csv --judge gtp {RANDOM}": "Did you mean 'gpt'",
    f"verdicts.csv GPT {RANDOM} --system modell": "'model'",
    f"verdicts.csv GPT {RANDOM} --verdict gpt": "Type --item COLUMN",
    f"long.csv {LONG}": "2 rows for id 1, who 'a'",
    f"verdicts.csv GPT {RANDOM} --labels l.csv": "Type --item",
    f"both.csv {LONG} {RANDOM}": "Item 1 has different labels",
    "verdicts.csv GPT --label new --labelled random --labels l.csv --item id": (
        "No id of l.csv is one of verdicts.csv"
    ),
    f"empty.csv --judge a {RANDOM}": "holds no verdicts",
    f"empty.csv --judge b {RANDOM} --system s": "is empty in 1 of 3 rows",
    f"verdicts.csv GPT {RANDOM} -o verdicts.csv": "is the input",
}


@pytest.mark.parametrize("line", WRONG)
def test_mistakes_are_told_in_the_words_of_the_shell(line, here):
    Path("long.csv").write_text("id,who,said\n1,a,1\n1,a,0\n2,a,1\n2,b,0\n")
    Path("both.csv").write_text("id,who,said,human\n1,a,1,0\n1,b,0,1\n2,a,1,\n2,b,0,\n")
    Path("empty.csv").write_text("a,b,human,s\n,1,1,x\n,0,0,y\n,1,,\n")
    Path("l.csv").write_text("id,new\n9001,1\n9002,0\n")
    found = run(*line.replace("GPT", " ".join(GPT)).split())
    assert found.exit_code == 2, found.stdout
    assert WRONG[line] in found.stderr
    assert "=" not in found.stderr.replace("==", "")


def test_grades_have_no_raw_pass_rate(here, table):
    rng = np.random.default_rng(0)
    grade = np.round(4 * table["gpt"] + rng.normal(size=len(table)), 1)
    table.assign(grade=grade).to_csv("graded.csv", index=False)
    found = run("graded.csv", "--judge", "grade", *ASK)
    text = f"The mean grade is {grade.mean():.3g} by grade. Corrected for the judge's"
    assert f"{text} errors, the pass rate is" in found.stdout
    both = answer("graded.csv", "--judge", "grade", "--judge", "claude", *ASK)
    raw = both["systems"]["all"]["raw"]
    assert raw == pytest.approx(table["claude"].mean())
    page = run("graded.csv", "--judge", "grade", *ASK, "-o", "g.html")
    assert page.exit_code == 0, page.stderr
    assert "nan" not in Path("g.html").read_text().split("<main>")[1].split("<nav")[0]


def test_nogold_gives_the_same_rate_from_the_same_labels(here):
    ours = answer("verdicts.csv", *GPT, *ASK)["systems"]["all"]["rate"]
    votes = ("--vote", "gpt", "--vote", "claude", "--label", "human")
    other = shell.answer("nogold", "verdicts.csv", *votes)["result"]
    for word in ("value", "low", "high"):
        assert other["prevalence"][word] == ours[word]
    assert other["dependence"] == "labels"
    assert (
        "trueness nogold gives the same rate" in run("verdicts.csv", *GPT, *ASK).stdout
    )
    said = shell.run("nogold", "verdicts.csv", *votes).stdout
    assert "Rate and accuracies come from the labels" in said


def test_without_labels_nothing_reads_like_an_answer(here, table):
    table.assign(third=1 - table["gpt"].shift(1, fill_value=0)).to_csv(
        "three.csv", index=False
    )
    judges = (*GPT, "--judge", "third")
    two = run("three.csv", *GPT)
    assert two.exit_code == 3
    assert "Label some cases at random" in two.stderr
    found = answer("three.csv", *judges)["systems"]["all"]
    assert found["rate"]["value"] is None
    assert not found["identified"]
    assert 0 < found["independent"]["value"] < 1
    said = run("three.csv", *judges).stdout
    assert "do not determine the true rate" in said
    assert "nan" not in said
    votes = ("--vote", "gpt", "--vote", "claude", "--vote", "third")
    said = shell.run("nogold", "three.csv", *votes).stdout
    assert "prevalence is not determined by the verdicts alone" in said
    assert "nan" not in said


def test_repeats_of_an_item_are_one(here, table):
    table.assign(question=np.arange(len(table)) // 10).to_csv("again.csv", index=False)
    plain = answer("again.csv", *GPT, *ASK)["systems"]["all"]
    found = answer("again.csv", *GPT, *ASK, "--cluster", "question")["systems"]["all"]
    assert any("are repeats of 60 items" in n for n in found["notes"])
    width, before = (r["rate"]["high"] - r["rate"]["low"] for r in (found, plain))
    assert width >= 0.95 * before


def test_a_few_labels_by_name_are_taken_and_told(tmp_path):
    truth = np.arange(120) % 3 == 0
    human = np.where(np.arange(120) < 40, truth.astype(float), np.nan)
    verdicts = pd.DataFrame({"verdict": truth.astype(int), "human": human})
    path = tmp_path / "judged.csv"
    verdicts.to_csv(path, index=False)

    found = run(path, "--labelled", "random")
    asked = run(path)

    assert "Using label 'human', which is empty in most rows." in found.stderr
    assert "40 labels, chosen at random" in found.stdout
    assert "How were the 40 labelled cases chosen?" in asked.stderr
    rate = trueness.prevalence(verdicts, labelled="random")
    assert rate.labels == 40
    assert any("Using label 'human'" in note for note in rate.notes)
