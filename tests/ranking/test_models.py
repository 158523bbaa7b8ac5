"""The binormal curve: closed forms against integrals, fits against an optimiser."""

import numpy as np
import pytest
from scipy import integrate, optimize, stats

import trueness
from trueness import Tally
from trueness.ranking import fit_binormal, kl_divergence
from trueness.ranking.models import MODELS

CURVES = [(1.0, 0.0), (1.0, 1.0), (0.5, 0.8), (2.0, 0.8), (1.5, -0.4)]


@pytest.mark.parametrize(("alpha", "b"), CURVES)
def test_the_area_is_the_integral_of_the_leakage_function(alpha, b):
    G = trueness.ranking.binormal(alpha, b)

    area = integrate.quad(lambda u: float(G(u)), 0, 1)[0]

    assert G.area == pytest.approx(area, abs=1e-9)
    assert G.auc == pytest.approx(1 - area, abs=1e-9)


def divergence_by_integral(p, q):
    """Return the divergence of two normal laws in nats."""

    def integrand(x):
        return p.pdf(x) * (p.logpdf(x) - q.logpdf(x))

    return integrate.quad(integrand, -30, 30, limit=300)[0]


@pytest.mark.parametrize(("alpha", "b"), CURVES)
def test_divergences_are_integrals_over_normal_scores(alpha, b):
    # eq. (49): integral of g log g, taken over the normal scores of the negatives
    neg = stats.norm(0, 1)
    pos = stats.norm(b / alpha, 1 / alpha)

    G = trueness.ranking.binormal(alpha, b)

    pos_to_neg = divergence_by_integral(pos, neg)
    neg_to_pos = divergence_by_integral(neg, pos)

    assert G.kl_pos_to_neg == pytest.approx(pos_to_neg, abs=1e-7)
    assert G.kl_neg_to_pos == pytest.approx(neg_to_pos, abs=1e-7)


@pytest.mark.parametrize(("alpha", "b"), CURVES)
def test_the_curve_is_that_of_two_normal_laws(alpha, b):
    neg = stats.norm(0, 1)
    pos = stats.norm(b / alpha, 1 / alpha)
    u = np.linspace(0.01, 0.99, 25)

    G = trueness.ranking.binormal(alpha, b)

    assert G(u) == pytest.approx(pos.cdf(neg.ppf(u)))
    assert G.tpr(u) == pytest.approx(1 - pos.cdf(neg.ppf(1 - u)))
    assert G.inverse(G(u)) == pytest.approx(u)


@pytest.mark.parametrize(("alpha", "b"), CURVES)
def test_the_density_is_the_slope_of_the_curve(alpha, b):
    G = trueness.ranking.binormal(alpha, b)
    u = np.linspace(0.01, 0.99, 25)
    step = 1e-6

    slope = (G(u + step) - G(u - step)) / (2 * step)

    assert G.density(u) == pytest.approx(slope, rel=1e-5)


def log_likelihood(counts, edges):
    """Return the log likelihood of counts between edges of a normal law."""
    probability = np.diff(stats.norm.cdf(edges))
    return counts @ np.log(np.maximum(probability, 1e-99))


def test_fit_maximizes_the_likelihood(rng):
    labels = rng.random(200) < 0.4
    scores = np.round(np.where(labels, rng.normal(1.5, 1.5, 200), rng.normal(size=200)))
    scores = np.clip(
        scores, -1, 2
    )  # both classes in every bin: none is joined to another
    tally = trueness.tally(labels, scores)
    neg = tally.neg[::-1]
    pos = tally.pos[::-1]

    def minus_log_likelihood(x):
        log_alpha, b, first_cut, *log_gaps = x
        cuts = np.cumsum([first_cut, *np.exp(log_gaps)])
        edges = np.array([-np.inf, *cuts, np.inf])
        of_positives = log_likelihood(pos, np.exp(log_alpha) * edges - b)
        return -log_likelihood(neg, edges) - of_positives

    start = [0, 1, -1.5, *[-1.0] * (neg.size - 2)]
    best = optimize.minimize(minus_log_likelihood, start, method="BFGS")

    fit = fit_binormal(tally)

    assert fit.converged
    assert fit.log_likelihood == pytest.approx(-best.fun, abs=1e-6)
    assert fit.alpha.value == pytest.approx(np.exp(best.x[0]), abs=1e-3)
    assert fit.b.value == pytest.approx(best.x[1], abs=1e-3)


def test_goodness_of_fit_rejects_what_is_not_binormal(rng):
    labels = np.repeat([0, 1], 2000)
    bad = np.where(labels, rng.choice([-3.0, 3.0], labels.size), 0) + rng.normal(
        size=labels.size
    )

    assert fit_binormal(labels, bad).p_value < 1e-6

    good = (rng.normal(size=labels.size) + labels for _ in range(20))

    assert np.median([fit_binormal(labels, scores).p_value for scores in good]) > 0.1

    few = fit_binormal(Tally([4, 3, 2, 1], pos=[4, 3, 2, 1], neg=[1, 2, 3, 4]))

    assert few.df == 1


def test_fit_covers_the_truth_and_its_error_is_right(rng):
    true_area = stats.norm.cdf(1.2 / np.hypot(1, 1.25))
    labels = np.repeat([0, 1], [150, 100])

    fits = []
    for _ in range(120):
        of_positives = rng.normal(1.2, 1.25, labels.size)
        of_negatives = rng.normal(size=labels.size)
        fits.append(fit_binormal(labels, np.where(labels, of_positives, of_negatives)))

    alpha = np.array([fit.alpha.value for fit in fits])
    b = np.array([fit.b.value for fit in fits])
    alpha_error = np.mean([fit.alpha.se for fit in fits])
    b_error = np.mean([fit.b.se for fit in fits])
    covered = np.mean([fit.auc.low <= true_area <= fit.auc.high for fit in fits])

    assert alpha.mean() == pytest.approx(0.8, abs=4 * alpha.std() / 11 + 0.01)
    assert alpha.std() == pytest.approx(alpha_error, rel=0.25)
    assert b.std() == pytest.approx(b_error, rel=0.25)
    assert covered >= 105 / 120


def test_errors():
    with pytest.raises(trueness.NotEnoughCases, match="classes that overlap"):
        fit_binormal(Tally([2, 1], pos=[5, 0], neg=[0, 5]))

    endless = Tally([4, 3, 2, 1], neg=[5, 5, 5, 0], pos=[1, 0, 1, 3])
    for options in ({}, {"method": "binormal"}):
        ask = kl_divergence if options else fit_binormal
        with pytest.raises(
            trueness.NotEnoughCases, match="The empirical AUC needs no model"
        ):
            ask(endless, **options)

    with pytest.raises(trueness.InputError, match="alpha must be above zero"):
        trueness.ranking.binormal(-1, 0)
    with pytest.raises(trueness.InputError, match="b must be one finite number"):
        trueness.ranking.binormal(1, np.inf)
    with pytest.raises(trueness.InputError, match="method must be one of"):
        kl_divergence(Tally([1], pos=[5], neg=[5]), method="knn")


def test_the_bootstrap_agrees_with_the_error_of_the_divergence(rng):
    label = np.repeat([0, 1], 150)
    score = np.round(rng.normal(size=300) + label, 1)

    divergence = kl_divergence(label, score).kl_pos_to_neg

    replicates = []
    for _ in range(200):
        redrawn = np.r_[rng.integers(0, 150, 150), rng.integers(150, 300, 150)]
        replicate = kl_divergence(label[redrawn], score[redrawn])
        replicates.append(replicate.kl_pos_to_neg.value)
    assert divergence.se == pytest.approx(np.std(replicates), rel=0.25)


@pytest.mark.parametrize(
    "design", [{"weight": np.full(300, 2.0)}, {"cluster": np.arange(300)}], ids=list
)
def test_equal_weights_and_clusters_of_one_leave_the_divergence(rng, design):
    label = np.repeat([0, 1], 150)
    score = np.round(rng.normal(size=300) + label, 1)
    plain = kl_divergence(label, score).kl_pos_to_neg

    designed = kl_divergence(label, score, **design).kl_pos_to_neg

    assert designed.value == pytest.approx(plain.value)
    assert designed.ci == pytest.approx(plain.ci)


def test_the_binormal_divergence_takes_no_weights():
    with pytest.raises(trueness.InputError, match="does not take weights"):
        kl_divergence([0, 1], [0.1, 0.9], weight=[2.0, 2.0], method="binormal")


def test_the_divergence_of_separated_classes_may_be_infinite():
    result = kl_divergence(Tally([2, 1], pos=[500, 0], neg=[0, 400]))

    # the least that Clopper's and Pearson's ends of none of 500, and of 400, allow
    p = 0.025 ** (1 / 500)
    q = 1 - 0.025 ** (1 / 400)
    proven = p * np.log(p / q) + (1 - p) * np.log((1 - p) / (1 - q))
    divergence = result.kl_pos_to_neg
    assert divergence.value == divergence.high == np.inf
    assert divergence.low == pytest.approx(proven)
    assert "infinite" in divergence.notes[0]
    assert (result.entropy, result.exp_entropy) == (-np.inf, 0)


def test_a_single_score_has_no_divergence():
    divergence = kl_divergence(Tally([1], pos=[40], neg=[60])).kl_pos_to_neg

    assert divergence.value == divergence.low == 0
    assert 0 < divergence.high < 1


@pytest.mark.parametrize("method", ["histogram", "binormal"])
@pytest.mark.parametrize(
    ("shift", "tolerance"), [(0.0, 0.005), (1.0, 0.03), (2.0, 0.2)]
)
def test_divergence_of_the_data_is_near_the_closed_form(rng, shift, tolerance, method):
    label = np.repeat([0, 1], 8000)
    tally = trueness.tally(label, rng.normal(size=label.size) + shift * label)

    result = kl_divergence(tally, method=method)

    closed_form = shift**2 / 2
    divergence = result.kl_pos_to_neg
    assert divergence.value == pytest.approx(closed_form, abs=tolerance)
    assert divergence.low <= divergence.value <= divergence.high
    assert result.kl_neg_to_pos.value == pytest.approx(closed_form, abs=tolerance)
    assert result.entropy == -divergence.value
    assert result.exp_entropy == pytest.approx(np.exp(result.entropy))


def test_placements_of_fermi_dirac_ranks_have_the_variances_of_the_sums():
    """Eq. 22 of the paper with ties as one half, summed over all ranks."""
    pos, neg = 12, 18
    at_rank = trueness.fermi_dirac(n=30, n_pos=pos, auc=0.8).probability(
        np.arange(1, 31)
    )

    of_negatives_first = MODELS["fermi-dirac"].placement_variances(0.8, pos, neg)

    of_positives = at_rank / at_rank.sum()
    of_negatives = (1 - at_rank) / (1 - at_rank).sum()
    positives_before = np.cumsum(of_positives) - of_positives / 2
    negatives_after = 1 - np.cumsum(of_negatives) + of_negatives / 2
    over_positives = of_positives @ negatives_after**2 - 0.8**2
    over_negatives = of_negatives @ positives_before**2 - 0.8**2

    assert of_negatives_first == pytest.approx((over_positives, over_negatives))


@pytest.mark.parametrize("model", sorted(MODELS))
def test_drawn_scores_have_the_area_of_their_model(rng, model):
    label = np.repeat([1, 0], [30, 50])

    scores = MODELS[model].draw(rng, np.tile(label, (400, 1)), 0.8)

    areas = [trueness.auc(label, score).value for score in scores]
    error = np.std(areas) / 20
    assert np.mean(areas) == pytest.approx(0.8, abs=4 * error)


def test_fermi_dirac_ranks_of_all_cases_are_equally_frequent(rng):
    label = np.repeat([1, 0], [30, 50])

    scores = MODELS["fermi-dirac"].draw(rng, np.tile(label, (2000, 1)), 0.8)

    # 80 ranks, from 0 to -79, and a random place among those of one rank
    quarters, _ = np.histogram(scores, 4, range=(-79, 1))
    assert quarters.sum() == scores.size
    assert quarters / scores.size == pytest.approx([0.25] * 4, abs=0.01)


def test_the_interval_of_a_fitted_area_is_symmetric_on_the_probit_scale(rng):
    label = np.repeat([1, 0], [300, 400])
    # the positives vary less, so that alpha is about 2
    score = np.where(label, rng.normal(1, 0.5, 700), rng.normal(size=700))

    area = fit_binormal(label, score).auc

    low, value, high = stats.norm.ppf([area.low, area.value, area.high])
    assert (low + high) / 2 == pytest.approx(value, abs=1e-9)
