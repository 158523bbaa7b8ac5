"""Simulated classifiers have the quality and the dependence that was asked for."""

import numpy as np
import pytest
from scipy.stats import spearmanr

import trueness
from trueness import InputError


@pytest.mark.parametrize(("auc", "sd_ratio"), [(0.9, 1.0), (0.3, 1.0), (0.7, 2.5)])
def test_the_auc_of_a_simulated_tally(auc, sd_ratio):
    t = trueness.simulate_tally(40_000, 12_000, auc, sd_ratio=sd_ratio, rng=1)
    assert (t.n_pos, t.n_neg) == (12_000, 28_000)
    assert trueness.auc(t).value == pytest.approx(auc, abs=0.01)


@pytest.mark.parametrize(("n_pos", "miss"), [(50, 0.02), (10, 0.31)])
def test_rank_frequencies_follow_fermi_dirac_when_balanced(n_pos, miss):
    seen = trueness.counts.rank_frequencies(100, n_pos, 0.9, replicates=4000, rng=3)
    fd = trueness.fermi_dirac(n=100, n_pos=n_pos, auc=0.9)

    assert seen.sum() == pytest.approx(n_pos)

    # largest error of the maximum-entropy form 0.02, sampling error 0.008
    result = np.abs(seen - fd.probability(np.arange(1, 101))).max()

    assert result == pytest.approx(miss, abs=0.03)


@pytest.mark.parametrize("correlation", [0.0, 0.3, 0.6])
def test_ranks_of_a_panel_correlate_within_the_classes(correlation):
    aucs = {"a": 0.6, "b": 0.8, "c": 0.7}

    panel = trueness.simulate_panel(
        30_000, 10_000, aucs, correlation=correlation, rng=4
    )

    for name, auc in aucs.items():
        assert trueness.auc(panel[name]).value == pytest.approx(auc, abs=0.015)
    for rows in (panel.rows[panel.pos == 1], panel.rows[panel.neg == 1]):
        by_pair = spearmanr(rows).statistic[np.triu_indices(3, 1)]
        assert by_pair == pytest.approx(correlation, abs=0.04)


def test_a_matrix_of_correlations():
    expected = np.array([[1, 0.5, 0], [0.5, 1, -0.2], [0, -0.2, 1]])
    p = trueness.simulate_panel(
        40_000, 20_000, [0.6, 0.7, 0.8], correlation=expected, rng=5
    )

    assert p.names == ("C1", "C2", "C3")
    assert spearmanr(p.rows[p.neg == 1]).statistic == pytest.approx(expected, abs=0.03)


def test_the_seed_decides():
    a, b = (trueness.simulate_panel(50, 20, [0.6, 0.7], rng=7) for _ in range(2))

    assert a == b
    assert trueness.simulate_panel(50, 20, [0.6, 0.7], rng=8) != a

    t = trueness.simulate_tally(20, 5, 0.9, rng=np.random.default_rng(3))

    assert t == trueness.simulate_tally(20, 5, 0.9, rng=3)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"n": 10, "n_pos": 10, "aucs": [0.6]}, "n_pos must be below n, which is 10"),
        ({"n": 10, "n_pos": 5, "aucs": [1.0]}, "auc must lie in"),
        ({"n": 9, "n_pos": 5, "aucs": [0.6, 0.7], "correlation": 2}, "between -1 and"),
        (
            {"n": 9, "n_pos": 5, "aucs": [0.6] * 4, "correlation": -0.9},
            "positive semi-definite",
        ),
    ],
)
def test_errors(arguments, message):
    n, n_pos, aucs = (arguments.pop(k) for k in ("n", "n_pos", "aucs"))
    with pytest.raises(InputError, match=message):
        trueness.simulate_panel(n, n_pos, aucs, **arguments)
