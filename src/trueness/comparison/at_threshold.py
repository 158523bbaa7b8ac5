"""Difference or ratio of a metric between classifiers, with an interval and a test.

Which classifier is better at its threshold, on the same cases?

Proportions of the same cases have Tango's interval or McNemar's exact test; other
metrics have influence values by the four counts.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial

import numpy as np

from trueness._core.arrays import Array, Floats
from trueness._core.checks import options as _options
from trueness._core.checks.errors import InputError
from trueness._core.records import Estimate
from trueness.comparison.paired import compare_columns, complete_panel
from trueness.comparison.predictive_values import (
    PREDICTIVE_VALUE_TESTS,
    PREDICTIVE_VALUES,
    score_statistic,
)
from trueness.comparison.results import (
    Comparison,
    adjust_for_pairs,
    compare_pairs,
    smallest_p_value,
)
from trueness.counts.answers import of_panel, refuse
from trueness.counts.values import Panel
from trueness.inference.differences import (
    PairedProportionDifference,
)
from trueness.inference.estimates import (
    EvaluatedMeasure,
    estimate_from_interval,
    estimate_from_variance,
    evaluate_measure,
)
from trueness.inference.intervals import (
    STUDENT,
    effective_sample_size,
    proportion_sample,
)
from trueness.inference.sample import Sample, apply_design, check_prevalence_known
from trueness.inference.variance import (
    Influence,
    estimate_variance,
)
from trueness.metrics.algebra import Metric, depends_on_prevalence
from trueness.metrics.grammar import defined_metric, metric_as_typed
from trueness.metrics.intervals import estimates, metric_measure


@of_panel
def compare_metric(
    data: Panel,
    metric: Metric | str = "accuracy",
    *,
    thresholds: float | Mapping[str, float] | Sequence[float] = 0.5,
    method: str = "auto",
    effect: str = "difference",
    margin: float | None = None,
    level: float = 0.95,
) -> Comparison:
    """Difference or ratio of a metric between classifiers, with an interval and a test.

    Which classifier is better at its threshold, on the same cases?

    With a margin, a larger value counts as better. For metrics where lower is better,
    ``p_noninferior_second`` is the p-value of the first classifier.

    Parameters
    ----------
    metric
        Any metric, as a value or as text: ``"f1"``, ``"0.5*recall + 0.5*precision"``.
    thresholds
        One for all, a mapping from name to threshold, or a sequence in the order of the
        names.
    method
        ``"auto"``: Tango's score interval and test for proportions of the same cases
        (accuracy, recall, specificity), Student's for all other metrics. ``"mcnemar"``:
        McNemar's exact p-value for proportions, and an interval that agrees with it.
        ``"leisenring"``, ``"kosinski"``: the generalized score test of two predictive
        values (precision, npv), and the weighted one; intervals stay Student's.
    effect
        ``"ratio"`` adds the ratio of each pair (relative sensitivity, relative PPV) as
        ``.ratio``, with Student's interval on the logarithmic scale; p-values stay
        those of the difference. ``"difference"`` leaves it out.

    Notes
    -----
    If only cases that some test flags are verified (have a label), values and
    differences refer to these cases. The ratios of recall and of fpr refer to all cases
    (Schatzkin et al. 1987).

    References
    ----------
    Schatzkin et al. 1987, Am. J. Epidemiol. 125:672,
    doi:10.1093/oxfordjournals.aje.a114580.
    Leisenring, Alonzo, Pepe 2000, Biometrics 56:345,
    doi:10.1111/j.0006-341X.2000.00345.x.
    Kosinski 2013, Stat. Med. 32:964, doi:10.1002/sim.5587.

    Examples
    --------
    >>> p = Panel(["a", "b"], [[1, 1], [1, 0], [0, 1]], pos=[5, 6, 0], neg=[0, 0, 0])
    >>> compare_metric(p, "recall", method="mcnemar").pairs[0].p_value  # 2 / 2**6
    0.03125
    """
    level = _options.fraction(level, "level")
    _options.choice(method, ("auto", "mcnemar", *PREDICTIVE_VALUE_TESTS), "method")
    _options.choice(effect, ("difference", "ratio"), "effect")
    known_metric = defined_metric(metric)
    name_as_typed = metric_as_typed(metric).name
    if depends_on_prevalence(known_metric):
        check_prevalence_known(data, f"compare_metric of {name_as_typed}")

    votes = complete_panel(data, "compare_metric").vote(thresholds)
    verification_notes = _notes_on_verification(data.vote(thresholds))
    sample = apply_design(votes)
    same_cases = _has_fixed_denominator(known_metric, sample)

    if method == "mcnemar":
        _check_mcnemar(known_metric, votes, same_cases=same_cases)
    if method in PREDICTIVE_VALUE_TESTS:
        _check_predictive_value(known_metric, sample, votes, method)

    values = {}
    for name in votes.names:
        estimate = estimates(votes[name], 1.0, [known_metric], level=level)[
            known_metric.name
        ]
        values[name] = replace(estimate, name=name_as_typed)

    # influence values: of metrics whose denominator differs by classifier, and of
    # ratios
    columns = []
    if effect == "ratio" or not same_cases:
        columns = _metric_columns(sample, known_metric, list(values.values()))

    # precision or F1, for example: their denominator depends on what is flagged
    if not same_cases:
        comparison = compare_columns(votes, columns, margin, name_as_typed)
        if method in PREDICTIVE_VALUE_TESTS:
            comparison = _replace_by_score_test(comparison, votes, known_metric, method)
        comparison = _add_ratios(comparison, sample, columns, effect, level)
        return replace(comparison, notes=(*verification_notes, *comparison.notes))

    # accuracy, recall or specificity: the discordant cases decide (Tango 1998)
    def difference(i: int, j: int) -> PairedProportionDifference:
        return _paired_proportion_difference(sample.observed, known_metric, i, j, level)

    comparison = compare_pairs(
        values,
        difference,
        margin=margin,
        paired=True,
        measure=name_as_typed,
        cases=[votes],
        notes=verification_notes,
    )
    if method == "mcnemar":
        comparison = _replace_by_mcnemar_test(comparison, difference)

    return _add_ratios(comparison, sample, columns, effect, level)


def _check_mcnemar(metric: Metric, votes: Panel, *, same_cases: bool) -> None:
    """Stop at metrics and designs for which McNemar's test is not valid."""
    if not same_cases:
        raise InputError(
            "McNemar's test compares proportions on the same cases (accuracy, "
            f"recall, specificity); found {metric.name}.",
            option="method",
            example="auto",
        )

    why = "It counts the discordant cases, one by one."
    refuse(votes, "McNemar's test", {"weight": why, "cluster": why})


def _notes_on_verification(votes: Panel) -> tuple[str, ...]:
    """Return a note if only cases that some classifier flags were verified."""
    flagged_by_none = ~(votes.rows == 1).any(axis=1)
    verified = float((votes.pos + votes.neg)[flagged_by_none].sum())
    unverified = float(votes.unknown[flagged_by_none].sum())
    if verified or not unverified:
        return ()

    return (
        "Only flagged cases were verified, so values and differences describe these "
        'cases. Ratios of recall and fpr (effect="ratio") hold for all cases.',
    )


def _check_predictive_value(
    metric: Metric, sample: Sample[Panel], votes: Panel, method: str
) -> None:
    """Stop at metrics and designs for which a score test is not valid."""
    if metric.name not in PREDICTIVE_VALUES:
        raise InputError(
            f"{method.capitalize()}'s test compares predictive values (precision or "
            f"npv); found {metric.name}.",
            option="method",
            example="auto",
        )

    why = "It counts the cases of a cohort, one by one."
    refuse(votes, f"{method.capitalize()}'s test", {"weight": why, "cluster": why})
    if sample.reweighted:
        raise InputError(
            f"{method.capitalize()}'s test uses the prevalence of the sample; found "
            "another prevalence.",
            option="method",
            example="auto",
        )


def _replace_by_score_test(
    comparison: Comparison, votes: Panel, metric: Metric, method: str
) -> Comparison:
    """Return a comparison with the p-values of a score test; intervals stay."""
    from scipy.special import ndtr

    positions = {name: k for k, name in enumerate(comparison.names)}
    pairs = []
    for pair in comparison.pairs:
        statistic = score_statistic(
            votes, metric.name, positions[pair.first], positions[pair.second], method
        )
        # the signed root of a score statistic is standard normal
        p_value = 2 * float(ndtr(-abs(statistic)))
        pairs.append(replace(pair, statistic=statistic, p_value=p_value))

    adjusted_pairs = adjust_for_pairs(pairs)
    return replace(
        comparison, pairs=adjusted_pairs, p_value=smallest_p_value(adjusted_pairs)
    )


def _add_ratios(
    comparison: Comparison,
    sample: Sample[Panel],
    columns: Sequence[EvaluatedMeasure],
    effect: str,
    level: float,
) -> Comparison:
    """Return a comparison with the ratio of each pair, if ratios are requested."""
    if effect != "ratio":
        return comparison

    by_name = dict(zip(comparison.names, columns, strict=True))
    pairs = []
    for pair in comparison.pairs:
        first = by_name[pair.first]
        second = by_name[pair.second]
        ratio = _paired_ratio(sample, first, second, level)
        pairs.append(replace(pair, ratio=ratio))

    return replace(comparison, pairs=tuple(pairs))


def _paired_ratio(
    sample: Sample[Panel],
    first: EvaluatedMeasure,
    second: EvaluatedMeasure,
    level: float,
) -> Estimate:
    r"""Return the ratio of two measures of the same cases, by the delta method.

    .. math:: u_i = \frac{u_{1i}}{\theta_2} - \frac{\theta_1}{\theta_2^2} u_{2i}
    """
    if not second.value > 0:
        return estimate_from_interval(
            math.nan, math.nan, math.nan, level, STUDENT, name="ratio"
        )

    ratio = first.value / second.value
    # the formula above: (u_1 - ratio u_2) / theta_2
    influence = Influence(
        by_negative=(first.influence.by_negative - ratio * second.influence.by_negative)
        / second.value,
        by_positive=(first.influence.by_positive - ratio * second.influence.by_positive)
        / second.value,
    )
    variance_estimate = estimate_variance(
        sample.observed,
        influence,
        within_class=first.within_class or sample.class_sizes_fixed,
    )
    return estimate_from_variance(
        ratio, variance_estimate, (0.0, math.inf), level, name="ratio"
    )


def _metric_columns(
    sample: Sample[Panel], metric: Metric, reported: Sequence[Estimate]
) -> list[EvaluatedMeasure]:
    """Return a metric of each classifier, with its influence by row of the panel."""
    columns = []
    for estimate, output in zip(reported, sample.target_counts.rows.T, strict=True):
        evaluated = evaluate_measure(
            sample, partial(metric_measure, metric, output == 1)
        )
        columns.append(replace(evaluated, value=estimate.value, estimate=estimate))
    return columns


def _has_fixed_denominator(metric: Metric, sample: Sample[Panel]) -> bool:
    """Return whether it is, as recall, a proportion of the same cases for all."""
    if not metric.is_proportion or metric.ratio is None or metric.ratio.under is None:
        return False
    if sample.reweighted and depends_on_prevalence(metric):
        return False

    # a class counts as a whole, however many of its cases are flagged
    tp, fp, fn, tn = metric.ratio.under
    return tp == fn and fp == tn


def _paired_proportion_difference(
    panel: Panel, metric: Metric, first: int, second: int, level: float
) -> PairedProportionDifference:
    """Return the difference of two proportions of the same cases.

    Weighted or clustered cases count by their effective sample size.
    """
    ratio = metric.ratio
    assert ratio is not None and ratio.under is not None  # noqa: S101, PT018  # a rate
    # 1 for a class whose cases the denominator counts, otherwise 0
    counts_positives, counts_negatives = ratio.under[:2]
    total = counts_negatives * float(panel.neg.sum())
    total += counts_positives * float(panel.pos.sum())
    if not total > 0:
        return PairedProportionDifference(math.nan, 0.0, 0.0, math.nan)

    # how much more the first classifier counts a negative, or a positive, of each row
    tp, fp, fn, tn = ratio.over
    gap_of_negative = _gap_by_row(panel, first, second, flagged=fp, not_flagged=tn)
    gap_of_positive = _gap_by_row(panel, first, second, flagged=tp, not_flagged=fn)

    # McNemar's discordant cases: counted by the first only, by the second only
    only_first = _cases_where(panel, gap_of_negative > 0, gap_of_positive > 0)
    only_second = _cases_where(panel, gap_of_negative < 0, gap_of_positive < 0)
    difference = (only_first - only_second) / total

    # a case moves the mean gap by its own gap less the mean
    influence = Influence(
        counts_negatives * (gap_of_negative - difference) / total,
        counts_positives * (gap_of_positive - difference) / total,
    )
    variance_estimate = estimate_variance(panel, influence)
    # a gap is -1, 0 or 1, so its square counts the discordant cases
    variance_of_case = (only_first + only_second) / total - difference * difference
    sample = proportion_sample(
        panel,
        np.full(len(panel), counts_negatives > 0),
        np.full(len(panel), counts_positives > 0),
        variance_estimate.uncorrected_variance,
        varies=variance_of_case > 0,
    )
    effective_size = effective_sample_size(variance_of_case, sample, level)
    return PairedProportionDifference(
        sample_size=effective_size,
        only_first=effective_size * only_first / total,
        only_second=effective_size * only_second / total,
        standard_error=variance_estimate.standard_error,
    )


def _gap_by_row(
    panel: Panel, first: int, second: int, *, flagged: float, not_flagged: float
) -> Floats:
    """Return how much more the first of two classifiers counts a case of each row."""
    first_count = np.where(panel.rows[:, first] == 1, flagged, not_flagged).astype(
        np.float64
    )
    second_count = np.where(panel.rows[:, second] == 1, flagged, not_flagged).astype(
        np.float64
    )
    return np.asarray(first_count - second_count)


def _cases_where(
    panel: Panel, rows_of_negatives: Array, rows_of_positives: Array
) -> float:
    """Return the number of negatives in some rows and of positives in others."""
    negatives = float(panel.neg[rows_of_negatives].sum())
    positives = float(panel.pos[rows_of_positives].sum())
    return negatives + positives


def _replace_by_mcnemar_test(
    comparison: Comparison,
    contrast: Callable[[int, int], PairedProportionDifference],
) -> Comparison:
    """Return a comparison with McNemar's exact p-values, and intervals that agree."""
    positions = {name: k for k, name in enumerate(comparison.names)}
    pairs = []
    for pair in comparison.pairs:
        discordant = contrast(positions[pair.first], positions[pair.second])
        p_value = _exact_mcnemar_p_value(discordant)
        difference = pair.difference
        if p_value > 1 - difference.level:
            # the test does not reject zero, so the interval must contain it
            difference = replace(
                difference,
                low=min(difference.low, 0.0),
                high=max(difference.high, 0.0),
            )
        pairs.append(replace(pair, difference=difference, p_value=p_value))

    adjusted_pairs = adjust_for_pairs(pairs)
    return replace(
        comparison, pairs=adjusted_pairs, p_value=smallest_p_value(adjusted_pairs)
    )


def _exact_mcnemar_p_value(difference: PairedProportionDifference) -> float:
    """Return the two-sided binomial p-value of the discordant cases."""
    from scipy.special import bdtr

    only_first = round(difference.only_first)
    only_second = round(difference.only_second)
    fewer = min(only_first, only_second)
    # among discordant cases, each classifier is right with probability 1/2
    return min(1.0, 2 * float(bdtr(fewer, only_first + only_second, 0.5)))
