"""Counts of the target population, and influence values that are computed as read."""

import numpy as np
import pytest

import trueness
from trueness import Tally
from trueness._core.arrays import BLOCK, blocks
from trueness.inference.sample import (
    BlockwiseValues,
    apply_design,
    blockwise_values,
    center_influence,
)

SIZE = 2 * BLOCK + 5


def parabola(block):
    """Return the values of a block: the square of each index."""
    return np.arange(block.start, min(block.stop, SIZE), dtype=float) ** 2


VALUES = np.arange(SIZE, dtype=float) ** 2


def test_long_columns_are_computed_block_by_block():
    asked = []
    values = blockwise_values(
        SIZE, lambda block: asked.append(block) or parabola(block)
    )

    assert isinstance(values, BlockwiseValues)
    assert asked == []

    for block in blocks(SIZE):
        assert (values[block] == VALUES[block]).all()

    assert len(asked) == 3


def test_short_columns_are_arrays():
    values = blockwise_values(BLOCK, parabola)

    assert isinstance(values, np.ndarray)
    assert (values == VALUES[:BLOCK]).all()


@pytest.mark.parametrize(
    "index",
    [
        slice(None),
        slice(3, 9),
        slice(0, BLOCK - 1),
        slice(0, BLOCK, 2),
        slice(BLOCK, None),
        slice(BLOCK, 2 * BLOCK),
        slice(2 * BLOCK, SIZE),
        np.array([SIZE - 1, 0, BLOCK, 7]),
        7,
    ],
    ids=str,
)
def test_any_part_can_be_read(index):
    values = BlockwiseValues(SIZE, parabola)

    assert np.array_equal(values[index], VALUES[index])


def test_they_are_added_and_multiplied_as_arrays():
    values = BlockwiseValues(SIZE, parabola)

    assert (1 - 2 * values == 1 - 2 * VALUES).all()
    assert (values - values == 0).all()
    assert np.add.reduce(values) == VALUES.sum()
    assert np.asarray(values).dtype == np.float64


def test_centred_influence_adds_up_to_zero():
    influence = np.array([1.0, 2.0, 6.0])
    counts = np.array([2, 1, 1])

    centred = center_influence(influence, counts)

    assert counts @ centred == pytest.approx(0)
    assert centred - influence == pytest.approx(np.full(3, -2.5))
    assert center_influence(influence, np.zeros(3)) is influence


def test_a_case_control_sample_is_weighed_to_the_prevalence():
    tally = Tally([2, 1], pos=[30, 10], neg=[20, 40])

    sample = apply_design(tally.with_design(prevalence=0.1))

    counts = sample.target_counts

    assert counts.prevalence == pytest.approx(0.1)
    assert counts.pos[0] / counts.n_pos == pytest.approx(0.75)
    assert counts.neg[0] / counts.n_neg == pytest.approx(1 / 3)
    assert counts.n == pytest.approx(100)
    # a negative, a positive
    assert sample.class_weights == pytest.approx((0.9 * 100 / 60, 0.1 * 100 / 40))
    assert sample.reweighted
    assert sample.class_sizes_fixed


@pytest.mark.parametrize(
    ("design", "fixed", "reweighted"),
    [
        ({}, False, False),
        ({"sampling": "case-control"}, True, False),
        ({"prevalence": 0.2}, True, True),
        ({"sampling": "case-control", "prevalence": 0.2}, True, True),
    ],
    ids=str,
)
def test_the_design_says_whether_class_sizes_are_fixed(design, fixed, reweighted):
    sample = apply_design(Tally([2, 1], pos=[3, 1], neg=[2, 4]).with_design(**design))

    assert sample.class_sizes_fixed == fixed
    assert sample.reweighted == reweighted


@pytest.mark.parametrize("design", [{"prevalence": 0.2}, {"sampling": "cohort"}])
def test_precision_has_a_value_where_the_prevalence_is_known(design):
    tally = Tally([2, 1], pos=[3, 1], neg=[2, 4]).with_design(**design)

    assert apply_design(tally, "precision").target_counts.n_pos > 0


def test_a_case_control_sample_has_no_prevalence_of_its_own():
    tally = Tally([2, 1], pos=[3, 1], neg=[2, 4]).with_design(sampling="case-control")

    with pytest.raises(trueness.InputError, match="precision depends on") as said:
        apply_design(tally, "precision")

    assert said.value.option == "prevalence"
