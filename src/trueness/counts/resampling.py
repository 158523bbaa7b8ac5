"""What would other samples of the same size have shown?

To draw n cases with replacement is one multinomial draw on the rows of a tally. It is
made from Poisson counts, which given their sum are multinomial: their mean is kept a
little below one a case, and the missing cases are added one by one. Rows with equal
counts share a table that turns a random byte into a Poisson count; bytes that it cannot
settle are drawn from what is left of the distribution. Nothing is approximated.

Cases of a classifier of known quality, and of several that err together, are drawn with
Gaussian scores (``simulate_tally``, ``simulate_panel``).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, DTypeLike

from trueness._core.arrays import Array, Floats, Ints, no_cases
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
_FEW = 1 << 12
# a Poisson count of mean 128 fits into a byte (over 254: once in 10**22 draws);
# 255 means "not settled"
_BYTE = 128
_OPEN = 255


# how a random byte becomes a Poisson count, and the cumulative probabilities of the
# counts of bytes that are not settled
_ChoiceTable = tuple[bytes, Floats]


def draw(
    count: Ints, replicates: int, rng: Seed = 0, *, dtype: DTypeLike = np.int64
) -> Array:
    """How often is each row met if all cases are drawn anew? (replicates, m)

    Exact multinomial counts. ``compact(count)`` is the smallest safe ``dtype``.
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
    return table.tobytes(), rest / rest[-1]


def _from_bytes(
    table: _ChoiceTable, shape: tuple[int, int], rng: np.random.Generator
) -> Array:
    size = shape[0] * shape[1]
    words = rng.integers(0, 2**64 - 1, -(-size // 8), dtype=np.uint64, endpoint=True)
    settled = bytearray(words.tobytes().translate(table[0]))
    count = np.frombuffer(settled, np.uint8)[:size]
    still = np.flatnonzero(count == _OPEN)
    count[still] = np.searchsorted(table[1], rng.random(still.size), side="right")
    return count.reshape(shape)


def _fill_up(out: Array, count: Ints, n: int, rng: np.random.Generator) -> Array:
    """Add the cases by which each draw falls short."""
    lacking = n - out.sum(axis=1, dtype=np.int64)
    for r in np.flatnonzero(lacking < 0):  # once in thirty thousand draws
        out[r], lacking[r] = rng.multinomial(n, count / n), 0
    m = count.size
    row: Array = rng.integers(0, n, size=int(lacking.sum()))  # of each case
    if n != m and n <= 4 * row.size + _CELLS:  # a list of all is cheaper than searches
        row = np.repeat(np.arange(m), count)[row]
    elif n != m:
        row = np.searchsorted(np.cumsum(count), row, side="right")
    row += np.repeat(np.arange(len(out)) * m, lacking)
    np.add.at(out.reshape(-1), row, out.dtype.type(1))
    return out


def replicates(
    x: Tally | Panel,
    number: int,
    rng: Seed = 0,
    *,
    stratified: bool = True,
    unknown: bool = False,
) -> Iterator[tuple[Array, ...]]:
    """Which counts of negatives and positives would other samples have shown?

    Yields blocks (neg, pos), each of shape (some replicates, m). ``stratified=False``
    draws both classes together, ``unknown=True`` cases without a label, too, as a third
    array. Weighted cases are drawn by the Bayesian bootstrap, clusters whole.
    """
    rng = _options.generator(rng)
    weight = common_weight(x)
    if weight is not None:  # equal weights are no weights
        whole = [np.rint(c / weight).astype(np.int64) for c in x.counts[:3]]
        same = with_counts(x, whole)
        how = {"stratified": stratified, "unknown": unknown}
        for drawn in replicates(same, number, rng, **how):
            yield tuple(c * weight for c in drawn)
        return
    m, kinds = len(x), 3 if unknown else 2
    columns = (x.neg, x.pos, x.unknown)[:kinds]
    step = max(1, min(number, _CELLS // max(m, 1)))
    grouped, cells = x.grouped, []
    if grouped is not None:
        from scipy.sparse import csr_array  # clusters are small

        at, shape = (grouped.code, grouped.row), (grouped.number, m)
        cells = [csr_array((k, at), shape=shape) for k in grouped.counts[:kinds]]
    for start in range(0, number, step):
        some = min(step, number - start)
        if grouped is not None:
            each = np.full(grouped.number, 1 / grouped.number)
            taken = rng.multinomial(grouped.number, each, size=some)
            yield tuple(np.asarray(taken @ table) for table in cells)
        elif x.weighted:
            pairs = zip(columns, x.squares, strict=False)
            yield tuple(gamma_draw(w, q, some, rng) for w, q in pairs)
        elif stratified:
            yield tuple(_class_draw(c, some, rng) for c in columns)
        else:
            both = _class_draw(np.concatenate(columns), some, rng)
            yield tuple(both[:, k * m : (k + 1) * m] for k in range(kinds))


def common_weight(x: Tally | Panel) -> float | None:
    """Give the weight that all independent cases have; None where they differ."""
    if not x.weighted or x.grouped is not None:
        return None
    weight, square = np.concatenate(x.counts[:3]), np.concatenate(x.squares)
    some = weight > 0
    each = square[some] / weight[some]
    if not each.size or np.ptp(each) > 1e-12 * each.max():
        return None
    number = weight[some] / each[0]
    return float(each[0]) if (np.abs(number - np.rint(number)) < 1e-9).all() else None


def _class_draw(count: Ints, some: int, rng: np.random.Generator) -> Array:
    """Draw the cases of a class; rows without a case take no part."""
    at = np.flatnonzero(count)
    if at.size == count.size:
        return draw(count, some, rng)
    out = np.zeros((some, count.size), dtype=np.int64)
    out[:, at] = draw(count[at], some, rng, dtype=compact(count))
    return out


def whole_draws(weight: Array, square: Array) -> tuple[Array, Floats]:
    """As how many equal cases, of which weight, are the cases of each row drawn?"""
    # squares of the smallest weights vanish: such a row is one case
    whole = np.divide(weight**2, square, out=np.ones_like(square), where=square > 0)
    number = np.maximum(np.rint(whole), 1).astype(np.int64)
    return number, weight / number


def gamma_draw(
    weight: Array, square: Array, number: int, rng: np.random.Generator
) -> Floats:
    r"""Which weights would other samples have shown? (number, m)

    The Bayesian bootstrap (Rubin 1981, Ann. Stat. 9:130, doi:10.1214/aos/1176345338): a
    case counts as an exponential variable of mean 1 says, a row of several cases as the
    gamma variable with their mean w and variance :math:`w^{(2)}`.
    """
    # weights so small that their squares vanish do not vary
    out = np.tile(weight.astype(np.float64), (number, 1))
    at = np.flatnonzero(square)
    scale = square[at] / weight[at]
    # rounded, since a last bit that differs, as in other units of weight, would send
    # the generator another way
    cases = np.round(weight[at] / scale, 9)
    out[:, at] = rng.standard_gamma(cases, (number, at.size)) * scale
    return out


def resample(t: Tally, rng: Seed = 0, *, stratified: bool = True) -> Tally:
    """What would another sample of the same size have shown? Labelled cases only.

    Of clustered cases whole clusters are drawn; each time is a cluster of its own.
    """
    _cases.one_classifier(t, "resample")
    stratified = _options.yes_or_no(stratified, "stratified")
    t, generator = t.labelled(), _options.generator(rng)
    if t.clusters is not None:
        return _with_clusters_drawn(t, t.clusters, generator)
    neg, pos = (c[0] for c in next(replicates(t, 1, generator, stratified=stratified)))
    columns = [neg, pos, np.zeros_like(neg)]
    if t.weighted:
        # a drawn weight keeps the ratio of square to weight of its row
        each = [np.divide(q, w, out=np.zeros(len(t)), where=w > 0)
                for q, w in zip(t.squares, (t.neg, t.pos), strict=False)]  # fmt: skip
        columns += [neg * each[0], pos * each[1], columns[2]]
    return keep_rows(with_counts(t, columns), neg + pos > 0)


def _with_clusters_drawn(t: Tally, c: Clusters, rng: np.random.Generator) -> Tally:
    taken = rng.multinomial(c.number, np.full(c.number, 1 / c.number))
    times = taken[c.code]
    cell = np.repeat(np.arange(times.size), times)
    copy = np.arange(cell.size) - np.repeat(np.cumsum(times) - times, times)
    row, columns = c.row[cell], [k[cell] for k in c.counts]
    sums = [np.bincount(row, k, len(t)).astype(k.dtype) for k in columns]
    made = with_counts(t, sums)
    assign_clusters(made, row, c.code[cell] * (taken.max() + 1) + copy, columns)
    return keep_rows(made, made.neg + made.pos > 0)


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


def auc_replicates(t: Tally, replicates: int, rng: Seed = 0) -> Floats:
    """Which AUCs would other samples of the same cases have shown? Stratified.

    Within a run of rows of one class the order does not matter: it is one row here.
    """
    if t.binned or not t.single_cases:
        return bootstrap(t.labelled(), _areas, replicates, rng)
    rng = _options.generator(rng)
    neg, pos = runs(t)
    neg_at, pos_at = np.flatnonzero(neg), np.flatnonzero(pos)
    above = np.searchsorted(neg_at, pos_at, side="left")  # rows of negatives above
    upto = np.searchsorted(neg_at, pos_at, side="right")
    neg, pos = neg[neg_at], pos[pos_at]
    step = max(1, (1 << 20) // (neg.size + pos.size))
    parts = []
    for start in range(0, replicates, step):
        some = min(step, replicates - start)
        lower = draw(neg, some, rng, dtype=compact(neg))
        upper = draw(pos, some, rng, dtype=compact(pos))
        parts.append(_wins(lower, upper, above, upto, t.n_neg))
    return np.concatenate(parts) / (2.0 * t.n_pos * t.n_neg)


def _areas(neg: Array, pos: Array) -> Floats:
    above = np.cumsum(neg, axis=1) - neg / 2
    pairs = pos.sum(axis=1) * neg.sum(axis=1)
    with np.errstate(invalid="ignore"):  # clusters that were drawn may lack a class
        return np.asarray(1 - np.einsum("rm,rm->r", pos, above) / pairs)


def _wins(neg: Array, pos: Array, above: Array, upto: Array, n_neg: int) -> Floats:
    """Count won pairs twice and ties once, for each replicate."""
    exact = np.int32 if n_neg < 2**30 else np.int64
    total = np.zeros((len(neg), neg.shape[1] + 1), dtype=exact)
    np.cumsum(neg, axis=1, dtype=exact, out=total[:, 1:])
    beaten = 2 * n_neg - np.take(total, above, axis=1) - np.take(total, upto, axis=1)
    wins: Floats = np.einsum("rm,rm->r", pos, beaten, dtype=np.float64)
    return wins


_MAX_SIMULATED_CASES = 10**8  # each is held in memory


def simulate_tally(
    n: int, n_pos: int, auc: float, *, sd_ratio: float = 1.0, rng: Seed = 0
) -> Tally:
    r"""What could n test cases of a Gaussian classifier with this AUC look like?

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
    score[n - n_pos :] *= sd_ratio
    score[n - n_pos :] += shift
    is_pos = np.arange(n) >= n - n_pos
    counted = count_scores(score, lambda rows: is_pos[rows])
    return tally_of_rows(*counted, no_cases(counted[0].size))


def _shift(auc: float, sd_ratio: float = 1.0) -> float:
    from scipy.special import ndtri

    sd = _options.positive_number(sd_ratio, "sd_ratio")
    return float(np.hypot(1, sd) * ndtri(_options.fraction(auc, "auc")))


def rank_frequencies(
    n: int,
    n_pos: int,
    auc: float,
    *,
    replicates: int = 1000,
    sd_ratio: float = 1.0,
    rng: Seed = 0,
) -> Floats:
    """How often is the case at each rank positive, over many simulated test sets?

    The (N, N1)-ensemble of Kim et al. (2021), Fig. 1: entry r - 1 of the answer is the
    share of ``replicates`` test sets in which rank r is held by a positive. Parameters
    as in :func:`simulate_tally`.

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
        total += np.argsort(-score) < n_pos
    return total / replicates


def simulate_panel(
    n: int,
    n_pos: int,
    aucs: Sequence[float] | Mapping[str, float],
    *,
    correlation: ArrayLike = 0.0,
    rng: Seed = 0,
) -> Panel:
    r"""What could classifiers look like whose ranks correlate within each class?

    Gaussian scores as in :func:`simulate_tally`, with common noise so that Spearman's
    rank correlation, within each class, is r for every pair:

    .. math:: c = 2 \sin(\pi r / 6) \quad\text{(Pearson's correlation of the scores)}

    as in Kim et al. (2021), Figs S1 and S2.

    Parameters
    ----------
    n, n_pos, rng
        As in :func:`simulate_tally`.
    aucs
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
    if isinstance(aucs, Mapping):
        names, areas = list(aucs), list(aucs.values())
    else:
        areas = np.atleast_1d(_columns.probabilities(aucs, "aucs")).tolist()
        names = [f"C{k + 1}" for k in range(len(areas))]
    if not areas or is_several(areas[0]):
        raise InputError(
            f"aucs must be one AUC a classifier; found {described(aucs)}.",
            option="aucs",
            example=[0.7, 0.8],
        )
    noise = _options.generator(rng).normal(size=(n, len(names)))
    root = _root(_correlations(correlation, len(names)))
    label = np.repeat([0, 1], [n - n_pos, n_pos])
    shift = np.array([_shift(a) for a in areas])
    return Panel(names, noise @ root + np.outer(label, shift), 1 - label, label)


def _correlations(value: object, size: int) -> Floats:
    """Read correlations: one number for all pairs, or a symmetric matrix."""
    matrix = _columns.as_floats(value, "correlation")
    if matrix.ndim == 0:
        matrix = np.full((size, size), float(matrix))
        np.fill_diagonal(matrix, 1.0)
    shaped = matrix.shape == (size, size) and np.array_equal(matrix, matrix.T)
    if not shaped or not (np.abs(matrix) <= 1).all() or (np.diag(matrix) != 1).any():
        raise InputError(
            f"correlation must be one number between -1 and 1, or a symmetric matrix "
            f"of shape ({size}, {size}) with ones on the diagonal; found "
            f"{matrix.tolist() if matrix.size < 10 else matrix.shape}.",
            option="correlation",
        )
    return matrix


def _root(spearman: Floats) -> Floats:
    """Give a matrix whose product with standard noise has these rank correlations."""
    # exact for normal scores (Pearson 1907)
    pearson = 2 * np.sin(np.pi * spearman / 6)
    np.fill_diagonal(pearson, 1.0)
    value, vector = np.linalg.eigh(pearson)
    if value.min() < -1e-12:
        raise InputError(
            "correlation must be possible for all classifiers at once (a positive "
            f"semi-definite matrix); the smallest eigenvalue is {value.min():.3g}. "
            "Equal correlations of all pairs cannot be below -1 / (K - 1).",
            option="correlation",
        )
    return np.asarray((vector * np.sqrt(np.maximum(value, 0))).T)
