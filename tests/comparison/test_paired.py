"""Comparisons: by hand, pROC, R's survey, brute force, laws, simulation."""

import json
from functools import partial
from pathlib import Path

import numpy as np
import pytest
from scipy import stats

import trueness
from conftest import tied_cases
from trueness import Panel

PROC = json.loads((Path(__file__).parents[1] / "reference" / "proc.json").read_text())
SURVEY = json.loads((Path(__file__).parents[1] / "reference/survey.json").read_text())
NAMES = ("ndka", "s100b", "wfns")


@pytest.fixture
def asah():
    return trueness.panel(PROC["poor"], {k: PROC[k] for k in NAMES})


def ends(estimate):
    return estimate.low, estimate.high


def sample(rng, n=200, gap=0.0, clusters=0):
    """Return labels, two scores and a design; clusters share part of the noise."""
    label = (rng.random(n) < 0.4).astype(int)
    weight = np.exp(0.9 * rng.normal(size=n))
    cluster = rng.integers(0, clusters, n) if clusters else np.arange(n)
    shared_noise = rng.normal(size=(2, n))[:, cluster]
    first, second = label + shared_noise + 0.5 * rng.normal(size=(2, n))
    scores = {"a": first + gap * label, "b": second}
    return label, scores, {"weight": weight, "cluster": cluster}


# areas


def test_proc_agrees_to_the_digit(asah):
    comparison = trueness.compare_auc(asah, method="delong")

    for pair in comparison.pairs:
        z, p, low, high = PROC[f"paired_{pair.first}_{pair.second}"][2:]
        assert pair.statistic == pytest.approx(z, rel=1e-9)
        assert pair.p_value == pytest.approx(p, rel=1e-9)
        assert ends(pair.difference) == pytest.approx((low, high), rel=1e-9)
        assert pair.difference.method == "DeLong 1988"


def test_proc_agrees_to_the_digit_of_different_cases(asah):
    tallies = {k: asah[k] for k in NAMES}
    comparison = trueness.compare_auc(tallies, method="delong")

    for pair in comparison.pairs:
        statistic, _, p = PROC[f"unpaired_{pair.first}_{pair.second}"][2:]
        assert pair.statistic == pytest.approx(statistic, rel=1e-9)
        assert pair.p_value == pytest.approx(p, rel=1e-9)
        two = trueness.compare_auc(
            tallies[pair.first], tallies[pair.second], method="delong"
        )
        assert two.pairs[0].p_value == pair.p_value


def test_student_and_proc_differ_by_the_quantile(asah):
    comparison = trueness.compare_auc(asah)

    for pair in comparison.pairs:
        z, p, low, high = PROC[f"paired_{pair.first}_{pair.second}"][2:]
        difference = pair.difference
        assert pair.statistic == pytest.approx(z, rel=1e-9)
        assert p < pair.p_value < p + 0.01
        assert 1 < (difference.high - difference.low) / (high - low) < 1.07
        assert difference.low + difference.high == pytest.approx(low + high)


def test_a_comparison_as_text_table_and_json(asah):
    comparison = trueness.compare_auc(asah)

    assert comparison.paired
    assert not trueness.compare_auc({k: asah[k] for k in NAMES}).paired
    assert comparison.to_frame("dict")["first"] == ["ndka", "ndka", "s100b"]
    assert "ndka - wfns" in repr(comparison)

    json.dumps(comparison.to_dict())


def test_a_new_version_of_the_same_model_is_compared_as_finely_as_by_delong(rng):
    labels = np.repeat([1, 0], 100)
    a = rng.normal(size=200) + 2.66 * labels
    scores = {"a": a, "b": a + 0.02 * rng.normal(size=200)}

    ours = trueness.compare_auc(labels, scores).pairs[0].difference
    delong = trueness.compare_auc(labels, scores, method="delong").pairs[0].difference

    assert ours.high - ours.low < 1.15 * (delong.high - delong.low)


def test_a_gate_has_the_interval_of_the_comparison(asah):
    panel = asah[["s100b", "ndka"]]
    difference = trueness.compare_auc(panel, level=0.9).pairs[0].difference

    verdict = trueness.check(
        panel, {"metric": "auc", "not_worse_than": "ndka", "margin": 0.05}
    ).verdicts[0]

    assert (verdict.low, verdict.high) == ends(difference)


def placements(label, score):
    """Return the placement values of positives, and of negatives."""
    pos = score[label == 1][:, None]
    neg = score[label == 0]
    wins = (pos > neg) + 0.5 * (pos == neg)
    return wins.mean(axis=1), wins.mean(axis=0)


def freedom_of(*placements_by_class):
    """Return Satterthwaite's degrees of freedom from fourth moments."""
    variance = 0.0
    variance_of_variance = 0.0
    for placement in placements_by_class:
        n = placement.size
        influence = (placement - placement.mean()) / n
        sum_of_squares = influence @ influence
        # at least as of normal values, whose kurtosis is 3
        of_normal = 2 * sum_of_squares**2 / (n - 1)
        observed = (influence**4).sum() - sum_of_squares**2 / n
        variance_of_variance += max(observed, of_normal) * (n / (n - 1)) ** 2
        variance += sum_of_squares * n / (n - 1)

    return 2 * variance**2 / variance_of_variance


def test_slow_twin_with_ties(rng):
    labels, score = tied_cases(rng, 120)
    scores = {"a": score}
    for name in "bcd":
        scores[name] = np.round(score + rng.normal(size=score.size), 1)

    comparison = trueness.compare_auc(trueness.panel(labels, scores))

    # DeLong's covariance, and Student's quantile
    of_positives, of_negatives = zip(
        *(placements(labels, column) for column in scores.values()), strict=True
    )
    covariance = np.cov(of_positives) / len(of_positives[0])
    covariance += np.cov(of_negatives) / len(of_negatives[0])
    areas = np.array([estimate.value for estimate in comparison.values])
    for pair in comparison.pairs:
        i = "abcd".index(pair.first)
        j = "abcd".index(pair.second)
        difference = areas[i] - areas[j]
        standard_error = np.sqrt(
            covariance[i, i] + covariance[j, j] - 2 * covariance[i, j]
        )
        statistic = difference / standard_error
        freedom = freedom_of(
            of_positives[i] - of_positives[j], of_negatives[i] - of_negatives[j]
        )
        p_value = 2 * stats.t.sf(abs(statistic), freedom)

        assert pair.difference.value == pytest.approx(difference)
        assert pair.difference.se == pytest.approx(standard_error)
        assert pair.statistic == pytest.approx(statistic)
        assert pair.p_value == pytest.approx(p_value, rel=1e-6)


def test_each_area_of_a_comparison_is_that_of_its_classifier(rng):
    labels, score = tied_cases(rng, 120)
    scores = {"a": score, "b": np.round(score + rng.normal(size=score.size), 1)}

    comparison = trueness.compare_auc(trueness.panel(labels, scores))

    for name, estimate in zip(comparison.names, comparison.values, strict=True):
        alone = trueness.auc(labels, scores[name])
        assert estimate.value == pytest.approx(alone.value)
        assert ends(estimate) == pytest.approx(ends(alone))


def test_all_are_equal_exactly_when_no_pair_differs(rng):
    for gap in (0.0, 0.5, 1.0):
        labels = (rng.random(150) < 0.4).astype(int)
        scores = {
            k: labels + gap * i * labels + rng.normal(size=150)
            for i, k in enumerate("abcd")
        }
        comparison = trueness.compare_auc(labels, scores)

        p_values = sorted(pair.p_value for pair in comparison.pairs)
        assert comparison.p_value == min(pair.p_adjusted for pair in comparison.pairs)
        assert comparison.p_value == pytest.approx(min(1, 6 * p_values[0]))


def brute_obuchowski(y, first, second, cluster):
    """Obuchowski (1997), of a difference, term by term; clusters left out in turn.

    X and Z are the sums over a cluster of the placements of its positives and of its
    negatives, less their means.
    """
    first_positives, first_negatives = placements(y, first)
    second_positives, second_negatives = placements(y, second)
    of_positives = first_positives - second_positives
    of_negatives = first_negatives - second_negatives

    cluster_of_positive = cluster[y == 1]
    cluster_of_negative = cluster[y == 0]
    clusters = np.unique(cluster)
    x = cluster_sums(of_positives, cluster_of_positive, clusters)
    z = cluster_sums(of_negatives, cluster_of_negative, clusters)

    with_positives = np.unique(cluster_of_positive).size
    with_negatives = np.unique(cluster_of_negative).size
    variance = (1 - 1 / with_positives) * x @ x + (1 - 1 / with_negatives) * z @ z
    variance += 2 * (1 - 1 / clusters.size) * x @ z
    return of_positives.mean(), np.sqrt(variance)


def cluster_sums(placement, cluster_of_case, clusters):
    """Return the centred placements of each cluster over the cases outside it."""
    centred = placement - placement.mean()
    return np.array(
        [
            centred[cluster_of_case == cluster].sum()
            / (cluster_of_case != cluster).sum()
            for cluster in clusters
        ]
    )


def test_clusters_by_the_formula_of_obuchowski(rng):
    label, scores, design = sample(rng, 150, clusters=20)
    cluster = design["cluster"]
    first = np.round(scores["a"], 1)
    second = np.round(scores["b"], 1)

    comparison = trueness.compare_auc(label, {"a": first, "b": second}, cluster=cluster)

    difference = comparison.pairs[0].difference
    value, standard_error = brute_obuchowski(label, first, second, cluster)
    assert difference.value == pytest.approx(value)
    assert difference.se == pytest.approx(standard_error)


@pytest.mark.parametrize("margin", [0.01, 0.1, 0.5])
def test_few_copies_are_not_proven_equal(margin):
    labels = [1, 1, 1, 0, 0, 0, 0, 0]

    comparison = trueness.compare_auc(labels, {"a": labels, "b": labels}, margin=margin)

    pair = comparison.pairs[0]

    assert (pair.difference.value, pair.p_value, comparison.p_value) == (0, 1, 1)
    assert pair.p_equivalent > 0.05
    # by hand: of 3 positives, a kind of which a share 1 - .025^(1/3) was not seen
    assert pair.difference.high == pytest.approx(1 - 0.025 ** (1 / 3))
    assert pair.difference.low == -pair.difference.high


def test_few_copies_say_why_they_are_not_proven_equal():
    labels = [1, 1, 1, 0, 0, 0, 0, 0]

    comparison = trueness.compare_auc(labels, {"a": labels, "b": labels}, margin=0.5)
    recall = trueness.compare_metric(
        labels, {"a": labels, "b": labels}, "recall", margin=0.1
    )

    assert "With 3 positive cases only a very large" in comparison.notes[0]
    assert "a - b: the same output in every case, p = 1" in repr(comparison)
    assert recall.pairs[0].p_equivalent > 0.05


def test_many_copies_are_equal():
    labels = np.repeat([0, 1], 500)

    copies = trueness.compare_auc(labels, {"a": labels, "b": 2.0 * labels}, margin=0.05)

    assert copies.pairs[0].p_equivalent < 1e-6


def test_opposites_differ():
    labels = np.repeat([0, 1], 500)

    opposites = trueness.compare_metric(
        labels, {"a": labels, "b": 1 - labels}, "recall"
    )

    assert opposites.p_value < 1e-4
    assert not opposites.notes


def test_copies_do_not_change_the_statistic_of_others(rng):
    labels, score = tied_cases(rng, 300)
    other_score = score + rng.normal(size=score.size)
    scores = {"a": score, "twin": score, "exp": np.exp(score), "b": other_score}

    comparison = trueness.compare_auc(labels, scores)
    direct = trueness.compare_auc(labels, {"a": score, "b": other_score})

    assert comparison.pairs[2].statistic == pytest.approx(direct.pairs[0].statistic)
    assert comparison.p_value == min(pair.p_adjusted for pair in comparison.pairs)

    copies = [pair for pair in comparison.pairs if "b" not in (pair.first, pair.second)]

    assert {(pair.difference.value, pair.p_value) for pair in copies} == {(0, 1)}


def test_a_class_without_a_difference_is_said(rng):
    # both find 25 of 30 positives; of 40 negatives a flags eight, b two of them
    labels = np.repeat([1, 0], [30, 40])
    scores = {
        "a": np.repeat([1, 0, 1], [25, 37, 8]),
        "b": np.repeat([1, 0, 1], [25, 43, 2]),
    }

    comparison = trueness.compare_auc(labels, scores)
    by_delong = trueness.compare_auc(labels, scores, method="delong")

    (note, *_) = comparison.notes

    assert "a and b differ by the same amount on every positive case" in note

    # DeLong's interval knows of the negatives only
    interval = comparison.pairs[0].difference
    delong = by_delong.pairs[0].difference

    assert interval.high - interval.low > 1.2 * (delong.high - delong.low)


def votes(table):
    """A panel of two voters from counts {(vote a, vote b): (neg, pos)}."""
    neg, pos = zip(*table.values(), strict=True)
    return Panel(["a", "b"], list(table), neg, pos)


@pytest.mark.parametrize(
    ("compare", "margin"),
    [
        (trueness.compare_auc, 0.045),
        (partial(trueness.compare_metric, metric="recall"), 0.09),
    ],
    ids=["auc", "recall"],
)
def test_tests_with_few_errors_cover_and_keep_the_margin(rng, compare, margin):
    """Recall .90 and .99, specificity .9: the truth lies on the margin."""
    label = np.repeat([1, 0], [20, 100])
    flagged_rate = np.where(label[:, None] == 1, [0.90, 0.99], [0.1, 0.1])
    covered = 0
    falsely_noninferior = 0
    for _ in range(150):
        shared = 0.6 * rng.normal(size=(120, 1))
        uniform = stats.norm.cdf(shared + 0.8 * rng.normal(size=(120, 2)))
        flags = uniform < flagged_rate
        panel = trueness.panel(label, {"a": flags[:, 0], "b": flags[:, 1]})

        pair = compare(panel, margin=margin).pairs[0]

        covered += pair.difference.low <= -margin <= pair.difference.high
        falsely_noninferior += pair.p_noninferior < 0.05

    assert covered / 150 > 0.92 - 0.02
    assert falsely_noninferior / 150 < 0.075 + 0.04


def test_margins_by_hand(asah):
    pair = trueness.compare_auc(asah[["s100b", "ndka"]], margin=0.1).pairs[0]

    assert pair.p_equivalent == max(pair.p_noninferior, pair.p_noninferior_second)
    assert "not worse by 0.1" in repr(pair)

    for p, end, bound in (
        (pair.p_noninferior, "low", -0.1),
        (pair.p_noninferior_second, "high", 0.1),
        (pair.p_value / 2, "low", 0.0),
    ):
        # a p-value is the level at which the interval would end at the bound
        again = trueness.compare_auc(asah[["s100b", "ndka"]], level=abs(1 - 2 * p))
        away = again.pairs[0].difference
        end = end if p < 0.5 else {"low": "high", "high": "low"}[end]
        assert getattr(away, end) == pytest.approx(bound, abs=1e-9)

    assert np.isnan(trueness.compare_auc(asah).pairs[0].p_noninferior)
    assert "p_noninferior" in trueness.compare_auc(asah, margin=0.1).to_frame("dict")
    with pytest.raises(trueness.InputError, match="margin"):
        trueness.compare_auc(asah, margin=-0.1)


# metrics at thresholds

TABLE = {(1, 1): (3, 20), (1, 0): (2, 9), (0, 1): (7, 3), (0, 0): (30, 5)}


# of TABLE: cases that only the first counts, and that only the second counts
DISCORDANT = {"accuracy": (9 + 7, 3 + 2), "recall": (9, 3), "specificity": (7, 2)}


@pytest.mark.parametrize("metric", DISCORDANT)
def test_mcnemar_by_hand(metric):
    only_first, only_second = DISCORDANT[metric]
    discordant = only_first + only_second

    pair = trueness.compare_metric(votes(TABLE), metric, method="mcnemar").pairs[0]

    by_hand = stats.binomtest(only_first, discordant).pvalue

    assert pair.p_value == pytest.approx(by_hand)
    assert (pair.p_value < 0.05) == (pair.difference.low > 0)


@pytest.mark.parametrize("metric", DISCORDANT)
def test_tango_is_mcnemar_without_a_continuity_correction(metric):
    only_first, only_second = DISCORDANT[metric]

    comparison = trueness.compare_metric(votes(TABLE), metric)

    pair = comparison.pairs[0]
    statistic = (only_first - only_second) / np.sqrt(only_first + only_second)

    assert pair.statistic == pytest.approx(statistic)

    # p-value, interval and overall test are one method
    low, high = ends(pair.difference)

    assert comparison.p_value == pair.p_value
    assert (comparison.p_value < 0.05) == (not low <= 0 <= high)


def test_a_difference_of_false_positive_rates_is_that_of_specificities_reversed():
    panel = votes(TABLE)

    specificity = trueness.compare_metric(panel, "specificity").pairs[0]
    fpr = trueness.compare_metric(panel, "fpr").pairs[0]

    assert specificity.difference.value == pytest.approx((7 - 2) / 42)
    assert fpr.p_value == pytest.approx(specificity.p_value)
    assert fpr.statistic == pytest.approx(-specificity.statistic)


def test_any_metric_by_leaving_out_cases():
    comparison = trueness.compare_metric(votes(TABLE), "f1")

    # of 37 positives the first flags 29 among 34, the second 23 among 33
    first_f1 = 2 * 29 / (34 + 37)
    second_f1 = 2 * 23 / (33 + 37)
    assert [x.value for x in comparison.values] == pytest.approx([first_f1, second_f1])

    # 2 tp / (flagged + positives): linearised by hand, case by case
    sum_of_squares = 0.0
    for (first, second), counts in TABLE.items():
        for label, count in enumerate(counts):
            of_first = (2 * first * label - first_f1 * (first + label)) / (34 + 37)
            of_second = (2 * second * label - second_f1 * (second + label)) / (33 + 37)
            sum_of_squares += count * (of_first - of_second) ** 2

    standard_error = np.sqrt(79 / 78 * sum_of_squares)
    difference = comparison.pairs[0].difference
    assert difference.se == pytest.approx(standard_error, rel=1e-6)


def survey_rows():
    """Return labels, two scores, weights and clusters, as R's script makes them."""
    case = np.arange(1, 61)
    label = (case * 5 % 7 < 3).astype(int)
    score = (case * 3 % 19 / 19 + 0.02) / 1.05
    weight = 1 + (case * 7 % 11) / 2
    return label, {"a": score, "b": np.roll(score, 1)}, weight, case * 7 % 13


@pytest.mark.parametrize(
    ("metric", "tolerance"),
    # recall of clusters is exact; F1 is no quotient of counts; see test_intervals
    [("recall", 1e-9), ("f1", 0.017)],
)
def test_the_survey_package_agrees_on_clusters(metric, tolerance):
    """R: each cluster left out in turn (JK1 of svydesign(ids, weights))."""
    labels, scores, weight, cluster = survey_rows()

    comparison = trueness.compare_metric(
        labels, scores, metric=metric, weight=weight, cluster=cluster
    )

    difference = comparison.pairs[0].difference
    printed = SURVEY["pair by cluster"][metric]

    assert (difference.value, difference.se) == pytest.approx(printed, rel=tolerance)


@pytest.mark.parametrize(("metric", "tolerance"), [("recall", 0.013), ("f1", 0.02)])
def test_the_survey_package_agrees_on_weighted_cases(metric, tolerance):
    """R: each case left out in turn."""
    labels, scores, weight, _ = survey_rows()

    comparison = trueness.compare_metric(labels, scores, metric=metric, weight=weight)

    difference = comparison.pairs[0].difference
    value, standard_error = SURVEY["pair by case"][metric]
    # they have (n - 1) / n of 60 rows, we of as many equal cases (Kish)
    counted = weight[labels == 1] if metric == "recall" else weight
    equal_cases = counted.sum() ** 2 / (counted @ counted)
    standard_error *= np.sqrt((1 - 1 / equal_cases) / (59 / 60))

    assert difference.value == pytest.approx(value, rel=1e-9)
    assert 1 - tolerance < difference.se / standard_error < 1


@pytest.fixture
def half_positives(rng):
    labels = np.repeat([1, 0], [50, 50])
    scores = rng.normal(size=(100, 2)) + labels[:, None] * [1.5, 0.5]
    return trueness.panel(labels, {"a": scores[:, 0], "b": scores[:, 1]})


def test_precision_of_a_case_control_sample_needs_the_prevalence(half_positives):
    with pytest.raises(
        trueness.InputError, match="precision depends on the prevalence"
    ):
        trueness.compare_metric(half_positives, "precision", sampling="case-control")


def test_recall_of_a_case_control_sample_is_that_of_a_cohort(half_positives):
    of_sample = trueness.compare_metric(
        half_positives, "recall", sampling="case-control"
    )

    assert (
        of_sample.pairs[0] == trueness.compare_metric(half_positives, "recall").pairs[0]
    )


def test_precision_at_a_prevalence_by_hand(half_positives):
    comparison = trueness.compare_metric(
        half_positives, "precision", prevalence=0.05, sampling="case-control"
    )

    for name, precision in zip(comparison.names, comparison.values, strict=True):
        flagged = half_positives[name].map(lambda score: score >= 0.5)
        recall = flagged.pos[0] / 50
        fpr = flagged.neg[0] / 50
        by_hand = 0.05 * recall / (0.05 * recall + 0.95 * fpr)
        assert precision.value == pytest.approx(by_hand)


def test_mcnemar_refuses_what_it_cannot_count(half_positives):
    labels = np.repeat([1, 0], [50, 50])
    weight = np.arange(100) + 1.0

    with pytest.raises(trueness.InputError, match="proportions on the same cases"):
        trueness.compare_metric(half_positives, "f1", method="mcnemar")
    with pytest.raises(trueness.InputError, match="does not take weights"):
        trueness.compare_metric(
            labels,
            {"a": labels, "b": labels},
            "recall",
            method="mcnemar",
            weight=weight,
        )


def test_a_metric_without_a_value_is_not_judged():
    p = trueness.panel([1, 1, 0, 0], {"a": [1, 0, 0, 1], "b": [0] * 4})
    comparison = trueness.compare_metric(p, "precision", margin=0.1)
    pair = comparison.pairs[0]

    assert np.isnan([pair.p_value, comparison.p_value, pair.p_noninferior]).all()
    assert "precision of 'b' is undefined" in comparison.notes[0]

    none = trueness.panel([0, 0, 0], {"a": [1, 0, 1], "b": [0, 0, 1]})

    assert np.isnan(trueness.compare_metric(none, "recall").p_value)

    for nothing in (Panel(["a", "b"], np.zeros((0, 2))), Panel(["a", "b"], [[1, 0]])):
        with pytest.raises(trueness.NotEnoughCases, match="compare_metric needs"):
            trueness.compare_metric(nothing, "recall")


# any number


def area_of(tally):
    return trueness.auc(tally).value


@pytest.mark.parametrize("arguments", [(), ("weight",), ("weight", "cluster")])
def test_a_number_of_ones_own_has_the_interval_of_the_formula(rng, arguments):
    labels, scores, design = sample(rng, 120, gap=0.3, clusters=30)
    panel = trueness.panel(labels, scores, **{name: design[name] for name in arguments})

    by_formula = trueness.compare(panel, trueness.auc).pairs[0]
    by_jackknife = trueness.compare(panel, area_of, method="jackknife").pairs[0]

    assert by_formula == trueness.compare_auc(panel).pairs[0]
    assert by_jackknife.difference.value == by_formula.difference.value

    standard_error = pytest.approx(by_formula.difference.se, rel=0.03)

    assert by_jackknife.difference.se == standard_error


def test_a_number_of_ones_own_says_its_range(rng):
    labels, scores, _ = sample(rng, 120, gap=0.3)
    panel = trueness.panel(labels, scores)

    def tenfold(tally):
        return 10 * area_of(tally)

    pair = trueness.compare(panel, tenfold, value_range=(0, 10)).pairs[0]

    by_formula = trueness.compare_auc(panel).pairs[0]

    assert pair.difference.value == pytest.approx(10 * by_formula.difference.value)
    with pytest.raises(trueness.InputError, match="outside its range"):
        trueness.compare(panel, tenfold)


def test_one_classifier_cannot_be_compared(rng):
    labels, scores, _ = sample(rng, 120)
    panel = trueness.panel(labels, scores)

    with pytest.raises(trueness.InputError, match="at least two classifiers"):
        trueness.compare(panel[["a"]], trueness.auc)


def test_a_number_of_ones_own_by_redrawn_cases(rng):
    labels, scores, how = sample(rng, 150, gap=0.5, clusters=40)

    def area(t):
        return trueness.auc(t).value

    for design in ({}, {"weight": how["weight"]}, how):
        panel = trueness.panel(labels, scores, **design)
        formula = trueness.compare(panel, trueness.auc).pairs[0].difference
        comparison = trueness.compare(panel, area, margin=0.1)
        pair = comparison.pairs[0]

        assert pair.difference.method == "bootstrap"
        assert pair.difference.value == formula.value
        assert pair.difference.se == pytest.approx(formula.se, rel=0.15)
        # each classifier has the interval that it has alone, p that of the interval
        alone = trueness.estimate(panel["a"], area)
        assert ends(comparison.values[0]) == ends(alone)
        low, high = ends(pair.difference)
        assert (pair.p_value < 0.05) == (not low <= 0 <= high)


def test_medians_of_copies_are_not_proven_equal(rng):
    labels = np.repeat([1, 0], 10)
    s = rng.random(20)

    def median(t):
        return float(np.median(np.repeat(t.score, t.pos.astype(int))))

    pair = trueness.compare(
        labels, {"a": s, "b": s}, statistic=median, margin=0.1
    ).pairs[0]

    assert pair.p_value == 1
    assert pair.p_equivalent > 0.05
    assert "the same output" in repr(pair)


# laws

ASKED = {
    "auc": trueness.compare_auc,
    "recall": lambda *a, **k: trueness.compare_metric(*a, metric="recall", **k),
    "f1": lambda *a, **k: trueness.compare_metric(*a, metric="f1", **k),
    "own": lambda *a, **k: trueness.compare(
        *a, lambda t: t.pos[:9].sum() / t.n, method="jackknife", **k
    ),
}


def same_comparison(comparison, other):
    """Are two comparisons of a pair the same, up to rounding?"""
    assert comparison.p_value == pytest.approx(other.p_value, rel=1e-9)
    assert comparison.p_noninferior == pytest.approx(other.p_noninferior, rel=1e-9)
    assert ends(comparison.difference) == pytest.approx(ends(other.difference))


@pytest.mark.parametrize("ask", ASKED.values(), ids=ASKED)
def test_clusters_of_one_case_and_equal_weights_change_nothing(ask, rng):
    labels, scores, _ = tied_sample(rng)

    plain = ask(labels, scores, margin=0.05).pairs[0]
    alone = ask(labels, scores, margin=0.05, cluster=np.arange(90)).pairs[0]
    equally_weighted = ask(labels, scores, margin=0.05, weight=np.full(90, 2.5)).pairs[
        0
    ]

    assert alone == plain

    same_comparison(equally_weighted, plain)


@pytest.mark.parametrize("ask", ASKED.values(), ids=ASKED)
def test_weights_have_the_value_of_copies_and_a_larger_error(ask, rng):
    labels, scores, _ = tied_sample(rng)
    number = rng.integers(1, 5, 90)

    weighted = ask(labels, scores, margin=0.05, weight=number).pairs[0]
    copies = ask(labels, scores, margin=0.05, count=number).pairs[0]

    assert weighted.difference.value == pytest.approx(copies.difference.value)
    assert weighted.difference.se > copies.difference.se


@pytest.mark.parametrize("designed", [False, True])
@pytest.mark.parametrize("ask", ASKED.values(), ids=ASKED)
def test_the_reversed_pair_has_the_reversed_answer(ask, designed, rng):
    labels, scores, sample_design = tied_sample(rng)
    design = sample_design if designed else {}
    reversed_scores = {"b": scores["b"], "a": scores["a"]}

    forward = ask(labels, scores, margin=0.05, **design).pairs[0]
    backward = ask(labels, reversed_scores, margin=0.05, **design).pairs[0]

    low, high = ends(forward.difference)

    assert ends(backward.difference) == pytest.approx((-high, -low))
    assert backward.p_noninferior == pytest.approx(forward.p_noninferior_second)
    assert backward.p_value == pytest.approx(forward.p_value)
    assert (forward.p_value < 0.05) == (not low <= 0 <= high)


def tied_sample(rng):
    """Return labels, two scores with ties, and a design of weights and clusters."""
    y, scores, design = sample(rng, 90, gap=0.4, clusters=25)
    return y, {name: np.round(score, 1) for name, score in scores.items()}, design


GONE = {"a": [1, None, 2], "b": [1, 2, 3]}
ERRORS = {
    "at least two classifiers": lambda x: trueness.compare_auc(x[["ndka"]]),
    "takes one panel": lambda x: trueness.compare_auc(x, x["ndka"]),
    "needs a panel": lambda x: trueness.compare_auc(x["ndka"]),
    r"1 of 3 .*missing_scores=": lambda x: trueness.compare_auc([0, 1, 1], GONE),
    "0 negatives": lambda x: trueness.compare_auc([1, 1], {"a": [1, 2], "b": [1, 2]}),
    "method must be one of": lambda x: trueness.compare_metric(x, method="t"),
}


@pytest.mark.parametrize("message", ERRORS)
def test_errors(asah, message):
    with pytest.raises((trueness.InputError, trueness.NotEnoughCases), match=message):
        ERRORS[message](asah)
