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
    post = trueness.latent_class(table(name), rng=0, dependence=dependence)
    s, flat = post.summary(), np.hstack(list(post.flat.values())).mean(axis=0)
    labels = [_as_in_bugs(n, post) for n in parameter_labels(post.model.patterns)]
    for i, label in enumerate(labels):
        mean, sd, error = JAGS[name][label]
        ours = 1 - flat[i] if label.startswith("beta") else flat[i]
        assert abs(ours - mean) < 4 * np.hypot(error, s["mcse"][i]), label
        # a standard deviation from m independent draws is known to 1 / sqrt(2 m)
        scatter = error / sd / np.sqrt(2)
        far = 0.2 if dependence == "shared" else 0.04  # fewer draws, long tails
        assert s["sd"][i] == pytest.approx(sd, rel=far + 4 * scatter), label


def _as_in_bugs(label, post):
    """Turn sensitivity[B] into alpha[2]."""
    word, _, name = label.rstrip("]").partition("[")
    if word == "prevalence":
        at = post.populations.index(name) + 1 if name else 1
        return f"phi[{at}]" if len(post.populations) > 1 else "phi"
    letter = {"sensitivity": "alpha", "specificity": "beta"}[word]
    return f"{letter}[{post.names.index(name) + 1}]"


def most_likely(name, spreads=0):
    """Climb the likelihood itself, from several starts: slow and simple."""
    patterns = read_patterns(table(name))
    m = replace(read_model(patterns, None, False), shared=spreads > 0)
    size = 1 + 2 * len(patterns.names) + spreads

    def down(v):
        points = np.vstack([v, v + 1e-5 * np.eye(size), v - 1e-5 * np.eye(size)])
        if spreads == 1:  # the same one twice
            points = np.column_stack([points, points[:, -1]])
        f = -m.log_cells(points)[1] @ m.patterns.cells.counts
        return f[0], (f[1 : size + 1] - f[size + 1 :]) / 2e-5

    k, found = len(patterns.names), []
    for phi, high in itertools.product((-1.3, -0.5, 0.2), (0.2, 0.8)):
        start = np.r_[phi, np.full(k, high), np.full(k, -1.2), np.full(spreads, 0.0)]
        found.append(minimize(down, start, jac=True, method="L-BFGS-B"))
    best = min(found, key=lambda f: f.fun)
    points = (
        np.column_stack([best.x[None], best.x[None, -1:]]) if spreads else best.x[None]
    )
    return -best.fun, m.natural(points)


def test_pleural_thickening_as_published():
    """Dayton 1998, Table 3.2, by LEM: three readers, log likelihood -891.14280."""
    height, m = most_likely("pleural_dayton1998")
    assert height == pytest.approx(-891.14280, abs=1e-4)
    found = np.hstack([m["prevalence"], m["sensitivity"], m["specificity"]])[0]
    expected = [0.0545, 0.7490, 0.6434, 0.7650, 0.9900, 0.9646, 0.9891]
    # as far as the EM steps of that program went: theirs end before the maximum
    assert found == pytest.approx(expected, abs=5e-4)


def test_pathologists_as_published():
    """Agresti 2002, Table 13.2; the log likelihood is in the manual of poLCA."""
    height, _ = most_likely("pathologists_holmquist1967")
    assert height == pytest.approx(-317.2568, abs=1e-3)


def test_dentists_as_published():
    """BIC 15021.6 of two classes, 14944.7 with one spread for both (randomLCA)."""
    n = table("dentists_espeland1989").n
    for spreads, expected in ((0, 15021.6), (1, 14944.7)):
        height, _ = most_likely("dentists_espeland1989", spreads)
        bic = -2 * height + (11 + spreads) * np.log(n)
        assert bic == pytest.approx(expected, abs=0.06)


@pytest.mark.parametrize("name", ["dentists_espeland1989", "hiv_alvord1988"])
def test_errors_known_to_go_together_are_found(name):
    """Qu, Tan, Kutner 1996; Albert, Dodd 2004: models that fit alike differ."""
    post = trueness.latent_class(table(name), draws=1000)
    assert not post.identified
    assert post.log_bayes_factor > 3
