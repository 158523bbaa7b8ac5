"""Do the tests of a room notice a fault in its code? Mutants, drawn by a seed.

A mutant is the package with one operator, comparison or constant changed. It is killed
when a test of its room fails, or runs far longer than it should; where none does, the
tests of the rooms that import its module are tried. Type

    python benchmarks/mutants.py --number 100 --seed 1
    python benchmarks/mutants.py --again survivors.log

Nothing in the work tree changes: sources and tests are copied to a temporary folder.
The survivors are printed with their place, so that each can have a test; the second
line tries those of an earlier run again. This takes about ten seconds a mutant on one
core, and minutes where it survives, so no workflow runs it.
"""

from __future__ import annotations

import argparse
import ast
import os
import random
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

ROOT = Path(__file__).parents[1]
ROOMS = ("metrics", "inference", "counts", "ranking")
# the slowest of these rooms takes half a minute
TIME_LIMIT = 240
# rooms that show answers take minutes; others import what they show
FACES = {"app", "cli", "data", "declarations", "estimators", "findings", "gpu", "plots"}
FACES |= {"reports", "scale"}

# one change for each operator: the nearest fault that somebody could type
ARITHMETIC: dict[type[ast.operator], str] = {
    ast.Add: "-",
    ast.Sub: "+",
    ast.Mult: "/",
    ast.Div: "*",
    ast.FloorDiv: "*",
    ast.Mod: "*",
    ast.Pow: "*",
    ast.BitAnd: "|",
    ast.BitOr: "&",
}
COMPARISONS: dict[type[ast.cmpop], tuple[str, ...]] = {
    ast.Lt: ("<=", ">="),
    ast.LtE: ("<", ">"),
    ast.Gt: (">=", "<="),
    ast.GtE: (">", "<"),
    ast.Eq: ("!=",),
    ast.NotEq: ("==",),
    ast.Is: ("is not",),
    ast.IsNot: ("is",),
    ast.In: ("not in",),
    ast.NotIn: ("in",),
}
CONNECTIVES: dict[type[ast.boolop], str] = {ast.And: "or", ast.Or: "and"}
FUNCTIONS = {"min": "max", "max": "min", "minimum": "maximum", "maximum": "minimum"}


@dataclass(frozen=True)
class Mutant:
    """One change of one expression.

    Attributes
    ----------
    path
        The module, relative to the root of the repository.
    line
        Where it stands.
    before, after
        The expression as it is, and as it is changed.
    start, stop
        Its place in the bytes of the module.
    """

    path: Path
    line: int
    before: str
    after: str
    start: int
    stop: int

    @property
    def room(self) -> str:
        """Return the room whose tests should notice."""
        return self.path.parts[2]

    def __str__(self) -> str:
        """Write the place and the change in one line."""
        return f"{self.path}:{self.line}: {self.before}  ->  {self.after}"


def mutants_of(path: Path) -> list[Mutant]:
    """Return every mutant of a module."""
    source = (ROOT / path).read_bytes()
    line_starts = [0]
    for line in source.splitlines(keepends=True):
        line_starts.append(line_starts[-1] + len(line))

    mutants = []
    for node in computing_nodes(ast.parse(source)):
        start = line_starts[node.lineno - 1] + node.col_offset
        stop = line_starts[(node.end_lineno or 1) - 1] + (node.end_col_offset or 0)
        before = source[start:stop].decode()
        for after in changes(node):
            mutants.append(Mutant(path, node.lineno, before, after, start, stop))
    return mutants


def computing_nodes(tree: ast.AST) -> Iterator[ast.expr]:
    """Walk through expressions that compute: no types, texts, errors or decorators."""
    for field, value in ast.iter_fields(tree):
        if field in ("annotation", "returns", "decorator_list", "type_params"):
            continue
        for node in value if isinstance(value, list) else [value]:
            if not isinstance(node, ast.AST):
                continue
            if isinstance(node, (ast.Raise, ast.JoinedStr, ast.Import, ast.Assert)):
                continue
            if isinstance(node, ast.expr):
                yield node
            yield from computing_nodes(node)


def changes(node: ast.expr) -> Iterator[str]:
    """Write the faults that an expression could have."""
    match node:
        case ast.BinOp(left, operator, right):
            if type(operator) in ARITHMETIC and not (is_text(left) or is_text(right)):
                sign = ARITHMETIC[type(operator)]
                yield f"(({ast.unparse(left)}) {sign} ({ast.unparse(right)}))"
        case ast.Compare(left, [operator], [right]):
            for sign in COMPARISONS[type(operator)]:
                yield f"(({ast.unparse(left)}) {sign} ({ast.unparse(right)}))"
        case ast.BoolOp(operator, values):
            sign = CONNECTIVES[type(operator)]
            yield "(" + f" {sign} ".join(f"({ast.unparse(v)})" for v in values) + ")"
        case ast.UnaryOp(ast.Not() | ast.USub() | ast.Invert(), operand):
            yield f"({ast.unparse(operand)})"
        case ast.IfExp(test, body, orelse):
            yield (
                f"(({ast.unparse(orelse)}) if ({ast.unparse(test)}) "
                f"else ({ast.unparse(body)}))"
            )
        case ast.Constant(value) if isinstance(value, bool):
            yield str(not value)
        case ast.Constant(value) if isinstance(value, (int, float)):
            yield repr(value + 1)
        case ast.Name(name) if name in FUNCTIONS:
            yield FUNCTIONS[name]
        case ast.Attribute(owner, name) if name in FUNCTIONS:
            yield f"{ast.unparse(owner)}.{FUNCTIONS[name]}"


def is_text(node: ast.expr) -> bool:
    """Is it a text, whose parts are joined by +?"""
    return isinstance(node, (ast.JoinedStr, ast.List, ast.Tuple)) or (
        isinstance(node, ast.Constant) and isinstance(node.value, str)
    )


def draw(rooms: list[str], number: int, seed: int) -> list[Mutant]:
    """Draw mutants at random, each of all equally likely."""
    every = [
        mutant
        for room in rooms
        for path in sorted((ROOT / "src/trueness" / room).glob("*.py"))
        if path.name != "__init__.py"
        for mutant in mutants_of(path.relative_to(ROOT))
    ]
    return random.Random(seed).sample(every, min(number, len(every)))  # noqa: S311


def read_survivors(log: Path) -> list[Mutant]:
    """Return the survivors that an earlier run printed, where they stand today."""
    survivors = []
    for line in log.read_text(encoding="utf-8").splitlines():
        if not line.startswith("survived: "):
            continue
        place, _, change = line.removeprefix("survived: ").partition(": ")
        path, _, line_number = place.partition(":")
        same = [
            mutant
            for mutant in mutants_of(Path(path))
            if change == f"{mutant.before}  ->  {mutant.after}"
        ]
        if not same:
            print(f"no longer there: {line}")
            continue
        survivors.append(min(same, key=lambda m: abs(m.line - int(line_number))))
    return survivors


def tests_of(mutant: Mutant, copy: Path) -> list[str]:
    """Return the tests of the room, those of the module first."""
    folder = Path("tests") / mutant.room
    own = folder / f"test_{mutant.path.stem}.py"
    first = [str(own)] if (copy / own).exists() else []
    return [*first, str(mutant.path), str(folder), str(mutant.path.parent)]


def rooms_that_import(mutant: Mutant, copy: Path) -> list[str]:
    """Return the tests of other rooms, faces aside, that import the module."""
    imports = (
        f"from trueness.{mutant.room}.{mutant.path.stem} import",
        f"from trueness.{mutant.room} import {mutant.path.stem}",
    )
    rooms = {
        path.relative_to(copy / "src/trueness").parts[0]
        for path in (copy / "src/trueness").rglob("*.py")
        if any(words in path.read_text(encoding="utf-8") for words in imports)
    }
    return [f"tests/{room}" for room in sorted(rooms - FACES - {mutant.room})]


def killer(mutant: Mutant, copy: Path) -> str | None:
    """Return the tests that fail with the mutant: of its room, or of another."""
    module = copy / mutant.path
    source = module.read_bytes()
    changed = source[: mutant.start] + mutant.after.encode() + source[mutant.stop :]
    try:
        module.write_bytes(changed)
        if fails(tests_of(mutant, copy), copy) is not False:
            return mutant.room
        suspects = [
            folder
            for folder in rooms_that_import(mutant, copy)
            # another room may take long, so that only a failure counts
            if fails([folder], copy)
        ]
    finally:
        module.write_bytes(source)
    return next((folder for folder in suspects if passes_unchanged(folder, copy)), None)


@cache
def passes_unchanged(folder: str, copy: Path) -> bool:
    """Do the tests of a folder pass, and in time, without any mutant?"""
    return fails([folder], copy) is False


def fails(tests: list[str], copy: Path) -> bool | None:
    """Do these tests fail? None where they do not end."""
    command = [
        *(sys.executable, "-B", "-m", "pytest", "-x", "-q"),
        *("-m", "not (slow or spark or package)"),
        *tests,
    ]
    try:
        ended = subprocess.run(
            command,
            cwd=copy,
            env={**os.environ, "PYTHONPATH": str(copy / "src")},
            capture_output=True,
            timeout=TIME_LIMIT,
            check=False,
        )
    except subprocess.TimeoutExpired:
        return None
    return ended.returncode != 0


def main() -> None:
    """Draw mutants, run the tests of their rooms, print the survivors."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--number", type=int, default=100)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--room", choices=ROOMS, action="append")
    parser.add_argument("--again", type=Path, help="the log of an earlier run")
    arguments = parser.parse_args()

    if arguments.again:
        drawn = read_survivors(arguments.again)
    else:
        drawn = draw(arguments.room or list(ROOMS), arguments.number, arguments.seed)

    killed = {"own": 0, "other": 0}
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(folder)
        unwanted = shutil.ignore_patterns("__pycache__")
        for part in ("src", "tests", "docs"):
            shutil.copytree(ROOT / part, copy / part, ignore=unwanted)
        shutil.copy(ROOT / "pyproject.toml", copy)
        for room in sorted({mutant.room for mutant in drawn}):
            if not passes_unchanged(f"tests/{room}", copy):
                sys.exit(f"The tests of {room} fail without a mutant.")
        for tried, mutant in enumerate(drawn, start=1):
            room = killer(mutant, copy)
            if room is None:
                print(f"survived: {mutant}", flush=True)
            elif room == mutant.room:
                killed["own"] += 1
            else:
                killed["other"] += 1
                print(f"killed by {room}: {mutant}", flush=True)
            if tried % 10 == 0:
                print(f"{sum(killed.values())} of {tried} killed", flush=True)

    print(f"{sum(killed.values())} of {len(drawn)} mutants killed,")
    print(f"{killed['own']} of them by the tests of their own room")


if __name__ == "__main__":
    main()
