"""One decision of several classifiers: brute force, optimism, mixtures."""

import math

import numpy as np
import pytest
from scipy.stats import norm

import trueness
from trueness import InputError, Panel, best_decision


def panel(rng, n, shifts, share=0.4):
    y = rng.random(n) < share
    y[:2] = False, True
    scores = rng.normal(size=(n, len(shifts))) + np.array(shifts) * y[:, None]
    names = [f"m{k}" for k in range(len(shifts))]
    return Panel(names, scores, pos=y.astype(int), neg=(~y).astype(int))


def test_it_is_the_best_of_the_best_cuts():
    p = panel(np.random.default_rng(1), 200, [0.5, 1.5, 1.0])
    d = best_decision(p, "f1", "recall >= 0.5", replicates=20)
    each = {n: trueness.best_threshold(p[n], "f1", "recall >= 0.5") for n in p.names}
    assert d.values == {n: b.value for n, b in each.items()}
    assert d.value == max(b.value for b in each.values())
    assert d.point.threshold == each[d.classifier].threshold
    assert sum(d.chosen.values()) == pytest.approx(1)
    assert d.corrected.low <= d.corrected.value <= d.corrected.high


def test_the_optimism_of_choosing_among_equals_is_corrected():
    """Eight classifiers, all alike: the best looks better than any of them is."""
    rng, raw, rest, hits, runs = np.random.default_rng(3), [], [], 0, 40
    for _ in range(runs):
        d = best_decision(panel(rng, 80, [1.0] * 8), replicates=40, rng=rng)
        cut = d.point.threshold
        truth = 0.4 * norm.sf(cut - 1) + 0.6 * norm.cdf(cut)
        raw.append(d.value - truth)
        rest.append(d.corrected.value - truth)
        hits += d.corrected.low <= truth <= d.corrected.high
    assert np.mean(raw) > 0.06
    assert abs(np.mean(rest)) < np.mean(raw) / 2
    assert hits / runs > 0.8


def test_a_mixture_reaches_what_no_cut_does():
    # cuts of a: fpr 0, 0.2, 1 with recall 0, 0.6, 1; half and half of the first two
    p = Panel(["a"], [[3], [2], [1]], pos=[6, 0, 4], neg=[2, 0, 8])
    d = best_decision(p, "recall", "fpr <= 0.1", mixture=True, replicates=20)
    assert d.value == 0
    assert d.mixture_value == pytest.approx(0.3)
    assert sorted(part.probability for part in d.mixture) == pytest.approx([0.5, 0.5])
    with pytest.raises(InputError, match=r"mixture of thresholds .* mcc is not. Leave"):
        best_decision(p, "mcc", mixture=True, replicates=20)
    free = best_decision(p, "accuracy", mixture=True, replicates=20)
    assert free.mixture_value == pytest.approx(free.value)
    assert len(free.mixture) == 1


def test_what_cannot_be():
    p = panel(np.random.default_rng(2), 60, [1.0, 1.0])
    with pytest.raises(trueness.Infeasible, match=r"m0: .*cannot be met"):
        best_decision(p, "f1", "precision >= 1.5")
    assert math.isnan(best_decision(p, replicates=20).mixture_value)
