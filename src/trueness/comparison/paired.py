"""Which classifier is better, and could the difference be chance?

Of a panel (the same cases) the influence values of two classifiers are subtracted case
by case; of different cases the variances are added.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from itertools import combinations
from typing import Any

import numpy as np

from trueness._core.arrays import Array, Floats, Ints, begins_run
from trueness._core.checks import cases as _cases
from trueness._core.checks import options as _options
from trueness._core.checks.errors import InputError
from trueness._core.checks.words import described, is_one, listing
from trueness._core.records import Estimate
from trueness.comparison.results import (
    SAME,
    Comparison,
    adjusted,
    smallest_p_value,
    together,
)
from trueness.counts.answers import of_counts, of_panel, refuse
from trueness.counts.resampling import Seed
from trueness.counts.values import Panel, Tally
from trueness.inference.any_statistic import (
    METHODS,
    bootstrap_statistic,
    constant_variance,
    varies,
)
from trueness.inference.bootstrap import bootstrap_values
from trueness.inference.differences import (
    BootstrapDifference,
    DeLongDifference,
    Difference,
    IndependentDifference,
    NamedDifference,
    PairedProportionDifference,
    variance_of_independent_difference,
)
from trueness.inference.estimates import (
    EvaluatedMeasure,
    evaluate_measure,
    reported_estimate,
)
from trueness.inference.intervals import effective_sample_size, proportion_sample
from trueness.inference.jackknife import Statistic, evaluate_statistic, number_from
from trueness.inference.sample import Sample, apply_design, check_prevalence_known
from trueness.inference.variance import (
    Influence,
    VarianceEstimate,
    estimate_variance,
    influence_at_rows,
    influence_difference,
)
from trueness.metrics.algebra import Metric, depends_on_prevalence
from trueness.metrics.grammar import metric as read_metric
from trueness.metrics.intervals import estimates, metric_measure
from trueness.ranking.areas import auc


@of_panel
def compare_auc(
    data: Panel | Tally | Mapping[Any, Tally],
    other: Tally | None = None,
    *,
    method: str = "student",
    margin: float | None = None,
    level: float = 0.95,
) -> Comparison:
    r"""Difference of two AUCs, with a confidence interval and a test.

    Which classifier ranks better, and could the difference be chance?

    .. math:: t = \frac{A_i - A_j}{\sqrt{\mathrm{var}(A_i - A_j)}}

    Where a class shows no difference at all, the interval allows for a kind of cases
    that was not seen: two copies on 8 cases are not proven equal.

    Parameters
    ----------
    data
        A panel (paired: the same cases), a mapping from name to tally (unpaired:
        different cases), or a tally. Cases for which a classifier gave no output must
        be left out first (``panel.observed()``).
    other
        A second tally, unpaired, when ``data`` is a tally.
    method
        ``"student"``: DeLong's variance with Student's quantile; for different cases
        Zou and Donner's interval. ``"delong"``: the published test, with the normal
        quantile, as R's pROC prints it.

    Notes
    -----
    The variance is DeLong's (1988, doi:10.2307/2531595), of clusters Obuchowski's;
    p-values are adjusted by Holm: docs/maths/comparison.md.

    Examples
    --------
    >>> p = Panel(["a", "b"], [[3, 6], [2, 4], [1, 2]], pos=[2, 1, 1], neg=[0, 1, 2])
    >>> pair = compare_auc(p).pairs[0]  # b is twice a
    >>> pair.difference.value, pair.p_value
    (0.0, 1.0)
    """
    level = _options.fraction(level, "level")
    _options.choice(method, ("student", "delong"), "method")
    if isinstance(data, Panel):
        if other is not None:
            raise InputError("compare_auc takes a panel alone; leave the rest out.")
        return _compare_auc_on_same_cases(data, method, margin, level)

    tallies = _unpaired_tallies(data, other)
    sides = [
        evaluate_statistic(tally, auc, level=level, name="AUC")
        for tally in tallies.values()
    ]
    if method == "student":
        return _compare_apart(tallies, sides, "AUC", margin=margin)

    labelled = [tally.labelled() for tally in tallies.values()]

    def difference(i: int, j: int) -> DeLongDifference:
        return _delong_difference_of_different_cases(
            sides[i], sides[j], labelled[i].n, labelled[j].n
        )

    return together(
        _delong_aucs(tallies, level),
        difference,
        margin=margin,
        paired=False,
        method="AUC",
        cases=labelled,
    )


def _unpaired_tallies(
    data: Tally | Mapping[Any, Tally], other: Tally | None
) -> dict[str, Tally]:
    """Return the tallies of different cases by name."""
    if isinstance(data, Tally) and isinstance(other, Tally):
        tallies = {"first": data, "second": other}
    elif isinstance(data, Mapping) and other is None:
        tallies = {str(name): tally for name, tally in data.items()}
    else:
        raise InputError(
            "compare_auc needs a panel (the same cases), a mapping of tallies or two "
            "tallies (different cases). Type trueness.compare_auc(panel)."
        )

    _cases.at_least_two(tuple(tallies), "compare_auc")
    for tally in tallies.values():
        _cases.both_classes(tally, "compare_auc")
    return tallies


def _compare_auc_on_same_cases(
    data: Panel, method: str, margin: float | None, level: float
) -> Comparison:
    """Return the comparison of the AUCs of a panel."""
    _cases.both_classes(data, "compare_auc")
    panel = _complete(data, "compare_auc")
    columns = measured_columns(panel, auc, "AUC", level)
    if method == "student":
        return _compare_outputs(panel, columns, margin, "AUC")

    sample = apply_design(panel)

    def difference(i: int, j: int) -> DeLongDifference:
        by_student = _paired_difference(sample, columns[i], columns[j])
        return DeLongDifference(by_student.value, by_student.standard_error)

    return together(
        _delong_aucs({name: panel[name] for name in panel.names}, level),
        difference,
        margin=margin,
        paired=True,
        method="AUC",
        cases=[panel],
    )


def _delong_aucs(tallies: Mapping[str, Tally], level: float) -> dict[str, Estimate]:
    """Return the AUC of each classifier with the normal interval by DeLong."""
    return {
        name: auc(tally, method="delong", level=level)
        for name, tally in tallies.items()
    }


def _delong_difference_of_different_cases(
    first: EvaluatedMeasure,
    second: EvaluatedMeasure,
    first_cases: float,
    second_cases: float,
) -> DeLongDifference:
    """Return a difference of two AUCs of different cases, tested as pROC does."""
    first_variance = first.variance_estimate.variance
    second_variance = second.variance_estimate.variance
    variance = first_variance + second_variance

    # Welch (1947), with the numbers of cases of both classes together
    variance_of_variance = first_variance**2 / (first_cases - 1)
    variance_of_variance += second_variance**2 / (second_cases - 1)
    degrees_of_freedom = math.inf
    if variance_of_variance > 0:
        degrees_of_freedom = variance**2 / variance_of_variance
    return DeLongDifference(
        value=first.value - second.value,
        standard_error=math.sqrt(variance),
        degrees_of_freedom=degrees_of_freedom,
    )


def _complete(panel: Panel, what: str) -> Panel:
    """Pass on labelled cases with an output of at least two classifiers each."""
    _cases.some_labels(panel, what)
    panel = panel.labelled()
    _cases.at_least_two(panel.names, what)
    _cases.complete_outputs(panel, what)
    return panel


def measured_columns(
    panel: Panel,
    statistic: Statistic,
    name: str,
    level: float,
    ends: tuple[float, float] = (0.0, 1.0),
) -> list[EvaluatedMeasure]:
    """Return the measure of every classifier, with its influence by panel row."""
    columns = []
    for classifier, output in zip(panel.names, panel.rows.T, strict=True):
        evaluated = evaluate_statistic(
            panel[classifier], statistic, ends=ends, level=level, name=name
        )
        # rows of the panel move it as the row of the tally that has their output
        influence = influence_at_rows(evaluated.influence, _tally_rows(output))
        columns.append(replace(evaluated, influence=influence))
    return columns


def _tally_rows(output: Floats) -> Ints:
    """Return the row of a tally, highest first, that each output of a panel has."""
    order = np.argsort(-output)
    rows = np.empty(output.size, dtype=np.intp)
    rows[order] = np.cumsum(begins_run(output[order])) - 1
    return rows


def _compare_outputs(
    panel: Panel, columns: Sequence[EvaluatedMeasure], margin: float | None, method: str
) -> Comparison:
    """Return the comparison of measures of the same cases; copies are named."""
    return _name_copies(_compare_columns(panel, columns, margin, method), panel)


def _name_copies(comparison: Comparison, panel: Panel) -> Comparison:
    """Return the comparison with the pairs marked that have the same output."""
    outputs = dict(zip(panel.names, panel.rows.T, strict=True))
    pairs = []
    for pair in comparison.pairs:
        # before every case is looked at
        may_be_copies = pair.difference.value == 0
        if may_be_copies and np.array_equal(outputs[pair.first], outputs[pair.second]):
            pair = replace(pair, difference=replace(pair.difference, method=SAME))
        pairs.append(pair)
    return replace(comparison, pairs=tuple(pairs))


def _compare_columns(
    panel: Panel, columns: Sequence[EvaluatedMeasure], margin: float | None, method: str
) -> Comparison:
    """Return the comparison of measures of the same cases."""
    sample = apply_design(panel)

    def difference(i: int, j: int) -> Difference:
        return _paired_difference(sample, columns[i], columns[j])

    return together(
        dict(zip(panel.names, map(reported_estimate, columns), strict=True)),
        difference,
        margin=margin,
        paired=True,
        method=method,
        cases=[panel],
        notes=_notes_on_constant_classes(panel, columns),
    )


def _paired_difference(
    sample: Sample[Panel], first: EvaluatedMeasure, second: EvaluatedMeasure
) -> Difference:
    """Return a difference of two measures, whose influence is subtracted by case."""
    variance_estimate = estimate_variance(
        sample.observed,
        influence_difference(first.influence, second.influence),
        within_class=first.within_class or sample.class_sizes_fixed,
    )
    return Difference.between(first, second, variance_estimate)


def _notes_on_constant_classes(
    panel: Panel, columns: Sequence[EvaluatedMeasure]
) -> list[str]:
    """Return a note for each pair that differs on the cases of one class only."""
    if not columns[0].within_class:
        return []

    notes = []
    for i, j in combinations(range(len(columns)), 2):
        gap = influence_difference(columns[i].influence, columns[j].influence)
        constant = [
            word
            for word, counts, influence in (
                ("negative", panel.neg, gap.by_negative),
                ("positive", panel.pos, gap.by_positive),
            )
            if _is_constant(counts, influence)
        ]
        # two that agree on all cases are copies, or as good as that
        if len(constant) == 1:
            notes.append(
                f"{panel.names[i]} and {panel.names[j]} differ alike on every "
                f"{constant[0]} case: the interval allows for cases of a kind that "
                "this sample does not contain."
            )
    return notes


# differences of equal numbers leave rounding: less variance of one case is none
_ROUNDING = 1e-24


def _is_constant(counts: Array, influence: Floats) -> bool:
    """Return whether all cases of a class have the same influence, up to rounding."""
    squares = float(counts @ np.asarray(influence) ** 2)
    return not float(counts.sum()) * squares > _ROUNDING


@of_panel
def compare_metric(
    data: Panel,
    metric: Metric | str = "accuracy",
    *,
    thresholds: float | Mapping[str, float] | Sequence[float] = 0.5,
    method: str = "auto",
    margin: float | None = None,
    level: float = 0.95,
) -> Comparison:
    """Which classifier is better at its threshold, on the same cases?

    A larger value counts as better when a margin is tested: of a metric that is better
    when lower, ``p_noninferior_second`` is that of the first.

    Parameters
    ----------
    metric
        Any metric, as a value or as text: ``"f1"``, ``"0.5*recall + 0.5*precision"``.
    thresholds
        One for all, a mapping from name to threshold, or a sequence in the order of the
        names.
    method
        ``"auto"``: Tango's score interval and test of shares of the same cases
        (accuracy, recall, specificity), Student's of all other metrics. ``"mcnemar"``
        gives shares McNemar's exact p-value, and an interval that agrees with it.

    Examples
    --------
    >>> p = Panel(["a", "b"], [[1, 1], [1, 0], [0, 1]], pos=[5, 6, 0], neg=[0, 0, 0])
    >>> compare_metric(p, "recall", method="mcnemar").pairs[0].p_value  # 2 / 2**6
    0.03125
    """
    level = _options.fraction(level, "level")
    _options.choice(method, ("auto", "mcnemar"), "method")
    chosen = read_metric(metric)
    if depends_on_prevalence(chosen):
        check_prevalence_known(data, f"compare_metric of {chosen.name}")
    votes = _complete(data, "compare_metric").vote(thresholds)
    sample = apply_design(votes)
    shared = _same_cases(chosen, sample)
    if method == "mcnemar":
        if not shared:
            raise InputError(
                "McNemar's test compares shares of the same cases (accuracy, recall, "
                f'specificity); found {chosen.name}. Type method="auto".'
            )
        why = "It counts single cases on which two differ."
        refuse(votes, "McNemar's test", {"weight": why, "cluster": why})
    values = {
        name: estimates(votes[name], 1.0, [chosen], level=level)[chosen.name]
        for name in votes.names
    }
    if not shared:
        columns = _metric_columns(sample, chosen, list(values.values()))
        return _compare_columns(votes, columns, margin, chosen.name)

    def difference(i: int, j: int) -> PairedProportionDifference:
        return _paired_proportion_difference(sample.observed, chosen, i, j, level)

    comparison = together(
        values,
        difference,
        margin=margin,
        paired=True,
        method=chosen.name,
        cases=[votes],
    )
    return _by_mcnemar(comparison, difference) if method == "mcnemar" else comparison


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


def _same_cases(m: Metric, sample: Sample[Panel]) -> bool:
    """Is it a share of cases that do not depend on who is flagged?"""
    if not m.is_share or m.ratio is None or m.ratio.under is None:
        return False
    if sample.reweighted and depends_on_prevalence(m):
        return False
    tp, fp, fn, tn = m.ratio.under
    return tp == fn and fp == tn


def _paired_proportion_difference(
    panel: Panel, metric: Metric, i: int, j: int, level: float
) -> PairedProportionDifference:
    """Return the difference of two proportions of the same cases.

    Weighted or clustered cases count as so many independent ones as vary as much.
    """
    ratio: Any = metric.ratio
    counts_positives, counts_negatives = ratio.under[:2]
    total = counts_negatives * float(panel.neg.sum())
    total += counts_positives * float(panel.pos.sum())
    if not total > 0:
        return PairedProportionDifference(math.nan, 0.0, 0.0, math.nan)

    # by how much more does the first count a negative, and a positive, of each row?
    tp, fp, fn, tn = ratio.over
    gap_of_negative = _gap_by_row(panel, i, j, flagged=fp, not_flagged=tn)
    gap_of_positive = _gap_by_row(panel, i, j, flagged=tp, not_flagged=fn)

    # McNemar's discordant cases: counted by the first only, by the second only
    only_first = _cases_where(panel, gap_of_negative > 0, gap_of_positive > 0)
    only_second = _cases_where(panel, gap_of_negative < 0, gap_of_positive < 0)
    difference = (only_first - only_second) / total

    influence = Influence(
        counts_negatives * (gap_of_negative - difference) / total,
        counts_positives * (gap_of_positive - difference) / total,
    )
    variance_estimate = estimate_variance(panel, influence)
    variance_of_case = (only_first + only_second) / total - difference * difference
    sample = proportion_sample(
        panel,
        np.full(len(panel), counts_negatives > 0),
        np.full(len(panel), counts_positives > 0),
        variance_estimate.uncorrected_variance,
        varies=variance_of_case > 0,
    )
    number = effective_sample_size(variance_of_case, sample, level)
    return PairedProportionDifference(
        sample_size=number,
        only_first=number * only_first / total,
        only_second=number * only_second / total,
        standard_error=variance_estimate.standard_error,
    )


def _gap_by_row(
    panel: Panel, i: int, j: int, *, flagged: float, not_flagged: float
) -> Floats:
    """Return how much more the first of two classifiers counts a case of each row."""
    first = np.where(panel.rows[:, i] == 1, flagged, not_flagged).astype(np.float64)
    second = np.where(panel.rows[:, j] == 1, flagged, not_flagged).astype(np.float64)
    return np.asarray(first - second)


def _cases_where(panel: Panel, of_negatives: Array, of_positives: Array) -> float:
    """Return the number of negatives, and of positives, of the chosen rows."""
    return float(panel.neg[of_negatives].sum()) + float(panel.pos[of_positives].sum())


def _by_mcnemar(
    comparison: Comparison,
    contrast: Callable[[int, int], PairedProportionDifference],
) -> Comparison:
    """Return pairs with McNemar's exact p-values; intervals agree with them."""
    positions = {name: k for k, name in enumerate(comparison.names)}
    pairs = []
    for pair in comparison.pairs:
        discordant = contrast(positions[pair.first], positions[pair.second])
        p_value = _exact_mcnemar_p_value(discordant)
        difference = pair.difference
        if p_value > 1 - difference.level:
            # zero is possible by the test
            difference = replace(
                difference,
                low=min(difference.low, 0.0),
                high=max(difference.high, 0.0),
            )
        pairs.append(replace(pair, difference=difference, p_value=p_value))

    adjusted_pairs = adjusted(pairs)
    return replace(
        comparison, pairs=adjusted_pairs, p_value=smallest_p_value(adjusted_pairs)
    )


def _exact_mcnemar_p_value(difference: PairedProportionDifference) -> float:
    """Return the two-sided binomial p-value of the discordant cases."""
    from scipy.special import bdtr

    only_first = round(difference.only_first)
    only_second = round(difference.only_second)
    fewer = min(only_first, only_second)
    return min(1.0, 2 * float(bdtr(fewer, only_first + only_second, 0.5)))


@of_panel
def compare(
    data: Panel,
    statistic: Statistic,
    *,
    method: str = "bootstrap",
    ends: tuple[float, float] = (0.0, 1.0),
    margin: float | None = None,
    level: float = 0.95,
    rng: Seed = 0,
    replicates: int = 1000,
) -> Comparison:
    """Difference of any statistic of two classifiers, with an interval and a test.

    Which classifier is better by any number, on the same cases?

    Parameters
    ----------
    statistic
        A function from a tally to a number or an :class:`Estimate`, for example
        ``trueness.average_precision``. An analysis of Trueness has influence values,
        which are subtracted case by case.
    method
        Of other functions, as in :func:`estimate`: ``"bootstrap"`` draws the same cases
        again for all classifiers, ``"jackknife"`` is for smooth functions.

    Examples
    --------
    >>> p = Panel(["a", "b"], [[1, 1], [1, 0], [0, 1]], pos=[5, 6, 0], neg=[0, 0, 9])
    >>> found = compare(p, lambda t: t.pos[0] / t.n_pos)
    >>> found.pairs[0].difference.value  # 11/11 - 5/11
    0.5454545454545454
    """
    level = _options.fraction(level, "level")
    _options.statistic(statistic, "compare")
    _options.choice(method, METHODS, "method")
    name = name_of(statistic)
    panel = _complete(data, "compare")
    if method == "bootstrap" and not hasattr(statistic, "measure"):
        return _compare_by_bootstrap(
            panel,
            statistic,
            ends=ends,
            margin=margin,
            level=level,
            rng=rng,
            replicates=replicates,
        )
    columns = measured_columns(panel, statistic, name, level, ends)
    return _compare_outputs(panel, columns, margin, name)


def _compare_by_bootstrap(
    panel: Panel,
    statistic: Statistic,
    *,
    ends: tuple[float, float],
    margin: float | None,
    level: float,
    rng: Seed,
    replicates: int,
) -> Comparison:
    """Return the comparison of any statistic on the same redrawn cases."""
    name = name_of(statistic)
    # each classifier has the estimate that it has alone
    estimates_by_name = {
        classifier: bootstrap_statistic(
            panel[classifier],
            statistic,
            ends=ends,
            level=level,
            rng=rng,
            replicates=replicates,
            name=name,
        ).estimate
        for classifier in panel.names
    }

    def numbers(cases: Panel) -> list[float]:
        return [
            number_from(statistic, cases[classifier], may_be_undefined=True)
            for classifier in panel.names
        ]

    sample = apply_design(panel)
    values = bootstrap_values(sample, numbers, replicates, _options.generator(rng))
    points = [estimated.value for estimated in estimates_by_name.values()]

    def difference(i: int, j: int) -> NamedDifference:
        return _bootstrap_difference(
            points[i] - points[j],
            values[:, i] - values[:, j],
            constant_variance(sample.observed),
            largest_possible=ends[1] - ends[0],
        )

    comparison = together(
        estimates_by_name,
        difference,
        margin=margin,
        paired=True,
        method=name,
        cases=[panel],
    )
    return _name_copies(comparison, panel)


def _bootstrap_difference(
    value: float,
    replicates: Floats,
    constant: VarianceEstimate,
    *,
    largest_possible: float,
) -> NamedDifference:
    """Return a difference by its replicates; if none varies, by what was not seen."""
    if varies(replicates):
        return BootstrapDifference(value, replicates[np.isfinite(replicates)])
    return Difference(value, constant, largest_possible)


@of_counts
def compare_groups(
    data: Mapping[Any, Tally],
    statistic: Statistic,
    *,
    reference: object = None,
    method: str = "bootstrap",
    ends: tuple[float, float] = (0.0, 1.0),
    level: float = 0.95,
    rng: Seed = 0,
    replicates: int = 1000,
) -> Comparison:
    """Difference of any statistic between groups, with an interval and a test.

    Does a statistic differ between groups, and could that be chance? Cases of a cluster
    that lie in two groups count as if they were independent.

    Parameters
    ----------
    data
        A mapping from name to tally, or data with ``by=``; each case is in one group
        only.
    statistic
        A function from a tally to a number or an :class:`Estimate`, for example
        ``trueness.average_precision`` or ``lambda t: trueness.partial_auc(t, fpr=(0,
        0.1))``.
    reference
        Compare every other group with this one; all pairs when None.
    method
        Of functions that are no analysis of Trueness, as in :func:`estimate`:
        ``"bootstrap"``, or ``"jackknife"`` for smooth ones.

    Examples
    --------
    >>> sites = {"A": Tally([2, 1], [1, 9], [8, 2]), "B": Tally([2, 1], [5, 5], [5, 5])}
    >>> found = compare_groups(sites, lambda t: t.pos[0] / t.n_pos)
    >>> round(found.pairs[0].difference.value, 12)  # 8/10 - 5/10
    0.3
    """
    level = _options.fraction(level, "level")
    _cases.mapping_of_counts(data, "compare_groups")
    _options.statistic(statistic, "compare_groups")
    _options.choice(method, METHODS, "method")
    _cases.at_least_two([str(n) for n in data], "compare_groups")
    names, pairs = list(data), None
    if reference is not None:
        if not is_one(reference) or reference not in names:
            raise InputError(
                f"reference must be one of the groups {listing(names)}; found "
                f"{described(reference)}."
            )
        at = names.index(reference)
        pairs = [(k, at) for k in range(len(names)) if k != at]
    tallies = {str(name): tally for name, tally in data.items()}
    if method == "bootstrap" and not hasattr(statistic, "measure"):
        return _compare_groups_by_bootstrap(
            tallies,
            statistic,
            pairs=pairs,
            ends=ends,
            level=level,
            rng=rng,
            replicates=replicates,
        )
    name = name_of(statistic)
    sides = [
        evaluate_statistic(tally, statistic, ends=ends, level=level, name=name)
        for tally in tallies.values()
    ]
    return _compare_apart(tallies, sides, name, pairs=pairs)


def _compare_groups_by_bootstrap(
    tallies: Mapping[str, Tally],
    statistic: Statistic,
    *,
    pairs: list[tuple[int, int]] | None,
    ends: tuple[float, float],
    level: float,
    rng: Seed,
    replicates: int,
) -> Comparison:
    """Return the comparison of any statistic, each group redrawn by itself."""
    name = name_of(statistic)
    bootstrapped = [
        bootstrap_statistic(
            tally,
            statistic,
            ends=ends,
            level=level,
            rng=rng,
            replicates=replicates,
            name=name,
        )
        for tally in tallies.values()
    ]
    # the same seed draws similar groups alike: their replicates are put out of order
    generator = np.random.default_rng(0)
    values = [generator.permutation(group.replicates) for group in bootstrapped]
    labelled = [tally.labelled() for tally in tallies.values()]

    def difference(i: int, j: int) -> NamedDifference:
        return _bootstrap_difference(
            bootstrapped[i].estimate.value - bootstrapped[j].estimate.value,
            values[i] - values[j],
            variance_of_independent_difference(
                constant_variance(labelled[i]), constant_variance(labelled[j])
            ),
            largest_possible=ends[1] - ends[0],
        )

    estimates_by_name = {
        group: result.estimate
        for group, result in zip(tallies, bootstrapped, strict=True)
    }
    return together(
        estimates_by_name,
        difference,
        pairs=pairs,
        paired=False,
        method=name,
        cases=labelled,
    )


def name_of(statistic: Callable[..., Any]) -> str:
    """Name a statistic as its author did."""
    name = getattr(statistic, "__name__", "statistic")
    return "statistic" if name == "<lambda>" else str(name)


def _compare_apart(
    tallies: Mapping[str, Tally],
    sides: Sequence[EvaluatedMeasure],
    method: str,
    *,
    margin: float | None = None,
    pairs: list[tuple[int, int]] | None = None,
) -> Comparison:
    """Compare the values of different cases."""

    def difference(i: int, j: int) -> IndependentDifference:
        return IndependentDifference(sides[i], sides[j])

    return together(
        dict(zip(tallies, map(reported_estimate, sides), strict=True)),
        difference,
        margin=margin,
        pairs=pairs,
        paired=False,
        method=method,
        cases=[tally.labelled() for tally in tallies.values()],
    )
