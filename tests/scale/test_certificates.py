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


@given(tallies(), bins)
def test_the_exact_answer_lies_within(t, k):
    coarse = t.bin(k)

    area = trueness.bounds(trueness.auc, coarse)
    precision = trueness.bounds("average_precision", coarse)

    assert len(coarse) <= k
    assert area.low <= trueness.auc(t).value <= area.high
    assert area.low <= area.value <= area.high
    assert precision.low <= trueness.average_precision(t).value <= precision.high
    assert precision.low <= precision.value <= precision.high


@given(tallies(), bins)
def test_the_auc_is_known_to_within_half_of_the_pairs_that_share_a_bin(t, k):
    coarse = t.bin(k)
    shared_pairs = float(coarse.neg @ coarse.pos)

    area = trueness.bounds("auc", coarse)

    assert area.high - area.low <= shared_pairs / (t.n_pos * t.n_neg) + 1e-12


@given(tallies(), bins, tallies(), bins)
def test_bins_add_and_their_bounds_still_hold(t, k, other, m):
    both = t.bin(k) + other.bin(m)

    area = trueness.bounds("auc", both)

    assert both == other.bin(m) + t.bin(k)
    assert np.all(both.high[1:] < both.score[:-1])
    assert (both.n_neg, both.n_pos) == (t.n_neg + other.n_neg, t.n_pos + other.n_pos)
    assert area.low <= trueness.auc(t + other).value <= area.high


@given(tallies())
def test_without_bins_both_bounds_are_the_answer(t):
    area = trueness.bounds("auc", t)

    assert area.low == area.value == area.high == trueness.auc(t).value
    assert area.bins == 0


@given(tallies(), bins, st.floats(-0.1, 1.1))
def test_every_metric_at_any_threshold(t, k, threshold):
    flags = t.score >= threshold
    tp = int(t.pos[flags].sum())
    fp = int(t.neg[flags].sum())
    confusion = Confusion(tp, fp, t.n_pos - tp, t.n_neg - fp)

    for metric in EVERY:
        exact = float(metric(confusion))
        bounds = trueness.bounds(metric, t.bin(k), threshold=threshold)
        assert np.isnan(exact) or within(bounds.low, exact, bounds.high), metric


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


def test_binned_tallies_show_their_bins_and_keep_them(tmp_path):
    t = FOUR.bin(2)

    t.write(tmp_path / "t.parquet")

    assert trueness.read_tally(tmp_path / "t.parquet") == t
    assert "2 bins of scores from 1 to 4" in repr(t)
    assert t.to_frame("dict")["high"] == t.without_labels().high.tolist() == [4.0, 2.0]


def test_answers_show_their_bounds():
    area = trueness.auc(FOUR.bin(2))

    assert area.bounds == (0.25, 0.75)
    assert "; exact value within 0.25 to 0.75)" in repr(area)
    assert "; exact value within 0.25 to 0.75)" in area._repr_html_()
    assert area.to_dict()["bounds"] == [0.25, 0.75]
    assert area.to_frame("dict")["exact_low"] == [0.25]


def test_only_answers_of_bins_have_bounds():
    areas = trueness.auc({"fine": FOUR, "coarse": FOUR.bin(2)})

    assert areas["fine"].bounds is None
    assert areas["coarse"].bounds == (0.25, 0.75)
    assert "bounds" not in areas["fine"].to_dict()


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
    bounds = trueness.bounds("precision", FOUR.bin(2), threshold=9)

    assert np.isnan(bounds.value)
    assert repr(bounds) == "precision nan (exactly between nan and nan; 2 bins)"


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
    analyses_asked = []

    for name in set(trueness.__all__) - {"guaranteed_threshold"}:
        if getattr(getattr(trueness, name), "takes", None) == "tally":
            answer = getattr(trueness, name)(t, **special.get(name, {}))
            if isinstance(answer, Answer):
                assert answer.bounds is not None, name
                analyses_asked.append(name)

    assert len(analyses_asked) > 20
    for ask in (trueness.ranking.leakage, trueness.calibration_test, trueness.roc_band):
        assert "unknown: each bin was treated" in ask(t).bounds
    assert "unknown: each bin was treated" in repr(trueness.calibration_test(t))


def of_weights_and_prevalence(test):
    """Ask about four samples, with weights and without, at two prevalences."""
    for name, values in {
        "prevalence": [None, 0.1],
        "weighted": [False, True],
        "seed": range(4),
    }.items():
        test = pytest.mark.parametrize(name, values)(test)
    return test


def sample(seed, weighted, prevalence):
    """Return scores as they are, and in few bins."""
    rng = np.random.default_rng(seed)
    label = rng.integers(0, 2, 150)
    weight = rng.lognormal(0, 1.3, 150)
    score = 1 / (1 + np.exp(1 - 2 * label + 2 * rng.normal(size=150)))
    exact = trueness.tally(
        label,
        np.round(score, 1 + seed % 3).clip(0.01, 0.99),
        weight=weight if weighted else None,
        prevalence=prevalence,
    )
    return exact, exact.bin(4 + seed)


NUMBERS = {
    "auc": trueness.auc,
    "average_precision": trueness.average_precision,
    "brier": trueness.brier,
    "brier mcb": lambda t: trueness.brier(t).mcb,
    "brier dsc": lambda t: trueness.brier(t).dsc,
    "log_loss": trueness.log_loss,
    "log_loss mcb": lambda t: trueness.log_loss(t).mcb,
    "log_loss dsc": lambda t: trueness.log_loss(t).dsc,
    "slope": lambda t: trueness.calibration_line(t).slope,
    "intercept": lambda t: trueness.calibration_line(t).intercept,
}


@of_weights_and_prevalence
def test_numbers_of_designs_lie_within(seed, weighted, prevalence):
    exact, binned = sample(seed, weighted, prevalence)

    for name, ask in NUMBERS.items():
        low, high = ask(binned).bounds
        assert low - 1e-12 <= ask(exact).value <= high + 1e-12, name
        assert low < high, name


@of_weights_and_prevalence
def test_net_benefits_of_designs_lie_within(seed, weighted, prevalence):
    exact, binned = sample(seed, weighted, prevalence)

    bounds = trueness.decision_curve(binned).bounds
    benefit = trueness.decision_curve(exact, threshold=bounds.x).net_benefit

    assert (bounds.low <= benefit).all()
    assert (benefit <= bounds.high).all()


@of_weights_and_prevalence
@pytest.mark.parametrize(
    ("curve", "along", "across"),
    [
        (trueness.roc, "fpr", "tpr"),
        (trueness.precision_recall, "recall", "precision"),
        (trueness.gain_curve, "flagged_rate", "recall"),
        (trueness.lift_curve, "flagged_rate", "lift"),
    ],
)
def test_curves_of_designs_lie_within(curve, along, across, seed, weighted, prevalence):
    exact, binned = sample(seed, weighted, prevalence)

    bounds = curve(binned).bounds
    points = curve(exact)

    for x, y in zip(getattr(points, along), getattr(points, across), strict=True):
        low, high = curve_span(bounds, x)
        assert low - 1e-9 <= y <= high + 1e-9


@of_weights_and_prevalence
@pytest.mark.parametrize("metric", ["f1", "mcc"])
def test_metrics_of_designs_lie_within(metric, seed, weighted, prevalence):
    exact, binned = sample(seed, weighted, prevalence)

    bounds = trueness.bounds(metric, binned, threshold=0.5)
    value = trueness.at_threshold(exact, 0.5, metrics=[metric])[metric].value

    assert bounds.low - 1e-12 <= value <= bounds.high + 1e-12


def test_labels_missing_at_random_are_in_no_known_bin():
    rng = np.random.default_rng(0)
    label = np.where(rng.random(200) < 0.3, np.nan, rng.integers(0, 2, 200))
    t = trueness.tally(label, rng.random(200), unlabelled="missing at random")

    of_all = trueness.auc(t.bin(10)).bounds
    of_labelled = trueness.auc(t.labelled().bin(10)).bounds

    assert "unknown: each bin was treated" in of_all
    assert of_labelled[0] > 0


def test_bins_of_clusters_keep_bounds_and_standard_error():
    rng = np.random.default_rng(0)
    label = rng.integers(0, 2, 200)
    score = label + rng.normal(size=200)
    t = trueness.tally(label, score, cluster=np.arange(200) // 5)

    exact = trueness.auc(t)
    binned = trueness.auc(t.bin(20))

    assert binned.bounds[0] <= exact.value <= binned.bounds[1]
    assert binned.se == pytest.approx(exact.se, rel=0.05)
