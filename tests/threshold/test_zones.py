"""Two cuts and a zone for doubt: by hand, coverage, error rates."""

import numpy as np
import pytest
from scipy.stats import norm

import trueness
from trueness import InputError, Tally, best_thresholds

HAND = Tally([0.9, 0.7, 0.5, 0.2], pos=[2, 1, 1, 0], neg=[0, 1, 2, 3])


def test_by_hand_with_a_price_for_each_case():
    z = best_thresholds(HAND, minimize=trueness.cost(fp=1, fn=2, defer=0.4))

    assert (z.value, z.single_threshold_value) == (2.0, 3.0)
    assert (z.lower, z.upper) == (0.35, 0.8)
    assert (z.deferred_pos, z.deferred_neg, z.defer) == (2, 3, 0.5)
    assert z.lower_range == (0.2, 0.5)

    # a deferred case as dear as an error: nobody is asked
    dear = best_thresholds(HAND, minimize="cost(fp=1, fn=2, defer=3)")

    assert dear.defer == 0
    assert dear.value == dear.single_threshold_value
    assert "deferred at 0.35 or more: 2 positives, 3 negatives" in repr(z)


def sample(rng, n=500):
    labels = rng.random(n) < 0.3
    return trueness.tally(labels, rng.normal(size=n) + 1.5 * labels)


def rates(z):
    cut = np.array(z.rule.cuts()[::-1])
    return norm.sf(cut - 1.5), norm.sf(cut)


def test_validation_holds_the_truth_of_the_chosen_pair():
    rng = np.random.default_rng(2)
    runs = 40
    covered_cost = 0
    covered_defer = 0
    for _ in range(runs):
        validation = trueness.validate_threshold(
            sample(rng, 300),
            minimize="cost(fp=1, fn=3, defer=0.2)",
            replicates=40,
            rng=rng,
        )

        # at a prevalence of 0.3
        tpr, fpr = rates(validation.choice)
        defer = 0.3 * (tpr[1] - tpr[0]) + 0.7 * (fpr[1] - fpr[0])
        cost = 0.7 * fpr[0] + 0.3 * 3 * (1 - tpr[1]) + 0.2 * defer
        corrected = validation.corrected
        estimated_defer = validation.metrics["defer"]
        covered_cost += corrected.low <= 300 * cost <= corrected.high
        covered_defer += estimated_defer.low <= defer <= estimated_defer.high

    # 0.95, less four standard errors
    assert min(covered_cost, covered_defer) / runs > 0.8


def test_a_guarantee_on_both_sides():
    rng, runs, wrong = np.random.default_rng(6), 60, 0
    for _ in range(runs):
        z = trueness.guaranteed_threshold(
            sample(rng, 1500), ["fpr above <= 0.1", "fnr below <= 0.1"], rng=rng
        )
        assert z.rule.cuts()[0] <= z.threshold
        tpr, fpr = rates(z)
        wrong += fpr[0] > 0.1 or tpr[1] < 0.9

    assert wrong / runs < 0.05 + 3 * np.sqrt(0.05 * 0.95 / runs)

    both = trueness.guaranteed_threshold(
        sample(rng, 4000), ["precision above >= 0.8", "npv below >= 0.9"]
    )

    assert len(both.proofs) == 2


@pytest.mark.parametrize(
    "text",
    [
        *("[" * 100_000, "[]", "1", "{}", '{"upper": ' + "9" * 400 + "}"),
        *(f'{{"upper": {v}}}' for v in ("[]", '"1e5"', "true", "NaN", "null", "{}")),
        *(f'{{"upper": {{"a": {v}}}}}' for v in ("null", "{}", '"x"', "[1]")),
        '{"upper": 0.2, "lower": 0.8}',
        '{"upper": {"a": 1}, "lower": 0.5}',
        '{"upper": 0.8, "lowr": 0.2}',
        '{"upper": 0.8, "trueness": "watch"}',
    ],
    ids=lambda text: text[:40],
)
def test_a_forged_rule_gets_a_sentence(tmp_path, text):
    (tmp_path / "rule.json").write_text(text)
    with pytest.raises(InputError, match=r"[.]$"):
        trueness.Rule.load(tmp_path / "rule.json")
