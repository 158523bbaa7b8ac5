"""What figures show, read from their data before anybody draws them."""

import numpy as np
import pandas as pd
import pytest
from scipy.special import expit
from sklearn.tree import DecisionTreeClassifier

import trueness
from conftest import tied_cases
from no_gold import table
from trueness import InputError, Tally, plots
from trueness._core.checks.errors import NotEnoughCases, UnsupportedDesign
from trueness._core.figures import (
    Bars,
    Crosses,
    Intervals,
    Matrix,
    Panels,
    score_bands,
)
from trueness.counts.design import CANNOT
from trueness.metrics.grammar import constraints
from trueness.plots import watch_history
from trueness.threshold.cost_figures import region

HAND = Tally([0.9, 0.7, 0.5, 0.2], pos=[2, 1, 1, 0], neg=[0, 1, 2, 3])
OTHER = Tally([0.9, 0.4], pos=[3, 1], neg=[1, 9])
HUNDRED = Tally([3, 2, 1], pos=[60, 30, 10], neg=[5, 20, 75])


def layers(figure):
    """Return the rows of each layer: bands, guides, rules, lines, dots."""
    data = getattr(figure, "data", figure)
    if isinstance(data, Bars):
        data = score_bands(data)
    if isinstance(data, Panels):
        return [layer for part in data.parts for layer in layers(part)]
    if isinstance(data, Crosses):
        return [crosses(data)]
    if isinstance(data, Intervals):
        return [intervals(data)]
    if isinstance(data, Matrix):
        return [pairs(data)]
    found = [lines_as_rows(data.bands)] if data.bands else []
    found += [lines_as_rows([guide]) for guide in data.guides]
    found += [[{"rule": name, data.x.name: place}] for name, place in data.rules]
    found += [lines_as_rows(data.lines)] if data.lines else []
    return found + ([lines_as_rows(data.dots)] if data.dots else [])


def lines_as_rows(several):
    return [
        {"curve": line.name, "at": k, **{key: line[key][k] for key in line.columns}}
        for line in several
        for k in range(len(next(iter(line.columns.values()))))
    ]


def crosses(data):
    names = (data.x.name, "left", "right", data.y.name, "low", "high")
    both = np.hstack([data.across, data.up])
    return [
        {"curve": name, **dict(zip(names, row, strict=True))}
        for name, row in zip(data.names, both, strict=True)
    ]


def intervals(data):
    name, value = data.keys
    columns = {name: data.names, value: data.value, "low": data.low, "high": data.high}
    columns |= {**data.more, **data.marks}
    return [
        dict(zip(columns, row, strict=True))
        for row in zip(*columns.values(), strict=True)
    ]


def pairs(data):
    return [
        {"first": data.names[j], "second": data.names[i], "value": data.value[i, j]}
        for i in range(len(data.names))
        for j in range(i)
    ]


def rows(figure, layer):
    return layers(figure)[layer]


def column(figure, layer, name, curve=None):
    return [
        r[name] for r in rows(figure, layer) if curve is None or r["curve"] == curve
    ]


def words(figure, what="description"):
    return getattr(figure, what)


@pytest.fixture
def two(rng):
    y, a = tied_cases(rng, 200, levels=30)
    return trueness.panel(y, {"a": a, "b": a + rng.normal(size=a.size)})


@pytest.fixture
def probabilities(rng):
    y, score = tied_cases(rng, 300)
    return trueness.tally(y, expit(score))


# ranking


CURVES = {
    "roc": ("fpr", "tpr"),
    "precision_recall": ("recall", "precision"),
    "gain_curve": ("flagged_rate", "recall"),
    "lift_curve": ("flagged_rate", "lift"),
}


@pytest.mark.parametrize("name", CURVES)
@pytest.mark.parametrize("said", [{}, {"prevalence": 0.05}])
def test_curves_are_those_of_the_library(two, name, said):
    figure = getattr(plots, name).figure_data(two["a"], title="A & <b>", **said)
    curve = getattr(trueness, name)(two["a"], **said)
    known = set(zip(*(getattr(curve, k) for k in CURVES[name]), strict=True))
    drawn = [tuple(r[k] for k in CURVES[name]) for r in rows(figure, -1)]
    assert set(drawn) <= known
    assert len(drawn) > 10
    assert words(figure, "title") == "A & <b>"
    if said and name == "precision_recall":  # what guessing gives
        assert set(column(figure, 0, "precision")) == {0.05}


def test_a_panel_names_each_curve_with_its_interval(two):
    names = set(column(plots.roc.figure_data(two), -1, "curve"))
    a = trueness.auc(two["b"])
    assert len(names) == 2
    assert f"b: AUC {a.value:.3f} ({a.low:.3f} to {a.high:.3f})" in names
    area = trueness.ranking.leakage(two["a"]).area
    assert f"a: area {area:.3f}" in column(plots.leakage.figure_data(two), -1, "curve")


def test_bands_are_drawn(two):
    figure, band = (
        plots.roc.figure_data(two["a"], band="simultaneous"),
        trueness.roc_band(two["a"]),
    )
    assert column(figure, 0, "low") == pytest.approx(band.low)
    assert column(figure, 0, "high") == pytest.approx(band.high)
    asked = {"prevalence": 0.1}
    figure = plots.precision_recall.figure_data(two["a"], band="pointwise", **asked)
    band = trueness.precision_recall_band(two["a"], band="pointwise", **asked)
    assert column(figure, 0, "low") == pytest.approx(band.low)


def test_det_has_probit_ticks_and_a_binormal_fit_is_the_fitted_curve(two):
    figure = plots.det.figure_data(two["a"])
    assert all(abs(p["x"]) < 4 and abs(p["y"]) < 4 for p in rows(figure, -1))
    ticks = {text: place for place, text in figure.data.x.ticks}
    assert ticks["0.05"] == pytest.approx(-1.6449, abs=1e-4)
    assert ticks["0.95"] == pytest.approx(1.6449, abs=1e-4)
    figure, fit = (
        plots.binormal_fit.figure_data(two["a"]),
        trueness.ranking.fit_binormal(two["a"]),
    )
    assert f"p = {fit.p_value:.2g}" in words(figure, "title")
    curve = [p for p in rows(figure, -1) if p["curve"].startswith("binormal")]
    at = len(curve) // 2
    assert curve[at]["tpr"] == pytest.approx(fit.curve.tpr(curve[at]["fpr"]))


def test_scores_of_each_classifier_have_a_panel(two):
    found = layers(plots.score_distributions.figure_data(two, bins=7))
    low, high = (f(two[k].score[i] for k in "ab") for f, i in ((min, -1), (max, 0)))
    edges = np.linspace(low, high, 8)
    for layer, name in zip(found, "ab", strict=True):
        t = two[name]
        heights = [r["high"] for r in layer if r["curve"] == "positive"]
        expected = np.histogram(t.score, edges, weights=t.pos)[0] / t.n_pos
        assert heights[1:-1:2] == pytest.approx(expected)


@pytest.mark.parametrize("goal", [{"half_width": 0.08}, {"null": 0.6, "power": 0.8}])
def test_a_plan_lies_on_its_line(goal):
    found = trueness.plan_auc(auc=0.8, prevalence=0.2, **goal)
    figure = plots.sample_size.figure_data(found)
    reached = found.power if "null" in goal else found.half_width
    (dot,) = rows(figure, 1)
    assert (dot["n"], dot["value"]) == (found.n, pytest.approx(reached))
    n, value = (column(figure, 0, k) for k in ("n", "value"))
    assert n[0] < found.n < n[-1]
    assert ((1 if "null" in goal else -1) * np.diff(value) >= 0).all()
    assert np.interp(found.n, n, value) == pytest.approx(reached, rel=0.01)
    assert f"{found.n:,}" in words(figure)


def test_large_data_stay_small_figures(rng):
    y = rng.random(4_000) < 0.3
    t = trueness.tally(y, rng.random(y.size))
    for figure in (
        plots.roc.figure_data(t),
        plots.operating_point.figure_data(t, "f1", "recall >= 0.5"),
        plots.pareto.figure_data(t, ["recall", "precision"]),
        plots.cost_curve.figure_data(t),
        plots.decision_curve.figure_data(t),
    ):
        assert sum(len(layer) for layer in layers(figure)) < 2_500


# ranks and ensembles


def test_rank_probability_shows_curve_threshold_and_points():
    fd = trueness.fermi_dirac(n=100, n_pos=50, auc=0.9)
    seen = trueness.counts.rank_frequencies(100, 50, 0.9, replicates=20, rng=0)
    figure = plots.rank_probability.figure_data(fd, seen)
    rule, curve, dots = layers(figure)
    assert [r["p"] for r in curve] == pytest.approx(
        fd.probability([r["rank"] for r in curve])
    )
    assert [(r["rule"], r["rank"]) for r in rule] == [("r*", 50.5)]
    assert [r["p"] for r in dots] == pytest.approx(seen)
    fds = {f"{k}": trueness.fermi_dirac(n=30, n_pos=k, auc=0.8) for k in (5, 15)}
    figure = plots.rank_probability.figure_data(fds, {"5": np.full(30, 1 / 6)})
    assert [set(column(figure, k, "curve")) for k in (-2, -1)] == [{"5", "15"}, {"5"}]


def test_fermi_parameters_are_those_of_figure_2():
    for layer, axis in zip(
        layers(plots.fermi_parameters.figure_data(1000)), "bm", strict=True
    ):
        row = next(r for r in layer if r["curve"] == "prevalence 0.5")
        fd = trueness.fermi_dirac(n=1000, n_pos=500, auc=row["auc"])
        known = fd.beta * 1000 if axis == "b" else fd.mu / 1000
        assert row[axis] == pytest.approx(known)


def test_identity_has_the_same_scale_on_both_axes():
    given = {"x_title": "a", "y_title": "b", "colour": [3, 5], "colour_title": "M"}
    figure = plots.identity.figure_data([1, 2], [1.5, 4], **given)
    line, dots = layers(figure)
    axes = (figure.data.x, figure.data.y)
    assert [(axis.low, axis.high) for axis in axes] == [(1, 4)] * 2
    assert dots[1] == {"x": 2, "y": 4, "curve": "M 5", "at": 0}
    assert [(r["x"], r["y"]) for r in line] == [(1, 1), (4, 4)]


def test_combiners_and_how_alike_classifiers_are():
    p = trueness.simulate_panel(300, 100, {"a": 0.6, "b": 0.7, "</script>": 0.8}, rng=0)
    found = trueness.compare_combiners(p, rng=0)
    drawn = rows(plots.combiners.figure_data(found), 0)
    assert len(drawn) == len(trueness.COMBINERS)
    assert [r["auc"] for r in drawn] == sorted((r["auc"] for r in drawn), reverse=True)
    assert drawn[0]["low"] == found.auc[drawn[0]["combiner"]].low
    f = trueness.fidel(p, method="correlated")
    pairs = rows(plots.rank_correlation.figure_data(f), 0)
    pairs = {(r["first"], r["second"]): r["value"] for r in pairs}
    assert len(pairs) == 3
    assert pairs["a", "</script>"] == pytest.approx(f.correlation[0, 2])
    aucs = {"x": [0.7, 0.8], "y": [0.6, 0.9]}
    errors = {"x": [0.01, 0.02], "y": [0.03, 0.04]}
    band, lines = layers(
        plots.combiner_lines.figure_data([3, 4], aucs, x_title="M", errors=errors)
    )
    last = lines[3]
    assert (last["curve"], last["x"], last["auc"]) == ("y", 4, 0.9)
    assert band[3]["high"] - band[3]["low"] == pytest.approx(0.08)


# comparison


def test_dominance_and_comparison(two):
    found = trueness.dominates(two, "a", "b", replicates=100)
    figure = plots.dominance.figure_data(found)
    assert " a " in f" {words(figure, 'title')} "
    assert column(figure, 0, "low") == pytest.approx(found.low)
    compared = trueness.compare_auc(two)
    (drawn,) = rows(plots.comparison.figure_data(compared), -1)
    assert drawn["pair"] == "a - b"
    assert drawn["difference"] == compared.pairs[0].difference.value


def test_readers_and_their_means():
    data = pd.read_csv(trueness.samples.path("readers"))
    study = trueness.reader_study(data, label="truth", score="rating")
    figure = plots.reader_results.figure_data(study)
    *each, means = layers(figure)
    values = [r["value"] for layer in each for r in layer]
    assert sorted(values) == pytest.approx(sorted(study.results.ravel()))
    assert [r["low"] for r in means] == [m.low for m in study.means]
    assert [r["value"] for r in means] == [m.value for m in study.means]
    assert [text for _, text in figure.data.x.ticks] == list(study.treatments)
    assert "p = 0.052" in words(figure, "title")
    titled = plots.reader_results.figure_data(study, title="Two ways")
    assert words(titled, "title") == "Two ways"
    assert "p = 0.052" in words(titled)


# calibration


def test_reliability_shows_the_curve_the_bands_and_the_scores(probabilities):
    t, r = probabilities, trueness.reliability(probabilities, replicates=40)
    figure = plots.reliability.figure_data(t, replicates=40, title="T")
    confidence, consistency, diagonal, curve, scores = (
        layer for layer in layers(figure)
    )
    assert [v["probability"] for v in curve] == r.probability.tolist()
    assert [v["low"] for v in consistency] == r.consistency_low.tolist()
    assert [v["high"] for v in confidence] == r.confidence_high.tolist()
    assert [v["probability"] for v in diagonal] == [0, 1]
    pos = [v["high"] for v in scores if v["curve"] == "positive"]
    assert sum(pos[1:-1:2]) == pytest.approx(1)
    assert "300 cases" in words(figure)


def test_many_scores_draw_the_same_curve_with_few_points(rng):
    score = rng.random(20_000)
    t = trueness.tally(rng.random(score.size) < score, score)
    curve = rows(plots.reliability.figure_data(t, replicates=20), 3)
    assert len(curve) < 800
    r = trueness.reliability(t, replicates=20)
    at, p = ([v[k] for v in curve] for k in ("score", "probability"))
    # a vertical step may move sideways by less than can be seen
    away = np.abs(np.interp(r.score, at, p) - r.probability)
    assert np.mean(away < 1e-3) > 0.98


def test_maps_and_the_parts_of_a_proper_score(probabilities):
    t = probabilities
    maps = {k: trueness.calibrate(t, method=k) for k in ("platt", "isotonic")}
    figure = plots.calibration_maps.figure_data(maps, t, bins=5)
    assert set(column(figure, 0, "curve")) == {"platt", "isotonic"}
    at, p = (column(figure, 0, k, "platt") for k in ("score", "probability"))
    np.testing.assert_allclose(p, maps["platt"](np.array(at)))
    assert len(rows(figure, 1)) <= 5
    scores = {"a": trueness.brier(t), "b": trueness.brier(t.map(np.sqrt))}
    *lines, dots = layers(plots.decomposition.figure_data(scores))
    assert [v["mcb"] for v in dots] == [s.mcb.value for s in scores.values()]
    assert [v["curve"] for v in dots] == ["a", "b"]
    for a, b in (layer for layer in lines):  # of equal loss
        assert a["mcb"] - a["dsc"] == pytest.approx(b["mcb"] - b["dsc"])


# thresholds


def test_the_plane_shows_region_curve_and_point():
    figure = plots.operating_point.figure_data(
        HAND, "recall", "flagged <= 4", title="Beds"
    )
    allowed, _, worth, curve, point = layers(figure)
    assert {"low", "high"} <= allowed[0].keys()
    assert [curve[0][k] for k in ("fpr", "tpr", "cut")] == [0, 0, np.inf]
    (place,) = point
    found = [place[k] for k in ("fpr", "tpr", "cut", "value")]
    assert found == [1 / 6, 0.75, 0.6, 0.75]
    assert "maximize recall, flagged <= 4" in words(figure)
    # recall is worth as much on a level line
    assert {r["tpr"] for r in worth} == {0.75}
    # no constraint, no region
    assert not plots.operating_point.figure_data(HAND).data.bands
    found = trueness.guaranteed_threshold(HUNDRED, "recall >= 0.8")
    figure = plots.guaranteed_cut.figure_data(HUNDRED, found)
    (place,) = rows(figure, -1)
    assert (place["fpr"], place["tpr"]) == (25 / 100, 90 / 100)
    assert "recall >= 0.8" in words(figure)


def test_equal_worth_is_a_straight_line_for_a_weighted_sum():
    """Sameni (2025), eq. (30): slope and height from the weights and prices."""
    text = "0.5*recall + 0.5*(1 - cost_rate(fp=3, fn=1))"
    worth = rows(plots.operating_point.figure_data(HAND, text), 1)
    # 0.5 v + 0.5 (1 - (3*6 u + 4 (1 - v)) / 22) = (1 + 1 - 9/22) / 2
    u, v = (np.array([r[k] for r in worth]) for k in ("fpr", "tpr"))
    assert np.allclose(26 * v - 18 * u, 22 + 22 - 9 - 18, atol=26 / 640)


def test_the_front_in_the_plane_and_all_cuts():
    metrics = ["recall", "0.5*f1 + 0.5*precision"]
    figure = plots.pareto_plane.figure_data(HAND, metrics, subject_to="flagged >= 1")
    *_, dots = layers(figure)
    assert figure.data.bands
    assert [r["tpr"] for r in dots] == [0.5, 0.75, 1.0]
    assert {"cut", *metrics} <= dots[0].keys()
    every, line, points = layers(
        plots.pareto.figure_data(HAND, ["recall", "precision"])
    )
    assert len(every) == 5
    assert [r["x"] for r in line] == [0.5, 0.75, 1.0]
    assert points == line
    three = plots.pareto.figure_data(HAND, ["recall", "precision", "accuracy"])
    assert len(three.data.parts) == 2


def test_zones_are_marked_on_the_scores():
    found = trueness.best_thresholds(HUNDRED, minimize="cost(fp=1, fn=1, defer=0.3)")
    figure = plots.zones.figure_data(HUNDRED, found)
    rules = [r for x in layers(figure) for r in x if "rule" in r]
    assert {r["rule"].strip("\N{LEFTWARDS ARROW} ").split()[0] for r in rules} == {
        "negative",
        "positive",
    }
    (between,) = (x for x in layers(figure)
                  if x[0].get("curve") == "left to a person")  # fmt: skip
    ends = sorted({r["score"] for r in rules})
    assert [r["score"] for r in between] == pytest.approx(ends)
    assert "25.0 % of the cases between" in words(figure)


def test_capacity_and_risk_are_the_lines_of_equations_28_and_29():
    """Sameni (2025): pi_p tpr + pi_n fpr <= m; a line of slope alpha pi_n / (beta pi_p)

    with the intercept 1 - c / (beta pi_p).
    """
    share, m, alpha, beta, c, n = 0.3, 0.2, 1.0, 4.0, 0.5, 1000
    counts = (n * share, n * (1 - share))
    ((fpr, low, high),) = region(constraints(f"flagged_rate <= {m}"), "roc", *counts)
    line = (m - (1 - share) * fpr) / share
    assert fpr.max() == pytest.approx(m / (1 - share), abs=1 / 160)
    assert np.abs(high - np.minimum(line, 1)).max() <= 1 / 640 + 1e-9
    assert not low.any()
    asked = constraints(f"cost(fp={alpha}, fn={beta}) <= {c * n}")
    ((fpr, low, high),) = region(asked, "roc", *counts)
    line = 1 - c / (beta * share) + alpha * (1 - share) / (beta * share) * fpr
    assert np.abs(low - np.maximum(line, 0)).max() <= 1 / 640 + 1e-9
    assert set(high) == {1.0}
    assert region(constraints(["recall >= 0.9", "recall <= 0.1"]), "roc", 5, 5) == []


def test_cost_and_decision_curves():
    band, trivial, line = layers(plots.cost_curve.figure_data(HAND))
    assert [row["weight"] for row in trivial] == [0, 0.5, 1]
    assert len(band) == len(line)
    assert [line[50][k] for k in ("weight", "trivial")] == [0.5, 0.5]
    figure = plots.decision_curve.figure_data(HAND, standardised=True)
    band, *curves = layers(figure)
    names = [{r["curve"] for r in line} for line in curves]
    assert names == [{"act always"}, {"act never"}, {"act on the score"}]
    assert "Standardised net benefit" in figure.data.y.title
    assert len(band) == 99


@pytest.mark.parametrize("name", ["cost_curve", "decision_curve", "reliability"])
def test_several_classifiers_or_groups_in_one_figure(name):
    figure = getattr(plots, name).figure_data(
        {"a": HAND, 7: OTHER}, **OPTIONS.get(name, {})
    )
    assert set(column(figure, -1, "curve")) == {"a", "7"}
    assert "of a, 7" in words(figure)
    if name == "decision_curve":  # groups act always each on their own prevalence
        found = [x for x in layers(figure)]
        always = [r[0]["y"] for r in found if r[0]["curve"] == "act always"]
        expected = [trueness.decision_curve(t).treat_all[0] for t in (HAND, OTHER)]
        assert always == pytest.approx(expected)


# no gold standard


@pytest.fixture(scope="module")
def post():
    return trueness.latent_class(
        table("chloroplast_reconstructed"), rng=0, draws=500, dependence="none"
    )


def test_densities_integrate_to_one(post):
    found = layers(plots.posterior_densities.figure_data(post))
    assert [x[0]["curve"] for x in found] == ["posterior", "prior"] * 7
    value, height = (np.array([r[k] for r in found[0]]) for k in ("value", "high"))
    assert np.trapezoid(height, value) == pytest.approx(1, abs=0.02)
    mean = np.trapezoid(height * value, value)
    assert mean == pytest.approx(post.prevalence.value, abs=0.004)


def test_plane_shows_the_best(post, rng):
    drawn = rows(plots.combination_plane.figure_data(post, most=5), -1)
    assert len(drawn) == 5
    best = trueness.best_combination(post)
    assert drawn[0]["curve"] == best.formula
    assert drawn[0]["tpr"] == pytest.approx(best.sensitivity.value)
    assert drawn[0]["left"] < drawn[0]["fpr"] < drawn[0]["right"]
    # of many classifiers the best by each criterion, and each by itself
    truth = rng.random(200) < 0.4
    yes, wrong = np.linspace(0.7, 0.9, 5), np.linspace(0.1, 0.3, 5)
    votes = rng.random((200, 5)) < np.where(truth[:, None], yes, wrong)
    many = trueness.panel(None, dict(zip("ABCDE", votes.T.astype(float), strict=True)))
    five = trueness.latent_class(many, draws=300, rng=0, dependence="none")
    drawn = rows(plots.combination_plane.figure_data(five), -1)
    assert [r["curve"] for r in drawn][-5:] == list("ABCDE")
    assert drawn[-1]["tpr"] == pytest.approx(five.sensitivity["E"].value)


def test_judges_are_drawn_from_figure_data():
    d = pd.read_csv(trueness.samples.path("judges"))
    judges = ["grm_gemma_2b", "skywork_gemma_27b", "internlm2_20b"]
    panel = trueness.panel(d, label="human", scores=judges)
    r = trueness.prevalence(panel, labelled="random")
    (row,) = rows(plots.judge_rates.figure_data({"all": r}), 0)
    assert row["corrected"] == r.value
    assert row["raw"] == pytest.approx(np.mean(list(r.naive.values())))
    places = rows(plots.judge_plane.figure_data(r), -1)
    known = [j.sensitivity.value for j in r.judges.values()]
    assert [p["curve"] for p in places] == judges
    assert [p["tpr"] for p in places] == known
    assert len(rows(plots.judge_errors.figure_data(panel), 0)) == 3  # each pair once
    band = rows(plots.judge_labels.figure_data(r, panel), 0)
    assert band[0]["high"] - band[0]["low"] > band[-1]["high"] - band[-1]["low"]


# trees


PAPER = {
    "no split": ([1.0], [0.7]),
    "A": ([0.9, 0.1], [0.75, 0.25]),
    "B": ([0.2, 0.8], [0.75, 0.6875]),
}


@pytest.mark.parametrize("level", ["confidence", "utility"])
def test_levels_by_n(level):
    figure = plots.levels_by_n.figure_data(PAPER, n=[5, 20], level=level)
    assert len(rows(figure, 0)) == 6
    for row in rows(figure, 0):
        known = trueness.trees.tree_levels(int(row["n"]), *PAPER[row["curve"]])
        assert row["level"] == pytest.approx(getattr(known, level))
    assert level in figure.data.y.title
    assert "no split, A, B" in words(figure)
    windy = {"windy": trueness.Leaves(["false", "true"], [2, 3], [6, 3])}
    (row,) = rows(plots.levels_by_n.figure_data(windy, n=[14], level=level), 0)
    known = trueness.compare_splits(windy)
    at = known.name.tolist().index("windy")
    assert row["level"] == pytest.approx(getattr(known, level)[at])


def test_likelihoods_peak_at_their_estimates():
    figure = plots.majority_likelihood.figure_data(5, 7)
    for name, peak in (("likelihood", 5 / 7), ("entropic likelihood", 2 / 3)):
        p, height = (column(figure, -1, k, name) for k in ("p", "height"))
        assert p[int(np.argmax(height))] == pytest.approx(peak, abs=1e-3)
    marks = {r["rule"]: r["p"] for x in layers(figure) for r in x if "rule" in r}
    assert marks["blend"] == pytest.approx(103 / 147)
    assert rows(plots.majority_likelihood.figure_data(2, 7), -1) == rows(figure, -1)
    # certain leaves are drawn too
    assert np.isfinite(
        column(plots.majority_likelihood.figure_data(4, 4), -1, "height")
    ).all()


def test_leaves_show_share_interval_and_verdict():
    report = trueness.leaves([1, 1, 1, 0] * 9 + [0, 1], ["a"] * 36 + ["b"] * 2).report()
    drawn = rows(plots.leaf_shares.figure_data(report), 0)
    assert [row["leaf"] for row in drawn] == ["a", "b"]
    assert [row["verdict"] for row in drawn] == report.verdict.tolist()
    for row, low, high in zip(drawn, report.low, report.high, strict=True):
        assert row["low"] == low <= row["share"] <= high == row["high"]
    evil = trueness.leaves([1, 0], ["\x1b[31m", "</script>"]).report()
    assert rows(plots.leaf_shares.figure_data(evil), 0)[0]["leaf"] == "\\x1b[31m"


def test_tree_with_its_leaves(rng):
    X = rng.normal(size=(300, 3))
    y = (X[:, 0] + X[:, 1] + rng.normal(size=300) > 0).astype(int)
    model = DecisionTreeClassifier(max_depth=3, random_state=0).fit(X[:200], y[:200])
    X, y = X[200:], y[200:]
    report = trueness.estimators.leaf_report(model, X, y)
    figure = plots.leaf_tree.figure_data(model, report, names=["<script>", "b", "c"])
    diagram = figure.data
    questions = [node for node in diagram.nodes if node.above]
    leaves = [node for node in diagram.nodes if node.shape]
    splits = model.get_n_leaves() - 1
    assert (len(diagram.edges), len(questions)) == (2 * splits, splits)
    assert {q.above.split("\n")[0] for q in questions} <= {"<script>", "b", "c"}
    by_number = {int(leaf.below.split("#")[1].split(",")[0]): leaf for leaf in leaves}
    for k, number in enumerate(report.node):
        leaf = by_number[number]
        assert leaf.level == report.confidence[k]
        assert report.rule[k] in leaf.readout
        assert leaf.below.endswith(f"#{number}, n = {report.n[k]}")
    # leaves stand side by side, and lower than the root
    assert len({leaf.x for leaf in leaves}) == report.node.size
    assert min(leaf.y for leaf in leaves) > min(q.y for q in questions)


def test_leaves_without_a_case_are_named(rng):
    X = rng.normal(size=(300, 3))
    y = (X[:, 0] + X[:, 1] + rng.normal(size=300) > 0).astype(int)
    model = DecisionTreeClassifier(max_depth=3, random_state=0).fit(X[:200], y[:200])
    X, y = X[200:], y[200:]
    few = model.apply(X) == model.apply(X)[0]
    report = trueness.estimators.leaf_report(model, X[few], y[few])

    nodes = plots.leaf_tree.figure_data(model, report).data.nodes

    texts = [node.below for node in nodes if node.below]
    assert len(texts) == model.get_n_leaves()
    assert sum(t.startswith("no case") for t in texts) == len(texts) - report.node.size


def test_a_tree_that_is_sure_of_itself_is_drawn(rng):
    X = rng.normal(size=(300, 3))
    y = (X[:, 0] + X[:, 1] + rng.normal(size=300) > 0).astype(int)
    sure = trueness.estimators.ConfidentTree(random_state=0).fit(X[:70], y[:70])
    report = trueness.estimators.leaf_report(sure, X[70:], y[70:])

    nodes = plots.leaf_tree.figure_data(sure, report).data.nodes

    assert sum(bool(node.shape) for node in nodes) == report.node.size


def test_a_watch_names_its_batches_and_marks_the_alarm():
    w = trueness.watch(metric="recall", threshold=0.5, at_least=0.8)
    with pytest.raises(NotEnoughCases, match="needs a batch with cases"):
        watch_history.figure_data(w)
    for week in range(12):
        found = 88 if week < 6 else 60
        t = Tally([0.9, 0.1], neg=[20, 180], pos=[found, 100 - found])
        w.update(t, name=f"week {week}")
    figure = watch_history.figure_data(w)
    ticks = figure.data.x.ticks
    assert [place for place, _ in ticks] == list(range(1, 13))
    assert [text for _, text in ticks] == [f"week {k}" for k in range(12)]
    marks = [r["rule"] for x in layers(figure) for r in x if "rule" in r]
    assert set(marks) == {f"alarm: {w.since}"}
    (alarm,) = (r for r in rows(figure, -1) if r["curve"] == "alarm")
    assert alarm["look"] == int(w.since.split()[1]) + 1
    drawn = {line.name for line in (*figure.data.bands, *figure.data.guides)}
    assert {"bound", "interval of all so far"} <= drawn


# what every figure takes


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (
            lambda: plots.roc.figure_data(np.arange(3)),
            "needs a tally, or labels and scores",
        ),
        (lambda: plots.roc.figure_data(HAND, title=3), "needs title to be text; found"),
        (lambda: plots.roc.figure_data(HAND, tilte="x"), "Did you mean 'title'"),
        (
            lambda: plots.comparison.figure_data(HAND),
            r"be Comparison; .* trueness.compare_auc\(",
        ),
        (
            lambda: plots.comparison.figure_data(),
            "comparison needs the option 'result'",
        ),
        (
            lambda: plots.calibration_maps.figure_data({}, HAND),
            "mapping from name to map",
        ),
        (
            lambda: plots.levels_by_n.figure_data(PAPER, level="trust"),
            "level must be one of",
        ),
        (
            lambda: plots.levels_by_n.figure_data(PAPER, n=[2.5]),
            "n must be a whole number",
        ),
        (lambda: plots.majority_likelihood.figure_data(9, 7), "found 9 of 7"),
        (lambda: plots.majority_likelihood.figure_data(1, 1), "2 or more"),
    ],
)
def test_wrong_input_is_answered_by_a_sentence(call, words):
    with pytest.raises(InputError, match=words):
        call()


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
FIGURES = [n for n in plots.__all__ if hasattr(getattr(plots, n), "takes")]
# all words once, of each figure one of them, and what it cannot take
ASKED = [
    (name, word)
    for k, name in enumerate(FIGURES)
    for j, word in enumerate(CAME)
    if name == "roc" or j == k % len(CAME) or word in CANNOT.get(name, {})
]


@pytest.mark.parametrize(("name", "word"), ASKED)
def test_a_figure_takes_how_the_cases_came(name, word):
    (y, came), figure = CAME[word], getattr(plots, name)
    options = OPTIONS.get(name, {})
    if word in CANNOT.get(name, {}):
        with pytest.raises(UnsupportedDesign, match=f"{name} does not take"):
            figure(y, S, **came, **options)
        return
    drawn = figure.figure_data(y, S, **came, **options)
    counted = figure.figure_data(trueness.tally(y, S, **came), **options)
    assert repr(drawn) == repr(counted)


def test_the_forest_of_sites_ends_with_the_next_site():
    studies = trueness.read_studies(trueness.samples.path("studies"))
    answer = trueness.across_sites(studies, "recall")

    figure = plots.site_forest.figure_data(answer)

    assert figure.data.names[-1] == "next site (prediction)"
    assert f"{answer.prediction.low:.3g}" in figure.description


def test_the_plane_of_sites_has_both_regions_and_the_curve():
    studies = trueness.read_studies(trueness.samples.path("studies"))

    figure = plots.summary_plane.figure_data(
        trueness.summary_roc(studies, method="normal")
    )

    text = repr(figure)
    for name in ("summary ROC curve", "confidence region", "prediction region"):
        assert name in text
