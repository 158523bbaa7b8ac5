"""Two cuts, or a cut for each group, on the command line."""

from __future__ import annotations

import re
from typing import Any

from trueness._core.doors import door
from trueness._core.numbers import written
from trueness.cli._columns import Request
from trueness.cli._shell import table
from trueness.counts.values import Tally
from trueness.threshold.group_cuts import GroupThresholds, gap_price, group_thresholds
from trueness.threshold.zone_validation import (
    GuaranteedZones,
    guaranteed_thresholds,
    validate_thresholds,
)
from trueness.threshold.zones import Zones, best_thresholds

_TWO = re.compile(r"\bdefer(red)?\b|\s(above|below)\s*[<>]")
_GROUPS = re.compile(r"_(gap|ratio|min|max)\s*[<>]")


def amount(value: float) -> str:
    """Write money with its thousands, shares with four digits."""
    return f"{value:,.0f}" if abs(value) >= 1e4 else written(value)


def asks_for_two_cuts(words: list[str | None]) -> bool:
    """Do objective or constraints speak of deferred cases, or of one side?"""
    return any(_TWO.search(w) for w in words if w)


def asks_for_groups(bounds: list[str]) -> bool:
    """Does a constraint speak of differences between groups?"""
    return any(_GROUPS.search(b) for b in bounds)


def two_cuts(
    given: dict[str, Any], request: Request, validate: bool, t: Tally
) -> tuple[dict[str, Any], list[Any], Any]:
    """Find two cuts: the parts of the answer that differ, its words, its figure."""
    z = best_thresholds(t, **given)
    checked = None
    if validate:
        checked = validate_thresholds(t, **given, level=request.level, rng=request.seed)
    parts: list[Any] = [*_zone_sentences(z), _zone_table(z)]
    if checked is not None:
        e = checked.corrected
        parts += [
            f"On new cases expect {e.value:.4g} ({100 * e.level:g}% {e.low:.4g} to "
            f"{e.high:.4g}) in place of {z.value:.4g}, because the cuts were tuned on "
            f"the same data.",
            table(["metric", "value"], [[n, v] for n, v in checked.metrics.items()]),
        ]
    result = {
        "objective": z.objective,
        "value": z.value,
        "constraints": z.constraints,
        "prevalence": z.prevalence,
        "method": "pairs of cuts, exact",
        "notes": z.notes,
        "zones": z.to_dict() | {"validation": checked and checked.to_dict()},
    }
    return result, parts, lambda: door("plots").zones(t, z)


def _zone_sentences(z: Zones) -> list[str]:
    lines = [
        f"Say no below {z.lower:.6g} and yes from {z.upper:.6g} on; between them, for "
        f"{100 * z.defer:.3g}% of the cases, a person should look."
        if z.defer
        else f"One cut is enough: say yes from {z.upper:.6g} on.",
        f"There {z.objective.partition(' ')[2]} is {amount(z.value)}; "
        + (
            f"with the best single cut it is {amount(z.single)}."
            if z.single == z.single
            else "no single cut meets the constraints."
        ),
    ]
    more = len(z.pairs) - 1
    return [*lines, f"{more:,} other pairs of cuts are as good."] if more else lines


def _zone_table(z: Zones | GuaranteedZones) -> Any:
    c, rows = z.confusion, []
    if isinstance(z, Zones):
        rows = [["doubt", z.deferred_pos, z.deferred_neg]]
    rows = [["yes", int(c.tp), int(c.fp)], *rows, ["no", int(c.fn), int(c.tn)]]
    return table(["cases of the file", "positive", "negative"], rows)


def two_promised_cuts(
    bounds: list[str], confidence: float, prevalence: Any, request: Request, t: Tally
) -> tuple[dict[str, Any], list[Any], Any]:
    """Find two cuts with a guarantee."""
    z = guaranteed_thresholds(
        t, bounds, confidence=confidence, prevalence=prevalence, rng=request.seed
    )
    words = [
        f"Say no below {z.lower:.6g} and yes from {z.upper:.6g} on. With a confidence "
        f"of {z.confidence:g} the population then has {z.constraint}. Between the cuts "
        f"lie {100 * z.defer:.3g}% of the cases.",
        _zone_table(z),
    ]
    result = {
        "constraints": {p.constraint: p.value for p in z.proofs},
        "prevalence": t.prevalence,
        "method": "guaranteed pair of cuts",
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
        "method": "a cut for each group, "
        + ("proved optimal" if g.proved else "best found in the time"),
        "notes": g.notes,
        "group_cuts": g.to_dict(),
    }
    limit = next(iter(g.gaps), None)

    def chart() -> Any:
        others = [b for b in bounds if not b.strip().startswith(str(limit))]
        return door("plots").gap_price(
            gap_price(groups, str(limit), **wanted, subject_to=others)
        )

    return result, _group_parts(g), chart


def _group_parts(g: GroupThresholds) -> list[Any]:
    rows = []
    for name, at in g.thresholds.items():
        c = g.confusions[name]
        found, flagged = int(c.tp), int(c.tp + c.fp)
        recall = found / max(int(c.tp + c.fn), 1)
        rows.append([name, at, flagged, recall, found / flagged if flagged else None])
    what = g.objective.partition(" ")[2]
    proof = (
        "no other choice of cuts is better"
        if g.proved
        else f"no choice of cuts is better than {g.bound:.6g}"
    )
    differ = ", ".join(f"{k} {v:.4g}" for k, v in g.common_gaps.items())
    return [
        f"With these cuts {what} is {amount(g.value)}; {proof}.",
        table(["group", "threshold", "flagged", "recall", "precision"], rows),
        *(f"{name}: {e}" for name, e in g.gaps.items()),
        f"One cut for all, {g.common_threshold:.6g}, would give {g.common_value:.4g}"
        + (f" with {differ}." if differ else "."),
        *g.notes,
    ]
