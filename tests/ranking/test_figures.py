"""Guides and edges of figures of ranking, and the points of model curves."""

import numpy as np
import pytest

from trueness import Tally
from trueness.ranking import figures
from trueness.ranking.model_figures import GRID

TALLIES = {"a": Tally([2, 1], pos=[3, 1], neg=[1, 5])}


@pytest.mark.parametrize(
    ("kind", "height"),
    [("roc", [0, 1]), ("lift", [1, 1]), ("precision_recall", [0.4, 0.4])],
)
def test_guessing_has_a_line_of_its_own(kind, height):
    lines = figures._chance_lines(kind, TALLIES, figures.FPR, figures.TPR)

    assert len(lines) == 1
    assert list(lines[0].columns["fpr"]) == [0, 1]
    assert list(lines[0].columns["tpr"]) == pytest.approx(height)


def test_bins_of_one_score_lie_around_it():
    assert figures._equal_edges(3.0, 3.0, 2) == pytest.approx([2.5, 3.0, 3.5])


def test_bins_near_the_largest_float_are_finite():
    largest = np.finfo(float).max

    edges = figures._equal_edges(-largest, largest, 4)

    assert np.isfinite(edges).all()
    assert edges / largest == pytest.approx([-1, -0.5, 0, 0.5, 1])


def test_points_of_a_model_curve_are_rates_and_close_at_the_ends():
    assert GRID[0] == 0
    assert GRID[-1] == 1
    assert GRID[1] == pytest.approx(1e-6)
    assert 1 - GRID[-2] == pytest.approx(1e-6)
