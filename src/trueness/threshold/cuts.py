"""Which cuts are allowed, which are best, and which thresholds make them?

Cut 0 flags nothing, cut i the cases with one of the i highest scores. Values are
computed in floating point for all cuts at once; where rounding could decide, they are
compared again in fractions.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from fractions import Fraction
from functools import reduce
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from trueness._core.arrays import Array, Floats, Ints, blocks
from trueness._core.checks import cases as _cases
from trueness._core.checks import options as _options
from trueness._core.checks.errors import Infeasible, InputError, NotEnoughCases
from trueness._core.numbers import percent_hint
from trueness._core.records import brief
from trueness.counts.values import Tally
from trueness.fermi.distribution import fermi_dirac
from trueness.inference.verification import impute_labels
from trueness.metrics.algebra import (
    Constraint,
    Metric,
    as_fraction,
    in_fractions,
    meets,
)
from trueness.metrics.confusion import Confusion, sweep, swept
from trueness.metrics.intervals import meant_by_rows

Interval = tuple[float, float]
# values are sums of a few quotients: their rounding errors stay below some tens of
# units in the last place (2e-16 each)
ROUNDING = 1e-13


class Cuts(NamedTuple):
    """All cuts of a tally: what was counted, and what is expected in use.

    ``seen`` are the counts, or sums of weights; ``used`` the same at the prevalence of
    use, or what a model expects there. ``units`` are those numbers as whole ones, which
    decide what is equal: one of the positives stands for ``up / unit`` cases in use,
    one of the negatives for ``down / unit``.
    """

    score: Floats
    seen: Confusion
    used: Confusion
    units: Confusion
    up: int
    down: int
    unit: int
    asked: float | None = None

    @property
    def prevalence(self) -> float:
        """Which share of the cases is positive in use?"""
        part = Fraction(self.n_pos * self.up, self.unit)
        return float(part / self.total) if self.asked is None else self.asked

    @property
    def n_pos(self) -> int:
        """How many units are positive?"""
        return int(self.units[0].fn)

    @property
    def n_neg(self) -> int:
        """How many units are negative?"""
        return int(self.units[0].tn)

    @property
    def total(self) -> Fraction:
        """How many cases, or how much weight of them, are there in use?"""
        return Fraction(self.n_pos * self.up + self.n_neg * self.down, self.unit)

    def counts(self, tp: Array, fp: Array) -> tuple[Any, ...]:
        """Give tp, fp, fn, tn in use, in whole numbers, ``unit`` times too large."""
        up, down = self.up, self.down
        tp, fp = tp.astype(object), fp.astype(object)
        return tp * up, fp * down, (self.n_pos - tp) * up, (self.n_neg - fp) * down

    @property
    def sizes(self) -> str:
        """Say how many cases of each class there are, or what they weigh."""
        none = self.seen[0]
        return f"{brief(none.fn)} positives and {brief(none.tn)} negatives"


# units in which weights are counted, in all: rounding moves no sum of a thousand rows
# by more than 1e-9 of it, and few products of two sums need more than 64 bits
_UNITS = 1 << 40


def unit_of(rows: Iterable[Array]) -> Fraction:
    """In which unit are counts or weights whole numbers, or nearly so?

    >>> unit_of([np.array([3, 2])]), unit_of([np.array([0.5, 1.2])])
    (Fraction(1, 1), Fraction(1, 10))
    """
    every = np.concatenate([np.ravel(r) for r in rows])
    if every.dtype.kind in "iu":
        return Fraction(1)
    total = float(every.sum())
    for power in range(7):  # decimals that make them whole: 0.1 is a tenth
        times = 10.0**power
        off = np.abs(every * times - np.rint(every * times)).max(initial=0.0)
        if total * times < _UNITS and off <= 1e-14 * total * times:
            return Fraction(1, 10**power)
    return Fraction(math.ldexp(1.0, math.frexp(total / _UNITS)[1]))


def all_cuts(
    t: Tally, prevalence: float | None, what: str, unit: Fraction | None = None
) -> Cuts:
    """Count right and wrong cases at every cut."""
    _cases.one_classifier(t, what)
    _cases.some_labels(t, what)
    t = impute_labels(t).expected if meant_by_rows(t) else t.labelled()
    if prevalence is not None:
        prevalence = _options.fraction(prevalence, "prevalence")
        _cases.both_classes(t, f"{what} at another prevalence")
    return make_cuts(t.score, sweep(t), prevalence, unit=unit)


def make_cuts(
    score: Floats,
    seen: Confusion,
    prevalence: float | None,
    *,
    expected: Confusion | None = None,
    unit: Fraction | None = None,
) -> Cuts:
    """Put counts, or what a model expects in their place, at the prevalence of use."""
    meant = seen if expected is None else expected
    units, unit = _in_units(meant, unit)
    up = down = unit
    if prevalence is not None:
        pos, neg = int(units[0].fn), int(units[0].tn)
        if not (pos and neg):
            raise NotEnoughCases(
                "Another prevalence needs a positive and a negative case; found "
                f"{pos:,} positives and {neg:,} negatives."
            )
        share, all_ = as_fraction(prevalence), (pos + neg) * unit
        up, down = share * all_ / pos, (1 - share) * all_ / neg
    times = math.lcm(up.denominator, down.denominator)
    return Cuts(score, seen, meant.at_prevalence(prevalence), units, int(up * times),
                int(down * times), times, prevalence)  # fmt: skip


def _in_units(c: Confusion, unit: Fraction | None) -> tuple[Confusion, Fraction]:
    """Write running sums as whole numbers of units, row by row."""
    if c.tp.dtype.kind in "iu" and unit in (None, 1):
        return c, Fraction(1)
    # the last row is what no cut flags
    rows = [np.append(np.diff(x), rest[-1]) for x, rest in ((c.tp, c.fn), (c.fp, c.tn))]
    unit = unit or unit_of(rows)
    whole = (np.rint(r / float(unit)).astype(np.int64) for r in rows)
    return swept(*whole)[:-1], unit


def expected_cuts(t: Tally, prevalence: float | None, auc: float | None) -> Cuts:
    """Give every cut of a tally with the confusion matrix that is expected there.

    With ``auc`` the labels are not looked at, and ``prevalence`` is that of the cases.
    """
    _cases.one_classifier(t, "best_threshold")
    if auc is not None:
        if prevalence is None:
            raise InputError(
                'method="fermi-dirac" with auc= needs prevalence= too, the share of '
                "positives among the cases. Type prevalence=0.1."
            )
        fd = fermi_dirac(n=t.n, prevalence=prevalence, auc=auc)
        cases = t.pos + t.neg + t.unknown
    else:
        if not (t.n_pos and t.n_neg) and t.n_unknown:
            raise InputError(
                f'method="fermi-dirac" needs auc= and prevalence= when not all is '
                f"labelled; there are {t.n_pos:,} positives, {t.n_neg:,} negatives"
                f" and {t.n_unknown:,} unknowns. Type auc=0.8, prevalence=0.1."
            )
        _cases.both_classes(t, 'best_threshold with method="fermi-dirac"')
        t = t.labelled()
        fd, cases = fermi_dirac(t), t.pos + t.neg
    # add up the chances of the ranks that each cut flags
    ranks = np.concatenate([[0], np.cumsum(cases)])
    pos, neg = fd.n_pos, fd.n - fd.n_pos
    tp = pos * np.asarray(fd.expected("tpr", ranks))
    fp = neg * np.asarray(fd.expected("fpr", ranks))
    expected = Confusion(tp, fp, pos - tp, neg - fp)
    if auc is not None:
        return make_cuts(t.score, expected, None)._replace(asked=fd.prevalence)
    if prevalence is not None:
        prevalence = _options.fraction(prevalence, "prevalence")
    return make_cuts(t.score, sweep(t), prevalence, expected=expected)


def exact_values(cuts: Cuts, metric: Metric, at: Array) -> Array:
    """Evaluate a metric at some cuts in fractions, without its constant."""
    counts = cuts.counts(cuts.units.tp[at], cuts.units.fp[at])
    return in_fractions(metric, counts, cuts.unit)


def value_at(cuts: Cuts, metric: Metric, at: int) -> float:
    """What is the metric at a cut, rounded once, so that equal values look equal?"""
    value = float(metric(cuts.used[at]))
    counted = cuts.units is cuts.seen
    if not (math.isfinite(value) and counted and metric.is_exact):
        return value
    size = exact_values(cuts, metric, np.array([at]))[0]
    if metric.is_root:
        return math.copysign(math.sqrt(abs(size)), size) + metric.constant
    return float(size + as_fraction(metric.constant))


def values_of(cuts: Cuts, metric: Metric) -> Floats:
    """What is the metric at every cut? NaN where it is undefined."""
    of_class = _within_a_class(metric)
    return np.asarray(metric(cuts.units if of_class else cuts.used), dtype=np.float64)


def _within_a_class(metric: Metric) -> bool:
    """Is it a rate of one class, which no prevalence changes?"""
    if metric.ratio is None or metric.ratio.under is None:
        return False
    pairs = zip(metric.ratio.over, metric.ratio.under, strict=True)
    tp, fp, fn, tn = (bool(a or b) for a, b in pairs)
    return not (fp or tn) or not (tp or fn)


def rounding_of(cuts: Cuts, metric: Metric) -> float:
    """How far can rounding move a value of this metric, and disturb its order?"""
    as_counted = cuts.asked is None and cuts.units is cuts.seen
    if metric.ratio is not None and (as_counted or _within_a_class(metric)):
        # one division of whole numbers below 2**26: different quotients of such
        # numbers are further apart than floats
        weights = [abs(w) for part in metric.ratio if part for w in part]
        whole = all(float(w).is_integer() for w in weights)
        if whole and max(weights) * (cuts.n_pos + cuts.n_neg) < 2**26:
            return 0.0
    size = abs(metric.constant)
    for weight, part in metric.parts:
        largest = np.abs(part.range).max()
        if np.isinf(largest):
            values = np.abs(part(cuts.used))
            largest = values[np.isfinite(values)].max(initial=0.0)
        size += abs(weight) * float(largest)
    return ROUNDING * size


def holds(cuts: Cuts, constraint: Constraint) -> NDArray[np.bool_]:
    """At which cuts does the constraint hold? Never where the metric is undefined."""
    metric, bound = constraint.metric, constraint.bound
    values = values_of(cuts, metric)
    met, rounding = np.asarray(constraint.decide(values)), rounding_of(cuts, metric)
    # values that are rounded once never pass a bound that a float holds, such as 1
    if not metric.is_exact or (rounding == 0 and Fraction(bound) == as_fraction(bound)):
        return met
    # floats decide, but for those so near to the bound that rounding may have put them
    # on the wrong side: the bound need not be a quotient of small numbers
    near = np.abs(values - bound) <= max(rounding, ROUNDING * abs(bound))
    if near.any():
        met[near] = meets(constraint, exact_values(cuts, metric, np.flatnonzero(near)))
    return met


def met_by(cuts: Sequence[Cuts], constraints: Sequence[Constraint]) -> Any:
    """Where does each constraint hold for all of these? (constraints, cuts)."""
    found = [np.all([holds(c, k) for c in cuts], axis=0) for k in constraints]
    return np.array(found, dtype=bool).reshape(-1, len(cuts[0].score) + 1)


def best_cuts(cuts: Sequence[Cuts], metric: Metric, allowed: Array) -> Ints:
    """Which of the allowed cuts are best at the worst of the prevalences, exactly?"""
    # NaN at one prevalence is NaN: an undefined value is never best
    values = reduce(np.minimum, (values_of(c, metric) for c in cuts))
    if not allowed.all():
        values = np.where(allowed, values, np.nan)
    top = float(np.fmax.reduce(values))  # NaN only when all are
    if math.isnan(top):
        return np.zeros(0, dtype=np.int64)
    if math.isinf(top):
        return np.flatnonzero(values == top)
    reach = max(rounding_of(c, metric) for c in cuts)
    # floats first: only what rounding may have put below the top is looked at again
    at = np.flatnonzero(values >= top - reach)
    if at.size == 1 or reach == 0 or not metric.is_exact:
        return at
    worst = reduce(np.minimum, (exact_values(c, metric, at) for c in cuts))
    return np.asarray(at[np.asarray(worst == worst.max(), dtype=bool)])


def most_balanced(cuts: Cuts, at: Ints) -> int:
    """Which undominated cut of these flags nearest to as many cases as are positive?"""
    tp, fp = cuts.units.tp[at], cuts.units.fp[at]
    # both counts only rise along the cuts: equal ones stand together
    least = fp[np.searchsorted(tp, tp, side="left")]
    most = tp[np.searchsorted(fp, fp, side="right") - 1]
    free = (fp == least) & (tp == most)
    at, tp, fp = at[free], tp[free], fp[free]
    _, fp, fn, _ = cuts.counts(tp, fp)
    return int(at[np.argmin(np.abs(fp - fn))])


def interval_of(score: Floats, at: int) -> Interval:
    """Which thresholds make this cut? Those above low, up to and including high."""
    low = float(score[at]) if at < score.size else -math.inf
    high = float(score[at - 1]) if at else math.inf
    return low, high


def threshold_of(score: Floats, at: int) -> float:
    """Give the threshold of one cut; see :func:`thresholds_of`."""
    return float(thresholds_of(score, np.array([at]))[0])


def thresholds_of(score: Floats, at: Ints) -> Floats:
    """Give thresholds near the middle of the intervals of some cuts, in few digits.

    Four digits, or as many more as it takes to flag the same cases. The highest
    threshold of the interval where it has no middle: +inf when nothing is flagged, the
    lowest score when everything is. Scores that are float32 get a middle that float32
    can hold apart.
    """
    low = np.where(at < score.size, score[np.minimum(at, score.size - 1)], -np.inf)
    high = np.where(at > 0, score[np.maximum(at, 1) - 1], np.inf)
    with np.errstate(over="ignore"):
        # in blocks: the first one tells already, as a rule
        single = all(
            (score[b].astype("f4") == score[b]).all() for b in blocks(score.size)
        )

    def between(cut: Floats) -> NDArray[np.bool_]:
        held = cut.astype(np.float32).astype(np.float64) if single else cut
        inside = (low < cut) & (cut <= high) & (low < held) & (held <= high)
        return np.asarray(inside & np.isfinite(cut))

    with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
        # halves first: the sum of two scores near 1e308 is infinite
        middle = low / 2 + high / 2
        found = np.where(between(middle), middle, high)
        place = np.floor(np.log10(np.abs(middle)))
        for digits in range(12, 3, -1):
            # a whole number over a power of ten is the float that its text reads as
            power = 10.0 ** np.abs(digits - 1 - place)
            finer = place < digits
            short = np.where(finer, np.rint(middle * power) / power,
                             np.rint(middle / power) * power)  # fmt: skip
            found = np.where(between(short) & between(middle), short, found)
    return found


Met = NDArray[np.bool_]  # (constraints, cuts)


def stop_infeasible(cuts: Cuts, constraints: Sequence[Constraint], met: Met) -> None:
    """Say which constraints cannot be met, and how close one can get."""
    if met.all(axis=0).any():
        return
    kept = list(range(len(met)))
    for k in range(len(met)):
        # a constraint that can go while the conflict stays is no part of it
        fewer = [j for j in kept if j != k]
        kept = kept if met[fewer].all(axis=0).any() else fewer
    close = []
    for k in kept:
        others = np.asarray(met[[j for j in kept if j != k]].all(axis=0))
        close.append((f"{constraints[k]!r}", _closest(cuts, constraints[k], others)))
    if len(kept) == 1:
        c = constraints[kept[0]]
        hint = percent_hint(c.bound, c.metric.range[1])
        raise Infeasible(f"{close[0][0]} cannot be met: {close[0][1]}.{hint}")
    raise Infeasible(
        f"{len(kept)} constraints cannot be met together. With the other"
        f"{'s' if len(kept) > 2 else ''} met, " + "; ".join(map(": ".join, close)) + "."
    )


def _closest(cuts: Cuts, c: Constraint, allowed: Array) -> str:
    values = np.where(allowed, np.asarray(c.metric(cuts.used)), np.nan)
    name = c.metric.name
    if np.isnan(values).all():
        return f"{name} is undefined at every threshold (there are {cuts.sizes})"
    at = int(np.nanargmax(values) if c.upward else np.nanargmin(values))
    cut = threshold_of(cuts.score, at)
    where = f"at the threshold {cut:.6g}"
    if np.isinf(cut):
        where = "where nothing is flagged"
    return f"{name} is at {'most' if c.upward else 'least'} {values[at]:.6g}, {where}"


def stop_undefined(cuts: Cuts, metric: Metric, allowed: Array) -> None:
    """Say that the objective has no value anywhere."""
    at = np.flatnonzero(allowed)
    # the ends first: a metric that is defined there need not be computed everywhere
    for part in (at[[0, -1]], at):
        if not np.isnan(np.asarray(metric(cuts.used[part]))).all():
            return
    raise NotEnoughCases(
        f"{metric.name} is undefined at every threshold"
        f"{'' if allowed.all() else ' that meets the constraints'}; there are "
        f"{cuts.sizes}."
    )


def stopped_by(
    cuts: Cuts, metric: Metric, constraints: Sequence[Constraint], met: Met, at: int
) -> tuple[str, ...]:
    """Which constraints keep the objective from being better?"""
    if not constraints:
        return ()

    def best_without(k: int | None) -> Ints:
        others = [j for j in range(len(met)) if k is not None and j != k]
        return best_cuts([cuts], metric, np.asarray(met[others].all(axis=0)))

    alone = [k for k in range(len(met)) if at not in best_without(k)]
    if not alone and at not in (free := best_without(None)):
        alone = np.flatnonzero(~met[:, most_balanced(cuts, free)]).tolist()
    return tuple(repr(constraints[k]) for k in alone)
