"""A cluster gives the counts that one machine gives, also when a worker is killed."""

import os
from pathlib import Path

import numpy as np
import polars as pl
import pytest

import trueness
from trueness import InputError

pytestmark = [
    pytest.mark.spark,
    # said by PySpark 4 about any pandas 3, which is not used here
    pytest.mark.filterwarnings("ignore:PySpark does not yet:FutureWarning"),
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


def test_a_worker_that_always_dies_is_a_sentence(spark, lake):
    def dies(batches):
        os._exit(137)
        yield from batches

    rows = spark.read.parquet(str(lake))
    with pytest.raises(InputError, match="The data cannot be read"):
        trueness.tally(rows.mapInArrow(dies, rows.schema), label="y", score="p")


def test_a_truncated_file_is_a_sentence(spark, lake):
    path = lake / "1.parquet"
    path.write_bytes(path.read_bytes()[:-50])
    with pytest.raises(InputError, match="The data cannot be read"):
        trueness.tally(spark.read.parquet(str(lake)), label="y", score="p")
