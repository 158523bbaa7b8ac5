"""A declaration as JSON, and back: every member is checked, nothing is trusted.

The schema is published in ``docs/counts.md``. Members that are not known are ignored;
a member of the wrong kind is an error that names it.
"""

from __future__ import annotations

import hashlib
import json
import math
from collections import Counter
from collections.abc import Callable, Mapping
from typing import Any, TypeVar

import numpy as np

from trueness._core.checks.errors import InputError
from trueness._core.checks.words import described
from trueness.counts.design import PLAIN
from trueness.counts.values import Tally
from trueness.data.storage import are_counts, tally_of_columns
from trueness.declarations.measurements import (
    CELLS,
    CrossTable,
    Measurement,
    shown_number,
)
from trueness.declarations.records import (
    STATEMENTS,
    Declaration,
    Flow,
    Privacy,
    Provenance,
    StatedClaim,
    StatedVerdict,
)
from trueness.evals.attempts import Attempts
from trueness.monitoring.verdicts import FAILS, HOLDS, OPEN

VERSION = 1
KIND = "declaration"

# limits on files from strangers, beyond what any declaration needs
_LONGEST_TEXT = 5_000
_MOST_ENTRIES = 50_000
MOST_GROUPS = 200
MOST_THRESHOLDS = 20
MOST_CLAIMS = 100
_MOST_ITEMS = 1_000_000

T = TypeVar("T")


def declaration_text(declaration: Declaration) -> str:
    """Return the JSON file of a declaration."""
    content = declaration_to_json(declaration)
    return json.dumps(content, ensure_ascii=False, indent=1, allow_nan=False) + "\n"


def content_digest(declaration: Declaration) -> str:
    """Return the SHA-256 of the content, which no layout of the file changes."""
    content = declaration_to_json(declaration)
    text = json.dumps(
        content, sort_keys=True, ensure_ascii=False, separators=(",", ":")
    )
    return f"sha256:{hashlib.sha256(text.encode()).hexdigest()}"


def declaration_to_json(declaration: Declaration) -> dict[str, Any]:
    """Return the content of the JSON file of a declaration."""
    privacy = declaration.privacy
    return {
        "trueness": KIND,
        "version": VERSION,
        "title": declaration.title,
        "said": dict(declaration.statements),
        "agreement": declaration.agreement,
        "thresholds": list(declaration.thresholds),
        "level": declaration.level,
        "flow": {
            "rows": declaration.flow.rows,
            "without_score": _plain(declaration.flow.without_score),
            "without_label": declaration.flow.without_label,
        },
        "measured": [_measurement_to_json(m) for m in declaration.measured],
        "tables": [_table_to_json(table) for table in declaration.tables],
        "claims": [_claim_to_json(claim) for claim in declaration.claims],
        "privacy": {
            "at_least": privacy.at_least,
            "hidden": list(privacy.hidden),
            "exposed": list(privacy.exposed),
            "pooled": {column: list(names) for column, names in privacy.pooled.items()},
        },
        "provenance": dict(vars(declaration.provenance)),
        "evidence": _evidence_to_json(declaration),
    }


def _plain(counts: Mapping[str, int] | None) -> dict[str, int] | None:
    return None if counts is None else dict(counts)


def number_to_json(value: float) -> float | str | None:
    """Return a number for JSON: None if undefined, a word if infinite."""
    if math.isnan(value):
        return None
    if math.isinf(value):
        return "infinity" if value > 0 else "-infinity"
    return shown_number(value)


def _measurement_to_json(measurement: Measurement) -> dict[str, Any]:
    """Return a number of a declaration for JSON, with its group if it has one."""
    content: dict[str, Any] = {"measure": measurement.measure}
    if measurement.threshold is not None:
        content["threshold"] = measurement.threshold
    if measurement.column:
        content["column"] = measurement.column
        content["group"] = measurement.group

    content["value"] = number_to_json(measurement.value)
    content["low"] = number_to_json(measurement.low)
    content["high"] = number_to_json(measurement.high)

    if measurement.bounds is not None:
        content["bounds"] = [number_to_json(end) for end in measurement.bounds]

    content["method"] = measurement.method
    return content


def _table_to_json(table: CrossTable) -> dict[str, Any]:
    """Return a 2x2 table for JSON; a cell with bounds is a list of two numbers."""
    content: dict[str, Any] = {"threshold": table.threshold}

    if table.column:
        content["column"] = table.column
        content["group"] = table.group

    for name, (smallest, largest) in table.cells.items():
        content[name] = smallest if smallest == largest else [smallest, largest]

    return content


def _claim_to_json(claim: StatedClaim) -> dict[str, Any]:
    """Return a claim for JSON, with its verdict on each group."""
    verdicts = [
        {
            "group": verdict.group,
            "verdict": verdict.verdict,
            "value": number_to_json(verdict.value),
            "low": number_to_json(verdict.low),
            "high": number_to_json(verdict.high),
            "bound": number_to_json(verdict.bound),
        }
        for verdict in claim.verdicts
    ]

    return {"claim": claim.claim, "verdicts": verdicts}


def _evidence_to_json(declaration: Declaration) -> dict[str, Any]:
    """Return the counts of all cases and of each group for JSON."""
    counts = declaration.counts
    if isinstance(counts, Attempts):
        return {"attempts": attempts_to_json(counts)}

    design = {} if counts.design == PLAIN else {"design": counts.design.arguments}
    groups = {
        column: {group: {"columns": _columns(t)} for group, t in tallies.items()}
        for column, tallies in declaration.groups.items()
    }
    of_all_cases = {
        "trueness": "counts",
        "version": 1,
        **design,
        "columns": _columns(counts),
    }

    return {"counts": of_all_cases, "groups": groups}


def _columns(tally: Tally) -> dict[str, list[Any]]:
    return {name: column.tolist() for name, column in tally.named_columns.items()}


def attempts_to_json(attempts: Attempts) -> dict[str, Any]:
    """Return the numbers of items by passed and tried attempts, and by cluster."""
    # without clusters all items have the same cluster number
    clusters = np.zeros(len(attempts), np.int64)
    if attempts.cluster is not None:
        _, clusters = np.unique(attempts.cluster.astype(str), return_inverse=True)

    kinds = zip(
        attempts.passed.tolist(),
        attempts.tried.tolist(),
        clusters.tolist(),
        strict=True,
    )
    items_of_kind = Counter(kinds)
    ordered = sorted(items_of_kind)

    content: dict[str, Any] = {
        "passed": [passed for passed, _, _ in ordered],
        "tried": [tried for _, tried, _ in ordered],
        "items": [items_of_kind[kind] for kind in ordered],
        "missing": attempts.missing,
    }
    if attempts.cluster is not None:
        content["cluster"] = [cluster for _, _, cluster in ordered]

    return content


class _Member:
    """A member of a JSON object from a stranger, with the path to it."""

    def __init__(self, content: object, path: str = "") -> None:
        self.content = content
        self.path = path

    def get(self, name: str) -> _Member:
        """Return a member of an object; its content is None if it is missing."""
        if not isinstance(self.content, dict):
            raise self.error("an object")
        place = f"{self.path}.{name}" if self.path else name
        return _Member(self.content.get(name), place)

    @property
    def is_there(self) -> bool:
        """Return whether the member is present, and not null."""
        return self.content is not None

    def error(self, needed: str) -> InputError:
        """Return the error that names what is needed at this place."""
        where = self.path or "The file"
        return InputError(
            f"This is not a declaration: {where} must be {needed}; found "
            f"{described(self.content)}."
        )

    def text(self, longest: int = _LONGEST_TEXT) -> str:
        """Return the text of the member."""
        if not isinstance(self.content, str):
            raise self.error("text")
        if len(self.content) > longest:
            raise self.error(f"text of at most {longest:,} characters")
        return self.content

    def text_or_empty(self, longest: int = _LONGEST_TEXT) -> str:
        """Return the text of the member; "" if it is missing."""
        return self.text(longest) if self.is_there else ""

    def choice(self, allowed: tuple[str, ...]) -> str:
        """Return the content, one of these words."""
        if self.content not in allowed:
            raise self.error(f"one of {', '.join(allowed)}")
        return str(self.content)

    def number(self) -> float:
        """Return the content as a finite number."""
        number = self.content
        if isinstance(number, bool) or not isinstance(number, (int, float)):
            raise self.error("a number")
        if not math.isfinite(number):
            raise self.error("a finite number")
        return float(number)

    def number_or_none(self) -> float:
        """Return the content as a number: NaN for null, infinite for a word."""
        if self.content is None:
            return math.nan
        if self.content in ("infinity", "-infinity"):
            return math.inf if self.content == "infinity" else -math.inf
        return self.number()

    def whole(self, lowest: int = 0, highest: int = 2**53) -> int:
        """Return the content as a whole number."""
        number = self.number()
        if not number.is_integer() or not lowest <= number <= highest:
            raise self.error(f"a whole number from {lowest} to {highest:,}")
        return int(number)

    def switch(self) -> bool:
        """Return the content, true or false."""
        if not isinstance(self.content, bool):
            raise self.error("true or false")
        return self.content

    def each(
        self, read: Callable[[_Member], T], max_entries: int = _MOST_ENTRIES
    ) -> tuple[T, ...]:
        """Return every entry of a list, read by a function."""
        if not isinstance(self.content, list) or len(self.content) > max_entries:
            raise self.error(f"a list of at most {max_entries:,} entries")
        return tuple(
            read(_Member(entry, f"{self.path}[{place}]"))
            for place, entry in enumerate(self.content)
        )

    def members(
        self, read: Callable[[_Member], T], max_members: int = MOST_GROUPS
    ) -> dict[str, T]:
        """Return every member of an object, read by a function."""
        if not isinstance(self.content, dict) or len(self.content) > max_members:
            raise self.error(f"an object of at most {max_members:,} members")
        return {
            _Member(name, self.path).text(200): read(self.get(name))
            for name in self.content
        }

    def pair(self, read: Callable[[_Member], float]) -> tuple[float, float]:
        """Return a list of two numbers as a pair."""
        ends = self.each(read)
        if len(ends) != 2:
            raise self.error("two numbers")
        return ends[0], ends[1]


def declaration_from_json(content: object) -> Declaration:
    """Return the declaration in the content of a JSON file; all members are checked."""
    top = _Member(content)
    if top.get("trueness").content != KIND:
        raise top.get("trueness").error(f'"{KIND}"')

    version = top.get("version").whole(1)
    if version > VERSION:
        raise InputError(
            f"This declaration has version {version}; versions up to {VERSION} are "
            "known. Install a newer Trueness."
        )

    counts, groups = _read_evidence(top.get("evidence"))
    level = top.get("level").number()
    if not 0.5 < level < 1:
        raise top.get("level").error("between 0.5 and 1")

    return Declaration(
        title=top.get("title").text(),
        statements=_read_statements(top.get("said")),
        agreement=top.get("agreement").switch(),
        counts=counts,
        groups=groups,
        thresholds=top.get("thresholds").each(_Member.number, MOST_THRESHOLDS),
        level=level,
        flow=_read_flow(top.get("flow")),
        privacy=_read_privacy(top.get("privacy")),
        provenance=_read_provenance(top.get("provenance")),
        measured=top.get("measured").each(_read_measurement),
        tables=top.get("tables").each(_read_table),
        claims=top.get("claims").each(_read_claim, MOST_CLAIMS),
    )


def _read_statements(member: _Member) -> dict[str, str]:
    """Return the statements of the author, in the order of ``STATEMENTS``."""
    statements = member.members(_Member.text)
    return {name: statements[name] for name in STATEMENTS if name in statements}


def _read_flow(member: _Member) -> Flow:
    """Return the flow from rows to cases."""
    rows = member.get("rows")
    counts = member.get("without_score")
    unlabelled = member.get("without_label")

    return Flow(
        rows=rows.whole() if rows.is_there else None,
        without_score=counts.members(_Member.whole) if counts.is_there else None,
        without_label=unlabelled.whole() if unlabelled.is_there else None,
    )


def _read_privacy(member: _Member) -> Privacy:
    """Return the privacy of the bins."""
    return Privacy(
        at_least=member.get("at_least").whole(1, 1_000_000),
        hidden=member.get("hidden").each(_Member.number),
        exposed=member.get("exposed").each(_Member.number),
        pooled=member.get("pooled").members(lambda names: names.each(_Member.text)),
    )


def _read_provenance(member: _Member) -> Provenance:
    """Return the origin of the counts."""
    return Provenance(
        software=member.get("software").text_or_empty(200),
        date=member.get("date").text_or_empty(40),
        source=member.get("source").text_or_empty(),
        digest=member.get("digest").text_or_empty(200),
    )


def _read_measurement(member: _Member) -> Measurement:
    """Return a number with its interval and bounds."""
    threshold = member.get("threshold")
    bounds = member.get("bounds")

    return Measurement(
        measure=member.get("measure").text(100),
        threshold=threshold.number() if threshold.is_there else None,
        column=member.get("column").text_or_empty(),
        group=member.get("group").text_or_empty(),
        value=member.get("value").number_or_none(),
        low=member.get("low").number_or_none(),
        high=member.get("high").number_or_none(),
        method=member.get("method").text(100),
        bounds=bounds.pair(_Member.number_or_none) if bounds.is_there else None,
    )


def _read_table(member: _Member) -> CrossTable:
    """Return a 2x2 table; a cell is a number, or two bounds."""
    cells = {}
    for name in CELLS:
        cell = member.get(name)
        if isinstance(cell.content, list):
            cells[name] = cell.pair(_read_entry)
        else:
            number = _read_entry(cell)
            cells[name] = (number, number)

    return CrossTable(
        threshold=member.get("threshold").number(),
        column=member.get("column").text_or_empty(),
        group=member.get("group").text_or_empty(),
        cells=cells,
    )


def _read_claim(member: _Member) -> StatedClaim:
    """Return a claim with its verdicts."""
    return StatedClaim(
        claim=member.get("claim").text(300),
        verdicts=member.get("verdicts").each(_read_verdict),
    )


def _read_verdict(member: _Member) -> StatedVerdict:
    """Return the verdict on a claim in one group."""
    return StatedVerdict(
        group=member.get("group").text_or_empty(),
        verdict=member.get("verdict").choice((HOLDS, FAILS, OPEN)),
        value=member.get("value").number_or_none(),
        low=member.get("low").number_or_none(),
        high=member.get("high").number_or_none(),
        bound=member.get("bound").number_or_none(),
    )


def _read_evidence(
    member: _Member,
) -> tuple[Tally | Attempts, dict[str, dict[str, Tally]]]:
    """Return the counts of all cases, and those of groups by column."""
    attempts = member.get("attempts")
    if attempts.is_there:
        return _read_attempts(attempts), {}

    counts = member.get("counts")
    design = _read_design(counts.get("design"))
    groups = member.get("groups")
    by_column = {}

    if groups.is_there:
        by_column = groups.members(
            lambda column: column.members(lambda group: _read_tally(group, design))
        )

    return _read_tally(counts, design), by_column


def _read_design(member: _Member) -> dict[str, Any]:
    """Return the arguments of a sampling design."""
    if not member.is_there:
        return {}

    design: dict[str, Any] = {}
    for word in ("sampling", "unlabelled"):
        if member.get(word).is_there:
            design[word] = member.get(word).text(40)

    if member.get("prevalence").is_there:
        design["prevalence"] = member.get("prevalence").number()

    return design


def _read_tally(member: _Member, design: dict[str, Any]) -> Tally:
    """Return the counts of one classifier, from columns of equal length."""
    columns = member.get("columns")
    lists = columns.members(lambda column: column.each(_read_entry))
    if not are_counts(lists):
        raise columns.error("the columns score, neg, pos and unknown")

    lengths = {len(values) for values in lists.values()}
    if len(lengths) != 1 or lengths == {0}:
        raise columns.error("columns with the same number of entries")

    arrays = {name: np.array(values) for name, values in lists.items()}
    tally = tally_of_columns(arrays, {})
    return tally.with_design(**design)


def _read_entry(member: _Member) -> float | int:
    """Return an entry of a column; a whole number stays an integer."""
    number = member.number()
    content = member.content
    return content if isinstance(content, int) and abs(content) < 2**53 else number


def _read_attempts(member: _Member) -> Attempts:
    """Return attempts at items, which are numbered and not named."""
    passed = member.get("passed").each(_Member.whole)
    tried = member.get("tried").each(lambda number: number.whole(1))
    items = member.get("items").each(lambda number: number.whole(1))
    lengths = {len(passed), len(tried), len(items)}

    cluster_of_row = None
    if member.get("cluster").is_there:
        cluster_of_row = member.get("cluster").each(_Member.whole)
        lengths.add(len(cluster_of_row))

    if len(lengths) > 1 or lengths == {0}:
        raise member.error("columns with the same number of entries")

    number = sum(items)
    if number > _MOST_ITEMS:
        raise member.error(f"at most {_MOST_ITEMS:,} items")

    width = len(str(number))
    names = [f"item {place:0{width}}" for place in range(number)]

    # a row stands for several items with the same attempts and passes
    cluster = None
    if cluster_of_row is not None:
        cluster = np.repeat(np.array(cluster_of_row).astype(str), items)

    return Attempts(
        item=np.array(names, object),
        passed=np.repeat(passed, items),
        tried=np.repeat(tried, items),
        cluster=cluster,
        missing=member.get("missing").whole(),
    )
