"""The reliability diagram and its bands."""

import math

import numpy as np
import pytest

import trueness
from trueness import Tally


def draw_tally(rng, n, *, power=1.0, digits=2):
    """Scores and labels with P(y) = score ** power: calibrated for power 1."""
    p = np.round(rng.random(n), digits)
    return trueness.tally(rng.random(n) < p**power, p)


def test_consistency_band_holds_calibrated_curves(rng):
    inside = []
    for _ in range(40):
        t = draw_tally(rng, 300, digits=1)
        r = trueness.reliability(t, replicates=100, rng=rng)
        assert (r.consistency_low <= r.consistency_high).all()
        p = r.probability
        inside.append((r.consistency_low <= p) & (p <= r.consistency_high))

    assert np.mean(inside) > 0.9


def test_reliability_of_many_scores_is_thinned_but_exact(rng):
    p = rng.random(6000)
    tally = trueness.tally(rng.random(6000) < p, p)
    r = trueness.reliability(tally, replicates=20)

    assert 500 <= r.score.size < 1500

    c = trueness.calibrate(tally, method="isotonic")

    np.testing.assert_allclose(r.probability, c(r.score))

    assert r.n == 6000
    assert r.n_pos == tally.n_pos


def test_ten_of_ten_are_no_proof():
    r = trueness.reliability(Tally([0.3, 0.9], [10, 0], [0, 10]))

    # p^10 = exp(-3.84 / 2)
    assert r.confidence_low[1] == pytest.approx(math.exp(-0.384146 / 2), abs=1e-4)
    assert r.confidence_high[1] == 1
    assert r.confidence_high[0] >= 0.17

    # a single case at the top of many
    tally = Tally(np.linspace(0.1, 0.9, 50), np.ones(50, int), [0] * 49 + [1])

    assert trueness.reliability(tally).confidence_low[-1] < 0.5
