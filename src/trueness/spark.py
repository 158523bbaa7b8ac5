"""How does a model selection of Spark score exactly? The door for PySpark's ML.

``Evaluator`` counts where the rows are (one group-by of the score column) and answers
from the counts: no binning of thresholds, as Spark's own evaluators do it, and no rows
that leave the cluster. Counting frames of Spark needs no door: ``trueness.tally`` takes
them as they are.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from trueness._core.checks.errors import Infeasible
from trueness._core.imports import required as _required
from trueness.calibration.proper_scores import brier, log_loss
from trueness.counts.values import Tally
from trueness.data.frames import tally
from trueness.metrics.algebra import Constraint, Metric
from trueness.metrics.grammar import constraints as read_constraints
from trueness.metrics.grammar import metric as read_metric
from trueness.ranking.areas import auc, average_precision
from trueness.threshold.operating_point import best_threshold

_required("pyspark", "spark")  # says what to install, which the next line does not
from pyspark.ml.evaluation import Evaluator as _Base  # noqa: E402

_SCORES: dict[str, Callable[[Tally], Any]] = {
    "auc": auc,
    "average_precision": average_precision,
    "brier": brier,
    "log_loss": log_loss,
}
_LOSSES = ("brier", "log_loss")


class Evaluator(_Base):
    """How good are the predictions of a Spark model, exactly?

    Parameters
    ----------
    metric
        "auc", "average_precision", "brier", "log_loss", or any metric of Trueness; of
        that the best value over all cuts: "f1", "recall" with ``subject_to``.
    labelCol
        The column of labels.
    scoreCol
        The column of scores: numbers, or the vectors ``probability`` and
        ``rawPrediction`` of Spark's classifiers, of which the last entry counts.
    positive
        The label that counts as positive; 0/1 need none.
    subject_to
        Constraints, for a metric of cuts.

    Notes
    -----
    For ``CrossValidator`` and ``TrainValidationSplit``. Only functions of frames are
    used, so that it works through Spark Connect too. A fold in which no
    threshold meets the constraints scores the worst value of the metric.

    Examples
    --------
    >>> e = Evaluator("recall", subject_to="precision >= 0.9")
    >>> e.isLargerBetter(), Evaluator("brier").isLargerBetter()
    (True, False)
    """

    def __init__(
        self,
        metric: str | Metric = "auc",
        *,
        labelCol: str = "label",  # noqa: N803 - the names that Spark gives them
        scoreCol: str = "probability",  # noqa: N803
        positive: Any = None,
        subject_to: str | Constraint | Iterable[str | Constraint] = (),
    ) -> None:
        super().__init__()
        self.metric = metric
        self.labelCol = labelCol
        self.scoreCol = scoreCol
        self.positive = positive
        self.subject_to = read_constraints(subject_to)

        if not self._is_score():
            read_metric(metric)  # a misspelt one is named now, not after the first fit

    def _is_score(self) -> bool:
        return isinstance(self.metric, str) and self.metric in _SCORES

    def isLargerBetter(self) -> bool:
        """Is a larger value a better one?"""
        if self._is_score():
            return self.metric not in _LOSSES
        return read_metric(self.metric).direction != "lower"

    def _evaluate(self, dataset: Any) -> float:
        """Return the metric on a dataset, as Spark compares models."""
        t = tally(
            _scored(dataset, self.labelCol, self.scoreCol),
            label="label",
            score="score",
            positive=self.positive,
        )
        if self._is_score():
            return float(_SCORES[str(self.metric)](t).value)
        return _best(t, read_metric(self.metric), self.subject_to)


def _scored(dataset: Any, label: str, score: str) -> Any:
    """Return label and score alone; of a vector, its last entry is the score."""
    from pyspark.ml.functions import vector_to_array
    from pyspark.sql import functions

    type_of_column = {
        column.name: column.dataType.typeName() for column in dataset.schema.fields
    }
    score_value = functions.col(_quoted(score))

    # the last entry is the probability of the positive class
    if type_of_column.get(score) in ("vectorudt", "vector"):
        score_value = functions.element_at(vector_to_array(score_value), -1)
    elif type_of_column.get(score) == "array":
        score_value = functions.element_at(score_value, -1)

    label_value = functions.col(_quoted(label))
    return dataset.select(label_value.alias("label"), score_value.alias("score"))


def _quoted(column: str) -> str:
    """Return the name of a column as Spark reads it, whatever signs it has."""
    return "`" + column.replace("`", "``") + "`"


def _best(t: Tally, metric: Metric, subject_to: Any) -> float:
    lower = metric.direction == "lower"
    aim: Mapping[str, Any] = {"minimize": metric} if lower else {"maximize": metric}
    try:
        return float(best_threshold(t, subject_to=subject_to, **aim).value)
    except Infeasible:
        return float(metric.range[1] if lower else metric.range[0])
