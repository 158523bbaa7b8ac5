"""Is this a usable column, are columns of one length, which label is positive?"""

from __future__ import annotations

import math
import sys
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from decimal import Decimal
from numbers import Number
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from trueness._core.checks.errors import InputError, PythonCode
from trueness._core.checks.words import (
    described,
    is_one,
    listing,
    nearest,
    option_named,
    places,
    plain,
)
from trueness._core.data_types import Column, LabelValue

Array = NDArray[Any]


def column(name: str, columns: Sequence[str], argument: str) -> str:
    """Return the name of a column, which must be there exactly once."""
    times = list(columns).count(name) if is_one(name) else 0
    if times == 1:
        return name
    if times > 1:
        raise InputError(
            f"{argument} must name one column; there are {times} columns {name!r}. "
            "Rename them so that each has its own name.",
            option=option_named(argument),
        )

    raise InputError(
        f"{argument} must name a column; there is no column {described(name)}."
        f"{nearest(name, list(columns))}",
        option=option_named(argument),
        choices=columns,
    )


def there(name: str, columns: Iterable[str], option: str | None = None) -> str:
    """Return the name of a column, which must be there."""
    columns = list(columns)
    if name in columns:
        return name
    raise InputError(
        f"There is no column {described(name)}.{nearest(name, columns)}",
        option=option,
        choices=columns,
    )


def distinct_names(names: Sequence[str], argument: str = "scores") -> tuple[str, ...]:
    """Return names of classifiers, which must be text and differ."""
    if not isinstance(names, Iterable) or getattr(names, "ndim", 1) != 1:
        raise InputError(
            f"{argument} must have text as names; found {described(names)}.",
            option=option_named(argument),
        )

    not_text = [name for name in names if not isinstance(name, str)]
    if not_text:
        raise InputError(
            f"{argument} must have text as names; found {listing(not_text)}.",
            option=option_named(argument),
        )

    used_twice = sorted({name for name in names if list(names).count(name) > 1})
    if used_twice:
        raise InputError(
            f"{argument} must have different names; used twice: {listing(used_twice)}.",
            option=option_named(argument),
        )
    return tuple(names)


def as_array(values: ArrayLike | Column | None, argument: str) -> Array:
    """Turn values into an array; stop at lists of different lengths."""
    try:
        array = np.asarray(values)
    except ValueError:
        raise InputError(
            f"{argument} must have one value per case; found lists of different "
            "lengths. One flat list or array is needed.",
            option=option_named(argument),
        ) from None
    if array.dtype.kind == "V":
        raise InputError(
            f"{argument} must have one value per case; found records of several "
            "fields. Choose one of the fields.",
            option=option_named(argument),
        )
    return array


def one_dimensional(values: Array, argument: str) -> Array:
    """Return an array, which must have one axis."""
    if values.ndim == 1:
        return values

    example = None
    if values.ndim == 2 and values.shape[1] in (1, 2):
        example = PythonCode(f"{argument}[:, {values.shape[1] - 1}]")
    raise InputError(
        f"{argument} must be one-dimensional; found shape {values.shape}.",
        example=example,
        option=option_named(argument),
    )


def same_length(**arrays: Array) -> None:
    """Stop when arrays that describe the same cases differ in length."""
    lengths = {name: len(array) for name, array in arrays.items()}
    if len(set(lengths.values())) <= 1:
        return

    first = next(iter(lengths))
    others = [name for name in lengths if lengths[name] != lengths[first]]
    shown_names = [first, *others[:5]]
    shown = ", ".join(f"{name} has {lengths[name]:,}" for name in shown_names)
    if len(others) > 5:
        shown += f" and {len(others) - 5} more differ"
    raise InputError(
        f"All columns must have one entry per case; found {shown}. "
        f"Do they come from the same rows?"
    )


def numeric_scores(values: Array, argument: str) -> Array:
    """Return scores, which must be numbers: float32 and float64 as they are."""
    if values.dtype in (np.float32, np.float64):
        return values
    if values.dtype.kind in "iu":
        return _exact_floats(values, argument)
    if values.dtype.kind in "bf":
        return values.astype(np.float64)
    if values.dtype.kind == "O":
        return _numbers_from_objects(values, argument)

    kind = _KINDS.get(values.dtype.kind, "others")
    hint = "Convert the column to numbers first"
    if values.size and argument not in ("weight", "count"):
        hint += ", and check which column holds the labels"
    raise InputError(
        f"{argument} must be numbers; found {kind} such as {listing(values[:3])}. "
        f"{hint}.",
        option=option_named(argument),
    )


def _exact_floats(values: Array, argument: str) -> NDArray[np.float64]:
    """Return whole numbers as float64; stop where it cannot hold them."""
    floats = values.astype(np.float64)
    # float64 holds integers exactly up to 2**53 only: beyond it ties would appear
    with np.errstate(invalid="ignore"):  # 2**63 - 1 rounds to 2**63, which is none
        back = floats.astype(values.dtype)
    if values.size and not np.array_equal(back, values):
        raise InputError(
            _BEYOND.format(argument=argument), option=option_named(argument)
        )
    return floats


_KINDS = {"U": "text", "S": "text", "M": "dates", "m": "spans of time", "c": "complex"}
_BEYOND = (
    "{argument} must fit into float64; found integers beyond 2**53 that do not. "
    "Subtract a constant or use ranks."
)


def exact_extent(low: float, high: float, argument: str) -> None:
    """Stop at whole scores, from low to high, that float64 cannot tell apart."""
    if max(abs(low), abs(high)) >= 2.0**53:
        raise InputError(
            _BEYOND.format(argument=argument), option=option_named(argument)
        )


def still_apart(n_decimals: int, n_floats: int, argument: str) -> None:
    """Stop when different decimals became the same float64: ties would appear."""
    if n_floats < n_decimals:
        raise InputError(
            f"{argument} must fit into float64, which distinguishes {n_floats:,} of "
            f"the {n_decimals:,} different decimals. Round them to 15 digits, or use "
            "ranks.",
            option=option_named(argument),
        )


def _numbers_from_objects(values: Array, argument: str) -> Array:
    """Return the numbers in a column of objects, NaN where one is missing."""
    _stop_at_text(values, argument)
    is_there = ~missing(values)
    objects = values[is_there]
    numbers = np.full(values.size, np.nan)
    numbers[is_there] = _floats_of(objects, argument)

    exact_numbers = {entry for entry in objects if isinstance(entry, (Decimal, int))}
    still_apart(len(exact_numbers), len(set(map(float, exact_numbers))), argument)
    return numbers


def _floats_of(objects: Array, argument: str) -> list[float]:
    """Return objects as floats; stop at those that are no numbers."""
    try:
        # NumPy before 2.4 takes an array of one entry for a number
        if any(getattr(entry, "ndim", 0) for entry in objects):
            raise TypeError
        return [float(entry) for entry in objects]
    except (TypeError, ValueError):
        raise _not_numbers(objects, argument) from None
    except OverflowError:
        raise InputError(
            _BEYOND.format(argument=argument), option=option_named(argument)
        ) from None


def _not_numbers(objects: Array, argument: str) -> InputError:
    """Return the error of objects that are no numbers, with their types."""
    odd_objects = [entry for entry in objects if not hasattr(entry, "__float__")]
    if not odd_objects:
        # arrays, which look like numbers to Python
        odd_objects = list(objects)

    type_names = listing({type(entry).__name__ for entry in odd_objects})
    return InputError(
        f"{argument} must be numbers; found {type_names} such as "
        f"{described(odd_objects[0])}. Extract the number that you mean from each.",
        option=option_named(argument),
    )


def _stop_at_text(values: Array, argument: str) -> None:
    """Stop at text among objects; show the words that are not numbers first."""
    is_text = np.fromiter(
        (isinstance(entry, (str, bytes)) for entry in values), bool, values.size
    )
    if not is_text.any():
        return

    # one word makes a whole column text: the word is what must be found
    is_word = is_text.copy()
    for position in np.flatnonzero(is_text):
        with suppress(ValueError):
            float(values[position])
            is_word[position] = False

    to_show = is_text
    if is_word.any():
        to_show = is_word
    raise InputError(
        f"{argument} must be numbers; found text at {places(to_show)}, such as "
        f"{listing(values[to_show][:3])}. Convert the column to numbers first.",
        option=option_named(argument),
    )


def apart_from_label(names: Iterable[object], label: LabelValue) -> None:
    """Stop where a column is the label and is to be judged by the label, too."""
    # a column may have any object as its name, even one that compares like an array
    if isinstance(label, str) and label in [
        name for name in names if isinstance(name, str)
    ]:
        raise InputError(
            f"Column {label!r} is named both as the label and as a score. Name "
            "another column for one of them.",
            option="score",
        )


def finite_scores(
    values: Array, argument: str, *, allow_nan: bool = False, cases: Array | None = None
) -> Array:
    """Return scores without NaN or infinity; each stands for one case or ``cases``."""
    bad = ~np.isfinite(values)
    if allow_nan:
        bad = np.isinf(values)

    if bad.any():
        only_infinite = not np.isnan(values[bad]).any()
        raise not_finite(argument, _where(bad, cases), only_infinite=only_infinite)
    return values


def _where(bad: Array, cases: Array | None) -> str:
    """Say at which positions rows are bad, or in how many cases of counted rows."""
    if cases is None:
        return f"at {places(bad)}"
    return f"in {int(cases[bad].sum()):,} of {int(cases.sum()):,} cases"


def not_finite(argument: str, where: str, *, only_infinite: bool) -> InputError:
    """Return the error that says where scores are missing or infinite."""
    if only_infinite:
        return InputError(
            f"{argument} must be finite; found infinite scores {where}. Replace each "
            "by a number beyond all other scores.",
            option="missing_scores",
        )

    return InputError(
        f"{argument} must be finite; found NaN, missing or infinite {where}. Give "
        "these cases a score, or leave them out.",
        option="missing_scores",
        example="drop",
    )


def named_groups(
    groups: Array, cases: Array | None = None, argument: str = "by"
) -> None:
    """Stop when a case has no group."""
    has_no_group = missing(groups)
    if has_no_group.any():
        raise InputError(
            f"{argument} must name a group for every case; missing "
            f"{_where(has_no_group, cases)}. Give these cases a group name of their "
            "own.",
            option=option_named(argument),
        )


def group_members(groups: Array, argument: str = "by") -> tuple[Array, Array]:
    """Return the groups in their order, and the number of each case's group."""
    named_groups(groups, argument=argument)
    try:
        names, member = np.unique(groups, return_inverse=True)
    except TypeError:
        type_names = listing(dict.fromkeys(type(group).__name__ for group in groups))
        raise InputError(
            f"{argument} must name groups that can be sorted; found values of the "
            f"types {type_names}. Turn all of them into text.",
            option=option_named(argument),
        ) from None

    return names, member


def missing(values: Array) -> NDArray[np.bool_]:
    """Return which entries are missing (None, NaN, NaT, pandas.NA)."""
    kind = values.dtype.kind
    if kind == "f":
        return np.isnan(values)
    if kind in "mM":
        return np.isnat(values)
    if kind != "O":
        return np.zeros(values.size, dtype=bool)
    # most objects are text, which is never missing
    flags = (type(value) is not str and _is_missing(value) for value in values)
    return np.fromiter(flags, bool, values.size)


def _is_missing(value: object) -> bool:
    """Return whether this is a missing value of Python, NumPy or pandas."""
    # where pandas was not imported, nothing is a missing value of its kind
    pandas = sys.modules.get("pandas")
    missing_values = (None, getattr(pandas, "NA", None), getattr(pandas, "NaT", None))
    if any(value is missing_value for missing_value in missing_values):
        return True
    if isinstance(value, (np.datetime64, np.timedelta64)):
        return bool(np.isnat(value))
    return bool(isinstance(value, (float, np.floating)) and math.isnan(value))


def whole_counts(values: Array, argument: str) -> NDArray[np.int64]:
    """Return counts, which must be whole numbers, zero or more."""
    if values.dtype.kind not in "iuf":
        raise InputError(
            f"{argument} must be whole numbers; found {values.dtype}.",
            option=option_named(argument),
        )

    if values.dtype.kind == "f" and not np.isfinite(values).all():
        bad = ~np.isfinite(values)
    else:
        # from 2^63 on, a count does not fit into int64
        bad = (values < 0) | (values != np.floor(values)) | (values >= 2.0**63)
    if bad.any():
        raise InputError(
            f"{argument} must be whole numbers, zero or more; found "
            f"{listing(values[bad])} at {places(bad)}. Weights are not counts; the "
            "option weight is for them.",
            option=option_named(argument),
        )

    check_total_fits(float(values.sum(dtype=np.float64)))
    return values.astype(np.int64)


# beyond, a fourth power would leave the range of float64
_WEIGHT_RANGE = (1e-60, 1e60)


def weights(values: Array, argument: str = "weight") -> Array:
    """Return weights, which must be finite numbers, zero or more.

    Whole numbers that a float64 holds stay as they are: a copy of ten million costs a
    third of what it takes to count them.
    """
    numbers = values
    if values.dtype.kind not in "iu":
        numbers = numeric_scores(values, argument)
    elif values.max(initial=0) > 2**53:  # rounded: no two of them need to stay apart
        numbers = values.astype(np.float64)
    if not numbers.size:
        return numbers

    # two passes without a temporary array; both comparisons fail for NaN
    largest = numbers.max()
    if not (numbers.min() >= 0 and largest < np.inf):
        bad = ~((numbers >= 0) & (numbers < np.inf))
        raise InputError(
            f"{argument} must be finite numbers, zero or more; found "
            f"{listing(numbers[bad])} at {places(bad)}. A case that should not count "
            f"has weight 0.",
            option=option_named(argument),
        )

    weighable(float(largest), argument)
    return numbers


def weighable(largest: float, argument: str = "weight") -> None:
    """Stop at weights whose fourth powers no float holds."""
    low, high = _WEIGHT_RANGE
    if largest and not low <= largest <= high:
        raise InputError(
            f"The largest {argument} must lie between {low:g} and {high:g}; found "
            f"{largest:g}. Divide all weights by the same number: estimates depend "
            "only on their ratios.",
            option=option_named(argument),
        )


def check_total_fits(total: float) -> None:
    """Stop at more cases than 64 bits can count."""
    if total >= 2.0**63:
        raise InputError(
            "count is too large: the cases do not fit into 64 bits.", option="count"
        )


def counted_rows(name: str, wrong: int, rows: int, total: float) -> None:
    """Refuse counts that are not whole numbers, or do not fit into 64 bits."""
    if wrong:
        raise InputError(
            f"The counts in column {name!r} must be whole numbers, zero or more; in "
            f"{wrong:,} of {rows:,} rows they are not. Weights are not counts; the "
            "option weight is for them.",
            option="count",
        )

    check_total_fits(total)


def weighed_rows(name: str, fine: bool) -> None:
    """Refuse weights that are negative, missing or infinite."""
    if not fine:
        raise InputError(
            f"The weights in column {name!r} must be finite numbers, zero or more; "
            "some are missing, negative or infinite. A case that should not count has "
            "weight 0.",
            option="weight",
        )


def mapping_of_scores(scores: object) -> Mapping[str, Any]:
    """Return named score columns, checked."""
    if isinstance(scores, Mapping) and scores:
        distinct_names(list(scores))
        return scores

    raise InputError(
        "The scores of a panel must be a mapping from name to column with at least "
        f"one entry; found {type(scores).__name__}.",
        example=PythonCode('trueness.panel(y_true, {"a": a, "b": b})'),
    )


def as_floats(values: ArrayLike | Column | None, argument: str) -> NDArray[np.float64]:
    """Return numbers in any shape, as float64."""
    try:
        array = np.asarray(values)
        if array.dtype.kind == "c":  # NumPy would drop the imaginary part
            raise TypeError
        return array.astype(np.float64, copy=False)
    except (TypeError, ValueError, OverflowError):
        raise InputError(
            f"{argument} must be numbers; found {described(values)}.",
            option=option_named(argument),
        ) from None


def probabilities(values: ArrayLike, argument: str) -> NDArray[np.float64]:
    """Return numbers, which must be between 0 and 1, in any shape."""
    numbers = as_floats(values, argument)
    bad = ~((numbers >= 0) & (numbers <= 1))
    if bad.any():
        outside = listing(np.atleast_1d(numbers)[np.atleast_1d(bad)])
        raise InputError(
            f"{argument} must lie in [0, 1]; found {outside} at {places(bad)}. Divide "
            "percentages by 100.",
            option=option_named(argument),
        )
    return numbers


def shares(values: ArrayLike, argument: str) -> NDArray[np.float64]:
    """Return probabilities, which must sum to one, divided by their sum."""
    proportions = one_dimensional(
        np.atleast_1d(probabilities(values, argument)), argument
    )
    total = float(proportions.sum())
    # wide enough for shares typed with nine digits, too narrow for a forgotten leaf
    if abs(total - 1) <= 1e-8:
        return proportions / total

    raise InputError(
        f"{argument} must sum to 1; found a sum of {total:g} over {proportions.size} "
        "entries. Divide the sizes of the leaves by their sum.",
        option=option_named(argument),
        example=PythonCode(f"{argument} / {argument}.sum()"),
    )


def unit_scores(
    values: Array, argument: str, instead: str, example: object = None
) -> Array:
    """Return scores, which must be readable as probabilities."""
    if values.size and values.min() >= 0 and values.max() <= 1:
        return values

    bad = (values < 0) | (values > 1)
    if bad.any():
        raise InputError(
            f"{argument} needs scores from 0 to 1; found {listing(values[bad])} at "
            f"{places(bad)}. {instead}",
            example=example,
        )
    return values


def hashable(values: Array, argument: str) -> list[Any]:
    """Return labels that can be told apart; refuse lists and the like."""
    containers = [
        value for value in values if isinstance(value, (list, dict, set, np.ndarray))
    ]
    if containers:
        raise InputError(
            f"{argument} must hold one label per case, a number, text or a truth "
            f"value; found {type(containers[0]).__name__} such as "
            f"{listing(containers[:1])}. Extract the label that you mean from each.",
            option=option_named(argument),
        )

    try:
        return list(dict.fromkeys(values.tolist()))
    except TypeError as err:
        raise InputError(
            f"{argument} must hold labels that can be compared with each other; {err}.",
            option=option_named(argument),
        ) from None


def label_pair(
    distinct: Sequence[Any], positive: LabelValue, argument: str
) -> tuple[Any, Any]:
    """Return the negative and the positive of the distinct labels; None: absent."""
    if positive is None:
        return _known_pair(distinct, argument)
    if not is_one(positive) or _is_missing(positive):
        raise InputError(
            f"positive must be one label value; found {described(positive)}. "
            f"{argument} holds {listing(distinct) or 'no labels'}.",
            option="positive",
        )

    # 1 == True is right (0/1 and bool are the same labels), 1 == "1" is not
    others = [label for label in distinct if not bool(label == positive)]
    if len(others) > 1:
        is_absent = len(others) == len(distinct)
        raise _not_two_labels(distinct, positive, is_absent, argument)
    if not others:
        return None, positive
    return others[0], positive


def _known_pair(distinct: Sequence[Any], argument: str) -> tuple[Any, Any]:
    """Return the pair of labels that is understood without a word: 0/1 or -1/1."""
    if all(isinstance(label, (Number, np.generic)) for label in distinct):
        for negative in (0, -1):
            if set(distinct) <= {negative, 1}:
                return negative, 1

    if len(distinct) > 2:
        raise _too_many_labels(distinct, argument)

    raise InputError(
        f"{argument} holds {listing(distinct)}: choose which one counts as positive. "
        "(0/1, False/True, -1/1 and pairs such as yes/no are understood without it.)",
        option="positive",
        choices=map(plain, distinct),
    )


def _not_two_labels(
    distinct: Sequence[Any], positive: LabelValue, is_absent: bool, argument: str
) -> InputError:
    """Return the error of several labels beside the positive one, or in its place."""
    hint = nearest(positive, [label for label in distinct if isinstance(label, str)])
    written_the_same = [
        plain(label) for label in distinct if str(plain(label)) == str(plain(positive))
    ]
    example = None
    if written_the_same and is_absent:
        # 1 and "1" are different labels
        hint = " Is it a number that was turned into text, or the other way round?"
        example = written_the_same[0]

    return InputError(
        f"{argument} must have two values, the positive {described(positive)} and one "
        f"other; found {listing(distinct)}.{hint}",
        option="positive",
        example=example,
    )


def _too_many_labels(distinct: Sequence[Any], argument: str) -> InputError:
    """Return the error of labels with more than two values."""
    message = (
        f"{argument} must have two values; found {len(distinct)}: {listing(distinct)}."
    )
    floats = [label for label in distinct if isinstance(label, (float, np.floating))]
    if not all(number.is_integer() for number in floats):
        return InputError(
            f"{message} These look like scores: are the labels and the scores swapped?",
            example=PythonCode("trueness.tally(y_true, y_score)"),
        )

    return InputError(
        f"{message} Is one of them misspelt, or a missing label? For one class against "
        f"the rest make labels that are 1 for it and 0 for the others.",
        example=PythonCode("trueness.one_vs_rest(y_true, scores)"),
    )
