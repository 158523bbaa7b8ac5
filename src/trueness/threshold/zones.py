"""Where do yes and no end, and where should a person look?"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, final

import numpy as np

from trueness._core.arrays import Array, Ints
from trueness._core.checks.errors import Infeasible, InputError, NotEnoughCases
from trueness._core.numbers import cut_text, percent
from trueness._core.progress import stop_if_requested
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
    Objective,
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
    is_constant,
    linear_form,
    maximize_quotient,
    quotient_of_metric,
)
from trueness.threshold.maximum_tree import MaximumTree
from trueness.threshold.operating_point import left_out
from trueness.threshold.rule import Rule

_REFUSAL = (
    "Two thresholds at once need a weighted sum of counts, or one quotient of such "
    "sums (cost, accuracy, precision, f1, defer); {} is not. For one side any metric "
    'can be bounded: "mcc above >= 0.3".'
)


@final
@dataclass(frozen=True, repr=False)
class Zones(Record):
    """Which two thresholds were chosen, and what follows from them?

    Attributes
    ----------
    lower, upper : float
        Negative when ``score < lower``, positive when ``score >= upper``, deferred in
        between.
    lower_range, upper_range : (float, float)
        Every threshold above the first number, up to and including the second, flags
        the same cases.
    confusion : Confusion
        The confusion matrix of the cases that are decided.
    single : float
        The objective at the best single threshold that meets the constraints (NaN: none
        does): what deferring cases is worth.
    pairs : tuple of (range, range)
        All optimal pairs, lower and upper, the chosen one first (at most 1,000).
    defer, prevalence : float
        The shares of all cases that are deferred, and that are positive, in use.
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
    single: float
    pairs: tuple[tuple[Interval, Interval], ...]
    objective: str
    constraints: dict[str, float]
    prevalence: float
    notes: tuple[str, ...] = ()

    @property
    def rule(self) -> Rule:
        """Give the choice as a rule."""
        return Rule(self.upper, self.lower)

    def __repr__(self) -> str:
        c = self.confusion
        others = len(self.pairs) - 1
        upper = cut_text(self.upper, self.upper_range)
        lower = cut_text(self.lower, self.lower_range)
        lines = [
            f"Zones: {self.objective} = {self.value:.6g}"
            + (f" (a single threshold: {self.single:.6g})" if self.single == self.single
               else ""),
            f"  positive from {upper} on: {brief(c.tp)} positives, "
            f"{brief(c.fp)} negatives",
            f"  deferred from {lower} on: {brief(self.deferred_pos)} "
            f"positives, {brief(self.deferred_neg)} negatives, {percent(self.defer)} "
            "of all cases",
            f"  negative below: {brief(c.fn)} positives, {brief(c.tn)} negatives",
            *(f"  {text}: {value:.6g}" for text, value in self.constraints.items()),
            f"  prevalence {self.prevalence:.4g}"
            + (f"; {others} more pairs are as good" if others else ""),
        ]  # fmt: skip
        return "\n".join([*lines, *(f"  Note: {note}" for note in self.notes)])


@of_tally
def best_thresholds(
    data: Tally,
    maximize: str | Metric | None = None,
    subject_to: ConstraintLike | Iterable[ConstraintLike] = (),
    *,
    minimize: str | Metric | None = None,
) -> Zones:
    r"""Which two thresholds are best, with the cases between them left to a person?

    .. math:: \min_{\ell \le u}\; c_{fp} FP(u) + c_{fn} FN(\ell)
        + c_d\,\#\{\ell \le score < u\}

    Parameters
    ----------
    data
        Scores and labels of one classifier. Cases without a label do not count.
    maximize, minimize
        A weighted sum of counts or one quotient of such sums, in which ``defer`` is the
        share of deferred cases and ``deferred`` their number:
        ``minimize="cost(fp=1, fn=10, defer=0.3)"``. Metrics such as ``accuracy`` are
        those of the decided cases.
    subject_to
        Constraints on the deferred share (``"defer <= 0.1"``), on one side
        (``"precision above >= 0.9"``, ``"npv below >= 0.99"``), or on all decided cases
        (``"accuracy >= 0.95"``). "Above" and "below" may follow any metric: it is that
        of the upper or the lower threshold as if it were the only one.

    Notes
    -----
    The optimum over all pairs of thresholds is exact, in whole numbers. Of several
    optimal pairs the one that defers fewest is returned, then the one with the smallest
    abs(fp - fn). Chow's rule is the special case without constraints, for scores that
    are the true probabilities.

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
            "best_thresholds needs an objective: what a deferred case costs. Type "
            'minimize="cost(fp=1, fn=10, defer=0.3)".'
        )
    shown, objective = read_objective(maximize, minimize)
    bounds = read_scoped_constraints(subject_to, SIDES)
    check_prevalence_known(data, "What is best in three zones")
    cuts = _cuts.all_cuts(data, data.design.prevalence, "best_thresholds")
    found, value = choose_pair(cuts, objective, bounds)
    if found is None:
        raise _infeasible(cuts, bounds)
    # one cut is a pair with nothing in between
    k = np.arange(len(cuts.score) + 1)
    single = choose_pair(cuts, objective, bounds, [(k, -k)])[1]
    i, j = fewest_deferred(cuts, found)
    pairs = zip(found[0].tolist(), found[1].tolist(), strict=True)
    sign, seen, score = 1 if objective is shown else -1, cuts.seen, cuts.score
    notes: tuple[str, ...] = (
        "These thresholds were tuned on the same data, so the results are "
        "optimistic; validate_threshold says what to expect on new cases.",
    )
    if not found[2]:
        notes += (
            "More than 1,000 pairs of thresholds are optimal; not all are listed.",
        )
    return Zones(
        lower=_cuts.threshold_of(score, j),
        upper=_cuts.threshold_of(score, i),
        lower_range=_cuts.interval_of(score, j),
        upper_range=_cuts.interval_of(score, i),
        value=float(sign * (value or 0)),
        confusion=Confusion(seen.tp[i], seen.fp[i], seen.fn[j], seen.tn[j]),
        deferred_pos=(seen.tp[j] - seen.tp[i]).item(),
        deferred_neg=(seen.fp[j] - seen.fp[i]).item(),
        defer=float(_deferred(cuts, i, j)) / float(cuts.total),
        single=math.nan if single is None else sign * float(single),
        pairs=tuple(
            (_cuts.interval_of(score, b), _cuts.interval_of(score, a))
            for a, b in [(i, j), *(p for p in pairs if p != (i, j))]
        ),
        objective=str(Objective(shown, objective)),
        constraints={str(k): _value(cuts, k, i, j) for k in bounds},
        prevalence=cuts.prevalence,
        notes=(*notes, *weighted_counts_note(data), *left_out(data)),
    )


def _deferred(cuts: Cuts, i: Ints | int, j: Ints | int) -> Any:
    used = cuts.used
    return used.tp[j] - used.tp[i] + used.fp[j] - used.fp[i]


def fewest_deferred(cuts: Cuts, found: Pairs) -> tuple[int, int]:
    """Of equally good pairs take the one with the smallest zone of doubt."""
    used, (i, j, _) = cuts.used, found
    balance = np.abs(used.fp[i] - used.fn[j])
    at = int(np.lexsort([balance, _deferred(cuts, i, j)])[0])
    return int(i[at]), int(j[at])


def zones_again(
    goal: Metric, bounds: Bounds, share: float | None, seen: list[Confusion]
) -> Ints:
    """Choose the best two cuts in each of many samples, their places the scores."""

    def best(c: Confusion) -> list[int]:
        found = None
        if c.fn[0] > 0 and c.tn[0] > 0:
            cuts = _cuts.make_cuts(np.arange(c.tp.size - 1, 0, -1.0), c, share)
            found = choose_pair(cuts, goal, bounds)[0]
        if found is None:
            return [-1, -1]
        flagged = c.tp + c.fp
        # rows without a case of the sample repeat a cut: the first of them is meant
        pair = fewest_deferred(cuts, found)
        return [int(np.searchsorted(flagged, flagged[k])) for k in pair]

    return np.array([[best(seen[0][k])] for k in range(len(seen[0].tp))])


def _value(cuts: Cuts, bound: ScopedConstraint, i: int, j: int) -> float:
    if bound.scope:
        return _cuts.value_at(cuts, bound.metric, i if bound.scope == "above" else j)
    value = _ratio(cuts, _quotient(bound.metric, cuts), i, j)
    return math.nan if value is None else float(value)


Bounds = tuple[ScopedConstraint, ...]
Sum = tuple[Any, Any]  # a function of a pair of cuts: of the first, plus of the second
Pairs = tuple[Ints, Ints, bool]  # the best pairs, and whether all are listed


def choose_pair(
    cuts: Cuts,
    objective: Metric,
    bounds: Bounds,
    rows: Iterable[Sum] = (),
) -> tuple[Pairs | None, Fraction | None]:
    """Find the best pairs, and their value; None when none is allowed."""
    rows = [*rows, *(r for bound in bounds for r in _rows(cuts, bound))]
    goal = _quotient(objective, cuts)
    if not is_constant(goal[1]):
        rows.append(_sum(cuts, at_least_one(goal[1])))
    value, found, again, _ = maximize_quotient(
        goal,
        lambda form: best_pairs(_sum(cuts, in_whole_numbers(form)), rows),
        lambda x: x and _ratio(cuts, goal, int(x[0][0]), int(x[1][0])),
    )
    # all pairs on which the lead is zero are optimal, not only the last found
    return again or found, value if found else None


def _quotient(metric: Metric, cuts: Cuts) -> Quotient:
    return quotient_of_metric(metric, cuts, TWO_CUTS, _REFUSAL)


def _ratio(cuts: Cuts, q: Quotient, i: int, j: int) -> Fraction | None:
    """Evaluate a quotient of counts at a pair of cuts, exactly; None if undefined."""
    tp, fp = cuts.units.tp, cuts.units.fp
    over, under = (evaluate_form(f, *(int(n[k]) for k in (i, j) for n in (tp, fp)))
                   for f in q)  # fmt: skip
    return Fraction(over / under) if under else None


def _sum(cuts: Cuts, form: LinearForm) -> Sum:
    """Write a weighted sum, in whole numbers, as a function of i plus one of j."""
    a, b, c, d, const = form
    largest = (abs(a) + abs(c)) * cuts.n_pos + (abs(b) + abs(d)) * cuts.n_neg
    kind: Any = np.int64 if largest + abs(const) < 2**61 else object
    tp, fp = (n.astype(kind) for n in (cuts.units.tp, cuts.units.fp))
    return tp * a + fp * b, tp * c + fp * d + const


def _rows(cuts: Cuts, bound: ScopedConstraint) -> list[Sum]:
    """Write a constraint as functions of the pair that must not be negative."""
    if bound.scope:
        return [forbidding(bound, _cuts.holds(cuts, bound.constraint))]
    quotient = _quotient(bound.metric, cuts)
    return [_sum(cuts, r) for r in constraint_rows(bound.constraint, quotient)]


def forbidding(bound: ScopedConstraint, met: Array) -> Sum:
    """Forbid the upper cuts, or the lower ones, at which a bound is not met."""
    row, none = np.where(met, 0, -1), np.zeros(met.size, dtype=np.int64)
    return (row, none) if bound.scope == "above" else (none, row)


_LISTED = 1_000  # equally good pairs
_BATCH = 1 << 12  # squares that are judged at once
_QUARTERS = np.array([[[0], [0], [1], [1]], [[0], [1], [0], [1]]])


def best_pairs(objective: Sum, rows: Sequence[Sum]) -> Pairs | None:
    """Give the pairs with the largest objective at which no row is negative, or None.

    Branch and bound: squares of neighbouring pairs are quartered, the largest bounds
    first, and dropped when their bound, or that of a row, allows no pair.
    """
    worth, *held = ((MaximumTree(a), MaximumTree(b)) for a, b in (objective, *rows))
    top: Any = None
    found: list[Ints] = []
    waiting = [np.ones((2, 1), dtype=np.int64)]
    while waiting:
        stop_if_requested()
        i, j = waiting.pop()
        value, keep = worth[0].maxima[i] + worth[1].maxima[j], i <= j
        for row in held:
            keep &= np.asarray(row[0].maxima[i] + row[1].maxima[j] >= 0, dtype=bool)
        if top is not None:  # of very many that are as good, some are enough
            enough = sum(x.shape[1] for x in found) > _LISTED
            keep &= np.asarray(value > top if enough else value >= top, dtype=bool)
        i, j, value = i[keep], j[keep], value[keep]
        if (
            i.size and i[0] >= worth[0].first_leaf
        ):  # blocks of one entry: all are as deep
            best = value.max()
            found = found if best == top else []
            top = best
            found.append(np.stack([i, j])[:, np.asarray(value == top, dtype=bool)])
        elif i.size:
            order = np.argsort(value)
            for part in np.array_split(order, -(-order.size // _BATCH)):
                both = 2 * np.stack([i[part], j[part]])[:, None] + _QUARTERS
                waiting.append(both.reshape(2, -1))
    if top is None:
        return None
    first, second = np.concatenate(found, axis=1) - worth[0].first_leaf
    order = np.lexsort([first, second])[:_LISTED]
    return first[order], second[order], first.size <= _LISTED


def _infeasible(cuts: Cuts, bounds: Bounds) -> Exception:
    """Say which constraint stands alone in the way, or that they do together."""
    flat = _sum(cuts, linear_form([0] * 5))
    for bound in bounds:
        if best_pairs(flat, _rows(cuts, bound)) is None:
            return Infeasible(
                f"{bound} cannot be met by any pair of thresholds of these "
                f"{cuts.sizes}. Loosen it."
            )
    if bounds:
        return Infeasible(
            f"{' and '.join(map(str, bounds))} cannot be met by one pair of "
            "thresholds, though each of them can. Loosen one of them, or defer more."
        )
    return NotEnoughCases(
        "The objective is undefined for every pair of thresholds; there are "
        f"{cuts.sizes}."
    )
