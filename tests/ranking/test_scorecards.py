"""Gini, KS and decile tables against SciPy, pandas and the definitions."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from scipy.stats import binomtest, ks_2samp, norm, somersd

import trueness


@pytest.fixture
def cases():
    rng = np.random.default_rng(5)
    label = (rng.random(500) < 0.3).astype(int)
    score = np.round(rng.normal(size=500) + label, 1)
    return label, score


def test_gini_is_somers_d(cases):
    label, score = cases

    estimate = trueness.gini(label, score)

    assert estimate.value == pytest.approx(somersd(label, score).statistic)


def test_gini_has_the_interval_of_the_auc(cases):
    area = trueness.auc(*cases)

    estimate = trueness.gini(*cases)

    assert estimate.ci == pytest.approx([2 * area.low - 1, 2 * area.high - 1])
    assert estimate.se == pytest.approx(2 * area.se)


def test_gini_can_be_compared(cases):
    label, score = cases
    panel = trueness.panel(label, {"a": score, "b": -np.abs(score - 1)})

    comparison = trueness.compare(panel, trueness.gini)

    areas = trueness.compare_auc(panel)
    difference = comparison.pairs[0].difference

    assert difference.value == pytest.approx(2 * areas.pairs[0].difference.value)


@pytest.mark.parametrize("sign", [1, -1])
def test_ks_is_that_of_scipy(cases, sign):
    label, score = cases
    score = sign * score

    estimate = trueness.ks(label, score)

    reference = ks_2samp(score[label == 1], score[label == 0])

    assert estimate.ks.value == pytest.approx(reference.statistic)
    assert float(estimate) == estimate.ks.value
    assert abs(estimate.tpr - estimate.fpr) == pytest.approx(estimate.ks.value)

    flagged = score >= estimate.threshold

    assert estimate.tpr == pytest.approx(flagged[label == 1].mean())


def test_standard_error_of_ks_is_that_of_two_proportions(cases):
    label, _ = cases

    estimate = trueness.ks(*cases)

    n_pos, n_neg = label.sum(), (1 - label).sum()
    of_tpr = estimate.tpr * (1 - estimate.tpr) / (n_pos - 1)
    of_fpr = estimate.fpr * (1 - estimate.fpr) / (n_neg - 1)

    assert estimate.ks.se == pytest.approx(np.sqrt(of_tpr + of_fpr))


def test_interval_of_ks_holds_the_true_value():
    rng = np.random.default_rng(1)
    label = np.repeat([1, 0], [300, 1000])
    true_value = 2 * norm.cdf(0.5) - 1
    held = 0
    for _ in range(300):
        estimate = trueness.ks(label, rng.normal(size=1300) + label).ks
        held += estimate.low <= true_value <= estimate.high

    assert 0.90 <= held / 300 <= 0.98


def test_deciles_are_those_of_pandas():
    rng = np.random.default_rng(3)
    label = (rng.random(400) < 0.25).astype(int)
    score = rng.normal(size=400) + label

    table = trueness.decile_table(label, score).to_frame()

    groups = pd.qcut(-score, 10, labels=False)
    expected = pd.DataFrame({"label": label}).groupby(groups)["label"]

    assert table["n"].tolist() == [40] * 10
    assert table["n_pos"].tolist() == expected.sum().tolist()
    assert table["rate"].tolist() == pytest.approx(expected.mean().tolist())
    assert table["gain"].tolist() == pytest.approx(
        (expected.sum().cumsum() / label.sum()).tolist()
    )
    assert table["lift"].tolist() == pytest.approx(
        (expected.mean() / label.mean()).tolist()
    )


def test_rates_of_deciles_have_wilsons_interval():
    rng = np.random.default_rng(3)
    # the highest deciles have positives only, the lowest ones negatives only
    label = (rng.random(60) < 0.5).astype(int)
    score = rng.normal(size=60) + 3 * label

    table = trueness.decile_table(label, score)

    assert {0.0, 1.0} < set(table.rate.tolist())
    for row in range(10):
        test = binomtest(int(table.n_pos[row]), int(table.n[row]))
        low, high = test.proportion_ci(method="wilson")
        assert table.rate_low[row] == pytest.approx(low, abs=1e-9)
        assert table.rate_high[row] == pytest.approx(high, abs=1e-9)


def test_a_decile_without_a_positive_is_as_uncertain_as_its_cases_are_few():
    # 10 cases of a decile decide, not the 500 positives and 500 negatives of all
    score = np.repeat(np.arange(100), 10)
    label = np.repeat([0, 1], 500)

    at_prevalence = trueness.decile_table(label, score, groups=100, prevalence=0.2)
    weighted = trueness.decile_table(
        label, score, groups=100, weight=np.full(1000, 3.0)
    )

    assert at_prevalence.rate_high[-1] == pytest.approx(0.2775, abs=1e-3)
    assert weighted.rate_high[-1] == pytest.approx(0.2775, abs=1e-3)


def test_few_clusters_are_named_beside_the_deciles():
    rng = np.random.default_rng(4)
    label = rng.random(200) < 0.4
    score = rng.normal(size=200) + label

    table = trueness.decile_table(label, score, cluster=rng.integers(0, 6, 200))

    assert any("6 clusters" in note for note in table.notes)


def test_ties_stay_together_in_the_decile_of_their_middle_rank():
    tally = trueness.Tally([3, 2, 1], pos=[2, 1, 0], neg=[0, 5, 2])

    table = trueness.decile_table(tally)

    assert table.decile.tolist() == [2, 6, 10]
    assert table.n.tolist() == [2, 6, 2]


def test_decile_table_at_another_prevalence_reweights_the_classes():
    tally = trueness.Tally([2, 1], pos=[8, 2], neg=[2, 8])

    table = trueness.decile_table(tally, groups=2, prevalence=0.1)

    assert table.rate[0] == pytest.approx(0.08 / (0.08 + 0.18))


@pytest.mark.parametrize("analysis", ["gini", "ks", "decile_table"])
def test_both_classes_are_needed(analysis):
    with pytest.raises(trueness.NotEnoughCases, match="negative"):
        getattr(trueness, analysis)(trueness.Tally([2, 1], pos=[1, 1]))
