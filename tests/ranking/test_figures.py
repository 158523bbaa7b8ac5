"""Figures of ranking show the numbers of their analyses, by counting at each cut."""

import numpy as np
import pytest
from scipy import stats

import trueness
from trueness import Tally
from trueness._core.checks.errors import NotEnoughCases
from trueness._core.figures import POINTS
from trueness.ranking import figures
from trueness.ranking.models import fit_binormal
from trueness.ranking.risk_coverage import risk_coverage

TALLIES = {"a": Tally([2, 1], pos=[3, 1], neg=[1, 5])}

# counted at each score, highest first: 4, 5, 6 positives and 1, 2, 8 negatives
T = Tally([3, 2, 1], pos=[4, 1, 1], neg=[1, 1, 6])
TP = np.array([4, 5, 6])
FP = np.array([1, 2, 8])
TPR = np.array([0, *TP / 6])
FPR = np.array([0, *FP / 8])
CUTS = [np.inf, 3, 2, 1]


def many_scores(n=400):
    """Return cases of a classifier with all scores different."""
    rng = np.random.default_rng(5)
    label = rng.random(n) < 0.4
    return trueness.tally(label, rng.normal(size=n) + label)


@pytest.mark.parametrize(
    ("kind", "height"),
    [("roc", [0, 1]), ("lift", [1, 1]), ("precision_recall", [0.4, 0.4])],
)
def test_guessing_has_a_line_of_its_own(kind, height):
    lines = figures._chance_lines(kind, TALLIES, figures.FPR, figures.TPR)

    assert len(lines) == 1
    assert list(lines[0].columns["fpr"]) == [0, 1]
    assert list(lines[0].columns["tpr"]) == pytest.approx(height)


@pytest.mark.parametrize(
    ("kind", "across", "up", "cuts"),
    [
        ("roc", FPR, TPR, CUTS),
        ("precision_recall", TP / 6, TP / (TP + FP), CUTS[1:]),
        ("gain", [0, *(TP + FP) / 14], TPR, CUTS),
        ("lift", (TP + FP) / 14, TP / (TP + FP) / (6 / 14), CUTS[1:]),
    ],
)
def test_curves_are_rates_at_each_cut(kind, across, up, cuts):
    figure = figures.curve_figure(kind, {"model": T})

    [line] = figure.lines

    assert line.name == "model"
    assert line.columns[figure.x.name] == pytest.approx(across)
    assert line.columns[figure.y.name] == pytest.approx(up)
    assert list(line.columns["cut"]) == cuts
    assert figure.bands == ()


def test_the_axis_of_lift_ends_at_the_highest_curve():
    worse = Tally([3, 2, 1], pos=[2, 2, 2], neg=[1, 2, 5])

    figure = figures.curve_figure("lift", {"worse": worse, "better": T})

    assert figure.y.high == pytest.approx(4 / 5 / (6 / 14))


def test_a_band_is_that_of_its_function():
    options = {"level": 0.9, "rng": 3, "replicates": 200}

    figure = figures.curve_figure("roc", {"a": T}, band="pointwise", **options)

    expected = trueness.roc_band(T, band="pointwise", **options)
    [band] = figure.bands

    assert list(band.columns["fpr"]) == list(expected.x)
    assert list(band.columns["low"]) == list(expected.low)
    assert list(band.columns["high"]) == list(expected.high)


def test_gain_has_no_band():
    assert figures.curve_figure("gain", {"a": T}, band="pointwise").bands == ()


@pytest.mark.parametrize("points", [2, 3, 17])
def test_a_figure_has_as_many_points_as_wanted(points):
    figure = figures.curve_figure("roc", {"a": many_scores()}, points=points)

    [line] = figure.lines

    assert line.columns["fpr"].size == points
    assert line.columns["fpr"][[0, -1]] == pytest.approx([0, 1])


def test_a_line_needs_two_points():
    with pytest.raises(trueness.InputError, match="points"):
        figures.curve_figure("roc", {"a": T}, points=1)


def test_det_curve_is_drawn_in_normal_quantiles():
    figure = figures.det_figure({"a": T})

    # rates of 0 and 1 stand at one in ten thousand from the end
    def quantile(rate):
        return stats.norm.ppf(np.clip(rate, 1e-4, 1 - 1e-4))

    [line] = figure.lines

    assert line.columns["x"] == pytest.approx(quantile(FPR))
    assert line.columns["y"] == pytest.approx(quantile(1 - TPR))
    assert list(line.columns["cut"]) == CUTS

    for axis in (figure.x, figure.y):
        assert (axis.low, axis.high) == pytest.approx(stats.norm.ppf([0.001, 0.999]))
        assert dict(axis.ticks)[stats.norm.ppf(0.05)] == "0.05"


def test_guessing_is_the_falling_diagonal_of_a_det_curve():
    [guide] = figures.det_figure({"a": T}).guides

    end = stats.norm.ppf(0.999)

    assert guide.columns["x"] == pytest.approx([-end, end])
    assert guide.columns["y"] == pytest.approx([end, -end])


def test_risk_by_coverage_ends_at_its_highest_limit():
    curve = risk_coverage(T, threshold=2)

    figure = figures.risk_coverage_figure(curve)

    [line] = figure.lines
    [band] = figure.bands
    steps = set(zip(curve.coverage, curve.risk, curve.low, curve.high, strict=True))
    shown = [line.columns["coverage"], line.columns["risk"]]
    shown += [band.columns["low"], band.columns["high"]]

    assert set(zip(*shown, strict=True)) <= steps
    assert line.columns["coverage"][[0, -1]] == pytest.approx(curve.coverage[[0, -1]])
    assert list(band.columns["coverage"]) == list(line.columns["coverage"])
    assert figure.y.high == pytest.approx(min(band.columns["high"].max(), 1))


def test_leakage_is_the_miss_rate_by_specificity():
    [line] = figures.leakage_figure({"a": T}).lines

    area = np.trapezoid(1 - TPR, FPR)

    assert line.columns["u"] == pytest.approx(1 - FPR)
    assert line.columns["G"] == pytest.approx(1 - TPR)
    assert line.name == f"a: area {area:.3f}"


def test_leakage_and_roc_curve_are_in_one_plane():
    figure = figures.leakage_and_roc_figure(T)

    roc, leakage = figure.lines
    [area] = figure.bands
    missed = np.trapezoid(1 - TPR, FPR)

    assert roc.columns["x"] == pytest.approx(FPR)
    assert roc.columns["y"] == pytest.approx(TPR)
    assert roc.name.endswith(f"area {1 - missed:.3f}")
    assert leakage.columns["x"] == pytest.approx(1 - FPR[::-1])
    assert leakage.columns["y"] == pytest.approx(1 - TPR[::-1])
    assert list(leakage.columns["cut"]) == CUTS[::-1]
    assert list(area.columns["low"]) == [0, 0, 0, 0]
    assert area.columns["high"] == pytest.approx(1 - TPR[::-1])
    assert area.name == f"Pr(x_p <= x_n) = {missed:.3f}"


def test_a_fitted_curve_lies_beside_the_data():
    tally = many_scores()
    fit = fit_binormal(tally)

    data, fitted = figures.binormal_figure(tally, fit).lines

    curve = fit.curve
    fpr = fitted.columns["fpr"]
    expected = stats.norm.cdf(curve.b + curve.alpha * stats.norm.ppf(fpr))

    assert fitted.columns["tpr"] == pytest.approx(expected, abs=1e-12)
    assert fpr[[0, 1, -1]] == pytest.approx([0, 1e-6, 1])
    assert f"AUC {trueness.auc(tally).value:.3f}" in data.name
    assert f"AUC {stats.norm.cdf(curve.b / np.hypot(1, curve.alpha)):.3f}" in (
        fitted.name
    )


def test_scores_are_counted_in_bins_of_equal_width():
    tallies = {"a": Tally([4, 1, 0], pos=[5, 2, 0], neg=[0, 1, 6]), "none": Tally([])}

    bars = figures.score_figure(tallies, bins=4)

    assert bars.edges == pytest.approx([0, 1, 2, 3, 4])
    assert list(bars.pos["a"]) == [0, 2, 0, 5]
    assert list(bars.neg["a"]) == [6, 1, 0, 0]
    assert list(bars.pos["none"]) == [0, 0, 0, 0]


def test_scores_of_no_case_have_no_figure():
    with pytest.raises(NotEnoughCases, match="at least one case"):
        figures.score_figure({"a": Tally([])})


def test_bins_of_one_score_lie_around_it():
    assert figures._equal_edges(3.0, 3.0, 2) == pytest.approx([2.5, 3.0, 3.5])


def test_bins_of_one_large_score_have_a_width():
    edges = figures._equal_edges(1e12, 1e12, 2)

    assert edges == pytest.approx([1e12 - 1e3, 1e12, 1e12 + 1e3], rel=1e-15)


def test_bins_near_the_largest_float_are_finite():
    largest = np.finfo(float).max

    edges = figures._equal_edges(-largest, largest, 4)

    assert np.isfinite(edges).all()
    assert edges / largest == pytest.approx([-1, -0.5, 0, 0.5, 1])


@pytest.mark.parametrize("threshold", [-1.0, 0.0, 0.3, 1.0, 1.7, 3.0, 5.0])
def test_bins_hold_all_scores_and_begin_at_the_threshold(threshold):
    edges = figures._edges_around(threshold, 0.0, 3.0, 6)

    assert np.abs(edges - threshold).min() == 0
    assert np.diff(edges) == pytest.approx(edges[1] - edges[0])
    # no bin at either end is needless; the highest score lies within the last
    assert edges[0] <= min(0, threshold) < edges[1]
    assert edges[-2] <= max(3, threshold) < edges[-1]
    assert 6 <= edges.size - 1 <= 8


def test_bins_around_one_score_have_a_width():
    assert list(figures._edges_around(2.0, 2.0, 2.0, 5)) == [2.0, 3.0]


def test_a_threshold_separates_four_decisions():
    figure = figures.threshold_figure(T, 2, bins=2)

    areas = {band.name: band.columns for band in figure.bands}

    assert list(areas) == [
        "true negatives: 75.0 % of the class",
        "false positives: 25.0 % of the class",
        "false negatives: 16.7 % of the class",
        "true positives: 83.3 % of the class",
    ]

    # each bin has two corners of its height
    heights = {name: columns["high"][1:-1:2] for name, columns in areas.items()}

    assert [sum(height) for height in heights.values()] == pytest.approx(
        [6 / 8, 2 / 8, 1 / 6, 5 / 6]
    )
    assert figure.y.high == pytest.approx(1.05 * 6 / 8)
    assert figure.rules == (("threshold 2", 2),)


def test_areas_have_their_intervals_under_one_another():
    tallies = {"a": T, "b": many_scores()}

    figure = figures.auc_figure(tallies, level=0.8)

    areas = [trueness.auc(tally, level=0.8) for tally in tallies.values()]

    assert figure.names == ("a", "b")
    assert list(figure.value) == [area.value for area in areas]
    assert list(figure.low) == [area.low for area in areas]
    assert list(figure.high) == [area.high for area in areas]


@pytest.mark.parametrize(
    ("aim", "title"),
    [({"half_width": 0.05}, "Half-width"), ({"null": 0.7, "power": 0.9}, "Power")],
)
def test_a_plan_is_shown_from_a_third_to_three_times_its_cases(aim, title):
    plan = trueness.plan_auc(auc=0.8, prevalence=0.3, **aim)

    figure = figures.plan_figure(plan)

    [line] = figure.lines
    [dot] = figure.dots
    sizes = line.columns["n"]

    assert figure.y.title.startswith(title)
    assert list(dot.columns["n"]) == [plan.n]

    reached = plan.half_width if "half_width" in aim else plan.power

    assert dot.columns["value"] == pytest.approx([reached])
    assert sizes[[0, -1]] == pytest.approx([plan.n / 3, 3 * plan.n], abs=1)
    assert (figure.x.low, figure.x.high) == (sizes[0], sizes[-1])

    values = line.columns["value"]

    assert (figure.y.low, figure.y.high) == (values.min(), values.max())


def test_a_curve_of_many_points_is_thinned():
    [line] = figures.curve_figure("roc", {"a": many_scores(5000)}).lines

    assert line.columns["fpr"].size <= POINTS
