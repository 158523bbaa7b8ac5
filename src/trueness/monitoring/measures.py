"""What may be required beside metrics at a threshold?

Measures have an interval; facts about the file are counted.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import partial
from math import inf, nan
from typing import Any, NamedTuple

import numpy as np

from trueness._core.checks.errors import InputError, NotEnoughCases
from trueness._core.records import Estimate
from trueness.calibration.errors import calibration_error
from trueness.calibration.lines import calibration_line
from trueness.calibration.proper_scores import brier, log_loss
from trueness.counts.values import Tally
from trueness.evals.attempts import pass_at_k, pass_hat_k, pass_rate
from trueness.inference.estimates import estimate_measure
from trueness.inference.sample import MeasuredValue
from trueness.inference.variance import Influence
from trueness.ranking.areas import auc, average_precision
from trueness.ranking.curves import partial_auc


class Measure(NamedTuple):
    """A measure that may be required, besides metrics: an entry in ``MEASURES``.

    ``estimate(data, level=...)`` returns an estimate. If the function has an attribute
    ``measure``, it can be compared with a baseline on the same cases; otherwise only
    with one on other cases.
    """

    estimate: Callable[..., Any]
    direction: str = "higher"
    range: tuple[float, float] = (0.0, 1.0)


def _debiased_calibration_error(tally: Tally, *, level: float) -> Estimate:
    return calibration_error(tally, level=level).debiased


def _calibration_slope(tally: Tally, *, level: float) -> Estimate:
    return calibration_line(tally, level=level).slope


def _prevalence(tally: Tally, *, level: float) -> Estimate:
    """Return the estimated prevalence."""
    if not tally.n_pos + tally.n_neg and not tally.labels_expected:
        raise NotEnoughCases("prevalence needs labelled cases; found none.")

    if tally.design.fixed_classes:
        raise InputError(
            "these cases do not estimate the prevalence: the sample is case-control, "
            "or another prevalence was stated. Leave this requirement out."
        )

    return estimate_measure(tally, _prevalence_measure, level=level, name="prevalence")


def _prevalence_measure(tally: Tally) -> MeasuredValue:
    """Return the proportion of positives with its influence values."""
    cases = tally.n_pos + tally.n_neg
    prevalence = tally.prevalence
    by_negative = np.full(len(tally), -prevalence / cases)
    by_positive = np.full(len(tally), (1 - prevalence) / cases)
    return MeasuredValue(prevalence, Influence(by_negative, by_positive))


MEASURES = {
    "auc": Measure(auc),
    "partial_auc": Measure(partial(partial_auc, fpr=(0.0, 0.1), corrected=True)),
    "average_precision": Measure(average_precision),
    "brier": Measure(brier, "lower"),
    "log_loss": Measure(log_loss, "lower", (0.0, inf)),
    "calibration_error": Measure(_debiased_calibration_error, "lower"),
    "calibration_slope": Measure(_calibration_slope, "none", (-inf, inf)),
    "prevalence": Measure(_prevalence, "none"),
    "pass_rate": Measure(pass_rate),
}
# measures of attempts with a number in their name
_MEASURES_OF_K = {"pass_at_k": pass_at_k, "pass_hat_k": pass_hat_k}
_NAME_WITH_K = re.compile(r"(pass_at_k|pass_hat_k)\((?:k *= *)?([1-9]\d*)\)")


def measure_of(name: str) -> Measure | None:
    """Return the measure of this name; None for a metric of the confusion matrix."""
    match = _NAME_WITH_K.fullmatch(name)
    if match:
        return Measure(partial(_MEASURES_OF_K[match[1]], k=int(match[2])))
    return MEASURES.get(name)


def of_attempts(name: str) -> bool:
    """Return whether a measure is of attempts, and not of labels and scores."""
    return name == "pass_rate" or _NAME_WITH_K.fullmatch(name) is not None


# facts about the file itself, which are counted and have no interval
FACTS: dict[str, Callable[[Tally], float]] = {
    "cases": lambda tally: tally.n,
    "labelled": lambda tally: tally.n_pos + tally.n_neg,
    "positives": lambda tally: tally.n_pos,
    "negatives": lambda tally: tally.n_neg,
    "unlabelled_rate": lambda tally: tally.n_unknown / tally.n if tally.n else nan,
    "lowest_score": lambda tally: float(tally.score[-1]) if tally.score.size else nan,
    "highest_score": lambda tally: float(tally.score[0]) if tally.score.size else nan,
    "distinct_scores": lambda tally: tally.score.size,
}
