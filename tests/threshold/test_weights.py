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


CURVES = {
    "net_benefit": trueness.decision_curve,
    "cost": trueness.cost_curve,
}
# away from the ends, where intervals are narrow or empty
INNER = slice(10, 60)


def mean_width(curve):
    return (curve.high - curve.low)[INNER].mean()


@pytest.mark.parametrize("quantity", CURVES)
def test_curves_of_weights_are_those_of_copies_with_wider_intervals(quantity):
    labels, score, _ = sample()
    number = np.random.default_rng(1).integers(1, 5, labels.size)
    curve_of = CURVES[quantity]

    weighted = curve_of(trueness.tally(labels, score, weight=number))
    copies = curve_of(trueness.tally(labels, score, count=number))

    np.testing.assert_allclose(
        getattr(weighted, quantity), getattr(copies, quantity), atol=1e-12
    )
    assert mean_width(weighted) > mean_width(copies)


@pytest.mark.parametrize("curve_of", CURVES.values(), ids=CURVES)
def test_equal_weights_and_clusters_of_one_case_change_no_curve(curve_of):
    labels, score, _ = sample()

    cases = curve_of(trueness.tally(labels, score))
    equal_weights = curve_of(
        trueness.tally(labels, score, weight=np.full(labels.size, 5.0))
    )
    clusters_of_one = curve_of(
        trueness.tally(labels, score, cluster=np.arange(labels.size))
    )

    for same in (equal_weights, clusters_of_one):
        np.testing.assert_allclose(cases.low[INNER], same.low[INNER], atol=1e-9)
        np.testing.assert_allclose(cases.high[INNER], same.high[INNER], atol=1e-9)


@pytest.mark.parametrize("curve_of", CURVES.values(), ids=CURVES)
def test_clusters_of_copies_are_as_uncertain_as_single_cases(curve_of):
    labels, score, _ = sample()
    cluster = np.repeat(np.arange(labels.size), 3)

    cases = curve_of(trueness.tally(labels, score))
    triples = curve_of(
        trueness.tally(np.repeat(labels, 3), np.repeat(score, 3), cluster=cluster)
    )

    assert mean_width(triples) == pytest.approx(mean_width(cases), rel=0.1)


@pytest.mark.parametrize("curve_of", CURVES.values(), ids=CURVES)
def test_curves_of_uneven_weights_have_finite_intervals(curve_of):
    labels, score, weight = sample()

    curve = curve_of(trueness.tally(labels, score, weight=weight))

    assert np.isfinite(curve.high).all()


def test_net_benefit_by_hand():
    tally = trueness.tally([1, 1, 0, 0], [0.9, 0.3, 0.6, 0.2], weight=[1, 2, 3, 4])
    curve = trueness.decision_curve(tally, threshold=[0.5])

    assert curve.net_benefit[0] == pytest.approx(1 / 10 - 3 / 10)
    assert trueness.cost_curve([1, 0], [2, 1], sample_weight=[1, 3]).cost.max() == 0


@pytest.mark.parametrize(
    ("constraints", "replicates"), [((), 60), (("defer <= 0.2",), 20)]
)
def test_equal_weights_choose_and_validate_as_counts(constraints, replicates):
    """Student's quantile stays, for the unknown variance of equal weights."""
    label, probability, _ = sample(150)
    weighted = trueness.tally(label, probability, weight=np.full(label.size, 2.5))
    counted = trueness.tally(label, probability)

    of_weights, of_counts = (
        trueness.validate_threshold(
            tally, "f1", list(constraints), replicates=replicates
        ).corrected
        for tally in (weighted, counted)
    )

    assert of_weights.value == pytest.approx(of_counts.value, rel=1e-9)
    assert of_weights.ci == pytest.approx(of_counts.ci, abs=0.03)


def test_a_weighted_operating_point_knows_how_few_its_cases_are():
    """Sums of weights in the thousands are no thousands of cases."""
    labels, p, weights = sample()
    point = trueness.best_threshold(
        trueness.tally(labels, p, weight=1000 * weights), "f1"
    )
    tally = trueness.tally(labels, p, weight=weights)
    expected = trueness.at_threshold(tally, point.threshold)["recall"]
    result = point.metrics["recall"]

    assert (result.low, result.high) == pytest.approx((expected.low, expected.high))


LIGHT_CASES = trueness.tally(
    [1, 1, 0, 1, 0, 0], [6, 5, 4, 3, 2, 1], weight=[0.2, 0.1, 0.2, 0.1, 0.3, 0.2]
)


def test_a_table_of_zones_holds_weights_and_not_whole_cases():
    """Weights below one were cut off: rows of zeros, and a division by them."""
    zones = trueness.best_thresholds(
        LIGHT_CASES, minimize="cost(fp=1, fn=4, defer=0.3)"
    )

    total = sum(neg + pos for _, neg, pos in sentences.zone_rows(zones))

    assert any("sums of weights" in note for note in zones.notes)
    assert total == pytest.approx(1.1)


def test_a_table_of_groups_holds_weights_and_not_whole_cases():
    cuts = trueness.group_thresholds(
        {"a": LIGHT_CASES, "b": LIGHT_CASES}, subject_to="recall_min >= 0.7"
    )

    rows = sentences.group_rows(cuts)

    for name, _, flagged, recall, precision in rows:
        confusion = cuts.confusions[name]
        assert flagged == float(confusion.tp + confusion.fp)
        # the positives of a group weigh 0.4
        assert recall == pytest.approx(float(confusion.tp) / 0.4)
        assert precision == pytest.approx(float(confusion.tp) / flagged)
