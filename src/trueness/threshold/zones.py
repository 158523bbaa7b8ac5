"""Where do yes and no end, and where should a person look?"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, NamedTuple, final

import numpy as np

from trueness._core.arrays import Array, Ints
from trueness._core.checks.errors import Infeasible, InputError, NotEnoughCases
from trueness._core.numbers import cut_text, percent
from trueness._core.records import Record, brief
from trueness.counts.answers import of_tally
from trueness.counts.cases import weighted_counts_note
from trueness.counts.values import Tally
from trueness.inference.sample import check_prevalence_known
from trueness.metrics.algebra import Metric
from trueness.metrics.confusion import Confusion
from trueness.threshold import cuts as _cuts
from trueness.threshold.constraints import (
    SIDES,
    ConstraintLike,
    ScopedConstraint,
    read_objective,
    read_scoped_constraints,
)
from trueness.threshold.cuts import Cuts, Interval
from trueness.threshold.linear_forms import (
    TWO_CUTS,
    LinearForm,
    Quotient,
    at_least_one,
    constraint_rows,
    evaluate_form,
    in_whole_numbers,
    linear_form,
    maximize_quotient,
    quotient_of_metric,
)
from trueness.threshold.operating_point import notes_on_unlabelled
from trueness.threshold.pair_search import (
    MOST_LISTED,
    BestPairs,
    PairSum,
    best_pairs,
)
from trueness.threshold.rule import Rule

_REFUSAL = (
    "Two thresholds at once need a weighted sum of counts, or one quotient of such "
    "sums (cost, accuracy, precision, f1, defer); {} is not. For one side any metric "
    'can be bounded: "mcc above >= 0.3".'
)
_TUNED = (
    "These thresholds were tuned on the same data, so the results are "
    "optimistic; validate_threshold says what to expect on new cases."
)
_NOT_ALL_LISTED = (
    f"More than {MOST_LISTED:,} pairs of thresholds are optimal; not all are listed."
)


@final
@dataclass(frozen=True, repr=False)
class Zones(Record):
    """Two chosen thresholds, and what follows from them.

    Attributes
    ----------
    lower, upper : float
        Negative when ``score < lower``, positive when ``score >= upper``, deferred in
        between.
    lower_range, upper_range : (float, float)
        Every threshold above the first number, up to and including the second, flags
        the same cases.
    confusion : Confusion
        The confusion matrix of the decided cases.
    single_threshold_value : float
        The objective at the best single threshold that meets the constraints (NaN: none
        does), for comparison.
    pairs : tuple of (range, range)
        All optimal pairs, lower and upper, the chosen one first (at most 1,000).
    defer, prevalence : float
        The proportions of deferred cases and of positives, in use.
    """

    lower: float
    upper: float
    lower_range: Interval
    upper_range: Interval
    value: float
    confusion: Confusion
    deferred_pos: float
    deferred_neg: float
    defer: float
    single_threshold_value: float
    pairs: tuple[tuple[Interval, Interval], ...]
    objective: str
    constraints: dict[str, float]
    prevalence: float
    notes: tuple[str, ...] = ()

    @property
    def rule(self) -> Rule:
        """Return the choice as a rule."""
        return Rule(self.upper, self.lower)

    def __repr__(self) -> str:
        counts = self.confusion
        upper = cut_text(self.upper, self.upper_range)
        lower = cut_text(self.lower, self.lower_range)
        heading = f"Zones: {self.objective} = {self.value:.6g}"
        if not math.isnan(self.single_threshold_value):
            heading += f" (a single threshold: {self.single_threshold_value:.6g})"
        prevalence = f"  prevalence {self.prevalence:.4g}"
        if len(self.pairs) > 1:
            prevalence += f"; {len(self.pairs) - 1} more pairs are as good"

        lines = [
            heading,
            f"  positive at {upper} or more: {brief(counts.tp)} positives, "
            f"{brief(counts.fp)} negatives",
            f"  deferred at {lower} or more: {brief(self.deferred_pos)} positives, "
            f"{brief(self.deferred_neg)} negatives, {percent(self.defer)} of all cases",
            f"  negative below: {brief(counts.fn)} positives, "
            f"{brief(counts.tn)} negatives",
            *(f"  {text}: {value:.6g}" for text, value in self.constraints.items()),
            prevalence,
            *(f"  Note: {note}" for note in self.notes),
        ]
        return "\n".join(lines)


@of_tally
def best_thresholds(
    data: Tally,
    maximize: str | Metric | None = None,
    subject_to: ConstraintLike | Iterable[ConstraintLike] = (),
    *,
    minimize: str | Metric | None = None,
) -> Zones:
    r"""Two thresholds, with the cases between them left to a person.

    Which two thresholds are best?

    .. math:: \min_{\ell \le u}\; c_{fp} FP(u) + c_{fn} FN(\ell)
        + c_d\,\#\{\ell \le score < u\}

    Parameters
    ----------
    data
        Scores and labels of one classifier. Cases without a label do not count.
    maximize, minimize
        A weighted sum of counts, or a quotient of such sums, such as
        ``minimize="cost(fp=1, fn=10, defer=0.3)"``. ``defer`` is the proportion of
        deferred cases, ``deferred`` their number. Metrics such as ``accuracy`` are
        those of the decided cases.
    subject_to
        Constraints on the deferred proportion (``"defer <= 0.1"``), on one side
        (``"precision above >= 0.9"``, ``"npv below >= 0.99"``), or on all decided cases
        (``"accuracy >= 0.95"``). "Above" and "below" may follow any metric: it is then
        computed at the upper or the lower threshold, as if that were the only one.

    Notes
    -----
    The optimum over all pairs of thresholds is exact, by integer arithmetic. If several
    pairs are optimal, the one that defers fewest cases is returned, then the one with
    the smallest abs(fp - fn). Chow's rule is the special case without constraints, for
    scores that are the true probabilities.

    References
    ----------
    Chow 1970, IEEE Trans. Inf. Theory 16:41, doi:10.1109/TIT.1970.1054406.

    Examples
    --------
    >>> t = Tally([0.9, 0.7, 0.5, 0.2], pos=[2, 1, 1, 0], neg=[0, 1, 2, 3])
    >>> z = best_thresholds(t, minimize="cost(fp=1, fn=2) + 0.4*deferred")
    >>> z.value, z.deferred_pos + z.deferred_neg  # 5 cases at 0.4 instead of 3
    (2.0, 5)
    """
    if maximize is None and minimize is None:
        raise InputError(
            "A pair of thresholds needs an objective that includes the cost of a "
            "deferred case.",
            option="minimize",
            example="cost(fp=1, fn=10, defer=0.3)",
        )

    objective = read_objective(maximize, minimize)
    constraints = read_scoped_constraints(subject_to, SIDES)
    check_prevalence_known(data, "The best pair of thresholds")
    cuts = _cuts.all_cuts(data, data.design.prevalence, "best_thresholds")

    optimum = choose_pair(cuts, objective.maximized, constraints)
    if optimum.pairs is None:
        raise _infeasible(cuts, constraints)

    single = _value_of_single_cut(cuts, objective.maximized, constraints)
    upper, lower = fewest_deferred(cuts, optimum.pairs)

    score = cuts.score
    counts = cuts.observed
    notes = [_TUNED]
    if not optimum.pairs.is_complete:
        notes.append(_NOT_ALL_LISTED)
    notes += [*weighted_counts_note(data), *notes_on_unlabelled(data)]
    return Zones(
        lower=_cuts.threshold_of(score, lower),
        upper=_cuts.threshold_of(score, upper),
        lower_range=_cuts.interval_of(score, lower),
        upper_range=_cuts.interval_of(score, upper),
        value=float(objective.sign * (optimum.value or 0)),
        confusion=Confusion(
            tp=counts.tp[upper],
            fp=counts.fp[upper],
            fn=counts.fn[lower],
            tn=counts.tn[lower],
        ),
        deferred_pos=(counts.tp[lower] - counts.tp[upper]).item(),
        deferred_neg=(counts.fp[lower] - counts.fp[upper]).item(),
        defer=float(_deferred(cuts, upper, lower)) / float(cuts.total),
        single_threshold_value=math.nan
        if single is None
        else objective.sign * float(single),
        pairs=_score_ranges(cuts, optimum.pairs, first=(upper, lower)),
        objective=str(objective),
        constraints={
            str(scoped): _value_at_pair(cuts, scoped, upper, lower)
            for scoped in constraints
        },
        prevalence=cuts.prevalence,
        notes=tuple(notes),
    )


def _value_of_single_cut(
    cuts: Cuts, objective: Metric, constraints: Sequence[ScopedConstraint]
) -> Fraction | None:
    """Return the best objective of one cut: a pair with nothing in between."""
    place = np.arange(len(cuts.score) + 1)
    not_apart = PairSum(of_upper=place, of_lower=-place)
    return choose_pair(cuts, objective, constraints, [not_apart]).value


def _score_ranges(
    cuts: Cuts, pairs: BestPairs, first: tuple[int, int]
) -> tuple[tuple[Interval, Interval], ...]:
    """Return the lower and the upper range of each pair, of one of them first."""
    # chosen first, then the others in their order
    listed = list(zip(pairs.upper.tolist(), pairs.lower.tolist(), strict=True))
    others = [pair for pair in listed if pair != first]
    return tuple(
        (_cuts.interval_of(cuts.score, lower), _cuts.interval_of(cuts.score, upper))
        for upper, lower in [first, *others]
    )


def _deferred(cuts: Cuts, upper: Ints | int, lower: Ints | int) -> Any:
    """Return how many cases in use lie between two cuts."""
    used = cuts.in_use
    return used.tp[lower] - used.tp[upper] + used.fp[lower] - used.fp[upper]


def fewest_deferred(cuts: Cuts, pairs: BestPairs) -> tuple[int, int]:
    """Return of equally good pairs the one that defers fewest, then the most balanced.

    Upper and lower cut; balanced is where as many cases are flagged as are positive.
    """
    imbalance = np.abs(cuts.in_use.fp[pairs.upper] - cuts.in_use.fn[pairs.lower])
    deferred = _deferred(cuts, pairs.upper, pairs.lower)
    # fewest deferred first; of those, the most balanced
    best = int(np.lexsort([imbalance, deferred])[0])
    return int(pairs.upper[best]), int(pairs.lower[best])


def choose_zones_again(
    objective: Metric,
    constraints: Sequence[ScopedConstraint],
    prevalence: float | None,
    samples: list[Confusion],
) -> Ints:
    """Return the best two cuts in each of many samples, -1 for none.

    ``samples`` has one entry, the running counts (samples, cuts).
    """
    number_of_samples = len(samples[0].tp)
    return np.array(
        [
            [_choose_in_sample(objective, constraints, prevalence, samples[0][k])]
            for k in range(number_of_samples)
        ]
    )


def _choose_in_sample(
    objective: Metric,
    constraints: Sequence[ScopedConstraint],
    prevalence: float | None,
    counts: Confusion,
) -> list[int]:
    """Return the places of the upper and the lower cut in one sample."""
    nothing = [-1, -1]
    if not (counts.fn[0] > 0 and counts.tn[0] > 0):
        return nothing

    places_as_scores = np.arange(counts.tp.size - 1, 0, -1.0)
    cuts = _cuts.make_cuts(places_as_scores, counts, prevalence)
    pairs = choose_pair(cuts, objective, constraints).pairs
    if pairs is None:
        return nothing

    # rows without a case of the sample repeat a cut: the first of them is meant
    flagged = counts.tp + counts.fp
    upper, lower = fewest_deferred(cuts, pairs)
    return [
        int(np.searchsorted(flagged, flagged[upper])),
        int(np.searchsorted(flagged, flagged[lower])),
    ]


def _value_at_pair(
    cuts: Cuts, scoped: ScopedConstraint, upper: int, lower: int
) -> float:
    """Return the bounded metric at a pair of cuts; NaN where it is undefined."""
    if scoped.scope == "above":
        return _cuts.value_at(cuts, scoped.metric, upper)
    if scoped.scope == "below":
        return _cuts.value_at(cuts, scoped.metric, lower)
    value = _evaluate_at_pair(cuts, _quotient(scoped.metric, cuts), upper, lower)
    return math.nan if value is None else float(value)


class PairOptimum(NamedTuple):
    """The best pairs of cuts, and their value; None where no pair is allowed."""

    pairs: BestPairs | None
    value: Fraction | None


def choose_pair(
    cuts: Cuts,
    objective: Metric,
    constraints: Sequence[ScopedConstraint],
    more_rows: Iterable[PairSum] = (),
) -> PairOptimum:
    """Return the pairs of cuts at which a metric is best, under constraints.

    ``more_rows`` are further functions of a pair that must not be negative.
    """
    # each row is a function of the pair that must not be negative
    rows = list(more_rows)
    for scoped in constraints:
        rows += _rows_of_constraint(cuts, scoped)
    goal = _quotient(objective, cuts)
    if not goal.is_linear:
        # the objective must be defined
        rows.append(_pair_sum(cuts, at_least_one(goal.denominator)))

    def maximize_form(form: LinearForm) -> BestPairs | None:
        return best_pairs(_pair_sum(cuts, in_whole_numbers(form)), rows)

    def value_of(pairs: BestPairs | None) -> Fraction | None:
        if pairs is None:
            return None
        return _evaluate_at_pair(cuts, goal, int(pairs.upper[0]), int(pairs.lower[0]))

    best = maximize_quotient(goal, maximize_form, value_of)
    # all pairs at which the last difference is zero are optimal, not only the first
    pairs = best.proof or best.solution
    return PairOptimum(pairs, best.value if best.solution else None)


def _quotient(metric: Metric, cuts: Cuts) -> Quotient:
    return quotient_of_metric(metric, cuts, TWO_CUTS, _REFUSAL)


def _evaluate_at_pair(
    cuts: Cuts, quotient: Quotient, upper: int, lower: int
) -> Fraction | None:
    """Return a quotient of counts at a pair of cuts, exactly; None if undefined."""
    units = cuts.units
    counts = [
        int(units.tp[upper]),
        int(units.fp[upper]),
        int(units.tp[lower]),
        int(units.fp[lower]),
    ]
    denominator = evaluate_form(quotient.denominator, *counts)
    if not denominator:
        return None
    return Fraction(evaluate_form(quotient.numerator, *counts) / denominator)


def _pair_sum(cuts: Cuts, form: LinearForm) -> PairSum:
    """Return a linear form, in whole numbers, as a sum over the two cuts of a pair."""
    upper_tp, upper_fp, lower_tp, lower_fp, constant = form
    of_positives = (abs(upper_tp) + abs(lower_tp)) * cuts.n_pos
    of_negatives = (abs(upper_fp) + abs(lower_fp)) * cuts.n_neg
    # the largest sum must stay below 2^63
    fits = of_positives + of_negatives + abs(constant) < 2**61
    # beyond 64 bits Python's own whole numbers
    kind = np.dtype(np.int64 if fits else object)
    tp = cuts.units.tp.astype(kind)
    fp = cuts.units.fp.astype(kind)
    return PairSum(
        of_upper=tp * upper_tp + fp * upper_fp,
        of_lower=tp * lower_tp + fp * lower_fp + constant,
    )


def _rows_of_constraint(cuts: Cuts, scoped: ScopedConstraint) -> list[PairSum]:
    """Return a constraint as functions of the pair that must not be negative."""
    if scoped.scope:
        return [forbid_cuts(scoped, _cuts.holds(cuts, scoped.constraint))]
    quotient = _quotient(scoped.metric, cuts)
    return [
        _pair_sum(cuts, row) for row in constraint_rows(scoped.constraint, quotient)
    ]


def forbid_cuts(scoped: ScopedConstraint, allowed: Array) -> PairSum:
    """Return a row that is negative at the upper, or lower, cuts not allowed."""
    row = np.where(allowed, 0, -1)
    zeros = np.zeros(allowed.size, dtype=np.int64)
    if scoped.scope == "above":
        return PairSum(of_upper=row, of_lower=zeros)
    return PairSum(of_upper=zeros, of_lower=row)


def _infeasible(cuts: Cuts, constraints: Sequence[ScopedConstraint]) -> Exception:
    """Say which constraint cannot be met alone, or that all cannot be met together."""
    anything = _pair_sum(cuts, linear_form([0] * 5))
    for scoped in constraints:
        if best_pairs(anything, _rows_of_constraint(cuts, scoped)) is None:
            return Infeasible(
                f"{scoped} cannot be met by any pair of thresholds of these "
                f"{cuts.sizes}. Loosen it.",
                option="subject_to",
            )
    if constraints:
        return Infeasible(
            f"{' and '.join(map(str, constraints))} cannot be met by one pair of "
            "thresholds, though each of them can. Loosen one of them, or defer more.",
            option="subject_to",
        )

    return NotEnoughCases(
        "The objective is undefined for every pair of thresholds; there are "
        f"{cuts.sizes}."
    )
