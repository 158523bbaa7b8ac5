"""The population stability index against its definition, SciPy and simulation."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import chi2, entropy, ncx2, norm

import trueness


def test_psi_is_the_sum_of_both_divergences():
    rng = np.random.default_rng(1)
    reference = rng.normal(size=1000)
    current = rng.normal(0.3, 1.2, size=700)

    index = trueness.psi(reference, current)

    edges = np.sort(reference)[100::100]
    r = np.bincount(np.searchsorted(edges, reference, side="right")) / 1000
    c = np.bincount(np.searchsorted(edges, current, side="right")) / 700
    assert index.psi.value == pytest.approx(entropy(r, c) + entropy(c, r))
    assert index.reference[::-1] == pytest.approx(r)
    assert index.current[::-1] == pytest.approx(c)
    assert float(index) == pytest.approx(index.contribution.sum())


def test_interval_and_p_value_are_of_chi_squared():
    rng = np.random.default_rng(2)
    index = trueness.psi(rng.normal(size=2000), rng.normal(0.2, 1, size=1000))

    scale = 1 / 2000 + 1 / 1000
    ratio = index.psi.value / scale
    assert index.p_value == pytest.approx(chi2.sf(ratio, 9))
    assert ncx2.sf(ratio, 9, index.psi.low / scale) == pytest.approx(0.025, abs=1e-6)
    assert ncx2.cdf(ratio, 9, index.psi.high / scale) == pytest.approx(0.025, abs=1e-6)


@pytest.mark.parametrize("shift", [0.0, 0.3])
def test_interval_holds_the_true_value(shift):
    rng = np.random.default_rng(3)
    edges = norm.ppf(np.arange(1, 10) / 10)
    current = np.diff(np.concatenate([[0], norm.cdf(edges - shift), [1]]))
    true_value = float(((current - 0.1) * np.log(current / 0.1)).sum())
    held = 0
    for _ in range(200):
        sample = rng.normal(size=3000), rng.normal(shift, size=1000)
        estimate = trueness.psi(*sample).psi
        held += estimate.low <= true_value <= estimate.high

    assert 0.91 <= held / 200 <= 0.99


def test_same_sample_has_no_change_and_an_empty_bin_is_infinite():
    reference = trueness.Tally([3, 2, 1], unknown=[10, 10, 10])

    same = trueness.psi(reference, reference, bins=3)
    gone = trueness.psi(reference, trueness.Tally([3, 1], unknown=[5, 5]), bins=3)

    assert (same.psi.value, same.psi.low, same.p_value) == (0, 0, 1)
    assert gone.psi.value == np.inf
    assert gone.p_value == 0
    assert "fewer bins" in gone.notes[0]


def test_ties_leave_fewer_bins_and_labels_play_no_part():
    reference = trueness.Tally([2, 1], neg=[5, 5], pos=[5, 5])
    current = trueness.Tally([2, 1], unknown=[12, 8])

    index = trueness.psi(reference, current)

    assert index.score_low.tolist() == [2, 1]
    assert index.notes == ("Ties leave 2 of 10 bins.",)


def test_clusters_and_empty_samples_are_refused():
    clustered = trueness.tally([0, 1], [0.1, 0.2], cluster=["a", "b"])
    some = trueness.Tally([2, 1], unknown=[1, 1])

    with pytest.raises(trueness.InputError, match="independent cases"):
        trueness.psi(some, clustered)
    with pytest.raises(trueness.NotEnoughCases, match="reference has none"):
        trueness.psi(trueness.Tally(), some)
