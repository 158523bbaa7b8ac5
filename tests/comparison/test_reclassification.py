"""Reclassification by hand, against brute force, and what it must warn of."""

import numpy as np
import pytest
from scipy import stats

import trueness
from trueness import Panel


def cases(rng, n=400, useless=False, extreme=1.0):
    """Risks of a true model, and of one with a further marker (or with noise)."""
    x, w = rng.normal(size=(2, n))
    y = rng.random(n) < 1 / (1 + np.exp(1 - x - w * (not useless)))
    at, weight = np.polynomial.hermite_e.hermegauss(21)
    # the risk when the marker is not known
    old = 1 / (1 + np.exp(1 - x[:, None] - at * (not useless))) @ weight / weight.sum()
    new = 1 / (1 + np.exp(extreme * (1 - x - w * (0.3 if useless else 1))))
    return y, old, new


def test_nri_by_hand():
    # categories below .1, from .1 to .2, from .2 on
    rows = [[0.05, 0.15], [0.15, 0.05], [0.15, 0.25], [0.3, 0.4]]
    p = Panel(["old", "new"], rows, pos=[4, 1, 2, 3], neg=[2, 9, 1, 8])
    found = trueness.nri(p, categories=[0.1, 0.2])
    assert found.positives.value == pytest.approx((6 - 1) / 10)
    assert found.negatives.value == pytest.approx((9 - 3) / 20)
    assert found.value.value == pytest.approx(0.5 + 0.3)
    free = trueness.nri(p)  # .3 to .4 moves too
    assert free.value.value == pytest.approx((9 - 1) / 10 + (9 - 11) / 20)
    assert free.method == "NRI, category-free"
    back = trueness.nri(p, "new", "old", categories=[0.1, 0.2])
    assert back.value.value == pytest.approx(-0.8)


def test_idi_is_the_gain_of_the_discrimination_slope(rng):
    y, old, new = cases(rng)
    found = trueness.idi(trueness.panel(y, {"old": old, "new": new}))
    slope = [r[y].mean() - r[~y].mean() for r in (old, new)]
    assert found.value.value == pytest.approx(slope[1] - slope[0])
    gain = new - old
    welch = stats.ttest_ind(gain[y], gain[~y], equal_var=False)
    assert found.p_value == pytest.approx(welch.pvalue, rel=1e-6)
    ends = welch.confidence_interval(0.95)
    assert (found.value.low, found.value.high) == pytest.approx(tuple(ends))
    area = [trueness.auc(trueness.tally(y, r)).value for r in (new, old)]
    assert found.auc.difference.value == pytest.approx(area[0] - area[1])


def test_a_useless_extreme_model_improves_and_is_warned_of(rng):
    y, old, new = cases(rng, 3000, useless=True, extreme=2.0)
    found = trueness.idi(trueness.panel(y, {"old": old, "new": new}))
    assert found.value.low > 0  # the trap
    text = " ".join(found.notes)
    assert "merely more extreme" in text
    assert "new (p < 0.0001)" in text
    assert "not calibrated" in text
    assert "AUC shows no significant gain" in text
    fine = trueness.nri(trueness.panel(*_fair(rng)))
    assert min(fine.calibration) > 0.001
    assert len(fine.notes) == 1


def _fair(rng):
    y, old, new = cases(rng, 3000)
    return y, {"old": old, "new": new}


def test_intervals_of_the_nri_cover(rng):
    big = trueness.nri(trueness.panel(*_many(rng, 400_000))).value.value
    held = []
    for _ in range(200):
        v = trueness.nri(trueness.panel(*_many(rng, 80))).value
        held.append(v.low <= big <= v.high)
    assert 0.9 < np.mean(held) <= 0.99


def _many(rng, n):
    y, old, new = cases(rng, n)
    return y, {"old": old, "new": new}


def test_nobody_moved_has_width():
    p = Panel(["a", "b"], [[0.2, 0.2], [0.6, 0.6]], pos=[2, 8], neg=[8, 2])
    found = trueness.nri(p)
    assert found.value.low < 0 < found.value.high
    assert (found.value.value, found.p_value) == (0, 1)


def test_errors(rng):
    y, old, new = cases(rng)
    p = trueness.panel(y, {"a": old, "b": new, "c": new})
    with pytest.raises(trueness.InputError, match="compares two models; found 3"):
        trueness.nri(p)
    wild = trueness.panel(y, {"a": old, "b": 3 * new})
    with pytest.raises(trueness.InputError, match="risks between 0 and 1"):
        trueness.idi(wild)
    with pytest.raises(trueness.InputError, match="categories must be risks"):
        trueness.nri(p, "a", "b", categories=[5, 20])
    with pytest.raises(trueness.NotEnoughCases, match="idi needs"):
        trueness.idi(trueness.panel([1, 1], {"a": [0.1, 0.2], "b": [0.1, 0.3]}))


def test_nri_and_idi_are_those_of_r():
    """Hmisc's improveProb; tests/reference/reclassification.R has the code."""
    i = np.arange(1, 121)
    y = ((i * 7) % 10 < 3).astype(int)
    old, new = ((i * 37) % 101 + 1) / 103, 0.7 * ((i * 53) % 101 + 1) / 103 + 0.2 * y
    p = trueness.panel(y, {"old": old, "new": new})
    nri, idi = trueness.nri(p), trueness.idi(p)
    found = [nri.value, nri.positives, nri.negatives, idi.value]
    by_r = [0.444444444444444, 0.111111111111111, 0.333333333333333, 0.181699799660965]
    assert [e.value for e in found] == pytest.approx(by_r, rel=1e-13)
    assert idi.value.sd == pytest.approx(0.0668456405645489, rel=1e-13)
