"""Exact AUC with interval and best F1 threshold of Parquet files, against others.

Every contestant runs in a process of its own that reads the files, imports included,
and its peak memory is what the system says of that process. ``TRUENESS_SCALE`` sets the
largest number of rows, 10^7 unless said otherwise; the files are made in chunks and
kept in ``_data``. scikit-learn gets the same rows as long as they fit into two thirds
of the free memory, at most ``TRUENESS_SCALE_SKLEARN``; the ratio is that at equal rows,
or to its largest run. Up to 10^7 rows the contestants run in turns and the faster of
two counts.
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
    seconds: float | str
    rows_per_second: int
    peak_mb: int | str
    auc: float | str
    best_f1: float | str
    times_sklearn: float | str


def rows() -> Iterator[Row]:
    n = int(float(os.environ.get("TRUENESS_SCALE", "1e7")))
    sizes = [k for k in (10**6, 3 * 10**6, 10**7, 3 * 10**7, 10**8) if k < n] + [n]
    speed, ours = float("nan"), {}
    for size in sizes:
        names = ["trueness", "sklearn"] if fits_sklearn(size) else ["trueness"]
        found = in_turns(names, size, turns=2 if size <= 10**7 else 1)
        if "sklearn" in found:
            speed = size / found["sklearn"]["seconds"]
            yield _row("pandas + scikit-learn", size, found["sklearn"], speed)
        ours[size] = found["trueness"]["seconds"]
        yield _row("Trueness", size, found["trueness"], speed)
    yield _line(ours)
    for name, words, size in (
        ("trueness_cells", "Trueness, 10,000 cells and bounds", n),
        ("trueness_polars", "Trueness on a Polars lazy frame", n),
        ("trueness_exact_auc", "Trueness, exact_auc alone", min(n, 10**7)),
        ("spark", "Spark BinaryClassificationMetrics (1000 bins)", min(n, 10**7)),
    ):
        try:
            yield _row(words, size, measured(name, size), speed)
        except subprocess.CalledProcessError as err:
            print(f"  {words}: {err.stderr[-200:]}")
        except subprocess.TimeoutExpired as err:
            print(f"  {words}, {size:,} rows: not done in {err.timeout:.0f} s")


def fits_sklearn(n: int) -> bool:
    """Does scikit-learn get by with the free memory? It takes 95 bytes a row."""
    most = float(os.environ.get("TRUENESS_SCALE_SKLEARN", "1e8"))
    memory = Path("/proc/meminfo").read_text()
    free = 1024 * int(memory.split("MemAvailable:")[1].split()[0])
    return n <= most and 95 * n < 2 / 3 * free


def in_turns(names: list[str], n: int, turns: int) -> dict[str, dict[str, Any]]:
    """Give the faster of some runs of each contestant."""
    best: dict[str, dict[str, Any]] = {}
    for _ in range(turns):
        for name in names:
            found = measured(name, n)
            if name not in best or found["seconds"] < best[name]["seconds"]:
                best[name] = found
    return best


def _line(seconds: dict[int, float]) -> Row:
    """Give the straight line through the times, and how far they are from it."""
    x, y = np.array(list(seconds)) / 1e6, np.array(list(seconds.values()))
    # relative errors: a line through the largest alone would say nothing of the others
    slope, start = np.polyfit(x, y, 1, w=1 / y) if x.size > 1 else (y[0] / x[0], 0.0)
    off = float(np.abs((start + slope * x) / y - 1).max())
    words = (
        f"Trueness, line: {start:.2f} s + {slope:.3f} s a million rows, "
        f"{off:.0%} off at most"
    )
    return Row(words, max(seconds), "", round(1e6 / slope), "", "", "", "")


def _row(name: str, n: int, found: dict[str, Any], speed: float) -> Row:
    each = n / found["seconds"]
    return Row(
        name,
        n,
        round(found["seconds"], 2),
        round(each),
        round(found["peak"] / 1024),
        found["auc"],
        found["f1"] if found["f1"] == found["f1"] else "",
        round(each / speed, 1),
    )


def measured(name: str, n: int) -> dict[str, Any]:
    """Run a contestant in its own process: seconds, peak memory and answers."""
    folder = data(n)
    command = [sys.executable, __file__, name, str(folder)]
    # BLAS has nothing to do here, and its idle threads would cost time
    environment = {**os.environ, "OPENBLAS_NUM_THREADS": "1"}
    done = subprocess.run(
        command,
        check=True,
        capture_output=True,
        text=True,
        env=environment,
        timeout=300,
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


def trueness(folder: str) -> tuple[float, float]:
    import trueness

    t = trueness.tally(trueness.scan(folder), label="label", score="score")
    estimate = trueness.auc(t)
    assert estimate.low < estimate.value < estimate.high
    return estimate.value, trueness.exact_threshold(t, maximize="f1").value


def trueness_cells(folder: str) -> tuple[float, float]:
    import trueness

    t = trueness.tally(
        trueness.scan(folder), label="label", score="score", at_most=10_000
    )
    area = trueness.bounds("auc", t)
    best = trueness.best_threshold(t, maximize="f1")
    assert area.low <= area.value <= area.high
    return area.value, best.value


def trueness_exact_auc(folder: str) -> tuple[float, float]:
    import trueness

    found = trueness.exact_auc(trueness.scan(folder), label="label", score="score")
    assert found.exact
    return found.value, float("nan")


def trueness_polars(folder: str) -> tuple[float, float]:
    import polars as pl

    import trueness

    rows = pl.scan_parquet(f"{folder}/*.parquet")
    t = trueness.tally(rows, label="label", score="score")
    return trueness.auc(t).value, trueness.exact_threshold(t, maximize="f1").value


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
        .config("spark.driver.memory", "6g")
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
