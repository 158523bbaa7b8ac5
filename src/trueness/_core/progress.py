"""Progress of a long pass: how it shows how far it is, and how it is stopped.

A bar by Rich on a terminal, after a second; nothing elsewhere: not in a file, a pipe, a
test or where Rich is not installed. A pass within a pass shares the display.

Whoever starts long work may ask it to stop (``stopped_by``). Each step of a long pass,
and each block of a long loop over arrays, asks whether that has happened.
"""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Callable, Iterable, Iterator, Sized
from contextlib import contextmanager
from contextvars import ContextVar
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:
    from rich.progress import Progress, Task

T = TypeVar("T")

_PATIENCE_S = 1.0  # a shorter wait needs no bar
_SHOWN: ContextVar[Any] = ContextVar("trueness_progress", default=None)
_SILENT = object()
_STOP_REQUEST: ContextVar[threading.Event | None]
_STOP_REQUEST = ContextVar("trueness_stop_request", default=None)


class Stopped(BaseException):
    """The work was asked to stop. No error: nobody catches it on the way."""


@contextmanager
def stopped_by(request: threading.Event) -> Iterator[None]:
    """Let this event stop the work that is done meanwhile, at its next step."""
    token = _STOP_REQUEST.set(request)
    try:
        yield
    finally:
        _STOP_REQUEST.reset(token)


def stop_if_requested() -> None:
    """Raise ``Stopped`` if somebody asked this work to stop; to be called often."""
    request = _STOP_REQUEST.get()
    if request is not None and request.is_set():
        raise Stopped


@contextmanager
def progress(
    what: str, total: int | None = None, unit: str = "rows"
) -> Iterator[Callable[[float], None]]:
    """Provide a function that takes how many went by, and shows how far a pass is.

    There is a percentage where the total is known. The function raises ``Stopped`` when
    a stop was asked for.
    """
    stop_if_requested()
    outer = _SHOWN.get()
    if outer is not None and outer is not _SILENT:
        # a line in the display of the outer pass, which goes with this one
        task = outer.add_task(what, total=total, unit=unit)
        try:
            yield partial(_advance, outer, task)
        finally:
            outer.refresh()
            outer.remove_task(task)
        return

    bar = None if outer is _SILENT else _rich_display()
    if bar is None:
        yield lambda number: stop_if_requested()
        return

    timer = threading.Timer(_PATIENCE_S, bar.start)
    timer.daemon = True
    token = _SHOWN.set(bar)
    timer.start()
    try:
        yield partial(_advance, bar, bar.add_task(what, total=total, unit=unit))
    finally:
        _SHOWN.reset(token)
        timer.cancel()
        timer.join()  # a bar that starts now must not stay
        was_shown = bar.live.is_started
        bar.stop()
        if was_shown and unit == "rows":
            _print_summary(bar)


def _print_summary(bar: Any) -> None:
    """Say what a pass did, for readers who looked away."""
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


def _advance(display: Any, task: Any, number: float = 1) -> None:
    """Tell a display how many went by."""
    stop_if_requested()
    display.advance(task, number)


def visible() -> bool:
    """Return whether there is a terminal that can show a bar."""
    return sys.stderr.isatty() and os.environ.get("TERM") != "dumb"


def _rich_display() -> Progress | None:
    """Return Rich's display, where there are a terminal and Rich to show it."""
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

        def render(self, task: Task) -> str:
            if not task.completed or not task.fields["unit"]:
                return ""
            of_total = "" if task.total is None else f" of {task.total:,.0f}"
            return f"{task.completed:,.0f}{of_total} {task.fields['unit']}"

    return rich.Progress(
        rich.TextColumn("{task.description}", markup=False),
        rich.BarColumn(bar_width=16),
        rich.TaskProgressColumn(),
        Count(Column(no_wrap=True)),
        rich.TimeElapsedColumn(),
        console=Console(stderr=True),
        transient=True,
    )
