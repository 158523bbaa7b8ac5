"""What is said of two cuts, of cuts for groups, of a range, of several classifiers?

The command line and the report speak with the same sentences.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from trueness._core.numbers import (
    counted,
    cut_text,
    level_text,
    listed,
    percent,
    written,
)
from trueness.metrics.confusion import Confusion
from trueness.metrics.grammar import constraint_text, text_of
from trueness.threshold.decisions import Decision
from trueness.threshold.group_cuts import GroupThresholds
from trueness.threshold.operating_point import OperatingPoint
from trueness.threshold.validation import Validation
from trueness.threshold.zone_validation import GuaranteedZones, ZoneValidation
from trueness.threshold.zones import Zones


def objective_of(text: str) -> str:
    """Give what was maximised or minimised, in words."""
    name = text.partition(" ")[2]
    if name == "youden":
        return "Youden's index (sensitivity + specificity - 1)"
    return text_of(name)


def limiting(p: OperatingPoint) -> list[str]:
    """Say which constraints the choice stops at; nothing where there is none."""
    if not p.binding:
        return []
    many = "s" if len(p.binding) > 1 else ""
    return [
        f"Limiting constraint{many}: {listed(list(map(constraint_text, p.binding)))}."
    ]


def met(v: Validation, below: float = math.inf) -> list[str]:
    """Say how often each constraint was met on new cases, where that was too rare."""
    return [
        f"The constraint {name} was met in {percent(share)} of the bootstrap test "
        "samples."
        for name, share in v.holds.items()
        if share < below
    ]


def zone_sentences(z: Zones) -> list[str]:
    """Say where yes and no end, and what the zone of doubt is worth."""
    lower, upper = _both_cuts(z)
    where = (
        "One threshold is enough: call a case positive when its score is "
        f"{upper} or more."
    )
    if z.defer:
        positive = f"positive when it is {upper} or more"
        if z.upper == float("inf"):
            positive = "none positive"
        where = (
            f"Call a case negative when its score is below {lower}, and "
            f"{positive}; leave the {percent(z.defer)} of the cases in between to a "
            "person."
        )
    single = "no single threshold meets the constraints"
    if z.single == z.single:
        single = f"with the best single threshold it is {written(z.single)}"
    found = f"Then {objective_of(z.objective)} is {written(z.value)}; {single}."
    more = len(z.pairs) - 1
    others = counted(
        more, "other pair of thresholds is", "other pairs of thresholds are"
    )
    return [where, found, *([f"{others} as good."] if more else [])]


def _both_cuts(z: Zones | GuaranteedZones) -> tuple[str, str]:
    return (
        cut_text(z.lower, z.lower_interval, 6),
        cut_text(z.upper, z.upper_interval, 6),
    )


def zone_check(v: ZoneValidation) -> str:
    """Say what to expect of two cuts on new cases."""
    e = v.corrected
    return (
        "The thresholds were tuned on the same data, so the results are optimistic. "
        f"On new cases expect {written(e.value)} ({level_text(e.level)} interval "
        f"{written(e.low)} to {written(e.high)}) instead of {written(v.value)}."
    )


def guaranteed_zone_sentence(z: GuaranteedZones) -> str:
    """Say what two cuts promise, and how many cases lie between them."""
    lower, upper = _both_cuts(z)
    return (
        f"Call a case negative when its score is below {lower}, and positive "
        f"when it is {upper} or more. With {level_text(z.confidence)} "
        f"confidence the population then has {z.constraint}. {percent(z.defer)} of "
        "the cases lie in between."
    )


def zone_rows(z: Zones | GuaranteedZones) -> list[list[Any]]:
    """Count the cases in each zone, or their weight."""
    tp, fp, fn, tn = _numbers(z.confusion)
    rows: list[list[Any]] = [["called positive", tp, fp], ["called negative", fn, tn]]
    if isinstance(z, Zones):
        rows.insert(1, ["left to a person", z.deferred_pos, z.deferred_neg])
    return rows


def _numbers(c: Confusion) -> list[Any]:
    """Give counts as whole numbers, and sums of weights as they are."""
    return [np.asarray(n).item() for n in c.cells]


def group_sentences(g: GroupThresholds) -> list[str]:
    """Say what a cut for each group gives, and what one cut for all would."""
    proof = "no other choice of thresholds is better"
    if not g.proved:
        proof = f"no choice of thresholds is better than {written(g.bound)}"
    what = objective_of(g.objective)
    differ = ", ".join(f"{k} {v:.4g}" for k, v in g.common_gaps.items())
    lines = [f"With a threshold for each group, {what} is {written(g.value)}; {proof}."]
    lines += [f"{name}: {e}." for name, e in g.gaps.items()]
    if g.free_value != g.value:
        lines.append(f"Without limits on differences it is {written(g.free_value)}.")
    if g.common_value == g.common_value:
        lines.append(
            f"One threshold for all, {g.common_threshold:.6g}, gives "
            f"{written(g.common_value)}" + (f" with {differ}." if differ else ".")
        )
    return lines


def group_rows(g: GroupThresholds) -> list[list[Any]]:
    """Give the threshold of each group, and what comes of it there."""
    rows: list[list[Any]] = []
    for name, at in g.thresholds.items():
        tp, fp, fn, _ = _numbers(g.confusions[name])
        precision = tp / (tp + fp) if tp + fp else None
        rows.append([name, f"{at:.6g}", tp + fp, tp / (tp + fn), precision])
    return rows


GROUP_HEAD = ("group", "threshold", "flagged", "recall", "precision")


def prevalence_sentences(p: OperatingPoint) -> list[str]:
    """Say where to cut when the prevalence of use is known, or lies in a range."""
    what, r = objective_of(p.objective), p.robust
    at = cut_text(p.threshold, p.interval)
    if r is None:
        return [
            f"At a prevalence of {percent(p.prevalence)}, flag cases with a score of "
            f"{at} or more; {what} is then {written(p.value)}.",
            *p.notes,
        ]
    low, high = (percent(v) for v in r.prevalence)
    return [
        f"If the prevalence lies between {low} and {high}, flag cases with a score of "
        f"{at} or more: {what} is then {written(p.value)} or better, and "
        "no other threshold has a better worst case. It is at most "
        f"{written(r.regret)} away from the best value for the true prevalence.",
        "The threshold that is never far from the best value is "
        f"{cut_text(r.regret_threshold, r.regret_interval)}: at most "
        f"{written(r.smallest_regret)} away.",
        *r.notes,
    ]


def decision_sentences(d: Decision) -> list[str]:
    """Say which classifier should decide, and what remains of the choice."""
    what, e = objective_of(d.point.objective), d.corrected
    others = [k for k, v in d.chosen.items() if k != d.classifier and v >= 0.05]
    lines = [
        f"{d.classifier} should decide: flag cases with a score of "
        f"{cut_text(d.point.threshold, d.point.interval)} or more; {what} is then "
        f"{written(d.value)}.",
        f"The best of {len(d.values)} classifiers looks better than it is. On new "
        f"cases expect {written(e.value)} ({level_text(e.level)} interval "
        f"{written(e.low)} to {written(e.high)}).",
        f"If the choice were repeated on similar data, it would be {d.classifier} in "
        f"{percent(d.chosen[d.classifier])} of the samples"
        + (f", and sometimes {listed(others)}." if others else "."),
    ]
    if len(d.mixture) > 1:
        parts = listed([
            f"{x.classifier} from {x.threshold:.4g} on in {percent(x.probability)}"
            for x in d.mixture
        ])  # fmt: skip
        lines.append(
            f"Choosing the rule at random ({parts} of the cases) would give "
            f"{written(d.mixture_value)}, but the same case may then be treated "
            "differently each time."
        )
    return lines
