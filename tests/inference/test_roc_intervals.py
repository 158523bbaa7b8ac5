"""The interval of an AUC: by Newcombe's formula, by simulation, at its ends."""

import numpy as np
import pytest
from scipy import integrate, optimize, stats

import trueness
from trueness.inference import roc_intervals
from trueness.inference.variance import ClassSizes

T = stats.t.ppf


def sizes(positives, negatives):
    return ClassSizes(positives, negatives, positives, negatives)


def variance_of_newcombe(area, m, n):
    """Newcombe (2006), method 5, as it is printed, with N* = (m + n) / 2 - 1."""
    half = (m + n) / 2 - 1
    pairs = 1 + half * (1 - area) / (2 - area) + half * area / (1 + area)
    return area * (1 - area) * pairs / (m * n)


@pytest.mark.parametrize(("m", "n"), [(10, 990), (50, 50), (200, 30)])
@pytest.mark.parametrize("area", [0.3, 0.8, 0.99])
def test_both_ends_solve_the_equation_of_newcombe(area, m, n):
    low, high = roc_intervals.newcombe_interval(area, 1.0, sizes(m, n), 1.96)

    def distance(candidate):
        variance = variance_of_newcombe(candidate, m, n)
        return (candidate - area) ** 2 - 1.96**2 * variance

    assert low == pytest.approx(optimize.brentq(distance, 1e-9, area))
    assert high == pytest.approx(optimize.brentq(distance, area, 1 - 1e-9))


def test_many_intervals_are_those_of_each(rng):
    areas = rng.random(20)
    effects = rng.uniform(0.5, 2, 20)
    quantiles = rng.uniform(1, 3, 20)

    low, high = roc_intervals.newcombe_intervals(
        areas, effects, sizes(20, 80), quantiles
    )

    for k, area in enumerate(areas):
        one = roc_intervals.newcombe_interval(
            area, effects[k], sizes(20, 80), quantiles[k]
        )
        assert (low[k], high[k]) == pytest.approx(one, abs=1e-12)


def test_an_area_of_one_has_the_other_root_as_its_lower_end():
    low, high = roc_intervals.newcombe_interval(1.0, 1.0, sizes(30, 70), 1.96)

    # (1 - A)^2 = z^2 M(A) has the root A = 1, by which it is divided
    def other_root(candidate):
        variance = variance_of_newcombe(candidate, 30, 70)
        return 1 - candidate - 1.96**2 * variance / (1 - candidate)

    assert high == 1
    assert low == pytest.approx(optimize.brentq(other_root, 0.5, 1 - 1e-9))


@pytest.mark.parametrize("area", [0.55, 0.9, 0.999])
def test_the_kurtosis_is_that_of_both_beta_distributions(area):
    odds = area / (1 - area)
    shapes = [stats.beta(1 / odds, 1), stats.beta(1, odds)]
    second = np.mean([shape.moment(2) - shape.mean() ** 2 for shape in shapes])
    fourth = np.mean([_fourth_central_moment(shape) for shape in shapes])

    kurtosis = roc_intervals._kurtosis_of_placements(area)

    assert kurtosis == pytest.approx(fourth / second**2, rel=1e-6)

    mirrored = roc_intervals._kurtosis_of_placements(1 - area)

    assert mirrored == pytest.approx(kurtosis, rel=1e-9)


def _fourth_central_moment(shape):
    mean, second, third, fourth = (shape.moment(k) for k in (1, 2, 3, 4))
    return fourth - 4 * third * mean + 6 * second * mean**2 - 3 * mean**4


def test_few_cases_keep_the_model_and_many_the_data():
    """A variance of half the model's is chance with 10 positives, not with 2,000."""
    effects = []
    for m in (10, 100, 2000):
        variance = variance_of_newcombe(0.8, m, 10 * m) / 2
        effects.append(
            float(roc_intervals.design_effect(0.8, variance, sizes(m, 10 * m)))
        )

    assert effects[0] == 1
    assert 0.5 < effects[1] < 1
    assert effects[2] == pytest.approx(0.5, abs=0.01)


def test_a_larger_variance_is_taken_as_it_is():
    variance = 1.7 * variance_of_newcombe(0.8, 20, 200)

    effect = roc_intervals.design_effect(0.8, variance, sizes(20, 200))

    assert effect == pytest.approx(1.7)


def test_an_auc_by_hand():
    """Four positives, six negatives; the variance is above that of the model."""
    labels = [1, 1, 1, 1, 0, 0, 0, 0, 0, 0]
    scores = [9, 8, 7, 0, 6, 5, 4, 3, 2, 1]
    placements = np.array([1, 1, 1, 0])
    above = np.full(6, 3 / 4)
    variance = placements.var(ddof=1) / 4 + above.var(ddof=1) / 6
    effect = variance / variance_of_newcombe(0.75, 4, 6)

    estimate = trueness.auc(labels, scores)

    def distance(area):
        allowed = variance_of_newcombe(area, 4 / effect, 6 / effect)
        return (area - 0.75) ** 2 - T(0.975, 3) ** 2 * allowed

    assert effect > 1
    assert estimate.low == pytest.approx(optimize.brentq(distance, 1e-9, 0.75))
    assert estimate.high == pytest.approx(optimize.brentq(distance, 0.75, 1 - 1e-9))
    assert estimate.method == "Newcombe 2006, method 5"


@pytest.mark.parametrize(
    ("positives", "negatives", "area", "sd"),
    [
        (10, 990, 0.95, 1),
        (20, 980, 0.98, 1),
        (15, 985, 0.9, 2),
        (50, 450, 0.99, 1),
        (100, 900, 0.8, 0.5),
    ],
)
def test_it_holds_the_area_with_few_positives(rng, positives, negatives, area, sd):
    separation = stats.norm.ppf(area) * np.sqrt(1 + sd**2)
    labels = np.repeat([1, 0], [positives, negatives])
    held = []
    for _ in range(300):
        scores = rng.normal(size=labels.size)
        scores[:positives] = separation + sd * scores[:positives]
        estimate = trueness.auc(labels, scores)
        held.append(estimate.low <= area <= estimate.high)

    # 300 samples of .95 have three standard errors of .038
    assert np.mean(held) >= 0.912


def test_with_many_cases_it_is_as_wide_as_that_of_delong(rng):
    """Positives that vary less than negatives: 1.4 times as wide by the model alone."""
    labels = np.repeat([1, 0], [1000, 9000])
    scores = rng.normal(size=labels.size)
    scores[:1000] = 1 + 0.5 * scores[:1000]

    estimate = trueness.auc(labels, scores)
    published = trueness.auc(labels, scores, method="delong")

    ratio = (estimate.high - estimate.low) / (published.high - published.low)

    assert ratio == pytest.approx(1, abs=0.02)


@pytest.mark.parametrize("fpr", [(0, 0.1), (0, 0.5)])
def test_a_partial_area_holds_with_few_positives(rng, fpr):
    separation = stats.norm.ppf(0.95) * np.sqrt(2)

    def curve(rate):
        return stats.norm.sf(stats.norm.isf(rate) - separation)

    truth = integrate.quad(curve, *fpr)[0]
    labels = np.repeat([1, 0], [10, 990])
    held = []
    for _ in range(200):
        scores = rng.normal(size=labels.size) + separation * labels
        estimate = trueness.partial_auc(labels, scores, fpr=fpr)
        held.append(estimate.low <= truth <= estimate.high)

    assert np.mean(held) >= 0.9


def test_clusters_reach_into_every_part_of_the_curve():
    """Fifteen clusters of ten cases: a tenth of the cases is still of 15 clusters."""
    of_clusters = ClassSizes(150, 150, 15, 15)

    part = of_clusters.scaled(1.0, 0.2)

    assert (part.negatives, part.negative_units) == (30, 15)
    assert sizes(150, 150).scaled(1.0, 0.2) == sizes(150, 30)


def test_the_whole_curve_is_the_largest_part(rng):
    labels = rng.random(200) < 0.2
    scores = rng.normal(size=200) + labels

    whole = trueness.auc(labels, scores)
    part = trueness.partial_auc(labels, scores, fpr=(0, 1))

    assert (part.low, part.high) == pytest.approx((whole.low, whole.high), abs=1e-9)


def test_the_scale_of_mcclish_carries_the_interval_along(rng):
    labels = rng.random(200) < 0.2
    scores = rng.normal(size=200) + labels
    area = trueness.partial_auc(labels, scores, 0.2)

    corrected = trueness.partial_auc(labels, scores, 0.2, corrected=True)

    # McClish (1989): (1 + (area - chance) / (best - chance)) / 2
    for end, on_scale in ((area.low, corrected.low), (area.high, corrected.high)):
        assert on_scale == pytest.approx((1 + (end - 0.02) / (0.2 - 0.02)) / 2)


def test_variance_of_the_design_effect_of_uniform_placements():
    """Of an AUC of one half placements are uniform, with kurtosis 9/5."""
    sizes = ClassSizes(positives=10, negatives=30, positive_units=10, negative_units=30)

    result = roc_intervals._variance_of_design_effect(0.5, sizes)

    # Cramer (1946), eq. 27.4.2; the positives have 3/4 of the variance
    of_positives = 1.8 / 10 - 7 / 90
    of_negatives = 1.8 / 30 - 27 / 870
    expected = (3 / 4) ** 2 * of_positives + (1 / 4) ** 2 * of_negatives

    assert result == pytest.approx(expected)
