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
from trueness.scale.arrangements import auc_bounds, best_arrangement, worst_arrangement
from trueness.scale.envelopes import CurveBounds

SEEDS = range(8)


def bins_of(low, high, neg, pos):
    counts = [np.array(column) for column in (neg, pos, [0] * len(neg))]
    return tally_of_bins(np.array(low), np.array(high), counts)


def slow_auc(t):
    """Compare each positive with each negative, in fractions."""
    pairs = Fraction(0)
    for score_of_positive, positives in zip(t.score, t.pos, strict=True):
        for score_of_negative, negatives in zip(t.score, t.neg, strict=True):
            won = Fraction(int(score_of_positive > score_of_negative))
            if score_of_positive == score_of_negative:
                won = Fraction(1, 2)
            pairs += int(positives) * int(negatives) * won
    return float(pairs / (t.n_pos * t.n_neg))


def slow_precision(t, odds=1.0):
    """Average the precision over the positives; a negative counts ``odds`` times."""
    tp = np.cumsum(t.pos)
    fp = odds * np.cumsum(t.neg)
    flagged = np.where(tp + fp > 0, tp + fp, 1)
    return float((t.pos * tp / flagged).sum() / t.n_pos)


def test_auc_by_hand():
    # bins (1 pos, 2 neg) and (1 pos, 1 neg): 3 of the 6 pairs share a bin
    t = bins_of([0.6, 0.1], [0.9, 0.5], [2, 1], [1, 1])

    assert auc_bounds(t) == trueness.auc(t).bounds == (1 / 6, 4 / 6)


def test_auc_of_counts_whose_products_leave_64_bits():
    big = 4_000_000_000
    t = Tally([2, 1], neg=[big, big], pos=[big, big]).bin(1)

    assert auc_bounds(t) == (0.0, 1.0)


def test_bins_of_one_class_leave_nothing_open():
    pure = Tally([4, 3, 2, 1], neg=[0, 0, 1, 1], pos=[1, 1, 0, 0]).bin(2)

    assert pure.binned
    assert auc_bounds(pure) == (1.0, 1.0)
    assert trueness.average_precision(pure).bounds == pytest.approx((1, 1))
    assert "exact although scores were binned" in repr(trueness.auc(pure))


@pytest.mark.parametrize("seed", SEEDS)
def test_bounds_of_the_auc_are_reached(seed):
    rng = np.random.default_rng(seed)
    t = random_bins(rng)

    low, high = trueness.auc(t).bounds
    areas = [slow_auc(x) for x in arrangements(t, rng, most=500)]

    assert low <= min(areas) <= max(areas) <= high
    assert {slow_auc(worst_arrangement(t)), slow_auc(best_arrangement(t))} == {
        low,
        high,
    }


@pytest.mark.parametrize("prevalence", [None, 0.2])
@pytest.mark.parametrize("seed", SEEDS)
def test_bounds_of_average_precision_are_reached(seed, prevalence):
    rng = np.random.default_rng(seed)
    t = random_bins(rng)
    every = list(arrangements(t, rng, most=500))
    odds = 1.0 if prevalence is None else 4 * t.n_pos / t.n_neg

    low, high = trueness.average_precision(t, prevalence=prevalence).bounds
    precisions = [slow_precision(x, odds) for x in every]

    assert low <= min(precisions) <= max(precisions) <= high
    if len(every) < 500:  # these are all of them
        assert (low, high) == pytest.approx((min(precisions), max(precisions)), 1e-12)


@pytest.mark.parametrize("name", ["brier", "log_loss"])
@pytest.mark.parametrize("seed", SEEDS)
def test_proper_scores_and_their_parts(seed, name):
    rng = np.random.default_rng(seed)
    t = random_bins(rng)

    score = getattr(trueness, name)(t)
    bounds = [score.bounds, score.mcb.bounds, score.dsc.bounds, score.unc.bounds]

    for x in arrangements(t, rng, most=60):
        for value, (low, high) in zip(decomposition(x, name), bounds, strict=True):
            assert low - 1e-15 <= value <= high + 1e-15
    reached = [
        decomposition(x, name)[0] for x in (best_arrangement(t), worst_arrangement(t))
    ]
    assert reached == pytest.approx(score.bounds, rel=1e-12)


@pytest.fixture
def no_smooth_error(monkeypatch):
    """Leave out the smooth error, which is slow and has no bounds."""
    monkeypatch.setattr(
        "trueness.calibration.errors.smooth_error",
        lambda score, pos, *rest: np.zeros(pos.shape[:-1]),
    )


@pytest.mark.usefixtures("no_smooth_error")
@pytest.mark.parametrize("bins", [2, 3, 15])
@pytest.mark.parametrize("seed", range(20))
def test_calibration_errors(seed, bins):
    rng = np.random.default_rng(seed)
    t = random_bins(rng, most=4, bins=int(rng.integers(2, 7)))

    error = trueness.calibration_error(t, bins=bins)

    for x in arrangements(t, rng, most=25):
        exact = trueness.calibration_error(x, bins=bins)
        for name in ("plain", "debiased", "rms"):
            low, high = getattr(error, name).bounds
            assert low <= getattr(exact, name).value <= high
    assert error.bounds == error.plain.bounds
    assert "unknown: each bin was treated" in error.smooth.bounds


@pytest.mark.parametrize("seed", range(12))
def test_slope_and_intercept_of_small_bins(seed):
    rng = np.random.default_rng(seed)
    t = random_bins(rng, most=5, bins=4)

    try:
        line = trueness.calibration_line(t)
    except NotEnoughCases:
        pytest.skip("these bins have no line")

    for x in arrangements(t, rng, most=40):
        with suppress(NotEnoughCases):
            exact = trueness.calibration_line(x)
            for name in ("slope", "intercept"):
                low, high = getattr(line, name).bounds
                assert low <= getattr(exact, name).value <= high


def many_cases():
    rng = np.random.default_rng(0)
    p = rng.random(10_000)
    return trueness.tally(rng.random(10_000) < p**1.5, p)


def test_fine_bins_leave_little_of_calibration_errors_open():
    error = trueness.calibration_error(many_cases().bin(2000))

    for part in (error.plain, error.debiased, error.rms):
        low, high = part.bounds
        assert low < part.value < high < low + 0.02


def test_fine_bins_leave_little_of_the_calibration_line_open():
    t = many_cases()

    line = trueness.calibration_line(t)
    result = trueness.calibration_line(t.bin(500))

    for name in ("slope", "intercept"):
        low, high = getattr(result, name).bounds
        assert low <= getattr(line, name).value <= high < low + 0.1
    assert result.bounds == result.slope.bounds
    assert trueness.bounds("calibration_line", t.bin(500)).name == "calibration_line"


CURVES = {
    "roc": ("fpr", "tpr"),
    "det": ("fpr", "fnr"),
    "gain_curve": ("flagged_rate", "recall"),
    "precision_recall": ("recall", "precision"),
    "lift_curve": ("flagged_rate", "lift"),
}


@pytest.mark.parametrize("seed", range(12))
@pytest.mark.parametrize("prevalence", [None, 0.1])
@pytest.mark.parametrize("name", CURVES)
def test_curves_lie_between(name, prevalence, seed):
    along, across = CURVES[name]
    curve = getattr(trueness, name)
    rng = np.random.default_rng(seed)
    t = random_bins(rng)

    bounds = curve(t, prevalence=prevalence).bounds

    assert bounds.axes == (along, across)
    assert np.all(np.diff(bounds.x) >= -1e-15)
    assert np.all(bounds.low <= bounds.high)
    for arranged in arrangements(t, rng, most=40):
        exact = curve(arranged, prevalence=prevalence)
        for x, y in zip(getattr(exact, along), getattr(exact, across), strict=True):
            low, high = curve_span(bounds, x)
            assert low <= y <= high


def test_the_corners_of_the_roc_curve_are_reached():
    t = Tally([4, 3, 2, 1], neg=[0, 1, 0, 1], pos=[1, 0, 1, 0]).bin(2)

    bounds = trueness.roc(t).bounds

    assert bounds.x.tolist() == [0, 0.5, 0.5, 1]
    assert bounds.low.tolist() == [0, 0, 0.5, 0.5]
    assert bounds.high.tolist() == [0.5, 0.5, 1, 1]


def test_a_curve_shows_its_bounds():
    t = Tally([4, 3, 2, 1], neg=[0, 1, 0, 1], pos=[1, 0, 1, 0]).bin(2)

    curve = trueness.roc(t)

    assert str(curve.bounds) == "tpr known to within 0.5 along fpr"
    assert "bounds: tpr known to within 0.5 along fpr" in repr(curve)
    assert curve.to_dict()["bounds"]["x"] == [0, 0.5, 0.5, 1]


def test_a_simplified_curve_keeps_its_bounds():
    rng = np.random.default_rng(0)
    t = trueness.tally(rng.random(600) < 0.5, rng.random(600)).bin(50)

    short = trueness.ranking.simplify(trueness.roc(t), points=10)

    assert isinstance(short.bounds, CurveBounds)


@pytest.mark.parametrize("seed", range(30))
def test_reliability_lies_between(seed):
    rng = np.random.default_rng(seed)
    t = random_bins(rng, most=4, bins=int(rng.integers(1, 6)))

    bounds = trueness.reliability(t, replicates=20).bounds
    low = bounds.low[::2]
    high = bounds.high[::2]
    lowest_scores = bounds.x[::2]
    largest_seen = np.full(low.size, -1.0)
    smallest_seen = np.full(low.size, 2.0)

    for x in arrangements(t, rng, most=150):
        bin = np.searchsorted(lowest_scores, x.score[::-1], side="right") - 1
        value = isotonic_curve(x.pos[::-1], x.neg[::-1])
        assert np.all(low[bin] <= value)
        assert np.all(value <= high[bin])
        np.maximum.at(largest_seen, bin, value)
        np.minimum.at(smallest_seen, bin, value)

    if seed < 10:  # few bins: nearly every arrangement was tried
        reached = np.isclose(largest_seen, high) & np.isclose(smallest_seen, low)
        assert np.mean(reached) > 0.3
    assert np.all(np.diff(low) >= -1e-12)
    assert np.all(np.diff(high) >= -1e-12)


def test_reliability_bounds_by_hand():
    # one bin: 1 positive and 1 negative, then a single score with 1 of 2
    t = bins_of([0.8, 0.1], [0.8, 0.5], [1, 1], [1, 1])

    bounds = trueness.reliability(t, replicates=20).bounds

    # at least: negative last, one block of 2 of 4 without it. At most: positive last,
    # pooled with the 1 of 2 above it
    assert bounds.low == pytest.approx([0, 0, 1 / 2, 1 / 2])
    assert bounds.high == pytest.approx([2 / 3, 2 / 3, 2 / 3, 2 / 3])


@pytest.mark.parametrize("seed", range(3))
def test_net_benefits_lie_between(seed):
    rng = np.random.default_rng(seed)
    t = random_bins(rng)

    limits = trueness.decision_curve(t, prevalence=0.3).bounds

    for x in arrangements(t, rng, most=5):
        exact = trueness.decision_curve(x, prevalence=0.3).net_benefit
        assert np.all(limits.low <= exact)
        assert np.all(exact <= limits.high)
