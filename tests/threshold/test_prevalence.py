"""Ranges and estimates of the prevalence: what is said, what is refused."""

import math

import numpy as np
import pytest

import trueness
from trueness import Estimate, Tally, best_threshold
from trueness.threshold.limits import (
    depends_on_prevalence,
    moves_one_way,
    read_prevalence,
)

HAND = Tally([4, 3, 2, 1], pos=[40, 30, 20, 10], neg=[10, 20, 30, 40])


def test_a_constraint_holds_in_the_whole_range():
    p = best_threshold(HAND, "recall", "precision >= 0.1", prevalences=(0.03, 0.2))
    for share in np.linspace(0.03, 0.2, 9):
        used = p.confusion.at_prevalence(share)
        assert trueness.precision(used) >= 0.1 - 1e-12
    with pytest.raises(trueness.Infeasible, match="cannot be met"):
        best_threshold(HAND, "recall", "precision >= 0.1", prevalences=(0.001, 0.2))


def test_what_is_said_of_a_range():
    p = best_threshold(HAND, minimize="cost(fp=1, fn=5)", prevalences=(0.01, 0.3))
    assert p.prevalences == (0.01, 0.3)
    assert "the worst of those from 0.01 to 0.3" in repr(p)
    for share in (0.01, 0.3):
        used = p.confusion.at_prevalence(share)
        assert trueness.cost(fp=1, fn=5)(used) <= p.value + 1e-9


def test_which_metrics_depend_on_the_prevalence():
    fixed = ["recall", "fpr", "youden", "balanced_accuracy", "g_mean", "lr_positive"]
    assert not any(depends_on_prevalence(trueness.metric(m)) for m in fixed)
    moving = ["precision", "f1", "accuracy", "mcc", "flagged_rate", "cost(fp=1, fn=2)"]
    assert all(depends_on_prevalence(trueness.metric(m)) for m in moving)
    assert moves_one_way(trueness.metric("f1"))
    assert not moves_one_way(trueness.metric("f1 + precision"))


def test_what_a_prevalence_may_be():
    share = read_prevalence(Estimate(0.1, 0.05, 0.2))
    ends = share.moved(np.array([-1.96, 0, 1.96]), 0.95)
    assert ends == pytest.approx([0.05, 0.1, 0.2], rel=1e-3)
    noted = best_threshold(HAND, "f1", prevalences=Estimate(0.1, 0.05, 0.2))
    assert "taken at its estimate" in noted.notes[0]


def test_a_value_without_bound_is_best_at_every_prevalence():
    """Where no negative is flagged the ratio is infinite."""
    t = Tally([4, 3, 2, 1], pos=[2, 3, 1, 1], neg=[0, 1, 4, 5])
    for m in ("lr_positive", "odds_ratio"):
        known = best_threshold(t, m)
        found = best_threshold(t, m, prevalences=(0.1, 0.3))
        assert (found.score_ranges, found.value) == (known.score_ranges, math.inf)
