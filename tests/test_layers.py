"""Imports point down, and `import trueness` stays light."""

import ast
import pickle
import subprocess
import sys
from pathlib import Path

import pytest

import trueness
from trueness._core import doors

# each room may import the rooms above it, and none beside it
ROOMS = [
    ["_core"],
    ["counts", "samples"],
    ["inference"],
    ["metrics"],
    ["fermi"],
    ["ranking", "trees"],
    ["comparison", "threshold", "calibration"],
    ["ensembles", "nogold", "readers"],
    ["data"],
    ["scale", "estimators", "monitoring", "spark"],
    ["plots", "gpu"],
    ["report", "mlflow"],
    ["cli"],
    ["app"],
    ["__init__", "__main__"],
]
LEVEL = {m: k for k, row in enumerate(ROOMS) for m in row}
SOURCE = Path(trueness.__file__).parent
FOREIGN = [
    *("altair", "arviz", "duckdb", "ibis", "jinja2", "matplotlib", "narwhals"),
    *("pandas", "polars", "pyarrow", "pyspark", "rich", "scipy.stats", "sklearn"),
    *("starlette", "sympy", "typer", "uvicorn", "xarray"),
]


def module_name(path):
    parts = path.relative_to(SOURCE).with_suffix("").parts
    return parts[0]


def imports(path):
    """Names of Trueness's own modules that a file imports, anywhere in it."""
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.ImportFrom) and node.module:
            parts = node.module.split(".")
            if parts[0] == "trueness":
                yield from parts[1:2] or [a.name for a in node.names]
        elif isinstance(node, ast.Import):
            for alias in node.names:
                parts = alias.name.split(".")
                if parts[0] == "trueness" and parts[1:]:
                    yield parts[1]


FILES = sorted(SOURCE.rglob("*.py"))


@pytest.mark.parametrize("path", FILES, ids=lambda p: str(p.relative_to(SOURCE)))
def test_imports_point_down(path):
    name = module_name(path)
    assert name in LEVEL, f"give {name} a place in ROOMS"
    for other in imports(path):
        if other in LEVEL:
            assert other == name or LEVEL[other] < LEVEL[name], f"{name}: {other}"


def test_no_circle_between_rooms():
    graph = {}
    for path in FILES:
        name = module_name(path)
        known = {o for o in imports(path) if o in LEVEL and o != name}
        graph.setdefault(name, set()).update(known)
    done = set()
    while graph.keys() - done:
        ready = {m for m in graph.keys() - done if graph[m] <= done}
        assert ready, f"a circle among {sorted(graph.keys() - done)}"
        done |= ready


def run(code):
    command = [sys.executable, "-c", code]
    environment = {"PYTHONPATH": str(SOURCE.parent), "PATH": ""}
    return subprocess.run(
        command, env=environment, capture_output=True, text=True, check=True
    ).stdout


def test_import_loads_a_list_of_names_and_nothing_else():
    loaded = run("import trueness, sys; print(*sys.modules)").split()
    assert {m for m in loaded if m.startswith("trueness")} == {
        "trueness",
        "trueness._core",
        "trueness._core.doors",
    }
    assert not {"numpy", "scipy", *FOREIGN} & set(loaded)


def test_all_names_together_load_no_foreign_library():
    loaded = run("from trueness import *; import sys; print(*sys.modules)").split()
    assert {"numpy", "scipy", "trueness.nogold.posterior"} <= set(loaded)
    assert not set(FOREIGN) & set(loaded)


def test_arrays_need_numpy_and_scipy_only():
    code = (
        "import sys\n"
        f"for name in {FOREIGN}: sys.modules[name] = None\n"
        "import numpy, trueness\n"
        "t = trueness.tally(numpy.array([0, 1, 1]), [0.1, 0.2, 0.3])\n"
        "print(trueness.auc(t).value)"
    )
    assert float(run(code)) == 1.0


def test_public_names_exist_and_no_module_hides_one():
    for name in trueness.__all__:
        assert getattr(trueness, name).__doc__ or name.isupper()
    modules = {module_name(p) for p in FILES}
    functions = {n for n in trueness.__all__ if callable(getattr(trueness, n))}
    assert not modules & functions


def test_no_module_has_the_name_of_a_public_function_of_its_room():
    homes = doors.homes(str(SOURCE))
    for name, home in homes.items():
        room = SOURCE.joinpath(*home.split(".")[:-1])
        if callable(getattr(trueness, name)) and room != SOURCE:
            assert not (room / f"{name}.py").exists(), f"{home} hides {name}"
            assert not (room / name).is_dir(), f"{home} hides {name}"


def test_names_that_are_shown_are_few_and_public():
    assert set(doors.SHOWN) <= set(trueness.__all__)
    assert len(doors.SHOWN) == len(set(doors.SHOWN))
    assert 70 <= len(doors.SHOWN) <= 85
    shown = {n for n in dir(trueness) if not n.startswith("__")}
    assert shown == {*doors.SHOWN, *doors.OPEN}


def test_a_name_that_is_not_there_is_an_attribute_error():
    with pytest.raises(AttributeError, match="no attribute 'acu'"):
        trueness.acu  # noqa: B018
    assert not hasattr(trueness, "__wrapped__")


def test_public_functions_travel_to_another_process():
    for name in trueness.__all__:
        value = getattr(trueness, name)
        if callable(value) and not isinstance(value, type):
            assert pickle.loads(pickle.dumps(value)) is value  # noqa: S301
