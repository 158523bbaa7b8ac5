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
    """Return twenty data sets by name: frame, names of the scores, design."""
    rng = np.random.default_rng(37)
    data_sets = {}

    def add(name, label, design=None, **scores):
        frame = pd.DataFrame({"y": label, **scores, **(design or {})})
        design_columns = {word: word for word in design or ()}
        data_sets[name] = (frame, list(scores), design_columns)

    label, chance = made(400, 0.3, 1.5, rng)
    log_odds = np.log(chance / (1 - chance))
    add("plain", label, p=chance)
    add("reversed", label, p=1 - chance)
    add("not probabilities", label, p=10 * chance - 3)
    other_label, _ = made(400, 0.3, 1.5, rng, calibrated=False)
    add("too extreme", other_label, p=chance)

    add("two", label, p=chance, q=logistic(log_odds + rng.normal(size=400)))
    add("a copy", label, p=chance, q=chance)
    add("three", label, p=chance, q=np.sqrt(chance), r=rng.random(400))
    strong = 0.9 * label + 0.1 * chance
    add("a far better one", label, weak=rng.random(400), strong=strong)

    rows = np.arange(400)
    add("weights", label, {"weight": rng.gamma(2, size=400)}, p=chance)
    add("clusters", label, {"cluster": rows // 10}, p=chance)
    add("groups", label, {"by": np.where(rows % 2, "a", "b")}, p=chance)

    label, chance = made(4000, 0.02, 1.5, rng)
    add("rare", label, p=chance)
    add("rare, two", label, p=chance, q=np.round(chance, 2))
    # errors that cancel, large, in few cases
    is_off = chance > 0.1
    add(
        "off in few cases", np.where(is_off, 1, label), p=np.where(is_off, 0.35, chance)
    )

    label = np.arange(200) % 2
    add("perfect", label, p=0.4 * label + 0.5 * rng.random(200) * 0.9)
    add("random", label, p=rng.random(200))
    add("tied", label, p=np.round(0.3 * label + 0.6 * rng.random(200), 1))
    add("one score", label, p=np.full(200, 0.5))
    add("few", label[:24], p=(0.3 * label + 0.6 * rng.random(200))[:24])
    return data_sets


SETS = sets()


@pytest.fixture(scope="module")
def found():
    """Ask everything once for each data set: page, evaluate, report."""
    known = {}

    def ask(name, folder):
        if name not in known:
            frame, scores, words = SETS[name]
            path = folder / "data.csv"
            frame.to_csv(path, index=False)
            evaluated = shell("evaluate", path, scores, words)
            reported = shell("report", path, scores, words)
            known[name] = (page_of(name), evaluated, reported)
        return known[name]

    return ask


def design(name):
    return {k: v for k, v in SETS[name][2].items() if k != "by"}


def page_of(name):
    frame, scores, words = SETS[name]
    ask = {"label": "y", "scores": scores}
    groups = trueness.panel(frame, **ask, by="by") if "by" in words else None
    return page_about(trueness.panel(frame, **ask, **design(name)), groups=groups)


def shell(command, path, scores, design):
    """Ask a command about a file, and return what ``--json`` says."""
    line = [command, path, "--label", "y"]
    for score in scores:
        line += ["--score", score]
    for word, column in design.items():
        line += [f"--{word}", column]
    if command == "report":
        line += ["-o", path.parent / "r.html"]
    return answer(*line)


def every_note(page):
    first = [n for _, notes in page.answers for n in notes]
    return first + [n for f in page.findings for n in (*f.answer, *f.notes)]


def tally(name, score):
    return trueness.tally(SETS[name][0], label="y", score=score, **design(name))


@pytest.mark.parametrize("name", SETS)
def test_python_and_shell_have_the_same_auc(name, found, tmp_path):
    _, evaluated, _ = found(name, tmp_path)
    frame, scores, _ = SETS[name]

    python = trueness.evaluate(frame, label="y", score=scores, **design(name))

    for score in scores:
        expected = trueness.auc(tally(name, score))
        assert python.numbers["scores"][score]["auc"] == expected
        shown = evaluated["result"]["scores"][score]["auc"]
        numbers = [shown["value"], shown["low"], shown["high"]]
        assert numbers == pytest.approx(
            [expected.value, expected.low, expected.high], nan_ok=True
        )


@pytest.mark.parametrize("name", SETS)
def test_a_score_has_one_auc_in_all_tables_of_a_page(name, found, tmp_path):
    page, _, _ = found(name, tmp_path)
    scores = SETS[name][1]

    shown = {score: set() for score in scores}
    for finding in page.findings:
        for table in finding.tables:
            if "AUC" not in table.head:
                continue
            column = table.head.index("AUC")
            for row in table.rows:
                score = str(row[0]).removesuffix(" alone")
                if score in shown:
                    shown[score].add(row[column])

    for score in scores:
        assert shown[score] == {trueness.auc(tally(name, score))}


def best_point(name):
    """Return the score with the highest AUC, and its best threshold."""
    areas = {s: trueness.auc(tally(name, s)).value for s in SETS[name][1]}
    best = max(areas, key=areas.get)
    return areas, best, trueness.best_threshold(tally(name, best), "youden")


def advised_cuts(page):
    """Return the thresholds that the page advises, as they are written."""
    notes = every_note(page)
    return {n.numbers["cut"] for n in notes if n.code in ("flag", "groups cut")}


@pytest.mark.parametrize("name", SETS)
def test_the_page_advises_the_best_threshold_of_the_best_score(name, found, tmp_path):
    page, _, _ = found(name, tmp_path)
    areas, best, point = best_point(name)

    flagged = {n.numbers["name"] for n in every_note(page) if n.code == "flag"}

    if np.isposinf(point.threshold):
        assert not advised_cuts(page)
    else:
        assert advised_cuts(page) == {cut_text(point.threshold, point.score_range)}
        # several scores may have the same AUC
        assert {areas[score] for score in flagged} == {areas[best]}


@pytest.mark.parametrize("name", SETS)
def test_the_best_score_is_the_one_that_is_cut(name, found, tmp_path):
    page, _, _ = found(name, tmp_path)
    notes = every_note(page)

    flagged = {n.numbers["name"] for n in notes if n.code == "flag"}
    named_best = {n.numbers["name"] for n in notes if n.code == "best"}

    assert not flagged or named_best <= flagged


@pytest.mark.parametrize("name", SETS)
def test_the_report_has_the_threshold_of_the_page(name, found, tmp_path):
    page, _, reported = found(name, tmp_path)

    sentences = []
    for question in reported["result"]["summary"]:
        sentences += question["sentences"]
    cuts = re.findall(r"gives it (\S+) or more", " ".join(sentences))

    assert len(set(cuts)) <= 1
    assert set(cuts) == advised_cuts(page)


@pytest.mark.parametrize("name", SETS)
def test_the_shell_has_the_threshold_of_the_page(name, found, tmp_path):
    page, _, _ = found(name, tmp_path)
    _, best, _ = best_point(name)
    path = tmp_path / "cut.csv"
    SETS[name][0].to_csv(path, index=False)
    line = ["threshold", path, "--label", "y", "--score", best]
    for word, column in design(name).items():
        line += [f"--{word}", column]

    output = run(*line).stdout

    assert set(re.findall(r"score is (\S+) or more", output)) == advised_cuts(page)


@pytest.mark.parametrize("name", SETS)
def test_the_slider_starts_at_the_best_threshold(name, found, tmp_path):
    page, _, _ = found(name, tmp_path)
    _, _, point = best_point(name)

    model = page.slider["models"][0]
    start = model["columns"]["threshold"][model["start"]]

    # JSON has no infinity
    assert (np.inf if start is None else start) == point.threshold


@pytest.mark.parametrize("name", SETS)
def test_there_is_one_verdict_on_calibration(name, found, tmp_path):
    page, _, _ = found(name, tmp_path)
    codes = {"miscalibrated", "close", "calibrated", "undecided"}

    verdicts = {}
    for note in every_note(page):
        if note.code in codes:
            for score in note.numbers["names"]:
                verdicts.setdefault(score, set()).add(note.code)

    for score in SETS[name][1]:
        counts = tally(name, score)
        is_probability = counts.score[-1] >= 0 and counts.score[0] <= 1
        if is_probability:
            expected = trueness.calibration_verdict(counts).code
            assert verdicts[score] == {expected}
        else:
            assert score not in verdicts


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
