"""Pairs of cuts against all pairs, for rows of every shape."""

import numpy as np
import pytest

from trueness.threshold.search import Sum, best_pairs


def slow(objective, rows):
    best, found, n = None, [], len(objective.i)
    for i in range(n):
        for j in range(i, n):
            if all(r.i[i] + r.j[j] >= 0 for r in rows):
                value = objective.i[i] + objective.j[j]
                if best is None or value > best:
                    best, found = value, []
                if value == best:
                    found.append((i, j))
    return best, sorted(found)


def shaped(rng, n):
    a, b = rng.integers(-6, 7, n), rng.integers(-6, 9, n)
    kind = rng.integers(6)
    if kind < 2:
        a = np.sort(a)[:: 1 - 2 * kind]
    elif kind == 2:
        b = np.sort(b)
    elif kind == 3:
        b = 0 * b
    elif kind == 4:
        a = 0 * a + 1
    return Sum(a, b)


@pytest.mark.parametrize("kind", [np.int64, object])
def test_all_best_pairs_are_found(kind):
    rng = np.random.default_rng(3)
    for _ in range(400):
        n = int(rng.integers(1, 12))
        asked = [Sum(rng.integers(-5, 6, n), rng.integers(-5, 6, n))]
        asked += [shaped(rng, n) for _ in range(rng.integers(0, 4))]
        objective, *rows = [Sum(s.i.astype(kind), s.j.astype(kind)) for s in asked]
        best, expected = slow(objective, rows)
        found = best_pairs(objective, rows)
        if best is None:
            assert found is None
            continue
        assert found.value == best
        listed = zip(found.first.tolist(), found.second.tolist(), strict=True)
        assert sorted(listed) == expected
