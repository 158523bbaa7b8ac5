"""Comparisons of true rates: three systems, pairs of items, what cannot be paired."""

import numpy as np
import pytest

import trueness
from reference_judges import simulate_judges


@pytest.fixture
def three_systems(rng):
    """One system that passes 85 % of the cases, and two that pass 60 %."""
    systems = {}
    for name, rate in (("a", 0.85), ("b", 0.6), ("c", 0.6)):
        labels, verdicts = simulate_judges(
            rng, 2000, rate, sensitivity=[0.9, 0.8], specificity=[0.8, 0.8], labels=300
        )
        systems[name] = trueness.panel(labels, verdicts)
    return systems


def test_systems_that_differ_are_told_from_those_that_do_not(three_systems):
    comparison = trueness.compare_prevalence(three_systems, labelled="random")

    assert comparison.first.tolist() == ["a", "a", "b"]
    assert comparison.low[0] < 0.25 < comparison.high[0]
    assert comparison.low[2] < 0 < comparison.high[2]
    assert comparison.probability[0] > 0.99
    assert comparison.p_adjusted[0] < 0.01


def test_simultaneous_intervals_hold_those_of_the_pairs(three_systems):
    comparison = trueness.compare_prevalence(three_systems, labelled="random")

    assert (comparison.simultaneous_low <= comparison.low).all()
    assert (comparison.simultaneous_high >= comparison.high).all()


def test_one_system_is_not_compared(three_systems):
    with pytest.raises(trueness.InputError, match="at least two"):
        trueness.compare_prevalence({"a": three_systems["a"]}, labelled="random")


def systems_on_same_items(rng, items, rates, labels):
    """Systems that answered the same items, which are mostly as hard for all."""
    ease = rng.random(items)
    labelled = rng.permutation(items)[:labels]
    systems = {}
    for name, rate in rates.items():
        own_ease = np.where(rng.random(items) < 0.8, ease, rng.random(items))
        truth = own_ease < rate
        if_right = rng.random((items, 2)) < 0.9
        if_wrong = rng.random((items, 2)) < 0.2
        verdicts = np.where(truth[:, None], if_right, if_wrong).astype(float)
        known = np.full(items, np.nan)
        known[labelled] = truth[labelled]
        columns = {"J0": verdicts[:, 0], "J1": verdicts[:, 1], "item": np.arange(items)}
        systems[name] = trueness.panel(known, columns)
    return systems


def test_a_system_paired_with_itself_does_not_differ(rng):
    panel = systems_on_same_items(rng, 400, {"A": 0.7}, 100)["A"]

    comparison = trueness.compare_prevalence(
        {"A": panel, "again": panel}, labelled="random", item="item"
    )

    assert comparison.high[0] - comparison.low[0] < 0.01
    assert comparison.low[0] <= 0 <= comparison.high[0]


def test_paired_difference_of_known_truth_is_that_of_mcnemar():
    """All labels known: the difference of two proportions of the same items."""
    both, only_first, only_second, none = 300, 80, 40, 180
    sizes = [both, only_first, only_second, none]
    truth = {
        "A": np.repeat([1.0, 1.0, 0.0, 0.0], sizes),
        "B": np.repeat([1.0, 0.0, 1.0, 0.0], sizes),
    }
    systems = {
        name: trueness.panel(label, {"J": label, "item": np.arange(600)})
        for name, label in truth.items()
    }
    difference = (only_first - only_second) / 600
    variance = ((only_first + only_second) / 600 - difference**2) / 600

    comparison = trueness.compare_prevalence(systems, labelled="random", item="item")

    width = comparison.high[0] - comparison.low[0]
    assert comparison.difference[0] == pytest.approx(difference, abs=0.005)
    assert width == pytest.approx(2 * 1.96 * np.sqrt(variance), rel=0.08)


@pytest.fixture
def two_systems(rng):
    return systems_on_same_items(rng, 100, {"A": 0.7, "B": 0.6}, 40)


def test_a_column_of_another_name_does_not_pair(two_systems):
    with pytest.raises(ValueError, match="must name a column"):
        trueness.compare_prevalence(two_systems, labelled="random", item="items")


def test_items_of_other_numbers_do_not_pair(two_systems):
    second = two_systems["B"]
    two_systems["B"] = trueness.Panel(
        second.names,
        second.rows + np.array([0, 0, 1000]),
        neg=second.neg,
        pos=second.pos,
        unknown=second.unknown,
    )

    with pytest.raises(ValueError, match="No item was answered by all"):
        trueness.compare_prevalence(two_systems, labelled="random", item="item")


def test_items_that_occur_twice_do_not_pair(two_systems):
    two_systems["B"] = two_systems["B"] + two_systems["B"]

    with pytest.raises(ValueError, match="occurs 2 times in 'B'"):
        trueness.compare_prevalence(two_systems, labelled="random", item="item")


def test_systems_without_labels_do_not_pair(two_systems):
    unlabelled = {name: panel.without_labels() for name, panel in two_systems.items()}

    with pytest.raises(ValueError, match="Without labels"):
        trueness.compare_prevalence(unlabelled, item="item")
