"""How does a value reach a library that the core must not import?

Values know how to show and store themselves (``to_frame``, ``write``), but the work
is done in a door, a module on the top layer that owns one foreign library. The door
is opened by name, when it is asked for. This is the only call that points up, so
the import graph still points down (``tests/test_layers.py``).
"""

from __future__ import annotations

from importlib import import_module
from typing import Any


def door(name: str) -> Any:
    """Which module serves this foreign library?"""
    return import_module(f"karat.{name}")
