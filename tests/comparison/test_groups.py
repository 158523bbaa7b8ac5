"""Groups of cases: the formula of unpaired areas, estimates, designs."""

import numpy as np
import pytest

import trueness
from trueness import Tally


@pytest.fixture
def sites(rng):
    """Return labels, scores, the site of each case, and design columns."""
    label = rng.random(600) < 0.4
    columns = {
        "weight": np.exp(0.8 * rng.normal(size=600)),
        "cluster": np.arange(600) // 6,
    }
    score = rng.normal(size=600) + label
    return label, score, rng.choice(["x", "y", "z"], 600), columns


@pytest.mark.parametrize(
    "arguments",
    [(), ("weight",), ("weight", "cluster")],
    ids=["plain", "weight", "both"],
)
def test_a_function_of_ones_own_is_compared_by_the_jackknife(sites, arguments):
    label, score, site, columns = sites
    design = {name: columns[name] for name in arguments}
    groups = trueness.tally(label, score, by=site, **design)

    comparison = trueness.compare_groups(
        groups, lambda tally: trueness.auc(tally).value, method="jackknife"
    )

    expected = trueness.compare_auc(groups)
    for pair, of_formula in zip(comparison.pairs, expected.pairs, strict=True):
        standard_error = of_formula.difference.se
        assert pair.difference.value == of_formula.difference.value
        assert pair.difference.se == pytest.approx(standard_error, rel=0.03)


@pytest.mark.parametrize(
    "arguments",
    [(), ("weight",), ("weight", "cluster")],
    ids=["plain", "weight", "both"],
)
def test_an_analysis_is_compared_as_in_its_own_function(sites, arguments):
    label, score, site, columns = sites
    design = {name: columns[name] for name in arguments}
    groups = trueness.tally(label, score, by=site, **design)

    comparison = trueness.compare_groups(groups, trueness.auc)

    expected = trueness.compare_auc(groups)
    assert comparison.pairs == expected.pairs
    assert comparison.p_value == expected.p_value
    of_arrays = trueness.compare_groups(label, score, trueness.auc, by=site, **design)
    assert of_arrays.pairs == expected.pairs
    for name, estimate in zip(expected.names, expected.values, strict=True):
        alone = trueness.auc(groups[name])
        assert (estimate.value, estimate.low) == (alone.value, alone.low)


def test_a_reference_group(sites):
    labels, scores, site, _ = sites
    groups = trueness.tally(labels, scores, by=site)
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
    comparison = trueness.compare_groups({"a": perfect, "b": wrong}, trueness.auc)

    assert comparison.pairs[0].p_value == comparison.p_value < 1e-6

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
    labels, score, cluster = clustered_scores(rng)
    by_cluster = trueness.tally(labels, score, by=cluster)

    estimate = trueness.estimate(by_cluster, trueness.auc, cluster=True)

    direct = trueness.auc(labels, score, cluster=cluster)

    assert (estimate.low, estimate.high) == pytest.approx((direct.low, direct.high))
    assert estimate.se > 1.2 * trueness.auc(labels, score).se


def test_the_keys_of_a_mapping_of_panels_are_clusters(rng):
    labels, score, cluster = clustered_scores(rng)
    scores = {"a": np.round(score), "b": -np.round(score)}
    by_cluster = trueness.panel(labels, scores, by=cluster)

    def difference(panel):
        return trueness.auc(panel["a"]).value - trueness.auc(panel["b"]).value

    estimate = trueness.estimate(
        by_cluster, difference, cluster=True, value_range=(-1, 1)
    )

    direct = trueness.compare_auc(by_cluster, cluster=True).pairs[0].difference

    assert estimate.value == pytest.approx(direct.value)
    assert estimate.se == pytest.approx(direct.se, rel=0.1)


def test_groups_are_redrawn_by_themselves(sites):
    labels, scores, site, _ = sites
    groups = trueness.tally(labels, scores, by=site)

    comparison = trueness.compare_groups(groups, lambda t: trueness.auc(t).value)
    formula = trueness.compare_auc(groups)

    for own, exact in zip(comparison.pairs, formula.pairs, strict=True):
        assert own.difference.value == exact.difference.value
        assert own.difference.se == pytest.approx(exact.difference.se, rel=0.15)
        assert own.difference.method == "bootstrap"
