"""Classes of foreign libraries are known without importing them."""

import subprocess
import sys

import duckdb
import pytest

from trueness._core.imports import is_of_library


@pytest.mark.parametrize(
    ("value", "kind", "expected"),
    [
        (duckdb.InterruptException("INTERRUPT Error"), "InterruptException", True),
        (duckdb.OutOfMemoryException("no"), "InterruptException", False),
        (duckdb.sql("SELECT 1"), "DuckDBPyRelation", True),
        ("a text", "DuckDBPyRelation", False),
        ("a text", "NoSuchClass", False),
        ("a text", "sql", False),  # a function, and no class
    ],
)
def test_a_value_is_of_a_class_of_a_library(value, kind, expected):
    assert is_of_library(value, "duckdb", kind) is expected


def test_asking_imports_nothing():
    code = (
        "import sys; from trueness._core.imports import is_of_library as of;"
        "print(of(1, 'duckdb', 'DuckDBPyRelation'), 'duckdb' in sys.modules)"
    )

    answer = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )

    assert answer.stdout.split() == ["False", "False"]
