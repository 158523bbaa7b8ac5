"""Which treatment lets readers see more? Limits and tests of means and differences."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from inspect import signature
from itertools import combinations
from statistics import NormalDist
from typing import Any, NamedTuple, final

import numpy as np

from trueness._core.arrays import Floats
from trueness._core.checks import options as _options
from trueness._core.checks.errors import InputError, NotEnoughCases
from trueness._core.numbers import counted, p_is
from trueness._core.records import Estimate, Record, brief, native_frame
from trueness._core.solvers import bisect
from trueness.comparison.results import Pair, adjusted, asked_margin, judged
from trueness.inference.estimates import estimate_from_interval
from trueness.inference.intervals import interval_from_variance, interval_on_open_scale
from trueness.inference.variance import VarianceEstimate
from trueness.metrics.algebra import Metric
from trueness.readers.design import ROLES, Endpoint, Readings, endpoint, readings
from trueness.readers.model import (
    BEHRENS_FISHER,
    COVARIANCES,
    ReaderComponents,
    ReaderModel,
    ReaderSpread,
    denominator,
    equality_test,
    fit_model,
    one_shot,
    quantile,
    tail,
)


@final
@dataclass(frozen=True, repr=False)
class ReaderStudy(Record):
    """Which treatment lets readers see more, and could that be chance?

    Attributes
    ----------
    results : array (treatments, readers)
        The endpoint of every reader with every treatment; NaN where there is none.
    means, pairs : tuple of Estimate, tuple of Pair
        Mean of each treatment over the readers; differences, with p-values.
    statistic, df1, df2, p_value : float
        Test that all treatments are equal: F (chi-squared over df1 with fixed readers)
        and degrees of freedom (by Behrens and Fisher, those of the mean square in its
        denominator); NaN with one treatment.
    components : ReaderComponents
        What varies; :func:`plan_readers` starts from it.
    design, assumed : str
        Fully crossed, or what is nested; which of readers and cases are random.
    metric, method : str
        The endpoint, and how it was analysed.
    groups : int
        Groups of readers without a common case: 1 when the design is crossed, as many
        as readers when each has cases of their own, between them in a split plot.
    """

    treatments: tuple[str, ...]
    readers: tuple[str, ...]
    results: Floats
    means: tuple[Estimate, ...]
    pairs: tuple[Pair, ...]
    statistic: float
    df1: int
    df2: float
    p_value: float
    components: ReaderComponents
    n_pos: int
    n_neg: int
    design: str
    assumed: str
    metric: str
    method: str
    level: float
    notes: tuple[str, ...]
    groups: int = 1

    def __repr__(self) -> str:
        """Write the means, the differences and the test in lines."""
        lines = [
            f"ReaderStudy: {self.metric}, {counted(len(self.readers), 'reader')}, "
            f"{self.n_pos} + {self.n_neg} cases, {self.design}; {self.assumed}; "
            f"{self.method}"
        ]
        both = zip(self.treatments, self.means, strict=True)
        lines += [f"  {name}: {mean}" for name, mean in both]
        lines += [f"  {pair}" for pair in self.pairs]
        if self.pairs:
            test = (
                f"F {brief(self.statistic)} on {self.df1} and {brief(self.df2)} degrees"
            )
            if math.isinf(self.df2):
                many = counted(self.df1, "degree")
                test = f"chi-squared {brief(self.df1 * self.statistic)} on {many}"
            lines.append(f"  all equal? {p_is(self.p_value)} ({test} of freedom)")
        return "\n".join([*lines, *(f"  Note: {note}" for note in self.notes)])

    def to_frame(self, backend: str | None = None) -> Any:
        """Give a table with one row per treatment and reader."""
        i, j = np.nonzero(np.isfinite(self.results))
        columns = {
            "treatment": [self.treatments[k] for k in i],
            "reader": [self.readers[k] for k in j],
            "value": self.results[i, j].tolist(),
        }
        return native_frame(columns, backend)


def reader_study(
    data: object,
    *,
    metric: Metric | str = "auc",
    threshold: float | None = None,
    fixed: str | None = None,
    covariance: str = "jackknife",
    pairs: str = "own",
    margin: float | None = None,
    reference: str = "student",
    level: float = 0.95,
    **columns: Any,
) -> ReaderStudy:
    r"""Which treatment lets readers see more, and could that be chance?

    .. math:: F = \frac{MS_T}{MS_{TR} + J \max(\mathrm{Cov}_2 - \mathrm{Cov}_3, 0)}

    The design (crossed, cases or readers nested) is found from who read which cases.
    Obuchowski and Rockette (1995, doi:10.1080/03610919508813243) with the degrees of
    freedom of Hillis (2007, doi:10.1002/sim.2532; 2014, doi:10.1002/sim.5926).

    Parameters
    ----------
    data
        One row per reading: a frame of any library, or a mapping of columns.
    metric, threshold
        ``"auc"``, or any metric at a threshold: ``"recall"``, ``"specificity"``,
        ``"f1"``, where a score of at least the threshold is positive.
    fixed
        ``"readers"`` or ``"cases"``: the result is about these alone. When None, it
        applies to readers and cases like these.
    covariance
        ``"jackknife"``, ``"delong"``, ``"unbiased"``, or ``"gallas"``: the one-shot
        U-statistic variance (Gallas 2006, doi:10.1016/j.acra.2005.11.030).
    pairs
        Where some of three treatments share more cases, or have more readers, than
        others: ``"own"`` gives each pair the variance of its own cases and readers,
        ``"pooled"`` gives all pairs that of the test of all, as MRMCaov does.
    margin
        Adds tests of non-inferiority and of equivalence to every pair of treatments.
    reference
        ``"student"``: symmetric limits by Student's distribution, as published.
        ``"logit"``: symmetric on the logit scale, and never nearer than those; tests
        against a margin then keep their level near an AUC of 1 too.
        ``"behrens-fisher"``: for two to four readers, with whom published tests reject
        too many true hypotheses.
    level
        Confidence level of the intervals.
    **columns
        ``reader``, ``treatment``, ``case``, ``label``, ``score``: names of the columns
        (or columns), where these have other names; and ``positive``, the label that
        is positive, where labels are not 0 and 1.

    Examples
    --------
    >>> rows = {"reader": [], "treatment": [], "case": [], "label": [], "score": []}
    >>> for r in "ab":
    ...     for t in "XY":
    ...         for c in range(6):
    ...             wrong = c == 3 and (r + t) in ("aY", "bX", "bY")
    ...             reading = [r, t, c, int(c > 2), (c > 2) - 1.5 * wrong]
    ...             for k, v in zip(rows, reading):
    ...                 rows[k].append(v)
    >>> found = reader_study(rows)
    >>> [round(m.value, 4) for m in found.means]  # (1 + 6/9) / 2 and 6/9
    [0.8333, 0.6667]
    """
    level, wanted = _options.fraction(level, "level"), asked_margin(margin)
    if fixed is not None:
        _options.choice(fixed, ("readers", "cases"), "fixed")
    _options.choice(covariance, COVARIANCES, "covariance")
    _options.choice(pairs, ("own", "pooled"), "pairs")
    _options.choice(reference, ("student", "logit", BEHRENS_FISHER), "reference")
    own = [*signature(reader_study).parameters][1:-1]
    _options.options(columns, [*ROLES, "positive", *own], "reader_study")
    x, end = readings(data, columns), endpoint(metric, threshold)
    if covariance == "gallas" and fixed is not None:
        raise InputError(
            'covariance="gallas" is for random readers and cases; leave fixed= out.'
        )
    m = fit_model(x, end, covariance)
    if fixed != "readers" and min(m.per_treatment) < 2:
        raise NotEnoughCases(
            "Random readers need at least two readers with each treatment; found "
            f'{min(m.per_treatment)}. Type fixed="readers" for a result about these '
            "readers alone."
        )
    words = [covariance, *([reference] if reference != "student" else [])]
    how = ", ".join(
        words if covariance == "gallas" else ["obuchowski-rockette", *words]
    )
    number = (len(x.readers),) * 2 if fixed == "cases" else x.number
    # readers who agree count as one; an AUC has no more than its smaller class
    n = min(number) if end.name == "auc" else float(np.dot(number, end.depends))
    ends = _ends_by(end, n, reference)
    means = _means(m, fixed, reference, ends, level, how)
    made = []
    for a, b in combinations(range(len(means)), 2):
        spread = _difference_spread(x, m, end, [a, b], fixed, covariance, pairs)
        c = MeanContrast(means[a], means[b], *spread, reference, ends)
        made.append(judged(x.treatments[a], x.treatments[b], c, how, level, wanted))
    test = equality_test(m, fixed, reference)
    if len(made) == 1:
        test = (*test[:3], made[0].p_value)
    assumed = ", ".join(
        f"{'fixed' if fixed == k else 'random'} {k}" for k in ("readers", "cases")
    )
    same = any(p.difference.se == 0 for p in made)
    notes = _notes(x, m, end, fixed, reference, wanted, pairs, same)
    return ReaderStudy(
        *(x.treatments, x.readers, m.table, means, adjusted(made), *test),
        *(m.components, *x.number, x.design, assumed, end.name, how, level),
        *(notes, x.groups),
    )


Ends = Callable[[float, float, float], tuple[float, float]]


def _ends_by(end: Endpoint, n: float, reference: str) -> Ends:
    """Give limits of a mean at z errors; without a spread, as n alike cases have."""

    def ends(value: float, sd: float, z: float) -> tuple[float, float]:
        if sd == 0:
            level = 2 * NormalDist().cdf(z) - 1
            variance = VarianceEstimate(0.0, math.inf, n)
            interval = interval_from_variance(value, variance, end.range, level)
            return interval.low, interval.high
        if reference == "logit":
            return interval_on_open_scale(value, z * sd, end.range)
        return max(end.range[0], value - z * sd), min(value + z * sd, end.range[1])

    return ends


def _means(
    m: ReaderModel,
    fixed: str | None,
    reference: str,
    ends: Ends,
    level: float,
    how: str,
) -> tuple[Estimate, ...]:
    """Give the mean of each treatment, from its own readers and errors alone."""
    means = []
    for k, (ms, var, cov2) in enumerate(m.own):
        n, value = int(m.per_treatment[k]), float(m.means[k])
        spread = ReaderSpread(var + (n - 1) * max(cov2, 0.0), 0.0, math.inf)
        if fixed != "readers":
            both = ms + (fixed is None) * n * max(cov2, 0.0)
            spread = ReaderSpread(both, ms, n - 1.0)
        sd = math.sqrt(max(spread.value / n, 0.0))
        reach = ends(value, sd, quantile(spread, level, reference))
        means.append(estimate_from_interval(value, *reach, level, how, sd))
    return tuple(means)


def _difference_spread(
    x: Readings,
    m: ReaderModel,
    end: Endpoint,
    at: list[int],
    fixed: str | None,
    covariance: str,
    pairs: str,
) -> tuple[float, ReaderSpread]:
    """How far does the difference of two treatments vary?"""
    part, own = m, at
    if pairs == "own" and not x.shares_evenly:
        # one covariance for all pairs would fit none of them
        part, own = fit_model(x.of_treatments(at), end, covariance), [0, 1]
    # Differs from Hillis (2014), who has equal numbers of readers: the variance of a
    # difference is MS (1 / J_a + 1 / J_b) + 2 (Cov2 - Cov3), so J is harmonic.
    j = float(2 / (1 / part.per_treatment[own]).sum())
    spread = denominator(part, fixed, part.each if pairs == "pooled" else j)
    sd = math.sqrt(max(2 * spread.value / j, 0.0))
    if covariance == "gallas":
        sd = one_shot(x, end, at)
    return sd, spread if sd > 0 else ReaderSpread(0.0, 0.0, math.inf)


class MeanContrast(NamedTuple):
    """A difference of means over readers, with limits at so many errors."""

    first: Estimate
    second: Estimate
    standard_error: float
    spread: ReaderSpread
    reference: str
    ends: Ends

    @property
    def value(self) -> float:
        """First minus second."""
        return self.first.value - self.second.value

    @property
    def statistic(self) -> float:
        """At how many errors does a limit end at zero?"""
        return self._errors(0.0)

    def interval(self, level: float) -> tuple[float, float]:
        """Return the confidence interval."""
        z = quantile(self.spread, level, self.reference)
        return self.value - self._reach(z, False), self.value + self._reach(z, True)

    def p_value_above(self, bound: float) -> float:
        """Return the one-sided p-value: of the interval that ends at ``bound``."""
        return tail(self.spread, -self._errors(bound), self.reference)

    def _errors(self, bound: float) -> float:
        gap, up = abs(self.value - bound), bound > self.value
        # no limit is nearer than z errors; without any, p-values beyond 8.2 are 0
        most = gap / self.standard_error if self.standard_error > 0 else 8.2
        z = float(bisect(lambda z: self._reach(float(z), up) <= gap, 0.0, most))
        return 0.0 if gap == 0 else -z if up else z

    def _reach(self, z: float, up: bool) -> float:
        """How far do limits at z errors reach, up or down?

        Symmetrically, or by the limits of both means (MOVER; Zou and Donner 2008), with
        the correlation that the standard errors imply; never nearer than the symmetric
        ones. Where nothing varies, r = 0.
        """
        a, b, sd = self.first, self.second, self.standard_error
        if sd > 0 and self.reference != "logit":
            return z * sd
        both, r = 2 * a.se * b.se * (sd > 0), 0.0
        if both > 0:
            r = min(max((a.se**2 + b.se**2 - sd**2) / both, -1.0), 1.0)
        own, other = (
            self.ends(e.value, max(e.se, 1e-300) * (sd > 0), z)[side] - e.value
            for e, side in ((a, up), (b, not up))
        )
        square = own**2 + other**2 + 2 * r * own * other
        return max(math.sqrt(max(square, 0.0)), z * sd)


def _notes(
    x: Readings,
    m: ReaderModel,
    end: Endpoint,
    fixed: str | None,
    reference: str,
    margin: float,
    pairs: str,
    same: bool,
) -> tuple[str, ...]:
    few, student = min(m.per_treatment) < 4, reference != BEHRENS_FISHER
    random_few = len(x.treatments) > 1 and fixed != "readers" and few
    near = end.range == (0, 1) and ((student and few) or m.means.max() > 0.9)
    uneven = not x.shares_evenly
    said = {
        f"Left out: {counted(x.lost, 'reading')} without a score.": x.lost > 0,
        f"With {min(m.per_treatment)} readers hardly any difference can be shown to "
        "hold for other readers; plan_readers says how many are needed.": random_few,
        "Tests of so few readers reject too often where readers differ much in what a "
        'treatment does for them. Type reference="behrens-fisher" for tests that keep '
        "their level.": random_few and student and fixed is None,
        "Readers are taken as fixed: the result is about these readers, and says "
        "nothing about others.": fixed == "readers",
        "Cases are taken as fixed: the result is about these cases alone.": fixed
        == "cases",
        "Some treatments share more cases than others: each difference is analysed by "
        "itself, and the test of all is an approximation.": uneven and pairs == "own",
        "Some treatments share more cases than others, but all differences have one "
        "standard error: too small for those that share few cases.": uneven
        and pairs == "pooled",
        "All readers show the same difference, so there is no spread by which it could "
        "be judged: its limits and p-values are those of one reader with as many "
        "independent cases for each treatment.": same,
        "With fewer than 4 readers, or above 0.9, tests against a margin reject too "
        "often: those of 5 % erred in up to 9 % of simulated studies. Type "
        'reference="logit" for tests that keep their level.': near
        and not (reference == "logit" or math.isnan(margin)),
        "All treatments are below one half. Do high scores mean positive?": end.name
        == "auc"
        and m.means.max() < 0.5,
    }
    return tuple(text for text, holds in said.items() if holds)
