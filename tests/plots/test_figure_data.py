"""What figures show, read from their data before anybody draws them."""

from itertools import chain

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


def test_det_has_probit_ticks(two):
    figure = plots.det.figure_data(two["a"])

    assert all(abs(p["x"]) < 4 and abs(p["y"]) < 4 for p in rows(figure, -1))
    ticks = {text: place for place, text in figure.data.x.ticks}
    assert ticks["0.05"] == pytest.approx(-1.6449, abs=1e-4)
    assert ticks["0.95"] == pytest.approx(1.6449, abs=1e-4)


def test_a_binormal_fit_is_the_fitted_curve(two):
    fit = trueness.ranking.fit_binormal(two["a"])

    figure = plots.binormal_fit.figure_data(two["a"])

    assert f"p = {fit.p_value:.2g}" in words(figure, "title")
    curve = [p for p in rows(figure, -1) if p["curve"].startswith("binormal")]
    middle = curve[len(curve) // 2]
    assert middle["tpr"] == pytest.approx(fit.curve.tpr(middle["fpr"]))


def test_scores_of_each_classifier_have_a_panel(two):
    figure = plots.score_distributions.figure_data(two, bins=7)

    # the bins are the same in both panels
    low = min(two["a"].score[-1], two["b"].score[-1])
    high = max(two["a"].score[0], two["b"].score[0])
    edges = np.linspace(low, high, 8)
    for layer, name in zip(layers(figure), "ab", strict=True):
        tally = two[name]
        heights = [row["high"] for row in layer if row["curve"] == "positive"]
        positives, _ = np.histogram(tally.score, edges, weights=tally.pos)
        assert heights[1:-1:2] == pytest.approx(positives / tally.n_pos)


@pytest.mark.parametrize(
    ("goal", "reached", "direction"),
    [
        ({"half_width": 0.08}, "half_width", "falls"),
        ({"null": 0.6, "power": 0.8}, "power", "rises"),
    ],
)
def test_a_plan_lies_on_its_line(goal, reached, direction):
    plan = trueness.plan_auc(auc=0.8, prevalence=0.2, **goal)

    figure = plots.sample_size.figure_data(plan)

    value = getattr(plan, reached)
    (dot,) = rows(figure, 1)
    assert (dot["n"], dot["value"]) == (plan.n, pytest.approx(value))
    numbers = column(figure, 0, "n")
    line = column(figure, 0, "value")
    steps = np.diff(line) if direction == "rises" else -np.diff(line)
    assert (steps >= 0).all()
    assert numbers[0] < plan.n < numbers[-1]
    assert np.interp(plan.n, numbers, line) == pytest.approx(value, rel=0.01)
    assert f"{plan.n:,}" in words(figure)


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
    distribution = trueness.fermi_dirac(n=100, n_pos=50, auc=0.9)
    frequencies = trueness.counts.rank_frequencies(100, 50, 0.9, replicates=20, rng=0)

    figure = plots.rank_probability.figure_data(distribution, frequencies)

    rule, curve, dots = layers(figure)
    ranks = [row["rank"] for row in curve]
    probabilities = [row["p"] for row in curve]
    assert probabilities == pytest.approx(distribution.probability(ranks))
    assert [(row["rule"], row["rank"]) for row in rule] == [("r*", 50.5)]
    assert [row["p"] for row in dots] == pytest.approx(frequencies)


def test_rank_probability_of_several_has_points_where_they_are_known():
    distributions = {
        "5": trueness.fermi_dirac(n=30, n_pos=5, auc=0.8),
        "15": trueness.fermi_dirac(n=30, n_pos=15, auc=0.8),
    }
    frequencies = {"5": np.full(30, 1 / 6)}

    figure = plots.rank_probability.figure_data(distributions, frequencies)

    assert set(column(figure, -2, "curve")) == {"5", "15"}
    assert set(column(figure, -1, "curve")) == {"5"}


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


def test_combiners_stand_best_first():
    panel = trueness.simulate_panel(300, 100, {"a": 0.6, "b": 0.7, "c": 0.8}, rng=0)
    comparison = trueness.compare_combiners(panel, rng=0)

    drawn = rows(plots.combiners.figure_data(comparison), 0)

    areas = [row["auc"] for row in drawn]
    assert len(drawn) == len(trueness.COMBINERS)
    assert areas == sorted(areas, reverse=True)
    assert drawn[0]["low"] == comparison.auc[drawn[0]["combiner"]].low


def test_rank_correlations_stand_by_pair():
    areas = {"a": 0.6, "b": 0.7, "</script>": 0.8}
    panel = trueness.simulate_panel(300, 100, areas, rng=0)
    combiner = trueness.fidel(panel, method="correlated")

    drawn = rows(plots.rank_correlation.figure_data(combiner), 0)

    correlation = {(row["first"], row["second"]): row["value"] for row in drawn}
    assert len(correlation) == 3
    assert correlation["a", "</script>"] == pytest.approx(combiner.correlation[0, 2])


def test_lines_of_combiners_have_bands_of_their_errors():
    areas = {"x": [0.7, 0.8], "y": [0.6, 0.9]}
    errors = {"x": [0.01, 0.02], "y": [0.03, 0.04]}

    figure = plots.combiner_lines.figure_data([3, 4], areas, x_title="M", errors=errors)

    band, lines = layers(figure)
    end_of_y = lines[3]
    assert (end_of_y["curve"], end_of_y["x"], end_of_y["auc"]) == ("y", 4, 0.9)
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


@pytest.fixture(scope="module")
def reader_study():
    ratings = pd.read_csv(trueness.samples.path("readers"))
    return trueness.reader_study(ratings, label="truth", score="rating")


def test_readers_and_their_means(reader_study):
    figure = plots.reader_results.figure_data(reader_study)

    *readers, means = layers(figure)
    values = []
    for reader in readers:
        values += [row["value"] for row in reader]
    assert sorted(values) == pytest.approx(sorted(reader_study.results.ravel()))
    assert [row["low"] for row in means] == [m.low for m in reader_study.means]
    assert [row["value"] for row in means] == [m.value for m in reader_study.means]
    titles = [text for _, text in figure.data.x.ticks]
    assert titles == list(reader_study.treatments)


def test_the_test_of_readers_is_the_title_where_there_is_none(reader_study):
    untitled = plots.reader_results.figure_data(reader_study)
    titled = plots.reader_results.figure_data(reader_study, title="Two ways")

    assert "p = 0.052" in words(untitled, "title")
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


def test_calibration_maps_are_drawn_as_they_are(probabilities):
    maps = {
        "platt": trueness.calibrate(probabilities, method="platt"),
        "isotonic": trueness.calibrate(probabilities, method="isotonic"),
    }

    figure = plots.calibration_maps.figure_data(maps, probabilities, bins=5)

    assert set(column(figure, 0, "curve")) == {"platt", "isotonic"}
    assert len(rows(figure, 1)) <= 5
    scores = column(figure, 0, "score", "platt")
    drawn = column(figure, 0, "probability", "platt")
    np.testing.assert_allclose(drawn, maps["platt"](np.array(scores)))


def test_the_parts_of_a_proper_score_are_dots_on_lines_of_equal_loss(probabilities):
    scores = {
        "a": trueness.brier(probabilities),
        "b": trueness.brier(probabilities.map(np.sqrt)),
    }

    *lines, dots = layers(plots.decomposition.figure_data(scores))

    assert [dot["curve"] for dot in dots] == ["a", "b"]
    assert [dot["mcb"] for dot in dots] == [s.mcb.value for s in scores.values()]
    for start, end in lines:
        loss = start["mcb"] - start["dsc"]
        assert loss == pytest.approx(end["mcb"] - end["dsc"])


# thresholds


def test_the_plane_shows_region_curve_and_point():
    figure = plots.operating_point.figure_data(
        HAND, "recall", "flagged <= 4", title="Beds"
    )

    allowed, _, equal_value, curve, [point] = layers(figure)
    assert {"low", "high"} <= allowed[0].keys()
    assert [curve[0][key] for key in ("fpr", "tpr", "cut")] == [0, 0, np.inf]
    assert [point[key] for key in ("fpr", "tpr", "cut")] == [1 / 6, 0.75, 0.6]
    assert point["value"] == 0.75
    assert "maximize recall, flagged <= 4" in words(figure)
    # the same recall is reached along a horizontal line
    assert {row["tpr"] for row in equal_value} == {0.75}


def test_without_a_constraint_the_plane_has_no_region():
    assert not plots.operating_point.figure_data(HAND).data.bands


def test_the_plane_shows_a_guaranteed_threshold():
    guaranteed = trueness.guaranteed_threshold(HUNDRED, "recall >= 0.8")

    figure = plots.guaranteed_threshold.figure_data(HUNDRED, guaranteed)

    (point,) = rows(figure, -1)
    assert (point["fpr"], point["tpr"]) == (25 / 100, 90 / 100)
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


STRIPS = 160  # of a region of the ROC plane, and four times as many steps up


def test_capacity_is_the_line_of_equation_28():
    """Sameni (2025), eq. (28): pi_p tpr + pi_n fpr <= capacity."""
    prevalence = 0.3
    capacity = 0.2
    constraint = constraints(f"flagged_rate <= {capacity}")

    strips = region(constraint, "roc", 1000 * prevalence, 1000 * (1 - prevalence))

    ((fpr, low, high),) = strips
    line = (capacity - (1 - prevalence) * fpr) / prevalence
    largest_fpr = capacity / (1 - prevalence)
    assert fpr.max() == pytest.approx(largest_fpr, abs=1 / STRIPS)
    assert np.abs(high - np.minimum(line, 1)).max() <= 1 / (4 * STRIPS) + 1e-9
    assert not low.any()


def test_risk_is_the_line_of_equation_29():
    """Sameni (2025), eq. (29): a line of slope alpha pi_n / (beta pi_p).

    Its intercept is 1 - c / (beta pi_p).
    """
    prevalence = 0.3
    alpha = 1.0  # the cost of a false positive
    beta = 4.0  # the cost of a false negative
    risk = 0.5
    constraint = constraints(f"cost(fp={alpha}, fn={beta}) <= {risk * 1000}")

    strips = region(constraint, "roc", 1000 * prevalence, 1000 * (1 - prevalence))

    ((fpr, low, high),) = strips
    slope = alpha * (1 - prevalence) / (beta * prevalence)
    line = 1 - risk / (beta * prevalence) + slope * fpr
    assert np.abs(low - np.maximum(line, 0)).max() <= 1 / (4 * STRIPS) + 1e-9
    assert set(high) == {1.0}


def test_constraints_that_contradict_each_other_leave_no_region():
    contradiction = constraints(["recall >= 0.9", "recall <= 0.1"])

    assert region(contradiction, "roc", 5, 5) == []


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


def test_plane_shows_the_best(post):
    drawn = rows(plots.combination_plane.figure_data(post, n_best=5), -1)

    best = trueness.best_combination(post)
    assert len(drawn) == 5
    assert drawn[0]["curve"] == best.formula
    assert drawn[0]["tpr"] == pytest.approx(best.sensitivity.value)
    assert drawn[0]["left"] < drawn[0]["fpr"] < drawn[0]["right"]


def test_plane_of_many_classifiers_shows_each_by_itself(rng):
    is_positive = rng.random(200) < 0.4
    sensitivity = np.linspace(0.7, 0.9, 5)
    false_positive_rate = np.linspace(0.1, 0.3, 5)
    chance_of_yes = np.where(is_positive[:, None], sensitivity, false_positive_rate)
    votes = (rng.random((200, 5)) < chance_of_yes).astype(float)
    panel = trueness.panel(None, dict(zip("ABCDE", votes.T, strict=True)))
    post = trueness.latent_class(panel, draws=300, rng=0, dependence="none")

    drawn = rows(plots.combination_plane.figure_data(post), -1)

    # behind the best by each criterion
    assert [row["curve"] for row in drawn][-5:] == list("ABCDE")
    assert drawn[-1]["tpr"] == pytest.approx(post.sensitivity["E"].value)


@pytest.fixture(scope="module")
def judged():
    """Return a panel of three judges with labels by people, and their rate."""
    verdicts = pd.read_csv(trueness.samples.path("judges"))
    judges = ["grm_gemma_2b", "skywork_gemma_27b", "internlm2_20b"]
    panel = trueness.panel(verdicts, label="human", scores=judges)
    return panel, trueness.prevalence(panel, labelled="random")


def test_rates_of_judges_are_drawn_raw_and_corrected(judged):
    _, rate = judged

    (row,) = rows(plots.judge_rates.figure_data({"all": rate}), 0)

    assert row["corrected"] == rate.value
    assert row["raw"] == pytest.approx(np.mean(list(rate.naive.values())))


def test_judges_stand_in_the_roc_plane(judged):
    panel, rate = judged

    places = rows(plots.judge_plane.figure_data(rate), -1)

    expected = [judge.sensitivity.value for judge in rate.judges.values()]
    assert [place["curve"] for place in places] == list(panel.names)
    assert [place["tpr"] for place in places] == expected


def test_errors_of_judges_are_drawn_once_for_each_pair(judged):
    panel, _ = judged

    assert len(rows(plots.judge_errors.figure_data(panel), 0)) == 3


def test_more_labels_of_judges_narrow_the_interval(judged):
    panel, rate = judged

    band = rows(plots.judge_labels.figure_data(rate, panel), 0)

    widths = [row["high"] - row["low"] for row in band]
    assert widths[0] > widths[-1]


# trees


PAPER = {
    "no split": ([1.0], [0.7]),
    "A": ([0.9, 0.1], [0.75, 0.25]),
    "B": ([0.2, 0.8], [0.75, 0.6875]),
}


@pytest.mark.parametrize("level", ["confidence", "utility"])
def test_levels_by_n(level):
    figure = plots.levels_by_sample_size.figure_data(PAPER, n=[5, 20], level=level)
    assert len(rows(figure, 0)) == 6
    for row in rows(figure, 0):
        known = trueness.trees.tree_levels(int(row["n"]), *PAPER[row["curve"]])
        assert row["level"] == pytest.approx(getattr(known, level))
    assert level in figure.data.y.title
    assert "no split, A, B" in words(figure)
    windy = {"windy": trueness.Leaves(["false", "true"], [2, 3], [6, 3])}
    (row,) = rows(
        plots.levels_by_sample_size.figure_data(windy, n=[14], level=level), 0
    )
    known = trueness.compare_splits(windy)
    at = known.name.tolist().index("windy")
    assert row["level"] == pytest.approx(getattr(known, level)[at])


def test_likelihoods_peak_at_their_estimates():
    figure = plots.majority_likelihood.figure_data(5, 7)

    for name, peak in (("likelihood", 5 / 7), ("entropic likelihood", 2 / 3)):
        probability = column(figure, -1, "p", name)
        height = column(figure, -1, "height", name)
        assert probability[int(np.argmax(height))] == pytest.approx(peak, abs=1e-3)

    every_row = chain.from_iterable(layers(figure))
    marks = {row["rule"]: row["p"] for row in every_row if "rule" in row}
    assert marks["blend"] == pytest.approx(103 / 147)


def test_likelihoods_are_those_of_the_majority():
    of_majority = plots.majority_likelihood.figure_data(5, 7)

    of_minority = plots.majority_likelihood.figure_data(2, 7)

    assert rows(of_minority, -1) == rows(of_majority, -1)


def test_likelihoods_of_a_leaf_without_a_minority_are_finite():
    figure = plots.majority_likelihood.figure_data(4, 4)

    assert np.isfinite(column(figure, -1, "height")).all()


def test_leaves_show_share_interval_and_verdict():
    labels = [1, 1, 1, 0] * 9 + [0, 1]
    report = trueness.leaves(labels, ["a"] * 36 + ["b"] * 2).report()

    drawn = rows(plots.leaf_probabilities.figure_data(report), 0)

    assert [row["leaf"] for row in drawn] == ["a", "b"]
    assert [row["verdict"] for row in drawn] == report.verdict.tolist()
    for row, low, high in zip(drawn, report.low, report.high, strict=True):
        assert row["low"] == low <= row["share"] <= high == row["high"]


def test_names_of_leaves_cannot_act_on_a_terminal():
    report = trueness.leaves([1, 0], ["\x1b[31m", "</script>"]).report()

    drawn = rows(plots.leaf_probabilities.figure_data(report), 0)

    assert drawn[0]["leaf"] == "\\x1b[31m"


def fitted_tree(rng):
    """Return a tree of 200 cases, and the features and labels of 100 others."""
    features = rng.normal(size=(300, 3))
    label = features[:, 0] + features[:, 1] + rng.normal(size=300) > 0
    label = label.astype(int)
    tree = DecisionTreeClassifier(max_depth=3, random_state=0)
    return tree.fit(features[:200], label[:200]), features[200:], label[200:]


def test_tree_with_its_leaves(rng):
    tree, features, label = fitted_tree(rng)
    report = trueness.estimators.leaf_report(tree, features, label)

    figure = plots.leaf_tree.figure_data(tree, report, names=["<script>", "b", "c"])

    leaves = {}
    for node in figure.data.nodes:
        if node.shape:
            number = node.below.split("#")[1].split(",")[0]
            leaves[int(number)] = node
    for row, number in enumerate(report.node):
        leaf = leaves[number]
        assert leaf.level == report.confidence[row]
        assert report.rule[row] in leaf.readout
        assert leaf.below.endswith(f"#{number}, n = {report.n[row]}")


def test_tree_with_its_questions(rng):
    tree, features, label = fitted_tree(rng)
    report = trueness.estimators.leaf_report(tree, features, label)
    names = ["<script>", "b", "c"]

    figure = plots.leaf_tree.figure_data(tree, report, names=names)

    questions = [node for node in figure.data.nodes if node.above]
    splits = tree.get_n_leaves() - 1
    assert len(questions) == splits
    assert len(figure.data.edges) == 2 * splits
    assert {question.above.split("\n")[0] for question in questions} <= set(names)


def test_leaves_stand_side_by_side_and_lower_than_the_root(rng):
    tree, features, label = fitted_tree(rng)
    report = trueness.estimators.leaf_report(tree, features, label)

    nodes = plots.leaf_tree.figure_data(tree, report).data.nodes

    leaves = [node for node in nodes if node.shape]
    root = min(node.y for node in nodes if node.above)
    assert len({leaf.x for leaf in leaves}) == report.node.size
    assert min(leaf.y for leaf in leaves) > root


def test_leaves_without_a_case_are_named(rng):
    tree, features, label = fitted_tree(rng)
    leaf = tree.apply(features)
    in_one_leaf = leaf == leaf[0]
    report = trueness.estimators.leaf_report(
        tree, features[in_one_leaf], label[in_one_leaf]
    )

    nodes = plots.leaf_tree.figure_data(tree, report).data.nodes

    texts = [node.below for node in nodes if node.below]
    empty = [text for text in texts if text.startswith("no case")]
    assert len(texts) == tree.get_n_leaves()
    assert len(empty) == len(texts) - report.node.size


def test_a_tree_that_is_sure_of_itself_is_drawn(rng):
    X = rng.normal(size=(300, 3))
    y = (X[:, 0] + X[:, 1] + rng.normal(size=300) > 0).astype(int)
    sure = trueness.estimators.ConfidentTree(random_state=0).fit(X[:70], y[:70])
    report = trueness.estimators.leaf_report(sure, X[70:], y[70:])

    nodes = plots.leaf_tree.figure_data(sure, report).data.nodes

    assert sum(bool(node.shape) for node in nodes) == report.node.size


def watch_with_an_alarm():
    """Return a watch on recall that falls from 0.88 to 0.6 after six weeks."""
    watch = trueness.watch(metric="recall", threshold=0.5, at_least=0.8)
    for week in range(12):
        true_positives = 88 if week < 6 else 60
        pos = [true_positives, 100 - true_positives]
        watch.update(Tally([0.9, 0.1], neg=[20, 180], pos=pos), name=f"week {week}")
    return watch


def test_a_watch_without_a_batch_has_no_history():
    watch = trueness.watch(metric="recall", threshold=0.5, at_least=0.8)

    with pytest.raises(NotEnoughCases, match="needs a batch with cases"):
        watch_history.figure_data(watch)


def test_a_watch_names_its_batches():
    figure = watch_history.figure_data(watch_with_an_alarm())

    ticks = figure.data.x.ticks
    assert [place for place, _ in ticks] == list(range(1, 13))
    assert [text for _, text in ticks] == [f"week {week}" for week in range(12)]


def test_a_watch_marks_the_alarm():
    watch = watch_with_an_alarm()

    figure = watch_history.figure_data(watch)

    names_of_rules = {name for name, _ in figure.data.rules}
    assert names_of_rules == {f"alarm: {watch.since}"}
    (alarm,) = [row for row in rows(figure, -1) if row["curve"] == "alarm"]
    assert alarm["look"] == int(watch.since.split()[1]) + 1
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
            lambda: plots.levels_by_sample_size.figure_data(PAPER, level="trust"),
            "level must be one of",
        ),
        (
            lambda: plots.levels_by_sample_size.figure_data(PAPER, n=[2.5]),
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
