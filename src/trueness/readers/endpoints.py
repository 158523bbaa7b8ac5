"""How good was a reader with a treatment?

An ``Endpoint`` is the area under the ROC curve, or a metric at a threshold, of the
scores that one reader gave to positive and negative cases.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from trueness._core.arrays import Array, Floats
from trueness._core.checks import options as _options
from trueness._core.checks.errors import InputError
from trueness.metrics.algebra import Metric, classes_of
from trueness.metrics.confusion import Confusion
from trueness.metrics.grammar import metric as read_metric


class Endpoint(NamedTuple):
    """A measure of one reader with one treatment, and what its covariances need.

    The three functions take the scores of the positives and of the negatives.
    """

    name: str
    value: Callable[[Floats, Floats], float]
    leave_one_out: Callable[[Floats, Floats], tuple[Floats, Floats]]
    kernel: Callable[[Floats, Floats], Floats]  # the value is its mean over pairs
    range: tuple[float, float]
    depends: tuple[bool, bool] = (True, True)  # on positives, on negatives


def choose_endpoint(metric: Metric | str, threshold: float | None) -> Endpoint:
    """Return the AUC, or a metric at a threshold, as an endpoint."""
    if isinstance(metric, str) and metric.lower() in ("auc", "roc_auc"):
        if threshold is not None:
            raise InputError(
                "The AUC has no threshold; leave it out.",
                option="threshold",
            )
        return AUC

    parsed_metric = read_metric(metric)

    if threshold is None:
        raise InputError(
            f"{metric} needs a threshold: which scores count as positive?",
            option="threshold",
            example=3,
        )

    return _metric_at_threshold(
        parsed_metric, _options.real_number(threshold, "threshold")
    )


def _win_kernel(positives: Floats, negatives: Floats) -> Floats:
    """Return 1 where a positive has a higher score than a negative; 1/2 for a tie."""
    column = positives[:, None]
    return np.asarray((column > negatives) + 0.5 * (column == negatives))


def _auc(positives: Floats, negatives: Floats) -> float:
    """Return the area under the ROC curve: the mean of the win kernel."""
    return float(_win_kernel(positives, negatives).mean())


def _auc_leave_one_out(positives: Floats, negatives: Floats) -> tuple[Floats, Floats]:
    """Return the AUC without each positive, and without each negative."""
    wins = _win_kernel(positives, negatives)
    total = wins.sum()
    n_pos = positives.size
    n_neg = negatives.size
    # the wins that are left, over the pairs that are left
    without_positive = (total - wins.sum(axis=1)) / ((n_pos - 1) * n_neg)
    without_negative = (total - wins.sum(axis=0)) / (n_pos * (n_neg - 1))

    return without_positive, without_negative


AUC = Endpoint(
    name="auc",
    value=_auc,
    leave_one_out=_auc_leave_one_out,
    kernel=_win_kernel,
    range=(0.0, 1.0),
)


def _metric_at_threshold(metric: Metric, threshold: float) -> Endpoint:
    """Return a metric of the confusion matrix at a threshold as an endpoint."""
    name = f"{metric.name} at {threshold:g}"

    def metric_of(tp: Array, fp: Array, n_pos: int, n_neg: int) -> Floats:
        cells = np.broadcast_arrays(tp, fp, n_pos - tp, n_neg - fp)
        return np.asarray(metric(Confusion(*cells)), dtype=np.float64)

    def value(positives: Floats, negatives: Floats) -> float:
        tp = (positives >= threshold).sum()
        fp = (negatives >= threshold).sum()
        return float(metric_of(tp, fp, positives.size, negatives.size))

    def leave_one_out(positives: Floats, negatives: Floats) -> tuple[Floats, Floats]:
        """Return the metric without each positive, then without each negative."""
        true_positive = positives >= threshold
        false_positive = negatives >= threshold
        tp = true_positive.sum()
        fp = false_positive.sum()
        n_pos = positives.size
        n_neg = negatives.size

        return (
            metric_of(tp - true_positive, fp, n_pos - 1, n_neg),
            metric_of(tp, fp - false_positive, n_pos, n_neg - 1),
        )

    def recall_kernel(positives: Floats, negatives: Floats) -> Floats:
        # (positives, negatives): the same in all pairs of a positive
        flagged = (positives >= threshold)[:, None] * 1.0
        return np.repeat(flagged, negatives.size, axis=1)

    def specificity_kernel(positives: Floats, negatives: Floats) -> Floats:
        # (positives, negatives): the same in all pairs of a negative
        passed = (negatives < threshold)[None] * 1.0
        return np.repeat(passed, positives.size, axis=0)

    def no_kernel(positives: Floats, negatives: Floats) -> Floats:
        raise InputError(
            "Covariances other than the jackknife's are for the AUC, recall and "
            f"specificity; found {name}.",
            option="covariance",
            example="jackknife",
        )

    kernels = {"recall": recall_kernel, "specificity": specificity_kernel}
    return Endpoint(
        name=name,
        value=value,
        leave_one_out=leave_one_out,
        kernel=kernels.get(metric.name, no_kernel),
        range=metric.range,
        depends=classes_of(metric),
    )
