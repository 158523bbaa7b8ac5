"""What do the figures of sites show? A forest plot and the ROC plane, without ink."""

from __future__ import annotations

import math

import numpy as np

from trueness._core.arrays import Floats
from trueness._core.figures import Axis, Curves, Intervals, Line, intervals
from trueness._core.numbers import level_text
from trueness._core.records import Estimate
from trueness.sites.across import AcrossSites
from trueness.sites.summary_curve import SummaryROC

MEAN = "mean of all sites"
NEXT_SITE = "next site (prediction)"
SITES = "sites"
SUMMARY_POINT = "summary point"
SUMMARY_CURVE = "summary ROC curve"

FALSE_POSITIVE_RATE = Axis("fpr", "False positive rate (1 - specificity)")
SENSITIVITY = Axis("tpr", "Sensitivity")


def forest_figure(answer: AcrossSites) -> Intervals:
    """Return the forest plot: each site, the mean of all, and the next site."""
    rows: dict[str, Estimate] = {
        name: estimate
        for name, estimate in answer.sites.items()
        if not math.isnan(estimate.value)
    }
    mean = None
    if answer.mean is not None and answer.prediction is not None:
        rows[MEAN] = answer.mean
        rows[NEXT_SITE] = answer.prediction
        mean = answer.mean.value

    return intervals(
        f"{answer.measure} at each site",
        answer.measure,
        rows,
        zero=mean,
        keys=("site", answer.measure),
    )


def plane_figure(summary: SummaryROC) -> Curves:
    """Return the ROC plane: sites, summary point, both regions, summary curve."""
    level = level_text(summary.level)
    pairs = list(summary.sites.values())
    site_fpr = np.array([1 - specificity.value for _, specificity in pairs])
    site_tpr = np.array([sensitivity.value for sensitivity, _ in pairs])
    point_fpr = np.array([1 - summary.specificity.value])
    point_tpr = np.array([summary.sensitivity.value])

    return Curves(
        "Sensitivity and specificity of sites",
        FALSE_POSITIVE_RATE,
        SENSITIVITY,
        lines=(Line(SUMMARY_CURVE, {"fpr": summary.fpr, "tpr": summary.tpr}),),
        guides=(
            _outline(f"{level} confidence region", summary.confidence_region),
            _outline(f"{level} prediction region", summary.prediction_region),
        ),
        dots=(
            Line(SITES, {"fpr": site_fpr, "tpr": site_tpr}),
            Line(SUMMARY_POINT, {"fpr": point_fpr, "tpr": point_tpr}),
        ),
    )


def _outline(name: str, region: Floats) -> Line:
    """Return the outline of a region as a closed line."""
    return Line(name, {"fpr": region[:, 0], "tpr": region[:, 1]})
