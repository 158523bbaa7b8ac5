"""Label plans by score, and labels that are read back as a stratified sample."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.special import expit

import trueness
from trueness import ExpectedLabels, InputError, LabelSample, Tally

CUT = 0.5


def world(rng, n):
    x = rng.standard_normal(n)
    return rng.random(n) < expit(2 * x - 1.5), expit(2 * x - 1.5)


@pytest.fixture(scope="module")
def today():
    rng = np.random.default_rng(3)
    label_map = trueness.calibrate(*world(rng, 1000), method="pooled-bins")
    label, score = world(rng, 6000)
    labels = ExpectedLabels(label_map, target="these cases")
    return label, score, trueness.tally(None, score, unlabelled=labels)


def labelled_by(plan, label, score, rng):
    drawn = plan.draw(score, rng=rng)
    answer = np.full(score.size, np.nan)
    answer[drawn.index] = label[drawn.index]
    return trueness.tally(answer, score, unlabelled=plan)


def test_a_plan_draws_what_it_asks_for(today):
    _, score, expected = today
    plan = trueness.plan_labels(expected, metric="recall", half_width=0.06)

    drawn = plan.draw(score, rng=0)

    assert drawn.index.size == plan.total
    assert np.bincount(drawn.stratum).tolist() == plan.labels.tolist()
    assert drawn.probability == pytest.approx((plan.labels / plan.cases)[drawn.stratum])
    assert plan.cases.sum() == score.size


def test_labels_read_back_hold_the_truth_within_the_half_width(today):
    label, score, expected = today
    plan = trueness.plan_labels(expected, metric="recall", half_width=0.06)
    truth = label[score >= CUT].sum() / label.sum()

    held = 0
    kept = 0
    for seed in range(30):
        labelled = labelled_by(plan, label, score, seed)
        recall = trueness.at_threshold(labelled, CUT)["recall"]
        held += recall.low <= truth <= recall.high
        kept += (recall.high - recall.low) / 2 <= 0.06

    assert held >= 25
    assert kept >= 28


def test_fewer_labels_than_at_random(today):
    _, _, expected = today
    plan = trueness.plan_labels(expected, metric="precision", half_width=0.05)

    # at random, 385 flagged cases would need a label, of 28 % of all
    assert plan.total < 385 / 0.28


def test_a_number_of_labels_in_place_of_a_width(today):
    _, _, expected = today

    plan = trueness.plan_labels(expected, metric="recall", labels=300)

    assert plan.total == 300
    assert 0 < plan.half_width < 0.2


def test_what_a_small_band_cannot_take_goes_to_the_others():
    # three cases above the threshold claim most labels of a plan for recall
    reference = Tally([0.9, 0.4, 0.1], neg=[40, 180, 900], pos=[60, 40, 60])
    label_map = trueness.calibrate(reference, method="pooled-bins")
    cases = Tally([0.9, 0.4, 0.1], unknown=[3, 400, 4000])
    expected = cases.with_design(unlabelled=label_map)

    plan = trueness.plan_labels(expected, metric="recall", threshold=0.5, labels=200)

    assert plan.total == 200
    assert plan.labels[0] == plan.cases[0] == 3
    assert (plan.labels[1:] >= 5).all()
    expected_recall = trueness.at_threshold(expected, 0.5)["recall"]
    assert plan.value == pytest.approx(expected_recall.value)
    assert any("Only 3 of 4,403 cases" in note for note in plan.notes)


def test_more_labels_than_cases_label_every_case(today):
    _, score, expected = today

    plan = trueness.plan_labels(expected, metric="recall", labels=score.size + 100)

    assert plan.labels.tolist() == plan.cases.tolist()


def test_every_label_known_leaves_no_error_about_these_cases(today):
    label, score, expected = today
    plan = trueness.plan_labels(expected, metric="recall", half_width=0.05)

    every = trueness.tally(label, score, unlabelled=plan)
    recall = trueness.at_threshold(every, CUT)["recall"]

    assert recall.value == pytest.approx(label[score >= CUT].sum() / label.sum())
    assert recall.se == pytest.approx(0, abs=1e-9)


def test_value_and_variance_are_those_of_a_stratified_sample():
    t = Tally([3, 2, 1], neg=[2, 3, 8], pos=[8, 2, 1], unknown=[30, 20, 100])
    sample = LabelSample([2, 3], [109, 25, 40], target="these cases")
    sizes = np.array([40, 25, 109.0])
    drawn = np.array([10, 5, 9.0])
    positive = np.array([8, 2, 1.0])

    accuracy = trueness.at_threshold(t.with_design(unlabelled=sample), 3)["accuracy"]

    # right are the positives of the first row and the negatives of the others
    proportion = np.array([positive[0], *(drawn - positive)[1:]]) / drawn
    by_hand = sizes @ proportion / sizes.sum()
    variance = sizes**2 * (1 / drawn - 1 / sizes)
    variance = variance * proportion * (1 - proportion) * drawn / (drawn - 1)
    assert accuracy.value == pytest.approx(by_hand)
    assert accuracy.se == pytest.approx(np.sqrt(variance.sum()) / sizes.sum())


def test_drawn_cases_alone_give_the_same_value(today):
    label, score, expected = today
    plan = trueness.plan_labels(expected, metric="recall", half_width=0.06)
    drawn = plan.draw(score, rng=1)
    all_cases = labelled_by(plan, label, score, 1)

    sample = LabelSample.from_drawn_cases(
        score[drawn.index], drawn.stratum, drawn.probability, target="these cases"
    )
    alone = trueness.tally(label[drawn.index], score[drawn.index], unlabelled=sample)

    one = trueness.at_threshold(all_cases, CUT)["recall"]
    other = trueness.at_threshold(alone, CUT)["recall"]
    assert other.value == pytest.approx(one.value)
    assert other.se == pytest.approx(one.se)


def test_labels_that_contradict_the_map_are_noted(today):
    _, score, expected = today
    plan = trueness.plan_labels(expected, metric="recall", half_width=0.06)

    reversed_labels = score < CUT
    labelled = labelled_by(plan, reversed_labels, score, 0)

    notes = trueness.at_threshold(labelled, CUT).notes
    assert any("contradict the map" in note for note in notes)


def test_a_file_keeps_the_sample(today, tmp_path):
    label, score, expected = today
    plan = trueness.plan_labels(expected, metric="recall", half_width=0.06)
    labelled = labelled_by(plan, label, score, 0)
    labelled.write(tmp_path / "found.parquet")

    assert trueness.read_tally(tmp_path / "found.parquet") == labelled


def test_a_plan_needs_a_map_and_one_aim(today):
    _, _, expected = today

    with pytest.raises(InputError, match="map"):
        trueness.plan_labels(Tally([1, 2], unknown=[5, 5]), metric="recall", labels=5)
    with pytest.raises(InputError, match="needs either"):
        trueness.plan_labels(expected, metric="recall")
