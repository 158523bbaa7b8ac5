"""Figures of ranks and of ensembles, read through their specification."""

import numpy as np
import pytest

import trueness


def values(chart, layer):
    """The data of one layer, as Vega-Lite will read them."""
    return chart["datasets"][layer.get("data", chart.get("data"))["name"]]


def test_rank_probability_shows_curve_threshold_and_points():
    fd = trueness.fermi_dirac(n=100, n_pos=50, auc=0.9)
    seen = trueness.counts.rank_frequencies(100, 50, 0.9, replicates=20, rng=0)
    chart = trueness.plots.rank_probability(fd, seen, title="<b>Fig. 1</b>").to_dict()
    rule, _, curve, dots = (values(chart, layer) for layer in chart["layer"])
    assert [row["p"] for row in curve] == pytest.approx(
        fd.probability([row["rank"] for row in curve])
    )
    assert [(row["rule"], row["rank"]) for row in rule] == [("r* of Fermi-Dirac", 50.5)]
    assert [row["p"] for row in dots] == pytest.approx(seen)
    assert chart["title"]["text"] == "<b>Fig. 1</b>"
    assert chart["description"]


def test_several_distributions_by_name():
    fds = {f"{k}": trueness.fermi_dirac(n=30, n_pos=k, auc=0.8) for k in (5, 15)}
    seen = {"5": np.full(30, 1 / 6)}
    chart = trueness.plots.rank_probability(fds, seen).to_dict()
    assert {r["curve"] for r in values(chart, chart["layer"][-2])} == {"5", "15"}
    assert {r["curve"] for r in values(chart, chart["layer"][-1])} == {"5"}


def test_fermi_parameters_are_those_of_figure_2():
    chart = trueness.plots.fermi_parameters(1000).to_dict()
    rows = values(chart, chart["hconcat"][0])
    row = next(r for r in rows if r["prevalence"] == "0.5")
    fd = trueness.fermi_dirac(n=1000, n_pos=500, auc=row["auc"])
    assert (row["b"], row["m"]) == pytest.approx((fd.beta * 1000, fd.mu / 1000))


def test_identity_has_the_same_scale_on_both_axes():
    chart = trueness.plots.identity(
        [1, 2], [1.5, 4], x_title="a", y_title="b", colour=[3, 5], colour_title="M"
    ).to_dict()
    line, dots = chart["layer"]
    assert dots["encoding"]["x"]["scale"]["domain"] == [1, 4]
    assert dots["encoding"]["y"]["scale"]["domain"] == [1, 4]
    assert values(chart, dots)[1] == {"x": 2, "y": 4, "curve": "M 5", "at": 0}
    assert values(chart, line) == [{"x": 1, "y": 1}, {"x": 4, "y": 4}]


def test_combiners_are_ordered_by_their_auc():
    p = trueness.simulate_panel(300, 100, [0.6, 0.7, 0.8], rng=0)
    found = trueness.compare_combiners(p, rng=0)
    chart = trueness.plots.combiners(found, title="who wins").to_dict()
    rows = values(chart, chart["layer"][0])
    assert len(rows) == len(trueness.COMBINERS)
    assert [r["auc"] for r in rows] == sorted((r["auc"] for r in rows), reverse=True)
    assert rows[0]["low"] == found.auc[rows[0]["combiner"]].low


def test_rank_correlation_shows_every_pair():
    p = trueness.simulate_panel(300, 100, {"a": 0.6, "</script>": 0.8}, rng=0)
    f = trueness.fidel(p, method="correlated")
    chart = trueness.plots.rank_correlation(f).to_dict()
    (pair,) = values(chart, chart["layer"][0])
    assert (pair["first"], pair["second"]) == ("a", "</script>")
    assert pair["value"] == pytest.approx(f.correlation[0, 1])


def test_lines_with_error_bars():
    aucs = {"x": [0.7, 0.8], "y": [0.6, 0.9]}
    chart = trueness.plots.combiner_lines(
        [3, 4], aucs, x_title="M", errors={"x": [0.01, 0.02], "y": [0.03, 0.04]}
    ).to_dict()
    band, lines = (values(chart, layer) for layer in chart["layer"])
    assert (lines[3]["curve"], lines[3]["x"], lines[3]["auc"]) == ("y", 4, 0.9)
    assert band[3]["high"] - band[3]["low"] == pytest.approx(0.08)
    plain = trueness.plots.combiner_lines([3, 4], aucs, x_title="M").to_dict()
    assert len(plain["layer"]) == 1
