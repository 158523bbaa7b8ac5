"""Which counts does a person mean who calls an analysis with data?

``auc(y_true, y_score)``, ``auc(frame)``, ``auc("preds.csv")``, ``auc(model, X, y)``,
``compare_auc(y, {"a": a, "b": b})``: the decorators of ``counts/answers.py`` hand on
what was typed, and this module counts it by ``tally`` or ``panel``. Columns that nobody
named are found by ``column_roles``, as in the shell; a remark says which were taken.
The direction of a score and an unknown positive label are never guessed.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from trueness._core.arrays import Array
from trueness._core.checks.errors import InputError, PythonCode
from trueness._core.checks.words import described, listing
from trueness._core.data_types import Column, LabelValue
from trueness._core.imports import is_of_library
from trueness.data import cleaning
from trueness.data.column_names import names_of
from trueness.data.column_roles import (
    LABEL_NAMES,
    FoundColumns,
    Guess,
    find_columns,
    find_label,
    has_no_label,
    label_of_some,
    not_found,
    one_score,
    ratings_among,
    several_scores,
    tests_among,
)
from trueness.data.columns import (
    column,
    is_frame,
    on_device,
    one_thing,
    several_columns,
)
from trueness.data.count_columns import count_column
from trueness.data.data_tables import TEXT, DataTable
from trueness.data.design_columns import with_remarks_on_unused
from trueness.data.engines import column_names, columns_of, is_lazy, open_frame
from trueness.data.frame_tables import MAX_ROWS
from trueness.data.frames import panel, tally, tally_in_place
from trueness.data.long_tables import refuse_long_table
from trueness.data.multiclass import (
    MAX_CLASSES,
    ClassTallies,
    one_vs_rest,
    scores_of_classes,
)
from trueness.data.named_roles import find_attempts, table_of
from trueness.data.rating_words import coded_ratings
from trueness.data.storage import are_counts
from trueness.data.study_tables import has_study_tables, study_tables
from trueness.data.total_rows import without_total_row

Args = tuple[Any, ...]
Keywords = dict[str, Any]
# what users of other libraries call the same
_SYNONYMS = {"pos_label": "positive", "sample_weight": "weight"}
# analyses of the verdicts of tests or judges, where labels are rare or missing
_VERDICT_ANALYSES = frozenset(
    {"latent_class", "prevalence", "plan_labels", "compare_prevalence"}
)
# analyses of scores that need no labels
_LABEL_FREE_ANALYSES = frozenset(
    {"agreement", "fidel", "wisdom_of_crowds", "mean_score", "rater_agreement", "watch"}
)
# analyses that say what they can where no column could hold labels
_MAY_LACK_LABELS = frozenset({"evaluate", "best_threshold"})
# analyses of sites, to which a 2x2 table is as good as its cases
_SITE_ANALYSES = frozenset({"across_sites", "summary_roc"})
# metrics that stay the same when the classes change places
_SAME_FOR_BOTH_CLASSES = frozenset({"accuracy", "balanced_accuracy", "kappa", "mcc"})
_ONE_SCORE_ANALYSES = frozenset(
    {"calibrate", "best_threshold", "check", "decile_table"}
)


class CountedArguments(NamedTuple):
    """Counts, the remaining arguments, and remarks on the columns that were found."""

    counts: Any
    rest: Args
    remarks: tuple[str, ...] = ()
    name: str = ""  # of the one score, where it is a column


def count_arguments(
    name: str, takes: str, args: Args, words: Keywords
) -> CountedArguments:
    """Return the counts of the data that an analysis was given.

    ``takes`` is "tally", "panel" or "counts" (either); ``words`` are the
    keywords that belong to the data.
    """
    keywords: Keywords = {}
    if words:
        args, keywords = _standard_keywords(args, words, name)
    if not args:
        raise _needs(name, takes, "nothing")

    comes_first = _is_requirement(args[0]) or _are_requirements(args[0])
    if name == "check" and comes_first and len(args) > 1:
        # the requirement came first, as in a sentence
        args = (*args[1:], args[0])
        if _is_our_own(args[0]):
            return CountedArguments(args[0], args[1:])

    data = args[0]
    others = list(args[1:])
    if _is_model(data) and len(others) >= 2:
        return _count_scores_of_model(name, data, others, keywords)

    names_columns = not keywords.keys().isdisjoint(("label", "score", "scores"))
    has_scores = bool(others) and _is_column(others[0])
    if isinstance(data, (str, os.PathLike)) and not has_scores:
        data = _open_file(data, name, takes, names_columns)

    # a frame with another column behind it is a column of labels itself
    is_table = is_frame(data) and (names_columns or not has_scores)
    if isinstance(data, Mapping) or is_table:
        return _count_table(name, data, takes, keywords, tuple(others))

    if not has_scores:
        raise _needs(name, takes, one_thing(data))
    if names_columns:
        raise InputError(
            "label and score name columns of a frame; leave them out for arrays.",
            example=PythonCode(f"trueness.{name}(y_true, y_score)"),
        )

    return _count_arrays(name, takes, data, others, keywords)


def _count_arrays(
    name: str, takes: str, labels: Column, others: list[Any], keywords: Keywords
) -> CountedArguments:
    """Return the counts of arrays; what follows these is left to the analysis."""
    if name == "rater_agreement" and _is_one_column(others):
        # as in cohen_kappa_score(y1, y2): ratings have no labels beside them
        raters = coded_ratings({"rater 1": labels, "rater 2": others[0]})
        return CountedArguments(panel(None, raters, **keywords), tuple(others[1:]))

    number = 1
    if takes != "tally" and not isinstance(others[0], Mapping):
        number = _leading_columns(others)

    if name in _SAME_FOR_BOTH_CLASSES and keywords.get("positive") is None:
        keywords |= _either_class(labels, others[0])

    scores, remarks = _scores(labels, others[:number], name, takes, keywords)
    count = panel if isinstance(scores, Mapping) else tally_in_place
    counts = count(labels, scores, **keywords)
    return CountedArguments(counts, tuple(others[number:]), remarks)


def _either_class(labels: Any, predictions: Any) -> Keywords:
    """Return one of two classes as positive, for a metric that treats both alike.

    Nothing for numbers, and for known pairs such as yes and no.
    """
    classes: set[str] = set()
    for values in (labels, predictions):
        array = np.asarray(values)
        if array.ndim != 1 or not cleaning.has_text(array):
            return {}
        classes |= {str(value) for value in array.tolist() if value is not None}

    is_pair = len({cleaning.normal_form(value) for value in classes}) == 2
    if not is_pair or cleaning.meaning(sorted(classes)) == "labels":
        return {}
    return {"positive": min(classes)}


def _is_requirement(argument: object) -> bool:
    """Return whether this is a sentence such as "auc >= 0.8", and no file."""
    return isinstance(argument, str) and any(sign in argument for sign in "<>")


def _are_requirements(argument: object) -> bool:
    """Return whether this is a list of sentences such as "auc >= 0.8"."""
    if not isinstance(argument, (list, tuple)) or not argument:
        return False
    return all(map(_is_requirement, argument))


def _open_file(
    path: str | os.PathLike[str], name: str, takes: str, names_columns: bool
) -> Any:
    """Return a file of data as a frame; a text that names no file is an error."""
    from trueness.data.files import scan
    from trueness.data.verdict_logs import refuse_log

    text = os.fspath(path)
    if not os.path.splitext(text)[1] and not os.path.exists(text):
        raise _needs(name, takes, one_thing(path))
    if not names_columns:
        refuse_log(os.fsdecode(path), name)
    return scan(path)


def _is_our_own(value: object) -> bool:
    """Return whether this is a value of this package, such as a tally or an answer."""
    return type(value).__module__.startswith("trueness.")


def _is_model(data: object) -> bool:
    """Return whether this is a classifier with the methods of scikit-learn."""
    return hasattr(data, "predict_proba") or hasattr(data, "decision_function")


def _count_scores_of_model(
    name: str, model: Any, other_arguments: list[Any], keywords: Keywords
) -> CountedArguments:
    """Return the counts of a classifier's scores: ``evaluate(model, X, y)``."""
    features = other_arguments[0]
    truth = other_arguments[1]
    classes = list(getattr(model, "classes_", ()))
    if len(classes) > 2:
        raise InputError(
            f"{name} needs a classifier of two classes; this one has {len(classes)}.",
            example=PythonCode("trueness.one_vs_rest(y, model.predict_proba(X))"),
        )

    positive = _positive_label(truth, keywords.get("positive"))
    if classes and positive not in classes:
        raise InputError(
            f"The positive label must be a class of the model, {listing(classes)}; "
            f"found {described(positive)}.",
            option="positive",
        )

    positive_class = classes.index(positive) if classes else 1

    if hasattr(model, "predict_proba"):
        scores = np.asarray(model.predict_proba(features))[:, positive_class]
    else:
        # distances ascend towards the second class
        scores = np.asarray(model.decision_function(features))
        if positive_class == 0:
            scores = -scores

    return CountedArguments(
        tally(truth, scores, **keywords), tuple(other_arguments[2:])
    )


def _positive_label(truth: Column, positive: LabelValue) -> Any:
    """Return the label that counts as positive, among these."""
    # the remarks are dropped: counting reads the labels again, and repeats them
    with cleaning.collected_remarks():
        labels = cleaning.read_label_column(column(truth, "y_true"), positive, "y_true")
    return labels.positive


def _standard_keywords(
    args: Args, keywords: Keywords, name: str
) -> tuple[Args, Keywords]:
    """Return the arguments and the keywords as ``tally`` and ``panel`` have them."""
    standard: Keywords = {}
    for word, value in keywords.items():
        standard_word = _SYNONYMS.get(word, word)
        if standard_word in standard:
            raise InputError(
                f"{name} was given {word}= and {standard_word}=, which mean the same. "
                "Leave one of them out."
            )
        standard[standard_word] = value

    # ``y_true=`` and ``y_score=`` go where they stand without their names
    data_columns = [standard.pop(k) for k in ("y_true", "y_score") if k in standard]
    return (*args[:1], *data_columns, *args[1:]), standard


def _needs(name: str, takes: str, what_was_passed: str) -> InputError:
    """Return the error of a call without data, or with something else."""
    counts = "a tally"
    with_arrays = f"trueness.{name}(y_true, y_score)"
    with_frame = f'trueness.{name}(frame, label="y", score="p")'

    if takes == "panel":
        counts = "a panel"
        with_arrays = f'trueness.{name}(y_true, {{"a": a, "b": b}})'
        with_frame = f'trueness.{name}(frame, label="y", scores=["a", "b"])'

    if name == "rater_agreement":
        # ratings have no labels beside them
        return InputError(
            "rater_agreement needs the ratings of two raters, or a frame with a "
            f"column for each rater; found {what_was_passed}.",
            example=PythonCode(
                "trueness.rater_agreement(first, second) or "
                'trueness.rater_agreement(frame, scores=["first", "second", "third"])'
            ),
        )

    return InputError(
        f"{name} needs {counts}, or labels and scores, or a frame; found "
        f"{what_was_passed}.",
        example=PythonCode(f"{with_arrays} or {with_frame}"),
    )


def _is_column(x: object) -> bool:
    """Return whether this could be the labels or the scores of cases."""
    if isinstance(x, (str, bytes)) or _is_our_own(x) or _are_requirements(x):
        return False
    return isinstance(x, Mapping) or hasattr(x, "__len__") or hasattr(x, "__array__")


def _is_one_column(arguments: list[Any]) -> bool:
    """Return whether the arguments begin with one column, and not with several."""
    first = arguments[0]
    if isinstance(first, Mapping) or is_frame(first) or np.ndim(first) != 1:
        return False
    return _leading_columns(arguments) == 1


def _leading_columns(arguments: list[Any]) -> int:
    """Return how many of the arguments are scores of several classifiers."""
    # scores of the same cases are columns of the same length
    sizes = [_size_of_column(argument) for argument in arguments]
    for number, size in enumerate(sizes):
        if size != sizes[0]:
            return number
    return len(sizes)


def _size_of_column(argument: Any) -> int:
    """Return the length of a column; -1 of anything else."""
    if _is_column(argument) and hasattr(argument, "__len__"):
        return len(argument)
    return -1


def _scores(
    labels: Column, columns: list[Any], name: str, takes: str, keywords: Keywords
) -> tuple[Any, tuple[str, ...]]:
    """Return one column, or a mapping from name to column, and remarks on them."""
    if len(columns) > 1:
        return _numbered_columns(columns), ()

    (single,) = columns
    if isinstance(single, (Mapping, list, tuple)) or is_frame(single):
        single = several_columns(single)
    if isinstance(single, Mapping):
        return single, ()

    shape: Args = np.shape(single) if hasattr(single, "shape") else ()
    if len(shape) == 2:
        return _scores_of_matrix(labels, single, name, takes, keywords)
    if takes == "panel":
        return {"C1": single}, ()
    return single, ()


def _scores_of_matrix(
    labels: Column, matrix: Any, name: str, takes: str, keywords: Keywords
) -> tuple[Any, tuple[str, ...]]:
    """Return the one score in a matrix, or its columns by name, and remarks on them."""
    if on_device(matrix):
        return several_columns(matrix), ()

    table = np.asarray(matrix)
    if table.ndim != 2:
        raise InputError(
            f"{name} needs dense arrays of numbers; found {described(matrix)}. Turn a "
            "sparse matrix into an array.",
            example=PythonCode("y_score.toarray()"),
        )

    if takes == "panel":
        return several_columns(table), ()
    if table.shape[1] == 1:
        return table[:, 0], ()

    if table.shape[1] == 2 and np.allclose(table.sum(axis=1), 1):
        # two columns that add up to 1 are what ``predict_proba`` returns
        return _probability_of_positive(labels, table, keywords.get("positive"))

    return several_columns(table), ()


def _numbered_columns(columns: Sequence[Any]) -> dict[str, Any]:
    """Return columns with names C1, C2, ..., for those that have none."""
    return {f"C{number}": column for number, column in enumerate(columns, start=1)}


def _probability_of_positive(
    labels: Column, table: Array, positive: LabelValue
) -> tuple[Array, tuple[str, ...]]:
    """Return the column of the positive class of what ``predict_proba`` returns.

    Its columns are in the order of the sorted labels.
    """
    positive_class = _positive_label(labels, positive)
    values = column(labels, "y_true")
    place = 1
    if cleaning.has_text(values) and values.size:
        place = _place_of_class(values, str(positive_class))
    elif positive_class in (0, False, -1):
        place = 0

    which = "second" if place else "first"
    remark = (
        f"Using the {which} column of the probabilities, that of the positive class "
        f"{described(positive_class)}."
    )
    return table[:, place], (remark,)


def _place_of_class(labels: Array, positive_class: str) -> int:
    """Return the place of a class among the sorted words of two labels."""
    names = sorted({str(label) for label in labels.tolist() if label is not None})
    if len(names) != 2:
        raise InputError(
            "y_score has two columns that add up to 1, but the labels have "
            f"{len(names)} values. Pass the column of the positive class.",
            example=PythonCode("y_score[:, 1]"),
        )

    if positive_class in names:
        return names.index(positive_class)
    return 1


def _count_table(
    name: str, data: Any, takes: str, keywords: Keywords, other_arguments: Args
) -> CountedArguments:
    """Return the counts of the columns of a table, named or found."""
    score = keywords.pop("score", None)
    scores = keywords.pop("scores", None)
    if score is not None and scores is not None:
        raise InputError(
            "score and scores both name the columns; leave one of them out.",
            option="scores",
        )

    score_columns = score if scores is None else scores
    data = without_total_row(data, keywords.get("label"))
    names_in_data = column_names(data)
    remarks: tuple[str, ...] = ()

    if (
        name in _SITE_ANALYSES
        and score_columns is None
        and has_study_tables(names_in_data)
    ):
        return CountedArguments(study_tables(data).tables, other_arguments)

    # a table of counts needs no search: its columns have names of their own
    holds_counts = score_columns in (None, "score") and are_counts(names_in_data)
    if not holds_counts or keywords.get("label") is not None:
        columns = _find_columns(
            name, takes, data, names_in_data, score_columns, keywords
        )
        keywords["label"] = columns.label
        if columns.count is not None:
            keywords["count"] = columns.count
        if score_columns is None:
            score_columns = _as_column_names(columns.scores, takes)
        remarks = columns.remarks

        _refuse_long_table(name, takes, data, columns, keywords)
        if name == "evaluate" and keywords.keys() <= {"label"}:
            classes = _class_tallies(data, columns)
            if classes is not None:
                return CountedArguments(classes, other_arguments, remarks)

    reference = keywords.get("unlabelled")
    holds_columns = is_frame(reference) or isinstance(reference, Mapping)
    if holds_columns and isinstance(score_columns, str):
        keywords["unlabelled"] = _count_reference(reference, score_columns, keywords)

    if (
        takes == "panel"
        or scores is not None
        or isinstance(score_columns, (list, tuple))
    ):
        names = [score_columns] if isinstance(score_columns, str) else score_columns
        if name == "rater_agreement":
            data = _with_coded_ratings(data, names, keywords)
        return CountedArguments(
            panel(data, names, **keywords), other_arguments, remarks
        )

    counts = tally(data, score=score_columns, **keywords)
    return CountedArguments(counts, other_arguments, remarks, str(score_columns or ""))


def _class_tallies(data: Any, columns: FoundColumns) -> ClassTallies | None:
    """Count each class against the rest, where each has a score called after it."""
    if not isinstance(columns.label, str) or len(columns.scores) < 3:
        return None

    table = table_of(data)
    values = table.distinct(columns.label, MAX_CLASSES)
    if table.reads_as(columns.label) == "labels" or not 3 <= len(values) <= MAX_CLASSES:
        return None

    score_of_class = scores_of_classes(values, columns.scores)
    if not score_of_class:
        return None

    arrays = columns_of(data, [columns.label, *score_of_class.values()])
    scores = {name: arrays[score] for name, score in score_of_class.items()}
    return one_vs_rest(arrays[columns.label], scores)


def _count_reference(reference: Any, score: str, keywords: Keywords) -> Any:
    """Count the labelled cases to which the map of expected labels is fitted."""
    label = keywords.get("label")
    if label not in column_names(reference):
        label = find_label(table_of(reference), {score})
    return tally(reference, score=score, label=label, positive=keywords.get("positive"))


def _with_coded_ratings(data: Any, raters: Sequence[str], keywords: Keywords) -> Any:
    """Return data whose ratings are numbers; as they are where none is a word."""
    table = table_of(data)
    if not any(table.kinds.get(column) == TEXT for column in raters):
        return data

    label = keywords.get("label")
    other_columns = [*_columns_with_other_roles(keywords), label]
    names_in_use = [column for column in other_columns if isinstance(column, str)]
    columns = columns_of(data, list(dict.fromkeys([*raters, *names_in_use])))
    return columns | coded_ratings({column: columns[column] for column in raters})


def _as_column_names(scores: Sequence[str], takes: str) -> str | list[str]:
    """Return one column that was found by its name, several as a list."""
    if len(scores) == 1 and takes != "panel":
        return scores[0]
    return list(scores)


def _refuse_long_table(
    name: str, takes: str, data: Any, columns: FoundColumns, keywords: Keywords
) -> None:
    """Raise an error for several rows per case, unless a cluster or count is named."""
    is_stated = keywords.get("cluster") is not None or keywords.get("count") is not None
    if is_stated or not isinstance(columns.label, str):
        return
    if not columns.guessed and not _is_quick_to_look_at(data):
        return

    compares = takes == "panel" and len(columns.scores) == 1

    try:
        refuse_long_table(
            table_of(data), columns.label, columns.scores, compares=compares
        )
    except InputError as error:
        message = f"{name}: {error.message}"
        raise InputError(message, option=error.option, example=error.example) from None


def _is_quick_to_look_at(data: Any) -> bool:
    """Return whether all columns can be read at little cost."""
    if isinstance(data, Mapping) or _is_relation(data):
        return True
    frame = open_frame(data)
    return not is_lazy(frame) and len(frame) <= MAX_ROWS


def _find_columns(
    name: str,
    takes: str,
    data: Any,
    names: Sequence[str],
    score_columns: str | Sequence[str] | None,
    keywords: Keywords,
) -> FoundColumns:
    """Return the columns of the data, and find those that nobody named.

    ``names`` are the columns of the data, ``score_columns`` the scores that were named.
    """
    named_scores = _as_tuple(score_columns)
    label = keywords.get("label")
    may_lack_labels = name in _VERDICT_ANALYSES or name in _LABEL_FREE_ANALYSES
    # label=None is an answer, too: there are no labels
    finds_label = "label" not in keywords and not may_lack_labels
    if named_scores and not finds_label:
        return FoundColumns(label, named_scores)

    other_columns = _columns_with_other_roles(keywords)
    table = table_of(data)
    if finds_label and _answers_without_labels(name, keywords):
        finds_label = not has_no_label(table, {*named_scores, *other_columns})
    if label is None and may_lack_labels:
        label = _label_of_few(table, names)

    try:
        columns = find_columns(
            table,
            label=label,
            scores=named_scores,
            guess=_guess_for(name, takes),
            option="test" if name in _VERDICT_ANALYSES else "score",
            needs_label=finds_label,
            used_columns=other_columns,
            positive=keywords.get("positive"),
        )
    except InputError as error:
        # which function was called, where several are in a script
        message = f"{name}: {error.message}{_advice_on_columns(data, table, error)}"
        raise InputError(message, option=error.option, choices=error.choices) from None

    if label is not None and keywords.get("label") is None:  # found by its few values
        guessed = (f"label {names_of([label])}", *columns.guessed)
        columns = replace(columns, guessed=guessed)

    if keywords.get("count") is None:
        count = count_column(table, columns.label, columns.scores, other_columns)
        columns = replace(columns, count=count)

    return with_remarks_on_unused(table, columns, other_columns)


def _as_tuple(names: str | Sequence[str] | None) -> tuple[str, ...]:
    """Return the names of none, one or several columns as a tuple."""
    if names is None:
        return ()
    if isinstance(names, str):
        return (names,)
    return tuple(names)


def _columns_with_other_roles(keywords: Keywords) -> list[str]:
    """Return the columns that are named as counts, weights, clusters or groups."""
    values = [keywords.get(role) for role in ("count", "weight", "cluster", "by")]
    return [column_name for column_name in values if isinstance(column_name, str)]


def _label_of_few(table: DataTable, names: Sequence[str]) -> str | None:
    """Return the labels of a few cases: by their name, or as a rarely filled column."""
    # columns of pandas may be numbered
    usual_names = [name for name in names if str(name).lower() in LABEL_NAMES]
    if len(usual_names) == 1:
        return usual_names[0]
    return label_of_some(table)


def _answers_without_labels(name: str, keywords: Keywords) -> bool:
    """Return whether there is an answer without labels, or a map expects them."""
    unlabelled = keywords.get("unlabelled")
    labels_expected = unlabelled is not None and not isinstance(unlabelled, str)
    return name in _MAY_LACK_LABELS or labels_expected


def _advice_on_columns(data: Any, table: DataTable, error: InputError) -> str:
    """Return what else to ask, or to correct, where columns were not found."""
    if has_study_tables(table.kinds):
        return (
            " Each row is a 2x2 table: summary_roc and across_sites answer about "
            "studies, Confusion(tp=, fp=, fn=, tn=) is one table."
        )
    if find_attempts(table) is not None:
        return " If each row is an attempt of a system at an item, use leaderboard."
    if error.option != "label":
        return _advice_on_odd_words(data, table)
    if len(tests_among(table, set())) >= 2:
        return " Where there are none, use latent_class or agreement."
    return ""


def _advice_on_odd_words(data: Any, table: DataTable) -> str:
    """Return advice on columns of text that hold numbers, but for a few words."""
    sentences = []
    for name, kind in table.kinds.items():
        if kind != TEXT:
            continue
        values = columns_of(data, [name], max_rows=MAX_ROWS)[name].tolist()
        odd_words = cleaning.few_words(values, rows=False)
        if odd_words:
            sentences.append(
                f" Column {name!r} has {odd_words}; correct these values or leave them "
                "empty."
            )

    return "".join(sentences)


def _is_relation(data: object) -> bool:
    """Return whether this is a file or a table that DuckDB has opened."""
    return is_of_library(data, "duckdb", "DuckDBPyRelation")


def _guess_for(name: str, takes: str) -> Guess:
    """Return how the scores of this analysis are found, where nobody names them."""
    if name in _VERDICT_ANALYSES:
        return _guess_tests
    if name == "rater_agreement":
        return ratings_among
    if name in _ONE_SCORE_ANALYSES and takes != "panel":
        return one_score
    return several_scores


def _guess_tests(table: DataTable, used_columns: set[str | None]) -> tuple[str, ...]:
    """Return the columns of verdicts; raise an error that asks for them if none."""
    tests = tests_among(table, used_columns)
    if tests:
        return tests
    raise not_found("Which columns hold the verdicts of tests?", table, "scores")
