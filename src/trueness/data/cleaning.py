"""What do the values of a colleague's file mean?

Labels as people type them (``Yes``, `` no``, ``N/A``), scores in percent or with a
decimal comma, a total below the last row: each is read in one way, and a sentence says
in which, to whoever listens (a command, a page) or as a ``CleanedWarning``. Nothing is
guessed: 1,234, which may be a thousand or little more than one, is asked about.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, NamedTuple

import numpy as np

from trueness._core.arrays import Array
from trueness._core.checks import columns as _columns
from trueness._core.checks.errors import CleanedWarning, InputError
from trueness._core.checks.words import listing, option_named
from trueness._core.data_types import Column, ColumnOrFrame, LabelValue
from trueness._core.numbers import counted
from trueness._core.progress import stop_if_requested
from trueness._core.warn import warn_user
from trueness.counts.counting import Labels, read_labels
from trueness.data.number_signs import (
    limits_in_words,
    limits_of_detection,
    numbers_beyond_limits,
    without_plus,
)

NEGATIVE, POSITIVE, UNKNOWN, TOTAL = 0, 1, 2, 3


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split(", "))


MISSING = _words(
    ", n/a, na, n.a, #n/a, #na, <na>, nan, #nan, null, nil, none, missing, unknown, "
    "not known, not available, undefined, -, --, ---, \N{EN DASH}, \N{EM DASH}, ?, "
    "??, ., .., ..., k.a, k. a, keine angabe, unbekannt, inconnu, nd, n.d, n/d, "
    "#value!, #value, #ref!, #ref, #div/0!, #div/0, #name?, #null!, #null"
)
# words of a test that ran and is neither positive nor negative
INDETERMINATE = _words(
    "unsure, uncertain, unclear, undecided, not sure, maybe, indeterminate, "
    "inconclusive, equivocal, borderline, ambiguous, unklar, unsicher, vielleicht, "
    "peut-\xeatre, forse, quiz\xe1s, incierto, incerto, invalid, perhaps, "
    "intermediate, uninterpretable, grey zone, gray zone"
)
# words of a label that is not known, where the others are a pair
UNSURE = INDETERMINATE | _words(
    "pending, not done, not tested, not assessed, don't know, dk, wei\xdf nicht, n.b"
)
TOTALS = _words(
    "total, totals, grand total, subtotal, sub-total, sum, summe, gesamt, insgesamt, "
    "gesamtsumme, zwischensumme, totale, somme"
)
# words that mean yes and no wherever they stand, so that they may be mixed
YES = _words(
    "yes, y, ja, j, oui, si, s\xed, s\xec, sim, tak, da, true, t, wahr, vrai, "
    "verdadero, vero, 1, +, pos, \N{CHECK MARK}, \N{HEAVY CHECK MARK}, "
    "\N{WHITE HEAVY CHECK MARK}, positive, positiv, positif, positivo, \u0434\u0430"
)
NO = _words(
    "no, n, nein, non, n\xe3o, nao, nie, false, f, falsch, faux, falso, 0, -, "
    "\N{MINUS SIGN}, neg, negative, negativ, negatif, n\xe9gatif, negativo, "
    "\u043d\u0435\u0442, \N{BALLOT X}, \N{HEAVY BALLOT X}, \N{CROSS MARK}"
)
# pairs of which one is what a test or a model looks for: positive, then negative
PAIRS = _words(
    "sick/healthy, ill/healthy, sick/well, diseased/healthy, "
    "disease/healthy, krank/gesund, malade/sain, enfermo/sano, malato/sano, ill/well, "
    "case/control, cases/controls, fall/kontrolle, patient/control, event/nonevent, "
    "event/censored, present/absent, detected/not detected, abnormal/normal, "
    "malignant/benign, b\xf6sartig/gutartig, cancer/benign, reactive/nonreactive, "
    "infected/uninfected, on/off, spam/ham, fraud/legit, fraud/legitimate, "
    "fraud/genuine, dead/alive, deceased/alive, died/survived, died/alive, "
    "churned/retained, churned/active, left/stayed, defaulted/paid, default/paid, "
    "default/current, charged off/fully paid, bad/good, pass/fail, unsafe/safe, "
    "anomaly/normal, attack/benign, malware/benign, hallucinated/faithful, "
    "passed/failed, correct/incorrect, right/wrong, relevant/irrelevant, "
    "success/failure, responder/nonresponder, ja/nee, evet/hay\u0131r, "
    "erkrankt/gesund, genuine/impostor, tumor/normal, tumour/normal"
)
# "no disease", "not churned", "non-responder": the negative of what follows
_NOT = re.compile(r"(?:no|not|non|kein|keine|nicht|sans|sin|senza)[ _-]+(.+)|non(.+)")
# a code in front of a word: 1:no, 2 = yes, 1 - dead
_CODED = re.compile(r"\d+ ?[:=.)-] ?([^\W\d].*)")
_SPACES = re.compile(r"[\s\0\u200b\ufeff\ufe0f]+")
_LISTENER: ContextVar[list[str] | None] = ContextVar("listener", default=None)


@contextmanager
def collected_remarks() -> Iterator[list[str]]:
    """Collect the remarks on cleaned values, in place of warnings."""
    sentences: list[str] = []
    token = _LISTENER.set(sentences)
    try:
        yield sentences
    finally:
        _LISTENER.reset(token)


def tell(sentences: Iterable[str], warn: bool = True) -> None:
    """Add remarks to those that are collected, or else warn with them."""
    listener = _LISTENER.get()
    for sentence in sentences:
        if listener is None and warn:
            warn_user(sentence, CleanedWarning)
        elif listener is not None and sentence not in listener:
            listener.append(sentence)


def normal_form(value: LabelValue) -> str:
    """Return a value as text to compare: trimmed, in lower case, without quotes."""
    text = unicodedata.normalize("NFKC", str(value))
    text = _SPACES.sub(" ", text).strip().strip("\"'\u201c\u201d\u201e").strip()
    text = text.casefold()
    if len(text) > 1 and text.strip("."):
        text = text.rstrip(".!:")
    return re.sub(r"^([+-]?\d+)\.0*$", r"\1", text)


def one_spelling(values: Sequence[Any]) -> list[Any]:
    """Return the first spelling of each value, without missing values and totals."""
    spellings = set()
    first_spellings = []
    for value in values:
        if not isinstance(value, str):
            first_spellings.append(value)
            continue

        word = normal_form(value)
        if word not in spellings and word not in MISSING | TOTALS:
            first_spellings.append(value)
        spellings.add(word)

    return first_spellings


def is_missing_word(value: LabelValue) -> bool:
    """Return whether this is a word that stands for a missing value."""
    return normal_form(value) in MISSING


class LabelMeaning(NamedTuple):
    """What the distinct values of a column of labels mean."""

    code: dict[Any, int]  # NEGATIVE, POSITIVE, UNKNOWN or TOTAL of each value
    positive: Any  # the value that is positive
    remarks: list[str]  # sentences that say how the values were understood
    no_label: list[Any]  # values that stand for a label that is not known


def label_words(values: Sequence[Any], positive: LabelValue, what: str) -> LabelMeaning:
    """Return the meaning of the distinct values of a label column, some of them text.

    Values that differ in case, spaces or quotes are spellings of one word.
    """
    spellings: dict[str, list[Any]] = {}
    for value in values:
        spellings.setdefault(normal_form(value), []).append(value)

    missing, totals = _words_without_label(spellings, positive)
    labels = [word for word in spellings if word not in missing | totals]

    pair = _positives_of_known_pair(labels, positive)
    positive_words = pair
    if positive_words is None:
        # the check says what is needed where the words are no known pair
        positive_words = _positive_words_by_name(spellings, labels, positive, what)

    code: dict[Any, int] = {}
    for word, spellings_of_word in spellings.items():
        code_of_word = _code_of_word(word, positive_words, missing, totals)
        code |= dict.fromkeys(spellings_of_word, code_of_word)

    pair_was_known = pair is not None and positive is None
    remarks = _remarks_on_words(
        spellings, labels, positive_words, totals, pair_was_known=pair_was_known
    )
    # the positive label as the column writes it
    written_positives = [
        spellings[word][0] for word in labels if word in positive_words
    ]
    if written_positives:
        positive = written_positives[0]

    no_label = _written_as(sorted(missing), spellings)
    return LabelMeaning(
        code=code,
        positive=positive,
        remarks=remarks,
        no_label=[value for value in no_label if str(value).strip()],
    )


def _code_of_word(
    word: str, positive_words: frozenset[str], missing: set[str], totals: set[str]
) -> int:
    """Return the code of a word; what is no other kind is a negative label."""
    if word in totals:
        return TOTAL
    if word in missing:
        return UNKNOWN
    if word in positive_words:
        return POSITIVE
    return NEGATIVE


def _remarks_on_words(
    spellings: Mapping[str, list[Any]],
    labels: Sequence[str],
    positive_words: frozenset[str],
    totals: set[str],
    *,
    pair_was_known: bool,
) -> list[str]:
    """Return remarks on how the words were read, where that is not obvious.

    ``pair_was_known``: nobody named the positive label, a known pair of words did.
    """
    remarks = []
    several_spellings = any(len(spellings[word]) > 1 for word in labels)
    if pair_was_known or len(labels) > 2 or several_spellings:
        remarks.append(_remark_on_labels(spellings, labels, positive_words))

    total_values = _written_as(sorted(totals), spellings)
    if total_values:
        remarks.append(
            f"The row of {listing(total_values, 3)} is not counted as a case."
        )

    return remarks


def _written_as(words: Iterable[str], spellings: Mapping[str, list[Any]]) -> list[Any]:
    """Return all values of the column that are spellings of these words."""
    values = []
    for word in words:
        values += spellings[word]
    return values


def label_remarks(labels: LabelMeaning) -> list[str]:
    """Return remarks on how the words of a column of labels were read."""
    if not labels.no_label:
        return labels.remarks
    return [*labels.remarks, f"{listing(labels.no_label, 5)} as a missing label."]


def _positive_words_by_name(
    spellings: Mapping[str, list[Any]],
    labels: Sequence[str],
    positive: LabelValue,
    what: str,
) -> frozenset[str]:
    """Return the words of the positive label that was named; raise without one."""
    written = {word: str(spellings[word][0]).strip() for word in labels}
    written_positive = positive
    if positive is not None:
        written_positive = written.get(normal_form(positive), positive)
    _, positive_name = _columns.label_pair(
        sorted(written.values()), written_positive, what
    )
    return frozenset(word for word, name in written.items() if name == positive_name)


def _remark_on_labels(
    spellings: Mapping[str, list[Any]],
    labels: Sequence[str],
    positive_words: frozenset[str],
) -> str:
    """Return which labels were read as positive and as negative, as a sentence."""
    read_as_positive = [word for word in labels if word in positive_words]
    read_as_negative = [word for word in labels if word not in positive_words]

    parts = []
    if read_as_positive:
        values = _written_as(read_as_positive, spellings)
        parts.append(f"{listing(values, 5)} as positive")
    if read_as_negative:
        values = _written_as(read_as_negative, spellings)
        parts.append(f"{listing(values, 5)} as negative")

    return f"Labels: {' and '.join(parts)}."


def _words_without_label(
    words: Iterable[str], positive: LabelValue
) -> tuple[set[str], set[str]]:
    """Return the words that stand for a missing label, and those for a total.

    "-" and "none" may be labels: they are where only one other label would be left.
    """
    named = None
    if positive is not None:
        named = normal_form(positive)

    missing = set()
    totals = set()
    labels = []
    for word in words:
        # what was named as the positive label is no missing value
        if word in MISSING and word != named:
            missing.add(word)
        elif word in TOTALS and word != named:
            totals.add(word)
        else:
            labels.append(word)

    all_positive = bool(labels) and set(labels) <= YES
    if "-" in missing and all_positive:
        missing.remove("-")

    one_unknown_word = len(labels) == 1 and labels[0] not in YES | NO
    if "none" in missing and one_unknown_word:
        missing.remove("none")

    # "unsure" beside a known pair is a missing label, too
    sure = [word for word in labels if word not in UNSURE or word == named]
    if 1 < len(sure) < len(labels) and _positives_of_known_pair(sure, None) is not None:
        missing |= set(labels) - set(sure)

    return missing, totals


def _positives_of_known_pair(
    labels: Sequence[str], positive: LabelValue
) -> frozenset[str] | None:
    """Return the positive ones of labels that are a known pair; None if they are not.

    The set is empty for known words none of which is positive.
    """
    named = None if positive is None else normal_form(positive)
    if (coded := _positives_behind_codes(labels)) is not None and named is None:
        return coded

    yes = YES & set(labels)
    no = NO & set(labels)
    if labels and len(yes) + len(no) == len(labels):
        if named is None or named in yes:
            return frozenset(yes)
        if named in no:
            return frozenset(no)
        return frozenset() if named in YES | NO else None

    if len(labels) != 2:
        return None

    first, second = labels
    for word, other in ((first, second), (second, first)):
        if _is_opposite(word, other):
            if named is None:
                return frozenset([word])
            if named in labels:
                return frozenset([named])

    return None


def _positives_behind_codes(labels: Sequence[str]) -> frozenset[str] | None:
    """Return the positive labels of words behind codes: "1:no", "2:yes" of WEKA."""
    coded = {label: _CODED.fullmatch(label) for label in labels}
    if not coded or not all(coded.values()):
        return None

    word_of_label = {label: match[1] for label, match in coded.items() if match}
    distinct_words = list(dict.fromkeys(word_of_label.values()))
    if len(distinct_words) < 2:
        return None

    positives = _positives_of_known_pair(distinct_words, None)
    if positives is None:
        return None
    return frozenset(
        label for label, word in word_of_label.items() if word in positives
    )


def _is_opposite(positive: str, negative: str) -> bool:
    """Return whether two words are a pair: malignant, benign; churned, not churned."""
    if f"{positive.removeprefix('+')}/{negative}" == "1/-1":
        return True

    plain_positive = positive.replace("-", "")
    plain_negative = negative.replace("-", "")
    if f"{plain_positive}/{plain_negative}" in PAIRS:
        return True

    negation = _NOT.fullmatch(negative)
    if negation is None:
        return False

    negated = negation[1] or negation[2]
    return negated in (plain_positive, positive)


def read_label_column(values: Array, positive: LabelValue, what: str) -> Labels:
    """Return the labels of a column, with codes; a total among text has the code 3."""
    values = _columns.one_dimensional(values, what)
    if not has_text(values):
        return read_labels(values, positive, what)

    is_known = ~_columns.missing(values)
    distinct = _columns.hashable(values[is_known], what)
    labels = label_words(distinct, positive, what)
    tell(label_remarks(labels))

    code = np.full(values.size, UNKNOWN, dtype=np.int8)
    code[is_known] = [labels.code[value] for value in values[is_known].tolist()]

    return Labels(values, labels.positive, code)


def has_text(values: Array) -> bool:
    """Return whether there is text in this column."""
    if values.dtype.kind in "US":
        return bool(values.size)
    return values.dtype.kind == "O" and any(isinstance(v, str) for v in values)


def meaning(values: Sequence[Any]) -> str:
    """Return what a column of text holds: "labels", "numbers", "missing" or "text"."""
    present = [str(value) for value in values if not is_missing_word(value)]
    if not present:
        return "missing"

    distinct = list(dict.fromkeys(present))
    spellings = list(dict.fromkeys(normal_form(value) for value in distinct))
    missing, totals = _words_without_label(spellings, None)
    labels = [word for word in spellings if word not in missing | totals]
    if len(labels) <= 2 + len(YES) and _positives_of_known_pair(labels, None):
        return "labels"

    try:
        numbers_and_remark(np.array(distinct, dtype=object), "", decimal=",")
    except ValueError:
        return "text"

    return "numbers"


_SIGNS = str.maketrans(
    {"\N{MINUS SIGN}": "-", "\N{EN DASH}": "-", "\uff0c": ","}
    | dict.fromkeys("%$\N{POUND SIGN}\N{EURO SIGN}\N{YEN SIGN}", "")
)
_NUMBER = re.compile(r"[+-]?(?:\d[\d.,' ]*|[.,]\d+)(?:e[+-]?\d+)?")
THOUSANDS = re.compile(r"[+-]?[1-9]\d{0,2}(?:[.,]\d{3})+")


class NumbersFromText(NamedTuple):
    """The numbers of a column of text, and in which way they were read."""

    values: Array
    way: str


def numbers_and_remark(
    values: Array, what: str, decimal: str | None = None, cases: Array | None = None
) -> tuple[Array, str]:
    """Return a column of text as numbers, and a remark on how it was read."""
    numbers = read_numbers(values, what, decimal, cases)
    return numbers.values, f"{what}: text {numbers.way}."


def read_numbers(
    values: Array, what: str, decimal: str | None = None, cases: Array | None = None
) -> NumbersFromText:
    """Return a column of text as numbers, all read in one way.

    A value stands for one case, or for as many as ``cases`` says.
    """
    if cases is None:
        cases = np.ones(values.size, int)

    spellings = [normal_form(value) for value in values.tolist()]
    is_missing = _columns.missing(values)
    is_missing |= np.array([word in MISSING for word in spellings], dtype=bool)

    present = []
    for word, missing in zip(spellings, is_missing, strict=True):
        if not missing:
            present.append(word)

    without_signs = {word: word.translate(_SIGNS).strip() for word in present}
    without_signs = without_plus(without_signs)
    limits = limits_of_detection(without_signs)
    without_signs |= {word: limit.number for word, limit in limits.items()}
    _check_are_numbers(without_signs, spellings, is_missing, cases, what)

    in_percent = _are_percentages(present, what)
    distinct = sorted(set(without_signs.values()))
    decimal_comma = _has_decimal_comma(distinct, what, decimal)
    unit = 100 if in_percent else 1
    number_of_word = {}
    for word, text in without_signs.items():
        number_of_word[word] = _number(text, decimal_comma) / unit
    number_of_word = numbers_beyond_limits(number_of_word, limits, what)

    numbers = np.full(values.size, np.nan)
    numbers[~is_missing] = [number_of_word[word] for word in present]

    forms = []
    if in_percent:
        forms.append("percentages")
    if decimal_comma:
        forms.append("numbers with a decimal comma")

    read_as = [" and ".join(forms) or "numbers", *limits_in_words(limits)]
    way = f"read as {', '.join(read_as)}"
    missing_cases = int(cases[is_missing].sum())
    if missing_cases:
        way += f", {counted(missing_cases, 'value')} missing"

    return NumbersFromText(numbers, way)


def _check_are_numbers(
    without_signs: Mapping[str, str],
    spellings: Sequence[str],
    is_missing: Array,
    cases: Array,
    what: str,
) -> None:
    """Raise an error for words that are no numbers, with how many cases have them."""
    no_numbers = []
    for word, text in without_signs.items():
        if not _NUMBER.fullmatch(text):
            no_numbers.append(word)

    if not no_numbers:
        return

    has_word = np.isin(spellings, no_numbers) & ~is_missing
    raise InputError(
        f"{what} must be numbers; found text in {int(cases[has_word].sum()):,} "
        f"of {cases.sum():,} cases, such as {listing(no_numbers, 3)}. Is it the "
        "right column? Otherwise convert it to numbers first.",
        option=option_named(what),
    )


def _are_percentages(words: Sequence[str], what: str) -> bool:
    """Return whether numbers are in percent, which all of them are or none."""
    with_sign = [word for word in words if "%" in word]
    without_sign = [word for word in words if "%" not in word]
    if with_sign and without_sign:
        raise InputError(
            f"{what} must be written in one way; {len(with_sign):,} values are in "
            f"percent, such as {with_sign[0]!r}, and {len(without_sign):,} are not, "
            f"such as {without_sign[0]!r}. Write all of them in the same way.",
            option=option_named(what),
        )

    return bool(with_sign)


def _number(text: str, decimal_comma: bool) -> float:
    """Return a number without the signs between its thousands."""
    plain = text.replace(" ", "").replace("'", "")
    if decimal_comma:
        return float(plain.replace(".", "").replace(",", "."))
    return float(plain.replace(",", ""))


def holds_verdicts(values: Array, positive: LabelValue) -> bool:
    """Return whether these are verdicts in words, not numbers written as text.

    Two words are verdicts where they are a known pair, or where one is ``positive``.
    """
    present = values[~_columns.missing(values)].tolist()
    distinct = list(dict.fromkeys(str(value) for value in present))
    # so many different values are scores
    if len(distinct) > 100:
        return False

    spellings = {normal_form(value) for value in distinct if not is_missing_word(value)}
    if not spellings or spellings <= {"0", "1"}:
        return False
    if (
        positive is not None
        and normal_form(positive) in spellings
        and len(spellings) == 2
    ):
        return True
    return meaning(distinct) == "labels"


def read_verdicts(
    values: Array, positive: LabelValue, what: str, *, indeterminate: float = np.nan
) -> Array:
    """Return the verdicts of a test as 1 and 0; a missing verdict is NaN.

    A result that is neither ("equivocal") is ``indeterminate``.
    """
    is_known = ~_columns.missing(values)
    distinct = _columns.hashable(values[is_known], what)
    if positive is not None and normal_form(positive) not in set(
        map(normal_form, distinct)
    ):
        positive = None  # it is a value of the labels, not of this test

    labels = label_words(distinct, positive, what)
    neither = [word for word in labels.no_label if normal_form(word) in INDETERMINATE]
    missing = [word for word in labels.no_label if word not in neither]

    remarks = [remark.replace("Labels:", f"{what}:") for remark in labels.remarks]
    if neither and np.isfinite(indeterminate):
        remarks.append(
            f"{what}: {listing(neither, 5)} as indeterminate, {indeterminate:g}; a "
            "3x2 table of indeterminate results counts them three ways."
        )
    else:
        missing = labels.no_label
    if missing:
        remarks.append(f"{what}: {listing(missing, 5)} as a missing result.")
    tell(remarks)

    number_of = {NEGATIVE: 0.0, POSITIVE: 1.0}
    verdict_of = {
        value: number_of.get(code, np.nan) for value, code in labels.code.items()
    } | dict.fromkeys(neither, indeterminate)
    verdicts = np.full(values.size, np.nan)
    verdicts[is_known] = [verdict_of[value] for value in values[is_known].tolist()]

    return verdicts


def verdicts_of_one_word(
    values: Array, labels: Array, positive: LabelValue
) -> Array | None:
    """Return 1 or 0 for results that are all one word, which labels have too.

    None where there are other results, or where the labels do not tell.
    """
    if not (has_text(values) and has_text(labels)) or _columns.missing(values).any():
        return None

    result = _one_word(values.tolist())
    if result is None:
        return None

    distinct = _columns.hashable(labels[~_columns.missing(labels)], "y_true")
    if not {result} < set(map(normal_form, distinct)):
        return None

    try:
        code_of = label_words(distinct, positive, "y_true").code
    except InputError:
        return None

    codes = {code for value, code in code_of.items() if normal_form(value) == result}
    if not codes <= {NEGATIVE, POSITIVE}:
        return None
    return np.full(values.size, float(codes == {POSITIVE}))


def _one_word(values: Sequence[Any]) -> str | None:
    """Return the word that all values are, however spelt; None where they differ."""
    spellings: set[str] = set()
    for value in values:
        stop_if_requested()
        spellings.add(normal_form(value))
        # most columns of text differ soon, and are then not read to their end
        if len(spellings) > 1:
            return None

    return next(iter(spellings), None)


def ask_for_positive(values: Array, what: str) -> None:
    """Raise an error that asks which of two words is positive, if no pair is known."""
    present = values[~_columns.missing(values)].tolist()
    distinct = dict.fromkeys(map(str, present))
    verdicts = sorted(value for value in distinct if not is_missing_word(value))
    spellings = {normal_form(verdict) for verdict in verdicts}
    if len(spellings) != 2 or any(map(_is_number, spellings)):
        return

    raise InputError(
        f"{what} must be numbers, or the results of a test; it holds "
        f"{listing(verdicts, 4)}. Which result counts as positive?",
        option="positive",
        choices=verdicts,
    )


def _is_number(word: str) -> bool:
    """Return whether this word is a number, perhaps with the sign of a currency."""
    return _NUMBER.fullmatch(word.translate(_SIGNS).strip()) is not None


def positive_of_labels(
    labels: ColumnOrFrame | None, scores: Mapping[str, Column], positive: LabelValue
) -> LabelValue:
    """Return the positive label; None where only verdicts of tests have that value."""
    if not isinstance(positive, str) or labels is None:
        return positive

    def has_value(values: ColumnOrFrame) -> bool:
        array = np.asarray(values)
        if array.dtype.kind not in "OUST":
            return False
        return normal_form(positive) in {normal_form(v) for v in set(array.tolist())}

    is_value_of_scores = any(has_value(values) for values in scores.values())
    return None if is_value_of_scores and not has_value(labels) else positive


def few_words(values: Sequence[Any], rows: bool = True) -> str:
    """Return which values are text, in words, where nearly all are numbers."""
    places_of_text = [
        place
        for place, word in enumerate(map(normal_form, values))
        if word not in MISSING and not _is_number(word)
    ]
    if not places_of_text or 10 * len(places_of_text) > len(values):
        return ""

    first_place = places_of_text[0]
    first = repr(values[first_place])
    if rows:
        first += f" in row {first_place + 1:,}"

    return f"text in {len(places_of_text):,} of {len(values):,} rows ({first})"


def _has_decimal_comma(texts: Sequence[str], what: str, decimal: str | None) -> bool:
    """Return whether a comma stands before the decimals; raise where it may or not."""
    if decimal is not None:
        return decimal == ","

    signs = {_decimal_sign(text) for text in texts} - {None}
    if len(signs) > 1:
        with_comma = _unambiguous_example(texts, ",")
        with_point = _unambiguous_example(texts, ".")
        raise InputError(
            f"{what} must be written in one way; {with_comma!r} has a decimal "
            f"comma and {with_point!r} a decimal point. Write all of them in "
            f"the same way.",
            option=option_named(what),
        )

    with_commas = [text for text in texts if "," in text and "." not in text]
    if not signs and with_commas:
        raise InputError(
            f"{what} has numbers such as {with_commas[0]}, where the comma may mark "
            "decimals or thousands.",
            option="decimal",
            choices=(",", "."),
        )

    return signs == {","}


def _decimal_sign(text: str) -> str | None:
    """Return the sign that stands before the decimals; None where that is in doubt."""
    if "," in text and "." in text:
        # 1.234,5 or 1,234.5: the sign farther to the right
        return "," if text.rfind(",") > text.rfind(".") else "."

    # 0.167 has decimals; 1.234 is a thousand only where commas mark decimals
    if THOUSANDS.fullmatch(text):
        return None
    if "," in text:
        return ","
    if "." in text:
        return "."
    return None


def _unambiguous_example(texts: Sequence[str], sign: str) -> str:
    """Return a number in which this sign surely stands before the decimals."""
    other_sign = "," if sign == "." else "."
    sign_is_last = [text for text in texts if text.rfind(sign) > text.rfind(other_sign)]
    # 1.234 alone may be a thousand; 1,234.5 may not
    examples = [
        text
        for text in sign_is_last
        if other_sign in text or not THOUSANDS.fullmatch(text)
    ]
    return examples[0]
