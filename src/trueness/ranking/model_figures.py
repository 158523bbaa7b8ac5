"""Curves of models: a binormal curve, a fitted one, Fermi-Dirac statistics.

They are drawn as curves of data are, alone or over the data. The formulas are those of
Sameni (2025), with the leakage function G, and of Kim et al. (2021), with ranks.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import final

import numpy as np

from trueness._core.arrays import Floats
from trueness._core.checks.errors import InputError
from trueness._core.figures import POINTS, Line, few_points
from trueness._core.records import Estimate
from trueness.fermi.distribution import FermiDirac
from trueness.ranking.models import Binormal, BinormalFit

CurveModel = Binormal | BinormalFit | FermiDirac
MODELS = (Binormal, BinormalFit, FermiDirac)
NAMES = {
    Binormal: "binormal",
    BinormalFit: "binormal fit",
    FermiDirac: "Fermi-Dirac",
}
# a binormal curve is steepest near both ends, where it needs more points
_NEAR_ZERO = np.geomspace(1e-6, 0.01, 50)
GRID = np.unique(np.concatenate([np.linspace(0, 1, 201), _NEAR_ZERO, 1 - _NEAR_ZERO]))


@final
@dataclass(frozen=True)
class ModelCurve:
    """ROC curve of a model, with its area and, where it has one, its prevalence."""

    fpr: Floats
    tpr: Floats
    auc: float | Estimate
    prevalence: float | None = None


def model_name(model: CurveModel) -> str:
    """Return the default name of a model."""
    return NAMES[type(model)]


def model_curve(model: CurveModel) -> ModelCurve:
    """Return the ROC curve of a model."""
    if isinstance(model, FermiDirac):
        # one point for each number of flagged cases, or for some of many
        number_of_points = min(model.n + 1, 4 * POINTS)
        flagged = np.unique(np.linspace(0, model.n, number_of_points).astype(int))
        fpr = np.asarray(model.expected("fpr", flagged))
        tpr = np.asarray(model.expected("tpr", flagged))
        return ModelCurve(fpr, tpr, model.auc, model.prevalence)

    curve = model.curve if isinstance(model, BinormalFit) else model
    return ModelCurve(GRID, np.asarray(curve.tpr(GRID)), model.auc)


def area_text(area: float | Estimate) -> str:
    """Write an area, with its interval where it has one."""
    if isinstance(area, Estimate):
        return f"AUC {area.value:.3f} ({area.low:.3f} to {area.high:.3f})"
    return f"AUC {area:.3f}"


def roc_lines(models: Mapping[str, CurveModel]) -> dict[str, Line]:
    """Return the ROC curve of each model, with its AUC in its name."""
    lines = {}
    for name, model in models.items():
        curve = model_curve(model)
        label = f"{name}: {area_text(curve.auc)}"
        lines[name] = _line(label, "fpr", curve.fpr, "tpr", curve.tpr)
    return lines


def leakage_lines(models: Mapping[str, CurveModel]) -> dict[str, Line]:
    """Return the leakage function G of each model: 1 - tpr at specificity 1 - fpr."""
    lines = {}
    for name, model in models.items():
        curve = model_curve(model)
        label = f"{name}: area {1 - float(curve.auc):.3f}"  # Sameni (2025), eq. (19)
        lines[name] = _line(label, "u", 1 - curve.fpr, "G", 1 - curve.tpr)
    return lines


def precision_recall_lines(
    models: Mapping[str, CurveModel], prevalence: float | None
) -> dict[str, Line]:
    """Return the precision-recall curve of each model at this prevalence.

    Sameni (2025), eq. (21). A Fermi-Dirac distribution has a prevalence of its own.
    """
    lines = {}
    for name, model in models.items():
        curve = model_curve(model)
        proportion = curve.prevalence if prevalence is None else prevalence
        if proportion is None:
            raise InputError(
                f"The precision of {name} depends on the prevalence, which a binormal "
                "curve does not have. State it, or draw the data beside the curve.",
                option="prevalences",
                example=[0.1],
            )

        # without a flagged case precision is 0 / 0
        is_flagging = curve.tpr > 0
        recall = curve.tpr[is_flagging]
        fpr = curve.fpr[is_flagging]
        true_positives = proportion * recall
        precision = true_positives / (true_positives + (1 - proportion) * fpr)
        lines[name] = _line(name, "recall", recall, "precision", precision)

    return lines


def _line(name: str, x: str, across: Floats, y: str, up: Floats) -> Line:
    """Return a line over the columns ``x`` and ``y``, at few points."""
    shown = few_points(across, up, POINTS, 0.0)
    return Line(name, {x: across[shown], y: up[shown]})
