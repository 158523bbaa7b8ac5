"""A cut for each group: brute force over all cuts in fractions, and proofs."""

from fractions import Fraction
from itertools import product

import numpy as np
import pytest

import trueness
from trueness import Infeasible, InputError, Tally, group_thresholds


def ratio(a, b):
    return Fraction(a, b) if b else None


METRICS = {
    "recall": lambda c: ratio(c[0], c[0] + c[2]),
    "fpr": lambda c: ratio(c[1], c[1] + c[3]),
    "precision": lambda c: ratio(c[0], c[0] + c[1]),
    "flagged_rate": lambda c: ratio(c[0] + c[1], sum(c)),
    "accuracy": lambda c: ratio(c[0] + c[3], sum(c)),
    "f1": lambda c: ratio(2 * c[0], 2 * c[0] + c[1] + c[2]),
    # with fixed classes a quotient of sums of tp and fp, too
    "kappa": lambda c: ratio(
        2 * (c[0] * c[3] - c[1] * c[2]),
        (c[0] + c[1]) * (c[1] + c[3]) + (c[0] + c[2]) * (c[2] + c[3]),
    ),
}


def kept(cuts, name, kind, bound):
    values = [METRICS[name](c) for c in cuts]
    if None in values:
        return False
    low, high = min(values), max(values)
    if kind == "gap":
        return high - low <= bound
    return low >= bound if kind == "min" else high > 0 and low / high >= bound


def brute(groups, objective, between, flagged):
    tables = []
    for t in groups.values():
        tp, fp = (np.r_[0, np.cumsum(n)].tolist() for n in (t.pos, t.neg))
        pairs = zip(tp, fp, strict=True)
        tables.append([(a, b, t.n_pos - a, t.n_neg - b) for a, b in pairs])
    best = None
    for cuts in product(*tables):
        total = [sum(part) for part in zip(*cuts, strict=True)]
        if total[0] + total[1] > flagged or not all(kept(cuts, *b) for b in between):
            continue
        value = METRICS[objective](total)
        if value is not None and (best is None or value > best):
            best = value
    return best


def small_groups(rng):
    groups = {}
    for name in "abc"[: rng.integers(2, 4)]:
        pos = neg = np.zeros(1, dtype=int)
        while not (pos.sum() and neg.sum()):
            m = int(rng.integers(1, 6))
            pos, neg = rng.integers(0, 5, m), rng.integers(0, 5, m)
        groups[name] = Tally(np.arange(m)[::-1] * 1.0, neg, pos).labelled()
    return groups


def test_every_choice_of_cuts_in_fractions():
    rng, done = np.random.default_rng(12), 0
    bounds = {
        "gap": (Fraction(0), Fraction(1, 10), Fraction(1, 3)),
        "ratio": (Fraction(1, 2), Fraction(4, 5)),
        "min": (Fraction(1, 2),),
    }
    for _ in range(60):
        groups, between = small_groups(rng), []
        for _ in range(rng.integers(0, 3)):
            kind = list(bounds)[rng.integers(3)]
            some = bounds[kind]
            between.append(
                (list(METRICS)[rng.integers(6)], kind, some[rng.integers(len(some))])
            )
        objective = ("accuracy", "f1", "precision")[rng.integers(3)]
        flagged = int(rng.integers(1, sum(t.n for t in groups.values()) + 1))
        best = brute(groups, objective, between, flagged)
        words = [
            f"{n}_{k} {'<=' if k == 'gap' else '>='} {float(b)!r}"
            for n, k, b in between
        ]
        words.append(f"flagged <= {flagged}")
        if best is None:
            with pytest.raises(Infeasible):
                group_thresholds(groups, objective, words, time_limit=5)
            continue
        g = group_thresholds(groups, objective, words, time_limit=5)
        assert g.value == pytest.approx(float(best), rel=1e-12)
        assert g.proved
        done += 1
    assert done > 25


def test_kappa_of_all_groups_together():
    rng = np.random.default_rng(5)
    for _ in range(15):
        groups = small_groups(rng)
        flagged = int(rng.integers(2, sum(t.n for t in groups.values())))
        best = brute(groups, "kappa", [], flagged)
        g = group_thresholds(groups, "kappa", f"flagged <= {flagged}", time_limit=5)
        assert (g.value, g.proved) == (pytest.approx(float(best), rel=1e-12), True)


def test_larger_groups_are_proved_and_described():
    rng = np.random.default_rng(5)
    groups = {}
    for k in range(5):
        y = rng.random(3000) < 0.1 + 0.05 * k
        x = rng.normal(size=3000) + (1 + 0.2 * k) * y
        groups[f"g{k}"] = trueness.tally(y, x)
    g = group_thresholds(groups, "accuracy", ["recall_gap <= 0.02"])
    assert g.proved
    recall = [float(trueness.recall(c)) for c in g.confusions.values()]
    assert max(recall) - min(recall) <= 0.02
    assert g.gaps["recall_gap"].value == pytest.approx(max(recall) - min(recall))
    assert g.gaps["recall_gap"].high > 0.02
    assert g.value <= g.free_value
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
    ["flagged <= 5000", "recall >= 0.5"], ["precision >= 0.6", "flagged <= 3000"]
])  # fmt: skip
def test_two_limits_on_the_total_are_proved(rng, limits):
    groups = {}
    for g in range(10):
        y = rng.random(2000) < rng.uniform(0.1, 0.4)
        s = rng.normal(rng.uniform(0.8, 1.6) * y + rng.normal(0, 0.3), 1)
        groups[g] = trueness.tally(y, s)
    assert group_thresholds(groups, "accuracy", limits).proved
    neither = ["recall >= 0.9", "flagged <= 4000"]
    with pytest.raises(Infeasible, match="cannot be met together"):
        group_thresholds(groups, "accuracy", neither)


def test_objectives_of_rates_and_money():
    groups = small_groups(np.random.default_rng(4))
    whole = [sum(getattr(t, k) for t in groups.values()) for k in ("n_pos", "n_neg")]
    g = group_thresholds(groups, "youden")
    c = [sum(int(getattr(x, k)) for x in g.confusions.values()) for k in ("tp", "fp")]
    assert g.value == pytest.approx(c[0] / whole[0] - c[1] / whole[1])
    assert group_thresholds(groups, "balanced_accuracy").value == pytest.approx(
        (g.value + 1) / 2
    )
    paid = group_thresholds(groups, minimize="cost(fp=1, fn=3, tp=-2)")
    assert paid.value == min(
        paid.value, trueness.cost(fp=1, fn=3, tp=-2)(trueness.Confusion(0, 0, *whole))
    )


def test_wrong_input():
    t = Tally([2, 1], pos=[3, 1], neg=[1, 3])
    with pytest.raises(InputError, match="needs a mapping from group to tally"):
        group_thresholds(t)
    with pytest.raises(InputError, match="at most a number"):
        group_thresholds({"a": t, "b": t}, subject_to="recall_gap >= 0.1")
    with pytest.raises(InputError, match="a ratio by a number between 0 and 1"):
        group_thresholds({"a": t, "b": t}, subject_to="recall_ratio >= 2")
    tiny = trueness.tally([0, 1], [1, 2], weight=[1e-20, 1e-20])
    heavy = trueness.tally([0, 1], [1, 2], weight=[3.5, 2.5])
    with pytest.raises(InputError, match=r"'b' weigh less than .* on one scale"):
        group_thresholds({"a": heavy, "b": tiny})
    with np.errstate(all="raise"):  # infinite odds in both groups are no difference
        g = group_thresholds({"a": t, "b": t}, subject_to="odds_ratio_gap <= 99")
    assert g.proved
    with pytest.raises(InputError, match=r"groups need a weighted sum .* mcc is not"):
        group_thresholds({"a": t, "b": t}, "mcc")
    with pytest.raises(Infeasible, match=r"positives >= 9 cannot be met by all"):
        group_thresholds({"a": t, "b": t}, subject_to="positives >= 9")
    with pytest.raises(Infeasible, match=r"precision_min .* cannot be met"):
        group_thresholds({"a": t, "b": t}, subject_to="precision_min >= 0.99")


def test_the_common_threshold_is_that_of_all_cases_together():
    a = Tally([4, 3, 2, 1], pos=[3, 1, 1, 0], neg=[0, 1, 1, 3])
    b = Tally([4, 3, 2, 1], pos=[2, 1, 1, 1], neg=[0, 1, 1, 3])
    for metric in ("accuracy", "youden", "f1"):
        point = trueness.best_threshold(a + b, metric)
        found = group_thresholds({"a": a, "b": b}, metric)
        assert found.common_threshold == point.threshold
        assert found.common_value == point.value


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
    with pytest.raises(trueness.InputError, match="its own share of positives"):
        trueness.group_thresholds(plain, subject_to=limit, prevalence=0.1)
