"""What if there are more than two classes? Each against the rest.

A problem with more becomes several with two, and whatever takes a mapping of tallies
answers for all of them at once.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import ArrayLike

from trueness._core.arrays import Array, Floats, Ints
from trueness._core.checks import columns as _columns
from trueness._core.checks import options as _options
from trueness._core.checks.errors import InputError, NotEnoughCases, PythonCode
from trueness._core.checks.words import described, is_one, is_several, listing, plain
from trueness._core.data_types import Column, ColumnOrFrame, Frame, LabelValue
from trueness._core.records import Estimate
from trueness.counts.counting import Labels, count_tally
from trueness.counts.values import Tally
from trueness.data import engines
from trueness.data.columns import column, is_frame, several_columns

if TYPE_CHECKING:
    from trueness.threshold.class_costs import ClassDecisions

MAX_CLASSES = 30
MIN_CASES_OF_CLASS = 2  # of which an AUC can be estimated
# by class and decision, or a square matrix
_Costs: TypeAlias = Mapping[Any, Mapping[Any, float]] | ArrayLike


class ClassTallies(dict[Any, Tally]):
    """Tallies of each class against the rest, which count the same cases.

    Tallies of groups, in any other mapping, count different cases.
    """

    def __init__(self, cases: _ScoresByClass) -> None:
        """Count each class of these cases against the rest."""
        self.cases = cases
        names, code, scores = cases
        super().__init__(
            (name, _against_rest(scores[:, k], code, k, name))
            for k, name in enumerate(names)
        )

    def auc_of_all(self, level: float) -> Estimate | None:
        """Return the AUC of all classes; None where one has fewer than two cases."""
        if any(tally.n_pos < MIN_CASES_OF_CLASS for tally in self.values()):
            return None
        names, code, scores = self.cases
        labels = [names[k] if k >= 0 else None for k in code.tolist()]
        return multiclass_auc(labels, scores, classes=names, level=level)


def one_vs_rest(
    y_true: ColumnOrFrame,
    scores: ColumnOrFrame | None = None,
    *,
    classes: Column | None = None,
    label: str | None = None,
) -> ClassTallies:
    """Tallies of each class against all others, for more than two classes.

    Parameters
    ----------
    y_true
        The class of each case (missing: unknown), or a frame.
    scores
        One column of scores per class: an array (n, c), as ``predict_proba`` gives it,
        a mapping from class to column, or names of columns of the frame.
    classes
        The class of each column, in the order of the columns: ``model.classes_``. By
        default the classes of ``y_true`` in sorted order, the names of the mapping, or
        the names of the columns of the frame.
    label
        The column of the frame with the classes.

    Notes
    -----
    In each tally its own class is positive: ``auc(one_vs_rest(y, p))``.

    Examples
    --------
    >>> p = [[0.7, 0.2, 0.1], [0.2, 0.5, 0.3], [0.1, 0.3, 0.6]]
    >>> one_vs_rest(["a", "b", "c"], p)["b"]
    Tally: 3 cases (2 negative, 1 positive, 0 unknown),
    3 distinct scores from 0.2 to 0.5
    """
    return ClassTallies(_read_cases(y_true, scores, classes, label, "one_vs_rest"))


def scores_of_classes(classes: Sequence[Any], scores: Sequence[str]) -> dict[Any, str]:
    """Return the one score that is called after each class; else nothing.

    A column belongs to a class that it is called after: ``cat``, ``p_cat``,
    ``cat_score``.
    """
    score_of_class = {}
    for name in classes:
        called_so = [score for score in scores if is_called_after(score, str(name))]
        if len(called_so) != 1:
            return {}
        score_of_class[name] = called_so[0]
    return score_of_class


def is_called_after(score: str, class_name: str) -> bool:
    """Return whether a column is named after a class: by its whole name, or one end."""
    column_name = score.lower()
    word = class_name.lower()
    words_of_column = re.split(r"[^0-9a-z]+", column_name)
    is_at_an_end = word in (column_name, words_of_column[0], words_of_column[-1])
    return is_at_an_end or column_name.endswith(f"_{word}")


def _against_rest(score: Floats, code: Ints, k: int, name: LabelValue) -> Tally:
    """Return a tally; cases of class k are positive, those of none (-1) unknown."""
    which = np.where(code < 0, 2, code == k).astype(np.int8)
    labels = Labels(which, 1, which)
    return count_tally(score, labels, argument=f"the score of {name!r}")


def top_label(
    y_true: ColumnOrFrame,
    scores: ColumnOrFrame | None = None,
    *,
    classes: Column | None = None,
    label: str | None = None,
) -> dict[Any, Tally]:
    """Top-label confidence: how sure is the classifier of the class that it predicts,
    and is it right?

    Parameters
    ----------
    y_true, scores, classes, label
        As in :func:`one_vs_rest`.

    Notes
    -----
    The tally of a class has the cases for which it has the highest score (in a tie, the
    first class). Cases of this class are positive. A classifier is calibrated for its
    top labels when each tally is: ``calibration_error(top_label(y, p))``. In the sum of
    all tallies (*confidence* calibration), errors of classes can cancel.

    References
    ----------
    Gupta, C. and Ramdas, A. (2022), Top-label calibration and multiclass-to-binary
    reductions, ICLR, arXiv:2107.08353.

    Examples
    --------
    >>> p = [[0.7, 0.2, 0.1], [0.6, 0.3, 0.1], [0.1, 0.3, 0.6]]
    >>> top_label(["a", "b", "c"], p)["a"]
    Tally: 2 cases (1 negative, 1 positive, 0 unknown),
    2 distinct scores from 0.6 to 0.7
    """
    names, code, matrix = _read_cases(y_true, scores, classes, label, "top_label")
    top = np.argmax(matrix, axis=1)

    return {
        name: _against_rest(matrix[top == k, k], code[top == k], k, name)
        for k, name in enumerate(names)
        if (top == k).any()
    }


def multiclass_auc(
    y_true: ColumnOrFrame,
    scores: ColumnOrFrame | None = None,
    *,
    classes: Column | None = None,
    label: str | None = None,
    average: str = "hand-till",
    level: float = 0.95,
) -> Estimate:
    r"""AUC for more than two classes, with a confidence interval.

    How well do the scores separate the classes?

    .. math:: M = \frac{2}{c (c-1)} \sum_{i<j} \frac{A(i|j) + A(j|i)}{2}

    where A(i|j) is the probability that a case of class i has a higher score for class
    i than a case of class j.

    Parameters
    ----------
    y_true, scores, classes, label
        As in :func:`one_vs_rest`; every class needs two cases or more.
    average
        "hand-till": the formula above, which does not depend on class proportions.
        "macro": the mean AUC of each class against the rest. "weighted": the same,
        weighted by class proportions.
    level
        Confidence level of the interval.

    Notes
    -----
    Hand and Till (2001), eqs. (3) and (7); ties count a half. The variance comes from
    the sum of each case's placement values (DeLong) over all pairs of classes. The
    interval is on the logit scale, with Satterthwaite's degrees of freedom. For
    ``macro`` and ``weighted`` the sizes of the classes are random. O(c^2 n log n).

    References
    ----------
    Hand, D. J. and Till, R. J. (2001), Machine Learning 45, 171-186,
    doi:10.1023/A:1010920819831.

    Examples
    --------
    >>> y = ["a", "a", "b", "b", "c", "c"]
    >>> p = [[0.6, 0.3, 0.1], [0.5, 0.2, 0.3], [0.3, 0.4, 0.3], [0.4, 0.5, 0.1],
    ...      [0.2, 0.3, 0.5], [0.1, 0.4, 0.5]]
    >>> round(multiclass_auc(y, p).value, 4)  # 47/48: one tie among 24 pairs
    0.9792
    """
    from trueness.ranking.multiclass_areas import (
        multiclass_auc_and_influence,
        multiclass_auc_estimate,
    )

    _options.choice(average, ("hand-till", "macro", "weighted"), "average")
    level = _options.fraction(level, "level")
    names, code, matrix = _read_cases(y_true, scores, classes, label, "multiclass_auc")
    is_known = code >= 0
    code = code[is_known]
    matrix = matrix[is_known]
    size = np.bincount(code, minlength=len(names))

    if (size < 2).any():
        too_small = [n for n, k in zip(names, size, strict=True) if k < 2]
        raise NotEnoughCases(
            "multiclass_auc needs at least two cases of each class; "
            f"{listing(too_small)} has fewer. Leave it out, or merge it with another "
            "class."
        )

    value, influence = multiclass_auc_and_influence(code, matrix, average)
    estimate = multiclass_auc_estimate(code, value, influence, level)
    return replace(estimate, method=average, name="AUC")


def multiclass_cost(
    y_true: ColumnOrFrame,
    scores: ColumnOrFrame | None = None,
    costs: _Costs | None = None,
    *,
    classes: Column | None = None,
    label: str | None = None,
    level: float = 0.95,
) -> ClassDecisions:
    r"""Mean cost of decisions among several classes, with a confidence interval.

    Which class should each case be assigned to, and what does that cost?

    .. math:: d = \arg\min_d \sum_t p_t C_{td}

    Parameters
    ----------
    y_true, scores, classes, label
        As in :func:`one_vs_rest`. Scores are probabilities: calibrate those of each
        class against the rest first. Those of a case are divided by their sum.
    costs
        What each decision costs where the class is another: a mapping from class to a
        mapping from decision to cost (what is not there costs nothing), or a square
        array with classes in its rows and decisions in its columns.
    level
        Confidence level of the intervals.

    Returns
    -------
    ClassDecisions
        ``cost``, ``saving``, ``decision``, ``counts``.

    Notes
    -----
    Elkan (2001), eq. 1. For scores fitted to the same cases the cost is optimistic.

    Examples
    --------
    >>> p = [[0.7, 0.2, 0.1], [0.5, 0.2, 0.3], [0.1, 0.3, 0.6]]
    >>> cost = {"a": {"b": 1, "c": 1}, "b": {"a": 1, "c": 1}, "c": {"a": 9, "b": 9}}
    >>> answer = multiclass_cost(["a", "b", "c"], p, cost)
    >>> answer.decision.tolist(), round(answer.cost.value, 4)
    (['c', 'c', 'c'], 0.6667)
    """
    from trueness.threshold.class_costs import decide_by_cost

    level = _options.fraction(level, "level")
    cases = _read_cases(y_true, scores, classes, label, "multiclass_cost")
    if not (cases.code >= 0).any():
        raise NotEnoughCases("multiclass_cost needs a case with a label; found none.")

    matrix = _cost_matrix(costs, cases.classes)
    probabilities, notes = _probabilities(cases.scores)
    decisions = decide_by_cost(
        cases.code, probabilities, matrix, tuple(cases.classes), level
    )

    return replace(decisions, notes=notes)


def _cost_matrix(costs: _Costs | None, classes: Sequence[Any]) -> Floats:
    """Return the cost of each decision (columns) for each class (rows)."""
    table = _by_class(costs, classes) if isinstance(costs, Mapping) else costs

    try:
        matrix = np.asarray(table, dtype=np.float64)
    except (TypeError, ValueError):
        raise _no_costs(costs) from None

    size = len(classes)
    if matrix.shape != (size, size) or not np.isfinite(matrix).all():
        raise _no_costs(costs)
    return matrix


def _by_class(
    costs: Mapping[Any, Mapping[Any, float]], classes: Sequence[Any]
) -> list[list[float]]:
    """Return costs that have names in the order of the classes; 0 is not named."""
    rows = [costs.get(name, {}) for name in classes]
    if not all(isinstance(row, Mapping) for row in rows):
        raise _no_costs(costs)

    names = {*costs, *(decision for row in rows for decision in row)}
    unknown_names = [name for name in names if name not in classes]
    if unknown_names:
        raise InputError(
            f"costs must be of the classes {listing(classes, 12)}; found also "
            f"{listing(sorted(unknown_names, key=str))}.",
            option="costs",
        )

    return [[row.get(decision, 0.0) for decision in classes] for row in rows]


def _no_costs(costs: _Costs | None) -> InputError:
    """Return the error of costs that are no table of finite numbers."""
    return InputError(
        "costs must say what each decision costs for each class, in finite numbers; "
        f"found {described(costs)}.",
        option="costs",
        example=PythonCode('{"a": {"b": 1, "c": 1}, "b": {"a": 5}, "c": {"a": 5}}'),
    )


# scores of a case that add up to one are taken as they are, but for rounding
_ROUNDING = 1e-6


def _probabilities(scores: Floats) -> tuple[Floats, tuple[str, ...]]:
    """Return probabilities that add up to one for each case, and a note on that."""
    total = scores.sum(axis=1, keepdims=True)
    if (scores < 0).any() or (scores > 1).any() or not (total > 0).all():
        raise InputError(
            "multiclass_cost needs probabilities of the classes, from 0 to 1; found "
            f"{scores.min():.3g} to {scores.max():.3g}. Calibrate the score of each "
            "class against the rest first.",
            example=PythonCode("trueness.calibrate(trueness.one_vs_rest(y, s)['a'])"),
        )

    notes: tuple[str, ...] = ()
    if np.abs(total - 1).max() > _ROUNDING:
        notes = (
            "The scores of a case do not add up to one; they were divided by their "
            "sum.",
        )

    return scores / total, notes


class _ScoresByClass(NamedTuple):
    """Cases of several classes, with a column of scores for each."""

    classes: list[Any]
    code: Ints  # the number of each case's class, -1 where it is unknown
    scores: Floats  # one row for each case


def _read_cases(
    y_true: ColumnOrFrame,
    scores: ColumnOrFrame | None,
    classes: Column | None,
    label: str | None,
    what: str,
) -> _ScoresByClass:
    """Return the cases of arrays, mappings or a frame, checked.

    ``what`` is the analysis that asks, for its errors.
    """
    if is_frame(y_true) and not isinstance(scores, Mapping):
        y_true, scores = _of_frame(y_true, label, scores, what)

    column_names, columns = _score_columns(scores, what)
    labels = column(y_true, "y_true")
    _columns.same_length(y_true=labels, scores=columns[0])

    is_known = ~_columns.missing(labels)
    distinct = dict.fromkeys(_columns.hashable(labels[is_known], "y_true"))
    distinct_labels = [plain(value) for value in distinct]
    class_names = _class_names(distinct_labels, column_names, classes, len(columns))
    strangers = [value for value in distinct_labels if value not in class_names]
    if strangers:
        raise InputError(
            f"y_true must hold the classes {listing(class_names, 12)}; found also "
            f"{listing(strangers)}. Name the classes in the order of the columns.",
            option="classes",
            example=PythonCode("model.classes_"),
        )

    number_of_class = {name: number for number, name in enumerate(class_names)}
    unknown_class = -1
    code = np.full(labels.size, unknown_class, dtype=np.int64)
    code[is_known] = [number_of_class[plain(value)] for value in labels[is_known]]

    finite_columns = []
    for number, scores_of_class in enumerate(columns):
        argument = f"scores[{number}]"
        numeric = _columns.numeric_scores(scores_of_class, argument)
        finite_columns.append(_columns.finite_scores(numeric, argument))

    matrix = np.column_stack(finite_columns).astype(np.float64)
    return _ScoresByClass(class_names, code, matrix)


def _score_columns(
    scores: ColumnOrFrame | None, what: str
) -> tuple[list[Any] | None, list[Array]]:
    """Return one column of scores per class, with its name where it has one."""
    names: list[Any] | None = None
    fewest = 2
    if isinstance(scores, Mapping) or is_frame(scores):
        named = several_columns(scores)
        names = list(named)
        columns = [column(values, str(name)) for name, values in named.items()]
        fewest = 1
    else:
        matrix = _columns.as_array(scores, "scores")
        columns = list(matrix.T) if matrix.ndim == 2 else []

    if len(columns) < fewest:
        raise InputError(
            f"{what} needs one column of scores per class; found {described(scores)}.",
            example=PythonCode(
                f"trueness.{what}(y_true, model.predict_proba(X), "
                "classes=model.classes_)"
            ),
        )

    return names, columns


@engines.in_turn
def _of_frame(
    frame: Frame, label: str | None, scores: ColumnOrFrame | None, what: str
) -> tuple[Array, dict[str, Array]]:
    """Return the column of labels, and the columns of scores by their names."""
    if isinstance(scores, str) or not isinstance(scores, Sequence) or label is None:
        raise InputError(
            "Name the columns of the frame. It has "
            f"{listing(engines.column_names(frame), 12)}.",
            example=PythonCode(
                f'trueness.{what}(frame, label="y", scores=["a", "b", "c"])'
            ),
        )

    names = _columns.distinct_names(list(scores))
    columns = engines.columns_of(frame, [label, *names])
    return columns[label], {name: columns[name] for name in scores}


def _class_names(
    labels_present: list[Any],
    column_names: list[Any] | None,
    classes: Column | None,
    number: int,
) -> list[Any]:
    """Return the class of each column: as typed, as named, or in order."""
    if classes is not None:
        names = _typed_classes(classes)
    elif column_names is not None:
        names = _classes_of_columns(labels_present, column_names)
    else:
        names = sorted(labels_present, key=lambda value: (type(value).__name__, value))

    if len(names) != number or len(set(names)) != number:
        raise InputError(
            f"There must be one class for each of the {number} columns of scores; "
            f"found {listing(names, 12)}. Name the classes in the order of the "
            "columns.",
            option="classes",
            example=PythonCode("model.classes_"),
        )

    return names


def _typed_classes(classes: Any) -> list[Any]:
    """Return the classes that were named, or stop at what is no name."""
    if is_several(classes):
        names = [plain(value) for value in classes]
        if all(is_one(name) for name in names):
            return names
    raise InputError(
        f"classes must be names; found {described(classes)}.", option="classes"
    )


def _classes_of_columns(
    labels_present: list[Any], column_names: list[Any]
) -> list[Any]:
    """Return the names of columns; "0" and "1" may be those of classes 0 and 1."""
    if any(value in column_names for value in labels_present):
        return column_names
    class_of_text = {str(value): value for value in labels_present}
    return [class_of_text.get(str(name), name) for name in column_names]
