"""What does this text ask for, and what is a metric called in a sentence?

Nothing is ever evaluated as Python:

    constraint  sum (">=" | "<=" | ">" | "<") sum
    sum         term (("+" | "-") term)*
    term        factor (("*" | "/") factor)*
    (a sum of counts may be divided by a sum of counts: tp / (tp + fp))
    factor      "-" factor | number | name | name "(" arguments ")" | "(" sum ")"
    arguments   [name "="] number, separated by commas
    number      digits, with "%" behind them for a hundredth: 90% is 0.9

A name may have several words, such as "true positive rate", where these are a metric.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterable
from dataclasses import replace
from decimal import Decimal
from typing import Any, NoReturn

from trueness._core.checks import options as _options
from trueness._core.checks.errors import InputError, PythonCode
from trueness._core.checks.words import described, is_several, nearest
from trueness._core.numbers import level_text
from trueness._core.synonyms import calls_for, nearest_call
from trueness.metrics.algebra import Constraint, Metric, constraint_of, count_weights
from trueness.metrics.definitions import (
    COUNTS,
    FAMILY_MEMBERS,
    METRIC_FAMILIES,
    METRICS,
    SYNONYMS,
)

_TOKEN = re.compile(
    r"\s*(?:(?P<number>(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?(?:\s*%)?)"
    r"|(?P<name>[fF]0?\.5\b|[lL][rR][+-](?=\s*(?:[<>=)]|\Z))|[A-Za-z_][A-Za-z_0-9]*)"
    r"|(?P<sign>>=|<=|>|<|[-+*/(),=])"
    r"|(?P<other>\S)|(?P<end>\Z))"
)
_COMPARISONS = (">=", "<=", ">", "<")
# deeper nesting is no expression a person wrote, and would exhaust the stack
_MAX_DEPTH = 50
_MAX_QUOTED = 300  # characters of an expression that are written out in a message


def metric(text: str | Metric) -> Metric:
    """The metric that a text means: a name, a sum, or a family with arguments.

    Examples
    --------
    >>> metric("0.7*accuracy + 0.3*sensitivity")
    0.7*accuracy + 0.3*recall
    """
    if isinstance(text, Metric):
        return text

    reader = _Reader(_text(text, "A metric"))
    value = reader.sum()
    if reader.here.text in _COMPARISONS:
        reader.fail("a metric was needed, and this is a constraint")
    reader.end()
    if not isinstance(value, Metric):
        raise InputError(
            f"Cannot read {text!r}: a metric was needed, and this is the number "
            f"{value:g}. Known metrics: {', '.join(known_names())}."
        )
    return value


def metric_of_option(text: str | Metric, option: str) -> Metric:
    """Return the metric that an option means; an error says which option it is."""
    try:
        return metric(text)
    except InputError as error:
        raise error.rephrased(option=option) from None


def metric_as_typed(passed: str | Metric) -> Metric:
    """Return the metric that is meant; it is shown by the name that was typed."""
    known_metric = metric(passed)
    if isinstance(passed, str) and passed.lower() in known_metric.aliases:
        return replace(known_metric, name=passed)
    return known_metric


def defined_metric(passed: str | Metric) -> Metric:
    """Return a metric under the name of its definition: ppv is precision."""
    known_metric = metric(passed)
    definition = METRICS.get(SYNONYMS.get(known_metric.name, ""))
    if definition is not None and definition.ratio == known_metric.ratio:
        return definition
    return known_metric


def constraint(text: str | Constraint) -> Constraint:
    """The constraint that a text such as ``"recall >= 0.9"`` means.

    Examples
    --------
    >>> constraint("0.1 > fpr")
    fpr < 0.1
    """
    if isinstance(text, Constraint):
        return text
    if isinstance(text, Metric):
        raise InputError(
            f"A constraint needs a bound, such as '{text!r} >= 0.9'; found the metric "
            f"{text!r} alone.",
            option="subject_to",
            example=f"{text!r} >= 0.9",
        )

    reader = _Reader(_text(text, "A constraint"))
    left_side = reader.sum()
    sign = reader.here.text
    if sign not in _COMPARISONS:
        reader.fail("'>=', '<=', '>' or '<' and a bound were needed")

    reader.step()
    right_side = reader.sum()
    if reader.here.text in _COMPARISONS:
        reader.fail("a constraint has one bound; write two constraints for two bounds")
    reader.end()
    if not isinstance(left_side, Metric) and not isinstance(right_side, Metric):
        raise InputError(f"Cannot read {text!r}: a constraint needs a metric.")

    result = constraint_of(left_side, sign, right_side)
    # 90% of a number of cases would be read as 0.9 cases
    left_text, right_text = text.split(sign)
    bound_text = right_text if isinstance(left_side, Metric) else left_text
    both_are_metrics = isinstance(left_side, Metric) and isinstance(right_side, Metric)
    if "%" in bound_text and not both_are_metrics:
        _check_percentage(result, text)
    return result


def _check_percentage(constraint: Constraint, text: str) -> None:
    """Stop at a percentage that bounds something other than a proportion."""
    if max(map(abs, constraint.metric.range)) <= 1:
        return
    raise InputError(
        f"Cannot read {text!r}: a percentage is a bound for a proportion, and "
        f"{constraint.metric!r} is not one. Write a plain number, or 'flagged_rate <= "
        "5%' for a proportion of all cases."
    )


def constraints(
    values: str | Constraint | Iterable[str | Constraint],
) -> tuple[Constraint, ...]:
    """Read one constraint or any number of them."""
    several = one_or_more(values, "subject_to", CONSTRAINTS, ["recall >= 0.9"])
    try:
        return tuple(map(constraint, several))
    except InputError as error:
        raise error.rephrased(option="subject_to") from None


CONSTRAINTS = "constraints"


def one_or_more(
    values: str | Constraint | Metric | Iterable[str | Constraint | Metric],
    option: str,
    needed: str,
    example: list[str],
) -> tuple[Any, ...]:
    """Return one metric or constraint, or several, as a tuple."""
    if isinstance(values, (str, Constraint, Metric)):
        return (values,)
    if is_several(values):
        return tuple(values)

    raise InputError(
        f"{option} must be {needed}; found {described(values)}.",
        option=option,
        example=example,
    )


# measures that have no value at a threshold
_OF_ALL_THRESHOLDS = ("auc", "roc_auc", "average_precision", "brier", "log_loss")


def known_names() -> list[str]:
    """Return every name that :func:`metric` understands, without synonyms."""
    families = [f"{family}{_signature(family)}" for family in METRIC_FAMILIES]
    return [*METRICS, *families, *COUNTS]


def _signature(family: str) -> str:
    """Write the arguments that a family needs, such as "(fp=, fn=)"."""
    return "(" + ", ".join(f"{name}=" for name in _needed_arguments(family)) + ")"


def _needed_arguments(family: str) -> list[str]:
    parameters = inspect.signature(METRIC_FAMILIES[family]).parameters
    return [
        name
        for name, parameter in parameters.items()
        if parameter.default is parameter.empty
    ]


def _text(value: str, expected: str) -> str:
    if isinstance(value, str) and value.strip():
        return value
    raise InputError(
        f"{expected} must be text such as 'f1' or 'recall >= 0.9'; "
        f"found {described(value)}."
    )


class _Token:
    """A number, a name, a sign or the end of an expression, and where it stands."""

    def __init__(self, match: re.Match[str]) -> None:
        self.kind = match.lastgroup or ""
        self.text = match[self.kind]
        self.position = match.start(self.kind)


class _Reader:
    """Reads an expression from left to right, one token ahead."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.depth = 0
        self.tokens = [_Token(match) for match in _TOKEN.finditer(text)]
        self.position = 0

    @property
    def here(self) -> _Token:
        """Return the next token; behind the last one it stays the end."""
        return self.tokens[min(self.position, len(self.tokens) - 1)]

    def step(self) -> _Token:
        """Move on to the next token, and return the one before it."""
        token = self.here
        self.position += 1
        return token

    def take(self, sign: str) -> bool:
        """Step over this sign if it is the next token; return whether it was."""
        if self.here.kind != "sign" or self.here.text != sign:
            return False
        self.step()
        return True

    def fail(self, reason: str, token: _Token | None = None) -> NoReturn:
        """Stop with the reason, and with the text marked at the token."""
        token = token or self.here
        is_short = len(self.text) <= _MAX_QUOTED
        expression = repr(self.text) if is_short else described(self.text)
        place = f"at {described(token.text)}" if token.text else "at the end"
        if not reason.endswith("?"):
            reason += "."

        message = (
            f"Cannot read {expression}, position {token.position + 1} ({place}): "
            f"{reason}"
        )
        # one line of text with a mark below the token
        if is_short and "\n" not in self.text:
            message += f"\n  {self.text}\n  {' ' * token.position}^"
        raise InputError(message, example=_call_instead(self.text))

    def end(self) -> None:
        """Stop unless everything was read."""
        if self.here.kind != "end":
            self.fail(
                "nothing more was expected here; write each constraint separately"
            )

    def sum(self) -> Any:
        """Read terms with plus and minus between them."""
        value = self.term()
        while self.here.text in ("+", "-"):
            sign = self.step().text
            next_term = self.term()
            value = value + next_term if sign == "+" else value - next_term
        return value

    def term(self) -> Any:
        """Read factors with signs of multiplication and division between them."""
        value = self.factor()
        while self.here.text in ("*", "/"):
            sign = self.step().text
            token = self.here
            next_factor = self.factor()
            self._check_product(value, sign, next_factor, token)
            value = value * next_factor if sign == "*" else value / next_factor

        return value

    def _check_product(
        self, left_factor: object, sign: str, right_factor: object, token: _Token
    ) -> None:
        """Stop at a product or a quotient that is no metric."""
        if not isinstance(right_factor, Metric):
            if sign == "/" and right_factor == 0:
                self.fail("division by zero", token)
            return
        if not isinstance(left_factor, Metric):
            if sign == "/":
                self.fail(
                    "a number cannot be divided by a metric: metrics are added, "
                    "and scaled by numbers only",
                    token,
                )
            return

        are_counts = None not in (
            count_weights(left_factor),
            count_weights(right_factor),
        )
        if sign == "*" or not are_counts:
            self.fail(
                "metrics can be added, and scaled by numbers only; sums of "
                "counts can be divided: tp / (tp + fp)",
                token,
            )

    def factor(self) -> Any:
        """Read a number, a metric, a sum in brackets, or a factor after a minus."""
        # the depth of recursion, as large as the number of open brackets and signs
        self.depth += 1
        if self.depth > _MAX_DEPTH:
            self.fail(f"more than {_MAX_DEPTH} nested brackets or signs")
        value = self._factor()
        self.depth -= 1
        return value

    def _factor(self) -> Any:
        """Read a number, a name, or a formula in brackets, each also with a minus."""
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
            return _read_number(token.text)
        if token.kind == "name":
            self.step()
            return self._read_name(token)

        self.fail("a metric or a number was needed")

    def _join_words(self, token: _Token) -> str:
        """Return a name, with the words behind it that make it one of a metric."""
        name_parts = [token.text]
        for next_token in self.tokens[self.position :]:
            if next_token.kind != "name":
                break
            name_parts.append(next_token.text)

        # the longest name counts
        for n_parts in range(len(name_parts), 1, -1):
            joined_name = "_".join(name_parts[:n_parts]).lower()
            if SYNONYMS.get(joined_name, joined_name) in METRICS:
                self.position += n_parts - 1
                return joined_name
        return token.text.lower()

    def _read_name(self, token: _Token) -> Metric:
        """Return the metric with the name that was read."""
        name = self._join_words(token)
        name = SYNONYMS.get(name, name)
        for known_metrics in (METRICS, COUNTS, FAMILY_MEMBERS):
            if name in known_metrics:
                return known_metrics[name]
        if name in _OF_ALL_THRESHOLDS:
            self.fail(
                f"{name} has no threshold; a metric at one threshold is needed, such "
                "as youden",
                token,
            )
        if name not in METRIC_FAMILIES:
            names = [*METRICS, *METRIC_FAMILIES, *COUNTS, *SYNONYMS]
            hint = nearest(name, names)
            advice = f".{hint}" if hint else f"; known are {', '.join(known_names())}"
            self.fail(f"no metric of that name{advice}", token)

        return self._family_member(name, token)

    def _family_member(self, family: str, token: _Token) -> Metric:
        """Read the arguments of a family of metrics: cost(fp=1, fn=10)."""
        usage = f"write {family}{_signature(family)} with numbers"
        if not self.take("("):
            self.fail(usage, token)

        parameters = inspect.signature(METRIC_FAMILIES[family]).parameters
        positional = iter(parameters)
        arguments: dict[str, float] = {}
        while not self.take(")"):
            if arguments and not self.take(","):
                self.fail(usage)

            if self.here.kind == "name":
                parameter = self.step().text.lower()
                # as in Python, no positional argument may follow a named one
                positional = iter(())
                if not self.take("="):
                    self.fail(usage)
            else:
                parameter = next(positional, "")

            value = self.sum()
            is_known = parameter in parameters and parameter not in arguments
            if isinstance(value, Metric) or not is_known:
                self.fail(usage)
            arguments[parameter] = value

        if not set(_needed_arguments(family)) <= set(arguments):
            self.fail(usage, token)
        return METRIC_FAMILIES[family](**arguments)


def _call_instead(text: str) -> PythonCode | None:
    """Return the call for a word of another field that is no metric at a threshold."""
    quantity = text.strip()
    is_name = re.fullmatch(r"[A-Za-z][\w '-]*", quantity) is not None
    if not is_name or quantity.lower() in known_names():
        return None
    call = nearest_call(quantity) or next(iter(calls_for(quantity)), None)
    return PythonCode(f"trueness.{call}") if call else None


def _read_number(text: str) -> float:
    """Read digits, with a percent sign or without: exact, so that 99.9% is 0.999."""
    digits, percent_sign, _ = text.partition("%")
    number = Decimal(digits.strip())
    if percent_sign:
        number /= 100
    return _options.real_number(float(number), f"the number {text}")


# by the coefficients of (tp, fp, fn, tn) under the line of a rate
_CASES_OF_RATES: dict[tuple[float, ...], tuple[str, str]] = {
    (1, 0, 1, 0): ("positive", "positives"),
    (0, 1, 0, 1): ("negative", "negatives"),
    (1, 1, 0, 0): ("flagged case", "flagged cases"),
    (0, 0, 1, 1): ("case not flagged", "cases not flagged"),
}


def text_of(name: str) -> str:
    """Write the name of a metric for a reader: recall (sensitivity)."""
    return METRICS[name].title if name in METRICS else name


def is_proportion(name: str) -> bool:
    """Return whether this metric is a proportion, which is written in percent."""
    return name in METRICS and METRICS[name].is_proportion


def cases_of(name: str) -> tuple[str, str]:
    """Return the cases of which this rate is a proportion, one of them and several."""
    ratio = METRICS[name].ratio if name in METRICS else None
    if ratio is None or ratio.under is None:
        return "case", "cases"
    return _CASES_OF_RATES.get(ratio.under, ("case", "cases"))


def constraint_text(constraint: str) -> str:
    """Write a constraint in words; one that is a sum of metrics stays as it is."""
    # a single metric with a plain bound; all others stay as they are
    match = re.fullmatch(r"(\w+) ([<>])=? ([\d.e+-]+)", constraint)
    if match is None or match[1] not in METRICS:
        return constraint

    name, sign, digits = match.groups()
    bound = float(digits)
    comparison = "at most" if sign == "<" else "at least"
    if name == "flagged":
        return f"{comparison} {bound:,.10g} flagged"

    # a bound was typed, so no digit is added to it
    bound_text = level_text(bound) if is_proportion(name) else f"{bound:g}"
    return f"{text_of(name)} {comparison} {bound_text}"
