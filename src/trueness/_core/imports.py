"""How is a library or a module found that may not be loaded yet?

``import trueness`` loads this module and nothing else. A public name is looked up in
the stub and its module loaded when the name is first used; a foreign library is loaded
when something of it is first used, or an error says how to install it.

Imports point down the list of rooms. What a lower room needs done above it (a frame
counted, an answer for folds) it declares as a ``HigherFunction``: a name with a type,
so that its calls are checked. Which module has the function is said at the top, in
``trueness/__init__.py``; ``tests/typing/higher_functions.py`` holds it to the type.
"""

from __future__ import annotations

import ast
import sys
from collections.abc import Mapping
from importlib import import_module
from pathlib import Path
from typing import Any, Generic, TypeVar

F = TypeVar("F")

# from the name of a function to the module that has it
_HANDLERS: dict[str, str] = {}


def register_handlers(table: Mapping[str, str]) -> None:
    """Say which module has each function that lower rooms ask for."""
    _HANDLERS.update(table)


class HigherFunction(Generic[F]):
    """A function of a higher room by its name; its type is that of ``F``.

    The module is loaded when the function is first asked for.
    """

    __slots__ = ("name",)

    def __init__(self, name: str) -> None:
        self.name = name

    def load(self) -> F:
        """Return the function."""
        function: F = getattr(import_module(_HANDLERS[self.name]), self.name)
        return function


def is_of_library(value: object, library: str, kind: str) -> bool:
    """Return whether a value is of a library, which need not have been imported.

    Nothing can be of a class whose library was not imported.
    """
    class_of_library = getattr(sys.modules.get(library), kind, None)
    return isinstance(class_of_library, type) and isinstance(value, class_of_library)


class lazy_import:  # noqa: N801 - it is used like a function
    """A foreign library that is imported when something of it is first used."""

    def __init__(self, library: str, extra: str) -> None:
        self._library = library
        self._extra = extra

    def __getattr__(self, name: str) -> Any:
        return getattr(required(self._library, self._extra), name)


def required(library: str, extra: str) -> Any:
    """Import a foreign library now, or say how to get it."""
    try:
        return import_module(library)
    except ImportError:
        # not at the top: ``import trueness`` loads this module and nothing else
        from trueness._core.checks.errors import NotInstalled

        raise NotInstalled(
            f"This needs {library}, which is not installed. "
            f'Type: pip install "trueness[{extra}]".',
            name=library,
        ) from None


def load(module: str, name: str) -> Any:
    """Return what a module has under this name; it is imported now."""
    return getattr(import_module(module), name)


def modules_of_names(stub: Path) -> dict[str, str]:
    """Return the module of Trueness that holds each name of a stub.

    A stub is read by type checkers as well, so that a name is written down once, and
    ``import trueness`` loads nothing but the list.
    """
    tree = ast.parse(stub.read_text(encoding="utf-8"))
    module_of_name = {}
    for node in tree.body:
        if isinstance(node, ast.ImportFrom):
            for imported in node.names:
                module_of_name[imported.name] = node.module or ""
    return dict(sorted(module_of_name.items()))
