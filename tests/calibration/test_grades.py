"""Jeffreys test per grade against numbers of R."""

from __future__ import annotations

import pytest

import trueness

GRADES = trueness.Tally([0.05, 0.02, 0.01], pos=[10, 6, 3], neg=[110, 144, 197])


def test_p_values_are_those_of_r():
    tests = trueness.calibration.jeffreys_test(GRADES)

    # pbeta(c(.05, .02, .01), c(10, 6, 3) + .5, c(110, 144, 197) + .5)
    expected = [0.0555723277191, 0.0520120061670, 0.2196399675007]

    assert tests.p_value == pytest.approx(expected, abs=1e-12)
    # qbeta(c(.025, .975), 3.5, 197.5)
    assert tests.rate_low[2] == pytest.approx(0.00424227914683)
    assert tests.rate_high[2] == pytest.approx(0.03948435864548)


def test_the_interval_of_a_grade_holds_its_rate():
    # Brown, Cai, DasGupta (2001): to the end of the scale without a case of a kind
    tests = trueness.calibration.jeffreys_test(
        trueness.Tally([0.9, 0.02], pos=[12, 0], neg=[0, 150])
    )

    assert tests.rate.tolist() == [1, 0]
    assert (tests.rate_high[0], tests.rate_low[1]) == (1, 0)
    # qbeta(c(.025, .975), c(12.5, .5), c(.5, 150.5))
    assert tests.rate_low[0] == pytest.approx(0.8146941, abs=1e-7)
    assert tests.rate_high[1] == pytest.approx(0.01657939, abs=1e-8)


def test_portfolio_is_one_grade_with_the_mean_pd():
    mean_pd = (0.05 * 120 + 0.02 * 150 + 0.01 * 200) / 470

    portfolio = trueness.calibration.jeffreys_test(
        trueness.Tally([mean_pd], pos=[19], neg=[451])
    )

    tests = trueness.calibration.jeffreys_test(GRADES)

    assert tests.portfolio_p_value == pytest.approx(portfolio.p_value[0])


def test_scores_must_be_probabilities_and_cases_single():
    with pytest.raises(trueness.InputError, match="from 0 to 1"):
        trueness.calibration.jeffreys_test(trueness.Tally([2.0], pos=[1], neg=[1]))
    with pytest.raises(trueness.InputError, match="does not take weights"):
        trueness.calibration.jeffreys_test([0, 1], [0.1, 0.2], weight=[1.0, 2.0])
    with pytest.raises(trueness.NotEnoughCases, match="lack a label"):
        trueness.calibration.jeffreys_test(trueness.Tally([0.5], unknown=[3]))
