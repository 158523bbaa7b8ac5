"""Figures on axes of matplotlib, read through their artists."""

import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from scipy.special import expit, ndtri

import trueness
from conftest import tied_cases
from trueness import plots

matplotlib = pytest.importorskip("matplotlib")
pytest.importorskip("matplotlib.figure")


@pytest.fixture
def ax():
    return matplotlib.figure.Figure().subplots()


@pytest.fixture
def two(rng):
    y, a = tied_cases(rng, 300, levels=40)
    return trueness.panel(y, {"a": expit(a), "b": expit(a + rng.normal(size=a.size))})


def points(line):
    return np.column_stack([line.get_xdata(), line.get_ydata()])


def labelled(ax):
    return {x.get_label(): x for x in ax.lines if not x.get_label().startswith("_")}


def texts(ax):
    return [t.get_text() for t in ax.get_legend().get_texts()]


def whiskers(ax):
    (lines,) = ax.containers[0].lines[2]
    return np.array(lines.get_segments())


def test_roc_draws_the_curve_on_the_axes_and_gives_them_back(two, ax):
    assert plots.roc(two["a"], ax=ax, title="A ROC") is ax
    curve = trueness.roc(two["a"])
    chance, line = ax.lines
    assert points(chance).tolist() == [[0, 0], [1, 1]]
    assert set(map(tuple, points(line))) <= set(zip(curve.fpr, curve.tpr, strict=True))
    # the area under what is drawn is the AUC of the library
    area = np.trapezoid(*points(line).T[::-1])
    assert area == pytest.approx(trueness.auc(two["a"]).value)
    assert ax.get_xlabel() == "False positive rate"
    assert (ax.get_xlim(), ax.get_ylim()) == ((0, 1), (0, 1))
    assert ax.get_title() == "A ROC"


def test_a_panel_has_a_legend_and_bands_in_the_colours_of_their_lines(two, ax):
    plots.roc(two, band="simultaneous", ax=ax)
    a = trueness.auc(two["a"])
    assert texts(ax)[0] == f"a: AUC {a.value:.3f} ({a.low:.3f} to {a.high:.3f})"
    bands = [matplotlib.colors.to_hex(x.get_facecolor()[0]) for x in ax.collections]
    lines = [matplotlib.colors.to_hex(x.get_color()) for x in labelled(ax).values()]
    assert bands == lines
    band, path = trueness.roc_band(two["a"]), ax.collections[0].get_paths()[0].vertices
    assert set(zip(band.fpr, band.low, strict=True)) <= set(map(tuple, path))


def test_probit_axes_the_band_of_reliability_and_named_guides(two, ax):
    plots.det(two["a"], ax=ax)
    ticks = zip(ax.get_xticklabels(), ax.get_xticks(), strict=True)
    shown = {t.get_text(): place for t, place in ticks}
    assert shown["0.05"] == pytest.approx(ndtri(0.05))
    assert np.isfinite(points(ax.lines[1])).all()
    ax.clear()
    plots.reliability(two["a"], replicates=40, ax=ax)
    found = trueness.reliability(two["a"], replicates=40)
    diagonal, line = ax.lines
    assert points(diagonal).tolist() == [[0, 0], [1, 1]]
    assert line.get_ydata().tolist() == found.probability.tolist()
    assert len(ax.collections) == 1
    ax.clear()
    plots.decision_curve(two["a"], ax=ax)
    found = trueness.decision_curve(two["a"])
    assert texts(ax) == ["act always", "act never", "act on the score"]
    lines = labelled(ax)
    assert lines["act always"].get_ydata().tolist() == found.treat_all.tolist()
    assert not lines["act never"].get_ydata().any()


def test_scores_are_shares_of_each_class(two, ax):
    plots.score_distributions(two["a"], bins=10, ax=ax)
    negative, positive = ax.patches
    t = two["a"]
    edges = np.linspace(t.score[-1], t.score[0], 11)
    expected = np.histogram(t.score, edges, weights=t.pos)[0] / t.n_pos
    assert positive.get_data().values == pytest.approx(expected)
    assert negative.get_data().values.sum() == pytest.approx(1)
    assert texts(ax) == ["negative", "positive"]


def test_intervals_read_from_the_top(two, ax):
    plots.auc_forest(two, level=0.9, ax=ax)
    a, b = (trueness.auc(two[k], level=0.9) for k in "ab")
    assert points(ax.lines[0]).tolist() == [[a.value, 1], [b.value, 0]]
    assert whiskers(ax)[..., 0].ravel() == pytest.approx([a.low, a.high, b.low, b.high])
    assert [t.get_text() for t in ax.get_yticklabels()] == ["a", "b"]
    ax.clear()
    found = trueness.compare_auc(two)
    plots.comparison(found, ax=ax)
    assert ax.lines[0].get_xdata().tolist() == [found.pairs[0].difference.value]
    assert list(ax.lines[-1].get_xdata()) == [0, 0]


def test_regions_zones_fronts_and_readers(two, ax):
    plots.operating_point(two["a"], "f1", "recall >= 0.5", ax=ax)
    assert {"ROC curve", "best threshold", "allowed", "same value"} <= set(texts(ax))
    rule = trueness.best_thresholds(two["a"], minimize="cost(fp=1, fn=1, defer=0.2)")
    for figure, more in (plots.zones, rule), (plots.pareto, ["recall", "precision"]):
        ax.clear()
        assert figure(two["a"], more, ax=ax) is ax
        assert len(texts(ax)) > 1
    ax.clear()
    data = pd.read_csv(trueness.samples.path("readers"))
    study = trueness.reader_study(data, label="truth", score="rating")
    plots.reader_results(study, ax=ax)
    assert whiskers(ax)[:, 0, 1] == pytest.approx([m.low for m in study.means])
    with pytest.raises(trueness.InputError, match="several panels"):
        plots.pareto(two["a"], ["recall", "precision", "accuracy"], ax=ax)
    with pytest.raises(trueness.InputError, match="subplots"):
        plots.roc(two, ax="here")


def test_axes_need_no_altair_and_charts_no_matplotlib(tmp_path):
    code = (
        "import sys, trueness.plots\n"
        "print('matplotlib' in sys.modules); sys.modules['altair'] = None\n"
        "import trueness, matplotlib.figure\n"
        "t = trueness.tally([0, 1, 1, 0], [.1, .9, .4, .3])\n"
        "ax = trueness.plots.roc(t, ax=matplotlib.figure.Figure().subplots())\n"
        "print(len(ax.lines))\n"
        "try: trueness.plots.roc(t)\n"
        "except ModuleNotFoundError as err: print(err)"
    )
    source = str(Path(trueness.__file__).parents[1])
    environment = {"PYTHONPATH": source, "PATH": "", "MPLCONFIGDIR": str(tmp_path)}
    said = subprocess.check_output(
        [sys.executable, "-c", code], env=environment, text=True
    )
    assert said.splitlines()[:2] == ["False", "2"]
    assert 'pip install "trueness[plots]"' in said
