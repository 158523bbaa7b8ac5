"""How does a command end when a person or a system asks it to?

With the exit codes that shells use: 130 after Ctrl-C, 143 after SIGTERM. An engine, or
a library that calls back, may swallow what the handler raises. So the signal is noted,
the engine is interrupted, and long work is asked to stop at its next step.
"""

from __future__ import annotations

import atexit
import os
import signal
import sys
import threading
from contextlib import suppress
from types import FrameType
from typing import NoReturn

from trueness._core.imports import is_of_library

STOP_REQUEST = threading.Event()
_RECEIVED: list[int] = []  # a handler has nowhere else to note it


def handle_signals() -> None:
    """Hear Ctrl-C and SIGTERM from now on."""
    signal.signal(signal.SIGTERM, _unwind)
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, _unwind)


def _unwind(number: int, frame: FrameType | None) -> None:
    """Note the signal, stop the work, and unwind, so that no file stays half-written.

    No module is loaded here: the handler may run while another one is.
    """
    _RECEIVED.append(number)
    STOP_REQUEST.set()
    engines = sys.modules.get("trueness.data.engines")
    if engines is not None and hasattr(engines, "interrupt_connections"):
        engines.interrupt_connections()
    if number == signal.SIGINT:
        raise KeyboardInterrupt

    raise SystemExit(128 + number)


def exit_code() -> int:
    """Return the code that a command ends with which was asked to end."""
    return 128 + (_RECEIVED[0] if _RECEIVED else signal.SIGINT)


def was_asked_to_end(error: BaseException) -> bool:
    """Return whether this error is what became of Ctrl-C or SIGTERM."""
    if _RECEIVED or isinstance(error, KeyboardInterrupt):
        return True
    is_interrupt = is_of_library(error, "duckdb", "InterruptException")
    return is_interrupt or str(error) == "Query interrupted"


def exit_process(error: BaseException) -> NoReturn:
    """End the process after a signal: clean up, and wait for no thread of an engine.

    Python would end such threads in their midst, and the engine then aborts.
    """
    code = exit_code()
    if isinstance(error, SystemExit) and error.code in (None, 0):
        code = 0  # the command ends this way, as the workbench does

    for stream in (sys.stdout, sys.stderr):
        with suppress(OSError, ValueError):
            stream.flush()

    atexit._run_exitfuncs()
    os._exit(code)
