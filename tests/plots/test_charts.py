"""Charts of Altair, read through their specification."""

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
from trueness.counts.design import CANNOT
from trueness.metrics.grammar import constraints
from trueness.plots.answers import sequence
from trueness.threshold.cost_figures import region

HAND = Tally([0.9, 0.7, 0.5, 0.2], pos=[2, 1, 1, 0], neg=[0, 1, 2, 3])
OTHER = Tally([0.9, 0.4], pos=[3, 1], neg=[1, 9])
HUNDRED = Tally([3, 2, 1], pos=[60, 30, 10], neg=[5, 20, 75])


def layers(chart):
    """Give every mark of a chart, with its rows."""
    spec = chart.to_dict()
    found = []

    def visit(part, data):
        data = part.get("data", data)
        inner = [x for k in ("layer", "concat") for x in part.get(k, [])]
        for x in inner:
            visit(x, data)
        if "mark" in part:
            rows = data.get("values") or spec["datasets"][data["name"]]
            found.append(part | {"rows": rows})

    visit(spec, {})
    return found


def rows(chart, layer):
    return layers(chart)[layer]["rows"]


def column(chart, layer, name, curve=None):
    found = rows(chart, layer)
    return [r[name] for r in found if curve is None or r["curve"] == curve]


def words(chart, what="description"):
    said = chart.to_dict()[what]
    return said if what == "description" else said["text"]


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
    chart = getattr(plots, name)(two["a"], title="A & <b>", **said)
    curve = getattr(trueness, name)(two["a"], **said)
    known = set(zip(*(getattr(curve, k) for k in CURVES[name]), strict=True))
    drawn = [tuple(r[k] for k in CURVES[name]) for r in rows(chart, -1)]
    assert set(drawn) <= known
    assert len(drawn) > 10
    assert words(chart, "title") == "A & <b>"
    if said and name == "precision_recall":  # what guessing gives
        assert set(column(chart, 0, "precision")) == {0.05}


def test_a_panel_names_each_curve_with_its_interval(two):
    names = set(column(plots.roc(two), -1, "curve"))
    a = trueness.auc(two["b"])
    assert len(names) == 2
    assert f"b: AUC {a.value:.3f} ({a.low:.3f} to {a.high:.3f})" in names
    area = trueness.ranking.leakage(two["a"]).area
    assert f"a: area {area:.3f}" in column(plots.leakage(two), -1, "curve")


def test_bands_are_drawn(two):
    chart, band = plots.roc(two["a"], band="simultaneous"), trueness.roc_band(two["a"])
    assert column(chart, 0, "low") == pytest.approx(band.low)
    assert column(chart, 0, "high") == pytest.approx(band.high)
    asked = {"prevalence": 0.1}
    chart = plots.precision_recall(two["a"], band="pointwise", **asked)
    band = trueness.precision_recall_band(two["a"], band="pointwise", **asked)
    assert column(chart, 0, "low") == pytest.approx(band.low)


def test_det_has_probit_ticks_and_a_binormal_fit_is_the_fitted_curve(two):
    chart = plots.det(two["a"])
    assert all(abs(p["x"]) < 4 and abs(p["y"]) < 4 for p in rows(chart, -1))
    ticks = layers(chart)[-1]["encoding"]["x"]["axis"]["labelExpr"]
    assert '"-16449": "0.05"' in ticks
    assert '"16449": "0.95"' in ticks
    chart, fit = plots.binormal_fit(two["a"]), trueness.ranking.fit_binormal(two["a"])
    assert f"p = {fit.p_value:.2g}" in words(chart, "title")
    curve = [p for p in rows(chart, -1) if p["curve"].startswith("binormal")]
    at = len(curve) // 2
    assert curve[at]["tpr"] == pytest.approx(fit.curve.tpr(curve[at]["fpr"]))


def test_scores_of_each_classifier_have_a_panel(two):
    found = layers(plots.score_distributions(two, bins=7))
    low, high = (f(two[k].score[i] for k in "ab") for f, i in ((min, -1), (max, 0)))
    edges = np.linspace(low, high, 8)
    for layer, name in zip(found, "ab", strict=True):
        t = two[name]
        heights = [r["high"] for r in layer["rows"] if r["curve"] == "positive"]
        expected = np.histogram(t.score, edges, weights=t.pos)[0] / t.n_pos
        assert heights[1:-1:2] == pytest.approx(expected)


@pytest.mark.parametrize("goal", [{"half_width": 0.08}, {"null": 0.6, "power": 0.8}])
def test_a_plan_lies_on_its_line(goal):
    found = trueness.plan_auc(auc=0.8, prevalence=0.2, **goal)
    chart = plots.sample_size(found)
    reached = found.power if "null" in goal else found.half_width
    (dot,) = rows(chart, 1)
    assert (dot["n"], dot["value"]) == (found.n, pytest.approx(reached))
    n, value = (column(chart, 0, k) for k in ("n", "value"))
    assert n[0] < found.n < n[-1]
    assert ((1 if "null" in goal else -1) * np.diff(value) >= 0).all()
    assert np.interp(found.n, n, value) == pytest.approx(reached, rel=0.01)
    assert f"{found.n:,}" in words(chart)


def test_large_data_stay_small_figures(rng):
    y = rng.random(4_000) < 0.3
    t = trueness.tally(y, rng.random(y.size))
    for chart in (
        plots.roc(t),
        plots.operating_point(t, "f1", "recall >= 0.5"),
        plots.pareto(t, ["recall", "precision"]),
        plots.cost_curve(t),
        plots.decision_curve(t),
    ):
        assert len(chart.to_json()) < 300_000


# ranks and ensembles


def test_rank_probability_shows_curve_threshold_and_points():
    fd = trueness.fermi_dirac(n=100, n_pos=50, auc=0.9)
    seen = trueness.counts.rank_frequencies(100, 50, 0.9, replicates=20, rng=0)
    chart = plots.rank_probability(fd, seen)
    rule, _, curve, dots = (layer["rows"] for layer in layers(chart))
    assert [r["p"] for r in curve] == pytest.approx(
        fd.probability([r["rank"] for r in curve])
    )
    assert [(r["rule"], r["rank"]) for r in rule] == [("r* of Fermi-Dirac", 50.5)]
    assert [r["p"] for r in dots] == pytest.approx(seen)
    fds = {f"{k}": trueness.fermi_dirac(n=30, n_pos=k, auc=0.8) for k in (5, 15)}
    chart = plots.rank_probability(fds, {"5": np.full(30, 1 / 6)})
    assert [set(column(chart, k, "curve")) for k in (-2, -1)] == [{"5", "15"}, {"5"}]


def test_fermi_parameters_are_those_of_figure_2():
    for layer, axis in zip(layers(plots.fermi_parameters(1000)), "bm", strict=True):
        row = next(r for r in layer["rows"] if r["curve"] == "prevalence 0.5")
        fd = trueness.fermi_dirac(n=1000, n_pos=500, auc=row["auc"])
        known = fd.beta * 1000 if axis == "b" else fd.mu / 1000
        assert row[axis] == pytest.approx(known)


def test_identity_has_the_same_scale_on_both_axes():
    given = {"x_title": "a", "y_title": "b", "colour": [3, 5], "colour_title": "M"}
    line, dots = layers(plots.identity([1, 2], [1.5, 4], **given))
    assert [dots["encoding"][k]["scale"]["domain"] for k in "xy"] == [[1, 4]] * 2
    assert dots["rows"][1] == {"x": 2, "y": 4, "curve": "M 5", "at": 0}
    assert [(r["x"], r["y"]) for r in line["rows"]] == [(1, 1), (4, 4)]


def test_combiners_and_how_alike_classifiers_are():
    p = trueness.simulate_panel(300, 100, {"a": 0.6, "b": 0.7, "</script>": 0.8}, rng=0)
    found = trueness.compare_combiners(p, rng=0)
    drawn = rows(plots.combiners(found), 0)
    assert len(drawn) == len(trueness.COMBINERS)
    assert [r["auc"] for r in drawn] == sorted((r["auc"] for r in drawn), reverse=True)
    assert drawn[0]["low"] == found.auc[drawn[0]["combiner"]].low
    f = trueness.fidel(p, method="correlated")
    pairs = rows(plots.rank_correlation(f), 0)
    pairs = {(r["first"], r["second"]): r["value"] for r in pairs}
    assert len(pairs) == 3
    assert pairs["a", "</script>"] == pytest.approx(f.correlation[0, 2])
    aucs = {"x": [0.7, 0.8], "y": [0.6, 0.9]}
    errors = {"x": [0.01, 0.02], "y": [0.03, 0.04]}
    band, lines = layers(plots.combiner_lines([3, 4], aucs, x_title="M", errors=errors))
    last = lines["rows"][3]
    assert (last["curve"], last["x"], last["auc"]) == ("y", 4, 0.9)
    assert band["rows"][3]["high"] - band["rows"][3]["low"] == pytest.approx(0.08)


# comparison


def test_dominance_and_comparison(two):
    found = trueness.dominates(two, "a", "b", replicates=100)
    chart = plots.dominance(found)
    assert found.verdict in words(chart, "title")
    assert column(chart, 0, "low") == pytest.approx(found.low)
    compared = trueness.compare_auc(two)
    (drawn,) = rows(plots.comparison(compared), -1)
    assert drawn["pair"] == "a - b"
    assert drawn["difference"] == compared.pairs[0].difference.value


def test_readers_and_their_means():
    data = pd.read_csv(trueness.samples.path("readers"))
    study = trueness.reader_study(data, label="truth", score="rating")
    chart = plots.reader_results(study)
    *each, whiskers, means = layers(chart)
    values = [r["value"] for layer in each for r in layer["rows"]]
    assert sorted(values) == pytest.approx(sorted(study.results.ravel()))
    assert [r["low"] for r in whiskers["rows"]] == [m.low for m in study.means]
    assert [r["value"] for r in means["rows"]] == [m.value for m in study.means]
    expr = means["encoding"]["x"]["axis"]["labelExpr"]
    assert all(name in expr for name in study.treatments)
    assert "p = 0.052" in words(chart, "title")
    titled = plots.reader_results(study, title="Two ways")
    assert words(titled, "title") == "Two ways"
    assert "p = 0.052" in words(titled)


# calibration


def test_reliability_shows_the_curve_the_bands_and_the_scores(probabilities):
    t, r = probabilities, trueness.reliability(probabilities, replicates=40)
    chart = plots.reliability(t, replicates=40, title="T")
    confidence, consistency, diagonal, curve, scores = (
        layer["rows"] for layer in layers(chart)
    )
    assert [v["probability"] for v in curve] == r.probability.tolist()
    assert [v["low"] for v in consistency] == r.consistency_low.tolist()
    assert [v["high"] for v in confidence] == r.confidence_high.tolist()
    assert [v["probability"] for v in diagonal] == [0, 1]
    pos = [v["high"] for v in scores if v["curve"] == "positive"]
    assert sum(pos[1:-1:2]) == pytest.approx(1)
    assert "300 cases" in words(chart)


def test_many_scores_draw_the_same_curve_with_few_points(rng):
    score = rng.random(20_000)
    t = trueness.tally(rng.random(score.size) < score, score)
    curve = rows(plots.reliability(t, replicates=20), 3)
    assert len(curve) < 800
    r = trueness.reliability(t, replicates=20)
    at, p = ([v[k] for v in curve] for k in ("score", "probability"))
    # a vertical step may move sideways by less than can be seen
    away = np.abs(np.interp(r.score, at, p) - r.probability)
    assert np.mean(away < 1e-3) > 0.98


def test_maps_and_the_parts_of_a_proper_score(probabilities):
    t = probabilities
    maps = {k: trueness.calibrate(t, method=k) for k in ("platt", "isotonic")}
    chart = plots.calibration_maps(maps, t, bins=5)
    assert set(column(chart, 0, "curve")) == {"platt", "isotonic"}
    at, p = (column(chart, 0, k, "platt") for k in ("score", "probability"))
    np.testing.assert_allclose(p, maps["platt"](np.array(at)))
    assert len(rows(chart, 1)) <= 5
    scores = {"a": trueness.brier(t), "b": trueness.brier(t.map(np.sqrt))}
    *lines, dots = layers(plots.decomposition(scores))
    assert [v["mcb"] for v in dots["rows"]] == [s.mcb.value for s in scores.values()]
    assert dots["encoding"]["color"]["scale"]["domain"] == ["a", "b"]
    for a, b in (layer["rows"] for layer in lines):  # of equal loss
        assert a["mcb"] - a["dsc"] == pytest.approx(b["mcb"] - b["dsc"])


# thresholds


def test_the_plane_shows_region_curve_and_point():
    chart = plots.operating_point(HAND, "recall", "flagged <= 4", title="Beds")
    allowed, _, worth, curve, point = layers(chart)
    assert allowed["mark"]["type"] == "area"
    assert [curve["rows"][0][k] for k in ("fpr", "tpr", "cut")] == [0, 0, "inf"]
    (place,) = point["rows"]
    found = [place[k] for k in ("fpr", "tpr", "cut", "value")]
    assert found == [1 / 6, 0.75, 0.6, 0.75]
    assert "maximize recall, flagged <= 4" in words(chart)
    # recall is worth as much on a level line
    assert {r["tpr"] for r in worth["rows"]} == {0.75}
    # no constraint, no region
    assert len(layers(plots.operating_point(HAND))) == 4
    found = trueness.guaranteed_threshold(HUNDRED, "recall >= 0.8")
    chart = plots.guaranteed_cut(HUNDRED, found)
    (place,) = rows(chart, -1)
    assert (place["fpr"], place["tpr"]) == (25 / 100, 90 / 100)
    assert "recall >= 0.8" in words(chart)


def test_equal_worth_is_a_straight_line_for_a_weighted_sum():
    """Sameni (2025), eq. (30): slope and height from the weights and prices."""
    text = "0.5*recall + 0.5*(1 - cost_rate(fp=3, fn=1))"
    worth = rows(plots.operating_point(HAND, text), 1)
    # 0.5 v + 0.5 (1 - (3*6 u + 4 (1 - v)) / 22) = (1 + 1 - 9/22) / 2
    u, v = (np.array([r[k] for r in worth]) for k in ("fpr", "tpr"))
    assert np.allclose(26 * v - 18 * u, 22 + 22 - 9 - 18, atol=26 / 640)


def test_the_front_in_the_plane_and_all_cuts():
    metrics = ["recall", "0.5*f1 + 0.5*precision"]
    chart = plots.pareto_plane(HAND, metrics, subject_to="flagged >= 1")
    *_, dots = layers(chart)
    assert layers(chart)[0]["mark"]["type"] == "area"
    assert [r["tpr"] for r in dots["rows"]] == [0.5, 0.75, 1.0]
    tips = dots["encoding"]["tooltip"]
    assert [tip["title"] for tip in tips][-3:] == ["Threshold", *metrics]
    assert tips[-1]["field"] == r"0\.5*f1 + 0\.5*precision"
    every, line, points = layers(plots.pareto(HAND, ["recall", "precision"]))
    assert len(every["rows"]) == 5
    assert [r["x"] for r in line["rows"]] == [0.5, 0.75, 1.0]
    assert points["rows"] == line["rows"]
    three = plots.pareto(HAND, ["recall", "precision", "accuracy"])
    assert len(three.to_dict()["concat"]) == 2


def test_zones_are_marked_on_the_scores():
    found = trueness.best_thresholds(HUNDRED, minimize="cost(fp=1, fn=1, defer=0.3)")
    chart = plots.zones(HUNDRED, found)
    rules = [r for x in layers(chart) for r in x["rows"] if "rule" in r]
    assert {r["rule"].split()[0] for r in rules} == {"no", "yes"}
    (between,) = (x["rows"] for x in layers(chart)
                  if x["rows"][0].get("curve") == "left to a person")  # fmt: skip
    ends = sorted({r["score"] for r in rules})
    assert [r["score"] for r in between] == pytest.approx(ends)
    assert "25.0 % of the cases between" in words(chart)


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
    band, trivial, line = layers(plots.cost_curve(HAND))
    kinds = [x["mark"]["type"] for x in (band, trivial, line)]
    assert kinds == ["area", "line", "line"]
    assert [line["rows"][50][k] for k in ("weight", "trivial")] == [0.5, 0.5]
    band, *curves = layers(plots.decision_curve(HAND, standardised=True))
    names = [{r["curve"] for r in line["rows"]} for line in curves]
    assert names == [{"act always"}, {"act never"}, {"act on the score"}]
    assert "Standardised net benefit" in str(curves[0]["encoding"]["y"]["title"])
    assert len(band["rows"]) == 99


@pytest.mark.parametrize("name", ["cost_curve", "decision_curve", "reliability"])
def test_several_classifiers_or_groups_in_one_figure(name):
    chart = getattr(plots, name)({"a": HAND, 7: OTHER}, **OPTIONS.get(name, {}))
    assert set(column(chart, -1, "curve")) == {"a", "7"}
    encoding = layers(chart)[-1]["encoding"]
    assert encoding["color"]["legend"]["symbolType"] == "stroke"
    # told apart without colour as well
    assert encoding["strokeDash"]["field"] == "curve"
    assert "of a, 7" in words(chart)
    if name == "decision_curve":  # groups act always each on their own prevalence
        found = [x["rows"] for x in layers(chart)]
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
    found = layers(plots.posterior_densities(post))
    assert [x["rows"][0]["curve"] for x in found] == ["posterior", "prior"] * 7
    mine = found[0]["rows"]
    width = mine[1]["value"] - mine[0]["value"]
    assert sum(r["high"] for r in mine) * width == pytest.approx(1, abs=0.02)
    mean = sum(r["high"] * r["value"] for r in mine) * width
    assert mean == pytest.approx(post.prevalence.value, abs=0.004)


def test_plane_shows_the_best(post, rng):
    drawn = rows(plots.combination_plane(post, most=5), -1)
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
    drawn = rows(plots.combination_plane(five), -1)
    assert [r["curve"] for r in drawn][-5:] == list("ABCDE")
    assert drawn[-1]["tpr"] == pytest.approx(five.sensitivity["E"].value)


def test_judges_are_drawn_from_figure_data():
    d = pd.read_csv(trueness.samples.path("judges"))
    judges = ["grm_gemma_2b", "skywork_gemma_27b", "internlm2_20b"]
    panel = trueness.panel(d, label="human", scores=judges)
    r = trueness.prevalence(panel, labelled="random")
    (row,) = rows(plots.judge_rates({"all": r}), 0)
    assert row["corrected"] == r.value
    assert row["raw"] == pytest.approx(np.mean(list(r.naive.values())))
    places = rows(plots.judge_plane(r), -1)
    known = [j.sensitivity.value for j in r.judges.values()]
    assert [p["curve"] for p in places] == judges
    assert [p["tpr"] for p in places] == known
    assert len(rows(plots.judge_errors(panel), 0)) == 3  # each pair once
    band = rows(plots.judge_labels(r, panel), 0)
    assert band[0]["high"] - band[0]["low"] > band[-1]["high"] - band[-1]["low"]
    axes = pytest.importorskip("matplotlib.figure").Figure().subplots(4)
    plots.judge_rates({"all": r}, ax=axes[0])
    plots.judge_plane(r, ax=axes[1])
    names = [[t.get_text() for t in ax.get_legend().get_texts()] for ax in axes[:2]]
    assert names == [["raw"], judges]
    plots.judge_errors(panel, ax=axes[2])
    assert len(axes[2].texts) == 3
    plots.judge_labels(r, panel, ax=axes[3])
    assert axes[3].get_xlabel() == "Labels at random"


# trees


PAPER = {
    "no split": ([1.0], [0.7]),
    "A": ([0.9, 0.1], [0.75, 0.25]),
    "B": ([0.2, 0.8], [0.75, 0.6875]),
}


@pytest.mark.parametrize("level", ["confidence", "utility"])
def test_levels_by_n(level):
    chart = plots.levels_by_n(PAPER, n=[5, 20], level=level)
    assert len(rows(chart, 0)) == 6
    for row in rows(chart, 0):
        known = trueness.trees.tree_levels(int(row["n"]), *PAPER[row["curve"]])
        assert row["level"] == pytest.approx(getattr(known, level))
    assert level in layers(chart)[0]["encoding"]["y"]["title"]
    assert "no split, A, B" in words(chart)
    windy = {"windy": trueness.Leaves(["false", "true"], [2, 3], [6, 3])}
    (row,) = rows(plots.levels_by_n(windy, n=[14], level=level), 0)
    known = trueness.compare_splits(windy)
    at = known.name.tolist().index("windy")
    assert row["level"] == pytest.approx(getattr(known, level)[at])


def test_likelihoods_peak_at_their_estimates():
    chart = plots.majority_likelihood(5, 7)
    for name, peak in (("likelihood", 5 / 7), ("entropic likelihood", 2 / 3)):
        p, height = (column(chart, -1, k, name) for k in ("p", "height"))
        assert p[int(np.argmax(height))] == pytest.approx(peak, abs=1e-3)
    marks = {r["rule"]: r["p"] for x in layers(chart) for r in x["rows"] if "rule" in r}
    assert marks["blend"] == pytest.approx(103 / 147)
    assert rows(plots.majority_likelihood(2, 7), -1) == rows(chart, -1)
    # certain leaves are drawn too
    assert np.isfinite(column(plots.majority_likelihood(4, 4), -1, "height")).all()


def test_leaves_show_share_interval_and_verdict():
    report = trueness.leaves([1, 1, 1, 0] * 9 + [0, 1], ["a"] * 36 + ["b"] * 2).report()
    drawn = rows(plots.leaf_shares(report), 0)
    assert [row["leaf"] for row in drawn] == ["a", "b"]
    assert [row["verdict"] for row in drawn] == report.verdict.tolist()
    for row, low, high in zip(drawn, report.low, report.high, strict=True):
        assert row["low"] == low <= row["share"] <= high == row["high"]
    evil = trueness.leaves([1, 0], ["\x1b[31m", "</script>"]).report()
    assert rows(plots.leaf_shares(evil), 0)[0]["leaf"] == "\\x1b[31m"


def test_tree_with_its_leaves(rng):
    X = rng.normal(size=(300, 3))
    y = (X[:, 0] + X[:, 1] + rng.normal(size=300) > 0).astype(int)
    model = DecisionTreeClassifier(max_depth=3, random_state=0).fit(X[:200], y[:200])
    X, y = X[200:], y[200:]
    report = trueness.estimators.leaf_report(model, X, y)
    chart = plots.leaf_tree(model, report, names=["<script>", "b", "c"])
    edges, questions, leaves, under = (layer["rows"] for layer in layers(chart))
    splits = model.get_n_leaves() - 1
    assert (len(edges), len(questions)) == (2 * splits, splits)
    assert {q["question"].split("\n")[0] for q in questions} <= {"<script>", "b", "c"}
    assert [r["confidence"] for r in leaves] == report.confidence.tolist()
    assert [r["verdict"] for r in leaves] == report.verdict.tolist()
    # leaves stand side by side, and lower than the root
    assert len({row["x"] for row in leaves}) == len(leaves) == report.node.size
    assert min(row["depth"] for row in leaves) > min(q["depth"] for q in questions)
    # class, number and cases under each leaf, its rule on touch
    majority = {"negative": "0", "positive": "1", "tie": "tie"}
    assert [r["text"] for r in under[: len(leaves)]] == [
        f"{majority[m]}\n#{node}, n = {n}"
        for m, node, n in zip(report.majority, report.node, report.n, strict=True)
    ]
    assert [r["rule"] for r in leaves] == list(report.rule)
    # no edge enters the two lines of a question above its node
    for edge in edges:
        below = [q["depth"] for q in questions if q["x"] == edge["x2"]]
        above = [d for d in below if d - 1 < edge["depth2"] <= d]
        assert all(edge["depth2"] < d for d in above)
    # leaves without a case, and trees that are sure of themselves
    few = model.apply(X) == model.apply(X)[0]
    report = trueness.estimators.leaf_report(model, X[few], y[few])
    texts = column(plots.leaf_tree(model, report), 3, "text")
    assert len(texts) == model.get_n_leaves()
    assert sum(t.startswith("no case") for t in texts) == len(texts) - report.node.size
    sure = trueness.estimators.ConfidentTree(random_state=0).fit(X[:70], y[:70])
    report = trueness.estimators.leaf_report(sure, X[70:], y[70:])
    assert len(rows(plots.leaf_tree(sure, report), 2)) == report.node.size


def test_a_watch_names_its_batches_and_marks_the_alarm():
    w = trueness.watch(metric="recall", threshold=0.5, at_least=0.8)
    with pytest.raises(NotEnoughCases, match="needs a batch with cases"):
        sequence(w)
    for week in range(12):
        found = 88 if week < 6 else 60
        t = Tally([0.9, 0.1], neg=[20, 180], pos=[found, 100 - found])
        w.update(t, name=f"week {week}")
    chart = sequence(w)
    axis = layers(chart)[-1]["encoding"]["x"]["axis"]
    assert axis["values"] == list(range(1, 13))
    assert all(f'"week {k}"' in axis["labelExpr"] for k in range(12))
    marks = [r["rule"] for x in layers(chart) for r in x["rows"] if "rule" in r]
    assert set(marks) == {f"alarm: {w.since}"}
    (alarm,) = (r for r in rows(chart, -1) if r["curve"] == "alarm")
    assert alarm["look"] == int(w.since.split()[1]) + 1
    domain = layers(chart)[-1]["encoding"]["color"]["scale"]["domain"]
    assert {"bound", "limits of all so far"} <= set(domain)


# what every figure takes


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: plots.roc(np.arange(3)), "needs a tally, or labels and scores"),
        (lambda: plots.roc(HAND, title=3), "needs title to be text; found"),
        (lambda: plots.roc(HAND, tilte="x"), "Did you mean 'title'"),
        (lambda: plots.comparison(HAND), r"be Comparison; .* trueness.compare_auc\("),
        (lambda: plots.comparison(), "comparison needs found="),
        (lambda: plots.calibration_maps({}, HAND), "mapping from name to map"),
        (lambda: plots.levels_by_n(PAPER, level="trust"), "level must be one of"),
        (lambda: plots.levels_by_n(PAPER, n=[2.5]), "n must be a whole number"),
        (lambda: plots.majority_likelihood(9, 7), "found y=9 of n=7"),
        (lambda: plots.majority_likelihood(1, 1), "2 or more"),
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
    drawn = figure(y, S, **came, **options).to_dict()
    assert drawn == figure(trueness.tally(y, S, **came), **options).to_dict()


def test_the_forest_of_sites_ends_with_the_next_site():
    studies = trueness.read_studies(trueness.samples.path("studies"))
    answer = trueness.across_sites(studies, "recall")

    chart = plots.site_forest(answer)

    text = chart.to_json()
    assert "next site (prediction)" in text
    assert f"{answer.prediction.low:.3g}" in chart.to_dict()["description"]


def test_the_plane_of_sites_has_both_regions_and_the_curve():
    studies = trueness.read_studies(trueness.samples.path("studies"))

    chart = plots.summary_plane(trueness.summary_roc(studies, method="normal"))

    text = chart.to_json()
    for name in ("summary ROC curve", "confidence region", "prediction region"):
        assert name in text
