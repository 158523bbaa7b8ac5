"""Figures of latent classes, read through their specification."""

import numpy as np
import pandas as pd
import pytest

import trueness
from no_gold import table
from trueness import plots


@pytest.fixture(scope="module")
def post():
    return trueness.latent_class(
        table("chloroplast_reconstructed"), rng=0, draws=500, dependence="none"
    )


def values(chart):
    spec = chart.to_dict()
    data = spec["data"]
    return data["values"] if "values" in data else spec["datasets"][data["name"]]


def test_densities_integrate_to_one(post):
    rows = values(plots.posterior_densities(post))
    mine = [
        r for r in rows if r["parameter"] == "prevalence" and r["of"] == "posterior"
    ]
    width = mine[1]["value"] - mine[0]["value"]
    assert sum(r["density"] for r in mine) * width == pytest.approx(1, abs=0.02)
    mean = sum(r["density"] * r["value"] for r in mine) * width
    assert mean == pytest.approx(post.prevalence.value, abs=0.004)
    assert {r["of"] for r in rows} == {"posterior", "prior"}
    assert len({r["parameter"] for r in rows}) == 7


def test_plane_shows_the_best(post):
    rows = values(plots.combination_plane(post, most=5))
    assert len(rows) == 5
    best = trueness.best_combination(post)
    assert rows[0]["formula"] == best.formula
    assert rows[0]["tpr"] == pytest.approx(best.sensitivity.value)
    assert rows[0]["left"] < rows[0]["fpr"] < rows[0]["right"]


def test_combinations_of_many_classifiers(rng):
    truth = rng.random(200) < 0.4
    yes, wrong = np.linspace(0.7, 0.9, 5), np.linspace(0.1, 0.3, 5)
    rows = rng.random((200, 5)) < np.where(truth[:, None], yes, wrong)
    many = trueness.panel(None, dict(zip("ABCDE", rows.T.astype(float), strict=True)))
    post = trueness.latent_class(many, draws=300, rng=0, dependence="none")
    rows = values(plots.combination_plane(post))
    assert [r["formula"] for r in rows][-5:] == list("ABCDE")
    assert rows[-1]["tpr"] == pytest.approx(post.sensitivity["E"].value)
    best = trueness.best_combination(post)
    assert rows[0]["tpr"] == pytest.approx(best.sensitivity.value)


@pytest.fixture(scope="module")
def judged():
    d = pd.read_csv(trueness.samples.path("judges"))
    judges = ["grm_gemma_2b", "skywork_gemma_27b", "internlm2_20b"]
    panel = trueness.panel(d, label="human", scores=judges)
    return panel, trueness.prevalence(panel, labelled="random")


def test_judges_are_drawn_from_figure_data(judged):
    panel, r = judged
    (row,) = values(plots.judge_rates({"all": r}))
    assert row["corrected"] == r.value
    assert row["raw"] == pytest.approx(np.mean(list(r.naive.values())))
    spec = plots.judge_plane(r).to_dict()
    places = next(d for d in spec["datasets"].values() if "left" in d[0])
    assert [p["name"] for p in places] == list(panel.names)
    assert [p["tpr"] for p in places] == [
        j.sensitivity.value for j in r.judges.values()
    ]
    cells = values(plots.judge_errors(panel))
    assert len(cells) == 3  # each pair once
    chart = plots.judge_labels(r, panel).to_dict()
    band = next(d for d in chart["datasets"].values() if "high" in d[0])
    assert band[0]["high"] - band[0]["low"] > band[-1]["high"] - band[-1]["low"]


def test_judges_on_axes(judged):
    figure = pytest.importorskip("matplotlib.figure").Figure()
    panel, r = judged
    axes = figure.subplots(4)
    plots.judge_rates({"all": r}, ax=axes[0])
    assert [t.get_text() for t in axes[0].get_legend().get_texts()] == ["raw"]
    plots.judge_plane(r, ax=axes[1])
    names = [t.get_text() for t in axes[1].get_legend().get_texts()]
    assert names == list(panel.names)
    plots.judge_errors(panel, ax=axes[2])
    assert len(axes[2].texts) == 3
    plots.judge_labels(r, panel, ax=axes[3])
    assert axes[3].get_xlabel() == "Labels at random"
