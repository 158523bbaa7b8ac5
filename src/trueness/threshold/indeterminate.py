"""Indeterminate results of a test: the 3x2 table, and what follows from each reading.

A test may be positive, negative, or neither (indeterminate, equivocal, invalid). A
report that leaves such results out describes a better test than the one in use. So they
are counted as positive, as negative, and left out, side by side (FDA 2007; STARD 2015,
items 15 and 16).
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from typing import Any, final

import numpy as np

from trueness._core.checks import cases as _cases
from trueness._core.checks import options as _options
from trueness._core.checks.errors import InputError, PythonCode
from trueness._core.numbers import number_of
from trueness._core.records import Answer, Estimate, native_frame
from trueness.counts.answers import of_tally
from trueness.counts.values import Tally, rescore
from trueness.metrics.algebra import Metric
from trueness.metrics.definitions import METRICS
from trueness.metrics.intervals import estimates
from trueness.threshold.rule import (
    DEFERRED,
    FLAGGED,
    NOT_FLAGGED,
    AtThreshold,
    Rule,
    RuleOrThreshold,
    at_threshold,
    rule_of,
)

_SHOWN = ("recall", "specificity", "precision", "npv")
_READINGS = ("as_positive", "as_negative", "left_out")


@final
@dataclass(frozen=True, repr=False)
class IndeterminateResults(Answer):
    """Results of a test that may be neither positive nor negative.

    Attributes
    ----------
    positive, indeterminate, negative : (int, int)
        The 3x2 table: how many positives and how many negatives have each result.
    as_positive, as_negative, left_out : AtThreshold
        The metrics if indeterminate results count as positive, count as negative, or
        are left out.
    rate, rate_in_positives, rate_in_negatives : Estimate
        Proportion of indeterminate results: of all, of positives, of negatives.
    rule : Rule
        Which scores are positive, and which indeterminate.
    """

    positive: tuple[float, float]
    indeterminate: tuple[float, float]
    negative: tuple[float, float]
    as_positive: AtThreshold
    as_negative: AtThreshold
    left_out: AtThreshold
    rate: Estimate
    rate_in_positives: Estimate
    rate_in_negatives: Estimate
    rule: Rule
    notes: tuple[str, ...] = field(default=(), kw_only=True)

    def __repr__(self) -> str:
        """Write the 3x2 table, then each metric by the three readings."""
        lines = ["result          positives  negatives"]
        for name in ("positive", "indeterminate", "negative"):
            positives, negatives = getattr(self, name)
            lines.append(
                f"{name:<13} {number_of(positives):>11} {number_of(negatives):>10}"
            )

        for metric in self.left_out.metrics:
            if metric == "defer":
                continue
            lines.append(metric)
            for reading in _READINGS:
                reading_of_indeterminate = reading.replace("_", " ")
                lines.append(
                    f"  {reading_of_indeterminate:<12} {getattr(self, reading)[metric]}"
                )

        return "\n".join([*lines, *(f"Note: {note}" for note in self.notes)])

    def to_frame(self, backend: str | None = None) -> Any:
        """Return one row per metric and reading of indeterminate results."""
        rows = [
            (metric, reading.replace("_", " "), getattr(self, reading)[metric])
            for metric in self.left_out.metrics
            if metric != "defer"
            for reading in _READINGS
        ]
        columns = {
            "metric": [metric for metric, _, _ in rows],
            "indeterminate": [reading for _, reading, _ in rows],
            "value": [estimate.value for _, _, estimate in rows],
            "low": [estimate.low for _, _, estimate in rows],
            "high": [estimate.high for _, _, estimate in rows],
        }
        return native_frame(columns, backend)


@of_tally
def indeterminate_results(
    data: Tally,
    threshold: RuleOrThreshold | None = None,
    metrics: Iterable[str | Metric] | None = None,
    *,
    level: float = 0.95,
) -> IndeterminateResults:
    """Indeterminate results: a 3x2 table, counted as positive, negative, left out.

    How good is a test if some of its results are neither positive nor negative?

    Parameters
    ----------
    data
        Results as scores: 1 for positive, 0 for negative, 0.5 for indeterminate; or as
        words such as "positive", "negative", "inconclusive", "equivocal".
    threshold
        For other scores a :class:`Rule` with two thresholds, between which results are
        indeterminate: ``Rule(3, lower=2)``.
    metrics
        Which metrics to compute; sensitivity, specificity, PPV and NPV when None.

    Notes
    -----
    Proportions have Wilson's interval. No single convention is right: report the table.

    References
    ----------
    FDA 2007, Statistical Guidance on Reporting Results from Studies Evaluating
    Diagnostic Tests. Bossuyt et al. 2015, STARD 2015, doi:10.1136/bmj.h5527. Shinkins
    et al. 2013, BMJ 346:f2778, doi:10.1136/bmj.f2778.

    Examples
    --------
    >>> t = Tally([1, 0.5, 0], pos=[80, 10, 10], neg=[5, 15, 80])
    >>> answer = indeterminate_results(t)
    >>> answer.as_positive["sensitivity"].value, answer.as_negative["sensitivity"].value
    (0.9, 0.8)
    >>> answer.left_out["sensitivity"].value  # 80 of 90
    0.8888888888888888
    """
    level = _options.fraction(level, "level")
    _cases.both_classes(data, "indeterminate_results")
    rule = _rule_of_results(data, threshold)
    verdicts = rule.verdicts(data)
    requested = list(_SHOWN) if metrics is None else metrics

    def rate(among: str) -> Estimate:
        # as if the rule flagged what is indeterminate
        is_indeterminate = rescore(verdicts, verdicts.score == DEFERRED)
        return estimates(is_indeterminate, 1.0, [METRICS[among]], level=level)[among]

    return IndeterminateResults(
        positive=_count(verdicts, FLAGGED),
        indeterminate=_count(verdicts, DEFERRED),
        negative=_count(verdicts, NOT_FLAGGED),
        as_positive=at_threshold(verdicts, DEFERRED, requested, level=level),
        as_negative=at_threshold(verdicts, FLAGGED, requested, level=level),
        left_out=at_threshold(
            verdicts, Rule(FLAGGED, lower=DEFERRED), requested, level=level
        ),
        rate=replace(rate("flagged_rate"), name="indeterminate"),
        rate_in_positives=replace(rate("recall"), name="indeterminate of positives"),
        rate_in_negatives=replace(rate("fpr"), name="indeterminate of negatives"),
        rule=rule,
    )


def _rule_of_results(data: Tally, threshold: RuleOrThreshold | None) -> Rule:
    """Return which scores are indeterminate; by default 0.5, between 0 and 1."""
    if threshold is not None:
        rule = rule_of(threshold)
        if rule.defers and not rule.groups:
            return rule
        raise InputError(
            "indeterminate_results needs a rule with two thresholds for all cases.",
            option="threshold",
            example=PythonCode("trueness.Rule(3, lower=2)"),
        )

    # 1, 0.5 and 0 are results already
    if set(np.unique(data.score)) <= {FLAGGED, DEFERRED, NOT_FLAGGED}:
        return Rule(FLAGGED, lower=DEFERRED)

    raise InputError(
        "indeterminate_results needs results that are 1 (positive), 0 (negative) or "
        f"0.5 (indeterminate), or a rule; found {len(data.score):,} distinct scores.",
        option="threshold",
        example=PythonCode("trueness.Rule(3, lower=2)"),
    )


def _count(verdicts: Tally, result: float) -> tuple[float, float]:
    """Return how many positives, and how many negatives, have a result."""
    rows = verdicts.score == result
    return verdicts.pos[rows].sum().item(), verdicts.neg[rows].sum().item()
