"""Start the command line with the faster of NumPy's two sorts.

On AMD's Zen 4, NumPy's AVX-512 sort is several times slower than its AVX2 sort, and
NumPy decides while it is imported. A library must not meddle with that, a program may:
this module is the program's first line, and nothing that it imports before it has
decided imports NumPy (a test holds it to that).
"""

from __future__ import annotations

import os
import sys

from trueness._core import interrupts
from trueness._core.processor import (
    DISABLED_FEATURES,
    first_processor,
    slow_avx512,
)


def main() -> None:
    """Run ``trueness``."""
    interrupts.quit_when_interrupted()
    _check_build_time()
    if DISABLED_FEATURES not in os.environ and slow_avx512(first_processor()):
        os.environ[DISABLED_FEATURES] = "X86_V4 AVX512_ICL"

    try:
        from trueness.cli._app import main as command_line
    except ModuleNotFoundError as err:
        raise SystemExit(_bare(str(err.name), sys.argv[1:])) from None

    try:
        command_line()
    except KeyboardInterrupt:  # before or after a command: those end by themselves
        raise SystemExit(interrupts.INTERRUPTED) from None
    finally:
        interrupts.ignore_interrupts()


def _check_build_time() -> None:
    """Raise an error for a build time that is no number, at which NumPy would stop."""
    build_time = os.environ.get("SOURCE_DATE_EPOCH", "0")
    if not build_time.isdecimal():
        print(
            "SOURCE_DATE_EPOCH must be a number of seconds since 1970; found "
            f"{build_time!r}.",
            file=sys.stderr,
        )
        raise SystemExit(2)


def _bare(library: str, words: list[str]) -> int:
    """Answer without the libraries of the command line: the version, or what to do."""
    if words == ["--version"]:
        from trueness import __version__

        print(f"trueness {__version__}")
        return 0

    print(
        f"The command line needs {library}, which is not installed. "
        'Type: pip install "trueness[cli]".',
        file=sys.stderr,
    )

    return 2
