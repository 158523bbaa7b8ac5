"""What does a fitted map compute, how is it saved, and moved to other prevalences?

The ``expression`` of a map is data, so that NumPy and a query engine compute the same;
maps of whole rows write their own ``__call__``. Reading a file runs no code but
constructors of registered kinds, which check fields.
"""

from __future__ import annotations

import json
import math
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any, TypeVar, dataclass_transform

import numpy as np
from numpy.typing import ArrayLike

from trueness._core import special
from trueness._core.arrays import Floats, blocks
from trueness._core.checks import options as _options
from trueness._core.checks.errors import InputError, PythonCode
from trueness._core.checks.words import listing, nearest, plain
from trueness._core.files import as_written, replacing
from trueness._core.imports import HigherFunction
from trueness._core.records import Record
from trueness.counts.expected_labels import Reference

# What a map computes, as data: steps that follow one another. A step is its kind and
# its numbers:
#   ("logistic", intercept, terms, low, high)  of the score clipped to [low, high]:
#       expit(intercept + sum of coefficient * TRANSFORMS[name] over the terms)
#   ("table", edges, values)  values[number of edges <= score], one more than edges
#   ("lines", x, y)  straight between points, x ascending, constant beyond the ends
#   ("prior", pos, neg)  another prevalence by Bayes' rule: p pos / (p pos + (1-p) neg)
Formula = tuple[tuple[Any, ...], ...]

# functions of one score that a logistic step may hold; all of them exist in SQL
TRANSFORMS: dict[str, Callable[[Floats], Floats]] = {
    "identity": lambda s: s,
    "square": lambda s: s * s,
    "log": np.log,
    "log1m": lambda s: np.log1p(-s),
    "logit": lambda s: np.log(s) - np.log1p(-s),
}
# which of them rise; a square does neither
_RISING = {"identity": 1, "log": 1, "log1m": -1, "logit": 1}

IMPORT_ALL: HigherFunction[Callable[[], None]] = HigherFunction("_import_all")


def direction(formula: Formula) -> int | None:
    """Return 1 if a formula never falls, -1 if it never rises, None if unknown."""
    total = 1
    for step in formula:
        step_direction = _direction_of_step(step)
        if step_direction is None:
            return None
        total *= step_direction
    return total


def _direction_of_step(step: tuple[Any, ...]) -> int | None:
    """Return 1 if a step never falls, -1 if it never rises, None if it may do both."""
    # 1 rises, -1 falls, 0 is flat, None does both
    signs: set[float | None] = set()
    match step:
        case ("logistic", _, terms, *_):
            for coefficient, name in terms:
                if name in _RISING:
                    signs.add(_RISING[name] * np.sign(coefficient))
                else:
                    signs.add(None)
        case ("table" | "lines", _, values):
            signs = set(np.sign(np.diff(values)).tolist())
        case (_, *factors):  # another prevalence
            signs = {1 if min(factors) >= 0 else None}

    # flat parts do not matter
    signs -= {0}
    if None in signs or len(signs) > 1:
        return None
    if not signs:
        # a constant never falls
        return 1
    return int(signs.pop() or 0)


def known_scores(formula: Formula) -> tuple[float, float]:
    """Return the scores between which a formula varies; beyond them it is constant."""
    match formula[0]:
        case ("logistic", _, _, low, high):
            return low, high
        case ("lines", x, _):
            return float(x[0]), float(x[-1])
    return -np.inf, np.inf


def evaluate_formula(formula: Formula, score: ArrayLike) -> Floats:
    """Return the value of a formula at each score; NaN stays NaN."""
    try:
        value = np.asarray(score, dtype=np.float64)
    except (TypeError, ValueError):
        raise InputError(
            f"A map needs scores, numbers in one array; found {type(score).__name__}.",
            example=PythonCode("map([0.2, 0.7])"),
        ) from None

    mapped = value.reshape(-1).copy()
    # block by block, so that the values of all steps stay in the cache
    parts: Iterable[slice] = blocks(mapped.size)
    if len(formula) == 1 and formula[0][0] == "lines":
        # a single np.interp is fastest over all scores at once
        parts = [slice(None)]

    for part in parts:
        for kind, *parameters in formula:
            mapped[part] = _STEPS[kind](mapped[part], *parameters)

    return mapped.reshape(value.shape)


def _logistic_step(
    score: Floats,
    intercept: float,
    terms: Sequence[tuple[float, str]],
    low: float,
    high: float,
) -> Floats:
    """Return the probability whose log odds are a sum of transformed scores."""
    clipped = np.clip(score, low, high)
    log_odds = np.full(clipped.shape, intercept)
    with np.errstate(over="ignore"):  # log odds beyond 1e308: p is 0 or 1
        for coefficient, name in terms:
            log_odds += coefficient * TRANSFORMS[name](clipped)
    return np.asarray(special.expit(log_odds))


def _table_step(score: Floats, edges: Floats, values: Floats) -> Floats:
    """Return the value of the table cell that contains each score."""
    value_of_cell = values[np.searchsorted(edges, score, side="right")]
    return np.where(np.isnan(score), np.nan, value_of_cell)


def _lines_step(score: Floats, x: Floats, y: Floats) -> Floats:
    """Return the value at each score of straight lines between points."""
    height = np.interp(score, x, y)
    if x.size == 1:  # with one point np.interp maps NaN to a number
        height = np.where(np.isnan(score), np.nan, height)

    # between neighbouring or subnormal scores the slope of a line may overflow
    too_steep = ~np.isfinite(height) & ~np.isnan(score)
    # the point at the upper end of a piece that is steeper than a float can say
    next_point = np.minimum(np.searchsorted(x, score[too_steep]), y.size - 1)
    height[too_steep] = y[next_point]
    return np.asarray(height)


def _prior_step(probability: Floats, pos: float, neg: float) -> Floats:
    """Return probabilities at another prevalence, by Bayes' rule."""
    positive_part = probability * pos
    return np.asarray(positive_part / (positive_part + (1 - probability) * neg))


# the function of each kind of step: from values and the numbers of the step to values
_STEPS: dict[str, Callable[..., Floats]] = {
    "logistic": _logistic_step,
    "table": _table_step,
    "lines": _lines_step,
    "prior": _prior_step,
}


def just_above(edges: Floats) -> Floats:
    """Return the next float above each edge: "edge < score" is "next <= score"."""
    with np.errstate(over="ignore"):  # nothing is above the largest float
        return np.asarray(np.nextafter(edges, np.inf))


VERSION = 1
_FORMAT = "trueness map"
# every kind of map of the library, by the name it has in a file
MAPS: dict[str, type[Map]] = {}
_Kind = TypeVar("_Kind", bound="type[Map]")


class Map(Record):
    """A frozen record that turns scores into scores, and can be saved."""

    def __post_init__(self) -> None:
        """Make all arrays constant."""
        array_names = [field.name for field in fields(self) if field.type == "Floats"]
        freeze(self, *array_names)

    @property
    def expression(self) -> Formula:
        """Return the formula of the map, as data that any engine can translate."""
        raise InputError(
            f"{type(self).__name__} is a map of several scores; it has no expression "
            f"in one of them."
        )

    @property
    def reads_names(self) -> bool:
        """Return whether the map reads names of leaves, and not numbers."""
        return False

    @property
    def monotone(self) -> bool:
        """Return whether the map never decreases, or never increases."""
        return direction(self.expression) is not None

    @property
    def reference(self) -> Reference | None:
        """Return the labelled cases that the map was fitted on; None if not known."""
        return getattr(self, "_reference", None)

    def __call__(self, score: ArrayLike) -> Floats:
        """Return the new score of each score, in the same shape; NaN stays NaN."""
        return evaluate_formula(self.expression, score)

    def predict(self, score: ArrayLike) -> Floats:
        """Return the new score of each score, as a call does."""
        return self(score)

    def error_variance(self, score: Floats, by_log_odds: Floats) -> float:
        """Return the variance of a value that is due to the error of the map.

        ``by_log_odds`` is how far the log odds at each score move the value. NaN: most
        maps do not know their own error; those of "pooled-bins" and "platt" do.
        """
        return math.nan

    def error_draws(
        self, score: Floats, n_draws: int, rng: np.random.Generator
    ) -> Floats | None:
        """Return errors (n_draws, m) of the log odds; None where they are not known."""
        return None

    def save(self, path: str | os.PathLike[str], score: str | None = None) -> None:
        """Write the map to a JSON file, as :func:`trueness.save_map` does."""
        save_map(self, path, score)


@dataclass_transform(frozen_default=True, eq_default=False)
def register(name: str) -> Callable[[_Kind], _Kind]:
    """Register a class of maps under a unique name, by which maps are saved and loaded.

    The class becomes a frozen record of its fields.

    Examples
    --------
    >>> @register("example: halved")
    ... class Halved(Map):
    ...     def __call__(self, score: ArrayLike) -> Floats:
    ...         return np.clip(score, 0, 1) / 2
    >>> map_from_json(map_to_json(Halved())) == Halved()
    True
    """

    def enter(kind: _Kind) -> _Kind:
        if "__dataclass_fields__" not in vars(kind):
            dataclass(frozen=True, repr=False, eq=False)(kind)
        # a module may be loaded twice (reload, doctest): its first class stays
        if MAPS.setdefault(name, kind).__qualname__ != kind.__qualname__:
            raise InputError(f"There is already a kind of map called {name!r}.")
        return kind

    return enter


def freeze(record: object, *names: str) -> None:
    """Make the named fields read-only float64 arrays; for ``__post_init__``."""
    for name in names:
        values = np.array(getattr(record, name), dtype=np.float64)
        values.flags.writeable = False
        object.__setattr__(record, name, values)


def save_map(map: Map, path: str | os.PathLike[str], score: str | None = None) -> None:
    """Write a fitted map to a JSON file, all or nothing.

    :func:`trueness.load_map` reads it back, equal to the last bit. ``score`` names the
    column that it reads, for ``trueness apply``.
    """
    text = map_to_json(_check_fitted(map, "save_map"), score)
    file = _options.file_path(path, "save_map")
    with replacing(file) as temporary:
        temporary.write_text(text + "\n", encoding="utf-8")


def load_map(path: str | os.PathLike[str]) -> Map:
    """Read a map from a file of :func:`trueness.save_map`."""
    file = _options.file_path(path, "load_map")
    if not file.is_file():
        raise InputError(f"There is no file {file} to read a map from.")
    try:
        return map_from_json(file.read_text(encoding="utf-8"), str(file))
    except UnicodeDecodeError:
        raise InputError(f"{file} must be a JSON file; it is not text.") from None


def _check_fitted(map: object, calibrator: str) -> Map:
    """Return a fitted map; stop at anything else, such as the name of a method."""
    if isinstance(map, Map):
        return map
    raise InputError(
        f"{calibrator} needs a fitted map; found {type(map).__name__}.",
        example=PythonCode("trueness.calibrate(y_true, y_score)"),
    )


def map_to_json(map: Map, score: str | None = None) -> str:
    """Write a map as JSON text, with the column that it reads."""
    content = {"format": _FORMAT, "version": VERSION, **_encode(map)}
    if score is not None:
        content["score"] = score
    return json.dumps(content, allow_nan=False)


def map_from_json(text: str, name: str = "The text") -> Map:
    """Return the map in a JSON text; ``name`` is the name of the text in errors."""
    try:
        content = json.loads(text)
    except (ValueError, RecursionError) as err:
        raise InputError(
            f"{name} must be a JSON file with a saved map; it is not valid JSON: {err}."
        ) from None
    if isinstance(content, dict) and content.get("trueness") == "rule":
        raise InputError(
            f"{name} holds a threshold rule, not a map. Rules are read by the "
            "commands threshold and sql.",
            example=PythonCode("trueness.Rule.load(path).decide(scores)"),
        )
    if not isinstance(content, dict) or content.get("format") != _FORMAT:
        raise InputError(
            f"{name} does not hold a saved map of a calibrator or a combiner."
        )

    version = content.get("version")
    if not isinstance(version, int) or version > VERSION:
        raise InputError(
            f"{name} has format {version}; this Trueness reads up to {VERSION}. "
            "Upgrade it (pip install -U trueness)."
        )

    with as_written(name, "a map"):  # maps within maps may be nested too deeply
        return _decode_map(content, name)


def _encode(value: object) -> Any:
    """Return a value as JSON, together with its type."""
    if isinstance(value, Map):
        return {"type": _registered_name(value), "fields": _encode_fields(value)}
    if isinstance(value, Reference):
        return {"reference": _encode_fields(value)}
    if isinstance(value, np.ndarray):
        entries = [_encode(entry) for entry in value.ravel()]
        return {"array": entries, "shape": value.shape}
    if isinstance(value, (tuple, list)):
        return {"list": [_encode(entry) for entry in value]}
    if isinstance(value, Mapping):
        return {"mapping": {key: _encode(entry) for key, entry in value.items()}}
    return _encode_single(plain(value))


def _registered_name(map: Map) -> str:
    """Return the name by which a file names this kind of map."""
    for name, kind in MAPS.items():
        if kind is type(map):
            return name

    raise InputError(
        f"{type(map).__name__} cannot be saved: it is not in the registry. "
        "Register the class first.",
        example=PythonCode("@trueness.calibration.register(name) above the class"),
    )


def _encode_fields(record: Map | Reference) -> dict[str, Any]:
    """Return the fields of a record as JSON, by their names."""
    return {
        field.name: _encode(getattr(record, field.name)) for field in fields(record)
    }


def _encode_single(value: object) -> Any:
    """Return a single number or text as JSON, which has neither NaN nor infinities."""
    if isinstance(value, float) and not math.isfinite(value):
        return {"number": repr(value)}
    if value is None or isinstance(value, (bool, int, float, str)):
        return value

    raise InputError(
        f"A map that is saved may hold numbers, text, arrays, mappings and other maps "
        f"of Trueness; found {type(value).__name__}."
    )


def _decode(value: Any, name: str) -> Any:
    """Return the value that JSON of a file stands for; ``name`` is for errors."""
    match value:
        case {"type": _}:
            return _decode_map(value, name)
        case {"array": list(entries), "shape": list(shape)}:
            return _decode_array(entries, shape, name)
        case {"reference": dict(parts)}:
            return _decode_reference(parts, name)
        case {"list": list(entries)}:
            return tuple(_decode(entry, name) for entry in entries)
        case {"mapping": dict(entries)}:
            return {key: _decode(entry, name) for key, entry in entries.items()}
        case {"number": "inf" | "-inf" | "nan" as word}:
            return float(word)
        case dict():
            raise InputError(f"{name} is damaged: it holds {listing(value)}.")
    return value


def _decode_array(entries: list[Any], shape: list[int], name: str) -> Floats:
    """Return the array in a file; ``name`` is for errors."""
    try:
        numbers = [_decode(entry, name) for entry in entries]
        return np.array(numbers, dtype=np.float64).reshape(shape)
    except (TypeError, ValueError, OverflowError):
        raise InputError(
            f"{name} is damaged: an array does not hold numbers."
        ) from None


def _decode_map(content: dict[str, Any], name: str) -> Map:
    """Return the map in a file, after checks of its fields and values."""
    kind = _registered_type(content.get("type"), name)
    values = _complete_fields(content.get("fields"), kind, name)

    decoded = {key: _decode(value, name) for key, value in values.items()}
    for field in fields(MAPS[kind]):
        if not _fits(decoded[field.name], str(field.type)):
            raise InputError(
                f"{name} is damaged: {field.name!r} of a map of type {kind!r} must be "
                f"{field.type}."
            )

    try:
        loaded = MAPS[kind](**decoded)
        with np.errstate(all="ignore"):
            _check_values(loaded)
    except _DAMAGE as err:
        raise InputError(f"{name} is damaged: {err}") from None

    return loaded


def _registered_type(kind: Any, name: str) -> str:
    """Return the name of the type of a map, which must be registered."""
    # a list, since the type in a damaged file may not be hashable
    if kind not in list(MAPS):
        # importing a module registers its types
        import_all = IMPORT_ALL.load()
        import_all()
    if kind in list(MAPS):
        return str(kind)

    raise InputError(
        f"The type of map in {name} must be one of the registered ones; found "
        f"{kind!r}.{nearest(kind, MAPS)} A class of your own must be imported "
        "first.",
        choices=MAPS,
    )


def _complete_fields(values: Any, kind: str, name: str) -> dict[str, Any]:
    """Return the fields of a map, which must be those of its type."""
    field_names = {field.name for field in fields(MAPS[kind])}
    if isinstance(values, dict) and _REFERENCE in field_names:
        # a file may lack the reference cases: then there are no intervals
        values = {_REFERENCE: None} | values
    if isinstance(values, dict) and set(values) == field_names:
        return values

    shown_fields = listing(values) if isinstance(values, dict) else repr(values)
    raise InputError(
        f"{name} is damaged: a map of type {kind!r} has the fields "
        f"{listing(sorted(field_names), 20)}; found {shown_fields}."
    )


def _decode_reference(parts: dict[str, Any], name: str) -> Reference:
    """Return the reference cases in a file."""
    decoded = {key: _decode(value, name) for key, value in parts.items()}
    damaged = InputError(f"{name} is damaged: its reference cases are not readable.")
    if set(decoded) != {field.name for field in fields(Reference)}:
        raise damaged

    class_sizes_and_ends = [
        decoded[key] for key in ("negatives", "positives", "lowest", "highest")
    ]
    if not all(isinstance(number, (int, float)) for number in class_sizes_and_ends):
        raise damaged

    covariance = decoded["covariance"]
    if not isinstance(decoded["date"], str) or not isinstance(covariance, np.ndarray):
        raise damaged
    return Reference(**decoded)


# the field of the reference cases, which is neither shown nor compared
_REFERENCE = "_reference"
# the errors that wrong values in the fields of a record may cause
_DAMAGE = (TypeError, ValueError, ArithmeticError, LookupError, AttributeError)


def _fits(value: object, kind: str) -> bool:
    """Return whether a value has the type of a field; True for unknown types."""
    if kind.startswith("tuple[") and kind.endswith(", ...]"):
        inner = kind.removeprefix("tuple[").removesuffix(", ...]")
        return isinstance(value, tuple) and all(_fits(part, inner) for part in value)
    if kind == "float":
        if not isinstance(value, (int, float)) or isinstance(value, bool):
            return False
        # whole numbers of JSON may be larger than any float
        return abs(value) <= 1e300 or value in (math.inf, -math.inf)

    types_by_name = {"str": str, "Floats": np.ndarray, "Map": Map}
    return isinstance(value, types_by_name.get(kind, object))


def _check_values(map: Map) -> None:
    """Stop at a map that returns no number, or no probability, at some scores.

    The scores are its own numbers, and some within and beyond the usual range: there a
    forged map would show. Maps of other packages are not checked.
    """
    if not type(map).__module__.startswith("trueness."):
        return

    classifier_names = getattr(map, "names", None)
    if classifier_names is not None:
        # a combination takes rows, (2, classifiers): all scores 0, and all scores 1
        rows = np.array([[0.0], [1.0]]) * np.ones(len(classifier_names))
        mapped_values = np.asarray(map(rows), dtype=np.float64)
    else:
        own_numbers = [
            value for value in vars(map).values() if isinstance(value, np.ndarray)
        ]
        # probabilities, and scores beyond all of the reference
        usual_and_beyond = [-1e6, 0.0, 0.5, 1.0, 1e6]
        score = np.concatenate([*own_numbers, usual_and_beyond], axis=None)
        mapped_values = map(score[np.isfinite(score)])

    if not np.isfinite(mapped_values).all():
        raise InputError("it returns no number for some scores.")

    is_calibrator = type(map).__module__.startswith("trueness.calibration.")
    if is_calibrator and not ((mapped_values >= 0) & (mapped_values <= 1)).all():
        raise InputError("it returns probabilities below 0 or above 1.")


@register("at-prevalence")
class AtPrevalence(Map):
    """A ``map`` to probabilities, changed from prevalence ``old`` to ``new``."""

    map: Map
    old: float
    new: float

    def __post_init__(self) -> None:
        _options.fraction(self.old, "old")
        _options.fraction(self.new, "new")

    @property
    def _prior(self) -> Formula:
        """Return Bayes' rule from the old prevalence to the new one, as a formula."""
        return (("prior", self.new / self.old, (1 - self.new) / (1 - self.old)),)

    @property
    def expression(self) -> Formula:
        """Return the map's expression followed by Bayes' rule."""
        return self.map.expression + self._prior

    @property
    def reference(self) -> Reference | None:
        """Return the cases that the map was fitted on, at its own prevalence."""
        return self.map.reference

    def error_variance(self, score: Floats, by_log_odds: Floats) -> float:
        """Return the variance of the map: a factor of the odds adds no error."""
        return self.map.error_variance(score, by_log_odds)

    def error_draws(
        self, score: Floats, n_draws: int, rng: np.random.Generator
    ) -> Floats | None:
        """Return the errors of the map: a factor of the odds adds no error."""
        return self.map.error_draws(score, n_draws, rng)

    def interval(self, score: ArrayLike) -> tuple[Floats, Floats]:
        """Return the interval of the map at the new prevalence, if it has one."""
        if not hasattr(self.map, "interval"):
            raise InputError(
                f"{type(self.map).__name__} has no interval; Venn-Abers maps have one.",
                example=PythonCode('trueness.calibrate(t, method="venn-abers")'),
            )
        low, high = self.map.interval(score)
        return evaluate_formula(self._prior, low), evaluate_formula(self._prior, high)


def at_prevalence(map: Map, old: float, new: float) -> AtPrevalence:
    r"""Calibration map at another prevalence (label shift).

    What does a score mean where the condition is rarer or more common? Where the scores
    of each class are distributed as before (label shift), the odds are multiplied by a
    constant (Elkan 2001, Proc. IJCAI 17:973, Theorem 2):

    .. math:: \frac{p'}{1-p'} = \frac{p}{1-p}
              \cdot \frac{\pi_{new}/(1-\pi_{new})}{\pi_{old}/(1-\pi_{old})}

    Parameters
    ----------
    map
        A fitted map from score to probability.
    old, new
        Prevalence in the data it was fitted on (after any undersampling), and in the
        population of use.

    Examples
    --------
    Fitted where half are positive, used where 1 in 11 is: odds of 1 become 1/10.

    >>> import trueness
    >>> t = trueness.Tally([1, 0], neg=[2, 2], pos=[2, 2])
    >>> balanced = trueness.calibrate(t, method="isotonic")
    >>> float(trueness.at_prevalence(balanced, 1 / 2, 1 / 11)(1.0))
    0.0909...
    """
    old = _options.fraction(old, "old")
    new = _options.fraction(new, "new")
    return AtPrevalence(_check_fitted(map, "at_prevalence"), old, new)
