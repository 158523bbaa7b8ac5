"""Latent classes: by hand, quadrature, a slow chain, published posteriors, edges."""

import itertools

import numpy as np
import pytest
from scipy.special import betaln, ndtr, ndtri

import trueness
from no_gold import simulate, table
from trueness.nogold import sampling as _sampling
from trueness.nogold.model import LatentModel, order_mass, read_patterns, read_prior

NONE = {"dependence": "none"}


def model(data, prior=None, ordered=True, shared=False):
    patterns = read_patterns(data)
    return LatentModel(patterns, read_prior(prior, patterns, ordered), shared)


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


X = [[1, 1, 0], [1, np.nan, 1], [0, 0, np.nan], [0, 1, 1]]
COUNTS = [(1, 2, 3), (0, 1, 5), (4, 0, 2), (2, 2, 0)]


@pytest.mark.parametrize("ordered", [True, False])
def test_likelihood_by_hand(rng, ordered):
    p = trueness.Panel(["A", "B", "C"], X, *np.transpose(COUNTS))
    m = model(p, ordered=ordered)
    v = rng.normal(size=(5, m.dim))
    nat, (_, log_p) = m.natural(v), m.log_cells(v)
    for i in range(5):
        phi, beta = nat["prevalence"][i, 0], 1 - nat["specificity"][i]
        expected = by_hand(X, COUNTS, phi, nat["sensitivity"][i], beta)
        assert log_p[i] @ m.cells[1] == pytest.approx(expected, rel=1e-10)


def test_shared_errors_by_simulation(rng):
    """Votes drawn from the formula, case by case, against the integral."""
    p = trueness.Panel(["A", "B", "C"], X, *np.transpose(COUNTS))
    flat = {
        "sensitivity": np.array([[0.8, 0.7, 0.9]]),
        "specificity": np.array([[0.9, 0.6, 0.7]]),
        "spread": np.array([[1.5, 2.6]]),
    }
    rows = np.array([[1.0, 1, 1], [1, 0, 0], [0, np.nan, 1]])
    found = model(p, shared=True).class_probabilities(flat, rows)
    z = rng.standard_normal(400_000)
    rates = flat["sensitivity"][0], 1 - flat["specificity"][0]
    for share, rate, sigma in zip(found, rates, (1.5, 2.6), strict=True):
        at = ndtri(rate) * np.sqrt(1 + sigma**2)
        yes = ndtr(at + sigma * z[:, None])
        for j, row in enumerate(rows):
            each = np.where(np.isnan(row), 1.0, np.where(row == 1, yes, 1 - yes))
            assert share[0, j] == pytest.approx(np.prod(each, axis=1).mean(), abs=0.003)
    one = model(p, shared=True).class_probabilities(flat, MARGINS)
    assert one[0][0] == pytest.approx(rates[0], abs=2e-4)
    assert one[1][0] == pytest.approx(rates[1], abs=2e-4)


MARGINS = np.array([[1, np.nan, np.nan], [np.nan, 1, np.nan], [np.nan, np.nan, 1.0]])


@pytest.mark.parametrize("ordered", [True, False])
def test_prior_density_integrates_to_one(rng, ordered):
    """Over a normal density its mean is 1."""
    p = trueness.Panel(["A", "B"], [[1, 1], [0, 0]], unknown=[1, 1])
    prior = {"sensitivity": (3, 2), "specificity": {"A": (2, 2)}}
    m = model(p, prior, ordered)
    weight = np.exp(m.log_cells(rng.normal(size=(200_000, m.dim)))[0])
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


def test_two_classifiers_against_quadrature():
    p = trueness.Panel(
        ["A", "B"], [[1, 1], [1, 0], [0, 1], [0, 0]], unknown=[3, 2, 1, 5]
    )
    s = trueness.latent_class(p, **NONE).summary()
    assert (np.abs(s["mean"] - quadrature(3, 2, 1, 5)) < 4 * s["mcse"]).all()


def gibbs(panel, sweeps, rng):
    """The paper's chain, case counts one pattern after the other; uniform triangle."""
    x, u, k = panel.rows, panel.unknown, len(panel.names)
    phi, a, b, out = 0.4, np.full(k, 0.8), np.full(k, 0.2), []
    for _ in range(sweeps):
        in_pos = phi * np.prod(np.where(x == 1, a, 1 - a), axis=1)
        in_neg = (1 - phi) * np.prod(np.where(x == 1, b, 1 - b), axis=1)
        pos = rng.binomial(u, in_pos / (in_pos + in_neg))
        phi = rng.beta(1 + pos.sum(), 1 + (u - pos).sum())
        for i in range(k):
            counts = [c @ (x[:, i] == v) for c in (pos, u - pos) for v in (1, 0)]
            while True:
                a[i] = rng.beta(1 + counts[0], 1 + counts[1])
                b[i] = rng.beta(1 + counts[2], 1 + counts[3])
                if a[i] >= b[i]:
                    break
        out.append(np.r_[phi, a, 1 - b])
    return np.array(out)


def test_a_long_chain_agrees():
    p = table("chloroplast_reconstructed")
    slow = gibbs(p, 6000, np.random.default_rng(0))[500:]
    s = trueness.latent_class(p, **NONE).summary()
    # draws of the chain are worth about a twentieth of as many independent ones
    error = np.hypot(s["mcse"], s["sd"] / np.sqrt(len(slow) / 20))
    assert (np.abs(s["mean"] - slow.mean(axis=0)) < 4 * error).all()
    assert s["sd"] == pytest.approx(slow.std(axis=0), rel=0.2)


@pytest.mark.slow
@pytest.mark.parametrize(
    "name", ["dentists_espeland1989", "snp1000_reconstructed", "hiv_alvord1988"]
)
def test_two_runs_agree(name):
    """In posterior standard deviations, of independent and of shared errors."""
    one, two = (trueness.latent_class(table(name), rng=seed) for seed in (1, 2))
    for a, b, far in ((one, two, 0.25), (one.independent, two.independent, 0.06)):
        sd = a.summary()["sd"]
        gap = [
            np.concatenate([x.mean(axis=0) for x in post.flat.values()])
            for post in (a, b)
        ]
        assert (np.abs(gap[0] - gap[1]) < far * sd).all()
    assert abs(one.log_bayes_factor - two.log_bayes_factor) < 0.3


def test_evidence_by_brute_force(rng):
    """The mean of the likelihood over the prior is the evidence, of both models."""
    p = trueness.Panel(["A", "B", "C"], ROWS, unknown=[6, 1, 2, 1, 1, 2, 1, 4])
    for shared in (False, True):
        m = model(p, shared=shared)
        like = np.exp(m.log_ratio(rng.standard_normal((200_000, m.dim))))
        error = like.std() / like.mean() / np.sqrt(like.size)
        post = trueness.latent_class(p)
        d = (post if shared else post.independent).diagnostics
        far = 4 * np.hypot(error, d.log_evidence_sd)
        assert d.log_evidence == pytest.approx(np.log(like.mean()), abs=far)


ROWS = list(itertools.product((0, 1), repeat=3))


def test_posterior_of_shared_errors_by_brute_force(rng):
    """Prior draws weighted by the likelihood: slow, simple, the same."""
    p = trueness.Panel(["A", "B", "C"], ROWS, unknown=[12, 2, 3, 1, 2, 2, 1, 7])
    m = model(p, shared=True)
    v = rng.standard_normal((400_000, m.dim))
    w = np.exp(m.log_ratio(v))
    flat = np.hstack(list(m.natural(v).values()))
    mean = w @ flat / w.sum()
    worth = w.sum() ** 2 / (w @ w)
    post = trueness.latent_class(p)
    ours = np.hstack(list(post.flat.values()))
    error = ours.std(axis=0) * np.sqrt(1 / worth + 1 / post.diagnostics.effective)
    assert (np.abs(ours.mean(axis=0) - mean) < 4 * error).all()


# the exact posterior of the recovered table (examples/no_gold)
SWINE_FLU = {
    "prevalence": (0.3056, 0.0946),
    "sensitivity[NPA_C1]": (0.8330, 0.1201),
    "sensitivity[NS_C2]": (0.7316, 0.1571),
    "specificity[NPA_C1]": (0.8756, 0.0771),
    "specificity[NS_C2]": (0.9330, 0.0513),
}


def test_swine_flu_as_summed_exactly():
    post = trueness.latent_class(table("swineflu_recovered"), rng=3, **NONE)
    s = post.summary()
    for name, mean, sd, mcse in zip(
        s["parameter"], s["mean"], s["sd"], s["mcse"], strict=True
    ):
        assert mean == pytest.approx(SWINE_FLU[name][0], abs=4.5 * mcse + 5e-5)
        assert sd == pytest.approx(SWINE_FLU[name][1], rel=0.06)
    assert post.diagnostics.effective >= 9000
    assert not post.identified
    assert "comes from the prior" in post.notes[0]


def test_strongyloides_as_published():
    """Joseph, Gyorkos, Coupal 1995, by the authors' own program."""
    prior = {
        "sensitivity": {"serology": (21.96, 5.49), "stool": (4.44, 13.31)},
        "specificity": {"serology": (4.1, 1.76), "stool": (71.25, 3.75)},
    }
    post = trueness.latent_class(
        table("strongyloides_joseph1995"), prior=prior, ordered=False, rng=1, **NONE
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


def test_hui_walter_two_populations():
    post = trueness.latent_class(
        table("huiwalter1980_tuberculin"), rng=0, draws=4000, **NONE
    )
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
    post = trueness.latent_class(p, rng=5, draws=2000, **NONE)
    assert post.diagnostics.converged
    assert post.prevalence.low < phi < post.prevalence.high
    assert post.prevalence.sd < 1e-7
    for k, name in enumerate("ABC"):
        assert post.sensitivity[name].low < alpha[k] < post.sensitivity[name].high


def test_probability_against_the_draws():
    p = table("swineflu_recovered")
    post = trueness.latent_class(p, rng=0, draws=2000, **NONE)
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
    post = trueness.latent_class(
        table("chloroplast_reconstructed"), rng=0, draws=2000, **NONE
    )
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
    free = trueness.latent_class(p, ordered=False, rng=0, draws=1000, **NONE)
    assert any("label switching" in n for n in free.notes)
    share = (free.draws["sensitivity"].mean(axis=1) < 0.5).mean()
    assert share == pytest.approx(0.5, abs=0.05)
    ordered = trueness.latent_class(p, rng=0, draws=1000, **NONE)
    assert not any("swap" in n for n in ordered.notes)
    assert ordered.sensitivity["A"].low > 0.8


def test_same_seed_same_answer_and_order_of_columns_is_only_a_name():
    p = table("chloroplast_reconstructed")
    one = trueness.latent_class(p, rng=7, draws=1000, **NONE)
    two = trueness.latent_class(p, rng=7, draws=1000, **NONE)
    assert np.array_equal(one.draws["sensitivity"], two.draws["sensitivity"])
    other = trueness.latent_class(
        p[["NCC_C3", "AA_C1", "DP_C2"]], rng=1, draws=4000, **NONE
    )
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
    post = trueness.latent_class(p, rng=0, draws=1000, **NONE)
    assert any("D votes 0 in every case" in n for n in post.notes)
    assert post.specificity["D"].value > 0.9


def test_prior_alone_is_recognised():
    """Verified negatives only say nothing about sensitivity."""
    p = trueness.Panel(["A", "B"], [[1, 0], [0, 1], [0, 0]], neg=[5, 8, 90])
    post = trueness.latent_class(p, ordered=False, rng=0, draws=2000, **NONE)
    e = post.sensitivity["A"]
    assert e.value == pytest.approx(0.5, abs=0.03)
    assert e.high - e.low == pytest.approx(0.95, abs=0.03)


@pytest.mark.filterwarnings("ignore:latent_class")
def test_not_converged_is_a_warning(monkeypatch):
    monkeypatch.setattr(_sampling, "MOST", {False: 4000, True: 4000})
    monkeypatch.setattr(_sampling, "MOST_STEPS", 1)
    monkeypatch.setattr(_sampling, "REFIT", 3)
    with pytest.warns(trueness.NotConverged, match="effective draws of the 50,000"):
        post = trueness.latent_class(
            table("pathologists_holmquist1967"), draws=50_000, **NONE
        )
    assert not post.diagnostics.converged


def test_shared_errors_have_intervals_and_no_value():
    post = trueness.latent_class(table("hiv_alvord1988"))
    assert not post.identified
    assert post.dependence == "shared"
    assert np.isnan([e.value for e in post.estimates.values()]).all()
    assert np.isnan(post.summary()["mean"]).all()
    alone = post.independent
    assert alone.dependence == "none"
    assert alone.prevalence.value == pytest.approx(0.540, abs=0.003)
    for name, e in post.estimates.items():  # wider than if errors were independent
        other = alone.estimates[name]
        assert e.high - e.low > 0.9 * (other.high - other.low)
    # Qu, Tan, Kutner 1996: the tests err together
    assert post.log_bayes_factor > 3
    assert "contradict independent errors" in post.notes[0]
    assert "if independent" in repr(post)
    assert "nan" not in repr(post)


@pytest.mark.slow
@pytest.mark.parametrize("r", [0.0, 0.3])
@pytest.mark.parametrize("k", [3, 5])
def test_votes_alone_never_determine_the_answer(r, k):
    rng = np.random.default_rng(k)
    truth = rng.random(500) < 0.4
    z = np.sqrt(r) * rng.standard_normal((500, 1)) + np.sqrt(
        1 - r
    ) * rng.standard_normal((500, k))
    votes = (z < np.where(truth, 1.0, -1.0)[:, None]).astype(float)
    names = [f"T{i}" for i in range(k)]
    columns = dict(zip(names, votes.T, strict=True))
    post = trueness.latent_class(trueness.panel(None, columns))
    assert not post.identified
    assert np.isnan(post.prevalence.value)
    assert post.prevalence.low < 0.4 < post.prevalence.high


def test_labels_give_the_rate_of_prevalence(rng):
    truth, votes = simulate(rng, 400, 0.4, [0.9, 0.8, 0.85], [0.1, 0.2, 0.15])
    known = np.where(np.arange(400) < 60, truth.astype(float), np.nan)
    p = trueness.panel(known, dict(zip("ABC", votes.T, strict=True)))
    for how in ("random", "by verdict"):
        post = trueness.latent_class(p, labelled=how)
        rate = trueness.prevalence(p, labelled=how)
        e = post.prevalence
        assert (e.value, e.low, e.high) == (rate.value, rate.low, rate.high)
        assert post.identified
        assert post.sensitivity["A"].value == rate.judges["A"].sensitivity.value
    assert "If errors were independent" in post.notes[0]
    a, b = post.model.class_probabilities(post.flat, np.array(ROWS, float))
    assert a.sum(axis=1) == pytest.approx(np.ones(len(a)))
    assert b.sum(axis=1) == pytest.approx(np.ones(len(b)))


def test_labels_enter_the_likelihood_with_a_prior(rng):
    truth, votes = simulate(rng, 300, 0.4, [0.9, 0.8, 0.85], [0.1, 0.2, 0.15])
    known = np.where(np.arange(300) < 80, truth.astype(float), np.nan)
    p = trueness.panel(known, dict(zip("ABC", votes.T, strict=True)))
    post = trueness.latent_class(p, prior={"prevalence": (2, 2)})
    assert post.dependence == "shared"
    assert post.identified
    e, wide = post.prevalence, trueness.latent_class(p.hide()).prevalence
    assert e.low < 0.4 < e.high
    assert e.high - e.low < 0.6 * (wide.high - wide.low)


def test_record_shows_itself():
    post = trueness.latent_class(table("swineflu_recovered"), rng=0, draws=500, **NONE)
    assert "sensitivity[NPA_C1]" in repr(post)
    assert "Not identified" in repr(post)
    assert "<table>" in post._repr_html_()
    d = post.to_dict()
    assert d["prevalence"]["value"] == post.prevalence.value
    assert d["dependence"] == "none"
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
    ({"dependence": "magic"}, "dependence must be one of"),
    ({"labelled": "by truth"}, "labelled must be one of"),
    ({"level": 95}, "level must lie"),
]


@pytest.mark.parametrize(("options", "words"), OPTIONS)
def test_bad_options(options, words):
    with pytest.raises(trueness.InputError, match=words):
        trueness.latent_class(table("snp1000_reconstructed"), **options)


def test_bad_rows_and_populations():
    post = trueness.latent_class(
        table("huiwalter1980_tuberculin"), rng=0, draws=200, **NONE
    )
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
