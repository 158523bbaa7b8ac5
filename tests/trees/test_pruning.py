"""Which splits are worth keeping: counts upwards, levels by the definition."""

import numpy as np
import pytest

import trueness
from trueness import InputError
from trueness.trees.splits import merge_splits, node_counts


def random_tree(rng, splits):
    """Children after parents; each split takes a random leaf."""
    left, right = [-1], [-1]
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
            trueness.top_probability(pos[j], m, method).value if m else 0.5
            for j, m in zip(leaves, n, strict=True)
        ]
        p = np.nan_to_num(p, nan=0.5)
        return trueness.trees.tree_levels(sum(n), np.array(n) / sum(n), p)

    def below(node):
        if left[node] < 0:
            return [node]
        leaves = below(left[node]) + below(right[node])
        if neg[node] + pos[node] == 0:
            return [node]
        split, alone = levels(leaves), levels([node])
        thin = len(leaves) == 2 and split.confidence < floor
        return leaves if split.utility > alone.utility + 1e-12 and not thin else [node]

    return sorted(below(0))


@pytest.mark.parametrize("method", ["mle", "emle", "blend"])
@pytest.mark.parametrize("floor", [0.0, 0.8, 0.95])
def test_slow_twin(rng, method, floor):
    for _ in range(8):
        left, right = random_tree(rng, 12)
        rate = rng.random(left.size)
        size = rng.integers(0, 30, left.size)
        leaf_pos = np.where(left < 0, rng.binomial(size, rate), 0)
        leaf_neg = np.where(left < 0, size - leaf_pos, 0)
        neg, pos = (node_counts(left, right, c) for c in (leaf_neg, leaf_pos))
        assert neg[0] == leaf_neg.sum()
        ends = merge_splits(left, right, neg, pos, confidence=floor, method=method)
        assert np.flatnonzero(ends).tolist() == slow_merge(
            left, right, neg, pos, floor, method
        )


def test_interactions_survive():
    """Exclusive or: the first split alone is useless, both together are not."""
    left, right = (
        np.array([1, 3, 5, -1, -1, -1, -1]),
        np.array([2, 4, 6, -1, -1, -1, -1]),
    )
    neg = node_counts(left, right, np.array([0, 0, 0, 48, 2, 2, 48]))
    pos = node_counts(left, right, np.array([0, 0, 0, 2, 48, 48, 2]))
    ends = merge_splits(left, right, neg, pos)
    assert np.flatnonzero(ends).tolist() == [3, 4, 5, 6]


def test_a_node_without_a_case_is_not_split():
    left, right = np.array([1, -1, -1]), np.array([2, -1, -1])
    zero = np.zeros(3, dtype=int)
    assert merge_splits(left, right, zero, zero).tolist() == [True, False, False]


def test_wrong_input_is_answered_by_a_sentence():
    lone = np.array([-1])
    with pytest.raises(InputError, match=r"confidence must lie in \[0, 1\)"):
        merge_splits(lone, lone, lone + 2, lone + 2, confidence=1)
    with pytest.raises(InputError, match="method must be one of"):
        merge_splits(lone, lone, lone + 2, lone + 2, method="best")
