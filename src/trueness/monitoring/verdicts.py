"""Does each requirement hold, does it fail, or cannot it be told yet?

A truth exactly on its bound is called either way in at most 5 % of samples. Of several
requirements or groups each family, of what is said to hold and of what is said to fail,
errs in at most 5 % (Holm).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from math import ceil, inf, isfinite
from typing import NamedTuple, final
from xml.sax.saxutils import escape, quoteattr

from trueness._core.checks import options as _options
from trueness._core.checks.errors import NotEnoughCases
from trueness._core.records import Record
from trueness.monitoring.measures import Interval, Limits

HOLDS, FAILS, OPEN = "holds", "fails", "cannot tell yet"
_MARK = {FAILS: "❌", OPEN: "❔", HOLDS: "✅"}  # worst first


def prefix(group: str) -> str:
    """Name the group before what is said of it."""
    return f"{group}: " if group else ""


@final
@dataclass(frozen=True, repr=False)
class Verdict(Record):
    """Does one requirement hold, in one group, on one side?

    Attributes
    ----------
    requirement, group : str
        The requirement in words; the group, or empty.
    verdict : {"holds", "fails", "cannot tell yet"}
    value, low, high : float
        What was measured, with one-sided limits at the level of the decision, after
        adjustment for the number of requirements.
    bound : float
        What the value was compared with.
    cases : int
        How many cases the value is based on.
    more : int or None
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
    more: int | None
    reason: str

    @property
    def name(self) -> str:
        """Name the requirement, after its group where it has one."""
        return prefix(self.group) + self.requirement

    @property
    def span(self) -> str:
        """Write the limits; nothing where the value was counted."""
        return "" if self.low == self.high else f"{self.low:.4g} to {self.high:.4g}"


@final
@dataclass(frozen=True, repr=False)
class Check(Record):
    """Do the predictions meet what was required?

    Attributes
    ----------
    verdict : {"holds", "fails", "cannot tell yet"}
        The verdict on all requirements together: the worst.
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
        cls, found: Iterable[Verdict], level: float, adjust: str, notes: Iterable[str]
    ) -> Check:
        """Give the answer that several verdicts make together."""
        told = tuple(found)
        words = {v.verdict for v in told}
        worst = next((word for word in _MARK if word in words), HOLDS)
        return cls(worst, told, level, adjust, tuple(notes))

    def __repr__(self) -> str:
        """Give a line a requirement, worst first, and what was assumed."""
        lines = [f"Check: {self.verdict}"]
        lines += [f"  {v.verdict:<15}  {v.reason}" for v in self.ordered()]
        return "\n".join([*lines, *(f"  {n}" for n in self.notes)])

    def ordered(self) -> list[Verdict]:
        """Give the verdicts, with those that fail first."""
        return [v for word in _MARK for v in self.verdicts if v.verdict == word]

    def require(self, undecided: str = "fail") -> None:
        """Raise an error that lists what does not hold, unless everything holds.

        Parameters
        ----------
        undecided
            ``"fail"``: a requirement that cannot be decided yet also raises the error;
            ``"pass"``: it does not.
        """
        _options.choice(undecided, ("fail", "pass"), "undecided")
        stops = (FAILS, OPEN) if undecided == "fail" else (FAILS,)
        bad = [v for v in self.ordered() if v.verdict in stops]
        if bad:
            said = "\n".join(f"- {v.verdict}: {v.reason}" for v in bad)
            raise AssertionError(
                f"{len(bad)} of {len(self.verdicts)} requirements are not met:\n{said}"
            )

    def to_junit(self) -> str:
        """Give JUnit XML, which build servers read; what is undecided is skipped."""
        count = Counter(v.verdict for v in self.verdicts)
        lines = [
            '<?xml version="1.0" encoding="UTF-8"?>',
            f'<testsuites><testsuite name="trueness check" tests="{count.total()}" '
            f'failures="{count[FAILS]}" errors="0" skipped="{count[OPEN]}">',
        ]
        tags = {FAILS: "failure", OPEN: "skipped"}
        for v in self.verdicts:
            name = quoteattr(v.name)
            lines.append(f'<testcase classname="trueness.check" name={name}>')
            if v.verdict in tags:
                lines.append(f"<{tags[v.verdict]} message={quoteattr(v.reason)}/>")
            lines.append(f"<system-out>{escape(v.reason)}</system-out></testcase>")
        return "\n".join([*lines, "</testsuite></testsuites>", ""])

    def to_markdown(self, figure: bool = True) -> str:
        """Give a table for a pull request, worst first, with the intervals in letters.

        Parameters
        ----------
        figure
            Draw each interval against its bound: ``[--o--]`` and ``|``.
        """
        lines = [
            f"## Quality: {self.verdict}",
            "",
            "| | requirement | measured | limits | why |",
            "| --- | --- | --- | --- | --- |",
        ]
        for v in self.ordered():
            cells = (v.name, f"{v.value:.4g}", v.span, v.reason)
            row = " | ".join(cell.translate(_ESCAPED) for cell in cells)
            lines.append(f"| {_MARK[v.verdict]} {v.verdict} | {row} |")
        if figure:
            drawn = [v for v in self.ordered() if v.low < v.high]
            longest = max((len(v.name) for v in drawn), default=0)
            bars = [f"{v.name:<{longest}}  {_bar(v)}" for v in drawn]
            lines += ["", "```text", *bars, "```"]
        return "\n".join([*lines, "", *(f"*{n}*" for n in self.notes), ""])


# what Markdown or HTML would read in the cell of a table
_ESCAPED = str.maketrans({mark: f"\\{mark}" for mark in "\\|<>`*_[]"} | {"\n": " "})


def _bar(v: Verdict, width: int = 40) -> str:
    marks = {"[": v.low, "]": v.high, "o": v.value, "|": v.bound}
    marks = {mark: x for mark, x in marks.items() if isfinite(x)}
    low, high = min(marks.values()), max(marks.values())
    pad = 0.05 * (high - low)
    step = (high - low + 2 * pad) / (width - 1)
    place = {mark: round((x - low + pad) / step) for mark, x in marks.items()}
    line = [" "] * width
    first, last = place.get("[", 0), place.get("]", width)
    line[first:last] = "-" * (last - first)
    for mark, at in place.items():
        line[at] = mark
    return "".join(line).rstrip()


class Claim(NamedTuple):
    """One comparison with one bound: ``side`` is +1 when more is better."""

    text: str
    group: str
    bound: float
    side: int
    limits: Limits
    said: str = ""  # what the numbers are of, when not of the metric itself


def decide(claims: Sequence[Claim], alpha: float, adjust: str) -> list[Verdict]:
    """Try each claim both ways, by the steps of Holm (1979).

    With k claims left each is tried at alpha / k, until none is decided.
    """
    told: dict[int, tuple[str, float]] = {}  # the word, and the alpha of its limits
    for way, word in ((-1, FAILS), (1, HOLDS)):
        left = set(range(len(claims)))
        while left:
            level = alpha if adjust == "none" else alpha / len(left)
            new = {k for k in left if _beyond(claims[k], level, way)}
            told |= {k: (OPEN, level) for k in left if told.get(k, (OPEN,))[0] == OPEN}
            told |= dict.fromkeys(new, (word, level))
            if not new:
                break
            left -= new
    return [_verdict(c, *told[k]) for k, c in enumerate(claims)]


def _beyond(claim: Claim, alpha: float, way: int) -> bool:
    """Is the whole one-sided interval on the good (way 1) or the bad (-1) side?"""
    try:
        i = claim.limits(alpha)
    except NotEnoughCases as err:
        group = claim.group.replace("=", " = ", 1)
        where = f"In {group}: " if group else ""
        raise NotEnoughCases(f"{where}{err}") from None
    return i.low > claim.bound if claim.side * way > 0 else i.high < claim.bound


def _verdict(c: Claim, verdict: str, alpha: float) -> Verdict:
    i, more = c.limits(alpha), None
    away = abs(i.value - c.bound)
    reach = i.value - i.low if i.value > c.bound else i.high - i.value
    if verdict == OPEN and away and 0 < reach < inf and not i.undecided:
        # the distance from value to limit shrinks with the root of the cases
        more = max(1, ceil(i.n * ((reach / away) ** 2 - 1)))
    told = (c.bound, i.n, more, _reason(c, verdict, i, more))
    return Verdict(c.text, c.group, verdict, i.value, i.low, i.high, *told)


def _reason(c: Claim, verdict: str, i: Interval, more: int | None) -> str:
    head = f"{prefix(c.group)}{c.text}{f' ({c.said})' if c.said else ''}: "
    if i.undecided:
        return f"{head}{i.undecided}"
    kind = "" if i.what == "labelled" else f"{i.what} "
    lower = (c.side > 0) == (verdict != FAILS)
    limit = f"lower limit {i.low:.4g}" if lower else f"upper limit {i.high:.4g}"
    ask = ""
    if more is not None:
        ask = f"; about {more:,} more such cases would be enough to decide"
    elif verdict == OPEN:
        ask = "; the value is on the bound, so perhaps no number of cases is enough"
    return f"{head}measured {i.value:.4g} in {i.n:,} {kind}cases, {limit}{ask}."
