"""How does the help of a command look?"""

from __future__ import annotations

from typing import Any

from typer.core import TyperGroup


def hide_types(params: list[Any]) -> list[Any]:
    """Show no types of Python in the help: neither of flags nor of arguments.

    A flag takes no value, and an argument has a name that says what it is, as FILE.
    """
    for param in params:
        if getattr(param, "is_flag", False):
            param.metavar = ""
        if param.param_type_name == "argument":
            param.display_type_rich = _no_type
    return params


def _no_type(ctx: object) -> None:
    """Return nothing, where Typer's help asks an argument for its type."""


class ShellGroup(TyperGroup):
    """A group of commands."""

    def get_params(self, ctx: Any) -> list[Any]:
        """Return the options, as the help shows them."""
        return hide_types(super().get_params(ctx))
