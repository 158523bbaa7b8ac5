"""What can be asked from a shell? The door for Typer and Rich.

Commands that are read together share a module, loaded when one is asked for, so that
``trueness --help`` is quick. A command is its options, one call that gives findings,
and ``answered``, which shows them. To be read in this order: ``_start`` runs first and
imports nothing heavy; ``_app`` lists the commands; ``_command`` makes a command of a
function and holds what can be typed; ``_source`` opens files and ``_columns`` chooses
their columns; ``_shell`` speaks and writes files.

A file becomes a ``Source``, with its columns a ``Request``, counted a ``Tally`` or a
``Panel``, asked a ``Finding``, which is shown: as sentences and tables, as JSON, as a
figure. No number is computed here.
"""

from importlib import import_module


def __getattr__(name: str) -> object:
    if name in ("app", "COMMANDS"):  # Typer is imported when the door opens
        return getattr(import_module("trueness.cli._app"), name)
    raise AttributeError(f"module 'trueness.cli' has no attribute {name!r}")
