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
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from trueness._core.arrays import Array, Floats, Ints, blocks
from trueness._core.checks import cases as _cases
from trueness._core.checks import options as _options
from trueness._core.checks.errors import Infeasible, InputError, NotEnoughCases
from trueness._core.numbers import percent_hint
from trueness._core.records import brief
from trueness.counts.values import Tally
from trueness.fermi.distribution import FermiDirac, fermi_dirac
from trueness.inference.sample import counts_to_show
from trueness.metrics.algebra import (
    Constraint,
    Metric,
    as_fraction,
    in_fractions,
    meets,
)
from trueness.metrics.confusion import Confusion, sweep, sweep_counts

Interval = tuple[float, float]
Met = NDArray[np.bool_]  # (constraints, cuts)
# values are sums of a few quotients: their rounding errors stay below some tens of
# units in the last place (2e-16 each)
ROUNDING = 1e-13


class Cuts(NamedTuple):
    """All cuts of a tally: what was counted, and what is expected in use.

    Attributes
    ----------
    observed
        The counts at every cut, or sums of weights.
    in_use
        The same at the prevalence of use, or what a model expects there.
    units
        Those numbers as whole ones, which decide what is equal.
    positive_weight, negative_weight, divisor
        A unit of the positives stands for ``positive_weight / divisor`` cases in use,
        one of the negatives for ``negative_weight / divisor``.
    given_prevalence
        The prevalence of use, where it is not that of the sample.
    counts_cases
        Whether the units are the observed cases themselves, not weights or
        expectations that were rounded to whole numbers.
    """

    score: Floats
    observed: Confusion
    in_use: Confusion
    units: Confusion
    positive_weight: int
    negative_weight: int
    divisor: int
    given_prevalence: float | None
    counts_cases: bool

    @property
    def prevalence(self) -> float:
        """Return the prevalence in use."""
        if self.given_prevalence is not None:
            return self.given_prevalence
        positives = Fraction(self.n_pos * self.positive_weight, self.divisor)
        return float(positives / self.total)

    @property
    def n_pos(self) -> int:
        """Return how many units are positive."""
        return int(self.units[0].fn)

    @property
    def n_neg(self) -> int:
        """Return how many units are negative."""
        return int(self.units[0].tn)

    @property
    def total(self) -> Fraction:
        """Return how many cases, or how much weight of them, there are in use."""
        positives = self.n_pos * self.positive_weight
        negatives = self.n_neg * self.negative_weight
        return Fraction(positives + negatives, self.divisor)

    def counts(self, tp: Array, fp: Array) -> tuple[Array, Array, Array, Array]:
        """Return tp, fp, fn, tn in use times ``divisor``, in whole numbers."""
        # Python's own whole numbers: products may be beyond 64 bits
        tp = tp.astype(object)
        fp = fp.astype(object)
        return (
            tp * self.positive_weight,
            fp * self.negative_weight,
            (self.n_pos - tp) * self.positive_weight,
            (self.n_neg - fp) * self.negative_weight,
        )

    @property
    def sizes(self) -> str:
        """Return how many cases of each class there are, or what they weigh."""
        nothing_flagged = self.observed[0]
        positives = brief(nothing_flagged.fn)
        return f"{positives} positives and {brief(nothing_flagged.tn)} negatives"


# units in which weights are counted, in all: rounding moves no sum of a thousand rows
# by more than 1e-9 of it, and few products of two sums need more than 64 bits
_MOST_UNITS = 1 << 40
# decimals of weights that are tried for whole numbers: 0.1 is a tenth
_MOST_DECIMALS = 6


def unit_of(rows: Iterable[Array]) -> Fraction:
    """Return the unit in which counts or weights are whole numbers, or nearly so.

    >>> unit_of([np.array([3, 2])]), unit_of([np.array([0.5, 1.2])])
    (Fraction(1, 1), Fraction(1, 10))
    """
    weights = np.concatenate([np.ravel(row) for row in rows])
    if weights.dtype.kind in "iu":
        return Fraction(1)

    # as near to whole numbers as floats of the size of the total can be
    tolerance = 1e-14
    total = float(weights.sum())
    for decimals in range(_MOST_DECIMALS + 1):
        scale = 10.0**decimals
        scaled = weights * scale
        error = np.abs(scaled - np.rint(scaled)).max(initial=0.0)
        if total * scale < _MOST_UNITS and error <= tolerance * total * scale:
            return Fraction(1, 10**decimals)

    # otherwise a power of two: dividing by it rounds nothing
    _, exponent = math.frexp(total / _MOST_UNITS)
    return Fraction(math.ldexp(1.0, exponent))


def all_cuts(
    tally: Tally, prevalence: float | None, analysis: str, unit: Fraction | None = None
) -> Cuts:
    """Count right and wrong cases at every cut."""
    _cases.one_classifier(tally, analysis)
    _cases.some_labels(tally, analysis)
    tally = counts_to_show(tally)
    if prevalence is not None:
        prevalence = _options.fraction(prevalence, "prevalence")
        _cases.both_classes(tally, f"{analysis} at another prevalence")
    return make_cuts(tally.score, sweep(tally), prevalence, unit=unit)


def make_cuts(
    score: Floats,
    observed: Confusion,
    prevalence: float | None,
    *,
    expected: Confusion | None = None,
    unit: Fraction | None = None,
) -> Cuts:
    """Put counts, or what a model expects in their place, at the prevalence of use."""
    counts = observed if expected is None else expected
    are_cases = counts.tp.dtype.kind in "iu" and unit in (None, 1)
    if are_cases:
        units = counts
        unit = Fraction(1)
    else:
        units, unit = _in_units(counts, unit)

    # cases in use for one unit of each class
    per_positive = per_negative = unit
    if prevalence is not None:
        n_pos = int(units[0].fn)
        n_neg = int(units[0].tn)
        if not (n_pos and n_neg):
            raise NotEnoughCases(
                "Another prevalence needs a positive and a negative case; found "
                f"{n_pos:,} positives and {n_neg:,} negatives."
            )
        # positives get the proportion of the prevalence, of as many cases as there are
        exact = as_fraction(prevalence)
        total = (n_pos + n_neg) * unit
        per_positive = exact * total / n_pos
        per_negative = (1 - exact) * total / n_neg

    # one divisor for both, so that all counts in use are whole numbers over it
    divisor = math.lcm(per_positive.denominator, per_negative.denominator)
    return Cuts(
        score=score,
        observed=observed,
        in_use=counts.at_prevalence(prevalence),
        units=units,
        positive_weight=int(per_positive * divisor),
        negative_weight=int(per_negative * divisor),
        divisor=divisor,
        given_prevalence=prevalence,
        counts_cases=are_cases and expected is None,
    )


def _in_units(counts: Confusion, unit: Fraction | None) -> tuple[Confusion, Fraction]:
    """Return running sums as whole numbers of units, rounded row by row."""
    # the last row is what no cut flags
    pos = np.append(np.diff(counts.tp), counts.fn[-1])
    neg = np.append(np.diff(counts.fp), counts.tn[-1])
    unit = unit or unit_of([pos, neg])
    pos_units = np.rint(pos / float(unit)).astype(np.int64)
    neg_units = np.rint(neg / float(unit)).astype(np.int64)
    return sweep_counts(pos_units, neg_units)[:-1], unit


def expected_cuts(tally: Tally, prevalence: float | None, auc: float | None) -> Cuts:
    """Return every cut with the confusion matrix that its ranks lead to expect.

    With ``auc`` the labels are not looked at, and ``prevalence`` is that of the cases.
    """
    _cases.one_classifier(tally, "best_threshold")
    if auc is not None:
        return _cuts_expected_without_labels(tally, prevalence, auc)

    if not (tally.n_pos and tally.n_neg) and tally.n_unknown:
        raise InputError(
            "The method fermi-dirac needs the AUC and the prevalence when not all "
            f"cases are labelled; there are {tally.n_pos:,} positives, {tally.n_neg:,} "
            f"negatives and {tally.n_unknown:,} unknowns.",
            option="auc",
            example=0.8,
        )

    _cases.both_classes(tally, 'best_threshold with method="fermi-dirac"')
    labelled = tally.labelled()
    expected = _expected_counts(fermi_dirac(labelled), labelled.pos + labelled.neg)
    if prevalence is not None:
        prevalence = _options.fraction(prevalence, "prevalence")
    return make_cuts(labelled.score, sweep(labelled), prevalence, expected=expected)


def _cuts_expected_without_labels(
    tally: Tally, prevalence: float | None, auc: float
) -> Cuts:
    """Return every cut with the confusion matrix that a given AUC leads to expect."""
    if prevalence is None:
        raise InputError(
            "The method fermi-dirac with a given AUC also needs the prevalence, the "
            "proportion of positives among the cases.",
            option="prevalence",
            example=0.1,
        )

    law = fermi_dirac(n=tally.n, prevalence=prevalence, auc=auc)
    expected = _expected_counts(law, tally.pos + tally.neg + tally.unknown)
    cuts = make_cuts(tally.score, expected, None)
    return cuts._replace(given_prevalence=law.prevalence)


def _expected_counts(law: FermiDirac, cases: Ints) -> Confusion:
    """Return the counts that the law of ranks expects at each cut."""
    # the rank of the last case that each cut flags
    ranks = np.concatenate([[0], np.cumsum(cases)])
    n_pos = law.n_pos
    n_neg = law.n - law.n_pos
    tp = n_pos * np.asarray(law.expected("tpr", ranks))
    fp = n_neg * np.asarray(law.expected("fpr", ranks))
    return Confusion(tp, fp, n_pos - tp, n_neg - fp)


def exact_values(cuts: Cuts, metric: Metric, places: Array) -> Array:
    """Return a metric at some cuts in fractions, without its constant."""
    counts = cuts.counts(cuts.units.tp[places], cuts.units.fp[places])
    return in_fractions(metric, counts, cuts.divisor)


def value_at(cuts: Cuts, metric: Metric, place: int) -> float:
    """Return the metric at a cut, rounded once, so that equal values look equal."""
    value = float(metric(cuts.in_use[place]))
    if not (math.isfinite(value) and cuts.counts_cases and metric.is_exact):
        return value

    exact = exact_values(cuts, metric, np.array([place]))[0]
    if metric.is_root:
        # the exact value is the square of the root, with its sign
        return math.copysign(math.sqrt(abs(exact)), exact) + metric.constant
    return float(exact + as_fraction(metric.constant))


def values_of(cuts: Cuts, metric: Metric) -> Floats:
    """Return the metric at every cut; NaN where it is undefined."""
    counts = cuts.units if _is_rate_of_one_class(metric) else cuts.in_use
    return np.asarray(metric(counts), dtype=np.float64)


def _is_rate_of_one_class(metric: Metric) -> bool:
    """Return whether it is a rate of one class, which no prevalence changes."""
    if metric.ratio is None or metric.ratio.under is None:
        return False

    pairs = zip(metric.ratio.over, metric.ratio.under, strict=True)
    counts_tp, counts_fp, counts_fn, counts_tn = [
        bool(over or under) for over, under in pairs
    ]
    only_positives = not (counts_fp or counts_tn)
    only_negatives = not (counts_tp or counts_fn)
    return only_positives or only_negatives


def rounding_of(cuts: Cuts, metric: Metric) -> float:
    """Return how far rounding can move a value of this metric, and disturb its order.

    0 for one division of whole numbers below 2**26: different quotients of such numbers
    are further apart than floats.
    """
    as_counted = cuts.given_prevalence is None and cuts.counts_cases
    one_division = as_counted or _is_rate_of_one_class(metric)
    if metric.ratio is not None and one_division:
        weights = [abs(weight) for weight in metric.ratio.over]
        # a plain sum has no denominator
        weights += [abs(weight) for weight in metric.ratio.under or ()]
        all_whole = all(float(weight).is_integer() for weight in weights)
        if all_whole and max(weights) * (cuts.n_pos + cuts.n_neg) < 2**26:
            return 0.0

    # otherwise rounding is relative to the largest terms of the sum
    size = abs(metric.constant)
    for weight, term in metric.parts:
        largest = np.abs(term.range).max()
        if np.isinf(largest):
            # a metric without ends is as large as its values here
            values = np.abs(term(cuts.in_use))
            largest = values[np.isfinite(values)].max(initial=0.0)
        size += abs(weight) * float(largest)

    return ROUNDING * size


def holds(cuts: Cuts, constraint: Constraint) -> NDArray[np.bool_]:
    """Return at which cuts the constraint holds: never where the metric is undefined.

    Floats decide, but for values so near to the bound that rounding may have put them
    on the wrong side: these are compared in fractions.
    """
    metric = constraint.metric
    bound = constraint.bound
    values = values_of(cuts, metric)
    met = np.asarray(constraint.decide(values))
    rounding = rounding_of(cuts, metric)
    # values that are rounded once never pass a bound that a float holds, such as 1
    bound_is_exact = Fraction(bound) == as_fraction(bound)
    if not metric.is_exact or (rounding == 0 and bound_is_exact):
        return met

    # a difference of rounding could be on either side of the bound
    near = np.abs(values - bound) <= max(rounding, ROUNDING * abs(bound))
    if near.any():
        met[near] = meets(constraint, exact_values(cuts, metric, np.flatnonzero(near)))
    return met


def met_by(cuts: Sequence[Cuts], constraints: Sequence[Constraint]) -> Met:
    """Return where each constraint holds at all prevalences (constraints, cuts)."""
    met = [
        np.all(
            [holds(cuts_at_prevalence, constraint) for cuts_at_prevalence in cuts],
            axis=0,
        )
        for constraint in constraints
    ]
    return np.array(met, dtype=bool).reshape(-1, len(cuts[0].score) + 1)


def best_cuts(cuts: Sequence[Cuts], metric: Metric, allowed: Array) -> Ints:
    """Return the allowed cuts that are best at the worst of the prevalences, exactly.

    Floats first: only what rounding may have put below the best is looked at again.
    """
    # NaN at one prevalence is NaN: an undefined value is never best
    values = reduce(
        np.minimum,
        (values_of(cuts_at_prevalence, metric) for cuts_at_prevalence in cuts),
    )
    if not allowed.all():
        values = np.where(allowed, values, np.nan)
    best = float(np.fmax.reduce(values))  # NaN only when all are
    if math.isnan(best):
        return np.zeros(0, dtype=np.int64)
    if math.isinf(best):
        return np.flatnonzero(values == best)

    rounding = max(
        rounding_of(cuts_at_prevalence, metric) for cuts_at_prevalence in cuts
    )
    places = np.flatnonzero(values >= best - rounding)
    if places.size == 1 or rounding == 0 or not metric.is_exact:
        return places

    worst = reduce(
        np.minimum,
        (
            exact_values(cuts_at_prevalence, metric, places)
            for cuts_at_prevalence in cuts
        ),
    )
    return np.asarray(places[np.asarray(worst == worst.max(), dtype=bool)])


def most_balanced(cuts: Cuts, places: Ints) -> int:
    """Return the undominated cut that flags nearest to as many as are positive."""
    tp = cuts.units.tp[places]
    fp = cuts.units.fp[places]
    # both counts only rise along the cuts: equal ones stand together
    fewest_fp = fp[np.searchsorted(tp, tp, side="left")]
    most_tp = tp[np.searchsorted(fp, fp, side="right") - 1]
    undominated = (fp == fewest_fp) & (tp == most_tp)

    _, false_positives, false_negatives, _ = cuts.counts(
        tp[undominated], fp[undominated]
    )
    # fp = fn where as many are flagged as are positive
    imbalance = np.abs(false_positives - false_negatives)
    return int(places[undominated][np.argmin(imbalance)])


def interval_of(score: Floats, place: int) -> Interval:
    """Return the thresholds that make this cut: above low, up to and including high."""
    low = float(score[place]) if place < score.size else -math.inf
    high = float(score[place - 1]) if place else math.inf
    return low, high


def threshold_of(score: Floats, place: int) -> float:
    """Return the threshold of one cut; see :func:`thresholds_of`."""
    return float(thresholds_of(score, np.array([place]))[0])


# digits of thresholds: from the most to the fewest that may flag the same cases
_DIGITS = range(12, 3, -1)


def thresholds_of(score: Floats, places: Ints) -> Floats:
    """Return thresholds near the middle of the intervals of some cuts, in few digits.

    Four digits, or as many more as it takes to flag the same cases. The highest
    threshold of the interval where it has no middle: +inf when nothing is flagged, the
    lowest score when everything is. Scores that are float32 get a middle that float32
    can hold apart.
    """
    last_row = score.size - 1
    low = np.where(places < score.size, score[np.minimum(places, last_row)], -np.inf)
    high = np.where(places > 0, score[np.maximum(places, 1) - 1], np.inf)
    single_precision = _are_single_precision(score)

    def is_inside(cut: Floats) -> NDArray[np.bool_]:
        stored = cut
        if single_precision:
            stored = cut.astype(np.float32).astype(np.float64)
        inside = (low < cut) & (cut <= high) & (low < stored) & (stored <= high)
        return np.asarray(inside & np.isfinite(cut))

    with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
        # halves first: the sum of two scores near 1e308 is infinite
        middle = low / 2 + high / 2
        has_middle = is_inside(middle)
        threshold = np.where(has_middle, middle, high)
        for digits in _DIGITS:
            rounded = _round_to_digits(middle, digits)
            threshold = np.where(is_inside(rounded) & has_middle, rounded, threshold)

    return threshold


def _round_to_digits(numbers: Floats, digits: int) -> Floats:
    """Return numbers rounded to so many significant digits."""
    magnitude = np.floor(np.log10(np.abs(numbers)))
    # a whole number over a power of ten is the float that its text reads as
    # the number of decimals that are kept; negative ones are taken from hundreds
    power = 10.0 ** np.abs(digits - 1 - magnitude)
    decimals = np.rint(numbers * power) / power
    hundreds = np.rint(numbers / power) * power
    return np.asarray(np.where(magnitude < digits, decimals, hundreds))


def _are_single_precision(score: Floats) -> bool:
    """Return whether float32 holds all scores."""
    with np.errstate(over="ignore"):
        # in blocks: the first one tells already, as a rule
        return all(
            (score[block].astype("f4") == score[block]).all()
            for block in blocks(score.size)
        )


def stop_infeasible(cuts: Cuts, constraints: Sequence[Constraint], met: Met) -> None:
    """Refuse constraints that cannot be met, and say how close one can get."""
    if met.all(axis=0).any():
        return

    conflict = _smallest_conflict(met)
    how_close = []
    for k in conflict:
        others = [j for j in conflict if j != k]
        allowed = np.asarray(met[others].all(axis=0))
        how_close.append(_closest(cuts, constraints[k], allowed))

    if len(conflict) == 1:
        constraint = constraints[conflict[0]]
        hint = percent_hint(constraint.bound, constraint.metric.range[1])
        raise Infeasible(
            f"{constraint!r} cannot be met: {how_close[0]}.{hint}", option="subject_to"
        )

    parts = [
        f"{constraints[k]!r}: {close}"
        for k, close in zip(conflict, how_close, strict=True)
    ]
    plural = "s" if len(conflict) > 2 else ""
    raise Infeasible(
        f"{len(conflict)} constraints cannot be met together. With the other{plural} "
        f"met, {'; '.join(parts)}.",
        option="subject_to",
    )


def _smallest_conflict(met: Met) -> list[int]:
    """Return constraints that cannot be met together, none of which can be spared."""
    conflict = list(range(len(met)))
    for k in range(len(met)):
        # a constraint that can go while the conflict stays is no part of it
        others = [j for j in conflict if j != k]
        if not met[others].all(axis=0).any():
            conflict = others
    return conflict


def _closest(cuts: Cuts, constraint: Constraint, allowed: Array) -> str:
    """Return a sentence: how close the metric comes to its bound, and where."""
    name = constraint.metric.name
    values = np.where(allowed, np.asarray(constraint.metric(cuts.in_use)), np.nan)
    if np.isnan(values).all():
        return f"{name} is undefined at every threshold (there are {cuts.sizes})"

    if constraint.upward:
        place = int(np.nanargmax(values))
        direction = "most"
    else:
        place = int(np.nanargmin(values))
        direction = "least"

    threshold = threshold_of(cuts.score, place)
    where = f"at the threshold {threshold:.6g}"
    if np.isinf(threshold):
        where = "where nothing is flagged"
    return f"{name} is at {direction} {values[place]:.6g}, {where}"


def stop_undefined(cuts: Cuts, metric: Metric, allowed: Array) -> None:
    """Refuse an objective that has no value at any allowed cut."""
    places = np.flatnonzero(allowed)
    # the ends first: a metric that is defined there need not be computed everywhere
    for places_to_try in (places[[0, -1]], places):
        values = np.asarray(metric(cuts.in_use[places_to_try]))
        if not np.isnan(values).all():
            return

    which = "" if allowed.all() else " that meets the constraints"
    raise NotEnoughCases(
        f"{metric.name} is undefined at every threshold{which}; there are {cuts.sizes}."
    )


def limiting_constraints(
    cuts: Cuts,
    objective: Metric,
    constraints: Sequence[Constraint],
    met: Met,
    place: int,
) -> tuple[str, ...]:
    """Return the constraints that keep the objective from being better.

    A constraint is one of them if another cut would be best without it. Where none is,
    since others limit as much, they are those that the unconstrained optimum breaks.
    """
    if not constraints:
        return ()

    def best_under(which: list[int]) -> Ints:
        return best_cuts([cuts], objective, np.asarray(met[which].all(axis=0)))

    all_constraints = range(len(met))
    limiting = [
        k
        for k in all_constraints
        if place not in best_under([j for j in all_constraints if j != k])
    ]
    if not limiting:
        best_without_any = best_under([])
        if place not in best_without_any:
            broken = ~met[:, most_balanced(cuts, best_without_any)]
            limiting = np.flatnonzero(broken).tolist()

    return tuple(repr(constraints[k]) for k in limiting)
