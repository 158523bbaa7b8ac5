"""The best combination: fractions by hand, enumeration, HiGHS, tiny patterns."""

from fractions import Fraction
from itertools import product

import numpy as np
import pytest
from scipy.optimize import Bounds, LinearConstraint, milp

from trueness.nogold import search
from trueness.nogold.criteria import Draws, net, read_criterion
from trueness.nogold.formulas import votes
from trueness.nogold.search import best_on_average, mean_of_best, winners

BOUNDED = ("product", "min", "f1", "jaccard", "f_beta(beta=2)", "f_beta(beta=0.5)")
OTHERS = ("squares", "mcc", "kappa", "precision", "g_mean", "f1 + mcc")


def patterns(alpha, beta):
    """Give the probabilities of all patterns; alpha and beta are (draws, K)."""
    v = votes(alpha.shape[1])[None]
    return tuple(
        np.prod(np.where(v, r[:, None], 1 - r[:, None]), axis=2) for r in (alpha, beta)
    )


def posterior(rng, k, cases, draws, *, low=0.5, high=0.95, common=0.0):
    """Draw rates as from ``cases`` labelled cases; ``common`` moves them together."""
    truth = rng.uniform(low, high, k), rng.uniform(1 - high, 1 - low, k)
    rates = []
    for rate in truth:
        hits = rng.binomial(cases, rate)
        rates.append(rng.beta(1 + hits, 1 + cases - hits, (draws, k)))
    shift = common * rng.standard_normal((draws, 1))
    rates = [1 / (1 + (1 / np.clip(r, 1e-12, 1) - 1) * np.exp(-shift)) for r in rates]
    return np.maximum(*rates), np.minimum(*rates)


def random_draws(rng, trial, n=30):
    k = 2 + trial % 2 if trial % 12 else 4
    cases, common = (3, 20, 200, 10**6)[trial % 4], (0.0, 0.5, 2.0)[trial % 3]
    alpha, beta = posterior(
        rng, k, cases, n, high=(0.7, 0.95)[trial % 2], common=common
    )
    if trial % 5 == 0:  # tests that never err in one class
        alpha[:, 0], beta[:, -1] = 1.0, 0.0
    return Draws(*patterns(alpha, beta), rng.beta(3, 7, n))


def every_value(c, d):
    """Give the criterion for all combinations, (draws, combinations)."""
    n = d.in_positives.shape[1]
    members = (np.arange(2**n)[:, None] >> np.arange(n) & 1) * 1.0
    # einsum: threads of BLAS would wait for each other on a busy machine
    sens, fpr = (
        np.einsum("cj,dj->dc", members, m) for m in (d.in_positives, d.in_negatives)
    )
    return c.value(sens, 1 - fpr, d.prevalence[:, None])


@pytest.mark.parametrize("name", [*BOUNDED, *OTHERS])
def test_against_enumeration(rng, name):
    c = read_criterion(name)
    for trial in range(26):
        d = random_draws(rng, trial)
        chosen, gap = best_on_average(c, d)
        best = every_value(c, d).mean(axis=0).max()
        assert gap == 0
        assert c.evaluate(d, chosen).mean() == pytest.approx(best, abs=1e-12)


@pytest.mark.parametrize("name", BOUNDED)
@pytest.mark.parametrize("tried", [0, 2])
def test_bounds_and_parts_against_enumeration(rng, name, tried, monkeypatch):
    """Patterns are decided by the bounds, or put in and out, not by trying."""
    monkeypatch.setattr(search, "MAX_ENUMERATED", tried)
    monkeypatch.setattr(search, "PATTERNS_OF_FOUR", 0)
    c, closed = read_criterion(name), 0
    for trial in range(30):
        d = random_draws(rng, trial)
        monkeypatch.setattr(
            search, "MAX_PARTS", (2**15, d.in_positives.shape[1])[trial % 2]
        )
        chosen, gap = best_on_average(c, d)
        best, value = every_value(c, d).mean(axis=0).max(), c.evaluate(d, chosen).mean()
        assert value <= best + 1e-13
        assert value + gap >= best - 1e-12
        closed += gap == 0
    assert closed >= 14


@pytest.mark.parametrize("name", ["product", "min", "squares", "f1", "mcc", "f1 + mcc"])
def test_knowing_the_draw_is_better(rng, name):
    c = read_criterion(name)
    for trial in range(24):
        d = random_draws(rng, trial)
        best = every_value(c, d).max(axis=1)
        assert mean_of_best(c, d) >= best.mean() - 1e-13
        if name != "f1 + mcc" or d.in_positives.shape[1] < 16:
            assert c.evaluate(d, winners(c, d)) == pytest.approx(best, abs=1e-12)


def by_fractions(a, b, phi, value):
    """Compute all sets in exact fractions, and give the best value."""
    best = None
    for flags in product((0, 1), repeat=len(a)):
        tp = phi * sum(x for x, f in zip(a, flags, strict=True) if f)
        fp = (1 - phi) * sum(x for x, f in zip(b, flags, strict=True) if f)
        found = value(tp, fp, phi - tp, 1 - phi - fp)
        best = found if best is None else max(best, found)
    return best


METRIC_BY_HAND = {
    "f1": lambda tp, fp, fn, tn: 2 * tp / (2 * tp + fp + fn),
    "jaccard": lambda tp, fp, fn, tn: tp / (tp + fp + fn),
    "cost(fp=1, fn=3)": lambda tp, fp, fn, tn: -fp - 3 * fn,
    "accuracy": lambda tp, fp, fn, tn: tp + tn,
}


@pytest.mark.parametrize("name", METRIC_BY_HAND)
def test_one_draw_in_fractions(rng, name):
    """Counts of eight patterns, made of eighths: every set in exact arithmetic."""
    c = read_criterion(name)
    for _ in range(8):
        counts = rng.integers(0, 30, (2, 8)) + 1
        a, b = ([Fraction(int(x), int(row.sum())) for x in row] for row in counts)
        phi = Fraction(int(rng.integers(1, 10)), 10)
        exact = by_fractions(a, b, phi, METRIC_BY_HAND[name])
        d = Draws(*(counts[:, None] / counts.sum(axis=1)[:, None, None]), [float(phi)])
        d = d._replace(prevalence=np.array(d.prevalence))
        found = c.evaluate(d, winners(c, d))[0]
        assert found == pytest.approx(float(exact), abs=1e-14)
        if c.shape == "linear":
            chosen = net(*c.gain_and_loss(np.zeros((2, 1)), d)) > 0
        else:
            chosen, gap = best_on_average(c, d)
            assert gap == 0
        assert c.evaluate(d, chosen)[0] == pytest.approx(float(exact), abs=1e-14)


def minimum_by_highs(a, b):
    """Max mean(t), t_d <= S_d, t_d <= 1 - F_d, patterns 0 or 1."""
    d, n = a.shape
    rows = np.vstack([np.hstack([-a, np.eye(d)]), np.hstack([b, np.eye(d)])])
    found = milp(
        np.concatenate([np.zeros(n), np.full(d, -1 / d)]),
        constraints=LinearConstraint(rows, ub=np.repeat([0.0, 1.0], d)),
        integrality=np.repeat([1, 0], [n, d]),
        bounds=Bounds(0, 1),
        options={"mip_rel_gap": 0, "time_limit": 20},
    )
    return found.x[:n] > 0.5


@pytest.mark.parametrize("k", [5, 6])
@pytest.mark.parametrize("cases", [10, 100, 10**5])
def test_minimum_against_highs(rng, k, cases):
    d = Draws(*patterns(*posterior(rng, k, cases, 20, common=0.2)), np.full(20, 0.3))
    c = read_criterion("min")
    chosen, gap = best_on_average(c, d)
    theirs = c.evaluate(d, minimum_by_highs(d.in_positives, d.in_negatives)).mean()
    assert c.evaluate(d, chosen).mean() + gap >= theirs - 1e-12
    assert c.evaluate(d, chosen).mean() >= theirs - 2e-3


@pytest.mark.parametrize("name", [*BOUNDED, "squares", "mcc"])
def test_no_random_set_is_better(rng, name):
    """Eight classifiers: flips of any one, two or many patterns bring nothing."""
    a, b = patterns(*posterior(rng, 8, 30, 200))
    d, c = Draws(a, b, rng.beta(30, 70, 200)), read_criterion(name)
    chosen, gap = best_on_average(c, d)
    assert gap == 0 or name in ("min", "squares", "mcc")
    assert gap < {"min": 2e-3}.get(name, 0.1)
    best = c.evaluate(d, chosen).mean()
    for share in (1 / 256, 2 / 256, 0.02, 0.1):
        others = chosen ^ (rng.random((500, 256)) < share)
        value = c.value(a @ others.T, 1 - b @ others.T, d.prevalence[:, None]).mean(
            axis=0
        )
        assert value.max() <= best + 1e-13


def test_twelve_classifiers(rng):
    """A quotient of 4,096 patterns is proved to be the best."""
    d = Draws(*patterns(*posterior(rng, 12, 100, 100)), rng.beta(30, 70, 100))
    c = read_criterion("f1")
    chosen, gap = best_on_average(c, d)
    assert gap == 0
    rates = d.rates(chosen)
    assert ((c.gains(rates, d) > 0) == chosen).mean() > 0.99


@pytest.mark.parametrize("name", ["product", "squares", "min", "f1", "mcc"])
def test_cells_that_add_nothing_are_left_out(name):
    alpha, beta = np.full((10, 2), 0.8), np.full((10, 2), 0.3)
    alpha[:, 1], beta[:, 1] = 0.0, 0.0  # the second never says yes
    d = Draws(*patterns(alpha, beta), np.full(10, 0.5))
    chosen, _ = best_on_average(read_criterion(name), d)
    assert votes(2)[chosen].tolist() == [[1, 0]]
