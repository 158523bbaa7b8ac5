"""Weighted cases: best thresholds, cost and decision curves."""

from __future__ import annotations

import numpy as np
import pytest

import trueness


def sample(n=300, seed=0):
    rng = np.random.default_rng(seed)
    p = rng.beta(1, 2, n).round(2).clip(0.01, 0.99)
    y = (rng.random(n) < p).astype(int)
    return y, p, rng.exponential(size=n) ** 1.3


def test_best_threshold_tries_every_cut():
    y, p, w = sample()
    t = trueness.tally(y, p, weight=w)

    def f1(cut):
        tp, fp, fn = (w[(p >= cut) & (y == 1)].sum(), w[(p >= cut) & (y == 0)].sum(),
                      w[(p < cut) & (y == 1)].sum())  # fmt: skip
        return 2 * tp / (2 * tp + fp + fn), tp + fp

    values = {c: f1(c) for c in np.unique(p)}
    best = max(v for v, _ in values.values())
    found = trueness.best_threshold(t, "f1")
    assert found.value == pytest.approx(best, rel=1e-12)
    limit = 0.2 * w.sum()
    best = max(v for v, flagged in values.values() if flagged <= limit)
    found = trueness.best_threshold(t, "f1", subject_to=f"flagged <= {limit}")
    assert found.value == pytest.approx(best, rel=1e-12)
    assert "sums of weights" in found.notes[0]


def test_copies_choose_the_same_cut():
    y, p, _ = sample()
    k = np.random.default_rng(1).integers(1, 5, y.size)
    one, two = trueness.tally(y, p, weight=k), trueness.tally(y, p, count=k)
    for what, limits in (("f1", ()), ("accuracy", "recall >= 0.7"),
                         ("precision", "flagged <= 200")):  # fmt: skip
        a = trueness.best_threshold(one, what, limits)
        b = trueness.best_threshold(two, what, limits)
        assert (a.threshold, a.value) == pytest.approx((b.threshold, b.value))
        assert a.binding == b.binding
    a = trueness.best_threshold(one, "f1", prevalence=0.1)
    b = trueness.best_threshold(two, "f1", prevalence=0.1)
    assert (a.threshold, a.value) == pytest.approx((b.threshold, b.value))
    with pytest.raises(trueness.InputError, match="method of weighted cases"):
        trueness.best_threshold(one, method="milp")
    with pytest.raises(trueness.Infeasible, match="cannot be met"):
        trueness.best_threshold(one, subject_to="recall > 1")


@pytest.mark.parametrize("ask", [trueness.decision_curve, trueness.cost_curve])
def test_curves_of_weights_copies_and_equal_weights(ask):
    y, p, w = sample()
    k = np.random.default_rng(1).integers(1, 5, y.size)
    one, two = ask(trueness.tally(y, p, weight=k)), ask(trueness.tally(y, p, count=k))
    name = "net_benefit" if ask is trueness.decision_curve else "cost"
    np.testing.assert_allclose(getattr(one, name), getattr(two, name), atol=1e-12)
    inner = slice(10, 60)
    assert (one.high - one.low)[inner].mean() > (two.high - two.low)[inner].mean()
    cases = ask(trueness.tally(y, p))
    equal = ask(trueness.tally(y, p, weight=np.full(y.size, 5.0)))
    np.testing.assert_allclose(cases.low[inner], equal.low[inner], atol=2e-3)
    np.testing.assert_allclose(cases.high[inner], equal.high[inner], atol=2e-3)
    assert np.isfinite(ask(trueness.tally(y, p, weight=w)).high).all()


def test_net_benefit_by_hand():
    t = trueness.tally([1, 1, 0, 0], [0.9, 0.3, 0.6, 0.2], weight=[1, 2, 3, 4])
    curve = trueness.decision_curve(t, threshold=[0.5])
    assert curve.net_benefit[0] == pytest.approx(1 / 10 - 3 / 10)
    assert trueness.cost_curve([1, 0], [2, 1], sample_weight=[1, 3]).cost.max() == 0
