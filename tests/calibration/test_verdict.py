"""One verdict on calibration: its size decides, and a test that sees every place."""

import numpy as np
import pytest

import trueness
from trueness import InputError, Tally, calibration_verdict


def drawn(n, seed, power=1.0):
    """Labels of known probabilities, and scores that are a power of these."""
    rng = np.random.default_rng(seed)
    p = rng.beta(2, 4, n)
    return (rng.random(n) < p).astype(int), p**power


def test_errors_that_cancel_are_seen():
    """.2 too low and .8 too high: Spiegelhalter's sum is that of calibrated scores."""
    t = Tally([0.8, 0.5, 0.2], neg=[10, 50, 70], pos=[90, 50, 30])
    assert trueness.calibration_test(t).p_value > 0.5
    found = calibration_verdict(t)
    assert found.code == "miscalibrated"
    assert found.p_value < 0.02
    assert found.mean == pytest.approx(0.5)
    # each bin is one score: (.1 + 0 + .1) / 3, less a little that noise adds
    assert found.size.value == pytest.approx(0.2 / 3, abs=0.02)
    assert found.size.low < 0.2 / 3 < found.size.high


def test_the_worst_place_is_said_in_cases():
    t = Tally([0.3, 0.1], neg=[1, 900], pos=[99, 100])
    place = calibration_verdict(t).worst
    assert (place.low, place.high, place.cases) == (0.3, 0.3, 100)
    assert place.share.value == 0.99
    assert place.share.low > 0.9
    assert place.sentence.startswith("Of 100 cases scored about 0.30, 99 are positive")


def test_few_cases_with_high_scores_have_bins_of_their_own():
    """Of 20,000 rare cases forty are scored .3 and all positive, forty .9 and half."""
    rng = np.random.default_rng(1)
    score = np.concatenate([rng.beta(1, 400, 20_000), np.full(40, 0.3), [0.9] * 40])
    label = (rng.random(20_000) < score[:20_000]).astype(int)
    label = np.concatenate([label, np.ones(40, int), [0, 1] * 20])
    found = calibration_verdict(label, score)
    assert found.code == "miscalibrated"
    assert found.p_value < 1e-6
    assert found.worst.share.value > found.worst.score + 0.3


@pytest.mark.parametrize(
    ("n", "power", "code"),
    [
        (300, 1, "undecided"),
        (10**6, 1, "calibrated"),
        (10**6, 0.98, "close"),
        (20_000, 0.7, "miscalibrated"),
    ],
)
def test_size_and_test_decide(n, power, code):
    found = calibration_verdict(*drawn(n, 3, power))
    assert found.code == code
    assert (found.p_value < 0.05) == (code in ("close", "miscalibrated"))
    small = found.tolerance * found.prevalence
    assert (found.size.high <= small) == (code in ("close", "calibrated"))
    assert str(found).splitlines()[0] == found.sentences[0]
    assert all(len(line.split()) <= 25 for line in found.sentences)


def test_calibrated_scores_are_rejected_in_one_of_twenty():
    found = [calibration_verdict(*drawn(600, seed)) for seed in range(120)]
    p = np.array([v.p_value for v in found])
    assert 0.005 <= np.mean(p < 0.05) <= 0.095
    assert 0.35 < np.mean(p < 0.5) < 0.65
    # no place is blamed where nothing was found
    assert all(v.worst is None for v in found if v.p_value >= 0.05)
    with pytest.raises(InputError, match="tolerance"):
        calibration_verdict([0, 1], [0.5, 0.2], tolerance=5)


def test_what_was_impossible_has_happened():
    t = Tally([1.0, 0.0], neg=[0, 5000], pos=[5000, 1])
    found = calibration_verdict(t)
    assert found.p_value == 0
    assert found.code == "close"
    right = calibration_verdict(Tally([1.0, 0.0], neg=[0, 50], pos=[50, 0]))
    assert right.code == "undecided"
    assert np.isnan(right.p_value)


def test_a_cluster_of_copies_is_one_case():
    y, p = drawn(400, 5, 0.6)
    copies = [np.repeat(x, 20) for x in (y, p, np.arange(400))]
    found = calibration_verdict(copies[0], copies[1], cluster=copies[2])
    once = calibration_verdict(y, p)
    assert found.p_value == pytest.approx(once.p_value, abs=0.02)
    assert calibration_verdict(*copies[:2]).p_value < found.p_value / 100
