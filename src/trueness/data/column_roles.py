"""Which column is the label, and which are the scores, the tests or the readings?

``find_columns`` decides for every face: Python, the shell, the page. A column that was
not named is taken only when there is no doubt, by its name and its values; the answer
says which ones were taken. Frames and mappings are a ``FrameTable``, files a
``RelationTable``, which asks DuckDB.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any, final

from trueness._core.checks.errors import InputError
from trueness._core.data_types import LabelValue
from trueness.data import cleaning
from trueness.data.column_names import names_of, plain_name, words_of
from trueness.data.complements import complements_of_positive
from trueness.data.count_columns import COUNT_NAMES, count_remark
from trueness.data.data_tables import (
    DATE,
    OTHER,
    REAL,
    TEXT,
    TRUTH,
    WHOLE,
    DataTable,
)

LABEL_NAMES = ("label", "y", "y_true", "target", "truth", "outcome")
# other names of the truth, which a column of another meaning may have, too
LIKELY_LABEL_NAMES = (
    *(
        "labels",
        "targets",
        "gold",
        "gold_standard",
        "gold_label",
        "gold_truth",
        "ground_truth",
    ),
    *("groundtruth", "reference", "reference_standard", "ref", "true_label", "actual"),
    *("actuals", "actual_class", "true_class", "y_test", "ytrue", "disease"),
    *("diseased", "condition", "status", "class", "event", "case", "diagnosis"),
    *("d", "sick", "ill", "response", "human", "human_label", "observed", "obs"),
)
# names of nothing but the truth: beside one of them, "label" may be a prediction
_TRUTH_NAMES = (
    *("gold", "gold_standard", "gold_label", "gold_truth", "ground_truth"),
    *("groundtruth", "true_label", "true_class", "actual", "actuals", "actual_class"),
)
# last words of the names of labels: loan_status, tumour_class
_LABEL_ENDINGS = ("label", "status", "class", "outcome", "truth", "target", "diagnosis")
SCORE_NAMES = ("score", "y_score", "p", "prob", "probability", "prediction")
# parts of a name that only a score has: score_a, prob_1, risk_pct
_SCORE_WORDS = frozenset(
    {
        *("score", "scores", "prob", "proba", "probability", "probabilities"),
        *("pd", "risk", "logit", "logits", "yscore", "yprob", "yproba", "phat"),
    }
)
# words that a prediction has beside the name of what it predicts; i is of SAS
_PREDICTION_WORDS = frozenset(
    {"pred", "predict", "predicted", "prediction", "hat", "class", "i"}
)
_PREDICTION_NAMES = ("pred", "y_pred", "ypred", "predicted", "yhat", "y_hat")
NODE_NAMES = ("leaf", "node", "segment")  # of the leaves of a tree
# of all cases at a score, and of the positive ones among them
_TOTAL_NAMES = ("n", "total", "count", "counts", "obs", "observations", "n_total")
_POSITIVES_NAMES = ("positives", "n_pos", "events", "cases", "defaults", "bads")
# of a table with a row for each verdict
JUDGE_NAMES = ("judge", "rater", "annotator", "grader", "labeler", "labeller", "coder")
VERDICT_NAMES = ("verdict", "rating", "vote", "grade", "judgement", "judgment")
# of the time to an event, or to censoring, and of the event itself
TIME_NAMES = (
    *("time", "times", "follow_up", "followup", "futime", "survival_time", "duration"),
    *("time_to_event", "tte", "survival", "os_time", "tenure", "os", "pfs", "dfs"),
    *("days_to_event", "days_to_death"),
)
_UNITS_OF_TIME = ("days", "weeks", "months", "years", "d", "mo", "yrs")
EVENT_NAMES = ("event", "status", "died", "death", "dead", "os_event")
WEIGHT_NAMES = ("weight", "weights", "w", "wt", "sample_weight", "survey_weight")
_IDENTIFIER_WORDS = frozenset(
    {
        *("id", "ids", "uuid", "guid", "index", "row", "rownum", "rowid", "nr"),
        *("fold", "split", "seed", "key", "patient", "subject", "person", "user"),
        *("customer", "account", "record", "visit", "sample", "year", "month", "day"),
        *("item", "question", "task", "prompt", "example"),
        *("psu", "stratum", "strata"),
    }
)
_NUMBER_WORDS = ("no", "nr", "num", "number")  # at the end of case_no, lab_number
MAX_WORDS = 30  # distinct values of a column of text that are read
# in so many rows or more, whole numbers that all differ are numbers of cases, no scores
MIN_NUMBERED_ROWS = 20
MAX_READINGS = 11  # values of an ordinal reading, such as 0 to 10


@final
@dataclass(frozen=True)
class FoundColumns:
    """Columns of the label and the scores, and which of them nobody had named."""

    label: str | None
    scores: tuple[str, ...]
    guessed: tuple[str, ...] = ()
    reason: str = "no other column fits"
    count: str | None = None  # how many cases each row stands for
    unused: tuple[str, ...] = ()  # remarks on columns that may be counts or weights

    @property
    def remarks(self) -> tuple[str, ...]:
        """Return remarks on the columns that nobody named."""
        if not self.guessed:
            return ()
        return (self.sentence, *count_remark(self.count, self.label), *self.unused)

    @property
    def sentence(self) -> str:
        """Return the sentence that says which columns are used, and why."""
        return f"Using {' and '.join(self.guessed)}: {self.reason}."


Guess = Callable[[DataTable, set[str | None]], tuple[str, ...]]


def find_columns(
    table: DataTable,
    *,
    label: str | None,
    scores: Sequence[str],
    guess: Guess,
    option: str = "score",
    needs_label: bool = True,
    used_columns: Iterable[str | None] = (),
    positive: LabelValue = None,
) -> FoundColumns:
    """Return label and scores; those that nobody named where there is no doubt.

    ``used_columns`` have another role. ``option`` is what a person calls the scores:
    score, test, judge. Columns of two words, of which ``positive`` is one, are tests.
    """
    guessed = []
    other_roles = set(used_columns)
    if label is None and needs_label:
        label = find_label(table, {*scores, *other_roles})
        guessed.append(f"label {names_of([label])}")

    scores_named = bool(scores)
    if not scores_named:
        other_roles.update(complements_of_positive(table, label, positive))
    if not scores:
        scores = _columns_of_words(table, {label, *other_roles}, positive)
    if not scores:
        scores = guess(table, {label, *other_roles})

    if not scores_named:
        what = option
        if option == "score" and not any(is_score(table, name) for name in scores):
            what = "test"
        plural = "s" if len(scores) > 1 else ""
        guessed.append(f"{what}{plural} {names_of(scores)}")

        _refuse_confidence(table, label, scores)
        _refuse_sums(table, label)

    columns = FoundColumns(label, tuple(scores), tuple(guessed))
    other_scores = numeric_columns(table, {label, *scores, *other_roles})
    time = _time_of_follow_up(table, label, {*scores, *other_roles})
    if time is not None:
        advice = f"If {time!r} is the time of follow-up, labels need a horizon"
        return replace(columns, reason=f"by name. {advice}, to allow for censoring")
    if other_scores:
        return replace(columns, reason="by name")
    if label is None and option == "score":
        return replace(columns, reason=_no_other_column(table, {*scores, *other_roles}))
    return columns


def _time_of_follow_up(
    table: DataTable, label: str | None, used_columns: set[str | None]
) -> str | None:
    """Return the column of times beside a label that is called as an event."""
    if label is None or plain_name(label) not in EVENT_NAMES:
        return None
    times = [
        column
        for column, kind in table.kinds.items()
        if kind in (WHOLE, REAL)
        and column not in used_columns
        and _is_called_like_a_time(column)
    ]
    return times[0] if len(times) == 1 else None


def _is_called_like_a_time(column: str) -> bool:
    """Return whether a column is called a time of follow-up: time, os_months."""
    *before, last = plain_name(column).split("_")
    without_unit = "_".join(before) if last in _UNITS_OF_TIME else ""
    return plain_name(column) in TIME_NAMES or without_unit in TIME_NAMES


def _no_other_column(table: DataTable, used_columns: set[str | None]) -> str:
    """Return why a label was not found: no other column fits, or one needs a name."""
    mostly_empty = table.mostly_empty()
    for column in _free_columns(table, used_columns):
        is_marked = column in mostly_empty and len(table.distinct(column, 1)) == 1
        if is_marked or _has_two_words(table, column):
            return f"no other column fits. If {column!r} holds labels, name it"
    return FoundColumns.reason


def _refuse_confidence(
    table: DataTable, label: str | None, scores: Sequence[str]
) -> None:
    """Raise an error for the probability of the predicted class, which ranks no cases.

    Beside predictions of both classes, all of its values are one half or more.
    """
    if label is None:
        return
    predictions = [
        column
        for column in table.kinds
        if column not in (label, *scores)
        and any(word.startswith("pred") for word in words_of(column))
        and is_binary(table, column)
        and len(table.distinct(column, 2)) == 2
    ]
    numbers = [name for name in scores if table.kinds[name] == REAL]
    if not predictions or not numbers:
        return

    for column, (low, high) in zip(numbers, table.extents(numbers), strict=True):
        if low is not None and low >= 0.5 and high <= 1:
            raise InputError(
                f"Column {column!r} seems to hold the confidence in the class of "
                f"{names_of(predictions[:1])}: no value is below 0.5. Make a column "
                "with the probability of the positive class. If it is one, name it.",
                option="score",
                choices=[column],
            )


def _refuse_sums(table: DataTable, label: str | None) -> None:
    """Raise an error for numbers of cases, and of positives, at each score."""
    whole_numbers = [name for name, kind in table.kinds.items() if kind == WHOLE]
    totals = [name for name in whole_numbers if plain_name(name) in _TOTAL_NAMES]
    positives = [name for name in whole_numbers if plain_name(name) in _POSITIVES_NAMES]
    if label is not None or len(totals) != 1 or len(positives) != 1:
        return

    raise InputError(
        f"Column {totals[0]!r} seems to count the cases at each score, column "
        f"{positives[0]!r} the positive ones. Counts need a column pos with the "
        "positives and a column neg with the negatives."
    )


def _columns_of_words(
    table: DataTable, used_columns: set[str | None], positive: LabelValue
) -> tuple[str, ...]:
    """Return the tests whose two verdicts are words, one of which is positive."""
    if not isinstance(positive, str):
        return ()

    word = cleaning.normal_form(positive)
    tests = []
    for column in _free_columns(table, used_columns):
        if table.kinds[column] == TEXT:
            spelt = {cleaning.normal_form(v) for v in table.distinct(column, 4)}
            verdicts = {w for w in spelt if not cleaning.is_missing_word(w)}
            if len(verdicts) == 2 and word in verdicts:
                tests.append(column)

    return tuple(tests)


def find_label(table: DataTable, used_columns: set[str | None]) -> str:
    """Return the column of the labels: by its name, or the only one of two values."""
    free_columns = [name for name in table.kinds if name not in used_columns]
    usual_names = [name for name in free_columns if name.strip().lower() in LABEL_NAMES]
    if len(usual_names) == 1 and not _has_rival(table, usual_names[0], free_columns):
        return usual_names[0]
    # two columns with such a name leave it open which is meant
    if usual_names:
        raise not_found("Which column holds the labels?", table, "label")

    _refuse_table_of_verdicts(table)
    binary = [name for name in free_columns if is_binary(table, name)]
    binary = [name for name in binary if not _predicts_one_of(name, binary)]
    if len(binary) == 1:
        return binary[0]

    likely_names = [name for name in binary if plain_name(name) in LIKELY_LABEL_NAMES]
    if len(likely_names) == 1:
        return likely_names[0]

    # of two classes that are no known pair the name alone decides
    columns_of_classes = [name for name in free_columns if _holds_classes(table, name)]
    if len(columns_of_classes) == 1 and not binary:
        return columns_of_classes[0]

    raise not_found("Which column holds the labels?", table, "label")


def _predicts_one_of(column: str, others: Sequence[str]) -> bool:
    """Return whether a column is called the prediction of another: I_BAD of BAD."""
    # PROC LOGISTIC of SAS writes the observed and the predicted class so
    if column.upper() == "_INTO_":
        return any(other.upper() == "_FROM_" for other in others)

    name_words = words_of(column)
    for other in others:
        more_words = name_words - words_of(other)
        if words_of(other) < name_words and more_words <= _PREDICTION_WORDS:
            return True
    return False


def _has_rival(table: DataTable, label: str, free: Sequence[str]) -> bool:
    """Return whether another column is called the truth, so the label may be none."""
    rivals = [
        name
        for name in free
        if name != label and plain_name(name) in _TRUTH_NAMES and is_binary(table, name)
    ]
    return bool(rivals) and is_binary(table, label)


def has_no_label(table: DataTable, used_columns: set[str | None]) -> bool:
    """Return whether no column can hold the labels, by its name or its values."""
    return not any(
        column.strip().lower() in LABEL_NAMES
        or is_binary(table, column)
        or _holds_classes(table, column)
        for column in table.kinds
        if column not in used_columns
    )


def _holds_classes(table: DataTable, column: str) -> bool:
    """Return whether a column of a few words, or of two numbers, is called like labels.

    Many words name the cases. Which of two numbers is positive is asked: 1 and 2.
    """
    if plain_name(column) not in LIKELY_LABEL_NAMES:
        return _ends_like_a_label(column) and _has_two_words(table, column)
    if table.kinds[column] == WHOLE:
        return len(table.distinct(column, 2)) == 2
    if table.kinds[column] != TEXT:
        return False
    return len(table.distinct(column, MAX_WORDS)) <= MAX_WORDS


def _ends_like_a_label(column: str) -> bool:
    """Return whether a column's last word is one of labels, and it is no prediction."""
    *before, last = plain_name(column).split("_")
    predicts = any(word.startswith("pred") for word in before)
    return bool(before) and last in _LABEL_ENDINGS and not predicts


def _has_two_words(table: DataTable, column: str) -> bool:
    """Return whether a column of text has two values."""
    return table.kinds[column] == TEXT and len(table.distinct(column, 2)) == 2


def _refuse_table_of_verdicts(table: DataTable) -> None:
    """Raise an error for a table with a row for each verdict: a verdict is no label."""
    column_of = {plain_name(column): column for column in table.kinds}
    judges = [column_of[name] for name in JUDGE_NAMES if name in column_of]
    verdicts = [column_of[name] for name in VERDICT_NAMES if name in column_of]
    if not judges or not verdicts:
        return

    raise InputError(
        f"Each row has the verdict of one judge ({names_of([judges[0], verdicts[0]])}),"
        " and no column holds labels. look lists the analyses for such a table.",
        option="label",
        choices=tuple(table.kinds),
    )


def is_binary(table: DataTable, column: str) -> bool:
    """Return whether a column has two values, 0 and 1 or a known pair of words."""
    kind = table.kinds[column]
    if kind == TRUTH or table.reads_as(column) == "labels":
        return True
    # 1.0 and 0.0: so pandas writes labels of which some are missing
    return kind in (WHOLE, REAL) and _are_binary_values(table.distinct(column, 2))


def is_test(table: DataTable, column: str) -> bool:
    """Return whether a column holds the verdicts of a test, and no score."""
    kind = table.kinds[column]
    if kind == TRUTH or table.reads_as(column) == "labels":
        return True
    if kind not in (WHOLE, REAL):
        return False

    values = table.distinct(column, 2)
    return bool(values) and all(v in (0, 1) for v in values)


def is_score(table: DataTable, column: str) -> bool:
    """Return whether a column holds numbers, and not the verdicts of a test."""
    number = table.kinds[column] in (WHOLE, REAL) or table.reads_as(column) == "numbers"
    return number and not is_test(table, column)


def _are_binary_values(values: Sequence[Any]) -> bool:
    """Return whether these are 0 and 1, or -1 and 1."""
    return sorted(values) in ([0, 1], [-1, 1])


def one_score(
    table: DataTable, used_columns: set[str | None], *, by_name: bool = True
) -> tuple[str, ...]:
    """Return the one column that can be the score, or that has the name of one.

    Without ``by_name``, names do not count.
    """
    fractions = numeric_columns(table, used_columns)
    usual_names = _columns_called_scores(table, used_columns)
    if len(fractions) == 1:
        return tuple(fractions)
    if by_name and len(usual_names) == 1:
        return tuple(usual_names)

    if not fractions and not usual_names:
        # points or verdicts may be the score, where one column alone holds such
        whole_scores = _whole_scores(table, used_columns)
        tests = tests_among(table, used_columns)
        if len(whole_scores) + len(tests) == 1:
            return (*whole_scores, *tests)

    raise not_found("Which column is the score?", table, "score", used_columns)


def several_scores(table: DataTable, used_columns: set[str | None]) -> tuple[str, ...]:
    """Return every column of fractions, when all of them lie between 0 and 1.

    Otherwise those that are called like a score. If there are none of either, verdicts
    of tests; then readings, which are whole numbers.
    """
    fractions = numeric_columns(table, used_columns)
    if fractions and _are_fractions(table, fractions):
        return tuple(fractions)

    usual_names = _columns_called_scores(table, used_columns)
    if usual_names:
        return tuple(usual_names)

    if not fractions:
        tests = tests_among(table, used_columns)
        if tests:
            return tests
        whole_scores = _whole_scores(table, used_columns)
        if len(whole_scores) == 1 or (
            whole_scores and _same_scale(table, whole_scores)
        ):
            return tuple(whole_scores)

    raise not_found("Which columns hold the scores?", table, "score", used_columns)


def _are_fractions(table: DataTable, columns: Sequence[str]) -> bool:
    """Return whether all columns lie between 0 and 1; one alone may be any score."""
    if len(columns) == 1:
        return True

    # text holds percentages, and numbers with a decimal comma
    plain = [name for name in columns if table.kinds[name] != TEXT]
    for low, high in table.extents(plain):
        # a column without a value has no extent
        if low is None or low < 0 or high > 1:
            return False

    return True


def numeric_columns(table: DataTable, used_columns: set[str | None]) -> list[str]:
    """Return the free columns of fractions, which could be scores."""
    return [
        column
        for column in _free_columns(table, used_columns)
        if (table.kinds[column] == REAL or _is_text_of_numbers(table, column))
        and not is_test(table, column)
        and table.distinct(column, 1)
    ]


def _is_text_of_numbers(table: DataTable, column: str) -> bool:
    """Return whether text holds numbers with decimals; digits alone may name cases."""
    if table.reads_as(column) != "numbers":
        return False
    values = [str(v) for v in table.distinct(column, MAX_WORDS)]
    return not all(v.strip().isdecimal() for v in values)


def tests_among(table: DataTable, used_columns: set[str | None]) -> tuple[str, ...]:
    """Return the columns of verdicts beside the label: 0 and 1, or known pairs."""
    return tuple(
        column
        for column in _free_columns(table, used_columns)
        if is_test(table, column)
    )


def ratings_among(table: DataTable, used_columns: set[str | None]) -> tuple[str, ...]:
    """Return the columns of ratings: a few numbers, or words, of one scale."""
    ratings = []
    for column in _free_columns(table, used_columns):
        is_label = plain_name(column) in LABEL_NAMES
        is_readable = table.kinds[column] in (WHOLE, REAL, TRUTH, TEXT)
        if is_label or not is_readable or not table.distinct(column, 1):
            continue
        if len(table.distinct(column, MAX_READINGS)) <= MAX_READINGS:
            ratings.append(column)

    # words beside numbers are groups, and no ratings
    numbers = [column for column in ratings if table.kinds[column] != TEXT]
    if 0 < len(numbers) < len(ratings):
        verdicts = [c for c in ratings if c in numbers or is_test(table, c)]
        ratings = verdicts if len(numbers) > 1 else ratings

    if len(ratings) >= 2:
        return tuple(ratings)
    raise not_found("Which columns hold the ratings?", table, "scores", used_columns)


def votes_among(table: DataTable, used_columns: set[str | None]) -> tuple[str, ...]:
    """Return the columns of 0 and 1, without that of the labels of a few cases."""
    some_labels = label_of_some(table)
    votes = []
    for column in _free_columns(table, {*used_columns, some_labels}):
        # a column of lists or structures has values that no set can hold
        values = table.distinct(column, 2)
        if values and all(value in (0, 1) for value in values):
            votes.append(column)

    return tuple(votes)


def label_of_some(table: DataTable) -> str | None:
    """Return the one column that is empty in most rows, as a few labels are."""
    empty = table.mostly_empty()
    return empty[0] if len(empty) == 1 else None


def label_of_judged(table: DataTable) -> str | None:
    """Return the column of a few labels beside verdicts, by its name and its values."""
    column = label_of_some(table)
    if column is None or not is_binary(table, column):
        return None
    names = (*LABEL_NAMES, *LIKELY_LABEL_NAMES)
    return column if plain_name(column) in names else None


def not_found(
    question: str,
    table: DataTable,
    option: str,
    used_columns: Iterable[str | None] = (),
) -> InputError:
    """Return the error that asks for a column which cannot be found beyond doubt."""
    columns = list(table.kinds)

    if option != "score":
        return InputError(question, option=option, choices=columns)

    others = set(used_columns)
    columns = [name for name in columns if name not in others]

    if empty := _advice_on_empty_columns(table, others):
        return InputError(f"{question}{empty}", option=option, choices=columns)
    # beside numbers that could be the score, two words are rather a group
    if could_be_score := numeric_columns(table, others):
        return InputError(question, option=option, choices=could_be_score)

    reasons = _advice_on_two_words(table, others) or _why_no_scores(table, others)
    return InputError(f"{question}{reasons}", option=option, choices=columns)


def _advice_on_empty_columns(table: DataTable, used_columns: set[str | None]) -> str:
    """Return a sentence on data without rows, or on an empty column of scores."""
    readable = [name for name, kind in table.kinds.items() if kind != OTHER]
    empty = [name for name in readable if not table.distinct(name, 1)]
    if empty and len(empty) == len(readable):
        return " The data have no rows, or only empty ones."

    # first those with a word of a score in their name, then other usual names
    for name in empty:
        if name not in used_columns and words_of(name) & _SCORE_WORDS:
            return f" Column {name!r} is empty."

    for name in empty:
        if name.lower() in SCORE_NAMES:
            return f" Column {name!r} is empty."

    return ""


def _advice_on_two_words(table: DataTable, used_columns: set[str | None]) -> str:
    """Return advice on a column of two words, which may be verdicts of a test."""
    for column in _free_columns(table, used_columns):
        if _has_two_words(table, column):
            verdicts = " and ".join(repr(v) for v in table.distinct(column, 2))
            return (
                f" If column {column!r} holds the results of a test, name which of "
                f"{verdicts} counts as positive."
            )

    return ""


def _why_no_scores(table: DataTable, used_columns: set[str | None]) -> str:
    """Return the reasons why the first columns are no scores."""
    reasons = []
    for column in (name for name in table.kinds if name not in used_columns):
        kind = table.kinds[column]
        if kind == DATE:
            reasons.append(f" Column {column!r} holds dates.")
        elif kind == TEXT and table.reads_as(column) == "text":
            reasons.append(_why_text_is_no_score(table, column))
        elif kind == OTHER:
            reasons.append(
                f" Column {column!r} holds lists or objects: extract the part that "
                "you need."
            )
        elif kind == WHOLE and column.lower() in NODE_NAMES:
            reasons.append(f" Column {column!r} names leaves: use the analysis leaves.")
        elif kind == WHOLE and _numbers_the_rows(table, column):
            reasons.append(
                f" The numbers of column {column!r} may only identify cases."
            )

    return "".join(reasons[:3])


def _why_text_is_no_score(table: DataTable, column: str) -> str:
    """Return which words a column of text holds, or that its numbers differ in form."""
    values = [str(value) for value in table.distinct(column, MAX_WORDS)]
    no_numbers = [value for value in values if cleaning.meaning([value]) != "numbers"]
    if not no_numbers:
        percentages = [value for value in values if value.strip().endswith("%")]
        plain_numbers = [value for value in values if value not in percentages]
        examples = names_of([*plain_numbers[:1], *percentages[:1]])
        return f" Column {column!r} writes numbers in several ways: {examples}."

    if 2 * len(no_numbers) > len(values):
        return f" Column {column!r} holds text, such as {names_of(no_numbers[:2])}."
    return ""


def _free_columns(table: DataTable, used_columns: set[str | None]) -> list[str]:
    """Return the columns without a role that are no identifiers, weights or counts."""
    return [
        column
        for column in table.kinds
        if column not in used_columns
        and not _is_called_like_an_identifier(column)
        and column.lower() not in (*WEIGHT_NAMES, *COUNT_NAMES)
    ]


def _is_called_like_an_identifier(column: str) -> bool:
    """Return whether a name such as patient_id says that its values name cases."""
    name_words = words_of(column)
    # the index test is the one that is measured against the reference standard
    if "test" in name_words:
        name_words = name_words - {"index"}
    if name_words & _IDENTIFIER_WORDS:
        return True
    *before, last = plain_name(column).split("_")
    return bool(before) and last in _NUMBER_WORDS


def _columns_called_scores(
    table: DataTable, used_columns: set[str | None]
) -> list[str]:
    """Return the free columns of numbers that are called like a score."""
    free = [column for column in table.kinds if column not in used_columns]
    numbers = [
        column
        for column in free
        if table.kinds[column] in (WHOLE, REAL) or table.reads_as(column) == "numbers"
    ]
    exact = [column for column in numbers if column.lower() in SCORE_NAMES]
    if len(exact) == 1 or (exact and len(exact) == len(numbers)):
        return exact

    return [
        column
        for column in numbers
        if (words_of(column) & _SCORE_WORDS) or plain_name(column) in _PREDICTION_NAMES
    ]


def _whole_scores(table: DataTable, used_columns: set[str | None]) -> list[str]:
    """Return the free columns of whole numbers with more than two values."""
    return [
        column
        for column in _free_columns(table, used_columns)
        if table.kinds[column] == WHOLE
        and len(table.distinct(column, 2)) > 2
        and not _numbers_the_rows(table, column)
        and column.lower() not in NODE_NAMES
    ]


def _numbers_the_rows(table: DataTable, column: str) -> bool:
    """Return whether whole numbers all differ, as those that name the cases do."""
    rows, different = table.different_rows([column])
    return different == rows >= MIN_NUMBERED_ROWS


def _same_scale(table: DataTable, columns: Sequence[str]) -> bool:
    """Return whether all columns hold readings of one scale, such as 1 to 5."""
    for name in columns:
        if len(table.distinct(name, MAX_READINGS)) > MAX_READINGS:
            return False

    extents = table.extents(columns)
    lowest = [low for low, _ in extents]
    highest = [high for _, high in extents]
    # an end of the scale may be missing among the readings of one column
    same_low_end = max(lowest) - min(lowest) <= 1
    same_high_end = max(highest) - min(highest) <= 1

    return bool(same_low_end and same_high_end)
