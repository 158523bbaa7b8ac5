"""Figures of comparisons, read through their specification."""

import pytest

import trueness
from conftest import tied_cases


def values(chart, layer):
    spec = chart.to_dict()
    data = spec["layer"][layer].get("data", spec.get("data"))
    return data["values"] if "values" in data else spec["datasets"][data["name"]]


@pytest.fixture
def two(rng):
    y, a = tied_cases(rng, 200, levels=30)
    return trueness.panel(y, {"a": a, "b": a + rng.normal(size=a.size)})


def test_dominance_and_comparison(two):
    found = trueness.dominates(two, "a", "b", replicates=100)
    chart = trueness.plots.dominance(found)
    assert found.verdict in chart.to_dict()["title"]["text"]
    assert [p["low"] for p in values(chart, 0)] == pytest.approx(found.low)
    compared = trueness.compare_auc(two)
    drawn = values(trueness.plots.comparison(compared), 2)
    assert drawn[0]["pair"] == "a - b"
    assert drawn[0]["difference"] == compared.pairs[0].difference.value
