"""Curves of models, by the formulas of their papers."""

import numpy as np
import pytest
from scipy import stats

import trueness
from trueness import Tally
from trueness._core.figures import POINTS
from trueness.fermi.distribution import fermi_dirac
from trueness.ranking import model_figures
from trueness.ranking.model_figures import GRID, model_curve
from trueness.ranking.models import binormal, fit_binormal

BINORMAL = binormal(alpha=0.8, b=1.2)
AREA = stats.norm.cdf(1.2 / np.hypot(1, 0.8))
FERMI = fermi_dirac(n=30, n_pos=12, auc=0.8)


def binormal_tpr(fpr):
    """Return tpr = Phi(b + alpha Phi^-1(fpr)), with b of 1.2 and alpha of 0.8."""
    return stats.norm.cdf(1.2 + 0.8 * stats.norm.ppf(fpr))


def test_points_of_a_model_curve_are_rates_and_close_at_the_ends():
    assert GRID[0] == 0
    assert GRID[-1] == 1
    assert GRID[1] == pytest.approx(1e-6)
    assert 1 - GRID[-2] == pytest.approx(1e-6)
    assert np.isin(np.linspace(0, 1, 201), GRID).all()


def test_a_binormal_curve_is_that_of_normal_scores():
    curve = model_curve(BINORMAL)

    assert curve.tpr == pytest.approx(binormal_tpr(curve.fpr), abs=1e-12)
    assert curve.auc == pytest.approx(AREA)
    assert curve.prevalence is None


def test_rates_of_ranks_add_up_their_probabilities():
    curve = model_curve(FERMI)

    positive = FERMI.probability(np.arange(1, 31))

    assert curve.tpr == pytest.approx([0, *np.cumsum(positive) / 12])
    assert curve.fpr == pytest.approx([0, *np.cumsum(1 - positive) / 18])
    assert curve.prevalence == pytest.approx(12 / 30)


def test_many_ranks_are_shown_by_some():
    curve = model_curve(fermi_dirac(n=10_000, n_pos=4_000, auc=0.8))

    assert curve.fpr.size == 4 * POINTS
    assert (curve.fpr[0], curve.tpr[0]) == (0, 0)
    assert (curve.fpr[-1], curve.tpr[-1]) == pytest.approx((1, 1))


def test_names_of_roc_curves_tell_their_areas():
    fit = fit_binormal(Tally([4, 3, 2, 1], pos=[9, 5, 3, 2], neg=[2, 6, 9, 12]))

    lines = model_figures.roc_lines({"model": BINORMAL, "fit": fit})

    assert lines["model"].name == f"model: AUC {AREA:.3f}"

    area = fit.auc

    assert lines["fit"].name == (
        f"fit: AUC {area.value:.3f} ({area.low:.3f} to {area.high:.3f})"
    )

    fpr = lines["model"].columns["fpr"]

    assert lines["model"].columns["tpr"] == pytest.approx(binormal_tpr(fpr), abs=1e-12)


def test_leakage_of_a_model_is_its_miss_rate_by_specificity():
    line = model_figures.leakage_lines({"model": BINORMAL})["model"]

    specificity = line.columns["u"]
    expected = 1 - binormal_tpr(1 - specificity)

    assert line.columns["G"] == pytest.approx(expected, abs=1e-9)
    assert line.name == f"model: area {1 - AREA:.3f}"


@pytest.mark.parametrize("prevalence", [0.01, 0.3, 0.9])
def test_precision_of_a_model_follows_from_the_prevalence(prevalence):
    lines = model_figures.precision_recall_lines({"model": BINORMAL}, prevalence)

    recall = lines["model"].columns["recall"]
    fpr = stats.norm.cdf((stats.norm.ppf(recall) - 1.2) / 0.8)
    # Bayes
    precision = prevalence * recall / (prevalence * recall + (1 - prevalence) * fpr)

    assert lines["model"].columns["precision"] == pytest.approx(precision, rel=1e-6)
    assert recall.min() > 0


def test_ranks_have_a_prevalence_of_their_own():
    lines = model_figures.precision_recall_lines({"ranks": FERMI}, None)

    positive = FERMI.probability(np.arange(1, 31))
    precision = np.cumsum(positive) / np.arange(1, 31)
    recall = np.cumsum(positive) / 12
    shown = lines["ranks"].columns

    assert shown["precision"] == pytest.approx(
        np.interp(shown["recall"], recall, precision)
    )

    other = model_figures.precision_recall_lines({"ranks": FERMI}, 0.1)

    assert other["ranks"].columns["precision"].max() < precision.max()


def test_precision_of_a_binormal_curve_needs_a_prevalence():
    with pytest.raises(trueness.InputError, match="precision of model depends") as said:
        model_figures.precision_recall_lines({"model": BINORMAL}, None)

    assert said.value.option == "prevalences"


@pytest.mark.parametrize(
    ("model", "name"), [(BINORMAL, "binormal"), (FERMI, "Fermi-Dirac")]
)
def test_a_model_that_nobody_named_has_a_name(model, name):
    assert model_figures.model_name(model) == name
