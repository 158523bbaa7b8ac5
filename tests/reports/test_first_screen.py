"""What the first screen of a report draws: ranks, 1,000 cases, scores in four areas."""

import re

import numpy as np
import pandas as pd
import pytest

import trueness
from trueness._core.figures import intervals
from trueness.findings.page import page_about
from trueness.findings.records import Figure
from trueness.findings.request import Request
from trueness.findings.what_scores_mean import groups_of_scores
from trueness.reports import html, render
from trueness.reports.first_screen import (
    _place_of_curve_name,
    draw_icons,
    of_a_thousand,
)
from trueness.reports.lanes import draw_forest, draw_ranking
from trueness.reports.svg import draw


@pytest.fixture(scope="module")
def panel():
    rng = np.random.default_rng(5)
    label = rng.random(600) < 0.3
    good = rng.normal(size=600) + 2.0 * label
    frame = pd.DataFrame(
        {
            "y": label.astype(int),
            "good": good,
            "copy": good + 0.01 * rng.normal(size=600),
            "poor": rng.normal(size=600) + 0.3 * label,
        }
    )
    return trueness.panel(frame, label="y", scores=["good", "copy", "poor"])


def test_classifiers_that_do_not_differ_share_a_rank(panel):
    page = page_about(panel)

    ranking = draw_ranking(page.ranking, page.ties)

    assert page.ties == (2, 1)
    assert [(row.rank, row.in_tie) for row in ranking.rows] == [
        ("1 to 2", 2),
        ("", 0),
        ("3", 1),
    ]
    assert 'class="rank tie" rowspan="2">1 to 2<' in html(panel)


def test_icons_are_a_thousand_and_follow_the_rates(panel):
    page = page_about(panel)
    start = page.slider["models"][0]["start"]
    columns = page.slider["models"][0]["columns"]

    drawn = draw_icons(page.slider)

    assert sum(drawn.counts.values()) == 1000
    # dots of a dotted line are 10 apart; missed cases are drawn twice, as rings
    lines = re.findall(r"v(\d+)\.1", drawn.drawing)
    assert sum(int(length) // 10 + 1 for length in lines) == 1000 + drawn.counts["fn"]
    positives = drawn.counts["tp"] + drawn.counts["fn"]
    assert positives == pytest.approx(1000 * panel.prevalence, abs=1)
    assert drawn.counts["tp"] / positives == pytest.approx(
        columns["recall"][start], abs=2 / positives
    )
    for cell, count in drawn.counts.items():
        path = re.search(rf'd="([^"]*)" data-cell="{cell}"', drawn.drawing)
        lengths = re.findall(r"v(\d+)\.1", path[1])
        assert sum(int(length) // 10 + 1 for length in lengths) == count


def test_largest_remainders_are_rounded_up():
    assert of_a_thousand({"a": 0.0008, "b": 0.4996, "c": 0.4996}) == {
        "a": 1,
        "b": 500,
        "c": 499,
    }


def test_numbers_of_a_forest_stand_beside_its_lines():
    estimates = {
        "short": trueness.Estimate(0.8, 0.7, 0.9),
        "a name of a classifier that is far too long": trueness.Estimate(0.6, 0.5, 0.7),
    }
    drawing, _ = draw(Figure(intervals("AUC", "AUC", estimates), "AUC"))

    right_edge = float(re.search(r'data-plot="\S+ \S+ (\S+) ', drawing)[1])
    ends = [float(x) for x in re.findall(r'<circle[^>]* cx="([\d.]+)"', drawing)]
    numbers = re.findall(r'class="name end[^"]*" x="([\d.]+)"[^>]*>([^<]*)<', drawing)

    assert [text for _, text in numbers] == [
        "0.80",
        "0.70 to 0.90",
        "0.60",
        "0.50 to 0.70",
    ]
    # the longest number begins behind the right edge of the lines
    widest = max(6.2 * len(text) for _, text in numbers)
    assert all(float(x) - widest > right_edge for x, _ in numbers)
    assert all(x <= right_edge for x in ends)


def test_groups_of_scores_have_their_proportion_and_wilson_interval():
    # ten rows of 20 cases, of which 1, 3, ... 19 are positive
    pos = np.arange(1, 20, 2)[::-1]
    tally = trueness.Tally(np.linspace(0.95, 0.05, 10), neg=20 - pos, pos=pos)

    groups = groups_of_scores(tally, 0.95)

    assert groups["x"] == pytest.approx(tally.score)
    assert groups["y"] == pytest.approx(pos / 20)
    # Wilson (1927) for 1 of 20
    assert groups["low"][-1] == pytest.approx(0.00888, abs=1e-5)
    assert groups["high"][-1] == pytest.approx(0.23613, abs=1e-5)
    assert groups_of_scores(tally.with_design(prevalence=0.1), 0.95) is None


def test_a_forest_on_a_page_is_a_table_with_a_lane_in_each_row():
    estimates = {
        "a": trueness.Estimate(0.1, -0.2, 0.4),
        "b": trueness.Estimate(0.4, 0.3, 0.5),
    }
    data = intervals("Differences", "difference", estimates, zero=0.0)

    forest = draw_forest(Figure(data, "Differences", of="pair"))

    assert [(row.name, row.value, row.interval) for row in forest.rows] == [
        ("a", "0.10", "-0.20 to 0.40"),
        ("b", "0.40", "0.30 to 0.50"),
    ]
    # a scale from -0.242 to 0.542: zero, and the value of the second row
    assert 'class="zero" x1="30.87%"' in forest.rows[0].lane
    assert 'class="lane-dot" cx="81.89%"' in forest.rows[1].lane
    assert forest.n_left_out == 0


def test_of_many_intervals_a_page_shows_the_first_ones_and_says_so():
    estimates = {f"m{k}": trueness.Estimate(0.5, 0.4, 0.6) for k in range(25)}
    forest = draw_forest(Figure(intervals("AUC", "AUC", estimates), "AUC"))

    assert len(forest.rows) == 20
    assert forest.n_left_out == 5


def test_long_names_of_pairs_differ_where_they_end():
    long = "gradient_boosting_with_monotone_constraints_and_calibration_v"
    names = [f"{long}3 \N{MINUS SIGN} {long}{k}" for k in (1, 2)]
    estimates = dict.fromkeys(names, trueness.Estimate(0.1, 0.0, 0.2))

    rows = draw_forest(Figure(intervals("d", "d", estimates), "d")).rows

    assert [row.name[-3:] for row in rows] == ["_v1", "_v2"]
    assert all("_v3 \N{MINUS SIGN} " in row.name for row in rows)


def test_each_roc_curve_has_its_name_and_auc_beside_it(panel):
    page = page_about(panel)
    roc = next(f for f in page.findings[0].figures if f.title == "ROC curve")

    drawing, _ = draw(roc)

    labels = re.findall(r'class="curve-label ([^"]*)"[^>]*>([^<]*)<', drawing)
    expected = set()
    for name in panel.names:
        area = trueness.auc(panel[name])
        interval = f"{area.low:.3f} to {area.high:.3f}"
        expected.add(f"{name} AUC {area.value:.3f} ({interval})")

    assert {text for _, text in labels} == expected
    assert [kind.strip() for kind, _ in labels] == ["chosen", "", ""]


def test_names_of_recall_and_precision_do_not_touch():
    far = [
        _place_of_curve_name(name, 0.4, 0.9, 0.2) for name in ("recall", "precision")
    ]
    close = [
        _place_of_curve_name(name, 0.4, 0.8, 0.7) for name in ("recall", "precision")
    ]

    # far apart both stand between the curves, close together outside of them
    assert [place["dy"] for place in far] == ["18", "-10"]
    assert [place["dy"] for place in close] == ["-10", "18"]
    assert {place["text_anchor"] for place in close} == {"end"}


def test_what_a_constraint_requires_is_a_line_on_the_first_screen(panel):
    page = html(panel, subject_to="recall >= 0.9")

    assert "recall at least 90 %" in page
    assert 'class="required" x1="0" x2="100%" y1="10.00%"' in page


def test_without_labels_the_first_screen_has_an_answer(panel):
    page = page_about(panel.without_labels())

    assert page.question == "How good are these classifiers, where no case has a label?"
    assert "AUC of" in str(page.headline) or "alone" in str(page.headline)
    assert 'class="headline"' in render(page)


def test_scores_have_four_areas_and_their_counts(panel):
    page = page_about(panel)
    scores = next(f for f in page.findings[0].figures if f.title == "Scores")
    counts = trueness.confusion(panel["good"], page.findings[0].numbers["threshold"])

    drawing, _ = draw(scores)

    for cell in ("tp", "fp", "fn", "tn"):
        text = rf'data-value="{cell}" data-kind="count">{int(getattr(counts, cell))}<'
        assert re.search(text, drawing)
    assert 'class="now window"' in drawing
    assert "positives flagged" in drawing
    assert "negatives flagged" in drawing


def test_the_calibration_figure_has_a_histogram():
    rng = np.random.default_rng(2)
    probability = rng.random(500)
    label = (rng.random(500) < probability).astype(int)
    page = page_about(trueness.tally(label, probability))
    calibration = next(f for f in page.findings if f.key == "calibration")

    drawing, _ = draw(calibration.figures[0])

    assert "area histogram only" in drawing
    dots = re.search(r'class="group-dot only" d="([^"]*)"', drawing)[1]
    intervals = re.search(r'class="group-interval only" d="([^"]*)"', drawing)[1]
    assert dots.count("h0") == intervals.count("V") == 10
    assert "AUC 0." in html(trueness.tally(label, probability))


class TestOfTests:
    DISEASE = np.arange(120) % 3 == 0

    def page(self, tmp_path, **tests):
        columns = {"disease": self.DISEASE.astype(int)}
        for name, wrong in tests.items():
            columns[name] = np.where(np.arange(120) % wrong == 0, 0, self.DISEASE)
        report = trueness.report(pd.DataFrame(columns), tmp_path / "tests.html")
        return report.path.read_text(encoding="utf-8")

    def test_the_first_screen_has_figures_that_no_section_repeats(self, tmp_path):
        page = self.page(tmp_path, ct=5, mri=7)

        opening, _, sections = page.partition('id="tests-section"')
        assert opening.count("<figure") == 2
        assert "<h3>Sensitivity</h3>" in opening
        assert "<h3>Sensitivity</h3>" not in sections

    def test_a_wide_table_takes_all_the_width(self, tmp_path):
        assert 'class="beside alone"' in self.page(tmp_path, ct=5, mri=7)

    def test_one_test_has_its_table_beside_the_figure(self, tmp_path):
        opening, _, sections = self.page(tmp_path, ct=5).partition('id="tests-section"')

        assert "condition present" in opening
        assert "The test ct detects 80.0" in opening
        assert 'class="tp">32<small>true positives' in opening
        assert "<caption>Cases</caption>" not in sections


def test_bands_of_recall_and_precision_hold_their_curves(panel):
    model = page_about(panel).slider["models"][0]
    bands = model["bands"]

    rates = np.interp(bands["flagged_rate"], model["columns"]["flagged_rate"],
                      model["columns"]["recall"])  # fmt: skip
    assert (np.array(bands["recall_low"]) <= rates + 0.01).all()
    assert (rates - 0.01 <= np.array(bands["recall_high"])).all()
    assert html(panel).count('class="recall-band') == 3


def test_weighted_cases_have_no_bands_that_are_too_narrow():
    rng = np.random.default_rng(2)
    label = rng.random(200) < 0.4
    cases = trueness.tally(label, rng.random(200), weight=rng.random(200) + 0.5)

    assert page_about(cases).slider["models"][0]["bands"] == {}
    assert "pointwise" not in html(cases)


def test_the_precision_recall_curve_of_the_chosen_classifier_has_its_area(panel):
    page = page_about(panel)
    curve = next(
        f for f in page.findings[0].figures if f.title == "Precision and recall"
    )

    drawing, _ = draw(curve)

    labels = re.findall(r'class="curve-label chosen ([^"]*)"[^>]*>([^<]*)<', drawing)
    areas = {n: trueness.average_precision(panel[n]).value for n in panel.names}
    assert [kind for kind, _ in labels].count("only") == 1
    assert {text.split(" (")[0] for _, text in labels} == {
        f"{name} AP {area:.3f}" for name, area in areas.items()
    }


def test_every_classifier_has_the_threshold_that_is_to_keep_a_constraint():
    rng = np.random.default_rng(8)
    label = rng.random(300) < 0.4
    scores = {
        "a": rng.normal(size=300) + label,
        "b": rng.normal(size=300) + 0.8 * label,
    }
    cases = trueness.panel(label, scores)

    page = page_about(cases, Request(subject_to=("recall >= 0.8",)))

    for model in page.slider["models"]:
        validation = trueness.validate_threshold(
            cases[model["name"]],
            subject_to=["recall >= 0.8"],
            constraints_on="new cases",
        )
        start = model["columns"]["threshold"][model["start"]]
        assert start == validation.choice.threshold


def test_a_threshold_that_is_sure_of_a_constraint_says_so():
    # Youden's threshold has a recall far above the bound
    label = np.repeat([0, 1], 200)
    score = np.arange(400.0)
    text = html(trueness.tally(label, score), subject_to=["recall >= 0.5"])

    assert "This threshold keeps recall &gt;= 0.5 with 95\N{NO-BREAK SPACE}%" in text
    assert "confidence, flag from" not in text


def test_five_classifiers_stay_under_300_kilobytes():
    rng = np.random.default_rng(1)
    label = rng.random(1500) < 0.2
    noise = rng.normal(size=1500)
    scores = {
        f"model_{k}": 1
        / (1 + np.exp(2 - k / 3 * label - noise - rng.normal(size=1500)))
        for k in range(1, 6)
    }

    page = html(trueness.panel(label, scores))

    assert len(page.encode()) < 300_000


def test_negative_numbers_have_a_minus_sign_and_numbers_stay_in_one_line(panel):
    page = html(panel)

    assert re.search(r"\N{MINUS SIGN}0\.\d+ to", page)
    assert not re.search(r"<td>[^<]*-0\.", page)
    assert not re.search(r"<(p|dd)[^>]*>[^<]*\d %", page)


def test_the_ranking_stands_once_on_a_report(panel):
    page = html(panel)

    assert page.count('scope="col" class="number">AUC (interval)') == 1
    assert "How good is each?" in page
