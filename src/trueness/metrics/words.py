"""What is a metric called in a sentence, and of which cases is it a share?"""

from __future__ import annotations

import re

from trueness._core.numbers import percent
from trueness.metrics.definitions import METRICS

# by the coefficients of (tp, fp, fn, tn) under the line of a rate
_CASES: dict[tuple[float, ...], tuple[str, str]] = {
    (1, 0, 1, 0): ("positive", "positives"),
    (0, 1, 0, 1): ("negative", "negatives"),
    (1, 1, 0, 0): ("flagged case", "flagged cases"),
    (0, 0, 1, 1): ("case not flagged", "cases not flagged"),
}


def text_of(name: str) -> str:
    """Write the name of a metric for a reader.

    >>> text_of("recall"), text_of("lift"), text_of("0.5*f1 + 0.5*recall")
    ('recall (sensitivity)', 'lift', '0.5*f1 + 0.5*recall')
    """
    return METRICS[name].title if name in METRICS else name


def is_share(name: str) -> bool:
    """Is this metric a share, which is written in percent?"""
    return name in METRICS and METRICS[name].is_share


def cases_of(name: str) -> tuple[str, str]:
    """Of which cases is this rate a share, one of them and several?

    >>> cases_of("fpr"), cases_of("accuracy")
    (('negative', 'negatives'), ('case', 'cases'))
    """
    ratio = METRICS[name].ratio if name in METRICS else None
    under = None if ratio is None else ratio.under
    return ("case", "cases") if under is None else _CASES.get(under, ("case", "cases"))


def constraint_text(constraint: str) -> str:
    """Write a constraint in words; one that is a sum of metrics stays as it is.

    >>> constraint_text("flagged <= 1000"), constraint_text("recall >= 0.8")
    ('at most 1,000 flagged', 'recall (sensitivity) at least 80.0 %')
    """
    found = re.fullmatch(r"(\w+) ([<>])=? ([\d.e+-]+)", constraint)
    if found is None or found[1] not in METRICS:
        return constraint
    word = "at most" if found[2] == "<" else "at least"
    number = float(found[3])
    if found[1] == "flagged":
        return f"{word} {number:,.10g} flagged"
    text = percent(number) if is_share(found[1]) else f"{number:g}"
    return f"{text_of(found[1])} {word} {text}"
