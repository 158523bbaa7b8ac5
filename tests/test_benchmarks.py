"""Every benchmark still runs: its first row, on less data where that takes minutes."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
BENCHMARKS = ROOT / "benchmarks"
FILES = sorted(BENCHMARKS.glob("bench_*.py"))

# how the rows are asked for where all of them would take minutes
ROWS = {
    # the workbench with a file of 10^5 cases in place of 10^8
    "bench_app_large": """
path = Path(sys.argv[1]) / "small.parquet"
module.file(path, 100_000)
rows = module.rows(path)
""",
    # one page in place of all, of which the largest takes minutes
    "bench_report": """
name = next(iter(module.PAGES))
module.PAGES = {name: module.PAGES[name]}
module.ROUNDS = 1
rows = module.rows()
""",
}
PROGRAM = """
import importlib, sys
from pathlib import Path

module = importlib.import_module("{name}")
{rows}
rows = iter(rows)
first = next(rows, None)
if hasattr(rows, "close"):  # a browser that stays open would keep the process alive
    rows.close()
print("nothing" if first is None else first._fields)
if first is not None and "all_equal" in first._fields:
    assert first.all_equal
"""


@pytest.mark.slow
@pytest.mark.parametrize("path", FILES, ids=lambda p: p.stem)
def test_the_first_row_of_a_benchmark(path, tmp_path):
    """In a process of its own: a benchmark may leave loops and servers behind."""
    rows = ROWS.get(path.stem, "rows = module.rows()")
    program = PROGRAM.format(name=path.stem, rows=rows)
    search_path = os.pathsep.join([str(BENCHMARKS), str(ROOT / "src")])

    ended = subprocess.run(
        [sys.executable, "-c", program, str(tmp_path)],
        cwd=ROOT, env={**os.environ, "PYTHONPATH": search_path},
        capture_output=True, text=True, check=False, timeout=900,
    )  # fmt: skip

    assert ended.returncode == 0, ended.stderr[-2000:]

    if ended.stdout.splitlines()[-1] == "nothing":
        pytest.skip(f"{path.stem} needs what is not on this machine")


def test_every_benchmark_has_rows():
    """``run.py`` asks each file for them."""
    without = [p.name for p in FILES if "\ndef rows(" not in p.read_text()]

    assert without == []


@pytest.mark.slow
def test_every_study_finds_what_it_imports():
    """A study takes hours; that its names still exist is told in seconds."""
    studies = [path.stem for path in sorted(BENCHMARKS.glob("*.py"))]
    program = f"import importlib\nfor name in {studies}: importlib.import_module(name)"
    search_path = os.pathsep.join([str(BENCHMARKS), str(ROOT / "src")])

    ended = subprocess.run(
        [sys.executable, "-c", program],
        env={**os.environ, "PYTHONPATH": search_path},
        capture_output=True, text=True, check=False, timeout=300,
    )  # fmt: skip

    assert ended.returncode == 0, ended.stderr[-2000:]
