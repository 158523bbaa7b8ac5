"""Figures of operating points, read through their specification."""

import numpy as np
import pytest

import trueness
from trueness import Tally
from trueness.metrics.grammar import constraints
from trueness.threshold.figures import feasible_region

HAND = Tally([0.9, 0.7, 0.5, 0.2], pos=[2, 1, 1, 0], neg=[0, 1, 2, 3])


def layers(chart):
    """Layers with their data, which they may share with the whole chart."""
    spec = chart.to_dict()
    for layer in spec["layer"]:
        data = layer.get("data", spec.get("data"))
        named = spec.get("datasets", {}).get(data.get("name"))
        layer["rows"] = named or data["values"]
    return spec["layer"]


def rows(layer):
    return layer["rows"]


def test_the_plane_shows_region_curve_and_point():
    chart = trueness.plots.operating_point(HAND, "recall", "flagged <= 4", title="Beds")
    region, _, worth, curve, point = layers(chart)
    assert region["mark"]["type"] == "area"
    assert rows(curve)[0] == {"fpr": 0, "tpr": 0, "cut": "inf"}
    assert rows(point) == [
        {"fpr": 1 / 6, "tpr": 3 / 4, "cut": 0.5 / 2 + 0.7 / 2, "value": 0.75}
    ]
    assert "maximize recall, flagged <= 4" in chart.to_dict()["description"]
    # recall is worth as much on a level line
    assert {r["tpr"] for r in rows(worth)} == {0.75}
    # no constraint, no region
    assert len(layers(trueness.plots.operating_point(HAND))) == 4


def test_equal_worth_is_a_straight_line_for_a_weighted_sum():
    """Sameni (2025), eq. (30): slope and height from the weights and prices."""
    text = "0.5*recall + 0.5*(1 - cost_rate(fp=3, fn=1))"
    chart = trueness.plots.operating_point(HAND, text)
    worth = np.array([(r["fpr"], r["tpr"]) for r in rows(layers(chart)[1])])
    # 0.5 v + 0.5 (1 - (3*6 u + 4 (1 - v)) / 22) = (1 + 1 - 9/22) / 2
    u, v = worth.T
    assert np.allclose(26 * v - 18 * u, 22 + 22 - 9 - 18, atol=26 / 640)


def test_the_front_in_the_plane():
    chart = trueness.plots.pareto_plane(
        HAND, ["recall", "0.5*f1 + 0.5*precision"], subject_to="flagged >= 1"
    )
    region, _, _, dots = layers(chart)
    assert region["mark"]["type"] == "area"
    assert [r["tpr"] for r in rows(dots)] == [0.5, 0.75, 1.0]
    tips = [tip["title"] for tip in dots["encoding"]["tooltip"]]
    assert tips == ["threshold", "recall", "0.5*f1 + 0.5*precision"]


def test_capacity_is_the_line_of_equation_28():
    """pi_p tpr + pi_n fpr <= m: cuts the axes at m/pi_p and m/pi_n."""
    share, m = 0.3, 0.2
    data = feasible_region(constraints(f"flagged_rate <= {m}"), share, 1000)
    fpr, high = np.array(data["fpr"]), np.array(data["high"])
    line = (m - (1 - share) * fpr) / share
    assert fpr.max() == pytest.approx(m / (1 - share), abs=1 / 160)
    assert np.abs(high - np.minimum(line, 1)).max() <= 1 / 640 + 1e-9
    assert not np.any(data["low"])


def test_risk_is_the_line_of_equation_29():
    """Above a line of slope alpha pi_n / (beta pi_p), intercept 1 - c/(beta pi_p)."""
    share, alpha, beta, c, n = 0.3, 1.0, 4.0, 0.5, 1000
    data = feasible_region(
        constraints(f"cost(fp={alpha}, fn={beta}) <= {c * n}"), share, n
    )
    fpr, low = np.array(data["fpr"]), np.array(data["low"])
    line = 1 - c / (beta * share) + alpha * (1 - share) / (beta * share) * fpr
    assert np.abs(low - np.maximum(line, 0)).max() <= 1 / 640 + 1e-9
    assert set(data["high"]) == {1.0}


def test_a_region_may_have_parts():
    data = feasible_region(constraints(["recall >= 0.9", "recall <= 0.1"]), 0.5, 10)
    assert data["fpr"] == []


def test_pareto_draws_all_cuts_and_the_front():
    chart = trueness.plots.pareto(HAND, ["recall", "precision"])
    every, line, points = layers(chart)
    assert len(rows(every)) == 5
    assert [r["x"] for r in rows(line)] == [0.5, 0.75, 1.0]
    assert rows(points) == rows(line)
    three = trueness.plots.pareto(HAND, ["recall", "precision", "accuracy"])
    assert len(three.to_dict()["hconcat"]) == 2


def test_large_data_stay_small_figures():
    rng = np.random.default_rng(1)
    y = rng.random(20_000) < 0.3
    t = trueness.tally(y, rng.random(y.size))
    for chart in (
        trueness.plots.operating_point(t, "f1", "recall >= 0.5"),
        trueness.plots.pareto(t, ["recall", "precision"]),
        trueness.plots.cost_curve(t),
        trueness.plots.decision_curve(t),
    ):
        assert len(chart.to_json()) < 300_000


def test_cost_and_decision_curves():
    band, trivial, line = layers(trueness.plots.cost_curve(HAND))
    assert [x["mark"]["type"] for x in (band, trivial, line)] == [
        "area",
        "line",
        "line",
    ]
    middle = rows(line)[50]
    assert middle["weight"] == 0.5
    assert middle["trivial"] == 0.5
    band, *curves = layers(trueness.plots.decision_curve(HAND, standardised=True))
    names = [{r["curve"] for r in rows(line)} for line in curves]
    assert names == [{"act always"}, {"act never"}, {"act on the score"}]
    assert "Standardised net benefit" in str(curves[0]["encoding"]["y"]["title"])
    assert len(rows(band)) == 99


@pytest.mark.parametrize("name", ["cost_curve", "decision_curve", "reliability"])
def test_several_classifiers_or_groups_in_one_figure(name):
    other = trueness.Tally([0.9, 0.4], pos=[3, 1], neg=[1, 9])
    chart = getattr(trueness.plots, name)({"a": HAND, 7: other})
    drawn = rows(layers(chart)[-1])
    assert {r["curve"] for r in drawn} == {"a", "7"}
    legend = layers(chart)[-1]["encoding"]["color"]["legend"]
    assert legend["symbolType"] == "stroke"
    assert "of a, 7" in chart.to_dict()["description"]
    panel = trueness.panel([0, 1, 0, 1], {"x": [0.1, 0.9, 0.4, 0.6], "y": [0.3] * 4})
    drawn = rows(layers(getattr(trueness.plots, name)(panel))[-1])
    assert {r["curve"] for r in drawn} == {"x", "y"}


def test_groups_of_other_prevalence_act_always_each_on_their_own():
    other = trueness.Tally([0.9, 0.4], pos=[3, 1], neg=[1, 9])
    found = layers(trueness.plots.decision_curve({"a": HAND, "b": other}))
    always = [x for x in found if {r["curve"] for r in rows(x)} == {"act always"}]
    first = [rows(x)[0]["y"] for x in always]
    expected = [trueness.decision_curve(t).treat_all[0] for t in (HAND, other)]
    assert first == pytest.approx(expected)
