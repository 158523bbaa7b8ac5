"""A cluster gives the counts of one machine; Spark's model selection scores exactly."""

import os
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from sklearn.metrics import brier_score_loss, roc_auc_score

import trueness
from trueness import InputError

pytestmark = [
    pytest.mark.spark,
    # said by PySpark 4 about any pandas 3, which is not used here
    pytest.mark.filterwarnings("ignore:PySpark does not yet:FutureWarning"),
    # Spark's CrossValidator does not close its pool of threads
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
]


@pytest.fixture
def lake(tmp_path, rng):
    for k in range(3):
        n = 20_000
        score = rng.random(n, dtype=np.float32)
        rows = {"y": (rng.random(n) < score).astype(np.int8), "p": score}
        pl.DataFrame(rows).write_parquet(tmp_path / f"{k}.parquet")
    return tmp_path


def test_eight_partitions_are_bit_identical_to_duckdb(spark, lake):
    rows = spark.read.parquet(str(lake)).repartition(8)
    here = trueness.tally(trueness.scan(lake), label="y", score="p")
    there = trueness.tally(rows, label="y", score="p")

    assert there == here
    assert trueness.auc(there) == trueness.auc(here)
    for at_most in (100, 10_000):
        cells = [
            trueness.tally(x, label="y", score="p", at_most=at_most)
            for x in (rows, trueness.scan(lake))
        ]
        assert cells[0] == cells[1]

    best = trueness.exact_threshold(rows, label="y", score="p", maximize="f1")
    expected = trueness.best_threshold(here, "f1")
    assert best.value == expected.value
    assert best.answer.score_range == expected.score_range


def test_a_killed_worker_is_retried(spark, lake, tmp_path):
    marker = tmp_path / "killed"

    def dies_once(batches, marker=str(marker)):
        if not os.path.exists(marker):
            Path(marker).touch()
            os._exit(137)  # as the kernel does to a process out of memory
        yield from batches

    rows = spark.read.parquet(str(lake)).repartition(4)
    frail = rows.mapInArrow(dies_once, rows.schema)
    here = trueness.tally(trueness.scan(lake), label="y", score="p")
    assert trueness.tally(frail, label="y", score="p") == here
    assert marker.exists()


def test_a_worker_that_always_dies_and_a_cut_file_are_a_sentence(spark, lake):
    def dies(batches):
        os._exit(137)
        yield from batches

    rows = spark.read.parquet(str(lake))
    with pytest.raises(InputError, match="The data cannot be read"):
        trueness.tally(rows.mapInArrow(dies, rows.schema), label="y", score="p")
    path = lake / "1.parquet"
    path.write_bytes(path.read_bytes()[:-50])
    with pytest.raises(InputError, match="The data cannot be read"):
        trueness.tally(spark.read.parquet(str(lake)), label="y", score="p")


@pytest.fixture
def rows(spark):
    from pyspark.ml.feature import VectorAssembler

    rng = np.random.default_rng(3)
    x = rng.normal(size=(300, 2))
    y = (x[:, 0] + rng.normal(size=300) > 0).astype(float)
    data = np.column_stack([x, y]).tolist()
    frame = spark.createDataFrame(data, ["a", "b", "label"])
    return VectorAssembler(inputCols=["a", "b"], outputCol="features").transform(frame)


def test_values_are_those_of_the_rows(rows):
    from pyspark.ml.classification import LogisticRegression

    from trueness.spark import Evaluator

    scored = LogisticRegression().fit(rows).transform(rows)
    table = scored.select("label", "probability").collect()
    y = np.array([r[0] for r in table])
    p = np.array([r[1][1] for r in table])
    assert Evaluator("auc").evaluate(scored) == pytest.approx(roc_auc_score(y, p))
    assert Evaluator("brier").evaluate(scored) == pytest.approx(brier_score_loss(y, p))
    best = trueness.best_threshold(y, p, maximize="f1")
    assert Evaluator("f1").evaluate(scored) == best.value
    limited = Evaluator("recall", subject_to="precision >= 0.9")
    best = trueness.best_threshold(
        y, p, maximize="recall", subject_to="precision >= 0.9"
    )
    assert limited.evaluate(scored) == best.value
    assert Evaluator("recall", subject_to="precision > 1").evaluate(scored) == 0
    raw = Evaluator("auc", scoreCol="rawPrediction").evaluate(scored)
    assert raw == pytest.approx(roc_auc_score(y, p))
    assert Evaluator("auc", scoreCol="a").evaluate(scored) > 0.5
    with pytest.raises(InputError, match="acuracy"):
        Evaluator("acuracy")


def test_it_chooses_in_a_cross_validation(rows):
    from pyspark.ml.classification import LogisticRegression
    from pyspark.ml.tuning import CrossValidator, ParamGridBuilder

    from trueness.spark import Evaluator

    line = LogisticRegression(maxIter=2)
    grid = ParamGridBuilder().addGrid(line.regParam, [0.01, 100.0]).build()
    evaluator = Evaluator("log_loss")
    assert not evaluator.isLargerBetter()
    search = CrossValidator(
        estimator=line, estimatorParamMaps=grid, evaluator=evaluator, numFolds=2, seed=1
    )
    result = search.fit(rows.coalesce(1))
    chosen = result.bestModel.getRegParam()
    assert chosen == [0.01, 100.0][int(np.argmin(result.avgMetrics))]
