"""Exact AUC with interval and best F1 threshold of Parquet files, against others.

Every contestant runs in a process of its own that reads the files, and its peak memory
is what the system says of that process. ``KARAT_SCALE`` sets the number of rows, 10^7
unless said otherwise; the files are made in chunks and kept in ``_data``. scikit-learn
gets as many rows as it can hold in the memory given by ``KARAT_SCALE_SKLEARN``.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

DATA = Path(__file__).parent / "_data"
CHUNK = 2_500_000


class Row(NamedTuple):
    contestant: str
    rows: int
    seconds: float
    rows_per_second: int
    peak_mb: int
    auc: float
    best_f1: float
    times_sklearn: float


def rows() -> Iterator[Row]:
    n = int(float(os.environ.get("KARAT_SCALE", "1e7")))
    fewer = min(n, int(float(os.environ.get("KARAT_SCALE_SKLEARN", "1e7"))))
    sizes = sorted({10**6, n // 10, n}) if n >= 10**7 else [n]
    theirs = measured("sklearn", fewer)
    speed = fewer / theirs["seconds"]
    yield _row("pandas + scikit-learn", fewer, theirs, speed)
    for size in sizes:
        yield _row("Karat", size, measured("karat", size), speed)
    for name, words in (
        ("karat_cells", "Karat, 10,000 cells and bounds"),
        ("karat_polars", "Karat on a Polars lazy frame"),
        ("spark", "Spark BinaryClassificationMetrics (1000 bins)"),
    ):
        size = n if name != "spark" else 10**6  # a start takes longer than the rows
        try:
            yield _row(words, size, measured(name, size), speed)
        except subprocess.CalledProcessError as err:
            print(f"  {words}: {err.stderr[-200:]}")


def _row(name: str, n: int, found: dict[str, Any], speed: float) -> Row:
    each = n / found["seconds"]
    return Row(
        name,
        n,
        round(found["seconds"], 2),
        round(each),
        round(found["peak"] / 1024),
        found["auc"],
        found["f1"],
        round(each / speed, 1),
    )


def measured(name: str, n: int) -> dict[str, Any]:
    """Run a contestant in its own process: seconds, peak memory and answers."""
    folder = data(n)
    command = [sys.executable, __file__, name, str(folder)]
    # BLAS has nothing to do here, and its idle threads would cost time
    environment = {**os.environ, "OPENBLAS_NUM_THREADS": "1"}
    done = subprocess.run(
        command, check=True, capture_output=True, text=True, env=environment
    )
    return json.loads(done.stdout.splitlines()[-1])


def data(n: int) -> Path:
    """Write n rows of float32 scores and labels in chunks, once."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    folder = DATA / f"scale_{n}"
    if folder.exists():
        return folder
    making = DATA / f"making_{n}"
    shutil.rmtree(making, ignore_errors=True)
    making.mkdir(parents=True)
    rng = np.random.default_rng(n)
    for k, start in enumerate(range(0, n, CHUNK)):
        size = min(CHUNK, n - start)
        label = rng.random(size) < 0.1
        score = 1 / (1 + np.exp(-(rng.normal(size=size) + 1.5 * label - 2)))
        table = pa.table(
            {"score": score.astype(np.float32), "label": label.astype(np.int8)}
        )
        pq.write_table(table, making / f"{k:04}.parquet")
    making.rename(folder)
    return folder


def karat(folder: str) -> tuple[float, float]:
    import karat

    t = karat.tally(karat.scan(folder), label="label", score="score")
    estimate = karat.auc(t)
    assert estimate.low < estimate.value < estimate.high
    return estimate.value, karat.exact_threshold(t, maximize="f1").value


def karat_cells(folder: str) -> tuple[float, float]:
    import karat

    t = karat.tally(karat.scan(folder), label="label", score="score", at_most=10_000)
    area = karat.bounds("auc", t)
    best = karat.bounds("best_threshold", t, maximize="f1")
    assert area.low <= area.value <= area.high
    return area.value, best.value


def karat_polars(folder: str) -> tuple[float, float]:
    import polars as pl

    import karat

    rows = pl.scan_parquet(f"{folder}/*.parquet")
    t = karat.tally(rows, label="label", score="score")
    return karat.auc(t).value, karat.exact_threshold(t, maximize="f1").value


def sklearn(folder: str) -> tuple[float, float]:
    import pandas as pd
    from sklearn.metrics import precision_recall_curve, roc_auc_score

    frame = pd.read_parquet(folder)
    area = roc_auc_score(frame["label"], frame["score"])
    precision, recall, _ = precision_recall_curve(frame["label"], frame["score"])
    both = precision + recall
    f1 = 2 * precision * recall / np.where(both > 0, both, 1)
    return float(area), float(f1.max())


def spark(folder: str) -> tuple[float, float, int]:
    import warnings

    warnings.simplefilter("ignore")
    from pyspark.sql import SparkSession
    from pyspark.sql.functions import col

    session = (
        SparkSession.builder.master("local[2]")
        .config("spark.ui.enabled", "false")
        .config("spark.driver.memory", "4g")
        .config("spark.log.level", "OFF")
        .getOrCreate()
    )
    rows = session.read.parquet(folder)
    pairs = rows.select(col("score").cast("double"), col("label").cast("double"))
    # a thousand bins, its default
    scala = session._jvm.org.apache.spark.mllib.evaluation.BinaryClassificationMetrics
    metrics = scala(pairs._jdf)
    area = metrics.areaUnderROC()
    f1 = max(p._2() for p in metrics.fMeasureByThreshold().collect())
    status = Path(f"/proc/{session.sparkContext._gateway.proc.pid}/status").read_text()
    peak = int(status.split("VmHWM:")[1].split()[0])
    session.stop()
    return area, f1, peak


def main(name: str, folder: str) -> None:
    import resource

    start = time.perf_counter()
    area, f1, *elsewhere = globals()[name](folder)
    seconds = time.perf_counter() - start
    peak = max(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss, *elsewhere, 0)
    found = {"seconds": seconds, "peak": peak, "auc": area, "f1": f1}
    print(json.dumps(found))


if __name__ == "__main__":
    main(*sys.argv[1:])
