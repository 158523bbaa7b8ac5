"""Which is better by any number: a classifier on the same cases, or a group of cases?

An analysis of Trueness has influence values; any other function is computed on redrawn
cases, or by the jackknife.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from trueness._core.arrays import Floats
from trueness._core.checks import cases as _cases
from trueness._core.checks import options as _options
from trueness._core.checks.errors import InputError, PythonCode
from trueness._core.checks.words import described, is_one, listing
from trueness._core.data_types import LabelValue
from trueness.comparison.at_threshold import compare_metric
from trueness.comparison.group_metrics import HIGHEST, compare_group_metrics
from trueness.comparison.paired import (
    compare_independent,
    compare_outputs,
    complete_panel,
    measured_columns,
    name_copies,
    title_of,
)
from trueness.comparison.results import (
    Comparison,
    compare_pairs,
)
from trueness.counts.answers import of_counts, of_panel
from trueness.counts.resampling import Seed
from trueness.counts.values import Panel, Tally, holds_tests
from trueness.inference.any_statistic import (
    METHODS,
    STATISTIC_BY_NAME,
    bootstrap_statistic,
    constant_variance,
    varies,
)
from trueness.inference.bootstrap import bootstrap_values
from trueness.inference.differences import (
    BootstrapDifference,
    Difference,
    NamedDifference,
    variance_of_independent_difference,
)
from trueness.inference.jackknife import Statistic, evaluate_statistic, number_from
from trueness.inference.sample import apply_design
from trueness.inference.variance import VarianceEstimate
from trueness.metrics.algebra import Metric
from trueness.ranking.areas import auc


@of_panel
def compare(
    data: Panel,
    statistic: Statistic | Metric | str | None = None,
    *,
    method: str = "bootstrap",
    value_range: tuple[float, float] = (0.0, 1.0),
    margin: float | None = None,
    level: float = 0.95,
    rng: Seed = 0,
    replicates: int = 1000,
) -> Comparison:
    """Difference of any statistic of two classifiers, with an interval and a test.

    Which classifier is better by a statistic of your own, on the same cases?

    Parameters
    ----------
    statistic
        A name: ``"auc"``, ``"brier"``; for tests with results 0 and 1 also a metric
        such as ``"sensitivity"``. Or a function from a tally to a number or an
        :class:`Estimate`, such as ``trueness.average_precision``. By default the AUC,
        for tests the accuracy. For analyses of Trueness, influence values are
        subtracted case by case.
    method
        For other functions, as in :func:`estimate`: ``"bootstrap"`` draws the same
        cases again for all classifiers, ``"jackknife"`` is for smooth functions. For
        metrics of tests, as in :func:`compare_metric`.

    Examples
    --------
    >>> p = Panel(["a", "b"], [[1, 1], [1, 0], [0, 1]], pos=[5, 6, 0], neg=[0, 0, 9])
    >>> comparison = compare(p, lambda t: t.pos[0] / t.n_pos)
    >>> comparison.pairs[0].difference.value  # 11/11 - 5/11
    0.5454545454545454
    """
    level = _options.fraction(level, "level")
    are_verdicts = holds_tests(data)
    statistic_was_named = statistic is not None
    if statistic is None:
        statistic = "accuracy" if are_verdicts else auc

    measure = statistic_or_metric(statistic)
    if isinstance(measure, Metric):
        if not are_verdicts:
            raise InputError(
                f"{measure.name} of scores depends on a threshold.",
                example=PythonCode(
                    f'trueness.compare_metric(data, "{measure.name}", thresholds=0.5)'
                ),
            )
        test = "auto" if method == "bootstrap" else method
        # by the name that was typed: a test may be known for one name of a metric only
        metric = statistic if isinstance(statistic, str) else measure
        comparison = compare_metric(
            data, metric, method=test, margin=margin, level=level
        )
        if statistic_was_named:
            return comparison
        return _add_note_on_accuracy(comparison)

    _options.choice(method, METHODS, "method")
    _options.statistic(measure, "compare")
    name = title_of(measure)
    panel = complete_panel(data, "compare")
    # a function of the user's own has no influence values, so cases are redrawn
    if method == "bootstrap" and not hasattr(measure, "measure"):
        return _compare_by_bootstrap(
            panel,
            measure,
            ends=value_range,
            margin=margin,
            level=level,
            rng=rng,
            replicates=replicates,
        )

    columns = measured_columns(panel, measure, name, level, value_range)
    return compare_outputs(panel, columns, margin, name)


def _add_note_on_accuracy(comparison: Comparison) -> Comparison:
    """Return a comparison with a note on the two rates that accuracy mixes."""
    advice = (
        'Accuracy mixes sensitivity and specificity. Type compare(data, "sensitivity") '
        'or compare(data, "specificity") for each.'
    )
    return replace(comparison, notes=(*comparison.notes, advice))


def statistic_or_metric(statistic: Statistic | Metric | str) -> Statistic | Metric:
    """Return the analysis or metric of this name; anything else unchanged."""
    if isinstance(statistic, str):
        named: Statistic | Metric = STATISTIC_BY_NAME.load()(statistic)
        return named
    return statistic


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
    """Return the comparison of classifiers on the same redrawn cases."""
    name = title_of(statistic)
    # the estimate of each classifier is the same as without the others
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

    def statistics_of(cases: Panel) -> list[float]:
        return [
            number_from(statistic, cases[classifier], may_be_undefined=True)
            for classifier in panel.names
        ]

    sample = apply_design(panel)
    replicates_by_classifier = bootstrap_values(
        sample, statistics_of, replicates, _options.generator(rng)
    )
    values_of_sample = [estimated.value for estimated in estimates_by_name.values()]

    def difference(i: int, j: int) -> NamedDifference:
        return _bootstrap_difference(
            values_of_sample[i] - values_of_sample[j],
            # redrawn together, so that the correlation of the two is in the differences
            replicates_by_classifier[:, i] - replicates_by_classifier[:, j],
            constant_variance(sample.observed),
            largest_possible=ends[1] - ends[0],
        )

    comparison = compare_pairs(
        estimates_by_name,
        difference,
        margin=margin,
        paired=True,
        measure=name,
        cases=[panel],
    )
    return name_copies(comparison, panel)


def _bootstrap_difference(
    value: float,
    replicates: Floats,
    variance_if_constant: VarianceEstimate,
    *,
    largest_possible: float,
) -> NamedDifference:
    """Return a difference from replicates; if these are constant, from a variance."""
    if varies(replicates):
        return BootstrapDifference(value, replicates[np.isfinite(replicates)])
    return Difference(value, variance_if_constant, largest_possible)


@of_counts
def compare_groups(
    data: Mapping[Any, Tally],
    statistic: Statistic | Metric | str = auc,
    *,
    threshold: float | None = None,
    reference: LabelValue = None,
    effect: str = "difference",
    method: str = "bootstrap",
    value_range: tuple[float, float] = (0.0, 1.0),
    level: float = 0.95,
    rng: Seed = 0,
    replicates: int = 1000,
) -> Comparison:
    """Difference or ratio of any statistic between groups, with interval and test.

    Does a statistic differ between groups, and could that be chance? Cases of one
    cluster in different groups count as independent.

    Parameters
    ----------
    data
        A mapping from name to tally, or data with ``by=``; each case is in one group
        only.
    statistic
        A name such as ``"auc"`` (the default), a metric such as ``"recall"`` or
        ``"selection_rate"``, or a function from a tally to a number or an
        :class:`Estimate`, for example ``trueness.average_precision`` or ``lambda t:
        trueness.partial_auc(t, fpr=(0, 0.1))``.
    threshold
        Threshold of a metric; scores that are 0 and 1 need none.
    reference
        Compare every other group with this one; all pairs when None. ``"highest"`` is
        the group with the highest value of a metric, among groups with at least 2 % of
        the cases.
    effect
        ``"ratio"`` adds the ratio of a metric as ``.ratio`` of each pair. For the
        ``flagged_rate`` with ``reference="highest"`` this is the impact ratio. Notes
        name the groups below four fifths, and those with less than 2 % of the cases.
    method
        For your own functions, as in :func:`estimate`: ``"bootstrap"``, or
        ``"jackknife"`` for smooth ones.

    References
    ----------
    Newcombe 1998, Stat. Med. 17:873 (method 10: gap of two proportions). Zou, Donner
    2008, doi:10.1002/sim.3095 (gap). Donner, Zou 2012, doi:10.1177/0962280210383082
    (ratio).

    Examples
    --------
    >>> sites = {"A": Tally([2, 1], [1, 9], [8, 2]), "B": Tally([2, 1], [5, 5], [5, 5])}
    >>> comparison = compare_groups(sites, lambda t: t.pos[0] / t.n_pos)
    >>> round(comparison.pairs[0].difference.value, 12)  # 8/10 - 5/10
    0.3
    >>> rates = compare_groups(sites, "flagged_rate", threshold=2, effect="ratio")
    >>> rates.pairs[0].ratio.value  # 9 of 20 and 10 of 20 are flagged
    0.9
    """
    level = _options.fraction(level, "level")
    _cases.mapping_of_counts(data, "compare_groups")
    measure = statistic_or_metric(statistic)
    _options.choice(method, METHODS, "method")
    _options.choice(effect, ("difference", "ratio"), "effect")
    _cases.at_least_two([str(name) for name in data], "compare_groups", "groups")

    names = list(data)
    tallies = {str(name): tally for name, tally in data.items()}
    if isinstance(measure, Metric):
        if threshold is not None:
            threshold = _options.real_number(threshold, "threshold")
        return compare_group_metrics(
            tallies,
            measure,
            threshold=threshold,
            reference=_reference_of_metric(reference, names),
            effect=effect,
            level=level,
        )

    _options.statistic(measure, "compare_groups")
    _check_no_metric_options(threshold, effect)

    # all pairs, or each other group against the reference
    pairs = None
    if reference is not None:
        if not is_one(reference) or reference not in names:
            raise InputError(
                f"reference must be one of the groups {listing(names)}; found "
                f"{described(reference)}.",
                option="reference",
            )
        position = names.index(reference)
        pairs = [(k, position) for k in range(len(names)) if k != position]

    if method == "bootstrap" and not hasattr(measure, "measure"):
        return _compare_groups_by_bootstrap(
            tallies,
            measure,
            pairs=pairs,
            ends=value_range,
            level=level,
            rng=rng,
            replicates=replicates,
        )

    name = title_of(measure)
    sides = [
        evaluate_statistic(tally, measure, ends=value_range, level=level, name=name)
        for tally in tallies.values()
    ]
    return compare_independent(tallies, sides, name, pairs=pairs)


def _reference_of_metric(reference: LabelValue, names: list[Any]) -> str | None:
    """Return the name of the reference group, or the word for the highest one."""
    if reference is None:
        return None
    if is_one(reference) and reference in names:
        return str(reference)
    if reference == HIGHEST:
        return HIGHEST

    raise InputError(
        f'reference must be "highest" or one of the groups {listing(names)}; found '
        f"{described(reference)}.",
        option="reference",
        choices=(HIGHEST, *(str(name) for name in names)),
    )


def _check_no_metric_options(threshold: float | None, effect: str) -> None:
    """Stop at a threshold or a ratio, which only metrics at a threshold have."""
    if threshold is not None:
        raise InputError(
            "A threshold is for metrics at a threshold, such as recall; found another "
            "statistic.",
            option="threshold",
        )
    if effect != "difference":
        raise InputError(
            "A ratio is for metrics at a threshold, such as recall; found another "
            "statistic.",
            option="effect",
        )


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
    """Return the comparison of groups, each redrawn independently."""
    name = title_of(statistic)
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
    # groups are drawn with the same seed: shuffle their replicates, so that similar
    # groups are independent
    generator = np.random.default_rng(0)
    shuffled_replicates = [
        generator.permutation(group.replicates) for group in bootstrapped
    ]
    labelled = [tally.labelled() for tally in tallies.values()]

    def difference(i: int, j: int) -> NamedDifference:
        # used if the statistic varies in neither group
        variance_of_constants = variance_of_independent_difference(
            constant_variance(labelled[i]), constant_variance(labelled[j])
        )
        return _bootstrap_difference(
            bootstrapped[i].estimate.value - bootstrapped[j].estimate.value,
            shuffled_replicates[i] - shuffled_replicates[j],
            variance_of_constants,
            largest_possible=ends[1] - ends[0],
        )

    estimates_by_name = {
        group: result.estimate
        for group, result in zip(tallies, bootstrapped, strict=True)
    }
    return compare_pairs(
        estimates_by_name,
        difference,
        pairs=pairs,
        paired=False,
        measure=name,
        cases=labelled,
    )
