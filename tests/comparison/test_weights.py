"""Weighted cases: which classifier is better?"""

from __future__ import annotations

import numpy as np
import pytest
import scipy.stats

import trueness


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
        own = w[y == k]
        want += (own**2 * u[y == k] ** 2 / (1 - own / own.sum())).sum()
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


@pytest.mark.parametrize("metric", ["recall", "f1", "mcc"])
def test_differences_of_metrics_by_leaving_cases_out(metric):
    """The slow twin: leave each case out, and change its weight by little."""
    y, s, w = sample(np.random.default_rng(12), 80)
    chosen = trueness.METRICS[metric]
    above = np.stack([s[name] >= 0.5 for name in s])
    w = np.where(above[0] & ~above[1], 4 * w, w)  # heavy where only the first flags

    def gap(w):
        cells = [(v, k) for v in (True, False) for k in (1, 0)]
        found = [
            float(chosen(trueness.Confusion(
                *(w[(y == k) & ((s[name] >= 0.5) == v)].sum() for v, k in cells)
            )))
            for name in s
        ]  # fmt: skip
        return found[0] - found[1]

    one = np.eye(y.size) * w
    first = [1e5 * (gap(w + 5e-6 * e) - gap(w - 5e-6 * e)) for e in one]
    left = [gap(w) - gap(w - e) for e in one]
    square = np.square([first, left]).mean(axis=0)
    variance, usual = square.sum(), w @ w / w.sum()
    for k in (0, 1):  # a case more that only the first flags, as heavy as they are
        alone = above[0] & ~above[1]
        slope = first[np.flatnonzero(alone & (y == k))[0]] / w[alone & (y == k)][0]
        own = w[alone] @ w[alone] / w[alone].sum()
        assert own > usual
        variance += slope**2 * (own**2 - usual**2)
        assert (above[1] & ~above[0] & (y == k)).any()  # seen, and not heavy
    df = 2 * variance**2 / (square**2).sum()
    pair = trueness.compare_metric(y, s, metric, weight=w).pairs[0]
    assert pair.difference.value == pytest.approx(gap(w), rel=1e-12)
    assert pair.difference.sd == pytest.approx(np.sqrt(variance), rel=1e-5)
    t = scipy.stats.t(df)
    reach = t.ppf(0.975) * np.sqrt(variance)
    assert pair.difference.high == pytest.approx(gap(w) + reach, rel=1e-4)
    p = 2 * t.sf(abs(gap(w)) / np.sqrt(variance))
    assert pair.p_value == pytest.approx(p, rel=1e-4)


def test_kinds_of_cases_that_were_not_seen():
    """One positive in each of four, found by the first alone: none by the second."""
    y, votes = np.ones(8, int), {"a": np.ones(8), "b": [1.0] * 6 + [0.0] * 2}
    pair = trueness.compare_metric(y, votes, "recall", weight=np.full(8, 3.0)).pairs[0]
    # two cases change the difference by 1/8 to first order, and by 1/7 less 1/4 / 7
    left = 2 / 8 - 1 / 7
    others = 2 / 8 - 2 / 7  # as do the six on which both agree
    square = [(left**2 + (6 / 8 / 8) ** 2) / 2, (others**2 + (2 / 8 / 8) ** 2) / 2]
    by_hand = 2 * square[0] + 6 * square[1] + 1 / 8**2 * (10 / 8) ** 2
    assert pair.difference.sd == pytest.approx(np.sqrt(by_hand), rel=1e-5)


def test_differences_of_metrics_without_spread():
    y, s, w = sample(np.random.default_rng(3))
    copies = trueness.compare_metric(y, {"a": s["a"], "b": s["a"]}, "f1", weight=w)
    assert copies.pairs[0].p_value == copies.p_value == 1
    assert copies.pairs[0].difference.low < 0 < copies.pairs[0].difference.high
    none = trueness.compare_metric(y, s, "precision", weight=w, thresholds=99)
    assert np.isnan(none.pairs[0].p_value)
    assert np.isnan(none.p_value)
    three = {**s, "c": s["a"] + s["b"]}
    found = trueness.compare_metric(y, three, "f1", weight=w, prevalence=0.1)
    again = trueness.compare_metric(y, three, "f1", weight=1e3 * w, prevalence=0.1)
    assert found.p_value == pytest.approx(again.p_value, rel=1e-6)
    assert 0 < found.p_value < 1
    at = trueness.at_threshold(y, s["a"], 0.5, weight=w, prevalence=0.1)["f1"]
    assert (found.values[0].low, found.values[0].high) == (at.low, at.high)


def test_error_of_the_first_kind():
    rng = np.random.default_rng(5)
    auc = metric = ratio = careful = 0
    for _ in range(200):
        y, s, w = sample(rng)
        panel = trueness.panel(y, s, weight=w)
        auc += trueness.compare_auc(panel).pairs[0].p_value < 0.05
        metric += trueness.compare_metric(panel, "recall").pairs[0].p_value < 0.05
        heavy = trueness.panel(y, s, weight=w**1.5)
        few = trueness.panel(y, s, weight=w**1.8)
        careful += trueness.compare_auc(few).pairs[0].p_value < 0.05
        ratio += trueness.compare_metric(heavy, "f1").pairs[0].p_value < 0.05
    assert auc / 200 <= 0.09
    assert metric / 200 <= 0.1
    assert ratio / 200 <= 0.09
    # with degrees of freedom from fourth powers of the weights it was .01
    assert 0.025 <= careful / 200 <= 0.09


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
