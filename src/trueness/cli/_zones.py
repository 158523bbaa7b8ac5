"""Two cuts, a cut for each group, several classifiers: on the command line."""

from __future__ import annotations

from typing import Any

from trueness._core.doors import door
from trueness.cli._columns import Request
from trueness.cli._shell import table
from trueness.cli._words import noted
from trueness.counts.values import Panel, Tally
from trueness.threshold.decisions import best_decision
from trueness.threshold.gap_prices import gap_price
from trueness.threshold.group_cuts import group_thresholds
from trueness.threshold.sentences import (
    GROUP_HEAD,
    decision_sentences,
    group_rows,
    group_sentences,
    guaranteed_zone_sentence,
    zone_check,
    zone_rows,
    zone_sentences,
)
from trueness.threshold.zone_validation import (
    guaranteed_thresholds,
    validate_thresholds,
)
from trueness.threshold.zones import best_thresholds

_HEAD = ["cases", "positive", "negative"]


def two_cuts(
    given: dict[str, Any], request: Request, validate: bool, t: Tally
) -> tuple[dict[str, Any], list[Any], Any]:
    """Find two cuts: the parts of the answer that differ, its words, its figure."""
    z = best_thresholds(t, **given)
    checked = None
    if validate:
        checked = validate_thresholds(t, **given, level=request.level, rng=request.seed)
    parts: list[Any] = [*zone_sentences(z), table(_HEAD, zone_rows(z))]
    if checked is not None:
        parts += [
            zone_check(checked),
            table(["metric", "value"], [[n, v] for n, v in checked.metrics.items()]),
            "'above' is about the cases called positive, 'below' about those called "
            "negative.",
        ]
    result = {
        "objective": z.objective,
        "value": z.value,
        "constraints": z.constraints,
        "prevalence": z.prevalence,
        "method": "pair of thresholds, exact",
        "notes": z.notes,
        "zones": z.to_dict() | {"validation": checked and checked.to_dict()},
    }
    return result, parts, lambda: door("plots").zones(t, z)


def two_promised_cuts(
    bounds: list[str], confidence: float, prevalence: Any, request: Request, t: Tally
) -> tuple[dict[str, Any], list[Any], Any]:
    """Find two cuts with a guarantee."""
    z = guaranteed_thresholds(
        t, bounds, confidence=confidence, prevalence=prevalence, rng=request.seed
    )
    words = [guaranteed_zone_sentence(z), table(_HEAD, zone_rows(z))]
    result = {
        "constraints": {p.constraint: p.value for p in z.proofs},
        "prevalence": t.prevalence,
        "method": "guaranteed pair of thresholds",
        "notes": z.notes,
        "zones": z.to_dict(),
        "guarantee": {"confidence": z.confidence, "proofs": z.proofs},
    }
    return result, words, lambda: door("plots").zones(t, z)


def cuts_of_groups(
    groups: dict[str, Tally],
    wanted: dict[str, Any],
    bounds: list[str],
    request: Request,
) -> tuple[dict[str, Any], list[Any], Any]:
    """Find a cut for each group under limits on their differences."""
    g = group_thresholds(
        groups, **wanted, subject_to=bounds, level=request.level, rng=request.seed
    )
    result = {
        "objective": g.objective,
        "value": g.value,
        "constraints": g.constraints,
        "method": "a threshold for each group, "
        + ("proved optimal" if g.proved else "best found within the time limit"),
        "notes": g.notes,
        "group_cuts": g.to_dict(),
    }
    limit = next(iter(g.gaps), None)

    def chart() -> Any:
        others = [b for b in bounds if not b.strip().startswith(str(limit))]
        return door("plots").gap_price(
            gap_price(groups, str(limit), **wanted, subject_to=others)
        )

    rows = table(list(GROUP_HEAD), group_rows(g))
    first, *rest = group_sentences(g)
    return result, [first, rows, *rest, *noted(g.notes)], chart


def point_numbers(point: Any, found: dict[str, Any]) -> dict[str, Any]:
    """Give the numbers of a chosen threshold as ``--json`` writes them."""
    same = (
        *("threshold", "interval", "objective", "value", "constraints", "binding"),
        *("intervals", "confusion", "prevalence", "method", "notes"),
    )
    values = {name: e.value for name, e in found.items()}
    found = {"metrics": values, "estimates": found}
    return {name: getattr(point, name) for name in same} | found


def among_several(
    p: Panel, given: dict[str, Any], mixture: bool, request: Request
) -> tuple[dict[str, Any], list[Any], Any]:
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
    parts = [*decision_sentences(d), table(["score", "at its best", "chosen"], rows)]
    return result, parts, lambda: door("plots").best_decision(d)
