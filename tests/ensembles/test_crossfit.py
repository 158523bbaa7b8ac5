"""Out-of-sample comparison of combiners."""

import numpy as np
import pytest

import trueness
from trueness import InputError, NotEnoughCases, Panel
from trueness.calibration.folds import deal_cases
from trueness.counts.folds import Folds


def dealt(p, folds):
    """Give the counts of each fold that seed 0 deals: negatives, then positives."""
    rng = np.random.default_rng(0)
    return zip(*(deal_cases(c, folds, rng) for c in (p.neg, p.pos)), strict=True)


def test_limits_over_the_folds_by_hand(rng):
    """Two folds of scores that nobody fits: means and DeLong's variances of folds."""
    p = trueness.simulate_panel(200, 80, [0.7, 0.75], rng=1)
    first = {"first": lambda panel: lambda rows: rows[:, 0]}
    found = trueness.compare_combiners(p, combiners=first, against="first", folds=2)
    column = p.rows[:, 0]
    each = [trueness.auc(trueness.Tally(column, *fold)) for fold in dealt(p, 2)]
    e = found.auc["first"]
    assert e.value == pytest.approx(np.mean([x.value for x in each]))
    assert e.se == pytest.approx(np.hypot(*(x.se for x in each)) / 2)
    d = found.difference["first"]
    assert (d.value, d.low, d.high) == (0, 0, 0)
    assert found.gain["first"]["C1"].value == 0
    assert found.gain["first"]["C1"].low < 0  # a copy on 200 cases


def test_unseen_cases_decide():
    p = trueness.simulate_panel(1500, 600, [0.6, 0.65, 0.7, 0.72], rng=2)
    found = trueness.compare_combiners(p, rng=0)
    assert set(found.auc) == set(trueness.COMBINERS)
    assert found.single == trueness.auc(p) == {k: trueness.auc(p[k]) for k in p.names}
    assert found.difference["best-single"].value == 0
    assert found.difference["fidel"].low > 0
    assert found.auc["fidel"].low < found.auc["fidel"].value < found.auc["fidel"].high
    # paired: the interval of the difference is shorter than the two together
    d, f = found.difference["fidel"], found.auc["fidel"]
    assert d.high - d.low < 2 * (f.high - f.low)
    again = trueness.compare_combiners(p, rng=0)
    assert again.to_dict() == found.to_dict()
    assert "difference to best-single" in repr(found)
    assert list(found.to_frame("dict")["combiner"]) == list(trueness.COMBINERS)


def test_like_is_compared_with_like():
    """Where folds have different winners, "best single" is below every classifier."""
    p = trueness.simulate_panel(24, 12, {"A": 0.7, "B": 0.7, "C": 0.7}, rng=5)
    found = trueness.compare_combiners(p, rng=0)
    assert found.auc["best-single"].value < min(e.value for e in found.single.values())
    for name in found.single:
        # within the folds: the AUC of a classifier that nobody had to choose
        column = p.rows[:, p.names.index(name)]
        each = [trueness.auc(trueness.Tally(column, *fold)) for fold in dealt(p, 5)]
        gain = found.gain["fidel"][name].value
        assert gain == pytest.approx(found.auc["fidel"].value - np.mean(each))
    assert "Together they are better" not in found.sentence()
    assert "the data would choose" in found.sentence()
    assert "the best single classifier in hindsight" in found.sentence()


@pytest.mark.slow
def test_better_together_is_seldom_said_where_it_is_not_true():
    said = 0
    for seed in range(30):
        p = trueness.simulate_panel(60, 20, [0.75] * 3, correlation=0.97, rng=seed)
        found = trueness.compare_combiners(p, rng=seed)
        said += "Together they are better" in found.sentence()
    assert said <= 2
    p = trueness.simulate_panel(2000, 800, [0.75] * 3, rng=1)
    assert "Together they are better" in trueness.compare_combiners(p).sentence()


def test_perfect_ranking_is_not_beyond_doubt():
    p = Panel(["A", "B"], [[1, 1], [2, 2], [3, 3], [4, 4]], [6, 6, 0, 0], [0, 0, 6, 6])
    found = trueness.compare_combiners(p)
    assert found.auc["mean-score"].value == 1
    assert found.auc["mean-score"].low < 1
    assert found.difference["mean-score"].value == 0


def test_own_combiners_and_names():
    p = trueness.simulate_panel(300, 100, [0.6, 0.8], rng=3)
    mine = {
        "first": lambda panel: lambda rows: rows[:, 0],
        "woc": trueness.wisdom_of_crowds,
    }
    words = {"combiners": mine, "against": "first", "folds": 3}
    found = trueness.compare_combiners(p, **words, rng=0)
    assert set(found.auc) == {"first", "woc"}
    assert found.folds == 3
    few = trueness.compare_combiners(p, combiners=["fidel"], against="fidel", rng=0)
    assert list(few.auc) == ["fidel"]
    rows = p.rows.copy()
    rows[np.random.default_rng(0).random(rows.shape) < 0.2] = np.nan
    holes = trueness.compare_combiners(Panel(p.names, rows, p.neg, p.pos), rng=0)
    assert all(0.5 < e.value < 1 for e in [*holes.auc.values(), *holes.single.values()])


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ({}, "5 folds need 5 cases of each class"),
        ({"combiners": ["fidle"]}, "combiners must be one of"),
        ({"against": "best"}, "against must be one of"),
    ],
)
def test_errors(words, message):
    p = trueness.simulate_panel(20, 3, [0.6, 0.8], rng=3)
    with pytest.raises((InputError, NotEnoughCases), match=message):
        trueness.compare_combiners(p, rng=0, **words)
    with pytest.raises(NotEnoughCases, match="compare_combiners needs"):
        trueness.compare_combiners(p.without_labels(), rng=0)


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
