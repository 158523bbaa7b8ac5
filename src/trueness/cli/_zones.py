"""Two cuts, a cut for each group, several classifiers: on the command line."""

from __future__ import annotations

from typing import Any, NamedTuple

from trueness._core.doors import door
from trueness.cli._columns import Request
from trueness.cli._fields import CUT, POINT, fields_of
from trueness.cli._shell import table
from trueness.cli._words import noted
from trueness.counts.values import Panel, Tally
from trueness.threshold import sentences
from trueness.threshold.decisions import best_decision
from trueness.threshold.gap_prices import gap_price
from trueness.threshold.group_cuts import group_thresholds
from trueness.threshold.zone_validation import (
    guaranteed_thresholds,
    validate_thresholds,
)
from trueness.threshold.zones import best_thresholds

_HEAD = ["cases", "positive", "negative"]


class Cut(NamedTuple):
    """What was found: for programs, for people, and as a figure."""

    result: dict[str, Any]
    parts: list[Any]
    chart: Any


def every_key(**known: Any) -> dict[str, Any]:
    """Give every key of the answer; null where there is nothing to say."""
    return dict.fromkeys(CUT) | known


def two_cuts(given: dict[str, Any], request: Request, validate: bool, t: Tally) -> Cut:
    """Find two cuts."""
    z = best_thresholds(t, **given)
    checked = None
    if validate:
        checked = validate_thresholds(t, **given, level=request.level, rng=request.seed)
    parts: list[Any] = [
        *sentences.zone_sentences(z),
        table(_HEAD, sentences.zone_rows(z)),
    ]
    if checked is not None:
        parts += [
            sentences.zone_check(checked),
            table(["metric", "value"], [[n, v] for n, v in checked.metrics.items()]),
            "'above' is about the cases called positive, 'below' about those called "
            "negative.",
        ]
    same = ("objective", "value", "constraints", "prevalence", "notes")
    result = every_key(
        **fields_of(z, same),
        method="pair of thresholds, exact",
        zones=z.to_dict() | {"validation": checked and checked.to_dict()},
    )
    return Cut(result, parts, lambda: door("plots").zones(t, z))


def two_promised_cuts(
    bounds: list[str], confidence: float, prevalence: Any, request: Request, t: Tally
) -> Cut:
    """Find two cuts with a guarantee."""
    z = guaranteed_thresholds(
        t, bounds, confidence=confidence, prevalence=prevalence, rng=request.seed
    )
    words = [
        sentences.guaranteed_zone_sentence(z),
        table(_HEAD, sentences.zone_rows(z)),
    ]
    result = every_key(
        constraints={p.constraint: p.value for p in z.proofs},
        prevalence=t.prevalence,
        method="guaranteed pair of thresholds",
        notes=z.notes,
        zones=z.to_dict(),
        guarantee=fields_of(z, ("confidence", "proofs")),
    )
    return Cut(result, words, lambda: door("plots").zones(t, z))


def cuts_of_groups(
    groups: dict[str, Tally],
    wanted: dict[str, Any],
    bounds: list[str],
    request: Request,
) -> Cut:
    """Find a cut for each group under limits on their differences."""
    g = group_thresholds(
        groups, **wanted, subject_to=bounds, level=request.level, rng=request.seed
    )
    how = "proved optimal" if g.proved else "best found within the time limit"
    result = every_key(
        **fields_of(g, ("objective", "value", "constraints", "notes")),
        method=f"a threshold for each group, {how}",
        group_cuts=g.to_dict(),
    )
    limit = next(iter(g.gaps), None)

    def chart() -> Any:
        others = [b for b in bounds if not b.strip().startswith(str(limit))]
        return door("plots").gap_price(
            gap_price(groups, str(limit), **wanted, subject_to=others)
        )

    rows = table(list(sentences.GROUP_HEAD), sentences.group_rows(g))
    first, *rest = sentences.group_sentences(g)
    return Cut(result, [first, rows, *rest, *noted(g.notes)], chart)


def at_cut(confusion: Any, found: dict[str, Any], **more: Any) -> dict[str, Any]:
    """Give counts and metrics at a threshold, and whatever else is known of it."""
    values = {name: e.value for name, e in found.items()}
    return every_key(confusion=confusion, metrics=values, estimates=found, **more)


def point_numbers(point: Any, found: dict[str, Any]) -> dict[str, Any]:
    """Give the numbers of a chosen threshold as ``--json`` writes them."""
    return at_cut(point.confusion, found, **fields_of(point, POINT))


def among_several(
    p: Panel, given: dict[str, Any], mixture: bool, request: Request
) -> Cut:
    """Find the classifier that should decide, and its cut."""
    d = best_decision(
        p, **given, mixture=mixture, level=request.level, rng=request.seed
    )
    point = d.point
    result = point_numbers(point, point.metrics) | {
        "method": "the best of several classifiers",
        "notes": d.notes,
        "decision": d.to_dict(),
    }
    rows = [[k, v, f"{100 * d.chosen[k]:.0f} %"] for k, v in d.values.items()]
    parts = [
        *sentences.decision_sentences(d),
        table(["score", "at its best", "chosen"], rows),
    ]
    return Cut(result, parts, lambda: door("plots").best_decision(d))
