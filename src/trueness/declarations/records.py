"""Records of a declaration and of its verification."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, final

from trueness._core.checks.errors import InputError
from trueness._core.checks.options import file_path
from trueness._core.files import replacing
from trueness._core.imports import HigherFunction
from trueness._core.records import Record
from trueness.counts.values import Tally
from trueness.declarations.measurements import CrossTable, Measurement
from trueness.evals.attempts import Attempts
from trueness.monitoring.verdicts import FAILS, HOLDS, OPEN

# the functions that write a declaration, one for each format
DECLARATION_TO_JSON: HigherFunction[Callable[[Declaration], dict[str, Any]]] = (
    HigherFunction("declaration_to_json")
)
DECLARATION_TEXT: HigherFunction[Callable[[Declaration], str]] = HigherFunction(
    "declaration_text"
)
DECLARATION_PAGE: HigherFunction[Callable[[Declaration], str]] = HigherFunction(
    "declaration_page"
)
DECLARATION_MARKDOWN: HigherFunction[Callable[[Declaration], str]] = HigherFunction(
    "declaration_markdown"
)

# statements that only the author can make: their names, and what they are about
STATEMENTS = {
    "intended_use": "Intended use",
    "population": "Population",
    "dates": "Dates of the data",
    "reference_standard": "Reference standard",
    "threshold_choice": "How the threshold was chosen",
    "unit": "Unit of analysis",
    "left_out": "Exclusions",
}

FOLLOWS = "follows"
WITHIN = "follows within these bounds"
DOES_NOT = "does not follow"
UNCHECKED = "was not checked"


@final
@dataclass(frozen=True)
class Flow:
    """From rows to cases: how many rows had no score, or no label?

    Attributes
    ----------
    rows : int or None
        All rows; None where it would tell how many were left out, which are few.
    without_label : int or None
        How many cases with a score had no label and are not in the counts; None where
        some, but fewer than k, had none.
    without_score : dict or None
        How many rows without a score were negative, positive and unlabelled; None where
        some, but fewer than k, had none.
    """

    rows: int | None = None
    without_score: Mapping[str, int] | None = field(default_factory=dict)
    without_label: int | None = 0


@final
@dataclass(frozen=True)
class StatedVerdict:
    """The stated verdict on one claim, in one group."""

    group: str
    verdict: str
    value: float
    low: float
    high: float
    bound: float


@final
@dataclass(frozen=True)
class StatedClaim:
    """A claim in the grammar of ``check``, and its verdicts."""

    claim: str
    verdicts: tuple[StatedVerdict, ...]

    @property
    def verdict(self) -> str:
        """Return the worst verdict."""
        verdicts = {v.verdict for v in self.verdicts}
        return next((word for word in (FAILS, OPEN) if word in verdicts), HOLDS)


@final
@dataclass(frozen=True)
class Privacy:
    """Rule by which counts are hidden: k cases of each class in a bin, and exceptions.

    Attributes
    ----------
    at_least : int
        The smallest number of cases of a class in a published cell (k); 1 for exact
        counts.
    hidden : tuple of float
        Thresholds inside a bin, since a cell of their table would be small.
    exposed : tuple of float
        Thresholds whose table is published although a cell is small.
    pooled : dict
        From column to the groups that are counted as one.
    """

    at_least: int = 5
    hidden: tuple[float, ...] = ()
    exposed: tuple[float, ...] = ()
    pooled: Mapping[str, tuple[str, ...]] = field(default_factory=dict)


@final
@dataclass(frozen=True)
class Provenance:
    """Where the counts are from: software, day, file, and the digest of the file."""

    software: str = ""
    date: str = ""
    source: str = ""
    digest: str = ""


@final
@dataclass(frozen=True, repr=False)
class Declaration(Record):
    """Numbers and claims with the counts that prove them, to be checked without the
    data.

    :func:`trueness.declare` writes it, :func:`trueness.verify` checks it.

    Attributes
    ----------
    title : str
    statements : dict
        What the author states: intended use, population, reference standard, ...
    agreement : bool
        The comparator is not a reference standard: agreement is measured, not accuracy.
    counts : Tally or Attempts
        The evidence: counts that were published.
    groups : dict
        The counts by column and group.
    thresholds : tuple of float
        The thresholds.
    level : float
        Confidence level of the intervals.
    flow, privacy, provenance
        How rows became cases; what was suppressed; where the counts come from.
    measured, tables, claims
        The declared numbers and 2x2 tables, and the claims with their verdicts.
    """

    title: str
    statements: Mapping[str, str]
    agreement: bool
    counts: Tally | Attempts
    groups: Mapping[str, Mapping[str, Tally]]
    thresholds: tuple[float, ...]
    level: float
    flow: Flow
    privacy: Privacy
    provenance: Provenance
    measured: tuple[Measurement, ...]
    tables: tuple[CrossTable, ...]
    claims: tuple[StatedClaim, ...]

    def __repr__(self) -> str:
        """Return the title and the number of numbers, then a line for each claim."""
        lines = [f"Declaration: {self.title} ({len(self.measured)} numbers)"]
        lines += [f"  {claim.verdict:<15}  {claim.claim}" for claim in self.claims]
        return "\n".join(lines)

    def to_dict(self) -> dict[str, Any]:
        """Return the content of the JSON file, as ``docs/counts.md`` describes it."""
        return DECLARATION_TO_JSON.load()(self)

    def to_html(self) -> str:
        """Return the declaration as a page that verifies itself, without a network."""
        return DECLARATION_PAGE.load()(self)

    def to_markdown(self) -> str:
        """Return the declaration as Markdown, with Hugging Face's ``model-index``."""
        return DECLARATION_MARKDOWN.load()(self)

    def write(self, path: str | os.PathLike[str]) -> Path:
        """Write a page (.html), its data (.json) or Markdown (.md), all or nothing."""
        place = file_path(path, "Declaration.write")
        writers = {
            ".html": self.to_html,
            ".htm": self.to_html,
            ".json": lambda: DECLARATION_TEXT.load()(self),
            ".md": self.to_markdown,
        }
        writer = writers.get(place.suffix.lower())
        if writer is None:
            raise InputError(
                f"A declaration is written to .html, .json or .md; found {place.name}.",
                option="path",
                choices=tuple(writers),
                example="declaration.html",
            )

        text = writer()

        with replacing(place) as temporary:
            temporary.write_text(text, encoding="utf-8")

        return place


@final
@dataclass(frozen=True)
class StatementCheck:
    """Whether one stated thing follows from the counts.

    Attributes
    ----------
    name : str
        What is stated, in words.
    verdict : {"follows", "follows within these bounds", "does not follow"}
    stated, recomputed : str
        What the declaration says, and what the counts say.
    """

    name: str
    verdict: str
    stated: str
    recomputed: str

    def __str__(self) -> str:
        """Return the statement and whether it follows, in one line."""
        if self.verdict == UNCHECKED:
            return f"{self.name}: was not checked"
        if self.verdict == FOLLOWS:
            return f"{self.name}: {self.stated} follows"
        if self.verdict == WITHIN:
            return f"{self.name}: {self.stated} follows within {self.recomputed}"
        return f"{self.name}: {self.stated} does not follow; {self.recomputed}"


@final
@dataclass(frozen=True, repr=False)
class Verification(Record):
    """Verification of a declaration: a check of every number and claim.

    Attributes
    ----------
    verdict : {"follows", "follows within these bounds", "does not follow"}
        The worst of all.
    checks : tuple of StatementCheck
        A check of each number, table and claim, and of their context.
    claims : {"holds", "fails", "cannot tell yet"}
        The worst verdict on the claims, from the counts.
    digest : str
        SHA-256 of the declaration, to compare with one that was published or signed
        elsewhere.
    declaration : Declaration
        What was read.
    """

    verdict: str
    checks: tuple[StatementCheck, ...]
    claims: str
    digest: str
    declaration: Declaration

    def __bool__(self) -> bool:
        """Return whether everything follows from the counts."""
        return self.verdict != DOES_NOT

    @property
    def failures(self) -> tuple[StatementCheck, ...]:
        """Return the statements that do not follow from the counts."""
        return tuple(check for check in self.checks if check.verdict == DOES_NOT)

    def __repr__(self) -> str:
        """Return a summary, with the statements that do not follow exactly."""
        lines = [summary_of(self)]
        lines += [f"  {check}" for check in self.failures]
        lines += [f"  {check}" for check in self.checks if check.verdict == WITHIN]
        return "\n".join(lines)


def summary_of(verification: Verification) -> str:
    """Return the result of a verification in one sentence."""
    number = sum(check.verdict != UNCHECKED for check in verification.checks)
    failures = len(verification.failures)
    if failures:
        are = "does" if failures == 1 else "do"
        return f"{failures} of {number} statements {are} not follow from the counts."

    within = sum(check.verdict == WITHIN for check in verification.checks)
    if within:
        return (
            f"All {number} statements follow from the counts, {within} of them within "
            "bounds."
        )

    return f"All {number} statements follow from the counts."
