"""Combinations in which one more positive vote never undoes a flag."""

import numpy as np
import pytest

import trueness
from trueness.nogold.monotone import (
    is_monotone,
    monotone_interior,
    monotone_sets,
    upward_closure,
)


@pytest.mark.parametrize(
    ("votes", "number"), [(0, 2), (1, 3), (2, 6), (3, 20), (4, 168)]
)
def test_there_are_as_many_monotone_sets_as_dedekind_counted(votes, number):
    sets = [tuple(s.tolist()) for s in monotone_sets(2**votes)]

    assert len(set(sets)) == number
    assert all(is_monotone(np.array(s)) for s in sets)


def test_closure_and_interior_by_brute_force():
    rng = np.random.default_rng(0)
    every = list(monotone_sets(8))
    for _ in range(50):
        chosen = rng.random(8) < 0.5
        above = [s for s in every if not (chosen & ~s).any()]
        below = [s for s in every if not (s & ~chosen).any()]

        assert upward_closure(chosen).sum() == min(s.sum() for s in above)
        assert monotone_interior(chosen).sum() == max(s.sum() for s in below)


def test_a_negative_vote_is_no_evidence_unless_that_is_requested():
    # by their labels, B alone marks the negatives
    rows = [[1, 1, 1], [1, 1, 0], [1, 0, 1], [1, 0, 0], [0, 1, 1], [0, 0, 0]]
    panel = trueness.Panel(
        ["A", "B", "C"], rows, pos=[30, 2, 40, 30, 1, 2], neg=[2, 40, 1, 2, 40, 90]
    )
    posterior = trueness.latent_class(panel, rng=0, draws=200)

    free = trueness.best_combination(posterior, monotone=False)
    monotone = trueness.best_combination(posterior)

    assert "not" in free.formula
    assert "not" not in monotone.formula
    assert monotone.score.value <= free.score.value + 1e-9
