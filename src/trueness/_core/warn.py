"""Warnings that point at the line of the user's code."""

import inspect
import warnings
from types import FrameType

PACKAGE = __name__.partition(".")[0]


def warn_user(message: str, category: type[Warning]) -> None:
    """Warn of the nearest line outside the package that led here.

    A fixed ``stacklevel`` points into the package once a step becomes a helper.
    """
    # Python 3.12 has skip_file_prefixes for this
    stacklevel = 1
    frame = inspect.currentframe()
    while frame is not None and _is_ours(frame):
        frame = frame.f_back
        stacklevel += 1
    warnings.warn(message, category, stacklevel=stacklevel)


def _is_ours(frame: FrameType) -> bool:
    """Return whether a frame runs code of this package."""
    module = str(frame.f_globals.get("__name__", ""))
    return module == PACKAGE or module.startswith(f"{PACKAGE}.")
