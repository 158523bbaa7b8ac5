"""A metric is added in one place and in the list of public names, and is everywhere."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import trueness

FDR = """
fdr = _ratio("fdr", "What proportion of flagged cases is negative?", (0, 1, 0, 0),
    (1, 1, 0, 0), direction="lower", aliases=("false_discovery_rate",),
    words="false discovery rate", shown=True)
"""
ASKED = """
import json
import numpy as np, trueness as tr
from typer.testing import CliRunner
from trueness.cli import app
t = tr.Tally([4, 3, 2, 1], neg=[0, 1, 1, 3], pos=[3, 2, 1, 0])
p = tr.Panel(["A", "B", "C"], [[1, 1, 1], [0, 0, 0], [1, 1, 0], [0, 0, 1]],
             unknown=[90, 90, 9, 9])
y = np.arange(60) % 3 == 0
s = np.round(np.linspace(0, 1, 60) + y / 2, 2)
b = tr.bounds("fdr", t.bin(2), threshold=3)
words = ["threshold", "p.csv", "--label", "y", "--score", "p", "--minimize", "fdr",
         "--subject-to", "recall >= 1"]
print(json.dumps([
    tr.best_threshold(t, minimize="fdr", subject_to=["recall >= 0.9"]).value,
    tr.best_threshold(t, "recall", ["false_discovery_rate <= 0.2"]).confusion.tp,
    [b.low, b.high],
    tr.best_combination(tr.latent_class(p, rng=0), criterion="fdr").formula,
    CliRunner().invoke(app, words).output,
    tr.reports.html(y, s),
]))
"""


def test_a_new_metric_is_everywhere(tmp_path):
    """A copy of the package in which somebody added a metric."""
    skip = shutil.ignore_patterns("__pycache__")
    package = Path(trueness.__file__).parent
    shutil.copytree(package, tmp_path / "trueness", ignore=skip)
    for name, before, more in (
        ("metrics/definitions.py", "\nnpv = _ratio(", FDR.rstrip()),
        ("__init__.pyi", "\n    fpr as fpr,", "\n    fdr as fdr,"),
    ):
        file = tmp_path / "trueness" / name
        file.write_text(file.read_text().replace(before, more + before, 1))

    rows = zip([1, 0, 1, 1, 0, 0], [0.9, 0.8, 0.7, 0.6, 0.2, 0.1], strict=True)
    text = "y,p\n" + "".join(f"{y},{p}\n" for y, p in rows)
    (tmp_path / "p.csv").write_text(text)
    environment = {**os.environ, "PYTHONPATH": str(tmp_path)}
    command = [sys.executable, "-W", "ignore", "-c", ASKED]
    done = subprocess.run(
        command, env=environment, cwd=tmp_path, capture_output=True, text=True
    )

    assert done.returncode == 0, done.stderr

    value, tp, (low, high), formula, command, page = json.loads(done.stdout)

    assert value == 2 / 8  # two of the eight flagged at 2
    assert tp == 5
    assert low <= 1 / 6 <= high
    assert formula
    assert "false discovery rate" in command

    for tag in ("dt", "th"):  # the read-out and the table of all metrics
        assert f">false discovery rate</{tag}>" in page
