"""Pictures of calibration, read through their specification."""

import numpy as np
import pytest
from scipy.special import expit

import trueness
from conftest import tied_cases
from trueness import plots


@pytest.fixture
def tally(rng):
    y, score = tied_cases(rng, 300)
    return trueness.tally(y, expit(score))


def spec(chart):
    """Give the specification with the data where they are used."""
    content = chart.to_dict()
    kept = content.get("datasets", {})

    def fill(part):
        if isinstance(part, dict):
            if "name" in part.get("data", {}):
                part["data"] = {"values": kept[part["data"]["name"]]}
            for value in part.values():
                fill(value)
        elif isinstance(part, list):
            for value in part:
                fill(value)

    fill({k: v for k, v in content.items() if k != "datasets"})
    return content


def values(layer):
    return layer["data"]["values"]


def test_reliability_shows_the_curve_the_bands_and_the_scores(tally):
    r = trueness.reliability(tally, replicates=40)
    chart = spec(plots.reliability(tally, replicates=40, title="T"))
    top, bottom = chart["vconcat"]
    consistency, confidence, diagonal, curve = top["layer"]
    assert [v["probability"] for v in values(curve)] == r.probability.tolist()
    assert [v["low"] for v in values(consistency)] == r.consistency_low.tolist()
    assert [v["high"] for v in values(confidence)] == r.confidence_high.tolist()
    assert [v["probability"] for v in values(diagonal)] == [0, 1]
    bars = values(bottom)
    assert sum(v["cases"] for v in bars) == tally.n
    assert all(v["top"] - v["base"] == v["cases"] for v in bars)
    assert "300 cases" in chart["description"]
    assert chart["title"]["text"] == "T"


def test_maps_show_each_method_and_the_data(tally):
    maps = {k: trueness.calibrate(tally, method=k) for k in ("platt", "isotonic")}
    lines, dots = spec(plots.calibration_maps(maps, tally, bins=5))["layer"]
    drawn = values(lines)
    assert {v["curve"] for v in drawn} == {"platt", "isotonic"}
    at = np.array([v["score"] for v in drawn if v["curve"] == "platt"])
    p = [v["probability"] for v in drawn if v["curve"] == "platt"]
    np.testing.assert_allclose(p, maps["platt"](at))
    assert len(values(dots)) <= 5
    with pytest.raises(trueness.InputError, match="mapping from name to map"):
        plots.calibration_maps({}, tally)


def test_decomposition_places_each_classifier(tally):
    scores = {
        "a": trueness.brier(tally),
        "b": trueness.brier(tally.map(np.sqrt)),
    }
    *lines, dots = spec(plots.decomposition(scores))["layer"]
    assert [v["mcb"] for v in values(dots)] == [s.mcb.value for s in scores.values()]
    assert dots["encoding"]["color"]["sort"] == ["a", "b"]
    for a, b in map(values, lines):
        assert a["mcb"] - a["dsc"] == pytest.approx(b["mcb"] - b["dsc"])


def test_many_scores_draw_the_same_curve_with_few_points(rng):
    score = rng.random(20_000)
    t = trueness.tally(rng.random(score.size) < score, score)
    curve = values(spec(plots.reliability(t, replicates=20))["vconcat"][0]["layer"][3])
    assert len(curve) < 800
    r = trueness.reliability(t, replicates=20)
    at, p = ([v[k] for v in curve] for k in ("score", "probability"))
    # a vertical step may move sideways by less than can be seen
    away = np.abs(np.interp(r.score, at, p) - r.probability)
    assert np.mean(away < 1e-3) > 0.98
