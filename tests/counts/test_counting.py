"""Labels: which value is positive, and what is said when that is in doubt."""

import datetime
from decimal import Decimal

import numpy as np
import pandas as pd
import polars as pl
import pytest

import trueness
from trueness import InputError

SCORE = [4, 3, 2, 1]


@pytest.mark.parametrize(
    ("label", "positive", "pos"),
    [
        ([1, 0, 1, 0], None, [1, 0, 1, 0]),
        ([1.0, 0.0, 1.0, 0.0], None, [1, 0, 1, 0]),
        ([True, False, True, False], None, [1, 0, 1, 0]),
        ([1, -1, 1, -1], None, [1, 0, 1, 0]),
        ([1, 1, 1, 1], None, [1, 1, 1, 1]),
        ([0, 0, 0, 0], None, [0, 0, 0, 0]),
        ([-1, -1, -1, -1], None, [0, 0, 0, 0]),
        ([1, 0, 1, 0], 0, [0, 1, 0, 1]),
        ([True, False, True, False], False, [0, 1, 0, 1]),
        ([1, 0, 1, 0], True, [1, 0, 1, 0]),
        (["y", "n", "y", "n"], "y", [1, 0, 1, 0]),
        (["y", "y", "y", "y"], "y", [1, 1, 1, 1]),
        (["n", "n", "n", "n"], "y", [0, 0, 0, 0]),
        ([1, 2, 2, 1], 2, [0, 1, 1, 0]),
        ([5, 9, 9, 5], 5, [1, 0, 0, 1]),
        (np.array([1, 0, 1, 0], dtype=np.uint8), None, [1, 0, 1, 0]),
        (np.array([1, 0, 1, 0], dtype=np.float32), None, [1, 0, 1, 0]),
        (np.array(["1", "0", "1", "0"]), "1", [1, 0, 1, 0]),
        ([Decimal(1), Decimal(0), Decimal(1), Decimal(0)], None, [1, 0, 1, 0]),
        (pd.Series(["y", "n", "y", "n"], dtype="category"), "y", [1, 0, 1, 0]),
        (pl.Series(["y", "n", "y", "n"], dtype=pl.Categorical), "y", [1, 0, 1, 0]),
        ((True, False, True, False), None, [1, 0, 1, 0]),
    ],
)
def test_which_label_is_positive(label, positive, pos):
    tally = trueness.tally(label, SCORE, positive=positive)
    assert tally.pos.tolist() == pos
    assert tally.neg.tolist() == [1 - p for p in pos]


@pytest.mark.parametrize(
    "label",
    [
        [1, None, 0, np.nan],
        [1.0, np.nan, 0.0, np.nan],
        [True, None, False, None],
        pd.Series([1, None, 0, None], dtype="Int8"),
        pd.Series([True, None, False, None], dtype="boolean"),
        pd.Series([1, None, 0, None], dtype="object"),
        pl.Series([1, None, 0, None]),
        pl.Series([True, None, False, None]),
        np.ma.array([1, 9, 0, 9], mask=[0, 1, 0, 1]),
    ],
)
def test_missing_labels_are_unknown(label):
    tally = trueness.tally(label, SCORE)

    assert tally.pos.tolist() == [1, 0, 0, 0]
    assert tally.neg.tolist() == [0, 0, 1, 0]
    assert tally.unknown.tolist() == [0, 1, 0, 1]


def test_missing_texts_are_unknown():
    tally = trueness.tally(["y", None, "n", float("nan")], SCORE, positive="y")

    assert tally.unknown.tolist() == [0, 1, 0, 1]


def test_all_labels_missing_or_none_at_all():
    for label in ([None] * 4, np.full(4, np.nan), None):
        assert trueness.tally(label, SCORE).n_unknown == 4


@pytest.mark.parametrize(
    ("label", "positive", "message"),
    [
        (["a", "b", "a", "b"], None, "'a', 'b': choose which one.*positive=\"b\""),
        ([1, 2, 1, 2], None, "holds 1, 2: choose which one"),
        ([0, -1, 0, -1], None, "holds -1, 0: choose which one"),
        (["2", "1", "2", "1"], None, "holds '1', '2': choose which one"),
        (["a", "a", "a", "a"], None, "holds 'a': choose which"),
        ([0, 1, 2, 1], None, "found 3: 0, 1, 2.*make labels that are 1"),
        ([-1, 0, 1, 1], None, "must have two values; found 3: -1, 0, 1"),
        (
            ["a", "b", "c", "a"],
            "a",
            "the positive 'a' and one other; found 'a', 'b', 'c'",
        ),
        ([0, 1, 0, 1], "1", "turned into text.*Type positive=1"),
        (["ape", "bee", "bee", "bee"], "aye", "Did you mean 'ape'"),
        ([0.1, 0.7, 0.4, 0.2], None, "look like scores: are the labels and the scores"),
        ([0, 1, None, 2], None, "found 3: 0, 1, 2"),
        ([1, "a", None, 2], None, "found 3: '1', '2', 'a'"),
        ([[1], [0], [1], [0]], None, r"one-dimensional; found shape \(4, 1\)"),
        ([0, 1, 0], None, "y_true has 3, y_score has 4"),
        ("0101", None, "y_true must be a column of values; found str"),
        (7, None, "y_true must be a column of values; found int"),
    ],
)
def test_doubtful_labels(label, positive, message):
    with pytest.raises(InputError, match=message):
        trueness.tally(label, SCORE, positive=positive)


def test_positive_without_labels():
    with pytest.raises(InputError, match="A positive label needs labels"):
        trueness.tally(None, SCORE, positive=1)


@pytest.mark.parametrize(
    "score",
    [
        [2, 1, 1, 0],
        [2.0, 1.0, 1.0, -0.0],
        np.array([2, 1, 1, 0], dtype=np.float16),
        np.array([2, 1, 1, 0], dtype=np.float32),
        np.array([2, 1, 1, 0], dtype=np.int8),
        np.array([2, 1, 1, 0], dtype=np.uint64),
        np.array([2, 1, 1, 0], dtype=">f8"),
        np.array([2, 1, 1, 0], dtype=np.longdouble),
        np.array([2, 9, 1, 9, 1, 9, 0, 9])[::2],
        [Decimal(2), Decimal(1), Decimal(1), Decimal(0)],
        pd.Series([2, 1, 1, 0], dtype="Float32"),
        pd.Series([2, 1, 1, 0], index=[7, 5, 3, 1]),
        pl.Series([2, 1, 1, 0], dtype=pl.Int16),
        pl.Series([Decimal(2), Decimal(1), Decimal(1), Decimal(0)]),
    ],
)
def test_scores_of_any_number_type(score):
    tally = trueness.tally([1, 0, 1, 0], score)

    assert tally.score.tolist() == [2, 1, 0]
    assert tally.neg.tolist() == [0, 1, 1]


def test_missing_dates_are_unknown():
    day = np.array(["2026-01-01", "NaT", "2026-01-02", "NaT"], dtype="datetime64[D]")

    tally = trueness.tally(day, SCORE, positive=datetime.date(2026, 1, 1))

    assert tally.pos.tolist() == [1, 0, 0, 0]
    assert tally.n_unknown == 2


def test_scores_may_be_a_range():
    tally = trueness.tally([1, 0, 1, 0], range(2, -2, -1))

    assert tally.score.tolist() == [2, 1, 0, -1]


def test_a_hard_classifier_is_a_classifier():
    tally = trueness.tally([1, 0, 1, 0], np.array([True, False, False, True]))
    assert tally.score.tolist() == [1, 0]


@pytest.mark.parametrize(
    ("score", "message"),
    [
        ([1, np.nan, 2, np.inf], r"finite; found.* at 2 of 4 \(positions 1, 3\)"),
        ([1, None, 2, 3], r"missing or infinite at 1 of 4 \(position 1\)"),
        (pl.Series([1, None, 2, 3]), r"missing or infinite at 1 of 4 \(position 1\)"),
        (["a", "b", "c", "d"], "must be numbers; found.*'a'"),
        ([1, "b", 2, 3], "found text in 1 of 4 cases, such as 'b'"),
        (np.array([2**53, 2**53 + 1, 1, 2]), "integers beyond 2\\*\\*53"),
        (np.ones((4, 2)), r"shape \(4, 2\). Type y_score=y_score\[:, 1\]"),
        ([1j, 2j, 3j, 4j], "must be numbers"),
        ([{}, {}, {}, {}], "must be numbers"),
        (np.array(4.0), "one-dimensional"),
    ],
)
def test_scores_that_are_none(score, message):
    with pytest.raises(InputError, match=message):
        trueness.tally([1, 0, 1, 0], score)


def test_nothing_and_one():
    assert trueness.tally([], []) == trueness.Tally()
    assert trueness.tally(np.array([]), np.array([])) == trueness.Tally()
    assert trueness.tally([1], [0.5]).n_pos == 1
    assert len(trueness.panel([], {"a": [], "b": []})) == 0


def test_rows_that_are_already_counted():
    tally = trueness.tally([1, 0, None, 1], [0.5, 0.5, 0.5, 0.1], count=[3, 2, 4, 0])

    assert tally.score.tolist() == [0.5]
    assert tally.pos.tolist() == [3]
    assert tally.neg.tolist() == [2]
    assert tally.unknown.tolist() == [4]


def test_rows_of_a_panel_that_are_already_counted():
    panel = trueness.panel([1, 0], {"a": [1, 0]}, count=np.array([5.0, 6.0]))

    assert panel.n_pos == 5
    assert panel.n_neg == 6


@pytest.mark.parametrize(
    ("count", "message"),
    [
        ([1, 2, 3], "count has 3, scores has 4"),
        ([1, 2, 3, 0.5], "Weights are not counts"),
        ([1, 2, 3, -1], "zero or more"),
        (["a"] * 4, "whole numbers"),
    ],
)
def test_wrong_counts_of_rows(count, message):
    with pytest.raises(InputError, match=message):
        trueness.tally([1, 0, None, 1], [1, 2, 3, 4], count=count)


def test_groups_of_a_panel_add_up(rng):
    labels = rng.integers(0, 2, 200)
    scores = rng.integers(0, 9, 200)
    by_name = {"a": scores, "b": -scores}
    site = rng.choice(["north", "south", "west"], 200).tolist()

    panels = trueness.panel(labels, by_name, by=site)

    assert sum(panels.values()) == trueness.panel(labels, by_name)


@pytest.mark.parametrize(
    ("groups", "message"),
    [
        (["a", None], "a group for every case; missing at 1 of 2"),
        (["a"], "by has 1, scores has 2"),
    ],
)
def test_every_case_needs_a_group(groups, message):
    with pytest.raises(InputError, match=message):
        trueness.tally([0, 1], [0, 1], by=groups)


def test_groups_add_up(rng):
    labels = rng.integers(0, 2, 200)
    scores = rng.integers(0, 9, 200)
    site = rng.choice(["north", "south", "west"], 200)

    tallies = trueness.tally(labels, scores, by=site)

    in_west = site == "west"
    assert list(tallies) == ["north", "south", "west"]
    assert sum(tallies.values()) == trueness.tally(labels, scores)
    assert tallies["west"] == trueness.tally(labels[in_west], scores[in_west])
