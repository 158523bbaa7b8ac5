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
SHOWN_AROUND_RATE = 0.25  # how much is shown on either side of it
RAW = "raw"
CORRECTED = "corrected"


def raw_rate(rate: Rate) -> float:
    """Return the mean proportion of yes of the judges; NaN where all give grades."""
    proportions = [
        proportion
        for name, proportion in rate.naive.items()
        if name not in rate.judges or not _gives_grades(rate.judges[name])
    ]
    return float(np.mean(proportions)) if proportions else float("nan")


def _gives_grades(judge: Judge) -> bool:
    """Return whether a judge gives grades, not yes and no."""
    return judge.sensitivity.method == "graded"


def rates_figure(rates: Mapping[str, Rate]) -> Intervals:
    """Return the raw rate of each system beside the corrected one."""
    raw = np.array([raw_rate(rate) for rate in rates.values()])
    figure = intervals("Raw and corrected rate", "Pass rate", rates)
    return replace(figure, keys=("system", CORRECTED), marks={RAW: raw})


def judges_figure(rate: Rate) -> Crosses:
    """Return the place of each judge in the ROC plane, with intervals."""
    if not rate.identified:
        raise NotEnoughCases(
            "Verdicts without labels do not determine the accuracy of the judges, so "
            "no ROC plane can be drawn. Label some cases."
        )

    judges = {
        name: judge for name, judge in rate.judges.items() if not _gives_grades(judge)
    }
    if not judges:
        raise NotEnoughCases(
            "The ROC plane shows judges that say yes or no; all of these give grades."
        )

    sensitivity = [judge.sensitivity for judge in judges.values()]
    specificity = [judge.specificity for judge in judges.values()]
    tpr = np.array(
        [[estimate.value, estimate.low, estimate.high] for estimate in sensitivity]
    )
    # a high specificity is a low false positive rate
    fpr = 1 - np.array(
        [[estimate.value, estimate.high, estimate.low] for estimate in specificity]
    )
    chance = guide(FALSE_PASS, TRUE_PASS, [0, 1], [0, 1])

    return Crosses("Judges", FALSE_PASS, TRUE_PASS, tuple(judges), fpr, tpr, (chance,))


def errors_figure(panel: Panel) -> Matrix:
    """Return the correlations of the judges' errors in labelled cases."""
    size = len(panel.names)
    correlation = np.full((size, size), np.nan)
    for j in range(size):
        for k in range(size):
            correlation[j, k] = _correlation_of_errors(panel, j, k)

    return Matrix(
        "Which judges make the same errors",
        "Correlation of errors",
        panel.names,
        correlation,
    )


def _correlation_of_errors(panel: Panel, judge: int, other_judge: int) -> float:
    """Return the correlation of two judges' verdicts within classes.

    Deviations from the mean of the own class are what is left of their agreement when
    the truth is known. NaN where a judge never errs.
    """
    pair = panel.rows[:, [judge, other_judge]]
    both_judged = ~np.isnan(pair).any(axis=1)
    verdicts = pair[both_judged]
    # grades of 1e300 have no square
    largest = np.abs(verdicts).max(axis=0, initial=0.0)
    verdicts = verdicts / np.maximum(largest, 1.0)

    covariance = np.zeros((2, 2))
    for cases_of_class in (panel.pos[both_judged], panel.neg[both_judged]):
        n_cases = cases_of_class.sum()
        if n_cases:
            deviation = verdicts - cases_of_class @ verdicts / n_cases
            covariance += (deviation * cases_of_class[:, None]).T @ deviation

    scale = float(np.sqrt(covariance[0, 0] * covariance[1, 1]))
    if scale > 0:
        return float(covariance[0, 1] / scale)
    return np.nan


def labels_figure(rate: Rate, panel: Panel) -> Curves:
    """Return the interval of the rate by the number of labels at random."""
    largest = min(panel.n, max(200, 4 * rate.labels))
    if largest < MIN_PLANNED_LABELS:
        raise NotEnoughCases("There are too few cases to plan more labels.")

    label_numbers = np.unique(np.geomspace(MIN_PLANNED_LABELS, largest, 40).round())
    width = expected_widths(panel, rate.labels, rate.high - rate.low, label_numbers)
    half_width = width / 2

    lowest_shown = max(0.0, rate.value - SHOWN_AROUND_RATE)
    highest_shown = min(1.0, rate.value + SHOWN_AROUND_RATE)
    x = Axis("labels", "Labels at random", 0.0, float(largest))
    y = Axis("rate", "Pass rate", lowest_shown, highest_shown)
    same_rate = np.full(half_width.size, rate.value)
    line = Line(
        "rate with its expected interval",
        {
            "labels": label_numbers,
            "rate": same_rate,
            "low": np.maximum(same_rate - half_width, 0),
            "high": np.minimum(same_rate + half_width, 1),
        },
    )

    labels_now = guide(x, y, [rate.labels] * 2, [lowest_shown, highest_shown])
    return Curves("Interval by number of labels", x, y, (line,), (line,), (labels_now,))
