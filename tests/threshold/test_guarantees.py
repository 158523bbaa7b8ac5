"""Guaranteed thresholds: exact tails by hand, error rates by simulation."""

import math

import numpy as np
import pytest
from scipy.stats import beta, binom, norm

import trueness
from trueness import Infeasible, NotEnoughCases, Tally, guaranteed_threshold


def test_by_hand_with_29_positives():
    # all 29 found: 0.9**29 = 0.0471; one missed: P(Bin(29, 0.9) >= 28) = 0.199
    tally = Tally([3, 2, 1], pos=[28, 1, 0], neg=[0, 5, 5])
    g = guaranteed_threshold(tally, "recall >= 0.9")

    assert g.confusion.tp == 29
    assert g.p_value == pytest.approx(0.9**29)
    assert g.score_range == (1.0, 2.0)
    # the exact lower limit of 29 of 29: alpha^(1/29)
    assert g.bound == pytest.approx(0.05 ** (1 / 29))
    assert g.value == 1
    assert g.cases == 29


@pytest.mark.parametrize(
    "text", ["recall >= 0.8", "fnr <= 0.2", "fpr <= 0.1", "specificity > 0.9"]
)
def test_moves_until_the_exact_test_fails(text):
    """Against scipy's binomial tail at every cut."""
    rng = np.random.default_rng(3)
    labels = rng.random(400) < 0.4
    score = np.round(rng.normal(size=400) + 1.5 * labels, 1)
    tally = trueness.tally(labels, score)
    g = guaranteed_threshold(tally, text, level=0.9)
    proved = []
    for cut in [np.inf, *np.unique(score)[::-1]]:
        if text in ("recall >= 0.8", "fnr <= 0.2"):
            p = binom.sf((labels & (score >= cut)).sum() - 1, labels.sum(), 0.8)
        else:
            p = binom.sf((~labels & (score < cut)).sum() - 1, (~labels).sum(), 0.9)
        if p <= 0.1:
            proved.append(cut)

    last = max(proved) if "recall" in text or "fnr" in text else min(proved)

    assert g.score_range[1] == last
    assert g.p_value <= 0.1

    flag = score >= g.threshold

    assert g.confusion.tp == (flag & labels).sum()


def test_what_cannot_be_guaranteed():
    rng = np.random.default_rng(9)
    labels = rng.random(300) < 0.3
    noise = trueness.tally(labels, rng.normal(size=300))

    with pytest.raises(Infeasible, match="is not met in the sample either"):
        guaranteed_threshold(noise, "precision >= 0.95", rng=1)

    weak = trueness.tally(labels, rng.normal(size=300) + labels)

    with pytest.raises(NotEnoughCases, match=r"About [\d,]+ more cases like them"):
        guaranteed_threshold(weak, "accuracy >= 0.75", rng=1)

    twice = guaranteed_threshold(weak, "2*youden >= 0.1", rng=1)
    once = guaranteed_threshold(weak, "recall - fpr >= 0.05", rng=1)

    assert (twice.threshold, twice.p_value) == (once.threshold, once.p_value)


BOTH = ["recall >= 0.8", "fpr <= 0.35"]


def normal_tally(rng, n=900):
    labels = np.arange(n) < n // 3
    return trueness.tally(labels, rng.normal(size=n) + 1.8 * labels)


def larger_p_values(tally):
    """Return the larger of both p-values at every cut, from scipy's binomial tails."""
    cuts = trueness.sweep(tally)
    of_recall = binom.sf(cuts.tp - 1, tally.n_pos, 0.8)
    of_fpr = binom.sf(cuts.tn - 1, tally.n_neg, 0.65)
    return np.maximum(of_recall, of_fpr)


def test_the_p_value_of_several_constraints_is_that_of_the_weakest():
    tally = normal_tally(np.random.default_rng(2))

    guarantee = guaranteed_threshold(tally, BOTH)

    p_value = larger_p_values(tally).min()
    assert guarantee.p_value == pytest.approx(p_value)
    assert p_value <= 0.025


def test_the_best_of_the_proved_cuts_is_chosen():
    tally = normal_tally(np.random.default_rng(2))

    highest = guaranteed_threshold(tally, BOTH, maximize="specificity")
    lowest = guaranteed_threshold(tally, BOTH, minimize="specificity")

    # each of two constraints has half of the error of 0.05
    is_proved = larger_p_values(tally) <= 0.025
    true_negatives = trueness.sweep(tally).tn[is_proved]
    assert highest.confusion.tn == true_negatives.max() == true_negatives[0]
    assert lowest.confusion.tn == true_negatives.min()


def test_several_constraints_are_each_proved_at_a_part_of_the_error():
    guarantee = guaranteed_threshold(normal_tally(np.random.default_rng(2)), BOTH)

    recall, fpr = guarantee.proofs
    assert guarantee.constraint == "recall >= 0.8 and fpr <= 0.35"
    assert recall.level == fpr.level == 0.975
    assert recall.bound > 0.8
    assert fpr.bound < 0.35


def test_error_rate_of_two_constraints_and_a_choice_between_the_cuts():
    """The one that is chosen greedily keeps both promises, 19 times of 20."""
    rng, wrong, done, runs = np.random.default_rng(3), 0, 0, 200
    for _ in range(runs):
        t = normal_tally(rng, 600)
        try:
            g = guaranteed_threshold(t, BOTH, maximize="specificity", level=0.8)
        except NotEnoughCases:
            continue
        done += 1
        recall, fpr = norm.sf(g.threshold - 1.8), norm.sf(g.threshold)
        wrong += recall < 0.8 or fpr > 0.35

    assert done > 0.8 * runs
    assert wrong / runs < 0.2 + 3 * math.sqrt(0.2 * 0.8 / runs)
    assert wrong / runs > 0.02  # not idle


def test_constraints_that_cannot_be_guaranteed_together():
    t = normal_tally(np.random.default_rng(4))

    with pytest.raises(NotEnoughCases, match="but not at the same threshold"):
        guaranteed_threshold(t, ["recall >= 0.9", "fpr <= 0.05"])

    mixed = guaranteed_threshold(t, ["recall >= 0.5", "precision >= 0.6"], rng=1)

    assert {q.method for q in mixed.proofs} == {
        "order statistics", "split and fixed sequence"
    }  # fmt: skip


def population(threshold, share=0.3, shift=1.5):
    tpr, fpr = norm.sf(threshold - shift), norm.sf(threshold)
    p, q = 1e6 * share, 1e6 * (1 - share)
    return trueness.Confusion(p * tpr, q * fpr, p * (1 - tpr), q * (1 - fpr))


RISKS = ("recall >= 0.8", "fpr <= 0.2", "flagged_rate <= 0.3", "precision >= 0.6",
         "npv >= 0.85", "accuracy >= 0.76", "f1 >= 0.6", "f_beta(2) >= 0.6",
         "net_benefit(0.25) >= 0.12", "youden >= 0.38", "balanced_accuracy >= 0.68",
         "lr_positive >= 4", "precision >= 0.2")  # fmt: skip


OTHERS = (pytest.param(text, marks=pytest.mark.slow) for text in RISKS[4:])


@pytest.mark.parametrize("text", [*RISKS[:4], *OTHERS])
def test_error_rates_are_at_most_what_was_promised(text):
    """Draw samples, choose, and look the promise up in the population."""
    rng, wrong, done, runs = np.random.default_rng(17), 0, 0, 60
    asked = trueness.constraint(text)
    use = {"prevalence": 0.05} if text == "precision >= 0.2" else {}
    for _ in range(runs):
        labels = rng.random(1200) < 0.3
        tally = trueness.tally(
            labels, np.round(rng.normal(size=1200) + 1.5 * labels, 2)
        )
        try:
            g = guaranteed_threshold(tally, text, rng=rng, **use)
        except (NotEnoughCases, Infeasible):
            continue
        done += 1
        # rounded scores reach a threshold when the raw ones reach half a step less
        c = population(g.threshold - 0.005, use.get("prevalence", 0.3))
        wrong += not asked(c)
        assert asked.decide(g.bound)

    assert done > runs / 2
    assert wrong / runs < 0.05 + 3 * math.sqrt(0.05 * 0.95 / runs)

    fixed = text.startswith(("recall", "fpr", "flagged"))

    assert g.method == ("order statistics" if fixed else "split and fixed sequence")


def test_f1_by_hand():
    # f1 >= 0.8 is 2 tp (1 - 0.8) >= 0.8 (fp + fn): a share of at least 2/3 of tp
    tally = Tally([2, 1], pos=[60, 5], neg=[5, 60])
    g = guaranteed_threshold(tally, "f1 >= 0.8", thresholds=[1.5])

    assert g.p_value == pytest.approx(binom.sf(59, 70, 2 / 3))
    assert g.cases == 70
    assert (g.threshold, g.score_range) == (1.5, (1.5, 1.5))

    s = beta.ppf(0.05, 60, 11)  # the limit of the share, as a limit of f1

    assert g.bound == pytest.approx(2 * s / (1 + s))


def test_thresholds_fixed_beforehand_with_and_without_a_sequence():
    t = normal_tally(np.random.default_rng(4))
    first = guaranteed_threshold(t, "precision >= 0.5", thresholds=[1.5, 1.0, 0.5, 0])
    alone = guaranteed_threshold(
        t, "precision >= 0.5", thresholds=[1.5, 1.0, 0.5, 0], fixed_sequence=False
    )

    assert first.method == "fixed sequence"
    assert alone.method == "bonferroni"

    p = [
        binom.sf(
            ((flag := t.score >= a) * t.pos).sum() - 1, (t.pos + t.neg)[flag].sum(), 0.5
        )
        for a in (1.5, 1.0, 0.5, 0)
    ]
    passed = [a for a, q in zip((1.5, 1.0, 0.5, 0), p, strict=True) if q <= 0.05 / 4]

    assert alone.threshold == passed[-1]
    assert first.threshold <= alone.threshold


def test_a_guarantee_at_another_prevalence():
    t = normal_tally(np.random.default_rng(5), 3000)
    g = guaranteed_threshold(t, "precision >= 0.3", prevalence=0.05)

    assert g.value == pytest.approx(trueness.precision(g.confusion.at_prevalence(0.05)))

    wide = guaranteed_threshold(t, "precision >= 0.3", prevalences=(0.05, 0.1))
    doubt = trueness.Estimate(0.07, 0.05, 0.1)
    unsure = guaranteed_threshold(t, "precision >= 0.3", prevalences=doubt)

    assert trueness.precision(wide.confusion.at_prevalence(0.05)) > 0.3
    assert unsure.level == 0.95

    # a rate of one class does not depend on it, and keeps its sharper test
    same = guaranteed_threshold(t, "recall >= 0.8", prevalence=0.05)

    assert same.method == "order statistics"
