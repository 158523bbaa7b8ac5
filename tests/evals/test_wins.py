"""Head-to-head verdicts against SciPy's sign test and simulation."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import binomtest

import trueness

VERDICTS = ["A"] * 30 + ["B"] * 14 + ["tie"] * 16


def test_ties_count_half_and_are_no_part_of_the_sign_test():
    pair = trueness.head_to_head("A", "B", VERDICTS).pairs[0]

    assert (pair.wins, pair.losses, pair.ties) == (30, 14, 16)
    assert pair.win_rate.value == pytest.approx(38 / 60)
    assert pair.p_value == pytest.approx(binomtest(30, 44).pvalue)
    points = np.repeat([1, 0, 0.5], [30, 14, 16])
    assert pair.win_rate.se == pytest.approx(points.std(ddof=1) / np.sqrt(60))


def test_several_systems_are_compared_by_pairs_whoever_came_first():
    first = ["a", "b", "a", "c", "b"]
    second = ["b", "a", "c", "a", "c"]

    comparison = trueness.head_to_head(first, second, ["a", "a", "c", "tie", "b"])

    assert comparison.names == ("a", "b", "c")
    counts = [(p.first, p.second, p.wins, p.losses, p.ties) for p in comparison.pairs]
    assert counts == [("a", "b", 2, 0, 0), ("a", "c", 0, 1, 1), ("b", "c", 1, 0, 0)]
    assert [p.p_value for p in comparison.pairs] == [0.5, 1, 1]
    assert comparison.pairs[0].p_adjusted == 1
    assert len(comparison.to_frame()) == 3


def test_ties_alone_show_nothing():
    pair = trueness.head_to_head("A", "B", ["=", "="], tie="=").pairs[0]

    assert (pair.win_rate.value, pair.p_value) == (0.5, 1)
    assert pair.win_rate.low < 0.3


def test_interval_holds_the_true_win_rate():
    rng = np.random.default_rng(0)
    held = 0
    for _ in range(400):
        verdicts = rng.choice(["A", "B", "tie"], 60, p=[0.5, 0.2, 0.3])
        rate = trueness.head_to_head("A", "B", verdicts).pairs[0].win_rate
        held += rate.low <= 0.65 <= rate.high

    assert 0.92 <= held / 400 <= 0.98


def test_errors_name_what_was_found():
    with pytest.raises(trueness.InputError, match="found 'C' at position 1"):
        trueness.head_to_head("A", "B", ["A", "C"])
    with pytest.raises(trueness.InputError, match="two names"):
        trueness.head_to_head("A", "A", ["A"])
    with pytest.raises(trueness.InputError, match="2 names and 1 verdicts"):
        trueness.head_to_head(["A", "A"], "B", ["A"])
    with pytest.raises(trueness.NotEnoughCases, match="none"):
        trueness.head_to_head("A", "B", [])
