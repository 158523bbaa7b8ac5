"""Metrics in fractions: equal values are told from close ones."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest

from trueness import Confusion, accuracy, g_mean, mcc, recall
from trueness.metrics.algebra import in_fractions, meets
from trueness.metrics.definitions import COUNTS, METRICS, cost

CELLS = {"tp": [9, 3, 0], "fp": [4, 2, 1], "fn": [1, 7, 10], "tn": [16, 18, 19]}


def counts(unit=1):
    return tuple(
        np.array([unit * n for n in CELLS[name]], dtype=object)
        for name in ("tp", "fp", "fn", "tn")
    )


@pytest.mark.parametrize("name", ["recall", "precision", "f1", "kappa", "youden"])
@pytest.mark.parametrize("unit", [1, 7])
def test_fractions_are_the_values(name, unit):
    metric = METRICS[name]
    floats = metric(Confusion(**{k: np.array(v) for k, v in CELLS.items()}))

    exact = in_fractions(metric, counts(unit), unit)

    assert [float(value) for value in exact] == pytest.approx(floats.tolist())


def test_counts_do_not_depend_on_the_unit():
    for metric in (COUNTS["fp"], cost(fp=1.5, fn=0.1)):
        plain = in_fractions(metric, counts(), 1)
        scaled = in_fractions(metric, counts(12), 12)

        assert plain.tolist() == scaled.tolist()


def test_costs_are_exact():
    values = in_fractions(cost(fp=1.5, fn=0.1), counts(), 1)

    assert values[0] == Fraction(15, 10) * 4 + Fraction(1, 10)


def test_a_root_is_compared_by_its_square():
    # recall 9/10 and specificity 16/20: the square of their geometric mean
    assert in_fractions(g_mean, counts(), 1)[0] == Fraction(9, 10) * Fraction(16, 20)

    worse_than_chance = (mcc(Confusion(tp=1, fp=3, fn=3, tn=1)),)
    cells = tuple(np.array([n], dtype=object) for n in (1, 3, 3, 1))

    # mcc is -1/2, and its square keeps the sign
    assert worse_than_chance[0] == -0.5
    assert in_fractions(mcc, cells, 1)[0] == Fraction(-1, 4)


def test_roots_in_a_sum_have_thirty_digits():
    perfect_square = tuple(np.array([n], dtype=object) for n in (9, 0, 7, 16))
    mixed = g_mean + recall

    value = in_fractions(mixed, perfect_square, 1)[0]

    # recall 9/16 and specificity 1: the root is 3/4
    assert value == Fraction(3, 4) + Fraction(9, 16)

    other = in_fractions(g_mean + accuracy, counts(), 1)[0]
    expected = math.sqrt(0.9 * 0.8) + 25 / 30

    assert float(other) == pytest.approx(expected, rel=1e-15)


def test_negative_roots_in_a_sum_keep_their_sign():
    cells = tuple(np.array([n], dtype=object) for n in (1, 3, 3, 1))

    assert in_fractions(mcc + accuracy, cells, 1)[0] == Fraction(-1, 2) + Fraction(1, 4)


def test_infinite_values_have_a_sign():
    none_flagged_wrongly = tuple(np.array([n], dtype=object) for n in (9, 0, 1, 20))
    nothing = tuple(np.array([n], dtype=object) for n in (0, 0, 10, 20))

    lr = METRICS["lr_positive"]

    assert in_fractions(lr, none_flagged_wrongly, 1)[0] == math.inf
    assert in_fractions(lr, nothing, 1)[0] == -math.inf


@pytest.mark.parametrize(
    ("constraint", "holds"),
    [
        (recall >= 0.9, [True, False, False]),
        (recall > 0.9, [False, False, False]),
        (recall <= 0.3, [False, True, True]),
        (g_mean >= 0.8, [True, False, False]),
        (1 - recall <= 0.1, [True, False, False]),
        (mcc >= -0.5, [True, True, True]),
    ],
)
def test_constraints_hold_exactly(constraint, holds):
    values = in_fractions(constraint.metric, counts(), 1)

    assert meets(constraint, values).tolist() == holds
