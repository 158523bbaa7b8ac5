"""Bounds of a binned tally hold the exact answer, whatever is asked."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import trueness
from trueness import InputError, Tally
from trueness._core.records import Answer
from trueness.metrics.confusion import Confusion
from trueness.metrics.definitions import METRIC_FAMILIES, METRICS

FAMILIES = [
    METRIC_FAMILIES["f_beta"](2),
    METRIC_FAMILIES["cost"](fp=1, fn=5),
    METRIC_FAMILIES["net_benefit"](0.25),
    0.7 * trueness.accuracy + 0.3 * trueness.recall,
    trueness.precision - 2 * trueness.fpr,
    -trueness.flagged,
]
EVERY = [*METRICS.values(), *FAMILIES]


@st.composite
def tallies(draw):
    n = draw(st.integers(2, 25))
    label = draw(st.lists(st.sampled_from([0, 1]), min_size=n, max_size=n))
    score = draw(st.lists(st.integers(0, 12), min_size=n + 2, max_size=n + 2))
    return trueness.tally([0, 1, *label], np.array(score) / 12)


bins = st.integers(1, 6)
SHORT = {
    "auc": lambda t: trueness.auc(t).value,
    "average_precision": lambda t: trueness.average_precision(t).value,
}


@given(tallies(), bins)
def test_the_exact_answer_lies_within(t, k):
    coarse = t.coarse(k)
    assert len(coarse) <= k
    for name, analysis in SHORT.items():
        b = trueness.bounds(name, coarse)
        assert b.low <= analysis(t) <= b.high
        assert b.low <= b.value <= b.high
    half = float(coarse.neg @ coarse.pos) / (2 * t.n_pos * t.n_neg)
    b = trueness.bounds(trueness.auc, coarse)
    assert b.high - b.low <= 2 * half + 1e-12


@given(tallies(), bins, st.floats(-0.1, 1.1))
def test_every_metric_at_any_threshold(t, k, threshold):
    coarse = t.coarse(k)
    flags = t.score >= threshold
    tp, fp = int(t.pos[flags].sum()), int(t.neg[flags].sum())
    c = Confusion(tp, fp, t.n_pos - tp, t.n_neg - fp)
    for metric in EVERY:
        exact = float(metric(c))
        if np.isnan(exact):
            continue
        b = trueness.bounds(metric, coarse, threshold=threshold)
        slack = 1e-12 * max(1, abs(exact)) if np.isfinite(exact) else 0
        assert b.low - slack <= exact <= b.high + slack, metric


@settings(max_examples=40)
@given(tallies(), bins, st.sampled_from(EVERY), st.booleans())
def test_the_best_value_lies_within(t, k, metric, constrained):
    options = {"maximize": metric}
    if constrained:
        options["subject_to"] = ["recall >= 0.5", "fpr <= 0.6"]
    coarse = t.coarse(k)
    try:
        b = trueness.bounds(trueness.best_threshold, coarse, **options)
        exact = trueness.best_threshold(t, **options).value
    except (trueness.Infeasible, trueness.NotEnoughCases):
        return
    slack = 1e-12 * max(1, abs(exact)) if np.isfinite(exact) else 0
    assert b.low - slack <= exact <= b.high + slack
    if constrained and np.isnan(b.value):  # only a cut inside a bin meets them
        return
    assert b.low == b.value
    point = trueness.best_threshold(coarse, **options)
    assert point.limits == ((b.low, b.high) if coarse.binned else None)
    low, high = point.threshold_bounds or (-np.inf, np.inf)
    best = trueness.best_threshold(t, **options)
    assert any(low <= i[1] and i[0] <= high for i in best.score_ranges)
    # the threshold makes the cut it says
    flagged = t.score >= point.threshold
    assert int(t.pos[flagged].sum()) == point.confusion.tp
    assert int(t.neg[flagged].sum()) == point.confusion.fp


@given(tallies())
def test_without_bins_the_bounds_are_the_answer(t):
    b = trueness.bounds("auc", t)
    assert b.low == b.value == b.high == trueness.auc(t).value
    assert b.bins == 0
    best = trueness.bounds("best_threshold", t, maximize="f1")
    assert best.low == best.high == best.value


@given(tallies(), tallies(), bins, bins)
def test_sums_of_binned_tallies_stay_certified(a, b, k, m):
    both = a.coarse(k) + b.coarse(m)
    assert both == b.coarse(m) + a.coarse(k)
    assert np.all(both.high[1:] < both.score[:-1])
    assert (both.n_neg, both.n_pos) == (a.n_neg + b.n_neg, a.n_pos + b.n_pos)
    exact = trueness.auc(a + b).value
    found = trueness.bounds("auc", both)
    assert found.low <= exact <= found.high


def test_binned_tallies_are_kept_and_shown(tmp_path):
    t = Tally([4, 3, 2, 1], neg=[0, 1, 0, 1], pos=[1, 0, 1, 0]).coarse(2)
    t.write(tmp_path / "t.parquet")
    assert trueness.read_tally(tmp_path / "t.parquet") == t
    assert "2 bins of scores from 1 to 4" in repr(t)
    assert t.to_frame("dict")["high"] == [4.0, 2.0]
    assert t.hide().high.tolist() == [4.0, 2.0]


def test_wrong_questions():
    t = Tally([2.0, 1.0], pos=[1, 1], neg=[1, 1])
    with pytest.raises(InputError, match="bounds knows 'auc', 'average_prec"):
        trueness.bounds("auk", t)
    with pytest.raises(InputError, match="at_most must be a whole number"):
        t.coarse(0)


def test_answers_show_their_bounds():
    t = Tally([4, 3, 2, 1], neg=[0, 1, 0, 1], pos=[1, 0, 1, 0]).coarse(2)
    area = trueness.auc(t)
    assert area.limits == (0.25, 0.75)
    assert "; exact value within 0.25 to 0.75)" in repr(area)
    assert area.to_dict()["limits"] == [0.25, 0.75]
    assert area.to_frame("dict")["exact_low"] == [0.25]
    assert "<td>limits</td><td>0.25, 0.75</td>" in area._repr_html_()
    assert "limits" not in trueness.auc(Tally([2, 1], [1, 1], [1, 1])).to_dict()
    point = trueness.best_threshold(t, "recall", subject_to="precision >= 0.5")
    assert "recall = 1; exact" in repr(point)


def test_groups_and_panels_have_bounds_too():
    t = Tally([4, 3, 2, 1], neg=[0, 1, 0, 1], pos=[1, 0, 1, 0])
    found = trueness.auc({"fine": t, "coarse": t.coarse(2)})
    assert found["fine"].limits is None
    assert found["coarse"].limits == (0.25, 0.75)


def test_what_is_not_known_is_said():
    rng = np.random.default_rng(0)
    t = trueness.tally(rng.random(200) < 0.5, rng.random(200)).coarse(20)
    without = (trueness.ranking.leakage, trueness.calibration_test, trueness.roc_band)
    for analysis in without:
        assert "not known" in analysis(t).limits
    assert "not known" in repr(trueness.calibration_test(t))


def test_infeasible_between_the_bins():
    t = Tally([4, 3, 2, 1], neg=[0, 1, 0, 1], pos=[1, 0, 1, 0]).coarse(1)
    options = {"maximize": "recall", "subject_to": ["precision >= 0.6", "recall > 0"]}
    with pytest.raises(trueness.Infeasible, match="only thresholds between its bins"):
        trueness.best_threshold(t, **options)


def test_every_analysis_of_a_tally_is_bounded_or_says_so():
    """Whatever takes a tally takes a binned one: nothing is forgotten."""
    rng = np.random.default_rng(0)
    t = trueness.tally(rng.random(300) < 0.5, rng.random(300)).coarse(30)
    special = {
        "partial_auc": {"fpr": (0, 0.2)},
        "at_threshold": {"threshold": 0.5},
        "confusion": {"threshold": 0.5},
        "guaranteed_threshold": None,
        "best_thresholds": {"minimize": "cost(fp=1, fn=10, defer=0.3)"},
        "validate_threshold": {"minimize": "cost(fp=1, fn=10, defer=0.3)"},
        "pareto": {"metrics": ["recall", "precision"]},
    }
    asked = []
    for name in trueness.__all__:
        options = special.get(name, {})
        if (
            getattr(getattr(trueness, name), "takes", None) != "tally"
            or options is None
        ):
            continue
        answer = getattr(trueness, name)(t, **options)
        if isinstance(answer, Answer):
            assert answer.limits is not None, name
            assert answer.limits is answer.limits
            asked.append(name)
    assert len(asked) > 20


def test_constraints_that_only_a_cut_inside_a_bin_meets(rng):
    met = 0
    for _ in range(60):
        exact = trueness.tally(rng.integers(0, 2, 12), rng.integers(0, 9, 12))
        if not (exact.n_pos and exact.n_neg):
            continue
        t = exact.coarse(int(rng.integers(1, 4)))
        options = {
            "maximize": "recall",
            "subject_to": ["precision >= 0.7", "recall > 0"],
        }
        try:
            best = trueness.best_threshold(exact, **options).value
        except trueness.Infeasible:
            continue
        found = trueness.bounds("best_threshold", t, **options)  # never Infeasible
        assert found.low <= best <= found.high
        if np.isnan(found.value):
            met += 1
            assert "if one inside a bin does" in repr(found)
    assert met > 5
    with pytest.raises(trueness.Infeasible):
        trueness.bounds(
            "best_threshold", t, maximize="recall", subject_to="precision >= 2"
        )


@pytest.mark.parametrize("seed", range(6))
def test_limits_of_weighted_bins_hold_the_exact_answer(seed):
    rng = np.random.default_rng(seed)
    y, w = rng.integers(0, 2, 150), rng.lognormal(0, 1.3, 150)
    s = np.round(y + rng.normal(size=150), 1 + seed % 3)
    t = trueness.tally(y, s, weight=w)
    b = t.coarse(4 + seed)
    for analysis in (trueness.auc, trueness.average_precision):
        low, high = analysis(b).limits
        assert low <= analysis(t).value <= high
        assert low < high
    for analysis, x, value in (
        (trueness.roc, "fpr", "tpr"),
        (trueness.precision_recall, "recall", "precision"),
    ):
        limits, exact = analysis(b).limits, analysis(t)
        for at, height in zip(getattr(exact, x), getattr(exact, value), strict=True):
            here = np.abs(limits.x - at) < 1e-12  # a corner has two ends
            low = min(np.interp(at, limits.x, limits.low), *limits.low[here], 2)
            high = max(np.interp(at, limits.x, limits.high), *limits.high[here], -1)
            assert low - 1e-9 <= height <= high + 1e-9


@pytest.mark.parametrize("share", [None, 0.1])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("seed", range(4))
def test_limits_of_bins_hold_losses_lines_and_thresholds(seed, weighted, share):
    rng = np.random.default_rng(seed)
    y, w = rng.integers(0, 2, 150), rng.lognormal(0, 1.3, 150)
    s = np.round(1 / (1 + np.exp(1 - 2 * y + 2 * rng.normal(size=150))), 1 + seed % 3)
    weight = w if weighted else None
    t = trueness.tally(y, s.clip(0.01, 0.99), weight=weight, prevalence=share)
    b = t.coarse(4 + seed)
    asked = [
        trueness.average_precision,
        lambda x: trueness.partial_auc(x, fpr=(0, 0.3), replicates=100),
        lambda x: trueness.best_threshold(x, "f1"),
        lambda x: trueness.calibration_line(x).slope,
        lambda x: trueness.calibration_line(x).intercept,
    ]
    for loss in (trueness.brier, trueness.log_loss):
        exact, binned = loss(t), loss(b)
        asked.append(lambda x, pair=(exact, binned): pair[x.binned])
        for part in ("mcb", "dsc"):
            low, high = getattr(binned, part).limits
            assert low <= getattr(exact, part).value <= high
    for ask in asked:
        low, high = ask(b).limits
        assert low - 1e-12 <= ask(t).value <= high + 1e-12
        assert low < high
    for curve, x, value in (
        (trueness.decision_curve, "threshold", "net_benefit"),
        (trueness.cost_curve, "at", "cost"),
    ):
        binned = curve(b)
        exact = getattr(curve(t, **{x: binned.limits.x}), value)
        assert (binned.limits.low <= exact).all()
        assert (exact <= binned.limits.high).all()
    for metric in ("f1", "mcc"):
        found = trueness.bounds(metric, b, threshold=0.5)
        exact = trueness.at_threshold(t, 0.5, metrics=[metric])[metric].value
        assert found.low - 1e-12 <= exact <= found.high + 1e-12


def test_limits_of_labels_missing_at_random_are_not_known():
    rng = np.random.default_rng(0)
    y = np.where(rng.random(200) < 0.3, np.nan, rng.integers(0, 2, 200))
    t = trueness.tally(y, rng.random(200), unlabelled="missing at random")
    assert "not known" in trueness.auc(t.coarse(10)).limits
    assert trueness.auc(t.labelled().coarse(10)).limits[0] > 0


def test_limits_with_clusters():
    rng = np.random.default_rng(1)
    y = rng.integers(0, 2, 200)
    t = trueness.tally(y, y + rng.normal(size=200), cluster=np.arange(200) // 5)
    binned = trueness.auc(t.coarse(20))
    assert binned.limits[0] <= trueness.auc(t).value <= binned.limits[1]
    assert binned.sd == pytest.approx(trueness.auc(t).sd, rel=0.05)
