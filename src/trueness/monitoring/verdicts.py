"""What is a verdict on one requirement, and how is a check of several shown?"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from math import isfinite
from typing import final
from xml.sax.saxutils import escape, quoteattr

from trueness._core.checks import options as _options
from trueness._core.records import Record

HOLDS = "holds"
FAILS = "fails"
OPEN = "cannot tell yet"
_MARKS = {FAILS: "❌", OPEN: "❔", HOLDS: "✅"}  # worst first
_BAR_WIDTH = 40  # letters of an interval that is drawn as text
_BAR_MARGIN = 0.05  # on either side of the numbers, as a fraction of their range
# characters with a meaning for Markdown or HTML in the cell of a table
_ESCAPED = str.maketrans({mark: f"\\{mark}" for mark in "\\|<>`*_[]"} | {"\n": " "})


def prefix(group: str) -> str:
    """Return the group with a colon, the beginning of a sentence about it."""
    return f"{group}: " if group else ""


@final
@dataclass(frozen=True, repr=False)
class Verdict(Record):
    """Verdict on one requirement, in one group.

    Attributes
    ----------
    requirement, group : str
        The requirement in words; the group, or empty.
    verdict : {"holds", "fails", "cannot tell yet"}
    value, low, high : float
        The estimate, with a one-sided interval at the level of the decision, adjusted
        for the number of requirements.
    bound : float
        The bound that the value was compared with.
    cases : int
        How many cases the value is based on.
    cases_needed : int or None
        How many more cases like these would be enough to decide, where that is known.
    reason : str
        The verdict in a sentence.
    """

    requirement: str
    group: str
    verdict: str
    value: float
    low: float
    high: float
    bound: float
    cases: int
    cases_needed: int | None
    reason: str

    def __bool__(self) -> bool:
        """Return whether the requirement holds; False if it is undecided."""
        return self.verdict == HOLDS

    @property
    def name(self) -> str:
        """Return the requirement as text, after its group if it has one."""
        return prefix(self.group) + self.requirement

    @property
    def span(self) -> str:
        """Return the interval as text; "" if the value was counted."""
        return "" if self.low == self.high else f"{self.low:.4g} to {self.high:.4g}"


@final
@dataclass(frozen=True, repr=False)
class Check(Record):
    """Verdicts on requirements: do the predictions meet them?

    Attributes
    ----------
    verdict : {"holds", "fails", "cannot tell yet"}
        The overall verdict: the worst of all requirements.
    verdicts : tuple of Verdict
    level, adjust
        As given to :func:`check`.
    notes : tuple of str
        What was assumed.
    """

    verdict: str
    verdicts: tuple[Verdict, ...]
    level: float
    adjust: str
    notes: tuple[str, ...] = ()

    @classmethod
    def of(
        cls,
        verdicts: Iterable[Verdict],
        level: float,
        adjust: str,
        notes: Iterable[str],
    ) -> Check:
        """Return the check with these verdicts; its verdict is the worst of them."""
        all_verdicts = tuple(verdicts)
        occurring = {verdict.verdict for verdict in all_verdicts}
        worst = next((word for word in _MARKS if word in occurring), HOLDS)
        return cls(worst, all_verdicts, level, adjust, tuple(notes))

    def __bool__(self) -> bool:
        """Return whether all requirements hold, for ``assert check(...)``."""
        return self.verdict == HOLDS

    @property
    def passed(self) -> bool:
        """Return whether all requirements hold; False also if one is undecided."""
        return self.verdict == HOLDS

    def __repr__(self) -> str:
        """Return a line for each requirement, worst first, and the notes."""
        lines = [f"Check: {self.verdict}"]
        lines += [f"  {v.verdict:<15}  {v.reason}" for v in self.ordered()]
        lines += [f"  {note}" for note in self.notes]
        return "\n".join(lines)

    def ordered(self) -> list[Verdict]:
        """Return the verdicts, with those that fail first."""
        worst_first = list(_MARKS)
        return sorted(self.verdicts, key=lambda v: worst_first.index(v.verdict))

    def require(self, undecided: str = "fail") -> None:
        """Raise an error that lists what does not hold, unless everything holds.

        Parameters
        ----------
        undecided
            ``"fail"``: a requirement that cannot be decided yet also raises the error;
            ``"pass"``: it does not.
        """
        _options.choice(undecided, ("fail", "pass"), "undecided")
        refused = (FAILS, OPEN) if undecided == "fail" else (FAILS,)
        not_met = [v for v in self.ordered() if v.verdict in refused]
        if not_met:
            reasons = "\n".join(f"- {v.verdict}: {v.reason}" for v in not_met)
            raise AssertionError(
                f"{len(not_met)} of {len(self.verdicts)} requirements are not met:\n"
                f"{reasons}"
            )

    def to_junit(self) -> str:
        """Return JUnit XML for build servers; undecided requirements are skipped."""
        count = Counter(v.verdict for v in self.verdicts)
        lines = [
            '<?xml version="1.0" encoding="UTF-8"?>',
            f'<testsuites><testsuite name="trueness check" tests="{count.total()}" '
            f'failures="{count[FAILS]}" errors="0" skipped="{count[OPEN]}">',
        ]

        tags = {FAILS: "failure", OPEN: "skipped"}

        for verdict in self.verdicts:
            name = quoteattr(verdict.name)
            lines.append(f'<testcase classname="trueness.check" name={name}>')
            if verdict.verdict in tags:
                tag = tags[verdict.verdict]
                lines.append(f"<{tag} message={quoteattr(verdict.reason)}/>")
            lines.append(
                f"<system-out>{escape(verdict.reason)}</system-out></testcase>"
            )

        return "\n".join([*lines, "</testsuite></testsuites>", ""])

    def to_markdown(self, figure: bool = True) -> str:
        """Return a table for a pull request, worst first.

        Parameters
        ----------
        figure
            Draw each interval against its bound, in letters: ``[--o--]`` and ``|``.
        """
        lines = [
            f"## Quality: {self.verdict}",
            "",
            "| | requirement | measured | interval | why |",
            "| --- | --- | --- | --- | --- |",
        ]
        for verdict in self.ordered():
            texts = (
                verdict.name,
                f"{verdict.value:.4g}",
                verdict.span,
                verdict.reason,
            )
            row = " | ".join(text.translate(_ESCAPED) for text in texts)
            lines.append(f"| {_MARKS[verdict.verdict]} {verdict.verdict} | {row} |")

        if figure:
            lines += ["", "```text", *self._bars(), "```"]

        return "\n".join([*lines, "", *(f"*{note}*" for note in self.notes), ""])

    def _bars(self) -> list[str]:
        """Return the intervals of all verdicts that have one, drawn in a line each."""
        with_interval = [v for v in self.ordered() if v.low < v.high]
        longest = max((len(v.name) for v in with_interval), default=0)
        return [f"{v.name:<{longest}}  {_bar(v)}" for v in with_interval]


def _bar(verdict: Verdict) -> str:
    """Return an interval with its value and bound, drawn as ``[--o--]  |``."""
    numbers = {
        "[": verdict.low,
        "]": verdict.high,
        "o": verdict.value,
        "|": verdict.bound,
    }
    numbers = {mark: number for mark, number in numbers.items() if isfinite(number)}
    lowest = min(numbers.values())
    highest = max(numbers.values())
    margin = _BAR_MARGIN * (highest - lowest)
    per_letter = (highest - lowest + 2 * margin) / (_BAR_WIDTH - 1)
    places = {
        mark: round((number - lowest + margin) / per_letter)
        for mark, number in numbers.items()
    }

    letters = [" "] * _BAR_WIDTH
    # an infinite end is drawn to the edge
    start = places.get("[", 0)
    end = places.get("]", _BAR_WIDTH)
    letters[start:end] = "-" * (end - start)

    for mark, place in places.items():
        letters[place] = mark

    return "".join(letters).rstrip()
