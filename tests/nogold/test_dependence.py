"""Dependence, maximum likelihood and the door to ArviZ."""

from itertools import product
from types import SimpleNamespace

import numpy as np
import pytest
from scipy.special import log_ndtr, ndtr, ndtri

import trueness
from no_gold import simulate, table
from trueness.nogold import arviz_door as diagnostics
from trueness.nogold.covariances import Covariances
from trueness.nogold.dependence import Dependence
from trueness.nogold.dependent import Dependent
from trueness.nogold.difficulty import Difficulty
from trueness.nogold.model import read_patterns, read_prior
from trueness.nogold.random_effect import RandomEffect
from trueness.nogold.sampling import strategy
from trueness.nogold.sentences import dependence_sentence


def hard_cases(rng, n, phi, alpha, beta, sigma):
    """Votes with a case's own ease: probit of rate, plus sigma z."""
    truth = rng.random(n) < phi
    z = rng.normal(size=n)
    rate = np.where(truth[:, None], alpha, beta)
    at = ndtri(rate) * np.sqrt(1 + sigma**2) + sigma * z[:, None]
    return truth, (rng.random(rate.shape) < ndtr(at)).astype(float)


def panel_of(votes):
    return trueness.panel(None, {f"T{i}": votes[:, i] for i in range(votes.shape[1])})


ALPHA, BETA = np.array([0.8, 0.7, 0.85, 0.75]), np.array([0.1, 0.2, 0.15, 0.1])


def check(votes, **options):
    p = panel_of(votes)
    post = trueness.latent_class(p, rng=0, draws=500, dependence="none")
    return trueness.conditional_dependence(post, rng=0, **options)


def test_no_alarm_without_dependence():
    """Small version of benchmarks/study_dependence.py: shares of p below .1."""
    rng, p, score = np.random.default_rng(1), [], []
    for _ in range(10):
        d = check(simulate(rng, 400, 0.4, ALPHA, BETA)[1], replicates=79)
        p.append(d.p_value)
        score.append(d.score_p_value)
    # pairs of one table are not independent: three standard errors of 10 tables
    for found in (p, score):
        assert 0 < np.mean(np.array(found) < 0.1) <= 0.1 + 3 * np.sqrt(0.09 / 10)
        assert np.mean(found) == pytest.approx(0.5, abs=3 * 0.29 / np.sqrt(10))


def test_dependence_shows_where_it_is(rng):
    # the first two share their errors in half of the negatives
    truth, tied = simulate(rng, 3000, 0.4, ALPHA, BETA)
    copy = ~truth & (rng.random(3000) < 0.5)
    tied[copy, 1] = tied[copy, 0]
    d = check(tied, replicates=199)
    assert "degrees of freedom left" in d.note
    assert d.observed[0] == pytest.approx(np.corrcoef(tied[:, 0], tied[:, 1])[0, 1])
    assert d.p_value[0] <= 0.02
    assert d.score_p_value[0] <= 0.02
    assert d.residual[0] > 0.01


def test_hiv_second_and_third_test_err_together(hiv):
    d = trueness.conditional_dependence(hiv["independent"], rng=0)
    at = list(zip(d.first, d.second, strict=True)).index(("V2", "V3"))
    assert d.residual.argmax() == d.p_value.argmin() == at
    assert d.p_value[at] < 0.01
    assert d.score_p_value[at] < 0.05


def test_three_classifiers_cannot_show_it():
    post = trueness.latent_class(table("chloroplast_reconstructed"), rng=0, draws=500)
    d = trueness.conditional_dependence(post, rng=0)
    assert "cannot show" in d.note
    assert np.isnan(d.score_p_value).all()
    assert (d.p_value > 0.3).all()


def test_more_than_ten_classifiers_have_the_predictive_check(rng):
    _, votes = simulate(rng, 60, 0.4, [0.8] * 11, [0.2] * 11)
    post = trueness.latent_class(panel_of(votes), rng=0, draws=100)
    d = trueness.conditional_dependence(post, rng=0)
    assert np.isnan(d.score_p_value).all()
    assert ((d.p_value > 0.01) & (d.p_value <= 1)).all()
    with pytest.raises(trueness.InputError, match="replicates"):
        trueness.conditional_dependence(post, replicates=3)


KINDS = {
    "random effect": RandomEffect(),
    "easy and hard": Difficulty(),
    "pairs": Covariances(((0, 2),), ("A, C",)),
}


def test_random_effect_integral_against_simulation(rng):
    rate, sigma = np.array([[0.8, 0.6, 0.9]]), np.array([[1.3]])
    rows = np.array([[1, 1, 1], [1, 0, np.nan], [0, 0, 0]])
    found = KINDS["random effect"].probabilities(rate, sigma, rows)[0]
    z = rng.normal(size=400_000)
    p = ndtr(ndtri(rate) * np.sqrt(1 + 1.3**2) + 1.3 * z[:, None])
    each = [p.prod(axis=1), p[:, 0] * (1 - p[:, 1]), (1 - p).prod(axis=1)]
    for value, sample in zip(found, each, strict=True):
        assert value == pytest.approx(sample.mean(), abs=4 * sample.std() / 632)


@pytest.mark.parametrize("name", KINDS)
def test_models_with_dependence_are_distributions_with_these_rates(name, rng):
    """Patterns sum to 1, margins are the rates, a missing vote takes no part."""
    rate = rng.uniform(0.55, 0.95, (5, 3))
    own = rng.uniform(0.1, 0.9, (5, 1))
    rows = np.array(list(product((1.0, 0.0), repeat=3)))
    p = KINDS[name].probabilities(rate, own, rows)
    assert p.sum(axis=1) == pytest.approx(1, abs=1e-7)
    assert p @ rows == pytest.approx(rate, abs=1e-6)
    gone = KINDS[name].probabilities(rate, own, np.array([[1, np.nan, 0]]))
    at = (rows[:, 0] == 1) & (rows[:, 2] == 0)
    assert gone[:, 0] == pytest.approx(p[:, at].sum(axis=1), abs=1e-7)
    # errors go together: all three right is likelier than if they were independent
    assert (p[:, 0] > rate.prod(axis=1)).all()


@pytest.mark.parametrize("name", KINDS)
def test_without_dependence_the_likelihood_is_that_of_independence(name, rng):
    patterns = read_patterns(table("hiv_alvord1988"))
    m = Dependent(patterns, read_prior(None, patterns, ordered=True), KINDS[name])
    theta = m.prior_draws(6, rng)
    theta[:, -m.extra :] = -8
    logit = log_ndtr(theta[:, : -m.extra]) - log_ndtr(-theta[:, : -m.extra])
    expected = m.base.log_likelihood(logit)
    assert m.log_likelihood(theta) == pytest.approx(expected, rel=1e-6)


def test_the_density_of_the_prior_integrates(rng):
    """Importance weights of the prior against itself, by another density."""
    patterns = read_patterns(table("hiv_alvord1988"))
    m = Dependent(patterns, read_prior(None, patterns, ordered=True), RandomEffect())
    z = rng.standard_normal((200_000, m.dim)) * 1.1
    log_q = -(z**2 / 2 / 1.21 + np.log(1.1 * np.sqrt(2 * np.pi))).sum(axis=1)
    assert np.exp(m.log_prior(z) - log_q).mean() == pytest.approx(1, abs=0.03)


@pytest.mark.parametrize("name", ["random effect", "easy and hard", "pairs"])
def test_every_model_delivers_the_draws_that_were_asked_for(name):
    post = trueness.latent_class(
        table("hiv_alvord1988"), rng=3, draws=500, dependence=name
    )
    assert post.diagnostics.converged
    assert post.diagnostics.ess_bulk.min() >= 500


def test_the_sentence_names_pairs_by_adjusted_p_values():
    two, nan = np.array(["A", "A"]), np.nan

    post = SimpleNamespace()

    def said(adjusted, overall, independent=post):
        some = np.array([0.01, 0.02])
        post.independent = independent
        return dependence_sentence(
            Dependence(two, np.array(["B", "C"]), *[some] * 5, "A note.",
                       np.array(adjusted), overall), post
        )  # fmt: skip

    assert said([0.04, 0.3], 0.2) == (
        "These tests seem to make the same errors: A and B (p = 0.04). The model of "
        "these results does not allow for it."
    )
    allowed = " The results come from a model that allows for it."
    assert said([0.04, 0.3], 0.2, None).endswith(f"A and B (p = 0.04).{allowed}")
    assert "(p = 0.03); these votes do not show which" in said([0.2, 0.3], 0.03)
    assert said([0.2, 0.3], 0.25) == (
        "No evidence was found that tests make the same errors (p = 0.25). A note."
    )
    assert said([nan, nan], nan) == "A note."


@pytest.mark.parametrize("name", ["none", "random effect", "easy and hard", "pairs"])
def test_a_rule_that_flags_nothing_has_rates_under_every_model(name, rng):
    votes = (rng.random((60, 3)) < 0.3).astype(float)
    post = trueness.latent_class(panel_of(votes), dependence=name, draws=100)
    rule = trueness.cost_rule(post, fp=1000, fn=1, prevalence=0.01)
    assert rule.formula == "never"
    both = rule.combination.sensitivity.value, rule.combination.specificity.value
    assert both == (0.0, 1.0)
    assert post.probability(np.empty((0, 3))).shape == (0,)


def test_walkers_draw_from_the_posterior(monkeypatch):
    """The sampler of last resort agrees with importance sampling."""
    p = table("hiv_alvord1988")
    usual = trueness.latent_class(p, rng=0, draws=300, dependence="easy and hard")
    # no pool of proposals is ever worth enough, and a small one is as bad as a large
    monkeypatch.setattr(strategy, "_least_worth", lambda pool: 0.0)
    monkeypatch.setattr(strategy, "POOL", 20_000)
    other = trueness.latent_class(p, rng=0, draws=300, dependence="easy and hard")
    assert other.diagnostics.method == "walkers with jumps"
    for n in usual.names:
        a, b = usual.sensitivity[n], other.sensitivity[n]
        assert a.value == pytest.approx(b.value, abs=6 * a.sd / np.sqrt(300))


def test_one_overall_test_and_adjusted_p_values(rng):
    """Under independence the overall test rejects as often as it says."""
    overall, smallest, raw = [], [], []
    for _ in range(20):
        _, votes = simulate(rng, 200, 0.4, [0.85, 0.8, 0.75, 0.9], [0.2, 0.1, 0.3, 0.2])
        p = panel_of(votes)
        post = trueness.latent_class(p, rng=0, draws=200, dependence="none")
        d = trueness.conditional_dependence(post, replicates=99, rng=0)
        overall.append(d.overall_p_value)
        smallest.append(d.adjusted_p_value.min())
        raw.append(d.score_p_value.min())
        assert (d.adjusted_p_value >= d.score_p_value).all()
    # one of 20 is expected; more than four have a chance of 3 in 1,000
    assert np.sum(np.array(overall) <= 0.05) <= 4
    assert np.sum(np.array(smallest) <= 0.05) <= 4
    assert np.mean(smallest) > np.mean(raw)


def test_the_overall_test_sees_dependence():
    p = table("hiv_alvord1988")
    post = trueness.latent_class(p, rng=0, draws=500, dependence="none")
    d = trueness.conditional_dependence(post, rng=0)
    assert d.overall_p_value <= 0.05
    assert d.adjusted_p_value.min() <= 0.05


@pytest.fixture(scope="module")
def hiv():
    p = table("hiv_alvord1988")
    return {
        "independent": trueness.latent_class(p, rng=0, draws=1000, dependence="none"),
        "random effect": trueness.latent_class(
            p, rng=0, draws=200, dependence="random effect"
        ),
    }


def test_hiv_needs_dependence(hiv):
    c = diagnostics.compare_models(hiv)
    assert c.model[0] == "random effect"
    assert c.difference[1] < -2
    assert c.waic == pytest.approx(c.elpd, abs=1)
    assert (c.pareto_k < 0.7).all()
    evidence = [
        hiv[k].diagnostics.log_evidence for k in ("random effect", "independent")
    ]
    assert evidence[0] - evidence[1] > 4
    assert "spread" in hiv["random effect"].draws
    assert "spread[pos]" in hiv["random effect"].diagnostics.parameter


def test_loo_by_brute_force():
    """Leave one case of each pattern out, and fit again."""
    rows = [[1, 1, 1], [1, 1, 0], [0, 1, 0], [0, 0, 0]]
    p = trueness.Panel(["A", "B", "C"], rows, unknown=[9, 3, 2, 12])
    post = trueness.latent_class(p, rng=0, draws=4000)
    elpd, count, *_ = diagnostics._loo(post)
    assert count.tolist() == [9, 3, 2, 12]
    less = trueness.Panel(p.names, p.rows, unknown=p.unknown - np.array([0, 0, 1, 0]))
    d = trueness.latent_class(less, rng=1, draws=4000).draws
    x, phi = p.rows[2], d["prevalence"]
    a = np.prod(np.where(x, d["sensitivity"], 1 - d["sensitivity"]), axis=1)
    b = np.prod(np.where(x, 1 - d["specificity"], d["specificity"]), axis=1)
    expected = np.log((phi * a + (1 - phi) * b).mean())
    assert elpd[2] == pytest.approx(expected, abs=0.05)


def test_random_effect_combines_and_predicts(hiv):
    post = hiv["random effect"]
    p = post.probability([[1, 1, 1, 1], [0, 0, 0, 0], [1, np.nan, 1, 1]])
    assert p[0] > 0.95
    assert p[1] < 0.1
    assert trueness.best_combination(post).sensitivity.value > 0.8
    assert trueness.conditional_dependence(post, rng=0).p_value.min() > 0.05


def test_datatree_is_read_by_arviz(hiv):
    arviz = pytest.importorskip("arviz")
    post = hiv["independent"]
    tree = post.to_datatree()
    assert tree["posterior"]["sensitivity"].dims == ("chain", "draw", "classifier")
    assert float(tree["posterior"]["sensitivity"].sel(classifier="V2").mean()) == (
        pytest.approx(post.sensitivity["V2"].value)
    )
    if int(arviz.__version__.split(".")[0]) < 1:
        tree = arviz.InferenceData.from_datatree(tree)
    ess = arviz.ess(tree)
    assert float(ess["specificity"].min()) > 1000
    assert int(tree["observed_data"]["cases"].sum()) == 428


def test_bad_models():
    p = table("swineflu_recovered")
    with pytest.raises(trueness.InputError, match="dependence must be one of"):
        trueness.latent_class(p, dependence="some")
    one = trueness.latent_class(p, rng=0, draws=200)
    other = trueness.latent_class(table("strongyloides_joseph1995"), rng=0, draws=200)
    with pytest.raises(trueness.InputError, match="same cases"):
        diagnostics.compare_models({"a": one, "b": other})


@pytest.mark.parametrize("sigma", [0.01, 0.7, 1.0, 1.8, 2.5])
@pytest.mark.parametrize("k", [1, 2, 5, 9])
def test_the_ease_of_a_case_is_integrated_as_by_quadrature(sigma, k):
    from scipy.integrate import quad
    from scipy.special import ndtr, ndtri
    from scipy.stats import norm

    rng = np.random.default_rng(k)
    rate = rng.uniform(0.4, 0.97, k)
    rows = rng.integers(0, 2, (4, k)).astype(float)
    rows[rng.random(rows.shape) < 0.2] = np.nan
    place = ndtri(rate) * np.sqrt(1 + sigma**2)
    found = RandomEffect().probabilities(rate[None], np.array([[sigma]]), rows)[0]
    for p, row in zip(found, rows, strict=True):
        sign, seen = 2 * row - 1, ~np.isnan(row)

        def given(z, sign=sign, seen=seen):
            return norm.pdf(z) * ndtr((sign * (place + sigma * z))[seen]).prod()

        assert p == pytest.approx(quad(given, -9, 9, limit=200)[0], rel=2e-3)
