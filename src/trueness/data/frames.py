"""Where do the counts come from?

The door for data: arrays, lists, Series and frames of any library that Narwhals knows
(pandas, Polars, Arrow, DuckDB, PySpark, Ibis, ...) become a
:class:`~trueness.counts.values.Tally` or a :class:`~trueness.counts.values.Panel`. An
eager frame is read column by column; a lazy one is counted by its own engine
(``engines.py``).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeVar, overload

import numpy as np

from trueness._core.arrays import Array, Ints
from trueness._core.checks import columns as _columns
from trueness._core.checks import options as _options
from trueness._core.checks.errors import InputError
from trueness._core.checks.words import listing, plain
from trueness._core.imports import handler
from trueness.counts.counting import (
    Labels,
    Weights,
    count_panel,
    count_tally,
    read_weights,
    split_counts,
)
from trueness.counts.values import Panel, Tally
from trueness.data import cleaning, engines, streaming
from trueness.data.columns import column, is_frame, on_device, several_columns
from trueness.data.count_tables import (
    are_counts,
    count_columns_of,
    groups_of_counts,
    tally_of_counts,
)
from trueness.data.engine_bins import binned_tally

if TYPE_CHECKING:
    from trueness.trees.leaf_counts import Leaves

T = TypeVar("T")
MOST_LABELS = 100  # of a column: with more it is some other column


@overload
def tally(
    y_true: Any,
    y_score: Any = ...,
    *,
    label: str | None = ...,
    score: str | None = ...,
    positive: Any = ...,
    count: Any = ...,
    weight: Any = ...,
    sample_weight: Any = ...,
    cluster: Any = ...,
    sampling: str | None = ...,
    prevalence: float | None = ...,
    unlabelled: str | None = ...,
    by: None = ...,
    at_most: int | None = ...,
    missing: str = ...,
    decimal: str | None = ...,
) -> Tally: ...


@overload
def tally(
    y_true: Any,
    y_score: Any = ...,
    *,
    label: str | None = ...,
    score: str | None = ...,
    positive: Any = ...,
    count: Any = ...,
    weight: Any = ...,
    sample_weight: Any = ...,
    cluster: Any = ...,
    sampling: str | None = ...,
    prevalence: float | None = ...,
    unlabelled: str | None = ...,
    by: Any,
    at_most: int | None = ...,
    missing: str = ...,
    decimal: str | None = ...,
) -> dict[Any, Tally]: ...


def tally(
    y_true: Any,
    y_score: Any = None,
    *,
    label: str | None = None,
    score: str | None = None,
    positive: Any = None,
    count: Any = None,
    weight: Any = None,
    sample_weight: Any = None,
    cluster: Any = None,
    sampling: str | None = None,
    prevalence: float | None = None,
    unlabelled: str | None = None,
    by: Any = None,
    at_most: int | None = None,
    missing: str = "refuse",
    decimal: str | None = None,
) -> Any:
    """How many negatives, positives and unknowns showed each score?

    ``tally(y_true, y_score)`` takes columns; ``tally(frame, label="y", score="p")``
    takes a frame. Missing labels are counted as unknown; missing scores are an error.
    Text is read as people write it (``data/cleaning.py``), and a ``Cleaned`` warning
    says how.
    A frame of counts (``docs/counts.md``; the result of :func:`sql`) is recognised by
    its columns score, neg, pos and unknown, and needs no names: ``tally(frame)``.

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
        How much each case weighs (survey weights, inverse probabilities): finite
        numbers, zero or more, as an array or a column of the frame. The tally then
        holds sums of weights and of their squares, from which the intervals are
        computed; see ``docs/howto/weights.md``. When all weights are one, the cases are
        simply counted.
    cluster
        Which cases belong together (patients, sites): an array, or a column of the
        frame. The tally then also knows the counts of each cluster at each score, and
        limits allow for cases of a cluster being alike.
    sampling
        ``"cohort"`` (the default): cases as they came. ``"case-control"``: a fixed
        number of each class by design; what depends on the share of positives then
        needs ``prevalence``.
    prevalence
        The share of positives in the population that is meant; that of the cases when
        None.
    unlabelled
        Cases without a label are ``"left out"`` (the default), or ``"missing at
        random"`` given the score (Begg and Greenes).
    by
        Groups: an array, or a column of the frame. The result is then a dict from group
        to tally, in the order of the groups; their sum is the whole.
    at_most
        The largest number of rows wanted. Where there are more distinct scores,
        neighbouring ones share a bin (``tally.score`` to ``tally.high``), and
        :func:`bounds` says between which numbers the exact answers lie.
    missing
        Cases without a score: ``"refuse"`` (the default) stops, ``"drop"`` leaves them
        out, and says how many of each label.
    decimal
        What stands before the decimals of scores that are text, "." or ","; needed only
        where 1,234 could be either.

    Returns
    -------
    Tally or dict of Tally

    Notes
    -----
    Counts of parts merge exactly; sums of weights merge to rounding. The time is at
    most O(n log n) for n cases; the tally takes 24 bytes per row for continuous float64
    scores.

    Examples
    --------
    >>> tally([1, 0, 1, None], [0.9, 0.4, 0.4, 0.1])
    Tally: 4 cases (1 negative, 2 positive, 1 unknown),
    3 distinct scores from 0.1 to 0.9
    """
    weight = _one_of(weight, sample_weight)
    design = {"sampling": sampling, "prevalence": prevalence, "unlabelled": unlabelled}
    if y_score is None:
        roles = {"label": label, "score": score, "count": count, "weight": weight}
        roles |= {"cluster": cluster, "by": by}
        if isinstance(y_true, Mapping):
            words = {**roles, "positive": positive, "at_most": at_most, **design}
            words |= {"missing": missing, "decimal": decimal}
            return of_columns(y_true, "tally", words)
        how = {"positive": positive, "at_most": at_most}
        how |= {"missing": missing, "decimal": decimal}
        return designed(_tally_frame(y_true, roles, how), design)
    if label is not None or score is not None:
        raise InputError(
            "label= and score= name columns of a frame; with arrays type "
            "trueness.tally(y_true, y_score) without them."
        )
    if on_device(y_score):
        _host_only(count, weight, by, cluster)
        made = handler("device_tally")(y_true, y_score, positive, at_most)
        return designed(made, design)
    values = _read_scores(y_score, "y_score", decimal)
    labels = _read_labels(y_true, positive, "y_true", {"y_score": values})
    counts, weights = _numbers_of_cases(count, weight, values)
    members = _read_clusters(cluster, values)
    kept = _cases_of([values], labels, counts, missing)

    def counted(at: Any) -> Tally:
        cases = _pick(labels, at), _at(counts, at), _at(weights, at)
        made = count_tally(values[at], *cases, cluster=_at(members, at))
        return made if at_most is None else made.coarse(at_most)

    return designed(_grouped(by, values.size, counted, kept), design)


def _one_of(weight: Any, sample_weight: Any) -> Any:
    """Take the weights by either name."""
    if weight is not None and sample_weight is not None:
        raise InputError(
            "weight= and sample_weight= mean the same. Leave one of them out."
        )
    return sample_weight if weight is None else weight


def designed(counts: Any, words: Mapping[str, Any]) -> Any:
    """Say of counts, or of groups of them, how their cases came."""
    if isinstance(counts, Mapping):
        return {name: designed(x, words) for name, x in counts.items()}
    return counts.with_design(**words)


def _host_only(*others: Any) -> None:
    """Refuse the words that device arrays do not take."""
    if any(x is not None for x in others):
        raise InputError(
            "count=, weight=, cluster= and by= are for arrays on the host. Count each "
            "group of a device array by itself, and add the tallies; copy weighted or "
            "clustered cases to the host."
        )


@overload
def panel(
    y_true: Any,
    scores: Any = ...,
    *,
    label: str | None = ...,
    positive: Any = ...,
    count: Any = ...,
    weight: Any = ...,
    sample_weight: Any = ...,
    cluster: Any = ...,
    sampling: str | None = ...,
    prevalence: float | None = ...,
    unlabelled: str | None = ...,
    by: None = ...,
    missing: str = ...,
    decimal: str | None = ...,
) -> Panel: ...


@overload
def panel(
    y_true: Any,
    scores: Any = ...,
    *,
    label: str | None = ...,
    positive: Any = ...,
    count: Any = ...,
    weight: Any = ...,
    sample_weight: Any = ...,
    cluster: Any = ...,
    sampling: str | None = ...,
    prevalence: float | None = ...,
    unlabelled: str | None = ...,
    by: Any,
    missing: str = ...,
    decimal: str | None = ...,
) -> dict[Any, Panel]: ...


def panel(
    y_true: Any,
    scores: Any = None,
    *,
    label: str | None = None,
    positive: Any = None,
    count: Any = None,
    weight: Any = None,
    sample_weight: Any = None,
    cluster: Any = None,
    sampling: str | None = None,
    prevalence: float | None = None,
    unlabelled: str | None = None,
    by: Any = None,
    missing: str = "keep",
    decimal: str | None = None,
) -> Any:
    """How many negatives, positives and unknowns showed each row of outputs?

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
    positive, count, weight, sample_weight, cluster, by
        As in :func:`tally`.
    sampling, prevalence, unlabelled, decimal
        As in :func:`tally`.
    missing
        Cases in which an output is missing: ``"keep"`` them (the default), ``"drop"``
        them, or ``"refuse"`` to count.

    Returns
    -------
    Panel or dict of Panel

    Examples
    --------
    >>> panel([1, 0, 0], {"a": [1, 0, 1], "b": [1, 1, 1]})
    Panel of a, b: 3 cases (2 negative, 1 positive, 0 unknown), 2 distinct rows
    """
    weight = _one_of(weight, sample_weight)
    design = {"sampling": sampling, "prevalence": prevalence, "unlabelled": unlabelled}
    roles = {"label": label, "count": count, "weight": weight, "cluster": cluster}
    roles["by"] = by
    if isinstance(y_true, Mapping) and not isinstance(scores, (Mapping, type(None))):
        words = {**roles, "scores": scores, "positive": positive, **design}
        words |= {"missing": missing, "decimal": decimal}
        return of_columns(y_true, "panel", words)
    if not isinstance(scores, Mapping) and is_frame(y_true):
        how = {"positive": positive, "missing": missing, "decimal": decimal}
        return designed(_panel_frame(y_true, roles, scores, how), design)
    if label is not None:
        raise InputError(
            "label= names a column of a frame; with arrays type "
            'trueness.panel(y_true, {"a": a, "b": b}) without it.'
        )
    given = _columns.mapping_of_scores(several_columns(scores))
    if any(on_device(values) for values in given.values()):
        _host_only(count, weight, by, cluster)
        return designed(handler("device_panel")(y_true, given, positive), design)
    columns = {n: _read_scores(values, n, decimal) for n, values in given.items()}
    _columns.same_length(**columns)
    first = next(iter(columns.values()))
    labels = _read_labels(y_true, positive, "y_true", columns)
    counts, weights = _numbers_of_cases(count, weight, first)
    members = _read_clusters(cluster, first)
    kept = _cases_of(list(columns.values()), labels, counts, missing)

    def counted(at: Any) -> Panel:
        some = {k: v[at] for k, v in columns.items()}
        cases = _pick(labels, at), _at(counts, at), _at(weights, at)
        return count_panel(some, *cases, cluster=_at(members, at))

    return designed(_grouped(by, first.size, counted, kept), design)


def leaves(
    y_true: Any,
    nodes: Any = None,
    *,
    node: str | None = None,
    label: str | None = None,
    positive: Any = None,
    count: Any = None,
) -> Leaves:
    """How many negatives, positives and unknowns fell into each leaf?

    ``leaves(frame, node="leaf", label="y")`` takes a frame, ``leaves(y_true, nodes)``
    columns. Any categorical column can take the place of the leaves.

    Parameters
    ----------
    y_true
        A frame, or the labels (None: all unknown).
    nodes
        With labels: which leaf each case fell into, as numbers or as text.
    node, label
        Names of the columns of the frame.
    positive, count
        As in :func:`tally`.

    Returns
    -------
    Leaves

    Examples
    --------
    >>> leaves([1, 0, 1, None], ["a", "a", "b", "b"])
    Leaves: 4 cases (1 negative, 2 positive, 1 unknown) in 2 leaves
    """
    if nodes is None:
        return _leaves_frame(y_true, node, label, positive, count)
    if node is not None or label is not None:
        raise InputError(
            "node= and label= name columns of a frame; with arrays type "
            "trueness.leaves(y_true, nodes) without them."
        )
    names = column(nodes, "nodes")
    labels = _read_labels(y_true, positive, "y_true", {"nodes": names})
    cases = np.ones(names.size, np.int64)
    if count is not None:
        cases = _whole(column(count, "count"), names)
    from trueness.trees.leaf_counts import (
        Leaves,  # loads SciPy, which tallies do without
    )

    return Leaves(names, *split_counts(labels, cases))


@engines.in_turn
def _leaves_frame(
    frame: Any, node: Any, label: Any, positive: Any, count: Any
) -> Leaves:
    if not is_frame(frame):
        raise InputError(
            f"leaves needs labels and leaves, or a frame; found one "
            f"{type(frame).__name__}. Type trueness.leaves(y_true, nodes) or "
            f'trueness.leaves(frame, node="leaf", label="y").'
        )
    if node is None:
        raise InputError(
            "Name the column of leaves: "
            'trueness.leaves(frame, node="leaf", label="y"). '
            f"The frame has {listing(engines.column_names(frame), 12)}."
        )
    found = engines.read(frame, {"label": label, "node": node, "count": count})
    return leaves(
        found.pop("label", None), found.pop("node"), positive=positive, **found
    )


@engines.in_turn
def _tally_frame(frame: Any, roles: dict[str, Any], how: dict[str, Any]) -> Any:
    if not is_frame(frame):
        raise InputError(
            f"tally needs labels and scores, or a frame; found one "
            f"{type(frame).__name__}. Type trueness.tally(y_true, y_score) or "
            f'trueness.tally(frame, label="y", score="p").'
        )
    frame, roles = engines.with_text_names(frame, roles)
    if _names_counts(frame, roles):
        return _read_counts(frame, roles["by"], how["at_most"])
    if roles["score"] is None:
        raise InputError(
            'Name the score column of the frame: trueness.tally(frame, label="y", '
            f'score="p"). It has {listing(engines.column_names(frame), 12)}.'
        )
    opened = engines.open_frame(frame)
    complete, at_most = how["missing"] != "drop", how["at_most"]
    if engines.is_lazy(opened) and complete:
        wanted = engines.wanted_columns(opened, roles)
        positive, clean = _clean_labels(opened, wanted, how["positive"])
        if at_most is not None and clean and "cluster" not in wanted:
            if {"weight", "count"} <= wanted.keys():
                raise InputError(
                    "The engine of a lazy frame puts counted or weighted cases into "
                    "bins, not both. Leave at_most= out: it adds up weights by score "
                    "where the rows are; or type weight= with the weight of a row "
                    "times its count."
                )
            rows = engines.by_role(opened, wanted)
            return binned_tally(rows, wanted, positive, at_most)
        if clean and streaming.can_stream(opened, wanted):
            way = streaming.weigh if "weight" in wanted else streaming.stream
            return way(opened, wanted, positive)
    found = engines.read(opened, roles, complete=complete)
    label, score = found.pop("label", None), found.pop("score")
    if isinstance(roles["score"], str):  # a sentence about it names the column
        score = _read_scores(score, f"score={roles['score']!r}", how["decimal"])
    return tally(label, score, **how, **found)


def _clean_labels(
    lazy: Any, wanted: Mapping[str, str], positive: Any
) -> tuple[Any, bool]:
    """Which label is positive, and can rows be counted without being cleaned?

    The engine is asked for the labels where they are text; scores that are text are not
    counted there.
    """
    schema = lazy.collect_schema()
    if not (
        schema[wanted["score"]].is_numeric() or schema[wanted["score"]].is_decimal()
    ):
        return positive, False
    if "label" not in wanted or schema[wanted["label"]].is_numeric():
        return positive, True
    found = engines.label_values(lazy.to_native(), wanted["label"])
    if not any(isinstance(v, str) for v in found) or len(found) > MOST_LABELS:
        return positive, True
    reading = cleaning.label_words(found, positive, wanted["label"])
    clean = len(found) <= 2 and set(reading.code.values()) <= {0, 1}
    if clean:
        cleaning.tell(reading.said)
    return (reading.positive if clean else positive), clean


def _names_counts(frame: Any, roles: Mapping[str, Any]) -> bool:
    """Is this a table of counts, of which nobody named a column to be counted?"""
    others = (roles[k] for k in ("label", "count", "weight", "cluster"))
    if any(name is not None for name in others):
        return False
    names = engines.column_names(frame)
    named = roles["score"]
    return are_counts(names) and (named is None or str(named).lower() == "score")


def _read_counts(frame: Any, by: Any, at_most: int | None) -> Any:
    opened = engines.open_frame(frame)
    wanted = count_columns_of(opened.collect_schema().names())
    if by is not None:
        wanted["by"] = _columns.there(by, opened.collect_schema().names())
    found = engines.by_role(opened.lazy(), wanted)
    rows = engines.collect(found) if engines.is_lazy(opened) else found.collect()
    columns = {k: column(rows[k], wanted[k]) for k in wanted}

    def made(t: Tally) -> Tally:
        return t if at_most is None else t.coarse(at_most)

    if by is None:
        return made(tally_of_counts(columns))
    groups = groups_of_counts(columns, columns.pop("by"))
    return {name: made(t) for name, t in groups.items()}


@engines.in_turn
def _panel_frame(
    frame: Any, roles: dict[str, Any], scores: Any, how: dict[str, Any]
) -> Any:
    if isinstance(scores, str) or not isinstance(scores, Sequence) or not scores:
        raise InputError(
            "Name the score columns of the frame in a list: trueness.panel(frame, "
            f'label="y", scores=["a", "b"]). It has '
            f"{listing(engines.column_names(frame), 12)}."
        )
    outputs = {f"scores[{k}]": name for k, name in enumerate(scores)}
    frame, asked = engines.with_text_names(frame, {**roles, **outputs})
    _columns.distinct_names([asked[role] for role in outputs])
    found = engines.read(frame, asked)
    columns = {
        asked[role]: _read_scores(
            found.pop(role), f"score={asked[role]!r}", how["decimal"]
        )
        for role in outputs
    }
    return panel(found.pop("label", None), columns, **how, **found)


def of_columns(columns: Mapping[Any, Any], takes: str, words: dict[str, Any]) -> Any:
    """Count a mapping of columns, as if it were a frame."""
    words = {k: v for k, v in words.items() if v is not None}

    def chosen(word: str) -> Any:
        name = words.pop(word, None)
        if not isinstance(name, str):
            return name
        return columns[_columns.there(name, columns)]

    label = chosen("label")
    several = words.pop("scores", None) or words.get("score")
    for word in ("count", "weight", "cluster", "by"):
        if word in words:
            words[word] = chosen(word)
    if takes == "panel" or isinstance(several, (list, tuple)):
        words.pop("score", None)
        names = [several] if isinstance(several, str) else several or []
        return panel(label, columns_of(columns, names), **words)
    score = chosen("score")
    if score is None:
        there = f"are {listing(columns, 12)}" if columns else "is no column"
        raise InputError(f"Name the columns: label= and score=. There {there}.")
    return tally(label, score, **words)


def columns_of(data: Any, names: list[str]) -> dict[str, Any]:
    """Take some columns out of a frame of any library, lazy ones too, or a mapping."""
    if isinstance(data, Mapping):
        known: Any = data
    else:
        frame: Any = engines.open_frame(data)
        known = frame.collect_schema().names()
    for n in names:
        _columns.there(n, known)
    if isinstance(data, Mapping):
        return {n: data[n] for n in names}
    # by number: a name may mean all columns, or a pattern, to an engine
    wanted = {f"c{k}": n for k, n in enumerate(dict.fromkeys(names))}
    picked = engines.by_role(frame.lazy(), wanted).collect()
    return {n: picked[key].to_native() for key, n in wanted.items()}


def _read_labels(
    values: Any, positive: Any, what: str, scores: Mapping[str, Array]
) -> Labels | None:
    if values is None:
        if positive is not None:
            raise InputError("positive= needs labels; there are none (all unknown).")
        return None
    labels = column(values, what)
    _columns.same_length(**{what: labels, **scores})
    return cleaning.read_label_column(labels, positive, what)


def _read_scores(values: Any, what: str, decimal: str | None) -> Array:
    """Read a column of scores, also one of text: then it is said how it was read."""
    found = column(values, what)
    if not cleaning.has_text(found):
        return found
    number, said = cleaning.numbers(found, what, decimal)
    cleaning.tell([said])
    return number


MISSING = ("refuse", "drop", "keep")


def _cases_of(
    scores: Sequence[Array], labels: Labels | None, count: Ints | None, missing: str
) -> Array | None:
    """Which rows are cases to be counted? None where all of them are."""
    _options.choice(missing, MISSING, "missing")
    kept = None
    if labels is not None and labels.code is not None:
        kept = labels.code <= 2  # a total is no case
    if missing != "keep":
        gone = np.any([_columns.missing(s) for s in scores], axis=0)
        gone = gone if kept is None else gone & kept
        if missing == "refuse" and len(scores) > 1 and gone.any():
            raise InputError(
                f"scores must not be missing; found some in {int(gone.sum()):,} of "
                f'{gone.size:,} rows. Type missing="drop" to leave these cases out.'
            )
        if missing == "drop" and gone.any():
            cleaning.tell([_dropped(gone, labels, count)])
            kept = ~gone if kept is None else kept & ~gone
    return None if kept is None or kept.all() else kept


def _dropped(gone: Array, labels: Labels | None, count: Ints | None) -> str:
    """Say how many cases without a score were left out, by label."""
    cases = np.ones(gone.size, np.int64) if count is None else count
    code = np.full(gone.size, 2) if labels is None else labels.codes()
    each = [int(cases[gone & (code == k)].sum()) for k in (1, 0, 2)]
    lost = f"{sum(each):,} case{'s' if sum(each) > 1 else ''} without a score"
    return (
        f"{lost} {'were' if sum(each) > 1 else 'was'} left out ({each[0]:,} positive, "
        f"{each[1]:,} negative, {each[2]:,} without a label)."
    )


def _whole(values: Array, like: Array) -> Ints:
    _columns.same_length(count=values, scores=like)
    return _columns.whole_counts(values, "count")


def _numbers_of_cases(
    count: Any, weight: Any, like: Array
) -> tuple[Ints | None, Weights | None]:
    """Read how many cases each row stands for, and how much they weigh."""
    counts = None if count is None else _whole(column(count, "count"), like)
    if weight is None:
        return counts, None
    if isinstance(weight, Weights):  # an engine has added them up
        return counts, weight
    each = column(weight, "weight")
    _columns.same_length(weight=each, scores=like)
    return counts, read_weights(each, counts)


def _read_clusters(cluster: Any, like: Array) -> Array | None:
    """Read which cluster each case belongs to."""
    if cluster is None:
        return None
    if isinstance(cluster, str):
        raise InputError(
            f"cluster={cluster!r} names a column of a frame; with arrays type cluster= "
            "and the array."
        )
    ids = column(cluster, "cluster")
    _columns.same_length(cluster=ids, scores=like)
    return ids


def _pick(labels: Labels | None, at: Any) -> Labels | None:
    if labels is None or isinstance(at, slice):
        return labels
    code = labels.codes()[at]
    return Labels(labels.values, labels.positive, code)


def _at(values: Any, at: Any) -> Any:
    return None if values is None else values[at]


def _grouped(
    by: Any, size: int, count: Callable[[Any], T], kept: Array | None
) -> T | dict[Any, T]:
    """Count all cases that are kept, or each group's."""
    if by is None:
        return count(slice(0, size) if kept is None else np.flatnonzero(kept))
    groups = column(by, "by")
    _columns.same_length(by=groups, scores=np.empty(size, dtype=bool))
    rows = np.arange(size) if kept is None else np.flatnonzero(kept)
    names, member = _columns.group_members(groups[rows])
    if not names.size:
        return {}
    order = np.argsort(member, kind="stable")
    edges = np.cumsum(np.bincount(member, minlength=names.size))[:-1]
    parts = np.split(rows[order], edges)
    return {plain(n): count(part) for n, part in zip(names, parts, strict=True)}
