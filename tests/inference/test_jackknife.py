"""A number of one's own: the jackknife itself, and formulas where there are some."""

import math
import warnings

import numpy as np
import pytest

import trueness
from trueness.inference.jackknife import _MAX_DELETIONS


def by_jackknife(*args, **options):
    return trueness.estimate(*args, method="jackknife", **options)


def data(n, seed=0, places=9):
    rng = np.random.default_rng(seed)
    y = np.append(rng.random(n - 4) < 0.4, [0, 0, 1, 1]).astype(int)
    return y, np.round(rng.normal(size=n) + y, places)


def area(t):
    """AUC, as somebody would write it."""
    below = t.n_neg - np.cumsum(t.neg) + t.neg / 2
    return t.pos @ below / (t.n_pos * t.n_neg)


def mean_of_positives(t):
    return t.score @ t.pos / t.n_pos


def median_of_positives(t):
    order = np.argsort(t.score)
    return np.interp(0.5, np.cumsum(t.pos[order]) / t.n_pos, t.score[order])


STATISTICS = {
    "area": (area, (0, 1)),
    "mean": (mean_of_positives, (-math.inf, math.inf)),
    "median": (median_of_positives, (-math.inf, math.inf)),
}


@pytest.mark.parametrize("name", STATISTICS)
def test_it_is_the_jackknife_of_single_cases(name):
    statistic, ends = STATISTICS[name]
    labels, scores = data(24)
    each = np.array(
        [statistic(trueness.tally(np.delete(labels, i), np.delete(scores, i)))
         for i in range(labels.size)]
    )  # fmt: skip
    by_hand = (labels.size - 1) * each.var()
    result = by_jackknife(trueness.tally(labels, scores), statistic, value_range=ends)

    assert result.se**2 == pytest.approx(by_hand, rel=1e-9)

    # of a case-control sample each class is left out by itself
    parts = [(labels == k).sum() - 1 for k in (0, 1)]
    by_class = sum(m * each[labels == k].var() for k, m in enumerate(parts))
    result = by_jackknife(
        trueness.tally(labels, scores),
        statistic,
        value_range=ends,
        sampling="case-control",
    )

    assert result.se**2 == pytest.approx(by_class, rel=1e-9)


@pytest.mark.parametrize("places", [1, 9])
@pytest.mark.parametrize(
    "arguments", [(), ("cluster",), ("weight",), ("cluster", "weight")]
)
def test_an_area_by_hand_has_the_interval_of_the_area(places, arguments):
    labels, scores = data(1200, places=places)
    rng = np.random.default_rng(1)
    columns = {"cluster": np.arange(1200) // 6, "weight": rng.uniform(0.5, 2, 1200)}
    design = {name: columns[name] for name in arguments}
    tally = trueness.tally(labels, scores, **design)

    estimate = by_jackknife(tally, area)

    expected = trueness.auc(tally)
    assert estimate.value == pytest.approx(expected.value, abs=1e-12)
    assert estimate.se == pytest.approx(expected.se, rel=0.02)
    assert estimate.ci == pytest.approx(expected.ci, abs=0.002)


def test_a_panel_of_many_rows_is_left_out_in_groups():
    labels, scores = data(900)
    p = trueness.panel(labels, {"a": scores, "b": scores**2})

    assert len(p) > _MAX_DELETIONS

    result = by_jackknife(p, lambda p: area(p["a"]))

    assert result.se == pytest.approx(trueness.auc(labels, scores).se, rel=0.15)


def test_counts_beyond_rounding():
    small = trueness.Tally([2, 1, 0], pos=[30, 20, 10], neg=[10, 20, 40])
    large = trueness.Tally([2, 1, 0], pos=[3e14, 2e14, 1e14], neg=[1e14, 2e14, 4e14])
    a, b = (by_jackknife(t, area).se for t in (small, large))

    assert b * math.sqrt(1e13) == pytest.approx(a, rel=0.02)


UNDEFINED = {
    "one positive": trueness.Tally([2, 1], pos=[1, 0], neg=[3, 5]),
    "in one cluster": trueness.tally([1, 0, 0, 0, 1], [3, 2, 1, 0, 2],
                                     cluster=[1, 1, 2, 3, 1]),
}  # fmt: skip


@pytest.mark.parametrize("name", UNDEFINED)
@pytest.mark.parametrize("statistic", [mean_of_positives, trueness.auc, area])
def test_what_a_single_case_decides_has_wide_limits(name, statistic):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        ends = (0.0, 1.0) if statistic is not mean_of_positives else (-10.0, 10.0)
        # as a plain function: an analysis has influence values of its own
        result = by_jackknife(UNDEFINED[name], lambda t: statistic(t), value_range=ends)

    assert result.low < result.value - 0.1
    assert result.notes


def test_a_statistic_without_a_value():
    tally = trueness.Tally([2, 1], pos=[4, 3], neg=[3, 5])
    result = by_jackknife(tally, lambda tally: math.nan)

    assert math.isnan(result.value)
    assert math.isnan(result.low)
    assert math.isnan(result.se)
    assert result.notes == ("The statistic is undefined (NaN) for these cases.",)


WRONG = {
    "must return one number": (lambda t: "high", {}),
    "which lies outside": (lambda t: 7.0, {}),
    "the lower one first": (area, {"value_range": (1, 0)}),
    "does not take labels that are missing at random": (
        area,
        {"unlabelled": "missing at random"},
    ),
}


@pytest.mark.parametrize("message", WRONG)
def test_what_cannot_be_done_is_said(message):
    statistic, options = WRONG[message]
    tally = trueness.Tally([2, 1], pos=[4, 3], neg=[3, 5], unknown=[1, 1])

    with pytest.raises(trueness.InputError, match=message):
        by_jackknife(tally, statistic, **options)
