r"""What do the results of readers vary by?

Obuchowski and Rockette's model (1995): the result of reader j with treatment i is

.. math:: \hat\theta_{ij} = \mu + \tau_i + R_j + (\tau R)_{ij} + \epsilon_{ij}

where the errors of one study vary together, since all readers see the same cases: with
variance Var, and covariances Cov1 (same reader, other treatment), Cov2 (other reader,
same treatment) and Cov3 (both other). ``covariances.py`` estimates them; degrees of
freedom are those of Hillis (2007).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple, final

import numpy as np

from trueness._core.arrays import Array, Floats
from trueness._core.checks.errors import InputError
from trueness._core.checks.words import listing
from trueness._core.records import Record
from trueness.readers.covariances import results
from trueness.readers.design import Endpoint, Readings, defined


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
        with two treatments, for two readers with one treatment, and for two readers
        with two treatments.
    reader, interaction : float
        Variance components of the readers and of their interaction with the treatments,
        without the part that is due to the errors. Estimates, so that chance can make
        them negative: nothing was then found beyond the errors, and
        :func:`plan_readers` counts them as 0.
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


class StudyQuestion(NamedTuple):
    """What is asked of a study."""

    readers: str
    cases: str
    level: float
    margin: float
    alone: bool  # is each pair of treatments analysed by itself?
    pooled: bool  # has every pair the denominator of the test of all?
    logit: bool  # are limits of means symmetric on the logit scale?
    reference: str  # distribution of tests and limits
    number: tuple[int, int]  # positives and negatives; of fixed cases, readers


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
        """How many readers has a treatment, in the test of all treatments?

        Of unequal numbers, what MS(T) has Cov2 - Cov3 times on average.
        """
        n = self.per_treatment
        if not self.nested:
            return float(n[0])
        return float(n.sum() - (n**2).sum() / n.sum()) / (len(n) - 1)


def fit_model(
    x: Readings, end: Endpoint, estimate: Callable[[Readings, Endpoint], Floats]
) -> ReaderModel:
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
    covariance = estimate(x, end)
    defined(x, end, value, covariance)
    same_t = x.treatment[:, None] == x.treatment
    same_r = x.reader[:, None] == x.reader
    # The model has one Var and three covariances: means over all entries of a kind.
    picks = (same_t & same_r, ~same_t & same_r, same_t & ~same_r, ~same_t & ~same_r)
    var, *cov = (float(covariance[p].mean()) if p.any() else 0.0 for p in picks)
    own = []
    for t in range(size[0]):
        at = x.treatment == t
        part, seen = covariance[np.ix_(at, at)], value[at]
        off = ~np.eye(seen.size, dtype=bool)
        spread = float(seen.var(ddof=1)) if seen.size > 1 else math.nan
        own.append((spread, float(np.diag(part).mean()),
                    float(part[off].mean()) if off.any() else 0.0))  # fmt: skip
    count = np.bincount(x.treatment, minlength=size[0])
    squares = _squares(table, nested, own, count)
    components = _components(squares, (var, *cov), nested, size[0])
    return ReaderModel(table, nested, components, tuple(own), count)


def _squares(
    table: Floats, nested: bool, own: list[Any], count: Array
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
    ms_t = j * float(np.sum((mean - whole) ** 2)) / (i - 1) if i > 1 else math.nan
    ms_r = i * float(np.sum((by_reader - whole) ** 2)) / (j - 1) if j > 1 else math.nan
    # what neither treatment nor reader explains
    rest = table - mean[:, None] - by_reader + whole
    free = (i - 1) * (j - 1)
    return ms_t, ms_r, float(np.sum(rest**2)) / free if free else math.nan


def _components(
    squares: tuple[float, float, float],
    errors: tuple[float, ...],
    nested: bool,
    treatments: int,
) -> ReaderComponents:
    """Free the components of readers and interplay of the errors (Hillis 2014).

    Readers who are alike still differ in a study, because their errors do: MS(TR) has
    the mean interplay + Var - Cov1 - (Cov2 - Cov3), and MS(R) the mean of that plus
    I (readers + Cov1 - Cov3). Solved for the components.
    """
    _, ms_r, ms_tr = squares
    var, cov1, cov2, cov3 = errors
    reader = (ms_r - ms_tr) / treatments - cov1 + cov3
    interplay = ms_tr - var + cov1 + cov2 - cov3
    if nested or treatments == 1:
        reader, interplay = ms_r - var + cov2, 0.0
    kept = (v if v == v else 0.0 for v in (reader, interplay))
    return ReaderComponents(*squares, *errors, *kept)


def denominator(m: ReaderModel, asked: StudyQuestion, j: float) -> ReaderSpread:
    """What does MS(T) vary by if all treatments are equal, with j readers each?

    With random readers and cases a mean over readers varies by what is peculiar to a
    reader, which the mean square of the readers shows with all its parts, and by what
    the cases do to all readers of a treatment alike, Cov2 - Cov3, which it cannot show.
    A negative estimate of that is chance, and is taken as 0 (Hillis 2007).
    """
    c = m.components
    between = c.cov2 - c.cov3
    if asked.readers == "fixed":
        # Nested readers have no other treatment: they share Cov3 with everybody.
        shared = c.cov3 if m.nested else c.cov1
        return ReaderSpread(c.variance - shared + (j - 1) * between, 0.0, math.inf)
    i, n = m.table.shape[0], m.per_treatment
    inner, free = c.ms_interaction, (i - 1.0) * (n[0] - 1.0)
    if m.nested:
        inner, free = c.ms_reader, float(n.sum() - i)
    both = asked.cases == "random"
    return ReaderSpread(inner + both * j * max(between, 0.0), inner, free)


class ReaderSpread(NamedTuple):
    """How far does a mean over readers vary, and how well is that known?"""

    value: float
    inner: float  # the part that a mean square of the readers shows
    free: float  # its degrees of freedom

    @property
    def df(self) -> float:
        """Give Hillis' degrees of freedom: only the mean square is uncertain."""
        return (
            self.free * (self.value / self.inner) ** 2 if self.inner > 0 else math.inf
        )
