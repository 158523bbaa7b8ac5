"""No arrangement of the cases within the bins leaves the two curves."""

import numpy as np
import pytest

import trueness
from bins_by_hand import arrangements, random_bins
from trueness import Tally
from trueness._core.solvers import isotonic_curve
from trueness.counts.values import tally_of_bins
from trueness.scale.envelopes import CurveBounds

SEEDS = range(12)


def span(bounds, x):
    """What a curve of straight lines may be at x; jumps hold all between their ends."""
    left = np.searchsorted(bounds.x, x - 1e-12, side="left")
    right = np.searchsorted(bounds.x, x + 1e-12, side="right")
    here = slice(left, right)
    low, high = bounds.low[here], bounds.high[here]
    if left == right:  # inside a stretch
        part = slice(max(left - 1, 0), right + 1)
        at = bounds.x[part]
        low, high = (np.interp(x, at, v[part]) for v in (bounds.low, bounds.high))
    return np.min(low) - 1e-12, np.max(high) + 1e-12


CURVES = {
    "roc": ({}, "fpr", "tpr"),
    "det": ({}, "fpr", "fnr"),
    "gain_curve": ({}, "flagged_rate", "recall"),
    "precision_recall": ({}, "recall", "precision"),
    "lift_curve": ({}, "flagged_rate", "lift"),
    "gain_curve at 0.1": ({"prevalence": 0.1}, "flagged_rate", "recall"),
    "precision_recall at 0.1": ({"prevalence": 0.1}, "recall", "precision"),
    "lift_curve at 0.1": ({"prevalence": 0.1}, "flagged_rate", "lift"),
}


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("case", CURVES)
def test_curves_lie_between(case, seed):
    options, along, across = CURVES[case]
    analysis = getattr(trueness, case.split()[0])
    rng = np.random.default_rng(seed)
    t = random_bins(rng)
    found = analysis(t, **options).limits
    assert found.axes == (along, across)
    assert np.all(np.diff(found.x) >= -1e-15)
    assert np.all(found.low <= found.high)
    for x in arrangements(t, rng, most=40):
        exact = analysis(x, **options)
        for a, b in zip(getattr(exact, along), getattr(exact, across), strict=True):
            low, high = span(found, a)
            assert low <= b <= high


def test_the_corners_of_the_roc_curve_are_reached():
    t = Tally([4, 3, 2, 1], neg=[0, 1, 0, 1], pos=[1, 0, 1, 0]).coarse(2)
    found = trueness.roc(t).limits
    assert found.x.tolist() == [0, 0.5, 0.5, 1]
    assert found.low.tolist() == [0, 0, 0.5, 0.5]
    assert found.high.tolist() == [0.5, 0.5, 1, 1]
    assert str(found) == "tpr known to within 0.5 along fpr"
    assert "limits: tpr known to within 0.5 along fpr" in repr(trueness.roc(t))
    assert trueness.roc(t).to_dict()["limits"]["x"] == [0, 0.5, 0.5, 1]


@pytest.mark.parametrize("seed", range(30))
def test_reliability_lies_between(seed):
    rng = np.random.default_rng(seed)
    t = random_bins(rng, most=4, bins=int(rng.integers(1, 6)))
    found = trueness.reliability(t, replicates=20).limits
    low, high = found.low[::2], found.high[::2]
    edges = found.x[::2]
    top, bottom = np.full(edges.size, -1.0), np.full(edges.size, 2.0)
    for x in arrangements(t, rng, most=150):
        score, pos, neg = (c[::-1] for c in (x.score, x.pos, x.neg))
        bin = np.searchsorted(edges, score, side="right") - 1
        value = isotonic_curve(pos, neg)
        assert np.all(low[bin] <= value)
        assert np.all(value <= high[bin])
        np.maximum.at(top, bin, value)
        np.minimum.at(bottom, bin, value)
    if seed < 10:  # few bins: nearly every arrangement was tried
        assert np.mean(np.isclose(top, high) & np.isclose(bottom, low)) > 0.3
    assert np.all(np.diff(low) >= -1e-12)
    assert np.all(np.diff(high) >= -1e-12)


def test_reliability_bounds_by_hand():
    # one bin: 1 positive and 1 negative, then a single score with 1 of 2
    t = tally_of_bins(
        np.array([0.8, 0.1]),
        np.array([0.8, 0.5]),
        [np.array([1, 1]), np.array([1, 1]), np.array([0, 0])],
    )
    found = trueness.reliability(t, replicates=20).limits
    # at least: negative last, one block of 2 of 4 without it. At most: positive last,
    # pooled with the 1 of 2 above it
    assert found.low == pytest.approx([0, 0, 1 / 2, 1 / 2])
    assert found.high == pytest.approx([2 / 3, 2 / 3, 2 / 3, 2 / 3])


@pytest.mark.parametrize("seed", range(3))
def test_costs_and_benefits_lie_between(seed):
    rng = np.random.default_rng(seed)
    t = random_bins(rng)
    cost, benefit = trueness.cost_curve(t), trueness.decision_curve(t, prevalence=0.3)
    for x in arrangements(t, rng, most=12):
        exact = trueness.cost_curve(x).cost
        assert np.all(cost.limits.low <= exact)
        assert np.all(exact <= cost.limits.high)
        exact = trueness.decision_curve(x, prevalence=0.3).net_benefit
        assert np.all(benefit.limits.low <= exact)
        assert np.all(exact <= benefit.limits.high)


def test_a_simplified_curve_keeps_its_bounds():
    rng = np.random.default_rng(0)
    t = trueness.tally(rng.random(600) < 0.5, rng.random(600))
    curve = trueness.roc(t.coarse(50))
    assert isinstance(trueness.ranking.simplify(curve, points=10).limits, CurveBounds)
