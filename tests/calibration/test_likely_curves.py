"""Intervals of calibration errors: signs, curves, and whether they cover."""

import math

import numpy as np
import pytest

import trueness
from trueness.calibration.fixed_shares import FixedShare
from trueness.calibration.likely_curves import likely_curve, signed_mean
from trueness.calibration.slope import calibration_line
from trueness.calibration.smooth_curve import loess, loess_weights


def test_scores_all_too_high_have_the_interval_of_a_mean(rng):
    """All bins are on one side: the error is mean score less mean label."""
    p = rng.uniform(0.5, 0.9, 400)
    y = rng.random(400) < 0.3 * p
    e = trueness.calibration_error(trueness.tally(y, p, positive=True), replicates=40)
    gap = p - y
    assert e.plain.value == pytest.approx(gap.mean())
    half = 1.96 * gap.std(ddof=1) / math.sqrt(400)
    assert e.plain.low == pytest.approx(gap.mean() - half, abs=0.1 * half)
    assert e.plain.high == pytest.approx(gap.mean() + half, abs=0.1 * half)


def test_signs_of_a_case_control_sample(rng):
    """The share is given: each class has its own mean and its own spread."""
    score = np.array([0.3, 0.6, 0.8])
    n_pos, n_neg = np.array([10, 20, 30]), np.array([40, 25, 15])
    fixed = FixedShare(0.1, 60, 80)
    rows = score, n_pos * fixed.weights[0], n_neg * fixed.weights[1]
    found = signed_mean(rows, np.array([-1.0, -1.0, -1.0]), 0.95, fixed)
    want = 0.1 * (score - 1) @ n_pos / 60 + 0.9 * score @ n_neg / 80
    assert found.value == pytest.approx(want)
    assert found.low < want < found.high


def test_few_cases_have_the_calibration_line_and_many_a_cubic(rng):
    p = rng.beta(1, 3, 90)
    odds = 0.5 * np.log(p / (1 - p)) - 0.3
    y = rng.random(90) < 1 / (1 + np.exp(-odds))
    t = trueness.tally(y, p, positive=True)
    curve = likely_curve((t.score[::-1], t.pos[::-1], t.neg[::-1]))
    fitted = np.log(curve.middle / (1 - curve.middle))
    assert t.n_pos < 50
    assert curve.centre.size == 2
    slope = np.polyfit(curve.base, fitted, 1)[0]
    # one case more, spread over the scores, moves the slope a little
    assert slope == pytest.approx(calibration_line(t).slope.value, abs=0.05)
    many = likely_curve((t.score[::-1], 50 * t.pos[::-1], 50 * t.neg[::-1]))
    assert many.centre.size >= 4


@pytest.mark.parametrize(
    "rows",
    [
        ([0.3], [4], [6]),  # one score
        ([0.0, 1.0], [0, 5], [5, 0]),  # certain and right
        ([0.0, 1.0], [5, 0], [0, 5]),  # certain and wrong
        ([0.2, 0.9], [0, 1], [1, 0]),  # two cases
    ],
)
def test_small_tables_have_intervals(rows):
    t = trueness.Tally(rows[0][::-1], neg=rows[2][::-1], pos=rows[1][::-1])
    e, i = trueness.calibration_error(t), trueness.calibration_index(t)
    for part in (e.plain, e.debiased, e.rms, e.smooth, i.ici, i.e50, i.e90, i.largest):
        assert 0 <= part.low <= part.value <= part.high <= 1.0001


def test_loess_is_linear_in_the_labels(rng):
    x, at = np.sort(rng.random(40)), np.array([0.2, 0.6])
    cases = rng.integers(1, 5, 40).astype(float)
    weights = loess_weights(x, cases, at, 0.75)
    y, z = rng.random((2, 40))
    assert weights.sum(axis=1) == pytest.approx(1)
    both = loess(x, y + 2 * z, cases, at, 0.75)
    assert weights @ y + 2 * weights @ z == pytest.approx(both)


def test_far_from_calibrated_scores_the_intervals_cover():
    """Two in five of the score are positive: ICI .3, median .3, 90th percentile .54.

    Intervals along the direction of the isotonic curve held the last two in 80 to 86
    of 100 samples.
    """
    rng = np.random.default_rng(8)
    true, held = np.array([0.3, 0.3, 0.54]), []
    for _ in range(80):
        p = rng.random(100)
        t = trueness.tally(rng.random(100) < 0.4 * p, p, positive=True)
        i = trueness.calibration_index(t, replicates=20, rng=rng)
        ends = np.array([(x.low, x.high) for x in (i.ici, i.e50, i.e90)])
        held.append((ends[:, 0] <= true) & (true <= ends[:, 1]))
    assert (np.mean(held, axis=0) >= 0.9).all()
