"""What would other samples of the same size have shown?

To draw n cases with replacement is one multinomial draw on the rows of a tally. It is
made from Poisson counts, which are multinomial given their sum: their mean is a little
below one per case, and the missing cases are added one by one. Rows with equal counts
share a table that turns a random byte into a Poisson count. Bytes that do not determine
the count are followed by a draw from the rest of the distribution, so all draws are
exact.

``simulate_tally`` and ``simulate_panel`` draw Gaussian scores of a classifier of known
quality, and of several classifiers with correlated errors.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cached_property, lru_cache
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, DTypeLike

from trueness._core.arrays import Array, Floats, Ints, blocks, no_cases
from trueness._core.checks import cases as _cases
from trueness._core.checks import columns as _columns
from trueness._core.checks import options as _options
from trueness._core.checks.errors import InputError
from trueness._core.checks.words import described, is_several
from trueness._core.progress import progress
from trueness.counts.cases import assign_clusters, keep_rows, with_counts
from trueness.counts.clusters import Clusters
from trueness.counts.placements import runs
from trueness.counts.sorting import count_scores
from trueness.counts.values import Panel, Tally, tally_of_rows

Seed = int | np.random.Generator | None

# entries (replicates times rows) of a block: 8 MiB of counts
_CELLS = 1 << 20
# below this many cases, or with few rows, NumPy's own multinomial draw costs less
_FEW_CASES = 1 << 12
# a Poisson count of mean 128 fits into a byte (over 254: once in 10**22 draws);
# 255 means that the byte does not determine the count
_MAX_BYTE_MEAN = 128
_UNDETERMINED = 255


class _ByteTable(NamedTuple):
    """How a random byte becomes a Poisson count."""

    count_of_byte: bytes  # 255 where the byte does not determine the count
    cumulative: Floats  # probabilities of the counts, given such a byte


class _RowsOfCases:
    """Rows of cases to be redrawn, with what all blocks of draws share."""

    def __init__(self, count: Ints) -> None:
        self.count = count
        self.n = int(count.sum())

    @cached_property
    def order(self) -> Array:
        """Rows with equal counts side by side, since they share a table."""
        return np.argsort(self.count, kind="stable")

    @cached_property
    def place(self) -> Array:
        """Return where each row is in that order."""
        position = np.empty(self.count.size, dtype=np.intp)
        position[self.order] = np.arange(self.count.size)
        return position

    @cached_property
    def distinct_counts(self) -> tuple[Ints, list[int]]:
        """The counts that occur, and where the rows of each begin in the order."""
        distinct, start = np.unique(self.count[self.order], return_index=True)
        return distinct, [*start.tolist(), self.count.size]

    @cached_property
    def row_of_case(self) -> Array:
        """The row of each case, when cases are numbered row by row."""
        return np.repeat(np.arange(self.count.size, dtype=np.int32), self.count)


def draw(
    count: Ints, replicates: int, rng: Seed = 0, *, dtype: DTypeLike = np.int64
) -> Array:
    """Return how many redrawn cases fall on each row, of shape (replicates, m).

    Exact multinomial counts. ``compact(count)`` is the smallest safe ``dtype``.
    """
    return _draw(_RowsOfCases(count), replicates, _options.generator(rng), dtype)


def _draw(
    rows: _RowsOfCases, replicates: int, rng: np.random.Generator, dtype: DTypeLike
) -> Array:
    """Return a block of exact multinomial counts, as ``draw`` does."""
    count = rows.count
    if rows.n == 0:
        return np.zeros((replicates, count.size), dtype=dtype)
    if rows.n < _FEW_CASES or count.size**2 < rows.n:
        drawn = rng.multinomial(rows.n, count / rows.n, size=replicates)
        return drawn.astype(dtype, copy=False)

    # a total four standard deviations below n, so that hardly any draw exceeds n
    mean_per_case = 1 - 4 / np.sqrt(rows.n)
    drawn = _poisson_counts(rows, replicates, mean_per_case, rng)
    return _fill_up(drawn.astype(dtype, copy=False), rows, rng)


def compact(count: Ints) -> Any:
    """Return a small integer type that holds all counts of a draw."""
    if count.max(initial=0) <= _MAX_BYTE_MEAN // 2:
        return np.uint8
    return np.int32 if count.sum() < 2**31 else np.int64


def _poisson_counts(
    rows: _RowsOfCases,
    replicates: int,
    mean_per_case: float,
    rng: np.random.Generator,
) -> Array:
    """Return independent Poisson counts with means ``mean_per_case * count``."""
    count = rows.count
    distinct, edges = rows.distinct_counts
    drawn = np.empty((replicates, count.size), compact(count))

    # small counts by tables of bytes, one table for all rows with the same count
    number_by_table = int(np.searchsorted(distinct, _MAX_BYTE_MEAN, side="right"))
    for k, row_count in enumerate(distinct[:number_by_table].tolist()):
        equal_rows = slice(edges[k], edges[k + 1])
        if row_count == 0:
            drawn[:, equal_rows] = 0
            continue
        table = _byte_table(mean_per_case * row_count)
        shape = (replicates, equal_rows.stop - equal_rows.start)
        drawn[:, equal_rows] = _draw_bytes(table, shape, rng)

    # large counts by NumPy
    large_rows = slice(edges[number_by_table], count.size)
    if large_rows.start < large_rows.stop:
        means = mean_per_case * count[rows.order[large_rows]]
        drawn[:, large_rows] = rng.poisson(means, (replicates, means.size))

    if distinct.size == 1:  # the rows were not reordered
        return drawn
    return np.take(drawn, rows.place, axis=1)


@lru_cache(maxsize=1024)
def _byte_table(mean: float) -> _ByteTable:
    """Return the table of a Poisson distribution with this mean.

    Each count owns as many whole bytes as its probability times 256 allows.
    """
    from scipy.special import gammaln

    count = np.arange(_UNDETERMINED)
    probability = np.exp(count * np.log(mean) - mean - gammaln(count + 1))
    bytes_due = 256 * probability
    whole_bytes = np.floor(bytes_due)
    count_of_byte = np.repeat(count, whole_bytes.astype(int)).astype(np.uint8)
    table = np.full(256, _UNDETERMINED, dtype=np.uint8)
    table[: count_of_byte.size] = count_of_byte

    # the remaining bytes lead to a second draw, by inversion
    remainder = np.cumsum(bytes_due - whole_bytes)
    return _ByteTable(table.tobytes(), remainder / remainder[-1])


def _draw_bytes(
    table: _ByteTable, shape: tuple[int, int], rng: np.random.Generator
) -> Array:
    """Return Poisson counts from random bytes, by the table of their distribution."""
    size = shape[0] * shape[1]
    # a random integer of 64 bits makes eight bytes
    integers = -(-size // 8)
    random = rng.integers(0, 2**64 - 1, integers, dtype=np.uint64, endpoint=True)
    counts = bytearray(random.tobytes().translate(table.count_of_byte))
    drawn = np.frombuffer(counts, np.uint8)[:size]

    undetermined = np.flatnonzero(drawn == _UNDETERMINED)
    uniform = rng.random(undetermined.size)
    drawn[undetermined] = np.searchsorted(table.cumulative, uniform, side="right")
    return drawn.reshape(shape)


def _fill_up(drawn: Array, rows: _RowsOfCases, rng: np.random.Generator) -> Array:
    """Add the cases that each draw lacks to n, in place."""
    lacking = rows.n - drawn.sum(axis=1, dtype=np.int64)
    # once in thirty thousand draws there are too many cases
    for replicate in np.flatnonzero(lacking < 0):
        drawn[replicate] = rng.multinomial(rows.n, rows.count / rows.n)
        lacking[replicate] = 0

    # each lacking case is any of the n cases with equal probability
    case = rng.integers(0, rows.n, size=int(lacking.sum()))
    row = _rows_of_cases(case, rows)
    replicate_start = np.arange(len(drawn)) * rows.count.size
    cell = row + np.repeat(replicate_start, lacking)
    np.add.at(drawn.reshape(-1), cell, drawn.dtype.type(1))
    return drawn


def _rows_of_cases(case: Array, rows: _RowsOfCases) -> Array:
    """Return the row of each case, when cases are numbered row by row."""
    if rows.n == rows.count.size:  # one case in each row
        return case
    if rows.n <= 4 * case.size + _CELLS:  # a lookup table is cheaper than searches
        return rows.row_of_case[case]
    return np.searchsorted(np.cumsum(rows.count), case, side="right")


def replicates(
    x: Tally | Panel,
    number: int,
    rng: Seed = 0,
    *,
    stratified: bool = True,
    unknown: bool = False,
    occupied_only: bool = False,
) -> Iterator[tuple[Array, ...]]:
    """Yield blocks of bootstrap replicates: counts (neg, pos) of redrawn samples.

    Each array has the shape (replicates of the block, m). ``stratified=False`` draws
    both classes together; ``unknown=True`` adds a third array, of unlabelled cases.
    Weighted cases are drawn by the Bayesian bootstrap, clusters as a whole. With
    ``occupied_only=True`` the array of a class has only the rows that hold cases of it,
    and integers may be so small that sums of rows overflow.
    """
    rng = _options.generator(rng)
    weight = common_weight(x)
    if weight is not None:
        # cases of equal weight are counted cases, multiplied by the weight
        numbers = [np.rint(sums / weight).astype(np.int64) for sums in x.counts[:3]]
        x = with_counts(x, numbers)

    classes = 3 if unknown else 2
    draw_block = _draw_by_design(x, classes, stratified, occupied_only)
    block_size = max(1, min(number, _CELLS // max(len(x), 1)))
    for block in blocks(number, block_size):
        drawn = draw_block(block.stop - block.start, rng)
        yield drawn if weight is None else tuple(counts * weight for counts in drawn)


# draws a block of replicates: counts of each class, (replicates, rows)
_DrawBlock = Callable[[int, np.random.Generator], tuple[Array, ...]]


def _draw_by_design(
    x: Tally | Panel, classes: int, stratified: bool, occupied_only: bool
) -> _DrawBlock:
    """Return a function that draws a block of replicates by the sampling design."""
    columns = (x.neg, x.pos, x.unknown)[:classes]
    if x.single_cases and stratified:
        draw_class = [_class_draw(count, occupied_only) for count in columns]
        return lambda size, rng: tuple(draw(size, rng) for draw in draw_class)

    if x.grouped is not None:
        draw_block = _cluster_draw(x.grouped, len(x), classes)
    elif x.weighted:
        draw_block = _weight_draw(columns, x.squares)
    else:
        draw_block = _pooled_draw(columns)

    if not occupied_only:
        return draw_block
    occupied = [np.flatnonzero(count) for count in columns]
    return lambda size, rng: tuple(
        np.take(drawn, rows, axis=1)
        for drawn, rows in zip(draw_block(size, rng), occupied, strict=True)
    )


def _pooled_draw(columns: Sequence[Array]) -> _DrawBlock:
    """Return a function that redraws the cases of all classes together."""
    draw_all = _class_draw(np.concatenate(columns))
    classes = len(columns)
    return lambda size, rng: tuple(np.split(draw_all(size, rng), classes, axis=1))


def _weight_draw(weights: Sequence[Array], squares: Sequence[Array]) -> _DrawBlock:
    """Return a function that draws the weights of each class."""

    def draw_weights(size: int, rng: np.random.Generator) -> tuple[Array, ...]:
        return tuple(
            gamma_draw(weight, square, size, rng)
            for weight, square in zip(weights, squares, strict=False)
        )

    return draw_weights


def _cluster_draw(clusters: Clusters, rows: int, classes: int) -> _DrawBlock:
    """Return a function that draws whole clusters and adds up their counts."""
    from scipy.sparse import csr_array  # clusters are small

    cell = (clusters.code, clusters.row)
    shape = (clusters.number, rows)
    counts_of_clusters = [
        csr_array((count, cell), shape=shape) for count in clusters.counts[:classes]
    ]
    equal_chances = np.full(clusters.number, 1 / clusters.number)

    def draw_clusters(size: int, rng: np.random.Generator) -> tuple[Array, ...]:
        times_drawn = rng.multinomial(clusters.number, equal_chances, size=size)
        return tuple(np.asarray(times_drawn @ counts) for counts in counts_of_clusters)

    return draw_clusters


def common_weight(x: Tally | Panel) -> float | None:
    """Return the weight that all independent cases share; None if weights differ."""
    if not x.weighted or x.grouped is not None:
        return None

    weight = np.concatenate(x.counts[:3])
    square = np.concatenate(x.squares)
    has_cases = weight > 0
    mean_weight = square[has_cases] / weight[has_cases]
    # sums of equal weights, and of their squares, are rounded in each row
    if mean_weight.size == 0 or np.ptp(mean_weight) > 1e-12 * mean_weight.max():
        return None

    # cases of one weight add up to whole multiples of it in each row
    cases_of_row = weight[has_cases] / mean_weight[0]
    all_whole = bool((np.abs(cases_of_row - np.rint(cases_of_row)) < 1e-9).all())
    return float(mean_weight[0]) if all_whole else None


def _class_draw(
    count: Ints, occupied_only: bool = False
) -> Callable[[int, np.random.Generator], Array]:
    """Return a function that redraws the cases of a class."""
    occupied = np.flatnonzero(count)
    rows = _RowsOfCases(count[occupied])
    smallest = compact(count)

    def draw_class(size: int, rng: np.random.Generator) -> Array:
        """Return redrawn counts of a class, (size, rows)."""
        if occupied_only:
            return _draw(rows, size, rng, smallest)
        if occupied.size == count.size:
            return _draw(rows, size, rng, np.int64)

        drawn = np.zeros((size, count.size), dtype=np.int64)
        drawn[:, occupied] = _draw(rows, size, rng, smallest)
        return drawn

    return draw_class


def whole_draws(weight: Array, square: Array) -> tuple[Array, Floats]:
    """Return the effective number of cases of each row, rounded, and their weight."""
    # the square of a tiny weight underflows to 0: such a row is one case
    equal_cases = np.ones_like(square)
    np.divide(weight**2, square, out=equal_cases, where=square > 0)
    n_draws = np.maximum(np.rint(equal_cases), 1).astype(np.int64)
    return n_draws, weight / n_draws


def gamma_draw(
    weight: Array, square: Array, n_draws: int, rng: np.random.Generator
) -> Floats:
    r"""Return redrawn weights of each row, of shape (n_draws, m).

    The Bayesian bootstrap (Rubin 1981, Ann. Stat. 9:130, doi:10.1214/aos/1176345338): a
    case has an exponential weight of mean 1, a row of several cases the sum of theirs:
    a gamma variable of mean w and variance :math:`w^{(2)}`.
    """
    # weights so small that their squares underflow to 0 are kept as they are
    drawn = np.tile(weight.astype(np.float64), (n_draws, 1))
    varies = np.flatnonzero(square)
    scale = square[varies] / weight[varies]
    # rounded, so that weights in other units, which differ in their last bits, lead to
    # the same random numbers
    shape = np.round(weight[varies] / scale, 9)
    drawn[:, varies] = rng.standard_gamma(shape, (n_draws, varies.size)) * scale
    return drawn


def resample(t: Tally, rng: Seed = 0, *, stratified: bool = True) -> Tally:
    """Another sample of the same size, redrawn from the labelled cases.

    Clusters are drawn as a whole; each draw is a new cluster.
    """
    _cases.one_classifier(t, "resample")
    stratified = _options.yes_or_no(stratified, "stratified")
    generator = _options.generator(rng)
    t = t.labelled()
    if t.clusters is not None:
        return _resample_clusters(t, t.clusters, generator)

    block = next(replicates(t, 1, generator, stratified=stratified))
    neg = block[0][0]
    pos = block[1][0]
    unknown = np.zeros_like(neg)
    columns = [neg, pos, unknown]
    if t.weighted:
        # a drawn weight keeps the ratio of square to weight of its row
        neg_square = neg * _square_per_weight(t.squares[0], t.neg)
        pos_square = pos * _square_per_weight(t.squares[1], t.pos)
        columns += [neg_square, pos_square, unknown]

    return keep_rows(with_counts(t, columns), neg + pos > 0)


def _square_per_weight(square: Array, weight: Array) -> Floats:
    """Return the ratio of squares to weights in each row; 0 in rows without cases."""
    ratio = np.zeros(weight.size)
    return np.divide(square, weight, out=ratio, where=weight > 0)


def _resample_clusters(t: Tally, clusters: Clusters, rng: np.random.Generator) -> Tally:
    """Return redrawn clusters; a cluster that is drawn twice becomes two clusters."""
    equal_chances = np.full(clusters.number, 1 / clusters.number)
    times_drawn = rng.multinomial(clusters.number, equal_chances)

    # a cell is the counts of a cluster at a row: repeat it as often as its cluster was
    # drawn, and number the copies of each cluster
    times = times_drawn[clusters.code]
    cell = np.repeat(np.arange(times.size), times)
    first_copy = np.repeat(np.cumsum(times) - times, times)
    copy = np.arange(cell.size) - first_copy
    new_code = clusters.code[cell] * (times_drawn.max() + 1) + copy

    row = clusters.row[cell]
    columns = [count[cell] for count in clusters.counts]
    sums = [np.bincount(row, column, len(t)).astype(column.dtype) for column in columns]
    drawn = with_counts(t, sums)
    assign_clusters(drawn, row, new_code, columns)
    return keep_rows(drawn, drawn.neg + drawn.pos > 0)


def bootstrap(
    x: Tally | Panel,
    statistic: Callable[[Array, Array], Any],
    number: int,
    rng: Seed = 0,
    *,
    stratified: bool = True,
) -> Floats:
    """Return the values of a statistic in replicates of the sample.

    ``statistic`` takes (neg, pos) of shape (r, m) and returns (r,) or (r, ...) values.
    """
    values = []
    with progress("Bootstrap", number, "samples") as advance:
        for neg, pos in replicates(x, number, rng, stratified=stratified):
            values.append(np.asarray(statistic(neg, pos), dtype=np.float64))
            advance(len(neg))
    return np.concatenate(values)


def auc_replicates(t: Tally, replicates: int, rng: Seed = 0) -> Floats:
    """Return the AUCs of bootstrap samples, stratified by class.

    Runs of rows of a single class are merged, since the order within them does not
    matter.
    """
    if t.binned or not t.single_cases:
        return bootstrap(t.labelled(), _areas, replicates, rng)

    rng = _options.generator(rng)
    neg, pos = runs(t)
    neg_rows = np.flatnonzero(neg)
    pos_rows = np.flatnonzero(pos)
    neg = neg[neg_rows]
    pos = pos[pos_rows]
    # the number of rows of negatives above each row of positives, and above or tied
    above = np.searchsorted(neg_rows, pos_rows, side="left")
    above_or_tied = np.searchsorted(neg_rows, pos_rows, side="right")

    wins = []
    block_size = max(1, _CELLS // (neg.size + pos.size))
    with progress("Bootstrap", replicates, "samples") as advance:
        for block in blocks(replicates, block_size):
            size = block.stop - block.start
            drawn_neg = draw(neg, size, rng, dtype=compact(neg))
            drawn_pos = draw(pos, size, rng, dtype=compact(pos))
            wins.append(
                _twice_wins(drawn_neg, drawn_pos, above, above_or_tied, t.n_neg)
            )
            advance(size)

    return np.concatenate(wins) / (2.0 * t.n_pos * t.n_neg)


def _areas(neg: Array, pos: Array) -> Floats:
    """Return the AUC of each replicate; NaN for one without a class."""
    negatives_above = np.cumsum(neg, axis=1) - neg / 2
    losses = np.einsum("rm,rm->r", pos, negatives_above)
    pairs = pos.sum(axis=1) * neg.sum(axis=1)
    with np.errstate(invalid="ignore"):  # clusters that were drawn may lack a class
        return np.asarray(1 - losses / pairs)


def _twice_wins(
    neg: Array, pos: Array, above: Array, above_or_tied: Array, n_neg: int
) -> Floats:
    """Return twice the number of pairs won, a tie as half a win, for each replicate.

    For each row of positives ``above`` and ``above_or_tied`` are how many rows of
    negatives have a higher score, and at least the same.
    """
    # twice the number of negatives must fit
    count_type = np.int32 if n_neg < 2**30 else np.int64
    negatives_above = np.zeros((len(neg), neg.shape[1] + 1), dtype=count_type)
    np.cumsum(neg, axis=1, dtype=count_type, out=negatives_above[:, 1:])

    # a negative below counts twice, a tied one once: that is twice all negatives, less
    # those above, less those above or tied
    beaten_twice = 2 * n_neg - np.take(negatives_above, above, axis=1)
    beaten_twice = beaten_twice - np.take(negatives_above, above_or_tied, axis=1)
    wins: Floats = np.einsum("rm,rm->r", pos, beaten_twice, dtype=np.float64)
    return wins


_MAX_SIMULATED_CASES = 10**8  # each is held in memory


def simulate_tally(
    n: int, n_pos: int, auc: float, *, sd_ratio: float = 1.0, rng: Seed = 0
) -> Tally:
    r"""Simulated cases of a Gaussian classifier with a given AUC.

    What do n test cases of a Gaussian classifier with this AUC look like?

    Negatives are N(0, 1), positives N(d, s^2) with s = ``sd_ratio`` and

    .. math:: A = \Phi\!\left(\frac{d}{\sqrt{1 + s^2}}\right).

    Parameters
    ----------
    n, n_pos
        Cases, and how many of them are positive: the (N, N1)-ensemble of Kim et al.
    auc
        The area under the ROC curve of the population, between 0 and 1.
    sd_ratio
        Standard deviation of the positives' scores over that of the negatives'.
    rng
        A seed or a NumPy generator.

    Examples
    --------
    >>> t = simulate_tally(1000, 300, 0.9, rng=0)
    >>> t.n_pos, t.n_neg
    (300, 700)
    """
    n, n_pos = _options.class_sizes(n, n_pos)
    _options.whole_number(n, "n of a simulation", at_most=_MAX_SIMULATED_CASES)
    shift = _shift(auc, sd_ratio)
    generator = _options.generator(rng)
    score = generator.normal(size=n)
    # negatives come first, then positives
    score[n - n_pos :] *= sd_ratio
    score[n - n_pos :] += shift

    is_pos = np.arange(n) >= n - n_pos
    counted = count_scores(score, lambda rows: is_pos[rows])
    return tally_of_rows(*counted, no_cases(counted[0].size))


def _shift(auc: float, sd_ratio: float = 1.0) -> float:
    """Return the mean of the positives' scores that gives this AUC."""
    from scipy.special import ndtri

    sd_ratio = _options.positive_number(sd_ratio, "sd_ratio")
    auc = _options.fraction(auc, "auc")
    return float(np.hypot(1, sd_ratio) * ndtri(auc))


def rank_frequencies(
    n: int,
    n_pos: int,
    auc: float,
    *,
    replicates: int = 1000,
    sd_ratio: float = 1.0,
    rng: Seed = 0,
) -> Floats:
    """Proportion of positives at each rank, over many simulated test sets.

    The (N, N1)-ensemble of Kim et al. (2021), Fig. 1: entry r - 1 of the answer is the
    proportion of ``replicates`` test sets in which rank r is held by a positive.
    Parameters as in :func:`simulate_tally`.

    Examples
    --------
    >>> f = rank_frequencies(10, 4, 0.8, replicates=50, rng=0)
    >>> round(float(f.sum()), 9)  # four positives in every test set
    4.0
    """
    n, n_pos = _options.class_sizes(n, n_pos)
    shift = _shift(auc, sd_ratio)
    replicates = _options.whole_number(replicates, "replicates", at_least=1)
    generator = _options.generator(rng)
    total = np.zeros(n)
    for _ in range(replicates):
        score = generator.normal(size=n)
        score[:n_pos] = shift + sd_ratio * score[:n_pos]
        # positives are the first cases; the highest score has the first rank
        total += np.argsort(-score) < n_pos

    return total / replicates


def simulate_panel(
    n: int,
    n_pos: int,
    auc: Sequence[float] | Mapping[str, float],
    *,
    correlation: ArrayLike = 0.0,
    rng: Seed = 0,
) -> Panel:
    r"""Simulated cases of several Gaussian classifiers whose ranks correlate.

    What do scores with a given rank correlation look like?

    Gaussian scores as in :func:`simulate_tally`, with common noise so that Spearman's
    rank correlation, within each class, is r for every pair:

    .. math:: c = 2 \sin(\pi r / 6) \quad\text{(Pearson's correlation of the scores)}

    as in Kim et al. (2021), Figs S1 and S2.

    Parameters
    ----------
    n, n_pos, rng
        As in :func:`simulate_tally`.
    auc
        The AUC of each classifier, or a mapping from name to AUC.
    correlation
        r: one number for all pairs, or a matrix (K, K) with ones on the diagonal.

    Examples
    --------
    >>> p = simulate_panel(500, 200, {"A": 0.6, "B": 0.75}, correlation=0.3, rng=0)
    >>> p.names, p.n_pos
    (('A', 'B'), 200)
    """
    n, n_pos = _options.class_sizes(n, n_pos)
    if isinstance(auc, Mapping):
        names = list(auc)
        areas = list(auc.values())
    else:
        areas = np.atleast_1d(_columns.probabilities(auc, "auc")).tolist()
        names = [f"C{k + 1}" for k in range(len(areas))]
    if not areas or is_several(areas[0]):
        raise InputError(
            f"auc must hold one AUC per classifier; found {described(auc)}.",
            option="auc",
            example=[0.7, 0.8],
        )

    independent_noise = _options.generator(rng).normal(size=(n, len(names)))
    root = _root_of_correlations(_read_correlations(correlation, len(names)))
    label = np.repeat([0, 1], [n - n_pos, n_pos])
    shift = np.array([_shift(area) for area in areas])
    # correlated noise; each classifier shifts its positives
    scores = independent_noise @ root + np.outer(label, shift)
    return Panel(names, scores, 1 - label, label)


def _read_correlations(value: ArrayLike, size: int) -> Floats:
    """Return the matrix of correlations, which may be one number for all pairs."""
    matrix = _columns.as_floats(value, "correlation")
    if matrix.ndim == 0:
        matrix = np.full((size, size), float(matrix))
        np.fill_diagonal(matrix, 1.0)

    is_symmetric = matrix.shape == (size, size) and np.array_equal(matrix, matrix.T)
    in_range = (np.abs(matrix) <= 1).all()
    if not (is_symmetric and in_range and (np.diag(matrix) == 1).all()):
        raise InputError(
            f"correlation must be one number between -1 and 1, or a symmetric matrix "
            f"of shape ({size}, {size}) with ones on the diagonal; found "
            f"{matrix.tolist() if matrix.size < 10 else matrix.shape}.",
            option="correlation",
        )
    return matrix


def _root_of_correlations(spearman: Floats) -> Floats:
    """Return a matrix root of the correlations of normal scores.

    Standard normal noise times this matrix has the given rank correlations.
    """
    # Pearson (1907): from rank correlations to those of normal scores, exactly
    pearson = 2 * np.sin(np.pi * spearman / 6)
    np.fill_diagonal(pearson, 1.0)
    eigenvalues, eigenvectors = np.linalg.eigh(pearson)
    smallest = eigenvalues.min()
    if smallest < -1e-12:
        raise InputError(
            "correlation must be a positive semi-definite matrix; its smallest "
            f"eigenvalue is {smallest:.3g}. Equal correlations of all pairs cannot be "
            "below -1 / (K - 1).",
            option="correlation",
        )
    return np.asarray((eigenvectors * np.sqrt(np.maximum(eigenvalues, 0))).T)
