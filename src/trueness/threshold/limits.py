r"""What is bounded, where, at which prevalence, and which metrics are quotients?

=====================  ================================================================
all decided cases      ``"recall >= 0.9"``
``above``, ``below``   ``"npv below >= 0.99"``: the upper or lower cut as if alone
``gap``, ``ratio``     ``"recall_gap <= 0.02"``: largest - smallest of the groups
``min``, ``max``       ``"fpr_max <= 0.2"``: every group
=====================  ================================================================

Searches over several cuts, and programs, need metrics that are a weighted sum of counts
or one quotient of such sums. The formula of a metric is code; its coefficients are read
off its values, in fractions. A prevalence of use is a number, which the design of the
cases says, or ``prevalences``: a range within which it lies, or an estimate.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Sequence
from fractions import Fraction
from itertools import combinations_with_replacement
from statistics import NormalDist
from typing import Any, NamedTuple, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from trueness._core.arrays import Array, Ints
from trueness._core.checks import options as _options
from trueness._core.checks.errors import InputError
from trueness._core.checks.words import described
from trueness._core.numbers import level_text
from trueness._core.records import Estimate
from trueness._core.solvers import largest_quotient
from trueness.counts.values import Panel, Tally
from trueness.inference.sample import check_prevalence_known
from trueness.metrics.algebra import (
    Constraint,
    Metric,
    as_fraction,
    depends_on_prevalence,
)
from trueness.metrics.algebra import quotient as exact_quotient
from trueness.metrics.confusion import Confusion
from trueness.metrics.grammar import BOUNDS, known_names, one_or_more
from trueness.metrics.grammar import constraint as read_constraint
from trueness.metrics.grammar import metric as read_metric
from trueness.threshold.cuts import Cuts

ConstraintLike = str | Constraint
Found = TypeVar("Found")
DEFAULT = "youden"  # what is maximised when nothing is said
SIDES, GROUPS = ("above", "below"), ("gap", "ratio", "min", "max")
_SIDED = re.compile(r"^\s*(?P<name>.+?)\s+(?P<where>above|below)\s*(?P<rest>[<>].+)$")
_BETWEEN = re.compile(
    r"^\s*(?P<name>[A-Za-z_]\w*?(\([^)]*\))?)_(?P<where>gap|ratio|min|max)"
    r"\s*(?P<rest>[<>].+)$"
)
_TWO = re.compile(r"\bdefer(red)?\b|\s(above|below)\s*[<>]")


class Limit(NamedTuple):
    """A constraint, and where it must hold; ``""`` is among all decided cases."""

    asked: Constraint
    where: str = ""

    @property
    def metric(self) -> Metric:
        """Give what is bounded."""
        return self.asked.metric

    @property
    def suffix(self) -> str:
        """Give what follows the name of the metric."""
        return ("_" if self.where in GROUPS else " ") + self.where if self.where else ""

    @property
    def name(self) -> str:
        """Give the quantity that is limited."""
        return self.metric.name + self.suffix

    def __str__(self) -> str:
        """Write it as it is typed."""
        sign = f" {self.asked.sign} "
        return repr(self.asked).replace(sign, self.suffix + sign, 1)

    @property
    def couples(self) -> bool:
        """Does it compare groups with each other?"""
        return self.where in ("gap", "ratio")

    @property
    def range(self) -> tuple[float, float]:
        """Between which values does the quantity lie?"""
        low, high = self.metric.range
        coupled = {"gap": (0.0, high - low), "ratio": (0.0, 1.0)}
        return coupled.get(self.where, (low, high))

    def between(self, values: ArrayLike | Sequence[Fraction | float]) -> Any:
        """Give what is limited of the values of all groups, along the first axis."""
        values = np.asarray(values)
        low, high = values.min(axis=0), values.max(axis=0)
        if self.where in ("min", "max"):
            return low if self.where == "min" else high
        with np.errstate(divide="ignore", invalid="ignore"):
            return high - low if self.where == "gap" else low / high

    def kept(self, value: ArrayLike | Fraction) -> Any:
        """Is the limit kept? In fractions where the value is one."""
        c = self.asked
        if isinstance(value, Fraction):
            exactly: Any = as_fraction(c.bound)
            c = Constraint(c.metric, c.sign, exactly)
        known: Any = value
        return c.decide(known)

    def of(self, cells: Array) -> Any:
        """Evaluate what is bounded for cells (..., groups, sides, 2)."""
        m = self.metric
        if self.where in GROUPS:
            four = cells[..., ::2, :].reshape(*cells.shape[:-2], 4)
            values = m(Confusion(*np.moveaxis(four, -1, 0)))
            return self.between(np.moveaxis(np.asarray(values), -1, 0))
        six = cells.sum(axis=-3).reshape(*cells.shape[:-3], 6)
        tp, fp, more_pos, more_neg, fn, tn = np.moveaxis(six, -1, 0)
        with np.errstate(divide="ignore", invalid="ignore"):
            if self.where == "above":
                return m(Confusion(tp, fp, fn + more_pos, tn + more_neg))
            if self.where == "below":
                return m(Confusion(tp + more_pos, fp + more_neg, fn, tn))
            pos, neg = tp + more_pos + fn, fp + more_neg + tn
            known = {"deferred": more_pos + more_neg, "cases": pos + neg}
            known |= {"defer": known["deferred"] / known["cases"]}
            known |= {"positives": pos, "negatives": neg}
            decided = Confusion(tp, fp, fn, tn)
            parts = (
                w * (known[part.name] if part.name in known else part(decided))
                for w, part in m.parts
            )
            return m.constant + sum(parts)


def read_limits(
    given: ConstraintLike | Iterable[ConstraintLike] | None, where: tuple[str, ...]
) -> tuple[Limit, ...]:
    """Read constraints that may be about sides, or about groups."""
    example = '["defer <= 0.1"]' if where is SIDES else '["recall_gap <= 0.1"]'
    read = []
    for c in () if given is None else one_or_more(given, BOUNDS, example):
        text = c if isinstance(c, str) else ""
        found = _SIDED.match(text) if where is SIDES else _between(text)
        asked = read_constraint(f"{found['name']} {found['rest']}" if found else c)
        limit = Limit(asked, found["where"] if found else "")
        read.append(_possible(limit, text) if found and where is GROUPS else limit)
    return tuple(read)


def _between(text: str) -> re.Match[str] | None:
    found = _BETWEEN.match(text)
    # odds_ratio is a metric of its own
    whole = found and f"{found['name']}_{found['where']}"
    return None if whole in known_names() else found


def _possible(limit: Limit, text: str) -> Limit:
    c, upward = limit.asked, limit.where in ("ratio", "min")
    if c.upward is not upward:
        sign, word = (">=", "at least") if upward else ("<=", "at most")
        raise InputError(
            f"{limit.name} can only be required to be {word} a number; found {text!r}. "
            f"Type {limit.name} {sign} {c.bound:g}."
        )
    if (limit.where == "gap" and c.bound < 0) or (
        limit.where == "ratio" and not 0 < c.bound <= 1
    ):
        raise InputError(
            f"A gap is bounded by zero or more, a ratio by a number between 0 and 1; "
            f"found {text!r}."
        )
    return limit


def asks_for_groups(given: object) -> bool:
    """Is this a constraint, or several, of differences between groups, or of each?"""
    several = [given] if isinstance(given, str) else given
    if not isinstance(several, (list, tuple)):
        return False
    return any(isinstance(c, str) and _between(c) for c in several[:1000])


def asks_for_two_cuts(words: Iterable[Any]) -> bool:
    """Do objectives or constraints speak of deferred cases, or of one side?"""
    return any(
        _TWO.search(getattr(w, "name", None) or str(w)) for w in words if w is not None
    )


def read_objective(
    maximize: str | Metric | None, minimize: str | Metric | None
) -> tuple[Metric, Metric]:
    """Give the metric as it was asked for, and what to maximise."""
    if minimize is None:
        shown = read_metric(DEFAULT if maximize is None else maximize)
        return shown, shown
    if maximize is not None and not (isinstance(maximize, str) and maximize == DEFAULT):
        raise InputError(
            f"Type maximize or minimize, not both; found {maximize!r} and "
            f"{minimize!r}. For two objectives see trueness.pareto."
        )
    shown = read_metric(minimize)
    return shown, -shown


def objective_text(shown: Metric, objective: Metric) -> str:
    """Write what was asked for."""
    return f"{'maximize' if objective is shown else 'minimize'} {shown.name}"


def undeferred(objective: str | Metric) -> Metric | None:
    """Give an objective without its price of deferred cases: that of a single cut."""
    m = read_metric(objective)
    kept = [w * part for w, part in m.parts if part.name not in ("defer", "deferred")]
    return sum(kept[1:], kept[0]) + m.constant if kept else None


# weights of tp and fp (twice of two cuts), then what is added: fractions
Form = NDArray[np.object_]
ONE_CUT, TWO_CUTS = 2, 4  # how many counts say all


# of weighted sums of counts; a denominator that is fixed is one
Quotient = tuple[Form, Form]


def form(weights: Iterable[Any]) -> Form:
    """Give weights, and what is added to the counts, as a form."""
    return np.array(list(weights), dtype=object)


def fixed(f: Form) -> bool:
    """Is a form the same at every cut?"""
    return not f[:-1].any()


def at(f: Form, *counts: int) -> Any:
    """Evaluate a form."""
    return f @ form([*counts, 1])


def whole(f: Form) -> Form:
    """Multiply by the common denominator."""
    unit = math.lcm(*(w.denominator for w in f))
    return form(int(w * unit) for w in f)


def quotient(metric: Metric, cuts: Cuts, size: int, refusal: str) -> Quotient:
    """Write a metric as a quotient of sums of the counts at one cut, or at two."""
    none = [0] * size
    total: Quotient | None = (
        form([*none, as_fraction(metric.constant)]),
        form([*none, 1]),
    )
    for weight, part in metric.parts:
        term = _read(part, cuts, size)
        total = total and term and _added(total, as_fraction(weight), term)
    if total is None:
        raise InputError(refusal.format(metric.name))
    return total


def _read(part: Metric, cuts: Cuts, size: int) -> Quotient | None:
    """Read the coefficients off values; None when the formula is not linear."""
    # nothing, one of each count, and all sums of two of these: a polynomial of degree
    # two has no more coefficients; the first values give them, the others refute it
    eye = np.eye(size, dtype=np.int64)
    two = [a + b for a, b in combinations_with_replacement(eye, 2)]
    points = np.vstack([0 * eye[:1], eye, two])
    found = _values(part, cuts, points)
    if found is None:
        return None
    over, under = (form([*(v[1 : size + 1] - v[0]), v[0]]) for v in found)
    with_one = np.pad(points, ((0, 0), (0, 1)), constant_values=1).astype(object)
    for f, values in zip((over, under), found, strict=True):
        if (with_one @ f != values).any():
            return None
    # the same denominator looks the same in all metrics
    unit = Fraction(1, under[-1] if fixed(under) else math.gcd(*under))
    return over * unit, under * unit


def _values(part: Metric, cuts: Cuts, points: Ints) -> tuple[Any, Any] | None:
    """Give numerator and denominator of a metric at some counts, if they are exact."""
    upper, lower = points.T[:2], points.T[-2:]  # one cut is both
    tp, fp, _, _ = cuts.counts(*upper)
    *found, fn, tn = cuts.counts(*lower)
    doubt = sum(found) - tp - fp
    # of all cases the deferred ones are part, every other metric is about decided ones
    pos, neg = 0 * tp + cuts.n_pos * cuts.up, 0 * tp + cuts.n_neg * cuts.down
    known = {"deferred": doubt, "cases": pos + neg, "positives": pos, "negatives": neg}
    if part.name in known:
        return known[part.name], 0 * tp + cuts.unit
    if part.name == "defer":
        return doubt, pos + neg
    if part.root or not part.is_exact:
        return None
    return exact_quotient(part, (tp, fp, fn, tn), cuts.unit)


def _added(total: Quotient, weight: Fraction, term: Quotient) -> Quotient | None:
    """Add a weighted term; None when the sum is no quotient of linear functions."""
    (a, b), (c, d) = total, (term[0] * weight, term[1])
    if not weight:
        return total
    if (b == d).all():
        return a + c, b
    if fixed(b):  # the constant first: a/b + c = (a + c b) / b
        (a, b), (c, d) = (c, d), (a, b)
    if fixed(d) and fixed(c):
        return a + b * c[-1], b
    return None


def above_zero(f: Form) -> Form:
    """Write in whole numbers that a form is above zero: less one, not negative."""
    found = whole(f)
    found[-1] -= 1
    return found


def largest(
    q: Quotient, best: Callable[[Form], Found], ratio: Callable[[Found], Any]
) -> tuple[Any, Found, Found, int]:
    """Maximise a quotient where forms can be, by Dinkelbach's method if need be."""
    over, under = q
    if fixed(under):
        found = best(over)
        return ratio(found), found, found, 1
    return largest_quotient(lambda x: best(over - under * x), ratio)


def lead(c: Constraint, q: Quotient) -> Form:
    """Write a bound on a quotient as a form that must not be negative."""
    above: Form = q[0] - q[1] * as_fraction(c.bound)
    return above if c.upward else -above


def rows_of(c: Constraint, q: Quotient) -> list[Form]:
    """Write a constraint as rows: the denominator is above zero, and the bound."""
    bound = lead(c, q)
    return [above_zero(q[1]), above_zero(bound) if c.strict else whole(bound)]


STEPS = 33  # prevalences looked at where the worst need not be at an end


class Share(NamedTuple):
    """A share of positives: known (all three alike), a range, or an estimate.

    ``level`` is the confidence of ``low`` to ``high`` for an estimate; None otherwise.
    """

    low: float
    value: float
    high: float
    level: float | None = None

    @property
    def is_range(self) -> bool:
        """Is it a range of which nothing more is known?"""
        return self.level is None and self.low < self.high

    @property
    def ends(self) -> tuple[float, ...]:
        """Give the shares to distinguish: both ends of a range, or the share itself."""
        return (self.low, self.high) if self.is_range else (self.value,)

    def moved(self, z: ArrayLike, level: float, least: float = 1e-9) -> Any:
        """Which share lies z standard errors away from an estimate at this level?

        Normal on the scale of log odds, with its own spread to either side. An interval
        may reach 0 or 1, where the log odds end: they are taken as ``least``.
        """
        ends = np.clip([self.low, self.value, self.high], least, 1 - least)
        low, mid, high = np.log(ends / (1 - ends))
        side = np.where(np.asarray(z) < 0, mid - low, high - mid)
        reach = NormalDist().inv_cdf((1 + level) / 2)
        return 1 / (1 + np.exp(-np.clip(mid + np.asarray(z) / reach * side, -700, 700)))

    def words(self) -> str:
        """Say which share it is."""
        if self.level is None:
            return f"{self.low:g} to {self.high:g}" if self.is_range else f"{self[0]:g}"
        ends = f"{self.low:.4g} to {self.high:.4g}"
        return f"{self.value:.4g} ({level_text(self.level)} {ends})"


Prevalences = tuple[float, float] | Estimate | None


def share_in_use(t: Tally | Panel, given: Prevalences = None) -> Share | None:
    """Which share of positives is meant: a range, an estimate, or the design's?"""
    known = t.design.prevalence
    if given is None or known is None:
        return read_prevalence(known if given is None else given)
    raise InputError(
        f"Type prevalence= or prevalences=, not both; found {known:g} and "
        f"{described(given)}."
    )


def stop_unknown_share(
    t: Tally | Panel, share: Share | None, metrics: Iterable[Metric], what: str
) -> None:
    """Refuse what rests on the share of positives when the design fixed it."""
    for m in metrics:
        if share is None and depends_on_prevalence(m):
            check_prevalence_known(t, f"{m.name} in {what}")


def read_prevalence(given: object) -> Share | None:
    """Read a prevalence of use: a number, two numbers, or an estimate."""
    if given is None or isinstance(given, Share):
        return given
    if isinstance(given, Estimate):
        value = _options.fraction(given.value, "prevalence")
        if not 0 <= given.low <= value <= given.high <= 1:
            raise InputError(
                f"prevalence must be an estimate with an interval between 0 and 1 "
                f"around its value; found {given!r}."
            )
        return Share(given.low, value, given.high, given.level)
    if isinstance(given, Sequence | np.ndarray) and not isinstance(given, str):
        low, high = _options.share_range(given, "prevalence")
        if not 0 < low < high < 1:
            raise InputError(
                f"prevalence must be a range between 0 and 1, without its ends; found "
                f"({low:g}, {high:g}). Type prevalences=(0.01, 0.05)."
            )
        return Share(low, (low + high) / 2, high)
    return Share(*[_options.fraction(given, "prevalence")] * 3)


def prevalences(share: Share | None, metrics: Iterable[Metric]) -> list[float | None]:
    """At which prevalences must a range be looked at, to find the worst?"""
    if share is None or not share.is_range:
        return [None if share is None else share.value]
    steps = 2 if all(moves_one_way(m) for m in metrics) else STEPS
    return [*np.linspace(share.low, share.high, steps).tolist()]


def moves_one_way(m: Metric) -> bool:
    """Does the metric, at any cut, only rise or only fall with the prevalence?"""

    def linear(part: Metric) -> bool:
        # a sum of counts, or its share of all cases, whose number does not change
        fixed = part.ratio is not None and part.ratio.under in (None, (1, 1, 1, 1))
        return fixed or not depends_on_prevalence(part)

    return m.ratio is not None or all(linear(part) for _, part in m.parts)
