"""Brier, log loss and their parts; the reliability curve; tests of calibration."""

import json
import math
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from scipy.stats import chi2, kstest
from sklearn.isotonic import IsotonicRegression
from sklearn.metrics import brier_score_loss
from sklearn.metrics import log_loss as sklearn_log_loss

import trueness
from trueness import InputError, NotEnoughCases, Tally

REFERENCE = Path(__file__).parents[1] / "reference"
SMOOTH = json.loads((REFERENCE / "smooth_ece.json").read_text())


def drawn(rng, n, *, power=1.0, digits=2):
    """Scores and labels with P(y) = score ** power: calibrated for power 1."""
    p = np.round(rng.random(n), digits)
    return trueness.tally(rng.random(n) < p**power, p)


def test_brier_by_hand():
    b = trueness.brier(trueness.Tally([0.2, 0.8], neg=[3, 1], pos=[1, 3]))
    # (3 * .04 + .64 + .64 + 3 * .04) / 8; recalibrated to 1/4 and 3/4: 3/16
    assert b.skill == pytest.approx((1 / 16 - 1.52 / 8 + 3 / 16) * 4)
    assert (float(b), "mcb: " in repr(b)) == (b.value, True)
    one = trueness.brier(trueness.Tally([0.1, 0.3], neg=[5, 5]))  # no uncertainty
    assert (one.unc.value, one.dsc.value) == (0, 0)
    assert math.isnan(one.skill)
    assert one.value == pytest.approx((0.01 + 0.09) / 2)
    t = trueness.Tally([0.25, 0.5], neg=[10**9, 1], pos=[1, 10**9])
    exact = Fraction(10**9, 16) + Fraction(9, 16) + Fraction(1, 4) + Fraction(10**9, 4)
    assert trueness.brier(t).value == pytest.approx(float(exact / (2 * 10**9 + 2)))


def test_spiegelhalter_by_hand():
    t = trueness.Tally([0.2, 0.9], neg=[6, 0], pos=[4, 5])
    z = (2 * 0.6 + 0.5 * -0.8) / math.sqrt(10 * 0.36 * 0.16 + 5 * 0.64 * 0.09)
    test = trueness.calibration_test(t, method="spiegelhalter")
    assert test.statistic == pytest.approx(z)
    assert test.p_value == pytest.approx(math.erfc(abs(z) / math.sqrt(2)))
    # what was impossible has happened, and what tells nothing
    wrong = trueness.Tally([0.0, 0.5], neg=[3, 1], pos=[1, 1])
    for method in ("spiegelhalter", "cox", "isotonic"):
        assert trueness.calibration_test(wrong, method=method).p_value == 0
    t = trueness.Tally([0.0, 0.5, 1.0], neg=[2, 2, 0], pos=[0, 1, 2])
    test = trueness.calibration_test(t, method="spiegelhalter")
    assert math.isnan(test.p_value)
    sure = trueness.Tally([0.0, 1.0], neg=[2, 0], pos=[0, 2])
    assert math.isnan(trueness.calibration_test(sure, method="cox").p_value)


def test_cox_by_hand():
    # two scores: the free model meets both shares
    t = trueness.Tally([0.2, 0.8], neg=[140, 80], pos=[60, 120])
    log = math.log
    free = 3 * log(0.3) + 7 * log(0.7) + 6 * log(0.6) + 4 * log(0.4)
    fixed = 3 * log(0.2) + 7 * log(0.8) + 6 * log(0.8) + 4 * log(0.2)
    test = trueness.calibration_test(t, method="cox")
    assert test.statistic == pytest.approx(20 * 2 * (free - fixed))
    assert test.p_value == pytest.approx(chi2.sf(test.statistic, 2))
    one = trueness.Tally([0.2], neg=[140], pos=[60])
    one = trueness.calibration_test(one, method="cox")
    assert one.p_value == pytest.approx(chi2.sf(one.statistic, 1))


def test_calibration_error_by_hand():
    t = trueness.Tally([0.1, 0.4, 0.8], neg=[8, 4, 3], pos=[2, 6, 7])
    e = trueness.calibration_error(t, bins=3)
    assert e.plain.value == pytest.approx((0.1 + 0.2 + 0.1) / 3)
    noise = (0.2 * 0.8 + 0.6 * 0.4 + 0.7 * 0.3) / 9
    square = (0.01 + 0.04 + 0.01 - noise) / 3
    assert e.rms.value == pytest.approx(math.sqrt(max(0, square)))
    assert e.debiased.value < e.plain.value
    # E|N(0, s)| = s sqrt(2 / pi)
    s = [math.sqrt(p * (1 - p) / 10) for p in (0.1, 0.4, 0.8)]
    assert e.chance == pytest.approx(math.sqrt(2 / math.pi) * sum(s) / 3)
    assert e.bins == 3
    assert f"{e.chance:.3g}" in e.warning


def test_calibration_line_by_hand():
    # truth has half the log-odds of the scores, plus nothing
    t = trueness.Tally([0.1, 0.9], neg=[300, 100], pos=[100, 300])
    line = trueness.calibration_line(t)
    assert line.slope.value == pytest.approx(0.5)
    # Fisher information of the slope: sum n p (1 - p) x^2
    sd = math.sqrt(800 / 799) / math.sqrt(800 * 3 / 16 * math.log(9) ** 2)
    assert line.slope.se == pytest.approx(sd)
    assert line.intercept.value == pytest.approx(0, abs=1e-12)
    low = trueness.Tally([0.1, 0.3], neg=[30, 10], pos=[20, 30])
    assert trueness.calibration_line(low).intercept.low > 0
    assert line.clipped == 0
    edge = trueness.Tally([0, 0.5, 1], neg=[5, 3, 1], pos=[1, 3, 5])
    assert trueness.calibration_line(edge).clipped == 12


@pytest.mark.parametrize("digits", [1, 3])
@pytest.mark.parametrize("weighted", [False, True])
def test_scores_are_those_of_scikit_learn(rng, digits, weighted):
    p = np.clip(np.round(rng.random(400), digits), 0.001, 0.999)
    y = (rng.random(400) < p**2).astype(int)
    w = rng.exponential(size=400) if weighted else np.ones(400)
    t = trueness.tally(y, p, weight=w) if weighted else trueness.tally(y, p)
    q = IsotonicRegression().fit(p, y, sample_weight=w).predict(p)
    base = np.full(400, np.average(y, weights=w))
    both = {trueness.brier: brier_score_loss, trueness.log_loss: sklearn_log_loss}
    for ours, loss in both.items():
        x = ours(t)
        before, after, none = (loss(y, s, sample_weight=w) for s in (p, q, base))
        assert x.value == pytest.approx(before, rel=1e-12)
        assert x.mcb.value == pytest.approx(before - after, abs=1e-12)
        assert x.dsc.value == pytest.approx(none - after, abs=1e-12)
        assert x.value == pytest.approx(x.mcb.value - x.dsc.value + x.unc.value)
        assert x.low < x.value < x.high


def test_smooth_error_is_that_of_its_authors():
    for case in SMOOTH["cases"]:
        rng = np.random.default_rng(case["seed"])
        p = np.round(rng.random(case["n"]), 3)
        y = (rng.random(case["n"]) < p ** case["power"]).astype(int)
        t = trueness.tally(y, p)
        ours = trueness.calibration_error(t).smooth.value
        assert ours == pytest.approx(case["smooth"], rel=0.02)


def test_intervals_cover(rng):
    # uniform p, y ~ B(p^2): MCB = 1/3 - 2/4 + 1/5, DSC = var p^2 = 1/5 - 1/9
    mcb, dsc, unc = 1 / 3 - 2 / 4 + 1 / 5, 1 / 5 - 1 / 9, 2 / 9
    hits = np.zeros(4)
    for _ in range(60):
        b = trueness.brier(drawn(rng, 200, digits=3, power=2))
        parts = (b, mcb - dsc + unc), (b.mcb, mcb), (b.dsc, dsc), (b.unc, unc)
        hits += [e.low <= v + 1e-9 and v <= e.high + 1e-9 for e, v in parts]
    assert (hits >= 52).all()


@pytest.mark.parametrize("method", ["spiegelhalter", "cox", "isotonic", "bins"])
def test_tests_hold_their_level_and_have_power(rng, method):
    def tested(n, power):
        asked = {"method": method, "replicates": 99, "rng": rng}
        return trueness.calibration_test(drawn(rng, n, power=power), **asked).p_value

    assert kstest([tested(200, 1) for _ in range(80)], "uniform").pvalue > 1e-3
    # Spiegelhalter's test is nearly blind to a shift that is symmetric about 1/2
    off = np.median([tested(400, 1.6) for _ in range(10)])
    assert off < (0.05 if method != "spiegelhalter" else 1.0)


def test_consistency_band_holds_calibrated_curves(rng):
    inside = []
    for _ in range(40):
        r = trueness.reliability(drawn(rng, 300, digits=1), replicates=100, rng=rng)
        assert (r.consistency_low <= r.consistency_high).all()
        p = r.probability
        inside.append((r.consistency_low <= p) & (p <= r.consistency_high))
    assert np.mean(inside) > 0.9


def test_reliability_of_many_scores_is_thinned_but_exact(rng):
    p = rng.random(6000)
    t = trueness.tally(rng.random(6000) < p, p)
    r = trueness.reliability(t, replicates=20)
    assert 500 <= r.score.size < 1500
    c = trueness.calibrate(t, method="isotonic")
    np.testing.assert_allclose(r.probability, c(r.score))
    assert r.n == 6000
    assert r.n_pos == t.n_pos


@pytest.mark.parametrize("score", [0.0, 1e-9, 0.1, 0.5, 0.9, 1.0])
@pytest.mark.parametrize("counts", [(1, 0), (0, 1), (2, 0), (5, 5), (30, 0), (0, 3)])
def test_no_interval_is_empty_or_impossible(score, counts):
    t = Tally([score], [counts[0]], [counts[1]])
    most = {trueness.brier: (1.0, 0.25), trueness.log_loss: (math.inf, math.log(2))}
    for analysis, (top, unc) in most.items():
        s = analysis(t)
        for e, high in ((s, top), (s.mcb, top), (s.dsc, unc), (s.unc, unc)):
            assert 0 <= e.low <= e.value <= e.high <= high
            # whoever says 1/2 to all has the same loss whatever happens
            if math.isfinite(e.value) and (e is not s or score != 0.5):
                assert e.low < e.high
    e = trueness.calibration_error(t)
    for part in (e.plain, e.debiased, e.rms, e.smooth):
        assert 0 <= part.low <= part.value <= part.high <= 1
        assert part.low < part.high
    index = trueness.calibration_index(t)
    assert 0 <= index.ici.low <= index.ici.value <= index.ici.high <= 1


def test_an_infinite_loss_says_why():
    wrong = trueness.log_loss(Tally([0, 0.5, 1], [5, 2, 0], [1, 3, 5]))
    assert wrong.value == wrong.mcb.value == math.inf
    assert math.isfinite(wrong.dsc.value)
    assert math.isfinite(wrong.unc.high)
    assert "positives with a score of exactly 0: 1" in wrong.notes[0]
    assert "Note: The loss is infinite" in repr(wrong)
    right = trueness.log_loss(Tally([0, 0.5, 1], [5, 2, 0], [0, 3, 5]))
    assert right.value < math.inf
    assert right.high == math.inf
    assert "no upper end" in right.notes[0]
    assert not trueness.log_loss(Tally([0.6], [5], [5])).notes
    # a sum of weights below one is no reason to call wrong certainties right
    y, score, w = [1, 0, 1, 0], [0.0, 0.4, 0.6, 0.2], [0.4, 1, 1, 1]
    note = trueness.log_loss(y, score, weight=w).notes[0]
    assert "certain and wrong (positives with a score of exactly 0: 0.4;" in note


PROBABILITIES = [f"calibration_{k}" for k in ("error", "test", "verdict", "index")]
PROBABILITIES += ["brier", "log_loss", "reliability"]


@pytest.mark.parametrize("name", PROBABILITIES)
@pytest.mark.parametrize(
    ("t", "asked", "error", "words"),
    [
        (Tally([0.5, 2], [1, 0], [0, 1]), {}, InputError, r"from 0 to 1; found 2.0"),
        (Tally([0.5], unknown=[3]), {}, NotEnoughCases, "lack a label"),
        (Tally(), {}, NotEnoughCases, "There are no cases"),
        (Tally([0.5], [1], [1]), {"level_": 0.9}, InputError, "has no option level_="),
    ],
)
def test_words(name, t, asked, error, words):
    with pytest.raises(error, match=words):
        getattr(trueness, name)(t, **asked)


def test_words_of_the_line():
    with pytest.raises(NotEnoughCases, match="two different scores"):
        trueness.calibration_line(Tally([0.5], neg=[1], pos=[1]))
    touching = trueness.tally([0, 0, 1, 0, 1, 1], [0.1, 0.2, 0.3, 0.3, 0.4, 0.6])
    for t in (Tally([0.2, 0.7], neg=[4, 0], pos=[0, 4]), touching):
        with pytest.raises(NotEnoughCases, match="slope would be infinite"):
            trueness.calibration_line(t)
    with pytest.raises(InputError, match="Did you mean 'isotonic'"):
        trueness.calibration_test(Tally([0.5], neg=[1]), method="isotoni")
    asked = {"weight": [1, 2, 3, 1.5], "method": "cox"}
    with pytest.raises(NotEnoughCases, match="overlap"):
        trueness.calibration_test([0, 0, 1, 1], [0.2, 0.3, 0.6, 0.7], **asked)


def test_ten_of_ten_are_no_proof():
    r = trueness.reliability(Tally([0.3, 0.9], [10, 0], [0, 10]))
    # p^10 = exp(-3.84 / 2)
    assert r.confidence_low[1] == pytest.approx(math.exp(-0.384146 / 2), abs=1e-4)
    assert r.confidence_high[1] == 1
    assert r.confidence_high[0] >= 0.17
    # a single case at the top of many
    t = Tally(np.linspace(0.1, 0.9, 50), np.ones(50, int), [0] * 49 + [1])
    assert trueness.reliability(t).confidence_low[-1] < 0.5


def brute_loess(x, y, at, span):
    """One weighted parabola at a time, on single cases."""
    q = int(np.floor(span * x.size + 1e-5))
    out = []
    for point in at:
        distance = np.abs(x - point)
        width = np.sort(distance)[q - 1]
        weight = np.clip(1 - (distance / width) ** 3, 0, None) ** 3
        fit = np.polynomial.polynomial.polyfit(x - point, y, 2, w=np.sqrt(weight))
        out.append(fit[0])
    return np.array(out)


@pytest.mark.parametrize("span", [0.4, 0.75, 1.0])
def test_index_of_labels_one_by_one(rng, span):
    p = rng.random(150)
    y = rng.random(150) < p**2
    found = trueness.calibration_index(y, p, positive=True, span=span)
    x = np.sort(p)
    away = np.abs(brute_loess(x, y[np.argsort(p)].astype(float), x, span) - x)
    assert found.ici.value == pytest.approx(away.mean(), abs=1e-8)
    assert found.e50.value == pytest.approx(np.median(away), abs=1e-8)
    assert found.e90.value == pytest.approx(np.quantile(away, 0.9), abs=1e-8)
    assert found.largest.value == pytest.approx(away.max(), abs=1e-8)
    assert found.ici.low > 0  # 1/12 + ... : p^2 is far from p


def test_equal_width_error_is_that_of_other_packages():
    """get_ece of uncertainty-calibration 0.1.4 (Kumar et al. 2019), 10 and 15 bins."""
    i = np.arange(1, 121)
    y = ((i * 7) % 10 < 3).astype(int)
    t = trueness.tally(y, 0.7 * ((i * 53) % 101 + 1) / 103 + 0.2 * y)
    for bins, other in ((10, 0.15004854368932036), (15, 0.14508090614886726)):
        found = trueness.calibration_error(t, bins=bins, binning="equal width")
        assert found.plain.value == pytest.approx(other, rel=1e-13)
    t = Tally([0.25, 0.75], neg=[5, 1], pos=[5, 9])
    e = trueness.calibration_error(t, bins=10, binning="equal width")
    assert e.plain.value == pytest.approx((0.25 + 0.15) / 2)
    assert (e.bins, e.binning) == (2, "equal width")
    with pytest.raises(InputError, match="binning must be one of"):
        trueness.calibration_error(t, binning="equal")


def test_hosmer_and_lemeshow_by_hand():
    t = Tally([0.2, 0.6], neg=[15, 12], pos=[5, 8])
    h = (5 - 4) ** 2 / (20 * 0.2 * 0.8) + (8 - 12) ** 2 / (20 * 0.6 * 0.4)
    found = trueness.calibration_test(t, method="hosmer-lemeshow", bins=2)
    assert found.statistic == pytest.approx(h)
    assert found.p_value == pytest.approx(chi2.sf(h, 2))
    fewer = trueness.calibration_test(t, method="hosmer-lemeshow", bins=2, parameters=1)
    assert fewer.p_value == pytest.approx(chi2.sf(h, 1))
    none = trueness.calibration_test(t, method="hosmer-lemeshow", bins=2, parameters=2)
    assert math.isnan(none.p_value)
    assert "number of bins" in found.notes[0]


def test_indices_agree_with_r():
    # R's loess and ResourceSelection's formula: tests/reference/calibration.R
    found = json.loads((REFERENCE / "calibration.json").read_text())
    y, p = (np.array(found[k]) for k in ("y", "p"))
    x = trueness.calibration_index(y, p)
    ours = [x.ici.value, x.e50.value, x.e90.value, x.largest.value]
    assert ours == pytest.approx([found[k] for k in ("ici", "e50", "e90", "emax")])
    test = trueness.calibration_test(y, p, method="hosmer-lemeshow", parameters=2)
    assert (test.statistic, test.p_value) == pytest.approx((found["hl"], found["hl_p"]))
