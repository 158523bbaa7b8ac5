"""Probabilities of a case-control sample are judged at the share of use."""

import numpy as np
import pytest
from scipy.special import expit, logit

import trueness
from trueness import InputError, Tally
from trueness.counts.values import with_share

# 40 positives and 60 negatives by design; where it is used, one case in ten is positive
SAMPLE = Tally([0.8, 0.5, 0.2, 0.1], pos=[20, 12, 6, 2], neg=[3, 9, 20, 28])
# the same cases as a cohort would show them: each negative six times (40 + 360)
COHORT = Tally([0.8, 0.5, 0.2, 0.1], pos=[20, 12, 6, 2], neg=[18, 54, 120, 168])
USE = {"prevalence": 0.1, "sampling": "case-control"}
ANSWERS = {
    "brier": trueness.brier,
    "log_loss": trueness.log_loss,
    "reliability": trueness.reliability,
    "calibration_line": trueness.calibration_line,
    "calibration_test": trueness.calibration_test,
    "calibration_error": trueness.calibration_error,
    "calibration_index": trueness.calibration_index,
    "calibrate": trueness.calibrate,
}


@pytest.mark.parametrize("name", ANSWERS)
def test_without_the_share_of_use_a_case_control_sample_is_refused(name):
    with pytest.raises(InputError, match=r"its design fixed it. Type prevalence=0.01"):
        ANSWERS[name](SAMPLE, sampling="case-control")
    ANSWERS[name](SAMPLE, **USE)
    with pytest.raises(InputError, match="sampling must be one of"):
        ANSWERS[name](SAMPLE, sampling="random")


def test_weights_and_a_share_are_not_both_taken():
    weighted = with_share(SAMPLE, 0.1)
    with pytest.raises(InputError, match="weights or prevalence=, not both"):
        trueness.brier(weighted, prevalence=0.1)


def test_values_are_those_of_a_cohort_with_that_share():
    for f in (trueness.brier, trueness.log_loss):
        found, twin = f(SAMPLE, **USE), f(COHORT)
        assert found.value == pytest.approx(twin.value, rel=1e-12)
        for part in ("mcb", "dsc", "unc"):
            value, other = getattr(found, part).value, getattr(twin, part).value
            assert value == pytest.approx(other, rel=1e-12)
        assert "weighed to a share of positives of 0.1" in found.notes[-1]
    curve = trueness.reliability(SAMPLE, **USE).probability
    assert curve == pytest.approx(trueness.reliability(COHORT).probability)
    line, twin = (
        trueness.calibration_line(SAMPLE, **USE),
        trueness.calibration_line(COHORT),
    )
    assert line.slope.value == pytest.approx(twin.slope.value, rel=1e-9)
    assert line.intercept.value == pytest.approx(twin.intercept.value, rel=1e-9)
    for f, part in (
        (trueness.calibration_error, "plain"),
        (trueness.calibration_error, "smooth"),
        (trueness.calibration_index, "ici"),
    ):
        value = getattr(f(SAMPLE, **USE), part).value
        assert value == pytest.approx(getattr(f(COHORT), part).value, rel=1e-9)


def test_brier_by_hand():
    # positives: losses .04 and .25 in halves; negatives .64 and .25 in halves
    t = Tally([0.8, 0.5], pos=[5, 5], neg=[5, 5])
    by_hand = 0.1 * (0.04 + 0.25) / 2 + 0.9 * (0.64 + 0.25) / 2
    found = trueness.brier(t, **USE)
    assert found.value == pytest.approx(by_hand)
    assert found.unc.low == found.unc.high == pytest.approx(0.09)  # it is known


def test_a_map_of_a_case_control_sample_is_carried_to_the_share_of_use():
    fitted = trueness.calibrate(SAMPLE, method="platt")
    moved = trueness.calibrate(SAMPLE, method="platt", **USE)
    shift = logit(0.1) - logit(0.4)
    at = np.array([0.1, 0.3, 0.9])
    assert moved(at) == pytest.approx(expit(logit(fitted(at)) + shift))


def test_intervals_hold_and_the_share_of_the_design_does_not_matter(rng):
    """Log-odds of 0.8 logit(p) - 1 in the population; samples of 60 + 90."""
    grid = (np.arange(100) + 0.5) / 100
    mass = grid**-0.5 * (1 - grid)
    mass /= mass.sum()
    share = expit(0.8 * logit(grid) - 1)
    rho = float(mass @ share)
    brier = float(mass @ (share * (1 - grid) ** 2 + (1 - share) * grid**2))
    held, naive = np.zeros(2), 0
    for _ in range(150):
        pos = rng.choice(100, 60, p=mass * share / rho)
        neg = rng.choice(100, 90, p=mass * (1 - share) / (1 - rho))
        y = np.repeat([1, 0], [60, 90])
        t = trueness.tally(y, grid[np.concatenate([pos, neg])])
        known = {"prevalence": rho, "sampling": "case-control"}
        b = trueness.brier(t, **known, replicates=20)
        line = trueness.calibration_line(t, **known)
        held += [b.low <= brier <= b.high, line.slope.low <= 0.8 <= line.slope.high]
        plain = trueness.brier(t, replicates=20)
        naive += plain.low <= brier <= plain.high
    assert (held / 150 >= 0.88).all()  # 0.94 and 0.95 in 1,500 samples
    assert naive < 15


@pytest.mark.parametrize("method", ["spiegelhalter", "cox", "isotonic"])
def test_calibrated_scores_are_seldom_doubted(method, rng):
    grid = (np.arange(50) + 0.5) / 50
    mass = (1 - grid) ** 3 / ((1 - grid) ** 3).sum()
    rho = float(mass @ grid)
    doubted = 0
    for _ in range(100):
        pos = rng.choice(50, 80, p=mass * grid / rho)
        neg = rng.choice(50, 80, p=mass * (1 - grid) / (1 - rho))
        t = trueness.tally(np.repeat([1, 0], 80), grid[np.concatenate([pos, neg])])
        asked = {"method": method, "replicates": 39, "rng": rng}
        found = trueness.calibration_test(
            t, **asked, prevalence=rho, sampling="case-control"
        )
        doubted += found.p_value < 0.05
    assert doubted <= 12
    at_half = trueness.calibration_test(t, method=method, replicates=39)
    assert at_half.p_value < 0.05  # as if half of all cases were positive


def test_hosmer_and_lemeshow_take_cases_as_they_came():
    with pytest.raises(InputError, match="takes cases as they came"):
        trueness.calibration_test(SAMPLE, method="hosmer-lemeshow", **USE)


def test_a_report_on_a_case_control_sample_is_weighed(tmp_path):
    with pytest.raises(InputError, match="A report depends on the prevalence"):
        trueness.report.write(SAMPLE, tmp_path / "r.html", sampling="case-control")
    trueness.report.write(SAMPLE, tmp_path / "r.html", **USE)
    page = (tmp_path / "r.html").read_text()
    assert "weighed to a prevalence of" in page
    assert "10.0 %" in page


def test_few_cases_of_a_class_have_drawn_p_values(rng):
    """Of these, laws of many cases and scores that are drawn anew rejected 27 and 17 %
    (Cox's and the isotonic test).
    """
    p = rng.beta(1, 4, 100_000)
    y = rng.random(p.size) < p
    rejected = {"cox": 0, "isotonic": 0}
    for _ in range(120):
        s = np.concatenate([rng.choice(p[y], 50), rng.choice(p[~y], 5)])
        t = trueness.tally(np.repeat([1, 0], [50, 5]), s)
        for method in rejected:
            found = trueness.calibration_test(
                t, method=method, prevalence=0.2, replicates=59, rng=rng
            )
            rejected[method] += found.p_value <= 0.05
            few = any("The smaller class has 5 cases" in n for n in found.notes)
            assert few == (method == "cox")
    assert max(rejected.values()) <= 14  # 6 are expected


def test_few_tied_cases_that_are_far_off_are_doubted():
    """By the spread that drawn classes show, often next to nothing, p was 0.075."""
    t = Tally([0.99, 0.95, 0.1], pos=[5, 10, 10], neg=[10, 20, 75])
    found = trueness.calibration_test(t, prevalence=0.9, replicates=199)
    assert abs(found.statistic) > 3
    assert found.p_value <= 0.02


@pytest.mark.filterwarnings("error")
def test_chances_that_round_to_one_give_no_warning():
    sure = Tally([1 - 2.0**-53, 1 - 1e-15], pos=[1, 0], neg=[0, 1])
    assert 0 <= trueness.calibration_test(sure, method="cox").p_value <= 1
    rare = Tally([0.5, 0.0], pos=[1, 0], neg=[0, 1])
    assert trueness.calibration_index(rare, prevalence=1e-9).ici.high <= 1


def test_one_case_of_a_class_shows_no_spread():
    t = Tally([0.2, 0.3, 0.7, 0.9], neg=[5, 4, 3, 2], pos=[0, 0, 1, 0])
    for f in (trueness.calibration_line, trueness.calibration_test):
        with pytest.raises(trueness.NotEnoughCases, match="found 1 positive and 14"):
            f(t, prevalence=0.1)
