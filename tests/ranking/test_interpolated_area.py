"""The interpolated area under precision and recall: by quadrature, slopes, laws."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.integrate import quad

import trueness
from trueness import Tally
from trueness.ranking import precision_recall_area
from trueness.ranking.interpolated_area import interpolated_area_measure

COUNTS = {
    "pos": [3, 0, 4, 1, 0, 2, 1],
    "neg": [0, 2, 1, 5, 3, 0, 9],
}
TALLY = Tally([7, 6, 5, 4, 3, 2, 1], **COUNTS)


def area_by_quadrature(pos, neg):
    """Integrate precision over recall, between thresholds on a line of counts."""
    area = tp = fp = 0.0
    for new_tp, new_fp in zip(pos, neg, strict=True):

        def precision(part, tp=tp, fp=fp, new_tp=new_tp, new_fp=new_fp):
            flagged = tp + fp + part * (new_tp + new_fp)
            if not flagged:
                return new_tp / (new_tp + new_fp)
            return (tp + part * new_tp) / flagged

        area += new_tp * quad(precision, 0, 1, epsabs=1e-13)[0] if new_tp else 0.0
        tp += new_tp
        fp += new_fp

    return area / sum(pos)


def test_the_area_is_the_integral():
    expected = area_by_quadrature(**COUNTS)

    assert precision_recall_area(TALLY).value == pytest.approx(expected, rel=1e-10)


def test_a_perfect_ranking_has_area_one_and_one_tie_the_prevalence():
    perfect = Tally([2, 1], pos=[5, 0], neg=[0, 9])
    tied = Tally([1], pos=[3], neg=[9])

    assert precision_recall_area(perfect).value == 1
    assert precision_recall_area(tied).value == pytest.approx(0.25)


@pytest.mark.parametrize("side", ["pos", "neg"])
@pytest.mark.parametrize("row", [0, 2, 3, 6])
def test_influence_values_are_slopes(side, row):
    if not COUNTS[side][row]:
        pytest.skip("no case to move")
    step = 1e-5
    areas = []
    for change in (step, -step):
        counts = {name: np.array(column, float) for name, column in COUNTS.items()}
        counts[side][row] += change
        areas.append(area_by_quadrature(**counts))

    influence = interpolated_area_measure(TALLY).influence

    values = influence.by_positive if side == "pos" else influence.by_negative

    assert values[row] == pytest.approx((areas[0] - areas[1]) / (2 * step), abs=1e-7)


def test_merged_and_scaled_counts_have_the_same_area():
    doubled = precision_recall_area(TALLY + TALLY)

    assert doubled.value == pytest.approx(precision_recall_area(TALLY).value)
    assert doubled.se < precision_recall_area(TALLY).se


def test_two_classifiers_can_be_compared_by_it():
    rng = np.random.default_rng(0)
    label = (rng.random(400) < 0.3).astype(int)
    scores = {"a": label + rng.normal(size=400), "b": rng.normal(size=400)}

    pair = trueness.compare(label, scores, precision_recall_area).pairs[0]

    assert pair.p_value < 0.001
