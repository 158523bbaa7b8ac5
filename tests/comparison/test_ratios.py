"""Ratios of metrics on the same cases against closed formulas."""

from __future__ import annotations

import numpy as np
import pytest

import trueness

# positives: both flag 60, only a 12, only b 20, neither 28; and negatives
ROWS = [[1, 1], [1, 0], [0, 1], [0, 0]]
PANEL = trueness.Panel(["a", "b"], ROWS, pos=[60, 12, 20, 28], neg=[10, 15, 5, 170])


def test_relative_sensitivity_has_the_variance_of_cheng_and_macaluso():
    comparison = trueness.compare_metric(PANEL, "recall", effect="ratio")

    ratio = comparison.pairs[0].ratio

    assert ratio.value == pytest.approx(72 / 80)

    # Cheng and Macaluso (1997): var log = (b + c) / ((a + b) (a + c))
    se_of_log = np.sqrt((12 + 20) / (72 * 80))

    assert ratio.se / ratio.value == pytest.approx(se_of_log, rel=0.01)

    expected = ratio.value * np.exp(np.array([-1.96, 1.96]) * se_of_log)

    assert ratio.ci == pytest.approx(expected, rel=0.01)


def test_ratio_of_precisions_has_its_jackknife_variance():
    ratio = trueness.compare_metric(PANEL, "precision", effect="ratio").pairs[0].ratio

    def relative_precision(counts):
        (pos_11, pos_10, pos_01, _), (neg_11, neg_10, neg_01, _) = counts
        first = (pos_11 + pos_10) / (pos_11 + pos_10 + neg_11 + neg_10)
        second = (pos_11 + pos_01) / (pos_11 + pos_01 + neg_11 + neg_01)
        return first / second

    counts = np.array([PANEL.pos, PANEL.neg], float)
    n = counts.sum()
    order = [np.flatnonzero((PANEL.rows == row).all(axis=1))[0] for row in ROWS]
    counts = counts[:, order]
    jackknife = 0.0
    for cell in np.ndindex(counts.shape):
        fewer = counts.copy()
        fewer[cell] -= 1
        moved = relative_precision(fewer) - relative_precision(counts)
        jackknife += counts[cell] * moved**2

    assert ratio.value == pytest.approx(relative_precision(counts))
    assert ratio.se == pytest.approx(np.sqrt(jackknife * (n - 1) / n), rel=0.02)


def test_differences_stay_and_have_no_ratio_unless_requested():
    plain = trueness.compare_metric(PANEL, "recall").pairs[0]
    both = trueness.compare_metric(PANEL, "recall", effect="ratio").pairs[0]

    assert plain.ratio is None
    assert both.difference == plain.difference
    assert both.p_value == plain.p_value


def test_ratio_over_zero_is_undefined():
    panel = trueness.Panel(["a", "b"], [[1, 0], [0, 0]], pos=[5, 5], neg=[1, 9])

    ratio = trueness.compare_metric(panel, "recall", effect="ratio").pairs[0].ratio

    assert np.isnan(ratio.value)
