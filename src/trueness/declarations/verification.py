"""Verification of a declaration: a check of every number and claim.

Nothing that a declaration states is taken as true. Its counts are read, every number,
table and claim is computed from them again, and what was stated is compared with it. A
page is also written again from its data, and compared with what it shows.
"""

from __future__ import annotations

import math
import os
import warnings
from collections.abc import Iterator, Mapping, Sequence
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import numpy as np

from trueness._core.checks.errors import InputError, NotEnoughCases
from trueness._core.checks.options import file_path
from trueness._core.checks.words import listing
from trueness.counts.values import Tally
from trueness.declarations.claims import judge_claims
from trueness.declarations.declaring import file_digest
from trueness.declarations.json_format import content_digest
from trueness.declarations.measurements import (
    CrossTable,
    Measurement,
    cross_tables,
    is_shown_as,
    measure_counts,
)
from trueness.declarations.reading import (
    BLOCK,
    is_page,
    is_report,
    read_declaration,
    read_text,
)
from trueness.declarations.records import (
    DECLARATION_PAGE,
    DOES_NOT,
    FOLLOWS,
    UNCHECKED,
    WITHIN,
    Declaration,
    StatedClaim,
    StatedVerdict,
    StatementCheck,
    Verification,
)
from trueness.declarations.words import (
    bounds_text,
    cell_text,
    interval_text,
    measurement_name,
    number_text,
    table_name,
    value_text,
)
from trueness.evals.attempts import Attempts
from trueness.monitoring.verdicts import FAILS, HOLDS, OPEN

_WORST_FIRST = (DOES_NOT, WITHIN, FOLLOWS)


def verify(source: Any, *, data: str | os.PathLike[str] | None = None) -> Verification:
    r"""Verification of a declaration: does each number follow from its counts?

    Verification shows that numbers and claims follow from the counts. It does not show
    that the counts are true: for that, compare the digest with one that was signed.

    Parameters
    ----------
    source
        A page (.html), its data (.json), or a declaration, from anyone.
    data
        The file of the predictions, if you have it: its SHA-256 is compared.

    Returns
    -------
    Verification
        ``failures`` names the statements that do not follow; the result is true where
        all follow.

    Examples
    --------
    >>> import trueness
    >>> t = trueness.Tally([0.9, 0.1], neg=[10, 190], pos=[99, 6])
    >>> content = trueness.declare(t, at=0.5).to_dict()
    >>> content["measured"][0]["value"] = 0.99
    >>> print(*trueness.verify(content).failures, sep="\n")
    sensitivity at 0.5: 0.9900 does not follow; the counts say 0.9429
    """
    declaration = read_declaration(source)

    with warnings.catch_warnings():
        # warnings about the cases are for the author
        warnings.simplefilter("ignore")
        checks = [
            *_check_numbers(declaration),
            *_check_tables(declaration),
            *_check_claims(declaration),
            *_check_flow(declaration),
            *_check_groups(declaration),
            *_check_privacy(declaration),
        ]

        verdict_on_claims = _worst_claim(declaration)

    if isinstance(source, (str, os.PathLike)) and is_page(source):
        checks += _check_page(declaration, file_path(source, "verify"))
    if data is not None:
        checks.append(_check_digest(declaration, file_path(data, "verify")))

    verdicts = {check.verdict for check in checks}

    return Verification(
        verdict=next(word for word in (*_WORST_FIRST, FOLLOWS) if word in verdicts),
        checks=tuple(checks),
        claims=verdict_on_claims,
        digest=content_digest(declaration),
        declaration=declaration,
    )


def _worst_claim(declaration: Declaration) -> str:
    """Return the worst verdict on the claims, by the counts."""
    try:
        claims = judge_claims(declaration, [c.claim for c in declaration.claims])
    except (InputError, NotEnoughCases):
        return OPEN
    verdicts = {claim.verdict for claim in claims}
    return next((word for word in (FAILS, OPEN) if word in verdicts), HOLDS)


def _check_numbers(declaration: Declaration) -> Iterator[StatementCheck]:
    """Yield a check of every stated number against the counts."""
    recomputed = measure_counts(
        declaration.counts,
        declaration.groups,
        thresholds=declaration.thresholds,
        level=declaration.level,
        agreement=declaration.agreement,
    )
    by_key = {measurement.key: measurement for measurement in recomputed}

    stated_keys = set()
    for stated in declaration.measured:
        name = measurement_name(stated, declaration.agreement)
        if stated.key in stated_keys:
            yield StatementCheck(name, DOES_NOT, value_text(stated), "it occurs twice")
            continue

        stated_keys.add(stated.key)
        if stated.key not in by_key:
            reason = "this number does not follow from the counts"
            yield StatementCheck(name, DOES_NOT, value_text(stated), reason)
            continue

        yield from _compare_numbers(name, stated, by_key[stated.key])

    for key, measurement in by_key.items():
        if key not in stated_keys:
            name = measurement_name(measurement, declaration.agreement)
            reason = f"the counts say {value_text(measurement)}"
            yield StatementCheck(name, DOES_NOT, "a number that is missing", reason)


def _compare_numbers(
    name: str, stated: Measurement, recomputed: Measurement
) -> Iterator[StatementCheck]:
    """Yield checks of the value, bounds, interval and method of one number."""
    if recomputed.bounds is None:
        exact = is_shown_as(recomputed.value, stated.value)
        reason = f"the counts say {number_text(recomputed.value)}"
        verdict = FOLLOWS if exact else DOES_NOT
        yield StatementCheck(name, verdict, number_text(stated.value), reason)
    else:
        yield _compare_with_bounds(name, stated, recomputed)

    if (stated.bounds is None) != (recomputed.bounds is None):
        reason = (
            "the counts do not determine the value"
            if recomputed.bounds
            else ("the counts determine the value")
        )
        yield StatementCheck(f"{name}, bounds", DOES_NOT, bounds_text(stated), reason)
    elif stated.bounds is not None and recomputed.bounds is not None:
        same = all(map(is_shown_as, recomputed.bounds, stated.bounds))
        yield _compare_statement(
            f"{name}, bounds", bounds_text(stated), bounds_text(recomputed), same
        )

    same = is_shown_as(recomputed.low, stated.low)
    same = same and is_shown_as(recomputed.high, stated.high)
    yield _compare_statement(
        f"{name}, interval", interval_text(stated), interval_text(recomputed), same
    )

    if stated.method != recomputed.method:
        yield _compare_statement(
            f"{name}, method", stated.method, recomputed.method, False
        )


def _compare_with_bounds(
    name: str, stated: Measurement, recomputed: Measurement
) -> StatementCheck:
    """Return the check of a value that bins do not determine, by its bounds."""
    assert recomputed.bounds is not None  # noqa: S101 - its caller has looked
    low, high = recomputed.bounds
    within = bounds_text(recomputed)

    if math.isnan(stated.value) and recomputed.threshold is not None:
        return StatementCheck(name, WITHIN, "no value, only bounds", within)

    inside = low <= stated.value <= high
    inside = inside or is_shown_as(low, stated.value) or is_shown_as(high, stated.value)
    if inside and recomputed.threshold is None:
        return StatementCheck(name, WITHIN, number_text(stated.value), within)

    return StatementCheck(
        name, DOES_NOT, number_text(stated.value), f"the counts allow {within}"
    )


def _compare_statement(
    name: str, stated: str, recomputed: str, same: bool
) -> StatementCheck:
    """Return the check of a statement; ``same`` says that it is what counts say."""
    if same:
        return StatementCheck(name, FOLLOWS, stated, recomputed)
    return StatementCheck(name, DOES_NOT, stated, f"the counts say {recomputed}")


def _check_tables(declaration: Declaration) -> Iterator[StatementCheck]:
    """Yield a check of every cell of every table against the counts."""
    recomputed = {
        table.key: table
        for table in cross_tables(
            declaration.counts, declaration.groups, declaration.thresholds
        )
    }
    stated_tables: dict[object, CrossTable] = {}
    for table in declaration.tables:
        if table.key in stated_tables or table.key not in recomputed:
            reason = "this table does not follow from the counts"
            yield StatementCheck(table_name(table), DOES_NOT, "a table", reason)
            continue

        stated_tables[table.key] = table
        for cell, stated in table.cells.items():
            counted = recomputed[table.key].cells[cell]
            same = np.allclose(stated, counted, rtol=1e-9, atol=0)
            yield _compare_statement(
                f"{table_name(table)}, {cell}",
                cell_text(stated),
                cell_text(counted),
                same,
            )

    for key, table in recomputed.items():
        if key not in stated_tables:
            reason = "the counts have one"
            yield StatementCheck(
                table_name(table), DOES_NOT, "a table is missing", reason
            )


def _check_claims(declaration: Declaration) -> Iterator[StatementCheck]:
    """Yield a check of every claim: its verdicts must follow from the counts."""
    texts = [claim.claim for claim in declaration.claims]
    try:
        judged = judge_claims(declaration, texts)
    except (InputError, NotEnoughCases) as err:
        for text in texts:
            yield StatementCheck(f"claim {text!r}", DOES_NOT, "a verdict", err.message)
        return

    by_text = {claim.claim: claim for claim in judged}
    for stated in declaration.claims:
        yield from _compare_claims(stated, by_text[stated.claim])

    if len(by_text) < len(texts):
        yield StatementCheck(
            "claims", DOES_NOT, "a claim that occurs twice", "each occurs once"
        )


def _compare_claims(
    stated: StatedClaim, judged: StatedClaim
) -> Iterator[StatementCheck]:
    """Yield checks of the verdicts and numbers of a claim, group by group."""
    name = f"claim {stated.claim!r}"
    by_group = {verdict.group: verdict for verdict in judged.verdicts}
    groups = [verdict.group for verdict in stated.verdicts]
    if sorted(groups) != sorted(by_group):
        reason = f"the counts have {listing(by_group, 20) or 'none'}"
        stated_groups = f"verdicts on {listing(groups, 20) or 'no group'}"
        yield StatementCheck(name, DOES_NOT, stated_groups, reason)
        return

    for verdict in stated.verdicts:
        recomputed = by_group[verdict.group]
        where = f"{name} in {verdict.group}" if verdict.group else name
        same_verdict = verdict.verdict == recomputed.verdict
        same_numbers = all(
            is_shown_as(getattr(recomputed, number), getattr(verdict, number))
            for number in ("value", "low", "high", "bound")
        )
        yield _compare_statement(
            where, verdict.verdict, recomputed.verdict, same_verdict
        )
        yield _compare_statement(
            f"{where}, numbers", _numbers(verdict), _numbers(recomputed), same_numbers
        )


def _numbers(verdict: StatedVerdict) -> str:
    """Return the value, interval and bound of a verdict as text."""
    interval = f"{number_text(verdict.low)} to {number_text(verdict.high)}"
    value = number_text(verdict.value)
    return f"{value} ({interval}) against {number_text(verdict.bound)}"


def _check_flow(declaration: Declaration) -> Iterator[StatementCheck]:
    """Yield the check of the number of rows against the counted cases."""
    flow = declaration.flow
    if flow.rows is None or flow.without_score is None or flow.without_label is None:
        return

    counts = declaration.counts
    counted = len(counts) if isinstance(counts, Attempts) else round(counts.n)
    expected = counted + sum(flow.without_score.values()) + flow.without_label
    yield _compare_statement(
        "number of rows", f"{flow.rows:,}", f"{expected:,}", flow.rows == expected
    )


def _check_groups(declaration: Declaration) -> Iterator[StatementCheck]:
    """Yield a check of each column: its groups must add up to all cases."""
    all_cases = declaration.counts
    if not isinstance(all_cases, Tally):
        return
    for column, tallies in declaration.groups.items():
        for kind, index in (("negatives", 0), ("positives", 1), ("unlabelled", 2)):
            yield _compare_sums(column, kind, index, all_cases, tallies)


def _compare_sums(
    column: str, kind: str, index: int, all_cases: Tally, tallies: Mapping[str, Tally]
) -> StatementCheck:
    """Yield checks of cumulative counts: groups against the whole, at common edges."""
    edges = set(all_cases.score.tolist()).intersection(
        *(set(tally.score.tolist()) for tally in tallies.values())
    )
    places = [*sorted(edges, reverse=True), -math.inf]
    of_groups = [
        sum(_count_from(tally, index, edge) for tally in tallies.values())
        for edge in places
    ]
    of_whole = [_count_from(all_cases, index, edge) for edge in places]
    same = np.allclose(of_groups, of_whole, rtol=1e-9, atol=0)

    return StatementCheck(
        f"{kind} of all groups of {column}",
        FOLLOWS if same else DOES_NOT,
        f"{of_groups[-1]:,}",
        f"all cases have {of_whole[-1]:,}"
        + ("" if of_groups[-1] != of_whole[-1] else ", at other scores"),
    )


def _count_from(tally: Tally, index: int, edge: float) -> float:
    """Return how many cases of a kind have a score at or above an edge."""
    column = tally.counts[index]
    total: float = column[tally.score >= edge].sum().item()
    return total


def _check_privacy(declaration: Declaration) -> Iterator[StatementCheck]:
    """Yield checks of privacy: cells below k need a stated exception."""
    at_least = declaration.privacy.at_least
    counts = declaration.counts
    if not isinstance(counts, Tally):
        return

    stated = declaration.privacy.hidden
    hidden = tuple(cut for cut in declaration.thresholds if _is_inside(counts, cut))
    yield _compare_statement(
        "thresholds inside a bin",
        listing(stated) or "none",
        listing(hidden) or "none",
        stated == hidden,
    )

    if at_least <= 1 or counts.weighted:
        return

    exposed = declaration.privacy.exposed
    smallest = min(
        _smallest_cell(tally, exposed, at_least)
        for tally in (counts, *_every_group(declaration))
    )
    yield StatementCheck(
        "smallest number of a class in a bin",
        FOLLOWS if smallest >= at_least else DOES_NOT,
        f"at least {at_least}",
        f"a bin has {smallest:,}",
    )


def _is_inside(counts: Tally, threshold: float) -> bool:
    """Return whether a threshold lies inside a bin."""
    return bool(((counts.score < threshold) & (counts.high >= threshold)).any())


def _smallest_cell(counts: Tally, exposed: Sequence[float], at_least: int) -> float:
    """Return the smallest count of a class in a bin, except next to exposed tables."""
    is_exposed = np.zeros(len(counts), bool)
    for threshold in exposed:
        bins_flagged = int((counts.score >= threshold).sum())
        # the bins on both sides of the threshold
        is_exposed[max(bins_flagged - 1, 0) : bins_flagged + 1] = True

    smallest = float(at_least)
    for column in (counts.neg, counts.pos):
        smallest = min(smallest, column[~is_exposed].min(initial=at_least).item())

    # a bin with no unlabelled case at all is no small cell of them
    unlabelled = counts.unknown[~is_exposed & (counts.unknown > 0)]
    smallest = min(smallest, unlabelled.min(initial=at_least).item())
    return float(smallest)


def _every_group(declaration: Declaration) -> Iterator[Tally]:
    for tallies in declaration.groups.values():
        yield from tallies.values()


def _check_digest(declaration: Declaration, place: Path) -> StatementCheck:
    """Return the check of the stated digest against a file of predictions."""
    if not place.is_file():
        raise InputError(f"There is no file {place}.", option="data")

    digest = file_digest(place)
    same = digest == declaration.provenance.digest
    stated = declaration.provenance.digest or "no digest"
    verdict = FOLLOWS if same else DOES_NOT

    return StatementCheck(
        "digest of the predictions", verdict, stated, f"the file has {digest}"
    )


def _check_page(declaration: Declaration, place: Path) -> list[StatementCheck]:
    """Yield the check of a page against the page that its data would give."""
    text = read_text(place)
    if is_report(text):
        name = "text of the report, which is not that of a declaration"
        return [StatementCheck(name, UNCHECKED, "", "")]

    shown = _Shown.of(text)
    expected = _Shown.of(DECLARATION_PAGE.load()(declaration))
    if shown == expected:
        return [StatementCheck("text of the page", FOLLOWS, "all of it", "")]

    place_of_change = _first_difference(shown, expected)
    shown_there = _excerpt(shown, place_of_change)
    expected_there = _excerpt(expected, place_of_change)
    reason = f"the data of the page give {expected_there!r}"

    return [StatementCheck("text of the page", DOES_NOT, repr(shown_there), reason)]


def _first_difference(first: Sequence[str], second: Sequence[str]) -> int:
    """Return the first place where two sequences differ, or where the shorter ends."""
    for place, (entry, other_entry) in enumerate(zip(first, second, strict=False)):
        if entry != other_entry:
            return place
    return min(len(first), len(second))


def _excerpt(parts: Sequence[str], place: int) -> str:
    """Return a short part of a page at a place."""
    return parts[place][:80] if place < len(parts) else "nothing more"


class _Shown(HTMLParser):
    """The tags and texts of a page, without the data block and needless spaces."""

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.parts: list[str] = []
        self._in_block = False

    @classmethod
    def of(cls, text: str) -> list[str]:
        """Return the tags and texts of a page."""
        parser = cls()
        parser.feed(text)
        parser.close()
        return parser.parts

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Add a tag with its attributes."""
        attributes = sorted(f"{name}={value or ''}" for name, value in attrs)
        self.parts.append(f"<{' '.join([tag, *attributes])}>")
        self._in_block = tag == "script" and ("id", BLOCK) in attrs

    def handle_endtag(self, tag: str) -> None:
        """Add the end of a tag."""
        self.parts.append(f"</{tag}>")
        self._in_block = False

    def handle_data(self, data: str) -> None:
        """Add a text."""
        text = " ".join(data.split())
        if text and not self._in_block:
            self.parts.append(text)
