"""Sample sizes: the variance by integration, both promises by simulation."""

import numpy as np
import pytest
from scipy import stats

import trueness
from trueness import InputError
from trueness.inference.estimates import evaluate_measure
from trueness.inference.sample import apply_design
from trueness.ranking import planning
from trueness.ranking.areas import auc_measure


def spread_of_normals(area):
    """P(two positives above one negative) of normals, by quadrature."""
    shift = np.sqrt(2) * stats.norm.ppf(area)
    x = np.linspace(-10, 10, 40_001)
    p110 = np.trapezoid(stats.norm.pdf(x) * stats.norm.sf(x - shift) ** 2, x)
    return p110 - area**2, p110 - area**2


def spread_of_exponentials(a):
    return 2 * a * a / (1 + a) - a * a, a / (2 - a) - a * a


@pytest.mark.parametrize(
    ("model", "spread"),
    [("binormal", spread_of_normals), ("hanley-mcneil", spread_of_exponentials)],
)
def test_variance_of_a_model(model, spread):
    plan = trueness.plan_auc(auc=0.8, prevalence=0.3, half_width=0.1, model=model)
    over_pos, over_neg = spread(0.8)
    total = 0.16 + (plan.n_pos - 1) * over_neg + (plan.n_neg - 1) * over_pos

    assert plan.se**2 == pytest.approx(total / plan.n_pos / plan.n_neg)


def draws(rng, plan, times):
    """Ask for the AUC of samples of the planned size: the event itself."""
    shift = np.sqrt(2) * stats.norm.ppf(plan.value)
    for _ in range(times):
        pos = plan.n_pos
        if plan.sampling == "cohort":
            pos = min(max(rng.binomial(plan.n, plan.prevalence), 1), plan.n - 1)
        labels = np.repeat([1, 0], [pos, plan.n - pos])
        yield trueness.auc(
            labels, rng.normal(size=labels.size) + shift * labels, level=plan.level
        )


GOALS = [
    {"auc": 0.8, "prevalence": 0.1, "half_width": 0.05},
    {"auc": 0.9, "prevalence": 0.3, "half_width": 0.1},
    {"auc": 0.9, "null": 0.5, "power": 0.8},
    {"auc": 0.98, "null": 0.95, "power": 0.9},
    {"auc": 0.9, "null": 0.7, "power": 0.8, "prevalence": 0.2, "sampling": "cohort"},
    {"auc": 0.3, "null": 0.5, "power": 0.8, "prevalence": 0.1},
]


@pytest.mark.parametrize("goal", GOALS)
def test_width_and_power_are_as_promised(rng, goal):
    plan = trueness.plan_auc(**goal)
    if "half_width" in goal:
        assert plan.half_width <= goal["half_width"]
        assert np.isnan(plan.power)
        width = [(a.high - a.low) / 2 for a in draws(rng, plan, 100)]
        assert np.mean(width) == pytest.approx(plan.half_width, rel=0.04)
        return

    assert plan.power >= goal["power"]
    assert planning.outlook(plan, [plan.n])[0] == plan.power

    result = [not a.low <= plan.null <= a.high for a in draws(rng, plan, 600)]

    assert np.mean(result) == pytest.approx(plan.power, abs=0.045)  # three errors

    fewer = planning.outlook(plan, [int(0.85 * plan.n)])[0]

    assert fewer < goal["power"] + 0.01


def test_a_rate_is_planned_exactly():
    plan = trueness.plan_rate(
        "recall", value=0.9, prevalence=0.3, null=0.75, sampling="case-control"
    )

    # Wilson's interval of each number that may be found, and whether it leaves 0.75 out
    n = plan.denominator
    detected = np.arange(n + 1)
    proportion = detected / n
    z = stats.norm.ppf(0.975)
    middle = (proportion + z**2 / 2 / n) / (1 + z**2 / n)
    variance = proportion * (1 - proportion) / n + (z / n) ** 2 / 4
    half_width = z * np.sqrt(variance) / (1 + z**2 / n)
    rejects = np.abs(middle - 0.75) > half_width
    power = stats.binom.pmf(detected, n, 0.9)[rejects].sum()

    assert plan.power == pytest.approx(power)
    assert plan.power >= 0.9


def test_a_cohort_needs_about_as_many_cases_as_a_case_control_sample():
    goal = {"value": 0.9, "prevalence": 0.3, "null": 0.75}

    cohort = trueness.plan_rate("recall", **goal)
    case_control = trueness.plan_rate("recall", sampling="case-control", **goal)

    assert abs(cohort.n - case_control.n) < 0.1 * case_control.n


def test_precision_is_counted_among_flagged_cases():
    plan = trueness.plan_rate(
        "precision", value=0.6, recall=0.8, prevalence=0.2, half_width=0.1
    )

    assert plan.denominator == round(plan.n * 0.2 * 0.8 / 0.6)


def test_a_plan_of_precision_needs_the_recall():
    with pytest.raises(trueness.InputError, match="needs the expected recall"):
        trueness.plan_rate("precision", value=0.6, half_width=0.1)


@pytest.mark.parametrize(
    ("value", "half_width", "needed"),
    [(0.9, 0.05, 141), (0.8, 0.05, 245), (0.95, 0.03, 215), (0.5, 0.05, 381)],
)
def test_a_rate_is_planned_for_wilsons_interval(value, half_width, needed):
    plan = trueness.plan_rate(
        "recall", value=value, half_width=half_width, sampling="case-control"
    )

    # what SciPy calls Wilson's interval, at the nearest count
    reported = stats.binomtest(round(value * needed), needed).proportion_ci(
        method="wilson"
    )

    assert plan.denominator == needed
    assert (reported.high - reported.low) / 2 == pytest.approx(half_width, rel=0.01)


def test_a_paired_difference_is_planned(rng):
    plan = trueness.plan_auc_difference(
        first=0.85, second=0.75, correlation=0.5, power=0.8
    )

    shifts = np.sqrt(2) * stats.norm.ppf([0.85, 0.75])
    label = np.repeat([1, 0], [plan.n_pos, plan.n_neg])
    differences = []
    rejections = []
    for _ in range(400):
        scores = rng.multivariate_normal([0, 0], [[1, 0.5], [0.5, 1]], size=label.size)
        scores += np.outer(label, shifts)
        panel = trueness.panel(label, {"a": scores[:, 0], "b": scores[:, 1]})
        pair = trueness.compare_auc(panel).pairs[0]
        differences.append(pair.difference.value)
        rejections.append(pair.p_value < 0.05)

    assert np.std(differences) == pytest.approx(plan.se, rel=0.2)
    # three standard errors
    assert np.mean(rejections) == pytest.approx(plan.power, abs=0.06)


def test_a_difference_is_planned_for_a_half_width_or_a_power():
    aucs = {"first": 0.85, "second": 0.75}

    plan = trueness.plan_auc_difference(**aucs, half_width=0.05)

    assert 1.9 * plan.se < 0.05 < 2.1 * plan.se
    with pytest.raises(InputError, match="one goal"):
        trueness.plan_auc_difference(**aucs, half_width=0.05, power=0.8)


@pytest.mark.parametrize(
    ("goal", "message"),
    [
        ({}, "plan_auc needs one goal"),
        ({"half_width": 0.1, "null": 0.7}, "plan_auc needs one goal"),
        ({"half_width": 0.1, "power": 0.7}, "plan_auc needs one goal"),
        ({"null": 0.8}, "No number of cases"),
        ({"null": 0.7, "power": 0.01}, "below the level of the test"),
        ({"null": 0.7, "model": "obuchowski"}, "model must be one of"),
        ({"half_width": 1e-12}, "below 10"),
    ],
)
def test_errors(goal, message):
    with pytest.raises(trueness.InputError, match=message):
        trueness.plan_auc(auc=0.8, **goal)


@pytest.mark.parametrize("recall", [0.5, 0.6])
def test_no_more_than_all_cases_can_be_flagged(recall):
    """One half of the cases positive: at 0.5 all of them would be flagged."""
    with pytest.raises(trueness.InputError, match="more cases than there are"):
        trueness.plan_rate(
            "precision", value=0.25, recall=recall, prevalence=0.5, half_width=0.1
        )


def test_samples_are_drawn_where_the_smaller_class_has_few():
    question = planning._auc_question(
        auc=0.8,
        null=float("nan"),
        prevalence=0.1,
        level=0.95,
        model="binormal",
        sampling="case-control",
    )

    # 249 and 250 positives, far more negatives
    assert question.reach(2490).half_width == question._by_simulation(2490).half_width
    assert (
        question.reach(2500).half_width
        == question.by_normal_approximation(2500).half_width
    )


@pytest.mark.parametrize("kind", ["normal", "heavy tails"])
def test_areas_of_placements_are_those_of_the_engine(rng, kind):
    scores = rng.normal(size=(3, 45))
    if kind == "heavy tails":
        scores[:, :15] += 2.5
        scores[:, 0] = -9
    placements = planning._placements(scores, 15)

    areas = planning._areas_of_placements(*placements)

    labels = np.arange(45) < 15
    for sample in range(3):
        tally = trueness.tally(labels, scores[sample])
        expected = evaluate_measure(apply_design(tally), auc_measure)
        of_engine = expected.variance_estimate
        assert areas.value[sample] == pytest.approx(expected.value)
        assert areas.variance[sample] == pytest.approx(of_engine.variance)
        assert areas.degrees_of_freedom[sample] == pytest.approx(
            of_engine.degrees_of_freedom
        )
