"""What does an answer look like, on paper, in a notebook and as JSON?

An answer is a frozen record. ``Record`` gives every record its text, its HTML table,
``to_dict()`` and ``to_frame()``, so that a new record is a list of fields. (It is the
one base class of Trueness: a decorator would hide these methods from type checkers.)
"""

from __future__ import annotations

import math
import operator
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, fields, is_dataclass, replace
from html import escape
from types import MappingProxyType
from typing import Any, cast, final

import numpy as np

from trueness._core.arrays import Array
from trueness._core.checks import options as _options
from trueness._core.checks.errors import InputError, NotInstalled, PythonCode
from trueness._core.figures import html_table
from trueness._core.imports import HigherFunction
from trueness._core.numbers import level_text

# of the rooms above: an answer in a notebook, and its figure
SHOW_IN_NOTEBOOK: HigherFunction[Callable[[Any], str]] = HigherFunction(
    "show_in_notebook"
)
SKETCH: HigherFunction[Callable[[Any], str]] = HigherFunction("sketch")
FIGURE_OF: HigherFunction[Callable[[Any], Any]] = HigherFunction("figure_of")
DRAW: HigherFunction[Callable[[Any, Any], Any]] = HigherFunction("draw")
LIST_OF_FIGURES = PythonCode("help(trueness.plots)")


@dataclass(frozen=True, repr=False, eq=False)
class Record:
    """A frozen dataclass that shows itself, and is equal to one with equal fields."""

    def __init_subclass__(cls) -> None:
        """Keep ``dataclass`` from comparing records as tuples, which arrays refuse."""
        for name in ("__eq__", "__hash__"):
            setattr(cls, name, getattr(cls, name))

    def __eq__(self, other: object) -> bool:
        """Return whether all fields are the same; arrays by entries, NaN like NaN."""
        if type(other) is not type(self):
            return NotImplemented
        compared_names = [member.name for member in fields(self) if member.compare]
        return all(
            _same(getattr(self, name), getattr(other, name)) for name in compared_names
        )

    def __hash__(self) -> int:
        """Hash the fields that are single values."""
        single_values = []
        for value in _field_values(self):
            # NaN is left out: it does not equal itself, but records with it are equal
            if isinstance(value, (str, int, float)) and value == value:
                single_values.append(value)
        return hash((type(self).__name__, *single_values))

    def __repr__(self) -> str:
        """One line per field, numbers with four significant digits, then the notes.

        The published method stands in its field only, for those who look it up.
        """
        items = dict(_items(self))
        items.pop("method", None)
        notes = items.pop("notes", ())
        lines = [
            f"{name}: {_field_text(name, value)}".replace(": \n", ":\n")
            for name, value in items.items()
        ]
        lines += [f"Note: {note}" for note in notes]

        # a part that takes several lines is set in
        indented = [line.replace("\n", "\n    ") for line in lines]
        return "\n  ".join([type(self).__name__, *indented])

    def _repr_html_(self) -> str:
        """Show a sentence, a small table and a small figure in a notebook."""
        try:
            shown_html = SHOW_IN_NOTEBOOK.load()(self)
        except NotInstalled:  # what draws figures comes with an extra
            return fields_as_html(self)
        return shown_html

    def plot(self, ax: Any = None) -> Any:
        """Draw the figure that shows this answer, and return its axes.

        Parameters
        ----------
        ax
            Axes of matplotlib; new ones when None.
        """
        figure = FIGURE_OF.load()(self)
        if figure is None:
            raise InputError(
                f"No figure shows a {type(self).__name__}.", example=LIST_OF_FIGURES
            )
        return DRAW.load()(figure, ax)

    def __getstate__(self) -> tuple[dict[str, Any], list[str]]:
        """Return what pickle and copy keep, which take no read-only mappings."""
        state = dict(vars(self))
        read_only = [
            name for name, value in state.items() if isinstance(value, MappingProxyType)
        ]
        for name in read_only:
            state[name] = dict(state[name])
        return state, read_only

    def __setstate__(self, state: tuple[dict[str, Any], list[str]]) -> None:
        """Take the state back; mappings become read-only again."""
        values, read_only = state
        vars(self).update(values)
        for name in read_only:
            vars(self)[name] = MappingProxyType(values[name])

    def to_dict(self) -> dict[str, Any]:
        """Return plain Python values that ``json.dumps`` takes.

        NaN becomes None; infinities, which JSON has not, become "inf" and "-inf".
        """
        return {name: json_value(value) for name, value in _items(self)}

    def to_frame(self, backend: str | None = None) -> Any:
        """Return a table: one row an entry of the arrays, or one row in all."""
        return native_frame(table(self), backend)


def first_line_as_html(answer: object) -> str:
    """Return the first line that an answer prints, as a paragraph."""
    return f"<p>{escape(repr(answer).splitlines()[0])}</p>"


def sketch_of(answer: object) -> str:
    """Return the HTML of the figure of an answer; nothing where none can be drawn."""
    try:
        return SKETCH.load()(answer)
    except NotInstalled:  # what draws figures comes with an extra
        return ""


@dataclass(frozen=True, repr=False, eq=False)
class Answer(Record):
    """A record that an analysis of a tally gives.

    ``bounds`` is None but for answers about a binned tally (``scale/certificates.py``):
    two numbers or a record between which the exact answer lies, or the words why they
    are not known.
    """

    bounds: Any = field(default=None, kw_only=True)


@dataclass(frozen=True, repr=False, eq=False)
class TwoAxes(Answer):
    """An answer with two columns, which are shown and asked for by their names."""

    axes: tuple[str, str]
    x: Array
    y: Array

    def __getattr__(self, name: str) -> Array:
        axes = vars(self).get("axes", ())
        if name not in axes:
            raise AttributeError(f"{type(self).__name__} of {axes} has no {name!r}.")
        return self.x if name == axes[0] else self.y


def _same(value: object, compared: object) -> bool:
    """Return whether two fields are the same; NaN is like NaN."""
    if isinstance(value, np.ndarray) or isinstance(compared, np.ndarray):
        return _same_arrays(np.asarray(value), np.asarray(compared))
    if isinstance(value, Mapping) and isinstance(compared, Mapping):
        return _same_mappings(value, compared)

    if type(value) is type(compared):
        if isinstance(value, (tuple, list)):
            return _same_sequences(value, cast("Sequence[Any]", compared))
        if _compares_as_tuple(value):
            return _same_sequences(_field_values(value), _field_values(compared))

    # only NaN differs from itself
    return bool(value == compared or (value != value and compared != compared))


def _same_mappings(mapping: Mapping[Any, Any], compared: Mapping[Any, Any]) -> bool:
    """Return whether two mappings have the same keys, in any order, and values."""
    if mapping.keys() != compared.keys():
        return False
    return all(_same(mapping[key], compared[key]) for key in mapping)


def _same_sequences(values: Sequence[Any], compared: Sequence[Any]) -> bool:
    """Return whether two sequences have the same values in the same order."""
    return len(values) == len(compared) and all(map(_same, values, compared))


def _field_values(record: Any) -> list[Any]:
    """Return the values of all fields of a dataclass, in their order."""
    return [getattr(record, member.name) for member in fields(type(record))]


def _same_arrays(a: Array, b: Array) -> bool:
    """Return whether two arrays have the same entries."""
    both_floats = a.dtype.kind == b.dtype.kind == "f"  # only floats can be NaN
    return bool(np.array_equal(a, b, equal_nan=both_floats))


def _compares_as_tuple(value: object) -> bool:
    """Return whether ``==`` compares a dataclass as a tuple, which arrays refuse."""
    parameters = getattr(type(value), "__dataclass_params__", None)
    return parameters is not None and bool(parameters.eq)


def table(record: Record) -> dict[str, Any]:
    """Return a record as columns: those of its arrays, or one row of all fields."""
    items = dict(_items(record))
    columns = {
        name: value
        for name, value in items.items()
        if isinstance(value, np.ndarray) and value.ndim == 1
    }
    if not columns:
        return _one_row(items)

    # an answer may have a shorter array beside its curve, which is no column of it
    length = max(len(values) for values in columns.values())
    return {name: values for name, values in columns.items() if len(values) == length}


def _one_row(items: dict[str, Any]) -> dict[str, Any]:
    """Return fields as a table of one row."""
    bounds = items.pop("bounds", None)
    if isinstance(bounds, tuple):
        items["exact_low"], items["exact_high"] = bounds
    elif bounds is not None:
        items["bounds"] = bounds

    if "notes" in items and not items["notes"]:
        # without anything to keep in mind the column would be empty
        del items["notes"]

    row: dict[str, Any] = {}
    for name, value in items.items():
        row |= _cells_of(name, value)
    return row


def _cells_of(name: str, value: object) -> dict[str, Any]:
    """Return a value as one column, an estimate as three: numbers stay numbers."""
    if isinstance(value, (np.generic, np.ndarray)) and value.ndim == 0:
        value = value.item()
    if isinstance(value, Estimate):
        return {
            name: [value.value],
            f"{name}_low": [value.low],
            f"{name}_high": [value.high],
        }
    if isinstance(value, Record):
        cells: dict[str, Any] = {}
        for field_name, field_value in _items(value):
            cells |= _cells_of(field_name, field_value)
        return cells

    if value is None or isinstance(value, (bool, int, float, str)):
        return {name: [value]}
    return {name: [brief(value)]}


def fields_as_html(record: Record) -> str:
    """Return a table of the fields of a record that hold something."""
    rows = []
    for name, value in _items(record):
        is_empty = isinstance(value, tuple) and not value
        if value is not None and not is_empty:
            rows.append((name, _lines(value)))
    return html_table(("", type(record).__name__), rows)


def _items(record: Any) -> list[tuple[str, Any]]:
    """Return the public fields of a record by name; x and y by the names of axes."""
    axis_names = {}
    if isinstance(record, TwoAxes):
        axis_names = dict(zip(("x", "y"), record.axes, strict=True))

    items = []
    for name in [member.name for member in fields(record)]:
        is_public = not name.startswith("_")
        if is_public and name not in ("bounds", "axes"):
            items.append((axis_names.get(name, name), getattr(record, name)))

    # last, whatever the order of the fields
    bounds = getattr(record, "bounds", None)
    if bounds is not None:
        items.append(("bounds", bounds))
    return items


def within(record: Answer) -> str:
    """Say between which numbers the exact answer lies; nothing when this is it.

    >>> within(Estimate(0.81234, 0.8, 0.82, bounds=(0.812301, 0.812379)))
    '; exact value within 0.812301 to 0.812379'
    """
    if record.bounds is None:
        return ""
    if not isinstance(record.bounds, tuple):
        return f"; exact value {record.bounds}"

    low, high = record.bounds
    if low == high:
        return "; exact although scores were binned"
    return f"; exact value within {apart(low, high)}"


def apart(low: float, high: float) -> str:
    """Write two numbers with as many digits as it takes to tell them apart."""
    for digits in (4, 6, 9, 12, 17):
        # two more digits than the first that differ, so that the width can be seen
        if f"{low:.{digits - 2}g}" != f"{high:.{digits - 2}g}":
            break
    return f"{low:.{digits}g} to {high:.{digits}g}"


def _lines(value: object) -> list[str]:
    """Write a value for a cell of a table: parts that are answers, one a line."""
    if isinstance(value, Mapping):
        return [f"{key}: {brief(entry)}" for key, entry in value.items()]
    if isinstance(value, tuple) and any(isinstance(part, Record) for part in value):
        return [brief(part) for part in value]
    return brief(value).splitlines() or [""]


def json_value(value: object) -> Any:
    """Return a value as JSON can hold it."""
    if isinstance(value, (np.ndarray, np.generic)):
        value = value.tolist()
    if isinstance(value, float):
        return _json_float(value)
    if value is None or isinstance(value, (bool, int, str)):
        return value
    if hasattr(value, "to_dict"):
        return value.to_dict()
    return _json_of_parts(value)


def _json_of_parts(value: object) -> Any:
    """Return what holds other values, part by part; anything else as its text."""
    if isinstance(value, Mapping):
        return {str(key): json_value(entry) for key, entry in value.items()}
    if isinstance(value, (list, tuple)):
        return [json_value(entry) for entry in value]
    if is_dataclass(value):
        return {name: json_value(entry) for name, entry in _items(value)}
    return str(value)


def _json_float(value: float) -> float | str | None:
    """Return a float; JSON has neither NaN nor infinities."""
    if math.isfinite(value):
        return value
    if math.isnan(value):
        return None
    return "inf" if value > 0 else "-inf"


def brief(value: object) -> str:
    """Write a value in one line for a person.

    >>> brief(0.123456), brief(np.arange(3)), brief(1234567)
    ('0.1235', '[0, 1, 2]', '1,234,567')
    """
    if isinstance(value, (np.ndarray, np.generic)) and value.ndim == 0:
        value = value.item()
    if isinstance(value, bool) or value is None:
        return str(value)
    if isinstance(value, int):
        return f"{value:,}"
    if isinstance(value, float):
        return f"{value:.4g}"
    return _brief_parts(value)


def _field_text(name: object, value: object) -> str:
    """Write a field; each of several estimates on a line of its own, named once."""
    if isinstance(value, Estimate) and _is_called(value, str(name)):
        return str(replace(value, name=""))
    if isinstance(value, Mapping) and value:
        entries = list(value.items())
        if all(isinstance(entry, Estimate) for _, entry in entries):
            lines = [f"{key}: {_field_text(key, entry)}" for key, entry in entries]
            return "\n".join(["", *lines])
    if isinstance(value, tuple) and not value:
        return "none"
    return brief(value)


def _is_called(estimate: Estimate, name: str) -> bool:
    """Return whether this is the name of the estimate, in capitals or not."""
    return estimate.name.replace(" ", "_").casefold() == name.casefold()


def _brief_parts(value: object) -> str:
    """Write what holds other values in one line, part by part."""
    if isinstance(value, np.ndarray):
        return _brief_array(value)
    if isinstance(value, Mapping):
        return "; ".join(f"{key}: {brief(entry)}" for key, entry in value.items())
    if isinstance(value, (list, tuple)):
        return ", ".join(brief(entry) for entry in value)
    return str(value)


def _brief_array(values: np.ndarray) -> str:
    """Write an array: all of a few entries, else the first two and the last."""
    if values.ndim != 1:
        return f"array of shape {values.shape}"
    if len(values) <= 6:
        return "[" + ", ".join(brief(entry) for entry in values) + "]"

    first = brief(values[0])
    second = brief(values[1])
    last_value = brief(values[-1])
    return f"[{first}, {second}, ..., {last_value}] ({len(values):,} entries)"


def shown(name: object, max_letters: int = 60) -> str:
    r"""Write a name that came with the data so that it cannot do harm.

    Control characters, which steer a terminal, and marks that turn the direction of
    writing are spelt out; long names are cut.

    >>> shown("a\x1b[31m"), shown("x" * 100, max_letters=8)
    ('a\\x1b[31m', 'xxxxxxx…')
    """
    text = str(name)
    if len(text) > max_letters:
        text = text[: max_letters - 1] + "…"
    return "".join(_printable(letter) for letter in text)


def _printable(letter: str) -> str:
    """Return a letter, or what Python types for one that cannot be printed."""
    if letter.isprintable():
        return letter
    return letter.encode("unicode_escape").decode()


def _operate_on_value(
    operation: Callable[[Any, Any], Any], kind: type | None = None
) -> Any:
    """Return a method of an estimate that uses its value; of two, both values."""

    def method(self: Estimate, other: float | Estimate) -> Any:
        operand = other.value if isinstance(other, Estimate) else other
        result = operation(self.value, operand)
        if kind is None:
            return result
        return kind(result)

    return method


@final
@dataclass(frozen=True, repr=False, eq=False)
class Estimate(Answer):
    """An estimate: a value with its interval.

    How large is it, and how sure are we?

    Attributes
    ----------
    value : float
        The estimate.
    low, high : float
        Ends of the interval.
    level : float
        Level of the confidence interval (of a posterior: credible interval), such as
        0.95.
    method : str
        The published method behind the interval, such as ``"Wilson 1927"``.
    se : float
        Standard error, or posterior standard deviation; NaN where the method has none.
    notes : tuple of str
        What to keep in mind, in full sentences; empty where there is nothing.
    name : str
        What is estimated.

    Notes
    -----
    It formats, rounds, compares and computes as the float that it holds.

    Examples
    --------
    >>> e = Estimate(0.61196, 0.50124, 0.72267, 0.95, "delong", name="AUC")
    >>> e
    AUC 0.612 (95 % CI 0.501 to 0.723)
    >>> f"{e:.3f}", e > 0.6, 1 - e
    ('0.612', True, 0.38804...)
    """

    value: float
    low: float
    high: float
    level: float = 0.95
    method: str = ""
    se: float = math.nan
    notes: tuple[str, ...] = field(default=(), kw_only=True)
    name: str = field(default="", kw_only=True)

    @property
    def ci(self) -> tuple[float, float]:
        """Both ends of the interval, as other libraries return them."""
        return (self.low, self.high)

    def __float__(self) -> float:
        """Return the value alone."""
        return float(self.value)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Array:
        """Return the value alone, where NumPy asks for a number."""
        return np.asarray(self.value, dtype=dtype)

    def __format__(self, spec: str) -> str:
        """Write the value as a float is written; without a format, as ``str`` does."""
        return format(self.value, spec) if spec else str(self)

    def __round__(self, digits: int | None = None) -> float:
        """Round the value."""
        return round(float(self.value), digits or 0)

    def __eq__(self, other: object) -> bool:
        """Return whether it is the same estimate, or the same number."""
        if isinstance(other, Estimate):
            return super().__eq__(other)
        return bool(self.value == other)

    def __hash__(self) -> int:
        """Hash as the number does, since both can be equal."""
        return hash(self.value)

    # all else is asked of the value; what is computed with it is a plain number
    __lt__ = _operate_on_value(operator.lt, bool)
    __le__ = _operate_on_value(operator.le, bool)
    __gt__ = _operate_on_value(operator.gt, bool)
    __ge__ = _operate_on_value(operator.ge, bool)
    __add__ = __radd__ = _operate_on_value(operator.add)
    __mul__ = __rmul__ = _operate_on_value(operator.mul)
    __sub__ = _operate_on_value(operator.sub)
    __rsub__ = _operate_on_value(lambda a, b: b - a)
    __truediv__ = _operate_on_value(operator.truediv)
    __rtruediv__ = _operate_on_value(lambda a, b: b / a)

    def __neg__(self) -> float:
        """Return the value with the other sign."""
        return -self.value

    def __abs__(self) -> float:
        """Return the size of the value."""
        return abs(self.value)

    def __repr__(self) -> str:
        """Write name, value, level and interval in one line, then the notes."""
        value, low, high = as_precise(self.value, self.low, self.high)
        interval = f"{level_text(self.level)} {self._kind_of_interval} {low} to {high}"
        if self.method == "none" and math.isnan(self.low):
            interval = "no interval"

        line = f"{self.name} {value} ({interval}{within(self)})".strip()
        notes = [f"  Note: {note}" for note in self.notes]
        return "\n".join([line, *notes])

    __str__ = __repr__

    @property
    def _kind_of_interval(self) -> str:
        """Return what the interval is called: credible for a posterior."""
        if self.method.startswith("posterior"):
            return "credible interval"
        if self.method.startswith("prediction"):
            return "prediction interval"
        return "CI"


@final
class Answers(dict[Any, Any]):
    """Several answers by the names of classifiers or groups: a dict, and a table.

    Examples
    --------
    >>> Answers(a=Estimate(0.8, 0.7, 0.9), b=Estimate(0.75, 0.6, 0.85))
    a  0.800 (95 % CI 0.700 to 0.900)
    b  0.750 (95 % CI 0.600 to 0.850)
    """

    @property
    def notes(self) -> list[str]:
        """Return what to keep in mind, each sentence once."""
        notes: list[str] = []
        for answer in self.values():
            notes += [str(note) for note in getattr(answer, "notes", ())]
        return list(dict.fromkeys(notes))

    def __repr__(self) -> str:
        """Print a line for each estimate; other answers one after the other."""
        if not self or not all(
            isinstance(answer, Estimate) for answer in self.values()
        ):
            return dict.__repr__(self)

        names = [shown(name) for name in self]
        width = max(map(len, names))
        lines = []
        for name, estimate in zip(names, self.values(), strict=True):
            first_line = repr(estimate).splitlines()[0]
            lines.append(f"{name:<{width}}  {first_line}")

        lines += [f"Note: {note}" for note in self.notes]
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        """Show a small table and a small figure in a notebook."""
        try:
            shown_html = SHOW_IN_NOTEBOOK.load()(self)
        except NotInstalled:
            return f"<pre>{escape(repr(self))}</pre>"
        return shown_html

    def to_dict(self) -> dict[str, Any]:
        """Return plain Python values that ``json.dumps`` takes, by name."""
        return {
            str(name): answer.to_dict() if hasattr(answer, "to_dict") else answer
            for name, answer in self.items()
        }

    def plot(self, ax: Any = None) -> Any:
        """Draw the estimates under one another, and return the axes."""
        figure = FIGURE_OF.load()(self)
        if figure is None:
            raise InputError("No figure shows these answers.", example=LIST_OF_FIGURES)
        return DRAW.load()(figure, ax)

    def to_frame(self, backend: str | None = None) -> Any:
        """Return one row for each answer, with its name first."""
        rows = [
            _row(answer) | {"name": str(name)}  # what the answer is called here
            for name, answer in self.items()
        ]
        # a row may lack columns that another has
        names = dict.fromkeys(["name"])
        for row in rows:
            names |= dict.fromkeys(row)
        columns = {name: [row.get(name) for row in rows] for name in names}
        return native_frame(columns, backend)


def _row(answer: Any) -> dict[str, Any]:
    """Return an answer as one row of a table."""
    if not isinstance(answer, Record):
        return {"value": brief(answer)}
    columns = table(answer)
    return {name: values[0] for name, values in columns.items() if len(values) == 1}


def as_precise(value: float, low: float, high: float) -> tuple[str, str, str]:
    """Write a number and its interval to two digits of the width.

    >>> as_precise(0.85179, 0.83561, 0.86682)
    ('0.852', '0.836', '0.867')
    >>> as_precise(1234.5, 1100.2, 1300.9)
    ('1234', '1100', '1301')
    """
    width = high - low
    size = max(abs(value), abs(low), abs(high))
    number_format = ".4g"
    if math.isfinite(width) and width > 0 and size <= 1e9:
        # a width of .00312 takes four decimals; below 10 there are three at least
        places = max(1 - math.floor(math.log10(width)), 3 if size < 10 else 0)
        if places <= 12:
            number_format = f".{places}f"

    return (
        format(value, number_format),
        format(low, number_format),
        format(high, number_format),
    )


_BACKENDS = ("pandas", "polars", "pyarrow", "modin", "dict")


def native_frame(columns: Mapping[str, Any], backend: str | None = None) -> Any:
    """Return a frame of a library; of the one in use, pandas first, when None."""
    if backend is None:
        libraries = ("pandas", "polars", "pyarrow")
        in_use = [library for library in libraries if library in sys.modules]
        backend = in_use[0] if in_use else "pandas"

    _options.choice(backend, _BACKENDS, "backend")
    if backend == "dict":
        return {name: np.asarray(column).tolist() for name, column in columns.items()}

    import narwhals.stable.v2 as nw

    try:
        return nw.from_dict(dict(columns), backend=cast("Any", backend)).to_native()
    except ModuleNotFoundError:
        raise InputError(
            f"A {backend} frame needs {backend}, which is not installed (pip install "
            f"{backend}). to_dict() needs no further library.",
            example=PythonCode("to_frame('dict')"),
        ) from None
