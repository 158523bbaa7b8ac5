"""Calibrators: by hand, against brute force, scikit-learn and the venn-abers method."""

import math

import numpy as np
import pytest
from scipy.optimize import isotonic_regression, minimize
from scipy.special import expit, logit, xlogy
from scipy.stats import norm
from sklearn.calibration import _SigmoidCalibration
from sklearn.isotonic import IsotonicRegression
from sklearn.linear_model import LogisticRegression

import trueness
from conftest import tied_cases
from trueness import InputError, NotEnoughCases
from trueness.calibration.folds import deal_cases

METHODS = sorted(trueness.CALIBRATORS)


def probabilities(rng, n=300):
    y, score = tied_cases(rng, n)
    return y, expit(2 * score - 0.5)


def loss(t, c):
    p = np.clip(c(t.score), 1e-15, 1 - 1e-15)
    return -float(xlogy(t.pos, p).sum() + xlogy(t.neg, 1 - p).sum())


def test_histogram_keeps_ties_together_and_cuts_half_way():
    tally = trueness.Tally([1, 2, 3], neg=[1, 6, 1], pos=[0, 6, 2])
    c = trueness.calibrate(tally, method="histogram", bins=4)

    assert c.edges.tolist() == [1.5, 2.5]

    np.testing.assert_allclose(c([1.4999, 1.5, 2.4999, 2.5]), [0, 0.5, 0.5, 2 / 3])

    above = np.nextafter(1.0, 2)
    close = trueness.Tally([1.0, above], neg=[1, 0], pos=[0, 1])
    c = trueness.calibrate(close, method="histogram")

    assert c([1.0, above]).tolist() == [0, 1]


def test_temperature_of_scores_and_of_log_odds_is_the_same():
    probabilities = trueness.Tally([0.9, 0.6, 0.2], neg=[2, 3, 5], pos=[5, 4, 2])
    log_odds = probabilities.map(logit)

    of_probabilities = trueness.calibrate(probabilities, method="temperature")
    of_log_odds = trueness.calibrate(log_odds, method="temperature", scale="identity")

    temperature = of_probabilities.temperature
    assert of_log_odds.temperature == pytest.approx(temperature, rel=1e-12)
    np.testing.assert_allclose(
        of_log_odds(log_odds.score), of_probabilities(probabilities.score), rtol=1e-12
    )


def isotonic_with_case(tally, score, label):
    """Return the isotonic value at a score, the case itself being one of the cases."""
    cases = tally + trueness.Tally([score], pos=[label], neg=[1 - label])
    number = (cases.pos + cases.neg)[::-1]
    fitted = isotonic_regression(cases.pos[::-1] / number, weights=number).x
    return fitted[np.searchsorted(cases.score[::-1], score)]


def random_tally(rng):
    """Return up to nine scores with few cases, of both classes."""
    size = rng.integers(1, 10)
    pos, neg = rng.integers(0, 4, (2, size))
    pos[pos + neg == 0] = 1
    pos[0] += 1
    neg[0] += 1
    return trueness.Tally(np.arange(size), neg, pos)


def test_reversed_scores_have_an_infinite_temperature():
    reversed_scores = trueness.Tally([0.9, 0.1], neg=[3, 1], pos=[1, 3])

    calibrator = trueness.calibrate(reversed_scores, method="temperature")

    assert calibrator.temperature == math.inf
    assert calibrator([0.1, 0.9]).tolist() == [0.5, 0.5]


def test_venn_abers_refits_with_the_case_added(rng):
    for _ in range(30):
        tally = random_tally(rng)

        fitted = trueness.calibrate(tally, method="venn-abers")

        for score in np.arange(-0.5, len(tally) + 0.5, 0.5):
            low, high = fitted.interval(score)
            as_negative = isotonic_with_case(tally, score, 0)
            as_positive = isotonic_with_case(tally, score, 1)
            assert low == pytest.approx(as_negative, rel=1e-7, abs=1e-14)
            assert high == pytest.approx(as_positive, rel=1e-7, abs=1e-14)
            assert fitted(score) == pytest.approx(high / (1 - low + high), rel=1e-14)


@pytest.mark.parametrize("shape", [(0, 2), (2, 0), (-1, -1), (-1, 3)])
def test_beta_is_the_constrained_maximum(shape, rng):
    # labels from a curve outside or on the edge of the family
    score = np.linspace(0.02, 0.98, 25)
    probability = expit(0.3 + shape[0] * np.log(score) - shape[1] * np.log1p(-score))
    pos = rng.binomial(40, probability)
    tally = trueness.Tally(score, pos=pos, neg=40 - pos)

    fitted = trueness.calibrate(tally, method="beta")

    def loss_of(parameters):
        a, b, c = parameters
        return loss(tally, trueness.calibration.parametric.Beta(a, b, c))

    by_search = minimize(
        loss_of,
        [0.5, 0.5, 0],
        bounds=[(0, None), (0, None), (None, None)],
        options={"ftol": 1e-14, "gtol": 1e-9},
    )

    assert min(fitted.a, fitted.b) >= 0
    assert loss(tally, fitted) <= by_search.fun * (1 + 1e-9)


def test_binormal_finds_the_truth_behind_any_increasing_score(rng):
    labels = rng.random(40_000) < 0.3
    of_positives = 1.2 + 1.4 * rng.normal(size=labels.size)
    of_negatives = rng.normal(size=labels.size)
    tally = trueness.tally(labels, np.exp(np.where(labels, of_positives, of_negatives)))

    fitted = trueness.calibrate(tally, method="binormal")

    curve = trueness.ranking.fit_binormal(tally).curve

    assert fitted.mean == pytest.approx(1.2, abs=0.05)
    assert fitted.mean == pytest.approx(curve.b / curve.alpha)
    assert fitted.sd == pytest.approx(1 / curve.alpha)

    z = np.array([-1.5, 0.0, 1.0, 2.0, 3.0])
    odds = 0.3 / 0.7 * norm.pdf(z, 1.2, 1.4) / norm.pdf(z)

    np.testing.assert_allclose(fitted(np.exp(z)), odds / (1 + odds), atol=0.02)


def test_fermi_dirac_ranks_new_scores_as_midranks_does(rng):
    tally = trueness.tally(*tied_cases(rng, 60))
    between = rng.normal(size=50)
    new_scores = [tally.score, between, [-99, 99], tally.score + 1e-9]
    new_scores = np.concatenate(new_scores)

    probability = trueness.calibrate(tally, method="fermi-dirac")(new_scores)

    midranks = trueness.fermi.midranks(tally, new_scores)
    expected = trueness.fermi_dirac(tally).probability(midranks)

    np.testing.assert_allclose(probability, expected, rtol=1e-9)


def test_fermi_dirac_tells_neighbouring_floats_apart():
    tally = trueness.Tally([1.0, np.nextafter(1.0, 2)], neg=[2, 1], pos=[1, 2])

    probability = trueness.calibrate(tally, method="fermi-dirac")(tally.score[::-1])

    expected = trueness.fermi_dirac(tally).probability([5, 2])

    np.testing.assert_allclose(probability, expected, rtol=1e-9)


def test_fermi_dirac_is_calibrated_in_the_large_without_ties(rng):
    labels = tied_cases(rng, 60)[0]
    tally = trueness.tally(labels, rng.normal(size=60) + labels)

    probability = trueness.calibrate(tally, method="fermi-dirac")(tally.score)

    assert probability.sum() == pytest.approx(tally.n_pos)


def test_platt_is_that_of_scikit_learn(rng):
    labels, p = probabilities(rng)
    ours = trueness.calibrate(trueness.tally(labels, 1e6 + p), method="platt")
    expected = LogisticRegression(C=np.inf, tol=1e-10).fit(p[:, None], labels)
    p1 = expected.predict_proba(p[:, None])[:, 1]

    np.testing.assert_allclose(ours(1e6 + p), p1, atol=1e-6)

    ours = trueness.calibrate(
        trueness.tally(labels, p), method="platt", targets="smoothed"
    )
    expected = _SigmoidCalibration().fit(p, labels).predict(p)

    np.testing.assert_allclose(ours(p), expected, atol=1e-4)

    assert ours.targets == "smoothed"

    same = (trueness.calibrate(labels, p, method=m) for m in ("sigmoid", "platt"))

    assert next(same) == next(same)  # as scikit-learn calls it


@pytest.mark.parametrize("weighted", [False, True])
def test_isotonic_is_that_of_scikit_learn(rng, weighted):
    labels, p = probabilities(rng)
    weights = (
        rng.exponential(size=labels.size) ** 1.3 if weighted else np.ones(labels.size)
    )
    expected = IsotonicRegression(out_of_bounds="clip").fit(
        p, labels, sample_weight=weights
    )
    tally = (
        trueness.tally(labels, p, weight=weights)
        if weighted
        else trueness.tally(labels, p)
    )
    s = np.concatenate([p, np.linspace(-0.2, 1.2, 0 if weighted else 500)])
    ours = trueness.calibrate(tally, method="isotonic")

    np.testing.assert_allclose(ours(s), expected.predict(s), atol=1e-12)


def test_platt_fits_sums_of_weights(rng):
    labels, p = probabilities(rng)
    weights = rng.exponential(size=labels.size)
    tally = trueness.tally(labels, p, weight=weights)
    c = trueness.calibrate(tally, method="platt")
    # the score equations of logistic regression
    residual = weights * (labels - c(p))

    assert [residual.sum(), residual @ p] == pytest.approx([0, 0], abs=1e-6)

    auto = trueness.calibrate(tally)

    assert auto(0.3) == trueness.calibrate(tally, method="platt", scale="logit")(0.3)
    assert tally.map(auto).weighted
    with pytest.raises(InputError, match="temperature, histogram, pooled-bins take"):
        trueness.calibrate(tally, method="binormal")


@pytest.mark.parametrize("method", METHODS)
def test_monotone_maps_never_turn_round(method):
    rng = np.random.default_rng(1)
    p = rng.random(300)
    tally = trueness.tally(rng.random(300) < p, p)
    fitted = trueness.calibrate(tally, method=method)
    steps = np.diff(fitted(np.linspace(0.001, 0.999, 5000)))

    # nothing is promised only where it need not rise
    assert fitted.monotone or method in ("binormal", "histogram", "pooled-bins")
    assert not fitted.monotone or steps.min() >= -1e-15 or steps.max() <= 1e-15


@pytest.mark.parametrize("method", METHODS)
def test_one_score_gives_the_prevalence(method):
    tally = trueness.Tally([0.5], neg=[3], pos=[1])
    expected = {"venn-abers": (2 / 5) / (1 - 1 / 5 + 2 / 5), "temperature": 0.5}
    # its line, with a case of each class more, counts as two cases: (1 + 2 / 3) / 6
    expected["pooled-bins"] = 5 / 18
    p = trueness.calibrate(tally, method=method)(0.5)

    assert p == pytest.approx(expected.get(method, 0.25), abs=1e-6)
    with pytest.raises(trueness.NotEnoughCases, match="one positive and one negative"):
        trueness.calibrate(trueness.Tally([0.5], neg=[3]), method=method)


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("turned", [False, True])
def test_separated_classes_give_finite_maps(method, turned):
    s = np.array([0.1, 0.2, 0.7, 0.9])
    pos = np.array([5, 3, 0, 0] if turned else [0, 0, 3, 5])
    tally = trueness.Tally(s, pos=pos, neg=pos[::-1])
    c = trueness.calibrate(tally, method=method)
    p = c(np.linspace(0.01, 0.99, 50))

    assert np.isfinite(p).all()

    if method not in ("isotonic", "histogram"):
        assert (p > 0).all()
        assert (p < 1).all()

    assert tally.map(c).n == tally.n


@pytest.mark.parametrize(
    ("asked", "error", "message"),
    [
        ({"method": "isotnic"}, InputError, "Did you mean 'isotonic'"),
        ({"method": "histogram", "bin": 3}, InputError, "'histogram' has no option"),
        ({"method": "isotonic", "bins": 3}, InputError, "it has none"),
        ({"method": "platt", "targets": "x"}, InputError, "targets must be one of"),
        ({"method": "platt", "scale": "log"}, InputError, "scale must be one of"),
        ({"method": "platt", "targets": "labels"}, NotEnoughCases, 'targets="auto'),
        ({"method": "histogram", "bins": 0}, InputError, "bins must be a whole number"),
        ({"method": "beta", "score": 2.0}, InputError, "from 0 to 1; found 2.0"),
        ({"method": "temperature", "score": 2.0}, InputError, "from 0 to 1; found 2.0"),
    ],
)
def test_words_for_a_wrong_choice(asked, error, message):
    tally = trueness.Tally([0.2, asked.pop("score", 0.7)], neg=[1, 0], pos=[0, 1])
    with pytest.raises(error, match=message):
        trueness.calibrate(tally, **asked)


def step_of(p):
    """Probabilities in three steps, which no logistic curve follows."""
    return np.where(p < 0.1, 0.02, np.where(p < 0.35, 0.5, 0.98))


def test_auto_follows_a_line_in_the_log_odds(rng):
    p = rng.beta(1, 3, size=3000)
    tally = trueness.tally(rng.random(p.size) < expit(1 + 2 * logit(p)), p)

    fitted = trueness.calibrate(tally)

    grid = np.linspace(0.02, 0.8, 20)

    np.testing.assert_allclose(fitted(grid), expit(1 + 2 * logit(grid)), atol=0.06)


@pytest.mark.parametrize("unit", [1, 100])
def test_auto_takes_any_increasing_curve_where_the_truth_has_steps(rng, unit):
    p = rng.beta(1, 3, size=3000)
    tally = trueness.tally(rng.random(p.size) < step_of(p), unit * p)

    assert trueness.calibrate(tally) == trueness.calibrate(tally, method="venn-abers")


def cross_validated_log_loss(t, method):
    """Total loss of held-out cases, one score after the other."""
    rng = np.random.default_rng(0)
    folds_of_neg = deal_cases(t.neg, 10, rng)
    folds_of_pos = deal_cases(t.pos, 10, rng)
    total = 0.0
    for neg, pos in zip(folds_of_neg, folds_of_pos, strict=True):
        rest = trueness.Tally(t.score, t.neg - neg, t.pos - pos)
        fitted = trueness.calibrate(rest, method=method)
        for score, negatives, positives in zip(t.score, neg, pos, strict=True):
            p = float(fitted(score))
            total -= negatives * np.log(1 - p) + positives * np.log(p)

    return total


@pytest.mark.parametrize("seed", range(6))
def test_auto_has_the_smallest_cross_validated_loss(seed):
    """Scores of any scale: Platt's or Venn-Abers, however near their losses are."""
    rng = np.random.default_rng(seed)
    p = rng.beta(1, 3, size=300)
    labels = (rng.random(p.size) < (p + step_of(p)) / 2).astype(int)
    tally = trueness.tally(labels, np.round(100 * p))

    losses = {m: cross_validated_log_loss(tally, m) for m in ("platt", "venn-abers")}

    best = min(losses, key=losses.get)

    assert trueness.calibrate(tally) == trueness.calibrate(tally, method=best)


def excess_log_loss(fitted, grid, truth):
    """How much larger than that of the truth is the expected loss, relatively?"""

    def expected(p):
        return -np.mean(truth * np.log(p) + (1 - truth) * np.log(1 - p))

    return expected(fitted(grid)) / expected(truth) - 1


def test_auto_loses_little_beside_the_right_family():
    """500 cases of a beta curve: the 1 SE rule took too simple a curve."""
    rng = np.random.default_rng(5)
    grid = np.linspace(0.005, 0.995, 199)
    truth = expit(0.3 * np.log(grid) - 1.6 * np.log1p(-grid))
    excess = {"auto": [], "beta": []}

    for _ in range(12):
        p = rng.beta(0.7, 0.7, size=500).clip(1e-4, 1 - 1e-4)
        tally = trueness.tally(rng.random(p.size) < np.interp(p, grid, truth), p)
        for method, values in excess.items():
            fitted = trueness.calibrate(tally, method=method)
            values.append(excess_log_loss(fitted, grid, truth))

    assert np.mean(excess["auto"]) < np.mean(excess["beta"]) + 0.005


def test_folds_do_not_hide_what_a_flexible_map_owes_to_chance():
    """Calibrated scores need no step: of 30 samples few have one."""
    rng = np.random.default_rng(2)
    steps = 0
    for _ in range(30):
        p = rng.beta(0.7, 0.7, size=300).clip(1e-4, 1 - 1e-4)
        fitted = trueness.calibrate(trueness.tally(rng.random(p.size) < p, p))
        steps += type(fitted).__name__ == "VennAbers"

    assert steps <= 6


def test_a_score_of_zero_means_below_the_smallest():
    # a forest of 100 trees: 0 is "below 1/100", and is kept at 1/200
    tally = trueness.Tally([0, 0.01, 0.5, 1], neg=[50, 20, 5, 1], pos=[2, 2, 5, 9])
    c = trueness.calibrate(tally, method="beta")

    assert (c.low, c.high) == (0.005, 0.75)
    assert c(0.0) == c(0.005) == c(0.001)
    assert trueness.calibrate(tally, method="platt", scale="logit").low == 0.005
    assert trueness.calibrate(tally, method="temperature").high == 0.75


@pytest.mark.parametrize("method", METHODS)
def test_an_entry_of_the_table_fits_labelled_cases(method):
    tally = trueness.Tally(
        [0.1, 0.2, 0.5, 0.6, 0.9],
        neg=[4, 3, 0, 1, 1],
        pos=[1, 2, 0, 3, 5],
        unknown=[0, 0, 4, 1, 0],
    )
    fit = trueness.CALIBRATORS[method]

    calibrator = fit(tally)

    of_labelled = fit(tally.labelled())
    assert np.array_equal(calibrator(tally.score), of_labelled(tally.score))


@pytest.mark.parametrize("method", METHODS)
def test_an_entry_of_the_table_needs_both_classes(method):
    positives = trueness.Tally([0.1, 0.2], pos=[2, 3])

    with pytest.raises(trueness.NotEnoughCases, match="0 negatives"):
        trueness.CALIBRATORS[method](positives)
