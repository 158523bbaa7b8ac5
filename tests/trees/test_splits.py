"""Split this way, that way or not at all; which splits of a tree are kept."""

import numpy as np
import pytest

from trueness import InputError, Leaves, NotEnoughCases, compare_splits, top_probability
from trueness.trees import tree_levels
from trueness.trees.splits import merge_splits, node_counts

# Zhang (2024), table 10: neg and pos of each level
GOLF = {
    "outlook": Leaves(["rainy", "overcast", "sunny"], [3, 0, 2], [2, 4, 3]),
    "temperature": Leaves(["hot", "mild", "cool"], [2, 2, 1], [2, 4, 3]),
    "humidity": Leaves(["high", "normal"], [4, 1], [3, 6]),
    "windy": Leaves(["false", "true"], [2, 3], [6, 3]),
}
PAPER = {
    "A": ([0.9, 0.1], [0.75, 0.25]),
    "B": ([0.2, 0.8], [0.75, 0.6875]),
    "no split": ([1.0], [0.7]),
}


def by_name(found, field):
    return dict(zip(found.name.tolist(), getattr(found, field), strict=True))


@pytest.mark.parametrize("empty", ["wrong", "coin"])
def test_golf_by_the_errata(empty):
    expected = {  # P(C) and P(U) of eq. (9) as printed, and with a coin; Gini
        "outlook": ((0.7617, 0.6646), (0.7638, 0.6660), 0.3429),
        "temperature": ((0.7224, 0.5908), (0.7251, 0.5915), 0.4405),
        "humidity": ((0.8145, 0.6828), (0.8145, 0.6828), 0.3673),
        "windy": ((0.7461, 0.6231), (0.7462, 0.6231), 0.4286),
    }
    comparison = compare_splits(GOLF, method="mle", empty=empty)
    levels = [by_name(comparison, k) for k in ("confidence", "utility", "gini")]
    for name, (printed, coin, gini) in expected.items():
        known = (*(printed if empty == "wrong" else coin), gini)
        assert [x[name] for x in levels] == pytest.approx(known, abs=6e-5)


def test_the_ranking_claim_of_the_paper_is_false():
    """Utility puts humidity first, Gini outlook."""
    comparison = compare_splits(GOLF, method="mle")

    assert comparison.best == "humidity"
    assert by_name(comparison, "gini_rank")["outlook"] == 1
    assert (np.diff(comparison.utility) <= 1e-12).all()
    assert comparison.n == 14

    leaves = dict(zip([*GOLF, "no split"], [3, 3, 2, 2, 1], strict=True))

    assert by_name(comparison, "leaves") == leaves


def test_splits_of_the_paper_cross():
    """Figs 1 and 2: with few cases B is worse than no split, with many it ties."""
    few, many = (compare_splits(PAPER, n=n) for n in (10, 3000))

    assert few.name.tolist() == ["A", "no split", "B"]

    u = by_name(many, "utility")

    assert u["A"] == pytest.approx(0.75, abs=1e-6)
    assert u["B"] == pytest.approx(0.7, abs=1e-6)

    c = {n: by_name(compare_splits(PAPER, n=n), "confidence") for n in (5, 30)}

    assert c[5]["A"] > c[5]["no split"]
    assert c[30]["A"] < c[30]["no split"]


def test_counted_and_supposed_splits_stand_side_by_side():
    comparison = compare_splits({**GOLF, "guess": ([0.5, 0.5], [0.9, 0.8])}, n=14)

    assert comparison.name.size == 6
    assert "guess" in repr(comparison)
    assert "at 14 cases" in repr(comparison)
    assert "<td>guess</td>" in comparison._repr_html_()


OTHER_CASES = {"a": Leaves([1], [2], [3]), "b": Leaves([1], [2], [4])}


@pytest.mark.parametrize(
    ("splits", "options", "error", "message"),
    [
        ({}, {}, InputError, "at least one"),
        ([1, 2], {}, InputError, "found list"),
        ({"a": 3}, {}, InputError, "'a' must be Leaves or a pair"),
        ({"a": ([1.0], [0.7])}, {}, InputError, r"Type n=100"),
        ({"a": ([0.5], [0.7])}, {"n": 5}, InputError, "sum to 1"),
        ({"a": ([1.0], [0.7])}, {"n": 5, "method": "x"}, InputError, "method must be"),
        (OTHER_CASES, {}, InputError, "a: 2 and 3; b: 2 and 4"),
        ({"a": Leaves([1], unknown=[3])}, {}, NotEnoughCases, "found none among 3"),
    ],
)
def test_wrong_input_is_answered_by_a_sentence(splits, options, error, message):
    with pytest.raises(error, match=message):
        compare_splits(splits, **options)


def random_tree(rng, splits):
    """Children after parents; each split takes a random leaf."""
    left = [-1]
    right = [-1]
    for _ in range(splits):
        leaf = rng.choice([i for i, child in enumerate(left) if child < 0])
        left[leaf], right[leaf] = len(left), len(left) + 1
        left += [-1, -1]
        right += [-1, -1]
    return np.array(left), np.array(right)


def slow_merge(left, right, neg, pos, floor, method):
    """The rule by recursion: give the leaves below a node after merging."""

    def levels(leaves):
        n = [neg[j] + pos[j] for j in leaves]
        p = [
            top_probability(pos[j], m, method).value if m else 0.5
            for j, m in zip(leaves, n, strict=True)
        ]
        p = np.nan_to_num(p, nan=0.5)
        return tree_levels(sum(n), np.array(n) / sum(n), p)

    def below(node):
        if left[node] < 0:
            return [node]

        leaves = below(left[node]) + below(right[node])
        if neg[node] + pos[node] == 0:
            return [node]

        split = levels(leaves)
        alone = levels([node])
        thin = len(leaves) == 2 and split.confidence < floor
        return leaves if split.utility > alone.utility + 1e-12 and not thin else [node]

    return sorted(below(0))


@pytest.mark.parametrize("method", ["mle", "emle", "blend"])
@pytest.mark.parametrize("floor", [0.0, 0.8, 0.95])
def test_merging_slow_twin(rng, method, floor):
    for _ in range(8):
        left, right = random_tree(rng, 12)
        rate = rng.random(left.size)
        size = rng.integers(0, 30, left.size)
        leaf_pos = np.where(left < 0, rng.binomial(size, rate), 0)
        leaf_neg = np.where(left < 0, size - leaf_pos, 0)
        neg, pos = (node_counts(left, right, c) for c in (leaf_neg, leaf_pos))
        assert neg[0] == leaf_neg.sum()
        ends = merge_splits(left, right, neg, pos, confidence=floor, method=method)
        slow = slow_merge(left, right, neg, pos, floor, method)
        assert np.flatnonzero(ends).tolist() == slow


def test_interactions_survive():
    """Exclusive or: the first split alone is useless, both together are not."""
    left, right = (np.array([*ends, -1, -1, -1, -1]) for ends in ([1, 3, 5], [2, 4, 6]))
    neg = node_counts(left, right, np.array([0, 0, 0, 48, 2, 2, 48]))
    pos = node_counts(left, right, np.array([0, 0, 0, 2, 48, 48, 2]))

    ends = merge_splits(left, right, neg, pos)

    assert np.flatnonzero(ends).tolist() == [3, 4, 5, 6]


def test_a_node_without_a_case_is_not_split_and_wrong_input_is_told():
    zero = np.zeros(3, dtype=int)
    ends = merge_splits(np.array([1, -1, -1]), np.array([2, -1, -1]), zero, zero)

    assert ends.tolist() == [True, False, False]

    lone = np.array([-1])

    with pytest.raises(InputError, match=r"confidence must lie in \[0, 1\)"):
        merge_splits(lone, lone, lone + 2, lone + 2, confidence=1)
    with pytest.raises(InputError, match="method must be one of"):
        merge_splits(lone, lone, lone + 2, lone + 2, method="best")
