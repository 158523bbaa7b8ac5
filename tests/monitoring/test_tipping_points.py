"""Tipping points of claims from expected labels."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.special import expit, logit

import trueness
from trueness import InputError, Tally
from trueness.inference.expected_counts import expect_labels

REFERENCE = Tally([0.9, 0.5, 0.1], neg=[10, 40, 90], pos=[90, 60, 10])
TODAY = Tally([0.9, 0.5, 0.1], unknown=[50, 20, 30]).with_design(unlabelled=REFERENCE)


def test_odds_move_precision_as_computed_by_hand():
    chance = expect_labels(TODAY).chances[0]
    # precision at 0.6 is the chance of the first row: odds are divided until it is 0.8
    by_hand = math.exp(logit(0.8) - logit(chance))

    point = trueness.tipping_point(TODAY, "precision >= 0.8 at 0.6")

    assert point.holds
    assert point.odds[0] == pytest.approx(by_hand, rel=1e-3)
    assert math.isnan(point.odds[1])


def test_the_slope_moves_an_auc_and_odds_are_not_shown():
    point = trueness.tipping_point(TODAY, "auc >= 0.8")

    assert point.odds is None
    assert 0 < point.slope[0] < 1
    assert "slope" in repr(point)


def test_a_claim_that_fails_has_a_tipping_point_too():
    point = trueness.tipping_point(TODAY, "precision >= 0.95 at 0.6")

    assert not point.holds
    assert point.odds[1] > 1


def test_values_at_the_tipping_point_are_the_bound():
    point = trueness.tipping_point(TODAY, "f1 >= 0.7 at 0.4")
    expected = expect_labels(TODAY)
    factor = next(f for f in point.odds if not math.isnan(f))

    chance = expit(logit(expected.chances) + math.log(factor))
    positives = TODAY.unknown * chance
    flagged = TODAY.score >= 0.4
    tp = positives[flagged].sum()
    f1 = 2 * tp / (TODAY.unknown[flagged].sum() + positives.sum())

    assert f1 == pytest.approx(0.7, abs=1e-3)
    assert np.isfinite(point.value)


def test_labels_that_are_known_do_not_move():
    point = trueness.tipping_point(REFERENCE, "auc >= 0.8")

    assert point.holds
    assert np.isnan([*point.odds, *point.slope]).all()


def test_a_claim_without_a_bound_is_refused():
    with pytest.raises(InputError, match="one bound"):
        trueness.tipping_point(TODAY, "cases >= 10")
