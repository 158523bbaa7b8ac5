"""Risk-coverage curves: case by case, slopes, edges."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import binomtest

import trueness
from trueness import InputError
from trueness.ranking import risk_coverage
from trueness.ranking.risk_coverage import aurc_measure


def sample(n=250, seed=0):
    rng = np.random.default_rng(seed)
    label = (rng.random(n) < 0.4).astype(int)
    score = np.round(
        np.clip(0.4 + 0.3 * (label - 0.4) + 0.2 * rng.normal(size=n), 0, 1), 2
    )
    return label, score


def test_risk_and_coverage_case_by_case():
    label, score = sample()
    confidence = np.abs(score - 0.5)
    wrong = (score >= 0.5) != label

    curve = risk_coverage(label, score)

    for coverage, risk, least in zip(
        curve.coverage, curve.risk, curve.confidence, strict=True
    ):
        decided = confidence >= least
        assert coverage == pytest.approx(decided.mean())
        assert risk == pytest.approx(wrong[decided].mean())

    assert curve.coverage[-1] == 1
    assert ((curve.low <= curve.risk) & (curve.risk <= curve.high)).all()


def test_a_risk_has_wilsons_interval_of_the_decided_cases():
    label, score = sample()
    score = score + np.where(label == 1, 0.05, -0.05)

    curve = risk_coverage(label, score, coverage=[0.02, 0.1, 0.5, 1.0])

    assert curve.risk[0] == 0 < curve.risk[-1]
    for coverage, risk, low, high in zip(
        curve.coverage, curve.risk, curve.low, curve.high, strict=True
    ):
        decided = round(coverage * 250)
        test = binomtest(round(risk * decided), decided)
        wilson = test.proportion_ci(method="wilson")
        assert (low, high) == pytest.approx(tuple(wilson), abs=1e-9)


def test_the_area_is_the_mean_risk_at_the_confidence_of_each_case():
    label, score = sample()
    confidence = np.abs(score - 0.45)
    wrong = (score >= 0.45) != label
    risks = [wrong[confidence >= own].mean() for own in confidence]

    aurc = risk_coverage(label, score, threshold=0.45).aurc

    assert aurc.value == pytest.approx(np.mean(risks))
    assert aurc.low < aurc.value < aurc.high


def test_influence_of_a_case_is_its_slope():
    label, score = sample()
    tally = trueness.tally(label, score)
    influence = aurc_measure(tally).influence
    step = 1e-4
    for row in range(0, len(tally), 7):
        areas = []
        for change in (step, -step):
            weight = np.concatenate([tally.neg, tally.pos]).astype(float)
            weight[row] += change
            if min(weight) < 0:
                break
            moved = trueness.tally(
                np.repeat([0, 1], len(tally)), np.tile(tally.score, 2), weight=weight
            )
            areas.append(aurc_measure(moved).value)
        else:
            slope = (areas[0] - areas[1]) / (2 * step)
            assert influence.by_negative[row] == pytest.approx(slope, abs=1e-6)


def test_a_case_is_not_split_from_its_ties():
    tally = trueness.Tally([0.9, 0.6], pos=[6, 1], neg=[2, 1])

    curve = risk_coverage(tally, coverage=[0.1, 0.8, 1.0])

    assert curve.coverage.tolist() == [0.8, 0.8, 1.0]
    assert curve.risk == pytest.approx([0.25, 0.25, 0.3])


def test_wrong_coverages_are_refused():
    with pytest.raises(InputError, match="coverage"):
        risk_coverage([0, 1], [0.2, 0.8], coverage=[1.5])
