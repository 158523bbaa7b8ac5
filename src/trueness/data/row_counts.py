"""How are the rows of a table, or of arrays, counted?

``count_rows`` is what ``tally`` and ``panel`` have in common. It decides which data are
meant; the columns of a table are read, by its engine if it is lazy (``_count_table``);
then their cases are counted (``_count_columns``).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from trueness._core.arrays import Array, Ints
from trueness._core.checks import columns as _columns
from trueness._core.checks import options as _options
from trueness._core.checks.errors import InputError, PythonCode
from trueness._core.checks.words import plain
from trueness._core.data_types import Column, ColumnOrFrame, Frame, LabelValue
from trueness._core.imports import HigherFunction
from trueness.counts.groups import Group, design_of_group, intersections
from trueness.counts.values import Panel, Tally
from trueness.data import cleaning, engines, streaming
from trueness.data.columns import (
    column,
    count_columns,
    is_frame,
    on_device,
    one_thing,
    read_scores,
    several_columns,
)
from trueness.data.count_request import CountRequest
from trueness.data.engine_bins import binned_tally
from trueness.data.storage import are_counts, count_columns_of, tally_of_counts
from trueness.data.total_rows import without_total_row

if TYPE_CHECKING:
    import narwhals.stable.v2 as nw
    from typing_extensions import TypeIs

Counts = Tally | Panel | Mapping[Any, Tally | Panel]
MOST_LABELS = 100  # of a column: with more it is some other column
MISSING = ("refuse", "drop", "keep")
# of a test that is neither positive (1) nor negative (0); a rule defers there
INDETERMINATE_SCORE = 0.5
# counts of arrays that stay on a device
DEVICE_PANEL: HigherFunction[Callable[[Any, Mapping[str, Any], object], Any]] = (
    HigherFunction("device_panel")
)
DEVICE_TALLY: HigherFunction[Callable[[Any, Any, object, int | None], Any]] = (
    HigherFunction("device_tally")
)


class CallExample(NamedTuple):
    """Example of a call with arrays and with a frame, for the advice of an error."""

    arrays: str
    columns: str
    advice: str


# by the name of the function that is called
_EXAMPLES = {
    "tally": CallExample(
        arrays="y_score",
        columns='label="y", score="p"',
        advice="Name the score column of the frame.",
    ),
    "panel": CallExample(
        arrays='{"a": a, "b": b}',
        columns='label="y", scores=["a", "b"]',
        advice="Name the score columns in a list.",
    ),
    "leaves": CallExample(
        arrays="nodes",
        columns='node="leaf", label="y"',
        advice="Name the column of leaves.",
    ),
}


def only_arrays(arguments: str) -> str:
    """Return the advice that arrays have no names of columns."""
    return f"{arguments} name columns of a frame; leave them out for arrays."


def unnamed_columns(kind: str, data: ColumnOrFrame | None) -> str:
    """Return the advice which columns of a table must be named."""
    if isinstance(data, Mapping) and kind == "tally":
        return "Name the columns of the labels and of the scores."
    return _EXAMPLES[kind].advice


def _score_option(kind: str) -> str:
    """Return the argument that names the columns of scores."""
    return "scores" if kind == "panel" else "score"


def is_table(data: ColumnOrFrame | None) -> TypeIs[Frame]:
    """Return whether this is a frame, or a mapping from name to column."""
    return isinstance(data, Mapping) or is_frame(data)


def check_table(data: ColumnOrFrame | None, name: str) -> Frame:
    """Return a frame, or a mapping of columns; raise an error for anything else."""
    if is_table(data):
        return data

    example = _EXAMPLES[name]
    outputs = "leaves" if name == "leaves" else "scores"
    table = f"trueness.scan({data!r})" if isinstance(data, str) else "frame"
    raise InputError(
        f"{name} needs labels and {outputs}, or a frame; found {one_thing(data)}.",
        example=PythonCode(
            f"trueness.{name}(y_true, {example.arrays}) or "
            f"trueness.{name}({table}, {example.columns})"
        ),
    )


def state_design(counts: Counts, design: Mapping[str, Any]) -> Any:
    """State the sampling design of counts, or of groups of them."""
    if isinstance(counts, Mapping):
        return {
            name: state_design(of_group, design_of_group(design, name))
            for name, of_group in counts.items()
        }
    return counts.with_design(**design)


def count_rows(
    data: ColumnOrFrame | None,
    scores: ColumnOrFrame | None,
    request: CountRequest,
    design: Mapping[str, Any],
) -> Any:
    """Return the counts of a table, or of arrays, with the sampling design."""
    _options.choice(request.missing_scores, MISSING, "missing_scores")
    if _names_columns(data, scores, request):
        counts = _count_table(data, scores, request)
    else:
        counts = _count_arrays(data, scores, request)
    return state_design(counts, design) if design else counts


def _names_columns(
    data: ColumnOrFrame | None, scores: ColumnOrFrame | None, request: CountRequest
) -> bool:
    """Return whether columns of a table are named, in place of arrays."""
    if request.is_panel:
        return is_table(data) and not isinstance(scores, Mapping)

    if is_table(data) and isinstance(scores, str):
        raise InputError(
            unnamed_columns(request.kind, data),
            option=_score_option(request.kind),
            choices=engines.column_names(data),
        )

    return scores is None


def _count_arrays(
    labels: ColumnOrFrame | None, scores: ColumnOrFrame | None, request: CountRequest
) -> Any:
    """Return the counts of arrays of labels and scores."""
    if request.label is not None or request.score is not None:
        arrays = _EXAMPLES[request.kind].arrays
        raise InputError(
            only_arrays("label and score"),
            example=PythonCode(f"trueness.{request.kind}(y_true, {arrays})"),
        )

    columns: Mapping[str, Any] = {"y_score": scores}
    if request.is_panel:
        columns = _columns.mapping_of_scores(several_columns(scores))

    return _count_columns(labels, columns, request)


def _count_columns(
    labels: ColumnOrFrame | None,
    columns: Mapping[str, Column],
    request: CountRequest,
    cases_of_rows: Ints | None = None,
) -> Any:
    """Return the tally or panel of columns, counted on the host or on their device.

    ``cases_of_rows``: of how many cases each row is made, where an engine has counted.
    """
    if any(on_device(values) for values in columns.values()):
        return _count_on_device(labels, columns, request)

    columns = {
        name: _verdicts_or_scores(labels, values, request.positive)
        for name, values in columns.items()
    }
    scores = {
        name: read_scores(
            values,
            request.score_called.format(name),
            request.decimal,
            cases_of_rows,
            request.positive,
            # of one test it lies between its two results; a panel has votes
            indeterminate=np.nan if request.is_panel else INDETERMINATE_SCORE,
        )
        for name, values in columns.items()
    }

    if cases_of_rows is not None:
        _check_scores_of_engine(scores, request, cases_of_rows)

    positive = cleaning.positive_of_labels(labels, columns, request.positive)
    if positive is not request.positive:
        request = replace(request, positive=positive)
    return count_columns(labels, scores, request)


def _verdicts_or_scores(
    labels: ColumnOrFrame | None, values: Column, positive: LabelValue
) -> Column:
    """Return 1 or 0 where all results are one word of the labels, else the column."""
    if labels is None or is_frame(labels):
        return values

    results = column(values, "y_score")
    if not cleaning.has_text(results):
        return values
    verdicts = cleaning.verdicts_of_one_word(
        results, column(labels, "y_true"), positive
    )
    return values if verdicts is None else verdicts


def _check_scores_of_engine(
    scores: Mapping[str, Array], request: CountRequest, cases_of_rows: Ints
) -> None:
    """Raise an error for scores that are not finite, which counts cases.

    Rows of the engine's group-by are not rows of the user's table.
    """
    keeps_missing = request.is_panel or request.missing_scores == "drop"
    for name, score in scores.items():
        if score.dtype.kind == "f":
            _columns.finite_scores(
                score,
                request.score_called.format(name),
                allow_nan=keeps_missing,
                cases=cases_of_rows,
            )


def _count_on_device(
    labels: ColumnOrFrame | None, columns: Mapping[str, Any], request: CountRequest
) -> Any:
    """Return the counts of scores on a device, made there."""
    other_columns = (request.count, request.weight, request.cluster, request.by)
    if any(values is not None for values in other_columns):
        raise InputError(
            "count, weight, cluster and by are for arrays on the host. Count each "
            "group of a device array by itself, and add the tallies; copy weighted or "
            "clustered cases to the host."
        )

    if request.is_panel:
        return DEVICE_PANEL.load()(labels, columns, request.positive)

    (score,) = columns.values()
    return DEVICE_TALLY.load()(labels, score, request.positive, request.at_most)


# ---- tables


@engines.in_turn
def _count_table(
    data: ColumnOrFrame | None, scores: ColumnOrFrame | None, request: CountRequest
) -> Any:
    """Return the counts of a frame or a mapping; of a lazy frame, by its engine."""
    table: Frame = without_total_row(check_table(data, request.kind), request.label)
    names = engines.column_names(table)
    by, group_columns = _columns_of_groups(request.by, names)
    scores_by_role = _roles_of_scores(table, scores, request)
    table, roles = engines.with_text_names(
        table,
        {
            "label": request.label,
            "count": request.count,
            "weight": request.weight,
            "cluster": request.cluster,
            "by": by,
            **scores_by_role,
            **{f"by[{k}]": name for k, name in enumerate(group_columns)},
        },
    )
    if not request.is_panel and _counts_named(names, roles):
        return _read_counts(table, names, group_columns or roles["by"], request.at_most)

    score_names = {role: roles[role] for role in scores_by_role}
    _check_score_names(table, score_names, roles["label"], request)

    # a panel keeps what is missing, or leaves it out itself
    complete = request.is_panel or request.missing_scores != "drop"

    if not isinstance(table, Mapping):
        table = engines.open_frame(table)
        engine_may_count = not request.is_panel and complete and not group_columns
        if engine_may_count and engines.is_lazy(table):
            counts = _count_by_engine(table, roles, request)
            if counts is not None:
                return counts

    columns = engines.read(table, roles, complete=complete)

    return _count_columns_of_table(
        columns,
        score_names,
        group_columns,
        is_lazy=engines.is_lazy(table),
        request=replace(request, labels_called=f"column {roles['label']!r}"),
    )


def _count_columns_of_table(
    columns: Mapping[str, Any],
    score_names: Mapping[str, object],
    group_columns: Sequence[str],
    *,
    is_lazy: bool,
    request: CountRequest,
) -> Any:
    """Return the counts of columns that were read, by the roles that they have."""
    if request.is_panel:
        score_called = "score {!r}"
        scores = {str(name): columns[role] for role, name in score_names.items()}
    else:
        score_called = "{}"
        scores = {
            f"score {name!r}": columns[role] for role, name in score_names.items()
        }

    by = columns.get("by")
    groups: list[Group] = []
    if group_columns:
        parts = [
            column(columns[f"by[{k}]"], name) for k, name in enumerate(group_columns)
        ]
        by, groups = intersections(group_columns, parts)

    counts = _count_columns(
        columns.get("label"),
        scores,
        replace(
            request,
            count=columns.get("count"),
            weight=columns.get("weight"),
            cluster=columns.get("cluster"),
            by=by,
            score_called=score_called,
        ),
        # an engine gives distinct rows, and how many cases each of them is
        cases_of_rows=columns["count"] if is_lazy else None,
    )

    if not group_columns:
        return counts
    return {groups[code]: of_group for code, of_group in counts.items()}


def _roles_of_scores(
    data: Frame, scores: ColumnOrFrame | None, request: CountRequest
) -> dict[str, object]:
    """Return the names of the columns of scores, by their roles."""
    if not request.is_panel:
        return {"score": request.score}

    names: Sequence[object] = ()
    if isinstance(scores, str):
        # one name of a column: only of a mapping it has no other meaning
        names = [scores] if isinstance(data, Mapping) else ()
    elif isinstance(scores, Sequence):
        names = scores

    return {f"scores[{k}]": name for k, name in enumerate(names)}


def _check_score_names(
    data: Frame,
    score_names: Mapping[str, object],
    label: str | None,
    request: CountRequest,
) -> None:
    """Raise an error if no score is named, one is named twice, or one is the label."""
    if not score_names or score_names.get("score", "") is None:
        raise InputError(
            unnamed_columns(request.kind, data),
            option=_score_option(request.kind),
            choices=engines.column_names(data),
        )

    names: list[Any] = list(score_names.values())
    _columns.distinct_names(names)
    _columns.apart_from_label(names, label)


def _columns_of_groups(
    by: Column | None, names: Sequence[str]
) -> tuple[Column | None, list[str]]:
    """Separate groups of one column, or of an array, from those of several columns."""
    several = _several_columns_of_groups(by, names)
    if not several:
        return by, []
    if len(several) == 1:
        return several[0], []
    return None, several


def _several_columns_of_groups(by: Column | None, names: Sequence[str]) -> list[str]:
    """Return the columns that make the groups, where several are named."""
    if not isinstance(by, (list, tuple)):
        return []
    if not all(isinstance(name, str) for name in by):
        return []

    # a list in which no name is a column holds the groups themselves
    if not any(name in names for name in by):
        return []
    return [_columns.column(name, names, "by") for name in dict.fromkeys(by)]


def _count_by_engine(
    lazy: nw.LazyFrame[Any], roles: Mapping[str, object], request: CountRequest
) -> Any:
    """Return counts of bins, or of a stream of rows; None where neither is possible."""
    column_of_role = engines.columns_of_roles(lazy, roles)
    positive, clean = _clean_labels(lazy, column_of_role, request.positive)
    if not clean:
        return None

    if request.at_most is not None and "cluster" not in column_of_role:
        if {"weight", "count"} <= column_of_role.keys():
            raise InputError(
                "Bins of a lazy frame take counts or weights, not both. Leave "
                "at_most out, or multiply each weight by its count.",
                option="at_most",
            )
        rows = engines.select_by_role(lazy, column_of_role)
        return binned_tally(rows, column_of_role, positive, request.at_most)

    if not streaming.can_stream(lazy, column_of_role):
        return None
    if "weight" in column_of_role:
        return streaming.weigh(lazy, column_of_role, positive)
    return streaming.stream(lazy, column_of_role, positive)


def _clean_labels(
    lazy: nw.LazyFrame[Any], column_of_role: Mapping[str, str], positive: LabelValue
) -> tuple[object, bool]:
    """Return the positive label, and whether rows can be counted without being cleaned.

    The engine is asked for the labels where they are text; scores that are text are not
    counted there.
    """
    schema = lazy.collect_schema()
    score = schema[column_of_role["score"]]
    if not (score.is_numeric() or score.is_decimal()):
        return positive, False
    if "label" not in column_of_role or schema[column_of_role["label"]].is_numeric():
        return positive, True

    values = engines.label_values(lazy, column_of_role["label"])
    has_text = any(isinstance(value, str) for value in values)
    if not has_text or len(values) > MOST_LABELS:
        return positive, True

    labels = cleaning.label_words(
        values, positive, f"column {column_of_role['label']!r}"
    )
    is_clean = len(values) <= 2 and set(labels.code.values()) <= {0, 1}
    if not is_clean:
        return positive, False

    cleaning.tell(cleaning.label_remarks(labels))
    return labels.positive, True


def _counts_named(names: Sequence[str], roles: Mapping[str, object]) -> bool:
    """Return whether this is a table of counts, where no column to count is named."""
    others = (roles["label"], roles["count"], roles["weight"], roles["cluster"])
    is_own_score = roles["score"] is None or str(roles["score"]).lower() == "score"
    return is_own_score and all(name is None for name in others) and are_counts(names)


def _read_counts(
    data: Frame,
    names: Sequence[str],
    by: Column | None,
    at_most: int | None,
) -> Tally | dict[Any, Tally]:
    """Return the counts that a table holds, all of them or each group's."""
    column_of_counts = count_columns_of(names)
    group_columns: list[str] = []
    if isinstance(by, list):
        group_columns = by
    elif by is not None:
        group_columns = [str(by)]

    columns = engines.columns_of(data, [*column_of_counts.values(), *group_columns])

    def tally_at(rows: Any) -> Tally:
        """Return the counts in some rows of the table."""
        counts = {role: columns[name][rows] for role, name in column_of_counts.items()}
        tally = tally_of_counts(counts)
        return tally if at_most is None else tally.bin(at_most)

    if not group_columns:
        return tally_at(slice(None))

    if len(group_columns) > 1:
        code, groups = intersections(
            group_columns, [columns[name] for name in group_columns]
        )
        return {group: tally_at(code == number) for number, group in enumerate(groups)}

    group_names, member = _columns.group_members(columns[group_columns[0]])
    return {
        plain(name): tally_at(member == number)
        for number, name in enumerate(group_names)
    }
