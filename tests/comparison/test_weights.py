"""Weighted cases: which classifier is better?"""

from __future__ import annotations

import numpy as np
import pytest

import trueness
from trueness.comparison import paired
from trueness.comparison.paired import flagged


def sample(rng, n=200, gap=0.0):
    y = (rng.random(n) < 0.4).astype(int)
    a, b = (y + rng.normal(size=n) for _ in range(2))
    weight = np.exp(0.9 * rng.normal(size=n))
    return y, {"a": a + gap * y, "b": b}, weight


def test_differences_by_derivatives():
    """The slow twin: the derivative of the difference by the weight of each case."""
    y, s, w = sample(np.random.default_rng(0), 60)

    def gap(w):
        areas = [trueness.auc(y, s[k], weight=w).value for k in s]
        return areas[0] - areas[1]

    step = 1e-5
    u = np.array([(gap(w + step * e) - gap(w - step * e)) / (2 * step)
                  for e in np.eye(60)])  # fmt: skip
    want = 0.0
    for k in (0, 1):
        n = w[y == k].sum() ** 2 / (w[y == k] ** 2).sum()
        want += (w**2 * u**2)[y == k].sum() * n / (n - 1)
    pair = trueness.compare_auc(y, s, weight=w).pairs[0]
    assert pair.difference.value == pytest.approx(gap(w), rel=1e-9)
    assert pair.difference.sd == pytest.approx(np.sqrt(want), rel=1e-4)


def test_equal_weights_are_cases_and_copies_are_not():
    y, s, _ = sample(np.random.default_rng(1))
    s = {**s, "c": np.exp(s["a"])}
    plain, equal = (
        trueness.compare_auc(y, s),
        trueness.compare_auc(y, s, weight=np.full(y.size, 4.0)),
    )
    for a, b in zip(plain.pairs, equal.pairs, strict=True):
        assert a.difference.value == pytest.approx(b.difference.value, abs=1e-12)
        assert a.p_value == pytest.approx(b.p_value, rel=1e-6)
    assert equal.pairs[1].difference.method == "copies"
    k = np.random.default_rng(2).integers(1, 5, y.size)
    weighed = trueness.compare_auc(y, s, weight=k).pairs[0]
    copies = trueness.compare_auc(y, s, count=k).pairs[0]
    assert weighed.difference.value == pytest.approx(copies.difference.value)
    assert weighed.p_value > copies.p_value


@pytest.mark.parametrize("metric", ["recall", "f1"])
def test_metrics(metric):
    y, s, w = sample(np.random.default_rng(3))
    found = trueness.compare_metric(y, s, metric, weight=w)
    for name, value in zip(s, found.values, strict=True):
        one = getattr(trueness, metric)(y, s[name], threshold=0.5, weight=w)
        assert value.value == pytest.approx(one.value)
        assert value.low < value.value < value.high
    plain = trueness.compare_metric(y, s, metric, method="bootstrap")
    equal = trueness.compare_metric(y, s, metric, weight=np.full(y.size, 4.0))
    a, b = plain.pairs[0].difference, equal.pairs[0].difference
    assert (a.low, a.high) == pytest.approx((b.low, b.high), abs=0.01)
    with pytest.raises(trueness.InputError, match="McNemar"):
        trueness.compare_metric(y, s, "recall", method="mcnemar", weight=w)


def test_a_difference_is_known_by_the_cases_that_differ():
    y, s, w = sample(np.random.default_rng(12))
    panel = trueness.panel(y, s, weight=w)
    flags = flagged(panel.names, panel.rows, 0.5)
    df = paired._freedom(panel, flags, trueness.METRICS["recall"])
    votes = {k: v >= 0.5 for k, v in s.items()}
    for chosen, some in (([0, 1], votes["a"] != votes["b"]), ([0], np.ones(y.size))):
        v = w[(some == 1) & (y == 1)]
        by_hand = (v**2).sum() ** 2 / (v**4).sum() - 1
        assert df(chosen) == pytest.approx(by_hand)


def test_error_of_the_first_kind():
    rng = np.random.default_rng(5)
    auc = metric = 0
    for k in range(200):
        y, s, w = sample(rng)
        panel = trueness.panel(y, s, weight=w)
        auc += trueness.compare_auc(panel).pairs[0].p_value < 0.05
        metric += (
            trueness.compare_metric(panel, "recall", replicates=400, rng=k)
            .pairs[0].p_value < 0.05
        )  # fmt: skip
    assert auc / 200 <= 0.09
    assert metric / 200 <= 0.1


def test_groups_and_statistics():
    y, s, w = sample(np.random.default_rng(6), gap=0.5)
    t = {k: trueness.tally(y, v, weight=w) for k, v in s.items()}
    apart = trueness.compare_auc(t).pairs[0]
    drawn = trueness.compare_groups(t, trueness.auc, replicates=400).pairs[0]
    assert apart.difference.value == pytest.approx(drawn.difference.value)
    assert drawn.difference.sd == pytest.approx(apart.difference.sd, rel=0.15)
    found = trueness.compare_statistic(
        y, s, trueness.average_precision, weight=w, replicates=100
    )
    want = trueness.average_precision(t["a"]).value
    assert found.values[0].value == pytest.approx(want)


def risks(rng, n=300, gain=0.4):
    z = rng.normal(size=n)
    x = 0.7 * rng.normal(size=n)
    y = (rng.random(n) < 1 / (1 + np.exp(-(z + gain * x)))).astype(int)
    old, new = 1 / (1 + np.exp(-z)), 1 / (1 + np.exp(-(z + gain * x)))
    return y, {"old": old, "new": new}


def test_reclassification_by_hand_with_copies_and_equal_weights():
    y, s = risks(np.random.default_rng(4))
    w = np.random.default_rng(5).exponential(size=y.size) ** 2
    move = np.sign(s["new"] - s["old"])
    gain = s["new"] - s["old"]
    by_hand = {
        trueness.nri: sum(
            np.average(side * move[y == k], weights=w[y == k])
            for k, side in ((1, 1), (0, -1))
        ),
        trueness.idi: np.average(gain[y == 1], weights=w[y == 1])
        - np.average(gain[y == 0], weights=w[y == 0]),
    }
    k = np.random.default_rng(6).integers(1, 5, y.size)
    for ask, value in by_hand.items():
        found = ask(y, s, weight=w)
        assert found.value.value == pytest.approx(value, rel=1e-12)
        assert "Cases are weighted" in found.notes[-1]
        plain, equal = ask(y, s), ask(y, s, weight=np.full(y.size, 3.0))
        for part in ("value", "positives", "negatives"):
            a, b = getattr(plain, part), getattr(equal, part)
            assert (a.value, a.low, a.high) == pytest.approx((b.value, b.low, b.high))
        assert plain.calibration == pytest.approx(equal.calibration)
        weighed, copies = ask(y, s, weight=k), ask(y, s, count=k)
        assert weighed.value.value == pytest.approx(copies.value.value, rel=1e-12)
        assert weighed.value.sd > copies.value.sd


def test_mean_gain_has_the_error_of_a_survey():
    """svymean's linearised variance, class by class, by hand."""
    y, s = risks(np.random.default_rng(7), 80)
    w = np.random.default_rng(8).exponential(size=y.size)
    gain, found = s["new"] - s["old"], trueness.idi(y, s, weight=w)
    for k, part in ((1, found.positives), (0, found.negatives)):
        v, g = w[y == k], gain[y == k]
        n = v.sum() ** 2 / (v**2).sum()
        error = v**2 @ (g - np.average(g, weights=v)) ** 2 / v.sum() ** 2
        assert part.sd == pytest.approx(np.sqrt(error * n / (n - 1)), rel=1e-9)


def test_dominance_of_weighted_cases():
    rng = np.random.default_rng(9)
    y, s, w = sample(rng, 400, gap=0.8)
    found = trueness.dominates(y, s, weight=w, replicates=200)
    curves = [trueness.roc(y, s[k], weight=w) for k in "ab"]
    want = np.subtract(*(np.interp(found.fpr[1:], c.fpr, c.tpr) for c in curves))
    assert found.difference[1:] == pytest.approx(want, abs=0.05)  # steps upright
    assert found.p_better < 0.05
    plain = trueness.dominates(y, s, replicates=200)
    assert np.mean(found.high - found.low) > np.mean(plain.high - plain.low)
    one = trueness.dominates(y, s, weight=np.ones(y.size), replicates=200)
    assert one.fpr_better == plain.fpr_better
    assert np.mean(one.high - one.low) == pytest.approx(
        np.mean(plain.high - plain.low), rel=0.15
    )
    k = rng.integers(1, 5, y.size)
    weighed = trueness.dominates(y, s, weight=k, replicates=200)
    copies = trueness.dominates(y, s, count=k, replicates=200)
    assert weighed.difference == pytest.approx(copies.difference, abs=1e-12)
    assert np.mean(weighed.high - weighed.low) > np.mean(copies.high - copies.low)
    apart = trueness.dominates(*(trueness.tally(y, s[k], weight=w) for k in "ab"))
    assert apart.difference == pytest.approx(found.difference)


def test_cluster_bootstrap_of_weighted_cases():
    rng = np.random.default_rng(10)
    m, y, s, w = 60, *sample(rng, 480, gap=0.3)
    cluster = rng.integers(0, m, y.size)
    parts = trueness.tally(y, s["a"], weight=w, by=cluster)
    found = trueness.cluster_bootstrap(parts, trueness.auc, replicates=400)
    formula = trueness.auc(y, s["a"], weight=w, cluster=cluster)
    assert found.value == pytest.approx(formula.value, rel=1e-12)
    assert found.sd == pytest.approx(formula.sd, rel=0.2)

    def gap(panel):
        pair = trueness.compare_auc(panel).pairs[0].difference
        return pair.value

    panels = trueness.panel(y, s, weight=w, by=cluster)
    paired = trueness.cluster_bootstrap(panels, gap, replicates=300)
    pair = trueness.compare_auc(y, s, weight=w, cluster=cluster).pairs[0].difference
    assert paired.value == pytest.approx(pair.value, abs=1e-12)
    assert paired.sd == pytest.approx(pair.sd, rel=0.2)
