"""How many attempts at each item passed? Counts rows of frames and of logs."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from trueness._core.arrays import Array, Ints
from trueness._core.checks import options as _options
from trueness._core.checks.errors import InputError, NotEnoughCases, PythonCode
from trueness._core.checks.words import described, listing, nearest
from trueness._core.data_types import Frame, LabelValue
from trueness._core.records import shown
from trueness.data.cleaning import tell
from trueness.data.columns import is_frame
from trueness.data.engines import column_names, columns_of
from trueness.data.files import scan
from trueness.data.named_roles import SYSTEM_NAMES, find_attempts, table_of
from trueness.data.verdict_logs import (
    CLUSTER,
    ITEM,
    SYSTEM,
    VerdictLog,
    is_log,
    read_verdicts,
)
from trueness.evals.attempts import Attempts

_VERDICT_OF_WORD = {
    **dict.fromkeys(("true", "yes", "pass", "passed", "correct", "c", "1"), 1.0),
    **dict.fromkeys(("false", "no", "fail", "failed", "incorrect", "i", "0"), 0.0),
}


def attempts(
    data: Frame | VerdictLog,
    *,
    item: str | None = None,
    passed: str | None = None,
    system: str | None = None,
    cluster: str | None = None,
    threshold: float | None = None,
    missing_scores: str = "drop",
) -> Any:
    """Attempts at items, and how many of them passed.

    Parameters
    ----------
    data
        A frame with a row per attempt; a log (:func:`read_verdicts`); or the path of
        one log, several logs (``"logs/*.eval"``) or a table.
    item
        Column that names the items; logs have their own. Columns with usual names
        (task, passed, model) are found.
    passed
        Column that says whether an attempt passed: true or false, 1 or 0, pass or fail.
        A log with one scorer needs no name.
    system
        Column that names the systems; the function then returns a dict. Logs of several
        systems have their own.
    cluster
        Column with the cluster of an item (its passage or repository).
    threshold
        Grades of at least this value pass. Without it, grades between 0 and 1 are an
        error.
    missing_scores
        ``"drop"`` leaves attempts without a verdict out and counts them as
        ``missing``, ``"fail"`` counts them as failed.

    Examples
    --------
    >>> rows = {"task": ["x", "x", "y", "y"], "ok": [1, 0, 1, 1]}
    >>> attempts(rows, item="task", passed="ok")
    Attempts: 2 items, 4 attempts (2 per item), 3 passed
    """
    _options.choice(missing_scores, ("drop", "fail"), "missing_scores")
    if isinstance(data, (str, os.PathLike)):
        data = read_evals(data)
    if isinstance(data, VerdictLog):
        item, passed, system, data = _columns_of_log(data, item, passed, system)

    _check_column_names(item=item, passed=passed, system=system, cluster=cluster)
    if item is None or passed is None:
        item, passed, system = _unnamed_columns(data, item, passed, system)

    unnamed_system = system_column(data) if system is None else None
    names = [item, passed, system, cluster, unnamed_system]
    columns = columns_of(data, list(dict.fromkeys(name for name in names if name)))

    if unnamed_system is not None and unnamed_system not in (item, passed, cluster):
        _refuse_pooled_systems(columns[item], columns[unnamed_system], unnamed_system)

    items = columns[item]
    verdict = _verdicts(columns[passed], passed, threshold)
    if missing_scores == "fail":
        verdict = np.nan_to_num(verdict)

    clusters = columns[cluster] if cluster else None

    def count_rows(rows: Any) -> Attempts:
        """Return the attempts in some rows."""
        of_rows = None if clusters is None else clusters[rows]
        return _count_attempts(items[rows], verdict[rows], of_rows)

    if system is None:
        return count_rows(slice(None))

    systems, code = _number_names(columns[system], system)
    return {name: count_rows(code == number) for number, name in enumerate(systems)}


def _unnamed_columns(
    data: Frame, item: str | None, passed: str | None, system: str | None
) -> tuple[str, str, str | None]:
    """Return the columns of items, verdicts and systems by their names."""
    roles = None
    if isinstance(data, Mapping) or is_frame(data):
        roles = find_attempts(table_of(data), item=item, passed=passed, system=system)
    if roles is None:
        raise InputError(
            "attempts needs a column of items and a column of verdicts.",
            example=PythonCode(
                'trueness.attempts(frame, item="task", passed="correct")'
            ),
        )

    tell([roles.remark])
    return roles.item, roles.passed, roles.system


def _check_column_names(**names: object) -> None:
    """Raise an error for what is no name of a column."""
    for option, name in names.items():
        if name is not None and not isinstance(name, str):
            raise InputError(
                f"{option} must be the name of one column; found {described(name)}.",
                option=option,
            )


def system_column(data: Frame | VerdictLog) -> str | None:
    """Return the column that is called like one of systems; a log has none."""
    if isinstance(data, VerdictLog):
        return None
    for name in column_names(data):
        # columns of pandas may be numbered
        if str(name).strip().lower() in SYSTEM_NAMES:
            return name
    return None


def _refuse_pooled_systems(items: Array, system_of_attempt: Array, column: str) -> None:
    """Raise an error if attempts of several systems would count as those of one."""
    systems = list(dict.fromkeys(map(_name, system_of_attempt.tolist())))
    pairs = {
        (_name(i), _name(system))
        for i, system in zip(items, system_of_attempt, strict=True)
    }
    if len(systems) < 2 or len(pairs) == len({item for item, _ in pairs}):
        return

    raise InputError(
        f"Column {column!r} names {len(systems)} systems ({listing(systems, 4)}); "
        "their attempts would be counted as one system.",
        option="system",
        example=column,
    )


def read_evals(path: str | os.PathLike[str]) -> VerdictLog | Any:
    """Return an opened log, or a table with a row per attempt."""
    place = os.fspath(path)
    return read_verdicts(place) if is_log(place) else scan(place)


def columns_of_evals(
    data: Frame | VerdictLog, names: Sequence[str] | None = None
) -> Mapping[str, Array]:
    """Return the columns of what ``read_evals`` opened, of a table those named."""
    return data.columns if isinstance(data, VerdictLog) else columns_of(data, names)


def names_of_evals(data: Frame | VerdictLog) -> list[str]:
    """Return the names of the columns, without reading one."""
    return list(data.columns) if isinstance(data, VerdictLog) else column_names(data)


def rows_of_evals(
    data: Frame | VerdictLog, rows: Array, names: Sequence[str] | None = None
) -> VerdictLog | dict[str, Array]:
    """Return some rows of what ``read_evals`` opened."""
    columns = {
        name: values[rows] for name, values in columns_of_evals(data, names).items()
    }
    return replace(data, columns=columns) if isinstance(data, VerdictLog) else columns


def _columns_of_log(
    log: VerdictLog, item: str | None, passed: str | None, system: str | None
) -> tuple[str, str, str | None, Mapping[str, Array]]:
    """Return the columns of a log: its items, its one scorer, its systems."""
    if passed is None and len(log.judges) > 1:
        raise InputError(
            f"The log holds the verdicts of several judges, {listing(log.judges)}.",
            option="passed",
            choices=log.judges,
        )

    passed = passed or log.judges[0]
    if passed not in log.columns:
        raise InputError(
            f"The log has no column {passed!r}.{nearest(passed, list(log.columns))} "
            f"Its verdicts are {listing(log.judges)}."
        )

    if system is None and len(set(log.columns[SYSTEM].tolist())) > 1:
        system = SYSTEM

    # repeats of an item bear its name in the column of clusters
    item_column = CLUSTER if CLUSTER in log.columns else ITEM
    return item or item_column, passed, system, log.columns


def _verdicts(values: Array, name: str, threshold: float | None) -> Array:
    """Return verdicts as 1, 0 and NaN."""
    if values.dtype.kind in "OUS":
        values = np.array([_number(v, name) for v in values], float)

    verdict = values.astype(float)
    if threshold is not None:
        smallest_grade = _options.real_number(threshold, "threshold")
        return np.where(np.isnan(verdict), np.nan, verdict >= smallest_grade)

    graded = ~np.isnan(verdict) & (verdict != 0) & (verdict != 1)
    if graded.any():
        raise InputError(
            f"Column {name!r} holds grades, such as {verdict[graded][0]:g}, and not "
            "only 0 and 1. What is the lowest grade that passes?",
            option="threshold",
            example=0.5,
        )

    return verdict


def _number(value: LabelValue, name: str) -> float:
    """Read one verdict: a number, a truth value or a word; NaN where it is missing."""
    if value is None or value != value:
        return np.nan
    if isinstance(value, (bool, int, float, np.number, np.bool_)):
        return float(value)

    word = str(value).strip().lower()
    if word in _VERDICT_OF_WORD:
        return _VERDICT_OF_WORD[word]

    try:
        return float(word or "nan")
    except ValueError:
        raise InputError(
            f"Column {name!r} must say whether an attempt passed (true or false, 1 or "
            f"0, pass or fail); found {shown(value)!r}."
        ) from None


def _number_names(values: Array, name: str) -> tuple[list[str], Ints]:
    """Return the names of a column in order of appearance, and each row's number."""
    number_of: dict[str, int] = {}
    code = np.empty(values.size, int)
    for row, value in enumerate(values.tolist()):
        text = _name(value)
        if not text:
            raise InputError(f"Column {name!r} has no value in row {row + 1:,}.")
        code[row] = number_of.setdefault(text, len(number_of))

    return list(number_of), code


def _name(value: LabelValue) -> str:
    """Return the name of an item or a system as text; "" where it is missing."""
    if value is None or value != value:
        return ""
    if isinstance(value, float) and value.is_integer():
        value = int(value)  # 7.0, as a column with gaps holds it, is item 7
    return str(value).strip()


def _count_attempts(items: Array, verdict: Array, cluster: Array | None) -> Attempts:
    """Return the attempts at each item, and how many of them passed."""
    has_verdict = ~np.isnan(verdict)
    if not has_verdict.any():
        raise NotEnoughCases(
            f"None of the {verdict.size:,} attempts has a verdict. Did the scorer run?"
        )

    names, code = _number_names(items[has_verdict], "item")
    cluster_of_item = None
    if cluster is not None:
        cluster_of_item = _clusters_of_items(names, code, cluster[has_verdict])

    tried = np.bincount(code, minlength=len(names))
    passed = np.bincount(code, verdict[has_verdict], len(names)).astype(np.int64)

    return Attempts(
        np.array(names, object),
        passed,
        tried,
        cluster_of_item,
        int((~has_verdict).sum()),
    )


def _clusters_of_items(names: Sequence[str], code: Ints, cluster: Array) -> Array:
    """Return the cluster of each item; an item belongs to one."""
    cluster_names, number = _number_names(cluster, "cluster")
    number_of_item = np.zeros(len(names), int)
    number_of_item[code] = number
    in_another_cluster = np.flatnonzero(number_of_item[code] != number)

    if in_another_cluster.size:
        item = names[code[in_another_cluster[0]]]
        raise InputError(
            f"Item {shown(item)!r} is in several clusters. Give items of different "
            "clusters different names."
        )

    return np.array(cluster_names, object)[number_of_item]
