"""AUC, partial areas, average precision: by hand, brute force, pROC."""

import json
from fractions import Fraction
from functools import partial
from pathlib import Path

import numpy as np
import pytest
from scipy import stats
from sklearn import metrics as sk

import trueness
from conftest import tied_cases
from trueness import InputError, NotEnoughCases, Tally
from trueness._core.arrays import blocks
from trueness.ranking import areas, multiclass_areas

PROC = json.loads((Path(__file__).parents[1] / "reference" / "proc.json").read_text())
METHODS = ["bootstrap", "delong", "fermi-dirac", "hanley-mcneil", "newcombe"]
Z = stats.norm.ppf(0.975)
ASK = {
    "auc": trueness.auc,
    "average precision": trueness.average_precision,
    "partial auc": lambda *x, **words: trueness.partial_auc(*x, fpr=(0, 0.3), **words),
}


def sample(n=200, seed=0, digits=1):
    rng = np.random.default_rng(seed)
    y = (rng.random(n) < 0.4).astype(int)
    return y, np.round(rng.normal(size=n) + y, digits), rng.exponential(size=n) ** 1.5


def wins(label, score):
    """Return 1 for each pair that its positive wins, and 1/2 for a tie."""
    pos = score[label == 1][:, None]
    neg = score[label == 0]
    return (pos > neg) + 0.5 * (pos == neg)


def three(e):
    return e.low, e.value, e.high


@pytest.mark.parametrize("digits", [1, 12])
def test_weighted_values_are_those_of_scikit_learn(digits):
    labels, scores, weights = sample(400, digits=digits)
    tally = trueness.tally(labels, scores, weight=weights)
    area = sk.roc_auc_score(labels, scores, sample_weight=weights)
    precision = sk.average_precision_score(labels, scores, sample_weight=weights)
    partial = sk.roc_auc_score(labels, scores, max_fpr=0.2, sample_weight=weights)

    partial_estimate = trueness.partial_auc(tally, fpr=(0, 0.2), corrected=True)

    assert trueness.auc(tally).value == pytest.approx(area, rel=1e-12)
    assert trueness.average_precision(tally).value == pytest.approx(
        precision, rel=1e-12
    )
    assert partial_estimate.value == pytest.approx(partial, rel=1e-12)


@pytest.fixture
def long_columns(rng):
    """More rows than a block holds: labels, scores without ties, weights."""
    is_positive = rng.random(50_000) < 0.3
    score = rng.normal(size=50_000) + is_positive
    return is_positive, score, rng.exponential(size=50_000)


def test_the_auc_of_long_columns_is_that_of_their_ranks(long_columns):
    is_positive, score, _ = long_columns
    n_pos = int(is_positive.sum())
    n_neg = int((~is_positive).sum())
    rank_sum = stats.rankdata(score)[is_positive].sum()
    twice_won = int(2 * rank_sum) - n_pos * (n_pos + 1)

    estimate = trueness.auc(is_positive, score)

    assert estimate.value == float(Fraction(twice_won, 2 * n_pos * n_neg))


def test_the_error_of_long_columns_is_delongs(long_columns):
    is_positive, score, _ = long_columns
    rank = stats.rankdata(score)
    pos, neg = score[is_positive], score[~is_positive]
    # how many of the other class lie below each case
    below_positives = rank[is_positive] - stats.rankdata(pos)
    below_negatives = rank[~is_positive] - stats.rankdata(neg)
    variance = np.var(below_positives / neg.size, ddof=1) / pos.size
    variance += np.var(below_negatives / pos.size, ddof=1) / neg.size

    estimate = trueness.auc(is_positive, score)

    assert estimate.se == pytest.approx(np.sqrt(variance), rel=1e-12)


def test_the_weighted_auc_of_long_columns_is_that_of_scikit_learn(long_columns):
    is_positive, score, weight = long_columns
    expected = sk.roc_auc_score(is_positive, score, sample_weight=weight)

    estimate = trueness.auc(is_positive, score, weight=weight)

    assert estimate.value == pytest.approx(expected, rel=1e-12)


def test_a_billion_cases_in_a_row_are_counted_exactly():
    billion = 10**9
    tally = Tally([3, 2, 1], pos=[billion, 5, 0], neg=[1, 0, billion])
    twice_won = billion * (2 * billion + 1) + 5 * 2 * billion

    estimate = trueness.auc(tally)

    exact = Fraction(twice_won, 2 * (billion + 5) * (billion + 1))

    assert estimate.value == float(exact)


@pytest.mark.parametrize("name", ["ndka", "s100b", "wfns"])
def test_proc_agrees(name):
    tally = trueness.tally(PROC["poor"], PROC[name])
    a = trueness.auc(tally, method="delong")

    assert three(a) == pytest.approx(PROC[f"auc_{name}"], abs=1e-12)

    part = {
        "fpr": {"fpr": (0, 0.1)},
        "fpr_mid": {"fpr": (0.2, 0.5)},
        "tpr": {"tpr": (0.9, 1)},
        "fpr_corrected": {"fpr": (0, 0.1), "corrected": True},
        "tpr_corrected": {"tpr": (0.9, 1), "corrected": True},
    }
    for key, options in part.items():
        expected = PROC[f"pauc_{key}_{name}"][0]
        ours = trueness.partial_auc(tally, **options).value
        # pROC gives none below the diagonal
        assert ours == pytest.approx(expected) if expected is not None else ours < 0.5


@pytest.mark.parametrize("corrected", [False, True])
@pytest.mark.parametrize(
    "part", [{"fpr": (0, 1)}, {"tpr": (0, 1)}, {"fpr": (0, 1), "tpr": (0, 1)}]
)
def test_a_part_that_is_the_whole_plane_has_the_whole_area(rng, part, corrected):
    tally = trueness.tally(*tied_cases(rng, 70))

    area = trueness.partial_auc(tally, **part, corrected=corrected)

    assert area.value == pytest.approx(trueness.auc(tally).value)


def test_neighbouring_parts_add_up_to_the_whole_area(rng):
    tally = trueness.tally(*tied_cases(rng, 70))

    low = trueness.partial_auc(tally, fpr=(0, 0.2)).value
    middle = trueness.partial_auc(tally, fpr=(0.2, 0.7)).value
    high = trueness.partial_auc(tally, fpr=(0.7, 1)).value

    assert low + middle + high == pytest.approx(trueness.auc(tally).value)


def test_the_area_in_a_rectangle_is_that_of_the_clipped_curve(rng):
    tally = trueness.tally(*tied_cases(rng, 70))
    curve = trueness.roc(tally)
    fpr = np.linspace(0.1, 0.6, 400_001)
    height = np.clip(np.interp(fpr, curve.fpr, curve.tpr), 0.4, 0.9) - 0.4

    area = trueness.partial_auc(tally, fpr=(0.1, 0.6), tpr=(0.4, 0.9))

    assert area.value == pytest.approx(np.trapezoid(height, fpr), abs=1e-5)


@pytest.mark.parametrize("part", [{"fpr": (0, 0.1)}, {"tpr": (0.8, 1)}])
def test_on_mcclishs_scale_chance_is_a_half_and_an_ideal_classifier_one(part):
    chance = Tally([1], neg=[5], pos=[5])
    ideal = Tally([2, 1], neg=[0, 5], pos=[5, 0])

    area_of_chance = trueness.partial_auc(chance, **part, corrected=True)
    area_of_ideal = trueness.partial_auc(ideal, **part, corrected=True)

    assert area_of_chance.value == pytest.approx(0.5)
    assert area_of_ideal.value == pytest.approx(1)


AVERAGE_PRECISION = trueness.average_precision
AREAS = {
    "auc": trueness.auc,
    "average precision": AVERAGE_PRECISION,
    "false alarms": partial(trueness.partial_auc, fpr=(0, 0.3)),
    "recalls": partial(trueness.partial_auc, tpr=(0.6, 1)),
    "corrected": partial(
        trueness.partial_auc, fpr=(0.1, 0.6), tpr=(0.3, 0.9), corrected=True
    ),
}


def jackknife_variance(slopes, weight):
    """Return the variance of a stratum by slopes: its cases left out in turn."""
    n = weight.sum() ** 2 / (weight @ weight)
    left_out = weight * slopes / (1 - weight / weight.sum())
    return (n - 1) / n * np.sum(left_out**2)


@pytest.mark.parametrize("area", AREAS.values(), ids=AREAS)
def test_errors_follow_from_derivatives(area):
    """By a little more and less weight of each case, which is then left out."""
    labels, score, weight = sample(60, digits=12)

    def value(weights):
        return area(labels, score, weight=weights).value

    steps = 1e-6 * np.eye(60)
    slopes = [(value(weight + step) - value(weight - step)) / 2e-6 for step in steps]
    slopes = np.array(slopes)
    # an area is one of two samples, a precision one of a single sample
    strata = [labels >= 0] if area is AVERAGE_PRECISION else [labels == 0, labels == 1]
    variance = sum(jackknife_variance(slopes[s], weight[s]) for s in strata)

    standard_error = area(labels, score, weight=weight).se

    assert standard_error == pytest.approx(np.sqrt(variance), rel=1e-5)


def test_hanley_and_mcneil_by_hand():
    tally = Tally([3, 2, 1], pos=[4, 3, 1], neg=[1, 3, 5])
    area = Fraction(4 * (16 + 1) + 3 * (10 + 3) + 1 * 5, 2 * 8 * 9)
    q1 = area / (2 - area)
    q2 = 2 * area**2 / (1 + area)
    square = area * (1 - area) + 7 * (q1 - area**2) + 8 * (q2 - area**2)

    estimate = trueness.auc(tally, method="hanley-mcneil")

    assert estimate.value == float(area)
    assert estimate.se == pytest.approx(float(square / 72) ** 0.5)


def test_the_error_by_fermi_dirac_is_that_of_the_distribution(rng):
    tally = trueness.tally(*tied_cases(rng, 200))

    estimate = trueness.auc(tally, method="fermi-dirac")

    assert estimate.se == pytest.approx(trueness.fermi_dirac(tally).auc_se)
    assert estimate.high - estimate.low == pytest.approx(2 * Z * estimate.se)


CORNERS = {
    "one pair, won": Tally([2, 1], pos=[1, 0], neg=[0, 1]),
    "one pair, lost": Tally([2, 1], pos=[0, 1], neg=[1, 0]),
    "one pair, tied": Tally([1], pos=[1], neg=[1]),
    "perfect": Tally([2, 1], pos=[30, 0], neg=[0, 70]),
    "perfectly wrong": Tally([2, 1], pos=[0, 30], neg=[70, 0]),
    "all tied": Tally([1], pos=[30], neg=[70]),
    "one positive": Tally([3, 2, 1], pos=[0, 1, 0], neg=[3, 0, 40]),
    "one positive on top": Tally([3, 2, 1], pos=[1, 0, 0], neg=[0, 3, 40]),
    "one negative": Tally([3, 2, 1], pos=[5, 0, 2], neg=[0, 1, 0]),
    "huge": Tally([3, 2, 1], pos=[10**9, 5, 0], neg=[1, 0, 10**9]),
    "unknowns": Tally([3, 2], pos=[2, 0], neg=[0, 2], unknown=[5, 5]),
    "weighted": trueness.tally([1, 0, 0], [3, 2, 1], weight=[2, 1, 0.5]),
    "a cluster": Tally([2, 1], pos=[3, 1], neg=[1, 3], cluster=[1, 1]),
}


@pytest.mark.parametrize("corner", CORNERS)
def test_no_interval_is_empty_or_leaves_its_range(corner):
    tally = CORNERS[corner]
    is_plain = not tally.weighted and tally.clusters is None
    can_be_redrawn = min(tally.n_pos, tally.n_neg) >= 2
    options = {"rng": 1, "replicates": 200}

    methods = METHODS if is_plain else ["newcombe", "delong"]
    estimates = [trueness.auc(tally, method=method, **options) for method in methods]
    for analysis in (ASK["average precision"], ASK["partial auc"]):
        estimates.append(analysis(tally, **options))
        if can_be_redrawn:
            estimates.append(analysis(tally, method="bootstrap", **options))

    for estimate in estimates:
        assert 0 <= estimate.low <= estimate.value <= estimate.high <= 1
        assert estimate.low < estimate.high or estimate.method == "bootstrap"


def test_notes():
    a = trueness.auc(CORNERS["perfect"])

    assert "no variation" in a.notes[0]
    assert trueness.auc(CORNERS["perfect"], method="delong").low == a.low

    tally = Tally([2, 1], pos=[10, 90], neg=[90, 10])

    assert trueness.auc(tally).high < 0.5
    assert "ranks positives below negatives" in trueness.auc(tally).notes[0]
    assert trueness.auc(tally.map(lambda s: -s)).notes == ()


@pytest.mark.parametrize("prevalence", [0.02, 0.1])
def test_few_negatives_at_a_lower_prevalence_leave_average_precision_open(
    rng, prevalence
):
    """50 + 50 cases at 2 %: one negative decides the precision of the top."""
    labels = np.repeat([1, 0], [50, 50])
    scores = rng.normal(size=100) + 1.2 * labels
    design = {"sampling": "case-control", "prevalence": prevalence}

    estimate = trueness.average_precision(labels, scores, **design)

    assert (estimate.low, estimate.high) == (0, 1)
    assert any("No interval is available" in note for note in estimate.notes)

    by_engine = trueness.estimate(
        trueness.tally(labels, scores, **design), trueness.average_precision
    )

    assert (by_engine.low, by_engine.high) == (0, 1)


@pytest.mark.parametrize(
    ("positives", "negatives", "prevalence"),
    [(50, 50, 0.45), (500, 500, 0.1), (50, 500, 0.05), (20, 980, None)],
)
def test_enough_negatives_give_average_precision_an_interval(
    rng, positives, negatives, prevalence
):
    labels = np.repeat([1, 0], [positives, negatives])
    scores = rng.normal(size=labels.size) + 1.2 * labels

    estimate = trueness.average_precision(labels, scores, prevalence=prevalence)

    assert 0 < estimate.low < estimate.high < 1
    assert estimate.notes == ()


def test_average_precision_of_another_prevalence_holds(rng):
    """500 + 500 cases at 10 %; the truth by quadrature of two normal densities."""
    separation = stats.norm.ppf(0.8) * np.sqrt(2)
    threshold = np.linspace(separation + 8, -8, 200_001)
    recall = stats.norm.sf(threshold - separation)
    flagged = 0.1 * recall + 0.9 * stats.norm.sf(threshold)
    precision = 0.1 * recall / np.maximum(flagged, 1e-300)
    truth = np.trapezoid(precision, recall)

    labels = np.repeat([1, 0], [500, 500])
    held = []
    for _ in range(200):
        scores = rng.normal(size=1000) + separation * labels
        estimate = trueness.average_precision(labels, scores, prevalence=0.1)
        held.append(estimate.low <= truth <= estimate.high)

    assert np.mean(held) >= 0.88


CASE_CONTROL = Tally([3, 2, 1], pos=[6, 3, 1], neg=[1, 3, 6])


def test_a_case_control_sample_does_not_know_the_prevalence():
    with pytest.raises(InputError, match="case-control sample fixed"):
        trueness.average_precision(CASE_CONTROL, sampling="case-control")


def test_average_precision_at_a_prevalence_by_hand():
    design = {"sampling": "case-control", "prevalence": 0.1}

    estimate = trueness.average_precision(CASE_CONTROL, **design)

    rates = [(0.6, 0.1), (0.9, 0.4), (1, 1)]
    precision = [0.1 * tpr / (0.1 * tpr + 0.9 * fpr) for tpr, fpr in rates]
    by_hand = 0.6 * precision[0] + 0.3 * precision[1] + 0.1 * precision[2]

    assert estimate.value == pytest.approx(by_hand)

    at_prevalence = trueness.average_precision(CASE_CONTROL, prevalence=0.1)

    assert three(estimate) == pytest.approx(three(at_prevalence))


def test_the_area_does_not_depend_on_the_prevalence():
    design = {"sampling": "case-control", "prevalence": 0.1}

    area = trueness.auc(CASE_CONTROL, **design)

    assert area.value == pytest.approx(trueness.auc(CASE_CONTROL).value)


def test_verification_bias_is_taken_off(rng):
    true_auc = 0.76
    shift = np.sqrt(2) * stats.norm.ppf(true_auc)
    values = []
    covered = []
    for _ in range(60):
        label = (rng.random(600) < 0.3).astype(int)
        score = rng.normal(size=600) + shift * label
        # high scores are verified more often
        is_verified = rng.random(600) < 1 / (1 + np.exp(-1.5 * score))
        known = np.where(is_verified, label, np.nan)

        estimate = trueness.auc(known, score, unlabelled="missing at random")

        values.append(estimate.value)
        covered.append(estimate.low <= true_auc <= estimate.high)

    assert abs(np.mean(values) - true_auc) < 0.015
    assert np.mean(covered) >= 0.88
    assert "cannot show" in estimate.notes[0]


@pytest.mark.parametrize("analysis", [trueness.auc, trueness.average_precision])
def test_cases_left_out_are_mentioned_where_they_differ(analysis, rng):
    score = rng.normal(size=400)
    label = (rng.random(400) < 1 / (1 + np.exp(-score))).astype(float)
    is_labelled = score > rng.normal(size=400)
    tally = trueness.tally(np.where(is_labelled, label, np.nan), score)

    with pytest.warns(
        trueness.DoubtfulAssumptionWarning, match="scores differ"
    ) as warned:
        estimate = analysis(tally)

    assert warned[0].filename == __file__
    assert "set unlabelled to 'missing at random'" in estimate.notes[0]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({}, "needs a part of the curve"),
        ({"fpr": (0.5, 0.1)}, "fpr must rise"),
        ({"fpr": 0.1}, "fpr must be two numbers"),
        ({"tpr": (0, 90)}, r"tpr must lie in \[0, 1\]"),
        ({"fpr": (0.0, 5e-324)}, "at least 1e-09 wide"),
        (
            {"fpr": (0.9, 1), "tpr": (0.1, 0.2), "corrected": True},
            "above the diagonal",
        ),
    ],
)
def test_wrong_ranges_of_a_partial_auc(options, message):
    with pytest.raises(InputError, match=message):
        trueness.partial_auc([1, 0], [2, 1], **options)


def test_an_auc_needs_both_classes():
    with pytest.raises(NotEnoughCases, match="0 positives among 6 labelled"):
        trueness.auc(Tally([2, 1], neg=[1, 5]))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"method": "delongs"}, r"method must be one of .*Did you mean"),
        ({"level": 95}, r"level must lie in \(0, 1\)"),
        ({"method": "bootstrap", "replicates": 3}, "replicates must be a whole number"),
        ({"weight": [2, 1], "method": "hanley-mcneil"}, "does not take weights"),
    ],
)
def test_wrong_options_of_an_auc(options, message):
    with pytest.raises(InputError, match=message):
        trueness.auc([1, 0], [2, 1], **options)


def test_average_precision_of_many_blocks_is_that_of_scikit_learn():
    rng = np.random.default_rng(3)
    label = rng.random(150_000) < 0.2
    score = np.round(rng.normal(size=label.size) + label, 5)

    estimate = trueness.average_precision(label, score)

    expected = sk.average_precision_score(label, score)

    assert estimate.value == pytest.approx(expected, rel=1e-14)


def test_influence_on_average_precision_does_not_depend_on_blocks(monkeypatch):
    rng = np.random.default_rng(4)
    label = rng.random(9000) < 0.2
    tally = trueness.tally(label, rng.normal(size=label.size) + label)
    whole = areas.average_precision_measure(tally)

    monkeypatch.setattr(areas, "BLOCK", 100)
    monkeypatch.setattr(areas, "map_blocks", walk_in_blocks_of_100)
    in_blocks = areas.average_precision_measure(tally)

    assert in_blocks.value == pytest.approx(whole.value, rel=1e-14)

    for column in ("by_negative", "by_positive"):
        np.testing.assert_allclose(
            getattr(in_blocks.influence, column),
            getattr(whole.influence, column),
            rtol=1e-12,
            atol=1e-18,
        )


def walk_in_blocks_of_100(compute, size):
    return [compute(block) for block in blocks(size, 100)]


def test_sums_of_placements_answer_as_the_cases_do():
    """Unequal classes: each has its own number of cases."""
    labels, scores, _ = sample(n=60)
    won = wins(labels, scores)
    of_positives, of_negatives = won.mean(axis=1), won.mean(axis=0)
    area = won.mean()

    def moments(placements):
        deviation = placements - area
        return areas.PlacementMoments(
            placements.size, (deviation**2).sum(), (deviation**4).sum()
        )

    result = areas.auc_from_moments(area, moments(of_negatives), moments(of_positives))

    expected = trueness.auc(labels, scores)

    assert three(result) == pytest.approx(three(expected))
    assert result.se == pytest.approx(expected.se)


def test_a_variance_rests_on_the_cases_of_the_smaller_class():
    moments_of_nine = areas.PlacementMoments(9, 0.5, 0.1)
    moments_of_forty = areas.PlacementMoments(40, 0.9, 0.2)

    variance = areas.auc_variance_from_moments(moments_of_forty, moments_of_nine)

    assert variance.units == 9
    assert areas.auc_variance_from_moments(moments_of_nine, moments_of_forty).units == 9


@pytest.mark.parametrize(
    ("positives", "negatives", "expected"),
    # at a prevalence of one half every negative is at the top
    [(1000, 49, True), (1000, 50, False), (60, 29, True), (60, 30, False)],
)
def test_few_negatives_are_under_fifty_and_half_of_the_positives(
    positives, negatives, expected
):
    assert areas.too_few_negatives(positives, negatives, 0.5) == expected


@pytest.mark.parametrize("average", ["macro", "weighted", "hand-till"])
def test_two_classes_have_the_standard_error_of_delong(average):
    labels, scores, _ = sample(n=60)
    probability = 1 / (1 + np.exp(-scores))
    columns = np.column_stack([1 - probability, probability])

    area, influence = multiclass_areas.multiclass_auc_and_influence(
        labels, columns, average
    )

    won = wins(labels, scores)
    expected = np.empty(labels.size)
    expected[labels == 1] = (won.mean(axis=1) - area) * labels.size / labels.sum()
    expected[labels == 0] = (won.mean(axis=0) - area) * labels.size / (1 - labels).sum()

    assert area == pytest.approx(won.mean())
    assert influence == pytest.approx(expected)
