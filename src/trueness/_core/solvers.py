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
from typing import Any, NamedTuple, TypeVar

import numpy as np
from numpy.typing import ArrayLike

from trueness._core.arrays import Array, Floats, blocks
from trueness._core.checks.errors import InputError
from trueness._core.progress import stop_if_requested

# 60 halvings of [0, 1] reach the last digit of a float
_STEPS = 60
Choice = TypeVar("Choice")


def bisect(
    inside: Callable[[Any], Any], start: ArrayLike, end: ArrayLike, steps: int = _STEPS
) -> Any:
    """Return how far from ``start`` towards ``end`` a condition holds (float or array).

    ``inside`` is taken to hold at the start, and once it fails, to fail further on. The
    way is halved ``steps`` times, and the last place that held is returned.

    >>> round(float(bisect(lambda x: x * x <= 0.25, 0.0, 1.0)), 12)
    0.5
    """
    start, end = np.broadcast_arrays(np.asarray(start, float), np.asarray(end, float))
    farthest = end
    holds_to_the_end = inside(farthest)
    for _ in range(steps):
        stop_if_requested()
        middle = (start + end) / 2
        holds = inside(middle)
        start = np.where(holds, middle, start)
        end = np.where(holds, end, middle)

    return np.where(holds_to_the_end, farthest, start)[()]


def rises_above_zero(
    function: Callable[[float], float], start: float, end: float
) -> float:
    """Return where a continuous function rises above zero, on the way to ``end``.

    ``start`` where it is not below zero there, ``end`` where it never rises above. By
    SciPy's ``brentq`` (Brent 1973), to the last digits.

    >>> rises_above_zero(lambda x: x * x - 0.25, 0.0, 1.0)
    0.5
    """
    from scipy.optimize import brentq

    if not function(start) < 0:
        return start
    if not function(end) > 0:
        return end

    # the tolerance is relative: roots may be as small as a probability
    return float(
        brentq(function, start, end, xtol=1e-300, rtol=4 * np.finfo(float).eps)
    )


def smallest(
    enough: Callable[[int], bool],
    *,
    start: int = 1,
    largest: int = 1 << 50,
    analysis: str = "the search",
) -> int:
    """Return the smallest whole number, from ``start`` on, that is enough.

    >>> smallest(lambda n: n * n >= 1000)
    32
    """
    # double until it is enough, then halve the gap between too few and enough
    low = start - 1
    high = start
    while not enough(high):
        stop_if_requested()
        low = high
        high = 2 * high
        if high > largest:
            raise InputError(
                f"{analysis} found no sample size below 10^15. Choose a wider interval "
                "or a smaller power."
            )

    while high - low > 1:
        stop_if_requested()
        middle = (low + high) // 2
        if enough(middle):
            high = middle
        else:
            low = middle

    return high


def largest_quotient(
    best: Callable[[Fraction], Choice], ratio: Callable[[Choice], Fraction | None]
) -> tuple[Fraction, Choice, Choice, int]:
    """Return where a quotient is largest, when only differences can be maximised.

    ``best(q)`` returns the choice that maximises ``over - q * under``; ``ratio``
    returns the quotient of a choice, None when nothing is allowed. The answer is the
    largest quotient, the choice that has it, what the last search chose in proof of
    that, and the number of searches.

    The largest difference is zero exactly at the largest quotient (Dinkelbach 1967,
    Manag. Sci. 13:492). Quotients are fractions: the end is reached, not approached.

    >>> pairs = [(1, 2), (3, 4), (2, 3)]
    >>> largest_quotient(
    ...     lambda q: max(pairs, key=lambda p: p[0] - q * p[1]), lambda p: Fraction(*p)
    ... )[0]
    Fraction(3, 4)
    """
    quotient = Fraction(0)
    choice = best(quotient)
    searches = 1
    while (reached := ratio(choice)) is not None:
        stop_if_requested()
        quotient = reached
        next_choice = best(quotient)
        searches += 1
        next_quotient = ratio(next_choice)
        if next_quotient is None or next_quotient <= quotient:
            return quotient, choice, next_choice, searches
        choice = next_choice

    return quotient, choice, choice, searches


def pooled_blocks(part_sums: Array, total: Array, *, increasing: bool = True) -> Array:
    """Return where blocks of rows start within which part / whole is pooled.

    The number of rows is the last entry. Neighbouring blocks may have equal
    proportions.

    >>> pooled_blocks(np.array([0, 1, 1, 2]), np.array([2, 1, 3, 2])).tolist()
    [0, 1, 3, 4]
    """
    from scipy.optimize import isotonic_regression

    stop_if_requested()
    weight = total.astype(np.float64)
    pooled = isotonic_regression(
        part_sums / total, weights=weight, increasing=increasing
    )
    return np.asarray(pooled.blocks)


def concave_corners(up: Array, right: Array) -> Array:
    """Return the points at which the concave hull of a rising path touches it.

    The path takes these steps; point 0 is its start. The slopes of the hull are the
    pooled slopes of the steps (Fawcett and Niculescu-Mizil 2007).

    >>> concave_corners(np.array([1, 0, 1]), np.array([0, 1, 0])).tolist()
    [0, 1, 3]
    """
    steps = np.flatnonzero(up + right > 0)
    length = up[steps] + right[steps]
    block_starts = pooled_blocks(up[steps], length, increasing=False)
    return np.append(0, steps + 1)[block_starts]


def pool_violators(pos: Array, neg: Array) -> tuple[Floats, Array]:
    """Return the proportion of positives of each block, ascending, and block starts.

    The proportions come from whole counts, so equal ones are equal to the last bit, and
    neighbouring blocks differ.
    """
    cases = pos + neg
    start = pooled_blocks(pos, cases)
    proportion = _block_proportions(pos, cases, start)
    rises = np.concatenate([[True], proportion[1:] > proportion[:-1]])
    if not rises.all():  # rounding kept apart what is equal
        start = np.append(start[:-1][rises], start[-1])
        proportion = _block_proportions(pos, cases, start)

    return proportion, start


def isotonic_curve(pos: Array, neg: Array) -> Floats:
    """Return the isotonic proportion of positives of every row.

    >>> isotonic_curve(np.array([0, 1, 0, 2]), np.array([1, 0, 1, 0])).tolist()
    [0.0, 0.5, 0.5, 1.0]
    """
    proportion, start = pool_violators(pos, neg)
    return np.repeat(proportion, np.diff(start))


def _block_proportions(pos: Array, cases: Array, start: Array) -> Floats:
    """Return the proportion of positives among the cases of each block."""
    return np.add.reduceat(pos, start[:-1]) / np.add.reduceat(cases, start[:-1])


# a table is pooled to so many rows for a start
_POOLED_ROWS = 4096
# products of a few long rows: einsum and short blocks keep BLAS from waking its
# threads, which costs fifty times the work itself on a busy machine
_BLOCK = 8192
_MAX_NEWTON_STEPS = 50
# binary exponent of the smallest column that is distinguished from 0
_SMALLEST_EXPONENT = -1015


class LogisticFit(NamedTuple):
    """A logistic curve that was fitted to counts."""

    coefficients: Floats  # the intercept first
    covariance: Floats
    log_likelihood: float
    converged: bool  # not where there is no maximum (separated classes)


class _Problem(NamedTuple):
    """What a logistic curve is fitted to."""

    design: Floats  # (coefficients, rows)
    pos: Floats
    cases: Floats
    offset: Floats


def fit_logistic(
    columns: Sequence[Floats],
    pos: Array,
    neg: Array,
    *,
    intercept: bool = True,
    offset: Floats | None = None,
) -> LogisticFit:
    """Maximise the likelihood of counts (whole or smoothed) at the rows of ``columns``.

    The rows must be in the order of the score, for pooling. Without an intercept the
    first coefficient is 0.
    """
    cases = np.asarray(pos + neg, dtype=np.float64)
    standardized, back = _standardize(columns, cases, centred=intercept)
    problem = _Problem(
        design=np.stack([np.full(cases.size, float(intercept)), *standardized]),
        pos=np.asarray(pos, dtype=np.float64),
        cases=cases,
        offset=np.zeros(cases.size) if offset is None else offset,
    )

    # from the base rate on: from log-odds of 0, a step towards odds of 1e-13 is one of
    # thirty, and the steps end before the climb does
    start = np.zeros(len(problem.design))
    if intercept and pos.sum() > 0 and neg.sum() > 0:
        start[0] = math.log(pos.sum()) - math.log(neg.sum())
    if cases.size > 8 * _POOLED_ROWS:
        start = _newton(_pool(problem), start).coefficients
    maximum = _newton(problem, start)

    # in units of 1e-300 a variance may be infinite, and a covariance then unknown
    with np.errstate(over="ignore", invalid="ignore"):
        inverse = np.linalg.pinv(maximum.information, hermitian=True)
        covariance = back @ inverse @ back.T

    return LogisticFit(
        back @ maximum.coefficients,
        covariance,
        maximum.log_likelihood,
        maximum.converged,
    )


def _standardize(
    columns: Sequence[Floats], cases: Floats, *, centred: bool
) -> tuple[list[Floats], Floats]:
    """Return columns of mean 0 and variance 1, and the matrix that undoes it.

    The matrix turns the coefficients of these columns into those of the given ones.
    """
    total = cases.sum()
    standardized = []
    back = np.eye(len(columns) + 1)
    for k, column in enumerate(columns, start=1):
        # squares of 1e300 are no numbers: a power of two changes no digit
        exponent = int(np.frexp(np.abs(column).max(initial=0.0))[1])
        if exponent > _SMALLEST_EXPONENT:
            scaled = np.ldexp(column, -exponent)
        else:
            exponent = _SMALLEST_EXPONENT
            scaled = np.zeros_like(column)

        centre = float(scaled @ cases / total) if centred else 0.0
        deviation = scaled - centre
        scale = float(np.sqrt(cases @ deviation**2 / total))
        # the mean of equal values is off by its last digit, and so is their deviation
        if scale <= 1e-14 * np.abs(scaled).max(initial=0.0):
            # a constant column is like the intercept: its coefficient stays 0
            scale = np.inf
        standardized.append(deviation / scale)
        back[0, k] = -centre / scale
        back[k, k] = np.ldexp(1 / scale, -exponent)

    return standardized, back


def _pool(problem: _Problem) -> _Problem:
    """Return a problem of fewer rows: neighbouring rows are one, at their mean.

    Each pooled row begins where the next equal part of the cases begins, so that all
    have about equally many cases.
    """
    cases = problem.cases
    cases_so_far = np.cumsum(cases)
    cuts = np.linspace(0, cases_so_far[-1], _POOLED_ROWS + 1)[:-1]
    # a row with many cases may hold several cuts, and then starts one pooled row only
    start = np.unique(np.searchsorted(cases_so_far, cuts, side="right"))

    pooled_cases = np.add.reduceat(cases, start)
    design_sums = np.add.reduceat(problem.design * cases, start, axis=1)
    offset_sums = np.add.reduceat(problem.offset * cases, start)
    return _Problem(
        design=design_sums / pooled_cases,
        pos=np.add.reduceat(problem.pos, start),
        cases=pooled_cases,
        offset=offset_sums / pooled_cases,
    )


class _NewtonResult(NamedTuple):
    """Where Newton's method ended."""

    coefficients: Floats
    information: Floats
    log_likelihood: float
    converged: bool


def _newton(problem: _Problem, start: Floats) -> _NewtonResult:
    """Return the maximum of the concave log-likelihood, by damped Newton steps."""
    beta = start
    current = _derivatives(problem, beta)
    converged = False
    for _ in range(_MAX_NEWTON_STEPS):
        stop_if_requested()
        # least squares: where a column repeats others, the information is singular
        step = np.linalg.lstsq(current.information, current.gradient, rcond=1e-13)[0]
        ahead = _derivatives(problem, beta + step)
        # near the maximum a sum over many cases falls by rounding alone
        rounding = 1e-12 * abs(current.log_likelihood)
        lowest_allowed = current.log_likelihood - rounding
        # a step that went too far is halved
        while ahead.log_likelihood < lowest_allowed and np.abs(step).max() > 1e-12:
            step = step / 2
            ahead = _derivatives(problem, beta + step)

        beta = beta + step
        current = ahead
        if np.abs(step).max() <= 1e-7 * (1 + np.abs(beta).max()):
            # Newton squares the error: this step left nothing above rounding
            converged = True
            break
        if np.abs(beta).max() > 1e3:
            # on columns of variance 1 this is a likelihood that rises for ever, as of
            # separated classes
            break

    return _NewtonResult(beta, current.information, current.log_likelihood, converged)


class _Derivatives(NamedTuple):
    """The log-likelihood and its derivatives."""

    log_likelihood: float
    gradient: Floats
    information: Floats


def _derivatives(problem: _Problem, beta: Floats) -> _Derivatives:
    """Return log-likelihood, its gradient and the information, block by block."""
    log_likelihood = 0.0
    gradient = np.zeros(beta.size)
    information = np.zeros((beta.size, beta.size))
    for block in blocks(problem.cases.size, _BLOCK):
        x = problem.design[:, block]
        cases = problem.cases[block]
        pos = problem.pos[block]
        neg = cases - pos
        log_odds = np.einsum("k,ki->i", beta, x) + problem.offset[block]

        # the odds of the less likely class: at most 1, so they never overflow
        odds = np.exp(-np.abs(log_odds))
        likelier_class = 1.0 / (1.0 + odds)
        other_class = odds / (1.0 + odds)
        is_pos_likelier = log_odds >= 0
        p_pos = np.where(is_pos_likelier, likelier_class, other_class)
        p_neg = np.where(is_pos_likelier, other_class, likelier_class)

        # each class by itself: of 1e15 cases, n p is rounded by more than the other
        minus_log_likelier = np.log1p(odds)
        log_likelihood -= float(pos @ (minus_log_likelier - np.minimum(log_odds, 0)))
        log_likelihood -= float(neg @ (minus_log_likelier + np.maximum(log_odds, 0)))

        gradient += np.einsum("ki,i->k", x, pos * p_neg - neg * p_pos)
        weight = cases * odds / (1.0 + odds) ** 2  # n p (1 - p)
        information += np.einsum("ki,li->kl", x * weight, x)

    return _Derivatives(log_likelihood, gradient, information)


def coefficient_influence(
    design: Floats, odds: Floats, cases: Array
) -> tuple[Floats, Floats]:
    """Return what a residual of each row adds to coefficients (m, k), and the fit (m,).

    ``design`` are the columns (m, k), ``odds`` the fitted log-odds of the rows.
    """
    # clipped, so that the exponential does not overflow
    p = 1 / (1 + np.exp(-np.clip(odds, -700, 700)))
    # X' diag(n p (1 - p)) X
    information = (design.T * (cases * p * (1 - p))) @ design
    return design @ np.linalg.pinv(information, hermitian=True), p


def are_separated(
    column: Floats, pos: Array, neg: Array, only_cut: float | None = None
) -> bool:
    """Return whether a cut separates the classes, but for cases at the cut itself.

    Then the likelihood has no maximum. With ``only_cut`` no other cut counts, and
    that one only with the positives above it (a curve through 1/2 there, without an
    intercept).
    """
    positives = column[pos > 0]
    negatives = column[neg > 0]
    if only_cut is not None:
        separates = positives.min() >= only_cut >= negatives.max()
        return bool(separates and positives.max() > negatives.min())

    above = positives.min() >= negatives.max()
    below = negatives.min() >= positives.max()
    return bool((above or below) and column.max() > column.min())
