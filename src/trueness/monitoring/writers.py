"""What do a build server and a pull request want to read? JUnit XML and Markdown."""

from __future__ import annotations

from typing import TYPE_CHECKING
from xml.sax.saxutils import escape, quoteattr

if TYPE_CHECKING:
    from trueness.monitoring.verdicts import Check, Verdict

_MARK = {"holds": "✅", "fails": "❌", "cannot tell yet": "❔"}


def junit(check: Check) -> str:
    """Give JUnit XML: a test for each verdict; what cannot be told is skipped."""
    found = check.verdicts
    fails = sum(v.verdict == "fails" for v in found)
    open_ = sum(v.verdict == "cannot tell yet" for v in found)
    lines = [
        '<?xml version="1.0" encoding="UTF-8"?>',
        f'<testsuites><testsuite name="trueness check" tests="{len(found)}" '
        f'failures="{fails}" errors="0" skipped="{open_}">',
    ]
    for v in found:
        lines.append(f'<testcase classname="trueness.check" name={quoteattr(v.name)}>')
        if v.verdict == "fails":
            lines.append(f"<failure message={quoteattr(v.reason)}/>")
        elif v.verdict == "cannot tell yet":
            lines.append(f"<skipped message={quoteattr(v.reason)}/>")
        lines.append(f"<system-out>{escape(v.reason)}</system-out></testcase>")
    return "\n".join([*lines, "</testsuite></testsuites>", ""])


def markdown(check: Check, figure: bool = True) -> str:
    """Give a table of the verdicts, worst first, with a picture of the intervals."""
    lines = [
        f"## Quality: {check.verdict}",
        "",
        "| | requirement | measured | limits | why |",
        "| --- | --- | --- | --- | --- |",
    ]
    for v in check.ordered():
        cells = (v.name, f"{v.value:.4g}", v.span, v.reason)
        row = " | ".join(_cell(c) for c in cells)
        lines.append(f"| {_MARK[v.verdict]} {v.verdict} | {row} |")
    if figure:
        lines += ["", "```text", *bars(check.ordered()), "```"]
    return "\n".join([*lines, "", *(f"*{n}*" for n in check.notes), ""])


def _cell(text: str) -> str:
    """Write text into a cell: what Markdown or HTML would read is escaped."""
    for mark in "\\|<>`*_[]":
        text = text.replace(mark, f"\\{mark}")
    return text.replace("\n", " ")


def bars(verdicts: list[Verdict], width: int = 40) -> list[str]:
    """Draw each interval against its bound, in letters: ``[--o--]`` and ``|``."""
    drawn = [v for v in verdicts if v.low < v.high]
    longest = max((len(v.name) for v in drawn), default=0)
    return [f"{v.name:<{longest}}  {_bar(v, width)}" for v in drawn]


def _bar(v: Verdict, width: int) -> str:
    low, high = min(v.low, v.bound), max(v.high, v.bound)
    pad = 0.05 * (high - low) or 1.0
    low, high = low - pad, high + pad

    def place(x: float) -> int:
        return min(width - 1, max(0, round((x - low) / (high - low) * (width - 1))))

    line = [" "] * width
    for k in range(place(v.low), place(v.high) + 1):
        line[k] = "-"
    line[place(v.low)], line[place(v.high)] = "[", "]"
    line[place(v.value)] = "o"
    line[place(v.bound)] = "|"
    return "".join(line).rstrip()
