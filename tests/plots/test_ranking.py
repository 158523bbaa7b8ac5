"""Figures of curves, read through their specification."""

import numpy as np
import pytest

import trueness
from conftest import tied_cases


def values(chart, layer):
    spec = chart.to_dict()
    data = spec["layer"][layer]["data"]
    return data["values"] if "values" in data else spec["datasets"][data["name"]]


@pytest.fixture
def two(rng):
    y, a = tied_cases(rng, 200, levels=30)
    return trueness.panel(y, {"a": a, "b": a + rng.normal(size=a.size)})


def test_roc_of_a_tally_draws_the_curve(two):
    t = two["a"]
    chart = trueness.plots.roc(t, title="A & <b>")
    points = values(chart, 1)
    curve = trueness.roc(t)
    drawn = {(p["fpr"], p["tpr"]) for p in points}
    assert drawn <= set(zip(curve.fpr, curve.tpr, strict=True))
    assert (0, 0) in drawn
    assert (1, 1) in drawn
    assert chart.to_dict()["title"]["text"] == "A & <b>"
    assert "ROC curve of classifier" in chart.to_dict()["description"]


def test_roc_of_a_panel_names_each_curve_with_its_interval(two):
    names = {p["curve"] for p in values(trueness.plots.roc(two), 1)}
    assert len(names) == 2
    a = trueness.auc(two["b"])
    assert f"b: AUC {a.value:.3f} ({a.low:.3f} to {a.high:.3f})" in names


def test_precision_recall_at_a_prevalence(two):
    chart = trueness.plots.precision_recall({"x": two["a"]}, prevalence=0.05)
    points = values(chart, 1)
    curve = trueness.precision_recall(two["a"], prevalence=0.05)
    drawn = {(p["recall"], p["precision"]) for p in points}
    assert drawn <= set(zip(curve.recall, curve.precision, strict=True))
    assert {p["precision"] for p in values(chart, 0)} == {0.05}


def test_long_curves_are_simplified(rng):
    y = rng.random(5000) < 0.5
    chart = trueness.plots.roc(trueness.tally(y, rng.normal(size=y.size) + y))
    assert len(values(chart, 1)) <= 400


def test_bands_are_drawn(two):
    chart = trueness.plots.roc(two["a"], band="simultaneous")
    band = trueness.roc_band(two["a"])
    drawn = values(chart, 0)
    assert [p["low"] for p in drawn] == pytest.approx(band.low)
    assert [p["high"] for p in drawn] == pytest.approx(band.high)
    chart = trueness.plots.precision_recall(two["a"], band="pointwise", prevalence=0.1)
    band = trueness.precision_recall_band(two["a"], kind="pointwise", prevalence=0.1)
    assert [p["low"] for p in values(chart, 0)] == pytest.approx(band.low)


def test_other_curves(two):
    gain = values(trueness.plots.gain_curve(two), 1)
    curve = trueness.gain_curve(two["a"])
    drawn = {(p["flagged_rate"], p["recall"]) for p in gain if p["curve"] == "a"}
    assert drawn <= set(zip(curve.flagged_rate, curve.recall, strict=True))
    lift = values(trueness.plots.lift_curve(two), 1)
    assert max(p["lift"] for p in lift) <= 1 / two["a"].prevalence
    det = values(trueness.plots.det(two["a"]), 1)
    assert all(abs(p["x"]) < 4 and abs(p["y"]) < 4 for p in det)
    spec = trueness.plots.det(two["a"]).to_dict()["layer"][1]
    assert "0.05" in spec["encoding"]["x"]["axis"]["labelExpr"]


def test_leakage_and_fit(two):
    names = {p["curve"] for p in values(trueness.plots.leakage(two), 1)}
    area = trueness.ranking.leakage(two["a"]).area
    assert f"a: area {area:.3f}" in names
    fitted = trueness.plots.binormal_fit(two["a"])
    fit = trueness.ranking.fit_binormal(two["a"])
    assert f"p = {fit.p_value:.2g}" in fitted.to_dict()["title"]["text"]
    curve = [p for p in values(fitted, 1) if p["curve"].startswith("binormal")]
    at = len(curve) // 2
    assert curve[at]["tpr"] == pytest.approx(fit.curve.tpr(curve[at]["fpr"]))


def test_figures_are_saved(two, tmp_path):
    trueness.plots.save(trueness.plots.roc(two), tmp_path / "roc.svg")
    assert (tmp_path / "roc.svg").read_text().startswith("<svg")


def test_wrong_input_is_named():
    with pytest.raises(
        trueness.InputError, match="needs a tally, or labels and scores"
    ):
        trueness.plots.roc(np.arange(3))
