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


def draw_cases(n, prevalence, sigma, rng, calibrated=True):
    """Draw labels, and scores that are their probabilities."""
    center = np.log(prevalence / (1 - prevalence))
    log_odds = center + sigma * rng.normal(size=n)
    label = (rng.random(n) < logistic(log_odds)).astype(int)
    return label, logistic(log_odds if calibrated else 3 * log_odds)


def data_set(label, design=None, **scores):
    """Return a frame, the names of its scores, and the columns of its design."""
    design = design or {}
    frame = pd.DataFrame({"y": label, **scores, **design})
    return frame, list(scores), {word: word for word in design}


def sets_of_one_score(label, chance, rng):
    other_label, _ = draw_cases(400, 0.3, 1.5, rng, calibrated=False)
    return {
        "plain": data_set(label, p=chance),
        "reversed": data_set(label, p=1 - chance),
        "not probabilities": data_set(label, p=10 * chance - 3),
        "too extreme": data_set(other_label, p=chance),
    }


def sets_of_several_scores(label, chance, rng):
    log_odds = np.log(chance / (1 - chance))
    noisy = logistic(log_odds + rng.normal(size=400))
    third = rng.random(400)
    weak = rng.random(400)
    strong = 0.9 * label + 0.1 * chance
    return {
        "two": data_set(label, p=chance, q=noisy),
        "a copy": data_set(label, p=chance, q=chance),
        "three": data_set(label, p=chance, q=np.sqrt(chance), r=third),
        "a far better one": data_set(label, weak=weak, strong=strong),
    }


def sets_with_a_design(label, chance, rng):
    rows = np.arange(400)
    weight = rng.gamma(2, size=400)
    group = np.where(rows % 2, "a", "b")
    return {
        "weights": data_set(label, {"weight": weight}, p=chance),
        "clusters": data_set(label, {"cluster": rows // 10}, p=chance),
        "groups": data_set(label, {"by": group}, p=chance),
    }


def sets_of_rare_positives(rng):
    label, chance = draw_cases(4000, 0.02, 1.5, rng)
    # errors that cancel, large, in few cases
    is_off = chance > 0.1
    label_of_off = np.where(is_off, 1, label)
    return {
        "rare": data_set(label, p=chance),
        "rare, two": data_set(label, p=chance, q=np.round(chance, 2)),
        "off in few cases": data_set(label_of_off, p=np.where(is_off, 0.35, chance)),
    }


def small_sets(rng):
    label = np.arange(200) % 2
    separated = 0.4 * label + 0.5 * rng.random(200) * 0.9
    random = rng.random(200)
    tied = np.round(0.3 * label + 0.6 * rng.random(200), 1)
    overlapping = 0.3 * label + 0.6 * rng.random(200)
    return {
        "perfect": data_set(label, p=separated),
        "random": data_set(label, p=random),
        "tied": data_set(label, p=tied),
        "one score": data_set(label, p=np.full(200, 0.5)),
        "few": data_set(label[:24], p=overlapping[:24]),
    }


def all_sets():
    """Return twenty data sets by name: frame, names of the scores, design."""
    rng = np.random.default_rng(37)
    label, chance = draw_cases(400, 0.3, 1.5, rng)
    return {
        **sets_of_one_score(label, chance, rng),
        **sets_of_several_scores(label, chance, rng),
        **sets_with_a_design(label, chance, rng),
        **sets_of_rare_positives(rng),
        **small_sets(rng),
    }


SETS = all_sets()


@pytest.fixture(scope="module")
def answers_to():
    """Ask everything once for each data set: page, evaluate, report."""
    answers = {}

    def ask(name, folder):
        if name not in answers:
            frame, scores, columns = SETS[name]
            path = folder / "data.csv"
            frame.to_csv(path, index=False)
            evaluated = shell("evaluate", path, scores, columns)
            reported = shell("report", path, scores, columns)
            answers[name] = (page_of(name), evaluated, reported)
        return answers[name]

    return ask


def design(name):
    """Return the columns of the sampling design of a data set."""
    _, _, columns = SETS[name]
    return {word: column for word, column in columns.items() if word != "by"}


def page_of(name):
    """Return the findings about a data set, with its groups where it has some."""
    frame, scores, columns = SETS[name]
    panel = trueness.panel(frame, label="y", scores=scores, **design(name))
    groups = None
    if "by" in columns:
        groups = trueness.panel(frame, label="y", scores=scores, by="by")
    return page_about(panel, groups=groups)


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
    """Return all notes of a page: of its answers, then of its findings."""
    notes = [note for _, of_answer in page.answers for note in of_answer]
    for finding in page.findings:
        notes += [*finding.answer, *finding.notes]
    return notes


def codes_of(notes):
    return {note.code for note in notes}


def tally(name, score):
    return trueness.tally(SETS[name][0], label="y", score=score, **design(name))


@pytest.mark.parametrize("name", SETS)
def test_python_and_shell_have_the_same_auc(name, answers_to, tmp_path):
    _, evaluated, _ = answers_to(name, tmp_path)
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
def test_a_score_has_one_auc_in_all_tables_of_a_page(name, answers_to, tmp_path):
    page, _, _ = answers_to(name, tmp_path)
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
def test_the_page_advises_the_best_threshold_of_the_best_score(
    name, answers_to, tmp_path
):
    page, _, _ = answers_to(name, tmp_path)
    areas, best, point = best_point(name)

    flagged = {n.numbers["name"] for n in every_note(page) if n.code == "flag"}

    if np.isposinf(point.threshold):
        assert not advised_cuts(page)
    else:
        assert advised_cuts(page) == {cut_text(point.threshold, point.score_range)}
        # several scores may have the same AUC
        assert {areas[score] for score in flagged} == {areas[best]}


@pytest.mark.parametrize("name", SETS)
def test_the_best_score_is_the_one_that_is_cut(name, answers_to, tmp_path):
    page, _, _ = answers_to(name, tmp_path)
    notes = every_note(page)

    flagged = {n.numbers["name"] for n in notes if n.code == "flag"}
    named_best = {n.numbers["name"] for n in notes if n.code == "best"}

    assert not flagged or named_best <= flagged


@pytest.mark.parametrize("name", SETS)
def test_the_report_has_the_threshold_of_the_page(name, answers_to, tmp_path):
    page, _, reported = answers_to(name, tmp_path)

    sentences = []
    for question in reported["result"]["summary"]:
        sentences += question["sentences"]
    cuts = re.findall(r"gives it (\S+) or more", " ".join(sentences))

    assert len(set(cuts)) <= 1
    assert set(cuts) == advised_cuts(page)


@pytest.mark.parametrize("name", SETS)
def test_the_shell_has_the_threshold_of_the_page(name, answers_to, tmp_path):
    page, _, _ = answers_to(name, tmp_path)
    _, best, _ = best_point(name)
    path = tmp_path / "cut.csv"
    SETS[name][0].to_csv(path, index=False)
    line = ["threshold", path, "--label", "y", "--score", best]
    for word, column in design(name).items():
        line += [f"--{word}", column]

    output = run(*line).stdout

    assert set(re.findall(r"score is (\S+) or more", output)) == advised_cuts(page)


@pytest.mark.parametrize("name", SETS)
def test_the_slider_starts_at_the_best_threshold(name, answers_to, tmp_path):
    page, _, _ = answers_to(name, tmp_path)
    _, _, point = best_point(name)

    model = page.slider["models"][0]
    start = model["columns"]["threshold"][model["start"]]

    # JSON has no infinity
    assert (np.inf if start is None else start) == point.threshold


@pytest.mark.parametrize("name", SETS)
def test_there_is_one_verdict_on_calibration(name, answers_to, tmp_path):
    page, _, _ = answers_to(name, tmp_path)
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
            expected = trueness.calibration_verdict(counts).verdict
            assert verdicts[score] == {expected}
        else:
            assert score not in verdicts


def test_large_errors_in_few_cases_are_seen(answers_to, tmp_path):
    page, _, _ = answers_to("off in few cases", tmp_path)

    text = "\n".join(say(note, REPORT) for note in every_note(page))

    assert "are not probabilities" in text
    assert re.search(r"Of 100 cases scored about 0\.35, \d+ are", text)


@pytest.mark.parametrize("name", SETS)
def test_no_two_sentences_about_two_scores_contradict(name, answers_to, tmp_path):
    page, _, _ = answers_to(name, tmp_path)
    of_differences = {"better", "not better", "better in use"}
    of_combinations = {"together better", "together worse", "together open"}

    codes = codes_of(every_note(page))

    assert len(of_differences & codes) <= 1
    assert len(of_combinations & codes) <= 1


@pytest.mark.parametrize("name", SETS)
def test_a_sentence_about_a_combination_follows_from_its_gain(
    name, answers_to, tmp_path
):
    page, _, _ = answers_to(name, tmp_path)

    for note in every_note(page):
        gain = note.numbers.get("gain")
        if note.code == "together better":
            assert gain.low > 0
        if note.code == "together open":
            assert gain.low <= 0 <= gain.high


def sentences_of(text):
    return re.split(r"(?<=[.?!:;])\s", text)


@pytest.mark.parametrize("name", SETS)
def test_sentences_are_short_and_say_no_flag(name, answers_to, tmp_path):
    page, evaluated, reported = answers_to(name, tmp_path)

    of_page = [say(note, REPORT) for note in every_note(page)]
    of_shell = evaluated["sentences"] + reported["sentences"]

    for text in of_page:
        assert "--" not in text
        assert "=" not in text or "p = " in text or "J = " in text, text
    for text in (*of_page, *of_shell):
        for sentence in sentences_of(text):
            assert len(sentence.split()) <= LONGEST + 5, sentence
        assert "nan" not in text.lower().split()


def test_every_sentence_of_the_catalogue_is_short():
    for code, text in CATALOGUE.items():
        for sentence in sentences_of(text):
            assert len(sentence.split()) <= LONGEST, code


def test_each_face_speaks_its_own_language(answers_to, tmp_path):
    page, _, _ = answers_to("plain", tmp_path)

    note = next(note for note in every_note(page) if note.code == "price")

    assert "--cost-fp" in say(note, SHELL)
    assert "cost={" in say(note, PYTHON)
    assert "under Costs" in say(note, PAGE)
    assert str(note) == say(note, PYTHON)


CONSTRAINT = "recall >= 0.8"


@pytest.fixture
def of_faces(tmp_path):
    """Ask both commands, and read the page of the report, with a constraint."""
    frame, _, _ = SETS["plain"]
    path = tmp_path / "data.csv"
    page = tmp_path / "r.html"
    frame.to_csv(path, index=False)
    line = [path, "--label", "y", "--score", "p"]
    line += ["--maximize", "precision", "--subject-to", CONSTRAINT]

    def ask(*options):
        by_command = answer("threshold", *line, *options)["result"]
        answer("report", *line, *options, "-o", page)
        return by_command, page.read_text(encoding="utf-8")

    return ask


def test_with_a_constraint_every_face_advises_the_same_threshold(of_faces):
    """Python, both commands and the page of a report agree."""
    counts = tally("plain", "p")

    by_command, report = of_faces()

    validation = trueness.validate_threshold(
        counts, "precision", CONSTRAINT, constraints_on="new cases"
    )
    threshold = validation.choice.threshold
    assert validation.metrics["recall"].value >= 0.8
    assert by_command["threshold"] == threshold
    assert f"gives it {cut_text(threshold, by_command['score_range'])} or" in report
    assert "it could be as low as" in report


def test_with_a_guarantee_every_face_advises_the_same_threshold(of_faces):
    counts = tally("plain", "p")

    by_command, report = of_faces("--guarantee", "0.9")

    threshold = trueness.guaranteed_threshold(
        counts, CONSTRAINT, maximize="precision", level=0.9
    ).threshold
    assert by_command["threshold"] == threshold
    assert f"gives it {cut_text(threshold, by_command['score_range'])} or" in report
    assert "With 90\N{NO-BREAK SPACE}% confidence, recall" in report
