"""How does the help of a command look?"""

from __future__ import annotations

from typing import Any

from typer.core import TyperGroup


def hide_flag_values(params: list[Any]) -> list[Any]:
    """Show no type behind a flag in the help: it takes no value."""
    for param in params:
        if getattr(param, "is_flag", False):
            param.metavar = ""
    return params


class ShellGroup(TyperGroup):
    """A group of commands."""

    def get_params(self, ctx: Any) -> list[Any]:
        """Return the options, as the help shows them."""
        return hide_flag_values(super().get_params(ctx))
