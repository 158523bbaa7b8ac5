"""Where do the counts come from?

Arrays, mappings and frames of any library that Narwhals knows become a tally, a panel
or leaves: here are the functions that people call. ``row_counts`` counts the rows.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, overload

import numpy as np

from trueness._core.checks import columns as _columns
from trueness._core.checks.errors import InputError, PythonCode
from trueness._core.data_types import Column, ColumnOrFrame, LabelValue
from trueness.counts.counting import split_counts
from trueness.counts.expected_labels import Unlabelled
from trueness.counts.values import Panel, Tally
from trueness.data import engines
from trueness.data.cleaning import tell
from trueness.data.columns import column, read_label_values, whole_cases
from trueness.data.count_request import CountRequest, one_weight, stated_design
from trueness.data.row_counts import (
    check_table,
    count_rows,
    is_table,
    only_arrays,
    unnamed_columns,
)

if TYPE_CHECKING:
    from trueness.trees.leaves import Leaves


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
        How many cases each row represents: an array, or a column of the frame.
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
    counts = tally_in_place(
        y_true,
        y_score,
        label=label,
        score=score,
        positive=positive,
        count=count,
        weight=weight,
        sample_weight=sample_weight,
        cluster=cluster,
        sampling=sampling,
        prevalence=prevalence,
        unlabelled=unlabelled,
        by=by,
        at_most=at_most,
        missing_scores=missing_scores,
        decimal=decimal,
    )
    # of few distinct scores the counts of a device come to the host
    if hasattr(counts, "to_host_if_few"):
        return counts.to_host_if_few()
    return counts


def tally_in_place(
    y_true: ColumnOrFrame | None,
    y_score: Column | None,
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
    """Return the counts of :func:`tally`; those of a device stay there."""
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
    return count_rows(y_true, y_score, request, design)


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
    return count_rows(y_true, scores, request, design)


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
    if node is None or is_table(y_true):
        y_true, node, count = _columns_of_leaves(y_true, node, label, count)
        what = f"column {label!r}"
    elif label is not None:
        raise InputError(
            only_arrays("node and label"),
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
    frame = check_table(frame, "leaves")

    if node is None and label is None:
        from trueness.data.named_roles import find_leaves, table_of

        roles = find_leaves(table_of(frame))
        if roles is not None:
            tell(roles.remarks)
            node = roles.node
            label = roles.label
            count = roles.count if count is None else count

    if node is None:
        raise InputError(
            unnamed_columns("leaves", frame),
            option="node",
            choices=engines.column_names(frame),
        )

    _columns.apart_from_label([node], label)
    columns = engines.read(frame, {"label": label, "node": node, "count": count})
    return columns.get("label"), columns.get("node"), columns.get("count")
