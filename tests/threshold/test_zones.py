"""Two cuts and a zone for doubt: brute force in fractions, coverage, error rates."""

from fractions import Fraction

import numpy as np
import pytest
from scipy.stats import norm

import trueness
from trueness import InputError, Tally, best_thresholds
from trueness.metrics.algebra import as_fraction

HAND = Tally([0.9, 0.7, 0.5, 0.2], pos=[2, 1, 1, 0], neg=[0, 1, 2, 3])


def test_by_hand_with_a_price_for_each_case():
    z = best_thresholds(HAND, minimize=trueness.cost(fp=1, fn=2, defer=0.4))
    assert (z.value, z.single) == (2.0, 3.0)
    assert (z.lower, z.upper) == (0.35, 0.8)
    assert (z.deferred_pos, z.deferred_neg, z.defer) == (2, 3, 0.5)
    assert z.lower_range == (0.2, 0.5)
    # a deferred case as dear as an error: nobody is asked
    dear = best_thresholds(HAND, minimize="cost(fp=1, fn=2, defer=3)")
    assert dear.defer == 0
    assert dear.value == dear.single
    assert "deferred from 0.35 on: 2 positives, 3 negatives" in repr(z)


OBJECTIVES = {
    "cost(fp=1, fn=2, defer=0.4)": lambda tp, fp, fn, tn, d, n: (
        -(fp + 2 * fn + Fraction(2, 5) * d)
    ),
    "accuracy": lambda tp, fp, fn, tn, d, n: (tp + tn) / (n - d) if n - d else None,
    "f1": lambda tp, fp, fn, tn, d, n: (
        2 * tp / (2 * tp + fp + fn) if 2 * tp + fp + fn else None
    ),
    "80*tp - 5*fp - 20*fn - deferred": lambda tp, fp, fn, tn, d, n: (
        80 * tp - 5 * fp - 20 * fn - d
    ),
    "defer": lambda tp, fp, fn, tn, d, n: -d / n,
}
LIMITS = {
    "defer <= 0.3": lambda tp, fp, fn, tn, d, n: d / n <= Fraction(3, 10),
    "deferred < 4": lambda tp, fp, fn, tn, d, n: d < 4,
    "precision above >= 0.6": lambda tp, fp, fn, tn, d, n: (
        tp + fp > 0 and tp / (tp + fp) >= Fraction(3, 5)
    ),
    "npv below >= 0.8": lambda tp, fp, fn, tn, d, n: (
        fn + tn > 0 and tn / (tn + fn) >= Fraction(4, 5)
    ),
    "accuracy >= 0.7": lambda tp, fp, fn, tn, d, n: (
        n - d > 0 and (tp + tn) / (n - d) >= Fraction(7, 10)
    ),
    "f1 >= 0.5": lambda tp, fp, fn, tn, d, n: (
        2 * tp + fp + fn > 0 and 2 * tp / (2 * tp + fp + fn) >= Fraction(1, 2)
    ),
}


def brute(t, share, value, limits):
    n = t.n_pos + t.n_neg
    up = Fraction(1) if share is None else as_fraction(share) * n / t.n_pos
    down = Fraction(1) if share is None else (1 - as_fraction(share)) * n / t.n_neg
    tps = [up * int(k) for k in np.r_[0, np.cumsum(t.pos)]]
    fps = [down * int(k) for k in np.r_[0, np.cumsum(t.neg)]]
    best, count = None, 0
    for i in range(len(tps)):
        for j in range(i, len(tps)):
            tp, fp, fn, tn = tps[i], fps[i], tps[-1] - tps[j], fps[-1] - fps[j]
            counts = (tp, fp, fn, tn, n - tp - fp - fn - tn, n)
            if all(LIMITS[k](*counts) for k in limits):
                found = value(*counts)
                if found is not None and (best is None or found > best):
                    best, count = found, 0
                count += found is not None and found == best
    return best, count


def test_every_pair_of_cuts_in_fractions():
    rng = np.random.default_rng(8)
    done = 0
    for _ in range(150):
        m = int(rng.integers(2, 7))
        pos, neg = rng.integers(0, 4, m), rng.integers(0, 4, m)
        if not (pos.sum() and neg.sum()):
            continue
        t = Tally(np.arange(m)[::-1] * 1.0, neg, pos).labelled()
        name = list(OBJECTIVES)[rng.integers(len(OBJECTIVES))]
        limits = rng.choice(list(LIMITS), rng.integers(0, 4), replace=False).tolist()
        share = (None, 0.1, 0.3)[rng.integers(3)]
        best, count = brute(t, share, OBJECTIVES[name], limits)
        small = name.startswith(("cost", "defer"))
        way = {"minimize" if small else "maximize": name}
        if best is None:
            with pytest.raises((trueness.Infeasible, trueness.NotEnoughCases)):
                best_thresholds(t, subject_to=limits, prevalence=share, **way)
            continue
        z = best_thresholds(t, subject_to=limits, prevalence=share, **way)
        assert (-z.value if small else z.value) == pytest.approx(float(best), abs=1e-12)
        assert len(z.pairs) == count
        done += 1
    assert done > 60


def sample(rng, n=500):
    y = rng.random(n) < 0.3
    return trueness.tally(y, rng.normal(size=n) + 1.5 * y)


def rates(z):
    cut = np.array(z.rule.cuts()[::-1])
    return norm.sf(cut - 1.5), norm.sf(cut)


def test_validation_holds_the_truth_of_the_chosen_pair():
    rng, runs, hits, defer = np.random.default_rng(2), 40, 0, 0
    for _ in range(runs):
        t = sample(rng, 300)
        v = trueness.validate_threshold(
            t, minimize="cost(fp=1, fn=3, defer=0.2)", replicates=40, rng=rng
        )
        tpr, fpr = rates(v.choice)
        share = 0.3 * (tpr[1] - tpr[0]) + 0.7 * (fpr[1] - fpr[0])
        cost = 0.7 * fpr[0] + 0.3 * 3 * (1 - tpr[1]) + 0.2 * share
        hits += v.corrected.low <= 300 * cost <= v.corrected.high
        e = v.metrics["defer"]
        defer += e.low <= share <= e.high
    assert min(hits, defer) / runs > 0.8  # 0.95, less four standard errors


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


def test_wrong_input():
    with pytest.raises(InputError, match="needs an objective"):
        best_thresholds(HAND)
    with pytest.raises(InputError, match="need a weighted sum of counts"):
        best_thresholds(HAND, "mcc", "defer <= 0.1")
    with pytest.raises(trueness.Infeasible, match=r"precision above .* cannot be"):
        best_thresholds(HAND, minimize="defer", subject_to="precision above >= 1.5")
    with pytest.raises(InputError, match="count cases between two thresholds"):
        trueness.best_threshold(HAND, minimize="defer")
    with pytest.raises(InputError, match="is about one side"):
        trueness.guaranteed_threshold(HAND, ["precision >= 0.9", "npv below >= 0.9"])
    mixed = best_thresholds(HAND, minimize="defer", subject_to="mcc above >= 0.3")
    assert mixed.constraints["mcc above >= 0.3"] >= 0.3


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
