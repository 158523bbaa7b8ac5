"""Leaves as a map: scores for cases that come later, saved like a calibrator."""

import numpy as np
import pandas as pd
import pytest

import trueness


@pytest.fixture
def golf():
    return pd.read_csv(trueness.samples.path("golf"))


@pytest.fixture
def outlook(golf):
    return trueness.leaves(golf, node="Outlook", label="Play Golf", positive="Yes")


def test_scores_and_levels_are_those_of_the_leaves(outlook):
    scores = outlook.map("mle")
    assert scores(["Overcast", "Rainy", "Sunny"]).tolist() == [1.0, 0.4, 0.6]
    report = outlook.report(method="mle")
    assert scores.confidence_of(outlook.node).tolist() == report.confidence.tolist()


def test_a_leaf_that_was_never_seen_gets_the_prevalence(outlook):
    scores = outlook.map()
    assert scores(["Foggy"])[0] == pytest.approx(9 / 14)
    assert scores.confidence_of(["Foggy"])[0] == 0.5
    assert outlook.map(default=0.1)("Foggy") == 0.1


def test_a_map_is_read_back_as_it_was_saved(outlook, tmp_path):
    scores = outlook.map("blend")
    scores.save(tmp_path / "leaves.json", "Outlook")

    again = trueness.load_map(tmp_path / "leaves.json")

    assert again.node == scores.node
    assert again(outlook.node).tolist() == scores(outlook.node).tolist()


def test_the_scores_of_new_cases_count_as_the_leaves_do(golf, outlook):
    scores = outlook.map("blend")(golf["Outlook"])
    t = trueness.tally(golf["Play Golf"], scores, positive="Yes")
    assert t == outlook.tally(method="blend")


def test_a_map_is_applied_to_a_frame(golf, outlook):
    scored = trueness.apply(golf, outlook.map("mle"), "Outlook", name="p")
    expected = golf["Outlook"].map({"Overcast": 1.0, "Rainy": 0.4, "Sunny": 0.6})
    assert np.array_equal(scored["p"], expected)


def test_numbers_of_leaves_are_the_same_as_whole_numbers_and_as_floats():
    leaves = trueness.Leaves([3, 7], neg=[1, 2], pos=[3, 0])
    assert leaves.map("mle")([3.0, 7.0]).tolist() == [0.75, 0.0]


def test_leaves_without_labels_need_a_default():
    leaves = trueness.Leaves(["a"], unknown=[4])
    with pytest.raises(trueness.NotEnoughCases, match="default="):
        leaves.map()
