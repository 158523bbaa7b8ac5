"""Figures on axes of matplotlib, read through their artists."""

import inspect
import re
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
pytest.importorskip("matplotlib.style")
matplotlib.use("Agg")


@pytest.fixture
def ax():
    return matplotlib.figure.Figure().subplots()


@pytest.fixture
def two(rng):
    y, a = tied_cases(rng, 300, levels=40)
    return trueness.panel(y, {"a": expit(a), "b": expit(a + rng.normal(size=a.size))})


def points(line):
    return np.column_stack([line.get_xdata(), line.get_ydata()])


def colours_of_areas(ax):
    """Return the colours of filled areas, in the order in which they were drawn."""
    colours = [area.get_facecolor()[0] for area in ax.collections]
    return [matplotlib.colors.to_hex(colour) for colour in colours]


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
    auc = trueness.auc(two["a"])
    band = trueness.roc_band(two["a"])

    plots.roc(two, band="simultaneous", ax=ax)

    assert texts(ax)[0] == f"a: AUC {auc.value:.3f} ({auc.low:.3f} to {auc.high:.3f})"

    line_colours = [
        matplotlib.colors.to_hex(line.get_color()) for line in labelled(ax).values()
    ]
    assert colours_of_areas(ax) == line_colours

    outline = ax.collections[0].get_paths()[0].vertices
    lower_edge = set(zip(band.fpr, band.low, strict=True))
    assert lower_edge <= {tuple(point) for point in outline}


def test_precision_recall_curves_have_their_average_precision(two, ax):
    plots.precision_recall(two, ax=ax)

    precision = trueness.average_precision(two["a"]).value
    assert texts(ax)[0] == f"a: AP {precision:.3f}"


def test_what_a_threshold_flags_is_strong_in_the_hue_of_its_class(two, ax):
    plots.score_distributions(two["a"], threshold=0.5, ax=ax)

    faces = [area.get_facecolor()[0] for area in ax.collections]
    hues = [matplotlib.colors.to_hex(face) for face in faces]
    negative, flagged_negative, positive, flagged_positive = faces
    assert hues[0] == hues[1] != hues[2] == hues[3]
    assert negative[3] < flagged_negative[3]
    assert positive[3] < flagged_positive[3]


def test_det_has_probit_axes(two, ax):
    plots.det(two["a"], ax=ax)

    labels = [label.get_text() for label in ax.get_xticklabels()]
    places = dict(zip(labels, ax.get_xticks(), strict=True))
    assert places["0.05"] == pytest.approx(ndtri(0.05))
    assert np.isfinite(points(ax.lines[1])).all()


def test_reliability_has_two_bands_and_a_histogram(two, ax):
    reliability = trueness.reliability(two["a"], replicates=40)

    plots.reliability(two["a"], replicates=40, ax=ax)

    diagonal, line = ax.lines
    assert points(diagonal).tolist() == [[0, 0], [1, 1]]
    assert line.get_ydata().tolist() == reliability.probability.tolist()
    assert len(ax.collections) == 2  # confidence and consistency
    (histogram,) = ax.child_axes
    assert histogram.get_xlabel() == "Score"


def test_a_decision_curve_names_its_guides(two, ax):
    curve = trueness.decision_curve(two["a"])

    plots.decision_curve(two["a"], ax=ax)

    lines = labelled(ax)
    assert texts(ax) == ["act always", "act never", "act on the score"]
    assert lines["act always"].get_ydata().tolist() == curve.treat_all.tolist()
    assert not lines["act never"].get_ydata().any()


def test_scores_are_shares_of_each_class(two, ax):
    t = two["a"]
    edges = np.linspace(t.score[-1], t.score[0], 11)
    positives, _ = np.histogram(t.score, edges, weights=t.pos)
    half_width = (edges[1] - edges[0]) / 2

    plots.score_distributions(t, bins=10, ax=ax)

    negative, positive = (area.get_paths()[0].vertices for area in ax.collections)
    for middle, count in zip(edges[:-1] + half_width, positives, strict=True):
        in_bin = np.abs(positive[:, 0] - middle) <= half_width + 1e-12
        assert np.isclose(positive[in_bin, 1], count / t.n_pos).any()
    assert negative[:, 1].max() <= 1
    assert len(set(colours_of_areas(ax))) == 2
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
    zero, difference = ax.lines
    assert difference.get_xdata().tolist() == [found.pairs[0].difference.value]
    assert list(zero.get_xdata()) == [0, 0]


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
    with pytest.raises(trueness.InputError, match="subplots"):
        plots.roc(two, ax="here")


def test_panels_lie_in_the_place_of_the_axes(two, ax):
    plots.pareto(two["a"], ["recall", "precision", "accuracy"], ax=ax)
    others = [panel for panel in ax.figure.axes if panel is not ax]
    assert [panel.get_ylabel() for panel in others] == ["precision", "accuracy"]
    free = matplotlib.figure.Figure().add_axes((0.1, 0.1, 0.8, 0.8))
    with pytest.raises(trueness.InputError, match="subplots"):
        plots.fermi_parameters(ax=free)


def test_numbers_of_a_forest_stand_beside_the_axes(two, ax):
    plots.auc_forest(two, ax=ax)
    (right,) = ax.child_axes
    a = trueness.auc(two["a"])
    shown = [t.get_text() for t in right.get_yticklabels()]
    assert shown[0] == f"{a.value:.3f} ({a.low:.3f} to {a.high:.3f})"


def test_many_points_are_numbered_and_named_below(ax):
    d = pd.read_csv(trueness.samples.path("judges"))
    judges = ["grm_gemma_2b", "skywork_gemma_27b", "internlm2_20b"]
    panel = trueness.panel(d, label="human", scores=judges)
    rate = trueness.prevalence(panel, labelled="random")
    plots.judge_plane(rate, ax=ax)
    assert texts(ax) == [f"{k + 1}  {name}" for k, name in enumerate(judges)]
    assert [t.get_text() for t in ax.texts] == ["1", "2", "3"]
    ax.clear()
    plots.judge_errors(panel, ax=ax)
    assert len(ax.texts) == 3
    ax.clear()
    plots.judge_labels(rate, panel, ax=ax)
    assert ax.get_xlabel() == "Labels at random"


def test_new_axes_have_print_size_and_leave_settings_alone(two):
    pyplot = pytest.importorskip("matplotlib.pyplot")
    before = dict(matplotlib.rcParams)

    drawn = plots.roc(two)

    assert dict(matplotlib.rcParams) == before
    assert drawn.figure.get_size_inches().tolist() == [3.5, 3.2]
    assert drawn.figure in map(pyplot.figure, pyplot.get_fignums())
    colours = [line.get_color() for line in labelled(drawn).values()]
    assert colours[:2] == colours_of_the_report()[:2]
    pyplot.close("all")


def colours_of_the_report():
    """Return the light colours of lines, from the style sheet of the report."""
    style = Path(trueness.__file__).parent / "reports" / "style.css"
    light = style.read_text(encoding="utf-8").split("}")[0]
    return re.findall(r"--c\d: (#\w+)", light)


def test_lines_have_the_colours_of_the_report():
    with matplotlib.style.context("trueness.plots.theme"):
        cycle = matplotlib.rcParams["axes.prop_cycle"].by_key()["color"]
    assert cycle == colours_of_the_report()


def test_the_look_can_be_used_for_other_figures():
    with matplotlib.style.context("trueness.plots.theme"):
        assert matplotlib.rcParams["figure.figsize"] == [3.5, 3.2]


@pytest.mark.parametrize("name", plots.__all__)
def test_every_figure_has_its_data_and_takes_a_title_and_axes(name):
    function = getattr(plots, name)
    if name != "save":
        assert callable(function.figure_data)
        assert {"title", "ax"} <= set(inspect.signature(function).parameters)


def test_matplotlib_is_imported_when_something_is_drawn(tmp_path):
    code = (
        "import sys, trueness.plots\n"
        "print('matplotlib' in sys.modules)\n"
        "t = trueness.tally([0, 1, 1, 0], [.1, .9, .4, .3])\n"
        "f = trueness.plots.roc.figure_data(t)\n"
        "trueness.plots.save(f, sys.argv[1])\n"
        "print('matplotlib' in sys.modules); sys.modules['matplotlib'] = None\n"
        "try: trueness.plots.roc(t)\n"
        "except ModuleNotFoundError as err: print(err)"
    )
    source = str(Path(trueness.__file__).parents[1])
    environment = {"PYTHONPATH": source, "PATH": "", "MPLCONFIGDIR": str(tmp_path)}
    said = subprocess.check_output(
        [sys.executable, "-c", code, str(tmp_path / "roc.svg")],
        env=environment,
        text=True,
    )
    assert said.splitlines()[:2] == ["False", "False"]
    assert 'pip install "trueness[plots]"' in said


def test_an_interval_without_a_value_is_drawn():
    """Verdicts alone determine no value of a test, but an interval."""
    verdicts = np.random.default_rng(1).random((200, 3)) < 0.4
    votes = trueness.panel(None, dict(zip("abc", verdicts.T.astype(int), strict=True)))
    posterior = trueness.latent_class(votes)

    axes = posterior.plot()

    segments = [s for lines in axes.collections for s in lines.get_segments()]
    ends = {tuple(segment[:, 0]) for segment in segments if np.size(segment)}
    assert (posterior.prevalence.low, posterior.prevalence.high) in ends
