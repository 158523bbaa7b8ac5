"""Variances and their degrees of freedom: by fractions, by pairs, by R's survey."""

import json
import math
from fractions import Fraction
from functools import partial
from pathlib import Path

import numpy as np
import pytest

import trueness
from trueness.counts.cases import kish
from trueness.counts.folds import Folds
from trueness.inference.estimates import estimate_over_folds, evaluate_measure
from trueness.inference.sample import apply_design
from trueness.inference.variance import (
    ClassSizes,
    Influence,
    Stratum,
    VarianceEstimate,
    add_variance_of_map,
    combine_strata,
    estimate_variance,
    jackknife_values,
    variance_between_units,
)
from trueness.inference.variance import variance_of_mean as mean_variance
from trueness.metrics.definitions import METRICS
from trueness.metrics.intervals import Cut, estimates, metric_measure
from trueness.ranking.areas import auc_measure

SURVEY = json.loads((Path(__file__).parents[1] / "reference/survey.json").read_text())
WAYS = ("plain", "weights", "clusters", "both")


def survey_tally(way):
    """Count the cases of the reference, in one of its four designs."""
    design = {}
    if way in ("weights", "both"):
        design["weight"] = SURVEY["w"]
    if way in ("clusters", "both"):
        design["cluster"] = SURVEY["cluster"]
    return trueness.tally(SURVEY["y"], SURVEY["s"], **design)


def linearised(tally, by_neg, by_pos):
    """Return survey's variance: n / (n - 1) times the squares of totals of units."""
    clusters = tally.clusters
    if clusters is None:
        n = len(SURVEY["y"])
        neg_squares, pos_squares, _ = tally.squares
        return n / (n - 1) * (neg_squares @ by_neg**2 + pos_squares @ by_pos**2)

    neg, pos, *_ = clusters.counts
    influence = neg * by_neg[clusters.row] + pos * by_pos[clusters.row]
    totals = clusters.per_cluster(influence)
    return clusters.number / (clusters.number - 1) * (totals**2).sum()


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("name", ["accuracy", "precision", "recall", "f1"])
def test_metrics_have_the_linearised_error_of_survey(way, name):
    cut = Cut.of(survey_tally(way), 0.5)
    x = cut.sample
    m = evaluate_measure(x, partial(metric_measure, METRICS[name], cut.flags))
    value, error = SURVEY[way][name]

    assert m.value == pytest.approx(value, rel=1e-12)
    # slopes are central differences, right to 1e-9
    assert linearised(
        x.observed, m.influence.by_negative, m.influence.by_positive
    ) ** 0.5 == pytest.approx(error, rel=1e-8)

    if name == "recall":  # by svyby, as a domain
        assert SURVEY[way]["recall_by"] == pytest.approx(SURVEY[way]["recall"])


def kish_for_rows(v, n):
    """Undo (n - 1) / n of the n units left out, for that of Kish's number."""
    k = kish(sum(v), sum(x * x for x in v))
    return ((1 - 1 / k) / (1 - 1 / n)) ** 0.5


# weighted cases of one side of a cut share a row and its mean weight; F1 is no quotient
# of counts of cases; precision is a share of the flagged cases, and 1 - h of all
NEAR = {
    ("weights", "accuracy"): 0.003,
    ("weights", "recall"): 0.008,
    ("plain", "precision"): 0.017,
    ("weights", "precision"): 0.032,
    ("plain", "f1"): 0.013,
    ("weights", "f1"): 0.026,
    ("clusters", "f1"): 0.03,
    ("both", "f1"): 0.03,
}


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("name", ["accuracy", "precision", "recall", "f1"])
def test_metrics_have_the_jackknife_error_of_survey(way, name):
    estimate = estimates(survey_tally(way), 0.5, [METRICS[name]])[name]

    label, cluster, weight = (np.array(SURVEY[k]) for k in ("y", "cluster", "w"))
    # recall counts the units with positives, survey all of them
    counted = label == 1 if name == "recall" else label >= 0
    if way in ("clusters", "both"):
        correction = kish_for_rows(np.ones(np.unique(cluster[counted]).size), 18)
    elif way == "weights":
        correction = kish_for_rows(weight[counted], 120)
    else:
        correction = kish_for_rows(np.ones(counted.sum()), 120)

    value, standard_error = SURVEY[way]["jk1"][name]
    tolerance = NEAR.get((way, name), 1e-9)
    assert estimate.value == pytest.approx(value, rel=1e-12)
    assert estimate.se == pytest.approx(standard_error * correction, rel=tolerance)


def test_delong_by_fractions():
    pos = [5, 4, 4, 2, 1]
    neg = [4, 3, 2, 2, 1, 0]
    tally = trueness.tally([1] * 5 + [0] * 6, pos + neg)

    evaluated = evaluate_measure(apply_design(tally), auc_measure)

    of_positives = [mean([win(p, n) for n in neg]) for p in pos]
    of_negatives = [mean([win(p, n) for p in pos]) for n in neg]
    variance = variance_of_mean(of_positives) + variance_of_mean(of_negatives)

    assert evaluated.value == float(mean(of_positives))
    assert evaluated.variance_estimate.units == 5
    assert evaluated.variance_estimate.variance == pytest.approx(
        float(variance), rel=1e-14
    )


def win(positive, negative):
    """Return 1 where the positive is higher, and one half for a tie."""
    return Fraction(1 + (positive > negative) - (positive < negative), 2)


def mean(values):
    return sum(values) / Fraction(len(values))


def variance_of_mean(values):
    squares = [(value - mean(values)) ** 2 for value in values]
    return sum(squares) / (len(values) - 1) / len(values)


def obuchowski(y, score, cluster):
    """Obuchowski (1997), eqs. (2) to (5), over all pairs; clusters left out in turn.

    X and Z are the sums over a cluster of the placements of its positives and of its
    negatives, less the area.
    """
    score_of_positive = score[y == 1]
    score_of_negative = score[y == 0]
    wins = (np.sign(score_of_positive[:, None] - score_of_negative) + 1) / 2
    area = wins.mean()

    clusters = np.unique(cluster)
    x = obuchowski_sums(wins.mean(axis=1) - area, cluster[y == 1], clusters)
    z = obuchowski_sums(wins.mean(axis=0) - area, cluster[y == 0], clusters)

    with_positives = np.unique(cluster[y == 1]).size
    with_negatives = np.unique(cluster[y == 0]).size
    variance = (1 - 1 / with_positives) * x @ x + (1 - 1 / with_negatives) * z @ z
    return variance + 2 * (1 - 1 / clusters.size) * x @ z


def obuchowski_sums(placement, cluster_of_case, clusters):
    """Return the centred placements of each cluster over the cases outside it."""
    sums = [placement[cluster_of_case == cluster].sum() for cluster in clusters]
    outside = [(cluster_of_case != cluster).sum() for cluster in clusters]
    return np.array(sums) / np.array(outside)


@pytest.mark.parametrize("seed", range(5))
def test_obuchowski_over_all_pairs(seed):
    rng = np.random.default_rng(seed)
    labels, cluster = rng.integers(0, 2, 40), rng.integers(0, 9, 40)
    scores = np.round(rng.normal(size=40) + labels, 1)
    tally = trueness.tally(labels, scores, cluster=cluster)

    assert evaluate_measure(
        apply_design(tally), auc_measure
    ).variance_estimate.variance == pytest.approx(
        obuchowski(labels, scores, cluster), rel=1e-12
    )

    alone = trueness.tally(labels, scores, cluster=np.arange(40))

    assert alone.grouped is None
    assert (
        evaluate_measure(apply_design(alone), auc_measure).variance_estimate
        == evaluate_measure(
            apply_design(trueness.tally(labels, scores)), auc_measure
        ).variance_estimate
    )


def test_degrees_of_freedom_by_hand():
    # three cases of each class with influence -1, 0, 1: V = 3/2 (2 + 2),
    # var(V) = 9/4 * 2 * max(2 - 4/3, 2 * 4/2), so nu = 2 * 36 / 18
    tally = trueness.Tally([3, 2, 1], pos=[1, 1, 1], neg=[1, 1, 1])
    u = np.array([1.0, 0.0, -1.0])
    result = estimate_variance(tally, Influence(u, u), within_class=True)

    assert (result.variance, result.degrees_of_freedom, result.units) == (6.0, 4.0, 3.0)

    # as one class of six: V = 6/5 * 4, var(V) = 36/25 max(4 - 16/6, 2 * 16/5)
    both = estimate_variance(tally, Influence(u, u))

    assert both.variance == pytest.approx(4.8)
    assert both.degrees_of_freedom == pytest.approx(5)  # never more than n - 1


def test_prevalence_makes_classes_strata():
    tally = trueness.Tally([1, 0], pos=[8, 2], neg=[3, 17])
    at = apply_design(tally.with_design(prevalence=0.5))
    measure = partial(metric_measure, METRICS["accuracy"], at.observed.score == 1)
    result = evaluate_measure(at, measure).variance_estimate
    # half the recall plus half the specificity: variances of two shares, by n - 1
    by_hand = 0.25 * (0.8 * 0.2 / 9 + 0.85 * 0.15 / 19)

    assert result.variance == pytest.approx(by_hand, rel=1e-8)


def test_the_variance_of_a_map_is_added():
    """Satterthwaite (1946): of sums of squares with 4 and 9 degrees of freedom."""
    of_cases = VarianceEstimate(
        variance=0.5,
        degrees_of_freedom=4,
        units=5,
        uncorrected_variance=0.4,
        constant_class_sizes=(3,),
    )

    result = add_variance_of_map(of_cases, 0.25, 9)

    half, quarter = Fraction(1, 2), Fraction(1, 4)
    degrees_of_freedom = (half + quarter) ** 2 / (half**2 / 4 + quarter**2 / 9)

    assert result.variance == 0.75
    assert result.uncorrected_variance == pytest.approx(0.65)
    assert result.degrees_of_freedom == pytest.approx(float(degrees_of_freedom))
    assert result.map_variance == 0.25
    assert result.constant_class_sizes == ()


@pytest.mark.parametrize(
    ("of_cases", "of_map", "degrees_of_freedom"),
    [(0.0, 0.25, 9), (0.5, 0.0, 4), (0.0, 0.0, np.inf)],
)
def test_one_of_two_variances_keeps_its_degrees_of_freedom(
    of_cases, of_map, degrees_of_freedom
):
    estimate = VarianceEstimate(of_cases, 4, units=5, constant_class_sizes=(3,))

    result = add_variance_of_map(estimate, of_map, 9)

    assert result.variance == of_cases + of_map
    assert result.degrees_of_freedom == degrees_of_freedom
    assert result.constant_class_sizes == (() if of_cases + of_map else (3,))


def test_two_units_have_a_variance_and_one_has_none():
    # values 1 and -1: their sample variance is 2, that of a sum of two such values 4
    two_units = Stratum(size=2.0, squares=2.0, fourth_powers=2.0)
    one_unit = Stratum(size=1.0, squares=1.0, fourth_powers=1.0)

    assert combine_strata([two_units], 2).variance == pytest.approx(4.0)
    assert math.isnan(combine_strata([one_unit], 1).variance)


def test_weights_are_noted_where_they_differ():
    rng = np.random.default_rng(0)
    label = rng.random(60) < 0.4
    score = np.round(rng.random(60), 2)

    equal = trueness.tally(label, score, weight=np.full(60, 2.5))
    unequal = trueness.tally(label, score, weight=rng.uniform(1, 4, 60))

    assert "weighted" not in " ".join(trueness.auc(equal).notes)
    assert "Cases are weighted" in " ".join(trueness.auc(unequal).notes)


def test_a_mean_of_independent_values_by_hand():
    """Satterthwaite (1946): nu = (sum V)^2 / sum (V^2 / nu)."""
    estimates = [
        VarianceEstimate(2.0, 5.0, units=8.0, uncorrected_variance=1.5),
        VarianceEstimate(1.0, 3.0, units=6.0, uncorrected_variance=0.8),
        VarianceEstimate(0.0, 4.0, units=2.0, uncorrected_variance=0.1),
    ]

    mean = mean_variance(estimates)

    assert mean.variance == pytest.approx(3 / 9)
    assert mean.degrees_of_freedom == pytest.approx(3**2 / (4 / 5 + 1 / 3))
    assert mean.units == 16
    assert mean.uncorrected_variance == pytest.approx(2.4 / 9)
    assert mean.constant_class_sizes == ()
    assert mean.roc_sizes is None


def test_a_mean_of_equal_values_has_all_their_degrees_of_freedom():
    estimate = VarianceEstimate(2.0, 5.0, units=8.0, uncorrected_variance=1.5)

    mean = mean_variance([estimate] * 4)

    assert mean.variance == pytest.approx(0.5)
    assert mean.degrees_of_freedom == pytest.approx(20)


def test_a_mean_of_constants_is_constant():
    constant = VarianceEstimate(0.0, 4.0, units=7.0, uncorrected_variance=0.0)

    mean = mean_variance([constant, constant])

    assert mean.variance == 0
    assert mean.degrees_of_freedom == math.inf
    assert mean.constant_class_sizes == (14.0,)


def test_a_mean_of_areas_has_the_cases_of_all():
    sizes = ClassSizes(10.0, 20.0, positive_units=4.0, negative_units=5.0)
    area = VarianceEstimate(1.0, 4.0, 7.0, 1.0, roc_sizes=sizes)
    other = VarianceEstimate(1.0, 4.0, 7.0, 1.0)

    mean = mean_variance([area, other, area])

    assert mean.roc_sizes == ClassSizes(20.0, 40.0, 8.0, 10.0)


def test_a_part_of_each_class_has_at_most_all_clusters():
    sizes = ClassSizes(10.0, 20.0, positive_units=4.0, negative_units=5.0)

    assert sizes.scaled(0.5, 0.1) == ClassSizes(5.0, 2.0, 4.0, 2.0)
    assert sizes.of_units == ClassSizes(4.0, 5.0, 4.0, 5.0)


def test_units_have_the_variance_of_their_influence():
    influence = np.array([0.4, -0.1, -0.5, 0.2])

    estimate = variance_between_units(influence)

    assert estimate.variance == pytest.approx(4 / 3 * influence @ influence)
    assert estimate.units == 4


def test_units_of_a_cluster_are_left_out_together():
    """A mean of seven units, recomputed without each of three clusters."""
    values = np.array([3.0, 1.0, 4.0, 1.0, 5.0, 9.0, 2.0])
    clusters = np.array([0, 0, 1, 1, 1, 2, 2])
    influence = (values - values.mean()) / values.size

    estimate = variance_between_units(influence, clusters)

    # the jackknife about the value of all
    without = np.array([values[clusters != cluster].mean() for cluster in range(3)])
    variance = 2 / 3 * ((without - values.mean()) ** 2).sum()

    assert estimate.variance == pytest.approx(variance)
    assert estimate.uncorrected_variance == estimate.variance
    assert estimate.units == 3


def test_a_quotient_moves_by_its_influence_over_what_is_left():
    influence = np.array([0.2, -0.1, -0.1])
    weight = np.array([2.0, 1.0, 1.0])

    moves = jackknife_values(influence, weight)

    assert moves == pytest.approx([0.2 / 0.5, -0.1 / 0.75, -0.1 / 0.75])


def test_a_unit_that_is_all_of_the_denominator_moves_by_its_influence():
    moves = jackknife_values(np.array([0.2, 0.1]), np.array([3.0, 0.0]))
    without_weights = jackknife_values(np.array([0.2, 0.1]), np.zeros(2))

    assert moves == pytest.approx([0.2, 0.1])
    assert without_weights == pytest.approx([0.2, 0.1])


def test_the_mean_over_folds_is_that_of_independent_areas(rng):
    parts = []
    for _ in range(3):
        label = rng.random(60) < 0.4
        parts.append(trueness.tally(label, rng.normal(size=60) + label))

    estimate = estimate_over_folds(Folds(parts), auc_measure, level=0.9)

    areas = [trueness.auc(part) for part in parts]

    assert estimate.value == pytest.approx(np.mean([area.value for area in areas]))

    variance = sum(area.se**2 for area in areas) / 9

    assert estimate.se == pytest.approx(math.sqrt(variance))
    assert estimate.low < estimate.value < estimate.high
    assert estimate.level == 0.9
