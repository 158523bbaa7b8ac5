"""Is this option or number one that can be meant?"""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Collection, Sequence
from contextlib import suppress
from functools import partial, wraps
from inspect import Parameter, Signature, signature
from pathlib import Path
from typing import Any, NamedTuple, ParamSpec, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from trueness._core.checks.columns import one_dimensional, probabilities
from trueness._core.checks.errors import InputError, PythonCode
from trueness._core.checks.words import described, listing, nearest, option_named
from trueness._core.synonyms import WORDS

Array = NDArray[Any]
P = ParamSpec("P")
R = TypeVar("R")


def choice(value: object, choices: Collection[str], argument: str) -> Any:
    """Return a choice, which must be one of the known names."""
    if isinstance(value, str) and value in choices:
        return value

    raise InputError(
        f"{argument} must be one of the known names; found "
        f"{described(value)}.{nearest(value, choices)}",
        option=option_named(argument),
        choices=choices,
    )


def known_options(
    passed: Collection[str],
    own_names: Collection[str],
    shared_names: Collection[str],
    analysis: str,
) -> None:
    """Refuse keywords that an analysis does not have, with the nearest one."""
    for name in passed:
        if name in own_names:
            continue

        for other in _OPTIONS_OF_OTHERS:
            if other.option in own_names and name in other.names:
                raise InputError(
                    f"{analysis} has no option {name!r}: {other.reason}.",
                    option=other.option,
                    example=other.example,
                )

        if analysis == "evaluate" and name in ("tp", "fp", "fn", "tn"):
            raise InputError(
                f"evaluate has no option {name!r}: the counts of a 2x2 table are one "
                "argument.",
                example=PythonCode(
                    "trueness.evaluate(trueness.Confusion(tp=80, fp=10, fn=20, tn=90))"
                ),
            )

        known_names = sorted({*own_names, *shared_names})
        raise InputError(
            f"{analysis} has no option {name!r}.{nearest(name, known_names)}",
            choices=() if nearest(name, known_names) else sorted(own_names),
        )


class _OptionOfOthers(NamedTuple):
    """An option of ours that others have under another name, with another value."""

    option: str
    names: tuple[str, ...]
    reason: str
    example: str


_OPTIONS_OF_OTHERS = (
    _OptionOfOthers(
        option="minimize",
        names=WORDS["minimize"],
        reason="costs are part of the objective",
        example="cost(fp=1, fn=20)",
    ),
    _OptionOfOthers(
        option="subject_to",
        names=("capacity", "budget", "top_k", "max_alerts", "max_flagged"),
        reason="a capacity is a constraint",
        example="flagged <= 100",
    ),
    _OptionOfOthers(
        option="subject_to",
        names=("min_recall", "min_sensitivity", "target_recall", "recall"),
        reason="the lowest recall is a constraint",
        example="recall >= 0.9",
    ),
    _OptionOfOthers(
        option="subject_to",
        names=("min_precision", "min_ppv", "target_precision", "precision"),
        reason="the lowest precision is a constraint",
        example="precision >= 0.5",
    ),
)


# what stands between the brackets of calls whose arguments are often typed wrongly
_EXAMPLES = {
    "at_horizon": "time, event, horizon=5",
    "at_prevalence": "map, 0.5, 0.01",
    "check": 'data, "auc >= 0.8"',
    "compare": "data, statistic=trueness.brier",
    "compare_groups": "data, statistic=trueness.brier",
    "cost": "fp=1, fn=5",
    "cost_rate": "fp=1, fn=5",
    "cross_validate": "model, X, y",
    "estimate": "data, statistic=trueness.brier",
    "leaves": "y_true, tree.apply(X)",
    "net_benefit": "odds=0.25)(data, threshold=0.2",
    "panel": 'frame, label="y", scores=["a", "b"]',
    "plan_auc": "auc=0.8, half_width=0.05",
    "plan_auc_difference": "first=0.85, second=0.8, power=0.8",
    "plan_rate": "recall=0.9, half_width=0.05",
    "tally": 'frame, label="y", score="p"',
    "watch": '"auc", at_least=0.8',
}


def explained(function: Callable[P, R]) -> Callable[P, R]:
    """Let a public function say in a sentence why it does not take a call."""

    @wraps(function)
    def call(*args: P.args, **options: P.kwargs) -> R:
        try:
            return function(*args, **options)
        except TypeError:
            takes_them(function, args, options)
            raise

    call.__module__ = "trueness"  # where it is found by this name, by pickle as well
    return call


def takes_them(
    function: Callable[..., Any], args: Collection[object], options: dict[str, Any]
) -> None:
    """Stop at a call with arguments that a function does not take."""
    function_signature = signature(function)
    kinds = [parameter.kind for parameter in function_signature.parameters.values()]
    if Parameter.VAR_KEYWORD not in kinds:
        known_options(options, function_signature.parameters, (), function.__name__)
    try:
        function_signature.bind(*args, **options)
    except TypeError:
        raise _wrong_call(
            function.__name__, function_signature, args, options
        ) from None


def _wrong_call(
    name: str,
    function_signature: Signature,
    args: Collection[object],
    options: Collection[str],
) -> InputError:
    """Return the error of a call that lacks an argument, or has one too many."""
    typed = _EXAMPLES.get(name)
    example = PythonCode(f"trueness.{name}({typed})") if typed else None
    by_name = [
        parameter.name
        for parameter in function_signature.parameters.values()
        if parameter.kind is Parameter.KEYWORD_ONLY
    ]
    most_by_place = len(function_signature.parameters) - len(by_name)
    lacking = _missing_arguments(function_signature, len(args), options)
    if lacking and len(args) <= most_by_place:
        return InputError(
            f"{name} needs the option {lacking[0]!r}.",
            option=None if example else lacking[0],
            example=example,
        )

    *_, superfluous = args
    return InputError(
        f"{name} takes its options by name; found {described(superfluous)} without "
        "one.",
        choices=() if example else by_name,
        example=example,
    )


def _missing_arguments(
    function_signature: Signature, positional: int, options: Collection[str]
) -> list[str]:
    """Return the arguments that a function needs and a call lacks."""
    names = [
        name
        for name, parameter in function_signature.parameters.items()
        if parameter.default is Parameter.empty
        and parameter.kind not in (Parameter.VAR_POSITIONAL, Parameter.VAR_KEYWORD)
        and name not in options
    ]
    by_place = [
        name
        for name, parameter in function_signature.parameters.items()
        if parameter.kind is not Parameter.KEYWORD_ONLY
    ]
    return [name for name in names if name not in by_place[:positional]]


def generator(rng: int | np.random.Generator | None) -> np.random.Generator:
    """Return a source of random numbers, or make the one that a seed means."""
    try:
        return np.random.default_rng(rng)
    except (TypeError, ValueError):
        raise InputError(
            "rng must be a seed (a whole number, 0 or more), a NumPy generator or "
            f"None; found {described(rng)}.",
            option="rng",
            example=0,
        ) from None


def fraction(value: object, argument: str, *, ends: str = "()") -> float:
    """Return a number between 0 and 1; ``ends`` says whether 0 and 1 are allowed."""
    number = real_number(value, argument)
    above = number >= 0 if ends[0] == "[" else number > 0
    below = number <= 1 if ends[1] == "]" else number < 1
    if not (above and below):
        example = None
        if 2 <= number < 100:
            # typed in per cent, such as 95; rounded, so that 0.95 is shown as such
            example = float(f"{number / 100:g}")
        raise InputError(
            f"{argument} must lie in {ends[0]}0, 1{ends[1]}; found {number:g}.",
            option=option_named(argument),
            example=example,
        )

    finest = _FINEST.get(argument, 0.0)
    if 0 < number < finest or 1 - finest < number < 1:
        raise InputError(
            f"{argument} must not be so close to 0 or 1, where rounding errors "
            f"dominate; found {number!r}.",
            option=option_named(argument),
            example=0.95 if argument == "level" else 0.01,
        )
    return number


# a quantile nearer to its end, and odds of fewer, are made of rounding errors
_FINEST = {"level": 1e-12, "prevalence": 1e-100}


def grid(
    values: ArrayLike, argument: str, *, below_one: bool = False
) -> NDArray[np.float64]:
    """Return places between 0 and 1 at which a curve is wanted."""
    places_at = np.atleast_1d(probabilities(values, argument))
    if not places_at.size:
        raise InputError(
            f"{argument} must be numbers from 0 to 1; found none.",
            option=option_named(argument),
        )
    if below_one and (places_at == 1).any():
        raise InputError(
            f"{argument} must lie in [0, 1); found 1.",
            option=option_named(argument),
        )
    return one_dimensional(places_at, argument)


def real_number(value: object, argument: str) -> float:
    """Return a number, which must be finite; of an estimate its value."""
    # an estimate is known by what it has: its class is checked by this module
    if all(hasattr(value, name) for name in ("value", "low", "high", "level")):
        value = getattr(value, "value")  # noqa: B009 - mypy knows an object only
    # NumPy takes a span of time for a whole number
    if isinstance(value, (int, float, np.integer, np.floating)) and not isinstance(
        value, (bool, np.timedelta64)
    ):
        try:
            number = float(value)
        except OverflowError:  # a whole number of Python beyond every float
            number = math.inf
        if math.isfinite(number):
            return number

    raise InputError(
        f"{argument} must be one finite number; found {described(value)}.",
        option=option_named(argument),
    )


def file_path(value: object, argument: str) -> Path:
    """Return the name of a file, checked."""
    if isinstance(value, (str, bytes, os.PathLike)):
        name = os.fsdecode(value)
        with suppress(UnicodeEncodeError):  # half of a pair of surrogates
            parts = os.fsencode(name).split(os.fsencode(os.sep))
            # bytes of a name in a folder, on all systems in use
            if name.strip() and "\0" not in name and max(map(len, parts)) <= 255:
                return Path(name)

    raise InputError(
        f"{argument} needs the name of a file; found {described(value)}.",
        option="path",
    )


def yes_or_no(value: object, argument: str) -> bool:
    """Return a switch, which must be on or off."""
    if isinstance(value, (bool, np.bool_)):
        return bool(value)
    raise InputError(
        f"{argument} must be True or False; found {described(value)}.",
        option=option_named(argument),
    )


def function(value: object, argument: str) -> Any:
    """Return a function, which must be callable."""
    if callable(value):
        return value
    raise InputError(
        f"{argument} needs a function; found {described(value)}.",
        option=option_named(argument),
    )


def statistic(value: object, argument: str) -> Any:
    """Return a statistic, which must be a function of counts."""
    if callable(value):
        _check_one_argument(value, argument)
        return value

    example = PythonCode("trueness.auc, trueness.brier, or a function of your own")
    if isinstance(value, str):
        example = PythonCode(f"trueness.{value}, without quotes")
    raise InputError(
        f"{argument} needs a function of one classifier; found {described(value)}.",
        example=example,
    )


def _check_one_argument(function: Any, argument: str) -> None:
    """Stop at a function of labels and scores, such as those of scikit-learn."""
    try:
        parameters = signature(function).parameters.values()
    except (TypeError, ValueError):  # of some built-in functions nothing is known
        return

    needed = [
        parameter.name
        for parameter in parameters
        if parameter.default is Parameter.empty
        and parameter.kind
        in (Parameter.POSITIONAL_ONLY, Parameter.POSITIONAL_OR_KEYWORD)
    ]
    if len(needed) > 1:
        raise InputError(
            f"{argument} needs a function of one argument, the counts; found a "
            f"function of {listing(needed)}.",
            example=PythonCode("trueness.auc, or lambda t: t.n_pos / t.n"),
        )


def array_of(f: Any, argument: Any, what: str) -> Any:
    """Return the values of a function of an array; say so if it cannot take one."""
    function(f, what)
    try:
        with np.errstate(all="ignore"):  # our own error says what is no number
            return np.asarray(f(argument))
    except (TypeError, AttributeError) as err:
        raise InputError(
            f"The function of {what} must accept an array of scores; it failed with "
            f"{type(err).__name__}: {err}."
        ) from err


def positive_number(value: object, argument: str, *, zero: bool = False) -> float:
    """Return a finite number, which must be above zero, or not below."""
    number = real_number(value, argument)
    if number > 0 or (zero and number == 0):
        return number

    allowed = "zero or more" if zero else "above zero"
    raise InputError(
        f"{argument} must be {allowed}; found {number:g}.",
        option=option_named(argument),
    )


not_negative = partial(positive_number, zero=True)


def share_range(value: object, argument: str) -> tuple[float, float]:
    """Return two proportions, the lower one first: 0 <= low < high <= 1."""
    several = isinstance(value, Sequence) or getattr(value, "ndim", 0) == 1
    pair = list(value) if several else []  # type: ignore[call-overload]
    if len(pair) != 2:
        raise InputError(
            f"{argument} must be two numbers between 0 and 1; found "
            f"{described(value)}.",
            option=option_named(argument),
            example=(0, 0.1),
        )

    low = fraction(pair[0], argument, ends="[]")
    high = fraction(pair[1], argument, ends="[]")
    if low >= high:
        raise InputError(
            f"{argument} must rise from its first to its second number; found "
            f"({low:g}, {high:g}).",
            option=option_named(argument),
        )
    return low, high


def whole_number(
    value: object, argument: str, *, at_least: int = 0, at_most: float = math.inf
) -> int:
    """Return a whole number, which must be large enough."""
    number = real_number(value, argument)
    largest = min(_LARGEST.get(argument, math.inf), at_most)
    if number.is_integer() and at_least <= number <= largest:
        return int(value)  # type: ignore[call-overload, no-any-return]

    allowed = f"{at_least} or more"
    if largest < math.inf:
        allowed += f", up to {largest:,}"
    raise InputError(
        f"{argument} must be a whole number, {allowed}; found {described(value)}.",
        option=option_named(argument),
    )


# what is repeated so often would never end, or not fit into any memory
_LARGEST = {
    "replicates": 10**7,
    "draws": 10**8,
    "bins": 10**7,
    "points": 10**7,
    "n": 2**53,  # the whole numbers of floating point end there
}


def alone(analysis: str, replaced_by: str, **others: object) -> None:
    """Stop when an argument is passed that the first one replaces."""
    passed = [name for name, value in others.items() if value is not None]
    if passed:
        raise InputError(
            f"{analysis} takes {replaced_by} or numbers, not both; found "
            f"{replaced_by} and {', '.join(passed)}. Leave one of them out.",
            option=passed[0],
        )


def part_of(y: int, n: int) -> None:
    """Stop when more cases are in a part than in the whole."""
    if y > n:
        raise InputError(
            f"y must not exceed n; found {y:,} of {n:,}. Are they swapped?",
            option="y",
        )


def options(passed: Collection[str], choices: Collection[str], analysis: str) -> None:
    """Stop at a keyword that the chosen method does not have."""
    for name in passed:
        if name not in choices:
            has = (
                f"its options are {listing(choices, 20)}" if choices else "it has none"
            )
            raise InputError(
                f"{analysis} has no option {name!r}; {has}.{nearest(name, choices)}",
                option=option_named(name),
            )


def class_sizes(n: float, n_pos: float) -> tuple[int, int]:
    """Return a number of cases and of positives among them, both classes present."""
    size = whole_number(n, "n", at_least=2)
    pos = whole_number(n_pos, "n_pos", at_least=1)
    if pos >= size:
        raise InputError(
            f"n_pos must be below n, which is {size:,}; found {pos:,}.",
            option="n_pos",
        )
    return size, pos
