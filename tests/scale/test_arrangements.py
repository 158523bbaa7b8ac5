"""No arrangement of the cases within the bins leaves the bounds."""

from fractions import Fraction

import numpy as np
import pytest

import trueness
from bins_by_hand import arrangements, random_bins
from trueness import NotEnoughCases, Tally
from trueness.calibration.proper_scores import decomposition
from trueness.counts.values import tally_of_bins
from trueness.ranking.partial_areas import partial_area
from trueness.scale.arrangements import (
    auc_ends,
    average_precision_ends,
    dullest,
    sharpest,
)

SEEDS = range(8)


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
    t = tally_of_bins(
        np.array([0.6, 0.1]),
        np.array([0.9, 0.5]),
        [np.array([2, 1]), np.array([1, 1]), np.array([0, 0])],
    )
    assert auc_ends(t) == (1 / 6, 4 / 6)
    assert trueness.auc(t).limits == (1 / 6, 4 / 6)


@pytest.mark.parametrize("seed", SEEDS)
def test_auc_and_average_precision_are_reached(seed):
    rng = np.random.default_rng(seed)
    t = random_bins(rng)
    every = list(arrangements(t, rng, most=500))
    total = [slow_auc(x) for x in every]
    low, high = trueness.auc(t).limits
    assert low <= min(total)
    assert max(total) <= high
    assert {slow_auc(dullest(t)), slow_auc(sharpest(t))} == {low, high}
    for share in (None, 0.2):
        odds = 1.0 if share is None else 4 * t.n_pos / t.n_neg
        precise = [slow_precision(x, odds) for x in every]
        found = trueness.average_precision(t, prevalence=share)
        assert found.limits[0] <= min(precise)
        assert max(precise) <= found.limits[1]
        if len(every) < 500:  # all of them: the ends are reached
            assert found.limits == pytest.approx((min(precise), max(precise)), 1e-12)


@pytest.mark.parametrize("seed", SEEDS)
def test_parts_of_the_area(seed):
    rng = np.random.default_rng(seed)
    t = random_bins(rng)
    for part in (
        {"fpr": (0.0, 0.3)},
        {"tpr": (0.4, 1.0)},
        {"fpr": (0.1, 0.7), "tpr": (0.2, 0.9)},
        {"fpr": (0.0, 0.5), "corrected": True},
    ):
        low, high = trueness.partial_auc(t, replicates=100, **part).limits
        found = [partial_area(x, **part) for x in arrangements(t, rng, most=60)]
        assert low <= min(found)
        assert max(found) <= high
        ends = [partial_area(x, **part) for x in (dullest(t), sharpest(t))]
        assert ends == pytest.approx((low, high), abs=1e-12)


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("name", ["brier", "log_loss"])
def test_proper_scores_and_their_parts(name, seed):
    rng = np.random.default_rng(seed)
    t = random_bins(rng)
    found = getattr(trueness, name)(t)
    limits = [found.limits, found.mcb.limits, found.dsc.limits, found.unc.limits]
    for x in arrangements(t, rng, most=60):
        for value, (low, high) in zip(decomposition(x, name), limits, strict=True):
            assert low - 1e-15 <= value <= high + 1e-15
    ends = [decomposition(x, name)[0] for x in (sharpest(t), dullest(t))]
    assert ends == pytest.approx(found.limits, rel=1e-12)


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
        limits = [found.plain.limits, found.debiased.limits, found.rms.limits]
        for x in arrangements(t, rng, most=25):
            exact = trueness.calibration_error(x, bins=bins)
            values = exact.plain.value, exact.debiased.value, exact.rms.value
            for value, (low, high) in zip(values, limits, strict=True):
                assert low <= value <= high
        assert found.limits == found.plain.limits
        assert "not known" in found.smooth.limits


def test_calibration_errors_of_fine_bins_are_narrow():
    rng = np.random.default_rng(0)
    p = rng.random(10_000)
    t = trueness.tally(rng.random(10_000) < p**1.5, p).coarse(2000)
    found = trueness.calibration_error(t)
    for part in (found.plain, found.debiased, found.rms):
        low, high = part.limits
        assert low < part.value < high
        assert high - low < 0.02


def test_counts_too_large_for_64_bits():
    big = 4_000_000_000
    t = Tally([2, 1], neg=[big, big], pos=[big, big]).coarse(1)
    assert auc_ends(t) == (0.0, 1.0)


def test_pure_bins_cost_the_area_nothing():
    t = Tally([4, 3, 2, 1], neg=[0, 0, 1, 1], pos=[1, 1, 0, 0]).coarse(2)
    assert t.binned
    assert auc_ends(t) == (1.0, 1.0)
    assert average_precision_ends(t) == pytest.approx((1, 1))
    assert "exact although scores were binned" in repr(trueness.auc(t))


@pytest.mark.parametrize("seed", range(12))
def test_slope_and_intercept_of_small_bins(seed):
    rng = np.random.default_rng(seed)
    t = random_bins(rng, most=5, bins=4)
    try:
        found = trueness.calibration_line(t)
    except NotEnoughCases:
        return
    for x in arrangements(t, rng, most=40):
        try:
            exact = trueness.calibration_line(x)
        except NotEnoughCases:
            continue
        for name in ("slope", "intercept"):
            low, high = getattr(found, name).limits
            assert low <= getattr(exact, name).value <= high


def test_fine_bins_leave_little_open_of_slope_and_intercept():
    rng = np.random.default_rng(0)
    p = rng.random(20_000)
    exact = trueness.tally(rng.random(20_000) < p**1.5, p)
    found, line = (
        trueness.calibration_line(exact.coarse(500)),
        trueness.calibration_line(exact),
    )
    for name in ("slope", "intercept"):
        low, high = getattr(found, name).limits
        assert low <= getattr(line, name).value <= high
        assert high - low < 0.1
    assert found.limits == found.slope.limits
    assert (
        trueness.bounds("calibration_line", exact.coarse(500)).name
        == "calibration_line"
    )
