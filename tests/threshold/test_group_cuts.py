"""A cut for each group: proofs of larger problems, intervals, refusals."""

import numpy as np
import pytest

import trueness
from trueness import Infeasible, Tally, group_thresholds


@pytest.fixture(scope="module")
def four_groups():
    """Return four groups with other prevalences and other distances of the classes."""
    rng = np.random.default_rng(5)
    groups = {}
    for number in range(4):
        label = rng.random(1000) < 0.1 + 0.05 * number
        score = rng.normal(size=1000) + (1 + 0.2 * number) * label
        groups[f"g{number}"] = trueness.tally(label, score)
    return groups


@pytest.mark.parametrize("limits", [
    ["flagged <= 1500", "recall >= 0.5"], ["precision >= 0.6", "flagged <= 900"]
])  # fmt: skip
def test_two_limits_on_the_total_are_proved(rng, limits):
    groups = {}
    for g in range(6):
        labels = rng.random(1000) < rng.uniform(0.1, 0.4)
        scores = rng.normal(rng.uniform(0.8, 1.6) * labels + rng.normal(0, 0.3), 1)
        groups[g] = trueness.tally(labels, scores)

    assert group_thresholds(groups, "accuracy", limits).proved

    neither = ["recall >= 0.9", "flagged <= 1200"]

    with pytest.raises(Infeasible, match="cannot be met together"):
        group_thresholds(groups, "accuracy", neither)


def test_larger_groups_are_proved(four_groups):
    cuts = group_thresholds(four_groups, "accuracy", ["recall_gap <= 0.02"])

    recalls = [float(trueness.recall(c)) for c in cuts.confusions.values()]
    gap = max(recalls) - min(recalls)
    assert cuts.proved
    assert gap <= 0.02
    assert cuts.gaps["recall_gap"].value == pytest.approx(gap)
    assert cuts.gaps["recall_gap"].high > 0.02


def test_cuts_of_groups_are_compared_with_others(four_groups):
    cuts = group_thresholds(four_groups, "accuracy", ["recall_gap <= 0.02"])

    everyone = sum(four_groups.values(), Tally([]))
    common = trueness.best_threshold(everyone, "accuracy")
    assert cuts.value <= cuts.unconstrained_value
    assert cuts.common_gaps["recall_gap"] > 0.02
    assert cuts.common_value == common.value
    assert "one threshold for all" in repr(cuts)


def test_a_tighter_constraint_costs_more(four_groups):
    tight, usual, loose = (
        group_thresholds(four_groups, "accuracy", f"recall_gap <= {bound}").value
        for bound in (0.005, 0.02, 0.3)
    )

    assert tight <= usual <= loose


def test_the_interval_of_a_ratio_holds_equal_groups():
    """The smallest of drawn rates is below the largest, also where all are equal."""
    rng = np.random.default_rng(3)
    # they leave one cut
    constraints = [
        "recall_min >= 0.01",
        "fpr_max <= 0.99",
        "flagged_rate_ratio >= 0.01",
    ]
    reaches_one = 0
    for _ in range(40):
        groups = {}
        for name, n in (("a", 60), ("b", 80)):
            tp = rng.binomial(n, 0.7)
            fp = rng.binomial(2 * n, 0.3)
            groups[name] = Tally([1, 0], pos=[tp, n - tp], neg=[fp, 2 * n - fp])

        cuts = group_thresholds(groups, subject_to=constraints)

        ratio = cuts.gaps["flagged_rate_ratio"]
        assert 0 < ratio.low <= ratio.value <= ratio.high <= 1
        reaches_one += ratio.high == 1

    assert reaches_one > 33


def recall_gap(groups):
    """Return the gap of the recalls of groups, with its interval."""
    cuts = trueness.group_thresholds(groups, subject_to="recall_gap <= 0.3")
    return cuts.gaps["recall_gap"]


def test_copies_in_a_cluster_do_not_narrow_the_interval_of_a_gap():
    label = np.repeat([1, 1, 0, 0], [30, 10, 5, 55])
    score = np.repeat([2, 1, 2, 1], [30, 10, 5, 55])
    single = trueness.tally(label, score)
    copied = trueness.tally(
        np.repeat(label, 2), np.repeat(score, 2), cluster=np.arange(200) // 2
    )

    gap = recall_gap({"a": copied, "b": copied})

    expected = recall_gap({"a": single, "b": single})
    assert gap.high == pytest.approx(expected.high, rel=0.05)


def test_infinite_odds_in_both_groups_are_no_difference():
    tally = Tally([2, 1], pos=[30, 10], neg=[5, 55])

    with np.errstate(all="raise"):
        cuts = group_thresholds(
            {"a": tally, "b": tally}, subject_to="odds_ratio_gap <= 99"
        )

    assert cuts.proved


def test_the_interval_of_a_gap_by_hand():
    """Two groups: Student's interval of a difference of proportions."""
    groups = {
        "a": Tally([2, 1], pos=[30, 10], neg=[5, 55]),
        "b": Tally([2, 1], pos=[20, 20], neg=[5, 55]),
    }

    gap = recall_gap(groups)

    standard_error = np.sqrt(0.75 * 0.25 / 39 + 0.5 * 0.5 / 39)
    assert gap.value == pytest.approx(0.25)
    assert gap.low == pytest.approx(0.25 - 1.99 * standard_error, abs=2e-3)
    assert gap.high == pytest.approx(0.25 + 1.99 * standard_error, abs=2e-3)
