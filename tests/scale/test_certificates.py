"""Bounds of a binned tally hold the exact answer, whatever is asked."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import trueness
from bins_by_hand import curve_span
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
FOUR = Tally([4, 3, 2, 1], neg=[0, 1, 0, 1], pos=[1, 0, 1, 0])  # AUC 3/4


@st.composite
def tallies(draw):
    n = draw(st.integers(2, 25))
    label = draw(st.lists(st.sampled_from([0, 1]), min_size=n, max_size=n))
    score = draw(st.lists(st.integers(0, 12), min_size=n + 2, max_size=n + 2))
    return trueness.tally([0, 1, *label], np.array(score) / 12)


bins = st.integers(1, 6)


def within(low, exact, high, slack=1e-12):
    slack = slack * max(1, abs(exact)) if np.isfinite(exact) else 0
    return low - slack <= exact <= high + slack


@given(tallies(), bins, tallies(), bins)
def test_the_exact_answer_lies_within_also_of_sums(t, k, other, m):
    coarse = t.bin(k)
    assert len(coarse) <= k
    for analysis in (trueness.auc, trueness.average_precision):
        b = trueness.bounds(analysis.__name__, coarse)
        assert b.low <= analysis(t).value <= b.high
        assert b.low <= b.value <= b.high
    half = float(coarse.neg @ coarse.pos) / (2 * t.n_pos * t.n_neg)
    b = trueness.bounds(trueness.auc, coarse)
    assert b.high - b.low <= 2 * half + 1e-12
    both = coarse + other.bin(m)
    assert both == other.bin(m) + coarse
    assert np.all(both.high[1:] < both.score[:-1])
    assert (both.n_neg, both.n_pos) == (t.n_neg + other.n_neg, t.n_pos + other.n_pos)
    found = trueness.bounds("auc", both)
    assert found.low <= trueness.auc(t + other).value <= found.high
    same = trueness.bounds("auc", t)
    assert same.low == same.value == same.high == trueness.auc(t).value
    assert same.bins == 0


@given(tallies(), bins, st.floats(-0.1, 1.1))
def test_every_metric_at_any_threshold(t, k, threshold):
    flags = t.score >= threshold
    tp, fp = int(t.pos[flags].sum()), int(t.neg[flags].sum())
    c = Confusion(tp, fp, t.n_pos - tp, t.n_neg - fp)
    for metric in EVERY:
        exact = float(metric(c))
        b = trueness.bounds(metric, t.bin(k), threshold=threshold)
        assert np.isnan(exact) or within(b.low, exact, b.high), metric


@settings(max_examples=40)
@given(tallies(), bins, st.sampled_from(EVERY), st.booleans())
def test_the_best_threshold_of_bins_is_a_cut_of_the_exact_scores(
    t, k, metric, constrained
):
    options = {"maximize": metric}
    if constrained:
        options["subject_to"] = ["recall >= 0.5", "fpr <= 0.6"]
    try:
        point = trueness.best_threshold(t.bin(k), **options)
        best = trueness.best_threshold(t, **options)
    except (trueness.Infeasible, trueness.NotEnoughCases):
        return

    # the threshold makes the cut it says, and no cut of the exact scores is better
    flagged = t.score >= point.threshold
    assert int(t.pos[flagged].sum()) == point.confusion.tp
    assert int(t.neg[flagged].sum()) == point.confusion.fp
    assert within(-np.inf, point.value, best.value)


def test_the_best_threshold_of_bins_names_what_finds_the_best_of_all():
    point = trueness.best_threshold(FOUR.bin(2), "recall", "precision >= 0.5")

    assert point.bounds.startswith("unknown: only thresholds between bins were tried")
    assert "exact_threshold" in repr(point)
    assert trueness.best_threshold(FOUR, "recall").bounds is None


@pytest.mark.parametrize(
    ("name", "instead"),
    [
        ("best_threshold", "exact_threshold"),
        ("cost_curve", "cost_curve"),
        ("partial_auc", "partial_auc"),
    ],
)
def test_what_bins_do_not_bound_is_counted_exactly(name, instead):
    options = {"fpr": (0, 0.5)} if name == "partial_auc" else {}
    answer = getattr(trueness, name)(FOUR.bin(2), **options)
    with pytest.raises(InputError, match=f"bounds of {name} are not known") as caught:
        trueness.bounds(name, FOUR.bin(2))

    assert answer.bounds.startswith("unknown: ")
    assert f"Type trueness.{instead}(rows, label=, score=" in str(caught.value)


def test_binned_tallies_and_their_answers_show_their_bounds(tmp_path):
    t = FOUR.bin(2)
    t.write(tmp_path / "t.parquet")
    assert trueness.read_tally(tmp_path / "t.parquet") == t
    assert "2 bins of scores from 1 to 4" in repr(t)
    assert t.to_frame("dict")["high"] == t.without_labels().high.tolist() == [4.0, 2.0]
    area = trueness.auc(t)
    assert area.bounds == (0.25, 0.75)
    assert "; exact value within 0.25 to 0.75)" in repr(area)
    assert area.to_dict()["bounds"] == [0.25, 0.75]
    assert area.to_frame("dict")["exact_low"] == [0.25]
    assert "; exact value within 0.25 to 0.75)" in area._repr_html_()
    assert "bounds" not in trueness.auc(Tally([2, 1], [1, 1], [1, 1])).to_dict()
    found = trueness.auc({"fine": FOUR, "coarse": t})
    assert found["fine"].bounds is None
    assert found["coarse"].bounds == (0.25, 0.75)


def test_wrong_questions():
    t = Tally([2.0, 1.0], pos=[1, 1], neg=[1, 1])
    with pytest.raises(InputError, match=r"found 'auk'. Did you mean 'auc'"):
        trueness.bounds("auk", t)
    with pytest.raises(InputError, match="at_most must be a whole number"):
        t.bin(0)
    options = {"maximize": "recall", "subject_to": ["precision >= 0.6", "recall > 0"]}
    with pytest.raises(
        trueness.Infeasible, match="Only thresholds between bins were tried"
    ):
        trueness.best_threshold(FOUR.bin(1), **options)


def test_calibration_errors_of_weighted_cases_in_bins_are_not_bounded():
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, 200)
    t = trueness.tally(y, rng.random(200), weight=rng.lognormal(size=200))

    exact = trueness.bounds("calibration_error", t)
    with pytest.raises(InputError, match="Bins do not bound calibration_error here"):
        trueness.bounds("calibration_error", t.bin(20))

    assert exact.low == exact.high == trueness.calibration_error(t).plain.value


def test_a_metric_that_is_undefined_at_a_threshold_says_no_more():
    found = trueness.bounds("precision", FOUR.bin(2), threshold=9)

    assert np.isnan(found.value)
    assert repr(found) == "precision nan (exactly between nan and nan; 2 bins)"


def test_every_analysis_of_a_tally_is_bounded_or_says_so():
    """Whatever takes a tally takes a binned one: nothing is forgotten."""
    rng = np.random.default_rng(0)
    t = trueness.tally(rng.random(200) < 0.5, rng.random(200)).bin(20)
    special = {
        "partial_auc": {"fpr": (0, 0.2)},
        "at_threshold": {"threshold": 0.5},
        "confusion": {"threshold": 0.5},
        "tipping_point": {"requirement": "auc >= 0.1"},
        "best_thresholds": {"minimize": "cost(fp=1, fn=10, defer=0.3)"},
        "validate_threshold": {"minimize": "cost(fp=1, fn=10, defer=0.3)"},
        "pareto": {"metrics": ["recall", "precision"]},
        "indeterminate_results": {"threshold": trueness.Rule(0.6, lower=0.4)},
    }
    asked = []
    for name in set(trueness.__all__) - {"guaranteed_threshold"}:
        if getattr(getattr(trueness, name), "takes", None) == "tally":
            answer = getattr(trueness, name)(t, **special.get(name, {}))
            if isinstance(answer, Answer):
                assert answer.bounds is not None, name
                asked.append(name)
    assert len(asked) > 20
    for ask in (trueness.ranking.leakage, trueness.calibration_test, trueness.roc_band):
        assert "unknown: each bin was treated" in ask(t).bounds
    assert "unknown: each bin was treated" in repr(trueness.calibration_test(t))


@pytest.mark.parametrize("share", [None, 0.1])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("seed", range(4))
def test_limits_hold_the_exact_answer_of_weights_and_shares(seed, weighted, share):
    rng = np.random.default_rng(seed)
    y, w = rng.integers(0, 2, 150), rng.lognormal(0, 1.3, 150)
    s = np.round(1 / (1 + np.exp(1 - 2 * y + 2 * rng.normal(size=150))), 1 + seed % 3)
    weight = w if weighted else None
    t = trueness.tally(y, s.clip(0.01, 0.99), weight=weight, prevalence=share)
    b = t.bin(4 + seed)
    asked = [
        trueness.auc,
        trueness.average_precision,
        lambda x: trueness.calibration_line(x).slope,
        lambda x: trueness.calibration_line(x).intercept,
    ]
    for loss in (trueness.brier, trueness.log_loss):
        exact, binned = loss(t), loss(b)
        asked.append(lambda x, pair=(exact, binned): pair[x.binned])
        for part in ("mcb", "dsc"):
            low, high = getattr(binned, part).bounds
            assert low <= getattr(exact, part).value <= high
    for ask in asked:
        low, high = ask(b).bounds
        assert low - 1e-12 <= ask(t).value <= high + 1e-12
        assert low < high
    benefits = trueness.decision_curve(b).bounds
    exact = trueness.decision_curve(t, threshold=benefits.x).net_benefit
    assert (benefits.low <= exact).all()
    assert (exact <= benefits.high).all()
    for curve, x, value in (
        (trueness.roc, "fpr", "tpr"),
        (trueness.precision_recall, "recall", "precision"),
    ):
        limits, exact = curve(b).bounds, curve(t)
        for at, height in zip(getattr(exact, x), getattr(exact, value), strict=True):
            low, high = curve_span(limits, at)
            assert low - 1e-9 <= height <= high + 1e-9
    for metric in ("f1", "mcc"):
        found = trueness.bounds(metric, b, threshold=0.5)
        exact = trueness.at_threshold(t, 0.5, metrics=[metric])[metric].value
        assert found.low - 1e-12 <= exact <= found.high + 1e-12


def test_limits_of_labels_missing_at_random_and_of_clusters():
    rng = np.random.default_rng(0)
    y = np.where(rng.random(200) < 0.3, np.nan, rng.integers(0, 2, 200))
    t = trueness.tally(y, rng.random(200), unlabelled="missing at random")
    assert "unknown: each bin was treated" in trueness.auc(t.bin(10)).bounds
    assert trueness.auc(t.labelled().bin(10)).bounds[0] > 0
    y = rng.integers(0, 2, 200)
    t = trueness.tally(y, y + rng.normal(size=200), cluster=np.arange(200) // 5)
    binned = trueness.auc(t.bin(20))
    assert binned.bounds[0] <= trueness.auc(t).value <= binned.bounds[1]
    assert binned.se == pytest.approx(trueness.auc(t).se, rel=0.05)
