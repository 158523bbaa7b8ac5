"""Expected calibration error, smooth error and ICI."""

import json
import math
from pathlib import Path

import numpy as np
import pytest

import trueness
from trueness import InputError, Tally

REFERENCE = Path(__file__).parents[1] / "reference"
SMOOTH = json.loads((REFERENCE / "smooth_ece.json").read_text())


def test_calibration_error_by_hand():
    tally = trueness.Tally([0.1, 0.4, 0.8], neg=[8, 4, 3], pos=[2, 6, 7])

    error = trueness.calibration_error(tally, bins=3)

    noise = (0.2 * 0.8 + 0.6 * 0.4 + 0.7 * 0.3) / 9
    mean_square = (0.01 + 0.04 + 0.01 - noise) / 3

    assert error.bins == 3
    assert error.plain.value == pytest.approx((0.1 + 0.2 + 0.1) / 3)
    assert error.rms.value == pytest.approx(math.sqrt(max(0, mean_square)))
    assert error.debiased.value < error.plain.value


def test_the_error_by_chance_by_hand():
    tally = trueness.Tally([0.1, 0.4, 0.8], neg=[8, 4, 3], pos=[2, 6, 7])

    error = trueness.calibration_error(tally, bins=3)

    # E|N(0, s)| = s sqrt(2 / pi)
    deviations = [math.sqrt(p * (1 - p) / 10) for p in (0.1, 0.4, 0.8)]
    by_chance = math.sqrt(2 / math.pi) * sum(deviations) / 3

    assert error.expected_by_chance == pytest.approx(by_chance)
    assert f"{error.expected_by_chance:.3g}" in error.notes[0]


@pytest.mark.parametrize("case", SMOOTH["cases"], ids=lambda case: str(case["seed"]))
def test_smooth_error_is_that_of_its_authors(case):
    rng = np.random.default_rng(case["seed"])
    probability = np.round(rng.random(case["n"]), 3)
    label = (rng.random(case["n"]) < probability ** case["power"]).astype(int)

    error = trueness.calibration_error(label, probability)

    assert error.smooth.value == pytest.approx(case["smooth"], rel=0.02)


def brute_loess(x, y, points, span):
    """Return the fits of one weighted parabola at a time, on single cases."""
    neighbours = int(np.floor(span * x.size + 1e-5))
    fits = []
    for point in points:
        distance = np.abs(x - point)
        width = np.sort(distance)[neighbours - 1]
        # Cleveland's tricube weight
        weight = np.clip(1 - (distance / width) ** 3, 0, None) ** 3
        # polyfit squares its weights
        coefficients = np.polynomial.polynomial.polyfit(
            x - point, y, 2, w=np.sqrt(weight)
        )
        fits.append(coefficients[0])

    return np.array(fits)


@pytest.mark.parametrize("span", [0.4, 0.75, 1.0])
def test_index_of_labels_one_by_one(rng, span):
    probability = rng.random(150)
    label = rng.random(150) < probability**2

    index = trueness.calibration_index(label, probability, positive=True, span=span)

    order = np.argsort(probability)
    ordered = probability[order]
    smooth = brute_loess(ordered, label[order].astype(float), ordered, span)
    distance = np.abs(smooth - ordered)
    assert index.ici.value == pytest.approx(distance.mean(), abs=1e-8)
    assert index.e50.value == pytest.approx(np.median(distance), abs=1e-8)
    assert index.e90.value == pytest.approx(np.quantile(distance, 0.9), abs=1e-8)
    assert index.largest.value == pytest.approx(distance.max(), abs=1e-8)
    # the mean of |p^2 - p| is 1/6
    assert index.ici.low > 0


@pytest.mark.parametrize(
    ("bins", "expected"), [(10, 0.15004854368932036), (15, 0.14508090614886726)]
)
def test_equal_width_error_is_that_of_other_packages(bins, expected):
    """get_ece of uncertainty-calibration 0.1.4 (Kumar et al. 2019), 10 and 15 bins."""
    case = np.arange(1, 121)
    label = (case * 7 % 10 < 3).astype(int)
    probability = 0.7 * (case * 53 % 101 + 1) / 103 + 0.2 * label

    error = trueness.calibration_error(
        label, probability, bins=bins, binning="equal width"
    )

    assert error.plain.value == pytest.approx(expected, rel=1e-13)


def test_equal_width_error_by_hand():
    tally = Tally([0.25, 0.75], neg=[5, 1], pos=[5, 9])

    error = trueness.calibration_error(tally, bins=10, binning="equal width")

    assert error.plain.value == pytest.approx((0.25 + 0.15) / 2)
    # bins without a case are not counted
    assert (error.bins, error.binning) == (2, "equal width")


def test_an_unknown_binning_is_refused():
    tally = Tally([0.25, 0.75], neg=[5, 1], pos=[5, 9])

    with pytest.raises(InputError, match="binning must be one of"):
        trueness.calibration_error(tally, binning="equal")


def test_indices_agree_with_r():
    # R's loess: tests/reference/calibration.R
    expected = json.loads((REFERENCE / "calibration.json").read_text())

    index = trueness.calibration_index(np.array(expected["y"]), np.array(expected["p"]))

    assert index.ici.value == pytest.approx(expected["ici"])
    assert index.e50.value == pytest.approx(expected["e50"])
    assert index.e90.value == pytest.approx(expected["e90"])
    assert index.largest.value == pytest.approx(expected["emax"])


def test_hosmer_and_lemeshow_agree_with_r():
    # ResourceSelection's formula: tests/reference/calibration.R
    expected = json.loads((REFERENCE / "calibration.json").read_text())

    test = trueness.calibration_test(
        np.array(expected["y"]),
        np.array(expected["p"]),
        method="hosmer-lemeshow",
        parameters=2,
    )

    assert test.statistic == pytest.approx(expected["hl"])
    assert test.p_value == pytest.approx(expected["hl_p"])


def width(estimate):
    return estimate.high - estimate.low


def test_intervals_come_nearer_with_more_cases():
    """The same proportions with 100 times as many cases: a tenth of the width."""
    score = [0.1, 0.3, 0.5, 0.7, 0.9]
    neg = np.array([85, 80, 40, 35, 20])
    few = trueness.calibration_error(Tally(score, neg, 100 - neg))
    many = trueness.calibration_error(Tally(score, 10_000 * neg, 10_000 * (100 - neg)))

    for name in ("plain", "debiased"):
        assert width(getattr(many, name)) < 0.011 * width(getattr(few, name))


def test_the_interval_of_the_error_holds_it_where_most_bins_have_none():
    """Two of ten bins are off: noise in the other eight must not raise the low end."""
    rng = np.random.default_rng(9)
    held = 0
    for _ in range(40):
        p = rng.random(1000)
        truth = np.where(p > 0.8, p - 0.2, p)
        error = trueness.calibration_error(rng.random(1000) < truth, p).debiased
        bins = np.array_split((truth - p)[np.argsort(p)], 10)
        true_error = sum(abs(gap.mean()) * gap.size for gap in bins) / 1000
        held += error.low <= true_error <= error.high

    assert held >= 35


@pytest.mark.parametrize("seed", range(20))
def test_no_interval_begins_or_ends_at_its_estimate(seed):
    """Curves that are no line: an interval of lines would not hold their error."""
    rng = np.random.default_rng(seed)
    p = rng.beta(1, 1, 300).round(2).clip(0.01, 0.99)
    labels = (rng.random(300) < np.where(p > 0.5, 0.3, 0.6)).astype(int)
    tally = trueness.tally(labels, p)
    error = trueness.calibration_error(tally)
    index = trueness.calibration_index(tally)

    for estimate in (error.plain, error.debiased, error.rms, error.smooth, index.ici):
        assert estimate.low < estimate.value < estimate.high


def test_a_curve_that_is_no_line_has_no_interval_of_lines():
    rng = np.random.default_rng(1)
    p = np.linspace(0.01, 0.99, 2000)
    labels = (rng.random(2000) < 4 * (p - 0.5) ** 2).astype(int)

    error = trueness.calibration_error(labels, p)

    assert (error.smooth.low, error.smooth.high) == (0, 1)
    assert any("not linear in the log-odds" in note for note in error.notes)
