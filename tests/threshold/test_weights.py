"""Weighted cases: best thresholds, cost and decision curves."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

import trueness
from trueness.threshold import sentences


def sample(n=300, seed=0):
    rng = np.random.default_rng(seed)
    p = rng.beta(1, 2, n).round(2).clip(0.01, 0.99)
    y = (rng.random(n) < p).astype(int)
    return y, p, rng.exponential(size=n) ** 1.3


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
    with pytest.raises(trueness.InputError, match="Weighted cases need"):
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


def cells(y, s, w, cut):
    """Add up the weights of tp, fp, fn and tn, case by case."""
    pos, flag = y == 1, s >= cut
    kinds = (flag & pos, flag & ~pos, ~flag & pos, ~flag & ~pos)
    return np.array([w[k].sum() for k in kinds])


def of_kind(n, seed, kind):
    rng = np.random.default_rng(seed)
    s = rng.integers(0, 6, n) / 10
    w = {"any": rng.exponential(size=n) + 0.01, "whole": rng.integers(1, 5, n) + 0.0}
    return (rng.random(n) < 0.2 + 0.6 * s).astype(int), s, w.get(kind, 1e50 * w["any"])


@pytest.mark.parametrize("kind", ["any", "huge"])
def test_two_thresholds_try_every_pair(kind):
    y, s, w = of_kind(60, 3, kind)
    t = trueness.tally(y, s, weight=w)
    places = [np.inf, *np.unique(s)[::-1]]
    costs, shares = [], []
    for i, high in enumerate(places):
        for low in places[i:]:
            (tp, fp, *_), (tp2, fp2, fn, tn) = cells(y, s, w, high), cells(y, s, w, low)
            doubt = tp2 + fp2 - tp - fp
            if tp + fp <= 0.3 * w.sum() and fn + tn > 0 and tn / (fn + tn) >= 0.5:
                costs.append(fp + 2 * fn + 0.4 * doubt)
            if doubt <= 0.2 * w.sum() and tp + fp + fn > 0:
                shares.append(2 * tp / (2 * tp + fp + fn))
    limits = [f"flagged <= {float(0.3 * w.sum())!r}", "npv below >= 0.5"]
    price = "cost(fp=1, fn=2, defer=0.4)"
    z = trueness.best_thresholds(t, minimize=price, subject_to=limits)
    assert z.value == pytest.approx(min(costs), rel=1e-9)
    assert sum(z.confusion.cells) + z.deferred_pos + z.deferred_neg == pytest.approx(
        w.sum()
    )
    z = trueness.best_thresholds(t, "f1", "defer <= 0.2")
    assert z.value == pytest.approx(max(shares), rel=1e-9)
    assert any("sums of weights" in note for note in z.notes)


@pytest.mark.parametrize("kind", ["any", "huge"])
def test_group_thresholds_try_every_choice(kind):
    data = {g: of_kind(50, k, kind) for k, g in enumerate("abc")}
    groups = {g: trueness.tally(y, s, weight=w) for g, (y, s, w) in data.items()}
    most = float(0.4 * sum(w.sum() for *_, w in data.values()))
    places = [[np.inf, *np.unique(s)] for _, s, _ in data.values()]
    right, f1 = [], []
    for cuts in product(*places):
        each = [cells(*data[g], c) for g, c in zip("abc", cuts, strict=True)]
        tp, fp, fn, tn = np.sum(each, axis=0)
        if np.ptp([c[0] / (c[0] + c[2]) for c in each]) <= 0.2:
            right.append((tp + tn) / (tp + fp + fn + tn))
            if tp + fp <= most:
                f1.append(2 * tp / (2 * tp + fp + fn))
    g = trueness.group_thresholds(groups, "accuracy", "recall_gap <= 0.2")
    assert g.proved
    assert g.value == pytest.approx(max(right), rel=1e-9)
    limits = ["recall_gap <= 0.2", f"flagged <= {most!r}"]
    g = trueness.group_thresholds(groups, "f1", limits)
    assert g.proved
    assert g.value == pytest.approx(max(f1), rel=1e-9)
    gap = g.gaps["recall_gap"]
    assert gap.low <= gap.value <= gap.high
    assert gap.high - gap.low > 0.1


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
    assert sum(a + b for _, a, b in sentences.zone_rows(z)) == pytest.approx(1.1)
    g = trueness.group_thresholds({"a": t, "b": t}, subject_to="recall_min >= 0.7")
    for name, _, flagged, recall, precision in sentences.group_rows(g):
        c = g.confusions[name]
        assert flagged == pytest.approx(float(c.tp + c.fp), abs=0)
        assert recall == pytest.approx(float(c.tp) / 0.4)
        assert precision == pytest.approx(float(c.tp) / flagged)
