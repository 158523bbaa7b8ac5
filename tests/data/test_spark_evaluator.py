"""Spark's model selection scores exactly."""

import numpy as np
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


@pytest.fixture(scope="module")
def cases():
    rng = np.random.default_rng(3)
    x = rng.normal(size=(300, 2))
    y = (x[:, 0] + rng.normal(size=300) > 0).astype(float)
    return x, y


@pytest.fixture
def rows(spark, cases):
    from pyspark.ml.feature import VectorAssembler

    x, y = cases
    data = [(float(a), float(b), float(c)) for (a, b), c in zip(x, y, strict=True)]
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
    found = search.fit(rows.coalesce(1))
    chosen = found.bestModel.getRegParam()
    assert chosen == [0.01, 100.0][int(np.argmin(found.avgMetrics))]
