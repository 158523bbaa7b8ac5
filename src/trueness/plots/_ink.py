"""Colours, sizes and marks that all drawings share, and the theme of matplotlib."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from threading import RLock

from trueness._core.imports import required

THEME = Path(__file__).parent / "theme.mplstyle"
_ONE_THREAD_AT_A_TIME = RLock()

PRINT_DPI = 300

# inches
COLUMN_WIDTH = 3.5
COLUMN_HEIGHT = 3.2
PAGE_WIDTH = 7.2
INCHES_PER_POINT = 1 / 72

GREY = "#767676"
PALE_GREY = "#a4adb7"
INK = "#16181b"
ACCENT = "#c14f00"
BLUE = "#2447c4"
BROWN = "#8a6100"
PURPLE = "#a8487f"

# hue is the truth, strength the decision: what is flagged is strong
DECISIONS = {
    "true negatives": (BLUE, 0.3),
    "false positives": (BLUE, 0.8),
    "false negatives": (ACCENT, 0.3),
    "true positives": (ACCENT, 0.8),
}

DASHES = ("--", ":", "-.")

# opacity of areas
OPACITY_OF_BAND_OF_LINE = 0.18
OPACITY_OF_BAND_ALONE = 0.4


@contextmanager
def theme() -> Iterator[None]:
    """Use the look of Trueness for the figures that are made inside."""
    matplotlib = required("matplotlib", "plots")
    # settings of matplotlib are global
    with _ONE_THREAD_AT_A_TIME, matplotlib.rc_context(fname=THEME):
        yield
