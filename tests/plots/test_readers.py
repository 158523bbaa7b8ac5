"""The figure of a reader study holds every result and every mean."""

import pandas as pd
import pytest

import trueness


def test_results_and_means_are_drawn():
    data = pd.read_csv(trueness.samples.path("readers"))
    study = trueness.reader_study(data, label="truth", score="rating")
    chart = trueness.plots.reader_results(study).to_dict()
    layers = [list(chart["datasets"][x["data"]["name"]]) for x in chart["layer"]]
    assert len(layers[1]) == 10
    assert sorted(r["value"] for r in layers[1]) == pytest.approx(
        sorted(study.results.ravel())
    )
    means = layers[3]
    assert [m["low"] for m in means] == pytest.approx([m.low for m in study.means])
    assert "p = 0.052" in chart["title"]["text"]
    assert "Grey: each reader" in chart["title"]["subtitle"]
    titled = trueness.plots.reader_results(study, title="Two ways").to_dict()
    assert titled["title"]["text"] == "Two ways"
