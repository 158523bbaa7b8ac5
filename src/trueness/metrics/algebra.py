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
from functools import cached_property, lru_cache
from typing import Any, Literal, NamedTuple, SupportsIndex, final

import numpy as np
from numpy.typing import ArrayLike

from trueness._core.arrays import BLOCK, Array, blocks
from trueness._core.checks import options as _options
from trueness._core.checks.errors import InputError, PythonCode
from trueness._core.imports import HigherFunction
from trueness._core.records import Estimate
from trueness.metrics.confusion import Confusion

# of the rooms above: a metric of data at a threshold; a metric by its name
METRIC_AT: HigherFunction[Callable[..., Any]] = HigherFunction("metric_at")
READ_METRIC: HigherFunction[Callable[[str], Metric]] = HigherFunction("metric")

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
# from tp, fp, fn and tn to the numerator and the denominator of a quotient
Polynomials = Callable[[Any, Any, Any, Any], tuple[Any, Any]]


class Ratio(NamedTuple):
    """A quotient of two sums of counts: coefficients of (tp, fp, fn, tn)."""

    over: Coefficients
    under: Coefficients | None  # None: a plain sum


@final
@dataclass(frozen=True, repr=False, eq=False)
class Metric:
    """Metric of a threshold: a function of its confusion matrix.

    Call it on a :class:`Confusion`. ``a + b``, ``2 * a``, ``a / 2`` and ``-a`` are
    metrics again; ``a >= 0.9`` and ``a <= b`` are constraints.

    Attributes
    ----------
    name, aliases, words : str, tuple of str, str
        Its name in Python and as text, other names that people type, and its name in
        tables and figures.
    direction, range : {"higher", "lower", "none"}, (float, float)
        Which way is better; smallest and largest possible value.
    question, reference : str
        The question that it answers, and its source.
    function : callable or None
        Computes the value from a :class:`Confusion` where none of the forms below does.
    ratio : Ratio or None
        A quotient of sums of counts.
    terms, constant : tuple of (float, Metric) or None, float
        The coefficients, parts and constant of a sum.
    exact, root : callable or None, bool
        A quotient of polynomials, as numerator and denominator of the counts (tp, fp,
        fn, tn). It distinguishes equal values from close ones. With ``root`` it is the
        square, with its sign.
    shape : {"quotient", "product", "bent", "unknown"}
        What is known of its form over a rectangle of tp and fp.
    shown : bool
        Whether commands, and the numbers beside the slider, show it.
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
    exact: Polynomials | None = None
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
                f"A metric needs a function of a Confusion; {self.name!r} has none.",
                example=PythonCode(
                    f"Metric({self.name!r}, lambda c: c.tp / (c.tp + c.fn))"
                ),
            )

    @property
    def title(self) -> str:
        """Return the name for tables and figures."""
        return self.words or self.name.replace("_", " ")

    @property
    def parts(self) -> Terms:
        """Return the coefficients and parts of a sum; a metric is its own part."""
        return ((1.0, self),) if self.terms is None else self.terms

    @property
    def is_exact(self) -> bool:
        """Return whether the metric can be compared in fractions."""
        if self.terms is not None:
            return all(part.is_exact for _, part in self.terms)
        return self.ratio is not None or self.exact is not None

    @property
    def is_root(self) -> bool:
        """Return whether it is a multiple of a square root, squared in comparisons."""
        return len(self.parts) == 1 and self.parts[0][1].root

    @cached_property
    def is_proportion(self) -> bool:
        """Return whether it is a proportion of cases, which people read in per cent."""
        if self.ratio is None or self.ratio.under is None:
            return False
        return all(
            over in (0, under) and under in (0, 1)
            for over, under in zip(self.ratio.over, self.ratio.under, strict=True)
        )

    def __call__(self, cases: Any, *args: Any, **options: Any) -> Any:
        """Return the value at each threshold of a :class:`Confusion`.

        NaN where it is undefined. A single metric of four counts that were typed, or of
        data or a tally with ``threshold=`` or with verdicts of 0 and 1, is an
        :class:`Estimate`: ``f1(t, threshold=0.5)``.
        """
        if not hasattr(cases, "tp"):
            return METRIC_AT.load()(self, cases, *args, **options)
        if self.terms is None and getattr(cases, "typed", False):
            return METRIC_AT.load()(self, cases.verdicts, *args, **options)

        # values of many thresholds block by block, or their products would fill the
        # memory
        confusion: Confusion = cases.in_arrays
        n_thresholds = confusion.tp.size
        with np.errstate(divide="ignore", invalid="ignore"):
            if confusion.tp.ndim != 1 or n_thresholds <= BLOCK:
                return self._value(confusion)

            values = np.empty(n_thresholds)
            for block in blocks(n_thresholds):
                values[block] = self._value(confusion[block])
            return values

    def _value(self, confusion: Confusion) -> Any:
        """Return the value by the form that the metric has."""
        if self.terms is not None:
            return self._sum_value(self.terms, confusion)
        if self.ratio is not None:
            return self._ratio_value(self.ratio, confusion)
        if self.exact is not None:
            return self._quotient_value(self.exact, confusion)

        assert self.function is not None  # noqa: S101  # a metric has some form
        return self.function(confusion)

    def _sum_value(self, terms: Terms, confusion: Confusion) -> Any:
        """Return the constant and the weighted parts, added up."""
        total = np.zeros_like(confusion.tp, dtype=np.float64) + self.constant
        for coefficient, part in terms:
            total = total + coefficient * part._value(confusion)
        return total

    def _ratio_value(self, ratio: Ratio, confusion: Confusion) -> Any:
        """Return one weighted sum of the four counts, divided by another."""
        numerator = confusion.weighted_sum(ratio.over)
        if ratio.under is None:
            # "+ 0.0" turns whole numbers into floats, which all metrics are
            return numerator + 0.0
        return np.true_divide(numerator, confusion.weighted_sum(ratio.under))

    def _quotient_value(self, formula: Polynomials, confusion: Confusion) -> Any:
        """Return the quotient of two polynomials of the four counts, or its root."""
        # counts of 10^9 overflow int64 when four of them are multiplied
        counts = [np.asarray(count, dtype=np.float64) for count in confusion.cells]
        # one division: tp/pos - fp/neg would round twice and break exact ties
        numerator, denominator = formula(*counts)
        value = np.true_divide(numerator, denominator)
        if self.root:
            # the polynomials are those of the square, with the sign of the metric
            return np.copysign(np.sqrt(np.abs(value)), value)
        return value

    def __repr__(self) -> str:
        """Return the text that :func:`metric` reads."""
        return self.name

    def __reduce_ex__(self, protocol: SupportsIndex) -> Any:
        """Travel to another process by name, since formulas cannot."""
        read_metric = READ_METRIC.load()
        if self._is_built_in(read_metric):
            return read_metric, (self.name,)
        return super().__reduce_ex__(protocol)

    def _is_built_in(self, read_metric: Callable[[str], Metric]) -> bool:
        """Return whether :func:`metric` returns this metric for its name."""
        if self.terms is not None:
            return False

        try:
            namesake = read_metric(self.name)
        except InputError:  # a metric of the user's own
            return False

        return (
            namesake.function == self.function
            and namesake.ratio == self.ratio
            and namesake.exact == self.exact
        )

    def __add__(self, other: Metric | float) -> Metric:
        if isinstance(other, Metric):
            return _sum(self.parts + other.parts, plus(self.constant, other.constant))
        return _sum(self.parts, plus(self.constant, _real(other, "+")))

    def __mul__(self, factor: float) -> Metric:
        factor = _real(factor, "*")
        scaled = tuple(
            (times(factor, coefficient), part) for coefficient, part in self.parts
        )
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

    def __ge__(self, bound: Metric | float) -> Constraint:
        return constraint_of(self, ">=", bound)

    def __le__(self, bound: Metric | float) -> Constraint:
        return constraint_of(self, "<=", bound)

    def __gt__(self, bound: Metric | float) -> Constraint:
        return constraint_of(self, ">", bound)

    def __lt__(self, bound: Metric | float) -> Constraint:
        return constraint_of(self, "<", bound)


Terms = tuple[tuple[float, Metric], ...]


def count_weights(metric: Metric) -> Coefficients | None:
    """Return the weights of tp, fp, fn and tn, if the metric is a plain sum of them."""
    if metric.constant:
        return None

    # the sum of the weights of all terms, cell by cell
    totals = [0.0, 0.0, 0.0, 0.0]
    for coefficient, part in metric.parts:
        if part.ratio is None or part.ratio.under is not None:
            return None
        for cell, weight in enumerate(part.ratio.over):
            totals[cell] = plus(totals[cell], times(coefficient, weight))

    tp, fp, fn, tn = totals
    return tp, fp, fn, tn


def _quotient(numerator: Metric, denominator: Metric) -> Metric:
    """Return a quotient of weighted sums of counts, exact in whole numbers."""
    over = count_weights(numerator)
    under = count_weights(denominator)
    if over is None or under is None or not any(under):
        raise InputError(
            "Only weighted sums of counts can be divided by each other, as in tp / "
            f"(tp + fp); found ({numerator.name}) / ({denominator.name})."
        )

    return Metric(
        f"{_in_brackets(numerator)} / {_in_brackets(denominator)}",
        ratio=Ratio(over, under),
        direction="none",
        range=(-np.inf, np.inf),
        question="A quotient of counts.",
        shape="quotient",
    )


def _in_brackets(metric: Metric) -> str:
    """Write a metric so that it can stand beside a division sign."""
    return metric.name if metric.name.isidentifier() else f"({metric.name})"


def _real(value: float | Estimate | Metric, sign: str) -> float:
    if isinstance(value, Metric):
        raise InputError(
            f"Metrics can be added and scaled by numbers; a metric after {sign!r} is "
            f"not possible ({value.name}). Counts can be divided: tp / (tp + fp)."
        )
    return _options.real_number(value, f"the number after {sign!r}")


def classes_of(metric: Metric) -> tuple[bool, bool]:
    """Return whether a metric depends on the positives, and on the negatives."""
    # (table, cell): row 0 is a table without symmetry, with 24 cases; in row k + 1
    # cell k has twice the weight
    cells = np.array([7.0, 3.0, 4.0, 10.0]) * (1 + np.eye(5, 4, k=-1))
    # equal totals, so that a larger sample alone is no change
    cells *= 24 / cells.sum(axis=1, keepdims=True)
    original, *changed = np.asarray(metric(Confusion(*cells.T)), dtype=np.float64)

    # a cell that does not matter still changes how the others are rounded
    tp, fp, fn, tn = np.abs(np.array(changed) - original) > 1e-12 * abs(original)
    return bool(tp or fn), bool(fp or tn)


@lru_cache(maxsize=256)
def depends_on_prevalence(metric: Metric) -> bool:
    """Return whether the metric changes with the prevalence; rates do not."""
    # evaluated on one confusion matrix of irregular numbers at three prevalences
    confusion = Confusion(31.0, 17.0, 12.0, 53.0)
    values = [
        float(metric(confusion.at_prevalence(prevalence)))
        for prevalence in (0.13, 0.41, 0.77)
    ]
    return max(values) - min(values) > 1e-12 * max(map(abs, values))


def as_fraction(value: float) -> Fraction:
    """Return the number that a person meant: 0.1 is one tenth, not the float beside it.

    A simple fraction (denominator up to 1000) when the float is the nearest one to it,
    otherwise the shortest decimal that reads back as the same float.

    >>> as_fraction(0.1), as_fraction(1 / 3), as_fraction(0.12345)
    (Fraction(1, 10), Fraction(1, 3), Fraction(2469, 20000))
    """
    value = _options.real_number(value, "A number in a metric")
    simple = Fraction(value).limit_denominator(1000)
    if float(simple) == value:
        return simple
    return Fraction(repr(value))


def plus(a: float, b: float) -> float:
    """Add two numbers as they were typed: 0.1 + 0.2 is 0.3."""
    return _as_float(as_fraction(a) + as_fraction(b))


def times(a: float, b: float) -> float:
    """Multiply two numbers as they were typed: 3 * 0.1 is 0.3."""
    return _as_float(as_fraction(a) * as_fraction(b))


def _as_float(value: Fraction) -> float:
    """Return a fraction as a float; refuse one that is too large."""
    try:
        return float(value)
    except OverflowError:
        raise InputError(
            "The numbers in this formula exceed 1.8e308, the largest floating-point "
            "number. Choose smaller ones."
        ) from None


def _sum(terms: Terms, constant: float) -> Metric:
    """Return ``constant + sum(coefficient * part)``, with equal parts collected."""
    collected = _collect_parts(terms)
    return Metric(
        _write_sum(collected, constant),
        terms=collected,
        constant=constant,
        direction=_direction_of_sum(collected),
        range=_range_of_sum(collected, constant),
        reference="; ".join(part.reference for _, part in collected if part.reference),
        question="A weighted sum.",
    )


def _collect_parts(terms: Terms) -> Terms:
    """Return the terms with equal parts added up, and without those that cancel."""
    # parts of equal name are equal metrics
    parts = {part.name: part for _, part in terms}
    coefficients = dict.fromkeys(parts, 0.0)
    for coefficient, part in terms:
        coefficients[part.name] = plus(coefficients[part.name], coefficient)

    return tuple(
        (coefficient, parts[name])
        for name, coefficient in coefficients.items()
        if coefficient
    )


def _range_of_sum(terms: Terms, constant: float) -> tuple[float, float]:
    """Return the smallest and the largest value that the ranges of the parts allow."""
    low = high = constant
    for coefficient, part in terms:
        # a negative coefficient makes the upper end the lower one
        ends = [coefficient * end for end in part.range]
        low += min(ends)
        high += max(ends)
    return low, high


def _direction_of_sum(terms: Terms) -> Direction:
    """Return which way is better; no way, where the parts disagree."""
    signs = {"higher": 1, "lower": -1, "none": 0}
    directions = {
        np.sign(coefficient) * signs[part.direction] for coefficient, part in terms
    }
    if directions == {1}:
        return "higher"
    if directions == {-1}:
        return "lower"
    return "none"


def _write_sum(terms: Terms, constant: float) -> str:
    """Return the sum as a text that :func:`metric` reads, such as "recall - 2*fpr"."""
    text = ""
    for coefficient, part in terms:
        size = abs(coefficient)
        factor = "" if size == 1 else f"{write_number(size)}*"
        text = _append_term(text, f"{factor}{part.name}", negative=coefficient < 0)
    # a sum whose terms all cancelled is written as 0
    if constant or not text:
        text = _append_term(text, write_number(abs(constant)), negative=constant < 0)
    return text


def _append_term(text: str, term: str, *, negative: bool) -> str:
    """Write a term behind the others, or as the first one."""
    if not text:
        return f"-{term}" if negative else term
    return f"{text} - {term}" if negative else f"{text} + {term}"


def write_number(value: float) -> str:
    """Write a number so that reading it gives the same number."""
    short = f"{value:g}"
    return short if float(short) == value else repr(float(value))


@final
@dataclass(frozen=True, repr=False, eq=False)
class Constraint:
    """A constraint: a lower or an upper bound of a metric.

    Call it on a :class:`Confusion`: True where it holds. An undefined metric (NaN) does
    not meet any constraint.

    Attributes
    ----------
    metric, sign, bound : Metric, {">=", "<=", ">", "<"}, float
        The metric, the sign and the bound, as in ``recall >= 0.9``.
    """

    metric: Metric
    sign: Literal[">=", "<=", ">", "<"]
    bound: float

    def __call__(self, confusion: Confusion) -> Any:
        """Say where the constraint holds."""
        return self.decide(self.metric(confusion))

    @property
    def upward(self) -> bool:
        """Return whether the bound is one from below."""
        return self.sign in (">=", ">")

    @property
    def strict(self) -> bool:
        """Return whether the bound must be passed, not only reached."""
        return self.sign in (">", "<")

    def decide(self, values: ArrayLike) -> Any:
        """Say where values of the metric meet the bound."""
        return _SIGNS[self.sign](values, self.bound)

    def __repr__(self) -> str:
        """Return the text that :func:`constraint` reads."""
        return f"{self.metric.name} {self.sign} {write_number(self.bound)}"

    def __bool__(self) -> bool:
        """Refuse ``0.1 <= fpr <= 0.2``, of which Python would keep one half only."""
        raise InputError(
            f"'{self!r}' is a constraint, not a truth value. Write two bounds as two "
            "constraints.",
            example=PythonCode("[recall >= 0.8, recall <= 0.9]"),
        )


_MIRRORED = {">=": "<=", "<=": ">=", ">": "<", "<": ">"}
_SIGNS: dict[str, Callable[[Any, float], Any]]
_SIGNS = {">=": np.greater_equal, "<=": np.less_equal, ">": np.greater, "<": np.less}


def constraint_of(
    metric_or_number: Metric | float, sign: Any, right: Metric | float
) -> Constraint:
    """Return a constraint with a metric on the left side and a number on the right."""
    if not isinstance(metric_or_number, Metric):
        if not isinstance(right, Metric):
            raise InputError("A constraint needs a metric on one side.")
        return constraint_of(right, _MIRRORED[sign], metric_or_number)
    if isinstance(right, Metric):
        # constants of both metrics go to the bound
        difference = metric_or_number - right
        return Constraint(difference - difference.constant, sign, -difference.constant)

    bound = _options.real_number(right, f"the bound after {sign}")
    return Constraint(metric_or_number, sign, bound)


# digits to which sums that mix square roots with other terms are compared
DIGITS = 30


def in_fractions(metric: Metric, counts: tuple[Any, ...], unit: int) -> Array:
    """Return the values of a metric as fractions, without its constant.

    ``counts`` are tp, fp, fn and tn as whole numbers, ``unit`` times too large.
    """
    total = np.full(counts[0].shape, Fraction(0))
    for coefficient, part in metric.parts:
        weight = as_fraction(coefficient)
        if metric.is_root:
            # the square of the metric is compared, with the sign of the metric
            weight *= abs(weight)

        values = _quotients(part, counts, unit)
        if part.root and not metric.is_root:
            values = [_square_root(value) for value in values]
        total = total + weight * np.array(values, dtype=object)

    mixes_roots = any(part.root for _, part in metric.parts) and not metric.is_root
    if mixes_roots:
        # roots are no fractions: equal sums agree to this number of digits
        scale = 10**DIGITS
        total = np.array([Fraction(round(value * scale), scale) for value in total])

    return total


def _quotients(metric: Metric, counts: tuple[Any, ...], unit: int) -> list[Any]:
    """Return numerators over denominators as fractions; infinite where one is zero."""
    values: list[Any] = []
    numerators, denominators = quotient(metric, counts, unit)
    for numerator, denominator in zip(numerators, denominators, strict=True):
        if denominator:
            values.append(Fraction(numerator, denominator))
        else:
            # undefined at one of several prevalences: beyond every bound
            values.append(math.inf if numerator > 0 else -math.inf)

    return values


def quotient(metric: Metric, counts: tuple[Any, ...], unit: int) -> tuple[Any, Any]:
    """Return numerator and denominator of a metric that is not a sum."""
    if metric.ratio is None:
        assert metric.exact is not None  # noqa: S101 - is_exact was asked before
        return metric.exact(*counts)

    numerator, numerator_scale = _whole_sum(metric.ratio.over, counts)
    if metric.ratio.under is None:
        # a sum of counts is divided by the unit, in an array of the same shape
        return numerator, 0 * numerator + unit * numerator_scale

    denominator, denominator_scale = _whole_sum(metric.ratio.under, counts)
    # both as whole numbers: a / s over b / t is a t over b s
    return numerator * denominator_scale, denominator * numerator_scale


def _whole_sum(weights: Coefficients, counts: tuple[Any, ...]) -> tuple[Any, int]:
    """Return a weighted sum of counts as a whole number, and the scale it is on.

    The sum itself is the whole number divided by the scale.
    """
    fractions = [as_fraction(weight) for weight in weights]
    scale = math.lcm(*(fraction.denominator for fraction in fractions))
    # Python's whole numbers in an array, which do not overflow
    total = 0 * counts[0]
    for fraction, count in zip(fractions, counts, strict=True):
        if fraction:
            total = total + int(fraction * scale) * count
    return total, scale


def _square_root(value: Any) -> Fraction:
    """Return the square root with its sign, to ten digits more than are compared.

    The square of a fraction comes out exactly.
    """
    unit = 10 ** (DIGITS + 10)
    size = abs(value)
    # sqrt(a / b) = sqrt(a b) / b: only the root of a whole number is needed
    root = math.isqrt(size.numerator * size.denominator * unit * unit)
    return Fraction(root if value >= 0 else -root, size.denominator * unit)


def meets(constraint: Constraint, values: Array) -> Array:
    """Return at which entries of :func:`in_fractions` the constraint holds."""
    metric = constraint.metric
    bound: Any = as_fraction(constraint.bound) - as_fraction(metric.constant)
    if metric.is_root:
        # values of a root are squared, with sign, and so is their bound
        bound = bound * abs(bound)
    # a bound as a fraction: 0.1 is one tenth
    exact_constraint = replace(constraint, bound=bound)
    return np.asarray(exact_constraint.decide(values), dtype=bool)
