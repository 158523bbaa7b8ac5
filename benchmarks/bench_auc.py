"""AUC with its DeLong interval from arrays, against pROC and mid-ranks

Goal: 9 times R's pROC at 10^6 rows. pROC is timed inside R (reading the data and
starting R do not count), in turns with the others.
"""

from __future__ import annotations

import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path
from time import perf_counter
from typing import NamedTuple

import numpy as np
from scipy.stats import rankdata

import trueness

TURNS = 3
R_CODE = """
suppressMessages(library(pROC))
args <- commandArgs(TRUE)
n <- as.integer(args[2])
f <- file(args[1], "rb")
y <- readBin(f, "integer", n)
s <- readBin(f, "double", n)
close(f)
t <- proc.time()[["elapsed"]]
r <- roc(y, s, levels = c(0, 1), direction = "<", quiet = TRUE)
ci <- ci.auc(r, method = "delong")
cat(proc.time()[["elapsed"]] - t, format(ci[1], digits = 12))
"""


class Row(NamedTuple):
    rows: int
    scores: str
    trueness_ms: float
    rankdata_ratio: float
    proc_ratio: str
    same_interval: str


def midrank_delong(y: np.ndarray, s: np.ndarray) -> tuple[float, float]:
    """DeLong by the mid-ranks of Sun and Xu (2014), as usually written in Python."""
    pos, neg = s[y == 1], s[y == 0]
    m, n = pos.size, neg.size
    both = rankdata(np.concatenate([pos, neg]))
    up = (both[:m] - rankdata(pos)) / n
    down = 1 - (both[m:] - rankdata(neg)) / m
    sd = np.sqrt(up.var(ddof=1) / m + down.var(ddof=1) / n)
    return up.mean(), up.mean() - 1.959963984540054 * sd


def in_r(path: Path, n: int) -> tuple[float, float] | None:
    if shutil.which("Rscript") is None:
        return None
    command = ["Rscript", "-e", R_CODE, str(path), str(n)]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode:
        return None
    seconds, low = done.stdout.split()
    return float(seconds), float(low)


def measure(y: np.ndarray, s: np.ndarray, kind: str) -> Row:
    best = {"trueness": np.inf, "rankdata": np.inf, "R": np.inf}
    theirs = None
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "data.bin"
        path.write_bytes(y.astype(np.int32).tobytes() + s.tobytes())
        for _ in range(TURNS):
            start = perf_counter()
            ours = trueness.auc(trueness.tally(y, s), method="delong")
            best["trueness"] = min(best["trueness"], perf_counter() - start)
            start = perf_counter()
            midrank_delong(y, s)
            best["rankdata"] = min(best["rankdata"], perf_counter() - start)
            theirs = in_r(path, y.size)
            if theirs is not None:
                best["R"] = min(best["R"], theirs[0])
    ratio = best["R"] / best["trueness"]
    same = "R or pROC is not installed"
    if theirs is not None:
        same = f"differs by {abs(theirs[1] - ours.low):.0e}"
    return Row(
        y.size,
        kind,
        round(1e3 * best["trueness"], 1),
        round(best["rankdata"] / best["trueness"], 1),
        "not installed" if theirs is None else f"{ratio:.1f}",
        same,
    )


def rows() -> Iterator[Row]:
    rng = np.random.default_rng(1)
    for n in (100_000, 1_000_000):
        y = (rng.random(n) < 0.2).astype(int)
        s = 1 / (1 + np.exp(-rng.normal(size=n) - y))
        yield measure(y, s, "continuous")
        yield measure(y, s.round(3), "three decimals")
