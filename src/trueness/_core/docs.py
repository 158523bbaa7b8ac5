"""Which words mean the same in every function, and what is said of them, once?

A docstring describes what is its own. ``documented`` adds what the words of this table
mean to the section of parameters, where a function has them and says nothing else.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from inspect import cleandoc

WORDS: dict[str, str] = {
    "level": "Confidence level of the intervals.",
    "rng": "A seed or a NumPy generator.",
    "margin": "How much less a value may be and still count as no worse, for example\n"
    "0.05; adds tests of non-inferiority and of equivalence to every pair.",
    "ends": "The smallest and the largest value that the statistic can have; -inf and\n"
    "inf where there is none.",
    "replicates": "Number of replicates of the bootstrap.",
    "band": '"simultaneous" or "pointwise": also draw the 95 % band.',
    "title": "Shown above the figure.",
    "points": "The largest number of points that a curve is drawn with; see\n"
    ":func:`trueness.ranking.simplify`.",
    "ax": "Axes of matplotlib to draw on, which are returned; when None, an Altair\n"
    "chart is.",
}
_SECTION = re.compile(r"^(\w[\w ]*)\n-{3,}$", re.MULTILINE)


def documented(
    doc: str | None, names: Iterable[str], more: Mapping[str, str] | None = None
) -> str | None:
    """Add to a docstring the parameters that it leaves to the table.

    ``more`` has entries that stand before those of the table.

    >>> documented("How good?", ["level"]).splitlines()[-2:]
    ['level', '    Confidence level of the intervals.']
    """
    if not doc:  # python -OO
        return doc
    text = cleandoc(doc)
    found = list(_SECTION.finditer(text))
    own = next((m for m in found if m[1] == "Parameters"), None)
    end = next(
        (m.start() for m in found if own is None or m.start() > own.start()), None
    )
    head, tail = (text, "") if end is None else (text[:end], text[end:])
    said = head[own.end() :] if own else ""
    known = {n for line in re.findall(r"^\w.*$", said, re.M) for n in line.split(", ")}
    table = {name: WORDS[name] for name in names if name in WORDS}
    new = {k: v for k, v in {**(more or {}), **table}.items() if k not in known}
    if not new:
        return text
    entries = "\n".join(
        f"{k}\n    " + v.replace("\n", "\n    ") for k, v in new.items()
    )
    title = "" if own else "\n\nParameters\n----------"
    return f"{head.rstrip()}{title}\n{entries}\n" + (f"\n{tail}" if tail else "")
