"""One verdict on calibration: its test, its error, its margin, its words."""

import math

import numpy as np
import pytest
from scipy.special import expit, logit
from scipy.stats import chi2

import trueness
from trueness import InputError, Tally, calibration_verdict


def draw_cases(n, seed, power=1.0):
    """Labels of known probabilities, and scores that are a power of these."""
    rng = np.random.default_rng(seed)
    p = rng.beta(2, 4, n)
    return (rng.random(n) < p).astype(int), p**power


def cox_p_value(y, p):
    """Likelihood ratio of intercept 0 and slope 1, by plain Newton steps."""
    regressors = np.stack([np.ones(p.size), logit(p)], axis=1)
    coefficients = np.array([0.0, 1.0])
    for _ in range(30):
        fitted = expit(regressors @ coefficients)
        information = (regressors.T * (fitted * (1 - fitted))) @ regressors
        coefficients += np.linalg.solve(information, regressors.T @ (y - fitted))

    def log_likelihood(q):
        return np.sum(np.log(np.where(y == 1, q, 1 - q)))

    free = log_likelihood(expit(regressors @ coefficients))
    return chi2.sf(2 * (free - log_likelihood(p)), 2)


def pearson_p_value(y, p):
    """Return Pearson's p-value, case by case, of bins with equal sums of p(1-p)."""
    order = np.argsort(p)
    label = y[order]
    probability = p[order]
    variance = probability * (1 - probability)

    # at most ten bins, each with a variance of five at least
    bins = min(10, int(variance.sum() / 5))
    middle = np.cumsum(variance) - variance / 2
    bin_of_case = np.floor(middle * bins / variance.sum()).astype(int)
    residual = np.bincount(bin_of_case, label - probability, bins)
    variance_of_bin = np.bincount(bin_of_case, variance, bins)
    return chi2.sf(np.sum(residual**2 / variance_of_bin), bins)


@pytest.mark.parametrize("seed", range(6))
def test_the_p_value_joins_cox_and_pearson_by_bonferroni(seed):
    labels, p = draw_cases(150 + 100 * seed, seed, power=1 + seed / 10)

    verdict = calibration_verdict(labels, p)

    expected = min(1, 2 * min(cox_p_value(labels, p), pearson_p_value(labels, p)))

    assert verdict.p_value == pytest.approx(expected, rel=1e-7)


@pytest.mark.parametrize("design", ["plain", "cluster", "weight"])
def test_one_p_and_one_error_whoever_asks(design):
    labels, p = draw_cases(400, 8, 0.8)
    rng = np.random.default_rng(1)
    options = {
        "plain": {},
        "cluster": {"cluster": rng.integers(0, 60, 400)},
        "weight": {"weight": rng.uniform(0.5, 2, 400)},
    }[design]
    tally = trueness.tally(labels, p, **options)

    verdict = calibration_verdict(tally)

    assert trueness.calibration_test(tally).p_value == verdict.p_value

    error = trueness.calibration_error(tally).debiased

    assert (error.value, error.low, error.high) == (
        verdict.error.value,
        verdict.error.low,
        verdict.error.high,
    )

    if design == "plain":
        gain = trueness.calibration_gain(tally, method="platt")
        assert gain.error_before.value == verdict.error.value


@pytest.mark.parametrize("factor", [0.99, 1.01])
def test_the_gate_and_the_verdict_agree_on_the_margin(factor):
    tally = trueness.tally(*draw_cases(3000, 4))
    margin = factor * calibration_verdict(tally).bound

    verdict = calibration_verdict(tally, margin=margin)
    gate = trueness.check(tally, [f"calibration_error <= {margin!r}"])

    within_margin = verdict.verdict in ("calibrated", "close")

    assert within_margin == bool(gate) == (factor > 1)


@pytest.mark.parametrize(
    ("n", "power", "code"),
    [
        (300, 1, "undecided"),
        (4000, 1, "calibrated"),
        (10**6, 0.98, "close"),
        (20_000, 0.7, "miscalibrated"),
    ],
)
def test_test_and_margin_decide(n, power, code):
    verdict = calibration_verdict(*draw_cases(n, 3, power))

    assert verdict.verdict == code
    assert (verdict.p_value < 0.05) == (code in ("close", "miscalibrated"))
    assert (verdict.bound <= verdict.margin) == (code in ("close", "calibrated"))
    assert str(verdict).splitlines()[0] == verdict.sentences[0]
    assert all(len(sentence.split()) <= 25 for sentence in verdict.sentences)


def test_a_slope_of_two_thirds_is_found_as_often_as_by_textbook_tests():
    rng = np.random.default_rng(21)
    rejected = {"joint": 0, "cox": 0}
    for _ in range(60):
        p = expit(rng.normal(0, 1.8, 400))
        labels = (rng.random(400) < expit(0.67 * logit(p))).astype(int)
        for method in rejected:
            p_value = trueness.calibration_test(labels, p, method=method).p_value
            rejected[method] += p_value < 0.05

    assert rejected["joint"] >= 0.85 * rejected["cox"]
    assert rejected["joint"] >= 48


@pytest.mark.parametrize("design", ["plain", "rare", "cluster"])
def test_calibrated_scores_are_rejected_in_one_of_twenty(design):
    rng = np.random.default_rng(17)
    p_values = []
    for _ in range(150):
        options = {}
        if design == "plain":
            p = rng.beta(2, 4, 300)
        elif design == "rare":
            p = rng.beta(0.6, 60, 1500).clip(1e-6)
        else:
            p = np.repeat(rng.beta(2, 4, 100), 4)
            options = {"cluster": np.repeat(np.arange(100), 4)}
        labels = (rng.random(p.size) < p).astype(int)
        p_values.append(calibration_verdict(labels, p, **options).p_value)

    # three standard errors of .05 in 150 samples
    assert np.mean(np.array(p_values) < 0.05) <= 0.105


def test_no_place_is_blamed_where_nothing_was_found():
    verdicts = [calibration_verdict(*draw_cases(300, seed)) for seed in range(30)]

    assert all(v.worst is None for v in verdicts if v.p_value >= 0.05)


def test_calibrated_is_said_with_the_number_of_cases_that_was_asked_for():
    few = calibration_verdict(*draw_cases(300, 3))

    assert few.verdict == "undecided"
    assert f"about {few.cases_needed:,.0f} such cases" in few.sentences[-1]

    n = int(few.cases_needed)
    codes = [calibration_verdict(*draw_cases(n, seed)).verdict for seed in range(40)]

    assert 0.6 <= codes.count("calibrated") / 40 <= 0.98


def test_a_smaller_margin_needs_more_cases():
    tally = trueness.tally(*draw_cases(1000, 3))

    wide = calibration_verdict(tally, margin=0.1)
    narrow = calibration_verdict(tally, margin=0.02)

    assert (wide.verdict, narrow.verdict) == ("calibrated", "undecided")
    assert narrow.cases_needed == pytest.approx(25 * wide.cases_needed, rel=0.1)


@pytest.mark.parametrize("margin", [0, 1, 5, -0.1, "wide"])
def test_a_margin_is_a_fraction(margin):
    with pytest.raises(InputError, match="margin"):
        calibration_verdict([0, 1], [0.5, 0.2], margin=margin)


def test_the_margin_of_a_rare_class_is_a_fifth_of_it():
    """Scores of .015 where one case in 100 is positive are not close."""
    tally = Tally([0.015], neg=[198_000], pos=[2_000])

    verdict = calibration_verdict(tally)

    assert verdict.margin == pytest.approx(0.002)
    assert verdict.verdict == "miscalibrated"
    assert calibration_verdict(tally, margin=0.01).verdict == "close"


def test_few_cases_with_high_scores_have_bins_of_their_own():
    """Of 20,000 rare cases forty are scored .3 and all positive, forty .9 and half."""
    rng = np.random.default_rng(1)
    score = np.concatenate([rng.beta(1, 400, 20_000), np.full(40, 0.3), [0.9] * 40])
    label = (rng.random(20_000) < score[:20_000]).astype(int)
    label = np.concatenate([label, np.ones(40, int), [0, 1] * 20])

    verdict = calibration_verdict(label, score)

    assert verdict.verdict == "miscalibrated"
    assert verdict.p_value < 1e-6
    assert verdict.worst.proportion.value > verdict.worst.score + 0.3


def test_what_was_impossible_has_happened():
    verdict = calibration_verdict(Tally([1.0, 0.0], neg=[0, 5000], pos=[5000, 1]))

    assert verdict.p_value == 0
    assert verdict.verdict == "close"


def test_certain_and_right_is_no_proof():
    verdict = calibration_verdict(Tally([1.0, 0.0], neg=[0, 20], pos=[20, 0]))

    assert verdict.verdict == "undecided"
    assert math.isnan(verdict.p_value)


def test_a_cluster_of_copies_is_one_case():
    labels, p = draw_cases(400, 5, 0.8)
    copies = [np.repeat(column, 20) for column in (labels, p, np.arange(400))]

    once = calibration_verdict(labels, p)
    clustered = calibration_verdict(copies[0], copies[1], cluster=copies[2])
    ignored = calibration_verdict(copies[0], copies[1])

    assert clustered.error.value == pytest.approx(once.error.value, abs=0.01)
    assert clustered.bound == pytest.approx(once.bound, abs=0.015)
    assert math.log10(clustered.p_value) == pytest.approx(
        math.log10(once.p_value), abs=1
    )
    assert ignored.p_value < clustered.p_value / 100


def test_a_wide_place_is_said_by_its_ends():
    """300 cases at .97, two of them positive, beside few others with high scores."""
    rng = np.random.default_rng(1)
    score = np.r_[0.3 * rng.random(20_000) ** 6, np.linspace(0.3, 0.7, 40)]
    label = np.r_[rng.random(score.size) < score, np.arange(300) < 2]
    tally = trueness.tally(label, np.r_[score, np.full(300, 0.97)])

    worst = calibration_verdict(tally).worst

    assert worst.high == 0.97

    if worst.low < 0.97:
        assert f"from {worst.low:.2f} to 0.97" in worst.sentence
    else:
        assert "scored about 0.97" in worst.sentence
