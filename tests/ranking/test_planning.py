"""Sample sizes: the variance by integration, both promises by simulation."""

import numpy as np
import pytest
from scipy import stats

import trueness
from trueness.ranking import plan_samples, planning
from trueness.ranking.plan_samples import model_variance


def test_binormal_variance_against_integration():
    """P(two positives above one negative) of normals, by quadrature."""
    area = 0.8
    shift = np.sqrt(2) * stats.norm.ppf(area)
    x = np.linspace(-10, 10, 40_001)
    p110 = np.trapezoid(stats.norm.pdf(x) * stats.norm.sf(x - shift) ** 2, x)
    pos, neg = 30, 70
    total = area * (1 - area) + (pos + neg - 2) * (p110 - area**2)
    found = model_variance("binormal", area, pos, neg)
    assert found == pytest.approx(total / pos / neg)


def test_hanley_and_mcneils_variance():
    a, q1, q2 = 0.8, 0.8 / 1.2, 2 * 0.64 / 1.8
    total = a * (1 - a) + 29 * (q1 - a * a) + 69 * (q2 - a * a)
    found = model_variance("hanley-mcneil", 0.8, 30, 70)
    assert found == pytest.approx(total / 2100)


def draws(rng, plan, times):
    """Ask for the AUC of samples of the planned size: the event itself."""
    shift = np.sqrt(2) * stats.norm.ppf(plan.value)
    for _ in range(times):
        pos = plan.n_pos
        if plan.sampling == "cohort":
            pos = min(max(rng.binomial(plan.n, plan.prevalence), 1), plan.n - 1)
        y = np.repeat([1, 0], [pos, plan.n - pos])
        yield trueness.auc(y, rng.normal(size=y.size) + shift * y, level=plan.level)


WIDTHS = [
    {"auc": 0.8, "prevalence": 0.1, "half_width": 0.05},
    {"auc": 0.9, "prevalence": 0.3, "half_width": 0.1},
    {"auc": 0.8, "half_width": 0.025},
]


@pytest.mark.parametrize("goal", WIDTHS)
def test_the_width_is_as_promised(rng, goal):
    plan = trueness.plan_auc(**goal)
    assert plan.half_width <= goal["half_width"]
    assert np.isnan(plan.power)
    width = [(a.high - a.low) / 2 for a in draws(rng, plan, 100)]
    assert np.mean(width) == pytest.approx(plan.half_width, rel=0.04)


POWERS = [
    {"auc": 0.9, "null": 0.5, "power": 0.8},
    {"auc": 0.85, "null": 0.7, "power": 0.9},
    {"auc": 0.98, "null": 0.95, "power": 0.9},
    {"auc": 0.85, "null": 0.8, "power": 0.9},
    {"auc": 0.9, "null": 0.7, "power": 0.8, "prevalence": 0.2, "sampling": "cohort"},
    {"auc": 0.3, "null": 0.5, "power": 0.8, "prevalence": 0.1},
]


@pytest.mark.parametrize("goal", POWERS)
def test_the_power_is_as_promised(rng, goal):
    plan = trueness.plan_auc(**goal)
    assert plan.power >= goal["power"]
    assert planning.outlook(plan, [plan.n])[0] == plan.power
    found = [not a.low <= plan.null <= a.high for a in draws(rng, plan, 600)]
    assert np.mean(found) == pytest.approx(plan.power, abs=0.045)  # three errors
    fewer = planning.outlook(plan, [int(0.85 * plan.n)])[0]
    assert fewer < goal["power"] + 0.01


@pytest.mark.parametrize("share", [0.02, 0.98])
@pytest.mark.parametrize("model", ["binormal", "hanley-mcneil"])
def test_a_much_larger_class_is_as_good_as_drawn(share, model, monkeypatch):
    asked = (0.85, 0.7, share, 0.95, model, "case-control")
    quick = plan_samples.auc_question(*asked).reach(1500)
    monkeypatch.setattr(plan_samples, "_LARGER", 10**9)  # every case is drawn
    slow = plan_samples.auc_question(*asked).reach(1500)
    assert quick.power == pytest.approx(slow.power, abs=0.025)
    assert quick.half_width == pytest.approx(slow.half_width, rel=0.025)


def test_a_rare_condition_is_planned_at_once():
    plan = trueness.plan_auc(auc=0.9, null=0.7, prevalence=1e-9)
    assert 10 <= plan.n_pos <= 25
    assert plan.power >= 0.9


def test_many_cases_are_normal_enough(monkeypatch):
    asked = (0.95, 0.92, 0.5, 0.95, "binormal", "case-control")
    law = plan_samples.auc_question(*asked).reach(700)
    monkeypatch.setattr(plan_samples, "_MANY", 10**9)
    drawn = plan_samples.auc_question(*asked).reach(700)
    assert law.power == pytest.approx(drawn.power, abs=0.02)
    assert law.half_width == pytest.approx(drawn.half_width, rel=0.02)


def test_a_rate_is_planned_exactly():
    plan = trueness.plan_rate(
        "recall", value=0.9, prevalence=0.3, null=0.75, sampling="case-control"
    )
    y = np.arange(plan.counted + 1)
    z = stats.norm.ppf(0.975)
    share = y / plan.counted
    middle = (share + z**2 / 2 / plan.counted) / (1 + z**2 / plan.counted)
    half = z * np.sqrt(share * (1 - share) / plan.counted + (z / plan.counted) ** 2 / 4)
    half /= 1 + z**2 / plan.counted
    out = np.abs(middle - 0.75) > half
    exact = stats.binom.pmf(y, plan.counted, 0.9)[out].sum()
    assert plan.power == pytest.approx(exact)
    assert plan.power >= 0.9
    cohort = trueness.plan_rate("recall", value=0.9, prevalence=0.3, null=0.75)
    assert abs(cohort.n - plan.n) < 0.1 * plan.n
    flagged = trueness.plan_rate(
        "precision", value=0.6, recall=0.8, prevalence=0.2, half_width=0.1
    )
    assert flagged.counted == round(flagged.n * 0.2 * 0.8 / 0.6)
    with pytest.raises(trueness.InputError, match="needs the recall"):
        trueness.plan_rate("precision", value=0.6, half_width=0.1)


def test_a_paired_difference_is_planned(rng):
    plan = trueness.plan_auc_difference(
        first=0.85, second=0.75, correlation=0.5, power=0.8
    )
    shifts = np.sqrt(2) * stats.norm.ppf([0.85, 0.75])
    y = np.repeat([1, 0], [plan.n_pos, plan.n_neg])
    differences, found = [], []
    for _ in range(400):
        z = rng.multivariate_normal([0, 0], [[1, 0.5], [0.5, 1]], size=y.size)
        s = z + np.outer(y, shifts)
        panel = trueness.panel(y, {"a": s[:, 0], "b": s[:, 1]})
        pair = trueness.compare_auc(panel).pairs[0]
        differences.append(pair.difference.value)
        found.append(pair.p_value < 0.05)
    assert np.std(differences) == pytest.approx(plan.sd, rel=0.2)
    assert np.mean(found) == pytest.approx(plan.power, abs=0.06)  # three errors


def test_errors():
    with pytest.raises(trueness.InputError, match="plan_auc needs one goal"):
        trueness.plan_auc(auc=0.8)
    with pytest.raises(trueness.InputError, match="plan_auc needs one goal"):
        trueness.plan_auc(auc=0.8, half_width=0.1, null=0.7)
    with pytest.raises(trueness.InputError, match="plan_auc needs one goal"):
        trueness.plan_auc(auc=0.8, half_width=0.1, power=0.7)
    with pytest.raises(trueness.InputError, match="No number of cases"):
        trueness.plan_auc(auc=0.8, null=0.8)
    with pytest.raises(trueness.InputError, match="below the level of the test"):
        trueness.plan_auc(auc=0.8, null=0.7, power=0.01)
    with pytest.raises(trueness.InputError, match="model must be one of"):
        trueness.plan_auc(auc=0.8, null=0.7, model="obuchowski")
    with pytest.raises(trueness.InputError, match="below 10"):
        trueness.plan_auc(auc=0.8, half_width=1e-12)
