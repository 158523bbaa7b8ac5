"""Groups of cases: the formula of unpaired areas, estimates, designs."""

import numpy as np
import pytest

import trueness
from trueness import Tally


@pytest.fixture
def sites(rng):
    y = rng.random(600) < 0.4
    how = {"weight": np.exp(0.8 * rng.normal(size=600)), "cluster": np.arange(600) // 6}
    return y, rng.normal(size=600) + y, rng.choice(["x", "y", "z"], 600), how


def test_an_analysis_is_compared_as_where_it_is_at_home(sites):
    y, s, site, how = sites
    for words in ({}, {"weight": how["weight"]}, how):
        groups = trueness.tally(y, s, by=site, **words)
        fast = trueness.compare_auc(groups)
        slow = trueness.compare_groups(groups, trueness.auc)
        assert slow.pairs == fast.pairs
        assert slow.p_value == fast.p_value
        own = trueness.compare_groups(
            groups, lambda t: trueness.auc(t).value, method="jackknife"
        )
        for a, b in zip(fast.pairs, own.pairs, strict=True):
            assert b.difference.value == a.difference.value
            assert b.difference.se == pytest.approx(a.difference.se, rel=0.03)
        for name, value in zip(fast.names, fast.values, strict=True):
            alone = trueness.auc(groups[name])
            assert (value.value, value.low) == (alone.value, alone.low)

    asked = trueness.compare_groups(y, s, trueness.auc, by=site, **how)

    assert asked.pairs == fast.pairs


def test_a_reference_group(sites):
    y, s, site, _ = sites
    groups = trueness.tally(y, s, by=site)
    one = trueness.compare_groups(groups, trueness.average_precision, reference="y")

    assert [(p.first, p.second) for p in one.pairs] == [("x", "y"), ("z", "y")]

    for bad in ("w", ["x"]):
        with pytest.raises(trueness.InputError, match="must be one of the groups"):
            trueness.compare_groups(groups, trueness.auc, reference=bad)

    with pytest.raises(trueness.InputError, match="at least two"):
        trueness.compare_groups({"x": groups["x"]}, trueness.auc)


def test_a_difference_without_variance_is_a_difference():
    perfect = Tally([2, 1], pos=[50, 0], neg=[0, 50])
    wrong = Tally([2, 1], pos=[0, 50], neg=[50, 0])
    found = trueness.compare_groups({"a": perfect, "b": wrong}, trueness.auc)

    assert found.pairs[0].p_value == found.p_value < 1e-6

    same = trueness.compare_groups({"a": perfect, "b": perfect}, trueness.auc)

    assert same.p_value == 1
    assert same.pairs[0].difference.low < 0 < same.pairs[0].difference.high


def clustered_scores(rng, n=400, clusters=50):
    """Return labels and scores that depend on the cluster, and the clusters."""
    cluster = np.arange(n) % clusters
    y = rng.random(n) < rng.beta(1, 1, clusters)[cluster]
    score = y + rng.normal(size=clusters)[cluster] + 0.5 * rng.normal(size=n)
    return y, score, cluster


def test_the_keys_of_a_mapping_of_tallies_are_clusters(rng):
    y, score, cluster = clustered_scores(rng)
    by_cluster = trueness.tally(y, score, by=cluster)

    estimate = trueness.estimate(by_cluster, trueness.auc, cluster=True)

    direct = trueness.auc(y, score, cluster=cluster)
    assert (estimate.low, estimate.high) == pytest.approx((direct.low, direct.high))
    assert estimate.se > 1.2 * trueness.auc(y, score).se


def test_the_keys_of_a_mapping_of_panels_are_clusters(rng):
    y, score, cluster = clustered_scores(rng)
    scores = {"a": np.round(score), "b": -np.round(score)}
    by_cluster = trueness.panel(y, scores, by=cluster)

    def difference(panel):
        return trueness.auc(panel["a"]).value - trueness.auc(panel["b"]).value

    estimate = trueness.estimate(
        by_cluster, difference, cluster=True, value_range=(-1, 1)
    )

    direct = trueness.compare_auc(by_cluster, cluster=True).pairs[0].difference
    assert estimate.value == pytest.approx(direct.value)
    assert estimate.se == pytest.approx(direct.se, rel=0.1)


def test_groups_are_redrawn_by_themselves(sites):
    y, s, site, _ = sites
    groups = trueness.tally(y, s, by=site)

    found = trueness.compare_groups(groups, lambda t: trueness.auc(t).value)
    formula = trueness.compare_auc(groups)

    for own, exact in zip(found.pairs, formula.pairs, strict=True):
        assert own.difference.value == exact.difference.value
        assert own.difference.se == pytest.approx(exact.difference.se, rel=0.15)
        assert own.difference.method == "bootstrap"
