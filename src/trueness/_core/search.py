"""Where does a condition stop to hold, and where is a quotient largest?

Halving, once for the house: along a line (``bisect``) and among whole numbers
(``smallest``); and Dinkelbach's method (``largest_quotient``).
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import Any, TypeVar

import numpy as np

from trueness._core.checks.errors import InputError

# 60 halvings of [0, 1] reach the last digit of a float
_STEPS = 60
Found = TypeVar("Found")


def bisect(
    inside: Callable[[Any], Any], start: Any, end: Any, steps: int = _STEPS
) -> Any:
    """How far from ``start`` towards ``end`` does ``inside`` hold? Float or array.

    ``inside`` is taken to hold at the start, and once it fails, to fail further on. The
    way is halved ``steps`` times, and the last place that held is given.

    Examples
    --------
    >>> round(float(bisect(lambda x: x * x <= 0.25, 0.0, 1.0)), 12)
    0.5
    """
    start, end = np.broadcast_arrays(np.asarray(start, float), np.asarray(end, float))
    whole, last = inside(end), end
    for _ in range(steps):
        middle = (start + end) / 2
        held = inside(middle)
        start, end = np.where(held, middle, start), np.where(held, end, middle)
    return np.where(whole, last, start)[()]


def smallest(
    enough: Callable[[int], bool],
    *,
    start: int = 1,
    most: int = 1 << 50,
    what: str = "the search",
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
        if high > most:
            raise InputError(
                f"{what} found no sample size below 10^15. Choose a goal that is "
                "easier to reach."
            )
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if enough(middle) else (middle, high)
    return high


def largest_quotient(
    best: Callable[[Fraction], Found], ratio: Callable[[Found], Fraction | None]
) -> tuple[Fraction, Found, Found, int]:
    """Where is a quotient largest, when only differences can be maximised?

    ``best(q)`` maximises ``over - q * under``; ``ratio`` gives the quotient of what was
    found, None when nothing is allowed. The answer is the largest quotient, what has
    it, what the last search found in proof of that, and the number of searches.

    The largest difference is zero exactly at the largest quotient (Dinkelbach 1967,
    Manag. Sci. 13:492). Quotients are fractions: the end is reached, not approached.

    >>> pairs = [(1, 2), (3, 4), (2, 3)]
    >>> largest_quotient(
    ...     lambda q: max(pairs, key=lambda p: p[0] - q * p[1]), lambda p: Fraction(*p)
    ... )[0]
    Fraction(3, 4)
    """
    q, searches = Fraction(0), 1
    found = best(q)
    while (reached := ratio(found)) is not None:
        q, again, searches = reached, best(reached), searches + 1
        better = ratio(again)
        if better is None or better <= q:
            return q, found, again, searches
        found = again
    return q, found, found, searches
