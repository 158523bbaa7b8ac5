"""Cost and decision curves: by hand, against all cuts, coverage of the intervals."""

import numpy as np
import pytest
from scipy.stats import norm

import trueness
from cuts_by_counting import cases_with_ties
from trueness import InputError, Tally, cost_curve, decision_curve

HAND = Tally([0.9, 0.7, 0.5, 0.2], pos=[2, 1, 1, 0], neg=[0, 1, 2, 3])


def test_cost_by_hand():
    c = cost_curve(HAND, at=[0, 0.5, 0.9, 1])
    # cuts (fnr, fpr): (1, 0), (1/2, 0), (1/4, 1/6), (0, 1/2), (0, 1)
    expected = [0, 0.5 / 4 + 0.5 / 6, 0.1 * 3 / 6, 0]

    assert c.cost == pytest.approx(expected)
    assert c.trivial.tolist() == pytest.approx([0, 0.5, 0.1, 0])
    assert c.threshold[2] == 0.2 / 2 + 0.5 / 2
    assert c.recall.tolist() == [0, 3 / 4, 1, 1]


@pytest.mark.parametrize("seed", range(5))
def test_cost_is_the_smallest_over_all_cuts(seed):
    label, score = cases_with_ties(np.random.default_rng(seed), 40, levels=6)
    tally = trueness.tally(label, score)

    curve = cost_curve(tally)

    cuts = trueness.sweep(tally)
    miss_rate = 1 - cuts.tp / tally.n_pos
    fpr = cuts.fp / tally.n_neg
    for weight, cost, threshold in zip(
        curve.weight, curve.cost, curve.threshold, strict=True
    ):
        miss_rate_at = (score[label == 1] < threshold).mean()
        fpr_at = (score[label == 0] >= threshold).mean()
        assert cost == pytest.approx((weight * miss_rate + (1 - weight) * fpr).min())
        assert cost == pytest.approx(weight * miss_rate_at + (1 - weight) * fpr_at)


def test_cost_weight_is_a_prevalence_and_two_prices():
    """Reading the curve at w is minimising the cost at that prevalence."""
    share, fp, fn = 0.1, 1.0, 5.0
    w = share * fn / (share * fn + (1 - share) * fp)
    best = trueness.best_threshold(
        HAND, minimize=trueness.cost_rate(fp=fp, fn=fn), prevalence=share
    )

    assert cost_curve(HAND, at=w).cost[0] == pytest.approx(best.value)


def test_benefit_by_hand():
    d = decision_curve(HAND, threshold=[0.2, 0.6, 0.95])

    assert d.net_benefit == pytest.approx(
        [4 / 10 - 0.25 * 6 / 10, 3 / 10 - 1.5 / 10, 0.0]
    )
    assert d.treat_all == pytest.approx([0.4 - 0.6 * 0.25, 0.4 - 0.6 * 1.5, 0.4 - 11.4])
    assert d.standardised == pytest.approx(d.net_benefit / 0.4)
    assert not d.treat_none.any()
    # a score equal to the probability is acted on
    assert decision_curve(HAND, threshold=[0.9]).net_benefit[0] == pytest.approx(0.2)


def test_benefit_at_another_prevalence():
    d = decision_curve(HAND, threshold=[0.6], prevalence=0.05)

    assert d.net_benefit[0] == pytest.approx(0.05 * 3 / 4 - 0.95 * 1.5 / 6)
    assert d.treat_all[0] == pytest.approx(0.05 - 0.95 * 1.5)
    assert d.treat_all_low[0] == d.treat_all_high[0] == d.treat_all[0]


def test_benefit_is_the_metric_at_every_threshold():
    rng = np.random.default_rng(7)
    score = rng.random(500).round(2)
    labels = rng.random(500) < score
    tally = trueness.tally(labels, score)
    d = decision_curve(tally)
    for p, nb in zip(d.threshold, d.net_benefit, strict=True):
        flag = score >= p
        direct = (flag & labels).sum() - (flag & ~labels).sum() * p / (1 - p)
        assert nb == pytest.approx(direct / 500)

    assert (d.low < d.net_benefit).all()
    assert (d.high > d.net_benefit).all()
    assert (d.treat_all_low < d.treat_all).all()


def binormal_costs(rng, prevalence, cases):
    """Return labels, scores of two normal classes, and the probabilities they mean."""
    labels = rng.random(cases) < prevalence
    scores = rng.normal(size=cases) + 1.5 * labels
    odds = prevalence / (1 - prevalence) * np.exp(1.5 * scores - 1.5**2 / 2)
    return labels, scores, odds / (1 + odds)


def test_intervals_of_the_decision_curve_cover():
    """The proportion of intervals that hold the truth, at easy and hard thresholds."""
    rng = np.random.default_rng(11)
    prevalence = 0.2
    probability = np.array([0.1, 0.3, 0.6])
    odds = probability / (1 - probability)
    # acting at a probability is cutting the scores here
    cut = np.log(odds * (1 - prevalence) / prevalence) / 1.5 + 0.75
    tpr = norm.sf(cut - 1.5)
    fpr = norm.sf(cut)
    truth = prevalence * tpr - (1 - prevalence) * odds * fpr
    standardised_truth = truth / prevalence

    runs = 100
    covered = np.zeros(3)
    standardised_covered = np.zeros(3)
    for _ in range(runs):
        labels, _, probabilities = binormal_costs(rng, prevalence, cases=300)
        curve = decision_curve(
            trueness.tally(labels, probabilities), threshold=probability
        )
        covered += (curve.low <= truth) & (truth <= curve.high)
        is_above_low = curve.standardised_low <= standardised_truth
        is_below_high = standardised_truth <= curve.standardised_high
        standardised_covered += is_above_low & is_below_high

    # three standard errors of a proportion of 100 around 0.95
    assert (np.abs(covered / runs - 0.95) < 0.066).all()
    # the number of positives is random, and was taken as known: 0.85 to 0.88
    assert (np.abs(standardised_covered / runs - 0.95) < 0.066).all()


def test_intervals_of_the_cost_curve_cover():
    rng = np.random.default_rng(11)
    weight = np.array([0.2, 0.5])

    runs = 100
    covered = np.zeros(2)
    for _ in range(runs):
        labels, scores, _ = binormal_costs(rng, prevalence=0.2, cases=300)
        curve = cost_curve(trueness.tally(labels, scores), at=weight)
        tpr = norm.sf(curve.threshold - 1.5)
        fpr = norm.sf(curve.threshold)
        truth = weight * (1 - tpr) + (1 - weight) * fpr
        covered += (curve.low <= truth) & (truth <= curve.high)

    # the threshold was chosen on the same cases: 0.88 to 0.92 when it counts as given
    assert (np.abs(covered / runs - 0.95) < 0.066).all()


@pytest.mark.parametrize("seed", range(5))
def test_intervals_of_a_cost_curve_hold_the_cost(seed):
    curve = cost_curve(*cases_with_ties(np.random.default_rng(seed), 40, levels=6))

    assert (curve.cost <= curve.trivial + 1e-12).all()
    assert (curve.low <= curve.cost).all()
    assert (curve.cost <= curve.high).all()
    assert (curve.low < curve.high).all()


def test_a_decision_curve_imputes_labels_missing_at_random():
    tally = Tally(HAND.score, neg=HAND.neg, pos=HAND.pos, unknown=[9, 0, 0, 9])
    options = {"unlabelled": "missing at random"}

    curve = decision_curve(tally, threshold=[0.6], **options)

    # the odds of a threshold probability of 0.6
    net_benefit = trueness.metric("net_benefit(1.5)")(tally, threshold=0.6, **options)
    assert curve.net_benefit[0] == pytest.approx(net_benefit.value)
    with pytest.raises(InputError, match="whose label is known"):
        cost_curve(tally, **options)


def test_a_design_is_stated_with_the_counts_or_with_the_question():
    design = {"sampling": "case-control", "prevalence": 0.05}

    of_counts = decision_curve(HAND.with_design(**design))
    of_question = decision_curve(HAND, **design)

    assert of_counts == of_question
    assert of_counts.standardised_low * 0.05 == pytest.approx(of_counts.low)


def test_interventions_avoided_are_net_benefit_over_acting_always():
    rng = np.random.default_rng(3)
    label = (rng.random(600) < 0.2).astype(int)
    score = np.clip(0.2 + 0.3 * (label - 0.2) + 0.1 * rng.normal(size=600), 0, 1)

    for design in ({}, {"prevalence": 0.1}):
        curve = trueness.decision_curve(
            label, score, threshold=[0.1, 0.2, 0.4], **design
        )
        odds = curve.threshold / (1 - curve.threshold)
        expected = (curve.net_benefit - curve.treat_all) / odds
        assert curve.interventions_avoided == pytest.approx(expected)
        assert (curve.avoided_low < curve.interventions_avoided).all()
        assert (curve.avoided_high > curve.interventions_avoided).all()


def test_interventions_avoided_are_undefined_at_threshold_zero():
    curve = trueness.decision_curve([0, 1, 1], [0.1, 0.4, 0.8], threshold=[0.0, 0.5])

    assert np.isnan(curve.interventions_avoided[0])
    assert np.isfinite(curve.interventions_avoided[1])
