"""What do the values of a colleague's file mean?

Labels as people type them (``Yes``, `` no``, ``N/A``), scores in percent or with a
decimal comma, a total below the last row: each is read in one way, and a sentence says
in which, to whoever listens (a command, a page) or as a ``CleanedWarning``. Nothing is
guessed: 1,234, which may be a thousand or little more than one, is asked about.
"""

from __future__ import annotations

import re
import unicodedata
import warnings
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, NamedTuple

import numpy as np

from trueness._core.arrays import Array
from trueness._core.checks import columns as _columns
from trueness._core.checks.errors import CleanedWarning, InputError
from trueness._core.checks.words import listing
from trueness._core.numbers import counted
from trueness.counts.counting import Labels, read_labels

NEGATIVE, POSITIVE, UNKNOWN, TOTAL = 0, 1, 2, 3


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split(", "))


MISSING = _words(
    ", n/a, na, n.a, #n/a, #na, <na>, nan, #nan, null, nil, none, missing, unknown, "
    "not known, not available, undefined, -, --, ---, \N{EN DASH}, \N{EM DASH}, ?, "
    "??, ., .., ..., k.a, k. a, keine angabe, unbekannt, inconnu, nd, n.d, n/d, "
    "#value!, #value, #ref!, #ref, #div/0!, #div/0, #name?, #null!, #null"
)
# words of a label that is not known, where the others are a pair
UNSURE = _words(
    "unsure, uncertain, unclear, undecided, not sure, maybe, indeterminate, "
    "inconclusive, equivocal, borderline, ambiguous, pending, not done, not tested, "
    "not assessed, don't know, dk, unklar, unsicher, vielleicht, wei\xdf nicht, "
    "peut-\xeatre, forse, quiz\xe1s, incierto, incerto, invalid, n.b, perhaps"
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
    "1/-1, sick/healthy, ill/healthy, sick/well, diseased/healthy, "
    "disease/healthy, krank/gesund, malade/sain, enfermo/sano, malato/sano, ill/well, "
    "case/control, cases/controls, fall/kontrolle, patient/control, event/nonevent, "
    "event/censored, present/absent, detected/not detected, abnormal/normal, "
    "malignant/benign, b\xf6sartig/gutartig, cancer/benign, reactive/nonreactive, "
    "infected/uninfected, on/off, spam/ham, fraud/legit, fraud/legitimate, "
    "fraud/genuine, dead/alive, deceased/alive, died/survived, died/alive, "
    "churned/retained, churned/active, defaulted/paid, bad/good, pass/fail, "
    "passed/failed, correct/incorrect, right/wrong, relevant/irrelevant, "
    "success/failure, responder/nonresponder, ja/nee, evet/hay\u0131r"
)
# "no disease", "not churned", "non-responder": the negative of what follows
_NOT = re.compile(r"(?:no|not|non|kein|keine|nicht|sans|sin|senza)[ _-]+(.+)|non(.+)")
_SPACES = re.compile(r"[\s\0\u200b\ufeff\ufe0f]+")
_LISTENER: ContextVar[list[str] | None] = ContextVar("listener", default=None)


@contextmanager
def listening() -> Iterator[list[str]]:
    """Collect what is cleaned within, a sentence each, in place of warnings."""
    said: list[str] = []
    token = _LISTENER.set(said)
    try:
        yield said
    finally:
        _LISTENER.reset(token)


def tell(sentences: Iterable[str], warn: bool = True) -> None:
    """Say what was understood, to whoever listens, or else as a warning."""
    listener = _LISTENER.get()
    for sentence in sentences:
        if listener is None and warn:
            warnings.warn(sentence, CleanedWarning, stacklevel=4)
        elif listener is not None and sentence not in listener:
            listener.append(sentence)


def folded(value: object) -> str:
    """Write a value as it is compared: trimmed, in small letters, without quotes."""
    text = unicodedata.normalize("NFKC", str(value))
    text = _SPACES.sub(" ", text).strip().strip("\"'\u201c\u201d\u201e").strip()
    text = text.casefold()
    if len(text) > 1 and text.strip("."):
        text = text.rstrip(".!:")
    return re.sub(r"^([+-]?\d+)\.0*$", r"\1", text)


def one_spelling(values: Sequence[Any]) -> list[Any]:
    """Keep of values that differ in their spelling one, and no missing one."""
    kept = {folded(v): v for v in reversed(values) if isinstance(v, str)}
    text = {id(v) for w, v in kept.items() if w not in MISSING | TOTALS}
    return [v for v in values if not isinstance(v, str) or id(v) in text]


def is_missing_word(value: object) -> bool:
    """Is this a word that stands for a missing value?"""
    return folded(value) in MISSING


def label_words(
    values: Sequence[Any], positive: object, what: str
) -> tuple[dict[Any, int], Any, list[str]]:
    """Read the distinct values of a label column in which some are text.

    Gives what each means: 0, 1, unknown (2), or a total (3), which is no case; which is
    positive; and sentences that say so.
    """
    spelt: dict[str, list[Any]] = {}
    for v in values:
        spelt.setdefault(folded(v), []).append(v)
    gone, totals = _no_labels(spelt, positive)
    kept = [w for w in spelt if w not in gone and w not in totals]
    chosen, known = _positive_word(kept, positive)
    if chosen is None:  # not a known pair: the check says what is needed
        shown = {w: str(spelt[w][0]).strip() for w in kept}
        given = shown.get(folded(positive), positive) if positive is not None else None
        _, chosen_name = _columns.label_pair(sorted(shown.values()), given, what)
        chosen = frozenset(w for w, name in shown.items() if name == chosen_name)
    code: dict[Any, int] = {}
    for word, written in spelt.items():
        own = TOTAL if word in totals else UNKNOWN
        if word in kept:
            own = POSITIVE if word in chosen else NEGATIVE
        code |= dict.fromkeys(written, own)
    first = next((spelt[w][0] for w in kept if w in chosen), positive)
    said = []
    taken, odd = known and positive is None, any(len(spelt[w]) > 1 for w in kept)
    if taken or len(kept) > 2 or odd:
        parts = []
        for side, words in (("positive", chosen), ("negative", {*kept} - chosen)):
            if some := [v for w in kept if w in words for v in spelt[w]]:
                parts.append(f"{listing(some, 5)} as {side}")
        said.append(f"Labels: {' and '.join(parts)}.")
    if blank := [v for w in sorted(gone) for v in spelt[w] if str(v).strip()]:
        said.append(f"{listing(blank, 5)} as a missing label.")
    if rows := [v for w in sorted(totals) for v in spelt[w]]:
        said.append(f"The row of {listing(rows, 3)} is no case.")
    return code, first, said


def _no_labels(spelt: Mapping[str, Any], positive: object) -> tuple[set[str], set[str]]:
    """Which words stand for a missing label, and which for a total?

    One that may be a label ("-" beside "+", "none") is one where two would not be left.
    """
    named = folded(positive) if positive is not None else None
    gone = {w for w in spelt if w in MISSING and w != named}
    totals = {w for w in spelt if w in TOTALS and w != named}
    left = [w for w in spelt if w not in gone | totals]
    if "-" in gone and set(left) <= YES and left:  # + and -
        gone -= {"-"}
    if "none" in gone and len(left) == 1 and left[0] not in YES | NO:
        gone -= {"none"}
    sure = [w for w in left if w not in UNSURE or w == named]
    if 1 < len(sure) < len(left) and _positive_word(sure, None)[1]:
        gone |= set(left) - set(sure)
    return gone, totals


def _positive_word(
    kept: Sequence[str], positive: object
) -> tuple[frozenset[str] | None, bool]:
    """Which words are positive, if they are a known pair? Also whether they are."""
    yes, no = YES & set(kept), NO & set(kept)
    if len(yes) + len(no) == len(kept) and kept:
        if positive is None:  # perhaps nobody is positive: that is known, too
            return frozenset(yes), True
        for side in (yes, no):
            if folded(positive) in side:
                return frozenset(side), True
        return (frozenset(), True) if folded(positive) in YES | NO else (None, False)
    if len(kept) != 2:
        return None, False
    a, b = (w.replace("-", "") for w in kept)
    for one, other, word in ((a, b, kept[0]), (b, a, kept[1])):
        negated = _NOT.fullmatch(kept[1] if word == kept[0] else kept[0])
        of = negated and (negated[1] or negated[2])
        if f"{one}/{other}" in PAIRS or (of and of in (one, word)):
            if positive is None:
                return frozenset([word]), True
            if folded(positive) in kept:
                return frozenset([folded(positive)]), True
    return None, False


def read_label_column(values: Array, positive: object, what: str) -> Labels:
    """Read a column of labels; in one with text, a total has the code 3."""
    values = _columns.one_dimensional(values, what)
    if not has_text(values):
        return read_labels(values, positive, what)
    gone = _columns.missing(values)
    found = _columns.hashable(values[~gone], what)
    meant, chosen, said = label_words(found, positive, what)
    tell(said)
    code = np.full(values.size, UNKNOWN, dtype=np.int8)
    code[~gone] = [meant[v] for v in values[~gone].tolist()]
    return Labels(values, chosen, code)


def has_text(values: Array) -> bool:
    """Is there text in this column?"""
    if values.dtype.kind in "US":
        return bool(values.size)
    return values.dtype.kind == "O" and any(isinstance(v, str) for v in values)


def meaning(values: Sequence[Any]) -> str:
    """Are these values of text "labels", "numbers", "missing", or else "text"?"""
    left = [v for v in values if not is_missing_word(v)]
    if not left:
        return "missing"
    distinct = list(dict.fromkeys(map(str, left)))
    spelt = dict.fromkeys(map(folded, distinct))
    gone, totals = _no_labels(spelt, None)
    words = [w for w in spelt if w not in gone | totals]
    if len(words) <= 2 + len(YES) and _positive_word(words, None)[0]:
        return "labels"
    try:
        numbers(np.array(distinct, dtype=object), "", decimal=",")
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


def numbers(
    values: Array, what: str, decimal: str | None = None, cases: Array | None = None
) -> tuple[Array, str]:
    """Read a column of text as numbers, all in one way; say in which."""
    read = read_numbers(values, what, decimal, cases)
    return read.values, f"{what}: text {read.way}."


def read_numbers(
    values: Array, what: str, decimal: str | None = None, cases: Array | None = None
) -> NumbersFromText:
    """Read a column of text as numbers, all in one way.

    A value stands for one case, or for as many as ``cases`` says.
    """
    times = np.ones(values.size, int) if cases is None else cases
    lost = zip(values.tolist(), _columns.missing(values), strict=True)
    words = [None if gone else folded(v) for v, gone in lost]
    text = [w for w in words if w is not None and w not in MISSING]
    stripped = {w: w.translate(_SIGNS).strip() for w in text}
    odd = [w for w in dict.fromkeys(text) if not _NUMBER.fullmatch(stripped[w])]
    if odd:
        many = int(times[[w in set(odd) for w in words]].sum())
        raise InputError(
            f"{what} must be numbers; found text in {many:,} of {times.sum():,} cases, "
            f"such as {listing(odd, 3)}. Is it the right column? Otherwise convert it "
            "to numbers first."
        )
    signs = Counter("%" in w for w in text)
    if len(signs) > 1:
        one, other = (next(w for w in text if ("%" in w) is x) for x in (True, False))
        raise InputError(
            f"{what} must be written in one way; {signs[True]:,} values are in "
            f"percent, such as {one!r}, and {signs[False]:,} are not, such as "
            f"{other!r}. Write all of them in the same way."
        )
    percent = bool(signs[True])
    comma = _has_decimal_comma(sorted(set(stripped.values())), what, decimal)
    # what parts thousands goes, what stands before the decimals becomes a point
    marks = str.maketrans(
        {" ": "", "'": "", ".": "", ",": "."} if comma else {" ": "", "'": "", ",": ""}
    )
    unit = 100 if percent else 1
    read = {w: float(s.translate(marks)) / unit for w, s in stripped.items()}
    out = [np.nan if w is None or w in MISSING else read[w] for w in words]
    said = ["percentages"] * percent + ["numbers with a decimal comma"] * comma
    less = int(times[[w is None or w in MISSING for w in words]].sum())
    way = " and ".join(said) or "numbers"
    gone = f", {counted(less, 'value')} missing" if less else ""
    return NumbersFromText(np.array(out, dtype=np.float64), f"read as {way}{gone}")


def holds_verdicts(values: Array, positive: object) -> bool:
    """Are these the verdicts of a test in words, not numbers written as text?

    Two words are verdicts where they are a known pair, or where one is ``positive``.
    """
    known = values[~_columns.missing(values)].tolist()
    distinct = list(dict.fromkeys(str(v) for v in known))
    if len(distinct) > 100:  # scores
        return False
    words = {folded(v) for v in distinct if not is_missing_word(v)}
    if not words or words <= {"0", "1"}:
        return False
    if positive is not None and folded(positive) in words and len(words) == 2:
        return True
    return meaning(distinct) == "labels"


def read_verdicts(values: Array, positive: object, what: str) -> Array:
    """Read the verdicts of a test as 1 and 0; a missing verdict is NaN."""
    gone = _columns.missing(values)
    words = _columns.hashable(values[~gone], what)
    named = positive is not None and folded(positive) in {folded(w) for w in words}
    meant, _, remarks = label_words(words, positive if named else None, what)
    tell([remark.replace("Labels:", f"{what}:") for remark in remarks])
    number_of = {NEGATIVE: 0.0, POSITIVE: 1.0}
    verdicts = np.full(values.size, np.nan)
    verdicts[~gone] = [number_of.get(meant[v], np.nan) for v in values[~gone].tolist()]
    return verdicts


def ask_for_positive(values: Array, what: str) -> None:
    """Stop at two words that are no known pair: which of them is positive?"""
    known = values[~_columns.missing(values)].tolist()
    words = [v for v in dict.fromkeys(map(str, known)) if not is_missing_word(v)]
    spelt = {folded(word) for word in words}
    numeric = [w for w in spelt if _NUMBER.fullmatch(w.translate(_SIGNS).strip())]
    if len(spelt) != 2 or numeric:
        return
    raise InputError(
        f"{what} must be numbers, or the verdicts of a test; it holds "
        f"{listing(sorted(words), 4)}. Of verdicts, which one is positive?",
        option="positive",
        choices=sorted(words),
    )


def positive_of_labels(
    labels: object, scores: Mapping[str, object], positive: object
) -> object:
    """Return the positive label; None where only verdicts of tests have that value."""
    if not isinstance(positive, str) or labels is None:
        return positive

    def has_value(values: object) -> bool:
        array = np.asarray(values)
        if array.dtype.kind not in "OUST":
            return False
        return folded(positive) in {folded(v) for v in set(array.tolist())}

    in_scores = any(has_value(values) for values in scores.values())
    return None if in_scores and not has_value(labels) else positive


def few_words(values: Sequence[Any], rows: bool = True) -> str:
    """Say which values are text, where nearly all others are numbers."""
    words = [folded(v) for v in values]
    odd = [
        k
        for k, w in enumerate(words)
        if w not in MISSING and not _NUMBER.fullmatch(w.translate(_SIGNS).strip())
    ]
    if not odd or 10 * len(odd) > len(words):
        return ""
    first = repr(values[odd[0]]) + (f" in row {odd[0] + 1:,}" if rows else "")
    return f"text in {len(odd):,} of {len(words):,} rows ({first})"


def _has_decimal_comma(text: Sequence[str], what: str, decimal: str | None) -> bool:
    """Does a comma stand before the decimals? Stops where it may or may not."""
    if decimal is not None:
        return decimal == ","
    both = [w for w in text if "," in w and "." in w]
    ends = {"," if w.rfind(",") > w.rfind(".") else "." for w in both}
    commas = [w for w in text if "," in w and "." not in w]
    points = [w for w in text if "." in w and "," not in w]
    ends |= {"," for w in commas if not THOUSANDS.fullmatch(w)}
    # 0.167 has decimals; 1.234 is a thousand only where commas mark decimals
    ends |= {"." for w in points if not THOUSANDS.fullmatch(w)}
    if len(ends) > 1:
        raise InputError(
            f"{what} must be written in one way; {_with(text, ',')!r} has a decimal "
            f"comma and {_with(text, '.')!r} a decimal point. Write all of them in the "
            f"same way."
        )
    if not ends and commas:
        raise InputError(
            f"{what} has numbers such as {commas[0]}, where the comma may mark "
            "decimals or thousands.",
            option="decimal",
            choices=(",", "."),
        )
    return ends == {","}


def _with(text: Sequence[str], sign: str) -> str:
    """Find a number in which this sign stands before the decimals, beyond doubt."""
    other = "," if sign == "." else "."
    last = (w for w in text if w.rfind(sign) > w.rfind(other))
    return next(w for w in last if other in w or not THOUSANDS.fullmatch(w))
