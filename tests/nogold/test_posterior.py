"""Latent classes: by hand, exact quadrature, published posteriors, edges."""

import itertools

import numpy as np
import pytest
from scipy.special import betaln

import trueness
from no_gold import simulate, table
from trueness.nogold import model as _latent_model
from trueness.nogold.model import Independent, order_mass, read_patterns, read_prior
from trueness.nogold.sampling import enumeration as _enumeration
from trueness.nogold.sampling import tempering as _tempering


def model(data, prior=None, ordered=True):
    patterns = read_patterns(data)
    return Independent(patterns, read_prior(prior, patterns, ordered))


def by_hand(x, counts, phi, alpha, beta):
    """Log likelihood with plain arithmetic, one case after the other."""
    total = 0.0
    for row, (neg, pos, unknown) in zip(x, counts, strict=True):
        a = np.prod(
            [p if v == 1 else 1 - p for v, p in zip(row, alpha, strict=True) if v == v]
        )
        b = np.prod(
            [p if v == 1 else 1 - p for v, p in zip(row, beta, strict=True) if v == v]
        )
        total += unknown * np.log(phi * a + (1 - phi) * b)
        total += pos * np.log(phi * a) + neg * np.log((1 - phi) * b)
    return total


@pytest.mark.parametrize("ordered", [True, False])
def test_likelihood_by_hand(rng, ordered):
    nan = np.nan
    x = [[1, 1, 0], [1, nan, 1], [0, 0, nan], [0, 1, 1]]
    counts = [(1, 2, 3), (0, 1, 5), (4, 0, 2), (2, 2, 0)]
    p = trueness.Panel(["A", "B", "C"], x, *np.transpose(counts))
    m = model(p, ordered=ordered)
    theta = m.prior_draws(5, rng)
    nat = m.natural(theta)
    for i in range(5):
        expected = by_hand(
            x,
            counts,
            nat["prevalence"][i, 0],
            nat["sensitivity"][i],
            1 - nat["specificity"][i],
        )
        assert m.log_likelihood(theta)[i] == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize("ordered", [True, False])
def test_prior_density_integrates_to_one(rng, ordered):
    """Importance sampling from a wide normal: the mean weight is the integral."""
    p = trueness.Panel(["A", "B"], [[1, 1], [0, 0]], unknown=[1, 1])
    prior = {"sensitivity": (3, 2), "specificity": {"A": (2, 2)}}
    m = model(p, prior, ordered)
    theta = 3 * rng.normal(size=(400_000, m.dim))
    log_q = -(theta**2 / 18).sum(axis=1) - m.dim * np.log(3 * np.sqrt(2 * np.pi))
    weight = np.exp(m.log_prior(theta) - log_q)
    error = weight.std() / np.sqrt(weight.size)
    assert weight.mean() == pytest.approx(1, abs=4 * error)
    assert error < 0.02


def test_order_mass_against_a_finite_sum():
    """P(X >= Y) for whole parameters is a finite sum of Beta functions."""

    def finite(a, b, c, d):
        i = np.arange(a)
        return np.exp(
            betaln(c + i, b + d) - np.log(b + i) - betaln(1 + i, b) - betaln(c, d)
        ).sum()

    for a, b, c, d in itertools.product((1, 3, 40), repeat=4):
        assert order_mass(a, b, c, d) == pytest.approx(finite(a, b, c, d), abs=1e-10)
    assert order_mass(400, 500, 30, 70) == pytest.approx(
        finite(400, 500, 30, 70), rel=1e-10
    )


def exact_moments(m):
    """Posterior mean of prevalence and accuracies from the sum over latent counts."""
    log_weight, ((a, b), (c, d), (e, f)) = _enumeration.log_weights(m)
    w = np.exp(log_weight - log_weight.max())
    w /= w.sum()
    if not m.prior.ordered:
        return w @ (a / (a + b)), w @ (c / (c + d)), w @ (f / (e + f))
    share = order_mass(c, d, e, f)
    sens = c / (c + d) * order_mass(c + 1, d, e, f) / share
    spec = f / (e + f) * order_mass(c, d, e, f + 1) / share
    return w @ (a / (a + b)), w @ sens, w @ spec


def quadrature(n11, n10, n01, n00, points=36):
    """Posterior means for K = 2, uniform on both triangles, by a grid of five axes."""
    g, w = np.polynomial.legendre.leggauss(points)
    g, w = (g + 1) / 2, w / 2
    phi, wp = g[:, None, None], w[:, None, None]
    # beta = alpha * v fills the triangle: d beta = alpha dv
    a = np.repeat(g, points)
    b = (g[:, None] * g[None]).ravel()
    weight = (w[:, None] * w[None] * g[:, None]).ravel()
    total, sums = 0.0, np.zeros(5)
    for a1, b1, w1 in zip(a, b, weight, strict=True):
        like = 1.0
        for n, x1, x2 in ((n11, 1, 1), (n10, 1, 0), (n01, 0, 1), (n00, 0, 0)):
            pa = (a1 if x1 else 1 - a1) * np.where(x2, a, 1 - a)
            pb = (b1 if x1 else 1 - b1) * np.where(x2, b, 1 - b)
            like = like * (phi[:, :, 0] * pa + (1 - phi[:, :, 0]) * pb) ** n
        like = like * wp[:, :, 0] * weight * w1
        mass = like.sum()
        total += mass
        sums += [
            (like * phi[:, :, 0]).sum(),
            mass * a1,
            (like * a).sum(),
            mass * (1 - b1),
            (like * (1 - b)).sum(),
        ]
    return sums / total


def test_exact_sum_against_quadrature_for_two_classifiers():
    p = trueness.Panel(
        ["A", "B"], [[1, 1], [1, 0], [0, 1], [0, 0]], unknown=[3, 2, 1, 5]
    )
    phi, sens, spec = exact_moments(model(p))
    found = np.concatenate([phi, sens, spec])
    assert found == pytest.approx(quadrature(3, 2, 1, 5), abs=2e-6)


def test_importance_against_exact_sums_on_tables_from_the_prior():
    """Distances in Monte-Carlo errors: none far out, none in one direction."""
    rng, far = np.random.default_rng(5), []
    while len(far) < 10:
        u, v = rng.random((2, 2))
        high, low = np.maximum(u, v), np.minimum(u, v)
        _, votes = simulate(rng, 25, rng.random(), high, low)
        if (votes == votes[0]).all():
            continue
        p = trueness.panel(None, dict(zip("AB", votes.T, strict=True)))
        s = trueness.latent_class(p, rng=rng, draws=500, method="importance").summary()
        exact = np.concatenate(exact_moments(model(p)))
        far.append((s["mean"] - exact) / s["mcse"])
    assert np.abs(far).max() < 4
    assert (np.abs(np.mean(far, axis=0)) < 3.5 / np.sqrt(10)).all()


# the exact posterior of the recovered table (examples/no_gold)
SWINE_FLU = {
    "prevalence": (0.3056, 0.0946),
    "sensitivity[NPA_C1]": (0.8330, 0.1201),
    "sensitivity[NS_C2]": (0.7316, 0.1571),
    "specificity[NPA_C1]": (0.8756, 0.0771),
    "specificity[NS_C2]": (0.9330, 0.0513),
}


def test_the_paper_s_chain_does_not_stick_where_votes_contradict_the_order():
    # A says the opposite of B and C: from most starts a draw of both rates in the wrong
    # order is all but certain, and a chain that then stays put never gets away
    votes = [[1, 0, 0], [0, 1, 1], [1, 1, 1], [0, 0, 0]]
    p = trueness.Panel(["A", "B", "C"], votes, unknown=[40, 50, 3, 4])
    chain, exact = (
        trueness.latent_class(p, method=m, draws=500, dependence="none")
        for m in ("gibbs", "exact")
    )
    assert chain.diagnostics.converged
    for name, e in exact.estimates.items():
        found = chain.estimates[name]
        assert found.value == pytest.approx(e.value, abs=0.02)
        assert [found.low, found.high] == pytest.approx([e.low, e.high], abs=0.05)


@pytest.mark.parametrize("method", ["exact", "importance", "gibbs"])
def test_swine_flu_in_every_way(method):
    post = trueness.latent_class(
        table("swineflu_recovered"), rng=3, method=method, draws=5000
    )
    s = post.summary()
    for name, mean, sd, mcse in zip(
        s["parameter"], s["mean"], s["sd"], s["mcse"], strict=True
    ):
        assert mean == pytest.approx(SWINE_FLU[name][0], abs=4.5 * mcse + 5e-5)
        assert sd == pytest.approx(SWINE_FLU[name][1], rel=0.06)
    assert post.diagnostics.converged
    assert post.diagnostics.ess_bulk.min() >= 5000
    assert not post.identified
    assert "comes from the prior" in post.notes[0]


def test_exact_moments_of_swine_flu():
    phi, sens, spec = exact_moments(model(table("swineflu_recovered")))
    found = np.concatenate([phi, sens, spec])
    expected = [v for v, _ in SWINE_FLU.values()]
    assert found == pytest.approx(expected, abs=5.1e-5)


def test_strongyloides_as_published():
    """Joseph, Gyorkos, Coupal 1995, by the authors' own program."""
    prior = {
        "sensitivity": {"serology": (21.96, 5.49), "stool": (4.44, 13.31)},
        "specificity": {"serology": (4.1, 1.76), "stool": (71.25, 3.75)},
    }
    post = trueness.latent_class(
        table("strongyloides_joseph1995"), prior=prior, ordered=False, rng=1
    )
    published = {
        "prevalence": (0.526, 0.775, 0.923),
        "sensitivity[serology]": (0.790, 0.887, 0.954),
        "specificity[serology]": (0.373, 0.704, 0.957),
        "sensitivity[stool]": (0.223, 0.305, 0.425),
        "specificity[stool]": (0.907, 0.961, 0.989),
    }
    found = post.quantile([0.025, 0.5, 0.975])
    for name, expected in published.items():
        assert found[name] == pytest.approx(expected, abs=0.012), name


def test_missing_votes_and_labels_agree_with_the_exact_sum():
    nan = np.nan
    x = [[1, 1, 0], [1, nan, 1], [0, 0, nan], [0, 1, 1], [0, 0, 0]]
    p = trueness.Panel(
        ["A", "B", "C"], x, neg=[0, 1, 3, 0, 2], pos=[2, 1, 0, 1, 0],
        unknown=[4, 3, 2, 2, 5],
    )  # fmt: skip
    prior = {"sensitivity": (2, 1), "prevalence": (1, 2)}
    phi, sens, spec = exact_moments(model(p, prior))
    options = {"method": "importance", "dependence": "none", "draws": 4000}
    post = trueness.latent_class(p, prior=prior, rng=2, **options)
    found = np.array([post.summary()["mean"], post.summary()["mcse"]])
    expected = np.concatenate([phi, sens, spec])
    assert (np.abs(found[0] - expected) < 4.5 * found[1]).all()


def test_all_labels_known_is_conjugate():
    rows = [[1, 1], [1, 0], [0, 1], [0, 0]]
    p = trueness.Panel(["A", "B"], rows, pos=[30, 20, 5, 5], neg=[2, 8, 10, 40])
    post = trueness.latent_class(p, ordered=False, rng=0)
    assert post.identified
    assert post.prevalence.value == pytest.approx(61 / 122, abs=0.003)
    assert post.sensitivity["A"].value == pytest.approx(51 / 62, abs=0.003)
    assert post.specificity["B"].value == pytest.approx(49 / 62, abs=0.003)


def test_hui_walter_two_populations():
    post = trueness.latent_class(table("huiwalter1980_tuberculin"), rng=0, draws=4000)
    assert post.identified
    # near the maximum likelihood estimates of the paper: N is large
    assert post.prevalence["pop1"].value == pytest.approx(0.0268, abs=0.01)
    assert post.prevalence["pop2"].value == pytest.approx(0.7168, abs=0.01)
    assert post.sensitivity["mantoux"].value == pytest.approx(1 - 0.0339, abs=0.01)
    assert post.draws["prevalence"].shape[1] == 2


def test_rare_and_huge():
    """10^9 cases, prevalence near 10^-6, in the time of a small table."""
    alpha, beta, phi = [0.9, 0.8, 0.85], [1e-4, 2e-4, 5e-5], 1e-6
    rows = np.array(list(itertools.product((0, 1), repeat=3)), dtype=float)
    a = np.prod(np.where(rows, alpha, 1 - np.array(alpha)), axis=1)
    b = np.prod(np.where(rows, beta, 1 - np.array(beta)), axis=1)
    count = np.rint(1e9 * (phi * a + (1 - phi) * b)).astype(int)
    p = trueness.Panel(["A", "B", "C"], rows, unknown=count)
    post = trueness.latent_class(p, rng=5, draws=2000)
    assert post.diagnostics.converged
    assert post.prevalence.low < phi < post.prevalence.high
    assert post.prevalence.sd < 1e-7
    for k, name in enumerate("ABC"):
        assert post.sensitivity[name].low < alpha[k] < post.sensitivity[name].high


def test_probability_against_the_draws():
    p = table("swineflu_recovered")
    post = trueness.latent_class(p, rng=0, draws=2000)
    d = post.draws
    a, b = d["sensitivity"], 1 - d["specificity"]
    phi = d["prevalence"]
    x, y = phi * a[:, 0] * (1 - a[:, 1]), (1 - phi) * b[:, 0] * (1 - b[:, 1])
    assert post.probability([[1, 0]])[0] == pytest.approx((x / (x + y)).mean())
    only = phi * a[:, 0] / (phi * a[:, 0] + (1 - phi) * b[:, 0])
    assert post.probability([[1, np.nan]])[0] == pytest.approx(only.mean())
    t = p.combine(post.probability)
    assert t.n == 48
    assert len(t) == 4
    odds = post.probability([[np.nan, np.nan]], prevalence=0.2)
    assert odds[0] == pytest.approx(0.2)


def test_ranking_counts_draws():
    post = trueness.latent_class(table("chloroplast_reconstructed"), rng=0, draws=2000)
    r = post.ranking("sensitivity")
    sens = post.draws["sensitivity"]
    best = (sens[:, 0] >= sens.max(axis=1)).mean()
    assert r["AA_C1"][0] == pytest.approx(best, abs=1e-3)
    assert r.probability.sum(axis=0) == pytest.approx(np.ones(3))
    assert r.probability.sum(axis=1) == pytest.approx(np.ones(3))
    assert r.best == "AA_C1"
    assert list(r.to_frame()["classifier"]) == ["AA_C1", "DP_C2", "NCC_C3"]


def test_labels_switch_only_without_order(rng):
    _, votes = simulate(rng, 400, 0.5, [0.9] * 3, [0.1] * 3)
    p = trueness.panel(None, dict(zip("ABC", votes.T, strict=True)))
    free = trueness.latent_class(p, ordered=False, rng=0, draws=1000)
    assert any("label switching" in n for n in free.notes)
    share = (free.draws["sensitivity"].mean(axis=1) < 0.5).mean()
    assert share == pytest.approx(0.5, abs=0.05)
    ordered = trueness.latent_class(p, rng=0, draws=1000)
    assert not any("swap" in n for n in ordered.notes)
    assert ordered.sensitivity["A"].low > 0.8


def test_same_seed_same_answer_and_order_of_columns_is_only_a_name():
    p = table("chloroplast_reconstructed")
    one = trueness.latent_class(p, rng=7, draws=1000)
    two = trueness.latent_class(p, rng=7, draws=1000)
    assert np.array_equal(one.draws["sensitivity"], two.draws["sensitivity"])
    other = trueness.latent_class(p[["NCC_C3", "AA_C1", "DP_C2"]], rng=1, draws=4000)
    for name in p.names:
        a, b = one.sensitivity[name], other.sensitivity[name]
        assert a.value == pytest.approx(b.value, abs=0.15 * a.sd)


def test_a_test_that_says_nothing_is_noted():
    """Never run with another test and always 0: its sensitivity is the prior's."""
    p = trueness.Panel(
        ["A", "B", "C", "D"],
        [[1, 1, 1, 0], [0, 0, 0, 0], [1, 0, 1, 0], [0, 1, 0, 0]],
        unknown=[40, 50, 3, 4],
    )
    post = trueness.latent_class(p, rng=0, draws=1000)
    assert any("D votes 0 in every case" in n for n in post.notes)
    assert post.specificity["D"].value > 0.9


def test_prior_alone_is_recognised():
    """Verified negatives only say nothing about sensitivity."""
    p = trueness.Panel(["A", "B"], [[1, 0], [0, 1], [0, 0]], neg=[5, 8, 90])
    post = trueness.latent_class(p, ordered=False, rng=0, draws=2000)
    assert "sensitivity[A]" in " ".join(post.notes)
    assert post.sensitivity["A"].value == pytest.approx(0.5, abs=0.03)


def test_not_converged_is_a_warning(monkeypatch):
    from trueness.nogold.sampling import strategy as latent_sampling

    monkeypatch.setattr(latent_sampling, "MOST", 400)
    with pytest.warns(trueness.NotConverged, match="effective draws of the 10,000"):
        post = trueness.latent_class(
            table("snp1000_reconstructed"), rng=0, method="importance"
        )
    assert not post.diagnostics.converged


def test_record_shows_itself():
    post = trueness.latent_class(table("swineflu_recovered"), rng=0, draws=500)
    assert "sensitivity[NPA_C1]" in repr(post)
    assert "Not identified" in repr(post)
    assert "<table>" in post._repr_html_()
    d = post.to_dict()
    assert d["prevalence"]["value"] == post.prevalence.value
    assert d["diagnostics"]["method"] == "exact"
    assert list(post.to_frame()["parameter"]) == list(SWINE_FLU)
    assert "P(best)" in repr(post.ranking())


BAD = [
    (
        lambda: trueness.Panel(["A", "B"], [[0.3, 1], [0, 1]], unknown=[1, 1]),
        "panel.vote",
    ),
    (
        lambda: trueness.Panel(["A"], [[1], [0]], unknown=[1, 1]),
        "at least 2 classifiers",
    ),
    (lambda: trueness.Panel(["A", "B"], [[1, 0]], unknown=[9]), "same vote"),
    (lambda: trueness.Panel(["A", "B"], [[1, 0]], unknown=[0]), "is empty"),
    (lambda: trueness.tally([0, 1], [0.1, 0.2]), "needs a Panel"),
    (lambda: {}, "at least one population"),
    (lambda: trueness.Panel(["A", "B"], [[1, np.nan]], unknown=[3]), "no vote at all"),
]


@pytest.mark.parametrize(("data", "words"), BAD)
def test_bad_data(data, words):
    with pytest.raises(ValueError, match=words):
        trueness.latent_class(data())


OPTIONS = [
    ({"prior": {"sens": (1, 1)}}, "sensitivity"),
    ({"prior": {"sensitivity": {"X": (1, 1)}}}, "names 'X'"),
    ({"prior": {"sensitivity": (0, 1)}}, "above zero"),
    ({"prior": {"sensitivity": 0.9}}, r"must be \(a, b\)"),
    ({"prior": (1, 1)}, "must be a mapping"),
    ({"prior": {"sensitivity": (1, 900), "specificity": (1, 900)}}, "impossible"),
    ({"draws": 3}, "draws must be"),
    ({"chains": 1}, "chains must be"),
    ({"method": "magic"}, "method must be one of"),
    ({"method": "exact"}, "more than"),
    ({"level": 95}, "level must lie"),
]


@pytest.mark.parametrize(("options", "words"), OPTIONS)
def test_bad_options(options, words):
    with pytest.raises(trueness.InputError, match=words):
        trueness.latent_class(table("snp1000_reconstructed"), **options)


def test_bad_rows_and_populations():
    post = trueness.latent_class(table("huiwalter1980_tuberculin"), rng=0, draws=200)
    with pytest.raises(trueness.InputError, match="Say which population"):
        post.probability([[1, 0]])
    assert post.probability([[1, 1]], population="pop1")[0] < 1
    with pytest.raises(trueness.InputError, match="shape"):
        post.probability([[1, 0, 1]], population="pop1")
    with pytest.raises(trueness.InputError, match="0, 1 or NaN"):
        post.probability([[1, 0.5]], population="pop1")
    with pytest.raises(trueness.InputError, match="must be one of"):
        post.ranking("auc")
    other = table("swineflu_recovered")
    with pytest.raises(trueness.InputError, match="same classifiers"):
        trueness.latent_class({"a": other, "b": table("strongyloides_joseph1995")})


def test_evidence_agrees_with_the_exact_sum():
    """The weights average to the probability of the data."""
    p = trueness.Panel(
        ["A", "B"], [[1, 1], [1, 0], [0, 1], [0, 0]], unknown=[3, 2, 1, 5]
    )
    m = model(p)
    log_weight, _ = _enumeration.log_weights(m)
    # uniform priors on two triangles have the density 2 each
    expected = np.log(np.exp(log_weight).sum()) + 2 * np.log(2)
    post = trueness.latent_class(p, rng=0, method="importance", draws=4000)
    d = post.diagnostics
    assert d.log_evidence == pytest.approx(expected, abs=4 * d.log_evidence_sd)


def test_kish_and_resampling(rng):
    log_weight = np.log([0.5, 0.25, 0.25])
    at = _tempering.resample(log_weight, 400, rng)
    assert np.bincount(at).tolist() == pytest.approx([200, 100, 100], abs=1)
    assert _tempering.kish(log_weight) == pytest.approx(1 / (0.25 + 2 * 0.0625))


def test_populations_are_laid_out_once():
    a = trueness.Panel(["A", "B"], [[1, 1], [0, 0]], unknown=[3, 4])
    b = trueness.Panel(["B", "A"], [[1, 0], [0, 0]], pos=[2, 0], neg=[0, 5])
    patterns = _latent_model.read_patterns({"x": a, "y": b})
    assert patterns.rows.tolist() == [[1, 1], [0, 1], [0, 0]]
    assert patterns.unknown.tolist() == [[3, 0, 4], [0, 0, 0]]
    assert patterns.pos.tolist() == [[0, 0, 0], [0, 2, 0]]
    assert patterns.neg.tolist() == [[0, 0, 0], [0, 0, 5]]
