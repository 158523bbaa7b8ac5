"""What does Ctrl-C do while the program starts, works and ends?

While it starts, Python imports libraries for some tenths of a second, and an interrupt
there would end in a traceback out of any of them: the program ends at once instead.
While a command works, Python's own handler raises ``KeyboardInterrupt``, which the
command ends with. After the answer nothing is left to interrupt. The library leaves
signals alone: only the program ``trueness`` calls these functions.
"""

from __future__ import annotations

import os
import signal
import sys
from types import FrameType

INTERRUPTED = 130  # the exit code of a program that Ctrl-C ended


def is_program() -> bool:
    """Return whether this process is the program ``trueness``."""
    name = os.path.basename(sys.argv[0]) if sys.argv else ""
    if name.removesuffix(".exe") == "trueness":
        return True
    typed = sys.orig_argv
    # the name of the module stands behind the first -m; what follows is its own
    return "-m" in typed and typed[typed.index("-m") + 1 :][:1] == ["trueness"]


def _quit(number: int, frame: FrameType | None) -> None:
    # nothing was begun, and unwinding half an import would print its traceback
    os._exit(INTERRUPTED)


def quit_when_interrupted() -> None:
    """End the program at once, without a word, from now on."""
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, _quit)


def raise_when_interrupted() -> None:
    """Let a command end by itself from now on, with its temporary files removed."""
    if signal.getsignal(signal.SIGINT) is _quit:
        signal.signal(signal.SIGINT, signal.default_int_handler)


def ignore_interrupts() -> None:
    """Keep an answer that was given; Python takes a moment to end."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
