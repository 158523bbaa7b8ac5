"""Declare how good a classifier is, with counts from which anyone can check it."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from functools import reduce
from operator import add
from pathlib import Path
from typing import Any

from trueness import __version__
from trueness._core.checks import options as _options
from trueness._core.checks.cases import both_classes
from trueness._core.checks.errors import InputError
from trueness._core.checks.words import described, listing
from trueness._core.times import build_day
from trueness.counts.answers import of_counts
from trueness.counts.design import LEFT_OUT
from trueness.counts.values import Panel, Tally
from trueness.declarations.claims import judge_claims, read_claims
from trueness.declarations.json_format import (
    MOST_GROUPS,
    MOST_THRESHOLDS,
    declaration_from_json,
    declaration_to_json,
)
from trueness.declarations.measurements import (
    Measurement,
    cross_tables,
    measure_counts,
    shown_number,
)
from trueness.declarations.private_bins import PrivateCounts, private_counts
from trueness.declarations.reading import read_declaration
from trueness.declarations.records import (
    STATEMENTS,
    Declaration,
    Flow,
    Privacy,
    Provenance,
)
from trueness.evals.attempts import Attempts

# a block of a file whose digest is computed
_BLOCK = 1 << 20


@of_counts
def declare(
    data: Any,
    path: str | os.PathLike[str] | None = None,
    *,
    at: float | Sequence[float] = (),
    claims: str | Iterable[str] = (),
    statements: Mapping[str, str] | None = None,
    groups: Mapping[str, Mapping[Any, Tally]] | None = None,
    private: int = 5,
    exact_table: bool = False,
    edges: Any = None,
    agreement: bool = False,
    title: str = "Declaration of performance",
    source: str | os.PathLike[str] | None = None,
    without_score: Mapping[str, int] | None = None,
    level: float = 0.95,
) -> Declaration:
    """Declaration of performance: numbers and claims with the counts that prove them.

    Can a number be believed without the data? Every number here follows from counts
    that are published with it, in bins that hide single cases. :func:`verify` checks
    it, and so does the page itself in a browser.

    Parameters
    ----------
    data
        A tally, labels and scores, or a frame; a mapping from group to tally; or
        attempts at items.
    path
        Where to write it: a page (.html), its data (.json) or Markdown (.md).
    at
        Thresholds in use. Each is an edge of a bin, so that its 2x2 table is exact.
    claims
        Sentences such as ``"recall >= 0.9 at 0.3"``, ``"auc >= 0.8 in every site"`` or
        ``"recall >= 0.8 at 0.3 at the next site"``, in the grammar of :func:`check`.
    statements
        What only the author can say: ``intended_use``, ``population``, ``dates``,
        ``reference_standard``, ``threshold_choice``, ``unit`` and ``left_out``.
    groups
        A mapping from the name of a column to its tallies by group.
    private
        The smallest number of cases of each class in a bin (k). 1 publishes exact
        counts.
    exact_table
        Publish the 2x2 table at each threshold even where a cell is smaller.
    edges
        The only scores at which bins may begin. With another declaration here, the
        counts of both can be added without loss.
    agreement
        The comparator is not a reference standard: positive and negative per cent
        agreement in place of sensitivity and specificity (FDA 2007).
    title, source
        A title, and the file of the predictions, whose SHA-256 is declared.
    without_score
        How many rows had no score, by label: ``{"neg": 3, "pos": 1, "unknown": 0}``.
    level
        Confidence level of the intervals, and of all claims jointly.

    Notes
    -----
    Verification shows that numbers and claims follow from the counts. It does not show
    that the counts are true. Bins are not differential privacy: anyone who knows all
    cases of a bin but one learns that case.

    Examples
    --------
    >>> import trueness
    >>> t = trueness.Tally([0.9, 0.1], neg=[10, 190], pos=[99, 6])
    >>> d = trueness.declare(t, at=0.5, claims="recall >= 0.85 at 0.5")
    >>> d
    Declaration: Declaration of performance (11 numbers)
      holds            recall >= 0.85 at 0.5
    >>> trueness.verify(d).verdict
    'follows'
    """
    counts, by_column = _counts_and_groups(data, groups)
    at_least = _options.whole_number(private, "private", at_least=1)
    requirements = read_claims(claims)
    thresholds = _read_thresholds(at, requirements)

    # the flow from rows to cases also has the rows that are left out here
    counts_of_all_rows = counts

    if at_least > 1:
        counts, by_column = _without_unlabelled(counts, by_column)

    published = _publish(counts, by_column, at_least, thresholds, exact_table, edges)
    tallies = {
        column: groups_of_column.tallies
        for column, groups_of_column in published.groups.items()
        if groups_of_column.tallies
    }
    pooled = {
        column: groups_of_column.pooled
        for column, groups_of_column in published.groups.items()
        if groups_of_column.pooled
    }

    stated = Declaration(
        title=str(title),
        statements=_statements(statements),
        agreement=_options.yes_or_no(agreement, "agreement"),
        counts=published.whole,
        groups=tallies,
        thresholds=thresholds,
        level=_options.fraction(level, "level"),
        flow=_flow(counts_of_all_rows, counts, without_score, at_least),
        privacy=Privacy(at_least, published.hidden, published.exposed, pooled),
        provenance=_provenance(source),
        measured=(),
        tables=tuple(cross_tables(published.whole, tallies, thresholds)),
        claims=(),
    )
    stated = replace(
        stated,
        measured=_measurements(stated, counts, by_column),
        claims=judge_claims(stated, [text for text, _ in requirements]),
    )

    # return the declaration as a reader of the file reads it, to the last digit
    published_declaration = declaration_from_json(declaration_to_json(stated))

    if path is not None:
        published_declaration.write(path)

    return published_declaration


def _counts_and_groups(
    data: Any, groups: Mapping[str, Mapping[Any, Tally]] | None
) -> tuple[Any, dict[str, dict[str, Tally]]]:
    """Return all cases, and the cases of each group by column."""
    by_column = {
        str(column): {str(name): tally for name, tally in tallies.items()}
        for column, tallies in (groups or {}).items()
    }
    if isinstance(data, Mapping):
        by_column["group"] = {str(name): tally for name, tally in data.items()}
        data = reduce(add, data.values())

    if isinstance(data, Panel):
        raise InputError(
            f"A declaration is about one classifier; found {listing(data.names)}. "
            "Choose one of them.",
            option="score",
            choices=data.names,
        )

    if not isinstance(data, (Tally, Attempts)):
        raise InputError(
            f"declare needs labels and scores, or counts; found {described(data)}."
        )

    for column, tallies in by_column.items():
        if len(tallies) > MOST_GROUPS:
            raise InputError(
                f"A declaration has at most {MOST_GROUPS} groups of a column; "
                f"{column!r} has {len(tallies):,}.",
                option="groups",
            )

    return data, by_column


def _read_thresholds(
    at: float | Sequence[float], requirements: Sequence[tuple[str, Any]]
) -> tuple[float, ...]:
    """Return the thresholds, each once, those of the claims included."""
    several = at if isinstance(at, Iterable) else [at]
    cuts = [_options.real_number(cut, "at") for cut in several]
    for _, requirement in requirements:
        if requirement.threshold is not None:
            cuts.append(requirement.threshold)
    distinct_cuts = tuple(dict.fromkeys(cuts))

    if len(distinct_cuts) > MOST_THRESHOLDS:
        raise InputError(
            f"A declaration has at most {MOST_THRESHOLDS} thresholds; found "
            f"{len(distinct_cuts)}.",
            option="at",
        )

    return distinct_cuts


def _statements(statements: Mapping[str, str] | None) -> dict[str, str]:
    """Return the statements of the author, in the order of ``STATEMENTS``."""
    texts = {str(name): str(text) for name, text in (statements or {}).items()}
    for name in texts:
        if name not in STATEMENTS:
            raise InputError(
                f"The statements of an author are {listing(STATEMENTS, 10)}; "
                f"found {name!r}.",
                option="statements",
                choices=tuple(STATEMENTS),
            )

    return {name: texts[name] for name in STATEMENTS if texts.get(name)}


def _publish(
    counts: Any,
    groups: Mapping[str, Mapping[str, Tally]],
    at_least: int,
    thresholds: Sequence[float],
    exact_table: bool,
    edges: Any,
) -> PrivateCounts:
    """Return the counts that are published."""
    if isinstance(counts, Attempts):
        # items of an evaluation are not persons: their counts are published as they are
        return PrivateCounts(counts, {})  # type: ignore[arg-type]

    both_classes(counts, "declare")

    return private_counts(
        counts,
        groups,
        at_least=at_least,
        thresholds=thresholds,
        exact_table=exact_table,
        edges=_read_edges(edges),
    )


def _read_edges(edges: Any) -> list[float] | None:
    """Return where bins may begin: scores, or the edges of another declaration."""
    if edges is None:
        return None

    if isinstance(edges, (str, os.PathLike, Declaration)):
        other = read_declaration(edges).counts
        if isinstance(other, Attempts):
            raise InputError("A declaration of attempts has no edges.", option="edges")
        return [float(score) for score in other.score]

    return [_options.real_number(edge, "edges") for edge in edges]


def _measurements(
    stated: Declaration, counts: Any, groups: Mapping[str, Mapping[str, Tally]]
) -> tuple[Measurement, ...]:
    """Return the numbers of the published counts.

    A value that bins do not determine is that of the original rows.
    """
    of_published_counts = measure_counts(
        stated.counts,
        stated.groups,
        thresholds=stated.thresholds,
        level=stated.level,
        agreement=stated.agreement,
    )
    value_of_rows = {
        measurement.key: measurement.value
        for measurement in measure_counts(
            counts, groups, thresholds=(), level=stated.level
        )
    }

    measurements = []
    for measurement in of_published_counts:
        value = value_of_rows.get(measurement.key, measurement.value)
        if measurement.bounds is not None and measurement.threshold is None:
            # rounding must not move the value beyond a bound
            low = shown_number(measurement.bounds[0])
            high = shown_number(measurement.bounds[1])
            value = min(max(shown_number(value), low), high)
            measurement = replace(measurement, value=value)
        measurements.append(measurement)

    return tuple(measurements)


def _without_unlabelled(
    counts: Any, groups: dict[str, dict[str, Tally]]
) -> tuple[Any, dict[str, dict[str, Tally]]]:
    """Return the labelled cases: a few unlabelled ones would force bins to merge.

    No number depends on unlabelled cases where the design leaves them out. The flow
    says how many there are.
    """
    if not isinstance(counts, Tally) or counts.design.unlabelled != LEFT_OUT:
        return counts, groups

    labelled = {
        column: {name: tally.labelled() for name, tally in tallies.items()}
        for column, tallies in groups.items()
    }
    return counts.labelled(), labelled


def _flow(
    rows: Any, counts: Any, without_score: Mapping[str, int] | None, at_least: int
) -> Flow:
    """Return the flow from rows to cases; small numbers left out are not published."""
    if isinstance(counts, Attempts):
        return Flow(len(counts))

    missing = _publishable_missing(without_score or {}, at_least)
    unlabelled: int | None = round(rows.n) - round(counts.n)
    if unlabelled and unlabelled < at_least:
        unlabelled = None
    if counts.weighted or missing is None or unlabelled is None:
        # with weights the number of rows is unknown
        return Flow(None, missing, unlabelled)

    all_rows = round(counts.n) + sum(missing.values()) + unlabelled
    return Flow(all_rows, missing, unlabelled)


def _publishable_missing(
    without_score: Mapping[str, int], at_least: int
) -> dict[str, int] | None:
    """Return rows without a score: by label, or in all; None if there are too few."""
    missing = {name: int(n) for name, n in without_score.items() if n}
    if not missing or min(missing.values()) >= at_least:
        return missing
    total = sum(missing.values())
    return {"any": total} if total >= at_least else None


def _provenance(source: str | os.PathLike[str] | None) -> Provenance:
    """Return the software, the day, and the file with its digest."""
    software = f"trueness {__version__}"
    if source is None:
        return Provenance(software, build_day())
    place = Path(os.fsdecode(source))
    digest = file_digest(place) if place.is_file() else ""
    return Provenance(software, build_day(), place.name, digest)


def file_digest(place: Path) -> str:
    """Return the SHA-256 of a file."""
    digest = hashlib.sha256()
    with place.open("rb") as file:
        while block := file.read(_BLOCK):
            digest.update(block)
    return f"sha256:{digest.hexdigest()}"
