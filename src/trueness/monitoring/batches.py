"""Which cases does a batch bring, and which of them are new?

A batch that has a name is counted once. When it comes again, only labels that were
unknown before are new.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from typing import Any, TypeVar

import numpy as np

from trueness._core.arrays import Floats, Ints
from trueness._core.checks.errors import InputError
from trueness.counts.answers import refuse
from trueness.counts.values import Panel, Tally
from trueness.data.frames import panel, tally

T = TypeVar("T", Tally, Panel)
_LONG = 20  # distinct outputs from which on two batches are not equal by chance


def counted(
    batch: tuple[Any, ...],
    columns: Mapping[str, Any],
    *,
    judges: list[str],
    scores_only: bool,
) -> Tally | Panel:
    """Count a batch: a tally, or for a rate from judges a panel of their verdicts."""
    found: Any = batch[0] if len(batch) == 1 else None
    count: Any = panel if judges else tally
    counts = isinstance(found, Mapping) and any(
        isinstance(part, Tally | Panel) for part in found.values()
    )
    if judges:
        if not isinstance(found, Panel) and not counts:
            named = {"scores": judges} if len(batch) == 1 else {}
            found = count(*batch, **named, **columns)
    elif not isinstance(found, Tally) and not counts:
        plain = isinstance(found, list) or getattr(found, "ndim", 0) == 1
        given = (None, found) if scores_only and plain else batch
        found = count(*given, **columns)
    refuse(found, "watch")
    if not isinstance(found, Panel if judges else Tally):
        raise InputError(
            "A batch of this watch has no groups; found some. To watch each group, "
            'begin a watch with by="site".'
        )
    if isinstance(found, Tally):
        return found
    gone = [j for j in judges if j not in found.names]
    if gone:
        raise InputError(
            f"This watch needs the verdicts of {', '.join(judges)}; the batch has no "
            f"{gone[0]!r}."
        )
    return found[judges]


def grouped(
    batch: tuple[Any, ...], columns: Mapping[str, Any], *, by: str, judges: list[str]
) -> Mapping[Any, Any]:
    """Count a batch in each group."""
    if len(batch) == 1 and isinstance(batch[0], Mapping):
        return batch[0]
    given = {"by": by, **columns}
    if judges and len(batch) == 1:
        given["scores"] = judges
    count: Any = panel if judges else tally
    whole = len(batch) == 1 and isinstance(batch[0], Tally | Panel)
    found = None if whole else count(*batch, **given)
    if not isinstance(found, Mapping):
        raise InputError(
            f"This watch is by {by!r}: a batch is a mapping from group to tally, or a "
            f"frame with that column."
        )
    return found


def is_batch(batch: tuple[Any, ...]) -> None:
    """Stop at what no batch is made of."""
    if len(batch) not in (1, 2):
        raise InputError(
            f"update takes one batch; found {len(batch)} arguments. Type "
            'w.update(y_true, y_score), w.update(frame, label="y", score="p") or '
            "w.update(tally)."
        )


def new_cases(seen: Mapping[str, Any], x: Any, name: str) -> Any:
    """Give the cases that got their label since a batch was counted; None if none."""
    if seen["mark"] == fingerprint(x):
        return None
    if seen["counts"] is None:
        raise InputError(
            f"Batch {name!r} was counted before, with other cases. Give it another "
            f"name if it is new."
        )
    before = unpacked(seen["counts"], x)
    if np.array_equal(outputs(before), outputs(x), equal_nan=True):
        neg, pos = x.neg - before.neg, x.pos - before.pos
        gone = before.unknown - x.unknown
        if (neg >= 0).all() and (pos >= 0).all() and (neg + pos == gone).all():
            return _like(x, neg, pos)
    raise InputError(
        f"Batch {name!r} was counted before, with other cases or other labels. Only "
        f"labels that were unknown may be added; give a new batch a new name."
    )


def remembered(x: Tally | Panel) -> dict[str, Any]:
    """Give what is kept of a batch, for when it comes twice."""
    held = packed(x) if x.n_unknown else None
    return {"mark": fingerprint(x), "counts": held}


def same_cases(batches: Mapping[str, Any], x: Tally | Panel) -> str | None:
    """Name the batch that had exactly these cases, if chance can hardly explain it."""
    if len(outputs(x)) < _LONG:
        return None
    mark = fingerprint(x)
    return next((name for name, held in batches.items() if held["mark"] == mark), None)


def fingerprint(x: Tally | Panel) -> str:
    """Give a mark that only equal counts share."""
    mark = hashlib.sha256()
    for part in (outputs(x), x.neg, x.pos, x.unknown):
        mark.update(np.ascontiguousarray(part).tobytes())
    return mark.hexdigest()


def outputs(x: Tally | Panel) -> Floats:
    """Give the scores, or the rows of verdicts."""
    return x.score if isinstance(x, Tally) else x.rows


def _like(x: T, neg: Ints, pos: Ints) -> T:
    if isinstance(x, Panel):
        return Panel(x.names, x.rows, neg, pos)
    return Tally(x.score, neg, pos)


def packed(x: Tally | Panel) -> dict[str, list[Any]]:
    """Give a tally or a panel as JSON holds it."""
    if isinstance(x, Tally):
        held: dict[str, list[Any]] = {"score": x.score.tolist()}
    else:
        held = {"rows": [packed_row(row) for row in x.rows]}
    return held | {k: getattr(x, k).tolist() for k in ("neg", "pos", "unknown")}


def packed_row(row: Floats) -> list[float | None]:
    """Give a row of verdicts as JSON holds it, which has no NaN."""
    return [None if np.isnan(v) else float(v) for v in row]


def unpacked(held: Mapping[str, list[Any]], x: T) -> T:
    """Give what JSON held: a tally, or a panel of the same classifiers as ``x``."""
    counts = (held[k] for k in ("neg", "pos", "unknown"))
    if isinstance(x, Panel):
        rows = np.array(held["rows"], np.float64).reshape(-1, len(x.names))
        return Panel(x.names, rows, *counts)
    return Tally(held["score"], *counts)
