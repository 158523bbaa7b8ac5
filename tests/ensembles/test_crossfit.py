"""Out-of-sample comparison of combiners."""

import numpy as np
import pytest

import trueness
from trueness import InputError, NotEnoughCases, Panel
from trueness.calibration.folds import deal_cases
from trueness.counts.folds import Folds


def tallies_of_folds(panel, name, folds):
    """Return the tally of one classifier in each fold that seed 0 deals."""
    rng = np.random.default_rng(0)
    negatives = deal_cases(panel.neg, folds, rng)
    positives = deal_cases(panel.pos, folds, rng)
    column = panel.rows[:, panel.names.index(name)]
    return [
        trueness.Tally(column, neg, pos)
        for neg, pos in zip(negatives, positives, strict=True)
    ]


def take_first(panel):
    """Return a combiner that nobody fits: the output of the first classifier."""
    return lambda rows: rows[:, 0]


@pytest.fixture(scope="module")
def of_first():
    """Compare the first classifier with itself, in two folds."""
    panel = trueness.simulate_panel(200, 80, [0.7, 0.75], rng=1)
    comparison = trueness.compare_combiners(
        panel, combiners={"first": take_first}, reference="first", folds=2
    )
    return panel, comparison


def test_intervals_over_the_folds_by_hand(of_first):
    """Two folds of scores that nobody fits: means and DeLong's variances of folds."""
    panel, comparison = of_first
    areas = [trueness.auc(tally) for tally in tallies_of_folds(panel, "C1", 2)]

    estimate = comparison.auc["first"]

    standard_error = np.hypot(areas[0].se, areas[1].se) / 2

    assert estimate.value == pytest.approx(np.mean([area.value for area in areas]))
    assert estimate.se == pytest.approx(standard_error)


def test_a_combiner_does_not_differ_from_itself(of_first):
    _, comparison = of_first

    difference = comparison.difference["first"]

    assert (difference.value, difference.low, difference.high) == (0, 0, 0)

    gain = comparison.gain["first"]["C1"]

    assert gain.value == 0
    assert gain.low < 0  # a copy on 200 cases


FOUR = trueness.simulate_panel(1500, 600, [0.6, 0.65, 0.7, 0.72], rng=2)


@pytest.fixture(scope="module")
def of_four():
    return trueness.compare_combiners(FOUR, rng=0)


def test_all_combiners_are_compared_with_the_best_single(of_four):
    assert set(of_four.auc) == set(trueness.COMBINERS)
    assert of_four.difference["best-single"].value == 0
    assert of_four.difference["fidel"].low > 0


def test_single_classifiers_have_their_own_auc(of_four):
    expected = {name: trueness.auc(FOUR[name]) for name in FOUR.names}

    assert of_four.single == trueness.auc(FOUR) == expected


def test_the_interval_of_a_difference_is_paired(of_four):
    """It is shorter than those of both sides together."""
    difference = of_four.difference["fidel"]
    area = of_four.auc["fidel"]

    assert area.low < area.value < area.high
    assert difference.high - difference.low < 2 * (area.high - area.low)


def test_the_same_seed_gives_the_same_comparison(of_four):
    again = trueness.compare_combiners(FOUR, rng=0)

    assert again.to_dict() == of_four.to_dict()


def test_a_comparison_of_combiners_is_shown(of_four):
    assert "difference from best-single" in repr(of_four)
    table = of_four.to_frame("dict")
    assert list(table["combiner"]) == list(trueness.COMBINERS)


EQUAL = trueness.simulate_panel(24, 12, {"A": 0.7, "B": 0.7, "C": 0.7}, rng=5)


@pytest.fixture(scope="module")
def of_equal():
    return trueness.compare_combiners(EQUAL, rng=0)


def test_the_best_single_pays_for_having_been_chosen(of_equal):
    """Where folds have different winners, it is below every classifier."""
    lowest = min(area.value for area in of_equal.single.values())

    assert of_equal.auc["best-single"].value < lowest


@pytest.mark.parametrize("name", EQUAL.names)
def test_gains_are_counted_within_the_folds(of_equal, name):
    """From the AUC of a classifier that nobody had to choose."""
    areas = [trueness.auc(tally).value for tally in tallies_of_folds(EQUAL, name, 5)]

    gain = of_equal.gain["fidel"][name].value

    assert gain == pytest.approx(of_equal.auc["fidel"].value - np.mean(areas))


def test_the_sentence_on_equal_classifiers_claims_nothing(of_equal):
    sentence = of_equal.sentence()

    assert "Combining them is better" not in sentence
    assert "cross-validation would choose" in sentence
    assert "the best single classifier" in sentence


@pytest.mark.slow
def test_better_together_is_seldom_said_where_it_is_not_true():
    claims = 0
    for seed in range(30):
        panel = trueness.simulate_panel(60, 20, [0.75] * 3, correlation=0.97, rng=seed)
        comparison = trueness.compare_combiners(panel, rng=seed)
        claims += "Combining them is better" in comparison.sentence()

    assert claims <= 2


def test_better_together_is_said_where_it_is_true():
    panel = trueness.simulate_panel(2000, 800, [0.75] * 3, rng=1)

    comparison = trueness.compare_combiners(panel)

    assert "Combining them is better" in comparison.sentence()


def test_perfect_ranking_is_not_beyond_doubt():
    panel = Panel(
        ["A", "B"], [[1, 1], [2, 2], [3, 3], [4, 4]], [6, 6, 0, 0], [0, 0, 6, 6]
    )

    comparison = trueness.compare_combiners(panel)

    assert comparison.auc["mean-score"].value == 1
    assert comparison.auc["mean-score"].low < 1
    assert comparison.difference["mean-score"].value == 0


TWO = trueness.simulate_panel(300, 100, [0.6, 0.8], rng=3)


def test_own_combiners_are_compared():
    own = {"first": take_first, "woc": trueness.wisdom_of_crowds}

    comparison = trueness.compare_combiners(
        TWO, combiners=own, reference="first", folds=3, rng=0
    )

    assert set(comparison.auc) == {"first", "woc"}
    assert comparison.folds == 3


def test_combiners_are_chosen_by_name():
    comparison = trueness.compare_combiners(
        TWO, combiners=["fidel"], reference="fidel", rng=0
    )

    assert list(comparison.auc) == ["fidel"]


def test_missing_outputs_are_allowed():
    rows = TWO.rows.copy()
    rows[np.random.default_rng(0).random(rows.shape) < 0.2] = np.nan
    with_gaps = Panel(TWO.names, rows, TWO.neg, TWO.pos)

    comparison = trueness.compare_combiners(with_gaps, rng=0)

    areas = [*comparison.auc.values(), *comparison.single.values()]

    assert all(0.5 < area.value < 1 for area in areas)


FEW_POSITIVES = trueness.simulate_panel(20, 3, [0.6, 0.8], rng=3)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({}, "5 folds need 5 cases of each class"),
        ({"combiners": ["fidle"]}, "combiners must be one of"),
        ({"reference": "best"}, "reference must be one of"),
    ],
)
def test_errors(options, message):
    with pytest.raises((InputError, NotEnoughCases), match=message):
        trueness.compare_combiners(FEW_POSITIVES, rng=0, **options)


def test_combiners_are_not_compared_without_labels():
    with pytest.raises(NotEnoughCases, match="compare_combiners needs"):
        trueness.compare_combiners(FEW_POSITIVES.without_labels(), rng=0)


def test_a_threshold_of_folds_is_chosen_by_youdens_index_by_default():
    rng = np.random.default_rng(5)
    labels = rng.random((3, 80)) < 0.4
    folds = Folds([trueness.tally(y, rng.normal(size=80) + y) for y in labels])

    by_default = trueness.validate_threshold(folds)
    by_name = trueness.validate_threshold(folds, "youden")

    assert by_default == by_name


def test_a_brier_score_of_folds_needs_probabilities():
    rng = np.random.default_rng(5)
    labels = rng.random((3, 80)) < 0.4
    folds = Folds([trueness.tally(y, rng.normal(size=80) + y) for y in labels])

    with pytest.raises(trueness.InputError, match="needs scores from 0 to 1"):
        trueness.brier(folds)
