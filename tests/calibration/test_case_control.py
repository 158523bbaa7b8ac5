"""Draws of calibrated scores with as many cases of each class as there are."""

import itertools
import math

import numpy as np
import pytest
from scipy.special import expit, logit
from scipy.stats import binom, chi2

import trueness
from trueness.calibration.case_control import allotted, balance, redrawn


def test_positives_are_allotted_as_their_odds_say(rng):
    """All tables with four positives, against the product of binomial chances."""
    number, chance = np.array([2, 1, 3, 1, 4]), np.array([0.1, 0.3, 0.2, 0.6, 0.5])
    tables = [
        up for up in itertools.product(*(range(n + 1) for n in number)) if sum(up) == 4
    ]
    weight = np.array([np.prod(binom.pmf(up, number, chance)) for up in tables])
    drawn = allotted(number, chance, 4, 20_000, rng)
    place = {up: k for k, up in enumerate(tables)}
    seen = np.bincount([place[tuple(up)] for up in drawn], minlength=len(tables))
    expected = weight / weight.sum() * 20_000
    wide = expected > 5
    away = ((seen - expected)[wide] ** 2 / expected[wide]).sum()
    assert chi2.sf(away, wide.sum() - 1) > 1e-3


def test_many_cases_have_the_moments_of_the_exact_law(rng):
    """A free draw less its surplus, beside whole counts given their sum."""
    number, chance = np.array([3000, 4000, 5000]), np.array([0.2, 0.5, 0.8])
    free = rng.binomial(number, chance, (400_000, 3))
    exact = free[free.sum(axis=1) == 6600]
    drawn = allotted(number, chance, 6600, 20_000, rng)
    assert drawn.sum(axis=1) == pytest.approx(6600)
    assert drawn.mean(axis=0) == pytest.approx(exact.mean(axis=0), abs=2)
    spread = np.cov(drawn.T).ravel()
    assert spread == pytest.approx(np.cov(exact.T).ravel(), rel=0.1)


def test_the_shift_of_two_scores_by_hand():
    """Odds of 1 and 3, two cases each, one positive: 2 x/(1+x) + 2 3x/(1+3x) = 1."""
    root = (-4 + math.sqrt(16 + 4 * 9)) / (2 * 9)  # 9 x^2 + 4 x - 1 = 0
    found = balance(logit(np.array([0.5, 0.75])), np.array([2, 2]), 1)
    assert float(found.value) == pytest.approx(math.log(root))
    q = np.array([root / (1 + root), 3 * root / (1 + 3 * root)])
    variance = 1 / (2 * q * (1 - q)).sum() - 1 - 1 / 3
    assert float(found.sd) == pytest.approx(math.sqrt(variance))


def test_the_shift_varies_between_samples_as_it_says(rng):
    """Scores of 80 positives and 160 negatives drawn by their own laws."""
    p = rng.beta(1, 4, 50_000)
    found = []
    for _ in range(400):
        pos = rng.choice(p, 80, p=p / p.sum())
        neg = rng.choice(p, 160, p=(1 - p) / (1 - p).sum())
        odds = logit(np.concatenate([pos, neg]))
        found.append(balance(odds, np.ones(240, dtype=int), 80))
    shift = np.array([f.value for f in found])
    said = np.mean([f.sd**2 for f in found])
    assert shift.mean() == pytest.approx(-logit(p.mean()) + math.log(0.5), abs=0.04)
    assert shift.var() == pytest.approx(said, rel=0.25)
    rows = expit(odds)
    again = redrawn(np.ones(240, dtype=int), rows, 80, 300, rng)
    assert again.away.std() == pytest.approx(1, abs=0.15)
    assert logit(again.share).std() == pytest.approx(float(found[-1].sd), rel=0.2)


def test_cox_at_a_given_share_is_the_slope_and_the_shift():
    """Scores that are right but for their log-odds, by 1: the slope has no part."""
    t = trueness.Tally(expit([2.0, 0.0, -2.0]), pos=[400, 300, 50], neg=[50, 300, 400])
    given = {"method": "cox", "replicates": 19}
    line = trueness.calibration_line(t)
    right = t.map(lambda s: expit(line.slope.value * logit(s) + line.intercept.value))
    share = 0.5
    at_half = trueness.calibration_test(right, prevalence=share, **given)
    assert at_half.p_value > 0.9
    moved = right.map(lambda s: expit(logit(s) + 1))
    found = trueness.calibration_test(moved, prevalence=share, **given)
    shift = balance(logit(moved.score), moved.pos + moved.neg, 750)
    slope = at_half.statistic  # the same odds but for a constant
    assert found.statistic == pytest.approx(slope + float(shift.value / shift.sd) ** 2)
    assert found.p_value < 1e-6
