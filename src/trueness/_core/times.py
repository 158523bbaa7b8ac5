"""The time of a file that is written: now, or what a reproducible build asks for."""

from __future__ import annotations

import os
import time

from trueness._core.checks.errors import InputError


def build_day() -> str:
    """Return the day as YYYY-MM-DD: today, or that of ``SOURCE_DATE_EPOCH``."""
    return time.strftime("%Y-%m-%d", time.gmtime(_seconds_since_epoch()))


def _seconds_since_epoch() -> float:
    """Return the time: now, or what a reproducible build asks for."""
    build_time = os.environ.get("SOURCE_DATE_EPOCH")
    if not build_time:
        return time.time()

    try:
        seconds = float(build_time)
        time.gmtime(seconds)
    except (ValueError, OverflowError, OSError):
        raise InputError(
            f"SOURCE_DATE_EPOCH must be a number of seconds since 1970; found "
            f"{build_time!r}."
        ) from None

    return seconds
