"""What does a batch hold, and which of its cases are new?

A batch that has a name is counted once; when it comes again, only labels that were
unknown before are new.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from typing import Any, TypeVar

import numpy as np

from trueness._core.arrays import Floats
from trueness._core.checks.errors import InputError
from trueness.counts.answers import refuse
from trueness.counts.values import Panel, Tally
from trueness.data.frames import panel, tally
from trueness.monitoring.states import WatchQuestion

Counts = TypeVar("Counts", Tally, Panel)


def count_batch(
    question: WatchQuestion,
    batch: tuple[Any, ...],
    columns: Mapping[str, Any],
    *,
    scores_only: bool,
) -> Any:
    """Return the counts of a batch: a tally, a panel of verdicts, or one per group."""
    counts: Any = batch[0] if len(batch) == 1 else None
    if not _is_counted(counts):
        counts = _count_cases(question, batch, columns, scores_only=scores_only)

    _check_groups(counts, question["by"])
    if question["by"] is not None:
        return counts

    refuse(counts, "watch")
    return _counts_of_judges(counts, question["judges"])


def _is_counted(batch: object) -> bool:
    """Return whether a batch is a tally, a panel, or a mapping from group to these."""
    if isinstance(batch, Mapping):
        return any(isinstance(part, Tally | Panel) for part in batch.values())
    return isinstance(batch, Tally | Panel)


def _count_cases(
    question: WatchQuestion,
    batch: tuple[Any, ...],
    columns: Mapping[str, Any],
    *,
    scores_only: bool,
) -> Any:
    """Return the counts of labels and scores, or of the rows of a frame."""
    options: dict[str, Any] = {}
    if question["by"] is not None:
        options["by"] = question["by"]

    judges = question["judges"]
    if judges and len(batch) == 1:
        options["scores"] = judges

    # columns that are named with this batch override the others
    options |= columns

    if scores_only and len(batch) == 1 and _is_column(batch[0]):
        # scores without labels
        batch = (None, batch[0])

    if judges:
        return panel(*batch, **options)
    return tally(*batch, **options)


def _is_column(batch: object) -> bool:
    """Return whether a batch is one column of numbers, and not a frame."""
    return isinstance(batch, list) or getattr(batch, "ndim", 0) == 1


def _check_groups(
    counts: Tally | Panel | Mapping[Any, Tally | Panel], by: str | None
) -> None:
    """Raise an error for groups without a watch by groups, or the reverse."""
    has_groups = isinstance(counts, Mapping)
    if has_groups and by is None:
        raise InputError(
            "This watch has no groups, but the batch does. Begin another watch for "
            "groups.",
            option="by",
            example="COLUMN",
        )

    if by is not None and not has_groups:
        raise InputError(
            f"This watch is by {by!r}: a batch is a mapping from group to tally, or a "
            "frame with that column.",
            option="by",
        )


def _counts_of_judges(counts: Tally | Panel, judges: list[str]) -> Tally | Panel:
    """Return the panel of the judges; the tally itself for a watch without judges."""
    if not judges:
        if not isinstance(counts, Tally):
            raise InputError("A batch of this watch has labels and one score.")
        return counts

    names = counts.names if isinstance(counts, Panel) else ()
    missing = [judge for judge in judges if judge not in names]
    if missing or not isinstance(counts, Panel):
        raise InputError(
            f"This watch needs the verdicts of {', '.join(judges)}; the batch has no "
            f"{missing[0]!r}."
        )

    return counts[judges]


def new_cases(counted: Mapping[str, Any], counts: Counts, name: str) -> Counts | None:
    """Return the cases labelled since the batch of this name was counted, if any.

    ``counted`` is the record of that batch.
    """
    if counted["mark"] == fingerprint(counts):
        return None

    if counted["counts"] is not None:
        before = unpack_counts(counted["counts"], counts)
        labelled = _newly_labelled(before, counts)
        if labelled is not None:
            return labelled

    raise InputError(
        f"Batch {name!r} was counted before, with different cases or labels. Only "
        "missing labels may be added; name a new batch differently.",
        option="name",
    )


def _newly_labelled(before: Counts, now: Counts) -> Counts | None:
    """Return the newly labelled cases; None if anything else has changed."""
    if not np.array_equal(outputs(before), outputs(now), equal_nan=True):
        return None

    neg = now.neg - before.neg
    pos = now.pos - before.pos
    none_is_gone = (neg >= 0).all() and (pos >= 0).all()
    were_unknown = (neg + pos == before.unknown - now.unknown).all()
    if not none_is_gone or not were_unknown:
        return None
    if isinstance(now, Panel):
        return Panel(now.names, now.rows, neg, pos)
    return Tally(now.score, neg, pos)


def fingerprint(counts: Tally | Panel) -> str:
    """Return a digest that only equal counts have."""
    digest = hashlib.sha256()
    for column in (outputs(counts), counts.neg, counts.pos, counts.unknown):
        digest.update(np.ascontiguousarray(column).tobytes())
    return digest.hexdigest()


def outputs(counts: Tally | Panel) -> Floats:
    """Return the scores of a tally, or the rows of verdicts of a panel."""
    return counts.score if isinstance(counts, Tally) else counts.rows


def pack_counts(counts: Tally | Panel) -> dict[str, list[Any]]:
    """Return a tally or a panel in the form of JSON."""
    if isinstance(counts, Tally):
        packed: dict[str, list[Any]] = {"score": counts.score.tolist()}
    else:
        packed = {"rows": [pack_row(row) for row in counts.rows]}

    packed["neg"] = counts.neg.tolist()
    packed["pos"] = counts.pos.tolist()
    packed["unknown"] = counts.unknown.tolist()

    return packed


def pack_row(row: Floats) -> list[float | None]:
    """Return a row of verdicts in the form of JSON, with None for NaN."""
    return [None if np.isnan(verdict) else float(verdict) for verdict in row]


def unpack_counts(packed: Mapping[str, list[Any]], like: Counts) -> Counts:
    """Return the tally, or the panel with the names of ``like``, from JSON."""
    neg = packed["neg"]
    pos = packed["pos"]
    unknown = packed["unknown"]

    if isinstance(like, Panel):
        rows = np.array(packed["rows"], np.float64).reshape(-1, len(like.names))
        return Panel(like.names, rows, neg, pos, unknown)

    return Tally(packed["score"], neg, pos, unknown)
