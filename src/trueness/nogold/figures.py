"""What do the figures of judges show? Rates, accuracies, shared errors, labels."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from trueness._core.checks.errors import NotEnoughCases
from trueness._core.figures import (
    Axis,
    Crosses,
    Curves,
    Intervals,
    Line,
    Matrix,
    guide,
    intervals,
)
from trueness.counts.values import Panel
from trueness.nogold.label_plans import expected_widths
from trueness.nogold.rate import Rate
from trueness.nogold.verdicts import Judge

FALSE_PASS = Axis("fpr", "Wrong answers that pass (1 \N{MINUS SIGN} specificity)")
TRUE_PASS = Axis("tpr", "Right answers that pass (sensitivity)")
MIN_PLANNED_LABELS = 10  # fewer say next to nothing
AROUND = 0.25  # how much of the rate is shown on either side of it
RAW, CORRECTED = "raw", "corrected"


def raw_rate(found: Rate) -> float:
    """Give the share of yes among all verdicts; NaN where all judges give grades."""
    said = [
        share
        for name, share in found.naive.items()
        if name not in found.judges or not _grades(found.judges[name])
    ]
    return float(np.mean(said)) if said else float("nan")


def _grades(judge: Judge) -> bool:
    """Does this judge give grades, not yes and no?"""
    return judge.sensitivity.method == "graded"


def rates_figure(rates: Mapping[str, Rate]) -> Intervals:
    """How far is the raw rate of each system from the corrected one?"""
    raw = np.array([raw_rate(r) for r in rates.values()])
    made = intervals("Raw and corrected rate", "Pass rate", rates)
    return replace(made, keys=("system", CORRECTED), marks={RAW: raw})


def judges_figure(found: Rate) -> Crosses:
    """How good is each judge? Its place in the ROC plane, with intervals."""
    if not found.identified:
        raise NotEnoughCases(
            "Without labels verdicts do not determine how good the judges are, so they "
            "have no place in the ROC plane. Label some cases."
        )
    named = {n: j for n, j in found.judges.items() if not _grades(j)}
    if not named:
        raise NotEnoughCases(
            "The ROC plane shows judges that say yes or no; all of these give grades."
        )
    each = [(j.sensitivity, j.specificity) for j in named.values()]
    ends = np.array([[(e.value, e.low, e.high) for e in both] for both in each])
    up, across = ends[:, 0], 1 - ends[:, 1, [0, 2, 1]]
    chance = guide(FALSE_PASS, TRUE_PASS, [0, 1], [0, 1])
    axes = (FALSE_PASS, TRUE_PASS)
    return Crosses("Judges", *axes, tuple(named), across, up, (chance,))


def errors_figure(panel: Panel) -> Matrix:
    """Which judges err together? Correlations of their errors in labelled cases."""
    # deviations from the mean of the own class: what is left of the agreement of two
    # judges when the truth is known; NaN where a judge never errs
    size = len(panel.names)
    out = np.full((size, size), np.nan)
    for j in range(size):
        for k in range(size):
            seen = ~np.isnan(panel.rows[:, [j, k]]).any(axis=1)
            x = panel.rows[seen][:, [j, k]]
            x = x / np.maximum(np.abs(x).max(axis=0, initial=0.0), 1.0)  # 1e300 squared
            cov = np.zeros((2, 2))
            for count in (panel.pos[seen], panel.neg[seen]):
                if count.sum():
                    off = x - count @ x / count.sum()
                    cov += (off * count[:, None]).T @ off
            scale = float(np.sqrt(cov[0, 0] * cov[1, 1]))
            if scale > 0:
                out[j, k] = cov[0, 1] / scale
    label = "Correlation of errors"
    return Matrix("Which errors go together", label, panel.names, out)


def labels_figure(found: Rate, panel: Panel) -> Curves:
    """How narrow would the interval of the rate be with more labels at random?"""
    most = min(panel.n, max(200, 4 * found.labels))
    if most < MIN_PLANNED_LABELS:
        raise NotEnoughCases("There are too few cases to plan more labels.")
    numbers = np.unique(np.geomspace(MIN_PLANNED_LABELS, most, 40).round())
    half = expected_widths(panel, found.labels, found.high - found.low, numbers) / 2
    x = Axis("labels", "Labels at random", 0.0, float(most))
    low, high = max(0.0, found.value - AROUND), min(1.0, found.value + AROUND)
    y = Axis("rate", "Pass rate", low, high)
    flat = np.full(half.size, found.value)
    ends = {"low": np.maximum(flat - half, 0), "high": np.minimum(flat + half, 1)}
    line = Line(
        "rate with its expected interval",
        {"labels": numbers, "rate": flat, **ends},
    )
    now = guide(x, y, [found.labels] * 2, [low, high])
    return Curves("Interval by number of labels", x, y, (line,), (line,), (now,))
