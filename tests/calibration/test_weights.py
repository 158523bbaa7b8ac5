"""Weighted probabilities: losses, reliability and calibrators."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats
from scipy.special import expit, logit
from sklearn import metrics as sk
from sklearn.isotonic import IsotonicRegression

import trueness
from trueness._core.logistic import fit_logistic
from trueness.calibration import calibrators
from trueness.calibration.forecasts import Forecasts
from trueness.calibration.maps import of_sums
from trueness.calibration.proper_scores import squares
from weights_by_hand import growth_by_hand, lacking_by_hand


def sample(n=500, seed=0):
    rng = np.random.default_rng(seed)
    p = rng.beta(1, 2, n).round(2).clip(0.01, 0.99)
    y = (rng.random(n) < p**1.2).astype(int)
    return y, p, rng.exponential(size=n) ** 1.3


def test_losses_equal_those_of_scikit_learn():
    y, p, w = sample()
    t = trueness.tally(y, p, weight=w)
    want = sk.brier_score_loss(y, p, sample_weight=w)
    found = trueness.brier(t)
    assert found.value == pytest.approx(want, rel=1e-12)
    parts = found.mcb.value - found.dsc.value + found.unc.value
    assert parts == pytest.approx(want, rel=1e-12)
    want = sk.log_loss(y, p, sample_weight=w)
    assert trueness.log_loss(t).value == pytest.approx(want, rel=1e-12)


def test_the_error_of_a_loss_is_that_of_the_survey_package():
    """R: svymean of svydesign(ids = ~1, weights = ~w), which divides by n - 1."""
    i = np.arange(1, 41)
    w, y = 1 + (i * 7 % 11) / 2, (i * 5 % 7 < 3).astype(int)
    p = (i * 13 % 40 + 0.5) / 41
    found = trueness.brier(trueness.tally(y, p, weight=w))
    assert found.value == pytest.approx(0.348709288274152, rel=1e-12)
    n = w.sum() ** 2 / (w**2).sum()
    from trueness.calibration.proper_scores import squares
    from trueness.counts.weights import linearised

    loss = np.where(y == 1, squares(p)[1], squares(p)[0])
    u = (loss - found.value) / w.sum()
    ours = linearised([(u, w, w**2)]).variance * (n - 1) / n * 40 / 39
    assert np.sqrt(ours) == pytest.approx(0.0531844724513018, rel=1e-12)


def test_calibrators_fit_sums_of_weights():
    y, p, w = sample()
    t = trueness.tally(y, p, weight=w)
    theirs = IsotonicRegression().fit(p, y, sample_weight=w).predict(p)
    ours = trueness.calibrate(t, method="isotonic")(p)
    np.testing.assert_allclose(ours, theirs, atol=1e-12)
    c = trueness.calibrate(t, method="platt")
    slow = fit_logistic([p[np.argsort(p)]], (w * y)[np.argsort(p)],
                        (w * (1 - y))[np.argsort(p)])  # fmt: skip
    np.testing.assert_allclose([c.intercept, c.slope], slow.coefficients, rtol=1e-9)
    auto = trueness.calibrate(t)
    assert auto(0.3) == trueness.calibrate(t, method="beta")(0.3)
    assert t.map(auto).weighted


@pytest.mark.parametrize("method", ["isotonic", "platt", "beta", "temperature",
                                    "histogram"])  # fmt: skip
def test_weights_are_copies_to_a_calibrator(method):
    y, p, _ = sample()
    k = np.random.default_rng(1).integers(1, 5, y.size)
    one = trueness.calibrate(trueness.tally(y, p, weight=k), method=method)
    two = trueness.calibrate(trueness.tally(y, p, count=k), method=method)
    at = np.linspace(0.01, 0.99, 9)
    np.testing.assert_allclose(one(at), two(at), rtol=1e-7)


def test_calibrators_that_need_cases_say_so():
    y, p, w = sample(100)
    for method in ("venn-abers", "fermi-dirac", "binormal"):
        with pytest.raises(trueness.InputError, match="does not take weights"):
            trueness.calibrate(y, p, method=method, weight=w)


def test_a_new_calibrator_says_itself_whether_it_takes_weights(monkeypatch):
    def own(t):
        return trueness.calibrate(t, method="platt")

    y, p, w = sample(100)
    t = trueness.tally(y, p, weight=w)
    with_own = {**calibrators.CALIBRATORS, "own": own}
    monkeypatch.setattr(calibrators, "CALIBRATORS", with_own)
    with pytest.raises(trueness.InputError, match="platt, isotonic, beta, temperature"):
        trueness.calibrate(t, method="own")
    of_sums(own)
    assert trueness.calibrate(t, method="own") == own(t)
    with pytest.raises(trueness.InputError, match="histogram, own take weights"):
        trueness.calibrate(t, method="binormal")


def test_equal_weights_are_cases():
    y, p, _ = sample()
    one = trueness.tally(y, p)
    two = trueness.tally(y, p, weight=np.full(y.size, 7.0))
    for ask in (trueness.brier, trueness.log_loss):
        a, b = ask(one), ask(two)
        assert a.value == pytest.approx(b.value, rel=1e-12)
        assert (a.low, a.high) == pytest.approx((b.low, b.high), rel=0.01)
        assert (a.dsc.low, a.dsc.high) == pytest.approx(
            (b.dsc.low, b.dsc.high), rel=0.1
        )
        assert (a.unc.low, a.unc.high) == pytest.approx(
            (b.unc.low, b.unc.high), rel=0.01
        )
    a, b = trueness.reliability(one), trueness.reliability(two)
    np.testing.assert_allclose(a.probability, b.probability, rtol=1e-12)
    np.testing.assert_allclose(a.confidence_low, b.confidence_low, atol=1e-12)


def test_coverage_of_a_loss_with_unequal_chances():
    rng = np.random.default_rng(4)
    grid = np.linspace(0, 1, 20_001)[1:-1]
    chance = 0.1 + 0.8 * grid**2
    truth = float(np.mean(chance * (1 - grid) ** 2 + (1 - chance) * grid**2))
    held = 0
    for _ in range(150):
        p = rng.random(3000)
        y = (rng.random(3000) < 0.1 + 0.8 * p**2).astype(int)
        drawn = np.exp(-1.1 * np.abs(rng.normal(size=3000)) - 1.5 * p)
        some = rng.random(3000) < drawn
        e = trueness.brier(y[some], p[some], weight=1 / drawn[some], replicates=20)
        held += e.low <= truth <= e.high
    assert 0.9 <= held / 150 <= 0.995


def test_calibration_line_as_the_survey_package():
    """R: svyglm(y ~ logit, svydesign(ids = ~1, weights = ~w)), survey 4.1."""
    i = np.arange(1, 61)
    w, y, p = 1 + (i * 7 % 11) / 2, (i * 5 % 7 < 3).astype(int), (1 + i * 3 % 19) / 21
    line = trueness.calibration_line(y, p, weight=w)
    assert line.slope.value == pytest.approx(-0.0160887057917488, rel=1e-8)
    # the package divides by n - 1 cases, we by the effective number less one
    n = w.sum() ** 2 / (w**2).sum()
    sd = line.slope.sd * np.sqrt((n - 1) / n * 60 / 59)
    assert sd == pytest.approx(0.214016115419735, rel=1e-8)


def test_weighted_tests_of_calibration_by_hand(rng):
    """R: svyglm and svydesign give the same variance, but for n / (n - 1)."""
    n = 90
    y, w = rng.integers(0, 2, n), rng.lognormal(0, 0.8, n)
    p = rng.uniform(0.1, 0.9, n)
    x = np.stack([np.ones(n), np.log(p / (1 - p))])
    beta = np.zeros(2)
    for _ in range(30):  # Newton
        m = 1 / (1 + np.exp(-beta @ x))
        bread = np.linalg.inv((x * (w * m * (1 - m))) @ x.T)
        beta = beta + bread @ (x @ (w * (y - m)))
    number = w.sum() ** 2 / (w**2).sum()
    for method, u, away in (
        ("cox", bread @ (x * (w * (y - m))), beta - [0, 1]),
        ("spiegelhalter", ((1 - 2 * p) * w * (y - p))[None], None),
    ):
        away = u.sum(axis=1) if away is None else away
        variance = u @ u.T * number / (number - 1)
        along = np.linalg.solve(variance, away)
        wald, e, k = away @ along, along @ u, len(away)
        df = max(4 / 3 * (e @ e) ** 2 / (e**4).sum(), k)
        law = stats.f(k, df - k + 1)
        found = trueness.calibration_test(y, p, weight=w, method=method)
        assert found.statistic ** (2 if k == 1 else 1) == pytest.approx(wald)
        assert found.p_value == pytest.approx(law.sf(wald * (df - k + 1) / (k * df)))
        assert "Cases are weighted" in found.notes[-1]
        # other units of weight change nothing
        again = trueness.calibration_test(y, p, weight=1e6 * w, method=method)
        assert again.p_value == pytest.approx(found.p_value)


@pytest.mark.parametrize("method", ["isotonic", "hosmer-lemeshow"])
def test_tests_that_draw_labels_refuse_weights(method):
    with pytest.raises(trueness.InputError, match='method="cox"'):
        trueness.calibration_test(
            [0, 1, 1], [0.2, 0.6, 0.7], weight=[1, 2, 3.5], method=method
        )


def test_cox_needs_classes_that_overlap():
    with pytest.raises(trueness.NotEnoughCases, match="overlap"):
        trueness.calibration_test(
            [0, 0, 1, 1], [0.2, 0.3, 0.6, 0.7], weight=[1, 2, 3, 1.5], method="cox"
        )


def test_an_infinite_loss_says_why_also_of_small_weights():
    """A sum of weights below one is no reason to call wrong certainties right."""
    wrong = trueness.tally([1, 0, 1, 0], [0.0, 0.4, 0.6, 0.2], weight=[0.4, 1, 1, 1])
    note = trueness.log_loss(wrong, replicates=20).notes[0]
    assert "certain and wrong (positives with a score of exactly 0: 0.4;" in note
    right = trueness.tally([0, 0, 1, 0], [0.0, 0.4, 0.6, 0.2], weight=[0.4, 1, 1, 1])
    note = trueness.log_loss(right, replicates=20).notes[0]
    assert note.startswith("Cases with a weight of 0.4 have a score of exactly 0 or 1")


def falling(n, rng, m=100_000):
    """Draw cases whose chance falls with the score; give the truths, too."""
    y = (rng.random(m) < 0.3).astype(int)
    s = rng.gumbel(size=m) + 1.4 * y
    p, w = expit(0.7 * s - 1), np.exp(0.55 * np.clip(s, -1.5, 5.5))
    chance = np.cumsum(1 / w)
    lost = {"brier": (p - y) ** 2, "log_loss": -np.log(np.where(y == 1, p, 1 - p))}

    def drawn():
        at = np.searchsorted(chance, rng.random(n) * chance[-1])
        return y[at], p[at], w[at]

    return drawn, {name: x.mean() for name, x in lost.items()}


def logs(p):
    return -np.log1p(-p), -np.log(p)


def test_losses_of_cases_heavier_than_those_drawn_by_hand():
    """The slow twin: case by case, moved on the logit scale, losses in lines."""
    drawn, _ = falling(150, np.random.default_rng(2))
    y, p, w = drawn()
    found = Forecasts.of(trueness.tally(y, p, weight=w), "log_loss", "cohort", None)
    losses = logs(found.score)
    mean = np.average(np.where(y == 1, -np.log(p), -np.log1p(-p)), weights=w)
    x, order = logit(p), np.argsort(p)
    want = np.zeros(2)
    for k, loss in enumerate(logs(p)):
        own, other = y == k, y != k
        growth, _ = growth_by_hand(x[own], w[own], x[other], w[other])
        line = x[order], loss[order] - mean

        def away(at, line=line):
            return np.interp(at, *line)

        part = w[own].sum() / w.sum()
        lacks = lacking_by_hand(x[own], w[own], growth, away, w.max())
        want += part**2 * np.array(lacks)
    assert want[1] > 0
    lacking = found.lacking(found.squares, losses)
    assert lacking == pytest.approx(want, rel=0.1, abs=1e-5)


def test_losses_are_held_where_heavy_cases_lose_most():
    """The truths are added up case by case; without the allowance .89 and .92."""
    drawn, truth = falling(300, np.random.default_rng(3))
    held = []
    for _ in range(200):
        y, p, w = drawn()
        s = Forecasts.of(trueness.tally(y, p, weight=w), "brier", "cohort", None)
        losses = {"brier": squares(s.score), "log_loss": logs(s.score)}
        ends = {k: s.mean(x, 0.95, np.inf) for k, x in losses.items()}
        held.append([e.low <= truth[k] <= e.high for k, e in ends.items()])
    assert np.mean(held, axis=0).min() >= 0.93


def test_losses_of_equal_weights_lack_nothing():
    y, p, _ = falling(200, np.random.default_rng(4))[0]()
    each = np.where(y == 1, 0.3, 7.0)
    for weight in (np.full(200, 3.0), each):
        s = Forecasts.of(trueness.tally(y, p, weight=weight), "brier", "cohort", None)
        assert s.lacking(s.squares, squares(s.score)) == (0.0, 0.0)
