"""Latent classes: by hand, quadrature, brute force, published posteriors, edges."""

import itertools
from dataclasses import replace

import numpy as np
import pytest
from scipy.special import betaln, ndtr, ndtri
from scipy.stats import beta, kstest

import trueness
from no_gold import simulate, table
from trueness.nogold import sampling as _sampling
from trueness.nogold.model import order_mass, read_model
from trueness.nogold.patterns import read_patterns

NONE = {"dependence": "none"}


def model(data, prior=None, ordered=True, shared=False):
    return replace(read_model(read_patterns(data), prior, ordered), shared=shared)


def by_hand(x, counts, phi, alpha, beta):
    """Log likelihood with plain arithmetic, one pattern after the other."""
    total = 0.0
    for row, (neg, pos, unknown) in zip(x, counts, strict=True):
        a, b = (
            np.prod([p if v else 1 - p for v, p in zip(row, r, strict=True) if v == v])
            for r in (alpha, beta)
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
        assert log_p[i] @ m.patterns.cells.counts == pytest.approx(expected, rel=1e-10)


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


ROWS = list(itertools.product((0, 1), repeat=3))


def test_posterior_and_evidence_by_brute_force(rng):
    """Prior draws weighted by the likelihood: slow, simple, the same in both models."""
    p = trueness.Panel(["A", "B", "C"], ROWS, unknown=[12, 2, 3, 1, 2, 2, 1, 7])
    post = trueness.latent_class(p, draws=4000)
    for found in (post, post.independent):
        m = model(p, shared=found is post)
        v = rng.standard_normal((150_000, m.dim))
        w = np.exp(m.log_ratio(v))
        flat, ours = (np.hstack(list(x.values())) for x in (m.natural(v), found.flat))
        worth, d = w.sum() ** 2 / (w @ w), found.diagnostics
        error = ours.std(axis=0) * np.sqrt(1 / worth + 1 / d.effective)
        assert (np.abs(ours.mean(axis=0) - w @ flat / w.sum()) < 4 * error).all()
        far = 4 * np.hypot(w.std() / w.mean() / np.sqrt(w.size), d.log_evidence_sd)
        assert d.log_evidence == pytest.approx(np.log(w.mean()), abs=far)


@pytest.mark.slow
def test_runs_vary_as_much_as_they_say(rng):
    """Means of other seeds scatter by the Monte-Carlo error that each run states."""
    p = trueness.Panel(["A", "B", "C"], ROWS, unknown=[12, 2, 3, 1, 2, 2, 1, 7])
    runs = [trueness.latent_class(p, rng=seed, draws=4000) for seed in range(12)]
    for posts in (runs, [post.independent for post in runs]):
        means = [np.hstack(list(q.flat.values())).mean(axis=0) for q in posts]
        said = np.mean([q.diagnostics.mcse**2 for q in posts], axis=0)
        # of 11 degrees of freedom, and parameters that go together
        assert (np.var(means, axis=0, ddof=1) / said).mean() < 2


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
    assert "sensitivity[NPA_C1]" in repr(post)
    assert "<table>" in post._repr_html_()
    assert post.to_dict()["prevalence"]["value"] == post.prevalence.value
    assert list(post.to_frame()["parameter"]) == list(SWINE_FLU)
    assert "P(best)" in repr(post.ranking())


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


def test_rare_and_huge():
    """10^9 cases, prevalence near 10^-6, in the time of a small table."""
    alpha, beta, phi = [0.9, 0.8, 0.85], [1e-4, 2e-4, 5e-5], 1e-6
    rows = np.array(ROWS, float)
    a = np.prod(np.where(rows, alpha, 1 - np.array(alpha)), axis=1)
    b = np.prod(np.where(rows, beta, 1 - np.array(beta)), axis=1)
    count = np.rint(1e9 * (phi * a + (1 - phi) * b)).astype(int)
    p = trueness.Panel(["A", "B", "C"], rows, unknown=count)
    post = trueness.latent_class(p, rng=5, draws=2000, **NONE)
    assert post.diagnostics.converged
    assert post.prevalence.low < phi < post.prevalence.high
    assert post.prevalence.se < 1e-7
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


@pytest.mark.filterwarnings("ignore:latent_class")
def test_not_converged_is_a_warning(monkeypatch):
    for name, value in (
        ("MAX_PROPOSALS_INDEPENDENT", 4000),
        ("MAX_STEPS_TIMES_TESTS", 0),
        ("STEPS_PER_FIT", 0),
    ):
        monkeypatch.setattr(_sampling, name, value)
    with pytest.warns(
        trueness.NotConvergedWarning, match="effective draws of the 9,000"
    ):
        post = trueness.latent_class(table("swineflu_recovered"), draws=9000, **NONE)
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
    # two tests do not determine the answer even then
    two = trueness.latent_class(table("swineflu_recovered"), draws=400)
    assert "if independent" not in repr(two)
    assert "nan" not in repr(post) + repr(two)


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
    for share in post.model.class_probabilities(post.flat, np.array(ROWS, float)):
        assert share.sum(axis=1) == pytest.approx(np.ones(len(share)))
    # with a prior they enter the likelihood
    post = trueness.latent_class(p, prior={"prevalence": (2, 2)})
    assert post.dependence == "shared"
    assert post.identified
    e, wide = post.prevalence, trueness.latent_class(p.without_labels()).prevalence
    assert e.low < 0.4 < e.high
    assert e.high - e.low < 0.6 * (wide.high - wide.low)


P, NAN = trueness.Panel, np.nan
OK, EMPTY = (P(["A", "B"], [[1, 1], [0, 0]], unknown=n) for n in ([5, 6], [0, 0]))
AC = P(["A", "C"], [[1, 1], [0, 0]], unknown=[5, 6])
BAD = [
    (P(["A", "B"], [[0.3, 1], [0, 1]], unknown=[1, 1]), "panel.vote"),
    (P(["A"], [[1], [0]], unknown=[1, 1]), "at least 2 classifiers"),
    (P(["A", "B"], [[1, 0]], unknown=[9]), "same vote"),
    (P(["A", "B"], [[1, 0]], unknown=[0]), "is empty"),
    (trueness.tally([0, 1], [0.1, 0.2]), "needs a Panel"),
    ({}, "at least one population"),
    (P(["A", "B"], [[1, NAN]], unknown=[3]), "no vote at all"),
    ({"x": OK, "y": AC}, "same classifiers"),
    ({"x": OK, "y": EMPTY}, "in population 'y' is empty"),
    (P(["A", "B"], [[1, 1], [0, 0]], unknown=[10**12] * 2), "all counts by 1,000"),
]


@pytest.mark.parametrize(("data", "words"), BAD)
def test_bad_data(data, words):
    with pytest.raises(ValueError, match=words):
        trueness.latent_class(data)


OPTIONS = [
    ({"prior": {"sens": (1, 1)}}, "sensitivity"),
    ({"prior": {"sensitivity": {"X": (1, 1)}}}, "names 'X'"),
    ({"prior": {"sensitivity": (0, 1)}}, "above zero"),
    ({"prior": {"sensitivity": 0.9}}, r"must be \(a, b\)"),
    ({"prior": (1, 1)}, "must be a mapping"),
    *(
        ({"prior": {"sensitivity": ab}}, "prior")
        for ab in ((np.inf, 1), (NAN, 1), (-1, 1), ("a", 1), (1, 1, 1))
    ),
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
    assert post.probability([[1, 1]], population="pop1")[0] < 1
    for row, where, words in (
        ([1, 0], None, "Which population is meant"),
        ([1, 0, 1], "pop1", "shape"),
        ([1, 0.5], "pop1", "0, 1 or NaN"),
    ):
        with pytest.raises(trueness.InputError, match=words):
            post.probability([row], population=where)
    with pytest.raises(trueness.InputError, match="must be one of"):
        post.ranking("auc")


def fit(rows, count, names=None, **options):
    names = names or [f"T{i}" for i in range(np.shape(rows)[1])]
    p = trueness.Panel(names, rows, unknown=count)
    return trueness.latent_class(p, rng=0, draws=300, **options)


FITTED = {
    "one test is constant": ([[1, 0], [1, 1]], [9, 4]),
    "two cases": ([[1, 0], [0, 1]], [1, 1]),
    "two tests never agree": ([[1, 0], [0, 1]], [50, 60]),
    "three tests never agree": ([[1, 0, 0], [0, 1, 0], [0, 0, 1]], [50, 60, 40]),
    "all agree always": ([[1, 1, 1], [0, 0, 0]], [50, 60]),
    "the third is the opposite": ([[1, 1, 0], [0, 0, 1]], [500, 600]),
    "never on the same case": ([[1, NAN], [NAN, 1], [0, NAN], [NAN, 0]], [3, 4, 5, 6]),
    "a case without votes": ([[1, 1], [0, 1], [NAN, NAN], [0, 0]], [3, 4, 5, 6]),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", sorted(FITTED))
def test_fitted_with_good_diagnostics(name):
    post = fit(*FITTED[name])
    for each in (post, post.independent):
        assert each.diagnostics.converged, each.diagnostics.message
        for word in ("prevalence", "sensitivity", "specificity"):
            assert ((each.flat[word] >= 0) & (each.flat[word] <= 1)).all()
    assert not post.identified


def test_twenty_classifiers(rng):
    _, votes = simulate(rng, 30, 0.4, [0.8] * 20, [0.2] * 20)
    p = trueness.panel(None, {f"T{i}": votes[:, i] for i in range(20)})
    post = trueness.latent_class(p, rng=0, draws=100, dependence="none")
    assert post.diagnostics.converged
    assert post.prevalence.low < 0.4 < post.prevalence.high
    assert len(post.sensitivity) == 20


COUNTS_3 = [20, 3, 4, 2, 5, 2, 3, 11]


def test_order_and_parts_and_empty_rows_change_nothing(rng):
    whole = P(["A", "B", "C"], ROWS, unknown=COUNTS_3)
    split = np.array([5, 3, 0, 2, 1, 2, 0, 11])
    parts = [P(["A", "B", "C"], ROWS, unknown=n) for n in (split, COUNTS_3 - split)]
    cases = np.repeat(np.array(ROWS, float), COUNTS_3, axis=0)
    shuffled = dict(zip("ABC", rng.permutation(cases).T, strict=True))
    first, *others = (
        trueness.latent_class(x, rng=3, draws=200, **NONE).flat
        for x in (whole, parts[1] + parts[0], trueness.panel(None, shuffled))
    )
    for other in others:
        assert all(np.array_equal(first[k], other[k]) for k in first)


def log_densities(p, theta, prior=None, ordered=True):
    m = model(p, prior, ordered)
    prior_density, log_p = m.log_cells(theta)
    return prior_density, log_p @ m.patterns.cells.counts


def test_turned_tables_turn_the_parameters(rng):
    """Other order of tests; 0 for 1 with positive for negative; cases without votes."""
    rows, some = np.array(ROWS, float), [0, 1, 0, 2, 0, 0, 0, 3]
    p = P(["A", "B", "C"], rows, unknown=COUNTS_3, pos=some)
    prior = {"sensitivity": {"A": (3, 2)}, "specificity": {"B": (4, 1)}}
    theta = rng.normal(size=(9, 7))
    one = log_densities(p, theta, prior)
    two = log_densities(p[["C", "A", "B"]], theta[:, [0, 3, 1, 2, 6, 4, 5]], prior)
    assert np.allclose(one, two, rtol=1e-10)
    mirror = P(["A", "B", "C"], 1 - rows, unknown=COUNTS_3, neg=some)
    turned = {"specificity": {"A": (3, 2)}, "sensitivity": {"B": (4, 1)}}
    other = -theta[:, [0, 4, 5, 6, 1, 2, 3]]
    one = log_densities(p, theta, prior, False)
    assert np.allclose(one, log_densities(mirror, other, turned, False), rtol=1e-10)
    more = p + P(["A", "B", "C"], [[NAN] * 3], unknown=[1000])
    same = log_densities(more, theta)[1]
    assert np.allclose(log_densities(p, theta)[1], same)


def test_more_of_the_same_narrows_the_posterior():
    """A hundred times the counts: a tenth of the spread, at the same place."""
    count = np.array([400, 40, 50, 30, 60, 35, 45, 340])
    one = trueness.latent_class(
        P(["A", "B", "C"], ROWS, unknown=count), rng=0, draws=2000, **NONE
    ).summary()
    many = P(["A", "B", "C"], ROWS, unknown=100 * count)
    two = trueness.latent_class(many, rng=0, draws=2000, **NONE).summary()
    assert one["sd"] / two["sd"] == pytest.approx(10 * np.ones(7), rel=0.15)
    assert (np.abs(one["mean"] - two["mean"]) < 2 * one["sd"]).all()


def test_verified_cases_give_beta_posteriors():
    """All labels known, no order: every marginal is a Beta distribution, exactly."""
    rows = [[1, 1], [1, 0], [0, 1], [0, 0]]
    p = P(["A", "B"], rows, pos=[30, 20, 5, 5], neg=[2, 8, 10, 40])
    post = trueness.latent_class(p, ordered=False, rng=0, draws=3000, **NONE)
    expected = {
        "prevalence": [(61, 61)],
        "sensitivity": [(51, 11), (36, 26)],
        "specificity": [(51, 11), (49, 13)],
    }
    for word, pairs in expected.items():
        for column, ab in zip(post.flat[word].T, pairs, strict=True):
            assert kstest(column, beta(*ab).cdf).pvalue > 0.001


@pytest.mark.slow
def test_ranks_of_the_truth_are_uniform():
    """Parameters from the prior, votes from the model: small tables."""
    rng = np.random.default_rng(5)
    place = []
    while len(place) < 100:
        u, v = rng.random((2, 2))
        alpha, beta, phi = np.maximum(u, v), np.minimum(u, v), rng.random()
        _, votes = simulate(rng, 20, phi, alpha, beta)
        if (votes == votes[0]).all():
            continue
        d = trueness.latent_class(
            trueness.panel(None, dict(zip("AB", votes.T, strict=True))),
            rng=rng,
            draws=200,
            **NONE,
        ).draws
        flat = np.column_stack([d["prevalence"], d["sensitivity"], d["specificity"]])
        place.append((flat < np.r_[phi, alpha, 1 - beta]).mean(axis=0))
    for column in np.array(place).T:
        assert kstest(column, "uniform").pvalue > 0.005


def test_independence_that_votes_contradict_is_said_when_it_is_assumed():
    votes = table("hiv_alvord1988")

    assumed = trueness.latent_class(votes, dependence="none", rng=0)
    asked = trueness.latent_class(votes, rng=0)

    assert assumed.log_bayes_factor == asked.log_bayes_factor > 3
    assert "The votes contradict independent errors" in assumed.notes[0]
    assert assumed.prevalence == asked.independent.prevalence
