"""What calibration gains on cases that the map has not seen."""

import numpy as np
import pytest

import trueness
from trueness import InputError, NotEnoughCases, Tally, calibration_gain
from trueness.calibration.folds import deal_cases
from trueness.calibration.gain import gain_sentences


def scored(n=400, seed=1):
    rng = np.random.default_rng(seed)
    y = rng.random(n) < 0.3
    score = 1 / (1 + np.exp(-(rng.normal(size=n) + 1.5 * y)))
    return y, np.round(score, 2)


def gains_case_by_case(tally, neg_in_fold, pos_in_fold):
    """Return the Brier loss of each case by the map of other folds, and its gain."""
    losses = []
    gains = []
    for neg, pos in zip(neg_in_fold, pos_in_fold, strict=True):
        training = Tally(tally.score, tally.neg - neg, tally.pos - pos)
        probability = trueness.calibrate(training, method="platt")(tally.score)
        for row, score in enumerate(tally.score):
            for label, count in ((0, neg[row]), (1, pos[row])):
                loss = (probability[row] - label) ** 2
                losses += [loss] * count
                gains += [(score - label) ** 2 - loss] * count
    return losses, gains


def test_slow_twin_that_goes_case_by_case():
    """Deal again with the same seed, fit, and average over cases one by one."""
    labels, score = scored()
    tally = trueness.tally(labels, score)

    answer = calibration_gain(tally, method="platt", folds=4, rng=7)

    rng = np.random.default_rng(7)
    neg_in_fold = deal_cases(tally.neg, 4, rng)
    pos_in_fold = deal_cases(tally.pos, 4, rng)
    losses, gains = gains_case_by_case(tally, neg_in_fold, pos_in_fold)

    assert len(losses) == 400
    assert answer.cross_fitted.value == pytest.approx(np.mean(losses))
    assert answer.gain.value == pytest.approx(np.mean(gains))
    assert answer.gain.se == pytest.approx(np.std(gains, ddof=1) / 20)
    assert answer.cross_fitted.low < answer.cross_fitted.value
    assert answer.cross_fitted.value < answer.cross_fitted.high


def test_cases_are_dealt_evenly():
    labels, score = scored()
    tally = trueness.tally(labels, score)

    in_fold = deal_cases(tally.neg, 4, np.random.default_rng(7))

    fewest = tally.n_neg // 4

    assert {*in_fold.sum(axis=1)} <= {fewest, fewest + 1}


def test_the_gain_is_said_in_cases():
    """.2 and .8 where half are positive: off by 30 in 100, by none after it."""
    tally = Tally([0.8, 0.2], neg=[500, 500], pos=[500, 500])
    result = calibration_gain(tally, method="isotonic", rng=0)

    assert result.error_before.value == pytest.approx(0.3, abs=0.01)
    assert result.error_after.value < 0.02
    assert result.order in ("ties", "kept")

    first = gain_sentences(result)[0]

    assert first.startswith(
        "Calibration helps. Score and proportion of positives differ by"
    )
    assert "30 in 100 cases" in first


@pytest.mark.parametrize(
    ("method", "share", "order"),
    [
        ("platt", [0.2, 0.4, 0.6], "kept"),
        ("platt", [0.6, 0.4, 0.2], "reversed"),
        ("isotonic", [0.4, 0.2, 0.6], "ties"),
        ("histogram", [0.4, 0.2, 0.6], "changed"),
    ],
)
def test_what_the_map_does_to_the_order_is_said(method, share, order):
    pos = (1000 * np.array(share)).astype(int)
    result = calibration_gain(Tally([1, 2, 3], 1000 - pos, pos), method=method)

    assert result.order == order
    assert len(gain_sentences(result)) == (1 if order == "kept" else 2)


def test_groups_share_the_map_and_add_up():
    label, score = scored()
    group = np.where(np.arange(400) < 100, "a", "b")
    tallies = trueness.tally(label, score, by=group)

    gains = calibration_gain(tallies, method="platt", rng=1)

    gain_of_all = calibration_gain(trueness.tally(label, score), method="platt", rng=1)
    assert set(gains) == {"a", "b"}
    for loss in ("before", "in_sample"):
        total = sum(tallies[g].n * getattr(gains[g], loss).value for g in gains)
        assert total / 400 == pytest.approx(getattr(gain_of_all, loss).value)


def test_scores_that_are_no_probabilities_and_other_edges():
    labels, score = scored()
    result = calibration_gain(trueness.tally(labels, 10 * score), method="platt", rng=0)

    assert np.isnan(result.before.value)
    assert np.isnan(result.gain.value)
    assert 0 < result.cross_fitted.value < 0.25
    with pytest.raises(NotEnoughCases):
        calibration_gain(Tally([0.5, 0.4], pos=[3, 0], neg=[0, 99]))
    with pytest.raises(NotEnoughCases, match="at least one positive"):
        calibration_gain(Tally([0.5], neg=[9]))
    with pytest.raises(InputError, match="method must be one of"):
        calibration_gain(trueness.tally(labels, score), method="plat")
    with pytest.raises(InputError, match="folds must be"):
        calibration_gain(trueness.tally(labels, score), folds=1)


USE = {"prevalence": 0.1, "sampling": "case-control"}


def cohort_and_sample():
    """Return a cohort, and its case-control sample: positives, a negative in nine."""
    rng = np.random.default_rng(3)
    label = rng.random(40_000) < 0.1
    score = 1 / (1 + np.exp(-(rng.normal(size=label.size) + 1.5 * label - 1)))
    is_sampled = label | (rng.random(label.size) < 1 / 9)
    cohort = trueness.tally(label, score)
    return cohort, trueness.tally(label[is_sampled], score[is_sampled])


def test_a_case_control_sample_is_worth_what_the_cohort_is():
    cohort, sample = cohort_and_sample()
    use = {"prevalence": cohort.prevalence, "sampling": "case-control"}

    of_cohort = calibration_gain(cohort, method="platt")
    of_sample = calibration_gain(sample, method="platt", **use)

    for name in ("before", "in_sample", "cross_fitted", "gain"):
        expected = getattr(of_cohort, name)
        estimate = getattr(of_sample, name)
        assert estimate.value == pytest.approx(expected.value, abs=0.004)
        assert estimate.low < expected.value < estimate.high


def test_a_case_control_sample_taken_for_a_cohort_loses_more():
    cohort, sample = cohort_and_sample()

    of_cohort = calibration_gain(cohort, method="platt")
    of_sample = calibration_gain(sample, method="platt")

    assert of_sample.cross_fitted.value > 2 * of_cohort.cross_fitted.value


def test_the_gain_of_a_case_control_sample_needs_its_prevalence():
    _, sample = cohort_and_sample()

    with pytest.raises(InputError, match="prevalence"):
        calibration_gain(sample, method="platt", sampling="case-control")
    with pytest.raises(InputError, match="groups"):
        calibration_gain({"a": sample}, method="platt", **USE)


def test_a_map_that_is_worse_in_places_is_said_by_its_error():
    """300 cases at .97, two of them positive, beside few others with high scores."""
    rng = np.random.default_rng(1)
    score = np.r_[0.3 * rng.random(20_000) ** 6, np.linspace(0.3, 0.7, 40)]
    label = np.r_[rng.random(score.size) < score, np.arange(300) < 2]
    tally = trueness.tally(label, np.r_[score, np.full(300, 0.97)])

    gain = calibration_gain(tally, method="platt")

    assert gain.gain.low > 0
    assert gain.error_after.value > gain.error_before.value
    assert "some scores are further" in gain_sentences(gain)[0]
