"""Brier score and log loss, with their parts."""

import math
from fractions import Fraction

import numpy as np
import pytest
from sklearn.isotonic import IsotonicRegression
from sklearn.metrics import brier_score_loss
from sklearn.metrics import log_loss as sklearn_log_loss

import trueness
from trueness import InputError, NotEnoughCases, Tally


def draw_tally(rng, n, *, power=1.0, digits=2):
    """Scores and labels with P(y) = score ** power: calibrated for power 1."""
    p = np.round(rng.random(n), digits)
    return trueness.tally(rng.random(n) < p**power, p)


def test_brier_by_hand():
    score = trueness.brier(trueness.Tally([0.2, 0.8], neg=[3, 1], pos=[1, 3]))

    # (3 * .04 + .64 + .64 + 3 * .04) / 8; recalibrated to 1/4 and 3/4: 3/16
    assert score.skill == pytest.approx((1 / 16 - 1.52 / 8 + 3 / 16) * 4)
    assert float(score) == score.value
    assert "mcb: " in repr(score)


def test_brier_of_one_class_has_no_uncertainty():
    score = trueness.brier(trueness.Tally([0.1, 0.3], neg=[5, 5]))

    assert score.value == pytest.approx((0.01 + 0.09) / 2)
    assert (score.unc.value, score.dsc.value) == (0, 0)
    assert math.isnan(score.skill)


def test_brier_of_many_cases_is_exact():
    tally = trueness.Tally([0.25, 0.5], neg=[10**9, 1], pos=[1, 10**9])

    score = trueness.brier(tally)

    losses = Fraction(10**9, 16) + Fraction(9, 16) + Fraction(1, 4) + Fraction(10**9, 4)

    assert score.value == pytest.approx(float(losses / (2 * 10**9 + 2)))


@pytest.mark.parametrize("digits", [1, 3])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize(
    ("analysis", "sklearn_loss"),
    [(trueness.brier, brier_score_loss), (trueness.log_loss, sklearn_log_loss)],
)
def test_scores_are_those_of_scikit_learn(
    rng, analysis, sklearn_loss, digits, weighted
):
    score = np.clip(np.round(rng.random(400), digits), 0.001, 0.999)
    labels = (rng.random(400) < score**2).astype(int)
    weight = rng.exponential(size=400) if weighted else np.ones(400)
    design = {"weight": weight} if weighted else {}

    answer = analysis(trueness.tally(labels, score, **design))

    def loss_of(probability):
        return sklearn_loss(labels, probability, sample_weight=weight)

    isotonic = IsotonicRegression().fit(score, labels, sample_weight=weight)
    loss = loss_of(score)
    recalibrated_loss = loss_of(isotonic.predict(score))
    prevalence_loss = loss_of(np.full(400, np.average(labels, weights=weight)))
    mcb, dsc, unc = answer.mcb.value, answer.dsc.value, answer.unc.value

    assert answer.value == pytest.approx(loss, rel=1e-12)
    assert mcb == pytest.approx(loss - recalibrated_loss, abs=1e-12)
    assert dsc == pytest.approx(prevalence_loss - recalibrated_loss, abs=1e-12)
    assert answer.value == pytest.approx(mcb - dsc + unc)
    assert answer.low < answer.value < answer.high


def holds(estimate, value):
    """Say whether the interval holds a value, but for rounding."""
    return estimate.low - 1e-9 <= value <= estimate.high + 1e-9


def test_intervals_cover(rng):
    # p is uniform and a label positive with probability p^2, so that
    miscalibration = 1 / 3 - 2 / 4 + 1 / 5
    discrimination = 1 / 5 - 1 / 9  # the variance of p^2
    uncertainty = 2 / 9
    truth = miscalibration - discrimination + uncertainty

    covered = np.zeros(4)
    for _ in range(60):
        brier = trueness.brier(draw_tally(rng, 200, digits=3, power=2))
        covered += [
            holds(brier, truth),
            holds(brier.mcb, miscalibration),
            holds(brier.dsc, discrimination),
            holds(brier.unc, uncertainty),
        ]

    assert (covered >= 52).all()


ONE_SCORE = pytest.mark.parametrize("score", [0.0, 1e-9, 0.1, 0.5, 0.9, 1.0])
FEW_COUNTS = pytest.mark.parametrize(
    ("neg", "pos"), [(1, 0), (0, 1), (2, 0), (5, 5), (30, 0), (0, 3)]
)


@ONE_SCORE
@FEW_COUNTS
@pytest.mark.parametrize(
    ("analysis", "largest_loss", "largest_uncertainty"),
    [(trueness.brier, 1.0, 0.25), (trueness.log_loss, math.inf, math.log(2))],
)
def test_no_interval_of_a_score_is_empty_or_impossible(
    analysis, largest_loss, largest_uncertainty, score, neg, pos
):
    answer = analysis(Tally([score], [neg], [pos]))

    largest_values = [
        (answer, largest_loss),
        (answer.mcb, largest_loss),
        (answer.dsc, largest_uncertainty),
        (answer.unc, largest_uncertainty),
    ]
    for estimate, largest in largest_values:
        assert 0 <= estimate.low <= estimate.value <= estimate.high <= largest
        # whoever says 1/2 to all has the same loss whatever happens
        is_certain = estimate is answer and score == 0.5
        if math.isfinite(estimate.value) and not is_certain:
            assert estimate.low < estimate.high


@ONE_SCORE
@FEW_COUNTS
def test_no_interval_of_an_error_is_empty_or_impossible(score, neg, pos):
    tally = Tally([score], [neg], [pos])

    error = trueness.calibration_error(tally)
    ici = trueness.calibration_index(tally).ici

    for estimate in (error.plain, error.debiased, error.rms, error.smooth):
        assert 0 <= estimate.low <= estimate.value <= estimate.high <= 1
        assert estimate.low < estimate.high

    assert 0 <= ici.low <= ici.value <= ici.high <= 1


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
    labels, score, weights = [1, 0, 1, 0], [0.0, 0.4, 0.6, 0.2], [0.4, 1, 1, 1]
    note = trueness.log_loss(labels, score, weight=weights).notes[0]

    assert "certain and wrong (positives with a score of exactly 0: 0.4;" in note


PROBABILITIES = [f"calibration_{k}" for k in ("error", "test", "verdict", "index")]
PROBABILITIES += ["brier", "log_loss", "reliability"]


@pytest.mark.parametrize("name", PROBABILITIES)
@pytest.mark.parametrize(
    ("t", "asked", "error", "message"),
    [
        (Tally([0.5, 2], [1, 0], [0, 1]), {}, InputError, r"from 0 to 1; found 2.0"),
        (Tally([0.5], unknown=[3]), {}, NotEnoughCases, "lack a label"),
        (Tally(), {}, NotEnoughCases, "There are no cases"),
        (Tally([0.5], [1], [1]), {"level_": 0.9}, InputError, "has no option 'level_'"),
    ],
)
def test_words(name, t, asked, error, message):
    with pytest.raises(error, match=message):
        getattr(trueness, name)(t, **asked)


@pytest.mark.parametrize("loss", [trueness.brier, trueness.log_loss])
@pytest.mark.parametrize("part", ["mcb", "dsc"])
def test_intervals_of_parts_come_nearer_with_more_cases(loss, part):
    """The same proportions with 10,000 times as many cases: a hundredth as wide."""
    score = [0.1, 0.3, 0.5, 0.7, 0.9]
    neg = np.array([85, 80, 50, 45, 25])

    of_sample = getattr(loss(Tally(score, neg, 100 - neg)), part)
    of_large = getattr(loss(Tally(score, 10_000 * neg, 10_000 * (100 - neg))), part)

    assert of_large.low < of_large.value < of_large.high
    assert of_large.high - of_large.low < 0.011 * (of_sample.high - of_sample.low)


@pytest.mark.parametrize("loss", [trueness.brier, trueness.log_loss])
def test_parts_of_a_million_cases_hold_the_truth(loss):
    """Scores of nine values; the parts follow from the proportions."""
    rng = np.random.default_rng(2)
    score = np.arange(1, 10) / 10
    truth = score**1.5
    held = {"mcb": 0, "dsc": 0}
    for _ in range(40):
        pos = rng.binomial(111_111, truth)
        result = loss(Tally(score, 111_111 - pos, pos))
        for name, value in parts_of(loss, score, truth).items():
            estimate = getattr(result, name)
            held[name] += estimate.low <= value <= estimate.high

    assert min(held.values()) >= 35


def parts_of(loss, score, truth):
    """MCB and DSC of equally many cases at each score."""
    prevalence = np.full(truth.size, truth.mean())

    def mean_loss(p):
        if loss is trueness.brier:
            return np.mean(truth * (1 - p) ** 2 + (1 - truth) * p**2)
        return -np.mean(truth * np.log(p) + (1 - truth) * np.log(1 - p))

    return {
        "mcb": mean_loss(score) - mean_loss(truth),
        "dsc": mean_loss(prevalence) - mean_loss(truth),
    }


def test_clipped_log_loss_is_that_of_scikit_learn():
    label = [0, 1, 1, 0, 1, 0]
    probability = [0.0, 1.0, 0.4, 1.0, 0.0, 0.3]

    clipped = trueness.log_loss(label, probability, clip="scikit-learn")

    assert clipped.value == pytest.approx(sklearn_log_loss(label, probability))
    assert "were clipped" in clipped.notes[0]
    assert trueness.log_loss(label, probability).value == np.inf


def test_clipping_at_a_distance():
    label = [0, 1, 1, 0]
    probability = [0.0, 1.0, 0.4, 0.999]

    clipped = trueness.log_loss(label, probability, clip=0.01)

    moved = np.clip(probability, 0.01, 0.99)

    assert clipped.value == pytest.approx(trueness.log_loss(label, moved).value)

    for wrong in (0.5, 0.0, -1, "sklearn"):
        with pytest.raises(InputError, match="clip"):
            trueness.log_loss(label, probability, clip=wrong)
