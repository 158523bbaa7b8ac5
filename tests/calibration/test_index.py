"""Indices and tests that published numbers are made of."""

import json
import math
from pathlib import Path

import numpy as np
import pytest
from scipy.stats import chi2

import trueness
from trueness import InputError, Tally

REFERENCE = Path(__file__).parents[1] / "reference"


def brute_loess(x, y, at, span):
    """One weighted parabola at a time, on single cases."""
    q = int(np.floor(span * x.size + 1e-5))
    out = []
    for point in at:
        distance = np.abs(x - point)
        width = np.sort(distance)[q - 1]
        weight = np.clip(1 - (distance / width) ** 3, 0, None) ** 3
        fit = np.polynomial.polynomial.polyfit(x - point, y, 2, w=np.sqrt(weight))
        out.append(fit[0])
    return np.array(out)


@pytest.mark.parametrize("span", [0.4, 0.75, 1.0])
def test_index_of_labels_one_by_one(rng, span):
    p = rng.random(150)
    y = rng.random(150) < p**2
    found = trueness.calibration_index(y, p, positive=True, span=span)
    x = np.sort(p)
    away = np.abs(brute_loess(x, y[np.argsort(p)].astype(float), x, span) - x)
    assert found.ici.value == pytest.approx(away.mean(), abs=1e-8)
    assert found.e50.value == pytest.approx(np.median(away), abs=1e-8)
    assert found.e90.value == pytest.approx(np.quantile(away, 0.9), abs=1e-8)
    assert found.largest.value == pytest.approx(away.max(), abs=1e-8)
    assert found.ici.low > 0  # 1/12 + ... : p^2 is far from p


def test_equal_width_by_hand():
    """Guo et al. (2017), eq. 3: bins (0, 0.5] and (0.5, 1]."""
    t = Tally([0.2, 0.5, 0.6, 1.0], neg=[8, 5, 4, 0], pos=[2, 5, 6, 10])
    e = trueness.calibration_error(t, bins=2, binning="equal width")
    low = abs(7 / 20 - (2 + 5) / 20)
    high = abs(16 / 20 - (6 + 10) / 20)
    assert e.plain.value == pytest.approx((low + high) / 2)
    t = Tally([0.25, 0.75], neg=[5, 1], pos=[5, 9])
    e = trueness.calibration_error(t, bins=10, binning="equal width")
    assert e.plain.value == pytest.approx((0.25 + 0.15) / 2)
    assert (e.bins, e.binning) == (2, "equal width")
    with pytest.raises(InputError, match="binning must be one of"):
        trueness.calibration_error(t, binning="equal")


def test_hosmer_and_lemeshow_by_hand():
    t = Tally([0.2, 0.6], neg=[15, 12], pos=[5, 8])
    h = (5 - 4) ** 2 / (20 * 0.2 * 0.8) + (8 - 12) ** 2 / (20 * 0.6 * 0.4)
    found = trueness.calibration_test(t, method="hosmer-lemeshow", bins=2)
    assert found.statistic == pytest.approx(h)
    assert found.p_value == pytest.approx(chi2.sf(h, 2))
    fewer = trueness.calibration_test(t, method="hosmer-lemeshow", bins=2, parameters=1)
    assert fewer.p_value == pytest.approx(chi2.sf(h, 1))
    none = trueness.calibration_test(t, method="hosmer-lemeshow", bins=2, parameters=2)
    assert math.isnan(none.p_value)
    assert "number of bins" in found.notes[0]


def test_indices_agree_with_r():
    # R's loess and ResourceSelection's formula: tests/reference/calibration.R
    found = json.loads((REFERENCE / "calibration.json").read_text())
    y, p = (np.array(found[k]) for k in ("y", "p"))
    x = trueness.calibration_index(y, p)
    ours = [x.ici.value, x.e50.value, x.e90.value, x.largest.value]
    assert ours == pytest.approx([found[k] for k in ("ici", "e50", "e90", "emax")])
    test = trueness.calibration_test(y, p, method="hosmer-lemeshow", parameters=2)
    assert (test.statistic, test.p_value) == pytest.approx((found["hl"], found["hl_p"]))
