"""Which logistic curve fits these counts best?

Maximum likelihood on rows of counts by Newton's method: the calibrators, the
calibration slope and the chances of cases without a label all come down to this.
Columns are centred and scaled first (scores of 1e6 plus or minus 1 are as good as any),
and a long table is started from a pooled one, so that it takes two or three passes.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import final

import numpy as np

from trueness._core.arrays import Array, Floats, blocks

_Problem = tuple[Floats, Floats, Floats, Floats]
_POOLED = 4096
# products of a few long rows: einsum and short blocks keep BLAS from waking its
# threads, which costs fifty times the work itself on a busy machine
_BLOCK = 8192
_PASSES = 50
# binary exponent of the smallest column that is told from 0
_TINY = -1015


@final
@dataclass(frozen=True)
class LogisticFit:
    """What came out: intercept first, then one coefficient a column.

    ``converged`` is False where the likelihood has no maximum (separated classes).
    """

    coefficients: Floats
    covariance: Floats
    log_likelihood: float
    converged: bool


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
    first entry of ``coefficients`` is 0.
    """
    cases = np.asarray(pos + neg, dtype=np.float64)
    offset = np.zeros(cases.size) if offset is None else offset
    # squares of 1e300 are no numbers: a power of two changes no digit
    power = [int(np.frexp(np.abs(c).max(initial=0.0))[1]) for c in columns]
    columns = [
        np.ldexp(c, -p) * (p > _TINY) for c, p in zip(columns, power, strict=True)
    ]
    power = [max(p, _TINY) for p in power]
    centre, scale = _standard(columns, cases, intercept)
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
    back = np.ldexp(_unstandardise(centre, scale), [[0], *([-p] for p in power)])
    # in units of 1e-300 a variance may be infinite, and a covariance then unknown
    with np.errstate(over="ignore", invalid="ignore"):
        covariance = back @ np.linalg.pinv(information, hermitian=True) @ back.T
    return LogisticFit(back @ beta, covariance, value, converged)


def _standard(
    columns: Sequence[Floats], cases: Floats, intercept: bool
) -> tuple[list[float], list[float]]:
    total = cases.sum()
    centre = [float(c @ cases / total) if intercept else 0.0 for c in columns]
    spread = [
        float(np.sqrt(cases @ (c - m) ** 2 / total))
        for c, m in zip(columns, centre, strict=True)
    ]
    # a constant column cannot be told from the intercept: its coefficient stays 0; one
    # of numbers below 1e-300 would need a coefficient that no float can hold
    tiny = [
        s <= 1e-14 * np.abs(c).max(initial=0.0)
        for s, c in zip(spread, columns, strict=True)
    ]
    return centre, [np.inf if t else s for s, t in zip(spread, tiny, strict=True)]


def _unstandardise(centre: list[float], scale: list[float]) -> Floats:
    back = np.diag([1.0, *(1 / s for s in scale)])
    back[0, 1:] = [-m / s for m, s in zip(centre, scale, strict=True)]
    return back


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
