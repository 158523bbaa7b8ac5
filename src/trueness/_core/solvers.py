"""Where does a condition stop to hold, and which curve fits counts best?

Halving along a line (``bisect``) and among whole numbers (``smallest``); Dinkelbach's
method (``largest_quotient``); isotonic regression by pooling adjacent violators, which
calibration curves, the convex hull of an ROC curve and the cheapest cut come down to.

Logistic curves are fitted to rows of counts by Newton's method: the calibrators, the
calibration slope and the chances of cases without a label. Columns are centred and
scaled first (scores of 1e6 plus or minus 1 are as good as any), and a long table is
started from a pooled one, so that it takes two or three passes.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import Any, TypeVar

import numpy as np
from numpy.typing import ArrayLike

from trueness._core.arrays import Array, Floats, blocks
from trueness._core.checks.errors import InputError
from trueness._core.progress import stop_if_requested

# 60 halvings of [0, 1] reach the last digit of a float
_STEPS = 60
Found = TypeVar("Found")


def bisect(
    inside: Callable[[Any], Any], start: ArrayLike, end: ArrayLike, steps: int = _STEPS
) -> Any:
    """How far from ``start`` towards ``end`` does ``inside`` hold? Float or array.

    ``inside`` is taken to hold at the start, and once it fails, to fail further on. The
    way is halved ``steps`` times, and the last place that held is given.

    >>> round(float(bisect(lambda x: x * x <= 0.25, 0.0, 1.0)), 12)
    0.5
    """
    start, end = np.broadcast_arrays(np.asarray(start, float), np.asarray(end, float))
    whole, last = inside(end), end
    for _ in range(steps):
        stop_if_requested()
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

    >>> smallest(lambda n: n * n >= 1000)
    32
    """
    low, high = start - 1, start
    while not enough(high):
        stop_if_requested()
        low, high = high, 2 * high
        if high > most:
            raise InputError(
                f"{what} found no sample size below 10^15. Choose a goal that is "
                "easier to reach."
            )
    while high - low > 1:
        stop_if_requested()
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
        stop_if_requested()
        q, again, searches = reached, best(reached), searches + 1
        better = ratio(again)
        if better is None or better <= q:
            return q, found, again, searches
        found = again
    return q, found, found, searches


def pooled_blocks(part: Array, whole: Array, *, increasing: bool = True) -> Array:
    """Where do blocks of rows start within which part / whole is pooled?

    The number of rows is the last entry. Neighbouring blocks may have equal shares.

    >>> pooled_blocks(np.array([0, 1, 1, 2]), np.array([2, 1, 3, 2])).tolist()
    [0, 1, 3, 4]
    """
    from scipy.optimize import isotonic_regression

    weight = whole.astype(np.float64)
    found = isotonic_regression(part / whole, weights=weight, increasing=increasing)
    return np.asarray(found.blocks)


def concave_corners(up: Array, right: Array) -> Array:
    """At which points of a rising path does its concave hull touch the path?

    The path takes these steps; point 0 is its start. The slopes of the hull are the
    pooled slopes of the steps (Fawcett and Niculescu-Mizil 2007).

    >>> concave_corners(np.array([1, 0, 1]), np.array([0, 1, 0])).tolist()
    [0, 1, 3]
    """
    steps = np.flatnonzero(up + right > 0)
    up, right = up[steps], right[steps]
    at = pooled_blocks(up, up + right, increasing=False)
    return np.append(0, steps + 1)[at]


def pool_violators(pos: Array, neg: Array) -> tuple[Floats, Array]:
    """Give the share of positives of each block, ascending, and where blocks start.

    The shares come from whole counts, so equal shares are equal to the last bit, and
    neighbouring blocks differ.
    """
    cases = pos + neg
    start = pooled_blocks(pos, cases)
    share = _shares(pos, cases, start)
    level = np.concatenate([[True], share[1:] > share[:-1]])
    if not level.all():  # rounding kept apart what is equal
        start = np.append(start[:-1][level], start[-1])
        share = _shares(pos, cases, start)
    return share, start


def isotonic_curve(pos: Array, neg: Array) -> Floats:
    """Give the isotonic share of positives of every row.

    >>> isotonic_curve(np.array([0, 1, 0, 2]), np.array([1, 0, 1, 0])).tolist()
    [0.0, 0.5, 0.5, 1.0]
    """
    share, start = pool_violators(pos, neg)
    return np.repeat(share, np.diff(start))


def _shares(pos: Array, cases: Array, start: Array) -> Floats:
    return np.add.reduceat(pos, start[:-1]) / np.add.reduceat(cases, start[:-1])


_Problem = tuple[Floats, Floats, Floats, Floats]
_POOLED = 4096
# products of a few long rows: einsum and short blocks keep BLAS from waking its
# threads, which costs fifty times the work itself on a busy machine
_BLOCK = 8192
_PASSES = 50
# binary exponent of the smallest column that is told from 0
_TINY = -1015


def fit_logistic(
    columns: Sequence[Floats],
    pos: Array,
    neg: Array,
    *,
    intercept: bool = True,
    offset: Floats | None = None,
) -> tuple[Floats, Floats, float, bool]:
    """Maximise the likelihood of counts (whole or smoothed) at the rows of ``columns``.

    Gives the coefficients, intercept first, their covariance, the log-likelihood, and
    whether it converged: not where there is no maximum (separated classes).
    The rows must be in the order of the score, for pooling. Without an intercept the
    first coefficient is 0.
    """
    cases = np.asarray(pos + neg, dtype=np.float64)
    offset = np.zeros(cases.size) if offset is None else offset
    # squares of 1e300 are no numbers: a power of two changes no digit
    power = [int(np.frexp(np.abs(c).max(initial=0.0))[1]) for c in columns]
    columns = [
        np.ldexp(c, -p) * (p > _TINY) for c, p in zip(columns, power, strict=True)
    ]
    power = [max(p, _TINY) for p in power]
    total = cases.sum()
    centre = [float(c @ cases / total) if intercept else 0.0 for c in columns]
    scale = []
    for c, m in zip(columns, centre, strict=True):
        s = float(np.sqrt(cases @ (c - m) ** 2 / total))
        # a constant column cannot be told from the intercept: its coefficient stays 0
        scale.append(np.inf if s <= 1e-14 * np.abs(c).max(initial=0.0) else s)
    design = np.stack(
        [np.full(cases.size, float(intercept))]
        + [(c - m) / s for c, m, s in zip(columns, centre, scale, strict=True)]
    )
    problem = (design, np.asarray(pos, dtype=np.float64), cases, offset)
    # from the base rate on: from log-odds of 0, a step towards odds of 1e-13 is one of
    # thirty, and the passes end before the climb does
    start = np.zeros(len(design))
    if intercept and pos.sum() > 0 and neg.sum() > 0:
        start[0] = math.log(pos.sum()) - math.log(neg.sum())
    if cases.size > 8 * _POOLED:
        start = _newton(*_pool(*problem), start)[0]
    beta, information, value, converged = _newton(*problem, start)
    back = np.diag([1.0, *(1 / s for s in scale)])
    back[0, 1:] = [-m / s for m, s in zip(centre, scale, strict=True)]
    back = np.ldexp(back, [[0], *([-p] for p in power)])
    # in units of 1e-300 a variance may be infinite, and a covariance then unknown
    with np.errstate(over="ignore", invalid="ignore"):
        covariance = back @ np.linalg.pinv(information, hermitian=True) @ back.T
    return back @ beta, covariance, value, converged


def _pool(design: Floats, pos: Floats, cases: Floats, offset: Floats) -> _Problem:
    """Replace neighbouring rows by their mean."""
    running = np.cumsum(cases)
    cuts = np.linspace(0, running[-1], _POOLED + 1)[:-1]
    start = np.unique(np.searchsorted(running, cuts, side="right"))
    total = np.add.reduceat(cases, start)
    mean = np.add.reduceat(design * cases, start, axis=1) / total
    shift = np.add.reduceat(offset * cases, start) / total
    return mean, np.add.reduceat(pos, start), total, shift


def _newton(
    design: Floats, pos: Floats, cases: Floats, offset: Floats, beta: Floats
) -> tuple[Floats, Floats, float, bool]:
    """Climb the concave likelihood; halve a step that went too far."""
    problem = (design, pos, cases, offset)
    value, gradient, information = _derivatives(*problem, beta)
    for _ in range(_PASSES):
        stop_if_requested()
        step = np.linalg.lstsq(information, gradient, rcond=1e-13)[0]
        new = beta + step
        ahead = _derivatives(*problem, new)
        while ahead[0] < value - 1e-12 * abs(value) and np.abs(step).max() > 1e-12:
            step = step / 2
            new = beta + step
            ahead = _derivatives(*problem, new)
        beta, (value, gradient, information) = new, ahead
        if np.abs(step).max() <= 1e-7 * (1 + np.abs(beta).max()):
            # Newton squares the error: this step left nothing above rounding
            return beta, information, value, True
        if np.abs(beta).max() > 1e3:
            break
    return beta, information, value, False


def _derivatives(
    design: Floats, pos: Floats, cases: Floats, offset: Floats, beta: Floats
) -> tuple[float, Floats, Floats]:
    """Give log-likelihood, its gradient and the information, block by block."""
    size = beta.size
    value, gradient, information = 0.0, np.zeros(size), np.zeros((size, size))
    for b in blocks(cases.size, _BLOCK):
        x, n = design[:, b], cases[b]
        eta = np.einsum("k,ki->i", beta, x) + offset[b]
        small = np.exp(-np.abs(eta))
        above = eta >= 0
        # each class apart: of 1e15 cases, n p is rounded by more than the other class
        hit, miss = pos[b], n - pos[b]
        likely, other = 1.0 / (1.0 + small), small / (1.0 + small)
        p, q = np.where(above, likely, other), np.where(above, other, likely)
        rest = np.log1p(small)
        value -= float(hit @ (rest - np.minimum(eta, 0)))
        value -= float(miss @ (rest + np.maximum(eta, 0)))
        gradient += np.einsum("ki,i->k", x, hit * q - miss * p)
        weight = n * small / (1.0 + small) ** 2
        information += np.einsum("ki,li->kl", x * weight, x)
    return value, gradient, information


def coefficient_influence(
    design: Floats, odds: Floats, cases: Array
) -> tuple[Floats, Floats]:
    """What adds a residual of each row to fitted coefficients (m, k)? And the fit.

    ``design`` are the columns (m, k), ``odds`` the fitted log-odds of the rows.
    """
    p = 1 / (1 + np.exp(-np.clip(odds, -700, 700)))
    information = (design.T * (cases * p * (1 - p))) @ design
    return design @ np.linalg.pinv(information, hermitian=True), p


def separated(column: Floats, pos: Array, neg: Array, at: float | None = None) -> bool:
    """Does a cut part the classes, but for cases at the cut itself?

    Then the likelihood has no maximum. With ``at`` only that cut counts, and only with
    the positives above it (a curve through 1/2 there, without an intercept).
    """
    high, low = column[pos > 0], column[neg > 0]
    if at is not None:
        return bool(high.min() >= at >= low.max() and high.max() > low.min())
    apart = high.min() >= low.max() or low.min() >= high.max()
    return bool(apart and column.max() > column.min())
