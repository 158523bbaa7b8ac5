"""Weighted probabilities: losses, reliability and calibrators."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn import metrics as sk
from sklearn.isotonic import IsotonicRegression

import trueness
from trueness._core.logistic import fit_logistic
from trueness.calibration import calibrators
from trueness.calibration.maps import takes_weights


def sample(n=500, seed=0):
    rng = np.random.default_rng(seed)
    p = rng.beta(1, 2, n).round(2).clip(0.01, 0.99)
    y = (rng.random(n) < p**1.2).astype(int)
    return y, p, rng.exponential(size=n) ** 1.3


def test_losses_equal_those_of_scikit_learn():
    y, p, w = sample()
    t = trueness.tally(y, p, weight=w)
    want = sk.brier_score_loss(y, p, sample_weight=w)
    found = trueness.brier(t)
    assert found.value == pytest.approx(want, rel=1e-12)
    parts = found.mcb.value - found.dsc.value + found.unc.value
    assert parts == pytest.approx(want, rel=1e-12)
    want = sk.log_loss(y, p, sample_weight=w)
    assert trueness.log_loss(t).value == pytest.approx(want, rel=1e-12)


def test_calibrators_fit_sums_of_weights():
    y, p, w = sample()
    t = trueness.tally(y, p, weight=w)
    theirs = IsotonicRegression().fit(p, y, sample_weight=w).predict(p)
    ours = trueness.calibrate(t, method="isotonic")(p)
    np.testing.assert_allclose(ours, theirs, atol=1e-12)
    c = trueness.calibrate(t, method="platt")
    slow = fit_logistic([p[np.argsort(p)]], (w * y)[np.argsort(p)],
                        (w * (1 - y))[np.argsort(p)])  # fmt: skip
    np.testing.assert_allclose([c.intercept, c.slope], slow.coefficients, rtol=1e-9)
    auto = trueness.calibrate(t)
    assert auto(0.3) == trueness.calibrate(t, method="platt", scale="logit")(0.3)
    assert t.map(auto).weighted


def test_a_new_calibrator_says_itself_whether_it_takes_weights(monkeypatch):
    def own(t):
        return trueness.calibrate(t, method="platt")

    y, p, w = sample(100)
    t = trueness.tally(y, p, weight=w)
    with_own = {**calibrators.CALIBRATORS, "own": own}
    monkeypatch.setattr(calibrators, "CALIBRATORS", with_own)
    with pytest.raises(trueness.InputError, match="platt, isotonic, beta, temperature"):
        trueness.calibrate(t, method="own")
    takes_weights(own)
    assert trueness.calibrate(t, method="own") == own(t)
    with pytest.raises(trueness.InputError, match="histogram, own take weights"):
        trueness.calibrate(t, method="binormal")


def test_coverage_of_a_loss_with_unequal_chances():
    rng = np.random.default_rng(4)
    grid = np.linspace(0, 1, 20_001)[1:-1]
    chance = 0.1 + 0.8 * grid**2
    truth = float(np.mean(chance * (1 - grid) ** 2 + (1 - chance) * grid**2))
    held = 0
    for _ in range(150):
        p = rng.random(3000)
        y = (rng.random(3000) < 0.1 + 0.8 * p**2).astype(int)
        drawn = np.exp(-1.1 * np.abs(rng.normal(size=3000)) - 1.5 * p)
        some = rng.random(3000) < drawn
        e = trueness.brier(y[some], p[some], weight=1 / drawn[some])
        held += e.low <= truth <= e.high
    assert 0.9 <= held / 150 <= 0.995


def test_cox_needs_classes_that_overlap():
    with pytest.raises(trueness.NotEnoughCases, match="overlap"):
        trueness.calibration_test(
            [0, 0, 1, 1], [0.2, 0.3, 0.6, 0.7], weight=[1, 2, 3, 1.5], method="cox"
        )


def test_an_infinite_loss_says_why_also_of_small_weights():
    """A sum of weights below one is no reason to call wrong certainties right."""
    wrong = trueness.tally([1, 0, 1, 0], [0.0, 0.4, 0.6, 0.2], weight=[0.4, 1, 1, 1])
    note = trueness.log_loss(wrong).notes[0]
    assert "certain and wrong (positives with a score of exactly 0: 0.4;" in note
    right = trueness.tally([0, 0, 1, 0], [0.0, 0.4, 0.6, 0.2], weight=[0.4, 1, 1, 1])
    note = trueness.log_loss(right).notes[0]
    assert note.startswith("Cases with a score of exactly 0 or 1 (0.4) are all right")
