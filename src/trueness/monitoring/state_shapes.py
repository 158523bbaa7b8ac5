"""The types that each part of the file of a watch must have.

A forged or damaged file is refused at once.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

LARGEST_LOG_EVIDENCE = 700.0  # the exponential is still a number
LARGEST_NUMBER = 1e306  # above the largest evidence that is written
# the numbers of a look, each a column of the history
NUMBERS_OF_LOOK = ("look", "n", "batch", "value", "low", "high", "evidence")

Test = Callable[[Any], bool]
Shape = dict[str, Test]  # the fields of a record, each with what it must be


def first_misshapen(content: object) -> str:
    """Return the name of the first part of a watch with a wrong type; "" if none."""
    if not isinstance(content, dict) or not isinstance(content.get("groups"), dict):
        return "groups"

    for name, shape in (("about", _ABOUT), ("state", _STATE)):
        record = content.get(name)
        if not isinstance(record, dict):
            return name
        field = _first_misshapen_field(record, shape)
        if field:
            return field

    for name, group in content["groups"].items():
        has_groups = isinstance(group, dict) and bool(group.get("groups"))
        # a group has no groups of its own
        misshapen = "groups" if has_groups else first_misshapen(group)
        if misshapen:
            return f"{misshapen} of group {name!r}"

    return ""


def _first_misshapen_field(record: object, shape: Shape) -> str:
    """Return the name of the first field that is missing or wrong; "" if none."""
    fields = record if isinstance(record, dict) else {}
    for name, test in shape.items():
        if name not in fields or not test(fields[name]):
            return name
    return ""


def _has_shape(shape: Shape) -> Test:
    return lambda value: not _first_misshapen_field(value, shape)


def _optional(test: Test) -> Test:
    return lambda value: value is None or test(value)


def _list_of(test: Test) -> Test:
    return lambda value: isinstance(value, list) and all(map(test, value))


def _mapping_to(test: Test) -> Test:
    return lambda value: isinstance(value, dict) and all(map(test, value.values()))


def _record_of(*tests: Test) -> Test:
    """Return the test of a list with an element for each of these tests."""

    def holds(value: object) -> bool:
        if not isinstance(value, list) or len(value) != len(tests):
            return False
        return all(test(element) for test, element in zip(tests, value, strict=True))

    return holds


def _number_between(low: float, high: float) -> Test:
    """Return the test of a number from low to high, which NaN is not."""

    def holds(value: object) -> bool:
        if isinstance(value, bool) or not isinstance(value, (int, float)):
            return False
        return low <= value <= high

    return holds


_is_number = _number_between(-LARGEST_NUMBER, LARGEST_NUMBER)
_is_amount = _number_between(0, LARGEST_NUMBER)
_is_proportion = _number_between(0, 1)
_is_log_evidence = _number_between(0, LARGEST_LOG_EVIDENCE)


def _is_level(value: object) -> bool:
    return _is_proportion(value) and value not in (0, 1)


def _is_number_of_looks(value: Any) -> bool:
    return _is_amount(value) and value > 1


def _is_side(value: object) -> bool:
    return value in (1, -1)


def _is_whole(value: object) -> bool:
    return type(value) is int and 0 <= value < 2**62


def _is_text(value: object) -> bool:
    return isinstance(value, str)


def _is_plain(value: object) -> bool:
    return isinstance(value, (str, bool, int, float))


_is_table = _list_of(_list_of(_is_number))


def _is_full_table(value: Any) -> bool:
    """Return whether this is a table of numbers with equal rows, none empty."""
    if not _is_table(value):
        return False
    lengths = {len(row) for row in value}
    return len(lengths) == 1 and 0 not in lengths


_has_counts = _has_shape(
    {
        "neg": _list_of(_is_whole),
        "pos": _list_of(_is_whole),
        "unknown": _list_of(_is_whole),
    }
)
_are_scores = _list_of(_is_number)
_are_rows_of_verdicts = _list_of(_list_of(_optional(_is_number)))


def _is_packed_counts(value: object) -> bool:
    """Return whether this is in the form of ``batches.pack_counts``."""
    if not isinstance(value, dict) or not _has_counts(value):
        return False

    outputs: Any = value.get("score", value.get("rows"))
    if not _are_scores(outputs) and not _are_rows_of_verdicts(outputs):
        return False

    columns = (value["neg"], value["pos"], value["unknown"])
    return all(len(column) == len(outputs) for column in columns)


_are_recent_looks = _list_of(
    _has_shape(
        {
            "name": _is_text,
            "sums": _record_of(_is_number, _is_number, _is_number),
            "gains": _list_of(_is_number),
        }
    )
)


def _is_recent(value: Any) -> bool:
    """Return whether these are the gains of recent looks, with equally many bets."""
    if not _are_recent_looks(value):
        return False
    return not value or _is_full_table([look["gains"] for look in value])


_is_look = _has_shape(
    {
        "look": _is_whole,
        "name": _optional(_is_text),
        **{name: _optional(_is_number) for name in NUMBERS_OF_LOOK if name != "look"},
    }
)
_is_batch = _has_shape({"mark": _is_text, "counts": _optional(_is_packed_counts)})
_is_verdict = _record_of(_list_of(_optional(_is_number)), _is_whole)
_are_waiting_verdicts = _list_of(
    _record_of(_optional(_is_text), _mapping_to(_is_verdict))
)


def _is_waiting(value: object) -> bool:
    """Return whether this is a tally or batches of verdicts that wait for labels."""
    return _is_packed_counts(value) or _are_waiting_verdicts(value)


_ABOUT: Shape = {
    "metric": _is_text,
    "threshold": _optional(_is_number),
    "side": _is_side,
    "bound": _optional(_is_proportion),
    "near": _optional(_is_number),
    "level": _is_level,
    "mean_time": _is_number_of_looks,
    "rng": _is_whole,
    "judges": _list_of(_is_text),
    "by": _optional(_is_text),
    "named": _optional(_list_of(_is_text)),
    "columns": _mapping_to(_is_plain),
}
_STATE: Shape = {
    "n": _is_amount,
    "squares": _is_amount,
    "peak": _is_log_evidence,
    "total": _is_number,
    "looks": _is_whole,
    "informative": _is_whole,
    "since": _optional(_is_text),
    "log_m": _optional(_is_full_table),
    "history": _list_of(_is_look),
    "recent": _is_recent,
    "batches": _mapping_to(_is_batch),
    "waiting": _optional(_is_waiting),
    "baseline": _optional(_is_packed_counts),
    "seen": _optional(_is_packed_counts),
    "labels": _mapping_to(_record_of(_is_whole, _is_whole)),
}
