"""What can folds be asked that were each scored by another model?

Scores of different models are not on one scale, so that folds are not pooled: an
analysis is asked of every fold, and its answers are averaged.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np

from trueness._core.checks import cases as _cases
from trueness._core.checks import options as _options
from trueness._core.checks.errors import Infeasible, InputError, PythonCode
from trueness._core.checks.words import listing
from trueness._core.records import Estimate
from trueness.calibration.calibrators import calibrate
from trueness.calibration.proper_scores import brier, log_loss
from trueness.comparison.paired import measured_columns, title_of
from trueness.comparison.results import Comparison, compare_pairs
from trueness.counts.folds import Folds
from trueness.counts.values import Tally, rescore
from trueness.inference.differences import Difference
from trueness.inference.estimates import (
    EvaluatedMeasure,
    estimate_from_interval,
    estimate_from_variance,
    estimate_over_folds,
)
from trueness.inference.jackknife import Statistic
from trueness.inference.sample import MeasuredValue, apply_design
from trueness.inference.variance import (
    VarianceEstimate,
    estimate_variance,
    influence_difference,
    variance_of_mean,
)
from trueness.metrics.algebra import Constraint, Metric
from trueness.metrics.confusion import Confusion
from trueness.metrics.definitions import METRICS
from trueness.metrics.grammar import constraints as read_constraints
from trueness.metrics.grammar import metric as read_metric
from trueness.metrics.intervals import metric_measure
from trueness.ranking.areas import auc, average_precision
from trueness.threshold.operating_point import OperatingPoint, best_threshold
from trueness.threshold.validation import Validation


def answer_folds(
    name: str, folds: Folds, others: tuple[Any, ...], options: Mapping[str, Any]
) -> Any:
    """Return the answer of an analysis to folds, each scored by another model."""
    if name not in OF_FOLDS:
        raise InputError(
            f"{name} does not take folds, since each fold was scored by a different "
            f"model; {', '.join(sorted(OF_FOLDS))} do. Call it for every fold.",
            example=PythonCode(f"[trueness.{name}(part, ...) for part in found.folds]"),
        )
    return OF_FOLDS[name](folds, *others, **options)


def _mean_over_folds(statistic: Any, name: str) -> Callable[..., Any]:
    """Return a function from folds to the mean of a statistic, for each model."""

    def mean(data: Folds, *, level: float = 0.95, **others: Any) -> Any:
        """Return the mean over folds, of each model if there are several."""
        if others:
            raise InputError(
                f"For folds {statistic.__name__} takes only the level; found "
                f"{listing(others)}. Call it for every fold.",
                example=PythonCode(
                    f"[trueness.{statistic.__name__}(part, ...) for part in folds]"
                ),
            )
        if data.names:
            return {model: mean(data[model], level=level) for model in data.names}
        return estimate_over_folds(data, statistic.measure, level=level, name=name)

    return mean


def compare_folds(
    data: Folds,
    statistic: Statistic,
    *,
    name: str = "",
    margin: float | None = None,
    level: float = 0.95,
    ends: tuple[float, float] = (0.0, 1.0),
) -> Comparison:
    """Compare models that were trained and tested on the same folds, fold by fold."""
    _cases.at_least_two(data.names, "A comparison of folds")
    name = name or title_of(statistic)
    level = _options.fraction(level, "level")
    measured = MeasuredFolds(data, statistic, name, level, ends)
    estimates = {model: measured.estimate(k) for k, model in enumerate(data.names)}
    return compare_pairs(
        estimates, measured.contrast, margin=margin, paired=True, measure=name
    )


class MeasuredFolds:
    """The mean of a measure over the folds of each model, and differences of two."""

    def __init__(
        self,
        data: Folds,
        statistic: Statistic,
        name: str,
        level: float,
        ends: tuple[float, float] = (0.0, 1.0),
    ) -> None:
        self._name = name
        self._level = level
        panels = [panel.labelled() for panel in data]
        self._parts = [
            measured_columns(panel, statistic, name, level, ends) for panel in panels
        ]
        self._samples = [apply_design(panel) for panel in panels]

    def side(self, k: int) -> EvaluatedMeasure:
        """Return the mean of the k-th model over the folds, with its variance."""
        by_fold = [columns[k] for columns in self._parts]
        value = math.fsum(fold.value for fold in by_fold) / len(by_fold)
        variance = variance_of_mean([fold.variance_estimate for fold in by_fold])
        return EvaluatedMeasure(value, variance, by_fold[0].ends)

    def estimate(self, k: int) -> Estimate:
        """Return the mean of the k-th model over the folds, with its interval."""
        mean = self.side(k)
        return estimate_from_variance(
            mean.value, mean.variance_estimate, mean.ends, self._level, self._name
        )

    def contrast(self, i: int, j: int) -> Difference:
        """Return the difference of models i and j, on the same cases."""
        if i == j:
            return Difference(0.0, VarianceEstimate(0.0, math.inf, math.inf))

        variances = []
        for sample, columns in zip(self._samples, self._parts, strict=True):
            # paired by case within a fold; folds are independent
            gap = influence_difference(columns[i].influence, columns[j].influence)
            within_class = columns[i].within_class or sample.class_sizes_fixed
            variances.append(
                estimate_variance(sample.observed, gap, within_class=within_class)
            )

        return Difference.between(
            self.side(i), self.side(j), variance_of_mean(variances)
        )


def _validate_threshold(
    data: Folds,
    maximize: str | Metric | None = None,
    subject_to: str | Constraint | Iterable[str | Constraint] = (),
    *,
    minimize: str | Metric | None = None,
    level: float = 0.95,
) -> Any:
    """Return the mean over folds of a threshold chosen on all other folds."""
    level = _options.fraction(level, "level")
    if data.names:
        return {
            model: _validate_threshold(
                data[model], maximize, subject_to, minimize=minimize, level=level
            )
            for model in data.names
        }

    def choose(tally: Tally) -> OperatingPoint:
        return best_threshold(
            tally,
            maximize=maximize,  # type: ignore[arg-type]  # None: its own default
            minimize=minimize,
            subject_to=subject_to,
        )

    point_of_all = choose(data.pooled())
    points, votes = _choose_without_each_fold(data, choose)
    if len(votes) < 2:
        raise Infeasible("No threshold meets the constraints on most of the folds.")

    tested = Folds(tuple(votes))
    objective = read_metric(maximize or minimize or "youden")
    corrected = _fold_estimate(tested, objective, level)
    confusions = [_cells(fold) for fold in votes]
    return Validation(
        choice=point_of_all,
        thresholds={"threshold": _range_of_thresholds(point_of_all, points, level)},
        value=point_of_all.value,
        corrected=corrected,
        optimism=point_of_all.value - corrected.value,
        in_bag=np.array([point.value for point in points]),
        out_of_bag=np.array([float(objective(cells)) for cells in confusions]),
        metrics={
            metric.name: _fold_estimate(tested, metric, level)
            for metric in METRICS.values()
        },
        holds=_proportions_met(read_constraints(subject_to), confusions),
        failure_rate=1 - len(votes) / len(data),
        notes=(
            (
                "The threshold was chosen on all folds except one, and tested on that "
                "one."
            ),
        ),
    )


def _range_of_thresholds(
    point_of_all: OperatingPoint, points: Sequence[OperatingPoint], level: float
) -> Estimate:
    """Return the threshold of all cases, with the range of those without a fold."""
    thresholds = [point.threshold for point in points]
    return estimate_from_interval(
        point_of_all.threshold, np.min(thresholds), np.max(thresholds), level, "folds"
    )


def _proportions_met(
    constraints: Iterable[Constraint], confusions: Sequence[Confusion]
) -> dict[str, float]:
    """Return in which proportion of the folds each constraint is met."""
    proportions = {}
    for constraint in constraints:
        met = [constraint(cells) for cells in confusions]
        proportions[str(constraint)] = float(np.mean(met))
    return proportions


def _choose_without_each_fold(
    data: Folds, choose: Callable[[Tally], OperatingPoint]
) -> tuple[list[OperatingPoint], list[Tally]]:
    """Return the threshold chosen without each fold, and the fold cut there.

    Folds without which no threshold meets the constraints are left out.
    """
    points = []
    votes = []
    for k, fold in enumerate(data):
        first, *others = [other for j, other in enumerate(data) if j != k]
        try:
            point = choose(sum(others, start=first))
        except Infeasible:
            continue
        points.append(point)
        votes.append(rescore(fold, fold.score >= point.threshold))

    return points, votes


def _fold_estimate(votes: Folds, metric: Metric, level: float) -> Estimate:
    """Return the mean of a metric over folds whose scores are 1 or 0."""

    def measure(tally: Tally) -> MeasuredValue:
        return metric_measure(metric, tally.score == 1, tally)

    return estimate_over_folds(votes, measure, level=level, name=metric.name)


def _cells(votes: Tally) -> Confusion:
    """Return the confusion matrix of scores that are 1 or 0."""
    flagged = votes.score == 1
    cleared = votes.score == 0
    return Confusion(
        tp=float(votes.pos[flagged].sum()),
        fp=float(votes.neg[flagged].sum()),
        fn=float(votes.pos[cleared].sum()),
        tn=float(votes.neg[cleared].sum()),
    )


OF_FOLDS: dict[str, Callable[..., Any]] = {
    "auc": _mean_over_folds(auc, "AUC"),
    "average_precision": _mean_over_folds(average_precision, "average precision"),
    "best_threshold": lambda data, *aim, **choice: best_threshold(
        data.pooled(), *aim, **choice
    ),
    "brier": _mean_over_folds(brier, "Brier score"),
    "calibrate": lambda data, **options: calibrate(data.pooled(), **options),
    "compare": compare_folds,
    "compare_auc": partial(compare_folds, statistic=auc, name="AUC"),
    "log_loss": _mean_over_folds(log_loss, "log loss"),
    "validate_threshold": _validate_threshold,
}
