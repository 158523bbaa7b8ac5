"""The 0-1 programs and their certificates."""

import numpy as np
import pytest

import trueness
from cuts_by_counting import best, single
from trueness import Tally, best_threshold

HAND = Tally([0.9, 0.7, 0.5, 0.2], pos=[2, 1, 1, 0], neg=[0, 1, 2, 3])


@pytest.mark.parametrize("method", ["milp", "milp-cases"])
def test_scores_of_exactly_0_and_1_block_nothing(method):
    """With 0 <= t <= 1, as printed, these two cuts could not be made."""
    negative_one = Tally([1.0, 0.5], neg=[3, 1], pos=[1, 0])
    nothing = best_threshold(negative_one, "accuracy", method=method)
    assert (nothing.threshold, nothing.confusion.fp) == (np.inf, 0)
    positive_zero = Tally([0.5, 0.0], pos=[1, 3], neg=[0, 1])
    everything = best_threshold(positive_zero, "accuracy", method=method)
    assert (everything.threshold, everything.confusion.tp) == (0.0, 4)


@pytest.mark.parametrize("method", ["milp", "milp-cases"])
def test_gaps_below_the_tolerance_of_the_solver(method):
    """Scores 1e-12 apart are different scores; equal ones are never split."""
    t = trueness.tally([1, 0, 1, 0, 1, 0], np.array([3, 1, 2, 2, 2, 0]) * 1e-12)
    found, top = best(single(t), "accuracy", [])
    point = best_threshold(t, "accuracy", method=method)
    assert point.score_range[1] in found
    assert point.value == float(top)


def test_weights_of_the_mixed_objective():
    """Eq. (6) as printed, alpha * errors - beta * found, can choose another cut."""
    t = Tally([3, 2, 1], pos=[1, 1, 1], neg=[0, 2, 6])
    right, _ = best(single(t), "0.7*accuracy + 0.3*recall", [])
    wrong = best_threshold(t, "-0.7*(fp + fn) + 0.3*tp").score_range[1]
    assert wrong not in right
    for method in ("sweep", "milp", "milp-cases"):
        point = best_threshold(t, "0.7*accuracy + 0.3*recall", method=method)
        assert point.score_range[1] in right


def test_certificate():
    c = best_threshold(HAND, "precision", "recall >= 0.75", "milp").certificate
    assert (c.binaries, c.value, c.bound) == (4, 0.75, 0.75)
    assert c.iterations >= 2  # Dinkelbach: one step finds, one proves
    assert c.status == "Optimization terminated successfully"
    c = best_threshold(HAND, method="milp-cases").certificate
    assert (c.binaries, c.rows, c.iterations) == (20, 40, 1)  # 2N binaries, 4N rows
