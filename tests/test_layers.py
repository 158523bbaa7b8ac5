"""Imports point down, and `import trueness` stays light."""

import ast
import importlib
import pickle
import subprocess
import sys
from pathlib import Path

import pytest

import trueness
from trueness._core import imports as imports_module

# each room may import the rooms above it, and none beside it
ROOMS = [
    ["_core"],
    ["counts", "samples"],
    ["inference"],
    ["metrics"],
    ["fermi"],
    ["ranking"],
    ["comparison", "threshold", "calibration"],
    ["ensembles", "nogold", "readers", "evals", "trees"],
    ["sites"],
    ["data"],
    ["scale", "spark"],
    ["monitoring"],
    ["declarations"],
    ["findings", "gpu"],
    ["reports"],
    ["plots"],
    ["estimators"],
    ["cli", "mlflow", "inspect_ai"],
    ["app"],
    ["records"],
    ["__init__", "__main__"],
]
LEVEL = {m: k for k, row in enumerate(ROOMS) for m in row}
SOURCE = Path(trueness.__file__).parent
FOREIGN = [
    *("arviz", "duckdb", "ibis", "jinja2", "matplotlib", "narwhals"),
    *("pandas", "polars", "pyarrow", "pyspark", "rich", "scipy.stats", "sklearn"),
    *("starlette", "sympy", "typer", "uvicorn", "xarray"),
]


FILES = sorted(SOURCE.rglob("*.py"))
MODULES = {
    ".".join(("trueness", *p.relative_to(SOURCE).with_suffix("").parts)).removesuffix(
        ".__init__"
    ): p
    for p in FILES
}


def imports(module):
    """Which modules of Trueness does a module use, anywhere in it, by any means?

    Import statements count wherever they stand, also in functions and for type checkers
    alone, and so does a text that is the name of a module.
    """
    path = MODULES[module]
    parts = module.split(".")
    package = parts if path.name == "__init__.py" else parts[:-1]
    result = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.ImportFrom):
            base = package[: len(package) + 1 - node.level] if node.level else []
            base = ".".join([*base, *(node.module or "").split(".")]).strip(".")
            inner = {f"{base}.{a.name}" for a in node.names} & MODULES.keys()
            result |= inner
            result |= {base} if len(inner) < len(node.names) else set()
        elif isinstance(node, ast.Import):
            result |= {a.name for a in node.names}
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            inside = f"trueness.{node.value}" if "." in node.value else node.value
            result |= {node.value, inside} if node.value != "trueness" else set()
    return result & MODULES.keys() - {module}


GRAPH = {module: imports(module) for module in MODULES}


def room(module):
    return [*module.split("."), "__init__"][1]


@pytest.mark.parametrize("module", MODULES)
def test_imports_point_down(module):
    name = room(module)

    assert name in LEVEL, f"give {name} a place in ROOMS"

    # the package itself has names only: a command types what its users type
    for other in {room(m) for m in GRAPH[module] - {"trueness"}} - {name}:
        assert LEVEL[other] < LEVEL[name], f"{module} imports from {other}"


def test_no_module_is_in_a_circle():
    left = {m: set(uses) for m, uses in GRAPH.items() if m != "trueness"}
    while left:
        ready = {m for m in left if not left[m] & left.keys()}
        assert ready, f"a circle among {sorted(left)}"
        left = {m: uses for m, uses in left.items() if m not in ready}


LOADERS = {"trueness", "trueness._core.imports", "trueness.cli", "trueness.cli._app"}


def test_handlers_are_above_who_asks_for_them():
    home = imports_module._HANDLERS
    asked = set()
    for module, path in MODULES.items():
        for node in ast.walk(ast.parse(path.read_text())):
            name = getattr(getattr(node, "func", None), "id", "")
            if name in ("HigherFunction", "_HigherFunction"):
                asked.add(node.args[0].value)
                above = LEVEL[room(home[node.args[0].value])] >= LEVEL[room(module)]
                assert above or module == "trueness"
            # a command is loaded by its name; nothing else is but here
            assert "import_module" not in name or module in LOADERS

    assert asked == set(home)

    for function, module in home.items():
        assert callable(getattr(importlib.import_module(module), function))


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
        "trueness._core.imports",
        "trueness._core.interrupts",
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
    modules = {room(m) for m in MODULES}
    functions = {n for n in trueness.__all__ if callable(getattr(trueness, n))}

    assert not modules & functions


def test_no_module_has_the_name_of_a_public_function_of_its_room():
    for name, home in trueness._MODULES.items():
        folder = SOURCE.joinpath(*home.split(".")[1:-1])
        if callable(getattr(trueness, name)) and folder != SOURCE:
            assert not (folder / f"{name}.py").exists(), f"{home} hides {name}"
            assert not (folder / name).is_dir(), f"{home} hides {name}"


def test_names_at_the_top_are_few_and_shown():
    assert len(trueness.__all__) <= 155
    shown = {n for n in dir(trueness) if not n.startswith("__")}
    assert shown == {*trueness._MODULES, *trueness._OPEN}


@pytest.mark.parametrize("room", trueness._ROOMS)
def test_names_of_rooms_are_found_there_and_named_at_the_top(room):
    held = importlib.import_module(f"trueness.{room}")
    for name in held.__all__:
        assert getattr(held, name).__doc__
        if name not in trueness.__all__:
            with pytest.raises(AttributeError, match=f"trueness.{room}.{name}"):
                getattr(trueness, name)


def test_a_name_that_is_not_there_is_an_attribute_error():
    with pytest.raises(AttributeError, match="no attribute 'acu'"):
        trueness.acu  # noqa: B018
    assert not hasattr(trueness, "__wrapped__")


def test_public_functions_travel_to_another_process():
    for name in trueness.__all__:
        value = getattr(trueness, name)
        if callable(value) and not isinstance(value, type):
            assert pickle.loads(pickle.dumps(value)) is value  # noqa: S301
