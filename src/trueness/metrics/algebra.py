"""What can be said with metrics: sums, multiples and bounds? Which values are equal?

``0.7 * accuracy + 0.3 * recall`` is a ``Metric`` again, ``recall >= 0.9`` a
``Constraint``. Metrics are quotients of polynomials in the counts: what floating point
cannot decide is compared in fractions, with numbers as they were typed (0.9 is nine
tenths).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import lru_cache
from typing import Any, Literal, NamedTuple, SupportsIndex, final

import numpy as np
from numpy.typing import ArrayLike

from trueness._core.arrays import BLOCK, Array, blocks
from trueness._core.checks import options as _options
from trueness._core.checks.errors import InputError
from trueness._core.imports import handler
from trueness.metrics.confusion import Confusion

Direction = Literal["higher", "lower", "none"]
# What is known of a metric over a rectangle of tp and fp, at fixed class sizes:
# "quotient"  linear in each of tp and fp above and below: extremes at the corners, and
#             an undefined corner does not matter, since it is constant along its sides;
# "product"   rises with the product of sensitivity and specificity: extremes likewise;
# "bent"      rises with tp and falls with fp, but next to an undefined corner it may
#             have any value;
# "unknown"   nothing, as of a metric of the user's own.
Shape = Literal["quotient", "product", "bent", "unknown"]
Coefficients = tuple[float, float, float, float]


class Ratio(NamedTuple):
    """A quotient of two sums of counts: coefficients of (tp, fp, fn, tn)."""

    over: Coefficients
    under: Coefficients | None  # None: a plain sum


def _bounding(sign: str) -> Callable[[Metric, Metric | float], Constraint]:
    """Make a comparison of a metric, which is a constraint."""
    return lambda self, bound: constraint_of(self, sign, bound)


@final
@dataclass(frozen=True, repr=False, eq=False)
class Metric:
    """How good is a threshold? A function of the confusion matrix.

    Call it on a :class:`Confusion`. ``a + b``, ``2 * a``, ``a / 2`` and ``-a`` are
    metrics again; ``a >= 0.9`` and ``a <= b`` are constraints.

    Attributes
    ----------
    name, aliases, words : str, tuple of str, str
        As it is written, in Python and as text; other names that people type; what
        tables and figures call it.
    direction, range : {"higher", "lower", "none"}, (float, float)
        Which way is better; smallest and largest possible value.
    question, reference : str
        What it answers, and where it comes from.
    function : callable or None
        From a :class:`Confusion` to the value, where no form below says it.
    ratio : Ratio or None
        A quotient of sums of counts.
    terms, constant : tuple of (float, Metric) or None, float
        A sum: its coefficients and parts, and what is added.
    exact, root : callable or None, bool
        A quotient of polynomials: counts (tp, fp, fn, tn) give a numerator and a
        denominator, so that equal values are distinguished from close ones; with
        ``root`` those of its square, with its sign.
    shape : {"quotient", "product", "bent", "unknown"}
        What is known of its form over a rectangle of tp and fp.
    shown : bool
        Whether commands and the read-out beside the slider show it.
    """

    name: str
    function: Callable[[Confusion], Any] | None = None
    direction: Direction = "higher"
    range: tuple[float, float] = (0.0, 1.0)
    reference: str = ""
    question: str = ""
    ratio: Ratio | None = None
    terms: tuple[tuple[float, Metric], ...] | None = None
    constant: float = 0.0
    exact: Callable[[Any, Any, Any, Any], tuple[Any, Any]] | None = None
    root: bool = False
    shape: Shape = "unknown"
    aliases: tuple[str, ...] = ()
    words: str = ""
    shown: bool = False

    def __post_init__(self) -> None:
        """Check that it has some form."""
        forms = self.function, self.ratio, self.terms, self.exact
        if all(form is None for form in forms):
            raise InputError(
                f"A metric needs a function of a Confusion; {self.name!r} has none. "
                f"Type Metric({self.name!r}, lambda c: c.tp / (c.tp + c.fn))."
            )

    @property
    def title(self) -> str:
        """What do tables and figures call it?"""
        return self.words or self.name.replace("_", " ")

    @property
    def parts(self) -> Terms:
        """Give the coefficients and parts of a sum; a single metric is its own part."""
        return ((1.0, self),) if self.terms is None else self.terms

    @property
    def is_exact(self) -> bool:
        """Can it be compared in fractions?"""
        if self.terms is not None:
            return all(part.is_exact for _, part in self.terms)
        return self.ratio is not None or self.exact is not None

    @property
    def is_root(self) -> bool:
        """Is it a multiple of a square root? In fractions it is squared, with sign."""
        return len(self.parts) == 1 and self.parts[0][1].root

    @property
    def is_share(self) -> bool:
        """Is it a share of cases, which people read in per cent?"""
        if self.ratio is None or self.ratio.under is None:
            return False
        pairs = zip(self.ratio.over, self.ratio.under, strict=True)
        return all(over in (0, under) and under in (0, 1) for over, under in pairs)

    def __call__(self, c: Any, *args: Any, **options: Any) -> Any:
        """Give the value at each threshold; NaN where it is undefined.

        Of a :class:`Confusion`. Asked about data or a tally, with ``threshold=`` or
        verdicts of 0 and 1, it gives an :class:`Estimate`: ``f1(t, threshold=0.5)``.
        """
        if not hasattr(c, "tp"):
            return handler("metric_at")(self, c, *args, **options)
        c = c.in_arrays
        with np.errstate(divide="ignore", invalid="ignore"):
            if c.tp.ndim != 1 or c.tp.size <= BLOCK:
                return self._value(c)
            value = np.empty(c.tp.size)
            for b in blocks(c.tp.size):
                value[b] = self._value(c[b])
            return value

    def _value(self, c: Confusion) -> Any:
        if self.terms is not None:
            total: Any = np.zeros_like(c.tp, dtype=np.float64) + self.constant
            for w, part in self.terms:
                total = total + w * part._value(c)
            return total
        if self.ratio is not None:
            top, under = c.weighed(self.ratio.over), self.ratio.under
            # "+ 0.0": a count is a number among numbers, also if nothing is divided
            return top + 0.0 if under is None else np.true_divide(top, c.weighed(under))
        if self.exact is None:
            assert self.function is not None  # noqa: S101  # a metric has some form
            return self.function(c)
        # counts of 10^9 overflow int64 when four of them are multiplied
        counts = (np.asarray(n, dtype=np.float64) for n in c.cells)
        # one division: tp/pos - fp/neg would round twice and break exact ties
        found = np.true_divide(*self.exact(*counts))
        return np.copysign(np.sqrt(np.abs(found)), found) if self.root else found

    def __repr__(self) -> str:
        """Give the text that :func:`metric` reads."""
        return self.name

    def __reduce_ex__(self, protocol: SupportsIndex) -> Any:
        """Travel to another process by name, since formulas cannot."""
        read = handler("metric")
        try:
            same = read(self.name) if self.terms is None else None
        except InputError:  # a metric of the user's own
            same = None
        forms = (self.function, self.ratio, self.exact)
        known = same and (same.function, same.ratio, same.exact) == forms
        return (read, (self.name,)) if known else super().__reduce_ex__(protocol)

    def __add__(self, other: Metric | float) -> Metric:
        if isinstance(other, Metric):
            return _sum(self.parts + other.parts, plus(self.constant, other.constant))
        return _sum(self.parts, plus(self.constant, _real(other, "+")))

    def __mul__(self, factor: float) -> Metric:
        factor = _real(factor, "*")
        scaled = tuple((times(factor, w), part) for w, part in self.parts)
        return _sum(scaled, times(factor, self.constant))

    __radd__ = __add__
    __rmul__ = __mul__

    def __neg__(self) -> Metric:
        return self * -1.0

    def __sub__(self, other: Metric | float) -> Metric:
        return self + (-other)

    def __rsub__(self, other: float) -> Metric:
        return -self + other

    def __truediv__(self, divisor: Metric | float) -> Metric:
        """Divide by a number, or one weighted sum of counts by another."""
        if isinstance(divisor, Metric):
            return _quotient(self, divisor)
        number = _real(divisor, "/")
        if number == 0:
            raise InputError(f"{self.name} cannot be divided by 0.")
        return self * (1 / number)

    __ge__, __le__ = _bounding(">="), _bounding("<=")
    __gt__, __lt__ = _bounding(">"), _bounding("<")


Terms = tuple[tuple[float, Metric], ...]


def weights_of(m: Metric) -> tuple[float, float, float, float] | None:
    """Give the weights of tp, fp, fn and tn, if the metric is a plain sum of them."""
    total = [0.0] * 4
    for w, part in m.parts:
        if m.constant or part.ratio is None or part.ratio.under is not None:
            return None
        each = zip(total, part.ratio.over, strict=True)
        total = [plus(t, times(w, v)) for t, v in each]
    return tuple(total)  # type: ignore[return-value]


def _quotient(a: Metric, b: Metric) -> Metric:
    """Divide a weighted sum of counts by another: it stays exact in whole numbers."""
    over, under = weights_of(a), weights_of(b)
    if over is None or under is None or not any(under):
        raise InputError(
            f"Only weighted sums of counts can be divided by each other (tp / (tp + "
            f"fp)), so that values stay exact; found ({a.name}) / ({b.name})."
        )

    names = (m.name if m.name.isidentifier() else f"({m.name})" for m in (a, b))
    about: Any = {"question": "A quotient of counts.", "shape": "quotient"}
    about |= {"direction": "none", "range": (-np.inf, np.inf)}
    return Metric(" / ".join(names), ratio=Ratio(over, under), **about)


def _real(value: object, sign: str) -> float:
    if isinstance(value, Metric):
        raise InputError(
            f"Metrics can be added and scaled by numbers; a metric after {sign!r} "
            f"is not possible ({value.name}): a product of two has no exact order. "
            f"Counts can be divided: tp / (tp + fp)."
        )
    return _options.real_number(value, f"the number after {sign!r}")


def classes_of(m: Metric) -> tuple[bool, bool]:
    """Does a metric depend on the positives, and on the negatives?"""
    # tried on one table, and on four in which one cell has twice the share
    cells = np.array([7.0, 3.0, 4.0, 10.0]) * (1 + np.eye(5, 4, k=-1))
    cells *= 24 / cells.sum(axis=1, keepdims=True)
    plain, *moved = np.asarray(m(Confusion(*cells.T)), dtype=np.float64)
    tp, fp, fn, tn = (bool(abs(x - plain) > 1e-12 * abs(plain)) for x in moved)
    return tp or fn, fp or tn


@lru_cache(maxsize=256)
def depends_on_prevalence(m: Metric) -> bool:
    """Does the metric change with the share of positives? (Class rates do not.)"""
    # tried on one confusion matrix of irregular numbers at three prevalences
    c = Confusion(31.0, 17.0, 12.0, 53.0)
    values = [float(m(c.at_prevalence(p))) for p in (0.13, 0.41, 0.77)]
    return max(values) - min(values) > 1e-12 * max(map(abs, values))


def as_fraction(value: float) -> Fraction:
    """Which number did a person mean? 0.1 is one tenth, not the float next to it.

    A simple fraction (denominator up to 1000) when the float is the nearest one to it,
    otherwise the shortest decimal that reads back as the same float.

    >>> as_fraction(0.1), as_fraction(1 / 3), as_fraction(0.12345)
    (Fraction(1, 10), Fraction(1, 3), Fraction(2469, 20000))
    """
    value = _options.real_number(value, "A number of a metric")
    simple = Fraction(value).limit_denominator(1000)
    return simple if float(simple) == value else Fraction(repr(value))


def plus(a: float, b: float) -> float:
    """Add two numbers as they were typed: 0.1 + 0.2 is 0.3."""
    return _as_float(as_fraction(a) + as_fraction(b))


def times(a: float, b: float) -> float:
    """Multiply two numbers as they were typed: 3 * 0.1 is 0.3."""
    return _as_float(as_fraction(a) * as_fraction(b))


def _as_float(value: Fraction) -> float:
    try:
        return float(value)
    except OverflowError:
        raise InputError(
            "The numbers in this formula exceed 1.8e308, the largest floating-point "
            "number. Type smaller ones."
        ) from None


def _sum(terms: Terms, constant: float) -> Metric:
    """Build the metric ``constant + sum(weight * part)``, equal parts collected."""
    weight: dict[str, float] = {}
    parts = {part.name: part for _, part in terms}
    for w, part in terms:
        weight[part.name] = plus(weight.get(part.name, 0.0), w)
    kept = tuple((w, parts[name]) for name, w in weight.items() if w)
    low, high = constant, constant
    for w, part in kept:
        # a negative weight makes the upper end the lower one
        ends = sorted(w * end for end in part.range)
        low, high = low + ends[0], high + ends[1]

    sign = {"higher": 1, "lower": -1, "none": 0}
    ways = {np.sign(w) * sign[part.direction] for w, part in kept}
    way: Any = "higher" if ways == {1} else "lower" if ways == {-1} else "none"
    said = "; ".join(p.reference for _, p in kept if p.reference)
    form: Any = {"terms": kept, "constant": constant, "question": "A weighted sum."}
    name = _write_sum(kept, constant)
    return Metric(name, direction=way, range=(low, high), reference=said, **form)


def _write_sum(terms: Terms, constant: float) -> str:
    text = ""
    for w, part in terms:
        size = "" if abs(w) == 1 else f"{write_number(abs(w))}*"
        join = (" - " if w < 0 else " + ") if text else ("-" if w < 0 else "")
        text += f"{join}{size}{part.name}"
    if constant or not text:
        join = (" - " if constant < 0 else " + ") if text else ""
        text += join + write_number(abs(constant) if text else constant)
    return text


def write_number(value: float) -> str:
    """Write a number so that reading it gives the same number."""
    short = f"{value:g}"
    return short if float(short) == value else repr(float(value))


@final
@dataclass(frozen=True, repr=False, eq=False)
class Constraint:
    """Must a metric be at least, or at most, this much?

    Call it on a :class:`Confusion`: True where it holds. An undefined metric (NaN) does
    not meet any constraint.

    Attributes
    ----------
    metric, sign, bound : Metric, {">=", "<=", ">", "<"}, float
        What is bounded, how, and by which number.
    """

    metric: Metric
    sign: Literal[">=", "<=", ">", "<"]
    bound: float

    def __call__(self, c: Confusion) -> Any:
        """Say where the constraint holds."""
        return self.decide(self.metric(c))

    @property
    def upward(self) -> bool:
        """Is the bound one from below?"""
        return self.sign in (">=", ">")

    @property
    def strict(self) -> bool:
        """Must the bound be passed, not only reached?"""
        return self.sign in (">", "<")

    def decide(self, values: ArrayLike) -> Any:
        """Say where values of the metric meet the bound."""
        return _SIGNS[self.sign](values, self.bound)

    def __repr__(self) -> str:
        """Give the text that :func:`constraint` reads."""
        return f"{self.metric.name} {self.sign} {write_number(self.bound)}"

    def __bool__(self) -> bool:
        """Refuse ``0.1 <= fpr <= 0.2``, of which Python would keep one half only."""
        raise InputError(
            f"'{self!r}' is a constraint, neither true nor false. For two bounds pass "
            f"two constraints: [recall >= 0.8, recall <= 0.9]."
        )


_MIRRORED = {">=": "<=", "<=": ">=", ">": "<", "<": ">"}
_SIGNS: dict[str, Callable[[Any, float], Any]]
_SIGNS = {">=": np.greater_equal, "<=": np.less_equal, ">": np.greater, "<": np.less}


def constraint_of(left: Metric | float, sign: Any, right: Metric | float) -> Constraint:
    """Bound a metric; what is not a number moves to the left side."""
    if not isinstance(left, Metric):
        if not isinstance(right, Metric):
            raise InputError("A constraint needs a metric on one side.")
        return constraint_of(right, _MIRRORED[sign], left)
    if isinstance(right, Metric):
        difference = left - right
        return Constraint(difference - difference.constant, sign, -difference.constant)
    bound = _options.real_number(right, f"the bound after {sign}")
    return Constraint(left, sign, bound)


# digits to which sums that mix square roots with other terms are compared
DIGITS = 30


def in_fractions(metric: Metric, counts: tuple[Any, ...], unit: int) -> Array:
    """Evaluate a metric, without its constant, of counts ``unit`` times too large."""
    total = np.full(counts[0].shape, Fraction(0))
    for w, part in metric.parts:
        weight = as_fraction(w)
        if metric.is_root:
            weight *= abs(weight)
        pairs = zip(*quotient(part, counts, unit), strict=True)
        # an infinite value at one of several prevalences
        each = [Fraction(a, b) if b else math.inf * (a > 0 or -1) for a, b in pairs]
        if part.root and not metric.is_root:
            each = [_root(x) for x in each]
        total = total + weight * np.array(each, dtype=object)
    if not metric.is_root and any(part.root for _, part in metric.parts):
        total = np.array([Fraction(round(x * 10**DIGITS), 10**DIGITS) for x in total])
    return total


def quotient(metric: Metric, counts: tuple[Any, ...], unit: int) -> tuple[Any, Any]:
    """Give numerator and denominator of a metric that is not a sum."""
    if metric.ratio is None:
        assert metric.exact is not None  # noqa: S101 - is_exact was asked before
        return metric.exact(*counts)
    over, under = metric.ratio
    top, a = _dot(over, counts)
    if under is None:
        return top, 0 * top + unit * a
    bottom, b = _dot(under, counts)
    return top * b, bottom * a


def _dot(weights: tuple[float, ...], counts: tuple[Any, ...]) -> tuple[Any, int]:
    """Give a weighted sum of counts as a whole number, and how many times too large."""
    exact = [as_fraction(w) for w in weights]
    times = math.lcm(*(w.denominator for w in exact))
    parts = (int(w * times) * n for w, n in zip(exact, counts, strict=True) if w)
    return sum(parts, 0 * counts[0]), times


def _root(value: Any) -> Fraction:
    # ten digits more than are compared; a square of a fraction comes out exactly
    unit, size = 10 ** (DIGITS + 10), abs(value)
    # sqrt(a / b) = sqrt(a b) / b, the root of a whole number with so many digits
    whole = math.isqrt(size.numerator * size.denominator * unit * unit)
    return Fraction(whole if value >= 0 else -whole, size.denominator * unit)


def meets(constraint: Constraint, values: Array) -> Array:
    """At which entries of :func:`in_fractions` does the constraint hold?"""
    m = constraint.metric
    bound: Any = as_fraction(constraint.bound) - as_fraction(m.constant)
    bound = bound * abs(bound) if m.is_root else bound
    return np.asarray(replace(constraint, bound=bound).decide(values), dtype=bool)
