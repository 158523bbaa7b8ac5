"""Sample sizes: the variance by integration, both promises by simulation."""

import numpy as np
import pytest
from scipy import stats

import trueness
from trueness.ranking.sample_sizes import VARIANCES


def test_binormal_variance_against_integration():
    """P(two positives above one negative) of normals, by quadrature."""
    area = 0.8
    shift = np.sqrt(2) * stats.norm.ppf(area)
    x = np.linspace(-10, 10, 40_001)
    p110 = np.trapezoid(stats.norm.pdf(x) * stats.norm.sf(x - shift) ** 2, x)
    pos, neg = 30, 70
    total = area * (1 - area) + (pos + neg - 2) * (p110 - area**2)
    assert VARIANCES["binormal"](area, pos, neg) == pytest.approx(total / pos / neg)


def test_hanley_mcneil_and_fermi_dirac_variances():
    a, q1, q2 = 0.8, 0.8 / 1.2, 2 * 0.64 / 1.8
    total = a * (1 - a) + 29 * (q1 - a * a) + 69 * (q2 - a * a)
    assert VARIANCES["hanley-mcneil"](0.8, 30, 70) == pytest.approx(total / 2100)
    se = trueness.fermi_dirac(n=100, n_pos=30, auc=0.8).auc_se
    assert VARIANCES["fermi-dirac"](0.8, 30, 70) == pytest.approx(se**2)


def draws(rng, plan, times):
    shift = np.sqrt(2) * stats.norm.ppf(plan.auc)
    y = np.repeat([1, 0], [plan.n_pos, plan.n_neg])
    for _ in range(times):
        t = trueness.tally(y, rng.normal(size=y.size) + shift * y)
        yield trueness.auc(t, method="delong", level=plan.level)


def test_the_width_is_as_promised(rng):
    plan = trueness.plan_auc(auc=0.8, prevalence=0.1, half_width=0.03)
    assert plan.half_width <= 0.03
    width = [(a.high - a.low) / 2 for a in draws(rng, plan, 40)]
    assert np.mean(width) == pytest.approx(0.03, rel=0.03)
    smaller = trueness.plan_auc(auc=0.8, prevalence=0.1, half_width=0.0301)
    assert smaller.n < plan.n


def test_the_power_is_as_promised(rng):
    plan = trueness.plan_auc(auc=0.8, null=0.75, power=0.9)
    assert plan.power >= 0.9
    found = [not a.low <= 0.75 <= a.high for a in draws(rng, plan, 300)]
    assert np.mean(found) == pytest.approx(0.9, abs=0.055)


def test_smallest_and_rounding():
    plan = trueness.plan_auc(auc=0.7, half_width=0.1, prevalence=0.3)
    assert plan.n == plan.n_pos + plan.n_neg
    assert plan.n_pos == round(0.3 * plan.n)
    one_less = VARIANCES["binormal"](
        0.7, round(0.3 * (plan.n - 1)), plan.n - 1 - round(0.3 * (plan.n - 1))
    )
    assert 1.959964 * np.sqrt(one_less) > 0.1
    down = trueness.plan_auc(auc=0.75, null=0.8)
    assert down.power >= 0.9
    assert trueness.plan_auc(auc=0.9, half_width=0.4).n >= 4


def test_rare_positives_need_more_and_methods_are_named():
    n = {
        m: trueness.plan_auc(auc=0.8, prevalence=0.1, half_width=0.03, method=m)
        for m in VARIANCES
    }
    assert n["hanley-mcneil"].n > n["binormal"].n > n["fermi-dirac"].n
    assert all(plan.method == m for m, plan in n.items())
    balanced = trueness.plan_auc(auc=0.8, prevalence=0.5, half_width=0.03)
    assert balanced.n < n["binormal"].n


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
    with pytest.raises(trueness.InputError, match="method must be one of"):
        trueness.plan_auc(auc=0.8, null=0.7, method="obuchowski")
    with pytest.raises(trueness.InputError, match="below 10"):
        trueness.plan_auc(auc=0.8, half_width=1e-12)
