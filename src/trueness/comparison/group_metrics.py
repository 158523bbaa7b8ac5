r"""Metrics of groups at a threshold: gaps and ratios, with intervals.

Groups have different cases, so intervals come from the interval of each side: of a gap
by Zou and Donner (2008), of a ratio by Donner and Zou (2012). For two proportions with
Wilson's intervals, the gap is Newcombe's method 10 (1998). The selection rate over that
of the most selected group is the impact ratio (four-fifths rule of the US Uniform
Guidelines, 29 CFR 1607.4 D; Local Law 144 of New York City).
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from trueness._core.arrays import Array
from trueness._core.checks.errors import InputError
from trueness._core.numbers import number_of
from trueness._core.records import Estimate
from trueness.comparison.results import Comparison, Pair, compare_pairs
from trueness.counts.cases import change_counts
from trueness.counts.values import Tally
from trueness.inference.differences import IndependentDifference
from trueness.inference.estimates import (
    estimate_from_interval,
    evaluate_measure,
)
from trueness.inference.intervals import ProportionSample, proportion_interval
from trueness.inference.sample import check_prevalence_known
from trueness.inference.variance import VarianceEstimate
from trueness.metrics.algebra import Metric, depends_on_prevalence
from trueness.metrics.intervals import (
    Cut,
    estimate_at,
    metric_measure,
    sample_of_proportion,
)

# the reference group that has the highest value
HIGHEST = "highest"
# 29 CFR 1607.4 D: a selection rate below four fifths of the highest
_FOUR_FIFTHS = 0.8
# 6 RCNY 5-301 (d): a category below 2 % of the data may be left out of impact ratios
_SMALL_GROUP = 0.02
# Wilson's interval of so few cases may miss a proportion near 0 or 1
_FEW_CASES = 5


@dataclass(frozen=True)
class GroupMetric:
    """A metric of one group at a threshold: one side of a gap or a ratio.

    Attributes
    ----------
    cut, metric
        Both sides of the threshold in this group, and what is measured.
    estimate, variance_estimate
        The value with its interval at the requested level, and its variance.
    proportion : ProportionSample or None
        The cases that a proportion is of; None for other metrics.
    """

    cut: Cut
    metric: Metric
    estimate: Estimate
    variance_estimate: VarianceEstimate
    proportion: ProportionSample | None

    @property
    def value(self) -> float:
        """Return the metric of the group."""
        return self.estimate.value

    def distances(self, tail_probability: float) -> tuple[float, float]:
        """Return how far below and above the value its interval ends."""
        level = 1 - 2 * tail_probability
        if self.proportion is not None:
            low, high = proportion_interval(self.value, self.proportion, level)
        else:
            estimate = estimate_at(self.cut, self.metric, level)
            low, high = estimate.low, estimate.high
        return self.value - low, high - self.value


def evaluate_group(
    tally: Tally, metric: Metric, threshold: float, level: float
) -> GroupMetric:
    """Return a metric of one group, as one side of gaps and ratios."""
    if depends_on_prevalence(metric):
        check_prevalence_known(tally, f"compare_groups of {metric.name}")
    cut = Cut.of(tally, threshold)
    estimate = estimate_at(cut, metric, level)
    evaluated = evaluate_measure(cut.sample, partial(metric_measure, metric, cut.flags))

    # Wilson's interval needs counted cases, not imputed labels or reweighted classes
    proportion = None
    at_other_prevalence = cut.sample.reweighted and depends_on_prevalence(metric)
    is_counted = cut.sample.imputation is None and not at_other_prevalence
    if metric.is_proportion and is_counted and not math.isnan(estimate.value):
        proportion = sample_of_proportion(
            cut, metric, estimate.value, evaluated.variance_estimate
        )

    return GroupMetric(cut, metric, estimate, evaluated.variance_estimate, proportion)


def compare_group_metrics(
    tallies: Mapping[str, Tally],
    metric: Metric,
    *,
    threshold: float | None,
    reference: str | None,
    effect: str,
    level: float,
) -> Comparison:
    """Return the gaps of a metric between groups, and its ratios where requested."""
    # a selection rate counts every case, with a label or without
    if not _depends_on_labels(metric):
        tallies = {name: _count_unlabelled(tally) for name, tally in tallies.items()}

    cut = _threshold_of(tallies, metric, threshold)
    group_metrics = {
        name: evaluate_group(tally, metric, cut, level)
        for name, tally in tallies.items()
    }

    small_groups = _small_groups(tallies)
    names = list(group_metrics)
    pairs = _pairs_with_reference(group_metrics, reference, small_groups)

    def difference(i: int, j: int) -> IndependentDifference:
        return IndependentDifference(group_metrics[names[i]], group_metrics[names[j]])

    comparison = compare_pairs(
        {name: group.estimate for name, group in group_metrics.items()},
        difference,
        pairs=pairs,
        paired=False,
        measure=metric.name,
        cases=[tally.labelled() for tally in tallies.values()],
        notes=[
            *_notes_on_small_groups(small_groups),
            *_notes_on_few_cases(group_metrics),
        ],
    )
    if effect != "ratio":
        return comparison

    comparison = _add_ratios(comparison, group_metrics, level)
    if reference == HIGHEST and metric.ratio == _SELECTED:
        notes = (*_notes_on_four_fifths(comparison.pairs), *comparison.notes)
        return replace(comparison, notes=notes)
    return comparison


def _pairs_with_reference(
    group_metrics: Mapping[str, GroupMetric],
    reference: str | None,
    small_groups: Mapping[str, float],
) -> list[tuple[int, int]] | None:
    """Return the pairs of other groups and the reference; None without a reference."""
    if reference is None:
        return None
    if reference == HIGHEST:
        reference = _highest(group_metrics, small_groups)

    position = list(group_metrics).index(reference)
    return [(k, position) for k in range(len(group_metrics)) if k != position]


def _add_ratios(
    comparison: Comparison, group_metrics: Mapping[str, GroupMetric], level: float
) -> Comparison:
    """Return a comparison with the ratio of both groups in each pair."""
    pairs_with_ratio = []
    for pair in comparison.pairs:
        ratio = ratio_of_groups(
            group_metrics[pair.first], group_metrics[pair.second], level
        )
        pairs_with_ratio.append(replace(pair, ratio=ratio))
    return replace(comparison, pairs=tuple(pairs_with_ratio))


# coefficients of the selection rate: flagged cases over all cases
_SELECTED = ((1, 1, 0, 0), (1, 1, 1, 1))


def _depends_on_labels(metric: Metric) -> bool:
    """Return whether a metric depends on labels, unlike a selection rate."""
    if metric.ratio is None or metric.ratio.under is None:
        return True
    for coefficients in (metric.ratio.over, metric.ratio.under):
        tp, fp, fn, tn = coefficients
        # without labels, positives and negatives of one side count alike
        if tp != fp or fn != tn:
            return True
    return False


def _count_unlabelled(tally: Tally) -> Tally:
    """Return counts with unlabelled cases among the negatives; labels do not matter."""
    if not tally.n_unknown:
        return tally

    def label_unknown(columns: Sequence[Array]) -> list[Array]:
        labelled: list[Array] = []
        # negative, positive, unknown: counts, or sums of weights and then of squares
        for k in range(0, len(columns), 3):
            neg, pos, unknown = columns[k : k + 3]
            labelled += [neg + unknown, pos, np.zeros_like(unknown)]
        return labelled

    return change_counts(tally, label_unknown)


def _threshold_of(
    tallies: Mapping[str, Tally], metric: Metric, threshold: float | None
) -> float:
    """Return the threshold, or 1 for verdicts that are 0 and 1."""
    if threshold is not None:
        return threshold

    scores = {score for tally in tallies.values() for score in tally.score.tolist()}
    if scores <= {0.0, 1.0}:
        return 1.0

    raise InputError(
        f"{metric.name} of groups needs a threshold, or verdicts that are 0 and 1; "
        f"found {len(scores):,} distinct scores.",
        option="threshold",
        example="0.5",
    )


def _highest(
    group_metrics: Mapping[str, GroupMetric], small_groups: Mapping[str, float]
) -> str:
    """Return the group with the highest value, of those that are not small."""
    defined = {
        name: group.value
        for name, group in group_metrics.items()
        if name not in small_groups and not math.isnan(group.value)
    }
    if not defined:
        raise InputError(
            "No group has a defined value, so none is the highest.", option="reference"
        )
    return max(defined, key=lambda name: defined[name])


def ratio_of_groups(first: GroupMetric, second: GroupMetric, level: float) -> Estimate:
    r"""Return the ratio of two values of different cases, from their intervals (MOVER).

    With the values a and b and their intervals from l to u (Donner and Zou 2012),

    .. math:: \frac{ab \mp \sqrt{(ab)^2 - l_a u_b (2a - l_a)(2b - u_b)}}
              {u_b (2b - u_b)}

    is the lower end with the minus; the upper one has :math:`u_a, l_b` and the plus. It
    is infinite where the interval of b reaches 0.
    """
    a = first.value
    b = second.value
    if not b > 0 or math.isnan(a):
        return estimate_from_interval(
            math.nan, math.nan, math.nan, level, _METHOD, name="ratio"
        )

    tail_probability = (1 - level) / 2
    a_below, a_above = first.distances(tail_probability)
    b_below, b_above = second.distances(tail_probability)
    low = _lower_end(a, b, a_low=a - a_below, b_high=b + b_above)
    high = _upper_end(a, b, a_high=a + a_above, b_low=b - b_below)

    # delta method on the logarithmic scale; an a of 0 adds no variance
    relative_variance = second.variance_estimate.variance / b**2
    if a > 0:
        relative_variance += first.variance_estimate.variance / a**2
    standard_error = a / b * math.sqrt(relative_variance)
    return estimate_from_interval(
        a / b, low, high, level, _METHOD, standard_error, name="ratio"
    )


_METHOD = "Donner and Zou 2012"


def _lower_end(a: float, b: float, a_low: float, b_high: float) -> float:
    """Return the lower end of the interval of a/b."""
    if not a > 0:
        return 0.0
    # the formula extended by (ab + root): no difference in the numerator, and no factor
    # 2b - b_high, which may be zero, in the denominator
    root = _root(a, b, a_low, b_high)
    return max(a_low * (2 * a - a_low) / (a * b + root), 0.0)


def _upper_end(a: float, b: float, a_high: float, b_low: float) -> float:
    """Return the upper end of the interval of a/b."""
    if not b_low > 0:
        # the ratio is unbounded where b may be 0
        return math.inf
    return (a * b + _root(a, b, a_high, b_low)) / (b_low * (2 * b - b_low))


def _root(a: float, b: float, a_end: float, b_end: float) -> float:
    """Return the square root of Donner and Zou's formula."""
    square = (a * b) ** 2 - a_end * b_end * (2 * a - a_end) * (2 * b - b_end)
    return math.sqrt(max(square, 0.0))


def _small_groups(tallies: Mapping[str, Tally]) -> dict[str, float]:
    """Return the sizes of groups with a small part of the cases, smallest first."""
    sizes = {name: float(tally.n_pos + tally.n_neg) for name, tally in tallies.items()}
    total = sum(sizes.values())
    by_size = sorted(sizes.items(), key=lambda group: group[1])
    return {name: size for name, size in by_size if size < _SMALL_GROUP * total}


def _notes_on_small_groups(small: Mapping[str, float]) -> list[str]:
    """Return a note with the names and sizes of small groups."""
    if not small:
        return []
    named = "; ".join(f"{name}: {number_of(size)}" for name, size in small.items())
    return [
        f"Groups with less than 2 % of the cases ({named}) are not used as the "
        "reference, and their ratios are imprecise."
    ]


def _notes_on_few_cases(group_metrics: Mapping[str, GroupMetric]) -> list[str]:
    """Return a note with the groups whose proportion is of very few cases."""
    few = [
        f"{name}: {number_of(group.proportion.sample_size)}"
        for name, group in group_metrics.items()
        if group.proportion is not None and group.proportion.sample_size < _FEW_CASES
    ]
    if not few:
        return []
    return [
        f"Fewer than {_FEW_CASES} cases in the denominator ({'; '.join(few)}): these "
        "p-values are approximate, and may be too small."
    ]


def _notes_on_four_fifths(pairs: Sequence[Pair]) -> list[str]:
    """Return notes on groups below four fifths of the highest rate.

    One on groups whose interval lies below, one on groups whose interval does not.
    """
    ratios = {pair.first: pair.ratio for pair in pairs if pair.ratio is not None}
    surely = [name for name, ratio in ratios.items() if ratio.high < _FOUR_FIFTHS]
    perhaps = [
        name
        for name, ratio in ratios.items()
        if ratio.value < _FOUR_FIFTHS <= ratio.high
    ]
    notes = []
    if surely:
        notes.append(
            "Below four fifths of the highest rate (four-fifths rule): "
            f"{'; '.join(surely)}."
        )

    if perhaps:
        notes.append(
            "Below four fifths of the highest rate in this sample, but the interval "
            f"includes larger ratios: {'; '.join(perhaps)}."
        )

    return notes
