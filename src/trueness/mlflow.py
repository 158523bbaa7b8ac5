"""How do answers reach a run of MLflow? The door for MLflow.

``log`` keeps values with both ends of their intervals as metrics, the whole record as a
file of JSON, and a report as an artifact. ``Evaluator`` is what MLflow's ``evaluate``
finds under the name "trueness".
"""

from __future__ import annotations

import os
import re
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np

from trueness._core.checks.errors import InputError, PythonCode
from trueness._core.imports import required as _required
from trueness._core.records import Estimate, Record, json_value
from trueness.calibration.proper_scores import brier
from trueness.counts.values import Tally
from trueness.data.frames import tally
from trueness.ranking.areas import auc, average_precision
from trueness.threshold.operating_point import best_threshold

_mlflow = _required("mlflow", "mlflow")
_required("mlflow.models.evaluation.base", "mlflow")
from mlflow.models.evaluation.base import (  # noqa: E402
    EvaluationResult,
    ModelEvaluator,
)

_Answers: TypeAlias = (
    Record | Mapping[str, Any] | Sequence[Any] | str | os.PathLike[str]
)
_ODD = re.compile(r"[^\w\-. /]")  # what a name of a metric may not hold


def log(
    answers: _Answers, *, name: str = "", run_id: str | None = None
) -> dict[str, float]:
    """Keep answers in a run: values, both ends of intervals, records, a report.

    Parameters
    ----------
    answers
        A record, a mapping from name to record, a list of these, or the path of a
        report that was written.
    name
        What the metrics are called by; by default the name that the answer has, or that
        of its kind.
    run_id
        The run; by default the active one, or a new one.

    Returns
    -------
    dict from str to float
        The metrics that were logged. An estimate gives ``name``, ``name_low`` and
        ``name_high``; numbers that are not finite are left to the record.
    """
    parts = _flat(answers, name)  # what cannot be logged starts no run
    client = _mlflow.MlflowClient()
    run = run_id or (_mlflow.active_run() or _mlflow.start_run()).info.run_id
    metrics: dict[str, float] = {}

    for key, value in parts:
        if isinstance(value, Record):
            metrics |= _numbers(key, value)
            client.log_dict(run, json_value(value.to_dict()), f"trueness/{key}.json")
        else:
            client.log_artifact(run, os.fspath(value), "trueness")

    for key, number in metrics.items():
        client.log_metric(run, key, number)

    return metrics


def _flat(answers: _Answers, name: str) -> list[tuple[str, Any]]:
    """Return each record and each path, with the name that it goes by."""
    named_answers: list[tuple[str, Any]] = []
    if isinstance(answers, Mapping):
        for key, answer in answers.items():
            # a mapping in a mapping is a folder
            full_name = f"{name}/{key}" if name else str(key)
            named_answers += _flat(answer, full_name)
        return named_answers

    if isinstance(answers, list | tuple):
        for answer in answers:
            named_answers += _flat(answer, name)
        return named_answers

    if isinstance(answers, Record):
        own_name = getattr(answers, "name", "") or type(answers).__name__
        return [(_ODD.sub("_", name or str(own_name).lower()), answers)]

    if isinstance(answers, str | os.PathLike) and Path(answers).is_file():
        return [(name, answers)]

    raise InputError(
        "log needs records, a mapping of them, or the path of a report; found "
        f"{type(answers).__name__}.",
        example=PythonCode("trueness.mlflow.log(trueness.auc(y, s))"),
    )


def _numbers(key: str, record: Record) -> dict[str, float]:
    """Return the finite numbers of a record, which can be metrics, by their names."""
    numbers: dict[str, float] = {}
    if isinstance(record, Estimate):
        numbers = {
            key: float(record.value),
            f"{key}_low": float(record.low),
            f"{key}_high": float(record.high),
        }
    else:
        for field, value in record.to_dict().items():
            field_value = getattr(record, field, None)
            if isinstance(field_value, Estimate):
                numbers |= _numbers(f"{key}_{field}", field_value)
            elif isinstance(value, int | float) and not isinstance(value, bool):
                # the value of a record goes by the name of the record
                name = key if field == "value" else f"{key}_{field}"
                numbers[name] = float(value)

    return {name: number for name, number in numbers.items() if np.isfinite(number)}


class Evaluator(ModelEvaluator):  # type: ignore[misc]
    """What does ``mlflow.models.evaluate(..., evaluators="trueness")`` add to a run?

    AUC, average precision and Brier score with intervals, the best threshold, and the
    report. ``evaluator_config`` may hold ``positive`` (which label counts),
    ``maximize`` and ``subject_to`` (for the threshold), ``report`` (False leaves it
    out).
    """

    @classmethod
    def can_evaluate(cls, *, model_type: str, **kwargs: object) -> bool:
        """Return whether MLflow evaluates a classifier, which is all that we judge."""
        return model_type == "classifier"

    def evaluate(
        self,
        *,
        model_type: str,
        dataset: Any,
        run_id: str,
        evaluator_config: Mapping[str, Any] | None = None,
        model: Any = None,
        predictions: Any = None,
        **kwargs: Any,
    ) -> EvaluationResult:
        """Log the answers about scores and labels; return the metrics."""
        config = dict(evaluator_config or {})
        scores = _scores(model, dataset, predictions)
        t = tally(dataset.labels_data, scores, positive=config.get("positive"))
        metrics = log(_answers(t, config), run_id=run_id)

        if config.get("report", True):
            from trueness.reports import report  # Jinja2 is loaded when it is needed

            with tempfile.TemporaryDirectory() as folder:
                path = Path(folder) / "report.html"
                report(t, path)
                log(path, run_id=run_id)

        return EvaluationResult(metrics=metrics, artifacts={}, run_id=run_id)


def _scores(model: Any, dataset: Any, predictions: Any) -> Any:
    """Return one score for each case: a prediction that is there, or the model's own.

    Where each class has a column, the last one is that of the positives.
    """
    if predictions is None:
        predictions = dataset.predictions_data
    if predictions is not None:
        scores = np.asarray(predictions)
        return scores[:, -1] if scores.ndim == 2 else scores

    classifier = model.get_raw_model() if hasattr(model, "get_raw_model") else model
    if hasattr(classifier, "predict_proba"):
        return np.asarray(classifier.predict_proba(dataset.features_data))[:, -1]
    return np.asarray(model.predict(dataset.features_data))


def _answers(t: Tally, config: Mapping[str, Any]) -> dict[str, Record]:
    """Return what is logged of an evaluation, by name."""
    answers: dict[str, Record] = {
        "auc": auc(t),
        "average_precision": average_precision(t),
    }
    # scores descend: all are probabilities if the last and the first are
    if len(t) and t.score[-1] >= 0 and t.score[0] <= 1:
        answers["brier"] = brier(t)

    answers["best_threshold"] = best_threshold(
        t,
        maximize=config.get("maximize", "f1"),
        subject_to=config.get("subject_to", ()),
    )
    return answers
