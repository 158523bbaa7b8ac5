"""Twenty data sets through Python, shell and report: one answer to each question."""

import re

import numpy as np
import pandas as pd
import pytest

import trueness
from shell import answer, run
from trueness._core.numbers import cut_text
from trueness.findings.notes import CATALOGUE, PAGE, PYTHON, REPORT, SHELL, say
from trueness.findings.page import page_about

LONGEST = 25  # words of a sentence


def logistic(x):
    return 1 / (1 + np.exp(-x))


def made(n, share, shift, rng, calibrated=True):
    """Draw labels, and scores that are their probabilities."""
    base = np.log(share / (1 - share))
    x = base + shift * rng.normal(size=n)
    y = (rng.random(n) < logistic(x)).astype(int)
    return y, logistic(x if calibrated else 3 * x)


def sets():
    """Give twenty data sets: frame, names of the scores, words of the sample."""
    rng = np.random.default_rng(37)
    out = {}

    def add(name, y, words=None, **scores):
        frame = pd.DataFrame({"y": y, **scores, **(words or {})})
        out[name] = (frame, list(scores), {w: w for w in words or ()})

    y, p = made(400, 0.3, 1.5, rng)
    add("plain", y, p=p)
    add("reversed", y, p=1 - p)
    add("not probabilities", y, p=10 * p - 3)
    add("too extreme", *made(400, 0.3, 1.5, rng, calibrated=False)[:1], p=p)
    add("two", y, p=p, q=logistic(np.log(p / (1 - p)) + rng.normal(size=400)))
    add("a copy", y, p=p, q=p)
    add("three", y, p=p, q=np.sqrt(p), r=rng.random(400))
    add("a far better one", y, weak=rng.random(400), strong=0.9 * y + 0.1 * p)
    add("weights", y, {"weight": rng.gamma(2, size=400)}, p=p)
    add("clusters", y, {"cluster": np.arange(400) // 10}, p=p)
    add("groups", y, {"by": np.where(np.arange(400) % 2, "a", "b")}, p=p)
    y, p = made(4000, 0.02, 1.5, rng)
    add("rare", y, p=p)
    add("rare, two", y, p=p, q=np.round(p, 2))
    # errors that cancel, large, in few cases
    q = p.copy()
    q[p > 0.1] = 0.35
    y = np.where(p > 0.1, 1, y)
    add("off in few cases", y, p=q)
    y = np.arange(200) % 2
    add("perfect", y, p=0.4 * y + 0.5 * rng.random(200) * 0.9)
    add("random", y, p=rng.random(200))
    add("tied", y, p=np.round(0.3 * y + 0.6 * rng.random(200), 1))
    add("one score", y, p=np.full(200, 0.5))
    add("few", y[:24], p=(0.3 * y + 0.6 * rng.random(200))[:24])
    return out


SETS = sets()


@pytest.fixture(scope="module")
def found():
    """Ask everything once for each data set."""
    known = {}

    def ask(name, folder):
        if name not in known:
            frame, scores, words = SETS[name]
            path = folder / "data.csv"
            frame.to_csv(path, index=False)
            known[name] = (page_of(name), *(
                shell(command, path, scores, words)
                for command in ("evaluate", "report")
            ))  # fmt: skip
        return known[name]

    return ask


def design(name):
    return {k: v for k, v in SETS[name][2].items() if k != "by"}


def page_of(name):
    frame, scores, words = SETS[name]
    ask = {"label": "y", "scores": scores}
    groups = trueness.panel(frame, **ask, by="by") if "by" in words else None
    return page_about(trueness.panel(frame, **ask, **design(name)), groups=groups)


def shell(command, path, scores, words):
    line = [command, path, "--label", "y"]
    for name, value in [*(("score", s) for s in scores), *words.items()]:
        line += [f"--{name}", value]
    line += ["-o", path.parent / "r.html"] if command == "report" else []
    return answer(*line)


def every_note(page):
    first = [n for _, notes in page.answers for n in notes]
    return first + [n for f in page.findings for n in (*f.answer, *f.notes)]


def tally(name, score):
    return trueness.tally(SETS[name][0], label="y", score=score, **design(name))


@pytest.mark.parametrize("name", SETS)
def test_every_face_has_the_same_auc(name, found, tmp_path):
    page, evaluated, _ = found(name, tmp_path)
    frame, scores, _ = SETS[name]
    python = trueness.evaluate(frame, label="y", score=scores, **design(name))
    for s in scores:
        want = trueness.auc(tally(name, s))
        assert python.numbers["scores"][s]["auc"] == want
        told = evaluated["result"]["scores"][s]["auc"]
        assert [told[k] for k in ("value", "low", "high")] == pytest.approx(
            [want.value, want.low, want.high], nan_ok=True
        )
    # in the tables of every section a score has one AUC, written in one way
    seen = {s: set() for s in scores}
    tables = [t for f in page.findings for t in f.tables if "AUC" in t.head]
    for values, at in ((v, t.head.index("AUC")) for t in tables for v in t.rows):
        seen.get(str(values[0]).removesuffix(" alone"), set()).add(values[at])
    for s in scores:
        assert seen[s] == {trueness.auc(tally(name, s))}


@pytest.mark.parametrize("name", SETS)
def test_there_is_one_threshold_and_one_best(name, found, tmp_path):
    page, _, reported = found(name, tmp_path)
    scores = SETS[name][1]
    areas = {s: trueness.auc(tally(name, s)).value for s in scores}
    best = max(areas, key=areas.get)
    point = trueness.best_threshold(tally(name, best), "youden")
    cut = cut_text(point.threshold, point.score_range)
    notes = every_note(page)
    advised = {n.numbers["cut"] for n in notes if n.code in ("flag", "groups cut")}
    flagged = {n.numbers["name"] for n in notes if n.code == "flag"}
    if np.isposinf(point.threshold):
        assert not advised
    else:
        assert advised == {cut}
        assert {areas[f] for f in flagged} == {areas[best]}
    named = {n.numbers["name"] for n in notes if n.code == "best"}
    assert named <= flagged or not flagged
    said = " ".join(s for q in reported["result"]["summary"] for s in q["sentences"])
    assert len(set(re.findall(r"gives it (\S+) or more", said))) <= 1
    assert set(re.findall(r"gives it (\S+) or more", said)) == advised
    line = ["threshold", tmp_path / "cut.csv", "--label", "y", "--score", best]
    SETS[name][0].to_csv(line[1], index=False)
    for k, v in design(name).items():
        line += [f"--{k}", v]
    told = run(*line).stdout
    assert set(re.findall(r"score is (\S+) or more", told)) == advised
    model = page.slider["models"][0]
    start = model["columns"]["threshold"][model["start"]]
    assert (np.inf if start is None else start) == point.threshold


@pytest.mark.parametrize("name", SETS)
def test_there_is_one_verdict_on_calibration(name, found, tmp_path):
    page, _, _ = found(name, tmp_path)
    codes = {"miscalibrated", "close", "calibrated", "undecided"}
    said = [n for n in every_note(page) if n.code in codes]
    told = {}
    for n in said:
        for who in n.numbers["names"]:
            told.setdefault(who, set()).add(n.code)
    for s in SETS[name][1]:
        t = tally(name, s)
        if t.score[-1] < 0 or t.score[0] > 1:
            assert s not in told
        else:
            assert told[s] == {trueness.calibration_verdict(t).code}


def test_large_errors_in_few_cases_are_seen(found, tmp_path):
    page, _, _ = found("off in few cases", tmp_path)
    said = [say(n, REPORT) for n in every_note(page)]
    assert any("are not probabilities" in s for s in said)
    assert any(re.search(r"Of 100 cases scored about 0\.35, \d+ are", s) for s in said)


@pytest.mark.parametrize("name", SETS)
def test_no_two_sentences_about_two_scores_contradict(name, found, tmp_path):
    page, _, _ = found(name, tmp_path)
    codes = [n.code for n in every_note(page)]
    assert len({"better", "not better", "better in use"} & set(codes)) <= 1
    together = {"together better", "together worse", "together open"}
    assert len(together & set(codes)) <= 1
    for n in every_note(page):
        gain = n.numbers.get("gain")
        if n.code == "together better":
            assert gain.low > 0
        if n.code == "together open":
            assert gain.low <= 0 <= gain.high


@pytest.mark.parametrize("name", SETS)
def test_sentences_are_short_and_say_no_flag(name, found, tmp_path):
    page, evaluated, reported = found(name, tmp_path)
    said = [say(n, REPORT) for n in every_note(page)]
    for text in said:
        assert "--" not in text
        assert "=" not in text or "p = " in text or "J = " in text, text
    shell_said = evaluated["sentences"] + reported["sentences"]
    for text in (*said, *shell_said):
        for sentence in re.split(r"(?<=[.?!:;])\s", text):
            assert len(sentence.split()) <= LONGEST + 5, sentence
        assert "nan" not in text.lower().split()


def test_every_sentence_of_the_catalogue_is_short():
    for code, text in CATALOGUE.items():
        for sentence in re.split(r"(?<=[.?!:;])\s", text):
            assert len(sentence.split()) <= LONGEST, code


def test_each_face_speaks_its_own_language(found, tmp_path):
    page, _, _ = found("plain", tmp_path)
    (free,) = [n for n in every_note(page) if n.code == "price"][:1]
    assert "--cost-fp" in say(free, SHELL)
    assert "cost={" in say(free, PYTHON)
    assert "under Costs" in say(free, PAGE)
    assert str(free) == say(free, PYTHON)


WITH_A_CONSTRAINT = ["--maximize", "precision", "--subject-to", "recall >= 0.8"]


@pytest.mark.parametrize("guarantee", [None, 0.9])
def test_with_a_constraint_every_face_advises_the_same_threshold(guarantee, tmp_path):
    """Python, both commands and the page of a report agree."""
    frame, _, _ = SETS["plain"]
    path = tmp_path / "data.csv"
    frame.to_csv(path, index=False)
    counts = trueness.tally(frame, label="y", score="p")
    more = [] if guarantee is None else ["--guarantee", str(guarantee)]
    line = [path, "--label", "y", "--score", "p", *WITH_A_CONSTRAINT, *more]

    if guarantee is None:
        validation = trueness.validate_threshold(
            counts, "precision", "recall >= 0.8", constraints_on="new cases"
        )
        threshold = validation.choice.threshold
        assert validation.metrics["recall"].value >= 0.8
    else:
        threshold = trueness.guaranteed_threshold(
            counts, "recall >= 0.8", maximize="precision", level=guarantee
        ).threshold
    by_command = answer("threshold", *line)["result"]
    answer("report", *line, "-o", tmp_path / "r.html")
    report = (tmp_path / "r.html").read_text(encoding="utf-8")

    assert by_command["threshold"] == threshold
    assert f"gives it {cut_text(threshold, by_command['score_range'])} or" in report
    if guarantee is None:
        assert "is required. It could be as low as" in report
    else:
        assert "With 90 % confidence the population has recall" in report
