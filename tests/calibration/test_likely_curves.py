"""Intervals of calibration errors: signs, curves, and whether they cover."""

import math

import numpy as np
import pytest

import trueness
from trueness.calibration.error_intervals import signed_mean
from trueness.calibration.forecasts import FixedShare, Forecasts
from trueness.calibration.likely_curves import _restricted, likely_curves
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
    assert e.plain.low == pytest.approx(gap.mean() - half, abs=0.2 * half)
    assert e.plain.high == pytest.approx(gap.mean() + half, abs=0.2 * half)


def test_signs_of_a_case_control_sample(rng):
    """The share is given: each class has its own mean and its own spread."""
    score = np.array([0.3, 0.6, 0.8])
    n_pos, n_neg = np.array([10, 20, 30]), np.array([40, 25, 15])
    fixed = FixedShare(0.1, 60, 80)
    rows = Forecasts.counted(score, n_pos, n_neg, fixed)
    found = signed_mean(rows, np.array([-1.0, -1.0, -1.0]), 0.95)
    want = 0.1 * (score - 1) @ n_pos / 60 + 0.9 * score @ n_neg / 80
    assert found.value == pytest.approx(want)
    assert found.low < want < found.high


def sample(rng, n, curve, low=0.0, high=1.0):
    p = rng.uniform(low, high, n)
    t = trueness.tally(rng.random(n) < curve(p), p, positive=True)
    return Forecasts(t.score[::-1], t.pos[::-1], t.neg[::-1])


def bend(p):
    return 1 / (1 + np.exp(0.3 - 0.5 * np.log(p / (1 - p))))


def three_jumps(p):
    return np.clip(p + np.where((4 * p).astype(int) % 2, 0.08, -0.08), 0, 1)


def test_few_cases_have_the_calibration_line(rng):
    score, pos, neg = sample(rng, 40, bend)[:3]
    curves = likely_curves(Forecasts(score, pos, neg))
    odds = np.log(curves.middle / (1 - curves.middle))
    slope, _ = np.polyfit(np.log(score / (1 - score)), odds, 1)
    t = trueness.Tally(score[::-1], neg=neg[::-1], pos=pos[::-1])
    # one case more, spread over the scores, moves the slope a little
    assert curves.line == 0.5  # which so few cases cannot tell
    assert slope == pytest.approx(calibration_line(t).slope.value, abs=0.1)


def test_a_line_stays_a_line_and_jumps_are_recognised(rng):
    lines = [likely_curves(sample(rng, 1000, bend)).line for _ in range(20)]
    jumps = [likely_curves(sample(rng, 2000, three_jumps)).line for _ in range(20)]
    assert np.median(lines) > 0.5
    assert np.mean(np.array(lines) < 0.05) <= 0.1
    assert max(jumps) < 0.05


def test_weights_are_the_restricted_likelihood(rng):
    """Of a line alone: Gaussian residuals, what the line takes up integrated out."""
    inside, off = rng.uniform(5, 9, 12), rng.normal(0, 4, 12)
    columns = np.stack([np.ones(12), np.arange(12.0)], axis=1)
    kernel = np.exp(-np.abs(np.subtract.outer(np.arange(12), np.arange(12))) / 3)
    found = _restricted(off, inside, columns, [kernel])

    def value(size):
        y, v = off / inside, np.diag(1 / inside) + size**2 * kernel
        w = np.linalg.inv(v)
        inner = columns.T @ w @ columns
        p = w - w @ columns @ np.linalg.solve(inner, columns.T @ w)
        return -(np.linalg.slogdet(v)[1] + np.linalg.slogdet(inner)[1] + y @ p @ y) / 2

    for size in (0.0, 0.1, 0.8):
        ratio = math.log(found[0, 1.6] / found[0, size])
        assert ratio == pytest.approx(value(1.6) - value(size))


def test_three_jumps_are_covered_and_said():
    """A polynomial of the log-odds held the plain error in 69 of 100 such samples."""
    rng = np.random.default_rng(5)
    true, held = 0.0736, []
    for _ in range(40):
        score, pos, neg = sample(rng, 2000, three_jumps)[:3]
        t = trueness.Tally(score[::-1], neg=neg[::-1], pos=pos[::-1])
        e = trueness.calibration_error(t, replicates=20, rng=rng)
        held.append((e.plain.low <= true <= e.plain.high, e.rms.high >= 0.0756))
        assert "straight line" in e.notes[0]
    assert (np.mean(held, axis=0) >= 0.9).all()


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
