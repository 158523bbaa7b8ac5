"""The first answer of the shell, its start included, beside a script of scikit-learn

`trueness evaluate sample:west_nile` finds the columns and writes AUC, average precision
and Brier score of five scores with intervals; `report` writes its page. The script
reads the same file by pandas and calls scikit-learn's three functions on the five named
columns, without intervals.
Seconds of CPU time are those of the whole process; the fastest of some turns counts.
One turn before them leaves the bytecode on disk, as every installed package has it.
"""

from __future__ import annotations

import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from trueness import samples

TURNS = 5
SCRIPT = """
import sys
import pandas as pd
from sklearn.metrics import average_precision_score, brier_score_loss, roc_auc_score
frame = pd.read_csv(sys.argv[1])
for name in ("logistic", "forest", "boosting", "neighbours", "adaboost"):
    label, score = frame["virus"], frame[name]
    print(roc_auc_score(label, score), average_precision_score(label, score),
          brier_score_loss(label, score))
"""


class Row(NamedTuple):
    command: str
    wall_s: float
    cpu_s: float
    cpu_over_script: float


def seconds(command: list[str]) -> tuple[float, float]:
    """Return wall and CPU time of a process."""
    # without bytecode each start would compile every module anew
    environment = os.environ.copy()
    environment.pop("PYTHONDONTWRITEBYTECODE", None)

    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    start = time.perf_counter()
    subprocess.run(command, check=True, capture_output=True, env=environment)
    wall = time.perf_counter() - start
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return wall, cpu


def rows() -> Iterator[Row]:
    trueness = [sys.executable, "-m", "trueness"]
    file = str(samples.path("west_nile"))
    folder = tempfile.TemporaryDirectory()
    page = str(Path(folder.name) / "report.html")
    commands = {
        "pandas and scikit-learn": [sys.executable, "-c", SCRIPT, file],
        "trueness --version": [*trueness, "--version"],
        "trueness evaluate": [*trueness, "evaluate", "sample:west_nile"],
        "trueness report": [*trueness, "report", "sample:west_nile", "-o", page],
    }
    for command in commands.values():
        seconds(command)

    times: dict[str, list[tuple[float, float]]] = {name: [] for name in commands}
    for _ in range(TURNS):
        for name, command in commands.items():
            times[name].append(seconds(command))

    folder.cleanup()

    of_script = min(cpu for _, cpu in times["pandas and scikit-learn"])
    for name, measured in times.items():
        wall = min(wall for wall, _ in measured)
        cpu = min(cpu for _, cpu in measured)
        yield Row(name, round(wall, 2), round(cpu, 2), round(cpu / of_script, 2))
