"""Figures of Sameni (2025) and Kim (2021): models, areas, ranks, zones."""

import numpy as np
import pytest
from scipy.stats import norm

import trueness
from trueness import InputError, Tally, plots
from trueness.ranking import binormal, fit_binormal, leakage


@pytest.fixture(scope="module")
def t():
    rng = np.random.default_rng(0)
    y = rng.random(600) < 0.4
    return trueness.tally(y, (rng.normal(size=600) + 1.2 * y).round(2))


def line(figure, start):
    (found,) = (x for x in figure.data.lines if x.name.startswith(start))
    return found


def test_a_binormal_is_drawn_as_data_are():
    drawn = line(plots.roc.figure_data(binormal(0.8, 1.5)), "binormal: AUC")
    # scores of negatives N(0, 0.8), of positives N(1.5, 1)
    thresholds = 0.8 * norm.isf(drawn["fpr"][1:-1])
    expected = norm.sf(thresholds - 1.5)
    np.testing.assert_allclose(drawn["tpr"][1:-1], expected, atol=1e-12)


def test_a_fit_lies_over_the_data_in_the_order_of_the_names(t):
    fit = fit_binormal(t)

    figure = plots.roc.figure_data({"fit": fit, "data": t})

    names = [x.name.partition(":")[0] for x in figure.data.lines]
    assert names == ["fit", "data"]
    low, high = fit.auc.low, fit.auc.high
    assert f"({low:.3f} to {high:.3f})" in figure.data.lines[0].name
    assert "cut" in line(figure, "data").columns


def test_fermi_dirac_curves_have_their_area(t):
    fd = trueness.fermi_dirac(t)

    roc = line(plots.roc.figure_data(fd), "Fermi-Dirac")
    g = line(plots.leakage.figure_data({"fd": fd}), "fd: area")

    assert np.trapezoid(roc["tpr"], roc["fpr"]) == pytest.approx(fd.auc, abs=1e-3)
    assert abs(np.trapezoid(g["G"], g["u"])) == pytest.approx(1 - fd.auc, abs=1e-3)


def test_precision_of_a_model_takes_the_prevalence_of_the_data_beside_it(t):
    curve = binormal(1, 1.2)

    figure = plots.precision_recall.figure_data({"data": t, "model": curve})

    drawn = line(figure, "model")
    expected = curve.precision(drawn["recall"], t.prevalence)
    np.testing.assert_allclose(drawn["precision"], expected, rtol=1e-9)
    with pytest.raises(InputError, match="prevalences=") as caught:
        plots.precision_recall.figure_data(curve)
    assert caught.value.option == "prevalences"


def test_one_curve_for_each_prevalence(t):
    figure = plots.precision_recall.figure_data(t, prevalences=[0.1, 0.5])
    assert [x.name for x in figure.data.lines] == ["prevalence 0.1", "prevalence 0.5"]
    known = trueness.precision_recall(t, prevalence=0.1)
    assert set(figure.data.lines[0]["precision"]) <= set(known.precision)


def test_leakage_and_roc_curve_mirror_each_other(t):
    figure = plots.leakage_and_roc.figure_data(t)
    g, roc = line(figure, "leakage"), line(figure, "ROC")
    np.testing.assert_allclose(g["y"], 1 - roc["y"][::-1])
    np.testing.assert_allclose(g["x"], 1 - roc["x"][::-1])
    (area,) = figure.data.bands
    assert np.trapezoid(area["high"], area["x"]) == pytest.approx(leakage(t).area)
    assert area.name == f"Pr(x_p <= x_n) = {leakage(t).area:.3f}"


def test_a_threshold_separates_four_areas():
    t = Tally([3, 2, 1], pos=[60, 30, 10], neg=[5, 20, 75])

    figure = plots.score_distributions.figure_data(t, threshold=2, bins=4)

    sizes = {
        band.name.partition(":")[0]: band["high"][1:-1:2].sum()
        for band in figure.data.bands
    }
    assert sizes == pytest.approx(
        {
            "true negatives": 0.75,
            "false positives": 0.25,
            "false negatives": 0.1,
            "true positives": 0.9,
        }
    )
    assert figure.data.rules == (("threshold 2", 2.0),)
    # no bin lies on both sides
    for band in figure.data.bands:
        filled = band["score"][band["high"] > 0]
        assert (filled >= 2).all() or (filled <= 2).all()
    assert "90.0 % of the class" in figure.data.bands[3].name


def test_a_threshold_is_for_one_classifier(t):
    with pytest.raises(InputError, match="one classifier") as caught:
        plots.score_distributions.figure_data({"a": t, "b": t}, threshold=0.5)
    assert caught.value.option == "threshold"


def test_one_threshold_leaves_nothing_to_a_person(t):
    figure = plots.zones.figure_data(t, trueness.Rule(0.7))
    ((name, place),) = figure.data.rules
    assert name.startswith("positive from 0.7")
    assert place == pytest.approx(0.7)
    assert figure.data.guides == ()
    assert "person" not in repr(figure)


def test_a_tally_is_put_into_bins_of_ranks(t):
    fd = trueness.fermi_dirac(t)

    (dots,) = plots.rank_probability.figure_data(fd, t, bins=10).data.dots

    assert dots["rank"].size == 10
    n = t.pos.sum() + t.neg.sum()
    order = np.repeat(np.arange(len(t)), t.pos + t.neg)
    positive = np.concatenate(
        [[1] * p + [0] * q for p, q in zip(t.pos, t.neg, strict=True)]
    )
    # the first bin by hand: all rows whose middle is among the first tenth
    middle = np.cumsum(t.pos + t.neg) - (t.pos + t.neg) / 2
    first = np.isin(order, np.flatnonzero(middle < n / 10))
    assert dots["p"][0] == pytest.approx(positive[first].mean())
    assert dots["rank"][0] == pytest.approx(np.flatnonzero(first).mean() + 1)


def test_ranks_of_another_number_of_cases_are_scaled(t):
    fd = trueness.fermi_dirac(n=60, prevalence=0.4, auc=0.8)
    (dots,) = plots.rank_probability.figure_data(fd, t, bins=10).data.dots
    assert 1 <= dots["rank"].min() < dots["rank"].max() <= 60


def test_wrong_frequencies_are_answered_by_a_sentence(t):
    with pytest.raises(InputError, match="a tally, or the proportion") as caught:
        plots.rank_probability.figure_data(trueness.fermi_dirac(t), "often")
    assert caught.value.option == "observed"
