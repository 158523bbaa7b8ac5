"""What does this text ask for, and what is a metric called in a sentence?

Nothing is ever evaluated as Python:

    constraint  sum (">=" | "<=" | ">" | "<") sum
    sum         term (("+" | "-") term)*
    term        factor (("*" | "/") factor)*
    (a sum of counts may be divided by a sum of counts: tp / (tp + fp))
    factor      "-" factor | number | name | name "(" arguments ")" | "(" sum ")"
    arguments   [name "="] number, separated by commas
    number      digits, with "%" behind them for a hundredth: 90% is 0.9
"""

from __future__ import annotations

import inspect
import re
from decimal import Decimal
from typing import Any, NoReturn

from trueness._core.checks import options as _options
from trueness._core.checks.errors import InputError
from trueness._core.checks.words import described, is_several, nearest
from trueness._core.numbers import percent
from trueness.metrics.algebra import Constraint, Metric, constraint_of, weights_of
from trueness.metrics.definitions import (
    COUNTS,
    FAMILY_MEMBERS,
    METRIC_FAMILIES,
    METRICS,
    SYNONYMS,
)

_TOKEN = re.compile(
    r"\s*(?:(?P<number>(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?(?:\s*%)?)"
    r"|(?P<name>[fF]0?\.5\b|[A-Za-z_][A-Za-z_0-9]*)"
    r"|(?P<sign>>=|<=|>|<|[-+*/(),=])"
    r"|(?P<other>\S)|(?P<end>\Z))"
)
_COMPARE = (">=", "<=", ">", "<")
# deeper nesting is no expression a person wrote, and would exhaust the stack
_DEEPEST = 50
_WIDE = 300  # characters of an expression that are written out in a message


def metric(text: str | Metric) -> Metric:
    """Which metric does this text mean: a name, a sum, a family with arguments?

    Examples
    --------
    >>> metric("0.7*accuracy + 0.3*sensitivity")
    0.7*accuracy + 0.3*recall
    """
    if isinstance(text, Metric):
        return text
    reader = _Reader(_text(text, "A metric"))
    value = reader.sum()
    if reader.here.text in _COMPARE:
        reader.fail("a metric was needed, and this is a constraint")
    reader.end()
    if not isinstance(value, Metric):
        raise InputError(
            f"Cannot read {text!r}: a metric was needed, and this is the number "
            f"{value:g}. Known metrics: {', '.join(known_names())}."
        )
    return value


def constraint(text: str | Constraint) -> Constraint:
    """Which constraint does this text mean?

    Examples
    --------
    >>> constraint("0.1 > fpr")
    fpr < 0.1
    """
    if isinstance(text, Constraint):
        return text
    if isinstance(text, Metric):
        raise InputError(
            f"A constraint needs a bound; found the metric {text!r} alone. "
            f'Type "{text!r} >= 0.9".'
        )
    reader = _Reader(_text(text, "A constraint"))
    left = reader.sum()
    sign = reader.here
    if sign.text not in _COMPARE:
        reader.fail("'>=', '<=', '>' or '<' and a bound were needed")
    reader.step()
    right = reader.sum()
    if reader.here.text in _COMPARE:
        reader.fail("a constraint has one bound; write two constraints for two bounds")
    reader.end()
    if not isinstance(left, Metric) and not isinstance(right, Metric):
        raise InputError(f"Cannot read {text!r}: a constraint needs a metric.")
    sides = zip((left, right), text.split(sign.text), strict=True)
    in_percent = any("%" in s and not isinstance(v, Metric) for v, s in sides)
    found = constraint_of(left, sign.text, right)
    if in_percent and max(map(abs, found.metric.range)) > 1:
        raise InputError(
            f"Cannot read {text!r}: a percentage is a bound for a share, and "
            f"{found.metric!r} is not one. Type a plain number, or "
            "'flagged_rate <= 5%' for a share of all cases."
        )
    return found


def constraints(given: object) -> tuple[Constraint, ...]:
    """Read one constraint or any number of them."""
    several = one_or_more(given, BOUNDS, '["recall >= 0.9"]')
    return tuple(map(constraint, several))


BOUNDS = "subject_to must be constraints"


def one_or_more(given: object, needed: str, example: str) -> tuple[Any, ...]:
    """Take one metric or constraint, or any number of them, as several."""
    if isinstance(given, (str, Constraint, Metric)):
        return (given,)
    if is_several(given):
        return tuple(given)
    raise InputError(
        f"{needed}; found {described(given)}. Type {needed.split()[0]}={example}."
    )


# measures that have no value at a threshold
_OF_ALL_THRESHOLDS = ("auc", "roc_auc", "average_precision", "brier", "log_loss")


def known_names() -> list[str]:
    """Give every name that :func:`metric` understands, without synonyms."""
    families = [f"{k}{_signature(k)}" for k in METRIC_FAMILIES]
    return [*METRICS, *families, *COUNTS]


def _signature(family: str) -> str:
    """Write what must be given; what may be (tp=, tn=, defer=) is in the docs."""
    names = inspect.signature(METRIC_FAMILIES[family]).parameters.values()
    return "(" + ", ".join(f"{p.name}=" for p in names if p.default is p.empty) + ")"


def _text(value: object, what: str) -> str:
    if isinstance(value, str) and value.strip():
        return value
    raise InputError(
        f"{what} must be text such as 'f1' or 'recall >= 0.9'; "
        f"found {described(value)}."
    )


class _Token:
    def __init__(self, found: re.Match[str]) -> None:
        self.kind = found.lastgroup or ""
        self.text, self.at = found[self.kind], found.start(self.kind)


class _Reader:
    """Reads an expression from left to right, one token ahead."""

    def __init__(self, text: str) -> None:
        self.text, self.depth = text, 0
        self.tokens = map(_Token, _TOKEN.finditer(text))
        self.here = next(self.tokens)

    def step(self) -> _Token:
        token, self.here = self.here, next(self.tokens, self.here)
        return token

    def take(self, text: str) -> bool:
        found = self.here.kind == "sign" and self.here.text == text
        if found:
            self.step()
        return found

    def fail(self, reason: str, token: _Token | None = None) -> NoReturn:
        token = token or self.here
        found = f"at {described(token.text)}" if token.text else "at the end"
        short = len(self.text) <= _WIDE
        whole = repr(self.text) if short else described(self.text)
        reason += "" if reason.endswith("?") else "."
        # the place is shown under the text, where a line can hold it
        shown = short and "\n" not in self.text
        place = f"\n  {self.text}\n  {' ' * token.at}^" if shown else ""
        raise InputError(
            f"Cannot read {whole}, position {token.at + 1} ({found}): {reason}{place}"
        )

    def end(self) -> None:
        if self.here.kind != "end":
            self.fail("nothing more was expected here; give each constraint by itself")

    def sum(self) -> Any:
        value = self.term()
        while self.here.text in ("+", "-"):
            sign = self.step()
            other = self.term()
            value = value + other if sign.text == "+" else value - other
        return value

    def term(self) -> Any:
        value = self.factor()
        while self.here.text in ("*", "/"):
            sign = self.step()
            token = self.here
            other = self.factor()
            if isinstance(other, Metric) and isinstance(value, Metric):
                if sign.text == "*" or None in (weights_of(value), weights_of(other)):
                    self.fail(
                        "metrics can be added, and scaled by numbers only; sums of "
                        "counts can be divided: tp / (tp + fp)",
                        token,
                    )
            elif isinstance(other, Metric) and sign.text == "/":
                self.fail(
                    "a number cannot be divided by a metric: metrics are added, "
                    "and scaled by numbers only",
                    token,
                )
            elif sign.text == "/" and other == 0:
                self.fail("division by zero", token)
            value = value * other if sign.text == "*" else value / other
        return value

    def factor(self) -> Any:
        self.depth += 1
        if self.depth > _DEEPEST:
            self.fail(f"more than {_DEEPEST} levels of brackets or signs")
        value = self._factor()
        self.depth -= 1
        return value

    def _factor(self) -> Any:
        if self.take("-"):
            return -self.factor()
        if self.take("("):
            value = self.sum()
            if not self.take(")"):
                self.fail("')' was needed")
            return value
        token = self.here
        if token.kind == "number":
            self.step()
            digits, percent_sign, _ = token.text.partition("%")
            # exact, so that 99.9% is the number 0.999
            number = Decimal(digits.strip()) / (100 if percent_sign else 1)
            return _options.real_number(float(number), f"the number {token.text}")
        if token.kind == "name":
            self.step()
            return self._named(token)
        self.fail("a metric or a number was needed")

    def _named(self, token: _Token) -> Metric:
        name = token.text.lower()
        name = SYNONYMS.get(name, name)
        for known_metrics in (METRICS, COUNTS, FAMILY_MEMBERS):
            if name in known_metrics:
                return known_metrics[name]
        if name in _OF_ALL_THRESHOLDS:
            self.fail("this needs a metric at one threshold, such as youden", token)
        if name not in METRIC_FAMILIES:
            known = [*METRICS, *METRIC_FAMILIES, *COUNTS, *SYNONYMS]
            hint = nearest(name, known)
            listed = f"; known are {', '.join(known_names())}"
            self.fail(f"no metric of that name{f'.{hint}' if hint else listed}", token)
        return self._family(name, token)

    def _family(self, name: str, token: _Token) -> Metric:
        usage = f"write {name}{_signature(name)} with numbers"
        if not self.take("("):
            self.fail(usage, token)
        parameters = inspect.signature(METRIC_FAMILIES[name]).parameters
        places, named = iter(parameters), dict[str, float]()
        by_place = True
        while not self.take(")"):
            if named and not self.take(","):
                self.fail(usage)
            if self.here.kind == "name":
                key, by_place = self.step().text.lower(), False
                if not self.take("="):
                    self.fail(usage)
            else:
                key = next(places, "") if by_place else ""
            value = self.sum()
            if isinstance(value, Metric) or key in named or key not in parameters:
                self.fail(usage)
            named[key] = value
        if not {k for k, p in parameters.items() if p.default is p.empty} <= set(named):
            self.fail(usage, token)
        return METRIC_FAMILIES[name](**named)


# by the coefficients of (tp, fp, fn, tn) under the line of a rate
_CASES: dict[tuple[float, ...], tuple[str, str]] = {
    (1, 0, 1, 0): ("positive", "positives"),
    (0, 1, 0, 1): ("negative", "negatives"),
    (1, 1, 0, 0): ("flagged case", "flagged cases"),
    (0, 0, 1, 1): ("case not flagged", "cases not flagged"),
}


def text_of(name: str) -> str:
    """Write the name of a metric for a reader: recall (sensitivity)."""
    return METRICS[name].title if name in METRICS else name


def is_share(name: str) -> bool:
    """Is this metric a share, which is written in percent?"""
    return name in METRICS and METRICS[name].is_share


def cases_of(name: str) -> tuple[str, str]:
    """Of which cases is this rate a share, one of them and several?"""
    ratio = METRICS[name].ratio if name in METRICS else None
    under = None if ratio is None else ratio.under
    return ("case", "cases") if under is None else _CASES.get(under, ("case", "cases"))


def constraint_text(constraint: str) -> str:
    """Write a constraint in words; one that is a sum of metrics stays as it is."""
    found = re.fullmatch(r"(\w+) ([<>])=? ([\d.e+-]+)", constraint)
    if found is None or found[1] not in METRICS:
        return constraint
    word = "at most" if found[2] == "<" else "at least"
    number = float(found[3])
    if found[1] == "flagged":
        return f"{word} {number:,.10g} flagged"
    text = percent(number) if is_share(found[1]) else f"{number:g}"
    return f"{text_of(found[1])} {word} {text}"
