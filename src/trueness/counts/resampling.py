"""What would other samples of the same size have shown?

The bootstrap on counts. To draw n cases with replacement is one multinomial draw on the
rows of a tally, so no case is ever copied. ``draw`` makes many such draws at once;
``replicates`` gives them class by class in blocks that fit into memory; ``resample``
makes one tally. Positives and negatives are drawn apart (stratified) unless asked
otherwise.

A multinomial draw of n cases is made from Poisson counts: these are independent, and
given their sum they are multinomial. Their mean is kept a little below one a case, so
that the sum falls short of n, and the missing cases are added one by one. Nothing is
approximated. Rows with equal counts share a table of 256 entries that turns a random
byte into a Poisson count; the bytes that the table cannot settle are drawn from what is
left of the distribution.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np

from trueness._core.arrays import Array, Floats, Ints
from trueness._core.checks import cases as _cases
from trueness._core.checks import options as _options
from trueness._core.progress import progress
from trueness.counts.bins import merge_bins
from trueness.counts.values import (
    Panel,
    Tally,
    panel_of_rows,
    tally_of_bins,
    tally_of_weights,
)
from trueness.counts.weights import gamma_draw

Seed = int | np.random.Generator | None

# entries (replicates times rows) of a block: 8 MiB of counts
_CELLS = 1 << 20
# below this many cases, or with few rows, NumPy's own multinomial draw costs less
_FEW = 1 << 12
# a Poisson count of mean 128 fits into a byte (over 254: once in 10**22 draws);
# 255 means "not settled"
_BYTE = 128
_OPEN = 255


class _ChoiceTable(NamedTuple):
    """How does a random byte become a Poisson count?"""

    byte: bytes
    rest: Floats  # cumulative probabilities of the counts of unsettled bytes


def draw(
    count: Ints, replicates: int, rng: Seed = 0, *, dtype: Any = np.int64
) -> Array:
    """How often would each row be met if all cases were drawn anew with replacement?

    Parameters
    ----------
    count
        Cases of each row (m,).
    replicates
        How many draws.
    rng
        Seed or generator.
    dtype
        Integer type of the result; ``compact(count)`` is the smallest safe one.

    Returns
    -------
    array (replicates, m)
        Exact multinomial counts; each row of it adds up to ``count.sum()``.
    """
    rng = _options.generator(rng)
    n = int(count.sum())
    if n == 0:
        return np.zeros((replicates, count.size), dtype=dtype)
    if n < _FEW or count.size**2 < n:
        share = count / n
        return rng.multinomial(n, share, size=replicates).astype(dtype, copy=False)
    out = _poisson_counts(count, replicates, 1 - 4 / np.sqrt(n), rng)
    return _fill_up(out.astype(dtype, copy=False), count, n, rng)


def compact(count: Ints) -> Any:
    """Which integer type holds every count that a draw can give?"""
    if count.max(initial=0) <= _BYTE // 2:
        return np.uint8
    return np.int32 if count.sum() < 2**31 else np.int64


def _poisson_counts(
    count: Ints, replicates: int, mean: float, rng: np.random.Generator
) -> Array:
    """Draw independent Poisson counts with means mean * count."""
    order = np.argsort(count, kind="stable")
    kinds, start = np.unique(count[order], return_index=True)
    edges = [*start.tolist(), count.size]
    small = int(np.searchsorted(kinds, _BYTE, side="right"))
    out = np.empty((replicates, count.size), compact(count))
    for k, c in enumerate(kinds[:small].tolist()):
        part = slice(edges[k], edges[k + 1])
        size = (replicates, part.stop - part.start)
        out[:, part] = _from_bytes(_table(mean * c), size, rng) if c else 0
    many = slice(edges[small], count.size)
    if many.start < many.stop:
        means = mean * count[order[many]]
        out[:, many] = rng.poisson(means, (replicates, means.size))
    if kinds.size == 1:
        return out
    back = np.empty(count.size, dtype=np.intp)
    back[order] = np.arange(count.size)
    return np.take(out, back, axis=1)


def multiplicities(n: int, rng: np.random.Generator) -> Array:
    """How often is each of n cases taken, a Poisson(1) number of times each?"""
    return _from_bytes(_table(1.0), (1, n), rng).reshape(n)


@lru_cache(maxsize=1024)
def _table(mean: float) -> _ChoiceTable:
    """Settle as many of the 256 bytes as the Poisson probabilities allow."""
    from scipy.special import gammaln

    k = np.arange(_OPEN)
    probability = np.exp(k * np.log(mean) - mean - gammaln(k + 1))
    # whole bytes for each count; what is left over is drawn by inversion
    share = 256 * probability
    settled = np.floor(share)
    byte = np.repeat(k, settled.astype(int)).astype(np.uint8)
    table = np.full(256, _OPEN, dtype=np.uint8)
    table[: byte.size] = byte
    rest = np.cumsum(share - settled)
    return _ChoiceTable(table.tobytes(), rest / rest[-1])


def _from_bytes(
    table: _ChoiceTable, shape: tuple[int, int], rng: np.random.Generator
) -> Array:
    size = shape[0] * shape[1]
    words = rng.integers(0, 2**64 - 1, -(-size // 8), dtype=np.uint64, endpoint=True)
    settled = bytearray(words.tobytes().translate(table.byte))
    count = np.frombuffer(settled, np.uint8)[:size]
    still = np.flatnonzero(count == _OPEN)
    count[still] = np.searchsorted(table.rest, rng.random(still.size), side="right")
    return count.reshape(shape)


def _fill_up(out: Array, count: Ints, n: int, rng: np.random.Generator) -> Array:
    """Add the cases by which each draw falls short."""
    lacking = n - out.sum(axis=1, dtype=np.int64)
    for r in np.flatnonzero(lacking < 0):  # once in thirty thousand draws
        out[r], lacking[r] = rng.multinomial(n, count / n), 0
    m = count.size
    case = rng.integers(0, n, size=int(lacking.sum()))
    row = case if n == m else _row_of(case, count, n)
    row += np.repeat(np.arange(len(out)) * m, lacking)
    np.add.at(out.reshape(-1), row, out.dtype.type(1))
    return out


def _row_of(case: Array, count: Ints, n: int) -> Array:
    """Which row holds this case?"""
    if n <= 4 * case.size + _CELLS:  # a list of all cases is cheaper than searches
        row: Array = np.repeat(np.arange(count.size), count)[case]
    else:
        row = np.searchsorted(np.cumsum(count), case, side="right")
    return row


def replicates(
    x: Tally | Panel, number: int, rng: Seed = 0, *, stratified: bool = True
) -> Iterator[tuple[Array, Array]]:
    """Which counts of negatives and positives would other samples have shown?

    Yields blocks (neg, pos), each of shape (some replicates, m), for the rows of ``x``.
    ``stratified=False`` draws all labelled cases together, so that the number of
    positives varies too. Weighted cases are drawn by the Bayesian bootstrap, in which
    the weight of a class varies either way.
    """
    rng = _options.generator(rng)
    m = len(x)
    step = max(1, min(number, _CELLS // max(m, 1)))
    for start in range(0, number, step):
        some = min(step, number - start)
        if x.weighted:
            neg, pos, _ = x.squares
            yield gamma_draw(x.neg, neg, some, rng), gamma_draw(x.pos, pos, some, rng)
        elif stratified:
            yield _class_draw(x.neg, some, rng), _class_draw(x.pos, some, rng)
        else:
            both = _class_draw(np.concatenate([x.neg, x.pos]), some, rng)
            yield both[:, :m], both[:, m:]


def _class_draw(count: Ints, some: int, rng: np.random.Generator) -> Array:
    """Draw the cases of a class; rows without a case take no part."""
    at = np.flatnonzero(count)
    if at.size == count.size:
        return draw(count, some, rng)
    out = np.zeros((some, count.size), dtype=np.int64)
    out[:, at] = draw(count[at], some, rng)
    return out


def resample(t: Tally, rng: Seed = 0, *, stratified: bool = True) -> Tally:
    """What would another sample of the same size have shown? Labelled cases only."""
    _cases.one_classifier(t, "resample")
    stratified = _options.yes_or_no(stratified, "stratified")
    neg, pos = next(replicates(t, 1, rng, stratified=stratified))
    if t.weighted:
        return drawn_tally(t, t.score, neg[0], pos[0])
    if t.binned:
        counts = (neg[0], pos[0], np.zeros_like(neg[0]))
        return tally_of_bins(*merge_bins(t.score, t.high, counts))
    return Tally(t.score, neg[0], pos[0])


def drawn_tally(x: Tally | Panel, score: Floats, neg: Array, pos: Array) -> Tally:
    """Make a tally of drawn counts, or weights, of the rows of ``x``."""
    if not x.weighted:
        return Tally(score, neg, pos)
    return tally_of_weights(score, _drawn_weights(x, neg, pos))


def drawn_panel(x: Panel, neg: Array, pos: Array) -> Panel:
    """Make a panel of drawn counts, or weights, of the rows of ``x``."""
    if not x.weighted:
        return Panel(x.names, x.rows, neg, pos)
    some = neg + pos > 0
    columns = (c[some] for c in (x.rows, *_drawn_weights(x, neg, pos)))
    return panel_of_rows(x.names, *columns)


def _drawn_weights(x: Tally | Panel, neg: Array, pos: Array) -> list[Array]:
    """Give drawn weights their squares.

    A drawn weight keeps the ratio of square to weight of its row: what a case weighs.
    """
    zero, drawn = np.zeros(neg.size), (neg, pos)
    squares = [
        np.divide(q * new, old, out=np.zeros(zero.size), where=old > 0)
        for q, new, old in zip(x.squares[:2], drawn, (x.neg, x.pos), strict=True)
    ]
    return [neg, pos, zero, *squares, zero]


def bootstrap(
    x: Tally | Panel,
    statistic: Callable[[Array, Array], Any],
    number: int,
    rng: Seed = 0,
    *,
    stratified: bool = True,
) -> Floats:
    """How does a number vary between samples?

    ``statistic`` takes (neg, pos) of shape (r, m) and gives (r,) or (r, ...) values.
    """
    parts = []
    with progress("Bootstrap", number, "samples") as went_by:
        for neg, pos in replicates(x, number, rng, stratified=stratified):
            parts.append(np.asarray(statistic(neg, pos), dtype=np.float64))
            went_by(len(neg))
    return np.concatenate(parts)


def percentile_interval(values: Floats, level: float) -> tuple[float, float]:
    """Between which values lies the middle share of the replicates?"""
    low, high = np.quantile(values, [(1 - level) / 2, (1 + level) / 2])
    return float(low), float(high)


def bca_interval(
    value: float, values: Floats, influence: Floats, weight: Any, level: float
) -> tuple[float, float]:
    r"""Which percentiles remain after correcting for bias and acceleration?

    ``influence`` are the empirical influence values of the cases, ``weight`` how many
    cases have each; the acceleration is :math:`\sum l^3 / (6 (\sum l^2)^{3/2})`.

    References
    ----------
    Efron (1987), J. Am. Stat. Assoc. 82:171, doi:10.1080/01621459.1987.10478410
    """
    from scipy.special import ndtr, ndtri

    # median bias: how much of the bootstrap lies below the value itself
    below = np.mean(values < value) + np.mean(values == value) / 2
    z0 = ndtri(np.clip(below, 0.5 / values.size, 1 - 0.5 / values.size))
    square = float(np.sum(weight * influence**2))
    cube = float(np.sum(weight * influence**3))
    a = cube / (6 * square**1.5) if square > 0 else 0.0
    z = z0 + ndtri(np.array([(1 - level) / 2, (1 + level) / 2]))
    # Efron (1987): the percentiles that are free of bias and of changing spread
    low, high = np.quantile(values, np.clip(ndtr(z0 + z / (1 - a * z)), 0, 1))
    return float(low), float(high)
