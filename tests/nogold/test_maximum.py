"""Maximum likelihood of latent classes, and its profile intervals."""

from itertools import product

import numpy as np
import pytest
from scipy.optimize import brentq
from scipy.stats import binom, chi2

import trueness
from no_gold import table
from trueness.nogold.model import Independent, read_patterns, read_prior

DROP = chi2.ppf(0.95, 1) / 2  # of the log likelihood, at the ends of an interval


def test_hui_walter_maximum_as_published():
    """Hui, Walter 1980, Table 3: four digits."""
    m = trueness.latent_maximum(table("huiwalter1980_tuberculin"))
    assert m.prevalence["pop1"].value == pytest.approx(0.0268, abs=5e-5)
    assert m.prevalence["pop2"].value == pytest.approx(0.7168, abs=5e-5)
    assert 1 - m.sensitivity["mantoux"].value == pytest.approx(0.0339, abs=5e-5)
    assert 1 - m.sensitivity["tine"].value == pytest.approx(0.0312, abs=5e-5)
    assert 1 - m.specificity["mantoux"].value == pytest.approx(0.0067, abs=5e-5)
    assert 1 - m.specificity["tine"].value == pytest.approx(0.0159, abs=5e-5)
    assert m.deviance == pytest.approx(0, abs=1e-5)
    assert m.degrees_of_freedom == 0
    assert m.converged


def test_maximum_with_labels_is_a_proportion():
    rows = [[1, 1], [1, 0], [0, 1], [0, 0]]
    p = trueness.Panel(["A", "B"], rows, pos=[30, 20, 5, 5], neg=[2, 8, 10, 40])
    m = trueness.latent_maximum(p)
    assert m.prevalence.value == pytest.approx(60 / 120, abs=1e-6)
    assert m.sensitivity["A"].value == pytest.approx(50 / 60, abs=1e-6)
    assert m.sensitivity["A"].sd == pytest.approx(np.sqrt(50 * 10 / 60**3), rel=1e-3)
    assert m.specificity["B"].value == pytest.approx(48 / 60, abs=1e-6)


def test_maximum_is_a_maximum(rng):
    """No random step in any direction is higher."""
    p = table("hiv_alvord1988")
    m = trueness.latent_maximum(p)
    assert m.degrees_of_freedom == 15 - 9
    assert chi2.sf(m.deviance, 6) < 0.05  # independence does not fit: known for it
    x = p.rows
    for _ in range(200):
        phi, *rest = np.clip(
            [
                m.prevalence.value,
                *(e.value for e in m.sensitivity.values()),
                *(1 - e.value for e in m.specificity.values()),
            ]
            + 0.01 * rng.normal(size=9),
            1e-9,
            1 - 1e-9,
        )
        alpha, beta = np.array(rest[:4]), np.array(rest[4:])
        a = np.prod(np.where(x == 1, alpha, 1 - alpha), axis=1)
        b = np.prod(np.where(x == 1, beta, 1 - beta), axis=1)
        value = p.unknown @ np.log(phi * a + (1 - phi) * b)
        assert value <= m.log_likelihood + 1e-6


def every(m):
    """Give all estimates of a maximum, specificities last."""
    phi = m.prevalence
    first = [phi] if isinstance(phi, trueness.Estimate) else list(phi.values())
    return [*first, *m.sensitivity.values(), *m.specificity.values()]


def test_with_all_labels_the_profile_is_that_of_a_proportion():
    rows = [[1, 1], [1, 0], [0, 1], [0, 0]]
    p = trueness.Panel(["A", "B"], rows, pos=[30, 20, 5, 5], neg=[0, 8, 0, 40])
    m = trueness.latent_maximum(p)
    for e, yes, n in (
        (m.prevalence, 60, 108),
        (m.sensitivity["A"], 50, 60),
        (m.specificity["B"], 48, 48),
    ):
        top = binom.logpmf(yes, n, yes / n)

        def drop(q, yes=yes, n=n, top=top):
            return top - binom.logpmf(yes, n, q) - DROP

        assert e.low == pytest.approx(brentq(drop, 0.01, yes / n), abs=2e-4)
        if yes < n:
            assert e.high == pytest.approx(brentq(drop, yes / n, 0.999), abs=2e-4)
        else:
            assert e.high == 1.0
    assert any("specificity[B] is 0 or 1" in n for n in m.notes)


@pytest.mark.parametrize("name", ["swineflu_recovered", "strongyloides_joseph1995"])
def test_two_classifiers_have_the_set_of_what_the_votes_allow(name, rng):
    """Random parameters that explain the votes lie inside, and come near the ends."""
    m = trueness.latent_maximum(table(name))
    assert not m.identified
    assert np.isnan(m.prevalence.sd)
    patterns = read_patterns(table(name))
    model = Independent(patterns, read_prior(None, patterns, ordered=False))
    theta = 4 * rng.standard_normal((200_000, model.dim))
    flat = model.natural(theta)
    values = np.hstack([flat[k] for k in ("prevalence", "sensitivity", "specificity")])
    upright = values[:, 1:].sum(axis=1) >= 2
    likely = model.log_likelihood(theta) >= m.log_likelihood - DROP
    allowed = values[upright & likely]
    assert len(allowed) > 50
    ends = np.array([[e.low, e.high] for e in every(m)])
    assert (allowed >= ends[:, 0] - 1e-3).all()
    assert (allowed <= ends[:, 1] + 1e-3).all()
    assert np.abs(allowed.min(axis=0) - ends[:, 0]).max() < 0.12
    assert np.abs(allowed.max(axis=0) - ends[:, 1]).max() < 0.12


NAN = np.nan
ODD = {
    "constant": ([[1, 0], [1, 1]], [9, 4]),
    "two cases": ([[1, 0], [0, 1]], [1, 1]),
    "never agree": ([[1, 0, 0], [0, 1, 0], [0, 0, 1]], [50, 60, 40]),
    "all agree": ([[1, 1, 1], [0, 0, 0]], [50, 60]),
    "the third is the opposite": ([[1, 1, 0], [0, 0, 1]], [500, 600]),
    "never on the same case": ([[1, NAN], [NAN, 1], [0, NAN], [NAN, 0]], [3, 4, 5, 6]),
    "a thousand millions": ([[1, 1, 1], [1, 0, 1], [0, 0, 0]], [10**9] * 3),
}


@pytest.mark.parametrize("name", sorted(ODD))
def test_no_interval_is_missing(name):
    rows, unknown = ODD[name]
    names = [f"T{i}" for i in range(len(rows[0]))]
    m = trueness.latent_maximum(trueness.Panel(names, rows, unknown=unknown))
    for e in every(m):
        assert 0 <= e.low <= e.value <= e.high <= 1


def test_the_fit_is_judged_unasked():
    m = trueness.latent_maximum(table("hiv_alvord1988"))
    assert any("deviance 16.2 on 6" in n for n in m.notes)
    m = trueness.latent_maximum(table("chloroplast_reconstructed"))
    assert any("cannot show" in n for n in m.notes)
    rows = list(product((0, 1), repeat=4))
    rates = np.prod(np.where(rows, 0.9, 0.1), 1) + np.prod(np.where(rows, 0.2, 0.8), 1)
    p = trueness.Panel(list("ABCD"), rows, unknown=np.round(500 * rates).astype(int))
    assert not trueness.latent_maximum(p).notes
