"""No arrangement of the cases within the bins leaves the bounds, or the two curves."""

from contextlib import suppress
from fractions import Fraction

import numpy as np
import pytest

import trueness
from bins_by_hand import arrangements, curve_span, random_bins
from trueness import NotEnoughCases, Tally
from trueness._core.solvers import isotonic_curve
from trueness.calibration.proper_scores import decomposition
from trueness.counts.values import tally_of_bins
from trueness.scale.arrangements import auc_bounds, dullest, sharpest
from trueness.scale.envelopes import CurveBounds

SEEDS = range(8)


def bins_of(low, high, neg, pos):
    counts = [np.array(c) for c in (neg, pos, [0] * len(neg))]
    return tally_of_bins(np.array(low), np.array(high), counts)


def slow_auc(t):
    pairs = Fraction(0)
    for s, p in zip(t.score, t.pos, strict=True):
        for r, n in zip(t.score, t.neg, strict=True):
            pairs += int(p) * int(n) * (Fraction(1, 2) if s == r else int(s > r))
    return float(pairs / (t.n_pos * t.n_neg))


def slow_precision(t, odds=1.0):
    tp, fp = np.cumsum(t.pos), odds * np.cumsum(t.neg)
    flagged = np.where(tp + fp > 0, tp + fp, 1)
    return float((t.pos * tp / flagged).sum() / t.n_pos)


def test_auc_by_hand():
    # bins (1 pos, 2 neg) and (1 pos, 1 neg): 3 of the 6 pairs share a bin
    t = bins_of([0.6, 0.1], [0.9, 0.5], [2, 1], [1, 1])
    assert auc_bounds(t) == trueness.auc(t).bounds == (1 / 6, 4 / 6)
    big = 4_000_000_000  # too large for products in 64 bits
    t = Tally([2, 1], neg=[big, big], pos=[big, big]).bin(1)
    assert auc_bounds(t) == (0.0, 1.0)
    pure = Tally([4, 3, 2, 1], neg=[0, 0, 1, 1], pos=[1, 1, 0, 0]).bin(2)
    assert pure.binned
    assert auc_bounds(pure) == (1.0, 1.0)
    assert trueness.average_precision(pure).bounds == pytest.approx((1, 1))
    assert "exact although scores were binned" in repr(trueness.auc(pure))


@pytest.mark.parametrize("seed", SEEDS)
def test_auc_and_average_precision_are_reached(seed):
    rng = np.random.default_rng(seed)
    t = random_bins(rng)
    every = list(arrangements(t, rng, most=500))
    total = [slow_auc(x) for x in every]
    low, high = trueness.auc(t).bounds
    assert low <= min(total) <= max(total) <= high
    assert {slow_auc(dullest(t)), slow_auc(sharpest(t))} == {low, high}
    for share in (None, 0.2):
        odds = 1.0 if share is None else 4 * t.n_pos / t.n_neg
        precise = [slow_precision(x, odds) for x in every]
        found = trueness.average_precision(t, prevalence=share)
        assert found.bounds[0] <= min(precise) <= max(precise) <= found.bounds[1]
        if len(every) < 500:  # all of them: the ends are reached
            assert found.bounds == pytest.approx((min(precise), max(precise)), 1e-12)


@pytest.mark.parametrize("seed", SEEDS)
def test_proper_scores_and_their_parts(seed):
    rng = np.random.default_rng(seed)
    t = random_bins(rng)
    every = list(arrangements(t, rng, most=60))
    for name in ("brier", "log_loss"):
        found = getattr(trueness, name)(t)
        limits = [found.bounds, found.mcb.bounds, found.dsc.bounds, found.unc.bounds]
        for x in every:
            for value, (low, high) in zip(decomposition(x, name), limits, strict=True):
                assert low - 1e-15 <= value <= high + 1e-15
        ends = [decomposition(x, name)[0] for x in (sharpest(t), dullest(t))]
        assert ends == pytest.approx(found.bounds, rel=1e-12)


@pytest.mark.parametrize("seed", range(20))
def test_calibration_errors(seed, monkeypatch):
    # slow, and not bounded
    monkeypatch.setattr(
        "trueness.calibration.errors.smooth_error",
        lambda score, pos, *rest: np.zeros(pos.shape[:-1]),
    )
    rng = np.random.default_rng(seed)
    t = random_bins(rng, most=4, bins=int(rng.integers(2, 7)))
    for bins in (2, 3, 15):
        found = trueness.calibration_error(t, bins=bins)
        limits = [found.plain.bounds, found.debiased.bounds, found.rms.bounds]
        for x in arrangements(t, rng, most=25):
            exact = trueness.calibration_error(x, bins=bins)
            values = exact.plain.value, exact.debiased.value, exact.rms.value
            for value, (low, high) in zip(values, limits, strict=True):
                assert low <= value <= high
        assert found.bounds == found.plain.bounds
        assert "unknown: each bin was treated" in found.smooth.bounds


@pytest.mark.parametrize("seed", range(12))
def test_slope_and_intercept_of_small_bins(seed):
    rng = np.random.default_rng(seed)
    t = random_bins(rng, most=5, bins=4)
    with suppress(NotEnoughCases):
        found = trueness.calibration_line(t)
        for x in arrangements(t, rng, most=40):
            with suppress(NotEnoughCases):
                exact = trueness.calibration_line(x)
                for name in ("slope", "intercept"):
                    low, high = getattr(found, name).bounds
                    assert low <= getattr(exact, name).value <= high


def test_fine_bins_leave_little_open():
    rng = np.random.default_rng(0)
    p = rng.random(10_000)
    exact = trueness.tally(rng.random(10_000) < p**1.5, p)
    found = trueness.calibration_error(exact.bin(2000))
    for part in (found.plain, found.debiased, found.rms):
        low, high = part.bounds
        assert low < part.value < high < low + 0.02
    line, found = (trueness.calibration_line(x) for x in (exact, exact.bin(500)))
    for name in ("slope", "intercept"):
        low, high = getattr(found, name).bounds
        assert low <= getattr(line, name).value <= high < low + 0.1
    assert found.bounds == found.slope.bounds
    bounds = trueness.bounds("calibration_line", exact.bin(500))
    assert bounds.name == "calibration_line"


CURVES = {
    "roc": ("fpr", "tpr"),
    "det": ("fpr", "fnr"),
    "gain_curve": ("flagged_rate", "recall"),
    "precision_recall": ("recall", "precision"),
    "lift_curve": ("flagged_rate", "lift"),
}


@pytest.mark.parametrize("seed", range(12))
@pytest.mark.parametrize("share", [None, 0.1])
@pytest.mark.parametrize("case", CURVES)
def test_curves_lie_between(case, share, seed):
    along, across = CURVES[case]
    analysis, options = getattr(trueness, case), {"prevalence": share}
    rng = np.random.default_rng(seed)
    t = random_bins(rng)
    found = analysis(t, **options).bounds
    assert found.axes == (along, across)
    assert np.all(np.diff(found.x) >= -1e-15)
    assert np.all(found.low <= found.high)
    for x in arrangements(t, rng, most=40):
        exact = analysis(x, **options)
        for a, b in zip(getattr(exact, along), getattr(exact, across), strict=True):
            low, high = curve_span(found, a)
            assert low <= b <= high


def test_the_corners_of_the_roc_curve_are_reached():
    t = Tally([4, 3, 2, 1], neg=[0, 1, 0, 1], pos=[1, 0, 1, 0]).bin(2)
    found = trueness.roc(t).bounds
    assert found.x.tolist() == [0, 0.5, 0.5, 1]
    assert found.low.tolist() == [0, 0, 0.5, 0.5]
    assert found.high.tolist() == [0.5, 0.5, 1, 1]
    assert str(found) == "tpr known to within 0.5 along fpr"
    assert "bounds: tpr known to within 0.5 along fpr" in repr(trueness.roc(t))
    assert trueness.roc(t).to_dict()["bounds"]["x"] == [0, 0.5, 0.5, 1]
    rng = np.random.default_rng(0)
    t = trueness.tally(rng.random(600) < 0.5, rng.random(600))
    short = trueness.ranking.simplify(trueness.roc(t.bin(50)), points=10)
    assert isinstance(short.bounds, CurveBounds)


@pytest.mark.parametrize("seed", range(30))
def test_reliability_lies_between(seed):
    rng = np.random.default_rng(seed)
    t = random_bins(rng, most=4, bins=int(rng.integers(1, 6)))
    found = trueness.reliability(t, replicates=20).bounds
    low, high, edges = found.low[::2], found.high[::2], found.x[::2]
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
    t = bins_of([0.8, 0.1], [0.8, 0.5], [1, 1], [1, 1])
    found = trueness.reliability(t, replicates=20).bounds
    # at least: negative last, one block of 2 of 4 without it. At most: positive last,
    # pooled with the 1 of 2 above it
    assert found.low == pytest.approx([0, 0, 1 / 2, 1 / 2])
    assert found.high == pytest.approx([2 / 3, 2 / 3, 2 / 3, 2 / 3])


@pytest.mark.parametrize("seed", range(3))
def test_net_benefits_lie_between(seed):
    rng = np.random.default_rng(seed)
    t = random_bins(rng)

    limits = trueness.decision_curve(t, prevalence=0.3).bounds

    for x in arrangements(t, rng, most=5):
        exact = trueness.decision_curve(x, prevalence=0.3).net_benefit
        assert np.all(limits.low <= exact)
        assert np.all(exact <= limits.high)
