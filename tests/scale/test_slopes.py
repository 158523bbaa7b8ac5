"""No arrangement within the cells leaves the bounds of slope and intercept."""

import numpy as np
import pytest

import trueness
from bins_by_hand import arrangements, random_cells
from trueness import NotEnoughCases


@pytest.mark.parametrize("seed", range(12))
def test_slope_and_intercept_of_small_cells(seed):
    rng = np.random.default_rng(seed)
    t = random_cells(rng, most=5, cells=4)
    try:
        found = trueness.calibration_line(t)
    except NotEnoughCases:
        return
    for x in arrangements(t, rng, most=40):
        try:
            exact = trueness.calibration_line(x)
        except NotEnoughCases:
            continue
        for name in ("slope", "intercept"):
            low, high = getattr(found, name).bounds
            assert low <= getattr(exact, name).value <= high


def test_fine_cells_leave_little_open():
    rng = np.random.default_rng(0)
    p = rng.random(20_000)
    exact = trueness.tally(rng.random(20_000) < p**1.5, p)
    found, line = (
        trueness.calibration_line(exact.coarse(500)),
        trueness.calibration_line(exact),
    )
    for name in ("slope", "intercept"):
        low, high = getattr(found, name).bounds
        assert low <= getattr(line, name).value <= high
        assert high - low < 0.1
    assert found.bounds == found.slope.bounds
    assert (
        trueness.bounds("calibration_line", exact.coarse(500)).name
        == "calibration_line"
    )
