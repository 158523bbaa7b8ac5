"""Dominance: exact ranges, agreement of ROC and PR, error rates."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.special import ndtr, ndtri

import trueness
from conftest import tied_cases
from trueness import Tally
from trueness.comparison.dominance import dominance_of_pairs

GOOD = Tally([3, 2, 1], pos=[6, 3, 1], neg=[0, 2, 8])
POOR = Tally([3, 2, 1], pos=[3, 4, 3], neg=[2, 4, 4])
CROSS = Tally([3, 2, 1], pos=[8, 0, 2], neg=[1, 5, 4])


def quick(*args, **options):
    return trueness.dominates(*args, replicates=100, **options)


def test_a_curve_that_is_higher_everywhere_dominates():
    forward = quick(GOOD, POOR)
    backward = quick(POOR, GOOD)

    assert (forward.verdict, backward.verdict) == ("dominates", "is dominated")
    assert bool(forward)
    assert not backward
    assert forward.fpr_better == ((0.0, 1.0),)
    assert forward.fpr_worse == forward.recall_worse == ()


def test_equal_counts_of_different_cases_are_not_certain_to_be_equal():
    same = quick(GOOD, Tally(GOOD.score, GOOD.neg, GOOD.pos), points=3)

    assert (same.verdict, same.p_value, same.fpr.size) == ("equal", 1, 3)
    assert same.margin > 0.1


def test_a_perfect_score_is_nowhere_worse_than_a_reversed_one():
    perfect = Tally([2, 1], [0, 40], [40, 0])
    reversed_score = Tally([2, 1], [40, 0], [0, 40])

    dominance = quick(perfect, reversed_score)

    assert dominance.p_better < 1e-3
    assert (dominance.p_worse, dominance.range_worse) == (1, ())


def test_where_curves_cross_by_hand():
    """GOOD: (0, .6) (.2, .9) (1, 1);  CROSS: (0, 0) (.1, .8) (.6, .8) (1, 1)."""
    dominance = quick(CROSS, GOOD)

    assert dominance.verdict == "crosses"
    # rising 8 f from 0 meets .6 + 1.5 f at f = .6/6.5; then flat .8 is left at f = 2/15
    assert dominance.fpr_better == (pytest.approx((0.6 / 6.5, 2 / 15)),)
    assert dominance.fpr_worse[0] == pytest.approx((0, 0.6 / 6.5))
    assert dominance.fpr_worse[1] == pytest.approx((2 / 15, 1))


def tpr_grid(t, f):
    """The ROC polyline from its definition; the upper value at a jump."""
    curve = trueness.roc(t)
    return np.interp(f, curve.fpr, curve.tpr)


def inside_ranges(points, ranges):
    """Return which points lie within some range, its ends left out."""
    inside = np.zeros(points.size, dtype=bool)
    for low, high in ranges:
        inside |= (points > low) & (points < high)
    return inside


@given(st.integers(0, 2**32))
def test_ranges_are_where_the_first_curve_is_higher(seed):
    rng = np.random.default_rng(seed)
    first = trueness.tally(*tied_cases(rng, 12, levels=3))
    second = trueness.tally(*tied_cases(rng, 12, levels=3))

    dominance = quick(first, second, points=5)

    # off the knots, so that jumps do not matter
    fpr = (np.arange(997) + 0.5) / 997
    difference = tpr_grid(first, fpr) - tpr_grid(second, fpr)
    is_higher = difference > 1e-9
    contradicted = inside_ranges(fpr, dominance.fpr_better) != is_higher

    assert (np.abs(difference[contradicted]) < 5e-3).all()


@given(st.integers(0, 2**32))
def test_both_planes_give_the_same_verdict(seed):
    """R4 of the errata: ROC and precision-recall agree, at any prevalence."""
    rng = np.random.default_rng(seed)
    first = trueness.tally(*tied_cases(rng, 12, levels=3))
    second = trueness.tally(*tied_cases(rng, 12, levels=3))

    dominance = quick(first, second, points=5)

    assert bool(dominance.recall_better) == bool(dominance.fpr_better)
    assert bool(dominance.recall_worse) == bool(dominance.fpr_worse)

    recall = (np.arange(499) + 0.5) / 499
    precision_of_first = trueness.ranking.leakage(first).precision(recall, 0.2)
    precision_of_second = trueness.ranking.leakage(second).precision(recall, 0.2)
    difference = precision_of_first - precision_of_second
    if dominance.verdict == "dominates":
        assert (difference >= -1e-9).all()
    if dominance.verdict == "is dominated":
        assert (difference <= 1e-9).all()

    inner_ranges = [(low + 1e-9, high - 1e-9) for low, high in dominance.recall_better]

    assert (difference[inside_ranges(recall, inner_ranges)] > 0).all()


def test_paired_by_names(rng):
    labels = rng.random(400) < 0.4
    a = rng.normal(size=400) + 2 * labels
    p = trueness.panel(
        labels, {"a": a, "b": a + 2 * rng.normal(size=400), "c": np.exp(a)}
    )
    result = trueness.dominates(p, "a", "b", replicates=300)

    assert result.paired
    assert result.p_better < 0.01
    assert result.p_worse > 0.05
    assert result.significantly_better
    assert not result.significantly_worse
    assert (result.low <= result.difference).all()
    assert (result.difference <= result.high).all()
    assert 0 <= result.margin < max(0, -result.low.min())
    assert result.range_better
    assert result.p_value == pytest.approx(2 * result.p_better)

    same = quick(p, "a", "c")

    # the same order on 400 cases is not proven to be the same on all
    assert (same.verdict, same.p_value) == ("equal", 1)
    assert 0 < same.margin < 0.05
    assert quick(p[["a", "b"]]).verdict == result.verdict
    assert quick(p, "a", "a").verdict == "equal"


def test_long_panels_are_resampled_on_levels(rng):
    labels = rng.random(30_000) < 0.3
    score = rng.normal(size=labels.size) + labels
    panel = trueness.panel(
        labels, {"a": score, "b": score + rng.normal(size=labels.size)}
    )

    paired = trueness.dominates(panel, "a", "b", replicates=300)
    unpaired = trueness.dominates(panel["a"], panel["b"], replicates=300)

    curves = [tpr_grid(panel[name], paired.fpr[1:]) for name in "ab"]
    paired_width = np.mean(paired.high - paired.low)
    unpaired_width = np.mean(unpaired.high - unpaired.low)

    assert paired.difference[1:] == pytest.approx(curves[0] - curves[1], abs=1e-3)
    assert paired.p_better < 0.02
    assert paired_width < 0.1
    assert paired_width < unpaired_width

    # rows that were joined do not widen the band: as many errors as normal curves have
    variance = sum(curve * (1 - curve) / labels.sum() for curve in curves)
    standard_error = np.sqrt(variance).mean()

    assert unpaired_width < 2 * 4 * standard_error


def two_curves(rng, n, areas, spread=1.0):
    """Return a panel of normal scores; unequal variances make the curves cross.

    ``spread`` is the standard deviation of the positives of the second classifier.
    """
    label = np.repeat([1, 0], n)
    scale_of_positives = np.array([1, spread])
    # the cases of a pair of classifiers share half of their variance
    scores = rng.normal(size=(2 * n, 1)) + rng.normal(size=(2 * n, 2))
    scores[:n] *= scale_of_positives
    scores[:n] += np.sqrt(2) * np.sqrt(1 + scale_of_positives**2) * ndtri(areas)
    return trueness.panel(label, {"a": scores[:, 0], "b": scores[:, 1]})


def test_equal_curves_are_found_different_in_five_percent(rng):
    p = []
    for k in range(80):
        d = quick(two_curves(rng, 60, [0.8, 0.8]), rng=k)
        p += [d.p_better, d.p_worse]

    small = np.mean(np.array(p) < 0.05)

    assert 0.006 < small < 0.1  # 160 values; by the band they were .006


@pytest.mark.parametrize("spread", [0.8, 1.4, 2])
def test_band_and_p_values_do_not_contradict_each_other(rng, spread):
    """Curves that cross at low rates differ in a narrow range, which a mean hides."""
    surely = 0
    for k in range(12):
        result = trueness.dominates(
            two_curves(rng, 200, [0.8, 0.8], spread=spread), replicates=200, rng=k
        )
        surely += bool(result.significantly_better or result.significantly_worse)
        assert result.p_better <= 0.05 or not result.significantly_better
        assert result.p_worse <= 0.05 or not result.significantly_worse

    assert spread < 1 or surely


def test_margins_of_both_directions(rng):
    panel = two_curves(rng, 300, [0.9, 0.75])
    pairs = [("a", "b"), ("b", "a")]

    forward, backward = dominance_of_pairs(panel, pairs, replicates=100).values()

    assert forward.margin_first == pytest.approx(backward.margin)
    assert forward.margin == pytest.approx(backward.margin_first)


def test_the_margin_holds_at_the_worst_rate(rng):
    """The second is better by .137 at most, near a false positive rate of .03."""
    fpr = np.linspace(0, 1, 10_001)[1:-1]
    first_tpr = ndtr(np.sqrt(2) * ndtri(0.8) + ndtri(fpr))
    second_tpr = ndtr((np.sqrt(5) * ndtri(0.8) + ndtri(fpr)) / 2)
    largest_gap = (second_tpr - first_tpr).max()

    margins = [
        quick(two_curves(rng, 100, [0.8, 0.8], spread=2), rng=seed).margin
        for seed in range(40)
    ]

    assert np.mean(np.array(margins) >= largest_gap) > 0.85


def test_a_wider_margin_is_easier_to_keep(rng):
    panel = two_curves(rng, 300, [0.9, 0.75])

    narrow = quick(panel, margin=0.001)
    wide = quick(panel, margin=0.2)
    just_kept = quick(panel, margin=min(0.9, wide.margin + 0.01))

    assert wide.p_noninferior < narrow.p_noninferior
    assert just_kept.p_noninferior < 0.05
    assert np.isnan(quick(panel).p_noninferior)


def test_all_pairs_on_the_same_redrawn_cases(rng):
    labels = np.arange(400) % 4 == 0
    columns = {
        k: rng.normal(size=400) + d * labels
        for k, d in zip("abc", (1.5, 1, 0.5), strict=True)
    }
    panel = trueness.panel(labels, columns | {"copy": np.exp(columns["a"])})
    alone = trueness.dominates(panel, "a", "c", replicates=200)
    # of one pair it is the same answer, to the last digit
    one = dominance_of_pairs(panel, [("a", "c")], replicates=200)["a", "c"]

    assert one.to_dict() == alone.to_dict()

    pairs = [("a", "b"), ("c", "a"), ("a", "copy")]
    result = dominance_of_pairs(panel, pairs, replicates=200)

    assert list(result) == pairs
    assert result["a", "copy"].verdict == "equal"
    assert result["a", "copy"].p_better == 1

    turned = result["c", "a"]

    assert turned.fpr_better == alone.fpr_worse
    assert turned.difference == pytest.approx(-alone.difference)

    # other draws of the same cases: bands as wide, to chance
    wide = (turned.high - turned.low) / (alone.high - alone.low)

    assert np.median(wide) == pytest.approx(1, abs=0.15)
    assert dominance_of_pairs(panel, []) == {}


def test_dominance_errors():
    with pytest.raises(trueness.InputError, match="two tallies, or a panel and two"):
        trueness.dominates(GOOD)
    with pytest.raises(trueness.InputError, match=r"no classifier 'z'\. Choose from"):
        trueness.dominates(trueness.panel([0, 1], {"a": [1, 2], "b": [1, 2]}), "a", "z")
    with pytest.raises(trueness.NotEnoughCases, match="dominates needs"):
        trueness.dominates(GOOD, Tally([1], pos=[1]))


def clustered_cases(rng, n=400):
    """Return labels, two scores of which the first is better, and clusters of eight."""
    y = (rng.random(n) < 0.4).astype(int)
    cluster = np.arange(n) // 8
    noise = rng.normal(size=(2, 50))[:, cluster] + 0.5 * rng.normal(size=(2, n))
    return y, {"a": 2.5 * y + noise[0], "b": y + noise[1]}, cluster


@pytest.mark.parametrize(
    "arguments", [("weight",), ("cluster",), ("weight", "cluster")]
)
def test_weights_and_clusters(rng, arguments):
    labels, scores, cluster = clustered_cases(rng)
    weight = np.exp(rng.normal(size=labels.size))
    known = {"weight": weight, "cluster": cluster}
    design = {name: known[name] for name in arguments}

    plain = quick(labels, scores)
    designed = quick(labels, scores, **design)
    by_tallies = quick(
        trueness.tally(labels, scores["a"], **design),
        trueness.tally(labels, scores["b"], **design),
    )

    weights_in_use = design.get("weight", np.ones(labels.size))
    curves = [
        tpr_grid(trueness.tally(labels, score, weight=weights_in_use), designed.fpr[1:])
        for score in scores.values()
    ]

    assert designed.difference[1:] == pytest.approx(curves[0] - curves[1], abs=0.05)
    assert by_tallies.difference == pytest.approx(designed.difference)
    assert designed.p_better < 0.05
    assert np.mean(designed.high - designed.low) > np.mean(plain.high - plain.low)
