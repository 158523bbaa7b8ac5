"""What can be asked from a shell? The door for Typer and Rich.

A command is a function in a module of its own, loaded when it is typed, so that
``trueness --help`` is quick. Its parameters are its options; it returns a
``CommandAnswer``. To be read in this order: ``_start`` runs first and imports nothing
heavy; ``_app`` has the table of commands; ``options`` has the options that several
commands share; ``evaluate`` is a typical command; ``_command`` is what happens around
each; ``_file_data`` opens the file and finds its columns (``_source``, ``_columns``);
``_shell`` speaks and writes files.

A file becomes a ``Source``, with a ``Request`` its ``FileData``, counted a ``Tally`` or
a ``Panel``, asked a ``Finding``, which is shown: as sentences and tables, as JSON, as a
figure. No number is computed here.
"""

from importlib import import_module


def __getattr__(name: str) -> object:
    if name in ("app", "COMMANDS"):  # Typer is imported when the door opens
        return getattr(import_module("trueness.cli._app"), name)
    raise AttributeError(f"module 'trueness.cli' has no attribute {name!r}")
