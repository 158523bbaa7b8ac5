"""How does a long pass say how far it is?

A bar by Rich on a terminal, after a second; nothing elsewhere: not in a file, a pipe, a
test or where Rich is not installed. A pass within a pass shares the display.
"""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Callable, Iterable, Iterator, Sized
from contextlib import contextmanager
from contextvars import ContextVar
from functools import partial
from typing import Any, TypeVar

T = TypeVar("T")

_PATIENCE = 1.0  # seconds: who waits less needs no bar
_SHOWN: ContextVar[Any] = ContextVar("trueness_progress", default=None)
_SILENT = object()


@contextmanager
def progress(
    what: str, total: int | None = None, unit: str = "rows"
) -> Iterator[Callable[[float], None]]:
    """Give a function that hears how many went by; a percentage where all are known."""
    outer = _SHOWN.get()
    if outer is not None and outer is not _SILENT:
        # a line in the display of the outer pass, which goes with this one
        went_by = _task(outer, what, total, unit)
        try:
            yield went_by
        finally:
            outer.refresh()
            outer.remove_task(went_by.args[0])
        return
    bar = None if outer is _SILENT else _display()
    if bar is None:
        yield lambda number: None
        return
    timer = threading.Timer(_PATIENCE, bar.start)
    timer.daemon = True
    token = _SHOWN.set(bar)
    timer.start()
    try:
        yield _task(bar, what, total, unit)
    finally:
        _SHOWN.reset(token)
        timer.cancel()
        timer.join()  # a bar that starts now must not stay
        shown = bar.live.is_started
        bar.stop()
        if shown and unit == "rows":  # say what a pass did, for who looked away
            task = bar.tasks[0]
            rows = f"{task.completed:,.0f} rows, " if task.completed else ""
            line = f"{task.description}: {rows}{task.elapsed or 0:.1f} s"
            bar.console.print(line, markup=False, highlight=False)


@contextmanager
def heard_by(display: object) -> Iterator[None]:
    """Let another display than a terminal's hear of all that takes long.

    It has ``add_task``, ``advance``, ``refresh`` and ``remove_task``, as Rich has.
    """
    token = _SHOWN.set(display)
    try:
        yield
    finally:
        _SHOWN.reset(token)


silent = partial(heard_by, _SILENT)  # show no bar, whatever takes long


def steps(
    items: Iterable[T], what: str, total: int | None = None, unit: str = ""
) -> Iterator[T]:
    """Go through the items of a long loop and say how far it is."""
    if total is None and isinstance(items, Sized):
        total = len(items)
    with progress(what, total, unit) as went_by:
        for item in items:
            yield item
            went_by(1)


def _task(bar: Any, what: str, total: int | None, unit: str) -> partial[None]:
    return partial(bar.advance, bar.add_task(what, total=total, unit=unit))


def visible() -> bool:
    """Is there a terminal that can show a bar?"""
    return sys.stderr.isatty() and os.environ.get("TERM") != "dumb"


def _display() -> Any:
    """Make the display, where there is a terminal that can show it."""
    if not visible():
        return None
    try:
        from rich import progress as rich
        from rich.console import Console
        from rich.table import Column
    except ModuleNotFoundError:
        return None

    class Count(rich.ProgressColumn):
        """How many of how many; nothing without a unit."""

        def render(self, task: Any) -> str:
            if not task.completed or not task.fields["unit"]:
                return ""
            of = "" if task.total is None else f" of {task.total:,.0f}"
            return f"{task.completed:,.0f}{of} {task.fields['unit']}"

    return rich.Progress(
        rich.TextColumn("{task.description}", markup=False),
        rich.BarColumn(bar_width=16),
        rich.TaskProgressColumn(),
        Count(Column(no_wrap=True)),
        rich.TimeElapsedColumn(),
        console=Console(stderr=True),
        transient=True,
    )
