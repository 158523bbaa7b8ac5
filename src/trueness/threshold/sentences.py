"""What is said of one cut, of two, of cuts for groups, of a range of prevalences?

The command line and the report speak with the same sentences.
"""

from __future__ import annotations

import math
from collections.abc import Callable
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
from trueness._core.records import Estimate
from trueness.metrics.algebra import Constraint
from trueness.metrics.confusion import Confusion
from trueness.metrics.grammar import (
    constraint_text,
    constraints,
    is_proportion,
    text_of,
)
from trueness.threshold.group_cuts import GroupThresholds
from trueness.threshold.guarantees import GuaranteedThreshold
from trueness.threshold.operating_point import OperatingPoint
from trueness.threshold.validation import Validation
from trueness.threshold.zones import Zones


def objective_of(text: str) -> str:
    """Return what was maximised or minimised, in words."""
    name = text.partition(" ")[2]
    if name == "youden":
        return "Youden's index (sensitivity + specificity - 1)"
    return text_of(name)


def limiting_constraint_sentences(point: OperatingPoint) -> list[str]:
    """Say which constraints the choice stops at; nothing where there is none."""
    if not point.binding:
        return []
    plural = "s" if len(point.binding) > 1 else ""
    texts = [constraint_text(constraint) for constraint in point.binding]
    return [f"Limiting constraint{plural}: {listed(texts)}."]


def rarely_met_constraint_sentences(
    validation: Validation, below: float = math.inf
) -> list[str]:
    """Say how often repeated choices met each constraint, where that was too rare."""
    return [
        f"Chosen again on bootstrap samples, the threshold met {name} in "
        f"{percent(proportion)} of them, on the cases left out."
        for name, proportion in validation.holds.items()
        if proportion < below
    ]


def missed_constraint_sentences(validation: Validation) -> list[str]:
    """Say which constraints of one threshold new cases are expected to miss."""
    sentences = []
    for constraint, estimate in _expected_constraints(validation):
        write = _writer(constraint)
        differs_in_print = write(estimate.value) != write(constraint.bound)
        if not constraint.decide(estimate.value) and differs_in_print:
            sentences.append(
                f"On new cases {constraint_text(repr(constraint))} is expected to be "
                f"missed: expect {write(estimate.value)}."
            )

    return sentences


def kept_constraint_sentences(validation: Validation) -> list[str]:
    """Say which constraints new cases are expected to keep, and how badly at worst."""
    sentences = []
    for constraint, estimate in _expected_constraints(validation):
        if not constraint.decide(estimate.value):
            continue
        write = _writer(constraint)
        required = "At least" if constraint.upward else "At most"
        worst = f"as low as {write(estimate.low)}"
        if not constraint.upward:
            worst = f"as high as {write(estimate.high)}"
        sentences.append(
            f"{required} {write(constraint.bound)} is required of "
            f"{text_of(constraint.metric.name)}: on new cases expect "
            f"{write(estimate.value)}; it could be {worst}."
        )

    return sentences


def _expected_constraints(
    validation: Validation,
) -> list[tuple[Constraint, Estimate]]:
    """Return each constraint with what to expect of its metric on new cases."""
    point = validation.choice
    if point.prevalences is not None:
        # the constraints hold at the least favourable prevalence
        return []

    return [
        (constraint, validation.metrics[constraint.metric.name])
        for constraint in constraints(list(point.constraints))
        if constraint.metric.name in validation.metrics
    ]


def _writer(constraint: Constraint) -> Callable[[float], str]:
    """Return how values of a constrained metric are written."""
    return percent if is_proportion(constraint.metric.name) else written


def zone_sentences(zones: Zones) -> list[str]:
    """Say where the zones end, and what deferring cases gains."""
    single = "no single threshold meets the constraints"
    value = zones.single_threshold_value
    if not math.isnan(value):
        single = f"with the best single threshold it is {written(value)}"
    objective = objective_of(zones.objective)
    sentences = [
        _where_zones_end(zones),
        f"Then {objective} is {written(zones.value)}; {single}.",
    ]
    others = len(zones.pairs) - 1
    if others:
        pairs = counted(
            others, "other pair of thresholds is", "other pairs of thresholds are"
        )
        sentences.append(f"{pairs} as good.")

    return sentences


def _where_zones_end(zones: Zones) -> str:
    """Say which scores are positive, negative, or left to a person."""
    lower, upper = _both_cuts(zones)
    if not zones.defer:
        return (
            "One threshold is enough: call a case positive when its score is "
            f"{upper} or more."
        )

    positive = f"positive when it is {upper} or more"
    if zones.upper == math.inf:
        positive = "none positive"
    return (
        f"Call a case negative when its score is below {lower}, and "
        f"{positive}; leave the {percent(zones.defer)} of the cases in between to a "
        "person."
    )


def _both_cuts(answer: Zones | GuaranteedThreshold) -> tuple[str, str]:
    lower, upper = answer.rule.cuts()
    return cut_text(lower), cut_text(upper)


def zone_check(validation: Validation) -> str:
    """Say what to expect of two cuts on new cases."""
    expected = validation.corrected
    interval = f"{written(expected.low)} to {written(expected.high)}"
    return (
        "The thresholds were tuned on the same data, so the results are optimistic. "
        f"On new cases expect {written(expected.value)} ({level_text(expected.level)} "
        f"interval {interval}) instead of {written(validation.value)}."
    )


def guaranteed_zone_sentence(answer: GuaranteedThreshold) -> str:
    """Say what two cuts promise, and how many cases lie between them."""
    lower, upper = _both_cuts(answer)
    return (
        f"Call a case negative when its score is below {lower}, and positive "
        f"when it is {upper} or more. With {level_text(answer.level)} "
        f"confidence {answer.constraint} then holds in the population. "
        f"{percent(answer.defer)} of the cases lie in between."
    )


def zone_rows(answer: Zones | GuaranteedThreshold) -> list[list[Any]]:
    """Return the cases in each zone, or their weight, as rows of a table."""
    tp, fp, fn, tn = _numbers(answer.confusion)
    rows: list[list[Any]] = [["called positive", tp, fp]]
    if isinstance(answer, Zones):
        rows.append(["left to a person", answer.deferred_pos, answer.deferred_neg])
    rows.append(["called negative", fn, tn])
    return rows


def _numbers(confusion: Confusion) -> list[Any]:
    """Return counts as whole numbers, and sums of weights as they are."""
    return [np.asarray(count).item() for count in confusion.cells]


def group_sentences(groups: GroupThresholds) -> list[str]:
    """Say what a cut for each group gives, and what one cut for all would."""
    proof = "no other choice of thresholds is better"
    if not groups.proved:
        proof = f"no choice of thresholds is better than {written(groups.bound)}"
    objective = objective_of(groups.objective)
    sentences = [
        f"With a threshold for each group, {objective} is {written(groups.value)}; "
        f"{proof}.",
        *(f"{gap}." for gap in groups.gaps.values()),
    ]
    if groups.unconstrained_value != groups.value:
        sentences.append(
            "Without bounds on differences it is "
            f"{written(groups.unconstrained_value)}."
        )
    if not math.isnan(groups.common_value):
        sentences.append(_common_threshold_sentence(groups))
    return sentences


def _common_threshold_sentence(groups: GroupThresholds) -> str:
    """Say what one threshold for all groups achieves, and its gaps."""
    sentence = (
        f"One threshold for all, {cut_text(groups.common_threshold)}, gives "
        f"{written(groups.common_value)}"
    )
    if groups.common_gaps:
        gaps = [f"{name} {value:.4g}" for name, value in groups.common_gaps.items()]
        sentence += f" with {', '.join(gaps)}"

    return f"{sentence}."


def group_rows(groups: GroupThresholds) -> list[list[Any]]:
    """Return the threshold of each group, and what comes of it there."""
    rows: list[list[Any]] = []
    for name, threshold in groups.thresholds.items():
        tp, fp, fn, _ = _numbers(groups.confusions[name])
        flagged = tp + fp
        recall = tp / (tp + fn)
        precision = tp / flagged if flagged else None
        rows.append([name, cut_text(threshold), flagged, recall, precision])

    return rows


GROUP_HEAD = ("group", "threshold", "flagged", "recall", "precision")


def prevalence_sentences(point: OperatingPoint) -> list[str]:
    """Say where to cut when the prevalence of use is known, or lies in a range."""
    objective = objective_of(point.objective)
    threshold = cut_text(point.threshold, point.score_range)
    if point.prevalences is None:
        return [
            f"At a prevalence of {percent(point.prevalence)}, flag cases with a score "
            f"of {threshold} or more; {objective} is then {written(point.value)}.",
            *point.notes,
        ]

    low, high = (percent(end) for end in point.prevalences)
    return [
        f"If the prevalence lies between {low} and {high}, flag cases with a score of "
        f"{threshold} or more: {objective} is then {written(point.value)} or better, "
        "and no other threshold has a better worst case."
    ]
