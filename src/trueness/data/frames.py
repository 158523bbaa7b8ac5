"""Where do the counts come from?

Arrays, mappings and frames of any library that Narwhals knows become a tally or a
panel. ``tally`` and ``panel`` take the same steps: which data are meant (``_counted``),
the columns of a table, by its engine if it is lazy (``_of_table``), the cases
(``count_columns``).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypedDict, Unpack, overload

import numpy as np

from trueness._core.arrays import Ints
from trueness._core.checks import columns as _columns
from trueness._core.checks import options as _options
from trueness._core.checks.errors import InputError, PythonCode
from trueness._core.checks.words import plain
from trueness._core.imports import HigherFunction
from trueness.counts.counting import split_counts
from trueness.counts.design import WORDS as DESIGN
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
from trueness.data.engine_bins import binned_tally
from trueness.data.storage import are_counts, count_columns_of, tally_of_counts
from trueness.data.total_rows import without_total_row

if TYPE_CHECKING:
    import narwhals.stable.v2 as nw
    from numpy.typing import ArrayLike

    from trueness.trees.leaves import Leaves

Counts = Tally | Panel | Mapping[Any, Tally | Panel]
MOST_LABELS = 100  # of a column: with more it is some other column
MISSING = ("refuse", "drop", "keep")
_ROLES = ("label", "count", "weight", "cluster", "by")
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


class PanelWords(TypedDict, total=False):
    """What can be said of data beside their scores and groups."""

    label: str | None
    positive: Any
    count: Any
    weight: Any
    sample_weight: Any
    cluster: Any
    sampling: str | None
    prevalence: float | None
    unlabelled: object
    missing_scores: str
    decimal: str | None


class TallyWords(PanelWords, total=False):
    """The same of one score."""

    score: str | None
    at_most: int | None


@overload
def tally(
    y_true: object,
    y_score: object = ...,
    *,
    by: None = ...,
    **words: Unpack[TallyWords],
) -> Tally: ...
@overload
def tally(
    y_true: object, y_score: object = ..., *, by: ArrayLike, **words: Unpack[TallyWords]
) -> dict[Any, Tally]: ...


def tally(
    y_true: object,
    y_score: object = None,
    *,
    label: str | None = None,
    score: str | None = None,
    positive: object = None,
    count: object = None,
    weight: object = None,
    sample_weight: object = None,
    cluster: object = None,
    sampling: str | None = None,
    prevalence: float | None = None,
    unlabelled: object = None,
    by: object = None,
    at_most: int | None = None,
    missing_scores: str = "refuse",
    decimal: str | None = None,
) -> Any:
    """How many negatives, positives and unknowns showed each score?

    ``tally(y_true, y_score)`` takes columns; ``tally(frame, label="y", score="p")``
    takes a frame. Missing labels are counted as unknown; missing scores are an error.
    Text is read as people write it, and a ``CleanedWarning`` says how. A frame of
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
        Which cases belong together (patients, sites): an array, or a column of the
        frame. Limits then allow for cases of a cluster being alike.
    sampling
        ``"cohort"`` (the default): cases as they came. ``"case-control"``: a fixed
        number of each class; what depends on their share then needs ``prevalence``.
    prevalence
        The share of positives in the population that is meant; that of the cases when
        None.
    unlabelled
        Cases without a label are ``"left out"`` (the default), or ``"missing at
        random"`` given the score (Begg and Greenes), or have expected labels: a
        calibration map of this score, or labelled reference cases
        (:class:`trueness.ExpectedLabels`). With ``by`` a mapping from group to map.
    by
        Groups: an array, a column of the frame, or a list of columns. The result is
        then a dict from group to tally. Analyses of several columns answer for each
        column alone, too: ``by=["sex", "race"]``.
    at_most
        The largest number of rows wanted. Where there are more distinct scores,
        neighbouring ones share a bin, and :func:`bounds` says what that costs.
    missing_scores
        Cases without a score: ``"refuse"`` (the default) stops, ``"drop"`` leaves them
        out.
    decimal
        What stands before the decimals of scores that are text, "." or ","; needed only
        where 1,234 could be either.

    Examples
    --------
    >>> tally([1, 0, 1, None], [0.9, 0.4, 0.4, 0.1])
    Tally: 4 cases (1 negative, 2 positive, 1 unknown),
    3 distinct scores from 0.1 to 0.9
    """
    words = {
        "label": label,
        "score": score,
        "positive": positive,
        "count": count,
        "weight": weight,
        "sample_weight": sample_weight,
        "cluster": cluster,
        "sampling": sampling,
        "prevalence": prevalence,
        "unlabelled": unlabelled,
        "by": by,
        "at_most": at_most,
        "missing_scores": missing_scores,
        "decimal": decimal,
    }
    counted = _counted("tally", y_true, y_score, words)
    # of few distinct scores the counts of a device come to the host
    if hasattr(counted, "to_host_if_few"):
        return counted.to_host_if_few()
    return counted


def tally_in_place(y_true: object, y_score: object, **words: Any) -> Any:
    """Count as :func:`tally`; the counts of a device stay there, however few."""
    defaults: dict[str, Any] = tally.__kwdefaults__ or {}
    return _counted("tally", y_true, y_score, defaults | words)


@overload
def panel(
    y_true: object, scores: object = ..., *, by: None = ..., **words: Unpack[PanelWords]
) -> Panel: ...
@overload
def panel(
    y_true: object, scores: object = ..., *, by: ArrayLike, **words: Unpack[PanelWords]
) -> dict[Any, Panel]: ...


def panel(
    y_true: object,
    scores: object = None,
    *,
    label: str | None = None,
    positive: object = None,
    count: object = None,
    weight: object = None,
    sample_weight: object = None,
    cluster: object = None,
    sampling: str | None = None,
    prevalence: float | None = None,
    unlabelled: object = None,
    by: object = None,
    missing_scores: str = "keep",
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
    words = {
        "label": label,
        "positive": positive,
        "count": count,
        "weight": weight,
        "sample_weight": sample_weight,
        "cluster": cluster,
        "sampling": sampling,
        "prevalence": prevalence,
        "unlabelled": unlabelled,
        "by": by,
        "missing_scores": missing_scores,
        "decimal": decimal,
    }
    return _counted("panel", y_true, scores, words)


def leaves(
    y_true: object,
    node: object = None,
    *,
    label: str | None = None,
    positive: object = None,
    count: object = None,
) -> Leaves:
    """How many negatives, positives and unknowns fell into each leaf?

    ``leaves(frame, node="leaf", label="y")`` takes a frame, ``leaves(y_true, nodes)``
    columns. Any categorical column can take the place of the leaves.

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
    if node is None or isinstance(y_true, Mapping) or is_frame(y_true):
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
    frame: object, node: object, label: str | None, count: object
) -> list[Any]:
    _is_table(frame, "leaves")
    if node is None:
        raise InputError(
            _unnamed("leaves", frame),
            option="node",
            choices=engines.column_names(frame),
        )
    _columns.apart_from_label([node], label)
    found = engines.read(frame, {"label": label, "node": node, "count": count})
    return [found.get(role) for role in ("label", "node", "count")]


def _only_arrays(words: str) -> str:
    return f"{words} name columns of a frame; arrays are given without them."


def _unnamed(kind: str, data: object) -> str:
    if isinstance(data, Mapping) and kind == "tally":
        return "Name the columns of the labels and of the scores."
    _, _, needed = _NAMED[kind]
    return f"{needed}."


def _score_option(kind: str) -> str:
    return "scores" if kind == "panel" else "score"


def _is_table(data: object, name: str) -> None:
    array, words, _ = _NAMED[name]
    if isinstance(data, Mapping) or is_frame(data):
        return
    opened = f"trueness.scan({data!r})" if isinstance(data, str) else "frame"
    raise InputError(
        f"{name} needs labels and {'leaves' if name == 'leaves' else 'scores'}, or "
        f"a frame; found {one_thing(data)}.",
        example=PythonCode(
            f"trueness.{name}(y_true, {array}) or trueness.{name}({opened}, {words})"
        ),
    )


def designed(counts: Counts, words: Mapping[str, Any]) -> Any:
    """Say of counts, or of groups of them, how their cases came."""
    if isinstance(counts, Mapping):
        return {
            name: designed(x, design_of_group(words, name))
            for name, x in counts.items()
        }
    return counts.with_design(**words)


def _counted(kind: str, data: object, scores: object, words: dict[str, Any]) -> Any:
    """Count what was typed; ``words`` are the keywords of ``tally`` or ``panel``."""
    other = words.pop("sample_weight")
    if other is not None and words["weight"] is not None:
        raise InputError(
            "weight and sample_weight mean the same. Leave one of them out.",
            option="weight",
        )
    words["weight"] = other if words["weight"] is None else words["weight"]
    _options.choice(words["missing_scores"], MISSING, "missing_scores")
    said = {word: words.pop(word) for word in DESIGN}
    said = {word: value for word, value in said.items() if value is not None}
    table = isinstance(data, Mapping) or is_frame(data)
    if kind == "tally" and table and isinstance(scores, str):
        raise InputError(
            _unnamed(kind, data),
            option=_score_option(kind),
            choices=engines.column_names(data),
        )
    named = scores is None if kind == "tally" else not isinstance(scores, Mapping)
    if named and (kind == "tally" or table):
        made = _of_table(data, kind, scores, words)
        return designed(made, said) if said else made
    if words["label"] is not None or words.get("score") is not None:
        raise InputError(
            _only_arrays("label and score"),
            example=PythonCode(f"trueness.{kind}(y_true, {_NAMED[kind][0]})"),
        )
    given: Mapping[str, Any] = {"y_score": scores}
    if kind == "panel":
        given = _columns.mapping_of_scores(several_columns(scores))
    made = _of_columns(kind, data, given, words)
    return designed(made, said) if said else made


def _of_columns(
    kind: str,
    labels: object,
    given: Mapping[str, object],
    words: Mapping[str, Any],
    what: str = "{}",
    times: Ints | None = None,
) -> Any:
    """Count columns on the host, or where they are on a device.

    ``times`` says how many cases each row stands for, where an engine has counted.
    """
    if not any(on_device(values) for values in given.values()):
        read = {
            n: read_scores(
                v, what.format(n), words["decimal"], times, words["positive"]
            )
            for n, v in given.items()
        }
        if times is not None:  # rows of an engine are no rows of the user
            kept = kind == "panel" or words["missing_scores"] == "drop"
            for n, number in read.items():
                if number.dtype.kind == "f":
                    name = what.format(n)
                    _columns.finite_scores(number, name, allow_nan=kept, cases=times)
        positive = cleaning.positive_of_labels(labels, given, words["positive"])
        return count_columns(kind, labels, read, {**words, "positive": positive})
    if any(words[word] is not None for word in _ROLES[1:]):
        raise InputError(
            "count, weight, cluster and by are for arrays on the host. Count each "
            "group of a device array by itself, and add the tallies; copy weighted or "
            "clustered cases to the host."
        )
    if kind == "panel":
        return DEVICE_PANEL.load()(labels, given, words["positive"])
    (score,), how = given.values(), (words["positive"], words["at_most"])
    return DEVICE_TALLY.load()(labels, score, *how)


@engines.in_turn
def _of_table(data: object, kind: str, scores: object, words: dict[str, Any]) -> Any:
    """Count columns of a frame or a mapping, by the engine of a lazy frame."""
    _is_table(data, kind)
    data = without_total_row(data, words["label"])
    outputs = {"score": words.get("score")}
    if kind == "panel":
        names = scores if isinstance(scores, Sequence) else ()
        if isinstance(scores, str):  # a mapping has no other meaning of one name
            names = [scores] if isinstance(data, Mapping) else ()
        outputs = {f"scores[{k}]": n for k, n in enumerate(names)}
    roles = {role: words.pop(role) for role in _ROLES}
    known = engines.column_names(data)
    by_names = _several_columns_of_groups(roles["by"], known)
    if len(by_names) == 1:
        (roles["by"],) = by_names
        by_names = []
    if by_names:
        roles["by"] = None
        outputs_and_groups = outputs | {f"by[{k}]": n for k, n in enumerate(by_names)}
    else:
        outputs_and_groups = outputs
    data, roles = engines.with_text_names(data, roles | outputs_and_groups)
    if kind == "tally" and _counts_named(known, roles):
        return _read_counts(data, known, by_names or roles["by"], words["at_most"])
    if not outputs or roles.get("score", "") is None:
        raise InputError(
            _unnamed(kind, data),
            option=_score_option(kind),
            choices=engines.column_names(data),
        )
    named = {role: roles[role] for role in outputs}
    _columns.distinct_names(list(named.values()))
    _columns.apart_from_label(named.values(), roles["label"])
    # a panel keeps what is missing, or leaves it out itself
    complete = kind == "panel" or words["missing_scores"] != "drop"
    if not isinstance(data, Mapping):
        data = engines.open_frame(data)
        if kind == "tally" and engines.is_lazy(data) and complete and not by_names:
            made = _by_engine(data, roles, words)
            if made is not None:
                return made
    found = engines.read(data, roles, complete=complete)
    columns = {
        str(n) if kind == "panel" else f"score {n!r}": found.pop(role)
        for role, n in named.items()
    }
    labels, what = found.pop("label", None), "score {!r}" if kind == "panel" else "{}"
    times = found["count"] if engines.is_lazy(data) else None
    groups: list[Group] = []
    if by_names:
        parts = [column(found.pop(f"by[{k}]"), n) for k, n in enumerate(by_names)]
        found["by"], groups = intersections(by_names, parts)
    words = dict.fromkeys(_ROLES) | words | found
    words["labels"] = f"column {roles['label']!r}"
    made = _of_columns(kind, labels, columns, words, what, times)
    return {groups[k]: counts for k, counts in made.items()} if by_names else made


def _several_columns_of_groups(by: object, known: Sequence[str]) -> list[str]:
    """Which columns make the groups, where several are named? Otherwise none."""
    if not isinstance(by, (list, tuple)) or not all(isinstance(n, str) for n in by):
        return []
    if not any(n in known for n in by):  # the groups themselves
        return []
    return [_columns.column(n, known, "by") for n in dict.fromkeys(by)]


def _by_engine(
    lazy: nw.LazyFrame[Any], roles: Mapping[str, object], words: Mapping[str, Any]
) -> Any:
    """Count bins in the engine, or a stream of its rows; None where neither can be."""
    wanted = engines.wanted_columns(lazy, roles)
    positive, clean = _clean_labels(lazy, wanted, words["positive"])
    if not clean:
        return None
    if words["at_most"] is not None and "cluster" not in wanted:
        if {"weight", "count"} <= wanted.keys():
            raise InputError(
                "The engine of a lazy frame puts counted or weighted cases into bins, "
                "not both. Leave at_most out: it adds up weights by score where the "
                "rows are. Or let the weight be that of a row times its count.",
                option="at_most",
            )
        rows = engines.by_role(lazy, wanted)
        return binned_tally(rows, wanted, positive, words["at_most"])
    if not streaming.can_stream(lazy, wanted):
        return None
    way = streaming.weigh if "weight" in wanted else streaming.stream
    return way(lazy, wanted, positive)


def _clean_labels(
    lazy: nw.LazyFrame[Any], wanted: Mapping[str, str], positive: object
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
    found = engines.label_values(lazy, wanted["label"])
    if not any(isinstance(v, str) for v in found) or len(found) > MOST_LABELS:
        return positive, True
    what = f"column {wanted['label']!r}"
    code, chosen, said = cleaning.label_words(found, positive, what)
    clean = len(found) <= 2 and set(code.values()) <= {0, 1}
    if clean:
        cleaning.tell(said)
    return (chosen if clean else positive), clean


def _counts_named(names: Sequence[str], roles: Mapping[str, object]) -> bool:
    """Is this a table of counts, of which nobody named a column to be counted?"""
    others = (roles[k] for k in ("label", "count", "weight", "cluster"))
    own = roles["score"] is None or str(roles["score"]).lower() == "score"
    return own and all(name is None for name in others) and are_counts(names)


def _read_counts(
    data: object, names: Sequence[str], by: object, at_most: int | None
) -> Tally | dict[Any, Tally]:
    """Read the counts that a table holds, all of them or each group's."""
    wanted = count_columns_of(names)
    by_names = list(by) if isinstance(by, list) else [] if by is None else [str(by)]
    found = engines.columns_of(data, [*wanted.values(), *by_names])
    columns = {role: found[name] for role, name in wanted.items()}

    def made(at: Any) -> Tally:
        t = tally_of_counts({c: v[at] for c, v in columns.items()})
        return t if at_most is None else t.bin(at_most)

    if by is None:
        return made(slice(None))
    if len(by_names) > 1:
        code, several = intersections(by_names, [found[n] for n in by_names])
        return {group: made(code == k) for k, group in enumerate(several)}
    groups, member = _columns.group_members(found[by_names[0]])
    return {plain(name): made(member == k) for k, name in enumerate(groups)}
