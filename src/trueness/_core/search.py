"""Where does a condition stop to hold?

Halving, once for the house: along a line (``edge``) and among whole numbers
(``smallest``).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from trueness._core.checks.errors import InputError

# 60 halvings of [0, 1] reach the last digit of a float
_STEPS = 60


def edge(inside: Callable[[Any], Any], start: Any, end: Any) -> Any:
    """How far from ``start`` towards ``end`` does ``inside`` hold? Float or array.

    ``inside`` is taken to hold at the start, and once it fails, to fail further on.

    Examples
    --------
    >>> round(float(edge(lambda x: x * x <= 0.25, 0.0, 1.0)), 12)
    0.5
    """
    start, end = np.broadcast_arrays(np.asarray(start, float), np.asarray(end, float))
    whole, last = inside(end), end
    for _ in range(_STEPS):
        middle = (start + end) / 2
        held = inside(middle)
        start, end = np.where(held, middle, start), np.where(held, end, middle)
    return np.where(whole, last, start)[()]


def smallest(
    enough: Callable[[int], bool], *, start: int = 1, what: str = "the search"
) -> int:
    """Which is the smallest whole number, from ``start`` on, that is enough?

    Examples
    --------
    >>> smallest(lambda n: n * n >= 1000)
    32
    """
    low, high = start - 1, start
    while not enough(high):
        low, high = high, 2 * high
        if high > 1 << 50:
            raise InputError(
                f"{what} found no sample size below 10^15. Choose a goal that is "
                "easier to reach."
            )
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if enough(middle) else (middle, high)
    return high
