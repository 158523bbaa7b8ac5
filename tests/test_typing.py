"""The documented calls run, and give what a type checker says that they give."""

import runpy
import typing
from pathlib import Path

import numpy as np
import pytest

CALLS = Path(__file__).parent / "typing" / "calls.py"


def is_of(value, kind):
    """Is this value of the kind, as far as classes and their contents tell?"""
    origin, inside = typing.get_origin(kind), typing.get_args(kind)
    if kind is typing.Any:
        return True
    if origin is None or origin is np.ndarray:
        return isinstance(value, origin or kind)
    parts, held = (value.values(), inside[1]) if origin is dict else (value, inside[0])
    return isinstance(value, origin) and all(is_of(v, held) for v in parts)


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
