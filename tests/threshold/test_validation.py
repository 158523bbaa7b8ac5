"""Validated thresholds: resampling on counts, optimism against the truth, intervals."""

import math

import numpy as np
import pytest
from scipy.stats import norm

import trueness
from trueness import NotEnoughCases, Tally, validate_threshold
from trueness.counts.resampling import draw

HAND = Tally([4, 3, 2, 1], pos=[40, 30, 20, 10], neg=[10, 20, 30, 40])


def binormal(rng, n, share, shift):
    y = rng.random(n) < share
    y[:2] = False, True
    return y, rng.normal(size=n) + shift * y


def population(threshold, share, shift, metric):
    tpr, fpr, n = norm.sf(threshold - shift), norm.sf(threshold), 1e6
    p, q = n * share, n * (1 - share)
    c = trueness.Confusion(p * tpr, q * fpr, p * (1 - tpr), q * (1 - fpr))
    return float(trueness.metric(metric)(c))


@pytest.fixture(scope="module")
def validation_of_f1():
    return validate_threshold(HAND, "f1", "recall >= 0.6", rng=3, replicates=300)


def test_a_validation_is_about_the_best_threshold(validation_of_f1):
    best = trueness.best_threshold(HAND, "f1", "recall >= 0.6")

    assert validation_of_f1.choice == best
    assert validation_of_f1.value == best.value


def test_parts_of_a_validation(validation_of_f1):
    validation = validation_of_f1

    assert validation.in_bag.shape == validation.out_of_bag.shape
    assert validation.optimism == validation.value - validation.corrected.value
    assert 0.5 < validation.holds["recall >= 0.6"] <= 1
    assert {"thresholds", "corrected", "metrics"} <= validation.to_dict().keys()


def test_intervals_of_a_validation_hold_their_values(validation_of_f1):
    threshold = validation_of_f1.threshold
    assert threshold.low <= threshold.value <= threshold.high
    assert set(trueness.METRICS) <= set(validation_of_f1.metrics)

    corrected = {"corrected": validation_of_f1.corrected}
    for name, estimate in (corrected | {**validation_of_f1.metrics}).items():
        assert estimate.low <= estimate.value <= estimate.high, name
        assert estimate.low < estimate.high, name


@pytest.mark.parametrize("sample", ["by hand", "random"])
def test_each_choice_is_that_of_the_sample_alone(sample):
    """The repeated choice is best_threshold on a tally of the drawn cases."""
    tally = HAND
    if sample == "random":
        tally = trueness.tally(*binormal(np.random.default_rng(2), 60, 0.3, 1.0))

    validation = validate_threshold(tally, "f1", "recall >= 0.3", rng=8, replicates=40)

    values = []
    counts = np.concatenate([tally.pos, tally.neg])
    for drawn in draw(counts, 40, np.random.default_rng(8)):
        pos, neg = np.split(drawn, 2)
        try:
            point = trueness.best_threshold(
                Tally(tally.score, neg, pos), "f1", "recall >= 0.3"
            )
        except (trueness.Infeasible, NotEnoughCases):
            continue
        values.append(point.value)
    assert validation.in_bag == pytest.approx(values)


def test_ends_of_the_scale_and_costs():
    """Nothing flagged is a threshold; costs are of all cases; no interval is empty."""
    tally = Tally([2, 1], pos=[2, 1], neg=[10, 300])
    v = validate_threshold(tally, "accuracy", rng=1, replicates=100)

    assert v.choice.threshold == v.threshold.high == math.inf

    v = validate_threshold(HAND, minimize="cost(fp=1, fn=1)", rng=4, replicates=200)

    assert v.value == 60
    assert 58 < v.corrected.value < 70
    assert v.optimism < 1

    perfect = Tally([2, 1], pos=[20, 0], neg=[0, 30])
    v = validate_threshold(perfect, "f1", rng=2, replicates=50)

    assert v.value == v.corrected.value == 1
    assert all(e.low < e.high for e in v.metrics.values())


def test_every_number_of_an_answer_is_for_one_prevalence():
    v = validate_threshold(HAND, "youden", prevalence=0.1, rng=1, replicates=20)

    assert v.choice.metrics["precision"].value == pytest.approx(0.07 / (0.07 + 0.27))

    recall, fpr, precision = (
        v.metrics[k].value for k in ("recall", "fpr", "precision")
    )
    result = 0.1 * recall

    assert precision == pytest.approx(result / (result + 0.9 * fpr))
    assert v.metrics["youden"] == v.corrected
    assert v.prevalence == "0.1"
    assert validate_threshold(HAND, rng=1, replicates=20).prevalence.startswith("0.5")


@pytest.mark.parametrize(
    ("metric", "n", "share", "shift"),
    [("accuracy", 60, 0.4, 1.0), ("f1", 120, 0.2, 1.2), ("youden", 100, 0.3, 1.0)],
)
def test_intervals_hold_the_truth_of_the_chosen_rule(metric, n, share, shift):
    """Of the chosen rule on new cases, in samples of a population that is known."""
    rng = np.random.default_rng(31)
    runs = 80
    corrected_covers = 0
    covers = {name: 0 for name in ("recall", "specificity", "precision", "accuracy")}
    apparent_bias = []
    corrected_bias = []
    for _ in range(runs):
        tally = trueness.tally(*binormal(rng, n, share, shift))

        validation = validate_threshold(tally, metric, rng=rng, replicates=60)

        threshold = validation.choice.threshold
        truth = population(threshold, share, shift, metric)
        corrected = validation.corrected
        corrected_covers += corrected.low <= truth <= corrected.high
        apparent_bias.append(validation.value - truth)
        corrected_bias.append(corrected.value - truth)
        for name in covers:
            estimate = validation.metrics.get(name)
            true_value = population(threshold, share, shift, name)
            undefined = estimate is None
            covers[name] += undefined or estimate.low <= true_value <= estimate.high

    # a share of 0.95 of 80 has a standard error of 0.024
    assert min(corrected_covers, *covers.values()) / runs > 0.87

    # the sample flatters by some hundredths; what is left is within noise of zero
    standard_error = np.std(corrected_bias) / math.sqrt(runs)
    largest = min(0.015 + 3 * standard_error, np.mean(apparent_bias) / 2)

    assert np.mean(apparent_bias) > 0.04
    assert abs(np.mean(corrected_bias)) < largest


def test_an_estimated_prevalence_widens_the_intervals():
    options = {"rng": 1, "replicates": 50}
    estimated = trueness.Estimate(0.2, 0.1, 0.35)

    of_known = validate_threshold(HAND, "f1", prevalence=0.2, **options)
    of_estimate = validate_threshold(HAND, "f1", prevalences=estimated, **options)
    of_range = validate_threshold(HAND, "f1", prevalences=(0.1, 0.35), **options)

    known, estimate, worst_case = (
        validation.metrics["precision"]
        for validation in (of_known, of_estimate, of_range)
    )
    assert of_estimate.choice.threshold == of_known.choice.threshold
    assert estimate.high - estimate.low > 1.5 * (known.high - known.low)
    assert worst_case.low < estimate.low
    assert worst_case.high > estimate.high


def test_clusters_are_drawn_whole():
    """Copies of a case that belong together are no more than that case."""
    label, score = binormal(np.random.default_rng(3), 200, 0.4, 1.2)
    case = np.arange(200)
    copied_label = np.repeat(label, 4)
    copied_score = np.repeat(score, 4)
    options = {"maximize": "f1", "replicates": 200}

    def width(*data, **design):
        corrected = validate_threshold(*data, **design, **options).corrected
        return corrected.high - corrected.low

    expected = width(label, score)
    of_clusters = width(copied_label, copied_score, cluster=np.repeat(case, 4))
    of_copies = width(copied_label, copied_score)

    assert of_clusters == pytest.approx(expected, rel=0.15)
    assert of_copies < 0.7 * expected


def test_case_control_cases_know_no_prevalence():
    for known in (None, 0.1):
        options = {"sampling": "case-control", "prevalence": known}
        v = validate_threshold(HAND, "youden", replicates=20, **options)
        assert "recall" in v.metrics
        assert ("precision" in v.metrics) == (known is not None)


def test_repeated_choices_lie_where_new_samples_put_them():
    """The bootstrap spread of the threshold against that of fresh samples."""
    rng = np.random.default_rng(9)
    chosen = [
        trueness.best_threshold(
            trueness.tally(*binormal(rng, 1000, 0.3, 1.0)), "youden"
        )
        for _ in range(60)
    ]
    fresh = np.std([p.threshold for p in chosen])
    tally = trueness.tally(*binormal(rng, 1000, 0.3, 1.0))
    v = validate_threshold(tally, "youden", rng=rng, replicates=300)

    assert fresh / 2 < v.threshold.se < 2 * fresh


def test_clusters_of_one_are_validated_as_cases():
    label, score = binormal(np.random.default_rng(3), 200, 0.4, 1.2)
    options = {"maximize": "f1", "replicates": 200}

    clustered = validate_threshold(label, score, cluster=np.arange(200), **options)

    assert clustered.corrected == validate_threshold(label, score, **options).corrected


@pytest.mark.parametrize("scale", [2.0**1020, 2.0**-1020])
def test_scores_of_any_size_are_validated_alike(scale):
    rng = np.random.default_rng(5)
    label = rng.integers(0, 2, 60)
    score = np.clip((label + rng.normal(size=60)) / 5, -1, 1)

    validation = validate_threshold(trueness.tally(label, score), "f1", rng=1)
    of_scaled = validate_threshold(trueness.tally(label, score * scale), "f1", rng=1)

    assert of_scaled.value == validation.value
    scaled_error = validation.threshold.se * scale
    assert of_scaled.threshold.se == pytest.approx(scaled_error, rel=0.01)


def test_a_variance_that_is_not_known_narrows_nothing():
    rng = np.random.default_rng(1)
    labels = np.r_[1, 1, 1, np.zeros(27)].astype(int)
    score = np.round(labels * 0.3 + rng.normal(0.4, 0.2, 30), 2)
    weight = np.r_[1e8, np.ones(29)]  # one case decides everything
    tally = trueness.tally(labels, score, weight=weight)
    e = trueness.validate_threshold(tally, replicates=30).metrics["accuracy"]

    assert e.high - e.low > 0.98
    assert np.isfinite(e.se)


def test_a_class_without_an_error_has_limits_of_its_own_cases():
    labels = np.repeat([1, 0], [20, 2000])
    score = np.concatenate([np.linspace(0.6, 0.9, 20), np.linspace(0.01, 0.5, 2000)])
    result = trueness.validate_threshold(labels, score, maximize="f1").metrics
    at = trueness.at_threshold(labels, score, 0.55).metrics["specificity"]

    assert result["specificity"].low == pytest.approx(at.low)
    assert result["precision"].low < 0.85  # rests on the few that are flagged
