"""What can be asked of the folds of a cross-validation?

A measure is the mean of its values in the folds. Models that were trained on the same
folds are compared fold by fold. A threshold is chosen on all folds but one and tested
on that one, in turn, so that neither its model nor the choice has seen the cases.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

import numpy as np

from trueness._core.checks import cases as _cases
from trueness._core.checks import options as _options
from trueness._core.checks.errors import Infeasible, InputError
from trueness._core.records import Estimate
from trueness.calibration.calibrators import calibrate
from trueness.calibration.proper_scores import brier, log_loss
from trueness.comparison.paired import measured_columns, name_of
from trueness.comparison.results import Comparison, together
from trueness.counts.folds import Folds
from trueness.counts.values import Tally, rescored
from trueness.inference.differences import Contrast, Side
from trueness.inference.limits import around, averaged, infer_folds, limited
from trueness.inference.sample import Influence, Measured, meant
from trueness.inference.spread import Spread, spread
from trueness.inference.statistics import Statistic
from trueness.metrics.algebra import Metric
from trueness.metrics.confusion import Confusion
from trueness.metrics.definitions import METRICS
from trueness.metrics.grammar import constraints as read_constraints
from trueness.metrics.grammar import metric as read_metric
from trueness.metrics.intervals import metric_measure
from trueness.ranking.areas import auc, average_precision
from trueness.threshold.operating_point import best_threshold
from trueness.threshold.validation import Validation


def answer_folds(
    name: str, x: Folds, rest: tuple[Any, ...], options: Mapping[str, Any]
) -> Any:
    """Ask an analysis about folds, which are no groups and are not pooled."""
    if name not in OF_FOLDS:
        raise InputError(
            f"{name} does not take folds, since each was scored by another model; "
            f"{', '.join(sorted(OF_FOLDS))} do. Ask it of every fold: "
            f"[trueness.{name}(part) for part in folds]."
        )
    return OF_FOLDS[name](x, *rest, **options)


def _measured(statistic: Any, name: str, data: Folds, *, level: float = 0.95) -> Any:
    return infer_folds(data, statistic.measure, level=level, name=name)


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
    name = name or name_of(statistic)
    level = _options.fraction(level, "level")
    found = MeasuredFolds(data, statistic, name, level, ends)
    values = {k: found.estimate(i) for i, k in enumerate(data.names)}
    return together(values, found.contrast, margin=margin, paired=True, method=name)


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
        self._name, self._level = name, level
        asked = (statistic, name, level, ends)
        panels = [p.labelled() for p in data]
        self._parts = [measured_columns(p, *asked) for p in panels]
        self._samples = [meant(p) for p in panels]

    def side(self, k: int) -> Side:
        """Give the mean of one of them, with its spread."""
        each = [columns[k].side for columns in self._parts]
        value = math.fsum(s.value for s in each) / len(each)
        return Side(value, averaged([s.spread for s in each]), each[0].ends)

    def estimate(self, k: int) -> Estimate:
        """Give the mean of one of them, with its limits."""
        s = self.side(k)
        return limited(s.value, s.spread, s.ends, self._level, self._name)

    def contrast(self, i: int, j: int) -> Contrast:
        """Compare two of them on the same cases."""
        if i == j:
            return Contrast(0.0, Spread(0.0, math.inf, math.inf))
        spreads = []
        for sample, columns in zip(self._samples, self._parts, strict=True):
            u, v = columns[i].influence, columns[j].influence
            assert u is not None and v is not None  # noqa: S101, PT018  # of all rows
            both = Influence(u.neg - v.neg, u.pos - v.pos)
            by_class = columns[i].by_class or sample.fixed
            spreads.append(spread(sample.cases, both, by_class=by_class))
        return Contrast.of(self.side(i), self.side(j), averaged(spreads))


def _validated(
    data: Folds,
    maximize: Any = None,
    subject_to: Any = (),
    *,
    minimize: Any = None,
    level: float = 0.95,
) -> Validation:
    """Choose on all folds but one, test on that one, and average."""
    level = _options.fraction(level, "level")
    choice = {"maximize": maximize, "minimize": minimize, "subject_to": subject_to}
    whole = best_threshold(data.pooled(), **choice)
    points, votes = [], []
    for k, part in enumerate(data):
        first, *others = (p for j, p in enumerate(data) if j != k)
        try:
            points.append(best_threshold(sum(others, start=first), **choice))
        except Infeasible:
            continue
        votes.append(rescored(part, part.score >= points[-1].threshold))
    if len(votes) < 2:
        raise Infeasible("No threshold meets the constraints on most of the folds.")
    tested, bounds = Folds(tuple(votes)), read_constraints(subject_to)
    objective = read_metric(maximize or minimize or whole.objective)
    cells = [_cells(t) for t in votes]
    cuts = np.array([p.threshold for p in points])
    corrected = _estimate(tested, objective, level)
    return Validation(
        whole,
        {"threshold": around(whole.threshold, cuts.min(), cuts.max(), level, "folds")},
        whole.value,
        corrected,
        whole.value - corrected.value,
        np.array([p.value for p in points]),
        np.array([float(objective(c)) for c in cells]),
        {m.name: _estimate(tested, m, level) for m in METRICS.values()},
        {str(c): float(np.mean([c(x) for x in cells])) for c in bounds},
        1 - len(votes) / len(data),
        notes=("Chosen on all folds but one and tested on that one, in turn.",),
    )


def _estimate(votes: Folds, m: Metric, level: float) -> Estimate:
    def measure(t: Tally) -> Measured:
        return metric_measure(m, t.score == 1, t)

    found: Any = infer_folds(votes, measure, level=level, name=m.name)
    return found  # type: ignore[no-any-return]  # of one model


def _cells(t: Tally) -> Confusion:
    """Count both classes on both sides of the cut: tp, fp, fn, tn."""
    sides = (t.pos, 1), (t.neg, 1), (t.pos, 0), (t.neg, 0)
    return Confusion(*(float(c[t.score == s].sum()) for c, s in sides))


OF_FOLDS: dict[str, Callable[..., Any]] = {
    "auc": partial(_measured, auc, "AUC"),
    "average_precision": partial(_measured, average_precision, "average precision"),
    "best_threshold": lambda data, *aim, **choice: best_threshold(
        data.pooled(), *aim, **choice
    ),
    "brier": partial(_measured, brier, "Brier score"),
    "calibrate": lambda data, **options: calibrate(data.pooled(), **options),
    "compare": compare_folds,
    "compare_auc": partial(compare_folds, statistic=auc, name="AUC"),
    "log_loss": partial(_measured, log_loss, "log loss"),
    "validate_threshold": _validated,
}
