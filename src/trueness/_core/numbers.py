"""How is a number written for a person? In tables, sentences and reports alike."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from math import floor, inf, isfinite, isnan, log10
from statistics import median_low
from typing import Any

MINUS = "\N{MINUS SIGN}"

_SHORT = re.compile(r"0\.\d\d?")
_THREE_PLACES = re.compile(r"-?0\.\d{3,}")


def with_minus(numbers: str) -> str:
    """Write the sign of negative numbers as printers do.

    >>> with_minus("-0.1 (-1e-05 to 2)")
    '−0.1 (−1e-05 to 2)'
    """
    signed = f" {numbers}".replace(" -", f" {MINUS}").replace("(-", f"({MINUS}")
    return signed.removeprefix(" ")


def written(value: object, places: int | None = None) -> str:
    """Write one value of a table or a sentence.

    An interval has as many decimal places as show two digits of half its width.

    >>> written(0.85184), written(12345), written(float("nan")), written(None)
    ('0.852', '12,345', 'undefined', '')
    >>> from trueness import Estimate
    >>> written(Estimate(0.1667, 0.1554, float("inf"), 0.95, "bounds"))
    '0.167 (0.155 to infinite)'
    """
    if is_estimate(value):
        return _estimate(value, places)
    if isinstance(value, bool) or value is None:
        return {True: "yes", False: "no", None: ""}[value]
    if isinstance(value, int):
        return f"{value:,}"
    if isinstance(value, float) and 1000 <= abs(value) < 1e15:
        return f"{value:,.0f}"
    if isinstance(value, float):
        text = {"nan": "undefined", "inf": "infinite"}.get(str(value), f"{value:.3g}")
        # only what is 1 is written as 1
        return f"{value:.6g}" if text == "1" else text
    return str(value)


def is_estimate(value: object) -> bool:
    """Return whether this has a value with an interval around it."""
    return all(hasattr(value, name) for name in ("value", "low", "high"))


def in_column(values: Sequence[Any], fewest_places: int = 0) -> list[str]:
    """Write values that stand under one another, intervals with as many places."""
    half_widths = [
        (value.high - value.low) / 2
        for value in values
        if is_estimate(value) and value.high > value.low
    ]
    places = None
    if half_widths:
        usual_places = median_low([_places(half_width) for half_width in half_widths])
        places = max(fewest_places, usual_places)
        if fewest_places and usual_places <= 1:
            # no proportions: each has the places that its own interval shows
            places = None

    texts = [written(value, None if _is_wide(value) else places) for value in values]
    if any(_THREE_PLACES.fullmatch(text) for text in texts):
        # 0.660 beside 0.672
        return [
            text.ljust(5, "0") if _SHORT.fullmatch(text) else text for text in texts
        ]
    return texts


def _is_wide(value: Any) -> bool:
    """Return whether an estimate has a wider interval than any proportion."""
    return is_estimate(value) and 2 < value.high - value.low < inf


def _estimate(estimate: Any, places: int | None) -> str:
    """Write an estimate with its interval."""
    value = estimate.value
    low = estimate.low
    high = estimate.high
    if value == low == high:
        return written(float(value))
    if isnan(high - low):
        return f"{written(float(value))} (no interval)"

    if places is None:
        both_finite = isfinite(low) and isfinite(high)
        places = _places(abs(high - low) / 2) if both_finite else _USUAL_PLACES

    interval = f"{low:,.{places}f} to {high:,.{places}f}"
    text = f"{value:,.{places}f} ({interval})"
    if isnan(value):  # an interval is all that there is
        text = interval
    return text.replace("inf", "infinite")


_USUAL_PLACES = 3


def _places(half_width: float) -> int:
    """Return the decimal places that show two digits of half an interval."""
    if not 0 < half_width < inf:
        return _USUAL_PLACES
    # rounded: the logarithm of 0.001 may be -3.0000000000000004
    magnitude = floor(round(log10(half_width), 9))
    return min(8, max(0, 1 - magnitude))


def percent_hint(bound: float, high: float) -> str:
    """Hint at per cent in place of a proportion; nothing where there are none."""
    is_per_cent = high == 1 and 1 < bound <= 100
    return f" Write {bound / 100:g} for {bound:g} %." if is_per_cent else ""


def percent(proportion: float) -> str:
    """Return a proportion as per cent; only what is everything is 100 %.

    >>> percent(0.0531), percent(0.5), percent(0.8225), percent(0.99999)
    ('5.31 %', '50.0 %', '82.3 %', '99.99 %')
    """
    per_cent = 100 * proportion
    if isnan(per_cent):
        return "undefined"
    if per_cent == 0:
        return "0 %"
    if 99.95 <= per_cent < 100:
        # three digits would round it up to 100
        return f"{floor(100 * per_cent) / 100:.2f} %"

    # a tie goes up, as in the script of the page
    text = f"{per_cent * (1 + 1e-12):#.3g}"
    return f"{text.rstrip('.')} %"


def chance(value: float, places: int) -> str:
    """Write a probability that was estimated from cases, and so is never certain.

    >>> chance(1 - 2.0**-60, 3), chance(0.9994, 3), chance(0.25, 3)
    ('>0.999', '0.999', '0.250')
    """
    text = f"{value:.{places}f}"
    return f">0.{'9' * places}" if float(text) == 1 else text


def level_text(level: float) -> str:
    """Write a level of confidence.

    >>> level_text(0.95), level_text(0.999)
    ('95 %', '99.9 %')
    """
    return f"{100 * level:.6g} %"


def p_value(p: float) -> str:
    """Write a p-value for a table.

    >>> p_value(0.0312), p_value(1e-9)
    ('0.031', '<0.0001')
    """
    return "<0.0001" if p < 1e-4 else _digits(p)


def p_is(p: float) -> str:
    """Write a p-value within a sentence.

    >>> p_is(0.0312), p_is(0.0496), p_is(1e-9)
    ('p = 0.031', 'p = 0.0496', 'p < 0.0001')
    """
    return "p < 0.0001" if p < 1e-4 else f"p = {_digits(p)}"


def _digits(p: float) -> str:
    """Write a p-value with two digits, or three."""
    # 0.0496 is not written as 0.05: a reader compares it with that
    return f"{p:.3g}" if f"{p:.2g}" == "0.05" else f"{p:.2g}"


def number_of(cases: float) -> str:
    """Write a number of cases, or a sum of weights.

    >>> number_of(1200), number_of(1234.5678)
    ('1,200', '1,234.57')
    """
    is_whole = math.isfinite(cases) and cases == int(cases)
    return f"{int(cases):,}" if is_whole else f"{cases:,.6g}"


def about(cases: float) -> str:
    """Write a number of cases, of which three digits are known.

    >>> about(12.345), about(256_789.1)
    ('12.3', '257,000')
    """
    short = float(f"{cases:.3g}")
    return f"{short:,.0f}" if short >= 1000 else f"{short:g}"


def cut_text(
    cut: float, between: tuple[float, float] | None = None, digits: int = 4
) -> str:
    """Write a threshold with as many digits as it takes to flag the same cases.

    It lies in (low, high], the numbers ``between``; without them, all digits.

    >>> cut_text(0.5, (0.4, 0.6)), cut_text(1991.3512, (1991.349, 1991.353))
    ('0.5', '1991.35')
    """
    return _enough_digits([cut], cut, between or (cut, cut), digits)[0]


def cut_texts(cut: float, between: tuple[float, float]) -> list[str]:
    """Write a threshold and the numbers that it lies between, and keep them apart.

    >>> cut_texts(1991.3512, (1991.3509, 1991.3515))
    ['1991.3512', '1991.3509', '1991.3515']
    """
    return _enough_digits([cut, *between], cut, between, 6)


def _enough_digits(
    numbers: list[float], cut: float, between: tuple[float, float], digits: int
) -> list[str]:
    """Write numbers, the cut first, with so many digits or as many more as it takes."""
    low, high = between
    for tried_digits in range(digits, 18):
        texts = [f"{number:.{tried_digits}g}" for number in numbers]
        rounded = [float(text) for text in texts]
        flags_the_same = rounded[0] == cut or low < rounded[0] <= high
        stays_above = len(rounded) == 1 or low == high or rounded[1] < rounded[0]
        if flags_the_same and stays_above:
            break

    return [
        _without_exponent(text, number)
        for text, number in zip(texts, rounded, strict=True)
    ]


def _without_exponent(text: str, number: float) -> str:
    """Write 123500 and not 1.235e+05."""
    return f"{number:.0f}" if "e+" in text and abs(number) < 1e15 else text


def counted(number: float, noun: str, plural: str = "") -> str:
    """Write how many there are.

    >>> counted(1, "case"), counted(1200, "case"), counted(2, "leaf", "leaves")
    ('1 case', '1,200 cases', '2 leaves')
    """
    return f"{number_of(number)} {noun if number == 1 else plural or noun + 's'}"


WORDS = ("no", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine")


def spelt(number: int) -> str:
    """Write a small number as a word.

    >>> spelt(3), spelt(12)
    ('three', '12')
    """
    return WORDS[number] if 0 <= number < len(WORDS) else f"{number:,}"


def points(value: float, width: float) -> str:
    """Return a proportion in hundredths, with the digits that its interval needs.

    >>> points(0.7812, 0.12), points(0.7812, 0.02), points(-0.031, 0.1)
    ('78', '78.1', '\u22123')
    """
    places = 0
    # below a width of four points one decimal, and one more for each tenth of it
    if width < 0.04:
        # at most six digits, as of a width of 0
        places = min(6, max(1, -floor(log10(max(25 * width, 1e-6)))))
    text = f"{100 * value:.{places}f}"
    negative = text.startswith("-") and float(text) < 0
    return MINUS + text[1:] if negative else text.removeprefix("-")


def listed(names: Sequence[str], word: str = "and") -> str:
    """Write names one after the other.

    >>> listed(["a"]), listed(["a", "b"]), listed(["a", "b", "c"])
    ('a', 'a and b', 'a, b and c')
    """
    if len(names) < 2:
        return "".join(names)
    return f"{', '.join(names[:-1])} {word} {names[-1]}"
