"""How sure are we of a number that somebody brings?

``estimate`` takes any function of counts and gives it the limits that the measures of
Trueness have, under every design. Its influence values are found by leaving out one
case of each row at a time, of very many rows of one in a group.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from trueness._core.arrays import Array
from trueness._core.checks import cases as _cases
from trueness._core.checks import options as _options
from trueness._core.checks.errors import InputError, NotEnoughCases
from trueness._core.checks.words import described
from trueness._core.records import Estimate
from trueness.counts.answers import of_counts, refuse
from trueness.counts.cases import rows_kept, with_counts
from trueness.counts.placements import group_starts
from trueness.counts.values import Panel, Tally
from trueness.inference.limits import Ends, Side, inferred, limited
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
        return _brought(x, statistic, read_ends(ends), level)
    m = inferred(meant(x), measure)
    e = limited(m.value, m.spread, m.ends, level, name, x)
    return m._replace(estimate=e)


def _brought(x: Tally | Panel, statistic: Statistic, ends: Ends, level: float) -> Side:
    """Give a number that was brought its limits, between the ends that it can have."""
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


def read_ends(ends: object) -> tuple[float, float]:
    """Pass on the smallest and the largest value that a statistic can have."""
    pair = tuple(ends) if isinstance(ends, (tuple, list)) else ()
    known = len(pair) == 2 and all(isinstance(v, (int, float)) for v in pair)
    if not known or not pair[0] < pair[1]:
        raise InputError(
            "ends must be two numbers, the lower one first; found "
            f"{described(ends)}. Type ends=(0, 1), or ends=(0, float('inf'))."
        )
    return float(pair[0]), float(pair[1])


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
