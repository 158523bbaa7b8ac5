"""Bounds of a binned tally hold the exact answer, whatever is asked."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import karat
from karat import InputError, Tally
from karat.algebra import Metric
from karat.boxes import boxes_of, is_cornered, range_in
from karat.certificate import dullest, sharpest
from karat.confusion import METRIC_FAMILIES, METRICS, Confusion

FAMILIES = [
    METRIC_FAMILIES["f_beta"](2),
    METRIC_FAMILIES["cost"](fp=1, fn=5),
    METRIC_FAMILIES["net_benefit"](0.25),
    0.7 * karat.accuracy + 0.3 * karat.recall,
    karat.precision - 2 * karat.fpr,
    -karat.flagged,
]
EVERY = [*METRICS.values(), *FAMILIES]


@st.composite
def tallies(draw):
    n = draw(st.integers(2, 25))
    label = draw(st.lists(st.sampled_from([0, 1]), min_size=n, max_size=n))
    score = draw(st.lists(st.integers(0, 12), min_size=n + 2, max_size=n + 2))
    return karat.tally([0, 1, *label], np.array(score) / 12)


cells = st.integers(1, 6)


def brier(t):
    return float(
        (t.pos @ (1 - t.score) ** 2 + t.neg @ t.score**2) / (t.n_pos + t.n_neg)
    )


def log_loss(t):
    p = np.clip(t.score, 1e-9, 1 - 1e-9)
    return float(-(t.pos @ np.log(p) + t.neg @ np.log1p(-p)) / (t.n_pos + t.n_neg))


@given(tallies(), cells)
def test_the_exact_answer_lies_within(t, k):
    coarse = t.coarse(k)
    assert len(coarse) <= k
    for analysis in (karat.auc, brier, log_loss):
        b = karat.bounds(analysis, coarse)
        exact = analysis(t)
        assert b.low <= getattr(exact, "value", exact) <= b.high
        assert b.low <= b.value <= b.high
    half = float(coarse.neg @ coarse.pos) / (2 * t.n_pos * t.n_neg)
    b = karat.bounds(karat.auc, coarse)
    assert b.high - b.low <= 2 * half + 1e-12


@given(tallies(), cells, st.floats(-0.1, 1.1))
def test_every_metric_at_any_threshold(t, k, threshold):
    coarse = t.coarse(k)
    flags = t.score >= threshold
    tp, fp = int(t.pos[flags].sum()), int(t.neg[flags].sum())
    c = Confusion(tp, fp, t.n_pos - tp, t.n_neg - fp)
    for metric in EVERY:
        exact = float(metric(c))
        if np.isnan(exact):
            continue
        b = karat.bounds(metric, coarse, threshold=threshold)
        slack = 1e-12 * max(1, abs(exact)) if np.isfinite(exact) else 0
        assert b.low - slack <= exact <= b.high + slack, metric


@settings(max_examples=40)
@given(tallies(), cells, st.sampled_from(EVERY), st.booleans())
def test_the_best_value_lies_within(t, k, metric, constrained):
    options = {"maximize": metric}
    if constrained:
        options["subject_to"] = ["recall >= 0.5", "fpr <= 0.6"]
    coarse = t.coarse(k)
    try:
        b = karat.bounds(karat.best_threshold, coarse, **options)
        exact = karat.best_threshold(t, **options).value
    except (karat.Infeasible, karat.NotEnoughCases):
        return
    slack = 1e-12 * max(1, abs(exact)) if np.isfinite(exact) else 0
    assert b.low - slack <= exact <= b.high + slack
    assert b.low == b.value


@given(tallies(), cells)
def test_the_roc_curve_lies_between(t, k):
    b = karat.bounds(karat.roc, t.coarse(k))
    exact = karat.roc(t)
    # the band at a rate: the widest of what its cells say there
    for x, y in zip(exact.fpr, exact.tpr, strict=True):
        left = np.searchsorted(b.fpr, x, side="left")
        right = np.searchsorted(b.fpr, x, side="right")
        near = slice(max(left - 1, 0), right + 1)
        assert b.low[near].min() - 1e-12 <= y <= b.high[near].max() + 1e-12
    assert np.all(np.diff(b.fpr) >= 0)


@given(tallies())
def test_without_cells_the_bounds_are_the_answer(t):
    b = karat.bounds("auc", t)
    assert b.low == b.value == b.high == karat.auc(t).value
    assert b.cells == 0
    best = karat.bounds("best_threshold", t, maximize="f1")
    assert best.low == best.high == best.value


@given(tallies(), tallies(), cells, cells)
def test_sums_of_binned_tallies_stay_certified(a, b, k, m):
    both = a.coarse(k) + b.coarse(m)
    assert both == b.coarse(m) + a.coarse(k)
    assert np.all(both.high[1:] < both.score[:-1])
    assert (both.n_neg, both.n_pos) == (a.n_neg + b.n_neg, a.n_pos + b.n_pos)
    exact = karat.auc(a + b).value
    found = karat.bounds("auc", both)
    assert found.low <= exact <= found.high


@pytest.mark.parametrize("metric", EVERY, ids=repr)
def test_extremes_over_a_box_are_at_its_corners(metric):
    """The slow twin: every cut in every box of a small table."""
    assert is_cornered(metric)
    pos, neg = 4, 5
    for tp in range(pos + 1):
        for fp in range(neg + 1):
            t = Tally([2.0, 1.0], pos=[tp, pos - tp], neg=[fp, neg - fp]).coarse(2)
            if len(t) < 2:
                continue
            box = boxes_of(t)
            low, high = range_in(box, metric, 0.3)
            grid = np.meshgrid(np.arange(tp + 1), np.arange(fp + 1))
            c = Confusion(grid[0], grid[1], pos - grid[0], neg - grid[1])
            with np.errstate(all="ignore"):
                values = np.asarray(metric(c.at_prevalence(0.3)))
            values = values[~np.isnan(values)]
            slack = 1e-12 * np.abs(values[np.isfinite(values)]).max(initial=1)
            assert np.all(values >= low[0] - slack)
            assert np.all(values <= high[0] + slack)


def test_an_unknown_shape_bounds_nothing():
    wave = Metric("wave", lambda c: np.sin(c.tp * 1.0))
    t = Tally([2.0, 1.0], pos=[1, 1], neg=[1, 1]).coarse(1)
    low, high = range_in(boxes_of(t), wave, None)
    assert (low[0], high[0]) == (-np.inf, np.inf)


def test_arrangements_keep_the_counts():
    t = Tally([3, 2, 1], neg=[1, 2, 0], pos=[0, 1, 4], unknown=[1, 0, 0]).coarse(1)
    for x in (sharpest(t), dullest(t)):
        assert (x.n_neg, x.n_pos, x.n_unknown) == (3, 5, 1)
    assert sharpest(t).score.tolist() == [3, 1]


def test_binned_tallies_are_kept_and_shown(tmp_path):
    t = Tally([4, 3, 2, 1], neg=[0, 1, 0, 1], pos=[1, 0, 1, 0]).coarse(2)
    t.write(tmp_path / "t.parquet")
    assert karat.read_tally(tmp_path / "t.parquet") == t
    assert "2 cells of scores from 1 to 4" in repr(t)
    assert t.to_frame("dict")["high"] == [4.0, 2.0]
    assert t.hide().high.tolist() == [4.0, 2.0]
    assert not t.map(lambda s: s).binned
    assert t != t.map(lambda s: s)


def test_wrong_questions():
    t = Tally([2.0, 1.0], pos=[1, 1], neg=[1, 1])
    with pytest.raises(InputError, match="bounds knows 'auc', 'best_threshold'"):
        karat.bounds("auk", t)
    with pytest.raises(InputError, match=r"Pass the function: karat.bounds\(karat.bri"):
        karat.bounds("brier", t)
    with pytest.raises(InputError, match="at_most must be a whole number"):
        t.coarse(0)
