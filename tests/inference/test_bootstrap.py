"""The bootstrap of any statistic: against SciPy, formulas and simulation."""

import numpy as np
import pytest
from scipy import stats

import trueness
from trueness.inference import bootstrap


def mean_of_positives(tally):
    return float(tally.score @ tally.pos / tally.n_pos)


def median_of_positives(tally):
    """The middle positive case, by whole cases."""
    below = np.cumsum(tally.pos[::-1])
    return float(tally.score[::-1][np.searchsorted(below, tally.n_pos / 2)])


def positives_only(scores):
    return trueness.tally(np.ones(scores.size), scores)


ANY_NUMBER = {"value_range": (-np.inf, np.inf)}


def test_scipy_has_the_same_percentiles(rng):
    scores = rng.exponential(size=60)

    ours = trueness.estimate(
        positives_only(scores), mean_of_positives, replicates=4000, **ANY_NUMBER
    )

    expected = stats.bootstrap(
        (scores,), np.mean, method="percentile", n_resamples=4000
    )

    assert ours.method == "bootstrap"
    assert ours.low == pytest.approx(expected.confidence_interval.low, abs=0.03)
    assert ours.high == pytest.approx(expected.confidence_interval.high, abs=0.03)
    assert ours.se == pytest.approx(expected.standard_error, rel=0.06)


def test_the_median_is_held_where_the_jackknife_fails(rng):
    held = {"bootstrap": 0, "jackknife": 0}
    for _ in range(60):
        tally = positives_only(rng.normal(size=80))
        for method in held:
            estimate = trueness.estimate(
                tally, median_of_positives, method=method, replicates=200, **ANY_NUMBER
            )
            held[method] += estimate.low <= 0 <= estimate.high

    assert held["bootstrap"] >= 52
    assert held["jackknife"] < 52


def test_clusters_are_drawn_less_one(rng):
    cluster = np.repeat(np.arange(8), 5)
    scores = rng.normal(size=8)[cluster]

    estimate = trueness.estimate(
        np.ones(40),
        scores,
        statistic=mean_of_positives,
        cluster=cluster,
        replicates=4000,
        **ANY_NUMBER,
    )

    # Rao and Wu (1988): unbiased, where 8 of 8 clusters would have 7/8 of the variance
    means = scores[::5]

    assert estimate.se == pytest.approx(means.std(ddof=1) / np.sqrt(8), rel=0.06)


def test_weighted_cases(rng):
    scores = rng.normal(size=300)
    weight = np.exp(0.5 * rng.normal(size=300))

    estimate = trueness.estimate(
        np.ones(300), scores, statistic=mean_of_positives, weight=weight, **ANY_NUMBER
    )

    residuals = weight * (scores - np.average(scores, weights=weight))
    by_hand = np.sqrt(residuals @ residuals) / weight.sum()

    assert estimate.se == pytest.approx(by_hand, rel=0.12)


def test_the_design_decides_whether_class_sizes_vary(rng):
    labels = np.repeat([1, 0], [30, 70])
    tally = trueness.tally(labels, labels)

    def prevalence(cases):
        return cases.n_pos / (cases.n_pos + cases.n_neg)

    cohort = trueness.estimate(tally, prevalence)
    fixed = trueness.estimate(tally, prevalence, sampling="case-control")

    assert cohort.se == pytest.approx(np.sqrt(0.3 * 0.7 / 100), rel=0.1)
    assert fixed.method == "Wilson 1927"  # nothing varies


@pytest.mark.parametrize("design", ["plain", "weight", "cluster"])
def test_many_cases_are_drawn_from_parts(rng, monkeypatch, design):
    n = 4000
    labels = rng.random(n) < 0.5
    scores = rng.normal(size=n) + labels
    options = {
        "plain": {},
        "weight": {"weight": np.exp(0.3 * rng.normal(size=n))},
        "cluster": {"cluster": np.arange(n) // 2},
    }[design]
    tally = trueness.tally(labels, scores, **options)
    whole = trueness.estimate(tally, mean_of_positives, replicates=500, **ANY_NUMBER)

    monkeypatch.setattr(bootstrap, "_MAX_WHOLE", 500)
    parts = trueness.estimate(tally, mean_of_positives, replicates=500, **ANY_NUMBER)

    assert parts.value == whole.value
    assert parts.se == pytest.approx(whole.se, rel=0.15)
    assert parts.low == pytest.approx(whole.low, abs=whole.se)


def test_an_analysis_keeps_its_own_interval(rng):
    labels = rng.random(80) < 0.4
    tally = trueness.tally(labels, rng.normal(size=80) + labels)

    estimate = trueness.estimate(tally, trueness.auc)

    own = trueness.auc(tally)

    assert (estimate.value, estimate.low, estimate.high) == (
        own.value,
        own.low,
        own.high,
    )


def test_undefined_samples_are_said(rng):
    tally = trueness.tally([1, 1, 0, 0, 0, 0, 0, 0, 0, 0], np.arange(10.0))

    def mean_or_error(cases):
        if not cases.n_pos:
            raise trueness.NotEnoughCases("needs positives")
        return mean_of_positives(cases)

    estimate = trueness.estimate(tally, mean_or_error, **ANY_NUMBER)

    assert "undefined in 1" in estimate.notes[-1]  # .8^10 of them: 10.7 %


def test_errors():
    tally = trueness.tally([0, 1], [0, 1])

    with pytest.raises(trueness.InputError, match="method must be one of"):
        trueness.estimate(tally, mean_of_positives, method="t")
    with pytest.raises(trueness.InputError, match="replicates"):
        trueness.estimate(tally, mean_of_positives, replicates=5)


@pytest.mark.parametrize(
    ("units", "size"),
    # n^0.7 (Kleiner et al. 2014), at least 10,000, at most all
    [(9_000, 9_000), (20_000, 10_000), (10**6, 15_849), (10**8, 398_108)],
)
def test_size_of_a_part(units, size):
    assert bootstrap._part_size(units) == size


def test_units_of_weighted_cases_are_the_rows_that_hold_some():
    labels, scores = [0, 0, 0, 1, 1], [1, 2, 2, 3, 4]
    plain = trueness.tally(labels, scores)
    weighted = trueness.tally(labels, scores, weight=[2, 1, 3, 1.5, 1])

    assert bootstrap._class_units(plain) == (3, 2)
    # negatives at 1 and 2, positives at 3 and 4
    assert bootstrap._class_units(weighted) == (2, 2)
