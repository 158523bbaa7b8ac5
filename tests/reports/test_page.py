"""What a report says and shows, read from its parts and from its HTML."""

import json
import re
from html.parser import HTMLParser

import numpy as np
import pandas as pd
import pytest

import trueness
from trueness._core.numbers import about, percent
from trueness.findings import subject as subjects
from trueness.findings.notes import REPORT, say
from trueness.findings.page import page_about as page_of_request
from trueness.findings.request import Request, as_constraints
from trueness.findings.slider_steps import steps
from trueness.findings.which_is_better import sample_of_panel
from trueness.reports import render
from trueness.reports.svg import draw


def page_about(data, *, groups=None, subject_to=(), **question):
    """Find what a report shows; ``question`` are fields of the request."""
    request = Request(subject_to=as_constraints(subject_to), **question)
    return page_of_request(data, request, groups=groups)


def cases(rng, n, shift=1.0):
    y = (np.arange(n) % 5 < 2).astype(int)
    return y, np.round(rng.normal(size=n) + shift * y, 2)


@pytest.fixture(scope="module")
def panel():
    y, a = cases(np.random.default_rng(11), 500)
    p = 1 / (1 + np.exp(-a))
    return trueness.panel(y, {"a": p, "b": a - 3, "c": np.round(p**2, 2)})


@pytest.fixture(scope="module")
def page(panel):
    return page_about(panel, subject_to=["recall >= 0.7"])


def words(page):
    return " ".join(say(n, REPORT) for _, notes in page.answers for n in notes)


def keys(page):
    return [f.key for f in page.findings]


def section(page, key="threshold"):
    return page.findings[keys(page).index(key)]


def said(page, key="threshold"):
    found = section(page, key)
    return " ".join(say(n, REPORT) for n in (*found.answer, *found.notes))


def figure(page, title):
    return next(f for f in section(page).figures if f.title == title)


def at_start(page):
    model = page.slider["models"][0]
    return {k: v[model["start"]] for k, v in model["columns"].items()}


def test_the_summary_answers_five_questions_with_the_librarys_numbers(page, panel):
    assert [question for question, _ in page.answers] == [
        "What should you do?",
        "How good is it?",
        "How sure are we?",
        "What should you keep in mind?",
        "What was measured?",
    ]
    value = trueness.auc(panel["a"])
    assert f"AUC {value.value:.3f}" in words(page)
    assert f"between {value.low:.3f} and {value.high:.3f}" in words(page)
    point = trueness.best_threshold(panel["a"], "youden", "recall >= 0.7")
    assert f"{point.threshold:.4g} or more" in words(page)
    # a constraint is told by its report and by the command in one sentence
    check = trueness.validate_threshold(panel["a"], "youden", "recall >= 0.7")
    share = percent(check.holds["recall >= 0.7"])
    assert f"met recall >= 0.7 in {share} of them, on the cases left out" in words(page)
    (each, _) = section(page, "comparison").tables
    assert each.caption.endswith("subject to recall >= 0.7 on new cases")


def test_prices_choose_the_cut(panel):
    page, free = (
        page_about(panel["a"], cost={"fp": 1, "fn": 30}),
        page_about(panel["a"]),
    )
    assert (
        "The table shows the expected performance on new cases" in section(page).method
    )
    assert "The chosen threshold minimises cost(fp=1, fn=30)." in said(page)
    best = trueness.best_threshold(panel["a"], minimize=trueness.cost(fp=1, fn=30))
    assert at_start(page)["threshold"] == best.threshold
    paid = "Lower is better. A false positive costs 1, a false negative 30."
    assert figure(page, "What a threshold costs").note == paid
    assert "one missed case" not in words(page)
    ratio = panel["a"].n_neg / panel["a"].n_pos
    assert f"treats one missed case as {ratio:.3g} false alarms" in words(free)
    assert "No costs were given" in figure(free, "What a threshold costs").note


def test_net_benefit_is_that_of_the_decision_curve(page, panel):
    lines = figure(page, "Net benefit").data.lines

    (line,) = [each for each in lines if each.name == "a"]
    expected = trueness.decision_curve(panel["a"], threshold=line["p"]).net_benefit
    assert line["y"] == pytest.approx(expected, abs=1e-9)


def test_the_table_of_costs_is_that_of_the_cost_curve(page, panel):
    _, table = draw(figure(page, "Cost for every cost ratio"))

    rows_of_a = [row for row in table.texts if row[0] == "a"]
    _, _, ratio, cost, low, *_ = rows_of_a[3]
    curve = trueness.cost_curve(panel["a"], at=[float(ratio)])
    expected = [curve.cost[0], curve.low[0]]
    assert [float(cost), float(low)] == pytest.approx(expected, rel=0.005)


def test_scores_that_are_no_probabilities_have_no_net_benefit(panel):
    titles = [f.title for f in section(page_about(panel["b"])).figures]
    assert "Net benefit" not in titles
    assert "Cost for every cost ratio" in titles
    drawn = figure(page_about(panel), "Net benefit")
    assert {row[0] for row in draw(drawn)[1].texts} == {"a", "c"}


def test_constraints_are_shaded_where_they_do_not_hold(panel):
    page = page_about(panel["a"], subject_to=["recall >= 0.7", "fpr <= 0.5"])

    svg, _ = draw(figure(page, "ROC curve"))

    # the plane is 292 wide from 54, and 262 high up from 274
    half_fpr = 54 + 0.5 * 292
    recall_70 = 274 - 0.7 * 262
    across, down = corners_of_areas(str(svg), "area forbidden")
    assert np.isclose(across, half_fpr, atol=1).any()
    assert np.isclose(down, recall_70, atol=1).any()
    left_of_it = across < half_fpr - 3
    assert (down[left_of_it] > recall_70 - 3).all()


def corners_of_areas(svg, kind):
    """Return the corners of areas, which are written as steps from the first."""
    corners = []
    for path in re.findall(f'class="{kind}" d="M([^"]*)Z"', svg):
        steps = np.array(path.replace("l", " ").split(), float).reshape(-1, 2)
        corners.append(steps.cumsum(axis=0))
    return np.vstack(corners).T


def test_sections_follow_what_there_is_and_describe_themselves(page, panel):
    several = ["comparison", "ensembles"]
    last = ["calibration", "ranking", "by-name"]
    assert keys(page) == ["threshold", *several, *last]
    assert keys(page_about(panel["a"])) == ["threshold", *last]
    both = page_about(panel["a"], groups={"x": panel["a"], "y": panel["a"]})
    assert "groups" in keys(both)
    for found in page.findings:
        assert found.caveat
        assert re.search(r"doi:10\.\d+/", found.method)
        for drawn in map(draw, found.figures):
            assert len(re.search(r'aria-label="([^"]+)"', str(drawn[0]))[1]) > 20
            assert drawn[1].texts


def test_a_log_loss_without_an_upper_limit_says_why():
    y, p = np.tile([0, 1, 0, 1], 20), np.tile([0.2, 0.7, 0.4, 0.6], 20)
    right, wrong = p.copy(), p.copy()
    right[:2], wrong[:2] = (0, 1), (1, 0)
    page = page_about(trueness.panel(y, {"right": right, "wrong": wrong, "p": p}))
    found = said(page, "calibration")
    assert "The log loss of wrong is infinite: a score" in found
    assert "The log loss of right has no upper bound: one" in found
    assert " to infinite)" in render(page, "1.0")


def test_steps_hold_exact_counts_and_the_chosen_cut(rng):
    y = rng.integers(0, 2, 5000)
    t = trueness.tally(y, rng.normal(size=y.size) + y)
    cut = trueness.best_threshold(t, "f1").threshold

    slider = steps(t, "t", cut)

    assert slider.start_threshold == cut
    assert len(slider.threshold) <= 403
    for k in range(0, len(slider.threshold), 25):
        flagged = t.score >= slider.threshold[k]
        assert slider.tp[k] == t.pos[flagged].sum()
        assert slider.fp[k] == t.neg[flagged].sum()
    assert (slider.tp[-1], slider.fp[-1]) == (t.n_pos, t.n_neg)


EDGES = {
    "two cases": trueness.tally([0, 1], [0.2, 0.7]),
    "all tied": trueness.tally([0, 1, 0, 1], [0.5, 0.5, 0.5, 0.5]),
    "perfect": trueness.tally([0] * 30 + [1] * 30, np.linspace(0, 1, 60)),
    "upside down": trueness.tally([1] * 30 + [0] * 30, np.linspace(0, 1, 60)),
    "one positive": trueness.tally([1] + [0] * 50, np.linspace(1, 0, 51)),
    "mostly unknown": trueness.tally([1, 0] + [None] * 98, np.linspace(0, 1, 100)),
    "huge counts": trueness.Tally([0.9, 0.1], pos=[10**9, 10**8], neg=[10**8, 10**9]),
    "binned": trueness.tally([0, 0, 1, 0, 1, 1] * 9, np.linspace(0, 1, 54)).bin(9),
    "huge scores": trueness.tally([0, 1, 1, 0], [-1e100, 1e100, 5e99, 0]),
}


@pytest.mark.parametrize("name", EDGES)
def test_edges_make_a_report(name):
    text = trueness.reports.html(EDGES[name])
    assert text.startswith("<!doctype html>")
    assert "nan" not in re.sub(r"<script.*?</script>", "", text, flags=re.S).split()


@pytest.mark.parametrize(
    ("asked", "match"),
    [
        ({"subject_to": ["recall >= 1", "fpr <= 0"]}, "cannot be met"),
        ({"level": 95}, "level must lie in"),
        ({"maximize": "f1", "minimize": "fpr"}, "not both"),
        ({"at": 0.4, "maximize": "f1"}, "nothing to choose"),
        ({"calibrator": "beta", "classifier": "nobody"}, "classifier must be one of"),
        ({"path": "r.pdf"}, r'A browser prints it to a PDF file. Type path="r.html"'),
    ],
)
def test_what_cannot_be_asked_of_a_report_is_said(asked, match, panel, tmp_path):
    path = tmp_path / "report.html"
    path.write_text("old")
    with pytest.raises(ValueError, match=match):
        trueness.report(panel, **{"path": path} | asked)
    assert path.read_text() == "old"  # a file is written whole, or not at all
    assert [p.name for p in tmp_path.iterdir()] == ["report.html"]


def test_what_cannot_be_reported_is_said(panel, tmp_path):
    with pytest.raises(trueness.NotEnoughCases, match="report needs at least one pos"):
        trueness.reports.html(trueness.tally([0, 0], [0.1, 0.2]))
    with pytest.raises(trueness.InputError, match=r"Type trueness\.report\(y_"):
        trueness.report(([0, 1], [0.1, 0.2]), tmp_path / "r.html")
    made = trueness.report(panel["a"], tmp_path / "r.html")
    assert made.path.read_text(encoding="utf-8").startswith("<!doctype html>")


@pytest.mark.slow
def test_many_classifiers_and_groups_stay_under_two_megabytes(rng, monkeypatch):
    # they do not add figures
    monkeypatch.setattr("trueness.findings.which_is_better.MOST_PAIRS", 3)
    y = (np.arange(300) % 3 == 0).astype(int)
    columns = {f"model {k}": rng.random(y.size) * (1 + y) / 2 for k in range(20)}
    groups = trueness.panel(y, columns, by=np.arange(y.size) // 10)
    text = trueness.reports.html(trueness.panel(y, columns), groups=groups)
    assert len(text.encode()) < 2_000_000
    assert text.count("<td>") > 3000  # all of them are there


class Reader(HTMLParser):
    """Collects tags, and what could load or run something."""

    def __init__(self):
        super().__init__()
        self.tags, self.suspicious = [], []

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        for name, value in attrs:
            away = name == "href" and not value.startswith("#")
            loads = name in ("src", "style", "srcset", "action")
            if away or loads or name.startswith("on"):
                self.suspicious.append((tag, name, value))


HOSTILE = [
    "</script><script>window.hacked=1</script>\u202e\x1b[0m",
    "<img src=x onerror='window.hacked=1'>",
    "\"' onmouseover='window.hacked=1' x=\"",
    "🦟 mosquito {{ 7*7 }} {% raw %}",
    "x" * 10_000,
    "x" * 10_001,
    "<!--",
    "javascript:window.hacked=1",
]


def test_hostile_names_never_become_markup():
    rng = np.random.default_rng(0)
    y, a = cases(rng, 60)
    columns = {name: a + rng.normal(size=y.size) for name in HOSTILE}
    hostile = trueness.panel(y, columns)
    head = {"title": HOSTILE[0], "source": HOSTILE[1]}
    groups = {HOSTILE[0]: hostile, "b": hostile}
    text = trueness.reports.html(hostile, **head, groups=groups)
    reader = Reader()
    reader.feed(text)
    assert reader.tags.count("script") == 2
    assert "img" not in reader.tags
    assert reader.suspicious == []
    assert not {"\u202e", "\x1b"} & set(text)
    data = json.loads(re.search(r'id="data">(.*?)</script>', text, re.DOTALL)[1])
    names = {m["name"] for m in data["models"]}
    assert len(names) == len(HOSTILE)
    assert max(map(len, names)) <= 60
    assert "🦟 mosquito {{ 7*7 }} {% raw %}" in names


def test_of_very_many_cases_some_are_drawn_and_the_page_says_so(panel, monkeypatch):
    monkeypatch.setattr("trueness.findings.which_is_better.MOST_ROWS", 120)
    monkeypatch.setattr("trueness.findings.which_is_better.MOST_PAIRS", 1)
    few, drawn = sample_of_panel(panel, rng=0)
    assert few.n == 120
    assert drawn == "120 of the 500 cases, drawn at random"
    whole, some = (
        {tuple(r): (n, p) for r, n, p in zip(x.rows, x.neg, x.pos, strict=True)}
        for x in (panel, few)
    )
    assert all(n <= whole[r][0] and p <= whole[r][1] for r, (n, p) in some.items())
    page = page_about(panel)
    assert f"Curves were compared on {drawn};" in said(page, "comparison")
    assert f"Combinations were compared on {drawn};" in said(page, "ensembles")


def test_a_binned_tally_shows_between_which_numbers_the_truth_lies(panel):
    exact, coarse = panel["a"], panel["a"].bin(12)
    page = page_about(coarse)
    rows = {row[0]: row[1:] for row in section(page, "scale").tables[0].texts}
    truth = {"AUC": trueness.auc(exact), "Brier score": trueness.brier(exact)}
    for what, value in truth.items():
        low, high = (float(v) for v in rows[what][1].split(" and "))
        assert low <= float(value) <= high
    assert f"The exact AUC certainly lies between {rows['AUC'][1]}" in words(page)
    assert "scale" not in keys(page_about(exact))


def test_groups_at_the_same_cut():
    data = pd.read_csv(trueness.samples.path("west_nile"))
    names = {"label": "virus", "scores": ["boosting"]}
    whole = trueness.panel(data, **names)
    page = page_about(whole, groups=trueness.panel(data, **names, by="year"))
    rows = {row[0]: row for row in section(page, "groups").tables[0].texts}
    assert list(rows) == ["2007", "2009", "2011", "2013"]
    part = data[data.year == 2013]
    cut = trueness.best_threshold(whole["boosting"], "youden").threshold
    found = ((part.boosting >= cut) & (part.virus == 1)).sum() / part.virus.sum()
    assert rows["2013"][5] == f"{found:.3g}"
    assert rows["2013"][1] == f"{len(part):,}"


def test_a_report_says_which_model_its_results_come_from():
    """Tests of HIV make the same errors: no single number reads like an answer."""
    names = ["V1", "V2", "V3", "V4"]
    rows = trueness.scan(trueness.samples.path("hiv"))
    votes = trueness.panel(rows, scores=names, count="count")
    post = trueness.latent_class(votes)
    page = trueness.reports.html(votes).replace("\N{NO-BREAK SPACE}", " ")
    ends = (post.prevalence.low, post.prevalence.high)
    low, high = (f"{100 * v:.1f} %" for v in ends)
    assert f"{low} to {high}" in page
    assert "not determined by the verdicts alone" in page
    assert "if errors were independent" in page
    assert "All results assume that" not in page
    assert ">nan" not in page
    with pytest.raises(trueness.InputError, match="needs several classifiers"):
        trueness.reports.html(votes["V1"])


def test_scores_without_labels_have_no_headline():
    seen = trueness.simulate_panel(3000, 900, [0.7, 0.75, 0.8, 0.72], rng=0)

    page = page_about(seen.without_labels())

    alone = trueness.agreement(seen.without_labels()).independent
    area = alone.auc["C3"].value
    assert abs(area - 0.8) < 0.02
    assert keys(page) == ["nogold"]
    assert page.tiles[0][1] == "0 % to 100 %"
    assert "Scores alone determine neither prevalence nor AUCs" in words(page)
    assert f"would rank best, with an AUC of {area:.3f}" in words(page)
    assert f"(goodness of fit, p-value {alone.misfit:.2g})" in words(page)


def test_three_scores_cannot_contradict_independence():
    seen = trueness.simulate_panel(3000, 900, [0.7, 0.75, 0.8], rng=0)

    page = page_about(seen.without_labels())

    assert "cannot show whether errors are independent" in words(page)


def test_independence_that_scores_refute_is_not_drawn():
    pairs = np.eye(4)
    pairs[0, 1] = pairs[1, 0] = 0.7
    aucs = [0.7, 0.75, 0.8, 0.72]
    seen = trueness.simulate_panel(3000, 900, aucs, correlation=pairs, rng=0)

    page = page_about(seen.without_labels())

    assert "The scores contradict independent errors" in words(page)
    assert page.findings[0].figures == ()


def test_votes_are_drawn_for_shared_and_for_independent_errors():
    frame = pd.read_csv(trueness.samples.path("hiv"))
    votes = trueness.panel(frame, scores=["V1", "V2", "V3", "V4"], count="count")

    page = page_about(votes)

    posterior = trueness.latent_class(votes)
    sensitivity, _ = page.findings[0].figures
    lows = [e.low for e in posterior.sensitivity.values()]
    alone = [e.value for e in posterior.independent.sensitivity.values()]
    assert sensitivity.data.low.tolist() == lows
    assert sensitivity.data.marks["if errors were independent"].tolist() == alone
    assert ">nan" not in trueness.reports.html(votes)


def test_one_classifier_that_cannot_meet_the_limits_does_not_stop_the_report():
    good = trueness.Tally([3, 2, 1], pos=[8, 2, 0], neg=[0, 3, 7])
    panel = trueness.Panel(
        ["good", "poor"],
        [[3, 1], [3, 2], [2, 1], [2, 2], [1, 1], [1, 2]],
        pos=[4, 4, 1, 1, 0, 0],
        neg=[0, 0, 1, 2, 4, 3],
    )
    limits = ["recall >= 0.8", "precision >= 0.9"]
    page = page_about(panel, subject_to=limits)
    assert "poor: no threshold meets the constraints" in words(page)
    cut = trueness.best_threshold(good, "youden", subject_to=limits).threshold
    assert f"gives it {cut:.4g} or more" in words(page)
    with pytest.raises(trueness.Infeasible, match="good: 2 constraints"):
        page_about(panel, subject_to=["recall >= 1", "specificity >= 0.99"])


def test_shares_are_of_the_cases_with_a_label():
    t = trueness.Tally([0.9, 1.5], pos=[3, 30], neg=[30, 10], unknown=[40, 2])
    page = page_about(t)
    assert "115 cases; of the 73 with a label 33 are positive (45.2 %)" in words(page)
    assert "42 of 115 cases have no label and were left out" in words(page)
    assert "fall outside 0 to 1, so they are not probabilities" in words(page)


def test_calibration_and_planning_are_shown_when_asked_for(panel):
    assert not {"calibrated", "planning"} & set(keys(page_about(panel["c"])))
    page = page_about(panel, calibrator="beta", half_width=0.01, classifier="c")
    gain = trueness.calibration_gain(panel["c"], method="beta", rng=0)
    numbers = section(page, "calibrated").numbers
    assert numbers["brier"]["cross_fitted"] == gain.cross_fitted
    assert "After calibration" in said(page, "calibrated")
    t = panel["c"]
    area = trueness.auc(t).value
    plan = trueness.plan_auc(auc=area, prevalence=t.prevalence, half_width=0.01)
    assert f"{about(plan.n - t.n)} more than now" in said(page, "planning")


def test_groups_are_counts_and_not_the_name_of_a_column(panel, tmp_path):
    with pytest.raises(trueness.InputError, match="found 'site'") as caught:
        trueness.report(panel, tmp_path / "x.html", groups="site")

    assert caught.value.option == "groups"
    assert 'by="site"' in str(caught.value)


def test_a_prevalence_of_use_chooses_the_cut_and_is_read_out(panel):
    rare = panel["a"].with_design(prevalence=0.02)
    page = page_about(rare, maximize="accuracy")
    best, found = trueness.best_threshold(rare, "accuracy"), at_start(page)
    assert found["threshold"] == best.threshold
    used = best.confusion.at_prevalence(0.02)
    for name in ("flagged_rate", "precision", "npv"):
        rate = float(trueness.METRICS[name](used))
        assert percent(found[name]) == percent(rate)
    # the matrix counts the cases as they are
    assert (found["tp"], found["fp"]) == (best.confusion.tp, best.confusion.fp)
    assert dict(page.facts)["for a prevalence of"] == "2.00 %"
    assert "are for a prevalence of 2.00\N{NO-BREAK SPACE}%" in render(page, "0")
    assert "at a prevalence of 2.00 %" in words(page)


def test_two_cuts_and_a_range_have_their_sections(panel):
    two = {"minimize": "cost(fp=1, fn=10, defer=0.3)", "subject_to": ["defer <= 0.5"]}
    page = page_about(panel, **two, prevalences=(0.05, 0.2))
    z = trueness.best_thresholds(panel["a"], **two)
    assert f"below {z.lower:.6g}, and positive when it is {z.upper:.6g}" in words(page)
    rows = section(page, "zones").tables[0].texts
    assert rows[1][1:3] == [str(z.deferred_pos), str(z.deferred_neg)]
    cost = trueness.cost(fp=1, fn=10)  # a single cut defers nothing
    point = trueness.best_threshold(panel["a"], minimize=cost, prevalences=(0.05, 0.2))
    assert f"score of {point.threshold:.4g} or more" in said(page, "prevalence")
    assert "The chosen threshold minimises cost(fp=1, fn=10)." in said(page)


def test_a_cut_for_each_group():
    y, s = cases(np.random.default_rng(2), 600)
    groups = trueness.tally(y, s, by=np.array(["n", "s", "w"])[np.arange(600) % 3])
    limits = ["recall_gap <= 0.02", "flagged <= 200"]
    page = page_about(trueness.tally(y, s), groups=groups, subject_to=limits)
    g = trueness.group_thresholds(groups, "youden", limits)
    rows = {
        row[0]: float(row[1]) for row in section(page, "group-cuts").tables[0].texts
    }
    assert rows == pytest.approx(g.thresholds, abs=0.01)
    told = said(page, "group-cuts")
    assert "no other choice of thresholds is better" in told
    assert told.count("recall_gap 0.") == 2  # with a threshold each, and with one
    with pytest.raises(trueness.InputError, match="need two groups"):
        page_about(trueness.tally(y, s), groups={"n": groups["n"]}, subject_to=limits)


def test_a_threshold_that_is_given_is_shown_and_not_chosen(panel):
    page = page_about(panel["a"], at=0.4)
    c = trueness.confusion(panel["a"], 0.4)
    wilson = trueness.at_threshold(panel["a"], 0.4)["recall"]
    _, value, detail, _ = page.tiles[1]
    assert value == f"{100 * c.tp / (c.tp + c.fn):.1f} %"
    assert f"{100 * wilson.low:.1f} %" in detail
    assert "The threshold 0.4 was given." in said(page)
    assert "treat the given threshold as fixed" in section(page).method
    assert "tuned" not in words(page)


def test_classes_are_held_against_the_rest(tmp_path):
    rng = np.random.default_rng(5)
    y, p = rng.choice(list("abc"), 300), rng.random((300, 3))
    p[y == "a", 0] += 0.4
    classes = trueness.one_vs_rest(y, p)
    page = page_about(classes, classes=True)
    assert "3 classes, each compared with the rest" in words(page)
    assert "a against the rest" in page.tiles[0].name
    assert trueness.report(classes, tmp_path / "r.html").size > 1000
    two = {"a": classes["a"], "b": trueness.tally([0, 1], [1, 2])}
    with pytest.raises(trueness.InputError, match="one_vs_rest"):
        page_about(two, classes=True)


def test_values_and_their_limits_are_both_of_new_cases(panel):
    page = page_about(panel["a"], maximize="f1")
    found = trueness.validate_threshold(panel["a"], "f1").metrics
    share = [f"{100 * found[k].value:.1f} %" for k in ("recall", "precision")]
    assert [t[1] for t in page.tiles[1:3]] == share
    assert all(t[0].endswith("on new cases") for t in page.tiles[1:3])
    assert f"detects {share[0]} of the positives" in words(page)
    (table,) = section(page).tables
    assert "on new cases" in table.caption
    recall = found["recall"]
    assert dict(table.texts)["recall (sensitivity)"] == (
        f"{recall.value:.3f} ({recall.low:.3f} to {recall.high:.3f})"
    )


@pytest.fixture(scope="module")
def designed_cases():
    """Return labels and probabilities of 150 cases, and a generator for the design."""
    rng = np.random.default_rng(3)
    label, score = cases(rng, 150)
    return label, 1 / (1 + np.exp(-score)), rng


def report_of_two_scores(label, probability, **design):
    """Write a report with all optional sections, and return its HTML."""
    scores = {"a": probability, "b": np.round(probability, 1).clip(0.1, 0.9)}
    return trueness.reports.html(
        label, scores, calibrator="beta", half_width=0.02, **design
    )


def interval_in_words(estimate):
    return f"95\N{NO-BREAK SPACE}% CI {estimate.low:.3f} to {estimate.high:.3f}"


def test_a_report_takes_weights_and_clusters(designed_cases):
    label, probability, rng = designed_cases
    design = {"weight": rng.gamma(3, size=150), "cluster": np.arange(150) // 5}

    text = report_of_two_scores(label, probability, **design)

    area = trueness.auc(label, probability, **design)
    assert interval_in_words(area) in text
    assert "<dt>clusters</dt><dd>30</dd>" in text


def test_a_report_takes_a_prevalence(designed_cases):
    label, probability, _ = designed_cases
    design = {"sampling": "case-control", "prevalence": 0.02}

    text = report_of_two_scores(label, probability, **design)

    area = trueness.auc(label, probability, **design)
    assert interval_in_words(area) in text
    assert "prevalence of 2.00\N{NO-BREAK SPACE}%" in text


def test_a_report_takes_labels_missing_at_random(designed_cases):
    label, probability, rng = designed_cases
    some_labels = np.where(rng.random(150) < 0.3, np.nan, label)
    design = {"unlabelled": "missing at random"}

    text = report_of_two_scores(some_labels, probability, **design)

    area = trueness.auc(some_labels, probability, **design)
    assert interval_in_words(area) in text
    assert "positives among labelled" in text


def test_a_report_needs_the_prevalence_of_cases_chosen_by_class(
    designed_cases, tmp_path
):
    label, probability, _ = designed_cases

    with pytest.raises(trueness.InputError, match="case-control"):
        trueness.report(
            label, probability, tmp_path / "r.html", sampling="case-control"
        )


def test_the_dot_is_on_the_curves_at_another_prevalence(designed_cases):
    label, probability, _ = designed_cases
    tally = trueness.tally(label, probability, prevalence=0.02)

    values = at_start(page_about(tally))

    curve = trueness.precision_recall(tally)
    recalls = map(percent, curve.recall)
    points = set(zip(recalls, map(percent, curve.precision), strict=True))
    assert (percent(values["recall"]), percent(values["precision"])) in points


def fifty_classifiers():
    """Return scores of 40 cases that tell the classes apart better and better."""
    label = np.arange(40) % 2
    noise = np.random.default_rng(0).normal(size=(40, 50))
    scores = {f"m{k}": label * k / 10 + noise[:, k] for k in range(50)}
    return label, scores


def test_the_best_classifiers_are_kept():
    label, scores = fifty_classifiers()
    panel = trueness.panel(label, scores)
    areas = {name: trueness.auc(label, s).value for name, s in scores.items()}
    best = sorted(areas, key=areas.get)[-subjects.MOST_MODELS :]

    kept, sentence = subjects.strongest_classifiers(panel, "")

    assert list(kept.names) == [name for name in panel.names if name in best]
    assert sentence == "the 20 of 50 scores with the highest AUC; 30 were left out"
    assert subjects.strongest_classifiers(kept, "") == (kept, "")


def test_the_classifier_that_is_asked_for_is_kept():
    panel = trueness.panel(*fifty_classifiers())

    kept, _ = subjects.strongest_classifiers(panel, "m0")

    assert "m0" in kept.names


def test_the_largest_groups_are_kept(monkeypatch):
    monkeypatch.setattr(subjects, "MOST_GROUPS", 2)
    groups = {
        "a": trueness.simulate_tally(30, 15, 0.8, rng=30),
        "b": trueness.simulate_tally(60, 30, 0.8, rng=60),
        "c": trueness.simulate_tally(40, 20, 0.8, rng=40),
    }

    page = page_about(groups["a"] + groups["b"] + groups["c"], groups=groups)

    assert dict(page.facts)["groups"] == "the 2 largest of 3; 1 were left out"
    assert [row[0] for row in section(page, "groups").tables[0].rows] == ["b", "c"]


def test_a_score_that_ranks_the_wrong_way_round_is_told(panel):
    y = np.repeat([0, 1], 60)
    scores = {"up": np.arange(120.0), "down": -np.arange(120.0)}
    page = page_about(trueness.panel(y, scores))
    told = "down ranks positives below negatives: its AUC is below 0.5."
    assert told in words(page)
    assert told in said(page, "comparison")


def test_a_rule_that_flags_nothing_is_not_given_a_precision():
    page = page_about(trueness.tally(np.repeat([1, 0], 60), np.arange(120.0)))
    given = page_about(trueness.tally([0, 1] * 30, np.arange(60.0)), at=60.0)
    for some in (page, given):
        assert words(some).count("nothing is flagged: recall is 0") == 1
        assert "f the flagged cases" not in words(some)
    assert [t.value for t in page.tiles[1:]] == ["0 %", "undefined", "flag nothing"]
    assert section(page).tables == ()


RECALL = "recall >= 0.9"


def page_on_recall(label, score, counts):
    """Return the page of counts that are to keep a recall, with two groups."""
    groups = {half: trueness.tally(label[half::2], score[half::2]) for half in (0, 1)}
    return page_about(counts, groups=groups, maximize="precision", subject_to=RECALL)


@pytest.fixture(scope="module", params=["cases", "weights"])
def on_recall(request):
    """Return counts of plain cases, or of weighted ones, and their page."""
    rng = np.random.default_rng(5)
    label, score = cases(rng, 300)
    weight = rng.gamma(3, size=300)
    counts = trueness.tally(label, score)
    if request.param == "weights":
        counts = trueness.tally(label, score, weight=weight)
    return request.param, counts, page_on_recall(label, score, counts)


def test_tables_say_whether_cases_or_weights_were_counted(on_recall):
    counted, _, page = on_recall

    head = section(page, "groups").tables[0].head

    expected = ("cases", "positive")
    if counted == "weights":
        expected = ("weight", "of positives")
    assert head[1:3] == expected


def test_a_guarantee_is_advised_of_cases_alone(on_recall):
    counted, _, page = on_recall

    codes = set()
    for _, notes in page.answers:
        codes |= {note.code for note in notes}

    assert ("rarely met" in codes) == (counted == "cases")


def test_the_advised_threshold_is_expected_to_keep_the_bound(on_recall):
    _, counts, page = on_recall

    validation = trueness.validate_threshold(
        counts, "precision", RECALL, constraints_on="new cases"
    )

    recall = validation.metrics["recall"]
    assert recall.value >= 0.9
    expected = (
        "At least 90.0 % is required of recall (sensitivity): on new cases expect "
        f"{percent(recall.value)}; it could be as low as {percent(recall.low)}."
    )
    assert f"the threshold met {RECALL} in" in words(page)
    assert expected in words(page)


def test_flagged_cases_have_an_interval(on_recall):
    _, _, page = on_recall

    flagged = dict(section(page).tables[0].texts)["cases flagged"]

    assert re.fullmatch(r"[\d,]+ \([\d,]+ to [\d,]+\)", flagged)


def test_how_far_scores_are_off_is_said_of_the_worse_one(panel):
    y, a = cases(np.random.default_rng(11), 500)
    p = 1 / (1 + np.exp(-a))
    page = page_about(trueness.panel(y, {"p": p**3, "worse": p**9}))
    assert "The scores of p and worse are not probabilities" in said(
        page, "calibration"
    )
    assert "worse: On average, score and" in said(page, "calibration")


def test_two_tests_without_labels_say_what_comes_from_the_prior():
    seen = trueness.simulate_panel(400, 160, [0.8, 0.85, 0.9], rng=0).without_labels()
    votes = seen.vote({"C1": 0, "C2": 0, "C3": 0})
    two, three = (trueness.latent_class(v) for v in (votes[["C1", "C2"]], votes))
    assert "from the prior" in two.notes[0]
    assert "set dependence" not in two.notes[0]
    assert "set dependence to 'none' if errors are known" in three.notes[0]
    page = page_about(votes[["C1", "C2"]])
    assert "would then come from the prior" in words(page)
    assert "if errors were independent" not in [t[0] for t in page.tiles]
