"""Comparisons against pROC, brute force, McNemar by hand and simulation."""

import json
from pathlib import Path

import numpy as np
import pytest
from scipy import stats

import trueness
from conftest import tied_cases
from trueness import Panel, Tally
from trueness.comparison.results import holm

PROC = json.loads((Path(__file__).parents[1] / "reference" / "proc.json").read_text())
NAMES = ("ndka", "s100b", "wfns")


@pytest.fixture
def asah():
    return trueness.panel(PROC["poor"], {k: PROC[k] for k in NAMES})


def test_proc_agrees_paired(asah):
    found = trueness.compare_auc(asah)
    assert found.paired
    for pair in found.pairs:
        d, (z, p, low, high) = (
            pair.difference,
            PROC[f"paired_{pair.first}_{pair.second}"][2:],
        )
        assert pair.statistic == pytest.approx(z, abs=1e-10)
        # pROC takes the normal distribution, we Student's: a little wider
        assert p <= pair.p_value < p + 0.01
        middle, half = (d.low + d.high) / 2, (d.high - d.low) / 2
        assert middle == pytest.approx((low + high) / 2, abs=1e-10)
        assert 1 < half / ((high - low) / 2) < 1.03


def test_proc_agrees_unpaired(asah):
    found = trueness.compare_auc({k: asah[k] for k in NAMES})
    assert not found.paired
    for pair in found.pairs:
        # pROC takes Student's distribution there; the statistic is the same
        theirs = PROC[f"unpaired_{pair.first}_{pair.second}"][2]
        assert pair.statistic == pytest.approx(theirs)
    two = trueness.compare_auc(asah["ndka"], asah["wfns"])
    assert two.pairs[0].statistic == pytest.approx(PROC["unpaired_ndka_wfns"][2])


def brute_covariance(y, columns):
    """DeLong's covariance matrix from all pairs of cases."""
    up, down = [], []
    for s in columns:
        win = (s[y == 1][:, None] > s[y == 0]) + 0.5 * (s[y == 1][:, None] == s[y == 0])
        up.append(win.mean(1))
        down.append(win.mean(0))
    return np.cov(up) / (y == 1).sum() + np.cov(down) / (y == 0).sum()


def satterthwaite(y, a, b):
    """Degrees of freedom from all pairs of cases, a case's worth shared."""
    win = [
        (s[y == 1][:, None] > s[y == 0]) + 0.5 * (s[y == 1][:, None] == s[y == 0])
        for s in (a, b)
    ]
    gap = win[0] - win[1]
    n = np.array(gap.shape)
    spread = np.array([gap.mean(1).var(ddof=1), gap.mean(0).var(ddof=1)])
    pooled = (n - 1) @ spread / (n - 1).sum()
    v = ((n - 1) * spread + pooled) / n / n
    return v.sum() ** 2 / (v**2 / (n - 1)).sum()


def test_slow_twin_with_ties_and_omnibus(rng):
    y, s = tied_cases(rng, 120)
    columns = [s, *(np.round(s + rng.normal(size=s.size), 1) for _ in range(3))]
    found = trueness.compare_auc(
        trueness.panel(y, dict(zip("abcd", columns, strict=True)))
    )
    S = brute_covariance(y, columns)
    area = np.array([v.value for v in found.values])
    at = {n: k for k, n in enumerate("abcd")}
    for pair in found.pairs:
        i, j = at[pair.first], at[pair.second]
        sd = np.sqrt(S[i, i] + S[j, j] - 2 * S[i, j])
        assert pair.difference.sd == pytest.approx(sd)
        assert pair.difference.value == pytest.approx(area[i] - area[j])
        df = satterthwaite(y, columns[i], columns[j])
        p = 2 * stats.t.sf(abs(area[i] - area[j]) / sd, df)
        assert pair.p_value == pytest.approx(p)
    L = np.column_stack([np.eye(3), -np.ones(3)])
    chi2 = (L @ area) @ np.linalg.solve(L @ S @ L.T, L @ area)
    assert found.statistic == pytest.approx(chi2)
    assert found.df == 3
    # Hotelling's with finite degrees of freedom: a little more careful
    p = stats.chi2.sf(chi2, 3)
    assert p < found.p_value < p + 0.02
    for name, value in zip("abcd", found.values, strict=True):
        own = trueness.auc(trueness.tally(y, columns[at[name]]))
        ends = (value.value, value.low, value.high, value.sd)
        assert ends == pytest.approx((own.value, own.low, own.high, own.sd))


def test_copies_differ_by_nothing(rng):
    y, s = tied_cases(rng, 300)
    other = s + rng.normal(size=s.size)
    p = trueness.panel(y, {"a": s, "twin": s, "exp": np.exp(s), "b": other})
    found = trueness.compare_auc(p)
    for pair in found.pairs:
        if "b" not in (pair.first, pair.second):
            assert (pair.difference.value, pair.p_value) == (0, 1)
            assert pair.difference.method == "copies"
    assert found.df == 1
    direct = trueness.compare_auc(p[["a", "b"]])
    assert found.statistic == pytest.approx(direct.statistic)
    only = trueness.compare_auc(p[["a", "exp"]])
    assert (only.p_value, only.df) == (1, 0)


def test_unknowns_and_split_rows_change_nothing(asah):
    more = trueness.panel(None, {k: [1.0, 2.0] for k in NAMES})
    assert (
        trueness.compare_auc(asah + more).to_dict()
        == trueness.compare_auc(asah).to_dict()
    )


def test_perfect_classifiers_have_an_interval():
    y = [0, 0, 1, 1, 1]
    both = trueness.compare_auc(
        trueness.panel(y, {"a": [1, 2, 3, 4, 5], "b": [2, 1, 4, 3, 5]})
    )
    pair = both.pairs[0]
    assert pair.difference.value == 0
    assert pair.difference.low < 0 < pair.difference.high
    assert pair.p_value == both.p_value == 1
    wrong = trueness.compare_auc(
        trueness.panel(y, {"a": [1, 2, 3, 4, 5], "b": [9, 9, 3, 3, 1]})
    )
    assert wrong.pairs[0].difference.value == 1
    assert 0 < wrong.p_value < 0.1  # two negatives cannot say more


def test_one_positive_is_compared(rng):
    p = trueness.panel([0, 0, 0, 1], {"a": [1, 2, 3, 2.5], "b": [3, 2, 1, 1.5]})
    pair = trueness.compare_auc(p).pairs[0]
    # one positive says nothing about the spread of positives: no narrow interval
    assert pair.difference.high - pair.difference.low > 0.5
    apart = trueness.compare_auc(p["a"], Tally([2, 1], pos=[40, 9], neg=[9, 40])).pairs[
        0
    ]
    assert apart.difference.high - apart.difference.low > 0.5
    assert -1 <= pair.difference.low < pair.difference.high <= 1
    assert 0 < pair.p_value <= 1


def test_p_values_are_uniform_without_a_difference(rng):
    p = []
    for _ in range(300):
        y = np.repeat([0, 1], [80, 60])
        base = rng.normal(size=y.size) + y
        noisy = {k: base + rng.normal(size=y.size) for k in "abc"}
        found = trueness.compare_auc(trueness.panel(y, noisy))
        p.append((found.p_value, found.pairs[0].p_value))
    for column in np.array(p).T:
        assert stats.kstest(column, "uniform").pvalue > 1e-3


def test_holm_by_hand():
    assert holm([0.01, 0.04, 0.03]) == pytest.approx([0.03, 0.06, 0.06])
    assert holm([0.9, 0.8]) == [1, 1]


def test_to_frame_and_text(asah):
    found = trueness.compare_auc(asah)
    assert found.to_frame("dict")["first"] == ["ndka", "ndka", "s100b"]
    assert "ndka - wfns" in repr(found)
    json.dumps(found.to_dict())


def test_errors(asah):
    with pytest.raises(trueness.InputError, match="at least two classifiers"):
        trueness.compare_auc(asah[["ndka"]])
    with pytest.raises(trueness.InputError, match="takes a panel alone"):
        trueness.compare_auc(asah, asah["ndka"])
    with pytest.raises(trueness.InputError, match="needs a panel"):
        trueness.compare_auc(asah["ndka"])
    gone = trueness.panel([0, 1, 1], {"a": [1, None, 2], "b": [1, 2, 3]})
    with pytest.raises(trueness.InputError, match=r"1 of 3 .*panel.observed\(\)"):
        trueness.compare_auc(gone)
    with pytest.raises(trueness.NotEnoughCases, match="0 negatives"):
        trueness.compare_auc(trueness.panel([1, 1], {"a": [1, 2], "b": [1, 2]}))


# metrics at thresholds


def votes(table):
    """A panel of two voters from counts {(vote a, vote b): (neg, pos)}."""
    neg, pos = zip(*table.values(), strict=True)
    return Panel(["a", "b"], list(table), neg, pos)


TABLE = {(1, 1): (3, 20), (1, 0): (2, 9), (0, 1): (7, 3), (0, 0): (30, 5)}


def test_mcnemar_by_hand():
    p = votes(TABLE)
    found = trueness.compare_metric(p, "accuracy").pairs[0]
    won, lost = 9 + 7, 3 + 2
    assert found.p_value == pytest.approx(stats.binomtest(won, won + lost).pvalue)
    assert found.difference.value == pytest.approx((won - lost) / 79)
    recall = trueness.compare_metric(p, "recall").pairs[0]
    assert recall.p_value == pytest.approx(stats.binomtest(9, 12).pvalue)
    spec = trueness.compare_metric(p, "specificity").pairs[0]
    assert spec.p_value == pytest.approx(stats.binomtest(7, 9).pvalue)
    fpr = trueness.compare_metric(p, "fpr").pairs[0]
    assert (fpr.p_value, fpr.statistic) == (spec.p_value, -spec.statistic)


def test_paired_bootstrap_of_any_metric():
    p = votes(TABLE)
    found = trueness.compare_metric(p, "f1", rng=1)
    f1 = [2 * 29 / (2 * 29 + 5 + 8), 2 * 23 / (2 * 23 + 10 + 14)]
    assert [v.value for v in found.values] == pytest.approx(f1)
    pair = found.pairs[0]
    assert pair.difference.low < pair.difference.value < pair.difference.high
    assert 0.001 < pair.p_value < 0.2
    mixed = trueness.compare_metric(
        p, 0.5 * trueness.recall + 0.5 * trueness.precision, rng=1
    )
    assert "bootstrap" in mixed.method


def test_bootstrap_agrees_with_the_error_of_paired_proportions():
    p = votes({k: (10 * a, 10 * b) for k, (a, b) in TABLE.items()})
    pair = trueness.compare_metric(p, "accuracy", method="bootstrap", rng=1).pairs[0]
    won, lost, n = 160, 50, 790
    sd = np.sqrt(won + lost - (won - lost) ** 2 / n) / n
    assert pair.difference.sd == pytest.approx(sd, rel=0.06)


def test_thresholds_are_used(rng):
    y, s = tied_cases(rng, 100)
    p = trueness.panel(y, {"a": s, "b": 2 * s})
    same = trueness.compare_metric(p, "mcc", thresholds={"a": 0.5, "b": 1.0}, rng=1)
    assert same.pairs[0].difference.value == 0
    assert same.pairs[0].p_value == 1
    assert trueness.compare_metric(p, thresholds=[0.5, 1.0]).pairs[0].p_value == 1


def test_any_statistic_on_the_same_cases(rng):
    y = rng.random(150) < 0.4
    a = rng.normal(size=150) + 1.5 * y
    p = trueness.panel(y, {"a": a, "copy": 2 * a, "b": a + rng.normal(size=150)})
    found = trueness.compare_statistic(p, trueness.auc, replicates=400)
    exact = trueness.compare_auc(p)
    for ours, theirs in zip(found.pairs, exact.pairs, strict=True):
        assert ours.difference.value == pytest.approx(theirs.difference.value)
        assert ours.difference.sd == pytest.approx(theirs.difference.sd, rel=0.2)
    assert found.pairs[0].p_value == 1  # the copy
    assert found.pairs[1].p_value < 0.05
    assert found.statistic == pytest.approx(exact.statistic, rel=0.5)

    def part(t):
        return trueness.partial_auc(t, fpr=(0, 0.2), replicates=100)

    some = trueness.compare_statistic(p, part, replicates=100)
    assert some.values[0].value == part(p["a"]).value
    with pytest.raises(trueness.InputError, match="at least two classifiers"):
        trueness.compare_statistic(p[["a"]], trueness.auc)


def test_metric_errors(asah):
    with pytest.raises(trueness.InputError, match="McNemar's test compares accuracy"):
        trueness.compare_metric(asah, "f1", method="mcnemar")
    with pytest.raises(trueness.InputError, match="at least two classifiers"):
        trueness.compare_metric(asah[["ndka"]])
    with pytest.raises(trueness.InputError, match="method must be one of"):
        trueness.compare_metric(asah, method="t")


def test_groups(rng):
    y = rng.random(600) < 0.4
    s = rng.normal(size=600) + y
    site = rng.choice(["x", "y", "z"], 600)
    groups = trueness.tally(y, s, by=site)
    each = trueness.auc(groups)
    assert set(each) == {"x", "y", "z"}
    assert each["x"].value == trueness.auc(groups["x"]).value
    panel = trueness.panel(y, {"a": s, "b": -s})
    assert trueness.auc(panel)["b"].value == trueness.auc(panel["b"]).value
    assert set(trueness.roc(groups)) == set(trueness.partial_auc(groups, fpr=(0, 0.2)))
    fast = trueness.compare_auc(groups)
    slow = trueness.compare_groups(groups, trueness.auc, replicates=200, rng=1)
    for a, b in zip(fast.pairs, slow.pairs, strict=True):
        assert b.difference.value == pytest.approx(a.difference.value)
        assert b.difference.sd == pytest.approx(a.difference.sd, rel=0.2)
    assert slow.statistic == pytest.approx(fast.statistic, rel=0.5)
    one = trueness.compare_groups(
        groups, trueness.average_precision, reference="y", replicates=100
    )
    assert [(p.first, p.second) for p in one.pairs] == [("x", "y"), ("z", "y")]
    with pytest.raises(
        trueness.InputError, match="reference must be one of the groups"
    ):
        trueness.compare_groups(groups, trueness.auc, reference="w")
    with pytest.raises(trueness.InputError, match="at least two"):
        trueness.compare_groups({"x": groups["x"]}, trueness.auc)


def clustered(rng, n=40, size=8):
    """Cases of a cluster share a shift of the score and mostly the label."""
    cluster = np.repeat(np.arange(n), size)
    label = rng.random(n) < 0.5
    y = np.where(rng.random(n * size) < 0.1, ~label[cluster], label[cluster])
    s = y + rng.normal(size=n)[cluster] + 0.5 * rng.normal(size=n * size)
    return y.astype(int), s, cluster


def test_cluster_bootstrap_has_the_error_of_clustered_data(rng):
    values, naive = [], []
    for _ in range(300):
        y, s, _ = clustered(rng)
        a = trueness.auc(trueness.tally(y, s), method="delong")
        values.append(a.value)
        naive.append(a.sd)
    truth = np.std(values)
    found = []
    for k in range(8):
        y, s, cluster = clustered(rng)
        parts = trueness.tally(y, s, by=cluster)
        found.append(
            trueness.cluster_bootstrap(parts, trueness.auc, rng=k, replicates=150).sd
        )
    assert np.mean(found) == pytest.approx(truth, rel=0.2)
    assert np.mean(naive) < 0.7 * truth  # what ignoring the clusters would say


def test_cluster_bootstrap_of_single_cases_is_the_bootstrap(rng):
    y, s = tied_cases(rng, 80)
    parts = trueness.tally(y, s, by=np.arange(80))
    a = trueness.cluster_bootstrap(parts, trueness.auc, replicates=400)
    assert a.value == trueness.auc(trueness.tally(y, s)).value
    assert a.sd == pytest.approx(
        trueness.auc(trueness.tally(y, s), method="delong").sd, rel=0.2
    )
    b = trueness.cluster_bootstrap(parts, trueness.auc, replicates=400, method="normal")
    assert b.high - b.low == pytest.approx(2 * 1.96 * b.sd, rel=1e-3)


def test_cluster_bootstrap_of_panels(rng):
    y, s = tied_cases(rng, 60)
    parts = trueness.panel(y, {"a": s, "b": -s}, by=np.arange(60) % 12)

    def gap(p):
        return trueness.auc(p["a"]).value - trueness.auc(p["b"]).value

    a = trueness.cluster_bootstrap(parts, gap, replicates=100)
    assert a.value == pytest.approx(2 * trueness.auc(trueness.tally(y, s)).value - 1)
    assert a.low < a.value < a.high


def test_cluster_errors():
    one = {"a": Tally([2, 1], pos=[1, 1], neg=[1, 1])}
    with pytest.raises(trueness.NotEnoughCases, match="at least two clusters; found 1"):
        trueness.cluster_bootstrap(one, trueness.auc)


# few cases and no spread


def test_a_difference_without_variance_is_a_difference():
    perfect = Tally([2, 1], pos=[50, 0], neg=[0, 50])
    wrong = Tally([2, 1], pos=[0, 50], neg=[50, 0])
    found = trueness.compare_groups({"a": perfect, "b": wrong}, trueness.auc)
    assert found.pairs[0].p_value < 1e-6
    assert found.p_value < 1e-6
    plain = trueness.compare_groups(
        {"a": perfect, "b": wrong}, lambda t: float(trueness.auc(t)), replicates=200
    )
    assert plain.pairs[0].p_value == plain.p_value == 2 / 201
    assert "no width" in plain.notes[0]


def test_the_omnibus_test_sees_what_every_pair_sees(rng):
    y = np.repeat([0, 1], 50)
    noisy = y + rng.normal(size=100)
    p = trueness.panel(y, {"good": y, "bad": 1 - y, "none": 0 * y, "noisy": noisy})
    found = trueness.compare_auc(p)
    assert max(q.p_value for q in found.pairs) < 1e-2
    assert found.p_value < 1e-10
    assert trueness.compare_auc(p[["good", "bad"]]).p_value < 1e-15
    apart = trueness.compare_auc({n: p[n] for n in p.names})
    assert apart.p_value < 1e-10


def test_a_perfect_metric_against_none_is_a_difference():
    y = np.repeat([0, 1], 20)
    p = trueness.panel(y, {"a": y, "b": 0 * y, "c": 1 - y})
    found = trueness.compare_metric(p, "f1")
    assert found.pairs[0].p_value == found.pairs[1].p_value == 2 / 20_001
    assert found.p_value < 0.01


def test_five_of_five_are_not_certain():
    p = trueness.panel(np.repeat([0, 1], 5), {"a": np.repeat([0, 1], 5), "b": [1] * 10})
    found = trueness.compare_metric(p, "recall")
    for v in found.values:
        # Jeffreys: Beta(5.5, 0.5)
        assert v.low == pytest.approx(stats.beta.ppf(0.025, 5.5, 0.5), abs=0.02)
        assert (v.value, v.high) == (1, 1)
    d = found.pairs[0].difference
    assert (d.value, found.pairs[0].p_value) == (0, 1)
    assert -1 < d.low < -0.1 < 0.1 < d.high < 1


def test_cluster_bootstrap_of_perfect_clusters_has_width():
    parts = {k: Tally([2, 1], pos=[3, 0], neg=[0, 3]) for k in range(20)}
    for method in ("percentile", "normal"):
        a = trueness.cluster_bootstrap(parts, trueness.auc, method=method)
        assert a.value == a.high == 1
        assert 1 - 6 / 20 < a.low < 1 - 1 / 20
    same = trueness.cluster_bootstrap(parts, lambda t: t.prevalence)
    assert same.low == same.high == 0.5
    assert "no width" in same.notes[0]


def one_sample(rng, n_pos, n_neg, k, auc, wide=False):
    """Correlated normal scores of k equally good classifiers."""
    y = np.repeat([1, 0], [n_pos, n_neg])
    z = rng.normal(size=(y.size, 1)) + rng.normal(size=(y.size, k))
    spread = np.linspace(1, 2, k) if wide else np.ones(k)
    shift = np.sqrt(1 + spread**2) * np.sqrt(2) * stats.norm.ppf(auc)
    s = np.where(y[:, None] == 1, z * spread + shift, z)
    return trueness.panel(y, {str(i): s[:, i] for i in range(k)})


@pytest.mark.parametrize("n_pos", [2, 3, 5])
def test_few_positives_keep_the_level(rng, n_pos):
    p = [
        trueness.compare_auc(one_sample(rng, n_pos, 40, 2, 0.65, wide=k % 2))
        for k in range(300)
    ]
    assert np.mean([c.pairs[0].p_value < 0.05 for c in p]) < 0.07 + 0.03
    assert np.mean([c.pairs[0].difference.low <= 0 for c in p]) > 0.93
    assert f"With {n_pos} positive cases" in p[0].notes[0]


def test_many_classifiers_on_few_cases_keep_the_level(rng):
    p = [
        trueness.compare_auc(one_sample(rng, 10, 30, 8 + k % 3, 0.7)).p_value
        for k in range(200)
    ]
    assert np.mean(np.array(p) < 0.05) < 0.07 + 0.03


def test_many_cases_keep_the_power_of_delong(rng):
    y = np.repeat([0, 1], [300, 200])
    base = rng.normal(size=500) + y
    p = trueness.panel(y, {"a": base, "b": base + rng.normal(size=500)})
    pair = trueness.compare_auc(p).pairs[0]
    assert stats.norm.isf(pair.p_value / 2) == pytest.approx(pair.statistic, rel=0.02)
    apart = trueness.compare_auc(p["a"], p["b"]).pairs[0]
    assert stats.norm.isf(apart.p_value / 2) == pytest.approx(apart.statistic, rel=0.03)


def test_margins_by_hand(asah):
    found = trueness.compare_auc(asah[["s100b", "ndka"]], margin=0.1).pairs[0]
    d = found.difference
    df = satterthwaite(np.array(PROC["poor"]), *(np.array(PROC[k]) for k in
                                                 ("s100b", "ndka")))  # fmt: skip
    below = stats.t.cdf((-0.1 - d.value) / d.sd, df)
    assert found.p_noninferior == pytest.approx(below)
    assert found.p_noninferior_second == pytest.approx(
        stats.t.sf((0.1 - d.value) / d.sd, df)
    )
    assert found.p_equivalent == max(found.p_noninferior, found.p_noninferior_second)
    assert "not worse by 0.1" in repr(found)
    plain = trueness.compare_auc(asah[["s100b", "ndka"]])
    assert np.isnan(plain.pairs[0].p_noninferior)
    copy = trueness.panel(PROC["poor"], {"a": PROC["ndka"], "b": PROC["ndka"]})
    assert trueness.compare_auc(copy, margin=0.01).pairs[0].p_equivalent == 0
    with pytest.raises(trueness.InputError, match="margin"):
        trueness.compare_auc(asah, margin=-0.1)
    assert "p_noninferior" in trueness.compare_auc(asah, margin=0.1).to_frame("dict")


def test_margins_agree_with_the_interval():
    """The test at 2.5 % and the 95 % interval are one question."""
    p = votes(TABLE)
    for metric in ("recall", "f1"):
        d = trueness.compare_metric(p, metric).pairs[0].difference
        inside = trueness.compare_metric(p, metric, margin=max(0.001, -d.low + 0.02))
        outside = trueness.compare_metric(p, metric, margin=max(0.001, -d.low - 0.02))
        assert inside.pairs[0].p_noninferior < 0.025
        if d.low < -0.021:
            assert outside.pairs[0].p_noninferior > 0.025
    a, b = Tally([2, 1], [3, 30], [28, 4]), Tally([2, 1], [5, 25], [20, 6])
    d = trueness.compare_auc(a, b).pairs[0].difference
    at = trueness.compare_auc(a, b, margin=-d.low).pairs[0]
    assert at.p_noninferior == pytest.approx(0.025, abs=1e-3)


@pytest.mark.parametrize(("won", "lost"), [(4, 0), (5, 0), (7, 1), (9, 2), (3, 3)])
def test_drawn_shares_are_as_careful_as_mcnemar(won, lost):
    # of cases on which two differ, each side with one more (Bonett and Price 2012):
    # P(Beta(won + 1, lost + 1) < 1/2), however many others agree
    from scipy.stats import beta

    p = Panel(["a", "b"], [[1, 1], [1, 0], [0, 1]], pos=[6, won, lost], neg=[4, 0, 0])
    pair = trueness.compare_metric(p, "recall", method="bootstrap").pairs[0]
    expected = min(1, 2 * beta(won + 1, lost + 1).cdf(0.5))
    assert pair.p_value == pytest.approx(expected, abs=0.006)
    assert (pair.difference.low <= 0 <= pair.difference.high) == (pair.p_value >= 0.05)


@pytest.mark.parametrize("metric", ["recall", "fnr", "f1"])
def test_a_margin_adds_less_to_the_cases_that_speak_for_the_claim(metric, rng):
    """Half a case for the one that is said to be no worse, a whole one against it."""
    pos, neg = np.array([30, 1, 9, 10]), np.array([6, 3, 2, 60])
    rows = np.array([[1, 1], [1, 0], [0, 1], [0, 0]])
    added = np.array([0.5, 0.5, 1, 0.5, 0.5, 1, 0.5, 0.5])
    law = np.concatenate([pos, neg]) + added
    x = rng.dirichlet(law, 200_000)
    tp, fp = x[:, :4] @ rows, x[:, 4:] @ rows
    rate = {"f1": 2 * tp / (tp + fp + x[:, :4].sum(axis=1)[:, None])}
    rate["recall"] = rate["fnr"] = tp / x[:, :4].sum(axis=1)[:, None]
    lost = np.mean(rate[metric][:, 0] - rate[metric][:, 1] <= -0.2)
    asked = {"metric": metric, "margin": 0.2, "replicates": 40_000}
    for order in ([0, 1], [1, 0]):
        p = Panel(["a", "b"], rows[:, order], pos=pos, neg=neg)
        pair = trueness.compare_metric(p, **asked, method="bootstrap").pairs[0]
        # a miss rate is better when lower: the two p-values change places
        first = (order == [0, 1]) != (metric == "fnr")
        found = pair.p_noninferior if first else pair.p_noninferior_second
        assert found == pytest.approx(lost, abs=0.006)


def test_a_metric_follows_how_the_cases_came(rng):
    y = np.repeat([1, 0], [50, 50])
    s = rng.normal(size=(100, 2)) + y[:, None] * [1.5, 0.5]
    p = trueness.panel(y, {"a": s[:, 0], "b": s[:, 1]})
    asked = {"thresholds": 0.5, "sampling": "case-control"}
    with pytest.raises(
        trueness.InputError, match="precision depends on the prevalence"
    ):
        trueness.compare_metric(p, "precision", **asked)
    recall = trueness.compare_metric(p, "recall", **asked)
    assert (
        recall.pairs[0].p_value
        == trueness.compare_metric(p, "recall", thresholds=0.5).pairs[0].p_value
    )  # a share of positives does not rest on how many there are
    rare = trueness.compare_metric(p, "precision", prevalence=0.05, **asked)
    for name, found in zip(p.names, rare.values, strict=True):
        alone = trueness.at_threshold(
            p[name], 0.5, metrics=["precision"], prevalence=0.05
        ).metrics["precision"]
        assert found.value == pytest.approx(alone.value)
        assert (found.low, found.high) == pytest.approx(
            (alone.low, alone.high), abs=0.01
        )
    with pytest.raises(trueness.InputError, match="as they are"):
        trueness.compare_metric(p, prevalence=0.05, method="mcnemar")


def test_metrics_of_no_labelled_case_are_not_compared():
    for nothing in (Panel(["a", "b"], np.zeros((0, 2))), Panel(["a", "b"], [[1, 0]])):
        with pytest.raises(trueness.NotEnoughCases, match="compare_metric needs"):
            trueness.compare_metric(nothing, "recall")


def test_without_spread_there_is_no_overall_statistic():
    y = np.repeat([0, 1], 30)
    found = trueness.compare_metric(trueness.panel(y, {"a": y, "b": 1 - y}), "recall")
    assert found.df == 0
    assert "all equal? p < 0.0001\n" in f"{found!r}\n"
