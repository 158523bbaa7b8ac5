"""Answers in a notebook: a sentence, a small table and a small figure."""

import base64
import re
import xml.etree.ElementTree as ET

import numpy as np
import pandas as pd
import pytest

import trueness
from trueness import InputError

RNG = np.random.default_rng(4)
Y = (np.arange(90) % 3 == 0).astype(int)
P = np.round(1 / (1 + np.exp(-RNG.normal(Y, 1))), 3)
Q = np.round(1 / (1 + np.exp(-RNG.normal(Y / 2, 1))), 3)
FRAME = pd.DataFrame({"y": Y, "p": P, "q": Q})
TABLE = trueness.Confusion(tp=81, fp=11, fn=20, tn=32)

ANSWERS = {
    "evaluate": lambda: trueness.evaluate(FRAME),
    "one score": lambda: trueness.evaluate(Y, P),
    "a test": lambda: trueness.evaluate(TABLE),
    "auc": lambda: trueness.auc(Y, P),
    "several": lambda: trueness.auc(FRAME),
    "compare": lambda: trueness.compare(FRAME),
    "roc": lambda: trueness.roc(Y, P),
    "reliability": lambda: trueness.reliability(Y, P),
    "a 2x2 table": lambda: trueness.recall(TABLE),
    "check": lambda: trueness.check(FRAME, "auc >= 0.5", score="p"),
    "map": lambda: trueness.calibrate(Y, P, method="platt"),
    "threshold": lambda: trueness.best_threshold(Y, P),
    "posterior": lambda: trueness.latent_class(VOTES),
    "agreement": lambda: trueness.agreement(THREE),
    "dominance": lambda: trueness.dominates(FRAME, label="y", scores=["p", "q"]),
    "net benefit": lambda: trueness.decision_curve(Y, P),
    "costs": lambda: trueness.cost_curve(Y, P),
    "deciles": lambda: trueness.decile_table(Y, P),
    "ranks": lambda: trueness.fermi_dirac(Y, P),
    "proper score": lambda: trueness.brier(Y, P),
    "rate": lambda: trueness.prevalence(JUDGED, label="y", labelled="random"),
    "watch": lambda: watched(),
    "stability": lambda: trueness.psi(P, Q),
    "head to head": lambda: trueness.head_to_head(["A", "B", "A", "tie", "A"]),
    "map with two probabilities": lambda: trueness.calibrate(Y, P, method="venn-abers"),
    "calibration gain": lambda: trueness.calibration_gain(Y, P),
    "plan": lambda: trueness.plan_auc(auc=0.8, half_width=0.1),
    "curves": lambda: trueness.roc(FRAME),
    "at_threshold": lambda: trueness.at_threshold(Y, P, 0.5, ["recall", "f1"]),
}
VOTES = pd.DataFrame(
    {name: (RNG.random(90) < np.where(Y, 0.8, 0.1)).astype(int) for name in "abc"}
)
JUDGED = VOTES.assign(y=np.where(np.arange(90) < 40, Y, np.nan))
THREE = FRAME[["p", "q"]].assign(r=1 / (1 + np.exp(-RNG.normal(Y, 1))))


def watched():
    watch = trueness.watch("recall", threshold=0.5, at_least=0.2)
    watch.update(Y, P)
    return watch


def images(html):
    """The drawings of a page, light and dark."""
    found = re.findall(r"data:image/svg\+xml;base64,([A-Za-z0-9+/=]+)", html)
    return [base64.b64decode(text).decode() for text in found]


@pytest.mark.parametrize("name", ANSWERS)
def test_an_answer_has_a_figure_in_light_and_dark(name):
    html = ANSWERS[name]()._repr_html_()

    dark, light = images(html)
    for drawing in (dark, light):
        ET.fromstring(drawing)  # noqa: S314 - our own drawing
    assert dark != light
    assert "<script" not in html


@pytest.mark.parametrize("name", ["evaluate", "a test", "several", "compare"])
def test_an_answer_has_a_table(name):
    assert "<table" in ANSWERS[name]()._repr_html_()


@pytest.mark.parametrize("name", ANSWERS)
def test_an_answer_is_drawn_by_matplotlib(name):
    assert ANSWERS[name]().plot() is not None


@pytest.mark.parametrize("name", ["posterior", "agreement", "stability", "costs"])
def test_a_sentence_stands_above_the_table(name):
    above = ANSWERS[name]()._repr_html_().partition("<table")[0]

    assert re.search(r"<p[^>]*>\S+ \S+", above)


SAID = {
    "plan": "The study needs 81 cases, 40 of them positive: the interval of the AUC",
    "map": "The log odds of a positive are ",
    "dominance": "The ROC curve of p is nowhere below that of q in these cases.",
    "ranks": "30 of 90 cases are positive, and the AUC is ",
    "reliability": "by isotonic regression of 90 cases",
    "fidel": "FiDEL adds the evidence of the ranks of p (AUC ",
    "guarantee": "recall &gt;= 0.5 holds in the population with a confidence of 95 %",
}


@pytest.mark.parametrize("name", SAID)
def test_the_sentence_says_the_answer(name):
    more = {
        "fidel": lambda: trueness.fidel(FRAME, label="y", scores=["p", "q"]),
        "guarantee": lambda: trueness.guaranteed_threshold(Y, P, "recall >= 0.5"),
    }

    above = (ANSWERS | more)[name]()._repr_html_().partition("<table")[0]

    assert SAID[name] in above


def test_a_cell_of_a_table_is_one_line():
    answer = trueness.validate_threshold(Y, P, maximize="youden")

    cells = re.findall(r"<td[^>]*>([^<]*)</td>", answer._repr_html_())

    assert not any("\n" in cell for cell in cells)


def test_a_plan_of_a_difference_is_not_drawn_as_one_of_an_auc():
    plan = trueness.plan_auc_difference(first=0.85, second=0.8, power=0.8)

    assert "<table" in plan._repr_html_()
    with pytest.raises(InputError, match="this plan is about a difference of AUCs"):
        trueness.plots.sample_size(plan)


def test_answers_of_several_are_plain_values():
    values = trueness.auc(FRAME).to_dict()

    assert values["p"]["value"] == trueness.auc(Y, P).value


def test_the_names_of_roc_curves_have_their_auc():
    finding = ANSWERS["evaluate"]()
    (_, light) = images(finding._repr_html_())

    for name in ("p", "q"):
        assert f"{name}: AUC {trueness.auc(Y, FRAME[name]).value:.3f}" in light


def test_what_is_undefined_or_infinite_is_no_row_of_a_table():
    for name in ("roc", "map"):
        cells = re.findall(r"<td[^>]*>([^<]*)</td>", ANSWERS[name]()._repr_html_())
        assert not {"nan", "inf", "-inf", "undefined"} & set(cells)


def test_rates_have_their_names_on_the_axes():
    (_, light) = images(ANSWERS["roc"]()._repr_html_())

    assert "false positive rate" in light
    assert "fpr" not in light


def test_a_rate_is_drawn_and_not_the_number_of_judges():
    (_, light) = images(ANSWERS["rate"]()._repr_html_())

    assert "corrected" in light
    assert "judges" not in light


def test_counts_of_a_table_are_shown():
    assert "<td" in TABLE._repr_html_()


def test_a_threshold_is_told_in_a_sentence():
    html = trueness.best_threshold(Y, P)._repr_html_()

    assert "Flag a case when its score is" in html


def test_scores_without_labels_have_no_figure():
    html = trueness.evaluate(FRAME[["p"]])._repr_html_()

    assert images(html) == []
    assert "90 cases without a label" in html


def test_names_are_escaped():
    evil = FRAME.rename(columns={"p": "<script>alert(1)</script>"})

    html = trueness.evaluate(
        evil, label="y", score=list(evil.columns[1:])
    )._repr_html_()

    assert "<script" not in html
    assert all("<script" not in drawing for drawing in images(html))


class TestFinding:
    def test_numbers_by_name(self):
        one = trueness.evaluate(Y, P)
        several = trueness.evaluate(FRAME)

        assert one.auc == trueness.auc(Y, P)
        assert list(several.auc) == ["p", "q"]
        assert trueness.evaluate(TABLE).sensitivity.value == pytest.approx(81 / 101)
        with pytest.raises(AttributeError, match="average_precision"):
            one.quality  # noqa: B018

    def test_it_writes_a_report(self, tmp_path):
        report = trueness.evaluate(FRAME).report(tmp_path / "report.html")

        assert "AUC" in report.path.read_text(encoding="utf-8")

    def test_it_is_drawn_by_matplotlib(self):
        axes = trueness.evaluate(FRAME).plot()

        assert axes.get_xlabel()

    def test_what_has_no_figure_says_so(self):
        with pytest.raises(InputError, match=r"Test\. Type help\(trueness\.plots\)"):
            trueness.calibration_test(Y, P).plot()


class TestAnswers:
    def test_several_estimates_print_as_a_table(self):
        several = trueness.auc(FRAME[["y", "p", "q"]])

        first, second, *notes = repr(several).splitlines()
        assert first.startswith("p  AUC 0.")
        assert second.startswith("q  AUC 0.")
        assert len(notes) == 1
        assert isinstance(several, dict)

    def test_they_are_a_frame(self):
        frame = trueness.auc(FRAME).to_frame()

        assert frame["name"].tolist() == ["p", "q"]
        assert frame["value"].iloc[0] == trueness.auc(Y, P).value


def test_a_map_predicts():
    fitted = trueness.calibrate(Y, P)

    assert (fitted.predict(P) == fitted(P)).all()


def test_what_to_expect_of_a_threshold_is_a_table_of_metrics():
    answer = trueness.validate_threshold(Y, P)
    html = answer._repr_html_()

    assert "Flag a case when its score is" in html
    assert "negative predictive value" in html
    for dumped in ("OperatingPoint", "balanced_accuracy", "score_range"):
        assert dumped not in html


def test_a_score_has_its_parts_by_their_names():
    html = trueness.brier(Y, P)._repr_html_()

    assert "miscalibration (MCB)" in html
    assert "ScoreParts" not in html
