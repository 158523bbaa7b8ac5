"""Answers in a run of MLflow, with a real store (SQLite)."""

from importlib.metadata import entry_points

import numpy as np
import pytest

import trueness
from trueness import InputError

mlflow = pytest.importorskip("mlflow")
pytestmark = [pytest.mark.filterwarnings("ignore")]


@pytest.fixture
def store(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    before = mlflow.get_tracking_uri()
    mlflow.set_tracking_uri(f"sqlite:///{tmp_path / 'runs.db'}")
    mlflow.create_experiment("tests", str(tmp_path / "artifacts"))
    mlflow.set_experiment("tests")
    yield tmp_path
    mlflow.end_run()
    assert not (tmp_path / "mlruns").exists()
    mlflow.set_tracking_uri(before)


RNG = np.random.default_rng(0)
Y = RNG.integers(0, 2, 200)
CASES = Y, np.clip((Y + RNG.normal(size=200)) / 4 + 0.4, 0, 1)


def kept(run):
    """Give the metrics and the files of a run."""
    name = run.info.run_id
    result = mlflow.artifacts.list_artifacts(run_id=name, artifact_path="trueness")
    return mlflow.get_run(name).data.metrics, {f.path for f in result}


def test_values_intervals_and_files(store):
    area = trueness.auc(*CASES)
    point = trueness.best_threshold(*CASES)
    page = store / "report.html"
    page.write_text("<p>a report</p>")
    with mlflow.start_run() as run:
        name = next(iter(trueness.mlflow.log(area)))
        trueness.mlflow.log({"at 0.5": point, "r": page})
    metrics, files = kept(run)

    result = [metrics[f"{name}{end}"] for end in ("", "_low", "_high")]

    assert result == [area.value, area.low, area.high]
    assert metrics["at 0.5_threshold"] == point.threshold
    assert {"trueness/report.html", "trueness/at 0.5.json"} <= files
    with pytest.raises(InputError, match="log needs records"):
        trueness.mlflow.log(3)
    assert mlflow.active_run() is None


def test_the_evaluator(store):
    class Data:
        labels_data = CASES[0]
        features_data = None
        predictions_data = CASES[1]

    with mlflow.start_run() as run:
        evaluator = trueness.mlflow.Evaluator()
        assert evaluator.can_evaluate(model_type="classifier", evaluator_config={})
        assert not evaluator.can_evaluate(model_type="regressor", evaluator_config={})
        result = evaluator.evaluate(
            model_type="classifier",
            dataset=Data(),
            run_id=run.info.run_id,
            evaluator_config={"subject_to": "recall >= 0.9"},
        )
    metrics, files = kept(run)
    area = trueness.auc(*CASES)
    assert (result.metrics["auc"], metrics["auc_low"]) == (area.value, area.low)
    assert {"average_precision", "brier", "best_threshold_threshold"} <= set(metrics)
    assert "trueness/report.html" in files


def test_mlflow_finds_the_evaluator_by_its_entry_point(store):
    pd = pytest.importorskip("pandas")
    known = entry_points(group="mlflow.model_evaluator")
    if "trueness" not in known.names:
        pytest.skip("trueness is not installed here, only on the path")
    y, s = CASES
    with mlflow.start_run() as run:
        result = mlflow.models.evaluate(
            data=pd.DataFrame({"y": y, "p": s}),
            targets="y",
            predictions="p",
            model_type="classifier",
            evaluators="trueness",
            evaluator_config={"subject_to": "recall >= 0.9", "report": False},
        )

    point = trueness.best_threshold(y, s, "f1", "recall >= 0.9")

    assert result.metrics["best_threshold_threshold"] == point.threshold
    assert kept(run)[0]["auc"] == trueness.auc(y, s).value
