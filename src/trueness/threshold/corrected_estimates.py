r"""What a chosen rule is worth on new cases: estimates without the optimism of choice.

What a repeated choice gains in its own bootstrap sample over the cases left out is what
the choice makes of chance (Efron 1983, doi:10.2307/2288636). It is taken off the cells
of the rule; the variance of the repeated choices goes into the intervals.
"""

from __future__ import annotations

import math
from dataclasses import replace
from functools import reduce
from itertools import product
from statistics import NormalDist
from typing import NamedTuple

import numpy as np

from trueness._core.arrays import Floats
from trueness._core.records import Estimate
from trueness.counts.values import Tally
from trueness.inference.differences import variance_of_independent_difference
from trueness.inference.estimates import (
    estimate_from_interval,
    estimate_from_variance,
)
from trueness.inference.variance import Influence, VarianceEstimate, estimate_variance
from trueness.metrics.intervals import slopes, units_seen
from trueness.threshold.constraints import (
    ScopedConstraint,
)
from trueness.threshold.repeatable_choice import Measure, RepeatableChoice
from trueness.threshold.repeated_choices import (
    RepeatedChoices,
)
from trueness.threshold.rule import DEFERRED, FLAGGED, NOT_FLAGGED


class ObservedRule(NamedTuple):
    """The chosen rule on all cases: verdicts of each group, and its cells.

    ``corrected`` are the cells as they would be without the optimism of the choice.
    """

    verdicts: list[Tally]
    cells: Floats
    corrected: Floats


def observe_rule(task: RepeatableChoice, runs: RepeatedChoices) -> ObservedRule:
    """Return the cells of the chosen rule, as they are and without optimism."""
    rule = task.choice.rule
    verdicts = [
        rule.verdicts({name: tally} if rule.groups else tally)
        for name, tally in task.tallies.items()
    ]
    cells = np.array(
        [_cells_of_verdicts(verdicts_of_group) for verdicts_of_group in verdicts], float
    )
    return ObservedRule(verdicts, cells, _correct_optimism(cells, runs))


def _cells_of_verdicts(verdicts: Tally) -> list[list[float]]:
    """Return the positives and negatives flagged, deferred and cleared."""
    cells = []
    for zone in (FLAGGED, DEFERRED, NOT_FLAGGED):
        in_zone = verdicts.score == zone
        cells.append([verdicts.pos[in_zone].sum(), verdicts.neg[in_zone].sum()])
    return cells


# the proportion of the cases that a bootstrap sample holds, Efron's .632
_DISTINCT = 1 - math.exp(-1)


def _correct_optimism(cells: Floats, runs: RepeatedChoices) -> Floats:
    """Return the cells as they would be without the choice (Efron's .632).

    A sample has fewer distinct cases and chooses worse. Cases left out are added up
    first: the mean of a ratio of few cases is biased.
    """
    # (samples, groups, zones, classes): the mean over samples
    in_sample = np.nanmean(_proportions_in_zones(runs.in_sample), axis=0)
    left_out = _proportions_in_zones(runs.left_out.sum(axis=0))
    optimism = in_sample - left_out

    apparent = _proportions_in_zones(cells)
    # what was raised to zero is taken from the other zones by dividing once more
    # Efron (1983): .632 of the optimism, since samples overlap with the cases left out
    corrected = _proportions_in_zones(np.maximum(apparent - _DISTINCT * optimism, 0))
    return np.asarray(corrected * cells.sum(axis=-2, keepdims=True))


def _proportions_in_zones(cells: Floats) -> Floats:
    """Return which proportion of each class is in each zone."""
    with np.errstate(invalid="ignore"):  # a sample may have none of a class
        return np.asarray(cells / cells.sum(axis=-2, keepdims=True))


def estimate_quantity(
    task: RepeatableChoice,
    quantity: ScopedConstraint,
    observed: ObservedRule,
    runs: RepeatedChoices,
    level: float,
) -> Estimate:
    """Return a corrected value, with an interval that allows for the choice.

    For a range of prevalences the interval holds whichever of them is true.
    """
    prevalence_variance = _variance_of_estimated_prevalence(
        task, quantity, observed.cells
    )
    estimates = [
        _estimate_at_prevalence(
            quantity,
            task.measure(quantity, prevalence),
            observed,
            runs,
            number_of_cuts=len(task.cut_names),
            prevalence_variance=prevalence_variance,
            level=level,
        )
        for prevalence in task.prevalences
    ]
    return estimate_from_interval(
        float(task.value_in_use(quantity, observed.corrected)),
        low=min(estimate.low for estimate in estimates),
        high=max(estimate.high for estimate in estimates),
        level=level,
        method="bootstrap",
        standard_error=max(estimate.se for estimate in estimates),
        name=quantity.name,
    )


def _variance_of_estimated_prevalence(
    task: RepeatableChoice, quantity: ScopedConstraint, cells: Floats
) -> float:
    """Return the variance that an estimated prevalence adds to a quantity.

    From the ends of its interval to a standard error, as of a normal law.
    """
    prevalence = task.prevalence
    if prevalence is None or prevalence.level is None:
        return 0.0
    at_low = float(task.measure(quantity, prevalence.low)(cells))
    at_high = float(task.measure(quantity, prevalence.high)(cells))
    normal_quantile = NormalDist().inv_cdf((1 + prevalence.level) / 2)
    # half the width in standard errors
    return ((at_low - at_high) / (2 * normal_quantile)) ** 2


def _estimate_at_prevalence(
    quantity: ScopedConstraint,
    measure: Measure,
    observed: ObservedRule,
    runs: RepeatedChoices,
    *,
    number_of_cuts: int,
    prevalence_variance: float,
    level: float,
) -> Estimate:
    """Return a corrected value with the variance of the rule and of its choice.

    The variance is that of the rule taken as fixed or, where it is larger, that of the
    repeated choices.
    """
    value = float(measure(observed.corrected))
    ends = _possible_range(measure, observed.cells, quantity.range, number_of_cuts)
    of_fixed_rule = _variance_of_fixed_rule(measure, observed)

    low_end, high_end = ends
    if low_end > -math.inf and high_end == math.inf:
        # without an upper end both variances are compared on the logarithmic scale
        of_choices = _variance_of_choices(measure, runs, low_end)
        distance = float(measure(observed.cells)) - low_end
        of_logarithm = of_fixed_rule.variance / distance**2 if distance else 0.0
        variance = max(of_logarithm, of_choices) * (value - low_end) ** 2
    else:
        of_choices = _variance_of_choices(measure, runs, None)
        variance = max(of_fixed_rule.variance, of_choices)

    total = replace(of_fixed_rule, variance=variance + prevalence_variance)
    return estimate_from_variance(value, total, ends, level)


def _variance_of_choices(
    measure: Measure, runs: RepeatedChoices, low_end: float | None
) -> float:
    """Return the variance of what repeated choices gain in their own samples.

    With a lower end, that of the logarithm of the distance from it.
    """
    with np.errstate(divide="ignore", invalid="ignore"):  # odds may be infinite
        in_sample = np.asarray(measure(runs.in_sample), float)
        in_all = np.asarray(measure(runs.in_all), float)
        if low_end is not None:
            in_sample = np.log(in_sample - low_end)
            in_all = np.log(in_all - low_end)
        # the optimism of each sample: its own value less that in all cases
        gain = in_sample - in_all

    gain = gain[np.isfinite(gain)]
    return float(gain.var(ddof=1)) if gain.size > 1 else 0.0


def _variance_of_fixed_rule(
    measure: Measure, observed: ObservedRule
) -> VarianceEstimate:
    """Return the variance of a quantity, the rule taken as fixed.

    Groups are independent, so their variances add up.
    """
    cells = observed.cells
    variances_of_groups = []
    for group, slopes_of_group in enumerate(slopes(measure, cells)):
        verdicts = observed.verdicts[group]
        # verdicts are 1, 1/2 and 0; the zones in the same order are 0, 1 and 2
        zone = np.rint(2 - 2 * verdicts.score).astype(np.int64)
        # each verdict has the slope of its zone
        by_positive, by_negative = slopes_of_group[zone].T
        variance = estimate_variance(
            verdicts,
            Influence(by_negative, by_positive),
            within_class=verdicts.design.fixed_classes,
        )
        if not variance.variance > 0 and verdicts.clusters is None:
            # nothing varied: as many cases as the smallest class that matters has
            units = min(units_seen(measure, cells, group, verdicts))
            variance = replace(variance, units=units)
        # 0 for NaN, too
        variances_of_groups.append(
            replace(variance, variance=max(0.0, variance.variance))
        )

    return reduce(variance_of_independent_difference, variances_of_groups)


def _possible_range(
    measure: Measure,
    cells: Floats,
    ends: tuple[float, float],
    number_of_cuts: int,
) -> tuple[float, float]:
    """Return the smallest and the largest value that a quantity can have.

    A count or a cost has no ends of its own. Sums of counts are largest, and smallest,
    where each class is in one zone.
    """
    if np.isfinite(ends).all():
        return ends

    zones = (0, 2) if number_of_cuts == 1 else (0, 1, 2)
    class_sizes = cells.sum(axis=1)
    extremes = []
    # all positives of a group in one zone, all negatives in one
    for zone_of_positives, zone_of_negatives in product(zones, repeat=2):
        extreme = np.zeros(cells.shape)
        extreme[:, zone_of_positives, 0] = class_sizes[:, 0]
        extreme[:, zone_of_negatives, 1] = class_sizes[:, 1]
        extremes.append(extreme)

    values = np.asarray(measure(np.array(extremes)), np.float64)
    defined = values[~np.isnan(values)]
    if not defined.size:
        return ends

    smallest = max(ends[0], float(defined.min()))
    largest = min(ends[1], float(defined.max()))
    return (smallest, largest) if smallest < largest else ends
