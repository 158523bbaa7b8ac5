"""Does each requirement hold, does it fail, or cannot it be told yet?

A requirement *holds* when its one-sided interval lies wholly on the good side of the
bound, and *fails* when it lies wholly on the bad side; a truth exactly on the bound is
called either way in at most 5 % of samples. With several requirements or groups each
family, of what is said to hold and of what is said to fail, errs in at most 5 % (Holm).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import ceil, isfinite
from typing import final
from xml.sax.saxutils import escape, quoteattr

from trueness._core.checks import options as _options
from trueness._core.checks.errors import NotEnoughCases
from trueness._core.records import Record
from trueness.monitoring.measures import Interval, Limits
from trueness.monitoring.requirements import Requirement

HOLDS, FAILS, OPEN = "holds", "fails", "cannot tell yet"


@final
@dataclass(frozen=True, repr=False)
class Verdict(Record):
    """Does one requirement hold, in one group, on one side?

    Attributes
    ----------
    requirement : str
        The requirement in words.
    group : str
        The group, or empty.
    verdict : {"holds", "fails", "cannot tell yet"}
        Whether it holds.
    value : float
        The measured value.
    low, high : float
        One-sided confidence limits at the level of the decision, after adjustment for
        the number of requirements.
    bound : float
        The bound that the value was compared with.
    cases : int
        How many cases the value is based on.
    more : int or None
        How many more cases like these would be enough to decide, where that is known.
    reason : str
        The reason for the verdict, in a sentence.
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
        return f"{_where(self.group)}{self.requirement}"

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
        The verdict on all requirements together.
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

    def __repr__(self) -> str:
        """Give a line a requirement, worst first, and what was assumed."""
        lines = [f"Check: {self.verdict}"]
        lines += [f"  {v.verdict:<15}  {v.reason}" for v in self.ordered()]
        return "\n".join([*lines, *(f"  {n}" for n in self.notes)])

    def ordered(self) -> list[Verdict]:
        """Give the verdicts, with those that fail first."""
        rank = {FAILS: 0, OPEN: 1, HOLDS: 2}
        return sorted(self.verdicts, key=lambda v: rank[v.verdict])

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
            row = " | ".join(_cell(c) for c in cells)
            lines.append(f"| {_MARK[v.verdict]} {v.verdict} | {row} |")
        if figure:
            drawn = [v for v in self.ordered() if v.low < v.high]
            longest = max((len(v.name) for v in drawn), default=0)
            bars = [f"{v.name:<{longest}}  {_bar(v)}" for v in drawn]
            lines += ["", "```text", *bars, "```"]
        return "\n".join([*lines, "", *(f"*{n}*" for n in self.notes), ""])


_MARK = {HOLDS: "✅", FAILS: "❌", OPEN: "❔"}


def _cell(text: str) -> str:
    """Write text into a cell: what Markdown or HTML would read is escaped."""
    for mark in "\\|<>`*_[]":
        text = text.replace(mark, f"\\{mark}")
    return text.replace("\n", " ")


def _bar(v: Verdict, width: int = 40) -> str:
    low, high = min(v.low, v.bound), max(v.high, v.bound)
    pad = 0.05 * (high - low) or 1.0
    low, high = low - pad, high + pad

    def place(x: float) -> int:
        return min(width - 1, max(0, round((x - low) / (high - low) * (width - 1))))

    line = [" "] * width
    for k in range(place(v.low), place(v.high) + 1):
        line[k] = "-"
    for x, mark in ((v.low, "["), (v.high, "]"), (v.value, "o"), (v.bound, "|")):
        line[place(x)] = mark
    return "".join(line).rstrip()


@final
@dataclass(frozen=True)
class Claim:
    """One comparison with one bound: ``side`` is +1 when more is better."""

    text: str
    group: str
    bound: float
    side: int
    limits: Limits
    said: str = ""  # what the numbers are of, when not of the metric itself


def fact(r: Requirement, group: str, value: float, n: int) -> Verdict:
    """Judge what was counted: it is so, or it is not."""
    low = r.at_least is None or value >= r.at_least
    high = r.at_most is None or value <= r.at_most
    verdict = HOLDS if low and high else FAILS
    bound = r.at_least if r.at_least is not None else r.at_most
    reason = f"{_where(group)}{r}: {value:,.6g} in this file."
    number = float("nan") if bound is None else bound
    return Verdict(str(r), group, verdict, value, value, value, number, n, None, reason)


def decide(claims: Sequence[Claim], alpha: float, adjust: str) -> list[Verdict]:
    """Try each claim both ways, by Holm's steps."""
    # Holm (1979): with k claims left each is tried at alpha / k, until none is decided
    share: dict[tuple[int, int], float] = {}
    decided: dict[int, str] = {}
    for way, word in ((1, HOLDS), (-1, FAILS)):
        left = set(range(len(claims)))
        while left:
            level = alpha if adjust == "none" else alpha / len(left)
            new = {k for k in left if _beyond(claims[k], level, way)}
            for k in left:
                share[k, way] = level
            if not new:
                break
            decided |= dict.fromkeys(new, word)
            left -= new
    return [_verdict(c, decided.get(k, OPEN), share, k) for k, c in enumerate(claims)]


def _beyond(claim: Claim, alpha: float, way: int) -> bool:
    """Is the whole one-sided interval on the good (way 1) or the bad (-1) side?"""
    try:
        i = claim.limits(alpha)
    except NotEnoughCases as err:
        group = claim.group.replace("=", " = ", 1)
        where = f"In {group}: " if group else ""
        raise NotEnoughCases(f"{where}{err}") from None
    good = claim.side * way
    return i.low > claim.bound if good > 0 else i.high < claim.bound


def _verdict(
    c: Claim, verdict: str, share: Mapping[tuple[int, int], float], k: int
) -> Verdict:
    way = -1 if verdict == FAILS else 1
    i = c.limits(share[k, way])
    more = _more(c, i) if verdict == OPEN else None
    told = (c.bound, i.n, more, _reason(c, verdict, i, more))
    return Verdict(c.text, c.group, verdict, i.value, i.low, i.high, *told)


def _more(c: Claim, i: Interval) -> int | None:
    """How many more cases like these would tell, if the value stayed what it is?

    The distance from value to limit shrinks with the square root of the cases.
    """
    away = abs(i.value - c.bound)
    reach = i.value - i.low if i.value > c.bound else i.high - i.value
    if away == 0 or reach <= 0 or not isfinite(reach) or i.undecided:
        return None
    return max(1, ceil(i.n * ((reach / away) ** 2 - 1)))


def _where(group: str) -> str:
    return f"{group}: " if group else ""


def _reason(c: Claim, verdict: str, i: Interval, more: int | None) -> str:
    of = f" ({c.said})" if c.said else ""
    head = f"{_where(c.group)}{c.text}{of}: "
    if i.undecided:
        return f"{head}{i.undecided}"
    head = f"{head}measured {i.value:.4g}"
    kind = "" if i.what == "labelled" else f"{i.what} "
    lower = (c.side > 0) == (verdict != FAILS)
    name, limit = ("lower", i.low) if lower else ("upper", i.high)
    text = f"{head} in {i.n:,} {kind}cases, {name} limit {limit:.4g}"
    if verdict == OPEN:
        ask = (
            f"about {more:,} more such cases would be enough to decide"
            if more is not None
            else "the value is on the bound, so perhaps no number of cases is enough"
        )
        return f"{text}; {ask}."
    return f"{text}."


def together(found: Sequence[Verdict]) -> str:
    """Give one verdict for several: the worst of them."""
    words = {v.verdict for v in found}
    return FAILS if FAILS in words else OPEN if OPEN in words else HOLDS
