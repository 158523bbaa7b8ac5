"""A stranger reads a function once: what was won in a room stays won.

A room joins ``ROOMS`` when its functions have been rewritten and read by someone who
had not written them. Two habits made functions hard to read and are refused there:
values packed into one statement, and names that say nothing.
"""

import ast
from pathlib import Path

import pytest

SOURCE = Path(__file__).parents[1] / "src" / "trueness"

# the rooms that were rewritten
ROOMS = (
    *("app", "cli", "data", "findings", "reports"),
    *("_core", "calibration", "comparison", "counts", "declarations", "evals", "fermi"),
    *("inference", "metrics", "ranking", "readers", "sites", "trees"),
    *("estimators", "plots", "scale", "threshold"),
    *("ensembles", "monitoring", "nogold"),
)

# words that say nothing as the name of a local variable
VAGUE = {
    *("found", "made", "said", "told", "asked", "given", "some", "words", "most"),
    *("least", "each", "worth", "alike", "apart", "together", "joined", "meant"),
    *("brought", "here", "there"),
}
# pairs of the field, which may be assigned in one statement
PAIRS = (
    {"tp", "fp"}, {"fn", "tn"}, {"low", "high"}, {"neg", "pos"}, {"first", "second"},
)  # fmt: skip


def functions_of(room):
    """Return each function of a room with the place where it stands."""
    for path in sorted((SOURCE / room).rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.FunctionDef):
                yield f"{path.name}:{node.lineno} {node.name}", node


def names_assigned(function):
    """Return the names of all variables that a function assigns."""
    return {
        node.id
        for node in ast.walk(function)
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)
    }


def packed_assignments(function):
    """Return statements such as ``a, b = X, Y`` and ``a, b = (f(x) for x in z)``."""
    for node in ast.walk(function):
        if not isinstance(node, ast.Assign) or not isinstance(
            node.targets[0], ast.Tuple
        ):
            continue

        targets = {ast.unparse(target) for target in node.targets[0].elts}
        swaps = isinstance(node.value, ast.Tuple) and targets == {
            ast.unparse(value) for value in node.value.elts
        }
        is_packed = isinstance(node.value, (ast.Tuple, ast.GeneratorExp))
        if is_packed and not swaps and targets not in PAIRS:
            yield ast.unparse(node)


@pytest.mark.parametrize("room", ROOMS)
def test_one_thing_a_line(room):
    packed = [
        f"{place}: {statement}"
        for place, function in functions_of(room)
        for statement in packed_assignments(function)
    ]

    assert packed == []


@pytest.mark.parametrize("room", ROOMS)
def test_names_say_what_they_hold(room):
    vague = [
        f"{place}: {name}"
        for place, function in functions_of(room)
        for name in sorted(names_assigned(function) & VAGUE)
    ]

    assert vague == []
