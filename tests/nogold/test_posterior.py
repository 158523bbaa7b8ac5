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
    """Return the model of a panel, with independent errors or with shared ones."""
    return replace(read_model(read_patterns(data), prior, ordered), shared=shared)


def all_parameters(draws):
    """Lay draws of all parameters side by side, (draws, parameters)."""
    return np.hstack(list(draws.values()))


def pattern_probability(row, rates):
    """Multiply the probabilities of the votes of a row; a missing one counts 1."""
    probability = 1.0
    for vote, rate in zip(row, rates, strict=True):
        if vote == 1:
            probability *= rate
        elif vote == 0:
            probability *= 1 - rate
    return probability


def log_likelihood_by_hand(rows, counts, phi, alpha, beta):
    """Log likelihood with plain arithmetic, one pattern after the other."""
    total = 0.0
    for row, (neg, pos, unknown) in zip(rows, counts, strict=True):
        positive = phi * pattern_probability(row, alpha)
        negative = (1 - phi) * pattern_probability(row, beta)
        total += unknown * np.log(positive + negative)
        total += pos * np.log(positive) + neg * np.log(negative)
    return total


X = [[1, 1, 0], [1, np.nan, 1], [0, 0, np.nan], [0, 1, 1]]
COUNTS = [(1, 2, 3), (0, 1, 5), (4, 0, 2), (2, 2, 0)]


@pytest.fixture
def partly_labelled():
    """Three tests, some of them not run, and cases with labels and without."""
    neg, pos, unknown = np.transpose(COUNTS)
    return trueness.Panel(["A", "B", "C"], X, neg, pos, unknown)


@pytest.mark.parametrize("ordered", [True, False])
def test_likelihood_by_hand(rng, partly_labelled, ordered):
    latent = model(partly_labelled, ordered=ordered)
    points = rng.normal(size=(5, latent.dim))
    parameters = latent.natural(points)
    expected = [
        log_likelihood_by_hand(
            X,
            COUNTS,
            phi=parameters["prevalence"][i, 0],
            alpha=parameters["sensitivity"][i],
            beta=1 - parameters["specificity"][i],
        )
        for i in range(5)
    ]

    _, log_cells = latent.log_cells(points)

    log_likelihood = log_cells @ latent.patterns.cells.counts
    assert log_likelihood == pytest.approx(expected, rel=1e-10)


SHARED = {
    "sensitivity": np.array([[0.8, 0.7, 0.9]]),
    "specificity": np.array([[0.9, 0.6, 0.7]]),
    "spread": np.array([[1.5, 2.6]]),
}


def simulate_pattern(row, rate, sigma, ease):
    """Return how often cases of this ease show a row of votes."""
    center = ndtri(rate) * np.sqrt(1 + sigma**2)
    yes = ndtr(center + sigma * ease[:, None])
    of_votes = np.where(row == 1, yes, 1 - yes)
    return np.where(np.isnan(row), 1.0, of_votes).prod(axis=1).mean()


def test_shared_errors_by_simulation(rng, partly_labelled):
    """Votes drawn from the formula, case by case, against the integral."""
    rows = np.array([[1.0, 1, 1], [1, 0, 0], [0, np.nan, 1]])
    ease = rng.standard_normal(400_000)
    alpha = SHARED["sensitivity"][0]
    beta = 1 - SHARED["specificity"][0]

    in_positives, in_negatives = model(
        partly_labelled, shared=True
    ).class_probabilities(SHARED, rows)

    for j, row in enumerate(rows):
        of_positives = simulate_pattern(row, alpha, 1.5, ease)
        of_negatives = simulate_pattern(row, beta, 2.6, ease)
        assert in_positives[0, j] == pytest.approx(of_positives, abs=0.003)
        assert in_negatives[0, j] == pytest.approx(of_negatives, abs=0.003)


def test_shared_errors_keep_the_rate_of_each_test(partly_labelled):
    only_one_vote = np.where(np.eye(3) == 1, 1.0, np.nan)

    in_positives, in_negatives = model(
        partly_labelled, shared=True
    ).class_probabilities(SHARED, only_one_vote)

    assert in_positives == pytest.approx(SHARED["sensitivity"], abs=2e-4)
    assert in_negatives == pytest.approx(1 - SHARED["specificity"], abs=2e-4)


def order_mass_by_a_finite_sum(a, b, c, d):
    """P(X >= Y) for whole parameters is a finite sum of Beta functions."""
    i = np.arange(a)
    log_terms = betaln(c + i, b + d) - np.log(b + i) - betaln(1 + i, b) - betaln(c, d)
    return np.exp(log_terms).sum()


@pytest.mark.parametrize(
    "shapes", [*itertools.product((1, 3, 40), repeat=4), (400, 500, 30, 70)]
)
def test_order_mass_against_a_finite_sum(shapes):
    expected = order_mass_by_a_finite_sum(*shapes)

    assert order_mass(*shapes) == pytest.approx(expected, rel=1e-10, abs=1e-10)


ROWS = list(itertools.product((0, 1), repeat=3))
SMALL_TABLE = trueness.Panel(["A", "B", "C"], ROWS, unknown=[12, 2, 3, 1, 2, 2, 1, 7])


@pytest.mark.parametrize("shared", [True, False])
def test_posterior_and_evidence_by_brute_force(rng, shared):
    """Prior draws weighted by the likelihood: slow, simple, the same in both models."""
    latent = model(SMALL_TABLE, shared=shared)
    points = rng.standard_normal((150_000, latent.dim))
    weight = np.exp(latent.log_ratio(points))
    effective = weight.sum() ** 2 / (weight @ weight)
    mean = weight @ all_parameters(latent.natural(points)) / weight.sum()
    evidence_error = weight.std() / weight.mean() / np.sqrt(weight.size)

    post = trueness.latent_class(SMALL_TABLE, draws=4000)
    if not shared:
        post = post.independent

    draws = all_parameters(post.flat)
    diagnostics = post.diagnostics
    error = draws.std(axis=0) * np.sqrt(1 / effective + 1 / diagnostics.effective)
    assert (np.abs(draws.mean(axis=0) - mean) < 4 * error).all()
    tolerance = 4 * np.hypot(evidence_error, diagnostics.log_evidence_sd)
    assert diagnostics.log_evidence == pytest.approx(
        np.log(weight.mean()), abs=tolerance
    )


@pytest.mark.slow
def test_runs_vary_as_much_as_they_say():
    """Means of other seeds scatter by the Monte-Carlo error that each run states."""
    runs = [
        trueness.latent_class(SMALL_TABLE, rng=seed, draws=4000) for seed in range(12)
    ]

    for posts in (runs, [post.independent for post in runs]):
        means = [all_parameters(post.flat).mean(axis=0) for post in posts]
        stated = np.mean([post.diagnostics.mcse**2 for post in posts], axis=0)
        # of 11 degrees of freedom, and parameters that go together
        assert (np.var(means, axis=0, ddof=1) / stated).mean() < 2


# the exact posterior of the recovered table (examples/no_gold)
SWINE_FLU = {
    "prevalence": (0.3056, 0.0946),
    "sensitivity[NPA_C1]": (0.8330, 0.1201),
    "sensitivity[NS_C2]": (0.7316, 0.1571),
    "specificity[NPA_C1]": (0.8756, 0.0771),
    "specificity[NS_C2]": (0.9330, 0.0513),
}


@pytest.fixture(scope="module")
def swine_flu():
    return trueness.latent_class(table("swineflu_recovered"), rng=3, **NONE)


def test_swine_flu_as_summed_exactly(swine_flu):
    summary = swine_flu.summary()

    for name, mean, sd, mcse in zip(
        summary["parameter"],
        summary["mean"],
        summary["sd"],
        summary["mcse"],
        strict=True,
    ):
        expected_mean, expected_sd = SWINE_FLU[name]
        assert mean == pytest.approx(expected_mean, abs=4.5 * mcse + 5e-5)
        assert sd == pytest.approx(expected_sd, rel=0.06)
    assert swine_flu.diagnostics.effective >= 9000


def test_two_tests_are_not_identified(swine_flu):
    assert not swine_flu.identified
    assert "prior determines the rest" in swine_flu.notes[0]


def test_a_posterior_is_shown_in_every_form(swine_flu):
    assert "sensitivity[NPA_C1]" in repr(swine_flu)
    assert "<table>" in swine_flu._repr_html_()

    as_dict = swine_flu.to_dict()
    assert as_dict["prevalence"]["value"] == swine_flu.prevalence.value
    assert list(swine_flu.to_frame()["parameter"]) == list(SWINE_FLU)
    assert "P(best)" in repr(swine_flu.ranking())


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

    quantiles = post.quantile([0.025, 0.5, 0.975])

    for name, expected in published.items():
        assert quantiles[name] == pytest.approx(expected, abs=0.012), name


def test_rare_and_huge():
    """10^9 cases, prevalence near 10^-6, in the time of a small table."""
    alpha = np.array([0.9, 0.8, 0.85])
    beta = np.array([1e-4, 2e-4, 5e-5])
    phi = 1e-6
    probability = [
        phi * pattern_probability(row, alpha)
        + (1 - phi) * pattern_probability(row, beta)
        for row in ROWS
    ]
    counts = np.rint(1e9 * np.array(probability)).astype(int)
    panel = trueness.Panel(["A", "B", "C"], ROWS, unknown=counts)

    post = trueness.latent_class(panel, rng=5, draws=2000, **NONE)

    assert post.diagnostics.converged
    assert post.prevalence.low < phi < post.prevalence.high
    assert post.prevalence.se < 1e-7
    for name, rate in zip("ABC", alpha, strict=True):
        assert post.sensitivity[name].low < rate < post.sensitivity[name].high


def test_probability_is_the_mean_over_the_draws(swine_flu):
    draws = swine_flu.draws
    phi = draws["prevalence"]
    alpha = draws["sensitivity"]
    beta = 1 - draws["specificity"]
    positive = phi * alpha[:, 0] * (1 - alpha[:, 1])
    negative = (1 - phi) * beta[:, 0] * (1 - beta[:, 1])
    expected = (positive / (positive + negative)).mean()

    assert swine_flu.probability([[1, 0]])[0] == pytest.approx(expected)


def test_probability_of_a_case_with_a_missing_vote(swine_flu):
    draws = swine_flu.draws
    positive = draws["prevalence"] * draws["sensitivity"][:, 0]
    negative = (1 - draws["prevalence"]) * (1 - draws["specificity"][:, 0])
    expected = (positive / (positive + negative)).mean()

    assert swine_flu.probability([[1, np.nan]])[0] == pytest.approx(expected)
    without_votes = swine_flu.probability([[np.nan, np.nan]], prevalence=0.2)
    assert without_votes[0] == pytest.approx(0.2)


def test_probability_is_a_map_for_panels(swine_flu):
    combined = table("swineflu_recovered").combine(swine_flu.probability)

    assert combined.n == 48
    assert len(combined) == 4


def test_ranking_counts_draws():
    post = trueness.latent_class(
        table("chloroplast_reconstructed"), rng=0, draws=2000, **NONE
    )
    sensitivity = post.draws["sensitivity"]
    best = (sensitivity[:, 0] >= sensitivity.max(axis=1)).mean()

    ranking = post.ranking("sensitivity")

    assert ranking["AA_C1"][0] == pytest.approx(best, abs=1e-3)
    assert ranking.best == "AA_C1"
    assert ranking.probability.sum(axis=0) == pytest.approx(np.ones(3))
    assert ranking.probability.sum(axis=1) == pytest.approx(np.ones(3))
    assert list(ranking.to_frame()["classifier"]) == ["AA_C1", "DP_C2", "NCC_C3"]


@pytest.fixture
def three_good_tests(rng):
    _, votes = simulate(rng, 400, 0.5, [0.9] * 3, [0.1] * 3)
    return trueness.panel(None, dict(zip("ABC", votes.T, strict=True)))


def test_labels_switch_without_order(three_good_tests):
    free = trueness.latent_class(
        three_good_tests, ordered=False, rng=0, draws=1000, **NONE
    )

    assert any("label switching" in note for note in free.notes)
    switched = (free.draws["sensitivity"].mean(axis=1) < 0.5).mean()
    assert switched == pytest.approx(0.5, abs=0.05)


def test_labels_do_not_switch_with_order(three_good_tests):
    ordered = trueness.latent_class(three_good_tests, rng=0, draws=1000, **NONE)

    assert not any("label switching" in note for note in ordered.notes)
    assert ordered.sensitivity["A"].low > 0.8


def test_a_test_that_says_nothing_is_noted():
    """Never run with another test and always 0: its sensitivity is the prior's."""
    panel = trueness.Panel(
        ["A", "B", "C", "D"],
        [[1, 1, 1, 0], [0, 0, 0, 0], [1, 0, 1, 0], [0, 1, 0, 0]],
        unknown=[40, 50, 3, 4],
    )

    post = trueness.latent_class(panel, rng=0, draws=1000, **NONE)

    assert any("D votes 0 in every case" in note for note in post.notes)
    assert post.specificity["D"].value > 0.9


@pytest.mark.filterwarnings("ignore:latent_class")
def test_not_converged_is_a_warning(monkeypatch):
    for name, value in (
        ("MAX_PROPOSALS_INDEPENDENT", 4000),
        ("MAX_STEPS_TIMES_TESTS", 0),
        ("STEPS_PER_FIT", 0),
    ):
        monkeypatch.setattr(_sampling, name, value)
    with pytest.warns(trueness.NotConvergedWarning, match="effective draws of 9,000"):
        post = trueness.latent_class(table("swineflu_recovered"), draws=9000, **NONE)
    assert not post.diagnostics.converged


@pytest.fixture(scope="module")
def hiv():
    """The posterior of tests that are known to err together."""
    return trueness.latent_class(table("hiv_alvord1988"))


def test_shared_errors_have_intervals_and_no_value(hiv):
    assert not hiv.identified
    assert hiv.dependence == "shared"
    assert np.isnan([estimate.value for estimate in hiv.estimates.values()]).all()
    assert np.isnan(hiv.summary()["mean"]).all()


def test_shared_errors_have_the_answer_of_independent_ones_beside(hiv):
    independent = hiv.independent

    assert independent.dependence == "none"
    assert independent.prevalence.value == pytest.approx(0.540, abs=0.003)
    for name, estimate in hiv.estimates.items():
        width = estimate.high - estimate.low
        narrower = independent.estimates[name]
        assert width > 0.9 * (narrower.high - narrower.low)


def test_evidence_for_shared_errors_is_said(hiv):
    """Qu, Tan, Kutner 1996: the tests err together."""
    assert hiv.log_bayes_factor > 3
    assert "contradict independent errors" in hiv.notes[0]


def test_what_is_not_determined_is_shown_without_numbers(hiv):
    # two tests do not determine the answer even if errors are independent
    of_two_tests = trueness.latent_class(table("swineflu_recovered"), draws=400)

    assert "if errors were independent" in repr(hiv)
    assert "if errors were independent" not in repr(of_two_tests)
    assert "nan" not in repr(hiv) + repr(of_two_tests)


@pytest.fixture(scope="module")
def some_labels():
    """Three tests on 400 cases with a prevalence of 0.4; 60 have a label."""
    rng = np.random.default_rng(4)
    truth, votes = simulate(rng, 400, 0.4, [0.9, 0.8, 0.85], [0.1, 0.2, 0.15])
    labels = np.where(np.arange(400) < 60, truth.astype(float), np.nan)
    return trueness.panel(labels, dict(zip("ABC", votes.T, strict=True)))


@pytest.mark.parametrize("labelled", ["random", "by verdict"])
def test_labels_give_the_rate_of_prevalence(some_labels, labelled):
    rate = trueness.prevalence(some_labels, labelled=labelled)

    post = trueness.latent_class(some_labels, labelled=labelled)

    estimate = post.prevalence
    assert (estimate.value, estimate.low, estimate.high) == (
        rate.value,
        rate.low,
        rate.high,
    )
    assert post.identified
    sensitivity = rate.judges["A"].sensitivity.value
    assert post.sensitivity["A"].value == pytest.approx(sensitivity, rel=1e-12)
    assert "If errors were independent" in post.notes[0]


def test_pattern_probabilities_by_labels_add_up_to_one(some_labels):
    post = trueness.latent_class(some_labels, labelled="by verdict")

    for probability in post.model.class_probabilities(post.flat, np.array(ROWS, float)):
        assert probability.sum(axis=1) == pytest.approx(np.ones(len(probability)))


def test_with_a_prior_labels_enter_the_likelihood(some_labels):
    without_labels = trueness.latent_class(some_labels.without_labels()).prevalence

    post = trueness.latent_class(some_labels, prior={"prevalence": (2, 2)})

    assert post.dependence == "shared"
    assert post.identified
    low = post.prevalence.low
    high = post.prevalence.high
    assert low < 0.4 < high
    assert high - low < 0.6 * (without_labels.high - without_labels.low)


P = trueness.Panel
NAN = np.nan
OK = P(["A", "B"], [[1, 1], [0, 0]], unknown=[5, 6])
EMPTY = P(["A", "B"], [[1, 1], [0, 0]], unknown=[0, 0])
AC = P(["A", "C"], [[1, 1], [0, 0]], unknown=[5, 6])
BAD = [
    (P(["A", "B"], [[0.3, 1], [0, 1]], unknown=[1, 1]), "panel.vote"),
    (P(["A"], [[1], [0]], unknown=[1, 1]), "at least 2 classifiers"),
    (P(["A", "B"], [[1, 0]], unknown=[9]), "same vote"),
    (P(["A", "B"], [[1, 0]], unknown=[0]), "is empty"),
    (trueness.tally([0, 1], [0.1, 0.2]), "needs a Panel"),
    ({}, "at least one population"),
    (P(["A", "B"], [[1, NAN]], unknown=[3]), "has no votes"),
    ({"x": OK, "y": AC}, "same classifiers"),
    ({"x": OK, "y": EMPTY}, "in population 'y' is empty"),
    (P(["A", "B"], [[1, 1], [0, 0]], unknown=[10**12] * 2), "all counts by 1,000"),
]


@pytest.mark.parametrize(("data", "message"), BAD)
def test_bad_data(data, message):
    with pytest.raises(ValueError, match=message):
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


@pytest.mark.parametrize(("options", "message"), OPTIONS)
def test_bad_options(options, message):
    with pytest.raises(trueness.InputError, match=message):
        trueness.latent_class(table("snp1000_reconstructed"), **options)


@pytest.fixture(scope="module")
def two_populations():
    return trueness.latent_class(
        table("huiwalter1980_tuberculin"), rng=0, draws=200, **NONE
    )


def test_the_population_is_named_where_there_are_several(two_populations):
    assert two_populations.probability([[1, 1]], population="pop1")[0] < 1


@pytest.mark.parametrize(
    ("row", "population", "message"),
    [
        ([1, 0], None, "Which population is meant"),
        ([1, 0, 1], "pop1", "shape"),
        ([1, 0.5], "pop1", "0, 1 or NaN"),
    ],
)
def test_bad_rows_and_populations(two_populations, row, population, message):
    with pytest.raises(trueness.InputError, match=message):
        two_populations.probability([row], population=population)


def test_a_ranking_by_an_unknown_measure_is_refused(two_populations):
    with pytest.raises(trueness.InputError, match="must be one of"):
        two_populations.ranking("auc")


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
    rows, counts = FITTED[name]

    shared = fit(rows, counts)

    assert not shared.identified
    for post in (shared, shared.independent):
        assert post.diagnostics.converged, post.diagnostics.message
        for parameter in ("prevalence", "sensitivity", "specificity"):
            draws = post.flat[parameter]
            assert ((draws >= 0) & (draws <= 1)).all()


def test_twenty_classifiers(rng):
    _, votes = simulate(rng, 30, 0.4, [0.8] * 20, [0.2] * 20)
    panel = trueness.panel(None, {f"T{i}": votes[:, i] for i in range(20)})

    post = trueness.latent_class(panel, rng=0, draws=100, dependence="none")

    assert post.diagnostics.converged
    assert post.prevalence.low < 0.4 < post.prevalence.high
    assert len(post.sensitivity) == 20


COUNTS_3 = np.array([20, 3, 4, 2, 5, 2, 3, 11])
WHOLE = P(["A", "B", "C"], ROWS, unknown=COUNTS_3)


def merged_parts(rng):
    in_first = np.array([5, 3, 0, 2, 1, 2, 0, 11])
    first = P(["A", "B", "C"], ROWS, unknown=in_first)
    second = P(["A", "B", "C"], ROWS, unknown=COUNTS_3 - in_first)
    return second + first


def shuffled_cases(rng):
    cases = np.repeat(np.array(ROWS, float), COUNTS_3, axis=0)
    shuffled = rng.permutation(cases)
    return trueness.panel(None, dict(zip("ABC", shuffled.T, strict=True)))


@pytest.mark.parametrize("same_cases", [merged_parts, shuffled_cases])
def test_order_and_parts_and_empty_rows_change_nothing(rng, same_cases):
    expected = trueness.latent_class(WHOLE, rng=3, draws=200, **NONE)

    post = trueness.latent_class(same_cases(rng), rng=3, draws=200, **NONE)

    for parameter, draws in expected.flat.items():
        assert np.array_equal(post.flat[parameter], draws)


def log_densities(panel, points, prior=None, ordered=True):
    """Return log prior and log likelihood at points of the coordinates, (2, n)."""
    latent = model(panel, prior, ordered)
    log_prior, log_cells = latent.log_cells(points)
    return np.array([log_prior, log_cells @ latent.patterns.cells.counts])


LABELLED_POSITIVE = [0, 1, 0, 2, 0, 0, 0, 3]
LABELLED = P(["A", "B", "C"], ROWS, unknown=COUNTS_3, pos=LABELLED_POSITIVE)
PRIOR = {"sensitivity": {"A": (3, 2)}, "specificity": {"B": (4, 1)}}


def test_the_order_of_the_tests_does_not_matter(rng):
    points = rng.normal(size=(9, 7))
    reordered = points[:, [0, 3, 1, 2, 6, 4, 5]]

    densities = log_densities(LABELLED[["C", "A", "B"]], reordered, PRIOR)

    expected = log_densities(LABELLED, points, PRIOR)
    assert np.allclose(densities, expected, rtol=1e-10)


def test_positive_and_negative_may_change_their_names(rng):
    mirrored = P(
        ["A", "B", "C"],
        1 - np.array(ROWS, float),
        unknown=COUNTS_3,
        neg=LABELLED_POSITIVE,
    )
    mirrored_prior = {"specificity": {"A": (3, 2)}, "sensitivity": {"B": (4, 1)}}
    points = rng.normal(size=(9, 7))
    mirrored_points = -points[:, [0, 4, 5, 6, 1, 2, 3]]

    densities = log_densities(mirrored, mirrored_points, mirrored_prior, False)

    expected = log_densities(LABELLED, points, PRIOR, False)
    assert np.allclose(densities, expected, rtol=1e-10)


def test_cases_without_votes_do_not_change_the_likelihood(rng):
    without_votes = P(["A", "B", "C"], [[NAN] * 3], unknown=[1000])
    points = rng.normal(size=(9, 7))

    _, log_likelihood = log_densities(LABELLED + without_votes, points)

    _, expected = log_densities(LABELLED, points)
    assert np.allclose(log_likelihood, expected)


def test_more_of_the_same_narrows_the_posterior():
    """A hundred times the counts: a tenth of the deviation, at the same place."""
    counts = np.array([400, 40, 50, 30, 60, 35, 45, 340])
    small = P(["A", "B", "C"], ROWS, unknown=counts)
    large = P(["A", "B", "C"], ROWS, unknown=100 * counts)

    of_small = trueness.latent_class(small, rng=0, draws=2000, **NONE).summary()
    of_large = trueness.latent_class(large, rng=0, draws=2000, **NONE).summary()

    ratio = of_small["sd"] / of_large["sd"]
    distance = np.abs(of_small["mean"] - of_large["mean"])
    assert ratio == pytest.approx(10 * np.ones(7), rel=0.15)
    assert (distance < 2 * of_small["sd"]).all()


def test_verified_cases_give_beta_posteriors():
    """All labels known, no order: every marginal is a Beta distribution, exactly."""
    rows = [[1, 1], [1, 0], [0, 1], [0, 0]]
    panel = P(["A", "B"], rows, pos=[30, 20, 5, 5], neg=[2, 8, 10, 40])
    shapes = [(61, 61), (51, 11), (36, 26), (51, 11), (49, 13)]

    post = trueness.latent_class(panel, ordered=False, rng=0, draws=3000, **NONE)

    for column, (a, b) in zip(all_parameters(post.flat).T, shapes, strict=True):
        assert kstest(column, beta(a, b).cdf).pvalue > 0.001


def rank_of_truth(rng):
    """Draw parameters from the prior and votes from them; None if all votes agree.

    Return the proportion of posterior draws below each true parameter.
    """
    first, second = rng.random((2, 2))
    alpha = np.maximum(first, second)
    beta = np.minimum(first, second)
    phi = rng.random()
    _, votes = simulate(rng, 20, phi, alpha, beta)
    if (votes == votes[0]).all():
        return None
    panel = trueness.panel(None, dict(zip("AB", votes.T, strict=True)))
    post = trueness.latent_class(panel, rng=rng, draws=200, **NONE)
    truth = np.r_[phi, alpha, 1 - beta]
    return (all_parameters(post.flat) < truth).mean(axis=0)


@pytest.mark.slow
def test_ranks_of_the_truth_are_uniform():
    """Simulation-based calibration on small tables."""
    rng = np.random.default_rng(5)
    ranks = []
    while len(ranks) < 100:
        rank = rank_of_truth(rng)
        if rank is not None:
            ranks.append(rank)

    for column in np.array(ranks).T:
        assert kstest(column, "uniform").pvalue > 0.005


def test_independence_that_votes_contradict_is_said_when_it_is_assumed():
    votes = table("hiv_alvord1988")

    independent = trueness.latent_class(votes, dependence="none", rng=0)
    shared = trueness.latent_class(votes, rng=0)

    assert independent.log_bayes_factor == shared.log_bayes_factor > 3
    assert "The votes contradict independent errors" in independent.notes[0]
    assert independent.prevalence == shared.independent.prevalence
