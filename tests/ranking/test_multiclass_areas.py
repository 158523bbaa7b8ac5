"""Areas of several classes: values by all pairs, influence by weighing each case."""

from itertools import permutations

import numpy as np
import pytest
from sklearn.metrics import roc_auc_score

import trueness
from trueness.ranking.multiclass_areas import (
    multiclass_auc_and_influence,
    multiclass_auc_estimate,
    pairwise_areas,
)

AVERAGES = ("hand-till", "macro", "weighted")


def sample(seed=0, n=40, classes=3):
    """Return classes of unequal sizes and scores with ties."""
    rng = np.random.default_rng(seed)
    codes = np.sort(rng.choice(classes, n, p=[0.5, 0.3, 0.2][:classes]))
    scores = rng.normal(size=(n, classes))
    scores[np.arange(n), codes] += 1
    return codes, scores.round(1)


def wins(scores, reference):
    """Return 1, 1/2 or 0 for each pair of a score and one of the reference."""
    return (np.sign(scores[:, None] - reference) + 1) / 2


def weighted_area(codes, scores, weight, true_class, others):
    """Return the area of a class against others, over all pairs of weighted cases."""
    is_own = codes == true_class
    is_other = np.isin(codes, others)
    weight_of_pairs = weight[is_own][:, None] * weight[is_other]
    won = wins(scores[is_own, true_class], scores[is_other, true_class])
    return (weight_of_pairs * won).sum() / weight_of_pairs.sum()


def average_area(codes, scores, weight, average):
    """Return the average area, each case with its weight."""
    classes = range(scores.shape[1])
    if average == "hand-till":
        return np.mean(
            [
                weighted_area(codes, scores, weight, one, [other])
                for one, other in permutations(classes, 2)
            ]
        )
    areas = [
        weighted_area(codes, scores, weight, k, [j for j in classes if j != k])
        for k in classes
    ]
    if average == "macro":
        return np.mean(areas)
    return np.average(areas, weights=np.bincount(codes, weight))


def test_areas_of_pairs_by_all_pairs():
    codes, scores = sample()

    areas = pairwise_areas(codes, scores)

    for one, other in permutations(range(3), 2):
        won = wins(scores[codes == one, one], scores[codes == other, one])
        assert areas.area[one, other] == pytest.approx(won.mean())
        assert areas.wins[codes == one, other] == pytest.approx(won.mean(axis=1))
        assert areas.losses[codes == other, one] == pytest.approx(won.mean(axis=0))

    assert np.diag(areas.area).tolist() == [0, 0, 0]


@pytest.mark.parametrize("average", AVERAGES)
def test_influence_is_the_slope_by_the_weight_of_a_case(average):
    codes, scores = sample()
    n = codes.size

    value, influence = multiclass_auc_and_influence(codes, scores, average)

    step = 1e-5
    slopes = np.empty(n)
    for case in range(n):
        more = np.ones(n)
        less = np.ones(n)
        more[case] += step
        less[case] -= step
        slopes[case] = (
            average_area(codes, scores, more, average)
            - average_area(codes, scores, less, average)
        ) / (2 * step)

    assert value == pytest.approx(average_area(codes, scores, np.ones(n), average))
    assert influence == pytest.approx(n * slopes, abs=1e-7)


@pytest.mark.parametrize(
    ("average", "theirs"),
    [
        ("hand-till", {"multi_class": "ovo", "average": "macro"}),
        ("macro", {"multi_class": "ovr", "average": "macro"}),
        ("weighted", {"multi_class": "ovr", "average": "weighted"}),
    ],
)
def test_values_are_those_of_scikit_learn(average, theirs):
    codes, scores = sample(seed=1)
    # theirs takes probabilities only
    probabilities = np.exp(scores) / np.exp(scores).sum(axis=1, keepdims=True)

    value, _ = multiclass_auc_and_influence(codes, probabilities, average)

    expected = roc_auc_score(codes, probabilities, **theirs)

    assert value == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize("average", AVERAGES)
@pytest.mark.parametrize("level", [0.8, 0.95])
def test_two_classes_have_the_area_and_the_interval_of_one(average, level):
    codes = np.repeat([0, 1], [24, 16])
    score = (np.random.default_rng(2).normal(size=40) + codes).round(1)

    value, influence = multiclass_auc_and_influence(
        codes, np.column_stack([-score, score]), average
    )
    estimate = multiclass_auc_estimate(codes, value, influence, level)

    area = trueness.auc(codes, score, level=level)

    assert value == pytest.approx(area.value)
    # DeLong: the influence of each class is that of a stratum
    assert estimate.se == pytest.approx(area.se)


def test_pairs_of_classes_vary_within_classes_only():
    codes, scores = sample()
    value, influence = multiclass_auc_and_influence(codes, scores, "hand-till")

    estimate = multiclass_auc_estimate(codes, value, influence, 0.95)

    variance = 0.0
    for code in range(3):
        of_class = influence[codes == code] / codes.size
        size = of_class.size
        assert of_class.sum() == pytest.approx(0, abs=1e-12)
        variance += size / (size - 1) * (of_class @ of_class)

    assert estimate.se == pytest.approx(np.sqrt(variance))


@pytest.mark.parametrize("average", ["macro", "weighted"])
def test_areas_against_the_rest_vary_between_classes_too(average):
    codes, scores = sample()
    n = codes.size
    value, influence = multiclass_auc_and_influence(codes, scores, average)

    estimate = multiclass_auc_estimate(codes, value, influence, 0.95)

    variance = n / (n - 1) * ((influence / n) ** 2).sum()

    assert estimate.se == pytest.approx(np.sqrt(variance))
    assert estimate.low < value < estimate.high
