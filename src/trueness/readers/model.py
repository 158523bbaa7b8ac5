r"""How do the errors of readers go together, and what do their results vary by?

Three estimates of the covariance of the results (``COVARIANCES``), and Obuchowski and
Rockette's model (1995): the result of reader j with treatment i is

.. math:: \hat\theta_{ij} = \mu + \tau_i + R_j + (\tau R)_{ij} + \epsilon_{ij}

with errors of variance Var that covary, since all readers see the same cases: Cov1
(same reader, other treatment), Cov2 (other reader, same treatment), Cov3 (both other).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import product
from typing import NamedTuple, final

import numpy as np

from trueness._core.arrays import Array, Floats
from trueness._core.checks.errors import InputError, NotEnoughCases
from trueness._core.checks.words import listing
from trueness._core.records import Record
from trueness.inference.intervals import student_quantile
from trueness.readers.design import Endpoint, Readings

BEHRENS_FISHER = "behrens-fisher"


def results(x: Readings, end: Endpoint) -> Floats:
    """Give the endpoint of every row."""
    return np.array([end.value(*_sides(x, k)) for k in range(len(x.score))])


def _sides(x: Readings, row: int) -> tuple[Floats, Floats]:
    s, read = x.score[row], ~np.isnan(x.score[row])
    return s[read & x.positive], s[read & ~x.positive]


def jackknife(x: Readings, end: Endpoint) -> Floats:
    """Leave out one case at a time; a case that was not read changes nothing.

    Of a sensitivity the positives alone are the sample, of a specificity the negatives.
    """
    less = np.repeat(results(x, end)[:, None], x.score.shape[1], axis=1)
    for k, read in enumerate(~np.isnan(x.score)):
        pos, neg = end.without(*_sides(x, k))
        less[k, read & x.positive], less[k, read & ~x.positive] = pos, neg
    # A class that the endpoint does not depend on is no part of its sample: with the
    # negatives, a sensitivity would have the variance p (1 - p) / (n_pos - 1) times
    # (N - 1) n_pos / (N (n_pos - 1)), which is too large.
    less = less[:, np.where(x.positive, *end.depends)]
    n = less.shape[1]
    with np.errstate(invalid="ignore"):  # an infinite ratio: `fit_model` says so
        centred = less - less.mean(axis=1, keepdims=True)
        return np.asarray((n - 1) / n * centred @ centred.T * _shares_cases(x))


def _shares_cases(x: Readings) -> Array:
    read = (~np.isnan(x.score)).astype(np.int64)
    return np.asarray(read @ read.T > 0)


def delong(x: Readings, end: Endpoint) -> Floats:
    """Take placement values of cases in common (DeLong et al. 1988), class by class."""
    total = np.zeros((len(x.score), len(x.score)))
    for side, axis in ((x.positive, 1), (~x.positive, 0)):
        at = np.flatnonzero(side)
        part = np.zeros((len(x.score), at.size))
        size = np.empty(len(x.score))
        for k in range(len(x.score)):
            place = end.kernel(*_sides(x, k)).mean(axis=axis)
            read = ~np.isnan(x.score[k, at])
            part[k, read], size[k] = place - place.mean(), read.sum()
        read_by = (~np.isnan(x.score[:, at])).astype(np.float64)
        common = read_by @ read_by.T
        factor = common / np.maximum(common - 1, 1) / np.outer(size, size)
        total += part @ part.T * factor
    return total


def unbiased(x: Readings, end: Endpoint) -> Floats:
    """Take off the product that independent cases would have (Gallas 2006)."""
    won, read = _wins_of_rows(x, end)
    mean = won.sum(axis=(1, 2)) / read.sum(axis=(1, 2))
    apart = _apart(won) / _apart(read)
    return np.asarray((np.outer(mean, mean) - apart) * _shares_cases(x))


def one_shot(x: Readings, end: Endpoint, at: Sequence[int]) -> float:
    """Give the standard error of the difference of two treatments (Gallas 2006)."""
    won, read = _wins_of_rows(x, end)
    shape = (2, len(x.readers), *won.shape[1:])
    value, there = np.zeros(shape), np.zeros(shape)
    # the estimate is a mean of readers, who count alike however many cases they read
    pairs = read.sum(axis=(1, 2), keepdims=True)
    won, read = won / pairs, read / pairs
    for k, treatment in enumerate(at):
        rows = x.treatment == treatment
        value[k, x.reader[rows]], there[k, x.reader[rows]] = won[rows], read[rows]
    # The mean of products of entries that share nothing (no reader, no positive, no
    # negative) is the product of the expectations; what the product of the means has
    # beyond that is their covariance. The means are taken off before: where readings
    # are missing, what their size adds to the products would not cancel.
    axes = (1, 2, 3)
    mean = value.sum(axis=axes, keepdims=True) / there.sum(axis=axes, keepdims=True)
    v = -_apart(value - mean * there) / _apart(there)
    return float(np.sqrt(max(v[0, 0] + v[1, 1] - 2 * v[0, 1], 0.0)))


def _wins_of_rows(x: Readings, end: Endpoint) -> tuple[Floats, Floats]:
    """Which positive beats which negative, and which were read? 0 in both if not."""
    there = ~np.isnan(x.score)
    p, q = there[:, x.positive], there[:, ~x.positive]
    read = (p[:, :, None] & q[:, None]).astype(np.float64)
    won = np.zeros_like(read)
    for k in range(len(won)):
        won[k][np.ix_(p[k], q[k])] = end.kernel(*_sides(x, k))
    return won, read


def _apart(a: Floats) -> Floats:
    """Sum products of entries of any two of K arrays that differ in every index."""
    # by inclusion and exclusion, over all sets of indices that may be shared
    total = np.zeros((len(a), len(a)))
    for shared in product((False, True), repeat=a.ndim - 1):
        over = tuple(k + 1 for k, same in enumerate(shared) if not same)
        part = a.sum(axis=over).reshape(len(a), -1)
        total += (-1) ** sum(shared) * part @ part.T
    return total


COVARIANCES: dict[str, Callable[[Readings, Endpoint], Floats]] = {
    "jackknife": jackknife,
    "delong": delong,
    "unbiased": unbiased,
    "gallas": unbiased,
}


@final
@dataclass(frozen=True, repr=False)
class ReaderComponents(Record):
    """How much do treatments, readers and cases vary? (Obuchowski and Rockette)

    Attributes
    ----------
    ms_treatment, ms_reader, ms_interaction : float
        Mean squares of the results: between treatments, between readers (within
        treatments when readers are nested), and of their interaction; NaN where a
        design has none.
    variance, cov1, cov2, cov3 : float
        Of the estimation errors: their variance, and their covariance for one reader
        with two treatments, for two readers with one treatment, and for two with two.
    reader, interaction : float
        Variance components of the readers and of their interaction with the treatments,
        without the part that is due to the errors; chance can make them negative.
    """

    ms_treatment: float
    ms_reader: float
    ms_interaction: float
    variance: float
    cov1: float
    cov2: float
    cov3: float
    reader: float
    interaction: float


class ReaderModel(NamedTuple):
    """The results, and what their variation is made of."""

    table: Floats  # (I, J), NaN where readers are nested
    nested: bool
    components: ReaderComponents
    own: tuple[tuple[float, float, float], ...]  # MS(R), Var, Cov2 of each treatment
    per_treatment: Array  # readers

    @property
    def means(self) -> Floats:
        """Give the mean of each treatment."""
        return np.asarray(np.nanmean(self.table, axis=1))

    @property
    def each(self) -> float:
        """How many readers has a treatment, in the test of all treatments?"""
        n = self.per_treatment
        if not self.nested:
            return float(n[0])
        # of unequal numbers, what MS(T) has Cov2 - Cov3 times on average
        return float(n.sum() - (n**2).sum() / n.sum()) / (len(n) - 1)


def fit_model(x: Readings, end: Endpoint, covariance: str) -> ReaderModel:
    """Give every reader a result, and tell apart what the results vary by."""
    value = results(x, end)
    size = len(x.treatments), len(x.readers)
    table = np.full(size, np.nan)
    table[x.treatment, x.reader] = value
    nested = x.nested_readers
    if not nested and len(value) < table.size:
        lacking = np.isnan(table).any(axis=0)
        names = listing([r for r, gone in zip(x.readers, lacking, strict=True) if gone])
        raise InputError(
            "Every reader must use every treatment, or every reader one treatment "
            f"only; this study is neither. Without all treatments: {names}. Leave out "
            "these readers."
        )
    errors = COVARIANCES[covariance](x, end)
    for k in np.flatnonzero(~np.isfinite(value) | ~np.isfinite(np.diag(errors))):
        raise NotEnoughCases(
            f"The {end.name} of every reader must have a value, also when a case is "
            f"left out; that of reader {x.readers[x.reader[k]]} with treatment "
            f"{x.treatments[x.treatment[k]]} has none (a ratio 0 / 0). Choose another "
            'threshold, or metric="auc".'
        )
    same_t = x.treatment[:, None] == x.treatment
    same_r = x.reader[:, None] == x.reader
    # The model has one Var and three covariances: means over all entries of a kind.
    picks = (same_t & same_r, ~same_t & same_r, same_t & ~same_r, ~same_t & ~same_r)
    var, *cov = (float(errors[p].mean()) if p.any() else 0.0 for p in picks)
    own = []
    for t in range(size[0]):
        at = x.treatment == t
        part, seen = errors[np.ix_(at, at)], value[at]
        off = ~np.eye(seen.size, dtype=bool)
        spread = float(seen.var(ddof=1)) if seen.size > 1 else math.nan
        own.append((spread, float(np.diag(part).mean()),
                    float(part[off].mean()) if off.any() else 0.0))  # fmt: skip
    count = np.bincount(x.treatment, minlength=size[0])
    squares = _squares(table, nested, own, count)
    # free of the errors (Hillis 2014): MS(TR) has the mean interplay + Var - Cov1 -
    # (Cov2 - Cov3), and MS(R) the mean of that plus I (readers + Cov1 - Cov3)
    (_, ms_r, ms_tr), (cov1, cov2, cov3) = squares, cov
    reader = (ms_r - ms_tr) / size[0] - cov1 + cov3
    interplay = ms_tr - var + cov1 + cov2 - cov3
    if nested or size[0] == 1:
        reader, interplay = ms_r - var + cov2, 0.0
    kept = (v if v == v else 0.0 for v in (reader, interplay))
    components = ReaderComponents(*squares, var, *cov, *kept)
    return ReaderModel(table, nested, components, tuple(own), count)


def _squares(
    table: Floats, nested: bool, own: list[tuple[float, float, float]], count: Array
) -> tuple[float, float, float]:
    """Give the mean squares of treatments, readers and their interplay."""
    i, j = table.shape
    mean = np.nanmean(table, axis=1)
    if nested:
        whole = float(np.nanmean(table))
        ms_t = float(count @ (mean - whole) ** 2) / (i - 1)
        free = int(count.sum()) - i
        inside = sum((n - 1) * o[0] for n, o in zip(count, own, strict=True) if n > 1)
        return ms_t, inside / free if free else math.nan, math.nan
    by_reader, whole = table.mean(axis=0), float(table.mean())
    # what neither treatment nor reader explains
    rest = table - mean[:, None] - by_reader + whole
    parts = (
        (j * float(np.sum((mean - whole) ** 2)), i - 1),
        (i * float(np.sum((by_reader - whole) ** 2)), j - 1),
        (float(np.sum(rest**2)), (i - 1) * (j - 1)),
    )
    ms_t, ms_r, ms_tr = (square / df if df else math.nan for square, df in parts)
    return ms_t, ms_r, ms_tr


def denominator(m: ReaderModel, fixed: str | None, j: float) -> ReaderSpread:
    """What does MS(T) vary by if all treatments are equal, with j readers each?"""
    # The mean square of the readers shows what is peculiar to a reader, and not what
    # the cases do to all readers of a treatment alike, Cov2 - Cov3, whose negative
    # estimates are chance (Hillis 2007).
    c = m.components
    between = c.cov2 - c.cov3
    if fixed == "readers":
        # Nested readers have no other treatment: they share Cov3 with everybody.
        shared = c.cov3 if m.nested else c.cov1
        return ReaderSpread(c.variance - shared + (j - 1) * between, 0.0, math.inf)
    i, n = m.table.shape[0], m.per_treatment
    inner, free = c.ms_interaction, (i - 1.0) * (n[0] - 1.0)
    if m.nested:
        inner, free = c.ms_reader, float(n.sum() - i)
    both = fixed != "cases"
    return ReaderSpread(inner + both * j * max(between, 0.0), inner, free)


class ReaderSpread(NamedTuple):
    """How far does a mean over readers vary, and how well is that known?"""

    value: float
    inner: float  # the part that a mean square of the readers shows
    free: float  # its degrees of freedom

    @property
    def df(self) -> float:
        """Give Hillis' degrees of freedom: only the mean square is uncertain."""
        known = not self.inner > 0
        return math.inf if known else self.free * (self.value / self.inner) ** 2


def may_be(s: ReaderSpread) -> Floats:
    """By which ratios to the estimate may the standard error be, equally likely?"""
    from scipy.special import chdtri

    # as many that the limits of one degree of freedom are within .01 %
    share = (np.arange(2000) + 0.5) / 2000
    shown = s.inner / s.value
    return np.asarray(np.sqrt(shown * s.free / chdtri(s.free, share) + 1 - shown))


def quantile(s: ReaderSpread, level: float, reference: str) -> float:
    """Within how many standard errors of a mean lies the truth, at this level?"""
    if reference != BEHRENS_FISHER or math.isinf(s.df):
        return student_quantile(s.df, level)
    from scipy.optimize import brentq
    from scipy.special import ndtr, ndtri

    root, outside = may_be(s), (1 - level) / 2
    most = -float(ndtri(outside)) * float(root.max())
    return float(brentq(lambda z: ndtr(-z / root).mean() - outside, 0.0, most))


def tail(s: ReaderSpread, z: float, reference: str) -> float:
    """How likely is a mean at least so many standard errors too low?"""
    from scipy.special import ndtr, stdtr

    if math.isinf(s.df):
        return float(ndtr(z))
    if reference != BEHRENS_FISHER:
        return float(stdtr(s.df, z))
    return float(ndtr(z / may_be(s)).mean())


def equality_test(
    m: ReaderModel, fixed: str | None, reference: str
) -> tuple[float, int, float, float]:
    """Test that all treatments are equal: F, degrees of freedom, p-value."""
    from scipy.special import chdtrc, fdtrc

    df1, top = len(m.table) - 1, m.components.ms_treatment
    if not df1:
        return math.nan, 0, math.nan, math.nan
    s = denominator(m, fixed, m.each)
    behrens = reference == BEHRENS_FISHER
    df2 = s.free if behrens else s.df
    if not s.value > 0:
        return math.inf if top > 0 else 0.0, df1, df2, math.nan
    f = top / s.value
    if math.isinf(s.df):
        p = float(chdtrc(df1, df1 * f))
    elif behrens:
        p = float(chdtrc(df1, df1 * f / may_be(s) ** 2).mean())
    else:
        p = float(fdtrc(df1, s.df, f))
    return f, df1, df2, p
