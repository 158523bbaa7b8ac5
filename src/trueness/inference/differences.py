r"""How sure are we of a number that somebody brings, and by how much do two differ?

``estimate`` takes any function of counts and gives it the limits that the measures of
Trueness have, under every design. Its influence values are found by leaving out one
case of each row at a time, of very many rows of one in a group.

Influence values of two measures on the same cases are subtracted, case by case, before
they are squared; of different cases the variances are added. Limits and p-values come
from one place, so that they agree: a difference is significant at 5 % exactly when its
95 % interval leaves out zero.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from trueness._core.arrays import Array, Floats
from trueness._core.checks import cases as _cases
from trueness._core.checks import options as _options
from trueness._core.checks.errors import InputError, NotEnoughCases
from trueness._core.checks.words import described
from trueness._core.records import Estimate
from trueness._core.solvers import bisect
from trueness.counts.answers import of_counts, refuse
from trueness.counts.cases import rows_kept, with_counts
from trueness.counts.placements import group_starts
from trueness.counts.values import Panel, Tally
from trueness.inference.limits import Side, inferred, limited, student
from trueness.inference.sample import Sample, centred, meant
from trueness.inference.spread import Spread, spread

Statistic = Callable[[Any], Any]
# so many rows of a class, or clusters, are left out one by one; more are grouped
_MOST = 400
_NO_ROWS = "It sees labelled cases only."


@of_counts
def estimate(
    data: Tally | Panel,
    statistic: Statistic,
    *,
    ends: tuple[float, float] = (0.0, 1.0),
    level: float = 0.95,
) -> Estimate:
    """How large is a number of my own, and how sure are we?

    Parameters
    ----------
    data
        The counts, a panel, or labels and scores.
    statistic
        A function from a tally (or a panel) to a number, for example ``lambda t:
        t.score @ t.pos / t.n_pos``. It should not change when all counts are doubled.

    Notes
    -----
    An analysis of Trueness, such as :func:`auc`, has its own influence values, and the
    same limits here as when it is called. Other functions are called up to 800 times:
    each time one case of a row is left out (the infinitesimal
    jackknife; Efron 1982, ch. 6). Above 400 rows neighbouring ones are taken to move
    the number alike; of a panel of more rows random groups are left out (the
    delete-a-group jackknife, Kott 2001).

    References
    ----------
    Efron (1982), The Jackknife, the Bootstrap and Other Resampling Plans;
    Kott (2001), J. Off. Stat. 17:521

    Examples
    --------
    >>> t = Tally([1, 0], pos=[9, 1], neg=[2, 18])
    >>> e = estimate(t, lambda t: t.pos[t.score >= 1].sum() / t.n_pos)
    >>> e.value
    0.9
    """
    level = _options.fraction(level, "level")
    _options.statistic(statistic, "estimate")
    found: Estimate = valued(data, statistic, ends, level).estimate
    return found


def valued(
    x: Tally | Panel,
    statistic: Statistic,
    ends: object = (0.0, 1.0),
    level: float = 0.95,
    name: str = "",
) -> Side:
    """Measure, by formula where there is one, otherwise by leaving out cases."""
    measure = getattr(statistic, "measure", None)
    if measure is None or not isinstance(x, Tally):
        return _brought(x, statistic, ends, level)
    try:
        with np.errstate(divide="ignore", invalid="ignore"):
            m = inferred(meant(x), measure)
    except ZeroDivisionError:
        statistic(x)  # says what is lacking
        raise
    if not m.ends[0] <= m.value <= m.ends[1]:
        statistic(x)  # says which scores it needs
    e = limited(m.value, m.spread, m.ends, level, name, x)
    return m._replace(estimate=e)


def _brought(
    x: Tally | Panel, statistic: Statistic, given: object, level: float
) -> Side:
    """Give a number that was brought its limits, between the ends that it can have."""
    pair = tuple(given) if isinstance(given, (tuple, list)) else ()
    known = len(pair) == 2 and all(isinstance(v, (int, float)) for v in pair)
    if not known or not pair[0] < pair[1]:
        raise InputError(
            "ends must be two numbers, the lower one first; found "
            f"{described(given)}. Type ends=(0, 1), or ends=(0, float('inf'))."
        )
    ends = float(pair[0]), float(pair[1])
    refuse(x, "estimate", {"unlabelled": _NO_ROWS})
    _cases.some_labels(x, "estimate")
    sample, u = meant(x), ()
    value = _number(statistic, sample.counts)
    if not ends[0] <= value <= ends[1] and not math.isnan(value):
        raise InputError(
            f"The statistic gave {value:g}, which lies outside of ends=({ends[0]:g}, "
            f"{ends[1]:g}). Type the smallest and the largest value that it can have."
        )
    if isinstance(x, Panel) and len(x) > _MOST:
        s = _groups_left_out(sample, statistic)
    else:
        u = _cases_left_out(sample, statistic, value)
        s = spread(sample.cases, *u, by_class=sample.fixed)
    e = limited(value, s, ends, level, cases=x)
    if math.isnan(value):
        e = replace(e, notes=("The statistic is undefined (NaN) for these cases.",))
    return Side(value, s, ends, False, u, e)


def _number(statistic: Statistic, x: object, *, less: bool = False) -> float:
    """Ask the statistic; with ``less`` cases than there are it may be undefined."""
    undefined = (NotEnoughCases, ZeroDivisionError) if less else ()
    try:
        with np.errstate(divide="ignore", invalid="ignore"):
            found = statistic(x)
    except undefined:
        return math.nan
    try:
        return float(found)
    except (TypeError, ValueError):
        raise InputError(
            f"The statistic must give one number; it gave {described(found)}."
        ) from None


def _cases_left_out(sample: Sample, statistic: Statistic, value: float) -> Any:
    """Leave out one case of a row at a time; of many rows, of one in a group."""
    x, columns = sample.cases, []
    for kind, count in enumerate((x.neg, x.pos)):
        at = np.flatnonzero(count)
        start = np.arange(at.size)
        if at.size > _MOST:
            start = group_starts(count[at], _MOST)
        ends = np.append(start[1:], at.size)
        rows = at[(start + ends) // 2]
        change = [_without(sample, statistic, value, kind, row) for row in rows]
        columns.append(np.zeros(count.size))
        columns[-1][at] = np.repeat(change, ends - start)
    if sample.fixed:
        return centred(columns[0], x.neg), centred(columns[1], x.pos)
    both = centred(np.concatenate(columns), np.concatenate([x.neg, x.pos]))
    return both[: len(x)], both[len(x) :]


def _without(
    sample: Sample, statistic: Statistic, value: float, kind: int, row: int
) -> float:
    """How far does a unit of weight move the value, by the loss of one case?

    Of very many equal cases a millionth is left out: one is lost in the rounding. NaN
    where the statistic is undefined without the case, so that its spread is unknown.
    """
    x, columns = sample.cases, list(sample.cases.counts)
    count = columns[kind]
    case = x.squares[kind][row] / count[row]
    total = float(count.sum()) if sample.fixed else float(x.n)
    much = case * max(1, min(total / case // 10**6, count[row] // case))
    for k, less in ((kind, much), (kind + 3, much * case))[: len(columns) // 3]:
        columns[k] = columns[k].copy()
        # rounding leaves no case with less than nothing
        left = columns[k][row] - columns[k].dtype.type(less)
        columns[k][row] = left if left > 1e-12 * less else 0
    change = value - _number(statistic, _with_counts(sample, columns), less=True)
    # what is left of two equal numbers is rounding
    change = 0.0 if abs(change) < 1e-15 * abs(value) else change
    return float(change / much * (1 - much / total))


def _with_counts(sample: Sample, columns: Sequence[Array]) -> Any:
    """Give the counts that are meant, of changed cases; rows without any are gone."""
    left = with_counts(sample.cases, columns)
    left = rows_kept(left, left.neg + left.pos + left.unknown > 0)
    if sample.scale == (1.0, 1.0):
        return left
    return meant(left.with_design(prevalence=sample.counts.prevalence)).counts


def _groups_left_out(sample: Sample, statistic: Statistic) -> Spread:
    """Leave out random groups of rows, or of clusters, one at a time (Kott 2001)."""
    x, c = sample.cases, sample.cases.grouped
    number = len(x) if c is None else c.number
    group = np.random.default_rng(0).permutation(number) % min(_MOST, number)
    values = []
    for g in range(min(_MOST, number)):
        if c is not None:
            gone = group[c.code] == g
            parts = [np.bincount(c.row[gone], k[gone], len(x)) for k in c.counts]
        else:
            parts = [np.where(group == g, k, 0) for k in x.counts]
        pairs = zip(x.counts, parts, strict=True)
        left = [np.maximum(a - b.astype(a.dtype), 0) for a, b in pairs]
        values.append(_number(statistic, _with_counts(sample, left), less=True))
    known, m = np.array(values), len(values)
    # Tukey (1958): estimates that share all but one group are that much closer
    variance = float(((known - known.mean()) ** 2).sum()) * (m - 1) / m
    return Spread(variance, max(m - 1.0, 1.0), float(m), variance)


class Contrast(NamedTuple):
    r"""A difference whose limits are recovered from those of its two sides (MOVER).

    With the limits :math:`l, u` of a and of b, and r the correlation of both,

    .. math:: d - \sqrt{(a - l_a)^2 - 2r(a - l_a)(u_b - b) + (u_b - b)^2
              + \textstyle\sum q_c^2}

    and the upper limit in the same way. Where a has a longer way down than up, so has
    the difference: near 1 a symmetric interval would be too short on one side. A class
    of n cases that shows no difference at all may hold a share q of a kind that does,
    which n cases miss with the probability of one side, :math:`(1 - q)^n = \alpha_1`.
    Without sides it is Student's interval.

    References
    ----------
    Zou, Donner (2008), Stat. Med. 27:1693; of two AUCs with Wilson's limits among
    others: Stat. Med. 39:2621 (2020), doi:10.1002/sim.8562
    """

    value: float
    spread: Spread  # of the difference
    reach: float = 1.0  # by how much one case in all could differ
    sides: tuple[Side, Side] | None = None

    @classmethod
    def of(cls, a: Side, b: Side, s: Spread) -> Contrast:
        """Compare two values; ``s`` says how their difference varies."""
        return cls(a.value - b.value, s, a.ends[1] - a.ends[0], (a, b))

    @property
    def method(self) -> str:
        """How are the limits made?"""
        return "student" if self.sides is None else "mover"

    @property
    def sd(self) -> float:
        """Give the standard error."""
        return self.spread.sd

    @property
    def statistic(self) -> float:
        """Give the difference over its standard error."""
        return self.value / self.sd if self.sd > 0 else 0.0

    def distance(self, tail: float, up: bool) -> float:
        """How far away is a limit that is wrong with this probability?"""
        s = self.spread
        if math.isnan(s.variance):
            return 2 * self.reach
        square = max(self._seen(tail, up), 0.0) if s.variance > 0 else 0.0
        if math.isinf(self.reach):  # nothing bounds what was not seen
            return math.sqrt(square) if square else self.reach
        for n in s.silent:
            unseen = -math.expm1(math.log(tail) / n) if n > 0 else 1.0
            square += (unseen * self.reach) ** 2
        return math.sqrt(square)

    def _seen(self, tail: float, up: bool) -> float:
        """How far, squared, by what varied?"""
        if self.sides is None:
            return student(self.spread.df, 1 - 2 * tail) ** 2 * self.spread.variance
        a, b = self.sides
        one, other = a.reach(tail)[up], b.reach(tail)[not up]
        both, square = math.sqrt(a.spread.variance * b.spread.variance), one * one
        square += other * other
        if not both > 0 or math.isinf(square):  # what did not vary goes with nothing
            return square
        joint = (a.spread.variance + b.spread.variance - self.spread.variance) / 2
        r = min(max(joint / both, -1.0), 1.0)
        return square - 2 * r * one * other

    def limits(self, level: float) -> tuple[float, float]:
        """Give both limits."""
        below, above = (self.distance((1 - level) / 2, up) for up in (False, True))
        low, high = self.value - below, self.value + above
        return max(low, -self.reach), min(high, self.reach)

    def above(self, bound: float) -> float:
        """Give the one-sided p-value against "the difference is at most ``bound``"."""
        tail = self._tail(abs(self.value - bound), self.value < bound)
        return 1 - tail if self.value < bound else tail

    def _tail(self, distance: float, up: bool) -> float:
        """Which tail has a limit at this distance?"""
        if self.distance(_LEAST, up) < distance:
            return _LEAST
        if not distance > 0 or self.distance(0.5 - 1e-12, up) > distance:
            return 0.5
        start, end = math.log(2) + 1e-12, -math.log(_LEAST)
        size = bisect(
            lambda x: self.distance(math.exp(-x), up) < distance, start, end, 45
        )
        return math.exp(-float(size))


# no p-value below is told from it: smaller ones are lost in 1 - p
_LEAST = 2.0**-52


class ShareContrast(NamedTuple):
    r"""A difference of two shares of the same n cases, with Tango's score limits.

    b and c cases are counted by one share only. All D with
    :math:`|b - c - nD| \le z\sqrt{n(2\hat q + D(1 - D))}`, where :math:`\hat q` is the
    probability of the second kind at D. At D = 0 it is McNemar's test.

    References
    ----------
    Tango (1998), Stat. Med. 17:891
    """

    n: float
    b: float
    c: float
    sd: float = math.nan  # the standard error by influence values

    @property
    def method(self) -> str:
        """How are the limits made?"""
        return "tango"

    @property
    def value(self) -> float:
        """Give the difference."""
        return (self.b - self.c) / self.n if self.n else math.nan

    @property
    def statistic(self) -> float:
        """Give the score statistic of no difference (McNemar's)."""
        return self._score(0.0)

    def _score(self, bound: float) -> float:
        n, b, c, _ = self
        if not n > 0:
            return 0.0
        # Tango (1998), eq. (10)
        first, last = 2 * n, -c * bound * (1 - bound)
        middle = -b - c + (2 * n - b + c) * bound
        root = math.sqrt(max(middle**2 - 4 * first * last, 0.0))
        q = (root - middle) / (2 * first)
        square = n * (2 * q + bound * (1 - bound))
        gap = b - c - n * bound
        if not square > 0:
            return math.copysign(math.inf, gap) if gap else 0.0
        return gap / math.sqrt(square)

    def limits(self, level: float) -> tuple[float, float]:
        """Give both limits."""
        from scipy.special import ndtri

        if not self.n > 0:
            return math.nan, math.nan
        z, d = float(ndtri((1 + level) / 2)), self.value
        low = bisect(lambda x: self._score(float(x)) < z, d, -1.0)
        high = bisect(lambda x: self._score(float(x)) > -z, d, 1.0)
        return float(low), float(high)

    def above(self, bound: float) -> float:
        """Give the one-sided p-value against "the difference is at most ``bound``"."""
        from scipy.special import ndtr

        return float(ndtr(-self._score(bound)))


def two_sided(c: Contrast | ShareContrast) -> float:
    """Give the p-value of no difference."""
    p = c.above(0.0)
    return min(1.0, 2 * min(p, 1 - p))


def apart(a: Spread, b: Spread) -> Spread:
    """Give the spread of a difference between different cases (Satterthwaite 1946)."""
    variance = a.variance + b.variance
    doubt = a.variance**2 / a.df + b.variance**2 / b.df
    df = variance**2 / doubt if doubt > 0 else math.inf
    silent = tuple(s.units for s in (a, b) if not s.variance > 0)
    return Spread(variance, df, min(a.units, b.units), a.plain + b.plain, silent)


def all_equal(
    values: Floats, variances: Floats, freedom: Sequence[float]
) -> tuple[float, int, float | None]:
    r"""Could all be equal? Hotelling's test on the contrasts with the last one.

    ``variances`` holds those of all pairwise differences, from which the covariance of
    contrasts follows: :math:`2\,\mathrm{cov}(i - k, j - k) = V_{ik} + V_{jk} - V_{ij}`.
    Its degrees of freedom are the least of a pair. Gives Wald's statistic, the number
    of contrasts, and the p-value; None where the pairs say it all.

    References
    ----------
    Hotelling (1931), Ann. Math. Stat. 2:360, doi:10.1214/aoms/1177732979
    """
    from scipy.special import chdtrc, fdtrc

    if not (np.isfinite(values).all() and np.isfinite(variances).all()):
        return math.nan, 0, None
    d = values[:-1] - values[-1]
    last = variances[:-1, -1]
    covariance = (last[:, None] + last - variances[:-1, :-1]) / 2
    size, axes = np.linalg.eigh(covariance)
    some = size > 1e-12 * max(float(size[-1]), 1e-300)
    number = int(some.sum())
    if not number:
        return 0.0, 0, None
    along = d @ axes
    statistic = float((along[some] ** 2 / size[some]).sum())
    df = min(freedom)
    # a difference without variance is no part of the statistic
    if values.size == 2 or df <= number or (abs(along[~some]) > 1e-9).any():
        return statistic, number, None
    if math.isinf(df):
        return statistic, number, float(chdtrc(number, statistic))
    # Hotelling (1931): T^2 by its degrees of freedom is Fisher's F
    f = statistic * (df - number + 1) / (df * number)
    return statistic, number, float(fdtrc(number, df - number + 1, f))
