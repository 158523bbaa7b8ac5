"""A cut for each group: proofs of larger problems, intervals, refusals."""

import numpy as np
import pytest

import trueness
from trueness import Infeasible, Tally, group_thresholds


def test_larger_groups_are_proved_and_described():
    rng = np.random.default_rng(5)
    groups = {}
    for k in range(4):
        y = rng.random(1000) < 0.1 + 0.05 * k
        x = rng.normal(size=1000) + (1 + 0.2 * k) * y
        groups[f"g{k}"] = trueness.tally(y, x)

    g = group_thresholds(groups, "accuracy", ["recall_gap <= 0.02"])

    assert g.proved

    recall = [float(trueness.recall(c)) for c in g.confusions.values()]

    assert max(recall) - min(recall) <= 0.02
    assert g.gaps["recall_gap"].value == pytest.approx(max(recall) - min(recall))
    assert g.gaps["recall_gap"].high > 0.02
    assert g.value <= g.unconstrained_value
    assert g.common_gaps["recall_gap"] > 0.02

    whole = trueness.best_threshold(sum(groups.values(), Tally([])), "accuracy")

    assert g.common_value == whole.value

    # a tighter limit costs more
    tight, loose = (
        group_thresholds(groups, "accuracy", f"recall_gap <= {d}").value
        for d in (0.005, 0.3)
    )

    assert tight <= g.value <= loose
    assert "one threshold for all" in repr(g)


@pytest.mark.parametrize("limits", [
    ["flagged <= 1500", "recall >= 0.5"], ["precision >= 0.6", "flagged <= 900"]
])  # fmt: skip
def test_two_limits_on_the_total_are_proved(rng, limits):
    groups = {}
    for g in range(6):
        y = rng.random(1000) < rng.uniform(0.1, 0.4)
        s = rng.normal(rng.uniform(0.8, 1.6) * y + rng.normal(0, 0.3), 1)
        groups[g] = trueness.tally(y, s)

    assert group_thresholds(groups, "accuracy", limits).proved

    neither = ["recall >= 0.9", "flagged <= 1200"]

    with pytest.raises(Infeasible, match="cannot be met together"):
        group_thresholds(groups, "accuracy", neither)


def test_the_interval_of_a_ratio_holds_groups_that_are_alike():
    """The smallest of drawn rates is below the largest, also where all are equal."""
    rng, held, limits = np.random.default_rng(3), 0, ["recall_min >= 0.01"]
    limits += ["fpr_max <= 0.99", "flagged_rate_ratio >= 0.01"]  # one cut is left
    for _ in range(40):
        groups = {}
        for name, n in (("a", 60), ("b", 80)):
            tp, fp = rng.binomial(n, 0.7), rng.binomial(2 * n, 0.3)
            groups[name] = Tally([1, 0], pos=[tp, n - tp], neg=[fp, 2 * n - fp])
        e = group_thresholds(groups, subject_to=limits).gaps["flagged_rate_ratio"]
        assert 0 < e.low <= e.value <= e.high <= 1
        held += e.high == 1

    assert held > 33


def test_the_interval_of_a_gap_by_hand():
    """Two groups: Student's interval of a difference of shares, also of clusters."""
    a = Tally([2, 1], pos=[30, 10], neg=[5, 55])
    b = Tally([2, 1], pos=[20, 20], neg=[5, 55])
    limit = "recall_gap <= 0.3"
    gap = trueness.group_thresholds({"a": a, "b": b}, subject_to=limit).gaps[
        "recall_gap"
    ]
    sd = np.sqrt(0.75 * 0.25 / 39 + 0.5 * 0.5 / 39)

    assert gap.value == pytest.approx(0.25)
    assert (gap.low, gap.high) == pytest.approx(
        (0.25 - 1.99 * sd, 0.25 + 1.99 * sd), abs=2e-3
    )

    y, s = (
        np.repeat([1, 1, 0, 0], [30, 10, 5, 55]),
        np.repeat([2, 1, 2, 1], [30, 10, 5, 55]),
    )
    copies = {
        name: trueness.tally(
            np.repeat(y, 2), np.repeat(s, 2), cluster=np.arange(200) // 2
        )
        for name in "ab"
    }
    plain = {name: trueness.tally(y, s) for name in "ab"}
    one, two = (
        trueness.group_thresholds(g, subject_to=limit).gaps["recall_gap"]
        for g in (plain, copies)
    )

    assert two.high == pytest.approx(one.high, rel=0.05)

    with np.errstate(all="raise"):  # infinite odds in both groups are no difference
        assert group_thresholds(plain, subject_to="odds_ratio_gap <= 99").proved
