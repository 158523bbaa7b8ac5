"""Dominance and bands: exact ranges, agreement of ROC and PR, coverage."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.special import ndtr, ndtri

import trueness
from conftest import tied_cases
from trueness import Tally

GOOD = Tally([3, 2, 1], pos=[6, 3, 1], neg=[0, 2, 8])
POOR = Tally([3, 2, 1], pos=[3, 4, 3], neg=[2, 4, 4])
CROSS = Tally([3, 2, 1], pos=[8, 0, 2], neg=[1, 5, 4])


def quick(*args, **options):
    return trueness.dominates(*args, replicates=100, **options)


def test_by_hand():
    assert quick(GOOD, POOR).verdict == "dominates"
    assert quick(POOR, GOOD).verdict == "is dominated"
    assert quick(GOOD, GOOD).verdict == "equal"
    assert bool(quick(GOOD, POOR))
    assert not quick(POOR, GOOD)
    found = quick(GOOD, POOR)
    assert found.fpr_better == ((0.0, 1.0),)
    assert found.fpr_worse == found.recall_worse == ()


def test_equal_counts_of_different_cases_are_not_certain():
    twin = Tally(GOOD.score, GOOD.neg, GOOD.pos)
    found = quick(GOOD, twin)
    assert (found.verdict, found.p_value) == ("equal", 1)
    assert found.margin > 0.1


def test_crossing_point_by_hand():
    # GOOD: (0, .6) (.2, .9) (1, 1);  CROSS: (0, 0) (.1, .8) (.6, .8) (1, 1)
    found = quick(CROSS, GOOD)
    assert found.verdict == "crosses"
    # rising 8 f from 0 meets .6 + 1.5 f at f = .6/6.5; then flat .8 is left at f = 2/15
    assert found.fpr_better == (pytest.approx((0.6 / 6.5, 2 / 15)),)
    assert found.fpr_worse[0] == pytest.approx((0, 0.6 / 6.5))
    assert found.fpr_worse[1] == pytest.approx((2 / 15, 1))


def tpr_grid(t, f):
    """The ROC polyline from its definition; the upper value at a jump."""
    curve = trueness.roc(t)
    return np.interp(f, curve.fpr, curve.tpr)


@given(st.integers(0, 2**32))
def test_slow_twin_and_agreement_of_roc_and_pr(seed):
    rng = np.random.default_rng(seed)
    a, b = (trueness.tally(*tied_cases(rng, 12, levels=3)) for _ in range(2))
    found = quick(a, b, points=5)
    # off the knots, so that jumps do not matter
    f = (np.arange(997) + 0.5) / 997
    gap = tpr_grid(a, f) - tpr_grid(b, f)
    inside = np.zeros(f.size, dtype=bool)
    for low, high in found.fpr_better:
        inside |= (f > low) & (f < high)
    assert np.array_equal(inside, gap > 1e-9) or (
        np.abs(gap[inside != (gap > 1e-9)]).max() < 5e-3
    )
    # R4 of the errata: both planes give the same verdict, at any prevalence
    better, worse = bool(found.recall_better), bool(found.recall_worse)
    assert (better, worse) == (bool(found.fpr_better), bool(found.fpr_worse))
    G, H = trueness.leakage(a), trueness.leakage(b)
    r = (np.arange(499) + 0.5) / 499
    gap = G.precision(r, 0.2) - H.precision(r, 0.2)
    if found.verdict == "dominates":
        assert (gap >= -1e-9).all()
    if found.verdict == "is dominated":
        assert (gap <= 1e-9).all()
    for low, high in found.recall_better:
        at = (r > low + 1e-9) & (r < high - 1e-9)
        assert (gap[at] > 0).all()


def test_paired_by_names(rng):
    y = rng.random(400) < 0.4
    a = rng.normal(size=400) + 2 * y
    p = trueness.panel(y, {"a": a, "b": a + 2 * rng.normal(size=400), "c": np.exp(a)})
    found = trueness.dominates(p, "a", "b", replicates=300)
    assert found.paired
    assert found.p_better < 0.01
    assert found.p_worse > 0.05
    assert found.surely_better
    assert not found.surely_worse
    assert (found.low <= found.difference).all()
    assert (found.difference <= found.high).all()
    assert found.margin == max(0, -found.low.min())
    same = quick(p, "a", "c")
    assert (same.verdict, same.p_value, same.margin) == ("equal", 1, 0)
    assert quick(p[["a", "b"]]).verdict == found.verdict
    assert quick(p, "a", "a").verdict == "equal"


def test_long_panels_are_resampled_on_levels(rng):
    y = rng.random(30_000) < 0.3
    a = rng.normal(size=y.size) + y
    p = trueness.panel(y, {"a": a, "b": a + rng.normal(size=y.size)})
    found = quick(p, "a", "b")
    curves = [tpr_grid(p[k], found.fpr[1:]) for k in "ab"]
    assert found.difference[1:] == pytest.approx(curves[0] - curves[1], abs=1e-3)
    assert found.p_better < 0.02
    assert np.mean(found.high - found.low) < 0.1
    apart = quick(p["a"], p["b"])
    assert np.mean(found.high - found.low) < np.mean(apart.high - apart.low)


def test_paired_is_sharper_than_unpaired(rng):
    y = rng.random(500) < 0.5
    a = rng.normal(size=500) + y
    p = trueness.panel(y, {"a": a, "b": a + 0.5 * rng.normal(size=500)})
    paired = trueness.dominates(p, "a", "b", replicates=300)
    apart = trueness.dominates(p["a"], p["b"], replicates=300)
    assert np.mean(paired.high - paired.low) < 0.8 * np.mean(apart.high - apart.low)


def test_false_alarms_are_rare(rng):
    """Equal classifiers: each one-sided p-value is small in about 5 % of samples."""
    small = 0
    for k in range(60):
        y = np.repeat([0, 1], 60)
        base = rng.normal(size=120) + y
        p = trueness.panel(y, {k: base + rng.normal(size=120) for k in "ab"})
        small += trueness.dominates(p, "a", "b", rng=k, replicates=150).p_better < 0.05
    assert small <= 9


def test_dominance_errors():
    with pytest.raises(trueness.InputError, match="two tallies, or a panel and two"):
        trueness.dominates(GOOD)
    with pytest.raises(trueness.InputError, match="must name a column"):
        trueness.dominates(trueness.panel([0, 1], {"a": [1, 2], "b": [1, 2]}), "a", "z")
    with pytest.raises(trueness.NotEnoughCases, match="dominates needs"):
        trueness.dominates(GOOD, Tally([1], pos=[1]))


# bands


def inside(band, truth):
    return ((band.low <= truth + 1e-9) & (truth <= band.high + 1e-9)).all()


@pytest.mark.parametrize("method", ["bootstrap", "kolmogorov"])
@pytest.mark.parametrize(("n_pos", "n_neg", "area"), [(20, 20, 0.8), (30, 200, 0.95)])
def test_simultaneous_bands_cover_the_whole_curve(rng, method, n_pos, n_neg, area):
    shift = np.sqrt(2) * ndtri(area)
    y, hits = np.repeat([1, 0], [n_pos, n_neg]), [0, 0]
    for k in range(60):
        t = trueness.tally(y, rng.normal(size=y.size) + shift * y)
        band = trueness.roc_band(t, method=method, rng=k, number=200)
        hits[0] += inside(band, ndtr(ndtri(band.fpr) + shift))
        pr = trueness.precision_recall_band(
            t, method=method, rng=k, number=200, prevalence=0.1
        )
        truth = trueness.binormal(1, shift).precision(pr.recall, 0.1)
        hits[1] += inside(pr, truth)
    assert min(hits) >= 52  # 57 expected, three errors are 5


def test_pointwise_bands_cover_each_point(rng):
    y, hits = np.repeat([1, 0], 60), []
    for k in range(80):
        t = trueness.tally(y, rng.normal(size=y.size) + y)
        band = trueness.roc_band(t, kind="pointwise", rng=k, number=200, points=11)
        truth = ndtr(ndtri(band.fpr) + 1)
        hits.append((band.low <= truth + 1e-9) & (truth <= band.high + 1e-9))
    assert (np.mean(hits, axis=0) >= 0.87).all()
    whole = trueness.roc_band(t, number=200)
    point = trueness.roc_band(t, kind="pointwise", number=200)
    assert (whole.high - whole.low >= point.high - point.low - 1e-9).all()


def test_band_corners():
    for t in (
        Tally([2, 1], pos=[5, 0], neg=[0, 9]),
        Tally([1], pos=[1], neg=[1]),
        Tally([2, 1], pos=[0, 5], neg=[9, 0]),
    ):
        for method in ("bootstrap", "kolmogorov"):
            band = trueness.roc_band(t, method=method, number=100)
            assert ((band.low >= 0) & (band.high <= 1)).all()
            assert (band.low <= band.tpr).all()
            assert (band.tpr <= band.high).all()
            assert (band.high > band.low).any()
            pr = trueness.precision_recall_band(t, method=method, number=100)
            assert (pr.low <= pr.precision + 1e-12).all()


def test_band_errors():
    with pytest.raises(trueness.InputError, match="kind must be one of"):
        trueness.roc_band(GOOD, kind="wide")
    with pytest.raises(trueness.InputError, match="kind with method='kolmogorov'"):
        trueness.roc_band(GOOD, kind="pointwise", method="kolmogorov")
    with pytest.raises(trueness.InputError, match="points must be a whole number"):
        trueness.roc_band(GOOD, points=1)


def test_dominance_carries_over_to_accuracy(rng):
    """R3 of the errata: at equal specificity, and so for the best value."""
    for _ in range(20):
        a, b = (trueness.tally(*tied_cases(rng, 20, levels=3)) for _ in range(2))
        if quick(a, b, points=5).verdict == "dominates":
            u = np.linspace(0, 1, 41)
            G, H = trueness.leakage(a), trueness.leakage(b)
            assert (G.accuracy(u, 0.3) >= H.accuracy(u, 0.3) - 1e-9).all()
            assert (G.f_beta(u, 0.3) >= H.f_beta(u, 0.3) - 1e-9).all()
