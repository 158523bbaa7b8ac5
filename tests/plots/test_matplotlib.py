"""Figures on axes of matplotlib, read through their artists."""

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from scipy.special import expit, ndtri

import trueness
from conftest import tied_cases
from trueness import plots

matplotlib = pytest.importorskip("matplotlib")
pytest.importorskip("matplotlib.figure")


@pytest.fixture
def ax():
    figure = matplotlib.figure.Figure()
    return figure.subplots()


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


def test_roc_draws_the_curve_on_the_axes_and_gives_them_back(two, ax):
    assert plots.roc(two["a"], ax=ax, title="A ROC") is ax
    t, curve = two["a"], trueness.roc(two["a"])
    chance, line = ax.lines
    assert points(chance).tolist() == [[0, 0], [1, 1]]
    drawn = set(map(tuple, points(line)))
    assert drawn <= set(zip(curve.fpr, curve.tpr, strict=True))
    assert {(0, 0), (1, 1)} <= drawn
    # the area under what is drawn is the AUC of the library
    assert np.trapezoid(*points(line).T[::-1]) == pytest.approx(trueness.auc(t).value)
    assert ax.get_xlabel() == "False positive rate"
    assert ax.get_ylabel() == "True positive rate (recall)"
    assert (ax.get_xlim(), ax.get_ylim()) == ((0, 1), (0, 1))
    assert ax.get_title() == "A ROC"


def test_a_panel_has_a_legend_and_bands_in_the_colours_of_their_lines(two, ax):
    plots.roc(two, band="simultaneous", ax=ax)
    a = trueness.auc(two["a"])
    assert texts(ax)[0] == f"a: AUC {a.value:.3f} ({a.low:.3f} to {a.high:.3f})"
    lines, (first, second) = labelled(ax), ax.collections
    found = [matplotlib.colors.to_hex(x.get_facecolor()[0]) for x in (first, second)]
    assert found == [matplotlib.colors.to_hex(x.get_color()) for x in lines.values()]
    band, path = trueness.roc_band(two["a"]), first.get_paths()[0].vertices
    assert set(map(tuple, zip(band.fpr, band.low, strict=True))) <= set(
        map(tuple, path)
    )


def test_precision_recall_holds_at_the_prevalence_asked(two, ax):
    plots.precision_recall(two["a"], prevalence=0.05, ax=ax)
    chance, line = ax.lines
    assert set(chance.get_ydata()) == {0.05}
    curve = trueness.precision_recall(two["a"], prevalence=0.05)
    known = set(zip(curve.recall, curve.precision, strict=True))
    assert set(map(tuple, points(line))) <= known


def test_det_is_on_probit_axes(two, ax):
    plots.det(two["a"], ax=ax)
    curve = trueness.det(two["a"])
    inner = (curve.fpr > 0.001) & (curve.fpr < 0.999) & (curve.fnr > 0.001)
    x, y = ax.lines[1].get_xdata(), ax.lines[1].get_ydata()
    at = ndtri(curve.fpr[inner][3])
    assert np.abs(x - at).min() < 0.2
    shown = {t.get_text(): p for t, p in zip(ax.get_xticklabels(), ax.get_xticks(),
                                             strict=True)}  # fmt: skip
    assert shown["0.05"] == pytest.approx(ndtri(0.05))
    assert np.isfinite(x).all()
    assert np.isfinite(y).all()


def test_gain_and_lift(two, ax):
    plots.gain_curve(two["b"], ax=ax)
    curve = trueness.gain_curve(two["b"])
    known = set(zip(curve.flagged_rate, curve.recall, strict=True))
    assert set(map(tuple, points(ax.lines[1]))) <= known
    ax.clear()
    plots.lift_curve(two["b"], ax=ax)
    assert set(ax.lines[0].get_ydata()) == {1}
    assert ax.get_ylim()[1] == trueness.lift_curve(two["b"]).lift.max()


def test_reliability_has_curve_diagonal_and_confidence_band(two, ax):
    plots.reliability(two["a"], replicates=40, ax=ax)
    found = trueness.reliability(two["a"], replicates=40)
    diagonal, line = ax.lines
    assert points(diagonal).tolist() == [[0, 0], [1, 1]]
    assert line.get_ydata().tolist() == found.probability.tolist()
    path = ax.collections[0].get_paths()[0].vertices
    low = set(zip(found.score, found.confidence_low, strict=True))
    assert low <= set(map(tuple, path))


def test_decision_curve_has_both_other_strategies(two, ax):
    plots.decision_curve(two["a"], ax=ax)
    found = trueness.decision_curve(two["a"])
    assert texts(ax) == ["act always", "act never", "act on the score"]
    lines = labelled(ax)
    assert lines["act always"].get_ydata().tolist() == found.treat_all.tolist()
    assert not lines["act never"].get_ydata().any()
    drawn = lines["act on the score"].get_ydata()
    assert drawn.tolist() == found.net_benefit.tolist()
    assert len(ax.collections) == 1


def test_cost_curve(two, ax):
    plots.cost_curve(two, ax=ax)
    found = trueness.cost_curve(two["b"])
    assert labelled(ax)["b"].get_ydata().tolist() == found.cost.tolist()
    assert points(ax.lines[0]).tolist() == [[0, 0], [0.5, 0.5], [1, 0]]


def test_scores_are_shares_of_each_class(two, ax):
    plots.score_distributions(two["a"], bins=10, ax=ax)
    negative, positive = ax.patches
    t = two["a"]
    edges = np.linspace(t.score[-1], t.score[0], 11)
    expected = np.histogram(t.score, edges, weights=t.pos)[0] / t.n_pos
    assert positive.get_data().values == pytest.approx(expected)
    assert negative.get_data().values.sum() == pytest.approx(1)
    assert texts(ax) == ["negative", "positive"]


def test_a_forest_of_aucs_reads_from_the_top(two, ax):
    plots.auc_forest(two, level=0.9, ax=ax)
    a, b = (trueness.auc(two[k], level=0.9) for k in "ab")
    dots = ax.lines[0]
    assert points(dots).tolist() == [[a.value, 1], [b.value, 0]]
    (whiskers,) = ax.containers[0].lines[2]
    ends = [segment[:, 0].tolist() for segment in whiskers.get_segments()]
    assert ends == [pytest.approx([a.low, a.high]), pytest.approx([b.low, b.high])]
    assert [t.get_text() for t in ax.get_yticklabels()] == ["a", "b"]


def test_differences_have_their_line_at_zero(two, ax):
    found = trueness.compare_auc(two)
    plots.comparison(found, ax=ax)
    assert [t.get_text() for t in ax.get_yticklabels()] == ["a - b"]
    assert ax.lines[0].get_xdata().tolist() == [found.pairs[0].difference.value]
    assert list(ax.lines[-1].get_xdata()) == [0, 0]
    ax.clear()
    where = trueness.dominates(two, "a", "b", rng=0)
    plots.dominance(where, ax=ax)
    assert ax.lines[1].get_ydata().tolist() == where.difference.tolist()


def test_several_figures_share_a_page(two):
    figure = matplotlib.figure.Figure()
    axes = figure.subplots(1, 2)
    plots.roc(two, ax=axes[0])
    plots.precision_recall(two, ax=axes[1])
    assert [len(x.lines) for x in axes] == [3, 3]


def test_what_is_no_axes_is_said(two):
    with pytest.raises(trueness.InputError, match="subplots"):
        plots.roc(two, ax="here")


def test_axes_need_no_altair_and_charts_no_matplotlib(tmp_path):
    code = (
        "import sys; sys.modules['altair'] = None\n"
        "import trueness, matplotlib.figure\n"
        "t = trueness.tally([0, 1, 1, 0], [.1, .9, .4, .3])\n"
        "ax = trueness.plots.roc(t, ax=matplotlib.figure.Figure().subplots())\n"
        "print(len(ax.lines))\n"
        "try: trueness.plots.roc(t)\n"
        "except ModuleNotFoundError as err: print(err)"
    )
    source = str(Path(trueness.__file__).parents[1])
    done = subprocess.run(
        [sys.executable, "-c", code],
        env={"PYTHONPATH": source, "PATH": "", "MPLCONFIGDIR": str(tmp_path)},
        capture_output=True,
        text=True,
    )
    assert done.stdout.splitlines()[0] == "2", done.stderr
    assert 'pip install "trueness[plots]"' in done.stdout
    code = "import trueness.plots, sys; print('matplotlib' in sys.modules)"
    done = subprocess.run(
        [sys.executable, "-c", code],
        env={"PYTHONPATH": source, "PATH": ""},
        capture_output=True,
        text=True,
    )
    assert done.stdout == "False\n"
