"""Published tables of tests without a gold standard, with published answers."""

import itertools
import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from scipy.optimize import minimize

import trueness
from no_gold import table
from trueness.nogold.model import read_model
from trueness.nogold.patterns import parameter_labels, read_patterns

JAGS = json.loads(
    (Path(__file__).parents[1] / "reference" / "latent_jags.json").read_text()
)
WITH_EFFECT = "hiv_alvord1988"


@pytest.mark.parametrize("name", sorted(JAGS))
def test_posteriors_are_those_of_jags(name):
    """Models written in BUGS, by tests/reference/latent_jags.py."""
    dependence = "shared" if name == WITH_EFFECT else "none"
    # fewer draws, and long tails
    tolerance = 0.2 if dependence == "shared" else 0.04

    post = trueness.latent_class(table(name), rng=0, dependence=dependence)

    summary = post.summary()
    means = np.hstack(list(post.flat.values())).mean(axis=0)
    for i, label in enumerate(parameter_labels(post.model.patterns)):
        name_in_bugs = _name_in_bugs(label, post)
        expected_mean, expected_sd, error = JAGS[name][name_in_bugs]
        mean = 1 - means[i] if name_in_bugs.startswith("beta") else means[i]
        assert abs(mean - expected_mean) < 4 * np.hypot(error, summary["mcse"][i])
        # a standard deviation from m independent draws is known to 1 / sqrt(2 m)
        scatter = error / expected_sd / np.sqrt(2)
        assert summary["sd"][i] == pytest.approx(
            expected_sd, rel=tolerance + 4 * scatter
        )


def _name_in_bugs(label, post):
    """Turn sensitivity[B] into alpha[2]."""
    parameter, _, name = label.rstrip("]").partition("[")
    if parameter == "prevalence":
        if len(post.populations) == 1:
            return "phi"
        return f"phi[{post.populations.index(name) + 1}]"
    letter = {"sensitivity": "alpha", "specificity": "beta"}[parameter]
    return f"{letter}[{post.names.index(name) + 1}]"


def maximum_likelihood(name, sigmas=0):
    """Climb the likelihood itself, from several starts: slow and simple.

    With one sigma, it is that of both classes. Return the largest log likelihood, and
    the parameters there.
    """
    patterns = read_patterns(table(name))
    tests = len(patterns.names)
    model = replace(read_model(patterns, None, False), shared=sigmas > 0)
    size = 1 + 2 * tests + sigmas

    def coordinates(points):
        """Repeat a single sigma, for both classes."""
        if sigmas == 1:
            return np.column_stack([points, points[:, -1]])
        return points

    def loss_and_slope(point):
        steps = 1e-5 * np.eye(size)
        points = np.vstack([point, point + steps, point - steps])
        _, log_cells = model.log_cells(coordinates(points))
        loss = -log_cells @ patterns.cells.counts
        return loss[0], (loss[1 : size + 1] - loss[size + 1 :]) / 2e-5

    solutions = []
    for phi, alpha in itertools.product((-1.3, -0.5, 0.2), (0.2, 0.8)):
        start = np.r_[
            phi, np.full(tests, alpha), np.full(tests, -1.2), np.zeros(sigmas)
        ]
        solutions.append(minimize(loss_and_slope, start, jac=True, method="L-BFGS-B"))
    best = min(solutions, key=lambda solution: solution.fun)
    return -best.fun, model.natural(coordinates(best.x[None]))


def test_pleural_thickening_as_published():
    """Dayton 1998, Table 3.2, by LEM: three readers, log likelihood -891.14280."""
    log_likelihood, maximum = maximum_likelihood("pleural_dayton1998")

    assert log_likelihood == pytest.approx(-891.14280, abs=1e-4)
    parameters = np.hstack(list(maximum.values()))[0]
    expected = [0.0545, 0.7490, 0.6434, 0.7650, 0.9900, 0.9646, 0.9891]
    # as far as the EM steps of that program went: theirs end before the maximum
    assert parameters == pytest.approx(expected, abs=5e-4)


def test_pathologists_as_published():
    """Agresti 2002, Table 13.2; the log likelihood is in the manual of poLCA."""
    log_likelihood, _ = maximum_likelihood("pathologists_holmquist1967")

    assert log_likelihood == pytest.approx(-317.2568, abs=1e-3)


@pytest.mark.parametrize(("sigmas", "expected"), [(0, 15021.6), (1, 14944.7)])
def test_dentists_as_published(sigmas, expected):
    """BIC of two classes, and with one sigma for both (randomLCA)."""
    cases = table("dentists_espeland1989").n

    log_likelihood, _ = maximum_likelihood("dentists_espeland1989", sigmas)

    bic = -2 * log_likelihood + (11 + sigmas) * np.log(cases)
    assert bic == pytest.approx(expected, abs=0.06)


@pytest.mark.parametrize("name", ["dentists_espeland1989", "hiv_alvord1988"])
def test_errors_known_to_go_together_are_found(name):
    """Qu, Tan, Kutner 1996; Albert, Dodd 2004: models that fit alike differ."""
    post = trueness.latent_class(table(name), draws=1000)

    assert not post.identified
    assert post.log_bayes_factor > 3
