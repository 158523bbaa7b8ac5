"""Limits of metrics of weighted cases: by hand, by a slow twin, and in samples."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.stats import norm, t

import trueness
from trueness.metrics.definitions import METRICS
from trueness.metrics.weighted_limits import WeightedCut

LEVEL = 0.95
# tp, fp, fn and tn, a case a row
CELLS = [[3.0, 1.0, 2.0, 4.0], [1.0, 5.0], [2.0, 1.5, 0.5], [1.0, 1.0, 3.0, 2.0, 0.7]]


def cut(cells=CELLS):
    powers = [np.array([np.sum(np.power(c, k)) for c in cells]) for k in (1, 2, 4)]
    return WeightedCut.of(*powers, max(map(max, cells)), LEVEL)


def tally(cells=CELLS):
    kinds = [np.full(len(c), k) for k, c in enumerate(cells)]
    kind = np.concatenate(kinds)
    # scores that differ, so that every case is a row of its own
    score = (kind < 2) + np.arange(kind.size) / 1e5
    return trueness.tally(1 - kind % 2, score, weight=np.concatenate(cells))


def test_limits_of_recall_solve_the_equation():
    """A cubic in the supposed share, with what a case of either side weighs."""
    total = sum(map(sum, CELLS))
    tp, fn = CELLS[0], CELLS[2]
    p, whole = sum(tp) / sum(tp + fn), sum(tp + fn)
    weights = {}

    def leaning(own, wider):
        q, cases = np.dot(own, own) / sum(own), sum(own) ** 2 / np.dot(own, own)
        return cases / (cases + 1), (cases * q + wider) / (cases + 1)

    for own, of_class, of_side in (
        (tp, tp + fn, tp + CELLS[1]),
        (fn, tp + fn, fn + CELLS[3]),
    ):
        sides = (leaning(x, 5.0)[1] for x in (of_class, of_side))
        weights[len(own)] = leaning(own, max(sides))
    (trust, a), (other, b) = weights[len(tp)], weights[len(fn)]
    variance = p * (1 - p) * ((1 - p) * a + p * b) / whole
    fourth = trust * (1 - p) ** 4 * np.sum(np.power(tp, 4))
    fourth += other * p**4 * np.sum(np.power(fn, 4))
    t2 = t.ppf(0.975, 2 * variance**2 * whole**4 / fourth) ** 2 / whole
    # t2 x (1 - x) ((1 - x) a + x b) = (p - x)^2
    cubic = t2 * np.polymul([-1, 1, 0], [b - a, a]) - [0, 1, -2 * p, p * p]
    roots = sorted(np.roots(cubic).real)
    low, high = (r for r in roots if 0 < r < 1)
    e = trueness.at_threshold(tally(), 0.5)["recall"]
    assert (e.value, e.low, e.high) == pytest.approx((p, low, high), rel=1e-9)
    assert cut().weight == pytest.approx(np.array([sum(c) for c in CELLS]) / total)


def test_equal_cases_have_wilsons_limits():
    cells = [[2.0] * k for k in (400, 100, 300, 700)]
    found = trueness.at_threshold(tally(cells), 0.5)
    n, p, z2 = 700, 4 / 7, norm.ppf(0.975) ** 2
    half = math.sqrt(z2 * (p * (1 - p) / n + z2 / 4 / n**2)) / (1 + z2 / n)
    e = found["recall"]
    assert e.high - e.low == pytest.approx(2 * half, rel=0.005)
    # F1 is a share of twice the true positives, and a function of Jaccard's index
    f1, jaccard = found["f1"], found["jaccard"]
    assert f1.high == pytest.approx(2 * jaccard.high / (1 + jaccard.high), rel=0.01)


def test_changes_by_two_shares_are_squared_and_added():
    """Newcombe (1998) for a difference; logarithms for a ratio."""
    found = trueness.at_threshold(tally(), 0.5)
    r, s, j = (found[k] for k in ("recall", "specificity", "youden"))
    assert j.low == pytest.approx(
        j.value - math.hypot(r.value - r.low, s.value - s.low)
    )
    assert j.high == pytest.approx(
        j.value + math.hypot(r.high - r.value, s.high - s.value)
    )
    lr, fpr = found["lr_positive"], found["fpr"]
    steps = math.log(r.high / r.value), math.log(fpr.value / fpr.low)
    assert lr.high == pytest.approx(lr.value * math.exp(math.hypot(*steps)))


def test_net_benefit_is_moved_by_two_shares_of_all_cases():
    parts = cut()
    a, b = (parts.share(np.eye(4)[k], 1 - np.eye(4)[k]) for k in (0, 1))
    one = a.influence * parts.weight * parts.typical
    rho = (
        one
        @ b.influence
        / math.sqrt(
            one @ a.influence * ((parts.weight * parts.typical) @ b.influence**2)
        )
    )
    up, down = a.high - a.value, 0.3 * (b.value - b.low)
    half = math.sqrt(up**2 + down**2 - 2 * rho * up * down)
    m = trueness.net_benefit(0.3)
    e = trueness.at_threshold(tally(), 0.5, metrics=[m])[m.name]
    assert e.high == pytest.approx(e.value + half)


@pytest.mark.parametrize("empty", [(0,), (1,), (2,), (3,), (0, 1), (2, 3), (1, 2)])
def test_limits_hold_the_value_within_the_range_where_cells_are_empty(empty):
    cells = [[] if k in empty else c for k, c in enumerate(CELLS)]
    for name, e in trueness.at_threshold(tally(cells), 0.5).metrics.items():
        if not np.isnan(e.value):
            low, high = METRICS[name].range
            assert low <= e.low <= e.value <= e.high <= high, name
            assert e.low < e.high, name
            assert name not in ("recall", "precision", "f1") or e.high - e.low > 0.2


def test_what_nobody_flagged_would_hold_is_not_known():
    """No value, but limits: a positive that was flagged may have been missed."""
    found = trueness.at_threshold(tally([[], [], *CELLS[2:]]), 0.5)
    assert np.isnan(found["lift"].value)
    assert (found["lr_positive"].low, found["lr_positive"].high) == (0, np.inf)
    assert found["mcc"].low < 0 < found["mcc"].high
    assert found["youden"].low < 0 < found["youden"].high
    assert np.isnan(found["precision"].low)


def test_coverage_of_few_heavy_positives():
    """12 % positives whose weights vary by twice their mean: about seven equal ones."""
    rng = np.random.default_rng(12)
    asked = ("youden", "lr_negative", "recall", "markedness", "f1")
    shares = np.array([0.09, 0.08, 0.03, 0.80])
    m = trueness.Confusion(*shares)
    truth = [float(METRICS[k](m)) for k in asked]
    sigma = math.sqrt(math.log(5))
    held = []
    for _ in range(400):
        # drawn with a chance of one over the weight, which is lognormal with CV 2
        kind = rng.choice(4, 300, p=shares)
        weight = np.exp(rng.normal(-(sigma**2) / 2, sigma, 300))
        x = tally([weight[kind == k] for k in range(4)])
        found = trueness.at_threshold(x, 0.5, metrics=asked)
        held.append([found[k].low <= v <= found[k].high
                     for k, v in zip(asked, truth, strict=True)])  # fmt: skip
    covered = dict(zip(asked, np.mean(held, axis=0), strict=True))
    assert all(0.93 <= x <= 0.985 for x in covered.values()), covered
