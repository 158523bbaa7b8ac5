"""Tests of calibration, by hand, by level and by power."""

import math

import numpy as np
import pytest
from scipy.stats import chi2, kstest

import trueness
from trueness import Tally


def draw_tally(rng, n, *, power=1.0, digits=2):
    """Scores and labels with P(y) = score ** power: calibrated for power 1."""
    p = np.round(rng.random(n), digits)
    return trueness.tally(rng.random(n) < p**power, p)


def test_spiegelhalter_by_hand():
    tally = trueness.Tally([0.2, 0.9], neg=[6, 0], pos=[4, 5])

    test = trueness.calibration_test(tally, method="spiegelhalter")

    z = (2 * 0.6 + 0.5 * -0.8) / math.sqrt(10 * 0.36 * 0.16 + 5 * 0.64 * 0.09)

    assert test.statistic == pytest.approx(z)
    assert test.p_value == pytest.approx(math.erfc(abs(z) / math.sqrt(2)))


@pytest.mark.parametrize("method", ["spiegelhalter", "cox", "isotonic"])
def test_what_was_impossible_has_happened(method):
    tally = trueness.Tally([0.0, 0.5], neg=[3, 1], pos=[1, 1])

    assert trueness.calibration_test(tally, method=method).p_value == 0


@pytest.mark.parametrize(
    ("method", "tally"),
    [
        (
            "spiegelhalter",
            trueness.Tally([0.0, 0.5, 1.0], neg=[2, 2, 0], pos=[0, 1, 2]),
        ),
        ("cox", trueness.Tally([0.0, 1.0], neg=[2, 0], pos=[0, 2])),
    ],
)
def test_scores_that_tell_nothing_have_no_p_value(method, tally):
    assert math.isnan(trueness.calibration_test(tally, method=method).p_value)


def test_cox_by_hand():
    """Two scores: the free model meets both proportions."""
    tally = trueness.Tally([0.2, 0.8], neg=[140, 80], pos=[60, 120])

    test = trueness.calibration_test(tally, method="cox")

    log = math.log
    free = 3 * log(0.3) + 7 * log(0.7) + 6 * log(0.6) + 4 * log(0.4)
    fixed = 3 * log(0.2) + 7 * log(0.8) + 6 * log(0.8) + 4 * log(0.2)

    assert test.statistic == pytest.approx(20 * 2 * (free - fixed))
    assert test.p_value == pytest.approx(chi2.sf(test.statistic, 2))


def test_cox_of_one_score_has_one_degree_of_freedom():
    tally = trueness.Tally([0.2], neg=[140], pos=[60])

    test = trueness.calibration_test(tally, method="cox")

    assert test.p_value == pytest.approx(chi2.sf(test.statistic, 1))


@pytest.mark.parametrize("method", ["spiegelhalter", "cox", "isotonic", "bins"])
def test_tests_hold_their_level_and_have_power(rng, method):
    def p_value(n, power):
        t = draw_tally(rng, n, power=power)
        test = trueness.calibration_test(t, method=method, replicates=99, rng=rng)
        return test.p_value

    calibrated = [p_value(200, 1) for _ in range(80)]
    miscalibrated = [p_value(400, 1.6) for _ in range(10)]

    assert kstest(calibrated, "uniform").pvalue > 1e-3
    # Spiegelhalter's test is nearly blind to a shift that is symmetric about 1/2
    assert np.median(miscalibrated) < (0.05 if method != "spiegelhalter" else 1.0)


def test_hosmer_and_lemeshow_by_hand():
    tally = Tally([0.2, 0.6], neg=[15, 12], pos=[5, 8])
    h = (5 - 4) ** 2 / (20 * 0.2 * 0.8) + (8 - 12) ** 2 / (20 * 0.6 * 0.4)
    result = trueness.calibration_test(tally, method="hosmer-lemeshow", bins=2)

    assert result.statistic == pytest.approx(h)
    assert result.p_value == pytest.approx(chi2.sf(h, 2))

    fewer = trueness.calibration_test(
        tally, method="hosmer-lemeshow", bins=2, parameters=1
    )

    assert fewer.p_value == pytest.approx(chi2.sf(h, 1))

    none = trueness.calibration_test(
        tally, method="hosmer-lemeshow", bins=2, parameters=2
    )

    assert math.isnan(none.p_value)
    assert "number of bins" in result.notes[0]
