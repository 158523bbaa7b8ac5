"""The score test for a pair: by brute force, and what it can and cannot see."""

from itertools import combinations

import numpy as np
import pytest

import trueness
from no_gold import table
from trueness.nogold import pair_tests as _pair_scores
from trueness.nogold.model import LatentRates, read_patterns

NAN = np.nan


def log_likelihood(parameters, rows, counts, k, pair):
    """One case after the other, with a correlation of one pair in each class."""
    phi, alpha, beta, rho = np.split(parameters, [1, 1 + k, 1 + 2 * k])
    total = 0.0
    for row, (unknown, pos, neg) in zip(rows, counts.T, strict=True):
        p = []
        for rate, r in ((alpha, rho[0]), (beta, rho[1])):
            seen = ~np.isnan(row)
            each = np.where(row == 1, rate, 1 - rate)[seen].prod()
            i, j = pair
            if seen[i] and seen[j]:
                z = (row - rate) / np.sqrt(rate * (1 - rate))
                each *= 1 + r * z[i] * z[j]
            p.append(each)
        a, b = phi[0] * p[0], (1 - phi[0]) * p[1]
        total += unknown * np.log(a + b)
        total += (pos * np.log(a) if pos else 0) + (neg * np.log(b) if neg else 0)
    return total


def slope_of(f, at):
    step = 1e-5 * np.eye(at.size)
    return np.array([(f(at + s) - f(at - s)) / 2e-5 for s in step])


def brute_statistic(rows, counts, k, pair, at):
    """Slopes by differences; information as the mean square of slopes of one case."""
    slope = slope_of(lambda t: log_likelihood(t, rows, counts, k, pair), at)
    n, information = counts.sum(), 0.0
    every = np.array(np.meshgrid(*[[0.0, 1.0]] * k)).reshape(k, -1).T
    for row in every:
        one = np.array([[1.0], [0.0], [0.0]])

        def alone(t, row=row, one=one):
            return log_likelihood(t, row[None], one, k, pair)

        g = slope_of(alone, at)
        information = information + n * np.exp(alone(at)) * np.outer(g, g)
    q = at.size - 2
    inverse = np.linalg.inv(information[:q, :q])
    left = slope[q:] - information[q:, :q] @ inverse @ slope[:q]
    size = information[q:, q:] - information[q:, :q] @ inverse @ information[:q, q:]
    return left @ np.linalg.solve(size, left)


def test_statistic_by_brute_force(rng):
    k = 4
    rates = np.r_[0.3, 0.8, 0.7, 0.9, 0.75, 0.1, 0.2, 0.05, 0.3]
    rows = np.array(np.meshgrid(*[[0.0, 1.0]] * k)).reshape(k, -1).T
    counts = np.zeros((3, 16))
    counts[0] = rng.integers(1, 40, 16)
    p = trueness.Panel(list("ABCD"), rows, unknown=counts[0].astype(int))
    full = _pair_scores.complete(read_patterns(p))
    at = LatentRates(rates[None, :1], rates[None, 1:5], rates[None, 5:])
    found, informed = _pair_scores.statistic(at, full)
    assert informed.all()
    for a, pair in enumerate(combinations(range(k), 2)):
        expected = brute_statistic(rows, counts, k, pair, np.r_[rates, 0.0, 0.0])
        assert found[0, a] == pytest.approx(expected, rel=1e-4)


def test_slopes_with_labels_and_missing_votes():
    rows = np.array([[1, 1, 0], [1, NAN, 1], [0, 0, 1], [0, 1, NAN]])
    counts = np.array([[3, 5, 2, 4], [2, 0, 0, 1], [0, 1, 4, 0]], dtype=float)
    rates = np.r_[0.3, 0.8, 0.7, 0.9, 0.1, 0.2, 0.25]
    at = LatentRates(rates[None, :1], rates[None, 1:4], rates[None, 4:])
    share, _ = _pair_scores._probabilities(at, rows)
    f = _pair_scores._features(at, rows)
    mixed = share[..., None] * f[0] + (1 - share[..., None]) * f[1]
    u, pos, neg = counts
    found = (u[:, None] * mixed[0, 0] + pos[:, None] * f[0][0, 0]).sum(axis=0)
    found += (neg[:, None] * f[1][0, 0]).sum(axis=0)
    for a, pair in enumerate(combinations(range(3), 2)):

        def value(t, pair=pair):
            return log_likelihood(t, rows, counts, 3, pair)

        slope = slope_of(value, np.r_[rates, 0.0, 0.0])
        natural = slope[:7] * rates * (1 - rates)  # by logits
        assert found[:7] == pytest.approx(natural, rel=1e-4, abs=1e-6)
        assert found[[7 + a, 10 + a]] == pytest.approx(slope[7:], rel=1e-4, abs=1e-6)


def fitted(panel):
    patterns = read_patterns(panel)
    rates = _pair_scores._inside(_pair_scores.most_likely(patterns))
    return rates, _pair_scores.complete(patterns)


def test_four_classifiers_cannot_tell_a_pair_from_the_others():
    found, _ = _pair_scores.statistic(*fitted(table("hiv_alvord1988")))
    # V1 V4 against V2 V3: the third and the fourth of six pairs
    assert found[0, 2] == pytest.approx(found[0, 3], rel=1e-3)
    assert found[0, 2] > 9


def test_three_classifiers_in_one_population_show_nothing():
    _, informed = _pair_scores.statistic(*fitted(table("chloroplast_reconstructed")))
    assert not informed.any()


def test_tables_drawn_keep_the_design(rng):
    p = trueness.Panel(
        ["A", "B", "C"],
        [[1, 1, 0], [1, NAN, 1], [0, 0, 1], [0, 1, 1]],
        unknown=[3, 50, 20, 4], pos=[20, 0, 0, 10], neg=[0, 10, 40, 0],
    )  # fmt: skip
    rates, full = fitted(p)
    many = LatentRates(*(np.repeat(r, 300, axis=0) for r in rates))
    new = _pair_scores.replicate(many, full, rng)
    assert (_pair_scores._sizes(new) == _pair_scores._sizes(full)).all()
    share, chance = _pair_scores._probabilities(rates, full.rows)
    expected = (_pair_scores._sizes(full) * chance)[0]
    error = 5 * np.sqrt(expected / 300) + 0.05
    assert (np.abs(new.total.mean(axis=0) - expected) < error).all()
    assert (new.pos + new.neg <= new.total).all()
    assert share.shape == chance.shape


def test_refit_finds_the_maximum():
    rates, full = fitted(table("hiv_alvord1988"))
    start = LatentRates(*(np.clip(r, 0.1, 0.9) for r in rates))
    for r, again in zip(rates, _pair_scores.refit(start, full), strict=True):
        assert again == pytest.approx(r, abs=2e-3)
