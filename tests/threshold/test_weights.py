"""Weighted cases: best thresholds, cost and decision curves."""

from __future__ import annotations

import numpy as np
import pytest

import trueness
from trueness.threshold import sentences


def sample(n=300, seed=0):
    rng = np.random.default_rng(seed)
    p = rng.beta(1, 2, n).round(2).clip(0.01, 0.99)
    y = (rng.random(n) < p).astype(int)
    return y, p, rng.exponential(size=n) ** 1.3


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
    alone = ask(trueness.tally(y, p, cluster=np.arange(y.size)))
    for same in (equal, alone):
        np.testing.assert_allclose(cases.low[inner], same.low[inner], atol=1e-9)
        np.testing.assert_allclose(cases.high[inner], same.high[inner], atol=1e-9)

    pairs = ask(trueness.tally(*(np.repeat(x, 3) for x in (y, p)),
                               cluster=np.repeat(np.arange(y.size), 3)))  # fmt: skip
    wide = [(x.high - x.low)[inner].mean() for x in (pairs, cases)]

    assert wide[0] == pytest.approx(wide[1], rel=0.1)
    assert np.isfinite(ask(trueness.tally(y, p, weight=w)).high).all()


def test_net_benefit_by_hand():
    t = trueness.tally([1, 1, 0, 0], [0.9, 0.3, 0.6, 0.2], weight=[1, 2, 3, 4])
    curve = trueness.decision_curve(t, threshold=[0.5])
    assert curve.net_benefit[0] == pytest.approx(1 / 10 - 3 / 10)
    assert trueness.cost_curve([1, 0], [2, 1], sample_weight=[1, 3]).cost.max() == 0


def test_equal_weights_choose_and_validate_as_counts():
    """Of equal weights only Student's quantile is left, for a spread not known."""
    y, p, _ = sample(150)
    both = [trueness.tally(y, p, **k) for k in ({"weight": np.full(y.size, 2.5)}, {})]
    for ask in (
        lambda t: trueness.validate_threshold(t, "f1", replicates=60),
        lambda t: trueness.validate_threshold(t, "f1", "defer <= 0.2", replicates=20),
    ):
        one, two = (ask(t).corrected for t in both)
        assert one.value == pytest.approx(two.value, rel=1e-9)
        assert one.low == pytest.approx(two.low, abs=0.03)
        assert one.high == pytest.approx(two.high, abs=0.03)


def test_a_weighted_operating_point_knows_how_few_its_cases_are():
    """Sums of weights in the thousands are no thousands of cases."""
    y, p, w = sample()
    point = trueness.best_threshold(trueness.tally(y, p, weight=1000 * w), "f1")
    t = trueness.tally(y, p, weight=w)
    want = trueness.at_threshold(t, point.threshold)["recall"]
    found = point.metrics["recall"]

    assert (found.low, found.high) == pytest.approx((want.low, want.high))


def test_tables_of_zones_and_groups_hold_weights_and_not_whole_cases():
    """Weights below one were cut off: rows of zeros, and a division by them."""
    t = trueness.tally(
        [1, 1, 0, 1, 0, 0], [6, 5, 4, 3, 2, 1], weight=[0.2, 0.1, 0.2, 0.1, 0.3, 0.2]
    )
    z = trueness.best_thresholds(t, minimize="cost(fp=1, fn=4, defer=0.3)")

    assert any("sums of weights" in note for note in z.notes)
    assert sum(a + b for _, a, b in sentences.zone_rows(z)) == pytest.approx(1.1)

    g = trueness.group_thresholds({"a": t, "b": t}, subject_to="recall_min >= 0.7")
    for name, _, flagged, recall, precision in sentences.group_rows(g):
        c = g.confusions[name]
        assert flagged == pytest.approx(float(c.tp + c.fp), abs=0)
        assert recall == pytest.approx(float(c.tp) / 0.4)
        assert precision == pytest.approx(float(c.tp) / flagged)
