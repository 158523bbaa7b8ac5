"""Bias and error of estimators, against a sum over all samples and a simulation."""

import numpy as np
import pytest
from scipy.stats import binom

import trueness
from trueness.trees import estimator_error


@pytest.mark.parametrize("method", ["mle", "emle", "blend"])
@pytest.mark.parametrize(("n", "p"), [(5, 0.6), (8, 0.9), (30, 0.51)])
def test_bias_and_error_are_sums_over_all_samples(method, n, p):
    y = np.arange(n + 1)
    mass = binom(n, p).pmf(y)
    estimate = [trueness.top_probability(int(k), n, method).value for k in y]

    error = estimator_error(n, p, method=method)

    assert error.bias == pytest.approx(mass @ estimate - p)

    squared = mass @ (np.array(estimate) - p) ** 2

    assert error.mean_squared_error == pytest.approx(squared)


@pytest.mark.parametrize("quantity", ["confidence", "utility"])
def test_bias_of_a_level_by_simulation(quantity, rng):
    n, p, draws = 20, 0.7, 20_000
    level = {"confidence": trueness.confidence_level, "utility": trueness.utility_level}
    y = rng.binomial(n, p, draws)
    estimates = level[quantity](n, np.maximum(y, n - y) / n)

    error = estimator_error(n, p, method="mle", quantity=quantity)

    standard_error = error.standard_deviation / np.sqrt(draws)
    simulated = estimates.mean() - level[quantity](n, p)

    assert abs(simulated - error.bias) < 4 * standard_error


def test_the_classes_may_be_exchanged():
    assert estimator_error(9, 0.3).bias == pytest.approx(estimator_error(9, 0.7).bias)


def test_a_single_case_has_no_bias_to_speak_of():
    with pytest.raises(trueness.NotEnoughCases, match="at least two cases"):
        estimator_error(1, 0.7)
