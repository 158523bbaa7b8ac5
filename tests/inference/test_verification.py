"""Labels that are missing at random given the score: the parts of the imputation."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import optimize, special, stats

import trueness
from trueness import Tally
from trueness.inference.variance import Influence
from trueness.inference.verification import (
    bins_of_labelled_cases,
    fit_logistic_line,
    impute_labels,
    influence_through_imputation,
    normal_scores_of,
    score_difference_p_value,
)


def test_the_line_maximises_the_likelihood_with_half_cases():
    score = np.array([1.5, 0.7, 0.1, -0.4, -1.2])
    positives = np.array([9, 6, 5, 2, 1])
    labelled = np.array([10, 10, 12, 9, 11])

    line = fit_logistic_line(score, positives, labelled)

    # a case of each class, one half at 1 and one half at -1
    x = np.append(score, [1, -1])
    pos = np.append(positives, [0.5, 0.5])
    neg = np.append(labelled - positives, [0.5, 0.5])

    def minus_log_likelihood(b):
        eta = b[0] + b[1] * x
        return -(pos @ special.log_expit(eta) + neg @ special.log_expit(-eta))

    best = optimize.minimize(minus_log_likelihood, [0.0, 0.0], tol=1e-12).x

    assert line.chances == pytest.approx(
        special.expit(best[0] + best[1] * score), rel=1e-4
    )


def test_normal_scores_are_quantiles_of_mid_ranks():
    tally = Tally([3, 2, 1], pos=[1, 2, 0], neg=[0, 1, 3], unknown=[1, 0, 2])

    scores = normal_scores_of(tally)

    # ten cases: 2, 3 and 5 of them
    assert scores == pytest.approx(stats.norm.ppf([0.9, 0.65, 0.25]))


def test_bins_hold_about_two_cube_roots_of_labelled_cases():
    labelled = np.ones(64, dtype=np.int64)

    bins, starts = bins_of_labelled_cases(labelled)

    # 2 * 64^(1/3) = 8 labelled cases each
    assert starts.tolist() == [0, 8, 16, 24, 32, 40, 48, 56]
    assert np.bincount(bins).tolist() == [8] * 8


def test_what_is_left_over_joins_the_last_bin():
    bins, starts = bins_of_labelled_cases(np.ones(14, dtype=np.int64))

    # portions of 5: two of them, and four cases more
    assert starts.tolist() == [0, 5]
    assert np.bincount(bins).tolist() == [5, 9]


def test_rows_after_the_last_label_belong_to_its_bin():
    labelled = np.array([5, 0, 5, 0, 0])

    bins, _ = bins_of_labelled_cases(labelled)

    assert bins.tolist() == [0, 1, 1, 1, 1]


def test_two_scores_have_the_values_of_begg_and_greenes():
    tally = Tally([1, 0], pos=[231, 27], neg=[32, 54], unknown=[166, 140])

    filled = trueness.at_threshold(tally, 1, ["recall"], unlabelled="missing at random")

    diseased = 429 * 231 / 263, 221 * 27 / 81

    assert filled["recall"].value == pytest.approx(diseased[0] / sum(diseased))


def test_imputed_counts_keep_the_number_of_cases():
    rng = np.random.default_rng(0)
    score = np.round(rng.normal(size=400), 1)
    label = (rng.random(400) < special.expit(2 * score)).astype(float)
    label[rng.random(400) < 0.4] = np.nan
    tally = trueness.tally(label, score)

    imputation = impute_labels(tally)

    filled = imputation.expected

    assert filled.neg + filled.pos == pytest.approx(
        tally.neg + tally.pos + tally.unknown
    )
    assert (filled.pos >= tally.pos).all()


def test_the_influence_of_a_label_is_its_slope():
    """Up to half a case of each class, and to ranks that move with a case."""
    score = np.arange(12, 0, -1.0)
    pos = np.array([9, 8, 7, 6, 5, 5, 4, 3, 3, 2, 1, 1.0])
    neg = np.array([1, 2, 2, 3, 4, 5, 6, 6, 7, 8, 9, 9.0])
    unknown = np.array([3, 5, 2, 6, 4, 8, 3, 5, 7, 4, 6, 9.0])
    label = np.repeat([1, 0, np.nan], 12)

    def prevalence(pos, neg):
        weight = np.concatenate([pos, neg, unknown])
        counts = trueness.tally(label, np.tile(score, 3), weight=weight)
        expected = impute_labels(counts).expected
        return float(expected.pos.sum()) / float(expected.n)

    value = prevalence(pos, neg)
    counts = Tally(
        score, pos=pos.astype(int), neg=neg.astype(int), unknown=unknown.astype(int)
    )
    by_one_case = np.array([-value, 1 - value]) / counts.n
    of_value = Influence(*np.repeat(by_one_case[:, None], 12, axis=1))
    influence = influence_through_imputation(impute_labels(counts), of_value)

    # the first rows have bins of their own, whose borders a fraction of a case moves
    for row in range(2, 12):
        step = 1e-4 * (np.arange(12) == row)
        by_positive = prevalence(pos + step, neg) - prevalence(pos - step, neg)
        by_negative = prevalence(pos, neg + step) - prevalence(pos, neg - step)
        assert influence.by_positive[row] == pytest.approx(by_positive / 2e-4, rel=0.07)
        assert influence.by_negative[row] == pytest.approx(by_negative / 2e-4, rel=0.07)


@pytest.mark.parametrize("shift", [0.0, 1.0])
def test_labels_that_go_with_the_score_are_noticed(shift):
    rng = np.random.default_rng(2)
    p_values = []
    for _ in range(60):
        score = rng.normal(size=120)
        has_label = rng.random(120) < special.expit(shift * score)
        label = np.where(has_label, rng.integers(0, 2, 120), np.nan)
        p_values.append(score_difference_p_value(trueness.tally(label, score)))

    rejected = np.mean(np.array(p_values) < 0.05)

    assert rejected < 0.15 if shift == 0 else rejected > 0.8

    if shift == 0:
        assert stats.kstest(p_values, "uniform").pvalue > 1e-3


def test_equal_scores_tell_nothing_of_missing_labels():
    assert score_difference_p_value(Tally([1], pos=[3], neg=[2], unknown=[4])) == 1


def test_p_value_is_that_of_a_regression_on_ranks_and_their_squares(rng):
    """The F test of having a label, on the mid-rank and its square."""
    score = rng.integers(0, 12, 40)
    has_label = rng.random(40) < special.expit((score - 6) / 4)
    label = np.where(has_label, rng.integers(0, 2, 40), np.nan)

    result = score_difference_p_value(trueness.tally(label, score))

    rank = stats.rankdata(score)
    predictors = np.column_stack([np.ones(40), rank, rank**2])
    fitted = predictors @ np.linalg.lstsq(predictors, has_label, rcond=None)[0]
    residual = ((has_label - fitted) ** 2).sum()
    total = ((has_label - has_label.mean()) ** 2).sum()
    f_value = ((total - residual) / 2) / (residual / 37)

    assert result == pytest.approx(stats.f.sf(f_value, 2, 37))


def test_p_value_of_few_cases_is_at_least_that_of_one_order():
    """Of four cases the two highest have labels: one of six pairs."""
    tally = Tally(
        [4, 3, 2, 1], pos=[1, 0, 0, 0], neg=[0, 1, 0, 0], unknown=[0, 0, 1, 1]
    )

    assert score_difference_p_value(tally) >= 1 / 6
