"""The documented calls run, and give what a type checker says that they give."""

import runpy
import typing
from pathlib import Path

import numpy as np
import pytest

CALLS = Path(__file__).parent / "typing" / "calls.py"


def is_of(value, kind):
    """Return whether a value is of a kind, as far as classes and contents tell."""
    if kind is typing.Any:
        return True

    origin = typing.get_origin(kind)
    if origin is None or origin is np.ndarray:
        return isinstance(value, origin or kind)
    if not isinstance(value, origin):
        return False

    if origin is dict:
        _, kind_of_values = typing.get_args(kind)
        return all(is_of(part, kind_of_values) for part in value.values())
    kind_of_parts, *_ = typing.get_args(kind)
    return all(is_of(part, kind_of_parts) for part in value)


@pytest.mark.filterwarnings("ignore::trueness.OptimisticWarning")
def test_answers_are_of_the_types_that_are_promised(monkeypatch):
    seen = []

    def check(value, kind):
        seen.append(kind)
        assert is_of(value, kind), f"{value!r} is not {kind}"
        return value

    monkeypatch.setattr(typing, "assert_type", check)
    runpy.run_path(str(CALLS))

    assert len(seen) >= 80
