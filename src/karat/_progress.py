"""How does a long pass say how far it is?

A bar by Rich on a terminal, nothing elsewhere: not in a file, a pipe, a test or where
Rich is not installed.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager


@contextmanager
def progress(what: str) -> Iterator[Callable[[int], None]]:
    """Give a function that hears how many rows went by."""
    if not sys.stderr.isatty():
        yield lambda rows: None
        return
    try:
        from rich.console import Console
        from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn
    except ModuleNotFoundError:
        yield lambda rows: None
        return
    columns = (
        SpinnerColumn(),
        TextColumn("{task.description}"),
        TextColumn("{task.completed:,} rows"),
        TimeElapsedColumn(),
    )
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task(what, total=None)
        yield lambda rows: bar.advance(task, rows)
