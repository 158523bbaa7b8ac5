"""A command starts with what it needs: it loads no room that its answer does without.

Times depend on the machine; which modules a command has loaded at its end does not.
"""

import subprocess
import sys

import pytest

from shell import ENVIRONMENT

ROWS = "y,p\n" + "1,0.9\n1,0.8\n0,0.5\n1,0.5\n0,0.2\n" * 40
# runs the command line, and then prints the names of the modules that it has loaded
PROGRAM = """
import sys
from trueness.cli._start import main
try:
    main()
finally:
    print("LOADED", *sys.modules)
"""


@pytest.fixture
def modules_of(tmp_path):
    (tmp_path / "data.csv").write_text(ROWS)

    def run(words):
        process = subprocess.run(
            [sys.executable, "-c", PROGRAM, *words.split()],
            cwd=tmp_path,
            env=ENVIRONMENT,
            capture_output=True,
            text=True,
            check=True,
        )
        return set(process.stdout.split("LOADED ")[1].split())

    return run


def without_what_libraries_load(modules):
    """Leave out what libraries that were loaded load themselves in old versions.

    DuckDB 1.5 loads ``pyarrow.dataset``, which loads pandas; SciPy's special functions
    load its sparse arrays. Where ``pyarrow.dataset`` is not loaded, pandas is ours.
    """
    libraries = {"pyarrow.dataset", "scipy.special"} & modules
    code = (
        "import sys; [__import__(name) for name in sys.argv[1:]]; print(*sys.modules)"
    )
    process = subprocess.run(
        [sys.executable, "-c", code, *sorted(libraries)],
        capture_output=True,
        text=True,
        check=True,
    )
    return modules - set(process.stdout.split())


def rooms(modules):
    """Return the rooms of Trueness among modules, those with more than their door."""
    parts = [m.split(".") for m in modules if m.startswith("trueness.")]
    return {p[1] for p in parts if len(p) > 2}


def test_evaluating_scores_with_labels_loads_no_room_beside_it(modules_of):
    loaded = modules_of("evaluate data.csv -l y -s p")

    assert rooms(loaded) == {
        *("_core", "calibration", "cli", "counts", "data", "findings", "inference"),
        *("metrics", "ranking", "threshold"),
    }
    assert not {m for m in loaded if m.startswith("trueness.threshold.group")}
    assert "trueness.threshold.validation" not in loaded


def test_evaluating_scores_loads_no_library_of_figures_pages_or_solvers(modules_of):
    modules = modules_of("evaluate data.csv -l y -s p")

    loaded = without_what_libraries_load(modules)

    libraries = {"jinja2", "matplotlib", "pandas", "polars", "sklearn", "starlette"}
    assert not libraries & loaded
    assert not {"scipy.optimize", "scipy.stats", "scipy.sparse"} & loaded


def test_the_version_loads_neither_numpy_nor_an_engine(modules_of):
    loaded = modules_of("--version")

    assert not {"numpy", "duckdb", "narwhals", "pyarrow", "scipy"} & loaded


def test_the_command_line_alone_does_not_load_special_functions():
    code = "import sys, trueness.cli.evaluate; print('scipy.special' in sys.modules)"
    process = subprocess.run(
        [sys.executable, "-c", code],
        env=ENVIRONMENT,
        capture_output=True,
        text=True,
        check=True,
    )

    assert process.stdout.strip() == "False"


def test_a_report_with_labels_loads_no_room_of_other_questions(modules_of):
    modules = modules_of("report data.csv -l y -s p -o page.html")

    loaded = without_what_libraries_load(modules)

    others = {"declarations", "evals", "nogold", "readers", "scale", "sites"}
    assert not others & rooms(loaded)
    assert not {"matplotlib", "pandas", "polars", "sklearn", "starlette"} & loaded
