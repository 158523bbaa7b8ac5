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


@pytest.fixture
def cases():
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, 200)
    return y, np.clip((y + rng.normal(size=200)) / 4 + 0.4, 0, 1)


def artifacts(run):
    found = mlflow.artifacts.list_artifacts(
        run_id=run.info.run_id, artifact_path="trueness"
    )
    return {f.path for f in found}


def test_values_intervals_and_files(store, cases):
    area = trueness.auc(*cases)
    page = store / "report.html"
    page.write_text("<p>a report</p>")
    with mlflow.start_run() as run:
        found = trueness.mlflow.log(area)
        trueness.mlflow.log({"at 0.5": trueness.best_threshold(*cases), "r": page})
    kept = mlflow.get_run(run.info.run_id).data.metrics
    name = next(iter(found))
    found = [kept[f"{name}{end}"] for end in ("", "_low", "_high")]
    assert found == [area.value, area.low, area.high]
    assert kept["at 0.5_threshold"] == trueness.best_threshold(*cases).threshold
    assert {"trueness/report.html", "trueness/at 0.5.json"} <= artifacts(run)
    with pytest.raises(InputError, match="log needs records"):
        trueness.mlflow.log(3)
    assert mlflow.active_run() is None


def test_the_evaluator(store, cases):
    class Data:
        labels_data, features_data = cases[0], None
        predictions_data = cases[1]

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
    area = trueness.auc(*cases)
    assert result.metrics["auc"] == area.value
    kept = mlflow.get_run(run.info.run_id).data.metrics
    assert kept["auc_low"] == area.low
    assert {"average_precision", "brier", "best_threshold_threshold"} <= set(kept)
    assert "trueness/report.html" in artifacts(run)


def test_mlflow_finds_the_evaluator_by_its_entry_point(store, cases):
    pd = pytest.importorskip("pandas")
    known = entry_points(group="mlflow.model_evaluator")
    if "trueness" not in known.names:
        pytest.skip("trueness is not installed here, only on the path")
    y, s = cases
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
    kept = mlflow.get_run(run.info.run_id).data.metrics
    assert kept["auc"] == trueness.auc(y, s).value
