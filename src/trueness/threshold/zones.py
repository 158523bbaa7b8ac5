r"""Where do yes and no end, and where should a person look?

Two cuts make three zones: below the lower cut no, from the upper cut on yes, between
them doubt. ``best_thresholds`` finds the best pair of cuts exactly, whatever is paid
for a deferred case and whatever must hold on either side.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any, NamedTuple, final

import numpy as np

from trueness._core.arrays import Array
from trueness._core.checks.errors import Infeasible, InputError, NotEnoughCases
from trueness._core.numbers import cut_text, percent
from trueness._core.records import Record, brief
from trueness._core.search import largest_quotient
from trueness.counts.answers import of_tally
from trueness.counts.cases import weighed_counts
from trueness.counts.values import Tally
from trueness.inference.sample import needs_prevalence
from trueness.metrics.algebra import Constraint, Metric
from trueness.metrics.confusion import Confusion
from trueness.metrics.grammar import BOUNDS, one_or_more
from trueness.metrics.grammar import constraint as read_constraint
from trueness.metrics.grammar import metric as read_metric
from trueness.threshold import forms
from trueness.threshold.cuts import (
    Cuts,
    Interval,
    all_cuts,
    holds,
    interval_of,
    threshold_of,
    value_at,
)
from trueness.threshold.operating_point import (
    ConstraintLike,
    left_out,
    objective_text,
    read_objective,
)
from trueness.threshold.pairs import Pairs, Sum, best_pairs
from trueness.threshold.rule import Rule

_SIDED = re.compile(r"^(?P<left>.+?)\s+(?P<side>above|below)\s*(?P<rest>[<>]=?.+)$")
_TWO = re.compile(r"\bdefer(red)?\b|\s(above|below)\s*[<>]")
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
    value : float
        The objective, at the prevalence of use.
    confusion : Confusion
        The confusion matrix of the cases of the tally that are decided.
    deferred_pos, deferred_neg : int
        Positives and negatives between the two thresholds; of weighted cases, like the
        confusion matrix, sums of weights.
    defer : float
        The share of all cases that is deferred, at the prevalence of use.
    single : float
        The objective of the best single threshold that meets the constraints; how far
        it is from ``value`` is what deferring cases is worth. NaN when no single
        threshold meets them.
    pairs : tuple of (range, range)
        All optimal pairs, lower and upper, the chosen one first (at most 1,000).
    objective : str
        What was maximised or minimised.
    constraints : dict of str to float
        The value of each bounded metric.
    prevalence : float
        The share of positives in use.
    notes : tuple of str
        What to keep in mind.
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
        """Say what happens in each zone, in a few lines."""
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


class Sided(NamedTuple):
    """A constraint, and which cut it is about: "above", "below", or "" for both."""

    asked: Constraint
    side: str

    def of(self, cells: Array) -> Any:
        """Evaluate what is bounded for cells (..., 3, 2): flagged, deferred, cleared.

        At the upper or the lower cut the deferred cases are on its other side.
        """
        six = np.moveaxis(cells.reshape(*cells.shape[:-2], 6), -1, 0)
        tp, fp, more_pos, more_neg, fn, tn = six
        m, doubt = self.asked.metric, more_pos + more_neg
        with np.errstate(divide="ignore", invalid="ignore"):
            if self.side == "above":
                return m(Confusion(tp, fp, fn + more_pos, tn + more_neg))
            if self.side == "below":
                return m(Confusion(tp + more_pos, fp + more_neg, fn, tn))
            pos, neg = tp + more_pos + fn, fp + more_neg + tn
            known = {"deferred": doubt, "defer": doubt / (pos + neg)}
            known |= {"cases": pos + neg, "positives": pos, "negatives": neg}
            decided = Confusion(tp, fp, fn, tn)
            parts = (
                w * (known[part.name] if part.name in known else part(decided))
                for w, part in m.parts
            )
            return m.constant + sum(parts)

    def __str__(self) -> str:
        """Write it as it is typed."""
        side = f" {self.side}" if self.side else ""
        c = self.asked
        return repr(c).replace(f" {c.sign} ", f"{side} {c.sign} ", 1)


@of_tally
def best_thresholds(
    data: Tally,
    maximize: str | Metric | None = None,
    subject_to: ConstraintLike | Iterable[ConstraintLike] = (),
    *,
    minimize: str | Metric | None = None,
) -> Zones:
    r"""Which two thresholds are best, with the cases between them left to a person?

    (:func:`best_threshold` finds one, which decides all cases.)

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
        (``"accuracy >= 0.95"``). "Above" and "below" may follow any metric, which is
        then computed at the upper or the lower threshold as if it were the only one.

    Returns
    -------
    Zones
        The two thresholds, the intervals in which they flag the same cases, the value,
        what happens in each zone, and the value of the best single threshold.

    Raises
    ------
    Infeasible
        No pair of thresholds meets the constraints.

    Notes
    -----
    The optimum over all pairs of thresholds is exact, in whole numbers, and found
    without trying every pair: each count is a function of one threshold plus a function
    of the other (``pairs.py``). The time is O(m log m) for m distinct scores; O(m log^2
    m) with a constraint such as ``accuracy >= 0.95``; quotients take a few rounds of
    Dinkelbach's method. Of several optimal pairs the one that defers fewest is
    returned, then the one with the smallest abs(fp - fn).

    Chow's rule, the optimum when scores are the true probabilities, is the special case
    without constraints.

    References
    ----------
    Chow 1970, IEEE Trans. Inf. Theory 16:41, doi:10.1109/TIT.1970.1054406.
    Dinkelbach 1967, Manag. Sci. 13:492, doi:10.1287/mnsc.13.7.492.

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
    bounds = read_sided(subject_to)
    needs_prevalence(data, "What is best in three zones")
    cuts = all_cuts(data, data.design.prevalence, "best_thresholds")
    found = _zones(cuts, shown, objective, bounds)
    notes = (*found.notes, *weighed_counts(data), *left_out(data))
    return replace(found, notes=notes)


def asks_for_two_cuts(words: Iterable[Any]) -> bool:
    """Do objectives or constraints speak of deferred cases, or of one side?"""
    return any(
        _TWO.search(getattr(w, "name", None) or str(w)) for w in words if w is not None
    )


def undeferred(objective: Any) -> Metric | None:
    """Give an objective without its price of deferred cases: that of a single cut.

    >>> undeferred("cost(fp=1, fn=10, defer=0.3)").name
    'cost(fp=1, fn=10)'
    """
    m = read_metric(objective)
    kept = [w * part for w, part in m.parts if part.name not in ("defer", "deferred")]
    return sum(kept[1:], kept[0]) + m.constant if kept else None


def read_sided(given: Any) -> tuple[Sided, ...]:
    """Read constraints, with the side that each is about."""
    several = one_or_more(given, BOUNDS, '["defer <= 0.1", "npv below >= 0.99"]')
    return tuple(_sided(c) for c in several)


def _sided(given: Any) -> Sided:
    found = _SIDED.match(given.strip()) if isinstance(given, str) else None
    if found is None:
        return Sided(read_constraint(given), "")
    return Sided(read_constraint(f"{found['left']} {found['rest']}"), found["side"])


def _zones(
    cuts: Cuts, shown: Metric, objective: Metric, bounds: tuple[Sided, ...]
) -> Zones:
    found, value = choose_pair(cuts, objective, bounds)
    if found is None:
        raise _infeasible(cuts, bounds)
    i, j = fewest_deferred(cuts, found)
    pairs = zip(found.first.tolist(), found.second.tolist(), strict=True)
    listed = [(i, j), *(p for p in pairs if p != (i, j))]
    sign = 1 if objective is shown else -1
    seen = cuts.seen
    notes = [
        "These thresholds were tuned on the same data, so the results are "
        "optimistic; validate_threshold says what to expect on new cases."
    ]
    if not found.all_listed:
        notes.append(
            "More than 1,000 pairs of thresholds are optimal; not all are listed."
        )
    return Zones(
        **two_cuts(cuts, i, j),
        value=float(sign * (value or 0)),
        deferred_pos=(seen.tp[j] - seen.tp[i]).item(),
        deferred_neg=(seen.fp[j] - seen.fp[i]).item(),
        defer=float(_deferred(cuts, i, j)) / float(cuts.positives + cuts.negatives),
        single=sign * _single(cuts, objective, bounds),
        pairs=tuple(
            (interval_of(cuts.score, b), interval_of(cuts.score, a)) for a, b in listed
        ),
        objective=objective_text(shown, objective),
        constraints={str(k): sided_value(cuts, k, i, j) for k in bounds},
        prevalence=cuts.prevalence,
        notes=tuple(notes),
    )


def two_cuts(cuts: Cuts, i: int, j: int) -> dict[str, Any]:
    """Give the fields that every record of an upper cut i and a lower cut j has."""
    seen = cuts.seen
    return {
        "lower": threshold_of(cuts.score, j),
        "upper": threshold_of(cuts.score, i),
        "lower_range": interval_of(cuts.score, j),
        "upper_range": interval_of(cuts.score, i),
        "confusion": Confusion(seen.tp[i], seen.fp[i], seen.fn[j], seen.tn[j]),
    }


def _deferred(cuts: Cuts, i: Any, j: Any) -> Any:
    used = cuts.used
    return used.tp[j] - used.tp[i] + used.fp[j] - used.fp[i]


def fewest_deferred(cuts: Cuts, found: Pairs) -> tuple[int, int]:
    """Of equally good pairs take the one with the smallest zone of doubt."""
    used, i, j = cuts.used, found.first, found.second
    balance = np.abs(used.fp[i] - used.fn[j])
    at = int(np.lexsort([balance, _deferred(cuts, i, j)])[0])
    return int(i[at]), int(j[at])


def sided_value(cuts: Cuts, bound: Sided, i: int, j: int) -> float:
    """What is the bounded metric at a pair of cuts?"""
    metric = bound.asked.metric
    if bound.side:
        return value_at(cuts, metric, i if bound.side == "above" else j)
    over, under = (_at(cuts, f, i, j) for f in _quotient(metric, cuts))
    return float(over / under) if under else math.nan


def choose_pair(
    cuts: Cuts, objective: Metric, bounds: tuple[Sided, ...]
) -> tuple[Pairs | None, Fraction | None]:
    """Find the best pairs, and their value; None when none is allowed."""
    rows = [r for bound in bounds for r in _rows(cuts, bound)]
    over, under = _quotient(objective, cuts)

    def value(found: Pairs | None) -> Fraction | None:
        if found is None:
            return None
        i, j = int(found.first[0]), int(found.second[0])
        return Fraction(_at(cuts, over, i, j) / _at(cuts, under, i, j))

    if under.is_constant:
        found = best_pairs(_sum(cuts, over.whole()), rows)
        return found, value(found)
    rows.append(_sum(cuts, forms.row(under, strict=True)))
    q, found, again, _ = largest_quotient(
        lambda q: best_pairs(_sum(cuts, over.plus(under, -q).whole()), rows), value
    )
    # all pairs on which the lead is zero are optimal, not only the last found
    return again or found, q


def _quotient(metric: Metric, cuts: Cuts) -> forms.LinearQuotient:
    return forms.quotient(metric, cuts, forms.TWO_CUTS, _REFUSAL)


def _at(cuts: Cuts, form: forms.LinearForm, i: int, j: int) -> Any:
    """Evaluate a weighted sum of counts at a pair of cuts, exactly."""
    tp, fp = cuts.units.tp, cuts.units.fp
    return form.at(*(int(n[k]) for k in (i, j) for n in (tp, fp)))


def _sum(cuts: Cuts, form: forms.LinearForm) -> Sum:
    """Write a weighted sum, in whole numbers, as a function of i plus one of j."""
    largest = forms.LinearForm(map(abs, form)).at(
        cuts.n_pos, cuts.n_neg, cuts.n_pos, cuts.n_neg
    )
    # beyond 64 bits Python's integers: slow, and never wrong
    kind: Any = np.int64 if largest < 2**61 else object
    tp, fp = (c.astype(kind) for c in (cuts.units.tp, cuts.units.fp))
    a, b, c, d, const = form
    return Sum(tp * a + fp * b, tp * c + fp * d + const)


def _rows(cuts: Cuts, bound: Sided) -> list[Sum]:
    """Write a constraint as functions of the pair that must not be negative."""
    c = bound.asked
    if bound.side:
        return [forbidding(bound, holds(cuts, c))]
    return [_sum(cuts, r) for r in forms.rows_of(c, _quotient(c.metric, cuts))]


def forbidding(bound: Sided, met: Array) -> Sum:
    """Forbid the upper cuts, or the lower ones, at which a bound is not met."""
    row, none = np.where(met, 0, -1), np.zeros(met.size, dtype=np.int64)
    return Sum(row, none) if bound.side == "above" else Sum(none, row)


def _single(cuts: Cuts, objective: Metric, bounds: tuple[Sided, ...]) -> float:
    """What would the best single cut reach, nothing deferred?"""
    over, under = _quotient(objective, cuts)
    a, b = (_sum(cuts, f.whole()) for f in (over, under))
    allowed = np.ones(len(cuts.score) + 1, dtype=bool)
    for bound in bounds:
        for r in _rows(cuts, bound):
            allowed &= np.asarray(r.i + r.j >= 0, dtype=bool)
    # one cut is a pair with nothing in between
    top, bottom = a.i + a.j, b.i + b.j
    at = np.flatnonzero(allowed & np.asarray(bottom > 0, dtype=bool))
    if not at.size:
        return math.nan
    k = int(at[np.argmax((top[at] / bottom[at]).astype(np.float64))])
    return float(_at(cuts, over, k, k) / _at(cuts, under, k, k))


def _infeasible(cuts: Cuts, bounds: tuple[Sided, ...]) -> Exception:
    """Say which constraint stands alone in the way, or that they do together."""
    for bound in bounds:
        if (
            best_pairs(_sum(cuts, forms.LinearForm([0] * 5)), _rows(cuts, bound))
            is None
        ):
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
        "The objective is undefined for every pair of thresholds; this tally has "
        f"{cuts.sizes}."
    )
