"""Imports point down, and `import karat` stays light."""

import ast
import pickle
import subprocess
import sys
from pathlib import Path

import pytest

import karat

# each row may import from the rows above it, and from its own row without a circle
LAYERS = {
    "ground": [
        "_binomial",
        "_cells",
        "_chains",
        "_checks",
        "_doors",
        "_html",
        "_importance",
        "_keys",
        "_logistic",
        "_numerics",
        "_ordered",
        "_polyline",
        "_products",
        "_progress",
        "_records",
        "_rows",
        "_tempering",
    ],
    "counts": [
        "algebra",
        "confusion",
        "counting",
        "counts",
        "exact",
        "expressions",
    ],
    "analyses": [
        "_boolean",
        "_branching",
        "_conjugate",
        "_criteria",
        "_exact",
        "_fermi_solver",
        "_fermi_sums",
        "_fronts_of_cells",
        "_gibbs",
        "_latent_model",
        "_minimum_cells",
        "_on_average",
        "_pair_scores",
        "_quadratic_cells",
        "_quotient_cells",
        "_random_effect",
        "_two_tests",
        "areas",
        "arrangements",
        "bands",
        "binned",
        "blending",
        "boxes",
        "calibration",
        "certificate",
        "comparison",
        "corp",
        "correlated",
        "crossfit",
        "curves",
        "cutting",
        "dependence",
        "divergence",
        "dominance",
        "ensembles",
        "entropic",
        "envelopes",
        "expected",
        "fermi",
        "formulas",
        "fronts",
        "gaussian",
        "geometry",
        "groups",
        "guarantees",
        "identifiability",
        "inference",
        "latent",
        "latent_ml",
        "latent_sampling",
        "levels",
        "combinations",
        "logic",
        "maps",
        "merging",
        "miscalibration",
        "monotone",
        "operating",
        "paired",
        "parametric",
        "planning",
        "programs",
        "rank_tables",
        "ranked",
        "recalibration",
        "ranking",
        "resampling",
        "scoring",
        "simulation",
        "slopes",
        "splits",
        "tradeoffs",
        "trees",
        "unlabelled",
        "validation",
        "venn_abers",
    ],
    "doors": [
        "__main__",
        "applying",
        "cli",
        "columns",
        "diagnostics",
        "engines",
        "estimators",
        "files",
        "frames",
        "grids",
        "plots",
        "refining",
        "report",
        "samples",
        "storage",
        "streaming",
        "__init__",
    ],
}
LEVEL = {m: k for k, row in enumerate(LAYERS.values()) for m in row}
SOURCE = Path(karat.__file__).parent
FOREIGN = [
    *("altair", "arviz", "duckdb", "ibis", "jinja2", "matplotlib", "narwhals"),
    *("pandas", "polars", "pyarrow", "pyspark", "rich", "scipy.stats", "sklearn"),
    *("sympy", "typer", "xarray"),
]


def module_name(path):
    parts = path.relative_to(SOURCE).with_suffix("").parts
    return parts[0]


def imports(path):
    """Names of Karat's own modules that a file imports, anywhere in it."""
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.ImportFrom) and node.module:
            parts = node.module.split(".")
            if parts[0] == "karat":
                yield from parts[1:2] or [a.name for a in node.names]
        elif isinstance(node, ast.Import):
            for alias in node.names:
                parts = alias.name.split(".")
                if parts[0] == "karat" and parts[1:]:
                    yield parts[1]


FILES = sorted(SOURCE.rglob("*.py"))
TYPING_ONLY = {("algebra", "confusion")}  # for annotations, never at run time


@pytest.mark.parametrize("path", FILES, ids=lambda p: str(p.relative_to(SOURCE)))
def test_imports_point_down(path):
    name = module_name(path)
    assert name in LEVEL, f"give {name} a place in LAYERS"
    for other in imports(path):
        if other in LEVEL and (name, other) not in TYPING_ONLY:
            assert LEVEL[other] <= LEVEL[name], f"{name} imports {other} from above"


def test_no_circles_within_a_layer():
    graph = {}
    for path in FILES:
        name = module_name(path)
        known = {o for o in imports(path) if o in LEVEL and o != name}
        graph.setdefault(name, set()).update(
            o for o in known if (name, o) not in TYPING_ONLY
        )
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
    loaded = run("import karat, sys; print(*sys.modules)").split()
    assert {m for m in loaded if m.startswith("karat")} == {"karat", "karat._doors"}
    assert not {"numpy", "scipy", *FOREIGN} & set(loaded)


def test_all_names_together_load_no_foreign_library():
    loaded = run("from karat import *; import sys; print(*sys.modules)").split()
    assert {"numpy", "scipy", "karat.latent"} <= set(loaded)
    assert not set(FOREIGN) & set(loaded)


def test_arrays_need_numpy_and_scipy_only():
    code = (
        "import sys\n"
        f"for name in {FOREIGN}: sys.modules[name] = None\n"
        "import numpy, karat\n"
        "t = karat.tally(numpy.array([0, 1, 1]), [0.1, 0.2, 0.3])\n"
        "print(karat.auc(t).value)"
    )
    assert float(run(code)) == 1.0


def test_public_names_exist_and_no_module_hides_one():
    for name in karat.__all__:
        assert getattr(karat, name).__doc__ or name.isupper()
    modules = {module_name(p) for p in FILES}
    functions = {n for n in karat.__all__ if callable(getattr(karat, n))}
    assert not modules & functions


def test_a_name_that_is_not_there_is_an_attribute_error():
    with pytest.raises(AttributeError, match="no attribute 'acu'"):
        karat.acu  # noqa: B018
    assert not hasattr(karat, "__wrapped__")
    assert set(karat.__all__) <= set(dir(karat))


def test_public_functions_travel_to_another_process():
    for name in karat.__all__:
        value = getattr(karat, name)
        if callable(value) and not isinstance(value, type):
            assert pickle.loads(pickle.dumps(value)) is value  # noqa: S301
