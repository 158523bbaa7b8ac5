"""The table of metrics: formulas in rates, ends of ranges, directions, over all tables
of few cases."""

import math
from itertools import product

import numpy as np
import pytest
from scipy import stats

import trueness
from trueness import Confusion, InputError
from trueness.metrics.algebra import classes_of, depends_on_prevalence
from trueness.metrics.definitions import (
    COUNTS,
    METRICS,
    cost,
    cost_rate,
    f_beta,
    net_benefit,
)

# every table of none to three cases in each cell
TABLES = np.array(list(product(range(4), repeat=4)), dtype=float)


class Rates:
    """The rates of a table, from which textbooks build the other metrics."""

    def __init__(self, tp, fp, fn, tn):
        self.cases = tp + fp + fn + tn
        self.prevalence = (tp + fn) / self.cases
        self.tpr = tp / (tp + fn)
        self.tnr = tn / (fp + tn)
        self.ppv = tp / (tp + fp)
        self.npv = tn / (fn + tn)
        self.flagged = (tp + fp) / self.cases
        self.accuracy = (tp + tn) / self.cases
        self.fp = fp
        self.fn = fn
        self.tp = tp
        self.tn = tn


def kappa(r):
    by_chance = r.flagged * r.prevalence + (1 - r.flagged) * (1 - r.prevalence)
    return (r.accuracy - by_chance) / (1 - by_chance)


def harmonic(*values):
    return len(values) / sum(1 / value for value in values)


FORMULAS = {
    "accuracy": lambda r: r.accuracy,
    "balanced_accuracy": lambda r: (r.tpr + r.tnr) / 2,
    "recall": lambda r: r.tpr,
    "specificity": lambda r: r.tnr,
    "fpr": lambda r: 1 - r.tnr,
    "fnr": lambda r: 1 - r.tpr,
    "precision": lambda r: r.ppv,
    "npv": lambda r: r.npv,
    "f1": lambda r: harmonic(r.ppv, r.tpr),
    "youden": lambda r: r.tpr + r.tnr - 1,
    "mcc": lambda r: (
        np.sign(r.tpr + r.tnr - 1)
        * math.sqrt((r.tpr + r.tnr - 1) * (r.ppv + r.npv - 1))
    ),
    "kappa": kappa,
    "g_mean": lambda r: math.sqrt(r.tpr * r.tnr),
    "jaccard": lambda r: 1 / (1 / r.ppv + 1 / r.tpr - 1),
    "markedness": lambda r: r.ppv + r.npv - 1,
    "lift": lambda r: r.ppv / r.prevalence,
    "lr_positive": lambda r: r.tpr / (1 - r.tnr),
    "lr_negative": lambda r: (1 - r.tpr) / r.tnr,
    "diagnostic_odds_ratio": lambda r: r.tpr / (1 - r.tpr) * (r.tnr / (1 - r.tnr)),
    "flagged": lambda r: r.flagged * r.cases,
    "flagged_rate": lambda r: r.flagged,
}


def test_every_metric_has_a_formula_here():
    assert FORMULAS.keys() == METRICS.keys()


@pytest.mark.parametrize("name", FORMULAS)
def test_metrics_are_their_formulas_in_rates(name):
    filled = TABLES[(TABLES > 0).all(axis=1)]

    values = METRICS[name](Confusion(*filled.T))

    expected = [FORMULAS[name](Rates(*table)) for table in filled.tolist()]

    assert values == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize("name", METRICS)
def test_the_ends_of_a_range_are_reached_and_not_passed(name):
    metric = METRICS[name]

    values = metric(Confusion(*TABLES.T))

    defined = values[~np.isnan(values)]
    low, high = metric.range

    assert defined.min() == low

    if math.isfinite(high):
        assert defined.max() == high
    else:
        assert defined.max() > 2


@pytest.mark.parametrize("name", [n for n in METRICS if not n.startswith("flagged")])
def test_better_is_what_more_correct_cases_make(name):
    fewer, more = METRICS[name](Confusion([5, 6], [5, 4], [5, 4], [5, 6]))

    expected = "higher" if more > fewer else "lower"

    assert METRICS[name].direction == expected


# a new metric is named in one of these sets, unless it depends on the prevalence and
# is no proportion of cases: proportions of the cases of a class, or of both; others
OF_POSITIVES = {"recall", "fnr"}
OF_NEGATIVES = {"specificity", "fpr"}
OF_SEVERAL_CLASSES = {"accuracy", "precision", "npv", "jaccard", "flagged_rate"}
OF_RATES = {
    "balanced_accuracy",
    "youden",
    "g_mean",
    "lr_positive",
    "lr_negative",
    "diagnostic_odds_ratio",
}


@pytest.mark.parametrize("name", METRICS)
def test_which_classes_a_metric_depends_on(name):
    metric = METRICS[name]

    expected = (name not in OF_NEGATIVES, name not in OF_POSITIVES)

    assert classes_of(metric) == expected

    of_rates_alone = name in OF_POSITIVES | OF_NEGATIVES | OF_RATES

    assert depends_on_prevalence(metric) != of_rates_alone


@pytest.mark.parametrize("name", METRICS)
def test_which_metrics_are_proportions_of_cases(name):
    proportions = OF_SEVERAL_CLASSES | OF_POSITIVES | OF_NEGATIVES

    assert METRICS[name].is_proportion == (name in proportions)


@pytest.mark.parametrize(
    ("name", "cells"),
    [
        ("tp", "tp"),
        ("fp", "fp"),
        ("fn", "fn"),
        ("tn", "tn"),
        ("positives", "tp fn"),
        ("negatives", "fp tn"),
        ("cases", "tp fp fn tn"),
    ],
)
def test_counts_are_sums_of_cells(name, cells):
    cell = {"tp": 2, "fp": 30, "fn": 400, "tn": 5000}

    value = COUNTS[name](Confusion(**{k: np.array(v) for k, v in cell.items()}))

    assert value == sum(cell[part] for part in cells.split())
    assert COUNTS[name].range == (0, math.inf)
    assert COUNTS[name].direction == "none"


TABLE = Confusion(*np.array([[30.0], [8.0], [10.0], [52.0]]))


@pytest.mark.parametrize("beta", [0.1, 0.5, 1, 2, 3.7])
def test_f_beta_weighs_recall_beta_times(beta):
    precision, recall = 30 / 38, 30 / 40

    [value] = f_beta(beta)(TABLE)

    expected = (1 + beta**2) * precision * recall / (beta**2 * precision + recall)

    assert value == pytest.approx(expected)
    assert f_beta(beta).range == (0, 1)


def test_costs_are_added_up_over_the_four_cells():
    full = cost(fp=2, fn=7, tp=-3, tn=0.5)

    assert full(TABLE) == pytest.approx([2 * 8 + 7 * 10 - 3 * 30 + 0.5 * 52])
    assert full.direction == "lower"
    assert full.range == (-math.inf, math.inf)
    assert cost(fp=2, fn=7).range == (0, math.inf)
    assert cost(fp=2, fn=7, tn=1).range == (0, math.inf)
    assert cost(fp=0, fn=0, tp=-1)(TABLE) == pytest.approx([-30])


def test_names_of_costs_leave_out_what_is_free():
    assert cost(fp=2, fn=7).name == "cost(fp=2, fn=7)"
    assert cost(fp=2, fn=7, tp=-3).name == "cost(fp=2, fn=7, tp=-3)"
    assert cost(fp=2, fn=7, tn=0.5).name == "cost(fp=2, fn=7, tn=0.5)"


def test_a_cost_rate_is_a_part_of_the_largest_cost():
    metric = cost_rate(fp=2, fn=7)

    assert metric(TABLE) == pytest.approx([(16 + 70) / (2 * 60 + 7 * 40)])

    worst = Confusion(*np.array([[0.0], [60.0], [40.0], [0.0]]))

    assert metric(worst) == pytest.approx([1])
    assert (metric.range, metric.direction) == ((0, 1), "lower")


@pytest.mark.parametrize("odds", [0.0, 0.25, 3.0])
def test_net_benefit_takes_false_positives_at_the_odds(odds):
    metric = net_benefit(odds)

    assert metric(TABLE) == pytest.approx([(30 - odds * 8) / 100])
    assert metric.range == (-odds, 1)
    assert metric.direction == "higher"


@pytest.mark.parametrize(
    "make",
    [
        lambda: f_beta(1.1e100),
        lambda: f_beta(-1),
        lambda: cost(fp=1.1e100, fn=1),
        lambda: cost(fp=1, fn=-0.1),
        lambda: cost_rate(fp=0, fn=0),
        lambda: cost(fp=1, fn=1, defer=-1),
        lambda: net_benefit(-0.1),
    ],
)
def test_numbers_that_are_no_costs_are_refused(make):
    with pytest.raises(InputError):
        make()


def test_the_largest_numbers_are_taken():
    assert f_beta(1e100).range == (0, 1)
    assert cost(fp=1e100, fn=0).name == "cost(fp=1e+100, fn=0)"
    assert cost_rate(fp=0, fn=1).direction == "lower"


@pytest.mark.parametrize("name", ["deferred", "defer"])
def test_one_threshold_defers_no_case(name):
    with pytest.raises(InputError, match="between two thresholds"):
        COUNTS[name](TABLE)


def test_metrics_that_are_shown_first():
    shown = {name for name, metric in METRICS.items() if metric.shown}

    assert shown == {
        *("accuracy", "recall", "specificity", "precision", "npv", "f1", "mcc")
    }


def test_correlation_is_that_of_single_cases():
    label = np.repeat([1, 0, 1, 0], [30, 8, 10, 52])
    verdict = np.repeat([1, 1, 0, 0], [30, 8, 10, 52])

    assert trueness.mcc(TABLE) == pytest.approx([stats.pearsonr(label, verdict)[0]])
