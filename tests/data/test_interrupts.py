"""Ctrl-C ends a long pass at once, and leaves no half-written file."""

import os
import signal
import subprocess
import sys
import textwrap
import time
from importlib.metadata import version
from pathlib import Path

import pytest

import trueness

pytestmark = pytest.mark.slow

SOURCE = str(Path(trueness.__file__).parents[1])
ENDLESS = """
    import sys
    rows = trueness.scan(sys.argv[1]).query(
        "preds",
        "SELECT ((i % 1000003) / 1000003.0)::FLOAT AS p, (i % 2)::INT AS y, 'a' AS g "
        "FROM range(100000000000) t(i)",
    )
"""
PASSES = {
    "stream": ENDLESS + "    work = lambda: trueness.tally(rows, label='y', score='p')",
    "group-by": ENDLESS
    + "    work = lambda: trueness.tally(rows, label='y', score='p', by='g')",
    "cells": ENDLESS
    + "    work = lambda: trueness.tally(rows, label='y', score='p', at_most=100)",
    "polars": """
    import polars as pl
    many = pl.LazyFrame({"b": range(10**6)}), pl.LazyFrame({"a": range(10**5)})
    rows = many[0].join(many[1], how="cross").select(p=pl.col("b") / 1e6)
    work = lambda: trueness.tally(rows, score="p")""",
}


def interrupted(code, after, *arguments):
    """Run code in a process, press Ctrl-C after some seconds, give what it printed."""
    command = [sys.executable, "-c", textwrap.dedent(code), *map(str, arguments)]
    environment = {**os.environ, "PYTHONPATH": SOURCE}
    with subprocess.Popen(
        command, env=environment, stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout.readline().strip() == "go"
        time.sleep(after)
        process.send_signal(signal.SIGINT)
        try:
            return process.communicate(timeout=30)[0]
        finally:
            process.kill()


@pytest.mark.parametrize("name", PASSES)
def test_a_long_pass_ends_when_it_is_interrupted(name, tmp_path):
    (tmp_path / "a.csv").write_text("y,p\n1,0.5\n")
    # the process has to end, too; only Polars 1 sometimes goes on with its query when
    # the interrupt is forgotten, so that of it no more is asked than that the pass ends
    waits = name == "polars" and version("polars").startswith("1.")
    code = f"""
    import os
    import trueness
    {PASSES[name].strip()}
    print("go", flush=True)
    try:
        work()
    except KeyboardInterrupt:
        print("interrupted", flush=True)
        {"os._exit(0)" if waits else ""}
    """
    assert interrupted(code, 0.7, tmp_path / "a.csv").split() == ["interrupted"]


def test_a_write_that_is_interrupted_leaves_the_file_whole(tmp_path):
    code = """
    import sys, numpy, trueness
    t = trueness.Tally(numpy.arange(300_000.0), neg=numpy.ones(300_000, int))
    t.write(sys.argv[1])
    print("go", flush=True)
    try:
        while True:
            t.write(sys.argv[1])
    except KeyboardInterrupt:
        print("interrupted", flush=True)
    """
    path = tmp_path / "t.parquet"

    assert interrupted(code, 0.5, path).split() == ["interrupted"]
    assert trueness.read_tally(path).n == 300_000
    assert [p.name for p in tmp_path.iterdir()] == ["t.parquet"]
