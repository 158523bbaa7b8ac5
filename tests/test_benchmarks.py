"""Every benchmark still runs: its first row, on less data where that takes minutes."""

import importlib.util
import sys
from pathlib import Path

import pytest

BENCHMARKS = Path(__file__).parents[1] / "benchmarks"
FILES = sorted(BENCHMARKS.glob("bench_*.py"))


def rows_of_small_file(module, folder):
    """The workbench with a file of 10^5 cases in place of 10^8."""
    path = folder / "small.parquet"
    module.file(path, 100_000)
    return module.rows(path)


def rows_of_first_page(module, folder):
    """One page in place of all, of which the largest takes minutes."""
    pytest.importorskip("playwright.sync_api")
    name = next(iter(module.PAGES))
    module.PAGES = {name: module.PAGES[name]}
    module.ROUNDS = 1
    return module.rows()


SMALLER = {
    "bench_app_large": rows_of_small_file,
    "bench_report": rows_of_first_page,
}


@pytest.fixture
def load(monkeypatch):
    """Load a benchmark as ``run.py`` does."""
    monkeypatch.syspath_prepend(str(BENCHMARKS))

    def loaded(path):
        spec = importlib.util.spec_from_file_location(path.stem, path)
        module = importlib.util.module_from_spec(spec)
        monkeypatch.setitem(sys.modules, path.stem, module)
        spec.loader.exec_module(module)
        return module

    return loaded


@pytest.mark.slow
@pytest.mark.parametrize("path", FILES, ids=lambda p: p.stem)
def test_the_first_row_of_a_benchmark(path, load, tmp_path):
    module = load(path)
    smaller = SMALLER.get(path.stem)

    rows = smaller(module, tmp_path) if smaller else module.rows()
    first = next(iter(rows), None)

    if first is None:
        pytest.skip(f"{path.stem} needs what is not on this machine")
    assert first._fields
    if "all_equal" in first._fields:
        assert first.all_equal


def test_every_benchmark_has_rows():
    """``run.py`` asks each file for them."""
    without = [p.name for p in FILES if "\ndef rows(" not in p.read_text()]

    assert without == []
