"""Expected labels as part of the sampling design: what is taken, what is refused."""

from __future__ import annotations

import numpy as np
import pytest

import trueness
from trueness import ExpectedLabels, InputError, Tally
from trueness._core.checks.errors import UnsupportedDesign

REFERENCE = Tally([0.9, 0.5, 0.1], neg=[10, 40, 90], pos=[90, 60, 10])
TODAY = Tally([0.9, 0.5, 0.1], unknown=[50, 20, 30])
MAP = trueness.calibrate(REFERENCE, method="pooled-bins")
EXPECTED = TODAY.with_design(unlabelled=MAP)


def test_a_map_is_short_for_expected_labels_of_the_process():
    assert EXPECTED.design.unlabelled == ExpectedLabels(MAP, target="process")


def test_reference_cases_stand_for_the_default_map():
    by_cases = TODAY.with_design(unlabelled=REFERENCE)

    assert by_cases == EXPECTED


def test_counts_of_the_same_map_can_be_added():
    assert (EXPECTED + EXPECTED).n_unknown == 200
    with pytest.raises(InputError, match="can be added when"):
        EXPECTED + TODAY.with_design(unlabelled="missing at random")


@pytest.mark.parametrize("ending", ["json", "csv", "parquet"])
def test_a_file_keeps_the_map(tmp_path, ending):
    path = tmp_path / f"today.{ending}"
    EXPECTED.write(path)

    read = trueness.read_tally(path)

    assert read == EXPECTED
    assert read.design.unlabelled.map.reference == MAP.reference


def test_arrays_take_a_map():
    answer = trueness.auc(None, [0.9, 0.5, 0.1], unlabelled=MAP)

    assert (
        answer.value
        == trueness.auc(Tally([0.9, 0.5, 0.1], unknown=[1, 1, 1]), unlabelled=MAP).value
    )


def test_groups_have_a_map_each():
    group = np.array(["a", "b"] * 50)
    score = np.repeat([0.9, 0.5, 0.1], [50, 20, 30])

    answers = trueness.auc(None, score, by=group, unlabelled={"a": MAP, "b": MAP})

    assert set(answers) == {"a", "b"}
    with pytest.raises(InputError, match="map of its own"):
        trueness.auc(None, score, by=group, unlabelled=MAP)


@pytest.mark.parametrize(
    ("design", "reason"),
    [
        ({"unlabelled": lambda s: s}, "found a function"),
        ({"unlabelled": "calibrated"}, "unlabelled must be"),
        ({"unlabelled": MAP, "prevalence": 0.1}, "already determines the prevalence"),
        ({"unlabelled": MAP, "sampling": "case-control"}, "drawn by their label"),
    ],
)
def test_a_design_that_contradicts_the_map_is_refused(design, reason):
    with pytest.raises(InputError, match=reason):
        TODAY.with_design(**design)


def test_binned_counts_are_refused():
    many = Tally(np.arange(20.0), unknown=np.ones(20, int))

    with pytest.raises(InputError, match="bins hold"):
        many.bin(5).with_design(unlabelled=MAP)
    with pytest.raises(InputError, match="bins hold"):
        many.with_design(unlabelled=MAP).bin(5)


def test_other_scores_need_another_map():
    with pytest.raises(InputError, match="belongs to the original scores"):
        EXPECTED.map(lambda s: 2 * s)


def test_a_panel_is_refused():
    panel = trueness.panel(None, {"a": [0.1, 0.9], "b": [0.2, 0.8]})

    with pytest.raises(InputError, match="from one score"):
        panel.with_design(unlabelled=MAP)


@pytest.mark.parametrize(
    "analysis",
    ["calibrate", "calibration_test", "calibration_line", "reliability", "watch"],
)
def test_circular_questions_are_refused(analysis):
    with pytest.raises(UnsupportedDesign, match="expected labels"):
        getattr(trueness, analysis)(EXPECTED)


def test_a_guarantee_is_refused():
    with pytest.raises(UnsupportedDesign, match="expected labels"):
        trueness.guaranteed_threshold(EXPECTED, subject_to="recall >= 0.8")


def test_a_case_control_map_needs_a_prevalence():
    with pytest.raises(InputError, match="prevalence"):
        TODAY.with_design(unlabelled=REFERENCE.with_design(sampling="case-control"))


@pytest.mark.parametrize(
    ("score", "probability"),
    [([1, 3, 2, 4], [0.5] * 4), ([1, 2, 3, 4], [0.5, 0.5, 1.5, 1.5])],
    ids=["bands overlap", "probability above 1"],
)
def test_strata_that_are_no_bands_of_scores_are_refused(score, probability):
    with pytest.raises(trueness.InputError, match="bands of scores"):
        trueness.LabelSample.from_drawn_cases(
            score=score, stratum=["a", "a", "b", "b"], probability=probability
        )
