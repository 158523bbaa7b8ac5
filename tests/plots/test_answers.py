"""Figures of answers (a plan, leaves, a guaranteed cut), by their specification."""

import numpy as np
import pytest

import trueness
from trueness._core.checks.errors import NeedsWholeCases
from trueness.counts.design import CANNOT


def rows(chart, layer):
    """Give the data of a layer; those that layers share stand above them."""
    spec = chart.to_dict()
    data = spec["layer"][layer].get("data") or spec["data"]
    return data["values"] if "values" in data else spec["datasets"][data["name"]]


@pytest.mark.parametrize("goal", [{"half_width": 0.03}, {"null": 0.7, "power": 0.8}])
def test_a_plan_lies_on_its_line(goal):
    found = trueness.plan_auc(auc=0.8, prevalence=0.2, **goal)
    chart = trueness.plots.sample_size(found)
    line, dot = rows(chart, 0), rows(chart, 1)
    reached = found.power if "null" in goal else found.half_width
    assert [(row["n"], row["value"]) for row in dot] == [
        (found.n, pytest.approx(reached))
    ]
    line.sort(key=lambda row: row["n"])
    n, value = ([row[k] for row in line] for k in ("n", "value"))
    assert n[0] < found.n < n[-1]
    sign = 1 if "null" in goal else -1
    assert (sign * np.diff(value) >= 0).all()
    assert np.interp(found.n, n, value) == pytest.approx(reached, rel=0.01)
    assert f"{found.n:,}" in chart.to_dict()["description"]


def test_leaves_show_share_interval_and_verdict():
    report = trueness.leaves([1, 1, 1, 0] * 9 + [0, 1], ["a"] * 36 + ["b"] * 2).report()
    drawn = rows(trueness.plots.leaf_shares(report), 0)
    assert [row["leaf"] for row in drawn] == ["a", "b"]
    assert [row["verdict"] for row in drawn] == report.verdict.tolist()
    for row, low, high in zip(drawn, report.low, report.high, strict=True):
        assert row["low"] == low <= row["share"] <= high == row["high"]
    evil = trueness.leaves([1, 0], ["\x1b[31m", "</script>"]).report()
    assert rows(trueness.plots.leaf_shares(evil), 0)[0]["leaf"] == "\\x1b[31m"


def test_the_guaranteed_cut_is_on_the_curve():
    t = trueness.Tally([3, 2, 1], pos=[60, 30, 10], neg=[5, 20, 75])
    found = trueness.guaranteed_threshold(t, "recall >= 0.8")
    chart = trueness.plots.guaranteed_cut(t, found)
    assert rows(chart, -1) == [{"fpr": 25 / 100, "tpr": 90 / 100}]
    assert "recall >= 0.8" in chart.to_dict()["description"]


Y = (np.arange(90) % 3 == 0).astype(float)
S = np.random.default_rng(4).normal(0.4 + 0.2 * Y, 0.15).clip(0.01, 0.99).round(2)
KNOWN = np.where(np.arange(90) % 7 == 0, np.nan, Y)
CAME = {
    "weight": (Y, {"weight": 1 + np.arange(90) % 4}),
    "cluster": (Y, {"cluster": np.arange(90) // 6}),
    "sampling": (Y, {"sampling": "case-control", "prevalence": 0.1}),
    "prevalence": (Y, {"prevalence": 0.1}),
    "unlabelled": (KNOWN, {"unlabelled": "missing at random"}),
}
OPTIONS = {
    "pareto": {"metrics": ["recall", "precision"]},
    "pareto_plane": {"metrics": ["recall", "precision"]},
    "operating_point": {"maximize": "f1"},
    "reliability": {"replicates": 20},
}
FIGURES = [
    n for n in trueness.plots.__all__ if hasattr(getattr(trueness.plots, n), "takes")
]


@pytest.mark.parametrize("word", CAME)
@pytest.mark.parametrize("name", FIGURES)
def test_a_figure_takes_how_the_cases_came(name, word):
    (y, came), figure = CAME[word], getattr(trueness.plots, name)
    options = OPTIONS.get(name, {})
    if word in CANNOT.get(name, {}):
        with pytest.raises(NeedsWholeCases, match=f"{name} does not take"):
            figure(y, S, **came, **options)
        return
    drawn = figure(y, S, **came, **options).to_dict()
    assert drawn == figure(trueness.tally(y, S, **came), **options).to_dict()
