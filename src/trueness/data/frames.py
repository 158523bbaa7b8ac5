"""Where do the counts come from?

Arrays, mappings and frames of any library that Narwhals knows become a tally or a
panel. ``tally`` and ``panel`` take the same steps: which data are meant (``_count``),
the columns of a table, by its engine if it is lazy (``_count_table``), the cases
(``count_columns``).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, overload

import numpy as np

from trueness._core.arrays import Array, Ints
from trueness._core.checks import columns as _columns
from trueness._core.checks import options as _options
from trueness._core.checks.errors import InputError, PythonCode
from trueness._core.checks.words import plain
from trueness._core.data_types import Column, ColumnOrFrame, Frame, LabelValue
from trueness._core.imports import HigherFunction
from trueness.counts.counting import split_counts
from trueness.counts.expected_labels import Unlabelled
from trueness.counts.groups import Group, design_of_group, intersections
from trueness.counts.values import Panel, Tally
from trueness.data import cleaning, engines, streaming
from trueness.data.columns import (
    column,
    count_columns,
    is_frame,
    on_device,
    one_thing,
    read_label_values,
    read_scores,
    several_columns,
    whole_cases,
)
from trueness.data.count_request import CountRequest, one_weight, stated_design
from trueness.data.engine_bins import binned_tally
from trueness.data.storage import are_counts, count_columns_of, tally_of_counts
from trueness.data.total_rows import without_total_row

if TYPE_CHECKING:
    import narwhals.stable.v2 as nw
    from typing_extensions import TypeIs

    from trueness.trees.leaves import Leaves

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
_NAMED = {
    "tally": ("y_score", 'label="y", score="p"', "Name the score column of the frame"),
    "panel": ('{"a": a, "b": b}', 'label="y", scores=["a", "b"]',
              "Name the score columns in a list"),
    "leaves": ("nodes", 'node="leaf", label="y"', "Name the column of leaves"),
}  # fmt: skip


@overload
def tally(
    y_true: ColumnOrFrame | None,
    y_score: Column | None = ...,
    *,
    label: str | None = ...,
    score: str | None = ...,
    positive: LabelValue = ...,
    count: Column | None = ...,
    weight: Column | None = ...,
    sample_weight: Column | None = ...,
    cluster: Column | None = ...,
    sampling: str | None = ...,
    prevalence: float | None = ...,
    unlabelled: Unlabelled | None = ...,
    by: None = ...,
    at_most: int | None = ...,
    missing_scores: str = ...,
    decimal: str | None = ...,
) -> Tally: ...
@overload
def tally(
    y_true: ColumnOrFrame | None,
    y_score: Column | None = ...,
    *,
    label: str | None = ...,
    score: str | None = ...,
    positive: LabelValue = ...,
    count: Column | None = ...,
    weight: Column | None = ...,
    sample_weight: Column | None = ...,
    cluster: Column | None = ...,
    sampling: str | None = ...,
    prevalence: float | None = ...,
    unlabelled: Unlabelled | None = ...,
    by: Column,
    at_most: int | None = ...,
    missing_scores: str = ...,
    decimal: str | None = ...,
) -> dict[Any, Tally]: ...


def tally(
    y_true: ColumnOrFrame | None,
    y_score: Column | None = None,
    *,
    label: str | None = None,
    score: str | None = None,
    positive: LabelValue = None,
    count: Column | None = None,
    weight: Column | None = None,
    sample_weight: Column | None = None,
    cluster: Column | None = None,
    sampling: str | None = None,
    prevalence: float | None = None,
    unlabelled: Unlabelled | None = None,
    by: Column | None = None,
    at_most: int | None = None,
    missing_scores: str = "refuse",
    decimal: str | None = None,
) -> Any:
    """Counts of negatives, positives and unknowns for each score.

    ``tally(y_true, y_score)`` takes columns; ``tally(frame, label="y", score="p")``
    takes a frame. Missing labels are counted as unknown; missing scores are an error.
    Text such as "80 %" or "yes" is read, and a ``CleanedWarning`` says how. A frame of
    counts (``docs/counts.md``; the result of :func:`sql`) needs no names.

    Parameters
    ----------
    y_true
        The labels (None: all unknown), a frame, or a mapping from name to column.
    y_score
        The scores; higher means more likely positive. Not with a frame.
    label, score
        Names of columns of the frame; ``label=None`` makes all cases unknown.
    positive
        The label value that counts as positive. 0/1, False/True and -1/1 need none, nor
        do known pairs of words (yes/no, positive/negative, sick/healthy, ...).
    count
        How many cases each row stands for: an array, or a column of the frame.
    weight, sample_weight
        How much each case weighs (survey weights, inverse probabilities): zero or
        more, an array or a column of the frame; see ``docs/howto/sampling.md``.
    cluster
        The cluster of each case (patient, site): an array, or a column of the frame.
        Intervals then allow for the correlation within clusters.
    sampling
        ``"cohort"`` (the default): cases were drawn without regard to their label.
        ``"case-control"``: a fixed number of each class; metrics that depend on their
        proportion then need ``prevalence``.
    prevalence
        The proportion of positives in the target population; that of the cases when
        None.
    unlabelled
        Cases without a label are ``"left out"`` (the default) or ``"missing at
        random"`` given the score (Begg and Greenes). Or they have expected labels: pass
        a calibration map of this score, or labelled reference cases
        (:class:`trueness.ExpectedLabels`). With ``by`` a mapping from group to map.
    by
        Groups: an array, a column of the frame, or a list of columns. The result is
        then a dict from group to tally. With several columns (``by=["sex", "race"]``)
        analyses return each column separately, too.
    at_most
        The largest number of rows. Where there are more distinct scores, neighbouring
        ones share a bin, and :func:`bounds` shows the effect.
    missing_scores
        Cases without a score: ``"refuse"`` (the default) stops, ``"drop"`` leaves them
        out.
    decimal
        The decimal separator of scores that are text, "." or ","; needed only where
        1,234 could be either.

    Examples
    --------
    >>> tally([1, 0, 1, None], [0.9, 0.4, 0.4, 0.1])
    Tally: 4 cases (1 negative, 2 positive, 1 unknown),
    3 distinct scores from 0.1 to 0.9
    """
    request = CountRequest(
        kind="tally",
        label=label,
        score=score,
        positive=positive,
        count=count,
        weight=one_weight(weight, sample_weight),
        cluster=cluster,
        by=by,
        at_most=at_most,
        missing_scores=missing_scores,
        decimal=decimal,
    )
    design = stated_design(sampling, prevalence, unlabelled)
    counts = _count(y_true, y_score, request, design)
    # of few distinct scores the counts of a device come to the host
    if hasattr(counts, "to_host_if_few"):
        return counts.to_host_if_few()
    return counts


def tally_in_place(
    y_true: ColumnOrFrame | None,
    y_score: Column | None,
    *,
    weight: Column | None = None,
    sample_weight: Column | None = None,
    sampling: str | None = None,
    prevalence: float | None = None,
    unlabelled: Unlabelled | None = None,
    **arguments: Any,
) -> Any:
    """Count as :func:`tally`; the counts of a device stay there, however few."""
    request = CountRequest(
        kind="tally", weight=one_weight(weight, sample_weight), **arguments
    )
    design = stated_design(sampling, prevalence, unlabelled)
    return _count(y_true, y_score, request, design)


@overload
def panel(
    y_true: ColumnOrFrame | None,
    scores: ColumnOrFrame | None = ...,
    *,
    label: str | None = ...,
    positive: LabelValue = ...,
    count: Column | None = ...,
    weight: Column | None = ...,
    sample_weight: Column | None = ...,
    cluster: Column | None = ...,
    sampling: str | None = ...,
    prevalence: float | None = ...,
    unlabelled: Unlabelled | None = ...,
    by: None = ...,
    missing_scores: str = ...,
    decimal: str | None = ...,
) -> Panel: ...
@overload
def panel(
    y_true: ColumnOrFrame | None,
    scores: ColumnOrFrame | None = ...,
    *,
    label: str | None = ...,
    positive: LabelValue = ...,
    count: Column | None = ...,
    weight: Column | None = ...,
    sample_weight: Column | None = ...,
    cluster: Column | None = ...,
    sampling: str | None = ...,
    prevalence: float | None = ...,
    unlabelled: Unlabelled | None = ...,
    by: Column,
    missing_scores: str = ...,
    decimal: str | None = ...,
) -> dict[Any, Panel]: ...


def panel(
    y_true: ColumnOrFrame | None,
    scores: ColumnOrFrame | None = None,
    *,
    label: str | None = None,
    positive: LabelValue = None,
    count: Column | None = None,
    weight: Column | None = None,
    sample_weight: Column | None = None,
    cluster: Column | None = None,
    sampling: str | None = None,
    prevalence: float | None = None,
    unlabelled: Unlabelled | None = None,
    by: Column | None = None,
    missing_scores: str = "keep",
    decimal: str | None = None,
) -> Any:
    """Counts of negatives, positives and unknowns for each row of outputs.

    ``panel(y_true, {"a": a, "b": b})`` takes columns; ``panel(frame, label="y",
    scores=["a", "b"])`` takes a frame. A missing output is kept as NaN.

    Parameters
    ----------
    y_true
        The labels (None: all unknown), a frame, or a mapping from name to column.
    scores
        A mapping from name to column, a frame or a 2-d array of scores, or names of
        columns of the frame.
    label
        Name of the label column of the frame; None makes all cases unknown.
    positive, count, weight, sample_weight, cluster, by, sampling, prevalence, \
unlabelled, decimal
        As in :func:`tally`.
    missing_scores
        Cases in which an output is missing: ``"keep"`` them (the default), ``"drop"``
        them, or ``"refuse"`` to count.

    Examples
    --------
    >>> panel([1, 0, 0], {"a": [1, 0, 1], "b": [1, 1, 1]})
    Panel of a, b: 3 cases (2 negative, 1 positive, 0 unknown), 2 distinct rows
    """
    request = CountRequest(
        kind="panel",
        label=label,
        positive=positive,
        count=count,
        weight=one_weight(weight, sample_weight),
        cluster=cluster,
        by=by,
        missing_scores=missing_scores,
        decimal=decimal,
    )
    design = stated_design(sampling, prevalence, unlabelled)
    return _count(y_true, scores, request, design)


def leaves(
    y_true: ColumnOrFrame | None,
    node: Column | None = None,
    *,
    label: str | None = None,
    positive: LabelValue = None,
    count: Column | None = None,
) -> Leaves:
    """Counts of negatives, positives and unknowns in each leaf.

    ``leaves(frame, node="leaf", label="y")`` takes a frame, ``leaves(y_true, nodes)``
    columns. Any categorical column can serve as leaves.

    Parameters
    ----------
    y_true
        A frame, or the labels (None: all unknown).
    node
        Which leaf each case fell into, as numbers or as text; or a column of the frame.
    label
        The label column of the frame.
    positive, count
        As in :func:`tally`.

    Examples
    --------
    >>> leaves([1, 0, 1, None], ["a", "a", "b", "b"])
    Leaves: 4 cases (1 negative, 2 positive, 1 unknown) in 2 leaves
    """
    what = "y_true"
    if node is None or _is_table(y_true):
        y_true, node, count = _columns_of_leaves(y_true, node, label, count)
        what = f"column {label!r}"
    elif label is not None:
        raise InputError(
            _only_arrays("node and label"),
            example=PythonCode("trueness.leaves(y_true, nodes)"),
        )

    names = column(node, "node")
    labels = read_label_values(y_true, positive, what, {"node": names})
    cases = np.ones(names.size, np.int64)

    if count is not None:
        cases = whole_cases(count, names)

    from trueness.trees.leaves import Leaves  # loads SciPy, which tallies do without

    return Leaves(names, *split_counts(labels, cases))


@engines.in_turn
def _columns_of_leaves(
    frame: ColumnOrFrame | None,
    node: Column | None,
    label: str | None,
    count: Column | None,
) -> tuple[Any, Any, Any]:
    """Read the labels, the leaves and the numbers of cases of a frame."""
    frame = _table(frame, "leaves")

    if node is None:
        raise InputError(
            _unnamed("leaves", frame),
            option="node",
            choices=engines.column_names(frame),
        )

    _columns.apart_from_label([node], label)
    columns = engines.read(frame, {"label": label, "node": node, "count": count})
    return columns.get("label"), columns.get("node"), columns.get("count")


def _only_arrays(arguments: str) -> str:
    """Say that arrays have no names of columns."""
    return f"{arguments} name columns of a frame; leave them out for arrays."


def _unnamed(kind: str, data: ColumnOrFrame | None) -> str:
    """Say which columns of a table must be named."""
    if isinstance(data, Mapping) and kind == "tally":
        return "Name the columns of the labels and of the scores."
    _, _, needed = _NAMED[kind]
    return f"{needed}."


def _score_option(kind: str) -> str:
    """Return the argument that names the columns of scores."""
    return "scores" if kind == "panel" else "score"


def _is_table(data: ColumnOrFrame | None) -> TypeIs[Frame]:
    """Is this a frame, or a mapping from name to column?"""
    return isinstance(data, Mapping) or is_frame(data)


def _table(data: ColumnOrFrame | None, name: str) -> Frame:
    """Pass on a frame, or a mapping of columns; stop at anything else."""
    if _is_table(data):
        return data

    array, column_names, _ = _NAMED[name]
    outputs = "leaves" if name == "leaves" else "scores"
    table = f"trueness.scan({data!r})" if isinstance(data, str) else "frame"
    raise InputError(
        f"{name} needs labels and {outputs}, or a frame; found {one_thing(data)}.",
        example=PythonCode(
            f"trueness.{name}(y_true, {array}) or "
            f"trueness.{name}({table}, {column_names})"
        ),
    )


def designed(counts: Counts, design: Mapping[str, Any]) -> Any:
    """State the sampling design of counts, or of groups of them."""
    if isinstance(counts, Mapping):
        return {
            name: designed(of_group, design_of_group(design, name))
            for name, of_group in counts.items()
        }
    return counts.with_design(**design)


def _count(
    data: ColumnOrFrame | None,
    scores: ColumnOrFrame | None,
    request: CountRequest,
    design: Mapping[str, Any],
) -> Any:
    """Count a table, or arrays, and state the sampling design of the cases."""
    _options.choice(request.missing_scores, MISSING, "missing_scores")
    if _names_columns(data, scores, request):
        counts = _count_table(data, scores, request)
    else:
        counts = _count_arrays(data, scores, request)
    return designed(counts, design) if design else counts


def _names_columns(
    data: ColumnOrFrame | None, scores: ColumnOrFrame | None, request: CountRequest
) -> bool:
    """Are columns of a table named, in place of arrays?"""
    if request.is_panel:
        return _is_table(data) and not isinstance(scores, Mapping)

    if _is_table(data) and isinstance(scores, str):
        raise InputError(
            _unnamed(request.kind, data),
            option=_score_option(request.kind),
            choices=engines.column_names(data),
        )

    return scores is None


def _count_arrays(
    labels: ColumnOrFrame | None, scores: ColumnOrFrame | None, request: CountRequest
) -> Any:
    """Count arrays of labels and scores."""
    if request.label is not None or request.score is not None:
        array = _NAMED[request.kind][0]
        raise InputError(
            _only_arrays("label and score"),
            example=PythonCode(f"trueness.{request.kind}(y_true, {array})"),
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
    return count_columns(labels, scores, replace(request, positive=positive))


def _check_scores_of_engine(
    scores: Mapping[str, Array], request: CountRequest, cases_of_rows: Ints
) -> None:
    """Stop at scores that are not finite: rows of an engine are no rows of the user."""
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
    """Count scores where they are, on a device."""
    others = (request.count, request.weight, request.cluster, request.by)
    if any(values is not None for values in others):
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
    """Count columns of a frame or a mapping, by the engine of a lazy frame."""
    table: Frame = without_total_row(_table(data, request.kind), request.label)
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
        by_itself = not request.is_panel and complete and not group_columns
        if by_itself and engines.is_lazy(table):
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
    """Count columns that were read, by the roles that they have."""
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
    """Stop where no score is named, one is named twice, or one is the label."""
    if not score_names or score_names.get("score", "") is None:
        raise InputError(
            _unnamed(request.kind, data),
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
    """Which columns make the groups, where several are named? Otherwise none."""
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
    """Count bins in the engine, or a stream of its rows; None where neither can be."""
    wanted = engines.wanted_columns(lazy, roles)
    positive, clean = _clean_labels(lazy, wanted, request.positive)
    if not clean:
        return None

    if request.at_most is not None and "cluster" not in wanted:
        if {"weight", "count"} <= wanted.keys():
            raise InputError(
                "Bins of a lazy frame take counts or weights, not both. Leave "
                "at_most out, or multiply each weight by its count.",
                option="at_most",
            )
        rows = engines.by_role(lazy, wanted)
        return binned_tally(rows, wanted, positive, request.at_most)

    if not streaming.can_stream(lazy, wanted):
        return None
    if "weight" in wanted:
        return streaming.weigh(lazy, wanted, positive)
    return streaming.stream(lazy, wanted, positive)


def _clean_labels(
    lazy: nw.LazyFrame[Any], wanted: Mapping[str, str], positive: LabelValue
) -> tuple[object, bool]:
    """Which label is positive, and can rows be counted without being cleaned?

    The engine is asked for the labels where they are text; scores that are text are not
    counted there.
    """
    schema = lazy.collect_schema()
    score = schema[wanted["score"]]
    if not (score.is_numeric() or score.is_decimal()):
        return positive, False
    if "label" not in wanted or schema[wanted["label"]].is_numeric():
        return positive, True

    values = engines.label_values(lazy, wanted["label"])
    has_text = any(isinstance(value, str) for value in values)
    if not has_text or len(values) > MOST_LABELS:
        return positive, True

    what = f"column {wanted['label']!r}"
    labels = cleaning.label_words(values, positive, what)
    is_clean = len(values) <= 2 and set(labels.code.values()) <= {0, 1}
    if not is_clean:
        return positive, False

    cleaning.tell(cleaning.label_remarks(labels))
    return labels.positive, True


def _counts_named(names: Sequence[str], roles: Mapping[str, object]) -> bool:
    """Is this a table of counts, of which nobody named a column to be counted?"""
    others = (roles["label"], roles["count"], roles["weight"], roles["cluster"])
    is_own_score = roles["score"] is None or str(roles["score"]).lower() == "score"
    return is_own_score and all(name is None for name in others) and are_counts(names)


def _read_counts(
    data: Frame,
    names: Sequence[str],
    by: Column | None,
    at_most: int | None,
) -> Tally | dict[Any, Tally]:
    """Read the counts that a table holds, all of them or each group's."""
    wanted = count_columns_of(names)
    group_columns: list[str] = []
    if isinstance(by, list):
        group_columns = by
    elif by is not None:
        group_columns = [str(by)]

    columns = engines.columns_of(data, [*wanted.values(), *group_columns])

    def tally_at(rows: Any) -> Tally:
        counts = {role: columns[name][rows] for role, name in wanted.items()}
        tally = tally_of_counts(counts)
        return tally if at_most is None else tally.bin(at_most)

    if not group_columns:
        return tally_at(slice(None))

    if len(group_columns) > 1:
        code, groups = intersections(
            group_columns, [columns[name] for name in group_columns]
        )
        return {group: tally_at(code == k) for k, group in enumerate(groups)}

    group_names, member = _columns.group_members(columns[group_columns[0]])
    return {plain(name): tally_at(member == k) for k, name in enumerate(group_names)}
