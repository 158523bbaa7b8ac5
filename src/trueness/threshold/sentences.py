"""What is said of one cut, of two, of cuts for groups, of a range of prevalences?

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
from trueness.metrics.grammar import (
    constraint_text,
    constraints,
    is_share,
    text_of,
)
from trueness.threshold.group_cuts import GroupThresholds
from trueness.threshold.guarantees import GuaranteedThreshold
from trueness.threshold.operating_point import OperatingPoint
from trueness.threshold.validation import Validation
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
    """Say how often repeated choices met each constraint, where that was too rare."""
    return [
        f"Chosen again on bootstrap samples, the threshold met {name} in "
        f"{percent(share)} of them, on the cases left out."
        for name, share in v.holds.items()
        if share < below
    ]


def missed(v: Validation) -> list[str]:
    """Say which constraints of one threshold new cases are expected to miss."""
    if v.choice.prevalences is not None:  # they hold at the least favourable one
        return []
    lines = []
    for c in constraints(list(v.choice.constraints)):
        name = c.metric.name
        write = percent if is_share(name) else written
        expected = v.metrics[name].value if name in v.metrics else c.bound
        if not c.decide(expected) and write(expected) != write(c.bound):
            lines.append(
                f"On new cases {constraint_text(repr(c))} is expected to be missed: "
                f"expect {write(expected)}."
            )
    return lines


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


def _both_cuts(z: Zones | GuaranteedThreshold) -> tuple[str, str]:
    lower, upper = (cut_text(cut) for cut in z.rule.cuts())
    return lower, upper


def zone_check(v: Validation) -> str:
    """Say what to expect of two cuts on new cases."""
    e = v.corrected
    return (
        "The thresholds were tuned on the same data, so the results are optimistic. "
        f"On new cases expect {written(e.value)} ({level_text(e.level)} interval "
        f"{written(e.low)} to {written(e.high)}) instead of {written(v.value)}."
    )


def guaranteed_zone_sentence(z: GuaranteedThreshold) -> str:
    """Say what two cuts promise, and how many cases lie between them."""
    lower, upper = _both_cuts(z)
    return (
        f"Call a case negative when its score is below {lower}, and positive "
        f"when it is {upper} or more. With {level_text(z.level)} "
        f"confidence the population then has {z.constraint}. {percent(z.defer)} of "
        "the cases lie in between."
    )


def zone_rows(z: Zones | GuaranteedThreshold) -> list[list[Any]]:
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
    lines += [f"{e}." for e in g.gaps.values()]
    if g.free_value != g.value:
        lines.append(f"Without limits on differences it is {written(g.free_value)}.")
    if g.common_value == g.common_value:
        lines.append(
            f"One threshold for all, {cut_text(g.common_threshold)}, gives "
            f"{written(g.common_value)}" + (f" with {differ}." if differ else ".")
        )
    return lines


def group_rows(g: GroupThresholds) -> list[list[Any]]:
    """Give the threshold of each group, and what comes of it there."""
    rows: list[list[Any]] = []
    for name, at in g.thresholds.items():
        tp, fp, fn, _ = _numbers(g.confusions[name])
        precision = tp / (tp + fp) if tp + fp else None
        rows.append([name, cut_text(at), tp + fp, tp / (tp + fn), precision])
    return rows


GROUP_HEAD = ("group", "threshold", "flagged", "recall", "precision")


def prevalence_sentences(p: OperatingPoint) -> list[str]:
    """Say where to cut when the prevalence of use is known, or lies in a range."""
    what, at = objective_of(p.objective), cut_text(p.threshold, p.score_range)
    if p.prevalences is None:
        return [
            f"At a prevalence of {percent(p.prevalence)}, flag cases with a score of "
            f"{at} or more; {what} is then {written(p.value)}.",
            *p.notes,
        ]
    low, high = map(percent, p.prevalences)
    return [
        f"If the prevalence lies between {low} and {high}, flag cases with a score of "
        f"{at} or more: {what} is then {written(p.value)} or better, and no other "
        "threshold has a better worst case."
    ]
