"""Calibration slope and intercept."""

import math

import pytest

import trueness
from trueness import InputError, NotEnoughCases, Tally


def test_calibration_line_by_hand():
    # truth has half the log-odds of the scores, plus nothing
    tally = trueness.Tally([0.1, 0.9], neg=[300, 100], pos=[100, 300])
    line = trueness.calibration_line(tally)

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
