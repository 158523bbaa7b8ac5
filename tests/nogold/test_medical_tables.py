"""Published tables of tests without a gold standard, with published answers."""

import json
from pathlib import Path

import numpy as np
import pytest
from scipy.optimize import minimize

import trueness
from no_gold import table
from trueness.nogold.dependent import Dependent
from trueness.nogold.model import parameter_labels, read_patterns, read_prior
from trueness.nogold.random_effect import RandomEffect

JAGS = json.loads(
    (Path(__file__).parents[1] / "reference" / "latent_jags.json").read_text()
)
WITH_EFFECT = "hiv_alvord1988"


@pytest.mark.parametrize("name", sorted(JAGS))
def test_posteriors_are_those_of_jags(name):
    """Models written in BUGS, by tests/reference/latent_jags.py."""
    dependence = "random effect" if name == WITH_EFFECT else "none"
    post = trueness.latent_class(table(name), rng=0, draws=4000, dependence=dependence)
    s = post.summary()
    labels = [_as_in_bugs(n, post) for n in parameter_labels(post.model.patterns)]
    for i, label in enumerate(labels):
        mean, sd, error = JAGS[name][label]
        ours = 1 - s["mean"][i] if label.startswith("beta") else s["mean"][i]
        assert abs(ours - mean) < 4 * np.hypot(error, s["mcse"][i]), label
        # a standard deviation from m independent draws is known to 1 / sqrt(2 m)
        scatter = error / sd / np.sqrt(2)
        assert s["sd"][i] == pytest.approx(sd, rel=0.04 + 4 * scatter), label


def _as_in_bugs(label, post):
    """Turn sensitivity[B] into alpha[2]."""
    word, _, name = label.rstrip("]").partition("[")
    if word == "prevalence":
        at = post.populations.index(name) + 1 if name else 1
        return f"phi[{at}]" if len(post.populations) > 1 else "phi"
    letter = {"sensitivity": "alpha", "specificity": "beta"}[word]
    return f"{letter}[{post.names.index(name) + 1}]"


def test_pleural_thickening_as_published():
    """Dayton 1998, Table 3.2, by LEM: three readers, log likelihood -891.14280."""
    m = trueness.latent_maximum(table("pleural_dayton1998"))
    assert m.log_likelihood == pytest.approx(-891.14280, abs=1e-5)
    found = [m.prevalence, *m.sensitivity.values(), *m.specificity.values()]
    expected = [0.0545, 0.7490, 0.6434, 0.7650, 0.9900, 0.9646, 0.9891]
    # as far as the EM steps of that program went: theirs end before the maximum
    assert [e.value for e in found] == pytest.approx(expected, abs=2e-4)
    # three readers: nothing is left to check independent errors with
    post = trueness.latent_class(table("pleural_dayton1998"), draws=500)
    assert not post.identified
    assert any("cannot show whether they are" in n for n in post.notes)


def test_pathologists_as_published():
    """Agresti 2002, Table 13.2; the log likelihood is in the manual of poLCA."""
    m = trueness.latent_maximum(table("pathologists_holmquist1967"))
    assert m.log_likelihood == pytest.approx(-317.2568, abs=5.1e-5)
    assert m.degrees_of_freedom == 2**7 - 1 - 15


# fitted counts of two classes in the example of the R package randomLCA
DENTISTS = """1836.3 830.3 61.9 49.6 28.6 47.5 4.0 35.2 213.9 152.2 12.1 61.0 11.2 91.6
8.1 86.4 21.2 25.2 2.1 16.1 2.5 24.7 2.2 23.5 6.0 42.0 3.7 39.3 5.7 61.1 5.4 58.4"""


def test_dentists_as_published():
    """Two classes: BIC 15021.6 (randomLCA), and each fitted count."""
    panel = table("dentists_espeland1989")
    m = trueness.latent_maximum(panel)
    bic = -2 * m.log_likelihood + 11 * np.log(panel.n)
    assert bic == pytest.approx(15021.6, abs=0.051)
    sens, spec = (
        np.array([e.value for e in side.values()])
        for side in (m.sensitivity, m.specificity)
    )
    rows = panel.rows[np.lexsort(panel.rows.T[::-1])]  # 00000 first, as printed
    a, b = (np.prod(np.where(rows, p, 1 - p), axis=1) for p in (sens, 1 - spec))
    phi = m.prevalence.value
    fitted = panel.n * (phi * a + (1 - phi) * b)
    expected = np.array(DENTISTS.split(), float)
    assert fitted == pytest.approx(expected, abs=0.11)


def test_dentists_with_a_random_effect_as_published():
    """One spread for both classes and all dentists: BIC 14944.7 (randomLCA)."""
    panel = table("dentists_espeland1989")
    patterns = read_patterns(panel)
    prior = read_prior(None, patterns, ordered=False)
    model = Dependent(patterns, prior, RandomEffect())

    def deviance(v):
        steps = np.vstack([v, v + 1e-5 * np.eye(v.size), v - 1e-5 * np.eye(v.size)])
        steps = np.column_stack([steps, steps[:, -1]])  # the same spread twice
        f = -2 * model.log_likelihood(steps)
        half = (len(f) - 1) // 2
        return f[0], (f[1 : half + 1] - f[half + 1 :]) / 2e-5

    start = np.array([-0.8, -0.2, 0.5, 0.2, 0, 1.3, -2, -1.2, -2, -1.8, -0.5, 0.0])
    found = minimize(deviance, start, jac=True, method="L-BFGS-B")
    bic = found.fun + 12 * np.log(panel.n)
    assert bic == pytest.approx(14944.7, abs=0.051)


@pytest.mark.parametrize("name", ["dentists_espeland1989", "hiv_alvord1988"])
def test_errors_known_to_go_together_are_found(name):
    """Qu, Tan, Kutner 1996; Albert, Dodd 2004: models that fit alike differ."""
    post = trueness.latent_class(table(name), draws=300)
    assert not post.identified
    assert any("make the same errors" in n for n in post.notes)
