"""Limits of metrics at a cut: Wilson by hand, R's survey package, slopes, laws."""

import json
import math
from functools import partial
from pathlib import Path

import numpy as np
import pytest
from scipy import stats
from sklearn import metrics as sk

import trueness
from trueness import Tally
from trueness._core.checks.errors import UnsupportedDesign
from trueness.inference.estimates import evaluate_measure
from trueness.metrics import intervals
from trueness.metrics.definitions import METRICS, SYNONYMS
from trueness.metrics.grammar import metric_as_typed
from trueness.metrics.intervals import Cut, estimates, metric_measure

SURVEY = json.loads((Path(__file__).parents[1] / "reference/survey.json").read_text())
Z = stats.norm.ppf(0.975)


def sample(n=400, seed=0):
    """Return labels, scores with ties, and weights of random cases."""
    rng = np.random.default_rng(seed)
    label = (rng.random(n) < 0.4).astype(int)
    score = np.round(rng.normal(size=n) + label, 1)
    return label, score, rng.exponential(size=n) ** 1.5


def estimates_at(label, score, threshold=0.5, names=None, **design):
    """Return the estimates of all metrics at a threshold, or of those named."""
    metrics = None if names is None else [METRICS[name] for name in names]
    return estimates(trueness.tally(label, score, **design), threshold, metrics)


def wilson(p, n, z=Z):
    """Return Wilson's interval (1927) of a proportion p of n cases."""
    centre = p + z**2 / (2 * n)
    half_width = z * math.sqrt(p * (1 - p) / n + z**2 / (4 * n**2))
    scale = 1 + z**2 / n
    return (centre - half_width) / scale, (centre + half_width) / scale


@pytest.mark.parametrize(
    ("name", "successes", "cases"),
    [
        ("recall", 9, 10),
        ("specificity", 18, 20),
        ("precision", 9, 11),
        ("npv", 18, 19),
        ("accuracy", 27, 30),
        ("fpr", 2, 20),
        ("flagged_rate", 11, 30),
    ],
)
def test_proportions_have_wilsons_interval(name, successes, cases):
    tally = Tally([1, 0], pos=[9, 1], neg=[2, 18])

    estimate = estimates(tally, 1)[name]

    assert estimate.value == successes / cases
    assert estimate.ci == pytest.approx(wilson(successes / cases, cases))
    assert estimate.method == "Wilson 1927"


def test_youdens_j_has_newcombes_method_10():
    """Newcombe (1998), table II (a): 56/70 - 48/80 has .0524 to .3339."""
    tally = Tally([1, 0], pos=[56, 14], neg=[48, 32])

    estimate = estimates(tally, 1, [METRICS["youden"]])["youden"]

    assert estimate.value == pytest.approx(0.2)
    assert (estimate.low, estimate.high) == pytest.approx((0.0524, 0.3339), abs=5e-5)
    assert estimate.method == "Newcombe 1998, method 10"


@pytest.mark.parametrize(("tp", "tn"), [(18, 40), (20, 45), (3, 50)])
def test_balanced_accuracy_is_half_of_one_more_than_j(tp, tn):
    tally = Tally([1, 0], pos=[tp, 20 - tp], neg=[50 - tn, tn])

    j, balanced, weighted = estimates(
        tally,
        1,
        [
            METRICS["youden"],
            METRICS["balanced_accuracy"],
            0.5 * METRICS["recall"] + 0.5 * METRICS["specificity"],
        ],
    ).values()

    for estimate in (balanced, weighted):
        assert estimate.low == pytest.approx((1 + j.low) / 2)
        assert estimate.high == pytest.approx((1 + j.high) / 2)


def test_a_difference_of_rates_falls_as_one_and_rises_as_the_other():
    tally = Tally([1, 0], pos=[18, 2], neg=[5, 45])
    recall, specificity = wilson(0.9, 20), wilson(0.9, 50)

    gap = METRICS["recall"] - METRICS["specificity"]
    [estimate] = estimates(tally, 1, [gap]).values()

    # the recall falls, the specificity rises
    below = math.hypot(0.9 - recall[0], specificity[1] - 0.9)
    above = math.hypot(recall[1] - 0.9, 0.9 - specificity[0])

    assert (estimate.low, estimate.high) == pytest.approx((-below, above))


def test_clusters_that_hold_both_classes_correlate_the_rates(rng):
    """Errors of clusters as wholes: the interval of J is wider than without them."""
    cluster = np.repeat(np.arange(40), 10)
    labels = np.tile([1, 0], 200)
    wrong = np.repeat(rng.random(40) < 0.2, 10)
    scores = np.where(wrong, 1 - labels, labels)

    together = estimates_at(labels, scores, names=["youden"], cluster=cluster)["youden"]
    alone = estimates_at(labels, scores, names=["youden"])["youden"]

    assert together.value == alone.value
    assert together.high - together.low > 2.5 * (alone.high - alone.low)


@pytest.mark.parametrize(
    ("name", "metric_of_scikit_learn"),
    [
        ("recall", sk.recall_score),
        ("precision", sk.precision_score),
        ("accuracy", sk.accuracy_score),
        ("f1", sk.f1_score),
        ("mcc", sk.matthews_corrcoef),
        ("kappa", sk.cohen_kappa_score),
        ("balanced_accuracy", sk.balanced_accuracy_score),
        ("jaccard", sk.jaccard_score),
        ("lr_positive", lambda *a, **k: sk.class_likelihood_ratios(*a, **k)[0]),
        ("lr_negative", lambda *a, **k: sk.class_likelihood_ratios(*a, **k)[1]),
    ],
)
def test_weighted_values_are_those_of_scikit_learn(name, metric_of_scikit_learn):
    label, score, weight = sample()

    estimate = estimates_at(label, score, names=[name], weight=weight)[name]

    expected = metric_of_scikit_learn(label, score >= 0.5, sample_weight=weight)
    assert estimate.value == pytest.approx(expected, rel=1e-12)
    assert estimate.low < estimate.value < estimate.high


@pytest.mark.parametrize(
    ("name", "tolerance"),
    [("recall", 0.0075), ("precision", 0.051), ("accuracy", 0.0035)],
)
def test_errors_of_proportions_are_those_of_the_survey_package(name, tolerance):
    """R: each case left out in turn, JK1 of svydesign(ids = ~case, weights = ~w)."""
    case = np.arange(1, 41)
    weight = 1 + (case * 7 % 11) / 2
    label = (case * 5 % 7 < 3).astype(int)
    verdict = (case * 3 % 8 < 4).astype(int)

    estimate = estimates_at(label, verdict, 1.0, [name], weight=weight)[name]

    # theirs has 39 / 40, ours Kish's number: of recall that of the class. Cases in a
    # row are left out by their mean weight, and of precision by their part of all
    in_use = weight[label == 1] if name == "recall" else weight
    kish = 1 - in_use @ in_use / in_use.sum() ** 2
    value, standard_error = SURVEY["shares"][name]
    ratio = estimate.se / (standard_error * np.sqrt(kish / (39 / 40)))
    assert estimate.value == pytest.approx(value, rel=1e-12)
    assert 1 - tolerance < ratio < 1


def test_slopes_by_hand():
    """F1 = 2 tp / (2 tp + fp + fn), its variance over all cases of a cohort."""
    tally = Tally([1, 0], pos=[30, 20], neg=[12, 138])

    estimate = estimates(tally, 1, [METRICS["f1"]])["f1"]

    cells = np.array([30, 12, 20, 138])
    denominator = 2 * 30 + 12 + 20
    f1 = 2 * 30 / denominator
    slope = np.array([2 * (1 - f1), -f1, -f1, 0]) / denominator
    variance = 200 / 199 * cells @ slope**2
    assert estimate.value == f1
    assert estimate.se == pytest.approx(np.sqrt(variance), rel=1e-6)


def test_a_class_on_one_side_has_an_interval():
    tally = Tally([1, 0], pos=[10, 0], neg=[5, 15])
    metrics = [METRICS["youden"], METRICS["lr_negative"]]

    youden, lr_negative = estimates(tally, 1, metrics).values()

    assert youden.value == 0.75
    assert youden.low < 0.75 - 0.2
    assert youden.high < 1
    assert lr_negative.low == 0


def test_a_proportion_of_no_cases_is_undefined():
    nothing_flagged = Tally([1, 0], pos=[10, 0], neg=[5, 15])

    precision = estimates(nothing_flagged, 2, [METRICS["precision"]])["precision"]

    assert math.isnan(precision.value)
    assert math.isnan(precision.low)


def partly_verified():
    tally = Tally([1, 0], pos=[60, 10], neg=[20, 30], unknown=[20, 160])
    return tally.with_design(unlabelled="missing at random")


def test_begg_and_greenes_by_hand():
    """Diseased among verified at each of two results, applied to all of each."""
    pos = np.array([100 * 60 / 80, 200 * 10 / 40])
    neg = np.array([100, 200]) - pos

    answers = estimates(
        partly_verified(), 1, [METRICS["recall"], METRICS["specificity"]]
    )

    recall = answers["recall"]

    assert recall.value == pytest.approx(pos[0] / pos.sum())
    assert answers["specificity"].value == pytest.approx(neg[1] / neg.sum())

    # Begg and Greenes (1983): the variance by the delta method on the logit scale
    ppv = 60 / 80
    npv = 30 / 40
    variance = 300 / (100 * 200) + (1 - ppv) / (80 * ppv) + npv / (40 * (1 - npv))
    standard_error = recall.value * (1 - recall.value) * np.sqrt(variance)

    assert recall.se == pytest.approx(standard_error, rel=0.05)


def test_the_curve_and_its_area_are_corrected_like_the_rates():
    tally = partly_verified()

    curve = trueness.roc(tally)

    recall = estimates(tally, 1, [METRICS["recall"]])["recall"]
    area = np.trapezoid(curve.tpr, curve.fpr)

    assert curve.tpr[1] == pytest.approx(recall.value)
    assert trueness.auc(tally).value == pytest.approx(area)


@pytest.mark.parametrize("level", [0.8, 0.9, 0.95, 0.99])
@pytest.mark.parametrize(
    ("metric", "successes", "cases"),
    [("recall", 87, 100), ("precision", 87, 103), ("accuracy", 388, 417)],
)
def test_wilsons_interval_has_all_digits_of_its_closed_form(
    metric, successes, cases, level
):
    # slopes by finite differences would cost six of the digits
    tally = Tally([1, 0], pos=[87, 13], neg=[16, 301])
    expected = wilson(successes / cases, cases, stats.norm.ppf((1 + level) / 2))

    interval = estimates(tally, 1, [METRICS[metric]], level=level)[metric].ci

    assert interval == pytest.approx(expected, rel=1e-14)


def g_mean_interval(pos, neg, unseen_positives=0.0):
    """By hand: Wilson's form with Student's quantile, and what was not seen below."""
    cut = Cut.of(Tally([1, 0], pos=pos, neg=neg), 1)
    measure = partial(metric_measure, METRICS["g_mean"], cut.flags)
    evaluated = evaluate_measure(cut.sample, measure)
    value = evaluated.value
    variance = evaluated.variance_estimate.variance
    quantile = stats.t.ppf(0.975, evaluated.variance_estimate.degrees_of_freedom)

    variance_below = variance
    if unseen_positives:
        specificity = neg[1] / sum(neg)
        change = math.sqrt((1 - unseen_positives) * specificity) - value
        variance_below += change**2 / quantile**2

    low, _ = wilson(value, value * (1 - value) / variance_below, quantile)
    _, high = wilson(value, value * (1 - value) / variance, quantile)
    return low, high


def test_classes_with_cases_on_both_sides_hide_nothing():
    tally = Tally([1, 0], pos=[15, 5], neg=[10, 30])

    estimate = estimates(tally, 1, [METRICS["g_mean"]])["g_mean"]

    assert estimate.ci == pytest.approx(g_mean_interval([15, 5], [10, 30]))


def test_a_class_on_one_side_leaves_room_for_the_other():
    """All positives are flagged: some that are missed may not have been seen."""
    tally = Tally([1, 0], pos=[20, 0], neg=[10, 30])

    estimate = estimates(tally, 1, [METRICS["g_mean"]])["g_mean"]

    # Wilson's upper end of none of 20
    unseen = Z**2 / (20 + Z**2)

    assert estimate.ci == pytest.approx(g_mean_interval([20, 0], [10, 30], unseen))


@pytest.mark.parametrize(
    "name", ["lr_positive", "lr_negative", "diagnostic_odds_ratio"]
)
def test_intervals_of_ratios_on_the_logarithmic_scale(name):
    """Simel et al. (1991), Woolf (1955), by hand."""
    tp, fp, fn, tn = 30.0, 8.0, 10.0, 52.0
    rates = {
        "lr_positive": (tp, tp + fn, fp, fp + tn),
        "lr_negative": (fn, tp + fn, tn, fp + tn),
    }
    if name in rates:
        first, first_cases, second, second_cases = rates[name]
        value = (first / first_cases) / (second / second_cases)
        variance = 1 / first - 1 / first_cases + 1 / second - 1 / second_cases
    else:
        value = tp * tn / (fp * fn)
        variance = 1 / tp + 1 / fp + 1 / fn + 1 / tn

    result = intervals._log_interval(name, value, np.array([tp, fp, fn, tn]), 0.95)

    factor = math.exp(Z * math.sqrt(variance))

    assert (result.low, result.high) == pytest.approx((value / factor, value * factor))


def test_a_number_of_cases_ends_at_all_of_them():
    tally = Tally([1, 0], pos=[9, 0], neg=[10, 1])

    flagged = estimates(tally, 0.5, [METRICS["flagged"]])["flagged"]

    assert flagged.value == 19
    assert flagged.high <= 20


def unseen_side(pos, neg, level):
    """Return the variances of F1 below and above its value, and the plain one."""
    cut = Cut.of(Tally([1, 0], pos=pos, neg=neg), 1)
    metric = METRICS["f1"]
    evaluated = evaluate_measure(cut.sample, partial(metric_measure, metric, cut.flags))
    below, above = intervals._variances_with_unseen_side(cut, metric, evaluated, level)
    return evaluated, below, above


def widened_variance(evaluated, changed_value, level):
    """Return the variance whose interval reaches as far as one more distance."""
    estimate = evaluated.variance_estimate
    quantile = stats.t.ppf((1 + level) / 2, estimate.degrees_of_freedom)
    change = changed_value - evaluated.value
    return estimate.variance + change**2 / quantile**2


@pytest.mark.parametrize("level", [0.8, 0.99])
def test_f1_may_fall_by_positives_that_are_missed(level):
    evaluated, below, above = unseen_side(pos=[20, 0], neg=[10, 30], level=level)

    # Wilson's upper end of none of n cases is on the side that was not seen
    z = stats.norm.ppf((1 + level) / 2)
    fn = 20 * z**2 / (20 + z**2)
    tp = 20 - fn
    f1 = 2 * tp / (2 * tp + 10 + fn)

    assert below.variance == pytest.approx(widened_variance(evaluated, f1, level))
    assert above.variance == evaluated.variance_estimate.variance


@pytest.mark.parametrize("level", [0.8, 0.99])
def test_f1_may_rise_by_negatives_that_are_not_flagged(level):
    evaluated, below, above = unseen_side(pos=[15, 5], neg=[40, 0], level=level)

    z = stats.norm.ppf((1 + level) / 2)
    fp = 40 - 40 * z**2 / (40 + z**2)
    f1 = 2 * 15 / (2 * 15 + fp + 5)

    assert above.variance == pytest.approx(widened_variance(evaluated, f1, level))
    assert below.variance == evaluated.variance_estimate.variance


EXACT_TABLE = Tally([1, 0], pos=[30, 10], neg=[8, 52])


@pytest.mark.parametrize("level", [0.8, 0.95])
@pytest.mark.parametrize(
    ("name", "successes", "cases"),
    [
        ("recall", 30, 40),
        ("specificity", 52, 60),
        ("precision", 30, 38),
        ("npv", 52, 62),
        ("accuracy", 82, 100),
        ("fpr", 8, 60),
        ("jaccard", 30, 48),
        ("flagged_rate", 38, 100),
    ],
)
def test_exact_intervals_of_proportions_are_those_of_scipy(
    name, successes, cases, level
):
    estimate = estimates(EXACT_TABLE, 1, [METRICS[name]], level=level, method="exact")[
        name
    ]

    expected = stats.binomtest(successes, cases).proportion_ci(level, method="exact")

    assert estimate.value == successes / cases
    assert (estimate.low, estimate.high) == pytest.approx((expected.low, expected.high))
    assert estimate.method == "Clopper and Pearson 1934"


@pytest.mark.parametrize(
    ("name", "method"),
    [
        ("lr_positive", "Simel, Samsa and Matchar 1991"),
        ("lr_negative", "Simel, Samsa and Matchar 1991"),
        ("diagnostic_odds_ratio", "Woolf 1955"),
    ],
)
def test_exact_intervals_of_ratios_have_their_value_in_the_middle(name, method):
    estimate = estimates(EXACT_TABLE, 1, [METRICS[name]], level=0.9, method="exact")[
        name
    ]

    assert method in estimate.method
    assert estimate.low * estimate.high == pytest.approx(estimate.value**2)

    usual = estimates(EXACT_TABLE, 1, [METRICS[name]], level=0.9)[name]

    assert estimate.value == usual.value
    assert (estimate.low, estimate.high) != (usual.low, usual.high)


def test_odds_ratio_has_the_interval_of_scipy():
    theirs = stats.contingency.odds_ratio([[30, 8], [10, 52]], kind="sample")
    expected = theirs.confidence_interval(0.9)

    [result] = estimates(
        EXACT_TABLE, 1, [METRICS["diagnostic_odds_ratio"]], level=0.9, method="exact"
    ).values()

    assert result.value == pytest.approx(theirs.statistic)
    assert result.ci == pytest.approx((expected.low, expected.high))


@pytest.mark.parametrize("alias", sorted(SYNONYMS.keys() - {"fbeta", "nb"}))
@pytest.mark.parametrize("method", ["wilson", "exact"])
def test_an_alias_has_the_interval_of_its_metric(alias, method):
    own_name = SYNONYMS[alias]
    by_own_name = estimates(EXACT_TABLE, 1, [METRICS[own_name]], method=method)

    by_alias = estimates(EXACT_TABLE, 1, [metric_as_typed(alias)], method=method)

    assert by_alias[alias].ci == by_own_name[own_name].ci


def test_metrics_without_an_exact_interval_keep_their_own():
    names = ["mcc", "f1", "youden"]
    metrics = [METRICS[name] for name in names]

    exact = estimates(EXACT_TABLE, 1, metrics, method="exact")

    usual = estimates(EXACT_TABLE, 1, metrics)

    assert [e.ci for e in exact.values()] == [e.ci for e in usual.values()]
    assert list(exact) == names


@pytest.mark.parametrize(
    ("name", "pos", "neg"),
    [("lr_positive", [30, 10], [0, 60]), ("lr_negative", [40, 0], [8, 52])],
)
def test_a_ratio_without_a_logarithm_keeps_its_usual_interval(name, pos, neg):
    tally = Tally([1, 0], pos=pos, neg=neg)

    [exact] = estimates(tally, 1, [METRICS[name]], method="exact").values()
    [usual] = estimates(tally, 1, [METRICS[name]]).values()

    assert exact.ci == usual.ci


@pytest.mark.parametrize(
    "design",
    [{"prevalence": 0.2}, {"unlabelled": "missing at random"}],
    ids=["prevalence", "unlabelled"],
)
def test_exact_intervals_count_independent_cases(design):
    tally = Tally([1, 0], pos=[30, 10], neg=[8, 52], unknown=[5, 5])

    with pytest.raises(UnsupportedDesign, match="independent cases"):
        estimates(tally.with_design(**design), 1, method="exact")


def test_estimates_stand_in_the_order_that_was_wanted():
    names = ["precision", "youden", "specificity", "accuracy", "recall"]

    answers = estimates(EXACT_TABLE, 1, [METRICS[name] for name in names])

    assert list(answers) == names


def test_without_a_prevalence_a_case_control_sample_has_rates_only():
    tally = EXACT_TABLE.with_design(sampling="case-control")

    of_sample = estimates(tally, 1)
    at_prevalence = estimates(tally.with_design(prevalence=0.1), 1)

    assert "precision" not in of_sample
    assert {"recall", "specificity", "youden"} <= set(of_sample)
    assert set(at_prevalence) == set(METRICS)

    # Bayes
    precision = 0.1 * 0.75 / (0.1 * 0.75 + 0.9 * 8 / 60)

    assert at_prevalence["precision"].value == pytest.approx(precision)


@pytest.mark.parametrize(
    ("name", "coefficients"),
    [
        ("youden", (1.0, 1.0)),
        ("balanced_accuracy", (0.5, 0.5)),
        ("recall - 2*fpr", (1.0, 2.0)),
        ("0.3*fnr + 0.2*specificity", (-0.3, 0.2)),
        ("recall", None),
        ("g_mean", None),
        ("accuracy", None),
        ("lr_positive", None),
    ],
)
def test_multiples_of_both_rates_in_a_metric(name, coefficients):
    metric = trueness.metric(name)

    assert intervals.rate_coefficients(metric) == coefficients


@pytest.mark.parametrize(
    ("first", "second", "correlation", "length"),
    [(3, 4, 0, 5), (3, 4, 1, 7), (3, 4, -1, 1), (3, 3, -1, 0), (0, 2, 0.5, 2)],
)
def test_correlated_distances_are_added_as_squares(first, second, correlation, length):
    result = intervals._joint_distance(first, second, correlation)

    assert result == pytest.approx(length)


@pytest.mark.parametrize(
    ("variance", "first", "second", "correlation"),
    [
        (25, 3, 4, 0),
        (49, 3, 4, 1),
        (1, 3, 4, -1),
        (37, 3, 4, 0.5),
        (99, 3, 4, 1),
        (0, 3, 4, -1),
        (13, 3, -4, -0.5),
        (9, 3, 0, 0),
        (math.nan, 3, 4, 0),
    ],
)
def test_correlation_of_two_parts_of_a_sum(variance, first, second, correlation):
    """Of 3 and 4 the variance of the sum is 25 + 24 r."""
    result = intervals._correlation_of_parts(variance, first, second)

    assert result == pytest.approx(correlation)


def test_a_measure_looks_at_the_classes_that_change_it():
    """Cells of two groups, of flagged and other cases, of positives and negatives."""
    cells = np.array([[[9.0, 2.0], [1.0, 8.0]], [[5.0, 3.0], [5.0, 7.0]]])
    tally = Tally([1, 0], pos=[9, 1], neg=[2, 18])

    def gap_of_recall(cells):
        recall = cells[:, 0, 0] / cells[:, :, 0].sum(axis=1)
        return recall[0] - recall[1]

    def gap_of_accuracy(cells):
        accuracy = (cells[:, 0, 0] + cells[:, 1, 1]) / cells.sum(axis=(1, 2))
        return accuracy[0] - accuracy[1]

    assert intervals.units_seen(gap_of_recall, cells, 0, tally) == [10]
    assert intervals.units_seen(gap_of_accuracy, cells, 0, tally) == [10, 20]
    assert intervals.units_seen(lambda cells: 3.0, cells, 1, tally) == [10, 20]


def test_slopes_of_any_measure_by_differences():
    cells = np.array([4.0, 0.0, 9.0])

    result = intervals.slopes(lambda c: c[..., 0] * np.sqrt(c[..., 2]), cells)

    # an empty cell has no case to move anything
    assert result == pytest.approx([3, 0, 4 / (2 * 3)], rel=1e-8)


def test_an_infinite_ratio_lies_between_corners_of_both_rates():
    """No false positive: the ratio is infinite, and what both rates allow is not."""
    tally = Tally([1, 0], pos=[15, 5], neg=[0, 30])

    [result] = estimates(tally, 1, [METRICS["lr_positive"]]).values()

    recall_low, _ = wilson(0.75, 20)
    _, fpr_high = wilson(0.0, 30)

    assert result.value == math.inf
    assert result.low == pytest.approx(recall_low / fpr_high)
    assert result.high == math.inf


def test_a_ratio_of_zero_ends_at_a_corner_of_both_rate_intervals():
    verdicts = Tally([1, 0], pos=[0, 20], neg=[6, 30])

    estimate = trueness.at_threshold(verdicts, 1, ["lr_positive"])["lr_positive"]

    recall = stats.binomtest(0, 20).proportion_ci(method="wilson")
    fpr = stats.binomtest(6, 36).proportion_ci(method="wilson")
    assert (estimate.value, estimate.low) == (0, 0)
    assert estimate.high == pytest.approx(recall.high / fpr.low)
